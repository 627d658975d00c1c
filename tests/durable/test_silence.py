"""A database that falls silent: every connection stays open, and nobody is answered any more."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from cli.command import clean_environment
from durable.databases import Server, postgres, system_programs, why_no_postgres
from durable.dropped import namespace, why_no_namespace
from durable.silent_proxy import Proxy, Swallows, silent_proxy
from durable.working import Deeds, Work, happens
from toolwire.durable import connections as limits
from toolwire.durable import worker as worker_module
from toolwire.durable.attempt import DurableAgent
from toolwire.durable.client import Runs
from toolwire.durable.connections import Connections
from toolwire.durable.database import Database
from toolwire.durable.dbos_engine import DbosEngine
from toolwire.durable.lease import Lease, Timing
from toolwire.durable.records import RunState
from toolwire.durable.worker import Worker
from toolwire.errors import DurableFailed
from toolwire.testing import call, say
from waiting import until

SECONDS = 40.0
"""Far more than any of these tests needs."""
TIMING = Timing(beat=0.1, own=2.0, dead=4.0)


@pytest.fixture
def proxy(postgres_server: Server, monkeypatch: pytest.MonkeyPatch) -> Iterator[Proxy]:
    """Before the server of all tests, for connections that wait a moment only."""
    _shorten(monkeypatch)
    with silent_proxy(postgres_server) as made:
        yield made


def _shorten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "CONNECT_SECONDS", 2.0)
    monkeypatch.setattr(limits, "CHECK_SECONDS", 0.3)
    monkeypatch.setattr(limits, "SILENT_SECONDS", 0.6)
    monkeypatch.setattr(worker_module, "_LOOK", 0.03)


@pytest.fixture
def database(proxy: Proxy, postgres_url: str) -> Iterator[Database]:
    """Behind the proxy."""
    with closing(Database(proxy.url(postgres_url))) as made:
        yield made


def one(connection: sa.Connection) -> Any:
    return connection.execute(sa.select(1)).scalar()


@pytest.mark.parametrize("swallows", [Swallows.ALL, Swallows.ANSWERS])
def test_a_statement_that_is_not_answered_ends(proxy: Proxy, database: Database, swallows: Swallows) -> None:
    held: list[Any] = []

    def work(connection: sa.Connection) -> None:
        held.append(connection.connection.dbapi_connection)
        one(connection)
        proxy.fall_silent(swallows)
        one(connection)

    with pytest.raises(DurableFailed, match=r"does not answer: the server has been silent for 0\.6 s"):
        database.do(work, seconds=0)
    assert held[0].closed
    assert database.unanswered_since < float("inf")
    proxy.speak()
    assert database.do(one) == 1
    assert database.unanswered_since == float("inf")


def test_no_statement_begins_on_a_connection_that_fell_silent_while_it_was_idle(
    proxy: Proxy, database: Database
) -> None:
    with database.engine.connect(), database.engine.connect(), database.engine.connect() as last:
        assert one(last) == 1
    proxy.fall_silent(Swallows.OLD)
    assert database.do(one, seconds=0) == 1
    assert proxy.swallowed
    proxy.swallowed = 0
    assert [database.do(one, seconds=0) for _ in range(3)] == [1, 1, 1]
    assert not proxy.swallowed, "one that is silent replaces all that were made before"


def test_a_new_connection_that_is_not_answered_ends(proxy: Proxy, database: Database) -> None:
    proxy.fall_silent(Swallows.NEW)
    with pytest.raises(DurableFailed, match="does not answer: connection timeout expired"):
        database.do(one, seconds=0)


def test_what_waits_for_a_silent_server_ends_when_the_connections_are_cut(
    proxy: Proxy, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database._connections, "silent", 3600.0)
    failed: list[DurableFailed] = []

    def work(connection: sa.Connection) -> None:
        one(connection)
        proxy.fall_silent(Swallows.ANSWERS)
        one(connection)

    def wait() -> None:
        try:
            database.do(work)
        except DurableFailed as error:
            failed.append(error)

    thread = threading.Thread(target=wait, daemon=True)
    thread.start()
    assert until(lambda: proxy.swallowed)
    database.cut()
    thread.join(SECONDS)
    assert "cut the connection off" in failed[0].message
    proxy.speak()
    with pytest.raises(DurableFailed, match="are closed"):
        database.do(one)


def test_an_answer_that_comes_slowly_is_not_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    class Silence(Exception):
        pass

    clock = 0.0
    monkeypatch.setattr("toolwire.durable.connections.time.monotonic", lambda: clock)
    connections = Connections()

    def answer() -> Any:
        for _ in range(10):
            yield 1
        return "answer"

    slow = connections.limited(answer(), 30, Silence)
    next(slow)
    for _ in range(3):
        clock += 29
        slow.send(0)
        slow.send(1)
    assert connections.unanswered_since < float("inf")
    clock += 31
    with pytest.raises(Silence, match="silent for 30 s"):
        slow.send(0)


def test_what_needs_no_server_is_no_question() -> None:
    def nothing() -> Iterator[int]:
        yield from ()

    connections = Connections()
    with pytest.raises(StopIteration):
        next(connections.limited(nothing(), 30, ValueError))
    assert connections.unanswered_since == float("inf")


@pytest.mark.parametrize("swallows", [Swallows.ALL, pytest.param(Swallows.ANSWERS, marks=pytest.mark.thorough)])
async def test_a_client_is_told_that_the_database_does_not_answer(
    proxy: Proxy, postgres_url: str, swallows: Swallows, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("toolwire.durable.client._PATIENCE", 0.1)
    async with Runs(proxy.url(postgres_url)) as runs:
        await runs.submit("Go on")
        proxy.fall_silent(swallows)
        async with asyncio.timeout(SECONDS):
            for work in (runs.list(), runs.submit("More")):
                with pytest.raises(DurableFailed, match="does not answer"):
                    await work
    with pytest.raises(DurableFailed, match="does not answer"):
        async with asyncio.timeout(SECONDS), Runs(proxy.url(postgres_url)):
            pass


def test_the_engine_tries_again_for_no_longer_than_we_do(proxy: Proxy, database: Database) -> None:
    engine = DbosEngine(database)
    engine.prepare()
    database.longest = 0.1
    proxy.fall_silent(Swallows.ALL)
    failed: list[Exception] = []

    def ask() -> None:
        try:
            engine.held()
        except DurableFailed as error:
            failed.append(error)

    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    thread.join(SECONDS)
    assert failed
    engine.close()


def test_the_engine_opens_no_connection_without_limits(
    proxy: Proxy, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also while it makes its tables."""
    made: list[sa.Engine] = []
    create = sa.create_engine

    def note(*given: Any, **named: Any) -> sa.Engine:
        made.append(create(*given, **named))
        return made[-1]

    monkeypatch.setattr(sa, "create_engine", note)
    engine = DbosEngine(database)
    engine.prepare()
    engine.close()
    assert made
    assert all(each.dialect.dispatch.do_connect for each in made)


