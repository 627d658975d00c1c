"""Calls whose arguments stand between marks as raw text: what each is by the tool's schema, while it arrives.

A value is everything up to the mark that closes it. Where the schema allows any text it flows as a JSON string; an
array or object flows too, written as JSON or as a Python literal; what is left (numbers, enumerations …) is short and
waits for its end. The rule is that of `toolwire.embedded.arguments`, for every family.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from ..tools.registry import ToolRegistry
from .arguments import Shape, shape_of
from .json_calls import is_known
from .json_source import json_text, quote
from .literals import read_literal
from .scanner import Scanner, Wait

Take = Callable[[str], str]

_NOT_IN_NAMES = frozenset("\r\n<>")


class TaggedCall:
    """The call that is open, and what its arguments become: a JSON object, member by member.

        call = TaggedCall(scanner, tools, "<parameter=", "</parameter>")
        call.begin("search")
        problem = call.key("query") or (yield from call.value(("</parameter>",)))
        if problem:
            yield from call.break_off(problem, ("</function>",), ("<tool_call>",))
        else:
            call.end()

    `opening` and `closing` are what stands around a value, for finding the end of a call that is broken.
    """

    def __init__(self, scanner: Scanner, tools: ToolRegistry | None, opening: str, closing: str) -> None:
        self._scanner = scanner
        self._tools = tools
        self._opening = opening
        self._closing = closing
        self._given: set[str] = set()
        self._shape: Shape
        self._key = ""
        self._in_value = False
        self.mark = ""
        """The mark that ended the last value."""

    def begin(self, name: str, call_id: str = "") -> None:
        """What is held begins a call of this tool."""
        self._scanner.begin_call(name, call_id, known=is_known(self._tools, name))
        self._shape = shape_of(self._tools.get(name) if self._tools is not None else None)

    @property
    def names(self) -> list[str]:
        """The names of the arguments that the tool's schema knows."""
        return self._shape.properties

    def key(self, key: str) -> str:
        """What is held names the next argument; what is wrong with that, if anything."""
        self._key = key
        self._in_value = True
        if key in self._given:
            return self._scanner.fault(f"{key[:80]!r} is given twice")
        self._scanner.give_call(f"{', ' if self._given else '{'}{json_text(key)}: ")
        self._given.add(key)
        return ""

    def value(self, ends: Sequence[str], *, trim: bool = False, shape: Shape | None = None) -> Wait[str]:
        """Reads the value of that argument and the mark after it, one of `ends`; what is wrong, if anything.

        `trim` takes one line end off at its beginning and one at its end. The mark is held: `scanner.give_call` or
        what comes next gives it. `mark` says which it was.
        """
        scanner = self._scanner
        if shape is None:
            shape = self._shape.property(self._key)
        if shape.takes_any_text:
            return (yield from self.text(ends, trim=trim))
        if not shape.kinds.isdisjoint(("object", "array")):
            yield from scanner.give_space(scanner.give_run)
            if (yield from scanner.need(1)) in ("{", "["):
                return (yield from self.literal(ends))
        collected: list[str] = []
        if not (yield from self._read_to(ends, trim, _into(collected))):
            return self._missing(ends)
        scanner.give_call(shape.json_of("".join(collected)))
        self._in_value = False
        return ""

    def text(self, ends: Sequence[str], *, trim: bool = False) -> Wait[str]:
        """As `value`, of what is text whatever the schema says."""
        self._scanner.give_call('"')
        if not (yield from self._read_to(ends, trim, quote)):
            return self._missing(ends)
        self._scanner.give_call('"')
        self._in_value = False
        return ""

    def literal(self, ends: Sequence[str]) -> Wait[str]:
        """As `value`, of what is written as JSON, or as a Python literal, whatever the schema says."""
        scanner = self._scanner
        if not (yield from read_literal(scanner)):
            return scanner.fault(f"the value of {self._key[:80]!r} is not valid JSON")
        yield from scanner.give_space(scanner.give_run)
        for end in ends:
            if (yield from scanner.read_literal(end)):
                self.mark = end
                self._in_value = False
                return ""
        return self._missing(ends)

    def end(self) -> None:
        """The call has ended with what is held."""
        self._scanner.end_call("}" if self._given else "{}")

    def break_off(self, problem: str, ends: Sequence[str], before: Sequence[str] = ()) -> Wait[None]:
        """Reads the rest of a call that cannot run: to one of `ends`, which belongs to it, or of `before`, which stays
        unread. Neither counts inside a value, so that what stands there begins nothing.
        """
        scanner = self._scanner
        if self._in_value and not (yield from give_to(scanner, (self._closing,), scanner.give_run)):
            scanner.break_call(problem)
            return
        while True:
            scanner.give_call()
            mark = yield from give_to(scanner, (self._opening, *ends, *before), scanner.give_run)
            if mark in before:
                scanner.unread()
            if mark != self._opening or not (yield from give_to(scanner, (self._closing,), scanner.give_run)):
                break
        scanner.break_call(problem)

    def _missing(self, ends: Sequence[str]) -> str:
        return self._scanner.fault(f"{ends[0].strip()} is missing after the value of {self._key[:80]!r}")

    def _read_to(self, ends: Sequence[str], trim: bool, take: Take) -> Wait[bool]:
        scanner = self._scanner
        if trim:
            yield from read_line_end(scanner)
            scanner.give_call()
        mark = yield from give_to(scanner, ends, lambda at: scanner.give_run(at, take), trim=trim)
        self.mark = mark
        return bool(mark)


