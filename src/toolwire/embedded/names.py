"""Names, and other short runs of characters that something known ends."""

from __future__ import annotations

from .scanner import Scanner, Wait

_NOT_IN_NAMES = "\r\n<>"


class Except:
    """All characters but these."""

    def __init__(self, stops: str) -> None:
        self._stops = frozenset(stops)

    def __contains__(self, character: object) -> bool:
        return character not in self._stops


def read_run(scanner: Scanner, stops: str, longest: int) -> Wait[str | None]:
    """Reads all that comes before one of these characters, `longest` at most; None if it is longer."""
    run = yield from scanner.read_word(Except(stops), longest + 1)
    return run if len(run) <= longest else None


def read_name(scanner: Scanner, stop: str) -> Wait[str]:
    """Reads a name and the mark after it; empty if there is none, or what is there cannot be one."""
    name = yield from read_run(scanner, stop[0] + _NOT_IN_NAMES, scanner.limits.name)
    return name if name and (yield from scanner.read_literal(stop)) else ""


def read_bare_name(scanner: Scanner) -> Wait[str]:
    """Reads a name that ends with its line or where a tag begins, and stands there without quotes; empty if there is
    none, or what is there cannot be one.
    """
    return ((yield from read_run(scanner, _NOT_IN_NAMES, scanner.limits.name)) or "").strip()
