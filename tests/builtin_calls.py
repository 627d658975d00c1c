"""One call of a tool through the real gate and executor, as an agent makes it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import Any

import msgspec

from toolwire.approval.gate import Denial, Gate
from toolwire.approval.places import Workspace
from toolwire.approval.policy import Policy
from toolwire.approval.request import ApprovalRequest
from toolwire.approval.rules import Rule
from toolwire.execution.environment import child_environment
from toolwire.execution.executor import Executor, ToolResult
from toolwire.stream.invocation import ToolInvocation
from toolwire.tools.definition import ToolDefinition

_NUMBERS = count(1)


async def call_tool(
    tool: ToolDefinition,
    arguments: dict[str, Any],
    root: str | Path,
    *,
    cwd: str | Path | None = None,
    further: Iterable[str | Path] = (),
    rules: Sequence[Rule] = (),
    mode: str = "ask",
    approve: bool = True,
    environment: Mapping[str, str] | None = None,
    on_asked: Callable[[ApprovalRequest], None] | None = None,
    on_progress: Callable[[str], None] | None = None,
) -> ToolResult:
    """The result; a call that the gate denies has one whose content begins with `Denied:`."""

    async def ask(request: ApprovalRequest) -> bool:
        return approve

    gate = Gate(
        ask,
        policy=Policy(mode, rules),
        workspace=Workspace(root, cwd, further),
        environment=child_environment(os.environ) if environment is None else environment,
    )
    raw = msgspec.json.encode(arguments).decode()
    call = ToolInvocation(f"call-{next(_NUMBERS)}", tool.name, arguments, raw_arguments=raw)
    decision = await gate.decide(call, tool, on_asked=on_asked)
    if isinstance(decision, Denial):
        return ToolResult(call.id, tool.name, f"Denied: {decision.reason}", is_error=True)
    return await Executor(gate).run(decision, on_progress)
