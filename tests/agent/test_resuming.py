"""The entries of a session, cut off anywhere: what the conversation is then."""

from __future__ import annotations

import pytest

from toolwire import encode_request
from toolwire.agent.sessions.entries import Answered, Began, Finished, Noted, Replaced, Said, Settled, Starting, Written
from toolwire.agent.sessions.resuming import Resumed
from toolwire.execution.executor import ToolResult
from toolwire.messages import Message, TextPart, ToolCallPart, ToolResultPart, system, tool_results, user
from wire_bodies import WIRES

UNKNOWN = "it was started and the program ended before its outcome was written; it was not repeated."
CALLS = Message(
    "assistant",
    [
        TextPart("So."),
        ToolCallPart("a", "save", {"text": "x"}),
        ToolCallPart("b", "look", {}),
        ToolCallPart("c", "save", {}),
    ],
)


def result(id: str, content: str = "done") -> ToolResult:
    return ToolResult(id, "look" if id == "b" else "save", content)


ENTRIES: list[Written] = [
    Began("openai:m", "/w"),
    Said(system("Be brief.")),
    Noted({"type": "run_started"}),
    Said(user("  Save \n it ")),
    Answered(1, CALLS),
    Starting(1, "a", "save", {"text": "edited"}, repeatable=False),
    Starting(1, "b", "look", {}, repeatable=True),
    Finished(1, result("a", "saved")),
    Finished(1, result("b", "seen")),
    Finished(1, result("c", "Error: not run: no")),
    Settled(
        1, tool_results(result(id, content).part() for id, content in (("a", "saved"), ("b", "seen"), ("c", "no")))
    ),
    Answered(2, Message("assistant", [TextPart("Done.")])),
    Noted({"type": "run_finished"}),
]


def resumed(entries: list[Written]) -> Resumed:
    it = Resumed()
    for each in entries:
        it.take(each)
    return it


def mended(entries: list[Written]) -> Resumed:
    it = resumed(entries)
    if it.is_cut_off:
        it.take(it.mending())
    return it


def check_whole(messages: list[Message]) -> None:
    """Each call is answered once, right behind its answer, in order; every provider's encoder takes it."""
    for place, message in enumerate(messages):
        if message.tool_calls:
            results = messages[place + 1].parts
            assert [(part.id, part.name) for part in results if isinstance(part, ToolResultPart)] == [
                (call.id, call.name) for call in message.tool_calls
            ]
        elif message.role == "tool":
            assert messages[place - 1].tool_calls
    for wire in WIRES:
        encode_request(wire=wire, model="m", messages=[*messages, user("Go on")])


@pytest.mark.parametrize("end", range(1, len(ENTRIES) + 1))
def test_cut_off_at_every_entry(end: int) -> None:
    it = mended(ENTRIES[:end])
    check_whole(it.messages)
    assert not it.is_cut_off
    again = resumed(
        [*ENTRIES[:end], *([resumed(ENTRIES[:end]).mending()] if resumed(ENTRIES[:end]).is_cut_off else [])]
    )
    assert again.messages == it.messages
    assert not again.is_cut_off
    assert it.summary.turn == (0 if end < 5 else 1 if end < 12 else 2)
    assert it.summary.title == ("Save it" if end > 3 else "")


@pytest.mark.parametrize(
    ("end", "contents"),
    [
        (5, ["not run: the program ended before it ran"] * 3),
        (6, [f"unknown: {UNKNOWN} Check before you call it again.", *["not run: the program ended before it ran"] * 2]),
        (
            7,
            [
                f"unknown: {UNKNOWN} Check before you call it again.",
                f"unknown: {UNKNOWN} It is safe to call it again.",
                "not run: the program ended before it ran",
            ],
        ),
        (8, ["saved", f"unknown: {UNKNOWN} It is safe to call it again.", "not run: the program ended before it ran"]),
        (9, ["saved", "seen", "not run: the program ended before it ran"]),
        (10, ["saved", "seen", "not run: no"]),
    ],
)
def test_what_the_model_is_told(end: int, contents: list[str]) -> None:
    results = [part for part in mended(ENTRIES[:end]).messages[-1].parts if isinstance(part, ToolResultPart)]
    assert [str(part.content).removeprefix("Error: ") for part in results] == contents
    assert [part.is_error for part in results] == [
        content.startswith(("unknown", "not run: the program")) for content in contents
    ]


def test_unknown_calls_are_named_with_what_ran() -> None:
    assert [(call.id, call.arguments) for call in resumed(ENTRIES[:7]).unknown] == [
        ("a", {"text": "edited"}),
        ("b", {}),
    ]
    assert [call.id for call in resumed(ENTRIES[:8]).unknown] == ["b"]
    assert resumed(ENTRIES[:9]).unknown == []
    assert mended(ENTRIES[:7]).unknown == []


@pytest.mark.parametrize(
    ("type", "state"),
    [
        ("run_started", "running"),
        ("run_finished", "finished"),
        ("run_failed", "failed"),
        ("run_interrupted", "interrupted"),
        ("request_retried", "running"),
    ],
)
def test_states(type: str, state: str) -> None:
    it = resumed([*ENTRIES[:4], Noted({"type": type})])
    assert it.summary.state == state
    assert it.is_cut_off == (state == "running")
    if state == "running":
        it.take(it.mending())
        assert it.summary.state == "cut off"


def test_a_compacted_conversation_goes_on_compacted() -> None:
    short = [user("In short: it was saved.")]
    it = resumed([*ENTRIES[:11], Replaced(short), ENTRIES[11]])
    assert [message.text for message in it.messages] == ["In short: it was saved.", "Done."]
    assert short == [user("In short: it was saved.")]


def test_a_late_outcome_changes_nothing() -> None:
    """Ids may come again in a later answer: an outcome belongs to its turn."""
    late = Finished(1, result("a", "too late"))
    it = resumed([*ENTRIES[:11], late, Answered(2, CALLS), Starting(2, "a", "save", {}, repeatable=False), late])
    contents = [str(part.content) for part in it.mending().results.parts if isinstance(part, ToolResultPart)]  # type: ignore[union-attr]
    assert "unknown" in contents[0]
    assert all("not run" in content for content in contents[1:])
    early = Starting(1, "a", "save", {}, repeatable=False)
    assert resumed([*ENTRIES[:11], Answered(2, CALLS), early]).unknown == []


def test_an_answer_left_behind_is_no_part_of_it() -> None:
    """What came after it was written by somebody who knew better."""
    it = resumed([*ENTRIES[:4], Answered(1, CALLS), Answered(2, CALLS)])
    it.take(it.mending())
    check_whole(it.messages)
