"""Cohere chat, API v2."""

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

_STOPS = ["COMPLETE", "TOOL_CALL", "MAX_TOKENS", "STOP_SEQUENCE", "TIMEOUT", "ERROR", "NEW_WORD", None]
_INDEXES = (0, 0, 0, 0, 1, 1, 2, None, "0", -1, 2**70, ...)
_USAGE = {
    "billed_units": {"input_tokens": 125, "output_tokens": 24},
    "cached_tokens": 992,
    "tokens": {"input_tokens": 1600, "output_tokens": 56, "reasoning_tokens": 12},
}


def _event(kind: Any, index: Any = ..., **message: Any) -> Event:
    return without({"type": kind, "index": index, "delta": {"message": message} if message else ...})


def _start(**more: Any) -> Event:
    message = {"role": "assistant", "content": [], "tool_plan": "", "tool_calls": [], "citations": []}
    return {"id": "23a23f14-bab1-46b9-a4c9-239714c2f279", **_event("message-start", **{**message, **more})}


def _end(reason: Any = "COMPLETE", **more: Any) -> Event:
    return {"type": "message-end", "delta": {"finish_reason": reason, "usage": _USAGE, **more}}


def _words(text: Any, index: Any = 0, member: str = "text") -> Event:
    return _event("content-delta", index, content={member: text})


def _thought(text: Any, index: Any = 0) -> Event:
    return _words(text, index, "thinking")


def _plan(text: Any) -> Event:
    return _event("tool-plan-delta", tool_plan=text)


def _content(*words: str, index: Any = 0, member: str = "text") -> list[Event]:
    begun = _event("content-start", index, content={"type": member, member: ""})
    return [begun, *(_words(word, index, member) for word in words), _event("content-end", index)]


def _begin(call_id: Any = "call_1", name: Any = "get_weather", index: Any = 0, arguments: Any = "") -> Event:
    function = without({"name": name, "arguments": arguments})
    return _event(
        "tool-call-start", index, tool_calls=without({"id": call_id, "type": "function", "function": function})
    )


def _piece(text: Any, index: Any = 0) -> Event:
    return _event("tool-call-delta", index, tool_calls={"function": {"arguments": text}})


def _stop(index: Any = 0) -> Event:
    return _event("tool-call-end", index)


def _call(*pieces: Any, index: Any = 0, call_id: str = "call_1", name: str = "get_weather") -> list[Event]:
    return [_begin(call_id, name, index), *(_piece(text, index) for text in pieces), _stop(index)]


def _cited(**more: Any) -> Event:
    source = {"type": "tool", "id": "get_weather_1:0", "tool_output": {"content": "18 °C"}}
    citation = {"start": 0, "end": 5, "text": "Hello", "sources": [source], "type": "TEXT_CONTENT", **more}
    return _event("citation-start", 0, citations=citation)


# speed and growth


def _body(*events: Event, reason: Any = "COMPLETE") -> bytes:
    return typed_sse([_start(), *events, _end(reason)]) + b"data: [DONE]\n\n"


def _text(words: Sequence[str]) -> bytes:
    return _body(*_content(*words))


def _calls_body(size: int, piece: int = 16, calls: int = 1) -> bytes:
    text = argument_text(size)
    made = [_plan(word) for word in ("I", " will", " write", " the", " file", ".")]
    for index in range(calls):
        made += _call(*split(text, piece), index=index, call_id=f"write_file_{index:012}", name="write_file")
    return _body(*made, reason="TOOL_CALL")


def _thinking(words: Sequence[str]) -> bytes:
    return _body(*_content(*words, member="thinking"), *_content("Done.", index=1))


def _interleaved(calls: Sequence[tuple[str, str, str]], order: Sequence[int]) -> bytes:
    deltas = []
    for index, (call_id, name, arguments) in enumerate(calls):
        _, one, two, three = four_pieces(arguments)
        last = [_piece(three, index), _stop(index)]
        deltas.append(iter([[_begin(call_id, name, index)], [_piece(one, index)], [_piece(two, index)], last]))
    return _body(*(event for number in order for event in next(deltas[number])), reason="TOOL_CALL")


# oddities


