"""Example arguments for a tool, made from its schema: what a model is shown. The same schema gives the same example.

Words of the schema come first (`examples`, `const`, `enum`, `default`); what it does not say is plain and typed: a
string names its argument, an array has two different items, a union shows its first form, recursion is cut short.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

from ..tools.definition import ToolDefinition
from ..tools.forms import form_of
from .branches import (
    Flat,
    branches,
    free_properties,
    items_of,
    kind_of,
    kinds_of,
    listed_values,
    properties_of,
    required_of,
)

_VALUES = 300
"""Values in one example: a schema whose definitions double each other must not fill a prompt."""
_ITEMS = 20
"""Items that an array's `minItems` can ask for."""
_LENGTH = 200
"""Characters that a string's `minLength` can ask for."""
_CUT: Final = object()
"""Where a schema leads back to itself: there is nothing to show."""

_FORMATS = {
    "date": ("2025-01-31", "2025-02-28"),
    "date-time": ("2025-01-31T12:00:00Z", "2025-02-28T18:30:00Z"),
    "time": ("12:00:00Z", "18:30:00Z"),
    "duration": ("PT30M", "P1D"),
    "email": ("name@example.com", "other@example.com"),
    "hostname": ("example.com", "example.org"),
    "ipv4": ("192.0.2.1", "192.0.2.2"),
    "ipv6": ("2001:db8::1", "2001:db8::2"),
    "uri": ("https://example.com/", "https://example.org/"),
    "uuid": ("123e4567-e89b-42d3-a456-426614174000", "123e4567-e89b-42d3-a456-426614174001"),
}


def example_arguments(tool: ToolDefinition, *, optional: bool) -> dict[str, Any]:
    """Arguments of a call of this tool: with all of them, or only with those that it requires."""
    made = _Example(tool.parameters, optional).value(tool.parameters, tool.name, 0, frozenset())
    if not isinstance(made, dict):
        return {}
    form = form_of(tool.name)
    body = form.body_of(tool.parameters)
    if form.example and made.get(body) == _plain(body):
        made[body] = form.example
    return made


class _Example:
    """One example while it is made. `variant` counts the items of an array, which should differ."""

    def __init__(self, root: dict[str, Any], optional: bool) -> None:
        self._root = root
        self._optional = optional
        self._left = _VALUES
        self._by_kind: dict[str, Callable[[Flat, str, int, frozenset[int]], Any]] = {
            "string": lambda flat, name, variant, _: _string(flat, name, variant),
            "integer": lambda flat, _, variant, __: _number(flat, variant, whole=True),
            "number": lambda flat, _, variant, __: _number(flat, variant, whole=False),
            "boolean": lambda _, __, variant, ___: variant % 2 == 0,
            "object": self._object,
            "array": self._array,
        }

    def value(self, schema: Any, name: str, variant: int, above: frozenset[int]) -> Any:
        """A value for this schema, or `_CUT`. `above` are the containers that it is in."""
        self._left -= 1
        flats = branches(schema, self._root)[0]
        # That a value may be missing is said by leaving it out, not by an example of null.
        for flat in sorted(flats, key=lambda flat: kinds_of(flat) == {"null"}):
            made = self._flat(flat, name, variant, above)
            if made is not _CUT:
                return made
        return _CUT

    def _flat(self, flat: Flat, name: str, variant: int, above: frozenset[int]) -> Any:
        kinds = kinds_of(flat)
        told = flat.get("examples")
        told = told if isinstance(told, list) else []
        values = listed_values(flat) or []
        default = [flat["default"]] if flat.get("default") not in (None, "", [], {}) else []
        for words in (told, values, default):
            fitting = [word for word in words if kind_of(word) in kinds]
            if fitting:
                return fitting[variant % len(fitting)]
        written = flat.get("type", "string" if "string" in kinds else "")
        order = [*(written if isinstance(written, list) else [written]), *self._by_kind]
        for kind in order:
            if kind in kinds and kind in self._by_kind:
                return self._by_kind[kind](flat, name, variant, above)
        return None

    def _object(self, flat: Flat, name: str, variant: int, above: frozenset[int]) -> Any:
        properties = properties_of(flat)
        required = required_of(flat)
        inside = above | {id(flat.get("properties"))} if properties else above
        if inside == above and properties:
            return _CUT
        others = free_properties(flat)
        made: dict[str, Any] = {}
        for key in dict.fromkeys((*properties, *required)):
            schema = properties.get(key, others[0] if others else True)
            needed = key in required
            if schema is False or not (needed or (self._optional and self._left > 0)):
                continue
            value = self.value(schema, key, variant, inside) if self._left > -_VALUES else None
            if value is not _CUT:
                made[key] = value
            elif needed:
                return _CUT
        least = flat.get("minProperties")
        least = min(least, _ITEMS) if isinstance(least, int) else 0
        wanted = max(least - len(made), 1 if self._optional and not made and not properties and above else 0)
        for index in range(1, wanted + 1 if others else 1):
            value = self.value(others[0], f"key_{index}", index - 1, inside) if self._left > 0 else None
            if value is _CUT:
                break
            made[f"key_{index}"] = value
        return made

    def _array(self, flat: Flat, name: str, variant: int, above: frozenset[int]) -> Any:
        first, rest = items_of(flat)
        least = _bound(flat.get("minItems"), 0)
        most = _bound(flat.get("maxItems"), _ITEMS)
        count = min(max(2, len(first), least), most, _ITEMS)
        if rest is False:
            count = min(count, len(first))
        inside = above | {id(rest)} if isinstance(rest, dict) else above
        if (inside == above and isinstance(rest, dict)) or self._left <= 0:
            return [] if least == 0 else _CUT
        made: list[Any] = []
        for index in range(count):
            schema = first[index] if index < len(first) else rest
            value = self.value(schema, f"{name}_item_{index + 1}", variant + index, inside)
            if value is _CUT:
                return [] if least == 0 else _CUT
            made.append(value)
        return made


