"""A rule that denies a file holds for what shows the file without naming it: a difference, a search, a blob."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from bench.trust.commands import verdict
from bench.trust.reach import CANARY, laid_out, shows_nothing_denied

from toolwire.approval.commands.dialects import Dialect
from toolwire.approval.commands.git import FORMS
from toolwire.approval.commands.readers import READERS, searches
from toolwire.approval.commands.shell import read_command_line
from toolwire.approval.places import Workspace
from toolwire.approval.policy import Policy
from toolwire.approval.rules import Decision, Rule

DENY = Rule(decision=Decision.DENY, path=("key.txt",))

SHOWS = [
    "git status -v",
    "git status -vv",
    "git status --verbose --short",
    "git status --unknown",
    "git log -p",
    "git log -1 --cc",
    "git log -c",
    "git log -m -p",
    "git log -U1",
    "git log --stat -p",
    "git log -S text",
    "git log -G text",
    "git log -L1,2:a.txt",
    "git log --word-diff",
    "git log --check",
    "git log --unknown",
    "git whatchanged -p",
    "git show",
    "git show --stat",
    "git show -s HEAD",
    "git rev-list -p HEAD",
    "git shortlog -p",
    "git diff",
    "git diff --cached",
    "git diff HEAD -- a.txt",
    "git diff --stat --no-index a b",
    "git diff --stat --word-diff",
    "git diff-tree -p HEAD",
    "git diff-tree HEAD",
    "git diff-index -p HEAD",
    "git diff-files -p",
    "git stash list -p",
    "git stash show",
    "git stash show -p",
    "git reflog -p",
    "git reflog show -p",
    "git grep x",
    "git grep -l x",
    "git cat-file -p HEAD:a.txt",
    "git cat-file blob HEAD:a.txt",
    "git cat-file -t -p HEAD",
    "git check-ignore -v x",
    "git check-attr -a x",
    "git for-each-ref --format='%(raw)'",
    "git branch --list --format '%(*raw)'",
    "git tag -l --format='%(if)%(raw)%(then)x%(end)'",
    "git for-each-ref --python --format='%(raw)'",
    "git archive HEAD",
    "git bundle create x HEAD",
    "git format-patch --stdout HEAD~1",
    "git fast-export --all",
    "git range-diff a b c",
    "git difftool",
    "git notes show",
    "git bisect visualize",
    "git unknown",
    "git add -p",
    "git add --pat",
    "git add -Ap",
    "git commit --dry-run -v",
    "git checkout -p",
    "git restore --patch",
    "git stash -p",
    "git stash push --patch",
    "git rebase --show-current-patch",
    "git -C docs diff",
    "git --no-pager diff",
    "git -c core.pager=x log",
    "git $x",
    "git commit $x",
    "/usr/bin/git diff",
    "GIT_PAGER=x git diff",
    "grep -rn x",
    "grep -d recurse x",
    "grep --recursive x",
    "grep -R x",
    "grep --dereference-recursive x",
    "A=b grep -r x",
    "/bin/grep -r x",
    "rg x",
    "rg --unknown x",
    "ag x",
    "rgrep x",
    "ack x",
]
SHOWS_WHAT_IT_NAMES = [
    "git status",
    "git status -sb --porcelain=v2",
    "git log --oneline -5",
    "git log --stat --format='%h %s' -n 3 -- a.txt",
    "git log --graph --all --decorate --name-only",
    "git whatchanged --oneline",
    "git rev-list --count HEAD",
    "git rev-list --objects --all",
    "git shortlog -sn HEAD",
    "git diff --stat",
    "git diff --cached --name-only HEAD",
    "git diff --quiet --raw",
    "git diff-tree -r --name-status HEAD",
    "git diff-index --cached --name-only HEAD",
    "git diff-files --name-only",
    "git stash list",
    "git stash show --stat",
    "git branch -avv",
    "git tag -n --list",
    "git remote -v",
    "git remote get-url origin",
    "git worktree list",
    "git reflog",
    "git reflog show -3 HEAD",
    "git rev-parse --show-toplevel",
    "git ls-files -s",
    "git ls-tree -r HEAD",
    "git blame a.txt",
    "git describe --tags",
    "git merge-base a b",
    "git name-rev HEAD",
    "git cat-file -t HEAD",
    "git cat-file -s HEAD",
    "git cat-file --batch-check",
    "git show-ref",
    "git for-each-ref --format='%(refname) %(subject)'",
    "git symbolic-ref HEAD",
    "git count-objects -v",
    "git check-ignore -q a",
    "git cherry -v",
    "git config --get user.name",
    "git version",
    "git --version",
    "git",
    "git branch -d x",
    "git tag v1",
    "git add .",
    "git add -A",
    "git commit -m 'x -p'",
    "git commit -am x",
    "git push -u origin main",
    "git pull --rebase",
    "git fetch -p",
    "git checkout -b x",
    "git stash",
    "git stash pop",
    "git reset --hard",
    "git clean -fd",
    "git -C docs status",
    "git -C docs commit -m x",
    "grep x a",
    "A=b grep x a",
    "cat a",
    "ls -R",
    "find . -name x",
    "tree",
    "fd x",
    "du",
    "diff a b",
    "npm test",
    "unknown",
]


@pytest.mark.parametrize("text", SHOWS)
def test_what_may_show_more_than_it_names_reads_everything_below(text: str) -> None:
    assert searches(read_command_line(text, Dialect.BASH).commands[0])


@pytest.mark.parametrize("text", SHOWS_WHAT_IT_NAMES)
def test_what_shows_only_what_it_names_does_not(text: str) -> None:
    assert not searches(read_command_line(text, Dialect.BASH).commands[0])


def test_every_form_of_git_and_every_searching_program_is_in_the_tables() -> None:
    lines = [*SHOWS, *SHOWS_WHAT_IT_NAMES]
    assert [form for form in FORMS if not any(line.startswith(f"git {form}") for line in lines)] == []
    assert [form for form in FORMS if FORMS[form].below and not any(f"git {form}" in line for line in SHOWS)] == []
    searching = {name for name, reader in READERS.items() if reader.below is None or reader.below}
    assert searching == {"grep", "egrep", "fgrep", "rg", "ag"}
    assert [name for name, reader in READERS.items() if reader.folders] == ["diff"]


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("repository")
    laid_out(folder)
    return folder


SHOWN = [
    "git status -vv",
    "git reflog -p",
    "git stash list -p",
    "git stash show -p",
    "git cat-file -p blob",
    "git cat-file blob noted^{}",
    "git show :0:secret/key.txt",
    "git for-each-ref --format='%(raw)'",
    "git log -p",
    "git diff",
    "git grep canary",
    "grep -r canary",
    "diff one two",
    "diff -r one two",
    "diff one secret/key.txt",
    "diff secret/key.txt two",
    "cd docs && git diff",
    "cd docs && git log -p",
]


@pytest.mark.parametrize("line", SHOWN)
@pytest.mark.parametrize("mode", ["read-only", "ask", "auto-edit", "full"])
def test_what_shows_a_denied_file_does_not_run_by_itself(line: str, mode: str, repository: Path) -> None:
    """Each of them does show it."""
    if "git" in line and shutil.which("git") is None:
        pytest.skip("git is not installed")
    done = subprocess.run(["bash", "-c", line], cwd=repository, capture_output=True, check=False)
    assert CANARY.encode() in done.stdout
    workspace = Workspace(repository)
    assert verdict(line, workspace, Policy(mode, [DENY])) is not Decision.ALLOW
    named = Rule(decision=Decision.ALLOW, command=("git *", "diff *", "grep *", "cd *"))
    assert verdict(line, workspace, Policy(mode, [DENY, named])) is not Decision.ALLOW


@pytest.mark.parametrize("pattern", ["secret/key.txt", "secret", "s*/key.txt"])
def test_in_a_folder_below_git_shows_the_whole_repository(pattern: str, repository: Path) -> None:
    inside = Workspace(repository, repository / "docs")
    deny = Rule(decision=Decision.DENY, path=(pattern,))
    for line in ("git diff", "git log -p", "git show HEAD:secret/key.txt", "git stash show -p", "git status -v"):
        assert verdict(line, inside, Policy("full", [deny])) is not Decision.ALLOW, line


def test_what_git_shows_of_a_repository_around_the_workspace_is_asked_about(repository: Path) -> None:
    """Names and numbers are not what files hold."""
    workspace = Workspace(repository / "docs")
    policy = Policy("ask")
    for line in ("git diff", "git show", "git log -p", "git stash show -p"):
        assert verdict(line, workspace, policy) is Decision.ASK, line
    for line in ("git status", "git log --oneline", "git diff --stat", "git blame b.txt", "git branch"):
        assert verdict(line, workspace, policy) is Decision.ALLOW, line
    assert verdict("git diff", Workspace(repository / "docs", further=[repository]), policy) is Decision.ALLOW


def test_what_is_common_and_shows_nothing_is_let_run_beside_a_denied_file(repository: Path) -> None:
    workspace = Workspace(repository)
    policy = Policy("ask", [Rule(decision=Decision.DENY, path=("secret/key.txt", ".env"))])
    lines = ["git status", "git log --oneline -5", "git diff --stat", "git stash list", "git reflog", "git branch -vv"]
    lines += ["git shortlog -sn HEAD", "diff a.txt docs/b.txt", "git cat-file -t HEAD", "ls -R", "cat a.txt"]
    assert [line for line in lines if verdict(line, workspace, policy) is not Decision.ALLOW] == []
    only = Policy("ask", [Rule(decision=Decision.DENY, path=("secret/key.txt",))])
    for line in ("diff -r docs docs", "diff docs a.txt"):
        assert verdict(line, workspace, only) is Decision.ALLOW, (
            "it reads in the folders that it is given, and no others"
        )


def test_gits_own_file_is_read_where_its_settings_are_shown(repository: Path) -> None:
    policy = Policy("full", [Rule(decision=Decision.DENY, path=(".git/config",))])
    for line in ("git remote -v", "git remote get-url origin", "git config --get remote.origin.url"):
        assert verdict(line, Workspace(repository), policy) is Decision.DENY, line


def test_random_lines_that_are_let_run_show_nothing_that_is_denied() -> None:
    found = shows_nothing_denied(700, 11)
    assert found.faults == []
    assert found.runs > 200


@pytest.mark.thorough
def test_many_random_lines_show_nothing_that_is_denied() -> None:
    found = shows_nothing_denied(8_000, 3)
    assert found.faults == []
