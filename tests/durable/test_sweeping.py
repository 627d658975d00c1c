"""What goes on although whoever was to see to it is gone: nothing is done twice, nothing waits for ever."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

import pytest
import sqlalchemy as sa

import toolwire
from durable.working import Work, at_work, happens, quick
from toolwire import Answer
from toolwire.agent.events import RunFailed, ToolFinished, ToolStarted
from toolwire.durable import client, sweeping
from toolwire.durable import worker as worker_module
from toolwire.durable.client import Runs
from toolwire.durable.database import runs as table
from toolwire.durable.database import workers
from toolwire.durable.engine import WAITING_QUEUE
from toolwire.durable.intents import Intents
from toolwire.durable.ledger import STALLS, RunLost
from toolwire.durable.log import EventLog
from toolwire.durable.records import RunState
from toolwire.durable.sweeping import Sweep
from toolwire.errors import DurableFailed
from toolwire.testing import call, say

__all__ = ["quick"]
pytestmark = pytest.mark.usefixtures("quick", "settles_soon")
FULL = {"policy": "full"}
YES = Answer(allowed=True)


@pytest.fixture
def settles_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweeping, "_SETTLED_SECONDS", 0.3)


def told(work: Work, run: str) -> list[str]:
    """What the model is told of its calls."""
    messages = work.models[run].requests[-1]["messages"]
    return [message["content"] for message in messages if message["role"] == "tool"]


async def test_what_may_have_been_done_is_not_done_again(database_url: str) -> None:
    async with at_work(database_url, agent=FULL) as work:
        for each in ("save", "again", "look"):
            work.deeds.hold(each)
        run = await work.submit(
            [call("save", text="save"), call("again", text="again"), call("look", text="look")], say("Done.")
        )
        assert await happens(lambda: sorted(work.deeds.started) == ["again", "look", "save"])
        work.deeds._held.clear()
        await work.take_over(run)
        info = await work.over(run)
        assert (info.state, info.attempt) == (RunState.FINISHED, 3)
        first, second, third = told(work, run)
        assert first.startswith("Error: unknown")
        assert (second, third) == ("did again", "did look")
        assert [work.deeds.started.count(each) for each in ("save", "again", "look")] == [1, 2, 2]
        assert sorted(work.deeds.done) == ["again", "look"]
        events = [each for each in await work.events(run) if isinstance(each.event, (ToolStarted, ToolFinished))]
        by_call = [(type(each.event), each.id) for each in events]
        assert len(by_call) == len(set(by_call))
        assert sum(kind is ToolFinished for kind, _ in by_call) == 3
        outcomes = {each.id: each.event.result.outcome for each in events if isinstance(each.event, ToolFinished)}
        assert outcomes["call_1"] == "unknown"


async def test_a_run_that_ends_its_workers_is_ended(sqlite_url: str) -> None:
    async with at_work(sqlite_url) as work:
        work.deeds.hold("a")
        run = await work.submit(call("look", text="a"), say("Done."))
        # The first has recorded an answer; those after it nothing.
        for count in range(1, STALLS + 2):
            assert await happens(lambda count=count: len(work.deeds.started) == count)
            await work.take_over(run)
        info = await work.over(run)
        assert info.state is RunState.FAILED
        assert info.error is not None
        assert f"{STALLS} workers" in info.error.message
        assert isinstance((await work.events(run))[-1].event, RunFailed)
        history, _ = await work.runs.history(run)
        assert [each.role for each in history][:2] == ["user", "assistant"]
        work.deeds._held.clear()
        new = await work.runs.resume(run)
        work.models[new.id] = work.models[run]
        assert (await work.over(new.id)).state is RunState.FINISHED


async def test_a_run_that_the_engine_took_from_a_living_worker_goes_on(database_url: str) -> None:
    async with at_work(database_url, agent=FULL) as work:
        gate = work.deeds.hold("a")
        run = await work.submit([call("look", text="a")], call("save", text="b"), say("Done."))
        assert await happens(lambda: work.deeds.started == ["a"])
        # As one does who was stopped while it left the run, and woke when another had it.
        await asyncio.to_thread(work.engine.move, run, WAITING_QUEUE)
        gate.set()
        assert (await work.over(run)).state is RunState.FINISHED
        assert work.deeds.done.count("b") == 1


async def test_a_worker_that_is_given_its_own_run_again_ends_what_it_had_begun(
    sqlite_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Cancelled and resumed before the worker has looked: its tools stop before the run goes on."""
    monkeypatch.setattr(worker_module, "_LOOK", 60.0)
    told: list[str] = []

    async def begin(text: str) -> str:
        told.append(f"{text} begins")
        try:
            await asyncio.sleep(60 if len(told) == 1 else 0)
        except asyncio.CancelledError:
            await asyncio.sleep(0.2)
            told.append(f"{text} is stopped")
            raise
        return "done"

    tools = [toolwire.tool(risk="read")(begin)]
    async with at_work(sqlite_url, agent={**FULL, "tools": tools}) as work:
        run = await work.submit(call("begin", text="it"), say("Done."))
        assert await happens(lambda: told)
        await work.runs.cancel(run)
        await work.runs.resume(run)
        assert (await work.over(run)).state is RunState.FINISHED
        assert told == ["it begins", "it is stopped", "it begins"]


