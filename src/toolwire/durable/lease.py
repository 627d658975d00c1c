"""Who lives: every worker beats into the database, and one that falls silent is declared lost, so that others go on.

A beat alone is no life: it has a connection of its own, and those that runs need may be silent meanwhile. So the worker
asks over these, too, and owns nothing when either was not answered for too long.

No two clocks are compared. A beat is a number that grows; how long a number has not grown, and how long one's own beats
have failed, each worker measures by its own clock. Since it gives up what it owns before anyone may declare it lost
(`own` < `dead`), nobody takes a run from a worker that lives and holds it, and a worker that was stopped and woken
knows, before it does anything, that it may have lost all.
"""

from __future__ import annotations

import os
import secrets
import socket
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import msgspec
import sqlalchemy as sa

from ..errors import ConfigError, DurableFailed
from .clock import now
from .database import Database, runs, workers
from .records import FORMAT, RunState, WorkerInfo

ALIVE, DRAINING, ENDED, LOST = "alive", "draining", "ended", "lost"
LIVING = (ALIVE, DRAINING)
_GONE = (ENDED, LOST)

_REGULAR = 3
"""Beats. Of a longer time between two looks no more counts as silence of others: whoever did not look saw nothing."""
_GOODBYE = 2.0
"""Seconds for the word that one has ended. Without it the others find out by themselves, later."""
_KEPT = 24 * 3600.0
"""Seconds for which workers that are gone are still listed."""
_CLEAN = 3600
"""Every so many beats, those before are forgotten."""
_HOST = 40


class Timing(msgspec.Struct, frozen=True, kw_only=True):
    """How fast a worker that died is missed, in seconds; the same for all workers of a database."""

    beat: float = 1.0
    """Between two signs of life."""
    own: float = 6.0
    """Without a sign of life that came through, or an answer over the connections that its runs use, a worker owns
    nothing after this time."""
    dead: float = 9.0
    """After this time the others declare it lost. The difference is for what a worker had just begun."""

    def check(self) -> None:
        """Raises a `ConfigError` unless each is longer than the one before."""
        if not 0 < self.beat < self.own < self.dead < float("inf"):
            raise ConfigError(
                f"a worker that beats every {self.beat:g} s, owns for {self.own:g} s and is dead after {self.dead:g} s "
                "makes no sense",
                hint="Each of beat, own and dead must be longer than the one before.",
            )


DEFAULT_TIMING = Timing()


class _Seen(NamedTuple):
    """Another worker as of the last look."""

    info: WorkerInfo
    beats: int
    silence: float
    """For how long its number has not grown while we looked."""


