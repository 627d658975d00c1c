"""Twenty readers of runs whose workers are killed: each event exactly once, in order, wherever a reader begins."""

from __future__ import annotations

import asyncio
import random

from bench.trust import Found
from toolwire.durable.records import AttemptWithdrawn, RunEvent

from .checks import kept, of_reader
from .crew import TooLate
from .places import Places
from .trials import Trial, trial

READERS = 20


def read_across_kills(kind: str, count: int, seed: int) -> Found:
    """`count` trials: four runs, a worker killed each second, readers who stay, others who leave and come back."""
    found = Found()
    rng = random.Random(seed)
    events = withdrawn = 0

    async def read(made: Trial, id: str, seen: list[RunEvent], leaves: bool) -> None:
        over = False
        while not over:
            over = True
            after = seen[-1].position if seen else 0
            stays = rng.randint(1, 40) if leaves else -1
            reader = made.runs.follow(id, after=after)
            async for event in reader:
                seen.append(event)
                stays -= 1
                if not stays:
                    over = False
                    break
            await reader.aclose()

    async def one(places: Places) -> None:
        nonlocal events, withdrawn
        with places.new() as place:
            async with trial(place, concurrency=4) as made:
                ids = [(await made.submit(plan, pause=0.02, pieces=20, tool=0.2)).id for plan in ("all", "unasked") * 2]
                readers = [(ids[number % 4], list[RunEvent](), number >= READERS // 2) for number in range(READERS)]
                tasks = [asyncio.create_task(read(made, *each)) for each in readers]
                killing = asyncio.create_task(_kill(made))
                try:
                    await made.over(keep=2)
                    await asyncio.wait(tasks, timeout=20)
                    words = await made.faults()
                except TooLate as error:
                    words = [str(error)]
                finally:
                    killing.cancel()
                for (id, seen, leaves), task in zip(readers, tasks, strict=True):
                    task.cancel()
                    log = [event async for event in made.runs.follow(id)]
                    words += of_reader(seen, log, "a reader who came back" if leaves else "a reader who stayed")
                    events += len(kept(seen))
                    withdrawn += sum(isinstance(each.event, AttemptWithdrawn) for each in seen)
                    found.runs += 1
        for fault in words:
            found.fault(f"{kind}: {fault}")

    async def _kill(made: Trial) -> None:
        for _ in range(6):
            await asyncio.sleep(rng.uniform(0.4, 1.0))
            if living := made.crew.living():
                made.crew.kill(rng.choice(living))

    with Places(kind) as places:
        for _ in range(count):
            asyncio.run(one(places))
    found.words = f"{events:,} events read, {withdrawn} times some were withdrawn from a reader"
    return found
