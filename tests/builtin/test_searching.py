"""`search_files`: what it finds, what it leaves out and tells of, and that it is the same with ripgrep and without."""

from __future__ import annotations

import asyncio
import gc
import os
import shutil
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from bench.trust.searches import ignored_like_git, same_answers

from builtin_calls import call_tool
from programs import needs
from toolwire.approval.rules import Decision, Rule
from toolwire.builtin.ignoring import Glob, IgnoreFile
from toolwire.builtin.search_pattern import Written, read_pattern
from toolwire.builtin.searching import Search, searching_tools
from toolwire.builtin.searching_answer import ANSWER_CHARACTERS, Answer
from toolwire.builtin.searching_python import compile_pattern, fitting_lines, read_text
from toolwire.builtin.searching_ripgrep import find_ripgrep
from toolwire.builtin.searching_walk import FILE_BYTES, Clock, Walk
from toolwire.errors import ConfigError
from toolwire.execution.environment import child_environment
from toolwire.execution.sandbox.sandbox import Sandbox, find_sandbox
from toolwire.files.beneath import Roots

TOOL = searching_tools(None)[0]


@pytest.fixture
def confined() -> Sandbox:
    """A sandbox that ripgrep can run in."""
    sandbox = find_sandbox()
    if shutil.which("rg") is None or not sandbox.holds:
        pytest.skip("ripgrep or a sandbox for it is missing here")
    return sandbox


async def search(root: Path, pattern: str, **arguments: Any) -> str:
    result = await call_tool(TOOL, {"pattern": pattern, **arguments}, root)
    return result.content


def fill(root: Path, files: dict[str, str | bytes]) -> None:
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())


# ---- what is told


async def test_lines_come_by_file_with_their_numbers(tmp_path: Path) -> None:
    fill(tmp_path, {"b.py": "x = 1\ndef f(x):\n", "a/c.py": "def g():\n    pass\n\ndef h():\n", "d.txt": "nothing\n"})
    assert await search(tmp_path, r"def \w+\(") == (
        "a/c.py\n    1: def g():\n    4: def h():\n\nb.py\n    2: def f(x):\n\n"
        "[3 matching lines in 2 files, 3 files searched.]"
    )


async def test_lines_around_a_match(tmp_path: Path) -> None:
    fill(tmp_path, {"a": "1\n2\nhit\n4\nhit\n6\n7\n8\n9\nhit\n"})
    assert await search(tmp_path, "hit", context=1) == (
        "a\n    2- 2\n    3: hit\n    4- 4\n    5: hit\n    6- 6\n--\n    9- 9\n   10: hit\n\n"
        "[3 matching lines in 1 file, 1 file searched.]"
    )


async def test_names_alone_and_counts(tmp_path: Path) -> None:
    fill(tmp_path, {"a": "hit\nhit\n", "b": "no\n", "c": "hit\n"})
    assert await search(tmp_path, "hit", output="files") == "a\nc\n\n[2 files with a match, 3 files searched.]"
    assert await search(tmp_path, "hit", output="count") == (
        "a: 2\nc: 1\n\n[3 matching lines in 2 files, 3 files searched.]"
    )


async def test_the_limit_is_told_with_what_to_do(tmp_path: Path) -> None:
    fill(tmp_path, {"a": "hit\n" * 10, "b": "hit\n"})
    text = await search(tmp_path, "hit", limit=4)
    assert text.count(": hit") == 4
    assert "Stopped at limit=4, there may be more. Narrow it with path, glob or a more exact pattern" in text


async def test_an_answer_is_bounded_however_much_there_is(tmp_path: Path) -> None:
    fill(tmp_path, {f"f{n}": ("hit " + "x" * 250 + "\n") * 100 for n in range(10)})
    text = await search(tmp_path, "hit", limit=1000)
    assert len(text) < ANSWER_CHARACTERS + 500
    assert "The answer is cut here" in text


