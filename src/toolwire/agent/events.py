"""What an agent run tells: the events of the stream, and around them turns, approvals, calls and the end.

Everything about one call carries its `turn` and its `id`, which is the id of the call's segment too. All of it goes
to JSON.
"""

from __future__ import annotations

from typing import Any

import msgspec

from ..approval.request import ApprovalRequest, Scope
from ..chunks import StopReason, TokenUsage
from ..errors import ErrorInfo
from ..execution.executor import ToolResult
from ..stream.invocation import ToolInvocation
from ..stream.segments import SegmentEvent
from ..tools.definition import Risk


class RunStarted(msgspec.Struct, frozen=True, tag="run_started", tag_field="type", omit_defaults=True):
    """A question goes to the agent; always the first event."""

    provider: str
    model: str
    parser: str
    """How calls are read: `api_tool_call`, the name of a text format, or both joined by `+`."""
    session: str = ""
    """The id of the session that this is written to."""


class TurnStarted(msgspec.Struct, frozen=True, tag="turn_started", tag_field="type"):
    """A request goes to the model."""

    turn: int


class HistoryMoved(msgspec.Struct, frozen=True, tag="history_moved", tag_field="type"):
    """The conversation holds what this provider cannot take: in sentences, what goes to it otherwise or not at all.

    Comes with the first request that loses something, and again only when more is lost.
    """

    turn: int
    notes: list[str]


class HistoryCompacted(msgspec.Struct, frozen=True, tag="history_compacted", tag_field="type"):
    """The conversation came near to what the model can read: in sentences, what of it is no longer sent."""

    turn: int
    notes: list[str]
    tokens_before: int
    tokens_after: int
    window: int
    """Tokens that the model can read."""


class RequestRetried(msgspec.Struct, frozen=True, tag="request_retried", tag_field="type"):
    """A request failed before anything of its answer came, and goes out again after a pause."""

    turn: int
    attempt: int
    """The one that failed, from 1."""
    seconds: float
    """The pause."""
    error: ErrorInfo


class ParserChanged(msgspec.Struct, frozen=True, tag="parser_changed", tag_field="type"):
    """The provider takes no tools: from now on the model is told of them in words and calls them in its text."""

    turn: int
    parser: str
    why: str


class OfferedTool(msgspec.Struct, frozen=True):
    """What the model is told of a tool, and its risk."""

    name: str
    description: str
    parameters: dict[str, Any]
    risk: Risk | None


class ToolsChanged(msgspec.Struct, frozen=True, tag="tools_changed", tag_field="type"):
    """What a source of tools (MCP servers) offers has become different, or there is something to know about it.

    A tool of which another word is said now is among `added` alone.
    """

    turn: int
    added: list[OfferedTool]
    removed: list[str]
    notes: list[str]
    """In sentences: a server that could not be started, a tool that was changed and is not offered until looked at."""


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


class NestedEvent(msgspec.Struct, frozen=True, tag="nested", tag_field="type"):
    """What happens in an agent that runs as a tool; `event` may be nested again. `turn` and `id` are of its call."""

    turn: int
    id: str
    event: AgentEvent


class HookFailed(msgspec.Struct, frozen=True, tag="hook_failed", tag_field="type"):
    """A hook failed at the event that comes next: it is told nothing more in this run, which goes on.

    Hooks are not told this one. What a hook may forbid, it is still asked about.
    """

    hook: str
    """The name of its class."""
    error: ErrorInfo


CallEvent = ApprovalAsked | ApprovalAnswered | ToolStarted | ToolProgress | ToolFinished | NestedEvent
"""What happens to one call. Calls of one answer run side by side, so that their events mix."""


class RunFinished(msgspec.Struct, frozen=True, tag="run_finished", tag_field="type"):
    """The model ended its turn. `str()` of it is the answer."""

    text: str
    stop_reason: StopReason
    turns: int
    usage: TokenUsage

    def __str__(self) -> str:
        return self.text


class RunInterrupted(msgspec.Struct, frozen=True, tag="run_interrupted", tag_field="type"):
    """Someone interrupted the run. The history holds what had been said and done, and the next run goes on from it."""

    turns: int
    usage: TokenUsage


class RunFailed(msgspec.Struct, frozen=True, tag="run_failed", tag_field="type"):
    """The run could not go on, or reached one of its bounds (`RunLimitReached`). The next run can go on from it."""

    error: ErrorInfo
    turns: int
    usage: TokenUsage = TokenUsage()


RunEnd = RunFinished | RunInterrupted | RunFailed
"""How a run ended: always its last event, and there is always one."""

AgentEvent = (
    SegmentEvent
    | RunStarted
    | TurnStarted
    | HistoryMoved
    | HistoryCompacted
    | RequestRetried
    | ParserChanged
    | ToolsChanged
    | HookFailed
    | CallEvent
    | RunEnd
)
