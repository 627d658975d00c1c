"""JSON Schema → the subset that Gemini takes for the parameters of a function.

The subset has no references, no unions of types, no `const`, no `oneOf`, no `additionalProperties`, enums of strings
alone, and `anyOf` only by itself. What can be said in it is said in it; what cannot goes into the description, where
the model reads it. Nothing is silently lost, and arguments are checked against the tool's own schema in any case.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from .json_schema import referenced

_TYPES = {name: name.upper() for name in ("string", "number", "integer", "boolean", "array", "object", "null")}
_FORMATS = {
    "string": ("enum", "date-time"),
    "number": ("float", "double"),
    "integer": ("int32", "int64"),
}
"""The formats that the Gemini API takes; it refuses a request with others."""

_PLAIN: dict[str, Callable[[Any], bool]] = {
    "title": lambda value: isinstance(value, str),
    "default": lambda value: True,
    "example": lambda value: True,
    "pattern": lambda value: isinstance(value, str),
    "minimum": lambda value: _is_number(value),
    "maximum": lambda value: _is_number(value),
    **dict.fromkeys(
        ("minItems", "maxItems", "minLength", "maxLength", "minProperties", "maxProperties"),
        lambda value: type(value) is int and value >= 0,
    ),
}
"""What goes over as it is, if it is of the right kind."""

_SILENT = frozenset(("$schema", "$id", "$anchor", "$comment", "$defs", "definitions", "$vocabulary"))
"""What says nothing about the values."""

_STRUCTURE = frozenset(("type", "properties", "items", "enum", "const", "required", "prefixItems"))

_WORDS: dict[str, Callable[[Any], str]] = {
    "exclusiveMinimum": lambda value: f"Greater than {_json(value)}.",
    "exclusiveMaximum": lambda value: f"Less than {_json(value)}.",
    "multipleOf": lambda value: f"A multiple of {_json(value)}.",
    "uniqueItems": lambda value: "No item twice." if value else "",
    "examples": lambda value: f"Examples: {_json(value)}.",
    "deprecated": lambda value: "Deprecated." if value else "",
    "not": lambda value: f"Must not fit: {_json(value)}.",
    "patternProperties": lambda value: f"Names that fit a pattern: {_json(value)}.",
}

_MOST_NODES = 2_000
"""How many schemas one may become: references that fork at every step would otherwise double it each time."""
_DEEPEST = 50
"""How deep it may be nested; below, it goes on in words."""
_LONGEST_WORDS = 400


def gemini_schema(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema in Gemini's subset, with types in its spelling (`STRING`)."""
    return _Translation(schema).translate(schema, ("#",))


