"""The same loop on the embedded model: a real model reads a real file with the built-in tool, and answers from it."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path
from tempfile import TemporaryDirectory

from toolwire import Agent
from toolwire.agent.events import AgentEvent, RunFinished, ToolFinished, ToolStarted
from toolwire.builtin.reading import reading_tools
from toolwire.local.weights import install_weights

from . import Found

DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday")
NAMES = ("notes.txt", "plan.txt", "todo.txt", "meeting.txt")


def embedded_runs(count: int, seed: int) -> Found:
    """Runs of one agent: each has to read a file, whose words the model cannot know, and to tell them."""
    install_weights()
    with TemporaryDirectory() as folder:
        return asyncio.run(_ask(count, random.Random(seed), Path(folder)))


async def _ask(count: int, rng: random.Random, folder: Path) -> Found:
    found = Found()
    async with Agent("local", reading_tools(), workspace=folder) as agent:
        for number in range(max(1, count)):
            name, day = rng.choice(NAMES), rng.choice(DAYS)
            await asyncio.to_thread((folder / name).write_text, f"The meeting is on {day}.\n")
            agent.messages.clear()  # what was read before would be an answer too
            events = [event async for event in agent.run(f"Read {name}")]
            for words in _wrongs(events, name, day):
                found.fault(f"run {number}: {words}")
            found.runs += 1
    found.words = "each with a call of read_file, two answers of the model"
    return found


def _wrongs(events: list[AgentEvent], name: str, day: str) -> list[str]:
    started = [event.invocation for event in events if isinstance(event, ToolStarted)]
    results = [event.result.content for event in events if isinstance(event, ToolFinished)]
    wrong = []
    if [(each.tool_name, each.arguments.get("path")) for each in started] != [("read_file", name)]:
        wrong.append(f"ran {started}")
    if len(results) != 1 or day not in results[0]:
        wrong.append(f"was told {results}")
    end = events[-1]
    if not isinstance(end, RunFinished) or end.turns != 2 or day not in end.text:
        wrong.append(f"ended with {end}")
    return wrong
