"""One way to run a decoder over pieces and keep everything it showed, so that cuts can be compared."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Any, NamedTuple, Protocol

import msgspec

from toolwire.errors import LimitExceeded, ToolwireError
from toolwire.limits import KIB, MIB

READ = 64 * KIB


class Decoder(Protocol):
    def feed(self, data: bytes) -> list[Any]: ...

    def close(self) -> list[Any]: ...


class Outcome(msgspec.Struct, frozen=True):
    """All frames, and of the error its type and its facts."""

    frames: list[Any]
    error: tuple[str, dict[str, Any]] | None = None


def run(decoder: Decoder, pieces: Iterable[bytes]) -> Outcome:
    """Feed the pieces and close; anything but our own errors goes through and fails the test."""
    frames: list[Any] = []
    error: tuple[str, dict[str, Any]] | None = None
    try:
        for piece in pieces:
            frames += decoder.feed(piece)
        frames += decoder.close()
    except ToolwireError as fault:
        frames += fault.before
        error = (type(fault).__name__, fault.facts)
        assert decoder.feed(b"data: after\n\n") == []
    assert decoder.close() == []
    return Outcome(frames, error)


def cut(body: bytes, places: Iterable[int]) -> list[bytes]:
    """The body in pieces, cut at these places (taken modulo its length; a place twice gives an empty piece)."""
    bounds = [0, *sorted(place % (len(body) + 1) for place in places), len(body)]
    return [body[start:end] for start, end in pairwise(bounds)]


def all_cuts(body: bytes) -> Iterator[list[bytes]]:
    """Whole, byte by byte, byte by byte with nothing in between, and every way to cut in two."""
    yield [body]
    yield [body[index : index + 1] for index in range(len(body))]
    yield [piece for index in range(len(body)) for piece in (body[index : index + 1], b"")]
    for place in range(len(body) + 1):
        yield [body[:place], body[place:]]


class Refusal(NamedTuple):
    what: str
    position: int
    fed: int
    peak: int


def flood(decoder: Decoder, start: bytes, more: bytes) -> Refusal:
    """Feed 100 MB in reads of 64 KiB: which bound ends it and where, after how many bytes, at what peak of memory.

    The start goes in small pieces, so that all its lines have been held.
    """
    read = more * (READ // len(more))
    for index in range(0, len(start), 16):
        decoder.feed(start[index : index + 16])
    tracemalloc.start()
    try:
        for count in range(1, 100 * MIB // READ):
            try:
                decoder.feed(read)
            except LimitExceeded as error:
                peak = tracemalloc.get_traced_memory()[1]
                return Refusal(error.what, error.position, len(start) + count * len(read), peak)
    finally:
        tracemalloc.stop()
    raise AssertionError("100 MB went in and no bound was met")
