"""`Queued`: what was asked while an answer goes on, and waits for its end."""

from __future__ import annotations

from textual.widgets import Static

from ..chat.typed import QuestionLine
from ..chat.typed_history import Typed
from ..cli.visible import one_line

_SHOWN = 3
_CHARACTERS = 200


class Queued(Static):
    """The messages in their order; the last few are shown."""

    DEFAULT_CSS = """
    Queued { height: auto; max-height: 3; padding: 0 1; color: $text-muted; display: none; }
    """

    def __init__(self) -> None:
        super().__init__(markup=False)
        self._lines: list[QuestionLine] = []

    @property
    def count(self) -> int:
        """How many wait."""
        return len(self._lines)

    def add(self, line: QuestionLine) -> None:
        """One more, behind the others."""
        self._lines.append(line)
        self._show()

    def next(self) -> QuestionLine:
        """The first; it waits no more."""
        line = self._lines.pop(0)
        self._show()
        return line

    def clear(self) -> list[QuestionLine]:
        """All of them; none waits any more."""
        lines, self._lines = self._lines, []
        self._show()
        return lines

    def take_back(self) -> Typed | None:
        """The last one, to be edited; it waits no more."""
        if not self._lines:
            return None
        line = self._lines.pop()
        self._show()
        return Typed(line.text, "", dict(line.pasted))

    def _show(self) -> None:
        self.display = bool(self._lines)
        self.update("\n".join(f"⧗ {one_line(each.text)[:_CHARACTERS]}" for each in self._lines[-_SHOWN:]))
