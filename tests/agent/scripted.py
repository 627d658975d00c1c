"""An agent against a transport that plays written turns: what most tests of the loop begin with."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

import msgspec

import toolwire
from feeding import call, delta, sse
from toolwire import Agent
from toolwire.agent.events import AgentEvent, RunFinished
from toolwire.errors import ToolwireError
from toolwire.transport import HttpRequest

ran: list[tuple[str, Any]] = []


@toolwire.tool(risk="read")
def add(a: int, b: int) -> int:
    """Adds two numbers."""
    ran.append(("add", (a, b)))
    return a + b


@toolwire.tool(risk="write")
def save(text: str) -> str:
    """Saves a text."""
    ran.append(("save", text))
    return "saved"


class Script:
    """A transport that answers each request with the next body and remembers what it was asked."""

    def __init__(self, *answers: bytes | ToolwireError) -> None:
        self.answers = list(answers)
        self.requests: list[dict[str, Any]] = []
        self.closed = 0

    async def stream(self, request: HttpRequest) -> AsyncGenerator[bytes, None]:
        self.requests.append(msgspec.json.decode(request.body))
        answer = self.answers.pop(0)
        if isinstance(answer, ToolwireError):
            raise answer
        try:
            for at in range(0, len(answer), 50):
                await asyncio.sleep(0)
                yield answer[at : at + 50]
        finally:
            self.closed += 1

    async def aclose(self) -> None:
        pass


class Endless(Script):
    """The same, but an answer without its end never ends."""

    async def stream(self, request: HttpRequest) -> AsyncGenerator[bytes, None]:
        async for data in super().stream(request):
            yield data
        if b"[DONE]" not in data:
            await asyncio.sleep(60)


def agent(script: Script, **options: Any) -> Agent:
    ran.clear()
    return Agent("openai-compatible:m", [add, save], base_url="http://127.0.0.1:1/v1", transport=script, **options)


async def collect(agent: Agent, prompt: str = "2 + 3?") -> list[AgentEvent]:
    return [event async for event in agent.run(prompt)]


ADD = sse(delta(tool_calls=[call('{"a":2,"b":3}', id="c1", name="add")]), delta(finish="tool_calls"))
SAVE = sse(delta(tool_calls=[call('{"text":"x"}', id="c1", name="save")]), delta(finish="tool_calls"))
FIVE = sse(
    delta(content="It is "),
    delta(content="5."),
    delta(finish="stop"),
    {"usage": {"prompt_tokens": 4, "completion_tokens": 2}},
)


def last(events: list[AgentEvent]) -> RunFinished:
    assert isinstance(events[-1], RunFinished), events[-1]
    return events[-1]
