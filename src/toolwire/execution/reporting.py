"""Progress of a call on its way from a tool, in whatever thread it works, to whoever watches.

A tool may tell more than anyone can read: what piles up is put together, and beyond a page the older of it is left
out, with a note. Memory and the number of calls to the watcher stay bounded whatever the tool does.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from ..redaction import Redactor
from .results import clean, result_text

PROGRESS_CHARACTERS = 10_000
"""How much one report holds: more than a screen does."""
PAUSE = 0.05
"""Seconds between two reports of one call: more often, nobody sees the difference."""

OnProgress = Callable[[str], None]
"""Is told on the event loop; what it raises ends the reports of that call, and not the call."""


class Reporter:
    """The reports of one call, without what a `redactor` holds. Made on the event loop; told from any thread."""

    def __init__(self, tell: OnProgress | None, redactor: Redactor | None = None) -> None:
        self._tell = tell
        self._redactor = redactor
        self._loop = asyncio.get_running_loop()
        self._lock = threading.Lock()
        self._waiting: deque[tuple[str, bool]] = deque()
        self._held = 0
        self._left_out = 0
        self._due = False
        self._last = float("-inf")

    def message(self, message: Any) -> None:
        """A message about the call, on a line of its own."""
        if self._tell is not None:
            self._add(message if type(message) is str else result_text(message), joined=False)

    def piece(self, text: str) -> None:
        """A piece of the call's output, which goes on where the last one ended."""
        if self._tell is not None and text:
            self._add(text, joined=True)

    def close(self) -> None:
        """Tells what is still waiting; nothing after it."""
        self._flush()
        self._tell = None

    def _add(self, text: str, *, joined: bool) -> None:
        short = text[-PROGRESS_CHARACTERS:]
        with self._lock:
            self._left_out += len(text) - len(short)
            self._waiting.append((short, joined))
            self._held += len(short) + 1
            while self._held > PROGRESS_CHARACTERS + 1:
                old, _ = self._waiting.popleft()
                self._held -= len(old) + 1
                self._left_out += len(old)
            wake, self._due = not self._due, True
        if wake:
            with suppress(RuntimeError):  # the loop is gone, and with it whoever watched
                self._loop.call_soon_threadsafe(self._arrange)

    def _arrange(self) -> None:
        self._loop.call_at(max(self._last + PAUSE, self._loop.time()), self._flush)

    def _flush(self) -> None:
        with self._lock:
            waiting, self._waiting = self._waiting, deque()
            left_out, self._left_out = self._left_out, 0
            self._held = 0
            self._due = False
        if self._tell is None or not waiting:
            return
        self._last = self._loop.time()
        report = f"[… {left_out:,} characters left out …]\n" if left_out else ""
        goes_on = True
        for text, joined in waiting:
            report += text if goes_on else f"\n{text}"
            goes_on = joined
        report = clean(report)
        try:
            self._tell(report if self._redactor is None else self._redactor.held(report))
        except Exception as error:
            self._tell = None
            self._loop.call_exception_handler({"message": "telling progress failed", "exception": error})
