"""A recording of Toolwire's own (`toolwire run --record`) as a trace: every request with its answer, at their times."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from ..agent.events import (
    ApprovalAnswered,
    ApprovalAsked,
    HistoryCompacted,
    HistoryMoved,
    NestedEvent,
    ParserChanged,
    RequestRetried,
    RunFailed,
    RunFinished,
    RunInterrupted,
    ToolFinished,
    ToolsChanged,
    ToolStarted,
    TurnStarted,
)
from ..agent.recordings.playing import as_played
from ..agent.recordings.recorded import (
    VERSION,
    ChunkLine,
    EndLine,
    EventLine,
    Header,
    Line,
    RequestLine,
    RunLine,
    event_from_json,
)
from ..errors import IncompleteStream, RecordingFailed, ToolwireError, revived
from ..limits import MIB
from ..providers.wires import WIRES
from ..stream.segments import EventType
from ..tools.definition import ToolDefinition
from .trace import Happening, Span, Trace, TracedAnswer, TracedCall, Tracking
from .tracer import Tracer

LONGEST_LINE = 256 * MIB
MOST_HAPPENINGS = 10_000
_RECENT = 4
_KIND = b'{"record":"toolwire-recording"'
_LINE = msgspec.json.Decoder(Line)
_SEGMENT_EVENTS = frozenset(EventType)
_HINT = "Recordings are made by `toolwire run --record FILE` or by toolwire.Recorder."


def begins_recording(start: bytes) -> bool:
    """Whether these bytes begin a recording of Toolwire's own."""
    return start.startswith(_KIND)


def trace_recording(pieces: Iterable[bytes], name: str, *, tools: list[ToolDefinition] | None = None) -> Trace:
    """Everything in a recording. What is none is a `RecordingFailed`; a last line that was cut is left out."""
    reading = _Reading(name, tools)
    lines = _lines(pieces, name)
    for number, (line, is_whole) in enumerate(lines, 1):
        try:
            reading.take(_LINE.decode(line))
        except (ToolwireError, msgspec.DecodeError, UnicodeDecodeError, ValueError, RecursionError) as error:
            if not is_whole and number > 1:
                reading.trace.cut = True
                break
            raise RecordingFailed(
                f"{name} is no recording: line {number}: {error}", hint=_HINT, path=name, line=number
            ) from None
    return reading.finish()


def _lines(pieces: Iterable[bytes], name: str) -> Iterator[tuple[bytes, bool]]:
    held = bytearray()
    for data in pieces:
        held += data
        if b"\n" in data:
            lines = bytes(held).split(b"\n")
            held = bytearray(lines.pop())
            for line in lines:
                yield line, True
        elif len(held) > LONGEST_LINE:
            raise RecordingFailed(f"{name} is no recording: a line is longer than {LONGEST_LINE:,} bytes", hint=_HINT)
    if held:
        yield bytes(held), False


