"""run_bash: what a command may do, where it runs, what it sees, and what a model is told of it."""

from __future__ import annotations

import asyncio
import gc
import os
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from bench.trust.children import living, new_token
from bench.trust.shell_tool import flood

from builtin_calls import call_tool
from programs import needs
from toolwire import folders
from toolwire.builtin import commands, profile
from toolwire.builtin.commands import Scratch, Shell, ending_words
from toolwire.builtin.profile import command_profile
from toolwire.builtin.shell import Output, shell_tools, written
from toolwire.execution import process
from toolwire.execution.process import ProcessResult, run_process
from toolwire.execution.sandbox.sandbox import Means, find_sandbox
from toolwire.tools.definition import ToolDefinition
from waiting import leap, sleeping, until

SANDBOX = find_sandbox()
confined = pytest.mark.skipif(not SANDBOX.holds, reason=f"nothing confines commands here: {SANDBOX.words}")


@pytest.fixture(autouse=True)
def short_grace(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "GRACE_SECONDS", 0.2)


@pytest.fixture(scope="module")
def bash() -> ToolDefinition:
    return shell_tools(SANDBOX)[0]


@pytest.fixture(scope="module")
def open_bash() -> ToolDefinition:
    return shell_tools(None)[0]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A workspace with something outside of it."""
    (tmp_path / "workspace" / "sub").mkdir(parents=True)
    (tmp_path / "outside").mkdir()
    return tmp_path / "workspace"


async def run(tool: ToolDefinition, root: Path, command: str, **arguments: Any) -> str:
    result = await call_tool(tool, {"command": command, **arguments}, root)
    return result.content


# ---- what a model is told


async def test_output_and_errors_come_in_one_without_colours(open_bash: ToolDefinition, root: Path) -> None:
    text = await run(open_bash, root, r"printf '\e[31mred\e[0m\n'; printf 'a\rb\n' >&2; printf '\0'; exit 3")
    lines = text.split("\n")
    assert lines[:3] == ["red", "b", "␀"]
    assert lines[3].startswith("[exit code 3 after ")
    assert lines[4:] == ["[earlier forms of lines that were written over (progress bars) left out: 1]"]


async def test_nothing_is_said_of_a_command_that_ends_well(open_bash: ToolDefinition, root: Path) -> None:
    assert await run(open_bash, root, "echo one; echo; echo two; echo") == "one\n\ntwo"
    assert await run(open_bash, root, "true") == "[no output]"


@pytest.mark.parametrize(
    ("result", "words"),
    [
        (ProcessResult(0, None, "", seconds=1.0), []),
        (ProcessResult(2, None, "", seconds=1.23), ["exit code 2 after 1.2 s"]),
        (ProcessResult(None, "SIGSEGV", "", seconds=20.4), ["ended by SIGSEGV after 20 s"]),
        (
            ProcessResult(None, "SIGTERM", "", timed_out=True, seconds=121.0),
            ["stopped after 120 s; run it with background=true or a longer timeout if it needs more"],
        ),
        (
            ProcessResult(None, "SIGKILL", "", seconds=3.0, over="memory"),
            ["killed after 3 s: it used too much memory"],
        ),
        (
            ProcessResult(None, "SIGKILL", "", seconds=3.0, over="processes", left=2),
            ["killed after 3 s: it used too many processes", "2 of its processes could not be ended"],
        ),
    ],
)
def test_how_a_command_ended(result: ProcessResult, words: list[str]) -> None:
    assert ending_words(result, 120) == words


def test_notes_stand_on_lines_of_their_own() -> None:
    result = ProcessResult(1, None, "", seconds=1.0)
    assert written("text\n\n", result, 120, "advice") == "text\n[exit code 1 after 1 s]\n[advice]"
    assert written(" \n", result, 120, "") == "[no output]\n[exit code 1 after 1 s]"


async def test_a_command_that_takes_too_long_is_stopped_with_its_output(open_bash: ToolDefinition, root: Path) -> None:
    command = "echo begun; printf half; touch written; sleep 60"
    call = asyncio.create_task(run(open_bash, root, command, timeout=20))
    assert await asyncio.to_thread(until, (root / "written").exists)
    leap(20)
    assert (await call).startswith("begun\nhalf\n[stopped after 20 s; run it with background=true")


async def test_output_is_told_once_while_it_comes_and_is_the_result_once(
    open_bash: ToolDefinition, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("toolwire.builtin.shell.TELL_SECONDS", 60.0)
    told: list[str] = []

    def hear(text: str) -> None:
        told.append(text)
        (root / "heard").touch()

    line = "echo one; until [ -e heard ]; do sleep 0.02; done; printf 't'; sleep 0.1; echo 'wo'; printf three"
    result = await call_tool(open_bash, {"command": line}, root, on_progress=hear)
    assert result.content == "one\ntwo\nthree"
    assert "\n".join(told) == "one\ntwo\nthree"
    assert len(told) > 1


def test_a_bar_without_an_end_is_told_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    output = Output(told.append)
    output.add("1%\r2%")
    assert told == []
    monkeypatch.setattr("toolwire.builtin.shell.TELL_SECONDS", -1.0)
    output.add("\r3%")
    assert told == ["3%"]
    assert output.text() == "3%"


def test_what_is_told_can_act_on_no_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toolwire.builtin.shell.TELL_SECONDS", -1.0)
    told: list[str] = []
    output = Output(told.append)
    for text in ("a\x1b]0;t\x07\x07\x0e\n", "b\x9b2J", "\0\x7f"):
        output.add(text)
    assert output.text() == "a␎\nb2J␀␡"
    assert told == ["a␎", "b2J", "b2J␀␡", "b2J␀␡"]


async def test_long_output_is_cut_in_its_middle(open_bash: ToolDefinition, root: Path) -> None:
    text = await run(open_bash, root, "echo first; head -c 200000 /dev/zero | tr '\\0' x; echo; echo last")
    assert text.startswith("first\nx")
    assert text.endswith("x\nlast")
    assert "[… 120,012 characters cut …]" in text


def test_a_flood_is_bounded() -> None:
    found = flood(5_000_000, 0)
    assert (found.runs, found.faults) == (1, [])


# ---- what may be asked for


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"command": "  "}, "there is no command"),
        ({"command": "echo a\0b"}, "NUL"),
        ({"command": "echo " + "é" * 60_000}, "write the text to a file"),
        ({"command": "true", "timeout": 601}, "timeout"),
        ({"command": "true", "timeout": 0}, "timeout"),
        ({"command": "true", "cwd": "missing"}, "there is no 'missing'"),
        ({"command": "true", "cwd": "file"}, "is a file, not a folder"),
        ({"command": "true", "environment": {"a-b": "1"}}, "no name of an environment variable"),
        ({"command": "true", "environment": {"A": "1\0"}}, "NUL"),
        ({"command": "true", "environment": {"A": "x" * 40_000}}, "put it into a file"),
        ({"command": "true", "environment": {"A": "() { x; }"}}, "may not be set"),
        ({"command": "true", "environment": {"PATH": "/usr/bin:bin"}}, "absolute folders only, not 'bin'"),
        ({"command": "true", "environment": {"PATH": "/usr/bin:"}}, "absolute folders only"),
        ({"command": "true", "environment": {"TMPDIR": "/tmp"}}, "is set already"),
        ({"command": "true", "environment": {f"A{n}": "x" for n in range(10_000)}}, "put it into a file"),
    ],
)
async def test_wrong_use_is_told(open_bash: ToolDefinition, root: Path, arguments: dict[str, Any], words: str) -> None:
    (root / "file").touch()
    result = await call_tool(open_bash, arguments, root)
    assert result.is_error
    assert words in result.content


@pytest.mark.parametrize(
    "name",
    [
        "BASH_ENV",
        "ENV",
        "CDPATH",
        "IFS",
        "SHELLOPTS",
        "BASHOPTS",
        "POSIXLY_CORRECT",
        "PS4",
        "GLOBIGNORE",
        "PROMPT_COMMAND",
        "BASH_FUNC_ls",
        "LD_PRELOAD",
        "LD_LIBRARY_PATH",
        "LD_AUDIT",
        "DYLD_INSERT_LIBRARIES",
        "GLIBC_TUNABLES",
    ],
)
async def test_what_changes_how_a_command_is_read_cannot_be_set(
    open_bash: ToolDefinition, root: Path, name: str
) -> None:
    result = await call_tool(open_bash, {"command": "true", "environment": {name: "x"}}, root)
    assert f"{name} may not be set" in result.content


@pytest.mark.parametrize("name", ["LANG", "LC_ALL", "LC_CTYPE"])
async def test_characters_in_which_a_command_would_be_another_are_not_used(
    open_bash: ToolDefinition, root: Path, name: str
) -> None:
    for value, kept in (("ja_JP.SJIS", False), ("zh_CN.GB18030", False), ("../x", False), ("C.UTF-8", True)):
        given = {"PATH": os.defpath, name: value}
        seen = await call_tool(open_bash, {"command": f"env | grep ^{name}="}, root, environment=given)
        assert (value in seen.content) is kept
        asked = await call_tool(open_bash, {"command": "true", "environment": {name: value}}, root)
        assert (f"{name} may not be set" in asked.content) is not kept


async def test_a_command_sees_what_children_may_and_what_was_asked_for(open_bash: ToolDefinition, root: Path) -> None:
    (root / "start").write_text("echo started by BASH_ENV")
    given = {"PATH": os.defpath, "HOME": "/nowhere", "BASH_ENV": str(root / "start"), "LD_X": "1", "IFS": "x"}
    asked = {"command": "env; echo $IFS-", "environment": {"ASKED": "yes"}}
    result = await call_tool(open_bash, asked, root, environment=given)
    seen = dict(line.split("=", 1) for line in result.content.split("\n") if "=" in line)
    assert {"PATH", "HOME", "ASKED", "TMPDIR", "PWD"} <= set(seen)
    assert not {"BASH_ENV", "LD_X", "IFS"} & set(seen)
    assert seen["PWD"] == str(root)
    assert "started" not in result.content


async def test_a_command_that_begins_with_a_dash_is_no_option(open_bash: ToolDefinition, root: Path) -> None:
    assert "command not found" in await run(open_bash, root, "-i")


# ---- where it runs


async def test_it_runs_in_the_folder_that_is_named(open_bash: ToolDefinition, root: Path) -> None:
    assert await run(open_bash, root, "pwd; pwd -P") == f"{root}\n{root}"
    assert await run(open_bash, root, "pwd", cwd="sub") == str(root / "sub")
    assert await run(open_bash, root, "pwd", cwd=str(root / "sub")) == str(root / "sub")
    await run(open_bash, root, "cd sub; export X=1")
    assert await run(open_bash, root, "pwd; echo $X-") == f"{root}\n-"


@pytest.mark.parametrize("cwd", ["../outside", "/", "/proc/self/root", "link"])
async def test_it_runs_in_no_folder_outside(open_bash: ToolDefinition, root: Path, cwd: str) -> None:
    (root / "link").symlink_to(root.parent / "outside")
    result = await call_tool(open_bash, {"command": "pwd", "cwd": cwd}, root)
    assert result.is_error
    assert "outside" in result.content
    assert "\n" not in result.content


async def test_a_folder_that_is_swapped_for_a_link_is_not_entered(
    open_bash: ToolDefinition, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Swapped after it was opened, in the last moment before the command starts: it runs in what was opened."""

    async def swapped_first(argv: list[str], **given: Any) -> ProcessResult:
        (root / "sub").rename(root / "moved")
        (root / "sub").symlink_to(root.parent / "outside")
        return await run_process(argv, **given)

    monkeypatch.setattr(commands, "run_process", swapped_first)
    await run(open_bash, root, "echo x > made", cwd="sub")
    assert os.listdir(root / "moved") == ["made"]
    assert os.listdir(root.parent / "outside") == []


