"""A terminal that goes away while the chat paints: what is written then goes nowhere, and the chat ends.

Textual paints in a thread of its own, which a window that was closed would end, and whoever paints would wait for ever.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TextIO

from textual.driver import Driver


def unbroken(driver: type[Driver], lost: Callable[[], object]) -> type[Driver]:
    """The same driver, which outlives its terminal and calls `lost` when that is gone."""
    known: Any = driver

    class Unbroken(known):  # type: ignore[misc]
        def __init__(self, *given: Any, **named: Any) -> None:
            super().__init__(*given, **named)
            file: Any = getattr(self, "_file", None)
            if file is not None:
                self._file = UnbrokenTerminal(file, lost)

    return Unbroken


def when_told_to_end(leave: Callable[[int], object]) -> None:
    """Has `leave` called with the number of a signal that says that the window or the system goes."""
    loop = asyncio.get_running_loop()
    for number in {signal.SIGTERM, getattr(signal, "SIGHUP", signal.SIGTERM)}:
        with suppress(NotImplementedError, ValueError, RuntimeError):
            loop.add_signal_handler(number, leave, number)


class UnbrokenTerminal:
    """A terminal to write to. `lost` is called once, by whoever writes, when there is none any more."""

    def __init__(self, terminal: TextIO, lost: Callable[[], object]) -> None:
        self._terminal = terminal
        self._lost = lost
        self._is_lost = False

    def write(self, text: str) -> int:
        """As of any file; nothing that goes wrong is raised."""
        self._try(lambda: self._terminal.write(text))
        return len(text)

    def flush(self) -> None:
        """As of any file; nothing that goes wrong is raised."""
        self._try(self._terminal.flush)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._terminal, name)

    def _try(self, act: Callable[[], object]) -> None:
        if self._is_lost:
            return
        try:
            act()
        except (OSError, ValueError):
            self._is_lost = True
            self._lost()
