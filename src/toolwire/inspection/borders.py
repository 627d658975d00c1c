"""Where the frames that a framer gave stand in the bytes, and what stands between them.

A framer tells where a frame begins; here is where it ends, to the byte. What is no part of any frame and not blank is
told too: comments of a silent server, and events without data.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from ..wire.eventstream import EventStreamFrame
from ..wire.json_array import ArrayElement
from ..wire.ndjson import NdjsonLine
from .frames import Framing

_BOM = b"\xef\xbb\xbf"
_DATA = b"data"
_COLON, _LINE_FEED = b":\n"
_LENGTH = 4
"""Bytes at the start of an AWS message that say how long it is."""


class Aside(NamedTuple):
    """Bytes between frames that are not blank: all of them lie in `start` to `end`."""

    name: str
    start: int
    end: int


def framing_of(frame: Any) -> Framing:
    """How the bytes of this frame are cut."""
    if isinstance(frame, NdjsonLine):
        return "lines"
    if isinstance(frame, ArrayElement):
        return "array"
    return "aws" if isinstance(frame, EventStreamFrame) else "sse"


def end_of(frame: Any, data: bytearray, start: int, limit: int) -> int:
    """The place after the frame that begins at `start`; it is no further than `limit`, where the next one begins."""
    if isinstance(frame, ArrayElement):
        return min(start + len(frame.data.encode()), limit)
    if isinstance(frame, EventStreamFrame):
        return limit if frame.stray else min(start + int.from_bytes(data[start : start + _LENGTH]), limit)
    if isinstance(frame, NdjsonLine):
        end = data.find(b"\n", start, limit) + 1
        return end or limit
    at = start
    while at < limit:
        content, after = line_at(data, at, limit)
        at = after
        if not content or frame.stray:
            break
    return at


def line_at(data: bytearray, start: int, limit: int) -> tuple[int, int]:
    """How long the line that begins here is without its end, and where the next one begins."""
    feed = data.find(b"\n", start, limit)
    stop = limit if feed < 0 else feed
    carriage = data.find(b"\r", start, stop)
    if carriage >= 0:
        return carriage - start, carriage + (2 if carriage + 1 == feed else 1)
    return stop - start, stop + (feed >= 0)


def asides(data: bytearray, start: int, limit: int, *, live: bool, is_first: bool) -> Iterator[Aside]:
    """What stands between the events of a body of server-sent events, from `start` on.

    `live`: more is to come, so that only what belongs to no event for certain is taken: whole comments, and events
    that ended without data. `is_first`: this is where the body begins.

    The last one ends where the next reading is to begin, and has no name.
    """
    at = start
    if is_first and data[at : at + len(_BOM)] == _BOM:
        at += len(_BOM)
    group = -1
    while at < limit:
        if live and data[at : at + len(_DATA)] == _DATA:
            break
        content, after = line_at(data, at, limit)
        if live and after == len(data) and data[-1] != _LINE_FEED:
            break
        if not content:
            if group >= 0:
                yield Aside("event without data", group, after)
                group = -1
        elif data[at] == _COLON and group < 0:
            yield Aside("comment", at, after)
        elif group < 0:
            group = at
        at = after
    if group >= 0 and not live:
        yield Aside("event without data", group, at)
        group = -1
    at = at if group < 0 else group
    yield Aside("", at, at)
