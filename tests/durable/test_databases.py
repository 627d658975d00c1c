from __future__ import annotations

import asyncio
import os
import re
import signal
import sqlite3
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest
import sqlalchemy as sa

from durable.databases import postgres, shared_postgres, why_no_postgres
from durable.told_runs import delta, is_over, new_run, written
from toolwire.durable.database import Database, runs
from toolwire.durable.dbos_engine import DbosEngine
from toolwire.durable.following import follow
from toolwire.durable.log import EventLog
from toolwire.durable.records import RunEvent
from toolwire.errors import ConfigError, DurableFailed
from waiting import until

pytestmark = pytest.mark.skipif(bool(why_no_postgres()), reason=why_no_postgres() or "it is there")

_HOLDER = """
import sys, time
from pathlib import Path
from durable.databases import shared_postgres
with shared_postgres(Path(sys.argv[1])) as server:
    print(server.folder, flush=True)
    time.sleep(60)
"""


def test_every_test_has_an_empty_database_of_its_own(database_url: str) -> None:
    database = Database(database_url)
    try:
        database.prepare()
        database.prepare()
        assert database.do(lambda connection: connection.execute(runs.select()).all()) == []
    finally:
        database.close()


ADDRESSES = [
    ("postgresql://me:s3cret@db.example:5432/runs?sslmode=verify-full", "postgresql://db.example:5432/runs"),
    ("postgresql://me:s3/cret@db.example/runs", "postgresql://db.example/runs"),
    ("postgresql://me:s3#cret@db.example/runs", "postgresql://db.example/runs"),
    ("postgresql://me:s3?cret@db.example/runs", "postgresql://db.example/runs"),
    ("postgresql://db.example/runs?password=s3cret", "postgresql://db.example/runs"),
    ("postgresql://me:s3@cret@db.example/runs", None),
    ("postgresql://me:s3cret@db.example:port/runs", None),
    ("host=db.example password=s3cret", None),
    ("mysql://me:s3cret@db.example/runs", None),
]


@pytest.mark.parametrize(("url", "shown"), ADDRESSES)
def test_no_password_is_shown(url: str, shown: str | None) -> None:
    if shown is not None:
        with closing(Database(url)) as database:
            assert database.shown == shown
        return
    with pytest.raises(ConfigError) as refused:
        Database(url)
    assert not {"s3", "cret", "s3cret"} & set(re.split(r"\W", f"{refused.value!r} {refused.value.facts}"))


def test_what_is_at_work_when_it_is_closed_ends_and_leaves_no_connection(database_url: str) -> None:
    database = Database(database_url)
    database.prepare()
    begun, go_on = threading.Event(), threading.Event()
    used: list[Any] = []

    def work(connection: sa.Connection) -> Any:
        used.append(connection.connection.dbapi_connection)
        begun.set()
        go_on.wait(10)
        return connection.execute(sa.select(1)).scalar()

    with ThreadPoolExecutor(1) as threads:
        working = threads.submit(database.do, work)
        assert begun.wait(10)
        database.close()
        go_on.set()
        assert working.result(10) == 1
    with pytest.raises((sqlite3.ProgrammingError, psycopg.OperationalError), match="closed"):
        used[0].execute("SELECT 1")


def test_the_server_goes_with_the_last_who_holds_it_however_he_ends(tmp_path: Path) -> None:
    meeting = tmp_path / "postgresql"
    tests = str(Path(__file__).parents[1])
    with subprocess.Popen(
        [sys.executable, "-c", _HOLDER, str(meeting)],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": tests},
    ) as first:
        try:
            assert first.stdout is not None
            folder = Path(first.stdout.readline().decode().strip())
            with shared_postgres(meeting) as second:
                assert second.folder == folder
                first.send_signal(signal.SIGKILL)
                first.wait(10)
                assert "postgresql" in second.new_database()
            assert second.wait_gone()
        finally:
            first.kill()


async def test_a_log_and_its_follower_outlast_a_server_that_crashes() -> None:
    with postgres(fast=True) as server, closing(Database(server.new_database())) as database:
        database.prepare()
        run = new_run(database)
        log = await EventLog.open(database, run, 1)
        heard: list[RunEvent] = []

        async def listen() -> None:
            async for each in follow(database, run, poll=0.02):
                heard.append(each)  # noqa: PERF401 - what came is looked at meanwhile

        listening = asyncio.create_task(listen())
        log.tell(1, "", delta("0"))
        await log.flush()
        assert await asyncio.to_thread(until, lambda: heard)
        server.stop()
        log.tell(1, "", delta("1"))
        flushing = asyncio.create_task(log.flush())
        await asyncio.sleep(0.2)
        assert not flushing.done()
        server.start()
        async with asyncio.timeout(60):
            await flushing
            await log.close()
            is_over(database, run)
            await listening
        assert [each.event for each in heard] == [delta("0"), delta("1")]
        assert [each.event for each in written(database, run)] == [delta("0"), delta("1")]


def test_who_asks_the_engine_is_told_that_the_database_is_away(sqlite_url: str) -> None:
    """Left to itself DBOS tries again for ever."""
    with closing(Database(sqlite_url)) as database, ThreadPoolExecutor(1) as threads:
        engine = DbosEngine(database)
        engine.prepare()
        database.longest = 0.2

        def away(*_: Any) -> None:
            raise sa.exc.OperationalError("SELECT", {}, psycopg.OperationalError("connection failed"))

        sa.event.listen(database.engine, "before_cursor_execute", away)
        asking = threads.submit(engine.steps, "a run")
        try:
            assert isinstance(asking.exception(timeout=10), DurableFailed)
        finally:
            sa.event.remove(database.engine, "before_cursor_execute", away)
        engine.close()
