"""`toolwire mcp list`, `test` and `tools`: which servers there are, whether they work, and what they offer."""

from __future__ import annotations

from typing import Annotated

import msgspec
from cyclopts import Parameter

from ..approval.hidden import marked
from ..mcp.config import ServerConfig
from .console import PlainConsole
from .faults import FAILED, say
from .inputs import as_text
from .mcp_consent import pointed, room, show, words
from .mcp_looking import Seen, look, say_failed
from .mcp_servers import TRUST, McpHere, for_shell, how_words, say_none, servers_here
from .mcp_shown import (
    counted,
    everything,
    list_tools,
    no_tool,
    offered_tool,
    print_tested,
    short_lines,
    tested,
    tool_lines,
    write_json,
)
from .question import argument_lines

_WHOSE = {"user": "yours", "project": "of this project", "given": "named here"}


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
    here = servers_here(mcp_config)
    if not here.servers and not json:
        say_none(here)
        return 0
    code = 0
    for config in here.servers:
        if not (check and config.enabled):
            _print_listed(_listed(here, config), json=json)
    if not check:
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
    here = servers_here(mcp_config)
    configs = here.chosen(name)
    if not configs:
        return say_none(here)
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
    name: Annotated[str | None, Parameter(name="NAME")] = None,
    /,
    *tool: Annotated[str, Parameter(name="TOOL")],
    full: Annotated[bool, Parameter(negative="", show_default=False)] = False,
    mcp_config: Annotated[list[str] | None, Parameter(metavar="FILE", negative="")] = None,
    json: Annotated[bool, Parameter(negative="", show_default=False)] = False,
) -> int:
    """Lists the tools of MCP servers, in short; those that are named with all that the server says of them.

    Parameters
    ----------
    name
        The server; without it, all that are set up here.
    tool
        Its tools that are shown whole, by the server's names for them.
    full
        Show all of them whole.
    mcp_config
        A further file of servers. Can be given several times.
    json
        Print one JSON object for each tool, a line each.
    """
    here = servers_here(mcp_config)
    configs = here.chosen([] if name is None else [name])
    if not configs:
        return say_none(here)
    console = PlainConsole()
    only = list(map(as_text, tool))
    lines = tool_lines if full or only else short_lines
    code = 0
    is_shortened = False
    for seen in look(here, configs, list_tools):
        if seen.error is not None:
            code = say_failed(seen.error)
            continue
        offers = [offered_tool(here, seen.config, definition) for definition in seen.found]
        names = [each.tool for each in offers]
        if missing := [each for each in only if each not in names]:
            raise no_tool(seen.config.name, missing[0], names)
        for offered in offers:
            if only and offered.tool not in only:
                continue
            if json:
                write_json(offered)
            else:
                show(console, lines(offered, room(console)))
                is_shortened = lines is short_lines
    if is_shortened and console.is_terminal:
        say("in short", "All that a server says of a tool: toolwire mcp tools NAME TOOL; of all of them: --full")
    return code


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
        show(console, pointed("To look at", f"{TRUST} {for_shell(listed.name)}", room(console)))
