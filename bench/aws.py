"""AWS event streams: made, taken apart, and opened into lines that can be changed and sealed again."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Iterable, Iterator
from struct import pack, unpack_from
from typing import Any
from zlib import crc32

from .payloads import dump

EXCEPTION = "!"
"""Begins the name of what is no event but an exception."""


def message(headers: dict[str, str], payload: bytes) -> bytes:
    """One message, with both checksums."""
    packed = b"".join(
        pack(">B", len(name)) + name.encode() + b"\x07" + pack(">H", len(value)) + value
        for name, value in ((name, value.encode()[:60_000]) for name, value in headers.items())
    )
    prelude = pack(">II", 16 + len(packed) + len(payload), len(packed))
    whole = prelude + pack(">I", crc32(prelude)) + packed + payload
    return whole + pack(">I", crc32(whole))


def event(kind: str, payload: bytes) -> bytes:
    """An event, or an exception, as Bedrock sends them."""
    if kind.startswith(EXCEPTION):
        named = {":exception-type": kind.removeprefix(EXCEPTION), ":message-type": "exception"}
    else:
        named = {":event-type": kind, ":content-type": "application/json", ":message-type": "event"}
    return message(named, payload)


def converse(events: Iterable[dict[str, Any]]) -> bytes:
    """Events, each under its name."""
    return b"".join(event(kind, dump(payload).encode()) for one in events for kind, payload in one.items())


def chunk(data: bytes, padding: str = "abcdefgh") -> bytes:
    """What an invoked model says."""
    return event("chunk", dump({"bytes": b64encode(data).decode(), "p": padding}).encode())


def invoked(chunks: Iterable[Any]) -> bytes:
    """What an invoked model says, piece by piece."""
    return b"".join(chunk(dump(one).encode()) for one in chunks)


def taken_apart(body: bytes) -> Iterator[tuple[int, str, bytes]]:
    """Where each message ends, its name and its payload, as far as the body goes."""
    at = 0
    while len(body) - at >= 16:
        total, size = unpack_from(">II", body, at)
        if not 16 + size <= total <= len(body) - at:
            return
        kind = ""
        place, end = at + 12, at + 12 + size
        while place < end - 3:
            length = body[place]
            name = body[place + 1 : place + 1 + length]
            value_at = place + 4 + length
            value = body[value_at : value_at + int.from_bytes(body[value_at - 2 : value_at])]
            if name in (b":event-type", b":exception-type"):
                kind = (EXCEPTION if name == b":exception-type" else "") + value.decode(errors="replace")
            place = value_at + len(value)
        at += total
        yield at, kind, body[end : at - 4]


def said(body: bytes) -> Iterator[tuple[int, bytes]]:
    """Where each message ends and what it says, under its name; what an invoked model says as it is."""
    for end, kind, payload in taken_apart(body):
        inside = _inside(payload) if kind == "chunk" else None
        yield end, b'{"%b":%b}' % (kind.encode(), payload) if inside is None else inside


def _inside(payload: bytes) -> bytes | None:
    try:
        return b64decode(json.loads(payload)["bytes"])
    except (ValueError, LookupError, TypeError, RecursionError):
        return None


def opened(body: bytes) -> bytes:
    """The messages as lines, each a JSON object with one member."""
    lines = []
    for _, kind, payload in taken_apart(body):
        inside = _inside(payload) if kind == "chunk" else None
        lines.append(b'{"%b":%b}\n' % (kind.encode(), (payload if inside is None else inside).replace(b"\n", b" ")))
    return b"".join(lines) or body


def sealed(lines: bytes) -> bytes:
    """Lines as messages, whatever they hold."""
    made = []
    for line in lines.split(b"\n"):
        name, colon, rest = line.partition(b'":')
        if not line.strip():
            continue
        if not colon or not name.startswith(b'{"') or len(name) > 200:
            made.append(event("contentBlockDelta", line))
        elif name == b'{"chunk':
            made.append(chunk(rest[:-1]))
        else:
            made.append(event(name[2:].decode(errors="replace"), rest[:-1]))
    return b"".join(made)
