"""H3: what is given to one MCP server never reaches another one, whatever servers and logins do to get at it.

Each case is a small world on loopback: three MCP servers, two servers for logins and a bystander. Every header, token,
password and key in it is a canary that belongs to one place. The servers redirect to each other, echo what they were
sent in errors and headers, name each other's logins, move from one login to another, and let tokens end. Then every
byte that any place received is searched for canaries that are not its own, in the forms that a `Redactor` knows, and so
is every error and every record of a log, for all of them.
"""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import json
import logging
import os
import random
import tempfile
import threading
import traceback
import webbrowser
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch
from urllib.parse import parse_qs, quote, urlsplit

from mcp.client._probe import negotiate_auto
from mcp.client.session import ClientSession

from toolwire.errors import McpFailed
from toolwire.mcp.config import ServerConfig
from toolwire.mcp.http import http_transport
from toolwire.mcp.login import Login
from toolwire.redaction import Redactor

from . import Found
from .http_place import Asked, Place, place, reply, server

SERVERS = ("a", "b", "c")
LOGINS = ("x", "y")
BYSTANDER = "z"
GIVEN = ("header", "bearer", "user", "query", "oauth", "oauth", "oauth")
DEEDS = ("honest", "honest", "redirect", "echo", "cookie")
REDIRECTS = (301, 302, 303, 307, 308)
STATUSES = (200, 400, 401, 403, 404, 500)


def canaries(count: int, seed: int) -> Found:
    """Plan: 200 worlds, each connected to twice (some 9,000 requests, 60 seconds)."""
    found = Found()
    requests = secrets = 0
    with tempfile.TemporaryDirectory() as folder, _logged() as records:
        for number in range(count):
            world = _World(random.Random(f"{seed}/{number}"), Path(folder) / f"{number}.json")
            records.clear()
            asyncio.run(world.run())
            found.runs += 1
            requests += sum(len(each.asked) for each in world.places.values())
            secrets += len(world.all)
            for words in world.leaks(records):
                found.fault(f"world {number}: {words}")
    found.words = f"{requests:,} requests, {secrets:,} canaries"
    return found


