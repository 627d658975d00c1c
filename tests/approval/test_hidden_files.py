"""What is hidden from models is asked about in every mode, by every tool and every name, and left out of walks."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from builtin_calls import call_tool
from toolwire.approval import hidden_files
from toolwire.approval.gate import Gate, Ticket
from toolwire.approval.hidden_files import HiddenFiles
from toolwire.approval.places import Workspace
from toolwire.approval.policy import Mode, Policy
from toolwire.approval.request import ApprovalRequest
from toolwire.approval.rules import Decision, Rule
from toolwire.builtin.editing import editing_tools
from toolwire.builtin.reading import reading_tools
from toolwire.builtin.searching import searching_tools
from toolwire.builtin.shell import shell_tools
from toolwire.builtin.writing import writing_tools
from toolwire.execution.executor import Executor
from toolwire.execution.sandbox.sandbox import Means, find_sandbox
from toolwire.hidden_paths import IN_HOME, default_hidden
from toolwire.stream.invocation import ToolInvocation
from toolwire.tools.definition import Risk, ToolDefinition

SECRET = "canary-5e1f"


async def approve(_: ApprovalRequest) -> bool:
    """A person who says yes to everything."""
    return True


READ, LIST = reading_tools()
[SEARCH] = searching_tools(None)
[WRITE] = writing_tools(None)
[EDIT] = editing_tools(None)
BASH = shell_tools(None)[0]
OTHER = ToolDefinition("their_tool", "", {"properties": {"path": {"type": "string"}}}, Risk.READ, paths=("path",))
HELD = replace(BASH, asks="")
"""Commands where a sandbox holds them."""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home folder that is the workspace."""
    home = tmp_path / "home"
    for name in (".ssh/id_rsa", ".config/gh/hosts.yml", ".aws/credentials", ".bash_history", "src/app.py"):
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text(f"{SECRET} {name}\n" if name != "src/app.py" else "no canary: app\n")
    monkeypatch.setenv("HOME", str(home))
    for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "KUBECONFIG"):
        monkeypatch.delenv(name, raising=False)
    return home


def decision(tool: ToolDefinition, arguments: dict[str, Any], workspace: Workspace, mode: str, *rules: Rule) -> str:
    verdict = Policy(mode, rules).judge(tool, arguments, workspace.looking_once())
    return f"{verdict.decision} {verdict.source}"


ALLOW = Rule(decision=Decision.ALLOW, risk=("read", "write", "execute"))

CALLS: list[tuple[ToolDefinition, dict[str, Any]]] = [
    (READ, {"path": ".ssh/id_rsa"}),
    (READ, {"path": ".SSH/ID_RSA"}),
    (READ, {"path": "src/../.bash_history"}),
    (READ, {"path": ".claude/.credentials.json"}),
    (LIST, {"path": ".aws"}),
    (SEARCH, {"path": ".config/gh", "pattern": "x"}),
    (OTHER, {"path": ".ssh/id_rsa"}),
    (OTHER, {"path": "~/.aws"}),
    (OTHER, {"path": "."}),
    (OTHER, {"path": ".config"}),
    (HELD, {"command": "cat ~/.ssh/id_rsa"}),
    (HELD, {"command": "cat .s*/id_rsa"}),
    (HELD, {"command": "cat .[s]sh/id_rsa"}),
    (HELD, {"command": "cat ~/.s?h/id_rsa"}),
    (HELD, {"command": "cat .ss{h,x}/id_rsa"}),
    (HELD, {"command": "cat .ss{x{},h}/id_rsa"}),
    (HELD, {"command": "cat {src/app.py,.config/{gh,glab}/hosts.yml}"}),
    (HELD, {"command": "cat .ss{g..i}/id_rsa"}),
    (HELD, {"command": "cat '.s's*/id_rsa"}),
    (HELD, {"command": "cat .bash_h?story"}),
    (HELD, {"command": "head -n1 < .bash_history"}),
    (HELD, {"command": "cd .ssh && ls"}),
    (HELD, {"command": "cd ~ && cat .ssh/id_rsa"}),
    (HELD, {"command": "ls", "cwd": ".ssh"}),
    (HELD, {"command": "grep -r key ."}),
    (HELD, {"command": "rg key"}),
    (HELD, {"command": "rg key .config"}),
    (HELD, {"command": "git -C .ssh log"}),
    (HELD, {"command": "grep -f .bash_history src/app.py"}),
    (HELD, {"command": "diff -r .aws src"}),
    (HELD, {"command": "python3 -m tool --file=.ssh/id_rsa"}),
    (HELD, {"command": "cp .aws/credentials x"}),
    (HELD, {"command": "cat /proc/self/cwd/src/app.py"}),
    (HELD, {"command": "cat /proc/self/root/etc/passwd"}),
    (HELD, {"command": "cat /proc/1/environ"}),
    (OTHER, {"path": "/proc/self/environ"}),
]


