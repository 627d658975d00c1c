"""Patterns of rules: plain text in which `*` stands for any run of characters and `?` for one.

A backslash makes the next character mean itself. No regular expression: a pattern meets the text of models, and
matching takes time in proportion to both.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from ..errors import ConfigError
from .commands.command_line import Word, WordKind

_SPECIAL = frozenset("*?\\")
_QUOTES = frozenset("'\"")
_OPERATORS = frozenset("|;&<>`")
"""What joins, redirects and substitutes commands in a shell: no single command holds it unquoted."""


class _Run(NamedTuple):
    """What stands between two `*`: text, in which some places are any character."""

    text: str
    open: tuple[int, ...]

    def begins(self, text: str, place: int) -> bool:
        """Whether it stands at this place."""
        if not self.open:
            return text.startswith(self.text, place)
        return len(text) - place >= len(self.text) and all(
            at in self.open or char == text[place + at] for at, char in enumerate(self.text)
        )

    def find(self, text: str, start: int, end: int) -> int:
        """Where it stands first between two places, or -1."""
        if not self.open:
            return text.find(self.text, start, end)
        places = range(start, end - len(self.text) + 1)
        return next((place for place in places if self.begins(text, place)), -1)


def glob_matches(pattern: str, text: str) -> bool:
    """Whether the whole text fits."""
    first, *others = _runs(pattern)
    if not first.begins(text, 0):
        return False
    if not others:
        return len(first.text) == len(text)
    last = others.pop()
    place, end = len(first.text), len(text) - len(last.text)
    for run in others:
        place = run.find(text, place, end)
        if place < 0:
            return False
        place += len(run.text)
    return place <= end and last.begins(text, end)


@lru_cache(maxsize=4096)
def _runs(pattern: str) -> tuple[_Run, ...]:
    """The pattern between its `*`: one run where there is none."""
    runs: list[_Run] = []
    text: list[str] = []
    places: list[int] = []
    for char, is_literal in _characters(pattern):
        if char == "*" and not is_literal:
            runs.append(_Run("".join(text), tuple(places)))
            text, places = [], []
        else:
            if char == "?" and not is_literal:
                places.append(len(text))
            text.append(char)
    return (*runs, _Run("".join(text), tuple(places)))


def _characters(pattern: str) -> Iterator[tuple[str, bool]]:
    """Each character, and whether it means itself whatever it is. A last backslash does."""
    signs = iter(pattern)
    for char in signs:
        if char == "\\":
            yield next(signs, "\\"), True
        else:
            yield char, False


def is_literal(pattern: str) -> bool:
    """Whether only one text fits."""
    return all(means_itself or char not in "*?" for char, means_itself in _characters(pattern))


def plain(pattern: str) -> str:
    """The text that fits a pattern which only one text fits."""
    return "".join(char for char, _ in _characters(pattern))


def literal(text: str) -> str:
    """The pattern that this text fits, and no other."""
    return "".join(f"\\{char}" if char in _SPECIAL else char for char in text)


def path_matches(pattern: str, path: str) -> bool:
    """Whether a path fits a pattern of path parts: `*` stays inside a part, `**` goes over any number of them.

    `docs/**` fits what lies below docs, and docs itself.
    """
    parts, names = pattern.split("/"), path.split("/")
    # The classic two-row table: reached[i] says that the parts so far fit the first i names.
    reached = [True] + [False] * len(names)
    for part in parts:
        if part == "**":
            first = next((i for i, ok in enumerate(reached) if ok), len(reached))
            reached = [i >= first for i in range(len(reached))]
        else:
            reached = [False] + [reached[i] and glob_matches(part, names[i]) for i in range(len(names))]
    return reached[-1]


def command_matches(pattern: str, words: Sequence[Word]) -> bool | None:
    """Whether a command fits a pattern of words; None where that is not known before it runs.

    Each word of the pattern fits one word; a last word `*` fits any number of them, none too. So `git status` is
    exact, `git log *` a prefix, `make test-*` a glob.
    """
    if not words:
        return False
    wanted = pattern_words(pattern)
    rest = wanted[-1] == "*"
    if rest:
        wanted = wanted[:-1]
    sure = True
    for place, want in enumerate(wanted):
        if place >= len(words):
            # A pattern or variable before may have become several words, or none.
            return False if sure else None
        word = words[place]
        if not word.is_literal:
            sure = False
        elif not glob_matches(want, word.text):
            return False if sure else None
    if len(words) > len(wanted) and not rest:
        if any(word.kind is not WordKind.LITERAL for word in words):
            return None
        return False
    return True if sure else None


@lru_cache(maxsize=4096)
def pattern_words(pattern: str) -> tuple[str, ...]:
    """The words of a command's pattern, at least one. What stands in quotes means itself, as a shell has it."""
    words: list[str] = []
    word: str | None = None
    quote = ""
    for char, means_itself in _characters(pattern):
        if quote:
            if char == quote and not means_itself:
                quote = ""
            else:
                word = (word or "") + literal(char)
        elif not means_itself and char in _QUOTES:
            quote, word = char, word or ""
        elif not means_itself and char.isspace():
            if word is not None:
                words.append(word)
            word = None
        elif not means_itself and char in _OPERATORS:
            raise ConfigError(
                f"{pattern!r} is more than one command",
                hint="A rule sees each command of a line by itself: write a pattern for each, or quote the character.",
            )
        else:
            word = (word or "") + (literal(char) if means_itself else char)
    if quote:
        raise ConfigError(f"in {pattern!r} a quote is not closed", hint="Close it, or write \\' for the character.")
    if word is not None:
        words.append(word)
    if not words:
        raise ConfigError("a command pattern has no word", hint='Write the words, such as "git log *".')
    return tuple(words)


def literal_words(words: Sequence[str]) -> str:
    """The command's pattern that exactly these words fit."""
    return " ".join(_literal_word(word) for word in words)


_MARKED = _SPECIAL | _QUOTES | _OPERATORS


def _literal_word(word: str) -> str:
    if not word:
        return "''"
    return "".join(f"\\{char}" if char in _MARKED or char.isspace() else char for char in word)


@lru_cache(maxsize=4096)
def folded(text: str) -> str:
    """A path as disks compare it that know neither case nor forms of Unicode."""
    return unicodedata.normalize("NFC", text.casefold())


def is_below(path: str, folder: str) -> bool:
    """Whether an absolute path is a folder or lies below it."""
    return path == folder or path.startswith(folder.rstrip("/") + "/")
