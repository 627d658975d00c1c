"""kill -9 at every moment of a run, and at any: no effect twice, no finished result lost, every run ends."""

from __future__ import annotations

import asyncio
import itertools
import random
import signal
import time
from collections import Counter

from bench.trust import Found
from toolwire.durable.records import RunState

from .checks import UNKNOWN
from .crew import TooLate
from .places import Places
from .trials import Trial, lost_records, many, recorded, trial

LONGEST_END = 5.0
"""Seconds for a worker whose steps take a fraction of one."""
MOST = 400
"""More moments than a run has."""


def every_moment(kind: str, count: int, seed: int) -> Found:
    """Killed at each moment of one run; another worker, which is killed as well in every third trial, ends it.

    `count` is how many moments are left out between two, 0: none.
    """
    found = Found()
    labels: Counter[str] = Counter()
    rng = random.Random(seed)
    with Places(kind) as places:

        async def one(at: int) -> bool:
            with places.new() as place:
                async with trial(place) as made:
                    hit, words = await killed_at(made, at, again=rng.randrange(1, 60) if at % 3 == 0 else 0)
            found.runs += bool(hit)
            labels[plain(hit)] += bool(hit)
            for fault in words:
                found.fault(f"{kind}, killed at moment {at} ({hit}): {fault}")
            return bool(hit)

        asyncio.run(many(one, iter(range(1, MOST, count + 1))))
    labels.pop("", None)
    found.words = "; ".join(f"{times} {label}" for label, times in sorted(labels.items()))
    return found


def plain(label: str) -> str:
    """The kind of a moment: without the name of what was done."""
    words = label.removesuffix(" HIT").split()
    if len(words) == 3 and words[2] in ("before", "after"):
        return f"{words[2]} a tool's work"
    return " ".join(word for word in words if not word.isdecimal())


async def killed_at(made: Trial, at: int, *, again: int) -> tuple[str, list[str]]:
    """One run whose first worker is killed at this moment; gives the moment in words, and what was wrong."""
    crew = made.crew
    await made.submit("all")
    first = crew.start(at=at)
    try:
        # Answered at once, or when the run was parked.
        await _dead_or_over(made, parked=at // 2 % 2 == 1)
        before = recorded(made.place)
        if first.is_alive():
            await crew.end(first)
            hit = ""
        else:
            hit = crew.moments(first)[-1]
            if again:
                crew.start(at=again)
                await _dead_or_over(made)
            await made.over(keep=1)
        words = await made.faults()
    except TooLate as error:
        return "a moment" if first.is_alive() else crew.moments(first)[-1], [str(error)]
    return hit, [*words, *lost_records(before, recorded(made.place))]


async def _dead_or_over(made: Trial, *, parked: bool = False, seconds: float = 60.0) -> None:
    """Waits until no worker lives or all is over; answers what is asked."""
    for _ in range(int(seconds / 0.05)):
        infos = [await made.runs.get(id) for id in made.plans]
        if not made.crew.living() or all(info.state.is_over for info in infos):
            return
        if any(info.questions and (not parked or info.state is RunState.WAITING) for info in infos):
            await made.answer()
        await asyncio.sleep(0.05)
    raise TooLate(f"neither death nor end in {seconds:g} s: {[(info.id, info.state) for info in infos]}")


def deploys(kind: str, count: int, seed: int) -> Found:
    """`count` workers ended by SIGTERM at random moments and replaced: each effect exactly once, nothing unknown."""
    found = Found()
    rng = random.Random(seed)
    slowest = 0.0
    runs = 0

    async def end(made: Trial) -> None:
        nonlocal slowest
        for _ in range(6):
            await asyncio.sleep(rng.uniform(0.1, 0.8))
            if living := made.crew.living():
                began = time.monotonic()
                # One that is not up yet knows no other end than to die of it.
                if await made.crew.end(rng.choice(living)) not in (0, -signal.SIGTERM):
                    found.fault(f"{kind}: a worker that was told to end did not end well")
                slowest = max(slowest, time.monotonic() - began)
                if slowest > LONGEST_END:
                    found.fault(f"{kind}: a worker took {slowest:.1f} s to end")
                found.runs += 1

    async def one(places: Places) -> None:
        nonlocal runs
        with places.new() as place:
            async with trial(place, concurrency=4) as made:
                for _ in range(8):
                    await made.submit(rng.choice(("all", "unasked", "two")), pause=0.02, tool=0.1)
                runs += len(made.plans)
                ending = asyncio.create_task(end(made))
                try:
                    await made.over(keep=2)
                    await ending
                    words = await made.faults()
                except TooLate as error:
                    words = [str(error)]
                    ending.cancel()
                told = "".join(str(request.messages) for request in made.records.requests())
                if UNKNOWN in told:
                    words.append("a call is unknown although no worker was lost")
        for fault in words:
            found.fault(f"{kind}: {fault}")

    with Places(kind) as places:
        while found.runs < count and not found.faults:
            asyncio.run(one(places))
    found.words = f"{runs} runs, all ended; a worker ended after {slowest:.1f} s at most"
    return found


def any_moment(kind: str, count: int, seed: int) -> Found:
    """`count` kills at random moments: 2 to 4 workers, several runs at once, workers restarted until all is over."""
    found = Found()
    rng = random.Random(seed)
    kills = itertools.count()
    runs = 0
    with Places(kind) as places:

        async def one(number: int) -> bool:
            nonlocal runs
            try:
                with places.new() as place:
                    async with trial(place, concurrency=3) as made:
                        workers = rng.randint(2, 4)
                        for _ in range(rng.randint(3, 6)):
                            await made.submit(rng.choice(("all", "unasked", "two")), pause=rng.choice((0, 0.005, 0.02)))
                        runs += len(made.plans)
                        killing = asyncio.create_task(_kill(made, rng, rng.randint(3, 6)))
                        await made.over(keep=workers)
                        await killing
                        words = await made.faults()
            except TooLate as error:
                words = [str(error)]
            for fault in words:
                found.fault(f"{kind}, trial {number} of seed {seed}: {fault}")
            return found.runs < count

        async def _kill(made: Trial, rng: random.Random, times: int) -> None:
            for _ in range(times):
                await asyncio.sleep(rng.uniform(0.1, 1.2))
                if all([(await made.runs.get(id)).state.is_over for id in made.plans]):
                    return
                if living := made.crew.living():
                    made.crew.kill(rng.choice(living))
                    found.runs += 1

        asyncio.run(many(one, kills, at_once=2))
    found.words = f"{runs} runs, all ended"
    return found
