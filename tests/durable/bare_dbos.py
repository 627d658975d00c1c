"""DBOS with nothing of ours around it, as its documents say: what it does itself, and what it does not.

As a program it works on the runs of a database until one of them kills it.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sqlite3
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import sqlalchemy as sa
from dbos import DBOS, DBOSClient, DBOSPortableJSONSerializer, EnqueueOptions

from toolwire.durable.database import Database
from waiting import until

VERSION = "1"
OPEN = "open"
NOBODYS = "nobodys"
"""A queue that nobody looks into."""
_POLL = 0.02
_QUEUES: dict[str, dict[str, Any]] = {
    OPEN: {},
    "one for messages": {"worker_concurrency": 1},
    "one for others": {"worker_concurrency": 1},
    "one an hour": {"limiter": {"limit": 1, "period": 3600.0}},
    "three an hour": {"limiter": {"limit": 3, "period": 3600.0}},
}


class Bare:
    """One process of DBOS, all that it may run, and a client."""

    def __init__(self, url: str, executor: str, folder: Path) -> None:
        self.folder = folder
        self.gate = threading.Event()
        self.order = ["a", "b"]
        self._database = Database(url)  # whose connections are set up as DBOS sets up its own
        DBOS.migrate(url)
        DBOS(
            config={
                "name": "bare",
                "system_database_engine": self._database.engine,
                "system_database_url": url,
                "executor_id": executor,
                "application_version": VERSION,
                "serializer": DBOSPortableJSONSerializer(),
                "run_migrations": False,
                "use_listen_notify": False,
                "notification_listener_polling_interval_sec": _POLL,
                "console_log_level": "CRITICAL",
            }
        )
        for each in (
            self.plain,
            self.asks,
            self.cut,
            self.cancelled,
            self.delegates,
            self.requests,
            self.nested,
            self.streams,
            self.slow,
            self.announces,
            self.ordered,
        ):
            DBOS.workflow(name=each.__name__)(_as_function(each))
        self.client = DBOSClient(
            system_database_engine=self._database.engine,
            serializer=DBOSPortableJSONSerializer(),
            application_name="bare",
        )
        for name, limits in _QUEUES.items():
            self.client.register_queue(name, polling_interval_sec=_POLL, **limits)
        DBOS.launch()

    def close(self) -> None:
        """Ends it."""
        self.client.destroy()
        DBOS.destroy(destroy_registry=True)
        self._database.close()

    # What a test does.

    def begin(self, workflow: Callable[[], Any], queue: str = OPEN, **options: Any) -> str:
        """The id of a new run, in a queue."""
        given = {"workflow_name": workflow.__name__, "queue_name": queue, "app_version": VERSION, **options}
        return str(self.client.enqueue(cast(EnqueueOptions, given)).workflow_id)

    def status(self, run: str) -> Any:
        """Its status."""
        return self.client.list_workflows(workflow_ids=[run])[0]

    def comes_to(self, run: str, status: str) -> bool:
        """Whether it comes to stand so."""
        return until(lambda: self.status(run).status == status)

    def looks(self) -> None:
        """Waits until this process has looked for more, in all its queues as often as in one that has room."""
        for _ in range(3):
            assert self.comes_to(self.begin(self.plain), "SUCCESS")

    def steps(self, run: str) -> list[str]:
        """The names of what is recorded."""
        return [step["function_name"] for step in self.client.list_workflow_steps(run)]

    def tables(self) -> list[str]:
        """The names of all that it has."""
        return sa.inspect(self._database.engine).get_table_names(None if self._database.is_sqlite else "dbos")

    def has_no_room_once(self, table: str) -> None:
        """The next row of this table finds the disk full."""

        def about_to(_: object, __: object, statement: str, *___: object) -> None:
            if f"{table} (" in statement:
                sa.event.remove(self._database.engine, "before_cursor_execute", about_to)
                raise sa.exc.OperationalError(statement, {}, sqlite3.OperationalError("database or disk is full"))

        sa.event.listen(self._database.engine, "before_cursor_execute", about_to)

    def done(self) -> list[str]:
        """What steps have done to the world."""
        path = self.folder / "done"
        return path.read_text().split() if path.exists() else []

    def does(self, what: str) -> None:
        """An effect."""
        with (self.folder / "done").open("a") as file:
            file.write(f"{what}\n")

    # What may be run.

    async def plain(self) -> None:
        """Ends at once."""

    async def asks(self) -> Any:
        """Waits for a message."""
        return await DBOS.recv_async(timeout_seconds=3600)

    async def cut(self) -> None:
        """Kills its process in the middle of its step, the first time."""

        async def step() -> str:
            await DBOS.write_stream_async("words", "half an answer")
            self.does("cut")
            if self.done().count("cut") == 1:
                os.kill(os.getpid(), signal.SIGKILL)
            return "done"

        await DBOS.run_step_async({"name": "step"}, step)

    async def cancelled(self) -> None:
        """Its task is cancelled."""
        raise asyncio.CancelledError

    async def delegates(self) -> None:
        """Starts another run in its own queue, and waits for it."""
        queue = self.status(DBOS.workflow_id or "").queue_name
        options: EnqueueOptions = {
            "workflow_name": "plain",
            "queue_name": str(queue),
            "workflow_id": f"{DBOS.workflow_id}.1",
        }
        handle = await DBOS.enqueue_workflow_with_options_async(options)
        await handle.get_result(polling_interval_sec=_POLL)

    async def requests(self) -> None:
        """Sends three requests."""
        for _ in range(3):
            await DBOS.run_step_async({"name": "request"}, _nothing)

    async def nested(self) -> None:
        """A step that takes another one in its middle."""

        async def step() -> str:
            return await DBOS.run_step_async({"name": "inner"}, _nothing)

        await DBOS.run_step_async({"name": "outer"}, step)

    async def streams(self) -> None:
        """Tells something outside of a step."""
        await DBOS.write_stream_async("words", "one")
        await DBOS.write_stream_async("words", "two")

    async def slow(self) -> None:
        """Its step waits for the gate, and then does something."""

        async def step() -> str:
            self.does("begun")
            await asyncio.to_thread(self.gate.wait, 10)
            self.does("slow")
            return ""

        await DBOS.run_step_async({"name": "step"}, step)

    async def announces(self) -> None:
        """Says what its second step is about to do, and is cut there."""

        async def step() -> str:
            await DBOS.set_event_async("about to", "save")
            raise asyncio.CancelledError

        await DBOS.run_step_async({"name": "answer"}, _nothing)
        await DBOS.run_step_async({"name": "call"}, step)

    async def ordered(self) -> None:
        """Takes its steps in the order that holds now; the first time it is cut behind the first."""
        first, *_ = self.order
        await DBOS.run_step_async({"name": first}, _nothing)
        if first == "a":
            raise asyncio.CancelledError


async def _nothing() -> str:
    return ""


def _as_function(workflow: Callable[[], Any]) -> Callable[[], Any]:
    async def function() -> Any:
        return await workflow()

    return function


if __name__ == "__main__":
    bare = Bare(sys.argv[1], "dead", Path(sys.argv[2]))
    bare.begin(bare.cut, workflow_id="cut")
    until(lambda: False, 60)
