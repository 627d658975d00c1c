"""run_bash under load: floods of output, jobs that misbehave; through the real gate, executor and tools. Linux."""

from __future__ import annotations

import asyncio
import os
import random
import time
from collections.abc import Callable
from tempfile import TemporaryDirectory

import msgspec

from toolwire.approval.gate import Gate, Ticket
from toolwire.approval.places import Workspace
from toolwire.builtin.shell import shell_tools
from toolwire.execution.environment import child_environment
from toolwire.execution.executor import Executor, ToolResult
from toolwire.execution.sandbox.sandbox import find_sandbox
from toolwire.execution.supervisor import descendants
from toolwire.stream.invocation import ToolInvocation
from toolwire.tools.definition import ToolDefinition

from . import Found
from .children import BASH, living, new_token

AT_ONCE = 8

MOST_GROWTH = 50_000_000
"""Bytes of memory that a flood may cost."""

SHAPES = {
    "one line": "tr '\\0' x",
    "lines": "tr '\\0' '\\n'",
    "progress bars": "tr '\\0' '\\r'",
    "escapes": "tr '\\0' '\\033'",
}
"""What a flood is made of; the first is the one of the plan, the others are a thousandth of it each."""


def flood(count: int, seed: int) -> Found:
    """A command that writes `count` bytes; plan: 10 GB. Memory stays, the cut is exact, progress comes in bounds."""
    found = Found(runs=1)
    with TemporaryDirectory() as root:
        words = [
            asyncio.run(_flood(found, shape, count if shape == "one line" else count // 1000, root)) for shape in SHAPES
        ]
    found.words = "; ".join(words)
    return found


async def _flood(found: Found, shape: str, count: int, root: str) -> str:
    before = most = _resident()
    told = longest = 0

    def watch(report: str) -> None:
        nonlocal most, told, longest
        most = max(most, _resident())
        told += 1
        longest = max(longest, len(report))

    line = f"head -c {count} /dev/zero | {SHAPES[shape]}"
    started = time.monotonic()
    result = await _run(shell_tools(find_sandbox())[0], {"command": line, "timeout": 600}, root, watch)
    seconds = time.monotonic() - started
    grown = max(most, _resident()) - before
    if grown > MOST_GROWTH:
        found.fault(f"{shape}: memory grew by {grown:,} bytes")
    if len(result.content) > 100_000 or longest > 11_000:
        found.fault(f"{shape}: a result of {len(result.content):,} and a report of {longest:,} characters")
    if shape == "one line" and (result.is_error or f"[… {count - 80_000:,} characters cut …]" not in result.content):
        found.fault(f"{shape}: {result.content[:100]!r} … {result.content[-300:]!r}")
    return f"{shape}: {count:,} bytes in {seconds:.1f} s, {told:,} reports, memory grew by {grown / 1e6:.1f} MB"


def background(count: int, seed: int) -> Found:
    """Jobs that misbehave, stopped after 0 to 300 ms or left to the end of the loop; plan: 200. Nothing lives after."""
    found = Found()
    chance = random.Random(seed)
    with TemporaryDirectory() as root:
        tokens = asyncio.run(_jobs(found, count, chance, root))
    for case, token in tokens:
        if left := living(token):
            found.fault(f"{case} after the end of the loop: {left}")
    if children := descendants(os.getpid()):
        found.fault(f"children left: {children}")
    return found


async def _jobs(found: Found, count: int, chance: random.Random, root: str) -> list[tuple[str, str]]:
    """Starts and stops them, and gives those that still run."""
    tools = shell_tools(find_sandbox())
    places = asyncio.Semaphore(AT_ONCE)
    slowest = 0.0
    ended = 0

    async def one(case: str, delay: float) -> None:
        nonlocal slowest, ended
        async with places:
            token = new_token()
            line = BASH[case].replace("@", f"60.{token}")
            told = await _run(tools[0], {"command": line, "background": True}, root)
            job = int(told.content.rpartition("job ")[2].split()[0])
            await asyncio.sleep(delay)
            stopped = time.monotonic()
            told = await _run(tools[1], {"job": job, "action": "stop"}, root)
            slowest = max(slowest, time.monotonic() - stopped)
            found.runs += 1
            ended += "has ended" in told.content
            left = living(token)
            if told.is_error or left:
                found.fault(f"{case} after {delay:.3f} s: {told.content[-200:]!r}, {left}")

    cases = [list(BASH)[number % len(BASH)] for number in range(count)]
    await asyncio.gather(*(one(case, chance.uniform(0, 0.3)) for case in cases))
    left = [(case, new_token()) for case in cases[:AT_ONCE]]
    for case, token in left:
        found.runs += 1
        await _run(tools[0], {"command": BASH[case].replace("@", f"60.{token}"), "background": True}, root)
    found.words = (
        f"slowest stop {slowest:.1f} s; {ended} had ended by themselves; {len(left)} left to the end of the loop"
    )
    return left


async def _run(
    tool: ToolDefinition, arguments: dict[str, object], root: str, watch: Callable[[str], None] | None = None
) -> ToolResult:
    async def ask(request: object) -> bool:
        return True

    gate = Gate(ask, workspace=Workspace(root), environment=child_environment(os.environ))
    raw = msgspec.json.encode(arguments).decode()
    ticket = await gate.decide(ToolInvocation(new_token(), tool.name, arguments, raw_arguments=raw), tool)
    assert isinstance(ticket, Ticket), ticket
    return await Executor(gate).run(ticket, watch)


def _resident() -> int:
    with open("/proc/self/statm", "rb") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")
