"""OpenAI Responses."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence
from typing import Any

from ..payloads import READ, argument_text, dump, obfuscated, some_words, split, sse, typed_sse
from . import responses_events as api
from .subject import (
    ARGUMENT_PIECES,
    BOUNDS,
    CALL_IDS,
    CALL_NAMES,
    MARK,
    ODD_COUNTS,
    PARIS,
    Subject,
    four_pieces,
    near_names,
    without,
)

# speed and growth


def _padded(events: Sequence[api.Event]) -> bytes:
    made = [
        obfuscated(event, number, api.SIZE) if event["type"].endswith(".delta") else event
        for number, event in enumerate(api.numbered(events))
    ]
    return typed_sse(made)


def _text(words: Sequence[str]) -> bytes:
    return _padded([*api.begin(), *api.text_item(*words), api.end([api.message("".join(words))])])


def _calls_body(size: int, piece: int = 16, calls: int = 1) -> bytes:
    text = argument_text(size)
    made = api.begin()
    output = []
    for index in range(calls):
        named = {"call_id": f"call_{index:024}", "name": "write_file", "id": f"{api.CALL_ID}{index}"}
        made += api.call(*split(text, piece), index=index, **named)
        output.append(api.function(text, **named))
    return _padded([*made, api.end(output)])


def _thinking_body(words: Sequence[str]) -> bytes:
    return _padded([*api.begin(), *api.thinking(*words), *api.text_item("Done.", index=1), api.end()])


def _interleaved(calls: Sequence[tuple[str, str, str]], order: Sequence[int]) -> bytes:
    deltas = []
    for index, (call_id, name, text) in enumerate(calls):
        item = {"call_id": call_id, "name": name, "id": f"fc_{index}"}
        _, one, two, three = four_pieces(text)
        place = {"item_id": f"fc_{index}"}
        last = [api.piece(three, index, **place), api.done(api.function(text, **item), index)]
        opened = [api.added(api.function("", **item), index)]
        deltas.append(iter([opened, [api.piece(one, index, **place)], [api.piece(two, index, **place)], last]))
    made = [event for number in order for event in next(deltas[number])]
    return typed_sse(api.numbered([*api.begin(), *made, api.end()]))


# oddities


def _answer(*events: api.Event, output: Sequence[Any] = (), **more: Any) -> bytes:
    return typed_sse(api.numbered([*api.begin(), *events, api.end(output, **more)]))


def _quirks() -> list[bytes]:
    text, hello = api.text_item("Hello", " world 🦊"), api.message("Hello world 🦊")
    call = api.call('{"city": ', '"Par\\u00e9\\ud83d', '\\ude00is"}')
    whole = api.function(PARIS)
    two = [*call, *api.call("{}", index=1, call_id="call_2", name="get_time", id="fc_2")]
    error = {"type": "error", "code": "server_error", "message": "Overloaded", "param": None, "sequence_number": 3}
    failure = {"code": "rate_limit_exceeded", "message": "slow down"}
    refusal = [
        api.added(api.message("")),
        api.event("refusal.delta", **api.at(), delta="No"),
        api.event("refusal.done", refusal="No"),
    ]
    cited = {"type": "url_citation", "url": "https://example.org", "title": "T", "start_index": 0, "end_index": 3}
    noted = api.event("output_text.annotation.added", **api.at(), annotation_index=0, annotation=cited)
    rotated = [{**event, "item_id": f"x{number}"} for number, event in enumerate(call) if "item_id" in event]
    cut = {"reason": "max_output_tokens"}
    code = {"item_id": "ci_1", "output_index": 0}
    plain = _answer(*text, output=[hello])
    return [
        plain,
        plain.replace(b"\n", b"\r\n"),
        plain.replace(b"\n", b"\r"),
        _answer(*text),
        typed_sse([*api.begin(), *text, api.end([hello])]),
        typed_sse([*api.begin(), *text, api.end([hello])], named=False),
        _padded([*api.begin(), *text, *api.call(PARIS, index=1), api.end()]),
        _answer(*call),
        _answer(*two, output=[whole]),
        _answer(*two),
        _answer(api.added(api.function()), api.piece(PARIS), api.done(whole)),
        _answer(api.added(api.function()), api.event("function_call_arguments.done", output_index=0, arguments=PARIS)),
        _answer(api.added(api.function()), api.done(whole)),
        _answer(api.done(whole)),
        _answer(output=[whole]),
        _answer(output=[hello]),
        _answer(api.added(api.function()), api.piece('{"city": "Rome"}'), api.done(whole)),
        _answer(api.added(call[0]["item"]), *rotated, api.done({**whole, "id": "other"})),
        _answer(*(without({**event, "output_index": ...}) for event in call)),
        _answer(*(without({**event, "item_id": ...}) for event in call)),
        _answer(*call[:3], api.done(api.function('{"city": ', status="incomplete")), status="incomplete"),
        _answer(*call[:3], status="incomplete", incomplete_details=cut),
        _answer(*call, status="incomplete", incomplete_details={"reason": "content_filter"}),
        _answer(*text, status="incomplete", incomplete_details=None),
        _answer(*text[:3], status="failed", error=failure),
        typed_sse([*api.begin(), *text[:3], error]),
        typed_sse([error]),
        typed_sse([{"type": "error", "error": {"message": "nested", "code": "x"}}]),
        _answer(*api.custom()),
        *(_answer(api.added({**item, "status": "in_progress"}), api.done(item)) for item in api.SERVER_ITEMS),
        _answer(*(api.done(item, number) for number, item in enumerate(api.SERVER_ITEMS))),
        _answer(output=api.SERVER_ITEMS),
        _answer(
            api.added(api.SERVER_ITEMS[2]),
            api.event("code_interpreter_call_code.delta", **code, delta="1+"),
            api.done({}),
        ),
        _answer(api.event("image_generation_call.partial_image", output_index=0, partial_image_b64="QUJD")),
        _answer(*api.thinking("so", " then"), *api.call(PARIS, index=1)),
        _answer(*api.thinking("so"), *api.text_item("Hi", index=1)),
        _answer(*api.raw_thinking("so", " then")),
        _answer(api.done(api.thought(["one", "two"], encrypted_content="x")), *api.text_item("Hi", index=1)),
        _answer(*refusal),
        _answer(*text[:4], noted, *text[4:]),
        _answer(*text, {"type": "keepalive"}, api.event("new_event", x=1)),
        plain + typed_sse([{"type": "ping"}, *text]),
        plain + b"data: [DONE]\n\n",
        typed_sse([{**event, "sequence_number": 40} for event in (*text, api.end())]),
        typed_sse([*api.begin(), *text]),
        typed_sse([*text[2:], api.end()]),
        _answer(*call[1:]),
        _answer(*text, *text),
        _answer(*call, *call),
        _answer(*call, *text),
        b": keepalive\n\n" + plain,
        b"\xef\xbb\xbf" + plain,
        plain.rstrip(),
        plain.replace(b"\n\n", b"\n"),
        plain.replace(b"data: ", b"data:"),
        dump(api.response("completed", [hello])).encode(),
        dump({"error": failure}).encode(),
        b"<html>\n<p>502 Bad Gateway</p>\n</html>\n",
        b"",
        _text(some_words(20)),
        _calls_body(240, 12, 2),
        _thinking_body(some_words(20)),
    ]


def _costly() -> list[bytes]:
    unknown = [
        api.done(api.function("{}", call_id=f"c{number}", name=name), number)
        for number, name in enumerate(near_names()[:90])
    ]
    noted = api.event("output_text.annotation.added", **api.at(), annotation={"type": "url_citation", "url": "a"})
    return [
        _answer(*unknown),
        _answer(*api.call(dump({"items": [1] * 3000}), name="sort_items")),
        _answer(api.added(api.message("")), *[noted] * 90, api.done(api.message("x", content=[{}] * 3000))),
        _answer(api.done(api.thought([""] * 500))),
        _answer(api.done({"type": "new_item", "x": [{}] * 4000})),
        _answer(output=[{}] * 4000),
        _answer(output=[api.function("{}", call_id=f"c{number}") for number in range(90)]),
        _answer(*[api.event("reasoning_summary_part.added", output_index=0)] * 150),
        sse([dump({"type": "error", "message": "x", "code": [{}] * 4000})]),
        b"event: ping\ndata: {}\n\n" * 600,
        b"x\n" * 8000,
        b"data\n" * 3000,
    ]


def _deep() -> list[Any]:
    return [
        {"type": "error", "error": MARK},
        {"type": "error", "message": MARK},
        {"type": "error", "message": "x", "code": MARK},
        {"type": MARK},
        api.event("failed", response=api.response("failed", error=MARK)),
        api.event("failed", response=api.response("failed", error={"message": MARK, "code": MARK[:0]})),
        api.event("incomplete", response=api.response("incomplete", incomplete_details={"reason": MARK})),
        api.event("completed", response=api.response("completed", usage={"input_tokens": MARK})),
        api.event("completed", response=api.response("completed", [MARK])),
        api.event("completed", response=api.response("completed", [{"type": "new", "x": MARK}])),
        api.event("completed", response=MARK),
        api.added(api.function(MARK)),
        api.done(api.function(MARK)),
        api.done(api.function(PARIS, more=MARK)),
        api.done({"type": "web_search_call", "id": "a", "action": MARK}),
        api.done({"type": "new_item", "x": MARK}),
        api.done({"type": "image_generation_call", "id": "a", "result": MARK}),
        api.done(api.thought(encrypted_content=MARK)),
        api.done(api.thought(content=[{"a": MARK}])),
        api.done(api.message("x", content=[{"type": "output_text", "text": MARK}])),
        api.done(api.message("x", content=[{"type": "output_text", "text": "x", "annotations": [MARK]}])),
        api.event("output_text.annotation.added", annotation=MARK),
        api.words(MARK),
        api.piece(MARK),
        api.piece("{}", MARK),
        api.event("reasoning_summary_part.added", part=MARK),
        api.event("function_call_arguments.done", output_index=0, arguments=MARK),
    ]


# answers put together from odd events


def _random_answer(rng: random.Random) -> bytes:
    made = api.begin() if rng.random() < 0.7 else []
    made += [_random_event(rng) for _ in range(rng.randint(1, 14))]
    if rng.random() < 0.75:
        output = [_random_item(rng) for _ in range(rng.choice((0, 0, 1, 2)))]
        status = rng.choice(("completed", "completed", "completed", "incomplete", "failed", "cancelled"))
        made.append(api.end(output, status))
        if rng.random() < 0.1:
            made[-1]["response"]["usage"] = {"input_tokens": rng.choice(ODD_COUNTS), "output_tokens": 2}
    return typed_sse(made if rng.random() < 0.5 else api.numbered(made), named=rng.random() < 0.9)


def _random_item(rng: random.Random) -> api.Event:
    kind = rng.random()
    if kind < 0.5:
        made = api.function(
            rng.choice(ARGUMENT_PIECES),
            call_id=rng.choice(CALL_IDS),
            name=rng.choice(CALL_NAMES),
            id=rng.choice(("fc_1", "fc_2", None, "", ...)),
            status=rng.choice(("completed", "in_progress", "incomplete", None, ...)),
        )
        return (
            made if rng.random() < 0.9 else {**made, "type": "custom_tool_call", "input": rng.choice(ARGUMENT_PIECES)}
        )
    if kind < 0.7:
        return api.message(rng.choice(("", "Hi", "Hello")), id=rng.choice(("msg_1", "msg_2", None)))
    if kind < 0.8:
        return api.thought(rng.choice(((), ("so",), ("so", ""))), encrypted_content=rng.choice((None, "x", 1)))
    return rng.choice(api.SERVER_ITEMS) if rng.random() < 0.9 else {"type": rng.choice(("", None, "message", 1))}


def _random_event(rng: random.Random) -> api.Event:
    index = rng.choice((0, 0, 0, 0, 1, 1, 2, None, "0", -1, 2**70, ...))
    item_id = rng.choice(("fc_1", "fc_1", "fc_2", "msg_1", None, "", ...))
    place = {"output_index": index, "item_id": item_id}
    kind = rng.random()
    if kind < 0.3:
        return api.added(_random_item(rng), index, rng.choice(("added", "done")))
    if kind < 0.5:
        return api.event("function_call_arguments.delta", **place, delta=rng.choice(ARGUMENT_PIECES))
    if kind < 0.6:
        return api.event("function_call_arguments.done", **place, arguments=rng.choice(ARGUMENT_PIECES))
    if kind < 0.75:
        text = rng.choice(("Hi", "", None, "Hello"))
        name = rng.choice(("output_text", "refusal", "reasoning_summary_text", "reasoning_text"))
        if rng.random() < 0.3:
            return api.event(f"{name}.done", **place, text=text, refusal=text, summary_index=rng.choice((0, 1, None)))
        return api.event(f"{name}.delta", **place, delta=text, summary_index=rng.choice((0, 1, None, "x")))
    if kind < 0.82:
        name = rng.choice(("custom_tool_call_input", "mcp_call_arguments", "code_interpreter_call_code"))
        ending = rng.choice(("delta", "done"))
        text = rng.choice(ARGUMENT_PIECES)
        return api.event(f"{name}.{ending}", **place, delta=text, input=text, arguments=text, code=text)
    if kind < 0.92:
        name = rng.choice(("content_part", "reasoning_summary_part"))
        part = rng.choice(({"type": "output_text", "text": "Hi"}, {"type": "summary_text", "text": ""}, None, {}))
        return api.event(f"{name}.{rng.choice(('added', 'done'))}", **place, part=part)
    others = ("web_search_call.searching", "output_text.annotation.added", "queued", "new_event", "created")
    return api.event(rng.choice(others), **place, annotation=rng.choice(({"url": "u"}, None, 1)))


# ends, and input without one


def _is_end(payload: bytes) -> bool:
    try:
        return json.loads(payload)["type"] in ("response.completed", "response.incomplete")
    except (ValueError, LookupError, TypeError):
        return False


def _endless_arguments() -> Iterator[bytes]:
    yield typed_sse([*api.begin(), api.added(api.function()), api.piece('{"a": "')])
    while True:
        yield typed_sse([api.piece("x" * READ)])


def _endless_calls() -> Iterator[bytes]:
    for number in range(10**6):
        yield typed_sse(api.call("{}", index=number, call_id=f"call_{number}", id=f"fc_{number}"))


def _endless_items() -> Iterator[bytes]:
    for number in range(10**6):
        yield typed_sse([api.done({**api.thought(encrypted_content="x"), "id": f"rs_{number}"}, number)])


def _open_items() -> Iterator[bytes]:
    for number in range(10**6):
        yield typed_sse([api.added({"id": f"x{number}", "type": "web_search_call"}, number)])


def _endless_citations() -> Iterator[bytes]:
    yield typed_sse([*api.begin(), api.added(api.message("")), api.words("x")])
    while True:
        yield typed_sse([api.event("output_text.annotation.added", **api.at(), annotation={"url": "u"})] * 64)


def _long_id() -> Iterator[bytes]:
    yield typed_sse([*api.begin(), api.added(api.function("{}", call_id="i" * READ))])


SUBJECT = Subject(
    name="openai-responses",
    shape="responses",
    suffix="sse",
    samples={
        "text": lambda: _text(some_words(1000)),
        "tool calls": lambda: _calls_body(6000, 12, 2),
        "reasoning": lambda: _thinking_body(some_words(1000)),
    },
    growths={
        "arguments, 16-character deltas": _calls_body,
        "text, 16-character deltas": lambda size: _text([f"{number:15} " for number in range(size // 16)]),
        "reasoning, 16-character deltas": lambda size: _thinking_body([f"{n:15} " for n in range(size // 16)]),
    },
    long_text=lambda size: _text(["x" * size]),
    text_answer=lambda deltas: _text(some_words(deltas)),
    calls_answer=_calls_body,
    quirks=_quirks,
    costly=_costly,
    deep=_deep,
    frame=lambda payloads: sse(payloads, done=False),
    random_answer=_random_answer,
    names=[
        *("type", "item", "item_id", "output_index", "content_index", "delta", "arguments", "call_id", "name", "id"),
        *("response", "output", "usage", "status", "error", "summary", "encrypted_content", "content", "text", "part"),
        *("incomplete_details", "annotation", "input", "summary_index", "result", "obfuscation"),
    ],
    values=[
        *('"completed"', '"incomplete"', '"function_call"', '"message"', '"reasoning"', '"custom_tool_call"'),
        *('"response.completed"', '"response.output_item.done"', '"response.function_call_arguments.delta"', '"error"'),
        *('"response.output_text.delta"', '"web_search_call"', '[{"type":"output_text","text":"hi"}]', '"fc_1"'),
        *('{"type":"function_call","call_id":"a","name":"b","arguments":"{}"}', '[{"type":"summary_text","text":"x"}]'),
    ],
    tokens=[b'data: {"type":"response.completed","response":{}}\n\n', b'data: {"type":"error","message":"x"}\n\n'],
    is_end=_is_end,
    endless={
        "arguments": (_endless_arguments, 2 * BOUNDS.arguments),
        "calls": (_endless_calls, 1000 * BOUNDS.calls),
        "items": (_endless_items, 300 * BOUNDS.blocks),
        "items that are never done": (_open_items, 300 * BOUNDS.blocks),
        "citations": (_endless_citations, 300 * BOUNDS.blocks),
        "an id": (_long_id, 2 * READ),
    },
    interleaved=_interleaved,
)
