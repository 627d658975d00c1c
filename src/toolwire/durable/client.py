"""`Runs`: durable runs as any process sees them. It submits, watches, answers and steers; it works on none."""

from __future__ import annotations

import asyncio
import builtins
import os
import secrets
import time
from collections.abc import AsyncGenerator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import msgspec
import sqlalchemy as sa

from ..agent.bounds import Bounds
from ..agent.history import as_message
from ..agent.steps import ModelAnswer
from ..approval.request import Answer
from ..errors import ConfigError, DurableFailed
from ..messages import Message, Part
from .asked import Questions
from .database import Database, database_url, runs
from .dbos_engine import DbosEngine
from .engine import WAITING_QUEUE
from .following import follow
from .forking import as_recorded, copy_run
from .lease import roster
from .ledger import PAUSE, Ledger, Parent
from .records import DEFAULT_QUEUE, Question, RunEvent, RunInfo, RunSpec, RunState, StepInfo, WorkerInfo
from .steering import cancel, put, wake

_LETTERS = "0123456789abcdefghjkmnpqrstvwxyz"
"""Those of which none is taken for another."""
_ID_CHARACTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.")
_ID_LENGTH = 200
_PRUNED_AT_ONCE = 200
_PATIENCE = 120.0
"""Seconds that a person waits for a database that is away."""