def _plain(name: str) -> str:
    return f"A valid string for {name!r}"


def _string(flat: Flat, name: str, variant: int) -> str:
    known = _FORMATS.get(str(flat.get("format")))
    if known is not None:
        return known[variant % len(known)]
    text = _plain(name)
    least = min(_bound(flat.get("minLength"), 0), _LENGTH)
    most = _bound(flat.get("maxLength"), _LENGTH)
    if len(text) > most:
        # The end of a short one still tells items apart.
        text = (name if len(name) <= most else name[len(name) - most :]) if most else ""
    return text.ljust(least, ".")


def _number(flat: Flat, variant: int, *, whole: bool) -> int | float:
    wanted: int | float = (123, 456)[variant % 2] if whole else (1.5, 2.5)[variant % 2]
    step = _numeric(flat, "multipleOf")
    try:
        low = _limit(flat, "minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum", 1)
        high = _limit(flat, "maximum", "exclusiveMaximum", "minimum", "exclusiveMinimum", -1)
        if step is not None and step > 0:
            return _multiple(wanted, low, high, step, variant % 2)
        near = wanted
        if low is not None and wanted < low:
            near = low + variant % 2
        if high is not None and near > high:
            near = high - variant % 2 if low is None or low <= high - variant % 2 else high
        if whole:
            return math.ceil(near) if high is None or math.ceil(near) <= high else math.floor(near)
        return near
    except OverflowError:  # between whole numbers of any size and others
        return wanted


def _multiple(wanted: float, low: float | None, high: float | None, step: float, more: int) -> float:
    """The multiple of `step` that is wanted, or the nearest within the bounds; the next one after it for `more`."""
    count = round(wanted / step)
    if math.isclose(count * step, wanted) and (low is None or low <= wanted) and (high is None or wanted <= high):
        return wanted
    if low is not None and count * step < low:
        count = math.ceil(low / step) + more
    if high is not None and count * step > high:
        count = math.floor(high / step) - more
    if low is not None and count * step < low:
        count = math.ceil(low / step)
    return count * step


def _limit(flat: Flat, plain: str, exclusive: str, other: str, other_exclusive: str, inwards: int) -> float | None:
    """The bound on one side; one that is itself excluded is moved by one, or by part of the way to the other side."""
    found = _numeric(flat, plain)
    excluded = _numeric(flat, exclusive)
    if found is not None or excluded is None:
        return found
    end = _numeric(flat, other)
    end = _numeric(flat, other_exclusive) if end is None else end
    if end is not None and abs(end - excluded) <= 2:
        return excluded + (end - excluded) / 4
    return excluded + inwards


def _numeric(flat: Flat, keyword: str) -> float | None:
    found = flat.get(keyword)
    return found if isinstance(found, (int, float)) and not isinstance(found, bool) else None


def _bound(value: Any, otherwise: int) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else otherwise
