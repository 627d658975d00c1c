"""What the person is shown of a call: exactly what runs, with nothing hidden and nothing that a terminal obeys.

One argument after the other, as a person would write them down:

    path: docs/a.md
    lines: 5
    version: "5"
    content:
    | first line
    | second line
    options: {"force": true}

Plain text stands as it is; text that could be read as something else, and all that is no text, stands as JSON; text of
several lines is a block. Hidden characters are marks (`hidden`). No two arguments make the same text: `read_arguments`
takes it back. Every line but the first of an argument begins with `|`, a blank or a closing bracket.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import groupby
from typing import Any, NamedTuple

from ..strict_json import NotStrict, parse
from .hidden import LONGEST_RUN, MANY_LINES, mark, mark_lines, marked, unmarked

SHOWN_CHARACTERS = 10_000
"""What a person can be expected to read before they say yes."""
SHOWN_LINES = 200
SHOWN_ARGUMENTS = 20
"""Up to so many arguments, each too long one is cut by itself, so that no short one is left out beside it."""
NO_ARGUMENTS = "(no arguments)"
_LONGEST_MARK = len("‹U+10FFFF›")
_JSON_WIDTH = 72
"""JSON that is longer gets a line for each of its values."""


class Shown(NamedTuple):
    """Arguments as text. `complete`: it is all of them."""

    text: str
    complete: bool


def show_arguments(arguments: dict[str, Any]) -> Shown:
    """The arguments, readable and exact; of more than a person can read, the beginning and the end.

    Raises for what is no JSON: the gate makes a denial of that.
    """
    entries = _entries(arguments)
    whole = _joined(entries)
    if _fits(whole, SHOWN_CHARACTERS, SHOWN_LINES):
        return Shown(whole, True)
    count = len(entries)
    if count > SHOWN_ARGUMENTS:
        return Shown(_cut(whole, SHOWN_CHARACTERS, SHOWN_LINES), False)
    return Shown(_joined([_cut(entry, SHOWN_CHARACTERS // count, SHOWN_LINES // count) for entry in entries]), False)


def whole_text(arguments: dict[str, Any]) -> str:
    """The arguments, readable and exact, however long."""
    return _joined(_entries(arguments))


def read_arguments(text: str) -> dict[str, Any]:
    """The arguments that a whole text shows; `NotStrict` where it is not of that form, as after a slip of the hand."""
    arguments: dict[str, Any] = {}
    lines = text.split("\n")
    at = 0
    while at < len(lines):
        line = lines[at]
        if not line or line == NO_ARGUMENTS:
            at += 1
            continue
        try:
            name, rest = _read_name(line)
            if name in arguments:
                raise NotStrict(f"{marked(name)[:80]} is there twice")
            end = _end_of_entry(lines, at, rest)
            arguments[name] = _read_value(rest, lines[at + 1 : end])
        except NotStrict as problem:
            raise NotStrict(f"line {at + 1}: {problem}") from None
        at = end
    return arguments


def _entries(arguments: dict[str, Any]) -> list[str]:
    return [f"{_written_name(name)}:{_written(value)}" for name, value in arguments.items()]


def _joined(entries: list[str]) -> str:
    return "\n".join(entries) or NO_ARGUMENTS


def _is_plain_name(name: str) -> bool:
    return bool(name) and marked(name) == name and all(char.isalnum() or char in "_-." for char in name)


def _written_name(name: str) -> str:
    return name if _is_plain_name(name) else _json(_with_marks(name))


def _written(value: Any) -> str:
    """The value behind the colon of its name."""
    if isinstance(value, str):
        if "\n" in value:
            return "".join(f"\n| {line}" if line else "\n|" for line in _block(value))
        plain = _edged(value, both=True)
        return f" {_json(_with_marks(value))}" if not plain or _is_json(plain) else f" {plain}"
    tree = _with_marks(value)
    written = _json(tree)
    if len(written) > _JSON_WIDTH and isinstance(tree, list | dict):
        written = _json(tree, indent=2)
    return f" {written}"


def _block(text: str) -> Iterator[str]:
    """The lines of a block, and one line for many empty ones."""
    for is_empty, group in groupby(text.split("\n"), "".__eq__):
        lines = list(group)
        while is_empty and len(lines) >= MANY_LINES:
            at_once = min(len(lines), LONGEST_RUN)
            yield mark_lines(at_once)
            del lines[:at_once]
        yield from map(_edged, lines)


def _edged(line: str, *, both: bool = False) -> str:
    """A line with marks, also for a blank at its end (or at both ends), where nobody would see it."""
    first = mark(" ") if both and line.startswith(" ") and len(line) > 1 else ""
    last = mark(" ") if line.endswith(" ") else ""
    return f"{first}{marked(line[bool(first) : len(line) - bool(last)])}{last}"


def _json(tree: Any, indent: int | None = None) -> str:
    return json.dumps(tree, ensure_ascii=False, allow_nan=False, indent=indent)


def _with_marks(value: Any) -> Any:
    """The same with marks in every text; line ends stay, for JSON to write."""
    if isinstance(value, str):
        return "\n".join(map(marked, value.split("\n")))
    if isinstance(value, dict):
        return {_with_marks(_text(name)): _with_marks(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_with_marks(item) for item in value]
    if value is None or isinstance(value, bool | int | float):
        return value
    raise TypeError(f"{type(value).__name__} is no JSON")


def _text(name: Any) -> str:
    if not isinstance(name, str):
        raise TypeError(f"{type(name).__name__} is no name of a JSON object")
    return name


def _without_marks(value: Any) -> Any:
    if isinstance(value, str):
        return unmarked(value)
    if isinstance(value, dict):
        return {unmarked(name): _without_marks(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_without_marks(item) for item in value]
    return value


def _is_json(text: str) -> bool:
    """Whether a value on one line is read as JSON."""
    if text[0] in '"[{':
        return True
    if text[0] not in "-0123456789tfn":
        return False
    try:
        parse(text)
    except NotStrict:
        return False
    return True


def _read_name(line: str) -> tuple[str, str]:
    if line.startswith('"'):
        try:
            name, end = json.JSONDecoder().raw_decode(line)
        except ValueError:
            raise NotStrict("the name in quotes does not end, or is no JSON") from None
        name = unmarked(name)
    else:
        name, end = line.partition(":")[0], line.find(":")
        if not _is_plain_name(name):
            raise NotStrict("no argument begins here: `name: value` is one, and lines of a block begin with `| `")
    if line[end : end + 1] != ":" or line[end + 1 : end + 2] not in ("", " "):
        raise NotStrict("behind the name there must be a colon, and a blank before the value")
    return name, line[end + 1 :]


def _end_of_entry(lines: list[str], at: int, rest: str) -> int:
    """The line behind the argument that begins at `at`."""
    end = at + 1
    if not rest:
        while end < len(lines) and (lines[end] == "|" or lines[end].startswith("| ")):
            end += 1
        if end == at + 1:
            raise NotStrict('the value is missing; an empty text is ""')
    elif rest in (" [", " {"):
        while end < len(lines) and not lines[end].startswith(("]", "}")):
            end += 1
        end = min(end + 1, len(lines))
    return end


def _read_value(rest: str, below: list[str]) -> Any:
    if not rest:
        return "\n".join(unmarked(line[2:]) for line in below)
    value = rest[1:]
    if not value:
        raise NotStrict('the value is missing; an empty text is ""')
    if _is_json(value):
        return _without_marks(parse("\n".join([value, *below])))
    return unmarked(value)


def _fits(text: str, characters: int, lines: int) -> bool:
    return len(text) <= characters and text.count("\n") < lines


def _cut(text: str, characters: int, lines: int) -> str:
    """The beginning and the end, and between them how many characters are left out, on a line of its own.

    Where the end begins in the middle of a line, it begins with `…`: no piece of a value stands where a name would.
    """
    if _fits(text, characters, lines):
        return text
    first = max(lines * 2 // 3, 1)
    head = "\n".join(text[: characters * 2 // 3].split("\n", first)[:first])
    last = max(lines // 3, 1)
    tail = "\n".join(text[max(len(head), len(text) - characters // 3) :].rsplit("\n", last)[-last:])
    opened = head.rfind("‹")
    if opened > head.rfind("›"):
        head = head[:opened]
    closed = tail[:_LONGEST_MARK].find("›")
    if closed >= 0 and "‹" not in tail[:closed]:
        tail = tail[closed + 1 :]
    left = len(text) - len(head) - len(tail)
    middle = "" if text[len(text) - len(tail) - 1] == "\n" else "…"
    return f"{head}\n… {left:,} characters left out …\n{middle}{tail}"
