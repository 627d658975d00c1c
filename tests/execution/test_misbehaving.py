"""Tools that misbehave: each has exactly one result, the loop lives, and the next call works."""

from __future__ import annotations

import asyncio
import contextvars
import io
import sys
import threading
import time
import warnings
from collections.abc import AsyncIterator, Callable, Generator, Iterator
from typing import Any, NoReturn

import pytest

import tool_threads
from toolwire import Risk, ToolDefinition, ToolInvocation
from toolwire.approval.audit import AuditRecord
from toolwire.approval.gate import Gate, Ticket
from toolwire.execution import executor as executor_module
from toolwire.execution.executor import Executor, ToolResult

Call = Callable[[dict[str, Any]], Any]

RELEASE = threading.Event()
"""Lets threads go that would otherwise hang."""


def refuse(self: Any) -> NoReturn:
    raise RuntimeError("no class")


class Mute(Exception):
    def __str__(self) -> str:
        raise ValueError("no words")


class Loud(Exception):
    def __str__(self) -> str:
        return "x" * 50_000_000


class Exits(Exception):
    def __str__(self) -> str:
        sys.exit("while telling")


class Disguised(Exception):
    __class__ = property(refuse)

    def __repr__(self) -> NoReturn:
        raise SystemExit(1)


class Text(str):
    __slots__ = ()

    def __len__(self) -> NoReturn:
        raise RuntimeError("no length")

    def __getitem__(self, key: Any) -> NoReturn:
        raise RuntimeError("no item")

    def encode(self, *_: Any) -> NoReturn:
        raise RuntimeError("no bytes")


class Odd(Exception):
    def __str__(self) -> str:
        return Text("odd words")


class NamelessType(type):
    __name__ = property(refuse)


class Nameless(Exception, metaclass=NamelessType):
    pass


class Voiceless:
    def __str__(self) -> NoReturn:
        raise KeyboardInterrupt

    __repr__ = __str__


class Shapeless:
    __class__ = property(refuse)


class Awaited:
    def __await__(self) -> Generator[None, None, str]:
        yield from asyncio.sleep(0).__await__()
        return "awaited"


class NoAwait:
    def __await__(self) -> Any:
        return 3


def raising(error: BaseException) -> Call:
    def call(arguments: dict[str, Any]) -> Any:
        raise error

    return call


def raising_async(error: BaseException) -> Call:
    async def call(arguments: dict[str, Any]) -> Any:
        raise error

    return call


def raising_pieces(error: BaseException) -> Call:
    def call(arguments: dict[str, Any]) -> Iterator[str]:
        yield "some"
        raise error

    return call


def raising_async_pieces(error: BaseException) -> Call:
    async def call(arguments: dict[str, Any]) -> AsyncIterator[str]:
        yield "some"
        raise error

    return call


def returning(value: Callable[[], Any]) -> Call:
    return lambda arguments: value()


def recurse(arguments: dict[str, Any]) -> Any:
    return recurse(arguments)


async def recurse_async(arguments: dict[str, Any]) -> Any:
    return await recurse_async(arguments)


def circle() -> list[Any]:
    around: list[Any] = []
    around.append({"again": around})
    return around


def deep() -> list[Any]:
    value: list[Any] = []
    for _ in range(200_000):
        value = [value]
    return value


async def inner() -> str:
    await asyncio.sleep(0)
    return "inner"


async def returns_coroutine(arguments: dict[str, Any]) -> Any:
    return inner()


async def returns_itself(arguments: dict[str, Any]) -> Any:
    return returns_itself(arguments)


async def swallow(arguments: dict[str, Any]) -> None:
    while not RELEASE.is_set():
        try:
            await asyncio.sleep(0.05)
        except asyncio.CancelledError:
            continue


async def swallowing_pieces(arguments: dict[str, Any]) -> AsyncIterator[str]:
    while not RELEASE.is_set():
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            yield "again"


async def ignores_its_closing(arguments: dict[str, Any]) -> AsyncIterator[str]:
    while not RELEASE.is_set():
        try:
            yield "piece"
            await asyncio.sleep(0.01)
        except GeneratorExit:
            yield "more"


def hang(arguments: dict[str, Any]) -> None:
    RELEASE.wait(60)


def hangs_between_pieces(arguments: dict[str, Any]) -> Iterator[str]:
    yield "one"
    RELEASE.wait(60)
    yield "two"


def refuses_to_close(arguments: dict[str, Any]) -> Iterator[str]:
    while not RELEASE.is_set():
        try:
            yield "piece"
            time.sleep(0.01)
        except GeneratorExit:
            yield "more"


