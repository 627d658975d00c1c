"""Calls in JSON envelopes: one reader over a table of what the objects of an envelope may have in them.

It begins at a `{` or `[` in the text and reads on as long as what comes can be a call:

- JSON of any other shape is data: text to its end, and nothing in it begins a call. Where it stops being JSON, or is
  nested deeper than `limits.depth`, looking for calls goes on.
- A member is unknown to the table, or is there twice, or holds what it cannot: no call yet, so data; a call that has
  begun is broken, and the rest of its JSON is passed over. In a list the next call is read all the same.
- What is not valid JSON breaks a call that has begun. If its arguments were whole, looking for calls goes on there.
  Otherwise the end of the call is guessed by brackets and quotes, and is the end of the answer if they never close:
  what may be part of a broken argument is never read as a call of its own.
- A call of an unknown tool is text, to its end, found in the same ways; in a list the next one is read all the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import IntEnum
from typing import NamedTuple

from ..json_reader import JsonReader
from ..tools.registry import ToolRegistry
from .json_source import as_it_is, decoded, read_on
from .prose import prose
from .quoted import Unquoting
from .scanner import SPACE, Scanner, Wait, no_json


class Certain(IntEnum):
    """What makes it certain that an object is a call."""

    ONLY_WITH_ARGUMENTS = -1
    """That it has arguments, whatever it is wrapped in besides."""
    WITH_ARGUMENTS = 0
    """That it has arguments."""
    ENDED = 1
    """Arguments, or its end without any."""
    NAMED = 2
    """That it names a tool."""


class Role(IntEnum):
    """What a member of an envelope is."""

    NAME = 0
    ARGUMENTS = 1
    SCHEMA_OR_ARGUMENTS = 2
    """Beside `name` this declares a tool as often as it calls one: there it counts only where a name is enough."""
    DECORATION = 3
    """Anything but a list or an object: passed over."""


class Wrap(NamedTuple):
    """A member that holds a call, or a list of calls."""

    members: Members
    certain: Certain
    is_list: bool = False
    names: bool = False
    """It may be a string too: the tool's name, with the arguments beside it."""


Members = Mapping[str, Wrap | Role]


class Envelopes(NamedTuple):
    """What a reader knows: the members of a call, and what may stand at the top besides."""

    call: Members
    top: Members


_LONGEST_KEY = 64
"""Characters of a member's name: more than any in a table."""

_DIGITS = frozenset("-0123456789")
_LITERALS = ("true", "false", "null")
_SHORT = 8
"""Characters that a quick look takes in."""


# What comes before a place in a JSON value, as short as can be: from this prefix a `JsonReader` goes on. So reading
# changes from calls to data anywhere, and nothing is read twice.

_IN_OBJECT = '{"":'
_IN_LIST = "["
_AT_VALUE = ""
_AFTER_VALUE = '""'
_AFTER_COMMA = '"",'


class _NotACall(Exception):
    """What was read is JSON and no call.

    `reason` is for a call that has begun; `tail` says where in the innermost open container this is.
    """

    def __init__(self, reason: str, tail: str, *, unknown: bool = False) -> None:
        self.reason = reason
        self.tail = tail
        self.unknown = unknown


class _NotJson(Exception):
    """What comes next cannot follow in JSON, or the answer has ended."""

    def __init__(self, depth: int = 0, *, in_string: bool = False, between: bool = False) -> None:
        self.depth = depth
        """Containers that are open in the value that is being read."""
        self.in_string = in_string
        self.between = between
        """After a member, where a comma or the end belongs."""


class _Call:
    """What is known of one call while it is read."""

    def __init__(self, certain: Certain) -> None:
        self.certain = certain
        self.name = ""
        self.named_by = ""
        self.arguments: Role | None = None
        """The role of the member that holds the arguments, once there is one."""
        self.waiting = ""
        """Arguments that came before it was known which tool is called."""
        self.whole = False
        """The arguments have been read to their end."""
        self.given = False
        self.begun = False
        self.is_list = False
        """This was no call but holds a list of them."""


def read_envelopes(scanner: Scanner, tools: ToolRegistry | None, envelopes: Envelopes) -> Wait[None]:
    """Reads an answer with calls in these envelopes."""
    return prose(scanner, "{[", _Reader(scanner, tools, envelopes).read, _may_begin)


