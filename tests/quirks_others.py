"""Ollama, Cohere and Bedrock: the last table of the quirks."""

from __future__ import annotations

from typing import Any

from aws_frames import converse
from feeding import typed_sse
from quirks import Json, Quirk, of_type, types
from wire_bodies import Call, End, Error, Text, body, payload

CALL = [("c1", "f", {"x": 1})]
OLLAMA, COHERE, BEDROCK = "ollama", "cohere", "bedrock"


def line(*calls: Json, text: str = "") -> bytes:
    """A line of Ollama's with these calls."""
    message = {"role": "assistant", "content": text, "tool_calls": list(calls)}
    return payload(OLLAMA, {"model": "m", "created_at": "2026-01-01T00:00:00Z", "message": message, "done": False})


def asked(name: str, arguments: Json, **members: Any) -> Json:
    return {**members, "function": {"name": name, "arguments": arguments}}


OLLAMA_END = body(OLLAMA, End()).splitlines(keepends=True)[-1]


def ollama_calls(events: list[Any]) -> list[Json]:
    return [call for event in events for call in (event.get("message") or {}).get("tool_calls") or ()]


def plan(text: str) -> bytes:
    return typed_sse({"type": "tool-plan-delta", "delta": {"message": {"tool_plan": text}}})


def after_start(wire: str, added: bytes, *pieces: Any) -> bytes:
    """An answer with something put in after its first event."""
    begun = body(wire)
    whole = body(wire, *pieces)
    assert whole.startswith(begun)
    return begun + added + whole[len(begun) :]


def converse_body(*events: Json, stop: str = "end_turn") -> bytes:
    usage = {"usage": {"inputTokens": 5, "outputTokens": 7, "totalTokens": 12}}
    sent = (
        {"messageStart": {"role": "assistant"}},
        *events,
        {"messageStop": {"stopReason": stop}},
        {"metadata": usage},
    )
    return b"".join(converse(event) for event in sent)


def said(index: int, *pieces: Json) -> list[Json]:
    """A block: its pieces and its end."""
    at = {"contentBlockIndex": index}
    return [*[{"contentBlockDelta": {**at, "delta": piece}} for piece in pieces], {"contentBlockStop": at}]


def started(index: int, *pieces: str, **members: Any) -> list[Json]:
    """A call: its start, the pieces of its input, its end."""
    start = {"contentBlockIndex": index, "start": {"toolUse": {"toolUseId": "c1", "name": "f", **members}}}
    return [{"contentBlockStart": start}, *said(index, *[{"toolUse": {"input": piece}} for piece in pieces])]


def blocks(events: list[Any], member: str) -> list[Json]:
    """What stands under `start` or `delta` in Bedrock's events."""
    return [event[member] for event in events if isinstance(event.get(member), dict)]


def stops(events: list[Any]) -> list[Any]:
    return [event["stopReason"] for event in events if "stopReason" in event]