class _Translation:
    """One schema on its way: the root for its references, and how much room is left."""

    def __init__(self, root: dict[str, Any]) -> None:
        self._root = root
        self._nodes = 0
        self._depth = 0

    def translate(self, schema: Any, within: tuple[str, ...]) -> dict[str, Any]:
        """The schema in the subset; `within` are the references that led here."""
        if self._depth >= _DEEPEST:
            return {"description": f"Must fit: {_json(schema)}."}
        self._nodes += 1
        self._depth += 1
        made = self._translate(schema, within)
        self._depth -= 1
        return made

    def _translate(self, schema: Any, within: tuple[str, ...]) -> dict[str, Any]:
        if schema is True or schema == {}:
            return {}
        if not isinstance(schema, dict):
            return {"description": "No value fits." if schema is False else f"Must fit: {_json(schema)}."}
        words: list[str] = []
        schema, within, recursive = self._followed(schema, within, words)
        if recursive is not None:
            return recursive
        schema, within = self._merged(schema, within, words)
        union, rest = _union(schema, words)
        types = _types_of(schema)
        nullable = schema.get("nullable") is True or (not types and None in _listed(schema.get("enum")))
        if union is not None:
            kept = [variant for variant in union if not _is_null(variant)]
            nullable = nullable or len(kept) < len(union)
            if len(kept) == 1:
                inner = self.translate({**rest, **kept[0]} if isinstance(kept[0], dict) else kept[0], within)
                return _described(inner, _text(rest, kept[0]), words, nullable)
            return self._alternatives([self.translate(variant, within) for variant in kept], rest, words, nullable)
        if len(types) > 1:
            nullable = nullable or "null" in types
            types = [name for name in types if name != "null"]
            if len(types) > 1:
                each = [_of_type(rest, name) for name in types]
                fitting = [self.translate(one, within) for one in each if one.get("enum") != []]
                return self._alternatives(fitting, schema, words, nullable)
        kind = types[0] if types else _implied_type(schema)
        made = self._single(rest, kind, within, words)
        return _described(made, schema.get("description"), words, nullable)

    def _followed(
        self, schema: dict[str, Any], within: tuple[str, ...], words: list[str]
    ) -> tuple[dict[str, Any], tuple[str, ...], dict[str, Any] | None]:
        """The schema with its reference put in its place; or, where that would not end, what stands for it."""
        while "$ref" in schema:
            ref = schema["$ref"]
            rest = {name: value for name, value in schema.items() if name != "$ref"}
            target = referenced(self._root, ref)
            if target is None:
                words.append(f"See {_json(ref)}.")
                return rest, within, None
            if ref in within or self._nodes > _MOST_NODES:
                kind = target.get("type")
                name = str(ref).rpartition("/")[2].rstrip("#") or "the whole"
                made: dict[str, Any] = {"type": _TYPES.get(kind, "OBJECT") if isinstance(kind, str) else "OBJECT"}
                if made["type"] == "ARRAY":
                    made["items"] = {}
                words.append(f"Of the same form as {name}.")
                return schema, within, _described(made, rest.get("description"), words, nullable=False)
            within = (*within, ref)
            schema = {**target, **rest}
        return schema, within, None

    def _merged(
        self, schema: dict[str, Any], within: tuple[str, ...], words: list[str]
    ) -> tuple[dict[str, Any], tuple[str, ...]]:
        """The schema with its `allOf` taken in, as far as one schema can say what several say; and what led there."""
        parts = schema.get("allOf")
        if not isinstance(parts, list):
            return schema, within
        made = {name: value for name, value in schema.items() if name != "allOf"}
        for part in parts:
            recursive = None
            if isinstance(part, dict):
                part, within, recursive = self._followed(part, within, words)
            if recursive is None and isinstance(part, dict):
                part, within = self._merged(part, within, words)
                if _merge(made, part):
                    continue
            if recursive is None and part is not True:
                words.append(f"Must also fit: {_json(part)}.")
        return made, within

    def _alternatives(
        self, variants: list[dict[str, Any]], schema: dict[str, Any], words: list[str], nullable: bool
    ) -> dict[str, Any]:
        """One of these, with what is said of the whole."""
        if not variants:
            return _described({"type": "NULL"}, schema.get("description"), words, nullable=False)
        beside = ("title", "default", "example")
        words += [f"{name.capitalize()}: {_json(schema[name])}." for name in beside if name in schema]
        return _described({"anyOf": variants}, schema.get("description"), words, nullable)

    def _single(
        self, schema: dict[str, Any], kind: str | None, within: tuple[str, ...], words: list[str]
    ) -> dict[str, Any]:
        """A schema of one type, or of none that is known."""
        made: dict[str, Any] = {} if kind is None else {"type": _TYPES[kind]}
        for name, value in schema.items():
            if name in ("type", "description", "nullable") or name in _SILENT:
                continue
            plain = _PLAIN.get(name)
            if plain is not None and plain(value):
                made[name] = value
            elif name == "enum" and isinstance(value, list):
                _take_enum(made, value, words)
            elif name == "const":
                _take_enum(made, [value], words)
            elif name == "format" and value in _FORMATS.get(kind or "", ()):
                made["format"] = value
            elif name == "properties" and isinstance(value, dict):
                made["properties"] = {key: self.translate(inner, within) for key, inner in value.items()}
            elif name == "items" and value is False:
                words.append("No more items." if "prefixItems" in schema else "No items.")
            elif name == "items" and isinstance(value, (dict, bool)):
                made["items"] = self.translate(value, within)
            elif name == "prefixItems" or name == "items":
                words.append(f"Items, in this order: {_json(value)}.")
            elif name == "required" and isinstance(value, list):
                _take_required(made, schema, value, words)
            elif name == "propertyOrdering" and isinstance(value, list):
                made["propertyOrdering"] = value
            elif name == "additionalProperties":
                if value is not True and value != {}:
                    words.append("No other names." if value is False else f"Other names hold: {_json(value)}.")
            else:
                said = _WORDS[name](value) if name in _WORDS else f"{name}: {_json(value)}."
                words += [said] if said else []
        if kind == "array" and "items" not in made:
            made["items"] = {}  # Gemini wants it there
        if not made.get("properties", True):
            del made["properties"]
        return made


