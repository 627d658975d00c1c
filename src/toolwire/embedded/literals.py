"""Python literals while they arrive, as JSON: `{'a': [True, None], "b": 'x'}`. JSON is among them."""

from __future__ import annotations

from ..json_reader import JsonReader
from .json_source import as_it_is
from .scanner import Scanner, Wait


def read_literal(scanner: Scanner) -> Wait[bool]:
    """Reads the literal that is next, space before it aside, and gives its JSON into the open call. (Being written.)"""
    reader = JsonReader(scanner.limits, fields=False)
    while not reader.complete and not reader.broken and (yield from scanner.more()):
        scanner.give_run(reader.skip(scanner.text, scanner.at), as_it_is)
    return reader.complete
