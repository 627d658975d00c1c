"""Anthropic's Messages API: the fifth table of the quirks."""

from __future__ import annotations

from typing import Any

from aws_frames import invoked
from feeding import typed_sse
from odd_streams import block, message
from quirks import Json, Quirk, of_type, types
from wire_bodies import Call, End, HalfCall, Text, body

WIRE = "anthropic"
F = [("c1", "f", {"x": 1})]
HELLO = body(WIRE, Text("Hello"), End())
METRICS = "amazon-bedrock-invocationMetrics"
PING = typed_sse({"type": "ping"})


def piece(index: int, kind: str, **members: Any) -> Json:
    return {"type": "content_block_delta", "index": index, "delta": {"type": kind, **members}}


def around(index: int, start: Json, *pieces: Json) -> list[Json]:
    """A block: its start, its pieces, its end."""
    return [
        {"type": "content_block_start", "index": index, "content_block": start},
        *pieces,
        {"type": "content_block_stop", "index": index},
    ]


def words(index: int, text: str) -> list[Json]:
    return around(index, {"type": "text", "text": ""}, piece(index, "text_delta", text=text))


def ended(*events: Json, reason: str = "end_turn", **members: Any) -> bytes:
    """A message of these events that ended for this reason."""
    end = {"type": "message_delta", "delta": {"stop_reason": reason}, **members}
    return typed_sse({"type": "message_start", "message": {}}, *events, end, {"type": "message_stop"})


def starts(events: list[Any]) -> list[Json]:
    return [event["content_block"] for event in of_type(events, "content_block_start")]


def pieces(events: list[Any], kind: str) -> list[Json]:
    found = [event["delta"] for event in of_type(events, "content_block_delta")]
    return [one for one in found if one["type"] == kind]


def reasons(events: list[Any]) -> list[Any]:
    return [event["delta"].get("stop_reason") for event in of_type(events, "message_delta")]


