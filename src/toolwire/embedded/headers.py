"""Calls that are named before their arguments: a mark, a header with the name, a mark, then JSON.

Families that write so often put all calls of an answer into a section, with a mark before the first and one after the
last. Models leave out the marks of the section and of a call's end: neither is needed, and what is there is markup.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..tools.registry import ToolRegistry
from .broken import pass_broken
from .json_calls import is_known
from .prose import Begin
from .scanner import Scanner, Wait, at_any


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
        """The marks at which a call that is broken has ended: for `read_arguments`.

        What begins another call is none of them. With a quote too many or too few, nothing tells whether it stands in
        one of the call's strings, and a call that was only quoted must not run.
        """
        return (*(mark for marks in self.ends for mark in marks), *self.closes)


class _Without:
    """All characters but these."""

    def __init__(self, stops: str) -> None:
        self._stops = frozenset(stops)

    def __contains__(self, character: object) -> bool:
        return character not in self._stops


def sections(scanner: Scanner, section: Section, read_one: Begin) -> dict[str, Begin]:
    """What begins calls in such a section, or without it; `read_one` reads on after the mark that begins a call."""

    def begin_section() -> Wait[bool]:
        yield from scanner.read_space()
        scanner.set_lead()
        yield from read_any(scanner, section.calls)
        return (yield from begin_call())

    def begin_call() -> Wait[bool]:
        if not (yield from read_one()):
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


def read_any(scanner: Scanner, marks: Sequence[str]) -> Wait[str]:
    """Reads the first of these marks that is here, and says which; empty if none is. None may begin another."""
    for mark in marks:
        if (yield from scanner.read_literal(mark)):
            return mark
    return ""


def read_run(scanner: Scanner, stops: str, longest: int) -> Wait[str | None]:
    """Reads all that comes before one of these characters, `longest` at most; None if it is longer."""
    run = yield from scanner.read_word(_Without(stops), longest + 1)
    return run if len(run) <= longest else None


def read_before(scanner: Scanner, marks: Sequence[str], longest: int) -> Wait[tuple[str | None, bool]]:
    """Reads a word and one of these marks after it, which begin with `<`: the word, and whether a mark was there.

    None if there are several words, or one that is longer than it may be. It may be empty.
    """
    run = yield from read_run(scanner, "<", longest)
    if run is None or len(run.split()) > 1:
        return None, False
    return run.strip(), bool((yield from read_any(scanner, marks)))


def break_header(
    scanner: Scanner, tools: ToolRegistry | None, name: str, problem: str, ends: Sequence[str]
) -> Wait[bool]:
    """Reads a call whose header goes wrong after its name: to the end of its arguments, or to one of these marks.

    It is one if something like a mark comes next, and the tool is known or the header surely is one (no name). False,
    with all of it held, where it is none.
    """
    if (name and not is_known(tools, name)) or (yield from scanner.need(1)) != "<":
        return False
    yield from break_here(scanner, name, problem, ends)
    return True


def break_here(scanner: Scanner, name: str, problem: str, ends: Sequence[str]) -> Wait[None]:
    """Reads the rest of a call that is surely one, and cannot be read: what stands in its strings begins nothing."""
    scanner.begin_call(name)
    problem = scanner.fault(problem)
    yield from pass_broken(scanner, 0, False, ends)
    scanner.break_call(problem)
