"""Streams gone wrong: changes of bytes, of lines, of JSON values, and answers put together from odd deltas."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from typing import Any

from .payloads import dump, sse

Mutation = Callable[[bytes, random.Random, Sequence[bytes]], bytes]

LARGEST = 20_000

_RAW_VALUES = [
    *("null", "true", "0", "-1", "1", "2", "1.0", "1.5", "-0", "1e999", "NaN", "Infinity", "2147483648", "1" * 400),
    *("9" * 5000, '""', '"stop"', '"tool_calls"', '"length"', '"{}"', '"{\\"city\\": \\"Paris\\"}"', '"\\ud800"'),
    *('"\\u0000"', '"é🦊"', "[]", "{}", "[null]", '["text"]', '{"a":1,"a":2}', '[{"type":"text","text":"hi"}]'),
    *('[{"index":0,"function":{"name":"get_weather","arguments":"{}"}}]', '{"message":"overloaded","code":529}'),
    *('"[DONE]"', '"data: x"', "[" * 100 + "]" * 100, "[" * 5000, '{"a":' * 3000 + "1" + "}" * 3000, "'x'", "01", ""),
]
_NAMES = ["choices", "delta", "content", "tool_calls", "function", "arguments", "name", "id", "index", "finish_reason"]
_NAMES += ["usage", "error", "message", "reasoning_content", "reasoning", "reasoning_details", "refusal", "audio"]
_NAMES += ["function_call", "images", "x_groq", "extra_content", "role", "obfuscation"]
_TOKENS = [
    *(
        b"data: ",
        b"data:",
        b"data",
        b"\n\n",
        b"\r\n",
        b"\r",
        b"\n",
        b"event: error\n",
        b"id: 1\n",
        b"retry: 5\n",
        b": c\n",
    ),
    *(b"data: [DONE]\n\n", b"[DONE]", b"error: {}\n", b'error: {"message": "no"}\n', b"\xef\xbb\xbf", b"\xff", b"\xc3"),
    *(
        b"\xed\xa0\x80",
        b"\xf0\x9f",
        b"\xc0\xaf",
        b"\x00",
        b"\xe2\x80\xa8",
        b"\xc2\x85",
        b'"',
        b"\\",
        b"{",
        b"}",
        b"[",
        b"]",
    ),
    *(b"data: {}\n\n", b"data: null\n\n", b"data: []\n\n", b"data: \n\n", b'data: {"error":"x"}\n\n', b" data: {}\n\n"),
]


def flip_bits(body: bytes, rng: random.Random, _: Sequence[bytes]) -> bytes:
    """Some bits changed."""
    made = bytearray(body)
    for _count in range(rng.randint(1, 8)):
        if made:
            made[rng.randrange(len(made))] ^= 1 << rng.randrange(8)
    return bytes(made)


def set_bytes(body: bytes, rng: random.Random, _: Sequence[bytes]) -> bytes:
    """Some bytes replaced."""
    made = bytearray(body)
    for _count in range(rng.randint(1, 4)):
        if made:
            made[rng.randrange(len(made))] = rng.randrange(256)
    return bytes(made)


def delete(body: bytes, rng: random.Random, _: Sequence[bytes]) -> bytes:
    """A stretch gone."""
    start, end = _span(body, rng)
    return body[:start] + body[end:]


def insert(body: bytes, rng: random.Random, _: Sequence[bytes]) -> bytes:
    """Something put in that means something to the format."""
    at = _place(body, rng)
    return body[:at] + rng.choice(_TOKENS) + body[at:]


def splice(body: bytes, rng: random.Random, seeds: Sequence[bytes]) -> bytes:
    """The start of one stream, the end of another."""
    other = rng.choice(seeds)
    return body[: _place(body, rng)] + other[_place(other, rng) :]


def repeat(body: bytes, rng: random.Random, _: Sequence[bytes]) -> bytes:
    """A stretch again, somewhere."""
    start, end = _span(body, rng)
    at = _place(body, rng)
    return body[:at] + body[start:end] * rng.randint(1, 3) + body[at:]


def cut(body: bytes, rng: random.Random, _: Sequence[bytes]) -> bytes:
    """Broken off."""
    return body[: rng.randint(0, len(body))]


def swap_lines(body: bytes, rng: random.Random, _: Sequence[bytes]) -> bytes:
    """Two lines in each other's place."""
    lines = body.splitlines(True)
    if len(lines) > 1:
        one, two = rng.randrange(len(lines)), rng.randrange(len(lines))
        lines[one], lines[two] = lines[two], lines[one]
    return b"".join(lines)


