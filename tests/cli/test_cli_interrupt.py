"""Ctrl-C at a real terminal: whatever runs ends within a moment, and the conversation goes on with all of it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from cli.chat_bytes import ANSWER, call_deltas, sse
from cli.command import clean_environment
from cli.model_server import ModelServer
from cli.terminal import CTRL_C, CTRL_D, Terminal
from waiting import until

MODEL = ("--model", "openai-compatible:test")
TALK = (*MODEL, "--tools", "demo")
"""Where no tool is called: few are loaded in half the time."""
AT_ONCE = 20.0
"""Seconds. A second is promised; the machine may be busy."""


def run_bash(command: str) -> bytes:
    return sse(
        {"content": "One moment."},
        *call_deltas("run_bash", json.dumps({"command": command})),
        *call_deltas("calculate", "{}", index=1, call_id="call_2"),
        stop="tool_calls",
    )


def sleeping(token: str) -> bool:
    """Whether a `sleep` with this argument lives."""
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if (folder / "cmdline").read_bytes() == f"sleep\0{token}\0".encode():
                return True
    return False


def check_every_call_is_answered(server: ModelServer, results: int) -> None:
    """The last request holds one result for each call, right behind the message that made it."""
    messages = server.requests[-1]["messages"]
    calls = [(at, call["id"]) for at, each in enumerate(messages) for call in each.get("tool_calls") or ()]
    answers = [(at, each["tool_call_id"]) for at, each in enumerate(messages) if each["role"] == "tool"]
    assert [id for _, id in calls] == [id for _, id in answers]
    assert len(answers) == results
    for (made, _), (answered, _) in zip(calls, answers, strict=True):
        assert {each["role"] for each in messages[made + 1 : answered + 1]} == {"tool"}


def interrupt(terminal: Terminal) -> None:
    """One Ctrl-C, and the prompt is there again at once."""
    began = time.monotonic()
    terminal.type(CTRL_C)
    terminal.wait_for("(interrupted)")
    assert time.monotonic() - began < AT_ONCE
    terminal.wait_for("\n> ")


def ask_again(terminal: Terminal) -> None:
    terminal.type("And now?\n")
    terminal.wait_for("It is 391.")
    terminal.wait_for("\n> ")
    terminal.type(CTRL_D)
    assert terminal.end() == 0
    assert "Traceback" not in terminal.screen


def test_before_the_answer() -> None:
    with ModelServer([None, ANSWER]) as server, Terminal("run", *TALK, "--base-url", server.url) as terminal:
        terminal.wait_for("> ")
        terminal.type("Are you there?\n")
        terminal.wait_for("waiting for the model")
        server.wait_for_requests(1)
        interrupt(terminal)
        ask_again(terminal)
    check_every_call_is_answered(server, 0)
    assert [each["content"] for each in server.requests[-1]["messages"]][:1] == ["Are you there?"]


def test_within_the_answer(tmp_path: Path) -> None:
    """What was said until then is in the history; the connection is given up."""
    words = sse({"content": "The beginning of an answer"})
    with (
        ModelServer([words[: words.index(b'"finish_reason"') - 60], ANSWER], stalls=True) as server,
        Terminal("run", *TALK, "--base-url", server.url) as terminal,
    ):
        terminal.wait_for("> ")
        terminal.type("Tell me\n")
        terminal.wait_for("The beginning of an")
        interrupt(terminal)
        ask_again(terminal)
    check_every_call_is_answered(server, 0)
    assert "The beginning of an answer" in json.dumps(server.requests[-1])


def test_while_a_question_stands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    call = sse(*call_deltas("write_file", '{"path": "a.txt", "content": "x"}'), stop="tool_calls")
    with ModelServer([call, ANSWER]) as server, Terminal("run", *MODEL, "--base-url", server.url) as terminal:
        terminal.wait_for("> ")
        terminal.type("Write\n")
        terminal.wait_for("Run it? ")
        interrupt(terminal)
        ask_again(terminal)
    check_every_call_is_answered(server, 1)
    assert "cancelled before it ran" in json.dumps(server.requests[-1])
    assert not (tmp_path / "a.txt").exists()


@pytest.mark.parametrize("stubborn", [False, True], ids=["a command", "one that ignores SIGTERM"])
def test_while_a_command_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stubborn: bool) -> None:
    monkeypatch.chdir(tmp_path)
    token = f"71{os.getpid()}{int(stubborn)}.5"
    (tmp_path / "wait.sh").write_text("trap '' TERM HUP INT\n" * stubborn + f"sleep {token}\n" * 2)
    with (
        ModelServer([run_bash("sh wait.sh"), ANSWER]) as server,
        Terminal("run", *MODEL, "--base-url", server.url, "--mode", "full") as terminal,
    ):
        terminal.wait_for("> ")
        terminal.type("Wait\n")
        terminal.wait_for("running run_bash")
        assert until(lambda: sleeping(token))
        interrupt(terminal)
        assert not sleeping(token), "the prompt is there when nothing runs any more"
        ask_again(terminal)
    check_every_call_is_answered(server, 2)
    assert "cancelled while it ran" in json.dumps(server.requests[-1])


def test_a_second_one_while_it_is_still_stopping_leaves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    token = f"72{os.getpid()}.5"
    (tmp_path / "wait.sh").write_text(f"trap '' TERM HUP INT\nsleep {token}\nsleep {token}\n")
    with (
        ModelServer([run_bash("sh wait.sh")]) as server,
        Terminal("run", *MODEL, "--base-url", server.url, "--mode", "full") as terminal,
    ):
        terminal.wait_for("> ")
        terminal.type("Wait\n")
        assert until(lambda: sleeping(token))
        terminal.type(CTRL_C)
        terminal.wait_for("(interrupted)")
        terminal.type(CTRL_C)
        assert terminal.end() == 130
    assert not sleeping(token)
    assert "Traceback" not in terminal.screen
    assert "\n> " not in terminal.screen


NO_SIGNALS = """
import asyncio, sys

