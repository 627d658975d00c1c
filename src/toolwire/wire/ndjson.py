"""NDJSON: one JSON value a line, as Ollama sends it.

A line ends with LF or CRLF, the last one also with the body; blank lines are skipped. `toolwire.wire.lines`
lists the promises about cuts, bounds and errors.
"""

from __future__ import annotations

from io import BytesIO

import msgspec

from .lines import HEAD, LineDecoder, decode_text


class NdjsonLine(msgspec.Struct, frozen=True, gc=False):
    """One line that is not blank."""

    data: str
    position: int
    """Byte offset in the stream of the line's first byte."""


class NdjsonDecoder(LineDecoder[NdjsonLine]):
    """Bytes in, lines out, each as soon as its LF is there."""

    _line_ends = b"\n"

    def _split(self, data: bytes) -> list[bytes]:
        return BytesIO(data).readlines()  # at LF only: a lone CR is blank space in JSON

    def _lines(self, lines: list[bytes], at: int, frames: list[NdjsonLine]) -> int:
        for raw in lines:
            line = raw[:-1].removesuffix(b"\r")
            self._check(len(line), line[:HEAD], at)
            if line and not line.isspace():
                frames.append(NdjsonLine(decode_text(line, at), at))
            at += len(raw)
        return at
