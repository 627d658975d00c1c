"""Diffs: true for every pair of texts, as short as they can be, bounded where that would take too long."""

from __future__ import annotations

import random
import time
import tracemalloc

import pytest

from toolwire.files import differences
from toolwire.files.differences import count_changed, count_lines, encoding_of, unified


def patched(before: bytes, diff: str) -> bytes:
    """What the diff makes of a text: read here by the rules of the format, every context line checked."""
    old = before.decode().split("\n")
    new: list[str] = []
    place = 0
    lines = diff.removesuffix("\n").split("\n")[2:]
    for number, line in enumerate(lines):
        following = lines[number + 1] if number + 1 < len(lines) else ""
        end = "" if following.startswith("\\") else "\n"
        if line.startswith("@@"):
            start, _, length = line.split()[1].removeprefix("-").partition(",")
            begin = int(start) - (length != "0")
            new += [f"{each}\n" for each in old[place:begin]]
            place = begin
        elif line[0] in " -":
            assert old[place] == line[1:]
            place += 1
            new += [line[1:] + end] if line[0] == " " else []
        elif line[0] == "+":
            new.append(line[1:] + end)
    rest = "\n".join(old[place:])
    return ("".join(new) + rest).encode()


def common(old: list[bytes], new: list[bytes]) -> int:
    """Lines of a longest common row, by the table of the textbook."""
    row = [0] * (len(new) + 1)
    for line in old:
        before = row[:]
        for place, other in enumerate(new):
            row[place + 1] = before[place] + 1 if line == other else max(before[place + 1], row[place])
    return row[-1]


def test_a_diff_is_true_and_as_short_as_it_can_be() -> None:
    dice = random.Random(7)
    for _ in range(150):
        letters = "abcdefgh"[: dice.randint(1, 8)]
        texts = [
            "".join(dice.choice(letters) + "\n" for _ in range(dice.randint(0, 30))) + dice.choice(["", "", "end"])
            for _ in range(2)
        ]
        before, after = (text.encode() for text in texts)
        diff = unified(before, after, "f")
        assert (patched(before, diff) if diff else before) == after
        old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
        same = common(old, new)
        assert count_changed(before, after) == (len(new) - same, len(old) - same)


def test_how_it_looks() -> None:
    before = b"".join(b"%d\n" % number for number in range(1, 21))
    after = before.replace(b"5\n", b"five\n", 1).replace(b"20\n", b"20")
    assert unified(before, after, "a.txt") == (
        "--- a.txt\n+++ a.txt\n@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n"
        "@@ -17,4 +17,4 @@\n 17\n 18\n 19\n-20\n+20\n\\ No newline at end of file\n"
    )
    assert unified(None, b"x\n", "a.txt") == "--- /dev/null\n+++ a.txt\n@@ -0,0 +1 @@\n+x\n"
    assert unified(b"x\n", None, "a.txt") == "--- a.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n"
    assert unified(b"x", b"x", "a.txt") == ""
    assert unified(None, b"", "a.txt") == "--- /dev/null\n+++ a.txt\n"


def test_a_path_cannot_forge_lines() -> None:
    assert unified(b"", b"x\n", "a\n+++ b").startswith("--- 'a\\n+++ b'\n")


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        (b"a\nb\n", b"a\r\nb\r\n", "the line ends change from LF to CRLF\n"),
        (b"a\r\nb\n", b"a\nb\n", "the line ends change from mixed to LF\n"),
        (b"\xef\xbb\xbfa\n", b"a\n", "the encoding changes from UTF-8 with BOM to UTF-8\n"),
        (
            "a\nä\n".encode("utf-16"),
            "a\nö\n".encode(),
            "the encoding changes from UTF-16 to UTF-8\n@@ -1,2 +1,2 @@\n a\n-ä\n+ö\n",
        ),
        (b"\0\1", b"a", "not text: 2 bytes before, 1 bytes after\n"),
        (None, b"\0", "not text: no file before, 1 bytes after\n"),
        (b"\xff\n", b"a\n", "-\\xff\n+a\n"),
    ],
)
def test_what_lines_do_not_show_is_said(before: bytes | None, after: bytes, words: str) -> None:
    assert words in unified(before, after, "f")


