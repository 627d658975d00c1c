"""The frames of one answer as a list to scroll, open and copy from. Only what is in sight is ever laid out."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import ClassVar

from rich.cells import cell_len, chop_cells, set_cell_size
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.cache import LRUCache
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from ..cli.visible import one_line, visible
from ..inspection.frames import TracedFrame
from ..inspection.words import counted, event_words, size_words
from .cards.line import cropped, shortened

WIDE = 100
"""Columns from which on a frame and its events stand in one row."""
_META = 25
_OPEN_LINES = 400
"""Lines that an opened frame may take."""
_MOST_OPEN = 20
_PAINTED = 500
"""Rows that are kept as they were painted: some screens."""
_SHOWN = 2_000
"""Characters of a frame that a row can show, and more."""

_Piece = tuple[str, str]
"""Text, and the name of its style."""


class WireFrames(ScrollView, can_focus=True):
    """The frames of one answer, a row or two each. Only what is in sight is ever laid out."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "wire--meta",
        "wire--raw",
        "wire--event",
        "wire--silent",
        "wire--problem",
        "wire--note",
        "wire--cursor",
    }
    DEFAULT_CSS = """
    WireFrames {
        height: 1fr; width: 1fr; overflow-x: hidden; scrollbar-size-vertical: 1; scrollbar-gutter: stable;
        & > .wire--meta { color: $foreground-muted; }
        & > .wire--raw { color: $foreground; }
        & > .wire--event { color: $text-success; }
        & > .wire--silent { color: $foreground-disabled; }
        & > .wire--problem { color: $text-error; text-style: bold; }
        & > .wire--note { color: $text-warning; }
        & > .wire--cursor { background: $block-cursor-blurred-background; }
        &:focus > .wire--cursor { background: $primary-muted; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move(-1)", "Up", show=False),
        Binding("down,j", "move(1)", "Down", show=False),
        Binding("pageup", "page(-1)", "Page up", show=False),
        Binding("pagedown", "page(1)", "Page down", show=False),
        Binding("home,g", "edge(-1)", "First", show=False),
        Binding("end,G", "edge(1)", "Last", show=False),
        Binding("enter,space", "fold", "Open", show=False),
        Binding("p", "problem(1)", "Next problem", show=False),
        Binding("P", "problem(-1)", "Previous problem", show=False),
        Binding("y", "copy", "Copy", show=False),
    ]

    class Moved(Message):
        """The person moved, so that the end is no longer, or again, what they look at."""

    def __init__(self) -> None:
        super().__init__()
        self._frames: list[TracedFrame] = []
        self._count = 0
        self._open: dict[int, list[list[_Piece]]] = {}
        self.cursor = -1
        """Which frame; -1 while there is none."""
        self.follows = True
        """Whether the last frame is kept in sight."""
        self._width = 0
        """Columns beside the scroll bar."""
        self._moving = False
        self._painted: LRUCache[tuple[int, int], Strip] = LRUCache(_PAINTED)

    def notify_style_update(self) -> None:
        """Another theme, say: nothing that was painted holds."""
        super().notify_style_update()
        self._painted.clear()

    def show(self, frames: list[TracedFrame]) -> None:
        """Shows other frames, from their end."""
        self._frames, self._count, self.cursor = frames, 0, -1
        self._open.clear()
        self._painted.clear()
        self.follows = True
        self.grow()

    def grow(self) -> None:
        """There may be more frames than before."""
        self._count = len(self._frames)
        if self.follows or self.cursor < 0:
            self.cursor = self._count - 1
        with self._by_itself():
            self._lay_out()
            if self.follows:
                self.scroll_to(y=self.virtual_size.height, animate=False, immediate=True, force=True)
        self.refresh()

    def current(self) -> TracedFrame | None:
        """The frame that the cursor is on."""
        return self._frames[self.cursor] if 0 <= self.cursor < self._count else None

    # ---- rows

    @property
    def _rows(self) -> int:
        """Rows of a frame that is not open."""
        return 1 if self._width >= WIDE else 2

    def _lay_out(self) -> None:
        """Tells how high all rows together are."""
        if self._width != self.scrollable_content_region.width:
            self._width = self.scrollable_content_region.width
            self._painted.clear()
            for place in self._open:
                self._open[place] = self._opened(self._frames[place])
        size = Size(self._width, self._count * self._rows + sum(map(len, self._open.values())))
        if self.show_vertical_scrollbar and size.width == self.virtual_size.width and size.height > self.size.height:
            # Only the bar has to know: another layout would paint the whole screen anew, twenty times a second.
            self.set_reactive(WireFrames.virtual_size, size)
            self.vertical_scrollbar.window_virtual_size = size.height
        else:
            self.virtual_size = size

    def on_resize(self) -> None:
        """Opened frames are laid out for the new width, and what was looked at stays in sight."""
        self.grow()
        self._into_sight()

    def _first_row(self, place: int) -> int:
        return place * self._rows + sum(len(lines) for other, lines in self._open.items() if other < place)

    def _at_row(self, row: int) -> tuple[int, int]:
        """The frame that this row is of, and which of its rows it is."""
        more = 0
        for place in sorted(self._open):
            first = place * self._rows + more
            if row < first:
                break
            if row < first + self._rows + len(self._open[place]):
                return place, row - first
            more += len(self._open[place])
        return divmod(row - more, self._rows)

    def render_line(self, y: int) -> Strip:
        """One row of what is in sight. It is painted once, but for the one that the cursor is on."""
        place, row = self._at_row(y + self.scroll_offset.y)
        if not 0 <= place < self._count:
            return Strip.blank(self._width, self.rich_style)
        if place == self.cursor:
            cursor = Style(bgcolor=self.get_component_rich_style("wire--cursor").bgcolor)
            return self._paint(place, row, self.rich_style + cursor)
        painted = self._painted.get((place, row))
        if painted is None:
            painted = self._painted[place, row] = self._paint(place, row, self.rich_style)
        return painted

    def _paint(self, place: int, row: int, base: Style) -> Strip:
        width = self._width
        pieces = self._line(place, row, width)
        return Strip([Segment(text, self._style(name, base)) for text, name in pieces]).adjust_cell_length(width, base)

    def _style(self, name: str, base: Style) -> Style:
        """What is written in this style, on the background of its row."""
        if not name:
            return base
        styled = self.get_component_rich_style(f"wire--{name}")
        return base + Style(color=styled.color, bold=styled.bold)

    def _line(self, place: int, row: int, width: int) -> list[_Piece]:
        frame = self._frames[place]
        if row >= self._rows:
            return self._open[place][row - self._rows]
        mark = ("!", "problem") if frame.has_problem else (" ", "")
        when = "" if frame.at is None else f"+{frame.at:.3f}"
        meta = f"{frame.number:>5} {when:>8} {size_words(frame.size):>8} "
        raw = _compact(frame)
        if self._rows == 1:
            half = max((width - _META - 3) // 2, 10)
            return [
                mark,
                (meta, "meta"),
                (set_cell_size(_both_ends(raw, half), half), "raw"),
                (" │ ", "meta"),
                *_events(frame, width - _META - half - 3),
            ]
        if row == 0:
            return [mark, (meta, "meta"), (_both_ends(raw, width - _META), "raw")]
        return [("      ", ""), *_events(frame, width - 6)]

    def _opened(self, frame: TracedFrame) -> list[list[_Piece]]:
        """The rows of an opened frame below its own: all of it laid out, then its events."""
        width = max(self._width - 6, 10)
        raw = visible(frame.pretty()[: _OPEN_LINES * width]).split("\n")
        name = f" · {one_line(frame.name)}" if frame.name else ""
        lines = _set_in(f"byte {frame.offset:,} · {counted(frame.size, 'byte')}{name}", width, "meta")
        lines += [row for line in raw for row in _set_in(line.expandtabs(4), width, "raw")]
        if len(lines) > _OPEN_LINES:
            lines[_OPEN_LINES:] = _set_in(f"… {size_words(frame.size)} in all; y copies it", width, "meta")
        for kind, segment, words, is_problem in map(event_words, frame.events):
            told = f"{'!' if is_problem else '→'} {kind} {one_line(f'{segment} {words}')}".rstrip()
            lines += _set_in(told, width, "problem" if is_problem else "event")
        for finding in frame.findings:
            if not finding.told:
                style = "problem" if finding.level == "problem" else "note"
                mark = "!" if style == "problem" else "·"
                lines += _set_in(f"{mark} {one_line(finding.words)}", width, style)
        return lines

    # ---- what the person does

    def action_move(self, step: int) -> None:
        """To the frame before or behind."""
        self._go(self.cursor + step)

    def action_page(self, step: int) -> None:
        """A screen up or down."""
        self._go(self.cursor + step * max(self.size.height // self._rows - 1, 1))

    def action_edge(self, step: int) -> None:
        """To the first frame, or the last, which is then followed."""
        self._go(0 if step < 0 else self._count - 1)

    def action_problem(self, step: int) -> None:
        """To the next frame with a problem, or the one before."""
        places = range(self.cursor + step, self._count if step > 0 else -1, step)
        found = next((place for place in places if self._frames[place].has_problem), None)
        if found is not None:
            self._go(found)

    def action_fold(self) -> None:
        """Opens the frame, or folds it again."""
        frame = self.current()
        if frame is None:
            return
        if self._open.pop(self.cursor, None) is None:
            while len(self._open) >= _MOST_OPEN:
                del self._open[next(iter(self._open))]
            self._open[self.cursor] = self._opened(frame)
        self._lay_out()
        self._into_sight()
        self.refresh()

    def action_copy(self) -> None:
        """Puts the frame as it came on the clipboard."""
        frame = self.current()
        if frame is not None:
            self.app.copy_to_clipboard(frame.text)
            self.app.notify(f"Frame {frame.number} is on the clipboard.")

    def on_click(self, event: events.Click) -> None:
        """A click goes to a frame; on the one that the cursor is on, it opens or folds it."""
        place, _ = self._at_row(event.y + self.scroll_offset.y)
        if 0 <= place < self._count:
            if place == self.cursor:
                self.action_fold()
            else:
                self._go(place)

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Who scrolls back does not want to be taken to the end again; who scrolls to the end does."""
        super().watch_scroll_y(old_value, new_value)
        if not self._moving and self.follows != self.is_vertical_scroll_end:
            self.follows = self.is_vertical_scroll_end
            self.post_message(self.Moved())

    @contextmanager
    def _by_itself(self) -> Iterator[None]:
        """What is scrolled here is not scrolled by the person."""
        self._moving = True
        try:
            yield
        finally:
            self._moving = False

    def _go(self, place: int) -> None:
        if self._count:
            self.cursor = min(max(place, 0), self._count - 1)
            self.follows = self.cursor == self._count - 1
            self._into_sight()
            self.refresh()
            self.post_message(self.Moved())

    def _into_sight(self) -> None:
        if self.cursor >= 0:
            height = min(self._rows + len(self._open.get(self.cursor, ())), max(self.size.height, 1))
            region = Region(0, self._first_row(self.cursor), self._width, height)
            with self._by_itself():
                self.scroll_to_region(region, animate=False, force=True, immediate=True)


