"""Calls as one tag that names the tool, around one tag for each argument, in the marks of several families.

    <invoke name="search">
    <parameter name="query">a < b</parameter>
    </invoke>

Wrappers around calls are read as markup and may be left out. Attributes stand in either kind of quotes or in none. The
body may be a JSON object instead of arguments: then the call ends with its brace, otherwise with its closing tag.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from ..tools.registry import ToolRegistry
from .arguments import Shape
from .format import CallToWrite
from .json_calls import read_arguments
from .json_source import as_it_is, json_text, written
from .marks import at_mark, comes_soon, read_any
from .names import Except
from .prose import Begin
from .scanner import Scanner, Wait
from .tagged import TaggedCall

_KEY = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-:.")
_KEY_LENGTH = 20
_ATTRIBUTES = 8
_BETWEEN = 8
"""Marks between a wrapper and its first call: what is no call is read again, and must not be long."""
_BARE = Except(" \t\r\n\"'<>")

NOT_TEXT = Shape({"type": ["number", "boolean", "null", "object", "array"]}, {})
"""A value of which the markup says that it is no string."""

Attributes = Mapping[str, str]


def by_schema(_: Attributes) -> bool | None:
    """For families whose markup says nothing about a value: its kind comes from the tool's schema."""
    return None


class Tags(NamedTuple):
    """The marks of a family."""

    invoke: str
    """What begins a call, up to its attributes."""
    end: str
    parameter: str
    """What begins an argument, up to its attributes."""
    value_end: str
    stop: str = ">"
    """What ends the attributes of either."""
    name: str = "name"
    """The attribute that names the tool."""
    key: str = "name"
    """The attribute that names the argument."""
    call_id: str = ""
    """The attribute by which a call's result names it, if there is one."""
    body: tuple[str, str] = ("", "")
    """What stands around a body that is JSON."""
    is_text: Callable[[Attributes], bool | None] = by_schema
    """Whether a value is text, or JSON; None: the schema says so."""
    kind: Callable[[Any], str] = lambda _: ""
    """The attributes of an argument that say it."""
    encode: Callable[[str], str] = as_it_is
    """How attributes are written, and back:"""
    decode: Callable[[str], str] = as_it_is


def tags(prefix: str) -> Tags:
    """The usual tags with something before their names."""
    return Tags(f"<{prefix}invoke", f"</{prefix}invoke>", f"<{prefix}parameter", f"</{prefix}parameter>")


