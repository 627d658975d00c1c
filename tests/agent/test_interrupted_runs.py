"""A run that is interrupted, wherever it is: it ends at once, and the conversation goes on from there."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

import toolwire
from agent.scripted import ADD, FIVE, SAVE, Endless, Script, add, agent, collect, last, ran
from feeding import call, delta, sse
from toolwire import Agent
from toolwire.agent.events import (
    AgentEvent,
    ApprovalAsked,
    RunFinished,
    RunInterrupted,
    ToolFinished,
    ToolStarted,
    TurnStarted,
)
from toolwire.agent.hooks import Hooks
from toolwire.approval.desk import Approvals
from toolwire.approval.request import ApprovalRequest
from toolwire.errors import ConfigError
from toolwire.stream.segments import EventType, SegmentEvent

Json = dict[str, Any]


HALF_TEXT = sse(delta(content="Once upon"), done=False)
HALF_CALL = sse(delta(content="Let me see."), delta(tool_calls=[call('{"a":2,', id="c1", name="add")]), done=False)
WHOLE_CALL = sse(delta(tool_calls=[call('{"a":2,"b":3}', id="c1", name="add")]), done=False)
NAMELESS = sse(delta(tool_calls=[call("", id="c1", name="")]), done=False)


@pytest.fixture(autouse=True)
def long_grace(monkeypatch: pytest.MonkeyPatch) -> None:
    """An interrupt that waits for it would be seen."""
    monkeypatch.setattr("toolwire.execution.executor.GRACE", 60.0)


async def interrupted(
    it: Agent, when: Callable[[AgentEvent], bool], *, after: float = 0.02, how: str = "interrupt"
) -> list[AgentEvent]:
    """The events of a run that is interrupted a moment after the first event that `when` says."""
    loop = asyncio.get_running_loop()
    events: list[AgentEvent] = []
    asked: list[float] = []

    async def read() -> None:
        run = it.run("go")
        async for event in run:
            events.append(event)
            if when(event):
                asked.append(loop.time() + after)
                if how == "close":
                    await run.aclose()
                    return
                loop.call_later(after, it.interrupt if how == "interrupt" else task.cancel)

    task = asyncio.create_task(read())
    await asyncio.wait({task}, timeout=20)
    assert task.done(), "it goes on"
    assert loop.time() - asked[0] < 5
    assert task.cancelled() == (how == "cancel")
    return events


async def gone_on(it: Agent, script: Script) -> list[Json]:
    """What the next request holds, after the conversation has gone on well."""
    script.answers = [FIVE]
    assert last(await collect(it, "and now?")).text == "It is 5."
    sent: list[Json] = script.requests[-1]["messages"]
    made = [each["id"] for message in sent for each in message.get("tool_calls") or ()]
    assert [message["tool_call_id"] for message in sent if message["role"] == "tool"] == made
    return sent


def is_content(event: AgentEvent) -> bool:
    return isinstance(event, SegmentEvent) and event.type is EventType.CONTENT


WAYS = pytest.mark.parametrize("how", ["interrupt", "cancel", "close"])


@WAYS
@pytest.mark.parametrize(
    ("body", "roles", "told"),
    [
        (HALF_TEXT, ["user", "assistant", "user"], ""),
        (HALF_CALL, ["user", "assistant", "tool", "user"], "Error: not run: cancelled"),
        (WHOLE_CALL, ["user", "assistant", "tool", "user"], "Error: not run: cancelled"),
    ],
    ids=["text", "half a call", "a call without the end of the answer"],
)
async def test_in_the_answer(body: bytes, roles: list[str], told: str, how: str) -> None:
    script = Endless(body)
    it = agent(script)
    events = await interrupted(it, lambda event: is_content(event) and "see" not in str(event), how=how)
    assert isinstance(events[-1], RunInterrupted) == (how == "interrupt")
    assert ran == []
    sent = await gone_on(it, script)
    assert [message["role"] for message in sent] == roles
    if told:
        assert sent[2]["content"].startswith(told)
        assert sent[1]["tool_calls"][0]["function"]["name"] == "add"
    else:
        assert sent[1]["content"] == "Once upon"


async def test_a_call_without_a_name_leaves_nothing() -> None:
    script = Endless(NAMELESS)
    it = agent(script)
    await interrupted(it, lambda event: isinstance(event, TurnStarted), after=0.1)
    assert [message["role"] for message in await gone_on(it, script)] == ["user", "user"]


@WAYS
async def test_while_the_model_has_not_begun(how: str) -> None:
    script = Endless(b": thinking\n\n")
    it = agent(script)
    await interrupted(it, lambda event: isinstance(event, TurnStarted), how=how)
    assert [message["role"] for message in await gone_on(it, script)] == ["user", "user"]


@WAYS
async def test_while_a_person_is_asked(how: str) -> None:
    script, desk = Endless(SAVE), Approvals()
    it = agent(script, approve=desk)
    events = await interrupted(it, lambda event: isinstance(event, ApprovalAsked), how=how)
    assert not [event for event in events if isinstance(event, ToolStarted)]
    assert ran == []
    sent = await gone_on(it, script)
    assert sent[2]["content"] == "Error: not run: cancelled before it ran"
    assert not desk._waiting


@WAYS
async def test_while_an_asker_does_not_let_go(how: str) -> None:
    async def stubborn(_: ApprovalRequest) -> bool:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            await asyncio.sleep(0.2)
        return True

    script = Endless(SAVE)
    it = agent(script, approve=stubborn)
    await interrupted(it, lambda event: isinstance(event, ApprovalAsked), how=how)
    assert (await gone_on(it, script))[2]["content"] == "Error: not run: cancelled before it ran"
    await it.close()
    assert ran == []


@toolwire.tool(risk="read")
async def slow(number: int) -> str:
    """Takes a minute."""
    ran.append(("begun", number))
    try:
        await asyncio.sleep(60)
    finally:
        ran.append(("stopped", number))
    return "late"


def two(*names: str) -> bytes:
    calls = [call(f'{{"number":{at}}}', index=at, id=f"c{at}", name=name) for at, name in enumerate(names)]
    return sse(delta(tool_calls=calls), delta(finish="tool_calls"))


@WAYS
async def test_while_tools_run(how: str) -> None:
    ran.clear()
    script = Endless(two("slow", "slow"))
    it = Agent("openai-compatible:m", [slow], base_url="http://127.0.0.1:1/v1", transport=script)
    await interrupted(it, lambda event: isinstance(event, ToolStarted) and event.id.endswith("c1"), how=how)
    assert sorted(ran) == [("begun", 0), ("begun", 1), ("stopped", 0), ("stopped", 1)]
    sent = await gone_on(it, script)
    assert [message["content"] for message in sent[2:4]] == [
        "Error: cancelled while it ran; a part of its work may be done"
    ] * 2


async def test_a_tool_that_does_not_stop_is_left_behind_and_its_result_dropped() -> None:
    let_go, ended = asyncio.Event(), asyncio.Event()

    @toolwire.tool(risk="read")
    async def deaf(number: int) -> str:
        """Hears nothing."""
        while not let_go.is_set():
            try:
                await let_go.wait()
            except asyncio.CancelledError:
                continue
        ended.set()
        return "too late"

    script = Endless(two("deaf"))
    it = Agent("openai-compatible:m", [deaf], base_url="http://127.0.0.1:1/v1", transport=script)
    events = await interrupted(it, lambda event: isinstance(event, ToolStarted))
    assert isinstance(events[-1], RunInterrupted)
    let_go.set()
    async with asyncio.timeout(10):
        await ended.wait()
        await it.settle()
    before = [msgspec.json.encode(message) for message in it.messages]
    sent = await gone_on(it, script)
    assert "cancelled while it ran" in sent[2]["content"]
    assert [msgspec.json.encode(message) for message in it.messages][: len(before)] == before
    assert "too late" not in str(it.messages)


async def test_a_result_that_came_before_stays() -> None:
    ran.clear()
    calls = [
        call('{"a":2,"b":3}', index=0, id="c0", name="add"),
        call('{"number":1}', index=1, id="c1", name="slow"),
    ]
    script = Endless(sse(delta(tool_calls=calls), delta(finish="tool_calls")))
    it = Agent("openai-compatible:m", [add, slow], base_url="http://127.0.0.1:1/v1", transport=script)
    await interrupted(it, lambda event: isinstance(event, ToolFinished))
    sent = await gone_on(it, script)
    assert sent[2]["content"] == "5"
    assert "cancelled" in sent[3]["content"]


async def test_in_the_pause_before_a_request_is_made_again() -> None:
    from toolwire.agent.asking import Retries
    from toolwire.agent.events import RequestRetried
    from toolwire.errors import TransportError

    script = Script(TransportError("connection refused"))
    it = agent(script, retries=Retries(first_pause=30))
    events = await interrupted(it, lambda event: isinstance(event, RequestRetried))
    assert isinstance(events[-1], RunInterrupted)
    assert len(script.requests) == 1


async def test_after_the_end_it_does_nothing() -> None:
    it = agent(Script(FIVE, FIVE))
    assert last(await collect(it))
    it.interrupt()
    assert last(await collect(it, "again"))


async def test_interrupted_by_a_hook() -> None:
    class Stop(Hooks):
        async def on_event(self, event: AgentEvent) -> None:
            if is_content(event):
                it.interrupt()

    it = agent(Script(FIVE, FIVE), hooks=[Stop()])
    events = await collect(it)
    assert isinstance(events[-1], RunInterrupted)
    await asyncio.sleep(0.01)
    assert it.messages[-1].role == "assistant"


async def test_a_run_that_is_left_without_a_word_ends() -> None:
    script = Endless(two("slow"))
    it = Agent("openai-compatible:m", [slow], base_url="http://127.0.0.1:1/v1", transport=script)
    ran.clear()
    async for event in it.run("go"):
        if isinstance(event, ToolStarted):
            break
    sent = await gone_on(it, script)
    assert ran[-1] == ("stopped", 0)
    assert "cancelled" in sent[2]["content"]


async def test_two_runs_at_once_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toolwire.agent.loop._LEAVING_SECONDS", 0.05)
    it = agent(Endless(HALF_TEXT))
    first = it.run("go")
    await anext(first)
    with pytest.raises(ConfigError, match="runs already"):
        await anext(it.run("and"))
    await first.aclose()


async def test_every_event_place_can_be_closed_and_gone_on_from(tmp_path: Path) -> None:
    """The reader leaves after each event of a run in turn."""
    whole = await collect(agent(Script(ADD, SAVE, FIVE), policy="full", workspace=tmp_path))
    assert isinstance(whole[-1], RunFinished)
    for place in range(1, len(whole)):
        script = Script(ADD, SAVE, FIVE)
        it = agent(script, policy="full", workspace=tmp_path)
        run = it.run("go")
        for _ in range(place):
            await anext(run)
        await run.aclose()
        await gone_on(it, script)
