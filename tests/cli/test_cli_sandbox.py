from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from cli.command import Ran, assert_sentence, toolwire_command
from toolwire.cli import sandbox as command
from toolwire.cli.app import run_command
from toolwire.execution.sandbox.escapes import ESCAPES
from toolwire.execution.sandbox.sandbox import Sandbox, find_sandbox
from toolwire.execution.sandbox.trials import Trial

Run = Callable[..., Ran]

holds = pytest.mark.skipif(not find_sandbox().holds, reason="nothing can confine a program here")
SMALL = ("bash /dev/tcp", "> outside", "cat", "kill -9")


@pytest.fixture
def sandbox(monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]) -> Run:
    """The command in this process, with a few of its trials."""
    monkeypatch.setattr(command, "ESCAPES", [escape for escape in ESCAPES if escape.name in SMALL])

    def run(*arguments: str) -> Ran:
        code = run_command(["sandbox", *arguments])
        out, err = capfdbinary.readouterr()
        return Ran(code, out.decode(), err.decode())

    return run


def give(monkeypatch: pytest.MonkeyPatch, *trials: Trial) -> None:
    async def fake(sandbox: Sandbox, escapes: object) -> object:
        for trial in trials:
            yield trial

    monkeypatch.setattr(command, "find_sandbox", lambda: Sandbox("landlock", "a kernel holds commands"))
    monkeypatch.setattr(command, "try_escapes", fake)


@holds
def test_what_holds_here(sandbox: Run) -> None:
    ran = sandbox("test")
    assert (ran.code, ran.err) == (0, "")
    first, *rows = ran.out.splitlines()
    assert find_sandbox().words[1:] in first
    held = [row.split(" s  ")[1] for row in rows if row.startswith("  held")]
    assert held == list(SMALL)
    assert rows[-1].startswith("4 of 4 ways out held (")


@holds
def test_json(sandbox: Run) -> None:
    ran = sandbox("test", "--json")
    *trials, verdict = ran.lines
    assert [(trial["name"], trial["state"]) for trial in trials] == [(name, "held") for name in SMALL]
    assert (verdict["holds"], verdict["held"], verdict["got_out"]) == (True, 4, 0)


def test_what_gets_out_is_a_failure(sandbox: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    give(
        monkeypatch,
        Trial("curl", "network", "held", "exit code 7", 0.1),
        Trial("nc", "network", "not tried", "there is no nc", 0.0),
        Trial("cat", "read", "got out", "a secret was read", 0.2),
    )
    ran = sandbox("test")
    assert ran.code == 1
    assert ran.out.splitlines()[:-1] == [
        "A kernel holds commands.",
        "",
        "To reach the network",
        "  held          0.1 s  curl",
        "  not tried     0.0 s  nc: there is no nc",
        "",
        "To read a secret",
        "  GOT OUT       0.2 s  cat: a secret was read",
        "",
    ]
    verdict = "1 of 2 ways out held, 1 could not be tried here; 1 got out: do not rely on the sandbox for those ("
    assert ran.out.splitlines()[-1].startswith(verdict)


@pytest.mark.parametrize("state", ["not tried", "not started"])
def test_what_was_not_tried_proves_nothing(sandbox: Run, monkeypatch: pytest.MonkeyPatch, state: str) -> None:
    give(monkeypatch, Trial("curl", "network", state, "no", 0.0))  # type: ignore[arg-type]
    assert sandbox("test").code == 1


def test_one_that_did_not_start_is_a_failure(sandbox: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    give(monkeypatch, Trial("a", "read", "held", "", 0.1), Trial("b", "read", "not started", "no such call", 0.1))
    ran = sandbox("test")
    assert ran.code == 1
    assert "NOT STARTED   0.1 s  b: no such call" in ran.out


def test_where_nothing_holds(sandbox: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "find_sandbox", lambda: Sandbox("nothing", "the kernel has no Landlock"))
    for name in ("test", "show"):
        ran = sandbox(name)
        assert ran.code == 1
        assert ran.out.startswith("The kernel has no Landlock.\n")
        assert "bubblewrap" in ran.out
        assert sandbox(name, "--json").lines[0]["holds"] is False


@holds
def test_show(tmp_path: Path) -> None:
    """The real command: what it says is about the folder that it is called in."""
    ran = toolwire_command("sandbox", "show", cwd=tmp_path)
    assert (ran.code, ran.err) == (0, "")
    assert f"write      {tmp_path}, and" in ran.out
    ran = toolwire_command("sandbox", "show", "--json", cwd=tmp_path)
    assert json.loads(ran.out)["profile"]["writable"] == [str(tmp_path)]


@holds
def test_show_says_where_no_command_can_run() -> None:
    shown = toolwire_command("sandbox", "show", cwd=Path("/"))
    if find_sandbox().means == "landlock":  # which finds first that it cannot protect Toolwire's own files
        assert shown.code == 2
        assert "commands cannot run here: Toolwire itself (/" in shown.err
    else:
        assert_sentence(shown, 2, "/ cannot be worked in")


@holds
def test_show_says_what_a_command_of_a_model_gets(tmp_path: Path) -> None:
    """As `run_bash` has it: further folders, what runs later, and Toolwire's own files."""
    config, work, other = tmp_path / "config" / "toolwire", tmp_path / "work", tmp_path / "other"
    for folder in (config, work / ".git" / "hooks", other):
        folder.mkdir(parents=True)
    (config / "policy.toml").write_text(f"roots = [{json.dumps(str(other))}]\n")
    env = {"XDG_CONFIG_HOME": str(tmp_path / "config"), "XDG_STATE_HOME": str(tmp_path / "state")}
    profile = json.loads(toolwire_command("sandbox", "show", "--json", cwd=work, env=env).out)["profile"]
    assert profile["writable"] == [str(work), str(other)]
    assert str(config) in profile["hidden"]
    if find_sandbox().means != "landlock":
        closed = [work / ".git" / "hooks", work / ".toolwire", work / ".git" / "config", work / ".git" / "commondir"]
        closed += [other / ".toolwire", other / ".git"]
        assert profile["protected"] == list(map(str, closed))
        assert (
            f"but not    {', '.join(map(str, closed))}\n" in toolwire_command("sandbox", "show", cwd=work, env=env).out
        )


def test_the_whole_test_is_for_those_who_ask(monkeypatch: pytest.MonkeyPatch, sandbox: Run) -> None:
    tried: list[int] = []

    async def fake(sandbox: Sandbox, escapes: list[object]) -> object:
        tried.append(len(escapes))
        yield Trial("curl", "network", "held", "", 0.1)

    monkeypatch.setattr(command, "find_sandbox", lambda: Sandbox("landlock", "a kernel holds commands"))
    monkeypatch.setattr(command, "ESCAPES", ESCAPES)
    monkeypatch.setattr(command, "try_escapes", fake)
    sandbox("test")
    sandbox("test", "--all")
    assert 60 < tried[0] < tried[1] == len(ESCAPES)
