"""Tools of sources: they join and leave between requests, take nobody's place, and are replayed as they came."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from toolwire import Agent, Approvals, ToolDefinition
from toolwire.agent.events import (
    ApprovalAnswered,
    ApprovalAsked,
    RunFailed,
    RunFinished,
    RunInterrupted,
    ToolFinished,
    ToolsChanged,
)
from toolwire.agent.recordings.recording import Recorder
from toolwire.agent.recordings.replaying import load_recording, replay
from toolwire.agent.sessions.store import SessionStore
from toolwire.approval.gate import Denial, Ticket
from toolwire.mcp.host import Host, Sampling
from toolwire.messages import MediaPart, user
from toolwire.stream.invocation import ToolInvocation
from toolwire.testing import ScriptedModel, approve_all, call, events_of, fail, say
from toolwire.tools.output import ToolOutput

PICTURE = MediaPart("image/png", data="iVBORw0KGgo=")


def named(name: str, result: Any = "done", **more: Any) -> ToolDefinition:
    return ToolDefinition(name, f"Does {name}.", {}, "read", lambda _: result, **more)  # type: ignore[arg-type]


class Source:
    """Offers what stands for each look, and the last of it from then on."""

    def __init__(self, *offers: Sequence[ToolDefinition], notes: Sequence[str] = ()) -> None:
        self.offers = list(offers)
        self.host: Host | None = None
        self.told = list(notes)
        self.closed = 0

    def bind(self, host: Host) -> None:
        self.host = host

    async def tools(self) -> Sequence[ToolDefinition]:
        return self.offers.pop(0) if len(self.offers) > 1 else self.offers[0]

    def notes(self) -> list[str]:
        notes, self.told = self.told, []
        return notes

    async def close(self) -> None:
        self.closed += 1


def offered(request: dict[str, Any]) -> list[str]:
    return [tool["function"]["name"] for tool in request.get("tools", ())]


def changes(events: list[Any]) -> list[tuple[int, list[str], list[str], list[str]]]:
    return [
        (event.turn, [tool.name for tool in event.added], event.removed, event.notes)
        for event in events
        if isinstance(event, ToolsChanged)
    ]


def scripted(
    tools: Sequence[Any], *answers: Any, wire: str = "openai-compatible", **more: Any
) -> tuple[Agent, ScriptedModel]:
    model = ScriptedModel(answers)
    options = {"base_url": "http://127.0.0.1:1", "transport": model, "api_key": "k", **more}
    return Agent(f"{wire}:m", tools, **options), model


def bodies(model: ScriptedModel) -> list[dict[str, Any]]:
    return [request if isinstance(request, dict) else msgspec.json.decode(request.body) for request in model.requests]


async def test_tools_join_and_leave_between_requests() -> None:
    late, early = named("late", "from late"), named("early")
    source = Source([early], [early, late], [late])
    agent, model = scripted([named("own"), source], call("early"), call("late"), say("ok"))
    events = await events_of(agent, "go")
    assert isinstance(events[-1], RunFinished)
    assert [offered(request) for request in bodies(model)] == [
        ["own", "early"],
        ["own", "early", "late"],
        ["own", "late"],
    ]
    assert changes(events) == [(1, ["early"], [], []), (2, ["late"], [], []), (3, [], ["early"], [])]
    results = [event.result.content for event in events if isinstance(event, ToolFinished)]
    assert results == ["done", "from late"]
    await agent.close()
    assert source.closed == 1


async def test_no_source_takes_the_place_of_a_tool() -> None:
    first, second = Source([named("own", "false")]), Source([named("b")], notes=["b is slow"])
    third = Source([named("b", "false")])
    agent, model = scripted([named("own", "true"), first, second, third], call("own"), call("b"), say("ok"))
    events = await events_of(agent, "go")
    assert [event.result.content for event in events if isinstance(event, ToolFinished)] == ["true", "done"]
    ((_, added, _, notes),) = changes(events)
    assert added == ["b"]
    assert notes == [
        "there is already another tool 'own'; the later one is left out",
        "b is slow",
        "there is already another tool 'b'; the later one is left out",
    ]
    assert [offered(request) for request in bodies(model)] == [["own", "b"]] * 3


async def test_a_text_model_is_told_of_them_too() -> None:
    source = Source([named("early")])
    agent, model = scripted(
        [source], say('<tool_call>{"name": "early", "arguments": {}}</tool_call>'), say("ok"), stream_parser="hermes"
    )
    events = await events_of(agent, "go")
    assert [event.result.content for event in events if isinstance(event, ToolFinished)] == ["done"]
    assert "Does early." in str(bodies(model)[0]["messages"])
    assert "tools" not in bodies(model)[0]


async def test_a_run_with_a_source_is_replayed(tmp_path: Path) -> None:
    early, late = named("early"), named("late", "from late")
    recorder = Recorder(tmp_path / "r")
    model = ScriptedModel([call("early"), call("late"), say("ok"), call("late"), say("again")])
    source = Source([early], [late, named("early")], [late], [late], notes=["slow"])
    agent = Agent(
        "openai:m",
        [named("own"), source],
        transport=recorder.transport(model),
        hooks=[recorder],
        api_key="toolwire-test-key-7f3a",
    )
    told = [await events_of(agent, question) for question in ("go", "go on")]
    recorder.close()
    assert len(changes(told[0])) == 3
    again = [event async for event in replay(load_recording(tmp_path / "r"))]
    assert changes(again) == changes([*told[0], *told[1]])
    assert [type(event) for event in again if isinstance(event, (RunFinished, RunFailed))] == [RunFinished] * 2


async def test_pictures_of_a_result_reach_the_model() -> None:
    for wire, place in (
        ("anthropic", "iVBORw0KGgo="),
        ("openai", "data:image/png;base64,iVBORw0KGgo="),
        ("gemini", "iVBORw0KGgo="),
        ("openai-compatible", "data:image/png;base64,iVBORw0KGgo="),
    ):
        tool = named("look", ToolOutput("a picture", (PICTURE,)))
        agent, model = scripted([tool], call("look"), say("ok"), wire=wire)
        events = await events_of(agent, "go")
        (result,) = [event.result for event in events if isinstance(event, ToolFinished)]
        assert (result.content, result.media, result.outcome) == ("a picture", (PICTURE,), "ok")
        assert place in str(bodies(model)[-1]), wire
        assert isinstance(events[-1], RunFinished)


async def test_a_service_that_refuses_a_picture_does_not_end_the_conversation() -> None:
    tool = named("look", ToolOutput("a picture", (PICTURE,)))
    agent, model = scripted([tool], call("look"), fail(400, "bad image"), say("ok"))
    assert isinstance((await events_of(agent, "go"))[-1], RunFailed)
    assert isinstance((await events_of(agent, "go on"))[-1], RunFinished)
    assert "iVBORw0KGgo=" in str(bodies(model)[1])
    assert "iVBORw0KGgo=" not in str(bodies(model)[2])
    assert "a picture" in str(bodies(model)[2])


async def test_output_that_says_it_failed_is_an_error() -> None:
    agent, _ = scripted([named("look", ToolOutput("no such file", is_error=True))], call("look"), say("ok"))
    events = await events_of(agent, "go")
    (result,) = [event.result for event in events if isinstance(event, ToolFinished)]
    assert result.is_error
    assert result.content == "Error: no such file"
    assert result.outcome == "error"


async def test_a_server_asks_the_model_through_the_gate_while_its_call_runs() -> None:
    source = Source([])
    tool = ToolDefinition("mcp__x__sampling", "Asks your model.", {}, None, lambda _: None, asks="it asks your model")

    async def run(_: dict[str, Any]) -> str:
        host = source.host
        assert host is not None
        assert host.run == 1
        invocation = ToolInvocation(id="x-1", tool_name=tool.name, arguments={}, raw_arguments="{}", turn=1, call_id="")
        ticket = await host.gate.decide(invocation, tool, on_asked=host.asked, on_answered=host.answered)
        assert isinstance(ticket, Ticket), ticket
        host.gate.redeem(ticket)
        said = await host.sample(Sampling(messages=[user("2 + 2?")], system="Be brief.", max_tokens=7, temperature=0.5))
        return f"{said.text} by {said.model}, {said.stop_reason}"

    source.offers = [[ToolDefinition("calc", "", {}, "read", run)]]  # type: ignore[arg-type]
    agent, model = scripted([source], call("calc"), say("four"), say("ok"), approve=approve_all)
    events = await events_of(agent, "go")
    assert [event.result.content for event in events if isinstance(event, ToolFinished)] == ["four by m, endTurn"]
    asked = bodies(model)[1]
    assert asked["messages"] == [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "2 + 2?"}]
    assert (asked["max_tokens"], asked["temperature"]) == (7, 0.5)
    assert "tools" not in asked
    questions = [event for event in events if isinstance(event, (ApprovalAsked, ApprovalAnswered))]
    assert [(type(event), event.id) for event in questions] == [(ApprovalAsked, "x-1"), (ApprovalAnswered, "x-1")]
    assert all("four" not in message.text for message in agent.messages if message.role == "assistant")
    agent, _ = scripted([source], call("calc"), say("ok"))
    denied = [event.result for event in await events_of(agent, "go") if isinstance(event, ToolFinished)]
    assert denied[0].is_error
    assert Denial.__name__ in denied[0].content


async def test_a_question_of_a_server_can_be_answered_as_soon_as_its_event_is_seen() -> None:
    source, desk = Source([]), Approvals()
    tool = ToolDefinition("mcp__x__sampling", "Asks your model.", {}, None, lambda _: None, asks="it asks your model")

    async def run(_: dict[str, Any]) -> str:
        host = source.host
        assert host is not None
        invocation = ToolInvocation(id="x-1", tool_name=tool.name, arguments={}, raw_arguments="{}", turn=1, call_id="")
        return type(await host.gate.decide(invocation, tool, on_asked=host.asked, on_answered=host.answered)).__name__

    source.offers = [[ToolDefinition("calc", "", {}, "read", run)]]  # type: ignore[arg-type]
    agent, _ = scripted([source], call("calc"), say("ok"), approve=desk)
    results = []
    async for event in agent.run("go"):
        if isinstance(event, ApprovalAsked):
            desk.answer(event.id, True)
        elif isinstance(event, ToolFinished):
            results.append(event.result.content)
    assert results == ["Ticket"]


async def test_a_shared_source_is_let_go_of_by_the_last_agent_that_used_it() -> None:
    shared, own = Source([named("early")]), Source([named("late")])
    first, _ = scripted([shared, own], say("1"))
    second, _ = scripted([shared], say("2"), say("2"))
    idle, _ = scripted([shared])
    for agent in (first, second):
        await events_of(agent, "go")
    await first.close()
    await idle.close()
    assert (shared.closed, own.closed) == (0, 1)
    await second.close()
    assert shared.closed == 1
    await events_of(second, "again")
    await first.close()
    assert shared.closed == 1, "it is in use again"
    await second.close()
    assert shared.closed == 2


def test_an_agent_that_was_left_with_its_loop_holds_no_source() -> None:
    shared = Source([named("early")])
    left, _ = scripted([shared], say("1"))
    asyncio.run(events_of(left, "go"))
    other, _ = scripted([shared], say("2"))
    other.run_sync("go")
    assert shared.closed == 1


async def test_a_source_that_cannot_be_closed_keeps_no_other_open() -> None:
    class Broken(Source):
        async def close(self) -> None:
            raise OSError("broken")

    sources = [Source([named("a")]), Broken([named("b")]), Source([named("c")])]
    agent, _ = scripted(sources, say("1"))
    await events_of(agent, "go")
    with pytest.raises(OSError, match="broken"):
        await agent.close()
    assert [source.closed for source in sources] == [1, 0, 1]


@pytest.mark.parametrize(
    "media",
    ["x", ["junk"], [None], [MediaPart(None, data="YQ==")]],  # type: ignore[arg-type]
    ids=["text", "texts", "nothing", "no type"],
)
async def test_media_that_are_none_are_an_error_and_not_the_end_of_the_session(tmp_path: Path, media: Any) -> None:
    with SessionStore(tmp_path / "sessions.db") as store:
        session = store.create(model="m", cwd="/")
        agent, _ = scripted([named("look", ToolOutput("words", media))], call("look"), say("ok"), session=session)
        events = await events_of(agent, "go")
    (result,) = [event.result for event in events if isinstance(event, ToolFinished)]
    assert result.is_error
    assert "it ran, but its result cannot be written" in result.content
    assert isinstance(events[-1], RunFinished)


async def test_half_a_character_in_media_is_not_the_end_of_the_session(tmp_path: Path) -> None:
    odd = MediaPart("image/png", data="YQ==", name="half \ud800")
    with SessionStore(tmp_path / "sessions.db") as store:
        session = store.create(model="m", cwd="/")
        agent, _ = scripted([named("look", ToolOutput("words", (odd,)))], call("look"), say("ok"), session=session)
        events = await events_of(agent, "go")
        assert store.read(session.id).messages == agent.messages
    (result,) = [event.result for event in events if isinstance(event, ToolFinished)]
    assert [part.name for part in result.media] == ["half ?"]
    assert isinstance(events[-1], RunFinished)


@pytest.mark.parametrize("wire", ["anthropic", "openai", "ollama", "cohere", "mistral"])
async def test_what_a_text_model_s_provider_does_not_take_is_mentioned(wire: str) -> None:
    tool = named("look", ToolOutput("words", (MediaPart("video/mp4", data="aGVsbG8="),)))
    written = say('<tool_call>{"name": "look", "arguments": {}}</tool_call>')
    agent, model = scripted([tool], written, say("ok"), wire=wire, stream_parser="hermes")
    assert isinstance((await events_of(agent, "go"))[-1], RunFinished)
    assert "[video/mp4, 6 bytes: cannot be shown here]" in str(bodies(model)[-1])


async def test_a_picture_that_is_refused_after_an_interruption_does_not_stand_in_the_way_for_ever() -> None:
    tool = named("look", ToolOutput("a picture", (PICTURE,)))
    agent, model = scripted([tool], call("look"), fail(400, "bad image"), say("ok"))
    async for event in agent.run("go"):
        if isinstance(event, ToolFinished):
            agent.interrupt()
    assert isinstance(event, RunInterrupted)
    assert isinstance((await events_of(agent, "go on"))[-1], RunFailed)
    assert isinstance((await events_of(agent, "and now?"))[-1], RunFinished)
    assert "iVBORw0KGgo=" in str(bodies(model)[1])
    assert "iVBORw0KGgo=" not in str(bodies(model)[2])
