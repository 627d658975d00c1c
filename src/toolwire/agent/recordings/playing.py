"""What stands in for the world while a recording is played: the provider, the person and the tools.

Nothing is sent, asked or run. What the recording holds comes when it came then: a step of a call is taken when all that
was told before it has been told, so that calls which ran side by side are told in the same order again.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from typing import Any, NoReturn

import msgspec

from ...approval.gate import Denial, Gate, Ticket
from ...approval.policy import Mode, Policy
from ...approval.request import Answer, ApprovalRequest
from ...errors import ErrorInfo, RecordingFailed, revived
from ...execution.executor import Executor, ToolResult
from ...execution.reporting import OnProgress
from ...stream.invocation import ToolInvocation
from ...stream.segments import EventType, SegmentEvent
from ...tools.definition import ToolDefinition
from ...tools.registry import ToolRegistry
from ...transport import HttpRequest
from ..bounds import Bounds, Spent
from ..delegating import NESTING
from ..events import (
    AgentEvent,
    ApprovalAnswered,
    ApprovalAsked,
    CallEvent,
    NestedEvent,
    OfferedTool,
    RunEnd,
    RunFailed,
    RunFinished,
    RunInterrupted,
    ToolFinished,
    ToolProgress,
    ToolsChanged,
    ToolStarted,
    TurnStarted,
)
from ..toolbox import Toolbox
from .recorded import RecordedRun, RecordedTool

Recut = Callable[[bytes], Iterable[bytes]]
_PATIENCE = 20
"""Rounds of the event loop without any change after which what is waited for does not come."""
_NOT_RUN = "Error: not run: "
_FROM_OUTSIDE = frozenset({"SessionFailed", "RecordingFailed"})
"""Errors that nothing in a recording leads to again."""


class Played:
    """How far one recorded run has been played."""

    def __init__(self, run: RecordedRun, interrupt: Callable[[], None]) -> None:
        self.run = run
        self._interrupt = interrupt
        self.requests: list[HttpRequest] = []
        self._is_open = False
        self._seen = self._seen_characters = 0
        self.end = run.events[-1] if run.events and isinstance(run.events[-1], RunEnd) else None
        before = run.events[:-1] if self.end is not None else run.events
        self._all = len([event for event in before if not _is_content(event)])
        self._all_characters = sum(len(event.delta) for event in before if isinstance(event, SegmentEvent))
        self._calls = [event for event in before if isinstance(event, CallEvent)]
        self._arguments = _arguments(before)
        self._owners = _owners(self._calls, self._arguments)
        self.had_questions = any(id != event.id for event, id in zip(self._calls, self._owners, strict=True))
        """Whether servers of tools asked for something: what their questions to the model used up is not recorded."""
        self._claimed = self._told = 0
        self._live: set[str] = set()
        self._waiting: dict[str, CallEvent | None] = {}
        self._changed = asyncio.Event()

    @property
    def was_stopped(self) -> bool:
        """Whether the run ended from outside: interrupted, out of time, killed."""
        end = self.end
        if isinstance(end, RunFailed):
            return end.error.type in _FROM_OUTSIDE or end.error.facts.get("what") == "seconds"
        return end is None or isinstance(end, RunInterrupted)

    def failed_at_once(self) -> ErrorInfo | None:
        """The error of a run that failed before its first turn."""
        started = any(isinstance(event, TurnStarted) for event in self.run.events)
        return self.end.error if isinstance(self.end, RunFailed) and not started else None

    def veto(self) -> str | None:
        """What a hook said that kept the next request from being sent."""
        if not (isinstance(self.end, RunFailed) and self.end.error.type == "Vetoed" and self._is_all_seen()):
            return None
        return self.end.error.message.partition(": ")[2]

    def saw(self, event: AgentEvent) -> None:
        """An event was told. Stops the run where it was stopped."""
        if isinstance(event, SegmentEvent):
            self._seen_characters += len(event.delta)
        self._seen += not _is_content(event)
        if isinstance(event, CallEvent):
            self._took(event)
        if self.was_stopped and self._is_all_seen() and not self._is_open:
            self._interrupt()

    def with_usage(self, end: RunFinished | RunFailed) -> RunEnd:
        """The end of the run with all that it used up, as it was recorded."""
        return end if self.end is None else msgspec.structs.replace(end, usage=self.end.usage)

    def _is_all_seen(self) -> bool:
        seen = (self._seen, self._seen_characters) == (self._all, self._all_characters)
        return seen and len(self.requests) == len(self.run.answers)

    # ---- the provider

    async def answer(self, request: HttpRequest, recut: Recut | None) -> AsyncGenerator[bytes, None]:
        """The recorded answer to the next request."""
        number = len(self.requests)
        self.requests.append(request)
        if number >= len(self.run.answers):
            raise RecordingFailed("the recording holds no answer to this request", line=number + 1)
        answer = self.run.answers[number]
        chunks = answer.body
        if recut is not None and not (self.was_stopped and number == len(self.run.answers) - 1):
            chunks = list(recut(b"".join(chunks)))
        for place, data in enumerate(chunks, 1):
            self._is_open = place < len(chunks)
            yield data
        if answer.end is None or answer.end.how == "closed":
            self._interrupt()
            await _forever()
        if answer.end.error is not None:
            raise revived(answer.end.error)

    # ---- the calls

    def steps(self, turn: int, id: str) -> list[CallEvent]:
        """What happened to a call, and what its server asked for meanwhile."""
        found = zip(self._calls, self._owners, strict=True)
        return [event for event, owner in found if event.turn == turn and owner == id]

    def arguments(self, turn: int, id: str) -> dict[str, Any] | None:
        """The arguments that the model had written."""
        return self._arguments.get((turn, id))

    async def reach(self, id: str, step: CallEvent | None) -> None:
        """Waits until it is time for this step of a call; where none is left, until the run is stopped."""
        self._live.add(id)
        self._waiting[id] = step
        self._changed.set()
        idle = 0
        try:
            while True:
                is_quiet = self._told == self._claimed
                if is_quiet and step is not None and self._next() is step:
                    self._claimed += 1
                    return
                if not is_quiet or len(self._waiting) < len(self._live):
                    idle = 0
                    self._changed.clear()
                    await self._changed.wait()
                    continue
                idle += 1
                if idle > _PATIENCE:
                    idle = 0
                    self._skip()
                await asyncio.sleep(0)
        finally:
            del self._waiting[id]

    def left(self, id: str) -> None:
        """The call has its result."""
        self._live.discard(id)
        self._changed.set()

    def _next(self) -> CallEvent | None:
        return self._calls[self._claimed] if self._claimed < len(self._calls) else None

    def _skip(self) -> None:
        """Goes past a step that nobody takes; where none is left, stops the run, which waits for nothing any more."""
        step = self._next()
        if step is None:
            self._interrupt()
        elif all(step is not wanted for wanted in self._waiting.values()):
            self._claimed += 1
            self._told += 1
            self._changed.set()

    def _took(self, event: CallEvent) -> None:
        """A call's event was told: the one that was claimed, or one of a call that may not run."""
        if self._told < self._claimed:
            self._told += 1
        elif (step := self._next()) is not None and _same_step(step, event):
            self._claimed += 1
            self._told += 1
        self._changed.set()


