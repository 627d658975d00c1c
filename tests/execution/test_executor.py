"""The executor: one result per call, whatever the tool does."""

from __future__ import annotations

import asyncio
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from pydantic import BaseModel

from toolwire import Risk, ToolDefinition, ToolInvocation
from toolwire.approval.gate import Gate, Ticket
from toolwire.errors import TicketRefused
from toolwire.execution.executor import Executor, ToolResult, bounded, result_text

CALL = ToolInvocation("c1", "f", {})


async def execute(
    call: Callable[[dict[str, Any]], Any] | None, *, seconds: float = 5.0, arguments: dict[str, Any] | None = None
) -> ToolResult:
    gate = Gate()
    tool = ToolDefinition("f", "", {}, Risk.READ, call)
    invocation = ToolInvocation("c1", "f", arguments or {})
    decision = await gate.decide(invocation, tool)
    assert isinstance(decision, Ticket)
    return await Executor(gate, timeout=seconds).run(decision, invocation, tool)


class City(BaseModel):
    name: str


async def coroutine(arguments: dict[str, Any]) -> str:
    await asyncio.sleep(0)
    return f"async {arguments['n']}"


RESULTS: dict[str, tuple[Any, str | None]] = {
    "text": ("hello", "hello"),
    "nothing": (None, "Done; there is no output."),
    "empty": ("", "Done; there is no output."),
    "an empty list": ([], "[]"),
    "zero": (0, "0"),
    "false": (False, "false"),
    "JSON": ({"a": [1, "é"]}, '{"a":[1,"é"]}'),
    "bytes": (b"caf\xc3\xa9 \xff", "café �"),
    "a model": (City(name="Paris"), '{"name":"Paris"}'),
    "an object": (threading.Lock, None),
    "half a surrogate": ("a\ud800b", "a?b"),
}


@pytest.mark.parametrize("name", RESULTS)
async def test_what_a_tool_returns_becomes_text(name: str) -> None:
    value, text = RESULTS[name]
    result = await execute(lambda arguments: value)
    assert not result.is_error
    assert result.content.encode()
    if text is not None:
        assert result.content == text


def recurse(arguments: dict[str, Any]) -> Any:
    return recurse(arguments)


def raising(error: BaseException) -> Callable[[dict[str, Any]], Any]:
    def call(arguments: dict[str, Any]) -> Any:
        raise error

    return call


def async_raising(error: BaseException) -> Callable[[dict[str, Any]], Any]:
    async def call(arguments: dict[str, Any]) -> Any:
        raise error

    return call


class Broken:
    def __str__(self) -> str:
        raise ValueError("no text")


ERRORS: list[BaseException] = [
    ValueError("wrong city"),
    ValueError(),
    KeyError("x"),
    OSError(2, "No such file"),
    RuntimeError("boom"),
    TimeoutError("mine"),
    StopIteration(1),
    GeneratorExit(),
    SystemExit(3),
    KeyboardInterrupt(),
    MemoryError(),
    asyncio.CancelledError(),
    ExceptionGroup("many", [ValueError("a")]),
    BaseExceptionGroup("worse", [KeyboardInterrupt()]),
    UnicodeEncodeError("utf-8", "\ud800", 0, 1, "surrogates"),
]

MISBEHAVING: dict[str, Callable[[dict[str, Any]], Any]] = {
    **{f"raises {error!r}": raising(error) for error in ERRORS},
    **{
        f"async raises {error!r}": async_raising(error)
        for error in ERRORS
        if not isinstance(error, (SystemExit, KeyboardInterrupt, BaseExceptionGroup))
    },
    "recurses": recurse,
    "wants arguments": lambda arguments: arguments["missing"],
    "returns what has no text": lambda arguments: Broken(),
    "exits": lambda arguments: sys.exit("bye"),
}


@pytest.mark.parametrize("name", MISBEHAVING)
async def test_a_tool_that_misbehaves_has_exactly_one_result(name: str) -> None:
    result = await execute(MISBEHAVING[name])
    assert result.is_error
    assert result.content.startswith("Error: ")
    assert result.id == "c1"


async def test_the_words_of_an_error_reach_the_model() -> None:
    assert (await execute(raising(ValueError("wrong city")))).content == "Error: wrong city"
    assert (await execute(raising(RuntimeError("boom")))).content == "Error: RuntimeError: boom"


async def test_async_tools() -> None:
    assert (await execute(coroutine, arguments={"n": 5})).content == "async 5"


async def test_a_tool_that_hangs_is_given_up_and_the_loop_stays_alive() -> None:
    release = threading.Event()
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            ticks += 1
            await asyncio.sleep(0.01)

    ticking = asyncio.create_task(tick())
    result = await execute(lambda arguments: release.wait(30), seconds=0.2)
    ticking.cancel()
    release.set()
    assert result.is_error
    assert "within 0.2 seconds" in result.content
    assert ticks > 5


async def test_cancelling_the_run_cancels() -> None:
    release = threading.Event()
    task = asyncio.create_task(execute(lambda arguments: release.wait(30), seconds=30))
    await asyncio.sleep(0.05)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    release.set()


async def test_calls_run_beside_the_loop_not_on_it() -> None:
    names = []
    await execute(lambda arguments: names.append(threading.current_thread().name))
    assert names == ["toolwire-tool"]


async def test_a_declared_tool_cannot_run() -> None:
    with pytest.raises(TicketRefused, match="declared only"):
        await execute(None)


async def test_without_a_ticket_nothing_runs() -> None:
    ran: list[Any] = []
    tool = ToolDefinition("f", "", {}, Risk.READ, ran.append)
    with pytest.raises(TicketRefused):
        await Executor(Gate()).run(Ticket("c1", "forged"), CALL, tool)
    assert ran == []


async def test_floods_are_cut_and_say_so() -> None:
    result = await execute(lambda arguments: "x" * 1_000_000)
    assert len(result.content) < 101_000
    assert "900,000 characters cut" in result.content
    assert bounded("abc", 3) == "abc"


async def test_time_is_told() -> None:
    result = await execute(lambda arguments: time.sleep(0.05))
    assert 0.04 < result.seconds < 5


def test_text_of_values() -> None:
    assert result_text({"k": {1, 2}}) in ('{"k":[1,2]}', '{"k":[2,1]}')
