"""`agent_tool`: an agent as a tool of another.

Each call makes an agent of its own and runs it to its end: its final words are the result. What it may do is its own
affair, not that of the agent that calls it: it has a gate, bounds and a history of its own. What happens in it is told
where it was called, as it happens, and whoever reads there slowly slows it down.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import aclosing
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, cast
from weakref import WeakSet

from ..chunks import RUNNABLE_STOPS
from ..errors import ConfigError, RunLimitReached, ToolwireError
from ..tools.definition import Risk, ToolDefinition
from ..tools.function import RiskName
from .events import AgentEvent, NestedEvent, RunEnd, RunFailed, RunFinished, RunInterrupted

if TYPE_CHECKING:
    from .bounds import Spent
    from .loop import Agent

AGENT_SECONDS = 2 * 3600.0
"""How long such a call may take unless its tool says otherwise: longer than one person is waited for."""
DEPTH = 4
"""Agents that call agents: a chain of people that long loses its task on the way too."""
EVENTS_WAITING = 16
"""Events of one agent that wait to be read: enough that it need not stop for each, and few beside a question."""


class Nesting:
    """The way up from whatever runs inside one call to the run that made the call."""

    def __init__(self, turn: int, id: str, put: Callable[[NestedEvent], None], spent: list[Spent]) -> None:
        self._turn = turn
        self._id = id
        self._put = put
        self._free = asyncio.Semaphore(EVENTS_WAITING)
        outer = NESTING.get()
        self.depth: int = 1 if outer is None else outer.depth + 1
        """Of an agent that runs in this call: 1 where a person asked the agent that made the call."""
        self.spent = spent
        """What agents that ran inside have used up; each is added when it begins, and grows."""
        self.over = False
        """The call has its result: nothing that is told now is heard."""

    async def send(self, event: AgentEvent) -> None:
        """Tells an event and waits while too many are unread. Ends whoever goes on although it was cancelled."""
        task = asyncio.current_task()
        if self.over or (task is not None and task.cancelling()):
            raise asyncio.CancelledError
        await self._free.acquire()
        self._put(NestedEvent(self._turn, self._id, event))

    def end(self, event: RunEnd) -> None:
        """Tells the last event of an agent that was stopped and must not wait."""
        if not self.over:
            self._put(NestedEvent(self._turn, self._id, event))

    def taken(self) -> None:
        """One of its events is read."""
        self._free.release()


NESTING: ContextVar[Nesting | None] = ContextVar("toolwire-nesting", default=None)
"""Of the call that runs here. Whatever a tool starts inherits it, as it does `toolwire.this_call`."""


def agent_tool(
    make_agent: Callable[[], Agent],
    *,
    name: str,
    description: str,
    risk: Risk | RiskName | None = None,
    timeout: float = AGENT_SECONDS,
    depth: int = DEPTH,
) -> ToolDefinition:
    """A tool that gives a task, in words, to an agent that `make_agent` makes for it, and returns what it says last.

    The agent is new in each call, and is closed with it however the call ends. Its rights are those that `make_agent`
    gives it: its own policy, and its own `approve`, without which whatever would be asked is denied. An answer "for
    this session" holds in the agent that asked and in no other. Give it the calling agent's `approve` and the same
    person is asked, with ids that tell the agents apart. `risk` is the most that its tools can do; without it the call
    itself is asked about.

    Everything that happens in it comes as `NestedEvent`s in the run that called it. What it uses up counts there too;
    its own `bounds` say how much that may be. A run that fails or is interrupted is an error result that says why.
    Interrupting the calling run, or its time-out, stops the agent and what it runs. Agents that call agents which call
    agents are refused at more than `depth`.
    """
    if depth < 1:
        raise ConfigError(f"a depth of {depth} lets no agent run", hint="Give depth as 1 or more.")

    made: WeakSet[Agent] = WeakSet()

    async def call(arguments: dict[str, Any]) -> str:
        nesting = NESTING.get()
        if nesting is not None and nesting.depth > depth:
            raise RunLimitReached(
                f"agents call agents more than {depth} deep",
                hint="Do the task yourself, with the other tools.",
                what="depth",
                limit=depth,
            )
        agent = make_agent()
        if agent in made:
            raise ConfigError("make_agent gave an agent that it had given before", hint="Make a new one each time.")
        made.add(agent)
        return await _run(agent, arguments["task"], nesting)

    task = {"type": "string", "minLength": 1, "description": "What it should do. It knows nothing but these words."}
    schema = {"type": "object", "properties": {"task": task}, "required": ["task"], "additionalProperties": False}
    return ToolDefinition(name, description, schema, cast("Risk | None", risk), call, timeout)


async def _run(agent: Agent, task: str, nesting: Nesting | None) -> str:
    """Runs an agent to its end and closes it; its last words, or an error that says why there are none."""
    end: AgentEvent | None = None
    begun = False
    try:
        async with aclosing(agent.run(task)) as events:
            async for event in events:
                if nesting is not None:
                    if not begun:
                        nesting.spent.append(agent.spent)
                    begun = True
                    await nesting.send(event)
                end = event
    finally:
        if nesting is not None and begun and not isinstance(end, RunEnd):
            nesting.end(RunInterrupted(agent.spent.turns, agent.spent.usage))
        await agent.close()
    if isinstance(end, RunFailed):
        raise ToolwireError(f"the agent failed: {end.error.message}")
    if not isinstance(end, RunFinished):
        raise ToolwireError("cancelled: the agent was interrupted; a part of its work may be done")
    if end.stop_reason in RUNNABLE_STOPS:
        return end.text
    return f"{end.text}\n[The answer is not whole: it ended with {end.stop_reason}.]".lstrip()
