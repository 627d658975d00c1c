"""`Hooks`: a program's own code at the places of a run where it may watch or say no.

What a hook can do is narrow a run, never widen it: a yes of a hook allows nothing that policy or a person would not,
and a hook that fails where it may say no has said it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from copy import deepcopy
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

from ..errors import ErrorInfo, ToolwireError, Vetoed
from ..execution.executor import ToolResult
from ..execution.results import error_words
from ..messages import Message
from ..redaction import Redactor
from ..stream.invocation import ToolInvocation
from ..tools.definition import ToolDefinition
from .events import AgentEvent, HookFailed, RunEnd

if TYPE_CHECKING:
    from .loop import Agent


class RunFacts(msgspec.Struct, frozen=True):
    """What hooks may know of a run before its first event, and its events do not tell."""

    server: str = ""
    """The host that requests go to; empty for the embedded model."""
    port: int = 0
    options: Mapping[str, Any] = {}
    """What goes to the encoder of the provider's wire: `max_tokens`, `temperature` …"""
    redactor: Redactor = Redactor()
    """Takes the agent's key, and those of the environment, out of what a hook writes down."""


NO_FACTS = RunFacts()


class Hooks:
    """Overwrite what you need. Hooks are called one after the other, in the order in which they were given.

    Each is waited for, however long it takes, and `Agent.interrupt` does not cut it short: whoever has much to do
    starts a task of their own. To call `Agent.interrupt` in a hook is allowed everywhere.
    """

    def of_run(self, facts: RunFacts) -> Hooks:
        """The hooks of one run, asked for when it begins: itself, or a new one where something is kept about each run.

        One `Hooks` may belong to many agents, which run at the same time.
        """
        return self

    async def on_run(self, agent: Agent, prompt: Message, tool_choice: str) -> None:
        """A question goes to the agent, and nothing is done about it yet. A fault ends the run: a `Vetoed` error."""

    async def on_event(self, event: AgentEvent) -> None:
        """Is told every event before whoever reads the run is; the last one, a `RunEnd`, also when nobody reads on.

        A hook that fails here is told nothing more in this run, which goes on; the reader gets a `HookFailed`. Events
        are shared with the agent and its reader, not copies: to be looked at.
        """

    async def before_request(self, turn: int, messages: Sequence[Message]) -> str | None:
        """A reason ends the run with a `Vetoed` error before the conversation is sent. A fault is a no.

        The messages are the agent's own, not copies: to be looked at.
        """
        return None

    async def before_call(self, invocation: ToolInvocation, tool: ToolDefinition) -> str | None:
        """A reason keeps the call from being put before the gate; the model is told it. A fault is a no.

        The invocation is a copy: nothing that is done to it changes what is judged and run.
        """
        return None

    def around_call(
        self, invocation: ToolInvocation, tool: ToolDefinition
    ) -> AbstractAsyncContextManager[object, bool | None]:
        """Is entered when an approved call is about to start, and left when it has ended, in one task: for tracing,
        locks, temporary state.

        Where it cannot be entered, the call is not run. Where leaving it fails, the result of the call stays and has a
        note; no exception can be swallowed here, least of all a cancellation.
        """
        return nullcontext()


