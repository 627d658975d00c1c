"""`Worker`: a process that works on durable runs, as many at a time as it may, until it is told to stop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

import msgspec

from ..errors import ConfigError, DurableFailed
from ..transport import Transport
from .attempt import Attempt, DurableAgent
from .database import Database
from .dbos_engine import DbosEngine, DbosWorker
from .engine import WAITING_QUEUE, QueueLimits
from .event_json import Unreadable
from .intents import Intents
from .lease import Lease, Timing
from .ledger import PAUSE, Begun, Ledger, RunLost
from .log import EventLog
from .rates import LimitedTransport, Rate, RateLimits
from .records import DEFAULT_QUEUE, RunState
from .steering import wake
from .sweeping import Sweep
from .workplace import Leaving, Workplace

PATIENCE = 2.0
"""Seconds that a worker keeps a run of which everything waits for people: what is answered at once costs less then."""
GRACE = 30.0
"""Seconds that steps may take to end when the worker is told to stop."""
_LOOK = 0.25
_LEAVE_SECONDS = 5.0


class _Body:
    """Works on one run that the engine gave to this worker, until it is over or left."""

    __slots__ = ("attempt", "has_begun", "place", "run")

    def __init__(self, run: str) -> None:
        self.run = run
        self.has_begun = False
        """It is more than waiting to be given back."""
        self.attempt = 0
        self.place: Workplace | None = None


class Worker:
    """Works on the runs of some queues with some agents. One in a process, as its engine is.

    Up to `concurrency` runs at a time here, and `everywhere` by all workers of a queue. `rates` bound the requests to a
    provider by all workers together, for each of its keys. `tell` is told in sentences what happens. After `patience`
    seconds a run of which everything waits for people is left, and nobody holds it until an answer comes.
    """

    def __init__(
        self,
        url: str,
        agents: Sequence[DurableAgent],
        *,
        queues: Sequence[str] = (DEFAULT_QUEUE,),
        concurrency: int = 8,
        everywhere: int | None = None,
        rates: Mapping[str, Rate] | None = None,
        timing: Timing | None = None,
        patience: float = PATIENCE,
        grace: float = GRACE,
        poll: float = 0.25,
        tell: Callable[[str], None] = lambda _: None,
    ) -> None:
        if concurrency < 1 or (everywhere is not None and everywhere < 1):
            raise ConfigError("a worker that may work on no run has nothing to do", hint="Give 1 or more.")
        if not queues or WAITING_QUEUE in queues:
            raise ConfigError(f"a worker needs queues to listen to, other than {WAITING_QUEUE}", hint="Name one.")
        self._url = url
        self._agents = {agent.name: agent for agent in agents}
        self._queues = [
            QueueLimits(name, min(concurrency, everywhere or concurrency), everywhere) for name in dict.fromkeys(queues)
        ]
        self._given_rates = rates or {}
        self._timing = timing or Timing()
        self._timing.check()
        self._patience = patience
        self._grace = grace
        self._poll = poll
        self._tell = tell
        self._bodies: dict[asyncio.Task[Any], _Body] = {}
        self._stopping = asyncio.Event()
        self._lost = asyncio.Event()
        self._drained = asyncio.Event()
        self._lease: Lease | None = None
        self._working: DbosWorker | None = None
        self._open()

    @property
    def database(self) -> str:
        """Its address, without a password."""
        return self._database.shown

    @property
    def id(self) -> str:
        """Of this life of the worker; empty where it does not live."""
        return "" if self._lease is None else self._lease.id

    def stop(self) -> None:
        """Ends it: what runs may end its step, then all runs are given back. To be called on its event loop.

        Told a second time, it waits for no step any more.
        """
        if self._stopping.is_set():
            self._leave_all(RunState.QUEUED)
        self._stopping.set()

    async def run(self) -> None:
        """Works until `stop`. Where it lost its lease (it was paused, or the database away), it begins a new life.

        After `stop` it ends within `grace` and some seconds, whether the database answers or not.
        """
        try:
            await self._prepare()
            while not self._stopping.is_set():
                try:
                    if self._database.is_closed:
                        self._open()
                    await self._live()
                except DurableFailed as error:
                    self._tell(f"{error.message}; trying again.")
                    await _first(self._stopping.wait(), asyncio.sleep(self._timing.beat))
        finally:
            self._close()

    def _open(self) -> None:
        """Connections for one life: whatever still waits for an answer over those of the last one gets none."""
        self._database = Database(self._url)
        self._ledger = Ledger(self._database)
        self._engine = DbosEngine(self._database)
        self._rates = RateLimits(self._database, self._given_rates)

    def _close(self) -> None:
        self._engine.close()
        self._database.close()

    async def _prepare(self) -> None:
        def prepare() -> None:
            self._database.prepare()
            self._engine.prepare()
            for queue in self._queues:
                self._engine.limit(queue, poll=self._poll)

        preparing = asyncio.create_task(self._database.thread(prepare))
        try:
            await _first(self._stopping.wait(), asyncio.wait([preparing]))
        finally:
            if not preparing.done():
                self._database.cut()
        try:
            await preparing
        except DurableFailed:
            if not self._stopping.is_set():
                raise

    async def _live(self) -> None:
        loop = asyncio.get_running_loop()
        self._lost.clear()
        self._drained.clear()
        database = self._database

        def lose() -> None:
            _from_thread(loop, self._lose_all)
            database.cut()

        lease = self._lease = Lease(
            database,
            queues=[queue.name for queue in self._queues],
            agents=list(self._agents),
            timing=self._timing,
            on_lost=lose,
        )
        await database.thread(database.ask)  # or else it would live, and lose that life again
        await database.thread(lease.start)
        working = self._working = DbosWorker(database)
        sweep = Sweep(self._ledger, self._engine, partial(_from_thread, loop, self._tell))
        try:
            await working.start(lease.id, self._queues, self._body)
            tasks = [
                asyncio.create_task(self._repeat(self._watch, _LOOK)),
                asyncio.create_task(self._repeat(partial(self._sweep, sweep, lease), self._timing.beat)),
            ]
            try:
                await _first(self._stopping.wait(), self._lost.wait())
                if not self._lost.is_set():
                    await self._drain(lease)
            finally:
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)
        finally:
            for place in self._places():
                place.lose()
            self._drained.set()
            if self._bodies:
                await asyncio.wait(self._bodies, timeout=_LEAVE_SECONDS)
            await self._stop(working, lease)
            self._close()
            if self._lost.is_set():
                self._tell(f"This worker lost its runs: {lease.reason}. It begins anew.")

    async def _stop(self, working: DbosWorker, lease: Lease) -> None:
        """Ends the engine. What then still waits for the database is cut off, and what was owned is for the others."""
        stopping = asyncio.create_task(working.stop())
        await asyncio.wait([stopping], timeout=0 if self._lost.is_set() else _LEAVE_SECONDS)
        self._database.cut()
        await asyncio.to_thread(lease.end)
        await stopping

    # The work itself.

    async def _body(self, run: str) -> None:
        """What the engine calls for each run that it gives to this worker."""
        task = asyncio.current_task()
        assert task is not None
        self._bodies[task] = body = _Body(run)
        try:
            await self._work(body)
        except RunLost:
            raise asyncio.CancelledError from None
        except Exception as error:
            # The engine would take it for how the run ended; as it is, the run is given out again.
            self._tell(f"{run} is left: {error}")
            raise asyncio.CancelledError from None
        finally:
            del self._bodies[task]

    async def _work(self, body: _Body) -> None:
        lease, ledger, run = self._lease, self._ledger, body.run
        assert lease is not None
        if self._stopping.is_set():
            await self._drained.wait()
            await self._database.thread(self._engine.move, run, await self._queue_of(run))
            raise asyncio.CancelledError
        if not lease.holds():
            raise RunLost
        body.has_begun = True
        try:
            begun = await self._database.thread(ledger.begin, run, lease.id)
            if isinstance(begun, RunState):
                return await self._not_to_be_worked_on(run, begun)
            body.attempt = begun.attempt
            await self._end_earlier(body)
            place = body.place = await self._place(run, begun, lease)
        except (msgspec.MsgspecError, Unreadable) as error:
            unread = DurableFailed(f"what is written of it cannot be read: {error}", run=run).info()
            await self._database.thread(ledger.stop, run, RunState.REFUSED, None, unread)
            self._tell(f"{run} is refused: {unread.message}.")
            return await self._not_to_be_worked_on(run, RunState.REFUSED)
        if self._drained.is_set():
            place.lose()
        elif self._stopping.is_set():
            place.pause(RunState.QUEUED)
        try:
            await self._attempt(place, begun)
        finally:
            place.log.drop()

    async def _place(self, run: str, begun: Begun, lease: Lease) -> Workplace:
        """Where this attempt is made, with all that earlier ones told."""
        assert self._working is not None
        place: Workplace | None = None

        def lose() -> None:
            if place is not None:
                place.lose()

        effects = await self._database.thread(Intents(self._database).of, run)
        log = await EventLog.open(self._database, run, begun.attempt, on_lost=lose)
        place = Workplace(
            run,
            begun.attempt,
            ledger=self._ledger,
            engine=self._working,
            control=self._engine,
            queue=begun.queue,
            log=log,
            effects=effects,
            holds=lease.holds,
            around=self._around,
            signals=begun.signals,
        )
        return place

    async def _end_earlier(self, body: _Body) -> None:
        """Attempts at this run that were lost here (it was cancelled and resumed, say) end before another begins."""
        others = [(task, each) for task, each in self._bodies.items() if each.run == body.run and each is not body]
        if any(each.attempt > body.attempt for _, each in others):
            raise RunLost
        earlier = [task for task, each in others if each.attempt]
        for task, each in others:
            if each.place is not None:
                each.place.lose()
            elif each.attempt:
                task.cancel()
        if earlier:
            await asyncio.wait(earlier, timeout=_LEAVE_SECONDS)

    async def _attempt(self, place: Workplace, begun: Begun) -> None:
        again = f", for the {begun.begins}. time" if begun.begins > 1 else ""
        self._tell(f"{place.run} is worked on{again}: {_short(begun)}")
        try:
            state = await Attempt(place, self._ledger, begun, self._agents.get(begun.spec.agent)).work()
        except asyncio.CancelledError:
            if place.is_lost:
                self._tell(f"{place.run} is someone else's now, or was ended.")
            elif place.leaving is not None:
                # The cancellation was ours, and what follows must be done.
                await _undisturbed(self._leave(place, begun, place.leaving))
            raise
        except (DurableFailed, RunLost) as error:
            # Of the database. The run is given out again by the sweep, as it stands.
            place.lose()
            self._tell(f"{place.run} is left: {error}")
            raise asyncio.CancelledError from None
        self._tell(f"{place.run} is {state}.")
        await self._database.thread(self._wake_parent, place.run)

    async def _leave(self, place: Workplace, begun: Begun, leaving: Leaving) -> None:
        """Lets go of a run that is not over. First the engine takes it back, so that nobody is given it in between."""
        await place.log.flush()
        ledger, engine = self._ledger, self._engine

        def leave() -> RunState:
            ledger.mark(place.run, place.attempt)  # only as long as it is ours
            engine.move(place.run, WAITING_QUEUE)
            state = ledger.park(place.run, place.attempt, leaving.state, seen=leaving.seen, error=leaving.error)
            if state is RunState.QUEUED:
                engine.move(place.run, begun.queue)
            return state

        state = await self._database.thread(leave)
        because = f": {leaving.error.message}" if leaving.error is not None else ""
        self._tell(f"{place.run} is {state}{because}.")
        if state.is_over:
            await self._database.thread(self._wake_parent, place.run)

    async def _not_to_be_worked_on(self, run: str, state: RunState) -> None:
        """Says to the engine how the run stands, where it did not know."""
        if state in (RunState.FINISHED, RunState.FAILED):
            return
        if state is RunState.CANCELLED:
            await self._database.thread(self._engine.cancel, run)
        else:
            await self._database.thread(self._engine.move, run, WAITING_QUEUE)
        raise asyncio.CancelledError

    def _wake_parent(self, run: str) -> None:
        info = self._ledger.get(run)
        if info is not None:
            wake(self._ledger, self._engine, info.parent)

    async def _queue_of(self, run: str) -> str:
        info = await self._database.thread(self._ledger.get, run)
        return DEFAULT_QUEUE if info is None else info.queue

    def _around(self, transport: Transport) -> Transport:
        return LimitedTransport(transport, self._rates)

    # What goes on beside it.

    async def _watch(self) -> None:
        """Looks at what others have done to the runs at hand."""
        places = self._places()
        lease = self._lease
        if not places or lease is None:
            return
        rows = await self._database.thread(self._ledger.held_by, lease.id)
        for place in places:
            attempt, wanted, signals = rows.get(place.run, (-1, "", 0))
            if attempt != place.attempt:
                if place.leaving is None and not place.is_over:
                    place.lose()
                continue
            if wanted == PAUSE:
                place.pause(RunState.PAUSED)
            place.signal(signals)
            place.look(self._patience)

    async def _sweep(self, sweep: Sweep, lease: Lease) -> None:
        if not lease.holds():
            return
        if not self._stopping.is_set():
            await self._database.thread(sweep.own, lease.id, {body.run for body in self._bodies.values()})
        if lease.is_leader():
            await self._database.thread(sweep.leader)

    async def _repeat(self, what: Callable[[], Coroutine[Any, Any, None]], seconds: float) -> None:
        while True:
            try:
                await what()
            except Exception as error:
                # What is wrong with one run, or for a moment, must not end it for all.
                self._tell(f"{error}" if isinstance(error, DurableFailed) else f"{type(error).__name__}: {error}")
            await asyncio.sleep(seconds)

    async def _drain(self, lease: Lease) -> None:
        """Lets the steps that run end, for a time; then gives back what is left."""
        lease.drain()
        for place in self._places():
            place.pause(RunState.QUEUED)
        if at_work := self._at_work():
            self._tell(f"Waiting for {_count(len(at_work), 'run')} to end their steps.")
            if not self._lost.is_set():
                await asyncio.wait(at_work, timeout=self._grace)
        self._leave_all(RunState.QUEUED)
        if at_work := self._at_work():
            await asyncio.wait(at_work, timeout=_LEAVE_SECONDS)

    def _at_work(self) -> list[asyncio.Task[Any]]:
        """What works on a run; what was given to this worker since it drains only waits to give it back."""
        return [task for task, body in self._bodies.items() if body.has_begun]

    def _places(self) -> list[Workplace]:
        return [body.place for body in self._bodies.values() if body.place is not None]

    def _leave_all(self, state: RunState) -> None:
        for place in self._places():
            place.leave(Leaving(state))

    def _lose_all(self) -> None:
        self._lost.set()
        for place in self._places():
            place.lose()


def _from_thread(loop: asyncio.AbstractEventLoop, do: Callable[..., None], *arguments: Any) -> None:
    with suppress(RuntimeError):  # the loop has ended, and nobody is there to be told
        loop.call_soon_threadsafe(do, *arguments)


async def _first(*waits: Coroutine[Any, Any, Any]) -> None:
    tasks = [asyncio.create_task(wait) for wait in waits]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()


async def _undisturbed(work: Coroutine[Any, Any, None]) -> None:
    """Does the work to its end, whoever cancels meanwhile."""
    task = asyncio.create_task(work)
    while not task.done():
        with suppress(asyncio.CancelledError):
            await asyncio.shield(task)
    with suppress(RunLost):
        task.result()


def _short(begun: Begun) -> str:
    words = " ".join(begun.spec.prompt.text.split())
    return words if len(words) <= 60 else f"{words[:59]}…"


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'s' * (number != 1)}"
