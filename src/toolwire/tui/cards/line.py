"""Lines of a card, laid out for a width. Only the rows that are on the screen are ever made."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import NamedTuple

from rich.cells import cell_len, chop_cells
from textual.content import Content, Span

from ...cli.visible import visible

TAB = 4
MUTED = "$foreground 55%"
"""What stands beside the matter. The theme's own muted text is made for style sheets alone."""
_NARROWEST = 2
_NO_CELL = "\0"
_BY_WORDS = 4_000
"""Characters of a line that is still broken between words: longer ones are no prose."""


class Line(NamedTuple):
    """One line, of as many rows as the width needs. The text is fit for a terminal already: see `fit`."""

    text: str
    style: str = ""
    gutter: str = ""
    """Before its first row; the others are indented as far."""
    gutter_style: str = MUTED
    spans: Sequence[Span] = ()
    rows: int = 0
    """At most so many, the last one with an ellipsis; 0: all."""
    fill: str = ""
    """A background for the whole width."""
    by_words: bool = False
    """Whether its rows end between words; else wherever the width does."""


def fit(text: str) -> str:
    """A line of what others wrote, as it can be shown: nothing hidden, nothing obeyed, tabs as blanks."""
    text = text.removesuffix("\r")
    return visible(text.expandtabs(TAB) if "\t" in text else text).replace("\n", "\u240a")


def quiet(words: str, gutter: str = "") -> Line:
    """A remark of our own."""
    return Line(words, MUTED, gutter, by_words=True)


def told(words: str, style: str, gutter: str = "") -> Line:
    """A sentence about the call."""
    return Line(words, style, gutter, style, by_words=True)


