"""Ollama `/api/chat`: the encoding half, conversation + tools → request body. Pure: a dict comes out.

A call goes back with its arguments as an object, a result as a message of its own with role `tool` that names its
tool and its call; reasoning goes back as `thinking`. Pictures are base64 text beside the words, in messages of every
role: Ollama fetches no address.

Ollama has no `tool_choice`: it ignores one. `none` leaves the tools out, which has the same effect; `required` and the
name of a tool cannot be kept to, so they are refused instead of being forgotten on the way.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from ..errors import ConfigError
from ..messages import MediaPart, Message, TextPart, ThinkingPart, ToolCallPart, ToolResultPart
from .encoding import check_tool_choice, inline_media, misplaced, offered_names, result_media, result_text
from .names import COMMON_RULE
from .ollama_schema import ollama_tool

if TYPE_CHECKING:
    from ..tools.definition import ToolDefinition

WIRE = "ollama"


def encode_ollama_request(
    *,
    model: str,
    messages: Iterable[Message],
    tools: Iterable[ToolDefinition] = (),
    tool_choice: str = "auto",
    max_tokens: int | None = None,
    temperature: float | None = None,
    think: bool | str | None = None,
    num_ctx: int | None = None,
    stream: bool = True,
) -> dict[str, Any]:
    """The request body. `tool_choice` is `auto` or `none`; anything else is a `ConfigError` (see above).

    `think` turns reasoning on or off, or says how much (`low`, `medium`, `high`) where the model has levels.
    `num_ctx` is how many tokens the model is to read: without it Ollama gives some thousands, and drops the beginning
    of a longer conversation without a word.
    """
    tools = list(tools)
    check_tool_choice(tool_choice, tools)
    if tool_choice not in ("auto", "none"):
        raise ConfigError(
            f"Ollama has no way to keep to tool_choice {tool_choice!r}",
            hint="Use auto, or none; to have one tool called, offer that one alone and ask for it in words.",
        )
    body: dict[str, Any] = {"model": model, "messages": _messages(messages)}
    if tools and tool_choice == "auto":
        body["tools"] = [
            ollama_tool(name, tool.description, tool.parameters)
            for name, tool in zip(offered_names(tools, COMMON_RULE), tools, strict=True)
        ]
    given = {"num_predict": max_tokens, "temperature": temperature, "num_ctx": num_ctx}
    options = {name: value for name, value in given.items() if value is not None}
    if options:
        body["options"] = options
    if think is not None:
        body["think"] = think
    body["stream"] = stream
    return body


def _messages(messages: Iterable[Message]) -> list[dict[str, Any]]:
    encoded: list[dict[str, Any]] = []
    for message in messages:
        if message.role == "assistant":
            encoded.append(_assistant(message))
        elif message.role == "tool":
            encoded += map(_result, message.parts)
        elif message.role == "user":
            encoded.append(_user(message))
        else:
            encoded.append({"role": message.role, "content": message.text})
    return encoded


def _user(message: Message) -> dict[str, Any]:
    media: list[MediaPart] = []
    for part in message.parts:
        if isinstance(part, MediaPart):
            media.append(part)
        elif not isinstance(part, TextPart):
            raise misplaced(part, "user")
    return _with_images({"role": "user", "content": message.text}, media)


def _assistant(message: Message) -> dict[str, Any]:
    thinking: list[str] = []
    calls: list[dict[str, Any]] = []
    media: list[MediaPart] = []
    for part in message.parts:
        if isinstance(part, ThinkingPart):
            thinking.append(part.text)
        elif isinstance(part, ToolCallPart):
            function = {"name": COMMON_RULE.wire_name(part.name), "arguments": part.arguments}
            calls.append({"id": part.id, "type": "function", "function": function})
        elif isinstance(part, MediaPart):
            media.append(part)
        elif isinstance(part, ToolResultPart):
            raise misplaced(part, "assistant")
    encoded: dict[str, Any] = {"role": "assistant", "content": message.text}
    if any(thinking):
        encoded["thinking"] = "".join(thinking)
    if calls:
        encoded["tool_calls"] = calls
    return _with_images(encoded, media)


def _result(part: Any) -> dict[str, Any]:
    if not isinstance(part, ToolResultPart):
        raise misplaced(part, "tool")
    encoded = {
        "role": "tool",
        "tool_name": COMMON_RULE.wire_name(part.name),
        "tool_call_id": part.id,
        "content": result_text(part, mark_errors=True),
    }
    return _with_images(encoded, result_media(part))


def _with_images(encoded: dict[str, Any], media: Iterable[MediaPart]) -> dict[str, Any]:
    images = [_image(part) for part in media]
    if images:
        encoded["images"] = images
    return encoded


def _image(part: MediaPart) -> str:
    inline = inline_media(part)
    if inline is None:
        raise ConfigError(
            "Ollama takes pictures as base64 data, not by URL",
            hint="Fetch the picture and give it as `data`, or as a data: URL.",
        )
    kind, data = inline
    if kind.split("/", 1)[0] != "image":
        raise ConfigError(f"Ollama takes no {kind}, only images", hint="Give its words as text instead.")
    return data
