"""`ToolInvocation` and the one adapter that makes it.

Law 2, no half call runs, is kept here and nowhere else: `ToolInvocationAdapter.admit` is the single way out of a
stream. A call becomes an invocation only when it has ended, the stream has reached its proper end with a stop reason
that allows calls, its arguments are strict JSON and the tool's schema accepts them. Everything else is a `problem`: one
sentence for the person and the model.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import msgspec

from ..chunks import RUNNABLE_STOPS, StopReason
from ..limits import DEFAULT_LIMITS, Limits
from ..providers.strict_schema import without_added_nulls
from ..strict_json import NotStrict, parse_arguments

if TYPE_CHECKING:
    from ..tools.registry import ToolRegistry


class ToolInvocation(msgspec.Struct, frozen=True):
    """A call that may be put before the gate. `id` equals the id of its segment; `call_id` is the provider's own."""

    id: str
    tool_name: str
    arguments: dict[str, Any]
    turn: int = 0
    call_id: str = ""
    raw_arguments: str = ""
    repairs: tuple[str, ...] = ()
    """What was mended in the call, where that was asked for: it is then the reader's guess, and asks before it runs."""


def requested(id: str, tool_name: str, arguments: dict[str, Any], turn: int = 0) -> ToolInvocation:
    """A call that came whole in one message, and not in a stream: what an MCP client or server asks for.

    Its arguments were read as JSON and checked by the tool's schema before.
    """
    raw = msgspec.json.encode(arguments).decode()
    return ToolInvocation(id, tool_name, arguments, turn, raw_arguments=raw)


class ArrivedCall:
    """A call as it arrived, for `admit`: what the handler knows when the stream has ended."""

    __slots__ = (
        "arguments",
        "call_id",
        "choice",
        "ended",
        "name",
        "problem",
        "raw",
        "repairs",
        "repeats",
        "segment_id",
    )

    def __init__(self, choice: int) -> None:
        self.choice = choice
        self.segment_id = ""
        self.call_id = ""
        self.name = ""
        self.raw = ""
        self.ended = False
        self.arguments: dict[str, Any] | None = None
        self.problem = ""
        self.repairs: tuple[str, ...] = ()
        self.repeats = ""
        """The segment id of the call that this one says once more, in another way."""

    @property
    def meaning(self) -> tuple[str, str]:
        """The tool and its arguments, for comparing: equal for calls that say the same."""
        return self.name, _exact(self.arguments)


class ToolInvocationAdapter:
    """Reads the arguments of ended calls and admits the calls of a stream that has properly ended.

    Without `tools` (None) names and schemas are not checked: for looking at recordings, never for running. `strict`
    says that the model was given the tools in OpenAI's strict form, in which it writes null for what it leaves out.
    """

    def __init__(
        self,
        tools: ToolRegistry | None = None,
        *,
        limits: Limits = DEFAULT_LIMITS,
        turn: int = 0,
        strict: bool = False,
    ) -> None:
        self._tools = tools
        self._strict = strict
        self._limits = limits
        self._turn = turn
        self._admitted: dict[str, ToolInvocation] = {}
        self._told_names = False

    def reset(self) -> None:
        """Forgets the answer so far."""
        self._admitted.clear()
        self._told_names = False

    def read(self, call: ArrivedCall) -> None:
        """Sets `arguments` of an ended call, or `problem`."""
        if call.problem:
            return
        if not call.name:
            call.problem = "the call names no tool"
            return
        try:
            arguments = parse_arguments(call.raw, self._limits)
        except NotStrict as problem:
            call.problem = str(problem)
            return
        if self._tools is not None:
            tool = self._tools.get(call.name)
            if tool is None:
                call.problem = self._unknown_tool(call.name, self._tools)
                return
            if self._strict:
                arguments = without_added_nulls(tool.parameters, arguments)
            refused = tool.problem(arguments)
            if refused is not None:
                call.problem = f"the arguments do not fit {call.name}: {refused}"
                return
        call.arguments = arguments

    def _unknown_tool(self, name: str, tools: ToolRegistry) -> str:
        """Says what there is instead: once an answer, since looking for near names takes time and once is enough."""
        sentence = f"there is no tool {name[:64]!r}"
        if self._told_names:
            return sentence
        self._told_names = True
        near = tools.nearest(name)
        if near:
            return f"{sentence}; close to it: {', '.join(near)}"
        return f"{sentence}; known tools: {', '.join(tools.names[:20]) or 'none'}"

    def admit(self, call: ArrivedCall, stop_reason: StopReason | None) -> ToolInvocation | None:
        """The invocation for a call of a stream that ended with `stop_reason` (None: it did not end properly).

        When there is none, `call.problem` says why.
        """
        if call.choice != 0:
            call.problem = call.problem or f"it belongs to alternative {call.choice}; only the first is acted on"
        elif stop_reason is None:
            call.problem = call.problem or "the stream broke off before its end"
        elif stop_reason not in RUNNABLE_STOPS:
            call.problem = call.problem or stop_problem(stop_reason)
        elif not call.ended or call.arguments is None:
            call.problem = call.problem or "the call was not finished"
        elif call.repeats:
            call.problem = f"it repeats the call {call.repeats}, which runs once"
        if call.problem or call.arguments is None:
            return None
        first = self._admitted.get(call.call_id) if call.call_id else None
        if first is not None:
            same = first.tool_name == call.name and _exact(first.arguments) == _exact(call.arguments)
            call.problem = (
                f"it repeats the call {call.call_id}, which runs once"
                if same
                else f"the id {call.call_id} was already used for another call of this answer"
            )
            return None
        invocation = ToolInvocation(
            call.segment_id, call.name, call.arguments, self._turn, call.call_id, call.raw, call.repairs
        )
        if call.call_id:
            self._admitted[call.call_id] = invocation
        return invocation


def _exact(arguments: dict[str, Any] | None) -> str:
    """Arguments for comparing: true is not 1, and the order of names is nothing."""
    return json.dumps(arguments, sort_keys=True)


def stop_problem(reason: StopReason) -> str:
    """Why no call may run after this stop reason; empty when calls may."""
    if reason in RUNNABLE_STOPS:
        return ""
    return {
        StopReason.LENGTH: "the answer was cut by the token limit before the call was certainly complete",
        StopReason.CONTENT_FILTER: "the provider's content filter cut the answer",
        StopReason.REFUSAL: "the model refused",
        StopReason.PAUSE: "the provider paused the turn before the call was certainly complete",
        StopReason.ERROR: "the provider failed in the middle of the answer",
    }.get(reason, "the answer ended for a reason that is not known to leave calls complete")
