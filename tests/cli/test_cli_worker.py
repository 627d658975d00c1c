"""`toolwire worker`: what it offers and says; and once all of it, with the runs that others submit and answer."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
from contextlib import closing
from pathlib import Path
from typing import Any, ClassVar

import pytest

from cli.chat_bytes import call_deltas, sse
from cli.command import clean_environment
from cli.model_server import ModelServer
from toolwire.cli.app import run_command
from toolwire.durable.database import Database
from waiting import until

MODEL = ("--model", "openai-compatible:test", "--base-url", "http://127.0.0.1:9/v1")


class StandIn:
    """`Worker`, that notes what it was made with."""

    made: ClassVar[list[dict[str, Any]]] = []
    signals: ClassVar[list[signal.Signals]] = []
    """What comes while it works."""

    def __init__(self, url: str | None, agents: Any, **given: Any) -> None:
        self.made.append({"url": url, "agents": agents, **given})
        self._tell = given["tell"]
        self.stopped = asyncio.Event()
        assert url is not None
        with closing(Database(url)) as database:
            self.database = database.shown

    async def run(self) -> None:
        self._tell("r-1 is worked on: \x1b[2JTidy up\nnow")
        for number in self.signals:
            os.kill(os.getpid(), number)
            await asyncio.wait_for(self.stopped.wait(), 10)
            await asyncio.sleep(0)

    def stop(self) -> None:
        self.stopped.set()


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in list(os.environ):
        if name.startswith("TOOLWIRE_") or name.endswith("_API_KEY"):
            monkeypatch.delenv(name)
    for name, folder in (("HOME", ""), ("XDG_CONFIG_HOME", "config"), ("XDG_STATE_HOME", "state")):
        monkeypatch.setenv(name, str(tmp_path / folder))
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    monkeypatch.setattr(StandIn, "made", [])
    monkeypatch.setattr("toolwire.durable.worker.Worker", StandIn)
    return tmp_path


def test_what_it_offers_is_said_first(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (home / "tools.py").write_text(
        "from toolwire import tool\n\n@tool(risk='read')\ndef own_tool() -> str:\n    'Mine.'\n    return ''\n"
    )
    (home / "other").mkdir()
    words = "--queue slow --queue fast --concurrency 2 --everywhere 9 --rate anthropic=50/60s --rate *=10/s --mode full"
    more = f"--tools demo --file {home}/tools.py --workspace {home}/other --max-turns 4 --deny own_tool"
    url = "postgresql://me:passw0rd@db.example:5432/runs?sslmode=require"
    assert run_command(["worker", *MODEL, *words.split(), *more.split(), "--database", url]) == 0
    shown = capsys.readouterr().out
    for line in (
        "Database: postgresql://db.example:5432/runs",
        "Queues: slow, fast; 2 runs at a time of each. Agents: toolwire.",
        "Model: test, at http://127.0.0.1:9/v1",
        "own_tool",
        f"Folder: {home}/other. Mode: full; what would be asked waits for toolwire runs approve.",
        "Rates: anthropic 50 in 60 s, * 10 in 1 s.",
        "r-1 is worked on: ␛[2JTidy up now",
    ):
        assert line in shown, shown
    assert "passw0rd" not in shown
    [made] = StandIn.made
    assert (made["url"], made["queues"], made["concurrency"], made["everywhere"]) == (url, ["slow", "fast"], 2, 9)
    assert {name: tuple(rate) for name, rate in made["rates"].items()} == {"anthropic": (50, 60.0), "*": (10, 1.0)}
    [agent] = made["agents"]
    assert (agent.name, agent.version) == ("toolwire", "1")


def test_what_nobody_says_is_usual(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["worker", *MODEL]) == 0
    [made] = StandIn.made
    assert made["url"] == f"sqlite:///{home}/state/toolwire/runs.db"
    assert (made["queues"], made["concurrency"], made["everywhere"], made["rates"]) == (["toolwire"], 8, None, {})
    assert f"Database: sqlite:///{home}/state/toolwire/runs.db" in capsys.readouterr().out


WRONG = [
    (("--concurrency", "0"), "--concurrency 0 lets nothing run"),
    (("--everywhere", "0"), "--everywhere 0 lets nothing run"),
    (("--rate", "anthropic"), "--rate anthropic names no provider and no rate"),
    (("--rate", "anthropic=fast"), "'fast' is no rate"),
    (("--workspace", "/nowhere/at/all"), "there is no folder /nowhere/at/all"),
    (("--mode", "yolo"), "--mode is none of"),
    (("--database", "mysql://me:passw0rd@x/y"), "--database is no address of a database"),
    (("--database", "sqlite:///runs.db"), "the database lies in a folder that tools may change"),
    (("--allow", "*"), "allows every tool"),
    (("--deny", "no_such_tool"), "there is no such tool here"),
    (("--file", "nowhere.py"), "there is no Python file nowhere.py"),
    (("--max-turns", "0"), "--max-turns is less than 1"),
]


@pytest.mark.parametrize(("words", "says"), WRONG)
def test_what_is_asked_for_wrongly_is_said_before_it_begins(
    home: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], says: str
) -> None:
    assert run_command(["worker", *MODEL, *words]) == 2
    err = capsys.readouterr().err
    assert says in err
    assert "passw0rd" not in err
    assert not StandIn.made


def test_a_model_that_cannot_be_asked_is_said_before_it_begins(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["worker", "--model", "anthropic:claude"]) != 0
    assert "no key for Anthropic" in capsys.readouterr().err
    assert not StandIn.made


def test_told_to_end_it_drains(home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(StandIn, "signals", [signal.SIGTERM])
    assert run_command(["worker", *MODEL]) == 143
    assert "no more runs are taken, and the steps that run now may end" in capsys.readouterr().err


def test_told_twice_it_leaves_at_once(
    home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    left: list[int] = []
    monkeypatch.setattr("os._exit", left.append)
    monkeypatch.setattr(StandIn, "signals", [signal.SIGINT, signal.SIGINT])
    assert run_command(["worker", *MODEL]) == 130
    assert left == [130]
    assert "left at once" in capsys.readouterr().err


def test_told_to_end_it_leaves_after_its_time_whatever_hangs(
    home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    left: list[int] = []
    gone = threading.Event()

    def leave(code: int) -> None:
        left.append(code)
        gone.set()

    async def hang(_: StandIn) -> None:
        os.kill(os.getpid(), signal.SIGTERM)
        gone.wait(30)  # the event loop itself is blocked

    monkeypatch.setattr("os._exit", leave)
    monkeypatch.setattr(StandIn, "run", hang)
    monkeypatch.setattr("toolwire.durable.worker.GRACE", 0.0)
    monkeypatch.setattr("toolwire.cli.worker._LATE_SECONDS", 0.01)
    assert run_command(["worker", *MODEL]) == 143
    assert left == [143]
    assert "not all had ended" in capsys.readouterr().err


def test_a_run_is_submitted_worked_on_answered_and_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """All of it: a worker in a process of its own, and whoever answers in this one."""
    calls = call_deltas("write_file", json.dumps({"path": "notes.md", "content": "Notes.\n"}))
    with ModelServer([sse(*calls, stop="tool_calls"), sse({"content": "It is written."})]) as model:
        env = clean_environment(
            {
                "XDG_STATE_HOME": str(tmp_path / "state"),
                "XDG_CONFIG_HOME": str(tmp_path / "config"),
                "TOOLWIRE_DATABASE": f"sqlite:///{tmp_path}/runs.db",
            }
        )
        (tmp_path / "work").mkdir()
        for name, value in env.items():
            monkeypatch.setenv(name, value)
        words = ("--model", "openai-compatible:test", "--base-url", model.url, "--workspace", str(tmp_path / "work"))
        with (tmp_path / "log").open("w") as log:
            worker = subprocess.Popen(
                [sys.executable, "-m", "toolwire", "worker", *words], env=env, cwd=tmp_path, stdout=log, stderr=log
            )
        try:

            def done(*words: str) -> str:
                code = run_command(["runs", *words])
                shown = capsys.readouterr()
                assert code == 0, shown.err
                return shown.out

            run = done("submit", "Write the notes.", "--id", "notes").strip()
            assert until(lambda: "notes is waiting" in (tmp_path / "log").read_text(), 30)
            [row] = [json.loads(line) for line in done("list", "--state", "waiting", "--json").splitlines()]
            assert (row["id"], row["questions"]) == ("notes", 1)
            assert not (tmp_path / "work" / "notes.md").exists()
            [question] = json.loads(done("show", "not", "--json"))["questions"]
            done("approve", "notes", question["id"])
            assert done("follow", run) == "It is written.\n"
            assert (tmp_path / "work" / "notes.md").read_text() == "Notes.\n"
            assert run_command(["runs", "deny", "notes", question["id"]]) == 2
        finally:
            worker.send_signal(signal.SIGTERM)
            code = worker.wait(20)
        assert code == 143
    assert "Write the notes." in (tmp_path / "log").read_text()
    assert "@" in (tmp_path / "state" / "toolwire" / "audit.jsonl").read_text()