QUIRKS: dict[str, Quirk] = {
    "`ping` events": Quirk(
        wire=WIRE,
        body=PING + HELLO.replace(b"event: content_block_stop", PING + b"event: content_block_stop"),
        shows=lambda _, events: "ping" in types(events),
        text="Hello",
        stop="stop",
    ),
    "empty first `partial_json`": Quirk(
        wire=WIRE,
        body=message(*block(0, "c1", "", '{"x":', "1}")),
        shows=lambda _, events: pieces(events, "input_json_delta")[0]["partial_json"] == "",
        calls=F,
    ),
    "zero-argument tool: only empty `partial_json`, so no JSON at the end": Quirk(
        wire=WIRE,
        body=message(*block(0, "c1", "")),
        shows=lambda _, events: {one["partial_json"] for one in pieces(events, "input_json_delta")} == {""},
        calls=[("c1", "f", {})],
    ),
    "whole `input` already in `content_block_start` (programmatic tool calling)": Quirk(
        wire=WIRE,
        body=message(*around(0, {"type": "tool_use", "id": "c1", "name": "f", "input": {"x": 1}})),
        shows=lambda _, events: any(start.get("input") for start in starts(events)),
        calls=F,
    ),
    "input cut off (max_tokens), block never stopped": Quirk(
        wire=WIRE,
        body=ended(*block(0, "c1", '{"x":')[:-1], reason="max_tokens"),
        shows=lambda _, events: types(events).count("content_block_start") > types(events).count("content_block_stop"),
        half=[("c1", "f", '{"x":')],
        stop="length",
        example=lambda stream: [call["complete"] for call in stream.summary()["calls"]] == [False, True],
    ),
    "`max_tokens` with an unfinished tool_use": Quirk(
        wire=WIRE,
        body=body(WIRE, Call(), HalfCall("c2", "g"), End("max_tokens")),
        shows=lambda _, events: (
            "max_tokens" in reasons(events) and "tool_use" in [one["type"] for one in starts(events)]
        ),
        half=[("c1", "f", '{"x":1}'), ("c2", "g", '{"x":')],
        stop="length",
    ),
    "`pause_turn`": Quirk(
        wire=WIRE,
        body=ended(*words(0, "Hello"), reason="pause_turn"),
        shows=lambda _, events: "pause_turn" in reasons(events),
        text="Hello",
        stop="pause",
        example=lambda stream: stream.stop_reason == "pause",
    ),
    "`refusal`": Quirk(
        wire=WIRE,
        body=ended(*words(0, "Hello"), *block(1, "c1", '{"x":1}'), reason="refusal"),
        shows=lambda _, events: "refusal" in reasons(events),
        text="Hello",
        half=[("c1", "f", '{"x":1}')],
        stop="refusal",
        example=lambda stream: stream.stop_reason == "refusal",
    ),
    "`redacted_thinking`": Quirk(
        wire=WIRE,
        body=ended(*around(0, {"type": "redacted_thinking", "data": "sealed"}), *words(1, "Hello")),
        keeps="sealed",
        shows=lambda _, events: "redacted_thinking" in [one["type"] for one in starts(events)],
        text="Hello",
    ),
    "empty `thinking_delta` (thinking omitted, signature only)": Quirk(
        wire=WIRE,
        body=ended(
            *around(
                0,
                {"type": "thinking", "thinking": "", "signature": ""},
                piece(0, "thinking_delta", thinking=""),
                piece(0, "signature_delta", signature="sig"),
            ),
            *words(1, "Hello"),
        ),
        keeps="sig",
        shows=lambda _, events: any(one["thinking"] == "" for one in pieces(events, "thinking_delta")),
        text="Hello",
        example=lambda stream: stream.complete,
    ),
    "second `message_start`, reused or overlapping blocks (hand-made regression fixtures)": Quirk(
        wire=WIRE,
        body=typed_sse({"type": "message_start", "message": {}}) + message(*block(0, "c1", '{"x":1}')),
        shows=lambda _, events: types(events).count("message_start") > 1,
        calls=F,
        example=lambda stream: stream.complete and stream.quirks["second-message-start"] == 1,
    ),
    "new block types (`compaction`, `fallback`)": Quirk(
        wire=WIRE,
        body=ended(
            *around(0, {"type": "compaction", "content": ""}, piece(0, "compaction_delta", content="So far: hi.")),
            *around(1, {"type": "fallback", "from": "a", "to": "b"}),
            *words(2, "Hello"),
        ),
        keeps="So far: hi.",
        shows=lambda _, events: not {"compaction", "fallback"}.isdisjoint(one["type"] for one in starts(events)),
        text="Hello",
    ),
    "full usage repeated in `message_delta`": Quirk(
        wire=WIRE,
        body=ended(*words(0, "Hello"), usage={"input_tokens": 5, "cache_read_input_tokens": 2, "output_tokens": 7}),
        shows=lambda _, events: any(
            "input_tokens" in event.get("usage", {}) for event in of_type(events, "message_delta")
        ),
        text="Hello",
        usage=(7, 7, 14),
    ),
    "`[DONE]` in a Messages stream (OpenRouter as gateway)": Quirk(
        wire=WIRE,
        body=HELLO + b"data: [DONE]\n\n",
        shows=lambda _, events: "[DONE]" in events,
        text="Hello",
    ),
    "`amazon-bedrock-invocationMetrics` in `message_stop`": Quirk(
        wire="bedrock",
        body=invoked(
            {"type": "message_start", "message": {}},
            *words(0, "Hello"),
            {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 7}},
            {"type": "message_stop", METRICS: {"inputTokenCount": 5, "outputTokenCount": 7}},
        ),
        shows=lambda _, events: METRICS in events[-1],
        text="Hello",
        stop="stop",
    ),
    "`citations_delta`": Quirk(
        wire=WIRE,
        body=ended(
            *around(
                0,
                {"type": "text", "text": "", "citations": []},
                piece(
                    0, "citations_delta", citation={"type": "char_location", "cited_text": "hi", "document_title": "d"}
                ),
                piece(0, "text_delta", text="Hello"),
            )
        ),
        keeps="char_location",
        shows=lambda _, events: bool(pieces(events, "citations_delta")),
        text="Hello",
        example=lambda stream: bool(stream.summary()["text"]),
    ),
}
