"""Every place at which a worker can die: before and after each commit, each request, each piece of a tool's work.

The product knows nothing of it. Commits are seen where SQLAlchemy hands them to the driver, ours and the engine's own.
"""

from __future__ import annotations

import os
import signal
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine.default import DefaultDialect

Moment = Callable[[str], None]

_NOT_OF_A_RUN = ("toolwire_workers", "toolwire_rates", "toolwire_meta", "application_versions", "dbos_migrations")
"""Tables that are written for reasons of their own, at any time: they would make the count another in each run."""

_WRITES = frozenset({"INSERT", "UPDATE", "DELETE"})


def no_moment(label: str) -> None:
    """For what runs unharmed."""


class Moments:
    """Counts the moments of this process, and ends or freezes it at one of them."""

    def __init__(self, path: Path, *, at: int, freeze: bool = False) -> None:
        self._file = os.open(path, os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600)
        self._at = at
        self._signal = signal.SIGSTOP if freeze else signal.SIGKILL
        self._count = 0
        self._lock = threading.Lock()

    def __call__(self, label: str) -> None:
        with self._lock:
            self._count += 1
            hit = self._count == self._at
            os.write(self._file, f"{self._count} {label}{' HIT' if hit else ''}\n".encode())
            if hit:
                # To this very thread, so that it does not get one instruction further.
                signal.pthread_kill(threading.get_ident(), self._signal)


def watch_commits(moment: Moment) -> None:
    """Tells each commit that changed something of a run, before and after, for the rest of the process's life."""
    here = threading.local()

    @sa.event.listens_for(sa.Engine, "after_cursor_execute")
    def executed(connection: sa.Connection, cursor: Any, statement: str, *_: object) -> None:
        words = statement.split(None, 3)
        verb = words[0].upper() if words else ""
        # What is given back has not been fetched yet, and is not counted until then.
        if verb not in _WRITES or not (cursor.rowcount or "RETURNING" in statement):
            return
        table = words[1 if verb == "UPDATE" else 2].strip('"').rpartition(".")[2].strip('"')
        if table not in _NOT_OF_A_RUN:
            connection.info.setdefault("moments", []).append(f"{verb.lower()} {table}")

    @sa.event.listens_for(sa.Engine, "rollback")
    def rolled_back(connection: sa.Connection) -> None:
        connection.info.pop("moments", None)

    @sa.event.listens_for(sa.Engine, "commit")
    def committing(connection: sa.Connection) -> None:
        here.written = connection.info.pop("moments", [])

    plain: Callable[[Any, Any], None] = DefaultDialect.do_commit

    def do_commit(dialect: Any, connection: Any) -> None:
        written = sorted(set(getattr(here, "written", [])))
        here.written = []
        if written:
            moment(f"before {', '.join(written)}")
        plain(dialect, connection)
        if written:
            moment(f"after {', '.join(written)}")

    DefaultDialect.do_commit = do_commit  # type: ignore[method-assign]


def tally_commits(tally: Counter[str]) -> None:
    """Counts all commits of this process, and those that write."""
    here = threading.local()

    @sa.event.listens_for(sa.Engine, "after_cursor_execute")
    def executed(connection: sa.Connection, cursor: Any, statement: str, *_: object) -> None:
        if statement.lstrip()[:6].upper() in _WRITES and (cursor.rowcount or "RETURNING" in statement):
            connection.info["writes"] = True

    @sa.event.listens_for(sa.Engine, "commit")
    def committing(connection: sa.Connection) -> None:
        here.writes = connection.info.pop("writes", False)

    plain: Callable[[Any, Any], None] = DefaultDialect.do_commit

    def do_commit(dialect: Any, connection: Any) -> None:
        plain(dialect, connection)
        tally["commits"] += 1
        tally["writes"] += bool(getattr(here, "writes", False))

    DefaultDialect.do_commit = do_commit  # type: ignore[method-assign]


def labels(path: Path) -> list[str]:
    """All moments that a process told, in order; the one that it was killed at ends with `HIT`."""
    if not path.exists():
        return []
    return [line.partition(" ")[2] for line in path.read_text().splitlines()]
