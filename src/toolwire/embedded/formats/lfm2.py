"""`lfm2`: a list of calls as Python writes them, between marks; LFM2 and LFM2.5.

    <|tool_call_start|>[search(query='x', limit=3), ping()]<|tool_call_end|>

A list of JSON objects (`{"name": …, "arguments": …}`) between the same marks is read too: a prompt can ask for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...messages import ToolResultPart
from ...tools.definition import ToolDefinition
from ...tools.registry import ToolRegistry
from ..chatml import chatml
from ..expressions import read_section, write_expression
from ..family import declare, family
from ..format import CallToWrite, Format
from ..json_source import json_text
from ..prose import THINK, marked
from ..scanner import Scanner, Wait

OPEN, CLOSE = "<|tool_call_start|>", "<|tool_call_end|>"
LIST = ("<|tool_list_start|>", "<|tool_list_end|>")
RESPONSES = ("<|tool_response_start|>", "<|tool_response_end|>")


def read(scanner: Scanner, tools: ToolRegistry | None) -> Wait[None]:
    """Reads an answer."""
    return marked(scanner, {OPEN: lambda: read_section(scanner, tools, OPEN, CLOSE)}, THINK)


def _value(value: Any) -> str:
    """An object as JSON, everything else as Python writes it."""
    return json_text(value) if isinstance(value, dict) else repr(value)


def write_calls(calls: Sequence[CallToWrite]) -> str:
    """A list between marks."""
    return f"{OPEN}[{', '.join(write_expression(call, _value) for call in calls)}]{CLOSE}"


def write_result(_: ToolResultPart, content: str) -> str:
    """A result between marks."""
    return f"{RESPONSES[0]}{content}{RESPONSES[1]}"


def tell_tools(tools: Sequence[ToolDefinition]) -> str:
    """The tools in the words of the models' own chat template."""
    return f"\nList of tools: {LIST[0]}[{', '.join(map(declare, tools))}]{LIST[1]}"


LFM2: Format = family(
    "lfm2",
    "a list of Python calls in <|tool_call_start|> marks",
    models=("LFM2", "LFM2.5"),
    read=read,
    write_calls=write_calls,
    write_result=write_result,
    marks=(
        *(OPEN, CLOSE, *LIST, *RESPONSES, "<think>", "</think>"),
        *("<|im_start|>", "<|im_end|>", "<|startoftext|>", "<|endoftext|>"),
    ),
    thinking=THINK,
    chat=chatml(tell_tools)._replace(
        begin="<|startoftext|>",
        results=("<|im_start|>tool\n", "<|im_end|>\n"),
        between_results="<|im_end|>\n<|im_start|>tool\n",
        default_system="",
        before_calls="",
        no_reasoning="",
        thought=("<think>", "</think>"),
    ),
)