class Sheet:
    """Lines at a width: how many rows they take, and each row when it is asked for.

    What was laid out in the sheet `before` is not laid out again.
    """

    def __init__(self, lines: Iterable[Line], width: int, before: Sheet | None = None) -> None:
        self.lines = list(lines)
        self.width = width
        known = before._known if before is not None and before.width == width else {}
        counts = [known.get(id(line)) or self._rows(line) for line in self.lines]
        self._known: dict[int, int] = dict(zip(map(id, self.lines), counts, strict=True))
        self._ends = list(accumulate(counts))
        self._chopped: tuple[int, list[str]] = (-1, [])

    @property
    def height(self) -> int:
        """Rows in all."""
        return self._ends[-1] if self._ends else 0

    def row(self, y: int) -> Content:
        """One row, from 0; an empty one behind the end."""
        if not 0 <= y < self.height:
            return Content("")
        line, gutter, start, piece, is_cut = self._part(y)
        end = start + len(piece) - is_cut
        spans = [
            Span(max(span.start - start, 0), min(span.end, end) - start, span.style)
            for span in line.spans
            if span.start < end and span.end > start
        ]
        content = Content(piece, spans=spans)
        if line.style:
            content = content.stylize_before(line.style)
        if gutter:
            content = Content.styled(gutter, line.gutter_style) + content
        if line.fill:
            content = content.pad_right(max(self.width - content.cell_length, 0)).stylize_before(line.fill)
        return content

    def text(self) -> str:
        """All rows as text: what is marked on the screen is a part of it."""
        return "\n".join(gutter + piece for _, gutter, _, piece, _ in map(self._part, range(self.height)))

    def _part(self, y: int) -> tuple[Line, str, int, str, bool]:
        """What stands in a row: its line, what comes before, where in the line it begins, its text, whether it ends
        with an ellipsis."""
        number = bisect_right(self._ends, y)
        line = self.lines[number]
        first = self._ends[number - 1] if number else 0
        start, piece = self._piece(number, y - first)
        is_cut = bool(line.rows) and y - first == line.rows - 1 and start + len(piece) < len(line.text)
        if is_cut:
            room = self._room(line)
            piece = f"{cropped(line.text[start : start + room], room - 1)}…"  # also of a word that has no room whole
        return line, line.gutter if y == first else " " * cell_len(line.gutter), start, piece, is_cut

    def _room(self, line: Line) -> int:
        gutter = line.gutter
        return max(self.width - (len(gutter) if gutter.isascii() else cell_len(gutter)), _NARROWEST)

    def _rows(self, line: Line) -> int:
        text, room = line.text, self._room(line)
        if len(text) * 2 <= room or line.rows == 1:
            return 1
        if line.rows:
            text = text[: (line.rows + 1) * room]
        if (len(text) <= room or not line.by_words) and _cells(text) == len(text):
            rows = max(-(-len(text) // room), 1)
        else:
            rows = len(_pieces(text, room, line.by_words))
        return min(rows, line.rows) if line.rows else rows

    def _piece(self, number: int, part: int) -> tuple[int, str]:
        """The part of a line that stands in one of its rows, and where it begins in the line."""
        line = self.lines[number]
        room = self._room(line)
        if self._chopped[0] != number:
            # Cells are at most two to a character, so that a line that is cropped is never chopped whole.
            text = line.text[: (line.rows + 1) * room] if line.rows else line.text
            self._chopped = number, _pieces(text, room, line.by_words)
        pieces = self._chopped[1]
        if part >= len(pieces):
            return len(line.text), ""
        return sum(map(len, pieces[:part])), pieces[part]


def _pieces(text: str, room: int, by_words: bool) -> list[str]:
    """The rows of a text. Together they are the text."""
    cells = _cells(text)
    if (cell_len(text) if cells < 0 else cells) <= room:
        return [text]
    by_words = by_words and len(text) <= _BY_WORDS
    if cells < 0 and not by_words:
        return chop_cells(text, room)
    pieces: list[str] = []
    at = 0
    while at < len(text):
        piece = text[at : at + room]
        if cells < 0:
            piece = _first_row(piece, room)
        elif cells > len(text):
            piece = _beginning(piece, room)
        end = at + len(piece)
        blank = piece.rfind(" ") if by_words else 0
        if end < len(text) and blank > 0 and text[end] != " ":
            piece = piece[: blank + 1]
        pieces.append(piece)
        at += len(piece)
    return pieces


class _Cells(dict[int, str]):
    """For `str.translate`: as many letters as a character takes cells. Many times faster than to look each one up."""

    def __missing__(self, code: int) -> str:
        self[code] = shape = "x" * cell_len(chr(code)) or _NO_CELL
        return shape


_CELLS = _Cells()


def _cells(text: str) -> int:
    """The cells that a text takes; -1 where some of its characters are drawn into those of others."""
    if text.isascii():
        return len(text)
    shape = text.translate(_CELLS)
    return -1 if _NO_CELL in shape else len(shape)


def _beginning(text: str, room: int) -> str:
    """As much of it as has room; none of its characters is drawn into another's cells."""
    while (over := _cells(text) - room) > 0:
        text = text[: len(text) - (over + 1) // 2]  # no fewer would do: none takes more than two
    return text


def cropped(text: str, width: int) -> str:
    """The beginning of a text, as much as has room."""
    if len(text) * 2 <= width or (text.isascii() and len(text) <= width):
        return text
    return _first_row(text[: width + 1], max(width, 1)) if cell_len(text) > width else text


def _first_row(text: str, room: int) -> str:
    """As much of the text as fits in one row. Rich makes no row of characters without a cell, such as lone accents."""
    return next(iter(chop_cells(text, room)), text)


def shortened(text: str, width: int, *, keep_end: bool = False) -> str:
    """A text with an ellipsis where it is cut: at its end, or at its beginning."""
    if cell_len(text) <= width:
        return text
    if width < 2:
        return "…"[:width]
    if not keep_end:
        return f"{cropped(text, width - 1)}…"
    end = text[-(width - 1) :]
    while cell_len(end) > width - 1:
        end = end[1:]
    return f"…{end}"
