"""What must go on although whoever was to see to it is gone: runs of dead workers, runs that something came for …

Every part of it may be done twice, by two workers at once or after a crash in its middle, without harm: a run changes
hands by its fence alone.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from ..agent.bounds import out_of_time
from ..agent.events import RunFailed
from ..errors import DurableFailed
from .engine import WAITING_QUEUE, Engine
from .ledger import Ledger
from .records import RunState

_PAGE = 500
_SETTLED_SECONDS = 2.0
"""What has not changed for so long is not about to be changed by someone else."""


class Sweep:
    """For one worker. What it does is told in sentences."""

    def __init__(self, ledger: Ledger, engine: Engine, tell: Callable[[str], None]) -> None:
        self._ledger = ledger
        self._engine = engine
        self._tell = tell
        self._orphans: dict[str, float] = {}
        """Runs that this worker has and does not work on, and since when."""
        self._known: set[str] = set()

    def own(self, worker: str, working_on: set[str]) -> None:
        """Gives back runs that the engine gave this worker and that it does not work on, nor is about to."""
        held = {each.run for each in self._engine.held() if each.worker == worker}
        held = (held | self._ledger.held_by(worker).keys()) - working_on
        now = time.monotonic()
        self._orphans = {run: self._orphans.get(run, now) for run in held}
        for run in [run for run, since in self._orphans.items() if now - since > _SETTLED_SECONDS]:
            del self._orphans[run]  # if it comes back, it has its time again
            self._give(run, "was given to this worker and lost on the way")

    def leader(self) -> None:
        """For the one worker that sees to everybody's: the dead, the late, and those that something came for."""
        self._dead()
        self._lying()
        self._astray()
        for run in self._ledger.to_wake():
            wake(self._ledger, self._engine, run)
        for run in self._ledger.late():
            self._late(run)

    def _dead(self) -> None:
        held = self._engine.held()
        # Looked at after the runs: a worker is known before it is given any.
        living = self._ledger.living()
        for each in held:
            if each.worker not in living:
                self._give(each.run, f"is taken over from {each.worker}, which is gone", living)

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

    def _lying(self) -> None:
        """Runs that were to be queued, or were being left, when whoever did it was lost in the middle."""
        lying = self._engine.lying(WAITING_QUEUE)
        if not lying:
            return
        living = self._ledger.living()
        for run, (attempt, state, worker, updated, queue) in self._ledger.attempts(lying).items():
            settled = time.time() - updated > _SETTLED_SECONDS
            if state is RunState.QUEUED and settled:
                self._engine.move(run, queue)
            elif (
                state is RunState.RUNNING and settled and worker not in living and self._ledger.take_over(run, attempt)
            ):
                self._engine.move(run, queue)
                self._tell(f"{run} is taken over from {worker}, which is gone.")

    def _astray(self) -> None:
        """Runs that were written down as queued by someone who was lost before the engine was told."""
        queued = set(self._ledger.queued_before(time.time() - _SETTLED_SECONDS))
        news = sorted(queued - self._known)
        for first in range(0, len(news), _PAGE):
            page = self._engine.astray(news[first : first + _PAGE])
            for run, (_, state, _, updated, queue) in self._ledger.attempts(page).items():
                if state is RunState.QUEUED and time.time() - updated > _SETTLED_SECONDS:
                    self._find(run, queue)
        # What the engine has it does not lose: each run is looked for once as long as it waits.
        self._known = queued

    def _find(self, run: str, queue: str) -> None:
        info = self._ledger.get(run)
        if info is not None and info.forked and not info.attempt:
            # Without the steps that the engine was to copy it would do everything again.
            error = DurableFailed("the fork was not finished", hint=f"Fork {info.forked} again.").info()
            self._ledger.stop(run, RunState.FAILED, RunFailed(error, 0), error)
        elif info is not None:
            self._engine.submit(run, queue, info.priority)
            self._engine.move(run, queue)

    def _late(self, run: str) -> None:
        info = self._ledger.get(run)
        if info is None or info.deadline is None or info.started is None:
            return
        error = out_of_time(round(info.deadline - info.started)).info()
        if self._ledger.stop(run, RunState.FAILED, RunFailed(error, info.turns, info.usage), error):
            self._engine.cancel(run)
            self._tell(f"{run} was not over in its time.")
            wake(self._ledger, self._engine, info.parent)


def wake(ledger: Ledger, engine: Engine, run: str) -> None:
    """Queues a run that waits, where something came for it; without a name, none."""
    info = ledger.get(run) if run else None
    if info is not None and ledger.wake(run):
        engine.move(run, info.queue)
