"""The events of a run for whoever wants to see them, from any process: each once, in order, now and afterwards.

What was withdrawn is left out for a reader who has not seen it. One who has is told so, and sees what is told instead.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from functools import partial
from typing import Any, NamedTuple

import sqlalchemy as sa

from ..agent.events import AgentEvent
from ..errors import DurableFailed
from .database import Database, events, runs
from .event_json import decode_events, decode_heads, is_voidable, kind_of
from .records import AttemptWithdrawn, RunEvent, RunState

_PAGE = 16
"""Batches that are read at a time: a megabyte, where no event is large by itself."""
_SLOWER, _LONGEST_PAUSE = 1.25, 0.5

_Done = tuple[int, str, int]
"""What one attempt told of one unit: its turn, its call or "", the attempt."""


class _Page(NamedTuple):
    """What is read at a time."""

    rows: Sequence[Any]
    withdrawing: Sequence[Any]
    """Batches behind these that withdraw something, as far as they were not known."""
    known: int
    """Up to here every batch that withdraws something is known now."""
    is_over: bool


async def follow(
    database: Database, run: str, *, after: int = 0, until_over: bool = True, poll: float = 0.1
) -> AsyncGenerator[RunEvent, None]:
    """Every event of the run behind the position `after`, as it comes; ends when the run is over and all is told.

    With `until_over=False` it goes on, since a run that is over may be resumed. Whoever goes on reading with the last
    position that they were told misses nothing and sees nothing twice. An `AttemptWithdrawn` is told to those who may
    have seen what it withdraws, and to nobody else. Of a run however long, little is held in memory.
    """
    withdrawals = _Withdrawals(after)
    place = await database.use(partial(_batch_of, run=run, after=after))
    known, pause = 0, poll / 4
    while True:
        page = await database.use(partial(_read, run=run, place=place, known=known))
        for row in (*page.rows, *page.withdrawing):
            if row.withdraws and row.first > known:
                withdrawals.learn(row.body)
        known = max(known, page.known)
        for row in page.rows:
            for position, turn, id, event in decode_events(row.body):
                if position > after and withdrawals.is_told(position, (turn, id, row.attempt), event):
                    yield RunEvent(position, row.attempt, turn, id, event, row.at)
            place = row.first
        if page.rows:
            pause = poll / 4
        elif until_over and page.is_over:
            return
        else:
            await asyncio.sleep(pause)
            pause = min(pause * _SLOWER, max(_LONGEST_PAUSE, poll))


class _Withdrawals:
    """Those that are known and not passed yet, and what they are about."""

    def __init__(self, after: int) -> None:
        self._after = after
        self._coming: dict[_Done, list[tuple[int, int]]] = {}
        """Of each: the position of the first event that is void, and its own."""
        self._shown: set[_Done] = set()

    def learn(self, batch: str) -> None:
        """Takes what a batch withdraws."""
        for position, turn, id, head in decode_heads(batch):
            if head.type == "attempt_withdrawn":
                self._coming.setdefault((turn, id, head.attempt), []).append((head.first, position))

    def is_told(self, position: int, done: _Done, event: AgentEvent | AttemptWithdrawn) -> bool:
        """Whether the reader is told of this event."""
        if isinstance(event, AttemptWithdrawn):
            done = (event.turn, event.id, event.attempt)
            self._coming[done] = [each for each in self._coming.get(done, ()) if each[1] > position]
            was_shown = done in self._shown or event.first <= self._after
            self._shown.discard(done)
            return was_shown
        if not is_voidable(kind_of(event), done[1]):
            return True
        if any(first <= position < end for first, end in self._coming.get(done, ())):
            return False
        self._shown.add(done)
        return True


def _batch_of(connection: sa.Connection, run: str, after: int) -> int:
    """A place before which there is nothing for the reader."""
    found = sa.select(sa.func.max(events.c.first)).where(events.c.run == run, events.c.first <= after + 1)
    return int(connection.execute(found).scalar() or 1) - 1


def _read(connection: sa.Connection, run: str, place: int, known: int) -> _Page:
    # How the run stands comes first: what was told before it was over is then in the page.
    state = connection.execute(sa.select(runs.c.state, runs.c.position).where(runs.c.id == run)).first()
    if state is None:
        raise DurableFailed(f"there is no run {run}", hint="See: toolwire runs list", run=run)
    wanted = sa.select(events).where(events.c.run == run).order_by(events.c.first)
    rows = connection.execute(wanted.where(events.c.first > place).limit(_PAGE)).all()
    is_over = RunState(state.state).is_over
    if len(rows) < _PAGE:
        return _Page(rows, (), rows[-1].first if rows else known, is_over)
    behind = events.c.first > max(known, rows[-1].first)
    withdrawing = connection.execute(wanted.where(behind, events.c.withdraws)).all()
    return _Page(rows, withdrawing, max(state.position, rows[-1].first), is_over)
