"""Toolwire's tools and results in the words of MCP."""

from __future__ import annotations

from typing import Any

import mcp_types as types

from ..execution.executor import ToolResult
from ..execution.results import clean
from ..messages import MediaPart
from ..strict_json import NotStrict, parse
from ..tools.definition import Risk, ToolDefinition


def tool_form(tool: ToolDefinition) -> types.Tool:
    """A tool as clients see it: its schema whole, and its risk as hints."""
    return types.Tool(
        name=tool.name,
        description=clean(tool.description) or None,
        input_schema=tool.parameters,
        annotations=_hints(tool),
    )


def _hints(tool: ToolDefinition) -> types.ToolAnnotations | None:
    """What a client may think of a call. Nothing is said of an unknown risk: clients then expect the worst."""
    if tool.risk is None:
        return None
    reads = tool.risk is Risk.READ
    return types.ToolAnnotations(
        read_only_hint=reads,
        destructive_hint=not reads,
        idempotent_hint=tool.is_repeatable,
        open_world_hint=tool.risk not in (Risk.READ, Risk.WRITE),
    )


def result_form(result: ToolResult) -> types.CallToolResult:
    """The one result of a call. A JSON object is given as text and as structured content, as MCP advises."""
    content: list[types.ContentBlock] = [types.TextContent(text=result.content)]
    content += [_block(part, number) for number, part in enumerate(result.media, 1)]
    return types.CallToolResult(
        content=content,
        structured_content=None if result.is_error else _object(result.content),
        is_error=result.is_error,
    )


def refusal(words: str) -> types.CallToolResult:
    """The result of a call that did not run: why, in words that a model can act on."""
    return types.CallToolResult(content=[types.TextContent(text=f"Error: not run: {words}")], is_error=True)


def _object(text: str) -> dict[str, Any] | None:
    if not (text.startswith("{") and text.endswith("}")):
        return None
    try:
        value = parse(text)
    except NotStrict:
        return None
    return value if isinstance(value, dict) else None


def _block(part: MediaPart, number: int) -> types.ContentBlock:
    kind, data, given = clean(part.media_type), part.data, clean(part.url or "")
    if data is None and given.startswith("data:"):
        head, _, body = given.partition(",")
        data = body if head.endswith(";base64") else None
    if data is None:
        url = given or f"toolwire:result/{number}"
        return types.ResourceLink(uri=url, name=clean(part.name or url), mime_type=kind or None)
    data = clean(data)
    if kind.startswith("image/"):
        return types.ImageContent(data=data, mime_type=kind)
    if kind.startswith("audio/"):
        return types.AudioContent(data=data, mime_type=kind)
    uri = f"toolwire:result/{number}"
    return types.EmbeddedResource(resource=types.BlobResourceContents(uri=uri, blob=data, mime_type=kind or None))
