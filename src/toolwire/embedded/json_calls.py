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
from .broken import pass_broken
from .json_source import as_it_is, decoded, json_text, read_raw
from .marks import at_any
from .quoted import Unquoting
from .repair import MISSING, NO_COMMA, NO_SINGLE, Repairing, read_single_quoted
from .scanner import Scanner, Wait, no_json

_UNFINISHED = "the call is not finished"
_BAD = "the call is not valid JSON"


class Members(NamedTuple):
    """The names that a family gives to what a call holds. Members of other names mean nothing and are passed over."""

    name: tuple[str, ...] = ("name",)
    arguments: tuple[str, ...] = ("arguments", "parameters")
    call_id: tuple[str, ...] = ()
    name_is_key: bool = False
    """The tool's name is itself that of the member which holds the arguments."""


NAMED = Members()


class Outcome(Enum):
    """What came of reading."""

    CALL = "call"
    """A whole call, of a known tool or not."""
    BROKEN = "broken"
    NOTHING = "nothing"
    """This is no call. All that was read is held."""


class _Flow(NamedTuple):
    """How far reading an object came: so many containers are open, and maybe a string."""

    complete: bool
    depth: int
    in_string: bool
    single: bool = False
    """A string in single quotes may go on."""


class _Fault(Exception):
    """What was read is no call: so many containers are open, and maybe a string."""

    def __init__(self, problem: str, depth: int, *, in_string: bool = False, single: bool = False) -> None:
        self.problem = problem
        self.depth = depth
        self.in_string = in_string
        self.single = single


def is_known(tools: ToolRegistry | None, name: str) -> bool:
    """Whether a call of this name may be one."""
    return tools is None or name in tools


def read_call(
    scanner: Scanner,
    tools: ToolRegistry | None,
    members: Members = NAMED,
    *,
    ends: Sequence[str] = (),
    openers: Sequence[str] = (),
    after: Sequence[str] = (),
    certain: bool = True,
) -> Wait[Outcome]:
    """Reads the object that is next (`{`). What is held goes with it: as markup, if `set_lead` said so.

    `openers` and `after` are those of `pass_broken`, for families whose calls may be quoted as they stand in a string
    of JSON, where the quotes of an object must be escaped.

    `certain` says that it must be a call. Otherwise it is one only if it begins with the name of a known tool and then
    its arguments, an object, and at most `"type": "function"` before them: everything else is `NOTHING`, and held.
    """
    call = _Object(scanner, tools, members, ends, certain=certain)
    try:
        yield from call.read()
    except _Fault as fault:
        if not call.begun:
            if not certain:
                return Outcome.NOTHING
            call.begin_broken()
        problem = scanner.fault(_why(scanner, fault.problem))
        if fault.depth:
            rest = (scanner, fault.depth, fault.in_string, ends)
            yield from pass_broken(*rest, single=fault.single, openers=openers, after=after)
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

    A broken call does not take its neighbours with it, nor does a comma too many or too few. Where the list itself goes
    wrong, what follows is left unread.
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
        if (yield from scanner.read_literal(",")):
            yield from scanner.read_space()
        if (yield from scanner.read_literal("]")):
            scanner.give_markup()
            return worst
        come = yield from scanner.need(1)
    if found is Outcome.NOTHING:
        return found
    scanner.give_markup()
    return Outcome.BROKEN


def read_arguments(
    scanner: Scanner,
    tools: ToolRegistry | None,
    name: str,
    call_id: str = "",
    *,
    ends: Sequence[str] = (),
    openers: Sequence[str] = (),
) -> Wait[Outcome]:
    """Reads a call of which what is held is the beginning: its arguments, a JSON object, are next, space aside.

    One of the marks `ends` directly after the name is a call without arguments. What begins another call (`openers`)
    ends a broken one only where the family has no `ends`, and then only after its bracket.
    """
    scanner.begin_call(name, call_id, known=is_known(tools, name))
    yield from scanner.give_space(scanner.give_run)
    come = yield from scanner.need(1)
    if come == "{":
        flow = yield from _flow(scanner, ends)
        if flow.complete:
            scanner.end_call()
            return Outcome.CALL
    else:
        if come and (yield from at_any(scanner, ends or openers)):
            scanner.end_call("{}")
            return Outcome.CALL
        flow = _Flow(complete=False, depth=0, in_string=False)
    problem = scanner.fault(_why(scanner, "the arguments are not a valid JSON object", flow.depth))
    yield from pass_arguments(scanner, flow.depth, flow.in_string, ends, openers, single=flow.single)
    scanner.break_call(problem)
    return Outcome.BROKEN


def pass_arguments(
    scanner: Scanner, depth: int, in_string: bool, ends: Sequence[str], openers: Sequence[str], *, single: bool = False
) -> Wait[None]:
    """Reads the rest of arguments that are broken, with `ends` and `openers` as for `read_arguments`."""
    nested = openers if ends else ()
    yield from pass_broken(scanner, depth, in_string, ends, single=single, openers=nested, after=ends or openers)


def _flow(scanner: Scanner, ends: Sequence[str]) -> Wait[_Flow]:
    """The object that is next flows into the open call, as far as it is JSON, or may be mended."""
    if scanner.repair:
        repairing = Repairing(scanner, ends)
        complete = yield from repairing.read()
        return _Flow(complete, repairing.depth, repairing.in_string, repairing.quotes == "'")
    reader = JsonReader(scanner.limits, fields=False)
    while not reader.complete and not reader.broken and (yield from scanner.more()):
        scanner.give_run(reader.skip(scanner.text, scanner.at), as_it_is)
    return _Flow(reader.complete, reader.depth, reader.in_string)


