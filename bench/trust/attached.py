"""Programs that stay connected, ended in every way at random moments: nothing of their trees lives after. Linux.

python -m bench.trust.attached TOKEN CASE...    starts one of each case, says so, and waits to be killed
"""

from __future__ import annotations

import asyncio
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path

from toolwire.execution.attached import Attached
from toolwire.execution.environment import child_environment
from toolwire.execution.supervisor import descendants

from . import Found
from .children import AT_ONCE, GONE_SECONDS, MISBEHAVIOURS, living, new_token, words

LEAVE_SECONDS = 0.2
"""How long they have after their input is closed: shorter than by default, so that more of them can be tried."""
KILLED_AT_ONCE = 5
"""Programs of one Toolwire that is killed."""
HELD_BY_TOOLWIRE = ("kills its supervisor", "stops its supervisor", "keeps its supervisor stopped")
"""What is done to a supervisor is seen to by Toolwire: with both of them out of the way, nobody is there to do it."""


def endings(count: int, seed: int) -> Found:
    """Each misbehaving program closed, cancelled, killed or left by a Toolwire that is killed -9; plan: 500, a minute.

    The first three ways are tried twenty at once in this process; a fifth of the programs is of processes apart, which
    are killed at a random moment. In the end there is no child, not even a dead one, and no descriptor more.
    """
    found = Found()
    rng = random.Random(seed)
    before = set(os.listdir("/proc/self/fd"))
    cases = [MISBEHAVIOURS[number % len(MISBEHAVIOURS)] for number in range(count)]
    rng.shuffle(cases)
    apart = [case for case in cases if case not in HELD_BY_TOOLWIRE][: count // 5]
    for case in apart:
        cases.remove(case)
    slowest = asyncio.run(_end_all(found, cases, rng))
    for first in range(0, len(apart), KILLED_AT_ONCE):
        _killed(found, apart[first : first + KILLED_AT_ONCE], rng.uniform(0, 0.3))
    if more := set(os.listdir("/proc/self/fd")) - before:
        found.fault(f"descriptors left open: {more}")
    if children := descendants(os.getpid()):
        found.fault(f"children left: {children}")
    found.words = f"slowest end {slowest:.1f} s; {len(apart)} left by a Toolwire that was killed -9"
    return found


async def _end_all(found: Found, cases: list[str], rng: random.Random) -> float:
    places = asyncio.Semaphore(AT_ONCE)
    slowest = 0.0

    async def one(case: str, way: str, delay: float) -> None:
        nonlocal slowest
        async with places:
            token = new_token()
            child = _start(case, token)
            reading = asyncio.create_task(_read(child))
            writing = asyncio.create_task(_write(child))
            await asyncio.sleep(delay)
            started = time.monotonic()
            await _WAYS[way](child, token)
            left = living(token)
            seconds = time.monotonic() - started
            slowest = max(slowest, seconds)
            await asyncio.wait((reading, writing), timeout=GONE_SECONDS)
            found.runs += 1
            where = f"{case}, {way} after {delay:.3f} s"
            if left:
                found.fault(f"{where}: {left}")
            if seconds > GONE_SECONDS:
                found.fault(f"{where}: gone only after {seconds:.1f} s")
            for task in (reading, writing):
                if not task.done() or task.exception():
                    found.fault(f"{where}: somebody still waits for it, or {task}")
                    task.cancel()

    await asyncio.gather(*(one(case, rng.choice(list(_WAYS)), rng.uniform(0, 0.3)) for case in cases))
    return slowest


def _start(case: str, token: str) -> Attached:
    environment = child_environment(os.environ, {"TOKEN": token})
    return Attached(words(case, token), cwd="/", environment=environment, on_error_output=lambda text: None)


async def _read(child: Attached) -> None:
    while await child.read():
        pass


async def _write(child: Attached) -> None:
    """More than a pipe holds, to programs of which none reads."""
    try:
        await child.write(bytes(200_000))
    except OSError:
        return


async def _close(child: Attached, token: str) -> None:
    await child.close(LEAVE_SECONDS)


async def _cancel(child: Attached, token: str) -> None:
    closing = asyncio.create_task(child.close(LEAVE_SECONDS))
    for _ in range(5):
        await asyncio.sleep(0.01)
        closing.cancel()
    await asyncio.wait((closing,))


async def _crash(child: Attached, token: str) -> None:
    """One of its processes is killed from outside, its supervisor too; the rest is for `close`."""
    if there := sorted(pid for pid in living(token) if pid):
        with suppress(ProcessLookupError):
            os.kill(there[-1], signal.SIGKILL)
    await child.close(LEAVE_SECONDS)


_WAYS: dict[str, Callable[[Attached, str], Awaitable[None]]] = {"close": _close, "cancel": _cancel, "crash": _crash}


def _killed(found: Found, cases: list[str], delay: float) -> None:
    token = new_token()
    here = str(Path(__file__).parents[2])
    with subprocess.Popen(
        [sys.executable, "-m", "bench.trust.attached", token, *cases],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([here, *filter(None, sys.path)])},
    ) as toolwire:
        assert toolwire.stdout is not None
        said = toolwire.stdout.readline()
        time.sleep(delay)
        toolwire.kill()
        killed = time.monotonic()
    found.runs += len(cases)
    if said != b"started\n":
        found.fault(f"{cases}: not started")
    while (left := living(token)) and time.monotonic() < killed + GONE_SECONDS:
        time.sleep(0.02)
    if left:
        found.fault(f"{cases}, Toolwire killed after {delay:.3f} s: {left}")


async def _wait_to_be_killed(token: str, cases: list[str]) -> None:
    children = [_start(case, token) for case in cases]
    sys.stdout.write("started\n")
    sys.stdout.flush()
    await asyncio.sleep(30)
    await asyncio.gather(*(child.close(LEAVE_SECONDS) for child in children))


if __name__ == "__main__":
    asyncio.run(_wait_to_be_killed(sys.argv[1], sys.argv[2:]))
