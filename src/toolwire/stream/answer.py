"""From the segments of an answer to the `Message` that stands for it in the history."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..messages import MediaPart, Message, OpaquePart, Part, TextPart, ThinkingPart, ToolCallPart, Written
from .collected import CallSegment, Segment
from .segments import SegmentType


def answer_message(segments: Iterable[Segment], provider_data: list[dict[str, Any]]) -> Message:
    """The assistant's message: the first choice's segments in order, each call under its segment's id.

    A call that may not run keeps its place with empty arguments, so that its result can say what was wrong; its own
    broken text never goes back, since several servers refuse a history that holds it. A call without a name has no
    place in any provider's history and is left out, and so is one that says another once more. A call that the model
    wrote in its text keeps that text (`written`), for models that are told the same format.
    """
    parts: list[Part] = []
    for segment in segments:
        if segment.choice:
            continue
        if isinstance(segment, CallSegment):
            if segment.arrived.name and not segment.arrived.repeats:
                parts.append(_call_part(segment))
        elif segment.segment_type is SegmentType.TEXT:
            parts.append(TextPart(segment.text, bool(segment.metadata), segment.provider_data))
        elif segment.segment_type is SegmentType.REASONING:
            parts.append(ThinkingPart(segment.text, segment.provider_data))
        elif segment.segment_type is SegmentType.SERVER_TOOL:
            if segment.provider_data is not None:
                parts.append(OpaquePart(segment.provider_data, segment.tool_name))
        elif segment.metadata is not None:
            parts.append(_media_part(segment, segment.metadata["media"]))
    return Message("assistant", parts, list(provider_data))


def _media_part(segment: Segment, kind: str) -> MediaPart:
    if kind == "audio/base64":
        return MediaPart("audio", data=segment.text, provider_data=segment.provider_data)
    url = segment.text
    declared = url[5:].partition(",")[0].partition(";")[0] if url.startswith("data:") else ""
    return MediaPart(declared or kind, url=url, provider_data=segment.provider_data)


def _call_part(segment: CallSegment) -> ToolCallPart:
    arrived = segment.arrived
    if arrived.arguments is None:
        return ToolCallPart(
            segment.segment_id, arrived.name, provider_data=segment.provider_data, written=_written(segment)
        )
    raw = arrived.raw.strip()
    return ToolCallPart(
        segment.segment_id,
        arrived.name,
        arrived.arguments,
        raw if raw.startswith("{") else None,
        segment.provider_data,
        _written(segment),
    )


def _written(segment: CallSegment) -> Written | None:
    return Written(segment.format, segment.text) if segment.format else None
