"""Lines of a document before they know how wide the screen is, and the rows that they become at a width."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from rich.cells import cell_len
from textual.content import Content

CODE = "on $foreground 6%"
"""Behind code, over the whole width."""
_LINES = "$foreground 30%"
_HEAD = "bold $text-primary"
_UNBROKEN = 14
"""Cells of a word that is not broken within a table."""
READ = 110
"""Cells of a row of words at most: longer ones are hard to read. Code and tables take all the room."""
_NARROWEST = 8
"""Cells that words get at least, however deep they stand."""


Columns = Sequence[tuple[int, int]]
"""For each column of a table the cells that it would like to have, and those of its longest word."""


class Row(NamedTuple):
    """One row of the screen."""

    content: Content
    margin: int = 0
    """Characters at its beginning that are no part of the text."""
    joint: str = "\n"
    """What stands between the row before and this one in the text: a line end, or less where a line was broken."""
    fill: str = ""
    """The style of the whole row, right of its margin."""


class Line(NamedTuple):
    """Words that are broken to fit. What stands in front of the first row may be another thing than before the rest."""

    content: Content
    first: Content = Content("")
    rest: Content = Content("")
    kind: str = ""
    """`code`: broken anywhere, on a ground of its own; `more`: code that goes on the line before it. `on`: words that
    do so. `rule`: a line across."""


class Table(NamedTuple):
    """Rows of cells. All parts of a long table share their columns."""

    head: Sequence[Content]
    rows: Sequence[Sequence[Content]]
    columns: Columns
    aligns: Sequence[str]
    first: Content = Content("")
    rest: Content = Content("")
    begins: bool = True
    """Whether the head is shown above these rows."""
    ends: bool = True


AnyLine = Line | Table
"""What a document is made of."""


def lay(line: AnyLine, width: int) -> list[Row]:
    """The rows of a line, none wider than `width`."""
    first, rest = (_cropped(part, width) for part in (line.first, line.rest))
    room = max(width - max(first.cell_length, rest.cell_length), 1)
    if isinstance(line, Table):
        return _table(line, first, rest, room)
    if line.kind == "rule":
        return [Row(first + Content.styled("─" * room, _LINES), len(first))]
    if line.kind in ("code", "more"):
        return list(_code(line, first, rest, room))
    rows: list[Row] = []
    joint = "" if line.kind == "on" else "\n"
    for content, skipped in _broken(line.content, min(room, READ)):
        prefix = rest if rows else first
        rows.append(Row(prefix + content if prefix else content, len(prefix) if rows else 0, joint))
        joint = " " if skipped else ""
    return rows


def longest_word(text: str) -> int:
    """Cells of the widest thing in a text that is not broken where there is room."""
    return max((cell_len(word) for word in text.split()), default=0)


def _cropped(prefix: Content, width: int) -> Content:
    """What stands in front takes no more than half of the width, as far as words have room enough."""
    most = max(width - _NARROWEST, width // 2, 0)
    return prefix if prefix.cell_length <= most else prefix.truncate(most)


def _code(line: Line, first: Content, rest: Content, room: int) -> Iterator[Row]:
    joint = "" if line.kind == "more" else "\n"
    pieces = [line.content] if line.content.cell_length < room else line.content.fold(max(room - 1, 1))
    for number, piece in enumerate(pieces):
        prefix = rest if number else first
        yield Row(prefix + Content(" ") + piece, len(prefix) + 1, joint, CODE)
        joint = ""


def _broken(content: Content, width: int) -> list[tuple[Content, bool]]:
    """Pieces that fit, and whether blanks were left out after each."""
    text = content.plain
    if len(text) <= width and content.cell_length <= width:
        return [(content, False)]
    offsets = breaks(text, width)
    made = []
    for piece in content.divide(offsets):
        bare = piece.rstrip(" ")
        made.append((bare, len(bare) < len(piece)))
    return made


def breaks(text: str, width: int) -> list[int]:
    """Where a text is broken: before words that do not fit, and within what is wider than a row.

    Scripts that write no blanks are broken anywhere.
    """
    offsets: list[int] = []
    cells = len if text.isascii() else cell_len
    used = at = 0
    while at < len(text):
        end = text.find(" ", at)
        end = len(text) if end < 0 else end
        word = text[at:end]
        size = cells(word)
        if used + size > width:
            if size > width or size > len(word):
                used = _fold(text, at, end, width, used, offsets)
            else:
                offsets.append(at)
                used = size
        else:
            used += size
        while end < len(text) and text[end] == " ":
            end += 1
            used += 1
        at = end
    return offsets


def _fold(text: str, start: int, end: int, width: int, used: int, offsets: list[int]) -> int:
    """Breaks one long word; gives the cells that its last piece takes."""
    wide = not text[start:end].isascii()
    if not wide:
        if used:
            offsets.append(start)
        offsets.extend(range(start + width, end, width))
        return (end - start - 1) % width + 1
    for at in range(start, end):
        size = cell_len(text[at])
        if used + size > width and at > (offsets[-1] if offsets else 0):
            offsets.append(at)
            used = 0
        used += size
    return used


def _table(table: Table, first: Content, rest: Content, room: int) -> list[Row]:
    widths = _widths(table.columns, room)
    if widths is None:
        return _records(table, first, rest, room)
    rows: list[Row] = []

    def add(content: Content) -> None:
        prefix = rest if rows else first
        rows.append(Row(prefix + content, len(prefix)))

    def across(left: str, middle: str, right: str) -> None:
        add(Content.styled(left + middle.join("─" * (width + 2) for width in widths) + right, _LINES))

    if table.begins:
        across("┌", "┬", "┐")
        for content in _cells([cell.stylize(_HEAD) for cell in table.head], widths, table.aligns):
            add(content)
        across("├", "┼", "┤")
    for cells in table.rows:
        for content in _cells(cells, widths, table.aligns):
            add(content)
    if table.ends:
        across("└", "┴", "┘")
    return rows


def _cells(cells: Sequence[Content], widths: Sequence[int], aligns: Sequence[str]) -> Iterator[Content]:
    """One row of a table, on as many rows of the screen as its highest cell needs."""
    columns = [[piece for piece, _ in _broken(cell, width)] for cell, width in zip(cells, widths, strict=False)]
    bar = Content.styled("│", _LINES)
    for at in range(max(map(len, columns), default=0)):
        made = bar
        for column, width, align in zip(columns, widths, aligns, strict=False):
            piece = column[at] if at < len(column) else Content("")
            free = max(width - piece.cell_length, 0)
            left = free if align == "right" else free // 2 if align == "center" else 0
            made = made + Content(" " * (left + 1)) + piece + Content(" " * (free - left + 1)) + bar
        yield made


def _widths(columns: Columns, room: int) -> list[int] | None:
    """How wide each column becomes: as it likes, else long ones give, down to words. None where nothing will do."""
    free = room - 3 * len(columns) - 1
    if sum(liked for liked, _ in columns) <= free:
        return [max(liked, 1) for liked, _ in columns]
    least = [max(min(word, _UNBROKEN, liked), 1) for liked, word in columns]
    if not columns or sum(least) > free:
        return None
    left = free - sum(least)
    widths = list(least)
    wanting = [at for at, (liked, _) in enumerate(columns) if liked > widths[at]]
    while left > 0 and wanting:
        share = max(left // len(wanting), 1)
        for at in wanting:
            given = min(share, columns[at][0] - widths[at], left)
            widths[at] += given
            left -= given
        wanting = [at for at in wanting if columns[at][0] > widths[at]]
    return widths


def _records(table: Table, first: Content, rest: Content, room: int) -> list[Row]:
    """A table that is too wide, as one block of `name: value` lines for each row."""
    rows: list[Row] = []
    names = [cell.plain for cell in table.head]
    for cells in table.rows:
        for at, cell in enumerate(cells):
            name = names[at] if at < len(names) else ""
            content = Content.styled(f"{name}: ", _HEAD) + cell if name else cell
            for piece, _ in _broken(content, room):
                prefix = rest if rows else first
                rows.append(Row(prefix + piece, len(prefix)))
        rows.append(Row(rest + Content.styled("─" * min(room, 12), _LINES), len(rest)))
    return rows