# ---- the sandbox


async def ways(tool: ToolDefinition, root: Path, command: str, **arguments: Any) -> list[str]:
    return (await run(tool, root, command, **arguments)).split("\n")


@confined
async def test_it_writes_inside_and_in_its_temporary_folder_only(bash: ToolDefinition, root: Path) -> None:
    outside = root.parent / "outside" / "file"
    outside.write_text("old")
    line = f"echo new > inside; mktemp | xargs test -f && echo x > $TMPDIR/kept && echo temp; echo new > {outside}"
    told = await ways(bash, root, line)
    assert told[0] == "temp"
    assert f"{outside}: " in told[1]
    assert told[2].startswith("[exit code 1")
    assert told[3].startswith("[the sandbox lets commands write only inside the workspace and $TMPDIR, and gives no")
    assert (root / "inside").read_text() == "new\n"
    assert outside.read_text() == "old"
    assert await run(bash, root, "cat $TMPDIR/kept; ls /tmp/kept") != "x"
    assert (await ways(bash, root, "cat $TMPDIR/kept"))[0] == "x"


@confined
async def test_what_is_hidden_is_not_read(root: Path) -> None:
    secret = root.parent / "outside" / "secret"
    secret.write_text("canary")
    (root.parent / "outside" / "plain").write_text("readable")
    bash = shell_tools(SANDBOX, hidden=(str(secret),))[0]
    text = await run(bash, root, f"cat {root.parent}/outside/plain {secret}")
    assert "readable" in text
    assert "canary" not in text


