"""What the arguments of a call may be, bounded by the words of the question.

Left alone the model copies values out of its examples or invents them. So the schema it is held to while it writes
(llama.cpp turns it into a grammar) is made smaller: a number is one of the question's numbers, a path one of its paths,
any other string a stretch of its words. The model still writes the call, token by token; it only cannot write a value
the question does not offer. The tool's own schema is untouched: the call is checked against it as any other.
"""

from __future__ import annotations

from typing import Any

from .places import AREAS, ZONES
from .question import MAX_CHARACTERS, Question, is_path_name
from .vocabulary import COMPOSED_WORDS, NOT_FOLDERS, STOP_WORDS

MAX_CHOICES = 160


def narrow(schema: object, question: Question) -> dict[str, Any]:
    """The schema with only the parameters the question speaks of, each bounded to what it offers."""
    if not isinstance(schema, dict) or not isinstance(schema.get("properties"), dict):
        return {"type": "object", "properties": {}}
    properties: dict[str, Any] = schema["properties"]
    required = [key for key in schema.get("required", ()) if key in properties]
    optional = [key for key in properties if key not in required and _mentioned(key, properties[key], question)]
    if not required and not optional:
        optional = [key for key in properties if plain_type(properties[key]) == "string"][:1]
    kept = [key for key in properties if key in required or key in optional]
    narrowed = {key: _narrow_property(key, properties[key], question) for key in kept}
    return {**schema, "properties": narrowed, "required": kept}


def _mentioned(key: str, value: object, question: Question) -> bool:
    words = {word for word in key.lower().replace("-", "_").split("_") if word not in STOP_WORDS}
    if words & question.lower:
        return plain_type(value) not in {"number", "integer"} or bool(question.numbers)
    choices = value.get("enum", ()) if isinstance(value, dict) else ()
    return any(isinstance(choice, str) and choice.lower() in question.lower for choice in choices)


def plain_type(value: object) -> str:
    """The one JSON type of a property besides null, written as `type` or as `anyOf`."""
    if not isinstance(value, dict):
        return ""
    kinds = value.get("type", [plain_type(option) for option in value.get("anyOf", ())])
    named = [kinds] if isinstance(kinds, str) else [kind for kind in kinds if kind != "null"]
    return str(named[0]) if len(named) == 1 else ""


def _narrow_property(key: str, value: object, question: Question) -> object:
    if not isinstance(value, dict) or any(word in value for word in ("const", "pattern", "format", "$ref")):
        return value
    if "enum" in value:
        named = [c for c in value["enum"] if isinstance(c, str) and c.lower() in question.lower]
        return {**value, "enum": named} if named else value
    kind = plain_type(value)
    if kind in {"number", "integer"}:
        numbers = [n for n in question.numbers if kind == "number" or isinstance(n, int)]
        return {"type": kind, "enum": numbers} if numbers else value
    if kind == "array" and isinstance(value.get("items"), dict):
        return {**value, "items": _narrow_property(key, value["items"], question), "maxItems": _few(value)}
    if kind != "string":
        return value
    words = set(key.lower().replace("-", "_").split("_"))
    if words & {"expression", "formula", "equation", "calculation"}:
        return _expression(question)
    shortest, longest = value.get("minLength", 0), value.get("maxLength", MAX_CHARACTERS)
    choices = [choice for choice in _choices(words, value, question) if shortest <= len(choice) <= longest]
    return {"type": "string", "enum": choices} if 0 < len(choices) <= MAX_CHOICES else value


def _few(value: dict[str, Any]) -> int:
    """Left alone the model never ends a list."""
    return int(max(min(value.get("maxItems", 4), 4), value.get("minItems", 0)))


def _choices(words: set[str], value: dict[str, Any], question: Question) -> list[str]:
    if words & COMPOSED_WORDS and question.quotations:
        return question.quotations
    if words & {"zone", "timezone", "tz"}:
        return _zones(value, question)
    if words & {"unit", "units"}:
        return _units(words, question)
    if words & {"folder", "directory", "dir"}:
        return _folders(value, question)
    if is_path_name("_".join(words)) and question.paths:
        return question.paths
    if words & {"query", "search", "topic"} and question.subject:
        return [question.subject]
    spans = question.spans()
    if len(spans) > MAX_CHOICES:
        spans = question.spans(longest=3)
    return spans


def _expression(question: Question) -> dict[str, Any]:
    """The arithmetic as it stands or, where it is put in words, any working with the question's own numbers."""
    if question.arithmetic:
        return {"type": "string", "enum": [question.arithmetic]}
    if question.asks_root:
        return {"type": "string", "enum": [f"sqrt({question.numbers[0]})"]}
    if not question.numbers:
        return {"type": "string"}
    percent = "%" in question.tokens or "percent" in question.lower
    numbers = [str(number).replace(".", "\\.") for number in question.numbers] + (["100"] if percent else [])
    number = f"({'|'.join(numbers)})"
    times = f"{{1,{max(len(numbers) - 1, 1)}}}"
    return {"type": "string", "pattern": f"^{number}( [-+*/] {number}){times}$"}


def _zones(value: dict[str, Any], question: Question) -> list[str]:
    """The zones of the places named; a place not in the table as it is or, if a city will not do, in any area."""
    written = [word for word in question.paths if word.split("/")[0] in AREAS]
    if written:
        return written
    words = [word.lower() for word in question.words]
    for length in (3, 2, 1):
        joined = ("_".join(words[start : start + length]) for start in range(len(words) - length + 1))
        known = [ZONES[name] for name in joined if name in ZONES]
        if known:
            return list(dict.fromkeys(known))
    if question.places and "city" in str(value.get("description", "")).lower():
        return question.places
    places = [place.title().replace(" ", "_") for place in question.places]
    return [f"{area}/{place}" for place in places for area in AREAS] or ["UTC"]


def _units(words: set[str], question: Question) -> list[str]:
    measured, others = question.units
    if words & {"from", "source"}:
        return measured[:1] or others
    if words & {"to", "target", "into"}:
        return measured[1:] + others or measured
    return measured + others


def _folders(value: dict[str, Any], question: Question) -> list[str]:
    if question.paths:
        return question.paths
    here = str(value.get("default", "."))
    named = [
        word
        for before, word in zip(question.words, question.words[1:], strict=False)
        if before.lower() in {"in", "of", "the", "folder", "directory", "dir", "inside", "from", "at"}
        and word.lower() not in NOT_FOLDERS
    ]
    return named or [here]
