"""Puts a run into a queue: written down first, then given to the engine, so that the same twice is one run."""

from __future__ import annotations

from ..errors import DurableFailed
from .engine import Engine
from .ledger import Ledger, Parent
from .records import RunInfo, RunSpec, RunState


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
    """The run of this id, new or as it stands."""
    ledger.add(id, spec, queue=queue, priority=priority, timeout=timeout, parent=parent)
    info = ledger.get(id)
    if info is None:
        raise DurableFailed("the run was deleted as it was submitted", run=id)
    # Also where it was there: whoever wrote it down may have been lost before the engine was told.
    if info.state is RunState.QUEUED and info.attempt == 0:
        engine.submit(id, info.queue, info.priority)
    return info
