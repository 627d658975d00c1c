"""How the supervisor sees and ends processes: two ways of finding them, one answer."""

from __future__ import annotations

import os
import subprocess
import time

import pytest

from toolwire.execution import supervised, supervisor


def wait_for(many: int, pid: int) -> list[int]:
    until = time.monotonic() + 10
    while len(found := supervisor.descendants(pid)) != many and time.monotonic() < until:
        time.sleep(0.01)
    return found


def test_descendants_are_the_same_with_and_without_the_list_of_the_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    line = "(sleep 60 & sleep 60 & wait) & setsid sleep 60 & wait"
    with subprocess.Popen(["bash", "-c", line], start_new_session=True) as shell:
        listed = wait_for(4, shell.pid)
        assert len(listed) == 4
        monkeypatch.setattr(os.path, "exists", lambda path: False)
        assert set(supervisor.descendants(shell.pid)) == set(listed)
        supervisor.kill([shell.pid, *listed])
    until = time.monotonic() + 10
    while (
        left := [pid for pid in listed if supervisor.facts(pid)[:1] not in ([], [b"Z"])]
    ) and time.monotonic() < until:
        time.sleep(0.01)
    assert left == []


def test_what_may_not_be_killed_does_not_stop_the_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    sent = []

    def refuse(pid: int, number: int) -> None:
        sent.append(pid)
        raise PermissionError

    monkeypatch.setattr(os, "kill", refuse)
    monkeypatch.setattr(os, "killpg", refuse)
    with subprocess.Popen(["sleep", "60"], start_new_session=True) as sleeper:
        supervisor.kill([sleeper.pid, 2**22 + 1])
        monkeypatch.undo()
        sleeper.kill()
    assert sent == [sleeper.pid, sleeper.pid, 2**22 + 1]


def test_the_group_of_the_caller_is_never_killed() -> None:
    with subprocess.Popen(["sleep", "60"]) as sleeper:
        supervisor.kill([sleeper.pid])
        assert sleeper.wait(10) == -9


def test_a_process_that_is_gone_has_no_facts() -> None:
    assert supervisor.facts(2**22 + 1) == []
    state, parent, group, _ = supervisor.facts(os.getpid())
    assert (state, int(parent), int(group)) == (b"R", os.getppid(), os.getpgrp())


def test_nobody_but_the_tree_is_ever_meant(monkeypatch: pytest.MonkeyPatch) -> None:
    """To the kernel, process 0 and -1 and group 0 and 1 mean the caller's group, or everyone."""
    sent: list[int] = []
    monkeypatch.setattr(os, "kill", lambda pid, number: sent.append(pid))
    monkeypatch.setattr(os, "killpg", lambda group, number: sent.append(-group))
    for group in (0, 1, os.getpgrp()):
        monkeypatch.setattr(os, "getpgid", lambda pid, group=group: group)
        supervisor.kill([1, 0, -1, -5])
    assert sent == []
    supervisor.kill([2**22 + 1])
    assert sent == [2**22 + 1]


def test_without_a_session_only_the_mark_finds_processes() -> None:
    """Init may have session 0: whoever took an unknown session for that would find every process there is."""
    assert supervised._marked(b"TOOLWIRE_CALL=of nobody", None) == []