def _union(schema: dict[str, Any], words: list[str]) -> tuple[list[Any] | None, dict[str, Any]]:
    """The alternatives of a schema, and the rest of it. Beside a structure of their own they become words."""
    rest = {name: value for name, value in schema.items() if name not in ("anyOf", "oneOf")}
    union: list[Any] | None = None
    for name in ("anyOf", "oneOf"):
        variants = schema.get(name)
        if not isinstance(variants, list) or not variants:
            words += [f"{name}: {_json(variants)}."] if name in schema else []
            continue
        if union is not None or (_STRUCTURE & rest.keys() and not _is_nullable_union(variants, rest)):
            how = "exactly one" if name == "oneOf" else "one"
            words.append(f"Must also fit {how} of: {_json(variants)}.")
            continue
        union = variants
        if name == "oneOf" and sum(not _is_null(variant) for variant in variants) > 1:
            words.append("Exactly one of the alternatives fits.")
    return union, rest


def _is_nullable_union(variants: list[Any], rest: dict[str, Any]) -> bool:
    """Whether the alternatives are one schema and null, of which the first says no more than the rest leaves open."""
    kept = [variant for variant in variants if not _is_null(variant)]
    return len(kept) == 1 < len(variants) and isinstance(kept[0], dict) and not kept[0].keys() & rest.keys()


def _types_of(schema: dict[str, Any]) -> list[str]:
    sent = schema.get("type")
    names = sent if isinstance(sent, list) else [sent]
    return [name for name in dict.fromkeys(filter(_is_text, names)) if name in _TYPES]


def _implied_type(schema: dict[str, Any]) -> str | None:
    """What a schema that names no type is about."""
    if "properties" in schema or "additionalProperties" in schema:
        return "object"
    if "items" in schema or "prefixItems" in schema:
        return "array"
    values = schema.get("enum", [schema["const"]] if "const" in schema else None)
    if isinstance(values, list):
        kinds = {_kind_of(value) for value in values if value is not None}
        if values and not kinds:
            return "null"
        return kinds.pop() if len(kinds) == 1 else ("number" if kinds == {"integer", "number"} else None)
    return None


def _kind_of(value: Any) -> str:
    kinds = {str: "string", bool: "boolean", int: "integer", float: "number", list: "array", type(None): "null"}
    return kinds.get(type(value), "object")


_OF_TYPE = {
    "string": ("minLength", "maxLength", "pattern", "format"),
    "number": ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "format"),
    "integer": ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "format"),
    "array": ("items", "prefixItems", "minItems", "maxItems", "uniqueItems", "contains"),
    "object": (
        *("properties", "required", "additionalProperties", "patternProperties", "propertyNames"),
        *("minProperties", "maxProperties", "propertyOrdering"),
    ),
    "boolean": (),
}
_NARROWER = {"number": "integer"}
_OF_SOME_TYPE = frozenset(name for names in _OF_TYPE.values() for name in names)


