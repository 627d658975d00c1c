"""A real model that calls in text, held by the format's grammar: asked, called, answered, through the agent."""

from __future__ import annotations

from pathlib import Path

import pytest

from toolwire import Agent, EventType, SegmentEvent, TextStream
from toolwire.agent.events import AgentEvent, RunFinished, ToolFinished, ToolStarted
from toolwire.embedded.registry import text_format
from toolwire.local.weights import install_weights
from toolwire.messages import Message
from toolwire.tools.demo import demo_tools

pytestmark = [pytest.mark.thorough, pytest.mark.timeout(300), pytest.mark.xdist_group("local-model")]

FORMATS = ["xml", "json", "sentinel"]


async def ask(agent: Agent, question: str) -> list[AgentEvent]:
    return [event async for event in agent.run(question)]


def answer(events: list[AgentEvent]) -> str:
    assert isinstance(events[-1], RunFinished), events[-1]
    return events[-1].text


def written(message: Message) -> str:
    (call,) = message.tool_calls
    assert call.written is not None
    return call.written.text


@pytest.mark.figures
@pytest.mark.parametrize("parser", FORMATS)
async def test_a_conversation(parser: str, tmp_path: Path) -> None:
    install_weights()
    (tmp_path / "notes.txt").write_text("The meeting is on Friday.")
    tools = demo_tools(tmp_path)
    async with Agent("local", tools, stream_parser=parser) as agent:
        events = await ask(agent, "What is 12 * 7?")
        (started,) = [event.invocation for event in events if isinstance(event, ToolStarted)]
        (finished,) = [event.result for event in events if isinstance(event, ToolFinished)]
        assert (started.tool_name, started.arguments) == ("calculate", {"expression": "12 * 7"})
        assert finished.content == "12 * 7 = 84"
        assert "84" in answer(events)
        pieces = [e for e in events if isinstance(e, SegmentEvent) and e.segment_id == started.id]
        assert sum(e.type is EventType.CONTENT for e in pieces) > 1, "the call streams in pieces"

        events = await ask(agent, "Read notes.txt")
        assert "Friday" in answer(events)
        assert [message.role for message in agent.messages] == ["user", "assistant", "tool", "assistant"] * 2

    # The call stood in the text, and nothing but the call.
    stream = TextStream(text_format(parser), tools)
    stream.feed(written(agent.messages[1]))
    stream.close()
    assert [call.arguments for call in stream.invocations] == [{"expression": "12 * 7"}]
    assert agent.messages[1].text.strip() == ""
