"""On which line of a TOML file each key stands, so that a message can point at it."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping

Path = tuple[str, ...]

_BLANKS = " \t"
_ENDS = frozenset(" \t\r\n.=]#")
_TRIPLE = ('"""', "'''")


def key_lines(text: str) -> dict[Path, int]:
    """The line of every key and every table of a text that is TOML; what stands in an inline table is left out."""
    found: dict[Path, int] = {}
    table: Path = ()
    at, line, counted = 0, 1, 0
    while (at := _statement(text, at)) < len(text):
        line += text.count("\n", counted, at)
        counted = at
        if text[at] == "[":
            keys, at = _keys(text, at + (2 if text[at + 1 : at + 2] == "[" else 1))
            table = keys
            found.setdefault(table, line)
            at = _line_end(text, at)
        else:
            keys, at = _keys(text, at)
            found.setdefault(table + keys, line)
            at = _value_end(text, at + 1)
    return found


def line_of(lines: Mapping[Path, int], path: Path) -> int:
    """The line of a key, or of the nearest thing around it that has one; 0 where there is none."""
    for length in range(len(path), 0, -1):
        if path[:length] in lines:
            return lines[path[:length]]
    return 0


def _statement(text: str, at: int) -> int:
    """Where the next key or table begins."""
    while at < len(text):
        if text[at] == "#":
            at = _line_end(text, at)
        elif text[at].isspace():
            at += 1
        else:
            break
    return at


def _keys(text: str, at: int) -> tuple[Path, int]:
    """The parts of a dotted key, and where it ends."""
    keys: list[str] = []
    while at < len(text):
        at = _skip(text, at)
        if text[at : at + 1] in ('"', "'"):
            end = _string_end(text, at)
            keys.append(tomllib.loads(f"key = {text[at:end]}")["key"])
        else:
            end = at
            while end < len(text) and text[end] not in _ENDS:
                end += 1
            keys.append(text[at:end])
        at = _skip(text, end)
        if text[at : at + 1] != ".":
            break
        at += 1
    return tuple(keys), at


def _value_end(text: str, at: int) -> int:
    """Where the line ends that a value ends on; a value in brackets or three quotes may have several."""
    depth = 0
    while at < len(text):
        char = text[at]
        if char in "\"'":
            at = _string_end(text, at)
            continue
        if char == "#":
            at = _line_end(text, at)
            continue
        if char == "\n" and depth == 0:
            break
        depth += (char in "[{") - (char in "]}")
        at += 1
    return at


def _string_end(text: str, at: int) -> int:
    """The place behind a string that begins at `at`."""
    quote = text[at : at + 3] if text.startswith(_TRIPLE, at) else text[at]
    at += len(quote)
    while at < len(text) and not text.startswith(quote, at):
        at += 2 if text[at] == "\\" and quote[0] == '"' else 1
    at += len(quote)
    while len(quote) == 3 and text[at : at + 1] == quote[0]:
        at += 1  # a string in three quotes may end in up to two of its own
    return min(at, len(text))


def _skip(text: str, at: int) -> int:
    while at < len(text) and text[at] in _BLANKS:
        at += 1
    return at


def _line_end(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end < 0 else end
