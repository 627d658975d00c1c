"""Worker processes: forked from one that has everything imported, killed, frozen, woken and waited for."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from multiprocessing import forkserver, resource_tracker
from multiprocessing.context import ForkServerContext, ForkServerProcess
from pathlib import Path
from typing import Any

import msgspec

from .moments import labels
from .places import Place
from .worker_process import Job, work

_DEATH_SECONDS = 60.0
_context: ForkServerContext | None = None


def forks() -> ForkServerContext:
    """Where processes are forked that have everything imported."""
    global _context
    if _context is None:
        _context = multiprocessing.get_context("forkserver")
        _context.set_forkserver_preload(["bench.durable.worker_process", "bench.durable.clients", "dbos", "psycopg"])
    return _context


def end_forks() -> None:
    """Ends the process from which others are forked, which otherwise lives as long as this one."""
    forkserver._forkserver._stop()  # type: ignore[attr-defined]
    resource_tracker._resource_tracker._stop()  # type: ignore[attr-defined]


class Crew:
    """The workers of one trial. Whoever leaves it finds all of them ended."""

    def __init__(self, place: Place, **settings: Any) -> None:
        self.place = place
        self._settings = settings
        self.all: list[ForkServerProcess] = []

    async def __aenter__(self) -> Crew:
        return self

    async def __aexit__(self, *_: object) -> None:
        for process in self.all:
            self.kill(process)
        for process in self.all:
            await self.gone(process)
            process.close()

    def start(self, **settings: Any) -> ForkServerProcess:
        """One more."""
        job = Job(url=self.place.url, folder=str(self.place.folder), **{**self._settings, **settings})
        process = forks().Process(target=work, args=(msgspec.json.encode(job),), daemon=True)
        process.start()
        self.all.append(process)
        return process

    def living(self) -> list[ForkServerProcess]:
        """Those that have not ended, also those that are frozen."""
        return [process for process in self.all if process.is_alive()]

    def kill(self, process: ForkServerProcess) -> None:
        """kill -9."""
        self._signal(process, signal.SIGKILL)

    def freeze(self, process: ForkServerProcess) -> None:
        """Nothing in it runs any more, and it does not know."""
        self._signal(process, signal.SIGSTOP)

    def wake(self, process: ForkServerProcess) -> None:
        """It goes on."""
        self._signal(process, signal.SIGCONT)

    async def end(self, process: ForkServerProcess) -> int:
        """Asks it to end, as a deploy does; gives its exit code."""
        self._signal(process, signal.SIGTERM)
        return await self.gone(process)

    async def gone(self, process: ForkServerProcess, seconds: float = _DEATH_SECONDS) -> int:
        """Waits for its end."""
        await until(lambda: process.exitcode is not None, seconds, f"the end of worker {process.pid}")
        code = process.exitcode
        assert code is not None
        return code

    async def frozen(self, process: ForkServerProcess, seconds: float = _DEATH_SECONDS) -> bool:
        """Waits until it has frozen itself; False where it ended before."""
        await until(
            lambda: not process.is_alive() or is_frozen(process.pid), seconds, f"worker {process.pid} to freeze"
        )
        return process.is_alive()

    def moments(self, process: ForkServerProcess) -> list[str]:
        """The moments of its life that were counted."""
        return labels(self.place.folder / f"{process.pid}.moments")

    def said(self, process: ForkServerProcess) -> str:
        """The end of what it printed."""
        path = self.place.folder / f"{process.pid}.log"
        return path.read_text(errors="replace")[-1500:] if path.exists() else ""

    def _signal(self, process: ForkServerProcess, number: signal.Signals) -> None:
        if process.pid is not None and process.is_alive():
            with suppress(ProcessLookupError):
                os.kill(process.pid, number)


class TooLate(Exception):
    """What must come did not."""


async def until(true: Callable[[], object], seconds: float, what: str) -> None:
    """Waits for it; raises `TooLate`."""
    end = time.monotonic() + seconds
    while not true():
        if time.monotonic() > end:
            raise TooLate(f"{what} did not come in {seconds:g} s")
        await asyncio.sleep(0.01)


def is_frozen(pid: int | None) -> bool:
    """Whether the process is stopped."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state == "T"
