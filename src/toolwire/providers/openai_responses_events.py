"""The events of a Responses stream: their members and their names.

One flat struct reads them all, because a stream has hundreds of small events and the `type` may come last.
"""

from __future__ import annotations

from typing import Any

import msgspec

from ..chunks import TokenUsage
from .decoder import token_count
from .openai_responses_items import CALL, CUSTOM_CALL, MESSAGE, REASONING

ENDS = {
    "response.completed": "completed",
    "response.done": "completed",
    "response.incomplete": "incomplete",
    "response.cancelled": "cancelled",
    "response.failed": "failed",
}
"""The events that end an answer, and the status that each stands for."""

TEXT, REFUSAL, SUMMARY, THOUGHT, ARGUMENTS = "output_text", "refusal", "summary_text", "reasoning_text", "arguments"

DELTAS = {
    "response.output_text.delta": (MESSAGE, TEXT),
    "response.refusal.delta": (MESSAGE, REFUSAL),
    "response.reasoning_summary_text.delta": (REASONING, SUMMARY),
    "response.reasoning_text.delta": (REASONING, THOUGHT),
    "response.function_call_arguments.delta": (CALL, ARGUMENTS),
    "response.custom_tool_call_input.delta": (CUSTOM_CALL, ARGUMENTS),
}
"""Events with a piece of words: the family of their item, and the kind of words."""

WHOLES = {
    "response.output_text.done": (MESSAGE, TEXT, "text"),
    "response.refusal.done": (MESSAGE, REFUSAL, "refusal"),
    "response.reasoning_summary_text.done": (REASONING, SUMMARY, "text"),
    "response.reasoning_text.done": (REASONING, THOUGHT, "text"),
}
"""Events with all the words of a part: the family, the kind, and where the words are."""

ARGUMENTS_DONE = {
    "response.function_call_arguments.done": CALL,
    "response.custom_tool_call_input.done": CUSTOM_CALL,
}
"""Events with all the arguments of a call, and its family."""

PART_KINDS = {
    TEXT: (MESSAGE, TEXT, "text"),
    REFUSAL: (MESSAGE, REFUSAL, "refusal"),
    SUMMARY: (REASONING, SUMMARY, "text"),
    THOUGHT: (REASONING, THOUGHT, "text"),
}
"""The same for the parts of a whole item, by their type."""

_PROGRESS = {
    "web_search_call": ("in_progress", "searching", "completed"),
    "file_search_call": ("in_progress", "searching", "completed"),
    "code_interpreter_call": ("in_progress", "interpreting", "completed"),
    "code_interpreter_call_code": ("done",),
    "image_generation_call": ("in_progress", "generating", "partial_image", "completed"),
    "mcp_call": ("in_progress", "completed", "failed"),
    "mcp_call_arguments": ("done",),
    "mcp_list_tools": ("in_progress", "completed", "failed"),
    "shell_call_command": ("added", "done"),
    "shell_call_output_content": ("done",),
    "apply_patch_call_operation_diff": ("done",),
    "compaction": ("compacting",),
    "rate_limits": ("updated",),
    "content_part": ("added",),
    "reasoning_summary_part": ("added",),
    "audio": ("done",),
    "audio.transcript": ("done",),
}

SILENT = {f"response.{what}.{step}" for what, steps in _PROGRESS.items() for step in steps} | {
    "response.created",
    "response.in_progress",
    "response.queued",
    "keepalive",
    "ping",
}
"""Events that say nothing which another does not say."""


class Response(msgspec.Struct, gc=False):
    """The answer as a whole, as far as the events that carry it say more than the others."""

    id: Any = None
    status: Any = None
    output: Any = None
    usage: Any = None
    error: Any = None
    incomplete_details: Any = None
    store: Any = None


class Event(msgspec.Struct, gc=False):
    """Every member of every event that is read. The hot ones first: members are looked for in this order."""

    type: str | None = None
    item_id: str | int | None = None
    output_index: int | float | str | None = None
    content_index: int | float | str | None = None
    delta: Any = None
    summary_index: int | float | str | None = None
    item: Any = None
    part: Any = None
    text: Any = None
    refusal: Any = None
    arguments: Any = None
    input: Any = None
    name: Any = None
    annotation: Any = None
    response: Response | None = None
    error: Any = None
    message: Any = None
    code: Any = None


def read_usage(sent: Any) -> TokenUsage:
    """Token counts of an answer; what is no count is 0."""
    if not isinstance(sent, dict):
        return TokenUsage()
    read, written = token_count(sent.get("input_tokens")), token_count(sent.get("output_tokens"))
    inside, outside = sent.get("input_tokens_details"), sent.get("output_tokens_details")
    inside = inside if isinstance(inside, dict) else {}
    outside = outside if isinstance(outside, dict) else {}
    return TokenUsage(
        read,
        written,
        token_count(inside.get("cached_tokens")),
        token_count(inside.get("cache_write_tokens")),
        token_count(outside.get("reasoning_tokens")),
        token_count(sent.get("total_tokens")) or read + written,
    )