def _events(frame: TracedFrame, width: int) -> list[_Piece]:
    """What became of a frame, in one row of this width."""
    problem = next((finding for finding in frame.findings if finding.level == "problem"), None)
    if problem is not None:
        return [(shortened(f"! {one_line(problem.words)}", width), "problem")]
    told = []
    for event in frame.events:
        kind, segment, words, _ = event_words(event, 200)
        told.append(one_line(f"{kind} {segment} {words}").strip())
    note = next(iter(frame.findings), None)
    if note is not None:
        told.append(f"· {one_line(note.words)}")
    if not told:
        return [(shortened(f"({frame.name or 'no event'})" if not frame.carries else "no event", width), "silent")]
    style = "note" if note is not None and not frame.events else "event"
    return [(shortened("→ " + "; ".join(told), width), style)]


def _compact(frame: TracedFrame) -> str:
    """What a frame holds, on one line; of a long one, its beginning and its end."""
    if frame.framing == "aws" or frame.size <= _SHOWN:
        return one_line(frame.payload)
    half = _SHOWN // 2
    first, last = (piece.decode("utf-8", "replace") for piece in (frame.raw[:half], frame.raw[-half:]))
    return one_line(f"{first}…{last}")


def _both_ends(text: str, width: int) -> str:
    """A text that fits: JSON says at its beginning what it is, and what is new stands at its end."""
    if cell_len(text) <= width:
        return text
    head = max(width * 2 // 5, 1)
    rest = max(width - head - 1, 1)
    start = len(text) - rest
    while cell_len(text[start:]) > rest:
        start += 1
    return f"{cropped(text[: 2 * head], head)}…{text[start:]}"


def _set_in(text: str, width: int, style: str) -> list[list[_Piece]]:
    """The text in rows of this width."""
    return [[("    ", ""), (piece, style)] for piece in chop_cells(text, width) or [""]]
