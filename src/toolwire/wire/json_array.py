"""A JSON array as a stream: `[{…},\\r\\n{…}]`, each element a frame as soon as its last bracket is there.

Gemini answers so where nobody asked it for server-sent events. `SseOrArrayDecoder` takes either and tells them apart by
the first byte that is not blank.

The elements of such an array are objects; between them stand one comma and blanks, and nothing else is tolerated there
or after the array. An element is found by its brackets alone: whether it is JSON is for its reader to say. A body that
ends before its `]` gives a last frame that is marked as cut, so that half an array is never taken for a whole one.

`toolwire.wire.lines` lists the promises about cuts, bounds and errors; an element is bounded as a line is.
"""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar

import msgspec

from ..errors import LimitExceeded, ProtocolError, ToolwireError
from ..limits import DEFAULT_LIMITS, KIB, Limits
from .lines import Run, decode_text, is_utf8
from .sse import SseDecoder

_BOM = b"\xef\xbb\xbf"
_BLANKS = b" \t\r\n"
_OPEN, _CLOSE = b"{[", b"}]"
_NO_BRACKETS = bytes(byte for byte in range(256) if byte not in _OPEN + _CLOSE)

_AT_ONCE = 256 * KIB
"""How much is worked on at a time: a flood of quotes costs many times its size as pieces."""

_START, _FIRST, _NEXT, _AFTER, _END = "[", "an element or ]", "an element", ", or ]", "nothing more"
"""What may come where no element is open, in words."""


_BREAK = b"\n,\r\n{"
"""What Google prints between two elements, and the first byte of the second."""

_BETWEEN = b"}\n,\r\n{"
_skip = msgspec.json.Decoder(msgspec.Raw).decode
_skip_lines = msgspec.json.Decoder(msgspec.Raw).decode_lines


class ArrayElement(msgspec.Struct, frozen=True, gc=False):
    """One element of the array."""

    data: str
    position: int
    """Byte offset in the stream of the element's first byte."""
    cut: bool = False
    """True for the last one of a body that ended before its `]`: a piece of an element, or nothing."""
    stray: ClassVar[bool] = False


