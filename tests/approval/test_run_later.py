"""Files that run later are asked about, whatever allows writing."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from bench.trust.run_later import unasked_writes

import toolwire
from toolwire.approval.places import Workspace
from toolwire.approval.policy import Policy
from toolwire.approval.rules import Decision, Rule
from toolwire.approval.run_later import listed, runs_later
from toolwire.tools.definition import Risk, ToolDefinition

WRITE = ToolDefinition("write", "", {"properties": {"path": {}}}, Risk.WRITE, paths=("path",))
READ = ToolDefinition("read", "", {"properties": {"path": {}}}, Risk.READ, paths=("path",))
BASH = ToolDefinition("bash", "", {"properties": {"command": {}}}, Risk.EXECUTE, command="command", shell="bash")
ANYTHING = Rule(decision=Decision.ALLOW, tool=("*",))


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path)


_MORE = "hooks/pre-commit .gitpod.yml .replit .helix .cargo/env .kube/config .gradle/init.d .local/state/toolwire"


def test_the_list_names_what_the_most_known_attacks_wrote() -> None:
    known = ".git .bashrc .zshenv .profile .envrc .vscode .idea .mcp.json .toolwire .gitlab-ci.yml jenkinsfile .husky"
    for name in (
        *known.split(),
        ".github/workflows",
        ".config/systemd",
        ".config/autostart",
        ".npmrc",
        ".ssh",
        *_MORE.split(),
    ):
        assert name in listed()


@pytest.mark.parametrize(
    "written",
    [
        lambda name: name,
        str.upper,
        lambda name: f"a/b/{name}/c/d.txt",
        lambda name: f"./x/../{name}",
        lambda name: f"{name}. ",
        lambda name: name.replace("i", "\u200di", 1),
    ],
    ids=["as it is", "other case", "below", "spelled round", "with a dot and a blank", "with a letter nobody sees"],
)
def test_each_is_seen_however_it_is_spelled(written: Callable[[str], str], workspace: Workspace) -> None:
    assert [name for name in listed() if not runs_later(workspace.place(written(name)))] == []


@pytest.mark.parametrize(
    "path",
    [
        "src/main.py",
        "gitignore.md",
        ".gitignore",
        ".github/README.md",
        ".config/app/settings.toml",
        "profile.py",
        "docs/ci.md",
        "git/hooks.py",
        "vscode/tasks.json",
        "mygit~1",
    ],
)
def test_what_is_not_on_it_is_not_asked_about(path: str, workspace: Workspace) -> None:
    assert not runs_later(workspace.place(path))
    assert Policy("auto-edit").judge(WRITE, {"path": path}, workspace).decision is Decision.ALLOW


def test_the_endings_and_the_systems_own_folders(workspace: Workspace) -> None:
    for path in ("my.code-workspace", "lib/site.pth", "/etc/cron.d/x", "/etc/profile", "/var/spool/cron/root"):
        assert runs_later(workspace.place(path)), path


@pytest.mark.parametrize(
    "path",
    [
        ".venv/bin/pytest",
        "venv/Scripts/python.exe",
        "made/bin/ruff",
        "env/bin/activate",
        ".yarn/releases/yarn-4.cjs",
        ".pnp.cjs",
        ".mvn/wrapper/maven-wrapper.jar",
        "gradlew",
        "gradle/wrapper/gradle-wrapper.jar",
        "flake.nix",
        "githooks/pre-push",
        ".githooks/any",
        "node_modules/.bin/jest",
        "bunfig.toml",
        ".tool-versions",
        ".direnv/x",
    ],
)
def test_programs_in_the_place_of_others_and_what_entering_a_folder_runs(path: str, workspace: Workspace) -> None:
    os.mkdir(f"{workspace.root}/made")
    Path(f"{workspace.root}/made/pyvenv.cfg").touch()
    verdict = Policy("full", [ANYTHING]).judge(WRITE, {"path": path}, workspace)
    assert (verdict.decision, verdict.source) == (Decision.ASK, "runs later")


@pytest.mark.parametrize(
    "path",
    [
        *("package.json", "Makefile", "pyproject.toml", "setup.py", "conftest.py", "tox.ini", "noxfile.py", "pom.xml"),
        *("build.gradle", "Vagrantfile", "Tiltfile", "AGENTS.md", "CLAUDE.md", ".gitattributes", "bin/tool", ".yarn/x"),
        *("scripts/build.sh", "src/venv/bin.py", "docs/activate.md", "node_modules/x/index.js", "gradle/libs.versions"),
    ],
)
def test_what_people_edit_as_the_work_is_no_matter_of_it(path: str, workspace: Workspace) -> None:
    assert Policy("auto-edit").judge(WRITE, {"path": path}, workspace).decision is Decision.ALLOW


def test_a_command_may_name_a_virtual_environment(workspace: Workspace) -> None:
    os.makedirs(f"{workspace.root}/.venv/bin")
    os.symlink(sys.executable, f"{workspace.root}/.venv/bin/python")
    for line in ("ruff check --exclude .venv", "uv pip list --python .venv/bin/python", ".venv/bin/pytest -q"):
        assert Policy("full").judge(BASH, {"command": line}, workspace).decision is Decision.ALLOW, line


def test_toolwire_itself_is_not_changed_unasked() -> None:
    package = Path(toolwire.__file__).parent
    for path in (package / "new.py", Path(sys.prefix, "lib", "x.py")):
        assert "Toolwire itself" in runs_later(Workspace(path.parent).place(str(path)))


def test_a_command_may_name_the_python_that_runs_it(workspace: Workspace) -> None:
    """It cannot be written from the workspace, and often is the system's."""
    assert not runs_later(workspace.place(str(Path(sys.prefix, "bin", "python"))))


def test_no_rule_and_no_mode_lets_it_be_written_unasked(workspace: Workspace) -> None:
    for mode in ("ask", "auto-edit", "full"):
        verdict = Policy(mode, [ANYTHING]).judge(WRITE, {"path": ".git/hooks/pre-commit"}, workspace)
        assert verdict.decision is Decision.ASK
        assert "version control runs what stands there" in verdict.why
    assert Policy("ask").judge(READ, {"path": ".git/hooks/pre-commit"}, workspace).decision is Decision.ALLOW


def test_a_link_to_it_is_it(workspace: Workspace) -> None:
    os.mkdir(f"{workspace.root}/.git")
    os.symlink(".git", f"{workspace.root}/docs")
    assert Policy("full").judge(WRITE, {"path": "docs/config"}, workspace).decision is Decision.ASK


@pytest.mark.parametrize(
    ("command", "decision"),
    [
        ("echo x > .git/hooks/pre-commit", Decision.ASK),
        ("cp hook .git/hooks/pre-commit", Decision.ASK),
        ("tee -a ~/.bashrc", Decision.ASK),
        ("cat .git/config", Decision.ALLOW),
        ("npm test", Decision.ALLOW),
    ],
)
def test_commands_that_name_one_are_asked_about_too(command: str, decision: Decision, workspace: Workspace) -> None:
    assert Policy("full", [ANYTHING]).judge(BASH, {"command": command}, workspace).decision is decision


def test_none_is_written_unasked() -> None:
    found = unasked_writes(120, 1)
    assert found.runs == 120
    assert found.faults == []
