"""A `ToolServer` at work in a test: over pipes, spoken to line by line, and over HTTP."""

from __future__ import annotations

import asyncio
import json
import os
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import httpx2
from mcp.client.streamable_http import streamable_http_client

from toolwire.mcp.serving import ToolServer
from toolwire.mcp.serving_http import PATH, serve_http
from toolwire.mcp.serving_stdio import Pipes, serve_stdio

TOKEN = "only-the-tests-know-this"
HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}


class Lines:
    """The client's end of two pipes."""

    def __init__(self, reader: asyncio.StreamReader, descriptor: int) -> None:
        self._reader = reader
        self._descriptor = descriptor

    async def send(self, *messages: dict[str, Any] | bytes) -> None:
        for message in messages:
            line = message if isinstance(message, bytes) else json.dumps({"jsonrpc": "2.0", **message}).encode()
            await asyncio.to_thread(self._write, line + b"\n")

    def _write(self, data: bytes) -> None:
        while data:
            data = data[os.write(self._descriptor, data) :]

    async def next(self) -> dict[str, Any]:
        async with asyncio.timeout(10):
            answer: dict[str, Any] = json.loads(await self._reader.readline())
        return answer

    async def answers(self, count: int) -> dict[Any, dict[str, Any]]:
        """That many messages with an id, by it."""
        found: dict[Any, dict[str, Any]] = {}
        while len(found) < count:
            message = await self.next()
            if "id" in message:
                found[message["id"]] = message
        return found

    async def hello(self, capabilities: dict[str, Any] | None = None) -> None:
        await self.send(
            {"id": "hello", "method": "initialize", "params": {**HELLO, "capabilities": capabilities or {}}}
        )
        assert "result" in await self.next()
        await self.send({"method": "notifications/initialized"})

    def leave(self) -> None:
        with suppress(OSError):
            os.close(self._descriptor)
        self._descriptor = -1


@asynccontextmanager
async def over_pipes(server: ToolServer) -> AsyncIterator[tuple[Lines, asyncio.Task[None]]]:
    theirs_in, ours_out = os.pipe()
    ours_in, theirs_out = os.pipe()
    reader = asyncio.StreamReader(limit=1 << 24)
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(ours_in, "rb", 0)
    )
    serving = asyncio.create_task(serve_stdio(server, Pipes(theirs_in, theirs_out)))
    lines = Lines(reader, ours_out)
    try:
        yield lines, serving
    finally:
        lines.leave()
        await asyncio.wait({serving}, timeout=10)
        transport.close()
        for descriptor in (theirs_in, theirs_out):
            os.close(descriptor)
    if not serving.cancelled():
        serving.result()


@asynccontextmanager
async def over_http(server: ToolServer, hosts: frozenset[str] | None = None) -> AsyncIterator[str]:
    """Gives the address."""
    listening = socket.create_server(("127.0.0.1", 0))
    port = listening.getsockname()[1]
    ready = asyncio.Event()
    serving = asyncio.create_task(
        serve_http(
            server,
            listening,
            token=TOKEN,
            hosts=frozenset({f"127.0.0.1:{port}"}) if hosts is None else hosts,
            on_ready=ready.set,
        )
    )
    await asyncio.wait({serving, asyncio.ensure_future(ready.wait())}, return_when=asyncio.FIRST_COMPLETED)
    try:
        yield f"http://127.0.0.1:{port}{PATH}"
    finally:
        serving.cancel()
        await asyncio.wait({serving})


@asynccontextmanager
async def with_token(address: str, token: str = TOKEN) -> AsyncIterator[Any]:
    """The official client's transport, with the token."""
    async with (
        httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}, timeout=20) as http,
        streamable_http_client(address, http_client=http) as streams,
    ):
        yield streams
