"""`AttachedRun`: a durable run that a chat looks at. It goes on without the chat, wherever its worker is."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing, suppress
from typing import TYPE_CHECKING

import msgspec

from ..agent.events import AgentEvent, ApprovalAnswered, RunEnd, RunFailed, RunInterrupted, RunStarted
from ..approval.hidden import marked
from ..approval.request import Answer
from ..cli.runs_open import check_extra, who
from ..cli.runs_shown import as_it_is
from ..errors import ConfigError, ToolwireError
from ..messages import Message, Part
from ..tasks import create_lazy_task
from .commands.layout import cells, code
from .desk import Desk
from .retelling import retold_messages

if TYPE_CHECKING:
    from ..durable.client import Runs
    from ..durable.records import Question, RunEvent, RunInfo, RunSpec

_LOOK_SECONDS = 0.5
"""Between two looks at how the run stands and what it asks."""
_PATIENCE = 1.0
"""Seconds for which an event that is known to be there is waited for before the screen is shown without it."""
_BEHIND = 4
"""Looks for which a question waits until all that came before it is shown."""
_UNTAKEN = 4
"""Looks at a run that no worker takes before it is asked whether there is one."""

_GONE = "closed"
"""Who answers where the screen is gone: nobody, and so the question stays."""

_Key = tuple[str, str]
"""Of a question: its call, and the digest of what would run."""


def open_runs(url: str | None) -> Runs:
    """The runs of a database; nothing of the engine is loaded before."""
    check_extra()
    from ..durable.client import Runs

    return Runs(url)


class AttachedRun:
    """One run, from its first event; and after its end the run that goes on with what the person says next.

    What it tells comes from `run`, as it does from an agent. What it asks is asked at the desk while `run` is taken
    from: an answer holds for exactly the call that was shown, and a question that someone else answers goes away.
    Nothing that happens to the chat ends the run.
    """

    def __init__(self, runs: Runs, info: RunInfo, spec: RunSpec, desk: Desk) -> None:
        self.info = info
        """How it stood when it was last looked at."""
        self.spec = spec
        self.model = ""
        """Who answers in it, as `PROVIDER:MODEL`; empty until it is told."""
        self.left = False
        """The person wants to see no more of it."""
        self.desk = desk
        self._runs = runs
        self._position = 0
        self._leaving = asyncio.Event()
        self._asking: dict[_Key, tuple[Question, asyncio.Task[None]]] = {}
        self._settled: set[_Key] = set()
        """Questions that were answered here, or left open on purpose."""
        self._elsewhere: dict[str, str] = {}
        """Calls whose question was answered elsewhere, and their tools; who it was comes later."""
        self._untaken = 0

    @property
    def id(self) -> str:
        """Of the run."""
        return self.info.id

    @property
    def is_over(self) -> bool:
        """Whether nothing more happens in it."""
        return self.info.state.is_over

    @property
    def left_words(self) -> str:
        """What a person should know who looks at it no more."""
        what = f"You look at run {code(self.id)} no more"
        if self.is_over:
            return f"{what}. {code(f'/attach {self.id}')} shows it again."
        return f"{what}. It goes on. {code(f'/attach {self.id}')} comes back; {code(f'/cancel {self.id}')} ends it."

    async def past(self) -> AsyncGenerator[Message | AgentEvent, None]:
        """The conversation before, the question, and all that was told until now."""
        for said in retold_messages(self.spec.history):
            yield said
        yield self.spec.prompt
        self._position = 0
        last: AgentEvent | None = None
        async with aclosing(self._told(until=self.info.position)) as events:
            async for last in events:
                yield last
        if self.is_over:
            if not isinstance(last, RunEnd) and (end := self._end()) is not None:
                yield end
            self._say_over()

    async def run(self, question: str | Message | Sequence[Part]) -> AsyncGenerator[AgentEvent, None]:
        """Everything that comes from here on. A question begins a new run first; an empty one asks nothing.

        The last event is a `RunEnd`, unless the person left before.
        """
        if self._leaving.is_set():
            return
        if question:
            await self._go_on(question)
        watching = asyncio.create_task(self._watch())
        last: AgentEvent | None = None
        try:
            async with aclosing(self._told()) as events:
                async for last in events:
                    yield last
                    if isinstance(last, ApprovalAnswered):
                        self._heard(last)
        finally:
            await self._stop_asking(watching)
        if self.left:
            return
        self.info = await self._runs.get(self.id)
        if not isinstance(last, RunEnd) and (end := self._end()) is not None:
            yield end
        self._say_over()

    def leave(self) -> None:
        """Looks no more. The run goes on, and its questions wait."""
        self.left = True
        self._leaving.set()
        self._take_back()

    # What is told

    async def _told(self, until: int | None = None) -> AsyncGenerator[AgentEvent, None]:
        """The events behind the last one, each once; up to a position that is known to be reached, or to the end."""
        from ..durable.records import AttemptWithdrawn

        async with aclosing(self._runs.follow(self.id, after=self._position)) as following:
            async for told in _until_left(following, self._leaving, None if until is None else _PATIENCE):
                self._position = told.position
                event = told.event
                if isinstance(event, AttemptWithdrawn):
                    self.desk.withdraw(event.turn, event.id)
                else:
                    if isinstance(event, RunStarted):
                        self.model = f"{event.provider}:{event.model}"
                    yield event
                if until is not None and told.position >= until:
                    return

    def _end(self) -> RunEnd | None:
        """The end of a run that told none: it was ended by someone else than its worker."""
        from ..durable.records import RunState

        info = self.info
        if info.state is RunState.CANCELLED:
            return RunInterrupted(info.turns, info.usage)
        if info.error is not None:
            return RunFailed(info.error, info.turns, info.usage)
        return None

    def _say_over(self) -> None:
        if self.is_over:
            self.desk.say(
                f"Run {code(self.id)} is {self.info.state}. What you type now goes on from here, as a new durable "
                f"run; `/detach` goes back to your own conversation."
            )

    async def _go_on(self, question: str | Message | Sequence[Part]) -> None:
        """A new run, with all that was said so far and one more question."""
        info, spec = await self._runs.get(self.id), self.spec
        if not info.state.is_over:
            raise ConfigError(
                f"run {self.id} is {info.state}, and takes no question before its end",
                hint=f"/attach {self.id} follows it.",
            )
        history, turn = await self._runs.history(self.id)
        begun = await self._runs.submit(
            question,
            agent=spec.agent,
            options=spec.options,
            queue=info.queue,
            priority=info.priority,
            history=history,
            turn=turn,
            bounds=spec.bounds,
        )
        self.spec = await self._runs.spec(begun.id)
        self.info, self._position, self._untaken = begun, 0, 0
        self._settled.clear()
        self.desk.say(f"This is run {code(self.id)}: it goes on also when you leave.")

    # What is asked

    async def _watch(self) -> None:
        """Looks how the run stands and what it asks, again and again."""
        from ..durable.records import RunState

        asking, behind = (RunState.RUNNING, RunState.WAITING), 0
        try:
            while True:
                before = self.info = await self._runs.get(self.id)
                # What is asked about is told first.
                behind = behind + 1 if self._position < before.position else 0
                if self._asking or (before.questions and not 0 < behind < _BEHIND):
                    waiting = await self._runs.questions(self.id)
                    self.info = await self._runs.get(self.id)
                    # Of a run that changes hands no question is listed for a moment, and none was answered.
                    if (before.state, before.attempt) == (
                        self.info.state,
                        self.info.attempt,
                    ) and before.state in asking:
                        self._show(waiting)
                await self._look_for_workers()
                await asyncio.sleep(_LOOK_SECONDS)
        except ToolwireError as error:
            self.desk.problem(f"the run's questions cannot be seen: {error.message}", error.hint)

    def _show(self, waiting: Sequence[Question]) -> None:
        """Asks what is asked now, and takes back what is not asked any more."""
        asked = {(each.id, each.digest): each for each in waiting}
        for key, (question, task) in list(self._asking.items()):
            if key not in asked and key not in self._settled:
                del self._asking[key]
                task.cancel()
                if question.request is not None:
                    self._elsewhere[question.id] = question.request.invocation.tool_name
                elif not self.is_over:
                    self.desk.say("The model's question was answered elsewhere.")
        for key, question in asked.items():
            if key not in self._asking and key not in self._settled:
                self._asking[key] = question, create_lazy_task(self._ask(key, question))

    async def _ask(self, key: _Key, question: Question) -> None:
        person = self.desk.run_person
        answer: Answer | str
        if question.request is not None:
            given = await person(as_it_is(question.request))
            if given.who == _GONE:
                return
            answer = msgspec.structs.replace(given, who=who())
        else:
            answer = await person.ask_person(question.question, question.options)
        self._settled.add(key)
        try:
            if answer:
                await self._runs.answer(self.id, question.id, answer, digest=question.digest)
            elif not self.left:
                self.desk.say(f"The question stays open: {code(f'/attach {self.id}')} asks it again.")
        except ToolwireError as error:
            self.desk.problem(error.message, error.hint)
            self._settled.discard(key)
        finally:
            self._asking.pop(key, None)

    def _heard(self, event: ApprovalAnswered) -> None:
        """A call's question has its answer: if not from here, who gave it is said, and nobody is asked any more."""
        tool = self._elsewhere.pop(event.id, "")
        for key, (question, task) in list(self._asking.items()):
            if question.id == event.id and key not in self._settled and question.request is not None:
                del self._asking[key]
                task.cancel()
                tool = question.request.invocation.tool_name
        if tool:
            said = "allowed" if event.allowed else "denied"
            self.desk.say(f"{cells(marked(tool), 100)} was {said} elsewhere, by {cells(marked(event.who), 100)}.")

    def _take_back(self) -> None:
        """Questions that nobody has answered wait for whoever looks next. An answer that was given is sent."""
        for key, (_, task) in self._asking.items():
            if key not in self._settled:
                task.cancel()

    async def _stop_asking(self, watching: asyncio.Task[None]) -> None:
        watching.cancel()
        self._take_back()
        tasks = [watching, *(task for _, task in self._asking.values())]
        self._asking.clear()
        for task in tasks:
            with suppress(asyncio.CancelledError):
                await task

    async def _look_for_workers(self) -> None:
        """Says once that a run which nobody takes has nobody who could."""
        from ..durable.records import RunState

        self._untaken = self._untaken + 1 if self.info.state is RunState.QUEUED else 0
        if self._untaken != _UNTAKEN:
            return
        queue = self.info.queue
        if not any(each.state == "alive" and queue in each.queues for each in await self._runs.workers()):
            self.desk.problem(f"no worker is there for the queue {marked(queue)[:100]}", "Start one: toolwire worker")


async def _until_left(
    events: AsyncGenerator[RunEvent, None], left: asyncio.Event, patience: float | None
) -> AsyncIterator[RunEvent]:
    """The events until there are none, or the person leaves, or nothing comes for so long."""
    leaving = asyncio.ensure_future(left.wait())
    try:
        while True:
            coming = asyncio.ensure_future(anext(events, None))
            try:
                await asyncio.wait((coming, leaving), timeout=patience, return_when=asyncio.FIRST_COMPLETED)
            finally:
                if not coming.done():
                    coming.cancel()
                    await asyncio.wait((coming,))
            if coming.cancelled() or (told := coming.result()) is None or left.is_set():
                return
            yield told
    finally:
        leaving.cancel()
