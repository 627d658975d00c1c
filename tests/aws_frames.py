"""AWS event stream messages, made and taken apart by the plainest means."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Iterator
from struct import pack, unpack_from
from typing import Any
from zlib import crc32

import msgspec


def string_header(name: str, value: str) -> bytes:
    return pack(">B", len(name)) + name.encode() + b"\x07" + pack(">H", len(value.encode())) + value.encode()


def message(headers: bytes, payload: bytes) -> bytes:
    """A message of these headers, with both checksums."""
    prelude = pack(">II", 16 + len(headers) + len(payload), len(headers))
    whole = prelude + pack(">I", crc32(prelude)) + headers + payload
    return whole + pack(">I", crc32(whole))


def event(kind: str, payload: Any) -> bytes:
    """An event; bytes stand as they are, all else becomes JSON."""
    headers = {":event-type": kind, ":content-type": "application/json", ":message-type": "event"}
    data = payload if isinstance(payload, bytes) else msgspec.json.encode(payload)
    return message(b"".join(string_header(*header) for header in headers.items()), data)


def exception(kind: str, payload: Any) -> bytes:
    """An exception that is told within the stream."""
    headers = {":exception-type": kind, ":content-type": "application/json", ":message-type": "exception"}
    data = payload if isinstance(payload, bytes) else msgspec.json.encode(payload)
    return message(b"".join(string_header(*header) for header in headers.items()), data)


def converse(*events: dict[str, Any]) -> bytes:
    """Events of Converse, each under its name: `{"messageStop": {...}}`."""
    return b"".join(event(kind, payload) for one in events for kind, payload in one.items())


def invoked(*chunks: Any, padding: str = "abc") -> bytes:
    """What an invoked model says, in chunks; bytes stand as they are."""
    made = [chunk if isinstance(chunk, bytes) else msgspec.json.encode(chunk) for chunk in chunks]
    return b"".join(event("chunk", {"bytes": b64encode(data).decode(), "p": padding}) for data in made)


def messages(body: bytes) -> Iterator[tuple[int, dict[str, str], bytes]]:
    """Where each message ends, its headers (strings only) and its payload."""
    at = 0
    while at < len(body):
        total, size = unpack_from(">II", body, at)
        headers: dict[str, str] = {}
        place, end = at + 12, at + 12 + size
        while place < end:
            length = body[place]
            name = body[place + 1 : place + 1 + length].decode()
            (value,) = unpack_from(">H", body, place + 2 + length)
            headers[name] = body[place + 4 + length : place + 4 + length + value].decode()
            place += 4 + length + value
        payload = body[end : at + total - 4]
        at += total
        yield at, headers, payload


def said(body: bytes) -> Iterator[tuple[int, dict[str, Any]]]:
    """Where each event ends and what it says, under its name; what an invoked model says as it is."""
    for end, headers, payload in messages(body):
        value = json.loads(payload)
        if headers[":event-type"] == "chunk":
            yield end, json.loads(b64decode(value["bytes"]))
        else:
            yield end, {headers[":event-type"]: value}
