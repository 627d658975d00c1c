"""The rest of a call that is broken: where it ends, by brackets and quotes, so that its neighbours can be read.

What stands in quotes begins and ends nothing. That matters more than a neighbour: a text that a model quotes in a call
must never become a call because the one around it is malformed.
"""

from __future__ import annotations

from collections.abc import Sequence

from .marks import at_any
from .scanner import SPACE, Scanner, Wait


def pass_broken(
    scanner: Scanner,
    depth: int,
    in_string: bool,
    ends: Sequence[str],
    *,
    single: bool = False,
    openers: Sequence[str] = (),
    after: Sequence[str] = (),
) -> Wait[None]:
    """Reads the rest of a broken call: to the brace that closes the last of `depth` containers, or to one of `ends`
    outside of quotes, which stays unread. `single` says that a string in single quotes may be open, since something
    other than a comma or a bracket follows what looked like its end.

    What begins another call (`openers`) outside of quotes may be quoted all the same, by a string whose own quote is
    what is wrong: then one of `ends` belongs to it. With `after`, the brace is the call's last only if one of these
    marks follows it, or the end of the answer; and outside of all brackets each of them ends the call.
    """
    quoting = _Quoting("'" if single else '"' if in_string else "")
    marks = (*openers, *ends, *after)
    starts = frozenset(mark[0] for mark in marks)
    begun = 0
    outer = "{" if depth else ""
    while (depth or marks) and (yield from scanner.more()):
        text, at = scanner.text, scanner.at
        length = len(text)
        while at < length:
            mark = text[at]
            if mark in starts and not quoting.holds(mark):
                if at > scanner.at:
                    break
                if (yield from at_any(scanner, openers)):
                    begun += 1
                elif (yield from at_any(scanner, ends)):
                    if not begun:
                        return
                    begun -= 1
                elif not depth and (yield from at_any(scanner, after)):
                    return
                text, at = scanner.text, scanner.at
                length = len(text)
            at += 1
            if quoting.passes(mark) or mark not in "{[]}":
                continue
            if mark in "{[":
                outer = outer if depth else mark
                depth += 1
            elif depth > 1:
                depth -= 1
            elif outer + mark in ("{}", "[]"):
                scanner.give_run(at)
                if not after or (yield from _is_over(scanner, after)):
                    return
                depth, at = 0, scanner.at
                break
        if at > scanner.at:
            scanner.give_run(at)


def _is_over(scanner: Scanner, after: Sequence[str]) -> Wait[bool]:
    """Whether one of these marks is next, or the end of the answer, space aside."""
    yield from scanner.read_space()
    is_over = not (yield from scanner.more()) or (yield from at_any(scanner, after))
    scanner.unread()
    return is_over


class _Quoting:
    """Which characters of a broken call stand in quotes.

    Single quotes count where a value may begin, since a call as Python writes it is broken at the first of them. They
    end where something follows that can stand after a value, so that an apostrophe does not.
    """

    def __init__(self, quote: str) -> None:
        self._quote = quote
        self._escaped = False
        self._may_end = False
        self._last = ","
        """The last character that is no space; what is wrong may be a quote itself."""

    def holds(self, mark: str) -> bool:
        """Whether this character, if it is next, stands in quotes."""
        return self._quote != "" and not (self._may_end and mark in ",:]}")

    def passes(self, mark: str) -> bool:
        """Takes the next character: whether it stands in quotes, or is one."""
        if self._quote:
            if self.holds(mark):
                self._pass_quoted(mark)
                return True
            self._quote = ""
            self._may_end = False
        is_quote = mark == '"' or (mark == "'" and self._last in ",:{[")
        if is_quote:
            self._quote = mark
        if mark not in SPACE:
            self._last = mark
        return is_quote

    def _pass_quoted(self, mark: str) -> None:
        if self._may_end and mark in SPACE:
            return
        self._may_end = False
        if self._escaped:
            self._escaped = False
        elif mark == "\\":
            self._escaped = True
        elif mark == self._quote == '"':
            self._quote, self._last = "", mark
        elif mark == self._quote:
            self._may_end = True
