"""Whoever must be asked about a call is asked through the client that made it (MCP's elicitation).

Up to protocol 2025-11-25 the server sends the client a request while the call waits. From 2026-07-28 on it answers
the call with the question, and the client makes the call again with the answer: the decision waits here meanwhile,
under a mark that nobody can guess, and takes one answer for exactly the call that was asked about.
"""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

import mcp_types as types
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from ..approval.gate import Denial, Gate, Ticket
from ..approval.hidden import marked
from ..approval.request import Answer, ApprovalRequest, deny
from ..approval.shown import whole_text
from ..stream.invocation import ToolInvocation
from ..tasks import create_lazy_task
from ..tools.definition import ToolDefinition

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext

SHOWN_CHARACTERS = 100_000
"""Of a call's arguments: a client shows its person the question and nothing behind it, so that it must be all of them.
More than this nobody reads in a form."""
WAITING = 64
"""Questions that wait for a call to be made again. Of more, the oldest is taken back: its client does not answer."""
QUESTION = "approval"
"""The name under which the question goes out and the answer comes back."""

_FORM: dict[str, Any] = {
    "type": "object",
    "properties": {"run": {"type": "boolean", "title": "Run it?", "description": "Yes runs exactly this call, once."}},
    "required": ["run"],
}
_TOO_LONG = (
    "it needs approval, and its arguments are longer ({count:,} characters) than a person can be shown in a form "
    "({most:,}): {why}. Do it in smaller steps, or have whoever runs the server allow such calls"
)
_NOBODY = (
    "it needs approval, and this client cannot ask its person (it has no elicitation): {why}. Whoever runs the server "
    "can allow such calls with a rule (toolwire policy explain says which hold), or start it with another --mode"
)


