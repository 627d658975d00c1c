"""What runs durably here: an agent whose every request, answer and effect can be counted.

The model goes by what the conversation holds, and never says the same twice: each answer has a mark of its own, so that
one that was lost, doubled or mixed with another shows. The tools write a line for each effect, with a mark as well.
"""

from __future__ import annotations

import asyncio
import os
import secrets
from collections.abc import AsyncGenerator, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from toolwire import Agent, tool
from toolwire.agent.bounds import Bounds
from toolwire.agent.steps import Steps
from toolwire.approval.request import Ask
from toolwire.tools.definition import ToolDefinition
from toolwire.tools.function import as_definition
from toolwire.transport import HttpRequest

from .moments import Moment

AGENT = "chaos"
CHILDREN = 50
Plan = tuple[tuple[tuple[str, dict[str, Any]], ...], ...]

PLANS: dict[str, Plan] = {
    "all": (
        (("save", {"name": "a"}), ("look", {"name": "b"}), ("slow", {"name": "c"})),
        (("send", {"name": "d"}), ("put", {"name": "e"}), ("fail", {"name": "f"})),
        (("save", {"wrong": 1}), ("chat", {"name": "g"})),
    ),
    "unasked": (
        (("save", {"name": "a"}), ("look", {"name": "b"}), ("slow", {"name": "c"})),
        (("put", {"name": "e"}), ("fail", {"name": "f"}), ("save", {"name": "h"})),
        (("slow", {"name": "i"}), ("chat", {"name": "g"})),
    ),
    "asked": ((("send", {"name": "d"}),), (("save", {"name": "a"}),)),
    "two": ((("send", {"name": "d"}), ("send", {"name": "j"}), ("save", {"name": "a"})),),
    "plain": ((("save", {"name": "a"}), ("look", {"name": "b"})), (("save", {"name": "h"}),)),
    "short": ((("save", {"name": "a"}),),),
    "many": ((("start_agents", {"tasks": [f"task {number}" for number in range(CHILDREN)]}),),),
}
"""The calls of each answer; the answer behind the last ends the run. `wrong` is no argument of its tool."""

EFFECTS = frozenset({"save", "slow", "send", "fail", "chat"})
"""Tools that may do their work once."""


class Effect(msgspec.Struct, frozen=True):
    """One line of what a tool did."""

    run: str
    tool: str
    name: str
    mark: str
    process: int


class Request(msgspec.Struct, frozen=True):
    """One line of what the model was asked."""

    run: str
    turn: int
    mark: str
    """Of the answer to it."""
    process: int
    messages: list[dict[str, Any]]


class Records(NamedTuple):
    """The files in which it is all written down, each line at once and for good."""

    folder: Path

    def add(self, line: Effect | Request) -> None:
        """Writes it."""
        path = self.folder / ("effects" if isinstance(line, Effect) else "requests")
        file = os.open(path, os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600)
        try:
            os.write(file, msgspec.json.encode(line) + b"\n")
        finally:
            os.close(file)

    def effects(self) -> list[Effect]:
        """What the tools did, in order."""
        return [msgspec.json.decode(line, type=Effect) for line in self._lines("effects")]

    def requests(self) -> list[Request]:
        """What the model was asked, in order."""
        return [msgspec.json.decode(line, type=Request) for line in self._lines("requests")]

    def _lines(self, name: str) -> list[bytes]:
        path = self.folder / name
        return path.read_bytes().splitlines() if path.exists() else []


class Model:
    """A transport that answers by the number of answers with calls which the request holds."""

    def __init__(
        self, run: str, plan: Plan, records: Records | None, moment: Moment, *, pieces: int = 4, pause: float = 0.0
    ) -> None:
        self._run = run
        self._plan = plan
        self._records = records
        self._moment = moment
        self._pieces = pieces
        self._pause = pause

    async def stream(self, request: HttpRequest) -> AsyncGenerator[bytes, None]:
        """The answer, in some pieces."""
        messages = msgspec.json.decode(request.body)["messages"]
        turn = sum(bool(message.get("tool_calls")) for message in messages)
        mark = secrets.token_hex(4)
        if self._records is not None:
            self._records.add(Request(self._run, turn, mark, os.getpid(), messages))
        self._moment(f"request {turn} sent")
        chunks = list(answer(self._plan, turn, mark, self._pieces))
        for number, data in enumerate(chunks):
            await asyncio.sleep(self._pause)
            if number == 2:
                self._moment(f"answer {turn} begun")
            if number == len(chunks) - 1:
                self._moment(f"answer {turn} almost ended")
            yield data

    async def aclose(self) -> None:
        """Nothing is open."""


