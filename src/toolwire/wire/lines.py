"""What the line-based framings (SSE, NDJSON) share: bytes cut anywhere go in, whole lines are worked on.

The promises, for every child of `LineDecoder`:

- The frames, and the error if there is one, depend on the bytes only, never on how they were cut.
- An error carries the frames that the same call decoded before the fault in its attribute `before` (a list,
  maybe empty), so that nothing that arrived intact is lost. After an error, and after `close`, every call
  does nothing and returns an empty list.
- At most one line is held (and, for SSE, the data of one event), and no more of it than its bound and one
  read. Time is linear in the bytes.
- All positions are byte offsets in the stream. For a bound it is the first byte too many, for bad UTF-8 the
  first byte of the bad sequence.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import msgspec

from ..errors import LimitExceeded, ProtocolError, ToolwireError
from ..limits import DEFAULT_LIMITS, Limits
from .framing import Frame, Framing

_BOM = b"\xef\xbb\xbf"

HEAD = 6
"""How many bytes of a line say which bound holds for it: the longest is `data: `."""


def invalid_utf8(position: int) -> ProtocolError:
    """The error for bytes that are no UTF-8."""
    return ProtocolError(
        f"invalid UTF-8 at byte {position}",
        hint="The body must be UTF-8 text: it may be cut short, still compressed, or in another encoding.",
        position=position,
    )


def decode_text(data: bytes, position: int) -> str:
    """The text of bytes that start at this offset; a `ProtocolError` names the first bad one."""
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise invalid_utf8(position + error.start) from None


class Run(msgspec.Struct, gc=False):
    """Many frames at once, for a reader that takes them all the same way: cheaper than a frame for each.

    `text` holds their payloads one after the other, with `mark` between them, a tab or a line end; each begins with `{`
    and ends with `}`. No JSON value can reach from one into the next: the mark may not stand in a string, and `}` with
    `{` after it stands in no object and no list. So if there are as many values as payloads, each payload is one of
    them. `frames` gives the frames one by one, as they would have come otherwise.
    """

    text: bytes
    mark: bytes
    count: int
    longest: int
    """The length of the longest payload, or more."""
    frames: Callable[[], list[Any]]


def is_utf8(text: bytes) -> bool:
    """Whether these bytes are text."""
    try:
        return text.isascii() or bool(text.decode())
    except UnicodeDecodeError:
        return False


class LineDecoder(Framing[Frame]):
    """Cuts bytes into lines, within the bounds, and lets its child make frames of them."""

    _line_ends: bytes
    """The bytes that end a line; a child that takes CR too sees to the LF that may follow it."""

    def __init__(self, limits: Limits = DEFAULT_LIMITS) -> None:
        super().__init__(limits)
        self._mark: bytes | None = b""  # what may begin a byte order mark; None once settled
        self._watch = 0  # how long it may get before its bound is looked at again

    def close(self) -> list[Frame]:
        """The body has ended: give what it ends. A last line without a line end is a line."""
        frames: list[Frame] = []
        if self._ended:
            return frames
        self._ended = True
        try:
            if self._mark:
                self._hold(self._mark)
            if self._held:
                self._held += b"\n"
                self._lines([bytes(self._held)], self._at, frames)
            self._finish(frames)
        except ToolwireError as error:
            self._fail(error, frames)
            raise
        return frames

    @abstractmethod
    def _split(self, data: bytes) -> list[bytes]:
        """Cut at the line ends, which stay on the lines."""

    @abstractmethod
    def _lines(self, lines: list[bytes], at: int, frames: list[Frame]) -> int:
        """Work on ended lines, the first of which starts at offset `at`; return the offset after the last."""

    def _finish(self, frames: list[Frame]) -> None:
        """Give what only the end of the body ends."""

    def _bound(self, head: bytes) -> tuple[int, str, int]:
        """How long a line with this head may get, and the name and number of the limit that says so."""
        return self._limits.line, "line", self._limits.line

    def _check(self, length: int, head: bytes, at: int) -> int:
        """Raise if a line of this length that starts at `at` is over its bound; return the bound."""
        longest, what, limit = self._bound(head)
        if length > longest:
            raise LimitExceeded(what, limit, position=at + longest)
        return longest

    def _take(self, data: bytes, frames: list[Frame]) -> None:
        if self._mark is not None:
            data = self._mark + data
            if len(data) < len(_BOM) and _BOM.startswith(data):
                self._mark = data
                return
            self._mark = None
            if data.startswith(_BOM):
                data = data[len(_BOM) :]
                self._at = len(_BOM)
        lines = self._split(data)
        if not lines:
            return
        rest = b"" if lines[-1][-1] in self._line_ends else lines.pop()
        if lines:
            if self._held:
                self._held += lines[0]
                lines[0] = bytes(self._held)
                self._held = bytearray()
                self._watch = 0
            self._at = self._lines(lines, self._at, frames)
        if rest:
            self._hold(rest)

    def _hold(self, piece: bytes) -> None:
        # A CR at the end may turn out to belong to the line end, which no bound counts.
        length = len(self._held) + len(piece) - piece.endswith(b"\r")
        if length > self._watch:
            head = bytes(self._held[:HEAD]) + piece[:HEAD]
            if length < HEAD:
                self._check(length, b"", self._at)
            else:
                self._watch = self._check(length, head[:HEAD], self._at)
        self._held += piece