def test_long_lines_and_many_lines_are_cut_and_both_sides_seen() -> None:
    diff = unified(b"x" * 5000 + b"\n", b"y\n" * 5000, "f")
    assert f"-{'x' * 999}… (4,001 more characters)\n" in diff
    assert diff.endswith("… the rest of +5,000 −1 lines is not shown\n")
    diff = unified(b"x\n" * 5000, b"y\n" * 5000, "f")
    assert "… 4,700 more lines that go\n+y\n" in diff
    assert diff.count("\n") < 1_010


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"a\nb\n" * 20_000, b"b\nb\na\n" * 16_000),
        (b"x\n" * 100_000, b"y\n" * 100_000),
        (b"a\n" * 40_000, b"b\n" + b"a\n" * 20_000 + b"c\n"),
        (b"".join(b"%d\n" % n for n in range(30_000)), b"".join(b"%d\n" % (n * 7 % 30_000) for n in range(30_000))),
    ],
)
def test_hard_cases_are_cut_off_and_still_true(before: bytes, after: bytes) -> None:
    started = time.process_time()
    counted = count_changed(before, after)
    assert time.process_time() - started < 2
    assert count_lines(before) - counted.removed == count_lines(after) - counted.added


def test_what_is_cut_off_is_still_a_diff(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(differences, "_EDITS", 2)
    before, after = b"a\nb\nc\nd\ne\n", b"e\nd\nc\nb\na\n"
    assert patched(before, unified(before, after, "f")) == after
    assert count_changed(before, after) == (5, 5)


def test_a_small_change_in_a_large_text_is_shown_where_it_is() -> None:
    lines = [b"%d\n" % number for number in range(200_000)]
    changed = [*lines[:150_000], b"new\n", *lines[150_001:]]
    diff = unified(b"".join(lines), b"".join(changed), "f")
    assert diff.split("\n", 2)[2] == (
        "@@ -149998,7 +149998,7 @@\n 149997\n 149998\n 149999\n-150000\n+new\n 150001\n 150002\n 150003\n"
    )


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("before", "after", "counted"),
    [
        (b"\n" * (32 << 20), b"x\n", (1, 32 << 20)),
        (b"a\nb\n" + b"\n" * (32 << 20), b"a\nb\nx\n", (1, 32 << 20)),
        (b"x\n", b"\n" * (32 << 20), (32 << 20, 1)),
        (b"\xff" * (32 << 20), b"a", (1, 1)),
        (b"%d\n" * (4 << 20), b"%s\n" * (4 << 20), (4 << 20, 4 << 20)),
    ],
    ids=["empty lines go", "after some that stay", "empty lines come", "one line that is no text", "all lines change"],
)
def test_large_texts_take_little_time_and_memory(before: bytes, after: bytes, counted: tuple[int, int]) -> None:
    started = time.process_time()
    tracemalloc.start()
    try:
        diff = unified(before, after, "f")
        assert tracemalloc.get_traced_memory()[1] < 8 * (len(before) + len(after))
    finally:
        tracemalloc.stop()
    assert time.process_time() - started < 2
    assert count_changed(before, after) == counted
    removed, added = (sum(line.startswith(sign) for line in diff.split("\n")[2:]) for sign in "-+")
    assert removed == min(counted[1], 300)
    assert 1 <= added <= min(counted[0], 1_000)
    if counted[1] > 300:
        assert f"… {counted[1] - 300:,} more lines that go\n" in diff
    if counted[0] > 1_000:
        assert diff.endswith(f"… the rest of +{counted[0]:,} −{counted[1]:,} lines is not shown\n")


@pytest.mark.parametrize("most", [0, 1, 2, 5])
def test_what_is_not_compared_is_still_a_diff(monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    monkeypatch.setattr(differences, "_COMPARED_LINES", most)
    dice = random.Random(3)
    for _ in range(100):
        before, after = (
            "".join(dice.choice("abc") + "\n" for _ in range(dice.randint(0, 12))).encode() + dice.choice([b"", b"end"])
            for _ in range(2)
        )
        diff = unified(before, after, "f")
        assert (patched(before, diff) if diff else before) == after
        counted = count_changed(before, after)
        assert count_lines(before) - counted.removed == count_lines(after) - counted.added


@pytest.mark.parametrize(
    ("content", "lines", "encoding"),
    [
        (b"", 0, ""),
        (b"a", 1, ""),
        (b"a\n", 1, ""),
        (b"a\nb", 2, ""),
        (b"\xef\xbb\xbf\n", 1, "UTF-8 with BOM"),
        ("a".encode("utf-16"), 1, "UTF-16"),
        ("a".encode("utf-32"), 1, "UTF-32"),
    ],
)
def test_lines_and_encodings(content: bytes, lines: int, encoding: str) -> None:
    assert (count_lines(content), encoding_of(content)) == (lines, encoding)
