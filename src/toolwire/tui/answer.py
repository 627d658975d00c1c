"""`Answer`: what the model says, as Markdown while it comes."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Self

from ..agent.events import AgentEvent, RunFailed, RunFinished, RunInterrupted
from ..stream.segments import EventType, SegmentEvent
from .markdown.document import Document

LONGEST = 300
"""Lines after which an answer goes on in another item, so that its beginning can be let go."""


class Answer(Document, can_focus=True):
    """A text segment. It is bounded: `next_part` gives the item that a long one goes on in."""

    DEFAULT_CSS = """
    Answer { margin: 0 0 1 0; }
    """

    def __init__(self, text: str = "", *, ended: bool = False) -> None:
        super().__init__(text, ended=ended)
        self._earlier: list[str] = []
        """The parts of this answer that stand above."""

    def take(self, event: AgentEvent) -> None:
        """Notes what came."""
        if isinstance(event, SegmentEvent):
            if event.type is EventType.CONTENT:
                self.feed(event.delta)
            elif event.type in (EventType.END, EventType.ERROR):
                self.end()
        elif isinstance(event, (RunFinished, RunInterrupted, RunFailed)):
            self.end()

    def plain(self) -> str:
        """The whole answer as Markdown, also where it goes on from items above."""
        return "".join([*self._earlier, self.text])

    def next_part(self) -> Self | None:
        """Where this one is long enough and can be cut: the one that goes on with it."""
        if self.lines < LONGEST:
            return None
        part = type(self)()
        if not self.hand_over(part):
            return None
        part._earlier = [*self._earlier, self.text]
        return part

    def again(self) -> Callable[[], Answer]:
        """Makes the same item later, out of its text alone."""
        return partial(Answer, self.text, ended=True)
