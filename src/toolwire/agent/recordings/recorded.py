"""A recording: one agent's runs as a file of JSON lines, written by `Recorder` and read by `load_recording`.

The first line says what was recorded and how the agent was made. Then, in the order in which things happened: `run`, a
question and the conversation that it came into; `request`, what was sent; `chunk`, bytes of its answer as they came;
`end`, how the answer ended; `event`, what the run told. Each line has its time (`at`, in seconds).
"""

from __future__ import annotations

import os
from base64 import b64decode, b64encode
from contextlib import suppress
from io import BytesIO
from pathlib import Path
from typing import Any

import msgspec

from ...errors import ErrorInfo, RecordingFailed
from ...limits import MIB
from ...messages import Message
from ...stream.segments import EventType, SegmentEvent
from ...tools.definition import Risk
from ..asking import Retries
from ..bounds import Bounds
from ..events import (
    AgentEvent,
    ApprovalAnswered,
    ApprovalAsked,
    HistoryCompacted,
    HistoryMoved,
    HookFailed,
    NestedEvent,
    ParserChanged,
    RequestRetried,
    RunEnd,
    RunFailed,
    RunFinished,
    RunInterrupted,
    RunStarted,
    ToolFinished,
    ToolProgress,
    ToolsChanged,
    ToolStarted,
    TurnStarted,
)

VERSION = 1
LARGEST = 512 * MIB
"""Bytes of a recording: what one process still reads."""
_KIND = "toolwire-recording"


