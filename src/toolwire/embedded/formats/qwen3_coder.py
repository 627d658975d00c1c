"""`qwen3-coder`: a tag for the function and one for each argument, values as raw text.

    <tool_call>
    <function=search>
    <parameter=query>
    a < b
    </parameter>
    </function>
    </tool_call>

A value is what stands between its tags, without one line end at each side; the schema says what it is. Models leave out
`<tool_call>`, and `</parameter>`: then a value ends where another argument of the tool begins on a line of its own, or
where both the function and the call end.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...messages import ToolResultPart
from ...tools.definition import ToolDefinition
from ...tools.registry import ToolRegistry
from ..family import declare, family
from ..format import CallToWrite, Format
from ..json_source import json_text
from ..prose import THINK, Begin, marked
from ..scanner import Scanner, Wait
from ..tagged import TaggedCall, read_name
from .hermes import CHATML, read_end

FUNCTION, END = "<function=", "</function>"
PARAMETER, VALUE_END = "<parameter=", "</parameter>"
OPEN, CLOSE = "<tool_call>", "</tool_call>"


def begins(scanner: Scanner, tools: ToolRegistry | None, opening: str, closing: str, *, trim: bool) -> dict[str, Begin]:
    """What begins calls of this shape, in the tags of a family: with `trim`, values have a line end at each side."""

    def begin_wrapped() -> Wait[bool]:
        yield from scanner.read_space()
        if not (yield from scanner.read_literal(FUNCTION)):
            return False
        if not (yield from begin_function()):
            return False
        yield from read_end(scanner, closing)
        return True

    def begin_function() -> Wait[bool]:
        name = yield from read_name(scanner, ">")
        if not name:
            return False
        call = TaggedCall(scanner, tools, PARAMETER, VALUE_END)
        call.begin(name)
        problem = yield from _read_arguments(scanner, call, closing, trim)
        if problem:
            yield from call.break_off(problem, (END,), (closing, opening))
        else:
            call.end()
        return True

    return {opening: begin_wrapped, FUNCTION: begin_function}


def _read_arguments(scanner: Scanner, call: TaggedCall, closing: str, trim: bool) -> Wait[str]:
    """Reads arguments to the end of the function; what is wrong, if anything."""
    all_ends = f"\n{END}\n{closing}"
    next_ones = {f"\n{PARAMETER}{name}>": name for name in call.names}
    key = ""
    while True:
        if not key:
            yield from scanner.give_space(scanner.give_run)
            if (yield from scanner.read_literal(END)):
                return ""
            if not (yield from scanner.read_literal(PARAMETER)):
                return scanner.fault(f"there is something other than {PARAMETER}…> or {END}")
            key = yield from read_name(scanner, ">")
            if not key:
                return scanner.fault(f"{PARAMETER}…> is malformed")
        problem = call.key(key) or (yield from call.value((VALUE_END, all_ends, *next_ones), trim=trim))
        if problem or call.mark == all_ends:
            return problem
        key = next_ones.get(call.mark, "")


def read(scanner: Scanner, tools: ToolRegistry | None) -> Wait[None]:
    """Reads an answer."""
    return marked(scanner, begins(scanner, tools, OPEN, CLOSE, trim=True), THINK)


def write_calls(calls: Sequence[CallToWrite]) -> str:
    """Each as a tag around tags."""
    return "\n".join(f"{OPEN}\n{write_function(call, trim=True)}\n{CLOSE}" for call in calls)


def write_function(call: CallToWrite, *, trim: bool) -> str:
    """One function: strings as they are, everything else as JSON."""
    line = "\n" if trim else ""
    values = "".join(
        f"{PARAMETER}{key}>{line}{value if isinstance(value, str) else json_text(value)}{line}{VALUE_END}\n"
        for key, value in call.arguments.items()
    )
    return f"{FUNCTION}{call.name}>\n{values}{END}"


def tell_tools(tools: Sequence[ToolDefinition]) -> str:
    """The tools as JSON, and a call in words like those of the models' own chat template. (To be made exact.)"""
    told = "".join(f"\n{declare(tool)}" for tool in tools)
    return f"\n\n# Tools\n\nYou have access to the following functions:\n\n<tools>{told}\n</tools>"


def write_result(_: ToolResultPart, content: str) -> str:
    """A result between tags."""
    return f"<tool_response>\n{content}\n</tool_response>\n"


QWEN3_CODER: Format = family(
    "qwen3-coder",
    "<function=…> with <parameter=…> tags",
    models=("Qwen3-Coder", "Qwen 3.5", "Qwen 3.6", "Nemotron 3", "MiMo", "Step 3.5", "Nanbeige"),
    read=read,
    write_calls=write_calls,
    write_result=write_result,
    marks=(
        OPEN,
        CLOSE,
        FUNCTION,
        END,
        PARAMETER,
        VALUE_END,
        "<tool_response>",
        "</tool_response>",
        "<|im_start|>",
        "<|im_end|>",
        "<|endoftext|>",
    ),
    thinking=THINK,
    chat=CHATML._replace(tools=tell_tools, between_results=""),
)
