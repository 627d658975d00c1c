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
from .lease import Lease, Timing
from .ledger import PAUSE, Begun, Ledger, RunLost
from .log import EventLog
from .rates import LimitedTransport, Rate, RateLimits
from .records import DEFAULT_QUEUE, RunState
from .sweeping import Sweep, wake
from .workplace import Leaving, Workplace

PATIENCE = 2.0
"""Seconds that a worker keeps a run of which everything waits for people: what is answered at once costs less then."""
GRACE = 30.0
"""Seconds that steps may take to end when the worker is told to stop."""
_LOOK = 0.25
_LEAVE_SECONDS = 5.0


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
        self._database = Database(url)
        self._ledger = Ledger(self._database)
        self._engine = DbosEngine(self._database)
        self._agents = {agent.name: agent for agent in agents}
        self._queues = [
            QueueLimits(name, min(concurrency, everywhere or concurrency), everywhere) for name in dict.fromkeys(queues)
        ]
        self._rates = RateLimits(self._database, rates or {})
        self._timing = timing or Timing()
        self._timing.check()
        self._patience = patience
        self._grace = grace
        self._poll = poll
        self._tell = tell
        self._places: dict[str, Workplace] = {}
        self._bodies: dict[asyncio.Task[Any], str] = {}
        self._stopping = asyncio.Event()
        self._lost = asyncio.Event()
        self._drained = asyncio.Event()
        self._lease: Lease | None = None
        self._working: DbosWorker | None = None

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
        """Works until `stop`. Where it lost its lease (it was paused, or the database away), it begins a new life."""
        await self._database.thread(self._prepare)
        try:
            while not self._stopping.is_set():
                try:
                    await self._live()
                except DurableFailed as error:
                    self._tell(f"{error.message}; trying again.")
                    await _first(self._stopping.wait(), asyncio.sleep(self._timing.beat))
        finally:
            await self._database.thread(self._engine.close)
            self._database.close()

    def _prepare(self) -> None:
        self._database.prepare()
        self._engine.prepare()
        for queue in self._queues:
            self._engine.limit(queue, poll=self._poll)

    async def _live(self) -> None:
        loop = asyncio.get_running_loop()
        self._lost.clear()
        self._drained.clear()
        lease = self._lease = Lease(
            self._database,
            queues=[queue.name for queue in self._queues],
            agents=list(self._agents),
            timing=self._timing,
            on_lost=partial(_from_thread, loop, self._lose_all),
        )
        await self._database.thread(lease.start)
        working = self._working = DbosWorker(self._database)
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
            for place in list(self._places.values()):
                place.lose()
            self._drained.set()
            if self._bodies:
                await asyncio.wait(self._bodies, timeout=_LEAVE_SECONDS)
            await working.stop()
            await self._database.thread(lease.end)
            if self._lost.is_set():
                self._tell(f"This worker lost its runs: {lease.reason}. It begins anew.")

    # The work itself.

    async def _body(self, run: str) -> None:
        """What the engine calls for each run that it gives to this worker."""
        task = asyncio.current_task()
        assert task is not None
        self._bodies[task] = run
        try:
            await self._work(run)
        except RunLost:
            raise asyncio.CancelledError from None
        except Exception as error:
            # The engine would take it for how the run ended; as it is, the run is given out again.
            self._tell(f"{run} is left: {error}")
            raise asyncio.CancelledError from None
        finally:
            del self._bodies[task]

    async def _work(self, run: str) -> None:
        lease, engine, ledger = self._lease, self._working, self._ledger
        assert lease is not None
        assert engine is not None
        if self._stopping.is_set():
            await self._drained.wait()
            await self._database.thread(self._engine.move, run, await self._queue_of(run))
            raise asyncio.CancelledError
        if not lease.holds():
            raise RunLost
        try:
            begun = await self._database.thread(ledger.begin, run, lease.id)
        except msgspec.MsgspecError as error:
            unread = DurableFailed(f"what it is to do cannot be read: {error}", run=run).info()
            await self._database.thread(ledger.stop, run, RunState.REFUSED, None, unread)
            begun = RunState.REFUSED
        if isinstance(begun, RunState):
            return await self._not_to_be_worked_on(run, begun)
        await self._end_earlier(run)
        effects = await self._database.thread(ledger.effects, run)
        place: Workplace | None = None

        def lose() -> None:
            if place is not None:
                place.lose()

        log = await EventLog.open(self._database, run, begun.attempt, on_lost=lose)
        place = Workplace(
            run,
            begun.attempt,
            ledger=ledger,
            engine=engine,
            control=self._engine,
            queue=begun.queue,
            log=log,
            effects=effects,
            holds=lease.holds,
            around=self._around,
            signals=begun.signals,
        )
        self._places[run] = place
        if self._stopping.is_set():
            place.pause(RunState.QUEUED)
        try:
            await self._attempt(place, begun)
        finally:
            log.drop()
            if self._places.get(run) is place:
                del self._places[run]

    async def _end_earlier(self, run: str) -> None:
        """An attempt at this run that was lost here (cancelled and resumed, say) ends before another one begins."""
        if (earlier := self._places.get(run)) is not None:
            earlier.lose()
            mine = asyncio.current_task()
            tasks = [task for task, its in self._bodies.items() if its == run and task is not mine]
            await asyncio.wait(tasks, timeout=_LEAVE_SECONDS)

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
        places = dict(self._places)
        lease = self._lease
        if not places or lease is None:
            return
        rows = await self._database.thread(self._ledger.held_by, lease.id)
        for run, place in places.items():
            attempt, wanted, signals = rows.get(run, (-1, "", 0))
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
            await self._database.thread(sweep.own, lease.id, set(self._bodies.values()))
        if lease.is_leader():
            await self._database.thread(sweep.leader)

    async def _repeat(self, what: Callable[[], Coroutine[Any, Any, None]], seconds: float) -> None:
        while True:
            try:
                await what()
            except DurableFailed as error:
                self._tell(f"{error}")
            await asyncio.sleep(seconds)

    async def _drain(self, lease: Lease) -> None:
        """Lets the steps that run end, for a time; then gives back what is left."""
        await self._database.thread(lease.drain)
        for place in self._places.values():
            place.pause(RunState.QUEUED)
        if self._places:
            self._tell(f"Waiting for {_count(len(self._places), 'run')} to end their steps.")
        if (at_work := self._at_work()) and not self._lost.is_set():
            await asyncio.wait(at_work, timeout=self._grace)
        self._leave_all(RunState.QUEUED)
        if at_work := self._at_work():
            await asyncio.wait(at_work, timeout=_LEAVE_SECONDS)

    def _at_work(self) -> list[asyncio.Task[Any]]:
        """What works on a run; what was given to this worker since it drains only waits to give it back."""
        return [task for task, run in self._bodies.items() if run in self._places]

    def _leave_all(self, state: RunState) -> None:
        for place in list(self._places.values()):
            place.leave(Leaving(state))

    def _lose_all(self) -> None:
        self._lost.set()
        for place in list(self._places.values()):
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
