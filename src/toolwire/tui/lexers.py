"""Which lexers of Pygments colour what models and tools write, and how much they read at once.

They are made of regular expressions whose time grows with the square of what they read, or worse: a text can be made
for it. So only those are here whose worst case within these bounds was measured to be some hundredths of a second, and
longer code is read in parts. All other languages are shown without colours.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any, Protocol

LINE = 240
"""Characters of a line that are coloured. Longer ones are no code that anyone reads."""
PART_LINES = 100
PART_CHARACTERS = 3_000
"""What is read at once."""
MOST_CHARACTERS = 200_000
"""Code longer than that has no colours."""


class Lexer(Protocol):
    """A lexer of Pygments."""

    def get_tokens_unprocessed(self, text: str) -> Iterable[tuple[int, Any, str]]:
        """Each token: where it begins, its kind and its text."""


_NAMES = {
    "bash": "sh shell zsh ksh shell-script",
    "c": "h",
    "cmake": "",
    "console": "shell-session bash-session sh-session terminal",
    "cpp": "c++ cxx cc hpp",
    "csharp": "c# cs java",
    "css": "",
    "dart": "",
    "diff": "patch udiff",
    "docker": "dockerfile containerfile",
    "elixir": "ex exs",
    "go": "golang",
    "graphql": "gql",
    "haskell": "hs",
    "html": "htm",
    "http": "",
    "ini": "cfg conf properties",
    "javascript": "js mjs node",
    "json": "jsonc json5 jsonl",
    "jsx": "",
    "julia": "jl",
    "kotlin": "kt kts",
    "lua": "",
    "make": "makefile mk",
    "markdown": "md",
    "nix": "",
    "perl": "pl",
    "php": "",
    "powershell": "ps1 pwsh posh",
    "protobuf": "proto",
    "pycon": "python-console",
    "python": "py py3 python3",
    "r": "rlang",
    "rst": "restructuredtext",
    "ruby": "rb",
    "rust": "rs",
    "scala": "",
    "scss": "",
    "sql": "",
    "swift": "",
    "terraform": "tf hcl",
    "toml": "",
    "tsx": "",
    "typescript": "ts",
    "xml": "svg",
    "yaml": "yml",
    "zig": "",
}
_BY_NAME = {name: lexer for lexer, others in _NAMES.items() for name in (lexer, *others.split())}
"""Java is read by the lexer of a language like it: the one of its own takes the third power of what it reads."""


def lexer_for(language: str) -> Lexer | None:
    """The lexer of a language by any of its names, as a code fence gives it; None if it has none here."""
    name = _BY_NAME.get(language.strip().lower())
    return None if name is None else _load(name)


@cache
def _load(name: str) -> Lexer:
    from pygments.lexers import get_lexer_by_name

    lexer: Lexer = get_lexer_by_name(name, stripnl=False, ensurenl=True)
    return lexer


def part_of(lines: Sequence[str], start: int = 0) -> int:
    """How many lines from there on are read at once: at least one, if there is one."""
    end, size = start, 0
    while end < len(lines) and end - start < PART_LINES:
        size += min(len(lines[end]), LINE) + 1
        if size > PART_CHARACTERS and end > start:
            break
        end += 1
    return end - start
