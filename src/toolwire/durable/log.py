"""The events of a run, on their way into the database: in batches, in order, each once across all attempts.

A new attempt goes through the run from its beginning and tells everything again. What stands in the log already is not
told twice: the n-th event of its kind, of the same turn and call, is the n-th of before. What is not told from records
but done again is another matter: before that, what was told of it is withdrawn.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import sqlalchemy as sa

from ..agent.events import AgentEvent
from ..tasks import create_lazy_task
from .database import Database, events, runs
from .event_json import ENDS, Head, decode_heads, encode_event, head_of, is_voidable, kind_of
from .ledger import RunLost
from .records import AttemptWithdrawn

BATCH_SECONDS = 0.1
"""How long an event waits for others to be committed with it."""
BATCH_EVENTS = 256
BATCH_BYTES = 64 * 1024
_BUSY, _LONGEST_WAIT = 5.0, 1.0
"""A database that takes long is left alone for this many times as long, up to a second: what comes waits together."""
_PAGE = 64

_Unit = tuple[int, str]
"""What is done as one: the answer of a turn (without an id), a call of it."""


class EventLog:
    """The log of a run, for the one who works on it. All is done on the event loop; the writing itself in threads.

    `tell` gives positions, and one batch is written after the other: so whoever reads the log at any time sees its
    first events, without a gap.
    """

    def __init__(self, database: Database, run: str, attempt: int, told: _Told, on_lost: Callable[[], None]) -> None:
        self._database = database
        self._run = run
        self._attempt = attempt
        self._told = told
        self._on_lost = on_lost
        self._last = self._written = told.last
        self._items: list[tuple[str, bool]] = []
        """What is not on its way yet, and whether it withdraws something."""
        self._bytes = 0
        self._some, self._now = asyncio.Event(), asyncio.Event()
        self._waiting: list[tuple[int, asyncio.Future[None]]] = []
        self._failure: Exception | None = None
        self.beside: dict[str, Any] = {}
        """What is written into the row of the run with each batch."""
        self._writer = create_lazy_task(self._write_on())

    @classmethod
    async def open(
        cls, database: Database, run: str, attempt: int, *, on_lost: Callable[[], None] = lambda: None
    ) -> EventLog:
        """Reads what earlier attempts told, once and in pieces.

        `on_lost` is called, once, when a write finds that someone else has the run: nothing is written any more.
        """

        def read(connection: sa.Connection) -> _Told:
            told = _Told()
            # The attempt was raised before: whoever wrote for an earlier one has done so, or never will.
            found = connection.execute(sa.select(runs.c.attempt).where(runs.c.id == run)).scalar()
            if found != attempt:
                raise RunLost
            wanted = sa.select(events.c.first, events.c.attempt, events.c.body).where(events.c.run == run)
            wanted = wanted.order_by(events.c.first).limit(_PAGE)
            last = 0
            while page := connection.execute(wanted.where(events.c.first > last)).all():
                for row in page:
                    for position, turn, id, head in decode_heads(row.body):
                        told.note(position, (turn, id), head, row.attempt)
                last = page[-1].first
            return told

        return cls(database, run, attempt, await database.use(read), on_lost)

    @property
    def position(self) -> int:
        """Of the last event that was told."""
        return self._last

    def tell(self, turn: int, id: str, event: AgentEvent) -> None:
        """Puts the event into the log, unless it stands there already. It is committed soon, or by `flush`."""
        head = head_of(event)
        if not self._told.before((turn, id), head.kind):
            self._add(turn, id, event, head)

    def again(self, turn: int, id: str) -> None:
        """What is told of this unit from now on is done now: what was told of it before is withdrawn, if anything."""
        for attempt, first in self._told.withdrawn((turn, id)):
            event = AttemptWithdrawn(turn, id, attempt, first)
            self._add(turn, id, event, Head(kind_of(event), attempt, first))

    async def flush(self) -> None:
        """All that was told is committed when this returns. Raises `RunLost` where someone else has the run."""
        if self._failure is None and self._written < self._last:
            waiter = asyncio.get_running_loop().create_future()
            self._waiting.append((self._last, waiter))
            self._now.set()
            await waiter
        if self._failure is not None:
            raise self._failure

    async def close(self) -> None:
        """Writes what is left, and ends."""
        try:
            await self.flush()
        finally:
            self.drop()
            with suppress(asyncio.CancelledError):
                await self._writer

    def drop(self) -> None:
        """Ends without writing what is left. What is on its way may still arrive, as long as the run is one's own."""
        self._writer.cancel()
        self._end(RunLost())

    def _add(self, turn: int, id: str, event: AgentEvent | AttemptWithdrawn, head: Head) -> None:
        if self._failure is not None:
            return
        item = encode_event(self._last + 1, turn, id, event)
        self._last += 1
        self._told.note(self._last, (turn, id), head, self._attempt, mine=True)
        self._items.append((item, isinstance(event, AttemptWithdrawn)))
        self._bytes += len(item)
        self._some.set()
        if len(self._items) >= BATCH_EVENTS or self._bytes >= BATCH_BYTES:
            self._now.set()

    async def _write_on(self) -> None:
        took = 0.0
        while True:
            await self._some.wait()
            with suppress(TimeoutError):
                async with asyncio.timeout(min(max(BATCH_SECONDS, took * _BUSY), _LONGEST_WAIT)):
                    await self._now.wait()
            items, last = self._items, self._last
            self._items, self._bytes = [], 0
            self._some.clear()
            self._now.clear()
            begun = time.monotonic()
            try:
                await self._write(items, last)
            except RunLost as lost:
                self._end(lost)
                self._on_lost()
                return
            except Exception as error:
                self._end(error)
                return
            took = time.monotonic() - begun
            self._written = last
            for position, waiter in self._waiting:
                if position <= last and not waiter.done():
                    waiter.set_result(None)
            self._waiting = [each for each in self._waiting if each[0] > last]

    async def _write(self, items: list[tuple[str, bool]], last: int) -> None:
        """Written twice, after a connection that was lost at the commit, is the same as written once."""
        now = time.time()
        rows = [
            {"run": self._run, "attempt": self._attempt, "at": now, **batch}
            for batch in _batches(items, last - len(items) + 1)
        ]
        mine = runs.update().where(runs.c.id == self._run, runs.c.attempt == self._attempt)
        insert = self._database.insert(events).on_conflict_do_nothing()

        def write(connection: sa.Connection) -> None:
            if not connection.execute(mine.values(position=last, updated=now, **self.beside)).rowcount:
                raise RunLost
            connection.execute(insert, rows)

        await self._database.use(write)

    def _end(self, failure: Exception) -> None:
        """From here on nothing is taken, and whoever waits is told why."""
        self._failure = self._failure or failure
        self._items = []
        for _, waiter in self._waiting:
            if not waiter.done():
                waiter.set_result(None)
        self._waiting = []


