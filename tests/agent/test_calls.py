"""The calls of one answer: side by side, in order where that matters, each with one result in its place."""

from __future__ import annotations

import asyncio
import threading
from contextlib import aclosing
from pathlib import Path
from typing import Any

import msgspec
import pytest

from agent.answered import SECONDS, a_tool, events_of, results_of, the_calls, told
from toolwire.agent.calls import PROGRESS_WAITING, Calls, Workbench
from toolwire.agent.events import (
    ApprovalAnswered,
    ApprovalAsked,
    CallEvent,
    ToolFinished,
    ToolProgress,
    ToolStarted,
)
from toolwire.approval.desk import Approvals
from toolwire.approval.gate import Gate, Ticket
from toolwire.approval.policy import Policy
from toolwire.approval.request import Answer, ApprovalRequest, deny
from toolwire.execution import reporting
from toolwire.execution.executor import Executor, ToolResult
from toolwire.messages import ToolCallPart
from toolwire.tools.definition import Risk, ToolDefinition
from toolwire.tools.registry import ToolRegistry
from toolwire.tools.running import this_call

FULL = Policy("full")


# Side by side.


async def test_async_tools_run_side_by_side() -> None:
    both = asyncio.Barrier(2)

    async def meet(_: dict[str, Any]) -> str:
        await both.wait()
        return "met"

    assert await results_of(the_calls((a_tool("meet", meet), {}), (a_tool("meet_too", meet), {}))) == ["met", "met"]


async def test_plain_functions_run_side_by_side() -> None:
    both = threading.Barrier(2, timeout=SECONDS)

    def meet(_: dict[str, Any]) -> str:
        both.wait()
        return "met"

    one = a_tool("meet", meet)
    assert await results_of(the_calls((one, {}), (one, {}))) == ["met", "met"]


async def test_results_are_in_the_order_of_the_calls_whatever_ends_first() -> None:
    ended = asyncio.Event()

    async def slow(_: dict[str, Any]) -> str:
        await ended.wait()
        return "slow"

    async def quick(_: dict[str, Any]) -> str:
        return "quick"

    calls = the_calls((a_tool("slow", slow), {}), (a_tool("quick", quick), {}))
    finished = []
    async with asyncio.timeout(SECONDS), aclosing(calls.run()) as events:
        async for event in events:
            if isinstance(event, ToolFinished):
                finished.append(event.id)
                ended.set()
    assert finished == ["c1", "c0"]
    assert [(part.id, part.content) for part in told(calls)] == [("c0", "slow"), ("c1", "quick")]


class Watched:
    """What runs at the same time, by the text of each call."""

    def __init__(self) -> None:
        self.now: list[str] = []
        self.together: set[frozenset[str]] = set()
        self.order: list[str] = []
        self.most = 0

    async def __call__(self, arguments: dict[str, Any]) -> str:
        name = str(arguments["text"])
        self.order.append(name)
        self.now.append(name)
        for _ in range(3):
            self.most = max(self.most, len(self.now))
            self.together |= {frozenset((name, other)) for other in self.now if other != name}
            await asyncio.sleep(0.001)
        self.now.remove(name)
        return name

    def tool(self, name: str, risk: Risk = Risk.READ, **more: Any) -> ToolDefinition:
        async def run(arguments: dict[str, Any]) -> str:
            return await self(arguments)

        return a_tool(name, run, risk, **more)


@pytest.mark.parametrize("parallel", [1, 3])
async def test_no_more_run_at_a_time_than_the_limit(parallel: int) -> None:
    watched = Watched()
    tool = watched.tool("work")
    names = [str(number) for number in range(9)]
    assert await results_of(the_calls(*((tool, {"text": name}) for name in names), parallel=parallel)) == names
    assert watched.most == parallel
    if parallel == 1:
        assert watched.order == names


async def test_an_exclusive_tool_runs_alone_and_in_its_place() -> None:
    watched = Watched()
    work, alone = watched.tool("work"), watched.tool("alone", exclusive=True)
    made = [(work, "a"), (work, "b"), (alone, "X"), (work, "c"), (work, "d"), (alone, "Y"), (alone, "Z")]
    names = [name for _, name in made]
    assert await results_of(the_calls(*((tool, {"text": name}) for tool, name in made))) == names
    assert watched.together == {frozenset("ab"), frozenset("cd")}
    assert [name for name in watched.order if name in "XYZ"] == ["X", "Y", "Z"]
    assert set(watched.order[:2]) == {"a", "b"}
    assert set(watched.order[3:5]) == {"c", "d"}


