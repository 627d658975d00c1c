"""The counter that watches the whole suite sees what it is there to see."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import toolwire
from tickets import counting
from toolwire.approval.gate import Gate, Ticket
from toolwire.execution.executor import Executor
from toolwire.stream.invocation import ToolInvocation
from toolwire.tools.definition import Risk, ToolDefinition
from toolwire.tools.running import RunningCall

TESTS = Path(__file__).parent
PACKAGE = Path(toolwire.__file__).parent


async def a_ticket(gate: Gate, **more: Any) -> Ticket:
    tool = ToolDefinition("look", "", {}, Risk.READ, lambda _: "seen", **more)
    ticket = await gate.decide(ToolInvocation("c1", "look", {}), tool)
    assert isinstance(ticket, Ticket)
    return ticket


async def test_a_run_and_its_ticket_are_one_each() -> None:
    with counting() as count:
        for _ in range(3):
            gate = Gate()
            await Executor(gate).run(await a_ticket(gate))
    assert (count.executions, count.tickets, count.problem()) == (3, 3, "")


async def test_a_result_that_was_kept_is_no_execution() -> None:
    gate = Gate()
    executor = Executor(gate)
    tool = ToolDefinition("look", "", {}, Risk.READ, lambda _: "seen", cache=60)
    with counting() as count:
        for number in range(3):
            ticket = await gate.decide(ToolInvocation(f"c{number}", "look", {}), tool)
            assert isinstance(ticket, Ticket)
            await executor.run(ticket)
    assert (count.executions, count.tickets, count.problem()) == (1, 1, "")


class Open(Gate):
    """A gate that takes everything."""

    def redeem(self, ticket: Ticket) -> RunningCall:
        return RunningCall("c", ticket.tool.name, "/", {}, lambda _: None)


async def test_a_function_that_runs_without_a_ticket_is_seen() -> None:
    with counting() as count:
        await Executor(Open()).run(await a_ticket(Gate()))
    assert "1 functions ran without a ticket: look" in count.problem()


class Eager(Executor):
    """An executor that runs a call twice."""

    async def _try(self, *arguments: Any, **options: Any) -> Any:
        await super()._try(*arguments, **options)
        return await super()._try(*arguments, **options)


async def test_a_function_that_runs_twice_for_one_ticket_is_seen() -> None:
    with counting() as count:
        gate = Gate()
        await Eager(gate).run(await a_ticket(gate))
    assert "look once more" in count.problem()


BYPASS = """
from test_tickets import Open, a_ticket
from toolwire.approval.gate import Gate
from toolwire.execution.executor import Executor

async def test_bypass():
    await Executor(Open()).run(await a_ticket(Gate()))
"""


@pytest.mark.thorough
@pytest.mark.parametrize(("code", "failed"), [(BYPASS, True), ("def test_nothing():\n    pass\n", False)])
def test_the_suite_fails_when_something_ran_without_a_ticket(tmp_path: Path, code: str, failed: bool) -> None:
    """A suite of one test, with the conftest of this one."""
    (tmp_path / "conftest.py").write_text((TESTS / "conftest.py").read_text())
    (tmp_path / "test_it.py").write_text(code)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-o", "asyncio_mode=auto", str(tmp_path)]
    paths = f"pythonpath={TESTS}"
    ran = subprocess.run([*command, "-o", paths], capture_output=True, text=True, timeout=60, cwd=tmp_path)
    assert ran.returncode == failed, ran.stdout
    assert ("ran without a ticket" in ran.stdout) is failed


def test_functions_of_tools_are_called_in_one_place() -> None:
    """What the counter does not see: code that takes the function out of a definition and calls it."""
    users = set()
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Attribute) and node.attr == "call":
                owner = getattr(node.value, "id", "") or getattr(node.value, "attr", "")
                if owner in ("tool", "tools", "definition", "known", "declared"):
                    users.add(path.relative_to(PACKAGE).as_posix())
    assert users == {"execution/executor.py", "tools/function.py"}
