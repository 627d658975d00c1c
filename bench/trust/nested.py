"""Agents that call agents, stopped at random moments: every call at every level has one result, and nothing runs on."""

from __future__ import annotations

import asyncio
import random
import time
from collections import Counter
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing, suppress
from typing import Any

import msgspec

from toolwire.agent.bounds import Bounds
from toolwire.agent.delegating import agent_tool
from toolwire.agent.events import AgentEvent, NestedEvent, RunEnd, RunStarted, ToolFinished, ToolStarted
from toolwire.agent.loop import Agent
from toolwire.approval.request import ApprovalRequest
from toolwire.messages import ToolCallPart, ToolResultPart
from toolwire.tools.definition import Risk, ToolDefinition
from toolwire.transport import HttpRequest

from . import Found

LONGEST = 0.003
"""Seconds that anything takes: a piece of an answer, a tool, a person."""
DEEPEST = 3
WAYS = ("to the end", "timed out", "interrupted", "cancelled", "closed", "a child interrupted", "out of time")
"""How a run ends. In all but the first, calls of agents may also be stopped by a time-out of their own."""
LONGEST_RUN = 10.0
"""Seconds. None comes near it."""
STOP_SECONDS = 1.0
"""From the stop to the end of the run."""


def nested(count: int, seed: int) -> Found:
    """Random trees of agents, most of them stopped at a random moment in one of several ways.

    The plan's count is 1,000; that takes about a minute.
    """
    found = Found()
    outcomes: Counter[str] = Counter()
    for number in range(count):
        asyncio.run(_Tree(random.Random(f"{seed}-{number}"), f"tree {number}", found, outcomes).run())
        found.runs += 1
    found.words = ", ".join(f"{times:,} {kind}" for kind, times in sorted(outcomes.items()))
    return found


class _Model:
    """The model of one agent: makes calls of a plan that it draws as it goes, and ends its turn."""

    def __init__(self, tree: _Tree, depth: int) -> None:
        self.tree = tree
        self.turns = [tree.plan(depth) for _ in range(tree.rng.randint(depth == 0, 2))]
        self.closed = False

    async def stream(self, request: HttpRequest) -> AsyncGenerator[bytes, None]:
        rng = self.tree.rng
        calls = self.turns.pop(0) if self.turns else []
        pieces: list[dict[str, Any]] = [{"content": "words "}] * rng.randint(1, 30)
        for index, (name, arguments) in enumerate(calls):
            function = {"name": name, "arguments": msgspec.json.encode(arguments).decode()}
            pieces.append({"tool_calls": [{"index": index, "id": f"call_{index}", "function": function}]})
        for piece in pieces:
            if rng.random() < 0.2:
                await asyncio.sleep(rng.random() * LONGEST)
            yield _chunk(piece)
        yield _chunk({}, "tool_calls" if calls else "stop") + b"data: [DONE]\n\n"

    async def aclose(self) -> None:
        self.closed = True


