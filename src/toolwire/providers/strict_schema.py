"""JSON Schema → the subset that OpenAI's strict mode takes, in which the model is held to the schema.

Strict mode wants every object closed and every property required; what may be left out must allow null instead. So the
model writes `null` for an argument that it leaves out, which the tool's own schema may refuse: `without_added_nulls`
takes those out again. Keywords that strict mode does not know move into the description, where the model reads them;
the tool's own schema, which is checked all the same, still holds.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from .json_schema import in_words, referenced

PROPERTIES = 5_000
"""How many properties a strict schema may have in all."""
NESTING = 10
"""How many objects and lists may stand within one another."""

_WORDS = ("title", "description")
_KEPT = frozenset(
    (
        *_WORDS,
        "type",
        "enum",
        "const",
        "pattern",
        "multipleOf",
        "minimum",
        "maximum",
        "exclusiveMinimum",
        "exclusiveMaximum",
        "minItems",
        "maxItems",
    )
)
_FORMATS = frozenset(("date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"))
_SILENT = frozenset(("$schema", "$id", "$comment", "nullable", "additionalProperties"))
_STRUCTURE = frozenset(("properties", "required", "items", "anyOf", "oneOf", "allOf", "$ref", "$defs", "definitions"))
_OPEN = ("patternProperties", "prefixItems", "unevaluatedProperties", "dependentSchemas", "not", "if", "$dynamicRef")
_NULL = {"type": "null"}

Schema = dict[str, Any]


class _NotStrict(Exception):
    """The schema says something that strict mode has no way to say."""


def strict_schema(schema: Schema) -> Schema | None:
    """The schema in the form that strict mode takes, or None where it cannot be: an object with names that are not
    known beforehand, a value of any type, a list of anything, alternatives at the top. The schema given is unchanged.
    """
    try:
        return _Writer(schema).write()
    except (_NotStrict, RecursionError):
        return None


def without_added_nulls(schema: Schema, arguments: dict[str, Any]) -> dict[str, Any]:
    """The arguments without the nulls that only strict mode's form of `schema` allows.

    A null goes out where its property may be left out and may not be null, and nowhere else. The arguments given are
    unchanged.
    """
    cleaned = _without_nulls(arguments, [schema], schema)
    return cleaned if isinstance(cleaned, dict) else arguments


class _Writer:
    def __init__(self, root: Schema) -> None:
        self._root = root
        self._properties = 0

    def write(self) -> Schema:
        root = self._root
        if any(name in root for name in ("anyOf", "oneOf", "allOf", "$ref", "enum", "const")):
            raise _NotStrict
        made = self._schema({**root, "type": "object"}, 0)
        for name in ("$defs", "definitions"):
            if isinstance(root.get(name), dict):
                made[name] = {key: self._schema(value, 0) for key, value in root[name].items()}
        return made

    def _schema(self, schema: Any, depth: int) -> Schema:
        if not isinstance(schema, dict) or depth > NESTING or any(name in schema for name in _OPEN):
            raise _NotStrict
        every = schema.get("allOf")
        if every is not None:
            return self._schema(_merged(schema, every), depth)
        made = {name: value for name, value in schema.items() if name in _KEPT}
        moved = {name: value for name, value in schema.items() if name not in _KEPT | _SILENT | _STRUCTURE}
        if moved.get("format") in _FORMATS:
            made["format"] = moved.pop("format")
        if moved.get("default", moved) is None:
            del moved["default"]
        if moved:
            made["description"] = _described(made.get("description"), moved)
        alternatives = schema.get("anyOf", schema.get("oneOf"))
        if "$ref" in schema:
            self._refer(schema["$ref"], made)
        elif alternatives is not None:
            if not isinstance(alternatives, list) or not alternatives or "properties" in schema:
                raise _NotStrict
            made.pop("type", None)
            if not made.keys() <= set(_WORDS):
                raise _NotStrict
            made["anyOf"] = [self._schema(alternative, depth) for alternative in alternatives]
        else:
            self._typed(schema, made, depth)
        return _nullable(made) if schema.get("nullable") is True else made

    def _refer(self, target: Any, made: Schema) -> None:
        """A reference stands alone in strict mode: words beside it go around it."""
        if not isinstance(target, str) or not target.startswith("#"):
            raise _NotStrict
        words: Schema = {name: made[name] for name in _WORDS if name in made}
        made.clear()
        if words:
            made.update(words, anyOf=[{"$ref": target}])
        else:
            made["$ref"] = target

    def _typed(self, schema: Schema, made: Schema, depth: int) -> None:
        kind = schema.get("type")
        if kind is None:
            made["type"] = kind = _type_of(schema)
        kinds = kind if isinstance(kind, list) else [kind]
        if "object" in kinds:
            self._object(schema, made, depth)
        if "array" in kinds:
            made["items"] = self._schema(schema.get("items"), depth + 1)

    def _object(self, schema: Schema, made: Schema, depth: int) -> None:
        properties, required = schema.get("properties"), schema.get("required", [])
        if not isinstance(properties, dict) or schema.get("additionalProperties", False) is not False:
            raise _NotStrict
        if not isinstance(required, list) or not set(map(str, required)) <= set(properties):
            raise _NotStrict
        self._properties += len(properties)
        if self._properties > PROPERTIES:
            raise _NotStrict
        written = {}
        for name, value in properties.items():
            inner = self._schema(value, depth + 1)
            written[name] = inner if name in required else _nullable(inner)
        made["properties"] = written
        made["required"] = list(properties)
        made["additionalProperties"] = False


def _merged(schema: Schema, every: Any) -> Schema:
    """`allOf` of one schema is that schema with what stands beside it; of several, it has no strict form."""
    if not isinstance(every, list) or len(every) != 1 or not isinstance(every[0], dict):
        raise _NotStrict
    beside = {name: value for name, value in schema.items() if name != "allOf"}
    if any(name in every[0] and name not in _WORDS for name in beside):
        raise _NotStrict
    return {**every[0], **beside}


def _described(words: Any, moved: Schema) -> str:
    """The description with the keywords that found no other place."""
    said = in_words(moved)
    return f"{words} ({said})" if isinstance(words, str) and words else f"({said})"


def _type_of(schema: Schema) -> Any:
    """The type of a schema that names none, from what else it says."""
    if "properties" in schema:
        return "object"
    if "items" in schema:
        return "array"
    values = [schema["const"]] if "const" in schema else schema.get("enum")
    if not isinstance(values, list) or not values:
        raise _NotStrict
    kinds = list(dict.fromkeys(_json_type(value) for value in values))
    return kinds[0] if len(kinds) == 1 else kinds


def _json_type(value: Any) -> str:
    for kind, name in ((bool, "boolean"), (int, "integer"), (float, "number"), (str, "string"), (type(None), "null")):
        if isinstance(value, kind):
            return name
    raise _NotStrict


def _nullable(schema: Schema) -> Schema:
    """The schema that also takes null."""
    if "anyOf" in schema:
        if _NULL in schema["anyOf"]:
            return schema
        return {**schema, "anyOf": [*schema["anyOf"], _NULL]}
    if "$ref" in schema or "const" in schema:
        return {"anyOf": [schema, _NULL]}
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    made = {**schema, "type": kinds if "null" in kinds else [*kinds, "null"]}
    if isinstance(schema.get("enum"), list) and None not in schema["enum"]:
        made["enum"] = [*schema["enum"], None]
    return made


def _without_nulls(value: Any, schemas: Iterable[Any], root: Schema) -> Any:
    if isinstance(value, dict):
        branches = [branch for branch in _branches(schemas, root) if isinstance(branch.get("properties"), dict)]
        kept = {}
        for name, inner in value.items():
            known = [branch for branch in branches if name in branch["properties"]]
            inside = [branch["properties"][name] for branch in known]
            added = (
                inner is None
                and bool(known)
                and not any(name in (branch.get("required") or ()) for branch in known)
                and not _takes_null(inside, root)
            )
            if not added:
                kept[name] = _without_nulls(inner, inside, root) if inside else inner
        return kept
    if isinstance(value, list):
        inside = [branch["items"] for branch in _branches(schemas, root) if "items" in branch]
        return [_without_nulls(inner, inside, root) for inner in value] if inside else value
    return value


def _takes_null(schemas: Iterable[Any], root: Schema) -> bool:
    for schema in schemas:
        if not isinstance(schema, dict):
            return True
        if any(_is_null(branch) for branch in _branches([schema], root)):
            return True
    return False


def _is_null(branch: Schema) -> bool:
    """Whether this schema by itself, without what it refers to, takes null."""
    if "const" in branch:
        return branch["const"] is None
    if isinstance(branch.get("enum"), list):
        return None in branch["enum"]
    kind = branch.get("type")
    if kind is None:
        return branch.get("nullable") is True or not any(name in branch for name in _STRUCTURE)
    return branch.get("nullable") is True or kind == "null" or (isinstance(kind, list) and "null" in kind)


def _branches(schemas: Iterable[Any], root: Schema) -> Iterator[Schema]:
    """The schemas with all that they refer to or offer as alternatives, each once."""
    seen: set[int] = set()
    waiting = list(schemas)
    while waiting:
        schema = waiting.pop()
        if not isinstance(schema, dict) or id(schema) in seen:
            continue
        seen.add(id(schema))
        yield schema
        for name in ("anyOf", "oneOf", "allOf"):
            if isinstance(schema.get(name), list):
                waiting += schema[name]
        if isinstance(schema.get("$ref"), str):
            waiting.append(referenced(root, schema["$ref"]))
