"""The streaming response handlers: `ChunkResponse` in, `SegmentEvent` out, invocations at the end.

Four of them, for the ways in which an answer can hold calls: as structured data, in its text, both, or not at all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from ..chunks import ChunkResponse, StopReason
from ..embedded.scanner import Piece, PieceKind
from ..embedded.text_reader import TextReader
from ..errors import LimitExceeded, ToolwireError
from ..limits import DEFAULT_LIMITS, Limits
from .answering import AnswerHandler
from .calling import CallHandler
from .collected import CallSegment
from .invocation import ToolInvocation, ToolInvocationAdapter, stop_problem
from .segments import EventType, SegmentEvent, SegmentType

_KINDS = {
    PieceKind.TEXT: SegmentType.TEXT,
    PieceKind.MARKUP: SegmentType.MARKUP,
    PieceKind.REASONING: SegmentType.REASONING,
}


class StreamingResponseHandler(Protocol):
    """What every handler does, whichever way calls are written."""

    def feed(self, chunk: ChunkResponse) -> list[SegmentEvent]:
        """The events that one chunk leads to."""

    def finalize(self, error: ToolwireError | None = None) -> list[SegmentEvent]:
        """The end of input: closes what is open; `error` says why the stream broke, if it did."""

    def get_all_events(self) -> list[SegmentEvent]:
        """Every event so far."""

    def get_all_invocations(self) -> list[ToolInvocation]:
        """The calls that may be put before the gate: none before the stream's proper end."""

    def reset(self) -> None:
        """Back to the start, for the next answer."""


class ApiToolCallStreamingResponseHandler(CallHandler):
    """For answers whose calls come as structured data (`api_tool_call`). Calls in their text are text."""


class PassThroughStreamingResponseHandler(AnswerHandler):
    """For answers without tools: calls that come all the same are counted and never run."""

    def reset(self) -> None:
        """Back to the start, for the next answer."""
        super().reset()
        self._ignored: set[tuple[int, int]] = set()

    def _calls_in(self, chunk: ChunkResponse, events: list[SegmentEvent]) -> None:
        self._ignored.update((chunk.choice, delta.index) for delta in chunk.tool_calls)

    def _settle(self, stop_reason: StopReason | None, events: list[SegmentEvent]) -> dict[str, Any] | None:
        return {"ignored_calls": len(self._ignored)} if self._ignored else None


