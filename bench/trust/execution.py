"""Execution under fire: calls cancelled at any moment, and tools that give more than memory holds."""

from __future__ import annotations

import asyncio
import json
import random
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

from toolwire import Risk, ToolDefinition, ToolInvocation
from toolwire.approval.audit import AuditRecord
from toolwire.approval.gate import Gate, Ticket
from toolwire.execution import executor
from toolwire.execution.executor import Executor

from ..payloads import ROOT
from . import Found

LONGEST = 0.05
"""Seconds within which a call is cancelled; the tools take about as long."""
SIDE_BY_SIDE = 20
STUBBORN_SECONDS = 0.4
"""How long a tool holds out against its cancellation: longer than the grace that it has here."""
GRACE = 0.1

GROWTH = 64 * 2**20
"""Bytes by which a process may grow while a tool floods it: a few pieces of 1 MiB and the allocator's own."""


def quick(arguments: dict[str, Any]) -> str:
    time.sleep(arguments["seconds"])
    return "done"


def failing(arguments: dict[str, Any]) -> str:
    time.sleep(arguments["seconds"])
    raise SystemExit(3)


def pieces(arguments: dict[str, Any]) -> Iterator[str]:
    for n in range(20):
        yield f"{n} "
        time.sleep(arguments["seconds"] / 20)


async def waiting(arguments: dict[str, Any]) -> str:
    await asyncio.sleep(arguments["seconds"])
    return "done"


async def async_pieces(arguments: dict[str, Any]) -> AsyncIterator[str]:
    for n in range(20):
        yield f"{n} "
        await asyncio.sleep(arguments["seconds"] / 20)


async def stubborn(arguments: dict[str, Any]) -> str:
    end = time.monotonic() + STUBBORN_SECONDS
    while time.monotonic() < end:
        try:
            await asyncio.sleep(STUBBORN_SECONDS / 4)
        except asyncio.CancelledError:
            continue
    return "done"


async def tidy(arguments: dict[str, Any]) -> str:
    try:
        await asyncio.sleep(arguments["seconds"])
    finally:
        await asyncio.sleep(0.005)
    return "done"


TOOLS = (quick, failing, pieces, waiting, async_pieces, stubborn, tidy)


def cancels(count: int, seed: int) -> Found:
    """Calls of all kinds of tools, cancelled at a random moment: each ends once, and nothing of it is left.

    The plan's count is 1,000, which takes some 8 seconds.
    """
    return asyncio.run(_cancels(count, random.Random(seed)))


async def _cancels(count: int, chance: random.Random) -> Found:
    found = Found()
    before = set(threading.enumerate())
    records: list[AuditRecord] = []
    gate = Gate(audit=records.append)
    runs = Executor(gate)
    ends = {"cancelled": 0, "ended": 0}
    limit, executor.GRACE = executor.GRACE, GRACE
    # Each call of a tool that holds out is given up, and as many as run side by side may be.
    most, executor.GIVEN_UP = executor.GIVEN_UP, count

    async def one(number: int) -> None:
        call = chance.choice(TOOLS)
        definition = ToolDefinition("f", "", {"type": "object"}, Risk.READ, call)
        arguments = {"seconds": LONGEST * chance.random()}
        ticket = await gate.decide(ToolInvocation(f"c{number}", "f", arguments), definition)
        assert isinstance(ticket, Ticket)
        run = asyncio.create_task(runs.run(ticket))
        await asyncio.sleep(LONGEST * chance.random())
        cancelled = run.cancel()
        if chance.random() < 0.2:
            await asyncio.sleep(0)
            run.cancel()
        try:
            result = await run
        except asyncio.CancelledError:
            ends["cancelled"] += 1
            if not cancelled:
                found.fault(f"{call.__name__}: cancelled by nobody")
        else:
            ends["ended"] += 1
            if cancelled:
                found.fault(f"{call.__name__}: the cancellation was lost, and {result.outcome} came")
        found.runs += 1

    try:
        for start in range(0, count, SIDE_BY_SIDE):
            await asyncio.gather(*(one(n) for n in range(start, min(start + SIDE_BY_SIDE, count))))
        late = time.monotonic() + 10
        while (left := _left(before)) and time.monotonic() < late:  # noqa: ASYNC110
            await asyncio.sleep(0.05)
        for name in left:
            found.fault(f"left behind: {name}")
    finally:
        executor.GRACE, executor.GIVEN_UP = limit, most
    for number in range(count):
        outcomes = [r.outcome for r in records if r.event == "finished" and r.call == f"c{number}"]
        started = sum(r.event == "started" and r.call == f"c{number}" for r in records)
        if len(outcomes) != started or started > 1:
            found.fault(f"c{number}: started {started} times, ended as {outcomes}")
    found.words = f"{ends['cancelled']} cancelled, {ends['ended']} had ended before"
    return found


