"""The gate: closed by default, and a ticket is good for exactly one call, once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest
from bench.trust import gate as proofs

from toolwire import Risk, ToolDefinition, ToolInvocation
from toolwire.approval.audit import AuditRecord
from toolwire.approval.gate import Denial, Gate, Ticket, bound_to
from toolwire.approval.places import Workspace
from toolwire.approval.policy import Policy
from toolwire.approval.request import Answer, ApprovalRequest, Ask, Offer, Scope, deny
from toolwire.approval.rules import Decision, Rule
from toolwire.errors import TicketRefused

CALL = ToolInvocation("c1", "f", {"path": "a", "n": [1, {"x": None}]}, 1, "c1", "{}")


def tool(risk: Risk | None, **members: Any) -> ToolDefinition:
    return ToolDefinition("f", "does", {"properties": {"path": {"type": "string"}}}, risk, lambda _: "ok", **members)


async def yes(request: ApprovalRequest) -> bool:
    return True


async def no(request: ApprovalRequest) -> bool:
    return False


async def fault(request: ApprovalRequest) -> bool:
    raise OSError("the screen is gone")


async def truthy(request: ApprovalRequest) -> Any:
    return "yes"


async def nothing(request: ApprovalRequest) -> Any:
    return None


async def half(request: ApprovalRequest) -> Any:
    return Answer(allowed="no")  # type: ignore[arg-type]


async def taken_back(request: ApprovalRequest) -> bool:
    raise asyncio.CancelledError


def not_even_async(request: ApprovalRequest) -> Any:
    return True


@pytest.mark.parametrize("risk", [*Risk, None])
@pytest.mark.parametrize("ask", [None, yes, no, fault, truthy, nothing, half, taken_back, not_even_async])
async def test_read_runs_and_everything_else_needs_a_yes(risk: Risk | None, ask: Ask | None) -> None:
    decision = await Gate(ask).decide(CALL, tool(risk))
    assert isinstance(decision, Ticket) is (risk is Risk.READ or ask is yes)
    if isinstance(decision, Denial):
        assert decision.reason


def answering(answer: Answer) -> Ask:
    async def ask(request: ApprovalRequest) -> Answer:
        return answer

    return ask


async def test_a_reason_reaches_the_model() -> None:
    decision = await Gate(answering(deny("use the other file"))).decide(CALL, tool(Risk.WRITE))
    assert decision == Denial("the person said no: use the other file")


async def test_headless_says_why() -> None:
    decision = await Gate().decide(CALL, tool(Risk.WRITE))
    assert isinstance(decision, Denial)
    assert "nobody is there to ask" in decision.reason
    assert "risk write" in decision.reason


async def test_a_rule_that_denies_is_not_asked_about() -> None:
    asked: list[str] = []

    async def ask(request: ApprovalRequest) -> bool:
        asked.append(request.id)
        return True

    policy = Policy("full", [Rule(decision=Decision.DENY, tool=("f",), reason="never this")])
    decision = await Gate(ask, policy=policy).decide(CALL, tool(Risk.READ))
    assert decision == Denial("it is denied: never this")
    assert asked == []


async def test_a_repaired_call_is_asked_about_whatever_allows_it() -> None:
    repaired = msgspec.structs.replace(CALL, repairs=("a comma was left out",))
    assert isinstance(await Gate(policy=Policy("full")).decide(repaired, tool(Risk.READ)), Denial)
    assert isinstance(await Gate(yes, policy=Policy("full")).decide(repaired, tool(Risk.READ)), Ticket)


async def test_no_answer_in_time_is_no() -> None:
    async def late(request: ApprovalRequest) -> bool:
        with suppress(asyncio.CancelledError):
            await asyncio.sleep(60)
        return True

    decision = await Gate(late, answer_seconds=0.01).decide(CALL, tool(Risk.WRITE))
    assert decision == Denial("nobody answered within 0.01 s")


async def test_a_question_that_never_ends_holds_nobody_up() -> None:
    released = asyncio.Event()

    async def stubborn(request: ApprovalRequest) -> bool:
        while not released.is_set():
            try:
                await released.wait()
            except asyncio.CancelledError:
                continue
        return True

    decision = await asyncio.wait_for(Gate(stubborn, answer_seconds=0.01).decide(CALL, tool(Risk.WRITE)), 30)
    assert isinstance(decision, Denial)
    released.set()


async def test_a_cancelled_question_is_no_answer() -> None:
    left: list[str] = []

    async def forever(request: ApprovalRequest) -> bool:
        try:
            await asyncio.sleep(60)
        finally:
            await asyncio.sleep(0)
            left.append("tidy")
        return True

    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01):
            await Gate(forever).decide(CALL, tool(Risk.WRITE))
    assert left == ["tidy"]


async def ticket(gate: Gate, definition: ToolDefinition, call: ToolInvocation = CALL) -> Ticket:
    decision = await gate.decide(call, definition)
    assert isinstance(decision, Ticket)
    return decision


async def test_a_ticket_is_good_once() -> None:
    gate = Gate()
    given = await ticket(gate, tool(Risk.READ))
    gate.redeem(given)
    with pytest.raises(TicketRefused, match="used already"):
        gate.redeem(given)


async def test_a_ticket_that_was_refused_is_used_up() -> None:
    gate, call = Gate(), ToolInvocation("c1", "f", {"path": "a"})
    given = await ticket(gate, tool(Risk.READ), call)
    call.arguments["path"] = "b"
    with pytest.raises(TicketRefused, match="not the one"):
        gate.redeem(given)
    call.arguments["path"] = "a"
    with pytest.raises(TicketRefused, match="used already"):
        gate.redeem(given)


async def test_a_ticket_of_another_gate_is_worth_nothing() -> None:
    gate, definition = Gate(), tool(Risk.READ)
    with pytest.raises(TicketRefused):
        Gate().redeem(await ticket(gate, definition))
    digest = bound_to(CALL, definition, gate.workspace, gate.environment).digest
    with pytest.raises(TicketRefused):
        gate.redeem(Ticket(CALL, definition, digest, edited=False))


async def test_a_ticket_expires() -> None:
    now = 0.0
    gate = Gate(clock=lambda: now, ticket_seconds=10)
    first, second = await ticket(gate, tool(Risk.READ)), await ticket(gate, tool(Risk.READ))
    now = 10.0
    gate.redeem(first)
    now = 10.1
    with pytest.raises(TicketRefused, match="expired"):
        gate.redeem(second)


async def test_tickets_that_were_never_used_are_forgotten_in_time() -> None:
    now = 0.0
    gate = Gate(clock=lambda: now, ticket_seconds=10)
    for _ in range(50):
        await ticket(gate, tool(Risk.READ))
        now += 1
    assert len(gate._given) <= 12


CHANGES: dict[str, dict[str, Any]] = {
    "id": {"id": "c2"},
    "provider's id": {"call_id": "c2"},
    "turn": {"turn": 2},
    "tool": {"tool_name": "g"},
    "an argument": {"arguments": {"path": "b", "n": [1, {"x": None}]}},
    "a nested argument": {"arguments": {"path": "a", "n": [1, {"x": 0}]}},
    "one argument more": {"arguments": {"path": "a", "n": [1, {"x": None}], "force": True}},
    "the type of an argument": {"arguments": {"path": "a", "n": ["1", {"x": None}]}},
    "a whole number for its fraction": {"arguments": {"path": "a", "n": [1.0, {"x": None}]}},
    "true for one": {"arguments": {"path": "a", "n": [True, {"x": None}]}},
}


@pytest.mark.parametrize("name", CHANGES)
async def test_a_changed_call_is_refused(name: str) -> None:
    gate = Gate()
    given = await ticket(gate, tool(Risk.READ))
    given.invocation = msgspec.structs.replace(CALL, **CHANGES[name])
    with pytest.raises(TicketRefused, match="not the one"):
        gate.redeem(given)


async def test_a_changed_definition_is_refused() -> None:
    gate, definition = Gate(), tool(Risk.READ)
    for other in (replace(definition, description="does more"), replace(definition, call=lambda _: "other")):
        given = await ticket(gate, definition)
        given.tool = other
        with pytest.raises(TicketRefused, match="not the one"):
            gate.redeem(given)


async def test_another_folder_or_environment_is_refused(tmp_path: Path) -> None:
    changes: list[Callable[[Gate], None]] = [
        lambda gate: setattr(gate, "workspace", Workspace(tmp_path, "/")),
        lambda gate: setattr(gate, "workspace", Workspace("/", tmp_path)),
        lambda gate: setattr(gate, "environment", {"PATH": "/tmp"}),
    ]
    for change in changes:
        gate = Gate(workspace=Workspace(tmp_path))
        given = await ticket(gate, tool(Risk.READ))
        change(gate)
        with pytest.raises(TicketRefused, match="not the one"):
            gate.redeem(given)


async def test_a_call_that_is_changed_while_the_person_thinks_is_denied() -> None:
    call = ToolInvocation("c1", "f", {"path": "a"})

    async def ask(request: ApprovalRequest) -> bool:
        call.arguments["path"] = "/etc/passwd"
        return True

    decision = await Gate(ask).decide(call, tool(Risk.WRITE))
    assert decision == Denial("the call was changed while the person was asked")


async def test_a_rule_that_comes_while_the_person_thinks_counts() -> None:
    policy = Policy()

    async def ask(request: ApprovalRequest) -> bool:
        policy.remember(Rule(decision=Decision.DENY, tool=("f",), reason="no more"))
        return True

    assert await Gate(ask, policy=policy).decide(CALL, tool(Risk.WRITE)) == Denial("it is denied: no more")


async def test_edited_arguments_have_a_ticket_of_their_own() -> None:
    gate = Gate(answering(Answer(allowed=True, arguments={"path": "b"})))
    given = await ticket(gate, tool(Risk.WRITE))
    assert given.edited
    assert given.invocation.arguments == {"path": "b"}
    assert given.invocation.raw_arguments == '{"path":"b"}'
    assert given.digest != bound_to(CALL, given.tool, gate.workspace, gate.environment).digest
    gate.redeem(given)


async def test_edited_arguments_are_checked_and_judged() -> None:
    wrong = Gate(answering(Answer(allowed=True, arguments={"path": 5})))
    decision = await wrong.decide(CALL, tool(Risk.WRITE))
    assert isinstance(decision, Denial)
    assert "path: 5 is not of type 'string'" in decision.reason
    rule = Rule(decision=Decision.DENY, arguments={"path": ("b",)}, reason="not b")
    denied = Gate(answering(Answer(allowed=True, arguments={"path": "b"})), policy=Policy("ask", [rule]))
    assert await denied.decide(CALL, tool(Risk.WRITE)) == Denial("it is denied: not b")


class Kept:
    """A memory that remembers, or fails."""

    def __init__(self, error: Exception | None = None) -> None:
        self.rules: list[Rule] = []
        self._error = error

    def save(self, rule: Rule, workspace: Workspace) -> None:
        if self._error is not None:
            raise self._error
        self.rules.append(rule)


@pytest.fixture
def offering(monkeypatch: pytest.MonkeyPatch) -> None:
    offer = Offer(Rule(decision=Decision.ALLOW, tool=("f",)), "all calls of f")
    monkeypatch.setattr("toolwire.approval.gate.offers_for", lambda *_: (offer,))


@pytest.mark.usefixtures("offering")
@pytest.mark.parametrize("scope", [Scope.SESSION, Scope.ALWAYS])
@pytest.mark.parametrize("allowed", [True, False])
async def test_an_answer_can_hold_for_longer(scope: Scope, allowed: bool) -> None:
    asked: list[str] = []

    async def ask(request: ApprovalRequest) -> Answer:
        asked.append(request.id)
        return Answer(allowed=allowed, scope=scope)

    memory = Kept()
    gate = Gate(ask, memory=memory)
    for _ in range(3):
        assert isinstance(await gate.decide(CALL, tool(Risk.WRITE)), Ticket) is allowed
    assert len(asked) == 1
    assert len(memory.rules) == (scope is Scope.ALWAYS)
    assert all(rule.decision is (Decision.ALLOW if allowed else Decision.DENY) for rule in memory.rules)


@pytest.mark.usefixtures("offering")
@pytest.mark.parametrize("memory", [None, Kept(OSError("the disk is full"))])
async def test_a_decision_that_cannot_be_kept_is_a_no(memory: Kept | None) -> None:
    gate = Gate(answering(Answer(allowed=True, scope=Scope.ALWAYS)), memory=memory)
    assert isinstance(await gate.decide(CALL, tool(Risk.WRITE)), Denial)
    assert gate.policy.rules == ()


async def test_what_was_not_offered_cannot_be_chosen() -> None:
    for offer in (0, 1, -1):
        gate = Gate(answering(Answer(allowed=True, scope=Scope.SESSION, offer=offer)))
        assert isinstance(await gate.decide(CALL, tool(Risk.DANGEROUS)), Denial)
        assert gate.policy.rules == ()


async def test_nothing_is_offered_for_what_is_not_fully_shown() -> None:
    seen: list[ApprovalRequest] = []

    async def ask(request: ApprovalRequest) -> bool:
        seen.append(request)
        return True

    gate = Gate(ask)
    await gate.decide(msgspec.structs.replace(CALL, arguments={"path": "x"}), tool(Risk.WRITE))
    await gate.decide(msgspec.structs.replace(CALL, arguments={"path": "x" * 100_000}), tool(Risk.WRITE))
    short, long = seen
    assert short.fully_shown
    assert short.offers
    assert not long.fully_shown
    assert long.offers == ()


async def test_everything_that_happens_is_written_down() -> None:
    trail: list[AuditRecord] = []
    gate = Gate(yes, audit=trail.append)
    given = await ticket(gate, tool(Risk.WRITE))
    gate.redeem(given)
    gate.finished(given, "ok")
    assert [record.event for record in trail] == ["asked", "approved", "started", "finished"]
    assert {record.digest for record in trail} == {given.digest}
    assert trail[0].arguments == CALL.arguments
    assert trail[1].who == "person"
    assert trail[3].outcome == "ok"
    trail.clear()
    await Gate(audit=trail.append).decide(CALL, tool(Risk.WRITE))
    assert [(record.event, record.who) for record in trail] == [("denied", "nobody")]


@pytest.mark.parametrize(("scope", "why"), [(Scope.ONCE, "not now"), (Scope.SESSION, "not now (session)")])
async def test_a_refusal_is_written_down_with_how_long_it_holds(scope: Scope, why: str) -> None:
    trail: list[AuditRecord] = []

    async def no(_: ApprovalRequest) -> Answer:
        return Answer(allowed=False, scope=scope, reason="not now")

    await Gate(no, audit=trail.append).decide(CALL, tool(Risk.WRITE))
    assert [(record.event, record.why) for record in trail[1:]] == [("denied", why)]


@pytest.mark.parametrize("good", range(3))
async def test_a_trail_that_cannot_be_written_denies(good: int) -> None:
    written: list[AuditRecord] = []

    def audit(record: AuditRecord) -> None:
        if len(written) == good:
            raise OSError("the disk is full")
        written.append(record)

    gate = Gate(yes, audit=audit)
    decision = await gate.decide(CALL, tool(Risk.WRITE))
    assert isinstance(decision, Ticket) is (good == 2)
    if isinstance(decision, Ticket):
        with pytest.raises(OSError, match="disk"):
            gate.redeem(decision)


def test_changed_calls_are_refused() -> None:
    found = proofs.changed_calls(800, seed=7)
    assert found.runs == 800
    assert not found.faults


def test_a_fault_anywhere_denies() -> None:
    found = proofs.faults_everywhere(60, seed=7)
    assert found.runs >= 60
    assert not found.faults


def test_the_proof_of_faults_would_see_a_gate_that_fails_open(monkeypatch: pytest.MonkeyPatch) -> None:
    judge = Gate.judge

    def open_judge(self: Gate, invocation: ToolInvocation, definition: ToolDefinition, look: Workspace) -> Any:
        try:
            return judge(self, invocation, definition, look)
        except Exception:
            from toolwire.approval.policy import Verdict

            return Verdict(Decision.ALLOW, "policy failed")

    monkeypatch.setattr(Gate, "judge", open_judge)
    assert proofs.faults_everywhere(400, seed=7).faults


async def test_a_cancel_is_a_cancel_also_where_the_trail_cannot_be_written() -> None:
    def audit(record: AuditRecord) -> None:
        if record.event == "denied":
            raise OSError("the disk is full")

    async def forever(request: ApprovalRequest) -> bool:
        await asyncio.sleep(60)
        return True

    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01):
            await Gate(forever, audit=audit).decide(CALL, tool(Risk.WRITE))
