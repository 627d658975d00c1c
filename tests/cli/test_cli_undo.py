"""`toolwire undo`: what it says and does in the folder that it is called in."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from cli.command import Ran, assert_sentence, toolwire_command
from toolwire.cli.app import run_command
from toolwire.files.beneath import Roots
from toolwire.files.journal import Journal, undo_path
from toolwire.files.replacing import replace_file


class Place:
    """A workspace whose files tools have changed."""

    def __init__(self, top: Path, capture: pytest.CaptureFixture[str]) -> None:
        self.folder = top.resolve() / "work"
        self.folder.mkdir()
        self.env = {"XDG_STATE_HOME": str(top / "state")}
        self._capture = capture

    def write(self, name: str, content: str) -> None:
        journal = Journal(undo_path(self.env), str(self.folder))
        path = str(self.folder / name)
        replace_file(Roots([str(self.folder)]), path, lambda _: content.encode(), journal, tool="write_file")

    def undo(self, *arguments: str) -> Ran:
        code = run_command(["undo", *arguments])
        told = self._capture.readouterr()
        return Ran(code, told.out, told.err)

    def read(self, name: str) -> str:
        return (self.folder / name).read_text()


@pytest.fixture(autouse=True)
def no_waiting_for_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is cut off from power here; that all is synced, and in which order, is tested in test_replacing."""
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)


@pytest.fixture
def place(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Place:
    made = Place(tmp_path, capsys)
    monkeypatch.chdir(made.folder)
    monkeypatch.setenv("XDG_STATE_HOME", made.env["XDG_STATE_HOME"])
    return made


def test_nothing_to_undo(place: Place) -> None:
    ran = place.undo()
    assert (ran.code, ran.out) == (0, "")
    assert "there is nothing to undo in this folder" in ran.err
    assert "What commands changed is not among it." in ran.err
    assert "no tool has changed a file" in place.undo("--list").err


def test_the_newest_first_then_more_and_back(place: Place) -> None:
    (place.folder / "f").write_text("0\n")
    place.write("f", "1\n")
    place.write("f", "2\n")
    place.write("g", "new\n")
    ran = place.undo()
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith("Undid: write_file of 20")
    assert ran.out.endswith(" UTC, g. The file is gone.\n")
    assert not (place.folder / "g").exists()
    ran = place.undo("5")
    assert ran.code == 0
    assert [line.split(" UTC, ")[1] for line in ran.out.splitlines()] == [
        "f. Its earlier content is back (+1 −1 lines)."
    ] * 2
    assert "there is nothing more to undo" in ran.err
    assert place.read("f") == "0\n"
    ran = place.undo("3", "--redo")
    assert (ran.code, ran.out.count("Made again: write_file of 20")) == (0, 3)
    assert (place.read("f"), place.read("g")) == ("2\n", "new\n")


def test_the_list_and_the_diff_change_nothing(place: Place) -> None:
    (place.folder / "f").write_text("0\n")
    place.write("f", "1\n")
    place.write("g", "new\n")
    place.write("h\x1b[2J", "x\n")
    place.undo()
    (place.folder / "g").write_text("mine\n")
    ran = place.undo("--list")
    assert ran.code == 0
    assert "\x1b" not in ran.out
    rows = ran.out.splitlines()
    assert rows[0].startswith("  1  20")
    assert rows[0].endswith("UTC write_file made: g  (the file was changed since)")
    assert rows[1].endswith("UTC write_file changed: f")
    assert rows[2].startswith("  -  20")
    assert rows[2].endswith("UTC write_file made: h␛[2J  (undone)")
    assert "toolwire undo takes back number 1, toolwire undo 2 all of them, toolwire undo --redo" in ran.err
    ran = place.undo("2", "--diff")
    assert ran.code == 0
    assert ran.out == "--- g\n+++ /dev/null\n@@ -1 +0,0 @@\n-mine\n--- f\n+++ f\n@@ -1 +1 @@\n-1\n+0\n"
    assert (place.read("f"), place.read("g")) == ("1\n", "mine\n")


def test_what_was_changed_since_needs_force(place: Place) -> None:
    (place.folder / "f").write_text("0\n")
    place.write("g", "before\n")
    place.write("f", "1\n")
    (place.folder / "f").write_text("mine\n")
    ran = place.undo("2")
    assert (ran.code, ran.out) == (1, "")
    assert "was not undone: f was changed since" in ran.err
    assert "toolwire undo --force" in ran.err
    assert "the 1 before it were left as they are" in ran.err
    assert (place.read("f"), place.read("g")) == ("mine\n", "before\n")
    ran = place.undo("--force")
    assert (ran.code, place.read("f")) == (0, "0\n")
    assert place.undo("--redo").code == 0
    assert place.read("f") == "mine\n"


def test_another_folder_has_another_journal(place: Place) -> None:
    place.write("f", "1\n")
    (place.folder / "below").mkdir()
    # Through the real command.
    ran = toolwire_command("undo", env=place.env, cwd=place.folder / "below")
    assert ran.code == 0
    assert "there is nothing to undo in this folder" in ran.err
    assert place.read("f") == "1\n"


@pytest.mark.parametrize("count", ["0", "-1", "x"])
def test_a_count_that_is_none(place: Place, count: str) -> None:
    assert_sentence(place.undo(count), 2)


def test_a_file_that_cannot_be_written_is_said(place: Place) -> None:
    (place.folder / "f").write_text("0\n")
    place.write("f", "1\n")
    os.chmod(place.folder / "f", 0o444)
    ran = place.undo()
    assert ran.code == 1
    assert "read-only" in ran.err
    assert place.read("f") == "1\n"
