"""AWS event stream: binary messages with headers, a payload and two checksums, as Bedrock sends them.

A message is a prelude (its length, the length of its headers, a checksum of both), the headers, the payload and a
checksum of all before it. The promises about cuts, bounds and errors are those of `toolwire.wire.lines`, with one
message in the place of a line; a message that is longer than its bound is refused as soon as its prelude says so.
"""

from __future__ import annotations

from struct import Struct
from typing import Any, ClassVar
from zlib import crc32

import msgspec

from ..errors import IncompleteStream, LimitExceeded, ProtocolError, ToolwireError
from ..limits import DEFAULT_LIMITS, Limits
from .framing import Framing
from .lines import Run, decode_text, is_utf8

_PRELUDE = Struct(">III")
_number = Struct(">I").unpack_from
PRELUDE = _PRELUDE.size
"""How many bytes tell whether a body is an event stream."""
_CHECKSUM = 4
_SHORTEST = PRELUDE + _CHECKSUM
_WIDTHS = (0, 0, 1, 2, 4, 8, None, None, 8, 16)
"""How long a header's value of each of the ten types is; None where its own first two bytes say so."""
_STRING = 7
_HIGHEST_FIRST = 8
"""The first byte of a message of 150 MB. A higher one begins no message: text, or compressed data."""
_LONG_HEADERS = 256
"""Headers that are longer are read each time."""
_MOST_KNOWN = 1024

_KNOWN: dict[bytes, tuple[int, int, int, bytes]] = {}
"""What is known of an event from all bytes before its payload, whichever stream they stood in: its length, where the
payload begins, the checksum so far, and how its JSON ends. Streams have few headers and much the same lengths, so that
most preludes and headers are read once. Emptied when `_MOST_KNOWN` are there.
"""


class EventStreamFrame(msgspec.Struct, frozen=True, gc=False):
    """One message as one JSON object.

    `data` is the payload with a last member `:event-type`, named after the header whose value it has, so that no
    payload can say otherwise. A payload that is no JSON object is text, under `payload` of a member `:message`. A
    message that is no event has its `type`, its `headers` (those that are strings) and its `payload` there.
    """

    data: str
    position: int
    """Byte offset in the stream of the message's first byte."""
    stray: bool = False
    """True for a body that is no event stream but text: all of it."""
    cut: ClassVar[bool] = False


def begins_event_stream(start: bytes) -> bool:
    """Whether these bytes begin with a prelude whose checksum is right."""
    return len(start) >= PRELUDE and crc32(start[:8]) == _PRELUDE.unpack_from(start)[2]


class EventStreamDecoder(Framing[Any]):
    """Bytes in, messages out, each as soon as its last byte is there and both its checksums are right.

    A body that cannot begin with a message (an error in JSON, a page of a proxy) comes out as one stray frame at its
    end. A body that ends within a message is an `IncompleteStream`.

    With `join_runs`, the messages of one read come out as one `Run`.
    """

    def __init__(self, limits: Limits = DEFAULT_LIMITS, *, join_runs: bool = False) -> None:
        super().__init__(limits)
        self._joins = join_runs
        self._needed = PRELUDE  # how long it must get before it is looked at again
        self._is_text = False
        self._head = PRELUDE  # where the payload of the last event began

    def close(self) -> list[Any]:
        """The body has ended: nothing, or the text that it was instead of messages."""
        if self._ended:
            return []
        self._ended = True
        held, self._held = bytes(self._held), bytearray()
        if not held:
            return []
        if self._is_text:
            return [EventStreamFrame(held.decode(errors="replace"), 0, stray=True)]
        raise IncompleteStream(position=self.position)

    def _take(self, data: bytes, frames: list[Any]) -> None:
        if self._held:
            self._held += data
            if len(self._held) < self._needed:
                return
            data = b""
        if not self._is_text:
            data = bytes(self._held) or data
            self._held = bytearray()
            self._take_messages(data, frames)
        if self._is_text and len(self._held) > self._limits.event:
            raise LimitExceeded("event", self._limits.event, position=self._limits.event)

    def _take_messages(self, data: bytes, frames: list[Any]) -> None:
        if not self._at and data and data[0] > _HIGHEST_FIRST:
            self._is_text, self._needed = True, 0
            self._held += data
            return
        read = _Read(data, self._at)
        try:
            rest = self._cut(read)
        except ToolwireError:
            self._give(read, frames)  # what is wrong in an earlier message is told instead
            raise
        self._give(read, frames)
        self._at += rest
        if rest < len(data):
            self._held += data[rest:]

    def _cut(self, read: _Read) -> int:
        """Adds the whole messages of a read to it; returns where the rest begins."""
        data, start, size = read.data, 0, len(read.data)
        known, add, head, most = _KNOWN.get, read.messages.append, self._head, self._limits.event
        while size - start >= 12:
            found = known(data[start : start + head])
            if found is None or found[0] > most:
                total, head = self._lengths(data[start : start + 12], read.at + start)
                checksum, ending = crc32(data[start : start + head]), b""
            else:
                total, head, checksum, ending = found
            body, end = start + head, start + total - 4
            if end + 4 > size:
                self._needed = total
                return start
            payload = data[body:end]
            if crc32(payload, checksum) != _number(data, end)[0]:
                raise _wrong("the checksum of a message is wrong", read.at + start)
            # Nearly every payload is an object that is not empty: `{`, then neither a blank nor `}`, and at last `}`.
            if ending and end - body > 2 and payload[-1] == 125 and payload[0] == 123 and 32 < payload[1] < 125:
                add(payload[:-1] + ending)
            else:
                add(self._message(data[start:body], payload, checksum, read.at + start))
                self._head = head
            start = end + 4
        self._needed = PRELUDE
        return start

    def _lengths(self, prelude: bytes, at: int) -> tuple[int, int]:
        """How long a message is, and where in it the payload begins."""
        total, headers, checksum = _PRELUDE.unpack(prelude)
        if crc32(prelude[:8]) != checksum:
            raise _wrong("the checksum of a prelude is wrong", at)
        if total < _SHORTEST or headers > total - _SHORTEST:
            raise _wrong("the lengths in a prelude contradict each other", at)
        if total > self._limits.event:
            raise LimitExceeded("event", self._limits.event, position=at + self._limits.event)
        return total, PRELUDE + headers

    def _message(self, before: bytes, payload: bytes, checksum: int, at: int) -> bytes:
        """A message as JSON, whatever it holds."""
        headers = _headers(before[PRELUDE:], at + PRELUDE)
        kind = headers.get(":message-type") or _kind(headers)
        if kind != "event":
            words = payload.decode(errors="replace")
            return msgspec.json.encode({":message": {"type": kind, "headers": headers, "payload": words}})
        ending = b',":event-type":' + msgspec.json.encode(headers.get(":event-type", "")) + b"}"
        made = _event(payload, ending, at + len(before))
        if len(before) <= _LONG_HEADERS:
            if len(_KNOWN) >= _MOST_KNOWN:
                _KNOWN.clear()
            _KNOWN[before] = len(before) + len(payload) + _CHECKSUM, len(before), checksum, ending
        return made

    def _give(self, read: _Read, frames: list[Any]) -> None:
        count = len(read.messages)
        if self._joins and count > 1:
            text = b"\n".join(read.messages)
            if len(text) <= self._limits.event and text.count(b"\n") == count - 1 and is_utf8(text):
                frames.append(Run(text, b"\n", count, max(map(len, read.messages)), read.frames))
                return
        read.frames_into(frames)


