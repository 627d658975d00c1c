"""Only lexers that were measured read code, and never more of it at once than was measured."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any

import pytest
from pygments.lexers import get_all_lexers

from toolwire.tui import lexers
from toolwire.tui.cards.growing import GrowingText
from toolwire.tui.cards.syntax import _LANGUAGES, CodeTail, coloured, prepare
from toolwire.tui.lexers import _NAMES, LINE, MOST_CHARACTERS, PART_CHARACTERS, PART_LINES, lexer_for, part_of
from toolwire.tui.markdown import coloured as fences

HOSTILE = [
    *("a " * 3_000, "\n" * 9_000, "/*\n" * 4_000, '"' * 5_000),
    *(("x" * 239 + "\n") * 500, "{\n" * 5_000, "`a\n" * 3_000),
]


class Recorded:
    """A lexer that notes what it is given."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def get_tokens_unprocessed(self, text: str) -> Iterable[tuple[int, Any, str]]:
        self.texts.append(text)
        yield 0, "Token.Text", text


@pytest.fixture
def recorded(monkeypatch: pytest.MonkeyPatch) -> Recorded:
    lexer = Recorded()
    monkeypatch.setattr(lexers, "_load", lambda _: lexer)
    monkeypatch.setattr("toolwire.tui.cards.syntax._READERS", {"python": lexer})
    return lexer


def check(lexer: Recorded) -> None:
    for text in lexer.texts:
        lines = text.removesuffix("\n").split("\n")
        assert max(map(len, lines)) <= LINE
        # The line in which a string began may come before those of it.
        assert len(lines) <= PART_LINES + 1
        assert len(text) <= PART_CHARACTERS + LINE + 2


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_no_lexer_reads_more_at_once_than_was_measured(text: str, recorded: Recorded) -> None:
    lines = text.split("\n")
    assert len(coloured(lines, "python")) == len(lines)
    assert len(fences.coloured(lines, "python")) == len(lines)
    made, count = fences.stretch(lines, "python")
    assert len(made) == count >= 1
    growing = GrowingText()
    growing.add(text)
    CodeTail().last(growing, 10, "python")
    check(recorded)


def test_what_is_very_long_has_no_colours(recorded: Recorded) -> None:
    lines = ["x" * 200] * (MOST_CHARACTERS // 200 + 1)
    assert coloured(lines, "python") == [[] for _ in lines]
    assert recorded.texts == []


def test_no_other_lexer_is_ever_used() -> None:
    known = {name for lexer, others in _NAMES.items() for name in (lexer, *others.split())}
    aliases = [alias for _, names, _, _ in get_all_lexers() for alias in names]
    assert len(aliases) > 500
    for alias in [*aliases, "", "text", "mermaid", "../x", "python; x"]:
        assert (lexer_for(alias) is not None) == (alias.lower() in known)


def test_every_language_of_a_file_is_a_known_one_or_plain() -> None:
    assert all(lexer_for(language) is not None for language in _LANGUAGES)


def test_parts() -> None:
    assert part_of([]) == 0
    assert part_of(["x" * 10_000] * 30) == PART_CHARACTERS // (LINE + 1)
    assert part_of([""] * 1_000) == PART_LINES
    assert part_of([""] * 1_000, 950) == 50


async def test_a_string_over_a_border_keeps_its_colour() -> None:
    await prepare("python")
    lines = [*(f"value_{number} = {number}  # one" for number in range(150)), '"""', *["text"] * 20, '"""', "x = 1"]
    whole = coloured(lines, "python")
    assert all([span.style for span in spans] == ["$text-success"] for spans in whole[150:172])


PIECES = (
    *("a ", "\n", "\n\n", "_", "`", '"', "'", "\\", "/", "/*", "//"),
    *("<!--", "${", "#[[", 'R"(', "a<", "1e", "é", "{", "(", "a\\/"),
)


@pytest.mark.figures
@pytest.mark.parametrize("name", _NAMES)
def test_the_worst_case_of_what_is_read_at_once(name: str) -> None:
    lexer = lexer_for(name)
    assert lexer is not None
    for piece in PIECES:
        for width in (1, 20, 59, LINE - 1):
            lines = [(piece * width)[:width]] * PART_LINES
            text = "\n".join(lines[: part_of(lines)])
            started = time.process_time()
            assert sum(1 for _ in lexer.get_tokens_unprocessed(text)) > 0
            assert time.process_time() - started < 0.5, (piece, width)
