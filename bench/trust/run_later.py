"""Files that run later: every name of the list, however it lies there, written by every tool that writes, in every
mode, with and without a rule that allows it. Nobody is there to ask, so that what is asked about does not happen."""

from __future__ import annotations

import asyncio
import itertools
import os
import random
import tempfile
from pathlib import Path
from typing import Any

import msgspec

from toolwire.approval.gate import Denial, Gate
from toolwire.approval.places import Workspace
from toolwire.approval.policy import Mode, Policy
from toolwire.approval.rules import Decision, Rule
from toolwire.approval.run_later import listed
from toolwire.builtin.editing import editing_tools
from toolwire.builtin.writing import writing_tools
from toolwire.execution.executor import Executor
from toolwire.stream.invocation import ToolInvocation

from . import Found

STATES = ("exists", "missing", "symlink", "other case", "below", "linked folder")
BEFORE, AFTER = "before\n", "after\n"


def unasked_writes(count: int, seed: int) -> Found:
    """Writes `count` times; with 0, every combination once."""
    cases = list(itertools.product(listed(), STATES, ("write_file", "edit_file"), Mode, (True, False)))
    if count:
        cases = random.Random(seed).sample(cases, min(count, len(cases)))
    found = Found()
    with tempfile.TemporaryDirectory() as folder:
        for number, case in enumerate(cases):
            asyncio.run(_write(Path(folder, str(number)), case, found))
        control = Path(folder, "control")
        control.mkdir()
        (control / "notes.txt").write_text(BEFORE)
        if not asyncio.run(_control(control)):
            found.fault("a plain file is not written in mode full either, so that nothing was tried")
    return found


async def _write(root: Path, case: tuple[str, str, str, Mode, bool], found: Found) -> None:
    name, state, tool_name, mode, allowed = case
    path, target = _laid_out(root, name, state)
    before = target.read_text() if target.is_file() else None
    result = await _call(root, path, tool_name, mode, allowed)
    after = target.read_text() if target.is_file() else None
    found.runs += 1
    if result or before != after:
        found.fault(f"{tool_name} wrote {path} ({state}) in mode {mode}{' with a rule' if allowed else ''}")


def _laid_out(root: Path, name: str, state: str) -> tuple[str, Path]:
    """The path that the call is given, and the file that it would change."""
    file = root / name
    (root / "plain").mkdir(parents=True)
    if state == "missing":
        return name, file
    if state == "below":
        file.mkdir(parents=True)
        (file / "deep.txt").write_text(BEFORE)
        return f"{name}/deep.txt", file / "deep.txt"
    if state == "linked folder":
        file.mkdir(parents=True)
        (file / "deep.txt").write_text(BEFORE)
        os.symlink(file, root / "plain" / "way")
        return "plain/way/deep.txt", file / "deep.txt"
    file.parent.mkdir(parents=True, exist_ok=True)
    if state == "other case":
        other = root / name.upper()
        other.parent.mkdir(parents=True, exist_ok=True)
        other.write_text(BEFORE)
        return name.upper(), other
    file.write_text(BEFORE)
    if state == "symlink":
        os.symlink(file, root / "plain" / "notes.txt")
        return "plain/notes.txt", file
    return name, file


async def _call(root: Path, path: str, tool_name: str, mode: Mode, allowed: bool) -> bool:
    """Whether the call was let run."""
    tool = next(tool for tool in (*writing_tools(None), *editing_tools(None)) if tool.name == tool_name)
    arguments: dict[str, Any] = {"path": path, "content": AFTER}
    if tool_name == "edit_file":
        arguments = {"path": path, "old_text": BEFORE, "new_text": AFTER}
    rules = [Rule(decision=Decision.ALLOW, tool=("*",)), Rule(decision=Decision.ALLOW, path=("**",))]
    gate = Gate(policy=Policy(mode, rules if allowed else ()), workspace=Workspace(root))
    call = ToolInvocation("c", tool.name, arguments, raw_arguments=msgspec.json.encode(arguments).decode())
    decision = await gate.decide(call, tool)
    if isinstance(decision, Denial):
        return False
    await Executor(gate).run(decision)
    return True


async def _control(root: Path) -> bool:
    ran = await _call(root, "notes.txt", "write_file", Mode.FULL, False)
    return ran and (root / "notes.txt").read_text() == AFTER
