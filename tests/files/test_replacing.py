"""A file is replaced whole: nothing half, nothing lost, nothing left behind, whatever fails."""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from bench.trust import writes

from toolwire.errors import FileRefused
from toolwire.files import replacing
from toolwire.files.beneath import Roots
from toolwire.files.journal import Journal, write_all
from toolwire.files.replacing import Changed, Note, Replaced, change_file, read_content, replace_file


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path.resolve() / "work"
    folder.mkdir()
    return folder


@pytest.fixture
def roots(work: Path) -> Roots:
    return Roots([str(work)])


@pytest.fixture
def journal(tmp_path: Path, work: Path) -> Journal:
    return Journal(tmp_path / "state", str(work))


def names(folder: Path) -> list[str]:
    return sorted(os.listdir(folder))


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_new_file_is_as_the_mask_says(roots: Roots, work: Path) -> None:
    mask = os.umask(0o027)
    try:
        done = replace_file(roots, str(work / "a/b/new.txt"), lambda before: b"x" if before is None else b"?")
    finally:
        os.umask(mask)
    assert done == Replaced(None, b"x")
    assert (work / "a/b/new.txt").read_bytes() == b"x"
    assert mode(work / "a/b/new.txt") == 0o640
    assert names(work / "a/b") == ["new.txt"]


@pytest.mark.parametrize(
    ("given", "kept"),
    [(0o644, 0o644), (0o600, 0o600), (0o755, 0o755), (0o4755, 0o755), (0o2775, 0o775), (0o666, 0o666)],
)
def test_the_permissions_stay_and_nothing_runs_as_somebody_else(
    roots: Roots, work: Path, given: int, kept: int
) -> None:
    path = work / "f"
    path.write_bytes(b"old")
    path.chmod(given)
    assert replace_file(roots, str(path), lambda _: b"new") == Replaced(b"old", b"new")
    assert (path.read_bytes(), mode(path)) == (b"new", kept)


@pytest.mark.parametrize(("refuses", "kept"), [((), 0o674), (("group",), 0o644), (("user", "group"), 0o644)])
def test_the_owner_stays_where_that_is_permitted(
    work: Path, monkeypatch: pytest.MonkeyPatch, refuses: tuple[str, ...], kept: int
) -> None:
    """A group that could not be kept leaves its rights to nobody."""
    asked: list[tuple[int, int]] = []

    def fchown(descriptor: int, user: int, group: int) -> None:
        asked.append((user, group))
        if ("user" if group == -1 else "group") in refuses:
            raise PermissionError(errno.EPERM, "no")

    monkeypatch.setattr(os, "fchown", fchown)
    old = SimpleNamespace(st_uid=os.getuid() + 1, st_gid=os.getgid() + 2, st_mode=stat.S_IFREG | 0o674)
    with open(work / "f", "wb") as file:
        replacing._keep_owner(file.fileno(), replacing._Found(b"", old, {}))  # type: ignore[arg-type]
    assert asked == [(old.st_uid, -1), (-1, old.st_gid)]
    assert mode(work / "f") == kept


def test_attributes_of_a_person_stay(roots: Roots, work: Path) -> None:
    path = work / "f"
    path.write_bytes(b"old")
    try:
        os.setxattr(path, "user.comment", b"mine")
    except OSError:
        pytest.skip("this file system keeps no attributes")
    replace_file(roots, str(path), lambda _: b"new")
    assert os.getxattr(path, "user.comment") == b"mine"


def test_another_name_of_the_file_keeps_the_old_content(roots: Roots, work: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_bytes(b"old")
    os.link(outside, work / "inside")
    replace_file(roots, str(work / "inside"), lambda _: b"new")
    assert (outside.read_bytes(), (work / "inside").read_bytes()) == (b"old", b"new")


def make_link(path: Path) -> None:
    path.parent.parent.joinpath("outside").write_bytes(b"old")
    path.symlink_to(path.parent.parent / "outside")


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (make_link, "links are not followed"),
        (lambda path: path.symlink_to("/nowhere/at/all"), "links are not followed"),
        (Path.mkdir, "is a folder"),
        (os.mkfifo, "not a file"),
        (lambda path: path.parent.joinpath("f").write_bytes(b"x") and path.chmod(0o444), "it is read-only"),
    ],
)
def test_what_is_no_file_to_write_is_refused(
    roots: Roots, work: Path, journal: Journal, make: Callable[[Path], Any], words: str
) -> None:
    path = work / "f"
    make(path)
    before = path.lstat()
    with pytest.raises(FileRefused, match=words):
        replace_file(roots, str(path), lambda _: b"new", journal)
    after = path.lstat()
    assert (before.st_ino, before.st_ctime_ns) == (after.st_ino, after.st_ctime_ns)
    assert names(work) == ["f"]
    assert all(each.read_bytes() == b"old" for each in work.parent.glob("outside"))


