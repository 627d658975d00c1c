"""Media as Converse takes them: images, documents and films, as data or from S3."""

from __future__ import annotations

from typing import Any

from ..errors import ConfigError
from ..messages import MediaPart
from .encoding import inline_media

_FORMATS: dict[str, tuple[str, str]] = {
    **{f"image/{kind}": ("image", kind) for kind in ("png", "jpeg", "gif", "webp")},
    "image/jpg": ("image", "jpeg"),
    "application/pdf": ("document", "pdf"),
    "text/csv": ("document", "csv"),
    "text/html": ("document", "html"),
    "text/markdown": ("document", "md"),
    "text/plain": ("document", "txt"),
    "application/msword": ("document", "doc"),
    "application/vnd.ms-excel": ("document", "xls"),
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": ("document", "docx"),
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": ("document", "xlsx"),
    **{f"video/{kind}": ("video", kind) for kind in ("mp4", "webm", "mpeg")},
    "video/quicktime": ("video", "mov"),
    "video/x-matroska": ("video", "mkv"),
    "video/x-flv": ("video", "flv"),
    "video/x-ms-wmv": ("video", "wmv"),
    "video/3gpp": ("video", "three_gp"),
}
"""Media types: which block they go in and what Converse calls them."""

_NAME_CHARACTERS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-()[] ")
_LONGEST_NAME = 190
_PLAIN_NAME = "document"


class Names:
    """The names of documents in one request: of the characters that Converse takes, and each used once."""

    def __init__(self) -> None:
        self._used: set[str] = set()

    def name(self, wanted: str | None) -> str:
        """A name for a document that its sender calls so."""
        kept = "".join(char if char in _NAME_CHARACTERS else " " for char in wanted or "")
        base = " ".join(kept.split())[:_LONGEST_NAME].rstrip() or _PLAIN_NAME
        name, number = base, 1
        while name in self._used:
            number += 1
            name = f"{base} {number}"
        self._used.add(name)
        return name


def media_block(part: MediaPart, names: Names) -> dict[str, Any]:
    """The content block for it; a `ConfigError` says what Converse takes instead."""
    inline = inline_media(part)
    media_type = inline[0] if inline is not None else part.media_type
    found = _FORMATS.get(media_type)
    if found is None and media_type.startswith("text/"):
        found = _FORMATS["text/plain"]
    if found is None:
        raise _not_taken(part)
    kind, form = found
    block: dict[str, Any] = {"format": form, "source": _source(part, inline)}
    if kind == "document":
        block["name"] = names.name(part.name)
    return {kind: block}


def _source(part: MediaPart, inline: tuple[str, str] | None) -> dict[str, Any]:
    if inline is not None:
        return {"bytes": inline[1]}
    if part.url is None or not part.url.startswith("s3://"):
        raise _not_taken(part)
    return {"s3Location": {"uri": part.url}}


def _not_taken(part: MediaPart) -> ConfigError:
    return ConfigError(
        f"Bedrock takes no {part.media_type} in this way",
        hint="Give PNG, JPEG, GIF, WebP, PDF, Office, text, MP4 or the like as base64 data or by an s3:// address.",
    )
