"""1,000 planted secrets through a real run: none of them in a file, a log, an error or a repr, and the key that
Toolwire itself holds not in what the model is sent.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from aiohttp import web
from bench.trust.secrets import WRITTEN, canaries

from model_host import serving_app
from toolwire import Agent, tool
from toolwire.agent.events import RunFailed, ToolFinished
from toolwire.agent.recordings.recording import Recorder
from toolwire.agent.sessions.store import SessionStore
from toolwire.cli.export import Format, exported
from toolwire.redaction import PIECE
from toolwire.testing import ScriptedModel, call, events_of, say, think
from toolwire.testing import fail as refuse
from wire_bodies import Call, End, Error, Text, body

CANARIES = canaries(1000, seed=11)
KEY, PASSWORD = CANARIES[:2]
NAMES = ("{}_API_KEY", "{}_TOKEN", "SECRET_{}", "db_password_{}", "{}_CREDENTIALS")
FORMATS: tuple[Format, ...] = ("markdown", "json")
PIECES = {secret[i : i + PIECE] for secret in CANARIES for i in range(len(secret) - PIECE + 1)}


def leaks(text: str) -> set[str]:
    """What of the canaries stands in a text, whole or in part."""
    return PIECES & {text[i : i + PIECE] for i in range(len(text) - PIECE + 1)}


@tool(risk="read")
def echo(items: list[str]) -> str:
    """Gives back what it gets, and everything in the environment."""
    return json.dumps([items, dict(os.environ), KEY])


@tool(risk="read")
def fail(items: list[str]) -> str:
    """Fails, and tells why."""
    raise RuntimeError(f"cannot reach http://u:{CANARIES[5]}@h with {CANARIES[3:300]}") from KeyError(KEY)


@tool(risk="dangerous")
def erase(items: list[str], command: str) -> str:
    """Is denied, since nobody is there to ask."""
    raise AssertionError


def calls() -> list[Call]:
    """Calls whose arguments hold every canary, each written in one way or another."""
    ways = list(WRITTEN.values())
    written = [ways[number % len(ways)](secret) for number, secret in enumerate(CANARIES)]
    made = [Call(f"c{n}", "echo", json.dumps({"items": written[n * 100 : n * 100 + 100]})) for n in range(10)]
    made.append(Call("fail", "fail", json.dumps({"items": CANARIES[:50]})))
    command = f"curl -H 'x: {KEY}' http://u:{PASSWORD}@h -d " + " ".join(CANARIES[:300])
    made.append(Call("erase", "erase", json.dumps({"items": CANARIES[:50], "command": command})))
    return made


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for everything that is written, and an environment full of canaries."""
    for number, secret in enumerate(CANARIES):
        monkeypatch.setenv(NAMES[number % len(NAMES)].format(f"CANARY{number}"), secret)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def files_in(folder: Path) -> dict[Path, str]:
    return {path: path.read_text("latin-1") for path in folder.rglob("*") if path.is_file()}


def refused(wire: str, words: str) -> web.Response:
    return web.json_response({"error": {"message": words, "code": KEY, "type": PASSWORD}}, status=400)


def broken_off(wire: str, words: str) -> web.Response:
    return web.Response(body=body(wire, Text("So "), Error(words)))


