"""A run is worked on by who can, or refused in words: never garbled, never stuck."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
import sqlalchemy as sa

from durable.working import Work, at_work, happens, quick
from toolwire import Agent, Answer
from toolwire.agent.events import HookFailed, ToolFinished
from toolwire.agent.hooks import Hooks
from toolwire.durable import dbos_engine
from toolwire.durable.attempt import DurableAgent
from toolwire.durable.client import Runs
from toolwire.durable.database import runs as table
from toolwire.durable.records import RunState
from toolwire.errors import ConfigError
from toolwire.testing import call, say

__all__ = ["quick"]
pytestmark = pytest.mark.usefixtures("quick")
YES = Answer(allowed=True)


async def test_an_agent_that_no_one_has_is_waited_for(sqlite_url: str) -> None:
    async with at_work(sqlite_url) as work:
        run = await work.submit(say("Done."), agent="writer")
        info = await work.over(run)
        assert info.state is RunState.REFUSED
        assert info.error is not None
        assert "'writer'" in info.error.message
        assert info.error.hint
        assert [event async for event in work.runs.follow(run)] == []
        assert (await work.runs.cancel(run)).state is RunState.CANCELLED
        await work.runs.resume(run)
        assert (await work.over(run)).state is RunState.REFUSED
    offered = [DurableAgent("writer", work.make)]
    async with at_work(sqlite_url, agents=lambda _: offered) as later:
        assert (await later.runs.resume(run)).state is RunState.QUEUED
        info = await later.over(run)
        assert (info.state, info.error) == (RunState.FINISHED, None)


@pytest.mark.parametrize(
    ("version", "accepts", "state"),
    [("1", (), RunState.FINISHED), ("2", (), RunState.REFUSED), ("2", ("0", "1"), RunState.FINISHED)],
)
async def test_a_run_goes_on_with_the_version_that_began_it_or_one_that_can(
    sqlite_url: str, version: str, accepts: tuple[str, ...], state: RunState
) -> None:
    async with at_work(sqlite_url) as work:
        run = await work.submit(call("save", text="a"), say("Done."))
        (question,) = await work.asked(run)
        assert (await work.runs.get(run)).agent_version == "1"
    offered = [DurableAgent("toolwire", work.make, version, frozenset(accepts))]
    async with at_work(sqlite_url, agents=lambda _: offered, known=work) as later:
        await later.runs.answer(run, question.id, YES)
        info = await later.over(run)
        assert info.state is state
        if state is RunState.REFUSED:
            assert info.error is not None
            assert "version 1" in info.error.message
            assert "version 2" in info.error.message
            assert work.deeds.done == []


@pytest.mark.parametrize("error", [ConfigError("no such model"), ValueError("oops"), KeyError("x")])
async def test_an_agent_that_cannot_be_made_refuses_the_run(sqlite_url: str, error: Exception) -> None:
    errors = [error]

    def offered(work: Work) -> list[DurableAgent]:
        def make(spec: Any, place: Any) -> Agent:
            if errors:
                raise errors.pop()
            return work.make(spec, place)

        return [DurableAgent("toolwire", make)]

    async with at_work(sqlite_url, agents=offered) as work:
        run = await work.submit(say("Done."))
        info = await work.over(run)
        assert info.state is RunState.REFUSED
        assert info.error is not None
        assert str(error.args[0]) in info.error.message
        await work.runs.resume(run)
        assert (await work.over(run)).state is RunState.FINISHED


async def test_a_loop_that_breaks_fails_the_run(sqlite_url: str) -> None:
    def offered(work: Work) -> list[DurableAgent]:
        def make(spec: Any, place: Any) -> Agent:
            agent = work.make(spec, place)
            if broken:
                agent._context.make_room = lambda *_, **__: 1 / 0  # type: ignore[assignment]
            return agent

        return [DurableAgent("toolwire", make)]

    broken = True
    async with at_work(sqlite_url, agents=offered) as work:
        run = await work.submit(say("Done."))
        info = await work.over(run)
        assert info.state is RunState.FAILED
        assert info.error is not None
        assert "ZeroDivisionError" in info.error.message
        broken = False
        new = await work.runs.resume(run)
        assert (await work.over(new.id)).state is RunState.FINISHED


async def test_what_cannot_be_read_is_refused(sqlite_url: str) -> None:
    async with Runs(sqlite_url) as runs:
        run = (await runs.submit("question 0")).id
        broken = table.update().where(table.c.id == run).values(spec='{"prompt": 1}')
        await asyncio.to_thread(runs._database.do, lambda connection: connection.execute(broken))
    async with at_work(sqlite_url) as work:
        info = await work.over(run)
        assert info.state is RunState.REFUSED
        assert info.error is not None


async def test_a_run_of_another_format_is_for_others(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async with Runs(database_url) as runs:
        with monkeypatch.context() as patch:
            patch.setattr(dbos_engine, "VERSION", "toolwire-0")
            old = (await runs.submit("old")).id
    async with at_work(database_url) as work:
        # Also when it is taken from a worker of its own that is gone.
        name = "workflow_status" if work.runs._database.is_sqlite else "dbos.workflow_status"
        gone = sa.text(f"UPDATE {name} SET status='PENDING', executor_id='gone' WHERE workflow_uuid=:run")
        await asyncio.to_thread(
            work.ledger.database.do, lambda connection: connection.execute(gone, {"run": old}).rowcount
        )
        assert await happens(lambda: any("gone" in each for each in work.told))
        new = await work.submit(say("Done."))
        assert (await work.over(new)).state is RunState.FINISHED
        assert (await work.runs.get(old)).state is RunState.QUEUED


async def test_hooks_watch_and_veto_here_too(sqlite_url: str) -> None:
    seen: list[str] = []

    class Watching(Hooks):
        async def before_call(self, invocation: Any, tool: Any) -> str | None:
            seen.append(invocation.id)
            return "not today" if tool.name == "save" else None

        async def on_event(self, event: Any) -> None:
            if isinstance(event, ToolFinished):
                raise ValueError("no")

    async with at_work(sqlite_url, agent={"hooks": [Watching()]}) as work:
        run = await work.submit([call("look", text="a"), call("save", text="b")], call("alone", text="c"), say("Done."))
        (question,) = await work.asked(run)
        await work.runs.answer(run, question.id, YES)
        assert (await work.over(run)).state is RunState.FINISHED
        # A call that was done is not asked about again; one that waits is, each time.
        assert sorted(seen) == ["call_1", "call_2", "call_3", "call_3"]
        assert work.deeds.done == ["a", "c"]
        failed = [each.event for each in await work.events(run) if isinstance(each.event, HookFailed)]
        assert failed
