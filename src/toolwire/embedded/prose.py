"""What stands between calls, read to the end of an answer: text, code fences around calls, reasoning.

Two loops. `prose` is for the syntaxes that Toolwire teaches: calls begin at certain characters, and one that alone
fills a code fence takes the fence with it. `marked` is for the syntaxes that models were trained on: calls begin with a
mark that is written out, and reasoning stands between marks of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import NamedTuple

from .scanner import SLICE, PieceKind, Scanner, Wait

Begin = Callable[[], Wait[bool]]
"""Reads on from where a call may begin. True when what was read was given, calls or text, and nothing is held; False,
with all of it held, when this is no call."""

FENCE = "```"

_FENCE_WORD = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-+.")
_FENCE_WORD_LENGTH = 20


class Thinking(NamedTuple):
    """How a family of models marks its reasoning.

    Reasoning is opened at the beginning of an answer, or directly after a call or other reasoning, space aside: what
    looks like a mark in the middle of a text is text. The first closing mark counts as one even where nothing was
    opened, since the prompt may have done so, unless a call came before it.
    """

    marks: tuple[tuple[str, str], ...] = (("<think>", "</think>"),)
    """Pairs: what opens it, what closes it."""
    ended_by_calls: bool = True
    """Whether a call in reasoning that is still open ends it; otherwise it is part of the reasoning, and no call."""


THINK = Thinking()


def opens_reasoning(thinking: Thinking | None, prompt: str) -> bool:
    """Whether an answer to this prompt begins within reasoning: the prompt ends with an opening mark, space aside."""
    return thinking is not None and prompt.rstrip().endswith(tuple(mark for mark, _ in thinking.marks))


def prose(
    scanner: Scanner, starts: str, begin: Begin, may_begin: Callable[[str, int], bool] | None = None
) -> Wait[None]:
    """Reads an answer to its end: text, and what `begin` finds where one of the characters `starts` is next.

    Where `begin` says False the first character is text and reading goes on after it. Calls that alone fill a code
    fence, or begin one, take the fence with them as markup.

    `may_begin`, if given, has a quick look at a text and a place in it: False when what is there can be none, however
    the text goes on. Where it says so `begin` is not asked. That only saves time.
    """
    stops = starts + "`"
    scanner.plain = PieceKind.TEXT

    def may_be(text: str, at: int) -> bool:
        if text[at] == "`":
            come = text[at : at + 4]
            return come != "````" and (len(come) < 3 or come.startswith(FENCE))
        return may_begin is None or may_begin(text, at)

    while (yield from _find(scanner, stops, may_be)):
        fenced = scanner.text[scanner.at] == "`"
        if fenced:
            if not (yield from _read_fence(scanner, starts)):
                scanner.retract()
                continue
            scanner.set_lead()
        calls = scanner.calls
        if not (yield from begin()):
            scanner.retract()
        elif fenced and scanner.calls > calls:
            yield from _read_fenced(scanner, starts, begin)


def marked(scanner: Scanner, openers: Mapping[str, Begin], thinking: Thinking | None = None) -> Wait[None]:
    """Reads an answer to its end: text, reasoning, and what stands after one of these marks.

    Each mark leads to what reads on after it, with the mark held. Where one mark begins another the longer must come
    first. Where no opener takes what is there, its first character is text (or reasoning) and reading goes on after it.
    """
    closes = {} if thinking is None else dict(thinking.marks)
    closings = tuple(dict.fromkeys(closes.values()))
    # Where the prompt opened reasoning, with which mark is not known: each of the closing marks may end it.
    closing = closings if scanner.plain is PieceKind.REASONING else ()
    seen = bool(closing)
    if not closing:
        scanner.plain = PieceKind.TEXT
    in_reasoning = tuple(openers) if thinking is not None and thinking.ended_by_calls else ()
    everywhere = (*openers, *closes, *closings)
    while True:
        mark = yield from pass_to_mark(scanner, (*closing, *in_reasoning) if closing else everywhere)
        if not mark:
            return
        if mark in openers:
            calls = scanner.calls
            if not (yield from openers[mark]()):
                scanner.retract()
            elif closing and scanner.calls > calls:
                closing, scanner.plain = (), PieceKind.TEXT
        elif mark in closes and not scanner.said:
            closing, scanner.plain, seen = (closes[mark],), PieceKind.REASONING, True
            scanner.give_mark()
        elif mark in closing or not (closing or mark in closes or seen or scanner.calls):
            closing, scanner.plain, scanner.said, seen = (), PieceKind.TEXT, False, True
            scanner.give_mark()
        else:
            seen = seen or mark in closes
            scanner.retract()


def pass_to_mark(scanner: Scanner, marks: tuple[str, ...]) -> Wait[str]:
    """Passes text by up to the first of these marks, and reads that, which it says; empty at the end of the answer."""
    looked_for = _marks(marks)
    while (yield from _find(scanner, looked_for.starts, looked_for.may_be)):
        mark = yield from looked_for.read(scanner)
        if mark:
            return mark
        scanner.pass_to(scanner.at + 1)
    return ""


class _Marks:
    """Marks that are looked for together."""

    def __init__(self, marks: tuple[str, ...]) -> None:
        self._marks = marks
        self._longest = max(map(len, self._marks), default=0)
        self._beginnings = frozenset(mark[:size] for mark in self._marks for size in range(1, len(mark)))
        self.starts = "".join(dict.fromkeys(mark[0] for mark in self._marks))

    def may_be(self, text: str, at: int) -> bool:
        """Whether one of them may be here, as far as the text goes."""
        return text.startswith(self._marks, at) or text[at : at + self._longest] in self._beginnings

    def read(self, scanner: Scanner) -> Wait[str]:
        """Reads the first of them that is here; empty if none is."""
        while (come := scanner.text[scanner.at : scanner.at + self._longest]) in self._beginnings and not scanner.ended:
            yield
        if come.startswith(self._marks):
            for mark in self._marks:
                if come.startswith(mark):
                    scanner.read_to(scanner.at + len(mark))
                    return mark
        return ""


@lru_cache(maxsize=256)
def _marks(marks: tuple[str, ...]) -> _Marks:
    """Made once for a family, and not for each of its answers."""
    return _Marks(marks)


def _find(scanner: Scanner, stops: str, may_be: Callable[[str, int], bool]) -> Wait[bool]:
    """Passes text by up to a place where one of the characters `stops` is next and `may_be` does not show that it is
    nothing; False at the end of the answer.
    """
    while True:
        if scanner.at >= len(scanner.text):
            scanner.stops = stops
            if not (yield from scanner.more()):
                return False
            scanner.stops = ""
        found = _find_start(scanner, stops, may_be)
        if found == scanner.at:
            return True
        scanner.pass_to(found)


def _find_start(scanner: Scanner, stops: str, may_be: Callable[[str, int], bool]) -> int:
    """Where in `text` such a place is; one before it if it is far."""
    text, at = scanner.text, scanner.at
    length = len(text)
    while at < length:
        # A character that is nowhere must not be looked for to the end at each place where another is.
        far = end = min(length, at + SLICE)
        for stop in stops:
            found = text.find(stop, at, end)
            if found >= 0:
                end = found
        if end == far or may_be(text, end):
            return end
        at = end + 1
    return length


def _read_fence(scanner: Scanner, starts: str) -> Wait[bool]:
    """Reads a line that opens a code fence and the space after it, if one of `starts` comes then."""
    if not (yield from scanner.read_literal(FENCE)):
        return False
    yield from scanner.read_word(_FENCE_WORD, _FENCE_WORD_LENGTH)
    yield from scanner.read_space()
    come = yield from scanner.need(1)
    return come != "" and come in starts


def _read_fenced(scanner: Scanner, starts: str, begin: Begin) -> Wait[None]:
    """After a call that begins a code fence: the calls that follow it directly, and the end of the fence."""
    while True:
        yield from scanner.read_space()
        if (yield from scanner.read_literal(FENCE)):
            scanner.give_markup()
            return
        come = yield from scanner.need(1)
        if come == "" or come not in starts:
            scanner.give_text()
            return
        scanner.set_lead()
        calls = scanner.calls
        if not (yield from begin()):
            scanner.retract()
            return
        if scanner.calls == calls:
            return
