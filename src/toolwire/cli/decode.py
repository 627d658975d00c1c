"""`toolwire decode`: recorded streams in, one JSON object a line out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from ..embedded.choosing import API_TOOL_CALL, StreamParser, as_parser
from ..errors import ConfigError, IncompleteStream, ProtocolError, ToolwireError
from ..providers.wires import WIRES, wire_format
from ..stream.pipeline import Stream
from ..stream.segments import EventType, SegmentEvent
from ..wire.eventstream import PRELUDE, begins_event_stream
from .inputs import as_text, read_pieces
from .recognise import Recording
from .showing import RECORD_AGAIN, Showing
from .tools_file import load_tools_file

if TYPE_CHECKING:
    from ..stream.reading import AnswerStream


def decode(
    *files: Annotated[str, Parameter(name="FILE")],
    wire: Annotated[str, Parameter(metavar="WIRE")] = "auto",
    summary: Annotated[bool, Parameter(negative="", show_default=False)] = False,
    cut: Annotated[str | None, Parameter(metavar="CUT")] = None,
    tools: Annotated[str | None, Parameter(metavar="TOOLS.JSON")] = None,
    stream_parser: Annotated[str, Parameter(metavar="PARSER")] = API_TOOL_CALL,
    fields: Annotated[bool, Parameter(negative="", show_default=False)] = False,
) -> int:
    """Shows what is in recorded streams, one JSON object per line.

    Parameters
    ----------
    files
        Recorded bodies of streamed answers; none, or "-", is standard input.
    wire
        The wire format: auto, openai-chat, openai-responses, anthropic, gemini, ollama, bedrock or cohere.
    summary
        One object a file: text, reasoning, calls, how it ended.
    cut
        Feed the bytes cut, every N (7) or at random (random:SEED). The result is the same.
    tools
        Check calls against these tools.
    stream_parser
        Where calls are: api_tool_call, a text format (see toolwire formats), or both (api_tool_call+xml).
    fields
        Show arguments decoded while they arrive.
    """
    wire = as_text(wire)
    if wire != "auto" and wire not in WIRES:
        raise ConfigError(f"there is no wire format {wire!r}", hint=f"Known: auto, {', '.join(WIRES)}.")
    parser = as_parser(as_text(stream_parser))
    offered = None if tools is None else load_tools_file(tools)
    return _Decoding(wire, parser, files, cut, tools=offered, summary=summary, fields=fields).show_all()


class _Decoding(Showing):
    """Bodies of streamed answers."""

    def __init__(self, wire: str, parser: StreamParser, *given: Any, **options: Any) -> None:
        super().__init__(*given, **options)
        self._wire = wire
        self._parser = parser

    def _read(self, name: str, shown: str) -> tuple[AnswerStream, ToolwireError | None]:
        recording = Recording(read_pieces(name))
        wire = self._wire
        if wire == "auto":
            try:
                wire = recording.recognise()
            except ConfigError:
                raise
            except ToolwireError as error:
                self._print([SegmentEvent(EventType.ERROR, error=error.info())], shown)
                return Stream(next(iter(WIRES))), error
        stream = Stream(wire_format(wire).name, self._tools, live_arguments=self._fields, stream_parser=self._parser)
        start = b""
        for data in self._cuts(recording):
            start = (start + data)[:PRELUDE] if len(start) < PRELUDE else start
            self._print(stream.feed(data), shown)
            if stream.complete or stream.error is not None:
                # Nothing that follows changes anything, and it may never end.
                break
        self._print(stream.close(), shown)
        if not start:
            return stream, IncompleteStream("it is empty: there is no stream in it", hint=RECORD_AGAIN)
        if stream.error is not None and wire != "bedrock" and begins_event_stream(start):
            return stream, ProtocolError("it is an AWS event stream", hint="Decode it with --wire bedrock.")
        return stream, stream.error
