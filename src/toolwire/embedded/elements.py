"""Calls whose arguments are elements, nested as the arguments are, with a mark before every tag (`minimax-m3`).

What an element holds is an object or array of elements, or text; the schema says what text is, as everywhere.
"""

from __future__ import annotations

from collections.abc import Callable

from ..tools.registry import ToolRegistry
from .arguments import Shape, shape_of
from .json_calls import is_known
from .json_source import into, json_text, quote
from .literals import UNFINISHED, read_literal
from .marks import give_to
from .names import read_name
from .scanner import SPACE, Scanner, Wait

MARK = "]<]minimax[>["
ITEM = "item"

_SPACE_IN_TAG = 64
_ENDS = ("/invoke", "/tool_call")


class _Fault(Exception):
    """The call cannot run."""


class ElementsCall:
    """A call while it is read."""

    def __init__(self, scanner: Scanner, tools: ToolRegistry | None) -> None:
        self._scanner = scanner
        self._tools = tools
        self._path: list[str] = []
        """The elements that are open."""
        self._has_ended = False
        """Another call begins where an argument was due."""

    def read(self, name: str) -> Wait[None]:
        """Reads all of it, of which the beginning is held."""
        scanner = self._scanner
        scanner.begin_call(name, known=is_known(self._tools, name))
        shape = shape_of(self._tools.get(name) if self._tools is not None else None)
        try:
            if not name:
                raise self._fault("the call names no tool")
            yield from self._read_members(shape, "invoke")
        except _Fault as fault:
            yield from self._break_off(str(fault))
        else:
            scanner.end_call()

    def _read_members(self, shape: Shape, tag: str) -> Wait[None]:
        """Reads the elements of an object, and the tag that closes it, which is held then."""
        scanner = self._scanner
        given: set[str] = set()
        while (key := (yield from self._read_tag(tag))) is not None:
            if key in given:
                raise self._fault(f"{key[:80]!r} is given twice")
            scanner.give_call(f"{', ' if given else '{'}{json_text(key)}: ")
            given.add(key)
            yield from self._read_value(shape.property(key), key)
        scanner.give_call("}" if given else "{}")

    def _read_items(self, shape: Shape, tag: str) -> Wait[None]:
        scanner = self._scanner
        count = 0
        while (name := (yield from self._read_tag(tag))) is not None:
            if name != ITEM:
                raise self._fault(f"there is something other than <{ITEM}> in {tag[:80]!r}")
            scanner.give_call(", " if count else "[")
            yield from self._read_value(shape.item(count), ITEM)
            count += 1
        scanner.give_call("]")

    def _read_tag(self, tag: str) -> Wait[str | None]:
        """Reads the next tag: the name of the element that it begins, None where it closes `tag`."""
        scanner = self._scanner
        scanner.give_call()
        yield from scanner.give_space(scanner.give_run)
        if not (yield from read_mark(scanner)):
            raise self._fault(f"there is something other than elements or </{tag[:80]}>")
        if (yield from scanner.read_literal(f"</{tag}>")):
            return None
        name = ""
        if (yield from scanner.read_literal("<")):
            name = yield from read_name(scanner, ">")
        if not name or name.startswith("/") or begins_another(name):
            fault = self._fault(f"there is something other than elements or </{tag[:80]}>")
            scanner.unread()
            self._has_ended = begins_another(name) and not self._path
            if name in _ENDS or begins_another(name):
                self._path.clear()
            raise fault
        self._path.append(name)
        if len(self._path) > scanner.limits.depth:
            raise self._fault(f"the arguments are nested deeper than {scanner.limits.depth} levels")
        return name

    def _read_value(self, shape: Shape, tag: str) -> Wait[None]:
        """Reads what an element holds, and the tag that closes it, which is held then."""
        scanner = self._scanner
        before = yield from scanner.read_word(SPACE, scanner.limits.held)
        size = scanner.held_length
        inner = ""
        if (yield from read_mark(scanner)) and (yield from scanner.read_literal("<")):
            inner = yield from read_name(scanner, ">")
        is_leaf = not inner or inner.startswith("/") or shape.kinds.isdisjoint(("object", "array"))
        scanner.unread()
        scanner.read_to(scanner.at + size)
        if is_leaf:
            yield from self._read_leaf(shape, tag, before)
        elif is_list(shape, inner):
            yield from self._read_items(shape, tag)
        else:
            yield from self._read_members(shape, tag)
        self._path.pop()

    def _read_leaf(self, shape: Shape, tag: str, before: str) -> Wait[None]:
        """Reads a value that is text, of which `before` is held."""
        scanner = self._scanner
        if shape.takes_any_text:
            scanner.give_call(f'"{quote(before)}')
            yield from self._read_text(tag, quote)
            scanner.give_call('"')
            return
        if (yield from scanner.need(1)) in ("{", "[") and not shape.kinds.isdisjoint(("object", "array")):
            scanner.give_call()
            if not (yield from read_literal(scanner)):
                raise self._fault(f"the value of {tag[:80]!r} is not valid JSON")
            yield from scanner.give_space(scanner.give_run)
            if not (yield from read_mark(scanner)) or not (yield from scanner.read_literal(f"</{tag}>")):
                raise self._fault(f"</{tag[:80]}> is missing after its value")
            return
        collected = [before]

        scanner.give_call()
        yield from self._read_text(tag, into(collected))
        scanner.give_call(shape.json_of("".join(collected)))

    def _read_text(self, tag: str, take: Callable[[str], str]) -> Wait[None]:
        """Gives all that comes before the tag that closes a value, and reads the tag."""
        scanner = self._scanner
        while (yield from give_to(scanner, (MARK,), lambda at: scanner.give_run(at, take))):
            space = yield from read_space_in_tag(scanner)
            if (yield from scanner.read_literal(f"</{tag}>")):
                return
            scanner.give_call(take(f"{MARK}{space}"))
        raise self._fault(f"</{tag[:80]}> is missing after its value")

    def _fault(self, problem: str) -> _Fault:
        scanner = self._scanner
        unfinished = scanner.ended and MARK.startswith(scanner.text[scanner.at :])
        return _Fault(scanner.fault(UNFINISHED if unfinished else problem))

    def _break_off(self, problem: str) -> Wait[None]:
        """Reads the rest of a call that cannot run. What stands in its elements begins nothing, and what begins another
        call has an end of its own: it may stand in an element of which the tag is what is wrong.
        """
        scanner = self._scanner
        tag = self._path[0] if self._path else ""
        begun = 0 if self._has_ended else 1
        while begun:
            scanner.give_call()
            if tag and not (yield from _pass_element(scanner, tag)):
                break
            scanner.give_call()
            if not (yield from give_to(scanner, (MARK,), scanner.give_run)):
                break
            yield from read_space_in_tag(scanner)
            tag = (yield from read_name(scanner, ">")) if (yield from scanner.read_literal("<")) else ""
            if tag in _ENDS:
                begun -= 1
            elif begins_another(tag):
                begun += 1
            if not begun and tag == _ENDS[1]:
                scanner.unread()
            tag = "" if tag.startswith("/") or begins_another(tag) else tag
        scanner.break_call(problem)


def begins_another(tag: str) -> bool:
    """Whether a tag is no element's, but begins a call or a wrapper."""
    return tag == "tool_call" or tag.startswith("invoke ")


def _pass_element(scanner: Scanner, tag: str) -> Wait[bool]:
    """Gives the rest of an element of a broken call; False if it does not end."""
    while (yield from give_to(scanner, (MARK,), scanner.give_run)):
        yield from read_space_in_tag(scanner)
        if (yield from scanner.read_literal(f"</{tag}>")):
            return True
    return False


def read_mark(scanner: Scanner) -> Wait[bool]:
    """Reads the mark that stands before a tag, and space after it."""
    if not (yield from scanner.read_literal(MARK)):
        return False
    yield from read_space_in_tag(scanner)
    return True


def read_space_in_tag(scanner: Scanner) -> Wait[str]:
    """Reads space between a mark and its tag."""
    return (yield from scanner.read_word(SPACE, _SPACE_IN_TAG))


def is_list(shape: Shape, first: str) -> bool:
    """Whether what holds elements, and this one first, is an array."""
    return first == ITEM and "array" in shape.kinds and ITEM not in shape.properties