@pytest.mark.parametrize("mode", Mode)
@pytest.mark.parametrize(("tool", "arguments"), CALLS, ids=lambda value: str(value)[:60])
def test_it_is_asked_in_every_mode_whatever_a_rule_allows(
    home: Path, tool: ToolDefinition, arguments: dict[str, Any], mode: Mode
) -> None:
    found = decision(tool, arguments, Workspace(home), mode, ALLOW)
    assert found in ("ask hidden", "deny mode" if tool is HELD and mode is Mode.READ_ONLY else "ask hidden")


@pytest.mark.parametrize("mode", Mode)
def test_what_would_change_it_is_asked_about_or_denied(home: Path, mode: Mode) -> None:
    expected = Decision.DENY if mode is Mode.READ_ONLY else Decision.ASK
    for tool, more in ((WRITE, {"content": ""}), (EDIT, {"old_text": "a", "new_text": "b"})):
        for path in (".config/gh/hosts.yml", ".bash_history", ".kaggle/kaggle.json"):
            verdict = Policy(mode, [ALLOW]).judge(tool, {"path": path, **more}, Workspace(home))
            assert verdict.decision is expected


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        (READ, {"path": "src/app.py"}),
        (READ, {"path": ".config/app.toml"}),
        (LIST, {"path": "."}),
        (LIST, {"path": ".config"}),
        (SEARCH, {"path": ".", "pattern": "x"}),
        (OTHER, {"path": "src"}),
        (HELD, {"command": "cat src/app.py"}),
        (HELD, {"command": "rg x src"}),
        (HELD, {"command": "ls -la"}),
        (HELD, {"command": "find . -name '*.py'"}),
        (HELD, {"command": "cat src/*.py"}),
        (HELD, {"command": "diff src/app.py src/app.py"}),
    ],
    ids=lambda value: str(value)[:60],
)
def test_what_is_not_hidden_is_not_asked_about(home: Path, tool: ToolDefinition, arguments: dict[str, Any]) -> None:
    assert decision(tool, arguments, Workspace(home), "ask").startswith("allow")


def test_nobody_is_asked_for_a_project_beside_it(home: Path) -> None:
    for command in ("rg x", "grep -r x .", "make -C ."):
        assert decision(HELD, {"command": command}, Workspace(home / "src"), "full").startswith("allow")


async def test_nobody_there_means_no(home: Path) -> None:
    result = await call_tool(READ, {"path": ".ssh/id_rsa"}, home, mode="full", approve=False)
    assert SECRET not in result.content
    assert result.is_error


async def test_walks_leave_it_out_and_say_so(home: Path) -> None:
    asked: list[ApprovalRequest] = []
    found = await call_tool(SEARCH, {"pattern": "canary", "ignored": True}, home, on_asked=asked.append)
    assert "app.py" in found.content
    assert SECRET not in found.content
    assert "closed by a rule, or hidden" in found.content
    listed = await call_tool(LIST, {"depth": 3}, home, on_asked=asked.append)
    assert ".ssh/ (closed by a rule, or hidden)" in listed.content
    assert "id_rsa" not in listed.content
    assert "hosts.yml" not in listed.content
    assert not asked


