"""`plamo3`: name and JSON in marks of their own, as PLaMo 3 writes a call.

    <|plamo:begin_tool_requests:plamo|><|plamo:begin_tool_request:plamo|>
    <|plamo:begin_tool_name:plamo|>search<|plamo:end_tool_name:plamo|>
    <|plamo:begin_tool_arguments:plamo|><|plamo:constrain|>json<|plamo:msg|>{"query": "x"}
    <|plamo:end_tool_arguments:plamo|><|plamo:end_tool_request:plamo|><|plamo:end_tool_requests:plamo|>

(without the line breaks, though space between marks is read too). What stands between the mark of the arguments and
their JSON may be missing. A call in reasoning that is still open ends it.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...messages import ToolResultPart
from ...tools.registry import ToolRegistry
from ..family import family
from ..format import CallToWrite, Format
from ..headers import Section, break_header, last_marks, read_before, sections
from ..json_calls import read_arguments
from ..json_source import json_text
from ..prose import Thinking, marked
from ..scanner import Scanner, Wait

REQUESTS, REQUESTS_END = "<|plamo:begin_tool_requests:plamo|>", "<|plamo:end_tool_requests:plamo|>"
REQUEST, REQUEST_END = "<|plamo:begin_tool_request:plamo|>", "<|plamo:end_tool_request:plamo|>"
NAME, NAME_END = "<|plamo:begin_tool_name:plamo|>", "<|plamo:end_tool_name:plamo|>"
ARGUMENTS, ARGUMENTS_END = "<|plamo:begin_tool_arguments:plamo|>", "<|plamo:end_tool_arguments:plamo|>"
CONSTRAIN, MESSAGE = "<|plamo:constrain|>json", "<|plamo:msg|>"
TURN_END = "<|plamo:tag|>"

THINKING = Thinking((("<|plamo:begin_think:plamo|>", "<|plamo:end_think:plamo|>"),))

_SECTION = Section(opens=(REQUESTS,), closes=(REQUESTS_END,), calls=(REQUEST,), ends=((ARGUMENTS_END,), (REQUEST_END,)))
_BOUNDS, _OPENERS = _SECTION.bounds, (*_SECTION.openers, ARGUMENTS)


def read(scanner: Scanner, tools: ToolRegistry | None) -> Wait[None]:
    """Reads an answer."""

    def read_one() -> Wait[bool]:
        yield from scanner.read_space()
        if not (yield from scanner.read_literal(NAME)):
            return False
        name, found = yield from read_before(scanner, (NAME_END,), scanner.limits.name)
        if not name:
            return False
        if found:
            yield from scanner.read_space()
        if not found or not (yield from scanner.read_literal(ARGUMENTS)):
            problem = f"{ARGUMENTS if found else NAME_END} is missing"
            return (yield from break_header(scanner, tools, name, problem, _BOUNDS, _OPENERS))
        yield from scanner.read_literal(CONSTRAIN)
        yield from scanner.read_literal(MESSAGE)
        yield from read_arguments(scanner, tools, name, ends=_BOUNDS, openers=_OPENERS)
        return True

    return marked(scanner, sections(scanner, _SECTION, read_one) | last_marks(scanner, TURN_END), THINKING)


def write_calls(calls: Sequence[CallToWrite]) -> str:
    """All in one frame."""
    written = "".join(
        f"{REQUEST}{NAME}{call.name}{NAME_END}{ARGUMENTS}{CONSTRAIN}{MESSAGE}{json_text(call.arguments)}{ARGUMENTS_END}"
        f"{REQUEST_END}"
        for call in calls
    )
    return f"{REQUESTS}{written}{REQUESTS_END}"


def write_result(_: ToolResultPart, content: str) -> str:
    """A result as it is."""
    return content


PLAMO3: Format = family(
    "plamo3",
    "name and JSON in PLaMo's marks",
    models=("PLaMo 3",),
    read=read,
    write_calls=write_calls,
    write_result=write_result,
    marks=(
        REQUESTS,
        REQUEST,
        *_BOUNDS,
        NAME,
        NAME_END,
        ARGUMENTS,
        "<|plamo:constrain|>",
        MESSAGE,
        TURN_END,
        *THINKING.marks[0],
    ),
    thinking=THINKING,
)
