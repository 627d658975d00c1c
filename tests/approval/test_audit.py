"""The audit trail: whole records, whatever ends the process, and no record means no call."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import stat
import subprocess
import sys
import threading
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from bench.trust import audit as proofs

from toolwire import Risk, ToolDefinition, ToolInvocation
from toolwire.approval import audit as audit_module
from toolwire.approval.audit import ARGUMENTS, AuditRecord, AuditTrail, TrailLine, audit_path, read_trail
from toolwire.approval.gate import Denial, Gate, Ticket
from toolwire.errors import AuditFailed
from toolwire.redaction import Redactor

KEY = "canary-7f3Kq9Zx2Lm8Vb4N"


def record(call: str = "c1", event: str = "allowed", **members: Any) -> AuditRecord:
    return AuditRecord(event=event, call=call, tool="f", risk="read", **members)


def lines_of(path: Path) -> list[TrailLine]:
    return list(read_trail(BytesIO(path.read_bytes())))


def calls_of(path: Path) -> list[str]:
    return [line.record.call for line in lines_of(path) if line.record is not None]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state" / "toolwire" / "audit.jsonl"


def test_records_come_back_in_order_with_time_and_process(path: Path) -> None:
    trail = AuditTrail(path)
    given = [
        record("c1", "asked", digest="ab", arguments={"x": [1, None, {"y": "é\n"}]}, cwd="/w", why="w", source="mode"),
        record("c1", "approved", who="person"),
        record("c1", "finished", outcome="ok"),
    ]
    for each in given:
        trail(each)
    found = [line.record for line in lines_of(path)]
    assert [line.broken for line in lines_of(path)] == ["", "", ""]
    for each, kept in zip(given, found, strict=True):
        assert kept is not None
        assert kept.pid == os.getpid()
        assert kept.at.endswith("Z")
        assert kept.at[:4] >= "2026"
        same = ("event", "call", "tool", "risk", "digest", "arguments", "cwd", "why", "source", "who", "outcome")
        assert [getattr(kept, name) for name in same] == [getattr(each, name) for name in same]


def test_only_the_user_can_read_it(path: Path) -> None:
    AuditTrail(path)(record())
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    path.chmod(0o664)
    AuditTrail(path)(record())
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_where_it_is(tmp_path: Path) -> None:
    assert audit_path({"XDG_STATE_HOME": "/s", "HOME": "/h"}) == Path("/s/toolwire/audit.jsonl")
    assert audit_path({"HOME": "/h"}) == Path("/h/.local/state/toolwire/audit.jsonl")
    assert audit_path({"XDG_STATE_HOME": "not/absolute", "HOME": "/h"}) == audit_path({"HOME": "/h"})


def make_link(path: Path) -> None:
    target = path.parent / "target"
    target.write_text("")
    path.symlink_to(target)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (make_link, "symbolic link"),
        (lambda path: path.symlink_to("/nonexistent"), "symbolic link"),
        (os.mkfifo, "no plain file"),
        (Path.mkdir, "directory"),
    ],
    ids=["a link", "a dead link", "a pipe", "a folder"],
)
def test_what_is_no_plain_file_is_refused(path: Path, make: Callable[[Path], None], words: str) -> None:
    path.parent.mkdir(parents=True)
    make(path)
    with pytest.raises(AuditFailed, match=words) as caught:
        AuditTrail(path)(record())
    assert str(path) in caught.value.hint
    assert caught.value.path == str(path)


def test_a_device_is_refused_before_anything_is_written_to_it() -> None:
    with pytest.raises(AuditFailed, match="no plain file"):
        AuditTrail("/dev/full")(record())


def test_a_file_of_another_user_is_refused(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    AuditTrail(path)(record())
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    with pytest.raises(AuditFailed, match="another user"):
        AuditTrail(path)(record())
    assert len(calls_of(path)) == 1


@pytest.mark.parametrize("fault", ["write", "short write", "open", "flock", "fdatasync", "pread"])
@pytest.mark.parametrize("nth", range(1, 5))
def test_the_nth_step_fails(path: Path, monkeypatch: pytest.MonkeyPatch, fault: str, nth: int) -> None:
    trail = AuditTrail(path, Redactor())
    trail(record("before"))
    holder, name = (fcntl, fault) if fault == "flock" else (os, fault.rpartition(" ")[2])
    real: Any = getattr(holder, name)
    times = 0

    def failing(*arguments: Any) -> Any:
        nonlocal times
        times += 1
        if times != nth:
            return real(*arguments)
        if fault == "short write":
            return real(arguments[0], arguments[1][:7])
        raise OSError(errno.ENOSPC if fault == "write" else errno.EIO, "no room")

    refused = []
    with monkeypatch.context() as patch:
        patch.setattr(holder, name, failing)
        for number in range(1, 6):
            try:
                trail(record(f"c{number}", "started"))
            except AuditFailed:
                refused.append(number)
    assert refused == [nth]
    # What was acknowledged is there, in order, and what came after a fault begins on a line of its own.
    lines = lines_of(path)
    calls = [line.record.call for line in lines if line.record is not None]
    expected = ["before", *(f"c{number}" for number in range(1, 6) if number != nth or fault == "fdatasync")]
    assert calls == expected
    assert [line.broken for line in lines if line.broken] == []
    assert sum(line.record is None for line in lines) == (fault == "short write")


def test_a_full_disk_refuses_and_the_next_record_begins_anew(path: Path) -> None:
    """The kernel's own limit on a file's size stands for the full disk: it cuts a write short in the same way."""
    script = (
        "import resource, sys\n"
        "from toolwire.approval.audit import AuditRecord, AuditTrail\n"
        "from toolwire.errors import AuditFailed\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))\n"
        "trail = AuditTrail(sys.argv[1])\n"
        "try:\n"
        "    for number in range(1000):\n"
        "        trail(AuditRecord(event='allowed', call=f'c{number}', tool='f', risk='read'))\n"
        "        print(number, flush=True)\n"
        "except AuditFailed as error:\n"
        "    print(error)\n"
    )
    child = subprocess.run([sys.executable, "-c", script, str(path)], capture_output=True, text=True, timeout=60)
    *numbers, words = child.stdout.splitlines()
    assert "cannot be written" in words, child.stderr
    assert path.stat().st_size == 5000
    assert calls_of(path) == [f"c{number}" for number in numbers]
    assert lines_of(path)[-1].record is None
    AuditTrail(path)(record("after"))
    assert calls_of(path) == [*(f"c{number}" for number in numbers), "after"]
    assert not [line for line in lines_of(path) if line.broken]


@pytest.mark.parametrize("cut", [1, 2, 40, 10**9])
def test_a_torn_last_line_is_read_over_and_mended_by_the_next_writer(path: Path, cut: int) -> None:
    trail = AuditTrail(path)
    for number in range(3):
        trail(record(f"c{number}"))
    data = path.read_bytes()
    last = data.rindex(b"\n", 0, -1) + 1
    path.write_bytes(data[: max(last + 1, len(data) - cut)])
    before = calls_of(path)
    assert before == ["c0", "c1", *(["c2"] if cut == 1 else [])]
    trail(record("next"))
    assert calls_of(path) == [*before, "next"]
    assert not [line for line in lines_of(path) if line.broken]


def test_every_changed_or_removed_line_but_the_last_is_seen(path: Path) -> None:
    trail = AuditTrail(path)
    for number in range(6):
        trail(record(f"c{number}"))
    lines = path.read_bytes().splitlines(keepends=True)
    for number in range(5):
        rest = lines[number + 1 :]
        tampered = {
            "changed": [*lines[:number], lines[number].replace(b"allowed", b"denied "), *rest],
            "removed": [*lines[:number], *rest],
            "twice": [*lines[: number + 1], lines[number], *rest],
            "garbled": [*lines[:number], b"{\n", *rest],
            "swapped": [*lines[:number], lines[number + 1], lines[number], *lines[number + 2 :]],
        }
        for name, changed in tampered.items():
            broken = [line.number for line in read_trail(BytesIO(b"".join(changed))) if line.broken]
            place = number + (1 if name in ("removed", "swapped") else 2)
            assert broken[:1] == [place], (name, number)


def test_a_long_line_of_something_else_is_not_added_to(path: Path) -> None:
    path.parent.mkdir(parents=True)
    path.write_bytes(b"x" * 2_000_000)
    with pytest.raises(AuditFailed, match="something else"):
        AuditTrail(path)(record())
    assert path.stat().st_size == 2_000_000
    assert {line.record for line in lines_of(path)} == {None}


def test_long_arguments_are_cut_with_their_size_and_the_digest_stays(path: Path) -> None:
    trail = AuditTrail(path, Redactor([KEY]))
    trail(record(digest="ab" * 32, arguments={"text": "y" * 5_000_000, "more": 1}, why="w" * 100_000))
    trail(record(arguments={"text": f"{'y' * ARGUMENTS} {KEY}", "key": KEY}))
    trail(record(arguments={"a": KEY, "text": "é" * ARGUMENTS}))
    first, second, third = (line.record for line in lines_of(path))
    assert first is not None
    assert second is not None
    assert third is not None
    assert first.arguments is None
    assert first.beginning.startswith('{"text":"yyyy')
    assert (first.size, first.digest, len(first.why)) == (5_000_020, "ab" * 32, 2000)
    assert third.beginning.startswith('{"a":"***","text":"é')
    assert KEY[:8] not in path.read_text()
    assert path.stat().st_size < 40_000


def test_what_json_cannot_hold_is_written_as_it_is_shown(path: Path) -> None:
    AuditTrail(path)(record(event="denied", arguments={"x": "\ud800", "y": {1, 2}}, cwd="/w/\udcff"))
    kept = lines_of(path)[0].record
    assert kept is not None
    assert kept.beginning == "{'x': '\\ud800', 'y': {1, 2}}"
    assert kept.cwd == "/w/\\udcff"


def test_secrets_of_the_environment_are_never_written(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACME_TOKEN", KEY)
    AuditTrail(path)(
        record(f"c-{KEY}", arguments={f"n{KEY}": [f"echo {KEY}"], "password": "pw"}, cwd=f"/{KEY}", why=KEY, who=KEY)
    )
    AuditTrail(path)(record(outcome=f"error: {KEY}", source=KEY))
    text = path.read_text()
    assert KEY[:8] not in text
    assert '"n***":["echo ***"]' in text
    assert '"password":"***"' in text


def test_processes_and_threads_write_at_the_same_time(path: Path) -> None:
    children = [proofs.start(path, f"p{number}", padding=5000, records=60) for number in range(4)]
    trail = AuditTrail(path, Redactor())

    def write(name: str) -> None:
        for number in range(60):
            trail(record(f"{name}-{number}"))

    threads = [threading.Thread(target=write, args=(name,)) for name in ("a", "b")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for child in children:
        child.communicate(timeout=60)
        assert child.returncode == 0
    lines = lines_of(path)
    assert not [line for line in lines if line.broken or line.record is None]
    assert sorted(calls_of(path)) == sorted(
        f"{name}-{n}" for name in ("p0", "p1", "p2", "p3", "a", "b") for n in range(60)
    )


def test_who_holds_the_file_too_long_is_not_waited_for(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    AuditTrail(path)(record())
    monkeypatch.setattr(audit_module, "_LOCK_SECONDS", 0.05)
    with path.open("rb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(AuditFailed, match="another process holds it"):
            AuditTrail(path)(record())
    AuditTrail(path)(record())
    assert len(calls_of(path)) == 2


def test_a_start_is_on_the_disk_before_it_goes_on(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[list[str]] = []
    monkeypatch.setattr(os, "fdatasync", lambda _: synced.append(calls_of(path)))
    trail = AuditTrail(path)
    trail(record("c1", "allowed"))
    trail(record("c1", "started"))
    trail(record("c1", "finished"))
    assert synced == [["c1", "c1"]]


@pytest.mark.thorough
def test_every_acknowledged_record_survives_kill_9() -> None:
    found = proofs.killed(20, seed=1)
    assert (found.runs, found.faults) == (20, [])


def put_a_folder_there(path: Path) -> None:
    path.unlink()
    path.mkdir()


async def test_without_a_trail_that_can_be_written_nothing_is_allowed_or_started(path: Path) -> None:
    ran: list[object] = []
    call = ToolInvocation("c1", "f", {"x": 1}, 1, "c1", "{}")
    tool = ToolDefinition("f", "does", {"properties": {"x": {}}}, Risk.READ, ran.append)
    gate = Gate(audit=AuditTrail(path))
    ticket = await gate.decide(call, tool)
    assert isinstance(ticket, Ticket)
    put_a_folder_there(path)
    assert isinstance(await gate.decide(call, tool), Denial)
    with pytest.raises(AuditFailed):
        gate.redeem(ticket)
    assert ran == []


def test_the_lines_are_json_that_others_can_read(path: Path) -> None:
    AuditTrail(path)(record(arguments={"x": "\u2028\u0000\n"}))
    [line] = path.read_bytes().split(b"\n")[:-1]
    assert json.loads(line)["arguments"] == {"x": "\u2028\u0000\n"}


def test_an_agent_is_there_on_systems_without_file_locks() -> None:
    script = (
        "import sys\n"
        "for name in ('fcntl', 'termios', 'pwd', 'resource'):\n"
        "    sys.modules[name] = None\n"
        "import toolwire\n"
        "print(*[getattr(toolwire, name).__name__ for name in ('Agent', 'load_policy')])\n"
    )
    output = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert output == "Agent load_policy\n"
