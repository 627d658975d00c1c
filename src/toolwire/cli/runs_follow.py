"""`toolwire runs follow`: a durable run as `toolwire run` shows one, from any machine, while it runs and afterwards."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from contextlib import aclosing
from typing import TYPE_CHECKING, Annotated, Protocol

from cyclopts import Parameter

from ..agent.events import AgentEvent, ApprovalAnswered, ApprovalAsked, RunStarted, ToolStarted
from ..errors import ConfigError, RunLimitReached
from .console import PlainConsole
from .conversation import BOUND
from .faults import FAILED, say, say_error
from .inputs import as_text
from .output import AnswerAlone
from .runs_open import with_runs
from .screen import Screen
from .telling import call_words
from .visible import json_bytes, one_line

if TYPE_CHECKING:
    from ..durable.client import Runs
    from ..durable.records import RunEvent, RunInfo

ASKS = "ask_user"
"""The tool by which a model asks the person; see `builtin.asking`."""


def follow(
    id: Annotated[str, Parameter(name="RUN")],
    /,
    *,
    from_event: Annotated[int, Parameter(name="--from", metavar="N", show_default=False)] = 1,
    json: Annotated[bool, Parameter(negative="", show_default=False)] = False,
    database: Annotated[str | None, Parameter(metavar="URL")] = None,
) -> int:
    """Shows all that happened in a run from its beginning, and then what happens, until it is over.

    In a pipe, standard output gets the answer alone, and all else goes to standard error. Ctrl-C leaves; the run goes
    on. Exit codes: 0 it finished, 1 it failed, was refused or cancelled, 3 a bound was reached, 130 you left.

    Parameters
    ----------
    id
        Its id, or as much of its beginning as no other has.
    from_event
        Begin with this event; they are counted from 1, and --json says the number of each.
    json
        Print each event as one line of JSON: position, attempt, turn, id, event, at. Of an attempt that was cut, what
        was printed already is taken back by an event of the type attempt_withdrawn; the rest is never printed.
    database
        Where the runs are. Without it: your setting `database`, or else a file beside the sessions.
    """
    if from_event < 1:
        raise ConfigError(f"--from {from_event} is no event", hint="They are counted from 1.")

    async def work(runs: Runs) -> int:
        info = await runs.get(as_text(id))
        return await followed(runs, info, after=from_event - 1, json=json)

    return with_runs(database, work)


async def followed(runs: Runs, info: RunInfo, *, after: int = 0, json: bool = False) -> int:
    """Shows a run until it is over; the exit code. Cancelled, it says that the run goes on."""
    shown: _Shown = _Lines() if json else _OnScreen(info)
    try:
        async with aclosing(runs.follow(info.id, after=after)) as events:
            async for event in events:
                shown.show(event)
                after = event.position
    except asyncio.CancelledError:
        shown.settle()
        say(f"the run goes on; see it again with: toolwire runs follow {info.id} --from {after + 1}")
        raise
    finally:
        shown.settle()
    return ended(await runs.get(info.id))


def ended(info: RunInfo) -> int:
    """Says how a run ended that did not finish; the exit code."""
    if info.error is not None:
        code = say_error(info.error)
        if info.state == "refused":
            say(
                f"run {info.id} was refused by the worker that took it",
                f"When that is put right, or another worker is there: toolwire runs resume {info.id}",
            )
            return FAILED
        say(f"run {info.id} failed", f"To try again where it failed: toolwire runs resume {info.id}")
        return BOUND if info.error.type == RunLimitReached.__name__ else code
    if info.state == "finished":
        return 0
    say(f"run {info.id} is {info.state}", f"To go on with it: toolwire runs resume {info.id}")
    return FAILED


class _Shown(Protocol):
    """Takes the events of a run in their order."""

    def show(self, event: RunEvent) -> None:
        """One event."""
        ...

    def settle(self) -> None:
        """Nothing moves any more."""
        ...


class _Lines:
    """Each event as one line of JSON."""

    def show(self, event: RunEvent) -> None:
        """One event."""
        sys.stdout.buffer.write(json_bytes(event) + b"\n")
        sys.stdout.buffer.flush()

    def settle(self) -> None:
        """Each is whole by itself."""


class _OnScreen:
    """As `toolwire run` shows a run; in a pipe the answer alone, and all else on standard error."""

    def __init__(self, info: RunInfo) -> None:
        self._run = info.id
        self._at = info.created
        is_terminal = sys.stdout.isatty()
        self._screen = Screen(PlainConsole(stderr=not is_terminal), clock=lambda: self._at)
        self._is_terminal = is_terminal
        self._show = self._taker()
        self._screen.header(f"Run {one_line(info.id)}, {one_line(info.state)}: {one_line(info.title)}")
        self._screen.wait("waiting for a worker" if info.state == "queued" else "reading")

    def show(self, event: RunEvent) -> None:
        """One event."""
        from ..durable.records import AttemptWithdrawn

        self._at = event.at or self._at
        told = event.event
        if isinstance(told, AttemptWithdrawn):
            what = "this call" if told.id else "this answer"
            self._screen.withdraw(
                f"(a worker was lost: what stands above of {what} is void, and it is done again)", told.id
            )
            if not told.id:
                # What was held back as a part of the answer is none.
                self._show = self._taker()
            return
        if isinstance(told, RunStarted):
            self._screen.begin()
        self._show(told)
        if isinstance(told, ApprovalAsked):
            name = "".join(call_words(told.request.invocation.tool_name, {}))
            self._wait_for_answer(f"{name} waits for an answer", "approve", told.id)
        elif isinstance(told, ApprovalAnswered):
            words = "allowed" if told.allowed else f"denied{f' ({one_line(told.reason)[:200]})' * bool(told.reason)}"
            self._screen.header(f"({words}, by {one_line(told.who)})")
        elif isinstance(told, ToolStarted) and told.invocation.tool_name == ASKS:
            question = one_line(str(told.invocation.arguments.get("question", "")))[:200]
            self._wait_for_answer(f"the model asks: {question}", "reply", told.id)

    def settle(self) -> None:
        """The cursor is at the start of a line."""
        self._screen.settle()

    def _wait_for_answer(self, words: str, verb: str, call: str) -> None:
        text = " TEXT" if verb == "reply" else ""
        self._screen.header(f"({words}: toolwire runs {verb} {one_line(self._run)} {one_line(call)}{text})")
        self._screen.wait("waiting for an answer")

    def _taker(self) -> Callable[[AgentEvent], None]:
        if self._is_terminal:
            return self._screen.show
        return AnswerAlone(self._screen.show, self._screen.settle).show