class _Told:
    """What stands in the log, as far as it decides what is told: in numbers, since there may be a million events."""

    def __init__(self) -> None:
        self.last = 0
        self._counts: dict[_Unit, dict[str, int]] = {}
        """Events of earlier attempts that this one has not come to yet."""
        self._begun: dict[_Unit, dict[int, int]] = {}
        """Where each attempt began to tell what can be withdrawn."""
        self._end = ""
        """How the run ended, where nothing was told after that."""

    def note(self, position: int, unit: _Unit, head: Head, attempt: int, *, mine: bool = False) -> None:
        """An event stands in the log at this position."""
        self.last = position
        self._end = head.type if head.type in ENDS else ""
        if head.type == "attempt_withdrawn":
            self._forget(unit, head.attempt)
            return
        if is_voidable(head.type, unit[1]):
            self._begun.setdefault(unit, {}).setdefault(attempt, position)
        if not mine and head.type not in ENDS:
            counts = self._counts.setdefault(unit, {})
            counts[head.kind] = counts.get(head.kind, 0) + 1

    def before(self, unit: _Unit, kind: str) -> bool:
        """Whether the event that this attempt comes to now was told before."""
        if kind in ENDS:
            return self._end == kind
        counts = self._counts.get(unit)
        if not counts or not counts.get(kind):
            return False
        counts[kind] -= 1
        return True

    def withdrawn(self, unit: _Unit) -> list[tuple[int, int]]:
        """Whose events of this unit stand, and from where on."""
        return list(self._begun.get(unit, {}).items())

    def _forget(self, unit: _Unit, attempt: int) -> None:
        self._begun.get(unit, {}).pop(attempt, None)
        if not self._begun.get(unit):
            counts = self._counts.get(unit, {})
            for kind in [kind for kind in counts if is_voidable(kind, unit[1])]:
                del counts[kind]


def _batches(items: list[tuple[str, bool]], first: int) -> Iterator[dict[str, Any]]:
    """The rows for these events, none larger than need be."""
    begin = size = 0
    for number, (item, _) in enumerate(items):
        if number > begin and (number - begin >= BATCH_EVENTS or size + len(item) > BATCH_BYTES):
            yield _row(items[begin:number], first + begin)
            begin, size = number, 0
        size += len(item)
    yield _row(items[begin:], first + begin)


def _row(items: list[tuple[str, bool]], first: int) -> dict[str, Any]:
    return {
        "first": first,
        "last": first + len(items) - 1,
        "withdraws": any(withdraws for _, withdraws in items),
        "body": f"[{','.join(item for item, _ in items)}]",
    }
