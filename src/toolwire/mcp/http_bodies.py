"""The bytes of a server's answers over HTTP, bounded in size and time whatever the server does.

Between the SDK's client and the network: an answer that is one message ends at `MESSAGE_BYTES`, decompressed, and at a
moment that is fixed when the request goes out, so that a server that sends a byte a minute holds nobody. An event
stream may last; its events are bounded where they are read. Requests that are not for the server itself (a login) go
only where such a request may go.
"""

from __future__ import annotations

import ipaddress
import socket
import zlib
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING
from urllib.request import getproxies_environment, proxy_bypass

import anyio
import httpx2

from ..builtin.addresses import is_public, read_host
from ..errors import McpFailed
from ..refusals import shown_url
from .limits import MESSAGE_BYTES, MESSAGE_VALUES
from .lines import is_heavy

if TYPE_CHECKING:
    from ssl import SSLContext

CONNECT_SECONDS = 15.0
LOGIN_REQUEST_SECONDS = 30.0
"""For each request of a login, of which a person waits for none."""
GOODBYE_SECONDS = 3.0
"""To tell a server that its session ends: good manners, not worth a wait."""
LINES = 200_000
LINES_EACH_SECOND = 5_000
"""Lines of a stream of events that may come at once, and each second for long. An event has three."""
_PIECE = 256 * 1024
_CONNECTIONS = 100


def is_loopback(host: str) -> bool:
    """Whether a host of a URL is this machine."""
    name = host.rstrip(".").lower()
    if name == "localhost" or name.endswith(".localhost"):
        return True
    with suppress(ValueError):
        return ipaddress.ip_address(name).is_loopback
    return False


def is_event_stream(headers: httpx2.Headers) -> bool:
    """Whether an answer is a stream of events."""
    return media_type(headers) == "text/event-stream"


def media_type(headers: httpx2.Headers) -> str:
    """What an answer says it is, without parameters."""
    return headers.get("content-type", "").partition(";")[0].strip().lower()


class BoundedTransport(httpx2.AsyncBaseTransport):
    """HTTP out for one server. `seconds` is how long one answer to a message may take, and may be changed."""

    def __init__(self, server: str, url: httpx2.URL, seconds: float) -> None:
        self.seconds = seconds
        self._server = server
        self._url = url
        self._ways: dict[str, httpx2.AsyncHTTPTransport] = {}

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """As the network gives it, or a `McpFailed`, a `TimeoutError`, or httpx2's own."""
        self._check(request)
        until = anyio.current_time() + self._seconds(request)
        with anyio.fail_after(until - anyio.current_time()):
            answer = await self._way(request.url).handle_async_request(request)
        packed = answer.headers.pop("content-encoding", "identity").strip().lower()
        if packed not in ("", "identity", "gzip", "x-gzip", "deflate"):
            await answer.aclose()
            raise self._failed(f"answered in a form that was not asked for ({packed[:40]!r})", "protocol")
        answer.headers.pop("content-length", None)
        if "content-type" in answer.headers:
            # JSON and events are UTF-8. In another encoding they would be others than what is looked at here, and some
            # that Python knows take the square of their length.
            answer.headers["content-type"] = media_type(answer.headers)
        lasting = is_event_stream(answer.headers)
        body = _Body(self, answer, packed not in ("", "identity"), None if lasting else until)
        return httpx2.Response(answer.status_code, headers=answer.headers, stream=body, extensions=answer.extensions)

    async def aclose(self) -> None:
        """Lets go of every connection."""
        while self._ways:
            await self._ways.popitem()[1].aclose()

    def is_endpoint(self, url: httpx2.URL) -> bool:
        """Whether this is at the server itself, by scheme, host and port."""
        return (url.scheme, url.host, url.port) == (self._url.scheme, self._url.host, self._url.port)

    def too_long(self) -> McpFailed:
        """The error for an answer over its bound."""
        words = f"sent an answer of more than {MESSAGE_BYTES:,} bytes or {MESSAGE_VALUES:,} values"
        return self._failed(words, "limit")

    def flooded(self) -> McpFailed:
        """The error for a stream of nothing but lines."""
        return self._failed("was cut off: it floods us with empty lines", "limit")

    def damaged(self) -> McpFailed:
        """The error for a body that cannot be decompressed."""
        return self._failed("sent a compressed answer that is damaged", "protocol")

    def _seconds(self, request: httpx2.Request) -> float:
        if request.method == "GET" and "text/event-stream" in request.headers.get("accept", ""):
            return float("inf")
        if request.method == "DELETE":
            return GOODBYE_SECONDS
        return self.seconds if request.url == self._url else LOGIN_REQUEST_SECONDS

    def _check(self, request: httpx2.Request) -> None:
        """A server names the addresses of its login. It may not have us knock at doors that only we can reach."""
        url = request.url
        if self.is_endpoint(url):
            return
        shown = shown_url(str(url))
        if url.scheme != "https" and not (is_loopback(url.host) and is_loopback(self._url.host)):
            raise self._failed(f"wants a login at {shown}, which is not protected by TLS", "refused")
        if _is_of_this_site(url.host) and not _is_of_this_site(self._url.host):
            raise self._failed(f"wants a login at {shown}, which is on this machine or its local network", "refused")

    def _way(self, url: httpx2.URL) -> httpx2.AsyncHTTPTransport:
        """Straight, or through the proxy that the environment names for such an address; never for this machine."""
        proxy = ""
        if not is_loopback(url.host) and not proxy_bypass(f"{url.host}:{url.port or ''}".rstrip(":")):
            proxy = getproxies_environment().get(url.scheme, "")
        if proxy not in self._ways:
            if proxy and not proxy.startswith(("http://", "https://")):
                raise self._failed("cannot be reached: the proxy in the environment is not an HTTP one", "start")
            self._ways[proxy] = httpx2.AsyncHTTPTransport(
                verify=_certificates(),
                trust_env=False,
                proxy=httpx2.Proxy(proxy) if proxy else None,
                limits=httpx2.Limits(max_connections=_CONNECTIONS, max_keepalive_connections=5, keepalive_expiry=4.0),
                socket_options=_KEEP_ALIVE,
            )
        return self._ways[proxy]

    def _failed(self, words: str, why: str) -> McpFailed:
        return McpFailed(f"the MCP server {self._server!r} {words}", server=self._server, why=why)


