"""The least that a client over HTTP can do: read the socket, take HTTP's chunks apart, split, parse, forget."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from urllib.parse import urlsplit

import orjson

READ = 64 * 1024
_BODY = b'{"stream": true}'


def floor(wire: str, url: str, kind: str) -> Callable[[], int]:
    """A blocking socket, and one parse for each payload; the connection is kept for the next answer."""
    host, port = urlsplit(url).hostname, urlsplit(url).port
    connection = socket.create_connection((host, port))
    request = b"POST / HTTP/1.1\r\nHost: %b\r\nContent-Length: %d\r\n\r\n%b" % (b"localhost", len(_BODY), _BODY)
    split = {"ollama": _lines, "bedrock": _frames}.get(wire, _events)

    def read() -> int:
        connection.sendall(request)
        return sum(1 for payload in split(_body(connection)) if orjson.loads(payload) is not ...)

    return read


def _body(connection: socket.socket) -> Iterator[bytes]:
    """What HTTP's chunks hold, read by read."""
    data = b""
    while (end := data.find(b"\r\n\r\n")) < 0:
        data += connection.recv(READ)
    data = data[end + 4 :]
    while True:
        parts: list[bytes] = []
        at = 0
        while (line := data.find(b"\r\n", at)) >= 0:
            size = int(data[at:line], 16)
            start = line + 2
            if not size and len(data) >= start + 2:
                yield b"".join(parts)
                return
            if not size or len(data) < start + size + 2:
                break
            parts.append(data[start : start + size])
            at = start + size + 2
        yield b"".join(parts)
        data = data[at:] + connection.recv(READ)


def _events(reads: Iterator[bytes]) -> Iterator[bytes]:
    rest = b""
    for data in reads:
        *whole, rest = (rest + data).split(b"\n")
        for line in whole:
            if line.startswith(b"data: ") and line[6:12] != b"[DONE]":
                yield line[6:]


def _lines(reads: Iterator[bytes]) -> Iterator[bytes]:
    rest = b""
    for data in reads:
        *whole, rest = (rest + data).split(b"\n")
        yield from whole


def _frames(reads: Iterator[bytes]) -> Iterator[bytes]:
    """The payloads of AWS's binary frames, checksums unread."""
    rest = b""
    for data in reads:
        rest += data
        at = 0
        while len(rest) - at >= 12 and len(rest) - at >= (size := int.from_bytes(rest[at : at + 4], "big")):
            yield rest[at + 12 + int.from_bytes(rest[at + 4 : at + 8], "big") : at + size - 4]
            at += size
        rest = rest[at:]
