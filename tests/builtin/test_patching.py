"""Replacements and patches on text: each case of `data/edits`, and the proofs at small counts."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from bench.trust import Found, edits

from programs import needs
from toolwire.builtin import file_text
from toolwire.builtin.file_text import FileText, Span
from toolwire.builtin.patching import apply_patch
from toolwire.builtin.replacement import replaced
from toolwire.errors import FileRefused

NAMES = ("f.txt", "/project/src/f.txt")
DATA = Path(__file__).parent.parent / "data" / "edits"


def rows(name: str) -> list[Any]:
    cases = [json.loads(line) for line in (DATA / name).read_text().splitlines()]
    assert len({case["name"] for case in cases}) == len(cases)
    return [pytest.param(case, id=case["name"]) for case in cases]


def check(case: dict[str, Any], spans: Callable[[FileText], list[Span]]) -> None:
    text = FileText(case["file"].encode())
    if "result" in case:
        assert text.changed(spans(text)) == case["result"].encode()
        return
    with pytest.raises(FileRefused) as caught:
        text.changed(spans(text))
    near = caught.value.facts.get("near", "")
    assert len(caught.value.message) < 1_000
    assert case.get("error") or case.get("near")
    for words in case.get("error", ()):
        assert words in caught.value.message
    for words in case.get("near", ()):
        assert words in near


@pytest.mark.parametrize("case", rows("replacements.jsonl"))
def test_replacements(case: dict[str, Any]) -> None:
    check(case, lambda text: replaced(text, case["old"], case["new"], case.get("all", False)))


@pytest.mark.parametrize("case", rows("patches.jsonl"))
def test_patches(case: dict[str, Any]) -> None:
    check(case, lambda text: apply_patch(text, case["patch"], NAMES).spans)
    if "placed" in case:
        applied = apply_patch(FileText(case["file"].encode()), case["patch"], NAMES)
        assert [line for line, _ in applied.placed] == case["placed"]


@pytest.mark.parametrize(
    ("proof", "count"),
    [
        (edits.exact, 3_000),
        (edits.mixed_ends, 200),
        pytest.param(edits.patches, 200, marks=needs("git")),
        pytest.param(edits.damaged_patches, 60, marks=needs("git")),
    ],
    ids=lambda each: getattr(each, "__name__", None),
)
def test_the_proofs(proof: Callable[[int, int], Found], count: int) -> None:
    found = proof(count, 7)
    assert found.runs > 0.9 * count
    assert not found.faults


def test_a_wrong_result_would_be_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FileText, "changed", lambda text, spans: text.plain.encode())
    assert edits.exact(100, 1).faults
    assert edits.mixed_ends(100, 1).faults


@needs("git")
def test_a_wrong_patch_would_be_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FileText, "changed", lambda text, spans: text.plain.encode())
    assert edits.patches(20, 1).faults
    assert edits.damaged_patches(10, 1).faults


def test_patches_of_diff_are_read(tmp_path: Path) -> None:
    old, new = b"a\nb\nc\nd\ne\nf\ng\nh\ni\n", b"a\nB\nc\nd\ne\nf\ng\nh\ni\nj"
    (tmp_path / "old").write_bytes(old)
    (tmp_path / "new").write_bytes(new)
    made = subprocess.run(["diff", "-u", "old", "new"], cwd=tmp_path, capture_output=True, text=True).stdout
    text = FileText(old)
    assert text.changed(apply_patch(text, made, ("old",)).spans) == new


@pytest.mark.parametrize(
    ("content", "old"),
    [
        (b"same line\n" * 50_000, "same line\n" * 199 + "same lime\n"),
        (b"\n" * 300_000, "\n" * 199 + "x\n"),
        (b"ab\n" * 60_000, "ab\nac\n" * 100),
        (b"a" * 500_000, "a" * 4_000 + "b"),
        (b"ab" * 250_000, "ab" * 100_000 + "b"),
        (b"\xc3\xa9\n" * 60_000, "\u00e9\n\u00e8\n" * 100),
        (b"x y\n" * 50_000, " x  y\n" * 20_000),
    ],
)
def test_what_is_near_is_found_in_bounded_time(content: bytes, old: str) -> None:
    text = FileText(content)
    start = time.process_time()
    with pytest.raises(FileRefused) as caught:
        replaced(text, old, "new")
    assert time.process_time() - start < 1.0
    assert len(caught.value.facts.get("near", "")) < 9_000


def test_a_large_old_text_is_found_near_in_a_large_file() -> None:
    lines = [f"{number * 7919 % 100_003} some words of line {number % 1_000}" for number in range(60_000)]
    text = FileText("\n".join(lines).encode())
    old = lines[50_000:50_200]
    old[150] += " more"
    start = time.process_time()
    with pytest.raises(FileRefused) as caught:
        replaced(text, "\n".join(old), "new")
    assert time.process_time() - start < 2.0
    assert "lines 50,001 to 50,200" in caught.value.near
    assert "Line 50,151 is" in caught.value.near


def test_many_hunks_in_a_large_file_cost_bounded_time() -> None:
    text = FileText(b"same\n" * 100_000 + b"end\n")
    patch = "@@ -9 +9 @@\n-same\n+new\n" * 299 + "@@ -7 +7 @@\n-enb\n+new\n"
    start = time.process_time()
    with pytest.raises(FileRefused, match="hunk 2"):
        apply_patch(text, patch)
    assert time.process_time() - start < 2.0


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"a\0b", "binary"),
        (b"caf\xe9\n", "byte 3 is 0xe9"),
        (b"\xff\xfea\0", "binary"),
        (b"a" * (32 * 1024 * 1024 + 1), "at most 33,554,432"),
        (b"\n" * 1_000_001, "has 1,000,001 lines, and at most 1,000,000"),
    ],
)
def test_what_is_no_text_is_not_edited(content: bytes, words: str) -> None:
    with pytest.raises(FileRefused, match=words):
        FileText(content)


def test_a_file_may_be_as_large_as_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_text, "MAX_BYTES", 10)
    text = FileText(b"a" + b"b" * 9)
    assert text.changed([Span(0, 1, "c")]) == b"c" + b"b" * 9
    assert FileText(b"a").changed([Span(0, 1, "\u00e9" * 5)]) == "\u00e9".encode() * 5
    for new in ("cc", "\u00e9"):
        with pytest.raises(FileRefused, match="would have 11"):
            text.changed([Span(0, 1, new)])
    with pytest.raises(FileRefused, match="has 11 bytes"):
        FileText(b"a" * 11)


def test_a_file_may_have_as_many_lines_as_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_text, "MAX_LINES", 3)
    assert FileText(b"a\nb\nc\n").changed([Span(0, 1, "d")]) == b"d\nb\nc\n"
    with pytest.raises(FileRefused, match="has 4 lines"):
        FileText(b"a\nb\nc\nd\n")


@pytest.mark.parametrize(
    ("content", "old"),
    [(b"ab\n" * 500_000, "ab\n" * 400_000 + "c"), (b"x = 1\n" * 900_000, "y = 1\n"), (b"ab" * 15_000_000, "ab\nc")],
    ids=["a long text", "many lines", "a long line"],
)
def test_what_is_not_in_a_large_file_is_soon_known(content: bytes, old: str) -> None:
    text = FileText(content)
    start = time.process_time()
    with pytest.raises(FileRefused, match="is not in the file"):
        replaced(text, old, "new")
    assert time.process_time() - start < 0.5


def test_an_edit_cannot_blow_a_file_up() -> None:
    text = FileText(b"a" * 50_000)
    with pytest.raises(FileRefused, match="at most"):
        text.changed(replaced(text, "a", "b" * 1_000, True))
    text = FileText(b"a" * 9_000)
    with pytest.raises(FileRefused, match="bytes"):
        text.changed(replaced(text, "a", "é" * 3_000, True))
    with pytest.raises(FileRefused, match="over 100,000 times"):
        replaced(FileText(b"a" * 100_001), "a", "b", True)
