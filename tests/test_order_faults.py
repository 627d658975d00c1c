"""Events that are missing, twice, swapped, of another kind, or after the end: in every wire format, the right content
or a typed error that names the event and its position, and never a call that was not made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest

from feeding import DONE, call, delta, sse, typed_sse
from odd_streams import ARGUMENTS, block, chat, item, made_calls, message, outcome, response
from toolwire import EventType
from wire_bodies import SSE_WIRES, WIRES, Call, End, Error, Raw, Text, Thought, body, events, payload

PIECES = (Thought("hm"), Text("Hello"), Call("c1", "f", '{"x":1}'), Call("c2", "g", '{"y":["é"]}'))
MADE = [("c1", "f", {"x": 1}), ("c2", "g", {"y": ["é"]})]


def each(wire: str, change: Callable[[list[bytes], int], list[bytes]]) -> Iterable[tuple[int, bytes]]:
    """The answer with one change, at each event in turn."""
    plain = events(wire, *PIECES, End())
    for place in range(len(plain)):
        yield place, b"".join(change(list(plain), place))


def inserting(event: bytes) -> Callable[[list[bytes], int], list[bytes]]:
    return lambda made, place: [*made[:place], event, *made[place:]]


def without(made: list[bytes], place: int) -> list[bytes]:
    return made[:place] + made[place + 1 :]


def twice(made: list[bytes], place: int) -> list[bytes]:
    return [*made[: place + 1], *made[place:]]


def swapped(made: list[bytes], place: int) -> list[bytes]:
    return [*made[:place], *reversed(made[place : place + 2]), *made[place + 2 :]]


def moved_to_the_start(made: list[bytes], place: int) -> list[bytes]:
    return [made[place], *without(made, place)]


def moved_to_the_end(made: list[bytes], place: int) -> list[bytes]:
    return [*without(made, place), made[place]]


def cut_short_and_begun_again(made: list[bytes], place: int) -> list[bytes]:
    return [*made[:place], *made]


@pytest.mark.thorough
@pytest.mark.parametrize(
    "change",
    [without, twice, swapped, moved_to_the_start, moved_to_the_end, cut_short_and_begun_again],
    ids=lambda change: change.__name__,
)
@pytest.mark.parametrize("wire", WIRES)
def test_events_out_of_order_make_no_other_call(wire: str, change: Callable[[list[bytes], int], list[bytes]]) -> None:
    for place, data in each(wire, change):
        stream, _ = outcome(data, wire)
        run = made_calls(stream)
        assert all(made in MADE for made in run), place
        assert len({made[0] for made in run}) == len(run), place


NEW_KINDS: dict[str, list[Any]] = {
    "openai-chat": [{"object": "chat.new", "type": "new"}, {}, {"choices": []}],
    "openai-responses": [{"type": "response.new_thing.started", "item_id": "i0"}, {"type": "new"}, {}],
    "anthropic": [{"type": "message_new", "index": 0}, {"type": "ping"}, {}],
    "gemini": [{"newThing": {"a": 1}}, {}],
    "ollama": [{"status": "new"}, {}],
    "bedrock": [{"newThing": {"a": 1}}, {"messageNew": {"contentBlockIndex": 0}}],
    "cohere": [{"type": "message-new", "index": 0}, {"type": "new", "delta": {"message": {}}}, {}],
}


@pytest.mark.thorough
@pytest.mark.parametrize("wire", WIRES)
def test_events_of_kinds_yet_unknown_change_nothing(wire: str) -> None:
    _, expected = outcome(body(wire, *PIECES, End()), wire)
    for kind in NEW_KINDS[wire]:
        for place, data in each(wire, inserting(payload(wire, kind))):
            stream, made = outcome(data, wire)
            assert made == expected, (kind, place)
            assert stream.quirks or kind in ({"choices": []}, {"type": "ping"}), (kind, place)


@pytest.mark.parametrize("wire", WIRES)
def test_an_error_at_any_place(wire: str) -> None:
    before = len(events(wire, *PIECES))
    (error,) = events(wire, Error("overloaded"))[-1:]
    for place, data in each(wire, inserting(error)):
        stream, _ = outcome(data, wire)
        if stream.complete:
            assert place > before
            continue
        assert type(stream.error).__name__ == "ProviderError", place
        assert stream.error is not None
        assert "overloaded" in stream.error.message
        assert stream.invocations == []


@pytest.mark.parametrize("broken", ["{nonsense}", '{"a":', "[1", "nonsense", '"text"', "5", "null", "[[]]"])
@pytest.mark.parametrize("wire", WIRES)
def test_an_event_that_is_none_says_where(wire: str, broken: str) -> None:
    plain = events(wire, *PIECES, End())
    before = len(events(wire, *PIECES))
    for place in range(1, before):
        at = len(b"".join(plain[:place]))
        data = b"".join([*plain[:place], payload(wire, broken), *plain[place:]])
        stream, _ = outcome(data, wire)
        assert type(stream.error).__name__ == "ProtocolError", place
        assert stream.error is not None
        assert at <= stream.error.position < at + len(payload(wire, broken)) + 2
        assert stream.error.event == place + 1
        assert stream.invocations == []


@pytest.mark.parametrize("wire", WIRES)
def test_whatever_comes_after_the_end_is_no_part_of_the_answer(wire: str) -> None:
    plain = body(wire, *PIECES, End())
    _, expected = outcome(plain, wire)
    late: list[bytes] = [
        body(wire, Text("late"), Call("c9", "rm", "{}"), End()),
        body(wire, Error("late")),
        payload(wire, "{nonsense}"),
        payload(wire, {"type": "ping"}),
        b"\n",
        *([b"data: [DONE]\n\n", b": bye\n\n", b"stray\n"] if wire in SSE_WIRES else []),
    ]
    for data in late:
        if wire == "gemini" and data != b"\n":
            continue  # Its answers end with the body: see below.
        stream, made = outcome(plain + data, wire)
        assert made == expected
        assert made_calls(stream) == MADE


def test_gemini_goes_on_after_a_finish_reason_until_the_body_ends() -> None:
    """Old models repeat the reason in every chunk; so what follows belongs to the answer, and needs an end again."""
    plain = body("gemini", Text("a"), End())
    stream, _ = outcome(plain + body("gemini", Text("b"), End()), "gemini")
    assert (stream.complete, stream.summary()["text"]) == (True, "ab")
    stream, _ = outcome(plain + body("gemini", Call("c1")), "gemini")
    assert not stream.complete
    assert stream.invocations == []
    stream, _ = outcome(plain + body("gemini", Error("late")), "gemini")
    assert type(stream.error).__name__ == "ProviderError"


@pytest.mark.parametrize("wire", ["openai-chat", "gemini"])
@pytest.mark.parametrize(
    "error", [b'{"error":{"message":"late"}}\n', b'{\n  "error": {\n    "message": "late"\n  }\n}\n']
)
def test_an_error_without_a_field_after_a_finish_reason(wire: str, error: bytes) -> None:
    """In these formats a finish reason alone does not end the stream."""
    stream, _ = outcome(body(wire, *PIECES, End()).removesuffix(DONE) + error, wire)
    assert type(stream.error).__name__ == "ProviderError"
    assert stream.invocations == []


def test_chat_goes_on_after_a_finish_reason_until_done() -> None:
    late = sse(delta(content="a", finish="stop"), delta(content="b"), done=False)
    assert not outcome(late, "openai-chat")[0].complete
    stream, _ = outcome(late + DONE, "openai-chat")
    assert (stream.complete, stream.summary()["text"]) == (True, "ab")


A, B = ("a", "f", {"x": 1}), ("b", "f", {"x": 2})
ONE, TWO = '{"x":1}', '{"x":2}'
LOST = block(0, "a", ONE)
FAULTS: dict[str, tuple[str, bytes, str | list[tuple[str, str, Any]]]] = {
    "chat: arguments before any call": ("openai-chat", chat(call("1}")), []),
    "chat: arguments with no index before any call": ("openai-chat", chat(call("1}", index=None)), "ProtocolError"),
    "chat: a name that changes": (
        "openai-chat",
        chat(call('{"x":', id="a", name="f"), call("1}", name="rm")),
        "ProtocolError",
    ),
    "chat: [DONE] twice": ("openai-chat", chat(call(ONE, id="a", name="f")) + DONE, [A]),
    "chat: [DONE] first": ("openai-chat", DONE + chat(call(ONE, id="a", name="f")), []),
    "chat: finish_reason twice": (
        "openai-chat",
        sse(delta(tool_calls=[call(ONE, id="a", name="f")]), delta(finish="tool_calls"), delta(finish="stop")),
        [A],
    ),
    "chat: the limit after the call": (
        "openai-chat",
        sse(delta(tool_calls=[call(ONE, id="a", name="f")]), delta(finish="tool_calls"), delta(finish="length")),
        [],
    ),
    "responses: arguments before the item": (
        "openai-responses",
        response(
            (f"{ARGUMENTS}.delta", {"item_id": "i1", "output_index": 0, "delta": ONE}),
            ("output_item.added", item(0, "i1", "a")),
            ("output_item.done", item(0, "i1", "a", ONE)),
        ),
        [A],
    ),
    "responses: the end of an item that never began": (
        "openai-responses",
        response(("output_item.done", item(0, "i1", "a", ONE))),
        [A],
    ),
    "responses: an item ended twice": (
        "openai-responses",
        response(("output_item.done", item(0, "i1", "a", ONE)), ("output_item.done", item(0, "i1", "a", ONE))),
        [A],
    ),
    "responses: an item ended twice, in two ways": (
        "openai-responses",
        response(("output_item.done", item(0, "i1", "a", ONE)), ("output_item.done", item(0, "i1", "a", TWO))),
        "ProtocolError",
    ),
    "responses: arguments after their end": (
        "openai-responses",
        response(
            ("output_item.added", item(0, "i1", "a")),
            ("output_item.done", item(0, "i1", "a", ONE)),
            (f"{ARGUMENTS}.delta", {"item_id": "i1", "output_index": 0, "delta": "x"}),
        ),
        "ProtocolError",
    ),
    "responses: the streamed arguments are not the final ones": (
        "openai-responses",
        response(
            ("output_item.added", item(0, "i1", "a")),
            (f"{ARGUMENTS}.delta", {"item_id": "i1", "output_index": 0, "delta": TWO}),
            (f"{ARGUMENTS}.done", {"item_id": "i1", "output_index": 0, "arguments": ONE}),
            ("output_item.done", item(0, "i1", "a", ONE)),
        ),
        [],
    ),
    "responses: completed twice": (
        "openai-responses",
        response(("output_item.done", item(0, "i1", "a", ONE)))
        + response(("output_item.done", item(1, "i2", "b", TWO))),
        [A],
    ),
    "responses: completed, then failed": (
        "openai-responses",
        response(("output_item.done", item(0, "i1", "a", ONE)))
        + typed_sse({"type": "response.failed", "response": {"error": {"message": "late"}}}),
        [A],
    ),
    "responses: failed, then completed": (
        "openai-responses",
        typed_sse({"type": "response.failed", "response": {"error": {"message": "early"}}})
        + response(("output_item.done", item(0, "i1", "a", ONE))),
        "ProviderError",
    ),
    "responses: an item that is no object": (
        "openai-responses",
        response(("output_item.done", {"output_index": 0, "item": 5})),
        "ProtocolError",
    ),
    "anthropic: input before its block": ("anthropic", message(LOST[1], LOST[0], LOST[2]), "ProtocolError"),
    "anthropic: input after its block": ("anthropic", message(*LOST, LOST[1]), "ProtocolError"),
    "anthropic: input in a block of text": (
        "anthropic",
        message({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}, LOST[1]),
        "ProtocolError",
    ),
    "anthropic: a stop without a start": ("anthropic", message(LOST[2], *LOST), [A]),
    "anthropic: two stops": ("anthropic", message(*LOST, LOST[2]), [A]),
    "anthropic: a start twice": ("anthropic", message(LOST[0], *LOST), [A]),
    "anthropic: the message begins twice": (
        "anthropic",
        message(*LOST, {"type": "message_start", "message": {}}),
        [],
    ),
    "anthropic: no message_start": ("anthropic", message(*LOST).split(b"\n\n", 1)[1], [A]),
    "anthropic: message_stop twice": ("anthropic", message(*LOST) + typed_sse({"type": "message_stop"}), [A]),
    "anthropic: message_stop first": ("anthropic", typed_sse({"type": "message_stop"}) + message(*LOST), []),
    "anthropic: no stop reason": ("anthropic", typed_sse(*LOST, {"type": "message_stop"}), []),
    "anthropic: [DONE] instead of message_stop": (
        "anthropic",
        message(*LOST).rsplit(b"event:", 1)[0] + DONE,
        "IncompleteStream",
    ),
    "anthropic: [DONE] after message_stop": ("anthropic", message(*LOST) + DONE, [A]),
    "anthropic: event: error": (
        "anthropic",
        typed_sse(
            {"type": "message_start", "message": {}},
            *LOST,
            {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}},
        ),
        "ProviderError",
    ),
    "gemini: the end of a call that never began": (
        "gemini",
        payload("gemini", {"candidates": [{"content": {"parts": [{"functionCall": {}}]}, "finishReason": "STOP"}]}),
        [],
    ),
    "gemini: pieces of a call that never began": (
        "gemini",
        payload(
            "gemini",
            {
                "candidates": [
                    {
                        "content": {
                            "parts": [{"functionCall": {"partialArgs": [{"jsonPath": "$.x", "numberValue": 1}]}}]
                        },
                        "finishReason": "STOP",
                    }
                ]
            },
        ),
        [],
    ),
    "ollama: done twice": ("ollama", body("ollama", Call("a"), End(), End()), [A]),
    "ollama: done first": ("ollama", body("ollama", End(), Call("a"), End()), []),
    "ollama: an error after done": ("ollama", body("ollama", Call("a"), End(), Error()), [A]),
    "ollama: a name alone": (
        "ollama",
        body("ollama", Raw(payload("ollama", {"message": {"tool_calls": [{"function": {"name": "f"}}]}})), End()),
        [("", "f", {})],
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_order_faults(name: str) -> None:
    wire, data, expected = FAULTS[name]
    stream, made = outcome(data, wire)
    if isinstance(expected, str):
        assert made[-1].type is EventType.ERROR
        assert made[-1].error is not None
        assert made[-1].error.type == expected
        assert stream.invocations == []
        if expected != "IncompleteStream":
            assert {"event", "position", "provider"} <= set(made[-1].error.facts)
    else:
        assert made_calls(stream) == expected
        assert stream.complete or not expected


def test_a_name_that_comes_after_whole_arguments() -> None:
    stream, _ = outcome(chat(call(ONE), call("", id="a", name="f")), "openai-chat")
    assert made_calls(stream) == [A]


def test_a_block_that_begins_again_after_its_input_does_not_run_without_it() -> None:
    stream, _ = outcome(message(LOST[0], LOST[1], LOST[0], LOST[2]), "anthropic")
    assert made_calls(stream) in ([], [A])
