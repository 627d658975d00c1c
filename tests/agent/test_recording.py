"""Recordings: what is in the file, what never is, and what happens where it cannot be written or read."""

from __future__ import annotations

import asyncio
import errno
import json
import os
import random
import stat
import sys
from base64 import b64decode
from pathlib import Path
from typing import Any

import msgspec
import pytest
from bench.trust.secrets import WRITTEN, canaries

import aws_frames
import toolwire
from toolwire import Agent
from toolwire.agent.events import HistoryMoved, RunFailed, RunFinished
from toolwire.agent.recordings import recording as recording_module
from toolwire.agent.recordings.masking import Mask
from toolwire.agent.recordings.recording import Recorder
from toolwire.agent.recordings.replaying import ReplayDiffers, load_recording, replay
from toolwire.errors import ConfigError, RecordingFailed
from toolwire.redaction import PIECE, Redactor
from toolwire.stream.pipeline import Stream
from toolwire.stream.segments import EventType, SegmentEvent
from toolwire.testing import ScriptedModel, approve_all, call, events_of, fail, say
from wire_bodies import PROVIDERS, WIRES, Call, End, Error, Piece, Text, Thought, body

CANARIES = canaries(200, seed=5)
KEY, PASSWORD = CANARIES[:2]
PIECES = {secret[i : i + PIECE] for secret in CANARIES for i in range(len(secret) - PIECE + 1)}


def leaks(text: str) -> set[str]:
    return PIECES & {text[i : i + PIECE] for i in range(len(text) - PIECE + 1)}


@toolwire.tool(risk="read")
def echo(items: list[str]) -> str:
    """Gives back what it gets."""
    toolwire.progress(" ".join(items[:3]))
    return json.dumps(items)


@toolwire.tool(risk="write")
def fall(items: list[str]) -> str:
    """Fails, and tells why."""
    raise RuntimeError(f"cannot reach http://u:{PASSWORD}@h with {items}")


async def recorded(path: Path, answers: list[Any], model: str = "openai:m", **options: Any) -> Agent:
    recorder = Recorder(path)
    script = ScriptedModel(answers, chop=options.pop("chop", 0))
    options = {"approve": approve_all, "api_key": KEY, "base_url": "http://127.0.0.1:1", **options}
    agent = Agent(model, [echo, fall], transport=recorder.transport(script), hooks=[recorder], **options)
    await events_of(agent, f"Keep {CANARIES[5]} and Authorization: Bearer {CANARIES[6]} for me")
    recorder.close()
    return agent


def everything_in(path: Path) -> str:
    """The file, and what it holds in Base64."""
    lines = path.read_text().splitlines()
    chunks = [json.loads(line) for line in lines if '"base64"' in line]
    return "\n".join([*lines, *(b64decode(chunk["base64"]).decode("utf-8", "replace") for chunk in chunks)])


def spoken(secret: str) -> list[Text]:
    """A secret as a model says it: a few characters at a time."""
    return [Text(secret[at : at + 5]) for at in range(0, len(secret), 5)]


