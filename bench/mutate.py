"""Streams gone wrong: changes of bytes, of lines, of events, of JSON values."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from .payloads import dump
from .wires import Subject
from .wires.subject import LARGEST


class Stock(msgspec.Struct, frozen=True):
    """What changes are made from: other bodies, and what means something to the format."""

    seeds: Sequence[bytes]
    names: Sequence[str]
    values: Sequence[str]
    tokens: Sequence[bytes]


Mutation = Callable[[bytes, random.Random, Stock], bytes]

_VALUES = [
    *("null", "true", "0", "-1", "1", "2", "1.0", "1.5", "-0", "1e999", "NaN", "Infinity", "2147483648", "1" * 400),
    *("9" * 5000, '""', '"{}"', '"{\\"city\\": \\"Paris\\"}"', '"\\ud800"', '"\\u0000"', '"é🦊"', "[]", "{}", "[null]"),
    *('["text"]', '{"a":1,"a":2}', '"[DONE]"', '"data: x"', "[" * 100 + "]" * 100, "[" * 5000, "'x'", "01", ""),
    '{"a":' * 3000 + "1" + "}" * 3000,
]
_TOKENS = [
    *(b"data: ", b"data:", b"data", b"\n\n", b"\r\n", b"\r", b"\n", b"event: error\n", b"id: 1\n", b"retry: 5\n"),
    *(b": c\n", b"[DONE]", b"error: {}\n", b'error: {"message": "no"}\n', b"\xef\xbb\xbf", b"\xff", b"\xc3"),
    *(b"\xed\xa0\x80", b"\xf0\x9f", b"\xc0\xaf", b"\x00", b"\xe2\x80\xa8", b"\xc2\x85", b'"', b"\\", b"{", b"}"),
    *(b"[", b"]", b"data: {}\n\n", b"data: null\n\n", b"data: []\n\n", b"data: \n\n", b" data: {}\n\n"),
]


def stock(subject: Subject) -> Stock:
    """What this format's streams are changed with."""
    seeds = subject.seeds() if subject.opened is None else [subject.opened(body) for body in subject.seeds()]
    return Stock(seeds, subject.names, [*_VALUES, *subject.values], [*_TOKENS, *subject.tokens])


def flip_bits(body: bytes, rng: random.Random, _: Stock) -> bytes:
    """Some bits changed."""
    made = bytearray(body)
    for _count in range(rng.randint(1, 8)):
        if made:
            made[rng.randrange(len(made))] ^= 1 << rng.randrange(8)
    return bytes(made)


def set_bytes(body: bytes, rng: random.Random, _: Stock) -> bytes:
    """Some bytes replaced."""
    made = bytearray(body)
    for _count in range(rng.randint(1, 4)):
        if made:
            made[rng.randrange(len(made))] = rng.randrange(256)
    return bytes(made)


def delete(body: bytes, rng: random.Random, _: Stock) -> bytes:
    """A stretch gone."""
    start, end = _span(body, rng)
    return body[:start] + body[end:]


def insert(body: bytes, rng: random.Random, given: Stock) -> bytes:
    """Something put in that means something to the format."""
    at = _place(body, rng)
    return body[:at] + rng.choice(given.tokens) + body[at:]


def splice(body: bytes, rng: random.Random, given: Stock) -> bytes:
    """The start of one stream, the end of another."""
    other = rng.choice(given.seeds)
    return body[: _place(body, rng)] + other[_place(other, rng) :]


def repeat(body: bytes, rng: random.Random, _: Stock) -> bytes:
    """A stretch again, somewhere."""
    start, end = _span(body, rng)
    at = _place(body, rng)
    return body[:at] + body[start:end] * rng.randint(1, 3) + body[at:]


def cut(body: bytes, rng: random.Random, _: Stock) -> bytes:
    """Broken off."""
    return body[: rng.randint(0, len(body))]


def swap_lines(body: bytes, rng: random.Random, _: Stock) -> bytes:
    """Two lines in each other's place."""
    return b"".join(_swapped(body.splitlines(True), rng))


