"""One table: every word of every provider for why its model stopped, what it means, and that nothing unfinished runs.

The table is written from the providers' documentation, not from the decoders: a word that a decoder knows and the
table does not is a fault of one of them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest

from odd_streams import made_calls, outcome
from toolwire import EventType, StopReason, Stream
from toolwire.chunks import RUNNABLE_STOPS
from toolwire.providers import anthropic, bedrock_converse, cohere, gemini, ollama, openai_chat, openai_responses
from wire_bodies import MARKED_CALLS, WIRES, Call, End, Error, HalfCall, Text, body

STOP, TOOL_CALLS, LENGTH = StopReason.STOP, StopReason.TOOL_CALLS, StopReason.LENGTH
FILTER, REFUSAL, PAUSE = StopReason.CONTENT_FILTER, StopReason.REFUSAL, StopReason.PAUSE
ERROR, UNKNOWN = StopReason.ERROR, StopReason.UNKNOWN

WORDS: dict[str, dict[str | int | None, StopReason]] = {
    "openai-chat": {
        "stop": STOP,
        "stop_sequence": STOP,
        "end_turn": STOP,
        "eos": STOP,
        "eos_token": STOP,
        "complete": STOP,
        "tool_calls": TOOL_CALLS,
        "tool_call": TOOL_CALLS,
        "tool_use": TOOL_CALLS,
        "function_call": TOOL_CALLS,
        "length": LENGTH,
        "max_tokens": LENGTH,
        "model_length": LENGTH,
        "model_context_window_exceeded": LENGTH,
        "content_filter": FILTER,
        "sensitive": FILTER,
        "safety": FILTER,
        "recitation": FILTER,
        "refusal": REFUSAL,
        "pause_turn": PAUSE,
        "error": ERROR,
        "network_error": ERROR,
        "abort": ERROR,
        "insufficient_system_resource": ERROR,
        "malformed_function_call": UNKNOWN,
        "because": UNKNOWN,
        # Some services end with [DONE] alone.
        None: STOP,
    },
    "openai-responses": {
        "completed": STOP,
        "max_output_tokens": LENGTH,
        "max_tokens": LENGTH,
        "length": LENGTH,
        "content_filter": FILTER,
        "cancelled": ERROR,
        "because": UNKNOWN,
        # `response.incomplete` that does not say why.
        None: UNKNOWN,
    },
    "anthropic": {
        "end_turn": STOP,
        "stop_sequence": STOP,
        "tool_use": TOOL_CALLS,
        "max_tokens": LENGTH,
        "model_context_window_exceeded": LENGTH,
        "pause_turn": PAUSE,
        "compaction": PAUSE,
        "refusal": REFUSAL,
        "because": UNKNOWN,
        None: UNKNOWN,
    },
    "gemini": {
        "STOP": STOP,
        "MAX_TOKENS": LENGTH,
        "CONTINUATION": LENGTH,
        "SAFETY": FILTER,
        "RECITATION": FILTER,
        "LANGUAGE": FILTER,
        "BLOCKLIST": FILTER,
        "PROHIBITED_CONTENT": FILTER,
        "SPII": FILTER,
        "MODEL_ARMOR": FILTER,
        "IMAGE_SAFETY": FILTER,
        "IMAGE_PROHIBITED_CONTENT": FILTER,
        "IMAGE_RECITATION": FILTER,
        "MALFORMED_FUNCTION_CALL": ERROR,
        "UNEXPECTED_TOOL_CALL": ERROR,
        "TOO_MANY_TOOL_CALLS": ERROR,
        "MALFORMED_RESPONSE": ERROR,
        "MISSING_THOUGHT_SIGNATURE": ERROR,
        "OTHER": UNKNOWN,
        "NO_IMAGE": UNKNOWN,
        "IMAGE_OTHER": UNKNOWN,
        "BECAUSE": UNKNOWN,
        1: STOP,
        2: LENGTH,
        3: FILTER,
        4: FILTER,
        5: UNKNOWN,
        6: FILTER,
        7: FILTER,
        8: FILTER,
        11: FILTER,
        # Some numbers mean one thing to the Gemini API and another to Vertex AI.
        **dict.fromkeys((9, 10, 12, 99), UNKNOWN),
    },
    "ollama": {
        "stop": STOP,
        "load": STOP,
        "unload": STOP,
        "length": LENGTH,
        "because": UNKNOWN,
        # Old versions leave the word out.
        None: STOP,
    },
    "bedrock": {
        "end_turn": STOP,
        "stop_sequence": STOP,
        "tool_use": TOOL_CALLS,
        "max_tokens": LENGTH,
        "model_context_window_exceeded": LENGTH,
        "guardrail_intervened": FILTER,
        "content_filtered": FILTER,
        "malformed_model_output": ERROR,
        "malformed_tool_use": ERROR,
        "because": UNKNOWN,
        None: UNKNOWN,
    },
    "cohere": {
        "COMPLETE": STOP,
        "STOP_SEQUENCE": STOP,
        "TOOL_CALL": TOOL_CALLS,
        "MAX_TOKENS": LENGTH,
        "TIMEOUT": ERROR,
        "BECAUSE": UNKNOWN,
        None: UNKNOWN,
    },
}

AFTER_A_CALL: dict[tuple[str, str | int | None], StopReason] = {
    # After whole calls these providers say that there are calls: the sequence was found within the last one.
    ("anthropic", "stop_sequence"): UNKNOWN,
    ("bedrock", "stop_sequence"): UNKNOWN,
    ("cohere", "STOP_SEQUENCE"): UNKNOWN,
}
"""Words that mean another thing where the answer ends with a call."""

KNOWN: dict[str, dict[Any, StopReason]] = {
    "openai-chat": dict(openai_chat.STOP_REASONS),
    "openai-responses": dict(openai_responses.STOP_REASONS),
    "anthropic": dict(anthropic.STOP_REASONS),
    "gemini": dict(gemini.STOP_REASONS),
    "ollama": dict(ollama.STOP_REASONS),
    "bedrock": dict(bedrock_converse.STOP_REASONS),
    "cohere": dict(cohere.STOP_REASONS),
}

ERRORS = {("openai-responses", "failed"), ("cohere", "ERROR")}
"""Words that are no end but an error."""


class Row(NamedTuple):
    wire: str
    word: str | int | None
    meaning: StopReason

    @property
    def after_a_call(self) -> StopReason:
        """What the word means where there is a call."""
        meaning = AFTER_A_CALL.get((self.wire, self.word), self.meaning)
        return TOOL_CALLS if meaning is STOP else meaning

    def __str__(self) -> str:
        return f"{self.wire}-{self.word}"


TABLE = [Row(wire, word, meaning) for wire in WIRES for word, meaning in WORDS[wire].items()]


def check_nothing_runs(stream: Stream) -> None:
    assert stream.invocations == []
    for call in stream.summary()["calls"]:
        assert not call["complete"]
        assert call["problem"]


@pytest.mark.parametrize("wire", WIRES)
def test_the_table_has_every_word_that_a_decoder_knows(wire: str) -> None:
    table = {str(word).lower(): meaning for word, meaning in WORDS[wire].items()}
    for word, meaning in KNOWN[wire].items():
        if (wire, word) not in ERRORS:
            assert table.get(str(word).lower()) is meaning, word


@pytest.mark.parametrize("row", TABLE, ids=str)
def test_text(row: Row) -> None:
    stream, events = outcome(body(row.wire, Text("Hello"), End(row.word)), row.wire)
    # Without a call there is nothing to answer.
    assert stream.stop_reason is (STOP if row.meaning is TOOL_CALLS else row.meaning)
    assert stream.complete
    assert events[-1].type is EventType.DONE
    assert stream.summary()["text"] == "Hello"


@pytest.mark.parametrize("row", TABLE, ids=str)
def test_a_finished_call_runs_only_where_the_answer_is_finished(row: Row) -> None:
    stream, events = outcome(body(row.wire, Text(), Call("c1", "f", '{"x":1}'), End(row.word)), row.wire)
    assert stream.complete
    assert stream.stop_reason is row.after_a_call
    if row.after_a_call in RUNNABLE_STOPS:
        assert made_calls(stream) == [("c1", "f", {"x": 1})]
    else:
        check_nothing_runs(stream)
        (end,) = [event for event in events if event.type is EventType.END and event.segment_id == "c1"]
        told = (end.metadata or {}).get("problem") or (events[-1].metadata or {})["problems"]["c1"]
        assert told == stream.problems["c1"]


@pytest.mark.parametrize("row", TABLE, ids=str)
def test_an_unfinished_call_never_runs(row: Row) -> None:
    stream, _ = outcome(body(row.wire, HalfCall("c1", "f", '{"x":'), End(row.word)), row.wire)
    assert [call["name"] for call in stream.summary()["calls"]] == ["f"]
    check_nothing_runs(stream)


@pytest.mark.parametrize("row", [row for row in TABLE if row.wire in MARKED_CALLS], ids=str)
def test_whole_arguments_do_not_make_a_call_finished(row: Row) -> None:
    """The provider marks the end of each call, and has not done so."""
    stream, _ = outcome(body(row.wire, HalfCall("c1", "f", '{"x":1}'), End(row.word)), row.wire)
    assert [call["name"] for call in stream.summary()["calls"]] == ["f"]
    check_nothing_runs(stream)


@pytest.mark.parametrize("row", TABLE, ids=str)
def test_an_unfinished_call_beside_a_finished_one(row: Row) -> None:
    data = body(row.wire, Call("c1", "f", "{}"), HalfCall("c2", "g", '{"x":'), End(row.word))
    stream, _ = outcome(data, row.wire)
    allowed = {"c1"} if row.after_a_call in RUNNABLE_STOPS else set()
    assert {made.call_id for made in stream.invocations} <= allowed
    assert not stream.summary()["calls"][1]["complete"]


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("call", [Call(), HalfCall()], ids=["finished", "unfinished"])
def test_an_error_in_the_stream(wire: str, call: Call | HalfCall) -> None:
    for data in (body(wire, Text("Hi"), call, Error("overloaded")), body(wire, Text("Hi"), call, Error(), End())):
        stream, events = outcome(data, wire)
        assert events[-1].error is not None
        assert events[-1].error.type == "ProviderError"
        assert "overloaded" in events[-1].error.message
        assert events[-1].error.facts["provider"] == wire
        assert stream.stop_reason is None
        assert not stream.complete
        assert stream.summary()["text"] == "Hi"
        check_nothing_runs(stream)


@pytest.mark.parametrize("call", [Call(), HalfCall()], ids=["finished", "unfinished"])
def test_a_response_that_failed(call: Call | HalfCall) -> None:
    stream, events = outcome(body("openai-responses", call, End("failed")), "openai-responses")
    assert events[-1].error is not None
    assert events[-1].error.type == "ProviderError"
    assert "overloaded" in events[-1].error.message
    assert not stream.complete
    check_nothing_runs(stream)


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("call", [Call(), HalfCall()], ids=["finished", "unfinished"])
def test_no_end_at_all(wire: str, call: Call | HalfCall) -> None:
    stream, events = outcome(body(wire, Text("Hi"), call), wire)
    assert events[-1].error is not None
    assert events[-1].error.type == "IncompleteStream"
    assert stream.stop_reason is None
    check_nothing_runs(stream)


def test_gemini_without_a_finish_reason_has_no_end() -> None:
    stream, events = outcome(body("gemini", Call(), End(None)), "gemini")
    assert events[-1].type is EventType.ERROR
    check_nothing_runs(stream)
