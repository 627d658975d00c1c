"""One run that starts fifty others over four workers, which are killed meanwhile: all answers, in their order."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Iterator

import msgspec

from bench.trust import Found
from toolwire.durable.records import RunInfo, RunState

from .checks import faults
from .crew import TooLate
from .places import Places
from .subject import CHILDREN, PLANS
from .trials import Trial, trial


def gathered(kind: str, count: int, seed: int) -> Found:
    """`count` runs with fifty children each, one after the other; a worker is killed each second."""
    found = Found()
    rng = random.Random(seed)
    kills = 0

    async def kill(made: Trial) -> None:
        nonlocal kills
        for _ in range(8):
            await asyncio.sleep(rng.uniform(0.3, 1.2))
            if living := made.crew.living():
                made.crew.kill(rng.choice(living))
                kills += 1

    async def one(places: Places) -> list[str]:
        with places.new() as place:
            async with trial(place, concurrency=4) as made:
                run = await made.submit("many")
                killing = asyncio.create_task(kill(made))
                try:
                    info = (await made.over(keep=4))[0]
                    killing.cancel()
                    children = await made.runs.list(parent=run.id, limit=2 * CHILDREN)
                    words = list(_wrong(made, info, children))
                    for child in children:
                        log = [event async for event in made.runs.follow(child.id)]
                        words += [f"{child.id}: {each}" for each in faults(child, "short", made.records, log)]
                except TooLate as error:
                    words = [str(error)]
                finally:
                    killing.cancel()
        return words

    with Places(kind) as places:
        for _ in range(count):
            found.runs += 1
            for fault in asyncio.run(one(places)):
                found.fault(f"{kind}: {fault}")
    found.words = f"{count * CHILDREN} children, {kills} kills"
    return found


def _wrong(made: Trial, info: RunInfo, children: list[RunInfo]) -> Iterator[str]:
    if info.state is not RunState.FINISHED:
        yield f"the run is {info.state}: {info.error}"
        return
    if len(children) != CHILDREN:
        yield f"{len(children)} runs were started"
    requests = [each for each in made.records.requests() if each.run == info.id]
    result = next(message for message in requests[-1].messages if "tool_call_id" in message)
    told = msgspec.json.decode(str(result["content"]), type=list[dict[str, str]])
    tasks = PLANS["many"][0][0][1]["tasks"]
    if [each["task"] for each in told] != tasks:
        yield "the answers are not in the order of the tasks"
    if len({each["run"] for each in told}) != CHILDREN:
        yield "two tasks have the answer of one run"
    answers = {child.id: child.text for child in children}
    asked = {each.run: each.messages for each in made.records.requests()}
    for each in told:
        if answers.get(each["run"]) != each.get("answer"):
            yield f"the answer to {each['task']} is another: {each}"
        if each["task"] not in [message["content"] for message in asked[each["run"]] if message["role"] == "user"]:
            yield f"{each['task']} was not what {each['run']} was asked"
    twice = Counter(each.run for each in made.records.effects() if each.tool == "save")
    yield from (f"{run} saved {times} times" for run, times in twice.items() if times > 1)