class ParsingStreamingResponseHandler(CallHandler):
    """For answers whose calls stand in their text, in the format that `reader` reads.

    Only the text of the first choice is read so: never reasoning, refusals or alternatives. Native calls are no
    concern of this handler: they are counted and never run.
    """

    _parses = True

    def __init__(
        self,
        reader: Callable[[], TextReader],
        format_: str,
        adapter: ToolInvocationAdapter | None = None,
        *,
        limits: Limits = DEFAULT_LIMITS,
        segment_id_prefix: str = "",
        live_arguments: bool = False,
        tool_names: Mapping[str, str] | None = None,
        on_segment_event: Callable[[SegmentEvent], None] | None = None,
    ) -> None:
        self._make_reader = reader
        self._format = format_
        super().__init__(
            adapter,
            limits=limits,
            segment_id_prefix=segment_id_prefix,
            live_arguments=live_arguments,
            tool_names=tool_names,
            on_segment_event=on_segment_event,
        )

    def reset(self) -> None:
        """Back to the start, for the next answer."""
        super().reset()
        self._reader = self._make_reader()
        self._text_calls: list[CallSegment] = []
        self._ignored: set[tuple[int, int]] = set()
        self._cut_short = False
        """A bound was reached while pieces were taken: those after it are missing."""

    @property
    def calls(self) -> list[CallSegment]:
        """Every call that was begun, in the model's order."""
        return self._text_calls

    def _calls_in(self, chunk: ChunkResponse, events: list[SegmentEvent]) -> None:
        self._ignored.update((chunk.choice, delta.index) for delta in chunk.tool_calls)

    def _read_text(self, text: str, events: list[SegmentEvent]) -> None:
        if self._reader.passes(text):
            self._content(_KINDS[self._reader.plain], 0, text, events)
            return
        pieces: list[Piece] = []
        try:
            self._reader.feed(text, pieces)
        finally:
            self._take_pieces(pieces, events)

    def _close_segments(self, events: list[SegmentEvent], metadata: dict[str, Any] | None) -> None:
        """No more text comes: what the reader held back, then as always."""
        pieces: list[Piece] = []
        try:
            try:
                if not self._cut_short:
                    self._reader.close(pieces)
            finally:
                self._take_pieces(pieces, events)
        except LimitExceeded:
            if self.error is None:  # else it ends with the error that there is
                raise
        super()._close_segments(events, metadata)

    def _take_pieces(self, pieces: list[Piece], events: list[SegmentEvent]) -> None:
        self._cut_short = True
        for piece in pieces:
            if piece.kind is PieceKind.CALL:
                self._take_call(piece, events)
            elif piece.kind is PieceKind.MARK:
                self._take_mark(piece.text, events)
            else:
                self._content(_KINDS[piece.kind], 0, piece.text, events)
        self._cut_short = False

    def _take_mark(self, text: str, events: list[SegmentEvent]) -> None:
        """A mark is a segment of its own, which never goes back: whoever lays out a prompt writes it."""
        self._close_open(0, events)
        segment = self._begin(SegmentType.MARKUP, 0, {"layout": True}, events)
        segment.pieces.append(text)
        events.append(SegmentEvent(EventType.CONTENT, segment.segment_id, text))
        self._end(segment, events)

    def _take_call(self, piece: Piece, events: list[SegmentEvent]) -> None:
        if piece.position >= 0:
            call = CallSegment(0, len(self._text_calls), self._reader.format or self._format)
            call.arrived.name = piece.name
            if piece.call_id not in self._used_ids:  # models count wrong, and a call of its own must have its own
                call.arrived.call_id = piece.call_id
            call.metadata = {"position": piece.position}
            self._text_calls.append(call)
        else:
            call = self._text_calls[-1]
        call.pieces.append(piece.text)
        call.arguments.append(piece.arguments)
        if piece.text or piece.arguments:
            self._more(call, piece.text, piece.arguments, events)
        if piece.done:
            call.arrived.problem = piece.problem and (self._why_cut() or piece.problem)
            call.arrived.repairs = piece.repairs
            call.late_id = piece.call_id
            self._end_call(call, events, ended=True)

    def _why_cut(self) -> str:
        """Why the text has ended where it did; empty while it goes on, or where the model meant it to end."""
        if self.error is not None:
            return "the stream broke off before its end"
        return "" if self.stop_reason is None else stop_problem(self.stop_reason)

    def _settle(self, stop_reason: StopReason | None, events: list[SegmentEvent]) -> dict[str, Any] | None:
        metadata = super()._settle(stop_reason, events) or {}
        if self._ignored:
            metadata["ignored_calls"] = len(self._ignored)
        if self._reader.unknown and self.error is None:  # at a fault, the reader may be ahead of what was shown
            metadata["unknown_tools"] = list(self._reader.unknown)
        return metadata or None


class HybridStreamingResponseHandler(ParsingStreamingResponseHandler):
    """For answers that may hold calls both ways, as structured data and in text.

    Calls come in the order in which they began. One that arrives both ways counts once: that which came as data runs.
    """

    @property
    def calls(self) -> list[CallSegment]:
        """Every call that was begun: those of the first choice in the order in which they began, native ones among
        themselves by canonical index; then the alternatives'.
        """
        native = self._native_calls()
        places = {id(segment): place for place, segment in enumerate(self.segments)}
        first = [call for call in native if call.choice == 0]
        taken = sorted(places[id(call)] for call in first if call.segment_id)
        started = [*zip(taken, first, strict=False), *((places.get(id(call), 0), call) for call in self._text_calls)]
        ordered = [call for _, call in sorted(started, key=lambda placed: placed[0])]
        return ordered + first[len(taken) :] + [call for call in native if call.choice]

    def _calls_in(self, chunk: ChunkResponse, events: list[SegmentEvent]) -> None:
        CallHandler._calls_in(self, chunk, events)

    def _settle(self, stop_reason: StopReason | None, events: list[SegmentEvent]) -> dict[str, Any] | None:
        """As always, after marking calls in text that came as data too: each native call stands for one at most."""
        native: dict[tuple[str, str], list[str]] = {}
        for arrived in (call.arrived for call in self._native_calls() if call.choice == 0 and call.closed):
            native.setdefault(arrived.meaning, []).append(arrived.segment_id)
        for written in (call.arrived for call in self._text_calls if call.arrived.arguments is not None):
            same = native.get(written.meaning)
            if same:
                written.repeats = same.pop(0)
        return super()._settle(stop_reason, events)
