"""The agent as the servers of its tools may use it: to ask its model, when its gate has let them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import aclosing
from contextvars import ContextVar
from functools import partial
from typing import Any

from ..approval.gate import Gate
from ..approval.request import Answer, ApprovalRequest
from ..chunks import StopReason, TokenUsage
from ..mcp.host import Sampled, Sampling
from ..messages import Message, system
from ..transport import HttpRequest
from .asking import Asking
from .calls import Calls
from .endpoint import Connection
from .events import ApprovalAnswered, ApprovalAsked, CallEvent

_STOPS = {StopReason.LENGTH: "maxTokens"}

BESIDE: ContextVar[bool] = ContextVar("toolwire-beside", default=False)
"""Whether a request that is sent here is one beside the conversation, of a server's own."""


class AgentHost:
    """`toolwire.mcp.host.Host` of one agent.

    `send` sends a request, `count` counts what an answer used up. Questions are told among the events of the calls that
    run, since a server asks while it works on one.
    """

    def __init__(
        self,
        gate: Gate,
        connection: Connection,
        send: Callable[[Callable[[], HttpRequest]], Asking],
        count: Callable[[list[Message], TokenUsage | None], None],
    ) -> None:
        self.gate = gate
        self._connection = connection
        self._send = send
        self._count = count
        self.run = 0
        """Which run goes on, counted from 1."""
        self.calls: Calls | None = None
        """The calls of the answer at hand, while they run."""

    async def sample(self, request: Sampling) -> Sampled:
        """The model's answer, without tools; raises the error of a request that failed."""
        messages = [*([system(request.system)] if request.system else []), *request.messages]
        options: dict[str, Any] = {"max_tokens": request.max_tokens}
        if request.temperature is not None:
            options["temperature"] = request.temperature
        asking = self._send(partial(self._connection.request, messages=messages, options=options))
        before = BESIDE.set(True)
        try:
            async with aclosing(asking.events()) as events:
                async for _ in events:
                    pass
        finally:
            BESIDE.reset(before)
        stream = asking.stream
        assert stream is not None, "an answer that ended was read"
        self._count([*messages, stream.message], stream.usage)
        if stream.error is not None:
            raise stream.error
        reason = _STOPS.get(stream.stop_reason or StopReason.STOP, "endTurn")
        return Sampled(stream.message.text, self._connection.model, reason)

    def asked(self, request: ApprovalRequest) -> None:
        """A question of a server waits. Told when it stands, so that whoever sees the event can answer it at once."""
        if self.calls is not None:
            event = ApprovalAsked(self.calls.turn, request.id, request)
            asyncio.get_running_loop().call_soon(self.calls.tell, event)

    def answered(self, request: ApprovalRequest, answer: Answer) -> None:
        """It was answered."""
        if self.calls is not None:
            turn = self.calls.turn
            self.tell(ApprovalAnswered(turn, request.id, answer.allowed, answer.who, answer.scope, answer.reason))

    def tell(self, event: CallEvent) -> None:
        """Tells an event among those of the calls that run, if any do."""
        if self.calls is not None:
            self.calls.tell(event)
