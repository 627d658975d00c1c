"""Durable runs as the commands reach them: the extra that they need, their database, times as they are typed."""

from __future__ import annotations

import asyncio
import getpass
import math
import os
import signal
import socket
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from ..errors import ConfigError
from ..extras import require
from ..settings.loading import load_settings
from .faults import INTERRUPTED, TERMINATED
from .inputs import as_text

if TYPE_CHECKING:
    from ..durable.client import Runs

_LEAVE_SECONDS = 2.0
"""How long the end of a command waits for its database."""
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}


def check_extra() -> None:
    """Raise a `ConfigError` that says what to install if the engine is missing. Imports nothing."""
    require("durable")


def with_runs(database: str | None, work: Callable[[Runs], Awaitable[int]]) -> int:
    """Does the work with the runs of the database that was given, or else of the settings; gives its exit code.

    Ctrl-C and SIGTERM cancel it. A database that does not answer then keeps nobody waiting.
    """
    check_extra()
    url = database_of(database)

    async def opened() -> int:
        from ..durable.client import Runs

        with _ending() as told:
            try:
                async with Runs(url) as runs:
                    return await work(runs)
            except asyncio.CancelledError:
                if not told:
                    raise
                return told[0]

    return asyncio.run(opened())


@contextmanager
def _ending() -> Iterator[list[int]]:
    """Cancels this task when the person or the system wants it to end; gives the exit code for that, once it is."""
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    assert task is not None
    told: list[int] = []

    def leave(code: int) -> None:
        # A thread that waits for the database would be waited for, however long that takes.
        with suppress(OSError, ValueError):
            sys.stdout.flush()
        os._exit(code)

    def end(code: int) -> None:
        if told:
            leave(code)
        told.append(code)
        loop.call_later(_LEAVE_SECONDS, leave, code)
        task.cancel()

    with suppress(NotImplementedError):  # Windows: the runner cancels
        loop.add_signal_handler(signal.SIGINT, end, INTERRUPTED)
        loop.add_signal_handler(signal.SIGTERM, end, TERMINATED)
    yield told


def database_of(given: str | None) -> str | None:
    """The database's address: what was given, else what the settings say; None: the usual file."""
    flag = None if given is None else as_text(given)
    return load_settings(os.environ).with_flags(database=flag).settings.database or None


def seconds_of(text: str, option: str) -> float:
    """A length of time as it is typed: seconds, or 90s, 30m, 12h, 7d, 2w."""
    text = as_text(text).strip()
    number, unit = (text[:-1], _UNITS[text[-1:]]) if text[-1:] in _UNITS else (text, 1)
    try:
        seconds = float(number) * unit
    except ValueError:
        seconds = math.nan
    if not (0 < seconds < 10**10):
        raise ConfigError(f"{option} {text} is no length of time", hint="Write it as 90s, 30m, 12h or 7d.")
    return seconds


def who() -> str:
    """Who gives an answer, for the audit trail: user and machine."""
    try:
        user = getpass.getuser()
    except (OSError, KeyError, ImportError):
        user = "somebody"
    return f"{as_text(user)}@{socket.gethostname()}"


def run_options(**given: Any) -> dict[str, Any]:
    """What was said of a run; nothing of what was not."""
    return {name: value for name, value in given.items() if value is not None}
