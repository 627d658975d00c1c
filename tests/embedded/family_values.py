"""Values as models write them: JSON, Python literals, raw text; and which values a syntax has no way to say."""

from __future__ import annotations

import json
import keyword
import random
from collections.abc import Callable
from typing import Any, NamedTuple

from toolwire import ToolDefinition


class Call(NamedTuple):
    """A call that is to be written, and the id that its text gives it, if the family writes ids."""

    tool: ToolDefinition
    arguments: dict[str, Any]
    call_id: str = ""

    @property
    def name(self) -> str:
        return self.tool.name


Sayable = Callable[[Call], bool]
"""Whether a syntax can say this call."""


def json_of(rng: random.Random, value: Any) -> str:
    """JSON, spaced and escaped in one of the ways that models have."""
    style = rng.random()
    ascii_only = rng.random() < 0.3
    if style < 0.6:
        return json.dumps(value, ensure_ascii=ascii_only)
    if style < 0.9:
        return json.dumps(value, ensure_ascii=ascii_only, separators=(",", ":"))
    return json.dumps(value, ensure_ascii=ascii_only, indent=rng.choice((1, 4)))


def object_of(
    rng: random.Random, name: str, call: Call, arguments: str, call_id: str = "", *, usual: bool = False
) -> str:
    """The object that is a call: members in the usual order, now and then the other way round."""
    members = [(name, json.dumps(call.name)), (arguments, json_of(rng, call.arguments))]
    if not usual and rng.random() < 0.05:
        members.reverse()
    if call_id:
        members.insert(rng.choice((0, 2)), (call_id, json.dumps(call.call_id)))
    colon, comma = rng.choice(((": ", ", "), (":", ","), (" : ", " ,\n")))
    inner = comma.join(f'"{key}"{colon}{value}' for key, value in members)
    return f"{{{inner}}}"


def python_of(rng: random.Random, value: Any) -> str:
    """A Python literal."""
    if isinstance(value, str):
        return repr(value) if rng.random() < 0.5 else json.dumps(value, ensure_ascii=rng.random() < 0.3)
    if isinstance(value, list):
        inner = rng.choice((", ", ",")).join(python_of(rng, item) for item in value)
        if value and rng.random() < 0.1:
            return f"({inner},)"
        return f"[{inner}]"
    if isinstance(value, dict):
        pairs = [f"{python_of(rng, key)}{rng.choice((': ', ':'))}{python_of(rng, item)}" for key, item in value.items()]
        return f"{{{', '.join(pairs)}}}"
    return repr(value)


def expression_of(rng: random.Random, call: Call) -> str:
    """`f(a="x", n=3)`."""
    equals = "=" if rng.random() < 0.9 else " = "
    inner = ", ".join(f"{key}{equals}{python_of(rng, value)}" for key, value in call.arguments.items())
    return f"{call.name}({inner})"


def gemma_of(value: Any, quote: str) -> str:
    """Gemma's own literals: strings between marks, keys bare."""
    if isinstance(value, str):
        return f"{quote}{value}{quote}"
    if isinstance(value, list):
        return f"[{','.join(gemma_of(item, quote) for item in value)}]"
    if isinstance(value, dict):
        return f"{{{','.join(f'{key}:{gemma_of(item, quote)}' for key, item in value.items())}}}"
    return json.dumps(value)


def raw_of(rng: random.Random, value: Any) -> str:
    """A value between tags: a string as it is, everything else as JSON."""
    return value if isinstance(value, str) else json_of(rng, value)


# What can be said


def anything(_: Call) -> bool:
    return True


def is_word(key: str) -> bool:
    return key.replace("-", "_").replace(".", "_").isidentifier()


def expression_sayable(call: Call) -> bool:
    """Names and keys are Python's."""
    names = [*call.name.split("."), *call.arguments]
    return all(name.isidentifier() and not keyword.iskeyword(name) for name in names)


def strings_in(value: Any) -> list[str]:
    """All strings in a value that are no keys."""
    if isinstance(value, str):
        return [value]
    inner = value if isinstance(value, list) else list(value.values()) if isinstance(value, dict) else []
    return [string for item in inner for string in strings_in(item)]


