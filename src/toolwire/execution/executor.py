"""The executor: takes a `Ticket`, runs the call that it holds, and gives exactly one `ToolResult`.

A tool may raise anything, return anything, hang, flood or refuse to be cancelled: the result then says so, and the
loop lives on. A function in a thread, and a coroutine that swallows its cancellation, cannot be stopped from outside:
such a call is given up, which its result says, and what it does later goes nowhere.
"""

from __future__ import annotations

import asyncio
import time
from copy import deepcopy
from dataclasses import replace
from typing import Any, NamedTuple

import msgspec

from ..approval.gate import Gate, Ticket
from ..errors import TicketRefused, ToolwireError
from ..messages import MediaPart, TextPart, ToolResultPart
from ..redaction import Redactor
from ..tools.definition import ToolDefinition
from ..tools.running import RunningCall
from .kept import KeptResults, kept_key
from .reporting import OnProgress, Reporter
from .results import Ending, error_words, expected_arguments, failure
from .work import Work

DEFAULT_TIMEOUT = 120.0
"""Seconds a call may take unless its tool says otherwise: longer than any ordinary read or request."""

GRACE = 3.0
"""Seconds in which a call must end that was told to: more than the 2 that children have between SIGTERM and SIGKILL."""

GIVEN_UP = 64
"""Calls that were given up and still run. With as many, nothing more is started: each holds a thread or a task."""

FIRST_PAUSE, LONGEST_PAUSE = 0.2, 5.0
"""Seconds before a call is tried again; each pause is twice the one before."""


DENIED, CANCELLED = "denied", "cancelled"
"""Outcomes of calls that were not run, or not to their end."""


class ToolResult(msgspec.Struct, frozen=True, omit_defaults=True):
    """The one result of one call; `id` is the id of its invocation and segment."""

    id: str
    name: str
    content: str
    is_error: bool = False
    seconds: float = 0.0
    outcome: str = ""
    """As in the audit trail: `ok`, `ok (kept result)`, `error`, `timeout`, `timeout (still running)`. `denied` for a
    call that somebody or a rule said no to, `cancelled` for one whose run was interrupted; empty for one that could not
    be run."""
    note: str = ""
    """What whoever watches should know and the model need not."""
    media: tuple[MediaPart, ...] = ()
    """Pictures, sound and files that the tool gave beside its words."""

    def part(self) -> ToolResultPart:
        """The result as a part of the conversation."""
        content: str | list[TextPart | MediaPart] = self.content
        if self.media:
            content = [TextPart(self.content), *self.media]
        return ToolResultPart(self.id, self.name, content, self.is_error)


class _Call(NamedTuple):
    """What was approved, held apart from the ticket, which others hold too and could change."""

    ticket: Ticket
    tool: ToolDefinition
    arguments: dict[str, Any]
    running: RunningCall
    reporter: Reporter


