"""A `ToolServer` over HTTP (MCP's streamable HTTP, at `/mcp`), behind a door.

The door lets in who knows the token, and nobody else: before a byte of a body is read, the request must name this
server as its host (else a page in a browser could reach it through a name of its own), come from no page of another
origin, and hold the token. Bodies, sessions, connections and the time to send are bounded.
"""

from __future__ import annotations

import asyncio
import hmac
import socket
from collections.abc import Awaitable, Callable, Iterator, MutableMapping
from contextlib import contextmanager
from typing import Any

import uvicorn
from mcp.server.transport_security import TransportSecuritySettings
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from ..strict_json import NotStrict, parse
from .limits import MESSAGE_BYTES
from .serving import GONE, ToolServer

PATH = "/mcp"
SESSIONS = 32
"""Clients of the older protocols at a time."""
SESSION_SECONDS = 1_800.0
"""How long such a client may be silent before its session ends."""
CONNECTIONS = 128
"""Connections at a time: some for each client."""
SEND_SECONDS = 30.0
"""How long a client may take to send a request."""
STOP_SECONDS = 2
"""How long answers may take to go out when the server ends."""

_Scope = MutableMapping[str, Any]
_Message = MutableMapping[str, Any]
_Receive = Callable[[], Awaitable[_Message]]
_Send = Callable[[_Message], Awaitable[None]]


async def serve_http(
    server: ToolServer,
    listening: socket.socket,
    *,
    token: str,
    hosts: frozenset[str] | None,
    on_ready: Callable[[], None] = lambda: None,
) -> None:
    """Serves whoever comes with the token until this is cancelled.

    `hosts` are the values of the Host header that are right, such as `127.0.0.1:8000`; None: any, for a server that is
    reached from other machines under names that it does not know.
    """
    inside = server.protocol.streamable_http_app(
        streamable_http_path=PATH,
        max_request_body_size=MESSAGE_BYTES,
        session_idle_timeout=SESSION_SECONDS,
        max_sessions=SESSIONS,
        # The door has looked already, with the same rules for every request.
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
    )
    door = Door(inside, token=token, hosts=hosts)
    config = uvicorn.Config(
        door,
        http=_Timed,
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        limit_concurrency=CONNECTIONS,
        timeout_graceful_shutdown=STOP_SECONDS,
    )
    listener = _Listener(config, on_ready)
    serving = asyncio.create_task(listener.serve([listening]))
    try:
        await asyncio.shield(serving)
    finally:
        door.close()
        await server.close()
        listener.should_exit = True
        await asyncio.wait({serving})
        listening.close()


