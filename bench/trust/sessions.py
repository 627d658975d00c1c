"""Sessions under kill -9, damage and full disks: no effect twice, no finished result lost, no false "done".

Each kill is in a fork of its own, so all of that runs in a process apart, where no other thread is.

    python -m bench.trust.sessions killed COUNT SEED
"""

from __future__ import annotations

import asyncio
import os
import random
import shutil
import signal
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from bench.trust import Found
from bench.trust.session_runs import Place, watched
from toolwire import tool
from toolwire.agent.events import RunFailed
from toolwire.agent.sessions.resuming import Resumed
from toolwire.agent.sessions.store import SessionRecord, SessionStore
from toolwire.errors import ToolwireError
from toolwire.execution.executor import ToolResult
from toolwire.messages import Message, ToolCallPart, tool_results, user
from toolwire.stream.invocation import ToolInvocation
from toolwire.tools.function import as_definition

MOST_COMMITS = 200
"""More than a run has: an end to a count that never comes to one."""


def killed(count: int, seed: int) -> Found:
    """Plan: 0, before and after every commit of a run and of its resumption. Else `count` of these places at random."""
    return _apart("killed", count, seed)


def killed_anywhere(count: int, seed: int) -> Found:
    """Plan: 200 sessions, killed from outside one to three times, at random moments (some 40 seconds).

    Half of the runs are interrupted at some event and go on, before or after which the kill comes.
    """
    return _apart("killed_anywhere", count, seed)


def _apart(name: str, count: int, seed: int) -> Found:
    here = str(Path(__file__).parents[2])
    done = subprocess.run(
        [sys.executable, "-m", "bench.trust.sessions", name, str(count), str(seed)],
        stdout=subprocess.PIPE,
        check=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([here, *filter(None, sys.path)])},
    )
    return msgspec.json.decode(done.stdout, type=Found)


def _memory() -> str | None:
    """In memory where that can be: a kill loses nothing that was written, so a disk would only make it slow."""
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


# ---- killed


def _in_fork(work: Callable[[], object]) -> int:
    """The process that does it and ends."""
    child = os.fork()
    if child:
        return child
    status = 1
    try:
        # Nothing here takes longer; whatever hangs ends by itself.
        signal.alarm(60)
        work()
        status = 0
    finally:
        os._exit(status)


