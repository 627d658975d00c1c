"""A screen that keeps still while a question stands on it: what happens meanwhile is shown after it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ..agent.events import AgentEvent, NestedEvent, ToolProgress
from ..stream.segments import SegmentEvent
from .nested import innermost


class HeldEvents:
    """Takes the events that come while a question stands. Progress, and the words of inner agents, are old by then."""

    def __init__(self) -> None:
        self._held: list[AgentEvent] | None = None

    @contextmanager
    def until_answered(self, show: Callable[[AgentEvent], None]) -> Iterator[None]:
        """Nothing is shown in here; what was taken is, behind it."""
        self._held = []
        try:
            yield
        finally:
            held, self._held = self._held, None
            for event in held:
                show(event)

    def takes(self, event: AgentEvent) -> bool:
        """Whether it is not to be shown now."""
        if self._held is None:
            return False
        inner = innermost(event) if isinstance(event, NestedEvent) else event
        if not isinstance(inner, ToolProgress) and (inner is event or not isinstance(inner, SegmentEvent)):
            self._held.append(event)
        return True
