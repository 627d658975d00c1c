"""Runs that wait for people: left by their worker, asked once, answered in any order, from anywhere."""

from __future__ import annotations

import json
from contextlib import aclosing
from typing import Any

import pytest

import feeding
from durable.working import at_work, happens, quick
from toolwire import Answer
from toolwire.agent.events import ApprovalAnswered, ApprovalAsked, ToolFinished, ToolStarted
from toolwire.approval.request import Scope
from toolwire.builtin.asking import asking_tools
from toolwire.durable.client import Runs
from toolwire.durable.records import RunEvent, RunState
from toolwire.errors import DurableFailed
from toolwire.testing import call, say

__all__ = ["quick"]
pytestmark = pytest.mark.usefixtures("quick")
YES, NO = Answer(allowed=True), Answer(allowed=False, reason="not now")


def results(request: dict[str, Any]) -> list[str]:
    """What the model is told of its calls."""
    return [message["content"] for message in request["messages"] if message["role"] == "tool"]


async def test_calls_of_one_answer_are_answered_in_any_order_over_several_parks(database_url: str) -> None:
    async with at_work(database_url) as work:
        run = await work.submit([call("save", text=each) for each in "abc"], say("Done."))
        first, second, third = await work.asked(run, 3)
        assert (await work.runs.get(run)).worker == ""
        await work.runs.answer(run, third.id, YES, digest=third.digest)
        assert await happens(lambda: work.deeds.done == ["c"])
        assert [each.id for each in await work.asked(run, 2)] == [first.id, second.id]
        await work.runs.answer(run, first.id, NO)
        (left,) = await work.asked(run)
        assert left.id == second.id
        await work.runs.answer(run, second.id, YES)
        info = await work.over(run)
        assert (info.state, info.questions) == (RunState.FINISHED, 0)
        assert work.deeds.done == ["c", "b"]
        told = results(work.models[run].requests[-1])
        assert told[0].startswith("Error: not run")
        assert "not now" in told[0]
        assert told[1:] == ["did b", "did c"]
        events = [(type(each.event), each.id) for each in await work.events(run)]
        for question in (first, second, third):
            for kind in (ApprovalAsked, ApprovalAnswered, ToolFinished):
                assert events.count((kind, question.id)) == 1
        assert [each for kind, each in events if kind is ToolStarted] == [third.id, second.id]


async def test_calls_behind_one_that_waits_hold_no_worker(sqlite_url: str) -> None:
    async with at_work(sqlite_url) as work:
        behind = await work.submit([call("alone", text="a"), call("look", text="b")], say("Done."))
        path = await work.submit(
            [call("put", path="x", text="c"), call("put", path="x", text="d"), call("put", path="y", text="e")],
            say("Done."),
        )
        (question,) = await work.asked(behind)
        assert work.deeds.started == []
        await work.runs.answer(behind, question.id, YES)
        await work.over(behind)
        assert work.deeds.done == ["a", "b"]
        work.deeds.done.clear()
        first, second, third = await work.asked(path, 3)
        await work.runs.answer(path, second.id, YES)
        await work.runs.answer(path, third.id, YES)
        assert await happens(lambda: work.deeds.done == ["e"])
        (left,) = await work.asked(path)
        assert left.id == first.id
        await work.runs.answer(path, first.id, YES)
        assert (await work.over(path)).state is RunState.FINISHED
        assert work.deeds.done == ["e", "c", "d"]


async def test_a_model_asks_people_too(sqlite_url: str) -> None:
    async with at_work(sqlite_url, agent={"tools": lambda place: asking_tools(place.person.ask_person)}) as work:
        run = await work.submit(
            [call("ask_user", question="Which?", options=["red", "blue"]), call("ask_user", question="Why?")],
            say("Done."),
        )
        which, why = await work.asked(run, 2)
        assert (which.question, which.options, which.request) == ("Which?", ["red", "blue"], None)
        with pytest.raises(DurableFailed, match="waits for words"):
            await work.runs.answer(run, which.id, YES)
        await work.runs.answer(run, why.id, "because\0 of \ud800")
        await work.asked(run)
        await work.runs.answer(run, which.id, "red", digest=which.digest)
        assert (await work.over(run)).state is RunState.FINISHED
        told = results(work.models[run].requests[-1])
        assert told[0] == "red"
        assert told[1].startswith("because")


