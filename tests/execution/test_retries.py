"""Retries and kept results: only where a tool declares them."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest

from toolwire import Risk, ToolDefinition, ToolInvocation, tool
from toolwire.approval.audit import AuditRecord
from toolwire.approval.gate import Gate, Ticket
from toolwire.errors import IncompleteCall, TicketRefused
from toolwire.execution import executor as executor_module
from toolwire.execution import kept
from toolwire.execution.executor import Executor, ToolResult
from toolwire.tools.function import as_definition
from toolwire.tools.running import this_call


class Bench:
    """An executor with its trail, for tools of any kind."""

    def __init__(self, timeout: float = 5.0) -> None:
        self.records: list[AuditRecord] = []
        self.gate = Gate(audit=self.records.append)
        self.executor = Executor(self.gate, timeout=timeout)
        self.told: list[str] = []

    async def ticket(self, definition: ToolDefinition, arguments: dict[str, Any] | None = None) -> Ticket:
        decision = await self.gate.decide(ToolInvocation("c1", definition.name, arguments or {}), definition)
        assert isinstance(decision, Ticket)
        return decision

    async def run(self, definition: ToolDefinition, arguments: dict[str, Any] | None = None) -> ToolResult:
        return await self.executor.run(await self.ticket(definition, arguments), self.told.append)

    @property
    def outcomes(self) -> list[str]:
        return [record.outcome for record in self.records if record.event == "finished"]


def define(call: Callable[[dict[str, Any]], Any], **promises: Any) -> ToolDefinition:
    return ToolDefinition("f", "", {"type": "object"}, Risk.READ, call, **promises)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(executor_module, "FIRST_PAUSE", 0.01)
    monkeypatch.setattr(executor_module, "GRACE", 0.1)


class Flaky:
    """Fails a number of times, and spoils its arguments each time."""

    def __init__(self, failures: int, error: BaseException | None = None) -> None:
        self.failures = failures
        self.error = error or ConnectionResetError("reset by peer")
        self.ids: list[str] = []

    def __call__(self, arguments: dict[str, Any]) -> str:
        self.ids.append(this_call().id)
        n = arguments.pop("n")
        if len(self.ids) <= self.failures:
            raise self.error
        return f"got {n}"


@pytest.mark.parametrize(
    ("failures", "retries", "content", "tries"),
    [
        (0, 2, "got 7", 1),
        (1, 2, "got 7", 2),
        (2, 2, "got 7", 3),
        (3, 2, "Error: after 3 tries: reset by peer", 3),
        (1, 0, "Error: reset by peer", 1),
    ],
)
async def test_a_tool_is_tried_as_often_as_it_declares(failures: int, retries: int, content: str, tries: int) -> None:
    bench, flaky = Bench(), Flaky(failures)
    result = await bench.run(define(flaky, retries=retries), {"n": 7})
    assert result.content == content
    assert flaky.ids == ["c1"] * tries
    told = "\n".join(bench.told).split("\n") if bench.told else []
    assert told == [f"try {n} of {retries + 1} failed: reset by peer" for n in range(1, min(failures, retries) + 1)]
    assert [record.event for record in bench.records] == ["allowed", "started", "finished"]


@pytest.mark.parametrize(
    "error", [IncompleteCall("refused"), SystemExit(1), KeyboardInterrupt(), asyncio.CancelledError()]
)
async def test_what_another_try_cannot_mend_is_not_tried_again(error: BaseException) -> None:
    flaky = Flaky(1, error)
    assert (await Bench().run(define(flaky, retries=3), {"n": 1})).is_error
    assert len(flaky.ids) == 1


async def test_arguments_that_do_not_fit_are_not_tried_again() -> None:
    ran: list[int] = []

    @tool(risk="read", retries=3)
    def even(n: int) -> int:
        ran.append(n)
        return n

    result = await Bench().run(as_definition(even), {"n": "x"})
    assert "n: " in result.content
    assert ran == []


async def test_a_result_that_cannot_be_written_is_not_tried_again() -> None:
    ran: list[int] = []

    def call(arguments: dict[str, Any]) -> Any:
        ran.append(1)
        return {(1, 2): 3}

    assert (await Bench().run(define(call, retries=3))).is_error
    assert ran == [1]


async def test_each_try_has_the_arguments_that_were_approved() -> None:
    bench, flaky = Bench(), Flaky(1)
    ticket = await bench.ticket(define(flaky, retries=1), {"n": 7})

    def change(text: str) -> None:
        ticket.invocation.arguments["n"] = 8
        ticket.tool = define(lambda arguments: "another tool", retries=1)

    assert (await bench.executor.run(ticket, change)).content == "got 7"
    assert ticket.invocation.arguments == {"n": 8}


async def test_a_time_out_is_tried_again() -> None:
    tries: list[int] = []

    async def slow(arguments: dict[str, Any]) -> str:
        tries.append(1)
        await asyncio.sleep(30 if len(tries) < 3 else 0)
        return "at last"

    assert (await Bench(0.05).run(define(slow, retries=2))).content == "at last"
    tries.clear()
    bench = Bench(0.05)
    result = await bench.run(define(slow, retries=1))
    assert result.content == "Error: after 2 tries: no result within 0.05 seconds; it was stopped"
    assert bench.outcomes == ["timeout"]


async def test_a_call_that_still_runs_is_not_run_a_second_time_beside_itself() -> None:
    release = threading.Event()
    ran: list[int] = []

    def hang(arguments: dict[str, Any]) -> None:
        ran.append(1)
        release.wait(30)

    result = await Bench(0.05).run(define(hang, retries=3))
    release.set()
    assert result.outcome == "timeout (still running)"
    assert ran == [1]


async def test_cancelling_in_the_pause_ends_the_tries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(executor_module, "FIRST_PAUSE", 30.0)
    bench, flaky = Bench(), Flaky(9)
    run = asyncio.create_task(bench.run(define(flaky, retries=3), {"n": 1}))
    await asyncio.sleep(0.1)
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    assert (len(flaky.ids), bench.outcomes) == (1, ["cancelled"])


class Counter:
    def __init__(self) -> None:
        self.ran: list[dict[str, Any]] = []

    def __call__(self, arguments: dict[str, Any]) -> str:
        self.ran.append(arguments)
        if arguments.get("fail"):
            raise ValueError("failed")
        return f"run {len(self.ran)}"


async def test_a_kept_result_is_given_again_for_a_ticket_of_its_own() -> None:
    bench, counter = Bench(), Counter()
    definition = define(counter, cache=60.0)
    contents = [(await bench.run(definition, {"a": 1, "b": [2]})).content, (await bench.run(definition)).content]
    again = await bench.run(definition, {"b": [2], "a": 1})
    assert contents == ["run 1", "run 2"]
    assert (again.content, again.outcome, again.is_error) == ("run 1", "ok (kept result)", False)
    assert bench.outcomes == ["ok", "ok", "ok (kept result)"]
    ticket = await bench.ticket(definition, {"a": 1, "b": [2]})
    await bench.executor.run(ticket)
    with pytest.raises(TicketRefused):
        await bench.executor.run(ticket)
    assert len(counter.ran) == 2


async def test_only_what_is_the_same_is_given_again() -> None:
    bench, counter, other = Bench(), Counter(), Counter()
    definition = define(counter, cache=60.0)
    for arguments in ({"a": 1}, {"a": 1.0}, {"a": True}, {"a": "1"}, {"a": None}):
        await bench.run(definition, arguments)
    assert len(counter.ran) == 5
    await bench.run(define(other, cache=60.0), {"a": 1})
    assert len(other.ran) == 1
    await Bench().run(definition, {"a": 1})
    assert len(counter.ran) == 6


async def test_nothing_is_kept_that_was_not_declared_or_failed() -> None:
    bench, counter = Bench(), Counter()
    for _ in range(2):
        await bench.run(define(counter))
    failing = define(counter, cache=60.0)
    for _ in range(2):
        assert (await bench.run(failing, {"fail": True})).is_error
    assert len(counter.ran) == 4


async def test_a_kept_result_ends() -> None:
    bench, counter = Bench(), Counter()
    definition = define(counter, cache=0.1)
    await bench.run(definition)
    await asyncio.sleep(0.15)
    assert (await bench.run(definition)).content == "run 2"


async def test_few_results_are_kept() -> None:
    bench, counter = Bench(), Counter()
    definition = define(counter, cache=60.0)
    for n in range(kept.ENTRIES + 1):
        await bench.run(definition, {"n": n})
    assert (await bench.run(definition, {"n": 1})).outcome == "ok (kept result)"
    assert (await bench.run(definition, {"n": 0})).outcome == "ok"
    assert len(bench.executor._kept._entries) == kept.ENTRIES
