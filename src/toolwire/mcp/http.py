"""Servers at an address: streamable HTTP, through the SDK, with a client of our own.

What belongs to one server goes to that server alone: its headers and its token leave in requests to its own scheme,
host and port, no redirect leads them elsewhere, nothing is taken from `.netrc`, no cookie is kept, and none of them is
in an error or a log. HTTP_PROXY, HTTPS_PROXY and NO_PROXY are honoured as for every other request of Toolwire, never
for this machine; a proxy sees the inside of no request that holds a secret, since those need TLS.

What fails while the connection is made ends it, as a `McpFailed`. Later a fault ends the call it belongs to, as a
JSON-RPC error with the same words (code -32000 where what the server did is not known); a login or a session that the
server no longer takes ends the connection.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import TYPE_CHECKING, Any, Literal

import anyio
import httpx2
import msgspec
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CONNECTION_CLOSED, INTERNAL_ERROR, REQUEST_TIMEOUT

from ..errors import McpFailed
from ..refusals import shown_url
from .config import ServerConfig
from .http_bodies import CONNECT_SECONDS, BoundedTransport, is_event_stream, is_loopback, media_type
from .http_words import Words
from .limits import MESSAGE_BYTES
from .lines import is_heavy

if TYPE_CHECKING:
    from mcp.client._transport import TransportStreams

    from .login import Login

_LATE = 5.0
"""Seconds that an answer may come after its call gave up: whoever waits for it tells the server first."""
_WRITE_SECONDS = 60.0
_REDIRECTS = 20
"""For httpx2 each request of a login counts as one."""
_PAUSE = 1.0
"""Seconds between two requests for the server's own stream of events. The server sets the pace otherwise, down to 0."""
_PROBE = "server/discover"
"""Servers of older versions refuse it in every way there is: then the SDK goes on with `initialize`."""


@asynccontextmanager
async def http_transport(config: ServerConfig, *, login: Login | None) -> AsyncIterator[TransportStreams]:
    """The two streams of a server at `config.url`, as the SDK's own transports give them; `config` is filled in.

    `login` is needed where `config.oauth` says so. Raises `McpFailed`, also from the end of the block, where the
    connection ended in the middle of it: nothing in its words, hint or facts is a secret.
    """
    url, words = _checked(config)
    auth = None
    if config.oauth:
        if login is None:
            raise words.failed("wants a login, and none can be made here", "login", words.login_hint)
        auth = login.auth(config, words)
    client = _Client(config, url, words, auth)
    failure: BaseException | None = None
    async with client:
        try:
            async with streamable_http_client(
                str(url), http_client=client, max_sse_event_size=MESSAGE_BYTES
            ) as streams:
                yield streams
        except BaseExceptionGroup as group:
            # Left outside of the handler: the SDK's and httpx2's own errors hold requests with their headers.
            only = _only(group)
            failure = (client.failure or only) if isinstance(only, Exception) else only
        except Exception as error:
            failure = client.failure or error
    if failure is not None:
        raise failure from None


def _checked(config: ServerConfig) -> tuple[httpx2.URL, Words]:
    """The address, if it is one, and secrets may go there."""
    words = Words(config)
    try:
        url = httpx2.URL(config.url)
    except (httpx2.InvalidURL, UnicodeError, ValueError):
        url = httpx2.URL("")
    if url.scheme not in ("http", "https") or not url.host or (url.port or 0) > 65_535 or not config.url.isprintable():
        hint = "Write it with its scheme, such as https://example.org/mcp."
        raise words.failed(f"has no usable address: {words.shown!r}", "start", hint)
    for name, value in config.headers.items():
        if not value.isprintable() or not value.isascii() or not name.replace("-", "").replace("_", "").isalnum():
            hint = "A key that was read from a file may end with a line break: strip it."
            raise words.failed(
                f"cannot be sent the header {name!r}: it holds a character that no header has", "start", hint
            )
    if url.scheme == "http" and not is_loopback(url.host) and (config.headers or config.oauth or url.userinfo):
        hint = "Use its https address. Without headers and login, plain http is taken."
        raise words.failed(
            "is at a plain http address, where anyone on the way reads what is sent along", "refused", hint
        )
    return url.copy_with(fragment=None), words


