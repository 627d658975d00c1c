"""`minimax-m1`: JSON objects on lines, all calls of an answer in one pair of tags.

    <tool_calls>
    {"name": "search", "arguments": {"query": "x"}}
    {"name": "ping", "arguments": {}}
    </tool_calls>

Line ends are not asked for. Each object is a call of its own: a broken one leaves the others as they are.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...messages import ToolResultPart
from ...tools.definition import ToolDefinition
from ...tools.registry import ToolRegistry
from ..family import declare, family
from ..format import CallToWrite, Chat, Format
from ..listed import read_objects, write_object
from ..prose import THINK, marked
from ..scanner import Scanner, Wait

OPEN, CLOSE = "<tool_calls>", "</tool_calls>"
_BEGIN, _END = "<beginning_of_sentence>", "<end_of_sentence>\n"


def read(scanner: Scanner, tools: ToolRegistry | None) -> Wait[None]:
    """Reads an answer."""

    def begin() -> Wait[bool]:
        return (yield from read_objects(scanner, tools, CLOSE, (CLOSE, OPEN)))

    return marked(scanner, {OPEN: begin}, THINK)


def write_calls(calls: Sequence[CallToWrite]) -> str:
    """Each on a line of its own."""
    lines = "".join(f"{write_object(call)}\n" for call in calls)
    return f"{OPEN}\n{lines}{CLOSE}"


def write_result(part: ToolResultPart, content: str) -> str:
    """A result under the name of its tool."""
    return f"tool name: {part.name}\ntool result: {content}\n\n"


def tell_tools(tools: Sequence[ToolDefinition]) -> str:
    """The tools in the words of the models' own chat template: a turn of their own after the system's."""
    told = "".join(f"{declare(tool)}\n" for tool in tools)
    return (
        f"{_END}{_BEGIN}system tool_setting=tools\nYou are provided with these tools:\n<tools>\n{told}</tools>\n\n"
        f"If you need to call tools, please respond with {OPEN}{CLOSE} XML tags, and provide tool-name and json-object "
        f'of arguments, following the format below:\n{OPEN}\n{{"name": <tool-name>, "arguments": <args-json-object>}}\n'
        f"...\n{CLOSE}"
    )


MINIMAX_M1: Format = family(
    "minimax-m1",
    "lines of JSON in <tool_calls> tags",
    models=("MiniMax M1",),
    read=read,
    write_calls=write_calls,
    write_result=write_result,
    marks=(OPEN, CLOSE, _BEGIN, "<end_of_sentence>", "<begin_of_document>", "<think>", "</think>"),
    thinking=THINK,
    chat=Chat(
        begin="<begin_of_document>",
        system=(f"{_BEGIN}system ai_setting=assistant\n", _END),
        user=(f"{_BEGIN}user name=user\n", _END),
        assistant=(f"{_BEGIN}ai name=assistant\n", _END),
        results=(f"{_BEGIN}tool name=tools\n", _END),
        answer=f"{_BEGIN}ai name=assistant\n",
        tools=tell_tools,
        default_system="You are a helpful assistant created by Minimax based on MiniMax-M1 model.",
        reasoning="<think>\n",
        stop=("<end_of_sentence>",),
        before_calls="\n",
    ),
)
