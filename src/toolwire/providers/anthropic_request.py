"""Anthropic Messages: the encoding half, conversation + tools → request body. Pure: a dict comes out.

What the API asks for: system text apart from the messages; the two sides in turn; all results of a turn in one user
message, first in it, right after the calls; thinking with its signature, unchanged and in its place, and none without
one; no empty text. Thinking, server tools and media of other providers' answers have no place in it and stay out.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from ..messages import MediaPart, Message, TextPart, ThinkingPart, ToolCallPart, ToolResultPart
from .anthropic_media import media_block
from .claude_request import DEFAULT_MAX_TOKENS, Block, Turn, check_thinking, joined, without_unions
from .encoding import check_tool_choice, misplaced, offered_names, own
from .names import COMMON_RULE

if TYPE_CHECKING:
    from ..tools.definition import ToolDefinition

WIRE = "anthropic"

_CHOICES = {"auto": "auto", "none": "none", "required": "any"}
_THINKING = ("thinking", "redacted_thinking")
_LEFT_BEHIND = (*_THINKING, "connector_text", "tool_use")


def encode_anthropic_request(
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

    `thinking_budget` turns extended thinking on, with so many tokens for it; they count towards `max_tokens`.
    """
    messages, tools = list(messages), list(tools)
    check_tool_choice(tool_choice, tools)
    if max_tokens is None:
        max_tokens = DEFAULT_MAX_TOKENS + (thinking_budget or 0)
    body: dict[str, Any] = {"model": model, "max_tokens": max_tokens}
    system = "\n\n".join(message.text for message in messages if message.role == "system" and message.text.strip())
    if system:
        body["system"] = system
    body["messages"] = _Conversation(messages).encoded()
    if tools:
        body["tools"] = [_tool(name, tool) for name, tool in zip(offered_names(tools, COMMON_RULE), tools, strict=True)]
        if tool_choice not in _CHOICES:
            body["tool_choice"] = {"type": "tool", "name": COMMON_RULE.wire_name(tool_choice)}
        elif tool_choice != "auto":
            body["tool_choice"] = {"type": _CHOICES[tool_choice]}
    container = _container(messages)
    if container is not None:
        body["container"] = container
    if temperature is not None:
        body["temperature"] = temperature
    if thinking_budget is not None:
        check_thinking(thinking_budget, max_tokens, temperature, tool_choice)
        body["thinking"] = {"type": "enabled", "budget_tokens": thinking_budget}
    if stream:
        body["stream"] = True
    return body


def _tool(name: str, tool: ToolDefinition) -> dict[str, Any]:
    description, schema = without_unions(tool)
    return {"name": name, "description": description, "input_schema": schema}


def _container(messages: list[Message]) -> str | None:
    """Where the code that waits for results runs: the API wants it named while it waits."""
    last = next((message for message in reversed(messages) if message.role == "assistant"), None)
    if last is None:
        return None
    callers = [own(call.provider_data, WIRE).get("caller") for call in last.tool_calls]
    if not any(isinstance(caller, dict) and caller.get("type") != "direct" for caller in callers):
        return None
    named = [data["container"] for data in last.provider_data if own(data, WIRE) and "container" in data]
    return named[-1] if named else None


