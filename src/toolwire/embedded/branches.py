"""A schema with its references and unions seen through: the flat schemas of which a value must fit one.

References within the schema, `anyOf`, `oneOf`, `allOf` and what stands beside them become a list of plain schemas
(`type`, `enum`, `const`, `properties`, `items` ...). That is for choosing types, examples and grammars; whether
arguments are right is decided by the tool's schema itself (`ToolDefinition.problem`).
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from ..tools.references import target

Flat = dict[str, Any]
"""A schema without references and unions."""

ALL_KINDS = frozenset(("string", "number", "integer", "boolean", "null", "object", "array"))
MOST = 64
"""Flat schemas that one schema may lead to, and references and unions on the way to one: more are not looked at."""
_STEPS = 1_000
"""Schemas that are looked at for one value: definitions that double each other would go on for ever."""
_COMBINING = frozenset(("$ref", "anyOf", "oneOf", "allOf"))


def branches(schema: Any, root: dict[str, Any]) -> tuple[list[Flat], bool]:
    """The flat schemas that this one leads to, and whether these are all.

    A reference that leads nowhere, to itself or out of the schema allows anything; False allows nothing.
    """
    walk = _Walk(root)
    found = walk.expand(schema, frozenset())
    return found[:MOST], not walk.cut


def kinds_of(flat: Flat) -> frozenset[str]:
    """The JSON types that a flat schema allows; `number` includes `integer`."""
    kinds = ALL_KINDS
    if "type" in flat:
        kinds = frozenset(_types(flat["type"]))
        if "number" in kinds:
            kinds |= {"integer"}
    values = listed_values(flat)
    return kinds if values is None else kinds & frozenset(map(kind_of, values))


def listed_values(flat: Flat) -> list[Any] | None:
    """The values that a constant or an enumeration allows; None where there is neither."""
    if "const" in flat:
        return [flat["const"]]
    listed = flat.get("enum")
    return listed if isinstance(listed, list) else None


def kind_of(value: Any) -> str:
    """The JSON type of a value; of a number without a fraction, `integer`."""
    for kind, of in (("null", type(None)), ("boolean", bool), ("integer", int), ("string", str), ("array", list)):
        if isinstance(value, of):
            return kind
    if isinstance(value, float):
        return "integer" if value.is_integer() else "number"
    return "object"


def properties_of(flat: Flat) -> dict[str, Any]:
    """The schemas of what an object holds, by name."""
    found = flat.get("properties")
    return found if isinstance(found, dict) else {}


def required_of(flat: Flat) -> list[str]:
    """The names that an object must have."""
    found = flat.get("required")
    return [name for name in found if isinstance(name, str)] if isinstance(found, list) else []


def other_properties(flat: Flat) -> list[Any]:
    """The schemas that a member under any other name may have to fit; none of them if there is no place for one."""
    patterns = flat.get("patternProperties")
    found = list(patterns.values()) if isinstance(patterns, dict) else []
    if "additionalProperties" in flat or not found:
        found.append(flat.get("additionalProperties", True))
    return [schema for schema in found if schema is not False]


def free_properties(flat: Flat) -> list[Any]:
    """As `other_properties`, of names that a model should make up: none where the schema names members and no more."""
    return [] if "properties" in flat and "additionalProperties" not in flat else other_properties(flat)


def any_of(schemas: list[Any]) -> Any:
    """A schema for what fits one of these; for anything, where there are none."""
    return schemas[0] if len(schemas) == 1 else {"anyOf": schemas} if schemas else True


def items_of(flat: Flat) -> tuple[list[Any], Any]:
    """The schemas of an array's first items, and of all that follow."""
    rest = flat.get("items", True)
    if isinstance(rest, list):  # as older drafts write what is now called prefixItems
        return rest, flat.get("additionalItems", True)
    first = flat.get("prefixItems")
    return (first if isinstance(first, list) else []), rest


class _Walk:
    """One way through a schema. `cut` says that it was too large to be looked at as a whole."""

    def __init__(self, root: dict[str, Any]) -> None:
        self._root = root
        self._steps = _STEPS
        self._depth = 0
        self.cut = False

    def expand(self, schema: Any, followed: frozenset[str]) -> list[Flat]:
        self._steps -= 1
        if schema is False:
            return []
        if not isinstance(schema, dict):
            return [{}]
        if self._steps < 0 or self._depth >= MOST:
            self.cut = True
            return [{}]
        if _COMBINING.isdisjoint(schema):
            return [schema]
        self._depth += 1
        found = self._combined(schema, followed)
        self._depth -= 1
        return found

    def _combined(self, schema: Flat, followed: frozenset[str]) -> list[Flat]:
        found: list[Flat] = [{key: value for key, value in schema.items() if key not in _COMBINING}]
        reference = schema.get("$ref")
        if isinstance(reference, str) and reference not in followed:
            named = target(self._root, reference)
            found = self._both(self.expand(True if named is None else named, followed | {reference}), found)
        parts = schema.get("allOf")
        for part in parts if isinstance(parts, list) else ():
            found = self._both(self.expand(part, followed), found)
        for keyword in ("anyOf", "oneOf"):
            options = schema.get(keyword)
            if isinstance(options, list):
                found = self._both([flat for option in options for flat in self.expand(option, followed)], found)
        return found

    def _both(self, first: list[Flat], second: list[Flat]) -> list[Flat]:
        """All that fits one of the first and one of the second."""
        made: list[Flat] = []
        for one in first:
            for other in second:
                if len(made) >= MOST:
                    self.cut = True
                    return made
                both = _both(one, other)
                if both is not None:
                    made.append(both)
        return made


def _both(one: Flat, other: Flat) -> Flat | None:
    """A schema for what fits both; None if their types say that there is nothing."""
    if not one or not other:
        return one or other
    made = {**one, **other}
    for key in one.keys() & other.keys():
        if key == "properties":
            made[key] = _both_properties(properties_of(one), properties_of(other))
        elif key == "required":
            made[key] = list(dict.fromkeys(required_of(one) + required_of(other)))
        elif key == "type":
            kinds = kinds_of({"type": one[key]}) & kinds_of({"type": other[key]})
            made[key] = sorted(kinds - {"integer"} if "number" in kinds else kinds)
        elif key in ("items", "additionalProperties") and one[key] != other[key]:
            made[key] = False if False in (one[key], other[key]) else {"allOf": [one[key], other[key]]}
        elif key == "enum":
            known = {json.dumps(value, sort_keys=True) for value in listed_values({key: one[key]}) or ()}
            values = listed_values({key: other[key]}) or []
            made[key] = [value for value in values if json.dumps(value, sort_keys=True) in known]
    return made if kinds_of(made) else None


def _both_properties(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    made = {**one, **other}
    for name in one.keys() & other.keys():
        if one[name] != other[name]:
            made[name] = {"allOf": [one[name], other[name]]}
    return made


def _types(kind: Any) -> Iterable[str]:
    return (each for each in (kind if isinstance(kind, list) else [kind]) if isinstance(each, str))
