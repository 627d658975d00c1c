"""Calls whose arguments are pairs of tags, one around the name and one around the value.

    <tool_call>search
    <arg_key>query</arg_key>
    <arg_value>a < b</arg_value>
    </tool_call>

Line ends between the tags are free. What stands around the name or a value is not: a value is everything between its
tags, and the schema says what it is. A call is one only if after its name comes an argument or its end; where something
else follows the name of a known tool, it is broken. Where a value is not closed before another argument of the tool
begins, or another call with arguments, the call is broken too: nobody can say what the value was.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..strict_json import BLANKS
from ..tools.registry import ToolRegistry
from .arguments import Shape
from .branches import ALL_KINDS
from .format import CallToWrite
from .json_source import written
from .marks import at_any, comes_soon
from .names import read_bare_name, read_name
from .prose import Begin
from .scanner import Scanner, Wait
from .tagged import TaggedCall


class PairTags(NamedTuple):
    """The tags of a family."""

    opening: str = "<tool_call>"
    closing: str = "</tool_call>"
    key: str = "<arg_key>"
    key_end: str = "</arg_key>"
    value: str = "<arg_value>"
    value_end: str = "</arg_value>"
    after_name: str = ""
    """What may stand after the tool's name."""
    kind: tuple[str, str] | None = None
    """What may stand before a value, around the name of its type."""

    @property
    def all(self) -> tuple[str, ...]:
        """Every mark among them."""
        marks = (*self[:6], self.after_name, *(self.kind or ()))
        return tuple(mark for mark in marks if mark)


def read_pairs(
    scanner: Scanner, tools: ToolRegistry | None, tags: PairTags, wrapper: tuple[str, str] | None = None
) -> Wait[bool]:
    """Reads on after the opening tag, which is held: a call, and True; or False, with all of it held.

    `wrapper` are the marks that may stand around calls: the second ends a broken one, and stays unread.
    """
    yield from scanner.read_space()
    size = scanner.held_length
    name = yield from read_bare_name(scanner)
    yield from scanner.read_space()
    if tags.after_name and (yield from scanner.read_literal(tags.after_name)):
        yield from scanner.read_space()
    if not name or scanner.over_held():
        return False
    is_call = (tools is not None and name in tools) or (yield from at_any(scanner, (tags.key, tags.closing)))
    # Where an argument follows soon, it is one all the same: what stands in it begins nothing.
    if not is_call and not (yield from comes_soon(scanner, size, tags.value, (tags.opening, tags.closing))):
        return False
    call = TaggedCall(scanner, tools, tags.value, tags.value_end)
    call.begin(name)
    calls = [
        f"{name}{tags.after_name}{line}{tags.key}" for name in (tools.names if tools else ()) for line in ("\n", "")
    ]
    problem = yield from _read_arguments(scanner, call, tags, calls)
    if problem:
        opens, closes = (wrapper[:1], wrapper[1:]) if wrapper else ((), ())
        yield from call.break_off(problem, (tags.closing,), closes, (tags.opening, *opens))
    else:
        call.end()
    return True


def _read_arguments(scanner: Scanner, call: TaggedCall, tags: PairTags, calls: Sequence[str]) -> Wait[str]:
    """Reads arguments to the end of the call; what is wrong, if anything.

    `calls` are the ways in which another call goes on after its opening tag.
    """
    while True:
        yield from scanner.give_space(scanner.give_run)
        if (yield from scanner.read_literal(tags.closing)):
            return ""
        if not (yield from scanner.read_literal(tags.key)):
            problem = f"there is something other than {tags.key} or {tags.closing}"
            return (yield from call.no_argument(problem, (tags.key, tags.closing), (tags.opening,)))
        key = yield from read_name(scanner, tags.key_end)
        if not key:
            return call.fault(f"{tags.key} is malformed", tags.key_end)
        yield from scanner.give_space(scanner.give_run)
        shape = None
        if tags.kind is not None and (yield from scanner.read_literal(tags.kind[0])):
            shape = _narrowed(call.shape(key), (yield from read_name(scanner, tags.kind[1])))
            yield from scanner.give_space(scanner.give_run)
        if not (yield from scanner.read_literal(tags.value)):
            return call.fault(f"{tags.value} is missing after {tags.key}{key[:80]}{tags.key_end}", tags.value)
        problem = call.key(key)
        if not problem:
            others = {tags.key: [f"{name}{tags.key_end}" for name in call.names_left], tags.opening: calls}
            problem = yield from call.value((tags.value_end,), shape=shape, openings=others)
        if problem:
            return problem
        if call.mark != tags.value_end:
            return call.left_open(tags.value_end)


def _narrowed(shape: Shape, kind: str) -> Shape | None:
    """The shape of a value that says of which type it is, if the schema allows that type beside others."""
    kind = kind.partition("[")[0].strip(BLANKS).lower()
    if kind not in ALL_KINDS or kind not in shape.kinds or len(shape.kinds) == 1:
        return None
    return Shape({"type": kind}, {})


def read_wrapped(scanner: Scanner, opening: str, closing: str, read_one: Begin) -> Wait[bool]:
    """Reads on after the mark that opens a wrapper, which is held: calls, and the mark that closes it.

    Each call begins with `opening`, and `read_one` reads on after that. What stands around them is markup. False, with
    all of it held, if no call comes. Where something else than a call follows one, it is left unread.
    """
    found = False
    while True:
        yield from scanner.read_space()
        if found and (yield from scanner.read_literal(closing)):
            scanner.give_markup()
            return True
        scanner.set_lead()
        if not (yield from scanner.read_literal(opening)) or not (yield from read_one()):
            if found:
                scanner.unread()
            return found
        found = True


def write_pairs(call: CallToWrite, tags: PairTags, line: str) -> str:
    """One call, with `line` after each tag that may have a line end after it: strings as they are, all else as JSON."""
    values = "".join(
        f"{tags.key}{key}{tags.key_end}{line}{tags.value}{written(value)}{tags.value_end}{line}"
        for key, value in call.arguments.items()
    )
    return f"{tags.opening}{call.name}{tags.after_name}{line}{values}{tags.closing}"
