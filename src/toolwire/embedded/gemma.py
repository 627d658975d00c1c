"""The literals of Gemma's newer models: strings between marks of their own, keys without quotes.

    call:search{query:<|"|>a "b"<|"|>,limit:3,options:{deep:true,tags:[<|"|>x<|"|>]}}

Nothing is escaped in a string: it is all that stands between its marks. What has no marks is a number or a word, and
where the schema has no place for such, text. Strings in plain quotes are read as JSON's.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ..strict_json import BLANKS
from ..tools.definition import ToolDefinition
from ..tools.registry import ToolRegistry
from .arguments import Shape, shape_of
from .branches import ALL_KINDS, branches, items_of, kinds_of, listed_values, properties_of, required_of
from .format import CallToWrite
from .json_source import into, json_text
from .literals import UNFINISHED, WORDS, Literal, give_string, number
from .marks import at_mark, comes_soon, give_to, read_end
from .names import Except, read_name
from .prose import Begin
from .scanner import Scanner, Wait
from .tagged import TaggedCall

CALL = "call:"
_QUOTES = tuple(f"{before}{space}{quote}" for before in ":,[{" for space in ("", " ") for quote in "\"'")
"""Plain quotes where a value may begin: elsewhere they are part of a text, or of a mark."""
_KINDS = ("object", "array", "string", "number", "integer", "boolean", "null")
_DEEPEST = 8
"""How far a declaration goes into what refers to itself."""


class Marks(NamedTuple):
    """The marks of one of Gemma's models."""

    opening: str
    closing: str
    quote: str
    is_typed: bool
    """Whether what stands between quotes is always a string; otherwise the schema says what it is."""
    results: str
    """What begins results: the model writes it itself after its calls, and stops there."""


def begins(scanner: Scanner, tools: ToolRegistry | None, marks: Marks) -> dict[str, Begin]:
    """What begins calls between these marks, and what asks for their results."""

    def ask() -> Wait[bool]:
        if scanner.said or not scanner.calls:
            return False
        yield from scanner.read_space()
        if (yield from scanner.need(1)):
            return False
        scanner.give_mark()
        return True

    def begin() -> Wait[bool]:
        yield from scanner.read_space()
        scanner.set_lead()
        if not (yield from scanner.read_literal(CALL)):
            return False
        size = scanner.held_length
        name = (yield from read_name(scanner, "{")).strip(BLANKS)
        call = TaggedCall(scanner, tools, marks.quote, marks.quote)
        if name:
            call.begin(name)
            scanner.give_call("{")
            arguments = _Object(scanner, call, marks)
            problem = yield from arguments.read(shape_of(tools.get(name) if tools else None))
            has_ended = arguments.has_ended
        elif (yield from comes_soon(scanner, size, marks.quote, (marks.opening, marks.closing))):
            call.begin("")
            problem, has_ended = "there is no { after the name", False
        else:
            return False
        if problem:
            if scanner.ended and scanner.at >= len(scanner.text):
                problem = UNFINISHED
            problem = scanner.fault(problem)
            if not has_ended:
                yield from _pass_broken(scanner, marks)
            scanner.break_call(problem)
            return True
        scanner.end_call()
        yield from read_end(scanner, marks.closing)
        return True

    return {marks.opening: begin, marks.results: ask}


def _pass_broken(scanner: Scanner, marks: Marks) -> Wait[None]:
    """Reads the rest of a call that cannot run, to its closing mark. Nothing in quotes of any kind ends it, and another
    opening mark has a closing one of its own: it may stand in a string whose own quotes are what is wrong.
    """
    begun = 1
    while begun:
        scanner.give_call()
        mark = yield from give_to(scanner, (marks.opening, marks.closing, marks.quote, *_QUOTES), scanner.give_run)
        if mark in _QUOTES:
            begun = begun if (yield from give_string(scanner, mark[-1])) else 0
        elif mark == marks.quote:
            begun = begun if (yield from give_to(scanner, (marks.quote,), scanner.give_run)) else 0
        elif mark == marks.opening:
            begun += 1
        else:
            begun = begun - 1 if mark else 0


