"""Tools that are plain functions: each runs in a thread of its own, which outlives a run that gave it up."""

from __future__ import annotations

import threading

SECONDS = 20


def joined() -> None:
    """Waits until every tool that still runs in a thread has returned."""
    for thread in threading.enumerate():
        if thread.name.startswith("toolwire-tool"):
            thread.join(SECONDS)
            assert not thread.is_alive(), f"{thread.name} hangs"