class _Tree:
    """One try: a tree of agents, what they did, and what was told of it."""

    def __init__(self, rng: random.Random, name: str, found: Found, outcomes: Counter[str]) -> None:
        self.rng = rng
        self.name = name
        self.way = rng.choice(WAYS)
        self.found = found
        self.outcomes = outcomes
        self.agents: list[tuple[Agent, _Model]] = []
        self.effects: Counter[str] = Counter()
        self.running: set[str] = set()
        self.works = 0
        self.events: list[AgentEvent] = []
        self.asked: set[str] = set()

    def plan(self, depth: int) -> list[tuple[str, dict[str, Any]]]:
        """The calls of one answer."""
        calls: list[tuple[str, dict[str, Any]]] = []
        for _ in range(self.rng.randint(1, 3)):
            if depth < DEEPEST and self.rng.random() < 0.5:
                calls.append(("agent", {"task": "go on"}))
            else:
                self.works += 1
                tool = self.rng.choice(["work", "asked"])
                calls.append((tool, {"name": f"w{self.works}", "seconds": self.rng.random() * LONGEST}))
        return calls

    def agent(self, depth: int = 0, **options: Any) -> Agent:
        async def work(arguments: dict[str, Any]) -> str:
            name = arguments["name"]
            self.effects[name] += 1
            self.running.add(name)
            try:
                await asyncio.sleep(arguments["seconds"])
            finally:
                self.running.discard(name)
            return f"did {name}"

        async def approve(request: ApprovalRequest) -> bool:
            if request.id in self.asked:
                self.fault(f"{request.id} is asked about while another of this id waits")
            self.asked.add(request.id)
            try:
                await asyncio.sleep(self.rng.random() * LONGEST)
            finally:
                self.asked.discard(request.id)
            return self.rng.random() < 0.8

        schema: dict[str, Any] = {"properties": {"name": {}, "seconds": {}}}
        tools = [
            ToolDefinition("work", "", schema, Risk.READ, work),
            ToolDefinition("asked", "", schema, Risk.WRITE, work),
            agent_tool(
                lambda: self.agent(depth + 1),
                name="agent",
                description="",
                risk="read",
                timeout=60.0 if self.way == WAYS[0] or self.rng.random() < 0.7 else LONGEST * 5,
            ),
        ]
        model = _Model(self, depth)
        made = Agent(
            "openai-compatible:m", tools, base_url="http://127.0.0.1:1/v1", transport=model, approve=approve, **options
        )
        self.agents.append((made, model))
        return made

    def fault(self, words: str) -> None:
        self.found.fault(f"{self.name}: {words}")

    async def run(self) -> None:
        way = self.way
        moment = self.rng.random() * LONGEST * 40
        bounds = Bounds(seconds=max(moment, 0.0001) if way == "out of time" else None)
        top = self.agent(bounds=bounds)
        reading = asyncio.create_task(self._read(top, self.rng.randint(1, 100) if way == "closed" else None))
        stopped = time.monotonic() + (moment if way == "out of time" else 0)
        if way in ("interrupted", "cancelled", "a child interrupted"):
            await asyncio.wait({reading}, timeout=moment)
            stopped = time.monotonic()
            if way == "cancelled":
                reading.cancel()
            else:
                (self.rng.choice(self.agents)[0] if way == "a child interrupted" else top).interrupt()
        await asyncio.wait({reading}, timeout=LONGEST_RUN)
        if not reading.done():
            self.fault(f"{way}: it does not end")
            reading.cancel()
        with suppress(asyncio.CancelledError):
            await reading
        if way in ("interrupted", "cancelled", "out of time") and time.monotonic() - stopped > STOP_SECONDS:
            self.fault(f"{way}, and it took {time.monotonic() - stopped:.2f} s")
        if self.running:
            self.fault(f"{way}: {sorted(self.running)} run on")
        effects = Counter(self.effects)
        await top.close()
        if len(asyncio.all_tasks()) > 1:
            self.fault(f"{way}: a task is left")
        await asyncio.sleep(LONGEST)
        if self.effects != effects:
            self.fault(f"{way}: something ran after the end")
        self.outcomes[way] += 1
        self.outcomes["agents"] += len(self.agents)
        untold = self._untold() if way == WAYS[0] else []
        for words in [*self._wrongs(), *_wrong_events(self.events), *untold]:
            self.fault(f"{way}: {words}")

    async def _read(self, top: Agent, stop_after: int | None) -> None:
        slow = self.rng.random() < 0.3
        async with aclosing(top.run("go")) as events:
            async for event in events:
                self.events.append(event)
                if len(self.events) == stop_after:
                    return
                if slow and self.rng.random() < 0.1:
                    await asyncio.sleep(self.rng.random() * LONGEST)

    def _wrongs(self) -> list[str]:
        """What is wrong with the agents, each by itself."""
        wrongs = [f"{name} ran {times} times" for name, times in self.effects.items() if times > 1]
        for agent, model in self.agents:
            if not model.closed:
                wrongs.append("an agent was not closed")
            messages = agent.messages
            for place, message in enumerate(messages):
                made = [part for part in message.parts if isinstance(part, ToolCallPart)]
                after = messages[place + 1].parts if made and place + 1 < len(messages) else []
                told = [part for part in after if isinstance(part, ToolResultPart)]
                if [part.id for part in made] != [part.id for part in told]:
                    wrongs.append(f"calls {[part.id for part in made]} have results {[part.id for part in told]}")
                    continue
                self.outcomes["calls"] += len(made)
                for call, result in zip(made, told, strict=True):
                    wrongs += self._wrong_result(call, str(result.content))
        return wrongs

    def _untold(self) -> list[str]:
        """What happened in a run that nobody stopped, and was not told."""
        told = list(_flat(self.events))
        began = sum(isinstance(event, RunStarted) for event in told)
        ran = {event.invocation.arguments.get("name") for event in told if isinstance(event, ToolStarted)}
        wrongs = [f"of {len(self.agents)} agents {began} are told"] if began != len(self.agents) else []
        return wrongs + [f"{name} ran untold" for name in self.effects if name not in ran]

    def _wrong_result(self, call: ToolCallPart, words: str) -> list[str]:
        name = (call.arguments or {}).get("name")
        if name is None:
            return []
        ran = self.effects[name] == 1
        if words == f"did {name}" and not ran:
            return [f"{name} is said to be done"]
        return [f"{name} ran, and its result says {words!r}"] if ran and words.startswith("Error: not run") else []


def _wrong_events(events: list[AgentEvent]) -> list[str]:
    """What is wrong with the events of one agent, and of those inside it: each begins, and ends before its call."""
    wrongs = []
    inside: dict[tuple[int, str], list[AgentEvent]] = {}
    running: set[tuple[int, str]] = set()
    for event in events:
        if isinstance(event, ToolStarted):
            running.add((event.turn, event.id))
        elif isinstance(event, NestedEvent):
            if (event.turn, event.id) not in running:
                wrongs.append(f"an event of {event.id}, which does not run")
            inside.setdefault((event.turn, event.id), []).append(event.event)
        elif isinstance(event, ToolFinished):
            running.discard((event.turn, event.id))
            nested = inside.pop((event.turn, event.id), [])
            if nested:
                wrongs += _wrong_events(nested)
                if not isinstance(nested[-1], RunEnd):
                    wrongs.append(f"the agent of {event.id} is not told to have ended")
    if events and not isinstance(events[0], RunStarted):
        wrongs.append("it does not begin with its beginning")
    if any(isinstance(event, RunEnd) for event in events[:-1]):
        wrongs.append("it goes on after its end")
    return wrongs


def _flat(events: list[AgentEvent]) -> Iterator[AgentEvent]:
    """All events without the calls around them."""
    for event in events:
        while isinstance(event, NestedEvent):
            event = event.event
        yield event


def _chunk(delta: dict[str, Any], finish: str | None = None) -> bytes:
    chunk = {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}
    return b"data: " + msgspec.json.encode(chunk) + b"\n\n"
