"""What is said of a server at an address that cannot be reached, or does not answer as one: plain words, no secret."""

from __future__ import annotations

import logging
import ssl
from collections.abc import Iterable
from shlex import quote
from urllib.parse import unquote, unquote_plus
from weakref import WeakSet

import httpx2

from ..errors import McpFailed, ToolwireError
from ..redaction import Redactor
from ..refusals import clean, secrets_of, shown_url
from ..transport import HttpRequest
from .config import ServerConfig
from .http_bodies import media_type

_KEY = 16
_SAID = 300
"""Characters of a server's own words in an error."""
_LOGGERS = ("mcp.client.streamable_http", "mcp.client.auth.oauth2", "mcp.client.auth.utils", "httpx2")
"""They write down addresses, whole messages and what a login's server said."""
_HEADERS = "httpcore2.http11"
"""Writes down the headers of an answer, in which a server names a session before anybody can know that."""


class Words:
    """The errors of one server. What it is sent in confidence is taken out of all of them."""

    def __init__(self, config: ServerConfig) -> None:
        self._server = config.name
        self._oauth = config.oauth
        self._url = config.url
        self._secrets: set[str] = set()
        self._redactor: Redactor | None = None
        self.login_hint = f"Log in once: toolwire mcp test {quote(config.name)}"
        self.keep_out(secrets_of(HttpRequest(url=config.url, headers=dict(config.headers), body=b"")))
        self.keep_out(_keys_in(config.url))
        _MASKING.know(self)

    def keep_out(self, secrets: Iterable[str]) -> None:
        """More that may be in no word, and in no log of the libraries below: tokens."""
        found = set(secrets)
        if not found <= self._secrets:
            self._secrets |= found
            self._redactor = None

    def masked(self, text: str) -> str:
        """A text without any of it."""
        if self._redactor is None:
            # Made when it is needed: it is large, and most servers are never spoken of.
            self._redactor = Redactor(self._secrets)
        return self._redactor.text(text)

    @property
    def shown(self) -> str:
        """The server's address, fit to be shown."""
        return self.masked(shown_url(self._url))

    def said(self, text: str) -> str:
        """The beginning of somebody else's words, fit for an error."""
        return self.masked(clean(text[: 8 * _SAID]))[:_SAID]

    def failed(self, words: str, why: str, hint: str = "") -> McpFailed:
        """An error that begins with the server's name."""
        return McpFailed(f"the MCP server {self._server!r} {words}", hint=hint, server=self._server, why=why)

    def broken(self, error: Exception, *, lost: bool) -> McpFailed:
        """For whatever was raised instead of an answer; `lost`: after the server had been met."""
        if isinstance(error, McpFailed):
            return error
        if isinstance(error, ToolwireError):
            return self.failed(f"cannot be logged in to: {error.message}", "login", error.hint)
        origin = self._origin(error)
        why = "lost" if lost else "start"
        if isinstance(error, TimeoutError | httpx2.TimeoutException):
            late = (
                "could not be reached in time" if isinstance(error, httpx2.ConnectTimeout) else "did not answer in time"
            )
            return self.failed(f"{late} ({origin})", "timeout", "Try again; if it is only slow, raise its time-outs.")
        if isinstance(error, httpx2.TransportError):
            if (broken := _tls_error(error)) is not None:
                reason = clean(getattr(broken, "verify_message", "") or broken.reason or "no secure connection")
                hint = "Check the address: http or https, and whether the name is the one in its certificate."
                return self.failed(f"cannot be trusted ({origin}): {reason}", why, hint)
            if isinstance(error, httpx2.ConnectError | httpx2.ProxyError):
                hint = "Is it running? Check the address and the network."
                return self.failed(
                    f"cannot be reached at {origin}: {self.said(str(error)) or 'no connection'}", why, hint
                )
            if lost:
                return self.failed(f"broke off the connection ({origin})", why, "What it did is not known.")
            hint = "Check the address: the port, and http or https."
            said = self.said(str(error)) or "the connection broke off"
            return self.failed(f"does not answer as HTTP has it ({origin}): {said}", why, hint)
        said = self.said(str(error)) or type(error).__name__
        if self._oauth:
            return self.failed(f"cannot be logged in to: {said}", "login", self.login_hint)
        return self.failed(f"cannot be asked: {said}", why)

    def refused(self, answer: httpx2.Response) -> McpFailed:
        """For a status that says no."""
        status = answer.status_code
        said = "" if media_type(answer.headers) == "text/html" else self.said(answer.text)
        end = f" ({status})" + (f": {said}" if said else "")
        if status == 401:
            if self._oauth:
                return self.failed(f"did not take the login{end}", "login", self.login_hint)
            hint = 'It wants a login: set oauth = true for it, or a header such as Authorization: "Bearer ${TOKEN}".'
            return self.failed(f"refused access{end}", "login", hint)
        if status == 403:
            return self.failed(f"refused access{end}", "refused", "Check what its header or login may do.")
        if status in (404, 405, 406, 410):
            hint = f"Check the address: {self.shown}. The older form of MCP over HTTP (SSE) is not supported."
            return self.failed(f"is not at this address{end}", "start", hint)
        if status == 429:
            return self.failed(f"asks to slow down{end}", "refused", "Wait before trying again.")
        if status >= 500:
            return self.failed(f"failed{end}", "start", "Try again later; its log may say why.")
        return self.failed(f"refused the request{end}", "refused", f"Check the address: {self.shown}.")

    def no_message(self, kind: str) -> McpFailed:
        """For an answer that is something else."""
        what = "a web page" if kind in ("text/html", "application/xhtml+xml") else f"something else ({kind[:60]!r})"
        if kind == "application/json":
            what = "JSON that is no answer"
        return self.failed(
            f"answered with {self.said(what)}, not as an MCP server", "protocol", f"Check the address: {self.shown}."
        )

    def redirected(self, target: str) -> McpFailed:
        """For a redirect that is not followed."""
        hint = "It was not followed, since what is sent along would go there: if it is right, set that address."
        return self.failed("redirects" + (f" to {self.said(target)}" if target else ""), "refused", hint)

    def session_over(self) -> McpFailed:
        """For a session that the server does not know any more."""
        return self.failed("ended the session (404)", "lost", "It is begun anew with the next call.")

    def _origin(self, error: Exception) -> str:
        """Where the request went that failed: a login's server may be another one."""
        try:
            url = error.request.url if isinstance(error, httpx2.RequestError) else None
        except RuntimeError:
            url = None
        return self.shown if url is None else self.masked(shown_url(str(url)))