def test_what_the_change_raises_goes_through_and_nothing_is_changed(roots: Roots, work: Path, journal: Journal) -> None:
    def no(_: bytes | None) -> bytes:
        raise KeyError("no")

    (work / "f").write_bytes(b"old")
    for path in ("f", "new", "a/b/new"):
        with pytest.raises(KeyError):
            replace_file(roots, str(work / path), no, journal)
    assert names(work) == ["f"]
    assert (work / "f").read_bytes() == b"old"
    assert journal.changes() == []


def test_the_same_content_is_not_written(roots: Roots, work: Path, journal: Journal) -> None:
    path = work / "f"
    path.write_bytes(b"old")
    before = path.stat()
    assert replace_file(roots, str(path), lambda now: now or b"", journal) == Replaced(b"old", b"old")
    assert path.stat() == before
    assert journal.changes() == []


def test_a_file_can_be_removed(roots: Roots, work: Path) -> None:
    (work / "f").write_bytes(b"old")
    assert change_file(roots, str(work / "f"), lambda _: None) == Changed(b"old", None)
    assert change_file(roots, str(work / "f"), lambda _: None) == Changed(None, None)
    assert change_file(roots, str(work / "a/b"), lambda _: None) == Changed(None, None)
    assert names(work) == []


@pytest.mark.parametrize("kind", ["in place", "renamed", "removed", "made"])
def test_what_others_write_in_between_is_not_lost(roots: Roots, work: Path, journal: Journal, kind: str) -> None:
    path = work / "f"
    if kind != "made":
        path.write_bytes(b"old\n")
    given: list[bytes | None] = []

    def change(before: bytes | None) -> bytes:
        given.append(before)
        if len(given) == 1:
            if kind == "removed":
                path.unlink()
            elif kind == "renamed":
                (work / "other").write_bytes(b"OLD\n")
                os.replace(work / "other", path)
            else:
                path.write_bytes(b"OLD\n")
        return (before or b"") + b"mine\n"

    done = replace_file(roots, str(path), change, journal)
    second = None if kind == "removed" else b"OLD\n"
    assert given == [None if kind == "made" else b"old\n", second]
    assert done == Replaced(second, (second or b"") + b"mine\n")
    assert path.read_bytes() == done.after
    outcomes = [change.outcome for change in journal.changes()]
    assert outcomes in (["dropped", "done"], ["done"])
    assert names(work) == ["f"]


def test_who_keeps_writing_wins(roots: Roots, work: Path) -> None:
    path = work / "f"
    calls: list[bytes | None] = []

    def change(before: bytes | None) -> bytes:
        calls.append(before)
        path.write_bytes(b"theirs %d" % len(calls))
        return b"mine"

    with pytest.raises(FileRefused, match="keeps changing it"):
        replace_file(roots, str(path), change)
    assert len(calls) == 5
    assert path.read_bytes() == b"theirs 5"
    assert names(work) == ["f"]


def test_too_large_is_refused(roots: Roots, work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replacing, "MOST", 1024 * 1024)
    (work / "f").write_bytes(b"x" * (1024 * 1024 + 1))
    with pytest.raises(FileRefused, match="larger than 1 MiB"):
        replace_file(roots, str(work / "f"), lambda _: b"")
    with pytest.raises(FileRefused, match="larger than 1 MiB"):
        replace_file(roots, str(work / "g"), lambda _: b"x" * (1024 * 1024 + 1))
    assert names(work) == ["f"]


def test_a_file_may_be_as_large_as_the_bound(roots: Roots, work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replacing, "MOST", 1024 * 1024)
    (work / "f").write_bytes(b"x" * 1024 * 1024)
    assert replace_file(roots, str(work / "f"), lambda before: (before or b"")[1:] + b"y").after.endswith(b"xy")
    assert (work / "f").stat().st_size == 1024 * 1024


