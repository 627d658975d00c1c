"""What an agent lets the servers of its tools ask for, and nothing else."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from contextvars import ContextVar
from typing import Any, Protocol

import msgspec

from ..approval.gate import Gate
from ..approval.request import Answer, ApprovalRequest
from ..messages import Message


class Sampling(msgspec.Struct, frozen=True, kw_only=True):
    """A server wants the model's answer to these messages."""

    messages: Sequence[Message]
    system: str = ""
    max_tokens: int
    temperature: float | None = None
    stop: Sequence[str] = ()


class Sampled(msgspec.Struct, frozen=True):
    """What the model said."""

    text: str
    model: str
    stop_reason: str
    """`endTurn`, `stopSequence` or `maxTokens`, as MCP has it."""


FillIn = Callable[[str, str, dict[str, Any]], Awaitable[dict[str, Any] | None]]
"""Has a person fill in a form: the server's name, its message, the JSON Schema of an object with plain values. Gives
the object, or None where the person does not want to."""


class Host(Protocol):
    """The agent, as servers may use it. Everything that goes through here has passed its gate before."""

    @property
    def gate(self) -> Gate:
        """Who decides, by the same rules as for calls."""
        ...

    @property
    def run(self) -> int:
        """Which run of the agent goes on: what is allowed so often in one run is counted by it."""
        ...

    async def sample(self, request: Sampling) -> Sampled:
        """Asks the agent's model, without tools."""
        ...

    def asked(self, request: ApprovalRequest) -> None:
        """Tells whoever watches that a question waits."""
        ...

    def answered(self, request: ApprovalRequest, answer: Answer) -> None:
        """And that it was answered."""
        ...


HOST: ContextVar[Host | None] = ContextVar("toolwire-host", default=None)
"""The agent whose call runs here: several may share a server, and it may ask the one alone that it works for."""
