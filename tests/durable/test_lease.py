from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from typing import Any

import pytest
import sqlalchemy as sa

from toolwire.durable import lease as module
from toolwire.durable.database import Database, runs, workers
from toolwire.durable.lease import Lease, Timing, roster
from toolwire.durable.records import FORMAT, RunState, WorkerInfo
from toolwire.errors import ConfigError, DurableFailed
from waiting import until

CALM = Timing(beat=0.05, own=20, dead=30)
SHORT = Timing(beat=0.02, own=0.2, dead=0.3)
QUICK = Timing(beat=0.05, own=2.0, dead=2.4)
STILL = Timing(beat=1000, own=6000, dead=9000)
"""Its threads do nothing after the first beat: what happens the test does by itself, with a clock of its own."""


ONE_KIND = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
"""For what is the same with every database."""


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    made = Database(database_url)
    made.prepare()
    yield made
    made.close()


Make = Callable[..., Lease]


@pytest.fixture
def make(database: Database) -> Iterator[Make]:
    """Leases that are started; ended afterwards."""
    made: list[Lease] = []

    def started(timing: Timing, **options: Any) -> Lease:
        given = {"queues": ["toolwire"], "agents": ["helper"], "on_lost": lambda: None, **options}
        lease = Lease(database, timing=timing, **given)
        made.append(lease)
        lease.start()
        return lease

    yield started
    for lease in made:
        lease.end()


def listed(database: Database) -> dict[str, WorkerInfo]:
    return {worker.id: worker for worker in database.do(roster)}


def states(database: Database) -> dict[str, str]:
    return {id: worker.state for id, worker in listed(database).items()}


def beats(database: Database, id: str) -> int:
    wanted = sa.select(workers.c.beats).where(workers.c.id == id)
    return int(database.do(lambda connection: connection.execute(wanted).scalar_one()))


def write(database: Database, id: str, *, age: float = 0.0, **values: Any) -> None:
    """A worker that somebody else would be."""
    at = time.time() - age
    row = {
        "host": "there",
        "pid": 7,
        "format": FORMAT,
        "queues": "[]",
        "agents": "[]",
        "started": at,
        "beats": 5,
        "beat": at,
        "state": "alive",
        **values,
    }
    database.do(lambda connection: connection.execute(workers.insert().values(id=id, **row)))


def change(database: Database, id: str, **values: Any) -> None:
    changed = workers.update().where(workers.c.id == id).values(**values)
    database.do(lambda connection: connection.execute(changed))


@pytest.mark.parametrize(
    "numbers", [(0, 6, 9), (-1, 6, 9), (6, 6, 9), (1, 9, 9), (1, 10, 9), (1, 6, float("inf")), (1, float("nan"), 9)]
)
def test_times_that_make_no_sense_are_refused(sqlite_url: str, numbers: tuple[float, float, float]) -> None:
    beat, own, dead = numbers
    timing = Timing(beat=beat, own=own, dead=dead)
    with pytest.raises(ConfigError, match="makes no sense"):
        Lease(Database(sqlite_url), queues=[], agents=[], timing=timing, on_lost=lambda: None)


def test_a_worker_says_that_it_lives_until_it_says_that_it_ends(database: Database, make: Make) -> None:
    beaten, lost = threading.Event(), threading.Event()
    lease = make(CALM, queues=["a", "b"], agents=["helper"], on_beat=beaten.set, on_lost=lost.set)
    assert lease.holds()
    assert beaten.wait(20)
    first = beats(database, lease.id)
    assert until(lambda: beats(database, lease.id) > first)
    run = {"title": "", "agent": "", "format": 1, "queue": "a", "priority": 0, "spec": "", "created": 0, "updated": 0}
    for number, (state, who) in enumerate(
        [
            (RunState.RUNNING, lease.id),
            (RunState.RUNNING, lease.id),
            (RunState.FINISHED, lease.id),
            (RunState.RUNNING, ""),
        ]
    ):
        insert = runs.insert().values(id=str(number), state=state, worker=who, **run)
        database.do(lambda connection, insert=insert: connection.execute(insert))  # type: ignore[misc]
    told = listed(database)[lease.id]
    assert (told.pid, told.queues, told.agents, told.state) == (os.getpid(), ["a", "b"], ["helper"], "alive")
    assert told.running == 2
    assert abs(told.beat - time.time()) < 60
    assert [worker.id for worker in lease.living()] == [lease.id]
    assert lease.is_leader()

    lease.drain()
    assert until(lambda: states(database)[lease.id] == "draining")
    assert lease.holds(), "what it has it still owns"
    assert not lease.is_leader()
    assert [worker.state for worker in lease.living()] == ["draining"]

    lease.end()
    assert not lease.holds()
    assert lease.living() == []
    assert states(database)[lease.id] == "ended"
    last = beats(database, lease.id)
    lease.end()
    assert beats(database, lease.id) == last
    assert not lost.is_set()