class _Object:
    """The arguments of the open call, after their brace."""

    def __init__(self, scanner: Scanner, call: TaggedCall, marks: Marks) -> None:
        self._scanner = scanner
        self._call = call
        self._marks = marks
        self._open: list[tuple[Shape, str]] = []
        """The objects and lists that are open, and what closes each."""
        self._values: list[int] = []
        """How many values each of them has."""
        self.has_ended = False
        """Another call begins after a value: what closes this one is missing."""

    def read(self, shape: Shape) -> Wait[str]:
        """Reads to the brace that closes them; what is wrong, if anything."""
        scanner = self._scanner
        self._push(shape, "}")
        while self._open:
            yield from scanner.give_space(scanner.give_run)
            outer, closing = self._open[-1]
            if (yield from scanner.read_literal(closing)):
                self._open.pop()
                self._values.pop()
                scanner.give_call(closing)
                continue
            if self._values[-1]:
                if not (yield from scanner.read_literal(",")):
                    self.has_ended = yield from at_mark(scanner, self._marks.opening)
                    return f"a comma or {closing} is missing"
                scanner.give_call()
                yield from scanner.give_space(scanner.give_run)
            comma = ", " if self._values[-1] else ""
            if closing == "]":
                scanner.give_call(comma)
                inner = outer.item(self._values[-1])
            else:
                key = yield from self._key()
                if key is None:
                    return "a key is missing"
                scanner.give_call(f"{comma}{json_text(key)}: ")
                inner = outer.property(key)
            self._values[-1] += 1
            problem = yield from self._value(inner)
            if problem:
                return problem
        return ""

    def _push(self, shape: Shape, closing: str) -> None:
        self._open.append((shape, closing))
        self._values.append(0)

    def _key(self) -> Wait[str | None]:
        """Reads a key and the colon after it; None if there is none."""
        scanner = self._scanner
        if (yield from scanner.read_literal(self._marks.quote)):
            pieces: list[str] = []
            if not (yield from give_to(scanner, (self._marks.quote,), lambda at: scanner.give_run(at, into(pieces)))):
                return None
        else:
            longest = 16 * scanner.limits.name
            word = (yield from scanner.read_word(_BARE_KEY, longest + 1)).strip(BLANKS)
            if not word or len(word) > longest:
                return None
            pieces = [word]
        yield from scanner.give_space(scanner.give_run)
        return "".join(pieces) if (yield from scanner.read_literal(":")) else None

    def _value(self, shape: Shape) -> Wait[str]:
        scanner, marks = self._scanner, self._marks
        yield from scanner.give_space(scanner.give_run)
        come = yield from scanner.need(1)
        if come in ("{", "["):
            if len(self._open) >= scanner.limits.depth:
                return f"the arguments are nested deeper than {scanner.limits.depth} levels"
            scanner.read_to(scanner.at + 1)
            scanner.give_call(come)
            self._push(shape, "}" if come == "{" else "]")
            return ""
        if come in ('"', "'"):
            literal = Literal(scanner)
            return "" if (yield from literal.read()) else literal.problem
        if (yield from scanner.read_literal(marks.quote)):
            if marks.is_typed:
                return (yield from self._call.text((marks.quote,)))
            return (yield from self._call.value((marks.quote,), shape=shape))
        return (yield from self._bare(shape))

    def _bare(self, shape: Shape) -> Wait[str]:
        """Reads a value without marks: a number or a word where there is a place for one, otherwise text."""
        longest = 16 * self._scanner.limits.name
        word = (yield from self._scanner.read_word(_BARE, longest + 1)).strip(BLANKS)
        if not word or len(word) > longest:
            return "a value is missing"
        json = WORDS.get(word) or (word if number(word) == word else "")
        self._scanner.give_call(json if json and _allows(shape, json) else shape.json_of(word))
        return ""


_BARE = Except(",{}[]<>\"'\r\n")
_BARE_KEY = Except(",:{}[]<>\"'\r\n")


def _allows(shape: Shape, json: str) -> bool:
    if json in ("true", "false"):
        return "boolean" in shape.kinds
    return "null" in shape.kinds if json == "null" else not shape.kinds.isdisjoint(("number", "integer"))


# Writing


def write_value(value: Any, quote: str) -> str:
    """A value as a literal, members in the order of their names, as the models' chat templates have them.

    A string that holds the mark which would end it is written as JSON.
    """
    if isinstance(value, str):
        return json_text(value).replace("<", "\\u003c") if quote in value else f"{quote}{value}{quote}"
    if isinstance(value, list):
        return f"[{','.join(write_value(item, quote) for item in value)}]"
    if isinstance(value, dict):
        members = sorted(value.items(), key=lambda member: member[0].lower())
        return f"{{{','.join(f'{_key(key, quote)}:{write_value(item, quote)}' for key, item in members)}}}"
    return json_text(value)


def _key(key: str, quote: str) -> str:
    bare = key and key == key.strip(BLANKS) and all(letter in _BARE_KEY for letter in key)
    return key if bare else write_value(key, quote)


def write_call(call: CallToWrite, marks: Marks) -> str:
    """One call."""
    return f"{marks.opening}{CALL}{call.name}{write_value(call.arguments, marks.quote)}{marks.closing}"


def declaration(tool: ToolDefinition, quote: str) -> str:
    """A tool as the models' chat templates declare it."""
    schema = tool.parameters
    parts = _members(schema, schema, quote, _DEEPEST)
    about = f"description:{write_value(tool.description, quote)}"
    return f"declaration:{tool.name}{{{about},parameters:{{{','.join([*parts, f'type:{quote}OBJECT{quote}'])}}}}}"


def _members(flat: dict[str, Any], root: dict[str, Any], quote: str, depth: int) -> list[str]:
    parts: list[str] = []
    named = sorted(properties_of(flat).items(), key=lambda item: item[0].lower())
    if named and depth:
        told = ",".join(f"{_key(key, quote)}:{{{_property(schema, root, quote, depth - 1)}}}" for key, schema in named)
        parts.append(f"properties:{{{told}}}")
    if required_of(flat):
        parts.append(f"required:{write_value(required_of(flat), quote)}")
    return parts


def _property(schema: Any, root: dict[str, Any], quote: str, depth: int) -> str:
    """What is told of one argument: its description, what may be in it, its type. Of a union, what it first allows."""
    flats = [flat for flat in branches(schema, root)[0] if flat.get("type") != "null"]
    flat = flats[0] if flats else {}
    kinds = kinds_of(flat)
    parts: list[str] = []
    description = schema.get("description") if isinstance(schema, dict) else None
    if isinstance(description, str):
        parts.append(f"description:{write_value(description, quote)}")
    if kinds != ALL_KINDS and "null" in Shape(schema, root).kinds:
        parts.append("nullable:true")
    values = listed_values(flat)
    if values:
        parts.append(f"enum:{write_value(values, quote)}")
    parts += _members(flat, root, quote, depth)
    if "items" in flat and depth:
        parts.append(f"items:{{{_property(items_of(flat)[1], root, quote, depth - 1)}}}")
    kind = next((kind for kind in _KINDS if kind in kinds), "")
    if kind and kinds != ALL_KINDS:
        parts.append(f"type:{write_value(kind.upper(), quote)}")
    return ",".join(parts)
