"""The one database of a set of workers: an SQLite file on one machine, PostgreSQL for many.

The engine keeps its own tables in it; ours are beside them, and hold what it does not: who works and lives, the events
of every run, the questions to people, the calls that may have had effects.
"""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import sqlalchemy as sa

from ..errors import ConfigError, DurableFailed
from ..folders import state_folder
from ..refusals import clean
from . import sqlite_version
from .connections import Connections, postgres_engine
from .portable_rows import guard

_T = TypeVar("_T")

VARIABLE = "TOOLWIRE_DATABASE"
SCHEMA = 1
"""Of our tables."""
_BUSY_SECONDS, _POOL_SECONDS = 30.0, 60.0
_THREADS = 16
_PAUSE, _LONGEST_PAUSE = 0.05, 1.0
_LOCK = 7110457281
"""Of PostgreSQL, while tables are made: a number that nobody else has."""
_NOT_ALLOWED = "42501"

TABLES = sa.MetaData()

meta = sa.Table("toolwire_meta", TABLES, sa.Column("schema", sa.Integer, nullable=False))

runs = sa.Table(
    "toolwire_runs",
    TABLES,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("title", sa.Text, nullable=False),
    sa.Column("state", sa.Text, nullable=False),
    sa.Column("agent", sa.Text, nullable=False),
    sa.Column("agent_version", sa.Text, nullable=False, server_default=""),
    sa.Column("format", sa.Integer, nullable=False),
    sa.Column("queue", sa.Text, nullable=False),
    sa.Column("priority", sa.Integer, nullable=False),
    sa.Column("spec", sa.Text, nullable=False),
    sa.Column("created", sa.Float, nullable=False),
    sa.Column("started", sa.Float),
    sa.Column("updated", sa.Float, nullable=False),
    sa.Column("ended", sa.Float),
    sa.Column("timeout", sa.Float),
    sa.Column("deadline", sa.Float),
    sa.Column("attempt", sa.Integer, nullable=False, server_default="0"),
    sa.Column("begins", sa.Integer, nullable=False, server_default="0"),
    sa.Column("stalled", sa.Integer, nullable=False, server_default="0"),
    sa.Column("worker", sa.Text, nullable=False, server_default=""),
    sa.Column("wanted", sa.Text, nullable=False, server_default=""),
    sa.Column("position", sa.Integer, nullable=False, server_default="0"),
    sa.Column("signals", sa.Integer, nullable=False, server_default="0"),
    sa.Column("seen", sa.Integer, nullable=False, server_default="0"),
    sa.Column("turns", sa.Integer, nullable=False, server_default="0"),
    sa.Column("usage", sa.Text, nullable=False, server_default=""),
    sa.Column("text", sa.Text, nullable=False, server_default=""),
    sa.Column("conversation", sa.Text, nullable=False, server_default=""),
    sa.Column("error", sa.Text, nullable=False, server_default=""),
    sa.Column("parent", sa.Text, nullable=False, server_default=""),
    sa.Column("forked", sa.Text, nullable=False, server_default=""),
    sa.Index("toolwire_runs_state", "state", "created"),
    sa.Index("toolwire_runs_worker", "worker"),
    sa.Index("toolwire_runs_parent", "parent"),
)

events = sa.Table(
    "toolwire_events",
    TABLES,
    sa.Column("run", sa.Text, primary_key=True),
    sa.Column("first", sa.Integer, primary_key=True),
    sa.Column("last", sa.Integer, nullable=False),
    sa.Column("attempt", sa.Integer, nullable=False),
    sa.Column("at", sa.Float, nullable=False),
    sa.Column("withdraws", sa.Boolean, nullable=False),
    sa.Column("body", sa.Text, nullable=False),
)

questions = sa.Table(
    "toolwire_questions",
    TABLES,
    sa.Column("run", sa.Text, primary_key=True),
    sa.Column("turn", sa.Integer, primary_key=True),
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("digest", sa.Text, primary_key=True),
    sa.Column("asked", sa.Float, nullable=False),
    sa.Column("body", sa.Text, nullable=False),
    sa.Column("answered", sa.Float),
    sa.Column("answer", sa.Text, nullable=False, server_default=""),
)

