"""The gate: makes a `Ticket` for exactly one call, or says no.

Law 3, closed by default: what policy allows runs, what it denies does not, and everything else is asked; nobody to
ask, no answer in time, a fault anywhere on the way, or any answer but yes means no.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from contextvars import copy_context
from copy import deepcopy
from types import MappingProxyType
from typing import Any, NamedTuple

import msgspec

from ..errors import TicketRefused, ToolwireError
from ..stream.invocation import ToolInvocation
from ..tools.definition import Risk, ToolDefinition
from ..tools.running import CURRENT, Preview, RunningCall
from .audit import Audit, AuditRecord
from .hidden import marked
from .memory import Memory, offers_for, refusals_for
from .misreading import warnings
from .parts import argument, path_arguments
from .places import Workspace
from .policy import Policy, Verdict
from .request import Answer, ApprovalRequest, Ask, Scope
from .rules import Decision
from .run_files import changed, files_run, identities, programs_of
from .shown import show_arguments

ANSWER_SECONDS = 3600.0
"""How long a person is waited for. Whoever may be away for longer uses a durable run."""
LEAVE_SECONDS = 1.0
"""How long a question that was given up may take to leave."""
PREVIEW_SECONDS = 5.0
"""How long a tool may take to work out what it would change."""
PREVIEW_CHARACTERS = 20_000
"""How much of that is shown: more than anyone reads in a terminal."""
TICKET_SECONDS = 3600.0
"""How long a ticket is good: it may wait its turn behind calls that run alone."""


class Ticket:
    """Permission for the one call that it holds, bound to its digest. Made by a `Gate` alone, for itself alone."""

    __slots__ = ("digest", "edited", "invocation", "tool")

    def __init__(self, invocation: ToolInvocation, tool: ToolDefinition, digest: str, *, edited: bool) -> None:
        self.invocation = invocation
        self.tool = tool
        self.digest = digest
        self.edited = edited
        """The person changed the arguments: the model must be told which ran."""


class Bound(NamedTuple):
    """What a ticket is bound to."""

    digest: str
    files: dict[str, str]
    """What the files hold that the call runs, in the digest too: to say which of them was changed."""


class _Given(NamedTuple):
    """What the gate itself knows of a ticket that it gave out: nothing of it can be changed through the ticket."""

    bound: Bound
    tool: ToolDefinition
    expires: float
    seen: str


async def _ask(ask: Ask, request: ApprovalRequest) -> Any:
    return await ask(request)


def _forget(asking: asyncio.Task[Any]) -> None:
    """Takes note of how a question ended that nobody waits for any more, so that nothing complains of it."""
    if not asking.cancelled():
        asking.exception()


class Denial(msgspec.Struct, frozen=True):
    """No, and why, in a sentence that the model is shown."""

    reason: str


def bound_to(
    invocation: ToolInvocation, tool: ToolDefinition, workspace: Workspace, environment: Mapping[str, str]
) -> Bound:
    """What a ticket is bound to: the call's ids and exact arguments, the tool's whole definition, where it runs, where
    its paths lead, which files its programs are, and what the files hold that it runs.
    """
    files = identities(files_run(tool, invocation.arguments, workspace), workspace)
    bound = [
        invocation.id,
        invocation.call_id,
        invocation.turn,
        invocation.tool_name,
        invocation.arguments,
        tool.digest(),
        # A path need not be text; as bytes, any can be written down.
        [os.fsencode(root) for root in workspace.roots],
        os.fsencode(workspace.cwd),
        dict(environment),
        {given: os.fsencode(real) for given, real in real_paths(invocation, tool, workspace).items()},
        {name: os.fsencode(path) for name, path in programs_of(tool, invocation.arguments, workspace).items()},
        [(os.fsencode(path), held) for path, held in files.items()],
    ]
    return Bound(hashlib.sha256(msgspec.json.encode(bound, order="deterministic")).hexdigest(), files)


def real_paths(invocation: ToolInvocation, tool: ToolDefinition, workspace: Workspace) -> dict[str, str]:
    """Where the paths among the arguments lead, links followed, by how they are given."""
    given = [*path_arguments(tool, invocation.arguments), argument(tool, invocation.arguments, tool.folder)]
    return {path: workspace.place(path).real for path in given if isinstance(path, str) and "\0" not in path}


class Gate:
    """Decides each call and remembers the tickets it has given out.

    Without `ask` it is headless: what would be asked is denied, with a reason that the model sees. `environment` is
    what children of tools get; tickets are bound to it. Without `answer_seconds` a person is waited for without end.
    """

    def __init__(
        self,
        ask: Ask | None = None,
        *,
        policy: Policy | None = None,
        workspace: Workspace | None = None,
        environment: Mapping[str, str] | None = None,
        memory: Memory | None = None,
        audit: Audit | None = None,
        answer_seconds: float | None = ANSWER_SECONDS,
        ticket_seconds: float = TICKET_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._ask = ask
        self.policy = policy if policy is not None else Policy()
        self.workspace = workspace if workspace is not None else Workspace.here()
        self.environment: Mapping[str, str] = dict(environment or {})
        self._memory = memory
        self._audit = audit
        self._answer_seconds = answer_seconds
        self._ticket_seconds = ticket_seconds
        self._clock = clock
        self._given: dict[Ticket, _Given] = {}

    async def decide(
        self,
        invocation: ToolInvocation,
        tool: ToolDefinition,
        *,
        on_asked: Callable[[ApprovalRequest], None] | None = None,
        on_answered: Callable[[ApprovalRequest, Answer], None] | None = None,
    ) -> Ticket | Denial:
        """A ticket, or a denial. Raises only when it is cancelled; whatever else goes wrong is a denial."""
        try:
            return await self._decide(invocation, tool, on_asked, on_answered)
        except Exception as error:
            reason = f"deciding about it failed ({type(error).__name__})"
            try:
                self._write("denied", invocation, tool, "", why=reason, source="fault")
            except Exception:
                return Denial(f"{reason}, and the audit trail cannot be written")
            return Denial(reason)

    async def _decide(
        self,
        invocation: ToolInvocation,
        tool: ToolDefinition,
        on_asked: Callable[[ApprovalRequest], None] | None,
        on_answered: Callable[[ApprovalRequest, Answer], None] | None,
    ) -> Ticket | Denial:
        look = self._look()
        bound = bound_to(invocation, tool, look, self.environment)
        digest = bound.digest
        verdict = self.judge(invocation, tool, look)
        if verdict.decision is Decision.ALLOW:
            self._write("allowed", invocation, tool, digest, why=verdict.why, source=verdict.source)
            return self._ticket(invocation, tool, bound)
        if verdict.decision is not Decision.ASK:
            self._write("denied", invocation, tool, digest, why=verdict.why, source=verdict.source)
            return Denial(f"it is denied: {verdict.why}")
        if self._ask is None:
            self._write("denied", invocation, tool, digest, why=verdict.why, source=verdict.source, who="nobody")
            return Denial(f"it needs approval, and nobody is there to ask: {verdict.why}")
        preview = await self._preview(invocation, tool, look)
        request = self._request(invocation, tool, digest, verdict, preview, look)
        self._write("asked", invocation, tool, digest, why=verdict.why, source=verdict.source)
        if on_asked is not None:
            on_asked(request)
        try:
            answer = await self._answer(self._ask, request)
        except asyncio.CancelledError:
            with suppress(Exception):
                self._write("denied", invocation, tool, digest, why="the question was taken back")
            raise
        if on_answered is not None:
            on_answered(request, answer)
        return self._take(answer, request, tool, bound, preview.state)

    def _take(
        self, answer: Answer, request: ApprovalRequest, tool: ToolDefinition, bound: Bound, seen: str
    ) -> Ticket | Denial:
        """What becomes of the call with this answer."""
        invocation, digest = request.invocation, bound.digest
        look = self._look()
        if not answer.allowed:
            reason = answer.reason or "the person said no"
            why = reason if answer.scope == Scope.ONCE else f"{reason} ({answer.scope})"
            self._write("denied", invocation, tool, digest, why=why, source=request.source, who=answer.who)
            self._keep(answer, request)
            return Denial(reason if answer.who != "person" or not answer.reason else f"the person said no: {reason}")
        if answer.arguments is not None:
            invocation = msgspec.structs.replace(
                invocation,
                arguments=answer.arguments,
                raw_arguments=msgspec.json.encode(answer.arguments).decode(),
            )
            problem = tool.problem(invocation.arguments)
            if problem is not None:
                return self._deny(invocation, tool, answer, f"the changed arguments do not fit: {problem}")
            bound = bound_to(invocation, tool, look, self.environment)
            seen = ""
        elif bound != (now_bound := bound_to(invocation, tool, look, self.environment)):
            files = changed(bound.files, now_bound.files, look)
            why = f"{files}, which it runs, was changed while the person was asked; make the call again to ask anew"
            return self._deny(
                invocation, tool, answer, why if files else "the call was changed while the person was asked"
            )
        else:
            self._keep(answer, request)
        # Rules may have come while the person thought, and changed arguments were not judged before.
        now = self.judge(invocation, tool, look)
        if now.decision is Decision.DENY:
            return self._deny(invocation, tool, answer, f"it is denied: {now.why}")
        self._write("approved", invocation, tool, bound.digest, why=answer.scope, source=request.source, who=answer.who)
        return self._ticket(invocation, tool, bound, edited=answer.arguments is not None, seen=seen)

    def _look(self) -> Workspace:
        """One look at the disk, with programs where children find them."""
        return self.workspace.looking_once(self.environment.get("PATH", ""))

    def judge(self, invocation: ToolInvocation, tool: ToolDefinition, look: Workspace | None = None) -> Verdict:
        """What policy says of the call. A repaired one is asked about at least: it is a reader's guess."""
        verdict = self.policy.judge(tool, invocation.arguments, look or self._look())
        if invocation.repairs and verdict.decision is Decision.ALLOW:
            return Verdict(Decision.ASK, "the call was malformed and was repaired")
        return verdict

    def redeem(self, ticket: Ticket) -> RunningCall:
        """Takes the ticket, once, and gives what the call may know of where it runs.

        Raises `TicketRefused` unless it permits exactly the call that it holds now.
        """
        call = ticket.invocation
        given = self._given.pop(ticket, None)
        if given is None:
            raise TicketRefused("this ticket was used already or never given out", call=call.id)
        # What the call may open is what this one look at the disk found, and it is what was approved.
        look = self._look()
        bound = bound_to(call, given.tool, look, self.environment)
        if not (ticket.tool is given.tool and ticket.digest == given.bound.digest == bound.digest):
            files = changed(given.bound.files, bound.files, look)
            if files:
                raise TicketRefused(f"{files}, which it runs, was changed after it was approved", call=call.id)
            raise TicketRefused("the call is not the one that was approved", call=call.id)
        if self._clock() > given.expires:
            raise TicketRefused("the approval of this call has expired", call=call.id)
        self._write("started", call, given.tool, bound.digest)
        return self._running(call, given.tool, look, given.seen)

    def give_back(self, ticket: Ticket) -> None:
        """Forgets a ticket that nobody will use: its call was given up before its turn. One that was used is forgotten
        already."""
        self._given.pop(ticket, None)

    def finished(self, ticket: Ticket, outcome: str) -> None:
        """Writes down how a call ended whose ticket was redeemed."""
        self._write("finished", ticket.invocation, ticket.tool, ticket.digest, outcome=outcome)

    def _running(
        self, invocation: ToolInvocation, tool: ToolDefinition, look: Workspace, seen: str = ""
    ) -> RunningCall:
        real = real_paths(invocation, tool, look)
        return RunningCall(
            id=invocation.id,
            tool=tool.name,
            cwd=self.workspace.cwd,
            environment=MappingProxyType(dict(self.environment)),
            report=lambda _: None,
            roots=self.workspace.roots,
            real=MappingProxyType(real),
            is_closed=self._closing(tool, real),
            seen=seen,
            hidden=self.workspace.hidden.paths,
        )

    def _closing(self, tool: ToolDefinition, real: dict[str, str]) -> Callable[[str], bool]:
        """What the call leaves out where it looks through folders. A hidden file that was asked for to be read is not,
        since that was approved.
        """
        hidden = self.workspace.hidden
        is_hidden = hidden.watch(filter(hidden.hides, real.values()) if tool.risk is Risk.READ else ())
        return lambda path: is_hidden(path) or self.policy.closes(tool, path, self.workspace)

    async def _preview(self, invocation: ToolInvocation, tool: ToolDefinition, look: Workspace) -> Preview:
        """What the call would change, where its tool can tell; a fault or a delay there is told in its place."""
        if tool.preview is None:
            return Preview("")
        context = copy_context()
        context.run(CURRENT.set, self._running(invocation, tool, look))
        looking = asyncio.get_running_loop().run_in_executor(
            None, context.run, tool.preview, deepcopy(invocation.arguments)
        )
        try:
            # Not `wait_for`: in Python 3.11 that swallows a cancellation which comes as the preview does.
            async with asyncio.timeout(PREVIEW_SECONDS):
                preview = await looking
        except ToolwireError as error:
            return Preview(f"It would fail: {error}")
        except Exception as error:
            return Preview(f"What it would change cannot be shown ({type(error).__name__}).")
        text, more = preview.text[:PREVIEW_CHARACTERS], len(preview.text) - PREVIEW_CHARACTERS
        shown = "\n".join(map(marked, text.split("\n")))
        return Preview(f"{shown}\n… {more:,} more characters" if more > 0 else shown, preview.state)

    def _ticket(
        self, invocation: ToolInvocation, tool: ToolDefinition, bound: Bound, *, edited: bool = False, seen: str = ""
    ) -> Ticket:
        now = self._clock()
        for expired in [known for known, given in self._given.items() if given.expires < now]:
            del self._given[expired]
        ticket = Ticket(invocation, tool, bound.digest, edited=edited)
        self._given[ticket] = _Given(bound, tool, now + self._ticket_seconds, seen)
        return ticket

    def _request(
        self,
        invocation: ToolInvocation,
        tool: ToolDefinition,
        digest: str,
        verdict: Verdict,
        preview: Preview,
        look: Workspace,
    ) -> ApprovalRequest:
        shown = show_arguments(invocation.arguments)
        verdicts = self.policy.judge_parts(tool, invocation.arguments, look)
        offers = offers_for(invocation, tool, verdicts, look) if shown.complete else ()
        return ApprovalRequest(
            id=invocation.id,
            invocation=invocation,
            risk=tool.risk or "unknown",
            why=verdict.why,
            source=verdict.source,
            shown=shown.text,
            fully_shown=shown.complete,
            preview=preview.text,
            warnings=tuple(warnings(invocation.arguments)),
            parts=tuple(str(each.part) for each in verdicts if each.part is not None),
            offers=offers,
            refusals=refusals_for(tool, invocation.arguments, verdicts, look, offers),
            cwd=self.workspace.cwd,
            digest=digest,
        )

    async def _answer(self, ask: Ask, request: ApprovalRequest) -> Answer:
        """The person's answer; no answer in time and a fault while asking are a no."""
        asking: asyncio.Task[Any] = asyncio.ensure_future(_ask(ask, request))
        try:
            await asyncio.wait({asking}, timeout=self._answer_seconds)
            in_time = asking.done()
        finally:
            asking.add_done_callback(_forget)
            if not asking.done():
                # It may have a screen to tidy up; one that does not end is left alone, and its answer with it.
                asking.cancel()
                await asyncio.wait({asking}, timeout=LEAVE_SECONDS)
        if not in_time:
            return Answer(allowed=False, reason=f"nobody answered within {self._answer_seconds:g} s", who="time-out")
        if asking.cancelled():
            return Answer(allowed=False, reason="the question was taken back", who="fault")
        error = asking.exception()
        if error is not None:
            return Answer(allowed=False, reason=f"asking for approval failed ({type(error).__name__})", who="fault")
        answer = asking.result()
        if isinstance(answer, Answer) and answer.allowed in (True, False):
            return answer
        return Answer(allowed=answer is True)

    def _keep(self, answer: Answer, request: ApprovalRequest) -> None:
        """Makes a rule of an answer that holds for longer than once. A fault here is a denial."""
        scope = Scope(answer.scope)
        if scope is Scope.ONCE:
            return
        if answer.offer < 0:
            raise IndexError("there is no such offer")
        chosen = (request.offers if answer.allowed else request.refusals)[answer.offer]
        rule = msgspec.structs.replace(chosen.rule, source=f"{scope} decision")
        if scope is Scope.ALWAYS:
            if self._memory is None:
                raise ValueError("there is nowhere to keep decisions")
            self._memory.save(rule, self.workspace)
        self.policy.remember(rule)

    def _deny(self, invocation: ToolInvocation, tool: ToolDefinition, answer: Answer, reason: str) -> Denial:
        self._write("denied", invocation, tool, "", why=reason, source="gate", who=answer.who)
        return Denial(reason)

    def _write(
        self,
        event: str,
        invocation: ToolInvocation,
        tool: ToolDefinition,
        digest: str,
        *,
        why: str = "",
        source: str = "",
        who: str = "",
        outcome: str = "",
    ) -> None:
        if self._audit is None:
            return
        self._audit(
            AuditRecord(
                event=event,
                call=invocation.id,
                tool=tool.name,
                risk=tool.risk or "unknown",
                digest=digest,
                arguments=invocation.arguments if event in ("allowed", "asked", "denied", "approved") else None,
                cwd=self.workspace.cwd,
                why=why,
                source=source,
                who=who,
                outcome=outcome,
            )
        )
