"""`olmo3`: calls as Python writes them, one on each line, between tags.

    <function_calls>search(query="x")
    ping()</function_calls>

Values are JSON or Python literals. Line ends next to the tags mean nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...messages import ToolResultPart
from ...tools.definition import ToolDefinition
from ...tools.registry import ToolRegistry
from ..chatml import chatml
from ..expressions import read_section, write_expression
from ..family import declare, family
from ..format import CallToWrite, Chat, Format
from ..json_source import json_text
from ..prose import THINK, marked
from ..scanner import Scanner, Wait

OPEN, CLOSE = "<function_calls>", "</function_calls>"
FUNCTIONS = ("<functions>", "</functions>")


def read(scanner: Scanner, tools: ToolRegistry | None) -> Wait[None]:
    """Reads an answer."""
    return marked(scanner, {OPEN: lambda: read_section(scanner, tools, OPEN, CLOSE)}, THINK)


def write_calls(calls: Sequence[CallToWrite]) -> str:
    """One on each line, values as JSON."""
    lines = "\n".join(write_expression(call, json_text) for call in calls)
    return f"{OPEN}{lines}{CLOSE}"


def write_result(_: ToolResultPart, content: str) -> str:
    """A result has a turn of its own."""
    return content


def tell_tools(tools: Sequence[ToolDefinition]) -> str:
    """The tools in the words of the model's own chat template."""
    told = ", ".join(map(declare, tools))
    return (
        f" You are provided with function signatures within {FUNCTIONS[0]}{FUNCTIONS[1]} XML tags. You may call one or "
        "more functions to assist with the user query. Output any function calls within "
        f"{OPEN}{CLOSE} XML tags. Do not make assumptions about what values to plug into functions."
        f"{FUNCTIONS[0]}[{told}]{FUNCTIONS[1]}"
    )


CHAT: Chat = chatml(tell_tools)._replace(
    results=("<|im_start|>environment\n", "<|im_end|>\n"),
    between_results="<|im_end|>\n<|im_start|>environment\n",
    default_system="You are a helpful function-calling AI assistant.",
    before_calls="",
    reasoning="<think>",
    no_reasoning="",
    thought=None,
)

OLMO3: Format = family(
    "olmo3",
    "Python calls on lines in <function_calls> tags",
    models=("OLMo 3",),
    read=read,
    write_calls=write_calls,
    write_result=write_result,
    marks=(OPEN, CLOSE, *FUNCTIONS, "<think>", "</think>", "<|im_start|>", "<|im_end|>", "<|endoftext|>"),
    thinking=THINK,
    chat=CHAT,
)