def _only(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """What a group is about: our own error where one is in it, or its only member."""
    leaves: list[BaseException] = []
    waiting: list[BaseException] = [group]
    while waiting:
        each = waiting.pop(0)
        if isinstance(each, BaseExceptionGroup):
            waiting += each.exceptions
        else:
            leaves.append(each)
    ours = [each for each in leaves if isinstance(each, McpFailed)]
    others = [each for each in leaves if not isinstance(each, Exception)]
    return (others or ours or (leaves if len(leaves) == 1 else [group]))[0]


class _Message(msgspec.Struct):
    """What is looked at of a message that goes out."""

    method: str = ""
    id: Any = None


class _Error(msgspec.Struct):
    code: int
    message: str


class _Answer(msgspec.Struct):
    """What an answer to a request has to have. The SDK's own check would repeat the answer in its error."""

    jsonrpc: Literal["2.0"]
    id: int | str | None = None
    result: dict[str, msgspec.Raw] | msgspec.UnsetType = msgspec.UNSET
    error: _Error | msgspec.UnsetType = msgspec.UNSET


class _Client(httpx2.AsyncClient):
    """The SDK's HTTP client for one server: every answer that is none becomes an error in plain words."""

    def __init__(self, config: ServerConfig, url: httpx2.URL, words: Words, auth: httpx2.Auth | None) -> None:
        self.failure: McpFailed | None = None
        """What ended the connection. The SDK drops some of what is raised in it."""
        self._config = config
        self._words = words
        self._bounded = BoundedTransport(config.name, url, config.start_timeout)
        self._met = False
        """Whether it ever answered as an MCP server does."""
        self._next_stream = 0.0
        super().__init__(
            transport=self._bounded,
            headers={"User-Agent": "toolwire", "Accept-Encoding": "identity", **config.headers},
            auth=auth,
            cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
            timeout=httpx2.Timeout(None, connect=CONNECT_SECONDS, write=_WRITE_SECONDS, pool=CONNECT_SECONDS),
            max_redirects=_REDIRECTS,
            trust_env=False,
        )

    async def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:
        """One request of the SDK with its answer, after all that a login does in between."""
        if request.method != "POST":
            if request.method == "GET":
                now = anyio.current_time()
                self._next_stream = max(now, self._next_stream) + _PAUSE
                await anyio.sleep(self._next_stream - _PAUSE - now)
            return await super().send(request, **options)
        message = msgspec.json.decode(await request.aread(), type=_Message)
        error: Exception
        try:
            answer = await super().send(request, **options)
            if not is_event_stream(answer.headers) or answer.status_code >= 300:
                # Here, and not in the SDK, so that a body that breaks off is the fault of one call.
                await answer.aread()
        except Exception as raised:
            error = raised
        else:
            return self._judged(message, request, answer)
        # Outside of the handler, so that httpx2's error, which holds the request, does not hang on ours.
        failure = self._words.broken(error, lost=self._met)
        code = REQUEST_TIMEOUT if failure.why == "timeout" else CONNECTION_CLOSED
        return self._ended(message, request, failure, code, fatal=failure.why in ("login", "refused"))

    def _judged(self, message: _Message, request: httpx2.Request, answer: httpx2.Response) -> httpx2.Response:
        status = answer.status_code
        if media_type(answer.headers) == "application/json" and is_heavy(answer.content):
            return self._ended(message, request, self._bounded.too_long(), CONNECTION_CLOSED)
        if status < 300:
            kind = media_type(answer.headers)
            if not message.method or message.id is None or status == 202:
                return answer
            if kind != "text/event-stream" and not (kind == "application/json" and _is_answer(answer)):
                if message.method == _PROBE:
                    return httpx2.Response(404, request=request)
                return self._ended(message, request, self._words.no_message(kind), INTERNAL_ERROR)
            self._met = True
            if "mcp-session-id" in answer.headers:
                self._words.keep_out([answer.headers["mcp-session-id"]])
            self._bounded.seconds = self._config.timeout + _LATE
            return answer
        if status < 400:
            following = answer.next_request
            if following is not None and following.method == "POST" and self._bounded.is_endpoint(following.url):
                return answer
            target = "" if following is None else shown_url(str(following.url))
            return self._ended(message, request, self._words.redirected(target), INTERNAL_ERROR)
        if status == 401:
            return self._ended(message, request, self._words.refused(answer), INTERNAL_ERROR, fatal=True)
        if status == 404 and "mcp-session-id" in answer.request.headers:
            return self._ended(message, request, self._words.session_over(), CONNECTION_CLOSED, fatal=True)
        if message.method == _PROBE or _is_error(answer):
            return answer
        return self._ended(message, request, self._words.refused(answer), INTERNAL_ERROR)

    def _ended(
        self, message: _Message, request: httpx2.Request, failure: McpFailed, code: int, *, fatal: bool = False
    ) -> httpx2.Response:
        """The end of the connection, or of one call: the SDK hands the words of such an answer to whoever waits."""
        if fatal or not self._met or message.method == "initialize":
            self.failure = self.failure or failure
            raise failure from None
        text = f"{failure.message}. {failure.hint}".strip()
        error = {"jsonrpc": "2.0", "id": message.id, "error": {"code": code, "message": text}}
        return httpx2.Response(500, json=error, request=request)


def _is_answer(answer: httpx2.Response) -> bool:
    try:
        found = msgspec.json.decode(answer.content, type=_Answer)
    except (msgspec.DecodeError, RecursionError):
        return False
    return (found.result is msgspec.UNSET) != (found.error is msgspec.UNSET)


def _is_error(answer: httpx2.Response) -> bool:
    """Whether the body of a refusal is a JSON-RPC error, which says more than the status."""
    return media_type(answer.headers) == "application/json" and _is_answer(answer) and b'"error"' in answer.content
