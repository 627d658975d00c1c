"""What a run does that must not be done twice: one request to the model, one call of a tool. Each is a step.

An agent by itself does its steps at once. `toolwire.durable` keeps each of them: a step that was done is told from
what was kept, whatever happened to the process since.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Protocol

import msgspec

from ..chunks import StopReason, TokenUsage
from ..errors import ErrorInfo
from ..execution.executor import ToolResult
from ..messages import Message
from ..stream.invocation import ToolInvocation
from ..stream.segments import SegmentEvent
from ..tools.definition import ToolDefinition
from .events import RequestRetried

if TYPE_CHECKING:
    from ..stream.pipeline import Stream
    from .asking import Asking


class ModelAnswer(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What came of one request: all that the loop goes on from. It goes to JSON and comes back the same."""

    message: Message
    usage: TokenUsage | None = None
    stop_reason: StopReason | None = None
    invocations: list[ToolInvocation] = []
    """The calls that may run."""
    problems: dict[str, str] = {}
    """What is wrong with the others, by id."""
    mistake: str = ""
    """What the model is told of calls that it meant to make and nobody saw; empty where there are none."""
    error: ErrorInfo | None = None
    mended: bool = False
    """The provider refused what it had given to go back with its answers, so that it was left out."""


class Asked(Protocol):
    """A request on its way: `Asking`, or what stands around one."""

    stream: Stream | None
    """The answer as far as it has come; None where none comes."""

    def events(self) -> AsyncGenerator[SegmentEvent | RequestRetried, None]:
        """What the answer tells while it comes."""
        ...

    @property
    def answer(self) -> ModelAnswer:
        """What came of it, once its events have ended."""
        ...


class Steps(Protocol):
    """Who does the steps of one run. Calls of one answer come in their order, all before any of them is waited for."""

    def asking(self, turn: int, asking: Asking) -> Asked:
        """The request of this turn: sent, or told again."""
        ...

    async def call(
        self, call: ToolInvocation, tool: ToolDefinition, do: Callable[[], Awaitable[ToolResult]]
    ) -> ToolResult:
        """The result of a call: `do` asks whoever must be asked and runs it, unless that was done already."""
        ...

    def in_line(self, call: ToolInvocation) -> AbstractContextManager[None]:
        """Meanwhile the call was approved and waits for others to end before it can start."""
        ...

    async def starting(self, call: ToolInvocation, tool: ToolDefinition) -> None:
        """The call was approved and its tool is about to run: what is not written down now will not be known."""
        ...
