"""Durable runs without a database: real events of an agent, told by a test as a worker would tell them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Sequence
from typing import Any

import msgspec

import toolwire
from toolwire import Agent
from toolwire.agent.events import AgentEvent, ApprovalAsked
from toolwire.agent.history import as_message
from toolwire.approval.request import Answer, ApprovalRequest
from toolwire.durable.records import AttemptWithdrawn, Question, RunEvent, RunInfo, RunSpec, RunState, WorkerInfo
from toolwire.errors import DurableFailed
from toolwire.messages import Message
from toolwire.stream.segments import SegmentEvent
from toolwire.testing import ScriptedModel

VOIDED = AttemptWithdrawn | AgentEvent


@toolwire.tool(risk="write")
def save(text: str) -> str:
    """Saves a text."""
    return f"saved {text}"


async def events_of_run(
    answers: Sequence[Any], prompt: str = "Go", *, turn: int = 0
) -> tuple[list[AgentEvent], list[Message]]:
    """What an agent tells of these answers, every call allowed; and its conversation."""

    async def yes(request: ApprovalRequest) -> Answer:
        return Answer(allowed=True, who="ann@desk")

    model = ScriptedModel(list(answers), chop=20)
    agent = Agent("openai-compatible:test", [save], base_url="http://127.0.0.1:1/v1", transport=model, approve=yes)
    told = [event async for event in agent.run(prompt)]
    messages = list(agent.messages)
    await agent.close()
    return told, messages


class StandingRun:
    """One run, as far as a test has told it."""

    def __init__(self, id: str, prompt: Any, *, state: RunState = RunState.RUNNING, **more: Any) -> None:
        now = time.time()
        self.spec = RunSpec(prompt=as_message(prompt), **more)
        self.info = RunInfo(
            id=id, title=self.spec.prompt.text, state=state, agent="toolwire", created=now, updated=now, attempt=1
        )
        self.events: list[RunEvent] = []
        self.questions: dict[str, Question] = {}
        self.answers: list[tuple[str, Answer | str, str | None]] = []
        self.conversation: list[Message] = []
        self.came = asyncio.Event()
        self.turn = 0

    def tell(self, *events: AgentEvent | AttemptWithdrawn) -> None:
        """What the worker tells next."""
        for event in events:
            self.turn = getattr(event, "turn", self.turn)
            id = "" if isinstance(event, SegmentEvent) else getattr(event, "id", "")
            self.events.append(RunEvent(len(self.events) + 1, self.info.attempt, self.turn, id, event))
        self.become(position=len(self.events))

    def withdraw(self, id: str = "") -> None:
        """The worker is lost, another one begins this again."""
        self.become(attempt=self.info.attempt + 1)
        self.tell(AttemptWithdrawn(self.turn, id, self.info.attempt - 1, 1))

    def become(self, **changes: Any) -> None:
        self.info = msgspec.structs.replace(self.info, **changes)
        came, self.came = self.came, asyncio.Event()
        came.set()

    def ask(self, event: ApprovalAsked) -> Question:
        """The call waits for a person."""
        self.tell(event)
        return self.ask_words(event.id, event.request.digest, request=event.request)

    def ask_words(self, id: str, digest: str, **asked: Any) -> Question:
        question = Question(run=self.info.id, id=id, turn=self.turn, digest=digest, asked=time.time(), **asked)
        self.questions[id] = question
        self.become(questions=len(self.questions), state=RunState.WAITING)
        return question

    def settle(self, id: str) -> None:
        """The question has its answer, from wherever."""
        del self.questions[id]
        self.become(questions=len(self.questions), state=RunState.RUNNING)


class StandingRuns:
    """As `toolwire.durable.Runs`."""

    def __init__(self, *runs: StandingRun) -> None:
        self.runs = {run.info.id: run for run in runs}
        self.submitted: list[tuple[str, dict[str, Any]]] = []
        self.alive: list[WorkerInfo] = []
        self.read = 0
        """Events that were read."""
        self.is_open = False

    async def __aenter__(self) -> StandingRuns:
        self.is_open = True
        return self

    async def __aexit__(self, *_: object) -> None:
        self.is_open = False

    def _run(self, id: str) -> StandingRun:
        found = [run for key, run in self.runs.items() if key.startswith(id)]
        if len(found) != 1:
            raise DurableFailed(f"there is no run that begins with {id!r}", hint="toolwire runs list")
        return found[0]

    async def get(self, id: str) -> RunInfo:
        await asyncio.sleep(0)
        return self._run(id).info

    async def list(self, *, limit: int = 50) -> Sequence[RunInfo]:
        return [run.info for run in self.runs.values()]

    async def spec(self, id: str) -> RunSpec:
        return self._run(id).spec

    async def history(self, id: str) -> tuple[Sequence[Message], int]:
        run = self._run(id)
        return run.conversation, run.spec.turn + run.info.turns

    async def workers(self) -> Sequence[WorkerInfo]:
        return self.alive

    async def questions(self, id: str) -> Sequence[Question]:
        run = self._run(id)
        return list(run.questions.values()) if run.info.state in (RunState.RUNNING, RunState.WAITING) else []

    async def follow(self, id: str, *, after: int = 0) -> AsyncGenerator[RunEvent, None]:
        run = self._run(id)
        while True:
            came = run.came
            for told in run.events[after:]:
                after = told.position
                self.read += 1
                yield told
            if run.info.state.is_over and after >= len(run.events):
                return
            if after >= len(run.events):
                await came.wait()

    async def answer(self, run: str, question: str, answer: Answer | str, *, digest: str | None = None) -> Question:
        found = self._run(run)
        if question not in found.questions:
            raise DurableFailed("it was answered already by bob@elsewhere: no")
        if digest != found.questions[question].digest:
            raise DurableFailed("the call is not the one that was shown", hint="Look at it again.")
        found.answers.append((question, answer, digest))
        asked = found.questions[question]
        found.settle(question)
        return asked

    async def cancel(self, id: str) -> RunInfo:
        run = self._run(id)
        run.become(state=RunState.CANCELLED)
        return run.info

    async def submit(self, prompt: Any, **how: Any) -> RunInfo:
        id = f"r-new{len(self.submitted)}"
        self.submitted.append((as_message(prompt).text, how))
        kept = {name: how[name] for name in ("agent", "options", "history", "turn", "bounds")}
        self.runs[id] = StandingRun(id, prompt, state=RunState.QUEUED, **kept)
        return self.runs[id].info
