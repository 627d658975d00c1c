"""Servers and their tools in words for a person or as JSON: what a test came to, what a tool is and how it stands."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from ..approval.hidden import marked
from ..errors import ConfigError, ToolDefinitionError
from ..mcp.config import ServerConfig
from ..mcp.definitions import described, is_offered, tool_of
from ..mcp.names import tool_name
from .console import PlainConsole
from .mcp_consent import room, show, words
from .mcp_looking import Seen, failure_lines
from .mcp_servers import McpHere
from .question import Line, argument_lines, difference_lines, fitting_pieces
from .visible import json_bytes

if TYPE_CHECKING:
    from ..mcp.connection import Connection, ServerFacts


SHOWN_WORDS = 300
"""Characters of a server's words in a list, where a pipe sets no width."""


class Tested(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a test of a server came to."""

    server: str
    works: bool
    seconds: float
    calls_itself: str = ""
    """The server's name and version, as it says."""
    protocol: str = ""
    """The version of MCP that is spoken with it."""
    tools: int = 0
    prompts: int = 0
    resources: int = 0
    why: str = ""
    """`consent`, `start`, `login`, `timeout` and so on, as in `McpFailed`."""
    problem: str = ""
    hint: str = ""
    """What to do; then, on lines of their own, the last that the server wrote to its standard error."""


class Everything(NamedTuple):
    """What a server has."""

    facts: ServerFacts
    tools: list[dict[str, Any]]
    prompts: int
    resources: int


class Offered(msgspec.Struct, frozen=True, kw_only=True):
    """A tool of a server."""

    server: str
    tool: str
    name: str
    """As models know it."""
    state: str
    """`new`, `same` as when a person looked at it, `changed`, `left out` by the configuration, or `unfit`."""
    risk: str
    problem: str
    definition: dict[str, Any]


def offered_tool(here: McpHere, config: ServerConfig, definition: dict[str, Any]) -> Offered:
    """A tool of a listing, and how it stands here."""
    name = str(definition.get("name", ""))
    state, risk, problem = "left out", "unknown", ""
    try:
        if is_offered(config, name):
            state = here.pins.state(config.identity, definition)
        risk = str(tool_of(config, definition, not_run, seen=True).risk or "unknown")
    except ToolDefinitionError as error:
        state, problem = "unfit", error.message
    return Offered(
        server=config.name,
        tool=name,
        name=tool_name(config.name, name),
        state=state,
        risk=risk,
        problem=problem,
        definition=definition,
    )


_STATES = {
    "new": ("new: nobody has looked at it, so each call is asked about", "yellow"),
    "same": ("as when you looked at it", "green"),
    "changed": ("CHANGED since you looked at it: not offered", "bold red"),
    "left out": ("left out by the configuration", "dim"),
    "unfit": ("cannot be offered", "red"),
}


def tool_lines(offered: Offered, width: int, *, difference: str = "", place: str = "") -> Iterator[Line]:
    """A tool for people: our words at the left, the server's own behind a bar; or what has changed in those.

    `place` says which it is of several.
    """
    state, style = _STATES[offered.state]
    yield Line("")
    for piece in fitting_pieces(f"{place}{offered.name}", width - 1):
        yield Line(piece, "bold")
    problem = f": {marked(offered.problem)}" if offered.problem else ""
    yield from words(f"risk {offered.risk}; {state}{problem}", width, style)
    if difference:
        yield from words("What has changed in the server's words, which nobody has checked:", width, "dim")
        yield from difference_lines(difference, width)
        return
    try:
        text = described(offered.definition)
    except ToolDefinitionError:
        return  # what is wrong with it stands above
    yield from words("The server's words, which nobody has checked:", width, "dim")
    yield from argument_lines(text, width)


def short_lines(offered: Offered, width: int) -> Iterator[Line]:
    """A tool in a list: of the server's words the beginning, in one line, and the names of the arguments."""
    state, style = _STATES[offered.state]
    for piece in fitting_pieces(offered.name, width - 1):
        yield Line(piece, "bold")
    problem = f": {marked(offered.problem)}" if offered.problem else ""
    yield from words(f"risk {offered.risk}; {state}{problem}", width, style)
    said = offered.definition.get("description")
    takes = " ".join(f"{name}=…" if required else f"[{name}=…]" for name, required in _arguments(offered.definition))
    for text in (said, takes):
        if isinstance(text, str) and text:
            yield _cut_line(text, width)


def _cut_line(text: str, width: int) -> Line:
    """The beginning of a server's words, behind a bar."""
    text = marked(" ".join(text[: 2 * SHOWN_WORDS].split()))
    (line, *more) = argument_lines(text, min(width, SHOWN_WORDS))
    return Line(f"{line.text[:-1]}…" if more else line.text)


def _arguments(definition: dict[str, Any]) -> Iterator[tuple[str, bool]]:
    """The names of a tool's arguments, and whether each has to be given."""
    schema = definition.get("inputSchema")
    properties = schema.get("properties") if isinstance(schema, dict) else None
    required = schema.get("required") if isinstance(schema, dict) else None
    for name in properties if isinstance(properties, dict) else ():
        yield name, isinstance(required, list) and name in required


def no_tool(server: str, wanted: str, names: Iterable[str]) -> ConfigError:
    """The error for a tool that a server does not have."""
    return ConfigError(
        f"{marked(server)} has no tool {marked(wanted)}", hint=f"It has: {', '.join(map(marked, names)) or 'none'}"
    )


def tested(seen: Seen) -> Tested:
    """What a test with `everything` came to."""
    name, seconds = seen.config.name, round(seen.seconds, 2)
    if seen.error is not None:
        why = str(seen.error.facts.get("why", ""))
        return Tested(
            server=name, works=False, seconds=seconds, why=why, problem=seen.error.message, hint=seen.error.hint
        )
    found: Everything = seen.found
    return Tested(
        server=name,
        works=True,
        seconds=seconds,
        calls_itself=f"{found.facts.name} {found.facts.version}".strip(),
        protocol=found.facts.protocol,
        tools=len(found.tools),
        prompts=found.prompts,
        resources=found.resources,
    )


def print_tested(tested: Tested) -> None:
    """A test for people."""
    console = PlainConsole()
    name = marked(tested.server)
    if tested.works:
        console.out(f"{name}: ", end="", style="bold")
        console.out("works", end="", style="green")
        counts = ", ".join(counted(getattr(tested, kind), kind) for kind in ("tools", "prompts", "resources"))
        console.out(f" ({tested.seconds:.1f} s): {counts}")
        itself = f"it calls itself {marked(tested.calls_itself)}, " if tested.calls_itself else ""
        show(console, words(f"{itself}MCP {marked(tested.protocol)}", room(console), "dim"))
        return
    console.out(f"{name}: ", end="", style="bold")
    if tested.why == "consent":
        console.out("not started", style="yellow")
    else:
        console.out("fails", end="", style="red")
        console.out(f" ({tested.seconds:.1f} s)")
    show(console, failure_lines(tested.problem, tested.hint, room(console)))


async def everything(connection: Connection) -> Everything:
    """All that a test tells of."""
    tools = await connection.list_tools()
    prompts, resources = await connection.list_prompts(), await connection.list_resources()
    assert connection.facts is not None
    return Everything(connection.facts, tools, len(prompts), len(resources))


async def list_tools(connection: Connection) -> list[dict[str, Any]]:
    """Its tools, raw."""
    return await connection.list_tools()


async def not_run(*_: object) -> str:
    """What a tool that is only looked at does."""
    raise AssertionError("a tool that is only shown does not run")


def counted(count: int, kinds: str) -> str:
    """`1 tool`, `2 tools`."""
    return f"{count:,} {kinds if count != 1 else kinds.removesuffix('s')}"


def write_json(value: object) -> None:
    """One line of JSON, at once."""
    sys.stdout.buffer.write(json_bytes(value) + b"\n")
    sys.stdout.buffer.flush()