def _may_begin(text: str, at: int) -> bool:
    """Whether a bracket may begin what must be read as JSON. Most in code and prose do not: `{}`, `[0]`, `[text]`."""
    is_list = text[at] == "["
    at += 1
    while (mark := text[at : at + 1]) in SPACE:
        at += 1
    if not is_list:
        return mark in ('"', "")
    if mark in _DIGITS:
        end = text.find("]", at, at + _SHORT)
        return end < 0 or not text[at:end].isdecimal()
    word = text[at : at + _SHORT]
    return mark in ("{", "[", '"', "") or any(word.startswith(known[: len(word)]) for known in _LITERALS)


class _Reader:
    """Reads the JSON values in a text one after another: calls, as long as each can hold any."""

    def __init__(self, scanner: Scanner, tools: ToolRegistry | None, envelopes: Envelopes) -> None:
        self._scanner = scanner
        self._tools = tools
        self._envelopes = envelopes
        self._open: list[str] = []
        """The prefix of each container that is open."""
        self._found = False

    def read(self) -> Wait[bool]:
        """Reads the value that is next; all of it is given, as calls, markup and text."""
        scanner = self._scanner
        scanner.set_lead()
        self._open.clear()
        self._found = False
        try:
            if scanner.text[scanner.at] == "[":
                yield from self._read_list(self._envelopes.call, Certain.WITH_ARGUMENTS)
            else:
                yield from self._read_element(self._envelopes.top, Certain.WITH_ARGUMENTS)
        except _NotACall as found:
            yield from self._pass_json(0, found.tail, scanner.give_text_to)
        except _NotJson:
            scanner.give_text()
        return True

    def _read_list(self, members: Members, certain: Certain) -> Wait[None]:
        scanner = self._scanner
        scanner.read_to(scanner.at + 1)
        self._open.append(_IN_LIST)
        tail = _AT_VALUE
        yield from self._read_space(tail)
        while True:
            if (yield from scanner.need(1)) != "{":
                raise _NotACall("", tail)
            scanner.set_lead()
            yield from self._read_element(members, certain)
            yield from self._read_space(_AFTER_VALUE)
            mark = yield from scanner.need(1)
            if mark not in (",", "]"):
                raise _NotJson
            scanner.read_to(scanner.at + 1)
            if mark == "]":
                break
            tail = _AFTER_COMMA
            yield from self._read_space(tail)
        self._open.pop()
        self._give_around()

    def _give_around(self) -> None:
        """What is held stands around calls; around none, it is text."""
        if self._found:
            self._scanner.give_markup()
        else:
            self._scanner.give_text()

    def _read_element(self, members: Members, certain: Certain) -> Wait[None]:
        """Reads one call, to the end of its outermost object."""
        scanner = self._scanner
        base = len(self._open)
        call = _Call(certain)
        try:
            yield from self._read_object(call, members, outermost=True)
        except _NotACall as found:
            if call.begun:
                problem = scanner.fault(found.reason)
                yield from self._pass(base, found.tail, scanner.give_run, problem)
            elif found.unknown:
                yield from self._pass(base, found.tail, scanner.give_text_to)
            else:
                raise
        except _NotJson as fault:
            if not call.begun:
                raise
            problem = self._why(fault)
            if fault.between and call.whole:
                # What comes now is no part of the arguments, so that calls are looked for in it.
                scanner.break_call(problem)
                raise
            depth = len(self._open) - base + fault.depth
            yield from self._pass_brackets(depth, fault.in_string, scanner.give_run, problem)
        del self._open[base:]

    def _read_object(self, call: _Call, members: Members, *, outermost: bool = False) -> Wait[None]:
        scanner = self._scanner
        scanner.read_to(scanner.at + 1)
        self._open.append(_IN_OBJECT)
        yield from self._read_space(_AFTER_COMMA, call)
        mark = yield from scanner.need(1)
        seen: set[str] = set()
        while mark != "}":
            key = yield from self._read_key(call)
            if key in seen:
                raise _NotACall(f"the call has {key!r} twice", _AT_VALUE)
            seen.add(key)
            yield from self._read_member(call, key, members)
            yield from self._read_space(_AFTER_VALUE, call)
            mark = yield from scanner.need(1)
            if mark not in (",", "}"):
                raise _NotJson(between=True)
            if mark == ",":
                scanner.read_to(scanner.at + 1)
                yield from self._read_space(_AFTER_COMMA, call)
        if outermost:
            self._settle(call, _AFTER_VALUE, ended=True)
        scanner.read_to(scanner.at + 1)
        self._open.pop()
        if outermost and call.is_list:
            self._give_around()
        elif outermost:
            scanner.end_call("" if call.given else "{}")

    def _read_member(self, call: _Call, key: str, members: Members) -> Wait[None]:
        scanner = self._scanner
        yield from self._read_space(_AT_VALUE, call)
        mark = yield from scanner.need(1)
        if not mark:
            raise _NotJson
        role = members.get(key)
        if role is None or call.is_list:
            raise _NotACall(f"{key!r} has no place in a call", _AT_VALUE)
        if role is Role.NAME and mark == '"':
            yield from self._read_name(call, key)
        elif role is Role.DECORATION and mark not in "{[":
            yield from self._read_value(call, no_json)
        elif role is Role.ARGUMENTS or role is Role.SCHEMA_OR_ARGUMENTS:
            yield from self._read_arguments(call, role, mark)
        elif isinstance(role, Wrap):
            yield from self._read_wrapped(call, key, role, mark)
        else:
            raise _NotACall(f"{key!r} holds what it cannot in a call", _AT_VALUE)

    def _read_wrapped(self, call: _Call, key: str, wrap: Wrap, mark: str) -> Wait[None]:
        if wrap.names and mark == '"':
            yield from self._read_name(call, key)
        elif wrap.is_list and mark == "[" and not call.name and call.arguments is None:
            call.is_list = True
            yield from self._read_list(wrap.members, wrap.certain)
        elif not wrap.is_list and mark == "{":
            if call.certain is not Certain.ONLY_WITH_ARGUMENTS:
                call.certain = max(call.certain, wrap.certain)
            yield from self._read_object(call, wrap.members)
        else:
            raise _NotACall(f"{key!r} holds what it cannot in a call", _AT_VALUE)

    def _read_name(self, call: _Call, key: str) -> Wait[None]:
        if call.name:
            raise _NotACall("the call names two tools", _AT_VALUE)
        call.name = yield from self._read_string(self._scanner.limits.name, _AT_VALUE)
        call.named_by = key
        self._settle(call, _AFTER_VALUE)

    def _settle(self, call: _Call, tail: str, *, ended: bool = False) -> None:
        """Begins the call, if what has come makes it certain that this is one."""
        if call.begun or call.is_list:
            return
        is_certain = call.certain is Certain.NAMED
        if not (call.arguments is Role.SCHEMA_OR_ARGUMENTS and call.named_by == "name"):
            is_certain |= call.arguments is not None or (ended and call.certain is Certain.ENDED)
        if not call.name or not is_certain:
            if ended:
                raise _NotACall("", tail)
            return
        if self._tools is not None and call.name not in self._tools:
            if not ended and call.arguments is None:
                return
            self._scanner.note_unknown(call.name)
            raise _NotACall("", tail, unknown=True)
        call.begun = self._found = True
        self._scanner.begin_call(call.name)
        self._scanner.give_call(call.waiting)

    # The arguments.

    def _read_arguments(self, call: _Call, role: Role, mark: str) -> Wait[None]:
        if call.arguments is not None:
            raise _NotACall("the call has arguments twice", _AT_VALUE)
        call.arguments = role
        self._settle(call, _AT_VALUE)
        if mark not in '{"n':
            raise _NotACall("the arguments must be a JSON object", _AT_VALUE)
        call.given = mark != "n"
        if not call.begun:
            raw = yield from self._read_value(call, as_it_is)
            call.waiting = raw if mark == "{" else Unquoting()(raw[1:-1]) if mark == '"' else ""
        elif mark == '"':
            yield from self._read_quoted()
        else:
            yield from self._read_value(call, as_it_is if mark == "{" else no_json)
        call.whole = True

    def _read_quoted(self) -> Wait[None]:
        """Arguments in a string: what it says is their JSON."""
        scanner = self._scanner
        scanner.read_to(scanner.at + 1)
        reader = self._reader('"')
        unquoted = Unquoting()
        while (yield from scanner.more()):
            at = reader.skip(scanner.text, scanner.at)
            scanner.give_run(at - 1 if reader.complete else at, unquoted)
            if reader.complete:
                scanner.read_to(at)
                return
            if reader.broken:
                break
        raise _NotJson(in_string=True)

    # JSON.

    def _reader(self, prefix: str = "") -> JsonReader:
        reader = JsonReader(self._scanner.limits, fields=False)
        reader.skip(prefix, 0)
        return reader

    def _read_value(self, call: _Call, encode: Callable[[str], str]) -> Wait[str]:
        """Reads any value: into the call if it has begun; otherwise held, and given back."""
        scanner = self._scanner
        reader = self._reader()
        pieces: list[str] = []
        over = False
        while (yield from scanner.more()):
            at = reader.skip(scanner.text, scanner.at)
            if call.begun:
                scanner.give_run(at, encode)
            else:
                pieces.append(scanner.read_to(at))
                over = over or scanner.over_held()
            if over:
                # This will be data, however it ends.
                scanner.give_text()
                pieces.clear()
            if reader.complete:
                break
            if reader.broken:
                raise _NotJson(reader.depth, in_string=reader.in_string)
        if not reader.complete:
            raise _NotJson(reader.depth, in_string=reader.in_string)
        if over:
            raise _NotACall("", _AFTER_VALUE)
        return "".join(pieces)

    def _read_key(self, call: _Call) -> Wait[str]:
        """Reads a member's name and the colon."""
        key = yield from self._read_string(_LONGEST_KEY, _AFTER_COMMA)
        yield from self._read_space(_AT_VALUE, call)
        if not (yield from self._scanner.read_literal(":")):
            raise _NotJson
        return key

    def _read_string(self, longest: int, tail: str) -> Wait[str]:
        """Reads a string that is no longer than this; `tail` says where in the JSON it is."""
        scanner = self._scanner
        if not (yield from scanner.read_literal('"')):
            raise _NotJson
        raw = ""
        escaped = False
        while (yield from scanner.more()):
            text, at = scanner.text, scanner.at
            mark = text[at]
            if mark == '"' and not escaped:
                scanner.read_to(at + 1)
                said = decoded(f'"{raw}"') if "\\" in raw else raw
                if said is None:
                    break
                return said
            if mark < " ":
                break
            if len(raw) >= longest:
                raise _NotACall("there is a name too long for a call", f'{tail}"{raw}')
            escaped = mark == "\\" and not escaped
            raw += scanner.read_to(at + 1)
        raise _NotJson

    def _read_space(self, tail: str, call: _Call | None = None) -> Wait[None]:
        scanner = self._scanner
        if call is not None and call.begun:
            yield from scanner.give_space(scanner.give_run)
            return
        yield from scanner.read_space()
        if scanner.over_held():
            raise _NotACall("", tail)

    # What is no call, or not any more. `give` takes it on to a place in the text.

    def _pass_json(self, base: int, tail: str, give: Callable[[int], None]) -> Wait[JsonReader]:
        """Reads the rest of the containers from `base` on, as far as it is JSON."""
        scanner = self._scanner
        reader = self._reader("".join(self._open[base:]) + tail)
        give(scanner.at)
        yield from read_on(scanner, reader, give)
        return reader

    def _pass(self, base: int, tail: str, give: Callable[[int], None], problem: str = "") -> Wait[None]:
        """Reads the rest of one element, JSON or not. With a `problem`, that of its call, which it breaks."""
        reader = yield from self._pass_json(base, tail, give)
        depth = 0 if reader.complete else reader.depth
        yield from self._pass_brackets(depth, reader.in_string, give, problem)

    def _pass_brackets(self, depth: int, in_string: bool, give: Callable[[int], None], problem: str) -> Wait[None]:
        """Looks for the end of an element that is no JSON, with so many containers open, by brackets and quotes."""
        scanner = self._scanner
        escaped = False
        while depth and (yield from scanner.more()):
            at = scanner.at
            for mark in scanner.text[at:]:
                at += 1
                if in_string:
                    in_string = mark != '"' or escaped
                    escaped = mark == "\\" and not escaped
                elif mark == '"':
                    in_string = True
                elif mark in "{[":
                    depth += 1
                elif mark in "]}":
                    depth -= 1
                    if not depth:
                        break
            give(at)
        if problem:
            scanner.break_call(problem)
        if depth:
            raise _NotJson

    def _why(self, fault: _NotJson) -> str:
        scanner = self._scanner
        deepest = scanner.limits.depth
        if scanner.ended:
            return scanner.fault("the call is not finished")
        if fault.depth > deepest:
            return scanner.fault(f"the arguments are nested deeper than {deepest} levels")
        return scanner.fault("the call is not valid JSON")
