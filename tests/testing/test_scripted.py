"""`toolwire.testing`: a scripted model is read by the agent and by the official clients as the real one is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import sdks
import toolwire
from toolwire import Agent
from toolwire.agent.asking import Retries
from toolwire.agent.events import RequestRetried, RunFailed, RunFinished, ToolFinished, ToolStarted
from toolwire.errors import ConfigError
from toolwire.messages import ToolResultPart
from toolwire.providers.catalog import split_model
from toolwire.testing import (
    ScriptedModel,
    approve_all,
    call,
    cut_off,
    deny_all,
    events_of,
    fail,
    half_call,
    say,
    think,
    token_limit,
)
from wire_bodies import PROVIDERS, WIRES

PACKAGE = Path(toolwire.__file__).parent / "testing"
RETRIES = Retries(first_pause=0.001)


@toolwire.tool(risk="read")
def add(a: int, b: int) -> int:
    """Adds two numbers."""
    return a + b


@toolwire.tool(risk="write")
def save(text: str) -> str:
    """Saves a text."""
    return "saved"


def an_agent(model: ScriptedModel, provider: str = "openai", **options: Any) -> Agent:
    options = {"api_key": "test", "base_url": "http://127.0.0.1:1", "retries": RETRIES, **options}
    return Agent(f"{provider}:any", [add, save], transport=model, **options)


@pytest.mark.parametrize("chop", [0, 1])
@pytest.mark.parametrize("provider", PROVIDERS)
async def test_a_script_over_every_wire(provider: str, chop: int) -> None:
    first = [think("Two and three."), say("I add."), call("add", a=2, b=3), call("save", {"text": "5"})]
    model = ScriptedModel([first, "It is 5."], chop=chop)
    agent = an_agent(model, provider, approve=approve_all)
    events = await events_of(agent, "2 + 3?")
    end = events[-1]
    assert isinstance(end, RunFinished)
    assert end.text == "It is 5."
    assert {event.result.content for event in events if isinstance(event, ToolFinished)} == {"5", "saved"}
    results = [part for message in agent.messages for part in message.parts if isinstance(part, ToolResultPart)]
    assert [part.content for part in results] == ["5", "saved"], "in the order of the calls"
    assert len(model.requests) == 2
    assert model.left == 0
    assert "2 + 3?" in str(model.requests[0])
    assert "saved" in str(model.requests[1])


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_what_goes_wrong_goes_wrong(provider: str) -> None:
    model = ScriptedModel(
        [
            fail(429, "slow down", retry_after=0),
            fail(500),
            [say("On and on"), half_call("add", '{"a":1'), token_limit()],
            cut_off(say("And th"), call("add", a=1, b=1)),
            fail(400, "no more"),
        ]
    )
    agent = an_agent(model, provider)
    events = await events_of(agent, "Go")
    assert [event.error.facts["status"] for event in events if isinstance(event, RequestRetried)] == [429, 500]
    assert not [event for event in events if isinstance(event, ToolStarted)]
    assert isinstance(events[-1], RunFailed)
    assert "no more" in str(agent.failure)
    assert model.left == 0


async def test_an_exhausted_script_says_so() -> None:
    model = ScriptedModel([call("add", a=1, b=1)])
    agent = an_agent(model)
    assert isinstance((await events_of(agent, "Go"))[-1], RunFailed)
    assert isinstance(agent.failure, ConfigError)
    assert str(agent.failure) == "the script has no answer to request 2"


@pytest.mark.parametrize(("script", "words"), [([3], "holds a int"), ([["a", object()]], "holds a object")])
async def test_a_script_that_makes_no_sense_says_so(script: list[Any], words: str) -> None:
    agent = an_agent(ScriptedModel(script))
    await events_of(agent, "Go")
    assert words in str(agent.failure)
    with pytest.raises(ConfigError, match="no wire"):
        ScriptedModel([], wire="telex")


async def test_each_call_has_an_id_of_its_own() -> None:
    model = ScriptedModel([[call("add", a=1, b=1)] * 2, call("add", a=2, b=1), "Done."])
    events = await events_of(an_agent(model), "Go")
    assert [event.id for event in events if isinstance(event, ToolStarted)] == ["call_1", "call_2", "call_3"]


@pytest.mark.parametrize(("approve", "ran"), [(approve_all, True), (deny_all, False), (None, False)])
async def test_who_is_asked(approve: Any, ran: bool) -> None:
    events = await events_of(an_agent(ScriptedModel([call("save", text="x"), "Done."]), approve=approve), "Go")
    assert any(isinstance(event, ToolStarted) for event in events) is ran


async def test_bytes_stand_as_they_are() -> None:
    model = ScriptedModel(
        [b'data: {"choices":[{"delta":{"content":"Hi"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n']
    )
    end = (await events_of(an_agent(model), "Go"))[-1]
    assert isinstance(end, RunFinished)
    assert end.text == "Hi"


async def test_over_http() -> None:
    model = ScriptedModel([fail(503), cut_off(), [say("I add."), call("add", a=2, b=3)], "It is 5."], chop=9)
    async with model.serve() as url:
        agent = Agent("openai-compatible:any", [add], base_url=f"{url}/v1", retries=RETRIES)
        async with agent:
            events = await events_of(agent, "2 + 3?")
            end = events[-1]
            assert isinstance(end, RunFinished)
            assert end.text == "It is 5."
            assert len([event for event in events if isinstance(event, RequestRetried)]) == 2
            assert isinstance((await events_of(agent, "More"))[-1], RunFailed)
            assert "no answer to request 5" in str(agent.failure)


@pytest.mark.parametrize("wire", WIRES)
async def test_the_official_client_reads_it(wire: str) -> None:
    model = ScriptedModel([[think("hm"), say("Héllo"), call("add", a=2, b=3)]], wire=wire)
    async with model.serve() as url, sdks.reader(wire, url) as read:
        reading = await read("any")
    assert reading is not None
    assert reading.text == "Héllo"
    assert [(name, arguments) for _, name, arguments in reading.calls or ()] in (
        [("add", '{"a":2,"b":3}')],
        [("add", {"a": 2, "b": 3})],
    )


async def test_run_sync_with_a_script() -> None:
    assert str(an_agent(ScriptedModel([call("add", a=1, b=1), "Two."])).run_sync("1 + 1?")) == "Two."


def test_the_wire_is_that_of_whoever_is_asked() -> None:
    assert {split_model(f"{provider}:any")[0].wire for provider in PROVIDERS} == set(WIRES)


def test_the_package_needs_no_test_tools() -> None:
    text = "\n".join(path.read_text() for path in PACKAGE.glob("*.py"))
    assert "pytest" not in text


async def test_the_pause_that_a_script_asks_for_is_waited() -> None:
    agent = Agent("openai:m", transport=ScriptedModel([fail(429, retry_after=0.01), "Hi."]), api_key="none")
    retried = [event for event in await events_of(agent, "x") if isinstance(event, RequestRetried)]
    assert [event.seconds for event in retried] == [0.01]


async def test_a_connection_that_breaks_is_no_answer_that_ends() -> None:
    agent = Agent("openai:m", transport=ScriptedModel([cut_off(say("And th"))]), api_key="none")
    end = (await events_of(agent, "x"))[-1]
    assert isinstance(end, RunFailed)
    assert end.error.message == "the connection broke"
