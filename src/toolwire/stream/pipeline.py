"""`Stream`: bytes of one answer in, events out. The whole sans-IO core behind one class."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from ..embedded.choosing import NATIVE, StreamParser, as_parser
from ..errors import IncompleteStream, ProtocolError, ToolwireError
from ..limits import DEFAULT_LIMITS, Limits
from ..providers.wires import wire_format
from .reading import AnswerStream
from .segments import SegmentEvent

if TYPE_CHECKING:
    from ..tools.registry import ToolRegistry


_HALF_CHARACTER = 3
"""How many bytes of a character can be there when its last one is missing."""


class Stream(AnswerStream):
    """One answer: `feed` its bytes as they come, `close` at the end of the body.

    The same bytes give the same events wherever they were cut. Nothing is raised for bad bytes: the last event is
    then ERROR, `error` holds it, and whatever is fed afterwards is ignored.

    `tools` None: calls are shown and read, names and schemas not checked. With tools, only calls that they accept
    become `invocations`; with an empty list the answer passes through as text. `strict` belongs to a request that was
    made with `strict=True`: an argument that is null only because strict mode has no other way to leave it out is left
    out again. `stream_parser` says where calls are looked for (see `as_parser`): as structured data alone, unless a
    text format is named. `on_error` gets an error of the answer before anyone else does, to take out of it what nobody
    may see: a key that the provider repeats (`toolwire.refusals.hide_secrets`).
    """

    def __init__(
        self,
        wire: str = "openai-chat",
        tools: Iterable[Any] | ToolRegistry | None = None,
        *,
        limits: Limits = DEFAULT_LIMITS,
        turn: int = 0,
        segment_id_prefix: str = "",
        live_arguments: bool = False,
        strict: bool = False,
        stream_parser: str | StreamParser = NATIVE,
        on_error: Callable[[ToolwireError], None] | None = None,
    ) -> None:
        parser = as_parser(stream_parser)
        super().__init__(tools, limits, turn, segment_id_prefix, live_arguments, strict, parser)
        format_ = wire_format(wire)
        self.wire = wire
        self._framer = format_.framer(limits)
        self._on_error = on_error
        self._begin(format_.decoder(limits), format_.names)

    def feed(self, data: bytes) -> list[SegmentEvent]:
        """The events that these bytes lead to."""
        events: list[SegmentEvent] = []
        if self._handler.error is None:
            try:
                self._decode(self._framer.feed(data), events)
            except ToolwireError as error:
                self._break_off(error, events)
        return events

    def close(self) -> list[SegmentEvent]:
        """The end of the body: DONE or ERROR, if it has not come yet."""
        events: list[SegmentEvent] = []
        if self._handler.error is None:
            try:
                self._decode(self._last_frames(), events)
                self._end(events)
            except ToolwireError as error:
                self._break_off(error, events)
        return events

    def _last_frames(self) -> list[Any]:
        """What the end of the body completes. A fault at its very end, half a character say, means that it was cut."""
        taken = self._framer.position
        try:
            return self._framer.close()
        except ProtocolError as error:
            if error.facts.get("position", taken) < taken - _HALF_CHARACTER:
                raise
            cut = IncompleteStream(**error.facts)
            cut.before = error.before
            raise cut from None

    def _break_off(self, error: ToolwireError, events: list[SegmentEvent]) -> None:
        """ERROR, after the frames that came before the fault in the same call."""
        try:
            self._decode(error.before, events)
        except ToolwireError as earlier:
            error = earlier
        if self._on_error is not None:
            self._on_error(error)
        self._handler.finalize_into(error, events)

    @property
    def quirks(self) -> dict[str, int]:
        """How often the provider broke its format in ways that are tolerated."""
        return {**getattr(self._framer, "quirks", {}), **self._decoder.quirks}
