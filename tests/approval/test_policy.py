"""What policy makes of a call: the whole table, and the laws that hold for any rules."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from bench.trust.policy import rule_sets

from toolwire import Risk, ToolDefinition, ToolInvocation
from toolwire.approval.gate import Denial, Gate
from toolwire.approval.places import Workspace
from toolwire.approval.policy import Mode, Policy, as_mode
from toolwire.approval.request import ApprovalRequest
from toolwire.approval.rules import Decision, Rule
from toolwire.errors import ConfigError

TABLE = Path(__file__).parents[1] / "data" / "approval" / "policy_table.jsonl"
"""Written from a table of modes by kinds of calls, a line for what holds whatever is allowed, and "strictest wins"."""
ROWS = [json.loads(line) for line in TABLE.read_text().splitlines()]

CALLS: dict[str, tuple[Risk | None, dict[str, Any]]] = {
    "read inside": (Risk.READ, {"path": "docs/a.md"}),
    "read outside": (Risk.READ, {"path": "../a.md"}),
    "read without a path": (Risk.READ, {}),
    "write inside": (Risk.WRITE, {"path": "docs/a.md"}),
    "write outside": (Risk.WRITE, {"path": "/etc/hosts"}),
    "write without a path": (Risk.WRITE, {}),
    "execute": (Risk.EXECUTE, {}),
    "network": (Risk.NETWORK, {}),
    "dangerous": (Risk.DANGEROUS, {}),
    "unknown": (None, {}),
    "unknown inside": (None, {"path": "docs/a.md"}),
    "command that reads": (Risk.EXECUTE, {"command": "ls docs"}),
    "command that reads outside": (Risk.EXECUTE, {"command": "cat /etc/passwd"}),
    "command that runs": (Risk.EXECUTE, {"command": "npm test"}),
    "command that reads and one that runs": (Risk.EXECUTE, {"command": "ls && npm test"}),
    "command that is not understood": (Risk.EXECUTE, {"command": "$x"}),
    "command that writes inside": (Risk.EXECUTE, {"command": "echo a > a.txt"}),
    "command that writes outside": (Risk.EXECUTE, {"command": "echo a > ../a.txt"}),
    "command of a dangerous tool": (Risk.DANGEROUS, {"command": "ls"}),
}


def tool_for(risk: Risk | None, arguments: dict[str, Any], name: str = "f") -> ToolDefinition:
    properties: dict[str, Any] = {key: {} for key in arguments}
    return ToolDefinition(
        name,
        "",
        {"properties": properties},
        risk,
        paths=("path",) if "path" in arguments else (),
        command="command" if "command" in arguments else "",
        shell="bash",
    )


async def outcome(row: dict[str, Any], workspace: Workspace) -> str:
    risk, arguments = CALLS[row["call"]]
    asked: list[ApprovalRequest] = []

    async def yes(request: ApprovalRequest) -> bool:
        asked.append(request)
        return True

    rules = [Rule(decision=Decision[name.upper()], tool=("f",)) for name in row["rules"]]
    gate = Gate(yes if row["person"] else None, policy=Policy(row["mode"], rules), workspace=workspace)
    decided = await gate.decide(ToolInvocation("c", "f", arguments), tool_for(risk, arguments))
    if isinstance(decided, Denial):
        assert decided.reason
        return "deny"
    return "ask" if asked else "run"


async def test_every_row_of_the_table(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    wrong = [row for row in ROWS if await outcome(row, workspace) != row["outcome"]]
    assert wrong == []


def test_the_table_is_the_full_product() -> None:
    rows = {(row["call"], row["mode"], tuple(row["rules"]), row["person"]) for row in ROWS}
    rules = {tuple(row["rules"]) for row in ROWS}
    assert len(rows) == len(ROWS) == len(CALLS) * len(Mode) * len(rules) * 2
    assert len(ROWS) >= 300
    assert {"run", "ask", "deny"} == {row["outcome"] for row in ROWS}


def test_the_laws_hold_for_random_rule_sets() -> None:
    found = rule_sets(600, seed=7)
    assert found.runs == 600
    assert found.faults == []


def test_a_mode_that_is_none_is_refused() -> None:
    for name in ("", "Full", "yolo", "x" * 1000):
        with pytest.raises(ConfigError, match="there is no mode") as caught:
            as_mode(name)
        assert "read-only, ask, auto-edit, full" in caught.value.hint
        assert len(caught.value.message) < 100


@pytest.mark.parametrize(
    ("rules", "source", "why"),
    [
        ([], "mode", "is of risk execute, and the mode is ask"),
        ([Rule(decision=Decision.ALLOW, command=("npm *",), source="u:1", reason="ours")], "u:1", "ours"),
        (
            [
                Rule(decision=Decision.ALLOW, command=("npm *",), source="u:1"),
                Rule(decision=Decision.DENY, tool=("f",), source="u:2", reason="not now"),
                Rule(decision=Decision.DENY, tool=("*",), source="u:3", reason="later"),
            ],
            "u:2",
            "not now",
        ),
    ],
)
def test_a_verdict_says_why(rules: list[Rule], source: str, why: str, tmp_path: Path) -> None:
    arguments = {"command": "npm test"}
    verdict = Policy("ask", rules).judge(tool_for(Risk.EXECUTE, arguments), arguments, Workspace(tmp_path))
    assert verdict.source == source
    assert why in verdict.why


def test_what_is_not_understood_says_so_and_never_at_length(tmp_path: Path) -> None:
    arguments = {"command": "$x" + "y" * 5000}
    allow = Rule(decision=Decision.ALLOW, tool=("f",), source="u:1")
    verdict = Policy("full", [allow]).judge(tool_for(Risk.EXECUTE, arguments), arguments, Workspace(tmp_path))
    assert (verdict.decision, verdict.source, verdict.fixed) == (Decision.ASK, "not understood", True)
    assert len(verdict.why) < 600


def test_one_denied_part_denies_whatever_stands_around_it(tmp_path: Path) -> None:
    rules = [
        Rule(decision=Decision.ALLOW, tool=("f",)),
        Rule(decision=Decision.DENY, command=("rm *",), source="deny"),
    ]
    for line in ("ls; rm x", "rm x | cat", 'bash -c "$x"; rm x', "ls $(rm x)", "env rm x", "/bin/rm x", "ls && \\rm x"):
        arguments = {"command": line}
        for mode in Mode:
            verdict = Policy(mode, rules).judge(tool_for(Risk.EXECUTE, arguments), arguments, Workspace(tmp_path))
            assert verdict.decision is Decision.DENY, line


def test_what_does_too_much_at_once_is_denied_and_quickly(tmp_path: Path) -> None:
    """A path that a rule denies may be among so many."""
    allow = Rule(decision=Decision.ALLOW, tool=("f",))
    some = {"path": [f"a{number}" for number in range(256)]}
    many: list[dict[str, Any]] = [
        {"path": [f"a{number}" for number in range(100_000)]},
        {"command": f"cat {'<a ' * 300}"},
    ]
    workspace = Workspace(tmp_path)
    rules = [allow, *(Rule(decision=Decision.DENY, path=(f"b{number}/**",)) for number in range(50))]
    start = time.perf_counter()
    assert Policy("full", rules).judge(tool_for(Risk.READ, some), some, workspace).decision is Decision.ALLOW
    for arguments in many:
        verdict = Policy("full", rules).judge(tool_for(Risk.EXECUTE, arguments), arguments, workspace)
        assert (verdict.decision, verdict.fixed) == (Decision.DENY, True)
        assert "make several calls" in verdict.why
    assert time.perf_counter() - start < 20
