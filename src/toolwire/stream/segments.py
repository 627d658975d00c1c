"""`SegmentEvent`: the one stream of events that everything to the right of the wire consumes.

An answer is a sequence of segments. Each segment is a START, any number of CONTENT and exactly one END with the same
`segment_id`; segments of different ids may interleave. The stream itself ends with exactly one DONE (it reached its
proper end) or one ERROR (it did not), which is always the last event.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import msgspec

from ..chunks import StopReason, TokenUsage
from ..errors import ErrorInfo


class EventType(StrEnum):
    """What an event says."""

    START = "start"
    CONTENT = "content"
    END = "end"
    DONE = "done"
    ERROR = "error"


class SegmentType(StrEnum):
    """What a segment holds. The tool-specific ones are calls whose arguments a screen shows in a special way."""

    TEXT = "text"
    REASONING = "reasoning"
    TOOL_CALL = "tool_call"
    WRITE_FILE = "write_file"
    EDIT_FILE = "edit_file"
    RUN_BASH = "run_bash"
    MEDIA = "media"
    SERVER_TOOL = "server_tool"
    """A tool on the provider's side: what it was asked, or (metadata `result`) what it gave. Never run here."""


TOOL_SEGMENTS: dict[str, SegmentType] = {
    "write_file": SegmentType.WRITE_FILE,
    "edit_file": SegmentType.EDIT_FILE,
    "patch_file": SegmentType.EDIT_FILE,
    "run_bash": SegmentType.RUN_BASH,
}
"""Tools whose calls have a segment type of their own."""

CALL_SEGMENTS = frozenset({SegmentType.TOOL_CALL, *TOOL_SEGMENTS.values()})
"""All segment types that are calls."""


class FieldDelta(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """Decoded text of one argument while it arrives: for a screen, never for execution.

    `path` leads to the value (`("files", 0, "content")`); `text` is what was added to it, with escapes decoded for
    strings and as written for numbers and literals; `done` says that the value has ended.
    """

    path: tuple[str | int, ...]
    text: str = ""
    done: bool = False


class SegmentEvent(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """One event. Which fields are set depends on `type`:

    START: segment_id, segment_type, tool_name (calls and server tools), metadata
    CONTENT: segment_id, delta (for calls the raw argument text), fields (calls, when live arguments are on)
    END: segment_id, metadata: for calls `arguments` or else `problem`, why nothing will run; for text `citations`
    DONE: stop_reason, usage, metadata: `problems` of calls that had ended well and may not run, late `citations`
    ERROR: error
    """

    type: EventType
    segment_id: str = ""
    delta: str = ""
    segment_type: SegmentType | None = None
    tool_name: str | None = None
    fields: list[FieldDelta] | None = None
    metadata: dict[str, Any] | None = None
    stop_reason: StopReason | None = None
    usage: TokenUsage | None = None
    error: ErrorInfo | None = None
