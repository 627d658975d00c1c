"""Anthropic Messages, decoding: what the API and its gateways send, in small cases of our own, fed whole and cut."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from feeding import bytewise, check_shape, merged, read, sse, typed_sse, whole
from toolwire import EventType, Limits, SegmentEvent, StopReason, Stream
from toolwire.messages import OpaquePart, TextPart, ThinkingPart, ToolCallPart
from toolwire.providers.anthropic import STOP_REASONS

Event = dict[str, Any]


def start(*content: Any, stop_reason: str | None = None, **members: Any) -> Event:
    message = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "content": list(content),
        "stop_reason": stop_reason,
        "usage": {"input_tokens": 5, "output_tokens": 1},
        **members,
    }
    return {"type": "message_start", "message": message}


def opens(index: Any, kind: str, **members: Any) -> Event:
    return {"type": "content_block_start", "index": index, "content_block": {"type": kind, **members}}


def whole_block(index: Any, block: dict[str, Any]) -> Event:
    return {"type": "content_block_start", "index": index, "content_block": block}


def delta(index: Any, kind: str, **members: Any) -> Event:
    return {"type": "content_block_delta", "index": index, "delta": {"type": kind, **members}}


def text(index: Any, words: str) -> Event:
    return delta(index, "text_delta", text=words)


def thought(index: Any, words: str) -> Event:
    return delta(index, "thinking_delta", thinking=words)


def sign(index: Any, signature: str) -> Event:
    return delta(index, "signature_delta", signature=signature)


def json(index: Any, piece: str) -> Event:
    return delta(index, "input_json_delta", partial_json=piece)


def stop(index: Any) -> Event:
    return {"type": "content_block_stop", "index": index}


def says(index: Any, *words: str) -> list[Event]:
    return [opens(index, "text", text=""), *(text(index, word) for word in words), stop(index)]


def calls(index: Any, *pieces: str, id: str = "t1", name: str = "f", **members: Any) -> list[Event]:
    begun = opens(index, "tool_use", id=id, name=name, input={}, **members)
    return [begun, *(json(index, piece) for piece in pieces), stop(index)]


def last(reason: str | None, **usage: Any) -> list[Event]:
    stopped = {"stop_reason": reason, "stop_sequence": None}
    return [
        {"type": "message_delta", "delta": stopped, "usage": usage or {"output_tokens": 7}},
        {"type": "message_stop"},
    ]


def answer(*events: Event, reason: str | None = "end_turn") -> bytes:
    return typed_sse(start(), *events, *last(reason))


def decode(body: bytes, **options: Any) -> tuple[Stream, list[SegmentEvent]]:
    """The stream of these bytes, after checking that byte by byte they give the same."""
    stream, events = read(whole(body), "anthropic", **options)
    check_shape(events)
    cut, cut_events = read(bytewise(body), "anthropic", **options)
    assert list(merged(cut_events)) == list(merged(events))
    assert cut.summary() == stream.summary()
    assert msgspec.to_builtins(cut.message) == msgspec.to_builtins(stream.message)
    assert cut.quirks == stream.quirks
    msgspec.json.encode([stream.summary(), stream.message])
    return stream, events


def shown_calls(stream: Stream) -> list[tuple[str, str, Any, bool]]:
    return [(call["id"], call["name"], call["arguments"], call["complete"]) for call in stream.summary()["calls"]]


F = [("t1", "f", {"x": 1}, True)]

CALLS: dict[str, tuple[bytes, list[tuple[str, str, Any, bool]]]] = {
    "as the API sends it": (answer(*calls(0, "", '{"x"', ": 1}"), reason="tool_use"), F),
    "after text": (answer(*says(0, "I look."), *calls(1, '{"x":1}'), reason="tool_use"), F),
    "no arguments: nothing but empty pieces": (answer(*calls(0, "", ""), reason="tool_use"), [("t1", "f", {}, True)]),
    "no arguments: no piece at all": (answer(*calls(0), reason="tool_use"), [("t1", "f", {}, True)]),
    "input whole in the start": (
        answer(opens(0, "tool_use", id="t1", name="f", input={"x": 1}), stop(0), reason="tool_use"),
        F,
    ),
    "input in the start and streamed counts once": (
        answer(opens(0, "tool_use", id="t1", name="f", input={"x": 1}), json(0, '{"x":1}'), stop(0), reason="tool_use"),
        F,
    ),
    "whole in message_start": (
        typed_sse(
            start({"type": "tool_use", "id": "t1", "name": "f", "input": {"x": 1}}, stop_reason="tool_use"),
            {"type": "message_stop"},
        ),
        F,
    ),
    "two calls": (
        answer(*calls(0, '{"x":1}'), *calls(1, "{}", id="t2", name="g"), reason="tool_use"),
        [*F, ("t2", "g", {}, True)],
    ),
    "two calls at once": (
        answer(
            opens(0, "tool_use", id="t1", name="f"),
            opens(1, "tool_use", id="t2", name="g"),
            json(1, '{"y"'),
            json(0, '{"x":1}'),
            json(1, ":2}"),
            stop(1),
            stop(0),
            reason="tool_use",
        ),
        [*F, ("t2", "g", {"y": 2}, True)],
    ),
    "gaps in the index": (
        answer(*calls(3, '{"x":1}'), *calls(99_999_999, "{}", id="t2"), reason="tool_use"),
        [*F, ("t2", "f", {}, True)],
    ),
    "no index": (answer(*calls(None, '{"x":1}'), reason="tool_use"), F),
    "index as text": (answer(*calls("0", '{"x":1}'), reason="tool_use"), F),
    "an index used twice": (
        answer(*calls(0, '{"x":1}'), *calls(0, "{}", id="t2"), reason="tool_use"),
        [*F, ("t2", "f", {}, True)],
    ),
    "end_turn although there is a call": (answer(*calls(0, '{"x":1}'), reason="end_turn"), F),
    "no id": (answer(*calls(0, '{"x":1}', id=""), reason="tool_use"), [("s0", "f", {"x": 1}, True)]),
    "never stopped": (
        answer(opens(0, "tool_use", id="t1", name="f"), json(0, '{"x":1}'), reason="tool_use"),
        [("t1", "f", '{"x":1}', False)],
    ),
    "cut by max_tokens": (
        answer(opens(0, "tool_use", id="t1", name="f"), json(0, '{"x":'), reason="max_tokens"),
        [("t1", "f", '{"x":', False)],
    ),
    "stopped, but no JSON (fine-grained streaming)": (
        answer(*calls(0, '{"x": unquo'), reason="tool_use"),
        [("t1", "f", '{"x": unquo', False)],
    ),
    "a stop sequence in the call": (answer(*calls(0), reason="stop_sequence"), [("t1", "f", "", False)]),
    "a stop sequence after the call": (
        answer(*calls(0, '{"x":1}'), *says(1, "so"), reason="stop_sequence"),
        F,
    ),
    "no stop reason": (
        typed_sse(start(), *calls(0, '{"x":1}'), {"type": "message_stop"}),
        [("t1", "f", '{"x":1}', False)],
    ),
    "no name": (answer(opens(0, "tool_use", id="t1"), stop(0), reason="tool_use"), [("t1", "", "", False)]),
    "nothing but arguments": (
        answer(opens(0, "tool_use", id=[], name={}), json(0, "{}"), stop(0), reason="tool_use"),
        [("s0", "", "{}", False)],
    ),
    "begun anew by a second message_start": (
        typed_sse(
            start(),
            opens(0, "tool_use", id="t0", name="f"),
            json(0, '{"x":'),
            start(),
            *calls(0, '{"x":1}'),
            *last("tool_use"),
        ),
        [("t0", "f", '{"x":', False), *F],
    ),
    "begun anew: a stop is not for the call that was open before": (
        typed_sse(
            start(), opens(0, "tool_use", id="t1", name="f"), json(0, '{"x":1}'), start(), stop(0), *last("tool_use")
        ),
        [("t1", "f", '{"x":1}', False)],
    ),
    "begun anew: the stop reason is not that of before": (
        typed_sse(start(), last("tool_use")[0], start(), *calls(0, '{"x":1}'), {"type": "message_stop"}),
        [("t1", "f", '{"x":1}', False)],
    ),
    "a start that comes again goes on with the call": (
        answer(
            opens(0, "tool_use", id="t1", name="f", input={}),
            json(0, '{"x"'),
            opens(0, "tool_use", id="t1", name="f", input={}),
            json(0, ":1}"),
            stop(0),
            reason="tool_use",
        ),
        F,
    ),
    "a start that comes again with the input": (
        answer(
            opens(0, "tool_use", id="t1", name="f", input={}),
            opens(0, "tool_use", id="t1", name="f", input={"x": 1}),
            stop(0),
            reason="tool_use",
        ),
        F,
    ),
    "another call in the place of one that was never stopped: nothing runs": (
        answer(opens(0, "tool_use", id="t0", name="f"), json(0, '{"x":1}'), *calls(0), reason="tool_use"),
        [("t0", "f", '{"x":1}', False), ("t1", "f", "", False)],
    ),
    "another call of the same id in its place: nothing runs": (
        answer(opens(0, "tool_use", id="t1", name="g"), json(0, '{"x":1}'), *calls(0), reason="tool_use"),
        [("t1", "g", '{"x":1}', False), ("t1", "f", "", False)],
    ),
    "a piece of a kind yet unknown": (
        answer(opens(0, "tool_use", id="t1", name="f"), delta(0, "brand_new", x="{}"), stop(0), reason="tool_use"),
        [("t1", "f", "", False)],
    ),
    "a piece without its JSON": (
        answer(opens(0, "tool_use", id="t1", name="f"), delta(0, "input_json_delta"), stop(0), reason="tool_use"),
        [("t1", "f", "", False)],
    ),
    "ended, then begun anew: neither runs": (
        typed_sse(start(), *calls(0, "{}", id="t0"), start(), *calls(0, '{"x":1}'), *last("tool_use")),
        [("t0", "f", "{}", False), ("t1", "f", '{"x":1}', False)],
    ),
    "made before another model took over: nothing runs": (
        answer(*calls(0, "{}", id="t0"), opens(1, "fallback"), stop(1), *calls(2, '{"x":1}'), reason="tool_use"),
        [("t0", "f", "{}", False), ("t1", "f", '{"x":1}', False)],
    ),
    "made after another model took over": (
        answer(*says(0, "I"), opens(1, "fallback"), stop(1), *calls(2, '{"x":1}'), reason="tool_use"),
        F,
    ),
    "tools on the provider's side are no calls": (
        answer(
            opens(0, "server_tool_use", id="s1", name="web_search", input={}),
            json(0, '{"query":"x"}'),
            stop(0),
            opens(1, "web_search_tool_result", tool_use_id="s1", content=[]),
            stop(1),
            *calls(2, '{"x":1}'),
            reason="tool_use",
        ),
        F,
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_calls(name: str) -> None:
    body, expected = CALLS[name]
    stream, _ = decode(body)
    assert stream.complete
    assert shown_calls(stream) == expected
    assert len(stream.invocations) == sum(call[3] for call in expected)


def segments(events: list[SegmentEvent]) -> list[tuple[str, str]]:
    """Type and content of each segment, in the order of their starts."""
    found: dict[str, tuple[str, str]] = {}
    for event in events:
        if event.type is EventType.START:
            assert event.segment_type is not None
            found[event.segment_id] = (event.segment_type.value, "")
        elif event.type is EventType.CONTENT:
            kind, content = found[event.segment_id]
            found[event.segment_id] = (kind, content + event.delta)
    return list(found.values())


SHOWN: dict[str, tuple[bytes, list[tuple[str, str]]]] = {
    "text": (answer(*says(0, "Hel", "lo")), [("text", "Hello")]),
    "text in the start": (answer(opens(0, "text", text="Hel"), text(0, "lo"), stop(0)), [("text", "Hello")]),
    "an empty block": (answer(*says(0), *says(1, "x")), [("text", "x")]),
    "two blocks are two segments": (answer(*says(0, "a"), *says(1, "b")), [("text", "a"), ("text", "b")]),
    "thinking, text, thinking": (
        answer(
            opens(0, "thinking", thinking="", signature=""),
            thought(0, "h"),
            thought(0, "m"),
            sign(0, "S"),
            stop(0),
            *says(1, "a"),
            opens(2, "thinking", thinking="so"),
            stop(2),
        ),
        [("reasoning", "hm"), ("text", "a"), ("reasoning", "so")],
    ),
    "no event lines": (
        sse(start(), *says(0, "Hello"), *last("end_turn"), done=False),
        [("text", "Hello")],
    ),
    "[DONE] after the end": (
        sse(start(), *says(0, "Hello"), *last("end_turn")),
        [("text", "Hello")],
    ),
    "pings anywhere": (
        typed_sse({"type": "ping"}, start(), {"type": "ping"}, *says(0, "a"), {"type": "ping"}, *last("end_turn")),
        [("text", "a")],
    ),
    "a delta before its start": (answer(text(0, "a"), *says(1, "b")), [("text", "a"), ("text", "b")]),
    "deltas without any start": (answer(text(0, "a"), text(0, "b"), stop(0)), [("text", "ab")]),
    "a delta after its stop": (answer(*says(0, "a"), text(0, "b")), [("text", "a"), ("text", "b")]),
    "thinking before its start": (answer(thought(0, "a"), stop(0)), [("reasoning", "a")]),
    "text blocks at once": (
        answer(opens(0, "text"), opens(1, "text"), text(0, "a"), text(1, "b"), text(0, "c"), stop(0), stop(1)),
        [("text", "a"), ("text", "b"), ("text", "c")],
    ),
    "the stop of a block that was left does not end the next": (
        answer(opens(0, "text"), text(0, "a"), opens(1, "text"), text(1, "b"), stop(0), text(1, "c"), stop(1)),
        [("text", "a"), ("text", "bc")],
    ),
    "nor that of thinking": (
        answer(
            opens(0, "thinking"),
            thought(0, "a"),
            opens(1, "thinking"),
            thought(1, "b"),
            stop(0),
            thought(1, "c"),
            stop(1),
        ),
        [("reasoning", "a"), ("reasoning", "bc")],
    ),
    "text in a thinking block": (
        answer(opens(0, "thinking"), thought(0, "a"), text(0, "b"), thought(0, "c"), stop(0)),
        [("reasoning", "a"), ("text", "b"), ("reasoning", "c")],
    ),
    "words of an unknown block": (
        answer(opens(0, "connector_text", text=""), text(0, "a"), text(0, "b"), stop(0), *says(1, "c")),
        [("text", "ab"), ("text", "c")],
    ),
    "a tool of the provider": (
        answer(
            opens(0, "server_tool_use", id="s1", name="web_search", input={}),
            json(0, ""),
            json(0, '{"q":'),
            json(0, '"x"}'),
            stop(0),
            opens(1, "web_search_tool_result", tool_use_id="s1", content=[{"url": "u"}]),
            stop(1),
            *says(2, "so"),
        ),
        [("server_tool", '{"q":"x"}'), ("server_tool", '[{"url":"u"}]'), ("text", "so")],
    ),
    "a tool of an MCP server, its input in the start": (
        answer(
            opens(0, "mcp_tool_use", id="s1", name="ask", server_name="w", input={"q": 1}),
            stop(0),
            opens(1, "mcp_tool_result", tool_use_id="s1", is_error=False, content="yes"),
            stop(1),
        ),
        [("server_tool", '{"q":1}'), ("server_tool", "yes")],
    ),
    "blocks that are not shown": (
        answer(
            opens(0, "redacted_thinking", data="x"),
            stop(0),
            opens(1, "compaction", content=None),
            delta(1, "compaction_delta", content="sum"),
            stop(1),
            opens(2, "container_upload", file_id="f"),
            stop(2),
            opens(3, "brand_new", a=1),
            stop(3),
            *says(4, "a"),
        ),
        [("text", "a")],
    ),
    "message_start repeated at once": (typed_sse(start(), start(), *says(0, "a"), *last("end_turn")), [("text", "a")]),
    "line separators are no line ends": (answer(*says(0, "a\u2028b\u0085c")), [("text", "a\u2028b\u0085c")]),
    "an answer that was not streamed": (
        b'{"type": "message", "role": "assistant",\n "content": [{"type": "text", "text": "Hello"}],'
        b'\n "stop_reason": "end_turn", "usage": {"input_tokens": 1, "output_tokens": 2}}\n',
        [("text", "Hello")],
    ),
}


@pytest.mark.parametrize("name", SHOWN)
def test_what_is_shown(name: str) -> None:
    body, expected = SHOWN[name]
    stream, events = decode(body)
    assert stream.complete
    assert segments(events) == expected


WIRE = {"wire": "anthropic"}
CITED = {"type": "web_search_result_location", "url": "u", "title": "t", "cited_text": "q", "encrypted_index": "e"}
QUOTED = {"type": "char_location", "document_title": "d", "cited_text": "r", "document_index": 0}
SEARCH = {"type": "server_tool_use", "id": "s1", "name": "web_search"}
FOUND = {"type": "web_search_tool_result", "tool_use_id": "s1", "content": [{"encrypted_content": "e"}]}

KEPT: dict[str, tuple[bytes, list[Any]]] = {
    "a signature": (
        answer(opens(0, "thinking", thinking="", signature=""), thought(0, "hm"), sign(0, "S"), stop(0)),
        [ThinkingPart("hm", {**WIRE, "signature": "S"})],
    ),
    "a signature without any thinking": (
        answer(opens(0, "thinking", thinking=""), thought(0, ""), sign(0, "S"), stop(0), *says(1, "a")),
        [ThinkingPart("", {**WIRE, "signature": "S"}), TextPart("a")],
    ),
    "a signature in the start": (
        answer(opens(0, "thinking", thinking="hm", signature="S"), stop(0)),
        [ThinkingPart("hm", {**WIRE, "signature": "S"})],
    ),
    "no signature": (answer(opens(0, "thinking"), thought(0, "hm"), stop(0)), [ThinkingPart("hm")]),
    "a signature, but the block was never stopped": (
        answer(opens(0, "thinking"), thought(0, "hm"), sign(0, "S"), reason="max_tokens"),
        [ThinkingPart("hm")],
    ),
    "a signature of thinking that came mixed": (
        answer(
            opens(0, "thinking"),
            opens(1, "thinking"),
            thought(0, "a"),
            thought(1, "b"),
            sign(0, "S"),
            sign(1, "T"),
            stop(0),
            stop(1),
        ),
        [ThinkingPart("a"), ThinkingPart("b")],
    ),
    "redacted thinking, in its place": (
        answer(
            *says(0, "a"),
            opens(1, "redacted_thinking", data="x"),
            stop(1),
            opens(2, "redacted_thinking", data="y"),
            stop(2),
            *says(3, "b"),
        ),
        [
            TextPart("a"),
            ThinkingPart("", {**WIRE, "block": {"type": "redacted_thinking", "data": "x"}}),
            ThinkingPart("", {**WIRE, "block": {"type": "redacted_thinking", "data": "y"}}),
            TextPart("b"),
        ],
    ),
    "citations": (
        answer(
            opens(0, "text", text="", citations=[]),
            delta(0, "citations_delta", citation=CITED),
            text(0, "a"),
            delta(0, "citations_delta", citation=QUOTED),
            stop(0),
            *says(1, "b"),
        ),
        [TextPart("a", False, {**WIRE, "citations": [CITED, QUOTED]}), TextPart("b")],
    ),
    "a tool of the provider, and what it gave": (
        answer(
            whole_block(0, {**SEARCH, "input": {}}),
            json(0, '{"q":"x"}'),
            stop(0),
            whole_block(1, FOUND),
            stop(1),
        ),
        [
            OpaquePart({**WIRE, "block": {**SEARCH, "input": {"q": "x"}}}, "web_search"),
            OpaquePart({**WIRE, "block": FOUND}, "web_search_tool_result"),
        ],
    ),
    "a tool of the provider that was asked nonsense: neither goes back": (
        answer(
            whole_block(0, {**SEARCH, "input": {}}),
            json(0, '{"q":'),
            stop(0),
            whole_block(1, FOUND),
            stop(1),
        ),
        [],
    ),
    "a tool of the provider that was cut off": (
        answer(whole_block(0, SEARCH), json(0, '{"q":1}'), reason="max_tokens"),
        [],
    ),
    "who made a call": (
        answer(*calls(0, caller={"type": "code_execution_20250825", "tool_id": "s1"}), reason="tool_use"),
        [
            ToolCallPart(
                "t1",
                "f",
                provider_data={**WIRE, "caller": {"type": "code_execution_20250825", "tool_id": "s1"}},
            )
        ],
    ),
    "compaction": (
        answer(
            opens(0, "compaction", content=None),
            delta(0, "compaction_delta", content="sum", encrypted_content="e"),
            stop(0),
        ),
        [OpaquePart({**WIRE, "block": {"type": "compaction", "content": "sum", "encrypted_content": "e"}})],
    ),
    "a block of a kind yet unknown": (
        answer(opens(0, "brand_new", a=[1]), stop(0)),
        [OpaquePart({**WIRE, "block": {"type": "brand_new", "a": [1]}})],
    ),
    "a block of a kind yet unknown, with words and a signature": (
        answer(opens(0, "connector_text", text=""), text(0, "a"), text(0, "b"), sign(0, "S"), stop(0)),
        [TextPart("ab", False, {**WIRE, "block": {"type": "connector_text", "text": "ab", "signature": "S"}})],
    ),
    "a block of a kind yet unknown, with input": (
        answer(opens(0, "brand_new", input={}), json(0, '{"a":1}'), stop(0)),
        [OpaquePart({**WIRE, "block": {"type": "brand_new", "input": {"a": 1}}})],
    ),
    "a block that came in pieces yet unknown does not go back": (
        answer(opens(0, "brand_new"), delta(0, "brand_new_delta", a=1), stop(0)),
        [],
    ),
}


@pytest.mark.parametrize("name", KEPT)
def test_what_is_kept_for_the_way_back(name: str) -> None:
    body, expected = KEPT[name]
    stream, _ = decode(body)
    assert stream.message.parts == expected


def test_citations_are_shown_with_their_text() -> None:
    _, events = decode(KEPT["citations"][0])
    ends = [event.metadata for event in events if event.type is EventType.END]
    assert [msgspec.to_builtins(end) for end in ends] == [
        {"citations": [{"url": "u", "title": "t", "quote": "q"}, {"title": "d", "quote": "r"}]},
        None,
    ]


def test_the_container_is_kept_with_the_message() -> None:
    ended = last("tool_use")
    ended[0]["delta"]["container"] = {"id": "c1", "expires_at": "soon"}
    stream, _ = decode(typed_sse(start(), *calls(0), *ended))
    assert stream.message.provider_data == [{**WIRE, "container": "c1"}]


STOPS = {
    "end_turn": StopReason.STOP,
    "stop_sequence": StopReason.STOP,
    "tool_use": StopReason.STOP,
    "max_tokens": StopReason.LENGTH,
    "model_context_window_exceeded": StopReason.LENGTH,
    "pause_turn": StopReason.PAUSE,
    "compaction": StopReason.PAUSE,
    "refusal": StopReason.REFUSAL,
    "brand_new": StopReason.UNKNOWN,
    "": StopReason.UNKNOWN,
    None: StopReason.UNKNOWN,
}


@pytest.mark.parametrize("reason", STOPS)
def test_stop_reasons_without_calls(reason: str | None) -> None:
    stream, _ = decode(answer(*says(0, "a"), reason=reason))
    assert stream.stop_reason is STOPS[reason]
    assert stream.raw_stop_reason == (reason or None)


@pytest.mark.parametrize("reason", STOPS)
def test_a_whole_call_runs_only_after_the_turn_was_finished(reason: str | None) -> None:
    stream, _ = decode(answer(*calls(0, "{}"), reason=reason))
    assert len(stream.invocations) == (reason in ("end_turn", "tool_use"))


def test_every_word_of_the_api_is_in_the_table() -> None:
    assert set(STOP_REASONS) == {reason for reason, meaning in STOPS.items() if meaning is not StopReason.UNKNOWN}


USAGES: dict[str, tuple[bytes, tuple[int, ...] | None]] = {
    "output in the end": (answer(), (5, 7, 0, 0, 0, 12)),
    "all of it again in the end": (
        typed_sse(
            start(usage={"input_tokens": 5, "cache_read_input_tokens": 2, "output_tokens": 1}),
            *last(
                "end_turn",
                input_tokens=6,
                cache_read_input_tokens=20,
                cache_creation_input_tokens=300,
                output_tokens=9,
                output_tokens_details={"thinking_tokens": 4},
            ),
        ),
        (326, 9, 20, 300, 4, 335),
    ),
    "cached tokens in the start only": (
        typed_sse(
            start(usage={"input_tokens": 5, "cache_read_input_tokens": 2, "cache_creation_input_tokens": 3}),
            *last("end_turn", output_tokens=9, cache_read_input_tokens=None),
        ),
        (10, 9, 2, 3, 0, 19),
    ),
    "none": (
        typed_sse(start(usage=None), {"type": "message_delta", "delta": {}}, {"type": "message_stop"}),
        None,
    ),
    "nonsense": (
        typed_sse(start(usage=[1]), *last("end_turn", input_tokens="many", output_tokens=-1)),
        (0, 0, 0, 0, 0, 0),
    ),
}


@pytest.mark.parametrize("name", USAGES)
def test_usage(name: str) -> None:
    body, expected = USAGES[name]
    usage = decode(body)[0].usage
    assert (usage and msgspec.structs.astuple(usage)) == expected


ERRORS: dict[str, tuple[bytes, str, str]] = {
    "overloaded": (
        typed_sse(start(), {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}),
        "ProviderError",
        "Overloaded",
    ),
    "rate limit": (
        typed_sse({"type": "error", "error": {"type": "rate_limit_error", "message": "slow down"}}),
        "RateLimited",
        "slow down",
    ),
    "no words": (typed_sse(start(), {"type": "error"}), "ProviderError", "it gave no reason"),
    "without a type": (sse(start(), {"error": {"message": "broken"}}, done=False), "ProviderError", "broken"),
    "in place of a stream": (
        b'{"type":"error","error":{"type":"authentication_error","message":"no such key"}}',
        "AuthenticationFailed",
        "no such key",
    ),
    "no end": (typed_sse(start(), *calls(0, "{}"), last("tool_use")[0]), "IncompleteStream", "broke off"),
    "[DONE] is no end": (sse(start(), *calls(0, "{}"), last("tool_use")[0]), "IncompleteStream", "broke off"),
    "arguments outside of any block": (answer(json(0, '{"x":1}')), "ProtocolError", "outside of any block"),
    "arguments after the end of the call": (
        answer(*calls(0, "{}"), json(0, "x"), reason="tool_use"),
        "ProtocolError",
        "outside of any block",
    ),
    "arguments in text": (answer(opens(0, "text"), json(0, "{}"), stop(0)), "ProtocolError", "no call"),
    "no JSON": (typed_sse(start()) + b"data: {oops\n\n", "ProtocolError", "not of this format"),
    "words that are no text": (answer(delta(0, "text_delta", text=5)), "ProtocolError", "not of this format"),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors_are_typed_and_nothing_runs(name: str) -> None:
    body, kind, words = ERRORS[name]
    stream, events = decode(body)
    assert not stream.complete
    assert stream.invocations == []
    assert events[-1].error is not None
    assert events[-1].error.type == kind
    assert words in events[-1].error.message


def test_an_error_after_the_end_changes_nothing() -> None:
    stream, _ = decode(answer(*calls(0, "{}"), reason="tool_use") + ERRORS["overloaded"][0])
    assert stream.complete
    assert len(stream.invocations) == 1
    assert stream.quirks == {"data-after-the-end": 2}


QUIRKS: dict[str, tuple[bytes, dict[str, int]]] = {
    "nothing odd": (answer(*says(0, "a"), *calls(1, "{}")), {}),
    "metrics of Bedrock": (
        typed_sse(start(), *last("end_turn")[:1], {"type": "message_stop", "amazon-bedrock-invocationMetrics": {}}),
        {},
    ),
    "an unknown event": (answer({"type": "brand_new"}), {"event-of-another-kind": 1}),
    "an unknown block": (answer(opens(0, "brand_new"), stop(0)), {"block-of-another-kind": 1}),
    "an unknown delta": (answer(opens(0, "text"), delta(0, "brand_new"), stop(0)), {"delta-of-another-kind": 1}),
    "a block without a type": (
        answer({"type": "content_block_start", "index": 0, "content_block": {"type": []}}, stop(0)),
        {"block-of-another-kind": 1},
    ),
    "a start without a block": (answer({"type": "content_block_start", "index": 0}), {"start-without-block": 1}),
    "a delta without a delta": (answer({"type": "content_block_delta", "index": 0}), {"delta-without-content": 1}),
    "a stop without a start": (answer(stop(4)), {"stop-without-block": 1}),
    "a signature outside of any block": (answer(sign(0, "S")), {"delta-without-block": 1}),
    "a citation that is none": (
        answer(opens(0, "text"), delta(0, "citations_delta", citation="x"), stop(0)),
        {"citation-of-another-kind": 1},
    ),
    "a block begun twice": (
        answer(opens(0, "text"), opens(0, "text"), stop(0)),
        {"block-never-stopped": 1, "blocks-overlap": 1},
    ),
    "a second message": (typed_sse(start(), start(), *last("end_turn")), {"second-message-start": 1}),
    "a message of nothing": (typed_sse({"type": "message_start"}, *last("end_turn")), {}),
}


@pytest.mark.parametrize("name", QUIRKS)
def test_oddities_are_counted(name: str) -> None:
    body, expected = QUIRKS[name]
    stream, _ = decode(body)
    assert stream.complete
    assert stream.quirks == expected


LIMITS = {
    "arguments": (Limits(arguments=100), answer(*calls(0, *["x" * 20] * 10))),
    "arguments of a server tool": (
        Limits(arguments=100),
        answer(opens(0, "server_tool_use"), *[json(0, "x" * 20)] * 10),
    ),
    "calls": (Limits(calls=3), answer(*[event for at in range(5) for event in calls(at, id=f"t{at}")])),
    "segments": (Limits(segments=3), answer(*[event for at in range(5) for event in says(at, "x")])),
    "segments that stay open": (Limits(segments=3), answer(*[opens(at, "text") for at in range(5)])),
    "blocks": (Limits(blocks=3), answer(opens(0, "text"), *[delta(0, "citations_delta", citation=CITED)] * 5)),
    "event by all citations together": (
        Limits(event=2000),
        answer(opens(0, "text"), *[delta(0, "citations_delta", citation={**CITED, "cited_text": "x" * 900})] * 5),
    ),
    "name": (Limits(name=10), answer(*calls(0, name="f" * 20))),
    "call_id": (Limits(call_id=10), answer(*calls(0, id="t" * 20))),
}


@pytest.mark.parametrize("name", LIMITS)
def test_every_bound_ends_in_a_typed_error(name: str) -> None:
    limits, body = LIMITS[name]
    stream, events = decode(body, limits=limits)
    assert stream.invocations == []
    assert events[-1].error is not None
    assert events[-1].error.type == "LimitExceeded"
    assert events[-1].error.facts["limit"] == getattr(limits, name.split()[0])


@pytest.mark.parametrize("depth", [70, 500, 5000])
def test_deep_values_anywhere_end_in_order(depth: int) -> None:
    deep = "[" * depth + "]" * depth
    for place in ('"input"', '"content"', '"citations"', '"caller"', '"x"'):
        for kind in ("tool_use", "server_tool_use", "web_search_tool_result", "text", "brand_new"):
            block = f'{{"type":"{kind}","id":"t1","name":"f",{place}:{deep}}}'
            opened = f'data: {{"type":"content_block_start","index":0,"content_block":{block}}}\n\n'.encode()
            stream, events = read(
                whole(typed_sse(start()) + opened + typed_sse(stop(0), *last("end_turn"))), "anthropic"
            )
            check_shape(events)
            assert stream.complete is (depth < 600)
            assert len(stream.invocations) == (kind == "tool_use" and place != '"input"' and depth < 600)


def test_truncated_at_every_byte_nothing_is_complete() -> None:
    body = answer(*says(0, "é"), *calls(1, '{"x":1}'), reason="tool_use")
    end = body.index(b'"message_stop"')
    for length in range(len(body)):
        stream, events = read(whole(body[:length]), "anthropic")
        check_shape(events)
        assert stream.complete is (length > end + len(b'"message_stop"'))
        assert stream.complete or not stream.invocations
