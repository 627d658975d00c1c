"""Toolwire turns what any language model says into tool calls that can be watched, approved, run and answered.

Names are loaded when they are first used, so that `import toolwire` stays light.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .agent.loop import Agent as Agent
    from .chunks import ChunkResponse as ChunkResponse
    from .chunks import StopReason as StopReason
    from .chunks import TokenUsage as TokenUsage
    from .chunks import ToolCallDelta as ToolCallDelta
    from .embedded.chat import Prompt as Prompt
    from .embedded.chat import opens_reasoning as opens_reasoning
    from .embedded.chat import render_prompt as render_prompt
    from .errors import ToolwireError as ToolwireError
    from .limits import Limits as Limits
    from .messages import Message as Message
    from .providers.converters import SdkDecoder as SdkDecoder
    from .providers.request import encode_request as encode_request
    from .stream.invocation import ToolInvocation as ToolInvocation
    from .stream.pipeline import Stream as Stream
    from .stream.sdk import SdkStream as SdkStream
    from .stream.segments import EventType as EventType
    from .stream.segments import SegmentEvent as SegmentEvent
    from .stream.segments import SegmentType as SegmentType
    from .stream.text import TextStream as TextStream
    from .tools.definition import Risk as Risk
    from .tools.definition import ToolDefinition as ToolDefinition
    from .tools.function import tool as tool

__version__ = "0.1.0"

_HOMES = {
    "Agent": "agent.loop",
    "ChunkResponse": "chunks",
    "EventType": "stream.segments",
    "Limits": "limits",
    "Message": "messages",
    "Prompt": "embedded.chat",
    "Risk": "tools.definition",
    "SdkDecoder": "providers.converters",
    "SdkStream": "stream.sdk",
    "SegmentEvent": "stream.segments",
    "SegmentType": "stream.segments",
    "StopReason": "chunks",
    "Stream": "stream.pipeline",
    "TextStream": "stream.text",
    "TokenUsage": "chunks",
    "ToolCallDelta": "chunks",
    "ToolDefinition": "tools.definition",
    "ToolInvocation": "stream.invocation",
    "ToolwireError": "errors",
    "encode_request": "providers.request",
    "opens_reasoning": "embedded.chat",
    "render_prompt": "embedded.chat",
    "tool": "tools.function",
}

__all__ = [
    "Agent",
    "ChunkResponse",
    "EventType",
    "Limits",
    "Message",
    "Prompt",
    "Risk",
    "SdkDecoder",
    "SdkStream",
    "SegmentEvent",
    "SegmentType",
    "StopReason",
    "Stream",
    "TextStream",
    "TokenUsage",
    "ToolCallDelta",
    "ToolDefinition",
    "ToolInvocation",
    "ToolwireError",
    "encode_request",
    "opens_reasoning",
    "render_prompt",
    "tool",
]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'toolwire' has no attribute {name!r}")
    value = getattr(import_module(f".{home}", __name__), name)
    globals()[name] = value
    return value
