"""`kimi-k2`: a header that is the call's id and holds the name, then JSON.

    <|tool_calls_section_begin|><|tool_call_begin|>functions.search:0<|tool_call_argument_begin|>{"query": "x"}
    <|tool_call_end|><|tool_calls_section_end|>

(without the line break). The number counts the calls of a conversation. Models leave out `functions.`, the number or
the marks of the section, and write the latter in the singular. A header that is a number alone names no tool: where one
tool is offered it is meant, otherwise the call is broken. A call in reasoning that is still open ends it.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...messages import ToolResultPart
from ...tools.definition import ToolDefinition
from ...tools.registry import ToolRegistry
from ..family import declare, family
from ..format import CallToWrite, Chat, Format
from ..headers import Section, break_header, break_here, last_marks, read_before, sections
from ..json_calls import is_known, read_arguments
from ..json_source import json_text
from ..prose import THINK, marked
from ..scanner import Scanner, Wait

SECTION, SECTION_END = "<|tool_calls_section_begin|>", "<|tool_calls_section_end|>"
CALL, ARGUMENTS, CALL_END = "<|tool_call_begin|>", "<|tool_call_argument_begin|>", "<|tool_call_end|>"
PREFIX = "functions."
SYSTEM, USER, ASSISTANT = "<|im_system|>", "<|im_user|>", "<|im_assistant|>"
MIDDLE, TURN_END = "<|im_middle|>", "<|im_end|>"

_SECTION = Section(
    opens=(SECTION, "<|tool_call_section_begin|>"),
    closes=(SECTION_END, "<|tool_call_section_end|>"),
    calls=(CALL,),
    ends=((CALL_END,),),
)
_BOUNDS, _OPENERS = _SECTION.bounds, _SECTION.openers
_NUMBERED = "the header is a number and names no tool"


def read(scanner: Scanner, tools: ToolRegistry | None) -> Wait[None]:
    """Reads an answer."""

    def read_one() -> Wait[bool]:
        header, found = yield from read_before(scanner, (ARGUMENTS,), scanner.limits.name + len(PREFIX) + 20)
        if not header:
            return False
        name, call_id = _name_and_id(header, tools)
        if len(name) > scanner.limits.name:
            return False
        if not found:
            return (yield from break_header(scanner, tools, name, f"{ARGUMENTS} is missing", _BOUNDS, _OPENERS))
        if name:
            yield from read_arguments(scanner, tools, name, call_id, ends=_BOUNDS, openers=_OPENERS)
        else:
            yield from break_here(scanner, tools, "", _NUMBERED, _BOUNDS, _OPENERS)
        return True

    return marked(scanner, sections(scanner, _SECTION, read_one) | last_marks(scanner, TURN_END), THINK)


def _name_and_id(header: str, tools: ToolRegistry | None) -> tuple[str, str]:
    """What a header says; no name if it is a number and nothing says which tool is meant."""
    counted, colon, number = header.rpartition(":")
    if not (colon and _is_number(number)):
        counted, colon = header, ""
    call_id = header if colon else ""
    bare = counted.removeprefix(PREFIX)
    if not bare or (not colon and _is_number(bare)):
        return (tools.names[0] if tools is not None and len(tools.names) == 1 else ""), ""
    if not is_known(tools, bare):
        # A tool's own name may look like a header.
        for name in (counted, header):
            if is_known(tools, name):
                return name, call_id
    return bare, call_id


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit()


def write_calls(calls: Sequence[CallToWrite]) -> str:
    """All in a section, each under its id."""
    written = "".join(f"{CALL}{_header(call)}{ARGUMENTS}{json_text(call.arguments)}{CALL_END}" for call in calls)
    return f"{SECTION}{written}{SECTION_END}"


def _header(call: CallToWrite) -> str:
    """The call's id, unless it is another provider's."""
    return call.call_id if _name_and_id(call.call_id, None)[0] == call.name else make_id(call)


def make_id(call: CallToWrite) -> str:
    """The id that this model would have given to a call."""
    return f"{PREFIX}{call.name}:{call.number}"


def write_result(part: ToolResultPart, content: str) -> str:
    """A result under the id of its call."""
    return f"## Return of {part.id or PREFIX + part.name}\n{content}"


def tell_tools(tools: Sequence[ToolDefinition]) -> str:
    """The tools as a turn of their own, before the system's."""
    return f"{SYSTEM}tool_declare{MIDDLE}[{', '.join(map(declare, tools))}]{TURN_END}"


KIMI_K2: Format = family(
    "kimi-k2",
    "Kimi's marks, the id as a header and JSON",
    models=("Kimi K2", "Kimi K2 Thinking", "Kimi K2.5", "Kimi Linear"),
    read=read,
    write_calls=write_calls,
    write_result=write_result,
    marks=(*_SECTION.opens, *_SECTION.calls, *_BOUNDS, ARGUMENTS, SYSTEM, USER, ASSISTANT, MIDDLE, TURN_END),
    thinking=THINK,
    chat=Chat(
        system=(f"{SYSTEM}system{MIDDLE}", TURN_END),
        user=(f"{USER}user{MIDDLE}", TURN_END),
        assistant=(f"{ASSISTANT}assistant{MIDDLE}", TURN_END),
        results=(f"{SYSTEM}tool{MIDDLE}", TURN_END),
        between_results=f"{TURN_END}{SYSTEM}tool{MIDDLE}",
        answer=f"{ASSISTANT}assistant{MIDDLE}",
        tools=tell_tools,
        tools_at="before_system",
        default_system="You are Kimi, an AI assistant created by Moonshot AI.",
        reasoning="<think>",
        no_reasoning="<think></think>",
        stop=(TURN_END,),
        thought=("<think>", "</think>"),
        call_id=make_id,
    ),
)
