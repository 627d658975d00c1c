"""Some lines of a text file of any size, in bounded memory: it is read in pieces, and only those lines are kept."""

from __future__ import annotations

import codecs
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

from .contents import HEAD, Contents, recognise

PIECE = 262_144
MAX_LINE = 2_000
"""Characters of one line; the rest of a longer one is left out."""
COUNTED = 64 * 1024 * 1024
"""How many bytes are read on behind the lines, to tell how many there are."""
SECONDS = 20.0
"""How long a file is read in search of a line."""

_KEPT = 4 * MAX_LINE + 4


class TooSlow(Exception):
    """The lines were not reached in time."""


@dataclass(slots=True)
class Excerpt:
    """What was found. Line numbers count from 1, or where `first` is below 0 from the end."""

    contents: Contents
    size: int
    first: int = 1
    lines: list[str] = field(default_factory=list)
    total: int | None = None
    """How many lines the file has; `None` where they were not counted."""
    is_ended: bool = True
    """The last of the lines has a line end."""
    returns: int = 0
    """How many of the lines end with CR LF."""
    is_damaged: bool = False
    """Some bytes in the lines are not of the encoding; they are shown as U+FFFD."""


def head_of(descriptor: int) -> tuple[Contents, int]:
    """What an open file holds, and its size."""
    os.lseek(descriptor, 0, os.SEEK_SET)
    head = b""
    while len(head) < HEAD:
        data = os.read(descriptor, HEAD - len(head))
        if not data:
            break
        head += data
    return recognise(head, is_whole=len(head) < HEAD), os.fstat(descriptor).st_size


def read_excerpt(descriptor: int, start: int, count: int, characters: int) -> Excerpt:
    """`count` lines from line `start` on, as long as they have no more than so many characters together.

    A negative `start` counts from the end; so do the numbers of the lines then, where counting them all would take too
    long. A file that is no text has no lines.
    """
    contents, size = head_of(descriptor)
    excerpt = Excerpt(contents, size)
    if not contents.encoding:
        return excerpt
    reader = _Reader(descriptor, contents)
    offset = contents.mark
    if start < 0 and size > COUNTED and not contents.is_wide:
        offset, start = reader.from_end(size, -start)
        count = count if start > 0 else min(count, -start)
    elif start < 0:
        start = max(reader.total() + start + 1, 1)
    excerpt.first = start or 1
    reader.collect(excerpt, offset, count, characters)
    return excerpt


class _Reader:
    """A text file as pieces of bytes in which a line feed is one byte."""

    def __init__(self, descriptor: int, contents: Contents) -> None:
        self._descriptor = descriptor
        self._contents = contents
        self._until = time.monotonic() + SECONDS

    def total(self) -> int:
        """How many lines there are."""
        number, is_open = 1, False
        for piece in self._pieces(self._contents.mark):
            number += piece.count(b"\n")
            is_open = not piece.endswith(b"\n")
        return number - (not is_open)

    def from_end(self, size: int, lines: int) -> tuple[int, int]:
        """Where so many last lines begin, and the number of the first of them: 1 where the file has no more."""
        end = b"\r" if self._contents.bare_returns else b"\n"
        wanted = lines + os.pread(self._descriptor, 1, size - 1).endswith(end)
        at = size
        while at > self._contents.mark:
            self._check_time()
            start = max(at - PIECE, self._contents.mark)
            piece = os.pread(self._descriptor, at - start, start)
            found = piece.count(end)
            if found >= wanted:
                return start + len(piece.rsplit(end, wanted)[0]) + 1, -lines
            wanted -= found
            at = start
        return self._contents.mark, 1

    def collect(self, excerpt: Excerpt, offset: int, count: int, characters: int) -> None:
        """Fills the excerpt with lines from its `first` on; one counted from the end begins at the offset."""
        number = min(excerpt.first, 1)
        line = _Line(self._contents.encoding if not self._contents.is_wide else "utf-8")
        is_collecting, is_open, behind = True, False, 0
        for piece in self._pieces(offset):
            is_open = not piece.endswith(b"\n")
            at = 0
            if number < excerpt.first:
                found = piece.count(b"\n")
                if number + found < excerpt.first:
                    number += found
                    continue
                at = len(piece) - len(piece.split(b"\n", excerpt.first - number)[-1])
                number = excerpt.first
            while is_collecting and at < len(piece):
                end = piece.find(b"\n", at)
                line.add(piece, at, len(piece) if end < 0 else end)
                if end < 0:
                    at = len(piece)
                    break
                at = end + 1
                number += 1
                characters -= line.cost
                is_collecting = characters >= 0 and len(excerpt.lines) < count
                if is_collecting:
                    line.close(excerpt, is_ended=True)
                    is_collecting = len(excerpt.lines) < count
            if not is_collecting:
                number += piece.count(b"\n", at)
                behind += len(piece)
                if behind > COUNTED:
                    return
        if is_collecting and line.size and characters >= line.cost:
            line.close(excerpt, is_ended=False)
        if excerpt.first > 0:
            excerpt.total = number - (not is_open)

    def _pieces(self, offset: int) -> Iterator[bytes]:
        contents = self._contents
        os.lseek(self._descriptor, offset, os.SEEK_SET)
        decoder = codecs.getincrementaldecoder(contents.encoding)("replace") if contents.is_wide else None
        while True:
            self._check_time()
            data = os.read(self._descriptor, PIECE)
            is_end = not data
            if decoder is not None:
                data = decoder.decode(data, is_end).encode()
            if contents.bare_returns:
                data = data.replace(b"\r", b"\n")
            if data:
                yield data
            if is_end:
                return

    def _check_time(self) -> None:
        if time.monotonic() > self._until:
            raise TooSlow


class _Line:
    """The line that is being read: its first bytes, and how many it has."""

    def __init__(self, encoding: str) -> None:
        self.size = 0
        self._start = b""
        self._last = b""
        self._encoding = encoding

    @property
    def cost(self) -> int:
        """How many characters it takes in the answer, at most."""
        has_words = self.size > MAX_LINE or b"\0" in self._start
        return min(self.size, MAX_LINE) + (60 if has_words else 12)

    def add(self, piece: bytes, at: int, end: int) -> None:
        """Takes a part of a piece."""
        if len(self._start) < _KEPT:
            self._start += piece[at : min(end, at + _KEPT - len(self._start))]
        self.size += end - at
        if end > at:
            self._last = piece[end - 1 : end]

    def close(self, excerpt: Excerpt, *, is_ended: bool) -> None:
        """Adds the line to the excerpt, and starts anew."""
        size, start = self.size, self._start
        if is_ended and self._last == b"\r":
            excerpt.returns += 1
            size -= 1
            start = start[:size]
        excerpt.is_ended = is_ended
        is_text = b"\0" not in start
        excerpt.lines.append(self._decoded(start, size, excerpt) if is_text else f"[binary data: {size:,} bytes]")
        self.size, self._start, self._last = 0, b"", b""

    def _decoded(self, start: bytes, size: int, excerpt: Excerpt) -> str:
        is_whole = size == len(start)
        try:
            text = codecs.getincrementaldecoder(self._encoding)().decode(start, is_whole)
        except UnicodeDecodeError:
            text = codecs.getincrementaldecoder(self._encoding)("replace").decode(start, is_whole)
            excerpt.is_damaged = True
        if len(text) <= MAX_LINE and is_whole:
            return text
        return f"{text[:MAX_LINE]} [cut: this line has {size:,} bytes]"
