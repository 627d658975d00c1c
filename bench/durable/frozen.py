"""Workers that are stopped past their lease and woken again: they find that they lost all, and do nothing more.

A worker that is stopped inside a transaction holds what it had locked. PostgreSQL ends such a transaction, so that the
others go on; an SQLite file is locked as a whole, so that all wait until it is woken, and then all go on.
"""

from __future__ import annotations

import asyncio
import random
import sqlite3
from collections import Counter

from bench.trust import Found

from .checks import faults
from .crew import TooLate
from .kills import MOST, plain
from .places import Places
from .subject import PLANS
from .trials import Trial, lost_records, many, recorded, trial

WAKING = 30.0
"""Seconds in which a worker that was woken must work again."""


def every_moment(kind: str, count: int, seed: int) -> Found:
    """Frozen at each moment of one run (`count` are left out between two), while another worker ends the run."""
    found = Found()
    labels: Counter[str] = Counter()
    rng = random.Random(seed)
    with Places(kind) as places:

        async def one(at: int) -> bool:
            with places.new() as place:
                async with trial(place) as made:
                    try:
                        hit, words = await frozen_at(made, at)
                    except TooLate as error:
                        hit, words = made.crew.moments(made.crew.all[0])[-1], [str(error)]
            found.runs += bool(hit)
            labels[plain(hit)] += bool(hit)
            for fault in words:
                found.fault(f"{kind}, frozen at moment {at} ({hit}): {fault}")
            return bool(hit)

        asyncio.run(many(one, iter(range(rng.randint(1, count + 1), MOST, count + 1))))
    labels.pop("", None)
    found.words = f"at {len(labels)} kinds of moments"
    return found


async def frozen_at(made: Trial, at: int) -> tuple[str, list[str]]:
    """One run whose first worker is frozen at this moment and woken when the second has ended the run."""
    crew, runs = made.crew, made.runs
    run = await made.submit("all")
    first = crew.start(at=at, freeze=True)
    if not await _frozen_or_over(made):
        return "", []
    hit = crew.moments(first)[-1]
    lives = {worker.id for worker in await runs.workers() if worker.pid == first.pid}
    if made.place.kind == "sqlite" and _is_locked(made.place.url):
        crew.start()
        await asyncio.sleep(2.5)
        crew.wake(first)
        await made.over(keep=2)
        return hit, await made.faults()
    second = crew.start()
    await made.over(keep=2)
    await _lost(made, lives)
    words = await made.faults()
    log = [event async for event in runs.follow(run.id)]
    info, steps = await runs.get(run.id), recorded(made.place)
    requests = len(made.records.requests())
    crew.wake(first)
    await _works_again(made, first.pid, lives)
    if await runs.get(run.id) != info:
        words.append(f"the run was changed by whoever had lost it: {info} and {await runs.get(run.id)}")
    if [event async for event in runs.follow(run.id)] != log:
        words.append("whoever had lost the run told more of it")
    if len(made.records.requests()) != requests:
        words.append("whoever had lost the run asked the model")
    words += lost_records(steps, recorded(made.place))
    words += faults(info, "all", made.records, log)
    await crew.end(second)
    await made.submit("unasked")
    await made.over(keep=1)
    words += await made.faults()
    if {each.process for each in made.records.requests()[-len(PLANS["unasked"]) :]} != {first.pid}:
        words.append("the worker that was woken does not work")
    return hit, words


def _is_locked(url: str) -> bool:
    """Whether someone, such as a process that stands still, is in the middle of a write to the file."""
    connection = sqlite3.connect(url.removeprefix("sqlite:///"), timeout=0.5, isolation_level=None)
    try:
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("ROLLBACK")
    except sqlite3.OperationalError:
        return True
    finally:
        connection.close()
    return False


async def _frozen_or_over(made: Trial) -> bool:
    first = made.crew.all[0]
    answering: asyncio.Task[int] | None = None
    while True:
        infos = [await made.runs.get(id) for id in made.plans]
        if all(info.state.is_over for info in infos):
            return False
        if any(info.questions for info in infos) and (answering is None or answering.done()):
            # Not waited for: whoever is frozen may hold the file that it is written to.
            answering = asyncio.create_task(made.answer())
        try:
            return await made.crew.frozen(first, 0.2)
        except TooLate:
            continue


async def _lost(made: Trial, lives: set[str]) -> None:
    """Waits until the others have declared all these lives lost."""
    for _ in range(int(WAKING / 0.05)):
        if not any(worker.id in lives and worker.state == "alive" for worker in await made.runs.workers()):
            return
        await asyncio.sleep(0.05)
    raise TooLate(f"a worker that is frozen was not declared lost in {WAKING:g} s")


async def _works_again(made: Trial, pid: int | None, lives: set[str]) -> None:
    """Waits until the worker of this process has a new life."""
    for _ in range(int(WAKING / 0.05)):
        workers = await made.runs.workers()
        if any(worker.pid == pid and worker.id not in lives and worker.state == "alive" for worker in workers):
            return
        await asyncio.sleep(0.05)
    raise TooLate(f"the worker that was woken did not come back in {WAKING:g} s: {made.crew.said(made.crew.all[0])}")
