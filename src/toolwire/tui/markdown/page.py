"""`Page`: a widget of lines that are laid out once for each width and painted only where they are seen."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import count

from rich.segment import Segment
from textual.cache import LRUCache
from textual.content import Content
from textual.geometry import Region, Size
from textual.selection import Selection
from textual.strip import Strip
from textual.style import Style

from ..laid_once import LaidOnce
from ..painted import Painted
from .laying import AnyLine, Row, lay

_LEFT, _RIGHT = 2, 1
"""Cells beside the text; the first of them may have a bar."""
_BAR = "▌"
_PAINTED: LRUCache[tuple[int, int], Strip] = LRUCache(500)
"""Rows of all pages as they are painted, the newest: one takes ten times the room of the text that it shows."""
_numbers = count()


class Page(LaidOnce):
    """Lines that stay, and below them lines that are still changing.

    Text can be selected with the mouse: it is copied as it was written, without the breaks and margins of the screen.
    It has no border and no padding and paints by itself: what is painted already costs nothing when the screen moves.
    """

    DEFAULT_CSS = """
    Page { height: auto; width: 1fr; }
    """

    ALLOW_SELECT = True

    def __init__(self, bar: str = "") -> None:
        super().__init__()
        self._bar = bar
        self._lines: list[AnyLine] = []
        self._open: Sequence[AnyLine] = ()
        self._width = 0
        self._rows: list[Row] = []
        self._open_rows: list[Row] = []
        self._laid = 0
        """How many of the lines are among the rows."""
        self._painting = next(_numbers)
        """Names the rows of this page as they look now."""

    def __len__(self) -> int:
        return len(self._lines)

    def __bool__(self) -> bool:
        return True

    @property
    def bar(self) -> str:
        """The style of the bar on the left; empty: there is none."""
        return self._bar

    @bar.setter
    def bar(self, style: str) -> None:
        if style != self._bar:
            self._bar = style
            self._paint_anew()
            self.refresh()

    @property
    def height(self) -> int:
        """Rows, at the width that it was last asked for."""
        return len(self._rows) + len(self._open_rows)

    def put(self, settled: Iterable[AnyLine], open: Sequence[AnyLine] = ()) -> None:
        """Adds lines that stay, and takes others for those that change."""
        before, kept = self.height, len(self._rows)
        old = self._open_rows
        self._lines.extend(settled)
        self._open = open
        if not self._width:
            self.refresh(layout=True)
            return
        self._lay(self._width, again=True)
        rows = self._rows[kept:] + self._open_rows
        same = next((at for at, (one, other) in enumerate(zip(old, rows, strict=False)) if not _same(one, other)), None)
        if same is None:
            same = min(len(old), len(rows))
        changed = kept + same
        for y in range(changed, max(before, self.height)):
            _PAINTED.discard((self._painting, y))
        if self.height != before:
            self.refresh(layout=True)
        elif changed < self.height:
            self.refresh(Region(0, changed, self.size.width, self.height - changed))

    def text(self) -> str:
        """What is shown, as text."""
        return _joined(self._rows + self._open_rows)

    def get_content_width(self, container: Size, viewport: Size) -> int:
        """All that there is."""
        return container.width

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """The rows that the lines take at this width."""
        self._lay(max(width - _LEFT - _RIGHT, 1))
        return self.height

    def notify_style_update(self) -> None:
        """Colours are others now."""
        super().notify_style_update()
        self._paint_anew()

    def on_unmount(self) -> None:
        """Its text goes at once, and not when Python comes to look for what nobody needs."""
        self._lines.clear()
        self._rows.clear()
        self._open_rows.clear()
        self._open = ()
        self._laid = 0

    def selection_updated(self, selection: Selection | None) -> None:
        """Other text is selected."""
        self._paint_anew()
        super().selection_updated(selection)

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """The selected text."""
        chosen = []
        for y, row in enumerate(self._rows + self._open_rows):
            span = selection.get_span(y)
            if span is None:
                continue
            start, end = span
            plain = row.content.plain
            text = plain[max(start, row.margin) : len(plain) if end < 0 else end]
            chosen.append(Row(Content(text), 0, row.joint))
        return _joined(chosen), "\n"

    def render_line(self, y: int) -> Strip:
        """One row, painted."""
        strip = _PAINTED.get((self._painting, y))
        if strip is None:
            strip = _PAINTED[self._painting, y] = self._painted(y)
        return strip

    def render_lines(self, crop: Region) -> list[Strip]:
        """The rows of a region. They stay the same objects as long as nothing about them changes."""
        strips = [self.render_line(y) for y in crop.line_range]
        if crop.column_span != (0, self.size.width):
            strips = [strip.crop(*crop.column_span) for strip in strips]
        return strips

    def _painted(self, y: int) -> Strip:
        """A row with its bar and its margins, and with the colours that this terminal can show."""
        base = self.visual_style
        width = max(self.size.width - _LEFT - _RIGHT, 1)
        if width != self._width:
            self._lay(width)
        bar = Segment(_BAR, (base + Style.parse(self._bar)).rich_style) if self._bar else Segment(" ", base.rich_style)
        strip = Strip.join(
            [Strip([bar, Segment(" " * (_LEFT - 1), base.rich_style)], _LEFT), self._text_strip(y, width)]
        )
        strip = strip.adjust_cell_length(self.size.width, base.rich_style)
        background = self.background_colors[1]
        for each in self.get_line_filters():
            strip = strip.apply_filter(each, background)
        return Painted(strip, strip.cell_length)

    def _text_strip(self, y: int, width: int) -> Strip:
        base = self.visual_style
        if y >= self.height:
            return Strip.blank(width, base.rich_style)
        row = self._rows[y] if y < len(self._rows) else self._open_rows[y - len(self._rows)]
        content = row.content
        selection = self.text_selection
        if selection is not None and (span := selection.get_span(y)) is not None:
            chosen = Style.from_styles(self.screen.get_component_styles("screen--selection"))
            content = content.stylize(chosen, span[0], len(content) if span[1] < 0 else span[1])
        if row.fill:
            margin = max(row.margin - 1, 0)
            strip = Strip.join(
                [
                    self._strip(content[:margin], base, 0, y),
                    self._strip(content[margin:], base + Style.parse(row.fill), margin, y),
                ]
            )
            return strip.adjust_cell_length(width, (base + Style.parse(row.fill)).rich_style)
        return self._strip(content, base, 0, y).adjust_cell_length(width, base.rich_style)

    def _strip(self, content: Content, base: Style, x: int, y: int) -> Strip:
        segments = []
        for text, style in content.render(base, end="", parse_style=_parse):
            segments.append(Segment(text, style.rich_style_with_offset(x, y)))
            x += len(text)
        return Strip(segments, content.cell_length)

    def _paint_anew(self) -> None:
        self._painting = next(_numbers)

    def _lay(self, width: int, *, again: bool = False) -> None:
        """Lays out what is not laid out at this width; `again`: the lines that change are others."""
        if width != self._width:
            self._width = width
            self._rows.clear()
            self._paint_anew()
            self._laid = 0
            again = True
        for line in self._lines[self._laid :]:
            self._rows.extend(lay(line, width))
        self._laid = len(self._lines)
        if again:
            self._open_rows = [row for line in self._open for row in lay(line, width)]


def _parse(style: str | Style) -> Style:
    return style if isinstance(style, Style) else Style.parse(style)


def _same(one: Row, other: Row) -> bool:
    return one.fill == other.fill and one.content.is_same(other.content)


def _joined(rows: Iterable[Row]) -> str:
    """Rows as the text that they were made of."""
    made: list[str] = []
    for row in rows:
        if made:
            made.append(row.joint)
        made.append(row.content.plain[row.margin :])
    return "".join(made)
