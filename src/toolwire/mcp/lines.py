"""Bytes of a server, cut into lines, and lines into messages: in time and memory that their length bounds."""

from __future__ import annotations

import json
import sys
from io import BytesIO

import msgspec
from mcp_types import (
    PARSE_ERROR,
    ErrorData,
    JSONRPCError,
    JSONRPCMessage,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
)

from ..limits import Limits
from ..wire.lines import LineDecoder
from .limits import MESSAGE_BYTES, MESSAGE_VALUES


class Lines(LineDecoder[bytes]):
    """Lines without their ends and the blanks around them; `LimitExceeded` for one over `MESSAGE_BYTES`."""

    _line_ends = b"\n"

    def __init__(self) -> None:
        super().__init__(Limits(line=MESSAGE_BYTES, stream=sys.maxsize))

    def _split(self, data: bytes) -> list[bytes]:
        return BytesIO(data).readlines()

    def _lines(self, lines: list[bytes], at: int, frames: list[bytes]) -> int:
        for raw in lines:
            line = raw.strip()
            self._check(len(line), b"", at)
            frames.append(line)
            at += len(raw)
        return at


_ABSENT = msgspec.Raw()


class _Members(msgspec.Struct):
    """Which kind of message it is, seen without making anything of what it holds."""

    id: msgspec.Raw = _ABSENT
    method: msgspec.Raw = _ABSENT
    error: msgspec.Raw = _ABSENT


_MEMBERS = msgspec.json.Decoder(_Members)


def message_of(line: bytes) -> JSONRPCMessage | None:
    """The message that a line is; None for whatever else."""
    kind: type[JSONRPCRequest | JSONRPCNotification | JSONRPCResponse | JSONRPCError]
    try:
        members = _MEMBERS.decode(line)
        if _is_there(members.method):
            kind = JSONRPCRequest if _is_there(members.id) else JSONRPCNotification
        else:
            kind = JSONRPCError if _is_there(members.error) else JSONRPCResponse
        return kind.model_validate_json(line, by_name=False)
    except (ValueError, RecursionError):
        return _mended(line)


def _mended(line: bytes) -> JSONRPCMessage | None:
    """An answer that JSON does not quite allow: texts cut in the middle of a character, NaN, bytes that are no UTF-8.

    Honest servers send such. Their call shall not wait for an answer that has come: what can be read of it is taken,
    and an answer of which nothing can be is an error for its call.
    """
    try:
        value = json.loads(line.decode("utf-8", "replace"), parse_constant=lambda _: None)
        if not isinstance(value, dict) or value.get("method") is not None or type(value.get("id")) not in (int, str):
            return None
        text = json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")
    except (ValueError, RecursionError):
        return None
    kind = JSONRPCResponse if value.get("error") is None else JSONRPCError
    try:
        return kind.model_validate_json(text, by_name=False)
    except ValueError:
        fault = ErrorData(code=PARSE_ERROR, message="its answer cannot be read")
        return JSONRPCError(jsonrpc="2.0", id=value["id"], error=fault)


def _is_there(member: msgspec.Raw) -> bool:
    # Some servers write what they do not have as null.
    return bytes(member) not in (b"", b"null")


def is_heavy(data: bytes) -> bool:
    """Whether JSON has more than `MESSAGE_VALUES` values: `[],[],[]` is a hundred times as large in memory as in text.

    Counted without reading it, by what stands outside of its strings.
    """
    if len(data) < MESSAGE_VALUES:
        return False
    plain = data.replace(b"\\\\", b"").replace(b'\\"', b"")
    if plain.count(b'"') > 4 * MESSAGE_VALUES:
        return True
    outside = b"".join(plain.split(b'"')[::2])
    return sum(map(outside.count, (b",", b"[", b"{"))) > MESSAGE_VALUES
