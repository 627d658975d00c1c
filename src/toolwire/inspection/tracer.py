"""`Tracer`: the bytes of one answer in, its frames out, each with the events that it became.

The wire's own framer and decoder do the work, one frame at a time, so that what is shown is what happens. Where the
bytes were cut makes no difference but to the times, and to how much of what no framer can read is there to be shown.
Nothing is raised for bad bytes: the last frame tells of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import msgspec

from ..chunks import StopReason, TokenUsage
from ..embedded.choosing import NATIVE, StreamParser
from ..errors import ErrorInfo, ToolwireError
from ..limits import DEFAULT_LIMITS, KIB, Limits
from ..stream.pipeline import Stream
from ..stream.reading import AnswerStream
from ..stream.segments import CALL_SEGMENTS, EventType, SegmentEvent
from ..wire.lines import Run
from .borders import asides, end_of, framing_of
from .findings import SILENCE, departure, of_departures, of_events
from .frames import Finding, Framing, TracedFrame

if TYPE_CHECKING:
    from ..tools.registry import ToolRegistry

_SHOWN_REST = 64 * KIB
"""Bytes that are shown of what no framer could read."""
_NAME_LENGTH = 80
_PUNCTUATION = b" \t\r\n,[]\xef\xbb\xbf"


class Tracing:
    """What tracers of any kind of body have in common: numbers, times, findings, and how the answer ended."""

    framing: Framing

    def __init__(self, stream: AnswerStream) -> None:
        self._answer = stream
        self._ended = False
        self.frames = 0
        """How many there were so far."""
        self.bytes = 0
        self._last: float | None = None
        self._tools: dict[str, str] = {}

    @property
    def ended(self) -> bool:
        """Whether no more frames can come, whatever is fed."""
        return self._ended

    @property
    def complete(self) -> bool:
        """Whether the answer reached its proper end."""
        return self._answer.complete

    @property
    def error(self) -> ErrorInfo | None:
        """Why it broke, if it did."""
        return None if self._answer.error is None else self._answer.error.info()

    @property
    def stop_reason(self) -> StopReason | None:
        """Why the model stopped."""
        return self._answer.stop_reason

    @property
    def raw_stop_reason(self) -> str | None:
        """The provider's own word for it."""
        return self._answer.raw_stop_reason

    @property
    def usage(self) -> TokenUsage | None:
        """The token counts, once they came."""
        return self._answer.usage

    @property
    def quirks(self) -> dict[str, int]:
        """How often the provider broke its format in ways that are tolerated."""
        return self._answer.quirks

    def _made(
        self,
        offset: int,
        at: float | None,
        name: str,
        raw: bytes,
        events: list[SegmentEvent],
        findings: Iterable[Finding] = (),
        *,
        carries: bool = True,
    ) -> TracedFrame:
        self.frames += 1
        for event in events:
            if event.type is EventType.START and event.segment_type in CALL_SEGMENTS:
                self._tools[event.segment_id] = event.tool_name or ""
        told = (*of_events(events, self._tools), *findings)
        if at is not None:
            if self._last is not None and at - self._last > SILENCE:
                told += (Finding("note", f"{at - self._last:.1f} s of silence before it"),)
            self._last = at
        return TracedFrame(
            number=self.frames,
            offset=offset,
            at=at,
            name=name,
            framing=self.framing,
            raw=raw,
            events=tuple(events),
            findings=told,
            carries=carries,
        )