def test_a_worker_gives_back_what_it_does_not_work_on_when_it_had_time_to_begin(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now, given = [0.0], []

    class Engine:
        def held(self, worker: str) -> dict[str, str]:
            found = {"lost": "me", "begins": "me", "another's": "you"}
            return {run: each for run, each in found.items() if each == worker}

    class Ledger:
        def held_by(self, worker: str) -> dict[str, Any]:
            return {}

    monkeypatch.setattr(sweeping, "time", SimpleNamespace(monotonic=lambda: now[0]))
    sweep = Sweep(cast(Any, Ledger()), cast(Any, Engine()), print)
    monkeypatch.setattr(sweep, "_give", lambda run, why: given.append((now[0], run)))
    for tick in range(8):
        now[0] = tick / 10
        sweep.own("me", {"begins"} if tick >= 3 else set())
    assert given == [(0.4, "lost")], "once, and then it has its time again"


def test_a_run_that_the_engine_loses_later_is_found_too(monkeypatch: pytest.MonkeyPatch) -> None:
    now, found, lost = [1000.0], [], False

    class Engine:
        def astray(self, runs: list[str]) -> tuple[list[str], list[str]]:
            return ([], runs if lost else [])

    class Ledger:
        def queued_before(self, when: float) -> set[tuple[str, float]]:
            return {("r", 1.0)}

        def attempts(self, ids: list[str]) -> dict[str, Any]:
            return dict.fromkeys(ids, (0, RunState.QUEUED, "", 1.0, "toolwire"))

    monkeypatch.setattr(sweeping, "time", SimpleNamespace(time=lambda: now[0]))
    sweep = Sweep(cast(Any, Ledger()), cast(Any, Engine()), print)
    monkeypatch.setattr(sweep, "_gone", lambda run: found.append((now[0], run)))
    for second in range(130):
        now[0], lost = 1000.0 + second, second > 0
        sweep._astray()
    assert found == [(1061.0, "r"), (1122.0, "r")]


async def test_beginning_may_take_longer_than_a_beat(sqlite_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = EventLog.open

    async def slowly(*arguments: Any, **options: Any) -> EventLog:
        await asyncio.sleep(1.2)
        return await opened(*arguments, **options)

    monkeypatch.setattr(EventLog, "open", slowly)
    async with at_work(sqlite_url) as work:
        run = await work.submit(say("Done."))
        info = await work.over(run)
        assert (info.state, info.attempt) == (RunState.FINISHED, 1)


@pytest.mark.parametrize("error", [RuntimeError("no"), DurableFailed("an event cannot be read"), RunLost()])
async def test_a_fault_before_the_work_costs_an_attempt_and_no_run(
    sqlite_url: str, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    opened, faults = EventLog.open, [error]

    async def failing(*arguments: Any, **options: Any) -> EventLog:
        if faults:
            raise faults.pop()
        return await opened(*arguments, **options)

    monkeypatch.setattr(EventLog, "open", failing)
    async with at_work(sqlite_url) as work:
        run = await work.submit(say("Done."))
        assert (await work.over(run)).state is RunState.FINISHED


async def test_a_fault_of_the_database_in_a_step_is_not_its_record(
    sqlite_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    flush, faults = EventLog.flush, [DurableFailed("the database is full")]

    async def failing(self: EventLog) -> None:
        if faults and work.deeds.done:
            raise faults.pop()
        await flush(self)

    monkeypatch.setattr(EventLog, "flush", failing)
    async with at_work(sqlite_url) as work:
        run = await work.submit(call("look", text="a"), say("Done."))
        assert (await work.over(run)).state is RunState.FINISHED
        assert told(work, run) == ["did a"]
        assert [step.name for step in await work.runs.steps(run)] == ["answer 1", "call 1 look call_1", "answer 2"]


async def test_what_was_begun_and_not_finished_by_others_is(database_url: str) -> None:
    async with at_work(database_url) as work:
        ledger, engine = work.ledger, work.engine
        # Answered, and nobody woke it; woken, and nobody moved it.
        answered = await work.submit(call("save", text="a"), say("Done."))
        woken = await work.submit(call("save", text="b"), say("Done."))
        (first,), (second,) = await work.asked(answered), await work.asked(woken)
        questions = work.runs._questions
        await asyncio.to_thread(questions.answer, answered, first.id, YES, None)
        await asyncio.to_thread(questions.answer, woken, second.id, YES, None)
        await asyncio.to_thread(ledger.wake, woken)
        # Cancelled and resumed, and the engine heard of the cancel last.
        crossed = await work.submit(call("save", text="c"), say("Done."))
        (third,) = await work.asked(crossed)
        await work.runs.cancel(crossed)
        await asyncio.to_thread(ledger.queue_again, crossed)
        await asyncio.to_thread(engine.cancel, crossed)
        for run in (answered, woken):
            assert (await work.over(run)).state is RunState.FINISHED
        await work.asked(crossed)
        await work.runs.answer(crossed, third.id, YES)
        assert (await work.over(crossed)).state is RunState.FINISHED


@pytest.mark.parametrize("at", ["before", "after"])
async def test_a_run_is_written_down_and_queued_at_once_or_not_at_all(
    database_url: str, monkeypatch: pytest.MonkeyPatch, at: str
) -> None:
    """The submitting process dies before or after the call to the engine, and before the commit."""
    async with Runs(database_url) as runs:
        submit = runs._engine.submit

        def lost(*arguments: Any, **options: Any) -> None:
            if at == "after":
                submit(*arguments, **options)
            raise RuntimeError("lost")

        with monkeypatch.context() as patch:
            patch.setattr(runs._engine, "submit", lost)
            with pytest.raises(RuntimeError, match="lost"):
                await runs.submit("Hello", id="it", queue="later")
        assert await runs.list() == []
        assert await asyncio.to_thread(runs._engine.astray, ["it"]) == ([], ["it"])
        for _ in range(2):
            await runs.submit("Hello", id="it", queue="later")
        assert [each.id for each in await runs.list()] == ["it"]
        assert await asyncio.to_thread(runs._engine.astray, ["it"]) == ([], [])


@pytest.mark.parametrize("how", ["deleted", "ended"])
async def test_a_run_whose_steps_the_engine_lost_is_never_done_again(database_url: str, how: str) -> None:
    async with at_work(database_url) as work:
        run = await work.submit(call("look", text="a"), call("save", text="b"), say("Done."))
        [question] = await work.asked(run)
        if how == "deleted":
            await asyncio.to_thread(work.engine.forget, [run])
        else:
            name = "workflow_status" if work.runs._database.is_sqlite else "dbos.workflow_status"
            ended = sa.text(f"UPDATE {name} SET status='ERROR' WHERE workflow_uuid=:run")
            await work.runs._database.use(lambda connection: connection.execute(ended, {"run": run}))
        await asyncio.to_thread(work.runs._questions.answer, run, question.id, YES, None)
        await asyncio.to_thread(work.ledger.wake, run)
        info = await work.over(run)
        assert info.state is RunState.FAILED
        assert info.error is not None
        assert "does not have its steps" in info.error.message
        assert isinstance((await work.events(run))[-1].event, RunFailed)
        assert work.deeds.started == ["a"]


async def test_a_fork_without_its_steps_is_never_run(sqlite_url: str) -> None:
    async with at_work(sqlite_url, agent=FULL) as work:
        run = await work.submit(call("save", text="a"), say("Done."))
        await work.over(run)
        fork = work.engine.fork
        work.engine.fork = lambda *_: None
        with pytest.raises(DurableFailed, match="does not have"):
            await work.runs.fork(run, 3)
        work.engine.fork = fork
        [new] = [each.id for each in await work.runs.list() if each.forked]
        info = await work.over(new)
        assert info.state is RunState.FAILED
        assert info.error is not None
        assert "fork" in info.error.message
        assert work.deeds.done == ["a"]


async def test_a_fork_may_take_its_time_and_goes_on_when_whoever_made_it_is_lost(
    sqlite_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with at_work(sqlite_url, agent=FULL) as work:
        run = await work.submit(call("save", text="a"), say("Done."), say("Done again."))
        await work.over(run)
        monkeypatch.setattr(client, "_new_id", lambda: "forked")
        work.models["forked"] = work.models[run]
        fork = work.engine.fork

        def slowly(*arguments: Any) -> None:
            time.sleep(1)
            fork(*arguments)
            time.sleep(1)

        def lost(*_: Any) -> None:
            raise RuntimeError("lost")

        monkeypatch.setattr(work.engine, "fork", slowly)
        monkeypatch.setattr(work.engine, "move", lost)
        with pytest.raises(RuntimeError, match="lost"):
            await work.runs.fork(run, 3)
        assert (await work.over("forked")).text == "Done again."
        assert work.deeds.done == ["a"]


async def test_a_worker_that_was_declared_lost_begins_anew(sqlite_url: str) -> None:
    async with at_work(sqlite_url) as work:
        work.deeds.hold("a")
        run = await work.submit(call("look", text="a"), say("Done."))
        assert await happens(lambda: work.deeds.started == ["a"])
        first = work.worker.id
        lost = workers.update().where(workers.c.id == first).values(state="lost")
        await asyncio.to_thread(work.ledger.database.do, lambda connection: connection.execute(lost))
        assert await happens(lambda: work.worker.id not in ("", first))
        work.deeds._held.clear()
        assert (await work.over(run)).state is RunState.FINISHED
        assert work.deeds.done == ["a"]
        states = {each.id: each.state for each in await work.runs.workers()}
        assert states == {first: "lost", work.worker.id: "alive"}


async def test_the_runs_of_a_dead_worker_are_taken_over(database_url: str) -> None:
    async with Runs(database_url) as runs:
        run = (await runs.submit("question 0")).id
        await asyncio.to_thread(_as_if_taken, runs, run, "gone")
        async with at_work(database_url) as work:
            work.scripts["question 0"] = [say("Done.")]
            info = await work.over(run)
            assert (info.state, info.attempt > 1) == (RunState.FINISHED, True)
            assert any("gone" in each for each in work.told)


def _as_if_taken(runs: Runs, run: str, worker: str) -> None:
    """As if a worker had got the run, begun it, and been killed."""
    name = "workflow_status" if runs._database.is_sqlite else "dbos.workflow_status"
    taken = sa.text(f"UPDATE {name} SET status='PENDING', executor_id=:worker WHERE workflow_uuid=:run")
    running = table.update().where(table.c.id == run).values(state=RunState.RUNNING, worker=worker, attempt=1)

    def change(connection: sa.Connection) -> None:
        assert connection.execute(taken, {"worker": worker, "run": run}).rowcount == 1
        assert connection.execute(running).rowcount == 1

    runs._database.do(change)


async def test_the_end_of_a_run_is_news_for_its_parent_whatever_happens_then(database_url: str) -> None:
    async with Runs(database_url) as runs:
        parent = (await runs.submit("parent", queue="later")).id
        for end in ("end", "stop", "park"):
            child = (await runs.submit("child", queue="later", parent=parent)).id
            before = await asyncio.to_thread(_signals, runs, parent)
            await asyncio.to_thread(_as_if_taken, runs, child, "w")
            ledger: Any = runs._ledger
            if end == "end":
                await asyncio.to_thread(ledger.end, child, 1, RunState.FINISHED)
            elif end == "stop":
                await asyncio.to_thread(ledger.stop, child, RunState.CANCELLED)
            else:
                await asyncio.to_thread(ledger.park, child, 1, RunState.REFUSED)
            assert await asyncio.to_thread(_signals, runs, parent) > before, end


def _signals(runs: Runs, run: str) -> int:
    wanted = sa.select(table.c.signals).where(table.c.id == run)
    return int(runs._database.do(lambda connection: connection.execute(wanted).scalar_one()))


async def test_whoever_lost_the_fence_writes_nothing(database_url: str) -> None:
    async with Runs(database_url) as runs:
        run = (await runs.submit("Hello", queue="later")).id
        await asyncio.to_thread(_as_if_taken, runs, run, "w")
        ledger, intents = runs._ledger, Intents(runs._database)
        before = await runs.get(run)

        def written() -> None:
            writes: list[Callable[[], Any]] = [
                lambda: ledger.mark(run, 0, turns=9),
                lambda: ledger.park(run, 0, RunState.WAITING, seen=0),
                lambda: ledger.end(run, 0, RunState.FINISHED),
                lambda: intents.add(run, 0, 1, "c", "save"),
            ]
            for write in writes:
                with pytest.raises(RunLost):
                    write()
            assert not ledger.take_over(run, 0)
            with pytest.raises(RunLost):
                ledger.begin(run, "a worker that nobody knows")

        await asyncio.to_thread(written)
        assert await runs.get(run) == before
        assert intents.of(run) == set()


async def test_whoever_begins_a_run_takes_it_from_all_others(database_url: str) -> None:
    async with Runs(database_url) as runs:
        run = (await runs.submit("Hello", queue="later")).id
        row = {"host": "h", "pid": 1, "format": 1, "queues": "[]", "agents": "[]", "started": 1.0, "beats": 1}
        ledger: Any = runs._ledger

        def begun() -> None:
            alive = [{"id": id, "beat": 1.0, "state": "alive", **row} for id in ("one", "two")]
            runs._database.do(lambda connection: connection.execute(workers.insert(), alive))
            first = ledger.begin(run, "one")
            ledger.mark(run, first.attempt, turns=1)
            second = ledger.begin(run, "two")
            assert second.attempt > first.attempt
            with pytest.raises(RunLost):
                ledger.mark(run, first.attempt, turns=2)
            ledger.end(run, second.attempt, RunState.FINISHED)
            assert ledger.begin(run, "one") is RunState.FINISHED

        await asyncio.to_thread(begun)
