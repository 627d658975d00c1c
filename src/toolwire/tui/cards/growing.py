"""`GrowingText`: one long text while it arrives, by its lines: linear in all, bounded in what it keeps.

What comes is only noted; `settle` reads it, once for each time that the card is painted. The last lines are always at
hand, the whole text up to a bound.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

KEPT = 1_000_000
"""Characters of one card's texts that are kept for showing; more of them are counted only."""
TAIL = 160
"""Last lines that are at hand while a text grows: what is shown, and enough above it to know its colours."""
_LINE_HEAD, _LINE_TAIL = 1_500, 300
"""Of a line that is longer than both together, so much of its beginning and its end is at hand."""


class GrowingText:
    """A text that grows at its end. `room` bounds what is kept of it."""

    def __init__(self, pieces: Iterable[str] = (), *, room: int = KEPT, done: bool = False) -> None:
        self.size = 0
        """Characters that came."""
        self.bytes = 0
        """As many in UTF-8, of what was settled."""
        self.done = done
        self.crlf = False
        """Whether a line ended with CRLF."""
        self._new: list[str] = []
        self._kept: list[str] = []
        self._room = room
        self._newlines = 0
        self._tail: deque[str] = deque(maxlen=TAIL)
        self._open_head = self._open_tail = ""
        self._open_size = 0
        for piece in pieces:
            self.add(piece)

    def add(self, text: str) -> None:
        """More of it. Costs nothing until it is settled."""
        self._new.append(text)
        self.size += len(text)

    def settle(self) -> bool:
        """Reads what came since the last time; whether there was something."""
        if not self._new:
            return False
        text = "".join(self._new)
        self._new.clear()
        self.bytes += len(text) if text.isascii() else len(text.encode("utf-8", "replace"))
        if self._room > 0:
            self._kept.append(text[: self._room])
            self._room -= len(self._kept[-1])
        self._take_lines(text)
        return True

    @property
    def count(self) -> int:
        """How many lines there are; the last may have no end."""
        self.settle()
        return self._newlines + (self._open_size > 0)

    @property
    def left_out(self) -> int:
        """Characters that came and are not kept."""
        self.settle()
        return self.size - sum(map(len, self._kept))

    def text(self) -> str:
        """What is kept."""
        self.settle()
        self._kept = ["".join(self._kept)]
        return self._kept[0]

    def beginning(self, most: int) -> str:
        """The first characters, without putting all of it together."""
        self.settle()
        pieces: list[str] = []
        for piece in self._kept:
            pieces.append(piece[:most])
            most -= len(piece)
            if most <= 0:
                break
        return "".join(pieces)

    def first(self, most: int) -> list[str]:
        """The first lines, of what is kept."""
        lines = self.text().split("\n", most)
        if len(lines) > most or not lines[-1]:
            lines.pop()
        return lines

    def last(self, most: int = TAIL) -> tuple[int, list[str]]:
        """The number of the first of the last lines, from 1, and those lines. Long ones without their middle."""
        self.settle()
        lines = list(self._tail)
        if self._open_size:
            lines.append(self._open_line())
        lines = lines[-most:]
        return self.count - len(lines) + 1, lines

    def _take_lines(self, text: str) -> None:
        count = text.count("\n")
        self.crlf = self.crlf or "\r\n" in text
        if not count:
            self._more_of_line(text)
            return
        self._newlines += count
        first, *others = text.rsplit("\n", TAIL)
        if count <= TAIL:
            self._more_of_line(first)
            self._tail.append(self._open_line())
        last = others.pop()
        self._tail.extend(map(_clipped, others))
        self._open_head = self._open_tail = ""
        self._open_size = 0
        self._more_of_line(last)

    def _more_of_line(self, text: str) -> None:
        room = _LINE_HEAD - len(self._open_head)
        self._open_size += len(text)
        self._open_head += text[:room]
        rest = text[room:]
        if rest:
            self._open_tail = (self._open_tail + rest[-_LINE_TAIL:])[-_LINE_TAIL:]

    def _open_line(self) -> str:
        left = self._open_size - len(self._open_head) - len(self._open_tail)
        return self._open_head + (_gap(left) if left > 0 else "") + self._open_tail


def _clipped(line: str) -> str:
    left = len(line) - _LINE_HEAD - _LINE_TAIL
    return line if left <= 0 else line[:_LINE_HEAD] + _gap(left) + line[-_LINE_TAIL:]


def _gap(count: int) -> str:
    return f" … {count:,} characters … "
