"""What a server may send, and what of it goes on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import anyio
import pytest
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCError, JSONRPCNotification, JSONRPCRequest, JSONRPCResponse, jsonrpc_message_adapter

from toolwire.errors import McpFailed
from toolwire.mcp import guard as bounds
from toolwire.mcp.guard import Guard, GuardedReading, GuardedWriting

Kind = JSONRPCRequest | JSONRPCNotification | JSONRPCResponse | JSONRPCError


def message(**fields: Any) -> SessionMessage:
    return SessionMessage(jsonrpc_message_adapter.validate_python({"jsonrpc": "2.0", **fields}))


def note(method: str, **params: Any) -> SessionMessage:
    return message(method=method, params=params)


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def guard(clock: Clock) -> Guard:
    return Guard("them", lambda: None, clock)


def why(guard: Guard) -> str:
    assert guard.fault is not None
    assert guard.fault.why == "limit"
    assert guard.fault.server == "them"
    return guard.fault.message


def test_answers_to_questions_go_on_once(guard: Guard) -> None:
    guard.sends(message(id=1, method="tools/list"))
    guard.sends(message(id="listen-1", method="subscriptions/listen"))
    answers = [message(id=1, result={}), message(id=1, result={}), message(id="listen-1", result={})]
    assert [guard.passes(answer) for answer in answers] == [True, False, True]
    assert guard.fault is None


def test_an_id_that_comes_back_as_text_is_the_same(guard: Guard) -> None:
    guard.sends(message(id=7, method="tools/call"))
    assert guard.passes(message(id="7", result={}))


def test_late_answers_of_cancelled_calls_are_dropped_and_not_held_against_it(guard: Guard) -> None:
    for id in range(3 * bounds.STRANGE):
        guard.sends(message(id=id, method="tools/call"))
        guard.sends(note("notifications/cancelled", requestId=id))
        assert not guard.passes(message(id=id, result={}))
    assert guard.fault is None


def test_a_cancelled_call_is_answered_late_once(guard: Guard) -> None:
    guard.sends(message(id=1, method="tools/call"))
    guard.sends(note("notifications/cancelled", requestId=1))
    for _ in range(1 + bounds.STRANGE):
        assert not guard.passes(message(id=1, result={}))
    assert guard.fault is None
    guard.passes(message(id=1, result={}))
    assert "answers to what nobody asked" in why(guard)


def test_so_many_late_answers_are_expected(guard: Guard) -> None:
    for id in range(bounds.LEFT + bounds.STRANGE + 1):
        guard.sends(message(id=id, method="tools/call"))
        guard.sends(note("notifications/cancelled", requestId=str(id)))
    for id in range(bounds.STRANGE + 1, bounds.LEFT + bounds.STRANGE + 1):
        guard.passes(message(id=id, result={}))
    for id in range(bounds.STRANGE):
        guard.passes(message(id=id, result={}))
    assert guard.fault is None
    guard.passes(message(id=bounds.STRANGE, result={}))
    assert "answers to what nobody asked" in why(guard)


@pytest.mark.parametrize(
    ("strange", "words"),
    [
        (lambda at: message(id=at, result={}), "answers to what nobody asked"),
        (lambda at: message(id=at, error={"code": 1, "message": ""}), "answers to what nobody asked"),
        (lambda at: ValueError("no JSON"), "cannot be read"),
    ],
)
def test_what_makes_no_sense_is_dropped_and_then_ends_it(
    guard: Guard, strange: Callable[[int], Any], words: str
) -> None:
    assert not any(guard.passes(strange(at)) for at in range(bounds.STRANGE))
    assert guard.fault is None
    assert not guard.passes(strange(-1))
    assert words in why(guard)


@pytest.mark.parametrize(
    "method",
    ["notifications/message", "notifications/unknown", "notifications/resources/updated", "notifications/progress"],
)
def test_what_nobody_needs_is_dropped_and_a_flood_of_it_ends_it(guard: Guard, clock: Clock, method: str) -> None:
    for _ in range(bounds.UNASKED):
        assert not guard.passes(note(method))
    assert guard.fault is None
    clock.now += 1.0
    for _ in range(bounds.UNASKED_EACH_SECOND):
        guard.passes(note(method))
    assert guard.fault is None
    guard.passes(note(method))
    assert "floods" in why(guard)


def test_a_long_silence_saves_nothing_up(guard: Guard, clock: Clock) -> None:
    clock.now += 3_600
    for _ in range(bounds.UNASKED):
        guard.passes(note("notifications/message"))
    assert guard.fault is None
    guard.passes(note("notifications/message"))
    assert "floods" in why(guard)


def test_a_flood_of_changes_ends_it_too(guard: Guard) -> None:
    passed = sum(guard.passes(note("notifications/tools/list_changed")) for _ in range(bounds.UNASKED + 5))
    assert passed == bounds.UNASKED
    assert "floods" in why(guard)


def test_progress_of_a_running_call_goes_on_and_is_thinned_out(guard: Guard, clock: Clock) -> None:
    guard.sends(message(id=1, method="tools/call"))
    progress = note("notifications/progress", progressToken=1, progress=1)
    assert sum(guard.passes(progress) for _ in range(500)) == bounds.PROGRESS_AT_ONCE
    clock.now += bounds.PROGRESS_PAUSE
    assert sum(guard.passes(progress) for _ in range(500)) == 1
    guard.passes(message(id=1, result={}))
    clock.now += 1
    assert not guard.passes(progress)
    tokens: tuple[Any, ...] = (True, None, 1.0, [1], {})
    for token in tokens:
        assert not guard.passes(note("notifications/progress", progressToken=token, progress=1))


def test_so_many_questions_at_one_time(guard: Guard) -> None:
    for id in range(bounds.REQUESTS):
        assert guard.passes(message(id=id, method="ping"))
    guard.sends(message(id=0, result={}))
    assert guard.passes(message(id=100, method="ping"))
    guard.passes(note("notifications/cancelled", requestId=1))
    assert guard.passes(message(id=101, method="ping"))
    assert not guard.passes(message(id=102, method="ping"))
    assert "more than 16 things" in why(guard)


def test_one_id_for_two_questions(guard: Guard) -> None:
    assert guard.passes(message(id=1, method="ping"))
    assert not guard.passes(message(id="1", method="ping"))
    assert "twice" in why(guard)


def test_questions_that_are_answered_at_once_are_bounded_too(guard: Guard) -> None:
    for id in range(bounds.UNASKED):
        if not guard.passes(message(id=id, method="ping")):
            break
        guard.sends(message(id=id, result={}))
    assert id == bounds.UNASKED // bounds.REQUEST_WEIGHT
    assert "floods" in why(guard)


def test_the_streams_end_at_a_fault_and_with_the_transport() -> None:
    async def heard(*items: SessionMessage | Exception) -> tuple[int, list[str], McpFailed | None]:
        ends: list[str] = []
        guard = Guard("them", lambda: ends.append("end"))
        send, receive = anyio.create_memory_object_stream[SessionMessage | Exception](1_000)
        out, sent = anyio.create_memory_object_stream[SessionMessage](10)
        async with GuardedWriting(guard, out) as writing, GuardedReading(guard, receive) as reading:
            await writing.send(message(id=1, method="tools/list"))
            for item in items:
                send.send_nowait(item)
            send.close()
            count = len([item async for item in reading])
        sent.close()
        return count, ends, guard.fault

    answer = message(id=1, result={})
    assert anyio.run(heard, answer) == (1, ["end"], None)
    lost = McpFailed("it is gone", why="lost")
    assert anyio.run(heard, lost, answer) == (0, ["end"], lost)
    junk: list[SessionMessage | Exception] = [ValueError()] * (bounds.STRANGE + 1)
    count, ends, fault = anyio.run(heard, *[*junk, answer])
    assert (count, ends) == (0, ["end"])
    assert fault is not None
    assert fault.why == "limit"


@pytest.mark.parametrize("id", [None, [], {}, 1.5, True])
def test_a_cancellation_of_nothing_costs_nobody_anything(guard: Guard, id: Any) -> None:
    assert not guard.passes(note("notifications/cancelled", requestId=id))
    assert guard.passes(note("notifications/cancelled", requestId=7))
    assert guard.fault is None