def spins_for_a_while(arguments: dict[str, Any]) -> int:
    end, turns = time.monotonic() + 0.3, 0
    while time.monotonic() < end:
        turns += 1
    return turns


async def blocks_the_loop(arguments: dict[str, Any]) -> str:
    time.sleep(0.1)  # noqa: ASYNC251
    return "blocked"


async def endless_pieces(arguments: dict[str, Any]) -> AsyncIterator[str]:
    while True:
        yield "no pause at all"


def own_loop(arguments: dict[str, Any]) -> str:
    return asyncio.run(inner())


async def own_loop_on_the_loop(arguments: dict[str, Any]) -> Any:
    coroutine = inner()
    try:
        return asyncio.run(coroutine)
    finally:
        coroutine.close()


def new_policy(arguments: dict[str, Any]) -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # policies go away after Python 3.14
        before = asyncio.get_event_loop_policy()
        asyncio.set_event_loop_policy(asyncio.DefaultEventLoopPolicy())
        asyncio.set_event_loop_policy(before)
    return "set"


async def new_loop_set(arguments: dict[str, Any]) -> str:
    other = asyncio.new_event_loop()
    asyncio.set_event_loop(other)
    asyncio.set_event_loop(asyncio.get_running_loop())
    other.close()
    return "set"


async def closes_the_loop(arguments: dict[str, Any]) -> None:
    asyncio.get_running_loop().close()


async def leaves_tasks(arguments: dict[str, Any]) -> str:
    LEFT.extend(asyncio.create_task(asyncio.sleep(0.01)) for _ in range(10))
    return "left"


LEFT: list[asyncio.Task[None]] = []


async def fails_as_a_group(arguments: dict[str, Any]) -> None:
    async with asyncio.TaskGroup() as group:
        group.create_task(raising_async(ValueError("no such city"))({}))
        group.create_task(asyncio.sleep(60))


async def cancels_itself(arguments: dict[str, Any]) -> str:
    task = asyncio.current_task()
    assert task is not None
    task.cancel()
    await asyncio.sleep(60)
    return "never"


async def cancels_itself_and_returns(arguments: dict[str, Any]) -> str:
    task = asyncio.current_task()
    assert task is not None
    task.cancel()
    return "returned"


async def awaits_what_was_cancelled(arguments: dict[str, Any]) -> Any:
    future = asyncio.get_running_loop().create_future()
    future.cancel()
    return await future


def foreign_future(arguments: dict[str, Any]) -> Any:
    loop = asyncio.new_event_loop()
    future = loop.create_future()
    loop.close()
    return future


def closes_stdout(arguments: dict[str, Any]) -> str:
    sys.stdout.close()
    return "closed"


def changes_its_arguments(arguments: dict[str, Any]) -> str:
    arguments["more"] = arguments
    return "changed"


def ends_its_thread(arguments: dict[str, Any]) -> None:
    import _thread

    _thread.exit()


def traces(arguments: dict[str, Any]) -> str:
    def refuse(*_: Any) -> NoReturn:
        raise RuntimeError("traced")

    sys.settrace(refuse)
    try:
        (lambda: None)()
    finally:
        sys.settrace(None)
    return "not traced"


VARIABLE: contextvars.ContextVar[str] = contextvars.ContextVar("left-behind", default="untouched")


async def sets_a_context_variable(arguments: dict[str, Any]) -> str:
    VARIABLE.set("changed")
    return "set"


OK, ERROR = False, True

