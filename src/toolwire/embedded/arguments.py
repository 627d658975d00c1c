"""From text to typed values: the one rule for every format in which arguments are written as text.

A value becomes what the tool's schema allows, never what it looks like:

1. Where the schema allows a string, the text is that string, every character of it: `00501`, `true` and `null` too. (An
   enumeration allows the strings that it lists, and with space around it the text is still one of them.)
2. Otherwise, without the space around it, `null`, `true` and `false` (also `True` and `TRUE`), a number as JSON writes
   numbers, or a JSON object or array becomes that, if the schema allows its type. Numbers stay as they are written.
3. No text at all is an empty array or object, if the schema allows exactly one of the two to be empty.
4. Whatever is left stays a string, which the schema then refuses in words that the model can act on.

References (`$ref` within the schema), `anyOf`, `oneOf`, `allOf`, lists of types, enumerations and constants are seen
through; what a schema does not say is allowed.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..json_reader import JsonReader
from ..strict_json import BLANKS, NotStrict, parse
from ..tools.definition import ToolDefinition
from .branches import (
    ALL_KINDS,
    any_of,
    branches,
    items_of,
    kinds_of,
    listed_values,
    other_properties,
    properties_of,
    required_of,
)
from .json_source import json_text

_NUMBERS = frozenset(("number", "integer"))
_DIGITS = frozenset("-0123456789")
_WORDS = {
    written: kind
    for word, kind in (("true", "boolean"), ("false", "boolean"), ("null", "null"))
    for written in (word, word.capitalize(), word.upper())
}


class Shape:
    """What a schema says about one value: which kinds it may have, and the shapes of what is in it."""

    __slots__ = ("_flats", "_inner", "_root", "kinds")

    def __init__(self, schema: Any, root: dict[str, Any]) -> None:
        self._root = root
        self._flats, whole = branches(schema, root)
        self._inner: dict[str | int, Shape] = {}
        self.kinds: frozenset[str] = frozenset().union(*map(kinds_of, self._flats)) if whole else ALL_KINDS
        """The JSON types that the schema allows; `number` includes `integer`."""

    @property
    def properties(self) -> list[str]:
        """The names that the schema gives to what an object holds, in its order."""
        return list(dict.fromkeys(name for flat in self._flats for name in properties_of(flat)))

    @property
    def takes_any_text(self) -> bool:
        """Whether every text is a string here, so that it can be passed on while it arrives."""
        return any("string" in kinds_of(flat) and listed_values(flat) is None for flat in self._flats)

    @property
    def listed_texts(self) -> list[str]:
        """The strings that enumerations and constants allow."""
        return [value for flat in self._flats for value in listed_values(flat) or () if isinstance(value, str)]

    def property(self, name: str) -> Shape:
        """The shape of what an object holds under this name."""
        # Names that the schema does not know share an entry: a model can make up as many as it likes.
        known = any(name in properties_of(flat) for flat in self._flats)
        found: list[Any] = []
        for flat in self._flats:
            if "object" in kinds_of(flat):
                named = properties_of(flat)
                found += [named[name]] if name in named else other_properties(flat)
        return self._shape(name if known else -1, found)

    def item(self, index: int) -> Shape:
        """The shape of this item of an array."""
        found: list[Any] = []
        longest = 0
        for flat in self._flats:
            if "array" in kinds_of(flat):
                first, rest = items_of(flat)
                longest = max(longest, len(first))
                found.append(first[index] if index < len(first) else rest)
        return self._shape(min(index, longest), found)

    def _shape(self, key: str | int, schemas: Iterable[Any]) -> Shape:
        """The shape of what fits one of these; of anything, if there is no place for a value."""
        shape = self._inner.get(key)
        if shape is None:
            found = [schema for schema in schemas if schema is not False]
            shape = Shape(any_of(found), self._root)
            self._inner[key] = shape
        return shape

    def allows_string(self, text: str) -> bool:
        """Whether the schema allows this text as a string, as far as types and enumerations go."""
        for flat in self._flats:
            if "string" in kinds_of(flat):
                values = listed_values(flat)
                if values is None or text in values:
                    return True
        return False

    def json_of(self, text: str) -> str:
        """The JSON of the value that this text is, by the rule above."""
        for string in (text, bare := text.strip(BLANKS)):
            if self.allows_string(string):
                return json_text(string)
        kind = _kind_of(bare)
        if kind in self.kinds or (kind in _NUMBERS and self.kinds & _NUMBERS):
            return bare.lower() if bare in _WORDS else bare
        empties = () if bare else self._empties()
        return empties[0] if len(empties) == 1 else json_text(text)

    def _empties(self) -> tuple[str, ...]:
        """An empty array and an empty object, as far as the schema allows them."""
        found: set[str] = set()
        for flat in self._flats or ({},):
            kinds, values = kinds_of(flat), listed_values(flat)
            if "array" in kinds and not flat.get("minItems") and (values is None or [] in values):
                found.add("[]")
            if "object" in kinds and not required_of(flat) and (values is None or {} in values):
                found.add("{}")
        return tuple(found)


def shape_of(tool: ToolDefinition | None) -> Shape:
    """The shape of a tool's arguments; of anything, where the tool is not known."""
    return ANYTHING if tool is None else Shape(tool.parameters, tool.parameters)


def _kind_of(bare: str) -> str:
    """The kind of the JSON value other than a string that this text is; empty if it is none."""
    first = bare[:1]
    if first in ("{", "["):
        try:
            parse(bare)
        except NotStrict:
            return ""
        return "object" if first == "{" else "array"
    if first in _DIGITS:
        reader = JsonReader(fields=False)
        # The space shows where the number ends; there must be nothing else.
        if reader.skip(bare + " ", 0) == len(bare) and reader.complete:
            return "number" if any(mark in bare for mark in ".eE") else "integer"
    return _WORDS.get(bare, "")


ANYTHING = Shape(True, {})
"""What allows everything."""
