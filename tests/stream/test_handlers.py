"""The handlers by themselves: chunks in, events out, the interface of every handler."""

from __future__ import annotations

from typing import Any

import pytest

from toolwire import ChunkResponse, EventType, SegmentEvent, SegmentType, StopReason, ToolCallDelta
from toolwire.chunks import TokenUsage
from toolwire.errors import TransportError
from toolwire.stream.handlers import (
    ApiToolCallStreamingResponseHandler,
    PassThroughStreamingResponseHandler,
    StreamingResponseHandler,
)
from toolwire.stream.segments import FieldDelta

END = ChunkResponse(stop_reason=StopReason.TOOL_CALLS, is_complete=True)


def piece(text: str = "", *, index: int = 0, done: bool = False, **members: Any) -> ChunkResponse:
    return ChunkResponse(tool_calls=[ToolCallDelta(index, arguments_delta=text, done=done, **members)])


CHUNKS = [
    ChunkResponse(content="Let me "),
    ChunkResponse(content="look."),
    piece(call_id="c1", name="read_file"),
    piece('{"path":'),
    piece('"a.txt"}'),
    piece(done=True),
    END,
]

HANDLERS: list[type[ApiToolCallStreamingResponseHandler] | type[PassThroughStreamingResponseHandler]] = [
    ApiToolCallStreamingResponseHandler,
    PassThroughStreamingResponseHandler,
]


def feed(handler: StreamingResponseHandler, chunks: list[ChunkResponse]) -> list[SegmentEvent]:
    events = [event for chunk in chunks for event in handler.feed(chunk)]
    return events + handler.finalize()


def test_a_call_is_text_then_start_content_end() -> None:
    handler = ApiToolCallStreamingResponseHandler()
    events = feed(handler, CHUNKS)
    assert [(event.type, event.segment_id, event.delta) for event in events] == [
        ("start", "s0", ""),
        ("content", "s0", "Let me "),
        ("content", "s0", "look."),
        ("end", "s0", ""),
        ("start", "c1", ""),
        ("content", "c1", '{"path":'),
        ("content", "c1", '"a.txt"}'),
        ("end", "c1", ""),
        ("done", "", ""),
    ]
    assert events[4].tool_name == "read_file"
    assert events[7].metadata == {"arguments": {"path": "a.txt"}}
    (invocation,) = handler.get_all_invocations()
    assert (invocation.id, invocation.arguments) == ("c1", {"path": "a.txt"})


def test_no_invocation_before_the_end_of_the_stream() -> None:
    handler = ApiToolCallStreamingResponseHandler()
    for chunk in CHUNKS[:-1]:
        handler.feed(chunk)
        assert handler.get_all_invocations() == []
    handler.feed(CHUNKS[-1])
    assert len(handler.get_all_invocations()) == 1


def test_start_waits_for_the_whole_name() -> None:
    handler = ApiToolCallStreamingResponseHandler()
    assert handler.feed(piece(call_id="c1", name="read_")) == []
    assert handler.feed(piece(name="file")) == []
    (start, content) = handler.feed(piece("{"))
    assert (start.tool_name, start.segment_type) == ("read_file", SegmentType.TOOL_CALL)
    assert content.delta == "{"


def test_start_waits_for_the_head_of_a_tool_with_a_form() -> None:
    handler = ApiToolCallStreamingResponseHandler()
    assert handler.feed(piece(call_id="c1", name="write_")) == []
    assert handler.feed(piece('{"path": "a.', name="file")) == []
    start, content = handler.feed(piece('txt", "con'))
    assert (start.tool_name, start.segment_type) == ("write_file", SegmentType.WRITE_FILE)
    assert start.metadata == {"path": "a.txt"}
    assert content.delta == '{"path": "a.txt", "con'


@pytest.mark.parametrize("arguments", ["null", "[1]", '"a.txt"', "7", "{}", "{", ""])
def test_a_call_without_the_head_of_its_form_starts_all_the_same(arguments: str) -> None:
    handler = ApiToolCallStreamingResponseHandler()
    events = feed(handler, [piece(arguments, call_id="c1", name="write_file"), piece(done=True), END])
    assert [event.segment_type for event in events if event.type is EventType.START] == [SegmentType.WRITE_FILE]
    assert "".join(event.delta for event in events) == arguments