class PlayedGate(Gate):
    """Decides as was decided. Its tickets are for an executor that runs nothing."""

    def __init__(self, played: Callable[[], Played]) -> None:
        super().__init__(_yes, policy=Policy(Mode.FULL))
        self._played = played

    async def decide(
        self,
        invocation: ToolInvocation,
        tool: ToolDefinition,
        *,
        on_asked: Callable[[ApprovalRequest], None] | None = None,
        on_answered: Callable[[ApprovalRequest, Answer], None] | None = None,
    ) -> Ticket | Denial:
        """As `Gate.decide`."""
        played, id = self._played(), invocation.id
        steps = played.steps(invocation.turn, id)
        if not steps and not played.was_stopped:
            return Denial("the recording does not hold this call")
        request: ApprovalRequest | None = None
        for step in steps:
            if isinstance(step, ApprovalAsked):
                await played.reach(id, step)
                request = msgspec.structs.replace(step.request, invocation=invocation)
                if on_asked is not None:
                    on_asked(request)
            elif isinstance(step, ApprovalAnswered) and request is not None:  # without a question, it is nobody's
                await played.reach(id, step)
                answer = Answer(allowed=step.allowed, who=step.who, scope=step.scope, reason=step.reason)
                if on_answered is not None:
                    on_answered(request, answer)
            elif isinstance(step, ToolStarted):
                await played.reach(id, step)
                ran = step.invocation
                if ran.arguments != played.arguments(invocation.turn, id):
                    invocation = msgspec.structs.replace(
                        invocation, arguments=ran.arguments, raw_arguments=ran.raw_arguments
                    )
                return await super().decide(invocation, tool)
            elif isinstance(step, ToolFinished):
                await played.reach(id, step)
                played.left(id)
                return Denial(step.result.content.removeprefix(_NOT_RUN))
        await played.reach(id, None)
        raise AssertionError("what has no end is stopped")


