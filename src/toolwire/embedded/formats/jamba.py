"""`jamba`: a JSON list between tags.

    <tool_calls>[
        {"name": "search", "arguments": {"query": "x"}}
    ]</tool_calls>

Reasoning in `<think>` tags, where a model writes it, is told apart.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from ...messages import ToolResultPart
from ...tools.definition import ToolDefinition
from ...tools.registry import ToolRegistry
from ..family import family
from ..format import CallToWrite, Chat, Format
from ..listed import lists, write_object
from ..prose import THINK, marked
from ..scanner import Scanner, Wait

OPEN, CLOSE = "<tool_calls>", "</tool_calls>"


def read(scanner: Scanner, tools: ToolRegistry | None) -> Wait[None]:
    """Reads an answer."""
    return marked(scanner, lists(scanner, tools, OPEN, CLOSE), THINK)


def write_calls(calls: Sequence[CallToWrite]) -> str:
    """A list between tags, one call on a line."""
    listed = ",\n".join(f"    {write_object(call)}" for call in calls)
    return f"{OPEN}[\n{listed}\n]{CLOSE}"


def write_result(_: ToolResultPart, content: str) -> str:
    """A result is a turn of its own and has nothing else around it."""
    return content


def tell_tools(tools: Sequence[ToolDefinition]) -> str:
    """The tools as JSON on several lines, between tags."""
    told = "".join(f"\n\n{json.dumps(tool.as_json(), ensure_ascii=False, indent=2)}" for tool in tools)
    return f"\n\n<tool_definitions>\n# Tools\n\n## Functions{told}\n</tool_definitions>"


CHAT = Chat(
    system=("<|bom|><|system|> ", "<|eom|>"),
    user=("<|bom|><|user|> ", "<|eom|>"),
    assistant=("<|bom|><|assistant|> ", "<|eom|>"),
    results=("<|bom|><|tool|> ", "<|eom|>"),
    between_results="<|eom|><|bom|><|tool|> ",
    answer="<|bom|><|assistant|>",
    tools=tell_tools,
    begin="<|startoftext|>",
    stop=("<|eom|>", "<|endoftext|>"),
)

JAMBA: Format = family(
    "jamba",
    "a JSON list in <tool_calls> tags",
    models=("Jamba 1.5, 1.6 and 1.7",),
    read=read,
    write_calls=write_calls,
    write_result=write_result,
    marks=(
        *(OPEN, CLOSE, "<tool_definitions>", "</tool_definitions>", "<|bom|>", "<|eom|>", "<|startoftext|>"),
        *("<|endoftext|>", "<|system|>", "<|user|>", "<|assistant|>", "<|tool|>", "<think>", "</think>"),
    ),
    thinking=THINK,
    chat=CHAT,
)
