"""JSON read through a scanner: values whose end must be found while they arrive, members one by one."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from ..json_reader import JsonReader
from ..strict_json import NotStrict, parse
from .scanner import Scanner, Wait

_encode = json.JSONEncoder(ensure_ascii=False).encode


def as_it_is(text: str) -> str:
    """JSON that is passed on unchanged."""
    return text


def quote(text: str) -> str:
    """Text as a stretch of a JSON string, without the quotes around it."""
    return json_text(text)[1:-1]


def json_text(value: Any) -> str:
    """A value as JSON on one line, letters of all scripts as they are."""
    return _encode(value)


def written(value: Any) -> str:
    """A value where text stands without quotes: strings as they are, everything else as JSON."""
    return value if isinstance(value, str) else json_text(value)


def into(collected: list[str]) -> Callable[[str], str]:
    """What keeps text that adds nothing to a call yet."""

    def take(text: str) -> str:
        collected.append(text)
        return ""

    return take


def read_value(scanner: Scanner, give: Callable[[int], None] | None = None) -> Wait[bool]:
    """Reads the JSON value that is next, with space before it; False if there is none or the answer ends first.

    It is not held. While it comes it flows into the open call's arguments as it is; or `give` takes it on to a place in
    `text`, again and again. Where this says False, what was read up to the fault stays read.
    """
    reader = JsonReader(scanner.limits, fields=False)
    yield from read_on(scanner, reader, give or (lambda at: scanner.give_run(at, as_it_is)))
    return reader.complete


def read_on(scanner: Scanner, reader: JsonReader, give: Callable[[int], None]) -> Wait[None]:
    """As `read_value`, of a value that `reader` may have seen the beginning of."""
    while not reader.complete and not reader.broken and (yield from scanner.more()):
        give(reader.skip(scanner.text, scanner.at))


def read_raw(scanner: Scanner) -> Wait[str | None]:
    """Reads the JSON value that is next, with space before it, and holds it: its text.

    None if there is none, the answer ends first, or more is held than may be.
    """
    reader = JsonReader(scanner.limits, fields=False)
    pieces: list[str] = []
    while (yield from scanner.more()):
        # No further than just over the bound, so that every cut ends at the same character.
        end = scanner.at + scanner.limits.held + 1 - scanner.held_length
        text = scanner.text if end >= len(scanner.text) else scanner.text[:end]
        pieces.append(scanner.read_to(reader.skip(text, scanner.at)))
        if reader.broken or scanner.over_held():
            return None
        if reader.complete:
            return "".join(pieces).strip()
    return None


def read_string(scanner: Scanner) -> Wait[str | None]:
    """Reads the JSON string that is next, space before it: what it says, None if there is none."""
    yield from scanner.read_space()
    if (yield from scanner.need(1)) != '"':
        return None
    raw = yield from read_raw(scanner)
    return None if raw is None else decoded(raw)


def decoded(raw: str) -> str | None:
    """What a JSON string says; None if this is none."""
    try:
        value = parse(raw)
    except NotStrict:
        return None
    return value if isinstance(value, str) else None


def read_mark(scanner: Scanner, mark: str) -> Wait[bool]:
    """Reads this character, with space before it, if it is next."""
    yield from scanner.read_space()
    return (yield from scanner.read_literal(mark))


def read_key(scanner: Scanner) -> Wait[str | None]:
    """Reads the name of an object's next member and the colon after it; None if there is none."""
    key = yield from read_string(scanner)
    if key is None or not (yield from read_mark(scanner, ":")):
        return None
    return key
