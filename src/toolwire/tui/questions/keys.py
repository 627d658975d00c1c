"""`Keys`: what can be pressed, for the keyboard and for the mouse in the same words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, NamedTuple

from rich.cells import cell_len
from rich.segment import Segment
from textual import events
from textual.geometry import Size
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget


class Key(NamedTuple):
    """A key and what it does."""

    key: str
    """As Textual calls it."""
    words: str
    shown: str = ""
    """The key as it is written on the screen, where that is another name."""

    @property
    def name(self) -> str:
        """As it is written on the screen."""
        return self.shown or self.key


class _Place(NamedTuple):
    start: int
    end: int
    key: Key


class Keys(Widget, can_focus=False):
    """Keys in as many lines as they need. A click on one is the key. None of them is ever chosen beforehand."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"keys--key", "keys--words", "keys--under"}
    DEFAULT_CSS = """
    Keys { height: auto; width: 100%; background: transparent; }
    .keys--key { color: $text-primary; background: $primary 25%; text-style: bold; }
    .keys--words { color: $text; }
    .keys--under { color: $text; background: $primary 40%; text-style: bold; }
    """
    _BETWEEN = 2

    class Pressed(Message):
        """A key was clicked."""

        def __init__(self, key: str, when: float) -> None:
            super().__init__()
            self.key = key
            self.when = when

    def __init__(self, keys: Sequence[Key] = ()) -> None:
        super().__init__()
        self._keys = tuple(keys)
        self._under: Key | None = None

    def show(self, keys: Sequence[Key]) -> None:
        """Other keys."""
        if tuple(keys) != self._keys:
            self._keys, self._under = tuple(keys), None
            self.refresh(layout=True)

    def lines(self, width: int) -> list[list[_Place]]:
        """Which key stands where."""
        lines: list[list[_Place]] = [[]]
        at = 1
        for key in self._keys:
            size = cell_len(f" {key.name}  {key.words}")
            if lines[-1] and at + size > width:
                lines.append([])
                at = 1
            lines[-1].append(_Place(at, at + size, key))
            at += size + self._BETWEEN
        return lines

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """As many lines as the keys need."""
        return len(self.lines(width))

    def render_line(self, y: int) -> Strip:
        """One line of keys."""
        lines = self.lines(self.size.width)
        segments: list[Segment] = []
        at = 0
        for place in lines[y] if y < len(lines) else ():
            segments.append(Segment(" " * (place.start - at), self.rich_style))
            look = "under" if place.key is self._under else "key"
            words = "under" if place.key is self._under else "words"
            segments.append(Segment(f" {place.key.name} ", self.get_component_rich_style(f"keys--{look}")))
            segments.append(Segment(f" {place.key.words}", self.get_component_rich_style(f"keys--{words}")))
            at = place.end
        return Strip(segments).adjust_cell_length(self.size.width, self.rich_style)

    def at(self, x: int, y: int) -> Key | None:
        """The key that stands there."""
        lines = self.lines(self.size.width)
        found = (place.key for place in (lines[y] if 0 <= y < len(lines) else ()) if place.start <= x < place.end)
        return next(found, None)

    def on_click(self, event: events.Click) -> None:
        """The key that was clicked."""
        event.stop()
        key = self.at(event.x, event.y)
        if key is not None:
            self.post_message(self.Pressed(key.key, event.time))

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """Shows what a click would press."""
        self._stand_over(self.at(event.x, event.y))

    def on_leave(self) -> None:
        """Nothing any more."""
        self._stand_over(None)

    def _stand_over(self, key: Key | None) -> None:
        if key is not self._under:
            self._under = key
            self.refresh()
