"""A service that takes no tools, or less than it was sent: the agent goes on otherwise, and says so."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import pytest

import toolwire
from rawserver import receive, serving, whole
from toolwire import Agent
from toolwire.agent.asking import Retries
from toolwire.agent.events import (
    AgentEvent,
    HistoryCompacted,
    ParserChanged,
    RequestRetried,
    RunFailed,
    RunFinished,
    RunStarted,
    ToolFinished,
    TurnStarted,
)
from toolwire.messages import Message, user
from toolwire.testing import ScriptedModel, fail
from wire_bodies import Call, End, Text, body

Json = dict[str, Any]
ran: list[tuple[int, int]] = []


@toolwire.tool(risk="read")
def add(a: int, b: int) -> int:
    """Adds two numbers."""
    ran.append((a, b))
    return a + b


@pytest.fixture(autouse=True)
def _nothing_ran() -> None:
    ran.clear()


def said(words: str, **more: Any) -> Json:
    return {"error": {"message": words, **more}}


NO_TOOLS: dict[str, tuple[str, Json]] = {
    "ollama": ("400 Bad Request", {"error": "registry.ollama.ai/library/m:latest does not support tools"}),
    "vllm": (
        "400 Bad Request",
        said('"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set', code=400),
    ),
    "openrouter": ("404 Not Found", said("No endpoints found that support tool use.", code=404)),
    "llamacpp": ("500 Internal Server Error", said("tools param requires --jinja flag", type="server_error", code=500)),
    "gemini": ("400 Bad Request", said("Function calling is not enabled for models/m", status="INVALID_ARGUMENT")),
    "bedrock": ("400 Bad Request", {"message": "This model doesn't support tool use in streaming mode."}),
}
WIRES = {"ollama": "ollama", "gemini": "gemini", "bedrock": "bedrock"}
OFFERED = ("tools", "toolConfig")


class Service:
    """Refuses requests, and plays answers to the others."""

    def __init__(self, wire: str, refused: Callable[[Json], tuple[str, Json] | None]) -> None:
        self.wire = wire
        self.refused = refused
        self.answers: list[bytes] = []
        self.requests: list[Json] = []
        self.url = ""

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        _, sent = await receive(reader)
        request: Json = msgspec.json.decode(sent)
        self.requests.append(request)
        if (no := self.refused(request)) is not None:
            writer.write(whole(no[0], msgspec.json.encode(no[1]), "Content-Type: application/json"))
        else:
            writer.write(whole("200 OK", self.answers.pop(0), "Content-Type: text/event-stream"))


@asynccontextmanager
async def service(wire: str, refused: Callable[[Json], tuple[str, Json] | None]) -> AsyncIterator[Service]:
    made = Service(wire, refused)
    async with serving(made.handle) as made.url:
        yield made


def without_tools(provider: str) -> Callable[[Json], tuple[str, Json] | None]:
    return lambda request: NO_TOOLS[provider] if any(request.get(name) for name in OFFERED) else None


def agent(server: Service, provider: str, **options: Any) -> Agent:
    return Agent(f"{provider}:m", [add], base_url=server.url, api_key="k", retries=Retries(first_pause=0), **options)


async def collect(it: Agent, prompt: str = "2 + 3?") -> list[AgentEvent]:
    async with asyncio.timeout(20):
        return [event async for event in it.run(prompt)]


def of(kind: type[Any], made: list[AgentEvent]) -> list[Any]:
    return [event for event in made if isinstance(event, kind)]


@pytest.mark.parametrize("provider", NO_TOOLS)
async def test_where_tools_are_refused_the_model_calls_in_text(monkeypatch: pytest.MonkeyPatch, provider: str) -> None:
    monkeypatch.setenv("AWS_REGION", "eu-central-1")
    wire = WIRES.get(provider, "openai-chat")
    async with service(wire, without_tools(provider)) as server, agent(server, provider) as it:
        parser = it._text_parser
        assert parser is not None
        assert parser.format is not None
        call = parser.format.write_call("add", {"a": 2, "b": 3}, it._tools["add"])
        server.answers = [body(wire, Text(call), End()), body(wire, Text("It is 5."), End())]
        made = await collect(it)

        assert isinstance(made[-1], RunFinished)
        assert made[-1].text == "It is 5."
        assert ran == [(2, 3)]
        assert [event.result.content for event in of(ToolFinished, made)] == ["5"]
        (changed,) = of(ParserChanged, made)
        assert changed.parser == parser.format.name
        assert NO_TOOLS[provider][0][:3] in changed.why
        assert of(RequestRetried, made) == []
        assert made.index(changed) < made.index(of(TurnStarted, made)[1])
        first, second, third = server.requests
        assert any(name in first for name in OFFERED)
        assert not any(name in second or name in third for name in OFFERED)
        assert "add" in str(second), "the model is told of the tool in words"
        assert "5" in str(third)

        server.answers = [body(wire, Text("Five."), End())]
        again = await collect(it, "sure?")
        assert isinstance(again[-1], RunFinished)
        assert of(ParserChanged, again) == []
        assert of(RunStarted, again)[0].parser == parser.format.name
        assert len(server.requests) == 4
        assert [message.role for message in it.messages] == [
            "user",
            "assistant",
            "tool",
            "assistant",
            "user",
            "assistant",
        ]


@pytest.mark.parametrize("provider", NO_TOOLS)
async def test_where_the_caller_said_how_it_fails_with_a_hint(monkeypatch: pytest.MonkeyPatch, provider: str) -> None:
    monkeypatch.setenv("AWS_REGION", "eu-central-1")
    async with (
        service(WIRES.get(provider, "openai-chat"), without_tools(provider)) as server,
        agent(server, provider, stream_parser="api_tool_call") as it,
    ):
        made = await collect(it)
    assert isinstance(made[-1], RunFailed)
    assert 'stream_parser="xml"' in made[-1].error.hint
    assert made[-1].error.facts["refused"] == "tools"
    assert of(ParserChanged, made) == []
    assert len(server.requests) == 1


async def test_a_service_that_refuses_text_too_ends_the_run() -> None:
    async with service("openai-chat", lambda _: NO_TOOLS["vllm"]) as server, agent(server, "vllm") as it:
        made = await collect(it)
    assert isinstance(made[-1], RunFailed)
    assert len(of(ParserChanged, made)) == 1
    assert len(server.requests) == 2


async def test_a_wrong_tool_is_no_reason_to_change() -> None:
    wrong = "tools.0.custom.input_schema: input_schema does not support oneOf at the top level"
    async with (
        service("openai-chat", lambda _: ("400 Bad Request", said(wrong))) as server,
        agent(server, "vllm") as it,
    ):
        made = await collect(it)
    assert isinstance(made[-1], RunFailed)
    assert of(ParserChanged, made) == []
    assert len(server.requests) == 1


async def test_calls_made_before_are_told_in_text_afterwards() -> None:
    """As where a router sends the next request to another service."""
    state: Json = {"tools": True}

    def refused(request: Json) -> tuple[str, Json] | None:
        return None if state["tools"] or "tools" not in request else NO_TOOLS["openrouter"]

    async with service("openai-chat", refused) as server, agent(server, "openrouter") as it:
        call = Call("call_123456789", "add", '{"a":2,"b":3}')
        server.answers = [body("openai-chat", call, End()), body("openai-chat", Text("5."), End())]
        await collect(it)
        state["tools"] = False
        server.answers = [body("openai-chat", Text("Still 5."), End())]
        made = await collect(it, "sure?")
    assert isinstance(made[-1], RunFinished)
    assert len(of(ParserChanged, made)) == 1
    assert ran == [(2, 3)]
    last = server.requests[-1]["messages"]
    assert all("tool_calls" not in message and message["role"] != "tool" for message in last)
    assert "5" in str(last)


LONG = ("400 Bad Request", said("prompt is too long: 207791 tokens > 200000 maximum", type="invalid_request_error"))


def talk(turns: int) -> list[Message]:
    return [
        message
        for turn in range(turns)
        for message in (user(f"question {turn} " + "x" * 4000), Message("assistant", f"answer {turn} " + "y" * 4000))
    ]


async def test_a_conversation_that_is_too_long_is_made_shorter() -> None:
    seen: list[int] = []

    def refused(request: Json) -> tuple[str, Json] | None:
        seen.append(len(str(request)))
        return LONG if len(seen) == 1 else None

    async with service("anthropic", refused) as server, agent(server, "anthropic") as it:
        it.messages += talk(20)
        server.answers = [body("anthropic", Text("Short."), End())]
        made = await collect(it)
    assert isinstance(made[-1], RunFinished)
    assert len(of(HistoryCompacted, made)) == 1
    assert of(RequestRetried, made) == []
    assert seen[1] < seen[0]


async def test_a_conversation_that_cannot_be_made_short_enough_ends_the_run() -> None:
    async with service("anthropic", lambda _: LONG) as server, agent(server, "anthropic") as it:
        it.messages += talk(4)
        made = await collect(it)
    assert isinstance(made[-1], RunFailed)
    assert made[-1].error.facts["refused"] == "length"
    assert "Shorten the conversation" in made[-1].error.hint
    assert len(server.requests) == 1 + len(of(HistoryCompacted, made)) < 10


@pytest.mark.parametrize("choice", ["required", "add"])
async def test_what_was_asked_for_holds_after_the_change(choice: str) -> None:
    model = ScriptedModel([fail(503), fail(404, "No endpoints found that support tool use."), fail(500), "It is 5."])
    options: Json = {"base_url": "http://127.0.0.1:1", "api_key": "k", "transport": model}
    it = Agent("openrouter:m", [add], repair=True, retries=Retries(first_pause=0), **options)
    made = [event async for event in it.run("2 + 3?", tool_choice=choice)]
    assert isinstance(made[-1], RunFinished)
    assert len(of(RequestRetried, made)) == 2
    assert len(of(ParserChanged, made)) == 1
    assert "Your next answer must hold" in str(model.requests[-1])
    assert it._parser.repair, "malformed calls in text are mended, as the caller asked for"
