"""What `toolwire run` puts on standard output for scripts and pipes: the answer, a document, or an object. No more.

What happens on the way (calls, results, notes, costs) is for people and goes to standard error. Which words are the
answer is known when the model has ended its turn: words before a call are part of the way there.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any, Literal, Protocol

import msgspec

from ..agent.events import (
    AgentEvent,
    RunFailed,
    RunFinished,
    RunInterrupted,
    RunStarted,
    ToolFinished,
    ToolStarted,
    TurnStarted,
)
from ..agent.sessions.entries import Answered, Entry, Noted, Said, Settled, Written, now
from ..agent.sessions.store import SessionInfo, SessionRecord
from ..chunks import StopReason, TokenUsage
from ..errors import ErrorInfo
from ..messages import Message
from ..stream.segments import CALL_SEGMENTS, EventType, SegmentEvent, SegmentType
from .export import as_markdown
from .visible import json_bytes, visible

OutputFormat = Literal["text", "markdown", "json", "events"]

Show = Callable[[AgentEvent], None]


class Output(Protocol):
    """Takes every event of a run, and writes what is for standard output."""

    def show(self, event: AgentEvent) -> None:
        """One event."""
        ...


class Events:
    """Every event as one line of JSON, as it happens."""

    def show(self, event: AgentEvent) -> None:
        """One event."""
        _write(json_bytes(event) + b"\n")


class AnswerAlone:
    """The words of the answer, when the model has ended its turn; all else goes to `beside`.

    Words are held back as long as they may be the answer. Where a call follows them, or the run does not end well, they
    are shown beside, in their place.
    """

    def __init__(self, beside: Show, settle: Callable[[], None] = lambda: None) -> None:
        self._beside = beside
        self._settle = settle
        self._held: list[SegmentEvent] = []
        self._texts: set[str] = set()
        self._calls = False

    def show(self, event: AgentEvent) -> None:
        """One event."""
        if isinstance(event, SegmentEvent):
            self._segment(event)
            return
        if isinstance(event, RunFinished):
            self._held.clear()
            # Nothing of it is obeyed by a terminal that may be at the pipe's end; as it was said: --output-format json.
            text = visible(event.text)
            self._settle()
            if text:
                _write(f"{text}{'' if text.endswith(chr(10)) else chr(10)}".encode())
        elif isinstance(event, (TurnStarted, RunFailed, RunInterrupted)):
            self._release()
            self._calls = False
        self._beside(event)

    def _segment(self, event: SegmentEvent) -> None:
        if event.type is EventType.START and event.segment_type in CALL_SEGMENTS:
            self._calls = True
            self._release()
        if event.type is EventType.START and event.segment_type is SegmentType.TEXT and not self._calls:
            self._texts.add(event.segment_id)
        if event.segment_id in self._texts and event.type is not EventType.DONE:
            self._held.append(event)
        else:
            self._beside(event)

    def _release(self) -> None:
        held, self._held = self._held, []
        self._texts.clear()
        for event in held:
            self._beside(event)


class CallDone(msgspec.Struct, frozen=True, kw_only=True):
    """A call of the run and what came of it."""

    id: str
    turn: int
    tool: str
    arguments: dict[str, Any]
    """As it ran, or as the model wrote it where it did not."""
    outcome: str
    """`ok`, `error`, `timeout` and so on, as in the audit trail; `denied`, or `not run` for a call that was none."""
    result: str
    seconds: float


class Done(msgspec.Struct, frozen=True, kw_only=True):
    """A run as one object. `error` is null where the model ended its turn, and `stop_reason` where it did not."""

    text: str
    stop_reason: StopReason | None
    error: ErrorInfo | None
    provider: str
    model: str
    session: str
    turns: int
    usage: TokenUsage
    seconds: float
    calls: list[CallDone]


class OneObject:
    """The whole run as one JSON object, at its end; all events go to `beside` too."""

    def __init__(self, beside: Show) -> None:
        self._beside = beside
        self._started = RunStarted("", "", "")
        self._began = time.monotonic()
        self._arguments: dict[str, dict[str, Any]] = {}
        self._calls: list[CallDone] = []

    def show(self, event: AgentEvent) -> None:
        """One event."""
        self._beside(event)
        if isinstance(event, RunStarted):
            self._started, self._began = event, time.monotonic()
        elif isinstance(event, SegmentEvent):
            if event.type is EventType.END and isinstance(written := (event.metadata or {}).get("arguments"), dict):
                self._arguments[event.segment_id] = written
        elif isinstance(event, ToolStarted):
            self._arguments[event.id] = event.invocation.arguments
        elif isinstance(event, ToolFinished):
            self._calls.append(
                CallDone(
                    id=event.id,
                    turn=event.turn,
                    tool=event.result.name,
                    arguments=self._arguments.get(event.id, {}),
                    outcome=event.result.outcome or "not run",
                    result=event.result.content,
                    seconds=round(event.result.seconds, 3),
                )
            )
        elif isinstance(event, (RunFinished, RunFailed, RunInterrupted)):
            _write(json_bytes(self._done(event)) + b"\n")

    def _done(self, end: RunFinished | RunFailed | RunInterrupted) -> Done:
        error = end.error if isinstance(end, RunFailed) else None
        if isinstance(end, RunInterrupted):
            error = ErrorInfo("Interrupted", "the run was interrupted")
        return Done(
            text=end.text if isinstance(end, RunFinished) else "",
            stop_reason=end.stop_reason if isinstance(end, RunFinished) else None,
            error=error,
            provider=self._started.provider,
            model=self._started.model,
            session=self._started.session,
            turns=end.turns,
            usage=end.usage,
            seconds=round(time.monotonic() - self._began, 3),
            calls=self._calls,
        )


class Document:
    """The run as a Markdown document, as `toolwire sessions export` writes one; all events go to `beside` too.

    `messages` is the conversation, whose last question is the one that was asked. Nothing in it that a model or a tool
    wrote is live: all of that stands in fences.
    """

    def __init__(self, beside: Show, messages: list[Message], model: str, folder: str) -> None:
        self._beside = beside
        self._messages = messages
        self._model = model
        self._folder = folder
        self._session = ""
        self._began = now()

    def show(self, event: AgentEvent) -> None:
        """One event."""
        self._beside(event)
        if isinstance(event, RunStarted):
            self._session = event.session
        elif isinstance(event, (RunFinished, RunFailed, RunInterrupted)):
            _write(as_markdown(self._record(event)).encode("utf-8", "backslashreplace"))

    def _record(self, end: RunFinished | RunFailed | RunInterrupted) -> SessionRecord:
        asked = next((at for at in range(len(self._messages) - 1, -1, -1) if self._messages[at].role == "user"), 0)
        messages = self._messages[asked:]
        written = [*map(_written, messages), Noted(msgspec.to_builtins(end, enc_hook=str))]
        states = {RunFinished: "finished", RunFailed: "failed", RunInterrupted: "interrupted"}
        info = SessionInfo(
            id=self._session,
            title=messages[0].text.strip().partition("\n")[0][:_TITLE] if messages else "",
            model=self._model,
            cwd=self._folder,
            created=self._began,
            updated=now(),
            turns=end.turns,
            state=states[type(end)],
            entries=len(written),
        )
        return SessionRecord(info=info, entries=[Entry(info.updated, each) for each in written], messages=messages)


_TITLE = 80


def _written(message: Message) -> Written:
    if message.role == "assistant":
        return Answered(0, message)
    return Settled(0, message) if message.role == "tool" else Said(message)


def _write(data: bytes) -> None:
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()