async def test_the_same_question_in_another_turn_is_another(sqlite_url: str) -> None:
    entry = feeding.call('{"question":"Go on?"}', id="0", name="ask_user")
    asks = feeding.sse(feeding.delta(tool_calls=[entry]), feeding.delta(finish="tool_calls"))
    async with at_work(sqlite_url, agent={"tools": lambda place: asking_tools(place.person.ask_person)}) as work:
        run = await work.submit(asks, asks, say("Done."))
        (first,) = await happens_once_left_in(work, run, 1)
        await work.runs.answer(run, first.id, "yes", digest=first.digest)
        (second,) = await happens_once_left_in(work, run, 2)
        assert (first.id, first.question) == (second.id, second.question)
        assert first.digest != second.digest
        with pytest.raises(DurableFailed, match="not the one that was shown"):
            await work.runs.answer(run, second.id, "no", digest=first.digest)
        await work.runs.answer(run, second.id, "no", digest=second.digest)
        await work.over(run)
        assert results(work.models[run].requests[-1]) == ["yes", "no"]


async def test_ids_that_come_again_in_each_turn_are_other_calls(sqlite_url: str) -> None:
    def save(text: str) -> bytes:
        entry = feeding.call(f'{{"text":"{text}"}}', id="a b", name="save")
        return feeding.sse(feeding.delta(tool_calls=[entry]), feeding.delta(finish="tool_calls"))

    async with at_work(sqlite_url) as work:
        run = await work.submit(save("1"), save("2"), save("3"), say("Done."))
        for turn, answer in ((1, YES), (2, NO), (3, YES)):
            (question,) = await happens_once_left_in(work, run, turn)
            await work.runs.answer(run, question.id, answer, digest=question.digest)
        assert (await work.over(run)).state is RunState.FINISHED
        assert work.deeds.done == ["1", "3"]
        told = results(work.models[run].requests[-1])
        assert [told[0], told[2]] == ["did 1", "did 3"]
        assert "not now" in told[1]


async def happens_once_left_in(work: Any, run: str, turn: int) -> Any:
    async def waits() -> bool:
        info = await work.runs.get(run)
        found = await work.runs.questions(run)
        return info.state is RunState.WAITING and [each.turn for each in found] == [turn]

    assert await happens(waits), await work.runs.questions(run)
    return await work.runs.questions(run)


@pytest.mark.parametrize(
    ("answer", "done", "questions"),
    [
        (Answer(allowed=True, scope=Scope.SESSION), ["a", "a"], [1]),
        (Answer(allowed=False, scope=Scope.SESSION, reason="never"), [], [1]),
        (Answer(allowed=True, scope=Scope.SESSION, arguments={"text": "b"}), ["b", "a"], [1, 2]),
        (Answer(allowed=True, arguments={"text": "b"}), ["b", "a"], [1, 2]),
    ],
)
async def test_an_answer_holds_for_as_long_as_it_says_whoever_works(
    sqlite_url: str, answer: Answer, done: list[str], questions: list[int]
) -> None:
    async with at_work(sqlite_url) as work:
        run = await work.submit(call("save", text="a"), call("save", text="a"), say("Done."))
        asked = []
        while not (info := await work.until(run, RunState.WAITING, RunState.FINISHED)).state.is_over:
            for question in await work.runs.questions(run):
                asked.append(question.turn)
                await work.runs.answer(run, question.id, answer if question.turn == 1 else YES)
        assert info.state is RunState.FINISHED
        assert (work.deeds.done, asked) == (done, questions)
        events = [each.event for each in await work.events(run)]
        assert sum(isinstance(each, ApprovalAnswered) for each in events) == len(questions)


async def test_rules_of_the_first_answer_hold_in_later_attempts(sqlite_url: str) -> None:
    async with at_work(sqlite_url) as work:
        run = await work.submit(call("save", text="a"), [call("save", text="a"), call("alone", text="c")], say("Done."))
        (question,) = await work.asked(run)
        await work.runs.answer(run, question.id, Answer(allowed=True, scope=Scope.SESSION))
        # A park, and another attempt: it does not come by the first question any more.
        (other,) = await happens_once_left_in(work, run, 2)
        assert other.request is not None
        assert other.request.invocation.tool_name == "alone"
        await work.runs.answer(run, other.id, YES)
        assert (await work.over(run)).state is RunState.FINISHED
        assert work.deeds.done == ["a", "a", "c"]