async def test_what_was_approved_is_read(home: Path) -> None:
    asked: list[ApprovalRequest] = []
    assert SECRET in (await call_tool(READ, {"path": ".ssh/id_rsa"}, home, on_asked=asked.append)).content
    assert "id_rsa" in (await call_tool(LIST, {"path": ".ssh"}, home, on_asked=asked.append)).content
    searched = await call_tool(SEARCH, {"path": ".ssh", "pattern": "canary"}, home, on_asked=asked.append)
    assert SECRET in searched.content
    assert len(asked) == 3
    assert all(request.offers == () for request in asked)


async def test_an_edit_that_was_approved_shows_nothing_of_it(home: Path) -> None:
    (home / ".bash_history").write_text(f"{SECRET}\nline\n")
    edit = {"path": ".bash_history", "old_text": "line", "new_text": "other"}
    done = await call_tool(EDIT, edit, home)
    assert done.content.startswith("Edited")
    assert SECRET not in done.content


@pytest.mark.parametrize(
    "bring",
    [
        lambda home: (home / "notes").symlink_to(home / ".ssh/id_rsa"),
        lambda home: (home / "notes").symlink_to(".ssh/../.ssh/id_rsa"),
        lambda home: (home / "notes").hardlink_to(home / ".ssh/id_rsa"),
        lambda home: (home / ".ssh/id_rsa").rename(home / "notes"),
        lambda home: (home / ".bash_history").rename(home / "notes"),
    ],
    ids=["link", "link through dots", "hard link", "moved out of its folder", "moved"],
)
async def test_another_name_of_it_is_hidden_too(home: Path, bring: Callable[[Path], Any]) -> None:
    workspace = Workspace(home)
    assert decision(READ, {"path": "notes"}, workspace, "full").startswith("allow")
    bring(home)
    assert decision(READ, {"path": "notes"}, workspace, "full") == "ask hidden"
    assert decision(HELD, {"command": "cat notes"}, workspace, "full") == "ask hidden"
    assert decision(HELD, {"command": "cat note*"}, workspace, "full") == "ask hidden"
    assert workspace.hidden.watch()(str(home / "notes")) or (home / "notes").is_symlink()


@pytest.mark.parametrize("mode", ["read-only", "full"])
def test_a_pattern_that_begins_at_home_is_looked_through(home: Path, mode: str) -> None:
    (home / "src/notes").symlink_to(home / ".ssh")
    (home / "src/history").hardlink_to(home / ".bash_history")
    workspace = Workspace(home / "src")
    for command in ("cat ~/src/n*/id_rsa", "tail ~/src/h*", "grep -h . ~/s*/history"):
        assert decision(HELD, {"command": command}, workspace, mode, ALLOW) == "ask hidden"
    assert decision(HELD, {"command": "cat ~/src/*.py"}, workspace, mode).startswith("allow")
    (home / "src/notes").unlink()
    (home / "src/notes").symlink_to("/etc")
    assert decision(HELD, {"command": "cat ~/src/n*/hostname"}, workspace, "read-only").startswith("ask")


def test_what_was_moved_with_its_folder_is_hidden(home: Path) -> None:
    workspace = Workspace(home)
    workspace.looking_once()
    (home / ".config").rename(home / "c2")
    (home / ".ssh").rename(home / "keys")
    for path in ("c2/gh/hosts.yml", "keys/id_rsa", "keys"):
        assert decision(READ, {"path": path}, workspace, "full") == "ask hidden"
    assert workspace.hidden.watch()(str(home / "c2/gh"))


