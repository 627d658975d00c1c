"""The answers that the server sends, as HTTP/1.1 responses built beforehand."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from ..wires import SUBJECTS, Subject

TEXT_DELTAS = 5_000
CALLS = 3
ARGUMENTS = 20_000
"""Characters of the arguments of each call."""
CALL_DELTAS = 1_500
"""Of all calls together."""

KINDS = ("text", "calls")

HELD_WIRE = "openai-chat"
HELD_CALLS, HELD_ARGUMENTS, HELD_DELTA = 2, 200, 8
"""The answer that ten thousand clients are in the middle of: there one call has ended and the other begins. Recorded
calls have some 20 characters of arguments.
"""

TYPES = {"ollama": "application/x-ndjson", "bedrock": "application/vnd.amazon.eventstream"}
"""Content types; the others send server-sent events."""


def body(subject: Subject, kind: str) -> bytes | None:
    """One of the two answers of a format."""
    if kind == "text":
        return None if subject.text_answer is None else subject.text_answer(TEXT_DELTAS)
    piece = CALLS * ARGUMENTS // CALL_DELTAS
    return None if subject.calls_answer is None else subject.calls_answer(ARGUMENTS, piece, CALLS)


def bodies(wire: str) -> Iterator[tuple[str, bytes]]:
    """Both answers of a format, by kind."""
    for kind in KINDS:
        made = body(SUBJECTS[wire], kind)
        if made is not None:
            yield kind, made


def frames(wire: str, whole: bytes) -> list[bytes]:
    """The body cut after each event, as a provider writes it."""
    if wire == "bedrock":
        return _binary_frames(whole)
    gap = b"\n" if wire == "ollama" else b"\r\n\r\n" if b"\r\n\r\n" in whole else b"\n\n"
    made = [part + gap for part in whole.split(gap)]
    return made[:-1] if made[-1] == gap else made


def _binary_frames(whole: bytes) -> list[bytes]:
    made = []
    at = 0
    while at < len(whole):
        size = int.from_bytes(whole[at : at + 4], "big")
        made.append(whole[at : at + size])
        at += size
    return made


def head(wire: str) -> bytes:
    """Status and headers."""
    kind = TYPES.get(wire, "text/event-stream")
    return f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nTransfer-Encoding: chunked\r\n\r\n".encode()


def chunked(parts: list[bytes]) -> bytes:
    """Each part as a chunk of HTTP's own; without the last, empty one."""
    return b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in parts)


@cache
def held_halves() -> tuple[list[bytes], list[bytes]]:
    """The events of the held answer before its middle and after."""
    make = SUBJECTS[HELD_WIRE].calls_answer
    assert make is not None
    parts = frames(HELD_WIRE, make(HELD_ARGUMENTS, HELD_DELTA, HELD_CALLS))
    return parts[: len(parts) // 2], parts[len(parts) // 2 :]


LAST_CHUNK = b"0\r\n\r\n"


def response(wire: str, whole: bytes) -> bytes:
    """The whole response: every event a chunk of its own."""
    return head(wire) + chunked(frames(wire, whole)) + LAST_CHUNK