def _of_type(schema: dict[str, Any], kind: str) -> dict[str, Any]:
    """What a schema of several types says of one of them."""
    others = (_OF_SOME_TYPE - set(_OF_TYPE[kind])) | {"type", "description", "title", "default", "example"}
    made = {"type": kind, **{name: value for name, value in schema.items() if name not in others}}
    if isinstance(made.get("enum"), list):
        made["enum"] = [item for item in made["enum"] if _kind_of(item) in (kind, _NARROWER.get(kind))]
    return made


def _merge(made: dict[str, Any], part: dict[str, Any]) -> bool:
    """Takes one schema of an `allOf` into another, or says that it cannot."""
    both = made.keys() & part.keys() - {"description", "title", "properties", "required"} - _SILENT
    if any(made[name] != part[name] for name in both):
        return False
    ours, theirs = made.get("properties", {}), part.get("properties", {})
    if not isinstance(ours, dict) or not isinstance(theirs, dict):
        return False
    if any(ours[name] != theirs[name] for name in ours.keys() & theirs.keys()):
        return False
    if ours or theirs:
        made["properties"] = {**ours, **theirs}
    needed = [*_listed(made.get("required")), *_listed(part.get("required"))]
    if needed:
        made["required"] = list(dict.fromkeys(filter(_is_text, needed)))
    said = [text for text in (made.get("description"), part.get("description")) if isinstance(text, str)]
    if said:
        made["description"] = " ".join(dict.fromkeys(said))
    for name, value in part.items():
        if name not in ("description", "properties", "required"):
            made.setdefault(name, value)
    return True


def _take_enum(made: dict[str, Any], values: list[Any], words: list[str]) -> None:
    """Gemini's enums hold strings, and no empty one."""
    kept = [value for value in values if value is not None]
    if kept and all(_is_text(value) and value for value in kept) and made.get("type") == "STRING":
        made["enum"] = list(dict.fromkeys(kept))
    elif kept:
        listed = ", ".join(map(_json, kept))
        words.append(f"Always {listed}." if len(kept) == 1 else f"One of: {_cut(listed)}.")


def _take_required(made: dict[str, Any], schema: dict[str, Any], names: list[Any], words: list[str]) -> None:
    """Gemini refuses a schema that requires what it does not describe."""
    properties = schema.get("properties")
    known = [name for name in names if _is_text(name) and isinstance(properties, dict) and name in properties]
    if known:
        made["required"] = known
    unknown = [name for name in names if name not in known]
    if unknown:
        words.append(f"Also required: {', '.join(map(_json, unknown))}.")


def _described(made: dict[str, Any], text: Any, words: list[str], nullable: bool) -> dict[str, Any]:
    """The schema with these words. `anyOf` must stand alone: there they go to the first alternative, null to each."""
    if "anyOf" in made:
        first, *others = made["anyOf"]
        whole = _described({}, text, words, nullable=False).get("description")
        return {"anyOf": [_described(one, whole if one is first else None, [], nullable) for one in (first, *others)]}
    said = [part for part in (text, made.get("description"), *words) if _is_text(part) and part]
    described = dict(made)
    if said:
        described["description"] = " ".join(dict.fromkeys(said))
    if nullable:
        described["nullable"] = True
    return described


def _text(schema: dict[str, Any], variant: Any) -> Any:
    """The description of the whole, where the one alternative that is left has its own."""
    return schema.get("description") if isinstance(variant, dict) and "description" in variant else None


def _is_null(variant: Any) -> bool:
    return isinstance(variant, dict) and variant.get("type") in ("null", ["null"])


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _json(value: Any) -> str:
    return _cut(msgspec.json.encode(value).decode())


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST_WORDS else f"{text[:_LONGEST_WORDS]}…"