def answer(plan: Plan, turn: int, mark: str, pieces: int) -> Iterator[bytes]:
    """The bytes of one answer."""
    deltas: list[dict[str, Any]] = [{"content": f"answer {turn} "}, {"content": f"{mark}"}]
    deltas += [{"content": f" {number}"} for number in range(pieces)]
    if turn < len(plan):
        deltas += [
            {
                "tool_calls": [
                    {
                        "index": index,
                        "id": f"{mark}-{index}",
                        "type": "function",
                        "function": {"name": name, "arguments": msgspec.json.encode(arguments).decode()},
                    }
                ]
            }
            for index, (name, arguments) in enumerate(plan[turn])
        ]
    finish = "tool_calls" if turn < len(plan) else "stop"
    for delta, reason in [*((delta, None) for delta in deltas), ({}, finish)]:
        chunk = {"choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}
        yield b"data: " + msgspec.json.encode(chunk) + b"\n\n"
    usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
    yield b"data: " + msgspec.json.encode({"choices": [], "usage": usage}) + b"\n\n"
    yield b"data: [DONE]\n\n"


def make_agent(
    run: str,
    options: dict[str, Any],
    records: Records | None,
    moment: Moment,
    *,
    person: Ask | None = None,
    steps: Steps | None = None,
    more: Sequence[ToolDefinition] = (),
) -> Agent:
    """The agent of one run; `options`: the name of its `plan`, `pieces` of its answers, `pause`s between them."""
    pause = float(options.get("tool", 0.01))

    def work(tool: str, name: str) -> str:
        mark = secrets.token_hex(4)
        moment(f"{tool} {name} before")
        if records is not None:
            records.add(Effect(run, tool, name, mark, os.getpid()))
        moment(f"{tool} {name} after")
        return f"{tool} {name} {mark}"

    @tool(risk="write")
    async def save(name: str) -> str:
        """Saves."""
        return work("save", name)

    @tool(risk="write")
    async def slow(name: str) -> str:
        """Saves, and takes its time."""
        await asyncio.sleep(pause)
        done = work("slow", name)
        await asyncio.sleep(pause)
        return done

    @tool(risk="write", idempotent=True)
    async def put(name: str) -> str:
        """Puts it there, however often."""
        await asyncio.sleep(pause)
        return work("put", name)

    @tool(risk="read")
    def look(name: str) -> str:
        """Looks."""
        return work("look", name)

    @tool(risk="execute")
    def fail(name: str) -> str:
        """Does its work and fails."""
        raise RuntimeError(f"behind {work('fail', name)}")

    @tool(risk="write")
    async def chat(name: str) -> AsyncGenerator[str, None]:
        """Tells of its work while it does it."""
        yield f"to do {name}\n"
        await asyncio.sleep(pause)
        yield work("chat", name)
        await asyncio.sleep(pause)
        yield "\ndone"

    @tool(risk="network")
    async def send(name: str) -> str:
        """Sends, when someone says yes."""
        return work("send", name)

    asked = replace(as_definition(send), asks="It is sent to other people.")
    return Agent(
        "openai-compatible:m",
        [save, slow, put, look, fail, chat, asked, *more],
        system_prompt="Be brief.",
        base_url="http://127.0.0.1:1/v1",
        api_key="none",
        transport=Model(
            run,
            PLANS[options.get("plan", "all")],
            records,
            moment,
            pieces=int(options.get("pieces", 4)),
            pause=float(options.get("pause", 0.0)),
        ),
        policy="full",
        approve=person,
        bounds=Bounds(turns=1000, repeats=1000),
        steps=steps,
    )
