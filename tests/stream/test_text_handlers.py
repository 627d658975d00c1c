"""The parsing and the hybrid handler: calls in text, calls both ways, in order and each of them once."""

from __future__ import annotations

import json
from typing import Any

import pytest

from embedded.text_tools import TOOLS
from feeding import call as native_call
from feeding import check_every_cut as check_native_cuts
from feeding import check_shape, delta, merged, sse
from toolwire import ChunkResponse, EventType, SdkStream, SegmentEvent, SegmentType, StopReason, Stream, ToolCallDelta
from toolwire.chunks import PartEnd
from toolwire.embedded.choosing import StreamParser
from toolwire.embedded.registry import text_format
from toolwire.embedded.text_reader import TextReader
from toolwire.errors import LimitExceeded, TransportError
from toolwire.limits import DEFAULT_LIMITS, Limits
from toolwire.stream import invocation
from toolwire.stream.handlers import (
    HybridStreamingResponseHandler,
    ParsingStreamingResponseHandler,
    StreamingResponseHandler,
)
from toolwire.stream.invocation import ToolInvocationAdapter

FORMATS = ("xml", "json", "sentinel")
STOP = ChunkResponse(stop_reason=StopReason.STOP, is_complete=True)


def written(format_: str, name: str, **arguments: Any) -> str:
    return text_format(format_).write_call(name, arguments, TOOLS.get(name))


def search(format_: str, query: str = "x", **more: Any) -> str:
    return written(format_, "search", query=query, **more)


def parsing(
    format_: str,
    kind: type[ParsingStreamingResponseHandler] = ParsingStreamingResponseHandler,
    limits: Limits = DEFAULT_LIMITS,
    **options: Any,
) -> ParsingStreamingResponseHandler:
    read = text_format(format_).read
    adapter = ToolInvocationAdapter(TOOLS, limits=limits)
    return kind(
        lambda: TextReader(lambda scanner: read(scanner, TOOLS), limits), format_, adapter, limits=limits, **options
    )


def hybrid(format_: str, **options: Any) -> ParsingStreamingResponseHandler:
    return parsing(format_, HybridStreamingResponseHandler, **options)


def native(name: str, arguments: dict[str, Any], *, index: int = 0, call_id: str = "c1") -> ChunkResponse:
    return ChunkResponse(tool_calls=[ToolCallDelta(index, call_id, name, json.dumps(arguments), done=True)])


def feed(handler: StreamingResponseHandler, *chunks: ChunkResponse | str) -> list[SegmentEvent]:
    events: list[SegmentEvent] = []
    for chunk in chunks:
        events += handler.feed(ChunkResponse(chunk) if isinstance(chunk, str) else chunk)
    events += handler.finalize()
    check_shape(events)
    return events


def calls(handler: StreamingResponseHandler) -> list[tuple[str, Any]]:
    return [(made.tool_name, made.arguments.get("query", made.arguments)) for made in handler.get_all_invocations()]


def is_end_of_fence(text: str) -> bool:
    """What a written call may lack and still be whole."""
    return not text.strip().strip("`")


def text_of(events: list[SegmentEvent], kind: SegmentType) -> str:
    ids = {event.segment_id for event in events if event.type is EventType.START and event.segment_type is kind}
    return "".join(event.delta for event in events if event.type is EventType.CONTENT and event.segment_id in ids)


# Calls in text alone.


@pytest.mark.parametrize("format_", FORMATS)
def test_text_calls_are_the_same_events_as_native_ones(format_: str) -> None:
    handler = parsing(format_)
    text = search(format_)
    events = feed(handler, "Let me look. ", text, " Done.", STOP)
    starts = [
        event for event in events if event.type is EventType.START and event.segment_type is not SegmentType.MARKUP
    ]
    assert [start.segment_type for start in starts] == ["text", "tool_call", "text"]
    call = starts[1]
    assert call.tool_name == "search"
    assert call.metadata is not None
    assert 13 <= call.metadata["position"] < 13 + len(text)
    (end,) = [event for event in events if event.type is EventType.END and event.segment_id == call.segment_id]
    assert end.metadata == {"arguments": {"query": "x"}}
    (invocation,) = handler.get_all_invocations()
    assert invocation.id == call.segment_id
    assert "".join(event.delta for event in events) == f"Let me look. {text} Done."


