"""The segments of an answer as they are collected: what the events showed, and what must go back with it."""

from __future__ import annotations

from typing import Any

from ..chunks import Citation
from ..json_reader import FieldDelta, JsonReader
from ..tools.forms import HEAD_LENGTH, ToolForm
from .invocation import ArrivedCall
from .segments import SegmentType


class Segment:
    """One stretch of an answer as it was collected. One without an id was never shown: it only goes back."""

    __slots__ = (
        "choice",
        "citations",
        "closed",
        "metadata",
        "pieces",
        "provider_data",
        "segment_id",
        "segment_type",
        "tool_name",
    )

    def __init__(self, segment_type: SegmentType, choice: int, metadata: dict[str, Any] | None = None) -> None:
        self.segment_id = ""
        self.segment_type = segment_type
        self.tool_name = ""
        self.choice = choice
        self.metadata = metadata
        self.pieces: list[str] = []
        self.closed = False
        self.provider_data: dict[str, Any] | None = None
        self.citations: list[Citation] | None = None

    @property
    def text(self) -> str:
        """All content joined."""
        return "".join(self.pieces)


class CallSegment(Segment):
    """A call while it arrives. START is held back until the name is certainly whole, which the first argument text
    or the end says, and until the head of a tool with a form is known.

    `pieces` is what the model wrote: its arguments, or with a call in text all of it; `arguments` is the JSON.
    """

    __slots__ = ("arguments", "arrived", "format", "head", "index", "late_id", "reader")

    def __init__(self, choice: int, index: int, format_: str = "") -> None:
        super().__init__(SegmentType.TOOL_CALL, choice)
        self.index = index
        self.arrived = ArrivedCall(choice)
        self.format = format_
        """The text format that it is written in; empty: a native call."""
        self.arguments: list[str] = [] if format_ else self.pieces
        self.late_id = ""
        """The id in the model's text that came after the arguments, too late to be the segment's."""
        self.reader: JsonReader | None = None
        self.head: Head | None = None
        """While START waits for it."""


class Head:
    """Finds the argument that the start of a segment tells, among the fields that arrive."""

    __slots__ = ("_form", "_seen", "_value", "fields", "known")

    def __init__(self, form: ToolForm) -> None:
        self._form = form
        self._seen = 0
        self._value = ""
        self.fields: list[FieldDelta] = []
        """What has arrived while the start waited."""
        self.known: dict[str, str] | None = None
        """The head by its name, where it came whole, short, and before the body."""

    def take(self, fields: list[FieldDelta]) -> bool:
        """Takes what has arrived; True when the start need wait no longer."""
        self.fields += fields
        if not self._form.head:
            return True
        for field in fields:
            is_head = field.path == (self._form.head,)
            if not field.path or (not is_head and field.path[0] in self._form.body):
                return True
            self._seen += len(field.text)
            if self._seen > HEAD_LENGTH:
                return True
            if is_head:
                self._value += field.text
                if field.done:
                    self.known = {self._form.head: self._value}
                    return True
        return False
