"""Commands in the background: looked at later, ended on demand, and gone with whatever they belong to."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from bench.trust.children import living, new_token
from bench.trust.shell_tool import background

from builtin_calls import call_tool
from toolwire.builtin import jobs
from toolwire.builtin.jobs import Newest
from toolwire.builtin.shell import shell_tools
from toolwire.execution import process
from toolwire.tools.definition import ToolDefinition
from waiting import sleeping, until


@pytest.fixture(autouse=True)
def in_a_hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "GRACE_SECONDS", 0.2)
    monkeypatch.setattr(jobs, "FIRST_SECONDS", 0.1)


@pytest.fixture
def tools() -> list[ToolDefinition]:
    return shell_tools(None)


async def start(tools: list[ToolDefinition], root: Path, command: str) -> str:
    return (await call_tool(tools[0], {"command": command, "background": True}, root)).content


async def look(tools: list[ToolDefinition], root: Path, **arguments: Any) -> str:
    """Nobody is asked: it only looks at and ends what was approved."""
    return (await call_tool(tools[1], arguments, root, approve=False)).content


async def seen(tools: list[ToolDefinition], root: Path, text: str, what: str) -> str:
    """What the first job tells until this is in it; the text is what it has told so far."""
    end = time.monotonic() + 10
    while what not in text and time.monotonic() < end:
        text += "\n" + await look(tools, root, job=1, wait=0.05)
    return text


async def awaited(true: Callable[[], object]) -> bool:
    return await asyncio.to_thread(until, true)


async def test_a_job_runs_on_and_is_looked_at_later(tools: list[ToolDefinition], tmp_path: Path) -> None:
    text = await start(
        tools, tmp_path, "echo one; until test -e go; do sleep 0.02; done; echo two; printf three; exit 4"
    )
    assert text.startswith(
        "Job 1 runs in the background. bash_job(job=1) shows its output, bash_job(job=1, action='stop')"
    )
    text = await seen(tools, tmp_path, text, "one")
    assert "\none\n[job 1 runs since " in text
    assert (await look(tools, tmp_path, job=1)).startswith("[no new output; job 1 runs since ")
    (tmp_path / "go").touch()
    ended = await look(tools, tmp_path, job=1, wait=20)
    assert ended.startswith("two\nthree\n[job 1 has ended: exit code 4 after ")
    assert (await look(tools, tmp_path, job=1)).startswith("[no new output; job 1 has ended: exit code 4")


async def test_one_that_ends_at_once_says_so(
    tools: list[ToolDefinition], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs, "FIRST_SECONDS", 20)
    assert (await start(tools, tmp_path, "echo x; exit 2")).startswith("x\n[job 1 has ended: exit code 2 after ")


async def test_a_job_is_stopped_with_all_that_it_started(tools: list[ToolDefinition], tmp_path: Path) -> None:
    token = new_token()
    await start(tools, tmp_path, f"trap '' TERM; setsid sleep 60.{token} & echo begun; sleep 60.{token}; true")
    assert await awaited(lambda: sleeping(token) == 2)
    await start(tools, tmp_path, "sleep 60")
    listed = (await look(tools, tmp_path, action="list")).split("\n")
    assert [line.split()[:3] for line in listed] == [["job", "1", "runs"], ["job", "2", "runs"]]
    assert listed[1].endswith(": sleep 60")
    assert (await look(tools, tmp_path, job=1, action="stop")).endswith("job 1 was stopped]")
    assert living(token) == {}
    assert "job 2 was stopped" in await look(tools, tmp_path, job=2, action="stop")
    assert "job 2 was stopped" in await look(tools, tmp_path, job=2, action="stop")


async def test_a_job_that_is_not_there(tools: list[ToolDefinition], tmp_path: Path) -> None:
    assert await look(tools, tmp_path, job=7) == "Error: there is no job 7; none was started"
    assert await look(tools, tmp_path, action="list") == "There are no jobs."
    await start(tools, tmp_path, "true")
    assert await look(tools, tmp_path, job=7) == "Error: there is no job 7; there are 1"


async def test_so_many_run_and_no_more(
    tools: list[ToolDefinition], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs, "MOST_JOBS", 2)
    monkeypatch.setattr(jobs, "MOST_KEPT", 3)
    await start(tools, tmp_path, "sleep 60")
    await start(tools, tmp_path, "sleep 60")
    assert (await start(tools, tmp_path, "true")).startswith("Error: 2 jobs run already; stop one")
    await look(tools, tmp_path, job=1, action="stop")
    for number in (3, 4, 5):
        await start(tools, tmp_path, "true")
        assert "exit code 0" in await look(tools, tmp_path, job=number, wait=20)
    assert [line.split()[1] for line in (await look(tools, tmp_path, action="list")).split("\n")] == ["2", "4", "5"]
    await look(tools, tmp_path, job=2, action="stop")


async def test_what_was_looked_at_is_forgotten_first(
    tools: list[ToolDefinition], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs, "MOST_KEPT", 3)
    monkeypatch.setattr(jobs, "FIRST_SECONDS", 0)
    for _ in range(3):
        await start(tools, tmp_path, "true")

    async def listed() -> list[str]:
        return (await look(tools, tmp_path, action="list")).split("\n")

    for _ in range(400):
        if all("has ended" in line for line in await listed()):
            break
        await asyncio.sleep(0.05)
    assert "exit code 0" in await look(tools, tmp_path, job=2)
    await start(tools, tmp_path, "true")
    assert [line.split()[1] for line in await listed()] == ["1", "3", "4"]


async def test_in_another_loop_it_is_only_looked_at(tools: list[ToolDefinition], tmp_path: Path) -> None:
    await start(tools, tmp_path, "sleep 60")

    def elsewhere(**arguments: Any) -> str:
        return asyncio.run(look(tools, tmp_path, job=1, **arguments))

    assert "runs since" in await asyncio.to_thread(elsewhere)
    assert "another event loop" in await asyncio.to_thread(elsewhere, wait=1)
    assert "another event loop" in await asyncio.to_thread(elsewhere, action="stop")
    assert "job 1 was stopped" in await look(tools, tmp_path, job=1, action="stop")


def test_the_newest_is_kept_and_the_rest_counted() -> None:
    newest = Newest(10)
    for number in range(1_000):
        newest.add(f"{number:03}.")
        assert sum(map(len, newest._pieces)) <= 20
    newest.add("")
    assert newest.take() == "7.998.999."
    assert newest.dropped == 3_990
    newest.dropped = 0
    assert (newest.take(), newest.dropped) == ("", 0)
    newest.add("x" * 25)
    assert (newest.take(), newest.dropped) == ("x" * 10, 15)


async def test_what_nobody_looked_at_is_dropped_and_told(
    tools: list[ToolDefinition], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs, "KEPT_CHARACTERS", 1_000)
    await start(
        tools, tmp_path, "until test -e go; do sleep 0.02; done; head -c 500000 /dev/zero | tr '\\0' x; echo; echo last"
    )
    (tmp_path / "go").touch()
    lines = (await look(tools, tmp_path, job=1, wait=20)).split("\n")
    assert lines[0] == "[… 499,006 older characters dropped …]"
    assert lines[1] == "x" * 994
    assert lines[2] == "last"


async def test_an_unfinished_line_is_shown_once_as_it_is(tools: list[ToolDefinition], tmp_path: Path) -> None:
    text = await start(
        tools, tmp_path, "printf '1%%\\r50%%'; until test -e go; do sleep 0.02; done; printf '\\r100%%\\n'"
    )
    text = await seen(tools, tmp_path, text, "50%")
    assert "\n50%\n[job 1 runs" in text
    assert (await look(tools, tmp_path, job=1)).startswith("[no new output")
    (tmp_path / "go").touch()
    assert (await look(tools, tmp_path, job=1, wait=20)).startswith("100%\n[job 1 has ended")


async def test_what_cannot_start_is_told(
    tools: list[ToolDefinition], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs, "FIRST_SECONDS", 20)
    monkeypatch.setattr("toolwire.builtin.commands._entered", lambda beneath, real: nullcontext("/no"))
    assert "job 1 could not run: " in await start(tools, tmp_path, "true")


# ---- nothing lives on


async def test_cancelled_before_it_has_returned_its_job_is_ended(
    tools: list[ToolDefinition], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs, "FIRST_SECONDS", 30.0)
    token = new_token()
    task = asyncio.create_task(start(tools, tmp_path, f"sleep 60.{token} & sleep 60.{token}"))
    assert await awaited(lambda: sleeping(token) == 2)
    task.cancel()
    await asyncio.wait((task,))
    assert task.cancelled()
    assert living(token) == {}
    assert await look(tools, tmp_path, action="list") == "There are no jobs."


def test_the_end_of_the_loop_ends_it(tools: list[ToolDefinition], tmp_path: Path) -> None:
    token = new_token()

    async def leave_it() -> None:
        await start(tools, tmp_path, f"setsid sleep 60.{token} & sleep 60.{token}")
        assert await awaited(lambda: sleeping(token) == 2)

    asyncio.run(leave_it())
    assert living(token) == {}
    assert "job 1 was stopped" in asyncio.run(look(tools, tmp_path, job=1, wait=5))
    assert "job 1 was stopped" in asyncio.run(look(tools, tmp_path, job=1, action="stop"))


async def test_it_ends_when_its_tools_are_dropped(tmp_path: Path) -> None:
    token = new_token()
    tools = shell_tools(None)
    await start(tools, tmp_path, f"echo $TMPDIR > temp; setsid sleep 60.{token} & sleep 60.{token}")
    assert await awaited(lambda: sleeping(token) == 2)
    temp = (tmp_path / "temp").read_text().strip()
    os.listdir(temp)
    tools.clear()
    gc.collect()
    assert await awaited(lambda: not living(token))
    assert await awaited(lambda: gc.collect() >= 0 and not os.path.exists(temp))


def test_nothing_is_left_of_jobs_that_misbehave() -> None:
    found = background(4, 3)
    assert (found.runs, found.faults) == (8, [])


SCRIPT = """
import asyncio, sys
sys.path.insert(0, sys.argv[1])
from builtin_calls import call_tool
from toolwire.builtin.shell import shell_tools
async def main():
    tools = shell_tools(None)
    result = await call_tool(tools[0], {"command": sys.argv[2], "background": True}, sys.argv[3])
    print(result.content, flush=True)
    await asyncio.sleep(60)
asyncio.run(main())
"""


def test_it_ends_when_toolwire_is_killed(tmp_path: Path) -> None:
    token = new_token()
    line = f"setsid sleep 60.{token} & sleep 60.{token}"
    tests = str(Path(__file__).parent.parent)
    process = subprocess.Popen([sys.executable, "-c", SCRIPT, tests, line, str(tmp_path)])
    try:
        assert until(lambda: sleeping(token) == 2)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert until(lambda: not living(token))
