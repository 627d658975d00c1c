"""Feeding a stream in every way, and what must come out the same."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from toolwire import EventType, SegmentEvent, Stream

DONE = b"data: [DONE]\n\n"


def sse(*chunks: Any, done: bool = True) -> bytes:
    """A chat stream of these chunks: dicts become JSON, text stands as it is."""
    lines = [chunk if isinstance(chunk, str) else msgspec.json.encode(chunk).decode() for chunk in chunks]
    return b"".join(b"data: " + line.encode() + b"\n\n" for line in lines) + (DONE if done else b"")


def typed_sse(*events: dict[str, Any]) -> bytes:
    """A stream whose events carry their type as Anthropic and the Responses API send it: `event:` and `data:`."""
    return b"".join(
        b"event: %b\ndata: %b\n\n" % (event["type"].encode(), msgspec.json.encode(event)) for event in events
    )


def delta(*, finish: str | None = None, choice: int = 0, **members: Any) -> dict[str, Any]:
    """One chat chunk with one choice."""
    return {"choices": [{"index": choice, "delta": members, "finish_reason": finish}]}


def call(arguments: Any = "", *, index: Any = 0, id: Any = None, name: Any = None, **members: Any) -> dict[str, Any]:
    """One entry of `delta.tool_calls`."""
    function = {"arguments": arguments} if name is None else {"name": name, "arguments": arguments}
    entry = {"index": index, "id": id, "type": "function", "function": function, **members}
    return {name: value for name, value in entry.items() if value is not None}


def whole(body: bytes) -> Iterable[bytes]:
    return [body]


def bytewise(body: bytes) -> Iterable[bytes]:
    return [body[at : at + 1] for at in range(len(body))]


def random_cuts(body: bytes, seed: int, pieces: int = 8) -> Iterable[bytes]:
    rng = random.Random(seed)
    edges = sorted(rng.randrange(len(body) + 1) for _ in range(rng.randrange(1, pieces)))
    return [body[start:end] for start, end in zip([0, *edges], [*edges, len(body)], strict=True)]


def merged(events: Iterable[SegmentEvent]) -> Iterator[SegmentEvent]:
    """The events with adjacent content of one segment joined: what must not depend on cuts."""
    held: SegmentEvent | None = None
    for event in events:
        if held is not None:
            if event.type is EventType.CONTENT and event.segment_id == held.segment_id:
                held = msgspec.structs.replace(held, delta=held.delta + event.delta, fields=None)
                continue
            yield held
            held = None
        if event.type is EventType.CONTENT:
            held = msgspec.structs.replace(event, fields=None)
        else:
            yield event
    if held is not None:
        yield held


def read(pieces: Iterable[bytes], wire: str = "openai-chat", **options: Any) -> tuple[Stream, list[SegmentEvent]]:
    """The stream after all pieces and the end, and its events."""
    stream = Stream(wire, **options)
    events: list[SegmentEvent] = []
    for piece in pieces:
        events += stream.feed(piece)
    events += stream.close()
    return stream, events


def check_every_cut(body: bytes, wire: str = "openai-chat") -> None:
    """Law 1 for a small body: cut in two at every place, and byte by byte."""
    stream, events = read(whole(body), wire)
    expected, summary = list(merged(events)), stream.summary()
    for pieces in (*([body[:at], body[at:]] for at in range(len(body) + 1)), bytewise(body)):
        cut, cut_events = read(pieces, wire)
        check_shape(cut_events)
        assert list(merged(cut_events)) == expected
        assert cut.summary() == summary


def check_shape(events: list[SegmentEvent]) -> None:
    """What holds for every stream: one last word, and every segment begun and ended once."""
    assert events, "a stream always says how it ended"
    assert [event.type for event in events if event.type in (EventType.DONE, EventType.ERROR)] == [events[-1].type]
    open_now: set[str] = set()
    seen: set[str] = set()
    for event in events[:-1]:
        if event.type is EventType.START:
            assert event.segment_id not in seen
            seen.add(event.segment_id)
            open_now.add(event.segment_id)
        else:
            assert event.segment_id in open_now
            if event.type is EventType.END:
                open_now.remove(event.segment_id)
    assert not open_now
