"""Text in, what came of it out: an answer fed in every way, and what must hold however it was cut."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from counted_work import Work
from embedded.text_tools import TOOLS
from feeding import check_shape, merged
from toolwire import EventType, SegmentEvent, SegmentType, StopReason, TextStream
from toolwire.embedded.format import Format
from toolwire.stream.segments import CALL_SEGMENTS
from toolwire.tools.registry import ToolRegistry

FORMATS = ("xml", "json", "json-openai", "json-gemini", "sentinel")


class Reading(NamedTuple):
    """An answer after all of it was fed and closed."""

    stream: TextStream
    events: list[SegmentEvent]

    @property
    def calls(self) -> list[tuple[str, dict[str, Any]]]:
        """What would run."""
        return [(invocation.tool_name, invocation.arguments) for invocation in self.stream.invocations]

    @property
    def ids(self) -> list[str]:
        """The ids that stand in the text, of what would run: before the arguments, or after them."""
        written = {part.id: part.written.call_id for part in self.stream.message.tool_calls if part.written is not None}
        return [written.get(one.call_id or one.id) or one.call_id for one in self.stream.invocations]

    @property
    def rebuilt(self) -> str:
        """All content joined: the text that was fed."""
        return "".join(event.delta for event in self.events if event.type is EventType.CONTENT)

    @property
    def unknown(self) -> list[str]:
        """Names in well-formed calls that are no tool's."""
        names: list[str] = (self.events[-1].metadata or {}).get("unknown_tools", [])
        return names

    @property
    def outcome(self) -> list[list[Any]]:
        """As in the data files: `["text", …]`, `["markup", …]`, `["call", name, arguments]`, `["broken", name, …]`."""
        runs = {invocation.id: invocation.arguments for invocation in self.stream.invocations}
        problems = self.stream.problems
        kinds: dict[str, tuple[SegmentType, str]] = {}
        texts: dict[str, str] = {}
        for event in self.events:
            if event.type is EventType.START and event.segment_type is not None:
                kinds[event.segment_id] = (event.segment_type, event.tool_name or "")
                texts[event.segment_id] = ""
            elif event.type is EventType.CONTENT:
                texts[event.segment_id] += event.delta
        made: list[list[Any]] = []
        for segment_id, (kind, name) in kinds.items():
            if kind not in CALL_SEGMENTS:
                made.append([kind.value, texts[segment_id]])
            elif segment_id in runs:
                made.append(["call", name, runs[segment_id]])
            else:
                made.append(["broken", name, problems[segment_id]])
        return made

    @property
    def fields(self) -> list[tuple[str, tuple[str | int, ...], str, bool]]:
        """The live fields with adjacent deltas of one value merged: what must not depend on cuts."""
        made: list[tuple[str, tuple[str | int, ...], str, bool]] = []
        for event in self.events:
            for field in event.fields or ():
                key = (event.segment_id, field.path)
                if made and made[-1][:2] == key and not made[-1][3]:
                    made[-1] = (*key, made[-1][2] + field.text, field.done)
                else:
                    made.append((*key, field.text, field.done))
        return made


def read_text(
    format_: str | Format,
    pieces: Iterable[str],
    tools: ToolRegistry | None = TOOLS,
    *,
    stop_reason: StopReason = StopReason.STOP,
    **options: Any,
) -> Reading:
    stream = TextStream(format_, tools, **options)
    events: list[SegmentEvent] = []
    for piece in pieces:
        events += stream.feed(piece)
    events += stream.close(stop_reason)
    return Reading(stream, events)


def random_pieces(text: str, rng: random.Random, longest: int = 12) -> Iterator[str]:
    at = 0
    while at < len(text):
        size = rng.randint(1, longest)
        yield text[at : at + size]
        at += size


def two_pieces(text: str) -> Iterator[list[str]]:
    for at in range(1, len(text)):
        yield [text[:at], text[at:]]


def check_cuts(
    format_: str | Format,
    text: str,
    tools: ToolRegistry | None = TOOLS,
    *,
    every: int = 1,
    seed: int = 0,
    **options: Any,
) -> Reading:
    """Law 1: whole, cut in two at every place (or every `every`th), in random pieces and character by character.

    `seed` chooses the random pieces, and which places those are.
    """
    expected = read_text(format_, [text], tools, **options)
    check_shape(expected.events)
    if expected.stream.error is None:
        assert expected.rebuilt == text
    else:
        assert text.startswith(expected.rebuilt)
    events, summary = list(merged(expected.events)), expected.stream.summary()
    rng = random.Random(seed)
    ways = [*two_pieces(text)][seed % every :: every]
    ways += [list(random_pieces(text, rng)) for _ in range(3)]
    ways.append(list(text))
    for pieces in ways:
        reading = read_text(format_, pieces, tools, **options)
        assert list(merged(reading.events)) == events, pieces
        assert reading.stream.summary() == summary, pieces
        assert reading.unknown == expected.unknown
    check_shape(reading.events)
    live = [read_text(format_, pieces, tools, live_arguments=True, **options) for pieces in ([text], list(text))]
    assert live[0].fields == live[1].fields
    assert list(merged(live[0].events)) == events
    return expected


def check_truncated(
    format_: str | Format,
    text: str,
    tools: ToolRegistry | None = TOOLS,
    *,
    every: int = 1,
    seed: int = 0,
    **options: Any,
) -> None:
    """Law 2: no prefix of a text runs a call that the whole does not run, and none loses a character."""
    calls = read_text(format_, [text], tools, **options).calls
    for end in range(seed % every, len(text), every):
        reading = read_text(format_, [text[:end]], tools, **options)
        assert reading.rebuilt == text[:end]
        assert reading.calls == calls[: len(reading.calls)], text[:end]


def joined(outcome: list[list[Any]]) -> str:
    """The text of an outcome, without markup and calls."""
    return "".join(part[1] for part in outcome if part[0] == "text")


def work(format_: str, text: str, size: int, **options: Any) -> int:
    """What reading this text in pieces of this size costs."""
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    read_text(format_, pieces[:3])
    with Work() as counted:
        reading = read_text(format_, pieces, **options)
    if reading.stream.error is None:
        assert reading.rebuilt == text
    else:
        assert text.startswith(reading.rebuilt)
    return counted.count
