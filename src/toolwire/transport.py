"""HTTP out: one request becomes the bytes of its answer, as they come, or one typed error.

Nothing is read ahead: a consumer that waits makes the server wait. Nothing is followed or remembered (no redirect, no
cookie, no .netrc), and nothing sent again but a request that met a dead kept connection. No error and no repr shows a
key. Anyone can bring a client of their own: see `Transport`, and `toolwire.refusals` for the errors of a status.
"""

from __future__ import annotations

import asyncio
import ipaddress
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from contextlib import suppress
from contextvars import ContextVar
from functools import cache
from io import BytesIO
from typing import TYPE_CHECKING, Any, Literal, Protocol, Self, TypeVar

import msgspec

from .errors import ConfigError, LimitExceeded, TimedOut, ToolwireError, TransportError
from .limits import DEFAULT_LIMITS, KIB, Limits
from .refusals import clean, mask, refusal, shown_url

if TYPE_CHECKING:
    from ssl import SSLContext

    from aiohttp import ClientRequest, ClientResponse, ClientSession, TraceConfig
    from aiohttp.connector import Connection
    from yarl import URL

_Wait = Literal["connect", "idle", "total"]
_T = TypeVar("_T")

_READ_BUFFER = 64 * KIB
_KEEP_ALIVE = 4.0
"""Seconds. Common model servers hang up after 5: a request must not meet a dying connection."""

_ERROR_BODY_SECONDS = 10.0
"""The status is known by then; the provider's words are worth a short wait, no more."""
_OTHER_LOOP_SECONDS = 0.5
"""How long to wait for another event loop to close its connections."""


class Timeouts(msgspec.Struct, frozen=True, kw_only=True):
    """How long to wait, in seconds. A consumer that takes its time is never idle time, only a silent peer
    is.
    """

    connect: float = 15.0
    """Until the connection stands, TLS and proxy included."""

    idle: float = 300.0
    """Until the answer begins, and between two reads of its body."""

    total: float = 3600.0
    """From the request to the end of the answer."""


DEFAULT_TIMEOUTS = Timeouts()


class HttpRequest(msgspec.Struct, frozen=True, kw_only=True):
    """One request. `provider` and `model` are for the words of errors only."""

    url: str
    headers: dict[str, str]
    body: bytes
    method: str = "POST"
    provider: str = ""
    model: str = ""

    def __repr__(self) -> str:
        return f"HttpRequest({', '.join(f'{name}={value!r}' for name, value in self.__rich_repr__())})"

    def __rich_repr__(self) -> Iterator[tuple[str, Any]]:  # type: ignore[override]
        yield "method", self.method
        yield "url", shown_url(self.url)
        yield "headers", list(self.headers)
        yield "body", f"{len(self.body):,} bytes"
        yield "provider", self.provider
        yield "model", self.model


class Transport(Protocol):
    """What Toolwire asks of an HTTP client."""

    def stream(self, request: HttpRequest) -> AsyncGenerator[bytes, None]:
        """The body of the answer as it comes.

        Raises a `ToolwireError` unless a 2xx answer reached its end. Closing the generator closes the
        connection at once.
        """
        ...

    async def aclose(self) -> None:
        """Let go of every connection."""
        ...


