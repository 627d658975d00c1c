"""Many runs over four workers: all complete, how fast, and what durability costs against the same runs without it."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec

from bench.trust import Found
from toolwire.agent.events import RunFinished
from toolwire.durable.lease import Timing
from toolwire.durable.records import RunState

from .crew import Crew, forks
from .moments import no_moment
from .places import Place, Places
from .subject import AGENT, EFFECTS, PLANS, Records, make_agent
from .trials import trial

WORKERS, EACH = 4, 8
PLAN = "plain"
STEPS = len(PLANS[PLAN]) + 1 + sum(len(calls) for calls in PLANS[PLAN])
"""Of one run: its requests and its calls."""
OPTIONS: dict[str, Any] = {"plan": PLAN, "tool": 0}
LONGEST = 900.0


def many_runs(kind: str, count: int, seed: int) -> Found:
    """`count` runs over four workers, eight at a time each, on a disk; then the same in four processes without."""
    found = Found()
    with Places(kind, on_disk=True) as places:
        with places.new() as place:
            empty = place.size()
            submitted, seconds = asyncio.run(_durable(place, count, found))
            size = (place.size() - empty) / count
            tally = _tallied(place.folder)
        with places.new() as place:
            plain = asyncio.run(_plain(place, count))
            alone = _tallied(place.folder)
    found.runs = count
    steps = count * STEPS
    cost = (tally["milliseconds"] - alone["milliseconds"]) / steps
    found.words = (
        f"{count / seconds:.0f} runs and {steps / seconds:.0f} steps a second ({seconds:.1f} s; submitted at "
        f"{count / submitted:.0f} a second), without durability {count / plain:.0f} runs a second; a run takes "
        f"{tally['milliseconds'] / count:.1f} ms of a core, without {alone['milliseconds'] / count:.1f} ms: "
        f"{cost:.1f} ms a step; {tally['writes'] / steps:.1f} commits a step write, {tally['commits'] / steps:.1f} in "
        f"all; {size / 1024:.1f} KiB a run"
    )
    return found


async def _durable(place: Place, count: int, found: Found) -> tuple[float, float]:
    """Seconds to submit, and seconds from the begin of the first to the end of the last."""
    async with trial(place, concurrency=EACH, tally=True, timing=Timing()) as made:
        runs = made.runs
        began = time.monotonic()
        for _ in range(count):
            await runs.submit("Go on", agent=AGENT, options=OPTIONS)
        submitted = time.monotonic() - began
        workers = [made.crew.start() for _ in range(WORKERS)]
        began = time.monotonic()
        while time.monotonic() < began + LONGEST:
            going = await runs.list(states=[state for state in RunState if not state.is_over], limit=1)
            if not going:
                break
            await asyncio.sleep(0.2)
        infos = await runs.list(limit=count)
        seconds = max(info.ended or 0 for info in infos) - min(info.started or 0 for info in infos)
        left = Counter(info.state for info in infos if info.state is not RunState.FINISHED)
        if left or len(infos) != count:
            found.fault(f"of {count} runs {len(infos)} are there, not finished: {dict(left)}")
        twice = Counter((each.run, each.name) for each in made.records.effects() if each.tool in EFFECTS)
        if len(twice) != 2 * count or max(twice.values(), default=0) != 1:
            found.fault(f"{len(twice)} effects of {2 * count}, one of them {max(twice.values(), default=0)} times")
        for worker in workers:
            if await made.crew.end(worker):
                found.fault(f"a worker did not end well: {made.crew.said(worker)}")
    return submitted, seconds


def _tallied(folder: Path) -> Counter[str]:
    """All commits of all processes, and their time."""
    all_of_them: Counter[str] = Counter()
    for path in folder.glob("*.tally"):
        all_of_them.update(msgspec.json.decode(path.read_bytes(), type=dict[str, int]))
    return all_of_them


async def _plain(place: Place, count: int) -> float:
    """Seconds in which as many processes do the same with nothing written down but the effects."""
    began = time.monotonic()
    given = (str(place.folder), count // WORKERS)
    processes = [forks().Process(target=_plain_runs, args=given, daemon=True) for _ in range(WORKERS)]
    for process in processes:
        process.start()
    for process in processes:
        await Crew(place).gone(process, LONGEST)
        process.close()
    return time.monotonic() - began


def _plain_runs(folder: str, count: int) -> None:
    signal.alarm(600)
    slots = asyncio.Semaphore(EACH)

    async def one(number: int) -> None:
        async with slots:
            agent = make_agent(f"{os.getpid()}-{number}", OPTIONS, Records(Path(folder)), no_moment)
            events = [event async for event in agent.run("Go on")]
            assert isinstance(events[-1], RunFinished)
            await agent.close()

    async def main() -> None:
        async with asyncio.TaskGroup() as group:
            for number in range(count):
                group.create_task(one(number))

    asyncio.run(main())
    tally = {"milliseconds": round(time.process_time() * 1000)}
    Path(folder, f"{os.getpid()}.tally").write_bytes(msgspec.json.encode(tally))
