"""What a server says of a tool, and the `ToolDefinition` that becomes of it.

All of it is the words of somebody else's program. It is taken over whole, so that a model is told what the server
means; it is shown to people whole and as what it is; and nothing in it makes a tool more harmless than its person said.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from typing import Any

from ..approval.gate import PREVIEW_CHARACTERS
from ..approval.hidden import marked, unmarked
from ..approval.patterns import glob_matches
from ..approval.shown import whole_text
from ..errors import ToolDefinitionError
from ..tools.check import MAX_DEPTH, cut, measure
from ..tools.definition import Risk, ToolDefinition
from ..tools.running import Preview
from .checkable import checkable
from .config import ServerConfig
from .names import tool_name

DESCRIPTION_BYTES = 20_000
"""Of what a model is told about one tool."""
SCHEMA_BYTES = 256 * 1024
DEFINITION_BYTES = 1024 * 1024
"""Of all that a server says of one tool, also what nobody here reads: icons, what it gives, notes for other clients."""
PERSON_SECONDS = 3_600.0
"""Whom a server asks during a call may take so long; its own time is kept by the connection."""
_FIRST = ("name", "title", "description", "annotations", "inputSchema")
"""What a person wants to read first."""
_COMPARED_LINES = 600
"""Lines that are compared one by one: of more, all go and all come."""


def canonical(definition: dict[str, Any]) -> bytes:
    """One text for one meaning: all fields, also unknown ones, by name. Any change but of an object's order changes it.

    A `ToolDefinitionError` where there is none: what is nested too deep, too long, or no JSON.
    """
    if measure(definition)[1] > MAX_DEPTH:
        raise _refused(definition, f"it is nested over {MAX_DEPTH} levels deep")
    try:
        text = json.dumps(definition, ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":"))
        data = text.encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise _refused(definition, f"it is no plain JSON ({cut(str(error))})") from None
    if len(data) > DEFINITION_BYTES:
        raise _refused(definition, f"it is longer than {DEFINITION_BYTES:,} bytes")
    return data


def digest(definition: dict[str, Any]) -> str:
    """SHA-256 of the canonical form."""
    return hashlib.sha256(canonical(definition)).hexdigest()


def tool_of(
    config: ServerConfig, definition: dict[str, Any], call: Callable[[dict[str, Any]], Any], *, seen: bool
) -> ToolDefinition:
    """The tool of a server, under its whole name; a `ToolDefinitionError` says why it cannot be one.

    A tool that nobody has looked at is asked about in every mode, whatever rules allow, and the question shows all that
    the server says of it. Until then it counts as of unknown risk where it was said to be harmless.
    """
    canonical(definition)
    own = definition.get("name")
    if not isinstance(own, str) or not own:
        raise _refused(definition, "it has no name")
    execution = definition.get("execution")
    if isinstance(execution, dict) and execution.get("taskSupport") == "required":
        raise _refused(definition, "it runs only as a task, and calls are what there is here")
    name = tool_name(config.name, own)
    description = _description(definition)
    schema = definition.get("inputSchema")
    if isinstance(schema, dict):
        if len(json.dumps(schema, ensure_ascii=False, separators=(",", ":")).encode()) > SCHEMA_BYTES:
            raise _refused(definition, f"its schema is longer than {SCHEMA_BYTES:,} bytes")
        schema = checkable(name, schema)
    risk = _risk(config, own, definition.get("annotations"))
    made = ToolDefinition(
        name,
        description,
        {} if schema is None else schema,
        risk=None if not seen and risk is Risk.READ else risk,
        call=call,
        timeout=config.start_timeout + config.timeout + PERSON_SECONDS,
        asks="" if seen else f"nobody has looked at this tool of the MCP server {marked(config.name)} yet",
        preview=None if seen else lambda _: Preview(_introduced(config, definition)),
    )
    made.problem({})  # a schema that is none is told now, not at the first call
    return made


def is_shown_whole(config: ServerConfig, definition: dict[str, Any]) -> bool:
    """Whether the question about a new tool has room for all of it. If not, a yes to a call is no look at the tool."""
    return len(_introduced(config, definition)) <= PREVIEW_CHARACTERS


def is_offered(config: ServerConfig, tool: str) -> bool:
    """Whether the person lets this tool be offered: named by `allow`, where there is one, and not by `deny`."""
    if config.allow is not None and not any(glob_matches(pattern, tool) for pattern in config.allow):
        return False
    return not any(glob_matches(pattern, tool) for pattern in config.deny)


def described(definition: dict[str, Any]) -> str:
    """All that a server says of a tool, readable, with marks for what would not be seen.

    No line of it can be taken for one of Toolwire: the server's lines stand behind `|` or the names of its fields. Two
    definitions that differ have two texts.
    """
    ordered: dict[str, Any] = json.loads(canonical(definition))
    first = {name: ordered.pop(name) for name in _FIRST if name in ordered}
    return whole_text({**first, **ordered})


def difference(old: dict[str, Any], new: dict[str, Any]) -> str:
    """What changed between two definitions, as a unified diff of what `described` gives, with every line that differs
    whole. Empty where they are the same.
    """
    return "\n".join(_diff(described(old).split("\n"), described(new).split("\n")))


def _description(definition: dict[str, Any]) -> str:
    """What a model is told: the description, else the title."""
    annotations = definition.get("annotations")
    others = annotations.get("title") if isinstance(annotations, dict) else None
    words = next((each for each in (definition.get("description"), definition.get("title"), others) if each), "")
    if not isinstance(words, str):
        raise _refused(definition, "its description is no text")
    if len(words.encode()) > DESCRIPTION_BYTES:
        raise _refused(definition, f"its description is longer than {DESCRIPTION_BYTES:,} bytes")
    return words


def _risk(config: ServerConfig, tool: str, annotations: Any) -> Risk | None:
    """What its person says. That it does more than read is believed of a server, that it does less is not."""
    given = config.risks.get(tool, config.risk)
    try:
        risk = None if given is None else Risk(given)
    except ValueError:
        raise ToolDefinitionError(
            f"the risk of {cut(ascii(tool))} is given as {given!r}", hint=f"Use one of {', '.join(Risk)}."
        ) from None
    if risk is not Risk.READ or not isinstance(annotations, dict):
        return risk
    if annotations.get("destructiveHint") is True:
        return Risk.DANGEROUS
    return Risk.WRITE if annotations.get("readOnlyHint") is False else risk


def _introduced(config: ServerConfig, definition: dict[str, Any]) -> str:
    """The words for the question about a tool that is new. Whoever asks marks them, so they come without marks."""
    words = unmarked(described(definition))
    more = " `toolwire mcp tools` shows all of it." if len(words) > PREVIEW_CHARACTERS // 2 else ""
    return (
        f"All that the MCP server {config.name!a} says of this tool, in {len(words):,} characters. "
        f"These are its own words: nobody has checked them.{more}\n{words}"
    )


def _diff(old: list[str], new: list[str]) -> Iterator[str]:
    from difflib import unified_diff

    if max(len(old), len(new)) <= _COMPARED_LINES:
        yield from unified_diff(old, new, "looked at", "now", lineterm="")
    elif old != new:
        # Comparing line by line can take the square of them, and a server chooses how many there are.
        yield from ("--- looked at", "+++ now", f"@@ -1,{len(old)} +1,{len(new)} @@")
        yield from (f"-{line}" for line in old)
        yield from (f"+{line}" for line in new)


def _refused(definition: dict[str, Any], reason: str) -> ToolDefinitionError:
    name = definition.get("name")
    shown = cut(ascii(name)) if isinstance(name, str) else "without a name"
    return ToolDefinitionError(f"the tool {shown} cannot be used: {reason}", hint="Tell whoever makes this MCP server.")
