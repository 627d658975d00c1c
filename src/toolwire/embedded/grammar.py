"""Grammars for servers that hold a model to one (llama.cpp's GBNF): what is written can then be read.

A format builds its own from the rules here: exact text, JSON that fits a schema, any text up to a mark.

    grammar = Grammar()
    arguments = grammar.json(tool.parameters, tool.parameters)
    grammar.text(grammar.literal("<call>") + f" {arguments} " + grammar.literal("</call>"))

What a grammar cannot say is left open and checked later, as for any call: patterns, bounds of numbers, items or free
names that must differ. It is narrower than the schema where that helps a small model: the members of an object come in
the schema's order, and there are no others unless the schema says what they hold.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from ..errors import ConfigError
from ..limits import DEFAULT_LIMITS
from .branches import (
    Flat,
    any_of,
    branches,
    free_properties,
    items_of,
    kind_of,
    kinds_of,
    listed_values,
    properties_of,
    required_of,
)
from .json_source import json_text

MAX_RULES = 10_000
MAX_LENGTH = 1_000_000
"""Characters of a grammar. Those of a hundred tools have some 50,000."""
_REPEAT = 1_000
"""Repetitions that are counted out: llama.cpp takes 2,000."""

_NAME = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-")
_NAME_LENGTH = 40
_ESCAPED = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_IN_CLASS = {"\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t", "]": "\\]", "[": "\\[", "^": "\\x5E", "-": "\\x2D"}

_SPACE = '| " " | "\\n" " "{0,60}'
_CHARACTER = '[^"\\\\\\x7F\\x00-\\x1F] | "\\\\" (["\\\\bfnrt] | "u" unit)'
_UNIT = (
    "[0-9a-cefA-CEF] [0-9a-fA-F]{3} | [dD] [0-7] [0-9a-fA-F]{2}"
    ' | [dD] [89abAB] [0-9a-fA-F]{2} "\\\\u" [dD] [c-fC-F] [0-9a-fA-F]{2}'
)
"""What follows `\\u`: a character, or both halves of a surrogate pair."""
_INTEGER = '"-"? ("0" | [1-9] [0-9]{0,19})'
_FRACTION = '("." [0-9]{1,20})? ([eE] [-+]? [0-9]{1,2})?'


class Grammar:
    """The rules of one grammar. The same calls in the same order give the same text."""

    def __init__(self) -> None:
        self._rules: dict[str, str] = {"root": ""}
        self._by_body: dict[str, str] = {}
        self._by_schema: dict[str, str] = {}
        self._by_mark: dict[tuple[str, ...], str] = {}
        self._numbered: dict[str, int] = {}
        self._roots: list[dict[str, Any]] = []
        self._any = ""
        self._length = 0

    def text(self, root: str) -> str:
        """The whole grammar, of what `root` (a rule's name or an expression) describes."""
        self._rules["root"] = root
        return "".join(f"{name} ::= {body}\n" for name, body in self._rules.items())

    def rule(self, hint: str, body: str) -> str:
        """The name of a rule for this expression: one that there is already, or a new one named after `hint`."""
        if body not in self._by_body:
            name = self._new(hint)
            self._set(name, body)
            self._by_body[body] = name
        return self._by_body[body]

    def _new(self, hint: str) -> str:
        base = "".join(char if char in _NAME else "-" for char in hint[:_NAME_LENGTH]) or "rule"
        name, number = base, self._numbered.get(base, 1)
        while name in self._rules:
            number += 1
            name = f"{base}-{number}"
        self._numbered[base] = number
        if len(self._rules) >= MAX_RULES:
            raise _too_large("rules", MAX_RULES)
        self._rules[name] = ""
        return name

    def _set(self, name: str, body: str) -> None:
        self._rules[name] = body
        self._length += len(name) + len(body)
        if self._length > MAX_LENGTH:
            raise _too_large("characters", MAX_LENGTH)

    @staticmethod
    def literal(text: str) -> str:
        """Exactly this text."""
        return '"' + "".join(_ESCAPED.get(char) or _printable(char) for char in text) + '"'

    # Text up to a mark.

    def until(self, stop: str, without: Sequence[str] = ()) -> str:
        """The name of a rule for any text up to the first `stop`, and that itself; none of `without` is before it."""
        marks = (stop, *without)
        if marks in self._by_mark:
            return self._by_mark[marks]
        states = list(dict.fromkeys(mark[:length] for mark in marks for length in range(len(mark))))
        known = set(states)
        letters = sorted(set("".join(marks)))
        names = {state: self._new("until") for state in states}
        self._by_mark[marks] = names[""]
        for state in states:
            ways: dict[str, list[str]] = {}
            for letter in letters:
                read = state + letter
                if read.endswith(stop):
                    ways.setdefault("", []).append(letter)
                elif not any(read.endswith(mark) for mark in without):
                    longest = next(read[at:] for at in range(len(read) + 1) if read[at:] in known)
                    ways.setdefault(names[longest], []).append(letter)
            parts = [f"[{''.join(map(_in_class, found))}] {name}".rstrip() for name, found in ways.items()]
            parts.append(f"[^{''.join(map(_in_class, letters))}] {names['']}")
            self._set(names[state], " | ".join(parts))
        return names[""]

    # JSON.

    def json(self, schema: Any, root: dict[str, Any], hint: str = "value") -> str:
        """The name of a rule for JSON that fits a schema; `root` is the schema that references are within."""
        if not any(root is known for known in self._roots):
            self._roots.append(root)
        return self._json(schema, root, hint, 0)

    def _json(self, schema: Any, root: dict[str, Any], hint: str, depth: int) -> str:
        number = next(index for index, known in enumerate(self._roots) if known is root)
        key = f"{number}:{json.dumps(schema)}"
        if key in self._by_schema:
            return self._by_schema[key]
        flats, whole = branches(schema, root)
        if not whole or depth > DEFAULT_LIMITS.depth:
            return self._anything()
        if all(map(_is_plain, flats)):
            # Nothing in it can lead back here, so that equal ones can share a rule.
            bodies = [body for flat in flats for body in self._ways(flat, root, hint, depth)]
            self._by_schema[key] = name = self._either(hint, bodies)
            return name
        self._by_schema[key] = name = self._new(hint)
        bodies = [body for flat in flats for body in self._ways(flat, root, hint, depth)]
        self._set(name, " | ".join(dict.fromkeys(bodies)))
        return name

    def _either(self, hint: str, bodies: list[str]) -> str:
        bodies = list(dict.fromkeys(bodies))
        if len(bodies) == 1 and bodies[0] in self._rules:
            return bodies[0]
        return self.rule(hint, " | ".join(bodies)) if bodies else self._anything()

    def _ways(self, flat: Flat, root: dict[str, Any], hint: str, depth: int) -> list[str]:
        kinds = kinds_of(flat)
        values = listed_values(flat)
        if values is not None:
            fitting = [value for value in values if kind_of(value) in kinds]
            return [self.literal(json_text(value)) for value in fitting]
        if not flat:
            return [self._anything()]
        ways: list[str] = []
        if "object" in kinds:
            ways.append(self._object(flat, root, hint, depth))
        if "array" in kinds:
            ways.append(self._array(flat, root, hint, depth))
        if "string" in kinds:
            ways.append(self._string(flat))
        if "number" in kinds:
            ways.append(self.rule("number", f"{_unsigned(flat)} {_FRACTION}"))
        elif "integer" in kinds:
            ways.append(self.rule("integer", _unsigned(flat)))
        if "boolean" in kinds:
            ways.append(self.rule("boolean", '"true" | "false"'))
        if "null" in kinds:
            ways.append(self.literal("null"))
        return ways

    def _space(self) -> str:
        return self.rule("space", _SPACE)

    def _string(self, flat: Flat) -> str:
        unit = self.rule("unicode", _UNIT)
        character = self.rule("character", _CHARACTER.replace("unit", unit))
        least, most = _bounds(flat, "minLength", "maxLength")
        return self.rule("string", f'"\\"" {character}{_times(least, most)} "\\""')

    def _anything(self) -> str:
        if not self._any:
            self._any = name = self._new("anything")
            space, string = self._space(), self._string({})
            number = self.rule("number", f"{_INTEGER} {_FRACTION}")
            pair = self.rule("anything-pair", f'{string} ":" {space} {name}')
            self._set(
                name,
                f'{string} | {number} | "true" | "false" | "null"'
                f' | "{{" {space} ({pair} ("," {space} {pair})* {space})? "}}"'
                f' | "[" {space} ({name} ("," {space} {name})* {space})? "]"',
            )
        return self._any

    def _array(self, flat: Flat, root: dict[str, Any], hint: str, depth: int) -> str:
        space = self._space()
        first, rest = items_of(flat)
        least, most = _bounds(flat, "minItems", "maxItems")
        ahead = [self._json(schema, root, f"{hint}-{index}", depth + 1) for index, schema in enumerate(first)]
        item = "" if rest is False else self._json(rest, root, f"{hint}-item", depth + 1)
        comma = f'"," {space}'
        # From the last place to the first: what may follow there.
        count = len(ahead)
        tail = ""
        if item and (most is None or most > count):
            fewest = max(least - count, 0)
            farthest = None if most is None else most - count
            if count == 0:
                inner = (
                    f"{item} ({comma} {item}){_times(max(fewest - 1, 0), None if farthest is None else farthest - 1)}"
                )
                return f'"[" {space} {_optional(f"{inner} {space}", fewest == 0)} "]"'
            tail = f"({comma} {item}){_times(fewest, farthest)}"
        for index in range(min(count, count if most is None else most) - 1, -1, -1):
            lead = f"{comma} " if index else ""
            tail = _optional(f"{lead}{ahead[index]} {tail}".rstrip(), index >= least)
        return f'"[" {space} {tail} {space} "]"'

    def _object(self, flat: Flat, root: dict[str, Any], hint: str, depth: int) -> str:
        space = self._space()
        properties = properties_of(flat)
        required = required_of(flat)
        others = free_properties(flat)
        members: list[tuple[str, bool]] = []
        for name in dict.fromkeys((*properties, *required)):
            schema = properties.get(name, others[0] if others else True)
            if schema is False:
                continue
            value = self._json(schema, root, name, depth + 1)
            pair = self.rule(f"{name}-pair", f"{self.literal(json_text(name) + ':')} {space} {value}")
            members.append((pair, name in required))
        comma = f'"," {space}'
        # From the last member to the first: what may follow the members so far, and what there may be without any.
        after = ""
        alone = [""]
        if others:
            value = self._json(any_of(others), root, f"{hint}-other", depth + 1)
            pair = self.rule(f"{hint}-other-pair", f'{self._string({})} ":" {space} {value}')
            after = f"({comma} {pair})*"
            alone = [f"{pair} {after} {space}", ""]
        for pair, needed in reversed(members):
            alone = [f"{pair} {after} {space}".replace("  ", " "), *([] if needed else alone)]
            step = f"{comma} {pair}" if needed else f"({comma} {pair})?"
            after = f"{step} {after}".rstrip()
            if len(alone) > 1 and after:
                after = self.rule(f"{hint}-rest", after)
        inner = " | ".join(alone)
        return f'"{{" {space} ({inner}) "}}"' if inner else f'"{{" {space} "}}"'


def _is_plain(flat: Flat) -> bool:
    """Whether nothing is in it but what stands here: no members, no items."""
    return not kinds_of(flat) & {"object", "array"} or listed_values(flat) is not None or not flat


def _bounds(flat: Flat, least: str, most: str) -> tuple[int, int | None]:
    low, high = flat.get(least), flat.get(most)
    fewest = low if isinstance(low, int) and 0 < low <= _REPEAT else 0
    return fewest, high if isinstance(high, int) and fewest <= high <= _REPEAT else None


def _times(least: int, most: int | None) -> str:
    if most is None:
        return "*" if least == 0 else f"{{{least},}}"
    return f"{{{least},{most}}}"


def _optional(expression: str, optional: bool) -> str:
    return f"({expression})?" if optional else expression


def _unsigned(flat: Flat) -> str:
    least = flat.get("minimum", flat.get("exclusiveMinimum"))
    return _INTEGER.removeprefix('"-"? ') if isinstance(least, (int, float)) and least >= 0 else _INTEGER


def _printable(char: str) -> str:
    if char.isprintable():
        return char
    code = ord(char)
    return f"\\x{code:02X}" if code < 0x100 else f"\\u{code:04X}" if code < 0x10000 else f"\\U{code:08X}"


def _in_class(char: str) -> str:
    return _IN_CLASS.get(char) or _printable(char)


def _too_large(what: str, limit: int) -> ConfigError:
    return ConfigError(
        f"the grammar of these tools has over {limit:,} {what}",
        hint="Offer fewer tools, or tools with simpler arguments, or do without a grammar.",
        limit=limit,
    )
