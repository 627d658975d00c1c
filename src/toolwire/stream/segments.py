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
from ..json_reader import FieldDelta as FieldDelta


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
    MARKUP = "markup"
    """What stands around calls in text and is neither: code fences, brackets of a list. For no screen."""
    SERVER_TOOL = "server_tool"
    """A tool on the provider's side: what it was asked, or (metadata `result`) what it gave. Never run here."""


CALL_SEGMENTS = frozenset({SegmentType.TOOL_CALL, SegmentType.WRITE_FILE, SegmentType.EDIT_FILE, SegmentType.RUN_BASH})
"""All segment types that are calls."""


class SegmentEvent(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """One event. Which fields are set depends on `type`:

    START: segment_id, segment_type, tool_name (calls and server tools), metadata: for calls in text `position`, the
        characters of the answer before them; for tools with a form (`toolwire.tools.forms`) their head, `path` say
    CONTENT: segment_id, delta (for calls their text as the model wrote it: the arguments, or with calls in text the
        whole call), fields (what that adds to each argument, decoded: when live arguments are on, or the tool has a
        form)
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
