"""Runs with a session whose every effect can be counted: what is killed, broken off and resumed by `sessions`.

The model is a script that goes by what the conversation holds, so that it goes on where a resumed one stands, and the
tools write a line into a file for each effect. An effect has a name of its own, and a line twice is one done twice.
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from bench.trust.histories import wrongs_anywhere
from toolwire import Agent, tool
from toolwire.agent.events import AgentEvent, RunFinished, RunInterrupted, ToolFinished
from toolwire.agent.sessions.entries import Finished
from toolwire.agent.sessions.store import SessionRecord, SessionStore
from toolwire.approval.request import ApprovalRequest
from toolwire.messages import Message, ToolResultPart
from toolwire.transport import HttpRequest

PLAN: tuple[tuple[tuple[str, dict[str, Any]], ...], ...] = (
    (("save", {"name": "a"}), ("look", {"name": "b"}), ("save_slowly", {"name": "c"})),
    (("save", {"wrong": 1}), ("save_slowly", {"name": "d"}), ("fail", {"name": "e"}), ("save", {"name": "f"})),
    (("look", {"name": "g"}),),
)
"""The calls of each answer; the one behind the last ends the turn. `wrong` is no argument of its tool."""

EFFECTS = ("a", "c", "d", "e", "f")
SECRET = "kq83hf02mzlw9e5ty7rb"


class Model:
    """A transport that answers by the number of answers with calls which the request holds."""

    async def stream(self, request: HttpRequest) -> AsyncGenerator[bytes, None]:
        messages = msgspec.json.decode(request.body)["messages"]
        turn = sum(bool(message.get("tool_calls")) for message in messages)
        for data in _chunks(turn):
            await asyncio.sleep(0)
            yield data

    async def aclose(self) -> None:
        pass


def _chunks(turn: int) -> Iterator[bytes]:
    deltas: list[dict[str, Any]] = [{"content": "Well, "}, {"content": f"{turn}."}]
    if turn < len(PLAN):
        deltas += [
            {
                "tool_calls": [
                    {
                        "index": index,
                        "id": f"t{turn}c{index}",
                        "type": "function",
                        "function": {"name": name, "arguments": msgspec.json.encode(arguments).decode()},
                    }
                ]
            }
            for index, (name, arguments) in enumerate(PLAN[turn])
        ]
    finish = "tool_calls" if turn < len(PLAN) else "stop"
    for delta, reason in [*((delta, None) for delta in deltas), ({}, finish)]:
        chunk = {"choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}
        yield b"data: " + msgspec.json.encode(chunk) + b"\n\n"
    yield b"data: [DONE]\n\n"


class Place:
    """A folder with a store, a file of effects and one of what whoever watched was told."""

    def __init__(self, folder: Path) -> None:
        self.store = folder / "sessions.db"
        self.effects = folder / "effects"
        self.told = folder / "told"

    def agent(self, store: SessionStore) -> Agent:
        """The agent, on the session that is there, or on a new one."""

        def effect(name: str) -> None:
            _add(self.effects, name)

        @tool(risk="write")
        async def save(name: str) -> str:
            """Saves."""
            effect(name)
            return f"saved {name}"

        @tool(risk="write")
        async def save_slowly(name: str) -> str:
            """Saves."""
            await asyncio.sleep(0.001)
            effect(name)
            await asyncio.sleep(0.001)
            return f"saved {name}"

        @tool(risk="execute")
        def fail(name: str) -> str:
            """Does its work and fails."""
            effect(name)
            raise RuntimeError(f"failed behind {name}")

        @tool(risk="read")
        def look(name: str) -> str:
            """Looks."""
            return f"seen {name}"

        async def yes(_: ApprovalRequest) -> bool:
            return True

        id = store.latest()
        session = store.open(id) if id is not None else store.create(model="openai-compatible:m", cwd="/")
        return Agent(
            "openai-compatible:m",
            [save, save_slowly, fail, look],
            system_prompt="Be brief.",
            base_url="http://127.0.0.1:1/v1",
            api_key=SECRET,
            transport=Model(),
            approve=yes,
            session=session,
        )

    async def run(self, interrupted_at: int = -1) -> list[AgentEvent]:
        """The session to its end, in one run, or in a second if the first is interrupted; what is told is written down,
        too.
        """
        events: list[AgentEvent] = []
        with SessionStore(self.store) as store:
            agent = self.agent(store)
            while not events or isinstance(events[-1], RunInterrupted):
                async for event in agent.run("Go on"):
                    events.append(event)
                    if len(events) == interrupted_at:
                        agent.interrupt()
                    if isinstance(event, ToolFinished):
                        _add(self.told, f"{event.turn} {event.id} {event.result.content}")
                    elif isinstance(event, RunFinished):
                        _add(self.told, "the end")
            await agent.close()
        return events

    def record(self) -> SessionRecord | None:
        """What is written; None if it came to nothing."""
        with SessionStore(self.store) as store:
            id = store.latest()
            return None if id is None else store.read(id)

    def faults(self, *, resumed: bool, interrupted: bool = False) -> Iterator[str]:
        """What is not as it must be: after a run broke off, or after it was resumed to its end.

        Of an answer that was `interrupted` only the calls that had come are there.
        """
        record = self.record()
        done = Counter(_lines(self.effects))
        told = _lines(self.told)
        messages = [] if record is None else record.messages
        results = {part.id: part for message in messages for part in message.parts if isinstance(part, ToolResultPart)}
        yield from (f"{name} was done {times} times" for name, times in done.items() if times > 1)
        yield from _unanswered(messages)
        yield from wrongs_anywhere(messages)
        for entry in record.entries if record is not None else ():
            if isinstance(entry.what, Finished) and results.get(entry.what.result.id) != entry.what.result.part():
                yield f"the result of {entry.what.result.id} was lost"
        for line in told:
            if line == "the end":
                if record is None or record.info.state not in ("finished", "running", "cut off"):
                    yield "the end was told and is not written"
            else:
                _, id, content = line.split(" ", 2)
                if id not in results or results[id].content != content:
                    yield f"{content!r} was told of {id} and is not written"
        for turn, calls in enumerate(PLAN):
            for index, (_, arguments) in enumerate(calls):
                name, id = arguments.get("name", ""), f"t{turn}c{index}"
                if interrupted and id not in results:
                    continue
                content = str(results[id].content) if id in results else ""
                if name in EFFECTS and done[name] and "Error: not run" in content:
                    yield f"{name} was done, and the model is told that it was not run"
                if name in EFFECTS and not done[name] and (content.startswith("saved") or "failed behind" in content):
                    yield f"{name} was not done, and the model is told that it was"
                if resumed and not content:
                    yield f"{id} has no result in the end"
                untold = not any(word in content for word in ("not run", "unknown", "cancelled"))
                if resumed and name in EFFECTS and not done[name] and untold:
                    yield f"{name} was not done, and nobody is told: {content}"
        if resumed and (record is None or record.info.state != "finished"):
            yield f"the run did not come to its end: {record and record.info.state}"
        if record is not None and record.damage:
            yield record.damage
        for path in self.store.parent.iterdir():
            if path.is_file() and SECRET.encode() in path.read_bytes():
                yield f"the key is in {path.name}"


def _unanswered(messages: list[Message]) -> Iterator[str]:
    for place, message in enumerate(messages):
        if message.tool_calls:
            after = messages[place + 1].parts if place + 1 < len(messages) else []
            ids = [part.id for part in after if isinstance(part, ToolResultPart)]
            if ids != [call.id for call in message.tool_calls]:
                yield f"calls {[call.id for call in message.tool_calls]} have the results {ids}"


def _add(path: Path, line: str) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.write(descriptor, line.replace("\n", " ").encode() + b"\n")
    os.close(descriptor)


def _lines(path: Path) -> list[str]:
    return path.read_text().splitlines() if path.exists() else []


@contextmanager
def watched(before: Callable[[str], None], after: Callable[[str], None] = lambda _: None) -> Iterator[None]:
    """While it lasts, each statement to SQLite is shown before and after it was done."""

    class Watched(sqlite3.Connection):
        def execute(self, sql: str, *arguments: Any) -> sqlite3.Cursor:
            before(sql)
            cursor = super().execute(sql, *arguments)
            after(sql)
            return cursor

        def executemany(self, sql: str, *arguments: Any) -> sqlite3.Cursor:
            before(sql)
            cursor = super().executemany(sql, *arguments)
            after(sql)
            return cursor

    connect = sqlite3.connect
    sqlite3.connect = lambda *arguments, **options: connect(*arguments, **options, factory=Watched)  # type: ignore[assignment]
    try:
        yield
    finally:
        sqlite3.connect = connect
