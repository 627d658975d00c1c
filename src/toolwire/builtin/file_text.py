"""The text of a file that is edited: seen with plain line ends, written back with its own.

What a model writes has LF at the ends of its lines, whatever the file has. So a file is compared as if it had LF too,
and what is put in gets the line ends of the place where it goes. Everything that is not changed keeps its bytes: a
mark at the beginning, line ends of both kinds, a last line without an end.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ..errors import FileRefused

MAX_BYTES = 32 * 1024 * 1024
"""Bytes of a file, before and after an edit. Texts that people write are far below; an edit holds a few copies."""
MAX_LINES = 1_000_000
"""Lines of a file: a line costs far more memory than its bytes."""

_MARK = "\ufeff"


class Span(NamedTuple):
    """The characters from `start` to `end` of the plain text, and what they become."""

    start: int
    end: int
    new: str


class Place(NamedTuple):
    """Lines of a text, from 1; the last one counts."""

    first: int
    last: int


class FileText:
    """What a file says, with LF at the end of every line. A lone CR is a character like another."""

    def __init__(self, content: bytes) -> None:
        if len(content) > MAX_BYTES:
            raise FileRefused(
                f"the file has {len(content):,} bytes, and at most {MAX_BYTES:,} can be edited; "
                "change it with a command, such as sed"
            )
        lines = content.count(b"\n")
        if lines > MAX_LINES:
            raise FileRefused(
                f"the file has {lines:,} lines, and at most {MAX_LINES:,} can be edited; "
                "change it with a command, such as sed"
            )
        if b"\0" in content:
            raise FileRefused("this is a binary file (it has NUL bytes): edit_file changes text only")
        try:
            raw = content.decode()
        except UnicodeDecodeError as error:
            raise FileRefused(
                f"the file is not UTF-8 text (byte {error.start:,} is 0x{content[error.start]:02x}): edit_file would "
                "damage it; convert it first, such as with iconv"
            ) from None
        self._raw = raw
        self._mark = len(_MARK) if raw.startswith(_MARK) else 0
        self._long = _long_ends(raw, self._mark)
        self.plain = plain_ends(raw[self._mark :])

    @property
    def ends(self) -> tuple[int, int]:
        """How many lines end with CRLF, and how many with LF alone."""
        return len(self._long), self.plain.count("\n") - len(self._long)

    def line_at(self, place: int) -> int:
        """The number of the line that a place of the plain text is in."""
        return self.plain.count("\n", 0, place) + 1

    def changed(self, spans: Sequence[Span]) -> bytes:
        """The content with these spans replaced; they are in order and do not overlap."""
        size = len(self._raw) + sum(len(span.new) - (span.end - span.start) for span in spans)
        if size > MAX_BYTES:
            raise FileRefused(f"the file would have {size:,} characters, and at most {MAX_BYTES:,} can be edited")
        pieces: list[str] = []
        place = 0
        for span, is_long in zip(spans, self._long_at(spans), strict=True):
            pieces.append(self._raw[place : self._raw_place(span.start)])
            pieces.append(span.new.replace("\n", "\r\n") if is_long else span.new)
            place = self._raw_place(span.end)
        pieces.append(self._raw[place:])
        try:
            after = "".join(pieces).encode()
        except UnicodeEncodeError as error:
            odd = ord(error.object[error.start])
            raise FileRefused(
                f"the new text has half a character (U+{odd:04X}), which no file can hold; write the whole character"
            ) from None
        if len(after) > MAX_BYTES:
            raise FileRefused(f"the file would have {len(after):,} bytes, and at most {MAX_BYTES:,} can be edited")
        return after

    def places(self, spans: Sequence[Span]) -> Iterator[Place]:
        """The lines of the new text that the spans have become, in order."""
        place, line = 0, 1
        for span in spans:
            line += self.plain.count("\n", place, span.start)
            last = line + span.new.count("\n")
            yield Place(line, last)
            place, line = span.end, last

    def _raw_place(self, place: int) -> int:
        return self._mark + place + bisect_left(self._long, place)

    def _long_at(self, spans: Sequence[Span]) -> Iterator[bool]:
        """Whether the lines of a span get CRLF: as the line has in which it starts, or else the one before."""
        following = -1
        is_long = False
        for span in spans:
            if self._long and following < span.start:
                following = self.plain.find("\n", span.start)
                if following < 0:
                    following = len(self.plain)
                    last = self.plain.rfind("\n")
                    is_long = self._is_long(last)
                else:
                    is_long = self._is_long(following)
            yield is_long

    def _is_long(self, place: int) -> bool:
        index = bisect_left(self._long, place)
        return index < len(self._long) and self._long[index] == place


def plain_ends(text: str) -> str:
    """The text with LF at the ends of its lines."""
    return text.replace("\r\n", "\n")


def _long_ends(raw: str, mark: int) -> list[int]:
    """Where in the plain text the lines end that end with CRLF."""
    ends: list[int] = []
    place = raw.find("\r\n", mark)
    while place >= 0:
        ends.append(place - mark - len(ends))
        place = raw.find("\r\n", place + 2)
    return ends
