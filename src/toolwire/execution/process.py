"""The one way in which Toolwire starts programs: `run_process` starts one, reads it and leaves nothing of it behind.

The tree of a call ends with the call. When the program ends, what it left running in the background has a moment to
finish and is then ended too; when time is up or the caller is cancelled, all of it is. On Linux a small supervisor
process holds the whole tree, whatever it does to get away: forks, sessions, daemons, ignored signals, the death of
Toolwire itself. It cannot hold what another service is asked to start (cron, systemd, docker), nor end what another
user owns (sudo): `left` counts the latter. Elsewhere the process group is ended (Windows: what `taskkill /T` finds),
which a process that makes a session of its own escapes.
"""

from __future__ import annotations

import asyncio
import signal
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import msgspec

from ..errors import ProgramError
from .captured import Captured
from .process_group import ProcessGroup
from .program import Program
from .supervised import Supervised

OUTPUT_CHARACTERS = 80_000
"""How much of the output is kept: less than a result may have, so that one with a note is not cut again."""

GRACE_SECONDS = 2.0
"""How long a tree has to end by itself after SIGTERM."""

DRAIN_SECONDS = 0.25
"""How long what the program started may go on after its end: enough for the last stage of a pipe to write out."""


class Ceiling(msgspec.Struct, frozen=True):
    """How large the tree of a program may become before all of it is killed; 0 is without end. Linux alone counts.

    It is a look every 10 to 100 milliseconds, and no wall: in between, a tree can go over it by what it gets done so
    soon. A program that stops its supervisor is not counted: what may not do that is for the sandbox.
    """

    memory: int = 0
    """Bytes of main memory, of all its processes together."""
    processes: int = 0
    """Processes and their threads."""


class ProcessResult(msgspec.Struct, frozen=True, omit_defaults=True):
    """How a program ended and what it wrote, to standard output and standard error in one."""

    code: int | None
    """Its exit code; None if a signal ended it or it never came to run."""
    signal: str | None
    """The name of the signal that ended it."""
    output: str
    cut: int = 0
    """How many characters of the output are left out of it."""
    timed_out: bool = False
    left: int = 0
    """How many processes of the tree could not be ended."""
    seconds: float = 0.0
    over: str = ""
    """`memory` or `processes`: the ceiling for which the tree was ended."""


async def run_process(
    argv: Sequence[str],
    *,
    cwd: str | Path,
    environment: Mapping[str, str],
    timeout: float | None,  # noqa: ASYNC109 - a result tells of it
    on_output: Callable[[str], object] | None = None,
    limit: int = OUTPUT_CHARACTERS,
    input: bytes = b"",
    ceiling: Ceiling | None = None,
) -> ProcessResult:
    """Runs a program to its end; the environment is the whole of what it sees (see `child_environment`).

    `on_output` is given the output as it comes; what it raises ends the program and is raised. Cancelled, it returns
    only when the tree is gone, however often it is cancelled. Raises `ProgramError` if the program cannot be started.
    """
    program = Program.checked(argv, cwd, environment, input)
    if timeout is not None and timeout <= 0:
        return ProcessResult(None, None, "", timed_out=True)
    captured = Captured(limit, on_output)
    started = time.monotonic()
    start = Supervised if sys.platform == "linux" else ProcessGroup
    most = ceiling or Ceiling()
    child = start(
        program,
        captured,
        grace=GRACE_SECONDS,
        drain=DRAIN_SECONDS,
        memory=most.memory,
        processes=most.processes,
    )
    timed_out = False
    try:
        await asyncio.wait((child.gone,), timeout=timeout)
        timed_out = not child.gone.done() and child.status is None
    finally:
        child.end()
        await certainly(child.gone)
    if child.failed:
        raise program.refused(*child.failed)
    if captured.error:
        raise captured.error
    if child.status is None and not timed_out:
        raise ProgramError("the supervisor of a program could not work", hint=captured.text or "Try again.")
    code, name = ended(child.status)
    seconds = round(time.monotonic() - started, 4)
    return ProcessResult(code, name, captured.text, captured.cut, timed_out, child.left, seconds, child.over)


async def certainly(future: asyncio.Future[None]) -> None:
    """Waits whatever happens, and is cancelled afterwards if it was meanwhile."""
    cancelled: asyncio.CancelledError | None = None
    while not future.done():
        try:
            await asyncio.wait((future,))
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        raise cancelled


def ended(returned: int | None) -> tuple[int | None, str | None]:
    """The exit code, or the name of the signal, of what `subprocess` would call the return code."""
    if returned is None or returned >= 0:
        return returned, None
    try:
        return None, signal.Signals(-returned).name
    except ValueError:
        return None, f"signal {-returned}"
