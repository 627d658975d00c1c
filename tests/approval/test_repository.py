"""`git status` only reads, but not where the repository names a program that git runs for it."""

from __future__ import annotations

import random
import shutil
import subprocess
from pathlib import Path

import pytest

from programs import needs
from toolwire.approval import repository
from toolwire.approval.git_config import settings
from toolwire.approval.places import Workspace
from toolwire.approval.policy import Policy
from toolwire.approval.repository import MOST_BYTES, configured, read_by_git, repository_in
from toolwire.approval.rules import Decision, Rule
from toolwire.tools.definition import Risk, ToolDefinition

pytestmark = needs("git")

BASH = ToolDefinition("bash", "", {"properties": {"command": {}}}, Risk.EXECUTE, command="command", shell="bash")
GIT_RULE = Rule(decision=Decision.ALLOW, command=("git status *", "git status"))


def git(root: Path, *words: str) -> str:
    line = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-c", "protocol.file.allow=always", *words]
    return subprocess.run(line, cwd=root, check=True, capture_output=True, text=True).stdout


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("template") / "w"
    root.mkdir()
    git(root, "init", "-q", "-b", "main")
    (root / "file").write_text("x\n")
    git(root, "add", "file")
    git(root, "commit", "-q", "-m", "one")
    (root / "sub").mkdir()
    return root


@pytest.fixture
def root(template: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(template, tmp_path / "w"))


def judged(root: Path, line: str = "git status", mode: str = "ask", *rules: Rule) -> Decision:
    return Policy(mode, rules).judge(BASH, {"command": line}, Workspace(root)).decision


def runs_on_status(root: Path, folder: str = ".") -> bool:
    """Whether git really runs `touch owned` of the repository."""
    (root / "file").write_text("changed\n")
    for words in (["status"], ["diff"], ["log", "-p", "-1"]):
        subprocess.run(["git", *words], cwd=root / folder, capture_output=True, check=False)
    return bool(list(root.rglob("owned")))