def line_ends(body: bytes, rng: random.Random, _: Sequence[bytes]) -> bytes:
    """Other line ends, everywhere or here and there."""
    ends = [b"\n", b"\r", b"\r\n", b"\n\r", b""]
    one = rng.choice(ends[:3])
    some = rng.random()
    return b"".join(line + (rng.choice(ends) if rng.random() < some else one) for line in body.splitlines())


def byte_order_mark(body: bytes, rng: random.Random, _: Sequence[bytes]) -> bytes:
    """A byte order mark in front, whole or in part."""
    return b"\xef\xbb\xbf"[: rng.randint(1, 3)] * rng.randint(1, 2) + body


def edit_json(body: bytes, rng: random.Random, _: Sequence[bytes]) -> bytes:
    """Values of some payloads replaced, removed, doubled or added."""
    lines = body.split(b"\n")
    for _count in range(rng.randint(1, 3)):
        number = rng.randrange(len(lines))
        if lines[number].startswith(b"data: {"):
            lines[number] = b"data: " + _edited(lines[number][6:], rng)
    return b"\n".join(lines)


MUTATIONS: list[Mutation] = [
    *(flip_bits, set_bytes, delete, insert, insert, splice, repeat, cut, swap_lines, line_ends, byte_order_mark),
    *(edit_json, edit_json, edit_json, edit_json, edit_json),
]


def mutate(body: bytes, rng: random.Random, seeds: Sequence[bytes]) -> bytes:
    """One to four changes, one on top of the other."""
    for _ in range(rng.choice((1, 1, 1, 2, 2, 3, 4))):
        body = rng.choice(MUTATIONS)(body, rng, seeds)[: 2 * LARGEST]
    return body


def random_answer(rng: random.Random) -> bytes:
    """An answer of odd but well-formed chunks: the space in which trackers and handlers go wrong."""
    made = [dump(_random_chunk(rng)) for _ in range(rng.randint(1, 14))]
    if rng.random() < 0.6:
        made.append(dump({"choices": [{"index": 0, "delta": {}, "finish_reason": rng.choice(_FINISHES)}]}))
    return sse(made, done=rng.random() < 0.7)


_FINISHES = ["stop", "tool_calls", "length", "content_filter", "eos", "STOP", "new_word", "function_call", "error"]
_IDS = ["call_1", "call_2", "call_3", "", None, "s0", "s1", "x" * 600]
_CALL_NAMES = ["get_weather", "get_", "weather", "write_file", "", None, "run_bash", "n" * 90]
_ARGUMENTS = [
    *('{"city": "Paris"}', '{"ci', 'ty": "', 'Paris"}', "{}", "", None, "null", "}", "[1]", '{"city": 1}', " ", "\n"),
    *(
        '{"path": "a", "content": "',
        'b\\n\\u00e9"}',
        '"',
        "\\",
        '{"a": NaN}',
        '{"a":1,"a":1}',
        "{}{}",
        '\\ud83d\\ude00"}',
    ),
]


