"""A conversation that one agent began goes on with another, at another provider: requests, answers, results."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

import msgspec
import pytest

import toolwire
from format_rules import broken
from request_types import problems
from toolwire import Agent
from toolwire.agent.events import HistoryMoved, RunFinished, TurnStarted
from toolwire.messages import user
from toolwire.transport import HttpRequest
from wire_bodies import PROVIDERS, Call, End, Text, Thought, body


@toolwire.tool(risk="read")
def add(a: int, b: int) -> int:
    """Adds two numbers."""
    return a + b


class Script:
    """A transport that answers each request with the next body and remembers what it was asked."""

    def __init__(self, wire: str) -> None:
        called = body(wire, Thought("hm"), Call("call_0", "add", '{"a":2,"b":3}'), End())
        self.answers = [called, body(wire, Text("It is 5."), End())]
        self.requests: list[dict[str, Any]] = []

    async def stream(self, request: HttpRequest) -> AsyncGenerator[bytes, None]:
        self.requests.append(msgspec.json.decode(request.body))
        yield self.answers.pop(0)

    async def aclose(self) -> None:
        pass


def agent(provider: str) -> tuple[Agent, Script]:
    script = Script(PROVIDERS[provider])
    made = Agent(f"{provider}:gemini-3", [add], base_url="http://127.0.0.1:1/v1", api_key="none", transport=script)
    return made, script


@pytest.mark.parametrize("second", PROVIDERS)
@pytest.mark.parametrize("first", PROVIDERS)
async def test_a_conversation_goes_on_elsewhere(first: str, second: str) -> None:
    begun, _ = agent(first)
    events = [event async for event in begun.run("2 + 3?")]
    assert isinstance(events[-1], RunFinished), events[-1]
    assert {message.origin for message in begun.messages if message.role == "assistant"} == {first}

    other, script = agent(second)
    other.messages = begun.messages
    events = [event async for event in other.run("And once more?")]
    assert isinstance(events[-1], RunFinished), events[-1]
    assert [message.origin for message in other.messages if message.role == "assistant"] == [first] * 2 + [second] * 2
    target = second if second == "mistral" else PROVIDERS[second]
    for request in script.requests:
        assert broken(target, request) == []
        assert problems(target, request) == []
    sent = msgspec.json.encode(script.requests[-1]).decode()
    assert sent.count("And once more?") == 1
    assert sent.count('"5"') == 2, "both results, each once"


async def test_a_person_is_told_once_what_was_lost() -> None:
    begun, _ = agent("anthropic")
    at_home = [event async for event in begun.run("2 + 3?")]
    assert not [event for event in at_home if isinstance(event, HistoryMoved)]
    other, _ = agent("gemini")
    other.messages = [*begun.messages, user("wait")]
    events = [event async for event in other.run("And?")]
    turns = [event.turn for event in events if isinstance(event, TurnStarted)]
    assert turns == [1, 2]
    assert [event for event in events if isinstance(event, HistoryMoved)] == [
        HistoryMoved(1, ["1 part of reasoning left out: only who wrote it can read it"])
    ]
