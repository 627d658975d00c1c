"""`ServerConfig`: one MCP server as its person, or a project, describes it."""

from __future__ import annotations

from typing import Literal

import msgspec

from ..tools.definition import Risk

START_SECONDS = 30.0
"""How long a server may take to start and introduce itself: `npx` and `uvx` fetch a program the first time."""
CALL_SECONDS = 120.0
"""How long a call may take, as any other tool's."""


class ServerConfig(msgspec.Struct, frozen=True, kw_only=True):
    """One server. Either `command` (a program that is started and spoken to over its pipes) or `url` is given.

    Values are as written: `${NAME}` and `${NAME:-default}` in them are filled in from the environment when the server
    is started, so that a question of consent shows what the file says.
    """

    name: str
    command: str = ""
    args: tuple[str, ...] = ()
    env: dict[str, str] = {}
    """Variables for the program beside the few that every child gets. Nothing else of the environment reaches it."""
    cwd: str = ""
    """Where it runs: absolute. Empty: in the workspace, and a person's own in their home."""
    url: str = ""
    """Where it listens (streamable HTTP)."""
    headers: dict[str, str] = {}
    oauth: bool = False
    """Whether it wants a login: a browser is opened for that, once."""
    enabled: bool = True
    start_timeout: float = START_SECONDS
    timeout: float = CALL_SECONDS
    """Seconds for one call."""
    allow: tuple[str, ...] | None = None
    """Tools that are offered: names as the server has them, `*` for any run of characters. None: all."""
    deny: tuple[str, ...] = ()
    """Tools that are not, whatever `allow` says."""
    risk: Risk | None = None
    """What its tools can do at worst. None: unknown, so that each call is asked about."""
    risks: dict[str, Risk] = {}
    """The same for single tools, by their names as the server has them."""
    trusted: bool = False
    """Its tools are taken as they are first seen, without a look by a person. A later change still disables them."""
    scope: Literal["user", "project", "given"] = "given"
    """Whose file it stands in; `given`: the program's own, or one that was named on the command line."""
    source: str = ""
    """That file."""
    entry: str = ""
    """A digest of all that the file says about this server, understood or not: consent is bound to it."""

    @property
    def identity(self) -> str:
        """What pins, logins and logs are kept under: no other file's server is taken for the person's own."""
        return f"{self.source}#{self.name}" if self.source and self.scope != "user" else self.name
