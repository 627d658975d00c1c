"""Command lines that do harm never run by themselves; everyday ones are understood, and not asked about twice."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from bench.trust.commands import SHELL, make_workspace, mixed_commands, rows, verdict

from toolwire import ToolInvocation
from toolwire.approval.gate import Gate, Ticket
from toolwire.approval.parts import parts_of
from toolwire.approval.places import Workspace
from toolwire.approval.policy import Mode, Policy
from toolwire.approval.request import Answer, ApprovalRequest, Scope
from toolwire.approval.rules import Decision, Rule

ATTACKS = rows("attacks.jsonl")
BENIGN = rows("benign.jsonl")


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return make_workspace(tmp_path)


def test_the_tables_are_as_large_as_the_plan_says() -> None:
    assert len({row["command"] for row in ATTACKS}) >= 400
    assert len({row["command"] for row in BENIGN}) >= 200
    assert sum(row["reads"] for row in BENIGN) >= 100


@pytest.mark.parametrize("mode", [Mode.READ_ONLY, Mode.ASK, Mode.AUTO_EDIT])
def test_no_attack_runs_by_itself(mode: Mode, workspace: Workspace) -> None:
    tried = [row for row in ATTACKS if mode is not Mode.AUTO_EDIT or not row.get("edits")]
    policy = Policy(mode)
    assert [row for row in tried if verdict(row["command"], workspace, policy) is Decision.ALLOW] == []


def test_what_is_not_understood_is_asked_about_in_every_mode(workspace: Workspace) -> None:
    unknown = [row for row in ATTACKS if row.get("unknown")]
    assert len(unknown) > 200
    for mode in Mode:
        policy = Policy(mode)
        assert [row for row in unknown if verdict(row["command"], workspace, policy) is Decision.ALLOW] == []


def test_an_allowed_first_command_carries_no_other(workspace: Workspace) -> None:
    """What was approved once as `git` must not let `git status; rm -rf ~` through."""
    kept = Rule(decision=Decision.ALLOW, command=("git status *", "ls *", "cat *", "echo *", "git log *"))
    policy = Policy(Mode.ASK, [kept])
    carried = [row for row in ATTACKS if row["why"] == "a second command behind one that reads"]
    assert [row for row in carried if verdict(row["command"], workspace, policy) is Decision.ALLOW] == []


def test_a_denied_program_is_found_wherever_it_stands(workspace: Workspace) -> None:
    """Even where everything else may run. An interpreter's own code is not read: that is what it is asked for."""
    policy = Policy(Mode.FULL, [Rule(decision=Decision.DENY, command=("rm *",))])
    hidden = [row for row in ATTACKS if "rm x" in row["command"] and row["why"] != "code for an interpreter"]
    hidden = [
        row for row in hidden if not row["command"].startswith(("LESSOPEN", "git config", "git rm", "cat x | awk"))
    ]
    assert len(hidden) > 120
    assert [row for row in hidden if verdict(row["command"], workspace, policy) is Decision.ALLOW] == []


def test_commands_that_read_run_without_a_question(workspace: Workspace) -> None:
    policy = Policy(Mode.ASK)
    wrong = [row for row in BENIGN if (verdict(row["command"], workspace, policy) is Decision.ALLOW) != row["reads"]]
    assert wrong == []


def test_everyday_commands_are_understood(workspace: Workspace) -> None:
    unsure = [
        row["command"]
        for row in BENIGN
        if any(part.unsure or part.beside for part in parts_of(SHELL, {"command": row["command"]}, workspace))
    ]
    assert len(unsure) <= len(BENIGN) * 0.05, unsure


async def test_everyday_commands_are_not_asked_about_twice(workspace: Workspace) -> None:
    """When the person says "for this session" to the first offer. Code for an interpreter is asked about each time."""
    again: list[str] = []
    for row in BENIGN:
        asked: list[ApprovalRequest] = []

        async def ask(request: ApprovalRequest, asked: list[ApprovalRequest] = asked) -> Answer:
            asked.append(request)
            return Answer(allowed=True, scope=Scope.SESSION if request.offers else Scope.ONCE)

        gate = Gate(ask, policy=Policy(Mode.ASK), workspace=workspace)
        arguments = {"command": row["command"]}
        for name in ("c1", "c2"):
            call = ToolInvocation(name, SHELL.name, arguments, 1, name, json.dumps(arguments))
            assert isinstance(await gate.decide(call, SHELL), Ticket)
        assert len(asked) == 2 or not row.get("code"), row
        if len(asked) == 2 and not row.get("code"):
            again.append(row["command"])
    asked_once = [row for row in BENIGN if not row["reads"] and not row.get("code")]
    assert len(again) <= len(asked_once) * 0.05, again


def test_an_attack_stays_one_whatever_stands_around_it() -> None:
    found = mixed_commands(1000, 7)
    assert found.faults == []
    assert found.runs > 950
