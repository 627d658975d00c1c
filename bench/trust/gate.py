"""C3 and C5: a fault at any call inside policy denies; a call that was changed after approval is refused."""

from __future__ import annotations

import asyncio
import inspect
import random
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import Any

import msgspec

import toolwire.approval
from toolwire import Risk, ToolDefinition, ToolInvocation
from toolwire.approval.gate import Gate, Ticket
from toolwire.approval.places import Workspace
from toolwire.approval.policy import Policy
from toolwire.approval.request import Answer, ApprovalRequest, Scope
from toolwire.approval.rules import Decision, Rule
from toolwire.errors import TicketRefused

from . import Found

FOLDER = str(Path(toolwire.approval.__file__).parent)
SCHEMA = {"properties": {"command": {"type": "string"}, "path": {"type": "string"}, "n": {"type": "integer"}}}
RULES = (
    Rule(decision=Decision.ALLOW, tool=("note",), risk=("write",)),
    Rule(decision=Decision.ALLOW, command=("make test",)),
    Rule(decision=Decision.ALLOW, path=("docs/**",)),
    Rule(decision=Decision.DENY, command=("rm *",), path=("secrets/**",)),
    Rule(decision=Decision.ASK, arguments={"n": (7,)}),
)


def _tools() -> dict[str, ToolDefinition]:
    shell = ToolDefinition("shell", "runs", SCHEMA, Risk.EXECUTE, lambda _: "ok", command="command", shell="bash")
    write = ToolDefinition("write", "writes", SCHEMA, Risk.WRITE, lambda _: "ok", paths=("path",))
    note = ToolDefinition("note", "notes", SCHEMA, Risk.WRITE, lambda _: "ok")
    look = ToolDefinition("look", "looks", SCHEMA, Risk.READ, lambda _: "ok")
    return {tool.name: tool for tool in (shell, write, note, look)}


def _calls() -> list[tuple[str, dict[str, Any]]]:
    """Calls that run: allowed by a rule, by the mode, by a person."""
    return [
        ("look", {"n": 1}),
        ("note", {"n": 2}),
        ("write", {"path": "docs/a.md"}),
        ("write", {"path": "src/a.py"}),
        ("shell", {"command": "make test && make test"}),
        ("shell", {"command": "cat a.txt | wc -l"}),
        ("shell", {"command": "git push origin main"}),
        ("look", {"n": 7}),
    ]


async def _yes(request: ApprovalRequest) -> Answer:
    return Answer(allowed=True, scope=Scope.SESSION if request.offers else Scope.ONCE)


def _gate(trail: list[Any]) -> Gate:
    return Gate(_yes, policy=Policy("ask", RULES), workspace=Workspace("/"), audit=trail.append)


_START = 8
"""Bytes of a generator's code before its first own instruction."""


class Injected(Exception):
    """The fault."""


class _Fault:
    """Raises at the n-th call of any function in the approval folder; counts them all."""

    def __init__(self, at: int, error: Callable[[], BaseException]) -> None:
        self.calls = 0
        self.raised = False
        self._at = at
        self._error = error

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        # A generator is entered again to be closed, where nothing hears an error: only its start counts.
        again = code.co_flags & inspect.CO_GENERATOR and frame.f_lasti > _START
        if event == "call" and code.co_filename.startswith(FOLDER) and not again:
            self.calls += 1
            if self.calls == self._at:
                self.raised = True
                raise self._error()


ERRORS: tuple[Callable[[], BaseException], ...] = (Injected, MemoryError, RecursionError, TimeoutError)


def _try_call(name: str, arguments: dict[str, Any], fault: _Fault) -> str:
    """`ticket`, `denied`, or what came out instead."""
    tool = _tools()[name]
    gate = _gate([])
    call = ToolInvocation("c1", name, dict(arguments), 1, "c1", "{}")

    async def decide() -> Any:
        # Only what happens inside the gate: the loop's own machinery is not policy.
        sys.setprofile(fault)
        try:
            return await gate.decide(call, tool)
        finally:
            sys.setprofile(None)

    try:
        decision = asyncio.run(decide())
    except BaseException:
        return "raised"  # on the way into the gate: there is no ticket
    if not isinstance(decision, Ticket):
        return "denied"
    sys.setprofile(fault)
    try:
        gate.redeem(decision)
    except BaseException:
        return "refused"
    finally:
        sys.setprofile(None)
    return "ticket"