class _Conversation:
    """Encodes messages in order, and remembers what later ones need of earlier ones: the calls."""

    def __init__(self, messages: Iterable[Message]) -> None:
        self._calls: dict[str, Block | None] = {}
        self._turns: list[Turn] = []
        for message in messages:
            if message.role == "assistant":
                self._turns.append(Turn("assistant", [], self._answer(message)))
            elif message.role == "tool":
                self._turns.append(Turn("user", self._results(message), []))
            elif message.role == "user":
                self._turns.append(Turn("user", [], _user_blocks(message)))

    def encoded(self) -> list[dict[str, Any]]:
        """The messages as the API takes them."""
        turns = joined(self._turns)
        _leave_out_unanswered(turns)
        for turn in turns:
            while turn.blocks and turn.blocks[-1]["type"] in _THINKING:
                turn.blocks.pop()
        turns = joined(turns)
        if turns and turns[-1].role == "assistant":
            _trim_end(turns[-1].blocks)
        return [{"role": turn.role, "content": turn.content} for turn in turns]

    def _answer(self, message: Message) -> list[Block]:
        blocks: list[Block] = []
        calls: dict[str, Block] = {}
        for part in message.parts:
            if isinstance(part, ToolResultPart):
                raise misplaced(part, "assistant")
            kept = own(part.provider_data, WIRE)
            whole = kept.get("block")
            if isinstance(whole, dict) and whole.get("type") not in ("text", None) and isinstance(whole["type"], str):
                blocks.append(whole)
            elif isinstance(part, TextPart) and part.text.strip():
                cited = {"citations": kept["citations"]} if "citations" in kept else {}
                blocks.append({"type": "text", "text": part.text, **cited})
            elif isinstance(part, ThinkingPart) and kept.get("signature"):
                blocks.append({"type": "thinking", "thinking": part.text, "signature": kept["signature"]})
            elif isinstance(part, ToolCallPart):
                calls[part.id] = _call(part, kept)
                blocks.append(calls[part.id])
        left_out = _left_behind(blocks)
        self._calls.update((name, None if id(call) in left_out else call) for name, call in calls.items())
        return [block for block in blocks if id(block) not in left_out]

    def _results(self, message: Message) -> list[Block]:
        results: list[Block] = []
        for part in message.parts:
            if not isinstance(part, ToolResultPart):
                raise misplaced(part, "tool")
            call = self._calls.get(part.id, {})
            if call is None:
                continue
            result: Block = {"type": "tool_result", "tool_use_id": part.id, "content": _result_content(part)}
            if part.is_error:
                result["is_error"] = True
            if "toolset_name" in call:
                result["toolset_name"] = call["toolset_name"]
            results.append(result)
        return results


def _call(part: ToolCallPart, kept: dict[str, Any]) -> Block:
    block: Block = {
        "type": "tool_use",
        "id": part.id,
        "name": COMMON_RULE.wire_name(part.name),
        "input": part.arguments,
    }
    block.update({name: kept[name] for name in ("caller", "toolset_name") if name in kept})
    return block


def _left_behind(blocks: list[Block]) -> set[int]:
    """Which blocks (by `id`) do not go back because another model took over from one that declined.

    The API refuses what only the first one could go on from: its thinking, its calls, and its server tools that gave
    nothing yet.
    """
    boundary = max((at for at, block in enumerate(blocks) if block["type"] == "fallback"), default=0)
    before = blocks[:boundary]
    answered = {_name_of(block, "tool_use_id") for block in before}
    return {
        id(block)
        for block in before
        if block["type"] in _LEFT_BEHIND
        or (block["type"].endswith("_tool_use") and _name_of(block, "id") not in answered)
    }


def _trim_end(blocks: list[Block]) -> None:
    """An answer to be continued may not end in blanks."""
    if blocks and blocks[-1]["type"] == "text":
        blocks[-1] = {**blocks[-1], "text": blocks[-1]["text"].rstrip()}


def _leave_out_unanswered(turns: list[Turn]) -> None:
    """Takes out server tools that were cut off: no result came, and the conversation went on without.

    One in the last message is still running (`pause_turn`); one whose turn is answered with results waits for them.
    """
    answered = {_name_of(block, "tool_use_id") for turn in turns for block in turn.blocks}
    for turn, following in pairwise(turns):
        if turn.role == "assistant" and not following.results:
            kinds = [block["type"] for block in turn.blocks[1:]] + [""]
            turn.blocks = [
                block
                for block, next_kind in zip(turn.blocks, kinds, strict=True)
                if not block["type"].endswith("_tool_use")
                or block["type"] == "tool_use"
                or _name_of(block, "id") in answered
                or next_kind.endswith("_tool_result")
            ]


def _name_of(block: Block, member: str) -> str:
    """An id in a block that was kept as it came: whatever it holds."""
    name = block.get(member)
    return name if isinstance(name, str) else ""


def _user_blocks(message: Message) -> list[Block]:
    blocks: list[Block] = []
    for part in message.parts:
        if isinstance(part, TextPart):
            if part.text.strip():
                blocks.append({"type": "text", "text": part.text})
        elif isinstance(part, MediaPart):
            blocks.append(media_block(part))
        else:
            raise misplaced(part, "user")
    return blocks


def _result_content(part: ToolResultPart) -> str | list[Block]:
    content: str | list[Block]
    if isinstance(part.content, str):
        content = part.content
    else:
        content = []
        for item in part.content:
            if isinstance(item, MediaPart):
                content.append(media_block(item))
            elif item.text.strip():
                content.append({"type": "text", "text": item.text})
    if part.is_error and not content:
        return "The tool failed without a word."
    return content
