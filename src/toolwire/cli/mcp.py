"""`toolwire mcp add` and `remove`: the servers in the person's own file."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated

import msgspec
from cyclopts import Parameter

from ..approval.hidden import marked
from ..approval.places import Workspace
from ..errors import ConfigError
from ..mcp.config import CALL_SECONDS, ServerConfig
from ..mcp.files import add_server, remove_server
from ..mcp.log import log_path
from ..mcp.login import Login, tokens_path
from ..mcp.names import check_names
from ..mcp.reading import Form, read_servers
from ..tools.definition import Risk
from .console import PlainConsole
from .faults import FAILED, say
from .inputs import STANDARD_INPUT, as_text, read_whole
from .mcp_consent import pointed, room, show, words
from .mcp_looking import Seen, look
from .mcp_servers import TRUST, McpHere, for_shell, how_words
from .mcp_shown import everything, offered_tool, print_tested, tested

_WHOLE = ("/", "~/", "${")
"""How a path begins that leads to the same place from everywhere."""
_RISK_UNKNOWN = (
    "Also after that, unless --risk said what they can do at worst (--force adds it anew), or a rule allows them."
)
_FORMS = "toolwire mcp add NAME -- COMMAND ARGUMENTS, or toolwire mcp add NAME https://ADDRESS"


def add(
    *given: Annotated[str, Parameter(name="NAME")],
    env: Annotated[list[str] | None, Parameter(metavar="NAME=VALUE", negative="")] = None,
    cwd: Annotated[str, Parameter(metavar="FOLDER", show_default=False)] = "",
    header: Annotated[list[str] | None, Parameter(metavar="NAME=VALUE", negative="")] = None,
    oauth: Annotated[bool, Parameter(negative="", show_default=False)] = False,
    risk: Annotated[list[str] | None, Parameter(metavar="[TOOL=]RISK", negative="")] = None,
    allow: Annotated[list[str] | None, Parameter(metavar="TOOL", negative="")] = None,
    deny: Annotated[list[str] | None, Parameter(metavar="TOOL", negative="")] = None,
    timeout: Annotated[float, Parameter(metavar="SECONDS")] = CALL_SECONDS,
    from_file: Annotated[str | None, Parameter(name="--from", metavar="FILE")] = None,
    force: Annotated[bool, Parameter(negative="", show_default=False)] = False,
    no_test: Annotated[bool, Parameter(negative="", show_default=False)] = False,
) -> int:
    """Writes an MCP server into your own file, then connects to it and shows its tools.

    Parameters
    ----------
    given
        Its name, then its address, or -- and the command that starts it with its arguments.
    env
        A variable for the program: NAME=VALUE, or NAME alone for what it is in your environment each time. It gets
        only these and the usual few. ${NAME} in a value, an argument or a header is filled in from your environment.
    cwd
        The folder that the program runs in; else your home. ${workspaceFolder} is the one that tools work in.
    header
        A header for the address, such as Authorization='Bearer ${TOKEN}'.
    oauth
        It wants a login: your browser is opened for that, once.
    risk
        What its tools can do at worst: read, write, execute, network or dangerous; or TOOL=RISK for one of them.
        Without it, it is unknown, and each call is asked about.
    allow
        A tool that is offered, by the server's name for it, * for any characters; else all are.
    deny
        A tool that is not.
    timeout
        How long a call may take.
    from_file
        Take servers over from a file of another program (mcpServers, as many have it): those named, else all.
    force
        Replace one that is there.
    no_test
        Do not connect to it.
    """
    here = McpHere(Workspace.here().root)
    if from_file is not None:
        options = {"--env": env, "--cwd": cwd, "--header": header, "--oauth": oauth, "--risk": risk}
        options |= {"--allow": allow, "--deny": deny}
        if not_with := [name for name, value in options.items() if value]:
            raise ConfigError(
                f"--from takes servers as they are, and {', '.join(not_with)} would change them",
                hint="Take them over first, then change the file that they were written to.",
            )
        configs = _taken_over(from_file, given)
    else:
        config = _described(given)
        risks = _risks(risk or ())
        whole = _from_here(
            msgspec.structs.replace(
                config,
                env=dict(_variable(each) for each in env or ()),
                cwd=_exact(cwd),
                headers=dict(_header(each) for each in header or ()),
                oauth=oauth,
                risk=risks.pop("", None),
                risks=risks,
                allow=None if allow is None else tuple(map(as_text, allow)),
                deny=tuple(map(as_text, deny or ())),
                timeout=timeout,
            )
        )
        _check(whole)
        configs = [whole]
    _write(here, configs, force=force)
    if no_test:
        return 0
    return _tried(McpHere(here.root), [config.name for config in configs])


def remove(*name: Annotated[str, Parameter(name="NAME")]) -> int:
    """Takes MCP servers out of your own file, and forgets their tools, logins and logs.

    Parameters
    ----------
    name
        The servers.
    """
    if not name:
        raise ConfigError("no server is named", hint="Those that there are: toolwire mcp list")
    here = McpHere(Workspace.here().root)
    configs = here.chosen(name)
    for config in configs:
        if config.scope != "user":
            raise ConfigError(
                f"{marked(config.name)} stands in {marked(config.source)}, which is not your own file",
                hint=f"Take back your consent to it: {TRUST} {for_shell(config.name)} --revoke",
            )
        if Path(config.source) != here.paths.user:
            raise ConfigError(
                f"{marked(config.name)} stands in {marked(config.source)}, which you write yourself",
                hint=f"Take it out there: the table mcp.servers.{marked(config.name)}",
            )
    for config in configs:
        _forget(here, config)
        print(f"Removed {marked(config.name)}.")
    return 0


def _described(given: Sequence[str]) -> ServerConfig:
    """The server that the words on the command line are about."""
    if len(given) < 2:
        what = "nothing says how it is started or reached" if given else "no server is named"
        raise ConfigError(what, hint=_FORMS)
    name, *rest = (_exact(each) for each in given)
    if rest[0].lower().startswith(("http://", "https://")):
        if rest[1:]:
            raise ConfigError(f"{marked(rest[1])} stands behind the address", hint=_FORMS)
        return ServerConfig(name=name, url=rest[0], scope="user")
    return ServerConfig(name=name, command=rest[0], args=tuple(rest[1:]), scope="user")


def _check(config: ServerConfig) -> None:
    """What does not go together."""
    if config.url and (config.env or config.cwd):
        raise ConfigError("--env and --cwd are for a program, and this is an address", hint="Leave them out.")
    if config.command and (config.headers or config.oauth):
        raise ConfigError("--header and --oauth are for an address, and this is a program", hint="Leave them out.")
    if not (0 < config.timeout < float("inf")):
        raise ConfigError(f"--timeout {config.timeout:g} is no time to wait", hint="Give seconds, such as 120.")


def _taken_over(name: str, wanted: Sequence[str]) -> list[ServerConfig]:
    """The servers of another program's file, in the form of ours."""
    source = "standard input" if name == STANDARD_INPUT else os.path.abspath(name)
    form: Form = "toml" if source.lower().endswith(".toml") else "json"
    found = read_servers(read_whole(name), form=form, scope="user", source=as_text(source))
    for note in found.notes:
        say(note)
    known = {config.name: config for config in found.servers}
    names = list(map(as_text, wanted)) or list(known)
    if missing := [each for each in names if each not in known]:
        raise ConfigError(
            f"{as_text(source)} has no MCP server {marked(missing[0])}",
            hint=f"It has: {', '.join(map(marked, known)) or 'none'}",
        )
    if not names:
        raise ConfigError(f"{as_text(source)} has no MCP servers", hint='They stand there under "mcpServers".')
    return [_from_here(known[each]) for each in names]


