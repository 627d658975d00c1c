"""Small streams of OpenAI Chat, written for these tests."""

from __future__ import annotations

import json
from typing import Any


def sse(*deltas: dict[str, Any], stop: str = "stop", usage: bool = True) -> bytes:
    """A whole answer: one event for each delta, then the end."""
    chunks: list[dict[str, Any]] = [
        {"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": delta}]} for delta in deltas
    ]
    chunks.append({"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": {}, "finish_reason": stop}]})
    if usage:
        chunks.append({"choices": [], "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}})
    lines = [f"data: {json.dumps(chunk, ensure_ascii=False)}\n\n" for chunk in chunks]
    return "".join([*lines, "data: [DONE]\n\n"]).encode()


def call_deltas(name: str, *pieces: str, index: int = 0, call_id: str = "call_1") -> list[dict[str, Any]]:
    """One call: its id and name, then its argument text in pieces."""
    head = {"index": index, "id": call_id, "type": "function", "function": {"name": name, "arguments": ""}}
    return [
        {"tool_calls": [head]},
        *({"tool_calls": [{"index": index, "function": {"arguments": piece}}]} for piece in pieces),
    ]


CALCULATE = sse(
    {"role": "assistant", "content": "Let me "},
    {"content": "see… né 🦜."},
    *call_deltas("calculate", '{"expres', 'sion": "17 ', '* 23"}'),
    stop="tool_calls",
)
ANSWER = sse({"reasoning_content": "Easy."}, {"content": "It is "}, {"content": "391."})
