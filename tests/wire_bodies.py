"""One answer, written in every wire format: the pieces say what it holds, `body` gives the bytes a provider would send.

    body("anthropic", Text("Let me look."), Call("c1", "f", '{"x":1}'), End())

Everything is made here from the formats' documentation; nothing is a recording. `events` gives the same bytes cut
between the events, for tests that leave one out, repeat it or swap two.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import msgspec

import aws_frames
from feeding import DONE, call, delta, sse, typed_sse

WIRES = ("openai-chat", "openai-responses", "anthropic", "gemini", "ollama", "bedrock", "cohere")

MARKED_CALLS = ("openai-responses", "anthropic", "gemini", "bedrock", "cohere")
"""The formats that stream a call in pieces and mark its end; of the others, one ends all calls with the answer and one
sends them whole."""

TEXT_WIRES = tuple(wire for wire in WIRES if wire != "bedrock")
"""Those whose bytes are text; every change of a byte breaks a checksum of the other."""

SSE_WIRES = tuple(wire for wire in TEXT_WIRES if wire != "ollama")

BEDROCK_EVENT = "contentBlockDelta"
"""As what bytes that say nothing of themselves are sent there."""

PROVIDERS = {
    "openai": "openai-chat",
    "mistral": "openai-chat",
    "openai-responses": "openai-responses",
    "anthropic": "anthropic",
    "gemini": "gemini",
    "ollama": "ollama",
    "bedrock": "bedrock",
    "cohere": "cohere",
}
"""One provider of each wire, and one that is stricter than its wire."""


class Text(NamedTuple):
    """Words of the answer."""

    words: str = "Hello"


class Thought(NamedTuple):
    """Reasoning."""

    words: str = "hm"


class Call(NamedTuple):
    """A call, whole and ended."""

    id: str = "c1"
    name: str = "f"
    arguments: str = '{"x":1}'


class HalfCall(NamedTuple):
    """A call whose end never comes; of its arguments this much. Ollama sends calls whole: there it is cut text."""

    id: str = "c1"
    name: str = "f"
    arguments: str = '{"x":'


class End(NamedTuple):
    """The proper end, with the provider's own word for why (by default that for an answer that is finished); None
    leaves the word out.
    """

    reason: str | int | None = ""


class Error(NamedTuple):
    """An error in the stream."""

    words: str = "overloaded"


class Raw(NamedTuple):
    """Bytes as they are."""

    data: bytes


Piece = Text | Thought | Call | HalfCall | End | Error | Raw


def body(wire: str, *pieces: Piece) -> bytes:
    """The answer as one body."""
    return b"".join(events(wire, *pieces))


def events(wire: str, *pieces: Piece) -> list[bytes]:
    """The answer, event by event."""
    return _WRITERS[wire](pieces)


def good_end(wire: str, *, calls: bool) -> str:
    """The provider's word for an answer that is finished, with or without calls."""
    return {
        "openai-chat": "tool_calls" if calls else "stop",
        "openai-responses": "completed",
        "anthropic": "tool_use" if calls else "end_turn",
        "gemini": "STOP",
        "ollama": "stop",
        "bedrock": "tool_use" if calls else "end_turn",
        "cohere": "TOOL_CALL" if calls else "COMPLETE",
    }[wire]


def payload(wire: str, value: Any) -> bytes:
    """Any JSON as one event of this wire; text stands as it is."""
    text = bytes(value, "utf-8") if isinstance(value, str) else msgspec.json.encode(value)
    if wire == "ollama":
        return text + b"\n"
    if wire == "bedrock":
        named = isinstance(value, dict) and len(value) == 1 and isinstance(next(iter(value.values())), dict)
        return aws_frames.converse(value) if named else aws_frames.event(BEDROCK_EVENT, text)
    end = b"\r\n\r\n" if wire == "gemini" else b"\n\n"
    if (
        wire in ("openai-responses", "anthropic", "cohere")
        and isinstance(value, dict)
        and isinstance(value.get("type"), str)
    ):
        return b"event: " + str(value["type"]).encode() + b"\ndata: " + text + end
    return b"data: " + text + end


