"""Durable runs: the agent's loop on an existing engine, so that a run outlives the process that works on it.

Names are loaded when they are first used, and need `pip install 'toolwire[durable]'`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ..extras import require

if TYPE_CHECKING:
    from .attempt import DurableAgent as DurableAgent
    from .client import Runs as Runs
    from .fanout import sub_agents as sub_agents
    from .lease import Timing as Timing
    from .rates import Rate as Rate
    from .records import AttemptWithdrawn as AttemptWithdrawn
    from .records import Question as Question
    from .records import RunEvent as RunEvent
    from .records import RunInfo as RunInfo
    from .records import RunSpec as RunSpec
    from .records import RunState as RunState
    from .records import StepInfo as StepInfo
    from .records import WorkerInfo as WorkerInfo
    from .worker import Worker as Worker
    from .workplace import Workplace as Workplace

_HOMES = {
    "AttemptWithdrawn": "records",
    "DurableAgent": "attempt",
    "Question": "records",
    "Rate": "rates",
    "RunEvent": "records",
    "RunInfo": "records",
    "RunSpec": "records",
    "RunState": "records",
    "Runs": "client",
    "StepInfo": "records",
    "Timing": "lease",
    "Worker": "worker",
    "WorkerInfo": "records",
    "Workplace": "workplace",
    "sub_agents": "fanout",
}

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if home != "records":
        require("durable")
    return getattr(import_module(f".{home}", __name__), name)