class JsonArrayDecoder:
    """Bytes in, elements out. `at` is where in the stream the array begins. With `join_runs`, stretches of elements
    come out as one `Run`.
    """

    def __init__(self, limits: Limits = DEFAULT_LIMITS, *, at: int = 0, join_runs: bool = False) -> None:
        self._joins = join_runs
        self.position = at
        """Bytes taken so far; after an error, where it happened."""
        self._limits = limits
        self._ended = False
        self._expected = _START
        self._depth = 0  # open brackets of the element that is being read; 0 between elements
        self._in_string = False
        self._escaped = False  # the last byte was a backslash that stands for itself and the next
        self._first = 0  # offset of the first byte of the open element
        self._held = bytearray()
        self._tried = False  # whether the open element was found not to be one for the short way

    def feed(self, data: bytes | bytearray | memoryview) -> list[ArrayElement]:
        """Take the next bytes, cut anywhere, and give the elements they complete."""
        frames: list[ArrayElement] = []
        if self._ended:
            return frames
        body = data if type(data) is bytes else bytes(data)
        room = self._limits.stream - self.position
        try:
            for start in range(0, min(len(body), room), _AT_ONCE):
                piece = body[start : min(start + _AT_ONCE, room)]
                self._take(piece, frames)
            if len(body) > room:
                raise LimitExceeded("stream", self._limits.stream, position=self._limits.stream)
        except ToolwireError as error:
            self._fail(error, frames)
            raise
        return frames

    def close(self) -> list[ArrayElement]:
        """The body has ended: nothing more, or what shows that it was cut."""
        frames: list[ArrayElement] = []
        if self._ended:
            return frames
        self._ended = True
        if self._expected is _END:
            return frames
        at = self._first if self._depth else self.position
        try:
            frames.append(ArrayElement(decode_text(bytes(self._held), at), at, cut=True))
        except ToolwireError as error:
            self._fail(error, frames)
            raise
        return frames

    def _take(self, data: bytes, frames: list[ArrayElement]) -> None:
        taken = self._plain_elements(data, frames)
        self.position += taken
        self._scan(data[taken:] if taken else data, frames)
        self.position += len(data) - taken

    def _plain_elements(self, data: bytes, frames: list[ArrayElement]) -> int:
        """The short way through what Google prints: elements with `_BREAK` between them, each of them JSON.

        Returns how many bytes were taken; the rest is for `_scan`, which does the same, slower. An element is tried
        once, so that the cost stays linear.
        """
        start = 0
        if self._expected is _START and data[:2] == b"[{":
            self._expected = _FIRST
            start = 1
        if not self._depth and (self._expected not in (_FIRST, _NEXT) or data[start : start + 1] != b"{"):
            return start
        joins = self._joins
        while not self._tried and (end := data.find(_BREAK, start)) >= 0:
            if joins and not self._depth:
                start, joins = self._join_elements(data, start, frames), False
                continue
            raw = bytes(self._held) + data[start:end] if self._depth else data[start:end]
            if len(raw) > self._limits.line or not _is_json(raw):
                self._tried = True
                break
            if not self._depth:
                self._first = self.position + start
            self._depth = 0
            self._in_string = self._escaped = False
            self._held = bytearray()
            frames.append(ArrayElement(decode_text(raw, self._first), self._first))
            self._expected = _NEXT
            start = end + len(_BREAK) - 1
        return start

    def _join_elements(self, data: bytes, start: int, frames: list[Any]) -> int:
        """Takes all elements from `start` to the last break as one `Run`, if they are as many JSON values as there are
        breaks between them. Returns where the next element begins.
        """
        end = data.rfind(_BREAK, start)
        if end < 0:
            return start
        elements = data[start:end].split(_BETWEEN)
        text = b"}\t{".join(elements)
        longest = max(map(len, elements)) + 2
        if (
            longest > self._limits.line
            or text[:1] != b"{"
            or text[-1:] != b"}"
            or not is_utf8(text)
            or _values(text) != len(elements)
        ):
            return start
        one_by_one = partial(_elements, data[start:end], self.position + start)
        frames.append(Run(text, b"\t", len(elements), longest, one_by_one))
        self._expected = _NEXT
        return end + len(_BREAK) - 1

    def _scan(self, data: bytes, frames: list[ArrayElement]) -> None:
        if not data:
            return
        pieces = self._mask(data).split(b'"')
        # Every other piece stands outside strings. Few of those hold a bracket, and only where one may close the
        # element, or none is open, is it read byte by byte.
        seen = at = 0  # `at` is where pieces[seen] starts
        begun = 0 if self._depth else -1  # where the open element starts in these bytes
        last = len(pieces) - 1
        for index in range(int(self._in_string), last + 1, 2):
            piece = pieces[index]
            if self._depth:
                brackets = piece.translate(None, _NO_BRACKETS)
                if not brackets:
                    continue
                closing = brackets.count(b"}") + brackets.count(b"]")
                if closing < self._depth:
                    self._depth += len(brackets) - 2 * closing
                    continue
            at += sum(map(len, pieces[seen:index])) + index - seen
            seen = index
            begun = self._outside(data, at, at + len(piece), begun, frames)
            if not self._depth and index < last:
                raise self._misplaced(data, at + len(piece))
        self._in_string = self._in_string != bool(last & 1)
        if self._depth:
            self._hold(data[begun:])

    def _mask(self, data: bytes) -> bytes:
        """The bytes with every escaped quote and backslash put out of sight, so that each quote left is one."""
        if self._escaped and data[0] in b'"\\':
            data = b"_" + data[1:]
        if b"\\" in data:
            data = data.replace(b"\\\\", b"__").replace(b'\\"', b"__")
        self._escaped = data.endswith(b"\\")
        return data

    def _outside(self, data: bytes, at: int, end: int, begun: int, frames: list[ArrayElement]) -> int:
        """Reads data[at:end], which is no part of a string; returns where the open element starts, -1 for none."""
        depth = self._depth
        for place in range(at, end):
            byte = data[place]
            if depth:
                if byte in _OPEN:
                    depth += 1
                elif byte in _CLOSE:
                    depth -= 1
                    if not depth:
                        self._element(data[begun : place + 1], frames)
                        begun = -1
            elif byte not in _BLANKS:
                depth = self._between(data, place)
                if depth:
                    begun = place
        self._depth = depth
        return begun

    def _between(self, data: bytes, place: int) -> int:
        """Takes one byte that stands between elements; returns the depth after it."""
        byte, expected = data[place : place + 1], self._expected
        if byte == b"{" and expected in (_FIRST, _NEXT):
            self._first = self.position + place
            return 1
        if byte == b"[" and expected is _START:
            self._expected = _FIRST
        elif byte == b"," and expected is _AFTER:
            self._expected = _NEXT
        elif byte == b"]" and expected in (_FIRST, _AFTER):
            self._expected = _END
        else:
            raise self._misplaced(data, place)
        return 0

    def _element(self, rest: bytes, frames: list[ArrayElement]) -> None:
        raw = rest
        if self._held:
            self._held += rest
            raw = bytes(self._held)
            self._held = bytearray()
        self._check(len(raw))
        frames.append(ArrayElement(decode_text(raw, self._first), self._first))
        self._expected = _AFTER
        self._tried = False

    def _hold(self, piece: bytes) -> None:
        self._check(len(self._held) + len(piece))
        self._held += piece

    def _check(self, length: int) -> None:
        longest = self._limits.line
        if length > longest:
            raise LimitExceeded("line", longest, position=self._first + longest)

    def _misplaced(self, data: bytes, place: int) -> ProtocolError:
        position = self.position + place
        return ProtocolError(
            f"byte {position} is {data[place : place + 1]!r}, where a JSON array of objects has {self._expected}",
            hint="Check that this is the whole answer of the provider, unchanged.",
            position=position,
        )

    def _fail(self, error: ToolwireError, frames: list[ArrayElement]) -> None:
        self._ended = True
        self._held = bytearray()
        self.position = error.position
        error.before = frames


