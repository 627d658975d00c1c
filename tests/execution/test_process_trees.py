"""The tree of a call ends with the call, whatever its processes do to outlive it."""

from __future__ import annotations

import asyncio
import os
import shlex
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest
from bench.trust import children
from bench.trust.children import MISBEHAVIOURS, cancels, living, new_token, run_case, words

from toolwire.execution import process, supervised, supervisor
from toolwire.execution.environment import child_environment
from toolwire.execution.process import ProcessResult, run_process
from waiting import leap, until

ENDS_ITSELF = {"background outlives", "pipe held by a session", "double fork", "runs from fork to fork", "ends at once"}
"""Those whose program ends at once, whatever it leaves behind."""
ENDS_ITS_SUPERVISOR = {"kills its supervisor"}


@pytest.fixture(autouse=True)
def short_grace(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "GRACE_SECONDS", 0.2)


@pytest.mark.thorough
async def test_nothing_lives_when_time_is_up() -> None:
    """All of them at once, because each takes its time."""
    tokens = {case: new_token() for case in MISBEHAVIOURS}

    async def one(case: str) -> ProcessResult:
        result = await run_case(case, tokens[case], 2)
        assert (case, living(tokens[case])) == (case, {})
        return result

    results = dict(zip(MISBEHAVIOURS, await asyncio.gather(*map(one, MISBEHAVIOURS)), strict=True))
    assert {case for case, result in results.items() if result.left} == set()
    assert {case for case, result in results.items() if result.code == 0} == ENDS_ITSELF
    assert {case for case, result in results.items() if not result.timed_out} == ENDS_ITSELF | ENDS_ITS_SUPERVISOR
    assert results["keeps its supervisor stopped"].seconds < 15
    assert supervisor.descendants(os.getpid()) == []


@pytest.mark.thorough
def test_nothing_lives_when_it_is_cancelled_at_any_time(monkeypatch: pytest.MonkeyPatch) -> None:
    # How soon is for a machine that does nothing else.
    monkeypatch.setattr(children, "GONE_SECONDS", 60.0)
    found = cancels(40, 7)
    assert (found.runs, found.faults) == (40, [])


def test_a_process_that_is_left_would_be_seen() -> None:
    token = new_token()
    with subprocess.Popen(words("without environment", token), env={"PATH": os.environ["PATH"]}) as shell:
        assert until(lambda: len(living(token)) == 3)
        supervisor.kill(living(token))
    assert until(lambda: not living(token))
    assert shell.returncode == -signal.SIGKILL


async def begun(token: str) -> None:
    await asyncio.to_thread(until, lambda: any(line.startswith("sleep") for line in living(token).values()))


async def test_cancelled_again_and_again_it_returns_when_the_tree_is_gone() -> None:
    token = new_token()
    task = asyncio.create_task(run_case("ignores SIGTERM", token, None))
    await begun(token)
    while not task.done():
        task.cancel()
        await asyncio.sleep(0.01)
    assert task.cancelled()
    assert living(token) == {}


async def test_a_time_limit_around_it_is_kept() -> None:
    token = new_token()
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.5):
            await run_case("ignores SIGTERM", token, None)
    assert living(token) == {}


async def test_cancelled_before_it_starts_nothing_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = tmp_path / "made"
    made.mkdir()

    def touch(name: str) -> asyncio.Task[object]:
        line = ["touch", str(made / name)]
        return asyncio.create_task(run_process(line, cwd="/", environment={}, timeout=None))

    # The supervisor of what is starting waits at a gate until it was cancelled: how soon it comes is by chance.
    gate, waiting = tmp_path / "gate", tmp_path / "waiting"
    os.mkfifo(gate)
    waiting.write_text(f'#!/bin/sh\nread line <{gate}\nexec {shlex.quote(sys.executable)} "$@"\n')
    waiting.chmod(0o755)
    opened = os.open(gate, os.O_RDWR)
    unbegun = touch("unbegun")
    unbegun.cancel()
    with monkeypatch.context() as patched:
        patched.setattr(supervised, "_PYTHON", str(waiting))
        starting = touch("starting")
        await asyncio.sleep(0)
    starting.cancel()
    ended = touch("ended")
    await asyncio.sleep(0)
    os.write(opened, b"\n")
    await asyncio.wait((unbegun, starting, ended))
    os.close(opened)
    ended.cancel()
    assert [task.cancelled() for task in (unbegun, starting, ended)] == [True, True, False]
    assert os.listdir(made) == ["ended"]


def test_the_end_of_the_loop_ends_the_tree() -> None:
    token = new_token()

    async def leave_it() -> None:
        leave_it.task = asyncio.create_task(run_case("sessions below sessions", token, None))  # type: ignore[attr-defined]
        await begun(token)

    asyncio.run(leave_it())
    assert living(token) == {}