def _keys_in(url: str) -> Iterable[str]:
    """What in an address may be the key to it, as many servers have it in their paths, under no name that says so: what
    is long, or less long and holds a digit. A plain word that is taken for one is only starred.
    """
    path, _, query = url.partition("#")[0].partition("://")[2].partition("?")
    values = (member.rpartition("=")[2] for member in query.split("&"))
    for part in (*path.split("/")[1:], *values):
        if len(part) >= _KEY or (len(part) >= _KEY // 2 and any(map(str.isdigit, part))):
            yield from {part, unquote(part), unquote_plus(part)}


def _tls_error(error: BaseException) -> ssl.SSLError | None:
    seen: BaseException | None = error
    for _ in range(8):
        if seen is None or isinstance(seen, ssl.SSLError):
            return seen
        seen = seen.__cause__ or seen.__context__
    return None


class _Masking(logging.Filter):
    """Takes what servers are sent in confidence out of what the libraries below write down."""

    def __init__(self) -> None:
        super().__init__()
        self._words: WeakSet[Words] = WeakSet()

    def know(self, words: Words) -> None:
        """What these keep out is kept out here too, and nothing of these libraries goes to a terminal by itself."""
        self._words.add(words)
        for name in (*_LOGGERS, _HEADERS):
            logger = logging.getLogger(name)
            if self not in logger.filters:
                logger.addFilter(self)
                logger.addHandler(logging.NullHandler())

    def filter(self, record: logging.LogRecord) -> bool:
        """Lets a record through without secrets, and without a traceback, which repeats them."""
        if record.name == _HEADERS:
            return not self._words
        text = record.getMessage()
        if record.exc_info and record.exc_info[1] is not None:
            text, record.exc_info = f"{text}: {record.exc_info[1]}", None
        for words in list(self._words):
            text = words.masked(text)
        record.msg, record.args = text, ()
        return True


_MASKING = _Masking()