class _Listener(uvicorn.Server):
    """Says when it listens. Signals are the business of whoever runs the program."""

    def __init__(self, config: uvicorn.Config, on_ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._on_ready = on_ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._on_ready()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class _Timed(H11Protocol):
    """A connection that does not say in time what it wants, first or next, is closed."""

    _closing: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._expect_request()

    def on_response_complete(self) -> None:
        # Before the next request is looked at, which may be here already.
        self._expect_request()
        super().on_response_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        if self._closing is not None:
            self._closing.cancel()

    def _expect_request(self) -> None:
        if self._closing is not None:
            self._closing.cancel()
        self._closing = self.loop.call_later(SEND_SECONDS, self._close_silent, self.cycle)

    def _close_silent(self, last: RequestResponseCycle | None) -> None:
        if self.cycle is last:
            self.transport.close()


class Door:
    """Lets requests in that come from the right place with the token, whole and in bounds; `inside` sees no other."""

    def __init__(
        self,
        inside: Callable[[_Scope, _Receive, _Send], Awaitable[None]],
        *,
        token: str,
        hosts: frozenset[str] | None,
    ) -> None:
        self._inside = inside
        self._token = token.encode()
        self._hosts = hosts
        self._closed = asyncio.Event()

    def close(self) -> None:
        """Ends what is open: to whoever is inside, it is as if the clients had left."""
        self._closed.set()

    async def __call__(self, scope: _Scope, receive: _Receive, send: _Send) -> None:
        """One request, or the start and end of the server."""
        if scope["type"] != "http":
            await self._inside(scope, receive, send)
            return
        refused = self._refused(scope["headers"])
        if refused is None:
            body = await _body(scope["headers"], receive)
            if isinstance(body, bytes):
                visit = _Visit(body, receive, send, self._closed)
                await self._inside({**scope, GONE: visit.gone}, visit.receive, visit.send)
                await visit.end()
                return
            refused = body
        status, words = refused
        headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"connection", b"close")]
        if status == 401:
            headers.append((b"www-authenticate", b"Bearer"))
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": words.encode() + b"\n"})

    def _refused(self, headers: list[tuple[bytes, bytes]]) -> tuple[int, str] | None:
        host, origin, given = (_all(headers, name) for name in (b"host", b"origin", b"authorization"))
        if len(host) != 1 or (self._hosts is not None and host[0].lower() not in self._hosts):
            return 421, "This server has another name."
        if origin and [f"http://{host[0]}".lower()] != [each.lower() for each in origin]:
            return 403, "Pages of other origins may not call this server."
        scheme, _, token = given[0].partition(" ") if len(given) == 1 else ("", "", "")
        if scheme.lower() != "bearer" or not hmac.compare_digest(token.strip().encode("latin-1"), self._token):
            return 401, "This server wants its token: Authorization: Bearer TOKEN."
        return None


def _all(headers: list[tuple[bytes, bytes]], name: bytes) -> list[str]:
    return [value.decode("latin-1") for key, value in headers if key == name]


async def _body(headers: list[tuple[bytes, bytes]], receive: _Receive) -> bytes | tuple[int, str]:
    """The whole body, which is nothing or strict JSON; or why it is refused."""
    too_long = 413, f"A message has at most {MESSAGE_BYTES:,} bytes."
    if any(int(length) > MESSAGE_BYTES for length in _all(headers, b"content-length") if length.isdecimal()):
        return too_long
    body = bytearray()
    try:
        async with asyncio.timeout(SEND_SECONDS):
            while True:
                message = await receive()
                if message["type"] != "http.request":
                    return 400, "The request broke off."
                body += message.get("body", b"")
                if len(body) > MESSAGE_BYTES:
                    return too_long
                if not message.get("more_body", False):
                    break
    except TimeoutError:
        return 408, f"A request is sent within {SEND_SECONDS:g} seconds."
    try:
        if body:
            parse(body.decode())
    except (NotStrict, UnicodeDecodeError):
        return 400, "The body is no strict JSON."
    return bytes(body)


class _Visit:
    """A request that was let in: its body, which was read already, and whether somebody still waits for the answer."""

    def __init__(self, body: bytes, receive: _Receive, send: _Send, closed: asyncio.Event) -> None:
        self._body: bytes | None = body
        self._receive = receive
        self._send = send
        self._closed = closed
        self._open = False
        self.gone = asyncio.Event()

    async def receive(self) -> _Message:
        """The body, and then the end: the client has left, or the door was closed."""
        if self._body is not None:
            body, self._body = self._body, None
            return {"type": "http.request", "body": body, "more_body": False}
        ends: list[asyncio.Future[Any]] = [
            asyncio.ensure_future(self._receive()),
            asyncio.ensure_future(self._closed.wait()),
        ]
        try:
            await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for end in ends:
                end.cancel()
        self.gone.set()
        return {"type": "http.disconnect"}

    async def send(self, message: _Message) -> None:
        """Passes on what is answered."""
        self._open = message["type"] == "http.response.start" or message.get("more_body", False)
        await self._send(message)

    async def end(self) -> None:
        """Ends an answer that was left open when the door was closed."""
        if self._open and self._closed.is_set():
            await self._send({"type": "http.response.body", "body": b""})
