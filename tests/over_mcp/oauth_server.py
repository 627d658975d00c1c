"""A real OAuth server, and an MCP server behind it, from the SDK's own server parts, on this machine."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import socket
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import uvicorn
from mcp.server import MCPServer
from mcp.server.auth.provider import (
    AccessToken,
    AuthorizationCode,
    AuthorizationParams,
    OAuthAuthorizationServerProvider,
    RefreshToken,
    TokenError,
    construct_redirect_uri,
)
from mcp.server.auth.routes import create_auth_routes
from mcp.server.auth.settings import AuthSettings, ClientRegistrationOptions
from mcp.shared.auth import OAuthClientInformationFull, OAuthToken
from pydantic import AnyHttpUrl
from starlette.applications import Starlette


class Accounts(OAuthAuthorizationServerProvider[AuthorizationCode, RefreshToken, AccessToken]):
    """Everybody who comes is let in. What was done is counted."""

    def __init__(self) -> None:
        self.clients: dict[str, OAuthClientInformationFull] = {}
        self.codes: dict[str, AuthorizationCode] = {}
        self.access: dict[str, AccessToken] = {}
        self.refresh: dict[str, RefreshToken] = {}
        self.done: list[str] = []
        self.seconds = 3600
        self.lets_in = True

    async def get_client(self, client_id: str) -> OAuthClientInformationFull | None:
        return self.clients.get(client_id)

    async def register_client(self, client_info: OAuthClientInformationFull) -> None:
        self.done.append("register")
        self.clients[client_info.client_id] = client_info

    async def authorize(self, client: OAuthClientInformationFull, params: AuthorizationParams) -> str:
        self.done.append("authorize")
        back = str(params.redirect_uri)
        if not self.lets_in:
            return construct_redirect_uri(back, error="access_denied", error_description="Not you", state=params.state)
        code = secrets.token_urlsafe(20)
        self.codes[code] = AuthorizationCode(
            code=code,
            client_id=client.client_id,
            scopes=params.scopes or [],
            expires_at=time.time() + 60,
            code_challenge=params.code_challenge,
            redirect_uri=params.redirect_uri,
            redirect_uri_provided_explicitly=params.redirect_uri_provided_explicitly,
            resource=params.resource,
        )
        return construct_redirect_uri(back, code=code, state=params.state)

    async def load_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: str
    ) -> AuthorizationCode | None:
        return self.codes.get(authorization_code)

    async def exchange_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: AuthorizationCode
    ) -> OAuthToken:
        self.done.append("exchange")
        del self.codes[authorization_code.code]
        return self._tokens(client.client_id, authorization_code.scopes, authorization_code.resource)

    async def load_refresh_token(self, client: OAuthClientInformationFull, refresh_token: str) -> RefreshToken | None:
        return self.refresh.get(refresh_token)

    async def exchange_refresh_token(
        self, client: OAuthClientInformationFull, refresh_token: RefreshToken, scopes: list[str]
    ) -> OAuthToken:
        self.done.append("refresh")
        if self.refresh.pop(refresh_token.token, None) is None:
            raise TokenError("invalid_grant")
        return self._tokens(client.client_id, scopes, None)

    async def load_access_token(self, token: str) -> AccessToken | None:
        found = self.access.get(token)
        return found if found is not None and (found.expires_at or 0) > time.time() else None

    verify_token = load_access_token

    async def revoke_token(self, token: AccessToken | RefreshToken) -> None:
        raise NotImplementedError

    def _tokens(self, client: str, scopes: list[str], resource: str | None) -> OAuthToken:
        access, refresh = f"access-{secrets.token_urlsafe(20)}", f"refresh-{secrets.token_urlsafe(20)}"
        until = int(time.time()) + self.seconds
        self.access[access] = AccessToken(
            token=access, client_id=client, scopes=scopes, expires_at=until, resource=resource
        )
        self.refresh[refresh] = RefreshToken(token=refresh, client_id=client, scopes=scopes)
        return OAuthToken(access_token=access, refresh_token=refresh, expires_in=self.seconds, scope=" ".join(scopes))


class _Uvicorn(uvicorn.Server):
    """Without signals, and without the tenths of a second that it waits before it ends."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.begun = asyncio.Event()
        self.over = asyncio.Event()

    async def main_loop(self) -> None:
        self.begun.set()
        await self.over.wait()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        for server in self.servers:
            server.close()
        for connection in list(self.server_state.connections):
            connection.shutdown()
        while self.server_state.tasks:
            await asyncio.wait(self.server_state.tasks, timeout=1)
        await self.lifespan.shutdown()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class Noted:
    """An ASGI application with every request's method, path and headers written down."""

    def __init__(self, app: Any) -> None:
        self.app = app
        self.asked: list[tuple[str, str, str]] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            self.asked.append((scope["method"], scope["path"], str(scope["headers"])))
        await self.app(scope, receive, send)


@asynccontextmanager
async def served(app: Any, listening: socket.socket) -> AsyncIterator[None]:
    running = _Uvicorn(uvicorn.Config(app, log_level="critical", timeout_graceful_shutdown=1, ws="none"))
    task = asyncio.ensure_future(running.serve(sockets=[listening]))
    await running.begun.wait()
    try:
        yield
    finally:
        running.over.set()
        await task


def bound() -> tuple[socket.socket, str]:
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.bind(("127.0.0.1", 0))
    return listening, f"http://127.0.0.1:{listening.getsockname()[1]}"


@asynccontextmanager
async def guarded(accounts: Accounts, *, apart: bool = False) -> AsyncIterator[tuple[str, Noted, Noted]]:
    """The address of an MCP server that wants a login; it, and the login's server, which is another where `apart`."""
    here, url = bound()
    there, issuer = bound() if apart else (None, url)
    registration = ClientRegistrationOptions(enabled=True, valid_scopes=["use"], default_scopes=["use"])
    settings = AuthSettings(
        issuer_url=AnyHttpUrl(issuer),
        resource_server_url=AnyHttpUrl(f"{url}/mcp"),
        client_registration_options=registration,
        required_scopes=["use"],
        validate_token_resource=False,
    )
    who: dict[str, Any] = {"token_verifier": accounts} if apart else {"auth_server_provider": accounts}
    server = MCPServer("guarded", auth=settings, log_level="CRITICAL", **who)

    @server.tool()
    def shout(word: str) -> str:
        """Says it loud."""
        return word.upper()

    app = Noted(server.streamable_http_app())
    async with contextlib.AsyncExitStack() as stack:
        await stack.enter_async_context(served(app, here))
        login = app
        if there is not None:
            routes = create_auth_routes(accounts, AnyHttpUrl(issuer), client_registration_options=registration)
            login = Noted(Starlette(routes=routes))
            await stack.enter_async_context(served(login, there))
        yield f"{url}/mcp", app, login
