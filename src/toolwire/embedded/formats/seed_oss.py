"""`seed-oss`: the tags of `qwen3-coder` in a wrapper of their own, values without line ends around them.

    <seed:tool_call>
    <function=search>
    <parameter=query>a < b</parameter>
    <parameter=tags>['x', 'y']</parameter>
    </function>
    </seed:tool_call>

Arrays, objects and words stand there as Python prints them. Where a value begins with a line end, it was put on lines
of its own, and one line end is taken off at each side. Within its reasoning the model tells how much of its budget it
has used (`<seed:cot_budget_reflect>`); where there is no budget, the prompt opens that as well.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ...messages import ToolResultPart
from ...tools.definition import ToolDefinition
from ...tools.registry import ToolRegistry
from ..family import family
from ..format import CallToWrite, Chat, Format
from ..prose import Thinking, marked
from ..scanner import Scanner, Wait
from .qwen3_coder import END, FUNCTION, PARAMETER, VALUE_END, begins, write_function

OPEN, CLOSE = "<seed:tool_call>", "</seed:tool_call>"
THINK, THINK_END = "<seed:think>", "</seed:think>"
REFLECT, REFLECT_END = "<seed:cot_budget_reflect>", "</seed:cot_budget_reflect>"
BEGIN, STOP = "<seed:bos>", "<seed:eos>"

THINKING = Thinking(((THINK, THINK_END), (REFLECT, THINK_END)))

_TYPES = {"string": "str", "number": "int", "integer": "int", "boolean": "bool", "array": "list"}


def read(scanner: Scanner, tools: ToolRegistry | None) -> Wait[None]:
    """Reads an answer."""
    return marked(scanner, begins(scanner, tools, OPEN, CLOSE, trim=False), THINKING)


def write_calls(calls: Sequence[CallToWrite]) -> str:
    """Each as a tag around tags."""
    return "\n".join(f"{OPEN}\n{write_function(call, _written, '')}\n{CLOSE}" for call in calls)


def _written(value: Any) -> str:
    """A value as Python prints it; on lines of its own, where it would look as if it were."""
    text = str(value)
    return f"\n{text}\n" if text.startswith(("\n", "\r\n")) else text


def write_result(_: ToolResultPart, content: str) -> str:
    """A result as it is: it has a turn of its own."""
    return content


def tell_tools(tools: Sequence[ToolDefinition]) -> str:
    """The tools as Python functions, in the words of the model's own chat template."""
    return (
        f"{''.join(map(_tell_tool, tools))}\n工具调用请遵循如下格式:\n"
        f"{OPEN}\n{FUNCTION}example_function_name>\n{PARAMETER}example_parameter_1>value_1{VALUE_END}\n"
        f"{PARAMETER}example_parameter_2>This is the value for the second parameter\nthat can span\nmultiple lines"
        f"{VALUE_END}\n{END}\n{CLOSE}\n"
    )


def _tell_tool(tool: ToolDefinition) -> str:
    properties = tool.parameters.get("properties")
    schemas = properties if isinstance(properties, dict) else {}
    types = {name: _type_of(schema) for name, schema in schemas.items()}
    head = ",".join(f"{name}: {kind}" for name, kind in types.items())
    about = "".join(_tell_arguments(tool, types)) if types else "\n\n"
    return f'\n\nFunction:\ndef {tool.name}({head}):\n    """\n    {tool.description.strip()}{about}\n\n    """'


def _tell_arguments(tool: ToolDefinition, types: dict[str, str]) -> Iterator[str]:
    required = tool.parameters.get("required") or ()
    yield "\n\n    Args:"
    for name, kind in types.items():
        schema = tool.parameters["properties"][name]
        about = schema.get("description") or "" if isinstance(schema, dict) else ""
        yield f"\n    - {name} ({kind}) [{'必填' if name in required else '选填'}]: {about}"


def _type_of(schema: object) -> str:
    kind = schema.get("type") if isinstance(schema, dict) else None
    return _TYPES.get(kind, "Any") if isinstance(kind, str) else "Any"


SEED_OSS: Format = family(
    "seed-oss",
    "<seed:tool_call> with <parameter=…> tags",
    models=("Seed-OSS",),
    read=read,
    write_calls=write_calls,
    write_result=write_result,
    marks=(
        *(OPEN, CLOSE, FUNCTION, END, PARAMETER, VALUE_END),
        *(THINK, THINK_END, REFLECT, REFLECT_END, BEGIN, STOP, "<seed:pad>"),
    ),
    thinking=THINKING,
    chat=Chat(
        system=(f"{BEGIN}system\n", STOP),
        user=(f"{BEGIN}user\n", STOP),
        assistant=(f"{BEGIN}assistant\n", STOP),
        results=(f"{BEGIN}tool\n", STOP),
        between_results=f"{STOP}{BEGIN}tool\n",
        answer=f"{BEGIN}assistant\n",
        tools=tell_tools,
        default_system=(
            "You are Doubao, a helpful AI assistant. You may call one or more functions to assist with the user query."
        ),
        reasoning=THINK,
        no_reasoning=f"{THINK}{REFLECT}",
        before_calls="\n\n",
        thought=(THINK, f"{THINK_END}\n"),
        stop=(STOP,),
    ),
)
