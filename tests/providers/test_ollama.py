"""Ollama, decoding: every form of a line as a small case of our own, fed whole and at every cut."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from feeding import bytewise, check_every_cut, check_shape, merged, read, whole
from toolwire import EventType, Limits, SegmentEvent, SegmentType, StopReason, Stream, TokenUsage
from toolwire.providers.ollama import STOP_REASONS

Calls = list[tuple[str, str, Any]]
"""id, name, arguments (or the raw text where the call may not run)."""


def line(*, done: Any = False, **members: Any) -> dict[str, Any]:
    """One line with a message of these members."""
    message = {"role": "assistant", "content": "", **members}
    return {"model": "m", "created_at": "2026-01-01T00:00:00Z", "message": message, "done": done}


def tool(name: Any = "f", arguments: Any = None, **members: Any) -> dict[str, Any]:
    """One entry of `tool_calls`."""
    return {"function": {"name": name, "arguments": {"x": 1} if arguments is None else arguments}, **members}


def end(reason: str | None = "stop", **members: Any) -> dict[str, Any]:
    """The last line."""
    told = {} if reason is None else {"done_reason": reason}
    return {**line(done=True), **told, **members}


def ndjson(*lines: Any) -> bytes:
    """Dicts become JSON, text stands as it is."""
    return b"".join((item.encode() if isinstance(item, str) else msgspec.json.encode(item)) + b"\n" for item in lines)


def ollama(pieces: Any, **options: Any) -> tuple[Stream, list[SegmentEvent]]:
    stream, events = read(pieces, "ollama", **options)
    check_shape(events)
    return stream, events


F: Calls = [("c1", "f", {"x": 1})]
ONE = line(tool_calls=[tool(id="c1")])
RAW = '{"message":{"tool_calls":[{"id":"c1","function":{"name":"f","arguments":%s}}]}}'

CALLS: dict[str, tuple[bytes, Calls]] = {
    "with an id and an index": (
        ndjson(line(tool_calls=[{"id": "c1", "function": {"index": 0, "name": "f", "arguments": {"x": 1}}}]), end()),
        F,
    ),
    "without an id": (ndjson(line(tool_calls=[tool()]), end()), [("s0", "f", {"x": 1})]),
    "several on one line": (
        ndjson(line(tool_calls=[tool(id="a"), tool("g", {}, id="b")]), end()),
        [("a", "f", {"x": 1}), ("b", "g", {})],
    ),
    "on lines of their own, each with index 0 and no id": (
        ndjson(
            *[
                line(tool_calls=[{"function": {"index": 0, "name": "f", "arguments": {"x": number}}}])
                for number in (1, 2, 1)
            ],
            end(),
        ),
        [("s0", "f", {"x": 1}), ("s1", "f", {"x": 2}), ("s2", "f", {"x": 1})],
    ),
    "with the indexes in another order": (
        ndjson(
            line(tool_calls=[{"id": "a", "function": {"index": 5, "name": "f", "arguments": {}}}]),
            line(tool_calls=[{"id": "b", "function": {"index": 2, "name": "g", "arguments": {}}}]),
            end(),
        ),
        [("a", "f", {}), ("b", "g", {})],
    ),
    "in the last line": (ndjson({**end(), "message": {"tool_calls": [tool(id="c1")]}}), F),
    "arguments as JSON text": (ndjson(line(tool_calls=[tool("f", '{"x": 1}', id="c1")]), end()), F),
    "arguments as empty text": (ndjson(line(tool_calls=[tool("f", "", id="c1")]), end()), [("c1", "f", {})]),
    "arguments null": (ndjson(RAW % "null", end()), [("c1", "f", {})]),
    "arguments missing": (ndjson(line(tool_calls=[{"id": "c1", "function": {"name": "f"}}]), end()), [("c1", "f", {})]),
    "twice the same, without id and arguments": (
        ndjson(*[line(tool_calls=[{"function": {"index": 0, "name": "f"}}])] * 2, end()),
        [("s0", "f", {}), ("s1", "f", {})],
    ),
    "arguments spread out": (ndjson(RAW % '  { "x" :\\t1 }  '.replace("\\t", "\t"), end()), F),
    "numbers stay what they were": (
        ndjson(RAW % '{"n":123456789012345678901234567890,"f":0.1}', end()),
        [("c1", "f", {"n": 123456789012345678901234567890, "f": 0.1})],
    ),
    "an id that is a number": (ndjson(line(tool_calls=[tool(id=7)]), end()), [("7", "f", {"x": 1})]),
    "an id that is empty": (ndjson(line(tool_calls=[tool(id="")]), end()), [("s0", "f", {"x": 1})]),
    "an id that is a list": (ndjson(line(tool_calls=[tool(id=[1])]), end()), [("s0", "f", {"x": 1})]),
    "one call where a list belongs": (ndjson(line(tool_calls=tool(id="c1")), end()), F),
    "an entry that says nothing": (ndjson(line(tool_calls=[{}, {"function": None}, tool(id="c1")]), end()), F),
    "no calls": (ndjson(line(content="hi", tool_calls=[]), line(tool_calls=None), end()), []),
    "no done_reason": (ndjson(ONE, end(None)), F),
    "empty done_reason": (ndjson(ONE, end("")), F),
    "no newline at the end": (ndjson(ONE, end())[:-1], F),
    "CRLF, blank lines and a BOM": (b"\xef\xbb\xbf" + ndjson(ONE, end()).replace(b"\n", b"\r\n\r\n"), F),
    "lines after the end": (ndjson(ONE, end(), ONE, "nonsense"), F),
    "a line of another kind": (ndjson({"status": "pulling"}, ONE, end()), F),
    "one answer that was not streamed": (ndjson({**end(), "message": {"tool_calls": [tool(id="c1")]}}), F),
    "one answer over several lines": (
        msgspec.json.format(msgspec.json.encode({**end(), "message": {"tool_calls": [tool(id="c1")]}}), indent=2),
        F,
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_calls(name: str) -> None:
    body, expected = CALLS[name]
    stream, events = ollama(whole(body))
    summary = stream.summary()
    assert [(call["id"], call["name"], call["arguments"]) for call in summary["calls"]] == expected
    assert all(call["complete"] for call in summary["calls"])
    assert stream.complete
    assert stream.stop_reason is (StopReason.TOOL_CALLS if expected else StopReason.STOP)
    assert [invocation.id for invocation in stream.invocations] == [
        event.segment_id
        for event in events
        if event.type is EventType.END and event.segment_type is SegmentType.TOOL_CALL
    ]


@pytest.mark.parametrize("name", CALLS)
def test_calls_do_not_depend_on_cuts(name: str) -> None:
    body, _ = CALLS[name]
    check_every_cut(body, "ollama")


@pytest.mark.parametrize("name", CALLS)
def test_truncated_at_every_byte_nothing_runs(name: str) -> None:
    body, _ = CALLS[name]
    proper_end = body.index(b'"done":') if b'"done":true' in body else len(body) - 1
    for length in range(len(body)):
        stream, events = ollama(whole(body[:length]))
        if length <= proper_end or b'"done":true' not in body[:length]:
            assert not stream.complete
            assert stream.invocations == []
            assert events[-1].type is EventType.ERROR


def test_arguments_go_on_as_they_were_sent() -> None:
    stream, _ = ollama(whole(ndjson(RAW % '{"n": 1.10, "b":  12345678901234567890}', end())))
    assert [call.raw_arguments for call in stream.invocations] == ['{"n": 1.10, "b":  12345678901234567890}']


NOT_RUN: dict[str, tuple[bytes, str]] = {
    "cut before the end": (ndjson(ONE), "broke off"),
    "cut inside the end": (ndjson(ONE, end())[:-10], "broke off"),
    "an error after the call": (ndjson(ONE, {"error": "runner gone"}), "broke off"),
    "the token limit": (ndjson(ONE, end("length")), "token limit"),
    "a reason never seen": (ndjson(ONE, end("because")), "not known"),
    "arguments that are a list": (ndjson(RAW % "[1]", end()), "object"),
    "arguments that are a number": (ndjson(RAW % "5", end()), "object"),
    "arguments that are no JSON": (ndjson(line(tool_calls=[tool("f", "{x}", id="c1")]), end()), ""),
    "arguments with one name twice": (ndjson(RAW % '{"x":1,"x":2}', end()), "x"),
    "no name": (ndjson(line(tool_calls=[tool(None, id="c1")]), end()), "names no tool"),
    "done that is no end": (ndjson(ONE, {**end(), "done": None}), "broke off"),
}


@pytest.mark.parametrize("name", NOT_RUN)
def test_no_half_call_runs(name: str) -> None:
    body, words = NOT_RUN[name]
    stream, _ = ollama(whole(body))
    assert stream.invocations == []
    (call,) = stream.summary()["calls"]
    assert not call["complete"]
    assert words in call["problem"]
    assert call["problem"]


@pytest.mark.parametrize(("word", "reason"), STOP_REASONS.items())
def test_stop_reasons(word: str, reason: StopReason) -> None:
    for said in (word, word.upper()):
        stream, events = ollama(whole(ndjson(line(content="hi"), end(said))))
        assert (stream.stop_reason, stream.raw_stop_reason) == (reason, said)
        assert events[-1].stop_reason is reason


TEXTS: dict[str, tuple[bytes, list[tuple[str, str]]]] = {
    "text": (ndjson(line(content="Hel"), line(content="lo"), end()), [("text", "Hello")]),
    "thinking, then text": (
        ndjson(line(thinking="h"), line(thinking="m"), line(content="Hello"), end()),
        [("reasoning", "hm"), ("text", "Hello")],
    ),
    "both on one line": (ndjson(line(thinking="hm", content="Hello"), end()), [("reasoning", "hm"), ("text", "Hello")]),
    "text around a call": (
        ndjson(line(content="a"), ONE, line(content="b"), end()),
        [("text", "a"), ("tool_call", '{"x":1}'), ("text", "b")],
    ),
    "text and a call on one line": (
        ndjson(line(content="a", thinking="hm", tool_calls=[tool()]), end()),
        [("reasoning", "hm"), ("text", "a"), ("tool_call", '{"x":1}')],
    ),
    "text in the last line": (ndjson({**end(), "message": {"content": "hi"}}), [("text", "hi")]),
    "content null": (ndjson(line(content=None), end()), []),
    "no message": (ndjson({"done": True}), []),
    "line separators are no line ends": (
        ndjson(line(content="a\u2028\u2029\x85b"), end()),
        [("text", "a\u2028\u2029\x85b")],
    ),
    "pictures": (
        ndjson(line(content="see", images=["iVBORw0", "/9j/4A", "AAAA", "", 5]), end()),
        [
            ("text", "see"),
            ("media", "data:image/png;base64,iVBORw0"),
            ("media", "data:image/jpeg;base64,/9j/4A"),
            ("media", "data:image/png;base64,AAAA"),
        ],
    ),
}


@pytest.mark.parametrize("name", TEXTS)
def test_segments(name: str) -> None:
    body, expected = TEXTS[name]
    stream, events = ollama(whole(body))
    assert [(segment.segment_type, segment.text) for segment in stream._handler.segments] == expected
    assert stream.complete
    assert list(merged(ollama(bytewise(body))[1])) == list(merged(events))


@pytest.mark.parametrize(
    ("members", "usage"),
    [
        ({"prompt_eval_count": 5, "eval_count": 7}, TokenUsage(5, 7, total_tokens=12)),
        ({"prompt_eval_count": 5}, TokenUsage(5, 0, total_tokens=5)),
        ({"eval_count": 7}, TokenUsage(0, 7, total_tokens=7)),
        (
            {"prompt_eval_count": 5, "prompt_eval_cached_count": 3, "eval_count": 7},
            TokenUsage(5, 7, cached_tokens=3, total_tokens=12),
        ),
        (
            {"prompt_eval_count": 5, "prompt_eval_cached_count": 9},
            TokenUsage(5, 0, cached_tokens=5, total_tokens=5),
        ),
        ({"prompt_eval_count": "many", "eval_count": -1}, TokenUsage()),
        ({}, None),
    ],
)
def test_usage(members: dict[str, Any], usage: TokenUsage | None) -> None:
    stream, events = ollama(whole(ndjson(line(content="hi"), end(**members))))
    assert stream.usage == usage
    assert events[-1].usage == usage


ERRORS: dict[str, tuple[bytes, str, str]] = {
    "an error in the stream": (ndjson(line(content="hi"), {"error": "runner gone"}), "ProviderError", "runner gone"),
    "an error as an object": (ndjson({"error": {"message": "gone", "code": 500}}), "ProviderError", "gone"),
    "an error as the body": (b'{"error":"model not found"}', "ProviderError", "model not found"),
    "an error over several lines": (b'{\n  "error": "gone"\n}\n', "ProviderError", "gone"),
    "an error beside text": (ndjson({**line(content="hi"), "error": "gone"}), "ProviderError", "gone"),
    "an error of a proxy": (b'{"message":"Unauthorized"}\n', "ProviderError", "Unauthorized"),
    "an error and an end": (ndjson({**end(), "error": "gone"}), "ProviderError", "gone"),
    "no JSON": (ndjson(line(content="hi"), "{nonsense}"), "ProtocolError", "not of this format"),
    "no JSON first, then events": (ndjson("{nonsense}", line(content="hi"), end()), "ProtocolError", "begins with"),
    "JSON of another kind": (ndjson(line(content="hi"), "[1]"), "ProtocolError", "not of this format"),
    "a message of another kind": (ndjson({"message": 5, "done": False}), "ProtocolError", "message"),
    "content that is a number": (ndjson(line(content=5)), "ProtocolError", "content"),
    "done that is a word": (ndjson({"done": "yes"}), "ProtocolError", "done"),
    "a call that is a word": (ndjson(line(tool_calls=["f"])), "ProtocolError", "tool_calls"),
    "a web page": (b"<!doctype html>\n<html><body>Hello</body></html>\n", "ProtocolError", "no event stream"),
    "a web page on one line": (b"<html><body>Hello</body></html>", "ProtocolError", "no event stream"),
    "another format": (b'data: {"choices":[]}\n\ndata: [DONE]\n\n', "ProtocolError", "no event stream"),
    "nothing": (b"", "IncompleteStream", "broke off"),
    "blank lines": (b"\n\r\n", "IncompleteStream", "broke off"),
    "no end": (ndjson(line(content="hi")), "IncompleteStream", "broke off"),
    "cut inside the first line": (ndjson(line(content="hi"))[:20], "IncompleteStream", "broke off"),
    "cut inside a line": (ndjson(line(content="hi"), end())[:-9], "IncompleteStream", "broke off"),
    "cut inside a character": (ndjson(line(content="é"))[:-18], "IncompleteStream", "broke off"),
    "bad UTF-8": (b'{"message":{"content":"\xff"}}\n' + ndjson(end()), "ProtocolError", "UTF-8"),
    "nested too deeply": (ndjson('{"message":' + "[" * 100_000), "ProtocolError", "nested"),
    "NaN": (ndjson(line(content="hi"), RAW % '{"x":NaN}', end()), "ProtocolError", "not of this format"),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors_are_typed_and_the_last_event(name: str) -> None:
    body, kind, words = ERRORS[name]
    stream, events = ollama(whole(body))
    assert events[-1].error is not None
    assert events[-1].error.type == kind
    assert words in events[-1].error.message
    assert not stream.complete
    assert stream.feed(body) == []
    assert stream.close() == []
    for cut in range(0, len(body), max(1, len(body) // 50)):
        assert list(merged(ollama([body[:cut], body[cut:]])[1])) == list(merged(events))


@pytest.mark.parametrize("depth", range(100, 1100, 100))
@pytest.mark.parametrize("place", ['{"error":%s}', RAW, '{"message":{"images":[%s]}}', '{"message":{"content":%s}}'])
def test_nothing_but_nesting(depth: int, place: str) -> None:
    stream, _ = ollama(whole(ndjson(place % ("[" * depth + "]" * depth), end())))
    assert stream.invocations == []
    assert stream.error is None or len(stream.error.message) < 3000


def test_an_error_says_where() -> None:
    good = ndjson(line(content="hi"))
    stream, _ = ollama(whole(good + b"{nonsense}\n"))
    assert stream.error is not None
    assert (stream.error.position, stream.error.event) == (len(good), 2)
    assert stream.summary()["text"] == "hi"


def test_quirks_are_counted() -> None:
    stream, _ = ollama(whole(ndjson({"status": "x"}, line(tool_calls=[{}]), end(None), line(content="late"))))
    assert stream.quirks == {
        "line-without-message": 1,
        "empty-call": 1,
        "done-without-reason": 1,
        "data-after-the-end": 1,
    }


LIMITS = {
    "line": (Limits(line=100), ndjson(line(content="x" * 200))),
    "stream": (Limits(stream=100), ndjson(*[line(content="x")] * 10)),
    "arguments": (Limits(arguments=100), ndjson(line(tool_calls=[tool("f", {"x": "x" * 200})]))),
    "calls": (Limits(calls=3), ndjson(line(tool_calls=[tool()] * 5))),
    "segments": (Limits(segments=3), ndjson(*[line(content="x"), line(thinking="y")] * 3)),
    "name": (Limits(name=10), ndjson(line(tool_calls=[tool("f" * 20)]))),
    "call_id": (Limits(call_id=10), ndjson(line(tool_calls=[tool(id="a" * 20)]))),
}


@pytest.mark.parametrize("name", LIMITS)
def test_every_bound_ends_in_a_typed_error(name: str) -> None:
    limits, body = LIMITS[name]
    stream, events = ollama(whole(body), limits=limits)
    assert events[-1].error is not None
    assert events[-1].error.type == "LimitExceeded"
    assert events[-1].error.facts["limit"] == getattr(limits, name)
    assert stream.invocations == []
    assert list(merged(ollama(bytewise(body), limits=limits)[1])) == list(merged(events))


def test_a_body_of_stray_lines_is_held_within_its_bound() -> None:
    stream = Stream("ollama", limits=Limits(event=1000))
    stream.feed(b"<p>\n" * 10_000)
    assert len(stream._decoder._stray) < 20  # type: ignore[attr-defined]
    (last,) = stream.close()
    assert last.error is not None
    assert "no event stream" in last.error.message
