"""Definitions of MCP tools: no changed byte goes unseen, and no name is taken for another's."""

from __future__ import annotations

import json
import random
import string
from collections import Counter
from typing import Any

from toolwire.builtin.tools import builtin_tools
from toolwire.errors import ToolDefinitionError
from toolwire.mcp.config import ServerConfig
from toolwire.mcp.definitions import described, difference
from toolwire.mcp.names import PREFIX, request_name, server_slug, tool_name
from toolwire.mcp.pins import Pins
from toolwire.providers.names import COMMON_RULE
from toolwire.tools.definition import is_tool_name

from . import Found


def _text(words: str, **more: Any) -> dict[str, Any]:
    return {"type": "string", "description": words, **more}


_HINTS = {"readOnlyHint": True, "destructiveHint": False, "idempotentHint": True, "openWorldHint": False}
_OPTIONAL = {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None, "title": "Since"}
_DRAFT_7 = "http://json-schema.org/draft-07/schema#"

LISTED: tuple[dict[str, Any], ...] = (
    {
        "name": "convert_time",
        "description": "Convert time between timezones",
        "inputSchema": {
            "type": "object",
            "properties": {
                "source_timezone": _text("Source IANA timezone name (e.g., 'Europe/London').", title="Source"),
                "time": _text("Time to convert in 24-hour format (HH:MM)", title="Time"),
            },
            "required": ["source_timezone", "time"],
            "title": "convert_timeArguments",
        },
        "outputSchema": {
            "$defs": {"At": {"type": "object", "properties": {"zone": {"type": "string"}}, "required": ["zone"]}},
            "type": "object",
            "properties": {"source": {"$ref": "#/$defs/At"}, "target": {"$ref": "#/$defs/At"}},
        },
        "annotations": _HINTS,
    },
    {
        "name": "git_log",
        "description": "Shows the commit logs",
        "inputSchema": {
            "type": "object",
            "properties": {
                "repo_path": {"title": "Repo Path", "type": "string"},
                "max_count": {"default": 10, "title": "Max Count", "type": "integer"},
                "since": _OPTIONAL,
            },
            "required": ["repo_path"],
        },
        "annotations": _HINTS,
    },
    {
        "name": "get-structured-content",
        "title": "Get Structured Content Tool",
        "description": "Returns structured content along with an output schema",
        "inputSchema": {
            "$schema": _DRAFT_7,
            "type": "object",
            "properties": {"location": _text("Choose city", enum=["New York", "Chicago", "Los Angeles"])},
            "required": ["location"],
        },
        "execution": {"taskSupport": "forbidden"},
        "outputSchema": {"$schema": _DRAFT_7, "type": "object", "additionalProperties": False},
        "annotations": _HINTS,
    },
    {
        "name": "get-resource-links",
        "description": "Returns up to ten resource links that reference different types of resources",
        "inputSchema": {
            "$schema": _DRAFT_7,
            "type": "object",
            "properties": {"count": {"default": 3, "type": "number", "minimum": 1, "maximum": 10.5}},
        },
        "_meta": {"example.org/group": ["demo", 1, None, True], "schöner Name": "☃"},
    },
    {
        "name": "edit_file",
        "title": "Edit File",
        "description": "Make line-based edits to a text file.\nEach edit replaces exact lines.",
        "inputSchema": {
            "$schema": _DRAFT_7,
            "type": "object",
            "properties": {
                "path": {"type": "string"},
                "edits": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "properties": {"oldText": _text("Text to search for"), "newText": _text("Text instead")},
                        "required": ["oldText", "newText"],
                    },
                },
                "dryRun": {"default": False, "description": "Preview changes", "type": "boolean"},
            },
            "required": ["path", "edits"],
        },
        "annotations": {"readOnlyHint": False, "idempotentHint": False, "destructiveHint": True},
        "icons": [{"src": "data:image/png;base64,iVBORw0KGgo=", "mimeType": "image/png", "sizes": ["48x48"]}],
    },
)
"""Written after what servers of time, git, files and the one with everything list."""

_INSERTED = string.ascii_letters + string.digits + ' "\\{}[]:,.-_\u200b\u202eё'


