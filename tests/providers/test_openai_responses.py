"""OpenAI Responses, decoding: every way to say an answer as a small case of our own, fed whole and at every cut."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from feeding import bytewise, check_shape, merged, read, whole
from responses_bodies import (
    CODE,
    SEARCH,
    WIRE,
    X,
    added,
    arguments_done,
    at,
    body_of,
    call,
    custom,
    done,
    end,
    event,
    input_piece,
    message,
    part_done,
    piece,
    reasoning,
    summary,
    text_done,
    words,
)
from toolwire import Limits, StopReason, Stream
from toolwire.providers.openai_responses import STOP_REASONS

Calls = list[tuple[str, str, Any]]
"""id, name, arguments (or the raw text where the call may not run)."""


def calls_of(stream: Stream) -> Calls:
    return [(one["id"], one["name"], one["arguments"]) for one in stream.summary()["calls"]]


F: Calls = [("c1", "f", {"x": 1})]
BOTH: Calls = [("c1", "f", {"x": 1}), ("c2", "g", {"y": 2})]
SECOND = call('{"y":2}', id="fc2", call_id="c2", name="g")

CALLS: dict[str, tuple[list[dict[str, Any]], Calls]] = {
    "as OpenAI sends it": (
        [
            event("created", response={"id": "resp1", "status": "in_progress", "output": []}),
            event("in_progress", response={"id": "resp1"}),
            added(call()),
            piece('{"x"'),
            piece(":1}"),
            arguments_done(X),
            done(call(X)),
            end(call(X)),
        ],
        F,
    ),
    "all arguments in one delta": ([added(call()), piece(X), arguments_done(X), done(call(X)), end(call(X))], F),
    "done with no deltas before it": ([added(call()), arguments_done(X), done(call(X)), end(call(X))], F),
    "arguments only in the item's end": ([added(call()), done(call(X)), end()], F),
    "an item's end alone": ([done(call(X)), end()], F),
    "arguments only in the item's beginning": ([added(call(X)), done(call(None)), end()], F),
    "only in the last event": ([end(call(X))], F),
    "begun, and whole only in the last event": ([added(call()), piece('{"x"'), end(call(X))], F),
    "no end of the item": ([added(call()), piece(X), arguments_done(X), end()], F),
    "no end of the arguments": ([added(call()), piece(X), done(call(X)), end()], F),
    "the end repeats nothing": ([added(call()), piece(X), arguments_done(None), done(call(None)), end()], F),
    "the last event's output is empty": ([added(call()), piece(X), done(call(X)), end()], F),
    "a new item id on every event": (
        [
            added(call(id="a")),
            piece('{"x"', item_id="b"),
            piece(":1}", item_id="c"),
            arguments_done(X, item_id="d"),
            done(call(X, id="e")),
            end(call(X, id="g")),
        ],
        F,
    ),
    "no output_index": (
        [
            added(call(), None),
            piece('{"x"', None),
            piece(":1}", None),
            arguments_done(X, None),
            done(call(X), None),
            end(call(X)),
        ],
        F,
    ),
    "no item_id": (
        [
            added(call()),
            piece('{"x"', 0, None),
            piece(":1}", 0, None),
            arguments_done(X, 0, None),
            done(call(X)),
            end(),
        ],
        F,
    ),
    "neither": (
        [
            added(call(), None),
            piece('{"x"', None, None),
            piece(":1}", None, None),
            arguments_done(X, None, None),
            done(call(X), None),
            end(),
        ],
        F,
    ),
    "deltas before the item": ([piece('{"x"'), added(call()), piece(":1}"), done(call(X)), end()], F),
    "the name comes last": ([piece('{"x"'), piece(":1}"), arguments_done(X), done(call(X)), end()], F),
    "the name in the end of the arguments": (
        [added(call(name=None)), piece(X), arguments_done(X, name="f"), done(call(X)), end()],
        F,
    ),
    "an empty first delta": ([added(call()), piece(""), piece(X), done(call(X)), end()], F),
    "a null delta": ([added(call()), piece(None), piece(X), done(call(X)), end()], F),
    "no arguments at all": ([added(call()), done(call()), end()], [("c1", "f", {})]),
    "arguments as an object": ([added(call()), done(call({"x": 1})), end()], F),
    "written again in another way": ([added(call()), piece('{"x": 1}'), done(call(X)), end()], F),
    "no call id": ([added(call(call_id=None)), piece(X), done(call(X, call_id=None)), end()], [("fc1", "f", {"x": 1})]),
    "the item ended twice": ([added(call()), piece(X), done(call(X)), done(call(X)), end(call(X))], F),
    "two, one after another": (
        [
            added(call()),
            piece(X),
            done(call(X)),
            added(SECOND, 1),
            piece('{"y":2}', 1, "fc2"),
            done(SECOND, 1),
            end(call(X), SECOND),
        ],
        BOTH,
    ),
    "two, interleaved": (
        [
            added(call()),
            added({**SECOND, "arguments": ""}, 1),
            piece('{"y"', 1, "fc2"),
            piece('{"x"'),
            piece(":2}", 1, "fc2"),
            piece(":1}"),
            done(SECOND, 1),
            done(call(X)),
            end(),
        ],
        BOTH,
    ),
    "two with one output_index": (
        [
            added(call()),
            added({**SECOND, "arguments": ""}, 0),
            piece(X),
            piece('{"y":2}', 0, "fc2"),
            done(call(X)),
            done(SECOND, 0),
            end(),
        ],
        BOTH,
    ),
    "two ends with one output_index": ([done(call(X)), done(SECOND, 0), end()], BOTH),
    "two without an output_index": ([done(call(X), None), done(SECOND, None), end()], BOTH),
    "the second only in the last event": ([added(call()), piece(X), done(call(X)), end(call(X), SECOND)], BOTH),
    "the first ended alone, the second only in the last event": ([done(call(X)), end(call(X), SECOND)], BOTH),
    "both without references, the second only in the last event": (
        [done(call(X, id=None), None), end(call(X, id=None), {**SECOND, "id": None})],
        BOTH,
    ),
    "the first is missing in the last event": ([added(call()), piece(X), done(call(X)), end(SECOND)], BOTH),
    "in the order of their places": (
        [done(SECOND, 1), done(call(X), 0), end()],
        BOTH,
    ),
    "text and call share a number": (
        [added(message()), words("hi"), added(call()), piece(X), done(call(X)), done(message("hi")), end()],
        F,
    ),
    "free text": (
        [
            added(custom()),
            input_piece('say "hi"\n'),
            input_piece("\\ é"),
            event("custom_tool_call_input.done", input='say "hi"\n\\ é', **at(0, "ctc1")),
            done(custom('say "hi"\n\\ é')),
            end(),
        ],
        [("c1", "f", {"input": 'say "hi"\n\\ é'})],
    ),
    "free text only in the item's end": ([added(custom()), done(custom("a")), end()], [("c1", "f", {"input": "a"})]),
    "free text only in the last event": ([end(custom("a"))], [("c1", "f", {"input": "a"})]),
    "free text, empty": ([added(custom()), done(custom("")), end()], [("c1", "f", {"input": ""})]),
    "unknown events between": (
        [{"type": "keepalive"}, added(call()), {"type": "ping"}, event("new.thing"), piece(X), done(call(X)), end()],
        F,
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_calls(name: str) -> None:
    events, expected = CALLS[name]
    stream, made = read(whole(body_of(events)), WIRE)
    check_shape(made)
    assert stream.error is None
    assert calls_of(stream) == expected
    assert len(stream.invocations) == len(expected)
    assert stream.stop_reason is StopReason.TOOL_CALLS
    assert stream.raw_stop_reason == "completed"


@pytest.mark.parametrize("name", CALLS)
def test_calls_do_not_depend_on_cuts(name: str) -> None:
    body = body_of(CALLS[name][0])
    stream, events = read(whole(body), WIRE)
    expected, told = list(merged(events)), stream.summary()
    for place in range(0, len(body) + 1, 7):
        cut, cut_events = read([body[:place], body[place:]], WIRE)
        assert list(merged(cut_events)) == expected
        assert cut.summary() == told
    assert list(merged(read(bytewise(body), WIRE)[1])) == expected


@pytest.mark.parametrize("name", CALLS)
def test_a_call_runs_only_when_the_answer_reached_its_end(name: str) -> None:
    body = body_of(CALLS[name][0])
    last = body.rindex(b"event: response.completed")
    for length in range(0, last, 11):
        stream, events = read(whole(body[:length]), WIRE)
        check_shape(events)
        assert not stream.complete
        assert stream.invocations == []


def test_without_event_lines_and_with_the_done_mark() -> None:
    events = CALLS["as OpenAI sends it"][0]
    body = b"".join(b"data: " + msgspec.json.encode(one) + b"\n\n" for one in events) + b"data: [DONE]\n\n"
    stream, _ = read(whole(body), WIRE)
    assert calls_of(stream) == F
    assert stream.invocations
    assert not read(whole(body_of(events[:-1]) + b"data: [DONE]\n\n"), WIRE)[0].complete


def test_a_whole_answer_that_was_not_streamed() -> None:
    answer = {"id": "resp1", "object": "response", "status": "completed", "output": [message("hi"), call(X)]}
    stream, _ = read(whole(msgspec.json.encode(answer)), WIRE)
    assert calls_of(stream) == F
    assert stream.summary()["text"] == "hi"
    assert stream.invocations
    waiting = msgspec.json.encode({**answer, "status": "queued"})
    assert not read(whole(waiting), WIRE)[0].complete


BEGUN = [added(call()), piece(X)]
NOT_RUN: dict[str, tuple[list[dict[str, Any]], str]] = {
    "the call never ended": ([*BEGUN, end()], "not finished"),
    "the item is incomplete": ([*BEGUN, arguments_done(X), done(call(X, status="incomplete")), end()], "not finished"),
    "incomplete in the last event": ([*BEGUN, end(call(X, status="incomplete"))], "not finished"),
    "cut by the token limit": (
        [
            *BEGUN,
            done(call(X, status="incomplete")),
            end(status="incomplete", incomplete_details={"reason": "max_output_tokens"}),
        ],
        "token limit",
    ),
    "a whole call, cut by the token limit": (
        [*BEGUN, done(call(X)), end(status="incomplete", incomplete_details={"reason": "max_output_tokens"})],
        "token limit",
    ),
    "filtered": (
        [*BEGUN, done(call(X)), end(status="incomplete", incomplete_details={"reason": "content_filter"})],
        "content filter",
    ),
    "incomplete for no reason": ([*BEGUN, done(call(X)), end(status="incomplete")], "not known"),
    "incomplete for a new reason": (
        [*BEGUN, done(call(X)), end(status="incomplete", incomplete_details={"reason": "boredom"})],
        "not known",
    ),
    "incomplete that says completed": (
        [*BEGUN, done(call(X)), event("incomplete", response={"status": "completed"})],
        "not known",
    ),
    "completed that says incomplete": (
        [*BEGUN, done(call(X)), event("completed", response={"status": "incomplete"})],
        "not known",
    ),
    "completed with a reason why not": (
        [*BEGUN, done(call(X)), end(incomplete_details={"reason": "max_output_tokens"})],
        "token limit",
    ),
    "cancelled": ([*BEGUN, done(call(X)), end(status="cancelled")], "failed"),
    "other arguments at the end": ([*BEGUN, arguments_done('{"x":2}'), done(call('{"x":2}')), end()], "not finished"),
    "more arguments after their end": (
        [*BEGUN, arguments_done(X), done(call('{"x":1}{"x":2}')), end()],
        "not finished",
    ),
    "another name at the end": ([*BEGUN, done(call(X, name="g")), end()], "not finished"),
    "another text at the end": ([added(custom()), input_piece("ab"), done(custom("ac")), end()], "not finished"),
    "arguments that are no JSON": ([added(call()), piece('{"x"'), done(call('{"x"')), end()], "JSON"),
    "no name": ([added(call(name=None)), piece(X), done(call(X, name=None)), end()], "names no tool"),
}


@pytest.mark.parametrize("name", NOT_RUN)
def test_nothing_runs_that_was_not_clearly_said(name: str) -> None:
    events, why = NOT_RUN[name]
    body = body_of(events)
    stream, made = read(whole(body), WIRE)
    check_shape(made)
    assert stream.invocations == []
    assert [one["complete"] for one in stream.summary()["calls"]] == [False]
    assert why in str(stream.summary()["calls"][0]["problem"])
    assert list(merged(read(bytewise(body), WIRE)[1])) == list(merged(made))


FAULTS = {
    "another call after its end": [*BEGUN, done(call(X)), end(call('{"x":2}'))],
    "a piece after the end": [*BEGUN, done(call(X)), piece("y"), end()],
    "an item that is no object": [added(7)],  # type: ignore[arg-type]
    "an end that is no object": [done(None)],  # type: ignore[arg-type]
    "a delta that is no text": [words({"a": 1})],
    "a response that is no object": [event("completed", response="yes")],
    "an index that is a list": [{**words("a"), "output_index": [0]}],
}


@pytest.mark.parametrize("name", FAULTS)
def test_nonsense_is_a_typed_error(name: str) -> None:
    stream, made = read(whole(body_of(FAULTS[name])), WIRE)
    check_shape(made)
    assert stream.error is not None
    assert stream.error.info().type == "ProtocolError"
    assert stream.invocations == []


USAGE = {
    "input_tokens": 5,
    "input_tokens_details": {"cached_tokens": 3, "cache_write_tokens": 1},
    "output_tokens": 7,
    "output_tokens_details": {"reasoning_tokens": 4},
    "total_tokens": 12,
}


@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        (USAGE, (5, 7, 3, 1, 4, 12)),
        ({"input_tokens": 2, "output_tokens": 3}, (2, 3, 0, 0, 0, 5)),
        ({"input_tokens": "many", "input_tokens_details": []}, (0, 0, 0, 0, 0, 0)),
        ([1], (0, 0, 0, 0, 0, 0)),
        (None, None),
    ],
)
def test_usage(sent: Any, expected: Any) -> None:
    usage = read(whole(body_of([end(usage=sent)])), WIRE)[0].usage
    assert (None if usage is None else msgspec.structs.astuple(usage)) == expected


ERRORS: dict[str, tuple[list[dict[str, Any]], str, str]] = {
    "an error event": ([{"type": "error", "code": "server_error", "message": "boom"}], "ProviderError", "boom"),
    "an error event with an object": (
        [
            {
                "type": "error",
                "error": {"type": "insufficient_quota", "code": "insufficient_quota", "message": "no money"},
            }
        ],
        "RateLimited",
        "no money",
    ),
    "failed": (
        [
            *BEGUN,
            done(call(X)),
            end(status="failed", error={"code": "rate_limit_exceeded", "message": "slow"}, usage=USAGE),
        ],
        "RateLimited",
        "slow",
    ),
    "failed without words": ([event("failed", response={"status": "failed"})], "ProviderError", "failed"),
    "completed, with an error": ([end(call(X), error={"code": "x", "message": "boom"})], "ProviderError", "boom"),
    "an error without a type": ([{"error": {"message": "boom"}}], "ProviderError", "boom"),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors_keep_the_provider_s_words(name: str) -> None:
    events, kind, said = ERRORS[name]
    body = b"".join(b"data: " + msgspec.json.encode(one) + b"\n\n" for one in events)
    stream, made = read(whole(body), WIRE)
    check_shape(made)
    assert made[-1].error is not None
    assert made[-1].error.type == kind
    assert said in made[-1].error.message
    assert stream.invocations == []
    assert not stream.complete


def test_a_failed_answer_tells_its_usage() -> None:
    stream, _ = read(whole(body_of(ERRORS["failed"][0])), WIRE)
    assert stream.usage is not None
    assert stream.usage.total_tokens == 12


@pytest.mark.parametrize("word", [word for word in STOP_REASONS if word != "failed"])
def test_every_stop_reason(word: str) -> None:
    if word in ("completed", "cancelled"):
        events = [words("a"), end(status=word)]
    else:
        events = [words("a"), end(status="incomplete", incomplete_details={"reason": word})]
    stream, _ = read(whole(body_of(events)), WIRE)
    assert stream.complete
    assert stream.stop_reason is STOP_REASONS[word]
    assert stream.summary()["text"] == "a"


def test_quirks_are_counted() -> None:
    events = [
        words("a"),
        text_done("b"),
        event("new.thing"),
        {"type": "keepalive"},
        done(call(X), 1),
        end(),
        words("c"),
    ]
    stream, _ = read(whole(body_of(events)), WIRE)
    assert stream.quirks == {"final-text-differs": 1, "event-of-another-kind": 1, "data-after-the-end": 1}


def test_live_text_of_a_custom_call() -> None:
    events = [added(custom()), input_piece('a"b'), input_piece("c"), done(custom('a"bc')), end()]
    _, made = read(whole(body_of(events)), WIRE, live_arguments=True)
    fields = [one for event_ in made for one in event_.fields or ()]
    assert "".join(one.text for one in fields) == 'a"bc'


LIMITS = {
    "segments": (Limits(segments=3), [added(message(id=f"m{n}"), n) for n in range(9)]),
    "segments of parts": (Limits(segments=3), [words("a", part=n) for n in range(9)]),
    "blocks": (
        Limits(blocks=3),
        [event("output_text.annotation.added", annotation={"url": "u"}, content_index=0, **at(0, "msg1"))] * 9,
    ),
    "arguments": (Limits(arguments=30), [added(call()), *[piece("x" * 20)] * 3]),
    "arguments without a name": (Limits(arguments=30), [piece("x" * 20)] * 3),
    "calls": (Limits(calls=3), [done(call(X, id=f"i{n}", call_id=f"c{n}"), n) for n in range(9)]),
    "name": (Limits(name=10), [added(call(name="f" * 20))]),
    "call_id": (Limits(call_id=10), [added(call(call_id="c" * 20))]),
}


@pytest.mark.parametrize("name", LIMITS)
def test_every_bound_ends_in_a_typed_error(name: str) -> None:
    limits, events = LIMITS[name]
    stream, made = read(whole(body_of(events)), WIRE, limits=limits)
    check_shape(made)
    assert made[-1].error is not None
    assert made[-1].error.type == "LimitExceeded"
    assert stream.invocations == []


ODD: list[Any] = [None, True, 7, 1.5, "", "x", [], [1], {}, {"a": [1]}, [[[[]]]], "9" * 40]
WHERE = [
    added(call()),
    piece(X),
    arguments_done(X),
    done(call(X)),
    done(reasoning("a", encrypted_content="e"), 1),
    done(message("a"), 2),
    words("a", 2),
    summary("a", 0, 1),
    event("output_text.annotation.added", annotation={"url": "u"}, content_index=0, **at(2, "msg1")),
    part_done({"type": "output_text", "text": "a", "annotations": []}, 2),
    done(SEARCH, 3),
    {"type": "error", "error": {"message": "m"}},
    end(call(X), reasoning("a"), message("a"), CODE, usage=USAGE),
]


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(found for key, one in inner for found in places(one, (*path, key)))]


def put(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    if not path:
        return new
    copy = value.copy()
    copy[path[0]] = put(value[path[0]], path[1:], new)
    return copy


@pytest.mark.parametrize("number", range(len(WHERE)))
def test_any_value_anywhere_is_taken_or_refused_with_a_typed_error(number: int) -> None:
    for path in places(WHERE[number]):
        for odd in ODD:
            changed = [*WHERE[:number], put(WHERE[number], path, odd), *WHERE[number + 1 :]]
            body = b"".join(b"data: " + msgspec.json.encode(one) + b"\n\n" for one in changed)
            stream, made = read(whole(body), WIRE)
            check_shape(made)
            msgspec.json.encode([stream.summary(), stream.message])
            assert stream.complete or stream.invocations == []
