"""Cohere, decoding: what the API sends, in small cases of our own, fed whole and byte by byte."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from feeding import DONE, bytewise, check_every_cut, check_shape, merged, read, sse, typed_sse, whole
from toolwire import EventType, Limits, SegmentEvent, StopReason, Stream, TokenUsage
from toolwire.chunks import Citation
from toolwire.messages import TextPart, ThinkingPart, ToolCallPart

Event = dict[str, Any]
USAGE = {"tokens": {"input_tokens": 5, "output_tokens": 7}}


def event(kind: str, index: Any = None, **message: Any) -> Event:
    at = {} if index is None else {"index": index}
    return {"type": kind, **at, **({"delta": {"message": message}} if message else {})}


def start(**message: Any) -> Event:
    empty = {"role": "assistant", "content": [], "tool_plan": "", "tool_calls": [], "citations": []}
    return {"id": "m1", **event("message-start", **{**empty, **message})}


def text(index: Any, words: Any) -> Event:
    return event("content-delta", index, content={"text": words})


def thought(index: Any, words: Any) -> Event:
    return event("content-delta", index, content={"thinking": words})


def says(index: Any, *words: str, member: str = "text") -> list[Event]:
    begun = event("content-start", index, content={"type": member, member: ""})
    return [
        begun,
        *(event("content-delta", index, content={member: word}) for word in words),
        event("content-end", index),
    ]


def plan(*words: str) -> list[Event]:
    return [event("tool-plan-delta", tool_plan=word) for word in words]


def begin(index: Any = 0, id: Any = "t1", name: Any = "f", arguments: Any = "") -> Event:
    function = {"name": name, "arguments": arguments}
    return event("tool-call-start", index, tool_calls={"id": id, "type": "function", "function": function})


def piece(index: Any, arguments: Any) -> Event:
    return event("tool-call-delta", index, tool_calls={"function": {"arguments": arguments}})


def ended(index: Any = 0) -> Event:
    return event("tool-call-end", index)


def calls(index: Any, *pieces: str, id: str = "t1", name: str = "f") -> list[Event]:
    return [begin(index, id, name), *(piece(index, one) for one in pieces), ended(index)]


def cites(*sources: Any, text: Any = "Hi") -> list[Event]:
    citation = {"start": 0, "end": 2, "text": text, "sources": list(sources), "type": "TEXT_CONTENT"}
    return [event("citation-start", 0, citations=citation), event("citation-end", 0)]


def last(reason: str | None, usage: Any = USAGE, **members: Any) -> Event:
    return {"type": "message-end", "delta": {"finish_reason": reason, "usage": usage, **members}}


def answer(*events: Event, reason: str | None = "COMPLETE") -> bytes:
    return typed_sse(start(), *events, last(reason)) + DONE


def decode(body: bytes, **options: Any) -> tuple[Stream, list[SegmentEvent]]:
    """The stream of these bytes, after checking that byte by byte they give the same."""
    stream, events = read(whole(body), "cohere", **options)
    check_shape(events)
    cut, cut_events = read(bytewise(body), "cohere", **options)
    assert list(merged(cut_events)) == list(merged(events))
    assert cut.summary() == stream.summary()
    assert msgspec.to_builtins(cut.message) == msgspec.to_builtins(stream.message)
    assert cut.quirks == stream.quirks or not stream.complete
    msgspec.json.encode([stream.summary(), stream.message])
    return stream, events


Calls = list[tuple[str, str, Any, bool]]


def shown_calls(stream: Stream) -> Calls:
    return [(call["id"], call["name"], call["arguments"], call["complete"]) for call in stream.summary()["calls"]]


F: Calls = [("t1", "f", {"x": 1}, True)]
ONE = '{"x":1}'
TOOL = "TOOL_CALL"

CALLS: dict[str, tuple[bytes, Calls]] = {
    "as the API sends it": (answer(*plan("I", " look."), *calls(0, '{"', "x", '": 1', "}"), reason=TOOL), F),
    "without a plan": (answer(*calls(0, ONE), reason=TOOL), F),
    "after text": (answer(*says(0, "I look."), *calls(0, ONE), reason=TOOL), F),
    "no arguments: no piece at all": (answer(*calls(0), reason=TOOL), [("t1", "f", {}, True)]),
    "no arguments: empty pieces": (answer(*calls(0, "", ""), reason=TOOL), [("t1", "f", {}, True)]),
    "no arguments: null": (answer(begin(0, arguments=None), ended(), reason=TOOL), [("t1", "f", {}, True)]),
    "arguments whole in the start": (answer(begin(0, arguments=ONE), ended(), reason=TOOL), F),
    "several": (
        answer(*calls(0, ONE), *calls(1, "{}", id="t2", name="g"), reason=TOOL),
        [*F, ("t2", "g", {}, True)],
    ),
    "several, all of index 0": (
        answer(*calls(0, ONE), *calls(0, "{}", id="t2", name="g"), reason=TOOL),
        [*F, ("t2", "g", {}, True)],
    ),
    "several without any index": (
        answer(*calls(None, ONE), *calls(None, "{}", id="t2"), reason=TOOL),
        [*F, ("t2", "f", {}, True)],
    ),
    "with one id for both": (
        answer(*calls(0, ONE), *calls(1, "{}"), reason=TOOL),
        [*F, ("t1", "f", "{}", False)],
    ),
    "mixed": (
        answer(
            *(begin(0), begin(1, "t2", "g"), piece(0, '{"x"'), piece(1, '{"y"')),
            *(piece(0, ":1}"), piece(1, ":2}"), ended(1), ended(0)),
            reason=TOOL,
        ),
        [*F, ("t2", "g", {"y": 2}, True)],
    ),
    "indexes in another order": (
        answer(*calls(7, ONE), *calls(3, "{}", id="t2"), reason=TOOL),
        [*F, ("t2", "f", {}, True)],
    ),
    "a list for one call": (
        answer(
            event("tool-call-start", 0, tool_calls=[{"id": "t1", "function": {"name": "f"}}]),
            event("tool-call-delta", 0, tool_calls=[{"function": {"arguments": ONE}}]),
            ended(),
            reason=TOOL,
        ),
        F,
    ),
    "id and name again on every piece": (
        answer(
            begin(),
            *(
                event("tool-call-delta", 0, tool_calls={"id": "t1", "function": {"name": "f", "arguments": one}})
                for one in ('{"x"', ":1}")
            ),
            ended(),
            reason=TOOL,
        ),
        F,
    ),
    "begun twice": (answer(begin(), *calls(0, ONE), reason=TOOL), F),
    "ended twice": (answer(*calls(0, ONE), ended(), reason=TOOL), F),
    "the word is COMPLETE": (answer(*calls(0, ONE), reason="COMPLETE"), F),
    "no message-start": (typed_sse(*calls(0, ONE), last(TOOL)), F),
    "no event lines": (sse(start(), *calls(0, ONE), last(TOOL)), F),
    "another id in the middle": (
        answer(
            begin(),
            event("tool-call-delta", 0, tool_calls={"id": "t9", "function": {"arguments": ONE}}),
            ended(),
            reason=TOOL,
        ),
        [("t1", "f", "", False), ("t9", "", ONE, False)],
    ),
    "another name after whole arguments": (
        answer(begin(), piece(0, ONE), event("tool-call-delta", 0, tool_calls={"function": {"name": "rm"}}), ended()),
        [("t1", "f", ONE, False), ("s0", "rm", "", False)],
    ),
    "another call in the middle": (
        answer(
            begin(),
            event("tool-call-delta", 0, tool_calls={"id": "t9", "function": {"name": "rm", "arguments": ONE}}),
            ended(),
            reason=TOOL,
        ),
        [("t1", "f", "", False), ("t9", "rm", ONE, False)],
    ),
    "begun twice with a part of the arguments": (
        answer(begin(0, arguments='{"x"'), begin(0, arguments='{"x"'), piece(0, ":1}"), ended(), reason=TOOL),
        [("t1", "f", '{"x"', False), ("t1", "f", ONE, False)],
    ),
    "never ended": (answer(begin(), piece(0, ONE), reason=TOOL), [("t1", "f", ONE, False)]),
    "the next one begins before the end": (
        answer(begin(), piece(0, ONE), *calls(1, "{}", id="t2"), reason=TOOL),
        [("t1", "f", ONE, False), ("t2", "f", {}, True)],
    ),
    "the next one takes its index before the end": (
        answer(begin(), piece(0, ONE), *calls(0, "{}", id="t2"), reason=TOOL),
        [("t1", "f", ONE, False), ("t2", "f", "{}", False)],
    ),
    "without a name": (answer(begin(0, "t1", None), ended(), reason=TOOL), [("t1", "", "", False)]),
    "with neither id nor name": (answer(begin(0, None, None), ended(), reason=TOOL), []),
    "cut by the limit": (answer(begin(), piece(0, '{"x":'), reason="MAX_TOKENS"), [("t1", "f", '{"x":', False)]),
    "ended by the limit": (answer(*calls(0, ONE), reason="MAX_TOKENS"), [("t1", "f", ONE, False)]),
    "ended by a stop sequence": (answer(*calls(0, ONE), reason="STOP_SEQUENCE"), [("t1", "f", ONE, False)]),
    "words after it, then a stop sequence": (
        answer(*calls(0, ONE), *says(0, "So"), reason="STOP_SEQUENCE"),
        F,
    ),
    "out of time": (answer(*calls(0, ONE), reason="TIMEOUT"), [("t1", "f", ONE, False)]),
    "no word for the end": (answer(*calls(0, ONE), reason=None), [("t1", "f", ONE, False)]),
    "arguments that are no JSON": (answer(*calls(0, '{"x"'), reason=TOOL), [("t1", "f", '{"x"', False)]),
    "the message begins again": (
        typed_sse(start(), *calls(0, ONE), start(), *calls(0, ONE, id="t2"), last(TOOL)),
        [("t1", "f", ONE, False), ("t2", "f", ONE, False)],
    ),
    "the message begins after a call": (
        typed_sse(*calls(0, ONE), start(), *calls(0, ONE, id="t2"), last(TOOL)),
        [("t1", "f", ONE, False), ("t2", "f", ONE, False)],
    ),
    "the message begins within a call": (
        typed_sse(begin(), piece(0, ONE), start(), ended(), last(TOOL)),
        [("t1", "f", ONE, False)],
    ),
    "named in message-start, then sent": (
        typed_sse(
            start(tool_calls=[{"id": "t1", "type": "function", "function": {"name": "f", "arguments": ""}}]),
            *calls(0, ONE),
            last(TOOL),
        ),
        [("t1", "f", "", False), ("t1", "f", ONE, False)],
    ),
    "the message begins again before the call ends": (
        typed_sse(start(), begin(), piece(0, '{"x":'), start(), *calls(0, ONE, id="t2"), last(TOOL)),
        [("t1", "f", '{"x":', False), ("t2", "f", {"x": 1}, True)],
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_calls(name: str) -> None:
    body, expected = CALLS[name]
    stream, _ = decode(body)
    assert stream.complete
    assert shown_calls(stream) == expected
    run = [(one.call_id, one.tool_name, one.arguments) for one in stream.invocations]
    assert run == [one[:3] for one in expected if one[3]]


BROKEN: dict[str, tuple[bytes, str]] = {
    "arguments before any call": (answer(piece(0, ONE), reason=TOOL), "ProtocolError"),
    "arguments of a call that has ended": (answer(*calls(0, ONE), piece(0, " "), reason=TOOL), "ProtocolError"),
    "arguments of another index": (answer(begin(), piece(1, ONE), ended(), reason=TOOL), "ProtocolError"),
    "a name that changes": (
        answer(
            begin(),
            piece(0, '{"x"'),
            event("tool-call-delta", 0, tool_calls={"function": {"name": "rm", "arguments": ":1}"}}),
            reason=TOOL,
        ),
        "ProtocolError",
    ),
    "arguments that are an object": (answer(begin(0, arguments={"x": 1}), reason=TOOL), "ProtocolError"),
    "no end": (typed_sse(start(), *calls(0, ONE)), "IncompleteStream"),
    "[DONE] instead of message-end": (typed_sse(start(), *calls(0, ONE)) + DONE, "IncompleteStream"),
    "an error at the end": (typed_sse(start(), *calls(0, ONE), last("ERROR", error="overloaded")), "ProviderError"),
    "an error beside another word": (typed_sse(start(), *calls(0, ONE), last(TOOL, error="no")), "ProviderError"),
    "an error beside arguments": (
        typed_sse(start(), begin(), piece(0, ONE) | {"error": {"message": "no"}}, ended(), last(TOOL)),
        "ProviderError",
    ),
    "an error without words": (typed_sse(start(), *calls(0, ONE), last("ERROR")), "ProviderError"),
    "an error of its own": (typed_sse(start(), *calls(0, ONE)) + sse({"id": "x", "message": "no"}), "ProviderError"),
    "an error object": (typed_sse(start(), *calls(0, ONE)) + sse({"error": {"message": "no"}}), "ProviderError"),
    "an error that is no stream": (b'{"id":"x","message":"invalid api token"}', "ProviderError"),
    "an error over several lines": (b'{\n"id": "x",\n"message": "invalid api token"\n}\n', "ProviderError"),
    "the older API": (
        b'{"is_finished":false,"event_type":"stream-start"}\n{"is_finished":false,"event_type":"text-generation"}\n',
        "ProtocolError",
    ),
    "the older API as events": (sse({"event_type": "text-generation", "text": "Hi"}), "ProtocolError"),
    "a page": (b"<html>\n<p>502</p>\n</html>\n", "ProtocolError"),
    "an answer without an end": (
        b'{"id":"x","message":{"role":"assistant","content":[{"text":"Hi"}]}}',
        "ProtocolError",
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_nothing_of_a_broken_answer_runs(name: str) -> None:
    body, expected = BROKEN[name]
    stream, events = decode(body)
    assert type(stream.error).__name__ == expected
    assert events[-1].type is EventType.ERROR
    assert stream.error is not None
    assert expected == "IncompleteStream" or stream.error.provider == "cohere"
    assert not stream.complete
    assert stream.invocations == []
    assert not any(call[3] for call in shown_calls(stream))


def test_an_error_has_the_providers_words_and_keeps_what_was_said() -> None:
    stream, _ = decode(typed_sse(start(), *says(0, "Hi"), last("ERROR", error="the model is overloaded")))
    assert stream.error is not None
    assert "the model is overloaded" in stream.error.message
    assert stream.summary()["text"] == "Hi"
    assert stream.stop_reason is None


def test_the_older_api_is_named() -> None:
    for body in (BROKEN["the older API"][0], BROKEN["the older API as events"][0]):
        stream, _ = decode(body)
        assert stream.error is not None
        assert "v1" in stream.error.message
        assert "/v2/chat" in stream.error.hint


PLAN, THINKING = {"wire": "cohere", "part": "tool_plan"}, {"wire": "cohere", "part": "thinking"}
CALL = ToolCallPart("t1", "f", {"x": 1}, ONE)

MESSAGES: dict[str, tuple[bytes, list[Any]]] = {
    "text": (answer(*says(0, "Hel", "lo")), [TextPart("Hello")]),
    "text in the start": (
        answer(event("content-start", 0, content={"type": "text", "text": "Hel"}), text(0, "lo")),
        [TextPart("Hello")],
    ),
    "text without a start": (answer(text(0, "Hel"), text(0, "lo")), [TextPart("Hello")]),
    "two parts": (answer(*says(0, "a"), *says(1, "b")), [TextPart("a"), TextPart("b")]),
    "two parts of one index": (answer(*says(0, "a"), *says(0, "b")), [TextPart("a"), TextPart("b")]),
    "two parts, the first never ended": (answer(*says(0, "a")[:-1], *says(1, "b")), [TextPart("a"), TextPart("b")]),
    "two parts of one index, the first never ended": (
        answer(*says(0, "a")[:-1], *says(0, "b")),
        [TextPart("a"), TextPart("b")],
    ),
    "the end of another part": (answer(text(0, "a"), event("content-end", 1), text(0, "b")), [TextPart("ab")]),
    "two parts in turn": (
        answer(text(0, "a"), text(1, "b"), text(0, "c")),
        [TextPart("a"), TextPart("b"), TextPart("c")],
    ),
    "content as a string": (answer(event("content-delta", 0, content="Hi")), [TextPart("Hi")]),
    "thinking, then text": (
        answer(*says(0, "h", "m", member="thinking"), *says(1, "So.")),
        [ThinkingPart("hm", THINKING), TextPart("So.")],
    ),
    "thinking and text of one index": (
        answer(thought(0, "hm"), text(0, "So.")),
        [ThinkingPart("hm", THINKING), TextPart("So.")],
    ),
    "thinking and text in one piece": (
        answer(*says(0, "a"), event("content-delta", 0, content={"text": "So.", "thinking": "hm"})),
        [TextPart("a"), ThinkingPart("hm", THINKING), TextPart("So.")],
    ),
    "thinking and text in one piece, within text": (
        answer(text(0, "a"), event("content-delta", 0, content={"text": "So.", "thinking": "hm"})),
        [TextPart("a"), ThinkingPart("hm", THINKING), TextPart("So.")],
    ),
    "thinking and text in one piece, within thinking": (
        answer(thought(0, "h"), event("content-delta", 0, content={"text": "So.", "thinking": "m"})),
        [ThinkingPart("hm", THINKING), TextPart("So.")],
    ),
    "thinking in a part of text": (
        answer(text(0, "a"), thought(0, "hm"), text(0, "b")),
        [TextPart("a"), ThinkingPart("hm", THINKING), TextPart("b")],
    ),
    "thinking without words": (answer(*says(0, member="thinking"), *says(1, "So.")), [TextPart("So.")]),
    "thinking, then a call": (
        answer(*says(0, "hm", member="thinking"), *calls(0, ONE), reason=TOOL),
        [ThinkingPart("hm", THINKING), CALL],
    ),
    "a plan, then a call": (
        answer(*plan("I ", "look."), *calls(0, ONE), reason=TOOL),
        [ThinkingPart("I look.", PLAN), CALL],
    ),
    "a plan in the older place": (
        answer({"type": "tool-plan-delta", "delta": {"tool_plan": "I look."}}, *calls(0, ONE), reason=TOOL),
        [ThinkingPart("I look.", PLAN), CALL],
    ),
    "thinking, then a plan": (
        answer(*says(0, "hm", member="thinking"), *plan("I look."), *calls(0, ONE), reason=TOOL),
        [ThinkingPart("hm", THINKING), ThinkingPart("I look.", PLAN), CALL],
    ),
    "a plan, then text": (answer(*plan("I look."), *says(0, "So.")), [ThinkingPart("I look.", PLAN), TextPart("So.")]),
    "a plan and nothing more": (answer(*plan("I look.")), [ThinkingPart("I look.", PLAN)]),
    "a plan between calls": (
        answer(*calls(0, ONE), *plan("And", " again."), *calls(1, ONE, id="t2"), reason=TOOL),
        [CALL, ThinkingPart("And again.", PLAN), ToolCallPart("t2", "f", {"x": 1}, ONE)],
    ),
    "a plan around a citation": (
        answer(*plan("I "), *cites({"id": "a"}), *plan("look."), *calls(0, ONE), reason=TOOL),
        [ThinkingPart("I look.", PLAN), CALL],
    ),
    "a plan around the end of a part": (
        answer(*plan("I "), event("content-end"), *plan("look."), *calls(0, ONE), reason=TOOL),
        [ThinkingPart("I look.", PLAN), CALL],
    ),
    "words between the pieces of a call": (
        answer(begin(), text(0, "a"), piece(0, ONE), text(0, "b"), ended(), reason=TOOL),
        [TextPart("a"), CALL, TextPart("b")],
    ),
    "empty pieces": (answer(*says(0, "", "Hi", ""), *plan("", "")), [TextPart("Hi")]),
    "the message begins again": (
        typed_sse(start(), *says(0, "a")[:-1], start(), *says(0, "b"), last("COMPLETE")),
        [TextPart("a"), TextPart("b")],
    ),
    "the message begins again in the middle of a part": (
        typed_sse(start(), text(0, "a"), start(), text(0, "b"), last("COMPLETE")),
        [TextPart("a"), TextPart("b")],
    ),
    "debug and events of new kinds": (
        answer({"type": "debug", "prompt": "<BOS>"}, text(0, "a"), {**text(0, "x"), "type": "new"}, text(0, "b")),
        [TextPart("ab")],
    ),
    "all in message-start": (
        typed_sse(
            start(
                content=[{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "Hi"}],
                tool_calls=[{"id": "t1", "type": "function", "function": {"name": "f", "arguments": ONE}}],
                tool_plan="I look.",
            ),
            last(TOOL),
        ),
        [ThinkingPart("I look.", PLAN), ThinkingPart("hm", THINKING), TextPart("Hi"), CALL],
    ),
    "an answer that was not streamed": (
        msgspec.json.encode(
            {
                "id": "m1",
                "finish_reason": "TOOL_CALL",
                "message": {
                    "role": "assistant",
                    "content": [{"type": "text", "text": "Hi"}],
                    "tool_calls": [{"id": "t1", "type": "function", "function": {"name": "f", "arguments": ONE}}],
                    "citations": [{"text": "Hi", "sources": [{"id": "a"}]}],
                },
                "usage": USAGE,
            }
        ),
        [TextPart("Hi"), CALL],
    ),
}


@pytest.mark.parametrize("name", MESSAGES)
def test_messages(name: str) -> None:
    body, expected = MESSAGES[name]
    stream, _ = decode(body)
    assert stream.complete
    assert stream.message.parts == expected
    assert stream.usage is not None
    assert (stream.usage.input_tokens, stream.usage.output_tokens) == (5, 7)


@pytest.mark.parametrize(
    "name", ["thinking, then a plan", "a plan around a citation", "an answer that was not streamed"]
)
def test_every_cut(name: str) -> None:
    check_every_cut(MESSAGES[name][0], "cohere")


def test_pieces_are_handed_on_as_they_come() -> None:
    stream = Stream("cohere")
    stream.feed(typed_sse(start(), *says(0, "Hel")[:-1]))
    events = stream.feed(typed_sse(text(0, "lo")))
    assert [(one.type, one.delta) for one in events] == [(EventType.CONTENT, "lo")]


CITED: dict[str, tuple[bytes, list[Citation]]] = {
    "by a tool's result": (
        answer(text(0, "Hi"), *cites({"type": "tool", "id": "f_1:0", "tool_output": {"content": "18"}})),
        [Citation(title="f_1:0", quote="Hi")],
    ),
    "by documents": (
        answer(
            text(0, "Hi"),
            *cites(
                {"type": "document", "id": "d1", "document": {"title": "One", "url": "https://one.example"}},
                {"type": "document", "id": "d2", "document": {"id": "d2", "snippet": "x"}},
            ),
        ),
        [Citation("https://one.example", "One", "Hi"), Citation(title="d2", quote="Hi")],
    ),
    "by nothing": (answer(text(0, "Hi"), *cites()), [Citation(quote="Hi")]),
    "by things of other kinds": (
        answer(text(0, "Hi"), *cites(5, {"id": 5, "document": []}, text=5), event("citation-start", 0, citations="x")),
        [Citation()],
    ),
}


@pytest.mark.parametrize("name", CITED)
def test_citations_belong_to_the_text_they_stand_in(name: str) -> None:
    body, expected = CITED[name]
    _, events = decode(body)
    (end,) = [one for one in events if one.type is EventType.END]
    assert (end.metadata or {})["citations"] == expected


COUNTS: dict[str, tuple[Any, TokenUsage | None]] = {
    "as it is sent": (
        {
            "billed_units": {"input_tokens": 46, "output_tokens": 14},
            "tokens": {"input_tokens": 1445, "output_tokens": 43, "reasoning_tokens": 9},
            "cached_tokens": 704,
        },
        TokenUsage(1445, 43, 704, 0, 9, 1488),
    ),
    "as floats": ({"tokens": {"input_tokens": 5.0, "output_tokens": 7.0}}, TokenUsage(5, 7, total_tokens=12)),
    "what is billed alone": (
        {"billed_units": {"input_tokens": 3, "output_tokens": 9}},
        TokenUsage(3, 9, total_tokens=12),
    ),
    "more cached than read": ({"tokens": {"input_tokens": 5}, "cached_tokens": 9}, TokenUsage(5, 0, 5, total_tokens=5)),
    "more thought than written": (
        {"tokens": {"output_tokens": 5, "reasoning_tokens": 9}},
        TokenUsage(0, 5, reasoning_tokens=5, total_tokens=5),
    ),
    "of other kinds": ({"tokens": {"input_tokens": "x", "output_tokens": None}, "cached_tokens": []}, TokenUsage()),
    "no numbers": ({"tokens": 5, "billed_units": []}, TokenUsage()),
    "none": (None, None),
    "a list": ([1], None),
}


@pytest.mark.parametrize("name", COUNTS)
def test_usage(name: str) -> None:
    sent, expected = COUNTS[name]
    stream, _ = decode(typed_sse(start(), *says(0, "Hi"), last("COMPLETE", sent)))
    assert stream.usage == expected


def test_what_comes_after_the_end_is_only_counted() -> None:
    for mark in (DONE, b'data: "[DONE]"\n\n'):
        stream, _ = decode(typed_sse(start(), *says(0, "Hi"), last("COMPLETE")) + mark)
        assert (stream.complete, stream.summary()["text"]) == (True, "Hi")
        assert stream.quirks == {"data-after-the-end": 1}
    late = typed_sse(start(), *calls(0, ONE, id="t9"), last("ERROR", error="late"))
    stream, _ = decode(answer(*calls(0, ONE), reason=TOOL) + late)
    assert [one.call_id for one in stream.invocations] == ["t1"]


def test_quirks_are_counted() -> None:
    stream, _ = decode(
        answer(
            *(ended(3), begin(0, None, None), begin(), begin(), piece(0, "{}"), ended(), piece(5, "")),
            *(event("content-delta", 0), event("content-start", 0, content={"type": "image"}), {"type": "new"}),
            *(start(), event("citation-start", 0, citations=[5])),
            reason=TOOL,
        )
    )
    assert stream.quirks == {
        "end-without-call": 1,
        "empty-call": 1,
        "call-started-again": 1,
        "delta-without-call": 1,
        "content-of-another-kind": 2,
        "event-of-another-kind": 1,
        "second-message-start": 1,
        "citation-of-another-kind": 1,
        "data-after-the-end": 1,
    }
    assert stream.stop_reason is StopReason.UNKNOWN
    assert stream.invocations == []


TIGHT = Limits(arguments=10, calls=2, name=5, call_id=5, segments=3, blocks=4)
OVER: dict[str, bytes] = {
    "arguments": answer(begin(), *[piece(0, "1234")] * 3, reason=TOOL),
    "arguments after a piece that repeats the name": answer(
        begin(),
        event("tool-call-delta", 0, tool_calls={"function": {"name": "f", "arguments": "12345678"}}),
        *[piece(0, "1")] * 3,
        reason=TOOL,
    ),
    "arguments in one piece": answer(begin(), piece(0, "12345678901"), reason=TOOL),
    "arguments in the start": answer(begin(0, arguments="12345678901"), reason=TOOL),
    "calls": answer(*calls(0), *calls(1, id="t2"), *calls(2, id="t3"), reason=TOOL),
    "calls that stay open": answer(begin(0), begin(1, "t2"), begin(2, "t3"), reason=TOOL),
    "a name": answer(begin(0, name="abcdef"), reason=TOOL),
    "an id": answer(begin(0, "123456"), reason=TOOL),
    "parts": answer(*(text(number, "a") for number in range(4))),
    "citations": answer(text(0, "Hi"), *cites(*[{}] * 5)),
}


@pytest.mark.parametrize("name", OVER)
def test_bounds(name: str) -> None:
    stream, _ = decode(OVER[name], limits=TIGHT)
    assert type(stream.error).__name__ == "LimitExceeded"
    assert stream.invocations == []


def test_up_to_the_bound_all_is_well() -> None:
    stream, _ = decode(answer(begin(), piece(0, '{"x":12'), piece(0, "34}"[1:]), ended(), reason=TOOL), limits=TIGHT)
    assert [one.arguments for one in stream.invocations] == [{"x": 124}]
