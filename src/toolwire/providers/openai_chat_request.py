"""OpenAI Chat Completions: the encoding half, conversation + tools → request body. Pure: a dict comes out.

What goes back is what came: a call's own argument text, reasoning under the field that the service reads, the opaque
blocks it wants returned. Every result is a message of its own with role `tool`, right after the calls; pictures that
a tool returned follow in a user message, because a tool message holds text alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from ..errors import ConfigError
from ..messages import MediaPart, Message, TextPart, ThinkingPart, ToolCallPart, ToolResultPart
from .dialects import OPENAI, ChatDialect
from .encoding import (
    TOOL_CHOICES,
    arguments_text,
    check_tool_choice,
    media_url,
    misplaced,
    offered_names,
    own,
    result_media,
    result_text,
)
from .names import COMMON_RULE

if TYPE_CHECKING:
    from ..tools.definition import ToolDefinition

WIRE = "openai-chat"
_AUDIO_FORMATS = {"audio/wav": "wav", "audio/x-wav": "wav", "audio/mpeg": "mp3", "audio/mp3": "mp3"}


def encode_chat_request(
    *,
    model: str,
    messages: Iterable[Message],
    tools: Iterable[ToolDefinition] = (),
    tool_choice: str = "auto",
    max_tokens: int | None = None,
    temperature: float | None = None,
    stream: bool = True,
    dialect: ChatDialect = OPENAI,
) -> dict[str, Any]:
    """The request body. `tool_choice` is `auto`, `none`, `required` or the name of a tool."""
    body: dict[str, Any] = {"model": model, "messages": _messages(messages, dialect)}
    tools = list(tools)
    check_tool_choice(tool_choice, tools)
    if tools:
        body["tools"] = [
            {
                "type": "function",
                "function": {"name": name, "description": tool.description, "parameters": tool.parameters},
            }
            for name, tool in zip(offered_names(tools, COMMON_RULE), tools, strict=True)
        ]
        if tool_choice in TOOL_CHOICES:
            if tool_choice != "auto":
                body["tool_choice"] = tool_choice
        else:
            body["tool_choice"] = {"type": "function", "function": {"name": COMMON_RULE.wire_name(tool_choice)}}
    if max_tokens is not None:
        body[dialect.max_tokens_field] = max_tokens
    if temperature is not None:
        body["temperature"] = temperature
    if stream:
        body["stream"] = True
        if dialect.stream_usage:
            body["stream_options"] = {"include_usage": True}
    return body


def _messages(messages: Iterable[Message], dialect: ChatDialect) -> list[dict[str, Any]]:
    encoded: list[dict[str, Any]] = []
    for message in messages:
        if message.role == "assistant":
            encoded.append(_assistant(message, dialect))
        elif message.role == "tool":
            encoded += _tool_messages(message)
        elif message.role == "user":
            encoded.append({"role": "user", "content": _user_content(message)})
        else:
            encoded.append({"role": message.role, "content": message.text})
    return encoded


def _user_content(message: Message) -> str | list[dict[str, Any]]:
    parts = message.parts
    if all(isinstance(part, TextPart) for part in parts):
        return message.text
    content: list[dict[str, Any]] = []
    for part in parts:
        if isinstance(part, TextPart):
            content.append({"type": "text", "text": part.text})
        elif isinstance(part, MediaPart):
            content.append(_media(part))
        else:
            raise misplaced(part, "user")
    return content


def _media(part: MediaPart) -> dict[str, Any]:
    kind = part.media_type.split("/", 1)[0]
    url = media_url(part)
    if kind == "image":
        return {"type": "image_url", "image_url": {"url": url}}
    if part.media_type in _AUDIO_FORMATS and part.data is not None:
        return {
            "type": "input_audio",
            "input_audio": {"data": part.data, "format": _AUDIO_FORMATS[part.media_type]},
        }
    if part.data is not None:
        return {"type": "file", "file": {"filename": part.name or "file", "file_data": url}}
    raise ConfigError(
        f"chat completions take no {part.media_type} by URL",
        hint="Give images by URL or data; audio (wav, mp3) and files as base64 data.",
    )


def _assistant(message: Message, dialect: ChatDialect) -> dict[str, Any]:
    text, refusal, thinking = "", "", ""
    calls: list[dict[str, Any]] = []
    for part in message.parts:
        if isinstance(part, TextPart):
            if part.refusal:
                refusal += part.text
            else:
                text += part.text
        elif isinstance(part, ThinkingPart):
            thinking += part.text
        elif isinstance(part, ToolCallPart):
            calls.append(_call(part))
        elif isinstance(part, ToolResultPart):
            raise misplaced(part, "assistant")
    encoded: dict[str, Any] = {
        "role": "assistant",
        "content": text if text or not (calls or refusal) else None,
    }
    if refusal:
        encoded["refusal"] = refusal
    if calls:
        encoded["tool_calls"] = calls
    field = dialect.reasoning_field
    if field == "reasoning_details":
        details = merge_reasoning_details(
            block["reasoning_detail"]
            for block in message.provider_data
            if block.get("wire") == WIRE and "reasoning_detail" in block
        )
        if details:
            encoded["reasoning_details"] = details
    elif field is not None and thinking:
        encoded[field] = thinking
    return encoded


def merge_reasoning_details(details: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Reasoning blocks as they must go back: the pieces of one streamed block joined, in order.

    Pieces belong together when they follow one another with the same type and index; text is joined, and of every
    other member (id, signature, format) the last that is set counts.
    """
    merged: list[dict[str, Any]] = []
    pieces: list[list[str]] = []
    for detail in details:
        kind, text = _detail_text(detail)
        last = merged[-1] if merged else None
        joins = (
            last is not None
            and kind != "data"
            and last.get("type") == detail.get("type")
            and last.get("index") == detail.get("index")
        )
        if last is not None and joins:
            last.update({name: value for name, value in detail.items() if value is not None and name != kind})
            pieces[-1].append(text)
        else:
            merged.append(dict(detail))
            pieces.append([text])
    for detail, texts in zip(merged, pieces, strict=True):
        kind, _ = _detail_text(detail)
        if kind in detail:
            detail[kind] = "".join(texts)
    return merged


def _detail_text(detail: dict[str, Any]) -> tuple[str, str]:
    for kind in ("text", "summary", "data"):
        text = detail.get(kind)
        if isinstance(text, str):
            return kind, text
    return "text", ""


def _call(part: ToolCallPart) -> dict[str, Any]:
    encoded: dict[str, Any] = {
        "id": part.id,
        "type": "function",
        "function": {"name": COMMON_RULE.wire_name(part.name), "arguments": arguments_text(part)},
    }
    extra = own(part.provider_data, WIRE).get("extra_content")
    if extra is not None:
        encoded["extra_content"] = extra
    return encoded


def _tool_messages(message: Message) -> list[dict[str, Any]]:
    encoded: list[dict[str, Any]] = []
    media: list[dict[str, Any]] = []
    for part in message.parts:
        if not isinstance(part, ToolResultPart):
            raise misplaced(part, "tool")
        text = result_text(part, mark_errors=True)
        pictures = [_media(item) for item in result_media(part)]
        if pictures:
            text = text or "The result follows in the next message."
            media += [{"type": "text", "text": f"Result of {part.name} ({part.id}):"}, *pictures]
        encoded.append({"role": "tool", "tool_call_id": part.id, "content": text})
    if media:
        encoded.append({"role": "user", "content": media})
    return encoded
