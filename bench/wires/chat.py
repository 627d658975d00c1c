"""OpenAI Chat Completions and its many imitations."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence
from typing import Any

from ..payloads import READ, argument_text, dump, obfuscated, some_words, split, sse
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

_SIZE = 253
_FINISHES = ["stop", "tool_calls", "length", "content_filter", "eos", "STOP", "new_word", "function_call", "error"]

USAGE = {
    "prompt_tokens": 1117,
    "completion_tokens": 1046,
    "total_tokens": 2163,
    "prompt_tokens_details": {"cached_tokens": 1024, "audio_tokens": 0, "text_tokens": 93, "image_tokens": 0},
    "completion_tokens_details": {
        "reasoning_tokens": 64,
        "audio_tokens": 0,
        "accepted_prediction_tokens": 0,
        "rejected_prediction_tokens": 0,
    },
    "cost_details": {"upstream_inference_cost": None, "input_cost": 0.0021, "output_cost": 0.0104},
}


def chunk(delta: dict[str, Any] | None, *, finish: str | None = None, usage: Any = None) -> dict[str, Any]:
    """One chunk as OpenAI sends it; `delta` None leaves the list of choices empty."""
    choices = [] if delta is None else [{"index": 0, "delta": delta, "finish_reason": finish}]
    return {
        "id": "chatcmpl-CX3Rb0wXmVrDfkUp9Zt7",
        "object": "chat.completion.chunk",
        "created": 1760000000,
        "model": "gpt-4o-2024-08-06",
        "choices": choices,
        "usage": usage,
    }


def call(arguments: Any = PARIS, **more: Any) -> dict[str, Any]:
    """One tool call of a delta; `name` and `arguments` go where they belong, `...` leaves a member out."""
    function = {"name": more.pop("name", "get_weather"), "arguments": arguments}
    return without({"index": 0, "id": "call_1", "type": "function", **more, "function": without(function)})


# speed and growth


def _padded(value: dict[str, Any], number: int) -> str:
    return dump(obfuscated(value, number, _SIZE))


def _text(words: Sequence[str]) -> bytes:
    made = [_padded(chunk({"role": "assistant", "content": "", "refusal": None}), 0)]
    made += [_padded(chunk({"content": word}), number) for number, word in enumerate(words)]
    made.append(_padded(chunk({}, finish="stop"), 3))
    made.append(_padded(chunk(None, usage=USAGE), 5))
    return sse(made)


def _call_payloads(arguments: str, piece: int, calls: int) -> Iterator[str]:
    number = 0
    for index in range(calls):
        opened = call("", index=index, id=f"call_{index:024}", name="write_file")
        yield _padded(chunk({"role": "assistant", "content": None, "tool_calls": [opened]}), number)
        for text in split(arguments, piece):
            number += 1
            delta = {"index": index, "function": {"arguments": text}}
            yield _padded(chunk({"tool_calls": [delta]}), number)
    yield _padded(chunk({}, finish="tool_calls"), number)
    yield _padded(chunk(None, usage=USAGE), number)


def _calls_body(size: int, piece: int = 16, calls: int = 1) -> bytes:
    return sse(_call_payloads(argument_text(size), piece, calls))


def _interleaved(calls: Sequence[tuple[str, str, str]], order: Sequence[int]) -> bytes:
    deltas = []
    for index, (call_id, name, arguments) in enumerate(calls):
        first, *rest = four_pieces(arguments)
        opened = call(first, index=index, id=call_id, name=name)
        deltas.append(iter([opened, *({"index": index, "function": {"arguments": text}} for text in rest)]))
    made = [dump(chunk({"tool_calls": [next(deltas[number])]})) for number in order]
    return sse([*made, dump(chunk({}, finish="tool_calls"))])


# oddities


def _more(arguments: str, **more: Any) -> dict[str, Any]:
    return call(arguments, **{"id": ..., "type": ..., "name": ..., **more})


def _answer(*deltas: dict[str, Any], finish: str | None = "tool_calls", done: bool = True, end: str = "\n\n") -> bytes:
    made = [chunk(delta) for delta in deltas]
    if finish is not None:
        made.append(chunk({}, finish=finish))
    made.append(chunk(None, usage=USAGE))
    return sse(map(dump, made), done=done, end=end)


def _calls(*calls: dict[str, Any]) -> dict[str, Any]:
    return {"tool_calls": list(calls)}


def _quirks() -> list[bytes]:
    text, hello = {"role": "assistant", "content": "Hello"}, {"content": " world 🦊"}
    pieces = (
        _calls(call("")),
        _calls(_more('{"city": ')),
        _calls(_more('"Par\\u00e9\\ud83d')),
        _calls(_more('\\ude00is"}')),
    )
    two = (*pieces, _calls(call("", index=1, id="call_2", name="get_time")), _calls(_more("{}", index=1)))
    finish = {**chunk({}, finish="stop"), "usage": USAGE}
    both = chunk(text)
    both["choices"] += [{"index": 1, "delta": _calls(call()), "finish_reason": "tool_calls"}]
    plain = [dump(chunk(text)), dump(chunk(hello)), dump(finish)]
    error = {"error": {"message": "Overloaded", "code": 529, "type": "overloaded_error"}}
    details = [
        {"type": "reasoning.text", "text": "so", "signature": "abc"},
        {"type": "reasoning.encrypted", "data": "x"},
    ]
    return [
        _answer(text, hello, finish="stop"),
        _answer(text, hello, finish="stop", end="\r\n\r\n"),
        _answer(text, hello, finish=None),
        _answer(text, hello, finish="stop", done=False),
        _answer(text, hello, finish="length"),
        _answer(*pieces),
        _answer(*two),
        _answer(*two, finish="length"),
        _answer(*two, finish="stop", end="\r\n\r\n"),
        _answer(text, *pieces, hello),
        _answer(_calls(call(index=..., type=...)), _calls(call(index=..., id="call_2"))),
        _answer(_calls(call(id="", index=...))),
        _answer(_calls(call()), _calls(call("", id=None, type=None, name=None))),
        _answer(_calls(call('{"city": ')), _calls(call('"Paris"}'))),
        _answer(_calls(call("", name="get_")), _calls(_more("", name="weather")), _calls(_more(PARIS))),
        _answer(_calls(call(None)), _calls(_more(PARIS))),
        _answer(_calls(call(...)), _calls(_more(PARIS))),
        _answer(_calls(call({"city": "Paris"}))),
        _answer(_calls(call("", name="get_time"))),
        _answer(_calls(call("null", name="get_time"))),
        _answer(_calls(call(), call("{}", index=1, id="call_2", name="get_time"))),
        _answer(_calls(call(index=1)), _calls(call(index=7, id="call_2"))),
        _answer(_calls(call()), _calls(call(id="call_2"))),
        _answer(_calls(call()), _calls(call(index=1))),
        _answer(_calls(call(extra_content={"google": {"thought_signature": "abc"}}))),
        _answer({"function_call": {"name": "get_weather", "arguments": ""}}, {"function_call": {"arguments": PARIS}}),
        _answer({"content": "a", "tool_calls": None}, {"content": "b", "tool_calls": []}, finish="eos"),
        _answer({"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "so"}]}]}, text, finish="stop"),
        _answer({"reasoning_content": "so"}, {"reasoning": "then"}, {"reasoning_details": details}, *pieces),
        _answer({"refusal": "No"}, {"refusal": "."}, finish="stop"),
        _answer({"audio": {"id": "a", "data": "QUJD", "transcript": "hi"}}, {"audio": {"data": "REVG"}}, finish="stop"),
        _answer({"images": [{"image_url": {"url": "data:image/png;base64,QUJD"}}]}, finish="stop"),
        sse([dump(both), *plain]),
        sse([dump({"choices": [], "prompt_filter_results": []}), *plain]),
        sse([*plain, dump(finish), dump(finish)]),
        sse([*plain[:2], dump({"x_groq": {"usage": USAGE}, "choices": []})]),
        sse([*plain[:2], dump({"choices": [{"index": 0, "finish_reason": None, "content_filter_offsets": {}}]})]),
        sse([dump({"choices": [{"index": 0, "message": {"content": "x"}, "finish_reason": "stop"}]})]),
        sse([*plain[:2], dump(error)]),
        sse([*plain[:2], dump({**chunk({}, finish="error"), **error})]),
        sse(plain[:2], done=False) + b"event: error\ndata: " + dump(error).encode() + b"\n\n",
        sse(plain[:2], done=False) + b"error: " + dump(error["error"]).encode() + b"\n\n",
        sse(plain[:2], done=False) + dump(error).encode() + b"\n",
        b": OPENROUTER PROCESSING\n\n" + sse(plain) + b": bye\n\n",
        b"\xef\xbb\xbfretry: 3000\n\n" + b"id: 7\nevent: message\n" + sse(plain),
        sse(plain, end="\n"),
        sse(plain).rstrip(),
        sse(plain).replace(b"data: ", b"data:"),
        sse(plain).replace(b"data: ", b" data: ", 1),
        sse(plain) + sse(plain),
        dump({"choices": [{"index": 0, "message": {"content": "whole"}, "finish_reason": "stop"}]}).encode(),
        dump(error).encode(),
        b"<html>\n<p>502 Bad Gateway</p>\n</html>\n",
        b"",
        _text(some_words(20)),
        _calls_body(240, 12, 2),
    ]


def _costly() -> list[bytes]:
    unknown = [call("{}", index=number, id=f"c{number}", name=name) for number, name in enumerate(near_names())]
    return [
        _answer(_calls(*unknown)),
        _answer(_calls(call(dump({"items": [1] * 6000}), name="sort_items"))),
        _answer({"reasoning_details": [{}] * 4000}, finish="stop"),
        _answer({"images": [{"image_url": "a"}] * 800}, finish="stop"),
        _answer({"content": [{"type": str(number)} for number in range(1000)]}, finish="stop"),
        sse([dump({"error": {"message": "x", "code": [{}] * 4000}})]),
        b"x\n" * 8000,
        b"data\n" * 3000,
    ]


def _deep() -> list[Any]:
    return [
        {"error": MARK},
        {"error": {"message": MARK}},
        {"error": {"message": "x", "code": MARK}},
        {"error": {"more": MARK}},
        {"usage": {"more": MARK}},
        chunk(_calls(call(MARK))),
        chunk(_calls(call(index=MARK))),
        chunk(_calls(call(extra_content={"more": MARK}))),
        chunk({"content": [{"type": MARK}]}),
        chunk({"reasoning": MARK}),
        chunk({"reasoning_details": [{"more": MARK}]}),
        chunk({"images": [{"image_url": MARK}]}),
        chunk({"audio": {"data": MARK}}),
    ]


# answers put together from odd deltas


def _random_answer(rng: random.Random) -> bytes:
    made = [dump(_random_chunk(rng)) for _ in range(rng.randint(1, 14))]
    if rng.random() < 0.6:
        made.append(dump({"choices": [{"index": 0, "delta": {}, "finish_reason": rng.choice(_FINISHES)}]}))
    return sse(made, done=rng.random() < 0.7)


def _random_chunk(rng: random.Random) -> dict[str, Any]:
    delta: dict[str, Any] = {}
    if rng.random() < 0.25:
        delta["content"] = rng.choice(["Hello", "", None, " world", "é🦊", [{"type": "text", "text": "hi"}], "\n"])
    if rng.random() < 0.15:
        delta[rng.choice(["reasoning", "reasoning_content", "refusal"])] = rng.choice(["so", "", None, "then"])
    if rng.random() < 0.75:
        delta["tool_calls"] = [_random_call(rng) for _ in range(rng.choice((1, 1, 1, 2)))]
    if rng.random() < 0.05:
        delta["function_call"] = {"name": rng.choice(CALL_NAMES), "arguments": rng.choice(ARGUMENT_PIECES)}
    choice: dict[str, Any] = {"index": rng.choice((0, 0, 0, 0, 0, 0, 1, None)), "delta": delta}
    if rng.random() < 0.05:
        choice["finish_reason"] = rng.choice(_FINISHES)
    made: dict[str, Any] = {"choices": [choice]}
    if rng.random() < 0.05:
        made["usage"] = {"prompt_tokens": rng.choice(ODD_COUNTS), "completion_tokens": 2}
    return made


def _random_call(rng: random.Random) -> dict[str, Any]:
    made: dict[str, Any] = {}
    if rng.random() < 0.85:
        made["index"] = rng.choice((0, 0, 0, 1, 1, 2, None, "0", 1.0, -1, 2**31))
    if rng.random() < 0.5:
        made["id"] = rng.choice(CALL_IDS)
    function: dict[str, Any] = {}
    if rng.random() < 0.5:
        function["name"] = rng.choice(CALL_NAMES)
    if rng.random() < 0.85:
        function["arguments"] = rng.choice(ARGUMENT_PIECES)
    if rng.random() < 0.95:
        made["function"] = function
    return made


# ends, and input without one


def _is_end(payload: bytes) -> bool:
    try:
        value = json.loads(payload)
        return any(choice.get("finish_reason") and not choice.get("index") for choice in value["choices"])
    except (ValueError, LookupError, TypeError, AttributeError):
        return payload == b"[DONE]"


def _one(*calls: dict[str, Any]) -> bytes:
    return sse([dump({"choices": [{"index": 0, "delta": _calls(*calls)}]})], done=False)


def _endless_arguments() -> Iterator[bytes]:
    yield _one(call('{"a": "'))
    while True:
        yield _one({"index": 0, "function": {"arguments": "x" * READ}})


def _endless_calls() -> Iterator[bytes]:
    for number in range(10**6):
        yield _one(call(index=number, id=f"call_{number}"))


def _endless_name() -> Iterator[bytes]:
    for number in range(10**6):
        yield _one(call(..., name=f"part{number}"))


def _endless_id() -> Iterator[bytes]:
    for length in range(0, READ, 16):
        yield _one(call(id="i" * length))


SUBJECT = Subject(
    name="openai-chat",
    shape="chat",
    suffix="sse",
    samples={"text": lambda: _text(some_words(1000)), "tool calls": lambda: _calls_body(6000, 12, 2)},
    growths={
        "arguments, 16-character deltas": _calls_body,
        "text, 16-character deltas": lambda size: _text([f"{number:15} " for number in range(size // 16)]),
    },
    long_text=lambda size: _text(["x" * size]),
    text_answer=lambda deltas: _text(some_words(deltas)),
    calls_answer=_calls_body,
    quirks=_quirks,
    costly=_costly,
    deep=_deep,
    frame=sse,
    random_answer=_random_answer,
    names=[
        *("choices", "delta", "content", "tool_calls", "function", "arguments", "name", "id", "index", "finish_reason"),
        *("usage", "error", "message", "reasoning_content", "reasoning", "reasoning_details", "refusal", "audio"),
        *("function_call", "images", "x_groq", "extra_content", "role", "obfuscation"),
    ],
    values=[
        *('"stop"', '"tool_calls"', '"length"', '[{"type":"text","text":"hi"}]'),
        *('[{"index":0,"function":{"name":"get_weather","arguments":"{}"}}]', '{"message":"overloaded","code":529}'),
    ],
    tokens=[b"data: [DONE]\n\n", b'data: {"error":"x"}\n\n'],
    is_end=_is_end,
    endless={
        "arguments": (_endless_arguments, 2 * BOUNDS.arguments),
        "calls": (_endless_calls, 200 * BOUNDS.calls),
        "a name": (_endless_name, 200 * BOUNDS.name),
        "an id that grows": (_endless_id, 200 * BOUNDS.call_id),
    },
    interleaved=_interleaved,
)
