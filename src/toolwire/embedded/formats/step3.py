"""`step3`: tags for the call and for each argument, between marks for the call and for all of them.

    <｜tool_calls_begin｜><｜tool_call_begin｜>function<｜tool_sep｜><steptml:invoke name="search">
    <steptml:parameter name="query">a < b</steptml:parameter>
    </steptml:invoke><｜tool_call_end｜><｜tool_calls_end｜>

A value is what stands between its tags, every character of it; the schema says what it is. Any of the marks around the
tags may be missing, or a `<steptml:toolcall>` may stand in their place.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...messages import ToolResultPart
from ...tools.definition import ToolDefinition
from ...tools.registry import ToolRegistry
from ..family import declare, family
from ..format import CallToWrite, Chat, Format
from ..invokes import Invokes, tags, write_invoke
from ..prose import THINK, marked
from ..scanner import Scanner, Wait

CALLS, CALLS_END = "<｜tool_calls_begin｜>", "<｜tool_calls_end｜>"
CALL, CALL_END = "<｜tool_call_begin｜>", "<｜tool_call_end｜>"
SEPARATOR = "<｜tool_sep｜>"
FUNCTION = f"function{SEPARATOR}"
OPEN, CLOSE = "<steptml:toolcall>", "</steptml:toolcall>"
TAGS = tags("steptml:")


def read(scanner: Scanner, tools: ToolRegistry | None) -> Wait[None]:
    """Reads an answer."""
    wrappers = {CALLS: CALLS_END, CALL: CALLS_END, OPEN: CLOSE}
    between = (CALL, FUNCTION, SEPARATOR, CALL_END)
    return marked(scanner, Invokes(scanner, tools, TAGS, wrappers, between=between).begins(), THINK)


def write_calls(calls: Sequence[CallToWrite]) -> str:
    """Each between its marks, all between theirs."""
    told = (f"{CALL}{FUNCTION}{write_invoke(call, TAGS)}{CALL_END}" for call in calls)
    return f"{CALLS}{''.join(told)}{CALLS_END}"


def write_result(_: ToolResultPart, content: str) -> str:
    """A result between marks."""
    return f"<｜tool_output_begin｜>{content}<｜tool_output_end｜>"


def tell_tools(tools: Sequence[ToolDefinition]) -> str:
    """The tools as JSON, and a call."""
    told = "".join(f"\n{declare(tool)}" for tool in tools)
    return (
        f"\n\n# Tools\n\nYou may call one or more of these functions:\n<tools>{told}\n</tools>\n\n"
        "Write calls like this:\n"
        f'{CALLS}{CALL}{FUNCTION}<steptml:invoke name="$FUNCTION_NAME">\n'
        '<steptml:parameter name="$PARAMETER_NAME">$PARAMETER_VALUE</steptml:parameter>\n'
        f"</steptml:invoke>{CALL_END}{CALLS_END}"
    )


STEP3: Format = family(
    "step3",
    "<steptml:invoke> tags between marks",
    models=("Step 3",),
    read=read,
    write_calls=write_calls,
    write_result=write_result,
    marks=(
        CALLS,
        CALLS_END,
        CALL,
        CALL_END,
        SEPARATOR,
        "<steptml:",
        "</steptml:",
        "<｜tool_output_begin｜>",
        "<｜tool_output_end｜>",
        "<think>",
        "</think>",
        "<｜begin▁of▁sentence｜>",
        "<｜end▁of▁sentence｜>",
        "<|BOT|>",
        "<|EOT|>",
    ),
    thinking=THINK,
    chat=Chat(
        begin="<｜begin▁of▁sentence｜>",
        system=("<|BOT|>system\n", "<|EOT|>"),
        user=("<|BOT|>user\n", "<|EOT|>"),
        assistant=("<|BOT|>assistant\n", "<|EOT|>"),
        results=("<|BOT|>tool_response\n", "<|EOT|>"),
        answer="<|BOT|>assistant\n",
        tools=tell_tools,
        reasoning="<think>\n",
        no_reasoning="<think>\n\n</think>\n",
        stop=("<|EOT|>",),
    ),
)
