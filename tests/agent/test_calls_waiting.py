"""What a person was shown stays as it was: later effects of the same answer wait for the calls that they decide on."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from functools import cached_property
from pathlib import Path
from typing import Any

from agent.answered import SECONDS, a_tool, results_of, the_calls, told
from toolwire.agent.calls import Calls
from toolwire.agent.events import ApprovalAsked, ToolFinished
from toolwire.approval.desk import Approvals
from toolwire.approval.policy import Policy
from toolwire.tools.definition import Risk, ToolDefinition

SHELL = {"properties": {"command": {"type": "string"}}}


class World:
    """Tools that write and run files for real, and what happened in which order."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.order: list[str] = []

    def write(self) -> ToolDefinition:
        def run(given: dict[str, Any]) -> str:
            self.order.append(f"write {given['path']}")
            (self.root / given["path"]).write_text(given["text"])
            return "written"

        return a_tool("write_file", run, Risk.WRITE, paths=("path",))

    @cached_property
    def bash(self) -> ToolDefinition:
        def run(given: dict[str, Any]) -> str:
            self.order.append(given["command"])
            name = given["command"].split()[-1]
            return (self.root / name).read_text() if (self.root / name).is_file() else "ran"

        return ToolDefinition("run_bash", "", SHELL, Risk.EXECUTE, run, command="command", shell="bash")

    def read(self) -> ToolDefinition:
        async def run(_: dict[str, Any]) -> str:
            self.order.append("read")
            return "read"

        return a_tool("read", run)


async def answered(calls: Calls, desk: Approvals, answers: dict[str, bool], order: list[str]) -> None:
    """Runs the calls; each question is answered once nothing else happens any more."""

    async def answer(id: str) -> None:
        for _ in range(50):
            await asyncio.sleep(0)
        order.append(f"answer {id}")
        desk.answer(id, answers[id])

    async with asyncio.timeout(SECONDS), aclosing(calls.run()) as events:
        answering = [
            asyncio.create_task(answer(event.id)) async for event in events if isinstance(event, ApprovalAsked)
        ]
        await asyncio.gather(*answering)


async def test_a_script_is_not_changed_while_a_person_is_asked_about_running_it(tmp_path: Path) -> None:
    (tmp_path / "build.sh").write_text("good")
    world, desk = World(tmp_path), Approvals()
    calls = the_calls(
        (world.bash, {"command": "bash build.sh"}),
        (world.write(), {"path": "build.sh", "text": "evil"}),
        ask=desk,
        policy=Policy("auto-edit"),
        root=tmp_path,
    )
    await answered(calls, desk, {"c0": True}, world.order)
    assert world.order == ["answer c0", "bash build.sh", "write build.sh"]
    assert [part.content for part in told(calls)] == ["good", "written"]


async def test_all_unasked_effects_wait_and_reads_do_not(tmp_path: Path) -> None:
    world, desk = World(tmp_path), Approvals()
    calls = the_calls(
        (world.bash, {"command": "npm test"}),
        (world.write(), {"path": "elsewhere", "text": "x"}),
        (world.read(), {}),
        (world.bash, {"command": "ls sub"}),
        ask=desk,
        policy=Policy("auto-edit"),
        root=tmp_path,
    )
    await answered(calls, desk, {"c0": False}, world.order)
    assert sorted(world.order[:2]) == ["ls sub", "read"]
    assert world.order[2:] == ["answer c0", "write elsewhere"]


async def test_what_is_written_first_is_asked_about_as_it_is_then(tmp_path: Path) -> None:
    """A model that writes a script and runs it in one answer is not refused for it."""
    world, desk = World(tmp_path), Approvals()
    calls = the_calls(
        (world.write(), {"path": "build.sh", "text": "new"}),
        (world.bash, {"command": "bash build.sh"}),
        ask=desk,
        policy=Policy("ask"),
        root=tmp_path,
    )
    seen: list[str] = []
    async with asyncio.timeout(SECONDS), aclosing(calls.run()) as events:
        async for event in events:
            if isinstance(event, ApprovalAsked):
                seen.append(event.id)
                desk.answer(event.id, True)
            elif isinstance(event, ToolFinished):
                seen.append(f"{event.id} done")
    assert seen == ["c0", "c0 done", "c1", "c1 done"]
    assert [part.content for part in told(calls)] == ["written", "new"]


async def test_a_command_that_names_a_script_is_done_before_the_script_is_judged(tmp_path: Path) -> None:
    (tmp_path / "x.sh").write_text("x")
    world = World(tmp_path)
    calls = the_calls(
        (world.bash, {"command": "chmod +x x.sh"}),
        (world.bash, {"command": "bash x.sh"}),
        policy=Policy("full"),
        root=tmp_path,
    )
    assert len(await results_of(calls)) == 2
    assert world.order == ["chmod +x x.sh", "bash x.sh"]


async def test_questions_that_have_nothing_to_do_with_each_other_stand_at_once(tmp_path: Path) -> None:
    world, desk = World(tmp_path), Approvals()
    made = [(world.bash, {"command": f"bash {name}.sh"}) for name in "aab"]
    calls = the_calls(*made, ask=desk, root=tmp_path)
    async with asyncio.timeout(SECONDS), aclosing(calls.run()) as events:
        async for event in events:
            if isinstance(event, ApprovalAsked) and len(desk.pending) == 3:
                for number in (2, 0, 1):
                    desk.answer(f"c{number}", True)
    assert len(world.order) == 3
