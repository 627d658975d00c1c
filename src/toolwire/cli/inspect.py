"""`toolwire inspect`: recorded answers frame by frame, beside the events that they became."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from ..embedded.choosing import API_TOOL_CALL, as_parser
from ..errors import ConfigError, ToolwireError
from ..inspection.recording import begins_recording, trace_recording
from ..inspection.text_tracer import TextTracer
from ..inspection.trace import Trace, TracedAnswer, Tracking
from ..inspection.tracer import Tracer
from ..limits import Limits
from ..providers.wires import WIRES, wire_format
from .export import write_export
from .inputs import SMALL, STANDARD_INPUT, as_text, check_files, read_pieces
from .inspect_shown import InspectScreen, frame_json
from .recognise import Recording
from .tools_file import load_tools_file

if TYPE_CHECKING:
    from ..inspection.frames import TracedFrame
    from ..tools.definition import ToolDefinition

TEXT = "text"
"""The name for no wire at all: what a model wrote, as plain text."""
_NARROWEST, _WIDEST = 40, 1_000
_START = 64


def inspect(
    file: Annotated[str, Parameter(name="FILE", show_default=False)] = STANDARD_INPUT,
    /,
    *,
    wire: Annotated[str, Parameter(metavar="WIRE")] = "auto",
    format: Annotated[str | None, Parameter(metavar="FORMAT")] = None,
    tools: Annotated[str | None, Parameter(metavar="TOOLS.JSON")] = None,
    frames: Annotated[str | None, Parameter(metavar="FROM-TO")] = None,
    problems: Annotated[bool, Parameter(negative="", show_default=False)] = False,
    pretty: Annotated[bool, Parameter(negative="", show_default=False)] = False,
    width: Annotated[int | None, Parameter(metavar="COLUMNS")] = None,
    json: Annotated[bool, Parameter(negative="", show_default=False)] = False,
    html: Annotated[str | None, Parameter(metavar="OUT")] = None,
    force: Annotated[bool, Parameter(negative="", show_default=False)] = False,
) -> int:
    """Shows recorded answers frame by frame, beside the events that they became.

    Parameters
    ----------
    file
        The body of a streamed answer, or what toolwire run --record wrote; none, or "-", is standard input.
    wire
        The wire format: auto, openai-chat, openai-responses, anthropic, gemini, ollama, bedrock or cohere; text is
        plain text without a wire.
    format
        Look for calls in the text, written so (see toolwire formats); api_tool_call+FORMAT is both. What is no
        recorded stream is then read as plain text.
    tools
        Check calls against these tools. A recording brings its own.
    frames
        Only these frames: 12, 10-40 or 200-.
    problems
        Only the frames with problems.
    pretty
        Frames whole, their JSON laid out.
    width
        Columns to use; from 120 on, frames and events stand side by side.
    json
        One JSON object per frame.
    html
        Write one self-contained page to this file instead: timeline, frames, calls, problems.
    force
        Replace a page that is there.
    """
    wire = as_text(wire)
    if wire not in ("auto", TEXT, *WIRES):
        raise ConfigError(f"there is no wire format {wire!r}", hint=f"Known: auto, {', '.join(WIRES)}, {TEXT}.")
    if width is not None and not _NARROWEST <= width <= _WIDEST:
        raise ConfigError(f"--width {width} is no width", hint=f"Give {_NARROWEST} to {_WIDEST} columns.")
    if json and html is not None:
        raise ConfigError("--json and --html are two ways to show it", hint="Choose one of them.")
    wanted = _Wanted(None if frames is None else as_text(frames), problems)
    offered = None if tools is None else load_tools_file(tools)
    check_files([file])
    trace = trace_of(file, wire=wire, format=None if format is None else as_text(format), tools=offered)
    if html is not None:
        from ..inspection.page import page

        write_export(page(trace), html, force=force)
        return 0
    shown = list(wanted.of(trace))
    if json:
        for answer, frame in shown:
            frame_json(trace, answer, frame)
        return 0
    InspectScreen(trace, width, pretty=pretty).show(shown, is_choice=wanted.is_choice)
    return 0


def trace_of(
    name: str, *, wire: str = "auto", format: str | None = None, tools: list[ToolDefinition] | None = None
) -> Trace:
    """Everything that is in a file: a recorded body, a recording of Toolwire's own, or the text of an answer.

    Raises a `ToolwireError` that says what it is instead. Faults within a body are part of the trace.
    """
    shown = "standard input" if name == STANDARD_INPUT else as_text(name)
    pieces = iter(read_pieces(name))
    start = b""
    for data in pieces:
        start += data
        if len(start) >= _START:
            break
    whole: Iterator[bytes] = chain([start] if start else [], pieces)
    if wire == "auto" and begins_recording(start):
        if format is not None:
            raise ConfigError("a recording says itself how its calls were read", hint="Leave --format away.")
        return trace_recording(whole, shown, tools=tools)
    if wire == "auto":
        recording = Recording(whole)
        try:
            wire, whole = recording.recognise(), iter(recording)
        except ToolwireError as error:
            if format is None:
                error.message = f"{shown}: {error.message}"
                raise
            wire, whole = TEXT, iter(recording)
    return _traced(shown, whole, wire, format, tools)


def _traced(
    name: str, pieces: Iterable[bytes], wire: str, format: str | None, tools: list[ToolDefinition] | None
) -> Trace:
    trace = Trace(name=name, what="a recorded stream")
    answer = TracedAnswer(number=1, wire=wire, parser=API_TOOL_CALL if format is None else format)
    tracer: Tracer | TextTracer
    if wire == TEXT:
        from .text_formats import named_format

        trace.what = "the text of an answer"
        chosen = named_format(format, None, None, tools)
        answer.parser = chosen.name
        tracer = TextTracer(chosen, tools, limits=Limits(stream=SMALL))
    else:
        parser = as_parser(answer.parser)
        answer.parser = parser.name
        tracer = Tracer(wire_format(wire).name, tools, stream_parser=parser)
    tracking = Tracking(trace, answer, tracer)
    for data in pieces:
        tracking.feed(data)
        if tracer.ended or (tracer.error is not None and answer.bytes > SMALL):
            # Nothing that follows is shown, and it may never end.
            break
    tracking.close()
    return trace


class _Wanted:
    """Which frames are shown."""

    def __init__(self, range_: str | None, problems: bool) -> None:
        self.is_choice = range_ is not None or problems
        self._problems = problems
        self._first, self._last = 1, None if range_ is None else 1
        if range_ is not None:
            first, dash, last = range_.partition("-")
            if not (_is_number(first) and (_is_number(last) or not last)) or (last and int(last) < int(first)):
                raise ConfigError(
                    f"--frames {range_} names no frames", hint="Give one, a range, or all from one on: 12, 10-40, 200-"
                )
            self._first = int(first)
            self._last = int(last) if last else None if dash else int(first)

    def of(self, trace: Trace) -> Iterator[tuple[TracedAnswer, TracedFrame]]:
        """Those of a trace, each with its answer."""
        for answer in trace.answers:
            for frame in answer.frames:
                if frame.number < self._first or (self._last is not None and frame.number > self._last):
                    continue
                if not self._problems or frame.has_problem:
                    yield answer, frame


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and 0 < len(text) < 12
