"""What models write when they are invoked on Bedrock by themselves: each family's own format, in chunks.

Anthropic Messages and Nova are read in full. The older families write plain text, each under a name of its own, and
know no calls; they are read as text. Of others, only Converse gives a stream that is read here.
"""

from __future__ import annotations

from typing import Any

import msgspec

from ..chunks import StopReason
from .anthropic import AnthropicDecoder
from .bedrock_blocks import ConverseEvent

METRICS = "amazon-bedrock-invocationMetrics"
"""Bedrock adds it to the last chunk of every model."""

TEXT_REASONS: dict[str, StopReason] = {
    "finish": StopReason.STOP,
    "finished": StopReason.STOP,
    "complete": StopReason.STOP,
    "stop": StopReason.STOP,
    "stop_sequence": StopReason.STOP,
    "length": StopReason.LENGTH,
    "max_tokens": StopReason.LENGTH,
    "content_filtered": StopReason.CONTENT_FILTER,
    "error": StopReason.ERROR,
    "error_toxic": StopReason.CONTENT_FILTER,
    "error_limit": StopReason.LENGTH,
}
"""The words of the text models (Titan, Llama, Mistral, Command, Claude 2) for why they stopped, in lower case."""


class InvokedMessages(AnthropicDecoder):
    """Anthropic Messages within Bedrock's chunks. What must go back goes back as Anthropic's."""

    wire = "bedrock"
    _kind = "an Anthropic model on Bedrock"


class NovaChunk(msgspec.Struct, gc=False, rename="camel"):
    """Converse's events, each under its name."""

    content_block_delta: ConverseEvent | None = None
    content_block_stop: ConverseEvent | None = None
    content_block_start: ConverseEvent | None = None
    message_start: ConverseEvent | None = None
    message_stop: ConverseEvent | None = None
    metadata: ConverseEvent | None = None

    def event(self) -> ConverseEvent | None:
        """The one that is there, named."""
        for name, wire_name in _NOVA_NAMES:
            event: ConverseEvent | None = getattr(self, name)
            if event is not None:
                event.kind = wire_name
                return event
        return None


_NOVA_NAMES = tuple(zip(NovaChunk.__struct_fields__, NovaChunk.__struct_encode_fields__, strict=True))
NOVA_MEMBERS = frozenset(NovaChunk.__struct_encode_fields__)


class TextChunk(msgspec.Struct, gc=False):
    """A piece of text under any family's name for it: Titan, Llama, Claude 2, Command, Mistral."""

    output_text: str | None = msgspec.field(name="outputText", default=None)
    generation: str | None = None
    completion: str | None = None
    text: str | None = None
    outputs: list[TextChunk] | None = None
    completion_reason: str | None = msgspec.field(name="completionReason", default=None)
    stop_reason: str | None = None
    finish_reason: str | None = None
    index: int | None = None
    metrics: Any = msgspec.field(name=METRICS, default=None)

    @property
    def words(self) -> str:
        """The text."""
        first = self.outputs[0] if self.outputs else self
        return first.output_text or first.generation or first.completion or first.text or ""

    @property
    def reason(self) -> str | None:
        """Why it ended, if it did."""
        first = self.outputs[0] if self.outputs else self
        return first.completion_reason or first.stop_reason or first.finish_reason


TEXT_MEMBERS = frozenset({"outputText", "generation", "completion", "text", "outputs", "is_finished"})
