"""What an agent run tells: the events of the stream, and around them turns, approvals, calls and the end.

Everything about one call carries its `turn` and its `id`, which is the id of the call's segment too. All of it goes
to JSON.
"""

from __future__ import annotations

import msgspec

from ..approval.request import ApprovalRequest, Scope
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
    """A call waits for the person: `request` has what is shown, why it is asked and what may be kept."""

    turn: int
    id: str
    request: ApprovalRequest


class ApprovalAnswered(msgspec.Struct, frozen=True, tag="approval_answered", tag_field="type"):
    """Who answered (a person, a time-out, a fault …) and what. A yes can still be denied by a rule that came since."""

    turn: int
    id: str
    allowed: bool
    who: str
    scope: Scope = Scope.ONCE
    reason: str = ""


class ToolStarted(msgspec.Struct, frozen=True, tag="tool_started", tag_field="type"):
    """A call was approved and runs; `invocation` is what runs, with the person's arguments where they changed them."""

    turn: int
    id: str
    invocation: ToolInvocation


class ToolProgress(msgspec.Struct, frozen=True, tag="tool_progress", tag_field="type", omit_defaults=True):
    """What a running tool tells. `missed` were told before it and left out, because nobody took them in time."""

    turn: int
    id: str
    text: str
    missed: int = 0


class ToolFinished(msgspec.Struct, frozen=True, tag="tool_finished", tag_field="type"):
    """A call has its result; also when it was denied or may not run."""

    turn: int
    id: str
    result: ToolResult


CallEvent = ApprovalAsked | ApprovalAnswered | ToolStarted | ToolProgress | ToolFinished
"""What happens to one call. Calls of one answer run side by side, so that their events mix."""


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


AgentEvent = SegmentEvent | TurnStarted | HistoryMoved | CallEvent | RunFinished | RunFailed
