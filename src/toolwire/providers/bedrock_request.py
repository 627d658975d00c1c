"""Bedrock Converse: the encoding half."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from ..messages import Message

if TYPE_CHECKING:
    from ..tools.definition import ToolDefinition

WIRE = "bedrock"


def encode_bedrock_request(
    *,
    model: str,
    messages: Iterable[Message],
    tools: Iterable[ToolDefinition] = (),
    tool_choice: str = "auto",
    max_tokens: int | None = None,
    temperature: float | None = None,
    stream: bool = True,
) -> dict[str, Any]:
    """The request body. `tool_choice` is `auto`, `none`, `required` or the name of a tool."""
    raise NotImplementedError
