"""A run interrupted at a random moment, in every way there is: it returns at once, nothing of it lives on, and the
conversation goes on from there.
"""

from __future__ import annotations

import asyncio
import random
import secrets
import signal
import sys
import time
from collections import Counter
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec

from toolwire import Agent, SegmentEvent
from toolwire.agent.asking import Retries
from toolwire.agent.events import (
    AgentEvent,
    RequestRetried,
    RunFailed,
    RunFinished,
    RunInterrupted,
    RunStarted,
    ToolFinished,
    TurnStarted,
)
from toolwire.agent.hooks import Hooks
from toolwire.agent.sessions.store import SessionStore
from toolwire.approval.request import ApprovalRequest
from toolwire.execution.environment import child_environment
from toolwire.execution.process import run_process
from toolwire.messages import Message, ToolResultPart
from toolwire.tools.definition import Risk, ToolDefinition
from toolwire.tools.running import Preview

from . import Found
from .children import BASH, living
from .histories import TARGETS, Target, wrongs_anywhere
from .model_server import Answer, ModelServer

sys.path.append(str(Path(__file__).resolve().parents[2] / "tests"))

from format_rules import broken
from wire_bodies import Call, End, Piece, Text, Thought
from wire_bodies import events as written

LIMIT = 1.0
"""Seconds within which an interrupted run has returned."""
GONE_SECONDS = 5.0
"""After so long nothing that it started lives."""
AT_ONCE = 12
"""Runs that go on beside one another: most of the time they wait."""

GO_ON = "And what now?"
"""The next question."""

WAYS = ("interrupt", "interrupt twice", "cancel", "cancel twice", "interrupt and cancel", "close", "hook", "at the end")
"""How a run is interrupted; besides, at the keyboard, by which a whole event loop is."""
STUBBORN = ("ignores SIGTERM", "waits", "sessions below sessions", "floods")
"""Programs of `children.BASH` that are run."""


def interrupts(count: int, seed: int) -> Found:
    """Runs on all wires against a real server, each interrupted somewhere: in the connection, the answer, between
    events, a pause before a retry, a preview, a question to the person, a tool of any kind, a result.

    The plan's count is 1,000; that takes some two minutes.
    """
    found = Found()
    with ModelServer() as server, TemporaryDirectory() as folder, SessionStore(f"{folder}/sessions.db") as store:
        trial = Trial(found, store)
        numbers = list(range(count))
        keyboard = [number for number in numbers if number % 10 == 9]
        others = [number for number in numbers if number % 10 != 9]
        for at in range(0, len(others), AT_ONCE):
            asyncio.run(_group(trial, server, [f"{seed}-{number}" for number in others[at : at + AT_ONCE]]))
        for number in keyboard:
            trial.at_the_keyboard(server, f"{seed}-{number}")
        until = time.monotonic() + GONE_SECONDS
        while server.open_connections and time.monotonic() < until:
            time.sleep(0.01)
        if server.open_connections:
            found.fault(f"{server.open_connections} connections are left")
    moments = ", ".join(f"{times:,} {moment}" for moment, times in sorted(trial.moments.items()))
    found.words = f"returned after {trial.slowest:.2f} s at most; {moments}"
    return found


async def _group(trial: Trial, server: ModelServer, names: Sequence[str]) -> None:
    """Several runs beside one another; when they are over, no task is left."""
    await asyncio.gather(*(_Run(trial, server, name).whole() for name in names))
    left = asyncio.all_tasks() - {asyncio.current_task()}
    if left:
        trial.found.fault(f"{names[0]} …: {len(left)} tasks are left: {left}")


class Trial:
    """What was found over all runs."""

    def __init__(self, found: Found, store: SessionStore) -> None:
        self.found = found
        self.store = store
        self.slowest = 0.0
        self.moments: Counter[str] = Counter()

    def returned(self, seconds: float, name: str) -> None:
        """A run has ended so long after it was interrupted."""
        self.slowest = max(self.slowest, seconds)
        if seconds > LIMIT:
            self.found.fault(f"{name}: returned after {seconds:.2f} s")

    def at_the_keyboard(self, server: ModelServer, name: str) -> None:
        """One run as the main task of an event loop, stopped by Ctrl-C; then the conversation goes on in another."""
        run = _Run(self, server, name)
        with asyncio.Runner() as runner:
            try:
                runner.run(run.until_ctrl_c())
            except KeyboardInterrupt:
                self.returned(time.monotonic() - run.asked_at, name)
            runner.run(run.afterwards())
            left = asyncio.all_tasks(runner.get_loop())
            if left:
                self.found.fault(f"{name}: {len(left)} tasks are left")