def keys_in(value: Any) -> list[str]:
    """All keys of the objects in a value."""
    if isinstance(value, list):
        return [key for item in value for key in keys_in(item)]
    if isinstance(value, dict):
        return [*value, *(key for item in value.values() for key in keys_in(item))]
    return []


def gemma_sayable(quote: str) -> Sayable:
    def sayable(call: Call) -> bool:
        return all(is_word(key) for key in keys_in(call.arguments)) and not any(
            quote in string for string in strings_in(call.arguments)
        )

    return sayable


def attributes_sayable(key: str) -> bool:
    """Between quotes in a tag, where nothing is escaped."""
    return bool(key) and not any(mark in key for mark in "\"<>&\n\\'")


def raw_sayable(*closings: str, keys: Callable[[str], bool] = attributes_sayable, edges: str = "") -> Sayable:
    """Untyped raw text: none of `closings` in it, none of `edges` at its ends, and a type that the text alone does not
    leave open: what is no string must stand where the schema allows no string like it.
    """

    def sayable(call: Call) -> bool:
        return all(
            keys(key)
            and not any(closing in raw_text(value) for closing in closings)
            and not (isinstance(value, str) and (value[:1] in edges or value[-1:] in edges) and value)
            and (isinstance(value, str) or not fits(call, {**call.arguments, key: raw_text(value)}))
            for key, value in call.arguments.items()
        )

    return sayable


def typed_sayable(*closings: str, keys: Callable[[str], bool] = attributes_sayable) -> Sayable:
    """As raw text whose type stands beside it."""

    def sayable(call: Call) -> bool:
        return all(
            keys(key) and not (isinstance(value, str) and any(closing in value for closing in closings))
            for key, value in call.arguments.items()
        )

    return sayable


def raw_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def fits(call: Call, arguments: dict[str, Any]) -> bool:
    return call.tool.problem(arguments) is None


def nested_sayable(closing: str) -> Sayable:
    """Elements in elements: as `raw_sayable`, at every depth."""

    def sayable(call: Call) -> bool:
        if not all(map(is_word, keys_in(call.arguments))) or "item" in keys_in(call.tool.parameters):
            return False
        if _mixes(call.tool.parameters) and any(isinstance(value, (list, dict)) for value in call.arguments.values()):
            return False
        return all(_nested(call, call.arguments, (key,), closing) for key in call.arguments)

    return sayable


_PLAIN = ("string", "integer", "number", "boolean", "null")


def _mixes(schema: Any) -> bool:
    """Whether a value may be one of several objects or arrays: which of them it is shows only at its end, so that
    what is in it is text wherever one of them allows text.
    """
    if isinstance(schema, list):
        return any(map(_mixes, schema))
    if not isinstance(schema, dict):
        return False
    ways = [each for each in schema.get("anyOf", ()) if not {"enum", "const"} & each.keys()]
    return sum(each.get("type") not in _PLAIN for each in ways) > 1 or any(map(_mixes, schema.values()))


def _nested(call: Call, inside: Any, path: tuple[str | int, ...], closing: str) -> bool:
    value = inside[path[-1]]
    if isinstance(value, str):
        return closing not in value
    for other in (raw_text(value), "", "x"):
        if fits(call, _with(call.arguments, path, other)):
            return False
    if isinstance(value, (list, dict)):
        other_kind: Any = {} if isinstance(value, list) else []
        if fits(call, _with(call.arguments, path, other_kind)):
            return False
        keys: list[Any] = list(range(len(value))) if isinstance(value, list) else list(value)
        return all(_nested(call, value, (*path, key), closing) for key in keys)
    return True


def _with(value: Any, path: tuple[str | int, ...], other: Any) -> Any:
    if not path:
        return other
    if isinstance(value, list):
        return [_with(item, path[1:], other) if at == path[0] else item for at, item in enumerate(value)]
    return {key: _with(item, path[1:], other) if key == path[0] else item for key, item in value.items()}
