"""What every provider's stream becomes before it is cut into segments: a list of `ChunkResponse`.

These are made by the thousand, so they are kept out of the garbage collector's sight (`gc=False`): they hold values
only, and no value refers back to them.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Any, Literal

import msgspec


class StopReason(StrEnum):
    """Why the model stopped, with one meaning for every provider."""

    STOP = "stop"
    """It finished its turn, or hit a stop sequence."""
    TOOL_CALLS = "tool_calls"
    """It wants its calls answered."""
    LENGTH = "length"
    """The token limit cut it: its calls are incomplete."""
    CONTENT_FILTER = "content_filter"
    """The provider's filter cut it."""
    REFUSAL = "refusal"
    """The model declined."""
    PAUSE = "pause"
    """The provider wants the turn sent again to go on."""
    ERROR = "error"
    """The provider failed in the middle."""
    UNKNOWN = "unknown"
    """A word that Toolwire does not know: nothing runs on it."""


RUNNABLE_STOPS = frozenset({StopReason.STOP, StopReason.TOOL_CALLS})
"""The only stop reasons after which a call may run."""


class TokenUsage(msgspec.Struct, frozen=True, omit_defaults=True):
    """Tokens of one answer. `cached` and `reasoning` are parts of `input` and `output`, not additions to them."""

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    cache_write_tokens: int = 0
    reasoning_tokens: int = 0
    total_tokens: int = 0


class ToolCallDelta(msgspec.Struct, omit_defaults=True, gc=False):
    """A piece of one call.

    `index` is canonical: it names the same call in every delta of one choice, and sorting by it gives the order in
    which the model made its calls. `done` says that no more pieces come. `provider_data` must go back unchanged
    with the call (a Gemini thought signature, say).
    """

    index: int
    call_id: str | None = None
    name: str | None = None
    arguments_delta: str = ""
    done: bool = False
    provider_data: dict[str, Any] | None = None


class ServerToolDelta(msgspec.Struct, omit_defaults=True, gc=False):
    """A piece of what a tool on the provider's side was asked, or gave. It is shown; it is never run here.

    `key` names the same call or result in every piece of one answer. `name` must be there on the first piece.
    `provider_data` on the last piece is the whole block, for providers that want it back in its place.
    """

    key: str
    name: str = ""
    call_id: str = ""
    text: str = ""
    is_result: bool = False
    done: bool = False
    provider_data: dict[str, Any] | None = None


class Citation(msgspec.Struct, frozen=True, omit_defaults=True):
    """A source that the answer gives for what it says, as far as the provider names it."""

    url: str = ""
    title: str = ""
    quote: str = ""


class PartEnd(msgspec.Struct, omit_defaults=True, gc=False):
    """The end of a stretch of the answer that the provider marks, with what must go back with it unchanged.

    It ends the open segment of its `kind`. Where none is open and there is `provider_data`, a part without words
    takes its place in the message (hidden reasoning, a signature by itself, a block nobody here understands); no
    event shows it. A `media` end belongs to the last media of the same chunk.
    """

    kind: Literal["text", "reasoning", "media", "opaque"]
    provider_data: dict[str, Any] | None = None


class AudioDelta(msgspec.Struct, omit_defaults=True, gc=False):
    """A piece of spoken answer: base64 data and the words as they are spoken."""

    audio_id: str | None = None
    data: str = ""
    transcript: str = ""


class ChunkResponse(msgspec.Struct, omit_defaults=True, gc=False):
    """A provider-neutral piece of an answer; each belongs to one `choice` (0 unless several answers were asked for).

    `is_complete` is true on the last chunk of a stream that reached its proper end, and on no other.
    `provider_data` holds opaque blocks that must go back with the message as a whole, in this order; what belongs to
    one part of it comes with `part_end`. Within a chunk, the order is: reasoning, content, refusal, media, citations,
    part_end, server tools, calls.
    """

    content: str = ""
    reasoning: str = ""
    tool_calls: Sequence[ToolCallDelta] = ()
    choice: int = 0
    stop_reason: StopReason | None = None
    raw_stop_reason: str | None = None
    usage: TokenUsage | None = None
    is_complete: bool = False
    refusal: str = ""
    image_urls: Sequence[str] = ()
    audio_urls: Sequence[str] = ()
    video_urls: Sequence[str] = ()
    audio: AudioDelta | None = None
    provider_data: Sequence[dict[str, Any]] = ()
    part_end: PartEnd | None = None
    server_tools: Sequence[ServerToolDelta] = ()
    citations: Sequence[Citation] = ()
