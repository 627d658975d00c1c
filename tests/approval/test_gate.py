"""The gate: closed by default, and a ticket is good for exactly one call, once."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest

from toolwire import Risk, ToolDefinition, ToolInvocation
from toolwire.approval.gate import Ask, Denial, Gate, Ticket, call_digest
from toolwire.errors import TicketRefused

CALL = ToolInvocation("c1", "f", {"path": "a", "n": [1, {"x": None}]}, 1, "c1", "{}")


def tool(risk: Risk | None, **members: Any) -> ToolDefinition:
    return ToolDefinition("f", "does", {}, risk, lambda arguments: "ok", **members)


async def yes(call: ToolInvocation, tool: ToolDefinition) -> bool:
    return True


async def no(call: ToolInvocation, tool: ToolDefinition) -> bool:
    return False


async def fault(call: ToolInvocation, tool: ToolDefinition) -> bool:
    raise OSError("the screen is gone")


async def truthy(call: ToolInvocation, tool: ToolDefinition) -> Any:
    return "yes"


async def nothing(call: ToolInvocation, tool: ToolDefinition) -> Any:
    return None


@pytest.mark.parametrize("risk", [*Risk, None])
@pytest.mark.parametrize("ask", [None, yes, no, fault, truthy, nothing])
async def test_read_runs_and_everything_else_needs_a_yes(risk: Risk | None, ask: Ask | None) -> None:
    decision = await Gate(ask).decide(CALL, tool(risk))
    assert isinstance(decision, Ticket) is (risk is Risk.READ or ask is yes)
    if isinstance(decision, Denial):
        assert decision.reason


async def test_a_cancelled_question_is_no_answer() -> None:
    async def forever(call: ToolInvocation, tool: ToolDefinition) -> bool:
        await asyncio.sleep(60)
        return True

    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01):
            await Gate(forever).decide(CALL, tool(Risk.WRITE))


async def ticket(gate: Gate, definition: ToolDefinition) -> Ticket:
    decision = await gate.decide(CALL, definition)
    assert isinstance(decision, Ticket)
    return decision


async def test_a_ticket_is_good_once() -> None:
    gate, definition = Gate(), tool(Risk.READ)
    given = await ticket(gate, definition)
    gate.redeem(given, CALL, definition)
    with pytest.raises(TicketRefused, match="used already"):
        gate.redeem(given, CALL, definition)


async def test_a_ticket_of_another_gate_is_worth_nothing() -> None:
    definition = tool(Risk.READ)
    with pytest.raises(TicketRefused):
        Gate().redeem(await ticket(Gate(), definition), CALL, definition)
    with pytest.raises(TicketRefused):
        Gate().redeem(Ticket("c1", call_digest(CALL, definition)), CALL, definition)


CHANGES: dict[str, dict[str, Any]] = {
    "id": {"id": "c2"},
    "provider's id": {"call_id": "c2"},
    "turn": {"turn": 2},
    "tool": {"tool_name": "g"},
    "an argument": {"arguments": {"path": "b", "n": [1, {"x": None}]}},
    "a nested argument": {"arguments": {"path": "a", "n": [1, {"x": 0}]}},
    "one argument more": {"arguments": {"path": "a", "n": [1, {"x": None}], "force": True}},
    "the type of an argument": {"arguments": {"path": "a", "n": ["1", {"x": None}]}},
}


@pytest.mark.parametrize("name", CHANGES)
async def test_a_changed_call_is_refused(name: str) -> None:
    gate, definition = Gate(), tool(Risk.READ)
    given = await ticket(gate, definition)
    with pytest.raises(TicketRefused, match="not the one"):
        gate.redeem(given, msgspec.structs.replace(CALL, **CHANGES[name]), definition)


async def test_a_changed_definition_is_refused() -> None:
    gate = Gate()
    given = await ticket(gate, tool(Risk.READ))
    with pytest.raises(TicketRefused, match="not the one"):
        gate.redeem(given, CALL, ToolDefinition("f", "does more", {}, Risk.READ, lambda arguments: "ok"))


async def test_arguments_changed_in_place_after_approval_are_refused() -> None:
    gate, definition = Gate(), tool(Risk.READ)
    call = ToolInvocation("c1", "f", {"path": "a"})
    decision = await gate.decide(call, definition)
    assert isinstance(decision, Ticket)
    call.arguments["path"] = "/etc/passwd"
    with pytest.raises(TicketRefused):
        gate.redeem(decision, call, definition)
