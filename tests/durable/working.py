"""A worker in the loop of a test, with models that say what they are told to, and tools that remember what they did."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any

import pytest

import toolwire
from toolwire import Agent
from toolwire.durable import worker as worker_module
from toolwire.durable.attempt import DurableAgent
from toolwire.durable.client import Runs
from toolwire.durable.lease import Timing
from toolwire.durable.records import Question, RunEvent, RunInfo, RunSpec, RunState
from toolwire.durable.worker import Worker
from toolwire.durable.workplace import Workplace
from toolwire.testing import ScriptedModel

TIMING = Timing(beat=0.1, own=20, dead=30)
"""Sweeps come often, and nobody is lost on a machine that is busy."""
SECONDS = 20.0
Script = Iterable[Any]


class Deeds:
    """What tools did, in order; each of them can be held at its start until it is let go."""

    def __init__(self) -> None:
        self.done: list[Any] = []
        self.started: list[Any] = []
        self._held: dict[str, asyncio.Event] = {}

    def hold(self, name: str) -> asyncio.Event:
        """Calls with this text wait until the event is set."""
        self._held[name] = asyncio.Event()
        return self._held[name]

    async def do(self, text: str) -> str:
        self.started.append(text)
        if text in self._held:
            await self._held[text].wait()
        self.done.append(text)
        return f"did {text}"

    def tools(self) -> list[Any]:
        """`look` reads; `save` writes; `alone` writes and runs alone; `again` writes and is idempotent; `put` has a
        path."""

        @toolwire.tool(risk="read")
        async def look(text: str) -> str:
            """Looks."""
            return await self.do(text)

        @toolwire.tool(risk="write")
        async def save(text: str) -> str:
            """Saves."""
            return await self.do(text)

        @toolwire.tool(risk="write", exclusive=True)
        async def alone(text: str) -> str:
            """Saves, alone."""
            return await self.do(text)

        @toolwire.tool(risk="write", idempotent=True)
        async def again(text: str) -> str:
            """Saves, the same each time."""
            return await self.do(text)

        @toolwire.tool(risk="write", paths=["path"])
        async def put(path: str, text: str) -> str:
            """Saves to a path."""
            return await self.do(text)

        return [look, save, alone, again, put]


class Work:
    """A worker at work, and whoever watches it."""

    def __init__(self, runs: Runs, deeds: Deeds, options: dict[str, Any]) -> None:
        self.runs = runs
        self.deeds = deeds
        self.told: list[str] = []
        self.models: dict[str, ScriptedModel] = {}
        self.scripts: dict[str, Script] = {}
        self.worker: Worker
        self._options = options

    @property
    def ledger(self) -> Any:
        return self.runs._ledger

    @property
    def engine(self) -> Any:
        return self.runs._engine

    def make(self, spec: RunSpec, place: Workplace) -> Agent:
        """An agent whose model goes on, across attempts, where it was."""
        if place.run not in self.models:
            self.models[place.run] = ScriptedModel(self.scripts[spec.prompt.text])
        options = dict(self._options)
        tools = options.pop("tools", None)
        tools = self.deeds.tools() if tools is None else tools(place) if callable(tools) else tools
        return Agent(
            options.pop("model", "openai-compatible:m"),
            tools,
            base_url="http://127.0.0.1:1/v1",
            transport=place.transport(self.models[place.run]),
            approve=place.person,
            steps=place.steps,
            bounds=spec.bounds,
            **options,
        )

    async def submit(self, *script: Any, prompt: str = "", **options: Any) -> str:
        """A run whose model says this."""
        prompt = prompt or f"question {len(self.scripts)}"
        self.scripts[prompt] = script
        return (await self.runs.submit(prompt, **options)).id

    async def until(self, run: str, *states: RunState) -> RunInfo:
        """The run, once it stands so."""
        info = await self.runs.get(run)

        async def stands() -> bool:
            nonlocal info
            info = await self.runs.get(run)
            return info.state in states

        if not await happens(stands):
            raise AssertionError(f"{run} is {info.state} ({info.error}), not {states}; told: {self.told}")
        return info

    async def over(self, run: str) -> RunInfo:
        """The run, once it is over."""
        return await self.until(run, *(state for state in RunState if state.is_over))

    async def asked(self, run: str, count: int = 1) -> list[Question]:
        """So many questions of the run, in the order of their ids, once they wait and no worker holds it."""
        found: list[Question] = []

        async def waits() -> bool:
            nonlocal found
            info = await self.runs.get(run)
            found = await self.runs.questions(run)
            return info.state is RunState.WAITING and info.questions == len(found) == count

        if not await happens(waits):
            raise AssertionError(f"{await self.runs.get(run)} asks {found}; told: {self.told}")
        return sorted(found, key=lambda question: question.id)

    async def events(self, run: str, after: int = 0) -> list[RunEvent]:
        """What a follower is told who comes now."""
        return [event async for event in self.runs.follow(run, after=after)]

    async def take_over(self, run: str) -> None:
        """What another worker does when it finds that the one at work is gone."""
        info = await self.runs.get(run)
        assert await asyncio.to_thread(self.ledger.take_over, run, info.attempt)
        await asyncio.to_thread(self.engine.move, run, info.queue)


@asynccontextmanager
async def at_work(
    url: str,
    *,
    agents: Callable[[Work], Sequence[DurableAgent]] | None = None,
    deeds: Deeds | None = None,
    agent: dict[str, Any] | None = None,
    known: Work | None = None,
    worker_url: str | None = None,
    **options: Any,
) -> AsyncIterator[Work]:
    """A worker; stopped at the end. `known` is one that worked before: its models go on. With `worker_url` it comes to
    the database in a role of its own.
    """
    async with Runs(url) as runs:
        work = Work(runs, deeds or Deeds(), {"policy": "ask", **(agent or {})})
        if known is not None:
            work.deeds, work.models, work.scripts = known.deeds, known.models, known.scripts
        offered = agents(work) if agents is not None else [DurableAgent("toolwire", work.make)]
        given = {"timing": TIMING, "patience": 0.05, "grace": 5.0, "poll": 0.03, **options}
        work.worker = Worker(worker_url or url, offered, tell=work.told.append, **given)
        running = asyncio.create_task(work.worker.run())
        try:
            yield work
        finally:
            work.worker.stop()
            for gate in work.deeds._held.values():
                gate.set()
            try:
                await asyncio.wait_for(running, SECONDS)
            finally:
                running.cancel()
                with suppress(asyncio.CancelledError):
                    await running


async def happens(true: Callable[[], Awaitable[Any]] | Callable[[], Any], seconds: float = SECONDS) -> bool:
    """Whether it has become true in this time, while the loop goes on."""
    end = time.monotonic() + seconds
    while True:
        found = true()
        if isinstance(found, Awaitable):
            found = await found
        if found or time.monotonic() > end:
            return bool(found)
        await asyncio.sleep(0.025)


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers look at their runs often."""
    monkeypatch.setattr(worker_module, "_LOOK", 0.03)