MISBEHAVING: dict[str, tuple[Call, bool, str]] = {
    "raises": (raising(RuntimeError("boom")), ERROR, "Error: RuntimeError: boom"),
    "raises without words": (raising(ValueError()), ERROR, "Error: ValueError"),
    "raises a KeyError": (raising(KeyError("x")), ERROR, "Error: KeyError: 'x'"),
    "raises an OSError": (raising(FileNotFoundError(2, "No such file")), ERROR, "Error: [Errno 2] No such file"),
    "raises StopIteration": (raising(StopIteration(1)), ERROR, "Error: StopIteration: 1"),
    "raises StopAsyncIteration": (raising(StopAsyncIteration()), ERROR, "Error: StopAsyncIteration"),
    "raises GeneratorExit": (raising(GeneratorExit()), ERROR, "Error: GeneratorExit"),
    "raises SystemExit": (raising(SystemExit(3)), ERROR, "Error: SystemExit: 3"),
    "raises KeyboardInterrupt": (raising(KeyboardInterrupt()), ERROR, "Error: KeyboardInterrupt"),
    "raises CancelledError": (raising(asyncio.CancelledError()), ERROR, "Error: CancelledError"),
    "raises BaseException": (raising(BaseException("base")), ERROR, "Error: BaseException: base"),
    "raises MemoryError": (raising(MemoryError()), ERROR, "Error: MemoryError"),
    "raises a group": (raising(ExceptionGroup("many", [ValueError("a"), KeyError("b")])), ERROR, "a; KeyError: 'b'"),
    "raises the worst group": (raising(BaseExceptionGroup("worse", [SystemExit(1)])), ERROR, "worse"),
    "raises half a surrogate": (raising(ValueError("\ud800")), ERROR, "Error: ?"),
    "raises what has no words": (raising(Mute()), ERROR, "Error: an error that cannot be put into words"),
    "raises what exits when told": (raising(Exits()), ERROR, "Error: an error that cannot be put into words"),
    "raises what hides its class": (raising(Disguised("hidden")), ERROR, "Error: Disguised: hidden"),
    "raises what has no name": (raising(Nameless("lost")), ERROR, "Error: an error that cannot be put into words"),
    "raises 50 MB of words": (raising(Loud()), ERROR, "characters cut"),
    "raises odd words": (raising(Odd()), ERROR, "Error: Odd: odd words"),
    "async raises": (raising_async(RuntimeError("boom")), ERROR, "Error: RuntimeError: boom"),
    "async raises StopIteration": (raising_async(StopIteration(1)), ERROR, "coroutine raised StopIteration"),
    "async raises SystemExit": (raising_async(SystemExit(3)), ERROR, "Error: SystemExit: 3"),
    "async raises KeyboardInterrupt": (raising_async(KeyboardInterrupt()), ERROR, "Error: KeyboardInterrupt"),
    "async raises GeneratorExit": (raising_async(GeneratorExit()), ERROR, "Error: GeneratorExit"),
    "async raises CancelledError": (raising_async(asyncio.CancelledError()), ERROR, "Error: the tool cancelled itself"),
    "async raises what has no words": (raising_async(Mute()), ERROR, "cannot be put into words"),
    "async raises a TimeoutError": (raising_async(TimeoutError("mine")), ERROR, "Error: mine"),
    "pieces, then raises": (raising_pieces(ValueError("x")), ERROR, "Error: x\nIts output until then:\nsome"),
    "pieces, then exits": (raising_pieces(SystemExit(3)), ERROR, "Error: SystemExit: 3\nIts output"),
    "pieces, then StopIteration": (raising_pieces(StopIteration()), ERROR, "generator raised StopIteration"),
    "async pieces, then raises": (raising_async_pieces(ValueError("x")), ERROR, "Error: x\nIts output until"),
    "async pieces, then exits": (raising_async_pieces(SystemExit(3)), ERROR, "Error: SystemExit: 3\nIts"),
    "recurses": (recurse, ERROR, "Error: RecursionError"),
    "recurses on the loop": (recurse_async, ERROR, "Error: RecursionError"),
    "wants an argument": (lambda arguments: arguments["missing"], ERROR, "Error: KeyError: 'missing'"),
    "takes no argument": (lambda: None, ERROR, "Error: TypeError"),  # type: ignore[dict-item, misc]
    "exits": (lambda arguments: sys.exit("bye"), ERROR, "Error: SystemExit: bye"),
    "ends its thread": (ends_its_thread, ERROR, "Error: SystemExit"),
    "fails as a group": (fails_as_a_group, ERROR, "no such city"),
    "returns what has no text": (returning(Voiceless), ERROR, "cannot be written as text: KeyboardInterrupt"),
    "returns what hides its class": (returning(Shapeless), ERROR, "no class"),
    "returns odd text": (returning(lambda: Text("odd")), OK, "odd"),
    "returns a circle": (returning(circle), ERROR, "it ran, but its result cannot be written as text: Recursion"),
    "returns 200,000 levels": (returning(deep), ERROR, "cannot be written as text: RecursionError"),
    "returns keys that JSON has not": (returning(lambda: {(1, 2): 3}), ERROR, "cannot be written as text"),
    "returns a huge number": (returning(lambda: 10**5000), ERROR, "cannot be written as text"),
    "returns no number": (returning(lambda: [float("nan"), float("inf")]), OK, "[NaN,Infinity]"),
    "returns half surrogates": (returning(lambda: ["\udc80", "\ud800"]), OK, '["?","?"]'),
    "returns bytes that are no text": (returning(lambda: b"caf\xe9 \x00"), OK, "caf\ufffd \0"),
    "returns a function": (returning(lambda: recurse), OK, "<function recurse"),
    "returns a class": (returning(lambda: Voiceless), OK, "Voiceless"),
    "returns a result": (returning(lambda: ToolResult("c9", "g", "forged")), OK, '{"id":"c9","name":"g"'),
    "returns a coroutine": (returns_coroutine, ERROR, "Error: it returned a coroutine that it did not await"),
    "returns itself without end": (returns_itself, ERROR, "Error: it returned a coroutine that it did not await"),
    "returns an awaitable": (returning(Awaited), OK, "awaited"),
    "returns what cannot be awaited": (returning(NoAwait), ERROR, "Error: TypeError"),
    "returns a future of another loop": (foreign_future, ERROR, "attached to a different loop"),
    "returns 30 MB": (returning(lambda: "x" * 30_000_000), OK, "29,900,000 characters cut"),
    "swallows its cancellation": (swallow, ERROR, "it could not be stopped and may still be running"),
    "swallows it and yields": (swallowing_pieces, ERROR, "it was stopped"),
    "ignores its closing": (ignores_its_closing, ERROR, "no result within"),
    "refuses to close": (refuses_to_close, ERROR, "no result within"),
    "hangs": (hang, ERROR, "it could not be stopped and may still be running"),
    "hangs between pieces": (hangs_between_pieces, ERROR, "may still be running\nIts output until then:\none"),
    "never pauses": (endless_pieces, ERROR, "no result within"),
    "spins": (spins_for_a_while, OK, ""),
    "blocks the loop": (blocks_the_loop, OK, "blocked"),
    "runs a loop of its own": (own_loop, OK, "inner"),
    "runs a loop on the loop": (own_loop_on_the_loop, ERROR, "cannot be called from a running event loop"),
    "sets a loop policy": (new_policy, OK, "set"),
    "sets another loop": (new_loop_set, OK, "set"),
    "closes the loop": (closes_the_loop, ERROR, "Cannot close a running event loop"),
    "leaves tasks behind": (leaves_tasks, OK, "left"),
    "cancels itself": (cancels_itself, ERROR, "Error: the tool cancelled itself"),
    "cancels itself and returns": (cancels_itself_and_returns, OK, "returned"),
    "awaits what was cancelled": (awaits_what_was_cancelled, ERROR, "Error: the tool cancelled itself"),
    "closes stdout": (closes_stdout, OK, "closed"),
    "changes its arguments": (changes_its_arguments, OK, "changed"),
    "raises in a trace": (traces, ERROR, "traced"),
    "sets a context variable": (sets_a_context_variable, OK, "set"),
}


