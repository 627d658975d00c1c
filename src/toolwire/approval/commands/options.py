"""Options of a command, read as the program itself reads them, from a table of the options that are known.

Only what the table holds is understood: an option that is not in it, or one that is abbreviated, makes the whole
command one that is not known. So a new or harmful option can never be missed, only a harmless one be asked about.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

import msgspec

from .command_line import Word, WordKind


class Value(StrEnum):
    """What an option takes."""

    NONE = ""
    TEXT = ":"
    FILE = "@"
    MAYBE = "?"
    """A text, but only in the same word (`--color=always`)."""


class Options(msgspec.Struct, frozen=True):
    """The options that are known of a program, by their names without dashes."""

    short: dict[str, Value]
    long: dict[str, Value]
    numbers: bool
    """`-5` is an option too."""
    attached: bool
    """The value of a short option may stand in the same word."""


class Read(msgspec.Struct):
    """The words of a command, by what they are."""

    used: list[str]
    """The options, without dashes."""
    texts: list[tuple[str, Word]]
    """Values that are no files, with their options."""
    files: list[Word]
    """Values that name files."""
    operands: list[Word]
    loose: bool = False
    """A word that is known only when it runs may have become an option."""


def names(words: str) -> frozenset[str]:
    """The words of a text, as a set."""
    return frozenset(words.split())


def known_options(table: str, *, attached: bool = True) -> Options:
    """A table as words: `-abc` are three options, `-n:` takes a text, `-f@` a file, `--color?` a text behind `=`.

    `-#` stands for numbers.
    """
    short: dict[str, Value] = {}
    long: dict[str, Value] = {}
    for entry in table.split():
        name = entry.rstrip(":@?")
        value = Value(entry[len(name) :])
        if name.startswith("--"):
            long[name[2:]] = value
        elif name != "-#":
            short.update(dict.fromkeys(name[1:], value))
    return Options(short, long, "-#" in table.split(), attached)


def may_be_option(word: Word) -> bool:
    """Whether the program may get an option for this word. The names that a pattern matches begin as it begins."""
    if word.kind is WordKind.LITERAL:
        return word.text.startswith("-") and word.text != "-"
    known = word.text[:1].isalnum() or word.text[:1] in ("/", ".", "_") or word.home
    return word.kind is WordKind.DYNAMIC or not known


def read_options(words: Sequence[Word], options: Options, *, first_ends: bool = False) -> Read | None:
    """The words behind the program's name, by what they are; None if an option is not known.

    With `first_ends` everything from the first operand on is an operand, as for programs that start others.
    """
    read = Read([], [], [], [])
    place = 0
    while place < len(words):
        word = words[place]
        place += 1
        if word.text == "--" and word.is_literal:
            read.operands += words[place:]
            break
        if not may_be_option(word):
            read.operands.append(word)
            if first_ends:
                read.operands += words[place:]
                break
            continue
        if not word.is_literal and not _has_plain_name(word):
            read.operands.append(word)
            read.loose = True
            continue
        found = _long(word, options) if word.text.startswith("--") else _short(word, options)
        if found is None:
            return None
        names, value, attached = found
        read.used += names
        apart = attached is None and value in (Value.TEXT, Value.FILE)
        if apart:
            if place >= len(words) or words[place].kind is not WordKind.LITERAL:
                # A pattern or a variable may become several words, and the second of them an option.
                return None
            attached = words[place]
            place += 1
        if attached is None:
            continue
        if value is not Value.FILE:
            read.texts.append((names[-1], attached))
        elif attached.kind is not WordKind.LITERAL:
            return None
        # Programs that stop reading options at the first operand take what stands apart for a file.
        if value is Value.FILE or (apart and read.operands):
            read.files.append(attached)
    return read


def _long(word: Word, options: Options) -> tuple[list[str], Value, Word | None] | None:
    name, equals, text = word.text[2:].partition("=")
    value = options.long.get(name)
    if value is None or (equals and value is Value.NONE):
        return None
    return [name], value, Word(text, word.kind) if equals else None


def _has_plain_name(word: Word) -> bool:
    """Whether each word that a pattern becomes is the same long option: `--include=*.py`."""
    name, equals, _ = word.text.partition("=")
    letters = name.removeprefix("--").replace("-", "")
    return word.kind is WordKind.PATTERN and bool(equals) and name.startswith("--") and letters.isalpha()


def _short(word: Word, options: Options) -> tuple[list[str], Value, Word | None] | None:
    if options.numbers and word.text[1:].isdecimal():
        return ["#"], Value.NONE, None
    names: list[str] = []
    for place, name in enumerate(word.text[1:], 2):
        value = options.short.get(name)
        if value is None:
            return None
        names.append(name)
        if value is not Value.NONE:
            rest = word.text[place:]
            if rest and not options.attached:
                return None
            return names, value, Word(rest) if rest else None
    return names, Value.NONE, None