class _Reading:
    """One recording while it is read."""

    def __init__(self, name: str, tools: list[ToolDefinition] | None) -> None:
        self.trace = Trace(name=name, what="a recording of Toolwire", timed=True)
        self._given = tools
        self._tools: list[ToolDefinition] = tools or []
        self._header: Header | None = None
        self._parser = ""
        self._turn = 0
        self._tracking: Tracking | None = None
        self._last = 0.0
        self._running: dict[str, Span] = {}
        self._is_over = True

    def take(self, line: Line) -> None:
        """One line; raises `msgspec.ValidationError` where it has no place there."""
        if isinstance(line, Header):
            self._begin(line)
        elif self._header is None:
            raise msgspec.ValidationError("the first line does not say what was recorded")
        else:
            self._last = max(self._last, line.at)
            if isinstance(line, RunLine):
                self._is_over = False
                self._tell(line.at, f"question: {line.prompt.text}")
            elif isinstance(line, RequestLine):
                self._request(line)
            elif isinstance(line, EventLine):
                if line.event.get("type") not in _SEGMENT_EVENTS:
                    self._event(line.at, event_from_json(line.event))
            elif self._tracking is None:
                raise msgspec.ValidationError("it belongs to no request")
            elif isinstance(line, ChunkLine):
                self._tracking.feed(line.data, line.at - self._tracking.answer.began)
            else:
                self._end(line)

    def finish(self) -> Trace:
        """The trace, when there are no more lines."""
        if self._header is None:
            raise RecordingFailed(f"{self.trace.name} is no recording: it is empty", hint=_HINT, path=self.trace.name)
        if self._tracking is not None:
            self._close(self._last, IncompleteStream("the recording breaks off before the end of the answer"))
        self.trace.cut |= not self._is_over
        for span in self._running.values():
            span.end = max(span.end, self._last)
        return self.trace

    def _begin(self, header: Header) -> None:
        if self._header is not None:
            raise msgspec.ValidationError("here a second recording begins")
        if header.version != VERSION:
            raise msgspec.ValidationError(f"it is of version {header.version}, and this Toolwire reads {VERSION}")
        if header.wire not in WIRES:
            raise msgspec.ValidationError(f"there is no wire format {header.wire[:80]!r}")
        self._header = header
        self._parser = header.parser or "api_tool_call"
        if self._given is None:
            self._tools = [as_played(tool) for tool in header.tools]
        self.trace.facts = [
            ("recorded", header.started.replace("T", " ").replace("Z", " UTC")),
            ("model", f"{header.provider}:{header.model}"),
            ("server", header.base_url + header.path),
            ("parser", self._parser),
            ("tools", ", ".join(tool.name for tool in header.tools) or "none"),
            ("Toolwire", header.toolwire),
        ]

    def _request(self, line: RequestLine) -> None:
        if self._tracking is not None:
            self._close(line.at, IncompleteStream("another request was sent before the end of this answer"))
        assert self._header is not None
        prefix = f"t{self._turn}-"
        tracer = Tracer(self._header.wire, self._tools, stream_parser=self._parser, segment_id_prefix=prefix)
        answer = TracedAnswer(
            number=len(self.trace.answers) + 1,
            wire=self._header.wire,
            parser=self._parser,
            url=line.url,
            model=line.model,
            sent=len(msgspec.json.encode(line.body)),
            began=line.at,
        )
        self._tracking = Tracking(self.trace, answer, tracer)

    def _end(self, line: EndLine) -> None:
        error = None if line.error is None else revived(line.error)
        if line.how == "closed" and self._tracking is not None and not self._tracking.complete:
            error = IncompleteStream("it was closed on this side: the run was interrupted, or had failed")
        self._close(line.at, error)

    def _close(self, at: float, error: ToolwireError | None) -> None:
        if self._tracking is not None:
            self._tracking.close(at - self._tracking.answer.began, error)
            self._tracking = None

    def _tell(self, at: float, words: str, level: str = "note") -> None:
        if len(self.trace.happenings) < MOST_HAPPENINGS:
            self.trace.happenings.append(Happening(at, words, level))

    def _event(self, at: float, event: Any) -> None:
        if isinstance(event, TurnStarted):
            self._turn = event.turn
        elif isinstance(event, ParserChanged):
            self._parser = event.parser
            self._tell(at, f"calls are read otherwise from now on ({event.parser}): {event.why}")
        elif isinstance(event, ToolsChanged):
            self._tools_changed(event)
            for note in event.notes:
                self._tell(at, note)
        elif isinstance(event, HistoryMoved | HistoryCompacted):
            for note in event.notes:
                self._tell(at, note)
        elif isinstance(event, RequestRetried):
            words = f"attempt {event.attempt} failed, again in {event.seconds:.1f} s: {event.error.message}"
            self._tell(at, words, "problem")
        elif isinstance(event, ApprovalAsked | ApprovalAnswered | ToolStarted | ToolFinished):
            self._call_event(at, event)
        elif isinstance(event, NestedEvent):
            return
        elif isinstance(event, RunFinished | RunInterrupted | RunFailed):
            self._is_over = True
            self._run_end(at, event)

    def _tools_changed(self, event: ToolsChanged) -> None:
        if self._given is None:
            gone = {*event.removed, *(tool.name for tool in event.added)}
            self._tools = [*(tool for tool in self._tools if tool.name not in gone), *map(as_played, event.added)]

    def _call_event(self, at: float, event: ApprovalAsked | ApprovalAnswered | ToolStarted | ToolFinished) -> None:
        call = self._call(event.id)
        name = call.name if call is not None else event.id
        if isinstance(event, ApprovalAsked):
            self._tell(at, f"asked about {name}: {event.request.why}")
        elif isinstance(event, ApprovalAnswered):
            words = f"{'allowed' if event.allowed else 'denied'} by {event.who}"
            words += f" ({event.reason})" if event.reason else ""
            if call is not None:
                call.decision = words
            self._tell(at, f"{name}: {words}", "note" if event.allowed else "problem")
        elif isinstance(event, ToolStarted):
            span = Span(id=event.id, kind="running", name=event.invocation.tool_name, start=at, end=at)
            self._running[event.id] = span
            self.trace.running.append(span)
            self._tell(at, f"{event.invocation.tool_name} runs")
        else:
            self._finished(at, event, call)

    def _finished(self, at: float, event: ToolFinished, call: TracedCall | None) -> None:
        result = event.result
        span = self._running.pop(event.id, None)
        outcome = result.outcome or "not run"
        if span is not None:
            span.end = at
            span.problem = result.outcome if result.is_error else ""
        if call is not None:
            call.outcome, call.result, call.is_error = outcome, result.content, result.is_error
            call.seconds = result.seconds if span is not None else None
        words = f"{result.name}: {outcome}" + (f" after {result.seconds:.2f} s" if span is not None else "")
        self._tell(at, words, "problem" if result.is_error else "note")

    def _run_end(self, at: float, event: RunFinished | RunInterrupted | RunFailed) -> None:
        if isinstance(event, RunFailed):
            self._tell(at, f"the run failed: {event.error.type}: {event.error.message}", "problem")
        elif isinstance(event, RunInterrupted):
            self._tell(at, "the run was interrupted")
        else:
            self._tell(at, f"the run finished after {event.turns} turn{'' if event.turns == 1 else 's'}")

    def _call(self, id: str) -> TracedCall | None:
        # Of the last answer, or of the one before an answer that failed.
        for answer in reversed(self.trace.answers[-_RECENT:]):
            for call in answer.calls:
                if call.id == id:
                    return call
        return None