@pytest.mark.thorough
@pytest.mark.parametrize("chop", [0, 17])
@pytest.mark.parametrize("provider", [name for name in PROVIDERS if name != "mistral"])
async def test_no_secret_is_in_a_recording(
    provider: str, chop: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number, secret in enumerate(CANARIES[2:]):
        monkeypatch.setenv(f"CANARY{number}_API_KEY", secret)
    ways = list(WRITTEN.values())
    written = [ways[number % len(ways)](secret) for number, secret in enumerate(CANARIES[:60])]
    answers: list[Any] = [
        [Thought(f"The key is {KEY}, "), *spoken(f"so {CANARIES[9]} and {KEY} it is"), call("echo", items=written)],
        call("fall", items=CANARIES[60:90]),
        [Text("So "), Error(f"{KEY} is not {PASSWORD}")],
    ]
    url = f"http://user:{PASSWORD}@127.0.0.1:1"
    monkeypatch.setenv("URL_PASSWORD", PASSWORD)
    path = tmp_path / "run.jsonl"
    await recorded(path, answers, f"{provider}:m", base_url=url, chop=chop, system_prompt=f"Use {CANARIES[8]}.")
    text = everything_in(path)
    assert leaks(text) == set()
    assert "it is" in text
    recording = load_recording(path)
    assert len(recording.runs[0].answers) == 3
    assert [event async for event in replay(recording)]


async def test_no_secret_is_in_the_names_of_a_recording(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    await recorded(path, [call("echo", {"items": [], KEY: 1, "password": "hunter2"}), "Done."])
    text = everything_in(path)
    assert leaks(text.replace(CANARIES[5], "")) == set()
    assert "hunter2" not in text


async def test_a_refusal_that_repeats_the_key(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    agent = await recorded(path, [fail(401, f"wrong key {KEY}"), say("no")])
    assert agent.failure is not None
    assert leaks(everything_in(path).replace(CANARIES[5], "").replace(CANARIES[6], "")) == set()
    assert [event async for event in replay(load_recording(path))][-1]


@pytest.mark.parametrize("wire", WIRES)
def test_masked_bytes_are_read_as_before_but_for_the_secrets(wire: str) -> None:
    mask = Mask(Redactor([KEY]))
    pieces: list[Piece] = [Thought("hm"), *spoken(f"a {KEY} b"), Call("c1", "f", json.dumps({"x": KEY, "n": 1})), End()]
    plain = body(wire, *pieces)
    rng = random.Random(3)
    for _ in range(20):
        cuts = sorted(rng.randrange(len(plain) + 1) for _ in range(9))
        chunks = [plain[a:b] for a, b in zip([0, *cuts], [*cuts, len(plain)], strict=True)]
        masked = mask.body(chunks)
        assert len(masked) == len(chunks)
        stream = Stream(wire)
        for data in masked:
            stream.feed(data)
        stream.close()
        assert stream.error is None
        assert stream.message.text == f"a {'*' * len(KEY)} b"
        assert stream.message.tool_calls[0].arguments == {"x": "*" * len(KEY), "n": 1}
    assert Mask(Redactor(["another-secret-0123"])).body([plain[:40], plain[40:]]) == [plain[:40], plain[40:]]


def test_what_an_invoked_model_says_in_base64_is_masked() -> None:
    spread = [
        {"type": "content_block_delta", "index": 0, "delta": {"text": KEY[at : at + 3]}} for at in range(0, 15, 3)
    ]
    masked = b"".join(Mask(Redactor([KEY])).body([aws_frames.invoked(*spread)]))
    said = "".join(event["delta"]["text"] for _, event in aws_frames.said(masked))
    assert said == "*" * 15


def test_what_lies_too_deep_to_be_looked_at_is_taken_out() -> None:
    deep: list[Any] = [f"It is {KEY}."]
    for _ in range(800):
        deep = [deep]
    masked = msgspec.json.encode(Mask(Redactor([KEY])).value(["near", deep]))
    assert b"near" in masked
    assert b"***" in masked
    assert KEY.encode() not in masked


def test_bytes_that_are_no_stream_are_masked() -> None:
    mask = Mask(Redactor([KEY]))
    assert mask.body([f"<p>{KEY[:9]}".encode(), f"{KEY[9:]}</p>".encode()]) == [
        b"<p>" + b"*" * 9,
        b"*" * len(KEY[9:]) + b"</p>",
    ]
    assert mask.body([]) == []
    assert mask.body([b"\xff\xfe", b"\x00"]) == [b"\xff\xfe", b"\x00"]


async def test_a_key_that_holds_a_word_of_the_format_spoils_nothing(tmp_path: Path) -> None:
    key = "toolwire-recording-assistant-tool_started-1x"
    path = tmp_path / "run.jsonl"
    await recorded(path, [call("echo", items=["a"]), "Done."], api_key=key)
    assert isinstance([event async for event in replay(load_recording(path))][-1], RunFinished)
    assert key not in path.read_text()


async def test_the_file_is_new_and_for_this_user_alone(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    await recorded(path, ["Hello"])
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    for taken in (path, tmp_path, tmp_path / "no" / "such"):
        with pytest.raises(RecordingFailed, match="cannot record"):
            Recorder(taken)
    os.symlink(tmp_path / "elsewhere", tmp_path / "link")
    with pytest.raises(RecordingFailed):
        Recorder(tmp_path / "link")


async def test_what_is_recorded(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    await recorded(path, [[say("Héééééé"), call("echo", items=["a"])], "Done."], chop=10, options={"temperature": 0.5})
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    header = lines[0]
    assert (header["record"], header["version"], header["provider"], header["wire"]) == (
        *("toolwire-recording", 1),
        *("openai", "openai-chat"),
    )
    assert header["options"] == {"temperature": 0.5}
    assert [tool["name"] for tool in header["tools"]] == ["echo", "fall"]
    kinds = [line["record"] for line in lines]
    assert kinds.count("run") == 1
    assert kinds.count("request") == kinds.count("end") == 2
    assert kinds.index("chunk") < kinds.index("end") < len(kinds) - 1
    assert lines[-1]["event"]["type"] == "run_finished"
    assert all(isinstance(line["at"], float) for line in lines[1:])
    assert any("base64" in line for line in lines), "a cut letter is no text"
    read = load_recording(path)
    assert all(len(chunk.data) <= 10 for chunk in read.runs[0].answers[0].chunks)
    assert not read.cut


async def test_one_recorder_is_for_one_agent(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path / "r")
    transport = recorder.transport(ScriptedModel(["a", "b"]))
    with pytest.raises(ConfigError, match="one agent"):
        recorder.transport(ScriptedModel([]))
    agents = [Agent("openai:m", transport=transport, hooks=[recorder], api_key=KEY) for _ in range(2)]
    assert isinstance((await events_of(agents[0], "x"))[-1], RunFinished)
    assert isinstance((await events_of(agents[1], "x"))[-1], RunFailed)
    assert "one agent" in str(agents[1].failure)
    recorder.close()


async def test_a_recorder_that_is_no_hook_says_so(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path / "r")
    agent = Agent("openai:m", transport=recorder.transport(ScriptedModel(["a"])), api_key=KEY)
    end = (await events_of(agent, "x"))[-1]
    assert isinstance(end, RunFailed)
    assert "hooks=[recorder]" in end.error.hint


@pytest.mark.parametrize("number", range(1, 12, 2))
async def test_a_disk_that_is_full_ends_the_run(number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real, left = os.write, iter(range(number))

    def write(file: int, data: Any) -> int:
        if next(left, None) is None:
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(file, data)

    recorder = Recorder(tmp_path / "r")
    script = ScriptedModel([call("echo", items=["a"]), call("echo", items=["b"]), "Done."])
    agent = Agent("openai:m", [echo], transport=recorder.transport(script), hooks=[recorder], api_key=KEY)
    monkeypatch.setattr(os, "write", write)
    end = (await events_of(agent, "x"))[-1]
    monkeypatch.undo()
    assert isinstance(end, RunFailed)
    assert end.error.type == "RecordingFailed"
    assert "No space left" in end.error.message
    assert script.left > 0
    with pytest.raises(RecordingFailed):
        recorder.close()


async def test_a_recording_that_grows_too_large_ends_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recording_module, "HELD", 1000)
    recorder = Recorder(tmp_path / "r")
    script = ScriptedModel(["x" * 5000])
    agent = Agent("openai:m", transport=recorder.transport(script), hooks=[recorder], api_key=KEY)
    end = (await events_of(agent, "x"))[-1]
    assert isinstance(end, RunFailed)
    assert "1,000 bytes" in end.error.message


async def test_a_recording_without_end_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recording_module, "LARGEST", 20_000)
    recorder = Recorder(tmp_path / "r")
    script = ScriptedModel(["x" * 2_000] * 9)
    agent = Agent("openai:m", transport=recorder.transport(script), hooks=[recorder], api_key=KEY)
    ends = [(await events_of(agent, "x"))[-1] for _ in range(9)]
    assert any(isinstance(end, RunFailed) and "larger than 20,000 bytes" in end.error.message for end in ends)
    assert script.left > 0
    assert (tmp_path / "r").stat().st_size <= 20_000


async def test_what_only_a_request_knows_is_no_part_of_a_recording(tmp_path: Path) -> None:
    """A password in the address is in no environment, and the server may repeat it."""
    path = tmp_path / "run.jsonl"
    url = f"http://user:{PASSWORD}@127.0.0.1:1"
    await recorded(path, [spoken(f"You came with {PASSWORD}, did you?")], base_url=url)
    text = everything_in(path)
    assert "did y" in text
    assert not [piece for at in range(len(PASSWORD) - PIECE + 1) if (piece := PASSWORD[at : at + PIECE]) in text]


async def test_nothing_of_an_answer_is_written_before_it_has_ended(tmp_path: Path) -> None:
    """Also where something else is told meanwhile: a secret may go on in what comes next."""
    recorder = Recorder(tmp_path / "r")
    script = ScriptedModel([[Text("The beginning"), Text(" and the end")]])
    agent = Agent("openai:m", transport=recorder.transport(script), hooks=[recorder], api_key=KEY)
    during = []
    async for event in agent.run("x"):
        if isinstance(event, SegmentEvent) and event.type is EventType.CONTENT:
            await recorder.on_event(HistoryMoved(1, ["something is lost"]))
            during.append((tmp_path / "r").read_text())
    recorder.close()
    assert len(during) > 1
    assert not [text for text in during if '"record":"chunk"' in text]
    assert '"record":"chunk"' in (tmp_path / "r").read_text()


KILLED = """
import asyncio, os, sys, toolwire
from toolwire.agent.recordings.recording import Recorder
from toolwire.testing import *
@toolwire.tool(risk="read")
def die(now: bool) -> str:
    "Ends the process."
    os.kill(os.getpid(), 9)
recorder = Recorder(sys.argv[1])
model = ScriptedModel([[say("I go."), call("die", now=True)]])
agent = toolwire.Agent("openai:m", [die], transport=recorder.transport(model), hooks=[recorder], api_key="k")
asyncio.run(events_of(agent, "x"))
"""


async def test_a_process_that_is_killed_leaves_what_it_told(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", KILLED, str(path))
    assert await asyncio.wait_for(process.wait(), 60) == -9
    recording = load_recording(path)
    assert [type(event).__name__ for event in recording.runs[0].events][-2:] == ["SegmentEvent", "ToolStarted"]
    assert len([event async for event in replay(recording)]) == len(recording.runs[0].events) + 1


WRONG = {
    "": "it is empty",
    "hello\n": "line 1",
    '{"record":"run"}\n': "line 1",
    '{"record":"event","at":1,"event":{}}\n': "does not say",
    "{HEAD}{HEAD}": "line 2",
    '{HEAD}{"record":"event","at":1.0,"event":{"type":"turn_started","turn":1}}\n': "line 2: it belongs to no run",
    '{HEAD}{RUN}{"record":"chunk","at":1.0,"text":"x"}\n': "line 3: it belongs to no request",
    '{HEAD}{RUN}{"record":"event","at":1.0,"event":{"type":"nonsense"}}\n': "line 3",
    '{HEAD}{RUN}{"record":"event","at":1.0,"event":{"type":"nested","turn":1}}\n': "line 3",
    '{HEAD}{RUN}{REQUEST}{"record":"chunk","at":1.0,"base64":"x"}\n': "line 4",
    '{HEAD}{RUN}{"record":"even\n{RUN}': "line 3",
    '{"record":"toolwire-recording","version":99,"toolwire":"9","started":"","provider":"","model":"","wire":""}\n': (
        "version 99"
    ),
    "{HEAD}" + "[" * 100_000 + "\n": "line 2",
}
PARTS = {
    "{HEAD}": '{"record":"toolwire-recording","version":1,"toolwire":"1","started":"","provider":"openai","model":"m",'
    '"wire":"openai-chat"}\n',
    "{RUN}": '{"record":"run","at":0.1,"prompt":{"role":"user"},"tool_choice":"auto","turn":0,"history":[]}\n',
    "{REQUEST}": '{"record":"request","at":0.1,"number":1,"url":"","body":{}}\n',
}


@pytest.mark.parametrize("text", WRONG)
def test_what_is_no_recording_is_told_with_its_line(text: str, tmp_path: Path) -> None:
    words = WRONG[text]
    for name, part in PARTS.items():
        text = text.replace(name, part)
    (tmp_path / "r").write_text(text)
    with pytest.raises(RecordingFailed, match=words):
        load_recording(tmp_path / "r")


def test_no_file_is_no_recording(tmp_path: Path) -> None:
    with pytest.raises(RecordingFailed, match="cannot read"):
        load_recording(tmp_path / "nothing")


async def test_damaged_recordings_are_told_or_replayed(tmp_path: Path) -> None:
    """Whatever is in the file: a typed error, or a replay that comes to its end."""
    path = tmp_path / "run.jsonl"
    await recorded(path, [[say("Hello"), call("echo", items=["a"])], "Done."], chop=30)
    whole = path.read_bytes()
    rng = random.Random(7)
    ends = {"differs": 0, "no recording": 0, "same": 0}
    for _ in range(60):
        lines = whole.splitlines(keepends=True)
        place = rng.randrange(1, len(lines))
        if rng.random() < 0.5:
            del lines[place]
        else:
            at = rng.randrange(len(lines[place]))
            lines[place] = lines[place][:at] + bytes([rng.randrange(32, 127)]) + lines[place][at + 1 :]
        path.write_bytes(b"".join(lines))
        try:
            _ = [event async for event in replay(load_recording(path))]
            ends["same"] += 1
        except ReplayDiffers:
            ends["differs"] += 1
        except toolwire.ToolwireError:
            ends["no recording"] += 1
    assert min(ends.values()) > 0, ends


async def test_a_closed_recorder_lets_nothing_run(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path / "r")
    agent = Agent("openai:m", transport=recorder.transport(ScriptedModel(["a"])), hooks=[recorder], api_key=KEY)
    recorder.close()
    recorder.close()
    end = (await events_of(agent, "x"))[-1]
    assert isinstance(end, RunFailed)
    assert end.error.type == "RecordingFailed"


def test_an_event_is_read_back_as_it_was() -> None:
    from toolwire.agent.events import NestedEvent, TurnStarted
    from toolwire.agent.recordings.recorded import event_from_json

    event = NestedEvent(1, "c1", NestedEvent(2, "c2", TurnStarted(3)))
    assert event_from_json(msgspec.json.decode(msgspec.json.encode(event))) == event
