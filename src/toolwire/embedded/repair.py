"""Repair, where it is asked for: JSON as models get it wrong becomes JSON, and what was mended is told.

Single quotes, words and numbers of Python, trailing commas, raw line ends in strings, escapes that JSON does not have,
and brackets that are missing where a mark of the family shows that the call is over. The end of an answer shows
nothing: what is cut off there stays broken. Valid JSON passes as it stands, and nothing is told of it.
"""

from __future__ import annotations

from collections.abc import Sequence

from .literals import NO_COMMA, NO_RAW, NO_SINGLE, Literal, Next, Saying
from .marks import at_any
from .scanner import Scanner, Wait

__all__ = ["MISSING", "NO_COMMA", "NO_SINGLE", "Repairing", "read_single_quoted"]

MISSING = "a closing bracket was missing"


class Repairing(Literal):
    """One value of the open call, read leniently: `read` gives its JSON, and is False where it cannot be mended.

    `ends` are the marks that may stand after the call.
    """

    def __init__(self, scanner: Scanner, ends: Sequence[str] = ()) -> None:
        super().__init__(scanner)
        self._ends = ends

    def _mend(self, what: str) -> None:
        self._scanner.note_repair(what)

    def _stop(self, state: Next) -> Wait[bool]:
        if state in (Next.VALUE, Next.COLON) or not (yield from at_any(self._scanner, self._ends)):
            return (yield from super()._stop(state))
        if self._comma:
            self._mend(NO_COMMA)
        self._mend(MISSING)
        self._comma = self._comma[1:]
        self._give("".join("]" if closing == ")" else closing for closing in reversed(self._open)))
        self._open.clear()
        return True

    def _raw_in_string(self, raw: frozenset[str]) -> bool:
        self._mend(NO_RAW)
        return True


def read_single_quoted(scanner: Scanner) -> Wait[str | None]:
    """Reads the string in single quotes that is next, and holds it: what it says in JSON, quotes around it.

    None if it does not end, or more is held than may be.
    """
    scanner.read_to(scanner.at + 1)
    said = Saying(is_json=False)
    pieces = ['"']
    while (yield from scanner.more()):
        text, at = scanner.text, scanner.at
        end = min(len(text), at + scanner.limits.held + 1 - scanner.held_length)
        while at < end and text[at] not in "'\\":
            at += 1
        pieces.append(said(scanner.read_to(at)))
        if scanner.over_held():
            return None
        if at == end:
            continue
        if text[at] == "'":
            scanner.read_to(at + 1)
            pieces.append(said.rest())
            return None if said.problem else "".join(pieces) + '"'
        if len((yield from scanner.need(2))) < 2:
            break
        pieces.append(said(scanner.read_to(scanner.at + 2)))
    return None