effects = sa.Table(
    "toolwire_effects",
    TABLES,
    sa.Column("run", sa.Text, primary_key=True),
    sa.Column("turn", sa.Integer, primary_key=True),
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("tool", sa.Text, nullable=False),
    sa.Column("attempt", sa.Integer, nullable=False),
    sa.Column("at", sa.Float, nullable=False),
)

workers = sa.Table(
    "toolwire_workers",
    TABLES,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("host", sa.Text, nullable=False),
    sa.Column("pid", sa.Integer, nullable=False),
    sa.Column("format", sa.Integer, nullable=False),
    sa.Column("queues", sa.Text, nullable=False),
    sa.Column("agents", sa.Text, nullable=False),
    sa.Column("started", sa.Float, nullable=False),
    sa.Column("beats", sa.Integer, nullable=False),
    sa.Column("beat", sa.Float, nullable=False),
    sa.Column("state", sa.Text, nullable=False),
)

rates = sa.Table(
    "toolwire_rates",
    TABLES,
    sa.Column("key", sa.Text, primary_key=True),
    sa.Column("next", sa.Float, nullable=False),
    sa.Column("seen", sa.Float, nullable=False),
)


def database_url(env: Mapping[str, str], given: str | None = None) -> str:
    """What was given, else `TOOLWIRE_DATABASE`, else an SQLite file in the state folder."""
    url = given or env.get(VARIABLE, "").strip()
    return url or f"sqlite:///{state_folder(env) / 'runs.db'}"


