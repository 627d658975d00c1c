"""`gigachat3`: one JSON object after a mark, to the end of the answer.

    I will look that up.<|function_call|>{"name": "search", "arguments": {"query": "x"}}

GigaChat 3 has a turn of another role in place of the mark, GigaChat 3.1 the mark:

    I will look that up.<|message_sep|>

    function call<|role_sep|>
    {"name": "search", "arguments": {"query": "x"}}

The models make one call at a time; several are read all the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...messages import ToolResultPart
from ...tools.definition import ToolDefinition
from ...tools.registry import ToolRegistry
from ..family import family
from ..format import CallToWrite, Chat, Format
from ..json_calls import read_call
from ..listed import write_object
from ..marks import read_end
from ..prose import marked
from ..scanner import Scanner, Wait

CALL = "<|function_call|>"
ROLE, MESSAGE = "<|role_sep|>", "<|message_sep|>"
END = "</s>"
TURN = f"{MESSAGE}\n\nfunction call{ROLE}"
_NOTES = ("format", "maxItems", "maximum", "minItems", "minimum", "pattern")


def read(scanner: Scanner, tools: ToolRegistry | None) -> Wait[None]:
    """Reads an answer."""

    def begin() -> Wait[bool]:
        yield from scanner.read_space()
        if (yield from scanner.need(1)) != "{":
            return False
        scanner.set_lead()
        yield from read_call(scanner, tools, ends=(CALL, MESSAGE))
        yield from read_end(scanner, END)
        return True

    return marked(scanner, {TURN: begin, CALL: begin})


def write_calls(calls: Sequence[CallToWrite]) -> str:
    """Each after its mark."""
    return "".join(f"{CALL}{write_object(call)}" for call in calls)


def write_result(_: ToolResultPart, content: str) -> str:
    """A result alone in its turn."""
    return content


def tell_tools(tools: Sequence[ToolDefinition]) -> str:
    """The tools as TypeScript, in a turn of their own after the system's."""
    told = "\n".join(["namespace functions {", *map(_declare, tools), "} // namespace functions"])
    return f"{MESSAGE}\n\nfunction descriptions{ROLE}\n{told}\n\n"


def _declare(tool: ToolDefinition) -> str:
    lines = [f"// {line}" for line in tool.description.split("\n") if line.strip()]
    takes = f"_: {_type(tool.parameters, '  ')}" if tool.parameters.get("properties") else ""
    return "\n".join([*lines, f"type {tool.name} = ({takes}) => any;\n"])


def _type(schema: Mapping[str, Any], indent: str) -> str:
    """A schema as the type that the models are told it as."""
    kind = schema.get("type")
    if kind == "object":
        required = schema.get("required", ())
        lines = [
            f"{_comments(about, indent)}{indent}{key}{'' if key in required else '?'}: {_type(about, f'{indent}  ')},\n"
            for key, about in schema.get("properties", {}).items()
            if isinstance(about, Mapping)
        ]
        return f"{{\n{''.join(lines)}{indent[:-2]}}}"
    if kind == "string":
        return " | ".join(f'"{value}"' for value in schema.get("enum", ())) or "string"
    if kind in ("number", "integer"):
        return " | ".join(map(str, schema.get("enum", ()))) or "number"
    if kind == "boolean":
        return "boolean"
    if kind == "array":
        items = schema.get("items")
        return f"{_type(items, indent)}[]" if isinstance(items, Mapping) else "Array<any>"
    return "any"


def _comments(schema: Mapping[str, Any], indent: str) -> str:
    notes = [line for line in str(schema.get("description", "")).split("\n") if line.strip()]
    notes += [
        f'{key}: "{value}"' if isinstance(value, str) else f"{key}: {value}"
        for key, value in schema.items()
        if key in _NOTES
    ]
    return "".join(f"{indent}// {note}\n" for note in notes)


def _turn(role: str) -> tuple[str, str]:
    return f"{role}{ROLE}\n", f"{MESSAGE}\n\n"


GIGACHAT3: Format = family(
    "gigachat3",
    "JSON after <|function_call|>",
    models=("GigaChat 3", "GigaChat 3.1"),
    read=read,
    write_calls=write_calls,
    write_result=write_result,
    marks=(CALL, ROLE, MESSAGE, END),
    chat=Chat(
        begin="<s>",
        system=_turn("system"),
        user=_turn("user"),
        assistant=_turn("assistant"),
        results=_turn("function result"),
        between_results="".join(reversed(_turn("function result"))),
        answer=_turn("assistant")[0],
        tools=tell_tools,
        default_system="You are a helpful assistant.",
        stop=(MESSAGE, END),
    ),
)
