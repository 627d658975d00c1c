"""`toolwire mcp prompts` and `resources`: what servers have to read."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from ..approval.hidden import marked
from ..errors import ConfigError
from ..mcp.content import prompt_messages, resource_parts
from ..messages import Part, TextPart
from .console import PlainConsole
from .faults import FAILED
from .inputs import as_text
from .mcp_answers import asked, one_server, pairs, print_parts
from .mcp_consent import room, show, words
from .mcp_looking import Look, look, say_failed
from .mcp_servers import for_shell, say_none, servers_here
from .mcp_shown import write_json
from .visible import one_line

if TYPE_CHECKING:
    from ..mcp.connection import Connection


def prompts(
    name: Annotated[str | None, Parameter(name="NAME")] = None,
    prompt: Annotated[str | None, Parameter(name="PROMPT")] = None,
    /,
    *argument: Annotated[str, Parameter(name="KEY=VALUE")],
    output: Annotated[str | None, Parameter(name=["--output", "-o"], metavar="FOLDER")] = None,
    mcp_config: Annotated[list[str] | None, Parameter(metavar="FILE", negative="")] = None,
    json: Annotated[bool, Parameter(negative="", show_default=False)] = False,
) -> int:
    """Lists the prompts that MCP servers have, or prints one. A run is given one by --attach mcp:NAME:prompt:PROMPT.

    Parameters
    ----------
    name
        The server; without it, all of them.
    prompt
        The prompt that is printed.
    argument
        What the prompt is made with.
    output
        The folder that pictures, sounds and files are written into. Without it, they are only mentioned.
    mcp_config
        A further file of servers. Can be given several times.
    json
        Print what the servers answer, one JSON object a line.
    """
    if name is None or prompt is None:
        return _list(name, mcp_config, _list_prompts, _prompt_line, json=json)
    here, config = one_server(name, mcp_config)
    wanted, values = as_text(prompt), dict(pairs(argument))

    async def ask(connection: Connection) -> dict[str, Any]:
        known = {str(each.get("name", "")): each for each in await connection.list_prompts()}
        if wanted not in known:
            raise ConfigError(
                f"{marked(config.name)} has no prompt {marked(wanted)}",
                hint=f"It has: {', '.join(map(marked, known)) or 'none'}",
            )
        takes = _prompt_arguments(known[wanted])
        if unset := [each for each, required in takes.items() if required and each not in values]:
            raise ConfigError(
                f"the prompt {marked(wanted)} needs {', '.join(map(marked, unset))}", hint="Give them as KEY=VALUE."
            )
        return await connection.get_prompt(wanted, values)

    result = asked(here, config, ask)
    if result is None:
        return FAILED
    if json:
        write_json(result)
        return 0
    console = PlainConsole()
    for message in prompt_messages(result):
        console.out(f"{message.role}:", style="bold")
        print_parts(message.parts, output)
    return 0


def resources(
    name: Annotated[str | None, Parameter(name="NAME")] = None,
    uri: Annotated[str | None, Parameter(name="URI")] = None,
    /,
    *,
    output: Annotated[str | None, Parameter(name=["--output", "-o"], metavar="FOLDER")] = None,
    mcp_config: Annotated[list[str] | None, Parameter(metavar="FILE", negative="")] = None,
    json: Annotated[bool, Parameter(negative="", show_default=False)] = False,
) -> int:
    """Lists the resources that MCP servers have, or prints one. A run is given one by --attach mcp:NAME:URI.

    Parameters
    ----------
    name
        The server; without it, all of them.
    uri
        The resource that is printed.
    output
        The folder that pictures, sounds and files are written into. Without it, they are only mentioned.
    mcp_config
        A further file of servers. Can be given several times.
    json
        Print what the servers answer, one JSON object a line.
    """
    if name is None or uri is None:
        return _list(name, mcp_config, _list_resources, _resource_line, json=json)
    here, config = one_server(name, mcp_config)
    wanted = as_text(uri)
    there = f"What it has: toolwire mcp resources {for_shell(config.name)}"
    result = asked(here, config, lambda connection: connection.read_resource(wanted), there)
    if result is None:
        return FAILED
    if json:
        write_json(result)
    else:
        print_parts(_contents(result), output)
    return 0


def _contents(result: dict[str, Any]) -> list[Part]:
    """What a resource holds; of a text nothing else, so that it can go into a file."""
    contents = result.get("contents")
    parts: list[Part] = []
    for each in contents if isinstance(contents, list) else []:
        text = each.get("text") if isinstance(each, dict) else None
        parts += [TextPart(text)] if isinstance(text, str) else resource_parts({"contents": [each]})
    return parts


def _list(
    name: str | None, further: list[str] | None, ask: Look, line: Callable[[dict[str, Any]], str], *, json: bool
) -> int:
    here = servers_here(further)
    configs = here.chosen([] if name is None else [name])
    if not configs:
        return say_none(here)
    console = PlainConsole()
    code = 0
    for seen in look(here, configs, ask):
        if seen.error is not None:
            code = say_failed(seen.error)
            continue
        if not json:
            console.out(marked(seen.config.name), style="bold")
        for each in seen.found:
            if json:
                write_json({"server": seen.config.name, **each})
            else:
                show(console, words(line(each), room(console)))
        if not (seen.found or json):
            show(console, words("(none)", room(console), "dim"))
    return code


async def _list_prompts(connection: Connection) -> list[dict[str, Any]]:
    return await connection.list_prompts()


async def _list_resources(connection: Connection) -> list[dict[str, Any]]:
    return [*await connection.list_resources(), *await connection.list_templates()]


def _prompt_arguments(prompt: dict[str, Any]) -> dict[str, bool]:
    """What a prompt takes, and whether it must be given."""
    listed = prompt.get("arguments")
    return {
        str(each.get("name", "")): each.get("required") is True
        for each in (listed if isinstance(listed, list) else [])
        if isinstance(each, dict)
    }


def _prompt_line(prompt: dict[str, Any]) -> str:
    takes = "".join(
        f" {name}=…" if required else f" [{name}=…]" for name, required in _prompt_arguments(prompt).items()
    )
    return marked(one_line(f"{prompt.get('name', '')}{takes} {prompt.get('description') or prompt.get('title') or ''}"))


def _resource_line(resource: dict[str, Any]) -> str:
    kind = f" ({resource['mimeType']})" if resource.get("mimeType") else ""
    place = resource.get("uri") or resource.get("uriTemplate") or ""
    return marked(one_line(f"{place}{kind} {resource.get('description') or resource.get('name') or ''}"))
