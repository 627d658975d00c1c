"""The log of a server: its end, its bounds, and that nothing about it harms anybody."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from toolwire.mcp import log as module
from toolwire.mcp.limits import LOG_BYTES
from toolwire.mcp.log import ServerLog, log_path


class Clock:
    now = 0.0

    def monotonic(self) -> float:
        return self.now

    def strftime(self, form: str) -> str:
        return "2030-01-02 03:04:05"


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(module, "time", clock)
    return clock


TAILS = [
    ([b"one\n", b"two\n"], 2_000, "one\ntwo"),
    ([b"one\r\ntwo"], 2_000, "one\ntwo"),
    ([b"h\xc3", b"\xa9\n"], 2_000, "hé"),
    ([b"bad \xff byte"], 2_000, "bad \ufffd byte"),
    ([b"\x1b[31mred\x1b[0m \xe2\x80\xae back"], 2_000, "‹ESC›[31mred‹ESC›[0m ‹U+202E› back"),
    ([b"a\tb"], 2_000, "a       b"),
    ([b"first\n", b"second\n", b"third\n"], 14, "second\nthird"),
    ([b"x" * 100], 10, "…" + "x" * 9),
    ([b"first\n", b"\x00" * 10], 12, "…" + ("‹U+0000›" * 10)[-11:]),
    ([], 2_000, ""),
    ([b"\n\n\n"], 2_000, ""),
]


@pytest.mark.parametrize(("pieces", "characters", "tail"), TAILS)
def test_its_end(pieces: list[bytes], characters: int, tail: str) -> None:
    log = ServerLog(None)
    for piece in pieces:
        log.write(piece)
    assert log.tail(characters) == tail
    assert len(log.tail(characters)) <= characters


def test_memory_is_bounded() -> None:
    log = ServerLog(None)
    for _ in range(100):
        log.write(b"y" * 100_000)
    log.write(b"\nlast")
    assert log.tail(10) == "last"
    assert len(log.tail(10**9)) < 20_000


def test_a_new_start_is_told_of_alone(tmp_path: Path, clock: Clock) -> None:
    log = ServerLog(tmp_path / "logs" / "a.log")
    log.begin("time is started")
    log.write(b"first\n")
    log.begin("time is started")
    assert log.tail() == ""
    log.write(b"second\n")
    assert log.tail() == "second"
    line = "--- 2030-01-02 03:04:05 time is started\n"
    assert (tmp_path / "logs" / "a.log").read_text() == f"{line}first\n{line}second\n"


def test_only_the_person_can_read_it(tmp_path: Path) -> None:
    path = tmp_path / "logs" / "a.log"
    ServerLog(path).write(b"words")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_the_disk_is_bounded_and_one_older_is_kept(tmp_path: Path, clock: Clock) -> None:
    path = tmp_path / "a.log"
    log = ServerLog(path)
    for number in range(5):
        clock.now += 100
        for _ in range(10):
            log.write(b"%d" % number * 100_000)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["a.log", "a.log.1"]
    assert all(0 < file.stat().st_size <= LOG_BYTES for file in tmp_path.iterdir())
    assert path.read_bytes()[-1:] == b"4"
    assert set(Path(f"{path}.1").read_bytes()) == {ord("3")}


def test_what_comes_too_fast_is_left_out(tmp_path: Path, clock: Clock) -> None:
    path = tmp_path / "a.log"
    log = ServerLog(path)
    for _ in range(1_000):
        log.write(b"z" * 65_536)
    assert sum(file.stat().st_size for file in tmp_path.iterdir()) <= LOG_BYTES
    clock.now += 10
    log.write(b"after\n")
    assert path.read_bytes() == b"\n[%d bytes left out: they came too fast]\nafter\n" % (984 * 65_536)
    assert log.tail(7) == "…zafter"


def test_two_programs_write_to_one(tmp_path: Path, clock: Clock) -> None:
    path = tmp_path / "a.log"
    one, other = ServerLog(path), ServerLog(path)
    for _ in range(9):
        one.write(b"1" * 65_536)
        other.write(b"2" * 65_536)
    one.write(b"one")
    other.write(b"other")
    assert path.read_bytes().endswith(b"oneother")


@pytest.mark.parametrize("kind", ["link", "folder", "pipe", "in the way"])
def test_what_cannot_be_written_harms_nobody(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "a.log"
    other = tmp_path / "other"
    other.write_bytes(b"theirs")
    if kind == "link":
        path.symlink_to(other)
    elif kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    else:
        path = other / "a.log"
    log = ServerLog(path)
    log.write(b"words")
    assert log.tail() == "words"
    assert other.read_bytes() == b"theirs"


def test_where_it_lies() -> None:
    env = {"XDG_STATE_HOME": "/state"}
    folder = Path("/state/toolwire/mcp/logs")
    identities = [
        "time",
        "Time",
        "ti/me",
        "ti-me",
        "../../x",
        "/p/.mcp.json#time",
        "/q/.mcp.json#time",
        "é" * 300,
        "\ud800",
        "",
    ]
    paths = [log_path(env, identity) for identity in identities]
    assert len(set(paths)) == len(identities)
    for path in paths:
        assert path.parent == folder
        assert len(path.name) < 100
        assert path.name.isascii()
        assert path.suffix == ".log"
    assert paths[0].name.startswith("time-")
    assert paths[5].name.startswith("time-")
