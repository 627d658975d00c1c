"""`McpServers`: the servers of an agent, side by side. Give it to an agent among its tools.

    servers = McpServers([ServerConfig(name="time", command="mcp-server-time")])
    agent = Agent(..., tools=[servers])

Each server stands for itself. One that is slow, broken or hostile is missing with its tools, and nothing else: nobody
waits for it longer than `patience`, and once.
"""

from __future__ import annotations

import asyncio
import os
import shlex
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self

import msgspec

from ..errors import ConfigError
from ..messages import MediaPart, Message, TextPart
from ..tools.check import cut
from ..tools.definition import ToolDefinition
from .config import ServerConfig
from .host import FillIn, Host
from .log import ServerLog, log_path
from .names import check_names
from .offered import OfferedServer
from .pins import Pins
from .sdk import check_sdk, import_sdk

if TYPE_CHECKING:
    from .connection import Connection
    from .login import Login

PATIENCE = 5.0
"""Seconds that the first turn waits for servers that were never looked at."""
CHANGE_PATIENCE = 1.0
"""Seconds that a later turn waits for the list of a server that said that it changed."""
NOTES = 1_000
"""News that wait to be asked for."""


class ServerStatus(msgspec.Struct, frozen=True):
    """How one server is."""

    name: str
    state: Literal["off", "idle", "connecting", "ready", "waiting", "failed", "closed"]
    """`off`: not enabled. `idle`: not needed yet. `waiting`: about to be tried again after a failure."""
    transport: str
    """Its command or address, for people."""
    offered: list[str]
    """Names of the tools that a model is offered, as the server has them."""
    disabled: list[str]
    """Names of those that changed since they were looked at."""
    problem: str
    """Why it cannot be used; empty where it can."""