def _random_chunk(rng: random.Random) -> dict[str, Any]:
    delta: dict[str, Any] = {}
    if rng.random() < 0.25:
        delta["content"] = rng.choice(["Hello", "", None, " world", "é🦊", [{"type": "text", "text": "hi"}], "\n"])
    if rng.random() < 0.15:
        delta[rng.choice(["reasoning", "reasoning_content", "refusal"])] = rng.choice(["so", "", None, "then"])
    if rng.random() < 0.75:
        delta["tool_calls"] = [_random_call(rng) for _ in range(rng.choice((1, 1, 1, 2)))]
    if rng.random() < 0.05:
        delta["function_call"] = {"name": rng.choice(_CALL_NAMES), "arguments": rng.choice(_ARGUMENTS)}
    choice: dict[str, Any] = {"index": rng.choice((0, 0, 0, 0, 0, 0, 1, None)), "delta": delta}
    if rng.random() < 0.05:
        choice["finish_reason"] = rng.choice(_FINISHES)
    made: dict[str, Any] = {"choices": [choice]}
    if rng.random() < 0.05:
        made["usage"] = {"prompt_tokens": rng.choice((1, None, "x", -1, 1e400)), "completion_tokens": 2}
    return made


def _random_call(rng: random.Random) -> dict[str, Any]:
    call: dict[str, Any] = {}
    if rng.random() < 0.85:
        call["index"] = rng.choice((0, 0, 0, 1, 1, 2, None, "0", 1.0, -1, 2**31))
    if rng.random() < 0.5:
        call["id"] = rng.choice(_IDS)
    function: dict[str, Any] = {}
    if rng.random() < 0.5:
        function["name"] = rng.choice(_CALL_NAMES)
    if rng.random() < 0.85:
        function["arguments"] = rng.choice(_ARGUMENTS)
    if rng.random() < 0.95:
        call["function"] = function
    return call


def _place(body: bytes, rng: random.Random) -> int:
    """Somewhere; as often as not at a line's start, where most changes mean something."""
    at = rng.randint(0, len(body))
    if rng.random() < 0.5:
        at = body.find(b"\n", at) + 1
    return at


def _span(body: bytes, rng: random.Random) -> tuple[int, int]:
    start = _place(body, rng)
    if rng.random() < 0.4:
        end = body.find(b"\n\n", start) + 2
        return start, max(end, start)
    return start, min(len(body), start + rng.choice((1, 1, 2, 3, 8, 40, 300)))


def _edited(payload: bytes, rng: random.Random) -> bytes:
    try:
        value = json.loads(payload)
    except (ValueError, RecursionError):
        return payload
    places = list(_places(value))
    if not places:
        return payload
    mark = "\x01mark\x01"
    holder, key = rng.choice(places)
    action = rng.random()
    raw = rng.choice(_RAW_VALUES) if rng.random() < 0.95 else _nested(rng)
    if action < 0.6:
        holder[key] = mark
    elif action < 0.75:
        del holder[key]
    elif isinstance(holder, list):
        holder.insert(rng.randint(0, len(holder)), mark if action < 0.9 else holder[key])
    elif action < 0.9:
        holder[rng.choice(_NAMES)] = mark
    else:
        holder[key], raw = mark, f"{dump(holder[key])},{dump(str(key))}:{raw}"
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=rng.random() < 0.3)
    return text.replace(json.dumps(mark), raw).encode(errors="surrogatepass").replace(b"\n", b"")


def _nested(rng: random.Random) -> str:
    """About as deep as Python recurses: what one step reads, the next may no longer be able to write."""
    depth = rng.randint(930, 1000)
    return "[" * depth + "]" * depth if rng.random() < 0.7 else '{"a":' * depth + "1" + "}" * depth


def _places(value: Any) -> list[tuple[Any, Any]]:
    found: list[tuple[Any, Any]] = []
    level = [value]
    while level:
        item = level.pop()
        keys: Sequence[Any] = list(item) if isinstance(item, dict) else range(len(item))
        for key in keys:
            found.append((item, key))
            if isinstance(item[key], (dict, list)):
                level.append(item[key])
    return found
