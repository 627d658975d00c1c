"""Files found and ranked for whoever types their names."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from toolwire.chat import file_index
from toolwire.chat.file_index import FileIndex, places, walk


def make(root: Path, *names: str) -> None:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()


def test_ignored_files_and_folders_of_machines_are_left_out(tmp_path: Path) -> None:
    make(tmp_path, "a.py", "build/x.o", "deep/keep.log", "deep/drop.log", "node_modules/x/y.js", ".git/config", ".env")
    (tmp_path / ".gitignore").write_text("build/\n*.log\n")
    (tmp_path / "deep/.gitignore").write_text("!keep.log\n")
    assert sorted(walk(str(tmp_path))) == sorted(
        [".env", ".gitignore", "a.py", "deep/", "deep/.gitignore", "deep/keep.log", "node_modules/"]
    )


def test_shallow_files_come_first_and_no_more_than_wanted(tmp_path: Path) -> None:
    make(tmp_path, "z.py", *(f"a/b/c/{number}.py" for number in range(50)))
    assert list(walk(str(tmp_path), most=3)) == ["a/", "z.py", "a/b/"]


def test_links_are_named_and_not_followed(tmp_path: Path) -> None:
    make(tmp_path, "real/x.py")
    os.symlink(tmp_path, tmp_path / "real/loop")
    assert sorted(walk(str(tmp_path))) == ["real/", "real/loop", "real/x.py"]


NAMES = (
    "src/gate.py",
    "src/approval/gate.py",
    "docs/gates.md",
    "tests/test_gate.py",
    "src/g/a/t/e.py",
    "Gate.txt",
    "x",
)

RANKED = [
    (
        "gate",
        ["Gate.txt", "src/gate.py", "docs/gates.md", "src/approval/gate.py", "tests/test_gate.py", "src/g/a/t/e.py"],
    ),
    ("GATE.py", ["src/gate.py", "src/approval/gate.py", "tests/test_gate.py", "src/g/a/t/e.py"]),
    ("src/ga", ["src/gate.py", "src/g/a/t/e.py", "src/approval/gate.py"]),
    ("apgate", ["src/approval/gate.py"]),
    ("src/g", ["src/gate.py", "src/g/a/t/e.py", "src/approval/gate.py"]),
    ("zz", []),
]


@pytest.mark.parametrize(("typed", "paths"), RANKED, ids=[typed for typed, _ in RANKED])
async def test_the_likeliest_come_first(typed: str, paths: list[str], tmp_path: Path) -> None:
    make(tmp_path, *NAMES)
    found, count = await FileIndex(str(tmp_path)).matches(typed, 10)
    assert [match.path for match in found if not match.path.endswith("/")] == paths
    assert count == len(found)
    for match in found:
        assert "".join(match.path[place] for place in match.places).lower() == typed.lower()


async def test_more_letters_narrow_and_fewer_widen(tmp_path: Path) -> None:
    make(tmp_path, *NAMES)
    index = FileIndex(str(tmp_path))
    for typed in ("g", "ga", "gat", "gatz", "gat", "x", "", "xp"):
        assert await index.matches(typed, 20) == await FileIndex(str(tmp_path)).matches(typed, 20), typed


async def test_an_old_index_is_given_while_a_new_one_is_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_index, "FRESH_SECONDS", 0.0)
    make(tmp_path, "a")
    index = FileIndex(str(tmp_path))
    assert (await index.known()).paths == ["a"]
    index._took = 0.0
    make(tmp_path, "b")
    assert (await index.known()).paths == ["a"]
    for _ in range(200):
        if (await index.known()).paths == ["a", "b"]:
            return
        await asyncio.sleep(0.01)
    pytest.fail("the new file was never seen")


async def test_the_loop_is_free_while_names_are_compared(tmp_path: Path) -> None:
    index = FileIndex(str(tmp_path))
    await index.known()
    paths = [f"src/module_{number % 500}/file_{number}.py" for number in range(20_000)]
    index._known = file_index.Known(paths, paths)
    turns = 0

    async def others() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    task = asyncio.create_task(others())
    found, count = await index.matches("mf9py", 5)
    task.cancel()
    assert len(found) == 5
    assert count > 1_000
    assert turns >= 18


@pytest.mark.parametrize(
    ("text", "typed", "found"),
    [("abcabc", "bc", (4, 5)), ("a/b/c", "abc", (0, 2, 4)), ("abc", "x", ()), ("İx", "x", ()), ("ab", "", ())],
)
def test_where_the_letters_stand(text: str, typed: str, found: tuple[int, ...]) -> None:
    assert places(text, typed) == found


async def test_files_come_before_folders_but_for_the_one_that_is_named(tmp_path: Path) -> None:
    make(tmp_path, "app/app.py", "app/app/x", "docs/app.md")
    found, _ = await FileIndex(str(tmp_path)).matches("app", 10)
    assert [match.path for match in found] == ["app/", "app/app.py", "docs/app.md", "app/app/", "app/app/x"]
    found, _ = await FileIndex(str(tmp_path)).matches("app/app", 10)
    assert [match.path for match in found][:2] == ["app/app.py", "app/app/"]


async def test_a_fault_while_looking_leaves_nobody_waiting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def faulty(root: str) -> Iterator[str]:
        yield "first"
        raise RuntimeError

    monkeypatch.setattr("toolwire.chat.file_index.walk", faulty)
    async with asyncio.timeout(5):
        assert (await FileIndex(str(tmp_path)).known()).paths == ["first"]
