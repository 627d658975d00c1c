"""One run that starts many: their answers in order, no worker held, ended with it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from durable.working import Work, at_work
from toolwire.durable.fanout import child_ids, sub_agents
from toolwire.durable.records import RunState
from toolwire.durable.workplace import Workplace
from toolwire.messages import ToolResultPart
from toolwire.testing import call, fail, say


def delegating(**options: Any) -> Callable[[Workplace], list[Any]]:
    return lambda place: [sub_agents(place, agent="toolwire", risk="read", **options)]


def results(messages: list[Any]) -> list[dict[str, str]]:
    [part] = [part for message in messages for part in message.parts if isinstance(part, ToolResultPart)]
    return msgspec.json.decode(str(part.content), type=list[dict[str, str]])


def plan(work: Work, tasks: list[str]) -> None:
    """What the model of each task says."""
    for task in tasks:
        work.scripts[task] = [fail(400)] if "wrong" in task else [say(f"did {task}")]


async def test_answers_come_in_the_order_of_the_tasks_and_no_worker_is_held(database_url: str) -> None:
    tasks = ["one", "two", "three is wrong", "four"]
    async with at_work(database_url, agent={"tools": delegating()}, concurrency=1) as work:
        plan(work, tasks)
        run = await work.submit(call("start_agents", tasks=tasks), say("All done."))
        info = await work.over(run)
        assert (info.state, info.text) == (RunState.FINISHED, "All done.")
        messages, _ = await work.runs.history(run)
        told = results(messages)
        assert [each["task"] for each in told] == tasks
        assert [each.get("answer") for each in told] == ["did one", "did two", None, "did four"]
        assert told[2]["state"] == "failed"
        children = await work.runs.list(parent=run)
        assert len(children) == len(tasks), "each task is one run, however often the call was made"
        assert info.begins == 2, "it was left while they worked, and woken once"


async def test_whoever_is_cancelled_takes_those_along_that_it_started(sqlite_url: str) -> None:
    async with at_work(sqlite_url, agent={"tools": delegating(queue="nobody listens")}) as work:
        plan(work, ["one", "two"])
        run = await work.submit(call("start_agents", tasks=["one", "two"]), say("All done."))
        await work.until(run, RunState.WAITING)
        assert [child.state for child in await work.runs.list(parent=run)] == [RunState.QUEUED] * 2
        await work.runs.cancel(run)
        assert [child.state for child in await work.runs.list(parent=run)] == [RunState.CANCELLED] * 2


async def test_agents_start_agents_only_so_deep(sqlite_url: str) -> None:
    async with at_work(sqlite_url, agent={"tools": delegating(depth=1)}) as work:
        work.scripts["inner"] = [call("start_agents", tasks=["innermost"]), say("I did it myself.")]
        run = await work.submit(call("start_agents", tasks=["inner"]), say("Done."))
        assert (await work.over(run)).state is RunState.FINISHED
        [child] = await work.runs.list(parent=run)
        messages, _ = await work.runs.history(child.id)
        [part] = [part for message in messages for part in message.parts if isinstance(part, ToolResultPart)]
        assert "more than 1 deep" in str(part.content)
        assert await work.runs.list(parent=child.id) == []


async def test_a_call_that_is_made_again_finds_the_same_runs(sqlite_url: str) -> None:
    async with at_work(sqlite_url, agent={"tools": delegating(queue="later")}) as work:
        plan(work, ["one"])
        run = await work.submit(call("start_agents", tasks=["one"]), say("Done."))
        for begins in (1, 2):
            assert (await work.until(run, RunState.WAITING)).begins == begins
            await work.runs.pause(run)
            await work.runs.resume(run)
            await work.until(run, RunState.RUNNING)
        await work.until(run, RunState.WAITING)
        [child] = await work.runs.list(parent=run)
        assert child.id in child_ids(run, 1, "call_1", 1)