def refuse(*_):
    raise NotImplementedError

asyncio.SelectorEventLoop.add_signal_handler = refuse
from toolwire.cli import main

sys.exit(main())
"""


def test_where_the_loop_takes_no_signals_it_is_the_same(tmp_path: Path) -> None:
    """As on Windows."""
    program = tmp_path / "program.py"
    program.write_text(NO_SIGNALS)
    with (
        ModelServer([None, ANSWER]) as server,
        Terminal("run", *TALK, "--base-url", server.url, program=program) as terminal,
    ):
        terminal.wait_for("> ")
        terminal.type("Are you there?\n")
        server.wait_for_requests(1)
        interrupt(terminal)
        ask_again(terminal)
    check_every_call_is_answered(server, 0)
    with ModelServer([None]) as server:
        arguments = ("run", "Hello?", *TALK, "--base-url", server.url)
        with Terminal(*arguments, program=program) as terminal:
            server.wait_for_requests(1)
            terminal.type(CTRL_C)
            terminal.wait_for("(interrupted)")
            assert terminal.end() == 130


def test_a_second_one_at_the_prompt_leaves() -> None:
    with ModelServer([ANSWER]) as server, Terminal("run", *TALK, "--base-url", server.url) as terminal:
        terminal.wait_for("> ")
        terminal.wait_for_editor()
        terminal.type(CTRL_C)
        terminal.wait_for("Ctrl-C again")
        terminal.wait_for("> ")
        terminal.type("Still there?\n")
        terminal.wait_for("It is 391.")
        terminal.wait_for("\n> ")
        terminal.wait_for_editor()
        terminal.type(CTRL_C)
        terminal.wait_for("Ctrl-C again")
        terminal.wait_for("> ")
        terminal.wait_for_editor()
        terminal.type(CTRL_C)
        assert terminal.end() == 130
        assert "Traceback" not in terminal.screen


def test_a_single_question_ends_with_130() -> None:
    with ModelServer([None]) as server, Terminal("run", "Hello?", *TALK, "--base-url", server.url) as terminal:
        terminal.wait_for("waiting for the model")
        server.wait_for_requests(1)
        terminal.type(CTRL_C)
        terminal.wait_for("(interrupted)")
        assert terminal.end() == 130
        assert "Traceback" not in terminal.screen
        assert "go on with: toolwire run --resume " in terminal.screen


def test_the_interrupt_is_the_last_event() -> None:
    with ModelServer([None]) as server:
        child = subprocess.Popen(
            [sys.executable, "-m", "toolwire", "run", "Hi", *TALK, "--base-url", server.url, "--json"],
            stdout=subprocess.PIPE,
            env=clean_environment(),
        )
        with child:
            server.wait_for_requests(1)
            child.send_signal(signal.SIGINT)
            out, _ = child.communicate(timeout=20)
        assert child.returncode == 130
    assert json.loads(out.splitlines()[-1])["type"] == "run_interrupted"
