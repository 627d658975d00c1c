"""What a shell command line says it runs, as data: the words of every command in it, wherever it stands.

Made by `shell.read_command_line`, judged by `programs`.
"""

from __future__ import annotations

from enum import StrEnum

import msgspec

from .dialects import Dialect


class WordKind(StrEnum):
    """How much of a word is known before it runs."""

    LITERAL = "literal"
    """The program gets exactly this text."""
    PATTERN = "pattern"
    """An unquoted glob or brace expansion: the program gets names that match, known only when it runs."""
    DYNAMIC = "dynamic"
    """It holds a variable, a substitution or arithmetic: what the program gets is not known."""


class Word(msgspec.Struct, frozen=True):
    """One word of a command. `text` is what the program gets if it is literal, and else as it was written."""

    text: str
    kind: WordKind = WordKind.LITERAL
    home: bool = False
    """It begins with an unquoted `~` that stands for the home folder."""

    @property
    def is_literal(self) -> bool:
        """Whether the program gets exactly `text`."""
        return self.kind is WordKind.LITERAL and not self.home


class Redirect(msgspec.Struct, frozen=True):
    """A file that a command's input comes from or its output goes to. Copies of descriptors (`2>&1`) are none."""

    operator: str
    target: Word
    writes: bool


class Assignment(msgspec.Struct, frozen=True):
    """A variable that is set, or taken away, which leaves it empty."""

    name: str
    value: str | None = None
    """None where it is not known before the line runs."""


class Command(msgspec.Struct, frozen=True):
    """One simple command: part of a pipe, a list, a substitution, a loop; or one that another command starts.

    `words` begins with the program's name. It is empty for a redirection or assignments alone.
    """

    words: tuple[Word, ...]
    redirects: tuple[Redirect, ...] = ()
    assignments: tuple[Assignment, ...] = ()
    """Variables that are set, for the command or, until then, for the shell that runs it."""
    folders: tuple[Word, ...] = ()
    """Where `cd` before it may have led to, beside the folder that the whole line starts in."""
    dialect: Dialect = Dialect.PLAIN
    """The rules by which it is read; a shell that it starts may be a bash of a known version only where it is one."""

    @property
    def name(self) -> str:
        """The program as it is written; empty where that is not known."""
        return self.words[0].text if self.words and self.words[0].is_literal else ""

    def __str__(self) -> str:
        return " ".join(word.text for word in self.words)


class CommandLine(msgspec.Struct, frozen=True):
    """Every command of a line. With a `problem`, a sentence, the line is not understood, and `commands` are those that
    were found until then: enough to deny it by, never to allow it.
    """

    commands: tuple[Command, ...] = ()
    problem: str = ""
