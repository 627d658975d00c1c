"""A program is the file that its name resolves to: one in the workspace is never taken for the system's own."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from builtin_calls import call_tool
from toolwire.approval.commands.found import BUILTINS, find_program, search_folders, way_to
from toolwire.approval.gate import Denial, Gate, Ticket
from toolwire.approval.memory import offers_of
from toolwire.approval.places import Workspace
from toolwire.approval.policy import Policy
from toolwire.approval.request import Answer, ApprovalRequest
from toolwire.approval.rules import Decision, Rule
from toolwire.builtin.shell import shell_tools
from toolwire.builtin.shell_variables import command_environment
from toolwire.errors import TicketRefused
from toolwire.execution.executor import Executor
from toolwire.stream.invocation import ToolInvocation
from toolwire.tools.definition import Risk, ToolDefinition

SHELL = ToolDefinition(
    "shell",
    "",
    {"properties": {"command": {"type": "string"}}},
    Risk.EXECUTE,
    lambda _: "ran",
    command="command",
    shell="bash",
)
WRITE = ToolDefinition("write", "", {"properties": {"path": {"type": "string"}}}, Risk.WRITE, paths=("path",))
LINES = [
    "ls -la",
    "git status",
    "cat a.txt",
    "timeout 5 cat a.txt",
    "env LC_ALL=C cat a.txt",
    "bash -c 'cat a.txt'",
    "find . -name x",
    "command ls",
    "time ls",
    "pip --version",
    "python --version",
    "sed -n p a.txt",
    "true && grep x a.txt | sort",
    "(cd .venv; ls)",
]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "w" / ".venv" / "bin").mkdir(parents=True)
    (tmp_path / "w" / "a.txt").write_text("text\n")
    return tmp_path / "w"


def path_of(root: Path) -> str:
    """A search path as an environment that is switched on has it."""
    return f"{root}/.venv/bin{os.pathsep}{os.defpath}"


def program(path: Path, text: str = "") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text or 'echo planted'}\n")
    path.chmod(0o755)
    return path


def plant(root: Path, *names: str) -> None:
    for name in names:
        program(root / ".venv" / "bin" / name)


def judged(line: str, root: Path, mode: str = "ask", *rules: Rule, path: str | None = None) -> Decision:
    workspace = Workspace(root).looking_once(path or path_of(root))
    return Policy(mode, rules).judge(SHELL, {"command": line}, workspace).decision


@pytest.mark.parametrize("line", LINES)
def test_what_lies_in_the_workspace_is_never_a_reader(line: str, root: Path) -> None:
    assert judged(line, root) is Decision.ALLOW
    names = ("ls", "git", "cat", "timeout", "env", "bash", "find", "pip", "python", "sed", "grep", "sort")
    plant(root, *names)
    assert judged(line, root) is Decision.ASK
    assert judged(line, root, "auto-edit") is Decision.ASK
    assert judged(line, root, "read-only") is Decision.DENY


def test_a_wrapper_or_a_shell_in_the_workspace_starts_nothing_unasked(root: Path) -> None:
    for name, line in (("timeout", "timeout 5 ls"), ("env", "env ls"), ("bash", "bash -c ls"), ("nice", "nice ls")):
        assert judged(line, root) is Decision.ALLOW
        plant(root, name)
        assert judged(line, root) is Decision.ASK
        assert judged("ls", root) is Decision.ALLOW


def test_what_the_shell_does_itself_is_looked_for_nowhere(root: Path) -> None:
    plant(root, "echo", "test", "pwd", "printf")
    for line in ("echo x", "test -f a.txt", "pwd", "printf x", "bash -c 'echo x'", "cd .venv && pwd"):
        assert judged(line, root) is Decision.ALLOW, line
    for line in ("env echo x", "timeout 5 test -f a.txt", "nice printf x", "find . -exec pwd ;"):
        assert judged(line, root) is Decision.ASK, line


def test_every_name_that_bash_keeps_to_itself_is_known() -> None:
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("bash is not installed")
    done = subprocess.run([bash, "-c", "compgen -b"], capture_output=True, text=True, check=True)
    assert BUILTINS - {"time"} <= set(done.stdout.split())


def test_a_link_counts_where_it_lies_and_where_it_leads(root: Path) -> None:
    outside = root.parent / "system"
    program(outside / "ls")
    path = f"{outside}{os.pathsep}{os.defpath}"
    assert judged("ls", root, path=path) is Decision.ALLOW
    plant(root, "real")
    for place, target in (
        (outside / "cat", root / ".venv" / "bin" / "real"),
        (root / ".venv" / "bin" / "head", outside / "ls"),
        (outside / "tail", outside / "tail.1"),
        (outside / "tail.1", root / "step"),
        (root / "step", outside / "ls"),
    ):
        os.symlink(target, place)
    both = f"{root}/.venv/bin{os.pathsep}{path}"
    for line in ("cat a.txt", "head a.txt", "tail a.txt"):
        assert judged(line, root, path=both) is Decision.ASK, line
    os.symlink(root / ".venv" / "bin", root.parent / "bin")
    plant(root, "wc")
    assert judged("wc a.txt", root, path=f"{root.parent}/bin{os.pathsep}{path}") is Decision.ASK


class OfAnotherName(Workspace):
    """A workspace that has another path too, as by a mount, and the search path has that one."""

    __slots__ = ()

    def holds(self, path: str) -> bool:
        return False


def test_the_workspace_is_known_by_any_path_that_it_has(root: Path) -> None:
    plant(root, "ls")
    found = OfAnotherName(root).looking_once(path_of(root)).program("ls")
    assert (found.path, found.inside) == (f"{root}/.venv/bin/ls", True)
    assert not OfAnotherName(root).looking_once(os.defpath).program("ls").inside
    shutil.rmtree(root)
    assert not OfAnotherName(root).looking_once(os.defpath).program("ls").inside


def test_a_link_that_leads_to_itself_ends(tmp_path: Path) -> None:
    os.symlink(tmp_path / "b", tmp_path / "a")
    os.symlink(tmp_path / "a", tmp_path / "b")
    assert 40 <= len(way_to(str(tmp_path / "a"))) <= 41


def test_what_is_no_program_is_passed_over(root: Path) -> None:
    """As a shell does it."""
    (root / ".venv" / "bin" / "ls").write_text("text")
    (root / ".venv" / "bin" / "cat").mkdir()
    os.symlink("nowhere", root / ".venv" / "bin" / "head")
    for line in ("ls", "cat a.txt", "head a.txt"):
        assert judged(line, root) is Decision.ALLOW, line


@pytest.mark.parametrize("folder", ["", ".", "bin"])
def test_a_search_path_that_depends_on_the_folder_may_find_anything(folder: str, root: Path) -> None:
    assert judged("ls", root, path=f"{folder}{os.pathsep}/usr/bin{os.pathsep}/bin") is Decision.ASK
    assert judged("ls", root, path=f"/usr/bin{os.pathsep}/bin{os.pathsep}{folder}") is Decision.ALLOW
    assert judged("echo x", root, path=folder or ":") is Decision.ALLOW


def test_a_program_that_is_nowhere_is_judged_by_its_name(root: Path) -> None:
    empty = root.parent / "empty"
    assert judged("ls", root, path=str(empty)) is Decision.ALLOW
    assert judged("unknown", root, path=str(empty)) is Decision.ASK


def test_a_rule_for_a_program_of_the_system_is_none_for_one_in_the_workspace(root: Path) -> None:
    words = ("git add *", "mkdir *", "timeout 5 *", "ls *", "pytest *", "pip list")
    rule = Rule(decision=Decision.ALLOW, command=words)
    lines = ["git add a", "mkdir x", "timeout 5 pytest -q", "pytest -q", "pip list"]
    assert [judged(line, root, "ask", rule) for line in lines] == [Decision.ALLOW] * len(lines)
    plant(root, "pytest", "pip")
    assert [judged(line, root, "ask", rule) for line in lines] == [Decision.ALLOW] * len(lines), "a project's own tools"
    plant(root, "git", "mkdir", "timeout", "ls")
    assert [judged(line, root, "ask", rule) for line in (*lines[:3], "ls")] == [Decision.ASK] * 4
    named = Rule(decision=Decision.ALLOW, command=(f"{root}/.venv/bin/git add *",))
    assert judged("git add a", root, "ask", named) is Decision.ALLOW
    assert judged("git add a", root, "full") is Decision.ALLOW
    deny = Rule(decision=Decision.DENY, command=("git *",))
    assert judged("git add a", root, "full", deny) is Decision.DENY
    workspace = Workspace(root).looking_once(path_of(root))
    arguments = {"command": "git add a"}
    verdicts = Policy().judge_parts(SHELL, arguments, workspace)
    assert offers_of(SHELL, arguments, verdicts, workspace) == ()


def test_the_question_says_that_it_is_in_the_workspace(root: Path) -> None:
    plant(root, "pip", "echo")
    verdicts = Policy().judge_parts(
        SHELL, {"command": "pip --version; echo x; ls"}, Workspace(root).looking_once(path_of(root))
    )
    assert [str(verdict.part) for verdict in verdicts] == [
        f"the command 'pip --version' (pip is '{root}/.venv/bin/pip', inside the workspace)",
        "the command 'echo x'",
        "the command 'ls'",
    ]


@pytest.mark.parametrize("mode", ["ask", "auto-edit", "full"])
def test_to_write_where_programs_are_looked_for_is_asked_about(mode: str, root: Path) -> None:
    program(root / "tools" / "pip")
    os.symlink("tools", root / "way")
    anything = Rule(decision=Decision.ALLOW, tool=("*",))
    path = f"{root}/tools{os.pathsep}{os.defpath}"
    workspace = Workspace(root).looking_once(path)
    policy = Policy(mode, [anything])
    for given in ("tools/pip", "tools/new", "TOOLS/pip", "way/new", f"{root}/tools/a/b"):
        verdict = policy.judge(WRITE, {"path": given}, workspace)
        assert (verdict.decision, verdict.source) == (Decision.ASK, "runs later"), given
        assert "programs are found there by their names" in verdict.why
    assert judged("echo x > tools/pip", root, mode, anything, path=path) is Decision.ASK
    for given in ("tool/x.py", "lib/pip", "scripts/x"):
        assert policy.judge(WRITE, {"path": given}, workspace).decision is Decision.ALLOW
    assert Policy("full").judge(replace(WRITE, risk=Risk.READ), {"path": "tools/pip"}, workspace).why
    assert judged("nohup tools/pip x.py", root, "full", path=path) is Decision.ALLOW


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("ls", "ls"),
        ("timeout 5 cat a.txt", "cat"),
        ("bash -c 'head a.txt'", "head"),
        ("env echo x; echo y", "echo"),
        ("echo y; env echo x", "echo"),
        ("not-there; ls", "not-there"),
    ],
)
async def test_what_is_planted_after_the_judgement_does_not_run(line: str, name: str, root: Path) -> None:
    allow = Rule(decision=Decision.ALLOW, command=("not-there",))
    gate = Gate(workspace=Workspace(root), policy=Policy("ask", [allow]), environment={"PATH": path_of(root)})
    ticket = await gate.decide(ToolInvocation("c", "shell", {"command": line}), SHELL)
    assert isinstance(ticket, Ticket)
    plant(root, name)
    with pytest.raises(TicketRefused, match=rf"{name}', which it runs, was changed after it was approved"):
        await Executor(gate).run(ticket)


async def test_a_program_of_the_workspace_that_is_changed_after_the_judgement_does_not_run(root: Path) -> None:
    plant(root, "pytest")
    allow = Rule(decision=Decision.ALLOW, command=("pytest *",))
    gate = Gate(workspace=Workspace(root), policy=Policy("ask", [allow]), environment={"PATH": path_of(root)})
    ticket = await gate.decide(ToolInvocation("c", "shell", {"command": "pytest -q"}), SHELL)
    assert isinstance(ticket, Ticket)
    program(root / ".venv" / "bin" / "pytest", "another")
    with pytest.raises(TicketRefused, match=r"pytest', which it runs, was changed"):
        await Executor(gate).run(ticket)


async def test_what_is_planted_while_a_person_thinks_does_not_run(root: Path) -> None:
    async def ask(_: ApprovalRequest) -> Answer:
        plant(root, "make")
        return Answer(allowed=True)

    gate = Gate(ask, workspace=Workspace(root), environment={"PATH": path_of(root)})
    decision = await gate.decide(ToolInvocation("c", "shell", {"command": "make test"}), SHELL)
    assert isinstance(decision, Denial)
    assert "which it runs, was changed while the person was asked" in decision.reason
    again = await gate.decide(ToolInvocation("d", "shell", {"command": "make test"}), SHELL)
    assert isinstance(again, Ticket)


async def test_programs_are_looked_for_where_the_command_finds_them(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the environment that its children get, and not in that of Toolwire."""
    plant(root, "ls")
    monkeypatch.setenv("PATH", path_of(root))
    bash = next(tool for tool in shell_tools(None) if tool.name == "run_bash")
    asked: list[ApprovalRequest] = []

    async def no(request: ApprovalRequest) -> Answer:
        asked.append(request)
        return Answer(allowed=False)

    for path, runs in ((path_of(root), False), (os.defpath, True), ("", True)):
        gate = Gate(no, workspace=Workspace(root), environment={"PATH": path} if path else {})
        decision = await gate.decide(ToolInvocation("c", "run_bash", {"command": "ls"}), bash)
        assert isinstance(decision, Ticket) is runs
        if isinstance(decision, Ticket):
            result = await Executor(gate).run(decision)
            assert "planted" not in result.content
            assert "a.txt" in result.content
    assert len(asked) == 1
    assert Policy().judge(SHELL, {"command": "ls"}, Workspace(root)).decision is Decision.ASK


