"""Calls written as expressions of Python: `[search(query="x", limit=3), ping()]`.

`read_list` reads a list of them, `read_section` what stands between the marks of a family, where there may be a list,
one call on each line, or JSON after all. Arguments have names; values are literals (`toolwire.embedded.literals`), and
`**{"odd key": 1}` gives what no name can.

Between marks, strings may have line ends in them: chat templates put quotes around a text and leave it as it is.

A call ends with its bracket. A broken one is read on to the bracket that would close it, by brackets and quotes, or to
a mark outside of quotes that shows that the calls are over.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..tools.registry import ToolRegistry
from .format import CallToWrite
from .json_calls import Outcome, is_known, read_call
from .json_source import json_text
from .literals import UNFINISHED, Literal, give_string, read_quotes
from .marks import at_any, comes_soon, give_to, read_end
from .scanner import Scanner, Wait

_OPENING, _CLOSING = "([{", ")]}"
_BEFORE_VALUES = "([{,:="
_AFTER_VALUES = ",:)]}"
_SPACES = 20


class _Word:
    """The characters of names, of letters in all scripts and these."""

    def __init__(self, more: str) -> None:
        self._more = more

    def __contains__(self, letter: object) -> bool:
        return isinstance(letter, str) and (letter in self._more or f"a{letter}".isidentifier())


_NAME = _Word(".-:/")
_KEY = _Word(".-$@")


def read_section(scanner: Scanner, tools: ToolRegistry | None, opening: str, closing: str) -> Wait[bool]:
    """Reads what stands after an opening mark, which is held, and the closing one; False if no call is there.

    On lines of their own, what is no call is text; in a list it is a broken one.
    """
    # Where what opens begins with what closes, a second opening mark closes.
    ends = (closing,) if opening.startswith(closing) else (closing, opening)
    yield from scanner.read_space()
    if (yield from scanner.read_literal("[")):
        if not (yield from read_list(scanner, tools, ends)):
            return False
        yield from read_end(scanner, closing)
        return True
    found = False
    while True:
        if found and (yield from scanner.read_literal(closing)):
            scanner.give_markup()
            return True
        scanner.set_lead()
        if (yield from _read_item(scanner, tools, ends)) is not Outcome.NOTHING:
            found = True
        elif not found:
            return False
        else:
            mark = yield from _pass_line(scanner, ends)
            if mark != "\n":
                return True
        yield from scanner.read_space()
        if (yield from scanner.read_literal(",")):
            yield from scanner.read_space()
        if not (yield from scanner.more()) or scanner.over_held():
            scanner.give_text()
            return True


def _pass_line(scanner: Scanner, ends: Sequence[str]) -> Wait[str]:
    """What is held is no call: to the end of its line it is text. The mark that ends it: a line end, or the last."""
    scanner.unread()
    mark = yield from give_to(scanner, (*ends, "\n"), scanner.give_text_to)
    if mark == ends[0]:
        scanner.give_markup()
    elif mark in ends:
        scanner.unread()
    else:
        scanner.give_text()
    return mark


def read_list(
    scanner: Scanner, tools: ToolRegistry | None, ends: Sequence[str] = (), *, certain: bool = True
) -> Wait[bool]:
    """Reads a list of calls after its bracket, which is held; False if it does not begin with one.

    Without `ends` this stands for itself, in a text: what is no call ends it, and is text. `certain` says that it must
    be calls: otherwise the first must be of a known tool.
    """
    found = False
    while True:
        yield from scanner.read_space()
        if found and scanner.over_held():
            scanner.give_text()
            return True
        if found and (yield from scanner.read_literal(",")):
            continue
        if found and (yield from scanner.read_literal("]")):
            scanner.give_markup()
            return True
        if found and (yield from at_any(scanner, ends)):
            scanner.give_markup()
            return True
        scanner.set_lead()
        calls = scanner.calls
        outcome = yield from _read_item(scanner, tools, ends, certain=certain or found)
        if outcome is not Outcome.NOTHING:
            if not (certain or found or scanner.calls > calls):
                return True
            found = True
        elif not found:
            return False
        elif not (yield from scanner.more()):
            scanner.give_text()
            return True
        elif not ends:
            scanner.retract()
            return True
        else:
            scanner.begin_call("")
            problem = scanner.fault("there is something other than a call")
            yield from _pass_broken(scanner, 0, (",", "]", *ends[:1]), ends[1:])
            scanner.break_call(problem)


def _read_item(
    scanner: Scanner, tools: ToolRegistry | None, ends: Sequence[str], *, certain: bool = True
) -> Wait[Outcome]:
    """Reads one call: an expression, or a JSON object where marks stand around it."""
    if ends and (yield from scanner.need(1)) == "{":
        after = (",", "]", *ends)
        return (yield from read_call(scanner, tools, ends=ends[:1], openers=ends[1:], after=after))
    size = scanner.held_length
    name = yield from scanner.read_word(_NAME, scanner.limits.name + 1)
    if not name or len(name) > scanner.limits.name:
        return Outcome.NOTHING
    if not (yield from scanner.read_literal("(")):
        if not ends and (tools is None or name not in tools):
            return Outcome.NOTHING
        return (yield from _break_spoiled(scanner, tools, size, name, ends))
    if not certain and not is_known(tools, name):
        # Text in any case: but what it quotes begins nothing.
        if not (yield from comes_soon(scanner, size, "=", ("\n",))):
            return Outcome.NOTHING
        scanner.read_to(scanner.at + len(name) + 1)
    scanner.begin_call(name, known=is_known(tools, name))
    arguments = _Arguments(scanner, _Raw if ends else Literal)
    problem = yield from arguments.read()
    if not problem:
        scanner.end_call("}")
        return Outcome.CALL
    if scanner.ended and scanner.at >= len(scanner.text):
        problem = UNFINISHED
    problem = scanner.fault(problem)
    if not arguments.in_string:
        yield from _pass_broken(scanner, 1 + arguments.depth, ends[:1], ends[1:], arguments.quotes)
    scanner.break_call(problem)
    return Outcome.BROKEN


def _break_spoiled(
    scanner: Scanner, tools: ToolRegistry | None, size: int, name: str, ends: Sequence[str]
) -> Wait[Outcome]:
    """Reads a call that has something else than a bracket after its name, if an argument comes soon."""
    if not (yield from comes_soon(scanner, size, "=", (*ends, "\n"))):
        return Outcome.NOTHING
    scanner.begin_call(name, known=is_known(tools, name))
    problem = scanner.fault("( is missing after the name")
    yield from _pass_broken(scanner, 1, ends[:1], ends[1:])
    scanner.break_call(problem)
    return Outcome.BROKEN


class _Arguments:
    """What stands between the brackets of the open call: a JSON object, member by member."""

    def __init__(self, scanner: Scanner, literal: type[Literal]) -> None:
        self._scanner = scanner
        self._literal = literal
        self._given: set[str] = set()
        self._any = False
        self.depth = 0
        """How many brackets are open where it went wrong."""
        self.in_string = False
        self.quotes = ""
        """The quotes of the string directly before that place, if one is there: it may go on."""

    def read(self) -> Wait[str]:
        """Reads all of it and the bracket after it, which is held; what is wrong, if anything."""
        scanner = self._scanner
        scanner.give_call("{")
        first = True
        while True:
            yield from scanner.give_space(scanner.give_run)
            if (yield from scanner.read_literal(")")):
                return ""
            if not first:
                if not (yield from scanner.read_literal(",")):
                    return "a comma or ) is missing"
                self.quotes = ""
                yield from scanner.give_space(scanner.give_run)
                if (yield from scanner.read_literal(")")):
                    return ""
            first = False
            spread = yield from scanner.read_literal("**")
            problem = yield from self._spread() if spread else self._argument()
            if problem:
                return problem

    def _argument(self) -> Wait[str]:
        scanner = self._scanner
        longest = 16 * scanner.limits.name
        key = yield from scanner.read_word(_KEY, longest + 1)
        if not key or len(key) > longest:
            return "an argument has no name"
        yield from scanner.give_space(scanner.give_run)
        if not (yield from scanner.read_literal("=")):
            return f"there is no = after {key[:80]}"
        if key in self._given:
            return f"{key[:80]!r} is given twice"
        self._given.add(key)
        scanner.give_call(f"{', ' if self._any else ''}{json_text(key)}: ")
        self._any = True
        return (yield from self._read(self._literal(scanner), f"the value of {key[:80]!r}"))

    def _spread(self) -> Wait[str]:
        scanner = self._scanner
        yield from scanner.give_space(scanner.give_run)
        if (yield from scanner.need(1)) != "{":
            return "there is no object after **"
        spread = _Spread(scanner, follows=self._any)
        problem = yield from self._read(spread, "what stands after **")
        self._any = self._any or spread.has_members
        return problem

    def _read(self, literal: Literal, what: str) -> Wait[str]:
        complete = yield from literal.read()
        self.quotes = literal.quotes
        if complete:
            return ""
        self.depth, self.in_string = literal.depth, literal.in_string
        return f"{what} is no literal: {literal.problem}"


class _Raw(Literal):
    """A value between the marks of a family, whose chat template writes texts as they are, line ends too."""

    def _raw_in_string(self, raw: frozenset[str]) -> bool:
        return True


class _Spread(Literal):
    """An object whose members become members of another that is open."""

    def __init__(self, scanner: Scanner, *, follows: bool) -> None:
        super().__init__(scanner)
        self._follows = follows
        self.has_members = False

    def _give(self, json: str) -> None:
        if json == "{" and self.depth == 1 and not self.has_members:
            self._scanner.give_call()
            self._comma = ", " if self._follows else ""
        elif json == "}" and not self.depth:
            self._comma = ""
            self._scanner.give_call()
        else:
            self.has_members = True
            super()._give(json)


def _pass_broken(
    scanner: Scanner, depth: int, ends: Sequence[str], openers: Sequence[str], quotes: str = ""
) -> Wait[None]:
    """Reads the rest of a broken call: to the bracket that closes the last of `depth`, or to one of `ends` outside of
    quotes, which stays unread. A single quote counts where a value may begin: elsewhere it is an apostrophe.

    With `quotes` a string in them may still be open, since something strange follows what looked like its end. It ends
    where something follows that can stand after a value.

    What begins other calls (`openers`) has one of `ends` of its own: it may stand in a string whose own quotes are what
    is wrong.
    """
    begun = 0
    while quotes and (yield from give_string(scanner, quotes)):
        scanner.give_call()
        yield from scanner.give_space(scanner.give_run)
        if (yield from scanner.need(1)) in _AFTER_VALUES:
            break
    nested = depth
    last = ","
    starts = frozenset(end[0] for end in (*ends, *openers))
    stops = frozenset((*_OPENING, *_CLOSING, *"\"'", *starts))
    while (yield from scanner.more()):
        text, at = scanner.text, scanner.at
        mark = text[at]
        if mark in starts and (yield from at_any(scanner, openers)):
            begun += 1
        elif mark in starts and (nested <= depth or mark not in ",]") and (yield from at_any(scanner, ends)):
            if not begun:
                return
            begun -= 1
        if mark == '"' or (mark == "'" and last in _BEFORE_VALUES):
            last = mark
            quotes = yield from read_quotes(scanner)
            if len(quotes) != 2 and not (yield from give_string(scanner, quotes)):
                return
            scanner.give_call()
            continue
        text, at = scanner.text, scanner.at
        if mark in _OPENING:
            nested += 1
        elif mark in _CLOSING:
            nested -= 1
        end = at + 1
        if depth and not nested:
            scanner.give_run(end)
            if (yield from _is_over(scanner, (",", "]", "\n", *ends, *openers))):
                return
            nested = depth = 1
            continue
        while end < len(text) and text[end] not in stops:
            end += 1
        last = text[at:end].rstrip()[-1:] or last
        scanner.give_run(end)


def _is_over(scanner: Scanner, marks: Sequence[str]) -> Wait[bool]:
    """Whether one of these marks is next, or the end of the answer, spaces aside: only then a bracket was the last."""
    yield from scanner.read_word(" \t", _SPACES)
    is_over = not (yield from scanner.more()) or (yield from at_any(scanner, marks))
    scanner.unread()
    return is_over


def write_expression(call: CallToWrite, value: Callable[[Any], str]) -> str:
    """One call; `value` writes a value."""
    said = {key: item for key, item in call.arguments.items() if _is_key(key)}
    parts = [f"{key}={value(item)}" for key, item in said.items()]
    odd = {key: item for key, item in call.arguments.items() if key not in said}
    if odd:
        parts.append(f"**{json_text(odd)}")
    return f"{call.name}({', '.join(parts)})"


def _is_key(key: str) -> bool:
    return bool(key) and all(letter in _KEY for letter in key)


def python_text(value: Any) -> str:
    """A value as Python writes it, strings in double quotes."""
    if isinstance(value, dict):
        return f"{{{', '.join(f'{json_text(key)}: {python_text(item)}' for key, item in value.items())}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(python_text, value))}]"
    return json_text(value) if isinstance(value, str) else repr(value)