@pytest.mark.parametrize("format_", FORMATS)
def test_native_calls_are_counted_and_ignored_by_the_parsing_handler(format_: str) -> None:
    handler = parsing(format_)
    events = feed(
        handler,
        native("search", {"query": "a"}),
        search(format_, "b"),
        native("search", {"query": "c"}, index=1, call_id="c2"),
        STOP,
    )
    assert calls(handler) == [("search", "b")]
    assert events[-1].metadata == {"ignored_calls": 2}


@pytest.mark.parametrize("format_", FORMATS)
def test_nothing_runs_before_the_end(format_: str) -> None:
    handler = parsing(format_)
    for character in search(format_) + "\n\nDone.":
        handler.feed(ChunkResponse(character))
        assert handler.get_all_invocations() == []
    handler.feed(STOP)
    assert calls(handler) == [("search", "x")]


@pytest.mark.parametrize("format_", FORMATS)
@pytest.mark.parametrize("reason", [*StopReason])
def test_calls_run_after_stop_and_tool_calls_alone(format_: str, reason: StopReason) -> None:
    handler = parsing(format_)
    events = feed(handler, search(format_), " and", ChunkResponse(stop_reason=reason, is_complete=True))
    if reason in (StopReason.STOP, StopReason.TOOL_CALLS):
        assert calls(handler) == [("search", "x")]
    else:
        assert calls(handler) == []
        assert events[-1].metadata is not None
        assert len(events[-1].metadata["problems"]) == 1


@pytest.mark.parametrize("format_", FORMATS)
def test_a_stream_that_breaks_in_a_call_leaves_it_unfinished(format_: str) -> None:
    text = written(format_, "write_file", path="a.txt", content="hello world")
    for end in range(len(text)):
        handler = parsing(format_)
        events = [*handler.feed(ChunkResponse(text[:end])), *handler.finalize(TransportError("reset"))]
        if events:
            check_shape(events)
        assert events[-1].type is EventType.ERROR
        assert handler.get_all_invocations() == []
        assert "".join(event.delta for event in events) == text[:end]
        for call in handler.calls:
            assert call.arrived.problem
            assert call.closed


@pytest.mark.parametrize("format_", FORMATS)
def test_a_call_that_had_ended_before_the_stream_broke_is_told_by_the_error(format_: str) -> None:
    handler = parsing(format_)
    handler.feed(ChunkResponse(search(format_) + "\n\nmore"))
    *_, error = handler.finalize(TransportError("reset"))
    assert error.metadata is not None
    assert list(error.metadata["problems"].values()) == ["the stream broke off before its end"]
    assert handler.get_all_invocations() == []