async def test_an_answer_is_taken_once_for_exactly_what_was_shown(sqlite_url: str) -> None:
    async with at_work(sqlite_url) as work:
        run = await work.submit([call("save", text="a"), call("save", text="b")], say("Done."))
        first, second = await work.asked(run, 2)
        with pytest.raises(DurableFailed, match="not the one that was shown"):
            await work.runs.answer(run, first.id, YES, digest=second.digest)
        with pytest.raises(DurableFailed, match="a yes or a no"):
            await work.runs.answer(run, first.id, "yes, please")
        with pytest.raises(DurableFailed, match="nothing waits"):
            await work.runs.answer(run, "call_9", YES)
        await work.runs.answer(run, first.id, Answer(allowed=False, who="me@here"))
        with pytest.raises(DurableFailed, match="answered already by me@here: no"):
            await work.runs.answer(run, first.id, YES)
        await work.runs.answer(run, second.id, NO)
        await work.over(run)
        with pytest.raises(DurableFailed):
            await work.runs.answer(run, second.id, YES)
        assert work.deeds.done == []


async def test_an_answer_to_a_run_that_is_over_is_none(sqlite_url: str) -> None:
    async with at_work(sqlite_url) as work:
        run = await work.submit(call("save", text="a"), say("Done."))
        (question,) = await work.asked(run)
        assert (await work.runs.cancel(run)).state is RunState.CANCELLED
        assert await work.runs.questions(run) == []
        with pytest.raises(DurableFailed):
            await work.runs.answer(run, question.id, YES)
        await work.runs.resume(run)
        (again,) = await work.asked(run)
        assert (again.digest, again.answered) == (question.digest, None)
        await work.runs.answer(run, question.id, YES)
        assert (await work.over(run)).state is RunState.FINISHED


async def test_what_is_answered_at_once_costs_no_park(sqlite_url: str) -> None:
    async with at_work(sqlite_url, patience=60) as work:
        run = await work.submit(call("save", text="a"), say("Done."))
        assert await happens(lambda: work.runs.questions(run))
        (question,) = await work.runs.questions(run)
        await work.runs.answer(run, question.id, YES)
        info = await work.over(run)
        assert (info.state, info.attempt) == (RunState.FINISHED, 1)


async def test_an_answer_holds_for_no_other_call_than_the_one_that_was_shown(
    sqlite_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LANG", "C")
    async with at_work(sqlite_url) as work:
        run = await work.submit(call("save", text="a"), say("Done."))
        (question,) = await work.asked(run)
    # On a machine where the same words mean something else.
    monkeypatch.setenv("LANG", "de_DE.UTF-8")
    await work_answered(sqlite_url, run, question.id, question.digest)
    async with at_work(sqlite_url, known=work) as later:
        await later.until(run, RunState.WAITING)
        (anew,) = await later.asked(run)
        assert anew.digest != question.digest
        assert work.deeds.done == []
        with pytest.raises(DurableFailed, match="not the one that was shown"):
            await later.runs.answer(run, anew.id, YES, digest=question.digest)
        asked = [each.event for each in await shown(later, run) if isinstance(each.event, ApprovalAsked)]
        assert [each.request.digest for each in asked] == [question.digest, anew.digest]
        await later.runs.answer(run, anew.id, YES, digest=anew.digest)
        assert (await later.over(run)).state is RunState.FINISHED
        assert work.deeds.done == ["a"]


async def work_answered(url: str, run: str, id: str, digest: str) -> None:
    async with Runs(url) as runs:
        await runs.answer(run, id, YES, digest=digest)


async def shown(work: Any, run: str) -> list[RunEvent]:
    """What a follower has been told when a run waits."""
    info = await work.runs.get(run)
    events = []
    async with aclosing(work.runs.follow(run, until_over=False)) as following:
        async for event in following:
            events.append(event)
            if event.position == info.position:
                break
    return events


async def test_what_providers_call_their_calls_is_anything(database_url: str) -> None:
    ids = ["a\0b", "", "é\u202e", "call 1 save x", "a/b"]

    def save(id: str) -> bytes:
        entry = feeding.call('{"text":"x"}', id=id, name="save")
        body = json.dumps(feeding.delta(tool_calls=[entry]))
        return feeding.sse(body, feeding.delta(finish="tool_calls"))

    async with at_work(database_url) as work:
        runs = [await work.submit(save(id), say("Done.")) for id in ids]
        for run in runs:
            (question,) = await work.asked(run)
            await work.runs.answer(run, question.id, YES, digest=question.digest)
        for run in runs:
            info = await work.over(run)
            assert info.state is RunState.FINISHED, info.error
            assert results(work.models[run].requests[-1]) == ["did x"]
            new = await work.runs.fork(run, 3)
            work.scripts[new.title] = [say("Forked.")]
            assert (await work.over(new.id)).text == "Forked."
        assert work.deeds.done == ["x"] * len(ids)
