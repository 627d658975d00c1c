"""Marks in an answer: whether one is next, reading one, and giving all that comes before one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from .scanner import Scanner, Wait

_SOON = 100
_WORDS = 3


def at_mark(scanner: Scanner, mark: str) -> Wait[bool]:
    """Whether this mark is next, without reading it: said as soon as it is certain."""
    while True:
        come = scanner.text[scanner.at : scanner.at + len(mark)]
        if come == mark:
            return True
        if len(come) == len(mark) or scanner.ended or not mark.startswith(come):
            return False
        yield


def at_any(scanner: Scanner, marks: Iterable[str]) -> Wait[bool]:
    """Whether one of these marks is next, without reading it."""
    for mark in marks:
        if (yield from at_mark(scanner, mark)):
            return True
    return False


def read_any(scanner: Scanner, marks: Sequence[str]) -> Wait[str]:
    """Reads the first of these marks that is here, and says which; empty if none is. None may begin another."""
    for mark in marks:
        if (yield from scanner.read_literal(mark)):
            return mark
    return ""


def read_end(scanner: Scanner, mark: str) -> Wait[None]:
    """Reads the mark after a call, space before it, as markup; where it is not there, the space is text."""
    yield from scanner.read_space()
    if (yield from scanner.read_literal(mark)):
        scanner.give_markup()
    else:
        scanner.give_text()


def comes_soon(scanner: Scanner, size: int, mark: str, before: Sequence[str]) -> Wait[bool]:
    """Whether this mark follows after a name and a few words, and before any of the others.

    So much of what is held stands before the name. The rest of it is read again, and only that much is held then.
    """
    scanner.unread_to(size)
    words, found, _ = (yield from scanner.need(_SOON)).partition(mark)
    begins = words.lstrip(" \"'")[:1].isalnum()
    return bool(found) and begins and len(words.split()) <= _WORDS and not any(other in words for other in before)


def read_line_end(scanner: Scanner) -> Wait[bool]:
    """Reads one line end, if it is next."""
    return (yield from scanner.read_literal("\r\n")) or (yield from scanner.read_literal("\n"))


def give_to(scanner: Scanner, ends: Sequence[str], give: Callable[[int], None], *, trim: bool = False) -> Wait[str]:
    """Gives all that comes before the first of these marks, and reads the mark, which it says; empty if none comes.

    With `trim` one line end before the mark is read with it. No more is kept waiting than may be the beginning of a
    mark. No mark may stand inside another.
    """
    marks = {mark: end for end in ends for mark in _variants(end, trim)}
    starts = "".join(dict.fromkeys(mark[0] for mark in marks))
    while (yield from scanner.more()):
        text, at = scanner.text, scanner.find(starts)
        found, which = len(text), ""
        if at < found:
            for mark in marks:
                place = text.find(mark, at, found + len(mark) - 1 if which else len(text))
                if place >= 0 and (not which or place < found):
                    found, which = place, mark
            if not which:
                found = _may_begin(text, at, marks)
        if found > scanner.at:
            give(found)
            continue
        if which:
            scanner.read_to(found + len(which))
            return marks[which]
        kept = len(text) - found
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
