"""What a worker promises: how much it works on, in which order, how it stops, and that it leaves nothing behind."""

from __future__ import annotations

import asyncio
import gc
import os
import threading
from typing import Any

import pytest

from durable.databases import postgres, why_no_postgres
from durable.working import Deeds, at_work, happens, quick
from toolwire.durable.attempt import DurableAgent
from toolwire.durable.client import Runs
from toolwire.durable.dbos_engine import DbosEngine
from toolwire.durable.engine import QueueLimits
from toolwire.durable.lease import Timing
from toolwire.durable.records import RunState
from toolwire.durable.worker import Worker
from toolwire.errors import ConfigError
from toolwire.testing import call, say

__all__ = ["quick"]
pytestmark = pytest.mark.usefixtures("quick")
FULL = {"policy": "full"}


def told(work: Any, run: str) -> list[str]:
    """What the model is told of its calls."""
    messages = work.models[run].requests[-1]["messages"]
    return [message["content"] for message in messages if message["role"] == "tool"]


async def test_runs_come_by_priority_and_no_more_than_may(database_url: str) -> None:
    deeds = Deeds()
    gates = {text: deeds.hold(text) for text in "abcdef"}
    async with Runs(database_url) as runs:
        # In the queue before any worker is there.
        for text, priority in zip("abcdef", (5, 0, 1, 9, 3, 3), strict=True):
            await runs.submit(text, priority=priority, id=text)
    async with at_work(database_url, deeds=deeds, concurrency=2) as work:
        work.scripts.update({text: [call("look", text=text), say("Done.")] for text in "abcdef"})
        for number, text in enumerate("bcefad"):
            both = "bcefad"[: number + 2]
            assert await happens(lambda both=both: sorted(deeds.started) == sorted(both)), deeds.started
            # Someone else with other limits for the same queue changes nothing here.
            if number == 0:
                engine = DbosEngine(work.runs._database)
                await asyncio.to_thread(engine.limit, QueueLimits("toolwire", 6), poll=0.03)
                await asyncio.to_thread(engine.close)
            assert len(deeds.started) - len(deeds.done) <= 2
            gates[text].set()
            await work.over(text)


async def test_all_workers_together_do_no_more_than_may(sqlite_url: str) -> None:
    async with at_work(sqlite_url, concurrency=4, everywhere=1, queues=["toolwire", "other"]) as work:
        gates = {text: work.deeds.hold(text) for text in "abc"}
        first = await work.submit(call("look", text="a"), say("Done."))
        assert await happens(lambda: work.deeds.started == ["a"])
        second = await work.submit(call("look", text="b"), say("Done."))
        other = await work.submit(call("look", text="c"), say("Done."), queue="other")
        assert await happens(lambda: "c" in work.deeds.started)
        assert (await work.runs.get(second)).state is RunState.QUEUED
        for gate in gates.values():
            gate.set()
        for run in (first, second, other):
            assert (await work.over(run)).state is RunState.FINISHED


async def test_a_worker_that_stops_lets_steps_end_and_gives_its_runs_back(database_url: str) -> None:
    async with at_work(database_url, agent=FULL) as work:
        gate = work.deeds.hold("a")
        run = await work.submit([call("alone", text="a"), call("alone", text="b")], say("Done."))
        assert await happens(lambda: work.deeds.started == ["a"])
        work.worker.stop()
        assert await happens(lambda: any("Waiting for 1 run" in each for each in work.told))
        gate.set()
        info = await work.until(run, RunState.QUEUED)
        assert (info.worker, work.deeds.done) == ("", ["a"])
    async with at_work(database_url, agent=FULL, known=work) as later:
        assert (await later.over(run)).state is RunState.FINISHED
        assert told(later, run) == ["did a", "did b"]
        assert later.deeds.started == ["a", "b"]
        assert [each.state for each in await later.runs.workers()] == ["ended", "alive"]


async def test_a_worker_that_is_told_twice_waits_for_no_step(sqlite_url: str) -> None:
    async with at_work(sqlite_url, agent=FULL, grace=60) as work:
        work.deeds.hold("a")
        run = await work.submit(call("save", text="a"), say("Done."))
        assert await happens(lambda: work.deeds.started == ["a"])
        work.worker.stop()
        work.worker.stop()
        await work.until(run, RunState.QUEUED)
    work.deeds._held.clear()
    async with at_work(sqlite_url, agent=FULL, known=work) as later:
        assert (await later.over(run)).state is RunState.FINISHED
        assert told(later, run)[0].startswith("Error: unknown")
        assert later.deeds.done == []


async def test_a_worker_that_stops_before_it_begins_a_run_leaves_it(sqlite_url: str) -> None:
    async with at_work(sqlite_url) as work:
        assert await happens(lambda: work.worker.id)
        work.worker.stop()
        run = await work.submit(say("Done."))
    async with at_work(sqlite_url, known=work) as later:
        assert (await later.over(run)).state is RunState.FINISHED


async def test_a_process_has_one_worker_at_a_time(sqlite_url: str) -> None:
    async with at_work(sqlite_url) as work:
        run = await work.submit(say("Done."))
        await work.over(run)
        other = Worker(sqlite_url, [DurableAgent("toolwire", work.make)])
        with pytest.raises(ConfigError, match="already"):
            await other.run()
        after = await work.submit(say("Done."))
        assert (await work.over(after)).state is RunState.FINISHED


@pytest.mark.parametrize(
    "options", [{"concurrency": 0}, {"everywhere": 0}, {"queues": []}, {"queues": ["toolwire-waiting"]}]
)
def test_a_worker_that_can_do_nothing_is_refused(sqlite_url: str, options: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        Worker(sqlite_url, [], **options)


async def test_nothing_is_left_behind(database_url: str) -> None:
    def threads() -> set[str]:
        return {each.name for each in threading.enumerate()}

    def files() -> int:
        return len(os.listdir("/proc/self/fd"))

    async def once() -> tuple[set[str], int]:
        async with at_work(database_url) as work:
            run = await work.submit([call("look", text="a")], call("save", text="b"))
            await work.asked(run)
        gc.collect()
        loop = asyncio.get_running_loop()
        await loop.shutdown_default_executor()
        loop._default_executor = None  # type: ignore[attr-defined]
        loop._executor_shutdown_called = False  # type: ignore[attr-defined]
        return threads(), files()

    await once()
    threads_before, files_before = await once()
    await once()
    assert await happens(lambda: threads() <= threads_before), threads() - threads_before
    assert await happens(lambda: files() <= files_before)
    assert len(asyncio.all_tasks()) == 1


@pytest.mark.skipif(bool(why_no_postgres()), reason=why_no_postgres() or "it is there")
async def test_a_database_that_is_away_for_a_while_costs_time_alone() -> None:
    timing = Timing(beat=0.1, own=0.8, dead=1.2)
    with postgres(fast=True) as server:
        async with at_work(server.new_database(), timing=timing) as work:
            gate = work.deeds.hold("a")
            run = await work.submit(call("look", text="a"), call("look", text="b"), say("Done."))
            assert await happens(lambda: work.deeds.started == ["a"])
            first = work.worker.id
            await asyncio.to_thread(server.stop)
            gate.set()
            assert await happens(lambda: work.worker.id != first)
            await asyncio.to_thread(server.start)
            assert (await work.over(run)).state is RunState.FINISHED
            assert told(work, run) == ["did a", "did b"]
