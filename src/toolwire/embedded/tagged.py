"""Calls whose arguments stand between marks as raw text: what each is by the tool's schema, while it arrives.

A value is everything up to the mark that closes it. Where the schema allows any text it flows as a JSON string; an
array or object flows too, written as JSON or as a Python literal; what is left (numbers, enumerations …) is short and
waits for its end. The rule is that of `toolwire.embedded.arguments`, for every family; only `None`, which the chat
templates of some write for it, is null as well, where null is allowed and that text is not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from ..strict_json import BLANKS
from ..tools.registry import ToolRegistry
from .arguments import Shape, shape_of
from .broken import pass_broken
from .json_calls import is_known
from .json_source import into, json_text, quote
from .literals import UNFINISHED, Literal
from .marks import at_any, give_to, read_line_end
from .scanner import SPACE, Scanner, Wait

Take = Callable[[str], str]
Openings = Mapping[str, Sequence[str]]
"""What begins another argument: a mark, and the ways in which it goes on, of which one must follow. Where line ends are
trimmed, the mark begins with one."""

_NO_OPENINGS: Openings = MappingProxyType({})


class TaggedCall:
    """The call that is open, and what its arguments become: a JSON object, member by member.

        call = TaggedCall(scanner, tools, "<parameter=", "</parameter>")
        call.begin("search")
        problem = call.key("query") or (yield from call.value(("</parameter>",)))
        if problem:
            yield from call.break_off(problem, ("</function>",), openers=("<function=",))
        else:
            call.end()

    `opening` and `closing` are what stands around a value, for finding the end of a call that is broken; `quotes` are
    marks within which a value may hold `closing`, the second with that mark after it.
    """

    def __init__(
        self,
        scanner: Scanner,
        tools: ToolRegistry | None,
        opening: str,
        closing: str,
        quotes: tuple[str, str] | None = None,
    ) -> None:
        self._scanner = scanner
        self._tools = tools
        self._opening = opening
        self._closing = closing
        self._quotes = quotes
        self._given: set[str] = set()
        self._shape: Shape
        self._key = ""
        self._until = ""
        """The mark that ends the value that is open; empty where none is."""
        self._is_whole = False
        """That value was a literal, and all of it was read."""
        self._has_ended = False
        """Another call begins where an argument was due."""
        self.mark = ""
        """The mark that ended the last value."""

    def begin(self, name: str, call_id: str = "") -> None:
        """What is held begins a call of this tool."""
        self._scanner.begin_call(name, call_id, known=is_known(self._tools, name))
        self._shape = shape_of(self._tools.get(name) if self._tools is not None else None)

    @property
    def names_left(self) -> list[str]:
        """The names of the arguments that the tool's schema knows, and that were not given yet."""
        return [name for name in self._shape.properties if name not in self._given]

    def shape(self, key: str) -> Shape:
        """What the schema says about the argument of this name."""
        return self._shape.property(key)

    def key(self, key: str) -> str:
        """What is held names the next argument; what is wrong with that, if anything."""
        self._key = key
        self._until = self._closing
        self._is_whole = False
        if key in self._given:
            return self._scanner.fault(f"{key[:80]!r} is given twice")
        self._scanner.give_call(f"{', ' if self._given else '{'}{json_text(key)}: ")
        self._given.add(key)
        return ""

    def value(
        self,
        ends: Sequence[str],
        *,
        trim: bool = False,
        shape: Shape | None = None,
        openings: Openings = _NO_OPENINGS,
    ) -> Wait[str]:
        """Reads the value of that argument and the mark after it, one of `ends`; what is wrong, if anything.

        `trim` takes one line end off at its beginning and one at its end. The mark is held: `scanner.give_call` or
        what comes next gives it. `mark` says which it was. Another argument that begins, as `openings` tell, is such a
        mark too. The first of `ends` is the one that a broken call's value ends with.
        """
        scanner = self._scanner
        if shape is None:
            shape = self.shape(self._key)
        if shape.takes_any_text:
            return (yield from self.text(ends, trim=trim, openings=openings))
        self._until = ends[0]
        if not shape.kinds.isdisjoint(("object", "array")) and not _may_be_listed(shape):
            yield from scanner.give_space(scanner.give_run)
            if (yield from scanner.need(1)) in ("{", "["):
                return (yield from self.literal(ends, openings=openings))
        collected: list[str] = []
        if not (yield from self._read_to(ends, trim, openings, into(collected))):
            return self.left_open(ends[0])
        scanner.give_call(_short_json(shape, "".join(collected)))
        return ""

    def text(self, ends: Sequence[str], *, trim: bool = False, openings: Openings = _NO_OPENINGS) -> Wait[str]:
        """As `value`, of what is text whatever the schema says."""
        self._until = ends[0]
        self._scanner.give_call('"')
        if not (yield from self._read_to(ends, trim, openings, quote)):
            return self.left_open(ends[0])
        self._scanner.give_call('"')
        return ""

    def literal(self, ends: Sequence[str], *, openings: Openings = _NO_OPENINGS) -> Wait[str]:
        """As `value`, of what is written as JSON, or as a Python literal, whatever the schema says."""
        scanner = self._scanner
        self._until = ends[0]
        literal = Literal(scanner)
        if not (yield from literal.read()):
            problem = self.fault(f"the value of {self._key[:80]!r} is not valid JSON: {literal.problem}")
            yield from pass_broken(scanner, literal.depth, literal.in_string, (ends[0],))
            return problem
        yield from scanner.give_space(scanner.give_run)
        self._is_whole = True
        for end in ends:
            if (yield from scanner.read_literal(end.lstrip())):
                return self._ended(end)
        for opening, rests in openings.items():
            if (yield from scanner.read_literal(opening.lstrip())):
                for rest in rests:
                    if (yield from scanner.read_literal(rest)):
                        return self._ended(opening + rest)
        return self.left_open(ends[0])

    def end(self) -> None:
        """The call has ended with what is held."""
        self._scanner.end_call("}" if self._given else "{}")

    def break_off(
        self, problem: str, ends: Sequence[str], before: Sequence[str] = (), openers: Sequence[str] = ()
    ) -> Wait[None]:
        """Reads the rest of a call that cannot run: to one of `ends`, which belongs to it, or of `before`, which stays
        unread. Neither counts inside a value, so that what stands there begins nothing.

        What begins another call or a wrapper (`openers`) may stand in a value too, of which the own tag is what is
        wrong. So it does not end the call, and the next of `ends` or `before` belongs to it, unless a value ends first.
        """
        scanner = self._scanner
        if self._has_ended:
            scanner.break_call(problem)
            return
        quotes = self._quotes[:1] if self._quotes else ()
        marks = (self._opening, self._closing, *quotes, *openers, *ends, *before)
        over = self._is_whole and (yield from at_any(scanner, marks))
        if self._until and not over and not (yield from self._pass_value(self._until)):
            scanner.break_call(problem)
            return
        begun = 1
        while begun:
            scanner.give_call()
            mark = yield from give_to(scanner, marks, scanner.give_run)
            if mark in openers:
                begun += 1
            elif mark == self._closing:
                begun = 1
            elif mark in (self._opening, *quotes):
                if mark in quotes:
                    scanner.unread()
                begun = begun if (yield from self._pass_value(self._closing)) else 0
            else:
                begun = begun - 1 if mark else 0
        if mark in before:
            scanner.unread()
        scanner.break_call(problem)

    def _pass_value(self, until: str) -> Wait[bool]:
        """Gives the rest of a value, and the mark that ends it; False if that never comes."""
        scanner = self._scanner
        quotes = self._quotes if until == self._closing else None
        mark = yield from give_to(scanner, (until, quotes[0]) if quotes else (until,), scanner.give_run)
        if quotes and mark == quotes[0]:
            mark = yield from give_to(scanner, quotes[1:], scanner.give_run)
        return bool(mark)

    def fault(self, problem: str, *marks: str) -> str:
        """For `break_off`: these words and the place; where the answer ended there, or in one of these marks, that."""
        scanner = self._scanner
        if scanner.ended and any(mark.startswith(scanner.text[scanner.at :]) for mark in ("", *marks)):
            problem = UNFINISHED
        return scanner.fault(problem)

    def no_argument(self, problem: str, marks: Sequence[str], openers: Sequence[str]) -> Wait[str]:
        """For `break_off`: none of these marks comes where an argument or the end of the call is due.

        If one of `openers` does, the call has ended there without its own end.
        """
        self._has_ended = yield from at_any(self._scanner, openers)
        return self.fault(problem, *marks)

    def left_open(self, end: str) -> str:
        """For `break_off`: the last value was not closed with this mark."""
        return self.fault(f"{end} is missing after the value of {self._key[:80]!r}", end)

    def _ended(self, mark: str) -> str:
        self.mark = mark
        self._until = ""
        return ""

    def _read_to(self, ends: Sequence[str], trim: bool, openings: Openings, take: Take) -> Wait[bool]:
        """Gives a value up to one of these marks through `take`, and reads the mark; False if none comes."""
        scanner = self._scanner
        if trim:
            yield from read_line_end(scanner)
            scanner.give_call()
        marks = (*ends, *openings)
        while True:
            mark = yield from give_to(scanner, marks, lambda at: scanner.give_run(at, take), trim=trim)
            for rest in openings.get(mark, ("",)):
                if mark and (yield from scanner.read_literal(rest)):
                    self._ended(mark + rest)
                    return True
            if not mark:
                return False
            scanner.give_call(take(mark))


def _may_be_listed(shape: Shape) -> bool:
    """Whether a text that begins like an array or object, or with space, may be a string that the schema lists."""
    return any(text[:1] in SPACE or text.startswith(("{", "[")) for text in shape.listed_texts)


def _short_json(shape: Shape, text: str) -> str:
    """The JSON of a value that came as a whole."""
    if text.strip(BLANKS) == "None" and "null" in shape.kinds and not shape.allows_string("None"):
        return "null"
    return shape.json_of(text)
