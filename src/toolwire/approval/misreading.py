"""What a person may misread in the arguments of a call though all of it is shown."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any

from .foreign_hosts import foreign_hosts
from .hidden import MANY_BLANKS, MANY_LINES, is_marked, mark, marked

MAX_WARNINGS = 10
_TOLD = 5
"""How many characters or letters one warning names."""
_WORD = 60
"""How much of a word is told."""
_ORDINARY = "\t\n‹"
"""Marked or a line end, but nothing to warn of."""
_ALIKE = frozenset(
    {"LATIN", "CYRILLIC", "GREEK", "COPTIC", "ARMENIAN", "CHEROKEE", "LISU", "FULLWIDTH", "MATHEMATICAL", "DESERET"}
)
"""Scripts and forms with letters that look like those of another: the first word of a letter's Unicode name."""


def warnings(arguments: dict[str, Any]) -> list[str]:
    """Hidden characters, letters of several scripts in one word, letters written from right to left, names of hosts in
    letters that few keyboards have, and blanks or empty lines that push what follows out of sight.

    One sentence each for the person, with nothing hidden in it. Linear in the size of the arguments.
    """
    found: list[str] = []
    for name, value in arguments.items():
        shown = marked(name)[:_WORD]
        every = (name, *_texts(value))
        found += _pushing(shown, every)
        texts = [text for text in every if not (text.isascii() and text.isprintable())]
        characters = set().union(*texts)
        found += _hidden(shown, texts, characters)
        found += _mixed(shown, texts, characters)
        found += foreign_hosts(shown, texts)
        if any(unicodedata.bidirectional(char) in ("R", "AL") for char in characters):
            found.append(f"{shown} holds letters written from right to left: they may be drawn in another order")
        if len(found) > MAX_WARNINGS:
            return [*found[:MAX_WARNINGS], "and there is more of the kind"]
    return found


def _texts(value: Any) -> Iterator[str]:
    """Every text in a value, names too."""
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, str):
            yield item
        elif isinstance(item, dict):
            waiting += item.keys()
            waiting += item.values()
        elif isinstance(item, list):
            waiting += item


def _hidden(name: str, texts: list[str], characters: set[str]) -> Iterator[str]:
    hidden = sorted(char for char in characters if is_marked(char) and char not in _ORDINARY)
    if not hidden:
        return
    without = dict.fromkeys(map(ord, hidden))
    count = sum(len(text) - len(text.translate(without)) for text in texts)
    more = ", …" if len(hidden) > _TOLD else ""
    words = "1 hidden character" if count == 1 else f"{count:,} hidden characters"
    yield f"{name} holds {words}, shown as {', '.join(map(mark, hidden[:_TOLD]))}{more}"


def _mixed(name: str, texts: list[str], characters: set[str]) -> Iterator[str]:
    scripts = {char: script for char in characters if (script := _script(char)) in _ALIKE}
    if len(set(scripts.values())) < 2:
        return
    for text in texts:
        for word in _words(text):
            mixed = {scripts[char] for char in word if char in scripts}
            if len(mixed) > 1:
                odd = sorted({char for char in word if scripts.get(char, "LATIN") != "LATIN"})
                letters = ", ".join(f"{char} is U+{ord(char):04X}" for char in odd[:_TOLD])
                kinds = " and ".join(sorted(script.capitalize() for script in mixed))
                yield f"{name} mixes {kinds} letters in one word: {marked(word[:_WORD])} ({letters})"
                return


def _pushing(name: str, texts: Iterable[str]) -> Iterator[str]:
    blanks = max((_longest(text, " ") for text in texts if " " * MANY_BLANKS in text), default=0)
    if blanks:
        yield f"{name} holds {blanks:,} blanks in a row, shown as ‹{blanks} BLANKS›: there is more after them"
    tabs = max((_longest(text, "\t") for text in texts if "\t" * MANY_LINES in text), default=0)
    if tabs:
        yield f"{name} holds {tabs:,} tabs in a row: there may be more after them"
    lines = max((_empty_lines(text) for text in texts if text.count("\n") > MANY_LINES), default=0)
    if lines >= MANY_LINES:
        yield f"{name} holds {lines:,} empty lines in a row: there may be more below them"


def _longest(text: str, char: str) -> int:
    return max(sum(1 for _ in group) for is_char, group in groupby(text, char.__eq__) if is_char)


def _empty_lines(text: str) -> int:
    """How many lines in a row hold nothing that is seen."""
    runs = groupby(text.split("\n"), lambda line: not line.strip())
    return max((sum(1 for _ in group) for is_empty, group in runs if is_empty), default=0)


def _script(char: str) -> str:
    return unicodedata.name(char, "").partition(" ")[0] if char.isalpha() else ""


def _words(text: str) -> Iterator[str]:
    """Runs of letters."""
    start = -1
    for at, char in enumerate(text):
        if not char.isalpha():
            if start >= 0:
                yield text[start:at]
            start = -1
        elif start < 0:
            start = at
    if start >= 0:
        yield text[start:]
