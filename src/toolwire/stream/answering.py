"""What all streaming response handlers share: `ChunkResponse` in, `SegmentEvent` out.

Each answer is cut into segments. Text, reasoning and images follow one another within a choice; a call is a segment
of its own that stays open, beside the others, until it ends. Ids are deterministic (law 1): a call has its provider's
id where that is unique in the answer, everything else a number.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Any

from ..chunks import ChunkResponse, Citation, PartEnd, ServerToolDelta, StopReason, TokenUsage
from ..errors import IncompleteStream, LimitExceeded, ToolwireError
from ..limits import DEFAULT_LIMITS, Limits
from .collected import CallSegment, Segment
from .invocation import ToolInvocation
from .segments import EventType, SegmentEvent, SegmentType

_START, _CONTENT, _END = EventType.START, EventType.CONTENT, EventType.END
_TEXT, _REASONING, _MEDIA = SegmentType.TEXT, SegmentType.REASONING, SegmentType.MEDIA
_PARTS = {"text": _TEXT, "reasoning": _REASONING, "opaque": SegmentType.SERVER_TOOL}


class AnswerHandler(ABC):
    """What all handlers share: text, reasoning and media into segments, ids, the end of the stream.

    `feed` and `finalize` are the handlers' interface and keep the events; `feed_into` and `finalize_into` do the
    work for callers who hand the events on at once.
    """

    _parses = False
    """Whether calls are looked for in the text of the first choice."""

    def __init__(
        self,
        *,
        limits: Limits = DEFAULT_LIMITS,
        segment_id_prefix: str = "",
        on_segment_event: Callable[[SegmentEvent], None] | None = None,
    ) -> None:
        self._limits = limits
        self._prefix = segment_id_prefix
        self._on_event = on_segment_event
        self.reset()

    def reset(self) -> None:
        """Back to the start, for the next answer."""
        self.segments: list[Segment] = []
        self.provider_data: list[dict[str, Any]] = []
        self.stop_reason: StopReason | None = None
        self.raw_stop_reason: str | None = None
        self.usage: TokenUsage | None = None
        self.error: ToolwireError | None = None
        self.complete = False
        self._open: dict[int, Segment] = {}
        self._audio: dict[int, Segment] = {}
        self._server_tools: dict[str, Segment] = {}
        self._late_citations: list[Citation] = []
        self._cited = 0
        self._used_ids: set[str] = set()
        self._numbered = 0
        self._events: list[SegmentEvent] = []

    def get_all_events(self) -> list[SegmentEvent]:
        """Every event so far."""
        return list(self._events)

    def get_all_invocations(self) -> list[ToolInvocation]:
        """The calls that may be put before the gate, in the model's order: none before the stream's proper end."""
        return []

    @property
    def calls(self) -> list[CallSegment]:
        """Every call that was begun, in the model's order: by choice, then by canonical index."""
        return []

    def feed(self, chunk: ChunkResponse) -> list[SegmentEvent]:
        """The events that one chunk leads to. After the end of the stream there are no more."""
        events: list[SegmentEvent] = []
        try:
            self.feed_into((chunk,), events)
        finally:
            self._record(events)
        return events

    def finalize(self, error: ToolwireError | None = None) -> list[SegmentEvent]:
        """The end of input. If the stream had not ended properly: closes what is open, then ERROR."""
        events: list[SegmentEvent] = []
        self.finalize_into(error, events)
        self._record(events)
        return events

    def feed_into(self, chunks: Iterable[ChunkResponse], events: list[SegmentEvent]) -> None:
        """As `feed` for each chunk, appending to `events`.

        More text for the segment that is open, which nearly every chunk is, is taken here; `_content` does the rest.
        """
        open_now, append, parses = self._open, events.append, self._parses
        for chunk in chunks:
            if self.complete or self.error is not None:
                return
            text = chunk.reasoning
            if text:
                segment = open_now.get(chunk.choice)
                if segment is not None and segment.segment_type is _REASONING:
                    segment.pieces.append(text)
                    append(SegmentEvent(_CONTENT, segment.segment_id, text))
                else:
                    self._content(_REASONING, chunk.choice, text, events)
            text = chunk.content
            if text and parses and chunk.choice == 0:
                self._read_text(text, events)
            elif text:
                segment = open_now.get(chunk.choice)
                if segment is not None and segment.segment_type is _TEXT and segment.metadata is None:
                    segment.pieces.append(text)
                    append(SegmentEvent(_CONTENT, segment.segment_id, text))
                else:
                    self._content(_TEXT, chunk.choice, text, events)
            if chunk.refusal:
                self._content(_TEXT, chunk.choice, chunk.refusal, events, refusal=True)
            if chunk.audio is not None or chunk.image_urls or chunk.audio_urls or chunk.video_urls:
                self._media(chunk, events)
            if chunk.citations:
                self._cite(chunk)
            if chunk.part_end is not None:
                self._end_part(chunk.part_end, chunk.choice, events)
            if chunk.server_tools:
                for server_delta in chunk.server_tools:
                    self._server_tool(server_delta, chunk.choice, events)
            if chunk.tool_calls:
                if chunk.is_complete:
                    self.stop_reason = chunk.stop_reason
                self._calls_in(chunk, events)
            if chunk.provider_data and chunk.choice == 0:
                self.provider_data += chunk.provider_data
                if len(self.provider_data) > self._limits.blocks:
                    raise LimitExceeded("the number of opaque blocks in one answer", self._limits.blocks)
            if chunk.usage is not None:
                self.usage = chunk.usage
            if chunk.is_complete:
                self._complete(chunk, events)

    def finalize_into(self, error: ToolwireError | None, events: list[SegmentEvent]) -> None:
        """As `finalize`, appending to `events`."""
        if self.complete or self.error is not None:
            return
        self.error = error = error or IncompleteStream()
        self.stop_reason = None
        self._close_segments(events, {"incomplete": True})
        metadata = self._last_word(self._settle(None, events))
        events.append(SegmentEvent(EventType.ERROR, metadata=metadata, usage=self.usage, error=error.info()))

    def _complete(self, chunk: ChunkResponse, events: list[SegmentEvent]) -> None:
        self.stop_reason = chunk.stop_reason or StopReason.STOP
        self.raw_stop_reason = chunk.raw_stop_reason
        self._close_segments(events, None)
        self.complete = True
        metadata = self._last_word(self._settle(self.stop_reason, events))
        events.append(SegmentEvent(EventType.DONE, metadata=metadata, stop_reason=self.stop_reason, usage=self.usage))

    def _last_word(self, metadata: dict[str, Any] | None) -> dict[str, Any] | None:
        """The metadata of the last event, with the citations that no open text took."""
        if self._late_citations:
            return {**(metadata or {}), "citations": self._late_citations}
        return metadata

    def _read_text(self, text: str, events: list[SegmentEvent]) -> None:
        """Takes text of the first choice, where calls are looked for in it."""
        self._content(_TEXT, 0, text, events)

    @abstractmethod
    def _calls_in(self, chunk: ChunkResponse, events: list[SegmentEvent]) -> None:
        """Takes the pieces of calls that a chunk holds."""

    @abstractmethod
    def _settle(self, stop_reason: StopReason | None, events: list[SegmentEvent]) -> dict[str, Any] | None:
        """The stream has ended (None: not properly): settles the calls, and gives the metadata of the last event."""

    def _record(self, events: list[SegmentEvent]) -> None:
        self._events += events
        if self._on_event is not None:
            for event in events:
                self._on_event(event)

    def _content(
        self, kind: SegmentType, choice: int, text: str, events: list[SegmentEvent], *, refusal: bool = False
    ) -> None:
        segment = self._open.get(choice)
        if segment is None or segment.segment_type is not kind or (segment.metadata is not None) is not refusal:
            self._close_open(choice, events)
            segment = self._begin(kind, choice, {"refusal": True} if refusal else None, events)
            self._open[choice] = segment
        segment.pieces.append(text)
        events.append(SegmentEvent(_CONTENT, segment.segment_id, text))

    def _media(self, chunk: ChunkResponse, events: list[SegmentEvent]) -> None:
        for kind, urls in (
            ("image", chunk.image_urls),
            ("audio", chunk.audio_urls),
            ("video", chunk.video_urls),
        ):
            for url in urls:
                self._close_open(chunk.choice, events)
                segment = self._begin(_MEDIA, chunk.choice, {"media": kind}, events)
                segment.pieces.append(url)
                events.append(SegmentEvent(_CONTENT, segment.segment_id, url))
                self._end(segment, events)
        if chunk.audio is not None:
            if chunk.audio.transcript:
                self._content(_TEXT, chunk.choice, chunk.audio.transcript, events)
            if chunk.audio.data:
                audio = self._audio.get(chunk.choice)
                if audio is None:
                    audio = self._begin(_MEDIA, chunk.choice, {"media": "audio/base64"}, events)
                    self._audio[chunk.choice] = audio
                audio.pieces.append(chunk.audio.data)
                events.append(SegmentEvent(_CONTENT, audio.segment_id, chunk.audio.data))

    def _cite(self, chunk: ChunkResponse) -> None:
        """Citations go to the text they stand in; those that come after it, to the end of the stream."""
        segment = self._open.get(chunk.choice)
        cited = self._late_citations
        if segment is not None and segment.segment_type is _TEXT:
            if segment.citations is None:
                segment.citations = []
            cited = segment.citations
        cited += chunk.citations
        self._cited += len(chunk.citations)
        if self._cited > self._limits.blocks:
            raise LimitExceeded("the number of citations in one answer", self._limits.blocks)

    def _end_part(self, mark: PartEnd, choice: int, events: list[SegmentEvent]) -> None:
        segment = self._open.get(choice)
        if mark.kind == "media":
            last = self.segments[-1] if self.segments else None
            if last is not None and last.segment_type is _MEDIA:
                last.provider_data = mark.provider_data
        elif segment is not None and segment.segment_type is _PARTS[mark.kind]:
            segment.provider_data = mark.provider_data
            self._close_open(choice, events)
        elif mark.provider_data is not None:
            self._close_open(choice, events)
            hidden = Segment(_PARTS[mark.kind], choice)
            hidden.provider_data = mark.provider_data
            hidden.closed = True
            self._keep(hidden)

    def _server_tool(self, delta: ServerToolDelta, choice: int, events: list[SegmentEvent]) -> None:
        segment = self._server_tools.get(delta.key)
        if segment is None:
            self._close_open(choice, events)
            segment = Segment(SegmentType.SERVER_TOOL, choice, {"result": True} if delta.is_result else None)
            segment.tool_name = delta.name
            self._start(segment, events, "" if delta.is_result else delta.call_id, delta.name)
            self._server_tools[delta.key] = segment
        elif segment.closed:
            return
        if delta.text:
            events.append(SegmentEvent(_CONTENT, segment.segment_id, delta.text))
        if delta.done:
            segment.provider_data = delta.provider_data
            self._end(segment, events)

    def _begin(
        self, kind: SegmentType, choice: int, metadata: dict[str, Any] | None, events: list[SegmentEvent]
    ) -> Segment:
        segment = Segment(kind, choice, metadata)
        self._start(segment, events)
        return segment

    def _start(self, segment: Segment, events: list[SegmentEvent], wanted: str = "", tool: str | None = None) -> None:
        self._keep(segment)
        segment.segment_id = self._unused_id(wanted)
        metadata = segment.metadata
        if segment.choice:
            metadata = {**(metadata or {}), "choice": segment.choice}
        events.append(
            SegmentEvent(
                _START, segment.segment_id, segment_type=segment.segment_type, tool_name=tool, metadata=metadata
            )
        )

    def _keep(self, segment: Segment) -> None:
        # Calls have a bound of their own, and must be ended even where this one is used up.
        if len(self.segments) >= self._limits.segments and not isinstance(segment, CallSegment):
            raise LimitExceeded("the number of segments in one answer", self._limits.segments)
        self.segments.append(segment)

    def _end(self, segment: Segment, events: list[SegmentEvent], metadata: dict[str, Any] | None = None) -> None:
        segment.closed = True
        if segment.citations is not None:
            metadata = {**(metadata or {}), "citations": segment.citations}
        events.append(SegmentEvent(_END, segment.segment_id, segment_type=segment.segment_type, metadata=metadata))

    def _close_open(self, choice: int, events: list[SegmentEvent]) -> None:
        segment = self._open.pop(choice, None)
        if segment is not None:
            self._end(segment, events)

    def _close_segments(self, events: list[SegmentEvent], metadata: dict[str, Any] | None) -> None:
        unfinished = [segment for segment in self._server_tools.values() if not segment.closed]
        for segment in (*self._open.values(), *self._audio.values(), *unfinished):
            self._end(segment, events, metadata)
        self._open.clear()
        self._audio.clear()

    def _unused_id(self, wanted: str) -> str:
        while not wanted or wanted in self._used_ids:
            wanted = f"{self._prefix}s{self._numbered}"
            self._numbered += 1
        self._used_ids.add(wanted)
        return wanted
