"""PostgreSQL stopped as in a crash and started again while workers work: they wait for it, or lose what they had."""

from __future__ import annotations

import asyncio
import random
from concurrent.futures import ThreadPoolExecutor

from bench.trust import Found

from .crew import TooLate
from .places import Places
from .trials import Trial, trial


def restarted(count: int, seed: int) -> Found:
    """`count` restarts under load: crashes and orderly ones, some at once, some away for longer than the lease."""
    found = Found()
    rng = random.Random(seed)
    runs = 0
    with Places("postgresql", on_disk=True) as places:

        async def one() -> None:
            nonlocal runs
            with places.new() as place:
                async with trial(place, concurrency=4) as made:
                    for _ in range(8):
                        await made.submit(
                            rng.choice(("all", "unasked", "two")), pause=rng.choice((0.01, 0.03)), tool=0.1
                        )
                    runs += len(made.plans)
                    restarting = asyncio.create_task(_restart(made))
                    try:
                        await made.over(keep=3)
                        await restarting
                        words = await made.faults()
                    except TooLate as error:
                        words = [str(error)]
                    finally:
                        restarting.cancel()
            for fault in words:
                found.fault(fault)

        async def _restart(made: Trial) -> None:
            server = made.place.server
            assert server is not None
            for _ in range(rng.randint(2, 3)):
                await asyncio.sleep(rng.uniform(0.3, 1.5))
                mode = rng.choice(("immediate", "immediate", "fast"))
                away = rng.choice((0.0, 0.3, 2.5))
                # In a thread of its own: all others may be waiting for the database.
                with ThreadPoolExecutor(1) as thread:
                    loop = asyncio.get_running_loop()
                    await loop.run_in_executor(thread, server.stop, mode)
                    await asyncio.sleep(away)
                    await loop.run_in_executor(thread, server.start)
                found.runs += 1

        while found.runs < count:
            asyncio.run(one())
    found.words = f"{runs} runs, all ended"
    return found
