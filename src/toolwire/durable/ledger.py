"""The rows of runs: how each stands, and who may write for it.

`attempt` is the fence. Each time someone begins, takes over, cancels or pauses a run it is raised, and whoever works on
the run writes only where it is still their own. Whoever finds another one there has lost the run and does nothing more.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import msgspec
import sqlalchemy as sa

from ..agent.events import RunEnd
from ..chunks import TokenUsage
from ..errors import DurableFailed, ErrorInfo
from ..messages import Message
from .database import Database, effects, events, questions, runs, workers
from .event_json import encode_event
from .fanout import call_of
from .lease import LIVING
from .records import FORMAT, RunInfo, RunSpec, RunState, to_json, to_text

TITLE = 80
PAUSE = "pause"
"""What can be wanted of whoever works on a run."""
_OVER = [str(state) for state in RunState if state.is_over]
STALLS = 5
"""Workers that a run may lose in a row without a step of it having been recorded: it is what ends them."""


class Parent(NamedTuple):
    """The attempt at a run that starts another one: it must be the one that goes on. 0: any."""

    run: str
    attempt: int = 0


class RunLost(Exception):
    """Someone else has the run now."""


class Begun(NamedTuple):
    """A run that a worker has begun, or taken up."""

    attempt: int
    spec: RunSpec
    queue: str
    stalled: int
    """How many attempts in a row ended without a step."""
    begins: int
    """How often a worker has begun or taken it up, with this time."""
    version: str
    """Of the agent that began it; empty: nobody has."""
    signals: int


class Ledger:
    """All of it, for workers and whoever else. Methods are called in a thread (`Database.use` for the event loop)."""

    def __init__(self, database: Database) -> None:
        self.database = database

    # For anyone.

    def add(
        self,
        id: str,
        spec: RunSpec,
        *,
        queue: str,
        priority: int,
        timeout: float | None,
        parent: Parent | None = None,
        forked: str = "",
        position: int = 0,
        agent_version: str = "",
        beside: Callable[[sa.Connection], None] = lambda _: None,
    ) -> bool:
        """Writes down a new run; False where there is one of this id. Raises `RunLost` where its parent's attempt is
        over. What `beside` writes is there with it, or not at all.
        """
        now = time.time()
        words = " ".join(spec.prompt.text.split())
        row = {
            "id": id,
            "title": to_text(words[:TITLE]) or "(no words)",
            "state": RunState.QUEUED,
            "agent": spec.agent,
            "format": FORMAT,
            "queue": queue,
            "priority": priority,
            "spec": to_json(spec),
            "created": now,
            "updated": now,
            "timeout": timeout,
            "parent": "" if parent is None else parent.run,
            "forked": forked,
            "position": position,
            "agent_version": agent_version,
        }
        insert = self.database.insert(runs).values(**row).on_conflict_do_nothing()

        def work(connection: sa.Connection) -> bool:
            if parent is not None and parent.attempt:
                hold(connection, parent.run, parent.attempt)
            is_new = bool(connection.execute(insert).rowcount)
            if is_new:
                beside(connection)
            return is_new

        return self.database.do(work)

    def get(self, id: str) -> RunInfo | None:
        """The run of exactly this id."""
        found = self._infos(sa.select(runs, _waiting()).where(runs.c.id == id))
        return found[0] if found else None

    def beginning(self, id: str) -> list[RunInfo]:
        """Two at most of the runs whose ids begin so."""
        return self._infos(sa.select(runs, _waiting()).where(runs.c.id.startswith(id, autoescape=True)).limit(2))

    def newest(
        self,
        *,
        states: Iterable[RunState] = (),
        queue: str | None = None,
        parent: str | None = None,
        limit: int | None = 50,
    ) -> list[RunInfo]:
        """The newest first."""
        wanted = sa.select(runs, _waiting()).order_by(runs.c.created.desc(), runs.c.id).limit(limit)
        if among := [str(state) for state in states]:
            wanted = wanted.where(runs.c.state.in_(among))
        if queue is not None:
            wanted = wanted.where(runs.c.queue == queue)
        if parent is not None:
            wanted = wanted.where(runs.c.parent == parent)
        return self._infos(wanted)

    def spec(self, id: str) -> RunSpec:
        """What it is to do."""

        def work(connection: sa.Connection) -> str | None:
            return connection.execute(sa.select(runs.c.spec).where(runs.c.id == id)).scalar()

        found = self.database.do(work)
        if found is None:
            raise DurableFailed(f"there is no run {id}", run=id)
        return msgspec.json.decode(found, type=RunSpec)

    def stop(self, id: str, state: RunState, end: RunEnd | None = None, error: ErrorInfo | None = None) -> bool:
        """Takes the run from whoever has it, and ends or pauses it; False where it is over already, or stands so.

        Only what was refused may still be cancelled. `end` is told as its last event.
        """
        settled = {state, *(each for each in RunState if each.is_over)}
        if state is RunState.CANCELLED:
            settled.discard(RunState.REFUSED)

        def work(connection: sa.Connection) -> bool:
            now = time.time()
            values: dict[str, Any] = {
                "state": state,
                "attempt": runs.c.attempt + 1,
                "worker": "",
                "wanted": "",
                "updated": now,
            }
            if state.is_over:
                values["ended"] = now
            if error is not None or state is RunState.CANCELLED:
                values["error"] = "" if error is None else to_json(error)
            if end is not None:
                values["position"] = runs.c.position + 1
            changed = (
                runs.update()
                .where(runs.c.id == id, runs.c.state.notin_(map(str, settled)))
                .values(**values)
                .returning(runs.c.position, runs.c.attempt, runs.c.parent)
            )
            row = connection.execute(changed).first()
            if row is None:
                return False
            if state.is_over:
                _signal_parent(connection, row.parent, id)
            if end is not None:
                body = encode_event(row.position, 0, "", end)
                connection.execute(
                    events.insert().values(
                        run=id,
                        first=row.position,
                        last=row.position,
                        attempt=row.attempt,
                        at=now,
                        withdraws=False,
                        body=f"[{body}]",
                    )
                )
            return True

        return self.database.do(work)

    def want(self, id: str, what: str) -> bool:
        """Tells whoever works on the run what is wanted; False where nobody does."""
        return self._change(id, {"wanted": what}, runs.c.state == RunState.RUNNING)

    def queue_again(self, id: str) -> bool:
        """The run is to be worked on again; False where it is not one that stands still.

        Its time goes on where it was paused, and begins anew where it was over.
        """
        still = [RunState.PAUSED, RunState.CANCELLED, RunState.REFUSED]
        paused = runs.c.state == RunState.PAUSED
        values = {
            "state": RunState.QUEUED,
            "ended": None,
            "error": "",
            "stalled": 0,
            "started": sa.case((paused, runs.c.started)),
            "deadline": sa.case((paused, runs.c.deadline)),
            "wanted": "",
        }
        return self._change(id, values, runs.c.state.in_(still))

    def wake(self, id: str) -> bool:
        """Whether the run waits and something came for it: it is queued from now on, by whoever is told True."""
        values = {"state": RunState.QUEUED, "seen": runs.c.signals}
        return self._change(id, values, runs.c.state == RunState.WAITING, runs.c.signals > runs.c.seen)

    def to_wake(self) -> list[str]:
        """The runs that wait, and for which something came."""

        def work(connection: sa.Connection) -> list[str]:
            wanted = sa.select(runs.c.id).where(runs.c.state == RunState.WAITING, runs.c.signals > runs.c.seen)
            return list(connection.execute(wanted).scalars())

        return self.database.do(work)

    def queued_before(self, when: float) -> set[tuple[str, float]]:
        """The runs that have waited for a worker since then, and since when each has."""
        wanted = sa.select(runs.c.id, runs.c.updated).where(runs.c.state == RunState.QUEUED, runs.c.updated < when)
        return self.database.do(lambda connection: {(row.id, row.updated) for row in connection.execute(wanted)})

    def of_the_dead(self) -> list[tuple[str, int, str, str]]:
        """The runs that are worked on by workers which do not live: the run, its attempt, its worker, its queue."""
        lives = sa.exists().where(workers.c.id == runs.c.worker, workers.c.state.in_(LIVING))
        wanted = sa.select(runs.c.id, runs.c.attempt, runs.c.worker, runs.c.queue)
        wanted = wanted.where(runs.c.state == RunState.RUNNING, ~lives)
        return self.database.do(lambda connection: [tuple(row) for row in connection.execute(wanted)])

    def late(self) -> list[str]:
        """The runs whose time is over."""

        def work(connection: sa.Connection) -> list[str]:
            wanted = sa.select(runs.c.id).where(runs.c.deadline < time.time(), runs.c.state.notin_(_OVER))
            return list(connection.execute(wanted).scalars())

        return self.database.do(work)

    def forget(self, before: float, limit: int) -> list[str]:
        """Deletes some runs that were over before then, with all that is written of them; gives which.

        What another one started is kept for as long as that one is: it may ask for what came of it.
        """
        starter = runs.alias("starter")
        ended = [RunState.FINISHED, RunState.FAILED, RunState.CANCELLED]
        is_needed = sa.exists().where(
            starter.c.id == runs.c.parent,
            sa.or_(starter.c.state.notin_(ended), starter.c.ended.is_(None), starter.c.ended >= before),
        )
        wanted = sa.select(runs.c.id).where(runs.c.state.in_(ended), runs.c.ended < before, ~is_needed).limit(limit)

        def work(connection: sa.Connection) -> list[str]:
            ids = list(connection.execute(wanted.with_for_update()).scalars())
            if not ids:
                return []
            for table in (events, questions, effects):
                connection.execute(table.delete().where(table.c.run.in_(ids)))
            connection.execute(runs.delete().where(runs.c.id.in_(ids)))
            return ids

        return self.database.do(work)

    # For workers.

    def begin(self, id: str, worker: str) -> Begun | RunState:
        """Takes the run; or says how it stands, where nobody is to work on it. Raises `RunLost` for one who is lost."""

        def work(connection: sa.Connection) -> Begun | RunState:
            now = time.time()
            lives = sa.exists().where(workers.c.id == worker, workers.c.state.in_(LIVING))
            took = connection.execute(
                runs.update()
                .where(
                    runs.c.id == id,
                    runs.c.state.in_([RunState.QUEUED, RunState.RUNNING]),
                    lives,
                )
                .values(
                    state=RunState.RUNNING,
                    worker=worker,
                    attempt=runs.c.attempt + 1,
                    stalled=runs.c.stalled + 1,
                    begins=runs.c.begins + 1,
                    started=sa.func.coalesce(runs.c.started, now),
                    deadline=sa.func.coalesce(runs.c.deadline, now + runs.c.timeout),
                    updated=now,
                )
                .returning(
                    runs.c.attempt,
                    runs.c.spec,
                    runs.c.queue,
                    runs.c.stalled,
                    runs.c.begins,
                    runs.c.agent_version,
                    runs.c.signals,
                )
            ).first()
            if took is not None:
                spec = msgspec.json.decode(took.spec, type=RunSpec)
                return Begun(
                    took.attempt, spec, took.queue, took.stalled - 1, took.begins, took.agent_version, took.signals
                )
            state = connection.execute(sa.select(runs.c.state).where(runs.c.id == id)).scalar()
            if state is None or state in (RunState.QUEUED, RunState.RUNNING):
                raise RunLost
            return RunState(state)

        return self.database.do(work)

    def mark(self, id: str, attempt: int, **values: Any) -> None:
        """Changes what stands in the row of one's own run."""
        if not self._change(id, values, runs.c.attempt == attempt):
            raise RunLost

    def park(
        self, id: str, attempt: int, state: RunState, *, seen: int | None = None, error: ErrorInfo | None = None
    ) -> RunState:
        """The run is left, and nobody works on it; gives the state that it is in then.

        One that would wait is queued where something came for it since `seen`; a pause that was wanted meanwhile holds.
        """
        wanted: sa.ColumnElement[Any] = sa.literal(str(state))
        if seen is not None:
            wanted = sa.case((runs.c.signals == seen, str(state)), else_=str(RunState.QUEUED))
        if state in (RunState.WAITING, RunState.QUEUED):
            wanted = sa.case((runs.c.wanted == PAUSE, str(RunState.PAUSED)), else_=wanted)
        values: dict[str, Any] = {
            "state": wanted,
            "worker": "",
            "wanted": "",
            "stalled": 0,
            "seen": runs.c.signals if seen is None else seen,
            "updated": time.time(),
        }
        if error is not None:
            values["error"] = to_json(error)

        def work(connection: sa.Connection) -> RunState:
            mine = (runs.c.id == id, runs.c.attempt == attempt, runs.c.state.notin_(_OVER))
            left = runs.update().where(*mine).values(**values)
            row = connection.execute(left.returning(runs.c.state, runs.c.parent)).first()
            if row is None:
                raise RunLost
            if RunState(row.state).is_over:
                _signal_parent(connection, row.parent, id)
            return RunState(row.state)

        return self.database.do(work)

    def end(
        self,
        id: str,
        attempt: int,
        state: RunState,
        *,
        text: str = "",
        error: ErrorInfo | None = None,
        turns: int = 0,
        usage: TokenUsage | None = None,
        conversation: Sequence[Message] = (),
    ) -> None:
        """The run is over. With the `conversation`, another can go on from it."""
        self._over(
            id,
            attempt,
            state=state,
            ended=time.time(),
            worker="",
            wanted="",
            text=to_text(text),
            conversation=to_json(conversation) if conversation else "",
            error="" if error is None else to_json(error),
            turns=turns,
            usage="" if usage is None else to_json(usage),
        )

    def _over(self, id: str, attempt: int, **values: Any) -> None:
        """Ends a run, and signals the one that started it in the same transaction."""

        def work(connection: sa.Connection) -> None:
            changed = runs.update().where(runs.c.id == id, runs.c.attempt == attempt)
            row = connection.execute(changed.values(updated=time.time(), **values).returning(runs.c.parent)).first()
            if row is None:
                raise RunLost
            _signal_parent(connection, row.parent, id)

        self.database.do(work)

    def take_over(self, id: str, attempt: int) -> bool:
        """Fences out whoever had the run in this attempt; False where someone did so already."""
        values = {"attempt": attempt + 1, "state": RunState.QUEUED, "worker": ""}
        going = [RunState.QUEUED, RunState.RUNNING]
        return self._change(id, values, runs.c.attempt == attempt, runs.c.state.in_(going))

    def attempts(self, ids: Iterable[str]) -> dict[str, tuple[int, RunState, str, float, str]]:
        """Of these runs the attempt, the state, the worker, when they last changed, and the queue."""
        wanted = sa.select(runs.c.id, runs.c.attempt, runs.c.state, runs.c.worker, runs.c.updated, runs.c.queue)

        def work(connection: sa.Connection) -> dict[str, tuple[int, RunState, str, float, str]]:
            rows = connection.execute(wanted.where(runs.c.id.in_(list(ids))))
            return {row.id: (row.attempt, RunState(row.state), row.worker, row.updated, row.queue) for row in rows}

        return self.database.do(work)

    def held_by(self, worker: str) -> dict[str, tuple[int, str, int]]:
        """Of the runs that this worker has: the attempt, what is wanted of it, and the signals."""
        wanted = sa.select(runs.c.id, runs.c.attempt, runs.c.wanted, runs.c.signals).where(runs.c.worker == worker)

        def work(connection: sa.Connection) -> dict[str, tuple[int, str, int]]:
            return {row.id: (row.attempt, row.wanted, row.signals) for row in connection.execute(wanted)}

        return self.database.do(work)

    def living(self) -> set[str]:
        """The workers that live, as far as is known."""

        def work(connection: sa.Connection) -> set[str]:
            lives = sa.select(workers.c.id).where(workers.c.state.in_(LIVING))
            return set(connection.execute(lives).scalars())

        return self.database.do(work)

    def children(self, run: str, attempt: int, ids: Sequence[str]) -> tuple[list[RunInfo], int]:
        """How these runs stand, in this order, and the signals of the one that started them."""
        wanted = sa.select(runs, _waiting()).where(runs.c.id.in_(list(ids)))

        def work(connection: sa.Connection) -> tuple[list[RunInfo], int]:
            signals = hold(connection, run, attempt)
            found = {row.id: _info(row) for row in connection.execute(wanted)}
            return [found[id] for id in ids if id in found], signals

        return self.database.do(work)

    def _change(self, id: str, values: dict[str, Any], *where: Any) -> bool:
        changed = runs.update().where(runs.c.id == id, *where).values(updated=time.time(), **values)

        def work(connection: sa.Connection) -> bool:
            return bool(connection.execute(changed).rowcount)

        return self.database.do(work)

    def _infos(self, wanted: sa.Select[Any]) -> list[RunInfo]:
        def work(connection: sa.Connection) -> list[RunInfo]:
            return [_info(row) for row in connection.execute(wanted)]

        return self.database.do(work)


