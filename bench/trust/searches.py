"""`search_files`: the same answers with ripgrep and without; what `.gitignore` leaves out is what git leaves out."""

from __future__ import annotations

import asyncio
import os
import random
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from toolwire.builtin.ignoring import Glob
from toolwire.builtin.paths import roots
from toolwire.builtin.search_pattern import Written, read_pattern
from toolwire.builtin.searching import Search
from toolwire.builtin.searching_answer import Answer, Output
from toolwire.builtin.searching_python import compile_pattern, fitting_lines, read_text
from toolwire.builtin.searching_ripgrep import Ripgrep, find_ripgrep
from toolwire.builtin.searching_walk import Clock, Walk
from toolwire.errors import ConfigError
from toolwire.execution.environment import child_environment
from toolwire.execution.sandbox.sandbox import find_sandbox
from toolwire.tools.running import CURRENT, RunningCall

from . import Found

QUESTIONS = 20
"""Searches in one tree."""
CONFINED = 50
"""Every so many searches ripgrep runs as it does for a model: in the sandbox, under the supervisor."""

NAMES = (
    "a",
    "b",
    "c",
    "ab",
    "a.py",
    "b.py",
    "x.o",
    "é.txt",
    "日本",
    "a b",
    "-",
    "-n",
    "[a]",
    "#h",
    "!n",
    ".hid",
    "new\nline",
)
WORDS = (
    "foo",
    "Foo",
    "bar",
    "a1",
    "x_y",
    "É",
    "é",
    "日本語",
    "()",
    "[x]",
    "{",
    "&&",
    "--",
    "~~",
    "a.b",
    "\t",
    " ",
    "1",
    "",
)
ODD = (
    b"\xff",
    b"\xe9",
    b"\xc3\x28",
    b"\xe0\x80\x80",
    b"\xed\xa0\x80",
    b"\xf4\x90\x80\x80",
    b"\xef\xbf\xbd",
    b"\r",
    b"\x1b",
)


