"""Writes of files: kill -9 before, after and inside of every system call; many processes that edit one file.

Each kill is in a fork of its own, so all of it runs in a process apart, where no other thread is.

    python -m bench.trust.writes killed COUNT SEED
"""

from __future__ import annotations

import fcntl
import os
import random
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from bench.trust import Found
from toolwire.errors import FileRefused
from toolwire.files import journal as journal_module
from toolwire.files.beneath import Roots
from toolwire.files.journal import Journal, digest_of
from toolwire.files.replacing import replace_file
from toolwire.files.undoing import Undoing

OLD = b"old line\n" * 400
NEW = b"new line\n" * 500
CALLS = (
    *("open", "read", "write", "pread", "fsync", "close", "fchmod", "fchown", "replace", "unlink", "mkdir"),
    *("stat", "fstat", "scandir", "access", "listxattr", "setxattr"),
)
"""Everything that a write does to the system goes through one of these, or `flock`."""


def killed(count: int, seed: int) -> Found:
    """Plan: 0, every place in every case (some 940, 7 seconds). Else `count` places at random."""
    return _apart("killed", count, seed)


def concurrent(count: int, seed: int) -> Found:
    """Plan: 5,000 edits of one file by 4 processes while another writes to it without asking anybody (9 seconds)."""
    return _apart("concurrent", count, seed)


def _apart(name: str, count: int, seed: int) -> Found:
    here = str(Path(__file__).parents[2])
    done = subprocess.run(
        [sys.executable, "-m", "bench.trust.writes", name, str(count), str(seed)],
        stdout=subprocess.PIPE,
        check=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([here, *filter(None, sys.path)])},
    )
    return msgspec.json.decode(done.stdout, type=Found)


def _place() -> str | None:
    """In memory where that can be: a kill loses nothing that was written, so a disk would only make it slow."""
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


# ---- killed at every step


class Case(NamedTuple):
    """A change in a workspace: what is done before it, and what it is."""

    name: str
    prepare: Callable[[Path, Journal], None]
    change: Callable[[Path, Journal], None]
    path: str = "notes.txt"
    journaled: bool = True
    is_undo: bool = False


def _write(folder: Path, journal: Journal | None, content: bytes, path: str = "notes.txt") -> None:
    replace_file(Roots([str(folder)]), str(folder / path), lambda _: content, journal, tool="write_file")


def _nothing(folder: Path, journal: Journal) -> None:
    pass


def _old_file(folder: Path, journal: Journal) -> None:
    (folder / "notes.txt").write_bytes(OLD)
    (folder / "notes.txt").chmod(0o640)


def _old_change(folder: Path, journal: Journal) -> None:
    _old_file(folder, journal)
    _write(folder, journal, NEW)


def _undo(folder: Path, journal: Journal) -> None:
    undoing = Undoing(journal)
    undoing.take_back(undoing.to_undo[0].change)


def _many_changes(folder: Path, journal: Journal) -> None:
    """Enough for the next one to drop the oldest."""
    for number in range(journal_module.CHANGES):
        _write(folder, journal, b"%d\n" % number * 100)
    _write(folder, None, OLD)
    (folder / "notes.txt").chmod(0o640)


CASES = (
    Case("a new file", _nothing, lambda folder, journal: _write(folder, journal, NEW)),
    Case(
        "a new file in new folders",
        _nothing,
        lambda folder, journal: _write(folder, journal, NEW, "a/b/notes.txt"),
        path="a/b/notes.txt",
    ),
    Case("an old file", _old_file, lambda folder, journal: _write(folder, journal, NEW)),
    Case("without a journal", _old_file, lambda folder, journal: _write(folder, None, NEW), journaled=False),
    Case("undo of a change", _old_change, _undo, is_undo=True),
    Case("undo of a new file", lambda folder, journal: _write(folder, journal, NEW), _undo, is_undo=True),
    Case("a journal that is full", _many_changes, lambda folder, journal: _write(folder, journal, NEW)),
)


