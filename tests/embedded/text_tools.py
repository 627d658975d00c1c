"""The tools that the tests of text formats offer: one of each kind that arguments come in."""

from __future__ import annotations

from typing import Any

from toolwire import ToolDefinition
from toolwire.tools.registry import ToolRegistry


def tool(name: str, required: list[str] | None = None, **properties: Any) -> ToolDefinition:
    """A tool with these arguments, each given as a schema or as the name of a type."""
    schemas = {key: {"type": value} if isinstance(value, str) else value for key, value in properties.items()}
    schema = {"type": "object", "properties": schemas, "required": list(schemas) if required is None else required}
    return ToolDefinition(name, f"The {name} tool.", schema)


SEARCH = tool("search", ["query"], query="string", limit="integer", exact="boolean")
PING = tool("ping")
ECHO = tool("echo", text="string")
WRITE_FILE = tool("write_file", path="string", content="string")
EDIT_FILE = tool("edit_file", path="string", patch="string")
PATCH_FILE = tool("patch_file", path="string", patch="string")
RUN_BASH = tool("run_bash", ["command"], command="string", background="boolean", timeout_seconds="integer")
BOOK = ToolDefinition(
    "book",
    'Books seats; "quotes" & <tags> in a description.',
    {
        "type": "object",
        "properties": {
            "cabin": {"enum": ["economy", "business"], "description": "Where to sit."},
            "zip": {"type": "string"},
            "price": {"type": "number"},
            "tags": {"type": "array", "items": {"type": "string"}},
            "seats": {"type": "array", "items": {"type": "integer"}},
            "passengers": {"type": "array", "items": {"$ref": "#/$defs/person"}},
            "options": {
                "type": "object",
                "properties": {"deep": {"type": "boolean"}, "note": {"type": ["string", "null"]}},
            },
            "either": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
            "anything": {},
        },
        "required": ["cabin"],
        "$defs": {
            "person": {
                "type": "object",
                "properties": {"name": {"type": "string"}, "age": {"type": "integer"}},
                "required": ["name"],
            }
        },
    },
)

TOOLS = ToolRegistry([SEARCH, PING, ECHO, WRITE_FILE, EDIT_FILE, PATCH_FILE, RUN_BASH, BOOK])
