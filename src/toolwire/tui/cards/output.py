"""What a running tool tells, as a tail of lines: colours of a terminal taken out, nothing kept beyond a bound."""

from __future__ import annotations

from collections import deque

from ...builtin.terminal_text import TerminalText
from .line import fit

_LINES = 200
_WAITING = 64
"""Reports that wait to be read: of more, only the newest can still be seen."""
_WIDTH = 2_000


class Output:
    """The reports of one call."""

    def __init__(self) -> None:
        self.count = 0
        """Lines that came."""
        self.missed = 0
        """Reports that were left out before they came here."""
        self._waiting: deque[str] = deque(maxlen=_WAITING)
        self._lines: deque[str] = deque(maxlen=_LINES)

    def take(self, text: str, missed: int = 0) -> None:
        """A report, which begins a line."""
        self.missed += missed
        self.count += text.count("\n") + (not text.endswith("\n"))
        self._waiting.append(text)

    def last(self, most: int) -> list[str]:
        """The last lines, fit for a terminal."""
        while self._waiting:
            terminal = TerminalText()
            text = terminal.feed(self._waiting.popleft())
            text = (text + terminal.close()).removesuffix("\n")
            self._lines.extend(fit(line[:_WIDTH]) for line in text.rsplit("\n", _LINES)[-_LINES:])
        return list(self._lines)[-most:]