class Runs:
    """The durable runs of one database. Use it as an async context manager."""

    def __init__(self, url: str | None = None) -> None:
        self._database = Database(database_url(os.environ, url))
        self._database.longest = _PATIENCE
        self._ledger = Ledger(self._database)
        self._questions = Questions(self._database)
        self._engine = DbosEngine(self._database)

    async def __aenter__(self) -> Runs:
        await self._database.thread(self._database.prepare)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Lets go of the database."""
        await self._database.thread(self._engine.close)
        self._database.close()

    @property
    def database(self) -> str:
        """Its address, without a password."""
        return self._database.shown

    async def submit(
        self,
        prompt: str | Message | Sequence[Part],
        *,
        agent: str = "toolwire",
        options: Mapping[str, Any] | None = None,
        queue: str = DEFAULT_QUEUE,
        priority: int = 0,
        timeout: float | None = None,  # noqa: ASYNC109 - of the run, not of this call
        history: Sequence[Message] = (),
        turn: int = 0,
        bounds: Bounds | None = None,
        id: str | None = None,
        parent: str = "",
    ) -> RunInfo:
        """Puts a run into a queue. With an `id`, the same twice is one run: what is there already is given back.

        It is ended as failed where it is not over `timeout` seconds after work on it began. Low priorities come first.
        """
        if queue == WAITING_QUEUE or not queue:
            raise ConfigError(f"no worker listens to the queue {queue!r}", hint="Name another one.")
        if priority < 0:
            raise ConfigError(f"{priority} is no priority", hint="0 comes first; give 0 or more.")
        if timeout is not None and not timeout > 0:
            raise ConfigError(f"{timeout:g} seconds are no time to work in", hint="Give more than 0.")
        id = _new_id() if id is None else _checked_id(id)
        spec = RunSpec(
            prompt=as_message(prompt),
            agent=agent,
            options=dict(options or {}),
            history=list(history),
            turn=turn,
            bounds=bounds,
        )
        return await self._database.thread(
            partial(
                put,
                self._ledger,
                self._engine,
                id,
                spec,
                queue=queue,
                priority=priority,
                timeout=timeout,
                parent=Parent(parent) if parent else None,
            )
        )

    async def gather(self, ids: Sequence[str]) -> builtins.list[RunInfo]:
        """How these runs stand when all of them are over, in this order."""
        return [await self.wait(id) for id in ids]

    async def get(self, id: str) -> RunInfo:
        """How a run stands; a beginning of its id that no other has is enough."""
        return await self._database.thread(self._find, id)

    async def list(
        self, *, states: Iterable[RunState] = (), queue: str | None = None, parent: str | None = None, limit: int = 50
    ) -> builtins.list[RunInfo]:
        """The newest first."""
        wanted = list(states)
        return await self._database.thread(
            lambda: self._ledger.newest(states=wanted, queue=queue, parent=parent, limit=limit)
        )

    async def spec(self, id: str) -> RunSpec:
        """What a run is to do."""
        return await self._database.thread(lambda: self._ledger.spec(self._find(id).id))

    async def steps(self, id: str) -> builtins.list[StepInfo]:
        """What is done of it."""
        return await self._database.thread(lambda: self._engine.steps(self._find(id).id))

    async def history(self, id: str) -> tuple[builtins.list[Message], int]:
        """The conversation of a run that is over, and how many requests it had: another run can go on from it."""

        def read() -> tuple[builtins.list[Message], int]:
            info = self._find(id)
            if not info.state.is_over:
                raise DurableFailed(
                    f"the conversation of {info.id} is not there yet: it is {info.state}",
                    hint="Wait for its end: toolwire runs follow.",
                    run=info.id,
                    state=str(info.state),
                )
            with _reading(info.id):
                spec = self._ledger.spec(info.id)
                wanted = sa.select(runs.c.conversation).where(runs.c.id == info.id)
                kept = self._database.do(lambda connection: connection.execute(wanted).scalar())
                if kept:
                    return msgspec.json.decode(kept, type=list[Message]), spec.turn + info.turns
                return as_recorded(spec, self._engine.records(info.id))

        return await self._database.thread(read)

    async def questions(self, id: str | None = None) -> builtins.list[Question]:
        """What waits for a person, the oldest first; of all runs that are not over, or of one."""

        def read() -> builtins.list[Question]:
            return self._questions.waiting(None if id is None else self._find(id).id)

        return await self._database.thread(read)

    async def follow(self, id: str, *, after: int = 0, until_over: bool = True) -> AsyncGenerator[RunEvent, None]:
        """Every event of a run behind a position, once and in order, also while it runs; until it is over."""
        run = (await self.get(id)).id
        async for event in follow(self._database, run, after=after, until_over=until_over):
            yield event

    async def answer(self, run: str, question: str, answer: Answer | str, *, digest: str | None = None) -> Question:
        """Answers what a run waits for, once: a call with an `Answer`, the model's own question with words.

        With the `digest` of what was shown, the answer holds for exactly that call.
        """
        return await self._database.thread(self._answer, run, question, answer, digest)

    def _answer(self, run: str, id: str, answer: Answer | str, digest: str | None) -> Question:
        info = self._find(run)
        asked, taken = self._questions.answer(info.id, id, answer, digest)
        if asked is None:
            raise DurableFailed(
                f"nothing waits for an answer to {id[:80]!r} in run {info.id}, which is {info.state}",
                hint=f"See what does: toolwire runs show {info.id}",
                run=info.id,
            )
        if not taken:
            raise _refused(asked, answer, digest)
        wake(self._ledger, self._engine, info.id)
        return asked

    async def cancel(self, id: str) -> RunInfo:
        """Ends a run, and those that it started; a tool that runs is stopped."""

        def do() -> RunInfo:
            info = self._find(id)
            cancel(self._ledger, self._engine, info)
            return self._exactly(info.id)

        return await self._database.thread(do)

    async def pause(self, id: str) -> RunInfo:
        """Lets a run stand still when the steps that run now have ended."""

        def pause() -> RunInfo:
            info = self._find(id)
            if info.state.is_over or info.state is RunState.PAUSED:
                raise DurableFailed(f"the run is {info.state}", hint="There is nothing to pause.", run=info.id)
            if not self._ledger.want(info.id, PAUSE) and self._ledger.stop(info.id, RunState.PAUSED):
                self._engine.move(info.id, WAITING_QUEUE)
            return self._exactly(info.id)

        return await self._database.thread(pause)

    async def resume(self, id: str) -> RunInfo:
        """Goes on with a run that stands still. One that failed goes on as another run, from the step that failed.

        Gives the run that goes on.
        """
        return await self._database.thread(self._resume, id)

    def _resume(self, id: str) -> RunInfo:
        info = self._find(id)
        if info.state is RunState.FAILED:
            return self._fork(info, self._failed_step(info.id))
        if not self._ledger.queue_again(info.id):
            raise DurableFailed(
                f"the run is {info.state}",
                hint="Only one that is paused, cancelled, refused or failed can be resumed.",
                run=info.id,
                state=str(info.state),
            )
        self._engine.move(info.id, info.queue)
        return self._exactly(info.id)

    async def fork(self, id: str, step: int) -> RunInfo:
        """A new run that goes on from a step of another one (`steps` has the numbers), with all that was before it."""
        return await self._database.thread(lambda: self._fork(self._find(id), step))

    def _fork(self, info: RunInfo, step: int) -> RunInfo:
        steps = self._engine.steps(info.id)
        last = steps[-1].number if steps else 0
        if not 1 <= step <= last + 1:
            raise DurableFailed(
                f"run {info.id} has no step {step}",
                hint=f"Give one from 1 to {last + 1}; toolwire runs show lists them.",
                run=info.id,
            )
        new = _new_id()
        # Where this is lost in between, nobody is given a run without the steps that it should have.
        self._engine.fork(info.id, new, step, info.priority)
        copy_run(self._database, self._ledger, info, new, steps, step)
        self._engine.move(new, info.queue)
        return self._exactly(new)

    def _failed_step(self, run: str) -> int:
        """The last answer, where it is an error; else what would come next."""
        steps = self._engine.steps(run)
        if not steps:
            return 1
        last = steps[-1]
        if last.name.startswith("answer "):
            record = self._engine.records(run).get(last.name)
            with _reading(run):
                if record is None or msgspec.json.decode(record, type=ModelAnswer).error is not None:
                    return last.number
        return last.number + 1

    async def wait(self, id: str) -> RunInfo:
        """How a run stands when it is over."""
        info = await self.get(id)
        pause = 0.05
        while not info.state.is_over:
            await asyncio.sleep(pause)
            pause = min(pause * 1.5, 1.0)
            info = await self.get(info.id)
        return info

    async def workers(self) -> builtins.list[WorkerInfo]:
        """Who works, the oldest first; also who did lately."""
        return await self._database.use(roster)

    async def prune(self, *, older_than: float) -> int:
        """Forgets runs that have been over for longer than this many seconds; how many.

        Those that another one started are kept for as long as that one is.
        """

        def prune() -> int:
            before, count = time.time() - older_than, 0
            # First the rows that say whether a run is over: one that is resumed meanwhile stays whole.
            while ids := self._ledger.forget(before, _PRUNED_AT_ONCE):
                self._engine.forget(ids)
                count += len(ids)
            return count

        return await self._database.thread(prune)

    def _exactly(self, id: str) -> RunInfo:
        info = self._ledger.get(id)
        if info is None:
            raise DurableFailed(f"there is no run {id}", hint="toolwire runs list shows those that are.", run=id)
        return info

    def _find(self, id: str) -> RunInfo:
        if info := self._ledger.get(id):
            return info
        found = self._ledger.beginning(id) if id else []
        if len(found) == 1:
            return found[0]
        what = "more than one run begins" if found else "there is no run that begins"
        raise DurableFailed(f"{what} with {id[:80]!r}", hint="toolwire runs list shows those that are.", run=id[:80])


@contextmanager
def _reading(run: str) -> Iterator[None]:
    """What is written of the run is read here, and may be damaged, or not Toolwire's."""
    try:
        yield
    except msgspec.MsgspecError as error:
        raise DurableFailed(
            f"what is recorded of {run} cannot be read: {error}",
            hint="It was written by another Toolwire, or damaged. Submit it again.",
            run=run,
        ) from None