class Tracer(Tracing):
    """Traces the body of a streamed answer.

    `tools` None: calls are read, names and schemas not checked. `stream_parser` as for `Stream`.
    """

    def __init__(
        self,
        wire: str,
        tools: Iterable[Any] | ToolRegistry | None = None,
        *,
        stream_parser: str | StreamParser = NATIVE,
        live_arguments: bool = True,
        limits: Limits = DEFAULT_LIMITS,
        segment_id_prefix: str = "",
        on_error: Callable[[ToolwireError], None] | None = None,
    ) -> None:
        self.wire = wire
        self._stream = _ByFrame(
            wire,
            tools,
            stream_parser=stream_parser,
            live_arguments=live_arguments,
            limits=limits,
            segment_id_prefix=segment_id_prefix,
            on_error=on_error,
        )
        super().__init__(self._stream)
        self.framing = {"ollama": "lines", "bedrock": "aws"}.get(wire, "sse")  # type: ignore[assignment]
        self._undecided = wire == "gemini"
        self._held = bytearray()
        self._base = 0  # offset in the body of the first byte that is held
        self._taken = 0  # place in it from which on nothing was given yet
        self._departures: dict[str, int] = {}

    def feed(self, data: bytes, at: float | None = None) -> list[TracedFrame]:
        """The frames that these bytes complete, which came at this time."""
        made: list[TracedFrame] = []
        self.bytes += len(data)
        if self._ended:
            return made
        self._held += data
        if self._undecided:
            self._decide()
        frames, error = self._stream.cut(data)
        self._place(frames, at, made)
        if error is not None:
            self._break_off(error, at, made)
        elif self.framing == "sse" and not self._undecided:
            self._aside(len(self._held), at, made, live=True)
        del self._held[: self._taken]
        self._base += self._taken
        self._taken = 0
        return made

    def close(self, at: float | None = None, error: ToolwireError | None = None) -> list[TracedFrame]:
        """The body has ended, or broke with an error of the transport: what that completes."""
        made: list[TracedFrame] = []
        if self._ended:
            return made
        frames, fault = self._stream.last() if error is None else ([], error)
        self._place(frames, at, made)
        if made and "last-event-without-blank-line" in self._stream.quirks:
            made[-1].findings += (departure("last-event-without-blank-line"),)
        if fault is not None and not self.complete:
            self._break_off(fault, at, made, "broke off" if fault is error else "cut off")
            return made
        self._ended = True
        if self.framing == "sse":
            self._aside(len(self._held), at, made, live=False)
        elif bytes(self._held[self._taken :]).strip(_PUNCTUATION):
            self._rest("rest", at, [], made)
        events = self._stream.end()
        if events:
            made.append(self._made(self.bytes, at, "end of the body", b"", events, carries=False))
        return made

    def _decide(self) -> None:
        """Gemini sends events or an array: the first byte that is not blank says which."""
        start = bytes(self._held[:_SHOWN_REST]).lstrip(b"\xef\xbb\xbf \t\r\n")
        if start:
            self._undecided = False
            self.framing = "array" if start.startswith(b"[") else "sse"

    def _place(self, frames: list[Any], at: float | None, made: list[TracedFrame]) -> None:
        """Finds the bytes of each frame, gives what stands before it, and reads it."""
        for place, frame in enumerate(frames):
            self.framing = framing_of(frame)
            start = max(frame.position - self._base, 0)
            limit = len(self._held)
            if place + 1 < len(frames) and frames[place + 1].position > frame.position:
                limit = min(limit, frames[place + 1].position - self._base)
            end = end_of(frame, self._held, start, limit)
            if self.framing == "sse":
                self._before(frame, start, end, at, made)
            else:
                self._taken = max(self._taken, end)
            raw = bytes(self._held[start:end])
            # Whether a CR at the end of a read is followed by an LF is known later than the frame.
            self._read(frame, raw.rstrip(b"\r\n") if self.framing in ("sse", "lines") else raw, at, made)

    def _before(self, frame: Any, start: int, end: int, at: float | None, made: list[TracedFrame]) -> None:
        self._aside(start, at, made, live=frame.stray)
        if self._taken >= start:
            self._taken = max(self._taken, end)
        # Else it is a line within an event whose other lines are still to be given.

    def _aside(self, limit: int, at: float | None, made: list[TracedFrame], *, live: bool) -> None:
        """Gives what stands before `limit` and is no frame."""
        is_first = self._base + self._taken == 0
        for aside in asides(self._held, self._taken, limit, live=live, is_first=is_first):
            self._taken = aside.end
            if aside.name:
                raw = bytes(self._held[aside.start : aside.end]).rstrip(b"\r\n")
                made.append(self._made(self._base + aside.start, at, aside.name, raw, [], carries=False))

    def _read(self, frame: Any, raw: bytes, at: float | None, made: list[TracedFrame]) -> None:
        stream = self._stream
        was_complete, was_broken = stream.complete, stream.error is not None
        events = stream.take(frame)
        findings: list[Finding] = []
        departures = stream.departures
        if departures != self._departures:
            findings += of_departures(self._departures, departures)
            self._departures = dict(departures)
        if was_complete and frame.data.strip() not in ("", "[DONE]"):
            findings.append(Finding("problem", "it came after the end of the answer and was not read"))
        elif was_broken:
            findings.append(Finding("problem", "it came after the fault and was not read"))
        elif frame.stray and not events and not findings:
            findings.append(Finding("problem", "a line outside of all events"))
        if frame.cut:
            findings.append(Finding("problem", "the body ends within it"))
        made.append(self._made(frame.position, at, _name(frame), raw, events, findings))

    def _break_off(self, error: ToolwireError, at: float | None, made: list[TracedFrame], name: str = "broken") -> None:
        self._ended = True
        self._rest(name, at, self._stream.broke(error), made)

    def _rest(self, name: str, at: float | None, events: list[SegmentEvent], made: list[TracedFrame]) -> None:
        """What no frame was made of."""
        while self._taken < len(self._held) and self._held[self._taken] in b"\r\n":
            self._taken += 1
        raw = bytes(self._held[self._taken : self._taken + _SHOWN_REST])
        offset, self._taken = self._base + self._taken, len(self._held)
        findings = [] if events else [Finding("problem", "nothing was made of it")]
        made.append(self._made(offset, at, name, raw, events, findings, carries=False))


