"""How gpt-oss is told its tools: a namespace of functions in the manner of TypeScript."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...tools.definition import ToolDefinition
from ..json_source import json_text

_TYPES = {"string": "string", "number": "number", "integer": "number", "boolean": "boolean"}
_LONGEST_ITEM = 50
"""Characters of an item's type, beyond which a list is one of anything."""


def tell_tools(tools: Sequence[ToolDefinition]) -> str:
    """The tools in the words of the model's own chat template, for the developer's message."""
    told = "".join(f"// {tool.description}\ntype {tool.name} = {_signature(tool)} => any;\n\n" for tool in tools)
    return f"\n\n# Tools\n\n## functions\n\nnamespace functions {{\n\n{told}}} // namespace functions"


def _signature(tool: ToolDefinition) -> str:
    properties = tool.parameters.get("properties")
    if not isinstance(properties, dict) or not properties:
        return "()"
    required = tool.parameters.get("required") or ()
    return "(_: {\n" + "".join(_member(name, schema, required) for name, schema in properties.items()) + "})"


def _member(name: str, schema: Any, required: Sequence[str]) -> str:
    schema = schema if isinstance(schema, dict) else {}
    about = f"// {schema['description']}\n" if schema.get("description") else ""
    optional = "" if name in required else "?"
    default = f", // default: {json_text(schema['default'])}" if "default" in schema else ""
    return f"{about}{name}{optional}: {_type(schema)}{default},\n"


def _type(schema: Any) -> str:
    if not isinstance(schema, dict):
        return "any"
    kind = schema.get("type")
    nullable = " | null" if schema.get("nullable") else ""
    if kind == "array":
        item = _type(schema.get("items"))
        return f"{item if len(item) <= _LONGEST_ITEM else 'any'}[]{nullable}"
    if isinstance(kind, list):
        return " | ".join(map(str, kind))
    if schema.get("oneOf"):
        return " | ".join(map(_type, schema["oneOf"]))
    if kind == "string" and schema.get("enum"):
        return " | ".join(f'"{value}"' for value in schema["enum"])
    if kind == "object":
        return _object(schema)
    return f"{_TYPES[kind]}{nullable}" if kind in _TYPES else "any"


def _object(schema: dict[str, Any]) -> str:
    properties = schema.get("properties")
    if not isinstance(properties, dict) or not properties:
        return "object"
    required = schema.get("required") or ()
    members = (f"{name}{'' if name in required else '?'}: {_type(about)}" for name, about in properties.items())
    return "{\n" + ", ".join(members) + "}"
