"""The undo journal: what is kept, for how long, what a killed writer leaves, and taking changes back."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest

from toolwire.errors import FileRefused
from toolwire.files import journal as module
from toolwire.files.beneath import Roots
from toolwire.files.journal import Journal, digest_of, undo_path
from toolwire.files.replacing import Changed, replace_file
from toolwire.files.undoing import Undoing


@pytest.fixture(autouse=True)
def no_waiting_for_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is cut off from power here; that all is synced, and in which order, is tested in test_replacing."""
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path.resolve() / "work"
    folder.mkdir()
    return folder


@pytest.fixture
def journal(tmp_path: Path, work: Path) -> Journal:
    return Journal(tmp_path / "state", str(work))


def write(journal: Journal, name: str, content: bytes) -> None:
    folder = Path(journal.workspace)
    replace_file(Roots([str(folder)]), str(folder / name), lambda _: content, journal, tool="write_file")


def undo(journal: Journal, **options: Any) -> Changed:
    undoing = Undoing(journal)
    return undoing.take_back(undoing.to_undo[0].change, **options)


def redo(journal: Journal) -> Changed:
    undoing = Undoing(journal)
    return undoing.take_back(undoing.to_redo[0].change)


def records(journal: Journal) -> Path:
    return journal.folder / "changes.jsonl"


def contents(journal: Journal) -> list[str]:
    return sorted(os.listdir(journal.folder / "contents"))


# ---- what is kept


def test_a_change_is_written_down_with_what_the_file_held(journal: Journal, work: Path) -> None:
    (work / "f").write_bytes(b"old")
    (work / "f").chmod(0o750)
    write(journal, "f", b"new")
    (change,) = journal.changes()
    assert (change.path, change.before, change.after) == (str(work / "f"), digest_of(b"old"), digest_of(b"new"))
    assert (change.mode, change.tool, change.outcome, change.of, change.is_undo) == (
        0o750,
        "write_file",
        "done",
        change.id,
        False,
    )
    assert journal.content(digest_of(b"old") or "") == b"old"


def test_it_is_for_its_user_alone(journal: Journal, work: Path) -> None:
    mask = os.umask(0)
    try:
        write(journal, "f", b"1")
        journal.folder.chmod(0o777)
        write(journal, "f", b"2")
    finally:
        os.umask(mask)
    for path in (journal.folder, *journal.folder.rglob("*")):
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600), path


def test_it_must_be_ones_own(journal: Journal, work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(journal, "f", b"1")
    user = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: user + 1)
    with pytest.raises(FileRefused, match="it belongs to another user"):
        write(journal, "f", b"2")
    assert (work / "f").read_bytes() == b"1"


