"""Anthropic Messages."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence
from typing import Any

from ..payloads import READ, argument_text, dump, some_words, split, sse, typed_sse
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

Event = dict[str, Any]

_STOPS = ["end_turn", "tool_use", "max_tokens", "stop_sequence", "pause_turn", "refusal", "new_word", None]
_USAGE = {
    "input_tokens": 2479,
    "cache_creation_input_tokens": 12,
    "cache_read_input_tokens": 1024,
    "cache_creation": {"ephemeral_5m_input_tokens": 12, "ephemeral_1h_input_tokens": 0},
    "output_tokens": 3,
    "service_tier": "standard",
}
_ENCRYPTED = "EqQBCkYIBxgCKkBx0" * 12


def _start(**more: Any) -> Event:
    message: dict[str, Any] = {"model": "claude-sonnet-4-5", "id": "msg_01SC6GnkBDsmEDqyXQpQ2ipm", "type": "message"}
    message |= {"role": "assistant", "content": [], "stop_reason": None, "stop_sequence": None, "usage": _USAGE, **more}
    return {"type": "message_start", "message": message}


def _open(block: Event, index: Any = 0) -> Event:
    return without({"type": "content_block_start", "index": index, "content_block": block})


def _delta(delta: Event, index: Any = 0) -> Event:
    return without({"type": "content_block_delta", "index": index, "delta": delta})


def _stop(index: Any = 0) -> Event:
    return without({"type": "content_block_stop", "index": index})


def _end(reason: Any = "end_turn", **more: Any) -> list[Event]:
    delta = {"stop_reason": reason, "stop_sequence": None}
    return [{"type": "message_delta", "delta": delta, "usage": {**_USAGE, **more}}, {"type": "message_stop"}]


def _words(text: str, index: Any = 0) -> Event:
    return _delta({"type": "text_delta", "text": text}, index)


def _thought(text: str, index: Any = 0) -> Event:
    return _delta({"type": "thinking_delta", "thinking": text}, index)


def _signed(text: str, index: Any = 0) -> Event:
    return _delta({"type": "signature_delta", "signature": text}, index)


def _piece(text: Any, index: Any = 0) -> Event:
    return _delta({"type": "input_json_delta", "partial_json": text}, index)


def _use(call_id: str = "toolu_1", name: str = "get_weather", **more: Any) -> Event:
    return {"type": "tool_use", "id": call_id, "name": name, "input": {}, **more}


def _call(*pieces: Any, index: Any = 0, call_id: str = "toolu_1", name: str = "get_weather") -> list[Event]:
    return [_open(_use(call_id, name), index), *(_piece(text, index) for text in pieces), _stop(index)]


def _text_block(*words: str, index: Any = 0) -> list[Event]:
    return [_open({"type": "text", "text": ""}, index), *(_words(word, index) for word in words), _stop(index)]


# speed and growth


def _padded(events: Sequence[Event]) -> bytes:
    return typed_sse(events, padding=True)


def _text(words: Sequence[str]) -> bytes:
    return _padded([_start(), *_text_block(*words), *_end()])


def _calls_body(size: int, piece: int = 16, calls: int = 1) -> bytes:
    text = argument_text(size)
    made: list[Event] = [_start()]
    for index in range(calls):
        made += _call("", *split(text, piece), index=index, call_id=f"toolu_{index:024}", name="write_file")
    return _padded([*made, *_end("tool_use")])


def _thinking(words: Sequence[str]) -> bytes:
    made = [_open({"type": "thinking", "thinking": "", "signature": ""}), *map(_thought, words)]
    return _padded([_start(), *made, _signed(_ENCRYPTED), _stop(), *_text_block("Done.", index=1), *_end()])


def _interleaved(calls: Sequence[tuple[str, str, str]], order: Sequence[int]) -> bytes:
    deltas = []
    for index, (call_id, name, arguments) in enumerate(calls):
        _, one, two, three = four_pieces(arguments)
        opened, last = _open(_use(call_id, name), index), [_piece(three, index), _stop(index)]
        deltas.append(iter([[opened], [_piece(one, index)], [_piece(two, index)], last]))
    made = [event for number in order for event in next(deltas[number])]
    return typed_sse([_start(), *made, *_end("tool_use")])


# oddities


def _answer(*events: Event, reason: Any = "tool_use") -> bytes:
    return typed_sse([_start(), *events, *_end(reason)])


def _quirks() -> list[bytes]:
    text = _text_block("Hello", " world 🦊")
    ping = {"type": "ping"}
    call = _call("", '{"city": ', '"Par\\u00e9\\ud83d', '\\ude00is"}')
    thinking = [_open({"type": "thinking", "thinking": "", "signature": ""}), _thought("so"), _signed("abc"), _stop()]
    error = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    server = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}
    found = {"type": "web_search_result", "url": "https://example.org", "title": "Title", "encrypted_content": "x"}
    result = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": [found]}
    mcp = {"type": "mcp_tool_use", "id": "mcptoolu_1", "name": "echo", "server_name": "s", "input": {}}
    answered = {"type": "mcp_tool_result", "tool_use_id": "mcptoolu_1", "is_error": False, "content": []}
    cited = {"type": "web_search_result_location", "url": "https://example.org", "cited_text": "x", "title": "T"}
    citation = _delta({"type": "citations_delta", "citation": cited})
    whole = [_open(_use(input={"city": "Paris"}, caller={"type": "direct"})), _stop()]
    metrics = {"inputTokenCount": 1, "outputTokenCount": 1}
    plain = _answer(*text, reason="end_turn")
    return [
        plain,
        plain.replace(b"\n", b"\r\n"),
        plain.replace(b"\n", b"\r"),
        typed_sse([_start(), *text, *_end()], named=False),
        _padded([_start(), ping, *text, ping, *_end(), ping]),
        _answer(*call),
        _answer(*call, *_call("{}", index=1, call_id="toolu_2", name="get_time")),
        _answer(*call, *_call("", index=1, call_id="toolu_2", name="get_time")),
        _answer(*_call(name="get_time")),
        _answer(*call[:3], reason="max_tokens"),
        _answer(*call[:-1], *_call("{}", index=1, call_id="toolu_2")),
        _answer(*call, reason="end_turn"),
        _answer(*call, reason="pause_turn"),
        _answer(*call, reason="refusal"),
        _answer(*call, reason=None),
        _answer(*whole),
        _answer(_open(_use(input={"city": "Paris"})), _piece(PARIS), _stop()),
        _answer(*text, *_call(PARIS, index=1), *_text_block("after", index=2)),
        _answer(*thinking, *_call(PARIS, index=1)),
        _answer(_open({"type": "thinking", "thinking": "", "signature": ""}), _thought(""), _signed("abc"), _stop()),
        _answer(_open({"type": "thinking", "thinking": "so", "signature": "abc"}), _stop(), reason="end_turn"),
        _answer(_open({"type": "redacted_thinking", "data": "abc"}), _stop(), *_text_block("Hi", index=1)),
        _answer(_open(server), _piece('{"query": "x"}'), _stop(), _open(result, 1), _stop(1), reason="end_turn"),
        _answer(_open(mcp), _piece("{}"), _stop(), _open(answered, 1), _stop(1), reason="end_turn"),
        _answer(_open({"type": "text", "text": "", "citations": []}), citation, _words("Hi"), _stop()),
        _answer(_open({"type": "compaction", "content": None}), _delta({"type": "compaction_delta", "content": "x"})),
        _answer(_open({"type": "fallback", "from": {"model": "a"}, "to": {"model": "b"}}), _stop(), *text),
        _answer(_open({"type": "container_upload", "file_id": "f"}), _stop(), reason="end_turn"),
        _answer(_open({"type": "new_block", "x": [1]}), _delta({"type": "new_delta", "x": 1}), _stop()),
        typed_sse([_start(), *text[:2], _start(), *text, *_end()]),
        typed_sse([_start(), *call[:2], _start(), *call, *_end("tool_use")]),
        _answer(*call[:2], *call),
        _answer(_open(_use()), _open(_use("toolu_2"), 1), _piece(PARIS), _piece("{}", 1), _stop(1), _stop()),
        _answer(*call[1:]),
        _answer(_stop(), *text, _stop(), _stop(7)),
        _answer(*text, _words("late")),
        _answer(*call, _piece("{}")),
        typed_sse([*text, *_end()]),
        typed_sse([_start(), *text]),
        typed_sse([_start(), *text, _end()[1]]),
        typed_sse([_start(), *text, _end()[0]]),
        typed_sse([_start(), *text, *_end(), *text]),
        typed_sse([_start(), *text, _end()[0], {**_end()[1], "amazon-bedrock-invocationMetrics": metrics}]),
        plain + b"data: [DONE]\n\n",
        typed_sse([_start(), *text[:2], error]),
        typed_sse([error]),
        typed_sse([_start(), *text, *_end(), error]),
        typed_sse([_start(usage=None), *text, *_end(output_tokens=None)]),
        b": keepalive\n\n" + plain,
        b"\xef\xbb\xbf" + plain,
        plain.rstrip(),
        plain.replace(b"\n\n", b"\n"),
        plain.replace(b"data: ", b"data:"),
        dump({"type": "message", "content": [{"type": "text", "text": "whole"}], "stop_reason": "end_turn"}).encode(),
        dump(error).encode(),
        b"<html>\n<p>502 Bad Gateway</p>\n</html>\n",
        b"",
        _text(some_words(20)),
        _calls_body(240, 12, 2),
        _thinking(some_words(20)),
    ]


def _costly() -> list[bytes]:
    unknown = [
        event
        for number, name in enumerate(near_names()[:90])
        for event in _call("{}", index=number, call_id=f"c{number}", name=name)
    ]
    cited = _delta({"type": "citations_delta", "citation": {"url": "a"}})
    return [
        _answer(*unknown),
        _answer(*_call(dump({"items": [1] * 6000}), name="sort_items")),
        _answer(_open({"type": "text", "text": "", "citations": [{}] * 3000}), _stop(), reason="end_turn"),
        _answer(_open({"type": "text", "text": ""}), *[cited] * 150, _words("x"), _stop(), reason="end_turn"),
        _answer(*[_signed("a")] * 200, reason="end_turn"),
        _answer(_open({"type": "web_search_tool_result", "content": [{}] * 4000}), _stop(), reason="end_turn"),
        sse([dump({"type": "error", "error": {"message": "x", "type": [{}] * 4000}})]),
        b"event: ping\ndata: {}\n\n" * 600,
        b"x\n" * 8000,
        b"data\n" * 3000,
    ]


def _deep() -> list[Any]:
    return [
        {"type": "error", "error": MARK},
        {"type": "error", "error": {"message": MARK}},
        {"type": "error", "error": {"type": MARK, "message": "x"}},
        {"type": MARK},
        _start(usage={"input_tokens": MARK}),
        _open(_use(input=MARK)),
        _open(_use(caller={"a": MARK})),
        _open({"type": "text", "text": "", "citations": [{"a": MARK}]}),
        _open({"type": "web_search_tool_result", "tool_use_id": "a", "content": MARK}),
        _open({"type": "new_block", "x": MARK}),
        _open({"type": "thinking", "thinking": MARK}),
        _open(_use(), MARK),
        _delta({"type": "citations_delta", "citation": {"a": MARK}}),
        _delta({"type": "new_delta", "x": MARK}),
        _piece(MARK),
        {"type": "message_delta", "delta": {"stop_reason": MARK}},
        {"type": "message_stop", "x": MARK},
    ]


# answers put together from odd events

_BLOCKS: list[Event] = [
    *({"type": "text", "text": ""}, {"type": "text", "text": "Hi"}, {"type": "thinking", "thinking": ""}),
    *({"type": "redacted_thinking", "data": "x"}, {"type": "server_tool_use", "id": "s", "name": "w", "input": {}}),
    *({"type": "web_search_tool_result", "tool_use_id": "s", "content": []}, {"type": "compaction"}, {"type": None}),
    *({}, {"type": "mcp_tool_use"}, {"type": "tool_use"}, {"type": "tool_use", "id": None, "name": None, "input": 1}),
]


def _random_answer(rng: random.Random) -> bytes:
    made = [_start()] if rng.random() < 0.85 else []
    made += [_random_event(rng) for _ in range(rng.randint(1, 14))]
    if rng.random() < 0.6:
        made += [_stop(index) for index in range(3) if rng.random() < 0.6]
    if rng.random() < 0.7:
        made += _end(rng.choice(_STOPS), output_tokens=rng.choice(ODD_COUNTS))
    return typed_sse([event if event.get("type") else {"type": "x"} for event in made], named=rng.random() < 0.9)


def _random_event(rng: random.Random) -> Event:
    index = rng.choice((0, 0, 0, 0, 1, 1, 2, None, "0", -1, 2**70, ...))
    kind = rng.random()
    if kind < 0.3:
        if rng.random() < 0.5:
            return _open(rng.choice(_BLOCKS), index)
        name, call_id = rng.choice(CALL_NAMES), rng.choice(CALL_IDS)
        return _open(
            {"type": "tool_use", "id": call_id, "name": name, "input": rng.choice(({}, None, {"a": 1}))}, index
        )
    if kind < 0.55:
        return _piece(rng.choice(ARGUMENT_PIECES), index)
    if kind < 0.75:
        return rng.choice(
            (
                *(_words("Hi", index), _words("", index), _thought("so", index), _signed("abc", index)),
                _delta({"type": "citations_delta", "citation": {"url": "u"}}, index),
                _delta(rng.choice(({}, {"type": "new"}, {"type": "text_delta"}, {"type": "text_delta", "text": None}))),
            )
        )
    if kind < 0.92:
        return _stop(index)
    return rng.choice(
        (_start(), {"type": "ping"}, *_end(rng.choice(_STOPS)), {"type": "message_delta"}, {"type": "new"})
    )


# ends, and input without one


def _is_end(payload: bytes) -> bool:
    try:
        return bool(json.loads(payload)["type"] == "message_stop")
    except (ValueError, LookupError, TypeError):
        return False


def _endless_arguments() -> Iterator[bytes]:
    yield typed_sse([_start(), _open(_use()), _piece('{"a": "')])
    while True:
        yield typed_sse([_piece("x" * READ)])


def _endless_calls() -> Iterator[bytes]:
    yield typed_sse([_start()])
    for number in range(10**6):
        yield typed_sse(_call("{}", index=number, call_id=f"toolu_{number}"))


def _endless_blocks() -> Iterator[bytes]:
    yield typed_sse([_start()])
    for number in range(10**6):
        yield typed_sse([_open({"type": "redacted_thinking", "data": "x"}, number), _stop(number)])


def _open_blocks() -> Iterator[bytes]:
    yield typed_sse([_start()])
    for number in range(10**6):
        yield typed_sse([_open({"type": "text", "text": ""}, number)])


def _endless_citations() -> Iterator[bytes]:
    yield typed_sse([_start(), _open({"type": "text", "text": ""}), _words("x")])
    while True:
        yield typed_sse([_delta({"type": "citations_delta", "citation": {"url": "u"}})] * 64)


def _endless_signature() -> Iterator[bytes]:
    yield typed_sse([_start(), _open({"type": "thinking", "thinking": ""})])
    while True:
        yield typed_sse([_signed("x" * READ)])


def _long_id() -> Iterator[bytes]:
    yield typed_sse([_start(), _open(_use("i" * READ))])


SUBJECT = Subject(
    name="anthropic",
    shape="messages",
    suffix="sse",
    samples={
        "text": lambda: _text(some_words(1000, 3)),
        "tool calls": lambda: _calls_body(6000, 12, 2),
        "thinking": lambda: _thinking(some_words(500, 6)),
    },
    growths={
        "arguments, 16-character deltas": _calls_body,
        "text, 16-character deltas": lambda size: _text([f"{number:15} " for number in range(size // 16)]),
        "reasoning, 16-character deltas": lambda size: _thinking([f"{number:15} " for number in range(size // 16)]),
    },
    long_text=lambda size: _text(["x" * size]),
    text_answer=lambda deltas: _text(some_words(deltas, 3)),
    calls_answer=_calls_body,
    quirks=_quirks,
    costly=_costly,
    deep=_deep,
    frame=lambda payloads: sse(payloads, done=False),
    random_answer=_random_answer,
    names=[
        *(
            "type",
            "index",
            "delta",
            "content_block",
            "message",
            "usage",
            "stop_reason",
            "text",
            "thinking",
            "signature",
        ),
        *("partial_json", "input", "id", "name", "citations", "citation", "content", "data", "error", "tool_use_id"),
    ],
    values=[
        *('"end_turn"', '"tool_use"', '"max_tokens"', '"pause_turn"', '"text"', '"thinking"', '"server_tool_use"'),
        *(
            '"content_block_start"',
            '"content_block_delta"',
            '"content_block_stop"',
            '"message_stop"',
            '"message_start"',
        ),
        *('"input_json_delta"', '"text_delta"', '"signature_delta"', '{"type":"tool_use","id":"a","name":"b"}'),
        *('"redacted_thinking"', '"web_search_tool_result"', '{"type":"overloaded_error","message":"no"}'),
    ],
    tokens=[b'event: message_stop\ndata: {"type":"message_stop"}\n\n', b'data: {"type":"ping"}\n\n', b"event: ping\n"],
    is_end=_is_end,
    endless={
        "arguments": (_endless_arguments, 2 * BOUNDS.arguments),
        "calls": (_endless_calls, 600 * BOUNDS.calls),
        "blocks": (_endless_blocks, 300 * BOUNDS.blocks),
        "blocks that never stop": (_open_blocks, 300 * BOUNDS.blocks),
        "citations": (_endless_citations, 300 * BOUNDS.blocks),
        "a signature": (_endless_signature, BOUNDS.stream),
        "an id": (_long_id, 2 * READ),
    },
    numbers_blocks=True,
    interleaved=_interleaved,
)