class _ByFrame(Stream):
    """A stream whose frames are taken out of it, looked at and fed one by one."""

    @property
    def departures(self) -> dict[str, int]:
        """What the decoder alone counted: it has seen the frames up to now and no more, which the framer has not."""
        return self._decoder.quirks

    def cut(self, data: bytes) -> tuple[list[Any], ToolwireError | None]:
        """The frames that these bytes complete, and the fault of the framing behind them, if there is one."""
        try:
            return _separate(self._framer.feed(data)), None
        except ToolwireError as error:
            return _separate(error.before), error

    def last(self) -> tuple[list[Any], ToolwireError | None]:
        """The same for what the end of the body completes."""
        try:
            return _separate(self._last_frames()), None
        except ToolwireError as error:
            return _separate(error.before), error

    def take(self, frame: Any) -> list[SegmentEvent]:
        """The events of one frame."""
        events: list[SegmentEvent] = []
        if self._handler.error is None:
            try:
                self._decode([frame], events)
            except ToolwireError as error:
                self._break_off(error, events)
        return events

    def end(self) -> list[SegmentEvent]:
        """The events that only the end of the body leads to."""
        events: list[SegmentEvent] = []
        if self._handler.error is None:
            try:
                self._end(events)
            except ToolwireError as error:
                self._break_off(error, events)
        return events

    def broke(self, error: ToolwireError) -> list[SegmentEvent]:
        """The events of a fault outside of the frames."""
        events: list[SegmentEvent] = []
        error.before = ()
        if self._handler.error is None:
            self._break_off(error, events)
        return events


def _separate(frames: Iterable[Any]) -> list[Any]:
    made: list[Any] = []
    for frame in frames:
        if type(frame) is Run:
            made += frame.frames()
        else:
            made.append(frame)
    return made


class _Kind(msgspec.Struct):
    """What a payload calls itself, on whichever wire."""

    type: Any = None
    object: Any = None
    event: Any = msgspec.field(name=":event-type", default=None)
    event_type: Any = None


_read_kind = msgspec.json.Decoder(_Kind).decode


def _name(frame: Any) -> str:
    """What a frame calls itself; empty if it does not."""
    if frame.stray:
        return "stray line"
    named = getattr(frame, "event", "message")
    if named != "message":
        return str(named)[:_NAME_LENGTH]
    try:
        kind = _read_kind(frame.data)
    except (msgspec.MsgspecError, RecursionError):
        return frame.data[:_NAME_LENGTH] if frame.data == "[DONE]" else ""
    for word in (kind.event, kind.type, kind.event_type, kind.object):
        if isinstance(word, str) and word:
            return word[:_NAME_LENGTH]
    return ""
