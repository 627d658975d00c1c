"""`toolwire decode`: recorded streams in, one JSON object a line out."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from ..errors import ConfigError, IncompleteStream, ProtocolError, ToolwireError
from ..providers.wires import WIRES, wire_format
from ..stream.pipeline import Stream
from ..stream.segments import EventType, SegmentEvent
from ..wire.eventstream import PRELUDE, begins_event_stream
from .faults import FAILED, say
from .inputs import STANDARD_INPUT, Cut, as_text, check_files, read_pieces
from .recognise import Recording
from .tools_file import load_tools_file
from .visible import json_bytes

if TYPE_CHECKING:
    from ..tools.definition import ToolDefinition


_RECORD_AGAIN = "What arrived is shown; record the answer again for the rest."


def decode(
    *files: Annotated[str, Parameter(name="FILE")],
    wire: Annotated[str, Parameter(metavar="WIRE")] = "auto",
    summary: Annotated[bool, Parameter(negative="", show_default=False)] = False,
    cut: Annotated[str | None, Parameter(metavar="CUT")] = None,
    tools: Annotated[str | None, Parameter(metavar="TOOLS.JSON")] = None,
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
    fields
        Show arguments decoded while they arrive.
    """
    names = list(files) or [STANDARD_INPUT]
    cuts = Cut(None if cut is None else as_text(cut))
    wire = as_text(wire)
    if wire != "auto" and wire not in WIRES:
        raise ConfigError(f"there is no wire format {wire!r}", hint=f"Known: auto, {', '.join(WIRES)}.")
    offered = None if tools is None else load_tools_file(tools)
    check_files(names)
    job = _Decoding(wire, cuts, offered, summary=summary, fields=fields, name_events=len(names) > 1)
    broken = [name for name in names if not job.decode(name)]
    return FAILED if broken else 0


class _Decoding:
    """One run of the command over its files."""

    def __init__(
        self,
        wire: str,
        cuts: Cut,
        tools: list[ToolDefinition] | None,
        *,
        summary: bool,
        fields: bool,
        name_events: bool,
    ) -> None:
        self._wire = wire
        self._cuts = cuts
        self._tools = tools
        self._summary = summary
        self._fields = fields
        self._name_events = name_events
        self._write = sys.stdout.buffer.write

    def decode(self, name: str) -> bool:
        """Prints what is in one file; False, and a sentence, if it is no complete stream."""
        shown = as_text(name)
        stream, failure = self._feed(name, shown)
        if self._summary:
            found = stream.summary()
            if failure is not None and found["error"] is None:
                found["error"] = failure.info()
            self._write(json_bytes({"file": shown, **found}) + b"\n")
        sys.stdout.buffer.flush()
        if failure is None:
            return True
        sentence, hint = _sentence(stream, failure)
        say(f"{'standard input' if name == STANDARD_INPUT else shown}: {sentence}", hint)
        return False

    def _feed(self, name: str, shown: str) -> tuple[Stream, ToolwireError | None]:
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
        stream = Stream(wire_format(wire).name, self._tools, live_arguments=self._fields)
        start = b""
        for data in self._cuts(recording):
            start = (start + data)[:PRELUDE] if len(start) < PRELUDE else start
            self._print(stream.feed(data), shown)
            if stream.complete or stream.error is not None:
                # Nothing that follows changes anything, and it may never end.
                break
        self._print(stream.close(), shown)
        if not start:
            return stream, IncompleteStream("it is empty: there is no stream in it", hint=_RECORD_AGAIN)
        if stream.error is not None and wire != "bedrock" and begins_event_stream(start):
            return stream, ProtocolError("it is an AWS event stream", hint="Decode it with --wire bedrock.")
        return stream, stream.error

    def _print(self, events: Iterable[SegmentEvent], shown: str) -> None:
        if self._summary:
            return
        wrote = False
        for event in events:
            line = json_bytes(event)
            if self._name_events:
                line = b'{"file":' + json_bytes(shown) + b"," + line[1:]
            self._write(line + b"\n")
            wrote = True
        if wrote:
            sys.stdout.buffer.flush()


def _sentence(stream: Stream, failure: ToolwireError) -> tuple[str, str]:
    """What is wrong with a recording, and what to do about it."""
    words, hint = failure.message, failure.hint
    if isinstance(failure, IncompleteStream) and failure is stream.error:
        hint = _RECORD_AGAIN
    calls: list[dict[str, Any]] = stream.summary()["calls"]
    stuck = sum(not call["complete"] for call in calls)
    if stuck:
        words += f": {stuck} call{' is' if stuck == 1 else 's are'} incomplete and would not run"
    return words, hint
