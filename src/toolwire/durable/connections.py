"""Connections to PostgreSQL that end when the server is silent for too long.

A firewall that forgot a connection, a proxy that hangs, a machine that vanished: none of them ends a read. The limits
of the system (keepalives, `tcp_user_timeout`) notice the last of these, but no peer that acknowledges every byte and
answers none. So each wait for the server has a limit here: while the driver waits it looks up ten times a second.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Generator
from typing import Any

import sqlalchemy as sa

from ..errors import DurableFailed
from .clock import now

CONNECT_SECONDS = 10.0
"""Limit for a new connection."""
CHECK_SECONDS = 3.0
"""Limit for what a server answers at once: whether a connection that was idle still works."""
SILENT_SECONDS = 30.0
"""Limit without a byte from the server in the middle of a statement. A long answer that comes in is not silent."""
MIGRATION_SECONDS = 600.0
"""The same while the engine makes or changes its tables: an index may take minutes."""
_NEVER = float("inf")
_KEEPALIVES = {"keepalives": 1, "keepalives_idle": 10, "keepalives_interval": 5, "keepalives_count": 3}
_SESSION = {
    # Who is frozen in the middle of a transaction holds the rows of its runs: the server lets go of them.
    "idle_in_transaction_session_timeout": 5000,
    # The server notices a client that vanished within a minute, not after two hours.
    "tcp_keepalives_idle": 30,
    "tcp_keepalives_interval": 10,
    "tcp_keepalives_count": 3,
}


class Connections:
    """What all connections of one pool share: how long they wait, since when they wait in vain, whether they are cut.

    `patience` is the limit in seconds for each statement and each new connection (default: the limits above).
    """

    def __init__(self, patience: float | None = None) -> None:
        self.silent = SILENT_SECONDS if patience is None else patience
        self.to_check = min(CHECK_SECONDS, self.silent)
        self.to_connect = max(2, round(CONNECT_SECONDS if patience is None else patience))
        self.unanswered_since = _NEVER
        """When (`clock.now`) the server was asked over one of them and answered over none since; or infinity."""
        self._cut = threading.Event()

    def patient(self) -> Connections:
        """The same for changes of tables; cut with these."""
        other = Connections()
        other.silent, other._cut = MIGRATION_SECONDS, self._cut
        return other

    def cut(self) -> None:
        """Ends every wait for the server within moments, and lets nobody use a connection again. From any thread."""
        self._cut.set()

    def asking(self) -> None:
        """The server is asked now. That it fails to answer is no answer."""
        if self.unanswered_since == _NEVER:
            self.unanswered_since = now()

    def check(self) -> None:
        """Raises a `DurableFailed` once they are cut. It is no error of the database's, so that nobody tries again."""
        if self._cut.is_set():
            raise DurableFailed("the connections to the database are closed")

    def limited(self, wait: Any, limit: float, silence: type[Exception]) -> Generator[Any, int, Any]:
        """A wait of the driver. Raises `silence` when nothing comes from the server for `limit` seconds."""
        from psycopg.waiting import Ready

        until, has_heard = time.monotonic() + limit, False
        try:
            wanted = next(wait)
            self.asking()
            while True:
                ready = yield wanted
                if ready:
                    until = time.monotonic() + limit
                    has_heard = has_heard or bool(ready & Ready.R)
                elif self._cut.is_set():
                    raise silence("this process has cut the connection off")
                elif time.monotonic() > until:
                    raise silence(f"the server has been silent for {limit:g} s")
                wanted = wait.send(ready)
        except StopIteration as end:
            if has_heard:
                self.unanswered_since = _NEVER
            return end.value


def postgres_engine(url: sa.URL, connections: Connections, **pool: Any) -> sa.Engine:
    """An engine whose connections have these limits. What the address itself says of a limit of the system holds."""
    import psycopg

    limits = {
        "connect_timeout": connections.to_connect,
        "tcp_user_timeout": round(connections.silent * 1000),
        **_KEEPALIVES,
    }
    limits = {name: limit for name, limit in limits.items() if name not in url.query}
    engine = sa.create_engine(url, **pool, pool_pre_ping=True, connect_args=limits)

    class Silence(psycopg.OperationalError):
        pass

    class Connection(psycopg.Connection[Any]):
        limit = connections.to_check

        def wait(self, gen: Any, *arguments: Any, **named: Any) -> Any:
            try:
                return super().wait(connections.limited(gen, self.limit, Silence), *arguments, **named)
            except Silence:
                # What came of the statement is unknown, and an answer to it must not be taken for that to the next one.
                self.pgconn.finish()
                raise

    @sa.event.listens_for(engine, "do_connect")
    def connect(_dialect: object, _record: object, arguments: Any, named: Any) -> Any:
        connections.check()
        connections.asking()
        return Connection.connect(*arguments, **named)

    @sa.event.listens_for(engine, "connect")
    def set_up(connection: Any, _: object) -> None:
        before, connection.autocommit = connection.autocommit, True
        connection.execute("; ".join(f"SET {name} = {value}" for name, value in _SESSION.items()))
        connection.autocommit = before

    @sa.event.listens_for(engine, "checkout")
    def begin(connection: Any, _record: object, _proxy: object) -> None:
        connection.limit = connections.silent

    @sa.event.listens_for(engine, "checkin")
    def end(connection: Any, _: object) -> None:
        if connection is not None:
            connection.limit = connections.to_check

    return engine
