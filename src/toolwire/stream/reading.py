"""An answer while it is read, whatever it is read from: what `Stream` and `SdkStream` have in common."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from ..chunks import StopReason, TokenUsage
from ..embedded.choosing import NATIVE, StreamParser
from ..embedded.text_reader import TextReader
from ..errors import ToolwireError
from ..limits import Limits
from ..messages import Message
from .answer import answer_message
from .calling import CallHandler
from .handlers import (
    ApiToolCallStreamingResponseHandler,
    HybridStreamingResponseHandler,
    ParsingStreamingResponseHandler,
    PassThroughStreamingResponseHandler,
)
from .invocation import ToolInvocation, ToolInvocationAdapter
from .segments import SegmentEvent, SegmentType

if TYPE_CHECKING:
    from ..providers.names import NameRule
    from ..providers.wires import Decoder
    from ..tools.registry import ToolRegistry


class AnswerStream:
    """One answer: a decoder that makes chunks of what comes, a handler that makes events of them, and what can be
    asked about the answer meanwhile and afterwards. A child says where the decoder's food comes from.
    """

    _decoder: Decoder
    _handler: CallHandler | PassThroughStreamingResponseHandler

    def __init__(
        self,
        tools: Iterable[Any] | ToolRegistry | None,
        limits: Limits,
        turn: int,
        segment_id_prefix: str,
        live_arguments: bool,
        strict: bool,
        parser: StreamParser = NATIVE,
    ) -> None:
        self._tools = _registry(tools)
        self._limits = limits
        self._turn = turn
        self._prefix = segment_id_prefix
        self._live = live_arguments
        self._strict = strict
        self._parser = parser

    def _begin(self, decoder: Decoder, names: NameRule) -> None:
        """At the start, and before anything was fed: how the answer is read, and how its wire spells tool names."""
        self._decoder = decoder
        tools, limits, format_ = self._tools, self._limits, self._parser.format
        if tools is not None and not len(tools):
            self._handler = PassThroughStreamingResponseHandler(limits=limits, segment_id_prefix=self._prefix)
            return
        adapter = ToolInvocationAdapter(tools, limits=limits, turn=self._turn, strict=self._strict)
        options: dict[str, Any] = {
            "limits": limits,
            "segment_id_prefix": self._prefix,
            "live_arguments": self._live,
            "tool_names": None if tools is None else names.known_names(tools.names),
        }
        if format_ is None:
            self._handler = ApiToolCallStreamingResponseHandler(adapter, **options)
            return
        read, parser = format_.read, self._parser
        kind = HybridStreamingResponseHandler if self._parser.native else ParsingStreamingResponseHandler
        self._handler = kind(
            lambda: TextReader(
                lambda scanner: read(scanner, tools), limits, reasoning=parser.reasoning, repair=parser.repair
            ),
            format_.name,
            adapter,
            **options,
        )

    def fail(self, error: ToolwireError) -> list[SegmentEvent]:
        """The transport broke: what is open ends as incomplete, unless the answer was complete already."""
        events: list[SegmentEvent] = []
        self._handler.finalize_into(error, events)
        return events

    def _decode(self, fed: Any, events: list[SegmentEvent]) -> None:
        """Hands on what the decoder makes of this; at a fault, what it had made before."""
        try:
            chunks = self._decoder.feed(fed)
        except ToolwireError as error:
            self._handler.feed_into(error.before, events)
            error.before = ()
            raise
        self._handler.feed_into(chunks, events)

    def _end(self, events: list[SegmentEvent]) -> None:
        self._handler.feed_into(self._decoder.close(), events)
        self._handler.finalize_into(None, events)

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
        return dict(self._decoder.quirks)

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
                    **({"repairs": list(arrived.repairs)} if runs and arrived.repairs else {}),
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
