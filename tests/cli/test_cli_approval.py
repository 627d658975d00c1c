"""What `toolwire run` asks about, denies and writes down, at a real terminal and without one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cli.chat_bytes import ANSWER, CALCULATE, call_deltas, sse
from cli.command import toolwire_command
from cli.model_server import ModelServer
from cli.terminal import Terminal

MODEL = ("--model", "openai-compatible:test", "--tools", "demo")


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """A folder to work in."""
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "inside.txt").write_text("from inside")
    return folder


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    return {"XDG_STATE_HOME": str(tmp_path / "state"), "XDG_CONFIG_HOME": str(tmp_path / "config")}


READ_BOTH = [
    sse(
        *call_deltas("read_file", json.dumps({"path": "../outside.txt"}), call_id="out"),
        *call_deltas("read_file", json.dumps({"path": "inside.txt"}), index=1, call_id="in"),
        stop="tool_calls",
    ),
    ANSWER,
]
"""A model that reads a file outside and one inside, and then answers."""
RAN = "leads upwards; '..' is not allowed"
"""What the tool itself says of the first: it ran."""


def trail(env: dict[str, str]) -> list[tuple[str, str]]:
    lines = (Path(env["XDG_STATE_HOME"]) / "toolwire" / "audit.jsonl").read_text().splitlines()
    return [(record["call"], record["event"]) for record in map(json.loads, lines)]


@pytest.mark.parametrize("options", [(), ("--headless",), ("--json",)])
def test_where_nobody_is_asked_the_model_is_told_why(work: Path, env: dict[str, str], options: tuple[str, ...]) -> None:
    with ModelServer(READ_BOTH) as server:
        ran = toolwire_command(
            "run", "Go", *MODEL, "--no-session", "--base-url", server.url, *options, cwd=work, env=env
        )
    assert ran.code == 0
    assert "toolwire:" not in ran.err
    assert (ran.err == "") is ("--json" in options)
    outside, inside = server.requests[1]["messages"][-2:]
    assert outside["content"] == (
        "Error: not run: it needs approval, and nobody is there to ask: '../outside.txt' is outside the workspace"
    )
    assert inside["content"] == "from inside"
    assert trail(env)[0] == ("out", "denied")
    assert [event for call, event in trail(env) if call == "in"] == ["allowed", "started", "finished"]


def test_the_trail_can_be_left_out(work: Path, env: dict[str, str]) -> None:
    with ModelServer(READ_BOTH) as server:
        ran = toolwire_command(
            "run", "Go", *MODEL, "--base-url", server.url, "--no-audit", "--no-session", cwd=work, env=env
        )
    assert ran.code == 0
    assert not Path(env["XDG_STATE_HOME"]).exists()


def test_nothing_runs_where_the_trail_cannot_be_written(work: Path, env: dict[str, str]) -> None:
    Path(env["XDG_STATE_HOME"]).write_text("in the way")
    with ModelServer([CALCULATE, ANSWER]) as server:
        ran = toolwire_command("run", "Go", *MODEL, "--no-session", "--base-url", server.url, cwd=work, env=env)
    assert ran.code == 0
    assert "not run" in server.requests[1]["messages"][-1]["content"]
    assert "audit" in server.requests[1]["messages"][-1]["content"]


def test_a_mode_is_given_and_said(work: Path, env: dict[str, str]) -> None:
    with ModelServer(READ_BOTH) as server:
        ran = toolwire_command("run", "Go", *MODEL, "--base-url", server.url, "--mode", "full", cwd=work, env=env)
    assert "Mode: full.\n" in ran.err
    assert RAN in server.requests[1]["messages"][-2]["content"]


def test_the_files_of_the_user_and_of_the_project_count(work: Path, env: dict[str, str]) -> None:
    own = Path(env["XDG_CONFIG_HOME"]) / "toolwire"
    own.mkdir(parents=True)
    (own / "policy.toml").write_text('mode = "full"\n')
    (work / ".toolwire").mkdir()
    (work / ".toolwire" / "policy.toml").write_text(
        '[[rule]]\ndecision = "deny"\npath = "inside.txt"\nreason = "it is not to be read"\n'
    )
    with ModelServer(READ_BOTH) as server:
        toolwire_command("run", "Go", *MODEL, "--base-url", server.url, cwd=work, env=env)
    outside, inside = server.requests[1]["messages"][-2:]
    assert RAN in outside["content"]
    assert inside["content"] == "Error: not run: it is denied: it is not to be read"


def test_a_policy_file_that_is_wrong_stops_everything(work: Path, env: dict[str, str]) -> None:
    (work / ".toolwire").mkdir()
    (work / ".toolwire" / "policy.toml").write_text('[[rule]]\ndecision = "perhaps"\n')
    with ModelServer([ANSWER]) as server:
        ran = toolwire_command("run", "Go", *MODEL, "--base-url", server.url, cwd=work, env=env)
    assert ran.code == 2
    assert "policy.toml" in ran.err
    assert server.requests == []


def test_json_tells_what_happens_to_each_call(work: Path, env: dict[str, str]) -> None:
    with ModelServer(READ_BOTH) as server:
        ran = toolwire_command("run", "Go", *MODEL, "--base-url", server.url, "--json", cwd=work, env=env)
    told = [(line["type"], line["id"], line["turn"]) for line in ran.lines if line["type"].startswith("tool_")]
    assert sorted(told) == [("tool_finished", "in", 1), ("tool_finished", "out", 1), ("tool_started", "in", 1)]


def test_a_person_is_asked_and_the_other_call_runs_meanwhile(
    work: Path, env: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(work)
    with (
        ModelServer(READ_BOTH) as server,
        Terminal("run", "Go", *MODEL, "--base-url", server.url, env=env) as terminal,
    ):
        before = terminal.wait_for("outside the workspace")
        question = terminal.wait_for("? ")
        assert "from inside" not in before + question, "what runs beside it does not write into the question"
        terminal.type("y\n")
        after = terminal.wait_for("It is 391.")
        assert terminal.end() == 0
    assert "from inside" in after
    outside, inside = server.requests[1]["messages"][-2:]
    assert RAN in outside["content"]
    assert inside["content"] == "from inside"
    assert [event for call, event in trail(env) if call == "out"] == ["asked", "approved", "started", "finished"]


def test_what_was_denied_always_is_denied_without_a_question_the_next_time(
    work: Path, env: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(work)
    with (
        ModelServer(READ_BOTH) as server,
        Terminal("run", "Go", *MODEL, "--base-url", server.url, env=env) as terminal,
    ):
        terminal.wait_for("na always")
        terminal.wait_for("Run it? ")
        terminal.type("na\n")
        terminal.wait_for("It is 391.")
        assert terminal.end() == 0
    kept = (Path(env["XDG_CONFIG_HOME"]) / "toolwire" / "always.toml").read_text()
    assert 'decision = "deny"' in kept
    assert f'path = ["{work.parent}/outside.txt"]' in kept
    with ModelServer(READ_BOTH) as server:
        toolwire_command("run", "Go", *MODEL, "--base-url", server.url, "--mode", "full", cwd=work, env=env)
    assert server.requests[1]["messages"][-2]["content"] == (
        "Error: not run: it is denied: a rule says deny for the path '../outside.txt'"
    )
