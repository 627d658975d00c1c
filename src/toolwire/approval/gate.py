"""The gate: makes a `Ticket` for exactly one call, or says no.

Law 3, closed by default: a tool whose risk is `read` runs; everything else, everything of unknown risk, and every call
that was repaired is asked; nobody to ask, a fault while asking, or any answer but yes means no.
"""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable

import msgspec

from ..errors import TicketRefused
from ..stream.invocation import ToolInvocation
from ..tools.definition import Risk, ToolDefinition

Ask = Callable[[ToolInvocation, ToolDefinition], Awaitable[bool]]
"""Asks the person about one call."""


class Ticket:
    """Permission for one call, bound to its digest. Made by a `Gate` alone; worth nothing to another gate."""

    __slots__ = ("digest", "invocation_id")

    def __init__(self, invocation_id: str, digest: str) -> None:
        self.invocation_id = invocation_id
        self.digest = digest


class Denial(msgspec.Struct, frozen=True):
    """No, and why, in a sentence that the model is shown."""

    reason: str


def call_digest(invocation: ToolInvocation, tool: ToolDefinition) -> str:
    """What a ticket is bound to: the call's ids and exact arguments, and the tool's whole definition."""
    bound = [
        invocation.id,
        invocation.call_id,
        invocation.turn,
        invocation.tool_name,
        invocation.arguments,
        tool.digest(),
    ]
    return hashlib.sha256(msgspec.json.encode(bound, order="deterministic")).hexdigest()


class Gate:
    """Decides each call and remembers the tickets it has given out."""

    def __init__(self, ask: Ask | None = None) -> None:
        self._ask = ask
        self._valid: dict[Ticket, str] = {}

    def needs_asking(self, tool: ToolDefinition, invocation: ToolInvocation) -> bool:
        """Whether this call of this tool is put to the person. A repaired one always is: it is a reader's guess."""
        return tool.risk is not Risk.READ or bool(invocation.repairs)

    async def decide(self, invocation: ToolInvocation, tool: ToolDefinition) -> Ticket | Denial:
        """A ticket, or a denial. Never raises for what the asking does, except when it is cancelled."""
        digest = call_digest(invocation, tool)
        if self.needs_asking(tool, invocation):
            if self._ask is None:
                what = "a call that was repaired" if invocation.repairs else "this tool"
                return Denial(f"{what} needs approval, and nobody is there to ask")
            try:
                answer = await self._ask(invocation, tool)
            except Exception as error:
                return Denial(f"asking for approval failed ({type(error).__name__})")
            if answer is not True:
                return Denial("the person said no")
        ticket = Ticket(invocation.id, digest)
        self._valid[ticket] = digest
        return ticket

    def redeem(self, ticket: Ticket, invocation: ToolInvocation, tool: ToolDefinition) -> None:
        """Takes the ticket for this call, once; raises `TicketRefused` unless it permits exactly this."""
        digest = self._valid.pop(ticket, None)
        if digest is None:
            raise TicketRefused("this ticket was used already or never given out", call=invocation.id)
        if digest != call_digest(invocation, tool) or ticket.digest != digest:
            raise TicketRefused("the call is not the one that was approved", call=invocation.id)
