"""Hooks around calls: no fault of theirs loses a result, none keeps a call alive; hooks that interrupt their run."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress

import pytest

import toolwire
from agent.scripted import ADD, FIVE, Script, agent, collect, last, ran
from feeding import call, delta, sse
from toolwire import Agent
from toolwire.agent.events import (
    AgentEvent,
    RunInterrupted,
    ToolFinished,
    ToolStarted,
)
from toolwire.agent.hooks import Hooks
from toolwire.execution.executor import ToolResult
from toolwire.messages import Message, ToolResultPart
from toolwire.stream.invocation import ToolInvocation
from toolwire.stream.segments import EventType, SegmentEvent
from toolwire.tools.definition import ToolDefinition
from toolwire.transport import HttpRequest

Around = AbstractAsyncContextManager[object, bool | None]


def result(events: list[AgentEvent]) -> ToolResult:
    return next(event.result for event in events if isinstance(event, ToolFinished))


# ---- around


class Wrapped(Hooks):
    """Keeps the order in which it is entered and left, with what; `fault` says where it fails."""

    def __init__(self, name: str = "", log: list[str] | None = None, fault: str = "") -> None:
        self.name = name
        self.log = log if log is not None else []
        self.fault = fault

    def around_call(self, invocation: ToolInvocation, tool: ToolDefinition) -> Around:
        if self.fault == "making":
            raise ValueError
        return self._around(tool)

    @asynccontextmanager
    async def _around(self, tool: ToolDefinition) -> AsyncGenerator[None, None]:
        if self.fault == "entering":
            raise ValueError
        self.log.append(f"{self.name}>{tool.name}")
        try:
            yield
        except BaseException as error:
            self.log.append(f"{self.name}!{type(error).__name__}")
            if self.fault == "swallowing":
                return
            raise
        self.log.append(f"{self.name}<{tool.name}")
        if self.fault == "leaving":
            raise ValueError
        if self.fault == "cancelling":
            raise asyncio.CancelledError
        if self.fault == "slow":
            await asyncio.sleep(60)


async def interrupted_when(it: Agent, when: Callable[[], bool]) -> list[AgentEvent]:
    """The events of a run that is interrupted when that has become true, and a moment has passed."""
    run = asyncio.create_task(collect(it))
    for _ in range(1000):
        await asyncio.sleep(0.005)
        if when():
            break
    it.interrupt()
    return await run


async def test_a_call_runs_inside_its_hooks() -> None:
    log: list[str] = []

    @toolwire.tool(risk="read")
    def look() -> str:
        """Looks."""
        log.append("runs")
        return "seen"

    body = sse(delta(tool_calls=[call("{}", id="c1", name="look")]), delta(finish="tool_calls"))
    it = Agent(
        "openai-compatible:m",
        [look],
        base_url="http://127.0.0.1:1",
        transport=Script(body, FIVE),
        hooks=[Wrapped("a", log), Wrapped("b", log)],
    )
    await collect(it)
    assert log == ["a>look", "b>look", "runs", "b<look", "a<look"]


@pytest.mark.parametrize("fault", ["making", "entering"])
async def test_a_call_whose_hook_cannot_be_entered_is_not_run(fault: str) -> None:
    log: list[str] = []
    events = await collect(agent(Script(ADD, FIVE), hooks=[Wrapped("a", log), Wrapped("b", log, fault)]))
    assert ran == []
    assert result(events).content == "Error: not run: a hook failed (ValueError)"
    assert not [event for event in events if isinstance(event, ToolStarted)]
    assert log == ["a>add", "a!Vetoed"]
    assert str(last(events)) == "It is 5."


async def test_a_hook_that_fails_on_leaving_loses_no_result() -> None:
    log: list[str] = []
    hooks = [Wrapped("a", log), Wrapped("b", log, "leaving"), Wrapped("c", log, "leaving")]
    events = await collect(agent(Script(ADD, FIVE), hooks=hooks))
    assert result(events).content == "5"
    assert not result(events).is_error
    assert result(events).note == "; ".join(["a hook failed after the call (ValueError)"] * 2)
    assert log[3:] == ["c<add", "b<add", "a<add"]
    assert ran == [("add", (2, 3))]


async def test_a_hook_that_is_cancelled_on_leaving_loses_no_result() -> None:
    events = await collect(agent(Script(ADD, FIVE), hooks=[Wrapped(fault="cancelling")]))
    assert result(events).content == "5"
    outer = Wrapped()
    it = agent(Script(ADD, FIVE), hooks=[outer, slow := Wrapped(fault="slow")])
    events = await interrupted_when(it, lambda: slow.log == [">add", "<add"])
    assert isinstance(events[-1], RunInterrupted)
    part = it.messages[-1].parts[0]
    assert isinstance(part, ToolResultPart)
    assert part.content == "5"
    assert outer.log == [">add", "!CancelledError"]


@pytest.mark.parametrize("fault", ["", "swallowing"])
async def test_a_cancellation_passes_through_the_hooks(fault: str) -> None:
    @toolwire.tool(risk="read")
    async def wait() -> str:
        """Waits."""
        await asyncio.sleep(60)
        return "late"

    body = sse(delta(tool_calls=[call("{}", id="c1", name="wait")]), delta(finish="tool_calls"))
    hooks = Wrapped(fault=fault)
    it = Agent(
        "openai-compatible:m", [wait], base_url="http://127.0.0.1:1", transport=Script(body, FIVE), hooks=[hooks]
    )
    events = await interrupted_when(it, lambda: hooks.log == [">wait"])
    assert isinstance(events[-1], RunInterrupted)
    assert hooks.log == [">wait", "!CancelledError"]
    part = it.messages[-1].parts[0]
    assert isinstance(part, ToolResultPart)
    assert part.content == "Error: cancelled while it ran; a part of its work may be done"


# ---- interrupting


class Interrupting(Hooks):
    """Interrupts its agent at one place."""

    def __init__(self, place: str, *, waits: bool) -> None:
        self.place = place
        self.waits = waits
        self.agent: Agent | None = None

    async def _at(self, place: str) -> None:
        if place == self.place:
            assert self.agent is not None
            self.agent.interrupt()
            if self.waits:
                await asyncio.sleep(0.001)

    async def on_run(self, agent: Agent, prompt: Message, tool_choice: str) -> None:
        self.agent = agent
        await self._at("on_run")

    async def on_event(self, event: AgentEvent) -> None:
        await self._at(type(event).__name__)
        if isinstance(event, SegmentEvent):
            await self._at(f"SegmentEvent {event.type}")

    async def before_request(self, turn: int, messages: Sequence[Message]) -> str | None:
        await self._at(f"before_request {turn}")
        return None

    async def before_call(self, invocation: ToolInvocation, tool: ToolDefinition) -> str | None:
        await self._at("before_call")
        return None

    @asynccontextmanager
    async def _around(self) -> AsyncGenerator[None, None]:
        await self._at("entering")
        yield
        await self._at("leaving")

    def around_call(self, invocation: ToolInvocation, tool: ToolDefinition) -> Around:
        return self._around()


PLACES = ["on_run", "TurnStarted", "SegmentEvent start", "SegmentEvent done", "ToolStarted", "ToolFinished"]
PLACES += ["before_request 1", "before_request 2", "before_call", "entering", "leaving"]


@pytest.mark.parametrize("waits", [False, True])
@pytest.mark.parametrize("place", PLACES)
async def test_a_hook_may_interrupt_its_run(place: str, waits: bool) -> None:
    """The run ends, the reader is not cancelled by it wherever it waits, and the next question is answered."""
    hook = Interrupting(place, waits=waits)
    script = Script(ADD, FIVE, FIVE)
    it = agent(script, hooks=[hook])
    task = asyncio.current_task()
    assert task is not None
    events = []
    async for event in it.run("go"):
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        events.append(event)
    await asyncio.sleep(0)
    assert task.cancelling() == 0
    assert isinstance(events[-1], RunInterrupted)
    for message in it.messages:
        assert all(part.id == "c1" for part in message.tool_calls)
    calls = sum(len(message.tool_calls) for message in it.messages)
    answers = sum(isinstance(part, ToolResultPart) for message in it.messages for part in message.parts)
    assert calls == answers
    hook.place = ""
    script.answers = [FIVE]
    assert str(last(await collect(it))) == "It is 5."


async def test_an_interrupt_in_before_request_does_not_reach_the_reader() -> None:
    """Asked for by the reader's own task, and nothing is waited for until the next event is there."""

    class Instant(Script):
        async def stream(self, request: HttpRequest) -> AsyncGenerator[bytes, None]:
            self.requests.append({})
            yield self.answers.pop(0)  # type: ignore[misc]

    it = agent(Instant(FIVE), hooks=[Interrupting("before_request 1", waits=False)])
    seen = []
    async for event in it.run("go"):
        await asyncio.sleep(0.001)
        seen.append(event)
    assert isinstance(seen[-1], RunInterrupted)
    assert any(isinstance(event, SegmentEvent) and event.type is EventType.START for event in seen)


async def test_a_call_whose_cancellation_a_hook_swallowed_does_not_start() -> None:
    class Deaf(Hooks):
        def around_call(self, invocation: ToolInvocation, tool: ToolDefinition) -> Around:
            return self._around()

        @asynccontextmanager
        async def _around(self) -> AsyncGenerator[None, None]:
            asyncio.get_running_loop().call_soon(it.interrupt)
            with suppress(asyncio.CancelledError):
                await asyncio.sleep(60)
            yield

    it = agent(Script(ADD), hooks=[Deaf()])
    events = await collect(it)
    await it.close()
    assert isinstance(events[-1], RunInterrupted)
    assert ran == []
    assert "not run: cancelled" in str(it.messages[-1].parts)
