"""JSON Schema → what Moonshot (Kimi) takes of it.

Its servers check the parameters of every tool and refuse the whole request where they are of another kind: a `type`
beside `anyOf`, a list of types, a property without any type, words beside a `$ref`, a reference to anything but the
definitions at the top, alternatives or conditions at the top itself. Such parts are written in the way that is taken,
and what has none is said in the description. Bounds and formats stay: they are not refused, and the model sees them.
"""

from __future__ import annotations

from typing import Any

from ..errors import ConfigError
from .json_schema import in_words, referenced

Schema = dict[str, Any]

_SILENT = frozenset({"title", "$schema", "$id", "$anchor", "$comment", "examples", "$defs", "definitions"})
_CONDITIONS = frozenset(
    {"allOf", "if", "then", "else", "not", "dependentSchemas", "dependentRequired", "dependencies", "prefixItems"}
)
"""What there is no form for."""
_WORDS = frozenset({"description", "default"})
"""What may stand beside anything."""
_OUTER = _WORDS | _SILENT | _CONDITIONS | {"anyOf", "oneOf", "type"}
_KINDS: dict[type, str] = {str: "string", bool: "boolean", int: "integer", float: "number", type(None): "null"}
_KEYWORDS: dict[Any, tuple[str, ...]] = {
    "string": ("minLength", "maxLength", "pattern", "format"),
    "integer": ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
    "number": ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
    "object": ("properties", "required", "additionalProperties", "minProperties", "maxProperties"),
    "array": ("items", "minItems", "maxItems", "uniqueItems"),
}
"""What speaks of values of one type alone."""
_ANYTHING = ("string", "number", "boolean", "object", "array", "null")
_MOST_WRAPPINGS = 8
_MOST_PLACES = 2_000
"""Places in all after which a reference that must be put in place is only named: each may hold others."""


def moonshot_schema(parameters: Schema) -> Schema:
    """The parameters of one tool."""
    try:
        return _Rewriting(parameters).whole()
    except RecursionError:
        raise ConfigError(
            "the parameters of a tool are nested too deeply to rewrite for Moonshot",
            hint="Make the schema flatter: models read shallow ones better too.",
        ) from None


class _Rewriting:
    """One tool's schema while it is rewritten: the places so far, and where references lead."""

    def __init__(self, root: Schema) -> None:
        self._root = root
        self._places = 0

    def whole(self) -> Schema:
        root = self._unwrapped({**self._root})
        root["type"] = "object"
        choices: Schema = {name: root.pop(name) for name in ("anyOf", "oneOf", "enum", "const") if name in root}
        made = self._plain(root, (), choices)
        definitions = {**_definitions(self._root, "definitions"), **_definitions(self._root, "$defs")}
        if definitions:
            made["$defs"] = {name: self.schema(item, ()) for name, item in definitions.items()}
        return made

    def _unwrapped(self, root: Schema) -> Schema:
        """The top without a reference or an `allOf` of one around it: some tools are declared so."""
        for _ in range(_MOST_WRAPPINGS):
            found = referenced(self._root, root.pop("$ref", None)) or _only(root)
            if found is None or found is self._root:
                break
            root = {**found, **{name: value for name, value in root.items() if name != "allOf"}}
        return root

    def schema(self, schema: Any, within: tuple[str, ...]) -> Schema:
        """One schema below the top. `within` are the references that led here and were put in place."""
        if not isinstance(schema, dict):
            return {"anyOf": [{"type": kind} for kind in _ANYTHING]}
        self._places += 1
        inner = _only(schema)
        if inner is not None and "$ref" not in schema:
            schema = {**inner, **{name: value for name, value in schema.items() if name != "allOf"}}
        if "const" in schema:
            schema = {"enum": [schema["const"]], **{name: item for name, item in schema.items() if name != "const"}}
        if "$ref" in schema:
            return self._reference(schema, within)
        union = schema.get("anyOf", schema.get("oneOf"))
        if isinstance(union, list) and union:
            return self._union(schema, union, within)
        kinds = schema.get("type", _kinds(schema.get("enum")))
        if isinstance(kinds, list) and kinds and all(isinstance(kind, str) for kind in kinds):
            branches = [self.schema(_of_kind(schema, kind), within) for kind in kinds]
            return _beside({"anyOf": branches}, schema, {})
        if not isinstance(kinds, str):
            kinds = _implied(schema)
        if kinds is None:
            said = {name: value for name, value in schema.items() if name not in _OUTER}
            return _beside(self.schema(None, within), schema, said)
        return self._plain({**schema, "type": kinds}, within, {})

    def _plain(self, schema: Schema, within: tuple[str, ...], said: Schema) -> Schema:
        """A schema of one type, with everything that has no form said in words."""
        made: Schema = {}
        said = dict(said)
        for name, value in schema.items():
            if name in _SILENT:
                continue
            if name == "properties" and isinstance(value, dict):
                made[name] = {key: self.schema(item, within) for key, item in value.items()}
            elif (name == "items" and isinstance(value, dict)) or (
                name == "additionalProperties" and isinstance(value, dict) and value
            ):
                made[name] = self.schema(value, within)
            elif name in _CONDITIONS or (name == "enum" and not _is_listing(value)):
                said[name] = value
            else:
                made[name] = value
        return _described(made, said)

    def _union(self, schema: Schema, branches: list[Any], within: tuple[str, ...]) -> Schema:
        """Alternatives: whatever stood beside them moves into those that do not say it themselves."""
        shared = {name: value for name, value in schema.items() if name not in _OUTER or name == "type"}
        kind = schema.get("type")
        made: Schema = {"anyOf": []}
        for branch in branches:
            own = branch if isinstance(branch, dict) else {}
            fits = "$ref" not in own and (kind is None or own.get("type", kind) == kind)
            made["anyOf"].append(self.schema({**shared, **own} if fits else own, within))
        return _beside(made, schema, {})

    def _reference(self, schema: Schema, within: tuple[str, ...]) -> Schema:
        reference = schema["$ref"]
        found = referenced(self._root, reference)
        name = _definition_name(reference)
        if reference == "#" or (name is not None and found is not None):
            made: Schema = {"$ref": "#" if name is None else f"#/$defs/{name}"}
        elif found is None or reference in within or self._places > _MOST_PLACES:
            made = {"type": "object", "description": f"As {str(reference).rsplit('/', 1)[-1][:64]}."}
        else:
            made = self.schema(found, (*within, reference))
        if "$ref" in made and not _WORDS.isdisjoint(schema):
            made = {"anyOf": [made]}
        return _beside(made, schema, {})


