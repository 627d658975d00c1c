"""NDJSON: one JSON value a line, as Ollama sends it.

A line ends with LF or CRLF, the last one also with the body; blank lines are skipped. `toolwire.wire.lines`
lists the promises about cuts, bounds and errors.
"""

from __future__ import annotations

from functools import partial
from io import BytesIO
from typing import Any, ClassVar

import msgspec

from ..limits import DEFAULT_LIMITS, Limits
from .lines import HEAD, LineDecoder, Run, decode_text, invalid_utf8, is_utf8


class NdjsonLine(msgspec.Struct, frozen=True, gc=False):
    """One line that is not blank."""

    data: str
    position: int
    """Byte offset in the stream of the line's first byte."""
    cut: bool = False
    """True for the last line of a body that ended without a line end: more may have been to come."""
    stray: ClassVar[bool] = False


class NdjsonDecoder(LineDecoder[Any]):
    """Bytes in, lines out, each as soon as its LF is there.

    With `join_runs`, stretches of lines that hold one JSON object each come out as one `Run`.
    """

    _line_ends = b"\n"

    def __init__(self, limits: Limits = DEFAULT_LIMITS, *, join_runs: bool = False) -> None:
        super().__init__(limits)
        self._joins = join_runs

    def close(self) -> list[Any]:
        """The body has ended: give its last line, marked when no line end came."""
        cut = bool(self._held or self._mark)
        frames = super().close()
        if cut and frames:
            frames[-1] = msgspec.structs.replace(frames[-1], cut=True)
        return frames

    def _split(self, data: bytes) -> list[bytes]:
        return BytesIO(data).readlines()  # at LF only: a lone CR is blank space in JSON

    def _lines(self, lines: list[bytes], at: int, frames: list[Any]) -> int:
        if self._joins and len(lines) > 1:
            text = b"".join(lines)
            if (
                len(text) <= self._limits.line
                and text[:1] == b"{"
                and text[-2:] == b"}\n"
                and text.count(b"}\n{") == len(lines) - 1
                and is_utf8(text)
            ):
                frames.append(Run(text, b"\n", len(lines), max(map(len, lines)), partial(self._separate, lines, at)))
                return at + len(text)
        return self._separate_into(lines, at, frames)

    def _separate(self, lines: list[bytes], at: int) -> list[NdjsonLine]:
        frames: list[NdjsonLine] = []
        self._separate_into(lines, at, frames)
        return frames

    def _separate_into(self, lines: list[bytes], at: int, frames: list[Any]) -> int:
        longest, append = self._limits.line, frames.append
        for raw in lines:
            if raw[:1] == b"{" and len(raw) <= longest and raw[-2] != 13:
                # Almost every line: what is below does the same, slower.
                try:
                    append(NdjsonLine(raw[:-1].decode(), at))
                except UnicodeDecodeError as error:
                    raise invalid_utf8(at + error.start) from None
            else:
                line = raw[:-1].removesuffix(b"\r")
                self._check(len(line), line[:HEAD], at)
                if line and not line.isspace():
                    append(NdjsonLine(decode_text(line, at), at))
            at += len(raw)
        return at