class _Read:
    """The messages of one read, each as JSON; they stand in its data one after the other."""

    __slots__ = ("at", "data", "messages")

    def __init__(self, data: bytes, at: int) -> None:
        self.data = data
        self.at = at
        self.messages: list[bytes] = []

    def frames(self) -> list[Any]:
        """The messages one by one."""
        made: list[Any] = []
        self.frames_into(made)
        return made

    def frames_into(self, frames: list[Any]) -> None:
        """Adds them one by one, until one is no text."""
        start = 0
        for message in self.messages:
            total, headers, _ = _PRELUDE.unpack_from(self.data, start)
            at = self.at + start
            frames.append(EventStreamFrame(decode_text(message, at + PRELUDE + headers), at))
            start += total


def _kind(headers: dict[str, str]) -> str:
    """What a message is that does not say so."""
    if ":exception-type" in headers:
        return "exception"
    return "error" if ":error-code" in headers else "event"


def _event(payload: bytes, ending: bytes, at: int) -> bytes:
    """An event as JSON that begins with `{` and ends with `}`, each byte of an object in its place."""
    members = payload.rstrip()
    blanks = len(members) - len(members.lstrip())
    if not members or members[blanks:] == b"{}":
        return b"{" + ending[1:]
    if members[blanks : blanks + 1] != b"{" or members[-1:] != b"}":
        return b'{":message":{"payload":' + msgspec.json.encode(decode_text(payload, at)) + b"}" + ending
    inside = members[blanks + 1 : -1]
    return b"{" + b" " * blanks + inside + (ending if inside.strip() else ending[1:])


def _headers(raw: bytes, at: int) -> dict[str, str]:
    """The headers whose values are strings; the others are stepped over."""
    found: dict[str, str] = {}
    names: set[bytes] = set()
    start, size = 0, len(raw)
    while start < size:
        value = start + raw[start] + 2
        name = raw[start + 1 : value - 1]
        if value > size or name in names:
            raise _wrong("a header is cut short or given twice", at + start)
        names.add(name)
        kind = raw[value - 1]
        if kind >= len(_WIDTHS):
            raise _wrong(f"a header has the unknown type {kind}", at + value - 1)
        width = _WIDTHS[kind]
        if width is None:
            width = int.from_bytes(raw[value : value + 2])
            value += 2
        end = value + width
        if end > size:
            raise _wrong("a header is cut short", at + start)
        if kind == _STRING:
            found[decode_text(name, at + start + 1)] = decode_text(raw[value:end], at + value)
        start = end
    return found


def _wrong(what: str, position: int) -> ProtocolError:
    return ProtocolError(
        f"{what} at byte {position}",
        hint="The body must be an AWS event stream as it was sent: it may be changed, cut, or of another format.",
        position=position,
    )
