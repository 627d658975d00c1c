"""Code with its colours, piece by piece: what was coloured once stays, however long the code becomes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from pygments.token import Comment, Generic, String
from textual.content import Content, Span
from textual.highlight import HighlightTheme

from ..lexers import LINE, lexer_for, part_of

STRETCH = 24
"""Lines that are coloured together."""


def coloured(code: Sequence[str], language: str) -> list[Content]:
    """The lines with the colours of their language, as far as it is known."""
    made: list[Content] = []
    while len(made) < len(code):
        made += _coloured(code[len(made) : len(made) + part_of(code, len(made))], language)[0]
    return made


def stretch(code: Sequence[str], language: str) -> tuple[list[Content], int]:
    """The first lines of a longer code, coloured, and how many: up to where a reader of the code could begin anew.

    That is a line that does not begin within a string or a comment. The last line that is given only tells that.
    """
    code = code[: min(STRETCH + 1, part_of(code))]
    lines, inside = _coloured(code, language)
    most = max(len(code) - 1, 1)
    count = next((count for count in range(most, most // 2, -1) if count not in inside), most)
    return lines[:count], count


def _coloured(code: Sequence[str], language: str) -> tuple[list[Content], set[int]]:
    """The lines, and the numbers of those that begin within a string or a comment."""
    lexer = lexer_for(language) if all(len(line) <= LINE for line in code) else None
    if lexer is None:
        return [Content(line) for line in code], set()
    spans: list[list[Span]] = [[]]
    inside: set[int] = set()
    column = 0
    before = False
    for _, kind, text in lexer.get_tokens_unprocessed("\n".join(code) + "\n"):
        quoted = kind in String or kind in Comment
        style = _style(kind)
        if not column and quoted and before:
            inside.add(len(spans) - 1)
        for number, piece in enumerate(text.split("\n")):
            if number:
                spans.append([])
                column = 0
                if quoted and (piece or number < text.count("\n")):
                    inside.add(len(spans) - 1)
            if piece:
                if style:
                    spans[-1].append(Span(column, column + len(piece), style))
                column += len(piece)
        before = quoted
    return [Content(line, spans[at] if at < len(spans) else []) for at, line in enumerate(code)], inside


_STYLES: dict[object, str] = {Generic.Inserted: "$text-success", Generic.Deleted: "$text-error"}
_COMMON = (
    "python",
    "bash",
    "json",
    "javascript",
    "typescript",
    "html",
    "yaml",
    "toml",
    "sql",
    "diff",
    "rust",
    "go",
    "c",
)


@cache
def load_common() -> None:
    """Loads what colours the languages that are seen most: some take longer than a screen may stand still.

    For a thread; only the first time does anything.
    """
    for name in _COMMON:
        coloured(["x"], name)


def _style(kind: object) -> str:
    """The style of a kind of token: its own, or that of the wider kind it belongs to."""
    found = _STYLES.get(kind)
    if found is None:
        wider = kind
        while wider is not None and wider not in HighlightTheme.STYLES:
            wider = getattr(wider, "parent", None)
        found = "" if wider is None else HighlightTheme.STYLES[wider].replace(" underline", "")
        _STYLES[kind] = found
    return found