async def test_a_long_line_is_shown_around_what_fits(tmp_path: Path) -> None:
    fill(tmp_path, {"a": "é" * 50_000 + "NEEDLE" + "x" * 50_000 + "\n", "b": "N" + "y" * 5_000, "c": "z" * 299 + "N"})
    lines = (await search(tmp_path, "N")).split("\n")
    assert "NEEDLE" in lines[1]
    assert lines[1].endswith("… [a line of 150,006 bytes]")
    assert lines[4].startswith("    1: Nyy")
    assert lines[7] == "    1: " + "z" * 299 + "N"
    assert max(map(len, lines)) < 400


async def test_nothing_found_says_what_was_searched_and_what_not(tmp_path: Path) -> None:
    fill(tmp_path, {"a": "x\n", "b.bin": b"hit\0", ".gitignore": "*.log\n", "c.log": "hit\n"})
    (tmp_path / "link").symlink_to("/etc/passwd")
    with (tmp_path / "big").open("wb") as file:
        file.truncate(FILE_BYTES + 1)
    assert await search(tmp_path, "hit") == (
        "Nothing found, 2 files searched. Left out: 1 ignored by .gitignore (search them with ignored=true), 1 binary, "
        "1 over 10 MiB, 1 linked (links are not followed)."
    )
    assert await search(tmp_path, "hit", glob="*.nope") == (
        "Nothing found, 0 files searched. Check path and glob with list_directory. Left out: 1 ignored by .gitignore "
        "(search them with ignored=true), 1 linked (links are not followed)."
    )


async def test_odd_names_and_control_characters_cannot_forge_lines(tmp_path: Path) -> None:
    fill(tmp_path, {"a\n    7: b": "hit \x1b[2J\rhidden\n", "\udcff": "hit\n"})
    text = await search(tmp_path, "hit")
    assert text.split("\n")[:2] == ["'a\\n    7: b'", "    1: hit ␛[2J␍hidden"]
    text.encode()


# ---- what is searched


async def test_encodings_and_line_ends(tmp_path: Path) -> None:
    fill(
        tmp_path,
        {
            "bom": b"\xef\xbb\xbfhit\n",
            "crlf": "hit\r\nhit x\r\n",
            "le": b"\xff\xfe" + "é\r\nhit\r\n".encode("utf-16-le"),
            "be": b"\xfe\xff" + "hit".encode("utf-16-be"),
            "half": b"\xff\xfe" + "hit".encode("utf-16-le") + b"\0",
            "wide": b"\xff\xfe\0\0" + "hit".encode("utf-32-le"),
            "latin": b"\xe9\nhit\n",
        },
    )
    text = await search(tmp_path, "^hit$", output="count")
    assert text.split("\n")[:5] == ["be: 1", "bom: 1", "crlf: 1", "latin: 1", "le: 1"]
    assert "5 files searched. Left out: 2 binary" in text


@pytest.mark.parametrize("ignored", [False, True])
async def test_hidden_files_are_searched_and_git_is_not(tmp_path: Path, ignored: bool) -> None:
    fill(tmp_path, {".env.example": "hit", ".git/config": "hit", "sub/.git": "hit"})
    text = await search(tmp_path, "hit", ignored=ignored)
    assert text.startswith(".env.example\n    1: hit\n\n[1 matching line in 1 file, 1 file searched.")


async def test_gitignore_files_count_from_the_root_down(tmp_path: Path) -> None:
    fill(
        tmp_path,
        {
            ".gitignore": "*.log\nbuild/\n/only\n",
            "src/.gitignore": "!keep.log\n",
            "src/keep.log": "hit",
            "src/other.log": "hit",
            "src/only": "hit",
            "src/build/x": "hit",
            "src/own/.git/HEAD": "",
            "src/own/any.log": "hit",
            "only": "hit",
        },
    )
    text = await search(tmp_path, "hit", path="src", output="files")
    assert text.startswith("src/keep.log\nsrc/only\nsrc/own/any.log\n\n[3 files")
    assert "2 ignored" in text
    everything = await search(tmp_path, "hit", path="src", output="files", ignored=True)
    assert everything.startswith("src/build/x\nsrc/keep.log\nsrc/only\nsrc/other.log\nsrc/own/any.log\n")
    assert "src/build/x\n    1: hit" in await search(tmp_path, "hit", path="src/build")
    assert "src/other.log\n    1: hit" in await search(tmp_path, "hit", path="src/other.log")


