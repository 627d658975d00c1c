"""What a call does, part by part."""

from __future__ import annotations

from pathlib import Path

import pytest

from toolwire import Risk, ToolDefinition
from toolwire.approval.parts import parts_of
from toolwire.approval.places import Workspace
from toolwire.approval.policy import Policy
from toolwire.approval.rules import Decision, Rule

SHELL = ToolDefinition("shell", "", {"properties": {"command": {}}}, Risk.EXECUTE, command="command")


@pytest.mark.parametrize(
    ("command", "decision"),
    [
        ("make", Decision.ALLOW),
        ("rm -rf build", Decision.ALLOW),
        ("rm -rf /", Decision.ASK),
        ("rm -rf ~", Decision.ASK),
        ("/bin/rm -r ../other", Decision.ASK),
        ("mkfs.ext4 disk.img", Decision.ASK),
        ("shutdown now", Decision.ASK),
        ("echo x | crontab", Decision.ASK),
        ("systemctl status nginx", Decision.ALLOW),
        ("systemctl stop nginx", Decision.ASK),
    ],
)
def test_what_can_break_the_machine_is_asked_about_in_every_mode(
    command: str, decision: Decision, tmp_path: Path
) -> None:
    assert Policy("full").judge(SHELL, {"command": command}, Workspace(tmp_path)).decision is decision


def test_a_denial_in_a_line_that_is_not_understood_is_a_denial(tmp_path: Path) -> None:
    policy = Policy("full", [Rule(decision=Decision.DENY, command=("rm *",))])
    verdict = policy.judge(SHELL, {"command": "rm -rf x; eval $y"}, Workspace(tmp_path))
    assert verdict.decision is Decision.DENY
    assert any(part.unsure for part in parts_of(SHELL, {"command": "rm -rf x; eval $y"}, Workspace(tmp_path)))


@pytest.mark.parametrize(
    ("command", "decision"),
    [
        ("npm test", Decision.ALLOW),
        ("python x.py src", Decision.ASK),
        ("tar cf out.tar .", Decision.ASK),
        ("cp -r . copy", Decision.ASK),
        ("cat .env", Decision.DENY),
        ("grep -r key", Decision.ASK),
        ("ls src", Decision.ALLOW),
    ],
)
def test_a_denied_file_is_looked_for_in_the_folders_that_a_command_goes_through(
    command: str, decision: Decision, tmp_path: Path
) -> None:
    (tmp_path / "src").mkdir()
    policy = Policy("full", [Rule(decision=Decision.DENY, path=(".env",))])
    assert policy.judge(SHELL, {"command": command}, Workspace(tmp_path)).decision is decision
