"""What runs later stays as it was, whatever a confined command does, and nothing is left behind of how that is done."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from builtin_calls import call_tool
from programs import needs
from toolwire.builtin.guard import SET_ASIDE, Watch, in_place
from toolwire.builtin.guarded import MOST_FOLDERS, Guarded, guarded_paths
from toolwire.builtin.shell import shell_tools
from toolwire.execution.sandbox.sandbox import Means, find_sandbox
from toolwire.files.beneath import Roots
from toolwire.tools.definition import ToolDefinition
from waiting import until

KINDS: list[Means] = ["landlock and namespaces", "bubblewrap", "landlock"]


@pytest.fixture(params=KINDS)
def means(request: pytest.FixtureRequest) -> Means:
    kind: Means = request.param
    sandbox = find_sandbox(kind)
    if not sandbox.holds:
        pytest.skip(f"{kind} does not work here: {sandbox.words}")
    return kind


@pytest.fixture
def bash(means: Means) -> ToolDefinition:
    return shell_tools(find_sandbox(means))[0]


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository that has a commit, a submodule's git folder and a linked worktree's."""
    root = tmp_path_factory.mktemp("template") / "workspace"
    root.mkdir()
    git(root, "init", "-q", ".")
    (root / "file").write_text("one\n")
    git(root, "add", "file")
    git(root, "commit", "-q", "-m", "one")
    git(root, "branch", "other")
    module = root / ".git/modules/inner"
    git(root, "init", "-q", "--bare", str(module))
    git(root, "worktree", "add", "-q", "-b", "linked", str(root.parent / "linked"))
    return root


@pytest.fixture
def repository(template: Path, tmp_path: Path) -> Path:
    """A workspace that is such a repository."""
    return Path(shutil.copytree(template, tmp_path / "workspace", symlinks=True))


def git(root: Path, *words: str) -> str:
    line = ["git", "-c", "user.name=a", "-c", "user.email=a@b", *words]
    return subprocess.run(line, cwd=root, check=True, capture_output=True, text=True).stdout


def everything(root: Path) -> dict[str, str]:
    """All that lies in a folder, links as links."""
    found = {}
    for path in sorted(root.rglob("*")):
        kind = os.readlink(path) if path.is_symlink() else "" if path.is_dir() else path.read_bytes().hex()
        found[str(path.relative_to(root))] = kind
    return found


def kept(state: dict[str, str]) -> dict[str, str]:
    return {path: held for path, held in state.items() if SET_ASIDE not in path}


async def run(bash: ToolDefinition, root: Path, line: str) -> str:
    return (await call_tool(bash, {"command": line}, root)).content


PLANTED = [
    "printf '[core]\\n\\tfsmonitor = touch owned\\n' >> .git/config",
    "git config core.fsmonitor 'touch owned'",
    "git config core.hooksPath evil",
    "rm -f .git/config; printf '[core]\\n\\tfsmonitor = x\\n' > .git/config",
    "mv .git/config .git/was; printf '[alias]\\n\\tst = !x\\n' > .git/config",
    "ln -sf /tmp/x .git/config",
    "echo x > .git/hooks/post-index-change; chmod +x .git/hooks/post-index-change",
    "rm -rf .git/hooks; mkdir .git/hooks; echo x > .git/hooks/pre-commit",
    "mkdir evil; printf '[core]\\n\\tfsmonitor = x\\n' > evil/config; echo ../evil > .git/commondir",
    "echo x >> .git/modules/inner/config",
    "echo x > .git/modules/inner/hooks/post-checkout",
    "echo ../evil > .git/modules/inner/commondir",
    "echo ../evil > .git/worktrees/linked/commondir",
    "mkdir .toolwire; echo 'mode = \"full\"' > .toolwire/policy.toml",
]


@needs("git")
@pytest.mark.parametrize("line", PLANTED)
async def test_what_runs_later_is_not_planted(bash: ToolDefinition, repository: Path, means: Means, line: str) -> None:
    before = everything(repository)
    text = await run(bash, repository, f"{line}\nmkdir -p evil; echo done > evil/new")
    after = everything(repository)
    assert after.pop("evil/new")
    guarded = {path for path in after if path.startswith((".git", ".toolwire")) and path != ".git/was"}
    now = {path: held for path, held in kept(after).items() if path in guarded}
    assert now == {path: held for path, held in before.items() if path.startswith((".git", ".toolwire"))}
    assert ("undone, because what is there runs later" in text) == (means == "landlock")


