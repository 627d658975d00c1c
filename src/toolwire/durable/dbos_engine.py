"""DBOS as the engine (`engine.Engine`): a run is one of its workflows, with the same id.

What goes into its tables is JSON, never a pickle; what comes out of them is read as nothing else (`portable_rows.py`),
so that whoever can write to the database can make no worker run their code.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

import sqlalchemy as sa

from ..errors import ConfigError, DurableFailed
from ..extras import require
from .engine import WAITING_QUEUE, Body, Lost, QueueLimits
from .records import FORMAT, StepInfo

if TYPE_CHECKING:
    from .database import Database

_T = TypeVar("_T")

APPLICATION = "toolwire"
VERSION = f"toolwire-{FORMAT}"
"""DBOS gives a run to workers of its own version alone."""
WORKFLOW = "toolwire-run"
_HIGHEST_PRIORITY = 1
_PAGE = 1000
_GOING, _OVER = ("ENQUEUED", "PENDING"), ("SUCCESS", "ERROR")


class DbosEngine:
    """For any process; needs no worker. Its tables are made by `prepare`."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._made: Any = None

    def prepare(self) -> None:
        """Makes the tables of DBOS, or brings them up to date. Done by itself when the engine is first needed."""
        if self._made is not None:
            return
        _quiet()
        from dbos import DBOSClient

        try:
            with self._database.alone_in():
                self._migrate()
            self._made = DBOSClient(
                system_database_engine=self._database.engine,
                serializer=_serializer(),
                application_name=APPLICATION,
                retry_connection_errors=False,  # `insist` does, and ends
            )
        except sa.exc.DBAPIError as error:
            raise self._database.refusal(error) from error

    def _migrate(self) -> None:
        if self._database.is_sqlite:
            _DBOS().migrate(self._database.url.render_as_string(hide_password=False))
            return
        # As DBOS.migrate, which opens connections of its own, without any limit.
        from dbos._sys_db import SystemDatabase

        with self._database.to_migrate() as engine:
            SystemDatabase.create(
                system_database_url=self._database.url.render_as_string(hide_password=False),
                engine_kwargs={},
                engine=engine,
                schema="dbos",
                serializer=_serializer(),
                executor_id=None,
            ).run_migrations()

    def _do(self, work: Callable[[Any], _T]) -> _T:
        """What DBOS does for any process; all of it may be done twice."""
        self.prepare()
        return self._database.insist(lambda: work(self._made))

    def _list(self, **wanted: Any) -> list[Any]:
        found: list[Any] = self._do(lambda client: client.list_workflows(**wanted, load_input=False, load_output=False))
        return found

    def submit(self, connection: sa.Connection, run: str, queue: str, priority: int) -> None:
        """Puts a new run into a queue, in the transaction that writes it down."""
        options = {
            "workflow_name": WORKFLOW,
            "queue_name": queue,
            "workflow_id": run,
            "app_version": VERSION,
            "priority": _HIGHEST_PRIORITY + priority,
        }
        self._made.enqueue_in_transaction(connection, options)

    def move(self, run: str, queue: str) -> None:
        """Takes the run from whoever has it and puts it into a queue, unless it is over."""
        from dbos import error

        try:
            self._do(lambda client: client.resume_workflow(run, queue_name=queue))
        except error.DBOSNonExistentWorkflowError:
            raise DurableFailed("the engine does not have this run", run=run) from None

    def cancel(self, run: str) -> None:
        """Nobody is given the run any more until it is moved."""
        self._do(lambda client: client.cancel_workflow(run))

    def fork(self, run: str, new: str, step: int, priority: int) -> None:
        """A new run that has the steps of another one before this one."""
        from dbos import SetWorkflowID

        def fork(client: Any) -> None:
            # It is there where it was made before, and the connection lost: its id is nobody else's.
            with SetWorkflowID(new), suppress(sa.exc.IntegrityError):
                client.fork_workflow(run, step, application_version=VERSION, queue_name=WAITING_QUEUE)

        self._do(fork)
        # DBOS gives forks no priority, which comes before all others: it is set while nobody is given the run.
        status = sa.table(
            "workflow_status",
            sa.column("workflow_uuid"),
            sa.column("priority"),
            schema=None if self._database.is_sqlite else "dbos",
        )
        values = {"priority": _HIGHEST_PRIORITY + priority}
        changed = sa.update(status).where(status.c.workflow_uuid == new).values(**values)
        self._database.do(lambda connection: connection.execute(changed))

    def limit(self, queue: QueueLimits, *, poll: float) -> None:
        """From now on what a queue may do everywhere holds. What it may do here is each worker's own (`start`)."""
        self._do(
            lambda client: client.register_queue(
                queue.name,
                # Of whoever comes last; each worker goes by its own (`_limit_here`), save in its first moment.
                worker_concurrency=queue.here,
                global_concurrency=queue.everywhere,
                polling_interval_sec=poll,
                on_conflict="always_update",
            )
        )

    def steps(self, run: str) -> list[StepInfo]:
        """What is recorded."""
        found = []
        for step in self._do(lambda client: client.list_workflow_steps(run, load_output=False)):
            begun, ended = step["started_at_epoch_ms"], step["completed_at_epoch_ms"]
            seconds = None if begun is None or ended is None else (ended - begun) / 1000
            found.append(StepInfo(number=step["function_id"], name=step["function_name"], seconds=seconds))
        return found

    def records(self, run: str) -> dict[str, str]:
        """What each step recorded, by its name, in their order."""
        steps = self._do(lambda client: client.list_workflow_steps(run))
        return {step["function_name"]: step["output"] for step in steps if isinstance(step["output"], str)}

    def held(self, worker: str | None = None) -> dict[str, str]:
        """All runs that some worker has, or this one: who has each."""
        found: dict[str, str] = {}
        seen = 0
        while True:
            rows = self._list(status="PENDING", name=WORKFLOW, executor_id=worker, limit=_PAGE, offset=seen)
            found |= {row.workflow_id: row.executor_id or "" for row in rows}
            seen += len(rows)
            if len(rows) < _PAGE:
                return found

    def astray(self, runs: Sequence[str]) -> tuple[list[str], list[str]]:
        """Those of these runs that no worker has or will be given, and those that the engine has ended or has not."""
        rows = {row.workflow_id: row for row in self._list(workflow_ids=list(runs))}
        gone = [run for run in runs if run not in rows or rows[run].status in _OVER]
        going = [run for run, row in rows.items() if row.status in _GOING and row.queue_name != WAITING_QUEUE]
        return [run for run in runs if run not in gone and run not in going], gone

    def forget(self, runs: Sequence[str]) -> None:
        """Deletes runs that are over, with all that is recorded of them."""
        self._do(lambda client: client.delete_workflows(list(runs)))

    def close(self) -> None:
        """The connections are the database's."""
        if self._made is not None:
            self._made.destroy()
            self._made = None


