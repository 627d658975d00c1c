"""Colours of code: of some lines at once, and of a text that grows, where only its end is read again.

Which languages there are is a fixed table: what a model writes is read by expressions that are known to be quick, and
no plug-in is looked for. Colours are those of the theme.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import lru_cache
from pathlib import PurePosixPath
from typing import Any, NamedTuple

from textual.content import Span

from ..lexers import LINE, MOST_CHARACTERS, Lexer, lexer_for, part_of
from .growing import GrowingText
from .line import MUTED, fit

_LANGUAGES = {
    "python": "py pyi pyw",
    "javascript": "js mjs cjs jsx",
    "typescript": "ts tsx mts cts",
    "json": "json jsonl ipynb lock webmanifest",
    "yaml": "yaml yml",
    "toml": "toml",
    "ini": "ini cfg conf properties editorconfig",
    "html": "html htm vue svelte",
    "xml": "xml svg xsd plist",
    "css": "css",
    "scss": "scss tcss",
    "bash": "sh bash zsh ksh env profile bashrc zshrc",
    "c": "c h",
    "cpp": "cpp cc cxx hpp hh hxx ino",
    "csharp": "cs",
    "java": "java",
    "kotlin": "kt kts",
    "scala": "scala",
    "swift": "swift",
    "go": "go",
    "rust": "rs",
    "ruby": "rb rake gemspec",
    "php": "php",
    "perl": "pl pm",
    "lua": "lua",
    "r": "r",
    "julia": "jl",
    "haskell": "hs",
    "elixir": "ex exs",
    "dart": "dart",
    "zig": "zig",
    "sql": "sql",
    "markdown": "md markdown",
    "rst": "rst",
    "diff": "diff patch",
    "make": "mk makefile gnumakefile",
    "docker": "dockerfile containerfile",
    "terraform": "tf tfvars",
    "protobuf": "proto",
    "graphql": "graphql gql",
    "nix": "nix",
    "cmake": "cmake",
    "powershell": "ps1",
}
_BY_ENDING = {ending: language for language, endings in _LANGUAGES.items() for ending in endings.split()}

_STYLES = {
    "Comment": f"{MUTED} italic",
    "Keyword": "$text-accent",
    "Keyword.Constant": "$text-warning",
    "Operator.Word": "$text-accent",
    "Literal.String": "$text-success",
    "Literal.Number": "$text-warning",
    "Literal.Date": "$text-warning",
    "Name.Builtin": "$text-secondary",
    "Name.Class": "bold $text-primary",
    "Name.Function": "bold $text-primary",
    "Name.Decorator": "$text-secondary",
    "Name.Namespace": "$text-primary",
    "Name.Tag": "$text-primary",
    "Name.Attribute": "$text-secondary",
    "Name.Variable": "$text-secondary",
    "Name.Exception": "$text-secondary",
    "Generic.Heading": "bold $text-primary",
    "Generic.Subheading": "bold",
    "Generic.Strong": "bold",
    "Generic.Emph": "italic",
    "Generic.Inserted": "$text-success",
    "Generic.Deleted": "$text-error",
}

_NEAR, _FAR = 12, 40
"""Lines between where the reading of a growing text begins and the first line that is shown: up to so many, it begins
only where a new part of the file does; beyond the second, wherever it must."""
_CHARACTERS = 2_000
"""As much of it: some milliseconds of reading."""


def language_of(path: str) -> str:
    """The language of a file by its name; empty if it is not known."""
    name = PurePosixPath(path.strip().replace("\\", "/")[-200:]).name.lower()
    return _BY_ENDING.get(name.rpartition(".")[2], "")


def coloured(lines: Sequence[str], language: str) -> list[list[Span]]:
    """The spans of each line. The lines are fit for a terminal already."""
    return _read(lines, language).spans


class CodeTail:
    """The colours of the last lines of a text that grows.

    It is read again from a line at which nothing was open: no string, no comment. Where one is open for longer than
    is read, the line in which it began is read before the others.
    """

    def __init__(self) -> None:
        self._from = 1
        self._opener = ""

    def last(self, text: GrowingText, most: int, language: str) -> tuple[int, list[str], list[list[Span]]]:
        """The number of the first of the last lines, those lines fit for a terminal, and the spans of each."""
        first, lines = text.last()
        shown = max(len(lines) - most, 0)
        if not language:
            fitted = [fit(line) for line in lines[shown:]]
            return first + shown, fitted, [[] for _ in fitted]
        if self._from < first:
            # More came at once than is at hand: begin where a part of the file seems to.
            start = max(shown - _NEAR, 0)
            self._opener = ""
            self._from = first + next((at for at in range(start, shown) if _begins_part(lines, at)), start)
        start = min(self._from - first, shown)
        before = [self._opener] if self._opener else []
        fitted = [fit(line) for line in lines[start:]]
        read = _read([*before, *fitted], language)
        spans, safe = read.spans[len(before) :], read.safe[len(before) :]
        self._move(lines, start, shown, safe, first)
        return first + shown, fitted[shown - start :], spans[shown - start :]

    def _move(self, lines: list[str], start: int, shown: int, safe: list[bool], first: int) -> None:
        """Lets the next reading begin as late as it may."""
        good = [at for at in range(start + 1, shown + 1) if at < len(lines) and safe[at - start]]
        parts = [at for at in good if _begins_part(lines, at)]
        size = sum(min(len(line), LINE) for line in lines[start:shown])
        if parts:
            self._from, self._opener = first + parts[-1], ""
        elif good and (shown - start > _NEAR or size > _CHARACTERS // 2):
            self._from, self._opener = first + good[-1], ""
        elif shown - start > _FAR or size > _CHARACTERS:
            if not self._opener:
                self._opener = fit(lines[start])
            self._from = first + shown


def _begins_part(lines: Sequence[str], at: int) -> bool:
    return at > 0 and not lines[at - 1].strip() and lines[at][:1].strip() != ""


class _Read(NamedTuple):
    spans: list[list[Span]]
    safe: list[bool]
    """For each line whether it can be read without those above it."""


def _read(lines: Sequence[str], language: str) -> _Read:
    """The colours of these lines. What a reader of somebody else's makes of hostile text is no reason to fail."""
    lexer = _READERS.get(language)
    read = _Read([], [])
    opener: list[str] = []
    if lexer is None or sum(map(len, lines)) > MOST_CHARACTERS:
        return _plain(lines)
    try:
        while (at := len(read.spans)) < len(lines):
            count = part_of(lines, at)
            part = _read_by(lexer, [*opener, *lines[at : at + count]])
            spans, safe = part.spans[len(opener) :], part.safe[len(opener) :]
            if at + count < len(lines):
                # The next part begins at a line at which nothing is open, or with the one where that began.
                open_at = next((line for line in range(count - 1, -1, -1) if safe[line]), 0)
                if open_at > count // 2:
                    count, opener = open_at, []
                elif safe[open_at]:
                    opener = [lines[at + open_at]]
            read.spans.extend(spans[:count])
            read.safe.extend(safe[:count])
        return read
    except Exception:
        return _plain(lines)


