"""Hooks: told everything once and first, able to say no and nothing else, and no fault of theirs is lost or kills."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import pytest

import toolwire
from agent.scripted import ADD, FIVE, SAVE, Script, agent, collect, last, ran
from feeding import call, delta, sse
from toolwire.agent.asking import Retries
from toolwire.agent.events import (
    AgentEvent,
    HookFailed,
    RunFailed,
    RunFinished,
    RunInterrupted,
    RunStarted,
    ToolFinished,
    ToolStarted,
    TurnStarted,
)
from toolwire.agent.hooks import Hooks, RunFacts
from toolwire.errors import ToolwireError, TransportError
from toolwire.execution.executor import ToolResult
from toolwire.messages import Message
from toolwire.stream.invocation import ToolInvocation
from toolwire.stream.segments import SegmentEvent
from toolwire.tools.definition import ToolDefinition

Around = AbstractAsyncContextManager[object, bool | None]
ENDS = (RunFinished, RunInterrupted, RunFailed)


class Listener(Hooks):
    """Keeps what it is told, and what had been read when it was."""

    def __init__(self, read: list[AgentEvent] | None = None) -> None:
        self.told: list[AgentEvent] = []
        self.read = read if read is not None else []
        self.early = 0

    async def on_event(self, event: AgentEvent) -> None:
        await asyncio.sleep(0)
        self.early += event not in self.read
        self.told.append(event)


HALF = sse(delta(content="Once upon"), done=False)
TWO = sse(
    delta(tool_calls=[call('{"a":1,"b":1}', id="c1", name="add")]),
    delta(tool_calls=[call('{"text":"y"}', index=1, id="c2", name="save")]),
    delta(finish="tool_calls"),
)


def result(events: list[AgentEvent]) -> ToolResult:
    return next(event.result for event in events if isinstance(event, ToolFinished))


# ---- told


@pytest.mark.parametrize(
    ("answers", "end"),
    [
        ([ADD, FIVE], RunFinished),
        ([TWO, FIVE], RunFinished),
        ([ToolwireError("no"), FIVE], RunFailed),
        ([TransportError("reset"), FIVE], RunFinished),
        ([HALF], RunFailed),
    ],
)
async def test_every_event_is_told_once_in_order_before_it_is_read(answers: list[Any], end: type) -> None:
    read: list[AgentEvent] = []
    hooks = [Listener(read), Listener(read)]
    it = agent(Script(*answers), hooks=hooks, retries=Retries(first_pause=0.001))
    async for event in it.run("go"):
        read.append(event)  # noqa: PERF401  the hooks look at it meanwhile
    assert isinstance(read[-1], end)
    for each in hooks:
        assert each.told == read
        assert each.early == len(read)


async def test_hooks_are_told_in_the_order_in_which_they_were_given() -> None:
    order: list[str] = []

    class Named(Hooks):
        def __init__(self, name: str) -> None:
            self.name = name

        async def on_event(self, event: AgentEvent) -> None:
            await asyncio.sleep(0.0002 if self.name == "a" else 0)
            order.append(self.name)

    events = await collect(agent(Script(FIVE), hooks=[Named("a"), Named("b")]))
    assert order == ["a", "b"] * len(events)


@pytest.mark.parametrize("how", ["close", "cancel", "cancel in a hook", "cancel twice", "interrupt"])
@pytest.mark.parametrize("place", [RunStarted, TurnStarted, SegmentEvent, ToolStarted, ToolFinished, RunFinished])
async def test_a_run_that_is_left_has_one_end_for_every_hook(how: str, place: type) -> None:
    """Wherever its reader leaves, and however."""

    class Slow(Listener):
        async def on_event(self, event: AgentEvent) -> None:
            await super().on_event(event)
            if how == "cancel in a hook" and isinstance(event, place):
                reader.cancel()
                await asyncio.sleep(0)
            if how == "cancel twice" and isinstance(event, ENDS):
                reader.cancel()
                await asyncio.sleep(0)

    hooks = [Listener(), Slow(), Listener()]
    it = agent(Script(ADD, FIVE), hooks=hooks)

    async def read() -> None:
        run = it.run("go")
        try:
            async for event in run:
                if isinstance(event, place):
                    if how == "close":
                        return
                    if how == "interrupt":
                        it.interrupt()
                    elif how.startswith("cancel"):
                        reader.cancel()
                        await asyncio.sleep(0)
        finally:
            await run.aclose()

    reader = asyncio.create_task(read())
    await asyncio.wait([reader], timeout=5)
    assert reader.done()
    for each in hooks:
        ends = [event for event in each.told if isinstance(event, ENDS)]
        assert len(ends) == 1
        assert each.told[-1] is ends[0]
        assert isinstance(ends[0], RunFinished if place is RunFinished else (RunInterrupted, RunFinished))
    assert not [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]


class Faulty(Listener):
    """Fails at the first event of a kind."""

    def __init__(self, at: type) -> None:
        super().__init__()
        self.at = at

    async def on_event(self, event: AgentEvent) -> None:
        await super().on_event(event)
        if isinstance(event, self.at):
            raise RuntimeError("the disk is full: sk-abcdefghijklmnopqrstuvwxyz0123456789ABCD")


@pytest.mark.parametrize("at", [RunStarted, TurnStarted, SegmentEvent, ToolStarted, ToolFinished, RunFinished])
async def test_a_hook_that_cannot_be_told_is_told_no_more_and_the_run_goes_on(at: type) -> None:
    bad, good = Faulty(at), Listener()
    events = await collect(agent(Script(ADD, FIVE), hooks=[bad, good]))
    assert str(last(events)) == "It is 5."
    where = [number for number, event in enumerate(events) if isinstance(event, HookFailed)]
    assert len(where) == 1
    failed = events.pop(where[0])
    assert isinstance(failed, HookFailed)
    assert (failed.hook, failed.error.type) == ("Faulty", "RuntimeError")
    assert "the disk is full" in failed.error.message
    assert "abcdefghijklmnop" not in failed.error.message
    assert isinstance(events[where[0]], at)
    assert bad.told == events[: where[0] + 1]
    assert good.told == events


async def test_a_hook_that_fails_when_nobody_reads_is_told_of_all_the_same() -> None:
    told: list[str] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: told.append(context["message"]))
    good = Listener()
    run = agent(Script(FIVE), hooks=[Faulty(RunInterrupted), good]).run("go")
    await anext(run)
    await run.aclose()
    assert isinstance(good.told[-1], RunInterrupted)
    assert len(told) == 1
    assert "Faulty" in told[0]


async def test_a_hook_that_is_told_no_more_can_still_say_no() -> None:
    class Deaf(Faulty):
        async def before_call(self, invocation: ToolInvocation, tool: ToolDefinition) -> str | None:
            return "not today"

    events = await collect(agent(Script(ADD, FIVE), hooks=[Deaf(RunStarted)]))
    assert ran == []
    assert result(events).content == "Error: not run: a hook does not let it: not today"


async def test_one_hooks_object_has_hooks_for_every_run() -> None:
    made: list[Listener] = []
    facts: list[RunFacts] = []

    class Factory(Hooks):
        def of_run(self, given: RunFacts) -> Hooks:
            facts.append(given)
            made.append(Listener())
            return made[-1]

    factory = Factory()
    agents = [agent(Script(ADD, FIVE), hooks=[factory], options={"temperature": 0}) for _ in range(20)]
    runs = await asyncio.gather(*(collect(each) for each in agents))
    assert sorted(map(len, (each.told for each in made))) == sorted(map(len, runs))
    for each in made:
        assert sum(isinstance(event, RunStarted) for event in each.told) == 1
        assert isinstance(each.told[-1], RunFinished)
    assert (facts[0].server, facts[0].port, facts[0].options) == ("127.0.0.1", 1, {"temperature": 0})


async def test_hooks_that_cannot_begin_end_the_run_before_anything_is_sent() -> None:
    class Broken(Hooks):
        def of_run(self, given: RunFacts) -> Hooks:
            raise OSError("gone")

    script, good = Script(FIVE), Listener()
    it = agent(script, hooks=[Broken(), good])
    end = (await collect(it))[-1]
    assert isinstance(end, RunFailed)
    assert (end.error.type, end.error.message) == ("Vetoed", "a hook could not begin (OSError)")
    assert script.requests == []
    assert good.told[-1] is end
    assert it.messages == []


# ---- asked


Say = Callable[[], object]


def fails() -> object:
    raise ValueError("a fault")


@pytest.mark.parametrize(
    ("say", "words"),
    [(lambda: "no money left", "no money left"), (fails, "it failed (ValueError)"), (lambda: "", "it says no")]
    + [(lambda value=value: value, str(value)) for value in (False, True, 0)],
)
async def test_a_request_that_a_hook_forbids_is_not_sent(say: Say, words: str) -> None:
    class No(Hooks):
        async def before_request(self, turn: int, messages: Sequence[Message]) -> Any:
            return say() if turn == 2 else None

    script = Script(ADD, FIVE, FIVE)
    it = agent(script, hooks=[Hooks(), No()])
    end = (await collect(it))[-1]
    assert isinstance(end, RunFailed)
    assert end.error.type == "Vetoed"
    assert end.error.message == f"a hook does not let this be sent: {words}"
    assert end.error.facts == {"turn": 2}
    assert len(script.requests) == 1
    assert [message.role for message in it.messages] == ["user", "assistant", "tool"]


@pytest.mark.parametrize(
    ("say", "words"),
    [(lambda: "ask me later", "ask me later"), (fails, "it failed (ValueError)"), (lambda: "", "it says no")]
    + [(lambda value=value: value, str(value)) for value in (False, True)],
)
async def test_a_call_that_a_hook_forbids_is_not_run(say: Say, words: str) -> None:
    asked: list[str] = []

    class No(Hooks):
        async def before_call(self, invocation: ToolInvocation, tool: ToolDefinition) -> Any:
            return say() if tool.name == "save" else None

    async def approve(request: toolwire.ApprovalRequest) -> bool:
        asked.append(request.invocation.tool_name)
        return True

    script = Script(TWO, FIVE)
    events = await collect(agent(script, hooks=[No()], approve=approve))
    assert str(last(events)) == "It is 5."
    assert (ran, asked) == ([("add", (1, 1))], [])
    assert [message["content"] for message in script.requests[1]["messages"][-2:]] == [
        "2",
        f"Error: not run: a hook does not let it: {words}",
    ]


async def test_a_hook_cannot_make_a_call_run() -> None:
    """Neither its yes nor what it does to a call widens what policy and the person allow."""

    class Wide(Hooks):
        entered = 0

        async def before_call(self, invocation: ToolInvocation, tool: ToolDefinition) -> str | None:
            invocation.arguments["text"] = "harmless"
            return None

        def around_call(self, invocation: ToolInvocation, tool: ToolDefinition) -> Around:
            self.entered += 1
            return super().around_call(invocation, tool)

    for options in ({"policy": "read-only"}, {"policy": "ask"}, {"approve": _no}):
        hooks = Wide()
        events = await collect(agent(Script(SAVE, FIVE), hooks=[hooks], **options))
        assert ran == []
        assert result(events).is_error
        assert hooks.entered == 0


async def _no(_: object) -> bool:
    return False


class Changing(Hooks):
    """Changes what it is given, wherever it is given something."""

    async def before_call(self, invocation: ToolInvocation, tool: ToolDefinition) -> str | None:
        invocation.arguments["text"] = "changed"
        return None

    @asynccontextmanager
    async def _around(self, invocation: ToolInvocation) -> AsyncGenerator[None, None]:
        invocation.arguments["text"] = "changed"
        await asyncio.sleep(0)
        yield

    def around_call(self, invocation: ToolInvocation, tool: ToolDefinition) -> Around:
        return self._around(invocation)


async def test_what_a_hook_does_to_a_call_changes_nothing_of_it() -> None:
    shown: list[Any] = []

    async def approve(request: toolwire.ApprovalRequest) -> bool:
        shown.append(dict(request.invocation.arguments))
        return True

    script = Script(SAVE, FIVE)
    it = agent(script, hooks=[Changing(), Changing()], approve=approve)
    await collect(it)
    assert ran == [("save", "x")]
    assert shown == [{"text": "x"}]
    assert it.messages[1].tool_calls[0].arguments == {"text": "x"}
    assert '"x"' in script.requests[1]["messages"][1]["tool_calls"][0]["function"]["arguments"]


@pytest.mark.parametrize("at", [SegmentEvent, ToolStarted])
async def test_what_runs_is_what_was_judged_whatever_is_done_to_events(at: type) -> None:
    """Events are shared. Changed before the gate, the change is judged and shown; after it, it changes nothing."""
    shown: list[Any] = []

    class Meddling(Hooks):
        async def on_event(self, event: AgentEvent) -> None:
            if isinstance(event, SegmentEvent) and at is SegmentEvent and event.metadata:
                event.metadata["arguments"]["text"] = "changed"
            elif isinstance(event, ToolStarted) and at is ToolStarted:
                event.invocation.arguments["text"] = "changed"

    async def approve(request: toolwire.ApprovalRequest) -> bool:
        shown.append(("save", request.invocation.arguments["text"]))
        return True

    await collect(agent(Script(SAVE, FIVE), hooks=[Meddling()], approve=approve))
    assert ran == shown
