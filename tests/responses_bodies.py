"""Streams of the Responses API, made by hand: one function for each event and each item."""

from __future__ import annotations

from typing import Any

from feeding import typed_sse

WIRE = "openai-responses"


def event(kind: str, **members: Any) -> dict[str, Any]:
    return {"type": f"response.{kind}", **members}


def at(index: int | None, item_id: str | None) -> dict[str, Any]:
    """How an event names its item."""
    return {k: v for k, v in (("output_index", index), ("item_id", item_id)) if v is not None}


def added(item: dict[str, Any], index: int | None = 0) -> dict[str, Any]:
    return event("output_item.added", item=item, **at(index, None))


def done(item: dict[str, Any], index: int | None = 0) -> dict[str, Any]:
    return event("output_item.done", item=item, **at(index, None))


def call(arguments: Any = "", *, id: Any = "fc1", call_id: Any = "c1", name: Any = "f", **more: Any) -> dict[str, Any]:
    item = {"type": "function_call", "id": id, "call_id": call_id, "name": name, "arguments": arguments, **more}
    return {key: value for key, value in item.items() if value is not None}


def custom(text: str = "", *, id: str = "ctc1") -> dict[str, Any]:
    return {"type": "custom_tool_call", "id": id, "call_id": "c1", "name": "f", "input": text}


def message(*texts: str, id: str = "msg1", **more: Any) -> dict[str, Any]:
    content = [{"type": "output_text", "text": text, "annotations": []} for text in texts]
    return {"type": "message", "id": id, "role": "assistant", "content": content, **more}


def reasoning(*summary: str, id: str = "rs1", **more: Any) -> dict[str, Any]:
    parts = [{"type": "summary_text", "text": text} for text in summary]
    return {"type": "reasoning", "id": id, "summary": parts, **more}


def piece(text: Any, index: int | None = 0, item_id: str | None = "fc1") -> dict[str, Any]:
    return event("function_call_arguments.delta", delta=text, **at(index, item_id))


def input_piece(text: str, index: int = 0, item_id: str = "ctc1") -> dict[str, Any]:
    return event("custom_tool_call_input.delta", delta=text, **at(index, item_id))


def arguments_done(text: Any, index: int | None = 0, item_id: str | None = "fc1", **more: Any) -> dict[str, Any]:
    return event("function_call_arguments.done", arguments=text, **at(index, item_id), **more)


def words(text: Any, index: int | None = 0, item_id: str | None = "msg1", part: int | None = 0) -> dict[str, Any]:
    more = {} if part is None else {"content_index": part}
    return event("output_text.delta", delta=text, **at(index, item_id), **more)


def summary(text: str, part: int = 0, index: int = 0, item_id: str = "rs1") -> dict[str, Any]:
    return event("reasoning_summary_text.delta", delta=text, summary_index=part, **at(index, item_id))


def thought(text: str, index: int = 0, item_id: str = "rs1") -> dict[str, Any]:
    return event("reasoning_text.delta", delta=text, content_index=0, **at(index, item_id))


def end(*output: dict[str, Any], status: str = "completed", **more: Any) -> dict[str, Any]:
    return event(status, response={"id": "resp1", "status": status, "output": list(output), **more})


def body_of(events: list[dict[str, Any]]) -> bytes:
    return typed_sse(*events)


def refusal(text: str) -> dict[str, Any]:
    return event("refusal.delta", delta=text, content_index=0, **at(0, "msg1"))


def text_done(text: str, **more: Any) -> dict[str, Any]:
    return event("output_text.done", text=text, content_index=0, **at(0, "msg1"), **more)


def part_done(part: dict[str, Any], index: int = 0, item_id: str = "msg1") -> dict[str, Any]:
    return event("content_part.done", part=part, content_index=0, **at(index, item_id))


X = '{"x":1}'
SEARCH = {"type": "web_search_call", "id": "ws1", "status": "completed", "action": {"type": "search", "query": "q"}}
CODE = {"type": "code_interpreter_call", "id": "ci1", "code": "1+1", "outputs": [{"type": "logs", "logs": "2"}]}
MCP = {"type": "mcp_call", "id": "mcp1", "name": "look", "arguments": "{}", "output": "seen", "error": None}
SHELL = {"type": "shell_call", "id": "sh1", "call_id": "c9", "action": {"commands": ["ls"]}}
SHELL_OUTPUT = {"type": "shell_call_output", "id": "sho1", "call_id": "c9", "output": [{"stdout": "a"}]}
