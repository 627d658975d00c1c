"""`Login`: how a person gets into a server that wants to know who they are, and what is kept of it."""

from __future__ import annotations

import os
import sys
import time
import webbrowser
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit, urlunsplit

from ..folders import state_folder
from .config import ServerConfig
from .kept import KeptFile

if TYPE_CHECKING:
    import httpx2

    from .http_words import Words

LOGIN_SECONDS = 300.0
"""How long a person may take in the browser. Whoever opens a connection with a `Login` waits as much longer."""
_OFTEN = 3
_OFTEN_SECONDS = 600.0
"""A server that wants a login again and again does not get a window each time."""


def tokens_path(env: Mapping[str, str]) -> Path:
    """The file that keeps what logins gave."""
    return state_folder(env) / "mcp" / "tokens.json"


class Login:
    """Logins by OAuth. What they gave is kept in `tokens`, for each server and its address apart: a file of the
    person's own (0600), replaced whole.

    `interactive`: a person is there, who is shown an address by `tell`, whole, and has a browser. Where nobody is, only
    what was kept is used, and a server that wants more is a `McpFailed` with why="login".
    """

    def __init__(self, tokens: Path, *, interactive: bool, tell: Callable[[str], None]) -> None:
        self.interactive = interactive
        self._tell = tell
        self._file = KeptFile(tokens, "logins at MCP servers")
        self._begun: dict[str, list[float]] = {}

    def auth(self, config: ServerConfig, words: Words) -> httpx2.Auth:
        """What puts the token into the requests to one server, refreshes it, and has the person log in."""
        from .oauth import OAuth

        return OAuth(self, config, words)

    def kept(self, config: ServerConfig) -> dict[str, Any]:
        """What is kept for a server at its address. Empty: nothing."""
        entry = self._file.entries().get(config.identity, {}).get(resource(config))
        return entry if isinstance(entry, dict) else {}

    def keep(self, config: ServerConfig, **parts: Any) -> None:
        """Keeps some parts; the others stay. None takes one out."""
        with self._file.change() as entries:
            of_server = entries.setdefault(config.identity, {})
            before = of_server.get(resource(config))
            after = {**(before if isinstance(before, dict) else {}), **parts}
            of_server[resource(config)] = {name: value for name, value in after.items() if value is not None}

    def forget(self, config: ServerConfig) -> None:
        """Forgets every login at a server."""
        with self._file.change() as entries:
            entries.pop(config.identity, None)

    def begin(self, config: ServerConfig, url: str) -> bool:
        """Shows a person where to log in. False where it is too often: nothing is shown."""
        now = time.monotonic()
        lately = [when for when in self._begun.get(config.identity, []) if now - when < _OFTEN_SECONDS]
        if len(lately) >= _OFTEN:
            return False
        self._begun[config.identity] = [*lately, now]
        self._tell(f"The MCP server {config.name!r} wants a login. If no browser opens, go to:\n{url}")
        if _has_browser(os.environ):
            webbrowser.open(url)
        return True


def resource(config: ServerConfig) -> str:
    """A server's address without what may be secret in it: what a token is for."""
    parts = urlsplit(config.url)
    return urlunsplit((parts.scheme.lower(), parts.netloc.rpartition("@")[2].lower(), parts.path, "", ""))


def _has_browser(env: Mapping[str, str]) -> bool:
    """Whether there is a browser with a window. One in text mode would take this very terminal."""
    if not sys.platform.startswith("linux"):
        return True
    return any(env.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"))