def same_answers(count: int, seed: int) -> Found:
    """`count` searches of random patterns in random trees, with ripgrep and without. The plan: 2,000, some 50 seconds.

    For files of plain text ripgrep itself is asked too how many lines fit: the two engines mean the same by a pattern.
    """
    found = Found()
    program = shutil.which("rg")
    if program is None:
        found.words = "ripgrep is not installed here: not tried"
        return found
    chance = random.Random(seed)
    sandbox = find_sandbox()

    async def run() -> tuple[int, int, int]:
        some = confined = lines = 0
        while found.runs < count:
            with _tree(chance) as tree:
                for _ in range(min(QUESTIONS, count - found.runs)):
                    question = _Question(chance, tree)
                    found.runs += 1
                    alone = await question.search().run(None)
                    ripgrep = Ripgrep(_direct, program)
                    if found.runs % CONFINED == 0 and sandbox.holds:
                        other = find_ripgrep(sandbox, (tree,), child_environment(os.environ))
                        assert other is not None
                        ripgrep = other
                        confined += 1
                    together = await question.search().run(ripgrep)
                    some += not alone.startswith("Nothing found")
                    if not ripgrep.works:
                        found.fault(f"ripgrep did not work for {question.pattern!r}")
                    if alone != together:
                        found.fault(f"{question.pattern!r} {question.words}: {alone!r} and with ripgrep {together!r}")
                    if found.runs % 2:
                        lines += await _compare(question, program, tree, found)
        return some, confined, lines

    some, confined, lines = asyncio.run(run())
    found.words = f"{some:,} found something, {confined:,} in the sandbox, {lines:,} lines fit in both engines"
    if count >= 1_000 and sandbox.holds:
        found.words += f"; {asyncio.run(_speed(chance))}"
    if count >= 100 and (some < count // 5 or not lines):
        found.fault(f"too few searches find anything: {some} of {count}")
    return found


async def _speed(chance: random.Random) -> str:
    """How long a search of many files takes, with ripgrep in the sandbox and without."""
    times = []
    with _tree(chance, text=False) as tree:
        os.mkdir(os.path.join(tree, "many"))
        content = b"".join(b"a line of some forty characters, %d\n" % number for number in range(1_000))
        for number in range(4_000):
            with open(os.path.join(tree, "many", f"{number}.txt"), "wb") as file:  # noqa: ASYNC230
                file.write(content)
        written = read_pattern(r"line of \w+ (fifty|sixty)")
        for ripgrep in (None, find_ripgrep(find_sandbox(), (tree,), child_environment(os.environ))):
            walk = Walk(roots(), tree, tree, Clock(30), ignored=True)
            started = time.perf_counter()
            await Search(walk, written, Answer("content", 100, 0)).run(ripgrep)
            times.append(time.perf_counter() - started)
    return f"4,000 files of 37 KB in {times[1]:.2f} s with ripgrep and {times[0]:.2f} s without"


async def _direct(argv: Sequence[str], seconds: float) -> str | None:
    """ripgrep without a sandbox, which starts faster."""
    child = await asyncio.create_subprocess_exec(
        *argv, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL, stdin=asyncio.subprocess.DEVNULL
    )
    output = (await child.communicate())[0]
    return output.decode("utf-8", "replace") if child.returncode in (0, 1) else None


async def _compare(question: _Question, program: str, tree: str, found: Found) -> int:
    """How many lines fit in plain files, by RE2 and by ripgrep; a difference is a fault."""
    pattern = compile_pattern(question.written)
    counts: dict[str, int] = {}
    walk = Walk(roots(), tree, tree, Clock(30), ignored=True)
    for each in walk.files():
        with walk.roots.file(each.real) as descriptor:
            data = os.read(descriptor, 1 << 20)
        if b"\r" in data or b"\0" in data or data.startswith((b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")):
            continue
        text = read_text(walk.roots, each.real)
        assert text == data
        counts[each.real] = sum(1 for _ in fitting_lines(text, pattern, walk.clock.is_over))
    if not counts or not question.written.ripgrep:
        return 0
    argv = [program, "--no-config", "--text", "--count", "--include-zero", "--no-filename", "--sort=none"]
    output = await _direct([*argv, "--threads=1", f"--regexp={question.written.ripgrep}", "--", *counts], 30)
    if output is None or [int(line) for line in output.split()] != list(counts.values()):
        found.fault(f"{question.pattern!r}: RE2 counts {list(counts.values())}, ripgrep {output!r}")
    return sum(counts.values())


# ---- trees


@contextmanager
def _tree(chance: random.Random, *, text: bool = True) -> Iterator[str]:
    with tempfile.TemporaryDirectory(prefix="toolwire-search-") as made:
        tree = os.path.realpath(made)
        _fill(tree, chance, 0, text)
        call = RunningCall(
            "call", "search_files", tree, {}, lambda _: None, (tree,), {}, lambda path: path.endswith("/b.py")
        )
        token = CURRENT.set(call)
        try:
            yield tree
        finally:
            CURRENT.reset(token)


def _fill(folder: str, chance: random.Random, depth: int, text: bool) -> None:
    names = chance.sample(NAMES, chance.randint(2, 7))
    for name in names:
        path = os.path.join(folder, name)
        if depth < 3 and chance.random() < 0.35:
            os.mkdir(path)
            _fill(path, chance, depth + 1, text)
        elif text and chance.random() < 0.04:
            os.symlink("/etc/passwd", path)
        else:
            Path(path).write_bytes(_content(chance) if text else b"")
    if text and chance.random() < 0.2:
        Path(os.fsdecode(os.fsencode(folder) + b"/\xff\xfe.txt")).write_bytes(_content(chance))
    if chance.random() < (0.5 if depth else 0.8):
        lines = b"".join(_rule(chance) + chance.choice((b"\n", b"\n", b"\r\n")) for _ in range(chance.randint(1, 5)))
        Path(folder, ".gitignore").write_bytes(chance.choice((b"", b"", b"\xef\xbb\xbf")) + lines)


def _content(chance: random.Random) -> bytes:
    end = chance.choice(("\n", "\n", "\r\n"))
    lines = ["".join(chance.choices(WORDS, k=chance.randint(0, 6))) for _ in range(chance.randint(0, 12))]
    content = end.join(lines) + chance.choice(("", end))
    match chance.randrange(12):
        case 0:
            return b"\xef\xbb\xbf" + content.encode()
        case 1:
            return b"\xff\xfe" + content.encode("utf-16-le")
        case 2:
            return b"\xfe\xff" + content.encode("utf-16-be") + chance.choice((b"", b"\xd8", b"\xd8\x00\x00a"))
        case 3:
            return b"\xff\xfe\0\0" + content.encode("utf-32-le")
        case 4:
            return content.encode() + b"\0" + content.encode()
        case 5 | 6 | 7:
            data = bytearray(content.encode())
            for _ in range(chance.randint(1, 4)):
                place = chance.randint(0, len(data))
                data[place:place] = chance.choice(ODD)
            return bytes(data)
    return content.encode()


def _rule(chance: random.Random) -> bytes:
    """One line of a .gitignore."""
    parts = []
    for _ in range(chance.choice((1, 1, 1, 2, 2, 3))):
        name = chance.choice(NAMES[:-1])
        place = chance.randrange(len(name))
        match chance.randrange(9):
            case 0:
                name = chance.choice(("*", "**", "?", "??", "*.py", "*.*", "***", "a**", ".*"))
            case 1:
                name = name[:place] + "*" + name[place + 1 :]
            case 2:
                name = name[:place] + "?" + name[place + 1 :]
            case 3:
                name = name[:place] + chance.choice(SETS) + name[place + 1 :]
            case 4:
                name = name[:place] + "\\" + name[place:]
            case 5:
                name = "".join(f"\\{char}" if char in "[]#!" else char for char in name)
        parts.append(name)
    rule = "/".join(parts)
    rule = chance.choice(("", "", "", "/", "!", "!/", "**/", "#")) + rule
    rule += chance.choice(("", "", "", "/", "/**", "/*", " ", "\\ ", "  ", "//", "\\"))
    return rule.encode()


SETS = (
    *("[ab]", "[!a]", "[^a]", "[a-c]", "[]a]", "[!]a]", "[[:alpha:]]", "[[:nope:]]", "[a", "[a-]", "[]-a]", "[\\]a]"),
    *("[a-\\c]", "[[:x]", "[[:alpha:]b-c]", "[.-\\/]", "[]", "[!]", "[é]", "[c-a]", "[[:upper:][:digit:]]", "[a\\"),
)


# ---- searches

GLOBS = ("", "", "", "*.py", "*.{py,txt}", "!*.py", "**/a*", "a/**", "?.py", "[ab]", "a", "-*", "é*", "./b")


class _Question:
    """One search, as often as it is asked."""

    def __init__(self, chance: random.Random, tree: str) -> None:
        self._tree = tree
        self._ignored = chance.random() < 0.3
        self._glob = chance.choice(GLOBS)
        self._output: Output = chance.choice(("content", "content", "files", "count"))
        self._limit = chance.choice((1, 3, 100))
        self._context = chance.choice((0, 0, 1, 3))
        self.pattern, self.written = _pattern(chance)
        self.words = f"glob={self._glob!r} output={self._output} limit={self._limit} ignored={self._ignored}"

    def search(self) -> Search:
        call = CURRENT.get()
        assert call is not None
        glob = Glob(self._glob) if self._glob else None
        walk = Walk(roots(), self._tree, self._tree, Clock(30), glob, self._ignored, call.is_closed)
        answer = Answer(self._output, self._limit, self._context)
        return Search(walk, self.written, answer, worth_files=0)


def _pattern(chance: random.Random) -> tuple[str, Written]:
    while True:
        regex = chance.random() < 0.9
        pattern = _alternatives(chance, 0) if regex else chance.choice(WORDS)
        try:
            written = read_pattern(pattern, regex=regex, ignore_case=chance.random() < 0.3)
            compile_pattern(written)
        except ConfigError:
            continue
        return pattern, written


def _alternatives(chance: random.Random, depth: int) -> str:
    return "|".join(_sequence(chance, depth) for _ in range(chance.choice((1, 1, 1, 2))))


def _sequence(chance: random.Random, depth: int) -> str:
    parts = []
    for _ in range(chance.choice((1, 2, 2, 3, 4))):
        kind = chance.randrange(10)
        if kind < 3:
            part = "".join(f"\\{char}" if char in ".[](){}" else char for char in chance.choice(WORDS))
        elif kind < 6:
            part = chance.choice(ATOMS)
        elif kind == 6 and depth < 3:
            part = chance.choice(("(", "(?:", "(?i:", "(?P<n>")) + _alternatives(chance, depth + 1) + ")"
        elif kind == 7:
            parts.append(chance.choice(("^", "$", r"\b", r"\B")))
            continue
        elif kind == 8 and parts and chance.random() < 0.5:
            parts = ["^", *parts, "$"]
            continue
        else:
            part = chance.choice(("a", "o", "x", "é", "1", "-"))
        if chance.random() < 0.3:
            part += chance.choice(("*", "+", "?", "*?", "+?", "{2}", "{0,2}", "{1,}", "{"))
        parts.append(part)
    return "".join(parts)


ATOMS = (
    *(".", r"\d", r"\w", r"\s", r"\D", r"\W", r"\S", "[a-f]", "[^a-f]", "[^o]", "[é-ÿ]", "[^é]", r"[\w.]", r"[^\s]"),
    *(
        "[a&&b]",
        "[a--b]",
        "[x~~y]",
        "[[x]",
        "[]a]",
        "[^]a]",
        "[[:alpha:]]",
        "[[:^digit:]]",
        r"[\]\[]",
        "[日本]",
        "[a-]",
    ),
    *(r"\x61", r"\x{e9}", r"\u65e5", r"\t", r"\.", r"\{", r"[\x00-\x7f]", r"\x{FFFD}", "[À-ž]", r"\r", r"[^\W\d]"),
)


# ---- git


def ignored_like_git(count: int, seed: int) -> Found:
    """`count` random trees with random .gitignore files: the files that git would add are those that are searched.

    The plan: 1,000, some 35 seconds.
    """
    found = Found()
    git = shutil.which("git")
    if git is None:
        found.words = "git is not installed here: not tried"
        return found
    chance = random.Random(seed)
    out = 0
    with tempfile.TemporaryDirectory(prefix="toolwire-git-") as repository:
        quiet = {"PATH": os.environ["PATH"], "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1", "HOME": "/"}
        subprocess.run([git, "init", "-q", "--template=", repository], env=quiet, check=True)
        for _ in range(count):
            with _tree(chance, text=False) as tree:
                walk = Walk(roots(), tree, tree, Clock(30))
                ours = {os.fsencode(os.path.relpath(each.real, tree)) for each in walk.files()}
                out += walk.left.ignored
                argv = [git, f"--git-dir={repository}/.git", f"--work-tree={tree}", "ls-files", "-o", "-z"]
                listed = subprocess.run(
                    [*argv, "--exclude-standard"], cwd=tree, env=quiet, capture_output=True, check=True
                )
                theirs = set(listed.stdout.split(b"\0")) - {b""}
                found.runs += 1
                for path in ours ^ theirs:
                    files = {str(each): each.read_bytes() for each in Path(tree).rglob(".gitignore")}
                    found.fault(f"{path!r} is {'searched' if path in ours else 'left out'}, not so by git: {files}")
    found.words = f"{out:,} files and folders left out"
    if count >= 10 and not out:
        found.fault("nothing was left out anywhere")
    return found
