"""What a person denies for longer than once, and what they are warned of."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from toolwire import Risk, ToolDefinition
from toolwire.approval.audit import AuditRecord
from toolwire.approval.files import PolicyPaths, load_policy
from toolwire.approval.gate import Denial, Gate
from toolwire.approval.memory import FileMemory
from toolwire.approval.places import Workspace
from toolwire.approval.policy import Policy
from toolwire.approval.request import Answer, ApprovalRequest, Scope
from toolwire.approval.rules import Decision, Rule
from toolwire.stream.invocation import ToolInvocation

COMMAND = {"type": "object", "properties": {"command": {"type": "string"}, "path": {"type": "string"}}}
SHELL = ToolDefinition("shell", "runs", COMMAND, Risk.EXECUTE, lambda arguments: "ok", command="command", shell="bash")
SAVE = ToolDefinition("save", "writes", COMMAND, Risk.WRITE, lambda arguments: "ok", paths=("path",))
WIPE = ToolDefinition("wipe", "wipes", COMMAND, Risk.DANGEROUS, lambda arguments: "ok")

REFUSALS: list[tuple[ToolDefinition, dict[str, Any], list[str]]] = [
    (SHELL, {"command": "npm test"}, ["exactly npm test"]),
    (SHELL, {"command": "git add a"}, ["exactly git add a", "git add * with paths inside the workspace"]),
    # This one names no path, so that denying those inside would not deny it.
    (SHELL, {"command": "pytest"}, ["exactly pytest"]),
    (SHELL, {"command": "npm test && npm start"}, ["shell with exactly these arguments"]),
    (SHELL, {"command": "python x.py"}, ["shell with exactly these arguments"]),
    (SHELL, {"command": 'sh -c "$x"'}, ["shell with exactly these arguments"]),
    (SHELL, {"command": "rm -rf /"}, ["shell with exactly these arguments"]),
    (SAVE, {"path": "a.md"}, ["save: ./a.md", "save: ./*"]),
    (WIPE, {}, ["wipe with exactly these arguments"]),
    (WIPE, {"path": "x" * 5_000}, []),
]


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    (tmp_path / "work").mkdir()
    return Workspace(str(tmp_path / "work"))


@pytest.mark.parametrize(("tool", "arguments", "words"), REFUSALS, ids=[str(row[1])[:40] for row in REFUSALS])
async def test_each_refusal_is_kept_and_denies_this_call_from_then_on(
    tool: ToolDefinition, arguments: dict[str, Any], words: list[str], workspace: Workspace, tmp_path: Path
) -> None:
    call = ToolInvocation("c1", tool.name, arguments)
    seen: list[ApprovalRequest] = []
    chosen = 0

    async def ask(request: ApprovalRequest) -> Answer:
        seen.append(request)
        return Answer(allowed=False, scope=Scope.ALWAYS if words else Scope.ONCE, offer=chosen)

    for chosen in range(max(len(words), 1)):
        memory = FileMemory(tmp_path / f"always{chosen}.toml")
        assert isinstance(await Gate(ask, workspace=workspace, memory=memory).decide(call, tool), Denial)
        assert [refusal.words for refusal in seen[-1].refusals] == words
        assert all(refusal.rule.decision is Decision.DENY for refusal in seen[-1].refusals)
        later = load_policy(workspace, paths=PolicyPaths(tmp_path / "none.toml", memory.path))
        verdict = later.judge(tool, arguments, workspace)
        assert verdict.decision is (Decision.DENY if words else Decision.ASK)
    assert len(seen) == max(len(words), 1)


async def test_a_command_that_is_dangerous_can_be_denied_always_and_never_allowed(workspace: Workspace) -> None:
    seen: list[ApprovalRequest] = []

    async def ask(request: ApprovalRequest) -> bool:
        seen.append(request)
        return False

    for line in ("rm -rf x", "rm -rf /", "npm test; rm -rf ~"):
        await Gate(ask, workspace=workspace).decide(ToolInvocation("c1", "shell", {"command": line}), SHELL)
    plain, *dangerous = seen
    assert plain.offers
    assert [request.offers for request in dangerous] == [(), ()]


async def test_where_a_rule_asks_the_call_can_still_be_denied_for_the_session(workspace: Workspace) -> None:
    asked = []

    async def ask(request: ApprovalRequest) -> Answer:
        asked.append(request)
        return Answer(allowed=False, scope=Scope.SESSION)

    trail: list[AuditRecord] = []
    policy = Policy("full", [Rule(decision=Decision.ASK, tool=("save",))])
    gate = Gate(ask, policy=policy, workspace=workspace, audit=trail.append)
    for _ in range(2):
        assert isinstance(await gate.decide(ToolInvocation("c1", "save", {"path": "a"}), SAVE), Denial)
    (request,) = asked
    assert request.offers == ()
    assert [record.why for record in trail if record.event == "denied"] == [
        "the person said no (session)",
        "a rule says deny for the path 'a'",
    ]


@pytest.mark.parametrize("allowed", [True, False])
async def test_offers_are_not_counted_from_the_end(allowed: bool, workspace: Workspace) -> None:
    async def ask(request: ApprovalRequest) -> Answer:
        assert len(request.offers) == len(request.refusals) == 2
        return Answer(allowed=allowed, scope=Scope.SESSION, offer=-1)

    gate = Gate(ask, workspace=workspace)
    assert isinstance(await gate.decide(ToolInvocation("c1", "save", {"path": "a"}), SAVE), Denial)
    assert gate.policy.rules == ()


async def test_a_request_carries_what_may_be_misread(workspace: Workspace) -> None:
    seen: list[ApprovalRequest] = []

    async def ask(request: ApprovalRequest) -> bool:
        seen.append(request)
        return False

    for path in ("plain.md", "pаypal\u200b.md"):
        await Gate(ask, workspace=workspace).decide(ToolInvocation("c1", "save", {"path": path}), SAVE)
    plain, odd = seen
    assert plain.warnings == ()
    assert odd.warnings == (
        "path holds 1 hidden character, shown as ‹U+200B›",
        "path mixes Cyrillic and Latin letters in one word: pаypal (а is U+0430)",
    )
