"""Answers of every wire as its decoder gives them, with all that only their own provider can read: for histories that
move. Made here from the formats' documentation; `SECRET` says which opaque text is whose.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator
from functools import cache
from typing import Any

from feeding import call, delta, read, sse, typed_sse, whole
from toolwire.messages import Message
from wire_bodies import WIRES, Call, End, HalfCall, Piece, Text, Thought, body, payload

SECRET = {wire: b64encode(f"only {wire} can read this, and nobody else".encode()).decode() for wire in WIRES}
PNG = b64encode(b"\x89PNG\r\n\x1a\n and so on").decode()

PLAIN: tuple[tuple[Piece, ...], ...] = (
    (Text("Well."),),
    (Thought("hm"), Text("So it is.")),
    (Thought("nothing but thoughts"),),
    (),
    (Call("call_0", "f"),),
    (Call("call_0", "f"), Call("call_1", "f")),
    (Thought("hm"), Call("toolu_01", "files.read", "{}")),
    (Text("Let me look."), Call("functions.f:0", "f"), Call("functions.g:1", "g")),
    (Call("x" * 90, "f"), Text("and more")),
    (Call("", "f"), Call("", "g")),
    (Text("   "), Call("a/b c", "f")),
    (Text("cut"), HalfCall("call_7", "f")),
)


@cache
def answers(wire: str) -> tuple[Message, ...]:
    """What this wire's decoder makes of its answers, the plain ones and the one with everything in it."""
    bodies = [body(wire, *pieces, End()) for pieces in PLAIN]
    if wire in _RICH:
        bodies += _RICH[wire]()
    return tuple(read(whole(each), wire)[0].message for each in bodies)


def _chat() -> Iterator[bytes]:
    secret = SECRET["openai-chat"]
    detail = {"type": "reasoning.encrypted", "data": secret, "index": 0, "format": "x"}
    picture = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}}
    extra = {"google": {"thought_signature": secret}}
    yield sse(
        delta(role="assistant", content="", reasoning="hm", reasoning_details=[detail]),
        delta(
            content="Here.", images=[picture, {"type": "image_url", "image_url": {"url": "https://a.example/b.png"}}]
        ),
        delta(tool_calls=[call("{}", id="", name="f", extra_content=extra)]),
        delta(finish="tool_calls"),
    )
    yield sse(delta(audio={"id": "a", "data": PNG, "transcript": "Said aloud."}), delta(finish="stop"))
    yield sse(delta(refusal="No."), delta(finish="stop"))
    yield sse(
        delta(role="assistant", content=None, function_call={"name": "f", "arguments": ""}),
        delta(function_call={"arguments": '{"x":1}'}),
        delta(finish="function_call"),
    )


def _responses() -> Iterator[bytes]:
    secret = SECRET["openai-responses"]
    items: list[dict[str, Any]] = [
        {"type": "reasoning", "id": f"rs_{secret}", "summary": [], "encrypted_content": secret},
        {
            "type": "message",
            "id": f"msg_{secret}",
            "role": "assistant",
            "status": "completed",
            "content": [{"type": "output_text", "text": "Drawn.", "annotations": []}],
        },
        {"type": "image_generation_call", "id": f"ig_{secret}", "status": "completed", "result": PNG},
        {"type": "web_search_call", "id": f"ws_{secret}", "status": "completed", "action": {"type": "search"}},
        {"type": "function_call", "id": f"fc_{secret}", "call_id": "call_0", "name": "f", "arguments": '{"x":1}'},
        {"type": "custom_tool_call", "id": f"ct_{secret}", "call_id": "call_1", "name": "g", "input": "free text"},
    ]
    for shown in (items, items[:1], items[2:4], items[4:]):
        events: list[dict[str, Any]] = [
            {"type": "response.created", "response": {"id": f"resp_{secret}", "status": "in_progress"}}
        ]
        for index, item in enumerate(shown):
            events.append({"type": "response.output_item.added", "output_index": index, "item": item})
            events.append({"type": "response.output_item.done", "output_index": index, "item": item})
        done = {"id": f"resp_{secret}", "status": "completed", "output": shown, "store": True}
        yield typed_sse(*events, {"type": "response.completed", "response": done})


def _anthropic() -> Iterator[bytes]:
    secret = SECRET["anthropic"]
    blocks: list[dict[str, Any]] = [
        {"type": "redacted_thinking", "data": secret},
        {"type": "thinking", "thinking": "hm", "signature": secret},
        {"type": "server_tool_use", "id": f"srvtoolu_{secret}", "name": "web_search", "input": {"query": "x"}},
        {"type": "web_search_tool_result", "tool_use_id": f"srvtoolu_{secret}", "content": []},
        {"type": "text", "text": "Found."},
        {"type": "tool_use", "id": "toolu_9", "name": "f", "input": {"x": 1}},
    ]
    for shown, reason in ((blocks, "tool_use"), (blocks[:1], "max_tokens"), (blocks[2:4], "end_turn")):
        start = {"id": "m", "type": "message", "role": "assistant", "content": [], "usage": {"input_tokens": 1}}
        events: list[dict[str, Any]] = [{"type": "message_start", "message": start}]
        for index, block in enumerate(shown):
            events.append({"type": "content_block_start", "index": index, "content_block": block})
            events.append({"type": "content_block_stop", "index": index})
        events.append({"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": 1}})
        yield typed_sse(*events, {"type": "message_stop"})


def _gemini() -> Iterator[bytes]:
    secret = SECRET["gemini"]
    parts: list[dict[str, Any]] = [
        {"text": "hm", "thought": True, "thoughtSignature": secret},
        {"inlineData": {"mimeType": "image/png", "data": PNG}, "thought": True, "thoughtSignature": secret},
        {"executableCode": {"language": "PYTHON", "code": f"print('{secret}')"}},
        {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": secret}},
        {"inlineData": {"mimeType": "image/png", "data": PNG}},
        {"functionCall": {"name": "f", "args": {"x": 1}}, "thoughtSignature": secret},
        {"functionCall": {"name": "f", "args": {}}},
        {"functionCall": {"name": "g", "args": {}, "id": "abc"}},
        {"text": "", "thoughtSignature": secret},
    ]
    for shown in (parts, parts[:1], parts[2:4], parts[4:5], parts[-1:]):
        candidate = {"content": {"parts": shown, "role": "model"}, "finishReason": "STOP", "index": 0}
        yield payload("gemini", {"candidates": [candidate], "usageMetadata": {"promptTokenCount": 1}})


def _cohere() -> Iterator[bytes]:
    def event(kind: str, **members: Any) -> dict[str, Any]:
        return {"type": kind, **members}

    begun = {"id": "f_1", "type": "function", "function": {"name": "f", "arguments": ""}}
    planned = (
        event("message-start", id="m", delta={"message": {"role": "assistant"}}),
        event("tool-plan-delta", delta={"message": {"tool_plan": "I will look."}}),
    )
    yield typed_sse(*planned, event("message-end", delta={"finish_reason": "MAX_TOKENS"}))
    yield typed_sse(
        *planned,
        event("tool-call-start", index=0, delta={"message": {"tool_calls": begun}}),
        event("tool-call-end", index=0),
        event("message-end", delta={"finish_reason": "TOOL_CALL"}),
    )


_RICH = {
    "openai-chat": _chat,
    "openai-responses": _responses,
    "anthropic": _anthropic,
    "gemini": _gemini,
    "cohere": _cohere,
}
