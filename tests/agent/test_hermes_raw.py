"""A real model asked raw: a prompt of ours goes out, plain text comes back, and nothing else is between us.

The embedded model is far too small to call tools by itself; a few earlier calls in the conversation show it how.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest

from toolwire import Agent, Message, Prompt, TextStream, render_prompt
from toolwire.agent.events import RunFinished, ToolFinished, ToolStarted
from toolwire.approval.gate import Gate, Ticket
from toolwire.execution.executor import Executor, ToolResult
from toolwire.local.engine import LocalModel
from toolwire.local.weights import install_weights
from toolwire.messages import ToolCallPart, ToolResultPart, system, tool_results, user
from toolwire.stream.invocation import ToolInvocation
from toolwire.tools.definition import ToolDefinition
from toolwire.tools.demo import demo_tools

pytestmark = [pytest.mark.thorough, pytest.mark.timeout(300), pytest.mark.xdist_group("local-model")]

QUESTION = "What is 12 * 7?"
SUMS = (("What is 3 + 4?", "3 + 4"), ("How much is 15 - 6?", "15 - 6"), ("Calculate 8 / 2.", "8 / 2"))


def call(place: int, expression: str) -> Message:
    return Message("assistant", [ToolCallPart(f"e{place}", "calculate", {"expression": expression})])


async def complete(model: LocalModel, prompt: Prompt) -> AsyncIterator[str]:
    """The raw text of an answer, as it comes."""
    body = {"prompt": prompt.text, "stop": list(prompt.stop), "max_tokens": 80, "temperature": 0, "stream": True}
    headers = {"Authorization": f"Bearer {model.key.reveal()}"}
    url = f"{model.base_url}/completions"
    async with aiohttp.ClientSession() as session, session.post(url, json=body, headers=headers) as response:
        assert response.status == 200
        async for line in response.content:
            data = line.decode().removeprefix("data: ").strip()
            if data and data != "[DONE]":
                yield json.loads(data)["choices"][0]["text"]


async def answer(model: LocalModel, messages: list[Message], tools: list[ToolDefinition]) -> TextStream:
    prompt = render_prompt(messages, tools, "hermes")
    stream = TextStream("hermes", tools, reasoning=prompt.reasoning)
    pieces = 0
    async for text in complete(model, prompt):
        stream.feed(text)
        pieces += 1
    stream.close()
    assert pieces > 1, "it streams"
    return stream


async def run(invocation: ToolInvocation, tool: ToolDefinition) -> ToolResult:
    gate = Gate()
    ticket = await gate.decide(invocation, tool)
    assert isinstance(ticket, Ticket)
    return await Executor(gate).run(ticket)


async def test_a_raw_turn(tmp_path: Path) -> None:
    install_weights()
    (tool,) = [tool for tool in demo_tools(tmp_path) if tool.name == "calculate"]
    shown = [system("You answer by calling tools.")]
    for place, (asked, expression) in enumerate(SUMS):
        shown += [user(asked), call(place, expression)]
    async with LocalModel() as model:
        asking = await answer(model, [*shown, user(QUESTION)], [tool])
        (invocation,) = asking.invocations
        assert (invocation.tool_name, invocation.arguments) == ("calculate", {"expression": "12 * 7"})
        assert asking.message.text.strip() == ""
        result = await run(invocation, tool)
        assert result.content == "12 * 7 = 84"

        told = [
            *(user("What is 3 + 4?"), call(0, "3 + 4"), tool_results([ToolResultPart("e0", "calculate", "3 + 4 = 7")])),
            *(Message("assistant", "3 + 4 is 7."), user(QUESTION), asking.message, tool_results([result.part()])),
        ]
        ending = await answer(model, told, [tool])
    assert ending.invocations == []
    assert "84" in ending.message.text


@pytest.mark.figures
async def test_the_same_through_an_agent(tmp_path: Path) -> None:
    """Its grammar follows from how the family writes a call."""
    install_weights()
    async with Agent("local", demo_tools(tmp_path), stream_parser="hermes") as agent:
        events = [event async for event in agent.run(QUESTION)]
    (started,) = [event.invocation for event in events if isinstance(event, ToolStarted)]
    (finished,) = [event.result for event in events if isinstance(event, ToolFinished)]
    assert (started.tool_name, started.arguments) == ("calculate", {"expression": "12 * 7"})
    assert finished.content == "12 * 7 = 84"
    assert isinstance(events[-1], RunFinished), events[-1]
    assert "84" in events[-1].text
    written = agent.messages[1].tool_calls[0].written
    assert written is not None
    assert written.text.startswith('<tool_call>\n{"name": "calculate"')
