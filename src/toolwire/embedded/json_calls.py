"""Calls whose arguments are JSON already, as most families of models write them: they are passed on as they stand.

`read_call` reads one object that names the tool (`{"name": …, "arguments": {…}}`), `read_calls` a list of them,
`read_arguments` the object alone, where the name stood before it. Each gives what it read: a call, one that is broken,
or text where the tool is not known.

A closing mark inside a string is part of the string. A call ends with the brace that closes it: what the family writes
after it is markup, and need not come. A broken one is read on to the brace that would close it, by brackets and quotes,
or to one of the marks `ends` outside of quotes: what stands there is read as if nothing had happened before it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum
from typing import NamedTuple

from ..json_reader import JsonReader
from ..tools.registry import ToolRegistry
from .json_source import as_it_is, decoded, read_raw
from .quoted import Unquoting
from .repair import Repairing
from .scanner import Scanner, Wait, no_json

_UNFINISHED = "the call is not finished"
_BAD = "the call is not valid JSON"


class Members(NamedTuple):
    """The names that a family gives to what a call holds. Members of other names mean nothing and are passed over."""

    name: tuple[str, ...] = ("name",)
    arguments: tuple[str, ...] = ("arguments", "parameters")
    call_id: tuple[str, ...] = ()


NAMED = Members()


class Outcome(Enum):
    """What came of reading."""

    CALL = "call"
    """A whole call, of a known tool or not."""
    BROKEN = "broken"
    NOTHING = "nothing"
    """This is no call. All that was read is held."""


class _Fault(Exception):
    """What was read is no call: so many containers are open, and maybe a string."""

    def __init__(self, problem: str, depth: int, *, in_string: bool = False) -> None:
        self.problem = problem
        self.depth = depth
        self.in_string = in_string


def is_known(tools: ToolRegistry | None, name: str) -> bool:
    """Whether a call of this name may be one."""
    return tools is None or name in tools


def read_call(
    scanner: Scanner,
    tools: ToolRegistry | None,
    members: Members = NAMED,
    *,
    ends: Sequence[str] = (),
    certain: bool = True,
) -> Wait[Outcome]:
    """Reads the object that is next (`{`). What is held goes with it: as markup, if `set_lead` said so.

    `certain` says that it must be a call. Otherwise it is one only if it begins with the name of a known tool and then
    its arguments, an object: everything else is `NOTHING`, and held.
    """
    call = _Object(scanner, tools, members, certain=certain)
    try:
        yield from call.read()
    except _Fault as fault:
        if not call.begun:
            if not certain:
                return Outcome.NOTHING
            scanner.begin_call("")
        problem = scanner.fault(_why(scanner, fault.problem))
        yield from pass_broken(scanner, fault.depth, fault.in_string, ends)
        scanner.break_call(problem)
        return Outcome.BROKEN
    return Outcome.CALL


def read_calls(
    scanner: Scanner,
    tools: ToolRegistry | None,
    members: Members = NAMED,
    *,
    ends: Sequence[str] = (),
    certain: bool = True,
) -> Wait[Outcome]:
    """Reads the list of calls that is next (`[`), to its end; brackets and commas are markup.

    A broken call does not take its neighbours with it. Where the list itself goes wrong, what follows is left unread.
    """
    scanner.read_to(scanner.at + 1)
    yield from scanner.read_space()
    come = yield from scanner.need(1)
    if come == "]":
        scanner.read_to(scanner.at + 1)
        if not certain:
            return Outcome.NOTHING
        scanner.give_markup()
        return Outcome.CALL
    worst = Outcome.CALL
    found = Outcome.NOTHING
    while come == "{":
        scanner.set_lead()
        found = yield from read_call(scanner, tools, members, ends=ends, certain=certain)
        if found is Outcome.NOTHING:
            return found
        certain = True
        worst = found if found is Outcome.BROKEN else worst
        yield from scanner.read_space()
        if (yield from scanner.read_literal("]")):
            scanner.give_markup()
            return worst
        if not (yield from scanner.read_literal(",")):
            break
        yield from scanner.read_space()
        come = yield from scanner.need(1)
    else:
        if found is Outcome.NOTHING:
            return found
    scanner.give_markup()
    return Outcome.BROKEN


def read_arguments(
    scanner: Scanner, tools: ToolRegistry | None, name: str, call_id: str = "", *, ends: Sequence[str] = ()
) -> Wait[Outcome]:
    """Reads a call of which what is held is the beginning: its arguments, a JSON object, are next, space aside.

    One of the marks `ends` directly after the name is a call without arguments.
    """
    scanner.begin_call(name, call_id, known=is_known(tools, name))
    yield from scanner.give_space(scanner.give_run)
    come = yield from scanner.need(1)
    if come == "{":
        reader = JsonReader(scanner.limits, fields=False)
        if (yield from _flow(scanner, reader, ends)):
            scanner.end_call()
            return Outcome.CALL
        depth, in_string = reader.depth, reader.in_string
    else:
        if come:
            for end in ends:
                if (yield from at_mark(scanner, end)):
                    scanner.end_call("{}")
                    return Outcome.CALL
        depth, in_string = 0, False
    problem = scanner.fault(_why(scanner, "the arguments are not a valid JSON object", reader if come == "{" else None))
    yield from pass_broken(scanner, depth, in_string, ends)
    scanner.break_call(problem)
    return Outcome.BROKEN


def at_mark(scanner: Scanner, mark: str) -> Wait[bool]:
    """Whether this mark is next, without reading it: said as soon as it is certain."""
    while True:
        come = scanner.text[scanner.at : scanner.at + len(mark)]
        if come == mark:
            return True
        if len(come) == len(mark) or scanner.ended or not mark.startswith(come):
            return False
        yield


def pass_broken(scanner: Scanner, depth: int, in_string: bool, ends: Sequence[str]) -> Wait[None]:
    """Reads the rest of a broken call: to the bracket that closes the last of `depth` containers, or to one of `ends`
    outside of quotes, which stays unread.
    """
    escaped = False
    starts = frozenset(end[0] for end in ends)
    while (depth or ends) and (yield from scanner.more()):
        text, at = scanner.text, scanner.at
        length = len(text)
        while at < length:
            mark = text[at]
            if in_string:
                in_string = mark != '"' or escaped
                escaped = mark == "\\" and not escaped
            elif mark in starts:
                if at > scanner.at:
                    break
                for end in ends:
                    if (yield from at_mark(scanner, end)):
                        return
                text, at = scanner.text, scanner.at
                length = len(text)
                scanner.give_run(at + 1)
                depth, in_string = _count(mark, depth, in_string)
                if mark in "]}" and not depth:
                    return
                at += 1
                continue
            else:
                depth, in_string = _count(mark, depth, in_string)
                if mark in "]}" and depth <= 0:
                    scanner.give_run(at + 1)
                    return
            at += 1
        if at > scanner.at:
            scanner.give_run(at)


def _count(mark: str, depth: int, in_string: bool) -> tuple[int, bool]:
    if mark == '"':
        return depth, True
    return depth + (mark in "{[") - (mark in "]}"), in_string


def _flow(scanner: Scanner, reader: JsonReader, ends: Sequence[str]) -> Wait[bool]:
    """The object that is next flows into the open call; False where it is not JSON, unless it may be mended."""
    if scanner.repair:
        return (yield from Repairing(scanner, ends).read())
    while not reader.complete and not reader.broken and (yield from scanner.more()):
        scanner.give_run(reader.skip(scanner.text, scanner.at), as_it_is)
    return reader.complete


def _why(scanner: Scanner, problem: str, reader: JsonReader | None = None) -> str:
    if scanner.ended and scanner.at >= len(scanner.text):
        return _UNFINISHED
    if reader is not None and reader.depth > scanner.limits.depth:
        return f"the arguments are nested deeper than {scanner.limits.depth} levels"
    return problem


class _Object:
    """One call while it is read, member by member, in any order."""

    def __init__(self, scanner: Scanner, tools: ToolRegistry | None, members: Members, *, certain: bool) -> None:
        self._scanner = scanner
        self._tools = tools
        self._members = members
        self._certain = certain
        self._name = ""
        self._call_id = ""
        self._told_id = ""
        """The id that the call began with."""
        self._waiting: str | None = None
        """Arguments that came before the name: their JSON."""
        self._has_arguments = False
        self.begun = False

    def read(self) -> Wait[None]:
        """Reads all of it and ends the call; a `_Fault` where that cannot be, with the call open if it has begun."""
        yield from self._read_members(1)
        if not self._name:
            raise _Fault("the call names no tool", 0)
        if not self.begun:
            if not self._certain:
                raise _Fault("", 0)
            self._begin()
        late = "" if self._call_id == self._told_id else self._call_id
        self._scanner.end_call("" if self._has_arguments else "{}", late)

    def _begin(self) -> None:
        self._scanner.begin_call(self._name, self._call_id, known=is_known(self._tools, self._name))
        self._told_id = self._call_id
        self.begun = True
        if self._waiting is not None:
            self._scanner.give_call(self._waiting)

    def _read_members(self, depth: int) -> Wait[None]:
        scanner = self._scanner
        scanner.read_to(scanner.at + 1)
        yield from self._space(depth)
        if (yield from scanner.read_literal("}")):
            return
        seen: set[str] = set()
        while True:
            key = yield from self._string(depth)
            yield from self._space(depth)
            if not (yield from scanner.read_literal(":")):
                raise _Fault(_BAD, depth)
            if key in seen:
                raise _Fault(f"the call has {key[:80]!r} twice", depth)
            if len(seen) < scanner.limits.fields:
                seen.add(key)
            yield from self._space(depth)
            yield from self._read_member(key, depth)
            yield from self._space(depth)
            if (yield from scanner.read_literal("}")):
                return
            if not (yield from scanner.read_literal(",")):
                raise _Fault(_BAD, depth)
            yield from self._space(depth)

    def _read_member(self, key: str, depth: int) -> Wait[None]:
        members = self._members
        come = yield from self._scanner.need(1)
        if key in members.name and come == '"':
            if self._name:
                raise _Fault("the call names two tools", depth)
            yield from self._read_name(depth)
        elif key in members.arguments:
            yield from self._read_arguments(come, depth)
        elif not self._certain and not self.begun:
            raise _Fault("", depth)
        elif key == "function" and come == "{" and not self._name and depth == 1:
            yield from self._read_members(depth + 1)
        elif key in members.call_id and come not in "{[":
            raw = (yield from self._value(depth, no_json)).strip()
            self._call_id = decoded(raw) or "" if raw.startswith('"') else raw
        else:
            yield from self._value(depth, no_json)

    def _read_name(self, depth: int) -> Wait[None]:
        name = yield from self._string(depth)
        if not name:
            raise _Fault("the call names no tool", depth)
        self._name = name
        if not self._certain and not is_known(self._tools, name):
            raise _Fault("", depth)
        if self._certain and (self._has_arguments or not self._members.call_id):
            self._begin()

    def _read_arguments(self, come: str, depth: int) -> Wait[None]:
        if self._has_arguments:
            raise _Fault("the call has arguments twice", depth)
        if come not in ("{", '"', "n"):
            raise _Fault("the arguments must be a JSON object", depth)
        if self._name and not self.begun and (self._certain or come == "{"):
            self._begin()
        if not self.begun and not self._certain:
            raise _Fault("", depth)
        if come == "n":
            yield from self._value(depth, no_json)
        elif not self.begun:
            raw = yield from self._value(depth, as_it_is)
            self._waiting = raw if come == "{" else Unquoting()(raw[1:-1])
            self._has_arguments = True
        elif come == '"':
            self._has_arguments = True
            yield from self._read_quoted(depth)
        else:
            self._has_arguments = True
            reader = JsonReader(self._scanner.limits, fields=False)
            if not (yield from _flow(self._scanner, reader, ())):
                raise self._fault(reader, depth)

    def _read_quoted(self, depth: int) -> Wait[None]:
        """Arguments in a string: what it says is their JSON."""
        scanner = self._scanner
        scanner.read_to(scanner.at + 1)
        reader = JsonReader(scanner.limits, fields=False)
        reader.skip('"', 0)
        unquoted = Unquoting()
        while (yield from scanner.more()):
            at = reader.skip(scanner.text, scanner.at)
            scanner.give_run(at - 1 if reader.complete else at, unquoted)
            if reader.complete:
                scanner.read_to(at)
                return
            if reader.broken:
                break
        raise _Fault(_BAD, depth, in_string=True)

    # JSON: into the call if it has begun, otherwise held.

    def _value(self, depth: int, encode: Callable[[str], str]) -> Wait[str]:
        scanner = self._scanner
        if not self.begun:
            raw = yield from read_raw(scanner)
            if raw is None:
                raise _Fault(self._too_long() or _BAD, depth)
            return raw
        reader = JsonReader(scanner.limits, fields=False)
        pieces: list[str] = []
        while not reader.complete and not reader.broken and (yield from scanner.more()):
            start = scanner.at
            at = reader.skip(scanner.text, start)
            if self._members.call_id and len(pieces) < scanner.limits.name:
                pieces.append(scanner.text[start:at])
            scanner.give_run(at, encode)
        if not reader.complete:
            raise self._fault(reader, depth)
        return "".join(pieces)

    def _string(self, depth: int) -> Wait[str]:
        """Reads a string: a member's name, or the tool's."""
        scanner = self._scanner
        if (yield from scanner.need(1)) != '"':
            raise _Fault(_BAD, depth)
        raw = yield from self._short(depth) if self.begun else read_raw(scanner)
        said = None if raw is None else decoded(raw)
        if said is None:
            raise _Fault(self._too_long() or _BAD, depth)
        return said

    def _short(self, depth: int) -> Wait[str]:
        """Reads a string of a call that has begun, no longer than a name may be."""
        scanner = self._scanner
        scanner.give_call()
        raw = yield from read_raw(scanner)
        if raw is None or len(raw) > 16 * scanner.limits.name:
            raise _Fault(_BAD, depth, in_string=raw is None)
        scanner.give_call()
        return raw

    def _space(self, depth: int) -> Wait[None]:
        if self.begun:
            yield from self._scanner.give_space(self._scanner.give_run)
            return
        yield from self._scanner.read_space()
        if self._scanner.over_held():
            raise _Fault(self._too_long(), depth)

    def _too_long(self) -> str:
        return "what stands before the call's name is too long" if self._scanner.over_held() else ""

    def _fault(self, reader: JsonReader, depth: int) -> _Fault:
        return _Fault(_why(self._scanner, _BAD, reader), depth + reader.depth, in_string=reader.in_string)
