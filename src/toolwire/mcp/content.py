"""What servers give, as the parts of a conversation: results of calls, resources, prompts.

Everything comes as raw JSON and may be anything. What is no content of a known kind is mentioned in words, so that a
model knows that there was more; nothing here raises for what a server sent.
"""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Iterator
from typing import Any

from ..messages import MediaPart, Message, Part, TextPart
from ..tools.output import ToolOutput
from .limits import MESSAGE_VALUES

MAX_MEDIA = 16
"""Pictures, sounds and files of one result."""
_MEDIA = ("image/", "audio/", "video/")
_TEXTS = ("text/", "application/json", "application/xml", "application/yaml", "application/javascript", "image/svg")
_PICTURES = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
)
"""How pictures begin that providers read; and WebP."""
_NAMED = 200
"""Characters of a name, a type or an address that a mention shows."""


def output_of(result: dict[str, Any]) -> ToolOutput:
    """The result of a call: the words and media of its content in order, and its structured content where no text
    says the same. `isError` makes it one that says that the tool failed.
    """
    parts = _bounded(_block_parts(result.get("content")))
    texts = [part.text for part in parts if isinstance(part, TextPart)]
    structured = result.get("structuredContent")
    if structured is not None and not _is_said(structured, _texts_of(result.get("content"))):
        texts.append(_json(structured, in_order=False))
    media = tuple(part for part in parts if isinstance(part, MediaPart))
    return ToolOutput("\n".join(texts), media, bool(result.get("isError")))


def resource_parts(result: dict[str, Any]) -> list[TextPart | MediaPart]:
    """What `resources/read` gave: each content under its address."""
    contents = result.get("contents")
    items = contents if isinstance(contents, list) else []
    return _bounded(part for item in items for part in _resource(item))


def prompt_messages(result: dict[str, Any]) -> list[Message]:
    """The messages of a prompt, for the beginning of a conversation. A server has no system messages to give."""
    given = result.get("messages")
    messages: list[Message] = []
    for each in given if isinstance(given, list) else []:
        if not isinstance(each, dict):
            continue
        content = each.get("content")
        parts = _bounded(_block_parts(content if isinstance(content, list) else [content]))
        if each.get("role") == "assistant":
            # No provider takes media as what its model said.
            words = [part.text if isinstance(part, TextPart) else f"[{part.media_type}]" for part in parts]
            messages.append(Message("assistant", "\n".join(words)))
        else:
            mixed: list[Part] = [*parts]
            messages.append(Message("user", mixed))
    return messages


def _block_parts(content: Any) -> Iterator[TextPart | MediaPart]:
    if content is None:
        return
    if not isinstance(content, list):
        yield _mention("content that is no list")
        return
    for block in content:
        yield from _block(block)


def _block(block: Any) -> Iterator[TextPart | MediaPart]:
    kind = block.get("type") if isinstance(block, dict) else None
    if kind == "text":
        yield TextPart(_text(block.get("text")))
    elif kind in ("image", "audio"):
        yield _media(block.get("data"), block.get("mimeType"), kind)
    elif kind == "resource":
        yield from _resource(block.get("resource"))
    elif kind == "resource_link":
        yield TextPart(_link(block))
    else:
        yield _mention(f"content of the unknown type {_short(kind)}" if kind else "content without a type")


def _resource(resource: Any) -> Iterator[TextPart | MediaPart]:
    """A resource that came whole: text under its address, or a file."""
    if not isinstance(resource, dict):
        yield _mention("a resource that is none")
        return
    address, kind = _short(resource.get("uri")), resource.get("mimeType")
    if isinstance(resource.get("text"), str):
        yield TextPart(f"[{address}]\n{_text(resource['text'])}")
        return
    part = _media(resource.get("blob"), kind, "resource", address)
    if isinstance(part, MediaPart) and part.media_type.startswith(_TEXTS):
        words = b64decode(part.data or "").decode("utf-8", "replace")
        yield TextPart(f"[{address}]\n{words}")
    elif isinstance(part, MediaPart) and not part.media_type.startswith((*_MEDIA, "application/pdf")):
        size = len(b64decode(part.data or ""))
        yield _mention(f"{address}: {part.media_type}, {size:,} bytes, which cannot be shown")
    else:
        yield part


