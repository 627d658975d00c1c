"""OAuth by the SDK, with what it leaves out: a token's end and the address that renews it outlive the program.

The SDK forgets both when the program ends; it would take an old token for a good one, have the person log in again
instead of renewing it, and send the secret that renews it to the server itself, where the login's own server may be
another. It also lets one request at a time wait for its answer; here only those wait that need a login.
"""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import parse_qs, urlsplit

import anyio
import httpx2
from mcp.client.auth import OAuthClientProvider, TokenStorage
from mcp.client.auth.utils import extract_field_from_www_auth
from mcp.shared.auth import (
    AuthorizationCodeResult,
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthMetadata,
    OAuthToken,
    ProtectedResourceMetadata,
)
from pydantic import AnyUrl, BaseModel, ValidationError

from .callback import Callback
from .config import ServerConfig
from .http_bodies import is_loopback
from .http_words import Words
from .login import LOGIN_SECONDS, Login, resource

if TYPE_CHECKING:
    from mcp.client.auth.oauth2 import OAuthContext

_Model = TypeVar("_Model", bound=BaseModel)

_EARLY = 10.0
"""Seconds before its end that a token is renewed."""
_LONG_AGO = 1.0


class OAuth(OAuthClientProvider):
    """The token of one server in each request to it."""

    def __init__(self, login: Login, config: ServerConfig, words: Words) -> None:
        self._login = login
        self._config = config
        self._words = words
        self._callback: Callback | None = None
        self._state = ""
        self._refused = ""
        """A token that the server did not take, whatever its end says."""
        self._begun_with = ""
        """The token that was last read from the person's file."""
        kept = _Kept(login, config, words)
        super().__init__(
            resource(config),
            OAuthClientMetadata(client_name="Toolwire", redirect_uris=[AnyUrl("http://127.0.0.1/callback")]),
            kept,
            self._show,
            self._answer,
        )
        kept.context = self.context

    async def async_auth_flow(self, request: httpx2.Request) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        """The request with its token; where the server does not take it, a new one, or else the SDK's whole flow."""
        renewed = overtaken = False
        if self._initialized and self.context.is_token_valid():
            self._add_auth_header(request)
            wanted = _wants_login((yield request))
            if not wanted:
                return
            renewed = wanted == 401 and self._can_renew(request)
        ours: Callback | None = None
        while True:
            # Another program may have renewed it meanwhile.
            self._initialized = False
            flow = super().async_auth_flow(request)
            try:
                outgoing = await anext(flow)
                while True:
                    response = yield outgoing
                    if outgoing is request and ours is None and (wanted := _wants_login(response)):
                        if wanted == 401 and not renewed and self._can_renew(request):
                            renewed = True
                            break
                        if wanted == 401 and not overtaken and self._is_overtaken(request):
                            overtaken = True
                            break
                        if wanted == 403 and not self._login.interactive:
                            return
                        ours = self._prepare()
                    outgoing = await flow.asend(response)
            except StopAsyncIteration:
                return
            except Exception:
                if ours is not None:
                    # Its registration may be what is wrong: the next login begins with a new one.
                    await anyio.to_thread.run_sync(partial(self._login.keep, self._config, client=None))
                raise
            finally:
                await flow.aclose()
                # Not another's: of several requests one logs in, and the others may give up meanwhile.
                if ours is not None:
                    ours.close()

    def _can_renew(self, request: httpx2.Request) -> bool:
        """Whether the token that was just refused can be replaced without a person. It is not used again."""
        self._refused = request.headers.get("Authorization", "").removeprefix("Bearer ")
        return self._refused != "" and self.context.can_refresh_token()

    def _is_overtaken(self, request: httpx2.Request) -> bool:
        """Whether another program has a newer token. What renews one works once, and that program was quicker."""
        newest = _read(OAuthToken, self._login.kept(self._config).get("tokens"))
        sent = request.headers.get("Authorization", "").removeprefix("Bearer ")
        return newest is not None and newest.access_token not in (sent, self._begun_with)

    async def _initialize(self) -> None:
        await super()._initialize()
        tokens = self.context.current_tokens
        self._begun_with = "" if tokens is None else tokens.access_token
        kept = self._login.kept(self._config)
        self.context.oauth_metadata = _read(OAuthMetadata, kept.get("metadata"))
        self.context.protected_resource_metadata = _read(ProtectedResourceMetadata, kept.get("resource"))
        until = kept.get("until")
        self.context.token_expiry_time = until - _EARLY if isinstance(until, int | float) else None
        if tokens is not None and tokens.access_token == self._refused:
            self.context.token_expiry_time = _LONG_AGO

    async def _perform_authorization_code_grant(self) -> tuple[str, str]:
        code, verifier = await super()._perform_authorization_code_grant()
        self._words.keep_out([code, verifier])
        return code, verifier

    def _prepare(self) -> Callback:
        """Takes a port to come back to: that of the last login, which the login's server knows, where it is free."""
        if not self._login.interactive:
            raise self._words.failed("wants a login", "login", self._words.login_hint)
        client = self.context.client_info
        port = client.redirect_uris[0].port if client is not None and client.redirect_uris else None
        try:
            taken = Callback(port or 0)
        except (OSError, OverflowError):
            taken = Callback()
        if client is not None and port != taken.port:
            self.context.client_info = None
        self.context.client_metadata.redirect_uris = [AnyUrl(taken.url)]
        self._callback = taken
        return taken

    async def _show(self, url: str) -> None:
        """The page of the login, to the person."""
        parts = urlsplit(url)
        local = is_loopback(urlsplit(self._config.url).hostname or "")
        safe = parts.scheme == "https" or (parts.scheme == "http" and local and is_loopback(parts.hostname or ""))
        if not safe or not url.isprintable() or not url.isascii():
            raise self._words.failed("wants a login at an address that is not protected by TLS", "refused")
        self._state = parse_qs(parts.query).get("state", [""])[-1]
        if not self._state:
            # Behind a `#` it would be no part of what is asked: then any page could give the answer.
            raise self._words.failed("wants a login at an address that has no room for its mark", "refused")
        if not await anyio.to_thread.run_sync(self._login.begin, self._config, url):
            raise self._words.failed("wants a login again and again", "login", "Wait some minutes, or ask who runs it.")

    async def _answer(self) -> AuthorizationCodeResult:
        """What came back with the browser."""
        assert self._callback is not None
        try:
            answer = await self._callback.answer(self._state, LOGIN_SECONDS)
        except TimeoutError:
            hint = self._words.login_hint
            raise self._words.failed(f"wanted a login, and none came in {LOGIN_SECONDS:g} s", "login", hint) from None
        if "error" in answer:
            said = self._words.said(f"{answer['error']} {answer.get('error_description', '')}")
            raise self._words.failed(f"refused the login: {said}", "login", self._words.login_hint)
        return AuthorizationCodeResult(code=answer.get("code", ""), state=answer["state"], iss=answer.get("iss"))