def read_name(scanner: Scanner, stop: str) -> Wait[str]:
    """Reads a name and the character after it; empty if there is none, or what is there cannot be one."""
    pieces: list[str] = []
    room = scanner.limits.name + 1
    while room > 0 and (yield from scanner.more()):
        text, at = scanner.text, scanner.at
        end = min(len(text), at + room)
        while at < end and text[at] != stop and text[at] not in _NOT_IN_NAMES:
            at += 1
        room -= at - scanner.at
        pieces.append(scanner.read_to(at))
        if at < end:
            break
    if room <= 0 or not (yield from scanner.read_literal(stop)):
        return ""
    return "".join(pieces)


def read_line_end(scanner: Scanner) -> Wait[bool]:
    """Reads one line end, if it is next."""
    return (yield from scanner.read_literal("\r\n")) or (yield from scanner.read_literal("\n"))


def give_to(scanner: Scanner, ends: Sequence[str], give: Callable[[int], None], *, trim: bool = False) -> Wait[str]:
    """Gives all that comes before the first of these marks, and reads the mark, which it says; empty if none comes.

    With `trim` one line end before the mark is read with it. No more is kept waiting than may be the beginning of a
    mark. No mark may stand inside another.
    """
    marks = {mark: end for end in ends for mark in _variants(end, trim)}
    while (yield from scanner.more()):
        text, at = scanner.text, scanner.at
        found, which = len(text), ""
        for mark in marks:
            place = text.find(mark, at, found + len(mark) - 1 if which else len(text))
            if place >= 0 and (not which or place < found):
                found, which = place, mark
        if not which:
            found = _may_begin(text, at, marks)
        if found > at:
            give(found)
            continue
        if which:
            scanner.read_to(at + len(which))
            return marks[which]
        kept = len(text) - at
        if len((yield from scanner.need(kept + 1))) == kept:
            give(scanner.at + kept)
    return ""


def _variants(end: str, trim: bool) -> tuple[str, ...]:
    return (f"\r\n{end}", f"\n{end}", end) if trim and not end.startswith("\n") else (end,)


def _may_begin(text: str, at: int, marks: Iterable[str]) -> int:
    """Where a mark may have begun at the end of the text; the end itself if none has."""
    length = len(text)
    found = length
    for mark in marks:
        place = text.find(mark[0], max(at, length - len(mark) + 1), found)
        while place >= 0:
            if mark.startswith(text[place:]):
                found = place
                break
            place = text.find(mark[0], place + 1, found)
    return found


def _into(collected: list[str]) -> Take:
    def take(text: str) -> str:
        collected.append(text)
        return ""

    return take