@pytest.mark.parametrize(
    ("glob", "files"),
    [
        ("*.py", ["a.py", "s/b.py", "s/t/é.py"]),
        ("s/*.py", ["s/b.py"]),
        ("s/**/*.py", ["s/b.py", "s/t/é.py"]),
        ("**/?.py", ["a.py", "s/b.py", "s/t/é.py"]),
        ("./*.{py,md}", ["a.py", "c.md", "s/b.py", "s/t/é.py"]),
        ("!*.py", ["c.md"]),
        ("s/", ["s/b.py", "s/t/é.py"]),
        ("[!a].py", ["s/b.py"]),
        ("/*.{py,{md,x}}", ["a.py", "c.md"]),
    ],
)
async def test_globs(tmp_path: Path, glob: str, files: list[str]) -> None:
    fill(tmp_path, dict.fromkeys(("a.py", "s/b.py", "s/t/é.py", "c.md"), "hit"))
    text = await search(tmp_path, "hit", glob=glob, output="files")
    assert text.split("\n\n")[0].split("\n") == files


async def test_closed_files_are_left_out_and_counted(tmp_path: Path) -> None:
    fill(tmp_path, {"a": "hit", "secrets/key": "hit TOP", ".env": "hit TOP"})
    rules = [
        Rule(decision=Decision.DENY, path=("secrets/**",)),
        Rule(decision=Decision.ASK, path=(".env",)),
        Rule(decision=Decision.ALLOW, tool=("search_files",)),
    ]
    result = await call_tool(TOOL, {"pattern": "hit"}, tmp_path, rules=rules)
    assert "TOP" not in result.content
    assert "a\n    1: hit" in result.content
    assert "2 closed by a rule, or hidden" in result.content


async def test_links_pipes_and_paths_outside(tmp_path: Path) -> None:
    outside, root = tmp_path / "outside", tmp_path / "root"
    fill(tmp_path, {"outside/secret": "CANARY", "root/a": "CANARY not\n"})
    (root / "link").symlink_to(outside)
    (root / "file").symlink_to(outside / "secret")
    (root / ".gitignore").symlink_to(outside / "secret")
    os.mkfifo(root / "pipe")
    text = await search(root, "CANARY")
    assert text == (
        "a\n    1: CANARY not\n\n"
        "[1 matching line in 1 file, 1 file searched. Left out: 3 linked (links are not followed).]"
    )
    for path in ("..", "link", "file", str(outside), "pipe", "missing", "a/b", "x\0y"):
        result = await call_tool(TOOL, {"pattern": "CANARY", "path": path}, root)
        assert result.is_error
        assert "1: CANARY" not in result.content


async def test_a_missing_folder_is_told_with_names_like_it(tmp_path: Path) -> None:
    fill(tmp_path, {"source/a": "hit"})
    text = await search(tmp_path, "hit", path="sources")
    assert text.startswith("Error: there is no 'sources'")
    assert "'source'" in text


async def test_a_link_that_comes_after_the_question_is_not_followed(tmp_path: Path) -> None:
    fill(tmp_path, {"outside/secret": "CANARY", "root/a/x": "CANARY", "root/b": "CANARY"})
    root = tmp_path / "root"
    walk = Walk(Roots([str(root)]), str(root), str(root), Clock(9))
    found = list(walk.files())
    assert [each.real for each in found] == [f"{root}/a/x", f"{root}/b"]
    shutil.rmtree(root / "a")
    (root / "a").symlink_to(tmp_path / "outside")
    (tmp_path / "outside/x").write_text("CANARY")
    (root / "b").unlink()
    (root / "b").symlink_to(tmp_path / "outside/secret")
    again = Search(walk, read_pattern("CANARY"), Answer("content", 9, 0))
    again._search(found, None, compile_pattern(again.written), walk.roots)
    assert walk.left.unreadable == 2
    assert "CANARY" not in again.answer.text(walk.left)


