"""A tree that grows over its ceiling is ended at once, and one that does not never is."""

from __future__ import annotations

import math
import os
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from bench.trust import escapes
from bench.trust.escapes import ALLOCATES, MEGABYTE, limited

from toolwire.execution import supervisor
from toolwire.execution.process import Ceiling, run_process
from toolwire.execution.sandbox.sandbox import find_sandbox
from waiting import leap

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux counts what a tree uses")


def test_bombs_end_for_their_ceiling(monkeypatch: pytest.MonkeyPatch) -> None:
    # How soon and how near is measured by `make figures`: on a busy machine the supervisor waits for its turn.
    monkeypatch.setattr(escapes, "SOON_SECONDS", math.inf)
    monkeypatch.setattr(escapes, "OVER_MOST", math.inf)
    found = escapes.ceilings(5, 1)
    assert found.faults == []
    can_confine = os.geteuid() == 0 or find_sandbox().holds
    assert found.runs == (5 if can_confine else 4)


async def test_without_a_ceiling_nothing_is_ended(tmp_path: Path) -> None:
    result = await limited(ALLOCATES.replace("time.sleep(15)", "") % (10, "MAP_PRIVATE"), Ceiling(), tmp_path)
    assert (result.code, result.over) == (0, "")
    assert (tmp_path / "grown").stat().st_size == 160


async def test_what_stays_below_is_not_ended(tmp_path: Path) -> None:
    text = "b() { for i in 1 2 3 4 5; do sleep 0.3 & done; wait; echo done; }; b"
    result = await limited(text, Ceiling(256 * MEGABYTE, 10), tmp_path)
    assert (result.output, result.code, result.over) == ("done\n", 0, "")


async def test_threads_count(tmp_path: Path) -> None:
    text = "import threading, time\nfor _ in range(30): threading.Thread(target=time.sleep, args=(2,)).start()"
    result = await limited(text, Ceiling(0, 20), tmp_path)
    assert (result.signal, result.over) == ("SIGKILL", "processes")


def test_what_processes_share_counts_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """By their own words nine processes have 60 each; the machine has 70 more than before they came."""
    used: dict[str, Any] = {"each": [60], "all": 1060}
    monkeypatch.setattr(supervisor, "_in_memory", lambda pid: used["each"][pid])
    monkeypatch.setattr(supervisor, "_used_by_all", lambda: used["all"])
    size = supervisor.Size(300, 0)
    assert size._used([0]) == 60
    used |= {"each": [60] * 9, "all": 1070}
    assert size._used(list(range(9))) == 70
    used["all"] = 1500
    assert size._used(list(range(9))) == 500
    used["all"] = 9999
    assert size._used(list(range(9))) == 540
    used |= {"each": [400] * 2, "all": 0}
    assert size._used([0, 1]) == 400


async def test_what_outlives_the_program_counts(tmp_path: Path) -> None:
    """The program is gone at once; what it left is ended for the ceiling and not for the end of its time."""
    text = "b() { for i in $(seq 40); do sleep 5 & done; }; b"
    result = await limited(text, Ceiling(0, 20), tmp_path)
    assert result.over == "processes"
    assert result.left == 0


async def test_what_ignores_the_end_of_its_time_counts(tmp_path: Path) -> None:
    """Between SIGTERM and SIGKILL a tree could grow too."""
    # A loop of builtins: a program that the shell is just starting can outlive SIGTERM, and the trap would wait for it.
    busy = "for ((i = 0; i < 5000000; i++)); do :; done"
    text = f"trap 'for i in $(seq 40); do sleep 5 & done; wait' TERM; echo ready; {busy}"
    result = await run_process(
        ["bash", "-c", text],
        cwd=tmp_path,
        environment=dict(os.environ),
        timeout=30,
        on_output=lambda _: leap(30),
        ceiling=Ceiling(0, 10),
    )
    assert result.output.startswith("ready\n")
    assert (result.timed_out, result.over, result.left) == (True, "processes", 0)


def test_looks_lie_as_far_apart_as_the_room_allows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervisor, "_threads", lambda pid: 1)
    monkeypatch.setattr(supervisor, "_SHARE", 0)
    monkeypatch.setattr(supervisor, "time", SimpleNamespace(monotonic=lambda: 100.0))
    seconds = []
    for used in (0, 9_500, 9_999):
        monkeypatch.setattr(supervisor, "_descending", lambda pid, used=used: iter(range(used)))
        size = supervisor.Size(0, 10_000)
        assert size.over() == b""
        seconds.append(round(size.sooner(None) or 0, 2))
    assert seconds == [supervisor.LATEST_SECONDS, 0.05, supervisor.SOONEST_SECONDS]


def test_a_long_look_is_followed_by_a_longer_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([100.0, 101.0, 101.0])
    monkeypatch.setattr(supervisor, "_descending", lambda pid: iter(()))
    monkeypatch.setattr(supervisor, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    size = supervisor.Size(0, 10)
    assert size.over() == b""
    assert size.sooner(None) == supervisor._SHARE


def test_without_a_ceiling_nobody_looks() -> None:
    size = supervisor.Size(0, 0)
    assert size.sooner(None) is None
    assert size.sooner(3) == 3
    assert size.over() == b""


def test_a_look_is_cheap() -> None:
    size = supervisor.Size(1 << 40, 1 << 20)
    started = time.process_time()
    for _ in range(20):
        size._next = 0
        assert size.over() == b""
    assert (time.process_time() - started) / 20 < 0.01
