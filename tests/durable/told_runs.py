"""Runs in the database without an engine: rows to tell events for, and events of every kind."""

from __future__ import annotations

import time
import uuid
from typing import Any

import sqlalchemy as sa

from toolwire.agent.events import (
    AgentEvent,
    ApprovalAnswered,
    ApprovalAsked,
    HistoryCompacted,
    HistoryMoved,
    HookFailed,
    NestedEvent,
    OfferedTool,
    ParserChanged,
    RequestRetried,
    RunFailed,
    RunFinished,
    RunInterrupted,
    RunStarted,
    ToolFinished,
    ToolProgress,
    ToolsChanged,
    ToolStarted,
    TurnStarted,
)
from toolwire.approval.request import ApprovalRequest, Offer, Scope
from toolwire.approval.rules import Decision, Rule
from toolwire.chunks import StopReason, TokenUsage
from toolwire.durable.database import Database, events, runs
from toolwire.durable.event_json import Entry, decode_events
from toolwire.durable.records import RunState
from toolwire.errors import ErrorInfo
from toolwire.execution.executor import ToolResult
from toolwire.json_reader import FieldDelta
from toolwire.messages import MediaPart
from toolwire.stream.invocation import ToolInvocation
from toolwire.stream.segments import EventType, SegmentEvent, SegmentType
from toolwire.tools.definition import Risk


def new_run(database: Database, *, attempt: int = 1) -> str:
    id = uuid.uuid4().hex
    now = time.time()
    row = {"id": id, "title": "", "state": "running", "agent": "", "format": 1, "queue": "q", "priority": 0}
    values = {**row, "spec": "{}", "created": now, "updated": 0.0, "attempt": attempt}
    database.do(lambda connection: connection.execute(runs.insert().values(**values)))
    return id


def change(database: Database, run: str, **values: Any) -> None:
    database.do(lambda connection: connection.execute(runs.update().where(runs.c.id == run).values(**values)))


def is_over(database: Database, run: str) -> None:
    change(database, run, state=RunState.FINISHED)


def position(database: Database, run: str) -> int:
    wanted = sa.select(runs.c.position).where(runs.c.id == run)
    return int(database.do(lambda connection: connection.execute(wanted).scalar()) or 0)


def batches(database: Database, run: str) -> list[Any]:
    wanted = sa.select(events).where(events.c.run == run).order_by(events.c.first)
    return list(database.do(lambda connection: connection.execute(wanted).all()))


def written(database: Database, run: str) -> list[Entry]:
    found = batches(database, run)
    told = [each for row in found for each in decode_events(row.body)]
    assert [place for row in found for place in range(row.first, row.last + 1)] == [each.position for each in told]
    assert [each.position for each in told] == list(range(1, len(told) + 1))
    return told


def delta(text: str, id: str = "t1-0") -> SegmentEvent:
    return SegmentEvent(EventType.CONTENT, id, text)


_CALL = ToolInvocation("t1-1", "write", {"path": "a\u0000b", "n": 10**30}, 1, "call_1", '{"path": "a"}', ("mended",))
_ERROR = ErrorInfo("ProviderError", "it failed", "Try again.", {"status": 500, "body": {"a": [1, None]}})
_RESULT = ToolResult("t1-1", "write", "done", seconds=0.5, outcome="ok", media=(MediaPart("image/png", data="iVBO"),))
_OFFER = Offer(Rule(decision=Decision.ALLOW, tool=("write",), arguments={"path": ("a",)}), "write a")
_REQUEST = ApprovalRequest(
    id="t1-1",
    invocation=_CALL,
    risk="write",
    why="it writes",
    source="mode",
    shown='{"path": "a"}',
    fully_shown=True,
    preview="+a",
    warnings=("hidden",),
    parts=("write a",),
    offers=(_OFFER,),
    refusals=(_OFFER, _OFFER),
    cwd="/home/me/project",
    digest="d" * 64,
)
_START = SegmentEvent(EventType.START, "t1-1", segment_type=SegmentType.WRITE_FILE, tool_name="write")
_FIELDS = [FieldDelta(("files", 0, "content"), "tëxt\u202e\u2028", done=True)]

EVERY_KIND: list[AgentEvent] = [
    RunStarted("openai", "gpt", "api_tool_call", "s1"),
    TurnStarted(1),
    HistoryMoved(1, ["a picture is left out"]),
    HistoryCompacted(1, ["much"], 90, 10, 100),
    RequestRetried(1, 1, 0.5, _ERROR),
    ParserChanged(1, "xml", "it takes no tools"),
    ToolsChanged(1, [OfferedTool("write", "writes", {"type": "object"}, Risk.WRITE)], ["old"], ["a server is new"]),
    HookFailed("Watcher", _ERROR),
    _START,
    SegmentEvent(EventType.CONTENT, "t1-1", '{"pa', fields=_FIELDS),
    SegmentEvent(EventType.END, "t1-1", metadata={"arguments": {"path": "a", "deep": [{"n": 1.5}]}}),
    SegmentEvent(EventType.DONE, stop_reason=StopReason.TOOL_CALLS, usage=TokenUsage(3, 4)),
    SegmentEvent(EventType.ERROR, error=_ERROR),
    ApprovalAsked(1, "t1-1", _REQUEST),
    ApprovalAnswered(1, "t1-1", True, "person", Scope.SESSION, "why not"),
    ToolStarted(1, "t1-1", _CALL),
    ToolProgress(1, "t1-1", "half", 3),
    NestedEvent(1, "t1-1", RunStarted("openai", "gpt", "xml")),
    NestedEvent(1, "t1-1", delta("inside")),
    NestedEvent(1, "t1-1", NestedEvent(2, "t2-0", ApprovalAsked(1, "t1-1", _REQUEST))),
    ToolFinished(1, "t1-1", _RESULT),
    RunFinished("done", StopReason.STOP, 2, TokenUsage(1, 2, 3)),
    RunInterrupted(2, TokenUsage()),
    RunFailed(_ERROR, 2),
]