def move_events(body: bytes, rng: random.Random, _: Stock) -> bytes:
    """Whole events swapped, left out or doubled: each is in order, their order is not."""
    end = next((end for end in (b"\r\n\r\n", b"\n\n") if end in body), b"\n")
    events = body.split(end)
    for _count in range(rng.randint(1, 3)):
        at = rng.randrange(len(events))
        action = rng.random()
        if action < 0.4:
            events = _swapped(events, rng)
        elif action < 0.7:
            events = [*events[:at], *events[at + 1 :]] or [b""]
        else:
            events.insert(rng.randint(0, len(events)), events[at])
    return end.join(events)


def line_ends(body: bytes, rng: random.Random, _: Stock) -> bytes:
    """Other line ends, everywhere or here and there."""
    ends = [b"\n", b"\r", b"\r\n", b"\n\r", b""]
    one = rng.choice(ends[:3])
    some = rng.random()
    return b"".join(line + (rng.choice(ends) if rng.random() < some else one) for line in body.splitlines())


def byte_order_mark(body: bytes, rng: random.Random, _: Stock) -> bytes:
    """A byte order mark in front, whole or in part."""
    return b"\xef\xbb\xbf"[: rng.randint(1, 3)] * rng.randint(1, 2) + body


def edit_json(body: bytes, rng: random.Random, given: Stock) -> bytes:
    """Values of some payloads replaced, removed, doubled or added."""
    if body.lstrip().startswith(b"["):
        return _edited(body, rng, given)
    lines = body.split(b"\n")
    held = [number for number, line in enumerate(lines) if line.startswith((b"data: {", b"{"))]
    for _count in range(rng.randint(1, 3)):
        if held:
            number = rng.choice(held)
            start = 6 if lines[number].startswith(b"data") else 0
            end = b"\r" if lines[number].endswith(b"\r") else b""
            lines[number] = lines[number][:start] + _edited(lines[number][start:], rng, given) + end
    return b"\n".join(lines)


MUTATIONS: list[Mutation] = [
    *(flip_bits, set_bytes, delete, insert, insert, splice, repeat, cut, swap_lines, line_ends, byte_order_mark),
    *(move_events, move_events, edit_json, edit_json, edit_json, edit_json, edit_json, edit_json),
]


def mutate(body: bytes, rng: random.Random, given: Stock) -> bytes:
    """One to four changes, one on top of the other."""
    for _ in range(rng.choice((1, 1, 1, 2, 2, 3, 4))):
        body = rng.choice(MUTATIONS)(body, rng, given)[: 2 * LARGEST]
    return body


def _swapped(parts: list[bytes], rng: random.Random) -> list[bytes]:
    if len(parts) > 1:
        one, two = rng.randrange(len(parts)), rng.randrange(len(parts))
        parts[one], parts[two] = parts[two], parts[one]
    return parts


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


def _edited(payload: bytes, rng: random.Random, given: Stock) -> bytes:
    try:
        value = json.loads(payload)
    except (ValueError, RecursionError):
        return payload
    places = _places(value)
    if not places:
        return payload
    mark = "\x01mark\x01"
    holder, key = rng.choice(places)
    action = rng.random()
    raw = rng.choice(given.values) if rng.random() < 0.95 else _nested(rng)
    if action < 0.6:
        holder[key] = mark
    elif action < 0.75:
        del holder[key]
    elif isinstance(holder, list):
        holder.insert(rng.randint(0, len(holder)), mark if action < 0.9 else holder[key])
    elif action < 0.9:
        holder[rng.choice(given.names)] = mark
    else:
        holder[key], raw = mark, f"{dump(holder[key])},{dump(str(key))}:{raw}"
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=rng.random() < 0.3)
    return text.replace(json.dumps(mark), raw).encode(errors="surrogatepass").replace(b"\n", b"")


def _nested(rng: random.Random) -> str:
    """About as deep as Python recurses: what one step reads, the next may no longer be able to write."""
    depth = rng.choice((rng.randint(560, 600), rng.randint(930, 1000)))
    return "[" * depth + "]" * depth if rng.random() < 0.7 else '{"a":' * depth + "1" + "}" * depth


def _places(value: Any) -> list[tuple[Any, Any]]:
    found: list[tuple[Any, Any]] = []
    level = [value] if isinstance(value, (dict, list)) else []
    while level:
        item = level.pop()
        keys: Sequence[Any] = list(item) if isinstance(item, dict) else range(len(item))
        for key in keys:
            found.append((item, key))
            if isinstance(item[key], (dict, list)):
                level.append(item[key])
    return found
