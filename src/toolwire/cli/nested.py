"""What agents do that run as tools, a line each: whose it is, what they call, and what comes of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..agent.events import AgentEvent, NestedEvent, RunFailed, ToolFinished, ToolStarted
from .telling import call_words, event_words
from .visible import one_line

NESTED_CHARACTERS = 200
"""Of a call or a result of such an agent: the whole of it is the agent's own, and its answer is shown as a result."""


class NestedLine(NamedTuple):
    """One line for the screen: who, and what they do."""

    who: str
    mark: str
    text: str
    style: str = ""


def innermost(event: NestedEvent) -> AgentEvent:
    """The event itself, however deep the agent."""
    inner: AgentEvent = event
    while isinstance(inner, NestedEvent):
        inner = inner.event
    return inner


class NestedCalls:
    """The agents that run now, by the calls that they are, and the calls that they make."""

    def __init__(self) -> None:
        self._names: dict[tuple[str, ...], str] = {}

    def line(self, event: NestedEvent, name: str) -> NestedLine | None:
        """What is shown of the event; `name` is that of the call of the outermost agent. None: nothing."""
        path = tuple(_ids(event))
        inner = innermost(event)
        who = " › ".join([name, *(self._names.get(path[: depth + 1], "?") for depth in range(1, len(path)))])
        if isinstance(inner, ToolStarted):
            tool, arguments = call_words(inner.invocation.tool_name, inner.invocation.arguments)
            self._names[*path, inner.id] = tool
            return NestedLine(who, "●", tool + arguments, "cyan")
        if isinstance(inner, ToolFinished):
            self._names.pop((*path, inner.id), None)
            mark, style = ("✗", "red") if inner.result.is_error else ("→", "green")
            return NestedLine(who, mark, _short(f"{inner.result.name}: {inner.result.content}"), style)
        words = event_words(inner)
        if isinstance(inner, RunFailed):
            return NestedLine(who, "✗", _short(inner.error.message), "red")
        return None if not words else NestedLine(who, " ", _short("; ".join(words)), "dim")


def _ids(event: NestedEvent) -> Iterator[str]:
    inner: AgentEvent = event
    while isinstance(inner, NestedEvent):
        yield inner.id
        inner = inner.event


def _short(text: str) -> str:
    words = one_line(text[: 2 * NESTED_CHARACTERS])
    return words if len(words) <= NESTED_CHARACTERS else f"{words[:NESTED_CHARACTERS]}…"
