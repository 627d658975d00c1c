"""Puts a run into a queue: written down and given to the engine at once, so that the same twice is one run."""

from __future__ import annotations

from functools import partial

from ..errors import DurableFailed
from .engine import Engine
from .ledger import Ledger, Parent
from .records import RunInfo, RunSpec


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
    engine.prepare()
    enqueue = partial(engine.submit, run=id, queue=queue, priority=priority)
    ledger.add(id, spec, queue=queue, priority=priority, timeout=timeout, parent=parent, beside=enqueue)
    info = ledger.get(id)
    if info is None:
        raise DurableFailed("the run was deleted as it was submitted", run=id)
    return info
