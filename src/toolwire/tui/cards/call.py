"""`Call`: what is known of one call, from its first delta to its result. No screen: what it is told, and its state."""

from __future__ import annotations

import time
from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from ...agent.events import (
    AgentEvent,
    ApprovalAnswered,
    ApprovalAsked,
    NestedEvent,
    RunFailed,
    RunInterrupted,
    ToolFinished,
    ToolProgress,
    ToolStarted,
)
from ...execution.executor import CANCELLED, DENIED, ToolResult
from ...stream.segments import EventType, SegmentEvent, SegmentType
from .fields import Fields
from .growing import GrowingText
from .inner import Inner
from .output import Output

RAW = 20_000
"""Characters of a call as the model wrote it that are kept as long as no argument of it could be read."""


class State(StrEnum):
    """Where a call is on its way. Everything from `DONE` on is final."""

    STREAMING = "streaming"
    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    DENIED = "denied"
    INCOMPLETE = "incomplete"
    CANCELLED = "cancelled"

    @property
    def is_final(self) -> bool:
        """Whether nothing more happens to the call."""
        return self not in (State.STREAMING, State.WAITING, State.RUNNING)


class Call:
    """One call as its card knows it. `take` notes what comes, in any order, and raises nothing."""

    def __init__(self, id: str, tool_name: str, kind: SegmentType, head: Mapping[str, Any] | None = None) -> None:
        self.id = id
        self.tool_name = tool_name
        self.kind = kind
        self.head: dict[str, Any] = dict(head or {})
        self.state = State.STREAMING
        self.changes = 0
        """Counts what came, for whoever paints it."""
        self.ended = False
        """Whether the model has ended it. What runs is decided after that."""
        self.why = ""
        """Why it did not run, or not to its end."""
        self.ran = False
        self.arguments: dict[str, Any] | None = None
        """The model's own, or those that run."""
        self.edited = False
        """Whether the person changed them."""
        self.repairs: list[str] = []
        self.asked: ApprovalAsked | None = None
        self.answered: ApprovalAnswered | None = None
        self.result: ToolResult | None = None
        self.output = Output()
        self.inner = Inner()
        self.raw = GrowingText(room=RAW)
        self._fields = Fields()
        self._read: dict[str, Any] | None = None
        self._since = time.monotonic()
        self._took = 0.0

    @property
    def fields(self) -> Fields:
        """The arguments by path: as they grow, then as they were read."""
        if self.arguments is not None and self._read is not self.arguments:
            self._read = self.arguments
            self._fields = Fields.of(self.arguments)
        return self._fields

    @property
    def seconds(self) -> float:
        """How long it has been in its state; of a final one, how long it ran."""
        if self.state.is_final:
            return self.result.seconds if self.result is not None and self.result.seconds else self._took
        return time.monotonic() - self._since

    @property
    def word(self) -> str:
        """The state in a word, a little finer where that helps."""
        if self.state is State.STREAMING and self.ended:
            return "queued"
        if self.state is State.WAITING and self.answered is not None:
            return "approved"
        return self.state.value

    def take(self, event: AgentEvent) -> None:
        """Notes what came."""
        if isinstance(event, SegmentEvent):
            self._segment(event)
        elif isinstance(event, RunInterrupted):
            self._break_off(State.CANCELLED, "the run was interrupted")
        elif isinstance(event, RunFailed):
            self._break_off(State.CANCELLED if self.ended else State.INCOMPLETE, event.error.message)
        elif getattr(event, "id", self.id) != self.id:
            return
        elif isinstance(event, NestedEvent):
            self.inner.take(event)
        elif isinstance(event, ToolFinished):
            self._finished(event.result)
        elif self.state.is_final:
            return
        elif isinstance(event, ToolProgress):
            self.output.take(event.text, event.missed)
        elif isinstance(event, ApprovalAsked):
            self.asked, self.answered = event, None
            self._arrived(event.request.invocation.arguments)
            self._become(State.WAITING)
        elif isinstance(event, ApprovalAnswered):
            self.answered = event
            if not event.allowed:
                self._end(State.DENIED, event.reason)
        elif isinstance(event, ToolStarted):
            self._started(event)
        else:
            return
        self.changes += 1

    def begin_again(self) -> None:
        """Whoever ran it was lost: what was told of that is void, and something else comes of the call."""
        if self.result is not None:
            return
        self.ran = False
        self.output, self.inner = Output(), Inner()
        self._become(State.STREAMING if self.asked is None else State.WAITING)
        self.changes += 1

    def _segment(self, event: SegmentEvent) -> None:
        if event.type is EventType.ERROR:
            if not self.ran and self.asked is None:
                why = event.error.message if event.error is not None else "the stream broke off"
                self._break_off(State.INCOMPLETE, why)
            return
        metadata = event.metadata or {}
        if event.type is EventType.DONE:
            problems = metadata.get("problems")
            problem = problems.get(self.id) if isinstance(problems, dict) else None
            if problem and not self.state.is_final:
                self._end(State.INCOMPLETE, str(problem))
            return
        if event.segment_id != self.id or self.state.is_final:
            return
        if event.type is EventType.START:
            self.head.update(metadata)
        elif self.ended:
            return
        elif event.type is EventType.CONTENT:
            if event.fields is not None:
                for field in event.fields:
                    self._fields.take(field)
            if not self._fields.texts and self.raw.size < RAW:
                self.raw.add(event.delta)
        else:
            self._segment_ended(metadata)
        self.changes += 1

    def _segment_ended(self, metadata: Mapping[str, Any]) -> None:
        self.ended = True
        repairs = metadata.get("repairs")
        self.repairs = [str(each) for each in repairs] if isinstance(repairs, list) else []
        arguments = metadata.get("arguments")
        if isinstance(arguments, dict):
            self._arrived(arguments)
        if problem := metadata.get("problem"):
            self._end(State.INCOMPLETE, str(problem))

    def _arrived(self, arguments: dict[str, Any]) -> None:
        self.ended = True
        if self.arguments is None:
            self.arguments = arguments

    def _started(self, event: ToolStarted) -> None:
        ran = event.invocation.arguments
        self.edited = self.arguments is not None and self.arguments != ran
        if self.edited or self.arguments is None:
            self.arguments = ran
        self.ended = self.ran = True
        self._become(State.RUNNING)

    def _finished(self, result: ToolResult) -> None:
        """Its one result. What it was denied for, or why it may not run, is known better before it."""
        late = self.state.is_final and self.state is not State.CANCELLED
        self.result = result
        self.ended = True
        if late:
            return
        words = result.content.removeprefix("Error: ")
        if not result.is_error:
            self._end(State.DONE)
        elif result.outcome == DENIED:
            self._end(State.DENIED, words.removeprefix("not run: "))
        elif result.outcome == CANCELLED:
            self._end(State.CANCELLED, words)
        elif result.outcome:
            self._end(State.FAILED)
        elif words.startswith(("cancelled", "not run: cancelled")):
            self._end(State.CANCELLED, words)  # in a session that was kept: only the words are
        elif self.ran:
            self._end(State.FAILED)
        else:
            # The gate, a hook, a bound: somebody said no, and nothing of the call ran.
            self._end(State.DENIED if words.startswith("not run: ") else State.FAILED, words.removeprefix("not run: "))

    def _break_off(self, state: State, why: str) -> None:
        if not self.state.is_final:
            self._end(state, why)
            self.changes += 1

    def _end(self, state: State, why: str = "") -> None:
        self._took = time.monotonic() - self._since if self.ran else 0.0
        self.why = why
        self.changes += 1
        self.state = state

    def _become(self, state: State) -> None:
        self.state = state
        self._since = time.monotonic()
