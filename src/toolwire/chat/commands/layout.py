"""Tables in Markdown whose cells may hold anything."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ...cli.visible import one_line

CELL = 200
"""Characters of a cell that are shown."""
_SPECIAL = "\\`*_{}[]<>()#+-!|~"


def cells(text: str) -> str:
    """A text for a cell, or any place in a line: on one line, harmless, and obeyed by nobody as Markdown."""
    line = one_line(text)
    line = f"{line[:CELL]}…" if len(line) > CELL else line
    return "".join(f"\\{char}" if char in _SPECIAL else char for char in line)


def listed(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of cells that are fit to stand in one."""
    lines = [f"| {' | '.join(headings)} |", f"|{'---|' * len(headings)}"]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows)])
