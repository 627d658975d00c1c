"""What others do at the worst moment: between an end and its record, an answer and its start, a look and its deed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
import sqlalchemy as sa

import feeding
from durable.working import Work, at_work, happens, quick
from toolwire import Agent, Answer
from toolwire.agent.events import RunFailed, RunInterrupted
from toolwire.agent.hooks import Hooks
from toolwire.durable import dbos_engine, sub_agents, sweeping
from toolwire.durable.database import events, runs
from toolwire.durable.log import EventLog
from toolwire.durable.records import RunSpec, RunState
from toolwire.durable.workplace import Workplace
from toolwire.errors import DurableFailed, ErrorInfo
from toolwire.messages import user
from toolwire.testing import call, say

__all__ = ["quick"]
pytestmark = pytest.mark.usefixtures("quick")
YES = Answer(allowed=True, who="me")


@asynccontextmanager
async def delegating(url: str, **options: Any) -> AsyncIterator[Work]:
    """A worker whose runs can start others."""
    known: list[Work] = []

    def tools(place: Workplace) -> list[Any]:
        return [*known[0].deeds.tools(), sub_agents(place, agent="toolwire", risk="read")]

    async with at_work(url, agent={"tools": tools}, **options) as work:
        known.append(work)
        yield work


async def child(work: Work, parent: str, title: str) -> str:
    """The id of the run that another one started for this task, once it is there."""
    found: list[str] = []

    async def is_there() -> bool:
        found[:] = [each.id for each in await work.runs.list(parent=parent) if each.title == title]
        return bool(found)

    assert await happens(is_there)
    return found[0]


async def say_yes(work: Work, run: str) -> None:
    [question] = await work.asked(run)
    await work.runs.answer(run, question.id, YES, digest=question.digest)


async def test_what_a_run_started_is_kept_for_as_long_as_it_may_ask_for_it(database_url: str) -> None:
    async with delegating(database_url) as work:
        for task in ("one", "two"):
            work.scripts[task] = [call("save", text=task), say(f"{task} is done.")]
        parent = await work.submit(call("start_agents", tasks=["one", "two"]), say("All."))
        one, two = [await child(work, parent, task) for task in ("one", "two")]
        await say_yes(work, one)
        await work.over(one)
        await work.until(parent, RunState.WAITING)
        await asyncio.sleep(0.05)
        assert await work.runs.prune(older_than=0.01) == 0
        await say_yes(work, two)
        assert (await work.over(parent)).text == "All."
        assert work.deeds.done == ["one", "two"]
        await asyncio.sleep(0.05)
        assert await work.runs.prune(older_than=0.01) == 3


async def test_a_run_that_is_resumed_while_old_ones_are_forgotten_stays(sqlite_url: str) -> None:
    async with at_work(sqlite_url, agent={"policy": "full"}) as work:
        run = await work.submit(say("Done."))
        work.deeds.hold("a")
        other = await work.submit(call("look", text="a"), say("Done."))
        await work.over(run)
        await work.runs.cancel(other)
        await asyncio.sleep(0.05)
        forget = work.engine.forget

        def meanwhile(ids: list[str]) -> None:
            assert sorted(ids) == sorted([run, other])
            with pytest.raises(DurableFailed, match="no run"):
                work.runs._resume(other)
            forget(ids)

        work.engine.forget = meanwhile
        assert await work.runs.prune(older_than=0.01) == 2
        assert await work.runs.list() == []


async def test_a_parent_waits_for_what_its_call_started_and_for_nothing_else(database_url: str) -> None:
    async with delegating(database_url) as work:
        for task in ("one", "two"):
            work.scripts[task] = [call("save", text=task), say(f"{task} is done.")]
        parent = await work.submit(
            call("start_agents", tasks=["one"]), call("start_agents", tasks=["two"]), say("All.")
        )
        one = await child(work, parent, "one")
        await work.asked(one)
        await work.runs.cancel(one)
        two = await child(work, parent, "two")
        await work.runs.resume(one)
        await work.asked(one)
        await work.until(parent, RunState.WAITING)
        await say_yes(work, two)
        assert (await work.over(parent)).text == "All."
        assert (await work.runs.get(one)).state is RunState.WAITING


async def test_what_a_run_started_ends_with_its_time(sqlite_url: str) -> None:
    async with delegating(sqlite_url) as work:
        work.scripts["one"] = [call("save", text="one"), say("Done.")]
        parent = await work.submit(call("start_agents", tasks=["one"]), say("All."), timeout=1.0)
        one = await child(work, parent, "one")
        assert (await work.over(parent)).state is RunState.FAILED
        assert (await work.over(one)).state is RunState.CANCELLED


async def test_a_call_by_any_id_may_start_runs_and_holds_no_worker(sqlite_url: str) -> None:
    async with delegating(sqlite_url, concurrency=1) as work:
        work.scripts["one"] = [say("Done.")]
        entry = feeding.call('{"tasks":["one"]}', id="a\0b", name="start_agents")
        asks = feeding.sse(feeding.delta(tool_calls=[entry]), feeding.delta(finish="tool_calls"))
        assert (await work.over(await work.submit(asks, say("All.")))).text == "All."


async def test_an_answer_that_has_come_is_recorded_before_the_run_is_left(
    sqlite_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    flush, write, come = Workplace.flush, Workplace.write, [False]

    async def flushed(place: Workplace) -> None:
        await flush(place)
        come[0] = True

    async def written(place: Workplace, work: Callable[[], Any]) -> Any:
        if come[0]:
            place.pause(RunState.PAUSED)
            place.look(0.0)
        return await write(place, work)

    async with at_work(sqlite_url) as work:
        monkeypatch.setattr(Workplace, "flush", flushed)
        monkeypatch.setattr(Workplace, "write", written)
        run = await work.submit(call("look", text="a"), say("Done."))
        await work.until(run, RunState.PAUSED)
        monkeypatch.setattr(Workplace, "write", write)
        assert [step.name for step in await work.runs.steps(run)] == ["answer 1"]
        await work.runs.resume(run)
        await work.over(run)
        assert len(work.models[run].requests) == 2


async def test_a_call_that_was_allowed_runs_although_another_one_waits(sqlite_url: str) -> None:
    class Slow(Hooks):
        @asynccontextmanager
        async def around_call(self, *_: Any) -> AsyncIterator[None]:
            await asyncio.sleep(0.4)
            yield

    async with at_work(sqlite_url, agent={"hooks": [Slow()]}, patience=0.1) as work:
        run = await work.submit([call("save", text="a"), call("save", text="b")], say("Done."))
        first, _ = await work.asked(run, 2)
        await work.runs.answer(run, first.id, YES)
        assert await happens(lambda: work.deeds.done == ["a"])
        await say_yes(work, run)
        assert (await work.over(run)).state is RunState.FINISHED
        assert work.deeds.done == ["a", "b"]


async def test_calls_in_line_behind_one_that_waits_hold_no_worker(sqlite_url: str) -> None:
    async with at_work(sqlite_url, agent={"policy": "ask", "parallel": 1}, patience=0.1) as work:
        run = await work.submit([call("alone", text="a"), call("alone", text="b")], say("Done."))
        _, second = await work.asked(run, 2)
        await work.runs.answer(run, second.id, YES)
        await say_yes(work, run)
        assert (await work.over(run)).state is RunState.FINISHED
        assert work.deeds.done == ["a", "b"]


async def test_a_run_that_has_ended_stays_so_when_its_worker_is_told_to_stop(
    sqlite_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    close, closing = Agent.close, asyncio.Event()

    async def slowly(agent: Agent) -> None:
        closing.set()
        await asyncio.sleep(0.5)
        await close(agent)

    monkeypatch.setattr(Agent, "close", slowly)
    async with at_work(sqlite_url, grace=0.1) as work:
        run = await work.submit(say("Done."))
        await asyncio.wait_for(closing.wait(), 20)
        work.worker.stop()
        assert await happens(lambda: work.worker._drained.is_set())
        assert (await work.runs.get(run)).state is RunState.FINISHED


class Opening:
    """Logs that take their time to be opened, the first of them longest."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *seconds: float) -> None:
        self.times = 0
        real = EventLog.open

        async def slowly(*arguments: Any, **options: Any) -> EventLog:
            self.times += 1
            number = self.times
            log = await real(*arguments, **options)
            await asyncio.sleep(seconds[number - 1] if number <= len(seconds) else 0)
            return log

        monkeypatch.setattr(EventLog, "open", slowly)