class McpServers:
    """The tools of these servers, their prompts and resources. Nothing is started before it is needed.

    `pins` are the definitions that were looked at; without them every tool is new in every program. `workspace` is the
    folder where servers run, but for those of a person's own files, which run in their home. `environment`
    (`os.environ`) is what `${NAME}` in a configuration is filled in from; a server sees only what every child may, and
    what its configuration gives it. `logs` is a folder for what servers write beside their messages. `fill_in` has a
    person fill in a form that a server asks for. `login` signs in.

    A missing SDK, two servers of one name and a file of pins that cannot be used are a `ConfigError`. Everything that
    has to do with one server alone is in `notes` and `statuses`.
    """

    def __init__(
        self,
        servers: Iterable[ServerConfig],
        *,
        pins: Pins | None = None,
        workspace: str | Path = ".",
        environment: Mapping[str, str] | None = None,
        logs: Path | None = None,
        fill_in: FillIn | None = None,
        login: Login | None = None,
        patience: float = PATIENCE,
    ) -> None:
        configs = list(servers)
        check_names(configs)
        if any(config.enabled for config in configs):
            check_sdk()
        self._pins = pins or Pins(None)
        self._workspace = os.path.abspath(workspace)
        self._environment = os.environ if environment is None else environment
        self._logs = logs
        self._fill_in = fill_in
        self._login = login
        self._patience = patience
        self._host: Host | None = None
        self._notes: list[str] = []
        self._connections: dict[str, Connection] = {}
        self._has_waited = False
        self._configs = {config.name: config for config in configs}
        self._servers = {config.name: self._served(config) for config in configs if config.enabled}

    @classmethod
    def from_file(cls, path: str | Path, **options: Any) -> Self:
        """The servers of a file in any client's form (JSON), or in ours (TOML); `options` as for the class itself.

        Who names a file agrees to what is in it.
        """
        from .reading import read_servers

        path = Path(path)
        try:
            data = path.read_bytes()
        except OSError as error:
            raise ConfigError(f"{path} cannot be read: {error.strerror}", hint="Check the path.") from None
        form: Literal["json", "toml"] = "toml" if path.suffix == ".toml" else "json"
        found = read_servers(data, form=form, scope="given", source=os.path.abspath(path))
        made = cls(found.servers, **options)
        made._notes += found.notes
        return made

    def _served(self, config: ServerConfig) -> OfferedServer:
        return OfferedServer(config, self._pins, lambda: self.connection(config.name), self._tell)

    def bind(self, host: Host | None) -> None:
        """Lets servers ask this agent for what they may ask for."""
        self._host = host

    async def tools(self) -> list[ToolDefinition]:
        """The tools that are offered now: those that were looked at, and all of the servers that are connected.

        Servers of which nothing is known yet are connected side by side; the first time that is waited for.
        """
        awaited: list[asyncio.Task[None]] = []
        for server in filter(OfferedServer.is_wanted, self._servers.values()):
            is_quick = server.is_quick()
            task = server.refresh()
            if is_quick or not self._has_waited:
                awaited.append(task)
        if awaited:
            await asyncio.wait(awaited, timeout=CHANGE_PATIENCE if self._has_waited else self._patience)
        self._has_waited = True
        return [tool for server in self._servers.values() for tool in server.tools()]

    def notes(self) -> list[str]:
        """What happened since this was last asked: who connected, who failed, which tools changed."""
        news, self._notes = self._notes, []
        return news

    def statuses(self) -> list[ServerStatus]:
        """How each server is, in the order in which they were given."""
        return [self._status(config) for config in self._configs.values()]

    def connection(self, name: str) -> Connection:
        """The connection to a server, connected or not; a `ConfigError` where there is none of this name.

        The first use imports the SDK, which takes most of a second.
        """
        if name not in self._servers:
            known = ", ".join(self._servers) or "none"
            off = "is not enabled" if name in self._configs else "is not there"
            raise ConfigError(f"the MCP server {cut(repr(name))} {off}", hint=f"There are: {known}.", server=name)
        if name not in self._connections:
            from .connection import Connection
            from .requests import ServerRequests

            config = self._configs[name]
            self._connections[name] = Connection(
                config,
                cwd=self._folder(config),
                environment=self._environment,
                log=ServerLog(self._log_path(config)),
                login=self._login,
                requests=ServerRequests(config.name, lambda: self._host, self._fill_in),
                on_change=self._servers[name].changed,
            )
        return self._connections[name]

    async def read_resource(self, server: str, uri: str) -> list[TextPart | MediaPart]:
        """What a server has under this address, as parts of a message."""
        from .content import resource_parts

        return resource_parts(await (await self._imported(server)).read_resource(uri))

    async def prompt(self, server: str, name: str, arguments: Mapping[str, str] | None = None) -> list[Message]:
        """A prompt of a server's, filled in."""
        from .content import prompt_messages

        return prompt_messages(await (await self._imported(server)).get_prompt(name, arguments))

    async def close(self) -> None:
        """Ends all servers. What is used afterwards is started again."""
        for server in self._servers.values():
            server.stop()
        await asyncio.gather(*(connection.close() for connection in self._connections.values()))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def _imported(self, name: str) -> Connection:
        await asyncio.to_thread(import_sdk)
        return self.connection(name)

    def _status(self, config: ServerConfig) -> ServerStatus:
        words = config.url or shlex.join((config.command, *config.args))
        server = self._servers.get(config.name)
        if server is None:
            return ServerStatus(config.name, "off", words, [], [], "")
        connection = self._connections.get(config.name)
        offered = server.offered_names()
        state = "idle" if connection is None else connection.state
        problem = server.problem
        if not problem and state == "failed" and connection is not None and connection.error is not None:
            problem = connection.error.message
        return ServerStatus(config.name, state, words, offered, list(server.disabled), problem)

    def _folder(self, config: ServerConfig) -> str:
        """Where a server runs that says nothing about it. A person's own does not run in the workspace: programs that
        look for code in their folder (`npx`, `uvx`) would take the project's, to which nobody agreed."""
        if config.scope != "user":
            return self._workspace
        return self._environment.get("HOME") or os.path.expanduser("~")

    def _log_path(self, config: ServerConfig) -> Path | None:
        return None if self._logs is None else self._logs / log_path(self._environment, config.identity).name

    def _tell(self, note: str) -> None:
        if len(self._notes) < NOTES:
            self._notes.append(note)