@pytest.mark.parametrize("format_", FORMATS)
def test_reset_forgets_a_half_call(format_: str) -> None:
    text = search(format_)
    handler = parsing(format_)
    fresh = feed(parsing(format_), text, STOP)
    for end in (3, len(text) // 2, len(text) - 3, len(text)):
        handler.feed(ChunkResponse(text[:end]))
        handler.reset()
        assert handler.calls == []
        assert feed(handler, text, STOP) == fresh
        handler.reset()


@pytest.mark.parametrize("format_", FORMATS)
def test_reset_forgets_unknown_tools_and_ignored_calls(format_: str) -> None:
    handler = parsing(format_)
    text = text_format(format_).write_call("nobody", {"query": "x"}, None)
    events = feed(handler, text, native("search", {"query": "a"}), STOP)
    assert events[-1].metadata == {"ignored_calls": 1, "unknown_tools": ["nobody"]}
    assert handler.get_all_invocations() == []
    handler.reset()
    assert feed(handler, "Hi", STOP)[-1].metadata is None


@pytest.mark.parametrize("format_", FORMATS)
def test_every_handler_says_what_it_said(format_: str) -> None:
    seen: list[SegmentEvent] = []
    for make in (parsing, hybrid):
        seen.clear()
        handler = make(format_, on_segment_event=seen.append)
        events = feed(handler, "a ", search(format_), " b", STOP)
        assert handler.get_all_events() == events == seen
        assert handler.feed(ChunkResponse(search(format_))) == []
        assert handler.finalize() == []


# What is not the assistant's own text.


@pytest.mark.parametrize("format_", FORMATS)
@pytest.mark.parametrize("make", [parsing, hybrid])
@pytest.mark.parametrize("member", ["reasoning", "refusal"])
def test_reasoning_and_refusals_hold_no_calls(format_: str, make: Any, member: str) -> None:
    handler = make(format_)
    chunk = (
        ChunkResponse(reasoning=search(format_)) if member == "reasoning" else ChunkResponse(refusal=search(format_))
    )
    events = feed(handler, chunk, "Hi.", STOP)
    assert calls(handler) == []
    assert handler.calls == []
    assert "".join(event.delta for event in events) == search(format_) + "Hi."


@pytest.mark.parametrize("format_", FORMATS)
def test_alternatives_hold_no_calls(format_: str) -> None:
    handler = parsing(format_)
    events = feed(handler, ChunkResponse(search(format_, "other"), choice=1), search(format_, "mine"), STOP)
    assert calls(handler) == [("search", "mine")]
    assert len(handler.calls) == 1
    assert search(format_, "other") in "".join(event.delta for event in events)


@pytest.mark.parametrize("format_", FORMATS)
def test_a_call_is_not_pieced_together_of_two_choices(format_: str) -> None:
    text = search(format_)
    for at in range(1, len(text)):
        handler = parsing(format_)
        feed(handler, text[:at], ChunkResponse(text[at:], choice=1), STOP)
        assert not calls(handler) or is_end_of_fence(text[at:])


@pytest.mark.parametrize("format_", FORMATS)
def test_a_call_is_not_pieced_together_of_text_and_reasoning(format_: str) -> None:
    text = search(format_)
    for at in range(1, len(text)):
        handler = parsing(format_)
        feed(handler, text[:at], ChunkResponse(reasoning=text[at:]), STOP)
        assert not calls(handler) or is_end_of_fence(text[at:])
        assert "".join(segment.text for segment in handler.segments if segment.segment_type is SegmentType.REASONING)


@pytest.mark.parametrize("format_", FORMATS)
def test_reasoning_in_the_middle_of_an_opener_hides_no_call_and_loses_nothing(format_: str) -> None:
    text = f"Hi {search(format_)} bye"
    for at in range(len(text)):
        handler = parsing(format_)
        events = feed(handler, text[:at], ChunkResponse(reasoning="hm, "), text[at:], STOP)
        assert calls(handler) == [("search", "x")]
        assert text_of(events, SegmentType.REASONING) == "hm, "
        assert "".join(event.delta for event in events).replace("hm, ", "") == text


@pytest.mark.parametrize("format_", FORMATS)
def test_a_part_that_ends_does_not_cut_a_call(format_: str) -> None:
    """Anthropic and the Responses API mark the ends of text parts; a call that goes on is the same call."""
    text = search(format_)
    for at in range(1, len(text)):
        handler = parsing(format_)
        feed(handler, text[:at], ChunkResponse(part_end=PartEnd("text")), text[at:], STOP)
        assert calls(handler) == [("search", "x")]


# Both ways.


@pytest.mark.parametrize("format_", FORMATS)
def test_native_and_text_calls_come_in_the_order_in_which_they_began(format_: str) -> None:
    handler = hybrid(format_)
    feed(
        handler,
        search(format_, "one") + "\n\n",
        native("search", {"query": "two"}),
        search(format_, "three") + "\n\n",
        native("search", {"query": "four"}, index=1, call_id="c2"),
        search(format_, "five"),
        STOP,
    )
    assert [query for _, query in calls(handler)] == ["one", "two", "three", "four", "five"]
    assert [call.arrived.segment_id for call in handler.calls] == [made.id for made in handler.get_all_invocations()]


@pytest.mark.parametrize("format_", FORMATS)
@pytest.mark.parametrize("native_first", [True, False])
def test_a_call_that_comes_both_ways_runs_once(format_: str, native_first: bool) -> None:
    handler = hybrid(format_)
    both = [native("search", {"query": "x", "limit": 5}), ChunkResponse(search(format_, "x", limit=5))]
    events = feed(handler, *(both if native_first else both[::-1]), STOP)
    (invocation,) = handler.get_all_invocations()
    assert invocation.call_id == "c1"
    assert events[-1].metadata is not None
    (problem,) = events[-1].metadata["problems"].values()
    assert "c1" in problem
    assert "once" in problem


@pytest.mark.parametrize("format_", FORMATS)
def test_two_written_and_one_native_are_two(format_: str) -> None:
    handler = hybrid(format_)
    feed(handler, search(format_), "\n\n", search(format_), "\n\n", native("search", {"query": "x"}), STOP)
    made = handler.get_all_invocations()
    assert len(made) == 2
    assert sorted(invocation.call_id for invocation in made) == ["", "c1"]


@pytest.mark.parametrize("format_", FORMATS)
def test_one_written_and_two_native_are_two(format_: str) -> None:
    handler = hybrid(format_)
    again = native("search", {"query": "x"}, index=1, call_id="c2")
    feed(handler, native("search", {"query": "x"}), again, search(format_), STOP)
    assert [invocation.call_id for invocation in handler.get_all_invocations()] == ["c1", "c2"]


@pytest.mark.parametrize("format_", FORMATS)
def test_a_native_call_of_an_alternative_stands_for_none_that_is_written(format_: str) -> None:
    handler = hybrid(format_)
    alternative = native("search", {"query": "x"})
    alternative.choice = 1
    feed(handler, alternative, search(format_), STOP)
    assert calls(handler) == [("search", "x")]


@pytest.mark.parametrize("format_", FORMATS)
def test_two_broken_calls_do_not_repeat_each_other(format_: str) -> None:
    handler = hybrid(format_)
    broken = ChunkResponse(tool_calls=[ToolCallDelta(0, "c1", "search", '{"query": "x"', done=True)])
    text = search(format_)
    feed(handler, broken, text[: text.index("x") + 1], STOP)
    assert calls(handler) == []
    assert [bool(call.arrived.problem) for call in handler.calls] == [True, True]
    assert [call.arrived.repeats for call in handler.calls] == ["", ""]


@pytest.mark.parametrize(("format_", "opener"), [("xml", "<"), ("json", "{"), ("sentinel", "[")])
def test_a_bound_reached_at_a_broken_end_does_not_hide_why_it_broke(format_: str, opener: str) -> None:
    handler = parsing(format_, limits=Limits(segments=1))
    handler.feed(ChunkResponse(reasoning="Let me think."))
    handler.feed(ChunkResponse(opener))
    events = handler.finalize(TransportError("the line is dead"))
    assert events[-1].error is not None
    assert events[-1].error.message == "the line is dead"


@pytest.mark.parametrize("format_", FORMATS)
def test_a_native_call_of_which_nothing_but_its_name_came_is_not_lost(format_: str) -> None:
    handler = hybrid(format_)
    named = ChunkResponse(tool_calls=[ToolCallDelta(0, "c1", "search")])
    events = feed(handler, named, search(format_), STOP)
    assert calls(handler) == [("search", "x")]
    assert [call.arrived.call_id for call in handler.calls] == ["", "c1"]
    (broken,) = [call for call in handler.calls if call.arrived.call_id]
    assert "not finished" in broken.arrived.problem
    assert broken.arrived.segment_id in {event.segment_id for event in events if event.type is EventType.END}


@pytest.mark.parametrize("format_", FORMATS)
@pytest.mark.parametrize("size", [1, 7, 100])
def test_plain_text_over_the_bound_ends_at_the_bound(format_: str, size: int) -> None:
    handler = parsing(format_, limits=Limits(stream=20))
    text = "words and words and words and words"
    chunks = [ChunkResponse(text[at : at + size]) for at in range(0, len(text), size)]
    events: list[SegmentEvent] = []
    with pytest.raises(LimitExceeded, match="the text of one answer"):
        handler.feed_into(chunks, events)
    assert text_of(events, SegmentType.TEXT) == text[:20]


@pytest.mark.parametrize("format_", FORMATS)
def test_other_arguments_are_another_call(format_: str) -> None:
    handler = hybrid(format_)
    feed(handler, native("search", {"query": "x", "limit": 1}), search(format_, "x", limit=2), STOP)
    assert len(handler.get_all_invocations()) == 2
    handler = hybrid(format_)
    feed(
        handler,
        native("book", {"cabin": "economy", "anything": 1}),
        written(format_, "book", cabin="economy", anything=True),
        STOP,
    )
    assert len(handler.get_all_invocations()) == 2, "1 and true are equal to Python alone"


@pytest.mark.parametrize("format_", FORMATS)
def test_a_broken_native_call_does_not_take_the_written_one_with_it(format_: str) -> None:
    handler = hybrid(format_)
    broken = ChunkResponse(tool_calls=[ToolCallDelta(0, "c1", "search", '{"query": "x"', done=True)])
    feed(handler, broken, search(format_), STOP)
    (invocation,) = handler.get_all_invocations()
    assert invocation.call_id == ""


@pytest.mark.parametrize("format_", FORMATS)
def test_a_broken_written_call_does_not_take_the_native_one_with_it(format_: str) -> None:
    handler = hybrid(format_)
    text = search(format_)
    feed(handler, native("search", {"query": "x"}), text[: len(text) // 2], STOP)
    (invocation,) = handler.get_all_invocations()
    assert invocation.call_id == "c1"


@pytest.mark.parametrize("format_", FORMATS)
def test_an_answer_goes_into_the_history_with_each_call_once(format_: str) -> None:
    parser = StreamParser(True, text_format(format_))
    stream = Stream("openai-chat", TOOLS, stream_parser=parser)
    arguments = '{"query": "x"}'
    body = sse(
        delta(content="Hi "),
        delta(content=search(format_)),
        delta(tool_calls=[native_call(arguments, id="c1", name="search")]),
        delta(finish="tool_calls"),
    )
    stream.feed(body)
    stream.close()
    parts = stream.message.tool_calls
    assert [(part.id, part.written) for part in parts] == [("c1", None)]


# Over the wire.


@pytest.mark.parametrize("format_", FORMATS)
def test_a_leaked_call_is_found_only_when_asked_for(format_: str) -> None:
    body = sse(delta(content=search(format_)), delta(finish="stop"))
    for parser, found in (("api_tool_call", 0), ("auto", 0), (format_, 1), (f"api_tool_call+{format_}", 1)):
        stream = Stream("openai-chat", TOOLS, stream_parser=parser)
        stream.feed(body)
        stream.close()
        assert len(stream.invocations) == found, parser
        assert not stream.invocations or stream.message.tool_calls[0].written is not None


@pytest.mark.parametrize("format_", FORMATS)
@pytest.mark.parametrize("both", ["", "api_tool_call+"])
def test_bytes_cut_anywhere_give_the_same_events(format_: str, both: str) -> None:
    text = f"É 😀 {search(format_, 'é😀')} bye"
    middle = len(text) // 2
    body = sse(
        delta(content=text[:middle]),
        delta(reasoning_content="hm"),
        delta(content=text[middle:]),
        delta(tool_calls=[native_call('{"query": "n"}', id="c1", name="search")]),
        delta(finish="tool_calls"),
    )
    made: list[Any] = []
    for pieces in ([body], [body[at : at + 1] for at in range(len(body))], [body[:200], body[200:]]):
        stream = Stream("openai-chat", TOOLS, stream_parser=f"{both}{format_}")
        events = [event for piece in pieces for event in stream.feed(piece)] + stream.close()
        check_shape(events)
        made.append((list(merged(events)), stream.summary()))
    assert made[0] == made[1] == made[2]
    assert [call["complete"] for call in made[0][1]["calls"]] == ([True, True] if both else [True])


@pytest.mark.parametrize("format_", FORMATS)
@pytest.mark.parametrize("both", ["", "api_tool_call+"])
def test_an_sdks_objects_give_the_same_events_as_the_bytes(format_: str, both: str) -> None:
    sent = [
        delta(content=f"Hi {search(format_)[:20]}"),
        delta(content=f"{search(format_)[20:]} bye"),
        delta(tool_calls=[native_call('{"query": "n"}', id="c1", name="search")]),
        delta(finish="tool_calls"),
    ]
    stream = Stream("openai-chat", TOOLS, stream_parser=f"{both}{format_}")
    events = stream.feed(sse(*sent)) + stream.close()
    of_sdk = SdkStream(TOOLS, "openai-chat", stream_parser=f"{both}{format_}")
    assert list(merged(of_sdk.events(sent))) == list(merged(events))
    assert of_sdk.invocations == stream.invocations
    assert len(stream.invocations) == (2 if both else 1)


@pytest.mark.parametrize("format_", FORMATS)
def test_bytes_that_end_early_run_nothing(format_: str) -> None:
    body = sse(delta(content=f"a {search(format_)} b"), delta(finish="stop"), done=False)
    for end in range(0, len(body) - 1, 3):
        stream = Stream("openai-chat", TOOLS, stream_parser=format_)
        stream.feed(body[:end])
        stream.close()
        # What has come may end in the middle of the last line, whose fields are all there.
        assert not stream.invocations or body[end:] in (b"\n", b"\n\n", b"}\n\n")


def test_native_streams_are_what_they_were() -> None:
    check_native_cuts(sse(delta(content="<tool name='search'/>"), delta(finish="stop")))


# Limits.


@pytest.mark.parametrize("format_", FORMATS)
def test_a_call_over_its_bound_ends_the_answer(format_: str) -> None:
    limits = Limits(arguments=120)
    text = search(format_, "x" * 500)
    ends = []
    for size in (1, 7, len(text)):
        stream = Stream("openai-chat", TOOLS, limits=limits, stream_parser=format_)
        chunks = [delta(content=text[at : at + size]) for at in range(0, len(text), size)]
        events = stream.feed(sse(*chunks, delta(finish="stop"))) + stream.close()
        check_shape(events)
        assert events[-1].error is not None
        assert events[-1].error.type == "LimitExceeded"
        assert stream.invocations == []
        ends.append(list(merged(events)))
    assert ends[0] == ends[1] == ends[2]


def test_a_bound_reached_at_the_end_does_not_hide_why_the_stream_broke() -> None:
    for room in range(3, 12):
        handler = parsing("xml", limits=Limits(arguments=room))
        # Until its end it may be the closing tag, which does not count.
        events = handler.feed(ChunkResponse("<run_bash>ls </run_ba"))
        events += handler.finalize(TransportError("the connection broke"))
        check_shape(events)
        assert events[-1].error is not None
        assert events[-1].error.type == "TransportError"
        shown = "".join(event.delta for event in events)
        assert shown == "<run_bash>" + "ls </run_ba"[:room]


def test_many_long_calls_both_ways_are_compared_once(monkeypatch: pytest.MonkeyPatch) -> None:
    compared = 0
    exact = invocation._exact

    def counted(arguments: dict[str, Any] | None) -> str:
        nonlocal compared
        compared += 1
        return exact(arguments)

    monkeypatch.setattr(invocation, "_exact", counted)
    handler = hybrid("json")
    for number in range(50):
        handler.feed(native("search", {"query": f"n{number}"}, index=number, call_id=f"c{number}"))
        handler.feed(ChunkResponse(search("json", f"t{number}")))
    handler.feed(STOP)
    assert len(handler.get_all_invocations()) == 100
    assert compared == 100
