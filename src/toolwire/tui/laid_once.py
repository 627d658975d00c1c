"""`LaidOnce`: a widget that grows does not have the whole screen laid out twice."""

from __future__ import annotations

from textual.geometry import Size
from textual.widget import Widget


class LaidOnce(Widget):
    """Textual notes the new size of a widget after it laid out the screen, and takes that for a reason to do so again.

    For what grows twenty times a second that is half of all work. Where a scroll bar comes or goes, it is still done.
    Name it last among the bases: Textual takes styles of the first one only.
    """

    def _size_updated(self, size: Size, virtual_size: Size, container_size: Size, layout: bool = True) -> bool:
        return super()._size_updated(size, virtual_size, container_size, layout=False)
