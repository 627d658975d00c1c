"""How fast a long run is taken up again, and that all who take it up ask the model for exactly the same."""

from __future__ import annotations

import asyncio
import hashlib
import time

import msgspec

from bench.trust import Found
from toolwire.durable.records import RunState

from .crew import TooLate, until
from .places import Places
from .subject import PLANS
from .trials import trial

_LIMIT = 1.0


def long_run(kind: str, count: int, seed: int) -> Found:
    """A run with `count` events that waits for an answer: the time from the answer until its tool is done."""
    found = Found(runs=1)

    async def one(places: Places) -> None:
        with places.new() as place:
            async with trial(place) as made:
                run = await made.submit("asked", pieces=count)
                made.crew.start()
                for _ in range(2000):
                    info = await made.runs.get(run.id)
                    if info.state is RunState.WAITING:
                        break
                    await asyncio.sleep(0.05)
                else:
                    raise TooLate(f"the run is {info.state}")
                if info.position < count:
                    found.fault(f"it has {info.position} events")
                began = time.monotonic()
                await made.answer()
                await until(made.records.effects, 60, "the effect")
                taken = time.monotonic() - began
                found.words = f"taken up in {taken * 1000:.0f} ms"
                if taken > _LIMIT:
                    found.fault(f"{kind}: it took {taken:.2f} s")

    with Places(kind) as places:
        try:
            asyncio.run(one(places))
        except TooLate as error:
            found.fault(str(error))
    return found


def same_requests(kind: str, count: int, seed: int) -> Found:
    """`count` forks of one run from its last step: each replays the rest of the record, and asks for the same bytes."""
    found = Found()

    async def one(places: Places) -> None:
        with places.new() as place:
            async with trial(place) as made:
                run = await made.submit("unasked")
                made.crew.start()
                made.crew.start()
                await made.over(keep=2)
                last = max(step.number for step in await made.runs.steps(run.id))
                for _ in range(count):
                    fork = await made.runs.fork(run.id, last)
                    made.plans[fork.id] = ""
                infos = await made.over(keep=2)
                states = {info.state for info in infos}
                if states != {RunState.FINISHED}:
                    found.fault(f"{kind}: the forks are {states}")
                turns = len(PLANS["unasked"])
                requests = [each for each in made.records.requests() if each.turn == turns]
                digests = {hashlib.sha256(msgspec.json.encode(each.messages)).hexdigest() for each in requests}
                # A worker that lost its lease on a busy machine leaves a request to be sent again.
                found.runs = len({each.run for each in requests} - {run.id})
                if len(digests) != 1:
                    found.fault(f"{kind}: {len(digests)} different requests")
                if found.runs != count:
                    found.fault(f"{kind}: {found.runs} of {count} forks asked")
                effects = {each.run for each in made.records.effects()}
                if effects != {run.id}:
                    found.fault(f"{kind}: a fork did the work of its run again")

    with Places(kind) as places:
        try:
            asyncio.run(one(places))
        except TooLate as error:
            found.fault(str(error))
    return found
