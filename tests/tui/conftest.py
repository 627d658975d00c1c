"""A pilot that waits for the app, not for the processor: Textual's own takes a machine that is busy elsewhere for an
app with nothing left to do.
"""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from textual.app import App
from textual.pilot import Pilot

_ROUNDS = 200
_QUIET = 2
"""Rounds in a row in which nothing was on its way."""


@pytest.fixture(autouse=True)
def patient_pilot(monkeypatch: pytest.MonkeyPatch) -> None:
    pause, press = Pilot.pause, Pilot.press

    async def paused(pilot: Pilot[Any], delay: float | None = None) -> None:
        await pause(pilot, delay)
        if delay is None:
            await _settled(pilot)

    async def pressed(pilot: Pilot[Any], *keys: str) -> None:
        await press(pilot, *keys)
        await _settled(pilot)

    monkeypatch.setattr(Pilot, "pause", paused)
    monkeypatch.setattr(Pilot, "press", pressed)


async def _settled(pilot: Pilot[Any]) -> None:
    """Until nothing is on its way to the screen; in bounded time, since some of it never rests."""
    quiet = 0
    for _ in range(_ROUNDS):
        if not await pilot._wait_for_screen():
            return
        quiet = 0 if _something_comes(pilot.app) else quiet + 1
        if quiet == _QUIET:
            return
        await asyncio.sleep(0.005)


def _something_comes(app: App[Any]) -> bool:
    screen = app.screen
    return bool(
        screen._layout_required
        or screen._scroll_required
        or screen._repaint_required
        or screen._dirty_widgets
        or screen._callbacks
        or any(node.message_queue_size or node._next_callbacks for node in (app, *screen.walk_children(with_self=True)))
    )
