"""What went wrong is told in the words of the command: options and variables, never arguments of the library."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from toolwire import Agent, Recorder, tool
from toolwire.agent.bounds import Bounds, Spent, out_of_time
from toolwire.agent.recordings.recorded import load_recording
from toolwire.cli.faults import say_error
from toolwire.cli.recordings import replay_recording
from toolwire.cli.transcript import pieces
from toolwire.errors import (
    AuthenticationFailed,
    ProviderError,
    RateLimited,
    RecordingFailed,
    RunLimitReached,
    SessionFailed,
    ToolwireError,
)
from toolwire.messages import Message, ToolCallPart, ToolResultPart
from toolwire.testing import ScriptedModel, call, say

Told = Callable[[ToolwireError], str]


@pytest.fixture
def told(capsys: pytest.CaptureFixture[str]) -> Told:
    def tell(error: ToolwireError) -> str:
        say_error(error.info())
        sentence, hint = capsys.readouterr().err.splitlines()
        assert sentence == f"toolwire: {error.message}"
        return hint.strip()

    return tell


def test_a_pause_that_is_too_long(told: Told) -> None:
    hint = "The provider asks for a pause … (Retries.longest_pause: 60 s). Try again then."
    assert told(RateLimited("slow down", hint=hint, status=429, retry_after=600.0)) == (
        "Try again in 600 s: the provider asks for so long a pause."
    )


def test_a_refused_key_is_told_by_its_variable(told: Told, monkeypatch: pytest.MonkeyPatch) -> None:
    refused = AuthenticationFailed("no", hint="Check the key for gemini, sent as x.", provider="gemini", status=401)
    monkeypatch.delenv("GEMINI_API_KEY", raising=False)
    monkeypatch.setenv("GOOGLE_API_KEY", "wrong")
    assert "Check the key in GOOGLE_API_KEY" in told(refused)
    monkeypatch.delenv("GOOGLE_API_KEY")
    assert told(refused) == refused.hint


def test_a_service_without_tools(told: Told) -> None:
    hint = told(ProviderError("no tools", hint='stream_parser="xml"', status=400, refused="tools"))
    assert "--stream-parser xml" in hint
    assert "stream_parser" not in hint


def test_a_store_that_fails_also_for_commands_that_ask_nobody(told: Told) -> None:
    assert told(SessionFailed("no", hint="Move it away.")) == (
        "Move it away. To go on without writing it down, start with --no-session."
    )


@pytest.mark.parametrize(("turns", "words"), [(1, "after 1 request"), (2, "after 2 requests")])
def test_bounds_are_told_in_good_words(turns: int, words: str) -> None:
    with pytest.raises(RunLimitReached) as caught:
        Spent(Bounds(turns=turns), turns=turns).next_turn()
    assert caught.value.message.endswith(words)
    assert out_of_time(1).message == "the run was not over after 1 second"
    assert out_of_time(0.4).message == "the run was not over after 0.4 seconds"


@tool(risk="read")
def add(a: int, b: int) -> int:
    """Adds two numbers."""
    return a + b


async def record(path: Path) -> None:
    recorder = Recorder(path)
    model = ScriptedModel([call("add", a=2, b=3), say("It is 5.")])
    async with Agent("openai:m", [add], api_key="x", transport=recorder.transport(model), hooks=[recorder]) as agent:
        async for _ in agent.run("2 + 3?"):
            pass
    recorder.close()


def changed(path: Path, record: str, old: str, new: str) -> None:
    lines = path.read_text().splitlines()
    assert any(old in line for line in lines if json.loads(line)["record"] == record)
    path.write_text(
        "".join((line.replace(old, new) if json.loads(line)["record"] == record else line) + "\n" for line in lines)
    )


async def test_a_replay_shows_where_the_two_part(told: Told, tmp_path: Path) -> None:
    """A request is long, and what differs stands at its end."""
    from toolwire.agent.recordings.replaying import ReplayDiffers, replay

    await record(tmp_path / "a")
    changed(tmp_path / "a", "request", '"content":"5"', '"content":"6"')
    with pytest.raises(ReplayDiffers) as caught:
        _ = [event async for event in replay(load_recording(tmp_path / "a"))]
    hint = told(caught.value)
    assert '"content":"6"' in hint
    assert '"content":"5"' in hint
    assert "record it again" in hint
    long = {"tools": "x" * 5000, "asked": 1}
    caught.value.facts.update(recorded=long, replayed={**long, "asked": 2})
    assert '"asked":1' in (hint := told(caught.value))
    assert '"asked":2' in hint
    assert len(hint) < 1000


async def test_a_recording_of_another_version(tmp_path: Path) -> None:
    """Also one of which nothing else is as it is now."""
    path = tmp_path / "a"
    path.write_text('{"record":"toolwire-recording","version":99,"toolwire":"7.0","who":[1]}\n{"record":"new"}\n')
    with pytest.raises(RecordingFailed) as caught:
        load_recording(path)
    assert "version 99, and this Toolwire reads version 1" in caught.value.message
    assert caught.value.hint == "Play it with the Toolwire that made it: 7.0."


async def test_a_recording_that_ends_between_two_lines_breaks_off(tmp_path: Path) -> None:
    await record(tmp_path / "a")
    assert not load_recording(tmp_path / "a").cut
    lines = (tmp_path / "a").read_text().splitlines(keepends=True)
    for end in range(2, len(lines)):
        (tmp_path / "a").write_text("".join(lines[:end]))
        assert load_recording(tmp_path / "a").cut, end


def test_a_played_failure_is_told_in_the_words_of_the_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    recorder = Recorder(tmp_path / "a")
    transport = recorder.transport(ScriptedModel([call("add", a=1, b=1)] * 2))
    agent = Agent("openai:m", [add], api_key="x", transport=transport, hooks=[recorder], bounds=Bounds(turns=1))
    with pytest.raises(RunLimitReached):
        agent.run_sync("Go")
    recorder.close()
    assert replay_recording(str(tmp_path / "a"), None) == 0
    told = capsys.readouterr().err
    assert "Raise --max-turns" in told
    assert "Bounds" not in told


def test_a_call_without_an_outcome_did_not_fail() -> None:
    from toolwire.agent.sessions.entries import Answered, Entry, Mended

    part = ToolCallPart("c", "run_bash", {"command": "ls"})
    left = Message("tool", [ToolResultPart("c", "run_bash", "Error: unknown: …", is_error=True)])
    entries = [Entry("", Answered(1, Message("assistant", [part]))), Entry("", Mended(left))]
    assert [piece.heading for piece in pieces(entries)][-1] == "run_bash gave no result"
