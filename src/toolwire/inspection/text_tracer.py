"""`TextTracer`: the plain text of an answer in, its lines out, each with the events that it became."""

from __future__ import annotations

import codecs
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from ..embedded.format import Format
from ..errors import IncompleteStream, ProtocolError, ToolwireError
from ..limits import DEFAULT_LIMITS, Limits
from ..stream.text import TextStream
from .frames import TracedFrame
from .tracer import Tracing

if TYPE_CHECKING:
    from ..tools.registry import ToolRegistry


class TextTracer(Tracing):
    """Traces text in which calls are looked for. A frame is a line: plain text has no others."""

    framing = "text"
    wire = "text"

    def __init__(
        self,
        format: str | Format,
        tools: Iterable[Any] | ToolRegistry | None = None,
        *,
        live_arguments: bool = True,
        limits: Limits = DEFAULT_LIMITS,
    ) -> None:
        self._stream = TextStream(format, tools, live_arguments=live_arguments, limits=limits)
        super().__init__(self._stream)
        self._held = bytearray()
        self._offset = 0

    def feed(self, data: bytes, at: float | None = None) -> list[TracedFrame]:
        """The lines that these bytes complete."""
        self.bytes += len(data)
        made: list[TracedFrame] = []
        if self._ended:
            return made
        if b"\n" not in data:
            self._held += data
            return made
        self._held += data
        lines = bytes(self._held).split(b"\n")
        self._held = bytearray(lines.pop())
        for line in lines:
            self._line(line + b"\n", at, made)
        return made

    def close(self, at: float | None = None, error: ToolwireError | None = None) -> list[TracedFrame]:
        """The end of the text, or an error that cut it short."""
        made: list[TracedFrame] = []
        if self._ended:
            return made
        if self._held:
            held, self._held = bytes(self._held), bytearray()
            self._line(held, at, made, final=True)
        if not self._ended:
            self._ended = True
            events = self._stream.close() if error is None else self._stream.fail(error)
            made.append(self._made(self.bytes, at, "end of the text", b"", events, carries=False))
        return made

    def _line(self, raw: bytes, at: float | None, made: list[TracedFrame], *, final: bool = False) -> None:
        if self._ended:
            return
        try:
            text = raw.removeprefix(codecs.BOM_UTF8).decode() if not self._offset else raw.decode()
            events = self._stream.feed(text)
        except UnicodeDecodeError as error:
            position = self._offset + error.start
            fault: ToolwireError = ProtocolError(
                f"it is not UTF-8 text: byte {position:,} belongs to no character",
                hint="Save it as UTF-8. For a recorded stream, name its format with --wire.",
                position=position,
            )
            if final and error.end == len(raw):
                fault = IncompleteStream("it ends in the middle of a character", position=position)
            events = self._stream.fail(fault)
        self._ended = self._stream.error is not None
        made.append(self._made(self._offset, at, "", raw, events))
        self._offset += len(raw)
