"""From the segments of an answer to the `Message` that stands for it in the history."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..messages import MediaPart, Message, Part, TextPart, ThinkingPart, ToolCallPart
from .handlers import CallSegment, Segment
from .segments import SegmentType


def answer_message(segments: Iterable[Segment], provider_data: list[dict[str, Any]]) -> Message:
    """The assistant's message: the first choice's segments in order, each call under its segment's id.

    A call that may not run keeps its place with empty arguments, so that its result can say what was wrong; its own
    broken text never goes back, since several servers refuse a history that holds it. A call without a name has no
    place in any provider's history and is left out.
    """
    parts: list[Part] = []
    for segment in segments:
        if segment.choice:
            continue
        if isinstance(segment, CallSegment):
            if segment.arrived.name:
                parts.append(_call_part(segment))
        elif segment.segment_type is SegmentType.TEXT:
            parts.append(TextPart(segment.text, refusal=bool(segment.metadata)))
        elif segment.segment_type is SegmentType.REASONING:
            parts.append(ThinkingPart(segment.text))
        elif segment.metadata is not None:
            kind = segment.metadata["media"]
            if kind == "audio/base64":
                parts.append(MediaPart("audio", data=segment.text))
            else:
                parts.append(MediaPart(kind, url=segment.text))
    return Message("assistant", parts, list(provider_data))


def _call_part(segment: CallSegment) -> ToolCallPart:
    arrived = segment.arrived
    if arrived.arguments is None:
        return ToolCallPart(segment.segment_id, arrived.name, provider_data=segment.provider_data)
    raw = arrived.raw.strip()
    return ToolCallPart(
        segment.segment_id,
        arrived.name,
        arrived.arguments,
        raw if raw.startswith("{") else None,
        segment.provider_data,
    )
