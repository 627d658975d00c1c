"""What an agent run tells, beside the `SegmentEvent`s of each answer. All of it goes to JSON."""

from __future__ import annotations

import msgspec

from ..chunks import StopReason, TokenUsage
from ..errors import ErrorInfo
from ..execution.executor import ToolResult
from ..stream.invocation import ToolInvocation
from ..stream.segments import SegmentEvent


class TurnStarted(msgspec.Struct, frozen=True, tag="turn_started", tag_field="type"):
    """A request goes to the model."""

    turn: int


class HistoryMoved(msgspec.Struct, frozen=True, tag="history_moved", tag_field="type"):
    """The conversation holds what this provider cannot take: in sentences, what goes to it otherwise or not at all.

    Comes with the first request that loses something, and again only when more is lost.
    """

    turn: int
    notes: list[str]


class ApprovalAsked(msgspec.Struct, frozen=True, tag="approval_asked", tag_field="type"):
    """A call waits for the person."""

    invocation: ToolInvocation
    risk: str


class ToolStarted(msgspec.Struct, frozen=True, tag="tool_started", tag_field="type"):
    """A call was approved and runs."""

    invocation: ToolInvocation


class ToolFinished(msgspec.Struct, frozen=True, tag="tool_finished", tag_field="type"):
    """A call has its result; also when it was denied or may not run."""

    turn: int
    result: ToolResult


class RunFinished(msgspec.Struct, frozen=True, tag="run_finished", tag_field="type"):
    """The model ended its turn. `str()` of it is the answer."""

    text: str
    stop_reason: StopReason
    turns: int
    usage: TokenUsage

    def __str__(self) -> str:
        return self.text


class RunFailed(msgspec.Struct, frozen=True, tag="run_failed", tag_field="type"):
    """The run could not go on; always the last event."""

    error: ErrorInfo
    turns: int


AgentEvent = (
    SegmentEvent | TurnStarted | HistoryMoved | ApprovalAsked | ToolStarted | ToolFinished | RunFinished | RunFailed
)
