"""Answers over OpenAI's two wires, made from the formats' documentation."""

from __future__ import annotations

from typing import Any

from .frames import DONE, sse, typed_sse
from .pieces import Call, End, Error, HalfCall, Piece, Text, Thought, end_reason, halves


def chat_events(pieces: tuple[Piece, ...]) -> list[bytes]:
    """Of chat completions."""
    made: list[Any] = [_delta(role="assistant", content="")]
    index = 0
    for piece in pieces:
        if isinstance(piece, Text):
            made += [_delta(content=half) for half in halves(piece.words)]
        elif isinstance(piece, Thought):
            made.append(_delta(reasoning_content=piece.words))
        elif isinstance(piece, (Call, HalfCall)):
            made.append(_delta(tool_calls=[_call("", index=index, id=piece.id, name=piece.name)]))
            made += [_delta(tool_calls=[_call(half, index=index)]) for half in halves(piece.arguments)]
            index += 1
        elif isinstance(piece, End):
            reason = end_reason("openai-chat", piece, pieces)
            made += [_delta(finish=str(reason)), DONE] if reason is not None else [DONE]
        else:
            made.append({"error": {"message": piece.words}} if isinstance(piece, Error) else piece.data)
    return [item if isinstance(item, bytes) else sse(item) for item in made]


def _delta(*, finish: str | None = None, **members: Any) -> dict[str, Any]:
    """One chunk with one choice."""
    return {"choices": [{"index": 0, "delta": members, "finish_reason": finish}]}


def _call(arguments: str, *, index: int, id: str | None = None, name: str | None = None) -> dict[str, Any]:
    """One entry of `delta.tool_calls`."""
    function = {"arguments": arguments} if name is None else {"name": name, "arguments": arguments}
    entry = {"index": index, "id": id, "type": "function", "function": function}
    return {name: value for name, value in entry.items() if value is not None}


def responses_events(pieces: tuple[Piece, ...]) -> list[bytes]:
    """Of the Responses API."""
    return _Responses(pieces).made


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
                self.end(end_reason("openai-responses", piece, pieces))
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
        kind, part = ("output_text", "content") if family == "message" else ("summary_text", "reasoning_summary")
        more: dict[str, Any] = {"annotations": []} if family == "message" else {}
        self.send(f"response.{part}_part.added", part={"type": kind, "text": "", **more}, **at)
        for half in halves(words):
            self.send(f"response.{event}.delta", delta=half, **at)
        self.send(f"response.{event}.done", text=words, **at)
        self.send(f"response.{part}_part.done", part={"type": kind, "text": words, **more}, **at)
        item = {**item, member: [{"type": kind, "text": words, **more}]}
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
        for half in halves(piece.arguments):
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