def test_arguments_that_come_before_the_name_follow_start() -> None:
    handler = ApiToolCallStreamingResponseHandler()
    assert handler.feed(piece('{"a"')) == []
    start, content, end, done = [*handler.feed(piece(":1}", name="f", done=True)), *handler.feed(END)]
    assert (start.tool_name, content.delta, end.metadata) == ("f", '{"a":1}', {"arguments": {"a": 1}})
    assert done.type is EventType.DONE


def test_a_call_that_ended_well_in_a_stream_that_did_not_is_told_by_the_error() -> None:
    handler = ApiToolCallStreamingResponseHandler()
    for chunk in CHUNKS[:-1]:
        handler.feed(chunk)
    (error,) = handler.finalize(TransportError("connection reset"))
    assert error.type is EventType.ERROR
    assert error.error is not None
    assert error.error.type == "TransportError"
    assert error.metadata == {"problems": {"c1": "the stream broke off before its end"}}
    assert handler.get_all_invocations() == []


def test_a_stop_reason_that_comes_after_the_end_of_a_call_still_refuses_it() -> None:
    handler = ApiToolCallStreamingResponseHandler()
    for chunk in CHUNKS[:-1]:
        handler.feed(chunk)
    (done,) = handler.feed(ChunkResponse(stop_reason=StopReason.LENGTH, is_complete=True))
    assert done.metadata is not None
    assert "token limit" in done.metadata["problems"]["c1"]
    assert handler.get_all_invocations() == []


def test_open_calls_at_the_proper_end_do_not_run() -> None:
    handler = ApiToolCallStreamingResponseHandler()
    events = feed(handler, [piece('{"a":1}', call_id="c1", name="f"), END])
    assert events[-2].metadata == {"problem": "the call was not finished"}
    assert handler.get_all_invocations() == []


def test_live_arguments() -> None:
    handler = ApiToolCallStreamingResponseHandler(live_arguments=True)
    events = feed(handler, CHUNKS)
    fields = [field for event in events for field in event.fields or ()]
    assert "".join(field.text for field in fields) == "a.txt"
    assert fields[-1] == FieldDelta(("path",), fields[-1].text, done=True)


def test_ids_are_unique_whatever_the_provider_sends() -> None:
    handler = ApiToolCallStreamingResponseHandler()
    feed(
        handler,
        [
            ChunkResponse(content="x"),
            piece("{}", index=0, call_id="s0", name="f", done=True),
            piece("{}", index=1, call_id="s1", name="f", done=True),
            ChunkResponse(content="y"),
            piece("{}", index=2, name="f", done=True),
            END,
        ],
    )
    ids = [segment.segment_id for segment in handler.segments]
    assert len(set(ids)) == len(ids) == 5


def test_prefix_makes_ids_of_several_answers_distinct() -> None:
    handler = ApiToolCallStreamingResponseHandler(segment_id_prefix="t7-")
    assert handler.feed(ChunkResponse(content="x"))[0].segment_id == "t7-s0"


@pytest.mark.parametrize("handler_type", HANDLERS)
def test_every_handler_keeps_the_interface(
    handler_type: type[ApiToolCallStreamingResponseHandler] | type[PassThroughStreamingResponseHandler],
) -> None:
    seen: list[SegmentEvent] = []
    handler = handler_type(on_segment_event=seen.append)
    first = feed(handler, CHUNKS)
    assert handler.get_all_events() == first == seen
    assert first[-1].type is EventType.DONE
    assert handler.feed(ChunkResponse(content="late")) == []
    assert handler.finalize() == []
    handler.reset()
    assert handler.get_all_events() == []
    assert handler.get_all_invocations() == []
    assert feed(handler, CHUNKS) == first
    handler.reset()
    assert [event.type for event in handler.finalize()] == [EventType.ERROR]


def test_pass_through_runs_nothing_and_says_what_it_ignored() -> None:
    handler = PassThroughStreamingResponseHandler()
    events = feed(handler, CHUNKS)
    assert [event.type for event in events] == ["start", "content", "content", "end", "done"]
    assert events[-1].metadata == {"ignored_calls": 1}
    assert handler.get_all_invocations() == []
    assert handler.calls == []


def test_usage_is_the_last_that_came() -> None:
    handler = ApiToolCallStreamingResponseHandler()
    events = feed(handler, [ChunkResponse(usage=TokenUsage(1, 1)), ChunkResponse(usage=TokenUsage(2, 5)), END])
    assert events[-1].usage == TokenUsage(2, 5)
