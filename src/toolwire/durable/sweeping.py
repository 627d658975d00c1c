"""What must go on although whoever was to see to it is gone: runs of dead workers, runs that something came for …

Every part of it may be done twice, by two workers at once or after a crash in its middle, without harm: a run changes
hands by its fence alone.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable

from ..agent.bounds import out_of_time
from ..agent.events import RunFailed
from ..errors import DurableFailed
from .engine import WAITING_QUEUE, Engine
from .ledger import Ledger
from .records import RunState
from .steering import end, wake

_PAGE = 500
_SETTLED_SECONDS = 2.0
"""What has not changed for so long is not about to be changed by someone else."""
_LOOK_AGAIN_SECONDS = 60.0


class Sweep:
    """For one worker. What it does is told in sentences."""

    def __init__(self, ledger: Ledger, engine: Engine, tell: Callable[[str], None]) -> None:
        self._ledger = ledger
        self._engine = engine
        self._tell = tell
        self._orphans: dict[str, float] = {}
        """Runs that this worker has and does not work on, and since when."""
        self._known: set[tuple[str, float]] = set()
        """Queued runs that were looked for, and since when each has been queued; forgotten now and then."""
        self._forgot = 0.0
        self._unread: set[str] = set()
        """Runs of which it was told that nothing can be done with them."""

    def own(self, worker: str, working_on: set[str]) -> None:
        """Gives back runs that the engine gave this worker and that it does not work on, nor is about to."""
        held = (self._engine.held(worker).keys() | self._ledger.held_by(worker).keys()) - working_on
        now = time.monotonic()
        self._orphans = {run: self._orphans.get(run, now) for run in held}
        for run in [run for run, since in self._orphans.items() if now - since > _SETTLED_SECONDS]:
            del self._orphans[run]  # if it comes back, it has its time again
            self._give(run, "was given to this worker and lost on the way")

    def leader(self) -> None:
        """For the one worker that sees to everybody's: the dead, the late, and those that something came for."""
        self._dead()
        self._astray()
        self._each(self._ledger.to_wake(), lambda run: wake(self._ledger, self._engine, run))
        self._each(self._ledger.late(), self._late)

    def _each(self, runs: Iterable[str], do: Callable[[str], None]) -> None:
        """Does it for each of them; what is wrong with one, and it alone, is told once."""
        for run in runs:
            try:
                do(run)
            except DurableFailed:
                raise
            except Exception as error:
                if run not in self._unread:
                    self._unread.add(run)
                    self._tell(f"{run} cannot be seen to ({type(error).__name__}: {error}).")

    def _dead(self) -> None:
        held = self._engine.held()
        # Looked at after the runs: a worker is known before it is given any.
        living = self._ledger.living()
        for run, worker in held.items():
            if worker not in living:
                self._give(run, f"is taken over from {worker}, which is gone", living)
        # Whatever the engine says of them: they may have been about to be left.
        for run, attempt, worker, queue in self._ledger.of_the_dead():
            if self._ledger.take_over(run, attempt):
                self._engine.move(run, queue)
                self._tell(f"{run} is taken over from {worker}, which is gone.")

    def _give(self, run: str, why: str, living: frozenset[str] | set[str] = frozenset()) -> None:
        """Sees to it that someone works on the run, or that nobody does where nobody should."""
        found = self._ledger.attempts([run]).get(run)
        if found is None:
            self._engine.cancel(run)  # of a database that was mixed up: nothing is known of it
            return
        attempt, state, worker, _, queue = found
        if state in (RunState.QUEUED, RunState.RUNNING):
            if worker not in living and self._ledger.take_over(run, attempt):
                self._engine.move(run, queue)
                self._tell(f"{run} {why}.")
        elif state is RunState.CANCELLED:
            self._engine.cancel(run)
        elif state in (RunState.FINISHED, RunState.FAILED):
            self._engine.move(run, queue)  # whoever gets it finds it over, and says so to the engine
        else:
            self._engine.move(run, WAITING_QUEUE)

    def _astray(self) -> None:
        """Runs that were queued again by a process that died before calling the engine, or by two at once."""
        now = time.time()
        if now - self._forgot > _LOOK_AGAIN_SECONDS:
            self._forgot, self._known = now, set()
        queued = self._ledger.queued_before(now - _SETTLED_SECONDS)
        news = sorted(run for run, _ in queued - self._known)
        for first in range(0, len(news), _PAGE):
            page = news[first : first + _PAGE]
            idle, gone = self._engine.astray(page)
            for run, (_, state, _, updated, queue) in self._ledger.attempts([*idle, *gone]).items():
                if state is not RunState.QUEUED or now - updated <= _SETTLED_SECONDS:
                    continue
                if run in idle:
                    self._engine.move(run, queue)
                else:
                    self._each([run], self._gone)
        # What the engine has it hardly ever loses: each run is looked for once as long as it waits, and now and then.
        self._known = queued

    def _gone(self, run: str) -> None:
        """Without its steps it would do everything again."""
        info = self._ledger.get(run)
        if info is not None:
            error = DurableFailed(
                "the engine does not have its steps: they were deleted, or the fork was not finished",
                hint="Submit or fork it again.",
            ).info()
            end(self._ledger, self._engine, info, RunState.FAILED, RunFailed(error, info.turns, info.usage), error)

    def _late(self, run: str) -> None:
        info = self._ledger.get(run)
        if info is None or info.deadline is None or info.started is None:
            return
        error = out_of_time(round(info.deadline - info.started)).info()
        told = RunFailed(error, info.turns, info.usage)
        if end(self._ledger, self._engine, info, RunState.FAILED, told, error):
            self._tell(f"{run} was not over in its time.")