class Invokes:
    """Reads the calls of a family: `begins` is for `marked`."""

    def __init__(
        self,
        scanner: Scanner,
        tools: ToolRegistry | None,
        tags: Tags,
        wrappers: Mapping[str, str],
        *,
        between: Sequence[str] = (),
        leave_at: Sequence[str] = (),
        openers: Sequence[str] = (),
        rename: Callable[[str], str] = as_it_is,
    ) -> None:
        """`wrappers` are marks before calls, each with the one that closes it; `between` are marks that mean nothing
        by themselves; `leave_at` are further marks at which a call that is broken has ended, and `openers` further
        ones that stand before calls; `rename` finds the tool that is meant by a name.
        """
        self._scanner = scanner
        self._tools = tools
        self._tags = tags
        self._wrappers = wrappers
        self._closings = tuple(dict.fromkeys(wrappers.values()))
        self._between = between
        self._rename = rename
        self._leave_at = (*self._closings, *leave_at)
        self._openers = (tags.invoke, *wrappers, *openers)

    def begins(self, *, bare: bool = True) -> dict[str, Begin]:
        """What begins calls: the wrappers and, if `bare`, a call without one."""
        found: dict[str, Begin] = dict.fromkeys(self._wrappers, self.wrapped)
        if bare:
            found[self._tags.invoke] = self._bare
        return found

    def wrapped(self) -> Wait[bool]:
        """After a wrapper, which is held: reads its calls."""
        scanner = self._scanner
        yield from scanner.read_space()
        for _ in range(_BETWEEN):
            if not (yield from read_any(scanner, self._between)):
                break
            yield from scanner.read_space()
        scanner.set_lead()
        if not (yield from scanner.read_literal(self._tags.invoke)):
            return False
        yield from self._read(certain=True)
        yield from self._follow()
        return True

    def _bare(self) -> Wait[bool]:
        if not (yield from self._read(certain=False)):
            return False
        yield from self._follow()
        return True

    def _follow(self) -> Wait[None]:
        """After a call: those that follow it directly, and the end of the wrapper."""
        scanner, tags = self._scanner, self._tags
        while True:
            yield from scanner.read_space()
            if (yield from read_any(scanner, self._closings)):
                scanner.give_markup()
                return
            if (yield from read_any(scanner, self._between)):
                scanner.give_markup()
                continue
            if not (yield from at_mark(scanner, tags.invoke)):
                scanner.give_text()
                return
            scanner.set_lead()
            scanner.read_to(scanner.at + len(tags.invoke))
            yield from self._read(certain=True)

    def _read(self, *, certain: bool) -> Wait[bool]:
        """Reads the call of which the beginning is held, to its end.

        Where it is not `certain` that there is one, it must go on as a call does: otherwise False, with all of it held.
        """
        scanner, tags = self._scanner, self._tags
        size = scanner.held_length
        attributes = yield from read_attributes(scanner, tags.stop)
        name = tags.decode(attributes.get(tags.name, "")) if attributes else ""
        call = TaggedCall(scanner, self._tools, tags.parameter, tags.value_end)
        if attributes is None or not name:
            if not (certain or (yield from comes_soon(scanner, size, tags.parameter, (tags.invoke, tags.end)))):
                return False
            problem = call.fault("the call names no tool")
            self._read_again(size)
            call.begin("")
            yield from call.break_off(problem, (tags.end,), self._leave_at, self._openers)
            return True
        yield from scanner.read_space()
        if tags.body[0] and (yield from scanner.read_literal(tags.body[0])):
            yield from scanner.read_space()
        name, call_id = self._rename(name), attributes.get(tags.call_id, "")
        if (yield from scanner.need(1)) == "{":
            yield from read_arguments(scanner, self._tools, name, call_id, ends=(tags.end, *self._closings))
            for mark in (tags.body[1], tags.end):
                yield from self._read_end(mark)
            return True
        if not (certain or (yield from at_mark(scanner, tags.parameter)) or (yield from at_mark(scanner, tags.end))):
            return False
        call.begin(name, call_id)
        problem = yield from self._read_parameters(call)
        if problem:
            yield from call.break_off(problem, (tags.end,), self._leave_at, self._openers)
        else:
            call.end()
        return True

    def _read_again(self, size: int) -> None:
        """So much of what is held is the beginning of a call, and what came after it is read again."""
        scanner = self._scanner
        mark = len(self._tags.invoke)
        scanner.unread()
        scanner.read_to(scanner.at + size - mark)
        scanner.set_lead()
        scanner.read_to(scanner.at + mark)

    def _read_end(self, mark: str) -> Wait[None]:
        scanner = self._scanner
        yield from scanner.read_space()
        if mark and (yield from scanner.read_literal(mark)):
            scanner.give_markup()
        else:
            scanner.unread()

    def _read_parameters(self, call: TaggedCall) -> Wait[str]:
        """Reads arguments to the end of the call; what is wrong, if anything."""
        scanner, tags = self._scanner, self._tags
        while True:
            scanner.give_call()
            yield from scanner.give_space(scanner.give_run)
            if (yield from scanner.read_literal(tags.end)):
                return ""
            if not (yield from scanner.read_literal(tags.parameter)):
                problem = f"there is something other than {tags.parameter}…{tags.stop} or {tags.end}"
                return (yield from call.no_argument(problem, (tags.parameter, tags.end), self._openers))
            attributes = yield from read_attributes(scanner, tags.stop)
            if attributes is None or tags.key not in attributes:
                problem = call.fault(f"{tags.parameter}…{tags.stop} is malformed")
                # Read again as an argument: what stands in its value begins nothing.
                scanner.unread()
                return problem
            problem = call.key(tags.decode(attributes[tags.key])) or (yield from self._read_value(call, attributes))
            if problem:
                return problem

    def _read_value(self, call: TaggedCall, attributes: Attributes) -> Wait[str]:
        scanner, tags = self._scanner, self._tags
        ends = (tags.value_end,)
        if tags.is_text(attributes) is not False:
            # Also where the markup says that it is text: the schema may allow none, and then the schema is right.
            return (yield from call.value(ends))
        yield from scanner.give_space(scanner.give_run)
        if (yield from scanner.need(1)) == '"':
            return (yield from call.literal(ends))
        return (yield from call.value(ends, shape=NOT_TEXT))


def read_attributes(scanner: Scanner, stop: str) -> Wait[dict[str, str] | None]:
    """Reads `key="value"` pairs and the mark after them; None if something else is there, or too much."""
    found: dict[str, str] = {}
    while len(found) <= _ATTRIBUTES:
        yield from scanner.read_space()
        if (yield from scanner.read_literal(stop)):
            return found
        key = yield from scanner.read_word(_KEY, _KEY_LENGTH)
        yield from scanner.read_space()
        if not key or key in found or not (yield from scanner.read_literal("=")):
            return None
        yield from scanner.read_space()
        value = yield from _read_attribute(scanner)
        if value is None:
            return None
        found[key] = value
    return None


def _read_attribute(scanner: Scanner) -> Wait[str | None]:
    quote = yield from scanner.need(1)
    if quote not in ('"', "'"):
        return (yield from scanner.read_word(_BARE, scanner.limits.name)) or None
    scanner.read_to(scanner.at + 1)
    value = yield from scanner.read_word(Except(quote), scanner.limits.name)
    return value if (yield from scanner.read_literal(quote)) else None


def write_wrapped(calls: Sequence[CallToWrite], tags: Tags, opening: str, closing: str) -> str:
    """Calls in one wrapper, each tag on a line of its own."""
    told = "".join(write_invoke(call, tags) + "\n" for call in calls)
    return f"{opening}\n{told}{closing}"


def write_invoke(call: CallToWrite, tags: Tags, *, line: str = "\n", more: str = "") -> str:
    """A call with an argument on each line; `more` are attributes of the call.

    Where an argument's name or value holds what would end it, the body is JSON.
    """
    begin = f'{tags.invoke} {tags.name}="{tags.encode(call.name)}"{more}{tags.stop}{line}'
    pieces = [begin]
    for key, value in call.arguments.items():
        key, text = tags.encode(key), written(value)
        if '"' in key or tags.value_end in text:
            body = json_text(call.arguments).replace("<", "\\u003c")
            return f"{begin}{tags.body[0]}{body}{tags.body[1]}{line}{tags.end}"
        pieces.append(f'{tags.parameter} {tags.key}="{key}"{tags.kind(value)}{tags.stop}{text}{tags.value_end}{line}')
    return f"{''.join(pieces)}{tags.end}"
