"""Server-sent events: the event stream interpretation of the WHATWG HTML standard, on bytes.

To the letter, with one exception that real providers need: when the body ends, an event that has data but
no blank line after it is given all the same, and counted in `quirks`. (Whether the answer was complete is for
the provider's own end mark to say, not for the framing.) What the standard ignores can be had too: see
`keep_stray`.

Bad UTF-8 in a line that is used is a `ProtocolError`, where the standard would put U+FFFD in the text unseen.
`toolwire.wire.lines` lists the promises about cuts, bounds and errors.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import msgspec

from ..errors import ToolwireError
from ..limits import DEFAULT_LIMITS, KIB, Limits
from .lines import HEAD, LineDecoder, Run, decode_text, invalid_utf8, is_utf8

_BLANK = (b"\n", b"\r\n", b"\r")
_FEW = 3  # events that are not worth a run
_SHORT = 4 * KIB  # what may be looked at again when the next bytes come
_RETRY_DIGITS = 18  # more is no waiting time, and Python refuses to read very long numbers


class SseEvent(msgspec.Struct, frozen=True, gc=False):
    """One event, or with `stray` one line that is no SSE field."""

    data: str
    """The data lines joined with LF; for a stray line, all of it."""
    event: str = "message"
    """The event type; `message` where none was given."""
    id: str = ""
    """The last event id, which holds until another one comes."""
    position: int = 0
    """Byte offset in the stream of the first field line of the event."""
    stray: bool = False
    """True for a line that is no SSE field; only with `keep_stray`."""
    cut: bool = False
    """True for the last one of a body that ended in the middle of a line: more was to come."""


def _blank_line(data: bytes) -> bytes:
    """What ends an event here, to judge by the first line end: two LF or two CRLF."""
    first = data.find(b"\n")
    return b"\r\n\r\n" if first > 0 and data[first - 1] == 13 else b"\n\n"


def _separated(data: bytes, end: int, at: int, last_id: str, limits: Limits) -> list[SseEvent]:
    """The events of bytes that were taken as one, from this offset of the stream, one by one."""
    decoder = SseDecoder(limits)
    decoder._mark, decoder._at, decoder._id = None, at, last_id
    return decoder.feed(data[:end])


class SseDecoder(LineDecoder[Any]):
    """Bytes in, events out, each as soon as its blank line is certain.

    With `keep_stray`, a line that is neither a comment nor one of the four fields (`error: {...}`, bare JSON,
    HTML, a field with a blank before it) comes out at once as an event with `stray` set, because some
    providers put their errors there. It does not touch the event that is being collected.

    With `join_runs`, stretches of events that hold one JSON object each come out as one `Run`.
    """

    _line_ends = b"\r\n"

    def __init__(self, limits: Limits = DEFAULT_LIMITS, *, keep_stray: bool = False, join_runs: bool = False) -> None:
        super().__init__(limits)
        self.retry: int | None = None
        """The last valid reconnection time, in milliseconds."""
        self.quirks: dict[str, int] = {}
        """How often the stream left the standard in a way that is tolerated, by name."""
        self._keep_stray = keep_stray
        self._joins = join_runs
        self._plain = min(limits.line, limits.event)  # no first data line up to this length is over a bound
        self._short = min(_SHORT, self._plain)
        self._after_cr = False
        self._text: str | None = None  # data of the event being collected: its first line ...
        self._joined: bytearray | None = None  # ... or, once a second one comes, all of them
        self._type = ""
        self._id = ""
        self._first = -1  # offset of the event's first field line
        self._begun = b""  # the first line of an event and a part of the second, not looked at yet

    def close(self) -> list[Any]:
        """The body has ended: give the event that it ends, marked when its last line was not whole."""
        frames: list[Any] = []
        if self._begun and not self._ended:
            begun, self._begun = self._begun, b""
            try:
                super()._take(begun, frames)
            except ToolwireError as error:
                self._fail(error, frames)
                raise
        cut = bool(self._held or self._mark)
        frames += super().close()
        if cut and frames:
            frames[-1] = msgspec.structs.replace(frames[-1], cut=True)
        return frames

    def _take(self, data: bytes, frames: list[Any]) -> None:
        if self._mark == b"" and data[:1] > b"" and data[:1] != b"\xef":
            self._mark = None
        if self._begun:
            data, self._begun = self._begun + data, b""
        if self._mark is None and not self._after_cr:
            if self._first >= 0 and (gap := data.find(b"\n\n")) >= 0:
                # An event is half read: to its end the long way, then the short one again.
                super()._take(data[: gap + 2], frames)
                data = data[gap + 2 :]
            if self._text is None and self._first < 0 and not self._after_cr:
                if self._held and _blank_line(data) in data:
                    # The held line is joined once, by the read that ends its event.
                    data = bytes(self._held) + data
                    self._held = bytearray()
                    self._watch = 0
                if not self._held:
                    data = self._plain_events(data, frames)
                    if not data:
                        return
                    if b"\n" not in data and b"\r" not in data:
                        self._hold(data)
                        return
                    if (
                        data[:7] == b"event: "
                        and len(data) <= self._short
                        and data.count(b"\n") == 1
                        and b"\r" not in data
                    ):
                        self._begun = data
                        return
        super()._take(data, frames)

    def _plain_events(self, data: bytes, frames: list[Any]) -> bytes:
        """The short way through what nearly all answers are: `data: …`, or `event: …` and `data: …`, and a blank line,
        again and again.

        Takes the whole events from the start of `data` and returns the rest of it. Gives what `_lines` would give.
        """
        gap = _blank_line(data)
        end = data.rfind(gap)
        if not 0 < end <= self._plain:
            return data
        kind, head = "message", b"data: "
        if data.startswith(b"event: "):
            # Events of one name come in long runs: cut at the name that stands in the middle, whatever it is.
            middle = data.rfind(gap + b"event: ", 0, end // 2 + 9)
            start = 0 if middle < 0 else middle + len(gap)
            head = data[start : data.find(b"\n", start) + 7]
            name, mark, _ = head[7:].partition(gap[: len(gap) // 2] + b"data: ")
            if not mark or b"\r" in name:
                return data
            try:
                kind = name.decode() or "message"
            except UnicodeDecodeError:
                return data
        elif not data.startswith(head):
            return data
        if self._joins and (self._join_all(data, end, gap, head, frames) or self._join_named(data, end, gap, frames)):
            return data[end + len(gap) :]
        if gap != b"\n\n" or data.find(b"\r", 0, end) >= 0:
            return data
        self._separate_events(data[:end], head, kind, frames)
        return data[end + 2 :]

    def _join_all(self, data: bytes, end: int, gap: bytes, head: bytes, frames: list[Any]) -> bool:
        """Takes all events up to `end` as one `Run`, if each begins with `head` and holds one object."""
        last = data.rfind(gap, 0, end)
        if not (data.startswith(head) and data.startswith(head, last + len(gap) if last >= 0 else 0)):
            return False
        payloads = data[len(head) : end].split(b"}" + gap + head + b"{")
        text = b"}\t{".join(payloads)
        if text[:1] != b"{" or text[-1:] != b"}" or b"\n" in text or b"\r" in text or not is_utf8(text):
            return False
        self._run(text, payloads, data, end + len(gap), frames)
        return True

    def _join_named(self, data: bytes, end: int, gap: bytes, frames: list[Any]) -> bool:
        """Takes all events up to `end` as one `Run`, if each has a name, whatever it is, and holds one object."""
        if gap != b"\n\n" or not data.startswith(b"event: "):
            return False
        lines = data[:end].split(b"\n")
        names, payloads = lines[0::3], lines[1::3]
        if len(lines) % 3 != 2 or any(lines[2::3]):
            return False
        text = b"\n".join(payloads).replace(b"}\ndata: {", b"}\t{")
        if (
            text[:7] != b"data: {"
            or text[-1:] != b"}"
            or b"\n" in text
            or b"\n".join(names).count(b"\nevent: ") != len(names) - 1
            or data.find(b"\r", 0, end) >= 0
            or not is_utf8(data[:end])
        ):
            return False
        self._run(text[6:], payloads, data, end + 2, frames)
        return True

    def _run(self, text: bytes, payloads: list[bytes], data: bytes, end: int, frames: list[Any]) -> None:
        """These payloads, which the bytes up to `end` hold, as one frame."""
        longest = max(map(len, payloads)) + len(b"{}")
        one_by_one = partial(_separated, data, end, self._at, self._id, self._limits)
        frames.append(Run(text, b"\t", len(payloads), longest, one_by_one))
        self._at += end

    def _separate_events(self, block: bytes, head: bytes, kind: str, frames: list[Any]) -> None:
        """Takes a block of events, most of which begin with `head`: one by one, or in stretches of those."""
        between = b"\n\n" + head
        pieces = block.split(between)
        if pieces[0].startswith(head):
            pieces[0] = pieces[0][len(head) :]
        else:
            self._at = self._mixed_events(pieces.pop(0), self._at, frames)
        alike: list[bytes] = []
        for piece in pieces:
            if self._joins and piece[:1] == b"{" and piece[-1:] == b"}" and b"\n" not in piece:
                alike.append(piece)
                continue
            self._stretch(alike, head, kind, frames)
            alike = []
            if b"\n" in piece:
                self._at = self._mixed_events(head + piece, self._at, frames)
            else:
                self._stretch([piece], head, kind, frames)
        self._stretch(alike, head, kind, frames)

    def _stretch(self, pieces: list[bytes], head: bytes, kind: str, frames: list[Any]) -> None:
        """The payloads of events that begin with `head`, as a `Run` if there are many."""
        at = self._at
        if len(pieces) > _FEW:
            text = b"\t".join(pieces)
            if is_utf8(text):
                block = head + (b"\n\n" + head).join(pieces) + b"\n\n"
                self._run(text, pieces, block, len(block), frames)
                return
        for piece in pieces:
            frames.append(SseEvent(decode_text(piece, at + len(head)), kind, self._id, at))
            at += len(piece) + len(head) + 2
        self._at = at

    def _mixed_events(self, block: bytes, at: int, frames: list[Any]) -> int:
        """Whole events of any form, the first of which starts at `at`; the offset after the last."""
        for event in block.split(b"\n\n"):
            name, mark, text = event.partition(b"\ndata: ")
            if mark and event[:7] == b"event: " and b"\n" not in text and b"\n" not in name:
                kind = decode_text(name[7:], at + 7)
                frames.append(SseEvent(decode_text(text, at + len(name) + 7), kind or "message", self._id, at))
                at += len(event) + 2
            else:
                at = self._lines((event + b"\n\n").splitlines(True), at, frames)
        return at

    def _split(self, data: bytes) -> list[bytes]:
        if not data:
            return []
        if self._after_cr and data[0] == 10:
            data = data[1:]
            self._at += 1
        self._after_cr = data.endswith(b"\r")
        return data.splitlines(True)  # on bytes: CR, LF and CRLF, and nothing else

    def _lines(self, lines: list[bytes], at: int, frames: list[SseEvent]) -> int:
        plain = self._plain
        rest = iter(lines)
        for raw in rest:
            if raw[:6] == b"data: " and len(raw) <= plain and self._text is None:
                # Almost every line of an answer, and after it a blank one: what is below does the same, slower.
                try:
                    text = raw[6 : -2 if raw[-2] == 13 else -1].decode()
                except UnicodeDecodeError as error:
                    raise invalid_utf8(at + 6 + error.start) from None
                first = self._first if self._first >= 0 else at
                at += len(raw)
                raw = next(rest, b"")
                if raw == b"\n" or raw == b"\r\n":
                    frames.append(SseEvent(text, self._type or "message", self._id, first))
                    self._type = ""
                    self._first = -1
                    at += len(raw)
                    continue
                self._text, self._first = text, first
            if raw in _BLANK:
                self._blank(frames)
            elif raw:
                self._line(raw, at, frames)
            at += len(raw)
        return at

    def _blank(self, frames: list[SseEvent]) -> None:
        text = self._text
        if text is not None:
            if self._joined is not None:
                text = self._joined.decode()
                self._joined = None
            frames.append(SseEvent(text, self._type or "message", self._id, self._first))
            self._text = None
        self._type = ""
        self._first = -1

    def _line(self, raw: bytes, at: int, frames: list[SseEvent]) -> None:
        end = len(raw) - (2 if raw.endswith(b"\r\n") else 1)
        if end > self._plain or self._text is not None:
            self._check(end, raw[: min(end, HEAD)], at)
        colon = raw.find(b":", 0, HEAD)
        if colon == 0:
            return
        if colon < 0:
            name, start = raw[: min(end, HEAD)], end
        else:
            name, start = raw[:colon], colon + 1
            if raw[start] == 32:
                start += 1
        if name == b"data":
            value = raw[start:end]
            text = decode_text(value, at + start)
            if self._text is None:
                self._text = text
            else:
                joined = self._join()
                joined += b"\n"
                joined += value
        elif name == b"event":
            self._type = decode_text(raw[start:end], at + start)
        elif name == b"id":
            if raw.find(b"\0", start) < 0:
                self._id = decode_text(raw[start:end], at + start)
        elif name == b"retry":
            value = raw[start:end]
            if value.isdigit() and len(value) <= _RETRY_DIGITS:
                self.retry = int(value)
        else:
            self._count("stray-line")
            if self._keep_stray:
                frames.append(SseEvent(decode_text(raw[:end], at), position=at, stray=True))
            return
        if self._first < 0:
            self._first = at

    def _join(self) -> bytearray:
        # One buffer, not a list of lines: a flood of tiny lines would cost many times its size as objects.
        if self._joined is None:
            self._joined = bytearray((self._text or "").encode())
        return self._joined

    def _finish(self, frames: list[SseEvent]) -> None:
        if self._text is not None:
            self._count("last-event-without-blank-line")
            self._blank(frames)

    def _bound(self, head: bytes) -> tuple[int, str, int]:
        limits = self._limits
        if head == b"data" or head.startswith(b"data:"):
            start = len(head) if head in (b"data", b"data: ") else 5
            used = 0 if self._text is None else len(self._join()) + 1
            if start + limits.event - used < limits.line:
                return start + limits.event - used, "event", limits.event
        return super()._bound(head)

    def _count(self, quirk: str) -> None:
        self.quirks[quirk] = self.quirks.get(quirk, 0) + 1
