"""Which wire format a recording is of, from its start; and if none, what it seems to be instead."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..errors import ConfigError, ProtocolError, ToolwireError
from ..limits import KIB
from ..providers.wires import WIRES, detect_wire
from ..wire.eventstream import begins_event_stream

START = 64 * KIB
"""How far a mark is looked for."""

_SSE_FIELDS = (b"data:", b"event:", b"id:", b"retry:", b":")
_KINDS: tuple[tuple[bytes, str], ...] = (
    (b"\x89PNG", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"GIF8", "a GIF image"),
    (b"%PDF", "a PDF document"),
    (b"PK\x03\x04", "a ZIP archive"),
    (b"\x1f\x8b", "gzip-compressed data"),
    (b"\x28\xb5\x2f\xfd", "zstd-compressed data"),
    (b"<!doctype html", "an HTML page"),
    (b"<html", "an HTML page"),
    (b"HTTP/1", "an HTTP answer with its headers"),
)


class Recording:
    """The pieces of a recording, with its first ones looked at.

    The first message decides where there are messages, else the first line that holds a mark, so that a live pipe is
    not held up for 64 KiB and where the pieces end makes no difference.
    """

    def __init__(self, pieces: Iterable[bytes]) -> None:
        self._rest = iter(pieces)
        self._start = bytearray()
        self.wire: str | None = None

    def recognise(self) -> str:
        """The name of the wire format. Raises a `ToolwireError` that says what the recording is instead."""
        searched = 0
        for data in self._rest:
            self._start += data
            if begins_event_stream(bytes(self._start[:16])):
                self.wire = "bedrock"
                return self.wire
            end = self._start.rfind(b"\n", 0, START) + 1
            if len(self._start) >= START:
                end = START
            self.wire = _first_mark(bytes(self._start[searched:end]))
            if self.wire is not None:
                return self.wire
            searched = max(searched, end)
            if searched >= START:
                break
        else:
            self.wire = _first_mark(bytes(self._start[searched:]))
        if self.wire is None:
            raise no_recording(bytes(self._start[:START]))
        return self.wire

    def __iter__(self) -> Iterator[bytes]:
        """All pieces from the first byte on."""
        if self._start:
            yield bytes(self._start)
        yield from self._rest


def _first_mark(lines: bytes) -> str | None:
    for line in lines.splitlines():
        try:
            return detect_wire(line)
        except ConfigError:
            continue
    return None


def no_recording(start: bytes) -> ToolwireError:
    """What to say about bytes that are no stream of a known format."""
    hint = f"Known formats: {', '.join(WIRES)}. If it is of one of them all the same, name it with --wire."
    text = start.lstrip(b"\xef\xbb\xbf \t\r\n")
    head = text[:64].lower()
    if not text:
        return ProtocolError("it is empty: there is no stream in it", hint="Record the body of a streamed answer.")
    for mark, kind in _KINDS:
        if head.startswith(mark.lower()):
            return ProtocolError(f"it is {kind}, not a recorded stream", hint="Record the body of a streamed answer.")
    if b"\0" in start:
        return ProtocolError("it is binary data, not a recorded stream", hint=hint)
    if any(line.lstrip().startswith(_SSE_FIELDS) for line in start.splitlines()[:100]):
        return ProtocolError("it is an event stream, but nothing near its start is of a known format", hint=hint)
    if text.startswith((b"{", b"[")):
        return ProtocolError("it is JSON, but not a stream of a known format", hint=hint)
    shown = text[:40].decode("utf-8", "replace")
    return ProtocolError(f"it is no recorded stream: it begins with {shown!r}", hint=hint)