async def test_temporary_files_have_a_folder_again_after_it_was_removed(root: Path) -> None:
    bash = shell_tools(None)[0]
    first = await run(bash, root, "echo $TMPDIR; mkdir $TMPDIR/x; rm -r $TMPDIR")
    second = await run(bash, root, "echo $TMPDIR; touch $TMPDIR/x")
    assert first != second
    assert os.listdir(second) == ["x"]


async def test_a_link_in_its_place_is_no_temporary_folder(root: Path) -> None:
    bash = shell_tools(None)[0]
    first = await run(bash, root, f"echo $TMPDIR; rm -r $TMPDIR; ln -s {root.parent}/outside $TMPDIR")
    try:
        second = await run(bash, root, "echo $TMPDIR; touch $TMPDIR/x")
        assert first != second
        assert os.listdir(second) == ["x"]
        assert not (root.parent / "outside" / "x").exists()
    finally:
        os.unlink(first)


@contextmanager
def listener() -> Iterator[tuple[int, list[str]]]:
    """A port of this machine, and who came."""
    came: list[str] = []
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(5)

        def serve() -> None:
            try:
                connection, _ = server.accept()
                came.append(connection.recv(100).decode())
                connection.close()
            except OSError:
                return

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield server.getsockname()[1], came
        if not came:
            with socket.create_connection(server.getsockname()) as last:
                last.sendall(b"the end")
        thread.join(5)