# ---- patterns


@pytest.mark.parametrize(
    ("pattern", "line"),
    [
        (r"\d{3}-\w+", "see 123-abc"),
        (r"foo\(\)\s{", "foo() {"),
        ("a{b}", "a{b}"),
        ("[[]x]", "[x]"),
        ("[a&&b]", "only &"),
        (r"[\w.-]+@x", "a.b-c@x"),
        ("(?i)STRASSE|É", "é"),
        (r"\bfoo\b", "a foo b"),
        (r"\u00e9\x41", "éA"),
        ("(?P<name>a|b)+c", "abac"),
        ("x$", "ends with x"),
        (r"\Ax\Z", "x"),
        ("[[:upper:]]{2}", "aBCd"),
        ("[^a-z]", "abc1"),
        ("日.語", "日本語"),
    ],
)
def test_patterns_that_fit(pattern: str, line: str) -> None:
    assert fits(read_pattern(pattern), line)
    assert fits(read_pattern(line, regex=False), line)


def fits(written: Written, line: str) -> bool:
    return any(fitting_lines(line.encode(), compile_pattern(written), lambda: False))


@pytest.mark.parametrize(
    ("pattern", "line"),
    [("a.c", "a\nc"), (r"a\sc", "a\nc"), ("[^x]c", "a\nc"), ("^b", "ab"), (r"\w", "é"), ("^$", "a")],
)
def test_patterns_that_do_not_fit(pattern: str, line: str) -> None:
    assert not fits(read_pattern(pattern), line)


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        ("", "the pattern is empty"),
        ("x" * 1001, "at most 1,000 are taken"),
        ("(?=a)b", "looks ahead or behind"),
        ("(?<!a)b", "looks ahead or behind"),
        (r"(a)\1", "refers back to a group"),
        ("(?P<q>a)(?P=q)", "refers back to a group"),
        ("f(", r"write \( for the character itself"),
        ("f)", r"write \) for the character itself"),
        ("[a", r"write \[ for the character itself"),
        ("*.py", "'*' has nothing to repeat"),
        ("a**", "follows another repeat"),
        ("a++", "possessive"),
        ("a\\", "stands at its end"),
        (r"a\nb", "one line at a time"),
        ("a\nb", "one line at a time"),
        (r"\p{L}", "write the characters as a set"),
        (r"\y", "write \\\\ for a backslash"),
        (r"\x{110000}", "does not exist"),
        (r"\xg1", "needs digits"),
        ("[z-a]", "goes the wrong way"),
        ("a{3,2}", "the smaller number first"),
        ("a{,2}", "write {0,2}"),
        ("a{1001}", "1,000 at most"),
        ("(?x)a", "use (...), (?:...) or (?i)"),
        ("(" * 51 + ")" * 51, "nested over 50 deep"),
        ("(a{900}){900}", "write a simpler one"),
        (r"[^\x00]{900}", "the pattern is too large"),
        ("\ud800", "surrogate"),
        ("[[:nope:]]", "the names are alnum"),
    ],
)
def test_patterns_that_cannot_be_used_say_what_to_write(pattern: str, words: str) -> None:
    with pytest.raises(ConfigError) as error:
        compile_pattern(read_pattern(pattern))
    assert words in str(error.value)


@pytest.mark.parametrize(
    ("pattern", "is_told"),
    [
        ("^a$", True),
        ("a$|^b", True),
        ("(^a|^b)c", True),
        ("(a$|b$)", True),
        (r"^\bfoo\b$", True),
        ("$^", False),
        (r"\B^ ", False),
        (r"\B(?:^a)", False),
        ("(a$)b", False),
        ("(^a)*", False),
        ("(?:$)(?:^)", False),
    ],
)
def test_ripgrep_is_not_told_a_pattern_that_it_gets_wrong(pattern: str, is_told: bool) -> None:
    assert bool(read_pattern(pattern).ripgrep) is is_told