def faults_everywhere(count: int, seed: int) -> Found:
    """C3: for `count` places at random (0: for every one) in which a function of policy is entered, a fault there.

    The plan: every place of every call, some 30 seconds.
    """
    found = Found()
    chance = random.Random(seed)
    places = [(name, arguments, at) for name, arguments, total in _sizes(found) for at in range(1, total + 1)]
    for name, arguments, at in chance.sample(places, min(count, len(places))) if count else places:
        error = chance.choice(ERRORS)
        fault = _Fault(at, error)
        outcome = _try_call(name, arguments, fault)
        found.runs += fault.raised
        if fault.raised and outcome == "ticket":
            found.fault(f"{name} {arguments}: {error.__name__} at call {at}, and it runs")
    return found


def _sizes(found: Found) -> Iterator[tuple[str, dict[str, Any], int]]:
    for name, arguments in _calls():
        # Once before, so that what is remembered between calls is there in all of them.
        _try_call(name, arguments, _Fault(0, Injected))
        counted = _Fault(0, Injected)
        if _try_call(name, arguments, counted) != "ticket":
            found.fault(f"{name} {arguments} does not run without any fault")
        yield name, arguments, counted.calls


def changed_calls(count: int, seed: int) -> Found:
    """C5: `count` changes of one call after its approval, each somewhere else. The plan: 100,000, some 60 seconds."""
    found = Found()
    chance = random.Random(seed)
    tools = _tools()

    async def run() -> None:
        for _ in range(count):
            name, arguments = chance.choice(_calls())
            tool = tools[name]
            gate = _gate([])
            call = ToolInvocation("c1", name, dict(arguments), 1, "call_1", "{}")
            ticket = await gate.decide(call, tool)
            assert isinstance(ticket, Ticket)
            what = _change(ticket, gate, chance)
            found.runs += 1
            try:
                gate.redeem(ticket)
            except TicketRefused:
                continue
            found.fault(f"{name} {arguments}: {what} was changed, and it runs")

    asyncio.run(run())
    return found


def _change(ticket: Ticket, gate: Gate, chance: random.Random) -> str:
    call, tool = ticket.invocation, ticket.tool
    kind = chance.randrange(10)
    if kind == 0:
        ticket.invocation = msgspec.structs.replace(call, id=_text(call.id, chance))
    elif kind == 1:
        ticket.invocation = msgspec.structs.replace(call, call_id=_text(call.call_id, chance))
    elif kind == 2:
        ticket.invocation = msgspec.structs.replace(call, tool_name=_text(call.tool_name, chance))
    elif kind == 3:
        ticket.invocation = msgspec.structs.replace(call, turn=call.turn + chance.randint(1, 9))
    elif kind == 4:
        gate.workspace = Workspace("/", _text("/work", chance).replace("\0", "0"))
    elif kind == 5:
        gate.environment = {_text("PATH", chance): "/bin"}
    elif kind == 6:
        parts: list[dict[str, Any]] = [
            {"description": _text(tool.description, chance)},
            {
                "risk": chance.choice(
                    [risk for risk in (*Risk, None) if risk is not tool.risk and risk is not Risk.READ]
                )
            },
            {"timeout": chance.uniform(1, 9)},
            {"exclusive": not tool.exclusive},
            {"parameters": {"properties": {**SCHEMA["properties"], _text("n", chance): {}}}},
            {"call": lambda _: "other"},
        ]
        ticket.tool = replace(tool, **chance.choice(parts))
    elif kind == 7:
        ticket.digest = _text(ticket.digest, chance)
    else:
        _change_arguments(call.arguments, chance)
    return f"kind {kind}"


def _change_arguments(arguments: dict[str, Any], chance: random.Random) -> None:
    name = chance.choice(list(arguments))
    value = arguments[name]
    match chance.randrange(4):
        case 0:
            arguments[_text(name, chance)] = arguments.pop(name)
        case 1:
            arguments[_text("extra", chance)] = None
        case 2:
            del arguments[name]
        case _:
            other = [float(value), str(value), bool(value), value + 1] if isinstance(value, int) else [[value], None]
            arguments[name] = _text(value, chance) if isinstance(value, str) else chance.choice(other)


def _text(text: str, chance: random.Random) -> str:
    """The text with one character changed, added, taken away or doubled."""
    place = chance.randrange(len(text) + 1)
    char = chance.choice("aZ0 /\0\n\u200b\u202eé\U0001f600")
    changed = chance.choice([text[:place] + char + text[place:], text[:place] + char + text[place + 1 :], text[:-1]])
    return changed if changed != text else text + char
