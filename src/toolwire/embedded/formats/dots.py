"""`dots`: a tag for the call and one for each argument, or a JSON object, in a wrapper.

    <dots_function_call>
    <invoke name="search">
    <parameter name="query">a < b</parameter>
    </invoke>
    </dots_function_call>

A value is what stands between its tags, every character of it; the schema says what it is. In place of the tags there
may be `{"name": "search", "arguments": {…}}`.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...messages import ToolResultPart
from ...tools.definition import ToolDefinition
from ...tools.registry import ToolRegistry
from ..family import about, family
from ..format import CallToWrite, Chat, Format
from ..invokes import Invokes, tags, write_wrapped
from ..listed import read_objects
from ..prose import THINK, marked
from ..scanner import Scanner, Wait

OPEN, CLOSE = "<dots_function_call>", "</dots_function_call>"
TAGS = tags("")


def read(scanner: Scanner, tools: ToolRegistry | None) -> Wait[None]:
    """Reads an answer."""
    invokes = Invokes(scanner, tools, TAGS, {OPEN: CLOSE})

    def begin() -> Wait[bool]:
        yield from scanner.read_space()
        if (yield from scanner.need(1)) != "{":
            return (yield from invokes.wrapped())
        return (yield from read_objects(scanner, tools, CLOSE, (CLOSE, OPEN)))

    return marked(scanner, invokes.begins() | {OPEN: begin}, THINK)


def write_calls(calls: Sequence[CallToWrite]) -> str:
    """All in one wrapper."""
    return write_wrapped(calls, TAGS, OPEN, CLOSE)


def write_result(_: ToolResultPart, content: str) -> str:
    """A result between tags."""
    return f"<tool_response>\n{content}\n</tool_response>"


def tell_tools(tools: Sequence[ToolDefinition]) -> str:
    """The tools as JSON, and a call."""
    told = "".join(f"\n{about(tool)}" for tool in tools)
    return (
        f"\n\n# Tools\n\nYou may call one or more of these functions:\n<tools>{told}\n</tools>\n\n"
        f'Write calls like this:\n{OPEN}\n<invoke name="$FUNCTION_NAME">\n'
        f'<parameter name="$PARAMETER_NAME">$PARAMETER_VALUE</parameter>\n</invoke>\n{CLOSE}'
    )


DOTS: Format = family(
    "dots",
    "<invoke> and <parameter> tags, or JSON, in <dots_function_call>",
    models=("dots.llm2",),
    read=read,
    write_calls=write_calls,
    write_result=write_result,
    marks=(
        OPEN,
        CLOSE,
        "<invoke",
        "</invoke>",
        "<parameter",
        "</parameter>",
        "<tool_response>",
        "</tool_response>",
        "<think>",
        "</think>",
        "<|system|>",
        "<|endofsystem|>",
        "<|userprompt|>",
        "<|endofuserprompt|>",
        "<|response|>",
        "<|endofresponse|>",
    ),
    thinking=THINK,
    chat=Chat(
        system=("<|system|>", "<|endofsystem|>"),
        user=("<|userprompt|>", "<|endofuserprompt|>"),
        assistant=("<|response|>", "<|endofresponse|>"),
        results=("<|userprompt|>", "<|endofuserprompt|>"),
        between_results="\n",
        answer="<|response|>",
        tools=tell_tools,
        default_system="You are a helpful assistant.",
        reasoning="<think>\n",
        no_reasoning="<think>\n\n</think>\n\n",
        stop=("<|endofresponse|>",),
    ),
)
