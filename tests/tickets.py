"""Counts what runs against what was permitted, in everything that a test process does.

Every function of a tool that is run is counted, and every ticket that is taken. A function that runs without a ticket
of its own, taken exactly once and before it, is a stray. At the end there must be none, and as many executions as
tickets were taken for them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from toolwire.approval.gate import Gate, Ticket
from toolwire.execution.executor import Executor
from toolwire.execution.work import Work
from toolwire.tools.running import RunningCall

_REDEEM, _RUN, _WORK = Gate.redeem, Executor.run, Work.run


class _Run:
    """One run of an executor."""

    def __init__(self, ticket: Any) -> None:
        self.ticket = ticket
        self.taken = 0
        self.tries = 0


class Count:
    """What was counted."""

    def __init__(self) -> None:
        self.executions = 0
        """Runs of an executor in which a tool's function was run."""
        self.tickets = 0
        """Tickets that those runs took."""
        self.strays: list[str] = []

    def problem(self) -> str:
        """Why it is not as it must be; empty where it is."""
        if self.strays:
            return f"{len(self.strays)} functions ran without a ticket: {', '.join(self.strays[:5])}"
        if self.executions != self.tickets:
            return f"{self.executions} executions, but {self.tickets} tickets were taken for them"
        return ""


@contextmanager
def counting() -> Iterator[Count]:
    """Counts as long as it is open. What one inside another counts, the outer one does not see."""
    count = Count()
    current: ContextVar[_Run | None] = ContextVar("run", default=None)
    before = Gate.redeem, Executor.run, Work.run

    def counted_redeem(self: Gate, ticket: Ticket) -> RunningCall:
        running = _REDEEM(self, ticket)
        now = current.get()
        if now is not None and now.ticket is ticket:
            now.taken += 1
        return running

    async def counted_run(self: Executor, ticket: Any, *arguments: Any, **options: Any) -> Any:
        now = _Run(ticket)
        token = current.set(now)
        try:
            return await _RUN(self, ticket, *arguments, **options)
        finally:
            current.reset(token)
            if now.tries:
                count.executions += 1
                count.tickets += now.taken

    async def counted_work(self: Work) -> None:
        now = current.get()
        if now is None or now.taken != 1:
            count.strays.append(self._running.tool)
        else:
            now.tries += 1
            if now.tries > now.ticket.tool.retries + 1:
                count.strays.append(f"{self._running.tool} once more")
        await _WORK(self)

    _replace(counted_redeem, counted_run, counted_work)
    try:
        yield count
    finally:
        _replace(*before)


def _replace(redeem: Any, run: Any, work: Any) -> None:
    for owner, name, function in ((Gate, "redeem", redeem), (Executor, "run", run), (Work, "run", work)):
        setattr(owner, name, function)