@confined
async def test_there_is_a_network_only_where_it_is_asked_for(bash: ToolDefinition, root: Path) -> None:
    line = "echo hello > /dev/tcp/127.0.0.1/{}"
    with listener() as (port, came):
        text = await run(bash, root, line.format(port))
        assert "network=true" in text
        assert came == []
        assert await run(bash, root, line.format(port), network=True) == "[no output]"
    assert came == ["hello\n"]


@confined
async def test_nothing_is_said_of_the_sandbox_where_it_is_not_to_blame(bash: ToolDefinition, root: Path) -> None:
    line = "echo permission denied, could not resolve"
    assert await run(bash, root, line) == line.removeprefix("echo ")
    assert "the sandbox gives no network" in await run(bash, root, f"{line}; false")
    told = (await call_tool(bash, {"command": f"{line}; false", "network": True}, root)).content
    assert "gives no network" not in told
    assert "the sandbox lets commands write only inside the workspace" in told


@confined
@needs("git")
async def test_git_works_in_it(bash: ToolDefinition, root: Path) -> None:
    new = "git init -q sub/new && cd sub/new"
    line = "git -c user.name=a -c user.email=a@b commit -q --allow-empty -m first && git log --format=%s"
    assert await run(bash, root, f"{new} && {line}") == "first"


@needs("git")
async def test_git_watches_no_files_by_a_program_of_the_repository(open_bash: ToolDefinition, root: Path) -> None:
    line = "git init -q . && git config core.fsmonitor 'touch owned' && git status >/dev/null; ls"
    assert await run(open_bash, root, line) == "sub"
    assert await run(open_bash, root, "git config core.fsmonitor; echo $GIT_OPTIONAL_LOCKS") == "false\n0"
    hook = root / ".git/hooks/post-index-change"
    hook.write_text("#!/bin/sh\ntouch owned\n")
    hook.chmod(0o755)
    assert (
        await run(open_bash, root, "git add .; rm -f owned; touch -d 2001-01-01 sub; git status >/dev/null; ls")
        == "sub"
    )


@confined
async def test_programs_work_in_it(bash: ToolDefinition, root: Path) -> None:
    line = (
        "python3 -c 'import tempfile, subprocess, json; tempfile.TemporaryFile(); print(json.dumps(1))' && "
        "seq 3 | sort -r | head -1 && cat <(echo substituted) <<< here && echo x | tee file >/dev/null && cat file"
    )
    assert await run(bash, root, line) == "1\n3\nsubstituted\nx"


