"""Replays: the same events and the same requests as were recorded, without network, person or tools."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import aclosing
from pathlib import Path
from typing import Any

import msgspec
import pytest
from bench.trust.replays import replays

import tool_threads
import toolwire
from feeding import bytewise, random_cuts
from toolwire import Agent
from toolwire.agent.asking import Retries
from toolwire.agent.bounds import Bounds
from toolwire.agent.delegating import agent_tool
from toolwire.agent.events import (
    AgentEvent,
    NestedEvent,
    RunFailed,
    RunFinished,
    RunInterrupted,
    ToolFinished,
    ToolStarted,
)
from toolwire.agent.hooks import Hooks
from toolwire.agent.recordings.recorded import Recording
from toolwire.agent.recordings.recording import Recorder
from toolwire.agent.recordings.replaying import ReplayDiffers, comparable, compare, load_recording, replay, replay_agent
from toolwire.approval.request import Answer, ApprovalRequest, deny
from toolwire.errors import RecordingFailed
from toolwire.messages import Message
from toolwire.testing import (
    ScriptedModel,
    approve_all,
    call,
    cut_off,
    events_of,
    fail,
    half_call,
    say,
    think,
    token_limit,
)
from toolwire.transport import HttpRequest
from wire_bodies import PROVIDERS

ran: list[str] = []
KEY = "key-for-replays-7f3a"
"""Its beginning is hidden too, and must not be the name of a folder that the checkout is in."""


@toolwire.tool(risk="read")
async def add(a: int, b: int, pause: float = 0) -> int:
    """Adds two numbers."""
    ran.append("add")
    await asyncio.sleep(pause)
    return a + b


@toolwire.tool(risk="write")
def save(text: str) -> str:
    """Saves a text."""
    ran.append("save")
    toolwire.progress(f"saving {text}")
    if text == "bad":
        raise ValueError("the disk is full")
    return "saved"


Answers = list[Any]
Stop = Callable[[Agent, AgentEvent], None]


async def record(
    path: Path, answers: Answers, *prompts: str, model: str = "openai", stop: Stop | None = None, **options: Any
) -> tuple[Recording, list[list[AgentEvent]], Agent]:
    """These runs, recorded; `stop` sees every event."""
    recorder = Recorder(path)
    script = ScriptedModel(answers, chop=options.pop("chop", 41))
    options = {"approve": approve_all, "base_url": "http://127.0.0.1:1", "api_key": KEY, **options}
    hooks = [*options.pop("hooks", []), recorder]
    agent = Agent(f"{model}:m", [add, save], transport=recorder.transport(script), hooks=hooks, **options)
    told: list[list[AgentEvent]] = []
    for prompt in prompts or ("2 + 3?",):
        told.append([])
        async for event in agent.run(prompt):
            told[-1].append(event)
            if stop is not None:
                stop(agent, event)
    await agent.close()
    recorder.close()
    tool_threads.joined()
    ran.clear()
    return load_recording(path), told, agent


async def replayed(recording: Recording, **options: Any) -> list[AgentEvent]:
    events = [event async for event in replay(recording, **options)]
    assert ran == [], "a replay ran a tool"
    return events


def same(one: list[AgentEvent], other: list[AgentEvent]) -> None:
    assert list(comparable(one)) == list(comparable(other))


CALLS = [think("hm"), say("I look."), call("add", a=2, b=3), call("save", text="é"), call("nope"), call("add", a="x")]
SCRIPTS: dict[str, Answers] = {
    "words": [say("Hello")],
    "calls": [CALLS, [call("save", text="bad")], say("It is 5.")],
    "refused and tried again": [fail(429, retry_after=0), fail(503), CALLS, say("5")],
    "refused for good": [CALLS, fail(400, "no such thing")],
    "cut in words": [cut_off(say("Well, "))],
    "cut in a call": [cut_off(say("Well, "), half_call("add")), say("I try again.")],
    "the token limit": [[say("On and on"), call("add", a=1, b=1), token_limit()], say("That was long.")],
    "nothing left": [CALLS],
    "the same again and again": [[call("add", a=1, b=1)]] * 9,
}


@pytest.mark.parametrize("provider", [name for name in PROVIDERS if name != "mistral"])
@pytest.mark.parametrize("script", SCRIPTS)
async def test_a_replay_tells_and_sends_the_same(script: str, provider: str, tmp_path: Path) -> None:
    retries = Retries(first_pause=0.001)
    recording, told, _ = await record(tmp_path / "r", list(SCRIPTS[script]), model=provider, retries=retries)
    same(await replayed(recording), told[0])


async def test_the_same_under_every_cut(tmp_path: Path) -> None:
    recording, told, _ = await record(tmp_path / "r", [CALLS, say("It is 5.")], model="anthropic")
    same(await replayed(recording, recut=bytewise), told[0])
    for seed in range(5):
        same(await replayed(recording, recut=lambda body, seed=seed: random_cuts(body, seed)), told[0])


async def test_several_runs_and_what_was_said_before_them(tmp_path: Path) -> None:
    recording, told, _ = await record(
        tmp_path / "r", [CALLS, "It is 5.", "Bye."], "2 + 3?", "bye", system_prompt="Be short."
    )
    assert recording.header.system_prompt == "Be short."
    same(await replayed(recording), [*told[0], *told[1]])
    assert [message.role for message in recording.runs[1].begin.history][:2] == ["system", "user"]


@pytest.mark.parametrize("parser", ["xml", "hermes", "api_tool_call+hermes"])
async def test_calls_in_text(parser: str, tmp_path: Path) -> None:
    written = 'Well. <tool_call>\n{"name": "add", "arguments": {"a": 2, "b": 3}}\n</tool_call>'
    if parser == "xml":
        written = '<tool name="add"><arguments><arg name="a">2</arg><arg name="b">3</arg></arguments></tool>'
    recording, told, _ = await record(tmp_path / "r", [written, "It is 5."], stream_parser=parser)
    assert any(isinstance(event, ToolStarted) for event in told[0]), told
    same(await replayed(recording), told[0])


async def test_a_provider_that_takes_no_tools(tmp_path: Path) -> None:
    answers = [fail(400, "this model does not support tools"), "Hello"]
    recording, told, _ = await record(tmp_path / "r", answers)
    assert any(type(event).__name__ == "ParserChanged" for event in told[0]), told
    same(await replayed(recording), told[0])


async def test_answers_of_a_person_are_those_that_were_given(tmp_path: Path) -> None:
    async def person(request: ApprovalRequest) -> Answer:
        if request.invocation.arguments["text"] == "a":
            return deny("not on Sundays")
        return Answer(allowed=True, arguments={"text": "changed"})

    answers = [[call("save", text="a"), call("save", text="b")], "Done."]
    recording, told, _ = await record(tmp_path / "r", answers, approve=person)
    again = await replayed(recording)
    same(again, told[0])
    started = [event.invocation.arguments for event in again if isinstance(event, ToolStarted)]
    assert started == [{"text": "changed"}]


async def test_calls_side_by_side_end_in_the_recorded_order(tmp_path: Path) -> None:
    pauses = [0.03, 0.0, 0.02, 0.01]
    answers = [[call("add", a=n, b=0, pause=pause) for n, pause in enumerate(pauses)], "Done."]
    recording, told, _ = await record(tmp_path / "r", answers)
    finished = [event.result.content for event in told[0] if isinstance(event, ToolFinished)]
    assert finished == ["1", "3", "2", "0"]
    again = [event.result.content async for event in replay(recording) if isinstance(event, ToolFinished)]
    assert again == finished


def at_event(number: int) -> Stop:
    left = iter(range(number, -1, -1))

    def stop(agent: Agent, _: AgentEvent) -> None:
        if next(left, 1) == 0:
            agent.interrupt()

    return stop


@pytest.mark.parametrize("chop", [7, 10_000])
async def test_a_run_that_was_interrupted_at_any_event(chop: int, tmp_path: Path) -> None:
    number = 1
    while True:
        path = tmp_path / str(number)
        stop = at_event(number)
        recording, told, _ = await record(path, [CALLS, "It is 5.", "Bye."], "2 + 3?", "bye", stop=stop, chop=chop)
        if isinstance(told[0][-1], RunFinished):
            break
        assert isinstance(told[0][-1], RunInterrupted)
        same(await replayed(recording), [*told[0], *told[1]])
        number += 1 if number < 4 else 3
    assert number > 10


async def test_a_run_that_was_interrupted_before_it_began_is_none(tmp_path: Path) -> None:
    recording, told, _ = await record(tmp_path / "r", ["Hello", "Bye"], "hi", "bye", stop=at_event(0))
    assert isinstance(told[0][-1], RunInterrupted)
    assert len(recording.runs) == 1
    same(await replayed(recording), told[1])


async def test_a_run_whose_reader_left(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path / "r")
    agent = Agent(
        "openai:m", [add], transport=recorder.transport(ScriptedModel(SCRIPTS["calls"])), hooks=[recorder], api_key=KEY
    )
    async with aclosing(agent.run("2 + 3?")) as events:
        async for event in events:
            if isinstance(event, ToolStarted):
                break
    recorder.close()
    ran.clear()
    again = await replayed(load_recording(tmp_path / "r"))
    assert isinstance(again[-2], ToolStarted)
    assert isinstance(again[-1], RunInterrupted)


async def test_a_run_that_ran_out_of_time(tmp_path: Path) -> None:
    answers = [[say("I look."), call("add", a=1, b=2, pause=5)]]
    recording, told, _ = await record(tmp_path / "r", answers, bounds=Bounds(seconds=0.1))
    end = told[0][-1]
    assert isinstance(end, RunFailed)
    assert end.error.facts["what"] == "seconds"
    same(await replayed(recording), told[0])


class NotSecond(Hooks):
    async def before_request(self, turn: int, messages: Any) -> str | None:
        return "not twice" if turn == 2 else None

    async def before_call(self, invocation: Any, tool: Any) -> str | None:
        return "never on a Sunday" if tool.name == "save" else None


async def test_what_hooks_forbade(tmp_path: Path) -> None:
    recording, told, _ = await record(tmp_path / "r", [CALLS, "It is 5."], hooks=[NotSecond()])
    end = told[0][-1]
    assert isinstance(end, RunFailed)
    assert end.error.type == "Vetoed"
    same(await replayed(recording), told[0])


async def test_a_run_that_failed_before_it_began(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path / "r")
    agent = Agent("ollama:m", transport=recorder.transport(ScriptedModel([])), hooks=[recorder])
    film = Message("user", [toolwire.messages.MediaPart("video/mp4", data="AAAA")])
    told = [event async for event in agent.run(film)]
    recorder.close()
    assert isinstance(told[-1], RunFailed)
    same(await replayed(load_recording(tmp_path / "r")), told)


async def test_a_recording_that_was_cut_replays_as_far_as_it_goes(tmp_path: Path) -> None:
    await record(tmp_path / "r", [CALLS, "It is 5."])
    whole = (tmp_path / "r").read_bytes()
    ends = [place for place, byte in enumerate(whole) if byte == 10]
    for number in range(1, len(ends) - 1, 3):
        (tmp_path / "cut").write_bytes(whole[: ends[number] + number % 3 * 9])
        recording = load_recording(tmp_path / "cut")
        assert recording.cut == (number % 3 > 0)
        async with asyncio.timeout(10):
            await replayed(recording)


async def test_what_differs_is_told(tmp_path: Path) -> None:
    recording, _, _ = await record(tmp_path / "r", [CALLS, "It is 5."])
    other = msgspec.structs.replace(recording.header, system_prompt="", options={"temperature": 1})
    with pytest.raises(ReplayDiffers, match="request 1 differs") as raised:
        await replayed(Recording(other, recording.runs))
    assert raised.value.replayed["body"]["temperature"] == 1

    run = recording.runs[0]
    text = next(chunk for chunk in run.answers[1].chunks if "It" in chunk.text)
    run.answers[1].chunks[run.answers[1].chunks.index(text)] = msgspec.structs.replace(
        text, text=text.text.replace("It", "Is")
    )
    with pytest.raises(ReplayDiffers, match="event") as raised:
        await replayed(recording)
    assert raised.value.what == "event"
    assert "It is 5." in str(raised.value.recorded)


@pytest.mark.parametrize("without", [ToolStarted, ToolFinished])
async def test_a_recording_that_lacks_steps_of_calls_ends(without: type, tmp_path: Path) -> None:
    """Whatever a recording lacks, its replay comes to an end."""
    recording, _, _ = await record(tmp_path / "r", [CALLS, "It is 5."])
    run = recording.runs[0]
    run.events = [event for event in run.events if not isinstance(event, without)]
    async with asyncio.timeout(10):
        with pytest.raises(ReplayDiffers):
            await replayed(recording)


async def test_a_call_that_was_not_recorded_does_not_run(tmp_path: Path) -> None:
    recording, _, _ = await record(tmp_path / "r", [CALLS, "It is 5."])
    run = recording.runs[0]
    run.answers[0].chunks = [
        msgspec.structs.replace(chunk, text=chunk.text.replace("call_1", "call_x")) for chunk in run.answers[0].chunks
    ]
    events = await events_of(replay_agent(recording), "2 + 3?")
    results = {event.id: event.result.content for event in events if isinstance(event, ToolFinished)}
    assert results["call_x"] == "Error: not run: the recording does not hold this call"
    assert ran == []


async def test_an_agent_of_a_recording_has_its_runs_and_no_more(tmp_path: Path) -> None:
    recording, told, _ = await record(tmp_path / "r", ["Hello", "Bye"], "hi", "bye")
    agent = replay_agent(recording)
    same(await events_of(agent, "hi"), told[0])
    same(await events_of(agent, "bye"), told[1])
    end = (await events_of(agent, "more"))[-1]
    assert isinstance(end, RunFailed)
    assert isinstance(agent.failure, RecordingFailed)


async def test_no_pause_is_waited_for(tmp_path: Path) -> None:
    recording, told, _ = await record(tmp_path / "r", [fail(429, retry_after=0.6), "Hello"])
    loop = asyncio.get_running_loop()
    began = loop.time()
    same(await replayed(recording), told[0])
    assert loop.time() - began < 0.5


async def test_an_agent_that_ran_as_a_tool_is_played_from_its_events(tmp_path: Path) -> None:
    made: list[Agent] = []

    def child() -> Agent:
        script = ScriptedModel([call("add", a=2, b=3), "Five."])
        made.append(Agent("anthropic:m", [add], transport=script, api_key=KEY))
        return made[-1]

    recorder = Recorder(tmp_path / "r")
    clerk = agent_tool(child, name="clerk", description="Adds.", risk="read")
    script = ScriptedModel([[call("clerk", task="2 + 3?"), call("clerk", task="again")], "Done."])
    agent = Agent("openai:m", [clerk], transport=recorder.transport(script), hooks=[recorder], api_key=KEY)
    told = await events_of(agent, "Go")
    recorder.close()
    assert len(made) == 2
    ran.clear()
    assert len([event for event in told if isinstance(event, NestedEvent)]) > 10
    same(await replayed(load_recording(tmp_path / "r")), told)
    assert len(made) == 2


@pytest.mark.thorough
def test_random_recordings_replay() -> None:
    found = replays(4, seed=3)
    assert found.faults == []
    assert found.runs >= 80


async def test_a_server_whose_address_was_known_only_when_it_had_started(tmp_path: Path) -> None:
    recording, told, _ = await record(tmp_path / "r", [CALLS, "It is 5."], base_url="http://127.0.0.1:7/v9")
    header = msgspec.structs.replace(recording.header, base_url="", model="its file")
    same(await replayed(Recording(header, recording.runs)), told[0])


async def test_a_reader_may_take_longer_than_the_run_had(tmp_path: Path) -> None:
    recording, [told], _ = await record(tmp_path / "r", [call("add", a=2, b=3), say("5")])
    recording.header = msgspec.structs.replace(recording.header, bounds=Bounds(seconds=0.01))
    events = []
    async for event in replay(recording):
        await asyncio.sleep(0.002)
        events.append(event)
    same(told, events)


async def test_calls_that_were_mended_are_mended_again(tmp_path: Path) -> None:
    broken = '<tool_call>\n{"name": "add", "arguments": {"a": 2, "b": 3,}}\n</tool_call>'
    answers = [say(broken), say("5")]
    recording, [told], _ = await record(tmp_path / "r", answers, stream_parser="hermes", repair=True)
    assert [event.result.content for event in told if isinstance(event, ToolFinished)] == ["5"]
    same(told, await replayed(recording))


async def test_a_replay_that_tells_more_or_less_differs(tmp_path: Path) -> None:
    recording, [told], _ = await record(tmp_path / "r", [call("add", a=2, b=3), say("5")])
    run = recording.runs[0]
    asked = [
        HttpRequest(url=each.request.url, headers={}, body=msgspec.json.encode(each.request.body))
        for each in run.answers
    ]
    compare(1, run, told, asked)
    for events, requests, what in (
        (told[:-1], asked, "event"),
        ([*told, told[-1]], asked, "event"),
        (told, asked[:1], "request"),
        (told, [*asked, asked[0]], "request"),
    ):
        with pytest.raises(ReplayDiffers, match=f"{what} .* differs"):
            compare(1, run, events, requests)