class _Killer:
    """Counts the places at which a process can be killed, and does so at the one that was chosen."""

    def __init__(self, at: int) -> None:
        self.places = 0
        self._at = at

    def place(self) -> None:
        self.places += 1
        if self.places == self._at:
            os.kill(os.getpid(), signal.SIGKILL)

    def install(self) -> None:
        """For the rest of this process."""
        for name in CALLS:
            real = getattr(os, name)
            wrapped = self._wrapped(real, torn=name == "write")
            setattr(os, name, wrapped)
            for ability in (os.supports_dir_fd, os.supports_effective_ids, os.supports_follow_symlinks, os.supports_fd):
                if real in ability:
                    ability.add(wrapped)
        fcntl.flock = self._wrapped(fcntl.flock)

    def _wrapped(self, real: Callable[..., Any], *, torn: bool = False) -> Callable[..., Any]:
        def call(*arguments: Any, **named: Any) -> Any:
            self.place()
            if torn and self.places + 1 == self._at:
                real(arguments[0], bytes(arguments[1])[: len(arguments[1]) // 2])
            if torn:
                self.place()
            result = real(*arguments, **named)
            self.place()
            return result

        return call


def _in_child(case: Case, folder: Path, journal: Journal, at: int) -> int | None:
    """Does the change in a fork that is killed at a place; gives how many places there were if it came to its end."""
    out, into = os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm(20)
        code = 1
        try:
            killer = _Killer(at)
            write, leave = os.write, os._exit
            killer.install()
            case.change(folder, journal)
            write(into, b"%d" % killer.places)
            code = 0
        finally:
            leave(code)
    os.close(into)
    told = os.read(out, 100)
    os.close(out)
    status = os.waitpid(child, 0)[1]
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL and not told:
        return None
    if status != 0:
        raise RuntimeError(f"{case.name}: the child ended with {status}")
    return int(told)


def _killed(count: int, seed: int) -> Found:
    found = Found()
    chance = random.Random(seed)
    journal_module.CHANGES, journal_module._SLACK = 4, 0
    places: list[tuple[Case, int]] = []
    for case in CASES:
        # Once before, so that what is remembered between writes is there in all of them.
        _one(case, 0, found)
        total = _one(case, 0, found)
        if total is None:
            raise RuntimeError(f"{case.name} was killed at no place")
        places += [(case, at) for at in range(1, total + 1)]
    for case, at in chance.sample(places, min(count, len(places))) if count else places:
        found.runs += _one(case, at, found) is None
    if found.runs != (min(count, len(places)) if count else len(places)):
        found.fault("at some places nothing was killed")
    found.words = f"{len(CASES)} kinds of change"
    return found


def _one(case: Case, at: int, found: Found) -> int | None:
    top = Path(tempfile.mkdtemp(prefix="toolwire-writes-", dir=_place()))
    try:
        folder = top / "work"
        folder.mkdir()
        journal = Journal(top / "state", str(folder))
        case.prepare(folder, journal)
        path = folder / case.path
        old = _content(path)
        reached = _in_child(case, folder, journal, at)
        try:
            faults = _after(case, folder, journal, old, is_done=reached is not None)
        except (FileRefused, IndexError) as error:
            faults = [f"what follows cannot be done: {error}"]
        for fault in faults:
            found.fault(f"{case.name}, killed at {at}: {fault}")
        return reached
    finally:
        shutil.rmtree(top)


def _content(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None


def _after(case: Case, folder: Path, journal: Journal, old: bytes | None, *, is_done: bool) -> list[str]:
    """What is wrong after the kill, and in the writes and undos that follow it."""
    path = folder / case.path
    new = None if case.name == "undo of a new file" else OLD if case.is_undo else NEW
    now = _content(path)
    if now not in (old, new):
        return [f"the file holds neither the old nor the new content: {len(now or b'')} bytes"]
    if is_done and now != new:
        return ["it was done, and the file holds the old content"]
    faults: list[str] = []
    if (
        now is not None
        and old is not None
        and stat.S_IMODE(path.stat().st_mode) != (0o640 if OLD in (old, new) else 0o644)
    ):
        faults.append(f"its permissions are {path.stat().st_mode:o}")
    undoing = Undoing(journal)
    row = undoing.to_redo if case.is_undo else undoing.to_undo
    told = bool(row) and (row[0].change.before, row[0].change.after) == (digest_of(old), digest_of(new))
    if case.journaled and told != (now == new):
        faults.append(f"the journal says that it was {'' if told else 'not '}made")
    if told and not row[0].is_as_left:
        faults.append("the journal says that the file was changed since")
    left = list(folder.rglob(".toolwire-*"))
    if len(left) > 1 or (is_done and left):
        faults.append(f"{len(left)} files were left beside it")
    for each in left:
        os.utime(each, (1, 1))
    following = (now or b"") + b"next\n"
    _write(folder, journal, following, case.path)
    if _content(path) != following:
        faults.append("the next write was not made")
    if list(folder.rglob(".toolwire-*")):
        faults.append("what was left beside it was not removed by the next write")
    _undo(folder, journal)
    if _content(path) != now:
        faults.append("the next write was not undone")
    if told:
        undoing = Undoing(journal)
        undoing.take_back((undoing.to_redo[1] if case.is_undo else undoing.to_undo[0]).change)
        if _content(path) != old:
            faults.append("it was not undone")
    return faults


# ---- many at once

WORKERS = 4


def _add(line: str, content: bytes | None) -> bytes:
    """One more in the count of the first line, and a line at the end."""
    first, _, rest = (content or b"0\n").partition(b"\n")
    return b"%d\n" % (int(first) + 1) + rest + line.encode() + b"\n"


def _worker(number: int, edits: int, path: str, journal: Journal) -> None:
    roots = Roots([os.path.dirname(path)])
    for edit in range(edits):
        for _ in range(100):
            try:
                replace_file(roots, path, partial(_add, f"{number} {edit}"), journal, tool="edit_file")
                break
            except FileRefused as error:
                if error.facts.get("why") != "busy":
                    raise
        else:
            raise RuntimeError("it came to nothing a hundred times")


def _fork(work: Callable[[], None]) -> int:
    child = os.fork()
    if child == 0:
        signal.alarm(600)
        code = 1
        try:
            work()
            code = 0
        finally:
            os._exit(code)
    return child


def _outsider(path: str, until: int, chance: random.Random) -> None:
    """Adds lines without a lock until whoever started it closes the pipe."""
    os.set_blocking(until, False)
    for number in range(10**6):
        time.sleep(chance.random() * 0.05)
        try:
            if os.read(until, 1) == b"":
                return
        except BlockingIOError:
            pass
        with open(path, "ab") as file:
            file.write(b"outside %d\n" % number)


def _concurrent(count: int, seed: int) -> Found:
    found = Found()
    with tempfile.TemporaryDirectory(prefix="toolwire-writes-", dir=_place()) as top:
        folder = Path(top, "work")
        folder.mkdir()
        path = folder / "counted.txt"
        path.write_bytes(b"0\n")
        journal = Journal(Path(top, "state"), str(folder))
        until, stop = os.pipe()
        edits = -(-count // WORKERS)

        def outside() -> None:
            os.close(stop)
            _outsider(str(path), until, random.Random(seed))

        outsider = _fork(outside)
        workers = [_fork(partial(_worker, number, edits, str(path), journal)) for number in range(WORKERS)]
        for number, worker in enumerate(workers):
            if os.waitpid(worker, 0)[1] != 0:
                found.fault(f"worker {number} failed")
        os.close(stop)
        os.close(until)
        if os.waitpid(outsider, 0)[1] != 0:
            found.fault("the one outside failed")
        first, *lines = path.read_text().splitlines()
        found.runs = WORKERS * edits
        if int(first) != found.runs:
            found.fault(f"{found.runs} edits were counted as {first}")
        for number in range(WORKERS):
            mine = [line for line in lines if line.startswith(f"{number} ")]
            if mine != [f"{number} {edit}" for edit in range(edits)]:
                found.fault(f"of the {edits} lines of worker {number} there are {len(mine)}")
        outside_lines = [int(line.removeprefix("outside ")) for line in lines if line.startswith("outside ")]
        written = outside_lines[-1] + 1 if outside_lines else 0
        found.words = f"{WORKERS} processes; of at least {written} lines written outside {len(outside_lines)} are there"
        left = [name for name in os.listdir(folder) if name != "counted.txt"]
        if left:
            found.fault(f"{len(left)} files were left beside it")
    return found


if __name__ == "__main__":
    run = {"killed": _killed, "concurrent": _concurrent}[sys.argv[1]]
    sys.stdout.buffer.write(msgspec.json.encode(run(int(sys.argv[2]), int(sys.argv[3]))))
