"""Waiting for what happens outside the test: in bounded time."""

from __future__ import annotations

import time
from collections.abc import Callable

from bench.trust.children import living


def until(true: Callable[[], object], seconds: float = 10.0) -> bool:
    """Whether it has become true in this time."""
    end = time.monotonic() + seconds
    while not true() and time.monotonic() < end:
        time.sleep(0.01)
    return bool(true())


def sleeping(token: str) -> int:
    """How many `sleep` programs of the call with this token live."""
    return sum(line.startswith("sleep") for line in living(token).values())
