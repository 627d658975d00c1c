"""Recordings that somebody else wrote: a typed error or a replay that ends; nothing is sent, started or written."""

from __future__ import annotations

import asyncio
import copy
import os
import random
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

import msgspec
import pytest

import toolwire
from toolwire.agent.recordings import recorded
from toolwire.agent.recordings.recorded import load_recording
from toolwire.agent.recordings.recording import Recorder
from toolwire.agent.recordings.replaying import replay, replay_agent
from toolwire.errors import RecordingFailed
from toolwire.local.engine import LocalModel
from toolwire.testing import ScriptedModel, approve_all, call, events_of, fail, say, think

HEAD = {
    "record": "toolwire-recording",
    **{"version": 1, "toolwire": "1", "started": "", "provider": "openai", "model": "m", "wire": "openai-chat"},
    "parser": "api_tool_call",
}
RUN = {
    "record": "run",
    **{"at": 0.1, "prompt": {"role": "user", "content": "x"}, "tool_choice": "auto", "turn": 0, "history": []},
}
REQUEST = {"record": "request", "at": 0.1, "number": 1, "url": "", "body": {}}
END = {"record": "end", "at": 0.2, "how": "end"}
Lines = list[dict[str, Any]]


@pytest.fixture(autouse=True)
def nothing_leaves(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """What was sent or started although nothing may be."""
    done: list[str] = []

    def forbidden(what: str) -> Any:
        def act(*args: Any, **options: Any) -> NoReturn:
            done.append(f"{what} {args[1:]}")
            raise OSError("nothing leaves a replay")

        return act

    for name in ("connect", "connect_ex", "sendto"):
        monkeypatch.setattr(socket.socket, name, forbidden(name))
    monkeypatch.setattr(socket, "getaddrinfo", forbidden("getaddrinfo"))
    monkeypatch.setattr(asyncio, "create_subprocess_exec", forbidden("exec"))
    monkeypatch.setattr(LocalModel, "start", forbidden("the embedded model"))
    yield done
    assert done == []


def write(path: Path, lines: Lines) -> Path:
    path.write_bytes(b"".join(msgspec.json.encode(line) + b"\n" for line in lines))
    return path


def lines_of(path: Path) -> Lines:
    return [msgspec.json.decode(line) for line in path.read_bytes().splitlines()]


async def played(path: Path) -> str:
    """How it ended."""
    try:
        async with asyncio.timeout(10):
            async for _ in replay(load_recording(path)):
                pass
    except toolwire.ToolwireError as error:
        return type(error).__name__
    return "same"


def failed(**facts: Any) -> dict[str, Any]:
    return {**END, "how": "error", "error": {"type": "RateLimited", "message": "m", "facts": {"status": 429, **facts}}}


CASES: dict[str, tuple[Lines, str]] = {
    "starts the embedded model with a file of its choice": (
        [{**HEAD, "provider": "local", "model": "/etc/passwd"}, RUN, {**REQUEST, "model": "/etc/passwd"}, END],
        "ReplayDiffers",
    ),
    "names a server": ([{**HEAD, "base_url": "http://evil.example/v1"}, RUN, REQUEST, END], "ReplayDiffers"),
    "names a service with credentials": ([{**HEAD, "provider": "bedrock"}, RUN, REQUEST, END], "ReplayDiffers"),
    "an address that is none": ([{**HEAD, "base_url": "http://[::1"}, RUN, REQUEST, END], "RecordingFailed"),
    "a risk that there is not": ([{**HEAD, "tools": [{"name": "a", "risk": "none"}]}], "RecordingFailed"),
    "a schema from elsewhere": (
        [{**HEAD, "tools": [{"name": "a", "parameters": {"$ref": "http://evil.example/"}}]}, RUN, REQUEST, END],
        "ReplayDiffers",
    ),
    "options that are no options": ([{**HEAD, "options": {"self": 1}}, RUN, REQUEST, END], "RecordingFailed"),
    "facts with names of ours": (
        [{**HEAD, "retries": {"tries": 1}}, RUN, REQUEST, failed(message="x", hint="y", self=1)],
        "ReplayDiffers",
    ),
    "facts of other kinds": ([HEAD, RUN, REQUEST, failed(retry_after="soon")], "RecordingFailed"),
    "an event of no kind": (
        [HEAD, RUN, {"record": "event", "at": 1.0, "event": {"type": ["nested"]}}],
        "RecordingFailed",
    ),
}


@pytest.mark.parametrize("name", CASES)
async def test_what_is_in_it_does_nothing(name: str, tmp_path: Path) -> None:
    lines, ended = CASES[name]
    assert await played(write(tmp_path / "r", lines)) == ended
    assert os.listdir(tmp_path) == ["r"]


def test_an_agent_of_it_is_refused_too(tmp_path: Path) -> None:
    recording = load_recording(write(tmp_path / "r", [{**HEAD, "tools": [{"name": "no name"}]}]))
    with pytest.raises(toolwire.ToolwireError):
        replay_agent(recording)


def test_what_has_no_size_and_no_end_is_read_up_to_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorded, "LARGEST", 100_000)
    with pytest.raises(RecordingFailed, match="larger than any recording"):
        load_recording("/dev/zero")


@toolwire.tool(risk="write")
def echo(items: list[str]) -> str:
    """Gives it back."""
    return str(items)


async def a_recording(path: Path) -> Lines:
    recorder = Recorder(path)
    calls = [say("Hello"), think("hm"), call("echo", items=["a"]), call("echo", items=["b"])]
    model = ScriptedModel([calls, fail(429, retry_after=0), "Done."], chop=200)
    transport = recorder.transport(model)
    agent = toolwire.Agent("openai:m", [echo], api_key="k", transport=transport, hooks=[recorder], approve=approve_all)
    await events_of(agent, "x")
    recorder.close()
    return lines_of(path)


async def test_an_answer_without_its_question_is_not_waited_for(tmp_path: Path) -> None:
    lines = await a_recording(tmp_path / "r")
    without = [line for line in lines if line.get("event", {}).get("type") != "approval_asked"]
    assert len(without) == len(lines) - 2
    assert await played(write(tmp_path / "r", without)) == "ReplayDiffers"


HOSTILE: list[Any] = [
    *(None, 0, -1, 10**30, 1e308, True, "", "x", "\x1b[2J", "../../etc/passwd", "http://evil.example/"),
    *([], {}, [[[]]], {"a": {"b": 1}}),
]


def _places(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield at
    for key, each in value.items() if isinstance(value, dict) else enumerate(value if isinstance(value, list) else ()):
        yield from _places(each, (*at, key))


async def test_anything_at_any_place(tmp_path: Path) -> None:
    lines = await a_recording(tmp_path / "r")
    rng = random.Random(3)
    ends: dict[str, int] = {}
    for _ in range(60):
        changed = copy.deepcopy(lines)
        home: Any = [changed]
        for key in (0, *rng.choice(list(_places(changed)))):
            holder, last = home, key
            home = home[key]
        holder[last] = rng.choice(HOSTILE)
        ended = await played(write(tmp_path / "r", changed if isinstance(changed, list) else []))
        ends[ended] = ends.get(ended, 0) + 1
    assert min(ends["same"], ends["ReplayDiffers"], ends["RecordingFailed"]) > 0, ends
    assert os.listdir(tmp_path) == ["r"]
