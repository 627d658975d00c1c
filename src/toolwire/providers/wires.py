"""The wire formats by name: how each is framed, decoded and encoded. Adding one is adding a row."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Protocol

import msgspec

from ..chunks import ChunkResponse
from ..errors import ConfigError
from ..limits import Limits
from ..wire.eventstream import EventStreamDecoder
from ..wire.json_array import SseOrArrayDecoder
from ..wire.ndjson import NdjsonDecoder
from ..wire.sse import SseDecoder
from .anthropic import AnthropicDecoder
from .anthropic_request import encode_anthropic_request
from .bedrock import BedrockDecoder
from .bedrock_request import encode_bedrock_request
from .cohere import CohereDecoder
from .cohere_request import encode_cohere_request
from .gemini import GeminiDecoder
from .gemini_request import encode_gemini_request
from .ids import ANTHROPIC_IDS, ANY_ID, BEDROCK_IDS, OPENAI_IDS, RESPONSES_IDS, IdRule
from .names import COHERE_RULE, COMMON_RULE, GEMINI_RULE, NameRule
from .ollama import OllamaDecoder
from .ollama_request import encode_ollama_request
from .openai_chat import ChatDecoder
from .openai_chat_request import encode_chat_request
from .openai_responses import ResponsesDecoder
from .openai_responses_request import encode_responses_request


class Framer(Protocol):
    """Bytes → frames."""

    @property
    def position(self) -> int:
        """Bytes taken so far."""

    def feed(self, data: bytes) -> list[Any]:
        """The frames that became whole."""

    def close(self) -> list[Any]:
        """What the end of the body completes."""


class Decoder(Protocol):
    """Frames → chunks, for one answer. `quirks` counts the deviations that were tolerated."""

    quirks: dict[str, int]

    def feed(self, frames: Iterable[Any], /) -> list[ChunkResponse]:
        """The chunks of these frames."""

    def close(self) -> list[ChunkResponse]:
        """What the end of the body completes."""


Encoder = Callable[..., dict[str, Any]]
"""Conversation + tools → request body: keywords `model`, `messages`, `tools`, `tool_choice`, and the format's own."""


class WireFormat(msgspec.Struct, frozen=True):
    """One wire format: both pure halves, and how to recognise a recorded stream of it."""

    name: str
    framer: Callable[[Limits], Framer]
    decoder: Callable[[Limits], Decoder]
    encode: Encoder
    path: str
    """Where requests go, after the base URL; `{model}` stands for the model."""
    names: NameRule
    """Which tool names it takes."""
    ids: IdRule
    """Which call ids it takes; a provider may be stricter."""
    marks: tuple[bytes, ...]
    """Any of these near the start of a body says that it is of this format."""


def _sse(limits: Limits) -> SseDecoder:
    return SseDecoder(limits, keep_stray=True, join_runs=True)


WIRES: dict[str, WireFormat] = {
    wire.name: wire
    for wire in (
        WireFormat(
            "openai-chat",
            _sse,
            ChatDecoder,
            encode_chat_request,
            "/chat/completions",
            COMMON_RULE,
            OPENAI_IDS,
            (b'"chat.completion', b'"choices"'),
        ),
        WireFormat(
            "openai-responses",
            _sse,
            ResponsesDecoder,
            encode_responses_request,
            "/responses",
            COMMON_RULE,
            RESPONSES_IDS,
            (b"event: response.", b'"type":"response.', b'"type": "response.'),
        ),
        WireFormat(
            "anthropic",
            _sse,
            AnthropicDecoder,
            encode_anthropic_request,
            "/messages",
            COMMON_RULE,
            ANTHROPIC_IDS,
            (b"event: message_start", b'"message_start"', b'"content_block_'),
        ),
        WireFormat(
            "gemini",
            lambda limits: SseOrArrayDecoder(limits, keep_stray=True, join_runs=True),
            GeminiDecoder,
            encode_gemini_request,
            "/models/{model}:streamGenerateContent?alt=sse",
            GEMINI_RULE,
            ANY_ID,
            (b'"candidates"', b'"usageMetadata"', b'"promptFeedback"'),
        ),
        WireFormat(
            "ollama",
            lambda limits: NdjsonDecoder(limits, join_runs=True),
            OllamaDecoder,
            encode_ollama_request,
            "/api/chat",
            COMMON_RULE,
            ANY_ID,
            (b'"done":', b'"created_at"'),
        ),
        WireFormat(
            "bedrock",
            lambda limits: EventStreamDecoder(limits, join_runs=True),
            BedrockDecoder,
            encode_bedrock_request,
            "/model/{model}/converse-stream",
            COMMON_RULE,
            BEDROCK_IDS,
            (b":event-type", b":exception-type"),
        ),
        WireFormat(
            "cohere",
            _sse,
            CohereDecoder,
            encode_cohere_request,
            "/v2/chat",
            COHERE_RULE,
            ANY_ID,
            (b'"message-start"', b"event: message-start", b'"content-delta"'),
        ),
    )
}
"""Every wire format that this version reads and writes."""


def wire_format(name: str) -> WireFormat:
    """The format of this name; a `ConfigError` lists the names there are."""
    found = WIRES.get(name)
    if found is None:
        raise ConfigError(f"there is no wire format {name!r}", hint=f"Known: {', '.join(WIRES)}.", wire=name)
    return found


def detect_wire(start: bytes) -> str:
    """The name of the format that a recorded body is of, from its first bytes (some kilobytes suffice)."""
    for wire in WIRES.values():
        if any(mark in start for mark in wire.marks):
            return wire.name
    raise ConfigError(
        "cannot tell which wire format this is",
        hint=f"If it is a recorded stream, name its format with --wire: {', '.join(WIRES)}.",
    )