def test_what_came_later_is_hidden(home: Path) -> None:
    workspace = Workspace(home)
    workspace.looking_once()
    (home / ".docker").mkdir()
    (home / ".docker/config.json").write_text(SECRET)
    (home / ".ssh/later").write_text(SECRET)
    assert decision(HELD, {"command": "grep -r x .docker"}, workspace, "full") == "ask hidden"
    workspace.looking_once()
    (home / ".ssh/later").rename(home / "notes")
    assert decision(READ, {"path": "notes"}, workspace, "full") == "ask hidden"


def test_where_a_link_led_stays_hidden_when_it_is_turned(home: Path) -> None:
    (home / "dotfiles").mkdir()
    (home / ".config").rename(home / "dotfiles/config")
    (home / ".config").symlink_to("dotfiles/config")
    workspace = Workspace(home)
    assert decision(READ, {"path": "dotfiles/config/gh/hosts.yml"}, workspace, "full") == "ask hidden"
    (home / ".config").unlink()
    (home / ".config").mkdir()
    assert decision(READ, {"path": "dotfiles/config/gh/hosts.yml"}, workspace, "full") == "ask hidden"
    assert str(home / "dotfiles/config/gh") in workspace.hidden.paths


def test_a_number_that_is_given_to_another_file_hides_nothing(home: Path) -> None:
    """Disks give the number of a file that is gone to the next one that is made."""
    hidden = HiddenFiles([str(home / ".bash_history")])
    hidden.look()
    (home / ".bash_history").rename(home / "other")
    (home / "other").write_text("made anew")
    os.utime(home / "other", ns=(1, 1))
    assert not hidden.hides(str(home / "other"))


def test_what_is_known_is_bounded(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hidden_files, "MOST_IN_FOLDER", 3)
    monkeypatch.setattr(hidden_files, "MOST_KNOWN", 6)
    for number in range(20):
        (home / f".ssh/{number}").touch()
        (home / f".aws/{number}").touch()
    hidden = HiddenFiles([str(home / ".ssh"), str(home / ".aws")])
    hidden.look()
    assert len(hidden._known) == 6


def test_variables_move_what_is_hidden(home: Path) -> None:
    env = {
        "KUBECONFIG": "/srv/a.yml:/srv/b.yml",
        "XDG_CONFIG_HOME": "/srv/config",
        "CODEX_HOME": "/srv/codex",
        "HISTFILE": "/dev/null",
        "GNUPGHOME": str(home),
        "NETRC": "relative",
        "BOTO_CONFIG": "/boto",
    }
    moved = set(default_hidden(str(home), env=env)) - set(default_hidden(str(home)))
    assert {"/srv/a.yml", "/srv/b.yml", "/srv/config/gh", "/srv/codex/auth.json"} <= moved
    assert not moved & {"/dev/null", str(home), "relative", "/boto", "/srv/codex", "/srv/config"}


def test_the_list_names_no_folder_that_programs_run_from() -> None:
    """And nothing twice, nothing absolute, nothing below what is hidden already."""
    names = set(IN_HOME)
    assert len(names) == len(IN_HOME)
    for name in names:
        assert not os.path.isabs(name)
        assert names.isdisjoint(map(str, list(Path(name).parents)[:-1]))
    assert names.isdisjoint((".config", ".local", ".cargo", ".fly", ".nvm", ".claude", ".codex", ".gemini", ".cursor"))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root reads the files of others")
def test_root_is_asked_for_a_further_name_of_the_file_of_a_third_user(home: Path) -> None:
    """Whoever owns the workspace could have made one."""
    (home / "theirs").write_text(SECRET)
    (home / "shared").write_text("mine")
    os.chown(home, 1000, 1000)
    os.chown(home / "theirs", 1001, 1001)
    os.chown(home / "shared", 1000, 1000)
    for name in ("theirs", "shared"):
        os.link(home / name, home / f"{name}-too")
    workspace = Workspace(home)
    assert decision(READ, {"path": "theirs-too"}, workspace, "full") == "ask hidden"
    assert decision(READ, {"path": "shared-too"}, workspace, "full").startswith("allow")
    assert workspace.hidden.watch()(str(home / "theirs"))