QUIRKS: dict[str, Quirk] = {
    "Ollama: `arguments` is an object, the call is complete in one line": Quirk(
        wire=OLLAMA,
        body=line(asked("f", {"x": 1}, id="c1")) + OLLAMA_END,
        shows=lambda _, events: all(isinstance(call["function"]["arguments"], dict) for call in ollama_calls(events)),
        calls=CALL,
    ),
    "Ollama: no `id` (older versions)": Quirk(
        wire=OLLAMA,
        body=line(asked("f", {"x": 1}), asked("f", {"x": 2})) + OLLAMA_END,
        shows=lambda _, events: not any("id" in call for call in ollama_calls(events)),
        calls=[("s0", "f", {"x": 1}), ("s1", "f", {"x": 2})],
    ),
    "Ollama: `id` and `function.index` (newer versions)": Quirk(
        wire=OLLAMA,
        body=line({"id": "c1", "function": {"index": 0, "name": "f", "arguments": {"x": 1}}}) + OLLAMA_END,
        shows=lambda _, events: all("id" in call and "index" in call["function"] for call in ollama_calls(events)),
        calls=CALL,
    ),
    "Ollama: parallel calls on separate lines": Quirk(
        wire=OLLAMA,
        body=line(asked("f", {"x": 1}, id="c1")) + line(asked("g", {}, id="c2")) + OLLAMA_END,
        shows=lambda _, events: sum(bool(ollama_calls([event])) for event in events) > 1,
        calls=[*CALL, ("c2", "g", {})],
    ),
    "Ollama: `done_reason: stop` with calls": Quirk(
        wire=OLLAMA,
        body=line(asked("f", {"x": 1}, id="c1")) + OLLAMA_END,
        shows=lambda _, events: events[-1]["done_reason"] == "stop" and bool(ollama_calls(events)),
        calls=CALL,
        stop="tool_calls",
    ),
    "Ollama: text before the calls": Quirk(
        wire=OLLAMA,
        body=line(text="Hello") + line(asked("f", {"x": 1}, id="c1")) + OLLAMA_END,
        shows=lambda _, events: any((event.get("message") or {}).get("content") for event in events),
        text="Hello",
        calls=CALL,
    ),
    "Cohere v2: `tool-plan-delta` before the calls": Quirk(
        wire=COHERE,
        body=after_start(COHERE, plan("h") + plan("m"), Call(), End()),
        shows=lambda _, events: "tool-plan-delta" in types(events),
        reasoning="hm",
        calls=CALL,
    ),
    "Cohere v2: call without any argument text": Quirk(
        wire=COHERE,
        body=body(COHERE, Call("c1", "f", ""), End()),
        shows=lambda _, events: (
            not any(
                event["delta"]["message"]["tool_calls"]["function"]["arguments"]
                for event in of_type(events, "tool-call-delta")
            )
        ),
        calls=[("c1", "f", {})],
    ),
    "Cohere v2: `[DONE]` after `message-end`": Quirk(
        wire=COHERE,
        body=body(COHERE, Text("Hello"), End()) + b"data: [DONE]\n\n",
        shows=lambda _, events: events[-1] == "[DONE]",
        text="Hello",
    ),
    "Cohere v2: `finish_reason: ERROR` with `error` in `message-end`": Quirk(
        wire=COHERE,
        body=body(COHERE, Text("Hello"), Error("overloaded")),
        shows=lambda _, events: of_type(events, "message-end")[0]["delta"]["finish_reason"] == "ERROR",
        text="Hello",
        error=("ProviderError", "overloaded"),
    ),
    "Bedrock: text blocks have no `contentBlockStart`": Quirk(
        wire=BEDROCK,
        body=converse_body(*said(0, {"text": "Hel"}, {"text": "lo"})),
        shows=lambda _, events: "contentBlockStart" not in [event[":event-type"] for event in events],
        text="Hello",
        stop="stop",
    ),
    "Bedrock: usage comes after `messageStop`": Quirk(
        wire=BEDROCK,
        body=converse_body(*said(0, {"text": "Hello"})),
        shows=lambda _, events: [event[":event-type"] for event in events[-2:]] == ["messageStop", "metadata"],
        text="Hello",
        usage=(5, 7, 12),
    ),
    "Bedrock: empty `input` strings": Quirk(
        wire=BEDROCK,
        body=converse_body(*started(0, "", '{"x":', "", "1}"), stop="tool_use"),
        shows=lambda _, events: {"toolUse": {"input": ""}} in blocks(events, "delta"),
        calls=CALL,
    ),
    "Bedrock: server tool marked by `type: server_tool_use`": Quirk(
        wire=BEDROCK,
        body=converse_body(*started(0, '{"code":"1"}', type="server_tool_use"), *said(1, {"text": "Hello"})),
        keeps="server_tool_use",
        shows=lambda _, events: any(
            (start.get("toolUse") or {}).get("type") == "server_tool_use" for start in blocks(events, "start")
        ),
        text="Hello",
    ),
    "Bedrock: `end_turn` with (server) toolUse": Quirk(
        wire=BEDROCK,
        body=converse_body(*started(0, '{"x":1}'), stop="end_turn"),
        shows=lambda _, events: "end_turn" in stops(events) and bool(blocks(events, "start")),
        calls=CALL,
        stop="tool_calls",
    ),
    "Bedrock: `redactedContent`": Quirk(
        wire=BEDROCK,
        body=converse_body(
            *said(0, {"reasoningContent": {"redactedContent": "c2VhbGVk"}}), *said(1, {"text": "Hello"})
        ),
        keeps="c2VhbGVk",
        shows=lambda _, events: any(
            "redactedContent" in (delta.get("reasoningContent") or {}) for delta in blocks(events, "delta")
        ),
        text="Hello",
    ),
    "Bedrock: guardrail stop": Quirk(
        wire=BEDROCK,
        body=converse_body(*started(0, '{"x":1}'), stop="guardrail_intervened"),
        shows=lambda _, events: "guardrail_intervened" in stops(events),
        half=[("c1", "f", '{"x":1}')],
        stop="content_filter",
    ),
    "Bedrock: citation deltas": Quirk(
        wire=BEDROCK,
        body=converse_body(
            *said(0, {"text": "Hello"}, {"citation": {"title": "d", "sourceContent": [{"text": "hi"}]}})
        ),
        keeps="sourceContent",
        shows=lambda _, events: any("citation" in delta for delta in blocks(events, "delta")),
        text="Hello",
    ),
}
