"""Agents whose models call in the syntax that they were trained on: ids, broken calls, repaired ones."""

from __future__ import annotations

import json
from typing import Any

import pytest

import toolwire
from agent.test_text_agent import FIVE, Script, collect, last, say
from toolwire import Agent
from toolwire.agent.endpoint import PARSER_VARIABLES
from toolwire.agent.events import AgentEvent, ApprovalAsked, ToolFinished, ToolStarted
from toolwire.approval.request import ApprovalRequest, Ask
from toolwire.messages import TextPart, ToolCallPart, ToolResultPart

ran: list[tuple[int, int]] = []


@toolwire.tool(risk="read")
def add(a: int, b: int) -> int:
    """Adds two numbers."""
    ran.append((a, b))
    return a + b


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    ran.clear()
    for variable in PARSER_VARIABLES:
        monkeypatch.delenv(variable, raising=False)


def agent(script: Script, parser: str | None = "hermes", approve: Ask | None = None, **options: Any) -> Agent:
    return Agent(
        "openai-compatible:m",
        [add],
        base_url="http://127.0.0.1:1/v1",
        api_key="none",
        transport=script,
        stream_parser=parser,
        approve=approve,
        **options,
    )


def call(a: int, b: int) -> str:
    return f'<tool_call>\n{{"name": "add", "arguments": {{"a": {a}, "b": {b}}}}}\n</tool_call>'


def results(events: list[AgentEvent]) -> list[str]:
    return [event.result.content for event in events if isinstance(event, ToolFinished)]


async def test_a_turn_in_a_familys_own_syntax() -> None:
    script = Script(say(f"<think>\nA tool knows.\n</think>\nSo:\n{call(2, 3)}\n{call(4, 5)}"), FIVE)
    it = agent(script)
    events = await collect(it)
    assert last(events).text == "It is 5."
    assert sorted(ran) == [(2, 3), (4, 5)]
    *_, answer, result = script.requests[1]["messages"]
    assert answer["content"].endswith(f"So:\n{call(2, 3)}\n{call(4, 5)}")
    assert "think" not in answer["content"]
    assert result["content"].count("<tool_response>") == 2


