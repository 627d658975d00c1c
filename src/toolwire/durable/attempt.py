"""One attempt at a run: the agent's loop from its beginning, told from records as far as they go, then done."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import aclosing, suppress
from typing import NamedTuple, NoReturn

from ..agent.events import (
    AgentEvent,
    ApprovalAnswered,
    ApprovalAsked,
    NestedEvent,
    RunEnd,
    RunFailed,
    RunFinished,
    ToolFinished,
    ToolProgress,
    ToolStarted,
    TurnStarted,
)
from ..agent.loop import Agent
from ..errors import DurableFailed, ErrorInfo, ToolwireError
from .asked import Questions
from .ledger import STALLS, Begun, Ledger, RunLost
from .records import RunSpec, RunState, to_text
from .workplace import Leaving, Workplace

_OF_CALLS = (ApprovalAnswered, ApprovalAsked, NestedEvent, ToolFinished, ToolProgress, ToolStarted)


class DurableAgent(NamedTuple):
    """An agent that a worker offers. `make` makes a new one for each attempt, with the `steps`, the `person` and the
    `transport` of its workplace; its error refuses the run.

    A run that was begun with one `version` goes on with no other, unless that one `accepts` it: what changes how calls
    are answered (other tools under the same names, say) is another version.
    """

    name: str
    make: Callable[[RunSpec, Workplace], Agent]
    version: str = "1"
    accepts: frozenset[str] = frozenset()


class Attempt:
    """Works on a run until it is over, or the place is left."""

    def __init__(self, place: Workplace, ledger: Ledger, begun: Begun, offered: DurableAgent | None) -> None:
        self._place = place
        self._ledger = ledger
        self._begun = begun
        self._offered = offered
        self._turn = 0

    async def work(self) -> RunState:
        """How the run ended. Raises `CancelledError` where it did not."""
        if self._begun.stalled >= STALLS:
            end = RunFailed(_stalled(self._begun.stalled), 0)
            self._tell(end)
            return await self._end(end, None)
        agent = await self._agent()
        try:
            return await self._run(agent)
        except (ToolwireError, RunLost):
            raise  # of the database: the run itself is as it was
        except Exception as error:
            failure = DurableFailed(f"the agent failed ({type(error).__name__}: {error})")
            end = RunFailed(failure.info(), self._place.turns, self._place.usage)
            self._tell(end)
            return await self._end(end, agent)
        finally:
            with suppress(ToolwireError):
                await agent.close()

    async def _run(self, agent: Agent) -> RunState:
        end: RunEnd | None = None
        async with aclosing(agent.run(self._begun.spec.prompt)) as events:
            async for event in events:
                self._tell(event)
                if isinstance(event, RunEnd):
                    end = event
        assert end is not None, "a run has an end"
        self._place.check()
        return await self._end(end, agent)

    async def _agent(self) -> Agent:
        spec, offered, place = self._begun.spec, self._offered, self._place
        if offered is None:
            self._refuse(
                DurableFailed(
                    f"this worker has no agent {spec.agent!r}",
                    hint="Start a worker that has it, then resume the run.",
                    agent=spec.agent,
                )
            )
        begun_by, version = self._begun.version, offered.version
        if begun_by and begun_by != offered.version and begun_by not in offered.accepts:
            self._refuse(
                DurableFailed(
                    f"the run was begun by version {begun_by} of the agent {offered.name!r}, and this worker has "
                    f"version {offered.version}",
                    hint="Resume it where that version works, or fork it from its first step to begin anew.",
                    agent=offered.name,
                    begun_by=begun_by,
                    here=offered.version,
                )
            )
        if not begun_by:
            await place.write(lambda: self._ledger.mark(place.run, place.attempt, agent_version=version))
        try:
            agent = offered.make(spec, place)
        except ToolwireError as error:
            self._refuse(error)
        except Exception as error:
            self._refuse(DurableFailed(f"making the agent failed ({type(error).__name__}: {error})", agent=spec.agent))
        if spec.history:
            agent.take_up(spec.history, spec.turn)
        rules, are_open = await self._ledger.database.thread(Questions(self._ledger.database).so_far, place.run)
        place.remembers(rules, are_open, agent.policy.remember)
        return agent

    def _refuse(self, error: ToolwireError) -> NoReturn:
        self._place.leave(Leaving(RunState.REFUSED, error=error.info()))
        raise asyncio.CancelledError

    def _tell(self, event: AgentEvent) -> None:
        if isinstance(event, TurnStarted):
            self._turn = event.turn
        id = event.id if isinstance(event, _OF_CALLS) else ""
        self._place.log.tell(self._turn, id, event)
        if isinstance(event, ToolStarted):
            self._place.told_start((self._turn, to_text(id)))

    async def _end(self, end: RunEnd, agent: Agent | None) -> RunState:
        place = self._place
        await place.flush()
        place.is_over = True
        state = RunState.FINISHED if isinstance(end, RunFinished) else RunState.FAILED
        error = end.error if isinstance(end, RunFailed) else None
        await place.write(
            lambda: self._ledger.end(
                place.run,
                place.attempt,
                state,
                text=end.text if isinstance(end, RunFinished) else "",
                error=error,
                turns=end.turns,
                usage=end.usage,
                conversation=agent.messages if agent is not None else (),
            )
        )
        return state


def _stalled(times: int) -> ErrorInfo:
    error = DurableFailed(
        f"{times} workers in a row were lost while they worked on it, at the same step",
        hint="Look at what that step does (toolwire runs show), then resume the run.",
        times=times,
    )
    return error.info()
