"""The calls of one answer: asked about at once, run side by side, each answered exactly once.

Every call is put to the gate at the same time, so that several may wait for a person and be answered in any order.
What was approved runs as soon as its turn comes: an exclusive tool runs alone, calls that touch the same path keep
their order, and no more than a number of them run at a time.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

import msgspec

from ..approval.gate import Denial, Gate, Ticket
from ..approval.places import Workspace
from ..approval.request import Answer, ApprovalRequest
from ..errors import ToolwireError
from ..execution.executor import Executor, ToolResult
from ..execution.results import bounded
from ..messages import Message, ToolCallPart, tool_results
from ..stream.invocation import ToolInvocation
from ..tools.definition import Risk, ToolDefinition
from ..tools.registry import ToolRegistry
from .events import ApprovalAnswered, ApprovalAsked, CallEvent, ToolFinished, ToolProgress, ToolStarted

STOP_SECONDS = 5.0
"""How long calls that were cancelled are waited for: an executor gives a tool up long before."""
PROGRESS_WAITING = 32
"""What a tool has told and nobody has taken yet: of more, the newest are kept."""
CHANGED_CHARACTERS = 10_000
"""How much of changed arguments the model is told."""


class _Call:
    """One call on its way to its result."""

    __slots__ = ("done", "invocation", "missed", "paths", "progress", "started", "tool")

    def __init__(self, invocation: ToolInvocation, tool: ToolDefinition, workspace: Workspace) -> None:
        self.invocation = invocation
        self.tool = tool
        self.paths = touched_paths(tool, invocation.arguments, workspace)
        self.started = False
        self.done = asyncio.Event()
        self.progress: deque[str] = deque(maxlen=PROGRESS_WAITING)
        self.missed = 0

    def follows(self, earlier: _Call) -> bool:
        """Whether it may not run before the earlier one is done."""
        if self.tool.exclusive or earlier.tool.exclusive:
            return True
        if self.tool.risk is Risk.READ and earlier.tool.risk is Risk.READ:
            return False
        return not self.paths.isdisjoint(earlier.paths)


class Calls:
    """The calls of one answer. `run` gives what happens to them; afterwards, `results` is their message.

    `invocations` are those that may run; `problems` says by id what is wrong with the others.
    """

    def __init__(
        self,
        calls: Sequence[ToolCallPart],
        invocations: Iterable[ToolInvocation],
        problems: Mapping[str, str],
        *,
        tools: ToolRegistry,
        gate: Gate,
        executor: Executor,
        parallel: int,
        turn: int,
    ) -> None:
        self._parts = calls
        self._gate = gate
        self._executor = executor
        self._turn = turn
        self._slots = asyncio.Semaphore(parallel)
        self._stopped = False
        # Bounded by itself: a few events for each call, and one mark for all the progress of a call that waits.
        self._events: asyncio.Queue[CallEvent | _Call | None] = asyncio.Queue()
        self._calls = {each.id: _Call(each, tools[each.tool_name], gate.workspace) for each in invocations}
        self._results = {
            part.id: _error(part.id, part.name, f"not run: {problems.get(part.id, 'the call was not finished')}")
            for part in calls
            if part.id not in self._calls
        }

    async def run(self) -> AsyncGenerator[CallEvent, None]:
        """Everything that happens to the calls, until each has its result.

        Whoever closes it early, or is cancelled in it, has every tool cancelled and waited for.
        """
        for id, result in list(self._results.items()):
            yield ToolFinished(self._turn, id, result)
        tasks = [asyncio.create_task(self._settle(call)) for call in self._calls.values()]
        try:
            left = len(tasks)
            while left:
                event = await self._events.get()
                if event is None:
                    left -= 1
                elif isinstance(event, _Call):
                    # What comes meanwhile waits its turn behind the other calls: a chatty tool hides no question.
                    texts, missed = list(event.progress), event.missed
                    event.progress.clear()
                    event.missed = 0
                    for text in texts:
                        yield ToolProgress(self._turn, event.invocation.id, text, missed)
                        missed = 0
                else:
                    yield event
        finally:
            self._stopped = True
            await _stop(tasks)

    def results(self) -> Message:
        """One result for each call, in the order of the calls; what has none was cancelled."""
        results = (self._results.get(part.id) or _cancelled(self._calls[part.id]) for part in self._parts)
        return tool_results(result.part() for result in results)

    async def _settle(self, call: _Call) -> None:
        """Sees to it that the call gets its result; whatever goes wrong is one."""
        id, name = call.invocation.id, call.tool.name
        try:
            try:
                result = await self._result(call)
            except asyncio.CancelledError:
                if self._stopped:
                    raise
                result = _cancelled(call)
            except ToolwireError as error:
                result = _error(id, name, f"not run: {error}")
            except Exception as error:
                result = _error(id, name, f"it failed ({type(error).__name__})")
            self._results[id] = result
            self._events.put_nowait(ToolFinished(self._turn, id, result))
        finally:
            call.done.set()
            self._events.put_nowait(None)

    async def _result(self, call: _Call) -> ToolResult:
        id, loop = call.invocation.id, asyncio.get_running_loop()

        def asked(request: ApprovalRequest) -> None:
            # Told when the question stands, so that whoever sees the event can answer it at once.
            loop.call_soon(self._events.put_nowait, ApprovalAsked(self._turn, id, request))

        def answered(_: ApprovalRequest, answer: Answer) -> None:
            self._events.put_nowait(
                ApprovalAnswered(self._turn, id, answer.allowed, answer.who, answer.scope, answer.reason)
            )

        def told(text: str) -> None:
            if not call.progress:
                self._events.put_nowait(call)
            call.missed += len(call.progress) == PROGRESS_WAITING
            call.progress.append(text)

        decision = await self._gate.decide(call.invocation, call.tool, on_asked=asked, on_answered=answered)
        if isinstance(decision, Denial):
            return _error(id, call.tool.name, f"not run: {decision.reason}")
        if decision.edited:
            call.paths = touched_paths(call.tool, decision.invocation.arguments, self._gate.workspace)
        await self._turn_of(call)
        async with self._slots:
            call.started = True
            self._events.put_nowait(ToolStarted(self._turn, id, decision.invocation))
            result = await self._executor.run(decision, on_progress=told)
        return _with_changes(result, decision) if decision.edited else result

    async def _turn_of(self, call: _Call) -> None:
        """Waits for the earlier calls that this one must follow."""
        for earlier in self._calls.values():
            if earlier is call:
                return
            if call.follows(earlier):
                await earlier.done.wait()


async def _stop(tasks: list[asyncio.Task[None]]) -> None:
    """Cancels what still runs and waits for it, for a time, also when it is itself cancelled again."""
    loop = asyncio.get_running_loop()
    until = loop.time() + STOP_SECONDS
    again = False
    for task in tasks:
        task.cancel()
    while (left := [task for task in tasks if not task.done()]) and loop.time() < until:
        try:
            await asyncio.wait(left, timeout=until - loop.time())
        except asyncio.CancelledError:
            again = True
    if again:
        raise asyncio.CancelledError


def touched_paths(tool: ToolDefinition, arguments: dict[str, Any], workspace: Workspace) -> frozenset[str]:
    """The paths that a tool says it touches, with links followed. One that cannot be one is left to the gate."""
    found: set[str] = set()
    for name in tool.paths:
        value = arguments.get(name)
        for path in value if isinstance(value, list) else [value]:
            if isinstance(path, str):
                with suppress(OSError, ValueError):
                    found.add(workspace.place(path).real.casefold())
    return frozenset(found)


def _error(id: str, name: str, words: str) -> ToolResult:
    return ToolResult(id, name, f"Error: {words}", is_error=True)


def _cancelled(call: _Call) -> ToolResult:
    words = (
        "cancelled while it ran; a part of its work may be done" if call.started else "not run: cancelled before it ran"
    )
    return _error(call.invocation.id, call.tool.name, words)


def _with_changes(result: ToolResult, ticket: Ticket) -> ToolResult:
    """The result, with the arguments that ran instead of the model's own said before it."""
    ran = bounded(msgspec.json.encode(ticket.invocation.arguments).decode(), CHANGED_CHARACTERS)
    note = f"[The person changed the arguments. It ran with: {ran}]"
    return msgspec.structs.replace(result, content=f"{note}\n{result.content}")
