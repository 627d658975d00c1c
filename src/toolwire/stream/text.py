"""`TextStream`: the text of one answer in, events out, for answers that come without a wire around them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from ..chunks import ChunkResponse, StopReason
from ..embedded.choosing import StreamParser, named_format
from ..embedded.format import Format
from ..errors import ToolwireError
from ..limits import DEFAULT_LIMITS, Limits
from ..providers.names import COMMON_RULE
from .reading import AnswerStream
from .segments import SegmentEvent

if TYPE_CHECKING:
    from ..tools.registry import ToolRegistry


class TextStream(AnswerStream):
    """One answer: `feed` its text as it comes, `close` at its end.

    The same text gives the same events wherever it was cut, and no character is lost: the deltas of all CONTENT events,
    joined, are the text. `format` is a name (`xml`, `hermes`: `toolwire formats` lists them) or a `Format`; `auto` is
    the one that `model` was trained on, or, where its name says nothing, what the answer itself shows. `provider` says
    whose envelope `json` means. Give it the assistant's own text and nothing else: whatever is fed can become a call.

    `reasoning` says that the prompt opened the model's reasoning, so that the answer begins in it (`opens_reasoning`
    looks at a prompt). `repair` mends malformed calls where that can be done: each is told (`repairs`), and is a guess.

    With `tools`, only calls that they accept become `invocations`, and what names none of them stays text; without
    (None) every name counts, and nothing should be run.
    """

    def __init__(
        self,
        format: str | Format = "xml",
        tools: Iterable[Any] | ToolRegistry | None = None,
        *,
        provider: str = "",
        model: str = "",
        reasoning: bool = False,
        repair: bool = False,
        limits: Limits = DEFAULT_LIMITS,
        turn: int = 0,
        segment_id_prefix: str = "",
        live_arguments: bool = False,
    ) -> None:
        if isinstance(format, str):
            format = named_format(format, provider=provider, model=model)
        self.format = format
        parser = StreamParser(False, format, reasoning, repair)
        super().__init__(tools, limits, turn, segment_id_prefix, live_arguments, False, parser)
        self._begin(_Plain(), COMMON_RULE)

    def feed(self, text: str) -> list[SegmentEvent]:
        """The events that this text leads to."""
        events: list[SegmentEvent] = []
        if self._handler.error is None:
            try:
                self._decode(text, events)
            except ToolwireError as error:
                self._handler.finalize_into(error, events)
        return events

    def close(self, stop_reason: StopReason = StopReason.STOP) -> list[SegmentEvent]:
        """The end of the answer, and why it ended: calls run after `stop` and `tool_calls` alone."""
        events: list[SegmentEvent] = []
        if self._handler.error is None:
            try:
                self._handler.feed_into((ChunkResponse(stop_reason=stop_reason, is_complete=True),), events)
            except ToolwireError as error:
                self._handler.finalize_into(error, events)
        return events


class _Plain:
    """The decoder of text that is the answer already."""

    def __init__(self) -> None:
        self.quirks: dict[str, int] = {}

    def feed(self, text: Any, /) -> list[ChunkResponse]:
        return [ChunkResponse(text)] if text else []

    def close(self) -> list[ChunkResponse]:
        return []