@confined
async def test_a_command_that_takes_too_much_is_killed(
    bash: ToolDefinition, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(commands, "Ceiling", lambda memory, processes: process.Ceiling(60_000_000, 500))
    text = await run(bash, root, "python3 -c 'import time; x = bytearray(200_000_000); time.sleep(20)'")
    assert "it used too much memory" in text


# ---- nothing lives on


async def test_what_a_command_leaves_behind_is_ended(open_bash: ToolDefinition, root: Path) -> None:
    token = new_token()
    assert await run(open_bash, root, f"(setsid sleep 60.{token} &) ; sleep 60.{token} & echo begun") == "begun"
    assert living(token) == {}


async def test_cancelled_nothing_of_it_lives(open_bash: ToolDefinition, root: Path) -> None:
    token = new_token()
    task = asyncio.create_task(run(open_bash, root, f"setsid sleep 60.{token} & sleep 60.{token}"))
    assert await asyncio.to_thread(until, lambda: sleeping(token) == 2)
    task.cancel()
    await asyncio.wait((task,))
    assert task.cancelled()
    assert living(token) == {}


async def test_its_temporary_folder_goes_with_the_tools(root: Path) -> None:
    tools = shell_tools(None)
    temp = await run(tools[0], root, "echo x > $TMPDIR/file; echo $TMPDIR")
    assert os.listdir(temp) == ["file"]
    assert os.stat(temp).st_mode & 0o777 == 0o700
    assert await run(tools[0], root, "cat $TMPDIR/file") == "x"
    del tools
    assert await asyncio.to_thread(until, lambda: gc.collect() >= 0 and not os.path.exists(temp))


def test_a_forked_process_leaves_the_temporary_folder_there(monkeypatch: pytest.MonkeyPatch) -> None:
    mine = os.getpid()
    scratch, other = Scratch(), Scratch()
    paths = [scratch.path, other.path]
    with monkeypatch.context() as forked:
        forked.setattr(os, "getpid", lambda: mine + 1)
        del scratch
        gc.collect()
    del other
    gc.collect()
    assert [os.path.isdir(path) for path in paths] == [True, False]
    os.rmdir(paths[0])


# ---- what approval sees


async def test_where_nothing_confines_it_what_a_command_does_is_asked_about(
    root: Path, open_bash: ToolDefinition
) -> None:
    assert open_bash.asks == "commands are not confined here: there is no sandbox"
    assert "sandbox" not in open_bash.description
    asked: list[Any] = []
    await call_tool(open_bash, {"command": "mkdir made"}, root, mode="full", on_asked=asked.append)
    assert [request.why for request in asked] == [open_bash.asks]


def test_the_definition_says_what_approval_must_judge() -> None:
    tool = shell_tools(SANDBOX)[0]
    assert (tool.name, tool.risk, tool.command) == ("run_bash", "execute", "command")
    assert (tool.folder, tool.variables, tool.network) == ("cwd", "environment", "network")
    assert tool.timeout is not None
    assert tool.timeout > 600
    assert bool(tool.asks) is not SANDBOX.holds


def test_where_there_is_no_bash_there_is_sh(monkeypatch: pytest.MonkeyPatch) -> None:
    there = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: "bash" not in str(path) and there(path, mode))
    assert Shell(None, ()).name == "sh"
    assert shell_tools(None)[0].description.startswith("Run a sh command line")
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    assert Shell(None, ()).name == ""


@pytest.mark.parametrize(("version", "known"), [("5.2", True), ("3.2", False), ("", False)])
def test_the_tool_says_whether_the_rules_of_its_bash_are_known(
    version: str, known: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("toolwire.builtin.commands.find_bash", lambda: ("/bin/sh", version))
    tool = shell_tools(None)[0]
    assert tool.shell == ("bash" if known else "")
    assert ("needs approval" in tool.description) is not known


def test_sh_is_not_said_to_be_bash(monkeypatch: pytest.MonkeyPatch) -> None:
    there = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: "bash" not in str(path) and there(path, mode))
    assert shell_tools(None)[0].shell == ""


# ---- a sandbox that cannot hide everything


class Leaky:
    """A sandbox that holds, but cannot hide what lies inside the workspace."""

    holds = True
    words = "it holds"

    def __init__(self, path: Path) -> None:
        self.path = str(path)

    def command(self, argv: list[str], profile: Any) -> list[str]:
        return argv

    def unenforced(self, profile: Any) -> tuple[str, ...]:
        return (self.path,)


async def test_nothing_runs_that_could_read_what_must_stay_hidden(root: Path) -> None:
    leaky: Any = Leaky(root / "key")
    bash = shell_tools(leaky)[0]
    assert await run(bash, root, "echo ran") == "ran"
    (root / "key").touch()
    text = await run(bash, root, "echo ran")
    assert text.startswith(f"Error: commands cannot run here: {root}/key must stay unread")


