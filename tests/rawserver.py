"""Raw servers for the transport tests, so that the bytes on the wire are exact, and a client that looks for keys."""

from __future__ import annotations

import asyncio
import socket
import ssl
import struct
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager, suppress
from typing import Any

from toolwire.errors import ToolwireError
from toolwire.transport import HttpRequest, Timeouts, Transport

CANARY = "sk-canary-7f3Kq9Zx2Lm8Vb4N"
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
QUICK = Timeouts(connect=20, idle=20, total=60)

Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def serving(handler: Handler, tls: ssl.SSLContext | None = None) -> AsyncIterator[str]:
    """A raw server, so that the bytes on the wire are exact; every handler ends with it."""
    tasks: list[asyncio.Task[Any]] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.append(task)
        with suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            await handler(reader, writer)
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=tls)
    try:
        yield f"http{'s' if tls else ''}://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks)


async def receive(reader: asyncio.StreamReader) -> tuple[str, bytes]:
    head = (await reader.readuntil(b"\r\n\r\n")).decode()
    length = [int(line[15:]) for line in head.lower().split("\r\n") if line.startswith("content-length:")]
    return head, await reader.readexactly(length[0] if length else 0)


def answering(*answers: bytes) -> Handler:
    """Sends the answer in these pieces, then closes."""

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await receive(reader)
        for piece in answers:
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(0.02)

    return handle


def whole(status: str, body: bytes, *headers: str) -> bytes:
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *headers, "", ""]
    return "\r\n".join(lines).encode() + body


def reset(writer: asyncio.StreamWriter) -> None:
    raw = writer.get_extra_info("socket")
    raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


async def until_gone(reader: asyncio.StreamReader) -> None:
    with suppress(ConnectionError):
        while await reader.read(65536):
            pass


def post(url: str, body: bytes = b"{}", **fields: Any) -> HttpRequest:
    headers = {"Authorization": f"Bearer {CANARY}", "Content-Type": "application/json"}
    return HttpRequest(url=url, headers=headers, body=body, **{"provider": "acme", "model": "m-1", **fields})


async def collect(transport: Transport, request: HttpRequest, pause: float = 0) -> tuple[bytes, ToolwireError | None]:
    """Everything that came, and how it ended; no error may show the key, whichever way it is looked at."""
    data = b""
    try:
        async with aclosing(transport.stream(request)) as stream:
            async for piece in stream:
                data += piece
                await asyncio.sleep(pause)
    except ToolwireError as error:
        assert_hidden(error)
        return data, error
    return data, None


async def fails(transport: Transport, request: HttpRequest) -> ToolwireError:
    _, error = await collect(transport, request)
    assert error is not None
    return error


def assert_hidden(error: BaseException | None) -> None:
    while error is not None:
        for shown in (str(error), repr(error), repr(vars(error)), repr(error.args)):
            assert CANARY not in shown
            assert CANARY[:12] not in shown
        if isinstance(error, ToolwireError):
            assert CANARY not in repr(error.info())
        error = error.__cause__ or error.__context__