def test_every_life_has_a_name_of_its_own(sqlite_url: str) -> None:
    database = Database(sqlite_url)
    named = {Lease(database, queues=[], agents=[], on_lost=lambda: None).id for _ in range(20)}
    assert len(named) == 20
    assert all(f"-{os.getpid()}-" in id and id.replace("-", "").replace(".", "").isalnum() for id in named)


def test_whoever_was_declared_lost_owns_nothing_and_is_told_once(database: Database, make: Make) -> None:
    lost: list[str] = []
    lease = make(CALM, on_lost=lambda: lost.append("lost"))
    change(database, lease.id, state="lost")
    assert until(lambda: lost)
    assert not lease.holds()
    assert not lease.is_leader()
    assert "declared this one lost" in lease.reason
    change(database, lease.id, state="alive")
    time.sleep(3 * CALM.beat)
    assert not lease.holds(), "it is lost for good"
    change(database, lease.id, state="lost")
    lease.end()
    assert states(database)[lease.id] == "lost"
    assert lost == ["lost"]


@ONE_KIND
def test_whose_row_is_gone_is_lost(database: Database, make: Make) -> None:
    lost = threading.Event()
    lease = make(CALM, on_lost=lost.set)
    database.do(lambda connection: connection.execute(workers.delete()))
    assert lost.wait(20)
    assert not lease.holds()


def test_a_database_that_is_away_for_too_long_costs_all_that_was_owned(database: Database, make: Make) -> None:
    """With SQLite a beat fails; with PostgreSQL it hangs for as long as the other holds the row."""
    lost: list[bool] = []
    lease: Lease = make(SHORT, on_lost=lambda: lost.append(lease.holds()))
    with database.engine.begin() as connection:
        connection.execute(workers.update().values(host="held"))
        assert until(lambda: lost)
        assert not lease.holds()
        assert "no sign of life has reached the database" in lease.reason
    time.sleep(5 * SHORT.beat)
    assert not lease.holds(), "it does not come back to life"
    lease.end()
    assert states(database)[lease.id] == "ended", "the others need not wait"
    assert lost == [False]


def test_a_database_that_is_away_for_a_moment_costs_nothing(database: Database, make: Make) -> None:
    lease = make(CALM, on_lost=lambda: None)
    before = beats(database, lease.id)
    with database.engine.begin() as connection:
        connection.execute(workers.update().values(host="held"))
        time.sleep(5 * CALM.beat)
    assert until(lambda: beats(database, lease.id) > before + 2)
    assert lease.holds()


