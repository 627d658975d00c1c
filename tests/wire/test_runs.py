"""Runs: many frames as one. Unrolled they are what comes one by one, and no JSON value reaches from one to the next."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from feeding import bytewise, call, delta, merged, read, sse, typed_sse, whole
from toolwire.errors import LimitExceeded, ToolwireError
from toolwire.limits import Limits
from toolwire.wire.json_array import SseOrArrayDecoder
from toolwire.wire.lines import Run
from toolwire.wire.ndjson import NdjsonDecoder
from toolwire.wire.sse import SseDecoder

PAYLOADS = [
    *(
        b'{"a":1}',
        b'{"b":"\xc3\xa9"}',
        b'{"c":"} {"}',
        b"{}",
        b'{"d":[',
        b"1]}",
        b'{"e":1}{"f":2}',
        b'{"g":"x}',
        b'{"}',
    ),
    *(b"[DONE]", b"", b"{\t}", b'{"h":\xff}', b'{"i":1}\t{"j":2}', b" {}", b"{} "),
]
HEADS = [
    b"data: ",
    b"data:",
    b"event: x\ndata: ",
    b"event: y\ndata: ",
    b"event: \xff\ndata: ",
    b"id: 7\ndata: ",
    b"event: \rz\ndata: ",
]
ODD = [
    b": c\n\n",
    b"stray\n",
    b'{"stray":1}\n',
    b"data: {}\ndata: {}\n\n",
    b"\n",
    b"\r\n",
    b"event: z\n\n",
    b"retry: 5\n\n",
]


@st.composite
def streams(draw: st.DrawFn) -> bytes:
    """Stretches of like events, with something odd between them now and then."""
    made = b""
    for _ in range(draw(st.integers(1, 4))):
        head, gap = draw(st.sampled_from(HEADS)), draw(st.sampled_from([b"\n\n", b"\n\n", b"\r\n\r\n"]))
        payloads = draw(st.lists(st.sampled_from(PAYLOADS[:4] if draw(st.booleans()) else PAYLOADS), max_size=9))
        made += b"".join(head + payload + gap for payload in payloads)
        if draw(st.booleans()):
            made += draw(st.sampled_from(ODD))
    return made


@st.composite
def lines(draw: st.DrawFn) -> bytes:
    ends = st.sampled_from([b"\n", b"\n", b"\n", b"\r\n", b"\n\n"])
    return b"".join(payload + draw(ends) for payload in draw(st.lists(st.sampled_from(PAYLOADS), max_size=12)))


@st.composite
def arrays(draw: st.DrawFn) -> bytes:
    payloads = draw(
        st.lists(st.sampled_from([*PAYLOADS[:4], b'{"l":[{}\n,\r\n{}]}', b'{\n "m": 1\n}', b'{"d":[']), max_size=9)
    )
    return b"[" + b"\n,\r\n".join(payloads) + draw(st.sampled_from([b"\n]\n", b"]", b"", b"\n,\r\n"]))


places = st.lists(st.integers(0, 300), max_size=4)


def outcome(decoder: Any, body: bytes, where: list[int]) -> tuple[list[Any], Any, bool]:
    """The frames with runs unrolled, the error, and whether there was a run."""
    edges = [0, *sorted(min(place, len(body)) for place in where), len(body)]
    frames: list[Any] = []
    error = None
    try:
        for start, end in itertools.pairwise(edges):
            frames += decoder.feed(body[start:end])
        frames += decoder.close()
    except ToolwireError as raised:
        frames += raised.before
        error = raised.info()
    unrolled: list[Any] = []
    for frame in frames:
        if isinstance(frame, Run):
            parts = frame.frames()
            assert len(parts) == frame.count
            assert frame.text.rstrip(b"\n") == frame.mark.join(part.data.encode() for part in parts)
            assert max(len(part.data.encode()) for part in parts) <= frame.longest
            unrolled += parts
        else:
            unrolled.append(frame)
    return unrolled, error, len(unrolled) != len(frames)


@pytest.mark.thorough
@given(streams(), places)
@settings(max_examples=1500)
@example(b'data: {"a":1}\n\n' * 5, [])
@example(b'event: x\ndata: {"a":1}\n\n' * 5, [7])
@example(b'event: x\ndata: {"a":1}\n\n' * 5 + b"event: x\ndata: [DONE]\n\n", [])
@example(b'data: {"a":1}\r\n\r\n' * 5, [20])
@example(b'data: {"a":1}\n{"b":2}\n\n' * 5, [])
@example(b"event: \ra\ndata: {}\n\n" * 5, [])
@example(b"data: {}\ndata: {}\n\n", [])
@example(b"event: x\ndata: {}\nid: 7\nevent: y\ndata: {}\n\n", [])
@example(b"event: x\ndata: {}\n\n" + b"event: y\ndata: {}\n\n" + b"event: z\ndata: {}\n\n", [])
@example(b"event: a\rb\r\ndata: {}\r\n\r\n" * 5, [])
def test_events(body: bytes, where: list[int]) -> None:
    plain = outcome(SseDecoder(keep_stray=True), body, [])
    assert outcome(SseDecoder(keep_stray=True, join_runs=True), body, where)[:2] == plain[:2]


@pytest.mark.thorough
@given(lines(), places)
@settings(max_examples=800)
def test_lines(body: bytes, where: list[int]) -> None:
    assert outcome(NdjsonDecoder(join_runs=True), body, where)[:2] == outcome(NdjsonDecoder(), body, [])[:2]


@pytest.mark.thorough
@given(arrays(), places)
@settings(max_examples=800)
def test_elements(body: bytes, where: list[int]) -> None:
    plain = outcome(SseOrArrayDecoder(keep_stray=True), body, [])
    assert outcome(SseOrArrayDecoder(keep_stray=True, join_runs=True), body, where)[:2] == plain[:2]


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("decoder", "body"),
    [
        (SseDecoder(join_runs=True), b'data: {"a":1}\n\n' * 5),
        (SseDecoder(join_runs=True), b'event: x\ndata: {"a":"\xc3\xa9"}\n\n' * 5),
        (SseDecoder(join_runs=True), b"event: y\ndata: {}\n\n" + b'event: x\ndata: {"a":1}\n\n' * 5),
        (SseDecoder(join_runs=True), b"".join(b"event: %d\ndata: {}\n\n" % number for number in range(5))),
        (SseDecoder(join_runs=True), b'data: {"a":1}\r\n\r\n' * 5),
        (NdjsonDecoder(join_runs=True), b'{"a":1}\n' * 5),
        (SseOrArrayDecoder(join_runs=True), b"[" + b"\n,\r\n".join([b'{"a":1}'] * 5) + b"\n]"),
    ],
    ids=["data", "event", "mixed", "named", "crlf", "ndjson", "array"],
)
def test_like_frames_do_come_as_a_run(decoder: Any, body: bytes) -> None:
    frames = decoder.feed(body)
    assert any(isinstance(frame, Run) and frame.count >= 4 for frame in frames)


def test_no_run_is_longer_than_a_line_may_be() -> None:
    limits = Limits(line=30)
    body = b'{"a":1}\n' * 50
    assert outcome(NdjsonDecoder(limits, join_runs=True), body, []) == outcome(NdjsonDecoder(limits), body, [])


WORD = delta(content="x")
BROKEN = {
    "one object over two events, two in the next": sse(
        WORD, *[WORD] * 4, '{"choices":[{"delta":{"content":"a"}', "}]}", '{"choices":[]}{"choices":[]}', WORD
    ),
    "two objects in one event": sse(*[WORD] * 4, '{"choices":[]}{"choices":[]}', *[WORD] * 4),
    "a string over two events": sse(*[WORD] * 4, '{"z":"x}', '{"}', '{"choices":[]}{"choices":[]}', WORD),
    "another thing in the middle": sse(*[WORD] * 4, "[1]", *[WORD] * 4),
    "an end in the middle": sse(*[WORD] * 4, delta(finish="stop"), "[DONE]", *[WORD] * 4),
    "an error in the middle": sse(*[WORD] * 4, {"error": {"message": "no"}}, *[WORD] * 4),
    "deep": sse(*[WORD] * 4, '{"choices":' + "[" * 700 + "]" * 700 + "}", *[WORD] * 4),
    "nearly too deep": sse(*[WORD] * 4, '{"x":' + "[" * 599 + "]" * 599 + "}", *[WORD] * 4),
    "calls": sse(
        delta(tool_calls=[call("", id="c1", name="f")]),
        *[delta(tool_calls=[call('"')])] * 5,
        *[delta(tool_calls=[call("1", index=1)])] * 2,
        delta(finish="tool_calls"),
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_what_a_run_holds_means_the_same_one_by_one(name: str) -> None:
    body = BROKEN[name]
    stream, events = read(whole(body))
    cut, cut_events = read(bytewise(body))
    assert list(merged(events)) == list(merged(cut_events))
    assert stream.summary() == cut.summary()
    assert stream.quirks == cut.quirks


def gemini(call: dict[str, Any]) -> dict[str, Any]:
    return {
        "candidates": [{"content": {"parts": [{"functionCall": call}], "role": "model"}}],
        "usageMetadata": {"totalTokenCount": 3},
    }


def argument(text: str) -> dict[str, Any]:
    return gemini(
        {"partialArgs": [{"jsonPath": "$.a", "stringValue": text, "willContinue": True}], "willContinue": True}
    )


def block(kind: str) -> dict[str, Any]:
    return {"type": "content_block_start", "index": 0, "content_block": {"type": kind, "id": "t", "name": "f"}}


PIECE = {"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": "12345"}}
ITEM = {"type": "function_call", "id": "fc", "call_id": "c", "name": "f", "arguments": ""}
MORE = {"type": "response.function_call_arguments.delta", "item_id": "fc", "output_index": 0, "delta": "12345"}
TOO_LONG = {
    "openai-chat": sse(delta(tool_calls=[call("", id="c", name="f")]), *[delta(tool_calls=[call("12345")])] * 30),
    "openai-responses": typed_sse(
        {"type": "response.output_item.added", "output_index": 0, "item": ITEM}, *[MORE] * 30
    ),
    "anthropic": typed_sse(block("tool_use"), *[PIECE] * 30),
    "anthropic, a server tool": typed_sse(block("server_tool_use"), *[PIECE] * 30),
    "gemini": sse(gemini({"name": "f", "willContinue": True}), argument("x"), *[argument("12345")] * 30, done=False),
}


@pytest.mark.parametrize("name", TOO_LONG)
def test_the_bound_on_arguments_is_told_where_it_was_passed(name: str) -> None:
    wire, limits = name.split(",")[0], Limits(arguments=52)
    stream, _ = read(whole(TOO_LONG[name]), wire, limits=limits)
    cut, _ = read(bytewise(TOO_LONG[name]), wire, limits=limits)
    assert isinstance(stream.error, LimitExceeded)
    assert isinstance(cut.error, LimitExceeded)
    assert stream.error.info() == cut.error.info()
    assert stream.error.event == 12
