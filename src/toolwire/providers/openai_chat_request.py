"""OpenAI Chat Completions: the encoding half, conversation + tools → request body. Pure: a dict comes out.

What goes back is what came: a call's own argument text, reasoning under the field that the service reads, the opaque
blocks it wants returned. Every result is a message of its own with role `tool`, right after the calls; pictures that
a tool returned follow in a user message, because a tool message holds text alone. Whatever else a service wants
otherwise, its `ChatDialect` says.
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
    inline_media,
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
_NOTHING = {"role": "assistant", "content": ""}
"""An answer of which nothing goes to this service, thoughts alone for one: no service wants such a message."""
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
                "function": {"name": name, "description": tool.description, "parameters": _schema(tool, dialect)},
            }
            for name, tool in zip(offered_names(tools, COMMON_RULE), tools, strict=True)
        ]
        if tool_choice in TOOL_CHOICES:
            if tool_choice != "auto":
                body["tool_choice"] = dialect.required_word if tool_choice == "required" else tool_choice
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


def _schema(tool: ToolDefinition, dialect: ChatDialect) -> dict[str, Any]:
    return tool.parameters if dialect.schema is None else dialect.schema(tool.parameters)


def _messages(messages: Iterable[Message], dialect: ChatDialect) -> list[dict[str, Any]]:
    messages = list(messages)
    encoded: list[dict[str, Any]] = []
    legacy: ToolCallPart | None = None
    for message, with_reasoning in zip(messages, _reasoned(messages, dialect), strict=True):
        if message.role == "assistant":
            answer = _assistant(message, dialect, with_reasoning=with_reasoning)
            if answer != _NOTHING:
                encoded.append(answer)
            legacy = _legacy(message.tool_calls, dialect)
        elif message.role == "tool":
            encoded += _tool_messages(message, legacy)
        elif message.role == "user":
            encoded.append({"role": "user", "content": _user_content(message)})
        else:
            encoded.append({"role": message.role, "content": message.text})
    return _arranged(encoded, dialect)


def _reasoned(messages: list[Message], dialect: ChatDialect) -> list[bool]:
    """Of each message whether its reasoning goes back."""
    if dialect.reasoning_back == "always":
        return [True] * len(messages)
    wanted: list[bool] = []
    turn: list[bool] = []
    for message in messages:
        if message.role == "user":
            wanted += [dialect.reasoning_back == "calls" and any(turn)] * len(turn)
            turn = []
        turn.append(bool(message.tool_calls))
    return wanted + [dialect.reasoning_back == "turn" or any(turn)] * len(turn)


def _arranged(messages: list[dict[str, Any]], dialect: ChatDialect) -> list[dict[str, Any]]:
    """The messages in an order that the service takes."""
    arranged: list[dict[str, Any]] = []
    for message in messages:
        role, before = message["role"], arranged[-1] if arranged else {}
        if dialect.assistant_after_tools and role == "user" and before.get("role") == "tool":
            arranged.append({"role": "assistant", "content": "I have the results."})
        if dialect.joined_users and role == before.get("role") == "user":
            arranged[-1] = {"role": "user", "content": _joined(before["content"], message["content"])}
        else:
            arranged.append(message)
    return arranged


def _joined(first: Any, second: Any) -> Any:
    """What two user messages say, as one."""
    if isinstance(first, str) and isinstance(second, str):
        return f"{first}\n\n{second}"
    return [
        part
        for content in (first, second)
        for part in ([{"type": "text", "text": content}] if isinstance(content, str) else content)
    ]


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
    kind, _, subtype = part.media_type.partition("/")
    if kind == "image":
        return {"type": "image_url", "image_url": {"url": media_url(part)}}
    inline = inline_media(part)
    if inline is not None and subtype:
        media_type, data = inline
        if media_type in _AUDIO_FORMATS:
            return {"type": "input_audio", "input_audio": {"data": data, "format": _AUDIO_FORMATS[media_type]}}
        return {"type": "file", "file": {"filename": part.name or "file", "file_data": media_url(part)}}
    raise ConfigError(
        f"chat completions take no {part.media_type} by URL",
        hint="Give images by URL or data; audio (wav, mp3) and files as base64 data.",
    )


def _assistant(message: Message, dialect: ChatDialect, *, with_reasoning: bool) -> dict[str, Any]:
    text, refusal, thinking = "", "", ""
    calls: list[ToolCallPart] = []
    for part in message.parts:
        if isinstance(part, TextPart):
            if part.refusal and not dialect.known_members_only:
                refusal += part.text
            else:
                text += part.text
        elif isinstance(part, ThinkingPart):
            thinking += part.text
        elif isinstance(part, ToolCallPart):
            calls.append(part)
        elif isinstance(part, ToolResultPart):
            raise misplaced(part, "assistant")
    encoded: dict[str, Any] = {
        "role": "assistant",
        "content": text if text or not (calls or refusal) else dialect.no_text,
    }
    if refusal:
        encoded["refusal"] = refusal
    legacy = _legacy(calls, dialect)
    if legacy is not None:
        encoded["function_call"] = _function(legacy)
    elif calls:
        encoded["tool_calls"] = [_call(call, dialect) for call in calls]
    if with_reasoning:
        _put_reasoning(encoded, thinking, message, dialect)
    wanted = calls or (with_reasoning and dialect.reasoning_back == "calls" and encoded != _NOTHING)
    if wanted and dialect.reasoning_missing is not None and dialect.reasoning_field is not None:
        encoded.setdefault(dialect.reasoning_field, dialect.reasoning_missing)
    return encoded


def _put_reasoning(encoded: dict[str, Any], thinking: str, message: Message, dialect: ChatDialect) -> None:
    """Adds what the model thought, where and as the service reads it."""
    field = dialect.reasoning_field
    if field == "reasoning_details":
        details = merge_reasoning_details(_opaque(message, "reasoning_detail"))
        if details:
            encoded[field] = details
    elif field == "content" and thinking:
        thought = {"type": "thinking", "thinking": [{"type": "text", "text": thinking}]}
        words = [{"type": "text", "text": encoded["content"]}] if encoded["content"] else []
        encoded["content"] = [thought, *words]
    elif field is not None and thinking:
        encoded[field] = thinking
    if field == "reasoning_text":
        for sealed in _opaque(message, "reasoning_opaque"):
            encoded["reasoning_opaque"] = sealed


def _opaque(message: Message, name: str) -> list[Any]:
    """The blocks of this name that came from this wire and belong to the message as a whole, in order."""
    return [block[name] for block in message.provider_data if block.get("wire") == WIRE and name in block]


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


def _legacy(calls: list[ToolCallPart], dialect: ChatDialect) -> ToolCallPart | None:
    """The call of an answer that came in the form from before there could be several: it goes back in that form."""
    if len(calls) == 1 and not dialect.known_members_only and own(calls[0].provider_data, WIRE).get("legacy"):
        return calls[0]
    return None


def _function(part: ToolCallPart) -> dict[str, Any]:
    return {"name": COMMON_RULE.wire_name(part.name), "arguments": arguments_text(part)}


def _call(part: ToolCallPart, dialect: ChatDialect) -> dict[str, Any]:
    encoded: dict[str, Any] = {"id": part.id, "type": "function", "function": _function(part)}
    extra = own(part.provider_data, WIRE).get("extra_content")
    if extra is not None and not dialect.known_members_only:
        encoded["extra_content"] = extra
    return encoded


def _tool_messages(message: Message, legacy: ToolCallPart | None) -> list[dict[str, Any]]:
    """The results, each a message; a `legacy` call is answered in its own, older form."""
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
        if legacy is not None and part.id == legacy.id:
            encoded.append({"role": "function", "name": COMMON_RULE.wire_name(part.name), "content": text})
        else:
            encoded.append({"role": "tool", "tool_call_id": part.id, "content": text})
    if media:
        encoded.append({"role": "user", "content": media})
    return encoded