def _from_here(config: ServerConfig) -> ServerConfig:
    """With whole paths: the person's own file is not about one folder."""
    command, cwd = config.command, config.cwd
    if "/" in command and not command.startswith(_WHOLE):
        command = os.path.abspath(command)
    if cwd and not cwd.startswith(_WHOLE):
        cwd = os.path.abspath(cwd)
    return msgspec.structs.replace(config, command=command, cwd=cwd)


def _write(here: McpHere, configs: Sequence[ServerConfig], *, force: bool) -> None:
    """Into the person's own file; where one of the names is taken, nothing is written."""
    own = {config.name: config for config in here.servers if config.scope == "user"}
    names = [config.name for config in configs]
    if (taken := [name for name in names if name in own]) and not force:
        raise ConfigError(
            f"there is already an MCP server {marked(taken[0])}: {how_words(own[taken[0]])}",
            hint="Choose another name, or replace it: --force",
        )
    for name in taken:
        if Path(own[name].source) != here.paths.user:
            raise ConfigError(
                f"{marked(name)} stands in {marked(own[name].source)}, which you write yourself",
                hint="Change it there, or choose another name.",
            )
    check_names([*(config for config in here.servers if config.name not in names), *configs])
    for config in configs:
        if config.name in taken:
            _forget(here, own[config.name])
        add_server(here.paths.user, config)
        print(f"Added {marked(config.name)}: {how_words(config)}")
    print(f"  in {as_text(str(here.paths.user))}")


