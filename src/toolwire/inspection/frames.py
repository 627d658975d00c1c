"""`TracedFrame`: one frame of an answer as it came, and the events that it became."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from ..errors import ToolwireError
from ..stream.segments import SegmentEvent
from ..wire.eventstream import EventStreamDecoder

Framing = Literal["sse", "lines", "array", "aws", "text"]
"""How bytes are cut into frames: server-sent events, JSON lines, a JSON array, AWS messages, lines of plain text."""

Level = Literal["problem", "note"]


class Finding(msgspec.Struct, frozen=True, gc=False):
    """Something that a reader looks for: a `problem`, or a `note`, which is odd or worth knowing and harmless."""

    level: Level
    words: str
    told: bool = False
    """Whether an event of the frame says the same."""


class TracedFrame(msgspec.Struct, gc=False, kw_only=True):
    """One frame. `raw` is exactly the bytes from `offset` on, without the line ends behind it.

    Frames that carry nothing (comments, events without data) are here too: they are what a silent server sends.
    """

    number: int
    """From 1, in the order in which the frames became whole."""
    offset: int
    """Of its first byte in the body."""
    at: float | None
    """Seconds since the request was sent when its last byte came; None where no times are known."""
    name: str
    """What it calls itself: the event's name, or the `type` of its JSON; `comment`, `stray line` …"""
    framing: Framing
    raw: bytes
    events: tuple[SegmentEvent, ...]
    findings: tuple[Finding, ...]
    carries: bool = True
    """Whether it is for the decoder; not so for comments and events without data."""

    @property
    def size(self) -> int:
        """Bytes of it."""
        return len(self.raw)

    @property
    def has_problem(self) -> bool:
        """Whether something of it is a problem."""
        return any(finding.level == "problem" for finding in self.findings)

    @property
    def text(self) -> str:
        """All of it as text, as it came. Of a binary message, its payload and kind as JSON."""
        if self.framing == "aws":
            return self.payload
        return self.raw.decode("utf-8", "replace")

    @property
    def payload(self) -> str:
        """What it holds without its framing: the data of an event, a message of AWS as JSON."""
        if self.framing == "aws":
            try:
                frames = EventStreamDecoder().feed(self.raw)
            except ToolwireError:
                frames = []
            return frames[0].data if frames else self.raw.decode("utf-8", "replace")
        text = self.raw.decode("utf-8", "replace")
        if self.framing != "sse":
            return text.strip() if self.framing != "text" else text
        lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
        data = [line[5:].removeprefix(" ") for line in lines if line.startswith("data:")]
        return "\n".join(data) if data else text.strip()

    def value(self) -> Any:
        """The JSON that it holds, read; None where it holds none."""
        try:
            return msgspec.json.decode(self.payload)
        except (msgspec.MsgspecError, UnicodeError, RecursionError):
            return None

    def pretty(self) -> str:
        """As `payload`, JSON with a line for each value. Members stay as they came, also those given twice."""
        payload = self.payload
        try:
            return msgspec.json.format(payload, indent=2)
        except (msgspec.MsgspecError, UnicodeError, RecursionError):
            return payload
