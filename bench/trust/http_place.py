"""A place on this machine that speaks HTTP, byte for byte as it is told, and remembers every request whole."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any, NamedTuple


class Asked(NamedTuple):
    """One request as it came."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes
    raw: bytes

    @property
    def message(self) -> dict[str, Any]:
        """The JSON-RPC message in it, or nothing."""
        with suppress(ValueError):
            found = json.loads(self.body)
            return found if isinstance(found, dict) else {}
        return {}


Answering = Callable[[Asked, asyncio.StreamWriter], Awaitable[bytes | None]]
"""Gives the bytes of an answer; or writes them itself, and gives None."""


class Place:
    """Its address, and what was asked there."""

    def __init__(self, answer: Answering) -> None:
        self.answer = answer
        self.asked: list[Asked] = []
        self.port = 0

    @property
    def url(self) -> str:
        """Where it is."""
        return f"http://127.0.0.1:{self.port}"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answers one connection until it ends."""
        with suppress(OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                first, *lines = head.decode("latin-1").split("\r\n")
                headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines if line)}
                body = await reader.readexactly(int(headers.get("content-length", "0")))
                method, path, _ = first.split(" ")
                asked = Asked(method, path, headers, body, head + body)
                self.asked.append(asked)
                answer = await self.answer(asked, writer)
                if answer is None:
                    break
                writer.write(answer)
                await writer.drain()
        writer.close()


@asynccontextmanager
async def place(answer: Answering) -> AsyncIterator[Place]:
    """A place with these answers, on a port that was free."""
    here = Place(answer)
    running: set[asyncio.Task[None]] = set()

    def begin(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.get_running_loop().create_task(here.serve(reader, writer))
        running.add(task)
        task.add_done_callback(running.discard)

    server = await asyncio.start_server(begin, "127.0.0.1", 0, limit=1 << 20)
    here.port = server.sockets[0].getsockname()[1]
    try:
        yield here
    finally:
        server.close()
        for task in list(running):
            task.cancel()
        if running:
            await asyncio.wait(running)


def reply(status: int = 200, body: bytes | str = b"", kind: str = "application/json", **headers: str) -> bytes:
    """A whole answer."""
    data = body.encode() if isinstance(body, str) else body
    lines = [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    lines += [f"Content-Type: {kind}"] if kind else []
    head = "\r\n".join([f"HTTP/1.1 {status} X", f"Content-Length: {len(data)}", *lines])
    return head.encode("latin-1") + b"\r\n\r\n" + data


def result(asked: Asked, value: dict[str, Any], **headers: str) -> bytes:
    """The answer to a message."""
    body = json.dumps({"jsonrpc": "2.0", "id": asked.message["id"], "result": value})
    return reply(200, body, "application/json", **headers)


def server(asked: Asked, **headers: str) -> bytes:
    """What a plain server of the handshake's time answers: it has one tool, which says what it is given."""
    message = asked.message
    method = message.get("method")
    if asked.method != "POST":
        return reply(405, kind="")
    if method == "initialize":
        info = {
            "protocolVersion": "2025-06-18",
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "p", "version": "1"},
        }
        return result(asked, info, **headers)
    if method == "tools/list":
        return result(asked, {"tools": [{"name": "say", "inputSchema": {"type": "object"}}]})
    if method == "tools/call":
        text = json.dumps(message["params"].get("arguments"))
        return result(asked, {"content": [{"type": "text", "text": text}]})
    if "id" not in message or method is None:
        return reply(202, kind="")
    error = {"jsonrpc": "2.0", "id": message["id"], "error": {"code": -32601, "message": "Method not found"}}
    return reply(body=json.dumps(error))
