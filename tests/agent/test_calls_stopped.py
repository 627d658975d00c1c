"""Calls that are stopped in the middle: nothing runs on, every call has a result, every provider takes the history."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from typing import Any

import msgspec
import pytest
from bench.trust.calls import stopped_answers

import toolwire
from agent.answered import SECONDS, a_tool, the_calls, told
from format_rules import broken
from request_types import problems
from toolwire import Agent
from toolwire.agent import calls as module
from toolwire.agent.calls import Calls
from toolwire.agent.events import ApprovalAsked, RunFinished, ToolFinished, ToolStarted
from toolwire.approval.desk import Approvals
from toolwire.approval.request import ApprovalRequest
from toolwire.messages import ToolCallPart, ToolResultPart
from toolwire.tools.definition import Risk
from toolwire.transport import HttpRequest
from wire_bodies import PROVIDERS, Call, End, Text, body


class Tools:
    """Tools of every kind, and which of them are running."""

    def __init__(self) -> None:
        self.running: set[str] = set()
        self.begun: list[str] = []

    async def work(self, arguments: dict[str, Any]) -> str:
        name = str(arguments["text"])
        self.begun.append(name)
        self.running.add(name)
        try:
            for _ in range(4):
                await asyncio.sleep(0)
        finally:
            self.running.discard(name)
        return name

    def calls(self, desk: Any) -> Calls:
        async def work(arguments: dict[str, Any]) -> str:
            return await self.work(arguments)

        read, alone = a_tool("read", work), a_tool("alone", work, exclusive=True)
        write = a_tool("write", work, Risk.WRITE, paths=("path",))
        made = [(read, {}), (write, {"path": "a"}), (write, {"path": "a"}), (alone, {}), (read, {})]
        numbered = [(tool, {**arguments, "text": str(place)}) for place, (tool, arguments) in enumerate(made)]
        return the_calls(*numbered, ask=desk, parallel=2)


async def yes_in_a_while(_: ApprovalRequest) -> bool:
    await asyncio.sleep(0)
    return True


def check_stopped(tools: Tools, calls: Calls) -> list[str]:
    """No tool runs, no task is left, and there is one result for each call, which says what is true."""
    assert tools.running == set()
    assert asyncio.all_tasks() == {asyncio.current_task()}
    parts = told(calls)
    assert [part.id for part in parts] == [f"c{place}" for place in range(5)]
    for part in parts:
        begun = part.id[1:] in tools.begun
        assert (part.content == "Error: not run: cancelled before it ran") is (not begun and part.is_error)
    return [str(part.content) for part in parts]


OUTCOMES = {
    *"01234",
    "Error: not run: cancelled before it ran",
    "Error: cancelled while it ran; a part of its work may be done",
}


async def test_closing_after_each_event() -> None:
    outcomes: set[str] = set()
    for count in range(1, 100):
        tools = Tools()
        calls = tools.calls(yes_in_a_while)
        run = calls.run()
        async with asyncio.timeout(SECONDS):
            seen = 0
            async for _ in run:
                seen += 1
                if seen == count:
                    break
            await run.aclose()
        outcomes.update(check_stopped(tools, calls))
        if seen < count:
            break
    else:
        raise AssertionError("it never ended by itself")
    assert outcomes == OUTCOMES


async def drain(calls: Calls) -> None:
    async with aclosing(calls.run()) as events:
        async for _ in events:
            await asyncio.sleep(0)


@pytest.mark.parametrize("twice", [False, True])
async def test_cancelling_at_each_step_of_the_loop(twice: bool) -> None:
    outcomes: set[str] = set()
    for steps in range(1000):
        tools = Tools()
        calls = tools.calls(yes_in_a_while)
        task = asyncio.create_task(drain(calls))
        for _ in range(steps):
            await asyncio.sleep(0)
        ended = task.done()
        task.cancel()
        if twice:
            await asyncio.sleep(0)
            task.cancel()
        with suppress(asyncio.CancelledError):
            async with asyncio.timeout(SECONDS):
                await task
        results = check_stopped(tools, calls)
        outcomes.update(results)
        if ended:
            assert results == [*"01234"]
            break
    else:
        raise AssertionError("it never ended by itself")
    assert steps > 20
    assert outcomes == OUTCOMES


async def test_a_closed_run_takes_its_questions_back() -> None:
    tools, desk = Tools(), Approvals()
    calls = tools.calls(desk)
    async with asyncio.timeout(SECONDS), aclosing(calls.run()) as events:
        async for event in events:
            if isinstance(event, ApprovalAsked) and len(desk.pending) == 2:
                break
    assert desk.pending == ()
    check_stopped(tools, calls)
    assert not {"1", "2"} & set(tools.begun)


async def test_a_yes_that_comes_after_the_end_runs_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """From whoever was asked and does not let go of a cancelled question."""
    monkeypatch.setattr(module, "STOP_SECONDS", 0.01)
    released = asyncio.Event()

    async def stubborn(_: ApprovalRequest) -> bool:
        while not released.is_set():
            with suppress(asyncio.CancelledError):
                await released.wait()
        return True

    tools = Tools()
    calls = tools.calls(stubborn)
    async with asyncio.timeout(SECONDS), aclosing(calls.run()) as events:
        async for event in events:
            if isinstance(event, ApprovalAsked):
                break
    begun = list(tools.begun)
    released.set()
    async with asyncio.timeout(SECONDS):
        await asyncio.wait([task for task in asyncio.all_tasks() if task is not asyncio.current_task()])
    assert tools.begun == begun
    check_stopped(tools, calls)


async def test_calls_that_somebody_else_cancels_have_their_results_too() -> None:
    """A tool can cancel every task of its loop."""
    tools = Tools()
    calls = tools.calls(yes_in_a_while)
    finished = []
    async with asyncio.timeout(SECONDS), aclosing(calls.run()) as events:
        async for event in events:
            if isinstance(event, ToolStarted):
                for task in asyncio.all_tasks() - {asyncio.current_task()}:
                    task.cancel()
            elif isinstance(event, ToolFinished):
                finished.append(event.id)
    assert sorted(finished) == [part.id for part in told(calls)] == [f"c{place}" for place in range(5)]
    assert tools.running == set()


def test_random_answers_stopped_at_random_moments() -> None:
    found = stopped_answers(60, seed=7)
    assert found.faults == []
    for kind in ("done", "denied", "not begun", "stopped while running"):
        assert kind in found.words, found.words


# The whole agent, at every provider.


@toolwire.tool(risk="read")
async def add(a: int, b: int) -> int:
    """Adds two numbers."""
    await asyncio.sleep(0.001 * a)
    return a + b


@toolwire.tool(risk="write")
def save(text: str) -> str:
    """Saves a text."""
    return text


class Script:
    """A transport that answers with three calls, and then with words."""

    def __init__(self, wire: str) -> None:
        made = [
            Call("call_0", "add", '{"a":1,"b":3}'),
            Call("call_1", "save", '{"text":"x"}'),
            Call("call_2", "add", '{"a":4,"b":4}'),
        ]
        self.answers = [body(wire, *made, End()), body(wire, Text("Well."), End())]
        self.requests: list[dict[str, Any]] = []

    async def stream(self, request: HttpRequest) -> AsyncGenerator[bytes, None]:
        self.requests.append(msgspec.json.decode(request.body))
        yield self.answers.pop(0)

    async def aclose(self) -> None:
        pass


@pytest.mark.parametrize("moment", [ApprovalAsked, ToolStarted, ToolFinished])
@pytest.mark.parametrize("provider", PROVIDERS)
async def test_a_history_that_was_cut_goes_on_at_every_provider(provider: str, moment: type) -> None:
    wire = PROVIDERS[provider]
    script = Script(wire)
    options: dict[str, Any] = {"base_url": "http://127.0.0.1:1/v1", "api_key": "none", "transport": script}
    agent = Agent(f"{provider}:gemini-3", [add, save], approve=Approvals(), **options)
    async with asyncio.timeout(SECONDS):
        async with aclosing(agent.run("go")) as run:
            async for event in run:
                if isinstance(event, moment):
                    break
        assert asyncio.all_tasks() == {asyncio.current_task()}
        answer, results = agent.messages[-2:]
        assert [part.id for part in answer.parts if isinstance(part, ToolCallPart)] == [
            part.id for part in results.parts if isinstance(part, ToolResultPart)
        ]
        end = [event async for event in agent.run("And now?")][-1]
    assert isinstance(end, RunFinished), end
    target = provider if provider == "mistral" else wire
    assert broken(target, script.requests[1]) == []
    assert problems(target, script.requests[1]) == []
    assert "cancelled" in msgspec.json.encode(script.requests[1]).decode()


async def test_an_interrupt_stops_a_run_in_a_thread_of_its_own() -> None:
    """As in a notebook, whose loop is busy with `run_sync` when the person presses the key."""
    stopped = threading.Event()

    @toolwire.tool(risk="read", name="add")
    async def interrupted(a: int, b: int) -> None:
        if a == 1:
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
        try:
            await asyncio.sleep(SECONDS)
        except asyncio.CancelledError:
            stopped.set()
            raise

    options: dict[str, Any] = {"base_url": "http://127.0.0.1:1/v1", "api_key": "none", "transport": Script("anthropic")}
    agent = Agent("anthropic:claude", [interrupted, save], **options)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            agent.run_sync("go")
    finally:
        signal.signal(signal.SIGINT, before)
    assert stopped.wait(SECONDS / 2)


async def test_calls_that_were_stopped_before_their_turn_leave_no_ticket() -> None:
    begun = asyncio.Event()

    async def wait(_: dict[str, Any]) -> None:
        begun.set()
        await asyncio.sleep(SECONDS)

    tool = a_tool("wait", wait)
    calls = the_calls(*[(tool, {"text": str(number)}) for number in range(5)], parallel=1)
    gate = calls._bench.gate
    async with aclosing(calls.run()) as events:
        async for event in events:
            if isinstance(event, ToolStarted):
                await begun.wait()
                assert len(gate._given) == 4
                break
    assert not gate._given
