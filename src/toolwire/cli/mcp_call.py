"""`toolwire mcp call`: a tool of a server, called by hand."""

from __future__ import annotations

import json as json_text
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from ..errors import ConfigError, McpFailed
from ..mcp.content import output_of
from ..mcp.definitions import tool_of
from ..messages import TextPart
from ..strict_json import NotStrict, parse_arguments
from .faults import FAILED, say
from .inputs import STANDARD_INPUT, as_text, read_whole
from .mcp_answers import asked, one_server, pairs, print_parts
from .mcp_servers import TRUST, for_shell
from .mcp_shown import no_tool, not_run, write_json

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
            raise no_tool(config.name, wanted, definitions)
        if here.pins.state(config.identity, definition) == "changed":
            raise McpFailed(
                f"the tool {wanted} of {config.name} is not what it was when you looked at it",
                hint=f"See what has changed: {TRUST} {for_shell(config.name, wanted)}",
                server=config.name,
                why="changed",
            )
        made = tool_of(config, definition, not_run, seen=True)
        arguments = given if isinstance(given, dict) else by_schema(given, made.parameters)
        if problem := made.problem(arguments):
            raise ConfigError(problem, hint=f"What it takes: toolwire mcp tools {for_shell(config.name, wanted)}")
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


def by_schema(given: Sequence[tuple[str, str]], schema: dict[str, Any]) -> dict[str, Any]:
    """Each text as what the schema wants: itself where that may be a text, else the JSON that it is."""
    properties = schema.get("properties", {})
    made: dict[str, Any] = {}
    for name, text in given:
        if _may_be_text(properties.get(name), schema):
            made[name] = text
            continue
        try:
            made[name] = json_text.loads(text)
        except (ValueError, RecursionError):
            made[name] = text
    return made


def _may_be_text(described: Any, schema: dict[str, Any], depth: int = 8) -> bool:
    """Whether a schema takes a text, also as one of several kinds: `anyOf` a text or nothing is what most servers say
    of an argument that may be left out."""
    if not isinstance(described, dict) or depth == 0:
        return False
    kind = described.get("type")
    if kind is not None:
        return kind == "string" or (isinstance(kind, list) and "string" in kind)
    texts = described.get("enum", [described.get("const")])
    if isinstance(texts, list) and any(isinstance(each, str) for each in texts):
        return True
    branches = [_referred(described.get("$ref"), schema)]
    for word in ("anyOf", "oneOf", "allOf"):
        given = described.get(word)
        branches += given if isinstance(given, list) else []
    return any(_may_be_text(each, schema, depth - 1) for each in branches)


def _referred(reference: Any, schema: dict[str, Any]) -> Any:
    """What a `$ref` into the same schema leads to; None where it leads nowhere."""
    if not isinstance(reference, str) or not reference.startswith("#/"):
        return None
    found: Any = schema
    for step in reference[2:].split("/"):
        found = found.get(step.replace("~1", "/").replace("~0", "~")) if isinstance(found, dict) else None
    return found
