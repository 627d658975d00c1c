"""Toolwire turns what any language model says into tool calls that can be watched, approved, run and answered.

Names are loaded when they are first used, so that `import toolwire` stays light.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .agent.asking import Retries as Retries
    from .agent.bounds import Bounds as Bounds
    from .agent.delegating import agent_tool as agent_tool
    from .agent.hooks import Hooks as Hooks
    from .agent.hooks import RunFacts as RunFacts
    from .agent.loop import Agent as Agent
    from .agent.recordings.recording import Recorder as Recorder
    from .agent.recordings.replaying import load_recording as load_recording
    from .agent.recordings.replaying import replay as replay
    from .agent.recordings.replaying import replay_agent as replay_agent
    from .agent.sessions.store import Session as Session
    from .agent.sessions.store import SessionInfo as SessionInfo
    from .agent.sessions.store import SessionRecord as SessionRecord
    from .agent.sessions.store import SessionStore as SessionStore
    from .agent.sessions.store import sessions_path as sessions_path
    from .approval.desk import Approvals as Approvals
    from .approval.files import load_policy as load_policy
    from .approval.policy import Mode as Mode
    from .approval.policy import Policy as Policy
    from .approval.request import Answer as Answer
    from .approval.request import ApprovalRequest as ApprovalRequest
    from .approval.request import Scope as Scope
    from .approval.request import deny as deny
    from .approval.rules import Decision as Decision
    from .approval.rules import Rule as Rule
    from .attachments import attachment as attachment
    from .builtin.tools import builtin_tools as builtin_tools
    from .chunks import ChunkResponse as ChunkResponse
    from .chunks import StopReason as StopReason
    from .chunks import TokenUsage as TokenUsage
    from .chunks import ToolCallDelta as ToolCallDelta
    from .embedded.chat import Prompt as Prompt
    from .embedded.chat import opens_reasoning as opens_reasoning
    from .embedded.chat import render_prompt as render_prompt
    from .errors import ToolwireError as ToolwireError
    from .limits import Limits as Limits
    from .mcp.config import ServerConfig as ServerConfig
    from .mcp.servers import McpServers as McpServers
    from .messages import MediaPart as MediaPart
    from .messages import Message as Message
    from .messages import TextPart as TextPart
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
    from .tools.output import ToolOutput as ToolOutput
    from .tools.running import progress as progress
    from .tools.running import this_call as this_call

__version__ = "0.1.0"

_HOMES = {
    "Agent": "agent.loop",
    "Answer": "approval.request",
    "ApprovalRequest": "approval.request",
    "Approvals": "approval.desk",
    "Bounds": "agent.bounds",
    "ChunkResponse": "chunks",
    "Decision": "approval.rules",
    "EventType": "stream.segments",
    "Hooks": "agent.hooks",
    "Limits": "limits",
    "McpServers": "mcp.servers",
    "MediaPart": "messages",
    "Message": "messages",
    "Mode": "approval.policy",
    "Policy": "approval.policy",
    "Prompt": "embedded.chat",
    "Recorder": "agent.recordings.recording",
    "Retries": "agent.asking",
    "Risk": "tools.definition",
    "Rule": "approval.rules",
    "RunFacts": "agent.hooks",
    "Scope": "approval.request",
    "SdkDecoder": "providers.converters",
    "SdkStream": "stream.sdk",
    "SegmentEvent": "stream.segments",
    "SegmentType": "stream.segments",
    "ServerConfig": "mcp.config",
    "Session": "agent.sessions.store",
    "SessionInfo": "agent.sessions.store",
    "SessionRecord": "agent.sessions.store",
    "SessionStore": "agent.sessions.store",
    "StopReason": "chunks",
    "Stream": "stream.pipeline",
    "TextPart": "messages",
    "TextStream": "stream.text",
    "TokenUsage": "chunks",
    "ToolCallDelta": "chunks",
    "ToolDefinition": "tools.definition",
    "ToolInvocation": "stream.invocation",
    "ToolOutput": "tools.output",
    "ToolwireError": "errors",
    "agent_tool": "agent.delegating",
    "attachment": "attachments",
    "builtin_tools": "builtin.tools",
    "deny": "approval.request",
    "encode_request": "providers.request",
    "load_policy": "approval.files",
    "load_recording": "agent.recordings.replaying",
    "opens_reasoning": "embedded.chat",
    "progress": "tools.running",
    "render_prompt": "embedded.chat",
    "replay": "agent.recordings.replaying",
    "replay_agent": "agent.recordings.replaying",
    "sessions_path": "agent.sessions.store",
    "this_call": "tools.running",
    "tool": "tools.function",
}

__all__ = [
    "Agent",
    "Answer",
    "ApprovalRequest",
    "Approvals",
    "Bounds",
    "ChunkResponse",
    "Decision",
    "EventType",
    "Hooks",
    "Limits",
    "McpServers",
    "MediaPart",
    "Message",
    "Mode",
    "Policy",
    "Prompt",
    "Recorder",
    "Retries",
    "Risk",
    "Rule",
    "RunFacts",
    "Scope",
    "SdkDecoder",
    "SdkStream",
    "SegmentEvent",
    "SegmentType",
    "ServerConfig",
    "Session",
    "SessionInfo",
    "SessionRecord",
    "SessionStore",
    "StopReason",
    "Stream",
    "TextPart",
    "TextStream",
    "TokenUsage",
    "ToolCallDelta",
    "ToolDefinition",
    "ToolInvocation",
    "ToolOutput",
    "ToolwireError",
    "agent_tool",
    "attachment",
    "builtin_tools",
    "deny",
    "encode_request",
    "load_policy",
    "load_recording",
    "opens_reasoning",
    "progress",
    "render_prompt",
    "replay",
    "replay_agent",
    "sessions_path",
    "this_call",
    "tool",
]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'toolwire' has no attribute {name!r}")
    value = getattr(import_module(f".{home}", __name__), name)
    globals()[name] = value
    return value
