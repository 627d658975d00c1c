"""What becomes of pasted text."""

from __future__ import annotations

from pathlib import Path

import pytest

from toolwire.tui.prompt.pasting import dropped_files, harmless, is_long, label

HARMLESS = [
    ("plain\ttext\n", "plain\ttext\n"),
    ("a\r\nb\rc", "a\nb\nc"),
    ("\x1b[31mred\x07", "␛[31mred␇"),
    ("a\x00\x7f\x9bb", "a␀␡<U+009B>b"),
    ("rm \u202eflow\u2066x", "rm <U+202E>flow<U+2066>x"),
    ("hi\U000e0041\U000e007f", "hi<U+E0041><U+E007F>"),
    ("\ufeffa\u2028b\x85c", "a\nb\nc"),
    ("half \ud83d", "half <U+D83D>"),
    ("می‌خواهم 👩‍👩‍👧 ❤️ נע\u200f", "می‌خواهم 👩‍👩‍👧 ❤️ נע\u200f"),
    ("naïve 日本語 ‹x›", "naïve 日本語 ‹x›"),
]


@pytest.mark.parametrize(("text", "made"), HARMLESS, ids=[ascii(text) for text, _ in HARMLESS])
def test_nothing_pasted_is_obeyed_or_hidden(text: str, made: str) -> None:
    assert harmless(text) == made
    assert harmless(made) == made


@pytest.mark.parametrize(
    ("text", "long"), [("x" * 2_000, False), ("x" * 2_001, True), ("a\n" * 19, False), ("a\n" * 20, True), ("", False)]
)
def test_what_is_long(text: str, long: bool) -> None:
    assert is_long(text) is long


def test_labels_differ() -> None:
    assert label("x\n" * 134, ()) == "[pasted 134 lines #1]"
    assert label("x\n" * 1133 + "x", ()) == "[pasted 1,134 lines #1]"
    assert label("x" * 3000, ()) == "[pasted 3,000 characters #1]"
    assert label("x\n" * 134, {"[pasted 134 lines #1]": ""}) == "[pasted 134 lines #2]"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name in ("a.png", "a b.png", "in/x.txt"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.touch()
    return tmp_path


DROPPED = [
    ("{root}/a.png", "@a.png"),
    ("{root}/a.png ", "@a.png"),
    ("'{root}/a b.png'", '@"a b.png"'),
    ('"{root}/a b.png"', '@"a b.png"'),
    ("{root}/a\\ b.png", '@"a b.png"'),
    ("{root}/a b.png", '@"a b.png"'),
    ("file://{root}/a%20b.png", '@"a b.png"'),
    ("file://localhost{root}/a.png", "@a.png"),
    ("'{root}/a b.png' {root}/in/x.txt", '@"a b.png" @in/x.txt'),
    ("{root}/in", "@in"),
    ("{root}", "@{root}"),
    ("file://elsewhere{root}/a.png", ""),
    ("file://[{root}", ""),
    ("'{root}/a b.png", ""),
    ("{root}/nope", ""),
    ("{root}/a.png is a file", ""),
    ("a.png", ""),
    ("{root}/a.png\n{root}/a.png", ""),
    ("/" * 5000, ""),
    ("", ""),
    ("rm -rf /", ""),
]


@pytest.mark.parametrize(("text", "made"), DROPPED, ids=[text[:40] for text, _ in DROPPED])
def test_dropped_files_are_seen(text: str, made: str, root: Path) -> None:
    assert dropped_files(text.format(root=root), str(root)) == made.format(root=root)


def test_files_outside_keep_their_whole_path(root: Path) -> None:
    assert dropped_files(f"{root}/a.png", str(root / "in")) == f"@{root}/a.png"
    assert dropped_files(f"{root}/a.png", "") == f"@{root}/a.png"
