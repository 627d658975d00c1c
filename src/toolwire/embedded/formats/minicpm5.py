"""`minicpm5`: an element for the function and one for each argument; text with marks in it stands in CDATA.

    <function name="write_file"><param name="path">a.txt</param><param name="content"><![CDATA[a < b
    ]]></param></function>

A value is everything up to `</param>`, or between the marks of CDATA, which may hold that too; nothing in it is
escaped. The schema says what it is. Where a value is not closed before another argument of the tool begins, or another
call with arguments, the call is broken. Names may stand in single quotes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...tools.definition import ToolDefinition
from ...tools.registry import ToolRegistry
from ..chatml import CHATML_MARKS, chatml
from ..family import declare, family
from ..format import CallToWrite, Format
from ..json_source import json_text
from ..marks import comes_soon
from ..names import read_name
from ..prose import Thinking, marked
from ..scanner import Scanner, Wait
from ..tagged import TaggedCall
from .hermes import RESPONSES, write_result

FUNCTION, END = "<function name=", "</function>"
PARAM, VALUE_END = "<param name=", "</param>"
CDATA = "<![CDATA["
CDATA_ENDS = (f"]]>{VALUE_END}", f"]]>\n{VALUE_END}")
_IN_CDATA = frozenset("<&\n")

THINKING = Thinking(ended_by_calls=False)


def read(scanner: Scanner, tools: ToolRegistry | None) -> Wait[None]:
    """Reads an answer."""

    def begin() -> Wait[bool]:
        size = scanner.held_length
        call = TaggedCall(scanner, tools, PARAM, VALUE_END, (CDATA, CDATA_ENDS[0]))
        name = yield from _read_quoted(scanner)
        if not name:
            if not (yield from comes_soon(scanner, size, PARAM, (FUNCTION, END))):
                return False
            call.begin("")
            yield from call.break_off(call.fault(f"{FUNCTION}…> is malformed"), (END,), openers=(FUNCTION,))
            return True
        call.begin(name)
        calls = [f'"{name}">{PARAM}' for name in (tools.names if tools else ())]
        problem = yield from _read_params(scanner, call, calls)
        if problem:
            yield from call.break_off(problem, (END,), openers=(FUNCTION,))
        else:
            call.end()
        return True

    return marked(scanner, {FUNCTION: begin}, THINKING)


def _read_params(scanner: Scanner, call: TaggedCall, calls: Sequence[str]) -> Wait[str]:
    """Reads arguments to the end of the function; what is wrong, if anything.

    `calls` are the ways in which another call goes on after its opening mark.
    """
    while True:
        yield from scanner.give_space(scanner.give_run)
        if (yield from scanner.read_literal(END)):
            return ""
        if not (yield from scanner.read_literal(PARAM)):
            problem = f"there is something other than {PARAM}…> or {END}"
            return (yield from call.no_argument(problem, (PARAM, END), (FUNCTION,)))
        key = yield from _read_quoted(scanner)
        if not key:
            return call.fault(f"{PARAM}…> is malformed")
        problem = call.key(key) or (yield from _read_value(scanner, call, calls))
        if problem:
            return problem
        if call.mark not in (VALUE_END, *CDATA_ENDS):
            return call.left_open(VALUE_END)


def _read_value(scanner: Scanner, call: TaggedCall, calls: Sequence[str]) -> Wait[str]:
    if (yield from scanner.read_literal(CDATA)) or (yield from scanner.read_literal(f"\n{CDATA}")):
        return (yield from call.value(CDATA_ENDS))
    others = [f"{quote}{name}{quote}>" for name in call.names_left for quote in "\"'"]
    return (yield from call.value((VALUE_END,), openings={PARAM: others, FUNCTION: calls}))


def _read_quoted(scanner: Scanner) -> Wait[str]:
    """Reads a name in quotes and the end of its tag; empty if that is not there."""
    for quote in "\"'":
        if (yield from scanner.read_literal(quote)):
            name = yield from read_name(scanner, quote)
            yield from scanner.read_space()
            return name if (yield from scanner.read_literal(">")) else ""
    return ""


def write_calls(calls: Sequence[CallToWrite]) -> str:
    """Each on a line."""
    return "\n".join(map(_write_call, calls))


def _write_call(call: CallToWrite) -> str:
    values = "".join(f'{PARAM}"{key}">{_written(value)}{VALUE_END}' for key, value in call.arguments.items())
    return f'{FUNCTION}"{call.name}">{values}{END}'


def _written(value: Any) -> str:
    if not isinstance(value, str):
        return json_text(value)
    return value if _IN_CDATA.isdisjoint(value) else f"{CDATA}{value}]]>"


def tell_tools(tools: Sequence[ToolDefinition]) -> str:
    """The tools in the words of the model's own chat template."""
    told = "".join(f"\n{declare(tool)}" for tool in tools)
    return (
        "\n\n# Tools\n\n"
        f"You are provided with function signatures within <tools></tools> XML tags:\n<tools>{told}\n</tools>\n\n"
        "Tool usage guidelines:\n"
        "- You may call zero or more functions. If no function calls are needed, just answer normally and do not "
        "include any <function ... </function>.\n"
        "- When calling a function, return an XML object within <function ... </function> using:\n"
        f'{FUNCTION}"function-name">{PARAM}"param-name">param-value{VALUE_END}{END}\n'
        "- param-value may be multi-line. If it contains <, & or newline characters, wrap it in a CDATA block: "
        f'{PARAM}"param-name">{CDATA}...multi-line value...]]>{VALUE_END}'
    )


MINICPM5: Format = family(
    "minicpm5",
    "<function name=…> with <param name=…> elements",
    models=("MiniCPM 5",),
    read=read,
    write_calls=write_calls,
    write_result=write_result,
    marks=(
        *(FUNCTION, END, PARAM, VALUE_END, CDATA, "<think>", "</think>"),
        *RESPONSES,
        *CHATML_MARKS,
        *("<s>", "</s>"),
    ),
    thinking=THINKING,
    chat=chatml(tell_tools)._replace(
        begin="<s>",
        default_system="",
        before_calls="\n",
        stop=("<|im_end|>", "</s>"),
    ),
)
