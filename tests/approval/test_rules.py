"""Which parts of calls a rule fits: narrowly where it allows, widely where it asks or denies."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from toolwire import Risk, ToolDefinition
from toolwire.approval.parts import parts_of
from toolwire.approval.places import Workspace
from toolwire.approval.rules import Decision, Fit, Rule, Where

ALLOW, ASK, DENY = Decision.ALLOW, Decision.ASK, Decision.DENY
NO, MAYBE, YES = Fit.NO, Fit.MAYBE, Fit.YES


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    """`w` with docs/, a link `out` that leads outside and a link `alias` to docs; home is beside it, by a link."""
    root = tmp_path / "w"
    (root / "docs" / "deep").mkdir(parents=True)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "real_home" / ".ssh").mkdir(parents=True)
    (tmp_path / "home").symlink_to(tmp_path / "real_home")
    (root / "out").symlink_to(tmp_path / "elsewhere")
    (root / "alias").symlink_to(root / "docs")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    return Workspace(root)


def fits(
    rule: Rule,
    workspace: Workspace,
    arguments: dict[str, Any],
    *,
    risk: Risk | None = Risk.WRITE,
    name: str = "f",
    schema: dict[str, Any] | None = None,
) -> list[Fit]:
    tool = ToolDefinition(
        name,
        "",
        {"properties": schema or {key: {} for key in arguments}},
        risk,
        paths=("path",) if "path" in arguments else (),
        command="command" if "command" in arguments else "",
        shell="bash",
    )
    return [rule.fit(tool, arguments, part, workspace) for part in parts_of(tool, arguments, workspace)]


PATHS = [
    # pattern, path, as allow, as deny
    ("docs/*", "docs/a", YES, YES),
    ("docs/*", "docs/deep/a", NO, YES),  # what lies below a denied folder is denied
    ("docs/*", "DOCS/A", NO, YES),  # as a disk that does not tell letters' case apart has it
    ("docs/**", "docs/deep/a", YES, YES),
    ("docs/**", "docs/../docs/a", YES, YES),
    ("docs/**", "docs/../b", NO, NO),
    ("docs/**", "./docs//a", YES, YES),
    ("docs/**", "alias/a", NO, YES),  # by one of its names
    ("alias/**", "docs/a", NO, YES),  # through a link in the pattern
    ("out/**", "out/a", NO, YES),
    ("out/**", "../elsewhere/a", NO, YES),
    ("docs/", "docs", YES, YES),
    ("docs/", "docs/a", NO, YES),
    ("*.md", "a.md", YES, YES),
    ("*.md", "docs/a.md", YES, YES),
    ("*.md", "../a.md", NO, YES),  # outside only where the pattern says so
    ("*.md", "out/a.md", NO, YES),
    ("./a.md", "a.md", YES, YES),
    ("./a.md", "docs/a.md", NO, NO),
    (".git", ".git/config", NO, YES),
    (".git", "sub/.git", YES, YES),
    ("/**", "../a", YES, YES),
    ("**", "../a", NO, YES),
    ("**", "a", YES, YES),
    ("\\*", "*", YES, YES),
    ("\\*", "a", NO, NO),
]


@pytest.mark.parametrize(("pattern", "path", "as_allow", "as_deny"), PATHS)
def test_paths_narrowly_and_widely(pattern: str, path: str, as_allow: Fit, as_deny: Fit, workspace: Workspace) -> None:
    assert fits(Rule(decision=ALLOW, path=(pattern,)), workspace, {"path": path}, risk=Risk.READ) == [as_allow]
    for decision in (ASK, DENY):
        assert fits(Rule(decision=decision, path=(pattern,)), workspace, {"path": path}, risk=Risk.READ) == [as_deny]


def test_signs_in_the_name_of_the_workspace_mean_themselves(tmp_path: Path) -> None:
    root = tmp_path / "a\\b*c?"
    root.mkdir()
    for decision in Decision:
        assert fits(Rule(decision=decision, path=("docs/*",)), Workspace(root), {"path": "docs/a"}) == [YES]
        other = {"path": str(tmp_path / "a\\bbcc" / "docs" / "a")}
        assert fits(Rule(decision=decision, path=("docs/*",)), Workspace(root), other) == [NO]


def test_home_by_any_of_its_names(workspace: Workspace, tmp_path: Path) -> None:
    deny = Rule(decision=DENY, path=("~/.ssh",))
    for folder in ("home", "real_home"):
        assert fits(deny, workspace, {"path": str(tmp_path / folder / ".ssh" / "key")}) == [YES]
        assert fits(deny, workspace, {"command": f"cat {tmp_path / folder / '.ssh' / 'key'}"}, risk=None)[-1] is YES
    assert fits(deny, workspace, {"command": "cat ~/.ssh/key"}) == [YES]


def test_a_tilde_in_an_argument_may_be_home(workspace: Workspace) -> None:
    assert fits(Rule(decision=DENY, path=("~/.ssh",)), workspace, {"path": "~/.ssh/key"}) == [YES]
    assert fits(Rule(decision=ALLOW, path=("**",)), workspace, {"path": "~/.ssh/key"}) == [NO]
    assert fits(Rule(decision=DENY, path=("/etc",)), workspace, {"path": "~root/x"}) == [MAYBE]


def test_what_is_done_to_a_folder_may_be_done_to_what_it_holds(workspace: Workspace) -> None:
    deny = Rule(decision=DENY, path=("docs/deep/secret",))
    assert fits(deny, workspace, {"path": "docs"}, risk=Risk.WRITE) == [MAYBE]
    assert fits(deny, workspace, {"path": "docs/deep/other"}, risk=Risk.WRITE) == [NO]
    assert fits(deny, workspace, {"path": "docs"}, risk=Risk.READ) == [NO]
    assert fits(Rule(decision=DENY, path=(".env",)), workspace, {"path": "docs"}, risk=Risk.WRITE) == [MAYBE]


@pytest.mark.parametrize(
    ("where", "path", "fit"),
    [
        (Where.INSIDE, "a", YES),
        (Where.INSIDE, "../a", NO),
        (Where.INSIDE, "out/a", NO),
        (Where.OUTSIDE, "a", NO),
        (Where.OUTSIDE, "../a", YES),
        (Where.OUTSIDE, "out/a", YES),
        (Where.OUTSIDE, "docs/../../a", YES),
    ],
)
@pytest.mark.parametrize("decision", list(Decision))
def test_inside_and_outside(where: Where, path: str, fit: Fit, decision: Decision, workspace: Workspace) -> None:
    assert fits(Rule(decision=decision, where=where), workspace, {"path": path}) == [fit]


COMMANDS = [
    # rule, line, as allow, as deny: the fit of each part
    ({"command": ("git push *",)}, "git push", [YES], [YES]),
    ({"command": ("git push *",)}, "ls; git push", [NO, YES], [NO, YES]),
    ({"command": ("git push *",)}, "git -C x push", [NO], [YES]),
    ({"command": ("git push *",)}, "/usr/bin/git push", [NO], [YES]),
    ({"command": ("git push *",)}, "GIT_SSH_COMMAND=x git push", [NO], [YES]),
    ({"command": ("git push *",)}, "LC_ALL=C git push", [YES], [YES]),
    ({"command": ("npm test *",)}, "npm $x", [MAYBE], [MAYBE]),
    ({"command": ("git push *",)}, "git pull", [NO], [NO]),
    ({"path": ("docs/**",)}, "cat docs/a", [NO], [YES]),
    ({"path": ("docs/**",)}, "cat a > docs/b", [YES, NO], [YES, NO]),
    ({"path": ("docs/**",)}, "cat $x", [NO], [MAYBE]),
    ({"path": ("docs/**",)}, "grep -r x .", [NO], [MAYBE]),
    ({"path": ("docs/**",)}, "cat a", [NO], [NO]),
    ({"command": ("cat *",), "path": ("docs/**",)}, "cat docs/a", [YES], [YES]),
    ({"command": ("cat *",), "path": ("docs/**",)}, "cat docs/a b", [NO], [YES]),
    ({"command": ("cat *",), "where": Where.INSIDE}, "cat docs/a b", [YES], [YES]),
    ({"command": ("cat *",), "where": Where.INSIDE}, "cat docs/a /etc/x", [NO], [YES]),
    ({"command": ("cat *",), "where": Where.INSIDE}, "cat $x", [NO], [YES]),
    ({"command": ("cat *",), "where": Where.OUTSIDE}, "cat $x", [NO], [MAYBE]),
    ({"risk": ("read",)}, "ls; npm test", [YES, NO], [YES, NO]),
    ({"risk": ("execute",)}, "ls; npm test", [YES, YES], [YES, YES]),
]


@pytest.mark.parametrize(("members", "line", "as_allow", "as_deny"), COMMANDS)
def test_commands_narrowly_and_widely(
    members: dict[str, Any], line: str, as_allow: list[Fit], as_deny: list[Fit], workspace: Workspace
) -> None:
    arguments = {"command": line}
    assert fits(Rule(decision=ALLOW, **members), workspace, arguments, risk=Risk.EXECUTE) == as_allow
    assert fits(Rule(decision=DENY, **members), workspace, arguments, risk=Risk.EXECUTE) == as_deny


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("cat docs/a", [NO]),
        ("rm docs/a", [YES]),
        ("rm -r docs", [YES]),
        ("npm test", [NO]),
        ("npm test $x", [NO]),
        ("echo a > docs/b", [YES, NO]),
        ("cat < docs/b", [NO, NO]),
    ],
)
def test_changes_are_what_does_more_than_read_by_what_it_names(
    line: str, expected: list[Fit], workspace: Workspace
) -> None:
    rule = Rule(decision=DENY, path=("docs",), changes=True)
    assert fits(rule, workspace, {"command": line}, risk=Risk.EXECUTE) == expected


@pytest.mark.parametrize(
    ("want", "value", "as_allow", "as_deny"),
    [
        ("main", "main", YES, YES),
        ("ma*", "main", YES, YES),
        ("ma*", "dev", NO, NO),
        ("\\*", "x", NO, NO),
        (1, 1, YES, YES),
        (1, 1.0, YES, YES),
        (1, True, NO, NO),
        (True, 1, NO, NO),
        (True, True, YES, YES),
        (0, False, NO, NO),
        ("1", 1, NO, NO),
        ("a*", ["b", "ab"], NO, YES),  # one of several is enough to deny
        ([1, 2], [1, 2], YES, YES),
        ([1, 2], [True, 2], NO, NO),
        ([1], [1, 2], NO, NO),
        ({"a": [1]}, {"a": [1.0]}, YES, YES),
        ({"a": 1}, {"a": True}, NO, NO),
        ({"a": 1}, {"a": 1, "b": 2}, NO, NO),
        ({"a": "x*"}, {"a": "xy"}, NO, NO),
        ("x", None, NO, NO),
    ],
)
def test_values_of_arguments(want: Any, value: Any, as_allow: Fit, as_deny: Fit, workspace: Workspace) -> None:
    for decision, expected in ((ALLOW, as_allow), (DENY, as_deny)):
        rule = Rule(decision=decision, arguments={"x": ("never", want)})
        assert fits(rule, workspace, {"x": value, "y": 1}) == [expected]


def test_an_argument_that_is_left_out_is_what_the_schema_has(workspace: Workspace) -> None:
    rule = Rule(decision=DENY, arguments={"force": (True,)})
    assert fits(rule, workspace, {}, schema={"force": {"default": True}}) == [YES]
    assert fits(rule, workspace, {"force": False}, schema={"force": {"default": True}}) == [NO]
    assert fits(rule, workspace, {}, schema={"force": {}}) == [NO]
    assert fits(rule, workspace, {}, schema={"force": True}) == [NO]


def test_exact_arguments_are_these_and_no_others(workspace: Workspace) -> None:
    rule = Rule(decision=ALLOW, exact_arguments='{"a":"*","b":[1,null]}')
    assert fits(rule, workspace, {"b": [1, None], "a": "*"}) == [YES]
    for arguments in (
        {"a": "x", "b": [1, None]},
        {"a": "*", "b": [True, None]},
        {"a": "*"},
        {"a": "*", "b": [1, None], "c": 0},
    ):
        assert fits(rule, workspace, arguments) == [NO]


@pytest.mark.parametrize("risk", [*Risk, None])
def test_risks(risk: Risk | None, workspace: Workspace) -> None:
    name = risk or "unknown"
    for decision in Decision:
        assert fits(Rule(decision=decision, risk=(name,)), workspace, {}, risk=risk) == [YES]
        others = tuple(other for other in (*Risk, "unknown") if other != name)
        assert fits(Rule(decision=decision, risk=others), workspace, {}, risk=risk) == [NO]


@pytest.mark.parametrize("risk", [Risk.DANGEROUS, Risk.NETWORK, None])
def test_a_command_elsewhere_is_of_its_tools_risk(risk: Risk | None, workspace: Workspace) -> None:
    allow = Rule(decision=ALLOW, risk=("read", "execute"))
    assert fits(allow, workspace, {"command": "ls; npm test"}, risk=risk) == [NO, NO]


def test_every_condition_must_fit(workspace: Workspace) -> None:
    rule = Rule(decision=DENY, tool=("send_*",), risk=("network",), arguments={"to": ("*@example.org",)})
    right: dict[str, Any] = {"to": "a@example.org"}
    assert fits(rule, workspace, right, risk=Risk.NETWORK, name="send_mail") == [YES]
    assert fits(rule, workspace, right, risk=Risk.NETWORK, name="sends") == [NO]
    assert fits(rule, workspace, right, risk=Risk.WRITE, name="send_mail") == [NO]
    assert fits(rule, workspace, {"to": "a@example.com"}, risk=Risk.NETWORK, name="send_mail") == [NO]
