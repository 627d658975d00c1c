"""A database that has no room for a while: nothing that was done is lost, and nothing is done twice."""

from __future__ import annotations

from typing import Any

import pytest
import sqlalchemy as sa

from durable.working import Deeds, at_work, happens
from toolwire.agent.events import ToolFinished
from toolwire.durable import database
from toolwire.durable.records import RunState
from toolwire.testing import call, say

ROOM, NO_ROOM = 1_000_000, 1
"""Pages that the file may have. It never shrinks below what it has, but it does not grow."""
LONG = "x" * 30_000
"""A result that needs new pages."""


class Disk:
    """What all connections of this process write to: no room for rows of one table, while it has a name."""

    def __init__(self) -> None:
        self.full_for = ""
        self.refused = 0

    def hold(self, engine: sa.Engine) -> sa.Engine:
        @sa.event.listens_for(engine, "before_cursor_execute")
        def about_to(_: object, cursor: Any, statement: str, *__: object) -> None:
            has_room = not self.full_for or f"{self.full_for} (" not in statement
            cursor.connection.execute(f"PRAGMA max_page_count={ROOM if has_room else NO_ROOM}")

        @sa.event.listens_for(engine, "handle_error")
        def failed(context: sa.engine.ExceptionContext) -> None:
            self.refused += "is full" in str(context.original_exception)

        return engine


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Disk:
    disk, make = Disk(), database._engine
    monkeypatch.setattr(database, "_engine", lambda *given: disk.hold(make(*given)))
    return disk


@pytest.mark.parametrize("table", ["operation_outputs", "toolwire_events"])
async def test_a_result_is_recorded_when_there_is_room_again(sqlite_url: str, disk: Disk, table: str) -> None:
    """The engine would take the fault of its own recording for what the step gave, and tell it for ever."""
    deeds = Deeds()
    gate = deeds.hold(LONG)
    async with at_work(sqlite_url, deeds=deeds, agent={"policy": "full"}) as work:
        run = await work.submit(call("save", text=LONG), say("Done."))
        assert await happens(lambda: deeds.started)
        disk.full_for = table
        gate.set()
        assert await happens(lambda: disk.refused > 1)
        disk.full_for = ""
        info = await work.over(run)
        told = [event.event for event in await work.events(run)]
    assert (info.state, info.text, info.attempt) == (RunState.FINISHED, "Done.", 1)
    assert deeds.done == [LONG]
    assert [event.result.outcome for event in told if isinstance(event, ToolFinished)] == ["ok"]