def _tried(here: McpHere, names: Sequence[str]) -> int:
    """Connects to what was added and tells what it offers; the exit code."""
    code = 0
    console = PlainConsole()

    def tell(seen: Seen) -> None:
        nonlocal code
        print_tested(tested(seen))
        if seen.error is not None:
            code = FAILED
            name, width = for_shell(seen.config.name), room(console)
            show(console, pointed("It stays in the file. To try it again", f"toolwire mcp test {name}", width))
            show(console, pointed("To take it out", f"toolwire mcp remove {name}", width))
            return
        names = [marked(each.tool) for each in (offered_tool(here, seen.config, raw) for raw in seen.found.tools)]
        if names:
            show(console, words(f"Tools: {', '.join(names)}", room(console)))
            command = f"{TRUST} {for_shell(seen.config.name)}"
            show(console, pointed("Each call is asked about until you have looked at them", command, room(console)))
            if seen.config.risk is None:
                show(console, words(_RISK_UNKNOWN, room(console)))

    look(here, here.chosen(names), everything, tell)
    return code


def _forget(here: McpHere, config: ServerConfig) -> None:
    """Takes a server out of the file, with all that is kept of it."""
    remove_server(here.paths.user, config.name)
    here.pins.forget(config.identity)
    if config.url:
        Login(tokens_path(os.environ), interactive=False, tell=say).forget(config)
    log = log_path(os.environ, config.identity)
    for path in (log, Path(f"{log}.1")):
        path.unlink(missing_ok=True)


def _variable(given: str) -> tuple[str, str]:
    name, equals, value = _exact(given).partition("=")
    if not name or "\0" in given:
        raise ConfigError(f"--env {marked(as_text(given))} names no variable", hint="Write it as NAME=VALUE, or NAME.")
    return name, value if equals else f"${{{name}}}"


def _header(given: str) -> tuple[str, str]:
    text = _exact(given)
    ends = [text.index(char) for char in ":=" if char in text]
    name = text[: min(ends)].strip() if ends else ""
    if not name:
        raise ConfigError(
            f"--header {marked(text)} is no header", hint="Write it as NAME=VALUE, such as Authorization='Bearer …'."
        )
    return name, text[min(ends) + 1 :].strip()


def _risks(given: Iterable[str]) -> dict[str, Risk]:
    """The risk of each tool that was named, and under the empty name that of the server."""
    risks: dict[str, Risk] = {}
    for each in given:
        tool, _, word = as_text(each).rpartition("=")
        try:
            risks[tool] = Risk(word)
        except ValueError:
            raise ConfigError(
                f"--risk {marked(as_text(each))} is no risk", hint=f"There are: {', '.join(map(str, Risk))}"
            ) from None
    return risks


def _exact(given: str) -> str:
    """A word as it was typed; one whose bytes are no text could not be kept in the file."""
    text = as_text(given)
    if text != given.removeprefix("\0"):
        raise ConfigError(
            f"{marked(text)} is not UTF-8, and cannot be written down", hint="Use a script with a plain name."
        )
    return text
