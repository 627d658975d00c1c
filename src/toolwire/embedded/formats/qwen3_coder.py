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

from collections.abc import Callable, Sequence
from typing import Any

from ...messages import ToolResultPart
from ...tools.definition import ToolDefinition
from ...tools.registry import ToolRegistry
from ..chatml import CHATML_MARKS, chatml
from ..family import family
from ..format import CallToWrite, Format
from ..json_source import json_text
from ..marks import at_any, comes_soon, read_end
from ..names import read_name
from ..prose import THINK, Begin, marked
from ..scanner import Scanner, Wait
from ..tagged import TaggedCall
from .hermes import RESPONSES

FUNCTION, END = "<function=", "</function>"
PARAMETER, VALUE_END = "<parameter=", "</parameter>"
OPEN, CLOSE = "<tool_call>", "</tool_call>"
_LINE_ENDS = ("\n", "\r\n")


def begins(scanner: Scanner, tools: ToolRegistry | None, opening: str, closing: str, *, trim: bool) -> dict[str, Begin]:
    """What begins calls of this shape, in the tags of a family.

    With `trim` a value has a line end at each side, or at one; otherwise at both or none.
    """

    def begin_wrapped() -> Wait[bool]:
        yield from scanner.read_space()
        scanner.set_lead()
        if not (yield from scanner.read_literal(FUNCTION)) or not (yield from begin_function()):
            return False
        yield from read_end(scanner, closing)
        return True

    def begin_function() -> Wait[bool]:
        size = scanner.held_length
        name = yield from read_name(scanner, ">")
        if not name and not (yield from comes_soon(scanner, size, PARAMETER, (FUNCTION, END))):
            return False
        call = TaggedCall(scanner, tools, PARAMETER, VALUE_END)
        call.begin(name)
        if name:
            problem = yield from _read_arguments(scanner, call, opening, closing, trim)
        else:
            problem = call.fault(f"{FUNCTION}…> is malformed")
        if problem:
            yield from call.break_off(problem, (END,), (closing,), (opening, FUNCTION))
        else:
            call.end()
        return True

    return {opening: begin_wrapped, FUNCTION: begin_function}


def _read_arguments(scanner: Scanner, call: TaggedCall, opening: str, closing: str, trim: bool) -> Wait[str]:
    """Reads arguments to the end of the function; what is wrong, if anything."""
    all_ends = f"\n{END}\n{closing}"
    another = f"\n{PARAMETER}"
    key = ""
    while True:
        if not key:
            yield from scanner.give_space(scanner.give_run)
            if (yield from scanner.read_literal(END)):
                return ""
            if not (yield from scanner.read_literal(PARAMETER)):
                problem = f"there is something other than {PARAMETER}…> or {END}"
                return (yield from call.no_argument(problem, (PARAMETER, END), (opening, FUNCTION)))
            key = yield from read_name(scanner, ">")
            if not key:
                return call.fault(f"{PARAMETER}…> is malformed")
        problem = call.key(key)
        if problem:
            return problem
        padded = trim or (yield from at_any(scanner, _LINE_ENDS))
        others = {another: [f"{name}>" for name in call.names_left]}
        problem = yield from call.value((VALUE_END, all_ends), trim=padded, openings=others)
        if problem or call.mark == all_ends:
            return problem
        key = call.mark[len(another) : -1] if call.mark.startswith(another) else ""


def read(scanner: Scanner, tools: ToolRegistry | None) -> Wait[None]:
    """Reads an answer."""
    return marked(scanner, begins(scanner, tools, OPEN, CLOSE, trim=True), THINK)


def write_calls(calls: Sequence[CallToWrite]) -> str:
    """Each as a tag around tags."""
    written = [write_function(call, _written, "\n") for call in calls]
    return "\n".join(f"{OPEN}\n{function}\n{CLOSE}" for function in written)