def _halves(text: str) -> tuple[str, str]:
    return text[: len(text) // 2], text[len(text) // 2 :]


def _reason(wire: str, end: End, pieces: Iterable[Piece]) -> str | int | None:
    if end.reason != "":
        return end.reason
    return good_end(wire, calls=any(isinstance(piece, (Call, HalfCall)) for piece in pieces))


def _chat(pieces: tuple[Piece, ...]) -> list[bytes]:
    made: list[Any] = [delta(role="assistant", content="")]
    index = 0
    for piece in pieces:
        if isinstance(piece, Text):
            made += [delta(content=half) for half in _halves(piece.words)]
        elif isinstance(piece, Thought):
            made.append(delta(reasoning_content=piece.words))
        elif isinstance(piece, (Call, HalfCall)):
            made.append(delta(tool_calls=[call("", index=index, id=piece.id, name=piece.name)]))
            made += [delta(tool_calls=[call(half, index=index)]) for half in _halves(piece.arguments)]
            index += 1
        elif isinstance(piece, End):
            reason = _reason("openai-chat", piece, pieces)
            made += [delta(finish=str(reason)), DONE] if reason is not None else [DONE]
        else:
            made.append({"error": {"message": piece.words}} if isinstance(piece, Error) else piece.data)
    return [item if isinstance(item, bytes) else sse(item, done=False) for item in made]


class _Responses:
    """Items are numbered as they come, and the last event repeats those that were finished."""

    def __init__(self, pieces: tuple[Piece, ...]) -> None:
        self.made: list[bytes] = []
        self.output: list[dict[str, Any]] = []
        self.place = 0
        self.send("response.created", response={"id": "r1", "status": "in_progress", "output": []})
        for piece in pieces:
            if isinstance(piece, Text):
                self.words(piece.words, "message", "output_text", "content")
            elif isinstance(piece, Thought):
                self.words(piece.words, "reasoning", "reasoning_summary_text", "summary")
            elif isinstance(piece, (Call, HalfCall)):
                self.call(piece)
            elif isinstance(piece, End):
                self.end(_reason("openai-responses", piece, pieces))
            elif isinstance(piece, Error):
                self.send("error", code="server_error", message=piece.words)
            else:
                self.made.append(piece.data)

    def send(self, kind: str, **members: Any) -> None:
        self.made.append(typed_sse({"type": kind, "sequence_number": len(self.made), **members}))

    def words(self, words: str, family: str, event: str, member: str) -> None:
        item_id, index = f"i{self.place}", {f"{member}_index": 0}
        item: dict[str, Any] = {"id": item_id, "type": family, member: []}
        if family == "message":
            item |= {"role": "assistant", "status": "in_progress"}
        self.send("response.output_item.added", output_index=self.place, item=item)
        at = {"item_id": item_id, "output_index": self.place, **index}
        for half in _halves(words):
            self.send(f"response.{event}.delta", delta=half, **at)
        self.send(f"response.{event}.done", text=words, **at)
        kind = "output_text" if family == "message" else "summary_text"
        item = {**item, member: [{"type": kind, "text": words}]}
        if family == "message":
            item["status"] = "completed"
        self.finish(item)

    def call(self, piece: Call | HalfCall) -> None:
        item = {
            "id": f"i{self.place}",
            "type": "function_call",
            "status": "in_progress",
            "call_id": piece.id,
            "name": piece.name,
            "arguments": "",
        }
        self.send("response.output_item.added", output_index=self.place, item=item)
        at = {"item_id": item["id"], "output_index": self.place}
        for half in _halves(piece.arguments):
            self.send("response.function_call_arguments.delta", delta=half, **at)
        if isinstance(piece, Call):
            self.send("response.function_call_arguments.done", arguments=piece.arguments, **at)
            self.finish({**item, "status": "completed", "arguments": piece.arguments})
        else:
            self.place += 1

    def finish(self, item: dict[str, Any]) -> None:
        self.send("response.output_item.done", output_index=self.place, item=item)
        self.output.append(item)
        self.place += 1

    def end(self, reason: str | int | None) -> None:
        response: dict[str, Any] = {"id": "r1", "output": self.output, "usage": _USAGE}
        if reason is None:
            self.send("response.incomplete", response={**response, "status": "incomplete"})
        elif reason in ("completed", "cancelled"):
            self.send(f"response.{reason}", response={**response, "status": reason})
        elif reason == "failed":
            error = {"code": "server_error", "message": "overloaded"}
            self.send("response.failed", response={**response, "status": "failed", "error": error})
        else:
            why = {"status": "incomplete", "incomplete_details": {"reason": reason}}
            self.send("response.incomplete", response={**response, **why})


_USAGE = {"input_tokens": 5, "output_tokens": 7, "total_tokens": 12}


def _anthropic(pieces: tuple[Piece, ...]) -> list[bytes]:
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
            reason = {"stop_reason": _reason("anthropic", piece, pieces), "stop_sequence": None}
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
    deltas = [{"type": kind, member: half} for half in _halves(text)]
    return [
        {"type": "content_block_start", "index": index, "content_block": start},
        *[{"type": "content_block_delta", "index": index, "delta": one} for one in deltas],
        {"type": "content_block_stop", "index": index},
    ]


def _gemini(pieces: tuple[Piece, ...]) -> list[bytes]:
    def parts(*sent: dict[str, Any], **members: Any) -> dict[str, Any]:
        candidate = {"content": {"parts": list(sent), "role": "model"}, **members, "index": 0}
        usage = {"promptTokenCount": 5, "candidatesTokenCount": 7, "totalTokenCount": 12}
        return {"candidates": [candidate], "usageMetadata": usage}

    made: list[Any] = []
    for piece in pieces:
        if isinstance(piece, Text):
            made += [parts({"text": half}) for half in _halves(piece.words)]
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
            reason = _reason("gemini", piece, pieces)
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
            made += [line(content=half) for half in _halves(piece.words)]
        elif isinstance(piece, Thought):
            made.append(line(thinking=piece.words))
        elif isinstance(piece, (Call, HalfCall)):
            whole = isinstance(piece, Call)
            arguments = msgspec.Raw(piece.arguments.encode()) if whole else piece.arguments
            made.append(line(tool_calls=[{"id": piece.id, "function": {"name": piece.name, "arguments": arguments}}]))
        elif isinstance(piece, End):
            reason = _reason("ollama", piece, pieces)
            told = {} if reason is None else {"done_reason": reason}
            made.append({**line(), "done": True, **told, "prompt_eval_count": 5, "eval_count": 7})
        else:
            made.append({"error": piece.words} if isinstance(piece, Error) else piece.data)
    return [item if isinstance(item, bytes) else payload("ollama", item) for item in made]


def _bedrock(pieces: tuple[Piece, ...]) -> list[bytes]:
    made: list[Any] = [{"messageStart": {"role": "assistant", "p": "abcd"}}]
    index = 0

    def block(*deltas: dict[str, Any]) -> list[dict[str, Any]]:
        at = {"contentBlockIndex": index}
        return [*[{"contentBlockDelta": {**at, "delta": one, "p": "ab"}} for one in deltas], {"contentBlockStop": at}]

    for piece in pieces:
        if isinstance(piece, Text):
            made += block(*[{"text": half} for half in _halves(piece.words)])
        elif isinstance(piece, Thought):
            made += block({"reasoningContent": {"text": piece.words}}, {"reasoningContent": {"signature": "sig"}})
        elif isinstance(piece, (Call, HalfCall)):
            start = {"toolUse": {"toolUseId": piece.id, "name": piece.name}}
            made.append({"contentBlockStart": {"contentBlockIndex": index, "start": start}})
            deltas = block(*[{"toolUse": {"input": half}} for half in ("", *_halves(piece.arguments))])
            made += deltas if isinstance(piece, Call) else deltas[:-1]
        elif isinstance(piece, End):
            reason = _reason("bedrock", piece, pieces)
            made.append({"messageStop": {} if reason is None else {"stopReason": reason}})
            usage = {"inputTokens": 5, "outputTokens": 7, "totalTokens": 12}
            made.append({"metadata": {"usage": usage, "metrics": {"latencyMs": 9}}})
        elif isinstance(piece, Error):
            made.append(aws_frames.exception("modelStreamErrorException", {"message": piece.words}))
        else:
            made.append(piece.data)
        index += isinstance(piece, (Text, Thought, Call, HalfCall))
    return [item if isinstance(item, bytes) else aws_frames.converse(item) for item in made]


def _cohere(pieces: tuple[Piece, ...]) -> list[bytes]:
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
            made += [event("content-delta", parts, content={member: half}) for half in _halves(piece.words)]
            made.append(event("content-end", parts))
            parts += 1
        elif isinstance(piece, (Call, HalfCall)):
            begun = {"id": piece.id, "type": "function", "function": {"name": piece.name, "arguments": ""}}
            made.append(event("tool-call-start", calls, tool_calls=begun))
            for half in _halves(piece.arguments):
                made.append(event("tool-call-delta", calls, tool_calls={"function": {"arguments": half}}))
            made += [event("tool-call-end", calls)] if isinstance(piece, Call) else []
            calls += 1
        elif isinstance(piece, End):
            reason = _reason("cohere", piece, pieces)
            usage = {"billed_units": {"input_tokens": 1}, "tokens": {"input_tokens": 5, "output_tokens": 7}}
            told = {} if reason is None else {"finish_reason": reason}
            made.append({"type": "message-end", "delta": {**told, "usage": usage}})
        elif isinstance(piece, Error):
            made.append({"type": "message-end", "delta": {"finish_reason": "ERROR", "error": piece.words}})
        else:
            made.append(piece.data)
    return [item if isinstance(item, bytes) else typed_sse(item) for item in made]


_WRITERS = {
    "openai-chat": _chat,
    "openai-responses": lambda pieces: _Responses(pieces).made,
    "anthropic": _anthropic,
    "gemini": _gemini,
    "ollama": _ollama,
    "bedrock": _bedrock,
    "cohere": _cohere,
}
