"""One trial: runs, their readers, whoever answers their questions, and workers that are killed meanwhile."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Any

import sqlalchemy as sa

from toolwire.approval.request import Answer
from toolwire.durable.asked import as_question
from toolwire.durable.client import Runs
from toolwire.durable.database import Database, questions
from toolwire.durable.records import RunEvent, RunInfo
from toolwire.errors import ToolwireError

from .checks import faults, of_reader
from .crew import Crew, TooLate, until
from .places import Place
from .subject import AGENT, Records

LONGEST = 90.0
"""Seconds after which a run that is not over is one that hangs."""
AT_ONCE = 4
"""Trials side by side: most of their time is spent waiting for a worker to be declared dead."""


class Trial:
    """What is watched of one database."""

    def __init__(self, place: Place, runs: Runs, crew: Crew) -> None:
        self.place = place
        self.runs = runs
        self.crew = crew
        self.records = Records(place.folder)
        self.seen: dict[str, list[RunEvent]] = {}
        self.plans: dict[str, str] = {}
        self._readers: list[asyncio.Task[None]] = []

    async def submit(self, plan: str, **options: Any) -> RunInfo:
        """A new run, and someone who reads its events from the start."""
        run = await self.runs.submit("Go on", agent=AGENT, options={"plan": plan, **options})
        self.plans[run.id] = plan
        self.seen[run.id] = []
        self._readers.append(asyncio.create_task(self._read(run.id)))
        return run

    async def _read(self, id: str) -> None:
        # A run may be over and go on: someone resumes it.
        async for event in self.runs.follow(id, until_over=False):
            self.seen[id].append(event)

    async def answer(self, allowed: bool = True) -> int:
        """Answers all questions that stand; how many there were."""
        count = 0
        for question in await self.runs.questions():
            # Someone else may have been faster.
            with suppress(ToolwireError):
                await self.runs.answer(
                    question.run, question.id, Answer(allowed=allowed, who="person"), digest=question.digest
                )
                count += 1
        return count

    async def over(self, *, keep: int, seconds: float = LONGEST, **settings: Any) -> list[RunInfo]:
        """Waits until all runs are over; questions are answered, and there are always `keep` workers."""
        latest = time.monotonic() + seconds
        while True:
            infos = [await self.runs.get(id) for id in self.plans]
            if all(info.state.is_over for info in infos):
                return infos
            if time.monotonic() > latest:
                raise TooLate(
                    f"after {seconds:g} s: {[self._stands(info) for info in infos if not info.state.is_over]}"
                )
            if any(info.questions for info in infos):
                await self.answer()
            for _ in range(keep - len(self.crew.living())):
                self.crew.start(**settings)
            await asyncio.sleep(0.05)

    def _stands(self, info: RunInfo) -> str:
        said = [self.crew.said(process).strip()[-300:] for process in self.crew.all]
        return f"{info.id} {info.state} attempt {info.attempt} worker {info.worker!r}; workers said {said}"

    async def faults(self) -> list[str]:
        """What is wrong with runs that are over, with what their readers saw, and with the records of their steps."""
        found: list[str] = []
        for id, seen in self.seen.items():
            last = (await self.runs.get(id)).position
            try:
                await until(partial(_has, seen, last), 20, "the last event")
            except TooLate:
                found.append(f"{id}: the reader saw {seen[-1].position if seen else 0} events of {last}")
        found += [f"a reader failed: {task.exception()!r}" for task in self._readers if task.done()]
        for id, plan in self.plans.items():
            log = [event async for event in self.runs.follow(id)]
            info = await self.runs.get(id)
            found += [f"{id}: {words}" for words in faults(info, plan, self.records, log)]
            found += [f"{id}: {words}" for words in of_reader(self.seen.get(id, log), log)]
        return found

    def close(self) -> None:
        """Ends all readers."""
        for task in self._readers:
            task.cancel()


def _has(seen: list[RunEvent], position: int) -> bool:
    return bool(seen) and seen[-1].position >= position


@asynccontextmanager
async def trial(place: Place, **settings: Any) -> AsyncIterator[Trial]:
    """A trial in this place; `settings` are those of its workers."""
    async with Runs(place.url) as runs, Crew(place, **settings) as crew:
        made = Trial(place, runs, crew)
        try:
            yield made
        finally:
            made.close()


def recorded(place: Place) -> dict[tuple[str, int, str], str]:
    """All steps that the engine has recorded, by run, number and name."""
    database = Database(place.url)
    table = "operation_outputs" if database.is_sqlite else "dbos.operation_outputs"
    wanted = sa.text(f"SELECT workflow_uuid, function_id, function_name, output FROM {table}")

    def work(connection: sa.Connection) -> dict[tuple[str, int, str], str]:
        return {(row[0], row[1], row[2]): row[3] for row in connection.execute(wanted)}

    try:
        return database.do(work)
    finally:
        database.close()


def lost_records(before: dict[tuple[str, int, str], str], after: dict[tuple[str, int, str], str]) -> Iterator[str]:
    """The steps that were recorded and are not any more, or otherwise."""
    for key, output in before.items():
        if after.get(key) != output:
            yield f"the record of step {key} was {output!r} and is {after.get(key)!r}"


def answers(place: Place) -> dict[tuple[str, str], bool]:
    """All answers that stand, by run and call: whether it may run."""
    database = Database(place.url)

    def work(connection: sa.Connection) -> dict[tuple[str, str], bool]:
        rows = connection.execute(sa.select(questions).where(questions.c.answered.is_not(None)))
        found = {}
        for row in rows:
            answer = as_question(row).answer
            assert answer is not None
            found[row.run, row.id] = answer.allowed
        return found

    try:
        return database.do(work)
    finally:
        database.close()


async def many(
    work: Callable[[int], Coroutine[Any, Any, bool]], numbers: Iterator[int], at_once: int = AT_ONCE
) -> None:
    """Does it with one number after the other, some at a time, until one gives False or there are no more."""
    going = True

    async def one() -> None:
        nonlocal going
        for number in numbers:
            if not going:
                return
            if not await work(number):
                going = False

    async with asyncio.TaskGroup() as group:
        for _ in range(at_once):
            group.create_task(one())