class AiohttpTransport:
    """The transport that Toolwire brings, on aiohttp.

    `verify` is True for the system's certificates, False for no check, or the path of a CA file. `proxy` goes
    before HTTP_PROXY, HTTPS_PROXY and NO_PROXY of the environment; none is used for loopback hosts. Each
    event loop gets one session when it first needs it: call `aclose`, or use the async context manager,
    before that loop ends.
    """

    def __init__(
        self,
        *,
        timeouts: Timeouts = DEFAULT_TIMEOUTS,
        limits: Limits = DEFAULT_LIMITS,
        proxy: str | None = None,
        verify: bool | str = True,
    ) -> None:
        self._timeouts = timeouts
        self._limits = limits
        self._proxy = None if proxy is None else _proxy_url(proxy)
        self._ssl = _certificates(verify) if isinstance(verify, str) else verify
        self._sessions: dict[asyncio.AbstractEventLoop, ClientSession] = {}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def stream(self, request: HttpRequest) -> AsyncGenerator[bytes, None]:
        """As `Transport.stream`. After `limits.stream` bytes, decompressed, comes a `LimitExceeded`."""
        exchange = _Exchange(request, self._timeouts)
        proxy = _proxy_for(exchange.url, self._proxy)
        session = await self._session()
        response = await _first_answer(session, exchange, proxy)
        try:
            if not 200 <= response.status < 300:
                words = await _error_body(response, self._limits.error_body)
                raise refusal(request, response.status, response.headers, words)
            if _media_type(response) in ("text/html", "application/xhtml+xml"):
                raise refusal(request, response.status, response.headers, b"")
            body = _Body(response, session)
            failure: ToolwireError | None = None
            received = 0
            while failure is None:
                try:
                    data = await exchange.wait("idle", body.read)
                    if not data:
                        return
                except ToolwireError as error:
                    failure, data = error, body.rest()
                room = self._limits.stream - received
                if len(data) > room:
                    failure, data = LimitExceeded("stream", self._limits.stream), data[:room]
                received += len(data)
                if data:
                    yield data
            failure.facts["received"] = received
            raise failure
        finally:
            # A mere close() waits for a peer that does not read, and for TLS to say goodbye.
            if response.connection is not None and response.connection.transport is not None:
                response.connection.transport.abort()
            response.close()

    async def aclose(self) -> None:
        """Close the connections of every loop; a stream that is still open ends in a `TransportError`."""
        here = asyncio.get_running_loop()
        while self._sessions:
            loop, session = self._sessions.popitem()
            if loop is here or not loop.is_running():
                await session.close()
            else:
                closing = asyncio.wrap_future(asyncio.run_coroutine_threadsafe(session.close(), loop))
                # A loop that is blocked, as a notebook's is during `run_sync`, closes it when it runs again.
                await asyncio.wait({closing}, timeout=_OTHER_LOOP_SECONDS)

    async def _session(self) -> ClientSession:
        import aiohttp

        for loop in [loop for loop in self._sessions if loop.is_closed()]:
            await self._sessions.pop(loop).close()
        loop = asyncio.get_running_loop()
        if loop not in self._sessions:
            self._sessions[loop] = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(
                    ssl=self._ssl,
                    limit=0,
                    keepalive_timeout=_KEEP_ALIVE,
                    resolver=aiohttp.ThreadedResolver(),
                ),
                cookie_jar=aiohttp.DummyCookieJar(),
                headers={"Accept-Encoding": "gzip, deflate", "User-Agent": "toolwire"},
                read_bufsize=_READ_BUFFER,
                timeout=aiohttp.ClientTimeout(),
                request_class=_request_class(),
                trace_configs=[_reuse_trace()],
            )
        return self._sessions[loop]


class _Exchange:
    """One request and its answer: the clock that runs over both, and the words for what breaks."""

    __slots__ = ("deadline", "kept", "origin", "request", "timeouts", "transport", "url", "waiting", "who", "window")

    def __init__(self, request: HttpRequest, timeouts: Timeouts) -> None:
        self.request = request
        self.url = _checked_url(request)
        self.origin = str(self.url.origin())
        self.who = request.provider or self.origin
        self.timeouts = timeouts
        self.deadline = asyncio.get_running_loop().time() + timeouts.total
        self.waiting: _Wait = "connect"
        self.window: asyncio.Timeout | None = None
        self.transport: asyncio.Transport | None = None
        self.kept = False
        """Whether the request went out on a connection that an earlier one had opened."""

    async def wait(self, what: _Wait, work: Callable[[], Awaitable[_T]]) -> _T:
        """Do `work` in the time that `what` allows; whatever fails leaves as a `ToolwireError`.

        It is raised outside of the handlers on purpose: aiohttp's own exceptions hold the request's headers,
        and must not hang on ours as their context.
        """
        import aiohttp

        failure: ToolwireError
        try:
            async with asyncio.timeout_at(self._until(what)) as self.window:
                return await work()
        except TimeoutError:
            failure = self._late()
        except (aiohttp.ClientError, OSError, ValueError, RuntimeError) as error:
            failure = self._broken(error)
        raise failure

    def connected(self, transport: asyncio.Transport | None) -> None:
        """The connection stands: from now on it is the answer that is waited for."""
        self.transport = transport
        if self.window is not None:
            self.window.reschedule(self._until("idle"))

    def _until(self, what: _Wait) -> float:
        now = asyncio.get_running_loop().time()
        end: float = now + getattr(self.timeouts, what)
        self.waiting = what if end < self.deadline else "total"
        if now >= self.deadline:
            raise TimeoutError
        return min(end, self.deadline)

    def _late(self) -> TimedOut:
        seconds: float = getattr(self.timeouts, self.waiting)
        sentences: dict[_Wait, str] = {
            "connect": f"no connection to {self.origin} within {seconds:g} s",
            "idle": f"{self.who} sent nothing for {seconds:g} s",
            "total": f"the answer of {self.who} took longer than {seconds:g} s",
        }
        return TimedOut(
            sentences[self.waiting],
            hint=f"Try again; if the server is only slow, raise Timeouts.{self.waiting}.",
            which=self.waiting,
            seconds=seconds,
            received=0,
            **self._facts(),
        )

    def _broken(self, error: Exception) -> ToolwireError:
        import ssl

        import aiohttp

        origin, reason = self.origin, mask(_reason(error), self.request)
        lasting = True
        if isinstance(error, aiohttp.ClientHttpProxyError):
            lasting = error.status < 500
            message = f"the proxy refused a connection to {origin} ({error.status})"
            hint = "Check the proxy's URL, its user and its password."
        elif isinstance(error, aiohttp.ClientProxyConnectionError):
            lasting = False
            message = f"cannot reach the proxy: {reason}"
            hint = "Check the proxy's URL (HTTP_PROXY and HTTPS_PROXY in the environment)."
        elif isinstance(error, ssl.CertificateError):
            message = f"cannot trust {origin}: {reason}"
            hint = "If this server has a certificate of its own, pass verify=<path of its CA file>."
        elif isinstance(error, ssl.SSLError):
            lasting = not isinstance(error, (ssl.SSLEOFError, ssl.SSLZeroReturnError))
            message = f"no secure connection to {origin}: {reason}"
            hint = "Check the base URL (a server without TLS is reached by http://) and verify, the CA file."
        elif isinstance(error, aiohttp.ClientConnectorError):
            lasting = False
            message = f"cannot reach {origin}: {reason}"
            hint = "Is the server running? Check the base URL and the network."
        elif isinstance(error, aiohttp.ServerDisconnectedError):
            lasting = False
            message = f"{origin} closed the connection without an answer"
            hint = "Try again; the server's log may say why."
        elif isinstance(error, aiohttp.ClientResponseError):
            message = f"{origin} does not speak HTTP: {reason}"
            hint = "Check the base URL: the port, and http or https."
        elif isinstance(error, aiohttp.InvalidURL) or not isinstance(
            error, aiohttp.ClientError | OSError | RuntimeError
        ):
            message, hint = f"this request cannot be sent: {reason}", "Check its URL and its headers."
            return ConfigError(message, hint=hint, **self._facts())
        else:
            lasting = False
            message, hint = f"the answer of {self.who} broke off: {reason}", "Try again."
        return TransportError(message, hint=hint, received=0, lasting=lasting or None, **self._facts())

    def _facts(self) -> dict[str, Any]:
        return {"url": shown_url(self.request.url), "provider": self.request.provider or None}


