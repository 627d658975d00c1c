"""The commands in bare environments, as containers and CI have them: each works or says what to do."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

import pytest

from cli.chat_bytes import ANSWER, CALCULATE
from cli.command import Ran, clean_environment
from cli.model_server import ModelServer
from cli.terminal import CTRL_D, Terminal

MODEL = ("--model", "openai-compatible:test", "--tools", "demo", "--retries", "0")
SCRIPTED_DEMO = """
import functools, sys
from toolwire.agent.loop import Agent
from toolwire.cli import demo
from toolwire.cli.app import run_command
demo.ensure_weights = lambda: None
demo.EMBEDDED = "openai-compatible:test"
demo.Agent = functools.partial(Agent, base_url=sys.argv[1])
"""
UNKNOWN_USER = """
import pwd
def getpwuid(uid):
    raise KeyError(uid)
pwd.getpwuid = getpwuid
"""
DEMO = f"{SCRIPTED_DEMO}\nsys.exit(run_command(['demo']))"
BOTH = f"{SCRIPTED_DEMO}\nsys.exit(run_command(sys.argv[2:]) * 16 + run_command(['demo']))"
RUN = "import sys; from toolwire.cli.app import run_command; sys.exit(run_command(sys.argv[2:]))"


class Bare(NamedTuple):
    """What an environment lacks. A variable set to None is unset, `{tmp}` is an empty folder."""

    env: Mapping[str, str | None] = MappingProxyType({})
    closed: Sequence[int] = ()
    before: str = ""
    """Python to run before the command."""
    cwd: str = "{tmp}"
    prepare: Callable[[Path], object] = lambda tmp: None
    in_child: Callable[[Path], object] = lambda tmp: None
    words: str = ""
    """What standard error must say."""
    run_code: int = 0
    demo_code: int = 0
    says: bool = True
    """Whether standard output can be read."""


def _read_only(tmp: Path) -> None:
    tmp.chmod(0o500)


BARE = {
    "no HOME": Bare({"HOME": None, "XDG_STATE_HOME": "{tmp}"}),
    "HOME is not there": Bare({"HOME": "{tmp}/missing"}),
    "HOME cannot be made": Bare(
        {"HOME": "/dev/null"}, words="Set XDG_STATE_HOME to a folder that you can write", run_code=1
    ),
    "unknown user": Bare({"HOME": None}, before=UNKNOWN_USER, words="/dev/null/.local/state/toolwire", run_code=1),
    "read-only folder": Bare(prepare=_read_only),
    "TERM=dumb": Bare({"TERM": "dumb"}),
    "no TERM": Bare({"TERM": None}),
    "no TERM and NO_COLOR": Bare({"TERM": None, "NO_COLOR": None}),
    "C locale": Bare({"LC_ALL": "C", "PYTHONIOENCODING": None}),
    "ASCII": Bare({"LC_ALL": "POSIX", "PYTHONIOENCODING": None, "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}),
    "no standard input": Bare(closed=[0]),
    "no standard output": Bare(closed=[1], says=False),
    "no standard error": Bare(closed=[2]),
    "no standard streams": Bare(closed=[0, 1, 2], says=False),
    "TMPDIR": Bare({"TMPDIR": "{tmp}"}),
    "one core": Bare(in_child=lambda tmp: os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])),
    "a proxy": Bare({"http_proxy": "http://127.0.0.1:1", "no_proxy": "127.0.0.1"}),
    "a key and a model": Bare({"OPENAI_API_KEY": "sk-0123456789abcdef", "TOOLWIRE_MODEL": "openai:gpt-4.1-mini"}),
    "a deleted folder": Bare(
        in_child=lambda tmp: tmp.rmdir(), words="the folder you are in is not there any more", run_code=2, demo_code=2
    ),
}


def start(bare: Bare, code: str, arguments: Sequence[str], tmp_path: Path) -> Ran:
    folder = tmp_path / "folder"
    folder.mkdir()
    given = {name: value and value.format(tmp=folder) for name, value in bare.env.items()}
    env = {name: value for name, value in (clean_environment() | given).items() if value is not None}
    bare.prepare(folder)

    def in_child() -> None:
        for descriptor in bare.closed:
            os.close(descriptor)
        bare.in_child(folder)

    done = subprocess.run(
        [sys.executable, "-P", "-c", f"{bare.before}\n{code}", *arguments],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        env=env,
        cwd=folder,
        preexec_fn=in_child,
        timeout=120,
    )
    ran = Ran(done.returncode, done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace"))
    assert "Traceback" not in ran.out + ran.err
    assert "bug in Toolwire" not in ran.err
    return ran


@pytest.mark.parametrize("name", BARE)
def test_run_and_demo(name: str, tmp_path: Path) -> None:
    """One after the other in one process, since most of the time goes into starting Python."""
    bare = BARE[name]
    with ModelServer([CALCULATE, ANSWER] * 2) as server:
        arguments = [server.url, "run", *MODEL, "--base-url", server.url, "What is 17 * 23?"]
        ran = start(bare, BOTH, arguments, tmp_path)
    assert divmod(ran.code, 16) == (bare.run_code, bare.demo_code), ran.err
    if bare.run_code:
        assert bare.words in ran.err
    elif bare.says:
        assert ran.out.startswith("It is 391.\n")
    if bare.says and not bare.demo_code:
        assert "calculate  expression: 17 * 23\n" in ran.out
        assert "It is 391.\n" in ran.out
        assert ran.out.endswith("chat\n")
    assert not (tmp_path / "folder" / "~").exists()


def test_the_demo_shows_the_call_before_the_answer_and_ends_with_the_chat(tmp_path: Path) -> None:
    with ModelServer([CALCULATE, ANSWER]) as server:
        ran = start(Bare(), DEMO, [server.url], tmp_path)
    assert (ran.code, ran.err) == (0, "")
    told = ["No key is used", "> How many miles is 42 km?", "● calculate", "→ 17 * 23 = 391", "It is 391.", "To start"]
    assert sorted(told, key=ran.out.index) == told
    assert not list((tmp_path / "folder").iterdir()), "nothing is saved"


def test_the_demo_fails_in_words(tmp_path: Path) -> None:
    with ModelServer([(500, {"error": {"message": "no"}})]) as server:
        code = DEMO.replace("base_url=sys.argv[1]", "base_url=sys.argv[1], retries=Retries(attempts=1)")
        ran = start(Bare(), f"from toolwire.agent.asking import Retries\n{code}", [server.url], tmp_path)
    assert ran.code == 1
    assert "toolwire: " in ran.err
    assert "To start the chat" not in ran.out


def test_without_an_audit_trail_the_run_says_that_no_tool_will_run(tmp_path: Path) -> None:
    with ModelServer([CALCULATE, ANSWER]) as server:
        arguments = [server.url, "run", *MODEL, "--base-url", server.url, "--no-session", "What is 17 * 23?"]
        warned = start(Bare({"XDG_STATE_HOME": "/dev/null"}), RUN, arguments, tmp_path)
    assert warned.code == 0
    assert "so no tool will run\n  Set XDG_STATE_HOME to a folder that you can write, or give --no-audit." in warned.err


@pytest.mark.parametrize(("columns", "lines"), [(39, 24), (80, 9)])
def test_the_chat_uses_plain_lines_in_a_terminal_that_is_too_small(columns: int, lines: int, tmp_path: Path) -> None:
    arguments = ("chat", "--model", "openai-compatible:test", "--tools", "demo", "--base-url", "http://127.0.0.1:1")
    with Terminal(*arguments, env={"HOME": str(tmp_path)}, size=(columns, lines)) as terminal:
        terminal.wait_for(f"the terminal is {columns} x {lines}")
        terminal.wait_for("You: ")
        terminal.wait_for_editor()
        terminal.type(CTRL_D)
        assert terminal.end() == 0


@pytest.mark.parametrize("term", ["dumb", ""])
def test_the_chat_uses_plain_lines_where_the_terminal_can_do_no_more(term: str, tmp_path: Path) -> None:
    with ModelServer([ANSWER]) as server:
        arguments = ("chat", "--model", "openai-compatible:test", "--tools", "demo", "--base-url", server.url)
        with Terminal(*arguments, env={"TERM": term, "HOME": str(tmp_path)}) as terminal:
            terminal.wait_for(f"TERM is {term or 'not set'}, so the chat uses plain lines")
            terminal.wait_for("You: ")
            terminal.wait_for_editor()
            terminal.type(CTRL_D)
            assert terminal.end() == 0


def test_the_chat_names_the_stream_that_is_not_a_terminal(tmp_path: Path) -> None:
    ran = start(Bare(), RUN, ["", "chat"], tmp_path)
    assert ran.code == 2
    assert "the chat needs a terminal, and standard input is not one" in ran.err
    assert "toolwire demo" in ran.err
