"""What is done to runs from outside: each first in our rows, which decide, and then in the engine."""

from __future__ import annotations

from functools import partial

from ..agent.events import RunEnd, RunInterrupted
from ..errors import DurableFailed, ErrorInfo
from .engine import Engine
from .ledger import Ledger, Parent
from .records import RunInfo, RunSpec, RunState

_CAN_BE_CANCELLED = [state for state in RunState if not state.is_over or state is RunState.REFUSED]


def put(
    ledger: Ledger,
    engine: Engine,
    id: str,
    spec: RunSpec,
    *,
    queue: str,
    priority: int = 0,
    timeout: float | None = None,
    parent: Parent | None = None,
) -> RunInfo:
    """Puts a run into a queue, in one transaction; the same twice is one run. It is new, or unchanged."""
    engine.prepare()
    enqueue = partial(engine.submit, run=id, queue=queue, priority=priority)
    ledger.add(id, spec, queue=queue, priority=priority, timeout=timeout, parent=parent, beside=enqueue)
    info = ledger.get(id)
    if info is None:
        raise DurableFailed("the run was deleted as it was submitted", run=id)
    return info


def wake(ledger: Ledger, engine: Engine, run: str) -> None:
    """Queues a run that waits, where something came for it; without a name, none."""
    info = ledger.get(run) if run else None
    if info is not None and ledger.wake(run):
        engine.move(run, info.queue)


def cancel(ledger: Ledger, engine: Engine, info: RunInfo) -> None:
    """Cancels a run, unless it is over, and all that it started."""
    if info.state in _CAN_BE_CANCELLED:
        end(ledger, engine, info, RunState.CANCELLED, RunInterrupted(info.turns, info.usage))


def end(
    ledger: Ledger, engine: Engine, info: RunInfo, state: RunState, told: RunEnd, error: ErrorInfo | None = None
) -> bool:
    """Ends a run in this state, and cancels all that it started; False where it was over already."""
    ended = ledger.stop(info.id, state, told, error)
    if ended:
        engine.cancel(info.id)
        wake(ledger, engine, info.parent)
    for child in ledger.newest(states=_CAN_BE_CANCELLED, parent=info.id, limit=None):
        cancel(ledger, engine, child)
    return ended
