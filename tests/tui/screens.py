"""Widgets on a small screen of their own, and events as an agent tells them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from textual.app import App, ComposeResult
from textual.pilot import Pilot
from textual.widget import Widget

from toolwire.stream.segments import EventType, SegmentEvent, SegmentType
from tui.gallery import stable


class Host(App[None]):
    """An app with nothing but these widgets. What goes to the clipboard is in `clipboard`."""

    ENABLE_COMMAND_PALETTE = False

    def __init__(self, *widgets: Widget, light: bool = False) -> None:
        super().__init__()
        self._widgets = widgets
        self._light = light

    def compose(self) -> ComposeResult:
        yield from self._widgets

    def on_mount(self) -> None:
        if self._light:
            self.theme = "textual-light"


def lines(app: App[Any]) -> list[str]:
    """What stands on the screen, line by line, without the blanks at the ends."""
    width, height = app.size
    strips = app.screen._compositor.render_strips()
    return ["".join(segment.text for segment in strip)[:width].rstrip() for strip in strips][:height]


def text(app: App[Any]) -> str:
    """The same as one text."""
    return "\n".join(lines(app))


async def becomes(pilot: Pilot[Any], true: Callable[[], object], tries: int = 200) -> bool:
    """Whether it becomes true while the app goes on, in bounded time."""
    for _ in range(tries):
        await pilot.pause()
        if true():
            return True
        await asyncio.sleep(0.02)
    return False


def picture(app: App[Any], path: str | Path) -> None:
    """Writes the screen as SVG, to be looked at."""
    Path(path).write_text(stable(app.export_screenshot()), encoding="utf-8")


def segment(
    kind: SegmentType, id: str, *deltas: str, tool: str | None = None, end: bool = True
) -> Iterator[SegmentEvent]:
    """A segment in these pieces; `end=False` leaves it open."""
    yield SegmentEvent(EventType.START, id, segment_type=kind, tool_name=tool)
    for delta in deltas:
        yield SegmentEvent(EventType.CONTENT, id, delta=delta)
    if end:
        yield SegmentEvent(EventType.END, id)


def answer(id: str, *deltas: str, end: bool = True) -> Iterator[SegmentEvent]:
    """Words of the model."""
    return segment(SegmentType.TEXT, id, *deltas, end=end)


def thought(id: str, *deltas: str, end: bool = True) -> Iterator[SegmentEvent]:
    """Reasoning of the model."""
    return segment(SegmentType.REASONING, id, *deltas, end=end)


def pieces(whole: str, size: int) -> list[str]:
    """The text cut into deltas of this size."""
    return [whole[start : start + size] for start in range(0, len(whole), size)]
