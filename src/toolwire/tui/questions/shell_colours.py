"""One line of shell in colours. The colours say nothing that the text does not: a wrong one does no harm."""

from __future__ import annotations

from functools import cache, lru_cache
from typing import TYPE_CHECKING

from .rows import Piece

if TYPE_CHECKING:
    from pygments.lexer import Lexer

COLOURED_CHARACTERS = 1_000
"""Of one line: its words are looked at by the expressions of a library, which are not linear."""


@lru_cache(maxsize=256)
def coloured(line: str) -> tuple[Piece, ...]:
    """The line in pieces that make up exactly its text."""
    if len(line) > COLOURED_CHARACTERS:
        return (Piece(line),)
    pieces = tuple(Piece(text, _kind(str(token))) for token, text in _bash().get_tokens(line) if text)
    return pieces if "".join(piece.text for piece in pieces) == line else (Piece(line),)


@cache
def _bash() -> Lexer:
    from pygments.lexers.shell import BashLexer

    return BashLexer(stripnl=False, ensurenl=False)


def _kind(token: str) -> str:
    """The look of a kind of word, named as `Token.Name.Builtin`."""
    for start, kind in _KINDS:
        if token.startswith(start):
            return kind
    return ""


_KINDS = (
    ("Token.Keyword", "keyword"),
    ("Token.Operator", "keyword"),
    ("Token.Punctuation", "keyword"),
    ("Token.Name.Builtin", "name"),
    ("Token.Name.Variable", "variable"),
    ("Token.Literal.String.Interpol", "variable"),
    ("Token.Literal.String", "string"),
    ("Token.Comment", "comment"),
)