class Lease:
    """One life of a worker: from `start` until it is lost or ended, which it is for good.

    It lives in threads of its own and over a connection of its own: neither a busy event loop nor a busy pool costs a
    worker its life; a pool in which nothing is answered does. `on_beat` (after each beat) and `on_lost` (once, if ever)
    are called in those threads; what they are to do in a loop they hand over with `call_soon_threadsafe`.
    """

    def __init__(
        self,
        database: Database,
        *,
        queues: Sequence[str],
        agents: Sequence[str],
        timing: Timing = DEFAULT_TIMING,
        on_lost: Callable[[], None],
        on_beat: Callable[[], None] = lambda: None,
    ) -> None:
        timing.check()
        self.timing = timing
        self.reason = ""
        """Why it is lost, in one sentence; empty while it is not."""
        self._database = database
        self._on_lost = on_lost
        self._on_beat = on_beat
        self._pid = os.getpid()
        host = "".join(
            letter for letter in socket.gethostname() if (letter.isascii() and letter.isalnum()) or letter in ".-"
        )
        host = host[:_HOST] or "host"
        self.id = f"{host}-{self._pid}-{secrets.token_hex(4)}"
        started = time.time()
        self._me = WorkerInfo(
            id=self.id,
            host=host,
            pid=self._pid,
            queues=list(queues),
            agents=list(agents),
            started=started,
            beat=started,
            state=ALIVE,
        )
        self._line: Database | None = None
        self._good = float("-inf")
        """When the last beat that came through was begun."""
        self._looked = float("-inf")
        self._others: list[_Seen] = []
        self._draining = False
        self._leaving = threading.Event()
        self._hurry = threading.Event()
        self._losing = threading.Lock()
        self._threads: list[threading.Thread] = []

    def start(self) -> None:
        """Writes itself down and begins to beat. Raises a `DurableFailed` where the database does not answer."""
        line = self._database.alone(self.timing.own / 2)
        me = self._me

        def write(connection: sa.Connection) -> float:
            began = now()
            row = {
                **{name: getattr(me, name) for name in ("id", "host", "pid", "started", "beat", "state")},
                "format": FORMAT,
                "queues": msgspec.json.encode(me.queues).decode(),
                "agents": msgspec.json.encode(me.agents).decode(),
                "beats": 0,
            }
            connection.execute(self._database.insert(workers).values(row).on_conflict_do_nothing())
            return began

        try:
            self._good = line.do(write, seconds=self.timing.own)
            self._line = line
            self._look(line)
        except BaseException:
            line.close()
            raise
        for name, work in (("beats", self._live), ("asks", self._ask), ("watch", self._watch)):
            thread = threading.Thread(target=work, args=(line,), name=f"toolwire-lease-{name}", daemon=True)
            self._threads.append(thread)
            thread.start()

    def holds(self) -> bool:
        """Whether this worker owns what it has: to be asked before everything that must not be done by two."""
        return (
            not self.reason
            and not self._leaving.is_set()
            and self._left() >= 0
            and os.getpid() == self._pid  # a fork is no worker
        )

    def drain(self) -> None:
        """Takes no more, and soon says so to the others; it still lives."""
        self._draining = True
        self._hurry.set()

    def end(self) -> None:
        """Owns nothing from now on, and says so, so that others take its runs at once. Waits some seconds at most."""
        if os.getpid() != self._pid:
            return
        self._leaving.set()
        self._hurry.set()
        until = now() + self.timing.own / 2 + 2 * _GOODBYE
        for thread in self._threads:
            if thread is not threading.current_thread():
                thread.join(max(0.0, until - now()))

    def living(self) -> list[WorkerInfo]:
        """Those that live, this one included, as of its last look: for people.

        Whoever takes runs from the dead asks the database (`roster`), after it has asked for the runs: a worker may
        have begun since.
        """
        me = [self._as_it_is()] if self.holds() else []
        return sorted([*me, *(other.info for other in self._others)], key=_age)

    def is_leader(self) -> bool:
        """Whether this is the oldest that lives and works. For a moment two may think so of themselves."""
        if self._draining or not self.holds():
            return False
        mine = _age(self._me)
        return not any(
            other.info.state == ALIVE and other.silence <= self.timing.own and _age(other.info) < mine
            for other in self._others
        )

    def _left(self) -> float:
        """Seconds for which what it has is its own, if it hears nothing more."""
        return min(self._good, self._database.unanswered_since) + self.timing.own - now()

    def _live(self, line: Database) -> None:
        """The thread that beats."""
        beats = 0
        while not self.reason and not self._leaving.is_set():
            began = now()
            self._beat(line, clean=beats % _CLEAN == 0)
            beats += 1
            self._hurry.wait(max(0.0, self.timing.beat - (now() - began)))
            self._hurry.clear()
        self._leaving.wait()
        with suppress(DurableFailed):
            line.do(self._goodbye, seconds=_GOODBYE)
        line.close()

    def _ask(self, _line: Database) -> None:
        """The thread that asks over the connections of the runs, so that there is an answer to miss."""
        while not self.reason and not self._leaving.is_set():
            with suppress(DurableFailed):
                self._database.ask()
            self._leaving.wait(self.timing.beat)

    def _watch(self, _line: Database) -> None:
        """The thread that sees that nothing came through, also where a beat hangs."""
        while not self.reason and not self._leaving.is_set():
            left = self._left()
            if left < 0:
                self._lapse()
            else:
                self._leaving.wait(left + 0.001)

    def _beat(self, line: Database, *, clean: bool) -> None:
        left = self._left()
        if left < 0:
            # Stopped and woken: whether others noticed or not, what was owned is given up.
            return self._lapse()
        try:
            began = line.do(self._sign, seconds=min(left, self.timing.beat))
            if began is None:
                return self._lose("the other workers have declared this one lost")
            self._good = began
            self._look(line)
            if clean:
                line.do(_forget, seconds=self.timing.beat)
        except DurableFailed:
            return None
        return self._on_beat()

    def _sign(self, connection: sa.Connection) -> float | None:
        """When this sign of life was begun; None where it is too late for it."""
        began = now()
        beat = (
            workers.update()
            .where(workers.c.id == self.id, workers.c.state.in_(LIVING))
            .values(beats=workers.c.beats + 1, beat=time.time(), state=DRAINING if self._draining else ALIVE)
        )
        return began if connection.execute(beat).rowcount else None

    def _look(self, line: Database) -> None:
        """Sees who lives, and declares lost who has not for too long."""
        wanted = sa.select(workers).where(workers.c.state.in_(LIVING), workers.c.id != self.id)

        def read(connection: sa.Connection) -> tuple[float, Sequence[Any]]:
            return now(), connection.execute(wanted).all()

        looks, rows = line.do(read, seconds=self.timing.beat)
        watched = min(looks - self._looked, _REGULAR * self.timing.beat)
        self._looked = now()
        known = {other.info.id: other for other in self._others}
        others = []
        for row in rows:
            before = known.get(row.id)
            same = before is not None and before.beats == row.beats
            other = _Seen(_info(row), row.beats, before.silence + watched if before is not None and same else 0.0)
            if other.silence < self.timing.dead or not self._declare(line, other):
                others.append(other)
        self._others = others

    def _declare(self, line: Database, other: _Seen) -> bool:
        """Whether the other is lost now: it has not beaten to the last moment, and this one may still say so."""
        if not self.holds():
            return False
        silent = (workers.c.id == other.info.id) & (workers.c.beats == other.beats) & workers.c.state.in_(LIVING)

        def write(connection: sa.Connection) -> bool:
            return bool(connection.execute(workers.update().where(silent).values(state=LOST)).rowcount)

        return line.do(write, seconds=self.timing.beat)

    def _goodbye(self, connection: sa.Connection) -> None:
        mine = (workers.c.id == self.id) & workers.c.state.in_(LIVING)
        connection.execute(workers.update().where(mine).values(state=ENDED, beat=time.time()))

    def _lapse(self) -> None:
        what = "no sign of life has reached the database"
        if self._database.unanswered_since < self._good:
            what = "the database has not answered the work"
        self._lose(f"{what} for {self.timing.own:g} s")

    def _lose(self, reason: str) -> None:
        with self._losing:
            if self.reason or self._leaving.is_set():
                return
            self.reason = reason
        self._on_lost()

    def _as_it_is(self) -> WorkerInfo:
        state = DRAINING if self._draining else ALIVE
        return msgspec.structs.replace(self._me, state=state, beat=time.time() - (now() - self._good))


def roster(connection: sa.Connection) -> list[WorkerInfo]:
    """All workers that the database knows, the oldest first, with how many runs each works on.

    A worker is in it before it takes its first run: who reads the runs first, and then this, misses nobody.
    """
    running = (
        sa.select(sa.func.count())
        .where(runs.c.worker == workers.c.id, runs.c.state == RunState.RUNNING)
        .scalar_subquery()
        .label("running")
    )
    return sorted((_info(row, row.running) for row in connection.execute(sa.select(workers, running))), key=_age)


def _info(row: Any, running: int = 0) -> WorkerInfo:
    return WorkerInfo(
        id=row.id,
        host=row.host,
        pid=row.pid,
        queues=msgspec.json.decode(row.queues, type=list[str]),
        agents=msgspec.json.decode(row.agents, type=list[str]),
        started=row.started,
        beat=row.beat,
        state=row.state,
        format=row.format,
        running=running,
    )


def _age(worker: WorkerInfo) -> tuple[float, str]:
    return worker.started, worker.id


def _forget(connection: sa.Connection) -> None:
    """Those that have been gone for long are not listed any more."""
    connection.execute(workers.delete().where(workers.c.state.in_(_GONE), workers.c.beat < time.time() - _KEPT))
