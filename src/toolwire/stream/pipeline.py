"""`Stream`: bytes of one answer in, events out. The whole sans-IO core behind one class."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from ..chunks import StopReason, TokenUsage
from ..errors import IncompleteStream, ProtocolError, ToolwireError
from ..limits import DEFAULT_LIMITS, Limits
from ..messages import Message
from ..providers.wires import wire_format
from .answer import answer_message
from .handlers import ApiToolCallStreamingResponseHandler, PassThroughStreamingResponseHandler
from .invocation import ToolInvocation, ToolInvocationAdapter
from .segments import SegmentEvent, SegmentType

if TYPE_CHECKING:
    from ..tools.registry import ToolRegistry


_HALF_CHARACTER = 3
"""How many bytes of a character can be there when its last one is missing."""


class Stream:
    """One answer: `feed` its bytes as they come, `close` at the end of the body.

    The same bytes give the same events wherever they were cut. Nothing is raised for bad bytes: the last event is
    then ERROR, `error` holds it, and whatever is fed afterwards is ignored.

    `tools` None: calls are shown and read, names and schemas not checked. With tools, only calls that they accept
    become `invocations`; with an empty list the answer passes through as text. `strict` belongs to a request that was
    made with `strict=True`: an argument that is null only because strict mode has no other way to leave it out is left
    out again.
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
    ) -> None:
        format_ = wire_format(wire)
        self.wire = wire
        self._framer = format_.framer(limits)
        self._decoder = format_.decoder(limits)
        registry = _registry(tools)
        self._handler: ApiToolCallStreamingResponseHandler | PassThroughStreamingResponseHandler
        if registry is not None and not len(registry):
            self._handler = PassThroughStreamingResponseHandler(limits=limits, segment_id_prefix=segment_id_prefix)
        else:
            self._handler = ApiToolCallStreamingResponseHandler(
                ToolInvocationAdapter(registry, limits=limits, turn=turn, strict=strict),
                limits=limits,
                segment_id_prefix=segment_id_prefix,
                live_arguments=live_arguments,
                tool_names=None if registry is None else format_.names.known_names(registry.names),
            )

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
                self._handler.feed_into(self._decoder.close(), events)
                self._handler.finalize_into(None, events)
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

    def fail(self, error: ToolwireError) -> list[SegmentEvent]:
        """The transport broke: what is open ends as incomplete, unless the answer was complete already."""
        events: list[SegmentEvent] = []
        self._handler.finalize_into(error, events)
        return events

    def _decode(self, frames: Iterable[Any], events: list[SegmentEvent]) -> None:
        try:
            chunks = self._decoder.feed(frames)
        except ToolwireError as error:
            self._handler.feed_into(error.before, events)
            error.before = ()
            raise
        self._handler.feed_into(chunks, events)

    def _break_off(self, error: ToolwireError, events: list[SegmentEvent]) -> None:
        """ERROR, after the frames that came before the fault in the same call."""
        try:
            self._decode(error.before, events)
        except ToolwireError as earlier:
            error = earlier
        self._handler.finalize_into(error, events)

    @property
    def invocations(self) -> list[ToolInvocation]:
        """The calls that may be put before the gate: none before the stream's proper end."""
        return self._handler.get_all_invocations()

    @property
    def complete(self) -> bool:
        """Whether the stream reached its proper end."""
        return self._handler.complete

    @property
    def error(self) -> ToolwireError | None:
        """Why the stream broke, if it did."""
        return self._handler.error

    @property
    def stop_reason(self) -> StopReason | None:
        """Why the model stopped; None before the proper end."""
        return self._handler.stop_reason

    @property
    def raw_stop_reason(self) -> str | None:
        """The provider's own word for it."""
        return self._handler.raw_stop_reason

    @property
    def usage(self) -> TokenUsage | None:
        """The token counts, once the provider has sent them."""
        return self._handler.usage

    @property
    def quirks(self) -> dict[str, int]:
        """How often the provider broke its format in ways that are tolerated."""
        return {**getattr(self._framer, "quirks", {}), **self._decoder.quirks}

    @property
    def message(self) -> Message:
        """The answer so far as a message for the history."""
        return answer_message(self._handler.segments, self._handler.provider_data)

    @property
    def problems(self) -> dict[str, str]:
        """For each call that will not run, by segment id: why, in a sentence for the model."""
        return {call.segment_id: call.arrived.problem for call in self._handler.calls if call.arrived.problem}

    def summary(self) -> dict[str, Any]:
        """The whole answer as one object, for scripts: text, reasoning, calls, how it ended."""
        texts: dict[int, list[str]] = {}
        reasoning: list[str] = []
        refusal: list[str] = []
        for segment in self._handler.segments:
            if segment.segment_type is SegmentType.REASONING:
                reasoning.append(segment.text)
            elif segment.segment_type is SegmentType.TEXT and segment.metadata is not None:
                refusal.append(segment.text)
            elif segment.segment_type is SegmentType.TEXT:
                texts.setdefault(segment.choice, []).append(segment.text)
        admitted = {invocation.id for invocation in self.invocations}
        calls = []
        for call in self._handler.calls:
            arrived = call.arrived
            runs = call.segment_id in admitted
            calls.append(
                {
                    "id": arrived.call_id or call.segment_id,
                    "name": arrived.name,
                    "arguments": arrived.arguments if runs else call.text,
                    "complete": runs,
                    "problem": None if runs else arrived.problem,
                }
            )
        made: dict[str, Any] = {
            "text": "".join("".join(texts[choice]) for choice in sorted(texts)),
            "reasoning": "".join(reasoning),
            "calls": calls,
            "stop_reason": self.stop_reason,
            "usage": self.usage,
            "complete": self.complete,
            "error": None if self.error is None else self.error.info(),
        }
        if refusal:
            made["refusal"] = "".join(refusal)
        return made


def _registry(tools: Iterable[Any] | ToolRegistry | None) -> ToolRegistry | None:
    if tools is None:
        return None
    from ..tools.registry import ToolRegistry

    return tools if isinstance(tools, ToolRegistry) else ToolRegistry(tools)
