"""`toolwire run --record` and `--replay`: the same run again, without a network."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest

from cli.chat_bytes import ANSWER, CALCULATE
from cli.command import assert_sentence, toolwire_command
from cli.model_server import ModelServer
from cli.terminal import CTRL_D, Terminal

KEY = "sk-loopback-0123456789abcdef"
MODEL = ("--model", "openai:test", "--tools", "demo", "--retries", "0")
ENV = {"OPENAI_API_KEY": KEY}


def record(target: Path, *answers: bytes | tuple[int, object]) -> str:
    """Runs and records; what the person was told beside the answer."""
    with ModelServer(answers) as server:
        ran = toolwire_command(
            "run", "What is 17 * 23?", *MODEL, "--base-url", server.url, "--record", str(target), env=ENV
        )
    return ran.err.partition("toolwire: ")[0]


def told(screen: str) -> list[str]:
    """What happened on a screen: no headers, and no times."""
    lines = screen[screen.index("Let me see") :].splitlines()
    return [line.rpartition(" · ")[0] if " turns · " in line else line.partition("  ")[0] for line in lines]


def test_a_recorded_run_is_played_as_it_was(tmp_path: Path) -> None:
    target = tmp_path / "run.jsonl"
    shown = record(target, CALCULATE, ANSWER)
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    assert KEY not in target.read_text()
    again = toolwire_command("run", "--replay", str(target))
    assert (again.code, again.err) == (0, "")
    assert "with openai:test (Toolwire " in again.out
    assert "> What is 17 * 23?\n" in again.out
    played = told(again.out)
    answer = played.index("It is 391.")
    assert played[answer + 1] == ""
    del played[answer : answer + 2]
    assert played[: len(told(shown))] == told(shown)
    assert again.out.endswith("1 run, as recorded.\n")
    events = toolwire_command("run", "--replay", str(target), "--json")
    assert (events.code, events.err) == (0, "")
    assert events.lines[-1]["text"] == "It is 391."


def test_a_recording_that_comes_out_otherwise_is_told(tmp_path: Path) -> None:
    target = tmp_path / "run.jsonl"
    record(target, CALCULATE, ANSWER)
    text = target.read_text()
    assert '"It is 391."' in text
    target.write_text(text.replace('"It is 391."', '"It is 392."'))
    assert_sentence(
        toolwire_command("run", "--replay", str(target)), 1, "run 1 is not as it was recorded", "It is 392."
    )


def test_a_failed_run_is_played_too(tmp_path: Path) -> None:
    target = tmp_path / "run.jsonl"
    record(target, CALCULATE, (400, {"error": {"message": f"boom {KEY}"}}))
    assert KEY not in target.read_text()
    again = toolwire_command("run", "--replay", str(target))
    assert again.code == 0
    assert "boom" in again.err
    assert again.out.endswith("1 run, as recorded.\n")


def test_all_questions_of_a_conversation_are_recorded(tmp_path: Path) -> None:
    target = tmp_path / "run.jsonl"
    with (
        ModelServer([CALCULATE, ANSWER]) as server,
        Terminal("run", *MODEL, "--base-url", server.url, "--record", str(target), env=ENV) as terminal,
    ):
        for question in ("First", "Second"):
            terminal.wait_for("\n> ")
            terminal.type(f"{question}\n")
            terminal.wait_for("It is 391.")
        terminal.wait_for("\n> ")
        terminal.type(CTRL_D)
        assert terminal.end() == 0
    again = toolwire_command("run", "--replay", str(target))
    assert again.code == 0, again.err
    assert again.out.index("> First\n") < again.out.index("> Second\n")
    assert again.out.endswith("2 runs, as recorded.\n")


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["--replay", "{there}"], 1, ["{there}"]),
        (["--replay", "{missing}"], 2, ["there is no file {missing}"]),
        (["Hi", *MODEL, "--record", "{there}"], 1, ["{there}"]),
    ],
    ids=["no recording", "no file", "a file that is there"],
)
def test_files_that_cannot_be_used(tmp_path: Path, arguments: list[str], code: int, words: list[str]) -> None:
    names = {"there": str(tmp_path / "there.jsonl"), "missing": str(tmp_path / "missing.jsonl")}
    Path(names["there"]).write_text(json.dumps({"mine": True}))
    ran = toolwire_command("run", *(each.format(**names) for each in arguments), env=ENV)
    assert_sentence(ran, code, *(each.format(**names) for each in words))
    assert json.loads(Path(names["there"]).read_text()) == {"mine": True}


def test_a_run_that_cannot_begin_leaves_no_empty_recording(tmp_path: Path) -> None:
    target = tmp_path / "run.jsonl"
    ran = toolwire_command("run", "Hi", *MODEL, "--record", str(target), "--stream-parser", "nope", env=ENV)
    assert ran.code == 2
    assert not target.exists()