class _Hook(Hooks):
    """Interrupts the run from inside it, when its time has come."""

    def __init__(self) -> None:
        self.run: _Run | None = None

    async def on_event(self, event: AgentEvent) -> None:
        self._look()

    async def before_request(self, turn: int, messages: Sequence[Message]) -> str | None:
        self._look()
        return None

    async def before_call(self, invocation: Any, tool: ToolDefinition) -> str | None:
        self._look()
        return None

    def _look(self) -> None:
        if self.run is not None and time.monotonic() >= self.run.moment:
            self.run.interrupt()


class _Run:
    """One run, its interruption, and the next run."""

    def __init__(self, trial: Trial, server: ModelServer, name: str) -> None:
        self.trial, self.server, self.name = trial, server, name
        self.rng = rng = random.Random(name)
        self.token = secrets.token_hex(8)
        self.target: Target = rng.choice(TARGETS)
        self.way = rng.choice(WAYS)
        self.conversation = f"{name}-{self.token}"
        self.moment = 0.0
        self.asked_at = 0.0
        self.where = "over already"
        self.finished: Counter[str] = Counter()
        self.ends: list[AgentEvent] = []
        self.last: AgentEvent | None = None
        self.asking = 0
        self.plan = self._plan()
        self.went_on: list[dict[str, Any]] = []
        """The requests of the next run."""
        server.plans[self.conversation] = self._answer
        self.hook = _Hook()
        model = f"{self.target.endpoint.provider.name}:{self.target.endpoint.model}"
        self.session = trial.store.create(model=model, cwd=".") if rng.random() < 0.4 else None
        self.agent = Agent(
            model,
            self._tools(),
            base_url=server.url(self.conversation, self.target.wire),
            api_key="x",
            approve=self._approve,
            retries=Retries(attempts=2, first_pause=0.2),
            hooks=[self.hook],
            session=self.session,
            system_prompt="Be brief.",
        )

    def _fault(self, words: str) -> None:
        self.trial.found.fault(f"{self.name} ({self.target.rules}, {self.way}, {self.where}): {words}")

    def _answer(self, request: bytes) -> Answer:
        """What the server says; a request of the first run may reach it when that is over."""
        last = Answer(written(self.target.wire, Text("Well."), End()))
        if GO_ON.encode() not in request:
            return self.plan.pop(0) if self.plan else last
        self.went_on.append(msgspec.json.decode(request))
        return last

    def _plan(self) -> list[Answer]:
        """Two answers with calls and one without; before the first there may be a refusal that passes."""
        rng, wire = self.rng, self.target.wire
        plan = [Answer([b"{}"], status=503)] if rng.random() < 0.15 else []
        if rng.random() < 0.05:
            return [*plan, Answer([], hangs=True)]
        for turn in range(2):
            pieces: list[Piece] = [Thought("hm")] if rng.random() < 0.5 else []
            pieces += [Text("Let me look.")] if rng.random() < 0.7 else []
            for number in range(rng.randint(1, 3)):
                pieces.append(Call(f"c{turn}{number}", rng.choice(TOOLS), '{"x":"y"}'))
            events = written(wire, *pieces, End())
            if rng.random() < 0.1:
                plan.append(Answer(events[: rng.randrange(len(events))], rng.random() * 0.004, hangs=True))
            plan.append(Answer(events, rng.random() * 0.004))
        return [*plan, Answer(written(wire, Text("So it is."), End()), 0.002)]

    def _tools(self) -> list[ToolDefinition]:
        rng = self.rng

        async def quick(_: dict[str, Any]) -> str:
            await asyncio.sleep(rng.random() * 0.01)
            return "done"

        async def slow(_: dict[str, Any]) -> str:
            await asyncio.sleep(30)
            return "done"

        async def deaf(_: dict[str, Any]) -> str:
            until = time.monotonic() + 1.2
            while time.monotonic() < until:
                with suppress(asyncio.CancelledError):
                    await asyncio.sleep(until - time.monotonic())
            return "a late result"

        def thread(_: dict[str, Any]) -> str:
            time.sleep(rng.random() * 0.4)
            return "a late result"

        async def child(_: dict[str, Any]) -> str:
            line = BASH[rng.choice(STUBBORN)].replace("@", f"60.{self.token}")
            environment = child_environment({})
            await run_process(["bash", "-c", line], cwd=".", environment=environment, timeout=60)
            return "done"

        def look(_: dict[str, Any]) -> Preview:
            time.sleep(rng.random() * 0.02)
            return Preview("so it would be")

        schema: dict[str, Any] = {"properties": {"x": {"type": "string"}}}
        return [
            ToolDefinition("quick", "", schema, Risk.READ, quick),
            ToolDefinition("slow", "", schema, Risk.READ, slow),
            ToolDefinition("deaf", "", schema, Risk.READ, deaf),
            ToolDefinition("thread", "", schema, Risk.READ, thread),
            ToolDefinition("child", "", schema, Risk.READ, child),
            ToolDefinition("asked", "", schema, Risk.WRITE, quick),
            ToolDefinition("shown", "", schema, Risk.WRITE, quick, preview=look),
        ]

    async def _approve(self, _: ApprovalRequest) -> bool:
        self.asking += 1
        try:
            await asyncio.sleep(self.rng.choice([0.0, 0.02, 60.0]))
        finally:
            self.asking -= 1
        return self.rng.random() < 0.8

    def interrupt(self) -> None:
        """Interrupts the run, once."""
        if not self.asked_at:
            self._note_moment()
            self.agent.interrupt()

    def _cancel(self, task: asyncio.Task[None]) -> None:
        if not self.asked_at:
            self._note_moment()
        task.cancel()

    def _note_moment(self) -> None:
        self.asked_at = time.monotonic()
        kind = type(self.last)
        if self.ends:
            self.where = "over already"
        elif self.asking:
            self.where = "asking the person"
        else:
            self.where = _MOMENTS.get(kind, "in the calls")

    async def whole(self) -> None:
        """The run in a task of its own, interrupted in its way; then the next."""
        loop = asyncio.get_running_loop()
        seconds = self.rng.random() * 0.25
        self.moment = time.monotonic() + seconds
        task = asyncio.create_task(self._follow(self.agent.run("Look.")))
        timers = []
        if self.way.startswith("interrupt"):
            timers.append(loop.call_later(seconds, self.interrupt))
        if self.way == "interrupt twice":
            timers.append(loop.call_later(seconds + self.rng.random() * 0.01, self.agent.interrupt))
        if "cancel" in self.way:
            timers.append(loop.call_later(seconds, self._cancel, task))
        if self.way == "cancel twice":
            timers.append(loop.call_later(seconds + self.rng.random() * 0.1, task.cancel))
        if self.way in ("hook", "close", "at the end"):
            # These need an event; what waits without one is interrupted from outside.
            timers.append(loop.call_later(seconds + 0.3, self.interrupt))
        if self.way == "hook":
            self.hook.run = self
        await asyncio.wait({task}, timeout=seconds + 20)
        for timer in timers:
            timer.cancel()
        if not task.done():
            self._fault("it goes on")
            task.cancel()
            await asyncio.wait({task}, timeout=20)
            return
        self._judge_end(task)
        await self.afterwards()

    def _judge_end(self, task: asyncio.Task[None]) -> None:
        if self.asked_at:
            self.trial.returned(time.monotonic() - self.asked_at, f"{self.name} ({self.way}, {self.where})")
        if task.cancelled():
            if "cancel" not in self.way:
                self._fault("the reader was cancelled")
        elif task.exception() is not None:
            self._fault(f"raised {task.exception()!r}")
        elif self.way != "close" and len(self.ends) != 1:
            self._fault(f"ended {len(self.ends)} times: {self.ends}")
        elif self.asked_at and self.way == "cancel" and not self.ends:
            self._fault("a cancellation was swallowed")

    async def until_ctrl_c(self) -> None:
        """The run, with Ctrl-C at its moment."""

        def press() -> None:
            self._note_moment()
            signal.raise_signal(signal.SIGINT)

        self.way = "at the keyboard"
        timer = asyncio.get_running_loop().call_later(self.rng.random() * 0.25, press)
        try:
            await self._follow(self.agent.run("Look."))
        finally:
            timer.cancel()

    async def _follow(self, events: AsyncGenerator[AgentEvent, None]) -> None:
        try:
            await self._read(events)
        finally:
            self.trial.moments[self.where] += 1

    async def _read(self, events: AsyncGenerator[AgentEvent, None]) -> None:
        loop = asyncio.get_running_loop()
        async with aclosing(events):
            async for event in events:
                self.last = event
                if isinstance(event, ToolFinished):
                    self.finished[event.id] += 1
                if isinstance(event, (RunFinished, RunFailed, RunInterrupted)):
                    self.ends.append(event)
                    if self.way == "at the end":
                        loop.call_soon(self.agent.interrupt)
                elif self.way == "at the end" and self.rng.random() < 0.02:
                    loop.call_soon(self.interrupt)
                if self.way == "close" and time.monotonic() >= self.moment:
                    self._note_moment()
                    return
                if self.rng.random() < 0.2:
                    await asyncio.sleep(0)

    async def afterwards(self) -> None:
        """What was left behind, and the next question to the same agent."""
        agent, ended = self.agent, time.monotonic()
        self.hook.run = None
        self._judge_history()
        self._judge_session()
        before = msgspec.json.encode(agent.messages)
        count = len(agent.messages)
        try:
            async with asyncio.timeout(20):
                events = [event async for event in agent.run(GO_ON)]
                if not isinstance(events[-1], RunFinished) or str(events[-1]) != "Well.":
                    self._fault(f"the next run ended so: {events[-1]}")
                await agent.close()
        except Exception as error:
            self._fault(f"the next run raised {error!r}")
            return
        self._judge_session()
        if msgspec.json.encode(agent.messages[:count]) != before:
            self._fault("the history was changed afterwards")
        for request in self.went_on:
            for words in broken(self.target.rules, request):
                self._fault(f"the next request: {words}")
        if any(times > 1 for times in self.finished.values()):
            self._fault("a result was told twice")
        while (left := living(self.token)) and time.monotonic() < ended + GONE_SECONDS:  # noqa: ASYNC110 - a process
            await asyncio.sleep(0.05)
        if left:
            self._fault(f"{left} live on")
        self.server.plans.pop(self.conversation)
        if self.session is not None:
            self.session.close()
        self.trial.found.runs += 1

    def _judge_session(self) -> None:
        """What is written down is what is remembered."""
        if self.session is None or not any(message.role == "user" for message in self.agent.messages):
            return
        record = self.trial.store.read(self.session.id)
        if record.messages != self.agent.messages:
            self._fault(f"the session holds {record.messages}, and the agent {self.agent.messages}")
        if record.info.state not in ("finished", "interrupted", "failed"):
            self._fault(f"the session says {record.info.state!r}")

    def _judge_history(self) -> None:
        messages = self.agent.messages
        for words in wrongs_anywhere(messages):
            self._fault(f"the history: {words}")
        waiting: list[str] = []
        for message in messages:
            results = [part.id for part in message.parts if isinstance(part, ToolResultPart)]
            if results != waiting:
                self._fault(f"calls {waiting} answered by {results}")
            waiting = [call.id for call in message.tool_calls]
        if waiting:
            self._fault(f"calls {waiting} have no result")
        told = {part.id for message in messages for part in message.parts if isinstance(part, ToolResultPart)}
        if lost := set(self.finished) - told:
            self._fault(f"results of {sorted(lost)} were told and are not in the history")


_MOMENTS: dict[type[object], str] = {
    type(None): "before the answer",
    RunStarted: "before the answer",
    TurnStarted: "before the answer",
    SegmentEvent: "in the answer",
    RequestRetried: "in the pause of a retry",
}
"""Where a run is after its last event; otherwise it is at its calls."""

TOOLS = ("quick", "quick", "slow", "deaf", "thread", "child", "asked", "shown", "none such")
"""What the model calls; the last is no tool."""
