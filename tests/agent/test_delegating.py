"""An agent as a tool of another: its words are the result, its events are nested, its rights are its own."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import pytest
from bench.trust.nested import WAYS, nested

import toolwire
from agent.scripted import FIVE, Script, last
from feeding import call, delta, sse
from toolwire import Agent, Answer, ApprovalRequest, Approvals, Policy, Scope, agent_tool
from toolwire.agent.asking import Retries
from toolwire.agent.bounds import Bounds
from toolwire.agent.delegating import DEPTH, EVENTS_WAITING
from toolwire.agent.events import (
    AgentEvent,
    ApprovalAsked,
    NestedEvent,
    RunEnd,
    RunFailed,
    RunInterrupted,
    RunStarted,
    ToolFinished,
    ToolStarted,
)
from toolwire.agent.hooks import Hooks
from toolwire.agent.sessions.store import SessionStore
from toolwire.approval.gate import Gate, Ticket
from toolwire.errors import ConfigError, TransportError
from toolwire.execution import executor
from toolwire.execution.executor import Executor
from toolwire.tools.definition import ToolDefinition
from toolwire.transport import HttpRequest
from waiting import leap, until

SECONDS = 10.0
saved: list[str] = []


@toolwire.tool(risk="write")
def save(text: str) -> str:
    """Saves a text."""
    saved.append(text)
    return f"saved {text}"


class Closing(Script):
    """A script that knows whether its agent was closed."""

    ended = False

    async def aclose(self) -> None:
        self.ended = True


def calling(*calls: tuple[str, dict[str, Any]], tokens: int = 0, words: str = "") -> bytes:
    """An answer with these calls, whose ids are c0, c1 …"""
    made = [
        call(msgspec.json.encode(arguments).decode(), index=place, id=f"c{place}", name=name)
        for place, (name, arguments) in enumerate(calls)
    ]
    usage = [{"usage": {"prompt_tokens": tokens, "completion_tokens": 1}}] if tokens else []
    return sse(*([delta(content=words)] if words else []), delta(tool_calls=made), delta(finish="tool_calls"), *usage)


def saying(text: str, *, tokens: int = 0, finish: str = "stop") -> bytes:
    usage = [{"usage": {"prompt_tokens": tokens, "completion_tokens": 1}}] if tokens else []
    return sse(*(delta(content=word) for word in text.split(" ")), delta(finish=finish), *usage)


def agent_of(script: Script, *tools: Any, **options: Any) -> Agent:
    options = {"base_url": "http://127.0.0.1:1/v1", "retries": Retries(attempts=1), **options}
    return Agent("openai-compatible:m", tools, transport=script, **options)


def helper(make: Callable[[], Agent], name: str = "helper", **options: Any) -> ToolDefinition:
    return agent_tool(make, name=name, description="Helps.", **{"risk": "read", **options})


HELP = ("helper", {"task": "help"})


async def collect(agent: Agent, prompt: str = "go") -> list[AgentEvent]:
    async with asyncio.timeout(SECONDS):
        return [event async for event in agent.run(prompt)]


def inside(events: list[AgentEvent], id: str = "c0") -> list[AgentEvent]:
    """What was told of the agent in this call."""
    return [event.event for event in events if isinstance(event, NestedEvent) and event.id == id]


def result_of(events: list[AgentEvent], id: str = "c0") -> str:
    (result,) = [event.result for event in events if isinstance(event, ToolFinished) and event.id == id]
    return result.content


def plain(event: AgentEvent) -> AgentEvent:
    """Without how long it took."""
    if not isinstance(event, ToolFinished):
        return event
    return ToolFinished(event.turn, event.id, msgspec.structs.replace(event.result, seconds=0))


@pytest.fixture(autouse=True)
def nothing_left_behind() -> None:
    saved.clear()


async def test_the_words_of_the_agent_are_the_result_and_its_events_are_nested() -> None:
    answers = [calling(("save", {"text": "x"}), words="Well,"), saying("All is done.")]
    alone = await collect(agent_of(Script(*answers), save, policy="full"), "help")
    inner = Closing(*answers)
    outer = Script(calling(HELP), FIVE)
    events = await collect(agent_of(outer, helper(lambda: agent_of(inner, save, policy="full"))))
    assert str(last(events)) == "It is 5."
    assert outer.requests[1]["messages"][-1]["content"] == "Allisdone."
    assert inner.requests[0]["messages"] == [{"role": "user", "content": "help"}]
    assert [*map(plain, inside(events))] == [*map(plain, alone)]
    assert len(alone) > 10
    kinds = [type(event) for event in events]
    assert kinds.index(ToolStarted) < kinds.index(NestedEvent) < kinds.index(ToolFinished)
    assert inner.ended
    for event in events:
        assert msgspec.json.decode(msgspec.json.encode(event))["type"]


def test_what_the_tool_says_of_itself() -> None:
    tool = agent_tool(lambda: agent_of(Script()), name="helper", description="Helps.")
    assert (tool.name, tool.description, tool.risk) == ("helper", "Helps.", None)
    assert tool.timeout is not None
    assert tool.timeout > 3600
    assert tool.problem({"task": "x"}) is None
    for wrong in ({}, {"task": ""}, {"task": 1}, {"task": "x", "more": 1}):
        assert tool.problem(wrong)
    with pytest.raises(ConfigError, match="lets no agent run"):
        helper(lambda: agent_of(Script()), depth=0)
    with pytest.raises(ConfigError, match="its risk is 'none'"):
        helper(lambda: agent_of(Script()), risk="none")


async def test_an_agent_of_unknown_risk_is_asked_about() -> None:
    inner = Script(saying("Hi."))
    events = await collect(agent_of(Script(calling(HELP), FIVE), helper(lambda: agent_of(inner), risk=None)))
    assert "nobody is there to ask" in result_of(events)
    assert not inner.requests


async def test_each_call_has_an_agent_of_its_own() -> None:
    made: list[Closing] = []

    def make() -> Agent:
        made.append(Closing(saying("Hi.")))
        return agent_of(made[-1])

    await collect(agent_of(Script(calling(HELP, HELP), calling(HELP), FIVE), helper(make)))
    assert [len(script.requests[0]["messages"]) for script in made] == [1, 1, 1]
    assert all(script.ended for script in made)


async def test_an_agent_that_was_given_before_is_refused_and_not_disturbed() -> None:
    inner = Closing(saying("Hi."), saying("Again."))
    one = agent_of(inner)
    events = await collect(agent_of(Script(calling(HELP, HELP), FIVE), helper(lambda: one)))
    assert sorted([result_of(events, "c0"), result_of(events, "c1")]) == [
        "Error: make_agent gave an agent that it had given before",
        "Hi.",
    ]


def broken() -> Agent:
    raise ValueError("no key for the helper")


ENDS: dict[str, tuple[Callable[[], Agent], str]] = {
    "it fails": (
        lambda: agent_of(Script(TransportError("connection reset"))),
        "Error: the agent failed: connection reset",
    ),
    "it reaches a bound": (
        lambda: agent_of(Script(*[calling(("save", {"text": "x"}))] * 3), save, bounds=Bounds(turns=2)),
        "Error: the agent failed: the model has not ended its turn after 2 requests",
    ),
    "it is out of time": (
        lambda: agent_of(Slow(saying("One two three")), bounds=Bounds(seconds=0.05)),
        "Error: the agent failed: the run was not over after 0.05 seconds",
    ),
    "it cannot be made": (broken, "Error: no key for the helper"),
    "it says nothing": (lambda: agent_of(Script(saying(""))), "Done; there is no output."),
    "its answer is cut": (
        lambda: agent_of(Script(saying("Half", finish="length"))),
        "Half\n[The answer is not whole: it ended with length.]",
    ),
    "it makes a call that is denied": (
        lambda: agent_of(Script(calling(("save", {"text": "x"})), saying("Denied.")), save),
        "Denied.",
    ),
}


@pytest.mark.parametrize("name", ENDS)
async def test_however_it_ends_the_result_says_so(name: str) -> None:
    make, words = ENDS[name]
    outer = agent_of(Script(calling(HELP), FIVE), helper(make))
    events = await collect(outer)
    assert last(events)
    assert result_of(events) == words
    assert saved == []
    told = inside(events)
    assert name == "it cannot be made" or (isinstance(told[0], RunStarted) and isinstance(told[-1], RunEnd))


class Slow(Closing):
    """A script whose every piece but the first takes as long as it likes; what happens meanwhile."""

    def __init__(self, *answers: bytes, then: Callable[[], object] = lambda: None) -> None:
        super().__init__(*answers)
        self.then = then

    async def stream(self, request: HttpRequest) -> AsyncGenerator[bytes, None]:
        async with aclosing(super().stream(request)) as pieces:
            async for piece in pieces:
                yield piece
                asyncio.get_running_loop().call_soon(self.then)
                await asyncio.sleep(60)


async def test_an_agent_that_someone_else_interrupts_is_cancelled() -> None:
    script = Slow(saying("One two three"))
    inner = agent_of(script)
    script.then = inner.interrupt
    outer = agent_of(Script(calling(HELP), FIVE), helper(lambda: inner))
    events = await collect(outer)
    assert last(events)
    assert result_of(events) == "Error: cancelled: the agent was interrupted; a part of its work may be done"
    assert isinstance(inside(events)[-1], RunInterrupted)


async def test_a_time_out_stops_it_and_its_end_is_told() -> None:
    inner = Slow(saying("One two three"), then=partial(leap, 5))
    outer = agent_of(Script(calling(HELP), FIVE), helper(lambda: agent_of(inner), timeout=5))
    events = await collect(outer)
    assert result_of(events).startswith("Error: no result within 5 seconds; it was stopped")
    assert isinstance(inside(events)[-1], RunInterrupted)
    assert inner.ended
    assert asyncio.all_tasks() == {asyncio.current_task()}


# Who may do what.


async def test_a_yes_for_the_session_holds_for_the_agent_that_asked() -> None:
    """Also when both are given one and the same policy."""
    asked: list[str] = []

    async def approve(request: ApprovalRequest) -> Answer:
        asked.append(request.id)
        return Answer(allowed=True, scope=Scope.SESSION)

    one, policy = ("save", {"text": "x"}), Policy()
    outer = Script(calling(one), calling(HELP, one), calling(HELP, one), FIVE)
    tool = helper(
        lambda: agent_of(Script(calling(one), calling(one), saying("Done.")), save, approve=approve, policy=policy)
    )
    await collect(agent_of(outer, tool, save, approve=approve, policy=policy))
    assert saved == ["x"] * 7
    assert asked == ["c0", "c0/c0", "c0/c0"]
    assert policy.rules == ()


async def test_one_desk_for_all_tells_their_calls_apart(tmp_path: Path) -> None:
    """Every model counts its calls from 0."""
    desk, trail = Approvals(), tmp_path / "audit.jsonl"
    options: dict[str, Any] = {"approve": desk, "audit": trail}

    def make(text: str) -> Callable[[], Agent]:
        return lambda: agent_of(Script(calling(("save", {"text": text})), saying("Done.")), save, **options)

    one, other, top = make("one"), make("other"), ("save", {"text": "top"})
    outer = Script(calling(top, ("one", {"task": "go"}), ("other", {"task": "go"})), FIVE)
    events: list[AgentEvent] = []
    asked: dict[str, str] = {}
    async with asyncio.timeout(SECONDS):
        async for event in agent_of(outer, helper(one, "one"), helper(other, "other"), save, **options).run("go"):
            events.append(event)
            innermost = event.event if isinstance(event, NestedEvent) else event
            if isinstance(innermost, ApprovalAsked):
                assert innermost.id == "c0"
                asked[innermost.request.id] = innermost.request.invocation.arguments["text"]
            if len(asked) == 3 and len(desk.pending) == 3:
                for request in desk.pending:
                    desk.answer(request.id, request.id != "c1/c0")
                asked = {**asked, "all": "answered"}
    assert asked == {"c0": "top", "c1/c0": "one", "c2/c0": "other", "all": "answered"}
    assert sorted(saved) == ["other", "top"]
    finished = [event.result.id for event in inside(events, "c2") if isinstance(event, ToolFinished)]
    started = [event.invocation.id for event in inside(events, "c2") if isinstance(event, ToolStarted)]
    assert finished == started == ["c0"], "in its own events and history, ids are the model's"
    records = [msgspec.json.decode(line) for line in trail.read_bytes().splitlines()]
    assert {record["call"] for record in records if record["tool"] == "save"} == {"c0", "c1/c0", "c2/c0"}


async def test_without_anybody_to_ask_it_is_closed_although_the_caller_is_open() -> None:
    inner = Script(calling(("save", {"text": "x"})), saying("Done."))
    await collect(agent_of(Script(calling(HELP), FIVE), helper(lambda: agent_of(inner, save)), policy="full"))
    assert saved == []
    assert "nobody is there to ask" in inner.requests[1]["messages"][-1]["content"]


async def test_what_was_decided_inside_is_in_the_session_of_the_caller(tmp_path: Path) -> None:
    async def approve(request: ApprovalRequest) -> bool:
        return bool(request.invocation.arguments["text"] == "x")

    inner = [calling(("save", {"text": "x"}), ("save", {"text": "y"})), saying("Done.")]
    with SessionStore(tmp_path / "sessions.db") as store:
        session = store.create(model="m", cwd=str(tmp_path))
        tool = helper(lambda: agent_of(Script(*inner), save, approve=approve))
        await collect(agent_of(Script(calling(HELP), FIVE), tool, session=session))
        entries = msgspec.to_builtins(store.read(session.id).entries)
    text = msgspec.json.encode(entries).decode()
    assert text.count('"type":"nested","turn":1,"id":"c0"') >= 7
    for kind, times in (("approval_asked", 2), ("approval_answered", 2), ("tool_started", 1), ("tool_finished", 2)):
        assert text.count(f'"event":{{"type":"{kind}"') == times


# How much.


def spender(name: str, *, tokens: int, **options: Any) -> ToolDefinition:
    script = Script(calling(("save", {"text": "x"}), tokens=tokens), saying("Done.", tokens=tokens))
    return helper(lambda: agent_of(script, save), name, **options)


async def test_what_it_uses_up_counts_where_it_was_called() -> None:
    def middle() -> Agent:
        return agent_of(Script(calling(HELP, tokens=100), saying("So.", tokens=100)), spender("helper", tokens=10))

    outer = agent_of(
        Script(calling(("middle", {"task": "go"}), HELP, tokens=1000), saying("Done.", tokens=1000)),
        helper(middle, "middle"),
        spender("helper", tokens=5),
    )
    usage = last(await collect(outer)).usage
    assert (usage.input_tokens, usage.output_tokens) == (2000 + 200 + 20 + 10, 8)
    assert outer.spent.tokens == 2230 + 8


async def test_what_it_uses_up_counts_towards_the_bound_of_the_caller() -> None:
    outer = Script(calling(HELP, tokens=10), saying("Done."))
    end = (await collect(agent_of(outer, spender("helper", tokens=100), bounds=Bounds(tokens=150))))[-1]
    assert isinstance(end, RunFailed)
    assert end.error.facts["what"] == "tokens"
    assert len(outer.requests) == 1


@pytest.mark.parametrize("tokens", [70, 0])
@pytest.mark.parametrize("how", ["time-out", "interrupt", "out of time"])
async def test_what_it_has_used_counts_when_it_is_cut(how: str, tokens: int) -> None:
    @toolwire.tool(risk="read")
    async def hang() -> None:
        """Never ends by itself."""
        asyncio.get_running_loop().call_soon(outer.interrupt if how == "interrupt" else partial(leap, 5))
        await asyncio.sleep(60)

    inner = Script(calling(("hang", {}), tokens=tokens))
    options: dict[str, Any] = {"timeout": 5} if how == "time-out" else {}
    bounds = Bounds(seconds=5 if how == "out of time" else None)
    outer = agent_of(Script(calling(HELP), FIVE), helper(lambda: agent_of(inner, hang), **options), bounds=bounds)
    end = (await collect(outer))[-1]
    assert isinstance(end, RunEnd)
    assert end.usage.input_tokens == tokens + 4 * (how == "time-out")
    assert outer.spent.tokens > (tokens or 10)


async def test_agents_that_call_agents_without_end_are_stopped() -> None:
    made: list[Script] = []

    def make() -> Agent:
        made.append(Script(calling(HELP), saying("Done.")))
        return agent_of(made[-1], helper(make))

    events = await collect(make())
    assert last(events)
    assert len(made) == DEPTH + 1
    assert made[-1].requests[1]["messages"][-1]["content"] == f"Error: agents call agents more than {DEPTH} deep"
    for _ in range(DEPTH):
        events = inside(events)
    assert isinstance(events[-1], RunEnd)
    assert inside(events) == []


# While it runs.


async def test_two_run_side_by_side() -> None:
    def make() -> Agent:
        return agent_of(Script(saying(" ".join(["word"] * 50))))

    events = await collect(agent_of(Script(calling(HELP, HELP), FIVE), helper(make)))
    order = [event.id for event in events if isinstance(event, NestedEvent)]
    assert order.count("c0") == order.count("c1") > 50
    changes = sum(one != next_ for one, next_ in pairwise(order))
    assert changes > 4, order
    assert [inside(events, "c0")[place] for place in (0, -1)] == [inside(events, "c1")[place] for place in (0, -1)]


class Endless(Closing):
    """A model that does not stop talking; how many pieces were taken from it."""

    pieces = 0

    async def stream(self, request: HttpRequest) -> AsyncGenerator[bytes, None]:
        while self.pieces < 100_000:
            self.pieces += 1
            yield sse(delta(content="word "), done=False)
        yield saying("")


async def test_who_reads_slowly_slows_it_down_and_misses_nothing() -> None:
    inner = Endless()
    async with aclosing(agent_of(Script(calling(HELP)), helper(lambda: agent_of(inner))).run("go")) as run:
        told: list[str] = []
        async for event in run:
            if isinstance(event, NestedEvent):
                await asyncio.sleep(0.002)
                if isinstance(event.event, toolwire.SegmentEvent) and event.event.delta:
                    told.append(event.event.delta)
                assert inner.pieces <= len(told) + EVENTS_WAITING + 3
            if len(told) == 100:
                break
    assert told == ["word "] * 100
    assert inner.ended


async def test_one_that_talks_hides_no_question_of_another_call() -> None:
    desk = Approvals()
    outer = agent_of(
        Script(calling(HELP, HELP, ("save", {"text": "x"}))), helper(lambda: agent_of(Endless())), save, approve=desk
    )
    waited = -1
    async with asyncio.timeout(SECONDS), aclosing(outer.run("go")) as run:
        async for event in run:
            waited += waited >= 0 or bool(desk.pending)
            if isinstance(event, ApprovalAsked):
                break
    assert 0 <= waited <= 2 * EVENTS_WAITING + 4


class Stubborn(Hooks):
    """Makes the time pass, swallows the cancellation that comes then, as careless code does, and goes on when it is
    let go."""

    def __init__(self) -> None:
        self.let_go = asyncio.Event()
        self.swallowed = 0

    async def on_event(self, event: AgentEvent) -> None:
        if isinstance(event, ToolStarted):
            asyncio.get_running_loop().call_soon(leap, 5)
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                self.swallowed += 1
                await self.let_go.wait()


async def test_one_that_does_not_hear_of_its_end_ends_with_its_next_event() -> None:
    hooks = Stubborn()
    hooks.let_go.set()
    inner = Closing(calling(("save", {"text": "x"})), calling(("save", {"text": "late"})), saying("Done."))
    tool = helper(lambda: agent_of(inner, save, policy="full", hooks=[hooks]), timeout=5)
    events = await collect(agent_of(Script(calling(HELP), FIVE), tool))
    assert "no result within" in result_of(events)
    assert hooks.swallowed == 1
    assert len(inner.requests) <= 2
    assert "late" not in saved
    assert inner.ended


async def test_what_is_told_after_the_result_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(executor, "GRACE", 0.05)
    hooks = Stubborn()
    inner = Closing(calling(("save", {"text": "x"})), saying("Done."))
    tool = helper(lambda: agent_of(inner, save, policy="full", hooks=[hooks]), timeout=5)

    @toolwire.tool(risk="read")
    async def wait() -> None:
        """Waits until the other is closed."""
        assert await asyncio.to_thread(until, lambda: inner.ended)

    events: list[AgentEvent] = []
    async with asyncio.timeout(2 * SECONDS):
        async for event in agent_of(Script(calling(HELP, ("wait", {})), FIVE), tool, wait).run("go"):
            events.append(event)
            if isinstance(event, ToolFinished):
                hooks.let_go.set()
    assert "may still be running" in result_of(events)
    assert result_of(events, "c1") == "Done; there is no output."
    kinds = [type(event) for event in events]
    assert NestedEvent not in kinds[kinds.index(ToolFinished) :]


# Interrupted.


async def test_interrupted_while_a_time_out_stops_it() -> None:
    @toolwire.tool(risk="read")
    async def dies_slowly() -> None:
        """Takes a while to end."""
        loop = asyncio.get_running_loop()
        loop.call_soon(leap, 5)
        try:
            await asyncio.sleep(60)
        finally:
            loop.call_later(0.05, outer.interrupt)
            await asyncio.sleep(0.2)
            saved.append("dead")

    inner = Closing(calling(("dies_slowly", {})))
    outer = agent_of(Script(calling(HELP)), helper(lambda: agent_of(inner, dies_slowly), timeout=5))
    assert isinstance((await collect(outer))[-1], RunInterrupted)
    assert saved == ["dead"]
    assert inner.ended
    assert asyncio.all_tasks() == {asyncio.current_task()}


class Work:
    """What the tools of the agents inside have done and are doing."""

    def __init__(self) -> None:
        self.running: set[str] = set()
        self.scripts: list[Closing] = []
        self.agents: list[Agent] = []

    def agent(self, depth: int) -> Agent:
        @toolwire.tool(risk="read")
        async def work(name: str) -> str:
            """Works."""
            self.running.add(name)
            try:
                await asyncio.sleep(0.003)
            finally:
                self.running.discard(name)
            return name

        calls = [("work", {"name": f"{depth}-{len(self.agents)}"}), ("save", {"text": "x"})]
        script = Closing(calling(*calls, *([HELP, HELP] if depth else [])), saying("One two three."))
        made = agent_of(script, work, save, *([helper(lambda: self.agent(depth - 1))] if depth else []), policy="full")
        self.scripts.append(script)
        self.agents.append(made)
        return made


@pytest.mark.parametrize("how", ["interrupt", "cancel"])
async def test_interrupted_at_random_moments(how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(executor, "GRACE", 60.0)
    rng = random.Random(how)
    ends: set[str] = set()
    for _ in range(50):
        work = Work()
        top = work.agent(2)
        reading = asyncio.create_task(collect(top))
        await asyncio.wait({reading}, timeout=rng.random() * 0.03)
        before = time.monotonic()
        if how == "interrupt":
            top.interrupt()
        else:
            reading.cancel()
        await asyncio.wait({reading}, timeout=SECONDS)
        assert time.monotonic() - before < 30
        ends.add("cancelled" if reading.cancelled() else type(reading.result()[-1]).__name__)
        assert work.running == set()
        await top.close()
        assert asyncio.all_tasks() == {asyncio.current_task()}
        assert all(script.ended for script in work.scripts)
        for agent in work.agents:
            for place, message in enumerate(agent.messages):
                made = [part.id for part in message.tool_calls]
                results = [getattr(part, "id", "") for part in agent.messages[place + 1].parts] if made else []
                assert made == results
    assert ends >= {"RunInterrupted" if how == "interrupt" else "cancelled"}


async def test_closed_after_each_event() -> None:
    for count in range(1, 1000):
        work = Work()
        top = work.agent(1)
        seen = 0
        async with aclosing(top.run("go")) as run:
            async for _ in run:
                seen += 1
                if seen == count:
                    break
        assert work.running == set()
        assert asyncio.all_tasks() == {asyncio.current_task()}
        assert all(script.ended for script in work.scripts[1:])
        if seen < count:
            break
    assert count > 50


def test_random_trees_of_agents_stopped_at_random_moments(monkeypatch: pytest.MonkeyPatch) -> None:
    # How soon is for a machine that does nothing else.
    monkeypatch.setattr("bench.trust.nested.STOP_SECONDS", 8.0)
    monkeypatch.setattr(executor, "GRACE", 60.0)
    found = nested(60, seed=7)
    assert found.faults == []
    for way in WAYS:
        assert way in found.words


# Where nobody listens.


async def test_it_runs_where_no_run_made_the_call() -> None:
    tool = helper(lambda: agent_of(Script(saying("Hi."))))
    gate = Gate()
    ticket = await gate.decide(toolwire.ToolInvocation("c0", "helper", {"task": "go"}), tool)
    assert isinstance(ticket, Ticket)
    assert (await Executor(gate).run(ticket)).content == "Hi."


async def test_an_agent_in_a_tool_of_ones_own_is_told_apart_too() -> None:
    asked: list[str] = []

    async def approve(request: ApprovalRequest) -> bool:
        asked.append(request.id)
        return True

    @toolwire.tool(risk="read", name="helper")
    def own(task: str) -> str:
        """Helps."""
        return str(
            agent_of(Script(calling(("save", {"text": task})), saying("Done.")), save, approve=approve).run_sync(task)
        )

    events = await collect(agent_of(Script(calling(HELP), FIVE), own))
    assert (asked, saved, result_of(events)) == (["c0/c0"], ["help"], "Done.")
