"""`xlam`: a bare JSON list, as the xLAM models write calls; it may also stand in a fence, in tags, or after a mark.

    [{"name": "search", "arguments": {"query": "x"}}]

Without a mark, and in a fence, it must begin with the name of a known tool and then its arguments: other lists are
text. Without either it begins the answer or a line: in the middle of one it is data. In reasoning all of it is a draft.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from ...messages import ToolResultPart
from ...tools.definition import ToolDefinition
from ...tools.registry import ToolRegistry
from ..chatml import CHATML_MARKS, chatml
from ..family import declare, family
from ..format import CallToWrite, Format
from ..json_calls import Outcome, read_calls
from ..listed import lists, read_list, write_list
from ..marks import at_mark
from ..prose import FENCE, Thinking, marked
from ..scanner import Scanner, Wait
from .mistral import CALLS

OPEN, CLOSE = "<tool_call>", "</tool_call>"
THINKING = Thinking(ended_by_calls=False)


def read(scanner: Scanner, tools: ToolRegistry | None) -> Wait[None]:
    """Reads an answer."""

    def begin_marked() -> Wait[bool]:
        return (yield from read_list(scanner, tools, "", (CALLS,)))

    def begin_fenced() -> Wait[bool]:
        yield from scanner.read_literal("json")
        return (yield from read_list(scanner, tools, FENCE, (FENCE,), certain=False))

    def begin_first() -> Wait[bool]:
        if scanner.said:
            return False
        scanner.unread()
        return (yield from read_calls(scanner, tools, certain=False)) is not Outcome.NOTHING

    def begin_line() -> Wait[bool]:
        scanner.unread()
        scanner.give_text_to(scanner.at + 1)
        if (yield from at_mark(scanner, CALLS)):
            return True
        return (yield from read_calls(scanner, tools, certain=False)) is not Outcome.NOTHING

    openers = {CALLS: begin_marked} | lists(scanner, tools, OPEN, CLOSE)
    openers |= {FENCE: begin_fenced, "\n[": begin_line, "[": begin_first}
    return marked(scanner, openers, THINKING)


def write_calls(calls: Sequence[CallToWrite]) -> str:
    """A bare list."""
    return write_list(calls)


def write_result(_: ToolResultPart, content: str) -> str:
    """A result is a turn of its own and has nothing else around it."""
    return content


def tell_tools(tools: Sequence[ToolDefinition]) -> str:
    """The tools in the words of the models' own chat template."""
    told = (json.dumps(json.loads(declare(tool)), ensure_ascii=False, indent=4) for tool in tools)
    return (
        "\nYou have access to a set of tools. When using tools, make calls in a single JSON array: \n\n"
        '[{"name": "tool_call_name", "arguments": {"arg1": "value1", "arg2": "value2"}}, '
        "... (additional parallel tool calls as needed)]\n\n"
        "If no tool is suitable, state that explicitly. If the user's input lacks required parameters, ask for "
        "clarification. Do not interpret or respond until tool results are returned. Once they are available, process "
        "them or make additional calls if needed. For tasks that don't require tools, such as casual conversation or "
        "general advice, respond directly in plain text. The available tools are:\n\n"
    ) + "".join(f"{tool}\n\n" for tool in told)


XLAM: Format = family(
    "xlam",
    "a bare JSON list",
    models=("xLAM 2",),
    read=read,
    write_calls=write_calls,
    write_result=write_result,
    marks=(*CHATML_MARKS, "<|endoftext|>", CALLS, OPEN, CLOSE, "<think>", "</think>"),
    thinking=THINKING,
    chat=chatml(tell_tools)._replace(
        results=("<|im_start|>tool\n", "<|im_end|>\n"),
        between_results="<|im_end|>\n<|im_start|>tool\n",
        default_system="You are a helpful assistant. You are developed by Salesforce xLAM team.",
        reasoning="",
        no_reasoning="",
        thought=None,
    ),
)
