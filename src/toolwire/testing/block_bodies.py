"""Answers over the wires that send content in numbered blocks: Anthropic's, Bedrock's and Cohere's."""

from __future__ import annotations

from typing import Any

import msgspec

from .frames import aws_event, converse, typed_sse
from .pieces import Call, End, Error, HalfCall, Piece, Text, Thought, end_reason, halves


def anthropic_events(pieces: tuple[Piece, ...]) -> list[bytes]:
    """Of Anthropic's Messages."""
    message: dict[str, Any] = {"id": "m1", "type": "message", "role": "assistant", "content": [], "stop_reason": None}
    made: list[Any] = [{"type": "message_start", "message": {**message, "usage": {"input_tokens": 5}}}]
    index = 0
    for piece in pieces:
        if isinstance(piece, Text):
            made += _block(index, {"type": "text", "text": ""}, "text_delta", "text", piece.words)
        elif isinstance(piece, Thought):
            block = _block(index, {"type": "thinking", "thinking": ""}, "thinking_delta", "thinking", piece.words)
            signature = {"type": "signature_delta", "signature": "sig"}
            made += [*block[:-1], {"type": "content_block_delta", "index": index, "delta": signature}, block[-1]]
        elif isinstance(piece, (Call, HalfCall)):
            start = {"type": "tool_use", "id": piece.id, "name": piece.name, "input": {}}
            block = _block(index, start, "input_json_delta", "partial_json", piece.arguments)
            made += block if isinstance(piece, Call) else block[:-1]
        elif isinstance(piece, End):
            reason = {"stop_reason": end_reason("anthropic", piece, pieces), "stop_sequence": None}
            made += [
                {"type": "message_delta", "delta": reason, "usage": {"output_tokens": 7}},
                {"type": "message_stop"},
            ]
        elif isinstance(piece, Error):
            made.append({"type": "error", "error": {"type": "overloaded_error", "message": piece.words}})
        else:
            made.append(piece.data)
        index += isinstance(piece, (Text, Thought, Call, HalfCall))
    return [item if isinstance(item, bytes) else typed_sse(item) for item in made]


def _block(index: int, start: dict[str, Any], kind: str, member: str, text: str) -> list[dict[str, Any]]:
    deltas = [{"type": kind, member: half} for half in halves(text)]
    return [
        {"type": "content_block_start", "index": index, "content_block": start},
        *[{"type": "content_block_delta", "index": index, "delta": one} for one in deltas],
        {"type": "content_block_stop", "index": index},
    ]


def bedrock_events(pieces: tuple[Piece, ...]) -> list[bytes]:
    """Of Bedrock's Converse."""
    made: list[Any] = [{"messageStart": {"role": "assistant", "p": "abcd"}}]
    index = 0

    def block(*deltas: dict[str, Any]) -> list[dict[str, Any]]:
        at = {"contentBlockIndex": index}
        return [*[{"contentBlockDelta": {**at, "delta": one, "p": "ab"}} for one in deltas], {"contentBlockStop": at}]

    for piece in pieces:
        if isinstance(piece, Text):
            made += block(*[{"text": half} for half in halves(piece.words)])
        elif isinstance(piece, Thought):
            made += block({"reasoningContent": {"text": piece.words}}, {"reasoningContent": {"signature": "sig"}})
        elif isinstance(piece, (Call, HalfCall)):
            start = {"toolUse": {"toolUseId": piece.id, "name": piece.name}}
            made.append({"contentBlockStart": {"contentBlockIndex": index, "start": start}})
            deltas = block(*[{"toolUse": {"input": half}} for half in ("", *halves(piece.arguments))])
            made += deltas if isinstance(piece, Call) else deltas[:-1]
        elif isinstance(piece, End):
            reason = end_reason("bedrock", piece, pieces)
            made.append({"messageStop": {} if reason is None else {"stopReason": reason}})
            usage = {"inputTokens": 5, "outputTokens": 7, "totalTokens": 12}
            made.append({"metadata": {"usage": usage, "metrics": {"latencyMs": 9}}})
        elif isinstance(piece, Error):
            made.append(
                aws_event("modelStreamErrorException", msgspec.json.encode({"message": piece.words}), exception=True)
            )
        else:
            made.append(piece.data)
        index += isinstance(piece, (Text, Thought, Call, HalfCall))
    return [item if isinstance(item, bytes) else converse(item) for item in made]


def cohere_events(pieces: tuple[Piece, ...]) -> list[bytes]:
    """Of Cohere's chat, version 2."""

    def event(kind: str, index: int | None = None, **message: Any) -> dict[str, Any]:
        at = {} if index is None else {"index": index}
        return {"type": kind, **at, **({"delta": {"message": message}} if message else {})}

    made: list[Any] = [
        {"id": "m1", **event("message-start", role="assistant", content=[], tool_plan="", tool_calls=[])}
    ]
    parts, calls = 0, 0
    for piece in pieces:
        if isinstance(piece, (Text, Thought)):
            member = "text" if isinstance(piece, Text) else "thinking"
            made.append(event("content-start", parts, content={"type": member, member: ""}))
            made += [event("content-delta", parts, content={member: half}) for half in halves(piece.words)]
            made.append(event("content-end", parts))
            parts += 1
        elif isinstance(piece, (Call, HalfCall)):
            begun = {"id": piece.id, "type": "function", "function": {"name": piece.name, "arguments": ""}}
            made.append(event("tool-call-start", calls, tool_calls=begun))
            for half in halves(piece.arguments):
                made.append(event("tool-call-delta", calls, tool_calls={"function": {"arguments": half}}))
            made += [event("tool-call-end", calls)] if isinstance(piece, Call) else []
            calls += 1
        elif isinstance(piece, End):
            reason = end_reason("cohere", piece, pieces)
            usage = {"billed_units": {"input_tokens": 1}, "tokens": {"input_tokens": 5, "output_tokens": 7}}
            told = {} if reason is None else {"finish_reason": reason}
            made.append({"type": "message-end", "delta": {**told, "usage": usage}})
        elif isinstance(piece, Error):
            made.append({"type": "message-end", "delta": {"finish_reason": "ERROR", "error": piece.words}})
        else:
            made.append(piece.data)
    return [item if isinstance(item, bytes) else typed_sse(item) for item in made]