def _why(scanner: Scanner, problem: str, depth: int = 0) -> str:
    if scanner.ended and scanner.at >= len(scanner.text):
        return _UNFINISHED
    if depth > scanner.limits.depth:
        return f"the arguments are nested deeper than {scanner.limits.depth} levels"
    return problem


class _Object:
    """One call while it is read, member by member, in any order."""

    def __init__(
        self, scanner: Scanner, tools: ToolRegistry | None, members: Members, ends: Sequence[str], *, certain: bool
    ) -> None:
        self._scanner = scanner
        self._tools = tools
        self._members = members
        self._ends = ends
        self._mended: list[str] = []
        """What was mended before the call began."""
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

    def begin_broken(self) -> None:
        """What was read begins a call that cannot run: under its name, if that has come."""
        self._scanner.begin_call(self._name, self._call_id, known=not self._name or is_known(self._tools, self._name))

    def _begin(self) -> None:
        self._scanner.begin_call(self._name, self._call_id, known=is_known(self._tools, self._name))
        self._told_id = self._call_id
        self.begun = True
        for what in self._mended:
            self._scanner.note_repair(what)
        if self._waiting is not None:
            self._scanner.give_call(self._waiting)

    def _mend(self, what: str) -> None:
        if self.begun:
            self._scanner.note_repair(what)
        else:
            self._mended.append(what)

    def _is_over(self, mark: str) -> Wait[bool]:
        """Whether the call, where it may be mended, ends here although its brace is missing."""
        if not self._scanner.repair or not (yield from at_any(self._scanner, self._ends)):
            return False
        if mark == ",":
            self._mend(NO_COMMA)
        self._mend(MISSING)
        return True

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
                if (yield from self._is_over("")):
                    return
                raise _Fault(_BAD, depth)
            yield from self._space(depth)
            if scanner.repair and (yield from scanner.read_literal("}")):
                self._mend(NO_COMMA)
                return
            if (yield from self._is_over(",")):
                return

    def _read_member(self, key: str, depth: int) -> Wait[None]:
        members = self._members
        come = yield from self._scanner.need(1)
        if members.name_is_key:
            if self._name:
                raise _Fault("the call names two tools", depth)
            self._name = key
            yield from self._read_arguments(come, depth)
        elif key in members.name and come in self._quotes:
            if self._name:
                raise _Fault("the call names two tools", depth)
            yield from self._read_name(depth)
        elif key in members.arguments:
            yield from self._read_arguments(come, depth)
        elif not self._certain and not self.begun:
            if key != "type" or come != '"' or (yield from self._string(depth)) != "function":
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
        if come not in ("{", '"', "n") and not (self._scanner.repair and come == "N"):
            raise _Fault("the arguments must be a JSON object", depth)
        if self._name and not self.begun and (self._certain or come == "{"):
            self._begin()
        if not self.begun and not self._certain:
            raise _Fault("", depth)
        if come == "N" and (yield from self._scanner.read_literal("None")):
            self._mend("None became null")
        elif come in "nN":
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
            flow = yield from _flow(self._scanner, self._ends)
            if not flow.complete:
                raise self._fault(flow, depth)

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
        if scanner.repair and (yield from scanner.need(1)) == "'":
            return json_text((yield from self._string(depth)))
        if not self.begun:
            return (yield from self._held(depth))
        reader = JsonReader(scanner.limits, fields=False)
        pieces: list[str] = []
        while not reader.complete and not reader.broken and (yield from scanner.more()):
            start = scanner.at
            at = reader.skip(scanner.text, start)
            if self._members.call_id and len(pieces) < scanner.limits.name:
                pieces.append(scanner.text[start:at])
            scanner.give_run(at, encode)
        if not reader.complete:
            raise self._fault(_Flow(reader.complete, reader.depth, reader.in_string), depth)
        return "".join(pieces)

    def _held(self, depth: int) -> Wait[str]:
        """Reads the value that is next, and holds it: its text."""
        scanner = self._scanner
        reader = JsonReader(scanner.limits, fields=False)
        pieces: list[str] = []
        while not reader.complete and not reader.broken and not scanner.over_held() and (yield from scanner.more()):
            # No further than just over the bound, so that every cut ends at the same character.
            end = scanner.at + scanner.limits.held + 1 - scanner.held_length
            text = scanner.text if end >= len(scanner.text) else scanner.text[:end]
            pieces.append(scanner.read_to(reader.skip(text, scanner.at)))
        if not reader.complete or scanner.over_held():
            raise _Fault(self._too_long() or _BAD, depth + reader.depth, in_string=reader.in_string)
        return "".join(pieces).strip()

    @property
    def _quotes(self) -> tuple[str, ...]:
        return ('"', "'") if self._scanner.repair else ('"',)

    def _string(self, depth: int) -> Wait[str]:
        """Reads a string: a member's name, or the tool's."""
        scanner = self._scanner
        come = yield from scanner.need(1)
        if come not in self._quotes:
            raise _Fault(_BAD, depth)
        if come == "'":
            self._mend(NO_SINGLE)
        reading = read_raw if come == '"' else read_single_quoted
        raw = yield from self._short(reading, depth) if self.begun else reading(scanner)
        said = None if raw is None else decoded(raw)
        if said is None:
            raise _Fault(self._too_long() or _BAD, depth, in_string=raw is None)
        return said

    def _short(self, reading: Callable[[Scanner], Wait[str | None]], depth: int) -> Wait[str]:
        """Reads a string of a call that has begun, no longer than a name may be."""
        scanner = self._scanner
        scanner.give_call()
        raw = yield from reading(scanner)
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

    def _fault(self, flow: _Flow, depth: int) -> _Fault:
        problem = _why(self._scanner, _BAD, flow.depth)
        return _Fault(problem, depth + flow.depth, in_string=flow.in_string, single=flow.single)
