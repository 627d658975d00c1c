"""Events and figures in words, the same wherever a trace is shown. Whoever shows them makes them harmless."""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec

from ..chunks import TokenUsage
from ..limits import KIB, MIB
from ..stream.segments import EventType, SegmentEvent
from .findings import error_words
from .trace import TracedAnswer

SHOWN = 400
"""Characters of a delta or of arguments in an event's line."""
_FIELDS = 4


class EventWords(NamedTuple):
    """An event in a line: what it is, of which segment, and what it says."""

    kind: str
    segment: str
    words: str
    is_problem: bool = False


def event_words(event: SegmentEvent, shown: int = SHOWN) -> EventWords:
    """An event in a line."""
    told = event.metadata or {}
    if event.type is EventType.START:
        tool = f" {event.tool_name}" if event.tool_name else ""
        head = "".join(f" {name}={_json(value, shown)}" for name, value in told.items())
        return EventWords("start", event.segment_id, f"{event.segment_type or ''}{tool}{head}")
    if event.type is EventType.CONTENT:
        fields = ", ".join(
            f"{path_words(field.path)} += {_json(field.text, shown)}"
            for field in (event.fields or ())[:_FIELDS]
            if field.text
        )
        return EventWords(
            "content", event.segment_id, f"{_json(event.delta, shown)}{f'  ({fields})' if fields else ''}"
        )
    if event.type is EventType.END:
        if "problem" in told:
            return EventWords("end", event.segment_id, f"will not run: {told['problem']}", True)
        if "arguments" in told:
            return EventWords("end", event.segment_id, _json(told["arguments"], shown))
        return EventWords("end", event.segment_id, "not finished" if told.get("incomplete") else "")
    if event.type is EventType.DONE:
        usage = f" · {usage_words(event.usage)}" if event.usage is not None else ""
        return EventWords("done", "", f"{event.stop_reason or ''}{usage}")
    return EventWords("error", "", "" if event.error is None else error_words(event.error), True)


def path_words(path: tuple[str | int, ...]) -> str:
    """Where in the arguments a value stands."""
    return ".".join(map(str, path)) or "arguments"


def usage_words(usage: TokenUsage) -> str:
    """Token counts in a line."""
    parts = [f"{usage.input_tokens:,} in", f"{usage.output_tokens:,} out"]
    more = (
        (usage.cached_tokens, "cached"),
        (usage.cache_write_tokens, "written to the cache"),
        (usage.reasoning_tokens, "reasoning"),
    )
    return ", ".join([*parts, *(f"{count:,} {what}" for count, what in more if count)]) + " tokens"


def ending_words(answer: TracedAnswer) -> str:
    """How an answer ended."""
    if answer.error is not None:
        return error_words(answer.error)
    if answer.stop_reason is None:
        return "not ended"
    raw = answer.raw_stop_reason
    return f"{answer.stop_reason}{f' ({raw})' if raw and raw != answer.stop_reason else ''}"


def size_words(count: int) -> str:
    """Bytes, rounded for reading."""
    if count < 10 * KIB:
        return f"{count:,} B"
    return f"{count / KIB:,.0f} KiB" if count < 10 * MIB else f"{count / MIB:,.1f} MiB"


def seconds_words(seconds: float) -> str:
    """A time, rounded for reading."""
    if seconds < 0.0005:
        return "0 s"
    if seconds < 0.1:
        return f"{seconds * 1000:.0f} ms"
    return f"{seconds:.2f} s" if seconds < 100 else f"{seconds // 60:.0f} min {seconds % 60:.0f} s"


def counted(count: int, what: str) -> str:
    """`3 frames`, `1 frame`."""
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def shortened(text: str, most: int) -> str:
    """The beginning of a text, and how much more there is."""
    return text if len(text) <= most else f"{text[:most]}… (+{len(text) - most:,})"


def _json(value: Any, shown: int) -> str:
    if isinstance(value, str) and len(value) > shown:
        return f"{msgspec.json.encode(value[:shown]).decode()}… (+{len(value) - shown:,})"
    try:
        return shortened(msgspec.json.encode(value).decode(), shown)
    except (TypeError, UnicodeEncodeError, RecursionError):
        return shortened(repr(value), shown)