def test_a_worker_that_beats_while_its_work_is_not_answered_owns_nothing(
    proxy: Proxy, database: Database, postgres_url: str
) -> None:
    database.prepare()
    lost, beaten = threading.Event(), threading.Event()
    lease = Lease(database, queues=["q"], agents=["a"], timing=TIMING, on_lost=lost.set, on_beat=beaten.set)
    lease.start()
    try:
        assert beaten.wait(SECONDS)
        assert lease.holds()
        proxy.fall_silent(Swallows.WORK)
        assert lost.wait(SECONDS)
        assert not lease.holds()
        assert "has not answered the work for 2 s" in lease.reason
    finally:
        database.cut()
        lease.end()
    with closing(Database(postgres_url)) as other:
        [row] = other.do(lambda connection: connection.execute(sa.text("SELECT state FROM toolwire_workers")).all())
        assert row.state == "ended", "the others need not wait until it is dead"


@asynccontextmanager
async def at_work(proxy: Proxy, url: str) -> AsyncIterator[Work]:
    """A worker behind the proxy, and clients before it."""
    async with Runs(url) as runs:
        work = Work(runs, Deeds(), {"policy": "full"})
        work.worker = Worker(
            proxy.url(url),
            [DurableAgent("toolwire", work.make)],
            tell=work.told.append,
            timing=TIMING,
            patience=0.05,
            grace=2.0,
            poll=0.03,
        )
        running = asyncio.create_task(work.worker.run())
        try:
            yield work
        finally:
            work.worker.stop()
            async with asyncio.timeout(SECONDS):
                await running


