"""The calls of an answer, stopped at a random moment: nothing runs on, every call has one result that is true."""

from __future__ import annotations

import asyncio
import random
import time
from collections import Counter
from contextlib import aclosing, suppress
from typing import Any

from toolwire.agent.calls import Calls, Workbench
from toolwire.approval.audit import AuditRecord
from toolwire.approval.gate import Gate
from toolwire.approval.request import Answer, ApprovalRequest
from toolwire.execution.executor import Executor
from toolwire.messages import ToolCallPart, ToolResultPart
from toolwire.stream.invocation import ToolInvocation
from toolwire.tools.definition import Risk, ToolDefinition
from toolwire.tools.registry import ToolRegistry

from . import Found

LONGEST = 0.004
"""Seconds that a tool takes, or a person; a stop comes within some of them."""


def stopped_answers(count: int, seed: int) -> Found:
    """Random answers of up to eight calls, most of them closed or cancelled at a random moment.

    The plan's count is 1,000; that takes some 15 seconds.
    """
    found = Found()
    outcomes: Counter[str] = Counter()
    for number in range(count):
        asyncio.run(_try(random.Random(f"{seed}-{number}"), f"answer {number}", found, outcomes))
        found.runs += 1
    found.words = ", ".join(f"{times:,} calls {kind}" for kind, times in sorted(outcomes.items()))
    return found


class _World:
    """What tools really did: when each call began and ended."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.begun: dict[str, float] = {}
        self.ended: dict[str, float] = {}
        self.started: set[str] = set()
        """Calls whose ticket was taken, by the audit trail."""

    def audit(self, record: AuditRecord) -> None:
        if record.event == "started":
            self.started.add(record.call)

    async def answer(self, _: ApprovalRequest) -> Answer | bool:
        await asyncio.sleep(self.rng.random() * LONGEST)
        answers: list[Answer | bool] = [True, True, False, Answer(allowed=False, reason="no")]
        return self.rng.choice(answers)

    def wait_for(self, deaf: list[str]) -> None:
        """A function in a thread cannot be stopped; it ends when it has done its work."""
        until = time.monotonic() + 5
        while any(id in self.begun and id not in self.ended for id in deaf) and time.monotonic() < until:
            time.sleep(LONGEST)

    def tools(self) -> list[ToolDefinition]:
        async def wait(arguments: dict[str, Any]) -> str:
            name = arguments["name"]
            self.begun[name] = time.monotonic()
            try:
                await asyncio.sleep(arguments["seconds"])
            finally:
                self.ended[name] = time.monotonic()
            return f"did {name}"

        def block(arguments: dict[str, Any]) -> str:
            name = arguments["name"]
            self.begun[name] = time.monotonic()
            time.sleep(arguments["seconds"])
            self.ended[name] = time.monotonic()
            return f"did {name}"

        async def give(arguments: dict[str, Any]) -> Any:
            yield await wait(arguments)

        schema: dict[str, Any] = {"properties": {name: {} for name in ("name", "seconds", "path")}}
        return [
            ToolDefinition("look", "", schema, Risk.READ, wait, paths=("path",)),
            ToolDefinition("block", "", schema, Risk.READ, block),
            ToolDefinition("give", "", schema, Risk.READ, give),
            ToolDefinition("write", "", schema, Risk.WRITE, wait, paths=("path",)),
            ToolDefinition("alone", "", schema, Risk.WRITE, wait, exclusive=True),
        ]


async def _try(rng: random.Random, name: str, found: Found, outcomes: Counter[str]) -> None:
    world = _World(rng)
    tools = world.tools()
    gate = Gate(world.answer, audit=world.audit)
    made: list[tuple[str, ToolDefinition, dict[str, Any]]] = []
    for place in range(rng.randint(1, 8)):
        arguments = {"name": f"c{place}", "seconds": rng.random() * LONGEST, "path": rng.choice("ab")}
        made.append((f"c{place}", rng.choice(tools), arguments))
    calls = Calls(
        Workbench(ToolRegistry(tools), gate, Executor(gate), rng.randint(1, 4)),
        [ToolCallPart(id, tool.name, arguments) for id, tool, arguments in made],
        [ToolInvocation(id, tool.name, arguments, 1) for id, tool, arguments in made],
        {},
        turn=1,
    )
    task = asyncio.create_task(_follow(calls, rng.choice([None, rng.randint(1, 20)])))
    await asyncio.wait({task}, timeout=rng.random() * LONGEST * 6)
    while not task.done():
        task.cancel()
        await asyncio.wait({task}, timeout=rng.choice([0, 60]))
    with suppress(asyncio.CancelledError):
        task.result()
    told = {part.id: str(part.content) for part in calls.results().parts if isinstance(part, ToolResultPart)}
    begun = set(world.begun)
    deaf = [id for id, tool, _ in made if tool.name == "block" and id not in world.ended]
    if not deaf and len(asyncio.all_tasks()) > 1:
        found.fault(f"{name}: a task is left")
    await asyncio.sleep(LONGEST)
    world.wait_for(deaf)
    outcomes.update(_kind(words) for words in told.values())
    for words in _wrongs(world, made, told, begun):
        found.fault(f"{name}: {words}")


def _kind(words: str) -> str:
    for start, kind in (
        ("did", "done"),
        ("Error: cancelled", "stopped while running"),
        ("Error: not run: canc", "not begun"),
    ):
        if words.startswith(start):
            return kind
    return "denied"


async def _follow(calls: Calls, stop_after: int | None) -> None:
    async with aclosing(calls.run()) as events:
        seen = 0
        async for _ in events:
            seen += 1
            if seen == stop_after:
                return


def _wrongs(
    world: _World, made: list[tuple[str, ToolDefinition, dict[str, Any]]], told: dict[str, str], begun: set[str]
) -> list[str]:
    wrongs = []
    if list(told) != [id for id, _, _ in made]:
        wrongs.append(f"results of {list(told)}")
    blocking = {id for id, tool, _ in made if tool.name == "block"}
    if late := set(world.begun) - begun - blocking:
        wrongs.append(f"{sorted(late)} began after the end")
    if strays := set(world.begun) - world.started:
        wrongs.append(f"{sorted(strays)} ran without a ticket")
    for id in world.begun:
        if told[id].startswith("Error: not run"):
            wrongs.append(f"{id} ran, and its result says {told[id]!r}")
        if id not in world.ended:
            wrongs.append(f"{id} runs on")
    for id, words in told.items():
        if words == f"did {id}" and id not in world.ended:
            wrongs.append(f"{id} is said to be done")
    for place, (id, tool, arguments) in enumerate(made):
        for earlier, other, before in made[:place]:
            ordered = tool.exclusive or other.exclusive
            writes = Risk.WRITE in (tool.risk, other.risk) and bool(tool.paths and other.paths)
            if not (ordered or (writes and arguments["path"] == before["path"])):
                continue
            if id in world.begun and earlier in world.begun and world.begun[id] < world.ended.get(earlier, 0.0):
                wrongs.append(f"{id} began before {earlier} had ended")
    return wrongs
