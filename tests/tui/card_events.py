"""Events of one call, as an agent tells them, for the tests of cards."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from toolwire.agent.events import (
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
from toolwire.approval.request import ApprovalRequest
from toolwire.chunks import TokenUsage
from toolwire.errors import ErrorInfo
from toolwire.execution.executor import ToolResult
from toolwire.json_reader import JsonReader
from toolwire.stream.invocation import requested
from toolwire.stream.segments import EventType, SegmentEvent
from toolwire.tui.cards import ToolCard

FAULT = ErrorInfo("StreamFailed", "the connection was lost")
INTERRUPTED = RunInterrupted(1, TokenUsage())
FAILED = RunFailed(FAULT, 1)
BROKEN = SegmentEvent(EventType.ERROR, error=FAULT)


def streamed(id: str, arguments: dict[str, Any], *, upto: int | None = None, size: int = 7) -> Iterator[SegmentEvent]:
    """The arguments as they arrive; `upto` cuts their JSON."""
    raw = json.dumps(arguments)[:upto]
    reader = JsonReader()
    for start in range(0, len(raw), size):
        piece = raw[start : start + size]
        yield SegmentEvent(EventType.CONTENT, id, piece, fields=reader.feed(piece))


def ended(id: str, **metadata: Any) -> SegmentEvent:
    return SegmentEvent(EventType.END, id, metadata=metadata)


def late(**problems: str) -> SegmentEvent:
    return SegmentEvent(EventType.DONE, metadata={"problems": problems})


def whole(id: str, arguments: dict[str, Any]) -> Iterator[SegmentEvent]:
    """A call that the model has ended."""
    yield from streamed(id, arguments)
    yield ended(id, arguments=arguments)


def asked(id: str, tool: str, arguments: dict[str, Any], preview: str = "", risk: str = "write") -> ApprovalAsked:
    request = ApprovalRequest(
        id=id,
        invocation=requested(id, tool, arguments),
        risk=risk,
        why="writing asks in this mode",
        source="mode",
        shown="",
        fully_shown=True,
        preview=preview,
        warnings=(),
        parts=(),
        offers=(),
        refusals=(),
        cwd="/home/me/project",
        digest="",
    )
    return ApprovalAsked(1, id, request)


def answered(id: str, *, allowed: bool, reason: str = "") -> ApprovalAnswered:
    return ApprovalAnswered(1, id, allowed, "person", reason=reason)


def started(id: str, tool: str, arguments: dict[str, Any]) -> ToolStarted:
    return ToolStarted(1, id, requested(id, tool, arguments))


def told(id: str, text: str, missed: int = 0) -> ToolProgress:
    return ToolProgress(1, id, text, missed)


def gave(id: str, content: str, *, outcome: str = "ok", seconds: float = 0.32, error: bool = False) -> ToolFinished:
    name = "tool"
    return ToolFinished(1, id, ToolResult(id, name, content, error, seconds, outcome))


def refused(id: str, words: str) -> ToolFinished:
    """The result of a call that was not run."""
    return ToolFinished(1, id, ToolResult(id, "tool", f"Error: {words}", True))


def nested(id: str, event: AgentEvent) -> NestedEvent:
    return NestedEvent(1, id, event)


def take_all(card: ToolCard, *events: AgentEvent) -> None:
    for event in events:
        card.take(event)
