"""`QuietBar`: a scroll bar that is painted twenty times a second for next to nothing."""

from __future__ import annotations

from functools import lru_cache
from math import ceil

from rich.segment import Segment
from rich.style import Style
from textual.color import Color
from textual.geometry import Region
from textual.scrollbar import ScrollBar
from textual.strip import Strip

from .painted import Painted


class QuietBar(ScrollBar):
    """Textual's vertical bar in whole cells. It is used like any other: dragged, and clicked above and below."""

    def render_lines(self, crop: Region) -> list[Strip]:
        """Three kinds of rows, each the same object again and again: above the thumb, the thumb, below it."""
        bar, ground = self._colours()
        above, thumb, below = (
            _row(bar, ground, self.size.width, kind) for kind in ("scroll_up", "grab", "scroll_down")
        )
        start, end = self.thumb
        return [above if y < start else thumb if y < end else below for y in crop.line_range]

    @property
    def thumb(self) -> tuple[int, int]:
        """The first row of the thumb, and the one after its last."""
        height, window, whole = self.size.height, self.window_size, self.window_virtual_size
        if not window or whole <= window:
            return 0, 0
        size = max(1, min(height, ceil(height * window / whole)))
        start = round((height - size) * self.position / (whole - window))
        return start, start + size

    def _colours(self) -> tuple[Color, Color]:
        assert self.parent is not None
        styles = self.parent.styles
        if self.grabbed:
            bar, ground = styles.scrollbar_color_active, styles.scrollbar_background_active
        elif self.mouse_over:
            bar, ground = styles.scrollbar_color_hover, styles.scrollbar_background_hover
        else:
            bar, ground = styles.scrollbar_color, styles.scrollbar_background
        ground = self.parent.background_colors[0] + ground
        return ground + bar, ground


@lru_cache(64)
def _row(bar: Color, ground: Color, width: int, action: str) -> Painted:
    colour = bar if action == "grab" else ground
    style = Style(bgcolor=colour.rich_color, meta={"@mouse.down": action})
    return Painted([Segment(" " * width, style)], width)
