"""`Trace`: everything that is known about recorded answers, for whoever shows it: frames, segments, calls, totals."""

from __future__ import annotations

from typing import Any

import msgspec

from ..chunks import StopReason, TokenUsage
from ..errors import ErrorInfo, ToolwireError
from ..limits import MIB
from ..stream.segments import CALL_SEGMENTS, EventType, SegmentEvent, SegmentType
from .frames import Finding, TracedFrame
from .text_tracer import TextTracer
from .tracer import Tracer

KEPT_FRAMES = 200_000
KEPT_BYTES = 64 * MIB
"""Of all frames of a trace; those after it are counted, and kept only where they have problems."""
KEPT_PROBLEMS = 1_000


class Span(msgspec.Struct, kw_only=True):
    """A segment, or a tool that ran, from its beginning to its end.

    Places on the line of time are seconds since the trace began; without times, bytes since then.
    """

    id: str
    kind: str
    """A `SegmentType`, or `running` for a tool while it ran."""
    name: str = ""
    """Of the tool, for calls and tools."""
    first: int = 0
    last: int = 0
    """The numbers of its frames."""
    start: float = 0.0
    end: float = 0.0
    marks: list[float] = []
    """Where its content came."""
    characters: int = 0
    pieces: int = 0
    problem: str = ""


class TracedCall(msgspec.Struct, kw_only=True):
    """A call as it arrived and, where the recording tells, what became of it."""

    id: str
    name: str
    kind: str
    first: int
    last: int = 0
    written: list[str] = []
    """What the model wrote, in pieces."""
    arguments: dict[str, Any] | None = None
    problem: str = ""
    repairs: list[str] = []
    decision: str = ""
    """Who allowed or denied it, in words."""
    outcome: str = ""
    seconds: float | None = None
    result: str | None = None
    is_error: bool = False


class TracedAnswer(msgspec.Struct, kw_only=True):
    """One answer: one body, with the request that it was sent for where that was recorded."""

    number: int
    wire: str
    parser: str = ""
    url: str = ""
    model: str = ""
    sent: int | None = None
    """Bytes of the request."""
    began: float = 0.0
    """When the request was sent, in seconds since the trace began; without times, the bytes before it."""
    ended: float = 0.0
    first_at: float | None = None
    """Seconds until the first frame."""
    frames: list[TracedFrame] = []
    frame_count: int = 0
    bytes: int = 0
    spans: list[Span] = []
    calls: list[TracedCall] = []
    complete: bool = False
    error: ErrorInfo | None = None
    stop_reason: StopReason | None = None
    raw_stop_reason: str | None = None
    usage: TokenUsage | None = None
    quirks: dict[str, int] = {}


class Happening(msgspec.Struct, frozen=True):
    """What a recording tells beside the answers: a question, a decision, a tool that ran."""

    at: float
    words: str
    level: str = "note"


class Trace(msgspec.Struct, kw_only=True):
    """What is in a file."""

    name: str
    what: str
    """What kind of file it is, in words."""
    timed: bool = False
    answers: list[TracedAnswer] = []
    happenings: list[Happening] = []
    running: list[Span] = []
    """Tools that ran."""
    facts: list[tuple[str, str]] = []
    cut: bool = False
    """A recording that breaks off."""
    left_out: int = 0
    """Frames that were counted and not kept."""
    problems: int = 0
    """Frames with a problem, also those that were not kept."""

    @property
    def frame_count(self) -> int:
        """All frames."""
        return sum(answer.frame_count for answer in self.answers)

    @property
    def bytes(self) -> int:
        """All bytes of answers."""
        return sum(answer.bytes for answer in self.answers)

    @property
    def end(self) -> float:
        """The last place on the line of time."""
        return max([0.0, *(answer.ended for answer in self.answers), *(span.end for span in self.running)])

    def findings(self) -> list[tuple[TracedFrame, Finding]]:
        """Every problem, with its frame."""
        return [
            (frame, finding)
            for answer in self.answers
            for frame in answer.frames
            for finding in frame.findings
            if finding.level == "problem"
        ]


