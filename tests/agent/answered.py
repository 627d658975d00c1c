"""The calls of one answer, made by hand: tools and arguments in, events and results out."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import aclosing
from pathlib import Path
from typing import Any

from toolwire.agent.calls import Calls, Workbench
from toolwire.agent.events import CallEvent, ToolFinished
from toolwire.approval.gate import Gate
from toolwire.approval.places import Workspace
from toolwire.approval.policy import Policy
from toolwire.approval.request import Ask
from toolwire.execution.executor import Executor
from toolwire.messages import ToolCallPart, ToolResultPart
from toolwire.stream.invocation import ToolInvocation
from toolwire.tools.definition import Risk, ToolDefinition
from toolwire.tools.registry import ToolRegistry

SECONDS = 20
"""After that a test has waited for what never comes."""


def a_tool(
    name: str, run: Callable[[dict[str, Any]], Any], risk: Risk | None = Risk.READ, **more: Any
) -> ToolDefinition:
    """A tool that takes a path and a text, or nothing."""
    text = {"type": "string"}
    return ToolDefinition(name, "", {"properties": {"path": text, "text": text}}, risk, run, **more)


def the_calls(
    *made: tuple[ToolDefinition, dict[str, Any]],
    ask: Ask | None = None,
    policy: Policy | None = None,
    root: Path | None = None,
    parallel: int = 8,
    executor: Callable[[Gate], Executor] = Executor,
    **gate_options: Any,
) -> Calls:
    """These calls, with the ids c0, c1, …"""
    workspace = None if root is None else Workspace(root)
    gate = Gate(ask, policy=policy, workspace=workspace, **gate_options)
    tools = ToolRegistry(dict.fromkeys(tool for tool, _ in made))
    return Calls(
        Workbench(tools, gate, executor(gate), parallel),
        [ToolCallPart(f"c{place}", tool.name, arguments) for place, (tool, arguments) in enumerate(made)],
        [ToolInvocation(f"c{place}", tool.name, arguments, 1) for place, (tool, arguments) in enumerate(made)],
        {},
        turn=1,
    )


async def events_of(calls: Calls) -> list[CallEvent]:
    """Everything that happens to them, to the end."""
    async with asyncio.timeout(SECONDS), aclosing(calls.run()) as events:
        return [event async for event in events]


async def results_of(calls: Calls) -> list[str]:
    """What the model is told, after each call has had exactly one result."""
    finished = [event.id for event in await events_of(calls) if isinstance(event, ToolFinished)]
    parts = told(calls)
    assert sorted(finished) == sorted(part.id for part in parts)
    return [str(part.content) for part in parts]


def told(calls: Calls) -> list[ToolResultPart]:
    """The results as they go into the history."""
    return [part for part in calls.results().parts if isinstance(part, ToolResultPart)]
