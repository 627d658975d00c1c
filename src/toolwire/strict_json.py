"""Strict JSON for arguments that will be executed: one meaning, or none.

Refused are the things on which parsers disagree or that a tool could not be handed faithfully: duplicate keys, NaN
and infinities (written or by overflow), bytes after the value, lone surrogates, nesting over the limit.
"""

from __future__ import annotations

import json
from typing import Any, NoReturn

from .limits import DEFAULT_LIMITS, Limits

BLANKS = " \t\n\r"
"""White space in JSON. What else Unicode counts as such is a character like any other, and no JSON."""


class NotStrict(ValueError):
    """Why a text is no strict JSON, in words for a person or a model. Internal: it becomes a call's `problem`."""


def parse_arguments(text: str, limits: Limits = DEFAULT_LIMITS) -> dict[str, Any]:
    """The arguments of a call as an object.

    No text at all, and `null`, mean a call without arguments: that is what providers send for tools that take none.
    """
    if not text.strip(BLANKS):
        return {}
    value = parse(text, limits)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise NotStrict(f"the arguments must be a JSON object, not {_kind(value)}")
    return value


def _fault(error: json.JSONDecodeError) -> tuple[str, int]:
    """What is wrong and where, in the same words on every version of Python: a model is told."""
    words = error.msg.removesuffix(" at")
    if not words.startswith("Illegal trailing comma"):
        return words, error.pos
    # Python 3.13 and later find the comma; those before find what comes after it.
    rest = error.doc[error.pos + 1 :]
    position = error.pos + 1 + len(rest) - len(rest.lstrip(BLANKS))
    is_object = words.endswith("object")
    return "Expecting property name enclosed in double quotes" if is_object else "Expecting value", position


def parse(text: str, limits: Limits = DEFAULT_LIMITS) -> Any:
    """The one value that `text` is; `NotStrict` otherwise. Linear in the length of the text."""
    try:
        value = _DECODER.decode(text)
    except NotStrict:
        raise
    except json.JSONDecodeError as error:
        fault, position = _fault(error)
        raise NotStrict(f"the arguments are not valid JSON: {fault} at character {position}") from None
    except RecursionError:
        raise NotStrict(f"the arguments are nested deeper than {limits.depth} levels") from None
    except ValueError as error:
        raise NotStrict(f"the arguments hold a number that cannot be read: {error}") from None
    _check(value, limits.depth)
    return value


def _check(value: Any, deepest: int) -> None:
    """Depth and text of the whole value, without recursion."""
    level: list[Any] = [value]
    depth = 0
    while level:
        below: list[Any] = []
        for item in level:
            if isinstance(item, str):
                _check_text(item)
            elif isinstance(item, dict):
                for key in item:
                    _check_text(key)
                below.extend(item.values())
            elif isinstance(item, list):
                below.extend(item)
        if any(isinstance(item, (dict, list)) for item in level):
            depth += 1
            if depth > deepest:
                raise NotStrict(f"the arguments are nested deeper than {deepest} levels")
        level = below


def _check_text(text: str) -> None:
    if text.isascii():
        return
    try:
        text.encode()
    except UnicodeEncodeError:
        raise NotStrict("the arguments hold half of a surrogate pair, which is no text") from None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise NotStrict(f"the arguments name {key[:80]!r} twice")
            seen.add(key)
    return made


def _finite(text: str) -> float:
    number = float(text)
    if number - number != 0.0:
        raise NotStrict(f"the arguments hold the number {text[:40]}, which is too large")
    return number


def _constant(name: str) -> NoReturn:
    raise NotStrict(f"the arguments hold {name}, which is no JSON")


_DECODER = json.JSONDecoder(object_pairs_hook=_unique, parse_float=_finite, parse_constant=_constant)


def _kind(value: Any) -> str:
    return {str: "a string", bool: "true or false", list: "a list"}.get(type(value), "a number")