class Executor:
    """Runs calls that hold a ticket of its gate. What a `redactor` holds is taken out of what they tell and give."""

    def __init__(self, gate: Gate, *, timeout: float = DEFAULT_TIMEOUT, redactor: Redactor | None = None) -> None:
        self._redactor = redactor
        self._gate = gate
        self._timeout = timeout
        self._kept = KeptResults()
        self._given_up: dict[asyncio.Task[None], tuple[Ticket, Work]] = {}

    async def run(self, ticket: Ticket, on_progress: OnProgress | None = None) -> ToolResult:
        """The result of the call. Raises only what refuses the ticket, and `CancelledError` when it is cancelled.

        `on_progress` is told on the event loop what the tool reports and yields: see `toolwire.progress`.
        """
        if ticket.tool.call is None:
            raise TicketRefused(
                f"the tool {ticket.tool.name} is declared only and cannot run",
                hint="Give the agent the function itself, not only its schema.",
                call=ticket.invocation.id,
            )
        running = self._gate.redeem(ticket)
        invocation, tool = ticket.invocation, ticket.tool
        started = time.monotonic()
        reporter = Reporter(on_progress, self._redactor)
        try:
            running = replace(running, report=reporter.message)
            ending = await self._end_of(_Call(ticket, tool, deepcopy(invocation.arguments), running, reporter))
        except asyncio.CancelledError as cancelled:
            still_runs = any(ticket is given_up for given_up, _ in self._given_up.values())
            note = self._write_down(ticket, "cancelled (still running)" if still_runs else "cancelled")
            if note:
                cancelled.add_note(note)
            raise
        except Exception as error:
            ending = failure(error)
        finally:
            reporter.close()
        is_error = not ending.outcome.startswith("ok")
        text = ending.text if self._redactor is None else self._redactor.held(ending.text)
        return ToolResult(
            invocation.id,
            tool.name,
            f"Error: {text}" if is_error else text,
            is_error,
            round(time.monotonic() - started, 4),
            ending.outcome,
            self._write_down(ticket, ending.outcome),
            ending.media,
        )

    async def _end_of(self, call: _Call) -> Ending:
        """How the call ends: at once if its arguments do not fit or its result is known, else after its tries."""
        tool = call.tool
        try:
            problem = tool.problem(call.arguments)
        except ToolwireError as error:
            return Ending(f"not run: {error}", "error")
        if problem is not None:
            return Ending(f"not run: {problem}. {expected_arguments(tool.parameters)}", "error")
        if not tool.cache:
            return await self._tries(call)
        key = kept_key(tool, call.arguments, self._gate.workspace.cwd)
        text = self._kept.get(key)
        if text is not None:
            return Ending(text, "ok (kept result)")
        ending = await self._tries(call)
        if ending.outcome == "ok" and not ending.media:
            self._kept.keep(key, ending.text)
        return ending

    async def _tries(self, call: _Call) -> Ending:
        tries = call.tool.retries + 1
        pause = FIRST_PAUSE
        for number in range(1, tries):
            ending = await self._try(call)
            if not ending.again:
                return ending
            call.reporter.message(f"try {number} of {tries} failed: {ending.text}")
            await asyncio.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE)
        ending = await self._try(call)
        return ending._replace(text=f"after {tries} tries: {ending.text}") if ending.again and tries > 1 else ending

    async def _try(self, call: _Call) -> Ending:
        tool = call.tool
        assert tool.call is not None, "a tool without a function is refused before"
        if self._still_running() >= GIVEN_UP:
            return Ending(f"not run: {GIVEN_UP} calls that were given up are still running", "error")
        work = Work(tool.call, deepcopy(call.arguments), call.running, call.reporter)
        task = asyncio.create_task(work.run(), name=f"toolwire-tool {tool.name}")
        limit = self._timeout if tool.timeout is None else tool.timeout
        late = False
        try:
            await asyncio.wait({task}, timeout=limit)
        finally:
            if not task.done():
                late = True
                await self._stop(work, task, call.ticket)
        if not late:
            ending = work.ending or Ending("the tool cancelled itself", "error")
        elif task.done():
            ending = Ending(f"no result within {limit:g} seconds; it was stopped", "timeout", again=True)
        else:
            words = f"no result within {limit:g} seconds; it could not be stopped and may still be running"
            ending = Ending(words, "timeout (still running)")
        if ending.outcome == "ok" or not (output := work.pieces.text()):
            return ending
        return ending._replace(text=f"{ending.text}\nIts output until then:\n{output}")

    async def _stop(self, work: Work, task: asyncio.Task[None], ticket: Ticket) -> None:
        """Tells the call to end, and waits for that where it can hear; one that does not end is given up."""
        work.stopping = True
        task.cancel()
        try:
            if not work.deaf:
                await self._wait_for(task)
        finally:
            if not task.done():
                self._give_up(work, task, ticket)

    async def _wait_for(self, task: asyncio.Task[None]) -> None:
        """Waits for a call that was told to end, as long as it may take; whoever is cancelled twice does not wait."""
        try:
            await asyncio.wait({task}, timeout=GRACE)
        except asyncio.CancelledError:
            waiting = asyncio.current_task()
            if waiting is not None and waiting.cancelling() < 2:
                # It was a time-out that told the call to end, and this is the first that is heard of being cancelled.
                await asyncio.wait({task}, timeout=GRACE)
            raise

    def _give_up(self, work: Work, task: asyncio.Task[None], ticket: Ticket) -> None:
        """Lets go of a call that does not end: it is held here, and the end of the program does not wait for it."""
        self._given_up[task] = ticket, work
        task.add_done_callback(lambda _: self._given_up.pop(task))
        asyncio.tasks._unregister_task(task)
        quiet: Any = task
        quiet._log_destroy_pending = False

    def _still_running(self) -> int:
        """How many that were given up still run. A closed loop ends those on it untold; a thread outlives it."""
        for task, (_, work) in list(self._given_up.items()):
            if task.get_loop().is_closed() and not work.has_thread:
                del self._given_up[task]
        return len(self._given_up)

    def _write_down(self, ticket: Ticket, outcome: str) -> str:
        """Tells the gate how the call ended; the result is not lost where that fails, and a note says so."""
        try:
            self._gate.finished(ticket, outcome)
        except Exception as error:
            return f"how this call ended could not be written to the audit trail ({error_words(error)})"
        return ""
