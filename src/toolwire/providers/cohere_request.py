"""Cohere chat (API v2): the encoding half, conversation + tools → request body. Pure: a dict comes out.

What the model thought goes back to where it came from: a plan before calls as `tool_plan`, thinking as a part of the
content in its place. Reasoning of other providers stays out. Every result is a message of its own with role `tool`,
right after the calls, and holds words alone.

The API can force a call, but not one of a named tool: then that tool alone is offered.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from ..errors import ConfigError
from ..messages import MediaPart, Message, TextPart, ThinkingPart, ToolCallPart, ToolResultPart
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
from .names import COHERE_RULE

if TYPE_CHECKING:
    from ..tools.definition import ToolDefinition

WIRE = "cohere"

PLAN, THINKING = "tool_plan", "thinking"
"""The two kinds of reasoning, as the API names them where they go back."""

NO_WORDS = "(no output)"
"""What a result without words says: no message may be empty."""

_CHOICES = {"none": "NONE", "required": "REQUIRED"}
Json = dict[str, Any]


def encode_cohere_request(
    *,
    model: str,
    messages: Iterable[Message],
    tools: Iterable[ToolDefinition] = (),
    tool_choice: str = "auto",
    max_tokens: int | None = None,
    temperature: float | None = None,
    stream: bool = True,
    thinking_budget: int | None = None,
) -> dict[str, Any]:
    """The request body. `tool_choice` is `auto`, `none`, `required` or the name of a tool.

    `thinking_budget` is how many tokens a reasoning model may think with. Such models think unless it is 0.
    """
    tools = list(tools)
    check_tool_choice(tool_choice, tools)
    names = offered_names(tools, COHERE_RULE)
    body: dict[str, Any] = {"model": model, "messages": _messages(messages)}
    if tools:
        body["tools"] = [
            {
                "type": "function",
                "function": {"name": name, "description": tool.description, "parameters": tool.parameters},
            }
            for name, tool in zip(names, tools, strict=True)
            if tool_choice in TOOL_CHOICES or tool.name == tool_choice
        ]
        if tool_choice != "auto":
            body["tool_choice"] = _CHOICES.get(tool_choice, "REQUIRED")
    if max_tokens is not None:
        body["max_tokens"] = max_tokens
    if temperature is not None:
        body["temperature"] = temperature
    if thinking_budget is not None:
        body["thinking"] = _thinking(thinking_budget)
    body["stream"] = stream
    return body


def _thinking(budget: int) -> Json:
    if budget < 0:
        raise ConfigError(
            f"a thinking budget of {budget} tokens cannot be kept", hint="Give a positive number, or 0 for no thinking."
        )
    return {"type": "enabled", "token_budget": budget} if budget else {"type": "disabled"}


def _messages(messages: Iterable[Message]) -> list[Json]:
    """Messages that say nothing are left out: the API refuses them."""
    encoded: list[Json] = []
    for message in messages:
        if message.role == "assistant":
            encoded += _assistant(message)
        elif message.role == "tool":
            encoded += map(_result, message.parts)
        elif message.role == "user":
            content = _user_content(message)
            if content:
                encoded.append({"role": "user", "content": content})
        elif message.text.strip():
            encoded.append({"role": "system", "content": message.text})
    return encoded


def _user_content(message: Message) -> str | list[Json]:
    parts = message.parts
    if all(isinstance(part, TextPart) for part in parts):
        return message.text if message.text.strip() else ""
    content: list[Json] = []
    for part in parts:
        if isinstance(part, MediaPart):
            content.append(_image(part))
        elif not isinstance(part, TextPart):
            raise misplaced(part, "user")
        elif part.text.strip():
            content.append({"type": "text", "text": part.text})
    return content


def _image(part: MediaPart) -> Json:
    if part.media_type.split("/", 1)[0] != "image":
        raise ConfigError(f"Cohere takes no {part.media_type}, only images", hint="Give its words as text instead.")
    return {"type": "image_url", "image_url": {"url": media_url(part)}}


def _assistant(message: Message) -> list[Json]:
    content: list[Json] = []
    plan, calls = "", list[Json]()
    for part in message.parts:
        if isinstance(part, TextPart):
            content.append({"type": "text", "text": part.text})
        elif isinstance(part, ThinkingPart):
            kind = own(part.provider_data, WIRE).get("part")
            if kind == PLAN:
                plan += part.text
            elif kind == THINKING and part.text:
                content.append({"type": "thinking", "thinking": part.text})
        elif isinstance(part, ToolCallPart):
            function = {"name": COHERE_RULE.wire_name(part.name), "arguments": arguments_text(part)}
            calls.append({"id": part.id, "type": "function", "function": function})
        elif isinstance(part, ToolResultPart):
            raise misplaced(part, "assistant")
    encoded: Json = {"role": "assistant"}
    if any(item["type"] == "thinking" for item in content):
        encoded["content"] = [item for item in content if item["type"] == "thinking" or item["text"].strip()]
    elif message.text.strip():
        encoded["content"] = message.text
    if plan and calls:
        encoded["tool_plan"] = plan
    if calls:
        encoded["tool_calls"] = calls
    return [encoded] if len(encoded) > 1 else []


def _result(part: Any) -> Json:
    if not isinstance(part, ToolResultPart):
        raise misplaced(part, "tool")
    if result_media(part):
        raise ConfigError(
            "Cohere takes no pictures in results", hint="Give their words as text, or the picture in a user message."
        )
    text = result_text(part, mark_errors=True)
    return {"role": "tool", "tool_call_id": part.id, "content": text if text.strip() else NO_WORDS}
