"""What is worth a look in a frame: faults, calls that will not run, frames of which nothing came, long silences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ..chunks import RUNNABLE_STOPS, StopReason
from ..errors import ErrorInfo
from ..stream.segments import EventType, SegmentEvent
from .frames import Finding

SILENCE = 2.0
"""Seconds between two frames that are worth a note. Models that think send something at least so often."""

_LOST = ("-of-another-kind", "-without-call", "-without-block", "-without-type", "-differs", "-is-no-object")
_LOST_ALONE = frozenset({"data-after-the-end", "stray-line", "call-never-ended", "image-without-data"})
"""Departures from the format by which something may be lost; the others are tolerated and lose nothing."""
STOPS = {
    StopReason.LENGTH: "the token limit cut the answer",
    StopReason.CONTENT_FILTER: "the provider's filter cut the answer",
    StopReason.REFUSAL: "the model refused",
    StopReason.PAUSE: "the provider paused the turn",
    StopReason.ERROR: "the provider failed in the middle of the answer",
    StopReason.UNKNOWN: "the answer ended for a reason that is not known",
}
"""The stop reasons after which no call runs, in words."""
_SILENT = frozenset({"done-mark", "data-after-the-end"})
"""Told by the frame itself."""


def of_events(events: Sequence[SegmentEvent], tools: Mapping[str, str]) -> Iterator[Finding]:
    """What the events of a frame say, the cause first. `tools` has the name of each call by its segment."""
    for event in events:
        if event.type is EventType.ERROR:
            yield Finding("problem", "" if event.error is None else error_words(event.error), told=True)
    for event in events:
        told = event.metadata or {}
        if event.type is EventType.END:
            if "problem" in told:
                words = f"{_call(tools, event.segment_id)} will not run: {told['problem']}"
                yield Finding("problem", words, told=True)
            elif told.get("incomplete"):
                yield Finding("note", f"{event.segment_id} was not finished", told=True)
            if "repairs" in told:
                mended = "; ".join(map(str, told["repairs"]))
                yield Finding("note", f"{_call(tools, event.segment_id)} was mended: {mended}")
        elif event.type is EventType.DONE:
            for segment, problem in told.get("problems", {}).items():
                yield Finding("problem", f"{_call(tools, segment)} will not run: {problem}")
            if event.stop_reason is not None and event.stop_reason not in RUNNABLE_STOPS:
                yield Finding("problem", STOPS[event.stop_reason])
            if "ignored_calls" in told:
                yield Finding("note", f"calls as data that nobody asked for: {told['ignored_calls']}")
            if "unknown_tools" in told:
                yield Finding("note", f"named in the text, and no tools: {', '.join(map(str, told['unknown_tools']))}")


def of_departures(before: Mapping[str, int], after: Mapping[str, int]) -> Iterator[Finding]:
    """How this frame left the format: what a decoder counted while it read it."""
    for name, count in after.items():
        if count > before.get(name, 0) and name not in _SILENT:
            yield departure(name)


def departure(name: str) -> Finding:
    """One way in which a provider left its format, in words."""
    lost = name in _LOST_ALONE or name.endswith(_LOST)
    words = name.replace("-", " ")
    return Finding("problem", f"not understood: {words}") if lost else Finding("note", f"tolerated: {words}")


def error_words(error: ErrorInfo) -> str:
    """An error in one line."""
    return f"{error.type}: {error.message}"


def _call(tools: Mapping[str, str], segment: str) -> str:
    name = tools.get(segment, "")
    return f"{name} ({segment})" if name else segment