class PlayedExecutor(Executor):
    """Gives the recorded results. `tell` is told what the servers of tools asked for meanwhile."""

    def __init__(self, gate: Gate, played: Callable[[], Played], tell: Callable[[CallEvent], None]) -> None:
        super().__init__(gate)
        self._played = played
        self._tell = tell

    async def run(self, ticket: Ticket, on_progress: OnProgress | None = None) -> ToolResult:
        """As `Executor.run`."""
        played, call = self._played(), ticket.invocation
        for step in played.steps(call.turn, call.id):
            if isinstance(step, ToolProgress):
                await played.reach(call.id, step)
                if on_progress is not None:
                    on_progress(step.text)
            elif isinstance(step, NestedEvent) and (nesting := NESTING.get()) is not None:
                await played.reach(call.id, step)
                if isinstance(step.event, RunEnd):
                    nesting.spent.append(Spent(Bounds(), usage=step.event.usage, tokens=step.event.usage.total_tokens))
                await nesting.send(step.event)
            elif step.id != call.id:
                await played.reach(call.id, step)
                self._tell(step)
            elif isinstance(step, ToolFinished):
                await played.reach(call.id, step)
                played.left(call.id)
                return step.result
        await played.reach(call.id, None)
        raise AssertionError("what has no end is stopped")


def _is_content(event: AgentEvent) -> bool:
    return isinstance(event, SegmentEvent) and event.type is EventType.CONTENT


def _same_step(one: CallEvent, other: CallEvent) -> bool:
    return type(one) is type(other) and (one.turn, one.id) == (other.turn, other.id)


def _owners(events: Sequence[CallEvent], made: Iterable[tuple[int, str]]) -> list[str]:
    """Of each event the id of its call. A question of a server has an id of its own, and is told with a call that
    ran then: which of them it was for, nobody knows. `made` are the calls that the model made.
    """
    calls = {*made, *((event.turn, event.id) for event in events if isinstance(event, (ToolStarted, ToolFinished)))}
    running: dict[tuple[int, str], None] = {}
    owners: list[str] = []
    for event in events:
        key = event.turn, event.id
        asks = isinstance(event, (ApprovalAsked, ApprovalAnswered)) and key not in calls
        during = next((id for turn, id in running if turn == event.turn), None) if asks else None
        owners.append(event.id if during is None else during)
        if isinstance(event, ToolStarted):
            running[key] = None
        elif isinstance(event, ToolFinished):
            running.pop(key, None)
    return owners


def _arguments(events: Iterable[AgentEvent]) -> dict[tuple[int, str], dict[str, Any]]:
    """The arguments of each call as the answers gave them."""
    found: dict[tuple[int, str], dict[str, Any]] = {}
    turn = 0
    for event in events:
        if isinstance(event, TurnStarted):
            turn = event.turn
        elif isinstance(event, SegmentEvent) and event.type is EventType.END and event.metadata:
            arguments = event.metadata.get("arguments")
            if isinstance(arguments, dict):
                found[turn, event.segment_id] = arguments
    return found


async def _yes(_: ApprovalRequest) -> bool:
    return True


async def _forever() -> NoReturn:
    await asyncio.Event().wait()
    raise AssertionError("nobody sets it")


class PlayedToolbox(Toolbox):
    """The tools of a recorded run: what sources offered is there again when it was there then."""

    def __init__(self, tools: Iterable[ToolDefinition], played: Callable[[], Played]) -> None:
        super().__init__(tools)
        self._played = played

    async def refresh(self, turn: int) -> ToolsChanged | None:
        """What became different then."""
        events = self._played().run.events
        changed = next((each for each in events if isinstance(each, ToolsChanged) and each.turn == turn), None)
        if changed is not None:
            gone = {*changed.removed, *(tool.name for tool in changed.added)}
            self.registry = ToolRegistry(
                [*(tool for tool in self.registry if tool.name not in gone), *map(as_played, changed.added)]
            )
        return changed


def as_played(tool: RecordedTool | OfferedTool) -> ToolDefinition:
    """A recorded tool, which is declared to the model and never runs."""
    return ToolDefinition(tool.name, tool.description, tool.parameters, tool.risk, _never)


def _never(_: dict[str, Any]) -> None:
    raise AssertionError("nothing runs in a replay")
