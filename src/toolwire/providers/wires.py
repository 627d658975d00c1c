"""The wire formats by name: how each is framed, decoded and encoded. Adding one is adding a row."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Protocol

import msgspec

from ..chunks import ChunkResponse
from ..errors import ConfigError
from ..limits import Limits
from ..wire.sse import SseDecoder
from .openai_chat import ChatDecoder
from .openai_chat_request import encode_chat_request


class Framer(Protocol):
    """Bytes → frames."""

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
    marks: tuple[bytes, ...]
    """Any of these near the start of a body says that it is of this format."""


WIRES: dict[str, WireFormat] = {
    "openai-chat": WireFormat(
        "openai-chat",
        lambda limits: SseDecoder(limits, keep_stray=True),
        ChatDecoder,
        encode_chat_request,
        (b'"chat.completion', b'"choices"'),
    ),
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
