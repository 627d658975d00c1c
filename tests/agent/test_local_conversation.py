"""A real model, a real tool: the embedded model's conversation, through the agent and through the command."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from toolwire import Agent, EventType, SegmentEvent
from toolwire.agent.events import AgentEvent, RunFinished, ToolFinished, ToolStarted
from toolwire.local.weights import install_weights
from toolwire.tools.demo import demo_tools

pytestmark = [pytest.mark.thorough, pytest.mark.xdist_group("local-model")]


@pytest.fixture
async def agent(tmp_path: Path) -> AsyncIterator[Agent]:
    install_weights()
    (tmp_path / "notes.txt").write_text("The meeting is on Friday.")
    async with Agent("local", demo_tools(tmp_path)) as agent:
        yield agent


async def ask(agent: Agent, question: str) -> list[AgentEvent]:
    return [event async for event in agent.run(question)]


def answer(events: list[AgentEvent]) -> str:
    assert isinstance(events[-1], RunFinished), events[-1]
    return events[-1].text


async def test_it_calls_a_tool_while_one_watches_and_answers_from_the_result(agent: Agent) -> None:
    events = await ask(agent, "What is 12 * 7?")
    (started,) = [event.invocation for event in events if isinstance(event, ToolStarted)]
    (finished,) = [event.result for event in events if isinstance(event, ToolFinished)]
    assert started.tool_name == "calculate"
    assert finished.content == "12 * 7 = 84"
    assert "84" in answer(events)
    pieces = [e for e in events if isinstance(e, SegmentEvent) and e.segment_id == started.id]
    assert [e.type for e in pieces[:1]] == [EventType.START]
    assert sum(e.type is EventType.CONTENT for e in pieces) > 1, "the call streams in pieces"
    shown = "".join(field.text for e in pieces for field in e.fields or () if field.path == ("expression",))
    assert shown == started.arguments["expression"]


async def test_the_conversation_goes_on(agent: Agent) -> None:
    assert "6.2" in answer(await ask(agent, "How many miles is 10 km?"))
    events = await ask(agent, "Read notes.txt")
    assert "Friday" in answer(events)
    assert [message.role for message in agent.messages] == ["user", "assistant", "tool", "assistant"] * 2


async def test_a_question_that_fits_no_tool_is_answered_without_one(agent: Agent) -> None:
    events = await ask(agent, "Tell me a joke")
    assert answer(events)
    assert not any(isinstance(event, ToolStarted) for event in events)


@pytest.mark.figures
def test_one_agent_runs_again_after_it_was_closed(tmp_path: Path) -> None:
    install_weights()
    agent = Agent("local", demo_tools(tmp_path))
    assert "84" in str(agent.run_sync("What is 12 * 7?"))
    assert "20" in str(agent.run_sync("What is 5 * 4?"))


def test_the_command_without_a_terminal_runs_one_question(tmp_path: Path) -> None:
    install_weights()
    command = [sys.executable, "-m", "toolwire", "run", "--model", "local"]
    done = subprocess.run(
        command, capture_output=True, text=True, stdin=subprocess.DEVNULL, cwd=tmp_path, timeout=100, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "Tokyo" in done.stdout
    assert "●" not in done.stdout, "the answer alone"
    for words in ("a very small model running on this machine", "● current_time", "Asia/Tokyo", "2 turns"):
        assert words in done.stderr
