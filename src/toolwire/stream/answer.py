"""From the segments of an answer to the `Message` that stands for it in the history."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from ..messages import MediaPart, Message, OpaquePart, Part, TextPart, ThinkingPart, ToolCallPart, Written
from ..strict_json import BLANKS
from .collected import CallSegment, Segment
from .segments import SegmentType


def answer_message(segments: Iterable[Segment], provider_data: list[dict[str, Any]]) -> Message:
    """The assistant's message: the first choice's segments in order, each call under its segment's id.

    A call that may not run keeps its place with empty arguments, so that its result can say what was wrong; its own
    broken text never goes back, since several servers refuse a history that holds it. A call without a name has no
    place in any provider's history and is left out, and so is one that says another once more. A call that the model
    wrote in its text keeps that text (`written`) and the markup around it, for models that are told the same format: so
    that such a model finds its own words again, each of them; one without a name is text. Marks around reasoning do not
    go back, since whoever writes the prompt writes them.
    """
    parts: list[Part] = []
    lead = ""
    for segment in segments:
        if segment.choice:
            continue
        if isinstance(segment, CallSegment):
            if segment.arrived.name and not segment.arrived.repeats:
                parts.append(_call_part(segment, lead))
                lead = ""
            elif segment.format and not segment.arrived.name:
                parts.append(TextPart(lead + segment.text))
                lead = ""
        elif segment.segment_type is SegmentType.MARKUP:
            if segment.metadata:
                continue
            last = parts[-1] if parts else None
            if isinstance(last, ToolCallPart) and last.written is not None:
                last.written = msgspec.structs.replace(last.written, text=last.written.text + segment.text)
            else:
                lead += segment.text
        elif segment.segment_type is SegmentType.TEXT:
            parts.append(TextPart(lead + segment.text, bool(segment.metadata), segment.provider_data))
            lead = ""
        elif segment.segment_type is SegmentType.REASONING:
            parts.append(ThinkingPart(segment.text, segment.provider_data))
        elif segment.segment_type is SegmentType.SERVER_TOOL:
            if segment.provider_data is not None:
                parts.append(OpaquePart(segment.provider_data, segment.tool_name))
        elif segment.metadata is not None:
            parts.append(_media_part(segment, segment.metadata["media"]))
    if lead:
        parts.append(TextPart(lead))
    return Message("assistant", parts, list(provider_data))


def _media_part(segment: Segment, kind: str) -> MediaPart:
    if kind == "audio/base64":
        return MediaPart("audio", data=segment.text, provider_data=segment.provider_data)
    url = segment.text
    declared = url[5:].partition(",")[0].partition(";")[0] if url.startswith("data:") else ""
    return MediaPart(declared or kind, url=url, provider_data=segment.provider_data)


def _call_part(segment: CallSegment, lead: str) -> ToolCallPart:
    arrived = segment.arrived
    written = Written(segment.format, lead + segment.text, segment.late_id) if segment.format else None
    if arrived.arguments is None:
        return ToolCallPart(segment.segment_id, arrived.name, provider_data=segment.provider_data, written=written)
    raw = arrived.raw.strip(BLANKS)
    return ToolCallPart(
        segment.segment_id,
        arrived.name,
        arrived.arguments,
        raw if raw.startswith("{") else None,
        segment.provider_data,
        written,
    )