_EXCHANGE: ContextVar[_Exchange] = ContextVar("exchange")


async def _first_answer(session: ClientSession, exchange: _Exchange, proxy: URL | None) -> ClientResponse:
    """The answer; the request is sent again only when it met a kept connection that the server had hung up.

    Each kept connection can fail so once, and leaves; a new one is not tried twice.
    """
    while True:
        exchange.kept = False
        try:
            return await exchange.wait("connect", lambda: _send(session, exchange, proxy))
        except TimedOut:
            raise
        except TransportError:
            if not exchange.kept:
                raise


async def _send(session: ClientSession, exchange: _Exchange, proxy: URL | None) -> ClientResponse:
    token = _EXCHANGE.set(exchange)
    try:
        return await session.request(
            exchange.request.method,
            exchange.url,
            headers=exchange.request.headers,
            data=BytesIO(exchange.request.body) if exchange.request.body else None,
            allow_redirects=False,
            proxy=proxy,
            trace_request_ctx=exchange,
        )
    except BaseException:
        # aiohttp closes politely: a peer that stopped reading the request would keep the connection open.
        if exchange.transport is not None:
            exchange.transport.abort()
        raise
    finally:
        _EXCHANGE.reset(token)


@cache
def _reuse_trace() -> TraceConfig:
    """Tells an exchange that its connection was kept from an earlier one. One for all sessions: it is large."""
    import aiohttp

    async def reused(session: ClientSession, context: Any, params: Any) -> None:
        context.trace_request_ctx.kept = True

    trace = aiohttp.TraceConfig()
    trace.on_connection_reuseconn.append(reused)
    return trace


@cache
def _request_class() -> type[ClientRequest]:
    """Requests that tell their exchange when the connection stands. One for all sessions: it is larger still."""
    import aiohttp

    class Request(aiohttp.ClientRequest):
        async def send(self, conn: Connection) -> ClientResponse:
            _EXCHANGE.get().connected(conn.transport)
            return await super().send(conn)

    return Request


def _media_type(response: ClientResponse) -> str:
    """Without parameters. aiohttp's own reading of the header stays in memory as long as the answer lasts."""
    return response.headers.get("Content-Type", "").partition(";")[0].strip().lower()


async def _error_body(response: ClientResponse, limit: int) -> bytes:
    """What a short time brings of the body. The status is the news: a body that breaks must not hide it."""
    import aiohttp

    body = bytearray()
    with suppress(aiohttp.ClientError, OSError, RuntimeError):
        async with asyncio.timeout(_ERROR_BODY_SECONDS):
            while len(body) < limit and (data := await response.content.readany()):
                body += data
    return bytes(body[:limit])


