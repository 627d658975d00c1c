"""`minimax-m2`: a tag for the call and one for each argument, values as raw text.

    <minimax:tool_call>
    <invoke name="search">
    <parameter name="query">a < b</parameter>
    </invoke>
    </minimax:tool_call>

A value is what stands between its tags, every character of it; the schema says what it is. Names may stand without
quotes, and calls without the wrapper.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...messages import ToolResultPart
from ...tools.definition import ToolDefinition
from ...tools.registry import ToolRegistry
from ..family import about, family
from ..format import CallToWrite, Chat, Format
from ..invokes import Invokes, tags, write_wrapped
from ..prose import THINK, marked
from ..scanner import Scanner, Wait

OPEN, CLOSE = "<minimax:tool_call>", "</minimax:tool_call>"
TAGS = tags("")


def read(scanner: Scanner, tools: ToolRegistry | None) -> Wait[None]:
    """Reads an answer."""
    return marked(scanner, Invokes(scanner, tools, TAGS, {OPEN: CLOSE}).begins(), THINK)


def write_calls(calls: Sequence[CallToWrite]) -> str:
    """All in one wrapper."""
    return write_wrapped(calls, TAGS, OPEN, CLOSE)


def write_result(_: ToolResultPart, content: str) -> str:
    """A result on a line of its own."""
    return f"\n<response>{content}</response>"


def list_tools(tools: Sequence[ToolDefinition]) -> str:
    """The tools as JSON between tags."""
    told = "".join(f"<tool>{about(tool)}</tool>\n" for tool in tools)
    return (
        "\n\n# Tools\nYou may call one or more tools to assist with the user query.\n"
        f"Here are the tools available in JSONSchema format:\n\n<tools>\n{told}</tools>\n\n"
    )


def tell_tools(tools: Sequence[ToolDefinition]) -> str:
    """The tools in the words of the models' own chat template."""
    return (
        f"{list_tools(tools)}When making tool calls, use XML format to invoke tools and pass parameters:\n\n{OPEN}\n"
        '<invoke name="tool-name-1">\n'
        '<parameter name="param-key-1">param-value-1</parameter>\n'
        '<parameter name="param-key-2">param-value-2</parameter>\n'
        f"...\n</invoke>\n{CLOSE}"
    )


CHAT = Chat(
    begin="]~!b[",
    system=("]~b]system\n", "[e~[\n"),
    user=("]~b]user\n", "[e~[\n"),
    assistant=("]~b]ai\n", "[e~[\n"),
    results=("]~b]tool", "[e~[\n"),
    answer="]~b]ai\n",
    tools=tell_tools,
    default_system="You are a helpful assistant.",
    reasoning="<think>\n",
    no_reasoning="<think>\n</think>\n\n",
    stop=("[e~[",),
    before_calls="\n",
    calls_apart=True,
    thought=("<think>\n", "\n</think>\n\n"),
)

TURNS = ("]~!b[", "]~b]", "[e~[", "]!p~[", "]!d~[", "<response>", "</response>")

MINIMAX_M2: Format = family(
    "minimax-m2",
    "<invoke> and <parameter> tags in <minimax:tool_call>",
    models=("MiniMax M2", "MiniMax M2.5"),
    read=read,
    write_calls=write_calls,
    write_result=write_result,
    marks=(OPEN, CLOSE, "<invoke", "</invoke>", "<parameter", "</parameter>", "<think>", "</think>", *TURNS),
    thinking=THINK,
    chat=CHAT,
)
