"""One answer, written in every wire format: the pieces say what it holds, `body` gives the bytes a provider would send.

    body("anthropic", Text("Let me look."), Call("c1", "f", '{"x":1}'), End())

Everything is made from the formats' documentation; nothing is a recording. `events` gives the same bytes cut between
the events.
"""

from __future__ import annotations

from typing import Any

import msgspec

from .block_bodies import anthropic_events, bedrock_events, cohere_events
from .frames import payload
from .openai_bodies import chat_events, responses_events
from .pieces import Call, End, Error, HalfCall, Piece, Text, Thought, end_reason, halves


def body(wire: str, *pieces: Piece) -> bytes:
    """The answer as one body."""
    return b"".join(events(wire, *pieces))


def events(wire: str, *pieces: Piece) -> list[bytes]:
    """The answer, event by event."""
    return _WRITERS[wire](pieces)


def _gemini(pieces: tuple[Piece, ...]) -> list[bytes]:
    def parts(*sent: dict[str, Any], **members: Any) -> dict[str, Any]:
        candidate = {"content": {"parts": list(sent), "role": "model"}, **members, "index": 0}
        usage = {"promptTokenCount": 5, "candidatesTokenCount": 7, "totalTokenCount": 12}
        return {"candidates": [candidate], "usageMetadata": usage}

    made: list[Any] = []
    for piece in pieces:
        if isinstance(piece, Text):
            made += [parts({"text": half}) for half in halves(piece.words)]
        elif isinstance(piece, Thought):
            made.append(parts({"text": piece.words, "thought": True}))
        elif isinstance(piece, Call):
            arguments = msgspec.json.decode(piece.arguments)
            made.append(parts({"functionCall": {"id": piece.id, "name": piece.name, "args": arguments}}))
        elif isinstance(piece, HalfCall):
            first = {"jsonPath": "$.x", "stringValue": "a", "willContinue": True}
            made += [
                parts({"functionCall": {"id": piece.id, "name": piece.name, "willContinue": True}}),
                parts({"functionCall": {"partialArgs": [first], "willContinue": True}}),
            ]
        elif isinstance(piece, End):
            reason = end_reason("gemini", piece, pieces)
            made.append(parts({"text": ""}, **({} if reason is None else {"finishReason": reason})))
        elif isinstance(piece, Error):
            made.append({"error": {"code": 503, "message": piece.words, "status": "UNAVAILABLE"}})
        else:
            made.append(piece.data)
    return [item if isinstance(item, bytes) else payload("gemini", item) for item in made]


def _ollama(pieces: tuple[Piece, ...]) -> list[bytes]:
    def line(**members: Any) -> dict[str, Any]:
        message = {"role": "assistant", "content": "", **members}
        return {"model": "m", "created_at": "2026-01-01T00:00:00Z", "message": message, "done": False}

    made: list[Any] = []
    for piece in pieces:
        if isinstance(piece, Text):
            made += [line(content=half) for half in halves(piece.words)]
        elif isinstance(piece, Thought):
            made.append(line(thinking=piece.words))
        elif isinstance(piece, (Call, HalfCall)):
            whole = isinstance(piece, Call)
            arguments = msgspec.Raw(piece.arguments.encode()) if whole else piece.arguments
            made.append(line(tool_calls=[{"id": piece.id, "function": {"name": piece.name, "arguments": arguments}}]))
        elif isinstance(piece, End):
            reason = end_reason("ollama", piece, pieces)
            told = {} if reason is None else {"done_reason": reason}
            made.append({**line(), "done": True, **told, "prompt_eval_count": 5, "eval_count": 7})
        else:
            made.append({"error": piece.words} if isinstance(piece, Error) else piece.data)
    return [item if isinstance(item, bytes) else payload("ollama", item) for item in made]


_WRITERS = {
    "openai-chat": chat_events,
    "openai-responses": responses_events,
    "anthropic": anthropic_events,
    "gemini": _gemini,
    "ollama": _ollama,
    "bedrock": bedrock_events,
    "cohere": cohere_events,
}
