"""The panel for those who debug providers: raw frames beside the events that they became, with times (`/wire`).

While the panel is shown it draws itself, twenty times a second: it traces what is new, for ten milliseconds at most, so
that a flood of frames is caught up with over several calls and the input stays free. While nobody looks, nothing is
traced.
"""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content

from ..cli.visible import one_line
from ..embedded.choosing import API_TOOL_CALL
from ..inspection.tap import WireLog, WireRequest
from ..inspection.watching import Watching
from ..inspection.words import counted, seconds_words, size_words
from .wire_frames import WireFrames

RATE = 20
"""Draws a second."""


class WirePanel(Vertical):
    """The frames of the request that goes on, and of those before it. The app says where it stands and how large."""

    DEFAULT_CSS = """
    WirePanel { height: 1fr; width: 1fr; border: round $border-blurred; padding: 0 1;
        border-title-color: $text-primary; border-subtitle-color: $text-muted;
        &:focus-within { border: round $border; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left,h", "request(-1)", "Request before", show=False),
        Binding("right,l", "request(1)", "Next request", show=False),
    ]

    def __init__(self, log: WireLog) -> None:
        super().__init__()
        self._log = log
        self._watching: Watching | None = None
        self._frames = WireFrames()
        self._latest = True
        """Whether the newest request is shown, whichever that is."""
        self._drawn = (-1, 0)

    def compose(self) -> ComposeResult:
        """The list of frames."""
        yield self._frames

    def on_mount(self) -> None:
        """Says what it is before anything came, and looks for what comes."""
        self._tell()
        self.set_interval(1 / RATE, self._look)

    async def _look(self) -> None:
        if self.display:
            await self.draw()

    def focus(self, scroll_visible: bool = True) -> WirePanel:
        """The keys go to the list of frames."""
        self._frames.focus(scroll_visible)
        return self

    async def draw(self) -> None:
        """Traces and paints what is new since the last time, for some ten milliseconds at most."""
        watching = self._watching
        newest = self._log.requests[-1] if self._log.requests else None
        if newest is not None and (watching is None or (self._latest and watching.request is not newest)):
            watching = self._watch(newest)
        if watching is None:
            return
        if watching.behind:
            if watching.advance():
                self._frames.grow()
        elif self._drawn == (self._log.version, len(watching.frames)):
            return
        self._drawn = (self._log.version, len(watching.frames))
        self._tell()

    async def action_request(self, step: int) -> None:
        """To the request before or behind."""
        requests = list(self._log.requests)
        if not requests or self._watching is None:
            return
        now = self._watching.request
        places = [place for place, request in enumerate(requests) if request is now]
        place = min(max((places[0] if places else 0) + step, 0), len(requests) - 1)
        self._latest = place == len(requests) - 1
        if requests[place] is not now:
            self._watch(requests[place])
            await self.draw()

    def on_wire_frames_moved(self, message: WireFrames.Moved) -> None:
        """Who looks back at an answer is not taken to the next one."""
        message.stop()
        watching = self._watching
        if watching is not None and self._log.requests:
            self._latest = self._frames.follows and watching.request is self._log.requests[-1]
            self._tell()

    def _watch(self, request: WireRequest) -> Watching:
        self._watching = Watching(request)
        self._frames.show(self._watching.frames)
        return self._watching

    def _tell(self) -> None:
        """What is shown, in the border above; the keys, in the one below."""
        watching = self._watching
        if watching is None:
            self.border_title = Content("wire")
            self.border_subtitle = Content("nothing was sent yet")
            return
        request, tracer = watching.request, watching.tracer
        facts = [f"wire {request.number} of {self._log.count}"]
        if watching.problems:
            facts.append(f"! {counted(watching.problems, 'problem')}")
        if request.ended is None:
            facts.append("coming in")
        elif watching.behind:
            facts.append("reading …")
        if not self._latest:
            facts.append("not following")
        facts += [counted(len(watching.frames), "frame"), size_words(request.received)]
        if request.ended is not None:
            facts.append(seconds_words(request.ended))
        facts += [one_line(f"{request.provider} {request.model}").strip(), "" if tracer is None else tracer.wire]
        if request.reading.parser != API_TOOL_CALL:
            facts.append(f"calls in the text: {request.reading.parser}")
        self.border_title = Content(" · ".join(fact for fact in facts if fact))
        self.border_subtitle = Content("↑↓ frame  ⏎ open  ←→ request  p problem  end follow  y copy")