async def test_an_attempt_that_is_slow_to_begin_is_ended_by_the_next(
    sqlite_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    opening = Opening(monkeypatch, 0.7)
    async with at_work(sqlite_url, patience=30) as work:
        run = await work.submit(call("save", text="a"), say("Done."))
        assert await happens(lambda: opening.times == 1)
        await work.runs.cancel(run)
        await work.runs.resume(run)
        assert await happens(lambda: work.runs.questions(run))
        await asyncio.sleep(0.8)  # the first would have come back by now
        [question] = await work.runs.questions(run)
        await work.runs.answer(run, question.id, YES)
        assert (await work.over(run)).state is RunState.FINISHED


async def test_a_worker_that_is_told_to_stop_while_it_begins_a_run_gives_it_back(
    sqlite_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    opening = Opening(monkeypatch, 0.5)
    async with at_work(sqlite_url) as work:
        run = await work.submit(say("Done."))
        assert await happens(lambda: opening.times == 1)
        work.worker.stop()
        assert (await work.until(run, RunState.QUEUED)).worker == ""
        assert await happens(lambda: not work.worker._bodies)


async def test_what_cannot_be_read_of_one_run_stands_in_nobodys_way(sqlite_url: str) -> None:
    async with at_work(sqlite_url) as work:
        run = await work.submit(call("save", text="a"), say("Done."))
        [question] = await work.asked(run)

        def spoil(connection: sa.Connection) -> None:
            connection.execute(
                runs.update().where(runs.c.id == "spoiled").values(state="waiting", signals=5, usage="{no")
            )

        spec = RunSpec(prompt=user("x"))
        await asyncio.to_thread(
            lambda: work.ledger.add("spoiled", spec, queue="other", priority=0, timeout=None, beside=spoil)
        )
        assert await happens(lambda: [each for each in work.told if "spoiled" in each])
        # Answered, and nobody woke it: the sweep does.
        await asyncio.to_thread(work.runs._questions.answer, run, question.id, YES, None)
        assert (await work.over(run)).state is RunState.FINISHED
        assert len([each for each in work.told if "spoiled" in each]) == 1


async def test_a_run_whose_events_cannot_be_read_is_refused(sqlite_url: str) -> None:
    async with at_work(sqlite_url) as work:
        run = await work.submit(call("save", text="a"), say("Done."))
        [question] = await work.asked(run)
        spoil = events.update().where(events.c.run == run).values(body="[no")
        await work.runs._database.use(lambda connection: connection.execute(spoil))
        await work.runs.answer(run, question.id, YES)
        info = await work.until(run, RunState.REFUSED)
        assert info.error is not None
        assert "cannot be read" in info.error.message
        assert work.deeds.done == []


async def test_what_is_over_is_not_ended_once_more(database_url: str) -> None:
    error = ErrorInfo("RunLimitReached", "late")
    async with at_work(database_url) as work:
        run = await work.submit(call("save", text="a"), say("Done."))
        await work.asked(run)
        await work.runs.cancel(run)
        for state, told in ((RunState.FAILED, RunFailed(error, 0)), (RunState.PAUSED, None)):
            assert not await asyncio.to_thread(work.ledger.stop, run, state, told, error)
        assert isinstance((await work.events(run))[-1].event, RunInterrupted)
        nobodys = (await work.runs.submit("x", agent="nobody")).id
        assert (await work.until(nobodys, RunState.REFUSED)).error is not None
        info = await work.runs.cancel(nobodys)
        assert (info.state, info.error) == (RunState.CANCELLED, None)


async def test_the_time_of_a_run_goes_on_while_it_is_paused(sqlite_url: str) -> None:
    async with at_work(sqlite_url) as work:
        run = await work.submit(call("save", text="a"), say("Done."), timeout=100)
        await work.asked(run)
        deadline = (await work.runs.get(run)).deadline
        await work.runs.pause(run)
        await work.runs.resume(run)
        await work.asked(run)
        assert (await work.runs.get(run)).deadline == deadline
        await work.runs.cancel(run)
        assert (await work.runs.resume(run)).deadline is None


async def test_a_question_about_a_call_that_went_on_without_is_taken_back(sqlite_url: str) -> None:
    options = {"policy": "ask"}
    async with at_work(sqlite_url, agent=options) as work:
        gate = work.deeds.hold("b")
        run = await work.submit(call("save", text="a"), call("look", text="b"), say("Done."))
        await work.asked(run)
        work._options["policy"] = "full"
        await work.runs.pause(run)
        await work.runs.resume(run)
        assert await happens(lambda: work.deeds.started == ["a", "b"])
        assert await work.runs.questions(run) == []
        gate.set()
        assert (await work.over(run)).state is RunState.FINISHED


async def test_however_many_wait_one_that_was_woken_goes_on(sqlite_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dbos_engine, "_PAGE", 3)
    monkeypatch.setattr(sweeping, "_SETTLED_SECONDS", 0.3)
    # Else the sweep may wake the run first, and tell the engine.
    monkeypatch.setattr(sweeping, "wake", lambda *_: None)
    async with at_work(sqlite_url) as work:
        for _ in range(5):
            await work.asked(await work.submit(call("save", text="others"), say("Done.")))
        run = await work.submit(call("save", text="a"), say("Done."))
        [question] = await work.asked(run)
        # As one does who is killed before the engine is told.
        await asyncio.to_thread(work.runs._questions.answer, run, question.id, YES, None)
        assert await asyncio.to_thread(work.ledger.wake, run)
        assert (await work.over(run)).state is RunState.FINISHED


async def test_all_that_workers_have_is_seen(sqlite_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dbos_engine, "_PAGE", 3)
    async with at_work(sqlite_url) as work:
        work.deeds.hold("a")
        ids = [await work.submit(call("look", text="a"), say("Done.")) for _ in range(7)]
        assert await happens(lambda: len(work.deeds.started) == 7)
        held = await asyncio.to_thread(work.engine.held)
        assert held == dict.fromkeys(ids, work.worker.id)
        assert await asyncio.to_thread(work.engine.held, work.worker.id) == held
        assert await asyncio.to_thread(work.engine.held, "another") == {}
