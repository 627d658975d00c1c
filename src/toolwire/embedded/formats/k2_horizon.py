"""`k2-horizon`: calls in a wrapper, each as pairs of tags, with the arguments' types or without, or as JSON.

    <ifm|tool_calls>
    <ifm|tool_call>search
    <ifm|arg_key>query</ifm|arg_key>
    <ifm|arg_type>string</ifm|arg_type>
    <ifm|arg_value>a < b</ifm|arg_value>
    </ifm|tool_call>
    <ifm|tool_call>{"name": "search", "arguments": {"query": "x"}}</ifm|tool_call>
    </ifm|tool_calls>

A type that the schema allows beside others says what the value is; otherwise the schema alone does. The wrapper may be
missing.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...messages import ToolResultPart
from ...tools.definition import ToolDefinition
from ...tools.registry import ToolRegistry
from ..argument_pairs import PairTags, read_pairs, read_wrapped, write_pairs
from ..family import declare, family
from ..format import CallToWrite, Chat, Format
from ..json_calls import read_call
from ..marks import read_end
from ..prose import Thinking, marked
from ..scanner import Scanner, Wait

OPEN, CLOSE = "<ifm|tool_calls>", "</ifm|tool_calls>"
TAGS = PairTags(
    opening="<ifm|tool_call>",
    closing="</ifm|tool_call>",
    key="<ifm|arg_key>",
    key_end="</ifm|arg_key>",
    value="<ifm|arg_value>",
    value_end="</ifm|arg_value>",
    kind=("<ifm|arg_type>", "</ifm|arg_type>"),
)
THINKING = Thinking(tuple((f"<ifm|{word}>", f"</ifm|{word}>") for word in ("think", "think_fast", "think_faster")))


def read(scanner: Scanner, tools: ToolRegistry | None) -> Wait[None]:
    """Reads an answer."""

    def begin() -> Wait[bool]:
        yield from scanner.read_space()
        if (yield from scanner.need(1)) != "{":
            return (yield from read_pairs(scanner, tools, TAGS, (OPEN, CLOSE)))
        scanner.set_lead()
        ends = (TAGS.closing, CLOSE)
        yield from read_call(scanner, tools, ends=ends, openers=(TAGS.opening, OPEN), after=ends)
        yield from read_end(scanner, TAGS.closing)
        return True

    def begin_wrapper() -> Wait[bool]:
        return read_wrapped(scanner, TAGS.opening, CLOSE, begin)

    return marked(scanner, {OPEN: begin_wrapper, TAGS.opening: begin}, THINKING)


def write_calls(calls: Sequence[CallToWrite]) -> str:
    """All in one wrapper, as pairs of tags without types."""
    return "\n".join((OPEN, *(write_pairs(call, TAGS, "\n") for call in calls), CLOSE))


def write_result(_: ToolResultPart, content: str) -> str:
    """A result as it is: it has a turn of its own."""
    return content


def tell_tools(tools: Sequence[ToolDefinition]) -> str:
    """The tools in the words of the model's own chat template."""
    told = "".join(f"\n{declare(tool)}" for tool in tools)
    return (
        "# Tools\nYou may call one or more tools to assist with the user query.\n\nAvailable tools are:\n\n"
        f"<ifm|tools>{told}\n</ifm|tools>\n\n"
        "When calling tools, you MUST follow the tool-call format below:\n\n"
        f"Wrap all tool calls in a single {OPEN}{CLOSE} block. For each call, write the function name at the start of "
        f"{TAGS.opening}, followed by paired {TAGS.key} and {TAGS.value} tags for each argument:\n\n"
        f"{OPEN}\n{TAGS.opening}$FUNCTION_NAME\n{TAGS.key}$PARAMETER_NAME{TAGS.key_end}\n"
        f"{TAGS.value}$PARAMETER_VALUE{TAGS.value_end}\n...\n{TAGS.closing}\n{CLOSE}\n\n"
        "String and scalar parameters should be written as plain text. "
        "Array and object parameters should be written as JSON literals."
    )


_BEGIN, _START, _END = "<|ifm|begin_of_text|>", "<|ifm|im_start|>", "<|ifm|im_end|>"

K2_HORIZON: Format = family(
    "k2-horizon",
    "<ifm|tool_calls> with <ifm|arg_key> and <ifm|arg_value> tags",
    models=("K2 Horizon",),
    read=read,
    write_calls=write_calls,
    write_result=write_result,
    marks=(
        OPEN,
        CLOSE,
        *TAGS.all,
        *(mark for pair in THINKING.marks for mark in pair),
        *("<ifm|tools>", "</ifm|tools>", _BEGIN, _START, _END),
    ),
    thinking=THINKING,
    chat=Chat(
        begin=_BEGIN,
        system=(f"{_START}system\n", _END),
        user=(f"{_START}user\n", _END),
        assistant=(f"{_START}assistant\n", _END),
        results=(f"{_START}tool\n", _END),
        between_results=f"{_END}{_START}tool\n",
        answer=f"{_START}assistant\n",
        tools=tell_tools,
        tools_at="system_first",
        reasoning="<ifm|think>\n",
        no_reasoning="<ifm|think>\n</ifm|think>\n",
        thought=("<ifm|think>\n", "</ifm|think>"),
        no_thought="<ifm|think>\n</ifm|think>",
        stop=(_END,),
    ),
)