def _status(child: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def _kill_at(place: int, when: str, work: Callable[[], object]) -> Callable[[], object]:
    """Does it, and kills its own process before or after the commit with this number."""
    commits = 0

    def at(moment: str) -> Callable[[str], None]:
        def seen(sql: str) -> None:
            nonlocal commits
            if sql == "COMMIT":
                if (commits, moment) == (place, when):
                    os.kill(os.getpid(), signal.SIGKILL)
                commits += moment == "after"

        return seen

    def do() -> None:
        with watched(at("before"), at("after")):
            work()

    return do


def _killed(count: int, seed: int) -> Found:
    found = Found()
    rng = random.Random(seed)
    commits = 0
    again = 0
    places = [(number, when) for number in range(MOST_COMMITS) for when in ("before", "after")]
    if count:
        places = [(rng.randrange(34), rng.choice(("before", "after"))) for _ in range(count)]
    for number, when in places:
        with tempfile.TemporaryDirectory(dir=_memory()) as folder:
            place = Place(Path(folder))
            status = _status(_in_fork(_kill_at(number, when, lambda place=place: asyncio.run(place.run()))))  # type: ignore[misc]
            if status == 0:
                if count:
                    continue
                break
            commits = max(commits, number + 1)
            name = f"killed {when} commit {number}"
            if status != -signal.SIGKILL:
                found.fault(f"{name}: it ended with {status}")
            _look(found, name, place, resumed=False)
            # Killed once more while it is resumed, at a place by chance, and then resumed to the end.
            second = rng.randrange(12)
            work = _kill_at(second, rng.choice(("before", "after")), lambda place=place: asyncio.run(place.run()))  # type: ignore[misc]
            again += _status(_in_fork(work)) == -signal.SIGKILL
            if status := _status(_in_fork(lambda place=place: asyncio.run(place.run()))):  # type: ignore[misc]
                found.fault(f"{name}: resumed, it ended with {status}")
            _look(found, name, place, resumed=True)
            found.runs += 1
    found.words = f"{commits} commits in a run; {again} were killed once more while they were resumed"
    return found


def _killed_anywhere(count: int, seed: int) -> Found:
    found = Found()
    rng = random.Random(seed)
    with tempfile.TemporaryDirectory(dir=_memory()) as folder:
        started = time.monotonic()
        _status(_in_fork(lambda: asyncio.run(Place(Path(folder)).run())))
        whole = time.monotonic() - started
    too_late = 0
    for number in range(count):
        with tempfile.TemporaryDirectory(dir=_memory()) as folder:
            place = Place(Path(folder))
            name = f"kill {number} of seed {seed}"
            was_interrupted = False
            for _ in range(rng.randrange(1, 4)):
                at = rng.choice((-1, rng.randrange(1, 60)))
                was_interrupted |= at > 0
                child = _in_fork(lambda place=place, at=at: asyncio.run(place.run(at)))  # type: ignore[misc]
                time.sleep(rng.random() * whole)
                os.kill(child, signal.SIGKILL)
                too_late += _status(child) == 0
                _look(found, name, place, resumed=False, interrupted=was_interrupted)
            if status := _status(_in_fork(lambda place=place: asyncio.run(place.run()))):  # type: ignore[misc]
                found.fault(f"{name}: resumed, it ended with {status}")
            _look(found, name, place, resumed=True, interrupted=was_interrupted)
            found.runs += 1
    found.words = f"a run takes {whole * 1000:.0f} ms; {too_late} of the kills came behind its end"
    return found


def _look(found: Found, name: str, place: Place, *, resumed: bool, interrupted: bool = False) -> None:
    for words in place.faults(resumed=resumed, interrupted=interrupted):
        found.fault(f"{name}, {'resumed' if resumed else 'cut off'}: {words}")


# ---- writes that fail

_FAILURES = {"SQLITE_FULL": "database or disk is full", "SQLITE_IOERR_WRITE": "disk I/O error"}


def failing_writes(count: int, seed: int) -> Found:
    """Plan: 0, every statement of every write of a run fails, once before it was done and once after it was (an error
    of the disk may come too late); else `count` at random. The run ends with that error, and is resumed.
    """
    found = Found()
    rng = random.Random(seed)
    failed = 0
    places = [(number, when) for number in range(MOST_COMMITS * 3) for when in ("before", "after")]
    if count:
        places = [(rng.randrange(80), rng.choice(("before", "after"))) for _ in range(count)]
    for number, when in places:
        with tempfile.TemporaryDirectory(dir=_memory()) as folder:
            place = Place(Path(folder))
            name = f"statement {number} fails {when} it is done"
            fault = _Fault(number, when, *rng.choice([*_FAILURES.items()]))
            try:
                with watched(fault.before, fault.after):
                    end = asyncio.run(place.run())[-1]
            except ToolwireError as error:
                end = RunFailed(error.info(), 0)
            if not fault.hit:
                if count:
                    continue
                break
            if not isinstance(end, RunFailed) or end.error.type != "SessionFailed":
                found.fault(f"{name}: the run ends with {end}")
            failed += 1
            _look(found, name, place, resumed=False)
            asyncio.run(place.run())
            _look(found, name, place, resumed=True)
            found.runs += 1
    return found


class _Fault:
    """The statement of a write with this number fails, and from then on every one does."""

    def __init__(self, number: int, when: str, code: str, words: str) -> None:
        self._left = number
        self._when = when
        self._code = code
        self._words = words
        self.hit = False

    def before(self, sql: str) -> None:
        if self.hit and not sql.startswith(("ROLLBACK", "SELECT", "PRAGMA")):
            raise self._error()
        if sql.startswith(("BEGIN", "INSERT", "COMMIT")):
            self._left -= 1
            if self._left == -1 and self._when == "before":
                self.hit = True
                raise self._error()

    def after(self, sql: str) -> None:
        if self._left == -1 and not self.hit and sql.startswith(("BEGIN", "INSERT", "COMMIT")):
            self.hit = True
            raise self._error()

    def _error(self) -> sqlite3.OperationalError:
        error = sqlite3.OperationalError(self._words)
        error.sqlite_errorname = self._code
        return error


# ---- damage


def damaged(count: int, seed: int) -> Found:
    """Files with a bit or some bytes changed, or cut off, the log beside them too; plan: 20,000 (some 100 seconds).

    A session then has its first entries, exactly as they were, or a typed error is raised; nothing takes a second.
    """
    found = Found()
    rng = random.Random(seed)
    whole = shortened = refused = 0
    slowest = 0.0
    with tempfile.TemporaryDirectory(dir=_memory()) as name:
        sources = _sources(Path(name))
        target = Path(name) / "damaged"
        for number in range(count):
            folder, records = rng.choice(sources)
            shutil.rmtree(target, ignore_errors=True)
            shutil.copytree(folder, target)
            what = _damage(target, rng)
            started = time.monotonic()
            for id, record in records.items():
                with SessionStore(target / "sessions.db") as store:
                    words, state = _reads(store, id, record)
                whole += state == "whole"
                shortened += state == "shortened"
                refused += state == "refused"
                if words:
                    found.fault(f"{what} (number {number} of seed {seed}): {words}")
            slowest = max(slowest, time.monotonic() - started)
            if slowest > 5:
                found.fault(f"{what}: it took {slowest:.1f} s")
            found.runs += 1
    found.words = (
        f"{whole:,} sessions whole, {shortened:,} up to the damage, {refused:,} refused; "
        f"the slowest took {slowest * 1000:.0f} ms"
    )
    return found


def _sources(folder: Path) -> list[tuple[Path, dict[str, SessionRecord]]]:
    """Stores, one whose log was taken into the file and one whose log is still beside it, and what they hold."""
    sources = []
    for name in ("closed", "open"):
        path = folder / name / "sessions.db"
        store = SessionStore(path)
        for number in range(3):
            _long_session(store, turns=4 + 6 * number)
        copied = folder / f"{name} copied"
        if name == "closed":
            store.close()
        copied.mkdir()
        for each in path.parent.glob("sessions.db*"):
            # The index of the log is made anew by whoever opens it first.
            if each.is_file() and not each.name.endswith("-shm"):
                shutil.copy(each, copied)
        store.close()
        with SessionStore(path) as reader:
            sources.append((copied, {info.id: reader.read(info.id) for info in reader.list()}))
    return sources


def _damage(folder: Path, rng: random.Random) -> str:
    path = rng.choice([each for each in sorted(folder.iterdir()) if each.is_file()])
    data = bytearray(path.read_bytes())
    at = rng.randrange(len(data))
    kind = rng.randrange(4)
    if kind == 0:
        del data[at:]
        words = f"{path.name} is cut at {at}"
    elif kind == 1:
        end = min(len(data), at + rng.choice((16, 512, 4096)))
        data[at:end] = bytes(end - at)
        words = f"{path.name} has zeros from {at} to {end}"
    else:
        bit = 1 << rng.randrange(8)
        data[at] ^= bit
        words = f"{path.name} has bit {bit} of {at} flipped"
    path.write_bytes(data)
    return words


def _reads(store: SessionStore, id: str, right: SessionRecord) -> tuple[str, str]:
    """What is wrong with what is read of a damaged session, and in which state it was found."""
    state = "refused"
    try:
        store.list()
        record = store.read(id)
        if record.entries != right.entries[: len(record.entries)]:
            return "an entry is not what was written", state
        if record.messages != _conversation(record):
            return "the conversation is another", state
        state = "whole" if len(record.entries) == len(right.entries) else "shortened"
        if store.open(id).messages != _conversation(record):
            return "the conversation is resumed as another", state
    except ToolwireError:
        return "", state
    except Exception as error:
        return f"{type(error).__name__}: {error}", state
    return "", state


def _conversation(record: SessionRecord) -> list[Message]:
    resumed = Resumed()
    for entry in record.entries:
        resumed.take(entry.what)
    if resumed.is_cut_off:
        resumed.take(resumed.mending())
    return resumed.messages


# ---- long sessions


@tool(risk="write")
def _save(text: str) -> str:
    """Saves."""
    return text


def _long_session(store: SessionStore, *, turns: int) -> list[float]:
    """A session with four entries for each turn; gives the seconds that each write took."""
    session = store.create(model="openai:m", cwd="/")
    definition = as_definition(_save)
    seconds = []

    def timed(write: Callable[..., None], *arguments: object) -> None:
        started = time.perf_counter()
        write(*arguments)
        seconds.append(time.perf_counter() - started)

    timed(session.said, user("Save it all"))
    for turn in range(1, turns + 1):
        text = f"number {turn} " * 40
        call = ToolCallPart(f"c{turn}", "_save", {"text": text}, '{"text": "' + text + '"}')
        result = ToolResult(call.id, call.name, text, seconds=0.1, outcome="ok")
        timed(session.answered, turn, Message("assistant", [call]))
        timed(session.starting, turn, ToolInvocation(call.id, call.name, call.arguments, turn), definition)
        timed(session.finished, turn, result)
        timed(session.settled, turn, tool_results([result.part()]))
    session.close()
    return seconds


def long_sessions(count: int, seed: int) -> Found:
    """A session with `count` entries, written and resumed; plan: 10,000, resumed in less than a second."""
    found = Found(runs=1)
    with tempfile.TemporaryDirectory() as folder:
        with SessionStore(Path(folder) / "sessions.db") as store:
            seconds = _long_session(store, turns=count // 4)
        with SessionStore(Path(folder) / "sessions.db") as store:
            id = store.latest() or ""
            started = time.monotonic()
            messages = store.open(id).messages
            taken = time.monotonic() - started
    if len(messages) != count // 4 * 2 + 1:
        found.fault(f"{len(messages)} messages came back")
    if taken > 1:
        found.fault(f"it took {taken:.1f} s")
    middle = statistics.median(seconds) * 1e6
    durable = statistics.median(seconds[2::4]) * 1e6
    found.words = (
        f"resumed in {taken * 1000:.0f} ms; a write takes {middle:.0f} µs, one that is on the disk {durable:.0f} µs, "
        f"the slowest {max(seconds) * 1000:.1f} ms"
    )
    return found


if __name__ == "__main__":
    proof = {"killed": _killed, "killed_anywhere": _killed_anywhere}[sys.argv[1]]
    sys.stdout.buffer.write(msgspec.json.encode(proof(int(sys.argv[2]), int(sys.argv[3]))))