class Questions:
    """Has people asked about calls, each through the client of its own call."""

    def __init__(self) -> None:
        self._askers: dict[str, Callable[[ApprovalRequest], Awaitable[Answer]]] = {}
        self._waiting: dict[str, _Waiting] = {}

    async def ask(self, request: ApprovalRequest) -> Answer:
        """For the gate: asks the client that made the call, if its person can be shown all of it."""
        asker = self._askers.get(request.id)
        if asker is None:
            return deny("its client is gone")
        count = len(whole_text(request.invocation.arguments))
        if count > SHOWN_CHARACTERS and asker is not _nobody:
            reason = _TOO_LONG.format(count=count, most=SHOWN_CHARACTERS, why=request.why.rstrip("."))
            return Answer(allowed=False, reason=reason, who="nobody")
        try:
            return await asker(request)
        except Exception as error:
            # Whoever waits for this may be gone, and nobody would take note of the fault.
            reason = f"asking for approval failed ({type(error).__name__})"
            return Answer(allowed=False, reason=reason, who="fault")

    async def decide(
        self, gate: Gate, invocation: ToolInvocation, tool: ToolDefinition, context: ServerRequestContext[Any, Any]
    ) -> Ticket | Denial | types.InputRequiredResult:
        """What the gate decides; or the question that the client is to bring back answered."""
        if not _can_ask(context):
            self._askers[invocation.id] = _nobody
        elif context.protocol_version not in MODERN_PROTOCOL_VERSIONS:
            self._askers[invocation.id] = lambda request: _elicit(context, request)
        else:
            return await self._decide_later(gate, invocation, tool)
        try:
            return await gate.decide(invocation, tool)
        finally:
            del self._askers[invocation.id]

    async def _decide_later(
        self, gate: Gate, invocation: ToolInvocation, tool: ToolDefinition
    ) -> Ticket | Denial | types.InputRequiredResult:
        waiting = _Waiting(invocation)
        self._askers[invocation.id] = waiting.ask
        deciding = waiting.deciding = create_lazy_task(gate.decide(invocation, tool))
        mark = secrets.token_urlsafe(32)

        def forget(_: object) -> None:
            self._askers.pop(invocation.id, None)
            self._waiting.pop(mark, None)

        deciding.add_done_callback(forget)
        try:
            first: set[asyncio.Future[Any]] = {deciding, waiting.asked}
            await asyncio.wait(first, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            deciding.cancel()
            raise
        if deciding.done():
            return deciding.result()
        while len(self._waiting) >= WAITING:
            self._waiting.pop(next(iter(self._waiting))).take_back()
        self._waiting[mark] = waiting
        params = types.ElicitRequestFormParams(message=question_text(waiting.asked.result()), requested_schema=_FORM)
        return types.InputRequiredResult(
            input_requests={QUESTION: types.ElicitRequest(params=params)}, request_state=mark
        )

    async def answered(self, params: types.CallToolRequestParams, arguments: dict[str, Any]) -> Ticket | Denial:
        """What the gate decides about a call that was made again, with the answer to its question."""
        waiting = self._waiting.pop(params.request_state or "", None)
        if waiting is None or waiting.deciding is None:
            return Denial("its question does not wait for an answer any more; make the call again")
        asked = waiting.invocation
        if waiting.answer.done():
            pass  # it was taken back just now, and is a no already
        elif (asked.tool_name, _exact(asked.arguments)) != (params.name, _exact(arguments)):
            waiting.answer.set_result(Answer(allowed=False, reason="it is not the call that was asked about", who=_WHO))
        else:
            given = (params.input_responses or {}).get(QUESTION)
            waiting.answer.set_result(_answer(given))
        return await waiting.deciding

    async def close(self) -> None:
        """Takes back all that waits."""
        left = [waiting.take_back() for waiting in self._waiting.values()]
        self._waiting.clear()
        if left:
            await asyncio.wait(left)


_WHO = "client"


def _exact(arguments: dict[str, Any]) -> str:
    """Arguments for comparing: true is not 1, and the order of names is nothing."""
    return json.dumps(arguments, sort_keys=True)


class _Waiting:
    """A decision that waits for a call to be made again."""

    def __init__(self, invocation: ToolInvocation) -> None:
        loop = asyncio.get_running_loop()
        self.invocation = invocation
        self.asked: asyncio.Future[ApprovalRequest] = loop.create_future()
        self.answer: asyncio.Future[Answer] = loop.create_future()
        self.deciding: asyncio.Task[Ticket | Denial] | None = None

    async def ask(self, request: ApprovalRequest) -> Answer:
        self.asked.set_result(request)
        return await self.answer

    def take_back(self) -> asyncio.Task[Ticket | Denial]:
        assert self.deciding is not None, "only what is being decided waits"
        self.deciding.cancel()
        return self.deciding


def _can_ask(context: ServerRequestContext[Any, Any]) -> bool:
    """Whether the client can show its person a form; one that says nothing of forms or addresses means forms."""
    capabilities = context.session.client_capabilities
    elicitation = None if capabilities is None else capabilities.elicitation
    return elicitation is not None and (elicitation.form is not None or elicitation.url is None)


async def _nobody(request: ApprovalRequest) -> Answer:
    return Answer(allowed=False, reason=_NOBODY.format(why=request.why.rstrip(".")), who="nobody")


async def _elicit(context: ServerRequestContext[Any, Any], request: ApprovalRequest) -> Answer:
    return _answer(
        await context.session.elicit_form(question_text(request), _FORM, related_request_id=context.request_id)
    )


def _answer(given: object) -> Answer:
    """Yes is an accepted form that says so. All else is no."""
    if not isinstance(given, types.ElicitResult):
        return Answer(allowed=False, reason="the question was not answered", who=_WHO)
    if given.action == "accept" and (given.content or {}).get("run") is True:
        return Answer(allowed=True, who=_WHO)
    reason = "the person did not answer" if given.action == "cancel" else "the person said no"
    return Answer(allowed=False, reason=reason, who=_WHO)


def question_text(request: ApprovalRequest) -> str:
    """The question as a person reads it: the exact arguments, what they would change, what to look out for."""
    lines = [
        f"Run the tool {request.invocation.tool_name} (risk: {request.risk}) in {marked(request.cwd)}?",
        f"It is asked because {marked(request.why)}.",
        "Arguments:",
        *(f"| {line}" for line in whole_text(request.invocation.arguments).split("\n")),
    ]
    lines += [f"Look out: {marked(warning)}" for warning in request.warnings]
    if request.preview:
        lines += ["What it would change:", *(f"| {line}" for line in request.preview.removesuffix("\n").split("\n"))]
    return "\n".join(lines)
