"""Waiting for what happens outside the test: in bounded time."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from bench.trust.children import living


def until(true: Callable[[], object], seconds: float = 10.0) -> bool:
    """Whether it has become true in this time."""
    end = time.monotonic() + seconds
    while not true() and time.monotonic() < end:
        time.sleep(0.01)
    return bool(true())


def leap(seconds: float) -> None:
    """Moves the clock of the running loop on: time-outs that are as near are reached at once."""
    loop = asyncio.get_running_loop()
    before = loop.time
    loop.time = lambda: before() + seconds  # type: ignore[method-assign]


def sleeping(token: str) -> int:
    """How many `sleep` programs of the call with this token live."""
    return sum(line.startswith("sleep") for line in living(token).values())
