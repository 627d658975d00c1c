"""What was typed before."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from toolwire.chat import typed_history
from toolwire.chat.typed_history import MOST, MOST_BYTES, Typed, TypedHistory, typed_path
from toolwire.redaction import Redactor


def texts(history: TypedHistory) -> list[str]:
    return [entry.text for entry in history.newest_first()]


def test_it_is_there_the_next_time_for_its_owner_alone(tmp_path: Path) -> None:
    path = typed_path({"XDG_STATE_HOME": str(tmp_path)})
    history = TypedHistory(path, "/home/me/project")
    for text in ("one", "two\nlines", "two\nlines", "  ", "one"):
        history.add(text, {"[pasted 3 lines #1]": "a\nb\nc"} if "two" in text else None)
    again = TypedHistory(path, "/home/me/project")
    assert texts(again) == texts(history) == ["one", "two\nlines"]
    assert again.newest_first()[1].pasted == {"[pasted 3 lines #1]": "a\nb\nc"}
    assert len(path.read_bytes().splitlines()) == 3
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_what_was_typed_here_comes_before_the_rest(tmp_path: Path) -> None:
    path = tmp_path / "typed.jsonl"
    for folder, text in (("/a", "a1"), ("/b", "b1"), ("/a", "both"), ("/b", "b2"), ("/b", "both"), ("/a", "a2")):
        TypedHistory(path, folder).add(text)
    assert texts(TypedHistory(path, "/a")) == ["a2", "both", "a1", "b2", "b1"]
    assert texts(TypedHistory(path, "/b")) == ["both", "b2", "b1", "a2", "a1"]
    assert [entry.text for entry in TypedHistory(path, "/a").search("A B")] == []
    assert [entry.text for entry in TypedHistory(path, "/a").search("O B", 1)] == ["both"]
    assert [entry.text for entry in TypedHistory(path, "/a").search("b", 2)] == ["both", "b2"]


@pytest.mark.parametrize("secret", ["sk-proj-4f9a8b7c6d5e4f3a2b1c0d9e", "password=hunter2hunter2", "my-own-canary-9"])
def test_keys_are_not_written(secret: str, tmp_path: Path) -> None:
    path = tmp_path / "typed.jsonl"
    history = TypedHistory(path, "/a", Redactor(environment={"CANARY_TOKEN": "my-own-canary-9"}))
    history.add(f"use {secret} now", {"[pasted 1 lines #1]": secret})
    assert secret.removeprefix("password=").encode() not in path.read_bytes()
    assert b"now" in path.read_bytes()
    assert texts(history) == [f"use {secret} now"]


@pytest.mark.parametrize(
    "data",
    [
        b"\0\xff\xfe{",
        b'{"text": 5}\n[]\nnull\n',
        b'{"text": "kept"}\n{"text": "cut',
        b"[" * 100_000,
        b"\n\n\n",
    ],
)
def test_a_broken_file_does_no_harm(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "typed.jsonl"
    path.write_bytes(data)
    history = TypedHistory(path, "/a")
    assert texts(history) == (["kept"] if b"kept" in data else [])
    history.add("new")
    assert texts(history)[0] == "new"


def test_what_comes_behind_half_a_line_is_not_lost(tmp_path: Path) -> None:
    path = tmp_path / "typed.jsonl"
    path.write_bytes(b'{"text": "cut')
    TypedHistory(path, "/a").add("new")
    assert texts(TypedHistory(path, "/a")) == ["new"]


@pytest.mark.parametrize("what", ["folder", "no way", "pipe"])
def test_where_nothing_can_be_written_it_is_kept_in_memory(what: str, tmp_path: Path) -> None:
    path = tmp_path / "typed.jsonl"
    if what == "folder":
        path.mkdir()
    elif what == "pipe":
        os.mkfifo(path)
    else:
        (tmp_path / "file").touch()
        path = tmp_path / "file/typed.jsonl"
    history = TypedHistory(path, "/a")
    history.add("x")
    assert texts(history) == ["x"]


def test_only_the_newest_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "typed.jsonl"
    lines = [msgspec.json.encode(Typed(f"entry {number}", "/a")) for number in range(MOST + 600)]
    path.write_bytes(b"\n".join(lines) + b"\n")
    history = TypedHistory(path, "/a")
    assert len(texts(history)) == MOST
    assert texts(history)[0] == f"entry {MOST + 599}"
    assert len(path.read_bytes().splitlines()) == MOST
    history.add("more")
    assert len(texts(history)) == MOST
    assert texts(TypedHistory(path, "/a"))[:2] == ["more", f"entry {MOST + 599}"]


def test_what_is_too_long_is_not_written(tmp_path: Path) -> None:
    path = tmp_path / "typed.jsonl"
    history = TypedHistory(path, "/a")
    history.add("short")
    history.add("x" * typed_history.MOST_BYTES)
    assert len(texts(history)) == 2
    assert texts(TypedHistory(path, "/a")) == ["short"]


def test_half_characters_are_no_reason_to_fail(tmp_path: Path) -> None:
    history = TypedHistory(tmp_path / "typed.jsonl", "/home/\udcff")
    history.add("a\ud800b")
    assert texts(TypedHistory(tmp_path / "typed.jsonl", "/home/\udcff")) == ["a?b"]


_ADDING = """
import sys
from pathlib import Path
from toolwire.chat.typed_history import TypedHistory
name, path = sys.argv[1], Path(sys.argv[2])
for number in range(40):
    TypedHistory(path, "/a").add(f"{name} {number}")
"""


def test_two_chats_at_the_same_time_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "typed.jsonl"
    old = [msgspec.json.encode(Typed(f"old {number}", "/a")) for number in range(MOST + 490)]
    path.write_bytes(b"\n".join(old) + b"\n")  # so that both come to make it shorter
    running = [subprocess.Popen([sys.executable, "-c", _ADDING, name, str(path)]) for name in ("left", "right")]
    assert [process.wait(60) for process in running] == [0, 0]
    found = texts(TypedHistory(path, "/a"))
    for name in ("left", "right"):
        assert [text for text in reversed(found) if text.startswith(name)] == [f"{name} {n}" for n in range(40)]


def test_what_is_too_long_to_be_kept_is_not_looked_through_for_secrets(tmp_path: Path) -> None:
    class Looked(Redactor):
        def text(self, text: str) -> str:
            raise AssertionError("it was")

    history = TypedHistory(tmp_path / "typed.jsonl", "", Looked())
    history.add("see [pasted]", {"[pasted]": "x" * (MOST_BYTES + 1)})
    assert [entry.text for entry in history.newest_first()] == ["see [pasted]"]
    assert not (tmp_path / "typed.jsonl").exists()
