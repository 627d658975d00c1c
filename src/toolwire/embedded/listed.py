"""Calls as JSON after a mark, as many families write them: objects one after the other, or a list.

    <tool_calls>[{"name": "search", "arguments": {"query": "x"}}]</tool_calls>

The closing mark, where a family has one, need not come.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..tools.registry import ToolRegistry
from .format import CallToWrite
from .json_calls import NAMED, Members, Outcome, read_call, read_calls
from .json_source import json_text
from .marks import read_end
from .prose import Begin
from .scanner import Scanner, Wait


def read_objects(
    scanner: Scanner,
    tools: ToolRegistry | None,
    closing: str,
    ends: Sequence[str],
    members: Members = NAMED,
    *,
    certain: bool = True,
) -> Wait[bool]:
    """Reads the calls that stand here, each an object, and the mark after them, which need not come.

    What was read so far, an opening mark, is markup. False if no call is here. `certain` is that of `read_call`.
    """
    found = False
    while True:
        yield from scanner.read_space()
        if found and (yield from scanner.read_literal(closing)):
            scanner.give_markup()
            return True
        if (yield from scanner.need(1)) != "{":
            if found:
                scanner.give_text()
            return found
        scanner.set_lead()
        if (yield from read_call(scanner, tools, members, ends=ends, certain=certain)) is Outcome.NOTHING:
            if found:
                scanner.retract()
            return found
        found = True


def lists(
    scanner: Scanner, tools: ToolRegistry | None, opening: str, closing: str, members: Members = NAMED
) -> dict[str, Begin]:
    """What begins calls that stand as a list between these marks."""

    def begin() -> Wait[bool]:
        return (yield from read_list(scanner, tools, closing, (closing, opening), members))

    return {opening: begin}


def read_list(
    scanner: Scanner,
    tools: ToolRegistry | None,
    closing: str,
    ends: Sequence[str],
    members: Members = NAMED,
    *,
    certain: bool = True,
) -> Wait[bool]:
    """Reads a list of calls, or calls without a list, and the mark after them, if the family has one; False if no call
    is here. `ends` is where a broken call ends, `certain` that of `read_call`.
    """
    yield from scanner.read_space()
    come = yield from scanner.need(1)
    if come == "[":
        found = yield from read_calls(scanner, tools, members, ends=ends, certain=certain)
    elif closing:
        return (yield from read_objects(scanner, tools, closing, ends, members, certain=certain))
    elif come == "{":
        scanner.set_lead()
        found = yield from read_call(scanner, tools, members, ends=ends, certain=certain)
    else:
        return False
    if found is Outcome.NOTHING:
        return False
    if closing:
        yield from read_end(scanner, closing)
    return True


def write_object(call: CallToWrite, arguments: str = "arguments") -> str:
    """A call as an object; `arguments` is what the family calls them."""
    return json_text({"name": call.name, arguments: call.arguments})


def write_list(calls: Sequence[CallToWrite]) -> str:
    """The calls as a list on one line."""
    return f"[{', '.join(map(write_object, calls))}]"
