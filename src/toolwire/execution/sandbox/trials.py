"""Tries to get out of the sandbox of this machine, by real programs, and says what held.

Every trial is made twice, each time in a new world: first with nothing that holds it, and only if it gets out then,
confined. What cannot get out anyway was not tried, and is never told as held.
"""

from __future__ import annotations

import asyncio
import os
import platform
import shutil
import sys
import time
from collections.abc import AsyncGenerator, Sequence
from typing import Literal

import msgspec

from ..environment import child_environment
from ..process import Ceiling, ProcessResult, run_process
from .escapes import ESCAPES, FILE_BYTES, FILES, MEMORY, PROCESSES, PYTHON_BEGIN, SHELL_BEGIN, Escape
from .outside import Outside
from .sandbox import Profile, Sandbox

SECONDS = 8.0
"""How long one try may take."""

_AT_ONCE = 4
_LATE_SECONDS = 0.05
_LATEST_SECONDS = 0.5

State = Literal["held", "got out", "not started", "not tried"]


class Trial(msgspec.Struct, frozen=True):
    """What became of one way out."""

    name: str
    kind: str
    state: State
    why: str
    """What got out, why it was not tried or could not be started in the sandbox; for what held, what it said then."""
    seconds: float


async def try_escapes(sandbox: Sandbox, escapes: Sequence[Escape] = ESCAPES) -> AsyncGenerator[Trial, None]:
    """Each trial as it is done, some at a time; those that grow come last, alone."""
    room = asyncio.Semaphore(_AT_ONCE)

    async def one(escape: Escape) -> Trial:
        async with room:
            return await try_escape(sandbox, escape)

    tasks = [asyncio.ensure_future(one(escape)) for escape in escapes if not escape.grows]
    try:
        for task in tasks:
            yield await task
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    for escape in escapes:
        if escape.grows:
            yield await try_escape(sandbox, escape)


async def try_escape(sandbox: Sandbox, escape: Escape) -> Trial:
    """One way out, without the sandbox and within it."""
    started = time.monotonic()

    def trial(state: State, why: str) -> Trial:
        return Trial(escape.name, escape.kind, state, why, round(time.monotonic() - started, 3))

    for program in escape.needs:
        if shutil.which(program) is None:
            return trial("not tried", f"there is no {program}")
    if escape.number and platform.machine() != "x86_64":
        return trial("not tried", "it is written for x86_64")
    signs, result = await _try(None, escape)
    if not signs:
        return trial("not tried", f"it gets nowhere without the sandbox either: {_last(result)}")
    signs, result = await _try(sandbox, escape)
    if signs and escape.gap in sandbox.gaps:
        return trial("got out", f"{', '.join(signs)}: known, {escape.gap} are not held here")
    if signs:
        return trial("got out", ", ".join(signs))
    if not result.output.startswith("began"):
        return trial("not started", _last(result))
    return trial("held", f"ended for its {result.over}" if result.over else _last(result))


async def _try(sandbox: Sandbox | None, escape: Escape) -> tuple[list[str], ProcessResult]:
    """Runs it in a new world: what got out, and how it ended."""
    async with Outside.made() as outside:
        argv = _argv(escape)
        ceiling = None
        if sandbox is not None:
            profile = Profile(writable=(str(outside.workspace),), hidden=(str(outside.hidden),))
            if escape.grows:
                profile = msgspec.structs.replace(
                    profile, memory=MEMORY, processes=PROCESSES, open_files=FILES, file_size=FILE_BYTES
                )
            ceiling = Ceiling(profile.memory, profile.processes)
            argv = sandbox.command(argv, profile)
        result = await run_process(
            argv,
            cwd=outside.workspace,
            environment=child_environment(os.environ, outside.names),
            timeout=SECONDS,
            ceiling=ceiling,
        )
        if escape.grows:
            return _grown(outside.workspace / escape.grows, escape.most), result
        signs = outside.signs(result.output)
        if not signs:
            # A datagram or the end of a process may be on its way; longest is waited where it is sure to come.
            await asyncio.sleep(_LATE_SECONDS if sandbox is not None else _LATEST_SECONDS)
            signs = outside.signs(result.output)
        return signs, result


def _argv(escape: Escape) -> list[str]:
    if escape.python:
        return [sys.executable, "-I", "-S", "-c", PYTHON_BEGIN + escape.python]
    return ["bash", "--norc", "--noprofile", "-c", SHELL_BEGIN + escape.shell]


def _grown(path: os.PathLike[str], most: int) -> list[str]:
    try:
        size = os.stat(path).st_size
    except OSError:
        return []
    return [f"it grew to {size:,}, over {most:,}"] if size > most else []


def _last(result: ProcessResult) -> str:
    """What it wrote last, or how it ended."""
    lines = result.output.removeprefix("began").split("\n")
    how = "time was up" if result.timed_out else result.signal or f"exit code {result.code}"
    return next((line.strip()[:200] for line in reversed(lines) if line.strip()), how)
