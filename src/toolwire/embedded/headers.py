"""Calls that are named before their arguments: a mark, a header with the name, a mark, then JSON.

Families that write so often put all calls of an answer into a section, with a mark before the first and one after the
last. Models leave out the marks of the section and of a call's end: neither is needed, and what is there is markup.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..tools.registry import ToolRegistry
from .json_calls import is_known, pass_arguments
from .marks import at_any, read_any
from .names import read_run
from .prose import Begin
from .scanner import Scanner, Wait

_HEADER = 200
"""Characters in which arguments must begin for what stands before them to be a header, if a spoiled one."""
_WORDS = 3
_SPACE = 20
_IN_OBJECTS = ('"', "'")


class Section(NamedTuple):
    """The marks of a family, each with all the ways in which it is written."""

    opens: tuple[str, ...]
    """What begins the calls of an answer."""
    closes: tuple[str, ...]
    calls: tuple[str, ...]
    """What begins one call."""
    ends: tuple[tuple[str, ...], ...]
    """What ends one call, mark after mark."""

    @property
    def bounds(self) -> tuple[str, ...]:
        """The marks at which a call that is broken has ended: the `ends` of `read_arguments`."""
        return (*(mark for marks in self.ends for mark in marks), *self.closes)

    @property
    def openers(self) -> tuple[str, ...]:
        """What begins another call, or more of them: the `openers` of `read_arguments`.

        They end nothing. With a quote too many or too few, nothing tells whether they stand in one of the call's
        strings, and a call that was only quoted must not run.
        """
        return (*self.opens, *self.calls)


def sections(scanner: Scanner, section: Section, read_one: Begin) -> dict[str, Begin]:
    """What begins calls in such a section, or without it; `read_one` reads on after the mark that begins a call."""

    def begin_section() -> Wait[bool]:
        yield from scanner.read_space()
        scanner.set_lead()
        yield from read_any(scanner, section.calls)
        return (yield from begin_call())

    def begin_call() -> Wait[bool]:
        size = scanner.held_length
        found = yield from read_one()
        if not found and not (yield from break_spoiled(scanner, None, size, section.bounds, section.openers)):
            return False
        yield from _read_ends(scanner, section)
        return True

    return {**dict.fromkeys(section.opens, begin_section), **dict.fromkeys(section.calls, begin_call)}


def _read_ends(scanner: Scanner, section: Section) -> Wait[None]:
    """Reads what ends a call and what ends the section, as far as it is there, with space before it."""
    for marks in (*section.ends, section.closes):
        yield from scanner.read_space()
        if (yield from read_any(scanner, marks)):
            scanner.give_markup()
            if marks is section.closes:
                return
    if (yield from at_any(scanner, section.calls)):
        scanner.give_markup()
    else:
        scanner.give_text()


def last_marks(scanner: Scanner, *marks: str) -> dict[str, Begin]:
    """What reads marks that end an answer: as the last thing in it they are marks, everywhere else text."""

    def begin() -> Wait[bool]:
        if (yield from scanner.more()):
            return False
        scanner.give_mark()
        return True

    return dict.fromkeys(marks, begin)


def read_before(scanner: Scanner, marks: Sequence[str], longest: int) -> Wait[tuple[str | None, bool]]:
    """Reads a word and one of these marks after it, which begin with `<`: the word, and whether a mark was there.

    None if there are several words, or one that is longer than it may be. It may be empty.
    """
    run = yield from read_run(scanner, "<", longest)
    if run is None or len(run.split()) > 1:
        return None, False
    return run.strip(), bool((yield from read_any(scanner, marks)))


def break_header(
    scanner: Scanner,
    tools: ToolRegistry | None,
    name: str,
    problem: str,
    ends: Sequence[str],
    openers: Sequence[str],
) -> Wait[bool]:
    """Reads a call whose header goes wrong after its name: to the end of its arguments, or to one of these marks.

    It is one if something like a mark comes next. False, with all of it held, where it is none. `openers` are those of
    `read_arguments`.
    """
    if "{" in name or (yield from scanner.need(1)) != "<":
        return False
    yield from break_here(scanner, tools, name, problem, ends, openers)
    return True


def break_spoiled(
    scanner: Scanner,
    tools: ToolRegistry | None,
    size: int,
    ends: Sequence[str],
    openers: Sequence[str],
    name: str = "",
) -> Wait[bool]:
    """Reads a call whose header cannot be read: so much of what is held is the mark before it, or more of it.

    It is one if something that looks like arguments follows after a few words, without a space before them unless
    they look like a part of a mark. False, with all of it held, where it is none.
    """
    held = scanner.held_length
    if held == size:
        return False
    scanner.unread_to(size)
    header = yield from _header(scanner, ends, openers)
    begins = header.lstrip()[:1].isalnum() and ("|" in header or not header[0].isspace())
    if len(header.split()) > _WORDS or not (begins or header.startswith("<")):
        scanner.read_to(scanner.at + held - size)
        return False
    yield from break_here(scanner, tools, name, "the header is malformed", ends, openers)
    return True


def break_here(
    scanner: Scanner,
    tools: ToolRegistry | None,
    name: str,
    problem: str,
    ends: Sequence[str],
    openers: Sequence[str],
) -> Wait[None]:
    """Reads the rest of a call that is surely one, and cannot be read: what stands in its strings begins nothing."""
    scanner.begin_call(name, known=not name or is_known(tools, name))
    problem = scanner.fault(problem)
    header = yield from _header(scanner, ends, openers)
    scanner.give_run(scanner.at + len(header))
    yield from pass_arguments(scanner, 0, False, ends, openers)
    scanner.break_call(problem)


def _header(scanner: Scanner, ends: Sequence[str], openers: Sequence[str]) -> Wait[str]:
    """What stands before arguments that begin soon; empty if none do."""
    come = yield from scanner.need(_HEADER)
    brace = come.find("{")
    while brace >= 0 and come[brace + 1 : brace + _SPACE].lstrip()[:1] not in _IN_OBJECTS:
        brace = come.find("{", brace + 1)
    header = come[: max(brace, 0)]
    return "" if any(mark in header for mark in (*ends, *openers)) else header