class RunHooks:
    """The hooks of one run."""

    def __init__(self, hooks: Sequence[Hooks] = (), facts: RunFacts = NO_FACTS) -> None:
        self._facts = facts
        self._hooks: list[Hooks] = []
        self._missing = ""
        for each in hooks:
            try:
                self._hooks.append(each.of_run(facts))
            except Exception as error:
                self._missing = type(error).__name__
        self._listening = list(self._hooks)

    async def tell(self, event: AgentEvent) -> list[HookFailed]:
        """Tells those who listen; gives who failed, which is to be read before the event, since an end is the last."""
        failed: list[HookFailed] = []
        for each in list(self._listening):
            if isinstance(event, RunEnd):
                self._listening.remove(each)
            try:
                await each.on_event(event)
            except Exception as error:
                if each in self._listening:
                    self._listening.remove(each)
                words = self._facts.redactor.text(error_words(error))
                failed.append(HookFailed(type(each).__name__, ErrorInfo(type(error).__name__, words)))
        return failed

    async def leave(self, end: RunEnd) -> None:
        """Tells the end to those who were not told one: the reader left, or was cancelled while others were told.

        Everyone is told, also when this is cancelled in between.
        """
        cancelled: asyncio.CancelledError | None = None
        while self._listening:
            try:
                failed = await self.tell(end)
            except asyncio.CancelledError as error:
                cancelled = error
                continue
            for each in failed:
                # Nobody reads the run any more; this is where asyncio tells of faults that nobody waits for.
                words = f"a hook failed at the end of a run that was left: {each.hook}: {each.error.message}"
                asyncio.get_running_loop().call_exception_handler({"message": words})
        if cancelled is not None:
            raise cancelled

    async def on_run(self, agent: Agent, prompt: Message, tool_choice: str) -> None:
        """Raises `Vetoed` where a hook fails."""
        if self._missing:
            raise Vetoed(f"a hook could not begin ({self._missing})")
        for each in self._hooks:
            try:
                await each.on_run(agent, prompt, tool_choice)
            except ToolwireError:
                raise
            except Exception as error:
                raise Vetoed(f"a hook failed ({type(error).__name__})") from error

    async def before_request(self, turn: int, messages: Sequence[Message]) -> None:
        """Raises `Vetoed` where a hook does not let the conversation be sent, or fails."""
        refusal = await _refusal(partial(each.before_request, turn, messages) for each in self._hooks)
        if refusal:
            raise Vetoed(f"a hook does not let this be sent: {refusal}", turn=turn)

    async def before_call(self, invocation: ToolInvocation, tool: ToolDefinition) -> str:
        """Why a hook does not let the call be made; empty where all do."""
        refusal = await _refusal(partial(each.before_call, as_copy(invocation), tool) for each in self._hooks)
        return f"a hook does not let it: {refusal}" if refusal else ""

    async def around_call(
        self, invocation: ToolInvocation, tool: ToolDefinition, run: Callable[[], Awaitable[ToolResult]]
    ) -> ToolResult:
        """Runs an approved call inside what the hooks put around it."""
        entered: list[AbstractAsyncContextManager[object, bool | None]] = []
        result: ToolResult | None = None
        error: BaseException | None = None
        try:
            try:
                for each in self._hooks:
                    manager = each.around_call(as_copy(invocation), tool)
                    await manager.__aenter__()
                    entered.append(manager)
            except Exception as fault:
                raise Vetoed(f"a hook failed ({type(fault).__name__})", turn=invocation.turn) from fault
            result = await run()
        except BaseException as raised:
            error = raised
        notes = []
        for manager in reversed(entered):
            try:
                await manager.__aexit__(type(error) if error else None, error, error.__traceback__ if error else None)
            except Exception as fault:
                if fault is not error:
                    notes.append(f"a hook failed after the call ({type(fault).__name__})")
            except BaseException as raised:
                error = raised
        if error is not None:
            raise error
        assert result is not None, "a call that raised nothing gave a result"
        if notes:
            result = msgspec.structs.replace(result, note="; ".join([result.note, *notes] if result.note else notes))
        return result


async def _refusal(asked: Iterable[Callable[[], Awaitable[str | None]]]) -> str:
    """The first no, in words; empty where there is none. Anything but None is a no, and so is a fault."""
    for ask in asked:
        try:
            reason = await ask()
        except Exception as error:
            return f"it failed ({type(error).__name__})"
        if reason is not None:
            return str(reason) or "it says no"
    return ""


def as_copy(invocation: ToolInvocation) -> ToolInvocation:
    """The call for others to look at: what they do to its arguments changes nothing."""
    return msgspec.structs.replace(invocation, arguments=deepcopy(invocation.arguments))
