"""`Watching`: the answer to one request of a `WireLog`, traced in pieces that never take long."""

from __future__ import annotations

import time

from ..errors import ConfigError, IncompleteStream
from ..limits import KIB
from ..providers.wires import detect_wire
from .frames import TracedFrame
from .tap import WireRequest
from .tracer import Tracer

AT_ONCE = 0.01
"""Seconds that one `advance` takes, about."""
_PIECE = 4 * KIB
_FALLBACK = "openai-chat"


class Watching:
    """Traces what has come so far, and goes on when more has come."""

    def __init__(self, request: WireRequest) -> None:
        self.request = request
        self.frames: list[TracedFrame] = []
        self.problems = 0
        """Frames with a problem."""
        self.tracer: Tracer | None = None
        self._chunk = 0  # which one comes next
        self._within = 0  # and where in it
        self._is_closed = False

    @property
    def behind(self) -> bool:
        """Whether something came that was not traced yet."""
        request = self.request
        return self._chunk < len(request.chunks) or (request.ended is not None and not self._is_closed)

    def advance(self, seconds: float = AT_ONCE) -> bool:
        """Traces for so long; True if there are more frames than before."""
        until, before = time.perf_counter() + seconds, len(self.frames)
        chunks = self.request.chunks
        while self._chunk < len(chunks):
            at, data = chunks[self._chunk]
            if self.tracer is None:
                self.tracer = self._begin(data)
            piece = data[self._within : self._within + _PIECE]
            self._take(self.tracer.feed(piece, at))
            self._within += len(piece)
            if self._within >= len(data):
                self._chunk, self._within = self._chunk + 1, 0
            if time.perf_counter() >= until:
                return len(self.frames) > before
        if self.request.ended is not None and not self._is_closed:
            self._close()
        return len(self.frames) > before

    def _begin(self, start: bytes) -> Tracer:
        wire = self.request.wire
        if not wire:
            try:
                wire = detect_wire(start[: 64 * KIB])
            except ConfigError:
                wire = _FALLBACK
        parser, tools = self.request.reading
        return Tracer(wire, tools, stream_parser=parser, live_arguments=False)

    def _close(self) -> None:
        self._is_closed = True
        request = self.request
        tracer = self.tracer or self._begin(b"")
        self.tracer = tracer
        error = request.failure
        if error is None and not request.is_whole:
            error = IncompleteStream("more came than is kept for this panel")
        elif error is None and request.closed and not tracer.complete:
            error = IncompleteStream("it was closed on this side: the run was interrupted, or had failed")
        self._take(tracer.close(request.ended, error))

    def _take(self, frames: list[TracedFrame]) -> None:
        self.frames += frames
        self.problems += sum(frame.has_problem for frame in frames)