async def test_what_a_model_sets_is_set_inside_the_sandbox(root: Path) -> None:
    """What confines a command is a program too, and obeys variables."""
    seen: list[list[str]] = []

    class Watching(Leaky):
        def command(self, argv: list[str], profile: Any) -> list[str]:
            seen.append(argv)
            return ["/bin/sh", "-c", 'test -z "$ASKED" && exec "$@"', "sh", *argv]

    watching: Any = Watching(root / "none")
    assert await run(shell_tools(watching)[0], root, "echo $ASKED", environment={"ASKED": "a b=c"}) == "a b=c"
    assert seen[0][1] == "ASKED=a b=c"


@confined
@pytest.mark.parametrize("means", ["landlock and namespaces", "bubblewrap", "landlock"])
async def test_toolwire_itself_is_not_changed(root: Path, monkeypatch: pytest.MonkeyPatch, means: Means) -> None:
    """A command that changes what confines the next one is out."""
    sandbox = find_sandbox(means)
    if not sandbox.holds:
        pytest.skip(sandbox.words)
    bash = shell_tools(sandbox)[0]
    itself = root / "venv/lib/toolwire"
    itself.mkdir(parents=True)
    (itself / "confine.py").write_text("as it was")
    (root / ".bashrc").write_text("as it was")
    monkeypatch.setattr(profile, "OWN", (str(itself), "/usr"))
    line = (
        "echo x > venv/lib/toolwire/confine.py; mv venv away; mv .bashrc away; echo x > .bashrc; echo done > new; false"
    )
    text = await run(bash, root, line)
    assert (itself / "confine.py").read_text() == (root / ".bashrc").read_text() == "as it was"
    if means == "landlock":
        assert text.startswith(f"Error: commands cannot run here: Toolwire itself ({itself}) lies inside the workspace")
    else:
        assert (root / "new").read_text() == "done\n"
        assert f"only inside the workspace (but not in {root}/.bashrc, {itself}) and $TMPDIR" in text
    monkeypatch.setattr(profile, "OWN", (str(root),))
    assert "Toolwire itself" in await run(bash, root, "true")


def test_what_toolwire_itself_is() -> None:
    assert {os.path.realpath(sys.prefix), str(Path(profile.__file__).resolve().parents[1])} <= {*folders.OWN}


async def test_a_root_inside_another_is_not_opened_by_its_path(root: Path) -> None:
    """One command could put a link in its place, and the next would be given where that leads."""
    seen: list[tuple[str, ...]] = []

    class Watching(Leaky):
        def command(self, argv: list[str], profile: Any) -> list[str]:
            seen.append(profile.writable)
            return argv

    watching: Any = Watching(root / "none")
    bash = shell_tools(watching)[0]
    further = (root / "sub", root.parent / "outside")
    temp = (await call_tool(bash, {"command": "echo $TMPDIR"}, root, further=further)).content
    assert seen == [(str(root), str(root.parent / "outside"), temp)]
    assert command_profile(None, ("/a/b", "/ab", "/a", "/ab"), ()).writable == ("/ab", "/a")
    assert command_profile(None, ("/a/b", "/"), ()).writable == ("/",)


def test_a_link_is_not_protected_by_its_name(root: Path) -> None:
    """It leads to what has another path."""
    (root / ".toolwire").mkdir()
    (root / ".bashrc").symlink_to("kept")
    everything: Any = Leaky(root / "none")
    allowed = command_profile(everything, (str(root),), ())
    assert allowed.protected == (str(root / ".toolwire"), str(root / ".git"))


def test_a_shell_that_came_with_the_project_is_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the system has none: the search path may begin in the folder that one works in."""
    for folder in ("project", "elsewhere"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "sh").write_text("#!/bin/sh\n")
        (tmp_path / folder / "sh").chmod(0o755)
    monkeypatch.setattr(os, "access", lambda path, mode: str(path).startswith(str(tmp_path)))
    monkeypatch.chdir(tmp_path / "project")
    monkeypatch.setenv("PATH", f"{tmp_path}/project:.:")
    assert Shell(None, ()).name == ""
    monkeypatch.setenv("PATH", f"{tmp_path}/project:{tmp_path}/elsewhere")
    shell = Shell(None, ())
    assert (shell.name, shell.is_known) == ("sh", False)
    assert shell._argv[0] == f"{tmp_path}/elsewhere/sh"
