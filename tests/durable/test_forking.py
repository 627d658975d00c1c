"""A run that goes on from a step of another one: with all that was before it, and nothing of what came after."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import feeding
from durable.working import Work, at_work, happens, quick
from toolwire import Answer
from toolwire.agent.events import RunFailed, RunFinished, ToolFinished, TurnStarted
from toolwire.approval.request import Scope
from toolwire.durable.records import RunState
from toolwire.errors import DurableFailed
from toolwire.testing import call, fail, say

__all__ = ["quick"]
pytestmark = pytest.mark.usefixtures("quick")
FULL = {"policy": "full"}
YES = Answer(allowed=True)


def told(work: Work, run: str) -> list[str]:
    """What the model is told of its calls."""
    messages = work.models[run].requests[-1]["messages"]
    return [message["content"] for message in messages if message["role"] == "tool"]


def spaced(*texts: str) -> bytes:
    """Calls whose ids are several words."""
    entries = [
        feeding.call(f'{{"text":"{text}"}}', index=at, id=f"the call {text}", name="save")
        for at, text in enumerate(texts)
    ]
    return feeding.sse(*(feeding.delta(tool_calls=[each]) for each in entries), feeding.delta(finish="tool_calls"))


async def test_a_fork_has_what_was_before_its_step_and_does_the_rest(database_url: str) -> None:
    async with at_work(database_url, agent=FULL) as work:
        run = await work.submit(spaced("a", "b"), call("look", text="c"), say("Done."))
        await work.over(run)
        steps = await work.runs.steps(run)
        assert [step.number for step in steps] == [1, 2, 3, 4, 5, 6]
        events = await work.events(run)
        # What each fork does of it, by the step that it begins with, and what its model still says.
        later: dict[int, tuple[list[Any], list[str]]] = {
            1: ([spaced("a", "b"), call("look", text="c"), say("Done.")], ["a", "b", "c"]),
            2: ([call("look", text="c"), say("Done.")], ["a", "b", "c"]),
            3: ([call("look", text="c"), say("Done.")], ["b", "c"]),
            4: ([call("look", text="c"), say("Done.")], ["c"]),
            5: ([say("Done.")], ["c"]),
            6: ([say("Done.")], []),
            7: ([], []),
        }
        for step, (script, done) in later.items():
            work.scripts["question 0"] = script
            work.deeds.done.clear()
            new = await work.runs.fork(run, step)
            assert (new.forked, new.parent, new.title) == (run, "", (await work.runs.get(run)).title)
            info = await work.over(new.id)
            assert (info.state, info.text) == (RunState.FINISHED, "Done."), (step, info.error)
            assert sorted(work.deeds.done) == done, step
            assert [each.name for each in await work.runs.steps(new.id)] == [each.name for each in steps]
            again = await work.events(new.id)
            assert [each.position for each in again] == list(range(1, len(again) + 1))
            for kind in (TurnStarted, ToolFinished, RunFinished):
                one, other = ([each for each in some if isinstance(each.event, kind)] for some in (events, again))
                assert len(one) == len(other), (step, kind)
            assert (await work.runs.history(new.id)) == (await work.runs.history(run))
        with pytest.raises(DurableFailed):
            await work.runs.fork(run, 0)
        with pytest.raises(DurableFailed):
            await work.runs.fork(run, 8)


async def test_a_run_that_failed_goes_on_from_the_answer_that_did(sqlite_url: str) -> None:
    async with at_work(sqlite_url, agent=FULL) as work:
        run = await work.submit(call("save", text="a"), fail(400, "no such thing"), say("Done."))
        info = await work.over(run)
        assert info.state is RunState.FAILED
        assert info.error is not None
        assert info.error.facts["status"] == 400
        assert isinstance((await work.events(run))[-1].event, RunFailed)
        new = await work.runs.resume(run)
        work.models[new.id] = work.models[run]
        assert (await work.over(new.id)).state is RunState.FINISHED
        assert work.deeds.done == ["a"]
        ends = [each for each in await work.events(new.id) if isinstance(each.event, (RunFailed, RunFinished))]
        assert [type(each.event) for each in ends] == [RunFinished]
        requests = work.models[run].requests
        assert requests[1] == requests[2]


async def test_what_people_decided_before_the_step_holds_and_what_is_open_is_asked(sqlite_url: str) -> None:
    async with at_work(sqlite_url) as work:
        run = await work.submit(call("save", text="a"), [call("save", text="a"), call("alone", text="c")], say("Done."))
        (question,) = await work.asked(run)
        await work.runs.answer(run, question.id, Answer(allowed=True, scope=Scope.SESSION))
        assert await happens(lambda: work.deeds.done == ["a", "a"])
        (other,) = await work.asked(run)
        # From one that still waits.
        work.scripts["question 0"] = [say("Forked.")]
        new = (await work.runs.fork(run, 4)).id
        (asked,) = await work.asked(new)
        assert asked.request is not None
        assert other.request is not None
        assert asked.request.invocation == other.request.invocation
        await work.runs.answer(new, asked.id, Answer(allowed=False, reason="no"))
        assert (await work.over(new)).text == "Forked."
        assert (await work.runs.get(run)).state is RunState.WAITING
        assert len(await work.runs.questions(run)) == 1
        await work.runs.answer(run, other.id, YES)
        assert (await work.over(run)).text == "Done."


async def test_a_fork_does_not_do_again_what_its_run_may_have_done(sqlite_url: str) -> None:
    async with at_work(sqlite_url, agent=FULL) as work:
        work.deeds.hold("a")
        run = await work.submit([call("save", text="a"), call("look", text="b")], say("Done."))
        assert await happens(lambda: "b" in work.deeds.done and "a" in work.deeds.started)

        async def recorded() -> bool:
            return len(await work.runs.steps(run)) == 2

        assert await happens(recorded)
        work.scripts["question 0"] = [say("Forked.")]
        new = (await work.runs.fork(run, 4)).id
        assert (await work.over(new)).state is RunState.FINISHED
        unknown, known = told(work, new)
        assert unknown.startswith("Error: unknown")
        assert known == "did b"
        assert work.deeds.started.count("a") == 1
        # Forked before the answer that made the call, it is another call.
        work.scripts["question 0"] = [call("save", text="z"), say("Forked.")]
        other = (await work.runs.fork(run, 1)).id
        assert (await work.over(other)).state is RunState.FINISHED
        assert told(work, other) == ["did z"]
        await work.runs.cancel(run)


async def test_a_fork_keeps_its_place_in_the_line(sqlite_url: str) -> None:
    async with at_work(sqlite_url, agent=FULL, concurrency=1) as work:
        late = await work.submit(say("Done."), priority=9)
        await work.over(late)
        gate = work.deeds.hold("a")
        first = await work.submit(call("look", text="a"), say("Done."))
        assert await happens(lambda: work.deeds.started == ["a"])
        work.scripts["question 0"] = [say("Forked.")]
        forked = (await work.runs.fork(late, 1)).id
        second = await work.submit(say("Done."), priority=1)
        gate.set()
        await work.over(first)
        ended = await asyncio.gather(work.over(second), work.over(forked))
        assert all(info.started is not None for info in ended)
        assert (ended[0].started or 0) < (ended[1].started or 0)
        assert ended[1].priority == 9


async def test_a_fork_whose_commit_was_not_heard_of_is_the_same_fork(database_url: str) -> None:
    async with at_work(database_url) as work:
        run = await work.submit(say("Done."))
        await work.over(run)
        for _ in range(2):
            await asyncio.to_thread(work.engine.fork, run, "forked", 1, 0)

        async def is_one() -> bool:
            # The engine ends a run a moment after it is written down as over.
            found = await asyncio.to_thread(work.engine.astray, ["forked", run])
            return bool(found == (["forked"], [run]))

        assert await happens(is_one)