def test_a_command_without_a_search_path_has_the_systems(tmp_path: Path) -> None:
    """A shell without one would look where it was built to."""
    for given in ({}, {"PATH": ""}):
        assert command_environment(given, str(tmp_path), "")["PATH"] == os.defpath
    assert command_environment({"PATH": "/x"}, str(tmp_path), "")["PATH"] == "/x"
    assert search_folders(None) == search_folders("") == tuple(os.defpath.split(os.pathsep))


def test_the_file_that_is_found_is_the_one_that_runs(tmp_path: Path) -> None:
    """Bash, and programs that start others, over folders with programs, other files, links and folders of a name."""
    chance = random.Random(5)
    runs = 0
    for number in range(40):
        folders = [tmp_path / f"{number}" / letter for letter in "abcd"]
        for folder in folders:
            kind = chance.choice(("program", "program", "text", "folder", "link", "broken", "none", "missing"))
            file = folder / "prog"
            if kind != "missing":
                folder.mkdir(parents=True)
            if kind == "program":
                program(file, 'echo "$0"')
            elif kind == "text":
                file.write_text("text")
            elif kind == "folder":
                file.mkdir()
            elif kind == "link":
                program(folder / "other", 'echo "$0"')
                os.symlink("other", file)
            elif kind == "broken":
                os.symlink("nowhere", file)
        found = find_program("prog", [*map(str, folders)])
        path = os.pathsep.join([*map(str, folders), os.defpath])
        for words in (["prog"], ["env", "prog"], ["nice", "prog"], ["bash", "-c", "prog"]):
            done = subprocess.run(
                ["/bin/bash", "-c", " ".join(words)],
                env={"PATH": path},
                capture_output=True,
                text=True,
                check=False,
            )
            ran = done.stdout.strip() if done.returncode == 0 else ""
            assert ran == found, (words, done.stderr)
            runs += bool(ran)
    assert runs > 80


async def test_the_shell_tool_runs_nothing_planted_unasked(root: Path) -> None:
    """Whole, from the call to the program: what `pip` and `ls` in the workspace would have done, they have not."""
    mark = root.parent / "ran"
    for name in ("pip", "ls"):
        program(root / ".venv" / "bin" / name, f"echo ran >> {mark}")
    bash = next(tool for tool in shell_tools(None) if tool.name == "run_bash")
    environment: dict[str, Any] = {"PATH": path_of(root)}
    gate = Gate(workspace=Workspace(root), policy=Policy("auto-edit"), environment=environment)
    for number, line in enumerate(("pip --version", "ls", "ls -la | head", "command ls")):
        decision = await gate.decide(ToolInvocation(f"c{number}", "run_bash", {"command": line}), bash)
        if isinstance(decision, Ticket):
            await Executor(gate).run(decision)
    assert not mark.exists()
    result = await call_tool(bash, {"command": "true"}, root)
    assert "exit code" not in result.content
