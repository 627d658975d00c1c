"""`toolwire chat` at a real terminal, as a process of its own."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from cli.command import toolwire_command
from cli.model_server import ModelServer
from cli.terminal import CTRL_C, CTRL_D, Terminal
from toolwire.agent.sessions.store import SessionStore, sessions_path
from toolwire.testing.bodies import body
from toolwire.testing.pieces import Call, End, Text

HELLO = body("openai-chat", Text("Hello from afar."), End())
WRITE = body("openai-chat", Call("c1", "write_file", '{"path": "made.txt", "content": "made\\n"}'), End())
ALTERNATE, BACK = "\x1b[?1049h", "\x1b[?1049l"


@pytest.fixture
def env(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    monkeypatch.chdir(tmp_path)
    home = str(tmp_path / "home")
    return {"HOME": home, "TERM": "xterm-256color", "TOOLWIRE_DISCOVER": "0", "COLUMNS": "80", "LINES": "24"}


def options(server: ModelServer) -> list[str]:
    return ["chat", "--model", "openai-compatible:test", "--base-url", server.url, "--no-mcp"]


def test_a_question_is_asked_and_the_terminal_given_back(env: dict[str, str]) -> None:
    with ModelServer([HELLO, HELLO]) as server, Terminal(*options(server), "Hi there", env=env) as terminal:
        terminal.wait_for(ALTERNATE)
        terminal.wait_for("Hello from afar.")
        terminal.wait_for("ready")
        terminal.type("/new\r")
        terminal.wait_for("Ask anything")
        terminal.type("Hi again\r")
        terminal.wait_for("Hello from afar.")
        terminal.wait_for("ready")
        terminal.type(CTRL_D)
        assert terminal.end() == 0
    assert BACK in terminal.screen
    with SessionStore(sessions_path(env)) as store:
        (newest,) = (info.id for info in store.list() if info.title == "Hi again")
    assert f"toolwire chat --resume {newest}" in terminal.screen.rpartition(BACK)[2]
    assert "Traceback" not in terminal.screen


def test_a_file_is_written_only_after_a_yes(env: dict[str, str], tmp_path: Path) -> None:
    with ModelServer([WRITE, HELLO]) as server, Terminal(*options(server), "Write it", env=env) as terminal:
        # Keys that were there before the question answer nothing.
        terminal.type("yyy")
        terminal.wait_for("wants to run")
        terminal.wait_for("once")
        assert not (tmp_path / "made.txt").exists()
        terminal.type("n")
        terminal.type(CTRL_C)
        terminal.wait_for("nterrupted")
        assert not (tmp_path / "made.txt").exists()


def test_a_signal_leaves_nothing_behind(env: dict[str, str]) -> None:
    with ModelServer([HELLO]) as server, Terminal(*options(server), env=env) as terminal:
        terminal.wait_for("Ask anything")
        os.kill(terminal.process, signal.SIGTERM)
        assert terminal.end() == 128 + signal.SIGTERM
    assert BACK in terminal.screen


def test_a_closed_window_ends_it_whatever_it_waits_for(env: dict[str, str], tmp_path: Path) -> None:
    """What is painted then goes nowhere, and nobody waits for it."""
    with ModelServer([WRITE, HELLO]) as server, Terminal(*options(server), "Write it", env=env) as terminal:
        terminal.wait_for("wants to run")
        terminal.wait_for("once")
        assert terminal.hang_up() in (128 + signal.SIGHUP, 120), "120: Python could not write its last words"
    assert not (tmp_path / "made.txt").exists()


def test_without_a_terminal_it_says_what_to_use(env: dict[str, str]) -> None:
    done = toolwire_command("chat", env=env)
    assert done.code == 2
    assert "toolwire run" in done.err


@pytest.mark.parametrize(
    ("arguments", "words", "code"),
    [
        (["Hi", "--attach", "r-1"], "--attach shows a run, which has its question", 2),
        (["--attach", "r-1"], "there is no run that begins with 'r-1'", 1),
    ],
)
def test_a_run_that_cannot_be_shown_is_known_before_the_screen(
    env: dict[str, str], tmp_path: Path, arguments: list[str], words: str, code: int
) -> None:
    database = f"sqlite:///{tmp_path / 'runs.db'}"
    with Terminal("chat", *arguments, "--database", database, env=env) as terminal:
        terminal.wait_for(words)
        assert terminal.end() == code
    assert ALTERNATE not in terminal.screen