def _quirks() -> list[bytes]:
    text = _content("Hello", " world 🦊")
    call = _call("", '{"city": ', '"Par\\u00e9\\ud83d', '\\ude00is"}')
    plan = [_plan("I will"), _plan(" look.")]
    thinking = _content("so", " then", member="thinking")
    cited = [_cited(), _event("citation-end", 0)]
    document = {"type": "document", "id": "d", "document": {"title": "T", "url": "https://example.org"}}
    plain = _body(*text)
    message = {"role": "assistant", "content": [{"type": "text", "text": "whole"}], "tool_plan": "plan"}
    made = [{"id": "call_1", "type": "function", "function": {"name": "get_weather", "arguments": PARIS}}]
    whole = {"id": "x", "finish_reason": "TOOL_CALL", "message": {**message, "tool_calls": made}, "usage": _USAGE}
    refused = {"id": "x", "message": "invalid api token"}
    older = {"is_finished": False, "event_type": "text-generation", "text": "Hey"}
    return [
        plain,
        plain.replace(b"\n", b"\r\n"),
        plain.replace(b"\n", b"\r"),
        typed_sse([_start(), *text, _end()], named=False),
        typed_sse([_start(), *text, _end()], padding=True),
        plain.replace(b"[DONE]", b'"[DONE]"'),
        _body(*call, reason="TOOL_CALL"),
        _body(*plan, *call, *_call("{}", index=1, call_id="call_2", name="get_time"), reason="TOOL_CALL"),
        _body(*plan, *_call(name="get_time"), reason="TOOL_CALL"),
        _body(*_call("", "", name="get_time"), reason="TOOL_CALL"),
        _body(*call, *_call("{}", call_id="call_2"), reason="TOOL_CALL"),
        _body(*_call(PARIS, index=None), *_call("{}", index=None, call_id="call_2"), reason="TOOL_CALL"),
        _body(_begin(arguments=PARIS), _stop(), reason="TOOL_CALL"),
        _body(_begin(arguments=None), _piece(PARIS), _stop(), reason="TOOL_CALL"),
        _body(_begin(arguments=...), _piece(None), _stop(), reason="TOOL_CALL"),
        _body(*call[:3], reason="MAX_TOKENS"),
        _body(*call[:-1], *_call("{}", index=1, call_id="call_2"), reason="TOOL_CALL"),
        _body(*call[:-1], *_call("{}", call_id="call_2"), reason="TOOL_CALL"),
        _body(*call, reason="COMPLETE"),
        _body(*call, reason="STOP_SEQUENCE"),
        _body(*call, reason="TIMEOUT"),
        _body(*call, reason=None),
        _body(*text, *_call(PARIS), *_content("after", index=1), reason="TOOL_CALL"),
        _body(*thinking, *call, reason="TOOL_CALL"),
        _body(*thinking, *_content("Hi", index=1)),
        _body(*thinking[:-1], *_content("Hi", index=1)[1:]),
        _body(*text[:-1], *cited, text[-1]),
        _body(*text, _cited(sources=[document, document]), _cited(sources=None, text=None), _cited(type="PLAN")),
        _body(_event("content-start", 0, content={"type": "text", "text": "Hi"}), _event("content-end", 0)),
        _body(_event("content-start", 0, content={"type": "image", "image": "x"}), _event("content-end", 0)),
        _body(_event("content-delta", 0, content={"text": "Hi", "thinking": "so"})),
        _body(_event("content-delta", 0, content="Hi"), _event("content-delta", 0, content=[{"text": "Hi"}])),
        _body({"type": "tool-plan-delta", "delta": {"tool_plan": "I"}}, *plan, *call, *plan, reason="TOOL_CALL"),
        _body({"type": "debug", "prompt": "<BOS>"}, *text, {"type": "new-event", "x": [1]}),
        typed_sse([_start(), *text[:2], _start(), *text, _end()]),
        typed_sse([_start(), *call, _start(), *call, _end("TOOL_CALL")]),
        typed_sse([_start(), *call[:2], _start(), *call, _end("TOOL_CALL")]),
        _body(call[0], *call, reason="TOOL_CALL"),
        _body(
            _begin(), _begin("call_2", index=1), _piece(PARIS), _piece("{}", 1), _stop(1), _stop(), reason="TOOL_CALL"
        ),
        _body(*call[1:], reason="TOOL_CALL"),
        _body(_stop(), *text, _stop(), _event("content-end", 7)),
        _body(*text, _words("late")),
        _body(*call, _piece("{}"), reason="TOOL_CALL"),
        typed_sse([*text, _end()]),
        typed_sse([_start(), *text]),
        typed_sse([_start(), *text]) + b"data: [DONE]\n\n",
        typed_sse([_start(), *text, _end(), *text, _end()]),
        typed_sse([_start(), *text, _end("ERROR", error="overloaded")]),
        typed_sse([_start(), *call, _end("ERROR", error="overloaded")]),
        typed_sse([_start(), *call, _end("ERROR")]),
        typed_sse([_start(), *call, _end("TOOL_CALL", error="overloaded")]),
        typed_sse([_start(), *text, _end(usage=None)]),
        typed_sse([_start(), *text, _end(usage={"billed_units": {"input_tokens": 3, "output_tokens": 9.0}})]),
        typed_sse([_start(), *text, {"type": "message-end"}]),
        sse([dump(_start()), dump(refused)]),
        sse([dump(older)]),
        b": keepalive\n\n" + plain,
        b"\xef\xbb\xbf" + plain,
        plain.rstrip(),
        plain.replace(b"\n\n", b"\n"),
        plain.replace(b"data: ", b"data:"),
        dump(whole).encode(),
        dump(refused).encode(),
        f"{dump(older)}\n{dump(older)}\n".encode(),
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
    return [
        _body(*unknown, reason="TOOL_CALL"),
        _body(*_call(dump({"items": [1] * 6000}), name="sort_items"), reason="TOOL_CALL"),
        _body(_words("x"), _cited(sources=[{}] * 4000)),
        _body(_words("x"), *[_cited(sources=[])] * 120),
        _body(_event("content-delta", 0, content=[{}] * 4000)),
        _body(_event("tool-call-start", 0, tool_calls=[{}] * 4000)),
        _body(*[event for number in range(90) for event in (_words("a", number), _thought("b", number))]),
        sse([dump({"error": {"message": "x", "type": [{}] * 4000}})]),
        b"event: debug\ndata: {}\n\n" * 600,
        b"x\n" * 8000,
        b"data\n" * 3000,
    ]


def _deep() -> list[Any]:
    return [
        {"error": MARK},
        {"error": {"message": MARK}},
        {"message": MARK},
        {"type": MARK},
        {"event_type": MARK},
        _end(error=MARK),
        _end(MARK),
        _end(usage=MARK),
        _end(usage={"tokens": {"input_tokens": MARK}}),
        _cited(text=MARK),
        _cited(sources=[{"document": {"url": MARK}}]),
        _event("citation-start", 0, citations=MARK),
        _event("content-start", 0, content={"type": MARK, "text": ""}),
        _words(MARK),
        _words("x", MARK),
        _plan(MARK),
        _begin(MARK),
        _begin(arguments=MARK),
        _piece(MARK),
        {"type": "debug", "prompt": MARK},
    ]


# answers put together from odd events


def _random_answer(rng: random.Random) -> bytes:
    made = [_start()] if rng.random() < 0.85 else []
    made += [_random_event(rng) for _ in range(rng.randint(1, 14))]
    if rng.random() < 0.6:
        made += [_stop(index) for index in range(3) if rng.random() < 0.6]
    if rng.random() < 0.7:
        counts = {"input_tokens": rng.choice(ODD_COUNTS), "output_tokens": rng.choice(ODD_COUNTS)}
        usage = {"tokens": counts, "cached_tokens": rng.choice(ODD_COUNTS)}
        made.append(_end(rng.choice(_STOPS), usage=usage))
    return typed_sse([event if event.get("type") else {"type": "x"} for event in made], named=rng.random() < 0.9)


def _random_event(rng: random.Random) -> Event:
    index = rng.choice(_INDEXES)
    kind = rng.random()
    if kind < 0.25:
        return _begin(
            rng.choice((*CALL_IDS, ...)),
            rng.choice((*CALL_NAMES, ...)),
            index,
            rng.choice(("", "", None, ..., "{", "{}")),
        )
    if kind < 0.5:
        return _piece(rng.choice(ARGUMENT_PIECES), index)
    if kind < 0.6:
        return _stop(index)
    if kind < 0.85:
        return rng.choice(
            (
                *(_words("Hi", index), _words("", index), _words(None, index), _thought("so", index), _plan("I")),
                *(_plan(""), _plan(None), _event("content-end", index), _event("content-delta", index)),
                _event("content-start", index, content={"type": "text", "text": rng.choice(("", "Hi", None))}),
                _event("content-delta", index, content={"text": "Hi", "thinking": "so"}),
            )
        )
    return rng.choice(
        (
            *(_cited(), _cited(sources=[]), _event("citation-end", index), {"type": "debug"}, {"type": "new"}),
            *(_start(), _start(tool_calls=[{"id": "x", "function": {"name": "get_weather"}}]), {}),
            _event(rng.choice(("tool-call-start", "tool-call-delta", "tool-plan-delta", "citation-start")), index),
            _end(rng.choice(_STOPS)),
        )
    )


# ends, and input without one


def _is_end(payload: bytes) -> bool:
    try:
        return bool(json.loads(payload)["type"] == "message-end")
    except (ValueError, LookupError, TypeError):
        return False


def _endless_arguments() -> Iterator[bytes]:
    yield typed_sse([_start(), _begin(), _piece('{"a": "')])
    while True:
        yield typed_sse([_piece("x" * READ)])


def _endless_calls() -> Iterator[bytes]:
    yield typed_sse([_start()])
    for number in range(10**6):
        yield typed_sse(_call("{}", index=number, call_id=f"call_{number}"))


def _open_calls() -> Iterator[bytes]:
    yield typed_sse([_start()])
    for number in range(10**6):
        yield typed_sse([_begin(f"call_{number}", index=number)])


def _endless_parts() -> Iterator[bytes]:
    yield typed_sse([_start()])
    for number in range(10**6):
        yield typed_sse([_words("a", number), _thought("b", number)])


def _endless_citations() -> Iterator[bytes]:
    yield typed_sse([_start(), _words("x")])
    while True:
        yield typed_sse([_cited()] * 64)


def _long_id() -> Iterator[bytes]:
    yield typed_sse([_start(), _begin("i" * READ)])


SUBJECT = Subject(
    name="cohere",
    shape="cohere-v2",
    suffix="sse",
    samples={
        "text": lambda: _text(some_words(1000)),
        "tool calls": lambda: _calls_body(6000, 6, 2),
        "thinking": lambda: _thinking(some_words(1000)),
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
        *("type", "index", "delta", "message", "content", "text", "thinking", "tool_plan", "tool_calls", "function"),
        *("arguments", "name", "id", "finish_reason", "usage", "tokens", "error", "citations", "sources", "event_type"),
    ],
    values=[
        *('"COMPLETE"', '"TOOL_CALL"', '"MAX_TOKENS"', '"ERROR"', '"text"', '"thinking"', '{"text":"x"}'),
        *('"message-start"', '"message-end"', '"content-delta"', '"content-end"', '"tool-plan-delta"'),
        *('"tool-call-start"', '"tool-call-delta"', '"tool-call-end"', '"citation-start"', '"debug"'),
        *('{"id":"a","function":{"name":"b","arguments":"{}"}}', '[{"text":"x"}]', '{"message":"no"}'),
    ],
    tokens=[b'data: {"type":"message-end"}\n\n', b"data: [DONE]\n\n", b"event: message-end\n", b'data: "[DONE]"\n\n'],
    is_end=_is_end,
    endless={
        "arguments": (_endless_arguments, 2 * BOUNDS.arguments),
        "calls": (_endless_calls, 700 * BOUNDS.calls),
        "calls that never end": (_open_calls, 300 * BOUNDS.calls),
        "parts": (_endless_parts, 300 * BOUNDS.segments),
        "citations": (_endless_citations, 400 * BOUNDS.blocks),
        "an id": (_long_id, 2 * READ),
    },
    numbers_blocks=True,
    interleaved=_interleaved,
)
