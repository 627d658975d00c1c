"""What a call may open is what was approved: its paths, where it runs, and what the person was shown."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from builtin_calls import call_tool
from toolwire.approval.gate import Gate, Ticket
from toolwire.approval.places import Place, Workspace
from toolwire.approval.policy import Policy
from toolwire.approval.request import Answer, ApprovalRequest
from toolwire.approval.rules import Decision, Rule
from toolwire.errors import FileRefused, TicketRefused
from toolwire.execution.executor import Executor
from toolwire.stream.invocation import ToolInvocation
from toolwire.tools.definition import Risk, ToolDefinition
from toolwire.tools.running import Preview, RunningCall, this_call

PATH = {"properties": {"path": {"type": "string"}}}
SHELL = {
    "properties": {
        "command": {"type": "string"},
        "cwd": {"type": "string"},
        "variables": {"type": "object"},
        "network": {"type": "boolean"},
    }
}
BASH = ToolDefinition(
    "bash",
    "",
    SHELL,
    Risk.EXECUTE,
    command="command",
    shell="bash",
    folder="cwd",
    variables="variables",
    network="network",
)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "w" / "sub").mkdir(parents=True)
    return tmp_path / "w"


def judged(tool: ToolDefinition, arguments: dict[str, Any], root: Path, mode: str = "full", *rules: Rule) -> Decision:
    return Policy(mode, rules).judge(tool, arguments, Workspace(root)).decision


async def running(tool: ToolDefinition, arguments: dict[str, Any], root: Path, **options: Any) -> RunningCall:
    """What a call of the tool knows while it runs."""
    seen: list[RunningCall] = []

    def call(_: dict[str, Any]) -> None:
        seen.append(this_call())

    await call_tool(replace(tool, call=call), arguments, root, **options)
    return seen[0]


async def test_a_call_knows_its_folders_and_where_its_paths_lead(root: Path) -> None:
    (root / "real.txt").write_text("x")
    os.symlink("real.txt", root / "link.txt")
    other = root.parent / "other"
    other.mkdir()
    tool = ToolDefinition("t", "", PATH, Risk.WRITE, paths=("path",))
    call = await running(tool, {"path": "link.txt"}, root, further=[other])
    assert call.roots == (str(root), str(other))
    assert dict(call.real) == {"link.txt": str(root / "real.txt")}


async def test_a_link_that_was_turned_after_approval_is_not_followed(root: Path) -> None:
    (root / "a.txt").write_text("a")
    (root / "secret.txt").write_text("s")
    os.symlink("a.txt", root / "link")
    tool = ToolDefinition("t", "", PATH, Risk.READ, call=lambda _: "ran", paths=("path",))
    gate = Gate(workspace=Workspace(root))
    ticket = await gate.decide(ToolInvocation("c", "t", {"path": "link"}), tool)
    assert isinstance(ticket, Ticket)
    os.unlink(root / "link")
    os.symlink("secret.txt", root / "link")
    with pytest.raises(TicketRefused, match="not the one that was approved"):
        await Executor(gate).run(ticket)


class Turning(Workspace):
    """A workspace in which a link is turned at every look at the disk: to the secret, to the plain file, and so on."""

    __slots__ = ()

    def _look(self, path: str, base: str, home: bool) -> Place:
        link = os.path.join(self.root, "link")
        if path == "link":
            target = "a.txt" if os.readlink(link) == "secret.txt" else "secret.txt"
            os.unlink(link)
            os.symlink(target, link)
        return super()._look(path, base, home)


@pytest.mark.parametrize("first", ["a.txt", "secret.txt"])
@pytest.mark.parametrize("changed", [False, True], ids=["as asked", "changed by the person"])
@pytest.mark.parametrize("risk", [Risk.READ, Risk.WRITE])
async def test_a_link_that_is_turned_while_a_call_is_judged_leads_to_nothing_denied(
    root: Path, first: str, changed: bool, risk: Risk
) -> None:
    (root / "a.txt").write_text("a")
    (root / "secret.txt").write_text("s")
    os.symlink(first, root / "link")
    opened: list[str] = []
    shown: list[str] = []

    def preview(_: dict[str, Any]) -> Preview:
        shown.append(this_call().real["link"])
        return Preview("")

    tool = ToolDefinition(
        "t", "", PATH, risk, lambda _: opened.append(this_call().real["link"]), paths=("path",), preview=preview
    )

    async def ask(_: ApprovalRequest) -> Answer:
        return Answer(allowed=True, arguments={"path": "link"} if changed else None)

    gate = Gate(
        ask, policy=Policy("ask", [Rule(decision=Decision.DENY, path=("secret.txt",))]), workspace=Turning(root)
    )
    for number in range(6):
        decision = await gate.decide(ToolInvocation(f"c{number}", "t", {"path": "link"}), tool)
        if isinstance(decision, Ticket):
            with suppress(TicketRefused):
                await Executor(gate).run(decision)
    assert str(root / "secret.txt") not in (*opened, *shown)


async def test_an_argument_that_is_left_out_is_judged_as_the_tool_takes_it(root: Path) -> None:
    schema = {"properties": {"path": {"type": "string", "default": "."}}}
    tool = ToolDefinition("t", "", schema, Risk.READ, paths=("path",))
    deny = Rule(decision=Decision.DENY, path=("sub",))
    policy = Policy("full", [deny])
    assert policy.judge(tool, {}, Workspace(root, root / "sub")).decision is Decision.DENY
    assert policy.judge(tool, {}, Workspace(root)).decision is Decision.ALLOW
    assert dict((await running(tool, {}, root)).real) == {".": str(root)}
    properties: dict[str, Any] = SHELL["properties"]
    defaults = {"command": "cat secret", "cwd": "sub", "variables": {"LD_PRELOAD": "x"}, "network": True}
    for name, value in defaults.items():
        with_default = {"properties": {**properties, name: {**properties[name], "default": value}}}
        arguments = {"command": "cat x"} if name != "command" else {}
        given = judged(
            BASH, {**arguments, name: value}, root, "ask", Rule(decision=Decision.DENY, path=("sub/x", "secret"))
        )
        left_out = judged(
            replace(BASH, parameters=with_default),
            arguments,
            root,
            "ask",
            Rule(decision=Decision.DENY, path=("sub/x", "secret")),
        )
        assert given is left_out is not Decision.ALLOW


async def test_a_file_that_a_rule_closes_is_known_as_closed(root: Path) -> None:
    tool = ToolDefinition("search", "", PATH, Risk.READ, paths=("path",))
    rules = [Rule(decision=Decision.DENY, path=(".env",)), Rule(decision=Decision.ASK, path=("private/**",))]
    call = await running(tool, {"path": "."}, root, rules=rules)
    closed = {name: call.is_closed(str(root / name)) for name in (".env", "sub/.ENV", "private/x", "src/x.py")}
    assert closed == {".env": True, "sub/.ENV": True, "private/x": True, "src/x.py": False}
    assert not call.is_closed(str(root.parent / "x")), "that no mode lets it run unasked is no rule about the file"


@pytest.mark.parametrize("path", ["../x", "/etc/passwd", "out/x", "a\0b", "~/../../x"])
async def test_a_confined_tool_is_denied_what_lies_outside_without_a_question(root: Path, path: str) -> None:
    os.symlink(root.parent, root / "out")
    tool = ToolDefinition("t", "", PATH, Risk.WRITE, call=lambda _: "ran", paths=("path",), confined=True)
    asked: list[ApprovalRequest] = []
    result = await call_tool(tool, {"path": path}, root, mode="full", on_asked=asked.append)
    assert (result.content.startswith("Denied:"), asked) == (True, [])


async def test_a_confined_tool_takes_a_tilde_as_it_is_written(root: Path) -> None:
    tool = ToolDefinition("t", "", PATH, Risk.WRITE, call=lambda _: "ran", paths=("path",), confined=True)
    assert judged(tool, {"path": "~notes.txt"}, root) is Decision.ALLOW


async def test_further_folders_are_inside(root: Path) -> None:
    (root.parent / "other").mkdir()
    tool = ToolDefinition("t", "", PATH, Risk.WRITE, call=lambda _: "ran", paths=("path",), confined=True)
    path = str(root.parent / "other" / "x")
    assert judged(tool, {"path": path}, root) is Decision.DENY
    result = await call_tool(tool, {"path": path}, root, further=[root.parent / "other"], mode="full")
    assert result.content == "ran"


async def test_commands_are_judged_from_the_folder_that_they_run_in(root: Path) -> None:
    deny = Rule(decision=Decision.DENY, path=("sub/secret",))
    assert judged(BASH, {"command": "cat secret", "cwd": "sub"}, root, "ask", deny) is Decision.DENY
    assert judged(BASH, {"command": "cat secret"}, root, "ask", deny) is Decision.ALLOW
    assert judged(BASH, {"command": "ls", "cwd": ".."}, root) is Decision.DENY
    assert judged(BASH, {"command": "cat ../x", "cwd": "sub"}, root, "ask") is Decision.ALLOW
    assert judged(BASH, {"command": "cat ../../x", "cwd": "sub"}, root, "ask") is Decision.ASK


async def test_variables_for_a_command_are_asked_about(root: Path) -> None:
    allow = Rule(decision=Decision.ALLOW, command=("npm test",))
    call = {"command": "npm test"}
    assert judged(BASH, call, root, "ask", allow) is Decision.ALLOW
    assert judged(BASH, {**call, "variables": {"CI": "1"}}, root, "ask", allow) is Decision.ALLOW
    for name in ("NODE_OPTIONS", "PATH", "LD_PRELOAD"):
        assert judged(BASH, {**call, "variables": {name: "x"}}, root, "full", allow) is Decision.ASK


async def test_reaching_other_machines_is_a_risk_of_its_own(root: Path) -> None:
    allow = Rule(decision=Decision.ALLOW, command=("npm install",))
    call = {"command": "npm install"}
    assert judged(BASH, {**call, "network": False}, root, "ask", allow) is Decision.ALLOW
    assert judged(BASH, {**call, "network": True}, root, "ask", allow) is Decision.ASK
    network = Rule(decision=Decision.ALLOW, risk=("network",))
    assert judged(BASH, {**call, "network": True}, root, "ask", allow, network) is Decision.ALLOW


async def test_a_tool_that_must_be_asked_about_is_but_for_what_only_reads(root: Path) -> None:
    tool = replace(BASH, asks="commands are not confined here")
    anything = Rule(decision=Decision.ALLOW, tool=("*",))
    assert judged(tool, {"command": "npm test"}, root, "full", anything) is Decision.ASK
    assert judged(tool, {"command": "ls"}, root, "ask") is Decision.ALLOW


class TestPreview:
    async def asked(self, preview: Any, root: Path) -> tuple[list[ApprovalRequest], list[RunningCall]]:
        asked: list[ApprovalRequest] = []
        ran: list[RunningCall] = []
        tool = ToolDefinition(
            "t", "", PATH, Risk.WRITE, call=lambda _: ran.append(this_call()), paths=("path",), preview=preview
        )
        await call_tool(tool, {"path": "x"}, root, on_asked=asked.append)
        return asked, ran

    async def test_it_is_shown_and_its_state_comes_back(self, root: Path) -> None:
        def preview(arguments: dict[str, Any]) -> Preview:
            return Preview(f"+{arguments['path']} in {this_call().cwd}", "state")

        asked, ran = await self.asked(preview, root)
        assert asked[0].preview == f"+x in {root}"
        assert ran[0].seen == "state"

    async def test_who_changes_the_arguments_saw_another_change(self, root: Path) -> None:
        async def change(_: ApprovalRequest) -> Answer:
            return Answer(allowed=True, arguments={"path": "y"})

        ran: list[RunningCall] = []
        tool = ToolDefinition(
            "t", "", PATH, Risk.WRITE, lambda _: ran.append(this_call()), preview=lambda _: Preview("+x", "state")
        )
        gate = Gate(change, workspace=Workspace(root))
        ticket = await gate.decide(ToolInvocation("c", "t", {"path": "x"}), tool)
        assert isinstance(ticket, Ticket)
        await Executor(gate).run(ticket)
        assert ran[0].seen == ""

    async def test_nothing_in_it_is_hidden_and_it_is_bounded(self, root: Path) -> None:
        asked, _ = await self.asked(lambda _: Preview("+a\x1b[2Jb\u202e\n" + "x" * 100_000), root)
        shown = asked[0].preview
        assert shown.startswith("+a‹ESC›[2Jb‹U+202E›\nxxx")
        assert len(shown) < 21_000
        assert shown.endswith("more characters")
        asked, _ = await self.asked(lambda _: Preview("x" * 20_000), root)
        assert asked[0].preview == "x" * 20_000

    async def test_a_fault_in_it_is_told_and_the_person_is_asked_all_the_same(self, root: Path) -> None:
        def refuses(_: dict[str, Any]) -> Preview:
            raise FileRefused("there is no such text in it")

        def breaks(_: dict[str, Any]) -> Preview:
            raise ZeroDivisionError

        assert (await self.asked(refuses, root))[0][0].preview == "It would fail: there is no such text in it"
        assert "cannot be shown (ZeroDivisionError)" in (await self.asked(breaks, root))[0][0].preview

    async def test_nobody_is_shown_what_needs_no_question(self, root: Path) -> None:
        called: list[object] = []
        tool = ToolDefinition("t", "", PATH, Risk.WRITE, call=lambda _: this_call().seen, preview=called.append)  # type: ignore[arg-type]
        result = await call_tool(tool, {"path": "x"}, root, mode="full")
        assert (called, result.content) == ([], "Done; there is no output.")


def test_a_verdict_says_what_decided_and_a_part_what_it_is(root: Path) -> None:
    verdicts = Policy("ask").judge_parts(BASH, {"command": "ls", "network": True}, Workspace(root))
    assert [str(each.part) for each in verdicts] == ["the command 'ls'", "access to the network"]
    assert verdicts[1].why == "access to the network is of risk network, and the mode is ask"
    write = ToolDefinition("t", "", PATH, Risk.WRITE, paths=("path",), confined=True)
    asking = replace(write, asks="it says so")
    found = [
        Policy("full").judge(tool, {"path": path}, Workspace(root)).source
        for tool, path in ((write, ".bashrc"), (write, "x"), (write, "../x"), (asking, "x"))
    ]
    assert found == ["runs later", "mode", "the call", "the tool"]


@pytest.mark.parametrize("path", [7, {"a": 1}, "a\0b", ["x", 7], ["x", "a\0b"]])
def test_a_path_that_is_none_is_no_fault_but_a_verdict(root: Path, path: Any) -> None:
    tool = ToolDefinition("t", "", PATH, Risk.WRITE, paths=("path",))
    verdict = Policy("full").judge(replace(tool, confined=True), {"path": path}, Workspace(root))
    assert (verdict.decision, verdict.why) == (Decision.DENY, "a path is not a plain text")
    assert judged(tool, {"path": path}, root) is Decision.ASK


@pytest.mark.parametrize("folder", [7, ["x"], "a\0b"])
def test_a_folder_that_is_none_is_asked_about(root: Path, folder: Any) -> None:
    verdict = Policy("full").judge(BASH, {"command": "ls", "cwd": folder}, Workspace(root))
    assert verdict.decision is Decision.ASK
    assert "the folder is not a plain text" in verdict.why


def test_why_a_path_is_refused(root: Path) -> None:
    tool = ToolDefinition("t", "", PATH, Risk.READ, paths=("path",), confined=True)
    os.symlink("/etc", root / "out")

    def why(path: str) -> str:
        return Policy("full").judge(tool, {"path": path}, Workspace(root)).why

    place = f"is outside of {str(root)!r}, where this tool works; give a path inside"
    assert why("/etc/x") == f"'/etc/x' {place}"
    assert why("out/x") == f"'out/x' (it leads to '/etc/x') {place}"
    assert why("x" * 4_097) == "a path of 4,097 characters is too long; it has at most 4,096"
    assert why("x" * 4_096) == "the mode full lets it run"
