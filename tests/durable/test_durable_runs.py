"""What anyone may do with a run, in whatever state it is: pause, cancel, resume, let its time be over, forget it."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest

from durable.working import at_work, happens, quick
from toolwire import Answer, Message
from toolwire.agent.events import RunFailed, RunFinished, RunInterrupted
from toolwire.durable.client import Runs
from toolwire.durable.database import runs as runs_table
from toolwire.durable.records import RunState
from toolwire.errors import ConfigError, DurableFailed
from toolwire.messages import user
from toolwire.testing import call, say

__all__ = ["quick"]
pytestmark = pytest.mark.usefixtures("quick")
YES = Answer(allowed=True)
FULL = {"policy": "full"}


def told(request: dict[str, Any]) -> list[str]:
    """What the model is told of its calls."""
    return [message["content"] for message in request["messages"] if message["role"] == "tool"]


async def test_a_run_is_paused_and_resumed_in_every_state(database_url: str) -> None:
    async with at_work(database_url, agent=FULL) as work:
        queued = await work.submit(say("Done."), queue="later")
        assert (await work.runs.pause(queued)).state is RunState.PAUSED
        with pytest.raises(DurableFailed, match="paused"):
            await work.runs.pause(queued)
        assert (await work.runs.resume(queued)).state is RunState.QUEUED
        with pytest.raises(DurableFailed, match="queued"):
            await work.runs.resume(queued)

        gate = work.deeds.hold("a")
        running = await work.submit(
            [call("alone", text="a"), call("alone", text="b")], call("save", text="c"), say("Done.")
        )
        assert await happens(lambda: work.deeds.started == ["a"])
        await work.runs.pause(running)
        with pytest.raises(DurableFailed, match="running"):
            await work.runs.resume(running)
        assert await happens(lambda: next(place._pausing for place in work.worker._places() if place.run == running))
        gate.set()
        await work.until(running, RunState.PAUSED)
        assert work.deeds.started == ["a"]
        assert (await work.runs.resume(running)).id == running
        assert (await work.over(running)).state is RunState.FINISHED
        assert work.deeds.started == work.deeds.done == ["a", "b", "c"]
        assert told(work.models[running].requests[-1]) == ["did a", "did b", "did c"]
        with pytest.raises(DurableFailed, match="finished"):
            await work.runs.pause(running)
        with pytest.raises(DurableFailed, match="finished"):
            await work.runs.resume(running)


async def test_a_run_that_waits_is_paused_and_its_answer_waits_with_it(sqlite_url: str) -> None:
    async with at_work(sqlite_url) as work:
        run = await work.submit(call("save", text="a"), say("Done."))
        (question,) = await work.asked(run)
        assert (await work.runs.pause(run)).state is RunState.PAUSED
        await work.runs.answer(run, question.id, YES)
        later = await work.submit(say("Done."))
        await work.over(later)
        assert (await work.runs.get(run)).state is RunState.PAUSED
        assert work.deeds.done == []
        await work.runs.resume(run)
        assert (await work.over(run)).state is RunState.FINISHED
        assert work.deeds.done == ["a"]


async def test_a_run_is_cancelled_in_every_state_and_goes_on_when_resumed(database_url: str) -> None:
    async with at_work(database_url) as work:
        queued = await work.submit(say("Done."), queue="later")
        assert (await work.runs.cancel(queued)).state is RunState.CANCELLED
        assert (await work.runs.resume(queued)).state is RunState.QUEUED
        assert (await work.runs.cancel(queued)).state is RunState.CANCELLED

        waiting = await work.submit(call("save", text="a"), say("Done."))
        paused = await work.submit(call("save", text="b"), say("Done."))
        await work.asked(waiting)
        await work.asked(paused)
        await work.runs.pause(paused)
        for run in (waiting, paused):
            info = await work.runs.cancel(run)
            assert info.state is RunState.CANCELLED
            assert info.ended is not None
            assert await work.runs.cancel(run) == info
            assert isinstance((await work.events(run))[-1].event, RunInterrupted)
        await work.runs.resume(waiting)
        (question,) = await work.asked(waiting)
        await work.runs.answer(waiting, question.id, YES)
        finished = await work.over(waiting)
        assert (finished.state, finished.error, work.deeds.done) == (RunState.FINISHED, None, ["a"])
        assert await work.runs.cancel(waiting) == finished
        kinds = [type(each.event) for each in await work.events(waiting)]
        assert (kinds.count(RunInterrupted), kinds[-1]) == (1, RunFinished)


async def test_a_tool_that_runs_is_stopped_by_a_cancel_and_its_outcome_is_unknown(sqlite_url: str) -> None:
    async with at_work(sqlite_url, agent=FULL) as work:
        work.deeds.hold("a")
        run = await work.submit([call("save", text="a"), call("look", text="b")], say("Done."))
        assert await happens(lambda: sorted(work.deeds.started) == ["a", "b"])
        assert await happens(lambda: _steps(work, run, 2))
        await work.runs.cancel(run)
        assert await happens(lambda: any("someone else's" in each for each in work.told))
        del work.deeds._held["a"]
        await work.runs.resume(run)
        assert (await work.over(run)).state is RunState.FINISHED
        first, second = told(work.models[run].requests[-1])
        assert first.startswith("Error: unknown")
        assert second == "did b"
        assert (work.deeds.started.count("a"), work.deeds.done) == (1, ["b"])


async def _steps(work: Any, run: str, count: int) -> bool:
    return len(await work.runs.steps(run)) == count


async def _turns(work: Any, run: str) -> int:
    turns: int = (await work.runs.get(run)).turns
    return turns


async def out_of_time(work: Any, run: str) -> None:
    """The time of this run is over from now on."""
    assert (await work.runs.get(run)).deadline is not None
    late = runs_table.update().where(runs_table.c.id == run).values(deadline=time.time() - 0.001)
    await asyncio.to_thread(work.ledger.database.do, lambda connection: connection.execute(late))


async def test_a_run_whose_time_is_over_fails_wherever_it_is(sqlite_url: str) -> None:
    async with at_work(sqlite_url, agent=FULL) as work:
        never = await work.submit(say("Done."), queue="later", timeout=0.01)
        work.deeds.hold("a")
        running = await work.submit(call("save", text="a"), say("Done."), timeout=60)
        slow = await work.submit(call("look", text="b"), say("Done."), timeout=30)
        assert (await work.over(slow)).state is RunState.FINISHED
        assert await happens(lambda: "a" in work.deeds.started)
        assert await happens(lambda: _turns(work, running))
        await out_of_time(work, running)
        info = await work.over(running)
        assert info.state is RunState.FAILED
        assert info.error is not None
        assert info.turns == 1
        assert isinstance((await work.events(running))[-1].event, RunFailed)
        assert await happens(lambda: any("someone else's" in each for each in work.told))
        assert (await work.runs.get(never)).state is RunState.QUEUED
        # It goes on as another run, without a limit, and does not do again what may have been done.
        del work.deeds._held["a"]
        new = await work.runs.resume(running)
        assert (new.forked, new.id != running) == (running, True)
        work.models[new.id] = work.models[running]
        assert (await work.over(new.id)).state is RunState.FINISHED
        assert told(work.models[running].requests[-1])[0].startswith("Error: unknown")
        assert (work.deeds.started.count("a"), (await work.runs.get(running)).state) == (1, RunState.FAILED)


async def test_time_passes_while_a_run_waits_or_is_paused(sqlite_url: str) -> None:
    async with at_work(sqlite_url) as work:
        waiting = await work.submit(call("save", text="a"), say("Done."), timeout=60)
        paused = await work.submit(call("save", text="b"), say("Done."), timeout=60)
        await work.asked(waiting)
        await work.asked(paused)
        await work.runs.pause(paused)
        for run in (waiting, paused):
            await out_of_time(work, run)
            assert (await work.over(run)).state is RunState.FAILED
            assert await work.runs.questions(run) == []


async def test_the_same_id_is_the_same_run(sqlite_url: str) -> None:
    async with at_work(sqlite_url) as work:
        run = await work.submit(say("First."), prompt="first", id="my.run-1")
        again = await work.submit(say("Second."), prompt="second", id="my.run-1")
        assert run == again == "my.run-1"
        assert (await work.over(run)).text == "First."
        after = await work.runs.submit("third", id="my.run-1")
        assert (after.state, after.title) == (RunState.FINISHED, "first")
        assert len(await work.runs.list()) == 1


async def test_a_run_goes_on_from_the_conversation_of_another(sqlite_url: str) -> None:
    async with at_work(sqlite_url, agent={"system_prompt": "Be brief."}) as work:
        first = await work.submit(call("look", text="a"), say("One."), prompt="one?")
        assert (await work.over(first)).state is RunState.FINISHED
        history, turn = await work.runs.history(first)
        assert turn == 2
        second = await work.submit(say("Two."), prompt="two?", history=history, turn=turn)
        assert (await work.over(second)).text == "Two."
        (request,) = work.models[second].requests
        roles = [each["role"] for each in request["messages"]]
        assert roles == ["system", "user", "assistant", "tool", "assistant", "user"]
        assert (await work.runs.steps(second))[0].name == "answer 3"
        assert (await work.runs.history(second))[1] == 3


async def test_runs_are_listed_found_and_forgotten(database_url: str) -> None:
    async with at_work(database_url) as work:
        done = await work.submit(say("Done."), id="abc-1")
        await work.over(done)
        queued = await work.submit(say("Done."), id="abc-2", queue="later", priority=3)
        assert [each.id for each in await work.runs.list()] == [queued, done]
        assert [each.id for each in await work.runs.list(states=[RunState.QUEUED])] == [queued]
        assert [each.id for each in await work.runs.list(queue="later")] == [queued]
        assert (await work.runs.get("abc-1")).id == done
        for id in ("abc", "x", "", "%"):
            with pytest.raises(DurableFailed):
                await work.runs.get(id)
        assert (await work.runs.get(queued)).priority == 3
        assert await work.runs.prune(older_than=3600) == 0
        assert await work.runs.prune(older_than=-1) == 1
        assert [each.id for each in await work.runs.list()] == [queued]
        with pytest.raises(DurableFailed):
            await work.runs.steps(done)


@pytest.mark.parametrize(
    "options",
    [
        {"queue": ""},
        {"queue": "toolwire-waiting"},
        {"priority": -1},
        {"timeout": 0},
        {"timeout": float("nan")},
        {"id": "a b"},
        {"id": ""},
        {"id": "x" * 201},
    ],
)
async def test_what_cannot_be_submitted_is_refused(sqlite_url: str, options: dict[str, Any]) -> None:
    async with Runs(sqlite_url) as runs:
        with pytest.raises(ConfigError):
            await runs.submit("Hello", **options)
        assert await runs.list() == []


async def test_a_pause_is_not_lost_on_one_who_leaves_at_the_same_time(database_url: str) -> None:
    async with Runs(database_url) as runs:
        ledger: Any = runs._ledger
        for state in (RunState.WAITING, RunState.QUEUED):
            run = (await runs.submit("Hello")).id
            begun = await _begun(runs, run)
            assert ledger.want(run, "pause")
            ledger.park(run, begun.attempt, state, seen=0 if state is RunState.WAITING else None)
            assert (await runs.get(run)).state is RunState.PAUSED


async def _begun(runs: Runs, run: str) -> Any:
    from toolwire.durable.database import workers

    ledger: Any = runs._ledger
    now = time.time()
    row = {"id": f"w-{run}", "host": "h", "pid": 1, "format": 1, "queues": "[]", "agents": "[]"}
    insert = workers.insert().values(**row, started=now, beats=1, beat=now, state="alive")
    await asyncio.to_thread(ledger.database.do, lambda connection: connection.execute(insert))
    return await asyncio.to_thread(ledger.begin, run, f"w-{run}")


async def test_a_message_of_parts_is_a_question_too(sqlite_url: str) -> None:
    async with Runs(sqlite_url) as runs:
        run = await runs.submit(user("Hello"), options={"x": 1})
        spec = await runs.spec(run.id)
        assert (spec.prompt.text, spec.options, type(spec.prompt)) == ("Hello", {"x": 1}, Message)