@pytest.mark.thorough
@pytest.mark.parametrize("end", [refused, broken_off])
@pytest.mark.parametrize(("model", "wire"), [("openai:m", "openai-chat"), ("ollama:m", "ollama")])
async def test_no_canary_is_left_anywhere(
    model: str,
    wire: str,
    end: Callable[[str, str], web.Response],
    home: Path,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    caplog.set_level(logging.DEBUG)
    asyncio.get_running_loop().set_debug(True)
    bodies: list[str] = []

    async def answer(request: web.Request) -> web.Response:
        bodies.append(await request.text())
        if len(bodies) == 1:
            return web.Response(body=body(wire, *calls(), End()))
        sent = json.dumps({"url": request.path_qs, **request.headers})
        return end(wire, f"{sent} {CANARIES[-20:]} the end")

    trail = home / "audit.jsonl"
    async with serving_app(answer) as url:
        if wire == "ollama":
            url = url.replace("://", f"://user:{PASSWORD}@")
        agent = Agent(model, [echo, fail, erase], base_url=url, audit=trail)
        events = [event async for event in agent.run("Hi")]
        await agent.close()

    results = [event.result for event in events if isinstance(event, ToolFinished)]
    assert len(results) == len(calls())
    failed = events[-1]
    assert isinstance(failed, RunFailed)
    assert "the end" in failed.error.message or end is refused
    error = agent.failure
    assert error is not None
    shown = [
        repr(failed),
        msgspec.json.encode(failed).decode(),
        repr(error),
        repr(vars(error)),
        "".join(traceback.format_exception(error)),
        *(repr(vars(part)) for part in (agent._connection, agent._bench.gate, agent._bench.executor, agent._transport)),
        *(record.getMessage() for record in caplog.records if record.name != "aiohttp.access"),
        *(str(record.exc_text) for record in caplog.records),
        *capfd.readouterr(),
    ]
    assert [leaks(text) for text in shown if leaks(text)] == []

    written = files_in(home)
    assert {path: leaks(text) for path, text in written.items() if leaks(text)} == {}
    events_written = [json.loads(line)["event"] for line in written[trail].splitlines()]
    assert events_written.count("started") == events_written.count("finished") == 11
    assert events_written.count("denied") == 1

    # What a tool gives is for the model, but not the key that the requests are made with.
    sent = [message["content"] for message in json.loads(bodies[1])["messages"] if message["role"] == "tool"]
    assert sorted(sent) == sorted(result.content for result in results)
    assert any(CANARIES[500] in content for content in sent)
    if wire == "openai-chat":
        assert [content for content in sent if KEY[:16] in content] == []


@tool(risk="read")
def look(name: str) -> str:
    """Looks at something that holds secrets."""
    return f"{name}: {KEY} {CANARIES[20:40]} http://u:{PASSWORD}@h"


async def test_no_canary_is_in_a_session_a_recording_or_what_is_exported(home: Path) -> None:
    """A session takes out what is no accident: sixteen characters in a row; a recording takes out every piece."""
    said = f"{KEY} and {PASSWORD} and {' '.join(CANARIES[40:50])}"
    url = f"http://user:{PASSWORD}@127.0.0.1:1"
    recorder = Recorder(home / "run.jsonl")
    answers: list[Any] = [
        [think(said), say(said), call("look", name=f"{CANARIES[50]}.txt")],
        refuse(429, said, retry_after=0),
        refuse(400, said),
    ]
    with SessionStore(home / "sessions.db") as store:
        session = store.create(model="openai:m", cwd=str(home / CANARIES[51]), base_url=url)
        transport = recorder.transport(ScriptedModel(answers))
        agent = Agent(
            "openai:m", [look], api_key=KEY, base_url=url, transport=transport, hooks=[recorder], session=session
        )
        events = await events_of(agent, f"What is {CANARIES[52]}?")
        recorder.close()
        assert isinstance(events[-1], RunFailed)
        for format in FORMATS:
            (home / f"talk.{format}").write_bytes(exported(store.read(session.id), format))
        written = files_in(home)
    assert {"sessions.db", "sessions.db-wal", "talk.markdown", "talk.json"} <= {path.name for path in written}
    recorded = written.pop(home / "run.jsonl")
    assert '"how":"error"' in recorded
    assert leaks(recorded) == set()
    pieces = {secret[i : i + 16] for secret in CANARIES[:60] for i in range(len(secret) - 15)}
    assert {path: found for path, text in written.items() if (found := [each for each in pieces if each in text])} == {}