def _media(data: Any, kind: Any, what: str, name: str | None = None) -> TextPart | MediaPart:
    """Base64 with its type, checked: a provider refuses a whole conversation for one bad picture, and for one of
    another kind than it is said to be. What a picture is, its bytes say.
    """
    shown = f"{what} {name}" if name else what
    if not isinstance(kind, str) or not _is_media_type(kind):
        kind = "application/octet-stream" if what == "resource" and kind is None else ""
    if not kind or (what in ("image", "audio") and not kind.lower().startswith(f"{what}/")):
        return _mention(f"{shown} of a type that is none")
    if not isinstance(data, str):
        return _mention(f"{shown}, {kind}, without data")
    joined = "".join(data.split())
    try:
        raw = b64decode(joined, validate=True)
    except ValueError:
        return _mention(f"{shown}, {kind}, whose data is no base64")
    if not raw:
        return _mention(f"{shown}, {kind}, which is empty")
    media_type = kind.lower().partition(";")[0].strip()
    if media_type.startswith("image/") and (what == "image" or not media_type.startswith(_TEXTS)):
        media_type = _picture(raw)
        if not media_type:
            return _mention(f"{shown}, {kind}, whose data is no PNG, JPEG, GIF or WebP")
    return MediaPart(media_type, data=joined, name=name)


def _picture(raw: bytes) -> str:
    if raw.startswith(b"RIFF") and raw.startswith(b"WEBP", 8):
        return "image/webp"
    return next((media_type for start, media_type in _PICTURES if raw.startswith(start)), "")


def _is_media_type(kind: str) -> bool:
    first, slash, second = kind.partition(";")[0].strip().partition("/")
    plain = all(char.isascii() and (char.isalnum() or char in "!#$&-^_.+") for char in first + second)
    return bool(first and slash and second) and plain and len(kind) <= _NAMED


def _link(block: dict[str, Any]) -> str:
    """A resource that was only named."""
    facts = [_short(block[key]) for key in ("mimeType", "description") if isinstance(block.get(key), str)]
    size = block.get("size")
    if isinstance(size, int) and not isinstance(size, bool):
        facts.insert(0, f"{size:,} bytes")
    name = _short(block.get("title") or block.get("name") or "a resource")
    return f"[{name}: {_short(block.get('uri'))}{' (' + ', '.join(facts) + ')' if facts else ''}]"


def _bounded(parts: Iterator[TextPart | MediaPart]) -> list[TextPart | MediaPart]:
    kept: list[TextPart | MediaPart] = []
    media = 0
    for part in parts:
        media += isinstance(part, MediaPart)
        if isinstance(part, TextPart) or media <= MAX_MEDIA:
            kept.append(part)
    if media > MAX_MEDIA:
        kept.append(_mention(f"{media - MAX_MEDIA:,} more files, of which none is taken: {MAX_MEDIA} are the most"))
    return kept


def _texts_of(content: Any) -> list[str]:
    blocks = content if isinstance(content, list) else []
    return [block["text"] for block in blocks if isinstance(block, dict) and isinstance(block.get("text"), str)]


def _is_said(structured: Any, texts: list[str]) -> bool:
    """Whether the texts say the same already: as JSON, or as the one value that a framework put into an object."""
    spelled = [_spelled(text) for text in texts]
    wanted = _json(structured)
    if wanted in spelled:
        return True
    if not isinstance(structured, dict) or len(structured) != 1:
        return False
    (value,) = structured.values()
    if isinstance(value, str) and value in texts:
        return True
    each = value if isinstance(value, list) else [value]
    said = [item if isinstance(item, str) else _json(item) for item in each]
    return _json(value) in spelled or said in (spelled, texts)


def _spelled(text: str) -> str:
    if sum(map(text.count, ",[{")) > MESSAGE_VALUES:
        # For a message such a text is one value, and it can be JSON with ten times as many as that may have.
        return text
    try:
        return _json(json.loads(text))
    except (ValueError, RecursionError):
        return text


def _json(value: Any, *, in_order: bool = True) -> str:
    try:
        return _text(json.dumps(value, ensure_ascii=False, sort_keys=in_order))
    except (TypeError, ValueError, RecursionError):
        return "[structured content that is no JSON]"


def _mention(words: str) -> TextPart:
    return TextPart(f"[{words}]")


def _short(value: Any) -> str:
    text = _text(value) if isinstance(value, str) else ascii(value)
    text = " ".join(text.split())
    return text if len(text) <= _NAMED else f"{text[:_NAMED]}…"


def _text(value: Any) -> str:
    """Text that can be sent: half of a surrogate pair cannot."""
    if not isinstance(value, str):
        return "[text that is none]"
    return value if value.isascii() else value.encode("utf-8", "replace").decode()
