"""Toolwire: bytes in memory to events, and the whole way from the socket."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from toolwire import Stream
from toolwire.transport import AiohttpTransport, HttpRequest

from ..payloads import READ, pieces
from ..wires import SUBJECTS
from .answers import CALLS, body, frames


def sans_io(wire: str, url: str, kind: str) -> Callable[[], int]:
    """The same bytes without a socket, in reads of 16 KiB."""
    return _fed(wire, kind, pieces(_body(wire, kind), READ))


def one_by_one(wire: str, url: str, kind: str) -> Callable[[], int]:
    """The same as a model at work sends it: each event by itself, so that none is joined with the next."""
    return _fed(wire, kind, frames(wire, _body(wire, kind)))


def _body(wire: str, kind: str) -> bytes:
    whole = body(SUBJECTS[wire], kind)
    assert whole is not None
    return whole


def _fed(wire: str, kind: str, reads: Sequence[bytes]) -> Callable[[], int]:
    def read() -> int:
        stream = Stream(wire)
        count = 0
        for data in reads:
            for _ in stream.feed(data):
                count += 1
        count += len(stream.close())
        return checked(stream, kind, count)

    return read


def over_http(wire: str, url: str, kind: str) -> Callable[[], int]:
    """As an agent reads: transport, stream, events."""
    runner = asyncio.Runner()
    transport = AiohttpTransport()
    request = HttpRequest(url=url, headers={"Content-Type": "application/json"}, body=b'{"stream": true}')

    async def answer() -> None:
        stream = Stream(wire)
        async for data in transport.stream(request):
            for _ in stream.feed(data):
                pass
        stream.close()
        checked(stream, kind, 0)

    def read() -> int:
        runner.run(answer())
        return 0  # how many events depends on how the socket's reads fell

    return read


def checked(stream: Stream, kind: str, count: int) -> int:
    """The count, if the answer was read to its end and every call with it."""
    if not stream.complete or len(stream.invocations) != (CALLS if kind == "calls" else 0):
        raise AssertionError(f"the answer was not read: {stream.error}")
    return count
