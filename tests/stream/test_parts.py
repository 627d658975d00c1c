"""Ends of parts, tools on the provider's side, citations and media: chunks in, events and the message out."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from feeding import check_shape
from toolwire import ChunkResponse, EventType, Limits, SegmentEvent, SegmentType, StopReason, ToolCallDelta
from toolwire.chunks import AudioDelta, Citation, PartEnd, ServerToolDelta
from toolwire.errors import LimitExceeded, TransportError
from toolwire.messages import MediaPart, OpaquePart, Part, TextPart, ThinkingPart, ToolCallPart
from toolwire.stream.answer import answer_message
from toolwire.stream.handlers import ApiToolCallStreamingResponseHandler, PassThroughStreamingResponseHandler

Handler = ApiToolCallStreamingResponseHandler | PassThroughStreamingResponseHandler

END = ChunkResponse(stop_reason=StopReason.STOP, is_complete=True)
SIGNED = {"wire": "w", "signature": "abc"}
BLOCK = {"wire": "w", "block": {"type": "server_tool_use"}}


def text(words: str, **members: Any) -> ChunkResponse:
    return ChunkResponse(content=words, **members)


def thought(words: str, **members: Any) -> ChunkResponse:
    return ChunkResponse(reasoning=words, **members)


def ended(kind: Any, data: dict[str, Any] | None = None, **members: Any) -> ChunkResponse:
    return ChunkResponse(part_end=PartEnd(kind, data), **members)


def server(key: str, words: str = "", **members: Any) -> ChunkResponse:
    return ChunkResponse(server_tools=[ServerToolDelta(key, text=words, **members)])


def call(name: str = "f", arguments: str = "{}", index: int = 0, **members: Any) -> ChunkResponse:
    return ChunkResponse(tool_calls=[ToolCallDelta(index, f"c{index}", name, arguments, True, **members)])


def run(chunks: list[ChunkResponse], handler: Handler | None = None) -> tuple[Handler, list[SegmentEvent]]:
    handler = handler or ApiToolCallStreamingResponseHandler()
    events = [event for chunk in chunks for event in handler.feed(chunk)]
    events += handler.finalize()
    check_shape(events)
    return handler, events


def parts(chunks: list[ChunkResponse]) -> list[Part]:
    handler, _ = run(chunks)
    return answer_message(handler.segments, handler.provider_data).parts


def shown(events: list[SegmentEvent]) -> list[tuple[str, str]]:
    """The segments that a screen sees, in order of their START, with their content."""
    kinds = {event.segment_id: str(event.segment_type) for event in events if event.type is EventType.START}
    content = dict.fromkeys(kinds, "")
    for event in events:
        if event.type is EventType.CONTENT:
            content[event.segment_id] += event.delta
    return [(kinds[segment_id], words) for segment_id, words in content.items()]


MESSAGES: dict[str, tuple[list[ChunkResponse], list[Part], list[tuple[str, str]]]] = {
    "an end parts two texts": (
        [text("a"), ended("text"), text("b"), END],
        [TextPart("a"), TextPart("b")],
        [("text", "a"), ("text", "b")],
    ),
    "without an end they are one": ([text("a"), text("b"), END], [TextPart("ab")], [("text", "ab")]),
    "an end that closes nothing is nothing": (
        [
            ended("text"),
            ended("reasoning"),
            text("a"),
            ended("reasoning"),
            text("b"),
            ended("text"),
            ended("text"),
            END,
        ],
        [TextPart("ab")],
        [("text", "ab")],
    ),
    "what must go back stays with its reasoning": (
        [thought("h"), thought("m"), ended("reasoning", SIGNED), text("a"), END],
        [ThinkingPart("hm", SIGNED), TextPart("a")],
        [("reasoning", "hm"), ("text", "a")],
    ),
    "and with its text": (
        [text("a", part_end=PartEnd("text", SIGNED)), text("b"), END],
        [TextPart("a", provider_data=SIGNED), TextPart("b")],
        [("text", "a"), ("text", "b")],
    ),
    "the end on the last chunk is after its words": (
        [thought("h"), thought("m", part_end=PartEnd("reasoning", SIGNED)), END],
        [ThinkingPart("hm", SIGNED)],
        [("reasoning", "hm")],
    ),
    "reasoning without words": (
        [ended("reasoning", SIGNED), text("a"), END],
        [ThinkingPart("", SIGNED), TextPart("a")],
        [("text", "a")],
    ),
    "text without words, in its place": (
        [text("a"), ended("text"), ended("text", SIGNED), text("b"), END],
        [TextPart("a"), TextPart("", provider_data=SIGNED), TextPart("b")],
        [("text", "a"), ("text", "b")],
    ),
    "hidden reasoning in the middle of a text": (
        [text("a"), ended("reasoning", SIGNED), text("b"), END],
        [TextPart("a"), ThinkingPart("", SIGNED), TextPart("b")],
        [("text", "a"), ("text", "b")],
    ),
    "two hidden parts in a row": (
        [ended("reasoning", SIGNED), ended("reasoning", {"wire": "w", "n": 2}), END],
        [ThinkingPart("", SIGNED), ThinkingPart("", {"wire": "w", "n": 2})],
        [],
    ),
    "a block that nobody here understands": (
        [text("a"), ended("opaque", BLOCK), text("b"), END],
        [TextPart("a"), OpaquePart(BLOCK), TextPart("b")],
        [("text", "a"), ("text", "b")],
    ),
    "an opaque end without data": ([text("a"), ended("opaque"), text("b"), END], [TextPart("ab")], [("text", "ab")]),
    "a refusal has its end too": (
        [ChunkResponse(refusal="No."), ended("text", SIGNED), ChunkResponse(refusal="Never."), END],
        [TextPart("No.", True, SIGNED), TextPart("Never.", True)],
        [("text", "No."), ("text", "Never.")],
    ),
    "the end of a chunk stands before its calls": (
        [thought("hm"), ended("reasoning", SIGNED, tool_calls=call("f").tool_calls), END],
        [ThinkingPart("hm", SIGNED), ToolCallPart("c0", "f", {}, "{}")],
        [("reasoning", "hm"), ("tool_call", "{}")],
    ),
    "what must go back with a call": (
        [call("f", provider_data=SIGNED), call("g", index=1), END],
        [ToolCallPart("c0", "f", {}, "{}", SIGNED), ToolCallPart("c1", "g", {}, "{}")],
        [("tool_call", "{}"), ("tool_call", "{}")],
    ),
    "a picture and what must go back with it": (
        [ChunkResponse(image_urls=["data:image/png;base64,AA"], part_end=PartEnd("media", SIGNED)), END],
        [MediaPart("image/png", url="data:image/png;base64,AA", provider_data=SIGNED)],
        [("media", "data:image/png;base64,AA")],
    ),
    "the end belongs to the last picture of a chunk": (
        [ChunkResponse(image_urls=["http://a", "http://b"], part_end=PartEnd("media", SIGNED)), END],
        [MediaPart("image", url="http://a"), MediaPart("image", url="http://b", provider_data=SIGNED)],
        [("media", "http://a"), ("media", "http://b")],
    ),
    "an end of media does not end a text": (
        [text("a"), ended("media", SIGNED), text("b"), END],
        [TextPart("ab")],
        [("text", "ab")],
    ),
    "spoken words": (
        [
            ChunkResponse(audio=AudioDelta("a", "AA", "Hel")),
            ChunkResponse(audio=AudioDelta(None, "BB", "lo")),
            END,
        ],
        [TextPart("Hello"), MediaPart("audio", data="AABB")],
        [("text", "Hello"), ("media", "AABB")],
    ),
    "a tool on the provider's side and what it gave": (
        [
            text("a"),
            server("1", '{"q":', name="web_search", call_id="st1"),
            server("1", '"x"}'),
            server("1", done=True, provider_data=BLOCK),
            server("2", "3 hits", name="web_search", call_id="st1", is_result=True, done=True, provider_data=SIGNED),
            text("b"),
            END,
        ],
        [TextPart("a"), OpaquePart(BLOCK, "web_search"), OpaquePart(SIGNED, "web_search"), TextPart("b")],
        [("text", "a"), ("server_tool", '{"q":"x"}'), ("server_tool", "3 hits"), ("text", "b")],
    ),
    "one that nobody wants back": (
        [server("1", "x", name="code", done=True), END],
        [],
        [("server_tool", "x")],
    ),
    "one that never ended": (
        [server("1", "x", name="code"), text("a"), END],
        [TextPart("a")],
        [("server_tool", "x"), ("text", "a")],
    ),
    "pieces after its end": (
        [server("1", "x", name="code", done=True, provider_data=BLOCK), server("1", "y", done=True), END],
        [OpaquePart(BLOCK, "code")],
        [("server_tool", "x")],
    ),
    "two at a time": (
        [
            server("1", "a", name="f"),
            server("2", "b", name="g"),
            server("1", "A", done=True, provider_data=BLOCK),
            server("2", "B", done=True, provider_data=SIGNED),
            END,
        ],
        [OpaquePart(BLOCK, "f"), OpaquePart(SIGNED, "g")],
        [("server_tool", "aA"), ("server_tool", "bB")],
    ),
    "parts of an alternative answer stay out of the message": (
        [
            text("a"),
            ended("reasoning", SIGNED, choice=1),
            text("b", choice=1, part_end=PartEnd("text", SIGNED)),
            text("c"),
            END,
        ],
        [TextPart("ac")],
        [("text", "ac"), ("text", "b")],
    ),
}


@pytest.mark.parametrize("name", MESSAGES)
def test_message_and_screen(name: str) -> None:
    chunks, expected, screen = MESSAGES[name]
    handler, events = run(chunks)
    assert answer_message(handler.segments, handler.provider_data).parts == expected
    assert shown(events) == screen
    assert handler.complete


@pytest.mark.parametrize("name", MESSAGES)
def test_a_handler_without_tools_makes_the_same_parts(name: str) -> None:
    chunks, expected, _ = MESSAGES[name]
    handler, _ = run(chunks, PassThroughStreamingResponseHandler())
    parts = answer_message(handler.segments, handler.provider_data).parts
    assert parts == [part for part in expected if not isinstance(part, ToolCallPart)]


@pytest.mark.parametrize("name", MESSAGES)
def test_a_stream_that_breaks_keeps_what_had_ended(name: str) -> None:
    chunks, expected, _ = MESSAGES[name]
    handler, events = run(chunks[:-1])
    assert events[-1].type is EventType.ERROR
    assert not handler.complete
    assert answer_message(handler.segments, handler.provider_data).parts == expected
    assert handler.get_all_invocations() == []


def test_what_is_open_when_a_stream_breaks_ends_as_incomplete() -> None:
    handler = ApiToolCallStreamingResponseHandler()
    for chunk in (server("1", "x", name="code"), server("2", "y", name="code", done=True), thought("hm")):
        handler.feed(chunk)
    *ends, error = handler.finalize(TransportError("reset"))
    assert {end.segment_id: end.metadata for end in ends} == {"s0": {"incomplete": True}, "s2": {"incomplete": True}}
    assert error.error is not None
    assert error.error.type == "TransportError"
    assert answer_message(handler.segments, []).parts == [ThinkingPart("hm")]


def test_a_signature_that_never_came_is_not_made_up() -> None:
    """Half a thought without its signature is told apart from one that has it: the encoder must not send it."""
    assert parts([thought("hm")]) == [ThinkingPart("hm", None)]


def test_server_tools_are_never_invocations() -> None:
    handler, events = run(
        [
            server("1", "{}", name="f", call_id="c0", done=True),
            call("f"),
            ChunkResponse(stop_reason=StopReason.TOOL_CALLS, is_complete=True),
        ]
    )
    starts = [event for event in events if event.type is EventType.START]
    # The provider's id is taken by what came first; the call keeps its own id beside that of its segment.
    assert [(start.segment_type, start.segment_id, start.tool_name) for start in starts] == [
        (SegmentType.SERVER_TOOL, "c0", "f"),
        (SegmentType.TOOL_CALL, "s0", "f"),
    ]
    assert [(made.id, made.call_id) for made in handler.get_all_invocations()] == [("s0", "c0")]


def test_results_of_server_tools_say_so() -> None:
    _, events = run([server("1", name="f", call_id="a"), server("2", name="f", call_id="a", is_result=True), END])
    starts = [event for event in events if event.type is EventType.START]
    assert [(start.segment_id, start.metadata) for start in starts] == [("a", None), ("s0", {"result": True})]


ONE, TWO = Citation("http://1", "One"), Citation("http://2", quote="two")

CITED: dict[str, tuple[list[ChunkResponse], dict[str, list[Citation]], list[Citation]]] = {
    "beside the text": ([text("a", citations=[ONE]), text("b", citations=[TWO]), END], {"s0": [ONE, TWO]}, []),
    "after it": ([text("a"), ChunkResponse(citations=[ONE]), END], {"s0": [ONE]}, []),
    "with its end": (
        [text("a"), ended("text", citations=[ONE]), text("b", citations=[TWO]), END],
        {"s0": [ONE], "s1": [TWO]},
        [],
    ),
    "after its end": ([text("a"), ended("text"), ChunkResponse(citations=[ONE, TWO]), END], {}, [ONE, TWO]),
    "before any text": ([ChunkResponse(citations=[ONE]), text("a"), END], {}, [ONE]),
    "while it thinks": ([thought("hm"), ChunkResponse(citations=[ONE]), END], {}, [ONE]),
    "on the last chunk": ([text("a"), msgspec.structs.replace(END, citations=[ONE])], {"s0": [ONE]}, []),
    "in a stream that broke": (
        [text("a", citations=[ONE]), ended("text"), ChunkResponse(citations=[TWO])],
        {"s0": [ONE]},
        [TWO],
    ),
    "of an alternative": (
        [text("a"), text("b", choice=1), ChunkResponse(citations=[ONE], choice=1), END],
        {"s1": [ONE]},
        [],
    ),
}


@pytest.mark.parametrize("handler", [ApiToolCallStreamingResponseHandler, PassThroughStreamingResponseHandler])
@pytest.mark.parametrize("name", CITED)
def test_citations(name: str, handler: type[Handler]) -> None:
    chunks, in_text, late = CITED[name]
    _, events = run(chunks, handler())
    ends = [(event.segment_id, event.metadata or {}) for event in events[:-1] if event.type is EventType.END]
    told = {segment_id: metadata["citations"] for segment_id, metadata in ends if "citations" in metadata}
    assert told == in_text
    assert (events[-1].metadata or {}).get("citations", []) == late


def test_citations_that_come_late_stand_beside_the_problems_of_calls() -> None:
    _, events = run(
        [call("f"), ChunkResponse(citations=[ONE]), ChunkResponse(stop_reason=StopReason.LENGTH, is_complete=True)]
    )
    assert events[-1].metadata is not None
    assert set(events[-1].metadata) == {"problems", "citations"}


def test_names_are_mapped_back_to_the_tools_own() -> None:
    handler = ApiToolCallStreamingResponseHandler(tool_names={"files_read_1a2b3c": "files.read", "wf": "write_file"})
    _, events = run(
        [
            ChunkResponse(tool_calls=[ToolCallDelta(0, "c0", "files_read")]),
            ChunkResponse(tool_calls=[ToolCallDelta(0, None, "_1a2b3c", "{}", True)]),
            call("wf", index=1),
            call("other", index=2),
            server("1", name="wf", done=True, provider_data=BLOCK),
            ChunkResponse(stop_reason=StopReason.TOOL_CALLS, is_complete=True),
        ],
        handler,
    )
    starts = [(event.tool_name, event.segment_type) for event in events if event.type is EventType.START]
    assert starts == [
        ("files.read", SegmentType.TOOL_CALL),
        ("write_file", SegmentType.WRITE_FILE),
        ("other", SegmentType.TOOL_CALL),
        ("wf", SegmentType.SERVER_TOOL),
    ]
    assert [made.tool_name for made in handler.get_all_invocations()] == ["files.read", "write_file", "other"]
    message = answer_message(handler.segments, [])
    assert [made.name for made in message.tool_calls] == ["files.read", "write_file", "other"]


BOUNDS: dict[str, tuple[Limits, ChunkResponse, str]] = {
    "hidden parts": (Limits(segments=5), ended("reasoning", SIGNED), "segments"),
    "opaque parts": (Limits(segments=5), ended("opaque", BLOCK), "segments"),
    "parts with words": (Limits(segments=5), text("a", part_end=PartEnd("text")), "segments"),
    "pictures": (Limits(segments=5), ChunkResponse(image_urls=["http://a"]), "segments"),
    "citations in a text": (Limits(blocks=5), text("a", citations=[ONE]), "citations"),
    "citations in many texts": (
        Limits(blocks=5),
        text("a", citations=[ONE], part_end=PartEnd("text")),
        "citations",
    ),
    "late citations": (Limits(blocks=5), ChunkResponse(citations=[ONE]), "citations"),
    "blocks of the message": (Limits(blocks=5), ChunkResponse(provider_data=[BLOCK]), "opaque blocks"),
}


@pytest.mark.parametrize("name", BOUNDS)
def test_bounds(name: str) -> None:
    limits, chunk, what = BOUNDS[name]
    handler = ApiToolCallStreamingResponseHandler(limits=limits)
    for _ in range(5):
        handler.feed(chunk)
    with pytest.raises(LimitExceeded, match=what) as error:
        handler.feed(chunk)
    assert error.value.limit == 5
    check_shape([*handler.get_all_events(), *handler.finalize(error.value)])


def test_server_tools_are_bounded() -> None:
    handler = ApiToolCallStreamingResponseHandler(limits=Limits(segments=5))
    for number in range(5):
        handler.feed(server(str(number), name="f", done=True))
    with pytest.raises(LimitExceeded, match="segments") as error:
        handler.feed(server("6", name="f"))
    check_shape([*handler.get_all_events(), *handler.finalize(error.value)])


def test_a_call_over_the_bound_on_segments_does_not_break_the_end() -> None:
    """Calls have a bound of their own; whatever counts them, the stream must still be able to say how it ended."""
    handler = ApiToolCallStreamingResponseHandler(limits=Limits(segments=1))
    handler.feed(text("a"))
    with pytest.raises(LimitExceeded):
        handler.feed(thought("b"))
    handler.feed(ChunkResponse(tool_calls=[ToolCallDelta(0, "c0", "f")]))
    check_shape([*handler.get_all_events(), *handler.finalize()])


def test_nothing_follows_the_end() -> None:
    handler, _ = run([text("a"), END])
    late = [ended("reasoning", SIGNED), server("1", name="f"), ChunkResponse(citations=[ONE]), text("b"), END]
    assert [event for chunk in late for event in handler.feed(chunk)] == []
    assert answer_message(handler.segments, []).parts == [TextPart("a")]


def test_reset_forgets_everything() -> None:
    handler = ApiToolCallStreamingResponseHandler()
    chunks = [
        server("1", "x", name="f"),
        text("a", citations=[ONE]),
        ended("text"),
        ChunkResponse(citations=[TWO]),
        END,
    ]
    _, first = run(chunks, handler)
    handler.reset()
    _, second = run(chunks, handler)
    assert first == second