class _Body(httpx2.AsyncByteStream):
    """The bytes of one answer, decompressed in pieces: however much a small body would become, little is held."""

    def __init__(self, transport: BoundedTransport, answer: httpx2.Response, packed: bool, until: float | None) -> None:
        self._transport = transport
        self._answer = answer
        self._packed = packed
        self._until = until

    async def __aiter__(self) -> AsyncIterator[bytes]:
        assert isinstance(self._answer.stream, httpx2.AsyncByteStream)
        parts = aiter(self._answer.stream)
        unpacking = _Unpacking() if self._packed else None
        events = _Events() if self._until is None else None
        received = 0
        while True:
            wait = None if self._until is None else max(0.0, self._until - anyio.current_time())
            with anyio.fail_after(wait):
                part = await anext(parts, None)
            if part is None:
                if events is not None and events.is_heavy(b"\n\n\n"):
                    raise self._transport.too_long()
                return
            try:
                for piece in (part,) if unpacking is None else unpacking.pieces(part):
                    received += len(piece)
                    if self._until is not None and received > MESSAGE_BYTES:
                        raise self._transport.too_long()
                    if events is not None and events.floods(piece):
                        raise self._transport.flooded()
                    if events is not None and events.is_heavy(piece):
                        raise self._transport.too_long()
                    yield piece
            except zlib.error:
                raise self._transport.damaged() from None

    async def aclose(self) -> None:
        await self._answer.aclose()


class _Events:
    """Looks at a stream of events as it passes, and says when one ends that is too much to be read."""

    def __init__(self) -> None:
        self._held = b""
        self._at_line = False
        self._event: list[bytes] = []
        self._size = 0
        self._lines = float(LINES)
        self._filled = anyio.current_time()

    def floods(self, piece: bytes) -> bool:
        """Whether it sends nothing but lines, empty ones or comments: these cost nothing to send, and time to read."""
        now = anyio.current_time()
        self._lines = min(float(LINES), self._lines + (now - self._filled) * LINES_EACH_SECOND)
        self._filled = now
        self._lines -= piece.count(b"\n") + piece.count(b"\r")
        return self._lines < 0

    def is_heavy(self, piece: bytes) -> bool:
        """Whether an event ends in this piece whose JSON would be a hundred times as large in memory."""
        data = self._held + piece
        # The two halves of a line's end may come in two pieces.
        self._held = b"\r" if data.endswith(b"\r") else b""
        data = data[: len(data) - len(self._held)].replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        if self._at_line and data.startswith(b"\n"):
            data = b"\n" + data
        if data:
            self._at_line = data.endswith(b"\n")
        first, *others = data.split(b"\n\n")
        self._add(first)
        for other in others:
            if self._size >= MESSAGE_VALUES and is_heavy(_data_of(b"".join(self._event))):
                return True
            self._event, self._size = [], 0
            self._add(other)
        return False

    def _add(self, data: bytes) -> None:
        """Part of an event. One over its bound is refused where it is read, so that no more of it is held here."""
        if self._size <= MESSAGE_BYTES:
            self._event.append(data)
            self._size += len(data)


def _data_of(event: bytes) -> bytes:
    """The message in an event. A quote in another line of it would make all of the message look like a string."""
    lines = (line.removeprefix(b"\xef\xbb\xbf") for line in event.split(b"\n"))
    return b"\n".join(line[5:] for line in lines if line.startswith(b"data:"))


class _Unpacking:
    """gzip or zlib, whichever it is, or raw deflate, which some servers mean by that word."""

    def __init__(self) -> None:
        self._stream = zlib.decompressobj(zlib.MAX_WBITS | 32)
        self._begun = False

    def pieces(self, data: bytes) -> Iterator[bytes]:
        """What the next bytes become, never much at once. Raises `zlib.error`."""
        while data and not self._stream.eof:
            try:
                piece = self._stream.decompress(data, _PIECE)
            except zlib.error:
                if self._begun:
                    raise
                self._stream = zlib.decompressobj(-zlib.MAX_WBITS)
                piece = self._stream.decompress(data, _PIECE)
            self._begun = True
            data = self._stream.unconsumed_tail
            yield piece


_KEEP_ALIVE = ((socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),)
"""A stream of events may be silent for hours: that its peer is gone is noticed by the system then."""


@cache
def _certificates() -> SSLContext:
    """The system's, as for every other request of Toolwire. Loading them takes a while."""
    import ssl

    return ssl.create_default_context()


def _is_of_this_site(host: str) -> bool:
    """Whether a host says that it is no public one. A name that only resolves to such an address is not noticed."""
    try:
        address = read_host(host)
    except ValueError:
        return True
    return address is not None and not is_public(address)
