"""The state of a call: through every state, in every order of events."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolwire.agent.events import AgentEvent
from toolwire.stream.segments import EventType, SegmentEvent, SegmentType
from toolwire.tui.cards.call import Call, State
from tui.card_events import (
    BROKEN,
    FAILED,
    FAULT,
    INTERRUPTED,
    answered,
    asked,
    ended,
    gave,
    late,
    nested,
    refused,
    started,
    streamed,
    told,
    whole,
)

ARGUMENTS: dict[str, Any] = {"city": "Paris", "days": 3}
ASKED = asked("1", "weather", ARGUMENTS)
STARTED = started("1", "weather", ARGUMENTS)
YES = answered("1", allowed=True)
WHOLE: list[AgentEvent] = list(whole("1", ARGUMENTS))
CUT: list[AgentEvent] = list(streamed("1", ARGUMENTS, upto=12))

ORDERS: dict[str, tuple[list[AgentEvent], State, str]] = {
    "nothing yet": ([], State.STREAMING, "streaming"),
    "half of it": ([*CUT], State.STREAMING, "streaming"),
    "ended, and others still stream": ([*WHOLE], State.STREAMING, "queued"),
    "ended before any content": ([WHOLE[-1], *WHOLE[:-1]], State.STREAMING, "queued"),
    "asked": ([*WHOLE, ASKED], State.WAITING, "waiting"),
    "asked without a stream": ([ASKED], State.WAITING, "waiting"),
    "approved, and waits for its turn": ([*WHOLE, ASKED, YES], State.WAITING, "approved"),
    "runs": ([*WHOLE, ASKED, YES, STARTED], State.RUNNING, "running"),
    "runs without a question": ([*WHOLE, STARTED], State.RUNNING, "running"),
    "done": ([*WHOLE, STARTED, gave("1", "sunny")], State.DONE, "done"),
    "a result without a start": ([*WHOLE, gave("1", "sunny")], State.DONE, "done"),
    "a result of a session": ([*WHOLE, gave("1", "sunny", outcome="")], State.DONE, "done"),
    "failed": ([*WHOLE, STARTED, gave("1", "Error: x", outcome="error", error=True)], State.FAILED, "failed"),
    "late": ([*WHOLE, STARTED, gave("1", "Error: x", outcome="timeout", error=True)], State.FAILED, "failed"),
    "a failure of a session": ([*WHOLE, refused("1", "no such city")], State.FAILED, "failed"),
    "says that it was cancelled": (
        [*WHOLE, STARTED, gave("1", "Error: cancelled", outcome="error", error=True)],
        State.FAILED,
        "failed",
    ),
    "denied": (
        [*WHOLE, ASKED, answered("1", allowed=False), refused("1", "not run: the person said no")],
        State.DENIED,
        "denied",
    ),
    "denied by a rule": ([*WHOLE, refused("1", "not run: it is denied: no writing")], State.DENIED, "denied"),
    "denied without a stream": ([refused("1", "not run: it is denied: no writing")], State.DENIED, "denied"),
    "a yes that came too late": (
        [*WHOLE, ASKED, YES, refused("1", "not run: it is denied: a rule")],
        State.DENIED,
        "denied",
    ),
    "cut": ([*CUT, ended("1", problem="the call was not finished")], State.INCOMPLETE, "incomplete"),
    "cut, and its result": (
        [*CUT, ended("1", problem="cut"), refused("1", "not run: cut")],
        State.INCOMPLETE,
        "incomplete",
    ),
    "may not run after all": ([*WHOLE, late(**{"1": "it repeats the call 0"})], State.INCOMPLETE, "incomplete"),
    "the stream breaks off": ([*CUT, BROKEN], State.INCOMPLETE, "incomplete"),
    "the stream breaks off behind it": ([*WHOLE, BROKEN], State.INCOMPLETE, "incomplete"),
    "a later stream breaks off": ([*WHOLE, STARTED, gave("1", "sunny"), BROKEN], State.DONE, "done"),
    "the run fails": ([*CUT, FAILED], State.INCOMPLETE, "incomplete"),
    "the run fails while it waits": ([*WHOLE, ASKED, FAILED], State.CANCELLED, "cancelled"),
    "interrupted while it streams": ([*CUT, INTERRUPTED], State.CANCELLED, "cancelled"),
    "interrupted while it waits": ([*WHOLE, ASKED, INTERRUPTED], State.CANCELLED, "cancelled"),
    "interrupted while it runs": ([*WHOLE, STARTED, INTERRUPTED], State.CANCELLED, "cancelled"),
    "interrupted, and it was done": ([*WHOLE, STARTED, INTERRUPTED, gave("1", "sunny")], State.DONE, "done"),
    "cancelled in a session": (
        [*WHOLE, STARTED, refused("1", "cancelled while it ran; a part may be done")],
        State.CANCELLED,
        "cancelled",
    ),
    "cancelled before it ran": (
        [*WHOLE, refused("1", "not run: cancelled before it ran")],
        State.CANCELLED,
        "cancelled",
    ),
    "cancelled, whatever its words are": (
        [*WHOLE, STARTED, gave("1", "Error: stopped", outcome="cancelled", error=True)],
        State.CANCELLED,
        "cancelled",
    ),
    "denied, whatever its words are": (
        [*WHOLE, gave("1", "Error: cancelled", outcome="denied", error=True)],
        State.DENIED,
        "denied",
    ),
    "done, then everything else": (
        [*WHOLE, STARTED, gave("1", "sunny"), ASKED, STARTED, INTERRUPTED, FAILED, late(**{"1": "no"})],
        State.DONE,
        "done",
    ),
    "of others": (
        [*CUT, gave("2", "x"), started("2", "x", {}), ended("2", problem="x"), late(**{"2": "x"})],
        State.STREAMING,
        "streaming",
    ),
}


@pytest.mark.parametrize(("events", "state", "word"), ORDERS.values(), ids=list(ORDERS))
def test_the_state_after_these_events(events: list[AgentEvent], state: State, word: str) -> None:
    call = Call("1", "weather", SegmentType.TOOL_CALL)
    for event in events:
        call.take(event)
    assert (call.state, call.word) == (state, word)


def test_what_runs_is_what_is_known() -> None:
    call = Call("1", "weather", SegmentType.TOOL_CALL)
    for event in [*WHOLE, ASKED, YES]:
        call.take(event)
    assert (call.arguments, call.edited) == (ARGUMENTS, False)
    call.take(started("1", "weather", {"city": "Lyon"}))
    assert (call.arguments, call.edited) == ({"city": "Lyon"}, True)
    assert [text.text() for text in call.fields.texts.values()] == ["Lyon"]


def test_the_same_arguments_are_not_edited() -> None:
    call = Call("1", "weather", SegmentType.TOOL_CALL)
    for event in [*WHOLE, started("1", "weather", dict(ARGUMENTS))]:
        call.take(event)
    assert not call.edited


def test_why_it_did_not_run() -> None:
    call = Call("1", "weather", SegmentType.TOOL_CALL)
    events = [*CUT, ended("1", problem="cut by the token limit"), refused("1", "not run: something else")]
    for event in events:
        call.take(event)
    assert call.why == "cut by the token limit"
    call = Call("1", "weather", SegmentType.TOOL_CALL)
    call.take(refused("1", "not run: it is denied: no writing here"))
    assert call.why == "it is denied: no writing here"


def test_a_call_that_cannot_be_read_keeps_what_the_model_wrote_within_a_bound() -> None:
    call = Call("1", "weather", SegmentType.TOOL_CALL)
    for _ in range(1_000):
        call.take(SegmentEvent(EventType.CONTENT, "1", "no JSON " * 10))
    assert call.raw.text().startswith("no JSON no JSON")
    assert len(call.raw.text()) <= 20_100


ANY: list[AgentEvent] = [
    *CUT,
    WHOLE[-1],
    ended("1", problem="cut"),
    ended("1"),
    SegmentEvent(EventType.START, "1", segment_type=SegmentType.TOOL_CALL, metadata={"path": "a"}),
    SegmentEvent(EventType.DONE),
    late(**{"1": "it may not"}),
    late(**{"2": "it may not"}),
    BROKEN,
    ASKED,
    asked("1", "weather", {}, preview="--- a\n+++ a\n@@ -1 +1 @@\n-x\n+y\n"),
    YES,
    answered("1", allowed=False, reason="no"),
    STARTED,
    started("1", "weather", {"city": ["\x1b[2J", {"deep": None}]}),
    told("1", "50 %\r60 %\n\x1b[31mred", 3),
    nested("1", STARTED),
    nested("1", nested("1", gave("7", "x"))),
    nested("1", FAILED),
    gave("1", "sunny"),
    gave("1", "Error: x", outcome="error", error=True),
    refused("1", "not run: no"),
    INTERRUPTED,
    FAILED,
]
LAST: list[AgentEvent] = [INTERRUPTED, FAILED, gave("1", "sunny"), refused("1", "not run: no")]


@settings(max_examples=150, deadline=None)
@given(st.lists(st.sampled_from(ANY), max_size=12), st.sampled_from(LAST))
def test_any_order_ends_in_a_final_state(events: list[AgentEvent], last: AgentEvent) -> None:
    call = Call("1", "weather", SegmentType.TOOL_CALL)
    was_final = False
    for event in [*events, last]:
        call.take(event)
        assert call.state.is_final or not was_final, "what is final stays so"
        was_final = call.state.is_final
    assert call.state.is_final
    assert call.word == call.state.value


def test_the_fault_is_the_reason() -> None:
    call = Call("1", "weather", SegmentType.TOOL_CALL)
    call.take(BROKEN)
    assert call.why == FAULT.message
