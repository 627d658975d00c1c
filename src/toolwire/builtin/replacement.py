"""Exact replacement: one text for another where it stands exactly once, or everywhere if that is asked for.

Nothing is guessed. A text that is not there, or there more often than once, is refused with what a model needs to write
it right the next time: where it stands, or what in the file is near it and how that differs.
"""

from __future__ import annotations

from ..errors import FileRefused
from .file_text import FileText, Span, plain_ends
from .near_matches import nearest, other_reading, same_start

_LISTED = 20
"""Places of a text that are told. Whoever has more needs `replace_all` or another text."""

_TELLING = 8
"""Characters of a new text that is not there by chance."""
_REPLACED = 100_000
"""Replacements of one edit: more than any name in a program is used."""


def replaced(text: FileText, old_text: str, new_text: str, replace_all: bool = False) -> list[Span]:
    """What to change, in order; where it does not fit a `FileRefused`, whose fact `near` shows lines of the file."""
    old, new = plain_ends(old_text), plain_ends(new_text)
    if not old:
        raise FileRefused(
            "old_text is empty: give the text that is to be replaced. To add lines, give a line that is there as "
            "old_text, and as new_text the same line with the new ones; write_file fills an empty file"
        )
    if old == new:
        only = " but line ends, which stay as the file has them" if old_text != new_text else ""
        raise FileRefused(f"old_text and new_text are the same{only}: there is nothing to change")
    first = text.plain.find(old)
    if first < 0:
        raise _not_found(text, old, new)
    if not replace_all and text.plain.find(old, first + 1) >= 0:
        raise _not_unique(text, old)
    if replace_all and text.plain.count(old) > _REPLACED:
        raise FileRefused(
            f"old_text is in the file over {_REPLACED:,} times, too often for edit_file; use a command, such as sed"
        )
    head = same_start(old, new)
    tail = same_start(old[head:][::-1], new[head:][::-1])
    inner = new[head : len(new) - tail]
    spans: list[Span] = []
    while first >= 0:
        spans.append(Span(first + head, first + len(old) - tail, inner))
        first = text.plain.find(old, first + len(old)) if replace_all else -1
    return spans


def _not_found(text: FileText, old: str, new: str) -> FileRefused:
    words = "old_text is not in the file, nothing was changed"
    if not text.plain:
        return FileRefused("the file is empty: there is nothing to replace in it; fill it with write_file")
    other = other_reading(text.plain, old, "old_text")
    if other:
        return FileRefused(f"{words}: {other}")
    place = text.plain.find(new) if len(new.strip()) >= _TELLING else -1
    if place >= 0:
        words += f". new_text is there already, at line {text.line_at(place):,}: maybe this edit was made before"
    near = nearest(text.plain, old, "old_text")
    if near:
        return FileRefused(f"{words}. Write old_text exactly as the file has it:", near=near)
    return FileRefused(f"{words}, and nothing in it is near: read the file again")


def _not_unique(text: FileText, old: str) -> FileRefused:
    lines: list[int] = []
    place, line = -1, 1
    while len(lines) <= _LISTED:
        following = text.plain.find(old, place + 1)
        if following < 0:
            break
        line += text.plain.count("\n", max(place, 0), following)
        lines.append(line)
        place = following
    more = len(lines) > _LISTED
    total = f"{'at least ' if more else ''}{max(text.plain.count(old), len(lines)):,}"
    listed = ", ".join(f"{line:,}" for line in dict.fromkeys(lines[:_LISTED]))
    return FileRefused(
        f"old_text is in the file {total} times, at lines {listed}{', …' if more else ''}; nothing was changed. "
        "Give more of the lines around it, so that it is there once, or replace_all=true to change every one"
    )
