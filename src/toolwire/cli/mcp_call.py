"""`toolwire mcp call`: a tool of a server, called by hand."""

from __future__ import annotations

import json as json_text
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from ..approval.hidden import marked
from ..errors import ConfigError, McpFailed
from ..mcp.content import output_of
from ..mcp.definitions import tool_of
from ..messages import TextPart
from ..strict_json import NotStrict, parse_arguments
from .faults import FAILED, say
from .inputs import STANDARD_INPUT, as_text, read_whole
from .mcp_answers import asked, one_server, pairs, print_parts
from .mcp_servers import TRUST
from .mcp_shown import not_run, write_json

if TYPE_CHECKING:
    from ..mcp.connection import Connection


def call(
    name: Annotated[str, Parameter(name="NAME")],
    tool: Annotated[str, Parameter(name="TOOL")],
    /,
    *argument: Annotated[str, Parameter(name="ARGUMENT")],
    output: Annotated[str | None, Parameter(name=["--output", "-o"], metavar="FOLDER")] = None,
    mcp_config: Annotated[list[str] | None, Parameter(metavar="FILE", negative="")] = None,
    json: Annotated[bool, Parameter(negative="", show_default=False)] = False,
) -> int:
    """Calls a tool of an MCP server and prints what it gives. It runs without a question: it was you who asked for it.

    Parameters
    ----------
    name
        The server.
    tool
        The tool, by the server's name for it.
    argument
        One JSON object ("-" reads it from standard input), or KEY=VALUE for each argument.
    output
        The folder that pictures, sounds and files are written into. Without it, they are only mentioned.
    mcp_config
        A further file of servers. Can be given several times.
    json
        Print what the server answers, as one JSON object.
    """
    here, config = one_server(name, mcp_config)
    wanted = as_text(tool)
    given = _read(argument)

    async def ask(connection: Connection) -> dict[str, Any]:
        definitions = {str(each.get("name", "")): each for each in await connection.list_tools()}
        definition = definitions.get(wanted)
        if definition is None:
            raise ConfigError(
                f"{marked(config.name)} has no tool {marked(wanted)}",
                hint=f"It has: {', '.join(map(marked, definitions)) or 'none'}",
            )
        if here.pins.state(config.identity, definition) == "changed":
            raise McpFailed(
                f"the tool {wanted} of {config.name} is not what it was when you looked at it",
                hint=f"See what has changed: {TRUST} {config.name} {wanted}",
                server=config.name,
                why="changed",
            )
        made = tool_of(config, definition, not_run, seen=True)
        arguments = given if isinstance(given, dict) else _by_schema(given, made.parameters)
        if problem := made.problem(arguments):
            raise ConfigError(problem, hint=f"What it takes: toolwire mcp tools {config.name}")
        return await connection.call(wanted, arguments, say)

    result = asked(here, config, ask)
    if result is None:
        return FAILED
    if json:
        write_json(result)
        return FAILED if result.get("isError") is True else 0
    made = output_of(result)
    print_parts([*([TextPart(made.text)] if made.text else []), *made.media], output)
    return FAILED if made.is_error else 0


def _read(given: Sequence[str]) -> dict[str, Any] | list[tuple[str, str]]:
    """The arguments: an object, or names and texts whose meaning the schema says."""
    if len(given) == 1 and (given[0] == STANDARD_INPUT or given[0].lstrip().startswith("{")):
        text = (
            read_whole(STANDARD_INPUT).decode("utf-8", "replace") if given[0] == STANDARD_INPUT else as_text(given[0])
        )
        try:
            return parse_arguments(text)
        except NotStrict as problem:
            raise ConfigError(str(problem), hint="""Write them as '{"city": "Paris"}', or city=Paris.""") from None
    return pairs(given)


def _by_schema(given: Sequence[tuple[str, str]], schema: dict[str, Any]) -> dict[str, Any]:
    """Each text as what the schema wants: itself where that may be a text, else the JSON that it is."""
    properties = schema.get("properties", {})
    made: dict[str, Any] = {}
    for name, text in given:
        described = properties.get(name)
        kind = described.get("type") if isinstance(described, dict) else None
        if kind == "string" or (isinstance(kind, list) and "string" in kind):
            made[name] = text
            continue
        try:
            made[name] = json_text.loads(text)
        except (ValueError, RecursionError):
            made[name] = text
    return made