async def test_the_environment_may_name_any_family(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOOLWIRE_STREAM_PARSER", " Qwen25 ")
    assert last(await collect(agent(Script(say(call(2, 3)), FIVE), None)))
    assert ran == [(2, 3)]


# Calls that name no tool.

NAMELESS = '<tool_call>\n{"nam": "add", "arguments": {"a": 2, "b": 3}}\n</tool_call>'


async def test_a_broken_call_without_a_name_is_told_to_the_model() -> None:
    script = Script(say(NAMELESS), say(call(2, 3)), FIVE)
    it = agent(script)
    assert last(await collect(it)).text == "It is 5."
    assert ran == [(2, 3)]
    told = script.requests[1]["messages"][-1]
    assert told["role"] == "user"
    assert told["content"].startswith("Error: not run: the call names no tool")
    assert [message.role for message in it.messages][:4] == ["user", "assistant", "user", "assistant"]


async def test_a_broken_call_without_a_name_beside_others() -> None:
    unknown = '<tool_call>\n{"name": "sub", "arguments": {}}\n</tool_call>'
    it = agent(Script(say(f"{call(2, 3)}\n{NAMELESS}\n{unknown}"), FIVE))
    assert last(await collect(it)).text == "It is 5."
    assert ran == [(2, 3)]
    assert [message.role for message in it.messages] == ["user", "assistant", "tool", "user", "assistant"]
    first, second, *form = it.messages[3].text.split("\n")
    assert "names no tool" in first
    assert second == "Error: not run: there is no tool 'sub'. The tools are: add."
    assert form[:2] == ["A call is written so:", "<tool_call>"]


async def test_a_broken_call_in_a_cut_answer_is_not_told() -> None:
    events = await collect(agent(Script(say(NAMELESS, finish="length"))))
    assert last(events).stop_reason == "length"


async def test_a_broken_call_beside_native_ones_is_text() -> None:
    assert last(await collect(agent(Script(say(NAMELESS)), "api_tool_call+hermes")))


# Repaired calls are guesses.

MALFORMED = '<tool_call>\n{"name": "add", "arguments": {"a": 2, "b": 3,}}\n</tool_call>'


async def test_a_malformed_call_does_not_run_and_the_model_is_told() -> None:
    events = await collect(agent(Script(say(MALFORMED), FIVE)))
    assert ran == []
    assert results(events)[0].startswith("Error: not run: the call is not valid JSON")


async def test_a_repaired_call_is_denied_where_nobody_can_be_asked() -> None:
    events = await collect(agent(Script(say(MALFORMED), FIVE), repair=True))
    assert ran == []
    assert results(events) == [
        "Error: not run: it needs approval, and nobody is there to ask: the call was malformed and was repaired",
    ]


@pytest.mark.parametrize("answer", [True, False])
async def test_a_repaired_call_is_asked_about_whatever_its_risk(answer: bool) -> None:
    asked: list[ApprovalRequest] = []

    async def approve(request: ApprovalRequest) -> bool:
        asked.append(request)
        return answer

    events = await collect(agent(Script(say(f"{MALFORMED}\n{call(4, 5)}"), FIVE), approve=approve, repair=True))
    (request,) = asked
    assert "comma" in request.invocation.repairs[0]
    (event,) = [event for event in events if isinstance(event, ApprovalAsked)]
    assert event.request == request
    assert sorted(ran) == ([(2, 3), (4, 5)] if answer else [(4, 5)])


# Ids that a model counts anew in every answer.


def cohere(*sums: tuple[int, int]) -> str:
    calls = (
        f'{{"tool_call_id": "{place}", "tool_name": "add", "parameters": {{"a": {a}, "b": {b}}}}}'
        for place, (a, b) in enumerate(sums)
    )
    return f"<|START_ACTION|>[\n    {', '.join(calls)}\n]<|END_ACTION|>"


async def test_the_same_ids_in_two_answers() -> None:
    script = Script(say(cohere((1, 1), (2, 2))), say(cohere((3, 3), (4, 4))), FIVE)
    it = agent(script, "cohere3")
    events = await collect(it)
    assert last(events).text == "It is 5."
    assert [sorted(ran[:2]), sorted(ran[2:])] == [[(1, 1), (2, 2)], [(3, 3), (4, 4)]]
    assert [event.invocation.call_id for event in events if isinstance(event, ToolStarted)] == ["0", "1"] * 2
    assert sorted(results(events)) == ["2", "4", "6", "8"]
    parts = [[part for part in message.parts if not isinstance(part, TextPart)] for message in it.messages]
    for answer, result, sums in ((parts[1], parts[2], ["2", "4"]), (parts[3], parts[4], ["6", "8"])):
        calls = [part for part in answer if isinstance(part, ToolCallPart)]
        given = [part for part in result if isinstance(part, ToolResultPart)]
        assert [part.id for part in calls] == [part.id for part in given] == ["0", "1"]
        assert [part.content for part in given] == sums


async def test_such_a_history_goes_on_where_ids_must_differ() -> None:
    it = agent(Script(say(cohere((1, 1), (2, 2))), say(cohere((3, 3), (4, 4))), FIVE), "cohere3")
    await collect(it)
    body = toolwire.encode_request(wire="openai-chat", model="m", messages=it.messages, tools=[add])
    sums: dict[str, int] = {}
    for message in body["messages"]:
        for made in message.get("tool_calls", ()):
            assert made["id"] not in sums
            sums[made["id"]] = sum(json.loads(made["function"]["arguments"]).values())
        if message["role"] == "tool":
            assert message["content"] == str(sums[message["tool_call_id"]])
    assert sorted(sums.values()) == [2, 4, 6, 8]