HOSTILE = [
    "[core]\n\tfsmonitor = touch owned; false",
    '[CORE]FSMonitor="touch owned; false"',
    "[core]\n\tfsmonitor = \\\ntouch owned",
    "[diff]\n\texternal = touch owned;:",
    '[filter "f"]\n\tclean = touch owned; cat',
    '[diff "f"]\n\ttextconv = touch owned; cat',
    "[include]\n\tpath = ../extra",
    '[includeIf "gitdir:**"]\n\tpath = ../extra',
    "\ufeff[core]\r\n\tfsmonitor = touch owned; false\r\n",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_a_shipped_configuration_that_names_a_program_is_asked_about(root: Path, text: str) -> None:
    (root / "extra").write_text("[core]\n\tfsmonitor = touch owned; false\n")
    (root / ".gitattributes").write_text("file filter=f diff=f\n")
    assert judged(root) is Decision.ALLOW
    with (root / ".git/config").open("a", newline="") as file:
        file.write(f"{text}\n") if not text.startswith("\ufeff") else (root / ".git/config").write_text(
            text, newline=""
        )
    assert runs_on_status(root), "the trial itself does nothing"
    for mode in ("read-only", "ask", "full"):
        assert judged(root, "git status", mode, GIT_RULE) is Decision.ASK
    for line in ("git diff", "git log -p", "git blame file", "cd sub && git status", "timeout 5 git show"):
        assert judged(root, line) is Decision.ASK, line
    assert judged(root, "cat .git/config") is Decision.ALLOW


@pytest.mark.parametrize(
    "text",
    [
        '[remote "o"]\n\turl = x\n\tfetch = y\n[branch "a.b"]\n\tremote = o\n\tmerge = r\n\tvscode-merge-base = m',
        "[user]\n\tname = x\n[alias]\n\tst = !rm\n[pull]\n\trebase = true\n[core]\n\tautocrlf",
        "[core]\n\tfsmonitor = true\n\tsshCommand = ssh -i key\n[credential]\n\thelper = store",
        '[filter "lfs"]\n\tclean = git-lfs clean -- %f\n\tsmudge = git-lfs smudge -- %f\n\tprocess = git-lfs '
        'filter-process\n\trequired = true\n[lfs "https://x/y.git/info/lfs"]\n\taccess = basic',
        '[extensions]\n\tworktreeConfig = true\n[remote "o"]\n\tpromisor = true\n\tpartialclonefilter = blob:none',
        "[gui]\n\tgeometry = 1 2\n[gitflow]\n\tversion = 1\n[github]\n\tuser = x",
        "[core]\n\thooksPath = .husky/_",
        '[includeIf "gitdir:/x"]\n\tpath = ../missing',
    ],
)
def test_a_plain_configuration_is_not(root: Path, text: str) -> None:
    with (root / ".git/config").open("a") as file:
        file.write(f"{text}\n")
    for line in ("git status", "git log -p", "git diff HEAD~1"):
        assert judged(root, line) is Decision.ALLOW


@pytest.mark.parametrize(
    "text",
    [
        "[core]\n\tpager = x",
        "[gpg]\n\tprogram = x",
        '[hook "x"]\n\tcommand = x',
        "[brandnew]\n\tkey = x",
        "[alias]\n\twhatchanged = !x",
        "[core]\n\tworktree = /",
        '[extensions]\n\tpartialClone = o\n[remote "o"]\n\tuploadpack = x',
        '[core]\n\tsshCommand = x\n[remote "o"]\n\tpromisor = true',
        '[filter "lfs"]\n\tclean = x',
        "[include]\n\tpath = ../loop",
        "[core\n",
    ],
)
def test_what_is_not_known_to_be_plain_is_asked_about(root: Path, text: str) -> None:
    (root / "loop").write_text("".join(f"[include]\n\tpath = loop{n}\n" for n in range(200)))
    with (root / ".git/config").open("a") as file:
        file.write(f"{text}\n")
    assert judged(root) is Decision.ASK


def test_the_person_is_told_which_key_it_is_and_what_to_do(root: Path) -> None:
    git(root, "config", "diff.external", "x")
    why = Policy("ask").judge(BASH, {"command": "git diff"}, Workspace(root)).why
    assert "the command 'git diff' may run more than it says" in why
    assert f"diff.external in the configuration of the repository {root} may name a program" in why
    assert "set it in your own ~/.gitconfig" in why


def test_what_does_more_than_read_is_judged_as_ever(root: Path) -> None:
    git(root, "config", "core.fsmonitor", "x")
    assert judged(root, "git commit -m x") is Decision.ASK
    assert judged(root, "git commit -m x", "full") is Decision.ALLOW


def test_a_hook_that_reading_runs_is_asked_about(root: Path) -> None:
    hook = root / ".git/hooks/post-index-change"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\ntouch owned\n")
    hook.chmod(0o755)
    assert judged(root) is Decision.ASK
    hook.unlink()
    (root / "hooks").mkdir()
    git(root, "config", "core.hooksPath", "hooks")
    assert judged(root) is Decision.ALLOW
    (root / "hooks/post-index-change").touch()
    assert judged(root) is Decision.ASK


def test_a_linked_worktree_has_the_configuration_of_its_repository(root: Path) -> None:
    git(root, "worktree", "add", "-q", "-b", "b", "../linked")
    linked = root.parent / "linked"
    assert judged(linked) is Decision.ALLOW
    git(root, "config", "core.fsmonitor", "touch owned")
    assert judged(linked) is Decision.ASK


def test_a_led_away_common_folder_is_followed(root: Path) -> None:
    (root / "evil").mkdir()
    (root / "evil/config").write_text("[core]\n\tfsmonitor = x\n")
    (root / ".git/commondir").write_text("../evil\n")
    assert judged(root) is Decision.ASK


@pytest.mark.parametrize("version", ["2", "4"])
def test_submodules_are_read_too(root: Path, version: str) -> None:
    git(root, "init", "-q", "sub")
    git(root / "sub", "commit", "-q", "--allow-empty", "-m", "x")
    (root / "size").write_bytes(b"x" * 0xE000)  # looks like the mode of a submodule
    git(root, "add", "size")
    assert judged(root) is Decision.ALLOW
    git(root, "add", "sub")
    assert judged(root) is Decision.ALLOW
    git(root, "update-index", "--index-version", version)
    git(root / "sub", "config", "core.fsmonitor", "touch owned; false")
    assert judged(root) is Decision.ASK
    assert runs_on_status(root)


def test_an_index_that_cannot_be_looked_through_is_asked_about(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(repository, "MOST_INDEX", 10)
    assert judged(root) is Decision.ASK


def test_reading_a_configuration_is_bounded(root: Path) -> None:
    (root / ".git/config").write_text(f"# {'x' * MOST_BYTES}\n")
    found = repository_in(str(root))
    assert found is not None
    assert "too large" in configured(found).problem
    assert "cannot be checked" in read_by_git(str(root)).program


def test_what_git_reads_is_what_is_bound(root: Path) -> None:
    git(root, "config", "include.path", "../extra")
    files = read_by_git(str(root)).files
    for name in (".git", ".git/config", "extra", ".git/hooks/post-index-change", ".git/commondir"):
        assert str(root / name) in files


_PIECES = [
    *("[core]", '[a "b\\"c"]', "[Inc.Lude]", "\n", "fsMonitor", " = ", "=", "x y", "  ", "#c", "; z", "\\\n"),
    *('"q q"', "\\t", "\\", '"', "]", "[", "k1", "\t", "\r\n", "é"),
]


def test_a_configuration_is_read_as_git_reads_it(tmp_path: Path) -> None:
    """All that git accepts, with the same keys and values."""
    chance = random.Random(7)
    file = tmp_path / "config"
    accepted = 0
    for _ in range(120):
        text = "[core]" + "".join(chance.choice(_PIECES) for _ in range(chance.randrange(1, 8)))
        file.write_bytes(text.encode())
        line = ["git", "config", "-z", "-f", str(file), "--list"]
        listed = subprocess.run(line, capture_output=True, text=True, check=False, encoding="utf-8")
        try:
            mine = list(settings(text))
        except ValueError:
            mine = None
        if listed.returncode == 0:
            accepted += 1
            pairs = [entry.partition("\n") for entry in listed.stdout.split("\0")[:-1]]
            assert mine == [(key, value if mark else "true") for key, mark, value in pairs], text
    assert accepted > 10