async def test_an_exclusive_call_that_waits_for_a_person_holds_those_behind_it() -> None:
    watched, desk = Watched(), Approvals()
    alone = watched.tool("alone", Risk.WRITE, exclusive=True)
    calls = the_calls((alone, {"text": "X"}), (watched.tool("read"), {"text": "behind"}), ask=desk)
    async with asyncio.timeout(SECONDS), aclosing(calls.run()) as events:
        async for event in events:
            if isinstance(event, ApprovalAsked):
                await asyncio.sleep(0.01)
                assert watched.order == []
                desk.answer(event.id, False)
    assert watched.order == ["behind"]


async def test_calls_that_touch_the_same_path_keep_their_order(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("")
    (tmp_path / "link").symlink_to("a")
    watched = Watched()
    write = watched.tool("write", Risk.WRITE, paths=("path",))
    read = watched.tool("read", paths=("path",))
    made = [
        (write, "a", "1"),
        (read, "./a", "2"),
        (read, str(tmp_path / "a"), "3"),
        (write, "link", "4"),
        (write, "x/../a", "5"),
        (write, "b", "other"),
    ]
    await results_of(
        the_calls(*((tool, {"path": path, "text": text}) for tool, path, text in made), policy=FULL, root=tmp_path)
    )
    assert [name for name in watched.order if name != "other"] == ["1", "2", "3", "4", "5"]
    assert {pair for pair in watched.together if "other" not in pair} == {frozenset("23")}, "reads may meet"
    assert frozenset(("1", "other")) in watched.together


async def test_a_path_that_the_person_changed_counts_as_they_wrote_it(tmp_path: Path) -> None:
    watched = Watched()
    write = watched.tool("write", Risk.WRITE, paths=("path",))

    async def change(request: ApprovalRequest) -> Answer:
        text = request.invocation.arguments["text"]
        return Answer(allowed=True, arguments={"path": "same", "text": text})

    made = ((write, {"path": name, "text": name}) for name in "ab")
    await results_of(the_calls(*made, ask=change, root=tmp_path))
    assert watched.together == set()


async def test_paths_that_are_none_do_not_break_the_answer() -> None:
    watched = Watched()
    read = watched.tool("read", paths=("path",))
    results = await results_of(the_calls((read, {"path": "\0", "text": "a"}), (read, {"path": "b", "text": "b"})))
    assert "not run" in results[0]
    assert results[1] == "b"


# Approvals.


async def test_several_wait_at_once_and_are_answered_in_any_order() -> None:
    watched, desk = Watched(), Approvals()
    write = watched.tool("write", Risk.WRITE)
    calls = the_calls(*((write, {"text": name}) for name in ("zero", "one", "two")), ask=desk)
    seen: list[CallEvent] = []
    async with asyncio.timeout(SECONDS), aclosing(calls.run()) as events:
        async for event in events:
            seen.append(event)
            asked = [each.id for each in seen if isinstance(each, ApprovalAsked)]
            finished = [each.id for each in seen if isinstance(each, ToolFinished)]
            if isinstance(event, ApprovalAsked) and len(asked) == 3:
                assert [request.id for request in desk.pending] == ["c0", "c1", "c2"]
                desk.answer("c2", True)
            elif isinstance(event, ToolFinished) and finished == ["c2"]:
                assert watched.order == ["two"], "it did not wait for the others"
                desk.answer("c0", deny("not that one"))
            elif isinstance(event, ToolFinished) and finished == ["c2", "c0"]:
                desk.answer("c1", True)
    assert [part.content for part in told(calls)] == ["Error: not run: the person said no: not that one", "one", "two"]
    assert [(event.id, event.allowed, event.who) for event in seen if isinstance(event, ApprovalAnswered)] == [
        ("c2", True, "person"),
        ("c0", False, "person"),
        ("c1", True, "person"),
    ]


async def test_what_is_told_of_each_call_is_in_order_and_goes_to_json() -> None:
    async def write(_: dict[str, Any]) -> str:
        return "written"

    async def yes(_: ApprovalRequest) -> bool:
        return True

    tool = a_tool("write", write, Risk.WRITE)
    events = await events_of(the_calls((tool, {"text": "a"}), (tool, {"text": "b"}), ask=yes))
    for id in ("c0", "c1"):
        own = [event for event in events if event.id == id]
        assert [type(event) for event in own] == [ApprovalAsked, ApprovalAnswered, ToolStarted, ToolFinished]
        assert {event.turn for event in own} == {1}
    asked = msgspec.json.decode(msgspec.json.encode(events[0]))
    assert (asked["type"], asked["id"], asked["request"]["risk"]) == ("approval_asked", "c0", "write")
    assert {"shown", "why", "offers"} <= set(asked["request"])


async def test_the_model_is_told_of_changed_arguments() -> None:
    async def write(arguments: dict[str, Any]) -> str:
        return f"wrote {arguments['text']}"

    async def change(_: ApprovalRequest) -> Answer:
        return Answer(allowed=True, arguments={"text": "less"})

    calls = the_calls((a_tool("write", write, Risk.WRITE), {"text": "more"}), ask=change)
    events = await events_of(calls)
    (started,) = [event for event in events if isinstance(event, ToolStarted)]
    assert started.invocation.arguments == {"text": "less"}
    assert [part.content for part in told(calls)] == [
        '[The person changed the arguments. It ran with: {"text":"less"}]\nwrote less'
    ]


# Faults.


async def test_a_call_that_may_not_run_has_its_result_at_once() -> None:
    gate = Gate()
    parts = [ToolCallPart("c0", "gone"), ToolCallPart("c1", "cut")]
    bench = Workbench(ToolRegistry(), gate, Executor(gate))
    calls = Calls(bench, parts, [], {"c0": "there is no tool 'gone'"}, turn=1)
    assert await results_of(calls) == [
        "Error: not run: there is no tool 'gone'",
        "Error: not run: the call was not finished",
    ]


class Faulty(Executor):
    """Has a bug that shows in the first call."""

    async def run(self, ticket: Ticket, on_progress: Any = None) -> ToolResult:
        if ticket.invocation.id == "c0":
            raise RuntimeError("a bug")
        return await super().run(ticket, on_progress)


async def test_a_fault_is_the_result_of_its_call_alone() -> None:
    watched = Watched()
    tool = watched.tool("work")
    made = ((tool, {"text": name}) for name in ("a", "b"))
    assert await results_of(the_calls(*made, executor=Faulty)) == ["Error: it failed (RuntimeError)", "b"]


async def test_a_ticket_that_is_refused_is_a_result() -> None:
    watched = Watched()
    calls = the_calls((watched.tool("work"), {"text": "a"}), ticket_seconds=-1)
    assert await results_of(calls) == ["Error: not run: the approval of this call has expired"]
    assert watched.order == []


async def test_a_question_that_cancels_itself_is_a_no() -> None:
    watched = Watched()

    async def ask(request: ApprovalRequest) -> bool:
        if request.id == "c0":
            raise asyncio.CancelledError
        return True

    write = watched.tool("write", Risk.WRITE)
    results = await results_of(the_calls((write, {"text": "a"}), (write, {"text": "b"}), ask=ask))
    assert results[0].startswith("Error: not run: ")
    assert results[1] == "b"
    assert watched.order == ["b"]


# Progress.


class Telling(Executor):
    """Tells a number of things at once, before anybody can take one."""

    count = 0

    async def run(self, ticket: Ticket, on_progress: Any = None) -> ToolResult:
        for number in range(self.count):
            on_progress(str(number))
        return await super().run(ticket)


@pytest.mark.parametrize("count", [0, 1, PROGRESS_WAITING, PROGRESS_WAITING + 1, 100_000])
async def test_progress_that_nobody_takes_is_thinned(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Telling, "count", count)
    calls = the_calls((Watched().tool("work"), {"text": "a"}), executor=Telling)
    events = [event for event in await events_of(calls) if isinstance(event, ToolProgress)]
    kept = min(count, PROGRESS_WAITING)
    assert [event.text for event in events] == [str(number) for number in range(count - kept, count)]
    assert [event.missed for event in events] == [max(0, count - kept), *[0] * (kept - 1)][:kept]


async def test_a_chatty_tool_hides_nothing_that_happens_to_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever takes events more slowly than it tells sees what happens to another call before it has ended."""
    monkeypatch.setattr(reporting, "PAUSE", 0.001)
    heard = asyncio.Event()

    async def chat(_: dict[str, Any]) -> str:
        while not heard.is_set():
            this_call().report("…")
            await asyncio.sleep(0)
        return "chatted"

    async def ask(_: ApprovalRequest) -> bool:
        await asyncio.sleep(0.03)
        return True

    write = Watched().tool("write", Risk.WRITE)
    calls = the_calls((a_tool("chat", chat), {}), (write, {"text": "a"}), ask=ask)
    texts = 0
    async with asyncio.timeout(SECONDS), aclosing(calls.run()) as events:
        async for event in events:
            texts += isinstance(event, ToolProgress)
            if isinstance(event, ToolFinished) and event.id == "c1":
                heard.set()
            # Longer than the executor waits between two reports: there is always another one.
            await asyncio.sleep(0.005)
    assert texts
    assert [part.content for part in told(calls)] == ["chatted", "a"]
