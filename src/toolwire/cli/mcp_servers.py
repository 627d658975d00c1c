"""The MCP servers of this folder and this person, as the commands use them: which there are, and which may be used."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec
from rich.console import Console

from ..approval.hidden import marked
from ..approval.places import Workspace
from ..errors import ConfigError
from ..folders import state_folder
from ..mcp.config import ServerConfig
from ..mcp.consent import Consents, consents_path
from ..mcp.definitions import is_offered
from ..mcp.files import load_servers, mcp_paths
from ..mcp.names import check_names
from ..mcp.pins import Pins, pins_path
from ..mcp.servers import McpServers
from ..refusals import shown_url
from .faults import FAILED, say
from .inputs import as_text, check_files
from .mcp_consent import consented

if TYPE_CHECKING:
    from ..mcp.host import FillIn

TRUST = "toolwire mcp trust"
ADD_ONE = "Add one: toolwire mcp add time -- uvx mcp-server-time"
SHOWN_COMMAND = 300
"""Characters of a command where it is only to be recognised; a question of consent shows all of it."""


class McpHere:
    """What the files say of the servers here, and what the person has said to them. Nothing is started.

    `further` are files that were named on the command line. What cannot be understood is a `ConfigError`.
    """

    def __init__(self, root: str, *, further: Iterable[str] = ()) -> None:
        further = list(further)
        check_files(further)
        self.root = root
        self.paths = mcp_paths(os.environ, root)
        self.consents = Consents(consents_path(os.environ))
        self.pins = Pins(pins_path(os.environ))
        loaded = load_servers(self.paths, consents=self.consents, further=[Path(name) for name in further])
        self.notes: list[str] = list(loaded.notes)
        self._unconsented = {config.name for config in loaded.unconsented}
        self.servers: list[ServerConfig] = sorted([*loaded.servers, *loaded.unconsented], key=lambda each: each.name)
        check_names(self.servers)

    def chosen(self, names: Sequence[str]) -> list[ServerConfig]:
        """The servers of these names, in this order; all that are not switched off where none is named."""
        if not names:
            return [config for config in self.servers if config.enabled]
        known = {config.name: config for config in self.servers}
        wanted = list(dict.fromkeys(map(as_text, names)))
        if missing := [name for name in wanted if name not in known]:
            raise ConfigError(
                f"there is no MCP server {marked(missing[0])} here",
                hint=f"There are: {', '.join(marked(name) for name in known)}." if known else ADD_ONE,
            )
        # Who names one that is switched off wants it now.
        return [msgspec.structs.replace(known[name], enabled=True) for name in wanted]

    def may_start(self, config: ServerConfig) -> bool:
        """Whether it is the person's own, or they have agreed to it."""
        return config.name not in self._unconsented

    def agreed(self, config: ServerConfig) -> None:
        """Keeps that the person agrees to it."""
        self.consents.give(config)
        self._unconsented.discard(config.name)

    def looked_at(self, config: ServerConfig) -> list[str]:
        """The tools of it that a person has looked at and that are offered, by the server's names."""
        return [name for name in self.pins.known(config.identity) if is_offered(config, name)]

    def open(
        self, configs: Sequence[ServerConfig], *, person: bool, fill_in: FillIn | None = None, tell: Tell = say
    ) -> McpServers:
        """These servers, ready to be connected to. With a `person`, a login may open their browser."""
        login = None
        if any(config.url for config in configs):
            from ..mcp.login import Login, tokens_path

            login = Login(tokens_path(os.environ), interactive=person, tell=tell)
        return McpServers(
            configs, pins=self.pins, workspace=self.root, logs=logs_folder(), fill_in=fill_in, login=login
        )


Tell = Callable[[str], None]


def servers_here(further: Iterable[str] | None) -> McpHere:
    """The servers of this folder, with the files that were named; what is odd about any file is said."""
    here = McpHere(Workspace.here().root, further=further or ())
    for note in here.notes:
        say(note)
    return here


def say_none(here: McpHere) -> int:
    """Says why there is no server to use; the exit code."""
    if here.servers:
        say("all MCP servers here are switched off", "Name one to use it now: toolwire mcp list shows them.")
    else:
        say("no MCP server is set up here", ADD_ONE)
    return FAILED


def for_shell(*words: str) -> str:
    """Names of servers and tools as they are typed."""
    return " ".join(shlex.quote(marked(each)) for each in words)


def logs_folder() -> Path:
    """Where what servers write to their standard error is kept."""
    return state_folder(os.environ) / "mcp" / "logs"


def how_words(config: ServerConfig) -> str:
    """What would be started or reached, to recognise it by."""
    words = shlex.join([config.command, *config.args]) if config.command else shown_url(config.url)
    words = marked(words)
    return f"{words[:SHOWN_COMMAND]}{'…' * (len(words) > SHOWN_COMMAND)}"


class RunServers(NamedTuple):
    """What `toolwire run` has of MCP."""

    servers: McpServers | None
    words: list[str]
    """For the header."""
    problems: list[str]
    """Those of them that the person should know of also where no header is shown."""


def servers_for_run(
    root: str,
    console: Console | None,
    *,
    person: bool,
    wanted: bool,
    only: Sequence[str] | None,
    config: Sequence[str],
    fill_in: FillIn | None = None,
    tell: Tell = say,
) -> RunServers:
    """The servers whose tools a run has: `only` these, else all that are set up, and those of `config` files.

    A `person` is asked, at the `console`, about each server of the project that they have not agreed to yet. Without
    both, or without their yes, it is left out, and the words say so. Where none is `wanted`, no file is read.
    What a login in the person's browser has to say is told to `tell`.
    """
    if not wanted:
        if only or config:
            raise ConfigError("--no-mcp leaves out the servers that are named", hint="Leave one of them out.")
        return RunServers(None, [], [])
    here = McpHere(root, further=config)
    problems = list(here.notes)
    used: list[ServerConfig] = []
    told: list[str] = []
    for each in here.chosen(only or ()):
        if here.may_start(each) or (person and console is not None and consented(here, each, console)):
            used.append(each)
            told.append(f"{marked(each.name)}{_count_words(here, each)}")
        else:
            problems.append(
                f"MCP server {marked(each.name)} of this project needs your consent: {TRUST} {for_shell(each.name)}"
            )
    words = [f"MCP: {', '.join(told)}"] if told else []
    servers = here.open(used, person=person, fill_in=fill_in, tell=tell) if used else None
    return RunServers(servers, words + problems, problems)


def _count_words(here: McpHere, config: ServerConfig) -> str:
    count = len(here.looked_at(config))
    return f" ({count} tool{'' if count == 1 else 's'})" if count else ""
