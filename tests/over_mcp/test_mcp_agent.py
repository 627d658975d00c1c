"""An agent with MCP servers among its tools, through native wires and through text formats: all of it but the model."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import toolwire
from toolwire import Agent
from toolwire.agent.events import (
    AgentEvent,
    ApprovalAnswered,
    ApprovalAsked,
    RunFinished,
    RunInterrupted,
    ToolFinished,
    ToolProgress,
    ToolsChanged,
    ToolStarted,
)
from toolwire.agent.recordings.recording import Recorder
from toolwire.agent.recordings.replaying import load_recording, replay
from toolwire.approval.request import ApprovalRequest
from toolwire.embedded.registry import text_format
from toolwire.execution.executor import ToolResult
from toolwire.mcp.config import ServerConfig
from toolwire.mcp.pins import Pins
from toolwire.mcp.servers import McpServers
from toolwire.testing import ScriptedModel, approve_all, call, deny_all, events_of, say
from waiting import until

HERE = Path(__file__).parent
PIXEL_BYTES = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ"
WIRES = {
    "openai-chat": "groq:any",
    "openai-responses": "openai:any",
    "anthropic": "anthropic:any",
    "gemini": "gemini:any",
    "ollama": "ollama:any",
    "bedrock": "bedrock:any",
    "cohere": "cohere:any",
}

PICTURED = {"anthropic", "openai-chat", "openai-responses", "gemini"}
"""Those that take pictures from tools: they are tried with one, the others with words."""


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    usual = McpServers.__init__.__kwdefaults__
    monkeypatch.setattr(McpServers.__init__, "__kwdefaults__", {**(usual or {}), "patience": 20.0})
    monkeypatch.setattr("toolwire.mcp.servers.CHANGE_PATIENCE", 20.0)


def line(*words: str, name: str = "line", script: str = "line_server.py", **more: Any) -> ServerConfig:
    args = ("-I", "-S", str(HERE / script), *words)
    return ServerConfig(name=name, command=sys.executable, args=args, **{"trusted": True, **more})


def giving(*words: str, **more: Any) -> ServerConfig:
    return line(*words, name="giving", script="giving_server.py", **more)


async def run(
    servers: McpServers | Sequence[ServerConfig],
    answers: Sequence[Any],
    *,
    model: str = "groq:any",
    tools: Sequence[Any] = (),
    **more: Any,
) -> tuple[list[AgentEvent], ScriptedModel]:
    """One run to its end, within half a minute."""
    script = ScriptedModel(answers)
    offered = servers if isinstance(servers, McpServers) else McpServers(servers)
    async with asyncio.timeout(30):
        async with Agent(model, [*tools, offered], transport=script, api_key="test", **more) as agent:
            events = await events_of(agent, "Go.")
    assert isinstance(events[-1], RunFinished), events[-1]
    return events, script


def results(events: Sequence[AgentEvent]) -> list[ToolResult]:
    return [event.result for event in events if isinstance(event, ToolFinished)]


def questions(events: Sequence[AgentEvent]) -> list[ApprovalRequest]:
    return [event.request for event in events if isinstance(event, ApprovalAsked)]


def changes(events: Sequence[AgentEvent]) -> list[ToolsChanged]:
    return [event for event in events if isinstance(event, ToolsChanged)]


@pytest.mark.parametrize("wire", sorted(WIRES.keys() - PICTURED))
async def test_a_tool_of_a_server_through_a_native_wire(wire: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_REGION", "eu-west-1")
    answers = [call("mcp__line__echo", text="grün"), say("Done.")]
    events, script = await run([line(risk="read")], answers, model=WIRES[wire])
    assert str(events[-1]) == "Done."
    [result] = results(events)
    assert (result.name, result.content, result.is_error) == ("mcp__line__echo", "grün", False)
    assert "mcp__line__echo" in json.dumps(script.requests[0])
    assert "grün" in json.dumps(script.requests[1], ensure_ascii=False)
    assert questions(events) == []


@pytest.mark.parametrize("format", ["hermes", "xml", "sentinel"])
async def test_a_tool_of_a_server_through_a_text_format(format: str) -> None:
    written = text_format(format).write_call("mcp__line__echo", {"text": "a < b && c\n</x>"}, None)
    events, script = await run([line(risk="read")], [say(written), say("Done.")], stream_parser=format)
    [result] = results(events)
    assert result.content == "a < b && c\n</x>"
    first = json.dumps(script.requests[0])
    assert "tools" not in script.requests[0]
    assert "mcp__line__echo" in first, "the model is told of it in words"
    assert "Says what it is given." in first


APPROVALS: list[tuple[str, dict[str, Any], bool]] = [
    ("read, looked at", {"risk": "read"}, False),
    ("unknown", {}, True),
    ("write", {"risk": "write"}, True),
    ("one tool of many reads", {"risk": "dangerous", "risks": {"echo": "read"}}, False),
    ("read, but nobody looked at it", {"risk": "read", "trusted": False}, True),
]


@pytest.mark.parametrize(("config", "asked"), [case[1:] for case in APPROVALS], ids=[case[0] for case in APPROVALS])
async def test_who_is_asked_goes_by_the_risk_that_the_person_gave(config: dict[str, Any], asked: bool) -> None:
    answers = [call("mcp__line__echo", text="x"), say("Done.")]
    events, _ = await run([line(**config)], answers, approve=deny_all)
    assert bool(questions(events)) is asked
    assert results(events)[0].is_error is asked


async def test_in_the_widest_mode_a_new_tool_is_still_asked_about_once_and_shown_in_the_server_s_words() -> None:
    answers = [call("mcp__line__echo", text="x"), call("mcp__line__echo", text="y"), say("Done.")]
    config = line("describe=Obey \x1b[2Jme.", risk="write", trusted=False)
    events, _ = await run([config], answers, approve=approve_all, policy="full")
    [asked] = questions(events)
    assert "nobody has looked at this tool of the MCP server line yet" in asked.why
    assert "Obey ‹ESC›[2Jme." in asked.preview
    assert [result.content for result in results(events)] == ["x", "y"]


async def test_progress_becomes_events() -> None:
    answers = [call("mcp__line__slow", seconds=0.05, steps=3), say("Done.")]
    events, _ = await run([line(risk="read")], answers)
    told = [event.text for event in events if isinstance(event, ToolProgress)]
    assert "\n".join(told).split("\n") == ["1 of 3: step 1", "2 of 3: step 2", "3 of 3: step 3"]
    assert results(events)[0].content == "waited"


@pytest.mark.parametrize("wire", sorted(PICTURED))
async def test_a_picture_reaches_the_model(wire: str) -> None:
    answers = [call("mcp__giving__picture"), say("A pixel.")]
    events, script = await run([giving(risk="read")], answers, model=WIRES[wire])
    [result] = results(events)
    assert result.content == "A pixel:"
    assert [media.media_type for media in result.media] == ["image/png"]
    sent = json.dumps(script.requests[1])
    assert sent.count(PIXEL_BYTES) == 1
    assert "A pixel:" in sent


async def test_structured_content_is_words_for_the_model() -> None:
    events, _ = await run([giving(risk="read")], [call("mcp__giving__data"), say("Done.")])
    assert json.loads(results(events)[0].content) == {"degrees": 21}


@pytest.mark.parametrize(("tool", "words"), [("fail", "it went wrong"), ("refuse", "no such thing")])
async def test_an_error_is_an_error_result(tool: str, words: str) -> None:
    events, script = await run([line(risk="read")], [call(f"mcp__line__{tool}"), say("Done.")])
    [result] = results(events)
    assert result.is_error
    assert words in result.content
    assert words in json.dumps(script.requests[1])


async def test_a_server_that_is_killed_in_the_middle_of_a_call(tmp_path: Path) -> None:
    lives, calls = tmp_path / "lives", tmp_path / "calls"

    async def kill() -> None:
        await asyncio.to_thread(until, lambda: calls.exists() and "slow" in calls.read_text())
        os.kill(int(lives.read_text().split()[0]), signal.SIGKILL)

    killing = asyncio.create_task(kill())
    config = line(f"lives={lives}", f"calls={calls}", risk="read")
    both = [call("mcp__line__slow", seconds=60), call("mcp__giving__data")]
    answers = [both, call("mcp__line__echo", text="again"), say("Done.")]
    events, script = await run([config, giving(risk="read")], answers)
    await killing
    by_name = {result.name: result for result in results(events)}
    assert len(by_name) == len(results(events)) == 3
    lost = by_name["mcp__line__slow"]
    assert lost.is_error
    assert "what the call did is not known" in lost.content
    assert "not known" in json.dumps(script.requests[1])
    assert not by_name["mcp__giving__data"].is_error
    assert by_name["mcp__line__echo"].content == "again"
    assert len(lives.read_text().split()) == 2, "it was started again once"
    assert calls.read_text().count("slow") == 1, "and the call was not made again"


async def test_the_tools_of_a_slow_server_join_at_a_later_turn(tmp_path: Path) -> None:
    go = tmp_path / "go"
    servers = McpServers([line(f"waits={go}", risk="read"), giving(risk="read")], patience=0.15)

    @toolwire.tool(risk="read")
    async def wait() -> str:
        """Waits."""
        go.touch()
        await asyncio.to_thread(until, lambda: servers.statuses()[0].offered)
        return "waited"

    answers = [call("wait"), call("mcp__line__echo", text="here"), say("Done.")]
    events, script = await run(servers, answers, tools=[wait])
    assert [result.content for result in results(events)] == ["waited", "here"]
    offered = [{tool["function"]["name"] for tool in request["tools"]} for request in script.requests]
    assert "mcp__line__echo" not in offered[0]
    assert "mcp__line__echo" in offered[1]
    [joined] = [change for change in changes(events) if any(tool.name == "mcp__line__echo" for tool in change.added)]
    assert joined.turn == 2
    assert any("line: connected, 11 tools" in note for note in joined.notes)


async def test_a_server_that_does_not_start_keeps_nobody() -> None:
    broken = ServerConfig(name="broken", command="/does/not/exist", trusted=True)
    answers = [call("mcp__line__echo", text="x"), say("Done.")]
    events, _ = await run([broken, line(risk="read")], answers)
    assert results(events)[0].content == "x"
    notes = [note for change in changes(events) for note in change.notes]
    assert any("broken" in note for note in notes)


async def test_a_definition_that_changes_is_not_offered_any_more() -> None:
    answers = [
        call("mcp__line__echo", text="before"),
        call("mcp__line__change"),
        call("mcp__line__echo", text="after"),
        say("Done."),
    ]
    events, script = await run([line(risk="read")], answers)
    before, _, *after = results(events)
    assert before.content == "before"
    assert [result.is_error for result in after] == [True]
    assert "mcp__line__echo" not in {tool["function"]["name"] for tool in script.requests[2]["tools"]}
    [change] = [change for change in changes(events) if change.removed]
    assert (change.turn, change.removed) == (3, ["mcp__line__echo"])
    assert any("toolwire mcp trust line" in note for note in change.notes)


async def test_what_was_looked_at_is_offered_without_a_server_and_not_called_if_it_has_become_another(
    tmp_path: Path,
) -> None:
    lives, calls = tmp_path / "lives", tmp_path / "calls"
    pins = Pins(tmp_path / "pins.json")
    config = line(f"lives={lives}", f"calls={calls}", risk="read")
    schema = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
    pins.pin(config.identity, {"name": "echo", "description": "Says what it is given!", "inputSchema": schema})
    pins.keep_waiting(config.identity, [])

    _, script = await run(McpServers([config], pins=pins), [say("Done.")])
    assert [tool["function"]["name"] for tool in script.requests[0]["tools"]] == ["mcp__line__echo"]
    assert not lives.exists(), "nobody needed it"

    answers = [call("mcp__line__echo", text="x"), say("Done.")]
    events, script = await run(McpServers([config], pins=pins), answers)
    [result] = results(events)
    assert result.is_error
    assert "changed it since it was looked at" in result.content
    assert lives.exists()
    assert not calls.exists(), "it was not called"


@pytest.mark.parametrize("allowed", [True, False])
async def test_a_server_asks_the_model_through_the_gate(allowed: bool) -> None:
    answers = [
        call("mcp__giving__opinion", question="Is it good?"),
        *([say("It is.")] if allowed else []),
        say("Done."),
    ]
    approve = approve_all if allowed else deny_all
    events, script = await run([giving(risk="read")], answers, approve=approve)
    [asked] = questions(events)
    assert asked.invocation.tool_name == "mcp__giving__sampling"
    assert asked.shown == "user_1: Is it good?\nmax_tokens: 50"
    assert [event.allowed for event in events if isinstance(event, ApprovalAnswered)] == [allowed]
    told = json.loads(results(events)[0].content)
    if allowed:
        assert told["content"] == {"type": "text", "text": "It is."}
        assert script.requests[1]["messages"] == [{"role": "user", "content": "Is it good?"}]
        assert "tools" not in script.requests[1]
        assert 50 in script.requests[1].values(), "no more tokens than were shown"
    else:
        assert told["message"] == "it was not approved"
        assert len(script.requests) == 2


async def test_a_person_fills_in_a_form_and_takes_their_time() -> None:
    async def fill_in(server: str, message: str, schema: dict[str, Any]) -> dict[str, Any]:
        await asyncio.sleep(1.3)
        return {"name": f"Ann, asked {message!r} by {server}"}

    servers = McpServers([giving(risk="read", timeout=1)], fill_in=fill_in)
    events, _ = await run(servers, [call("mcp__giving__name"), say("Done.")], approve=approve_all)
    [result] = results(events)
    assert not result.is_error, result.content
    content = {"name": "Ann, asked 'Who?' by giving"}
    assert json.loads(result.content) == {"action": "accept", "content": content}


async def test_a_server_that_nobody_asks_may_not_ask(tmp_path: Path) -> None:
    servers = McpServers([giving(str(tmp_path), risk="read")])

    @toolwire.tool(risk="read")
    async def wait() -> str:
        """Waits until the server has asked and was answered."""
        (tmp_path / "go").touch()
        assert await asyncio.to_thread(until, (tmp_path / "told").exists)
        return "waited"

    answers = [call("mcp__giving__unasked"), call("wait"), call("mcp__giving__data"), say("Done.")]
    events, _ = await run(servers, answers, tools=[wait], approve=approve_all)
    assert [result.is_error for result in results(events)] == [False, False, False]
    assert json.loads(results(events)[2].content)["degrees"] == 21
    assert "nothing was asked of this server" in json.loads(results(events)[2].content)["told"]
    assert questions(events) == []


async def test_agents_that_share_servers_do_not_end_each_other_s_calls() -> None:
    servers = McpServers([line(risk="read")])

    def inner() -> Agent:
        answers = [call("mcp__line__echo", text="inner"), say("inner done")]
        return Agent("groq:any", [servers], transport=ScriptedModel(answers), api_key="test")

    tool = toolwire.agent_tool(inner, name="sub", description="Does it.", risk="read")
    both = [call("mcp__line__slow", seconds=0.2), call("sub", task="x")]
    events, _ = await run(servers, [both, say("Done.")], tools=[tool])
    assert {result.name: result.content for result in results(events)} == {
        "mcp__line__slow": "waited",
        "sub": "inner done",
    }


@pytest.mark.parametrize("together", [False, True])
async def test_a_run_in_which_a_server_asked_the_model_is_replayed(tmp_path: Path, together: bool) -> None:
    recorder = Recorder(tmp_path / "r")
    asks = call("mcp__giving__opinion", question="Is it good?")
    answers = [[asks, call("mcp__line__slow", seconds=0.1)] if together else asks, say("It is."), say("Done.")]
    agent = Agent(
        "anthropic:any",
        [McpServers([giving(risk="read"), line(risk="read")])],
        transport=recorder.transport(ScriptedModel(answers)),
        hooks=[recorder],
        api_key="toolwire-test-key-7f3a",
        approve=approve_all,
    )
    async with agent:
        told = await events_of(agent, "Go.")
    recorder.close()
    assert "Is it good?" in questions(told)[0].shown
    again = [event async for event in replay(load_recording(tmp_path / "r"))]
    assert [type(event) for event in again[-3:]] == [type(event) for event in told[-3:]]
    assert [request.id for request in questions(again)] == [request.id for request in questions(told)]
    assert [result.content for result in results(again)] == [result.content for result in results(told)]
    ends = [events[-1] for events in (told, again)]
    assert all(isinstance(end, RunFinished) and end.usage.total_tokens for end in ends)
    assert ends[0] == ends[1], "what the question to the model used up counts too"


async def test_a_server_asks_the_agent_that_it_works_for_and_no_other_that_shares_it() -> None:
    asked: list[str] = []

    def sharing(name: str, answer: bool, *answers: Any) -> Agent:
        async def approve(request: ApprovalRequest) -> bool:
            asked.append(name)
            return answer

        return Agent("groq:any", [servers], transport=ScriptedModel(answers), api_key="test", approve=approve)

    servers = McpServers([giving(risk="read")])
    strict = sharing("strict", False, call("mcp__giving__opinion", question="Is it good?"), say("Done."))
    sharing("made later", True, say("It is."))
    async with strict:
        events = await events_of(strict, "Go.")
    assert asked == ["strict"]
    assert json.loads(results(events)[0].content)["message"] == "it was not approved"
    assert len(questions(events)) == 1


async def test_while_two_agents_have_calls_at_a_server_it_may_ask_neither() -> None:
    asked: list[str] = []

    async def approve(request: ApprovalRequest) -> bool:
        asked.append(request.id)
        return True

    async def waiting(server: str, message: str, schema: dict[str, Any]) -> None:
        await asyncio.Event().wait()

    servers = McpServers([giving(risk="read")], fill_in=waiting)

    def sharing(*answers: Any) -> Agent:
        return Agent("groq:any", [servers], transport=ScriptedModel(answers), api_key="test", approve=approve)

    first = sharing(call("mcp__giving__name"), say("Done."))
    second = sharing(call("mcp__giving__opinion", question="Is it good?"), say("Done."))
    told: list[AgentEvent] = []

    async def read() -> None:
        told.extend([event async for event in first.run("Go.")])

    async with asyncio.timeout(30), first, second:
        reading = asyncio.create_task(read())
        await asyncio.to_thread(until, lambda: asked)
        events = await events_of(second, "Go.")
        first.interrupt()
        await reading
    assert len(asked) == 1
    assert "nobody knows" in json.loads(results(events)[0].content)["message"]
    assert isinstance(told[-1], RunInterrupted)


@pytest.mark.parametrize("asked", ["for approval", "for the model's answer"])
async def test_a_run_that_was_interrupted_while_a_server_asked_is_replayed(tmp_path: Path, asked: str) -> None:
    recorder = Recorder(tmp_path / "r")
    both = [call("mcp__giving__opinion", question="Is it good?"), call("mcp__line__slow", seconds=60)]
    agent = Agent(
        "groq:any",
        [McpServers([giving(risk="read"), line(risk="read")])],
        transport=recorder.transport(ScriptedModel([both, say("It is.")])),
        hooks=[recorder],
        api_key="toolwire-test-key-7f3a",
        approve=toolwire.Approvals() if asked == "for approval" else approve_all,
    )
    until_then = ApprovalAsked if asked == "for approval" else ApprovalAnswered
    told: list[AgentEvent] = []
    async with asyncio.timeout(30), agent:
        async for event in agent.run("Go."):
            told.append(event)
            if {until_then, ToolStarted} <= {type(each) for each in told}:
                agent.interrupt()
    recorder.close()
    assert isinstance(told[-1], RunInterrupted)
    again = [event async for event in replay(load_recording(tmp_path / "r"))]
    assert [type(event) for event in again[-3:]] == [type(event) for event in told[-3:]]