@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|aa)+$", "(a*)*b", "a*a*a*a*a*a*b", "(.*)*x", "(?i)(É+|é)+$"])
def test_no_pattern_hangs(pattern: str) -> None:
    text = (b"a" if "a" in pattern else "é".encode()) * 1_000_000 + b"!"
    started = time.process_time()
    assert not list(fitting_lines(text, compile_pattern(read_pattern(pattern)), lambda: False))
    assert time.process_time() - started < 2


@pytest.mark.parametrize(
    ("rules", "path", "is_left_out"),
    [
        ("a/**/b", "a/b", True),
        ("a/**", "a", None),
        ("**/b", "x/y/b", True),
        ("a**/*", "ab", True),
        ("x/a**", "x/ab/c", True),
        ("a/b", "x/a/b", None),
        ("b\\ ", "b ", True),
        ("b  \r", "b", True),
        ("\\#b", "#b", True),
        ("#b", "#b", None),
        ("*\n!b", "b", False),
        ("!b\n*", "b", True),
        ("b/", "b", None),
        ("[]-a]", "^", True),
        ("[a-", "a", None),
        ("[[:alpha:]-z]", "-", True),
        ("?", "é", None),
        ("??", "é", True),
        ("b\\", "b", None),
        ("\ufeffb", "b", True),
    ],
)
def test_rules_of_gitignore(rules: str, path: str, is_left_out: bool | None) -> None:
    assert IgnoreFile(rules.encode()).leaves_out(path.encode(), False) is is_left_out


def test_no_gitignore_hangs() -> None:
    started = time.process_time()
    file = IgnoreFile(b"*a" * 300 + b"b\n" + b"**/a/" * 100 + b"b\n" + b"[" * 900 + b"\n" + b"\\\n")
    assert file.leaves_out(b"a" * 255, False) is None
    assert file.leaves_out(b"a/" * 2_000 + b"c", False) is None
    assert time.process_time() - started < 1


@pytest.mark.parametrize("glob", ["[", "a\\", "[é]", "{a,b}{c,d}{e,f}{g,h}{i,j}{k,l}{m,n}", "x" * 1001, "!"])
def test_globs_that_cannot_be_used_say_so(glob: str) -> None:
    with pytest.raises(ConfigError, match="glob"):
        Glob(glob)


@pytest.mark.parametrize(("name", "value"), [("context", -1), ("context", 21), ("limit", 0), ("limit", 1001)])
async def test_numbers_out_of_bounds_say_what_to_give(tmp_path: Path, name: str, value: int) -> None:
    assert f"{name} is {value}; give a number from" in await search(tmp_path, "x", **{name: value})


# ---- bounds


async def test_when_the_time_is_up_what_was_found_is_told(tmp_path: Path) -> None:
    fill(tmp_path, {"a": "hit", "b": "hit"})
    root = str(tmp_path)
    walk = Walk(Roots([root]), root, root, Clock(0))
    text = await Search(walk, read_pattern("hit"), Answer("content", 9, 0)).run(None)
    assert text.startswith("Nothing found before the time was up, 0 files searched.")


async def test_a_search_that_is_cancelled_stops(tmp_path: Path) -> None:
    fill(tmp_path, {f"f{n}": "x" * 2_000 for n in range(300)})
    reading = threading.Event()

    def is_closed(path: str) -> bool:
        reading.set()
        time.sleep(0.01)
        return False

    root = str(tmp_path)
    walk = Walk(Roots([root]), root, root, Clock(30), is_closed=is_closed)
    task = asyncio.create_task(Search(walk, read_pattern("hit"), Answer("content", 9, 0)).run(None))
    await asyncio.to_thread(reading.wait)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert walk.clock.is_over()