@needs("git")
@pytest.mark.parametrize("line", ["git init -q .", "echo gitdir: evil > .git", "ln -s evil .git", "mkdir .git"])
async def test_a_repository_is_not_made_where_none_is(bash: ToolDefinition, tmp_path: Path, line: str) -> None:
    (tmp_path / "evil").mkdir()
    await run(bash, tmp_path, line)
    assert kept(everything(tmp_path)) == {"evil": ""}
    if SET_ASIDE not in "".join(os.listdir(tmp_path)):
        assert os.listdir(tmp_path) == ["evil"]


@needs("git")
async def test_ordinary_work_with_git_goes_on(bash: ToolDefinition, repository: Path) -> None:
    line = (
        "set -e; export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b\n"
        "echo two >> file; git add file; git commit -q -m two; git checkout -q -b new; echo three >> file; "
        "git stash -q; git stash pop -q; git commit -q -a -m three; git checkout -q other; git merge -q new; "
        "git tag t; git reset -q --hard HEAD~1; git rebase -q new; git gc -q; git fsck; git branch -D t2 2>&1 || true; "
        "git log --format=%s | head -1; git status --short"
    )
    text = await run(bash, repository, line)
    assert text.split("\n")[-1] == "three", text
    assert git(repository, "log", "--format=%s").split() == ["three", "two", "one"]
    assert [path for path in everything(repository) if path.endswith("commondir")] == [
        ".git/worktrees/linked/commondir"
    ]


@needs("git")
async def test_a_model_is_told_what_git_cannot_do_here(bash: ToolDefinition, repository: Path, means: Means) -> None:
    text = await run(bash, repository, "git remote add origin https://example.com/x")
    assert "ask the user to make such changes" in text if means == "landlock" else "to run git init, git" in text
    assert "ask the user to make" not in await run(bash, repository, "git status")


@needs("git")
async def test_what_the_configuration_names_is_closed_too(bash: ToolDefinition, repository: Path) -> None:
    (repository / "hooks").mkdir()
    (repository / "hooks/pre-commit").write_text("as it was")
    (repository / "extra").write_text("[user]\n\tname = x\n")
    git(repository, "config", "core.hooksPath", "hooks")
    git(repository, "config", "include.path", "../extra")
    git(repository, "config", "--add", "include.path", "../later")
    await run(
        bash, repository, "echo x > hooks/pre-commit; echo x >> hooks/post-commit; echo x >> extra; echo x > later"
    )
    assert (repository / "hooks/pre-commit").read_text() == "as it was"
    assert (repository / "extra").read_text() == "[user]\n\tname = x\n"
    assert not (repository / "hooks/post-commit").exists()
    assert not (repository / "later").exists()


@needs("git")
async def test_repositories_below_are_closed_too(bash: ToolDefinition, repository: Path, tmp_path: Path) -> None:
    for name in ("sub", "deep/er/still"):
        git(repository, "init", "-q", name)
    (repository / "module").mkdir()
    (repository / "module/.git").write_text("gitdir: ../.git/modules/inner\n")
    lines = [
        f"echo '[core]' >> {name}/.git/config; echo x > {name}/.git/commondir" for name in ("sub", "deep/er/still")
    ]
    await run(bash, repository, "\n".join([*lines, "echo gitdir: /evil > module/.git"]))
    assert (repository / "module/.git").read_text() == "gitdir: ../.git/modules/inner\n"
    for name in ("sub", "deep/er/still"):
        assert git(repository / name, "status", "--short") == ""


