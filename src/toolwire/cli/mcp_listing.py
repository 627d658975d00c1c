"""`toolwire mcp list`, `test` and `tools`: which servers there are, whether they work, and what they offer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import msgspec
from cyclopts import Parameter

from ..approval.hidden import marked
from ..approval.places import Workspace
from ..mcp.config import ServerConfig
from .console import PlainConsole
from .faults import FAILED, say
from .mcp_consent import room, show, words
from .mcp_looking import Seen, look, say_failed
from .mcp_servers import TRUST, McpHere, how_words
from .mcp_shown import counted, everything, list_tools, offered_tool, print_tested, tested, tool_lines, write_json
from .question import argument_lines

if TYPE_CHECKING:
    pass

_WHOSE = {"user": "yours", "project": "of this project", "given": "named here"}
NO_SERVERS = "Add one: toolwire mcp add time -- uvx mcp-server-time"


class Listed(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A server in the list."""

    name: str
    how: str
    scope: str
    source: str
    state: str
    """`off`, `needs consent`, `not started`; with `--check` also `works` and `fails`."""
    looked_at: list[str]
    """Its tools that a person has looked at."""
    new: list[str] = []
    changed: list[str] = []
    problem: str = ""


def list_servers(
    *,
    check: Annotated[bool, Parameter(negative="", show_default=False)] = False,
    mcp_config: Annotated[list[str] | None, Parameter(metavar="FILE", negative="")] = None,
    json: Annotated[bool, Parameter(negative="", show_default=False)] = False,
) -> int:
    """Lists the MCP servers that are known here: your own, and those of this project.

    Parameters
    ----------
    check
        Connect to them, to see which work and whether their tools are as they were when you looked at them.
    mcp_config
        A further file of servers. Can be given several times.
    json
        Print one JSON object for each, a line each.
    """
    here = _here(mcp_config)
    if not here.servers and not json:
        say("no MCP server is set up here", NO_SERVERS)
        return 0
    code = 0
    if not check:
        for config in here.servers:
            _print_listed(_listed(here, config), json=json)
        return code

    def tell(seen: Seen) -> None:
        nonlocal code
        code = code if seen.error is None else FAILED
        _print_listed(_checked(here, seen), json=json)

    look(here, [config for config in here.servers if config.enabled], list_tools, tell)
    return code


def test(
    *name: Annotated[str, Parameter(name="NAME")],
    mcp_config: Annotated[list[str] | None, Parameter(metavar="FILE", negative="")] = None,  # noqa: PT028
    json: Annotated[bool, Parameter(negative="", show_default=False)] = False,  # noqa: PT028
) -> int:
    """Connects to MCP servers, all at the same time, and says how that went. A login is done where one is needed.

    Parameters
    ----------
    name
        The servers; without any, all that are set up here.
    mcp_config
        A further file of servers. Can be given several times.
    json
        Print one JSON object for each, a line each.
    """
    here = _here(mcp_config)
    configs = here.chosen(name)
    if not configs:
        say("no MCP server is set up here", NO_SERVERS)
        return FAILED
    code = 0

    def tell(seen: Seen) -> None:
        nonlocal code
        code = code if seen.error is None else FAILED
        found = tested(seen)
        if json:
            write_json(found)
        else:
            print_tested(found)

    look(here, configs, everything, tell)
    return code


def tools(
    *name: Annotated[str, Parameter(name="NAME")],
    mcp_config: Annotated[list[str] | None, Parameter(metavar="FILE", negative="")] = None,
    json: Annotated[bool, Parameter(negative="", show_default=False)] = False,
) -> int:
    """Shows the tools of MCP servers with all that the servers say of them.

    Parameters
    ----------
    name
        The servers; without any, all that are set up here.
    mcp_config
        A further file of servers. Can be given several times.
    json
        Print one JSON object for each tool, a line each.
    """
    here = _here(mcp_config)
    configs = here.chosen(name)
    if not configs:
        say("no MCP server is set up here", NO_SERVERS)
        return FAILED
    console = PlainConsole()
    code = 0
    for seen in look(here, configs, list_tools):
        if seen.error is not None:
            code = say_failed(seen.error)
            continue
        for definition in seen.found:
            offered = offered_tool(here, seen.config, definition)
            if json:
                write_json(offered)
            else:
                show(console, tool_lines(offered, room(console)))
    return code


def _here(further: list[str] | None) -> McpHere:
    """The servers of this folder; what is odd about their files is said."""
    here = McpHere(Workspace.here().root, further=further or ())
    for note in here.notes:
        say(note)
    return here


def _listed(here: McpHere, config: ServerConfig) -> Listed:
    state = "not started" if here.may_start(config) else "needs consent"
    return Listed(
        name=config.name,
        how=how_words(config),
        scope=config.scope,
        source=config.source,
        state=state if config.enabled else "off",
        looked_at=here.looked_at(config),
    )


def _checked(here: McpHere, seen: Seen) -> Listed:
    listed = _listed(here, seen.config)
    if seen.error is not None:
        state = listed.state if listed.state == "needs consent" else "fails"
        return msgspec.structs.replace(listed, state=state, problem=seen.error.message)
    offered = [offered_tool(here, seen.config, definition) for definition in seen.found]
    return msgspec.structs.replace(
        listed,
        state="works",
        new=[each.tool for each in offered if each.state == "new"],
        changed=[each.tool for each in offered if each.state == "changed"],
    )


def _print_listed(listed: Listed, *, json: bool) -> None:
    if json:
        write_json(listed)
        return
    console = PlainConsole()
    name = marked(listed.name)
    facts = [_WHOSE[listed.scope], listed.state]
    if listed.looked_at:
        facts.append(f"{counted(len(listed.looked_at), 'tools')} looked at")
    console.out(name, end="", style="bold")
    console.out(f"  {', '.join(facts)}")
    show(console, argument_lines(listed.how, room(console)))
    if listed.problem and listed.state != "needs consent":
        show(console, words(marked(listed.problem), room(console), "red"))
    if listed.new:
        show(console, words(f"new: {', '.join(map(marked, listed.new))}", room(console), "yellow"))
    if listed.changed:
        show(console, words(f"CHANGED: {', '.join(map(marked, listed.changed))}", room(console), "bold red"))
    if listed.new or listed.changed or listed.state == "needs consent":
        show(console, words(f"To look at: {TRUST} {name}", room(console)))
