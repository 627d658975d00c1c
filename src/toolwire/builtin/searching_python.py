"""Searching one file: what of it is text, and which lines fit. RE2 does the matching, in time linear in the text."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import re2  # type: ignore[import-untyped]

from ..errors import ConfigError, FileRefused
from ..files.beneath import Roots
from .search_pattern import Written
from .searching_walk import FILE_BYTES

MAX_PROGRAM = 3_000
"""Instructions of a compiled pattern. When a pattern is too tangled for RE2's fast way, a byte costs up to so many
steps: ten megabytes then take some twenty seconds, a pattern as people write it a hundredth."""

_MEMORY = 64 << 20
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")
_FIRST = 1 << 16
"""How many bytes are read first: a file that is binary is mostly known as one by them."""
_STRETCH = 1 << 18
"""How many bytes are searched before the clock is looked at."""


class Line(NamedTuple):
    """A line that fits: its number, where it is in the text, and where in it the pattern begins to fit."""

    number: int
    start: int
    end: int
    at: int


def compile_pattern(written: Written) -> Any:
    """The pattern, ready to search with; a `ConfigError` if it is too large."""
    options = re2.Options()
    options.log_errors = False
    options.never_capture = True
    options.max_mem = _MEMORY
    try:
        compiled = re2.compile(written.re2.encode(), options)
    except re2.error as error:
        raise ConfigError(f"the pattern cannot be used: {_words(error)}; write a simpler one") from None
    if compiled.programsize > MAX_PROGRAM:
        raise ConfigError("the pattern is too large; use * or + in the place of counted repeats, or a simpler one")
    return compiled


def _words(error: Exception) -> str:
    said = error.args[0] if error.args else ""
    return (said.decode("utf-8", "replace") if isinstance(said, bytes) else str(said))[:200]


def read_text(roots: Roots, real: str) -> bytes | None:
    """The text of a file, as UTF-8 with plain line ends; None if it is binary. Raises `FileRefused` or `OSError`.

    A file with a NUL byte is binary, unless a mark at its beginning says that it is UTF-16 and all of it is. Bytes that
    are no UTF-8 stay as they are: no character of a pattern fits them.
    """
    with roots.file(real) as descriptor:
        first = os.read(descriptor, _FIRST)
        if b"\0" in first and not first.startswith(_UTF_16):
            return None
        pieces = [first]
        size = len(first)
        while size >= _FIRST and (piece := os.read(descriptor, FILE_BYTES + 1 - size)):
            pieces.append(piece)
            size += len(piece)
    if size > FILE_BYTES:
        raise FileRefused("it has grown too large", path=real)
    data = b"".join(pieces)
    if data.startswith(_UTF_16):
        try:
            data = data.decode("utf-16").encode()
        except UnicodeError:
            return None
    if b"\0" in data:
        return None
    data = data.removeprefix(b"\xef\xbb\xbf")
    return data.replace(b"\r\n", b"\n") if b"\r\n" in data else data


def fitting_lines(text: bytes, pattern: Any, is_over: Callable[[], bool]) -> Iterator[Line]:
    """The lines of a text that fit, one after the other; ends early when the time is over."""
    end = len(text) - text.endswith(b"\n")
    place, number = 0, 1
    while text and place <= end:
        stop = _line_end(text, min(place + _STRETCH, end), end)
        found = pattern.search(text, place, stop)
        if found is None:
            number += text.count(b"\n", place, stop + 1)
            place = stop + 1
            if is_over():
                return
            continue
        at = found.start()
        start = max(text.rfind(b"\n", place, at) + 1, place)
        number += text.count(b"\n", place, start)
        after = _line_end(text, at, end)
        yield Line(number, start, after, at)
        place, number = after + 1, number + 1


def _line_end(text: bytes, place: int, end: int) -> int:
    found = text.find(b"\n", place, end)
    return end if found < 0 else found
