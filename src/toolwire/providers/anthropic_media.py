"""Media as Anthropic Messages takes them: images, PDF and plain text, in user messages and in results."""

from __future__ import annotations

import binascii
from base64 import b64decode
from typing import Any

from ..errors import ConfigError
from ..messages import MediaPart
from .encoding import inline_media

_IMAGES = ("image/jpeg", "image/png", "image/gif", "image/webp")
_PDF = "application/pdf"


def media_block(part: MediaPart) -> dict[str, Any]:
    """The content block for it; a `ConfigError` says what the API takes instead."""
    inline = inline_media(part)
    kind = inline[0] if inline is not None else part.media_type
    if kind in _IMAGES or (inline is None and kind.partition("/")[0] == "image"):
        return {"type": "image", "source": _source(part, inline)}
    if kind == _PDF:
        return _document(part, _source(part, inline))
    if inline is not None and kind.partition("/")[0] == "text":
        return _document(part, {"type": "text", "media_type": "text/plain", "data": _words(inline[1])})
    raise _not_taken(part)


def _source(part: MediaPart, inline: tuple[str, str] | None) -> dict[str, Any]:
    if inline is not None:
        return {"type": "base64", "media_type": inline[0], "data": inline[1]}
    if part.url is None or part.url.startswith("data:"):
        raise _not_taken(part)
    return {"type": "url", "url": part.url}


def _document(part: MediaPart, source: dict[str, Any]) -> dict[str, Any]:
    block: dict[str, Any] = {"type": "document", "source": source}
    if part.name:
        block["title"] = part.name
    return block


def _words(data: str) -> str:
    try:
        return b64decode(data, validate=True).decode()
    except (binascii.Error, UnicodeError, ValueError):
        raise ConfigError(
            "the data of a text document are no base64 of UTF-8 text",
            hint="Encode the text: base64.b64encode(text.encode()).decode().",
        ) from None


def _not_taken(part: MediaPart) -> ConfigError:
    return ConfigError(
        f"the Anthropic Messages API takes no {part.media_type} in this way",
        hint="Give JPEG, PNG, GIF, WebP or PDF by URL or base64 data, or text as base64 data.",
    )