def _refused(asked: Question, answer: Answer | str, digest: str | None) -> DurableFailed:
    if asked.answered is not None:
        who = "" if asked.answer is None else f" by {asked.answer.who}"
        said = "" if asked.answer is None else f": {'yes' if asked.answer.allowed else 'no'}"
        return DurableFailed(f"it was answered already{who}{said}", run=asked.run, question=asked.id)
    if digest is not None and digest != asked.digest:
        return DurableFailed(
            "the call is not the one that was shown",
            hint="Look at it again: it was asked anew, with what holds now.",
            run=asked.run,
            question=asked.id,
        )
    wanted = "words" if asked.request is None else "a yes or a no"
    given = "a yes or a no" if isinstance(answer, Answer) else "words"
    return DurableFailed(f"it waits for {wanted}, not for {given}", run=asked.run, question=asked.id)


def _new_id() -> str:
    return "r-" + "".join(secrets.choice(_LETTERS) for _ in range(12))


def _checked_id(id: str) -> str:
    if not 1 <= len(id) <= _ID_LENGTH or not _ID_CHARACTERS.issuperset(id):
        raise ConfigError(f"{id[:80]!r} is no id of a run", hint=f"Give 1 to {_ID_LENGTH} of A-Z a-z 0-9 - _ and dot.")
    return id
