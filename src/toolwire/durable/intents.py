"""Calls with effects that were about to run: written down before, so that nobody repeats what nobody knows."""

from __future__ import annotations

import time

import sqlalchemy as sa

from .database import Database, effects
from .ledger import hold


class Intents:
    """Of all runs. Methods are called in a thread."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, run: str, attempt: int, turn: int, id: str, tool: str) -> None:
        """A call with effects is about to run. Raises `RunLost` where the run is someone else's by now."""

        def work(connection: sa.Connection) -> None:
            hold(connection, run, attempt)
            insert = self._database.insert(effects).values(
                run=run, turn=turn, id=id, tool=tool, attempt=attempt, at=time.time()
            )
            # Told twice only by one and the same attempt, after a connection that was lost as it was told.
            connection.execute(insert.on_conflict_do_nothing())

        self._database.do(work)

    def of(self, run: str) -> set[tuple[int, str]]:
        """The calls that were about to run, by turn and id: providers may count the calls of each answer from 0."""

        def work(connection: sa.Connection) -> set[tuple[int, str]]:
            rows = connection.execute(sa.select(effects.c.turn, effects.c.id).where(effects.c.run == run))
            return {(row.turn, row.id) for row in rows}

        return self._database.do(work)