class _Kept(TokenStorage):
    """The person's file, as the SDK asks for it."""

    def __init__(self, login: Login, config: ServerConfig, words: Words) -> None:
        self.context: OAuthContext | None = None
        self._words = words
        self._login = login
        self._config = config

    async def get_tokens(self) -> OAuthToken | None:
        tokens = _read(OAuthToken, self._login.kept(self._config).get("tokens"))
        if tokens is not None:
            self._words.keep_out(filter(None, (tokens.access_token, tokens.refresh_token)))
        return tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self._words.keep_out(filter(None, (tokens.access_token, tokens.refresh_token)))
        assert self.context is not None
        parts: dict[str, Any] = {
            "tokens": _written(tokens),
            "until": None if tokens.expires_in is None else time.time() + tokens.expires_in,
            "metadata": _written(self.context.oauth_metadata),
            "resource": _written(self.context.protected_resource_metadata),
            "client": _written(self.context.client_info),
        }
        await anyio.to_thread.run_sync(partial(self._login.keep, self._config, **parts))

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        client = _read(OAuthClientInformationFull, self._login.kept(self._config).get("client"))
        if client is not None and client.client_secret:
            self._words.keep_out([client.client_secret])
        return client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self._words.keep_out(filter(None, [client_info.client_secret]))
        parts = {"client": _written(client_info)}
        await anyio.to_thread.run_sync(partial(self._login.keep, self._config, **parts))


def _wants_login(response: httpx2.Response) -> int:
    """401, or 403 where a login that permits more would help; else 0."""
    status = response.status_code
    if status == 401 or (status == 403 and extract_field_from_www_auth(response, "error") == "insufficient_scope"):
        return status
    return 0


def _written(model: BaseModel | None) -> dict[str, Any] | None:
    return None if model is None else model.model_dump(mode="json", exclude_none=True)


def _read(kind: type[_Model], value: object) -> _Model | None:
    """What was kept, or None: what is damaged only means one more login."""
    try:
        return None if value is None else kind.model_validate(value)
    except ValidationError:
        return None
