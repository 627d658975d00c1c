"""What each comparison on the way to a decision is there for: a call that would be decided otherwise without it."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from toolwire import Risk, ToolDefinition, ToolInvocation
from toolwire.approval.audit import AuditRecord
from toolwire.approval.commands.expansion import MAX_NAMES
from toolwire.approval.gate import Denial, Gate, Ticket
from toolwire.approval.parts import MAX_PARTS, Part, parts_of
from toolwire.approval.places import Place, Workspace
from toolwire.approval.policy import Policy, Verdict
from toolwire.approval.request import Answer, ApprovalRequest, Ask, Scope
from toolwire.approval.rules import Decision, Rule
from toolwire.errors import ConfigError

ALLOW, ASK, DENY = Decision.ALLOW, Decision.ASK, Decision.DENY
SHELL = ToolDefinition("shell", "", {"properties": {"command": {}}}, Risk.EXECUTE, command="command", shell="bash")
READ = ToolDefinition("read", "", {"properties": {"path": {}}}, Risk.READ, paths=("path",))
WRITE = ToolDefinition("write", "", {"properties": {"path": {}}}, Risk.WRITE, paths=("path",))


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    (tmp_path / "w" / "docs").mkdir(parents=True)
    (tmp_path / "home").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    return Workspace(tmp_path / "w")


def named(command: str, workspace: Workspace) -> list[str]:
    """The paths that a command may touch, as it gives them."""
    (part,) = parts_of(SHELL, {"command": command}, workspace)
    return [place.given for place in part.places]


@pytest.mark.parametrize(
    ("value", "member"),
    [
        (Place("a", "/w/a", "/w/a", True), "inside"),
        (Part(Risk.READ), "unsure"),
        (Rule(decision=DENY), "decision"),
        (Verdict(DENY, "no"), "decision"),
        (Denial("no"), "reason"),
    ],
)
def test_nothing_that_a_decision_rests_on_can_be_changed(value: Any, member: str) -> None:
    with pytest.raises(AttributeError):
        setattr(value, member, getattr(value, member))


# Places


def test_a_tilde_is_the_home_folder_only_where_it_is_said(workspace: Workspace) -> None:
    assert workspace.place("~/x").written == f"{workspace.root}/~/x"
    assert workspace.place("~").inside
    assert workspace.place("~/x", home=True).written == f"{workspace.home}/x"
    assert workspace.place("~", home=True).written == workspace.home
    assert workspace.place("~other/x", home=True).written == f"{workspace.root}/~other/x"
    assert workspace.place("x", home=True).written == f"{workspace.root}/x"


def test_a_path_is_meant_from_where_the_command_runs(workspace: Workspace) -> None:
    assert workspace.place("a", start=f"{workspace.root}/docs").written == f"{workspace.root}/docs/a"
    policy = Policy("full", [Rule(decision=DENY, path=("docs/a",))])
    assert policy.judge(SHELL, {"command": "cd docs; touch a"}, workspace).decision is DENY
    assert policy.judge(SHELL, {"command": "touch a"}, workspace).decision is ALLOW


def test_a_link_from_outside_into_the_workspace_is_outside(workspace: Workspace, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(workspace.root)
    place = workspace.place("../link/a")
    assert place.real == f"{workspace.root}/a"
    assert not place.inside


def test_a_path_with_a_nul_is_none(workspace: Workspace) -> None:
    with pytest.raises(ValueError, match="holds a NUL character"):
        workspace.place("a\0b")


def test_the_workspace_is_the_folder_one_is_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    assert Workspace.here().root == str(gone)
    gone.rmdir()
    with pytest.raises(ConfigError, match="not there any more"):
        Workspace.here()


# Parts


@pytest.mark.parametrize("arguments", [{}, {"command": None}, {"command": 5}, {"command": ["rm", "x"]}])
def test_a_command_that_is_no_text_is_not_understood(arguments: dict[str, Any], workspace: Workspace) -> None:
    verdict = Policy("full", [Rule(decision=ALLOW)]).judge(SHELL, arguments, workspace)
    assert (verdict.decision, verdict.source) == (ASK, "not understood")


@pytest.mark.parametrize("arguments", [{}, {"path": None}])
def test_a_path_that_is_left_out_is_none(arguments: dict[str, Any], workspace: Workspace) -> None:
    (part,) = parts_of(WRITE, arguments, workspace)
    assert part == Part(Risk.WRITE)


@pytest.mark.parametrize("path", [5, {"a": 1}, [["a"]], "a\0b"])
def test_a_path_that_is_no_text_is_not_understood(path: Any, workspace: Workspace) -> None:
    verdict = Policy("full", [Rule(decision=ALLOW)]).judge(WRITE, {"path": path}, workspace)
    assert (verdict.decision, verdict.source) == (ASK, "not understood")


@pytest.mark.parametrize(
    ("command", "path"),
    [
        ("tar -f.env", ".env"),
        ("tar -xzf/x/y", "/x/y"),
        ("tar -xzf../y", "../y"),
        ("make --file=a", "a"),
        ("scp host:a", "a"),
        ("curl @a", "a"),
    ],
)
def test_what_stands_behind_an_option_or_a_mark_is_a_path(command: str, path: str, workspace: Workspace) -> None:
    assert path in named(command, workspace)
    policy = Policy("full", [Rule(decision=DENY, path=(path,))])
    assert policy.judge(SHELL, {"command": command}, workspace).decision is DENY


@pytest.mark.parametrize("word", ["abcdef", "-f", "--data", "x/../y"])
def test_a_word_without_a_value_is_one_path(word: str, workspace: Workspace) -> None:
    assert named(f"make {word}", workspace) == [word]


def test_only_removing_outside_can_break_the_machine(workspace: Workspace) -> None:
    for command, risk in [("rm ../x", Risk.DANGEROUS), ("rm x", Risk.EXECUTE), ("touch ../x", Risk.EXECUTE)]:
        (part,) = parts_of(SHELL, {"command": command}, workspace)
        assert part.risk is risk, command


def test_as_many_commands_as_there_may_be_parts(workspace: Workspace) -> None:
    policy = Policy("full")
    assert policy.judge(SHELL, {"command": "touch x;" * MAX_PARTS}, workspace).decision is ALLOW
    assert policy.judge(SHELL, {"command": "touch x;" * (MAX_PARTS + 1)}, workspace).decision is DENY


def test_commands_that_are_no_parts_count_too(workspace: Workspace) -> None:
    """An assignment does nothing, but behind many of them nothing may go unseen."""
    policy = Policy("full", [Rule(decision=DENY, command=("rm *",))])
    for count, decision in [(MAX_PARTS - 2, ALLOW), (MAX_PARTS - 1, ASK)]:
        line = "a=1;" * count + "sh -c 'touch x'"
        assert policy.judge(SHELL, {"command": line}, workspace).decision is decision
        line = "a=1;" * count + "sh -c 'rm x'"
        assert policy.judge(SHELL, {"command": line}, workspace).decision is DENY


@pytest.mark.parametrize(("folders", "decision"), [(3, ALLOW), (4, ASK)])
def test_a_command_behind_many_folders_is_not_understood(
    folders: int, decision: Decision, workspace: Workspace
) -> None:
    line = "".join(f"cd d{number}; " for number in range(folders)) + "make"
    assert Policy("full").judge(SHELL, {"command": line}, workspace).decision is decision


def test_the_folder_that_a_command_was_led_to_is_one_of_its_paths(workspace: Workspace) -> None:
    assert named("ls", workspace) == []
    parts = parts_of(SHELL, {"command": "cd docs; ls"}, workspace)
    assert [place.given for place in parts[-1].places] == [f"{workspace.root}/docs"]
    outside = Workspace(workspace.root, cwd=workspace.home)
    assert named("ls", outside) == [workspace.home]


def test_a_pattern_in_a_folder_with_too_many_names_is_not_understood(workspace: Workspace) -> None:
    for number in range(MAX_NAMES + 1):
        (Path(workspace.root) / "docs" / str(number)).touch()
    (part,) = parts_of(SHELL, {"command": "cat docs/*"}, workspace)
    assert "cannot be looked through" in part.unsure


# Rules


@pytest.mark.parametrize(
    ("want", "fitting", "others"),
    [
        (1, [1, 1.0], [2, True, "1", None, [1], {}]),
        (1.5, [1.5], [1, "1.5"]),
        (0, [0, 0.0], [False, None, ""]),
        (True, [True], [1, False, "true"]),
        ("a*", ["a", "ab"], ["b", 1, None, ["a"], {"a": 1}]),
        ([1, "a*"], [[1, "a*"], [1.0, "a*"]], [[1, "ab"], [1], [1, "a*", 2], [True, "a*"], "1", {"0": 1}, None]),
        ({"k": 1}, [{"k": 1}, {"k": 1.0}], [{"k": 2}, {"j": 1}, {}, {"k": 1, "j": 1}, ["k"], "k", None]),
    ],
)
def test_the_value_that_a_rule_allows_is_that_one(
    want: Any, fitting: list[Any], others: list[Any], workspace: Workspace
) -> None:
    tool = ToolDefinition("f", "", {"properties": {"n": {}}}, Risk.WRITE)
    policy = Policy("ask", [Rule(decision=ALLOW, arguments={"n": (want,)})])
    decisions = [(value, policy.judge(tool, {"n": value}, workspace).decision) for value in (*fitting, *others)]
    assert decisions == [(value, ALLOW) for value in fitting] + [(value, ASK) for value in others]


@pytest.mark.parametrize(
    ("decision", "command", "expected"),
    [
        (ALLOW, "touch x", ALLOW),
        (ALLOW, "rm ../x", ASK),  # dangerous, which is more than the rule allows
        (DENY, "touch x", DENY),
        (DENY, "rm ../x", DENY),
        (DENY, "ls", DENY),
    ],
)
def test_a_rule_for_a_risk_allows_no_greater_one_and_denies_every_part_of_the_tool(
    decision: Decision, command: str, expected: Decision, workspace: Workspace
) -> None:
    policy = Policy("ask", [Rule(decision=decision, risk=("execute",))])
    assert policy.judge(SHELL, {"command": command}, workspace).decision is expected


def test_a_rule_for_paths_allows_no_call_that_names_none(workspace: Workspace) -> None:
    policy = Policy("ask", [Rule(decision=ALLOW, path=("**",))])
    assert policy.judge(WRITE, {"path": "a"}, workspace).decision is ALLOW
    assert policy.judge(WRITE, {}, workspace).decision is ASK
    assert policy.judge(replace(WRITE, paths=()), {"path": "a"}, workspace).decision is ASK


def test_changing_a_folder_may_change_what_is_denied_in_it(workspace: Workspace) -> None:
    policy = Policy("full", [Rule(decision=DENY, path=("docs/secret",), changes=True)])
    assert policy.judge(WRITE, {"path": "docs"}, workspace).decision is ASK
    assert policy.judge(READ, {"path": "docs"}, workspace).decision is ALLOW


# Policy


def test_gits_own_folder_is_read_by_all_and_asked_about_for_more(workspace: Workspace) -> None:
    for mode, tool, decision in [
        ("auto-edit", READ, ALLOW),
        ("auto-edit", WRITE, ASK),
        ("full", WRITE, ASK),
    ]:
        assert Policy(mode).judge(tool, {"path": ".git/config"}, workspace).decision is decision, (mode, tool.name)


def test_what_is_denied_by_the_mode_is_not_said_to_be_not_understood(workspace: Workspace) -> None:
    verdict = Policy("read-only").judge(SHELL, {"command": 5}, workspace)
    assert (verdict.decision, verdict.source) == (DENY, "mode")


@pytest.mark.parametrize(
    ("mode", "tool", "arguments"),
    [
        ("read-only", replace(WRITE, risk=None), {"path": "a"}),
        ("read-only", WRITE, {"path": "a"}),
        ("full", WRITE, {"path": 5}),
        ("full", SHELL, {"command": "touch x;" * (MAX_PARTS + 1)}),
    ],
)
def test_what_no_rule_can_allow_says_so(
    mode: str, tool: ToolDefinition, arguments: dict[str, Any], workspace: Workspace
) -> None:
    verdict = Policy(mode, [Rule(decision=ALLOW)]).judge(tool, arguments, workspace)
    assert verdict.decision is not ALLOW
    assert verdict.fixed


def test_the_reason_is_the_one_that_decided(workspace: Workspace) -> None:
    first, second = Rule(decision=ALLOW, reason="first"), Rule(decision=ALLOW, reason="second")
    assert Policy("ask", [first, second]).judge(WRITE, {"path": "a"}, workspace).rule == first
    denied = Policy("ask", [Rule(decision=DENY)]).judge(WRITE, {"path": "a"}, workspace)
    assert denied.why == "a rule says deny for the path 'a'"
    assert "risk write" in Policy("ask").judge(WRITE, {"path": "../a"}, workspace).why
    assert "outside" in Policy("auto-edit").judge(WRITE, {"path": "../a"}, workspace).why
    assert Policy("full").judge(WRITE, {"path": "a"}, workspace).why == "the mode full lets it run"
    assert "the command 'make'" in Policy("ask").judge(SHELL, {"command": "make"}, workspace).why


@pytest.mark.parametrize(("length", "cut"), [(200, False), (201, True)])
def test_a_long_call_is_cut_in_the_reason(length: int, cut: bool, workspace: Workspace) -> None:
    path = "a" * (length - len("the path ''"))
    assert ("…" in Policy("ask").judge(WRITE, {"path": path}, workspace).why) is cut


# The gate


def answering(answer: Answer | BaseException) -> Ask:
    async def ask(request: ApprovalRequest) -> Answer:
        if isinstance(answer, BaseException):
            raise answer
        return answer

    return ask


CALL = ToolInvocation("c1", "write", {"path": "a"}, 1, "c1", "{}")
NEVER = Policy("full", [Rule(decision=DENY)])


@pytest.mark.parametrize(
    ("ask", "policy", "trail"),
    [
        (None, NEVER, [("denied", "")]),
        (None, Policy("ask"), [("denied", "nobody")]),
        (answering(Answer(allowed=False)), Policy("ask"), [("asked", ""), ("denied", "person")]),
        (answering(OSError()), Policy("ask"), [("asked", ""), ("denied", "fault")]),
        (answering(Answer(allowed=True)), Policy("ask"), [("asked", ""), ("approved", "person")]),
        (answering(Answer(allowed=True, arguments={"path": 5})), Policy("ask"), [("asked", ""), ("denied", "person")]),
        (answering(Answer(allowed=True)), Policy("full"), [("allowed", "")]),
        (answering(Answer(allowed=True, scope=Scope.ALWAYS)), Policy("ask"), [("asked", ""), ("denied", "")]),
    ],
)
async def test_every_decision_is_written_with_who_made_it(
    ask: Ask | None, policy: Policy, trail: list[tuple[str, str]], workspace: Workspace
) -> None:
    written: list[AuditRecord] = []
    gate = Gate(ask, policy=policy, workspace=workspace, audit=written.append)
    tool = replace(WRITE, parameters={"type": "object", "properties": {"path": {"type": "string"}}})
    decision = await gate.decide(CALL, tool)
    assert [(record.event, record.who) for record in written] == trail
    assert isinstance(decision, Denial) is (trail[-1][0] == "denied")


@pytest.mark.parametrize(("reason", "told"), [("", "the person said no"), ("not now", "the person said no: not now")])
async def test_the_model_is_told_once_that_the_person_said_no(reason: str, told: str, workspace: Workspace) -> None:
    ask = answering(Answer(allowed=False, reason=reason))
    assert await Gate(ask, workspace=workspace).decide(CALL, WRITE) == Denial(told)


@pytest.mark.parametrize(("risk", "told"), [(Risk.WRITE, "write"), (None, "unknown")])
async def test_the_person_and_the_trail_are_told_the_risk(risk: Risk | None, told: str, workspace: Workspace) -> None:
    seen: list[ApprovalRequest] = []
    written: list[AuditRecord] = []
    gate = Gate(answering(Answer(allowed=False)), workspace=workspace, audit=written.append)
    await gate.decide(CALL, replace(WRITE, risk=risk), on_asked=seen.append)
    assert [(request.risk, request.parts) for request in seen] == [(told, ("the path 'a'",))]
    assert {record.risk for record in written} == {told}


async def test_a_question_that_is_taken_back_is_written(workspace: Workspace) -> None:
    written: list[AuditRecord] = []
    asked = asyncio.Event()

    async def ask(request: ApprovalRequest) -> Answer:
        asked.set()
        await asyncio.sleep(60)
        return Answer(allowed=True)

    gate = Gate(ask, workspace=workspace, audit=written.append)
    deciding = asyncio.ensure_future(gate.decide(CALL, WRITE))
    await asked.wait()
    deciding.cancel()
    with pytest.raises(asyncio.CancelledError):
        await deciding
    assert [(record.event, record.who) for record in written] == [("asked", ""), ("denied", "")]


async def test_a_trail_that_cannot_be_written_is_told(workspace: Workspace) -> None:
    def full(record: AuditRecord) -> None:
        raise OSError("the disk is full")

    decision = await Gate(policy=Policy("full"), workspace=workspace, audit=full).decide(CALL, WRITE)
    assert decision == Denial("deciding about it failed (OSError), and the audit trail cannot be written")


async def test_a_ticket_says_whether_the_person_changed_the_call(workspace: Workspace) -> None:
    for given, edited in [(None, False), ({"path": "b"}, True)]:
        ask = answering(Answer(allowed=True, arguments=given))
        decision = await Gate(ask, workspace=workspace).decide(CALL, WRITE)
        assert isinstance(decision, Ticket)
        assert decision.edited is edited
    allowed = await Gate(policy=Policy("full"), workspace=workspace).decide(CALL, WRITE)
    assert isinstance(allowed, Ticket)
    assert not allowed.edited


async def test_a_ticket_is_bound_to_the_gates_environment(workspace: Workspace) -> None:
    digests = set()
    for environment in ({}, {"A": "1"}, {"A": "2"}):
        gate = Gate(policy=Policy("full"), workspace=workspace, environment=environment)
        decision = await gate.decide(CALL, WRITE)
        assert isinstance(decision, Ticket)
        digests.add(decision.digest)
    assert len(digests) == 3


async def test_a_repaired_call_that_is_denied_stays_denied(workspace: Workspace) -> None:
    call = msgspec.structs.replace(CALL, repairs=("a comma was left out",))
    gate = Gate(answering(Answer(allowed=True)), policy=NEVER, workspace=workspace)
    assert gate.judge(call, WRITE).decision is DENY
    assert isinstance(await gate.decide(call, WRITE), Denial)


async def test_who_watches_sees_the_question_and_its_answer(workspace: Workspace) -> None:
    seen: list[object] = []
    answer = Answer(allowed=True)
    await Gate(answering(answer), workspace=workspace).decide(
        CALL,
        WRITE,
        on_asked=lambda request: seen.append(request.id),
        on_answered=lambda request, given: seen.append((request.id, given)),
    )
    assert seen == ["c1", ("c1", answer)]
