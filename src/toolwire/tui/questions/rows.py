"""Lines that were broken to fit, and the widget that paints those of them that are in sight."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.widget import Widget

from ...cli.question import fitting_pieces

BAR, GO_ON = " │ ", " ┊ "
"""What stands before every line that is not ours; the second where a line goes on."""
NARROWEST = 20
"""Cells: a screen that is narrower is cut."""


class Piece(NamedTuple):
    """Text of one look. All that could be obeyed or hidden in it has been made a mark before."""

    text: str
    kind: str = ""
    """One of `LOOKS`, without its beginning; or nothing."""


Row = tuple[Piece, ...]
"""One line on the screen."""


def quoted(pieces: Sequence[Piece], width: int) -> Iterator[Row]:
    """A line of somebody else's behind a bar, in as many rows as it needs."""
    room = max(width, NARROWEST) - len(BAR)
    text = "".join(piece.text for piece in pieces)
    if len(text) <= room and text.isascii():
        yield (Piece(BAR, "bar"), *pieces)
        return
    at, bar = 0, BAR
    for part in _parts(text, room):
        yield (Piece(bar, "bar"), *_between(pieces, at, at + len(part)))
        at, bar = at + len(part), GO_ON


def said(text: str, width: int, kind: str = "", indent: str = " ") -> Iterator[Row]:
    """A sentence of ours, broken between words. What it quotes must be marked, and cannot begin a row but the first."""
    before = indent
    for part in fitting_pieces(text, max(width, NARROWEST) - len(indent) - 2, words=True):
        yield (Piece(before), Piece(part.rstrip(), kind))
        before = indent + "  "


def _parts(text: str, room: int) -> Iterator[str]:
    if not text.isascii():
        return fitting_pieces(text, room)
    return (text[at : at + room] for at in range(0, len(text), room))


def _between(pieces: Sequence[Piece], start: int, end: int) -> Iterator[Piece]:
    """The pieces of a line from one character to another."""
    at = 0
    for piece in pieces:
        first, last = max(start - at, 0), min(end - at, len(piece.text))
        if first < last:
            yield Piece(piece.text[first:last], piece.kind)
        at += len(piece.text)


LOOKS: set[str] = {
    "rows--bar",
    "rows--dim",
    "rows--strong",
    "rows--warning",
    "rows--danger",
    "rows--added",
    "rows--removed",
    "rows--place",
    "rows--name",
    "rows--keyword",
    "rows--string",
    "rows--variable",
    "rows--comment",
}
"""How pieces can look: components of the widget that all rows stand in. One set for all of them, since each costs."""
LOOKS_CSS = """
    .rows--bar, .rows--dim { color: $text-muted; }
    .rows--strong { text-style: bold; }
    .rows--warning { color: $text-warning; text-style: bold; }
    .rows--danger { color: $text-error; text-style: bold; }
    .rows--added { color: $text-success; background: $success 12%; }
    .rows--removed { color: $text-error; background: $error 12%; }
    .rows--place { color: $text-accent; }
    .rows--name { color: $text-primary; }
    .rows--keyword { color: $text-accent; text-style: bold; }
    .rows--string { color: $text-success; }
    .rows--variable { color: $text-warning; }
    .rows--comment { color: $text-muted; text-style: italic; }
"""


class Rows(ScrollView, can_focus=False):
    """Shows what `make` gives for its width. Costs what is in sight: ten thousand rows are as quick as ten.

    It must stand in a widget that has `LOOKS` among its components.

    With `grows` it is as high as it has rows; else whoever holds it gives it a height, and it scrolls.
    """

    DEFAULT_CSS = """
    Rows {
        height: 1; background: transparent; overflow-x: hidden; overflow-y: auto;
        scrollbar-gutter: stable; scrollbar-size-vertical: 1;
        &.grows { scrollbar-gutter: auto; overflow-y: hidden; }
    }
    """
    _FILLED = frozenset({"added", "removed"})
    """Looks that go on to the end of the row."""

    class Pressed(Message):
        """A row was clicked."""

        def __init__(self, rows: Rows, row: int, when: float) -> None:
            super().__init__()
            self.rows = rows
            self.row = row
            self.when = when
            """When the button was pressed."""

        @property
        def control(self) -> Rows:
            """For `on`."""
            return self.rows

    class Scrolled(Message):
        """Other rows are in sight."""

    def __init__(self, make: Callable[[int], list[Row]] | None = None, *, grows: bool = False) -> None:
        super().__init__(classes="grows" if grows else "")
        self._make = make
        self._grows = grows
        self.rows: list[Row] = []

    def show(self, rows: list[Row]) -> None:
        """Other rows, from their beginning."""
        self.rows = rows
        self.virtual_size = Size(self.size.width, len(rows))
        self.scroll_home(animate=False)
        self.refresh()

    def remake(self) -> None:
        """Asks `make` again: what it says has changed."""
        if self._make is not None and self.size.width:
            self.show(self._make(self.size.width))
            if self._grows:
                self.styles.height = max(len(self.rows), 1)

    def on_resize(self) -> None:
        """Breaks the lines for the new width."""
        self.remake()

    def on_click(self, event: events.Click) -> None:
        """Tells which row it was."""
        event.stop()
        self.post_message(self.Pressed(self, event.y + self.scroll_offset.y, event.time))

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Tells whoever says how much is left."""
        super().watch_scroll_y(old_value, new_value)
        self.post_message(self.Scrolled())

    def render_line(self, y: int) -> Strip:
        """One row in sight."""
        at, width, plain = y + self.scroll_offset.y, self.size.width, self.rich_style
        if at >= len(self.rows):
            return Strip.blank(width, plain)
        row = self.rows[at]
        strip = Strip([Segment(piece.text, self._style(piece.kind)) for piece in row])
        fill = self._style(row[-1].kind) if row and row[-1].kind in self._FILLED else plain
        return strip.adjust_cell_length(width, fill)

    def _style(self, kind: str) -> Style:
        return self._looks.get_component_rich_style(f"rows--{kind}") if kind else self.rich_style

    @cached_property
    def _looks(self) -> Widget:
        around = (node for node in self.ancestors if isinstance(node, Widget))
        return next(node for node in around if node.COMPONENT_CLASSES >= LOOKS)