class RecordedTool(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A tool as the model was told of it, and its risk."""

    name: str
    description: str = ""
    parameters: dict[str, Any] = {}
    risk: Risk | None = None


class Header(msgspec.Struct, frozen=True, kw_only=True, tag=_KIND, tag_field="record", omit_defaults=True):
    """The first line: what was recorded, and how the agent was made."""

    version: int
    toolwire: str
    started: str
    provider: str
    model: str
    wire: str
    base_url: str = ""
    """Without user, password and query."""
    path: str = ""
    """The rest of the URL, without query."""
    parser: str = ""
    """How calls were read, as `RunStarted.parser`."""
    repair: bool = False
    fallback: str = ""
    """How they were to be read if it turned out that the provider takes no tools."""
    tools: list[RecordedTool] = []
    system_prompt: str = ""
    options: dict[str, Any] = {}
    bounds: Bounds = Bounds()
    retries: Retries = Retries()
    context_tokens: int | None = None


class RunLine(msgspec.Struct, frozen=True, tag="run", tag_field="record"):
    """A question, how many turns there had been before it, and the conversation that it came into."""

    at: float
    prompt: Message
    tool_choice: str
    turn: int
    history: list[Message]


class RequestLine(msgspec.Struct, frozen=True, tag="request", tag_field="record", omit_defaults=True):
    """What was sent. Headers and the query are not kept: the key is there."""

    at: float
    number: int
    url: str
    body: Any
    model: str = ""
    """As the agent knows it then: the embedded one has its name when it has started."""
    shaped: bool = False
    """The embedded model is small: requests to it are shaped (`toolwire.local.shaping`)."""


class ChunkLine(msgspec.Struct, frozen=True, tag="chunk", tag_field="record", omit_defaults=True):
    """Bytes as they came: as text where they are, else in Base64."""

    at: float
    text: str = ""
    base64: str = ""

    @property
    def data(self) -> bytes:
        """The bytes."""
        return b64decode(self.base64) if self.base64 else self.text.encode()


def chunk_line(at: float, data: bytes) -> ChunkLine:
    """The line for these bytes."""
    try:
        return ChunkLine(at, text=data.decode())
    except UnicodeDecodeError:
        return ChunkLine(at, base64=b64encode(data).decode())


class EndLine(msgspec.Struct, frozen=True, tag="end", tag_field="record", omit_defaults=True):
    """How the answer ended: `end`, `closed` (on this side: it was complete, or the run was interrupted) or `error`."""

    at: float
    how: str
    error: ErrorInfo | None = None


class EventLine(msgspec.Struct, frozen=True, tag="event", tag_field="record"):
    """What the run told, as JSON. The live fields of arguments are left out: they follow from the bytes."""

    at: float
    event: dict[str, Any]


Line = Header | RunLine | RequestLine | ChunkLine | EndLine | EventLine


class Answer(msgspec.Struct):
    """One request and what came back."""

    request: RequestLine
    chunks: list[ChunkLine] = []
    end: EndLine | None = None
    """None where the recording breaks off before."""

    @property
    def body(self) -> list[bytes]:
        """The bytes, cut as they came."""
        return [chunk.data for chunk in self.chunks]


class RecordedRun(msgspec.Struct):
    """One question, and everything until its run ended."""

    begin: RunLine
    answers: list[Answer] = []
    events: list[AgentEvent] = []


class Recording(msgspec.Struct):
    """What `load_recording` gives."""

    header: Header
    runs: list[RecordedRun] = []
    cut: bool = False
    """It breaks off, in a line or in a run: whoever wrote it was killed."""


_LINE = msgspec.json.Decoder(Line)
_PLAIN_EVENT = (
    ApprovalAnswered
    | ApprovalAsked
    | HistoryCompacted
    | HistoryMoved
    | HookFailed
    | ParserChanged
    | RequestRetried
    | RunFailed
    | RunFinished
    | RunInterrupted
    | RunStarted
    | ToolFinished
    | ToolProgress
    | ToolStarted
    | ToolsChanged
    | TurnStarted
)
_SEGMENT_EVENTS = frozenset(EventType)


def event_from_json(value: dict[str, Any]) -> AgentEvent:
    """An event of a run, from what it is as JSON; raises `msgspec.ValidationError` for what is none."""
    kind = value.get("type")
    if isinstance(kind, str) and kind in _SEGMENT_EVENTS:
        return msgspec.convert(value, SegmentEvent)
    if kind == "nested":
        try:
            return NestedEvent(int(value["turn"]), str(value["id"]), event_from_json(value["event"]))
        except (KeyError, TypeError, AttributeError) as error:
            raise msgspec.ValidationError(f"a nested event without its {error}") from None
    return msgspec.convert(value, _PLAIN_EVENT)  # type: ignore[no-any-return]


def load_recording(path: str | os.PathLike[str]) -> Recording:
    """Reads a recording. A last line that was cut is left out; anything else that is none is a `RecordingFailed`."""
    name = os.fspath(path)
    try:
        with Path(path).open("rb") as file:
            # Of what says no size, or another than it has (a pipe, a device), no more is read either.
            data = file.read(LARGEST + 1) if os.fstat(file.fileno()).st_size <= LARGEST else None
        if data is None or len(data) > LARGEST:
            raise RecordingFailed(f"{name} is larger than any recording ({LARGEST:,} bytes)", path=name)
        return _read(BytesIO(data).readlines(), name)
    except OSError as error:
        raise RecordingFailed(f"cannot read {name}: {error.strerror or error}", path=name) from None


def _read(lines: list[bytes], name: str) -> Recording:
    recording: Recording | None = None
    _check_version(lines[:1], name)
    for number, line in enumerate(lines, 1):
        try:
            read = _LINE.decode(line)
            if isinstance(read, Header) and recording is None:
                recording = Recording(read, [])
            elif recording is None:
                raise msgspec.ValidationError("the first line does not say what was recorded")
            elif isinstance(read, Header):
                raise msgspec.ValidationError("here a second recording begins")
            else:
                _add(recording, read)
        except (msgspec.DecodeError, UnicodeDecodeError, ValueError, RecursionError) as error:
            if recording is not None and number == len(lines) and not line.endswith(b"\n"):
                recording.cut = True
                break
            raise RecordingFailed(
                f"{name} is no recording: line {number}: {error}",
                hint="Recordings are made by `toolwire run --record FILE` or by toolwire.Recorder.",
                path=name,
                line=number,
            ) from None
    if recording is None:
        raise RecordingFailed(f"{name} is no recording: it is empty", path=name, line=0)
    if recording.runs:
        told = recording.runs[-1].events
        recording.cut |= not (told and isinstance(told[-1], RunEnd))
    return recording


class _Versioned(msgspec.Struct, tag=_KIND, tag_field="record"):
    """What the first line says in every version, whatever else is in it."""

    version: int
    toolwire: str = ""


def _check_version(lines: list[bytes], name: str) -> None:
    """Says so of a recording that another Toolwire made; what is none at all is told of where it is read."""
    for line in lines:
        with suppress(msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            first = msgspec.json.decode(line, type=_Versioned)
            if first.version != VERSION:
                raise RecordingFailed(
                    f"{name} is a recording of version {first.version}, and this Toolwire reads version {VERSION}",
                    hint=f"Play it with the Toolwire that made it{f': {first.toolwire}' if first.toolwire else ''}.",
                    path=name,
                    line=1,
                )


def _add(recording: Recording, line: Line) -> None:
    if isinstance(line, RunLine):
        recording.runs.append(RecordedRun(line, [], []))
        return
    if not recording.runs:
        raise msgspec.ValidationError("it belongs to no run")
    run = recording.runs[-1]
    if isinstance(line, EventLine):
        run.events.append(event_from_json(line.event))
    elif isinstance(line, RequestLine):
        run.answers.append(Answer(line, []))
    elif not run.answers:
        raise msgspec.ValidationError("it belongs to no request")
    elif isinstance(line, ChunkLine):
        line.data  # noqa: B018 - Base64 that is none is told here, with its line
        run.answers[-1].chunks.append(line)
    elif isinstance(line, EndLine):
        run.answers[-1].end = line