def write_function(call: CallToWrite, write: Callable[[Any], str], line: str) -> str:
    """One function, its values as `write` writes them, with `line` at each side."""
    values = "".join(
        f"{PARAMETER}{key}>{line}{write(value)}{line}{VALUE_END}\n" for key, value in call.arguments.items()
    )
    return f"{FUNCTION}{call.name}>\n{values}{END}"


def _written(value: Any) -> str:
    """Arrays and objects as JSON; everything else as Python prints it, which is how the chat template does it."""
    return json_text(value) if isinstance(value, list | dict) else str(value)


def tell_tools(tools: Sequence[ToolDefinition]) -> str:
    """The tools in the words of the models' own chat template."""
    told = "".join(map(_tell_tool, tools))
    return (
        f"\n\n# Tools\n\nYou have access to the following functions:\n\n<tools>{told}\n</tools>\n\n"
        "If you choose to call a function ONLY reply in the following format with NO suffix:\n\n"
        f"{OPEN}\n{FUNCTION}example_function_name>\n{PARAMETER}example_parameter_1>\nvalue_1\n{VALUE_END}\n"
        f"{PARAMETER}example_parameter_2>\nThis is the value for the second parameter\nthat can span\nmultiple lines\n"
        f"{VALUE_END}\n{END}\n{CLOSE}\n\n<IMPORTANT>\nReminder:\n"
        "- Function calls MUST follow the specified format: an inner <function=...></function> block must be nested "
        f"within {OPEN}{CLOSE} XML tags\n"
        "- Required parameters MUST be specified\n"
        "- You may provide optional reasoning for your function call in natural language BEFORE the function call, but "
        "NOT after\n"
        "- If there is no function call available, answer the question like normal with your current knowledge and do "
        "not tell the user about function calls\n</IMPORTANT>"
    )


def _tell_tool(tool: ToolDefinition) -> str:
    properties = tool.parameters.get("properties")
    parameters = "".join(
        f"\n<parameter>\n<name>{name}</name>{_tell_parameter(schema if isinstance(schema, dict) else {})}\n</parameter>"
        for name, schema in (properties if isinstance(properties, dict) else {}).items()
    )
    return (
        f"\n<function>\n<name>{tool.name}</name>\n<description>{tool.description.strip()}</description>\n<parameters>"
        f"{parameters}{_tell_rest(tool.parameters, 'type', 'properties')}\n</parameters>\n</function>"
    )


def _tell_parameter(schema: dict[str, Any]) -> str:
    kind = f"\n<type>{schema['type']}</type>" if "type" in schema else ""
    about = f"\n<description>{str(schema['description']).strip()}</description>" if "description" in schema else ""
    return f"{kind}{about}{_tell_rest(schema, 'name', 'type', 'description')}"


def _tell_rest(schema: dict[str, Any], *told: str) -> str:
    """What a schema has beside what was told of it."""
    return "".join(f"\n<{key}>{_written(value)}</{key}>" for key, value in schema.items() if key not in told)


def write_result(_: ToolResultPart, content: str) -> str:
    """A result between tags."""
    return f"{RESPONSES[0]}\n{content}\n{RESPONSES[1]}\n"


QWEN3_CODER: Format = family(
    "qwen3-coder",
    "<function=…> with <parameter=…> tags",
    models=("Qwen3-Coder", "Qwen 3.5", "Qwen 3.6", "Nemotron 3", "MiMo", "Step 3.5", "Nanbeige"),
    read=read,
    write_calls=write_calls,
    write_result=write_result,
    marks=(
        *(OPEN, CLOSE, FUNCTION, END, PARAMETER, VALUE_END, "<think>", "</think>"),
        *RESPONSES,
        *CHATML_MARKS,
        "<|endoftext|>",
    ),
    thinking=THINK,
    chat=chatml(tell_tools)._replace(
        between_results="",
        default_system="You are Qwen, a helpful AI assistant that can interact with a computer to solve tasks.",
        before_calls="\n\n",
    ),
)