def hold(connection: sa.Connection, run: str, attempt: int) -> int:
    """Holds the row of one's own run until the end of the transaction; gives its signals. Raises `RunLost`."""
    held = (
        runs.update()
        .where(runs.c.id == run, runs.c.attempt == attempt)
        .values(attempt=attempt)
        .returning(runs.c.signals)
    )
    signals = connection.execute(held).scalar()
    if signals is None:
        raise RunLost
    return int(signals)


def _signal_parent(connection: sa.Connection, parent: str, id: str) -> None:
    """A run is over: the one that started it is signalled when all that it started by the same call are."""
    if not parent:
        return
    row = runs.update().where(runs.c.id == parent)
    # Held first: of two that end at the same time, the second one sees that the first is over.
    connection.execute(row.values(signals=runs.c.signals))
    siblings = (runs.c.parent == parent, runs.c.id.startswith(call_of(id), autoescape=True))
    at_work = sa.select(runs.c.id).where(*siblings, runs.c.state.notin_(_OVER)).limit(1)
    if connection.execute(at_work).first() is None:
        connection.execute(row.values(signals=runs.c.signals + 1))


def _waiting() -> Any:
    return (
        sa.select(sa.func.count())
        .where(questions.c.run == runs.c.id, questions.c.answered.is_(None), runs.c.state.notin_(_OVER))
        .scalar_subquery()
        .label("questions")
    )


def _info(row: Any) -> RunInfo:
    fields = {name: getattr(row, name) for name in RunInfo.__struct_fields__ if name not in ("usage", "error", "state")}
    return RunInfo(
        **fields,
        state=RunState(row.state),
        usage=msgspec.json.decode(row.usage, type=TokenUsage) if row.usage else TokenUsage(),
        error=msgspec.json.decode(row.error, type=ErrorInfo) if row.error else None,
    )