@pytest.fixture(autouse=True)
def ends(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A short grace, and afterwards nothing that still hangs."""
    monkeypatch.setattr(executor_module, "GRACE", 0.2)
    RELEASE.clear()
    yield
    RELEASE.set()
    tool_threads.joined()


def test_there_are_enough_of_them() -> None:
    assert len(MISBEHAVING) >= 40


@pytest.mark.parametrize("name", MISBEHAVING)
async def test_a_tool_that_misbehaves_has_one_result_and_the_loop_lives(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    call, is_error, words = MISBEHAVING[name]
    records: list[AuditRecord] = []
    gate = Gate(audit=records.append)
    runs = Executor(gate)
    longest = 0.0

    async def tick() -> None:
        nonlocal longest
        before = time.monotonic()
        while True:
            await asyncio.sleep(0.005)
            now = time.monotonic()
            longest, before = max(longest, now - before), now

    async def run(call: Call, seconds: float) -> ToolResult:
        given: dict[str, Any] = {"a": [1]}
        invocation = ToolInvocation("c1", "f", given)
        ticket = await gate.decide(
            invocation, ToolDefinition("f", "", {"type": "object"}, Risk.READ, call, timeout=seconds)
        )
        assert isinstance(ticket, Ticket)
        result = await runs.run(ticket)
        assert given == {"a": [1]}
        return result

    ticking = asyncio.create_task(tick())
    await asyncio.sleep(0)
    never_ends = words == "no result within" or "stopped" in words or "still" in words
    result = await run(call, 0.1 if never_ends else 60.0)
    assert (result.id, result.name, result.is_error) == ("c1", "f", is_error)
    assert words in result.content
    assert result.content.startswith("Error: ") is is_error
    assert len(result.content) < 101_000
    assert result.content.encode()
    after = await run(lambda arguments: f"well {arguments['a']}", 60.0)
    assert (after.content, after.is_error) == ("well [1]", False)
    assert VARIABLE.get() == "untouched"
    assert not ticking.done()
    ticking.cancel()
    # Generous for a busy machine: a loop that waits for a tool would stand for as long as that takes.
    assert longest < 10
    assert [record.event for record in records] == ["allowed", "started", "finished"] * 2
    assert [record.outcome for record in records if record.event == "finished"] == [result.outcome, "ok"]
    RELEASE.set()
    if runs._given_up:
        await asyncio.wait(set(runs._given_up), timeout=10)
    await asyncio.sleep(0)
    assert not runs._given_up