@pytest.mark.thorough
@pytest.mark.parametrize("swallows", [Swallows.ALL, Swallows.ANSWERS, Swallows.WORK])
async def test_a_silent_worker_drops_its_runs_and_goes_on_when_it_is_answered(
    proxy: Proxy, postgres_url: str, swallows: Swallows
) -> None:
    async with at_work(proxy, postgres_url) as work:
        gate = work.deeds.hold("a")
        run = await work.submit(call("look", text="a"), call("save", text="b"), say("Done."))
        assert await happens(lambda: work.deeds.started == ["a"], SECONDS)
        first = work.worker.id
        proxy.fall_silent(swallows)
        assert await happens(lambda: any("lost its runs" in each for each in work.told), SECONDS), work.told
        assert not work.worker._places()
        proxy.speak()
        gate.set()
        assert (await work.over(run)).state is RunState.FINISHED
        assert work.worker.id != first
        assert work.deeds.done.count("b") == 1


@pytest.mark.thorough
async def test_connections_that_were_forgotten_cost_no_run(proxy: Proxy, postgres_url: str) -> None:
    """All that were open are silent, as after a firewall forgot them; new ones are answered."""
    async with at_work(proxy, postgres_url) as work:
        gate = work.deeds.hold("a")
        run = await work.submit(call("look", text="a"), call("save", text="b"), say("Done."))
        assert await happens(lambda: work.deeds.started == ["a"], SECONDS)
        proxy.fall_silent(Swallows.OLD)
        gate.set()
        assert (await work.over(run)).state is RunState.FINISHED
        assert work.deeds.done.count("b") == 1


@pytest.mark.thorough
@pytest.mark.parametrize("swallows", list(Swallows))
async def test_a_worker_that_is_told_to_end_ends_while_the_database_is_silent(
    proxy: Proxy, postgres_url: str, swallows: Swallows
) -> None:
    async with at_work(proxy, postgres_url) as work:
        work.deeds.hold("a")
        await work.submit(call("look", text="a"), say("Done."))
        assert await happens(lambda: work.deeds.started == ["a"], SECONDS)
        proxy.fall_silent(swallows)


@pytest.mark.thorough
async def test_a_worker_that_finds_the_database_silent_at_its_start_ends_when_it_is_told_to(
    proxy: Proxy, postgres_url: str
) -> None:
    proxy.fall_silent(Swallows.ANSWERS)
    worker = Worker(proxy.url(postgres_url), [])
    running = asyncio.create_task(worker.run())
    assert await happens(lambda: proxy.swallowed, SECONDS)
    worker.stop()
    async with asyncio.timeout(SECONDS):
        await running


@pytest.mark.thorough
@pytest.mark.parametrize("version", ["the package's", "the system's"])
async def test_each_version_of_postgresql_is_given_up_when_it_is_silent(
    version: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if why := why_no_postgres():
        pytest.skip(why)
    programs = None if version == "the package's" else system_programs()
    if version == "the system's" and programs is None:
        pytest.skip("no second PostgreSQL: /usr/lib/postgresql has none")
    _shorten(monkeypatch)
    with postgres(fast=True, programs=programs) as server, silent_proxy(server) as proxy:
        await test_a_silent_worker_drops_its_runs_and_goes_on_when_it_is_answered(
            proxy, server.new_database(), Swallows.WORK
        )


@pytest.mark.thorough
def test_a_worker_whose_packets_are_dropped_drops_its_runs_and_ends_when_it_is_told_to(
    postgres_server: Server, postgres_url: str, tmp_path: Path
) -> None:
    """The command itself, with the limits that it has."""
    if why := why_no_namespace():
        pytest.skip(why)
    words = ("worker", "--model", "openai-compatible:m", "--base-url", "http://127.0.0.1:9/v1", "--no-sandbox")
    log = tmp_path / "log"
    with namespace() as net, silent_proxy(postgres_server, net.host) as proxy, log.open("w") as output:
        url = proxy.url(postgres_url, net.host)
        worker = subprocess.Popen(
            [*net.inside, sys.executable, "-m", "toolwire", *words, "--database", url],
            env=clean_environment({"HOME": str(tmp_path), "XDG_STATE_HOME": str(tmp_path / "state")}),
            cwd=tmp_path,
            stdout=output,
            stderr=output,
        )
        try:
            with closing(Database(postgres_url)) as database:
                database.prepare()
                wanted = sa.text("SELECT count(*) FROM toolwire_workers WHERE beats > 2")
                beats = partial(database.do, lambda connection: connection.execute(wanted).scalar())
                assert until(beats, 60), log.read_text()
            net.drop()
            assert until(lambda: "lost its runs" in log.read_text(), 60), log.read_text()
            worker.send_signal(signal.SIGTERM)
            assert worker.wait(60) == 143
        finally:
            worker.kill()
            worker.wait()
