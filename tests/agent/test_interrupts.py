"""Interrupted runs: the proof with a small count, and the moments that it cannot be relied on to meet."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import suppress
from typing import Any

import pytest
from bench.trust import interrupts, many_runs
from bench.trust.histories import wrongs_anywhere

from feeding import call, delta, sse
from toolwire import Agent
from toolwire.agent.events import RunFinished, RunInterrupted, TurnStarted
from toolwire.agent.hooks import Hooks
from toolwire.agent.interruption import Interruption
from toolwire.messages import Message
from toolwire.stream.invocation import ToolInvocation
from toolwire.tools.definition import Risk, ToolDefinition
from toolwire.tools.running import Preview
from toolwire.transport import HttpRequest

CALLS = sse(delta(tool_calls=[call("{}", id="c1", name="f")]), delta(finish="tool_calls"))
WORDS = sse(delta(content="So it is."), delta(finish="stop"))


class Script:
    """Gives its answers at once, without ever waiting; then it hangs."""

    def __init__(self, *answers: bytes) -> None:
        self.answers = list(answers)

    async def stream(self, request: HttpRequest) -> AsyncGenerator[bytes, None]:
        if not self.answers:
            yield sse(delta(content="I think"), done=False)
            await asyncio.sleep(60)
        yield self.answers.pop(0)

    async def aclose(self) -> None:
        pass


def agent_of(*answers: bytes, tools: Sequence[ToolDefinition] = (), **options: Any) -> Agent:
    return Agent("openai:m", tools, api_key="x", transport=Script(*answers), **options)


def test_runs_interrupted_at_random_moments(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interrupts, "LIMIT", 3.0)  # this machine does other things at the same time
    found = interrupts.interrupts(24, 5)
    assert found.faults == []
    assert found.runs == 24


def test_many_runs_at_a_time() -> None:
    found = many_runs.many_runs(10, 0)
    assert found.faults == []
    assert found.runs == 10 * many_runs.ROUNDS


async def test_an_interrupt_from_a_hook_does_not_cancel_what_the_reader_waits_for() -> None:
    class Stop(Hooks):
        async def before_request(self, turn: int, messages: Sequence[Message]) -> str | None:
            agent.interrupt()
            return None

    agent = agent_of(WORDS, hooks=[Stop()])
    events = []
    async for event in agent.run("Hello"):
        await asyncio.sleep(0)
        events.append(event)
    assert isinstance(events[-1], RunInterrupted)
    task = asyncio.current_task()
    assert task is not None
    assert task.cancelling() == 0


async def test_an_interrupt_ends_the_run_of_a_task_that_was_cancelled_before() -> None:
    agent = agent_of()
    ends = []

    async def clean_up() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            asyncio.get_running_loop().call_later(0.02, agent.interrupt)
            ends.extend([event async for event in agent.run("Say goodbye.")][-1:])

    task = asyncio.create_task(clean_up())
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.wait({task})
    assert task.cancelled()
    assert isinstance(ends[0], RunInterrupted)
    assert agent.messages[-1].text == "I think"


@pytest.mark.parametrize("first", ["interrupt", "cancel"])
async def test_a_cancellation_beside_an_interrupt_is_not_swallowed(first: str) -> None:
    agent = agent_of()

    async def read() -> None:
        async for _ in agent.run("Hello"):
            pass

    task = asyncio.create_task(read())
    await asyncio.sleep(0.02)
    for way in (agent.interrupt, task.cancel) if first == "interrupt" else (task.cancel, agent.interrupt):
        way()
    await asyncio.wait({task}, timeout=5)
    assert task.cancelled()
    assert wrongs_anywhere(agent.messages) == []


async def test_a_time_limit_of_the_reader_beside_an_interrupt_is_a_time_limit() -> None:
    agent = agent_of()

    async def read() -> None:
        async with asyncio.timeout(0.02) as limit:
            asyncio.get_running_loop().call_at(limit.when() or 0, agent.interrupt)
            async for _ in agent.run("Hello"):
                pass

    with pytest.raises(TimeoutError):
        await read()
    assert agent.messages[-1].text == "I think"


async def test_an_interrupt_after_the_last_event_changes_nothing() -> None:
    agent = agent_of(WORDS, WORDS)
    loop = asyncio.get_running_loop()
    for prompt in ("Hello", "And then?"):
        events = []
        async for event in agent.run(prompt):
            events.append(event)
            if isinstance(event, RunFinished):
                agent.interrupt()
                loop.call_soon(agent.interrupt)
                await asyncio.sleep(0)
        assert [type(event) for event in events[-1:]] == [RunFinished]
    assert [message.role for message in agent.messages] == ["user", "assistant"] * 2


async def test_a_preview_that_is_done_in_the_moment_of_the_interrupt_starts_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """`asyncio.wait_for` of Python 3.11 swallows a cancellation that comes in the round in which it is done."""
    ran = []
    loop = asyncio.get_running_loop()
    in_executor = loop.run_in_executor

    def interrupting(*arguments: Any) -> asyncio.Future[Any]:
        future = in_executor(*arguments)
        future.add_done_callback(lambda _: agent.interrupt())
        return future

    def look(_: dict[str, Any]) -> Preview:
        time.sleep(0.02)
        return Preview("so it would be")

    tool = ToolDefinition("f", "", {}, Risk.WRITE, lambda _: ran.append("f"), preview=look)
    agent = agent_of(CALLS, tools=[tool], approve=lambda _: True)
    monkeypatch.setattr(loop, "run_in_executor", interrupting)
    events = [event async for event in agent.run("Hello")]
    await agent.close()
    assert isinstance(events[-1], RunInterrupted)
    assert ran == []
    assert "not run: cancelled" in str(agent.messages[-1].parts)


async def test_a_call_whose_cancellation_was_swallowed_does_not_start() -> None:
    class Deaf(Hooks):
        async def before_call(self, invocation: ToolInvocation, tool: ToolDefinition) -> str | None:
            with suppress(asyncio.CancelledError):
                await asyncio.sleep(60)
            return None

    ran = []
    tool = ToolDefinition("f", "", {}, Risk.READ, lambda _: ran.append("f"))
    agent = agent_of(CALLS, tools=[tool], hooks=[Deaf()])
    asyncio.get_running_loop().call_later(0.02, agent.interrupt)
    events = [event async for event in agent.run("Hello")]
    await agent.close()
    assert isinstance(events[-1], RunInterrupted)
    assert ran == []


async def test_a_late_result_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toolwire.execution.executor.GRACE", 60.0)
    let_go, ended = asyncio.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()

    async def deaf(_: dict[str, Any]) -> str:
        loop.call_soon(agent.interrupt)
        while not let_go.is_set():
            with suppress(asyncio.CancelledError):
                await let_go.wait()
        ended.set()
        return "a late result"

    agent = agent_of(CALLS, WORDS, tools=[ToolDefinition("f", "", {}, Risk.READ, deaf)])
    begun = time.monotonic()
    events = [event async for event in agent.run("Hello")]
    assert isinstance(events[-1], RunInterrupted)
    assert time.monotonic() - begun < 10
    assert not ended.is_set()
    before = list(agent.messages)
    loop.call_later(0.1, let_go.set)
    await agent.close()
    await asyncio.wait_for(ended.wait(), 5)
    assert agent.messages == before
    assert "cancelled while it ran" in str(agent.messages[-1].parts)


async def test_the_readers_own_wait_is_never_cancelled() -> None:
    """An interrupt that comes while the reader is busy is heard when it asks for the next event."""
    agent = agent_of(CALLS, WORDS, tools=[ToolDefinition("f", "", {}, Risk.READ, lambda _: "done")])
    events = []
    async for event in agent.run("Hello"):
        asyncio.get_running_loop().call_soon(agent.interrupt)
        await asyncio.sleep(0.001)
        events.append(event)
    assert len(events) == 2
    assert isinstance(events[-1], RunInterrupted)


async def test_events_that_swallow_their_cancellation_do_not_reach_the_reader() -> None:
    """What is interrupted may hold on for a while, and give an event more."""
    asked = Interruption()

    async def stubborn() -> AsyncGenerator[int, None]:
        with suppress(asyncio.CancelledError):
            await asyncio.sleep(60)
        yield 1
        yield 2

    asyncio.get_running_loop().call_later(0.01, asked.ask)
    heard = []
    async for number in asked.until_asked(stubborn()):
        await asyncio.sleep(0)
        heard.append(number)
    assert heard == [1]
    task = asyncio.current_task()
    assert task is not None
    assert task.cancelling() == 0


async def test_an_interrupt_at_each_turn_leaves_a_history_that_goes_on() -> None:
    tool = ToolDefinition("f", "", {}, Risk.READ, lambda _: "done")
    for turn in (1, 2, 3):
        agent = agent_of(CALLS, CALLS, WORDS, WORDS, tools=[tool])
        async for event in agent.run("Hello"):
            if isinstance(event, TurnStarted) and event.turn == turn:
                agent.interrupt()
        assert wrongs_anywhere(agent.messages) == []
        assert isinstance([event async for event in agent.run("Go on.")][-1], RunFinished)