class Tracking:
    """Fills one answer of a trace while its bytes come."""

    def __init__(self, trace: Trace, answer: TracedAnswer, tracer: Tracer | TextTracer) -> None:
        self.trace = trace
        self.answer = answer
        self._tracer = tracer
        self._open: dict[str, Span] = {}
        self._calls: dict[str, TracedCall] = {}
        self._numbered = trace.frame_count
        self._kept = sum(len(frame.raw) for each in trace.answers for frame in each.frames)
        answer.ended = answer.began
        trace.answers.append(answer)

    @property
    def complete(self) -> bool:
        """Whether the answer reached its proper end."""
        return self._tracer.complete

    def feed(self, data: bytes, at: float | None = None) -> None:
        """Bytes came, so many seconds after the request."""
        self._take(self._tracer.feed(data, at), at)

    def close(self, at: float | None = None, error: ToolwireError | None = None) -> None:
        """No more comes."""
        self._take(self._tracer.close(at, error), at)
        answer, tracer = self.answer, self._tracer
        answer.complete, answer.error, answer.usage = tracer.complete, tracer.error, tracer.usage
        answer.stop_reason, answer.raw_stop_reason = tracer.stop_reason, tracer.raw_stop_reason
        answer.quirks = tracer.quirks

    def _take(self, frames: list[TracedFrame], at: float | None) -> None:
        answer, trace = self.answer, self.trace
        answer.bytes = self._tracer.bytes
        answer.ended = max(answer.ended, answer.began + (answer.bytes if at is None else at))
        for frame in frames:
            answer.frame_count += 1
            frame.number += self._numbered
            if answer.first_at is None and frame.raw:
                answer.first_at = frame.at
            place = answer.began + (frame.offset + frame.size if frame.at is None else frame.at)
            for event in frame.events:
                self._event(event, frame.number, place)
            trace.problems += frame.has_problem
            self._kept += len(frame.raw)
            if (frame.number <= KEPT_FRAMES and self._kept <= KEPT_BYTES) or (
                frame.has_problem and trace.problems <= KEPT_PROBLEMS
            ):
                answer.frames.append(frame)
            else:
                trace.left_out += 1

    def _event(self, event: SegmentEvent, number: int, place: float) -> None:
        if event.type is EventType.START:
            self._start(event, number, place)
        elif event.type is EventType.CONTENT:
            span = self._open.get(event.segment_id)
            if span is not None:
                span.characters += len(event.delta)
                span.pieces += 1
                span.last, span.end = number, place
                if not span.marks or span.marks[-1] != place:
                    span.marks.append(place)
            call = self._calls.get(event.segment_id)
            if call is not None:
                call.written.append(event.delta)
        elif event.type is EventType.END:
            self._end(event, number, place)
        elif event.type is EventType.DONE:
            for segment, problem in ((event.metadata or {}).get("problems") or {}).items():
                if segment in self._calls:
                    self._calls[segment].problem = problem

    def _start(self, event: SegmentEvent, number: int, place: float) -> None:
        kind = event.segment_type or SegmentType.TEXT
        span = Span(
            id=event.segment_id,
            kind=kind,
            name=event.tool_name or "",
            first=number,
            last=number,
            start=place,
            end=place,
        )
        self._open[span.id] = span
        self.answer.spans.append(span)
        if kind in CALL_SEGMENTS:
            call = TracedCall(id=span.id, name=span.name, kind=kind, first=number, last=number)
            self._calls[span.id] = call
            self.answer.calls.append(call)

    def _end(self, event: SegmentEvent, number: int, place: float) -> None:
        span = self._open.pop(event.segment_id, None)
        told = event.metadata or {}
        if span is not None:
            span.last, span.end = number, max(place, span.end)
            span.problem = str(told.get("problem", "")) or ("not finished" if told.get("incomplete") else "")
        call = self._calls.get(event.segment_id)
        if call is not None:
            call.last = number
            call.arguments = told.get("arguments")
            call.problem = str(told.get("problem", ""))
            call.repairs = [str(each) for each in told.get("repairs", ())]
