"""PostgreSQL that falls silent: connections stay open and are not answered, or every packet is dropped."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from bench.trust import Found
from toolwire.durable.lease import DEFAULT_TIMING
from toolwire.durable.records import RunInfo, RunState

from .crew import Crew, TooLate
from .places import Place, Places
from .trials import Trial, trial

# isort: split
# Of the tests, whose folder `places` makes known.
from durable.databases import system_programs
from durable.dropped import enter, namespace, why_no_namespace
from durable.silent_proxy import Swallows, silent_proxy

__all__ = ["enter", "fell_silent", "versions"]

SILENCES = (20, 60, 600)
TAKEN = 40.0
"""Seconds in which all runs of a silent worker are someone else's. Where some connections are answered, in which they
go on."""
_SOME = (Swallows.NEW, Swallows.OLD)
"""Of which a worker need not lose its runs."""
ENDED = 40.0
"""Seconds within which a worker ends after SIGTERM."""
BACK = 60.0
"""Seconds in which a worker works again, once it is answered."""
_SETTINGS = {"timing": DEFAULT_TIMING, "concurrency": 4, "life": 1200}


class _Path(NamedTuple):
    """The way from a worker to the database, and how it is cut."""

    url: str
    namespace: str
    fall_silent: Callable[[], None]
    speak: Callable[[], None]


class _Longest:
    """Seconds."""

    taken = moved = ended = back = 0.0


def versions() -> Iterator[tuple[str, Path | None]]:
    """The PostgreSQL servers that are here, with the folder of their programs; None: those of the package."""
    yield "of the package", None
    if found := system_programs():
        yield found.parent.name, found


def fell_silent(programs: Path | None, longest: int, seed: int) -> Found:
    """Every kind of silence for every time up to `longest` seconds; those of one length side by side."""
    found, seconds = Found(), _Longest()
    rng = random.Random(seed)
    kinds: list[Swallows | None] = list(Swallows)
    why = why_no_namespace()
    if not why:
        kinds.append(None)
    with Places("postgresql", programs=programs) as places:

        async def one(swallows: Swallows | None, silence: int) -> None:
            what = f"{swallows or 'packets dropped'} for {silence} s"
            with places.new() as place, _path(place, swallows) as path:
                async with trial(place, **_SETTINGS) as made:
                    try:
                        await _silenced(made, path, silence, rng, seconds, may_keep=swallows in _SOME)
                        words = await made.faults()
                    except TooLate as error:
                        words = [str(error)]
            found.runs += 1
            for fault in words:
                found.fault(f"{what}: {fault}")

        async def all_of(silence: int) -> None:
            async with asyncio.TaskGroup() as group:
                for swallows in kinds:
                    group.create_task(one(swallows, silence))

        for silence in SILENCES:
            if silence <= longest:
                asyncio.run(all_of(silence))
    found.words = (
        f"runs taken over after {seconds.taken:.1f} s at most, or going on after {seconds.moved:.1f} s; a worker ended "
        f"{seconds.ended:.1f} s after SIGTERM, one that was answered again worked after {seconds.back:.1f} s"
        f"{why and f'; {why}'}"
    )
    return found


async def _silenced(
    made: Trial, path: _Path, silence: int, rng: random.Random, longest: _Longest, *, may_keep: bool
) -> None:
    runs = made.runs
    behind = Place(made.place.kind, path.url, made.place.folder, made.place.server)
    async with Crew(behind, namespace=path.namespace, **_SETTINGS) as crew:
        first, second = crew.start(), crew.start()
        for _ in range(8):
            await made.submit(rng.choice(("all", "unasked")), pause=0.05, tool=rng.uniform(1, 4))
        await _until(made, lambda infos: all(info.state is not RunState.QUEUED for info in infos), BACK)
        made.crew.start()
        lives = {worker.id for worker in await runs.workers() if worker.pid in (first.pid, second.pid)}
        path.fall_silent()
        began = time.monotonic()
        await asyncio.sleep(rng.uniform(0, 10))
        told = time.monotonic()
        ending = asyncio.create_task(crew.end(second))

        before = {id: (await runs.get(id)).position for id in made.plans}

        def is_taken(info: RunInfo) -> bool:
            if info.state is not RunState.RUNNING or info.worker not in lives:
                return True
            return may_keep and info.position > before[info.id]

        await _until(made, lambda infos: all(map(is_taken, infos)), TAKEN)
        took = time.monotonic() - began
        if may_keep:
            longest.moved = max(longest.moved, took)
        else:
            longest.taken = max(longest.taken, took)
        code = await ending
        longest.ended = max(longest.ended, time.monotonic() - told)
        if code or time.monotonic() - told > max(ENDED, TAKEN):
            raise TooLate(f"a worker that got SIGTERM exited with {code}: {crew.said(second)}")
        await asyncio.sleep(max(0.0, began + silence - time.monotonic()))
        path.speak()
        spoke = time.monotonic()
        while not any(
            worker.pid == first.pid and worker.state == "alive" and time.time() - worker.beat < 3
            for worker in await runs.workers()
        ):
            if time.monotonic() - spoke > BACK:
                raise TooLate(f"a worker did not come back in {BACK:g} s: {crew.said(first)}")
            await asyncio.sleep(0.1)
        longest.back = max(longest.back, time.monotonic() - spoke)
        await made.over(keep=1)


async def _until(made: Trial, true: Callable[[list[RunInfo]], bool], seconds: float) -> None:
    end = time.monotonic() + seconds
    while not true(infos := [await made.runs.get(id) for id in made.plans]):
        if time.monotonic() > end:
            raise TooLate(f"after {seconds:g} s: {[(info.id, info.state, info.worker) for info in infos]}")
        await asyncio.sleep(0.1)


@contextmanager
def _path(place: Place, swallows: Swallows | None) -> Iterator[_Path]:
    if swallows is None:
        with namespace() as net, silent_proxy(place.server, net.host) as proxy:
            yield _Path(proxy.url(place.url, net.host), net.name, net.drop, net.mend)
        return
    with silent_proxy(place.server) as proxy:
        yield _Path(proxy.url(place.url), "", lambda: proxy.fall_silent(swallows), proxy.speak)
