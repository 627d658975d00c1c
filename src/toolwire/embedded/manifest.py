"""The manifest: what a model that calls tools in text is told, as a section for the end of its system prompt.

It holds the rules of one format once, then for each tool what it takes and how a call of it is written. The same tools
give the same bytes, whatever happened before, so that a provider's prompt cache holds from turn to turn; what changes
from turn to turn (`tool_choice`) comes last.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..providers.encoding import check_tool_choice
from ..tools.definition import ToolDefinition
from ..tools.registry import ToolRegistry
from .examples import example_arguments
from .format import Format
from .registry import text_format

HEADING = "## Accessible Tools"
_BETWEEN = "\n\n---\n\n"


def manifest(tools: Iterable[Any] | ToolRegistry, format: str | Format, *, tool_choice: str = "auto") -> str:
    """The "Accessible Tools" section for these tools; empty where there are none or none may be called.

    `tools` is anything that a `ToolRegistry` takes, `format` a name or a `Format`. `tool_choice` is `auto`, `none`,
    `required` or the name of a tool: the last two are asked of the model, which no provider enforces here.
    """
    if isinstance(format, str):
        format = text_format(format)
    offered = list(tools if isinstance(tools, ToolRegistry) else ToolRegistry(tools))
    check_tool_choice(tool_choice, offered)
    if not offered or tool_choice == "none":
        return ""
    about_tools = _BETWEEN.join(_about(tool, format) for tool in offered)
    parts = [f"{HEADING}\n\n{format.rules(offered).strip()}", about_tools]
    if tool_choice == "required":
        parts.append("Your next answer must hold at least one tool call.")
    elif tool_choice != "auto":
        parts.append(f"Your next answer must hold a call of the tool {tool_choice}.")
    return _BETWEEN.join(parts)


def with_manifest(
    system_prompt: str, tools: Iterable[Any] | ToolRegistry, format: str | Format, *, tool_choice: str = "auto"
) -> str:
    """The system prompt with the manifest at its end. The prompt itself stays as it is, and needs no placeholder."""
    section = manifest(tools, format, tool_choice=tool_choice)
    return f"{system_prompt}\n\n{section}" if system_prompt and section else system_prompt or section


def _about(tool: ToolDefinition, format: Format) -> str:
    """One tool: its definition, the shortest call of it, and one with everything if that says more."""
    short = example_arguments(tool, optional=False)
    full = example_arguments(tool, optional=True)
    lines = [
        "## Tool Definition:",
        format.declare(tool),
        "",
        "## Tool Usage Examples and Guidelines:",
        "",
        "### Example 1: Basic Call (Required Arguments)",
        format.write_call(tool.name, short, tool).rstrip("\n"),
    ]
    if full != short:
        lines += [
            "",
            "### Example 2: Advanced Call (With Optional & Nested Arguments)",
            format.write_call(tool.name, full, tool).rstrip("\n"),
        ]
    return "\n".join(lines)