def test_reading_what_could_be_replaced(roots: Roots, work: Path) -> None:
    (work / "f").write_bytes(b"x")
    assert [read_content(roots, str(work / name)) for name in ("f", "g", "a/b")] == [b"x", None, None]


# ---- faults

CHANGING = (
    "open",
    "write",
    "fsync",
    "fchmod",
    "replace",
    "unlink",
    "mkdir",
    "stat",
    "fstat",
    "scandir",
    "pread",
    "read",
)


class Faults:
    """Raises at the n-th call of any of these."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.at = 0
        self.calls: list[str] = []
        self.code = errno.ENOSPC
        for name in CHANGING:
            real = getattr(os, name)
            wrapped = self.wrapped(name, real)
            monkeypatch.setattr(os, name, wrapped)
            for ability in ("supports_dir_fd", "supports_follow_symlinks"):
                known = getattr(os, ability)
                monkeypatch.setattr(os, ability, known | ({wrapped} if real in known else set()))

    def wrapped(self, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **named: Any) -> Any:
            self.calls.append(name)
            if len(self.calls) == self.at:
                if name == "write":  # a full disk takes a part first
                    real(arguments[0], bytes(arguments[1])[:3])
                raise OSError(self.code, os.strerror(self.code))
            return real(*arguments, **named)

        return call


@pytest.fixture
def faults(monkeypatch: pytest.MonkeyPatch) -> Iterator[Faults]:
    with monkeypatch.context() as patch:
        yield Faults(patch)


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO])
def test_a_fault_at_any_call_leaves_the_old_file_or_the_new_one(
    roots: Roots, work: Path, journal: Journal, faults: Faults, code: int
) -> None:
    path = work / "f"

    def one(at: int) -> str:
        """A change from a content of its own, so that there is always something to keep; gives what was said."""
        path.write_bytes(b"old %d" % at)
        faults.calls = []
        faults.at = at
        try:
            replace_file(roots, str(path), lambda _: b"new %d" % at, journal)
            return ""
        except FileRefused as error:
            return error.message
        finally:
            faults.at = 0

    one(-1)  # so that nothing is done for the first time
    one(-2)
    order = list(faults.calls)
    renamed = len(order) - order[::-1].index("replace")
    faults.code = code
    outcomes = []
    for at in range(1, len(order) + 1):
        said = one(at)
        old, now = b"old %d" % at, path.read_bytes()
        outcomes.append((now != old, bool(said)))
        assert now == old or (now == b"new %d" % at and at > renamed), order[at - 1]
        assert said or now != old, order[at - 1]
        assert "was not changed" not in said or now == old, order[at - 1]
        assert names(work) == ["f"], order[at - 1]
    # The last one is that of the folder: it is told that the disk does not confirm it.
    assert {(False, True), (True, False), (True, True)} == set(outcomes)


def test_all_is_on_the_disk_before_it_is_in_place(
    roots: Roots, work: Path, journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = work / "f"
    path.write_bytes(b"old")
    replace_file(roots, str(path), lambda _: b"1", journal)
    done: list[str] = []
    fsync, rename = os.fsync, os.replace

    def sync(descriptor: int) -> None:
        done.append(os.path.basename(os.readlink(f"/proc/self/fd/{descriptor}")))
        fsync(descriptor)

    def replace(source: str, target: str, **named: Any) -> None:
        rename(source, target, **named)
        done.append(f"→ {target}")

    monkeypatch.setattr(os, "fsync", sync)
    monkeypatch.setattr(os, "replace", replace)
    replace_file(roots, str(path), lambda _: b"2", journal)
    content = journal.changes()[-1].before
    beside = done[0]
    assert beside.startswith(".toolwire-")
    kept = [f".{content}.new", f"→ {content}", "contents"]
    assert done == [beside, *kept, "changes.jsonl", "→ f", "work"]


def test_a_journal_that_cannot_be_written_keeps_the_file_from_being_changed(roots: Roots, work: Path) -> None:
    (work / "f").write_bytes(b"old")
    (work.parent / "state").write_bytes(b"a file")
    with pytest.raises(FileRefused, match=r"nothing was changed.*undo journal"):
        replace_file(roots, str(work / "f"), lambda _: b"new", Journal(work.parent / "state", str(work)))
    assert (work / "f").read_bytes() == b"old"
    assert names(work) == ["f"]


def test_who_holds_the_lock_too_long_is_not_waited_for(
    roots: Roots, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replacing, "_LOCK_SECONDS", 0.05)
    holder = os.open(work, os.O_RDONLY)
    try:
        fcntl.flock(holder, fcntl.LOCK_EX)
        with pytest.raises(FileRefused, match="another process is changing files"):
            replace_file(roots, str(work / "f"), lambda _: b"new")
    finally:
        os.close(holder)
    replace_file(roots, str(work / "f"), lambda _: b"new")
    assert names(work) == ["f"]


def test_what_killed_writers_left_is_removed(roots: Roots, work: Path) -> None:
    ours = work / ".toolwire-0123456789abcdef.new"
    young = work / ".toolwire-0123456789abcde0.new"
    theirs = work / ".toolwire-notes.new"
    for path in (ours, young, theirs):
        path.write_bytes(b"half")
    for path in (ours, theirs):
        os.utime(path, (time.time() - 61, time.time() - 61))
    replace_file(roots, str(work / "f"), lambda _: b"new")
    assert names(work) == sorted([young.name, theirs.name, "f"])


# ---- many at once, and kills


def test_no_update_is_lost_among_threads(roots: Roots, work: Path, journal: Journal) -> None:
    path = str(work / "f")

    def work_on() -> None:
        for _ in range(5):
            replace_file(roots, path, lambda before: b"%d" % (int(before or b"0") + 1), journal)

    threads = [threading.Thread(target=work_on) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (work / "f").read_bytes() == b"30"


def test_no_update_is_lost_among_processes() -> None:
    found = writes.concurrent(60, 1)
    assert (found.runs, found.faults) == (60, [])


def test_killed_anywhere_the_file_is_the_old_one_or_the_new_one() -> None:
    found = writes.killed(30, 1)
    assert (found.runs, found.faults) == (30, [])


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o644])
def test_nobody_else_can_read_what_is_written_before_it_is_in_place(
    roots: Roots, work: Path, monkeypatch: pytest.MonkeyPatch, mode: int
) -> None:
    (work / "f").write_text("old")
    (work / "f").chmod(mode)
    seen: list[int] = []

    def watched(descriptor: int, content: bytes) -> None:
        seen.append(stat.S_IMODE(os.fstat(descriptor).st_mode))
        write_all(descriptor, content)

    monkeypatch.setattr(replacing, "write_all", watched)
    before = os.umask(0o022)
    try:
        replace_file(roots, str(work / "f"), lambda _: b"new")
        change_file(roots, str(work / "g"), lambda _: b"new", note=Note(mode=mode))
        replace_file(roots, str(work / "h"), lambda _: b"new")
    finally:
        os.umask(before)
    assert seen == [0o600, 0o600, 0o644]
    assert [stat.S_IMODE((work / name).stat().st_mode) for name in "fgh"] == [mode, mode, 0o644]


@pytest.mark.skipif(not hasattr(os, "listxattr"), reason="there are no attributes here")
@pytest.mark.parametrize("is_permitted", [True, False])
def test_which_attributes_are_kept(
    roots: Roots, work: Path, monkeypatch: pytest.MonkeyPatch, is_permitted: bool
) -> None:
    """What gives a program rights is not; nor is the access list where the group that it speaks of is not."""
    (work / "f").write_text("old")
    kept: list[str] = []
    fstat = os.fstat
    old = (work / "f").stat()

    def of_another_group(descriptor: int) -> os.stat_result:
        status = fstat(descriptor)
        if status.st_ino != old.st_ino:
            return status
        return os.stat_result((*status[:5], old.st_gid + 1, *status[6:]), {"st_mtime_ns": 1, "st_ctime_ns": 1})

    def chown(descriptor: int, user: int, group: int) -> None:
        if not is_permitted:
            raise PermissionError

    monkeypatch.setattr(os, "listxattr", lambda _: ["security.capability", "system.posix_acl_access", "user.note"])
    monkeypatch.setattr(os, "getxattr", lambda *_: b"value")
    monkeypatch.setattr(os, "setxattr", lambda _, name, value: kept.append(name))
    monkeypatch.setattr(os, "fchown", chown)
    monkeypatch.setattr(os, "fstat", of_another_group)
    monkeypatch.setattr(replacing, "_state", lambda status: (status.st_ino, status.st_size))
    replace_file(roots, str(work / "f"), lambda _: b"new")
    assert kept == (["system.posix_acl_access"] if is_permitted else []) + ["user.note"]
