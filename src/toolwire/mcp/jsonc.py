"""JSON as editors keep it in their settings: with comments, and a comma behind the last of a list.

Comments become blanks of the same length, so that every position in the plain JSON is one in the file as well: an error
can name its line, and one entry can be put in or taken out while all else stays as it was written.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from json import decoder
from typing import Any, NamedTuple, NoReturn

DEPTH = 64
"""Brackets in brackets: many times what a file of servers needs."""

_BLANK = " \t\r\n"
_scan: Callable[[str, int], tuple[str, int]] = decoder.scanstring  # type: ignore[attr-defined]


class NotJson(ValueError):
    """Why a text is no JSON, in words that follow "is not JSON: "."""


class Member(NamedTuple):
    """One `key: value` of an object and where it stands."""

    key: str
    start: int
    """Where the key begins, with its quote."""
    value: int
    end: int
    """Behind the value."""


def parse(text: str) -> Any:
    """The value that a text is, one meaning or none: a key that is there twice is a fault."""
    plain = blanked(text)
    try:
        return _DECODER.decode(plain)
    except NotJson:
        raise
    except json.JSONDecodeError as error:
        raise NotJson(f"{error.msg.removesuffix(' at')} at line {error.lineno}, column {error.colno}") from None
    except (ValueError, RecursionError):
        raise NotJson("it holds a number that nobody can read") from None


def blanked(text: str) -> str:
    """The text with blanks for comments and for a comma before a closing bracket: each other character in its place."""
    made = list(text)
    at = depth = 0
    last, comma = "", -1
    while at < len(text):
        char = text[at]
        if char in _BLANK:
            at += 1
            continue
        if char == "/":
            end = _comment_end(text, at)
            made[at:end] = (each if each in "\r\n" else " " for each in text[at:end])
            at = end
            continue
        if char in "}]" and comma >= 0:
            made[comma] = " "
        # `[,]` holds nothing that could have a comma behind it.
        comma = at if char == "," and last not in ("", ",", ":", "{", "[") else -1
        depth += (char in "{[") - (char in "}]")
        if depth > DEPTH:
            raise NotJson(f"it is nested deeper than {DEPTH} levels at line {_line(text, at)}")
        last = char
        at = _string_end(text, at) if char == '"' else at + 1
    return "".join(made)


def members(plain: str, at: int = 0) -> list[Member]:
    """What the object at `at` holds. `plain` is a text without comments that was parsed before."""
    found: list[Member] = []
    at = _skip(plain, at) + 1
    while plain[at := _skip(plain, at)] != "}":
        if plain[at] == ",":
            at = _skip(plain, at + 1)
        start = at
        key, at = _scan(plain, at + 1)
        value = _skip(plain, _skip(plain, at) + 1)
        _, at = _DECODER.raw_decode(plain, value)
        found.append(Member(key, start, value, at))
    return found


def _comment_end(text: str, at: int) -> int:
    mark = text[at : at + 2]
    if mark == "//":
        ends = [end for end in (text.find("\n", at), text.find("\r", at)) if end >= 0]
        return min(ends, default=len(text))
    end = text.find("*/", at + 2)
    if mark != "/*" or end < 0:
        raise NotJson(f"{'a comment without an end' if mark == '/*' else 'a slash'} at line {_line(text, at)}")
    return end + 2


def _string_end(text: str, at: int) -> int:
    while True:
        quote = text.find('"', at + 1)
        if quote < 0:
            return len(text)
        slashes = quote
        while text[slashes - 1] == "\\":
            slashes -= 1
        if (quote - slashes) % 2 == 0:
            return quote + 1
        at = quote


def _skip(text: str, at: int) -> int:
    while text[at] in _BLANK:
        at += 1
    return at


def _line(text: str, at: int) -> int:
    return text.count("\n", 0, at) + 1


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for key, value in pairs:
        if key in made:
            raise NotJson(f"{key[:80]!r} is there twice in one place")
        made[key] = value
    return made


def _constant(name: str) -> NoReturn:
    raise NotJson(f"it holds {name}")


_DECODER = json.JSONDecoder(object_pairs_hook=_unique, parse_constant=_constant)
