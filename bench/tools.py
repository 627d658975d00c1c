"""The tools that the streams of the bench call, and as many as a provider takes."""

from __future__ import annotations

from typing import Any

from toolwire.tools.registry import ToolRegistry

_TOOLS: list[dict[str, Any]] = [
    {
        "name": "get_weather",
        "description": "Weather for a city.",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
    {
        "name": "write_file",
        "description": "Write a file.",
        "parameters": {
            "type": "object",
            "properties": {"path": {"type": "string"}, "content": {"type": "string"}, "overwrite": {"type": "boolean"}},
            "required": ["path", "content"],
        },
    },
    {"name": "get_time", "description": "The time.", "parameters": {"type": "object", "properties": {}}},
    {
        "name": "sort_items",
        "description": "Sort.",
        "parameters": {
            "type": "object",
            "properties": {"items": {"type": "array", "items": {"anyOf": [{"type": "string"}, {"type": "null"}]}}},
        },
    },
    *({"name": f"look_up_{number:03}_in_the_long_list_of_similar_tools"} for number in range(124)),
]


def registry() -> ToolRegistry:
    """All of them."""
    return ToolRegistry(_TOOLS)
