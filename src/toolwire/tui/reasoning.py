"""`Reasoning`: what the model thinks, as one line that can be opened."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Static

from ..agent.events import AgentEvent, RunFailed, RunFinished, RunInterrupted
from ..cli.visible import one_line, visible
from ..stream.segments import EventType, SegmentEvent
from .markdown.document import Document
from .still import read_from_top

KEPT = 1_000_000
"""Characters that can be read again."""
_TAIL = 400
_FAINT = "$foreground 55%"


class Reasoning(Vertical, can_focus=True):
    """Folded it says how long and how much, and its newest line while it comes. Enter or a click opens all of it."""

    DEFAULT_CSS = """
    Reasoning { height: auto; width: 1fr; margin: 0 0 1 0; padding: 0 1 0 1; border-left: blank; }
    Reasoning:focus { border-left: outer $accent; }
    Reasoning > Static { height: auto; width: 1fr; text-wrap: nowrap; text-overflow: ellipsis; }
    Reasoning > Document { color: $foreground 70%; }
    """

    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "open", "Open or close", show=False)]

    def __init__(self, *, is_open: bool = False) -> None:
        super().__init__()
        self._is_open = is_open
        self._head = Static(markup=False)
        self._document: Document | None = None
        self._text: list[str] = []
        self._fed = 0
        self._room = KEPT
        self._tail = ""
        self._words = 0
        self._began = time.monotonic()
        self._seconds: float | None = None
        self._ended = False
        self._drawn = ""

    @property
    def live(self) -> bool:
        """Whether it goes on, or something of it is not painted."""
        return not self._ended or self._line() != self._drawn or (self._document is not None and self._document.behind)

    def take(self, event: AgentEvent) -> None:
        """Notes what came."""
        if isinstance(event, SegmentEvent):
            if event.type is EventType.CONTENT:
                self._came(event.delta)
            elif event.type in (EventType.END, EventType.ERROR):
                self._end()
        elif isinstance(event, (RunFinished, RunInterrupted, RunFailed)):
            self._end()

    async def draw(self) -> None:
        """Paints the line, and the text where it is open."""
        if self._is_open:
            if self._document is None:
                self._document = Document()
                await self.mount(self._document)
            for piece in self._text[self._fed :]:
                self._document.feed(piece)
            self._fed = len(self._text)
            if self._ended:
                self._document.end()
            await self._document.draw()
        line = self._line()
        if line != self._drawn:
            self._drawn = line
            head, _, last = line.partition("\n")
            self._head.update(
                Content.styled(head, _FAINT) + Content.styled(f"\n{last}" if last else "", "$foreground 40%")
            )

    def plain(self) -> str:
        """All of it that was kept."""
        return visible("".join(self._text))

    def again(self) -> Callable[[], Reasoning]:
        """Makes the same item later."""
        return partial(_past, "".join(self._text), self._words, self._seconds)

    def on_mount(self) -> None:
        """The line comes first."""
        self.mount(self._head)

    async def action_open(self) -> None:
        """Shows all of it, or one line again."""
        self._is_open = not self._is_open
        if not self._is_open and self._document is not None:
            await self._document.remove()
            self._document, self._fed = None, 0
        self._drawn = ""
        await self.draw()
        if self._is_open:
            read_from_top(self)

    async def on_click(self, event: events.Click) -> None:
        """The same as Enter, on its line."""
        if event.widget is self._head:
            await self.action_open()

    def _came(self, delta: str) -> None:
        if self._ended or not delta:
            return
        goes_on = bool(self._tail) and not self._tail[-1].isspace() and not delta[0].isspace()
        self._words += len(delta.split()) - goes_on
        self._tail = (self._tail + delta)[-_TAIL:]
        if self._room > 0:
            self._text.append(delta[: self._room])
            self._room -= len(delta)

    def _end(self) -> None:
        if not self._ended:
            self._ended = True
            self._seconds = time.monotonic() - self._began

    def _line(self) -> str:
        """What the folded item says."""
        mark = "▾" if self._is_open else "▸"
        words = f" · {self._words:,} word{'' if self._words == 1 else 's'}" if self._words else ""
        if not self._ended:
            line = f"{mark} Thinking… {time.monotonic() - self._began:.0f} s{words}"
            last = "" if self._is_open else one_line(self._tail.rstrip().rpartition("\n")[2])
            return f"{line}\n  {last}" if last else line
        if self._seconds is None or self._seconds < 0.1:
            return f"{mark} Thought{words}"
        took = f"{self._seconds:.1f}" if self._seconds < 9.95 else f"{self._seconds:.0f}"
        return f"{mark} Thought for {took} s{words}"


def _past(text: str, words: int, seconds: float | None) -> Reasoning:
    """One that has ended."""
    made = Reasoning()
    made._text, made._words, made._seconds, made._ended = [text], words, seconds, True
    return made
