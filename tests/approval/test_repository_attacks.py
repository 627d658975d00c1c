"""Repositories made to be taken for others: git obeys one configuration while another one is looked at."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from programs import needs
from toolwire.approval import places
from toolwire.approval.parts import MAX_LOOKS
from toolwire.approval.places import Workspace
from toolwire.approval.policy import Policy
from toolwire.approval.repository import Reading, read_by_git
from toolwire.approval.rules import Decision, Rule
from toolwire.approval.run_files import files_run
from toolwire.tools.definition import Risk, ToolDefinition

pytestmark = needs("git")

BASH = ToolDefinition("bash", "", {"properties": {"command": {}}}, Risk.EXECUTE, command="command", shell="bash")
EVIL = "[core]\n\tfsmonitor = touch {}; false\n"
EVERY_GIT = Rule(decision=Decision.ALLOW, command=("git *",))


def git(root: Path, *words: str) -> None:
    line = ["git", "-c", "user.name=a", "-c", "user.email=a@b", *words]
    subprocess.run(line, cwd=root, check=True, capture_output=True)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "w"
    (root / "sub").mkdir(parents=True)
    git(root, "init", "-q", "-b", "main")
    return root


def judged(root: Path, line: str, mode: str = "read-only", *rules: Rule) -> Decision:
    return Policy(mode, rules).judge(BASH, {"command": line}, Workspace(root)).decision


def owns(root: Path, line: str) -> bool:
    """Whether the line, run for real, runs the program of the repository."""
    owned = root.parent / "owned"
    owned.unlink(missing_ok=True)
    subprocess.run(["bash", "-c", line], cwd=root, check=False, capture_output=True)
    return owned.exists()


def plant(root: Path, config: Path) -> None:
    with config.open("a") as file:
        file.write(EVIL.format(root.parent / "owned"))


def _without_head(git_folder: Path) -> None:
    (git_folder / "HEAD").write_text("x\n")


def _without_parts(git_folder: Path) -> None:
    shutil.rmtree(git_folder / "objects")


def _with_linked_head(git_folder: Path) -> None:
    (git_folder / "HEAD").rename(git_folder / "head")
    (git_folder / "HEAD").symlink_to("head")


def _with_parts_elsewhere(git_folder: Path) -> None:
    (git_folder / "commondir").write_text("nowhere\n")


@pytest.mark.parametrize("spoil", [_without_head, _without_parts, _with_linked_head, _with_parts_elsewhere])
def test_a_git_folder_that_is_no_repository_hides_no_other(root: Path, spoil: Callable[[Path], object]) -> None:
    git(root, "init", "-q", "sub")
    git(root, "init", "-q", "--bare", "sub")
    git(root / "sub", "config", "-f", "config", "core.bare", "false")
    git(root / "sub", "config", "-f", "config", "core.worktree", "..")
    plant(root, root / "sub/config")
    assert not owns(root, "cd sub && git status")
    assert judged(root, "cd sub && git status") is Decision.ALLOW
    spoil(root / "sub/.git")
    assert owns(root, "cd sub && git status")
    for mode in ("read-only", "full"):
        assert judged(root, "cd sub && git status", mode, EVERY_GIT) is Decision.ASK
    assert judged(root, "git status") is Decision.ALLOW


def test_a_folder_that_a_link_leads_to_is_looked_at_where_it_lies(root: Path) -> None:
    git(root, "init", "-q", "other")
    (root / "other/deep").mkdir()
    (root / "link").symlink_to("other/deep")
    assert judged(root, "cd link && git status") is Decision.ALLOW
    plant(root, root / "other/.git/config")
    assert owns(root, "cd link && git status")
    assert judged(root, "cd link && git status") is Decision.ASK


def with_former_submodule(root: Path) -> None:
    """A submodule that only the history names, whose configuration says how differences are shown."""
    sub = root / "sub"
    git(sub, "init", "-q", "-b", "main")
    for text in "ab":
        (sub / "file").write_text(text)
        git(sub, "add", "file")
        git(sub, "commit", "-q", "-m", text)
        git(root, "add", "sub")
        git(root, "commit", "-q", "-m", text)
    git(root, "rm", "-q", "--cached", "sub")
    git(root, "commit", "-q", "-m", "c")
    git(sub, "config", "diff.external", f"touch {root.parent / 'owned'};:")


@pytest.mark.parametrize("line", ["git log -p {}", "git show HEAD~1 {}", "git diff HEAD~2 HEAD~1 {}"])
def test_git_is_not_started_in_a_submodule_unasked(root: Path, line: str) -> None:
    with_former_submodule(root)
    told = line.format("--submodule=diff")
    assert owns(root, told)
    assert judged(root, told) is Decision.DENY
    for how in ("--submodule", "--submodule=log", "--submodule=short", ""):
        assert not owns(root, line.format(how))
        assert judged(root, line.format(how)) is Decision.ALLOW
    git(root, "config", "diff.submodule", "log")
    assert judged(root, line.format("")) is Decision.ALLOW
    git(root, "config", "diff.submodule", "diff")
    assert owns(root, line.format(""))
    assert judged(root, line.format("")) is Decision.ASK


@pytest.mark.parametrize("line", ["git -C sub status", "git -C sub/deep -C .. status", 'git -C "$PWD/sub" status'])
def test_the_repository_that_is_named_is_the_one_that_is_looked_at(root: Path, line: str) -> None:
    (root / "sub/deep").mkdir()
    git(root, "init", "-q", "sub")
    plant(root, root / "sub/.git/config")
    assert owns(root, line)
    assert judged(root, line, "ask", EVERY_GIT) is Decision.ASK
    assert judged(root, line, "full") is Decision.ASK
    # What does more than read is allowed with all that it runs.
    assert judged(root, "git -C sub commit -m x", "full") is Decision.ALLOW


@pytest.mark.parametrize(
    "line", ["git -C bare status", "git --git-dir=bare --work-tree=. status", "git --git-dir bare log"]
)
def test_plain_files_that_are_named_for_a_repository_are_asked_about(root: Path, line: str) -> None:
    git(root, "init", "-q", "--bare", "bare")
    assert judged(root, line, "full", EVERY_GIT) is Decision.ASK
    assert judged(root, "git -C sub log", "full") is Decision.ALLOW


def test_an_approval_is_bound_to_the_configuration_that_is_named(root: Path) -> None:
    git(root, "init", "-q", "sub")
    (root / "link").symlink_to("sub")
    for line in ("git -C sub commit -m x", "cd link && git commit -m x"):
        assert str(root / "sub/.git/config") in files_run(BASH, {"command": line}, Workspace(root))


def test_a_filter_that_everybody_has_is_no_program_of_the_workspace(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / "bin").mkdir()
    monkeypatch.setenv("PATH", f"{root / 'bin'}:/usr/bin:/bin")
    assert judged(root, "git status") is Decision.ALLOW
    (root / "bin/git-lfs").write_text(f"#!/bin/sh\ntouch {root.parent / 'owned'}\n")
    (root / "bin/git-lfs").chmod(0o755)
    (root / ".gitattributes").write_text("*.x filter=lfs\n")
    (root / "a.x").write_text("a")
    git(root, "add", "--intent-to-add", "a.x", ".gitattributes")
    git(root, "config", "filter.lfs.process", "git-lfs filter-process")
    assert owns(root, "git diff")
    for mode in ("read-only", "full"):
        assert judged(root, "git diff", mode, EVERY_GIT) is Decision.ASK


def test_a_repository_is_looked_at_once_for_a_call(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[str] = []

    def look(folder: str) -> Reading:
        looked.append(folder)
        return read_by_git(folder)

    monkeypatch.setattr(places, "read_by_git", look)
    once = Workspace(root).looking_once()
    line = {"command": "; ".join(["git status"] * 100)}
    assert Policy("ask").judge(BASH, line, once).decision is Decision.ALLOW
    files_run(BASH, line, once)
    assert looked == [str(root)]


def test_only_so_many_patterns_are_looked_for(root: Path) -> None:
    for joint in (" ", "; cat "):
        words = [f"a*{number}" for number in range(MAX_LOOKS // 2)]
        assert judged(root, f"cat {joint.join(words[:100])}") is Decision.ALLOW
        assert judged(root, f"cd sub; cd ../sub; cat {joint.join(words)}") is Decision.DENY
    many = ",".join(map(str, range(MAX_LOOKS)))
    assert judged(root, f"cat a{{{many}}}", "full") is Decision.ALLOW
    assert judged(root, f"cat a{{{many},b}}", "full") is Decision.DENY
    assert judged(root, f"cat {'{a,b}' * 1000}", "full") is Decision.DENY
    assert judged(root, "diff " + " ".join("./" * number for number in range(1, MAX_LOOKS))) is not Decision.ALLOW


def test_only_so_many_folders_lead_git_on(root: Path) -> None:
    assert judged(root, f"git {'-C sub -C .. ' * 4} status", "full") is Decision.ALLOW
    assert judged(root, f"git {'-C sub -C .. ' * 5} status", "full") is Decision.ASK