def _definitions(root: Schema, name: str) -> Schema:
    found = root.get(name)
    return found if isinstance(found, dict) else {}


def _definition_name(reference: Any) -> str | None:
    """The name of the definition at the top that a reference means."""
    for start in ("#/$defs/", "#/definitions/"):
        if isinstance(reference, str) and reference.startswith(start):
            name = reference[len(start) :]
            return name if name and "/" not in name else None
    return None


def _only(schema: Schema) -> Schema | None:
    """The one schema that an `allOf` holds: the older way to say something beside a reference."""
    every = schema.get("allOf")
    return every[0] if isinstance(every, list) and len(every) == 1 and isinstance(every[0], dict) else None


def _of_kind(schema: Schema, kind: Any) -> Schema:
    """The part of a schema with several types that speaks of this one."""
    made = {"type": kind, **{name: schema[name] for name in _KEYWORDS.get(kind, ()) if name in schema}}
    listed = schema.get("enum")
    fitting = [value for value in listed if _KINDS.get(type(value)) == kind] if isinstance(listed, list) else []
    return {**made, "enum": fitting} if _is_listing(fitting) else made


def _implied(schema: Schema) -> str | None:
    """The type that a schema means without saying it."""
    if "properties" in schema or "required" in schema or "additionalProperties" in schema:
        return "object"
    return "array" if "items" in schema else None


def _kinds(listed: Any) -> str | list[str] | None:
    """The type, or the types, of the values of an `enum`; None where some are no plain values."""
    found = [_KINDS.get(type(value), "") for value in listed] if isinstance(listed, list) else []
    kinds = list(dict.fromkeys(found))
    return None if "" in kinds or not kinds else kinds[0] if len(kinds) == 1 else kinds


def _is_listing(value: Any) -> bool:
    """Whether an `enum` is of values that are taken: all text, or all numbers."""
    return isinstance(value, list) and {_KINDS.get(type(item)) for item in value} in (
        {"string"},
        {"integer"},
        {"number"},
        {"integer", "number"},
    )


def _beside(made: Schema, schema: Schema, said: Schema) -> Schema:
    """With what the schema says beside its alternatives."""
    made |= {name: schema[name] for name in ("description", "default") if name in schema}
    return _described(made, {**said, **{name: schema[name] for name in schema if name in _CONDITIONS}})


def _described(made: Schema, said: Schema) -> Schema:
    words = in_words(said)
    if words:
        made["description"] = "\n".join(text for text in (made.get("description"), words) if isinstance(text, str))
    return made
