"""A server's schema as it can be checked here, without letting the server decide how long that takes.

Servers check arguments themselves, often with patterns that look ahead (a well-known library has one in every e-mail
address). Ours run on an engine that cannot be made to hang and knows no such patterns: they are left to the server and
told to the model in words. References by anchor or address are written as `#/…`, the form that providers understand
and that is weighed before it is compiled. All else stays as it is, and nothing is fetched.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple
from urllib.parse import urldefrag, urljoin

from ..errors import ToolDefinitionError
from ..tools.check import cut
from ..tools.references import target

_BY_NAME = frozenset({"properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies"})
"""Keywords that hold schemas by name."""
_PLAIN = frozenset({"const", "enum", "default", "examples", "required"})
"""Keywords whose values are data."""
_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
_PLACES = frozenset({"$id", "id", "$anchor", "$dynamicAnchor", "$recursiveAnchor"})
_DIALECTS = ("json-schema.org/draft", "json-schema.org/schema")
_OLD_DIALECTS = ("draft-01", "draft-02", "draft-03")
_PATTERNS = 200
"""Different patterns of a schema that are checked, and bytes of each when compiled: a millisecond or two."""
_PATTERN_BYTES = 256 * 1024
_TOLD = 1_000
"""Characters of a pattern that is told in words."""
_ADDRESS = 200
"""Characters of an address: each reference is read from the one above it, at a cost that grows with its length."""
_ROOM = 256 * 1024
"""Characters that all references may become longer by: ten thousand short ones can lead to one that has a long name."""


class _Place(NamedTuple):
    """Where a schema stands, from the inside: written out for each, the places in a schema would be its square."""

    above: _Place | None
    step: str


class _Found(NamedTuple):
    """What references can lead to: places of the schemas that have an address, and of those with an anchor."""

    resources: dict[str, _Place | None]
    anchors: dict[tuple[str, str], _Place | None]


def checkable(tool: str, schema: dict[str, Any]) -> dict[str, Any]:
    """The same schema with other references and without what cannot be checked. Nesting is the caller's to bound.

    A `ToolDefinitionError` for a reference that leads out of the schema, or nowhere.
    """
    found = _Found({"": None}, {})
    for node, place, base in _schemas(schema, None, ""):
        found.resources.setdefault(base, place)
        for name in _anchors(node):
            found.anchors.setdefault((base, name), place)
    made = _Made(tool, schema, found).walk(schema, "")
    assert isinstance(made, dict)
    return made


def _schemas(node: Any, place: _Place | None, base: str) -> Iterator[tuple[dict[str, Any], _Place | None, str]]:
    """Every schema in this one, itself first, with its place and the address that its references start from."""
    if isinstance(node, list):
        for number, each in enumerate(node):
            yield from _schemas(each, _Place(place, str(number)), base)
    elif isinstance(node, dict):
        base = _base(node, base)
        yield node, place, base
        for keyword, value in node.items():
            below = _Place(place, keyword)
            if keyword in _BY_NAME and isinstance(value, dict):
                for name, each in value.items():
                    yield from _schemas(each, _Place(below, name), base)
            elif keyword not in _PLAIN:
                yield from _schemas(value, below, base)


class _Made:
    """A schema while it is written anew."""

    def __init__(self, tool: str, root: dict[str, Any], found: _Found) -> None:
        self._tool = tool
        self._root = root
        self._found = found
        self._supported: dict[str, bool] = {}
        self._room = _ROOM

    def walk(self, node: Any, base: str) -> Any:
        if isinstance(node, list):
            return [self.walk(each, base) for each in node]
        if not isinstance(node, dict):
            return node
        base = _base(node, base)
        made: dict[str, Any] = {}
        for keyword, value in node.items():
            if keyword in _PLAIN:
                made[keyword] = value
            elif keyword in _BY_NAME and isinstance(value, dict):
                made[keyword] = {
                    name: self.walk(each, base)
                    for name, each in value.items()
                    if keyword != "patternProperties" or self._is_supported(name)
                }
            elif keyword in _REFERENCES and isinstance(value, str):
                if made.setdefault("$ref", pointer := self._pointer(value, base)) != pointer:
                    raise self._refused("a schema in it has two references")
            elif not _is_place(keyword, value) and not _is_strange_dialect(keyword, value):
                made[keyword] = self.walk(value, base)
        pattern = made.get("pattern")
        if isinstance(pattern, str) and not self._is_supported(pattern):
            del made["pattern"]
            words = made.get("description", "")
            if isinstance(words, str) and len(pattern) <= _TOLD:
                made["description"] = f"{words} (pattern: {pattern})".strip()
        return made

    def _pointer(self, reference: str, base: str) -> str:
        # An `id` or `$id` that means no address, as some schemas have, must not lead references astray.
        for start in (base, ""):
            place = self._place(reference, start)
            if place is not None and target(self._root, f"#{place}") is not None:
                return f"#{place}"
        raise self._refused(f"the reference {cut(ascii(reference))} leads to nothing in it, and nothing is fetched")

    def _place(self, reference: str, base: str) -> str | None:
        try:
            address, fragment = urldefrag(urljoin(base, reference))
        except ValueError:
            return None
        if fragment and not fragment.startswith("/"):
            anchor = (address, fragment)
            return self._written(self._found.anchors[anchor]) if anchor in self._found.anchors else None
        if address not in self._found.resources:
            return None
        return self._written(self._found.resources[address]) + fragment

    def _written(self, place: _Place | None) -> str:
        steps: list[str] = []
        while place is not None:
            steps.append(f"/{_escaped(place.step)}")
            place = place.above
        pointer = "".join(reversed(steps))
        self._room -= len(pointer)
        if self._room < 0:
            raise self._refused(f"its references, written as #/…, are over {_ROOM:,} characters longer")
        return pointer

    def _refused(self, reason: str) -> ToolDefinitionError:
        return ToolDefinitionError(
            f"the parameters of tool {self._tool!r} are not a usable JSON Schema: {reason}",
            hint="References of a schema must stay inside it.",
            tool=self._tool,
        )

    def _is_supported(self, pattern: str) -> bool:
        if pattern not in self._supported:
            import jsonschema_rs

            options = jsonschema_rs.RegexOptions(size_limit=_PATTERN_BYTES)
            try:
                if len(self._supported) < _PATTERNS:
                    jsonschema_rs.validator_for({"pattern": pattern}, pattern_options=options)
                self._supported[pattern] = len(self._supported) < _PATTERNS
            except ValueError:
                self._supported[pattern] = False
        return self._supported[pattern]


def _base(node: dict[str, Any], base: str) -> str:
    """The address of a schema: its own, else that of the one around it."""
    for keyword in ("$id", "id"):
        given = node.get(keyword)
        if isinstance(given, str) and not given.startswith("#") and len(given) <= _ADDRESS:
            try:
                address = urldefrag(urljoin(base, given))[0]
            except ValueError:
                return base
            return address if len(address) <= _ADDRESS else base
    return base


def _anchors(node: dict[str, Any]) -> Iterator[str]:
    for keyword in ("$anchor", "$dynamicAnchor"):
        if isinstance(node.get(keyword), str):
            yield node[keyword]
    for keyword in ("$id", "id"):  # an anchor of drafts 4 to 7
        given = node.get(keyword)
        if isinstance(given, str) and given.startswith("#"):
            yield given[1:]


def _is_place(keyword: str, value: Any) -> bool:
    """Whether this only says what references may call a schema."""
    return keyword in _PLACES and isinstance(value, str | bool)


def _is_strange_dialect(keyword: str, value: Any) -> bool:
    """Whether it names a kind of schema that nobody here knows: then it is read as one of today."""
    if keyword != "$schema":
        return False
    known = isinstance(value, str) and any(name in value for name in _DIALECTS)
    return not known or any(name in value for name in _OLD_DIALECTS)


def _escaped(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1").replace("%", "%25")
