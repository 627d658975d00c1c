"""Sends answers that were built beforehand as fast as they are read: the other end of every measurement over HTTP.

    python -m bench.loopback.server

One port for each answer, which it gives to whatever is asked for there, so that every client can use the paths it
likes. Prints the ports as one line of JSON, and ends when its standard input does.
"""

from __future__ import annotations

import asyncio
import json
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial

from ..wires import SUBJECTS
from .answers import HELD_WIRE, LAST_CHUNK, bodies, chunked, head, held_halves, response
from .files import raise_file_limit


class Requests(asyncio.Protocol, ABC):
    """Reads requests, one after another, and answers each when its body is here."""

    def __init__(self) -> None:
        self._seen = bytearray()
        self.transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self._seen += data
        while (end := self._seen.find(b"\r\n\r\n")) >= 0:
            size = end + 4 + _body_size(bytes(self._seen[:end]))
            if len(self._seen) < size:
                return
            target = bytes(self._seen[: self._seen.find(b"\r\n")])
            del self._seen[:size]
            self.answer(target)

    @abstractmethod
    def answer(self, target: bytes) -> None:
        """Answers one request; `target` is its first line."""


class Sending(Requests):
    """Sends one whole answer at once."""

    def __init__(self, answer: bytes) -> None:
        super().__init__()
        self._answer = answer

    def answer(self, target: bytes) -> None:
        self.transport.write(self._answer)


class Holding(Requests):
    """Sends half of an answer to each, and the other half when a request for /go comes."""

    def __init__(self, halves: tuple[bytes, bytes], waiting: list[asyncio.Transport]) -> None:
        super().__init__()
        self._halves = halves
        self._waiting = waiting

    def answer(self, target: bytes) -> None:
        if b" /go " not in target:
            self._waiting.append(self.transport)
            self.transport.write(self._halves[0])
            return
        for transport in self._waiting:
            transport.write(self._halves[1])
        self._waiting.clear()
        self.transport.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")


def _body_size(request_head: bytes) -> int:
    for line in request_head.lower().split(b"\r\n"):
        if line.startswith(b"content-length:"):
            return int(line[15:])
        if line.startswith(b"transfer-encoding:"):
            raise ValueError("this server reads no chunked requests")
    return 0


async def serve() -> None:
    """Open the ports, say which, and wait for the end of standard input."""
    raise_file_limit()
    loop = asyncio.get_running_loop()
    ports: dict[str, int] = {}

    async def listen(name: str, make: Callable[[], Requests]) -> None:
        server = await loop.create_server(make, "127.0.0.1", 0, backlog=4096)
        ports[name] = server.sockets[0].getsockname()[1]

    for wire in SUBJECTS:
        for kind, whole in bodies(wire):
            await listen(f"{wire} {kind}", partial(Sending, response(wire, whole)))
    first, last = map(chunked, held_halves())
    halves = head(HELD_WIRE) + first, last + LAST_CHUNK
    waiting: list[asyncio.Transport] = []
    await listen("held", partial(Holding, halves, waiting))
    print(json.dumps(ports), flush=True)
    await loop.run_in_executor(None, sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(serve())
