"""Progress: from a tool, in whatever thread, to whoever watches; bounded whatever the tool tells."""

from __future__ import annotations

import asyncio
import contextvars
import threading
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from toolwire import Risk, ToolDefinition, ToolInvocation
from toolwire.approval.gate import Gate, Ticket
from toolwire.approval.places import Workspace
from toolwire.errors import ConfigError
from toolwire.execution.executor import Executor, ToolResult
from toolwire.redaction import Redactor
from toolwire.tools.running import progress, this_call


async def watch(call: Any, told: list[str], gate: Gate | None = None, **promises: Any) -> ToolResult:
    gate = gate or Gate()
    definition = ToolDefinition("f", "", {}, Risk.READ, call, **promises)
    ticket = await gate.decide(ToolInvocation("c1", "f", {}), definition)
    assert isinstance(ticket, Ticket)
    return await Executor(gate).run(ticket, told.append)


def plain(arguments: dict[str, Any]) -> str:
    progress("one")
    progress("two")
    return "done"


async def asynchronous(arguments: dict[str, Any]) -> str:
    progress("one")
    await asyncio.sleep(0)
    progress("two")
    return "done"


async def in_other_threads(arguments: dict[str, Any]) -> str:
    def work() -> None:
        progress("one")
        threading.Thread(target=contextvars.copy_context().run, args=(progress, "two")).start()

    await asyncio.to_thread(work)
    await asyncio.sleep(0.1)
    return "done"


@pytest.mark.parametrize("call", [plain, asynchronous, in_other_threads])
async def test_what_a_tool_tells_is_told_before_its_result(call: Any) -> None:
    told: list[str] = []
    result = await watch(call, told)
    assert result.content == "done"
    assert "\n".join(told) == "one\ntwo"


async def test_progress_is_told_while_the_tool_works_and_on_the_loop() -> None:
    go_on = threading.Event()
    threads: list[str] = []

    def call(arguments: dict[str, Any]) -> bool:
        progress("half")
        return go_on.wait(30)

    def tell(text: str) -> None:
        threads.append(threading.current_thread().name)
        go_on.set()

    gate = Gate()
    ticket = await gate.decide(ToolInvocation("c1", "f", {}), ToolDefinition("f", "", {}, Risk.READ, call))
    assert isinstance(ticket, Ticket)
    assert (await Executor(gate).run(ticket, tell)).content == "true"
    assert threads == ["MainThread"]


def pieces(arguments: dict[str, Any]) -> Iterator[Any]:
    yield "a"
    yield "b"
    progress("note")
    yield "c"
    yield {"n": 1}


async def async_pieces(arguments: dict[str, Any]) -> AsyncIterator[Any]:
    for piece in pieces(arguments):
        yield piece


@pytest.mark.parametrize("call", [pieces, async_pieces])
async def test_pieces_are_told_as_they_come(call: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toolwire.execution.reporting.PAUSE", 60.0)
    told: list[str] = []
    result = await watch(call, told)
    assert result.content == 'abc\n{"n":1}\n'
    # The first report may come at any moment; what is not told then comes together at the end.
    whole = 'ab\nnote\nc\n{"n":1}\n'
    assert len(told) <= 2
    assert "".join(told).replace("\n", "") == whole.replace("\n", "")


MANY = 50_000


def flood(arguments: dict[str, Any]) -> str:
    for n in range(MANY):
        progress(f"{n} of {MANY}")
    return "done"


async def flood_on_the_loop(arguments: dict[str, Any]) -> str:
    return flood(arguments)


def flood_of_pieces(arguments: dict[str, Any]) -> Iterator[str]:
    for n in range(MANY):
        yield f"{n} of {MANY}"


async def async_flood_of_pieces(arguments: dict[str, Any]) -> AsyncIterator[str]:
    for n in range(MANY):
        yield f"{n} of {MANY}"


@pytest.mark.parametrize("call", [flood, flood_on_the_loop, flood_of_pieces, async_flood_of_pieces])
async def test_a_flood_is_thinned(call: Any) -> None:
    told: list[str] = []
    started = time.monotonic()
    result = await watch(call, told)
    assert not result.is_error
    assert len(told) <= 2 + (time.monotonic() - started) / 0.05
    assert max(len(text) for text in told) <= 10_100
    assert told[-1].endswith(f"{MANY - 1} of {MANY}")
    assert any(text.startswith("[… ") and " characters left out …]\n" in text for text in told)


@pytest.mark.parametrize(
    ("message", "text"),
    [
        ("x" * 20_000, "[… 10,000 characters left out …]\n" + "x" * 10_000),
        ({"done": 3}, '{"done":3}'),
        ("\ud800", "?"),
    ],
)
async def test_odd_messages(message: Any, text: str) -> None:
    told: list[str] = []
    await watch(lambda arguments: progress(message), told)
    assert told == [text]


async def test_our_own_keys_are_not_told() -> None:
    key = "sk-0123456789abcdefghijklmnop"
    told: list[str] = []

    async def call(arguments: dict[str, Any]) -> AsyncIterator[str]:
        progress(f"with {key}")
        yield key[:10]
        yield key[10:]

    gate = Gate()
    ticket = await gate.decide(ToolInvocation("c1", "f", {}), ToolDefinition("f", "", {}, Risk.READ, call))
    assert isinstance(ticket, Ticket)
    result = await Executor(gate, redactor=Redactor([key])).run(ticket, told.append)
    assert result.content == "***"
    assert "\n".join(told) == "with ***\n***"


async def test_a_watcher_that_fails_ends_the_reports_and_not_the_call() -> None:
    complaints: list[Any] = []
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: complaints.append(context["exception"]))

    def fail(text: str) -> None:
        raise RuntimeError(text)

    async def call(arguments: dict[str, Any]) -> str:
        progress("one")
        await asyncio.sleep(0.2)
        progress("two")
        return "done"

    gate = Gate()
    ticket = await gate.decide(ToolInvocation("c1", "f", {}), ToolDefinition("f", "", {}, Risk.READ, call))
    assert isinstance(ticket, Ticket)
    assert (await Executor(gate).run(ticket, fail)).content == "done"
    assert [str(each) for each in complaints] == ["one"]


async def test_nothing_is_told_after_the_result() -> None:
    told: list[str] = []
    calls: list[Any] = []

    async def call(arguments: dict[str, Any]) -> str:
        calls.append(this_call())
        return "done"

    await watch(call, told)
    calls[0].report("late")
    await asyncio.sleep(0.1)
    assert told == []


async def test_a_tool_knows_its_call(tmp_path: Path) -> None:
    gate = Gate(workspace=Workspace(tmp_path), environment={"PATH": "/bin"})
    seen: list[Any] = []
    await watch(lambda arguments: seen.append(this_call()), [], gate)
    (call,) = seen
    assert (call.id, call.tool, call.cwd, dict(call.environment)) == ("c1", "f", str(tmp_path), {"PATH": "/bin"})
    with pytest.raises(TypeError):
        call.environment["KEY"] = "secret"


def test_outside_of_a_tool_there_is_no_call() -> None:
    progress("to nobody")
    with pytest.raises(ConfigError, match="no tool runs here"):
        this_call()
