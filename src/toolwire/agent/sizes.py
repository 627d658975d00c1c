"""How many tokens a message takes, by rule of thumb: for what no provider has counted yet.

Four bytes of UTF-8 a token: four letters of English, two of Russian or Greek, four characters of Chinese for three
tokens. Code and JSON take a third more, which shows in the providers' own numbers (`Context` learns from them).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from ..messages import MediaPart, Message, OpaquePart, Part, TextPart, ThinkingPart, ToolCallPart
from ..providers.encoding import inline_media
from ..tools.definition import ToolDefinition

BYTES_PER_TOKEN = 4
PER_MESSAGE = 4
"""Tokens that say who speaks."""
PER_CALL = 8
"""Tokens around a call or a result: its id, and marks."""

PICTURE = 1_500
"""Tokens of a picture: providers shrink large ones, so that none takes much more."""

BYTES_OF_MEDIA = {"audio/": 500, "video/": 500, "text/": BYTES_PER_TOKEN, "application/": 50}
"""Bytes per token of other media: 16 kB of sound are a second and some 32 tokens, 100 kB of a PDF a page and 2,000."""


def size_of(message: Message) -> int:
    """The message in tokens, estimated; linear in its size."""
    if isinstance(message.content, str):
        return PER_MESSAGE + _words(message.content)
    return PER_MESSAGE + sum(map(_part, message.content)) + sum(map(_data, message.provider_data))


def size_of_tools(tools: Iterable[ToolDefinition]) -> int:
    """What the descriptions of tools take, in tokens, estimated."""
    return sum(PER_CALL + _words(msgspec.json.encode(tool.as_json())) for tool in tools)


def _part(part: Part) -> int:
    if isinstance(part, TextPart):
        return _words(part.text)
    if isinstance(part, ThinkingPart):
        return _words(part.text) + _data(part.provider_data)
    if isinstance(part, ToolCallPart):
        given = part.raw_arguments if part.raw_arguments is not None else msgspec.json.encode(part.arguments)
        return PER_CALL + _words(part.name) + _words(given) + _data(part.provider_data)
    if isinstance(part, MediaPart):
        return _media(part)
    if isinstance(part, OpaquePart):
        return _data(part.provider_data)
    if isinstance(part.content, str):
        return PER_CALL + _words(part.content)
    return PER_CALL + sum(map(_part, part.content))


def _words(text: str | bytes) -> int:
    if isinstance(text, str):
        text = text if text.isascii() else text.encode("utf-8", "replace")
    return -(-len(text) // BYTES_PER_TOKEN)


def _data(data: dict[str, Any] | None) -> int:
    return 0 if not data else _words(msgspec.json.encode(data))


def _media(part: MediaPart) -> int:
    inline = inline_media(part)
    per_token = next((each for start, each in BYTES_OF_MEDIA.items() if part.media_type.startswith(start)), None)
    if inline is None or per_token is None:
        return PICTURE
    return max(PICTURE, len(inline[1]) * 3 // 4 // per_token)
