"""OpenAI Chat, decoding: every quirk of the services as a small case of our own, fed whole and at every cut."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from feeding import DONE, bytewise, call, check_every_cut, check_shape, delta, merged, read, sse, whole
from toolwire import EventType, Limits, SegmentType, StopReason
from toolwire.providers.openai_chat import STOP_REASONS

Calls = list[tuple[str, str, Any]]
"""id, name, arguments (or the raw text where the call may not run)."""


def calls_of(summary: dict[str, Any]) -> Calls:
    return [(call["id"], call["name"], call["arguments"]) for call in summary["calls"]]


USAGE = {"prompt_tokens": 5, "completion_tokens": 7, "total_tokens": 12}
F = [("c1", "f", {"x": 1})]
END = delta(finish="tool_calls")

CALLS: dict[str, tuple[bytes, Calls]] = {
    "as OpenAI sends it": (
        sse(
            delta(role="assistant", content=None),
            delta(tool_calls=[call("", id="c1", name="f")]),
            delta(tool_calls=[call('{"x"')]),
            delta(tool_calls=[call(": 1}")]),
            END,
            {"choices": [], "usage": USAGE},
        ),
        F,
    ),
    "index as text": (
        sse(delta(tool_calls=[call("", index="0", id="c1", name="f")]), delta(tool_calls=[call('{"x":1}')]), END),
        F,
    ),
    "index as 0.0": (
        sse(delta(tool_calls=[call("", index=0.0, id="c1", name="f")]), delta(tool_calls=[call('{"x":1}')]), END),
        F,
    ),
    "id as a number": (sse(delta(tool_calls=[call('{"x":1}', id=7, name="f")]), END), [("7", "f", {"x": 1})]),
    "one call where a list belongs": (sse(delta(tool_calls=call('{"x":1}', id="c1", name="f")), END), F),
    "function null on a later delta": (
        sse(
            delta(tool_calls=[call('{"x":1}', id="c1", name="f")]),
            delta(tool_calls=[{"index": 0, "function": None}]),
            END,
        ),
        F,
    ),
    "arguments of blanks": (sse(delta(tool_calls=[call(" \n", id="c1", name="f")]), END), [("c1", "f", {})]),
    "two calls, one index, two ids": (
        sse(delta(tool_calls=[call("{}", id="a", name="f")]), delta(tool_calls=[call("{}", id="b", name="g")]), END),
        [("a", "f", {}), ("b", "g", {})],
    ),
    "two fragments of one index in one delta": (
        sse(delta(tool_calls=[call('{"x"', id="c1", name="f"), call(":1}")]), END),
        F,
    ),
    "calls in the order of their indexes": (
        sse(
            delta(tool_calls=[call("{}", index=1, id="b", name="g")]),
            delta(tool_calls=[call("{}", index=0, id="a", name="f")]),
            END,
        ),
        [("a", "f", {}), ("b", "g", {})],
    ),
    "empty finish_reason is none": (
        sse(
            delta(tool_calls=[call('{"x":', id="c1", name="f")], finish=""),
            delta(tool_calls=[call("1}")], finish="tool_calls"),
            done=False,
        ),
        F,
    ),
    "finish_reason on every call": (
        sse(
            delta(tool_calls=[call("{}", id="a", name="f")], finish="tool_calls"),
            delta(tool_calls=[call("{}", index=1, id="b", name="g")], finish="tool_calls"),
            done=False,
        ),
        [("a", "f", {}), ("b", "g", {})],
    ),
    "content empty beside the call": (
        sse(delta(content="", tool_calls=[call('{"x":1}', id="c1", name="f")]), END),
        F,
    ),
    "a blank before data": (b" " + sse(delta(tool_calls=[call('{"x":1}', id="c1", name="f")]), END), F),
    "comments and pings between": (
        b": PROCESSING\n\n"
        + sse(delta(tool_calls=[call('{"x":1}', id="c1", name="f")]), done=False)
        + b': ping\n\ndata: {"type":"ping"}\n\n'
        + sse(END),
        F,
    ),
    "the delta again under message": (
        sse(
            {
                "choices": [
                    {
                        "delta": {"tool_calls": [call('{"x":1}', id="c1", name="f")]},
                        "message": {"tool_calls": [call('{"x":1}', id="c1", name="f")]},
                    }
                ]
            },
            {"choices": [{"message": {"tool_calls": [call('{"x":1}', id="c1", name="f")]}}]},
            END,
        ),
        F,
    ),
    "message instead of delta": (
        sse({"choices": [{"message": {"tool_calls": [call('{"x":1}', id="c1", name="f")]}}]}, END),
        F,
    ),
    "a whole answer that was not streamed": (
        msgspec.json.encode(
            {
                "object": "chat.completion",
                "choices": [
                    {
                        "message": {"content": None, "tool_calls": [call('{"x":1}', index=None, id="c1", name="f")]},
                        "finish_reason": "tool_calls",
                    }
                ],
            }
        ),
        F,
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_calls(name: str) -> None:
    body, expected = CALLS[name]
    stream, events = read(whole(body))
    check_shape(events)
    assert calls_of(stream.summary()) == expected
    assert all(call["complete"] for call in stream.summary()["calls"])
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
    check_every_cut(body)


CALL = delta(tool_calls=[call('{"x":1}', id="c1", name="f")])
NOT_RUN: dict[str, bytes] = {
    "cut before the finish": sse(CALL, done=False),
    "cut inside the arguments": sse(delta(tool_calls=[call('{"x":', id="c1", name="f")]), done=False),
    "cut inside the finish": sse(CALL, END, done=False)[:-20],
    "content after the finish, then cut": sse(
        CALL, END, delta(tool_calls=[call("{}", index=1, id="c2", name="g")]), done=False
    ),
    "arguments cut, tool_calls all the same": sse(delta(tool_calls=[call('{"x":', id="c1", name="f")]), END),
    "arguments that are a list": sse(delta(tool_calls=[call("[1]", id="c1", name="f")]), END),
    "arguments twice": sse(delta(tool_calls=[call('{"x":1}{"x":1}', id="c1", name="f")]), END),
    "no name": sse(delta(tool_calls=[call('{"x":1}', id="c1")]), END),
    "error after the call": sse(CALL, {"error": {"message": "overloaded"}}),
    **{
        f"stop reason {word}": sse(CALL, delta(finish=word))
        for word, reason in STOP_REASONS.items()
        if reason not in (StopReason.STOP, StopReason.TOOL_CALLS)
    },
    "stop reason never seen": sse(CALL, delta(finish="because")),
}


@pytest.mark.parametrize("name", NOT_RUN)
def test_no_half_call_runs(name: str) -> None:
    stream, events = read(whole(NOT_RUN[name]))
    check_shape(events)
    assert stream.invocations == []
    (first, *_) = stream.summary()["calls"]
    assert not first["complete"]
    assert first["problem"]
    ends = [event for event in events if event.type is EventType.END and event.segment_id == "c1"]
    assert ends[0].metadata is not None
    assert ends[0].metadata["problem"] == first["problem"]


@pytest.mark.parametrize(("word", "reason"), STOP_REASONS.items())
def test_stop_reasons(word: str, reason: StopReason) -> None:
    stream, events = read(whole(sse(delta(content="hi"), delta(finish=word))))
    # Without a call there is nothing to answer.
    expected = StopReason.STOP if reason is StopReason.TOOL_CALLS else reason
    assert stream.stop_reason is expected
    assert stream.raw_stop_reason == word
    assert events[-1].stop_reason is expected


def test_stop_reasons_are_compared_without_case() -> None:
    stream, _ = read(whole(sse(delta(content="hi", finish="STOP"))))
    assert stream.stop_reason is StopReason.STOP


ERRORS: dict[str, tuple[bytes, str, str]] = {
    "an error object": (sse({"error": {"message": "overloaded", "code": 503}}), "ProviderError", "overloaded"),
    "an error text": (sse({"error": "overloaded"}), "ProviderError", "overloaded"),
    "an error without words": (sse({"error": {"kind": 5}}), "ProviderError", '{"kind":5}'),
    "an error beside choices": (
        sse({"choices": [{"delta": {"content": "hi"}}], "error": {"message": "overloaded"}}),
        "ProviderError",
        "overloaded",
    ),
    "an error with a nested code": (sse({"error": {"message": "overloaded", "code": [[1]]}}), "ProviderError", "over"),
    "event: error": (b'event: error\ndata: {"error":{"message":"overloaded"}}\n\n', "ProviderError", "overloaded"),
    "an error field of its own": (b'error: {"detail":"overloaded"}\n\n', "ProviderError", "overloaded"),
    "an error field of words": (b"error: overloaded\n\n", "ProviderError", "overloaded"),
    "a bare error after events": (
        sse(delta(content="hi"), done=False) + b'{"error":{"message":"overloaded"}}\n',
        "ProviderError",
        "overloaded",
    ),
    "a body that is an error": (
        b'{\n  "error": {\n    "message": "overloaded"\n  }\n}\n',
        "ProviderError",
        "overloaded",
    ),
    "an error over several lines after events": (
        sse(delta(content="hi"), done=False) + b'{\n  "error": {\n    "message": "overloaded"\n  }\n}\n',
        "ProviderError",
        "overloaded",
    ),
    "stray lines after events": (
        sse(delta(content="hi"), done=False) + b"upstream gone\n",
        "IncompleteStream",
        "broke off",
    ),
    "a body that is an error of another form": (b'{"detail": "overloaded"}', "ProviderError", "overloaded"),
    "no JSON": (sse("{nonsense}"), "ProtocolError", "not of this format"),
    "JSON of another kind": (sse("[1]"), "ProtocolError", "not of this format"),
    "content that is a number": (sse(delta(content=5)), "ProtocolError", "content"),
    "an index that is no number": (
        sse(delta(tool_calls=[call("{}", index="one", id="a", name="f")])),
        "ProtocolError",
        "'one'",
    ),
    "an index that is a fraction": (
        sse(delta(tool_calls=[call("{}", index=0.5, id="a", name="f")])),
        "ProtocolError",
        "0.5",
    ),
    "an index that is true": (
        sse(delta(tool_calls=[call("{}", index=True, id="a", name="f")])),
        "ProtocolError",
        "True",
    ),
    "an index that is a list": (
        sse(delta(tool_calls=[call("{}", index=[0], id="a", name="f")])),
        "ProtocolError",
        "[0]",
    ),
    "a web page": (b"<!doctype html>\n<html><body>Hello</body></html>\n", "ProtocolError", "no event stream"),
    "plain text": (b"Hello there\nthis is a file\n", "ProtocolError", "no event stream"),
    "nothing": (b"", "IncompleteStream", "broke off"),
    "only comments": (b": hello\n\n", "IncompleteStream", "broke off"),
    "no end": (sse(delta(content="hi"), done=False), "IncompleteStream", "broke off"),
    "cut inside an event": (sse(delta(content="hi"))[:-30], "IncompleteStream", "broke off"),
    "cut inside the end mark": (sse(delta(content="hi"))[:-5], "IncompleteStream", "broke off"),
    "cut inside a character": (
        sse(delta(content="hi é"), done=False)[:-29],
        "IncompleteStream",
        "broke off",
    ),
    "cut inside unseparated events": (
        sse(delta(content="hi"), delta(content="ho")).replace(b"\n\n", b"\n")[:-40],
        "IncompleteStream",
        "broke off",
    ),
    "bad UTF-8": (b'data: {"choices":[{"delta":{"content":"\xff"}}]}\n\n' + DONE, "ProtocolError", "UTF-8"),
    "nested too deeply": (sse('{"choices":' + "[" * 100_000), "ProtocolError", ""),
    "too many choices": (
        sse({"choices": [{"index": index, "delta": {"content": "x"}} for index in range(200)]}),
        "ProtocolError",
        "choices",
    ),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors_are_typed_and_the_last_event(name: str) -> None:
    body, kind, words = ERRORS[name]
    stream, events = read(whole(body))
    check_shape(events)
    assert events[-1].error is not None
    assert events[-1].error.type == kind
    assert words in events[-1].error.message
    assert not stream.complete
    assert stream.feed(body) == []
    assert stream.close() == []
    for cut in range(0, len(body), max(1, len(body) // 50)):
        assert list(merged(read([body[:cut], body[cut:]])[1])) == list(merged(events))


@pytest.mark.parametrize("depth", range(100, 1100, 20))
def test_errors_of_nothing_but_nesting(depth: int) -> None:
    """Some depth is just within reach of the JSON decoder and just out of reach of whatever shows the value."""
    stream, events = read(whole(sse('{"error":' + "[" * depth + "]" * depth + "}")))
    check_shape(events)
    assert stream.error is not None
    assert len(stream.error.message) < 3000


def test_an_error_says_where() -> None:
    good = sse(delta(content="hi"), done=False)
    stream, _ = read(whole(good + sse("{nonsense}")))
    assert stream.error is not None
    assert stream.error.position == len(good)
    assert stream.error.event == 2


def test_indented_events_are_events() -> None:
    body = b" " + sse(delta(content="hi"), done=False) + b"upstream gone\n"
    stream, _ = read(whole(body))
    assert type(stream.error).__name__ == "IncompleteStream"


def test_text_before_an_error_in_the_same_event_is_kept() -> None:
    stream, _ = read(whole(ERRORS["an error beside choices"][0]))
    assert stream.summary()["text"] == "hi"


def segments(body: bytes, **options: Any) -> list[tuple[str, str]]:
    stream, events = read(whole(body), **options)
    check_shape(events)
    return [(segment.segment_type, segment.text) for segment in stream._handler.segments]


TEXTS: dict[str, tuple[bytes, list[tuple[str, str]]]] = {
    "text": (sse(delta(content="Hel"), delta(content="lo", finish="stop")), [("text", "Hello")]),
    "reasoning_content, then text": (
        sse(delta(reasoning_content="hm"), delta(content="Hello", finish="stop")),
        [("reasoning", "hm"), ("text", "Hello")],
    ),
    "reasoning": (sse(delta(reasoning="hm", content=""), delta(finish="stop")), [("reasoning", "hm")]),
    "reasoning under both names is taken once": (
        sse(delta(reasoning="hm", reasoning_content="hm"), delta(finish="stop")),
        [("reasoning", "hm")],
    ),
    "reasoning beside its details is taken once": (
        sse(delta(reasoning="hm", reasoning_details=[{"type": "reasoning.text", "text": "hm"}]), delta(finish="stop")),
        [("reasoning", "hm")],
    ),
    "reasoning in details alone": (
        sse(delta(reasoning_details=[{"type": "reasoning.summary", "summary": "hm"}]), delta(finish="stop")),
        [("reasoning", "hm")],
    ),
    "details that are no list": (
        sse(delta(reasoning="hm", reasoning_details={"type": "x"}), delta(finish="stop")),
        [("reasoning", "hm")],
    ),
    "a refusal is text of its own": (
        sse(delta(content="I"), delta(refusal="No"), delta(refusal="."), delta(finish="stop")),
        [("text", "I"), ("text", "No.")],
    ),
    "text around a call": (
        sse(delta(content="a"), CALL, delta(content="b"), END),
        [("text", "a"), ("tool_call", '{"x":1}'), ("text", "b")],
    ),
    "text and a call in one delta": (
        sse(delta(content="a", tool_calls=[call("{}", id="c1", name="f")]), END),
        [("text", "a"), ("tool_call", "{}")],
    ),
    "tools with a segment of their own": (
        sse(
            delta(
                tool_calls=[
                    call("{}", index=i, id=n, name=n) for i, n in enumerate(("write_file", "edit_file", "run_bash"))
                ]
            ),
            END,
        ),
        [("write_file", "{}"), ("edit_file", "{}"), ("run_bash", "{}")],
    ),
    "pictures": (
        sse(
            delta(content="see", images=[{"type": "image_url", "image_url": {"url": "data:image/png;base64,AA"}}]),
            delta(finish="stop"),
        ),
        [("text", "see"), ("media", "data:image/png;base64,AA")],
    ),
    "sound and its words": (
        sse(
            delta(audio={"id": "a1", "transcript": "Hel"}),
            delta(audio={"data": "AAA"}),
            delta(audio={"transcript": "lo"}),
            delta(audio={"data": "BBB", "expires_at": 5}),
            delta(finish="stop"),
        ),
        [("text", "Hello"), ("media", "AAABBB")],
    ),
    "a choice without a delta": (
        sse(delta(content="Hello"), {"choices": [{"index": 0, "content_filter_results": {}}]}, delta(finish="stop")),
        [("text", "Hello")],
    ),
    "chunks without choices": (
        sse(
            {"choices": [], "prompt_filter_results": []},
            {"id": "x"},
            {"choices": None},
            delta(content="Hello"),
            delta(finish="stop"),
        ),
        [("text", "Hello")],
    ),
}


@pytest.mark.parametrize("name", TEXTS)
def test_text_reasoning_and_media(name: str) -> None:
    body, expected = TEXTS[name]
    assert segments(body) == expected
    stream, events = read(whole(body))
    assert stream.complete
    assert list(merged(read(bytewise(body))[1])) == list(merged(events))


def test_refusal_is_marked() -> None:
    stream, events = read(whole(TEXTS["a refusal is text of its own"][0]))
    marks = [event.metadata for event in events if event.type is EventType.START]
    assert marks == [None, {"refusal": True}]
    assert stream.summary()["refusal"] == "No."
    assert stream.summary()["text"] == "I"


USAGES = {
    "last chunk": (sse(delta(finish="stop"), {"choices": [], "usage": USAGE}), (5, 7, 12)),
    "finish chunk": (sse({**delta(finish="stop"), "usage": USAGE}), (5, 7, 12)),
    "several, the last counts": (
        sse(
            {**delta(content="a"), "usage": {"prompt_tokens": 5, "completion_tokens": 1}},
            {**delta(finish="stop"), "usage": USAGE},
        ),
        (5, 7, 12),
    ),
    "x_groq": (sse({**delta(finish="stop"), "x_groq": {"usage": USAGE}}), (5, 7, 12)),
    "null": (sse({**delta(finish="stop"), "usage": None}), None),
    "of another kind": (sse(delta(finish="stop"), {"usage": [1]}), (0, 0, 0)),
    "without a total": (sse(delta(finish="stop"), {"usage": {"input_tokens": 2, "output_tokens": 3}}), (2, 3, 5)),
    "nonsense": (sse(delta(finish="stop"), {"usage": {"prompt_tokens": "many", "completion_tokens": -1}}), (0, 0, 0)),
}


@pytest.mark.parametrize("name", USAGES)
def test_usage(name: str) -> None:
    body, expected = USAGES[name]
    usage = read(whole(body))[0].usage
    assert (usage and (usage.input_tokens, usage.output_tokens, usage.total_tokens)) == expected


def test_usage_details() -> None:
    details = {
        **USAGE,
        "prompt_tokens_details": {"cached_tokens": 3},
        "completion_tokens_details": {"reasoning_tokens": 4},
    }
    usage = read(whole(sse(delta(finish="stop"), {"usage": details})))[0].usage
    assert usage is not None
    assert (usage.cached_tokens, usage.reasoning_tokens) == (3, 4)


def test_alternatives_are_kept_apart_and_only_the_first_is_acted_on() -> None:
    body = sse(
        delta(content="A", choice=0),
        delta(content="B", choice=1),
        delta(content="a", choice=0),
        delta(tool_calls=[call('{"n":', id="c1", name="f")], choice=0),
        delta(tool_calls=[call('{"n":', id="c1", name="f")], choice=1),
        delta(tool_calls=[call("1}")], choice=0),
        delta(tool_calls=[call("2}")], choice=1),
        delta(finish="tool_calls", choice=0),
        delta(finish="tool_calls", choice=1),
    )
    stream, events = read(whole(body))
    check_shape(events)
    assert [(i.call_id, i.arguments) for i in stream.invocations] == [("c1", {"n": 1})]
    summary = stream.summary()
    assert summary["text"] == "AaB"
    assert [(c["id"], c["complete"]) for c in summary["calls"]] == [("c1", True), ("c1", False)]
    assert "alternative 1" in summary["calls"][1]["problem"]
    assert {e.segment_id: e.metadata for e in events if e.type is EventType.START and e.metadata} == {
        "s1": {"choice": 1},
        "s2": {"choice": 1},
    }
    assert stream.message.text == "Aa"


def test_a_repeated_id_runs_once() -> None:
    twice = [call("{}", index=0, id="c1", name="f"), call("{}", index=1, id="c1", name="f")]
    stream, _ = read(whole(sse(delta(tool_calls=twice), END)))
    assert len(stream.invocations) == 1
    assert "runs once" in stream.summary()["calls"][1]["problem"]


def test_a_repeated_id_with_other_arguments_is_refused() -> None:
    twice = [call('{"n":1}', index=0, id="c1", name="f"), call('{"n":2}', index=1, id="c1", name="f")]
    stream, events = read(whole(sse(delta(tool_calls=twice), END)))
    assert [invocation.arguments for invocation in stream.invocations] == [{"n": 1}]
    assert "already used" in stream.summary()["calls"][1]["problem"]
    # The call had ended well, so the last event tells why it will not run.
    assert events[-1].metadata is not None
    assert list(events[-1].metadata["problems"].values()) == [stream.summary()["calls"][1]["problem"]]


def test_opaque_data_is_kept_for_the_way_back() -> None:
    detail = {"type": "reasoning.encrypted", "data": "abc", "index": 0}
    extra = {"google": {"thought_signature": "sig"}}
    body = sse(
        delta(reasoning_details=[detail]),
        delta(tool_calls=[call("{}", id="c1", name="f", extra_content=extra)]),
        END,
    )
    message = read(whole(body))[0].message
    assert message.provider_data == [{"wire": "openai-chat", "reasoning_detail": detail}]
    assert message.tool_calls[0].provider_data == {"wire": "openai-chat", "extra_content": extra}


def test_quirks_are_counted() -> None:
    body = b" " + sse(delta(content="a"), {"type": "ping"}, "") + sse(delta(content="b")) + b"stray\n"
    stream, _ = read(whole(body))
    assert stream.quirks == {
        "indented-data": 1,
        "chunk-without-choices": 1,
        "empty-data": 1,
        "data-after-the-end": 2,
        "stray-line": 2,
    }


LIMITS = {
    "line": (Limits(line=100), sse(delta(content="x" * 200))),
    "event": (Limits(event=100), sse(delta(content="x" * 200))),
    "stream": (Limits(stream=100), sse(*[delta(content="x")] * 10)),
    "arguments": (Limits(arguments=100), sse(*[delta(tool_calls=[call("x" * 20, id="a", name="f")])] * 10)),
    "calls": (Limits(calls=3), sse(*[delta(tool_calls=[call("{}", index=i, id=f"c{i}", name="f")]) for i in range(5)])),
    "segments": (Limits(segments=3), sse(*[delta(content="x"), delta(reasoning_content="y")] * 3)),
    "blocks": (Limits(blocks=3), sse(*[delta(reasoning_details=[{"type": "t"}, {"type": "t"}])] * 3)),
    "name": (Limits(name=10), sse(delta(tool_calls=[call("", id="a", name="f" * 20)]))),
    "call_id": (Limits(call_id=10), sse(delta(tool_calls=[call("", id="a" * 20, name="f")]))),
}


@pytest.mark.parametrize("name", LIMITS)
def test_every_bound_ends_in_a_typed_error(name: str) -> None:
    limits, body = LIMITS[name]
    stream, events = read(whole(body), limits=limits)
    check_shape(events)
    assert events[-1].error is not None
    assert events[-1].error.type == "LimitExceeded"
    assert events[-1].error.facts["limit"] == getattr(limits, name)
    assert stream.invocations == []
    assert list(merged(read(bytewise(body), limits=limits)[1])) == list(merged(events))