class Database:
    """One process's connections. Every method may be called from any thread; `use` from the event loop."""

    def __init__(self, url: str, *, patience: float | None = None) -> None:
        self.url = _checked(url)
        self.shown = _shown(self.url)
        self.is_sqlite = self.url.get_backend_name() == "sqlite"
        if self.is_sqlite and (problem := sqlite_version.problem()):
            raise ConfigError(f"SQLite {problem}", hint=sqlite_version.HINT)
        if self.is_sqlite and patience is None:
            self._make_folder()
        self._connections = Connections(patience)
        self.engine = _engine(self.url, patience, self._connections)
        guard(self.engine)
        self.longest: float | None = None
        """Seconds after which whoever waits for the database is told that it does not answer; None: never."""
        self._closed = threading.Event()
        sa.event.listen(self.engine, "checkin", self._let_go)
        sa.event.listen(self.engine, "checkout", lambda *_: self._connections.check())
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="toolwire-database")

    def alone(self, patience: float) -> Database:
        """The same over one connection of its own, which waits for this many seconds at most for a lock or an answer.

        For what must not stand in line behind everything else, such as a sign of life. Each statement is by itself.
        """
        return Database(self.url.render_as_string(hide_password=False), patience=patience)

    @contextmanager
    def to_migrate(self) -> Iterator[sa.Engine]:
        """An engine for statements that may take minutes before the server answers."""
        engine = _engine(self.url, None, self._connections.patient())
        try:
            yield engine
        finally:
            engine.dispose()

    @property
    def unanswered_since(self) -> float:
        """Since when (`clock.now`) nobody was answered over the connections of this pool; infinity: they are."""
        return self._connections.unanswered_since

    def ask(self) -> None:
        """Asks the server over the next connection of this pool whether it answers. Raises a `DurableFailed`."""
        if not self.is_sqlite:
            self.insist(lambda: self.engine.connect().close(), seconds=0)

    @property
    def is_closed(self) -> bool:
        """Whether it was closed or cut off."""
        return self._closed.is_set()

    def cut(self) -> None:
        """Ends every wait for the server within moments; nothing is asked any more. From any thread.

        What is under way fails, so it is for those who must go on without an answer; `close` lets it end.
        """
        self._connections.cut()
        self._closed.set()

    def prepare(self) -> None:
        """Makes our tables where they are missing; refuses a database of another form."""
        try:
            if self._form() == SCHEMA:
                return
            with self.alone_in(), self.engine.begin() as connection:
                self._make_tables(connection)
        except sa.exc.DBAPIError as error:
            raise self.refusal(error) from error

    def _form(self) -> int | None:
        """Of the tables that are there, as far as can be told."""
        try:
            with self.engine.connect() as connection:
                return connection.execute(sa.select(meta.c.schema)).scalar()
        except (sa.exc.ProgrammingError, sa.exc.OperationalError) as error:
            if _passes(error) and not self.is_sqlite:
                raise  # it does not answer, whatever is there
            return None

    def _make_tables(self, connection: sa.Connection) -> None:
        TABLES.create_all(connection)
        found = connection.execute(sa.select(meta.c.schema)).scalar()
        if found is None:
            connection.execute(meta.insert().values(schema=SCHEMA))
        elif found != SCHEMA:
            raise DurableFailed(
                f"the database is of form {found}, and this Toolwire knows form {SCHEMA}",
                hint="Use the Toolwire that made it, or another database.",
                url=self.shown,
            )

    @contextmanager
    def alone_in(self) -> Iterator[None]:
        """No other process is in here meanwhile: to make tables, when many workers are started at once."""
        if self.is_sqlite:
            import fcntl

            with open(f"{self.url.database}.lock", "w") as file:
                fcntl.flock(file, fcntl.LOCK_EX)
                yield
            return
        # Without a transaction, and asked for again and again: the engine builds indexes, for which PostgreSQL waits
        # until every statement has ended that was there before, also one that waits for this lock.
        with self.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            while not connection.execute(sa.select(sa.func.pg_try_advisory_lock(_LOCK))).scalar():
                self._connections.check()
                self._closed.wait(_PAUSE)
            try:
                yield
            finally:
                connection.execute(sa.select(sa.func.pg_advisory_unlock(_LOCK)))

    def do(self, work: Callable[[sa.Connection], _T], *, seconds: float | None = None) -> _T:
        """Does the work in one transaction; again after a lost connection, for as long as it takes, or `seconds`."""

        def in_transaction() -> _T:
            with self.engine.begin() as connection:
                return work(connection)

        return self.insist(in_transaction, seconds=seconds)

    def insist(self, work: Callable[[], _T], *, seconds: float | None = None) -> _T:
        """Does what talks to the database, again and again while that is away: twice done must be as once."""
        seconds = self.longest if seconds is None else seconds
        until = None if seconds is None else time.monotonic() + seconds
        pause = _PAUSE
        while True:
            try:
                return work()
            except (sa.exc.DBAPIError, sa.exc.TimeoutError) as error:
                late = until is not None and time.monotonic() + pause > until
                if late or self._closed.is_set() or not _passes(error):
                    raise self.refusal(error) from error
            self._closed.wait(pause)
            pause = min(pause * 2, _LONGEST_PAUSE)

    async def use(self, work: Callable[[sa.Connection], _T]) -> _T:
        """The same, without holding up the event loop."""
        return await self.thread(self.do, work)

    async def thread(self, work: Callable[..., _T], *arguments: Any) -> _T:
        """Does what talks to the database in a thread of its own: while that is away, only this waits."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, partial(work, *arguments))

    def close(self) -> None:
        """Ends all connections, and all waiting for one."""
        self._closed.set()
        self._threads.shutdown(wait=False, cancel_futures=True)
        self.engine.dispose()

    def _let_go(self, _: object, record: Any) -> None:
        """What was still in use when all connections were ended is ended when it comes back."""
        if self._closed.is_set():
            record.invalidate()

    def insert(self, table: sa.Table) -> Any:
        """An INSERT that knows `on_conflict_do_nothing` and its like."""
        from sqlalchemy.dialects import postgresql, sqlite

        return sqlite.insert(table) if self.is_sqlite else postgresql.insert(table)

    def _make_folder(self) -> None:
        path = self.url.database
        if not path or path == ":memory:":
            raise ConfigError(
                "a database in memory is gone with its process", hint="Name a file: sqlite:////home/me/runs.db"
            )
        folder = Path(path).resolve().parent
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            # What runs say and do is nobody else's business. A file that is there is never opened: to close it again
            # would take away the locks that SQLite holds on it in this process, and ruin it.
            with suppress(FileExistsError):
                os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        except OSError as error:
            raise DurableFailed(f"the database cannot be made: {error}", hint="Name another file.", url=path) from None

    def refusal(self, error: sa.exc.SQLAlchemyError) -> DurableFailed:
        """What the database says, for whoever must do something about it."""
        cause = getattr(error, "orig", None) or error
        words = str(cause).strip().splitlines()
        said = words[0] if words else type(error).__name__
        if getattr(cause, "sqlstate", None) == _NOT_ALLOWED:
            return DurableFailed(
                f"the database does not allow that: {said}",
                hint="Use a role that may; docs/operators.md has what it needs.",
                url=self.shown,
            )
        return DurableFailed(
            f"the database does not answer: {said}",
            hint="Is it running, and is the address right? See toolwire worker --help.",
            url=self.shown,
        )


def _checked(url: str) -> sa.URL:
    """The address as SQLAlchemy takes it, with the driver that is installed. What is wrong is never repeated: a
    password may stand anywhere in it.
    """
    try:
        made = sa.make_url(url)
        backend = made.get_backend_name()
    except (sa.exc.ArgumentError, ValueError):
        made, backend = None, ""
    if made is None or backend not in ("sqlite", "postgresql", "postgres"):
        raise ConfigError(
            "this is no address of a database",
            hint="Give sqlite:////home/me/runs.db or postgresql://user:password@host:5432/name.",
        )
    if "@" in (made.host or ""):
        raise ConfigError("the address of the database has an @ too many", hint="Write one in a password as %40.")
    return made if backend == "sqlite" else made.set(drivername="postgresql+psycopg")


def _shown(url: sa.URL) -> str:
    """What of an address may be shown: no user, no password, no options."""
    backend, database = url.get_backend_name(), url.database
    return clean(sa.URL.create(backend, host=url.host, port=url.port, database=database).render_as_string())


def _engine(url: sa.URL, patience: float | None, connections: Connections) -> sa.Engine:
    pool: dict[str, Any] = {"pool_size": 10, "max_overflow": 20, "pool_timeout": _POOL_SECONDS}
    if patience is not None:
        pool = {"pool_size": 1, "max_overflow": 0, "pool_timeout": patience}
    if url.get_backend_name() != "sqlite":
        if patience is not None:
            pool["isolation_level"] = "AUTOCOMMIT"  # whoever is frozen between two statements holds no lock
        return postgres_engine(url, connections, **pool)

    engine = sa.create_engine(url, **pool)

    @sa.event.listens_for(engine, "connect")
    def prepare(connection: Any, _: object) -> None:
        connection.isolation_level = "IMMEDIATE" if patience is None else None
        connection.execute(f"PRAGMA busy_timeout={round((patience or _BUSY_SECONDS) * 1000)}")
        connection.execute("PRAGMA foreign_keys=ON")
        connection.execute("PRAGMA journal_mode=WAL")
        sqlite_version.add_functions(connection)

    return engine


def _passes(error: sa.exc.DBAPIError | sa.exc.TimeoutError) -> bool:
    """Whether the database may answer in a moment: the connection was lost, or someone else held it."""
    if isinstance(error, sa.exc.TimeoutError):
        return True
    if error.connection_invalidated or isinstance(error, (sa.exc.OperationalError, sa.exc.InterfaceError)):
        return "no such table" not in str(error.orig)
    state = getattr(error.orig, "sqlstate", None) or ""
    return state[:2] in ("08", "57", "40") or state in ("25P03", "25P04")
