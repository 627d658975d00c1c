"""A text with numbered lines in the colours of its language: its end while it grows, its beginning, all of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from textual.content import Span

from .growing import GrowingText
from .line import Line, fit, quiet
from .syntax import CodeTail, coloured

AT_ONCE = 200
"""Lines that are read and coloured while the screen waits; more of them in a thread."""
COLOURED = 5_000
MOST = 6_000
"""Lines that can be looked at in a card. Nobody scrolls through more."""
_LONGEST = 4_000
"""Characters of one line there."""


class Whole(NamedTuple):
    """A text to be shown whole."""

    text: str
    language: str
    of: int
    """How many lines it has."""
    left_out: int
    """Characters that were not kept."""

    @property
    def is_quick(self) -> bool:
        """Whether making its lines takes no time."""
        return self.of <= AT_ONCE and len(self.text) < 100 * AT_ONCE

    def lines(self) -> list[Line]:
        """All lines, within bounds; what is left out is said. Touches nothing else, so that a thread may do it."""
        texts = self.text.split("\n", MOST)
        if len(texts) > MOST or not texts[-1]:
            texts.pop()
        texts = [fit(each) if len(each) <= _LONGEST else _cut(each) for each in texts]
        plain = len(texts) > COLOURED
        spans = [[] for _ in texts] if plain else coloured(texts, self.language)
        lines = list(_numbered(1, texts, spans, 0))
        if plain:
            lines.insert(0, quiet(f"{self.of:,} lines, shown without colours"))
        if self.left_out or self.of > len(texts):
            lines.append(quiet(f"… {max(self.of - len(texts), 1):,} more lines are not kept here"))
        return lines


class Code:
    """The lines of one text, for a card."""

    def __init__(self) -> None:
        self._tail = CodeTail()

    def end(self, text: GrowingText, most: int, language: str) -> list[Line]:
        """The last lines of a text that grows, one row each, so that it does not jump."""
        first, lines, spans = self._tail.last(text, most, language)
        shown = list(_numbered(first, lines, spans, 1))
        return [quiet(above(first - 1)), *shown] if first > 1 else shown

    @staticmethod
    def beginning(text: GrowingText, most: int, language: str) -> list[Line]:
        """The first lines."""
        lines = [fit(line[:_LONGEST]) for line in text.first(most)]
        shown = list(_numbered(1, lines, coloured(lines, language), 1))
        return [*shown, quiet(more(text.count - len(lines)))] if text.count > len(lines) else shown


def above(count: int, what: str = "line") -> str:
    """What is not shown before."""
    return f"… {count:,} {what}{'' if count == 1 else 's'} above"


def more(count: int, what: str = "line") -> str:
    """What is not shown behind, and how to see it."""
    return f"… {count:,} more {what}{'' if count == 1 else 's'} (Enter shows all)"


def _numbered(first: int, lines: Sequence[str], spans: Sequence[Sequence[Span]], rows: int) -> Iterator[Line]:
    width = len(str(first + len(lines) - 1))
    for number, (line, colours) in enumerate(zip(lines, spans, strict=True), first):
        yield Line(line, "", f"{number:>{width}}  ", spans=colours, rows=rows, by_words=True)


def _cut(line: str) -> str:
    return f"{fit(line[:_LONGEST])} … {len(line) - _LONGEST:,} more characters"