def _left(before: set[threading.Thread]) -> list[str]:
    """Tasks and threads of tools that still live, save threads that were there before."""
    threads = [thread.name for thread in set(threading.enumerate()) - before if thread.name.startswith("toolwire-tool")]
    tasks = [task.get_name() for task in asyncio.all_tasks() if task.get_name().startswith("toolwire-tool")]
    return threads + tasks


def flood(count: float, seed: int) -> Found:
    """A tool that gives `count` gigabytes in pieces of 1 MiB, in four ways: the process does not grow with them.

    The plan's count is 10, which takes some 10 seconds.
    """
    found = Found()
    words = []
    for way in ("pieces", "async pieces", "bytes", "progress"):
        size = int(count * 1e9) // 2**20 * 2**20
        child = subprocess.run(
            [sys.executable, "-m", "bench.trust.execution", way, str(size)],
            capture_output=True,
            text=True,
            cwd=ROOT,
            check=False,
        )
        found.runs += 1
        if child.returncode:
            found.fault(f"{way}: {child.stderr[-500:]}")
            continue
        grown, content, told = json.loads(child.stdout)
        if grown > GROWTH:
            found.fault(f"{way}: the process grew by {grown:,} bytes")
        if content != (size - 100_000 if way != "progress" else 0):
            found.fault(f"{way}: the result says that {content:,} characters were cut")
        if told > 11_000:
            found.fault(f"{way}: {told:,} characters were told at once")
        words.append(f"{way} {grown / 2**20:.1f} MiB")
    found.words = "grown by " + ", ".join(words)
    return found


def _peak() -> int:
    """The most memory that this process held. Not `ru_maxrss`, where there is better: a child begins with the peak of
    the process that started it, which would hide its own."""
    status = Path("/proc/self/status")
    if status.exists():
        lines = status.read_text().splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:"))
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def _flood(way: str, size: int) -> tuple[int, int, int]:
    """In a process of its own: bytes grown, characters cut, characters in the longest report."""
    from toolwire.tools.running import progress

    block = "0123456789abcde\n" * 2**16

    def plain(arguments: dict[str, Any]) -> Iterator[str]:
        for n in range(size // len(block)):
            yield block[1:] + chr(65 + n % 26)

    async def asynchronous(arguments: dict[str, Any]) -> AsyncIterator[str]:
        for piece in plain(arguments):
            yield piece

    def encoded(arguments: dict[str, Any]) -> Iterator[bytes]:
        return (piece.encode() for piece in plain(arguments))

    def told(arguments: dict[str, Any]) -> None:
        for piece in plain(arguments):
            progress(piece)

    calls = {"pieces": plain, "async pieces": asynchronous, "bytes": encoded, "progress": told}
    longest = 0

    def watch(text: str) -> None:
        nonlocal longest
        longest = max(longest, len(text))

    async def run() -> tuple[int, int]:
        gate = Gate()
        definition = ToolDefinition("f", "", {}, Risk.READ, calls[way], timeout=3600.0)
        ticket = await gate.decide(ToolInvocation("c1", "f", {}), definition)
        assert isinstance(ticket, Ticket)
        before = _peak()
        result = await Executor(gate).run(ticket, watch)
        grown = _peak() - before
        assert not result.is_error, result.content
        note = next((line for line in result.content.split("\n") if line.startswith("[… ")), "[… 0 ")
        return grown, int(note.split(" ")[1].replace(",", ""))

    grown, cut = asyncio.run(run())
    return grown, cut, longest


if __name__ == "__main__":
    print(json.dumps(_flood(sys.argv[1], int(sys.argv[2]))))
