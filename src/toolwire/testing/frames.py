"""One event of an answer as bytes: SSE, a line of JSON, or a message of an AWS event stream."""

from __future__ import annotations

from struct import pack
from typing import Any
from zlib import crc32

import msgspec

DONE = b"data: [DONE]\n\n"
BEDROCK_EVENT = "contentBlockDelta"
"""As what bytes that say nothing of themselves are sent over Bedrock's wire."""


def sse(value: Any) -> bytes:
    """An event of JSON without a type."""
    return b"data: " + msgspec.json.encode(value) + b"\n\n"


def typed_sse(value: dict[str, Any]) -> bytes:
    """An event that carries its type as Anthropic, Cohere and the Responses API send it."""
    return b"event: %b\ndata: %b\n\n" % (value["type"].encode(), msgspec.json.encode(value))


def aws_event(kind: str, payload: bytes, *, exception: bool = False) -> bytes:
    """A message of an event stream, with both checksums."""
    family = "exception" if exception else "event"
    named = {f":{family}-type": kind, ":content-type": "application/json", ":message-type": family}
    headers = b"".join(_header(name, value) for name, value in named.items())
    prelude = pack(">II", 16 + len(headers) + len(payload), len(headers))
    whole = prelude + pack(">I", crc32(prelude)) + headers + payload
    return whole + pack(">I", crc32(whole))


def converse(value: dict[str, Any]) -> bytes:
    """An event of Bedrock's Converse, under its name: `{"messageStop": {...}}`."""
    return b"".join(aws_event(kind, msgspec.json.encode(payload)) for kind, payload in value.items())


def payload(wire: str, value: Any) -> bytes:
    """Any JSON as one event of this wire; text stands as it is."""
    text = bytes(value, "utf-8") if isinstance(value, str) else msgspec.json.encode(value)
    if wire == "ollama":
        return text + b"\n"
    if wire == "bedrock":
        named = isinstance(value, dict) and len(value) == 1 and isinstance(next(iter(value.values())), dict)
        return converse(value) if named else aws_event(BEDROCK_EVENT, text)
    end = b"\r\n\r\n" if wire == "gemini" else b"\n\n"
    if (
        wire in ("openai-responses", "anthropic", "cohere")
        and isinstance(value, dict)
        and isinstance(value.get("type"), str)
    ):
        return b"event: " + str(value["type"]).encode() + b"\ndata: " + text + end
    return b"data: " + text + end


def _header(name: str, value: str) -> bytes:
    return pack(">B", len(name)) + name.encode() + b"\x07" + pack(">H", len(value.encode())) + value.encode()
