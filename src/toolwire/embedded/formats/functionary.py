"""`functionary`: the name in a tag, or on a line of its own, then JSON.

    <function=search>{"query": "x"}</function>

is how version 3.1 writes a call. Version 3.2 says who each part of an answer is for, `all` being the user:

    >>>all
    Let me look.>>>search
    {"query": "x"}

Its prompts end with `>>>`, so that an answer may begin with the name alone: that counts if it is `all`, or a known
tool's with an object after it.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...messages import ToolResultPart
from ...tools.definition import ToolDefinition
from ...tools.registry import ToolRegistry
from ..family import about, family
from ..format import CallToWrite, Chat, Format
from ..headers import break_here, break_spoiled, last_marks
from ..json_calls import is_known, read_arguments
from ..json_source import json_text
from ..marks import at_mark, read_end, read_line_end
from ..names import read_run
from ..prose import marked
from ..scanner import SPACE, Scanner, Wait

OPEN, CLOSE = "<function=", "</function>"
RECEIVER = ">>>"
ALL = "all"
HEADER, HEADER_END = "<|start_header_id|>", "<|end_header_id|>\n\n"
TURN_END, CALLS_END = "<|eot_id|>", "<|eom_id|>"

_NOT_IN_NAMES = " \t\r\n<>{}"


def read(scanner: Scanner, tools: ToolRegistry | None) -> Wait[None]:
    """Reads an answer."""

    def begin_tag() -> Wait[bool]:
        size = scanner.held_length
        name = yield from read_run(scanner, _NOT_IN_NAMES, scanner.limits.name)
        if not name:
            return False
        closed = yield from scanner.read_literal(">")
        come = yield from scanner.need(1)
        if not closed:
            if come not in ("{", "<"):
                return (yield from break_spoiled(scanner, tools, size, (CLOSE,), (OPEN,)))
            yield from break_here(scanner, tools, name, "> is missing after the name", (CLOSE,), (OPEN,))
        elif come in SPACE or not is_known(tools, name):
            # In prose a tag is followed by other things than in a call that is malformed.
            yield from scanner.read_space()
            if (yield from scanner.need(1)) != "{" and not (yield from at_mark(scanner, CLOSE)):
                return (yield from break_spoiled(scanner, tools, size, (CLOSE,), (OPEN,)))
            yield from read_arguments(scanner, tools, name, ends=(CLOSE,), openers=(OPEN,))
        elif come:
            yield from read_arguments(scanner, tools, name, ends=(CLOSE,), openers=(OPEN,))
        else:
            return False
        yield from read_end(scanner, CLOSE)
        return True

    def begin_line() -> Wait[bool]:
        return (yield from read_line(certain=True))

    def read_line(*, certain: bool) -> Wait[bool]:
        name = yield from read_run(scanner, _NOT_IN_NAMES, scanner.limits.name)
        if not name or not (yield from read_line_end(scanner)):
            return False
        if name == ALL:
            scanner.give_mark()
            return True
        if not certain and (tools is None or name not in tools):
            return False
        yield from scanner.read_space()
        if (yield from scanner.need(1)) != "{":
            return False
        yield from read_arguments(scanner, tools, name, openers=(RECEIVER,))
        return True

    if not (yield from read_line(certain=False)):
        scanner.unread()
    openers = {OPEN: begin_tag, RECEIVER: begin_line} | last_marks(scanner, TURN_END, CALLS_END)
    yield from marked(scanner, openers)


def write_calls(calls: Sequence[CallToWrite]) -> str:
    """Each in its tag."""
    return "".join(f"{OPEN}{call.name}>{json_text(call.arguments)}{CLOSE}" for call in calls)


def write_result(_: ToolResultPart, content: str) -> str:
    """A result as it is: its turn says what it is."""
    return content


def _turn(role: str) -> tuple[str, str]:
    return f"{HEADER}{role}{HEADER_END}", TURN_END


def tell_tools(tools: Sequence[ToolDefinition]) -> str:
    """The tools in the words of the chat template of version 3.1, a turn of their own."""
    told = "".join(f"Use the function '{tool.name}' to '{tool.description}'\n" + about(tool) + "\n\n" for tool in tools)
    before, after = _turn("system")
    return (
        f"{before}\nCutting Knowledge Date: December 2023\n\n\nYou have access to the following functions:\n\n{told}"
        "\nThink very carefully before calling functions.\n"
        "If a you choose to call a function ONLY reply in the following format:\n"
        "<{start_tag}={function_name}>{parameters}{end_tag}\nwhere\n\nstart_tag => `<function`\n"
        "parameters => a JSON dict with the function argument name as key and function argument value as value.\n"
        "end_tag => `</function>`\n\nHere is an example,\n"
        '<function=example_function_name>{"example_name": "example_value"}</function>\n\nReminder:\n'
        "- If looking for real time information use relevant functions before falling back to brave_search\n"
        "- Function calls MUST follow the specified format, start with <function= and end with </function>\n"
        "- Required parameters MUST be specified\n- Only call one function at a time\n"
        f"- Put the entire function call reply on one line\n\n{after}"
    )


FUNCTIONARY: Format = family(
    "functionary",
    "JSON in a <function=…> tag, or under >>> and the name",
    models=("Functionary 3.1", "Functionary 3.2"),
    read=read,
    write_calls=write_calls,
    write_result=write_result,
    marks=(OPEN, CLOSE, RECEIVER, HEADER, "<|end_header_id|>", TURN_END, CALLS_END, "<|begin_of_text|>"),
    chat=Chat(
        system=_turn("system"),
        user=_turn("user"),
        assistant=_turn("assistant"),
        results=_turn("ipython"),
        between_results="".join(reversed(_turn("ipython"))),
        answer=_turn("assistant")[0],
        tools=tell_tools,
        tools_at="before_system",
        begin="<|begin_of_text|>",
        stop=(TURN_END, CALLS_END),
        after_calls=CALLS_END,
    ),
)
