"""Bedrock Converse: the encoding half, conversation + tools → request body. Pure: a dict comes out.

What the API asks for: system text apart from the messages; the two sides in turn; all results of a turn in one user
message, first in it; reasoning with its signature, unchanged and in its place, and none without one; no blank text;
words beside every document; and the tools declared in every request whose history holds calls. The model and whether to
stream stand in the URL.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from ..messages import MediaPart, Message, TextPart, ThinkingPart, ToolCallPart, ToolResultPart
from .bedrock_media import Names, media_block
from .claude_request import DEFAULT_MAX_TOKENS, Block, Turn, check_thinking, joined, without_unions
from .encoding import check_tool_choice, misplaced, offered_names, own
from .names import COMMON_RULE

if TYPE_CHECKING:
    from ..tools.definition import ToolDefinition

WIRE = "bedrock"

NO_WORDS = "(no words)"
"""Stands where the API wants text and there is none: an empty result, a document by itself."""


def encode_bedrock_request(
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

    The API has no `none`: no tools are offered then, unless the history holds calls, which it takes only beside their
    tools. `thinking_budget` turns on extended thinking of Anthropic's models, with so many tokens for it; they count
    towards `max_tokens`.
    """
    messages, tools = list(messages), list(tools)
    check_tool_choice(tool_choice, tools)
    turns = _Conversation(messages).encoded()
    body: dict[str, Any] = {"messages": turns}
    system = [{"text": message.text} for message in messages if message.role == "system" and message.text.strip()]
    if system:
        body["system"] = system
    config = _tool_config(tools, tool_choice, turns)
    if config is not None:
        body["toolConfig"] = config
    if thinking_budget is not None:
        if max_tokens is None:
            max_tokens = DEFAULT_MAX_TOKENS + thinking_budget
        check_thinking(thinking_budget, max_tokens, temperature, tool_choice)
        body["additionalModelRequestFields"] = {"thinking": {"type": "enabled", "budget_tokens": thinking_budget}}
    limits = {"maxTokens": max_tokens, "temperature": temperature}
    inference = {name: value for name, value in limits.items() if value is not None}
    if inference:
        body["inferenceConfig"] = inference
    return body


def _tool_config(tools: list[ToolDefinition], choice: str, turns: list[dict[str, Any]]) -> dict[str, Any] | None:
    used = {str(call.get("name")): call for turn in turns for call in _members(turn["content"], "toolUse")}
    specs = [_tool(name, tool) for name, tool in zip(offered_names(tools, COMMON_RULE), tools, strict=True)]
    if not specs:
        specs = [_mentioned(name, call) for name, call in used.items()]
    if not specs or (choice == "none" and not used):
        return None
    config: dict[str, Any] = {"tools": specs}
    if choice == "required":
        config["toolChoice"] = {"any": {}}
    elif choice not in ("auto", "none"):
        config["toolChoice"] = {"tool": {"name": COMMON_RULE.wire_name(choice)}}
    return config


def _members(blocks: list[Block], kind: str) -> list[Block]:
    """What the blocks of one kind hold."""
    return [block[kind] for block in blocks if kind in block]


def _mentioned(name: str, call: Block) -> dict[str, Any]:
    """A tool of which only the history knows: that it was there is all that the API asks for."""
    if _is_server_tool(call):
        return {"systemTool": {"name": name}}
    return {"toolSpec": {"name": name, "inputSchema": {"json": {"type": "object"}}}}


def _is_server_tool(call: Block) -> bool:
    return call.get("type") not in (None, "", "tool_use")


def _tool(name: str, tool: ToolDefinition) -> dict[str, Any]:
    description, schema = without_unions(tool)
    spec: dict[str, Any] = {"name": name, "inputSchema": {"json": schema}}
    if description.strip():
        spec["description"] = description
    return {"toolSpec": spec}


