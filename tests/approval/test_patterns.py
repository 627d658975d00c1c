"""Patterns of rules: what fits, what does not, what is not known, and that no text makes them slow."""

from __future__ import annotations

import random
import re
import time
from fnmatch import fnmatchcase

import pytest

from toolwire.approval.commands.command_line import Word, WordKind
from toolwire.approval.patterns import (
    command_matches,
    glob_matches,
    is_literal,
    literal,
    literal_words,
    path_matches,
    pattern_words,
)
from toolwire.errors import ConfigError


def words(text: str) -> list[Word]:
    """`$x` is dynamic, `*` and `{` make a pattern, `~` is home; all else is literal."""
    found = []
    for each in text.split():
        kind = WordKind.DYNAMIC if "$" in each else WordKind.PATTERN if set(each) & set("*{") else WordKind.LITERAL
        found.append(Word(each, kind, each.startswith("~")))
    return found


@pytest.mark.parametrize(
    ("pattern", "fits", "not_fits"),
    [
        ("", [""], ["a"]),
        ("a", ["a"], ["", "A", "aa"]),
        ("*", ["", "a", "a/b\nc"], []),
        ("a*", ["a", "ab"], ["", "ba"]),
        ("*a", ["a", "ba"], ["ab"]),
        ("a*a", ["aa", "aba"], ["a", "ab"]),
        ("*a*b*", ["ab", "xaxbx"], ["ba", "a"]),
        ("a?c", ["abc", "a?c", "a\nc"], ["ac", "abbc"]),
        ("?*?", ["ab", "abc"], ["", "a"]),
        ("*ab?d*", ["abcd", "xababcdx"], ["abd"]),
        ("\\*", ["*"], ["a", "\\*", ""]),
        ("\\?\\\\", ["?\\"], ["a\\", "?"]),
        ("a\\", ["a\\"], ["a"]),
        ("**", ["", "a"], []),
        ("[a]", ["[a]"], ["a"]),
        ("ab*ba", ["abba", "abxba"], ["aba"]),
    ],
)
def test_globs(pattern: str, fits: list[str], not_fits: list[str]) -> None:
    assert [text for text in fits if not glob_matches(pattern, text)] == []
    assert [text for text in not_fits if glob_matches(pattern, text)] == []


def test_globs_are_those_of_fnmatch() -> None:
    dice = random.Random(5)
    for _ in range(20_000):
        pattern = "".join(dice.choices("ab*?", k=dice.randrange(7)))
        text = "".join(dice.choices("ab", k=dice.randrange(8)))
        assert glob_matches(pattern, text) is fnmatchcase(text, pattern), (pattern, text)


def test_a_literal_pattern_fits_its_text_alone() -> None:
    dice = random.Random(6)
    for _ in range(5_000):
        text, other = ("".join(dice.choices("a*?\\ '\"", k=dice.randrange(6))) for _ in range(2))
        assert is_literal(literal(text))
        assert glob_matches(literal(text), text)
        assert glob_matches(literal(text), other) is (text == other)
        pattern = literal_words([text, other])
        assert command_matches(pattern, [Word(text), Word(other)]) is True
        assert command_matches(pattern, [Word(other), Word(text)]) is (text == other)


def test_matching_takes_time_in_proportion() -> None:
    text = "a" * 1_000_000
    start = time.perf_counter()
    for pattern in ("*a*a*a*a*a*b", "a*" * 200 + "b", "*" * 1000, "*ab*", "*" + "a" * 500 + "b*"):
        glob_matches(pattern, text)
    path_matches("/".join(["**", "a"] * 20) + "/b", "/".join("a" * 2000))
    assert time.perf_counter() - start < 10


