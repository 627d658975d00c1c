"""`encode_request`: one call for every wire format, from what people hold in their hands."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from ..errors import ConfigError
from ..messages import Message
from ..tools.function import as_definition
from .dialects import OPENAI, ChatDialect
from .moving import move_history
from .openai_chat_request import WIRE as CHAT
from .wires import wire_format


def encode_request(
    *,
    wire: str,
    model: str,
    messages: Iterable[Message | dict[str, Any]],
    tools: Iterable[Any] = (),
    tool_choice: str = "auto",
    notes: list[str] | None = None,
    **options: Any,
) -> dict[str, Any]:
    """The request body for this wire, as a dict. Pure: nothing is sent.

    Messages may be `Message`s or dicts of the same shape; tools whatever `@tool`, `ToolDefinition` or a
    `{"name", "description", "parameters"}` dict gives. Further options (`max_tokens`, `temperature`, `stream`)
    go to the format's encoder. The history may have been begun on another provider (see `move_history`); `notes` gets
    a sentence for everything that it lost on its way to this wire.
    """
    encode = wire_format(wire).encode
    dialect: ChatDialect | None = options.get("dialect", OPENAI) if wire == CHAT else None
    moved = move_history(map(as_message, messages), wire=wire, dialect=dialect)
    if notes is not None:
        notes += moved.notes
    return encode(
        model=model,
        messages=moved.messages,
        tools=[as_definition(tool) for tool in tools],
        tool_choice=tool_choice,
        **options,
    )


def as_message(message: Message | dict[str, Any]) -> Message:
    """A message, from one or from a dict of the same shape; a `ConfigError` says what is wrong with it."""
    if isinstance(message, Message):
        return message
    try:
        return msgspec.convert(message, Message)
    except msgspec.ValidationError as error:
        raise ConfigError(
            f"this is no message: {error}", hint='A message is {"role": "user", "content": "Hello"}.'
        ) from None
