"""Bedrock: Converse, and models that are invoked by themselves."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence
from typing import Any

from ..aws import EXCEPTION, chunk, converse, event, invoked, message, opened, sealed
from ..payloads import READ, argument_text, dump, some_words, split
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

_STOPS = [
    "end_turn",
    "tool_use",
    "max_tokens",
    "stop_sequence",
    "guardrail_intervened",
    "malformed_tool_use",
    "new",
    None,
]
_INDEXES = (0, 0, 0, 0, 1, 1, 2, None, "0", -1, 2**70, ...)
_PADDING = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"


def _padded(members: Any, number: int = 7) -> Any:
    return {**members, "p": _PADDING[: number % 62 + 1]} if isinstance(members, dict) else members


def _delta(delta: Any, index: Any = 0) -> Event:
    return {"contentBlockDelta": _padded(without({"contentBlockIndex": index, "delta": delta}), len(dump(delta)))}


def _words(text: Any, index: Any = 0) -> Event:
    return _delta({"text": text}, index)


def _thought(index: Any = 0, **members: Any) -> Event:
    return _delta({"reasoningContent": members}, index)


def _piece(text: Any, index: Any = 0) -> Event:
    return _delta({"toolUse": {"input": text}}, index)


def _begin(start: Any, index: Any = 0) -> Event:
    return {"contentBlockStart": _padded(without({"contentBlockIndex": index, "start": start}))}


def _use(call_id: Any = "call_1", name: Any = "get_weather", **more: Any) -> Event:
    return {"toolUse": without({"toolUseId": call_id, "name": name, **more})}


def _stop(index: Any = 0) -> Event:
    return {"contentBlockStop": _padded(without({"contentBlockIndex": index}))}


def _text_block(*words: Any, index: Any = 0) -> list[Event]:
    return [*(_words(word, index) for word in words), _stop(index)]


def _call(*pieces: Any, index: Any = 0, call_id: str = "call_1", name: str = "get_weather") -> list[Event]:
    return [_begin(_use(call_id, name), index), *(_piece(text, index) for text in pieces), _stop(index)]


_START: Event = {"messageStart": {"role": "assistant", "p": "abcdefgh"}}


def _end(reason: Any = "end_turn", **usage: Any) -> list[Event]:
    counts = {"inputTokens": 40, "outputTokens": 60, "totalTokens": 100, **usage}
    return [
        {"messageStop": without({"stopReason": reason, "p": "abc"})},
        {"metadata": {"usage": counts, "metrics": {"latencyMs": 812}, "p": "abcdefghijkl"}},
    ]


def _body(*events: Event, reason: Any = "end_turn") -> bytes:
    return converse([_START, *events, *_end(reason)])


# speed and growth


def _text(words: Sequence[str]) -> bytes:
    return _body(*_text_block(*words))


def _calls_body(size: int, piece: int = 16, calls: int = 1) -> bytes:
    text = argument_text(size)
    made = _text_block("I will", " write it.")
    for index in range(1, calls + 1):
        made += _call(*split(text, piece), index=index, call_id=f"tooluse_{index:022}", name="write_file")
    return _body(*made, reason="tool_use")


def _thinking(words: Sequence[str]) -> bytes:
    thoughts = [_thought(text=word) for word in words]
    return _body(*thoughts, _thought(signature="c2lnbmF0dXJl" * 20), _stop(), *_text_block("Done.", index=1))


def _messages(words: Sequence[str]) -> bytes:
    """Anthropic Messages within chunks."""
    return invoked(_message_events(*[{"type": "text_delta", "text": word} for word in words]))


def _message_events(*deltas: Event, block: Any = None, reason: str = "end_turn") -> list[Event]:
    usage = {"input_tokens": 40, "output_tokens": 1}
    metrics = {"inputTokenCount": 40, "outputTokenCount": 60, "invocationLatency": 812, "firstByteLatency": 300}
    return [
        {"type": "message_start", "message": {"type": "message", "role": "assistant", "content": [], "usage": usage}},
        {"type": "content_block_start", "index": 0, "content_block": block or {"type": "text", "text": ""}},
        *[{"type": "content_block_delta", "index": 0, "delta": delta} for delta in deltas],
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": 60}},
        {"type": "message_stop", "amazon-bedrock-invocationMetrics": metrics},
    ]


def _interleaved(calls: Sequence[tuple[str, str, str]], order: Sequence[int]) -> bytes:
    deltas = []
    for index, (call_id, name, arguments) in enumerate(calls):
        _, one, two, three = four_pieces(arguments)
        last = [_piece(three, index), _stop(index)]
        begun = [_begin(_use(call_id, name), index)]
        deltas.append(iter([begun, [_piece(one, index)], [_piece(two, index)], last]))
    return _body(*(event for number in order for event in next(deltas[number])), reason="tool_use")


# oddities

_METRICS = {"amazon-bedrock-invocationMetrics": {"inputTokenCount": 3, "outputTokenCount": 9}}


def _quirks() -> list[bytes]:
    text = _text_block("Hello", " world 🦊")
    call = _call("", '{"city": ', '"Par\\u00e9\\ud83d', '\\ude00is"}')
    thinking = [_thought(text="so"), _thought(text=" then"), _thought(signature="c2ln"), _stop()]
    hidden = [_thought(redactedContent="c2VjcmV0"), _stop()]
    server = [_begin(_use("s1", "nova_code_interpreter", type="server_tool_use")), _piece('{"snippet":"1"}'), _stop()]
    result = {"toolResult": {"toolUseId": "s1", "type": "nova_code_interpreter_result", "status": "success"}}
    given = [_begin(result, 1), _delta({"toolResult": [{"json": {"stdOut": "1"}}, {"text": "x"}]}, 1), _stop(1)]
    source = {"title": "T", "sourceContent": [{"text": "q"}], "location": {"web": {"url": "https://example.org"}}}
    image = [
        _begin({"image": {"format": "png"}}, 2),
        _delta({"image": {"source": {"bytes": "iVBO"}}}, 2),
        _delta({"image": {"source": {"bytes": "Rw=="}}}, 2),
        _stop(2),
    ]
    plain = _body(*text)
    whole_content = [
        {"reasoningContent": {"reasoningText": {"text": "so", "signature": "c2ln"}}},
        {"text": "whole"},
        {"toolUse": {"toolUseId": "call_1", "name": "get_weather", "input": {"city": "Paris"}}},
        {"citationsContent": {}},
    ]
    whole = {
        "output": {"message": {"role": "assistant", "content": whole_content}},
        "stopReason": "tool_use",
        "usage": {},
    }
    nova = [_START, *text, *call, *_end("tool_use")]
    nova[-1] = {**nova[-1], **_METRICS}
    use = {"type": "tool_use", "id": "call_1", "name": "get_weather", "input": {}}
    pieces = [{"type": "input_json_delta", "partial_json": piece} for piece in ("", '{"city": ', '"Paris"}')]
    called = _message_events(*pieces, block=use, reason="tool_use")
    return [
        plain,
        _body(*call, reason="tool_use"),
        _body(
            *text, *_call(PARIS, index=1), *_call("{}", index=2, call_id="call_2", name="get_time"), reason="tool_use"
        ),
        _body(*_call("", name="get_time"), reason="tool_use"),
        _body(*call, reason="end_turn"),
        _body(*call, reason="max_tokens"),
        _body(*call, reason="stop_sequence"),
        _body(*call, reason="guardrail_intervened"),
        _body(*call, reason=...),
        _body(*call[:3], reason="tool_use"),
        _body(*call[:-1], *_call("{}", index=1, call_id="call_2"), reason="tool_use"),
        _body(*call, *_call("{}", call_id="call_2"), reason="tool_use"),
        _body(*call[:-1], *_call("{}", call_id="call_2"), reason="tool_use"),
        _body(call[0], *call, reason="tool_use"),
        _body(*call[1:], reason="tool_use"),
        _body(*call, _piece("{}"), reason="tool_use"),
        _body(*call, *_text_block("after", index=1), reason="tool_use"),
        _body(*thinking, *_text_block("Hi", index=1)),
        _body(*thinking, *_call(PARIS, index=1), reason="tool_use"),
        _body(*hidden, *thinking, *_text_block("Hi", index=1)),
        _body(_thought(redactedContent="c2Vj"), _thought(redactedContent="cmV0"), _stop(), *text),
        _body(_thought(redactedContent="?"), _thought(redactedContent="cmV0"), _stop(), *text),
        _body(*server, *given, *_call(PARIS, index=2), reason="tool_use"),
        _body(*server[:-1], *given),
        _body(*given, *text),
        _body(*text[:-1], _delta({"citation": source}), _delta({"citation": {}}), text[-1], *_text_block("b", index=1)),
        _body(*image, *text),
        _body(_begin({}), *text),
        _body(_begin({"new": {"a": 1}}), *text),
        _body(_words("a"), _words("b", 1), _words("c"), _stop(), _stop(1)),
        _body(_words("a"), *_call(PARIS, index=1), _words("c"), _stop(), reason="tool_use"),
        _body(_words(""), _words("Hi"), _words(""), _stop()),
        _body(_delta({}), _delta({"new": 1}), _delta({"text": "x", "toolUse": {"input": "{}"}})),
        _body({"newEvent": {"a": 1}}, *text),
        _body(_stop(7), *text),
        converse([*text, *_end()]),
        converse([_START, *text]),
        converse([_START, *text, _end()[0]]),
        converse([_START, *call, _end()[1], _end("tool_use")[0]]),
        converse([_START, *call, *_end("tool_use"), *call, *_end()]),
        converse([_START, *call, _end("tool_use")[0], *text, *_end()]),
        converse([_START, *call, _end("tool_use")[0], _end("max_tokens")[0], _end()[1]]),
        converse([_START, *call, _START, *_call("{}", call_id="call_2"), *_end("tool_use")]),
        converse([_START, *call[:2], _START, *call, *_end("tool_use")]),
        converse([_START, *text, {f"{EXCEPTION}throttlingException": {"message": "Too many requests"}}]),
        converse([_START, *text, {f"{EXCEPTION}modelStreamErrorException": {"originalMessage": "x"}}]),
        converse([_START]) + message({":message-type": "error", ":error-code": "500", ":error-message": "no"}, b""),
        converse([_START]) + message({":message-type": "new"}, b"x") + plain,
        converse([_START]) + message({}, b"") + event("metadata", b"") + event("messageStop", b"5"),
        converse([_START, *text, *_end(cacheReadInputTokens=7, cacheWriteInputTokens=2, totalTokens=109)]),
        invoked(nova),
        invoked([_START, *_text_block("a"), *_text_block("b", index=1), *_end()]),
        invoked(_message_events({"type": "text_delta", "text": "Hi"})),
        invoked(called),
        invoked(called[:-1]),
        invoked([*called[:3], {"type": "error", "error": {"type": "overloaded_error", "message": "busy"}}]),
        invoked([{"outputText": "Hi", "index": 0, "completionReason": "FINISH", **_METRICS}]),
        invoked([{"generation": "Hi", "stop_reason": None}, {"generation": "", "stop_reason": "stop", **_METRICS}]),
        invoked([{"is_finished": False, "text": "Hi", "index": 1}, {"is_finished": True, "finish_reason": "COMPLETE"}]),
        invoked([{"completion": "Hi", "stop_reason": "stop_sequence", "stop": "\n\nHuman:", **_METRICS}]),
        invoked(
            [{"outputs": [{"text": "Hi", "stop_reason": None}]}, {"outputs": [{"text": "", "stop_reason": "stop"}]}]
        ),
        invoked([{"choices": [{"delta": {"content": "Hi"}}]}]),
        chunk(b"") + chunk(b"5") + plain,
        event("chunk", b'{"bytes":"?"}'),
        dump(whole).encode(),
        b'{"message":"The security token included in the request is invalid."}',
        b'{"__type":"com.amazon.coral.service#AccessDeniedException","Message":"no"}',
        b"<html>\n<p>502 Bad Gateway</p>\n</html>\n",
        b"",
        _text(some_words(20)),
        _calls_body(240, 12, 2),
        _thinking(some_words(20)),
    ]


def _costly() -> list[bytes]:
    unknown = [
        one
        for number, name in enumerate(near_names()[:60])
        for one in _call("{}", index=number, call_id=f"c{number}", name=name)
    ]
    return [
        _body(*unknown, reason="tool_use"),
        _body(*_call(dump({"items": [1] * 6000}), name="sort_items"), reason="tool_use"),
        _body(_delta({"toolResult": [{}] * 3000})),
        _body(*[_delta({"citation": {}})] * 100, _stop()),
        _body(*[one for number in range(70) for one in (_words("a", number), _thought(number, text="b"))]),
        b"".join(event(f"e{number}", b"{}") for number in range(200)),
        b"x\n" * 2000,
        b"\0" * 16_000,
        message({f"h{number}": "x" for number in range(2500)}, b"{}"),
    ]


def _deep() -> list[Any]:
    return [
        {"contentBlockDelta": MARK},
        {"newEvent": MARK},
        {f"{EXCEPTION}validationException": {"message": MARK}},
        {f"{EXCEPTION}validationException": MARK},
        _delta(MARK),
        _delta({"new": MARK}),
        _delta({"citation": {"location": MARK}}),
        _delta({"toolResult": MARK}),
        _delta({"toolResult": [{"json": MARK}]}),
        _delta({"image": MARK}),
        _words(MARK),
        _words("x", MARK),
        _piece(MARK),
        _begin(MARK),
        _begin(_use(more=MARK)),
        _begin({"new": MARK}),
        _end(MARK)[0],
        {"metadata": {"usage": MARK}},
        {"metadata": {"usage": {"inputTokens": MARK}}},
        {"chunk": MARK},
        {"chunk": {"type": "error", "error": MARK}},
        {"chunk": {"type": "message_start", "message": {"content": [MARK]}}},
        {"chunk": {"contentBlockDelta": {"delta": MARK}}},
        {"chunk": {"outputText": "x", "amazon-bedrock-invocationMetrics": MARK}},
    ]


# answers put together from odd events


def _random_answer(rng: random.Random) -> bytes:
    made = [_START] if rng.random() < 0.85 else []
    made += [_random_event(rng) for _ in range(rng.randint(1, 14))]
    if rng.random() < 0.6:
        made += [_stop(index) for index in range(3) if rng.random() < 0.6]
    if rng.random() < 0.8:
        made += _end(rng.choice(_STOPS), outputTokens=rng.choice(ODD_COUNTS))[: rng.choice((1, 2, 2, 2))]
    lines = b"".join(dump(one).encode() + b"\n" for one in made)
    if rng.random() < 0.2:
        lines = b"".join(b'{"chunk":' + line + b"}\n" for line in lines.splitlines())
    return lines


def _random_event(rng: random.Random) -> Event:
    index = rng.choice(_INDEXES)
    kind = rng.random()
    if kind < 0.25:
        more = {"type": rng.choice((..., ..., ..., "tool_use", "server_tool_use", None, 1))}
        return _begin(_use(rng.choice((*CALL_IDS, ...)), rng.choice((*CALL_NAMES, ...)), **more), index)
    if kind < 0.5:
        return _piece(rng.choice(ARGUMENT_PIECES), index)
    if kind < 0.65:
        return _stop(index)
    if kind < 0.9:
        return rng.choice(
            (
                *(_words("Hi", index), _words("", index), _words(None, index), _thought(index, text="so")),
                *(_thought(index, signature="c2ln"), _thought(index, redactedContent="c2Vj"), _thought(index)),
                *(_delta({"citation": {"title": "T"}}, index), _delta({"toolResult": [{"text": "x"}]}, index)),
                *(_delta({}, index), _delta(None, index), _delta({"image": {"source": {"bytes": "iVBO"}}}, index)),
                _delta({"text": "x", "reasoningContent": {"text": "y"}, "toolUse": {"input": "{}"}}, index),
            )
        )
    return rng.choice(
        (
            *(_START, {"newEvent": {}}, _begin({}, index), _begin({"image": {"format": "png"}}, index)),
            *(_begin({"toolResult": {"toolUseId": "s1"}}, index), _end(rng.choice(_STOPS))[0], _end()[1]),
            {f"{EXCEPTION}internalServerException": {"message": "x"}},
        )
    )


# ends, and input without one


def _is_end(payload: bytes) -> bool:
    try:
        said = json.loads(payload)
    except (ValueError, RecursionError):
        return False
    if not isinstance(said, dict):
        return False
    ended = said.get("completionReason") or said.get("finish_reason") or said.get("stop_reason")
    outputs = said.get("outputs") or [{}]
    return "messageStop" in said or said.get("type") == "message_stop" or bool(ended or outputs[0].get("stop_reason"))


def _endless_arguments() -> Iterator[bytes]:
    yield converse([_START, _begin(_use()), _piece('{"a": "')])
    while True:
        yield converse([_piece("x" * READ)])


def _endless_calls() -> Iterator[bytes]:
    for number in range(10**6):
        yield converse(_call("{}", index=number, call_id=f"call_{number}"))


def _open_calls() -> Iterator[bytes]:
    for number in range(10**6):
        yield converse([_begin(_use(f"call_{number}"), number)])


def _endless_blocks() -> Iterator[bytes]:
    for number in range(10**6):
        yield converse([_words("a", number), _thought(number, text="b")])


def _endless_citations() -> Iterator[bytes]:
    while True:
        yield converse([_delta({"citation": {"title": "T"}})] * 64)


def _endless_image() -> Iterator[bytes]:
    yield converse([_begin({"image": {"format": "png"}})])
    while True:
        yield converse([_delta({"image": {"source": {"bytes": "QUJD" * (READ // 4)}}})])


def _endless_signature() -> Iterator[bytes]:
    while True:
        yield converse([_thought(signature="s" * READ)])


def _large_message() -> Iterator[bytes]:
    yield event("contentBlockDelta", b" " * (BOUNDS.event + 1))


def _endless_text() -> Iterator[bytes]:
    while True:
        yield b"<p>" * READ


def _long_id() -> Iterator[bytes]:
    yield converse([_begin(_use("i" * READ))])


SUBJECT = Subject(
    name="bedrock",
    shape=("converse", "invoke/anthropic-messages", "invoke/nova", "invoke/other"),
    suffix="eventstream",
    samples={
        "text": lambda: _text(some_words(1000)),
        "tool calls": lambda: _calls_body(6000, 6, 2),
        "reasoning": lambda: _thinking(some_words(1000)),
        "an invoked model": lambda: _messages(some_words(1000)),
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
    frame=lambda payloads: sealed("\n".join(payloads).encode()),
    random_answer=_random_answer,
    names=[
        *("contentBlockIndex", "delta", "text", "toolUse", "input", "reasoningContent", "signature", "start", "name"),
        *("redactedContent", "toolUseId", "type", "stopReason", "usage", "inputTokens", "bytes", "citation", "image"),
        *("messageStop", "metadata", "contentBlockStop", ":event-type", ":message", "payload", "toolResult"),
    ],
    values=[
        *(
            '"end_turn"',
            '"tool_use"',
            '"max_tokens"',
            '"server_tool_use"',
            '{"text":"x"}',
            '{"toolUse":{"input":"{}"}}',
        ),
        *('{"toolUse":{"toolUseId":"a","name":"b"}}', '{"reasoningContent":{"text":"x"}}', '[{"text":"x"}]'),
        *('{"stopReason":"end_turn"}', '{"type":"message_stop"}', '{"outputText":"x"}', '"exception"'),
    ],
    tokens=[
        *(b'{"messageStop":{"stopReason":"tool_use"}}\n', b'{"metadata":{}}\n', b'{"chunk":{}}\n', b'{"":{}}\n'),
        *(b'{"!throttlingException":{}}\n', b"\0\0\0\x10\0\0\0\0\x05\xc2\x48\xeb", b'{"contentBlockStop":{}}\n'),
    ],
    is_end=_is_end,
    endless={
        "arguments": (_endless_arguments, 2 * BOUNDS.arguments),
        "calls": (_endless_calls, 900 * BOUNDS.calls),
        "calls that never end": (_open_calls, 400 * BOUNDS.calls),
        "blocks": (_endless_blocks, 500 * BOUNDS.segments),
        "citations": (_endless_citations, 400 * BOUNDS.blocks),
        "an image": (_endless_image, 2 * BOUNDS.event),
        "a signature": (_endless_signature, 2 * BOUNDS.arguments),
        "a message": (_large_message, 2 * BOUNDS.event),
        "a page": (_endless_text, 2 * BOUNDS.event),
        "an id": (_long_id, 2 * READ),
    },
    opened=opened,
    sealed=sealed,
    numbers_blocks=True,
    interleaved=_interleaved,
)