@pytest.mark.parametrize(
    ("pattern", "fits", "not_fits"),
    [
        ("/w/docs/*", ["/w/docs/a"], ["/w/docs", "/w/docs/a/b"]),
        ("/w/docs/**", ["/w/docs", "/w/docs/a", "/w/docs/a/b"], ["/w/docsx", "/w"]),
        ("/**/.env", ["/.env", "/w/.env", "/w/a/.env"], ["/w/.envx", "/w/.env/a"]),
        ("/**", ["/", "/a"], []),
        ("/w/**/a/*.md", ["/w/a/x.md", "/w/b/c/a/x.md"], ["/w/a/b/x.md", "/w/x.md"]),
        ("/w/a**b", ["/w/ab", "/w/axb"], ["/w/a/b"]),
        ("/w/\\*", ["/w/*"], ["/w/a"]),
    ],
)
def test_paths(pattern: str, fits: list[str], not_fits: list[str]) -> None:
    assert [path for path in fits if not path_matches(pattern, path)] == []
    assert [path for path in not_fits if path_matches(pattern, path)] == []


def test_paths_are_those_of_a_regular_expression() -> None:
    dice = random.Random(8)
    for _ in range(10_000):
        parts = dice.choices(["**", "a", "*", "a*", "b"], k=dice.randint(1, 4))
        path = "".join(f"/{name}" for name in dice.choices(["a", "b", "ab"], k=dice.randrange(5)))
        form = "".join("(?:/[^/]+)*" if part == "**" else "/" + part.replace("*", "[^/]*") for part in parts)
        expected = re.fullmatch(form, path) is not None
        assert path_matches("/" + "/".join(parts), path) is expected, (parts, path)


@pytest.mark.parametrize(
    ("pattern", "command", "fits"),
    [
        ("git status", "git status", True),
        ("git status", "git status -s", False),
        ("git status", "git", False),
        ("git status", "git $x", None),
        ("git status", "git status $x", None),
        ("git status", "git push $x", False),
        ("git status", "$x status", None),
        ("git status", "$x", None),
        ("git status", "git st{atus,}", None),
        ("git push *", "$x origin", None),
        ("git log *", "git log", True),
        ("git log *", "git log -p x", True),
        ("git log *", "git log $x", True),
        ("git log *", "git logs", False),
        ("git log *", "git $x -p", None),
        ("git log *", "gitlog", False),
        ("git * main", "git push main", True),
        ("git * main", "git push origin main", False),
        ("make test-*", "make test-unit", True),
        ("make test-*", "make testunit", False),
        ("*", "anything at all", True),
        ("cat ~/x", "cat ~/x", None),
        ("rm '*'", "rm x", False),
        ("rm $x", "rm x", False),
    ],
)
def test_commands(pattern: str, command: str, fits: bool | None) -> None:
    assert command_matches(pattern, words(command)) is fits


def test_no_words_fit_no_pattern() -> None:
    assert command_matches("*", ()) is False
    assert command_matches("''", ()) is False


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("git  commit\t-m *", ("git", "commit", "-m", "*")),
        ("git commit -m 'a b'", ("git", "commit", "-m", "a b")),
        ("echo \"*\" x'?'y", ("echo", "\\*", "x\\?y")),
        ("a\\ b", ("a b",)),
        ("a ''", ("a", "")),
        ("it\\'s", ("it's",)),
        ("a \\*", ("a", "\\*")),
    ],
)
def test_words_of_a_pattern(pattern: str, expected: tuple[str, ...]) -> None:
    assert pattern_words(pattern) == expected


@pytest.mark.parametrize("pattern", ["git 'x", 'git "', "", "   "])
def test_patterns_that_are_none(pattern: str) -> None:
    with pytest.raises(ConfigError) as caught:
        pattern_words(pattern)
    assert caught.value.hint


@pytest.mark.parametrize("pattern", ["curl * | sh", "git log; rm *", "a && b", "x > y", "a `b`", "a&"])
def test_a_pattern_of_several_commands_is_an_error(pattern: str) -> None:
    with pytest.raises(ConfigError, match="more than one command"):
        pattern_words(pattern)


def test_a_quoted_operator_is_a_character() -> None:
    assert command_matches("grep 'a|b' *", words("grep a|b x"))
    assert command_matches(literal_words(["grep", "a|b;&<>`"]), words("grep a|b;&<>`"))
