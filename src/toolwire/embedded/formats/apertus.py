"""`apertus`: a JSON list between marks, each call an object of one member: the tool's name, and its arguments.

    <|tools_prefix|>[{"search": {"query": "x"}}]<|tools_suffix|>

Calls stand within the reasoning, `<|inner_prefix|>…<|inner_suffix|>`, or after it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...messages import ToolResultPart
from ...tools.definition import ToolDefinition
from ...tools.registry import ToolRegistry
from ..family import family
from ..format import CallToWrite, Chat, Format
from ..json_calls import Members
from ..json_source import json_text
from ..listed import lists
from ..prose import Thinking, marked
from ..scanner import Scanner, Wait

OPEN, CLOSE = "<|tools_prefix|>", "<|tools_suffix|>"
MEMBERS = Members(name_is_key=True)
THINKING = Thinking((("<|inner_prefix|>", "<|inner_suffix|>"),))


def read(scanner: Scanner, tools: ToolRegistry | None) -> Wait[None]:
    """Reads an answer."""
    return marked(scanner, lists(scanner, tools, OPEN, CLOSE, MEMBERS), THINKING)


def write_calls(calls: Sequence[CallToWrite]) -> str:
    """A list between marks."""
    return f"{OPEN}{json_text([{call.name: call.arguments} for call in calls])}{CLOSE}"


def write_result(_: ToolResultPart, content: str) -> str:
    """A result stands in a list of all, and has nothing else around it."""
    return content


def tell_tools(tools: Sequence[ToolDefinition]) -> str:
    """A turn of the developer: the tools as types of functions."""
    told = "\n".join(map(_function, tools))
    return f"<|developer_start|>Deliberation: disabled\nTool Capabilities:\n{told}<|developer_end|>"


def _function(tool: ToolDefinition) -> str:
    schema = tool.parameters
    properties = schema.get("properties") or {}
    if not properties:
        return f"// {tool.description}\ntype {tool.name} = () => any;"
    required = schema.get("required") or []
    lines = ",\n".join(_argument(key, value, key in required) for key, value in properties.items())
    return f"// {tool.description}\ntype {tool.name} = (_: {{\n{lines}\n}}) => any;"


def _argument(key: str, schema: Any, required: bool) -> str:
    about = schema if isinstance(schema, Mapping) else {}
    comment = f"// {about['description']}\n" if "description" in about else ""
    default = f", // default: {json_text(about['default'])}" if "default" in about else ""
    return f"{comment}{key}{'' if required else '?'}: {_type(about)}{default}"


def _type(schema: Any) -> str:
    """A schema as a type; what the types cannot say is `any`."""
    if not isinstance(schema, Mapping):
        return "any"
    kind = schema.get("type")
    if isinstance(kind, list):
        return " | ".join(map(str, kind))
    if kind == "string" and schema.get("enum"):
        return " | ".join(map(json_text, schema["enum"]))
    if kind == "array":
        return f"{_type(schema.get('items'))}[]"
    if kind == "object" and schema.get("properties"):
        required = schema.get("required") or []
        inner = ", ".join(
            f"{key}{'' if key in required else '?'}: {_type(value)}" for key, value in schema["properties"].items()
        )
        return f"{{\n{inner}}}"
    plain = {"string": "string", "number": "number", "integer": "number", "boolean": "boolean", "object": "object"}
    return plain.get(str(kind), "any")


APERTUS: Format = family(
    "apertus",
    "a JSON list in <|tools_prefix|>, names as keys",
    models=("Apertus",),
    read=read,
    write_calls=write_calls,
    write_result=write_result,
    marks=(
        *(OPEN, CLOSE, "<|inner_prefix|>", "<|inner_suffix|>", "<|system_start|>", "<|system_end|>"),
        *("<|developer_start|>", "<|developer_end|>", "<|user_start|>", "<|user_end|>", "<|assistant_start|>"),
        *("<|assistant_end|>", "<s>", "</s>"),
    ),
    thinking=THINKING,
    chat=Chat(
        system=("<|system_start|>", "<|system_end|>"),
        user=("<|user_start|>", "<|user_end|>"),
        assistant=("<|assistant_start|>", "<|assistant_end|>"),
        results=("[", "]"),
        between_results=", ",
        results_inside=True,
        answer="<|assistant_start|>",
        tools=tell_tools,
        begin="<s>",
        tools_at="after_system",
        default_system="You are Apertus, a helpful assistant created by the SwissAI initiative.",
        reasoning="<|inner_prefix|>",
        stop=("<|assistant_end|>", "</s>"),
        thought=("<|inner_prefix|>", "<|inner_suffix|>"),
    ),
)
