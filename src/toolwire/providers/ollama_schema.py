"""JSON Schema → what Ollama reads of it.

Ollama reads the parameters of a tool into a form of its own and shows the model that: of each property its type,
description, enum, anyOf, items, properties and required. Whatever else a schema says is dropped without a word, a
`$ref` too, and a part of another type refuses the whole request. So references are put in place, and the rest is
said in the description, where the model sees it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..errors import ConfigError
from .json_schema import in_words, referenced

_SILENT = frozenset({"title", "$schema", "$id", "$anchor", "$comment", "$defs", "definitions", "$ref"})
"""What says nothing about a value, and references, which are put in place."""
_MOST_PLACES = 2_000
_MOST_DEPTH = 64
"""Places in all, and places within one another, after which a reference is only named: each may hold others."""


def ollama_tool(name: str, description: str, parameters: dict[str, Any]) -> dict[str, Any]:
    """One entry of `tools`."""
    try:
        schema = _Rewriting(parameters).schema(parameters, ())
    except RecursionError:
        raise ConfigError(
            f"the parameters of {name} are nested too deeply to rewrite for Ollama",
            hint="Make the schema flatter: models read shallow ones better too.",
        ) from None
    words = schema.pop("description", "")
    others = {key: value for key, value in schema.items() if key not in ("type", "properties", "required")}
    kept: dict[str, Any] = {"type": "object", "properties": schema.get("properties", {})}
    if "required" in schema:
        kept["required"] = schema["required"]
    return {
        "type": "function",
        "function": {"name": name, "description": _joined(description, words, in_words(others)), "parameters": kept},
    }


class _Rewriting:
    """One tool's schema while it is rewritten: the places so far, and where references lead."""

    def __init__(self, root: dict[str, Any]) -> None:
        self._root = root
        self._places = 0
        self._depth = 0

    def schema(self, schema: Any, within: tuple[str, ...]) -> dict[str, Any]:
        """One schema with only what Ollama reads. `within` are the references that led here."""
        if not isinstance(schema, dict):
            return {"description": "Nothing is allowed here."} if schema is False else {}
        self._places += 1
        self._depth += 1
        made: dict[str, Any] = {}
        others: dict[str, Any] = {}
        for key, value in schema.items():
            if key in _READERS and _READERS[key](value):
                made[key] = self._member(key, value, within)
            elif key == "const":
                made.setdefault("enum", [value])
            elif key == "oneOf" and isinstance(value, list) and "anyOf" not in schema:
                made["anyOf"] = self._member("anyOf", value, within)
            elif not (key in _SILENT or (key == "allOf" and _wraps_one(schema)) or _is_closing(key, value)):
                others[key] = self._resolved(value, within)
        reference = schema.get("$ref")
        base = self._target(reference, within)
        if _wraps_one(schema):
            base = self.schema(schema["allOf"][0], within)
        named = f"As {_last(reference)}." if base is None and isinstance(reference, str) else ""
        base = base or {}
        words = _joined(base.get("description", ""), made.get("description", ""), named, in_words(others))
        made = {**base, **made}
        made.pop("description", None)
        if words:
            made["description"] = words
        self._depth -= 1
        return made

    def _member(self, key: str, value: Any, within: tuple[str, ...]) -> Any:
        if key == "properties":
            return {name: self.schema(item, within) for name, item in value.items()}
        if key == "anyOf":
            return [self.schema(item, within) for item in value]
        return self.schema(value, within) if key == "items" else value

    def _resolved(self, value: Any, within: tuple[str, ...]) -> Any:
        """A value that will only be said, with its references in place: what they name is not sent."""
        if isinstance(value, list):
            return [self._resolved(item, within) for item in value]
        if not isinstance(value, dict):
            return value
        if isinstance(value.get("$ref"), str):
            return self.schema(value, within)
        return {key: self._resolved(item, within) for key, item in value.items()}

    def _target(self, reference: Any, within: tuple[str, ...]) -> dict[str, Any] | None:
        """What a reference leads to, rewritten; None where it leads nowhere, to itself, or to too much."""
        if reference in within or self._depth > _MOST_DEPTH or self._places > _MOST_PLACES:
            return None
        found = referenced(self._root, reference)
        return None if found is None else self.schema(found, (*within, reference))


def _is_names(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


_READERS: dict[str, Callable[[Any], bool]] = {
    "type": lambda value: isinstance(value, str) or _is_names(value),
    "description": lambda value: isinstance(value, str),
    "enum": lambda value: isinstance(value, list),
    "anyOf": lambda value: isinstance(value, list),
    "items": lambda value: isinstance(value, (dict, bool)),
    "properties": lambda value: isinstance(value, dict),
    "required": _is_names,
}
"""The members of a schema that Ollama reads, and whether a value is of the type that it reads there."""


def _is_closing(key: str, value: Any) -> bool:
    """Whether this only says that there are no more properties, which the list of them says to a model anyway."""
    return key == "additionalProperties" and value is False


def _wraps_one(schema: dict[str, Any]) -> bool:
    """Whether its `allOf` holds one schema alone: the older way to say something beside a reference."""
    return isinstance(schema.get("allOf"), list) and len(schema["allOf"]) == 1 and "$ref" not in schema


def _last(reference: str) -> str:
    return reference.rsplit("/", 1)[-1] or reference


def _joined(*texts: str) -> str:
    """Descriptions one after the other, each of them once."""
    kept: list[str] = []
    for text in texts:
        if text and text not in kept:
            kept.append(text)
    return "\n".join(kept)
