"""What a command runs by path is a part of what was approved: changed in between, it does not run."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from programs import needs
from toolwire.approval.contents import identity, plain_content
from toolwire.approval.gate import Denial, Gate, Ticket
from toolwire.approval.places import Workspace
from toolwire.approval.policy import Policy
from toolwire.approval.request import ApprovalRequest
from toolwire.approval.run_files import MOST_BYTES, MOST_FILES, changed, files_run, identities
from toolwire.errors import TicketRefused
from toolwire.execution.executor import Executor
from toolwire.stream.invocation import ToolInvocation
from toolwire.tools.definition import Risk, ToolDefinition

SHELL = {"properties": {"command": {"type": "string"}, "cwd": {"type": "string"}}}
RAN: list[str] = []
BASH = ToolDefinition(
    "bash",
    "",
    SHELL,
    Risk.EXECUTE,
    lambda given: RAN.append(given["command"]),
    command="command",
    folder="cwd",
    shell="bash",
)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "w/sub").mkdir(parents=True)
    return tmp_path / "w"


def run_by(line: str, root: Path, cwd: str | None = None) -> set[str]:
    """The files of the workspace that a line runs, by their names in it."""
    arguments: dict[str, Any] = {"command": line} | ({} if cwd is None else {"cwd": cwd})
    found = files_run(BASH, arguments, Workspace(root))
    return {os.path.relpath(path, root) for path in found if path.startswith(f"{root}/")}


@pytest.mark.parametrize(
    ("line", "files"),
    [
        ("bash build.sh", {"build.sh"}),
        ("bash -eu build.sh all", {"build.sh"}),
        ("./build.sh all", {"build.sh"}),
        ("sub/x.sh && echo done", {"sub/x.sh"}),
        ("cd sub && bash x.sh", {"x.sh", "sub/x.sh"}),
        ("python3.11 tool.py data.csv", {"tool.py"}),
        ("node -r ./hook.js app.js", {"hook.js", "app.js"}),
        ("node --require=./hook.js app.js", {"hook.js", "app.js"}),
        ("env A=1 timeout 5 bash build.sh", {"build.sh"}),
        ("sh -c 'bash build.sh'", {"build.sh"}),
        ("source env.sh", {"env.sh"}),
        (". ./env.sh", {"env.sh"}),
        ("bash < build.sh", {"build.sh"}),
        ("cat build.sh | bash", {"build.sh"}),
        ("cat build.sh | bash -s -- all", {"build.sh"}),
        ("cat build.sh | bash /dev/stdin", {"build.sh"}),
        ("cat tool.py | python3 - all", {"tool.py"}),
        ("bash <(cat build.sh)", {"build.sh"}),
        ('bash -c "$(cat build.sh)"', {"build.sh"}),
        ("awk -f tool.awk", {"tool.awk"}),
        ('cat data.csv | python tool.py "$x"', {"tool.py"}),
        ("find . -name '*.txt' -exec ./each.sh '{}' ';'", {"each.sh"}),
        ("python -m tool.sub x", {"tool/sub.py", "tool/sub/__main__.py"}),
        ("make all", {"GNUmakefile", "makefile", "Makefile"}),
        ("echo build.sh; ls build.sh; git log", set()),
        ("cp build.sh other.sh", set()),
        ("grep -r bash .", set()),
    ],
)
def test_what_a_line_runs(line: str, files: set[str], root: Path) -> None:
    found = {path for path in run_by(line, root) if not path.startswith(".git")}
    assert files <= found if files else not found
    assert "data.csv" not in found


def test_where_it_runs_counts(root: Path) -> None:
    assert run_by("bash x.sh", root, "sub") == {"sub/x.sh"}
    assert "sub/Makefile" in run_by("make -C sub", root)
    assert "sub/package.json" in run_by("npm --prefix sub test", root)
    (root / "tests.py").touch()
    assert {"tests.py", "conftest.py"} <= run_by("python -m pytest tests.py", root)
    assert {"tests.py", "conftest.py", ".venv/bin/pytest"} <= run_by(".venv/bin/pytest tests.py", root)


def test_a_link_is_bound_by_what_it_leads_to(root: Path) -> None:
    (root / "build.sh").symlink_to("sub/real.sh")
    assert run_by("bash build.sh", root) == {"sub/real.sh"}


def test_only_so_many_are_bound(root: Path) -> None:
    assert len(files_run(BASH, {"command": "; ".join(f"./{n}" for n in range(200))}, Workspace(root))) <= MOST_FILES


def test_what_is_no_command_runs_no_file(root: Path) -> None:
    for arguments in ({"command": 7}, {}, {"command": "bash x.sh", "cwd": "a\0b"}, {"command": "bash 'unclosed"}):
        files_run(BASH, arguments, Workspace(root))
    assert files_run(ToolDefinition("t", "", {}, Risk.WRITE), {"command": "bash x.sh"}, Workspace(root)) == ()


# ---- between the question and the yes, and between the yes and the run


def write(root: Path) -> None:
    (root / "build.sh").write_text("echo evil\n")


def replace(root: Path) -> None:
    (root / "new").write_text("echo evil\n")
    (root / "new").rename(root / "build.sh")


def remove(root: Path) -> None:
    (root / "build.sh").unlink()


def link(root: Path) -> None:
    (root / "build.sh").unlink()
    (root / "build.sh").symlink_to("sub/other.sh")


CHANGES = [write, replace, remove, link]


@pytest.mark.parametrize("change", CHANGES)
async def test_a_script_that_changes_while_the_person_is_asked_does_not_run(
    root: Path, change: Callable[[Path], None]
) -> None:
    (root / "build.sh").write_text("echo good\n")

    async def ask(_: ApprovalRequest) -> bool:
        change(root)
        return True

    gate = Gate(ask, workspace=Workspace(root))
    decision = await gate.decide(ToolInvocation("c", "bash", {"command": "bash build.sh"}), BASH)
    assert isinstance(decision, Denial)
    assert "'build.sh'" in decision.reason
    assert "which it runs, was changed while the person was asked; make the call again" in decision.reason


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("mode", ["ask", "full"])
async def test_a_script_that_changes_after_the_yes_does_not_run(
    root: Path, change: Callable[[Path], None], mode: str
) -> None:
    (root / "build.sh").write_text("echo good\n")

    async def yes(_: ApprovalRequest) -> bool:
        return True

    RAN.clear()
    gate = Gate(yes, policy=Policy(mode), workspace=Workspace(root))
    ticket = await gate.decide(ToolInvocation("c", "bash", {"command": "bash build.sh"}), BASH)
    assert isinstance(ticket, Ticket)
    change(root)
    with pytest.raises(TicketRefused, match=r"'build\.sh'.*, which it runs, was changed after it was approved"):
        await Executor(gate).run(ticket)
    assert RAN == []


async def test_a_script_that_comes_to_be_meanwhile_is_a_change(root: Path) -> None:
    gate = Gate(policy=Policy("full"), workspace=Workspace(root))
    ticket = await gate.decide(ToolInvocation("c", "bash", {"command": "bash build.sh"}), BASH)
    assert isinstance(ticket, Ticket)
    write(root)
    with pytest.raises(TicketRefused, match="build"):
        await Executor(gate).run(ticket)


async def test_what_stays_as_it_was_runs(root: Path) -> None:
    (root / "build.sh").write_text("echo good\n")
    (root / "data.csv").write_text("1")
    gate = Gate(policy=Policy("full"), workspace=Workspace(root))
    ticket = await gate.decide(ToolInvocation("c", "bash", {"command": "bash build.sh data.csv"}), BASH)
    assert isinstance(ticket, Ticket)
    os.utime(root / "build.sh", (1, 1))
    (root / "data.csv").write_text("2")
    RAN.clear()
    await Executor(gate).run(ticket)
    assert RAN == ["bash build.sh data.csv"]


@needs("git")
async def test_a_configuration_that_changes_in_between_is_a_change(root: Path) -> None:
    (root / ".git").mkdir()
    (root / ".git/HEAD").write_text("ref: refs/heads/main\n")
    (root / ".git/config").write_text("[core]\n\tbare = false\n")
    gate = Gate(workspace=Workspace(root))
    ticket = await gate.decide(ToolInvocation("c", "bash", {"command": "git status"}), BASH)
    assert isinstance(ticket, Ticket)
    (root / ".git/config").write_text("[core]\n\tfsmonitor = touch owned\n")
    with pytest.raises(TicketRefused, match=r"\.git/config"):
        await Executor(gate).run(ticket)


# ---- what a file is known by


def test_only_plain_files_are_opened(root: Path) -> None:
    os.mkfifo(root / "pipe")
    assert plain_content(str(root / "pipe"), 10) is None
    assert plain_content(str(root), 10) is None
    assert plain_content("/dev/zero", 10) is None
    assert plain_content("a\0b", 10) is None
    assert identity(str(root / "pipe"), 10)[1] == 0
    assert identity(str(root / "gone"), 10) == ("missing", 0)
    assert identity(str(root), 10) == ("a folder", 0)


def test_large_files_are_known_by_their_facts(root: Path) -> None:
    (root / "large").write_bytes(b"")
    os.truncate(root / "large", MOST_BYTES + 1)
    first = identities([str(root / "large")], Workspace(root))
    assert first == identities([str(root / "large")], Workspace(root))
    with (root / "large").open("r+b") as file:
        file.write(b"x")
    os.utime(root / "large", ns=(1, 1))
    assert first != identities([str(root / "large")], Workspace(root))


def test_all_files_of_a_call_have_one_bound(root: Path) -> None:
    for name in "ab":
        (root / name).write_bytes(bytes(MOST_BYTES // 2 + 1))
    held = identities([str(root / "a"), str(root / "b")], Workspace(root))
    assert [len(value) == 64 for value in held.values()] == [True, False]


def test_programs_outside_are_known_by_their_facts(root: Path) -> None:
    (outside := root.parent / "program").write_text("x")
    first = identities([str(outside)], Workspace(root))
    shutil.copy2(outside, outside.with_name("copy"))
    outside.with_name("copy").rename(outside)
    assert identities([str(outside)], Workspace(root)) == first, "the same on another machine"
    outside.write_text("xy")
    assert identities([str(outside)], Workspace(root)) != first


def test_a_changed_file_is_named_from_the_workspace_only_where_it_lies_inside(tmp_path: Path) -> None:
    inside, beside = f"{tmp_path}/project/build.sh", f"{tmp_path}/project2/build.sh"
    workspace = Workspace(tmp_path / "project")
    assert changed({inside: "a", beside: "a"}, {inside: "b", beside: "b"}, workspace) == f"'build.sh' and {beside!r}"
