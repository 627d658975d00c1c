"""The segments of an answer as they are collected: what the events showed, and what must go back with it."""

from __future__ import annotations

from typing import Any

from ..chunks import Citation
from .arguments import ArgumentReader
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
    or the end says.
    """

    __slots__ = ("arrived", "index", "reader")

    def __init__(self, choice: int, index: int) -> None:
        super().__init__(SegmentType.TOOL_CALL, choice)
        self.index = index
        self.arrived = ArrivedCall(choice)
        self.reader: ArgumentReader | None = None
