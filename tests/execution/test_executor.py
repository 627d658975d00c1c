"""The executor: a ticket in, exactly one result out, and how long that takes."""

from __future__ import annotations

import asyncio
import itertools
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import suppress
from copy import copy
from typing import Any

import pytest
from bench.trust.execution import cancels

from toolwire import Risk, ToolDefinition, ToolInvocation, tool
from toolwire.approval.audit import AuditRecord
from toolwire.approval.gate import Gate, Ticket
from toolwire.errors import TicketRefused
from toolwire.execution import executor as executor_module
from toolwire.execution.executor import Executor, ToolResult
from toolwire.tools.function import as_definition
from waiting import leap, until

CITY = {
    "type": "object",
    "properties": {
        "city": {"type": "string"},
        "days": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        "unit": {"enum": ["c", "f"]},
        "tags": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["city"],
    "additionalProperties": False,
}


class Trail:
    """An audit in memory, which can fail."""

    def __init__(self, failing: str = "") -> None:
        self.failing = failing
        self.records: list[AuditRecord] = []

    def __call__(self, record: AuditRecord) -> None:
        if record.event == self.failing:
            raise OSError(28, "No space left on device")
        self.records.append(record)

    @property
    def outcomes(self) -> list[str]:
        return [record.outcome for record in self.records if record.event == "finished"]


async def ticket_for(gate: Gate, definition: ToolDefinition, arguments: dict[str, Any] | None = None) -> Ticket:
    invocation = ToolInvocation("c1", definition.name, {} if arguments is None else arguments)
    decision = await gate.decide(invocation, definition)
    assert isinstance(decision, Ticket)
    return decision


async def execute(
    call: Callable[..., Any],
    arguments: dict[str, Any] | None = None,
    *,
    seconds: float = 5.0,
    audit: Trail | None = None,
    on_progress: Callable[[str], None] | None = None,
    **promises: Any,
) -> ToolResult:
    gate = Gate(audit=audit)
    definition = ToolDefinition("f", "", {"type": "object"}, Risk.READ, call, **promises)
    return await Executor(gate, timeout=seconds).run(await ticket_for(gate, definition, arguments), on_progress)


def plain(arguments: dict[str, Any]) -> str:
    return f"{arguments['n']} in {threading.current_thread().name}"


async def coroutine(arguments: dict[str, Any]) -> str:
    await asyncio.sleep(0)
    return f"{arguments['n']} in {threading.current_thread().name}"


def pieces(arguments: dict[str, Any]) -> Iterator[str]:
    yield f"{arguments['n']} in "
    yield threading.current_thread().name


async def async_pieces(arguments: dict[str, Any]) -> AsyncIterator[str]:
    yield f"{arguments['n']} in "
    await asyncio.sleep(0)
    yield threading.current_thread().name


class Callables:
    async def __call__(self, arguments: dict[str, Any]) -> str:
        return await coroutine(arguments)


@pytest.mark.parametrize(
    ("call", "thread"),
    [
        (plain, "toolwire-tool f"),
        (pieces, "toolwire-tool f"),
        (coroutine, "MainThread"),
        (async_pieces, "MainThread"),
        (Callables(), "MainThread"),
        (lambda arguments: coroutine(arguments), "MainThread"),
        (lambda arguments: async_pieces(arguments), "MainThread"),
    ],
)
async def test_functions_run_where_they_belong(call: Any, thread: str) -> None:
    trail = Trail()
    result = await execute(call, {"n": 5}, audit=trail)
    assert (result.content, result.outcome, result.is_error) == (f"5 in {thread}", "ok", False)
    assert [record.event for record in trail.records] == ["allowed", "started", "finished"]
    assert trail.outcomes == ["ok"]


async def test_decorated_functions_run_where_they_belong() -> None:
    threads: list[str] = []

    @tool(risk="read")
    async def look(days: int) -> str:
        threads.append(threading.current_thread().name)
        return f"{days} days"

    @tool(risk="read")
    def count(to: int) -> Iterator[int]:
        threads.append(threading.current_thread().name)
        yield from range(to)

    gate = Gate()
    runs = Executor(gate)
    first = await runs.run(await ticket_for(gate, as_definition(look), {"days": 3}))
    second = await runs.run(await ticket_for(gate, as_definition(count), {"to": 3}))
    assert (first.content, second.content) == ("3 days", "0\n1\n2\n")
    assert threads == ["MainThread", "toolwire-tool count"]


async def test_arguments_are_checked_before_the_function_sees_them() -> None:
    ran: list[Any] = []
    trail = Trail()
    gate = Gate(audit=trail)
    definition = ToolDefinition("f", "", CITY, Risk.READ, ran.append)
    result = await Executor(gate).run(await ticket_for(gate, definition, {"days": "x"}))
    assert ran == []
    assert result.is_error
    assert "city: required, but missing" in result.content
    assert result.content.endswith(
        'It takes city (string, required), days (integer or null), unit ("c" | "f"), tags (array of string).'
    )
    assert trail.outcomes == ["error"]
    nothing = ToolDefinition("g", "", {"type": "object", "additionalProperties": False}, Risk.READ, ran.append)
    result = await Executor(gate).run(await ticket_for(gate, nothing, {"a": 1}))
    assert result.content.endswith("It takes no arguments.")


async def test_a_schema_that_is_none_is_told_and_nothing_runs() -> None:
    ran: list[Any] = []
    gate = Gate()
    definition = ToolDefinition("f", "", {"type": "object", "properties": {"a": {"type": 3}}}, Risk.READ, ran.append)
    result = await Executor(gate).run(await ticket_for(gate, definition))
    assert result.content.startswith("Error: not run: the parameters of tool 'f' are not a usable JSON Schema")
    assert ran == []


async def test_a_huge_schema_is_told_in_short() -> None:
    properties = {f"argument-{n}" * 10: {"enum": ["x" * 1000] * 10} for n in range(1000)}
    gate = Gate()
    definition = ToolDefinition("f", "", {"type": "object", "properties": properties}, Risk.READ, print)
    result = await Executor(gate).run(await ticket_for(gate, definition, {next(iter(properties)): 1}))
    assert result.is_error
    assert len(result.content) < 5_000


async def test_a_tool_works_on_its_own_copy_of_the_arguments() -> None:
    def spoil(arguments: dict[str, Any]) -> str:
        arguments["list"].append(4)
        arguments.clear()
        return "done"

    given = {"list": [1, 2, 3]}
    gate = Gate()
    definition = ToolDefinition("f", "", {"type": "object"}, Risk.READ, spoil)
    ticket = await ticket_for(gate, definition, given)
    assert (await Executor(gate).run(ticket)).content == "done"
    assert given == ticket.invocation.arguments == {"list": [1, 2, 3]}


async def test_a_declared_tool_cannot_run_and_is_not_said_to_have_started() -> None:
    trail = Trail()
    gate = Gate(audit=trail)
    ticket = await ticket_for(gate, ToolDefinition("f", "", {}, Risk.READ))
    with pytest.raises(TicketRefused, match="declared only"):
        await Executor(gate).run(ticket)
    assert [record.event for record in trail.records] == ["allowed"]


async def test_without_a_good_ticket_nothing_runs() -> None:
    ran: list[Any] = []
    gate = Gate()
    definition = ToolDefinition("f", "", {}, Risk.READ, ran.append)
    good = await ticket_for(gate, definition)
    with pytest.raises(TicketRefused):
        await Executor(gate).run(copy(good))
    with pytest.raises(TicketRefused):
        await Executor(Gate()).run(good)
    assert ran == []
    await Executor(gate).run(good)
    with pytest.raises(TicketRefused):
        await Executor(gate).run(good)
    assert len(ran) == 1


async def test_nothing_runs_that_cannot_be_written_down_as_started() -> None:
    ran: list[Any] = []
    with pytest.raises(OSError, match="No space"):
        await execute(ran.append, audit=Trail("started"))
    assert ran == []


async def test_a_result_is_not_lost_when_its_end_cannot_be_written_down() -> None:
    result = await execute(lambda arguments: "precious", audit=Trail("finished"))
    assert (result.content, result.outcome) == ("precious", "ok")
    assert "audit trail" in result.note
    assert "No space left" in result.note


async def test_a_function_that_hangs_is_given_up_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(executor_module, "GRACE", 60.0)
    release = threading.Event()
    trail = Trail()
    started = time.monotonic()
    result = await execute(lambda arguments: release.wait(30), seconds=0.2, audit=trail)
    release.set()
    assert result.content == "Error: no result within 0.2 seconds; it could not be stopped and may still be running"
    assert trail.outcomes == [result.outcome] == ["timeout (still running)"]
    assert 0.2 <= result.seconds <= time.monotonic() - started < 10


async def test_a_coroutine_that_hangs_is_stopped() -> None:
    cleaned: list[str] = []

    async def hang(arguments: dict[str, Any]) -> None:
        asyncio.get_running_loop().call_soon(leap, 5)
        try:
            await asyncio.sleep(30)
        finally:
            await asyncio.sleep(0.05)
            cleaned.append("up")

    result = await execute(hang, seconds=5)
    assert result.content == "Error: no result within 5 seconds; it was stopped"
    assert (result.outcome, cleaned) == ("timeout", ["up"])


async def test_a_tool_that_raises_a_time_out_of_its_own_has_not_timed_out() -> None:
    async def impatient(arguments: dict[str, Any]) -> None:
        async with asyncio.timeout(0.01):
            await asyncio.sleep(30)

    result = await execute(impatient)
    assert (result.content, result.outcome) == ("Error: TimeoutError", "error")


async def test_a_tool_has_the_time_that_it_asks_for() -> None:
    result = await execute(lambda arguments: time.sleep(0.3), seconds=0.05, timeout=10.0)
    assert result.outcome == "ok"
    assert 0.3 <= result.seconds < 10


def slow_pieces(closed: list[str]) -> Callable[[dict[str, Any]], Iterator[str]]:
    def call(arguments: dict[str, Any]) -> Iterator[str]:
        try:
            for n in range(10_000):
                yield f"{n} "
                time.sleep(0.01)
        finally:
            closed.append("closed")

    return call


def slow_async_pieces(closed: list[str]) -> Callable[[dict[str, Any]], AsyncIterator[str]]:
    async def call(arguments: dict[str, Any]) -> AsyncIterator[str]:
        try:
            for n in range(10_000):
                yield f"{n} "
                await asyncio.sleep(0.01)
        finally:
            await asyncio.sleep(0.01)
            closed.append("closed")

    return call


def busy_async_pieces(closed: list[str]) -> Callable[[dict[str, Any]], AsyncIterator[str]]:
    async def call(arguments: dict[str, Any]) -> AsyncIterator[str]:
        try:
            for n in itertools.count():
                yield f"{n} "
        finally:
            await asyncio.sleep(0.01)
            closed.append("closed")

    return call


GENERATORS = [slow_pieces, slow_async_pieces, busy_async_pieces]


@pytest.mark.parametrize("generator", GENERATORS)
async def test_a_generator_that_takes_too_long_is_closed_and_its_output_is_not_lost(generator: Any) -> None:
    closed: list[str] = []
    told = ""

    def watch(text: str) -> None:
        nonlocal told
        before, told = told, told + text
        if "2 " in told and "2 " not in before:
            leap(5)

    result = await execute(generator(closed), seconds=5, on_progress=watch)
    assert closed == ["closed"]
    assert result.outcome == "timeout"
    words, _, output = result.content.partition("\nIts output until then:\n")
    assert words == "Error: no result within 5 seconds; it was stopped"
    assert output.startswith("0 1 2 ")


@pytest.mark.parametrize("generator", GENERATORS)
async def test_a_generator_is_closed_when_its_call_is_cancelled(generator: Any) -> None:
    closed: list[str] = []
    trail = Trail()
    begun = asyncio.Event()
    run = asyncio.create_task(execute(generator(closed), seconds=60, audit=trail, on_progress=lambda _: begun.set()))
    await asyncio.wait_for(begun.wait(), 10)
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    assert closed == ["closed"]
    assert trail.outcomes == ["cancelled"]


async def test_cancelling_ends_the_tool_before_it_is_told() -> None:
    events: list[str] = []
    begun = asyncio.Event()

    async def work(arguments: dict[str, Any]) -> None:
        begun.set()
        try:
            await asyncio.sleep(30)
        except asyncio.CancelledError:
            await asyncio.sleep(0.1)
            events.append("tool ended")
            raise

    run = asyncio.create_task(execute(work, seconds=60))
    await asyncio.wait_for(begun.wait(), 10)
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    assert events == ["tool ended"]


async def test_a_second_cancel_ends_the_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(executor_module, "GRACE", 60.0)
    waits: asyncio.Queue[None] = asyncio.Queue()

    async def stubborn(arguments: dict[str, Any]) -> None:
        for _ in range(2):
            waits.put_nowait(None)
            try:
                await asyncio.sleep(30)
            except asyncio.CancelledError:
                continue

    trail = Trail()
    run = asyncio.create_task(execute(stubborn, seconds=60, audit=trail))
    started = time.monotonic()
    for _ in range(2):
        await asyncio.wait_for(waits.get(), 10)
        run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    assert time.monotonic() - started < 10
    assert trail.outcomes == ["cancelled (still running)"]


async def test_cancelling_a_function_in_a_thread_does_not_wait_for_it() -> None:
    begun, release = threading.Event(), threading.Event()
    trail = Trail()

    def wait(arguments: dict[str, Any]) -> None:
        begun.set()
        release.wait(30)

    run = asyncio.create_task(execute(wait, seconds=60, audit=trail))
    assert await asyncio.to_thread(begun.wait, 10)
    started = time.monotonic()
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    release.set()
    assert time.monotonic() - started < 10
    assert trail.outcomes == ["cancelled (still running)"]


async def test_a_cancelled_call_whose_end_cannot_be_written_down_says_so() -> None:
    begun = asyncio.Event()

    async def work(arguments: dict[str, Any]) -> None:
        begun.set()
        await asyncio.sleep(30)

    run = asyncio.create_task(execute(work, seconds=60, audit=Trail("finished")))
    await asyncio.wait_for(begun.wait(), 10)
    run.cancel()
    with pytest.raises(asyncio.CancelledError) as caught:
        await run
    assert "audit trail" in caught.value.__notes__[0]


async def test_calls_that_were_given_up_are_counted_and_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(executor_module, "GIVEN_UP", 3)
    release = threading.Event()
    gate = Gate()
    runs = Executor(gate, timeout=0.02)
    definition = ToolDefinition("f", "", {}, Risk.READ, lambda arguments: release.wait(30))
    patient = ToolDefinition("f", "", {}, Risk.READ, definition.call, timeout=30)
    for _ in range(3):
        assert (await runs.run(await ticket_for(gate, definition))).outcome == "timeout (still running)"
    full = await runs.run(await ticket_for(gate, definition))
    assert full.content == "Error: not run: 3 calls that were given up are still running"
    release.set()
    assert await asyncio.to_thread(until, lambda: not runs._given_up)
    assert (await runs.run(await ticket_for(gate, patient))).content == "true"


def test_what_was_given_up_on_a_loop_that_is_gone_counts_while_its_thread_lives(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(executor_module, "GIVEN_UP", 2)
    monkeypatch.setattr(executor_module, "GRACE", 0.02)
    release = threading.Event()
    gate = Gate()
    runs = Executor(gate, timeout=0.02)

    async def swallow(arguments: dict[str, Any]) -> None:
        while True:
            with suppress(asyncio.CancelledError):
                await asyncio.sleep(0.01)

    async def run(call: Callable[[dict[str, Any]], Any], seconds: float | None = None) -> str:
        definition = ToolDefinition("f", "", {}, Risk.READ, call, timeout=seconds)
        return (await runs.run(await ticket_for(gate, definition))).outcome

    def wait(arguments: dict[str, Any]) -> bool:
        return release.wait(30)

    calls = [swallow, wait, wait]
    assert [asyncio.run(run(call)) for call in calls] == ["timeout (still running)"] * 3
    assert asyncio.run(run(wait)) == "error"
    release.set()
    assert until(lambda: all(thread.name != "toolwire-tool f" for thread in threading.enumerate()))
    assert asyncio.run(run(wait, 30)) == "ok"


NEVER_ENDS = """
import asyncio, time
from toolwire import Risk, ToolDefinition, ToolInvocation
from toolwire.approval.gate import Gate
from toolwire.execution import executor

async def swallow(arguments):
    while True:
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            pass

def hang(arguments):
    time.sleep(3600)

async def main():
    executor.GRACE = 0.1
    gate = Gate()
    for call in (swallow, hang):
        tool = ToolDefinition("f", "", {}, Risk.READ, call)
        ticket = await gate.decide(ToolInvocation("c1", "f", {}), tool)
        print((await executor.Executor(gate, timeout=0.1).run(ticket)).outcome)

asyncio.run(main())
"""


def test_the_program_ends_although_tools_do_not() -> None:
    ended = subprocess.run([sys.executable, "-c", NEVER_ENDS], capture_output=True, text=True, timeout=60, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout == "timeout (still running)\n" * 2


def test_calls_cancelled_at_any_moment_end_once_and_leave_nothing() -> None:
    found = cancels(100, 7)
    assert not found.faults
    assert found.runs == 100