async def test_what_another_holds_of_the_output_is_not_waited_for() -> None:
    """A process that is none of ours, here this one, opens the pipe of a child and keeps it."""
    token = new_token()
    task = asyncio.create_task(run_case("background", token, None))
    await begun(token)
    sleeper = next(pid for pid, line in living(token).items() if line.startswith("sleep"))
    held = os.open(f"/proc/{sleeper}/fd/1", os.O_WRONLY)
    try:
        task.cancel()
        await asyncio.wait((task,), timeout=10)
    finally:
        os.close(held)
    assert task.cancelled()


BUSY = "for ((i = 0; i < 5000000; i++)); do :; done"
LAST_WORDS = [
    (f"trap 'echo bye; exit 5' TERM; echo begun; {BUSY}", 5, "begun bye"),
    ("trap 'echo bye; exit 6' TERM; echo begun; kill -STOP $$", 6, "begun bye"),
    # bash 5.3 complains about the second wait.
    (
        f"trap : TERM; (trap 'echo bye; exit' TERM; echo begun; {BUSY}) & wait; wait 2>/dev/null; echo end",
        0,
        "begun bye end",
    ),
]


async def test_what_is_asked_to_end_may_still_say_something(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "GRACE_SECONDS", 10.0)
    environment = child_environment(os.environ)
    lines = [["bash", "-c", line] for line, *_ in LAST_WORDS]
    heard: list[str] = []

    def hear(text: str) -> None:
        heard.append(text)
        if len(heard) == len(lines):
            asyncio.get_running_loop().call_later(0.2, leap, 30)

    runs = [run_process(line, cwd="/", environment=environment, timeout=30, on_output=hear) for line in lines]
    results = await asyncio.gather(*runs)
    said = [(result.timed_out, result.code, " ".join(result.output.split())) for result in results]
    assert said == [(True, code, words) for _, code, words in LAST_WORDS]


async def test_a_program_leads_a_session_and_a_group_of_its_own() -> None:
    line = ["bash", "-c", "echo $$; cut -d ' ' -f 5,6 /proc/$$/stat"]
    result = await run_process(line, cwd="/", environment={}, timeout=10)
    assert len(result.output.split()) == 3
    assert len(set(result.output.split())) == 1


async def test_a_supervisor_that_does_not_work_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "GRACE_SECONDS", 20.0)
    monkeypatch.setattr(supervised, "_HOPELESS_SECONDS", -40.0)
    token = new_token()
    run = asyncio.create_task(run_case("ignores SIGTERM", token, 30))
    await begun(token)
    leap(30)
    result = await run
    assert (result.signal, result.left, living(token)) == ("SIGKILL", 0, {})
    assert result.seconds < 10


PARENT = """
import asyncio, os, sys
from bench.trust.children import run_case
cases, token, copied = sys.stdin.readline().strip().split("|")
async def main():
    runs = asyncio.gather(*(run_case(case, token, None) for case in cases.split(",")))
    await asyncio.sleep(0.2)
    # A copy of this process, as multiprocessing makes them, keeps every descriptor of it open.
    copy = os.fork() if copied else 0
    if copied and not copy:
        import time
        time.sleep(60)
        os._exit(0)
    print(copy, flush=True)
    await runs
asyncio.run(main())
"""


def parent_of(cases: str, token: str, copied: str) -> subprocess.Popen[str]:
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT],
        cwd=Path(__file__).parents[2],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert parent.stdin is not None
    parent.stdin.write(f"{cases}|{token}|{copied}\n")
    parent.stdin.flush()
    return parent


def test_kill_9_of_toolwire_ends_the_tree() -> None:
    kinds = [("sessions below sessions,runs from fork to fork", ""), ("daemon", "copied")]
    tokens = [new_token() for _ in kinds]
    parents = [parent_of(cases, token, copied) for (cases, copied), token in zip(kinds, tokens, strict=True)]
    copies = []
    for parent, token in zip(parents, tokens, strict=True):
        with parent:
            assert parent.stdout is not None
            copies.append(int(parent.stdout.readline()))
            assert until(partial(living, token))
            parent.send_signal(signal.SIGKILL)
    try:
        assert until(lambda: not any(map(living, tokens))), list(map(living, tokens))
    finally:
        for copy in filter(None, copies):
            os.kill(copy, signal.SIGKILL)


def test_a_program_dies_with_its_supervisor_even_if_nobody_is_there_to_see_it() -> None:
    token = new_token()
    with parent_of("stops itself", token, "") as parent:
        assert parent.stdout is not None
        parent.stdout.readline()
        assert until(lambda: len(living(token)) == 1)
        parent.send_signal(signal.SIGSTOP)
        os.kill(supervisor.descendants(parent.pid)[0], signal.SIGKILL)
        gone = until(lambda: not living(token))
        parent.send_signal(signal.SIGKILL)
    assert gone
