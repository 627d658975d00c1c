"""What servers have to read, as parts of a question: `mcp:SERVER:URI` and `mcp:SERVER:prompt:NAME?key=value`.

The words of a server go to the model with a line around them that says whose they are.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, unquote

from ..approval.hidden import marked
from ..errors import ConfigError, McpFailed
from ..framed import frame_lines
from ..messages import MediaPart, Message, Part, TextPart
from ..tools.check import cut
from .sdk import import_sdk

if TYPE_CHECKING:
    from .connection import Connection
    from .servers import McpServers

PREFIX = "mcp:"
_PROMPT = "prompt:"
LISTED = 20
"""How many of a server's resources or prompts an error names."""
_FORM = "Write mcp:SERVER:URI for a resource, or mcp:SERVER:prompt:NAME?key=value for a prompt."


def is_reference(text: str) -> bool:
    """Whether this names something of a server, and no file. A file of such a name is `./mcp:…`."""
    return text.startswith(PREFIX)


async def attached(servers: McpServers, text: str) -> list[Part]:
    """The parts that a reference stands for. A `ConfigError` lists what there is where it names nothing."""
    server, what = _split([status.name for status in servers.statuses()], text)
    # A resource's own address may begin with `prompt://`.
    if what.startswith(_PROMPT) and not what.startswith(f"{_PROMPT}//"):
        return await _prompt(servers, server, what.removeprefix(_PROMPT))
    return await _resource(servers, server, what)


def _split(names: list[str], text: str) -> tuple[str, str]:
    """The server and what is wanted of it. The longest name counts: a name may hold a colon."""
    rest = text.removeprefix(PREFIX)
    for name in sorted(names, key=len, reverse=True):
        what = rest.removeprefix(f"{name}:")
        if what != rest:
            if not what:
                raise ConfigError(f"{cut(repr(text))} names nothing of the MCP server {name!r}", hint=_FORM)
            return name, what
    raise ConfigError(f"{cut(repr(text))} names no MCP server", hint=f"{_listed('servers', names)} {_FORM}")


async def _resource(servers: McpServers, server: str, uri: str) -> list[Part]:
    try:
        parts = await servers.read_resource(server, uri)
    except McpFailed as error:
        # A server that could not be asked has nothing to list either.
        if error.facts.get("why") not in (None, "refused", "protocol"):
            raise
        raise ConfigError(
            f"{cut(repr(uri))} cannot be attached: {error.message}",
            hint=await _resources_there(servers, server),
            server=server,
        ) from None
    return _framed(f"resource {uri} of the MCP server {server}", parts)


async def _prompt(servers: McpServers, server: str, written: str) -> list[Part]:
    name, _, query = written.partition("?")
    name = unquote(name)
    try:
        given = dict(parse_qsl(query, keep_blank_values=True, strict_parsing=bool(query), max_num_fields=100))
    except ValueError:
        raise ConfigError(f"the arguments of the prompt {cut(repr(name))} cannot be read", hint=_FORM) from None
    prompts = await (await _connection(servers, server)).list_prompts()
    known = next((each for each in prompts if each.get("name") == name), None)
    if known is None:
        names = [str(each.get("name", "")) for each in prompts]
        raise ConfigError(
            f"the MCP server {server!r} has no prompt {cut(repr(name))}", hint=_listed("prompts", names), server=server
        )
    _check_arguments(server, name, known, given)
    return _framed(f"prompt {name} of the MCP server {server}", _flat(await servers.prompt(server, name, given)))


def _check_arguments(server: str, name: str, known: dict[str, Any], given: dict[str, str]) -> None:
    arguments = [each for each in known.get("arguments") or () if isinstance(each, dict)]
    names = [str(each.get("name", "")) for each in arguments]
    missing = [str(each.get("name", "")) for each in arguments if each.get("required") is True]
    missing = [each for each in missing if each not in given]
    unknown = [each for each in given if each not in names]
    if not (missing or unknown):
        return
    wrong = f"needs {_joined(missing)}" if missing else f"has no argument {_joined(unknown)}"
    raise ConfigError(
        f"the prompt {cut(repr(name))} of the MCP server {server!r} {wrong}",
        hint=_listed("arguments", names),
        server=server,
    )


def _flat(messages: Iterable[Message]) -> list[TextPart | MediaPart]:
    """The parts of a prompt's messages one after another; whose they are is said where there is more than one side."""
    messages = list(messages)
    sides = {message.role for message in messages}
    parts: list[TextPart | MediaPart] = []
    for message in messages:
        if len(sides) > 1:
            parts.append(TextPart(f"\n[{message.role}]\n"))
        parts += [part for part in message.parts if isinstance(part, TextPart | MediaPart)]
    return parts


def _framed(what: str, parts: Iterable[TextPart | MediaPart]) -> list[Part]:
    """The parts between two lines that say what they are and no server can write; words beside words in one part."""
    parts = list(parts)
    first, last = frame_lines(what, "".join(part.text for part in parts if isinstance(part, TextPart)))
    made: list[Part] = [TextPart(f"\n{first}\n")]
    for part in (*parts, TextPart(f"\n{last}\n")):
        before = made[-1]
        if isinstance(part, TextPart) and isinstance(before, TextPart):
            made[-1] = TextPart(before.text + part.text)
        else:
            made.append(part)
    return made


async def _resources_there(servers: McpServers, server: str) -> str:
    try:
        connection = await _connection(servers, server)
        found = [*await connection.list_resources(), *await connection.list_templates()]
    except McpFailed:
        return "What it has cannot be listed."
    return _listed("resources", [str(each.get("uri") or each.get("uriTemplate") or "") for each in found])


async def _connection(servers: McpServers, server: str) -> Connection:
    await asyncio.to_thread(import_sdk)
    return servers.connection(server)


def _listed(what: str, names: list[str]) -> str:
    names = list(filter(None, names))
    if not names:
        return f"There are no {what}."
    more = f" and {len(names) - LISTED:,} more" if len(names) > LISTED else ""
    return f"The {what} are {_joined(names[:LISTED])}{more}."


def _joined(names: list[str]) -> str:
    return ", ".join(marked(name)[:200] for name in names)
