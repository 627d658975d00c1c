from __future__ import annotations

import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolwire.cli.visible import json_bytes, one_line, visible
from toolwire.cli.wrapping import WordWrap

SHOWN = [
    ("plain words", "plain words"),
    ("tab\tand\nline", "tab\tand\nline"),
    ("windows\r\nline", "windows\nline"),
    ("back\rto start", "back␍to start"),
    ("\x1b[2J", "␛[2J"),
    ("\x00\x07\x08\x7f", "␀␇␈␡"),
    ("\x9b31m", "<U+009B>31m"),
    ("\u202egnp.exe", "<U+202E>gnp.exe"),
    ("pass\u200bword", "pass<U+200B>word"),
    ("\ufeff\u2066\u2028\u00ad", "<U+FEFF><U+2066><U+2028><U+00AD>"),
    ("\U000e0041\U000e0100\u3164", "<U+E0041><U+E0100><U+3164>"),
    ("half \ud800", "half <U+D800>"),
    ("né 日本 🦜 ❤️", "né 日本 🦜 ❤️"),
    ("10\u00a0000\u3000\u2800\u1100\u1161", "10\u00a0000\u3000\u2800\u1100\u1161"),
    ("\u2065\u180b\ufff0", "<U+2065><U+180B><U+FFF0>"),
]


@pytest.mark.parametrize(("text", "shown"), SHOWN)
def test_what_is_shown(text: str, shown: str) -> None:
    assert visible(text) == shown


def test_one_line() -> None:
    assert one_line("a\n  b\t\x1bc") == "a b ␛c"


HIDDEN = st.sampled_from("\x1b\x9b\x7f\u202e\u200b\u2028\ufeff\U000e0041\r\n")
TEXT = st.text(st.characters(codec="utf-8") | HIDDEN)
VALUES = st.recursive(TEXT, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3))


def hidden_in(text: str, *, but: str) -> list[str]:
    hidden = ("Cc", "Cf", "Cs", "Zl", "Zp")
    return [char for char in text if unicodedata.category(char) in hidden and char not in but]


@given(TEXT)
def test_nothing_hidden_is_left(text: str) -> None:
    assert hidden_in(visible(text), but="\n\t") == []


@given(VALUES, st.sampled_from([0, 2]))
def test_json_means_the_same_and_hides_nothing(value: object, indent: int) -> None:
    made = json_bytes(value, indent=indent).decode()
    assert json.loads(made) == value
    assert hidden_in(made, but="\n") == []


def wrapped(width: int, *pieces: str) -> str:
    wrap = WordWrap(width)
    return "".join(wrap.feed(piece) for piece in pieces) + wrap.flush()


def test_lines_break_between_words() -> None:
    assert wrapped(20, "the quick brown ", "fo", "x jumps over it") == "the quick brown fox\njumps over it"
    assert wrapped(20, "wide 日本語日本語 日本語 end") == "wide 日本語日本語\n日本語 end"
    assert wrapped(20, "    indented\n\n  stays") == "    indented\n\n  stays"
    assert wrapped(20, "   \t\t\t\taa") == " " * 18 + "aa"
    assert wrapped(20, "    " + "x" * 50) == "    " + "x" * 50
    assert wrapped(20, "x" * 50, " y") == "x" * 50 + "\ny"


@given(st.text("ab \n\t"), st.integers(1, 7))
def test_wrapping_loses_no_word_and_does_not_depend_on_the_cuts(text: str, size: int) -> None:
    whole = wrapped(20, text)
    assert wrapped(20, *(text[start : start + size] for start in range(0, len(text), size))) == whole
    assert "".join(whole.split()) == "".join(text.split())
    words = {word for word in whole.split() if len(word) > 20}
    assert all(len(line) <= 20 or words for line in whole.split("\n"))