def test_workspaces_are_apart(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        write(Journal(tmp_path / "state", str(tmp_path / name)), "f", name.encode())
    for name in ("one", "two"):
        (change,) = Journal(tmp_path / "state", str(tmp_path / name)).changes()
        assert change.after == digest_of(name.encode())
    assert Journal(tmp_path / "state", str(tmp_path)).changes() == []


def test_a_name_that_is_no_text_is_kept_as_it_is(journal: Journal, work: Path) -> None:
    name = os.fsdecode(b'\xff\n"')
    write(journal, name, b"1")
    assert journal.changes()[0].path == str(work / name)
    undo(journal)
    assert not (work / name).exists()


def test_the_oldest_changes_are_dropped(journal: Journal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CHANGES", 5)
    monkeypatch.setattr(module, "_SLACK", 2)
    for number in range(23):
        write(journal, "f", b"%d" % number)
        assert 5 <= len(journal.changes()) <= 7 or number < 5
    assert journal.changes()[-1].after == digest_of(b"22")
    assert {change.before for change in journal.changes()} == set(contents(journal))


def test_taking_back_drops_nothing_that_can_still_be_taken_back(
    journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "CHANGES", 5)
    monkeypatch.setattr(module, "_SLACK", 0)
    file = Path(journal.workspace) / "f"
    for number in range(6):
        write(journal, "f", b"%d" % number)
    for _ in range(2):
        for number in range(4, -1, -1):
            undo(journal)
            assert file.read_bytes() == b"%d" % number
        for number in range(1, 6):
            redo(journal)
            assert file.read_bytes() == b"%d" % number
    assert len(journal.changes()) <= 10


def test_what_is_kept_has_a_size(journal: Journal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CONTENTS", 1000)
    for number in range(12):
        write(journal, "f", b"%03d" % number * 100)
        sizes = sum(path.stat().st_size for path in (journal.folder / "contents").iterdir())
        assert sizes <= 1000
    assert len(journal.changes()) == 3
    write(journal, "f", b"x" * 5000)
    write(journal, "f", b"y")
    assert [change.before for change in journal.changes()] == [digest_of(b"x" * 5000)]
    undo(journal)
    assert (Path(journal.workspace) / "f").read_bytes() == b"x" * 5000


def test_bounds_are_those_of_the_promise() -> None:
    assert (module.CHANGES, module.CONTENTS) == (200, 200 * 1024 * 1024)


@pytest.mark.parametrize(
    ("env", "path"),
    [
        ({"XDG_STATE_HOME": "/state", "HOME": "/home"}, "/state/toolwire/undo"),
        ({"XDG_STATE_HOME": "relative", "HOME": "/home"}, "/home/.local/state/toolwire/undo"),
        ({"HOME": "/home"}, "/home/.local/state/toolwire/undo"),
    ],
)
def test_where_it_is(env: dict[str, str], path: str) -> None:
    assert undo_path(env) == Path(path)


# ---- what is broken


@pytest.mark.parametrize("cut", [1, 5, 40, 100])
def test_a_line_that_was_cut_off_is_passed_over(journal: Journal, cut: int) -> None:
    write(journal, "f", b"1")
    whole = records(journal).read_bytes()
    write(journal, "g", b"2")
    with open(records(journal), "r+b") as file:
        file.truncate(len(whole) + cut)
    assert [change.after for change in journal.changes()] == [digest_of(b"1")]
    write(journal, "h", b"3")
    assert [change.after for change in journal.changes()] == [digest_of(b"1"), digest_of(b"3")]


@pytest.mark.parametrize(
    "line",
    [
        b"\xff\xfe\n",
        b"[]\n",
        b"{}\n",
        b"[" * 100_000 + b"\n",
        b'{"id": 7}\n',
        b'{"id": "x", "outcome": "done"}\n',
        json.dumps(
            {
                **dict.fromkeys(("id", "path", "time", "tool", "of"), "x"),
                "before": "../" * 20 + "etc",
                "after": None,
                "mode": None,
                "is_undo": False,
            }
        ).encode()
        + b"\n",
    ],
)
def test_what_is_no_change_is_passed_over(journal: Journal, line: bytes) -> None:
    write(journal, "f", b"1")
    with open(records(journal), "ab") as file:
        file.write(line)
    write(journal, "f", b"2")
    assert [change.after for change in journal.changes()] == [digest_of(b"1"), digest_of(b"2")]


@pytest.mark.parametrize("path", ["/a\0b/c", "/\ud800/x", "a/b", "", 7, None])
def test_what_is_no_path_is_no_change(journal: Journal, path: Any) -> None:
    write(journal, "f", b"1")
    (record, done) = (json.loads(line) for line in records(journal).read_text().splitlines())
    with open(records(journal), "a") as file:
        file.write("".join(json.dumps({**each, "id": "other", "of": "other"}) + "\n" for each in (record, done)))
        file.write(json.dumps({**record, "id": "planted", "of": "planted", "path": path}) + "\n")
    assert [each.change.id for each in Undoing(journal).to_undo] == ["other", record["id"]]


def test_a_pipe_in_the_place_of_a_content_is_not_waited_for(journal: Journal, work: Path) -> None:
    write(journal, "f", b"1")
    write(journal, "f", b"2")
    kept = journal.folder / "contents" / (digest_of(b"1") or "")
    kept.unlink()
    os.mkfifo(kept)
    with pytest.raises(FileRefused, match="damaged"):
        undo(journal)
    assert (work / "f").read_bytes() == b"2"


def test_what_was_damaged_is_not_put_back(journal: Journal, work: Path) -> None:
    write(journal, "f", b"1")
    write(journal, "f", b"2")
    kept = journal.folder / "contents" / (digest_of(b"1") or "")
    kept.write_bytes(b"something else")
    with pytest.raises(FileRefused, match="damaged"):
        undo(journal)
    kept.unlink()
    with pytest.raises(FileRefused, match="not kept any more"):
        undo(journal)
    assert (work / "f").read_bytes() == b"2"


def test_an_unreadable_journal_is_said(journal: Journal) -> None:
    write(journal, "f", b"1")
    records(journal).unlink()
    records(journal).mkdir()
    with pytest.raises(FileRefused, match="undo journal cannot be read"):
        journal.changes()


# ---- whether it was done


def forget_outcomes(journal: Journal) -> None:
    lines = [line for line in records(journal).read_bytes().splitlines(keepends=True) if b'"outcome"' not in line]
    records(journal).write_bytes(b"".join(lines))


def told(journal: Journal) -> list[str | None]:
    return [standing.change.after for standing in Undoing(journal).to_undo]


def test_without_a_word_of_the_writer_the_file_tells(journal: Journal, work: Path) -> None:
    (work / "f").write_bytes(b"0")
    journal.begin(str(work / "f"), b"0", b"never")
    assert told(journal) == []
    write(journal, "f", b"1")
    forget_outcomes(journal)
    assert told(journal) == [digest_of(b"1")]
    write(journal, "f", b"2")
    forget_outcomes(journal)
    assert told(journal) == [digest_of(b"2"), digest_of(b"1")]
    undo(journal)
    undo(journal)
    assert (work / "f").read_bytes() == b"0"


def test_where_it_cannot_be_told_it_is_not_taken_back_without_force(journal: Journal, work: Path) -> None:
    (work / "f").write_bytes(b"0")
    journal.begin(str(work / "f"), b"0", b"1")
    (work / "f").write_bytes(b"somebody")
    (standing,) = Undoing(journal).to_undo
    assert not standing.is_as_left
    with pytest.raises(FileRefused, match="f was changed since"):
        undo(journal)
    assert (work / "f").read_bytes() == b"somebody"


# ---- taking back


def test_back_and_forth(journal: Journal, work: Path) -> None:
    (work / "f").write_bytes(b"0")
    (work / "f").chmod(0o640)
    for content in (b"1", b"2", b"3"):
        write(journal, "f", content)
    assert [standing.is_as_left for standing in Undoing(journal).to_undo] == [True] * 3
    for content in (b"2", b"1", b"0"):
        undo(journal)
        assert (work / "f").read_bytes() == content
    assert Undoing(journal).to_undo == []
    for content in (b"1", b"2", b"3"):
        redo(journal)
        assert (work / "f").read_bytes() == content
    assert Undoing(journal).to_redo == []
    undo(journal)
    assert (work / "f").read_bytes() == b"2"
    assert stat.S_IMODE((work / "f").stat().st_mode) == 0o640


def test_a_file_that_was_made_goes_and_comes_back(journal: Journal, work: Path) -> None:
    write(journal, "a/f", b"1")
    (work / "a/f").chmod(0o700)
    assert undo(journal) == Changed(b"1", None)
    assert not (work / "a/f").exists()
    assert redo(journal) == Changed(None, b"1")
    assert (work / "a/f").read_bytes() == b"1"
    assert stat.S_IMODE((work / "a/f").stat().st_mode) == 0o700


def test_what_was_changed_since_is_not_lost(journal: Journal, work: Path) -> None:
    (work / "f").write_bytes(b"0")
    write(journal, "f", b"1")
    (work / "f").write_bytes(b"mine")
    with pytest.raises(FileRefused, match="f was changed since"):
        undo(journal)
    (work / "f").unlink()
    with pytest.raises(FileRefused, match="f is not there any more"):
        undo(journal)
    (work / "f").write_bytes(b"mine")
    assert undo(journal, force=True) == Changed(b"mine", b"0")
    assert redo(journal) == Changed(b"0", b"mine")


def test_what_was_taken_back_by_hand_is_not_offered_again(journal: Journal, work: Path) -> None:
    (work / "f").write_bytes(b"0")
    write(journal, "f", b"1")
    (work / "f").write_bytes(b"0")
    assert undo(journal) == Changed(b"0", b"0")
    assert Undoing(journal).to_undo == []
    write(journal, "g", b"1")
    (work / "g").unlink()
    assert undo(journal) == Changed(None, None)
    assert Undoing(journal).to_undo == []


def test_a_link_that_was_put_in_the_way_is_not_followed(journal: Journal, work: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "f").write_bytes(b"1")
    (work / "a").mkdir()
    (work / "a/f").write_bytes(b"0")
    write(journal, "a/f", b"1")
    (work / "a/f").unlink()
    (work / "a").rmdir()
    (work / "a").symlink_to(outside)
    for force in (False, True):
        with pytest.raises(FileRefused, match="link"):
            undo(journal, force=force)
    assert (outside / "f").read_bytes() == b"1"


def test_files_in_further_folders(journal: Journal, tmp_path: Path) -> None:
    further = tmp_path.resolve() / "further"
    further.mkdir()
    (further / "f").write_bytes(b"0")
    replace_file(Roots([str(further)]), str(further / "f"), lambda _: b"1", journal)
    assert Undoing(journal).shown(str(further / "f")) == str(further / "f")
    moved = further.rename(tmp_path / "moved")
    further.symlink_to(moved)
    with pytest.raises(FileRefused, match="leads through a link now"):
        undo(journal, force=True)
    further.unlink()
    moved.rename(further)
    assert undo(journal) == Changed(b"1", b"0")


def test_what_tells_of_an_untold_change_is_not_dropped(
    journal: Journal, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that was killed before it was made, and was then followed by others, stays unmade after dropping."""
    (work / "f").write_bytes(b"0")
    journal.begin(str(work / "f"), b"0", b"never")
    write(journal, "f", b"1")
    undo(journal)
    redo(journal)
    before = told(journal)
    monkeypatch.setattr(module, "CHANGES", 6)
    monkeypatch.setattr(module, "_SLACK", -4)
    write(journal, "g", b"1")
    assert len(journal.changes()) == 4
    assert told(journal) == [digest_of(b"1"), *before]