class _Body:
    """The body of an answer, with three things put right that aiohttp leaves to timing or to luck."""

    __slots__ = ("_closed", "_content", "_is_framed", "_session")

    def __init__(self, response: ClientResponse, session: ClientSession) -> None:
        self._content = response.content
        self._session = session
        headers = response.headers
        self._is_framed = "Content-Length" in headers or "Transfer-Encoding" in headers
        protocol = response.connection.protocol if response.connection is not None else None
        self._closed = protocol.closed if protocol is not None else None
        if self._closed is not None:
            self._closed.add_done_callback(self._wake)

    async def read(self) -> bytes:
        """The next bytes, or none at the end. A reset is not the end of a body that only the hang-up delimits."""
        data = await self._content.readany()
        if not data and not self._is_framed and self._closed is not None and self._closed.done():
            if (error := self._closed.exception()) is not None:
                raise error
            if self._session.closed:
                raise ConnectionError("closed on this side")
        return data

    def rest(self) -> bytes:
        """Bytes that came before the connection broke; otherwise lost if the consumer was slow."""
        if self._content.exception() is None:
            return b""
        self._content.set_exception(None)  # type: ignore[arg-type]
        return self._content.read_nowait()

    def _wake(self, closed: asyncio.Future[None]) -> None:
        """End a read that would sleep on, when a damaged chunk or `aclose` closed the connection under it."""
        error = closed.exception()
        if not self._content.is_eof() and self._content.exception() is None:
            self._content.set_exception(error or ConnectionError("connection closed"))


def _certificates(path: str) -> SSLContext:
    import ssl

    try:
        return ssl.create_default_context(cafile=path)
    except OSError as error:
        raise ConfigError(
            f"cannot use the CA file {path}: {error.strerror or error}",
            hint="verify takes the path of a file with certificates in PEM form.",
        ) from None


def _checked_url(request: HttpRequest) -> URL:
    """The URL exactly as written (a signed one must not be quoted anew), if it and the headers can be
    sent.
    """
    from yarl import URL

    for name, value in request.headers.items():
        if not value.isprintable() or not name.isascii() or not name.replace("-", "").replace("_", "").isalnum():
            raise ConfigError(
                f"the header {name!r} holds a line break or another character that cannot be sent",
                hint="A key that was read from a file may end with a line break: strip it.",
            )
    with suppress(ValueError):
        url = URL(request.url, encoded=request.url.isascii() and " " not in request.url)
        if request.url.isprintable() and url.scheme in ("http", "https") and url.host and url.port:
            return url
    raise ConfigError(
        f"{shown_url(request.url)!r} is not the URL of a server",
        hint="Write it with its scheme, such as http://127.0.0.1:1234/v1/chat/completions.",
    )


def _proxy_url(proxy: str) -> URL:
    from yarl import URL

    with suppress(ValueError):
        url = URL(proxy if "://" in proxy else f"http://{proxy}")
        if url.scheme in ("http", "https") and url.host:
            return url
    raise ConfigError(
        f"{shown_url(proxy)!r} is not the URL of an HTTP proxy",
        hint="Write it as http://host:port; SOCKS proxies are not supported.",
    )


def _proxy_for(url: URL, proxy: URL | None) -> URL | None:
    from urllib.request import getproxies_environment, proxy_bypass

    host = (url.host or "").rstrip(".").lower()
    if host == "localhost" or host.endswith(".localhost"):
        return None
    with suppress(ValueError):
        address = ipaddress.ip_address(host)
        address = getattr(address, "ipv4_mapped", None) or address
        if address.is_loopback or address.is_unspecified:
            return None
    if proxy is not None:
        return proxy
    named = getproxies_environment().get(url.scheme)
    return None if not named or proxy_bypass(f"{host}:{url.port}") else _proxy_url(named)


def _reason(error: Exception) -> str:
    """A few words for what broke; never `str()` of an error that carries the request."""
    import aiohttp

    cause = error.os_error if isinstance(error, aiohttp.ClientConnectorError) else error
    if isinstance(error, aiohttp.ClientConnectorDNSError):
        return "no such host"
    if isinstance(cause, ConnectionRefusedError):
        return "connection refused"
    if isinstance(cause, ConnectionResetError) or isinstance(error.__cause__, ConnectionResetError):
        return "connection reset"
    if isinstance(error, aiohttp.ClientPayloadError):
        return "the body is cut or damaged"
    if isinstance(error, aiohttp.ClientResponseError):
        return clean(error.message)[:300]
    words: str = getattr(cause, "verify_message", "") or getattr(cause, "strerror", "") or str(cause)
    return clean(words)[:300] or type(cause).__name__