LINKED = [
    (HELD, {"command": "echo x > linked"}, "ask hard links"),
    (HELD, {"command": "echo x | tee -a linked"}, "ask hard links"),
    (HELD, {"command": "truncate -s 0 linked"}, "ask hard links"),
    (HELD, {"command": "cp src/app.py linked"}, "ask hard links"),
    (HELD, {"command": "cp linked src/new.py"}, "allow mode"),
    (HELD, {"command": "cat linked"}, "allow mode"),
    (HELD, {"command": "python3 linked"}, "allow mode"),
    (HELD, {"command": "echo x > src/app.py"}, "allow mode"),
    (replace(OTHER, risk=Risk.WRITE), {"path": "linked"}, "ask hard links"),
    (OTHER, {"path": "linked"}, "allow mode"),
    (READ, {"path": "linked"}, "allow mode"),
    (WRITE, {"path": "linked", "content": ""}, "allow mode"),
    (EDIT, {"path": "linked", "old_text": "a", "new_text": "b"}, "allow mode"),
]


@pytest.mark.parametrize(("tool", "arguments", "expected"), LINKED, ids=lambda value: str(value)[:60])
def test_writing_a_file_with_further_names_in_place_is_asked_about(
    home: Path, tmp_path: Path, tool: ToolDefinition, arguments: dict[str, Any], expected: str
) -> None:
    (tmp_path / "outside").write_text("as it was")
    (home / "linked").hardlink_to(tmp_path / "outside")
    assert decision(tool, arguments, Workspace(home), "full", ALLOW).replace("rule", "mode") in (
        expected,
        expected.replace("mode", ""),
    )


async def test_our_own_tools_write_under_one_name_alone(home: Path, tmp_path: Path) -> None:
    (tmp_path / "outside").write_text("as it was")
    (home / "linked").hardlink_to(tmp_path / "outside")
    for tool, more in ((EDIT, {"old_text": "it was", "new_text": "it is"}), (WRITE, {"content": "new"})):
        assert not (await call_tool(tool, {"path": "linked", **more}, home)).is_error
    assert (tmp_path / "outside").read_text() == "as it was"


@pytest.mark.parametrize("means", ["landlock and namespaces", "bubblewrap"])
async def test_no_command_finds_what_is_hidden_below_another_name(home: Path, means: Means) -> None:
    """Whatever it moves, and whatever an earlier one has left."""
    sandbox = find_sandbox(means)
    if not sandbox.holds:
        pytest.skip(f"{means} does not work here: {sandbox.words}")
    (home / "dotfiles").mkdir()
    (home / ".local/share/keyrings").mkdir(parents=True)
    (home / ".local/share/keyrings/login").write_text(SECRET)
    (home / "dotfiles/npmrc").write_text(SECRET)
    (home / ".aws").rename(home / "dotfiles/aws")
    (home / ".aws").symlink_to("dotfiles/aws")
    (home / ".npmrc").symlink_to("dotfiles/npmrc")
    bash = shell_tools(sandbox)[0]
    gate = Gate(approve, policy=Policy("full"), workspace=Workspace(home))
    for command in (
        "mv .config c2; mv .local l2; mv .ssh s2; cat c2/gh/hosts.yml l2/share/keyrings/login s2/id_rsa",
        "rm .aws .npmrc; mkdir .aws; echo made; mv dotfiles d2",
        "cat */aws/credentials */npmrc */gh/hosts.yml .*/*/*/login",
    ):
        call = ToolInvocation("c", bash.name, {"command": command}, raw_arguments="{}")
        ticket = await gate.decide(call, bash)
        assert isinstance(ticket, Ticket)
        result = await Executor(gate).run(ticket)
        assert SECRET not in result.content
        assert "Denied" not in result.content
    assert not (home / ".aws").is_symlink()
    assert (home / "dotfiles/aws/credentials").read_text().startswith(SECRET)