def _values(text: bytes) -> int:
    """How many JSON values these are; -1 where they are none."""
    try:
        return len(_skip_lines(text))
    except (msgspec.MsgspecError, RecursionError):
        return -1


def _elements(block: bytes, at: int) -> list[ArrayElement]:
    """The elements of a block that was taken as one, which starts at this offset."""
    made: list[ArrayElement] = []
    elements = block.split(_BETWEEN)
    for number, element in enumerate(elements):
        before = b"{" if number else b""
        whole = before + element + (b"}" if number < len(elements) - 1 else b"")
        made.append(ArrayElement(whole.decode(), at))
        at += len(whole) + len(_BREAK) - 1
    return made


def _is_json(raw: bytes) -> bool:
    """Whether this is one JSON value from its first byte to its last: no piece of an object is."""
    try:
        _skip(raw)
    except (msgspec.MsgspecError, RecursionError):
        return False
    return raw[-1:] == b"}"


class SseOrArrayDecoder:
    """Server-sent events or a JSON array, whichever the body is: `[` as the first byte that is not blank says."""

    def __init__(self, limits: Limits = DEFAULT_LIMITS, *, keep_stray: bool = False, join_runs: bool = False) -> None:
        self._limits = limits
        self._joins = join_runs
        self._sse = SseDecoder(limits, keep_stray=keep_stray, join_runs=join_runs)
        self._framer: SseDecoder | JsonArrayDecoder = self._sse
        self._undecided = True
        self._marks = 0  # bytes of a byte order mark so far

    @property
    def position(self) -> int:
        """Bytes taken so far; after an error, where it happened."""
        return self._framer.position

    @property
    def quirks(self) -> dict[str, int]:
        """How often the stream left the standard in a way that is tolerated, by name."""
        return self._sse.quirks

    def feed(self, data: bytes | bytearray | memoryview) -> list[Any]:
        """Take the next bytes, cut anywhere, and give the frames they complete."""
        return self._begin(bytes(data)) if self._undecided else self._framer.feed(data)

    def close(self) -> list[Any]:
        """The body has ended: give what it ends."""
        self._undecided = False
        return self._framer.close()

    def _begin(self, data: bytes) -> list[Any]:
        """Takes the start of the body. Blanks go to the SSE decoder as they come, so that its bounds hold for them."""
        at = self._skip_mark(data)
        half_mark = 0 < self._marks < len(_BOM)
        while at < len(data) and data[at] in _BLANKS and not half_mark:
            at += 1
        self._undecided = False
        if at < len(data) and (half_mark or data[at : at + 1] != b"["):
            return [*self._sse.feed(data)]
        frames: list[Any] = [*self._sse.feed(data[:at])]
        if at == len(data):
            self._undecided = True
            return frames
        self._framer = JsonArrayDecoder(self._limits, at=self._sse.position, join_runs=self._joins)
        try:
            frames += self._framer.feed(data[at:])
        except ToolwireError as error:
            error.before = [*frames, *error.before]
            raise
        return frames

    def _skip_mark(self, data: bytes) -> int:
        at = 0
        while at < len(data) and self._marks < len(_BOM) and data[at] == _BOM[self._marks]:
            self._marks += 1
            at += 1
        if at < len(data) and self._marks == 0:
            self._marks = len(_BOM)
        return at
