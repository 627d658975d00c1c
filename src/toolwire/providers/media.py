"""Which media each wire format takes, and the words that stand for those that it does not."""

from __future__ import annotations

from typing import Literal

import msgspec

from ..messages import MediaPart
from .encoding import inline_media

Place = Literal["user", "result", "answer"]
"""Where media stand: in a user's message, in a tool's result, in an answer of the model."""

_PICTURES = ("image/jpeg", "image/png", "image/gif", "image/webp")
_FILES = ("application/", "text/")
_ALL = ("image/", "audio/", "video/", *_FILES)
_BEDROCK_FILES = (
    "application/pdf",
    "application/msword",
    "application/vnd.ms-excel",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "text/",
)
_BEDROCK_FILMS = tuple(
    f"video/{kind}" for kind in ("mp4", "webm", "mpeg", "quicktime", "x-matroska", "x-flv", "x-ms-wmv", "3gpp")
)
_BEDROCK = (*_PICTURES, "image/jpg", *_BEDROCK_FILES, *_BEDROCK_FILMS)


class MediaRule(msgspec.Struct, frozen=True):
    """What a wire takes, by the beginnings of media types."""

    inline: tuple[str, ...]
    """As base64 data."""
    address: tuple[str, ...] = ()
    """By address."""
    schemes: tuple[str, ...] = ("http://", "https://")
    """The beginnings of addresses."""
    results: bool = True
    """Whether results hold the same."""
    answers: bool = False
    """Whether answers hold the same, whoever gave them."""

    def takes(self, part: MediaPart, place: Place = "user") -> bool:
        """Whether the wire takes this in this place."""
        inline = inline_media(part)
        media_type = part.media_type if inline is None else inline[0]
        if (place == "answer" and not self.answers) or (place == "result" and not self.results):
            return False
        if inline is not None:
            return media_type.startswith(self.inline)
        return part.url is not None and part.url.startswith(self.schemes) and media_type.startswith(self.address)


MEDIA: dict[str, MediaRule] = {
    "openai-chat": MediaRule(("image", *_ALL), ("image",)),
    "openai-responses": MediaRule(("image", *_FILES), ("image", *_FILES)),
    "anthropic": MediaRule((*_PICTURES, "application/pdf", "text/"), ("image", "application/pdf")),
    "gemini": MediaRule(_ALL, _ALL, schemes=("http://", "https://", "gs://"), answers=True),
    "ollama": MediaRule(("image",), answers=True),
    "bedrock": MediaRule(_BEDROCK, _BEDROCK, schemes=("s3://",)),
    "cohere": MediaRule(("image",), ("image",), results=False),
}
"""By wire. The encoders refuse what is not in it; what is in a history already goes as a mention instead."""

_OPENAI = MediaRule(
    (*_PICTURES, "image/jpg", "audio/wav", "audio/x-wav", "audio/mpeg", "audio/mp3", "application/pdf"), ("image",)
)

STRICTER: dict[str, MediaRule] = {
    "openai": _OPENAI,
    "azure": _OPENAI,
    "deepseek": MediaRule(()),
    "mistral": MediaRule(("image",), ("image",)),
}
"""Providers that take less than their wire has: OpenAI itself refuses every file but PDF, DeepSeek all but words."""


def media_rule(wire: str, provider: str = "") -> MediaRule:
    """What is taken by this wire, or by this provider where that is less."""
    return STRICTER.get(provider, MEDIA[wire])


def mention(part: MediaPart) -> str:
    """The words that stand in the place of media that are not shown."""
    told = [part.name] if part.name else []
    told.append(part.media_type or "media")
    inline = inline_media(part)
    if inline is not None:
        told.append(_size(len(inline[1]) * 3 // 4))
    return f"[{', '.join(told)}: cannot be shown here]"


def _size(count: int) -> str:
    if count < 1000:
        return f"{count} bytes"
    return f"{count / 1000:.0f} kB" if count < 1_000_000 else f"{count / 1_000_000:.1f} MB"
