"""Anthropic's models on other platforms: the same conversation, another address, another framing."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from aiohttp import web

import aws_frames
import toolwire
from catalog_rows import set_up
from model_host import serving_app
from toolwire import Agent
from toolwire.agent.events import RunFinished
from toolwire.providers.catalog import PROVIDERS
from wire_bodies import Call, End, Text, Thought, events

CALL = events("anthropic", Thought("I add."), Call("toolu_1", "add", '{"a":2,"b":3}'), End())
SAID = events("anthropic", Text("It is 5."), End())


@toolwire.tool(risk="read")
def add(a: int, b: int) -> int:
    """Adds two numbers."""
    return a + b


def plain(made: list[bytes]) -> bytes:
    return b"".join(made)


def in_frames(made: list[bytes]) -> bytes:
    """The same events in Bedrock's invoke frames."""
    payloads = [json.loads(each.partition(b"data:")[2]) for each in made]
    return aws_frames.invoked(*payloads)


@pytest.mark.parametrize(
    ("provider", "framed", "path", "model"),
    [
        ("anthropic", plain, "/v1/messages", "claude-x"),
        (
            "vertex-anthropic",
            plain,
            "/v1/projects/acme/locations/us-central1/publishers/anthropic/models/claude-x:streamRawPredict",
            None,
        ),
        ("bedrock-anthropic", in_frames, "/model/claude-x/invoke-with-response-stream", None),
    ],
)
async def test_a_conversation_with_a_call(
    provider: str,
    framed: Callable[[list[bytes]], bytes],
    path: str,
    model: str | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for variable, value in set_up(PROVIDERS[provider]).items():
        monkeypatch.setenv(variable, value)
    asked: list[tuple[str, dict[str, Any]]] = []

    async def answer(request: web.Request) -> web.Response:
        asked.append((request.path, await request.json()))
        return web.Response(body=framed(CALL if len(asked) == 1 else SAID))

    base = "/v1" if provider == "vertex-anthropic" else ""
    async with (
        serving_app(answer) as url,
        Agent(f"{provider}:claude-x", [add], base_url=url + base) as agent,
    ):
        told = [event async for event in agent.run("2 + 3?")]
    assert isinstance(told[-1], RunFinished), told[-1]
    assert told[-1].text == "It is 5."
    assert [where for where, _ in asked] == [path] * 2
    _, (_, second) = asked
    assert second.get("model") == model
    thought, call = second["messages"][1]["content"]
    assert (thought["type"], thought["thinking"]) == ("thinking", "I add.")
    assert thought["signature"]
    assert (call["type"], call["id"], call["input"]) == ("tool_use", "toolu_1", {"a": 2, "b": 3})
    assert second["messages"][2]["content"][0]["tool_use_id"] == "toolu_1"
    assert agent.messages[1].origin == provider