def _plain(lines: Sequence[str]) -> _Read:
    return _Read([[] for _ in lines], [True] * len(lines))


def _read_by(lexer: Lexer, lines: Sequence[str]) -> _Read:
    spans: list[list[Span]] = [[] for _ in lines]
    safe = [True] * len(lines)
    short = [line[:LINE] for line in lines]
    starts = [0]
    for line in short:
        starts.append(starts[-1] + len(line) + 1)
    styles = _styles()
    before = ""
    number = 0
    for start, kind, value in lexer.get_tokens_unprocessed("\n".join(short) + "\n"):
        end = start + len(value)
        while number + 1 < len(lines) and starts[number + 1] <= start:
            number += 1
        style = styles[kind]
        inside = _INSIDE.get(kind)
        if inside is None:
            inside = _INSIDE[kind] = _inside(str(kind))
        if starts[number] == start and inside and inside == before:
            safe[number] = False
        at = number
        while at < len(lines) and starts[at] < end:
            if starts[at] > start and value.strip():
                safe[at] = False
            if style:
                left, right = max(start - starts[at], 0), min(end - starts[at], len(short[at]))
                if left < right:
                    spans[at].append(Span(left, right, style))
            at += 1
        if value.strip():
            before = inside
    return _Read(spans, safe)


_INSIDE: dict[Any, str] = {}


def _inside(kind: str) -> str:
    """What can go on over several lines: a string, a comment; empty for all else."""
    if kind.startswith("Token.Literal.String"):
        return "string"
    return "comment" if kind.startswith("Token.Comment") and not kind.endswith("Single") else ""


class _Styles(dict[Any, str]):
    """The style of each kind of token: its own, or that of what it is a kind of."""

    def __missing__(self, kind: Any) -> str:
        name = str(kind).removeprefix("Token").removeprefix(".")
        while name and name not in _STYLES:
            name = name.rpartition(".")[0]
        self[kind] = style = _STYLES.get(name, "")
        return style


@lru_cache(maxsize=1)
def _styles() -> _Styles:
    return _Styles()


_READERS: dict[str, Lexer | None] = {}


def is_ready(language: str) -> bool:
    """Whether lines of it have colours now."""
    return language in _READERS


async def prepare(*languages: str) -> bool:
    """Makes ready to read languages, in a thread: some take a fifth of a second. Until then they have no colours.

    Gives whether one of them was not ready before.
    """
    missing = [each for each in languages if each and each not in _READERS]
    for each in missing:
        _READERS[each] = await asyncio.to_thread(lexer_for, each)
    return bool(missing)