def changed_bytes(count: int, seed: int) -> Found:
    """Definitions as JSON with one character changed, left out or put in. What still is JSON and means something else
    must not pass as the pinned one, and a person is shown a difference; where it no longer has the pinned name, it is
    new, which is asked about.
    """
    found = Found()
    seen: Counter[str] = Counter()
    rng = random.Random(seed)
    config = ServerConfig(name="demo", trusted=True)
    pins = Pins(None)
    for definition in LISTED:
        pins.pin(config.identity, definition)
    texts = [json.dumps(definition, ensure_ascii=False) for definition in LISTED]
    while found.runs < count:
        which = rng.randrange(len(LISTED))
        definition, text = LISTED[which], _changed(texts[which], rng)
        try:
            now = json.loads(text)
        except ValueError:
            continue
        if not isinstance(now, dict) or repr(_in_order(now)) == repr(_in_order(definition)):
            continue  # blanks between values, or an escape for the same character
        found.runs += 1
        try:
            state = pins.state(config.identity, now)
        except ToolDefinitionError:
            seen["no tool"] += 1
            continue
        seen[state] += 1
        if state == "same" or (state == "new") != (now["name"] != definition["name"]):
            found.fault(f"{state}: {text}")
        elif state == "changed" and not _shows_all(definition, now):
            found.fault(f"the difference is not shown: {text}")
    found.words = ", ".join(f"{times:,} {state}" for state, times in sorted(seen.items()))
    return found


def _changed(text: str, rng: random.Random) -> str:
    place = rng.randrange(len(text))
    kind = rng.randrange(3)
    put = "" if kind == 0 else rng.choice(_INSERTED)
    return text[:place] + put + text[place + (kind < 2) :]


def _in_order(value: Any) -> Any:
    """The same with objects as sorted pairs: what `repr` tells apart, JSON does."""
    if isinstance(value, dict):
        return [(key, _in_order(value[key])) for key in sorted(value)], "object"
    return [_in_order(item) for item in value] if isinstance(value, list) else value


def _shows_all(old: dict[str, Any], new: dict[str, Any]) -> bool:
    """Whether the difference holds each line that one of them has and the other has not, and nothing hidden."""
    shown = difference(old, new)
    lines = shown.split("\n")
    before, after = described(old).split("\n"), described(new).split("\n")
    gone = {f"-{line}" for line in before if line not in after}
    come = {f"+{line}" for line in after if line not in before}
    return bool(gone | come) and gone | come <= set(lines) and all(map(str.isprintable, lines))


def names(count: int, seed: int) -> Found:
    """Random servers and tools, many of them nearly the same: different pairs have different names, each is a name of a
    tool, and none that of another kind of tool; cut to what providers take, it still says the whole server.
    """
    found = Found()
    rng = random.Random(seed)
    own = {tool.name for tool in builtin_tools()}
    whole: dict[str, tuple[str, str]] = {}
    previous = ("a", "b")
    for _ in range(count):
        pair = _pair(rng, previous)
        previous = pair
        name = tool_name(*pair)
        found.runs += 1
        if not is_tool_name(name) or not name.startswith(f"{PREFIX}{server_slug(pair[0])}__") or name in own:
            found.fault(f"{name!r} for {pair!r}")
        if whole.setdefault(name, pair) != pair:
            found.fault(f"{name!r} for both {whole[name]!r} and {pair!r}")
        if name in (request_name(pair[0], "sampling"), request_name(pair[0], "elicitation")):
            found.fault(f"{name!r} is what {pair[0]!r} asks of us")
        on_the_wire = COMMON_RULE.wire_name(name)
        if not on_the_wire.startswith(f"{PREFIX}{server_slug(pair[0])}__"):
            found.fault(f"{on_the_wire!r} does not say the whole server")
    found.words = f"{len(whole):,} different names"
    return found


_LETTERS = "ab_-.~ /é\u202eA0"


def _pair(rng: random.Random, previous: tuple[str, str]) -> tuple[str, str]:
    """Mostly near to the one before: a letter more, the name that came out, a part moved over the `__`."""
    server, tool = previous
    match rng.randrange(8):
        case 0:
            server = "".join(rng.choices(_LETTERS, k=rng.randrange(1, 50)))
        case 1:
            tool = "".join(rng.choices(_LETTERS, k=rng.randrange(1, 150)))
        case 2:
            server, tool = f"{server}__{tool[:3]}"[:60], tool[3:] or "x"
        case 3:
            tool = tool_name(server, tool).rpartition("__")[2]
        case 4:
            server = server_slug(server)
        case 5:
            tool += rng.choice(_LETTERS)
        case 6:
            tool = rng.choice(["sampling", "elicitation", "shell", "read_file", "", "sampling_", "__", "a__b"])
        case _:
            server = (server + rng.choice(_LETTERS))[-60:]
    return server, tool[-200:]
