"""What is known of durable runs, as data: what was asked for, how it stands, what happened, who works."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import msgspec

from ..agent.bounds import Bounds
from ..agent.events import AgentEvent
from ..agent.sessions.entries import as_unicode
from ..approval.request import Answer, ApprovalRequest
from ..chunks import TokenUsage
from ..errors import ErrorInfo
from ..messages import Message

FORMAT = 1
"""Of everything that is written for a run. A run is worked on by programs of its own format alone."""
DEFAULT_QUEUE = "toolwire"


class RunState(StrEnum):
    """How a run stands."""

    QUEUED = "queued"
    """It waits for a worker."""
    RUNNING = "running"
    WAITING = "waiting"
    """For a person, or for runs that it started; no worker holds it."""
    PAUSED = "paused"
    """Someone paused it; `resume` goes on."""
    FINISHED = "finished"
    FAILED = "failed"
    """It could not go on; `resume` tries again where it failed."""
    CANCELLED = "cancelled"
    REFUSED = "refused"
    """The worker that took it cannot work on it: another version, an agent that it does not have."""

    @property
    def is_over(self) -> bool:
        """Whether nothing more happens unless someone wants it."""
        return self in _OVER


_OVER = frozenset({RunState.FINISHED, RunState.FAILED, RunState.CANCELLED, RunState.REFUSED})


class RunSpec(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a run is to do. It is all that a worker gets: nothing in it is code, and no key is."""

    prompt: Message
    agent: str = "toolwire"
    """Which of the worker's agents."""
    options: dict[str, Any] = {}
    """For that agent alone to understand."""
    history: list[Message] = []
    """The conversation before."""
    turn: int = 0
    """How many requests that conversation had."""
    bounds: Bounds | None = None
    """Without one, the agent's own."""


class RunInfo(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How a run stands."""

    id: str
    title: str
    """The beginning of its question."""
    state: RunState
    agent: str
    queue: str = DEFAULT_QUEUE
    priority: int = 0
    """The lower, the sooner."""
    created: float
    """Seconds since 1970, as all times here."""
    started: float | None = None
    updated: float
    ended: float | None = None
    deadline: float | None = None
    """When it is ended as failed, if it is not over by then."""
    attempt: int = 0
    """Grows whenever the run changes hands, or is stopped."""
    begins: int = 0
    """How often a worker has begun or taken up work on it."""
    worker: str = ""
    """Who works on it now."""
    position: int = 0
    """Of its last event."""
    questions: int = 0
    """How many wait for an answer."""
    turns: int = 0
    usage: TokenUsage = TokenUsage()
    text: str = ""
    """The answer of a run that has finished."""
    error: ErrorInfo | None = None
    """Why it failed, or was refused."""
    parent: str = ""
    """The run that started it."""
    forked: str = ""
    """The run that it was forked from."""
    format: int = FORMAT
    agent_version: str = ""
    """Of the agent when the run began."""


class AttemptWithdrawn(msgspec.Struct, frozen=True, tag="attempt_withdrawn", tag_field="type"):
    """A worker was lost in the middle: what it told of this turn, or of this call of it, is void from here on.

    The same is done, and told, again. Whoever has not shown those events yet never sees them.
    """

    turn: int
    id: str
    """The call; empty: the answer of the turn."""
    attempt: int
    """Whose events are void."""
    first: int
    """The position of the first of them."""


class RunEvent(msgspec.Struct, frozen=True):
    """One event of a run. Positions of a run are 1, 2, 3 …; each is told once, in this order."""

    position: int
    attempt: int
    turn: int
    """0: before the first."""
    id: str
    """The call that it belongs to; empty: it belongs to the turn."""
    event: AgentEvent | AttemptWithdrawn
    at: float = 0.0


class Question(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a run waits for a person for."""

    run: str
    id: str
    """Of the call that asks."""
    turn: int
    digest: str
    """Of the exact call, for which alone an answer holds."""
    asked: float
    request: ApprovalRequest | None = None
    """A call that wants to run; else the model's own question."""
    question: str = ""
    options: list[str] = []
    answered: float | None = None
    answer: Answer | None = None
    reply: str | None = None


class StepInfo(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One step of a run that is done, or was begun."""

    number: int
    """As `fork` takes it."""
    name: str
    """`answer 3` or `call 3 write_file t3-1`."""
    seconds: float | None = None
    error: str = ""


class WorkerInfo(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One worker process, from its start to its end."""

    id: str
    host: str
    pid: int
    queues: list[str]
    agents: list[str]
    started: float
    beat: float
    """When it last said that it lives."""
    state: str
    """`alive`, `draining`, `ended`, or `lost`: it said nothing for too long, and its runs were taken over."""
    format: int = FORMAT
    running: int = 0
    """How many runs it works on."""


def to_json(value: Any) -> str:
    """The value as it is written. What is no Unicode in it, as in names of files that are none, is spelled out."""
    try:
        return msgspec.json.encode(value, enc_hook=str).decode()
    except UnicodeEncodeError:
        return msgspec.json.encode(spelled_out(msgspec.to_builtins(value, enc_hook=str, str_keys=True))).decode()


def to_text(text: str) -> str:
    """The text as a column can hold it: no database takes all that a model can say."""
    return as_unicode(text).replace("\0", "\N{REPLACEMENT CHARACTER}")


def spelled_out(value: Any) -> Any:
    """The value with every text in it made Unicode."""
    if isinstance(value, str):
        return as_unicode(value)
    if isinstance(value, dict):
        return {as_unicode(name): spelled_out(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [spelled_out(each) for each in value]
    return value