class _Conversation:
    """Encodes messages in order, and remembers which names documents have."""

    def __init__(self, messages: Iterable[Message]) -> None:
        self._names = Names()
        self._turns: list[Turn] = []
        for message in messages:
            if message.role == "assistant":
                self._turns.append(Turn("assistant", [], self._answer(message)))
            elif message.role == "tool":
                self._turns.append(Turn("user", self._results(message), []))
            elif message.role == "user":
                self._turns.append(Turn("user", [], self._asked(message)))

    def encoded(self) -> list[dict[str, Any]]:
        """The messages as the API takes them."""
        for turn in self._turns:
            while turn.blocks and "reasoningContent" in turn.blocks[-1]:
                turn.blocks.pop()
        turns = joined(self._turns)
        for turn in turns:
            content = turn.content
            if any("document" in block for block in content) and not any("text" in block for block in content):
                turn.blocks.append({"text": NO_WORDS})
        if turns and turns[-1].role == "assistant":
            _trim_end(turns[-1].blocks)
        return [{"role": turn.role, "content": turn.content} for turn in turns]

    def _answer(self, message: Message) -> list[Block]:
        blocks: list[Block] = []
        for part in message.parts:
            if isinstance(part, ToolResultPart):
                raise misplaced(part, "assistant")
            kept = own(part.provider_data, WIRE)
            whole = kept.get("block")
            if isinstance(whole, dict) and all(isinstance(member, dict) for member in whole.values()):
                blocks.append(whole)
            elif isinstance(part, TextPart) and part.text.strip():
                cited = kept.get("citations")
                words: Block = {"text": part.text}
                blocks.append({"citationsContent": {"content": [words], "citations": cited}} if cited else words)
            elif isinstance(part, ThinkingPart):
                blocks += _reasoning(part, kept)
            elif isinstance(part, ToolCallPart):
                call = {"toolUseId": part.id, "name": COMMON_RULE.wire_name(part.name), "input": part.arguments}
                blocks.append({"toolUse": call})
        answered = [result.get("toolUseId") for result in _members(blocks, "toolResult")]
        return [block for block in blocks if not _is_left_open(block, answered)]

    def _results(self, message: Message) -> list[Block]:
        results: list[Block] = []
        for part in message.parts:
            if not isinstance(part, ToolResultPart):
                raise misplaced(part, "tool")
            result: Block = {"toolUseId": part.id, "content": self._given(part)}
            if part.is_error:
                result["status"] = "error"
            results.append({"toolResult": result})
        return results

    def _given(self, part: ToolResultPart) -> list[Block]:
        content = [TextPart(part.content)] if isinstance(part.content, str) else part.content
        blocks: list[Block] = []
        for item in content:
            if isinstance(item, MediaPart):
                blocks.append(media_block(item, self._names))
            elif item.text.strip():
                blocks.append({"text": item.text})
        return blocks or [{"text": NO_WORDS}]

    def _asked(self, message: Message) -> list[Block]:
        blocks: list[Block] = []
        for part in message.parts:
            if isinstance(part, TextPart):
                if part.text.strip():
                    blocks.append({"text": part.text})
            elif isinstance(part, MediaPart):
                blocks.append(media_block(part, self._names))
            else:
                raise misplaced(part, "user")
        return blocks


def _is_left_open(block: Block, answered: list[Any]) -> bool:
    """Whether a server tool was cut off: no result came."""
    call = block.get("toolUse")
    return call is not None and _is_server_tool(call) and call.get("toolUseId") not in answered


def _reasoning(part: ThinkingPart, kept: dict[str, Any]) -> list[Block]:
    if kept.get("signature"):
        return [{"reasoningContent": {"reasoningText": {"text": part.text, "signature": kept["signature"]}}}]
    if kept.get("redacted"):
        return [{"reasoningContent": {"redactedContent": kept["redacted"]}}]
    return []


def _trim_end(blocks: list[Block]) -> None:
    """An answer to be continued may not end in blanks."""
    if blocks and "text" in blocks[-1]:
        blocks[-1] = {"text": blocks[-1]["text"].rstrip()}