def test_an_end_without_a_database_does_not_last(
    database: Database, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_GOODBYE", 0.05)
    lease = make(SHORT)
    with database.engine.begin() as connection:
        connection.execute(workers.update().values(host="held"))
        ended = threading.Thread(target=lease.end)
        ended.start()
        ended.join(20)
        assert not ended.is_alive()
        assert not lease.holds()


def test_a_pool_that_is_all_in_use_costs_no_worker_its_life(database: Database, make: Make) -> None:
    beaten: list[int] = []
    with ExitStack() as held:
        for _ in range(30):
            held.enter_context(database.engine.connect())
        lease = make(CALM, on_beat=lambda: beaten.append(1))
        assert until(lambda: len(beaten) > 2)
        assert lease.holds()


def test_no_database_no_worker() -> None:
    database = Database("postgresql://me@127.0.0.1:9/runs")
    lease = Lease(database, queues=[], agents=[], timing=SHORT, on_lost=lambda: None)
    with pytest.raises(DurableFailed, match="does not answer"):
        lease.start()
    assert not lease.holds()
    lease.end()
    database.close()


def test_the_oldest_that_lives_and_works_leads(database: Database, make: Make) -> None:
    first, second, third = make(CALM), make(CALM), make(CALM)
    order = [first, second, third]
    assert [lease.is_leader() for lease in order] == [True, False, False]
    assert until(lambda: all([w.id for w in lease.living()] == [each.id for each in order] for lease in order))
    first.drain()
    assert until(lambda: [lease.is_leader() for lease in order] == [False, True, False])
    second.end()
    assert until(lambda: [lease.is_leader() for lease in order] == [False, False, True])
    assert [worker.id for worker in third.living()] == [first.id, third.id]


@ONE_KIND
def test_those_long_gone_are_forgotten(database: Database, make: Make) -> None:
    day = 24 * 3600
    for id, age, state in (
        ("ended-long", day + 60, "ended"),
        ("lost-long", day + 60, "lost"),
        ("lost", day - 600, "lost"),
        ("alive-long", 9 * day, "alive"),
    ):
        write(database, id, age=age, state=state)
    lease = make(CALM)
    assert until(lambda: "ended-long" not in states(database))
    assert states(database) == {"alive-long": "alive", "lost": "lost", lease.id: "alive"}


class Watch:
    """An observer whose looks and whose clock are the test's."""

    def __init__(self, make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
        self.at = 1000.0
        self.lost: list[str] = []
        monkeypatch.setattr(module, "now", lambda: self.at)
        beaten = threading.Event()
        self.lease = make(STILL, on_beat=beaten.set, on_lost=lambda: self.lost.append("lost"))
        assert beaten.wait(20)

    def beat(self, after: float) -> None:
        self.at += after
        line = self.lease._line
        assert line is not None
        self.lease._beat(line, clean=False)


@ONE_KIND
def test_silence_is_measured_by_the_observers_own_clock(
    database: Database, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Their clocks differ by years.
    write(database, "dead", age=-1e8)
    write(database, "alive", age=1e8)
    watch = Watch(make, monkeypatch)
    for number in range(8):
        watch.beat(1000)
        change(database, "alive", beats=100 + number, beat=0)
        assert states(database)["dead"] == "alive", number
    watch.beat(1000)
    assert states(database) == {"dead": "lost", "alive": "alive", watch.lease.id: "alive"}
    assert [worker.id for worker in watch.lease.living()] == ["alive", watch.lease.id]


@ONE_KIND
def test_time_in_which_nobody_looked_is_no_silence(
    database: Database, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(database, "other")
    watch = Watch(make, monkeypatch)
    watch.beat(5900)
    assert watch.lease.holds()
    watch.beat(5900)
    assert states(database)["other"] == "alive", "of twice 5900 s it saw twice 3000"
    watch.beat(1000)
    watch.beat(1000)
    assert states(database)["other"] == "alive"
    watch.beat(1000)
    assert states(database)["other"] == "lost"


@ONE_KIND
def test_an_observer_that_was_stopped_declares_nobody_and_is_lost(
    database: Database, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(database, "other")
    watch = Watch(make, monkeypatch)
    for _ in range(7):
        watch.beat(1000)
    watch.at += 6001
    assert not watch.lease.holds(), "before it has beaten or looked"
    watch.beat(0)
    assert states(database)["other"] == "alive"
    assert watch.lost == ["lost"]
    assert "no sign of life" in watch.lease.reason
    watch.beat(0)
    assert watch.lost == ["lost"]


@ONE_KIND
def test_a_leader_that_is_silent_leads_no_more_before_it_is_dead(
    database: Database, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(database, "older", age=100)
    watch = Watch(make, monkeypatch)
    for _ in range(6):
        watch.beat(1000)
        assert not watch.lease.is_leader()
    watch.beat(1000)
    assert watch.lease.is_leader()
    assert states(database)["older"] == "alive"
    change(database, "older", beats=6)
    watch.beat(1000)
    assert not watch.lease.is_leader(), "it lives after all"


@ONE_KIND
def test_a_beat_counts_from_its_beginning(database: Database, make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    watch = Watch(make, monkeypatch)
    line = watch.lease._line
    assert line is not None

    @sa.event.listens_for(line.engine, "after_cursor_execute")
    def slow(_: object, __: object, statement: str, *___: object) -> None:
        watch.at += 5000 if statement.startswith("UPDATE") else 0

    watch.beat(0)
    watch.at += 1001
    assert not watch.lease.holds()


def test_of_all_who_see_the_silence_one_declares_it(database: Database, make: Make) -> None:
    write(database, "dead")
    observers = [make(STILL) for _ in range(4)]
    ready = threading.Barrier(len(observers))

    def declare(lease: Lease) -> bool:
        line = database.alone(10)
        (seen,) = (other for other in lease._others if other.info.id == "dead")
        ready.wait(20)
        try:
            return lease._declare(line, seen)
        finally:
            line.close()

    with ThreadPoolExecutor(len(observers)) as pool:
        assert sorted(pool.map(declare, observers)) == [False, False, False, True]
    assert states(database)["dead"] == "lost"


def test_a_beat_in_the_last_moment_saves_its_worker(database: Database, make: Make) -> None:
    write(database, "late")
    lease = make(STILL)
    (seen,) = lease._others
    line = database.alone(10)
    change(database, "late", beats=6)
    assert not lease._declare(line, seen)
    change(database, "late", beats=5, state="ended")
    assert not lease._declare(line, seen)
    line.close()
    assert states(database)["late"] == "ended"


@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
def test_a_worker_that_is_stopped_as_it_beats_holds_no_lock(
    database: Database, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Or whoever declares it lost would wait for it, and beat no more."""
    beaten = threading.Event()
    lease = make(STILL, on_beat=beaten.set)
    assert beaten.wait(20)
    line = lease._line
    assert line is not None
    sign = lease._sign
    declared: list[bool] = []

    def stopped(connection: sa.Connection) -> float | None:
        began = sign(connection)
        with suppress(sa.exc.OperationalError), database.engine.begin() as other:
            other.execute(sa.text("SET LOCAL lock_timeout = '3s'"))
            declared.append(bool(other.execute(workers.update().values(state="lost")).rowcount))
        return began

    monkeypatch.setattr(lease, "_sign", stopped)
    lease._beat(line, clean=False)
    assert declared == [True]


_LIVES = """
import json, os, sys, time
from toolwire.durable.database import Database
from toolwire.durable.lease import Lease, Timing, now

def live(url, timing):
    database = Database(url)
    lost = lambda: tell("lost", lease.holds())
    lease = Lease(database, queues=[], agents=[], timing=timing, on_lost=lost)
    tell = lambda *words: os.write(1, (json.dumps([lease.id, *words]) + chr(10)).encode())
    lease.start()
    tell("lives", os.getpid())
    seen = now()
    until = seen + 60
    while now() < until:
        time.sleep(0.005)
        at = now()
        if at - seen > timing.own:
            tell("woke", lease.holds())
        seen = at

url, number, timing = json.loads(sys.argv[1])
pids = []
for _ in range(number):
    if not (pid := os.fork()):
        live(url, Timing(**timing))
        os._exit(0)
    pids.append(pid)
for pid in pids:
    os.waitpid(pid, 0)
"""


def stop(database: Database, pid: int) -> None:
    """Stops a process, in a moment in which it does not hold SQLite's lock: then all would stand still with it."""
    line = database.alone(0.2)
    touch = workers.update().where(workers.c.id == "nobody").values(pid=1)
    for _ in range(50):
        os.kill(pid, signal.SIGSTOP)
        try:
            line.do(lambda connection: connection.execute(touch), seconds=0.1)
        except DurableFailed:
            os.kill(pid, signal.SIGCONT)
            time.sleep(0.01)
        else:
            break
    else:
        pytest.fail("it always holds the lock")
    line.close()


def test_the_killed_are_missed_and_the_stopped_wake_up_to_nothing(
    database: Database, database_url: str, make: Make
) -> None:
    timing = {"beat": QUICK.beat, "own": QUICK.own, "dead": QUICK.dead}
    given = json.dumps([database_url, 2, timing])
    pids: dict[str, int] = {}
    with subprocess.Popen([sys.executable, "-c", _LIVES, given], stdout=subprocess.PIPE, text=True) as child:
        try:
            assert child.stdout is not None
            for _ in range(2):
                id, word, pid = json.loads(child.stdout.readline())
                assert word == "lives"
                pids[id] = pid
            ours = make(QUICK)
            other = make(QUICK)
            assert not ours.is_leader()
            killed, stopped = pids
            stop(database, pids[stopped])
            os.kill(pids[killed], signal.SIGKILL)
            del pids[killed]
            assert until(lambda: states(database)[killed] == states(database)[stopped] == "lost", 20)
            assert until(ours.is_leader)
            assert until(lambda: [worker.id for worker in ours.living()] == [ours.id, other.id])
            os.kill(pids[stopped], signal.SIGCONT)
            told = [json.loads(child.stdout.readline())[1:] for _ in range(2)]
            assert sorted(words[0] for words in told) == ["lost", "woke"]
            assert [words[1] for words in told] == [False, False], "it knew before anything else"
            assert states(database)[stopped] == "lost"
        finally:
            for pid in pids.values():
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)


_FORKS = """
import os, sys
from toolwire.durable.database import Database
from toolwire.durable.lease import Lease

database = Database(sys.argv[1])
lease = Lease(database, queues=[], agents=[], on_lost=lambda: None)
lease.start()
if not (pid := os.fork()):
    holds = lease.holds()
    lease.end()
    os._exit(7 if not holds else 8)
code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
print(lease.id, code, lease.holds(), flush=True)
os._exit(0)
"""


def test_a_fork_is_no_worker(sqlite_url: str) -> None:
    database = Database(sqlite_url)
    database.prepare()
    done = subprocess.run([sys.executable, "-c", _FORKS, sqlite_url], capture_output=True, text=True, timeout=60)
    id, *told = done.stdout.split()
    assert told == ["7", "True"], done.stderr
    assert states(database) == {id: "alive"}
    database.close()