class DbosWorker:
    """DBOS at work: one in a process, which is why it can be started again only when it was stopped."""

    def __init__(self, database: Database) -> None:
        _quiet()
        self._database = database
        self._is_started = False

    async def start(self, worker: str, queues: Sequence[QueueLimits], body: Body) -> None:
        """From now on runs of these queues are given to `body`."""
        global _at_work
        if _at_work:
            raise ConfigError("a worker works in this process already", hint="Start another process for another one.")
        _at_work = self._is_started = True
        DBOS = _DBOS()
        config = {
            "name": APPLICATION,
            "system_database_engine": self._database.engine,
            "system_database_url": self._database.url.render_as_string(hide_password=False),
            "executor_id": worker,
            "application_version": VERSION,
            "serializer": _serializer(),
            "run_migrations": False,
            "use_listen_notify": False,
            # Nobody waits for its notifications; when it is stopped, one waits for whoever looks for them.
            "notification_listener_polling_interval_sec": 0.05,
            "console_log_level": "CRITICAL",
        }
        made = DBOS(config=config)

        async def work() -> str:
            await body(DBOS.workflow_id)
            return ""

        DBOS.workflow(name=WORKFLOW)(work)
        DBOS.listen_queues([queue.name for queue in queues])
        # Workflows run on this loop; the launch itself asks the database, and must not hold the loop up.
        made._background_event_loop.set_main_loop()
        try:
            await asyncio.to_thread(DBOS.launch)
        except sa.exc.SQLAlchemyError as error:
            raise self._database.refusal(error) from error
        _limit_here(made, {queue.name: queue.here for queue in queues})
        _record_for_good(made, self._database)

    async def step(self, name: str, do: Callable[[], Awaitable[str]]) -> str:
        """What a step of the run at hand gives."""
        from dbos import error

        async def done() -> str:
            return await do()

        try:
            given: str = await _DBOS().run_step_async({"name": name}, done)
            return given
        except (error.DBOSWorkflowCancelledError, error.DBOSWorkflowConflictIDError, sa.exc.SQLAlchemyError):
            raise Lost from None

    async def stop(self) -> None:
        """Nothing more is given out."""
        global _at_work
        if not self._is_started:
            return
        # DBOS has made its threads those of the event loop, and ends them.
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(thread_name_prefix="toolwire"))
        await asyncio.to_thread(_DBOS().destroy, destroy_registry=True)
        _at_work = self._is_started = False


_at_work = False


def _limit_here(made: Any, here: dict[str, int]) -> None:
    """DBOS keeps how much of a queue a worker may do in the queue's row, so that the last one who came would say it for
    all. Here each has its own.
    """
    get = made._sys_db.get_queue

    def get_queue(name: str) -> Any:
        queue = get(name)
        if queue is not None and name in here:
            queue._worker_concurrency = here[name]
        return queue

    made._sys_db.get_queue = get_queue


def _record_for_good(made: Any, database: Database) -> None:
    """What a step gave is recorded however long the database takes, as all that we write. And no fault is recorded as
    what a step gave: DBOS would do so where the recording itself failed, and every later attempt would run into it.
    """
    record = made._sys_db.record_operation_result

    def recorded(result: Any, *, completed_at_epoch_ms: int | None = None, owner_xid: str | None = None) -> None:
        if result["error"] is None:
            at = completed_at_epoch_ms or int(time.time() * 1000)  # the same each time: DBOS knows its own row by it
            database.insist(lambda: record(result, completed_at_epoch_ms=at, owner_xid=owner_xid))

    made._sys_db.record_operation_result = recorded


def _DBOS() -> Any:
    from dbos import DBOS

    return DBOS


def _serializer() -> Any:
    from dbos import DBOSPortableJSONSerializer

    return DBOSPortableJSONSerializer()


def _quiet() -> None:
    """What DBOS has to say goes to its own logger, and from there nowhere unless someone listens."""
    require("durable")
    logging.getLogger("dbos").setLevel(logging.CRITICAL)
