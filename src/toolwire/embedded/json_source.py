"""JSON read through a scanner: values whose end must be found while they arrive, members one by one."""

from __future__ import annotations

import json

from ..json_reader import JsonReader
from ..strict_json import NotStrict, parse
from .scanner import Scanner, Wait


def as_it_is(text: str) -> str:
    """JSON that is passed on unchanged."""
    return text


def quote(text: str) -> str:
    """Text as a stretch of a JSON string, without the quotes around it."""
    return json.dumps(text, ensure_ascii=False)[1:-1]


def read_value(scanner: Scanner, *, give: bool) -> Wait[bool]:
    """Reads the JSON value that is next, with space before it; False if there is none or the answer ends first.

    With `give` it flows into the open call's arguments as it comes; otherwise it is held, and a value over the bound
    on what is held counts as none. Where it says False, what was read up to the fault stays read.
    """
    if not give:
        return (yield from read_raw(scanner)) is not None
    reader = JsonReader(scanner.limits, fields=False)
    while (yield from scanner.more()):
        scanner.give_run(reader.skip(scanner.text, scanner.at), as_it_is)
        if reader.complete:
            return True
        if reader.broken:
            return False
    return False


def read_as_text(scanner: Scanner) -> Wait[bool]:
    """As `read_value`, of a value that is no call's: it is given as text as it comes."""
    reader = JsonReader(scanner.limits, fields=False)
    while (yield from scanner.more()):
        scanner.read_to(reader.skip(scanner.text, scanner.at))
        scanner.give_text()
        if reader.complete:
            return True
        if reader.broken:
            return False
    return False


def read_raw(scanner: Scanner) -> Wait[str | None]:
    """As `read_value` without `give`: the text of the value, None if there is none."""
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