def test_no_descriptor_is_left_open(tmp_path: Path) -> None:
    fill(tmp_path, {f"{n}/{m}": "x" for n in range(5) for m in range(5)})
    gc.collect()
    before = len(os.listdir("/proc/self/fd"))
    files = Walk(Roots([str(tmp_path)]), str(tmp_path), str(tmp_path), Clock(9)).files()
    next(files)
    assert len(os.listdir("/proc/self/fd")) <= before


# ---- ripgrep


async def test_many_bytes_are_searched_by_ripgrep_first(
    tmp_path: Path, confined: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(
        tmp_path,
        {"bin": b"\0", "big": "a line\n" * (FILE_BYTES // 7), "also": "b line\n" * (FILE_BYTES // 7), "c": "hit"},
    )
    read: list[str] = []

    def read_one(roots: Roots, real: str) -> bytes | None:
        read.append(os.path.basename(real))
        return read_text(roots, real)

    monkeypatch.setattr("toolwire.builtin.searching.read_text", read_one)
    result = await call_tool(searching_tools(confined)[0], {"pattern": "hit"}, tmp_path)
    assert read == ["bin", "c"]
    assert result.content == ("c\n    1: hit\n\n[1 matching line in 1 file, 3 files searched. Left out: 1 binary.]")


async def test_ripgrep_misses_no_file_for_what_lies_around_a_line(tmp_path: Path, confined: Sandbox) -> None:
    files: dict[str, str | bytes] = {
        "bom": b"\xef\xbb\xbfhit\n",
        "crlf": "hit\r\n",
        "both": b"\xef\xbb\xbfhit\r\n",
        "le": b"\xff\xfe" + "hit\r\n".encode("utf-16-le"),
        "broken": b"\xff\xfe" + "x".encode("utf-16-le") + b"\x00\xd8",
        "nul": b"a\0",
        "new\nline": "hit",
    }
    fill(tmp_path, {**files, "no": "hits"})
    ripgrep = find_ripgrep(confined, (str(tmp_path),), child_environment(os.environ))
    assert ripgrep is not None
    every = [str(tmp_path / name) for name in (*files, "no")]
    assert await ripgrep.chosen(every, read_pattern("^hit$"), 9) == {*every[:-1], ""}


async def test_ripgrep_can_read_nothing_outside(tmp_path: Path, confined: Sandbox) -> None:
    fill(tmp_path, {"root/a": "CANARY", "outside/secret": "CANARY"})
    (tmp_path / "root/link").symlink_to(tmp_path / "outside/secret")
    ripgrep = find_ripgrep(confined, (str(tmp_path / "root"),), child_environment(os.environ))
    assert ripgrep is not None
    assert await ripgrep.chosen([str(tmp_path / "root/a")], read_pattern("CANARY"), 9)
    assert ripgrep.works
    for path in ("root/link", "outside/secret"):
        assert await ripgrep.chosen([str(tmp_path / path)], read_pattern("CANARY"), 9) is None
        assert not ripgrep.works


def test_a_ripgrep_that_lies_in_the_workspace_is_not_run(tmp_path: Path) -> None:
    fill(tmp_path, {"bin/rg": "#!/bin/sh\n"})
    (tmp_path / "bin/rg").chmod(0o755)
    environment = {"PATH": str(tmp_path / "bin")}
    assert find_ripgrep(find_sandbox(), (str(tmp_path),), environment) is None
    assert find_ripgrep(None, (), environment) is None


# ---- proofs


@pytest.mark.skipif(shutil.which("rg") is None, reason="ripgrep is not installed here")
def test_the_answers_are_the_same_with_ripgrep_and_without() -> None:
    found = same_answers(40, 3)
    assert found.faults == []
    assert found.runs == 40


@needs("git")
def test_what_gitignore_leaves_out_is_what_git_leaves_out() -> None:
    found = ignored_like_git(15, 3)
    assert found.faults == []
    assert found.runs == 15