async def test_a_link_in_the_place_of_what_is_closed_is_put_back(bash: ToolDefinition, tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git/HEAD").write_text("ref: refs/heads/main\n")
    (tmp_path / "shared").write_text("as it was")
    (tmp_path / ".git/config").symlink_to("../shared")
    text = await run(bash, tmp_path, "rm .git/config; echo x > .git/config")
    assert os.readlink(tmp_path / ".git/config") == "../shared"
    assert "undone" in text
    assert (tmp_path / f".git/config{SET_ASIDE}").read_text() == "x\n", "nothing that was written is lost"


async def test_commands_side_by_side_take_nothing_away_from_each_other(
    bash: ToolDefinition, tmp_path: Path, means: Means
) -> None:
    if means == "landlock":
        pytest.skip("with Landlock alone nothing is put there")
    long = asyncio.create_task(run(bash, tmp_path, "touch began; while [ ! -e go ]; do sleep 0.01; done; mkdir .git/x"))
    await asyncio.to_thread(until, (tmp_path / "began").exists)
    assert "read-only" in (await run(bash, tmp_path, "mkdir .git/x")).lower()
    assert (tmp_path / ".git").is_dir()
    (tmp_path / "go").touch()
    assert "read-only" in (await long).lower()
    assert not (tmp_path / ".git").exists()


def test_what_a_killed_toolwire_left_is_taken_away(tmp_path: Path) -> None:
    roots = Roots((str(tmp_path),))
    (tmp_path / "commondir").write_text(".\n")
    wanted = [Guarded(f"{tmp_path}/.toolwire", "folder"), Guarded(f"{tmp_path}/commondir", "here")]
    with in_place(roots, wanted):
        assert sorted(os.listdir(tmp_path)) == [".toolwire", "commondir"]
    assert os.listdir(tmp_path) == []


def test_an_empty_folder_or_file_of_the_person_stays(tmp_path: Path) -> None:
    (tmp_path / "hooks").mkdir()
    (tmp_path / "config").touch()
    with in_place(
        Roots((str(tmp_path),)), [Guarded(f"{tmp_path}/hooks", "folder"), Guarded(f"{tmp_path}/config", "empty")]
    ):
        pass
    assert everything(tmp_path) == {"config": "", "hooks": ""}


@needs("git")
async def test_a_repository_without_configuration_and_hooks_stays_so(bash: ToolDefinition, repository: Path) -> None:
    shutil.rmtree(repository / ".git/hooks")
    (repository / ".git/config").unlink()
    text = await run(
        bash, repository, "echo '[core]' > .git/config; mkdir .git/hooks; echo x > .git/hooks/pre-push; ls"
    )
    assert "file" in text
    assert kept(everything(repository)).keys().isdisjoint((".git/config", ".git/hooks", ".git/commondir"))


def test_what_came_of_it_meanwhile_is_not_taken_away(tmp_path: Path) -> None:
    roots = Roots((str(tmp_path),))
    with in_place(roots, [Guarded(f"{tmp_path}/.git", "folder"), Guarded(f"{tmp_path}/commondir", "here")]):
        (tmp_path / ".git/HEAD").write_text("of the person")
        (tmp_path / "commondir").write_text("..")
    assert everything(tmp_path) == {".git": "", ".git/HEAD": b"of the person".hex(), "commondir": b"..".hex()}


def test_nothing_is_put_back_through_a_link(tmp_path: Path) -> None:
    """The folder that a file was in may lead elsewhere by now."""
    root, outside = tmp_path / "w", tmp_path / "outside"
    (root / ".git").mkdir(parents=True)
    outside.mkdir()
    (root / ".git/config").write_text("was")
    watch = Watch(Roots((str(root),)), [f"{root}/.git/config"])
    (root / ".git").rename(root / "away")
    (root / ".git").symlink_to(outside)
    assert watch.undo() == []
    assert os.listdir(outside) == []


def test_the_search_for_repositories_is_bounded(tmp_path: Path) -> None:
    for number in range(MOST_FOLDERS + 50):
        (tmp_path / f"{number:04}").mkdir()
    (tmp_path / "9999/.git").mkdir(parents=True)
    (tmp_path / "9999/.git/HEAD").touch()
    (tmp_path / "0001/.git").mkdir(parents=True)
    (tmp_path / "0001/.git/HEAD").touch()
    paths = {each.path for each in guarded_paths((str(tmp_path),))}
    assert f"{tmp_path}/0001/.git/config" in paths
    assert f"{tmp_path}/9999/.git/config" not in paths
