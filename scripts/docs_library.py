"""`docs/reference/library.md`: every public name of the library, from its own source."""

from __future__ import annotations

import enum
import inspect
from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import Any

import toolwire
from toolwire import durable

from .docs_source import (
    Field,
    attributes_of,
    constructor,
    fields_of,
    methods_of,
    node_of,
    signature_of,
    words_of,
)

HEAD = """# The library

Every name of `toolwire.__all__`, written by `make docs` from the source; a test keeps it so.
[Using the library](../library.md) shows how they go together; [Events](events.md), [Errors](errors.md) and
[Limits](limits.md) have pages of their own.
"""

DURABLE_HEAD = """# Durable runs: the names

Every name of `toolwire.durable` (extra `durable`), written by `make docs` from the source; a test keeps it so.
[Durable runs](../durable.md) shows how they go together.
"""

DURABLE = {
    "For everybody": (
        "Runs",
        "RunInfo",
        "RunState",
        "RunSpec",
        "RunEvent",
        "AttemptWithdrawn",
        "Question",
        "StepInfo",
        "WorkerInfo",
    ),
    "For workers": ("Worker", "DurableAgent", "Workplace", "Timing", "Rate", "sub_agents"),
}

GROUPS = {
    "Streams": (
        "Stream",
        "TextStream",
        "SdkStream",
        "SdkDecoder",
        "SegmentEvent",
        "EventType",
        "SegmentType",
        "ToolInvocation",
        "ChunkResponse",
        "ToolCallDelta",
        "TokenUsage",
        "StopReason",
        "Limits",
    ),
    "Requests and messages": (
        "encode_request",
        "render_prompt",
        "Prompt",
        "opens_reasoning",
        "Message",
        "TextPart",
        "MediaPart",
        "attachment",
    ),
    "Tools": (
        "tool",
        "ToolDefinition",
        "Risk",
        "ToolOutput",
        "progress",
        "this_call",
        "builtin_tools",
        "agent_tool",
    ),
    "The agent": ("Agent", "Bounds", "Retries", "Hooks", "RunFacts", "ToolwireError"),
    "What may run": (
        "Policy",
        "Mode",
        "Rule",
        "Decision",
        "load_policy",
        "Approvals",
        "ApprovalRequest",
        "Answer",
        "Scope",
        "deny",
    ),
    "Sessions and recordings": (
        "SessionStore",
        "Session",
        "SessionInfo",
        "SessionRecord",
        "sessions_path",
        "Recorder",
        "load_recording",
        "replay",
        "replay_agent",
    ),
    "MCP": ("McpServers", "ServerConfig"),
}


def cell(text: str) -> str:
    """Words in one cell."""
    return " ".join(text.split()).replace("|", "\\|")


def code(text: str) -> str:
    """Code in one cell."""
    return f"`{cell(text)}`" if text else ""


def table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    """A table, without the columns that nothing stands in."""
    kept = [place for place in range(len(head)) if any(row[place] for row in rows)]
    lines = [head, ("---",) * len(head), *rows]
    return "\n".join("| " + " | ".join(line[place] for place in kept) + " |" for line in lines) + "\n"


def field_table(fields: list[Field], head: str = "field") -> str:
    """Fields, as a table."""
    rows = [(code(field.name), code(field.type), code(field.default), cell(field.words)) for field in fields]
    return table((head, "type", "value" if head == "member" else "default", "meaning"), rows)


def _line(signature: str) -> str:
    """A signature on one line, however long."""
    return " ".join(signature.split()).replace("( ", "(").replace(",)", ")").replace(", )", ")")


def _fence(signature: str) -> str:
    return f"```py\n{signature}\n```\n"


def entry(name: str, thing: Any) -> str:
    """All about one name."""
    parts = [f"### {name}\n", f"From `{thing.__module__}`.\n"]
    node = node_of(thing)
    if not inspect.isclass(thing):
        parts += [_fence(signature_of(node)), words_of(node) + "\n"]  # type: ignore[arg-type]
        return "\n".join(parts)
    is_choice = issubclass(thing, enum.Enum)
    if not is_choice and (made := constructor(thing)):
        parts.append(_fence(made))
    parts.append(words_of(node) + "\n")
    fields = fields_of(thing)
    if is_choice or any(field.words for field in fields):
        told = fields if is_choice else [field for field in fields if field.words]
        parts.append(field_table(told, "member" if is_choice else "field"))
    if attributes := attributes_of(thing):
        parts.append(field_table(attributes, "attribute"))
    if methods := list(methods_of(thing)):
        parts.append(
            "".join(f"- `{_line(method.signature)}`: {' '.join(method.words.split())}\n" for method in methods)
        )
    return "\n".join(parts)


def library_page() -> str:
    """The names of `toolwire`."""
    return _page(HEAD, GROUPS, toolwire)


def durable_page() -> str:
    """The names of `toolwire.durable`."""
    return _page(DURABLE_HEAD, DURABLE, durable)


def _page(head: str, groups: Mapping[str, Sequence[str]], module: ModuleType) -> str:
    """The whole page. A public name that is in no group, or a group's name that is not public, is an error."""
    grouped = [name for names in groups.values() for name in names]
    if sorted(grouped) != sorted(module.__all__):
        missing = sorted(set(module.__all__) ^ set(grouped))
        raise LookupError(f"put these into the groups of scripts/docs_library.py, or take them out: {missing}")
    parts = [head]
    for title, names in groups.items():
        parts.append(f"## {title}\n")
        parts += [entry(name, getattr(module, name)) for name in names]
    return "\n".join(parts)