class _World:
    """Who is there, what belongs to whom, and what each does."""

    def __init__(self, random: random.Random, tokens: Path) -> None:
        self.random = random
        self.places: dict[str, Place] = {}
        self.own: dict[str, set[str]] = {}
        self.all: set[str] = set()
        self.said: list[str] = []
        self.given = {name: random.choice(GIVEN) for name in SERVERS}
        self.deeds = {name: random.choice(DEEDS) for name in SERVERS}
        self.logins = {name: random.choice((*LOGINS, name)) for name in SERVERS}
        self.tricks = {name: random.choice(("", "", "redirect", "echo")) for name in (*LOGINS, *SERVERS)}
        self.valid: set[str] = set()
        self.headers: dict[str, dict[str, str]] = {}
        self.urls: dict[str, str] = {}
        self.told: list[str] = []
        self.login = Login(tokens, interactive=True, tell=self.told.append)

    def canary(self, owner: str) -> str:
        """A new one, which only this place may ever see."""
        secret = f"{self.random.getrandbits(128):032x}"
        self.own.setdefault(owner, set()).add(secret)
        self.all.add(secret)
        return secret

    async def run(self) -> None:
        """Everybody is connected to, twice; in between tokens end, and some servers change their login."""
        async with contextlib.AsyncExitStack() as stack:
            for name in (*SERVERS, *LOGINS, BYSTANDER):
                self.places[name] = await stack.enter_async_context(place(self._answering(name)))
            configs = [self._config(name) for name in SERVERS]
            with patch.dict(os.environ, {"BROWSER": "any"}), patch.object(webbrowser, "open", _visit):
                for _ in range(2):
                    await asyncio.gather(*(self._use(config) for config in configs))
                    self.valid = {token for token in self.valid if self.random.random() < 0.5}
                    for name in SERVERS:
                        if self.random.random() < 0.3:
                            self.logins[name] = self.random.choice(LOGINS)

    def leaks(self, records: list[str]) -> Iterator[str]:
        """Every canary at a place that is not its own."""
        for name, here in self.places.items():
            foreign = Redactor(self.all - self.own.get(name, set()))
            for asked in here.asked:
                if foreign.spans(asked.raw.decode("latin-1")):
                    yield f"{name} received what is not its own: {asked.raw[:300]!r}"
        everything = Redactor(self.all)
        for words in (*self.said, *records, *self.told):
            if everything.spans(words):
                yield f"an error or a log holds a canary: {words[:300]}"

    def _config(self, name: str) -> ServerConfig:
        url, given = f"{self.places[name].url}/mcp", self.given[name]
        headers: dict[str, str] = {"X-Extra": self.canary(name)} if self.random.random() < 0.5 else {}
        if given == "header":
            headers["X-Api-Key"] = self.canary(name)
        elif given == "bearer":
            headers["Authorization"] = f"Bearer {self.canary(name)}"
        elif given == "user":
            url = url.replace("://", f"://me:{self.canary(name)}@")
        if given == "query" or self.random.random() < 0.3:
            url = f"{url}?key={self.canary(name)}"
        return ServerConfig(name=name, url=url, headers=headers, oauth=given == "oauth", start_timeout=5.0, timeout=5.0)

    async def _use(self, config: ServerConfig) -> None:
        try:
            async with http_transport(config, login=self.login) as (read, write), ClientSession(read, write) as it:
                await negotiate_auto(it)
                for _ in range(2):
                    try:
                        await it.call_tool("say", {"n": 1})
                    except Exception as error:
                        self._tell(error)
        except McpFailed as error:
            self._tell(error)

    def _tell(self, error: Exception) -> None:
        self.said += [repr(error), *traceback.format_exception(error)]
        if isinstance(error, McpFailed):
            self.said.append(f"{error.message} {error.hint} {error.facts}")

    # ---- what the places do

    def _answering(self, name: str) -> Any:
        async def answer(asked: Asked, writer: asyncio.StreamWriter) -> bytes:
            path = asked.path.partition("?")[0]
            if path.startswith("/.well-known/oauth-protected-resource"):
                login = self.places[self.logins[name]].url if name in self.logins else ""
                return _json({"resource": f"{self.places[name].url}/mcp", "authorization_servers": [login]})
            if path == "/mcp" and name in SERVERS:
                return self._served(name, asked)
            return self._logged_in(name, path, asked)

        return answer

    def _served(self, name: str, asked: Asked) -> bytes:
        if self.given[name] == "oauth":
            token = asked.headers.get("authorization", "").removeprefix("Bearer ")
            if token not in self.valid:
                where = self.random.choice(
                    [f"{self.places[name].url}/.well-known/oauth-protected-resource/mcp"] * 5
                    + [f"{self.places[BYSTANDER].url}/.well-known/oauth-protected-resource"]
                )
                challenge = f'Bearer error="invalid_token", resource_metadata="{where}"'
                return reply(401, f"not with {token}", "text/plain", WWW_Authenticate=challenge)
        deed = self.deeds[name]
        is_late = asked.message.get("method") not in ("server/discover", "initialize")
        if deed == "redirect" and self.random.random() < (0.7 if is_late else 0.2):
            other = self.random.choice([each for each in self.places if each != name])
            target = f"{self.places[other].url}/mcp?{quote(asked.path)}"
            return reply(self.random.choice(REDIRECTS), "moved", "text/plain", Location=target)
        if deed == "echo" and is_late:
            sent = asked.raw.decode("latin-1")
            wrong = json.dumps({"jsonrpc": "2.0", "id": sent, "method": 1, "result": sent})
            return reply(self.random.choice(STATUSES), self.random.choice((sent, wrong)), X_Echo=quote(sent))
        if deed == "cookie":
            value = self.canary(name)
            return server(asked, Set_Cookie=f"id={value}; Path=/; Domain=127.0.0.1", Mcp_Session_Id=value)
        return server(asked)

    def _logged_in(self, name: str, path: str, asked: Asked) -> bytes:
        url = self.places[name].url
        if path == "/.well-known/oauth-authorization-server" and name != BYSTANDER:
            ends = {"issuer": url, "authorization_endpoint": f"{url}/authorize", "token_endpoint": f"{url}/token"}
            lists = {"response_types_supported": ["code"], "code_challenge_methods_supported": ["S256"]}
            return _json({**ends, **lists, "registration_endpoint": f"{url}/register"})
        if path == "/register":
            secret = {"client_id": f"client-{len(self.all)}", "client_secret": self.canary(name)}
            method = self.random.choice(("client_secret_basic", "client_secret_post"))
            return _json({**json.loads(asked.body), **secret, "token_endpoint_auth_method": method})
        if path == "/authorize":
            query = parse_qs(urlsplit(asked.path).query)
            target = f"{query['redirect_uri'][0]}?code={self.canary(name)}&state={quote(query['state'][0])}"
            return reply(302, Location=target)
        if path == "/token":
            if self.tricks[name] == "redirect" and self.random.random() < 0.5:
                return reply(self.random.choice((307, 308)), Location=f"{self.places[BYSTANDER].url}/token")
            if self.tricks[name] == "echo" and self.random.random() < 0.5:
                return reply(400, asked.raw, "text/plain")
            resource = parse_qs(asked.body.decode()).get("resource", [""])[0]
            [owner] = [each for each in SERVERS if resource.startswith(self.places[each].url)] or [BYSTANDER]
            access, renewing = self.canary(owner), self.canary(name)
            self.valid.add(access)
            ends_in = self.random.choice((5, 3600))
            return _json(
                {"access_token": access, "token_type": "Bearer", "refresh_token": renewing, "expires_in": ends_in}
            )
        return reply(404, "nothing here", "text/plain")


def _json(value: dict[str, Any]) -> bytes:
    return reply(200, json.dumps(value))


def _visit(url: str) -> bool:
    """A browser: to the login, and back to where that sends it."""

    def go() -> None:
        target: str | None = url
        for _ in range(3):
            if target is None:
                return
            parts = urlsplit(target)
            connection = http.client.HTTPConnection(parts.netloc, timeout=5)
            connection.request("GET", f"{parts.path}?{parts.query}")
            target = connection.getresponse().getheader("Location")
            connection.close()

    threading.Thread(target=go, daemon=True).start()
    return True


class _Records(logging.Handler):
    """Everything that any library writes down."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.texts: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.texts.append(self.format(record))


@contextlib.contextmanager
def _logged() -> Iterator[list[str]]:
    root, handler = logging.getLogger(), _Records()
    before = root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    try:
        yield handler.texts
    finally:
        root.setLevel(before)
        root.removeHandler(handler)
