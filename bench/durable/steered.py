"""Runs that are paused, resumed, cancelled and forked at random moments, and workers of other versions."""

from __future__ import annotations

import asyncio
import random
from collections import Counter

from bench.trust import Found
from toolwire.durable.records import RunState
from toolwire.errors import ToolwireError

from .checks import faults
from .crew import TooLate
from .places import Places
from .subject import EFFECTS
from .trials import Trial, many, trial


def steered(kind: str, count: int, seed: int) -> Found:
    """`count` runs, each paused, resumed, cancelled, forked, and its worker killed, one to four times."""
    found = Found()
    rng = random.Random(seed)
    done: Counter[str] = Counter()

    async def one(made: Trial) -> list[str]:
        run = await made.submit("all", pause=0.01, tool=0.05)
        words = []
        for _ in range(rng.randint(1, 4)):
            await asyncio.sleep(rng.uniform(0.0, 0.8))
            what = rng.choice(("pause", "cancel", "kill", "fork"))
            try:
                if what == "kill":
                    if living := made.crew.living():
                        made.crew.kill(rng.choice(living))
                elif what == "fork":
                    steps = await made.runs.steps(run.id)
                    if not steps:
                        continue
                    fork = await made.runs.fork(run.id, rng.choice(steps).number)
                    made.plans[fork.id] = ""
                else:
                    await (made.runs.pause(run.id) if what == "pause" else made.runs.cancel(run.id))
                    still = RunState.PAUSED if what == "pause" else RunState.CANCELLED
                    info = await _stands_still(made, run.id, still)
                    if info is not None:
                        words += await _stays(made, run.id)
                        await made.runs.resume(run.id)
                done[what] += 1
            except ToolwireError as error:
                # A run that is over by now is refused, and that is said.
                if not (await made.runs.get(run.id)).state.is_over:
                    words.append(f"{what}: {error}")
        return words

    async def _stands_still(made: Trial, id: str, still: RunState) -> RunState | None:
        for _ in range(400):
            info = await made.runs.get(id)
            if info.state is still:
                return still
            if info.state.is_over:
                return None
            if info.questions:
                await made.answer()
            if not made.crew.living():
                made.crew.start()
            await asyncio.sleep(0.05)
        raise TooLate(f"{id} is not {still} after 20 s")

    async def _stays(made: Trial, id: str) -> list[str]:
        """What happens to a run that stands still: nothing may, but a tool ending that cannot be stopped."""
        await asyncio.sleep(0.3)
        before = (await made.runs.get(id)).position, len([each for each in made.records.requests() if each.run == id])
        await asyncio.sleep(0.3)
        after = (await made.runs.get(id)).position, len([each for each in made.records.requests() if each.run == id])
        return [] if before == after else [f"a run that stands still went on: {before} and {after}"]

    async def round(places: Places, runs: int) -> None:
        with places.new() as place:
            async with trial(place, concurrency=4) as made:
                made.crew.start()
                made.crew.start()
                try:
                    words = await asyncio.gather(*[one(made) for _ in range(runs)])
                    infos = await made.over(keep=2)
                except TooLate as error:
                    found.fault(f"{kind}: {error}")
                    return
                found.runs += runs
                for each in [fault for one_run in words for fault in one_run]:
                    found.fault(f"{kind}: {each}")
                for info in infos:
                    log = [event async for event in made.runs.follow(info.id)]
                    if made.plans[info.id]:
                        told = faults(info, "all", made.records, log)
                    else:
                        told = iter(
                            [] if info.state is RunState.FINISHED else [f"the fork is {info.state}: {info.error}"]
                        )
                    for each in told:
                        found.fault(f"{kind}, {info.id}: {each}")
                twice = Counter((e.run, e.tool, e.name) for e in made.records.effects() if e.tool in EFFECTS)
                for key, times in twice.items():
                    if times > 1:
                        found.fault(f"{kind}: {key} was done {times} times")

    with Places(kind) as places:
        while found.runs < count and not found.faults:
            asyncio.run(round(places, min(6, count)))
    found.words = ", ".join(f"{times} × {what}" for what, times in sorted(done.items()))
    return found


def versions(kind: str, count: int, seed: int) -> Found:
    """Runs begun by one version and found by another: refused clearly, or finished where it accepts the older one."""
    found = Found()
    rng = random.Random(seed)

    async def one(places: Places) -> list[str]:
        words = []
        with places.new() as place:
            async with trial(place) as made:
                run = await made.submit("all")
                first = made.crew.start(at=rng.randint(8, 40))
                await made.crew.gone(first)
                before = len(made.records.requests()), len(made.records.effects())
                version = (await made.runs.get(run.id)).agent_version
                format_two = made.crew.start(format=2)
                await asyncio.sleep(2.5)
                if (await made.runs.get(run.id)).state.is_over:
                    words.append("a worker of another format ended the run")
                await made.crew.end(format_two)
                if version:
                    other = made.crew.start(version="2")
                    for _ in range(200):
                        info = await made.runs.get(run.id)
                        if info.state is RunState.REFUSED:
                            break
                        await asyncio.sleep(0.05)
                    else:
                        words.append(f"a worker of another version did not refuse the run: it is {info.state}")
                    if info.error is None or "version" not in info.error.message:
                        words.append(f"why it is refused is not said: {info.error}")
                    await made.crew.end(other)
                    if (len(made.records.requests()), len(made.records.effects())) != before:
                        words.append("a worker of another version did something")
                    await made.runs.resume(run.id)
                for _ in range(2):
                    made.crew.start(version="3", accepts=["1"])
                await made.over(keep=1, version="3", accepts=["1"])
                words += await made.faults()
        return words

    with Places(kind) as places:

        async def each(_: int) -> bool:
            try:
                words = await one(places)
            except TooLate as error:
                words = [str(error)]
            found.runs += 1
            for fault in words:
                found.fault(f"{kind}: {fault}")
            return True

        asyncio.run(many(each, iter(range(count))))
    return found
