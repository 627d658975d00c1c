"""Tool-call deltas of chat completions: the second table of the quirks."""

from __future__ import annotations

from typing import Any

from feeding import call, delta, sse
from quirks import (
    Quirk,
    arguments_of,
    choices,
    deltas,
    entries,
    finishes,
    first_entries,
    function,
    is_json,
    later_entries,
)

WIRE = "openai-chat"
F = [("c1", "f", {"x": 1})]
WHOLE = call('{"x":1}', id="c1", name="f")
END = delta(finish="tool_calls")


def calls(*sent: dict[str, Any], finish: str = "tool_calls") -> bytes:
    """An answer with each of these entries in a chunk of its own."""
    return sse(*[delta(tool_calls=[entry]) for entry in sent], delta(finish=finish))


def has(value: Any, name: str, expected: Any) -> bool:
    return name in value and value[name] == expected


QUIRKS: dict[str, Quirk] = {
    "`index` missing from the tool call": Quirk(
        wire=WIRE,
        body=calls(call('{"x":1}', index=None, id="c1", name="f"), call('{"y":2}', index=None, id="c2", name="g")),
        shows=lambda _, events: any("index" not in entry for entry in entries(events)),
        calls=[*F, ("c2", "g", {"y": 2})],
    ),
    '`id: ""` on the only delta of a call': Quirk(
        wire=WIRE,
        body=calls(call('{"x":1}', id="", name="f")),
        shows=lambda _, events: not later_entries(events) and has(entries(events)[0], "id", ""),
        calls=[("s0", "f", {"x": 1})],
    ),
    "first delta of a call carries no usable id": Quirk(
        wire=WIRE,
        body=calls(call('{"x":', name="f"), call("1}", id="c1")),
        shows=lambda _, events: any(not entry.get("id") for entry in first_entries(events)),
        calls=F,
    ),
    '`id: ""` on later deltas': Quirk(
        wire=WIRE,
        body=calls(call("", id="c1", name="f"), call('{"x":1}', id="")),
        shows=lambda _, events: any(has(entry, "id", "") for entry in later_entries(events)),
        calls=F,
    ),
    "`id: null`, `type: null`, `name: null` on later deltas": Quirk(
        wire=WIRE,
        body=calls(
            call("", id="c1", name="f"),
            {"index": 0, "id": None, "type": None, "function": {"name": None, "arguments": '{"x":1}'}},
        ),
        shows=lambda _, events: any(has(entry, "type", None) for entry in later_entries(events)),
        calls=F,
    ),
    "same `id` sent again on every delta": Quirk(
        wire=WIRE,
        body=calls(call("", id="c1", name="f"), call('{"x":', id="c1"), call("1}", id="c1")),
        shows=lambda _, events: all(entry.get("id") for entry in later_entries(events)),
        calls=F,
    ),
    "`name` sent again on every delta (must not be concatenated)": Quirk(
        wire=WIRE,
        body=calls(call("", id="c1", name="f"), call('{"x":', name="f"), call("1}", name="f")),
        shows=lambda _, events: all(function(entry).get("name") for entry in later_entries(events)),
        calls=F,
    ),
    "`name` empty or null on later deltas": Quirk(
        wire=WIRE,
        body=calls(call("", id="c1", name="f"), call('{"x":', name=""), call("1}", name="")),
        shows=lambda _, events: any(not function(entry).get("name", "absent") for entry in later_entries(events)),
        calls=F,
    ),
    "`arguments: null` on the first delta": Quirk(
        wire=WIRE,
        body=calls({"index": 0, "id": "c1", "function": {"name": "f", "arguments": None}}, call('{"x":1}')),
        shows=lambda _, events: any(has(function(entry), "arguments", None) for entry in first_entries(events)),
        calls=F,
    ),
    "`arguments` absent on the first delta": Quirk(
        wire=WIRE,
        body=calls({"index": 0, "id": "c1", "function": {"name": "f"}}, call('{"x":1}')),
        shows=lambda _, events: any("arguments" not in function(entry) for entry in first_entries(events)),
        calls=F,
    ),
    '`arguments: ""` on later deltas': Quirk(
        wire=WIRE,
        body=calls(call('{"x":1', id="c1", name="f"), call(""), call("}"), call("")),
        shows=lambda _, events: any(has(function(entry), "arguments", "") for entry in later_entries(events)),
        calls=F,
    ),
    'no arguments at all at the end (zero-argument tool): `""`, not `{}`': Quirk(
        wire=WIRE,
        body=calls(call("", id="c1", name="f"), call("")),
        shows=lambda _, events: "" in arguments_of(events),
        calls=[("c1", "f", {})],
    ),
    "arguments are JSON but no object (`null`)": Quirk(
        wire=WIRE,
        body=calls(call("null", id="c1", name="f"), call("[1]", index=1, id="c2", name="g")),
        shows=lambda _, events: "null" in arguments_of(events),
        calls=[("c1", "f", {})],
        half=[("c2", "g", "[1]")],
        example=lambda stream: {} in [made.arguments for made in stream.invocations],
    ),
    "arguments cut off (token limit) or otherwise not JSON at the end": Quirk(
        wire=WIRE,
        body=calls(call('{"x":', id="c1", name="f")),
        shows=lambda _, events: any(not is_json(text) for text in arguments_of(events)),
        half=[("c1", "f", '{"x":')],
    ),
    "`finish_reason: length` with an unfinished call": Quirk(
        wire=WIRE,
        body=calls(WHOLE, call('{"y":', index=1, id="c2", name="g"), finish="length"),
        shows=lambda _, events: "length" in finishes(events) and bool(entries(events)),
        half=[("c1", "f", '{"x":1}'), ("c2", "g", '{"y":')],
        stop="length",
    ),
    "whole call in one chunk": Quirk(
        wire=WIRE,
        body=calls(WHOLE),
        shows=lambda _, events: any(is_json(function(entry)["arguments"]) for entry in first_entries(events)),
        calls=F,
    ),
    "several calls in one chunk": Quirk(
        wire=WIRE,
        body=sse(delta(tool_calls=[WHOLE, call("{}", index=1, id="c2", name="g")]), END),
        shows=lambda _, events: any(len(one.get("tool_calls") or ()) > 1 for one in deltas(events)),
        calls=[*F, ("c2", "g", {})],
    ),
    "call and `finish_reason` in the same chunk": Quirk(
        wire=WIRE,
        body=sse(delta(tool_calls=[WHOLE], finish="tool_calls")),
        shows=lambda _, events: any(
            choice.get("finish_reason") and (choice.get("delta") or {}).get("tool_calls") for choice in choices(events)
        ),
        calls=F,
    ),
    "`type` missing or null": Quirk(
        wire=WIRE,
        body=calls({"index": 0, "id": "c1", "type": None, "function": {"name": "f", "arguments": '{"x":1}'}}),
        shows=lambda _, events: any(entry.get("type") is None for entry in first_entries(events)),
        calls=F,
    ),
    "first call has `index: 1`": Quirk(
        wire=WIRE,
        body=calls(call('{"x":', index=1, id="c1", name="f"), call("1}", index=1)),
        shows=lambda _, events: has(entries(events)[0], "index", 1),
        calls=F,
    ),
    "n>1 choices: same call id and index in two choices, deltas interleaved": Quirk(
        wire=WIRE,
        body=sse(
            delta(tool_calls=[call('{"x":', id="c1", name="f")]),
            delta(tool_calls=[call('{"x":', id="c1", name="f")], choice=1),
            delta(tool_calls=[call("1}")]),
            delta(tool_calls=[call("2}")], choice=1),
            END,
            delta(finish="tool_calls", choice=1),
        ),
        shows=lambda _, events: {choice["index"] for choice in choices(events)} >= {0, 1} and bool(entries(events)),
        calls=F,
        half=[("c1", "f", '{"x":2}')],
    ),
    "text before the call": Quirk(
        wire=WIRE,
        body=sse(delta(content="Hello"), delta(tool_calls=[WHOLE]), END),
        shows=lambda _, events: _order(events).startswith("text call"),
        text="Hello",
        calls=F,
    ),
    "text after the call": Quirk(
        wire=WIRE,
        body=sse(delta(tool_calls=[WHOLE]), delta(content="Hello"), END),
        shows=lambda _, events: "call text" in _order(events),
        text="Hello",
        calls=F,
    ),
    "`tool_calls: null` or `[]` on text chunks": Quirk(
        wire=WIRE,
        body=sse(delta(content="Hel", tool_calls=None), delta(content="lo", tool_calls=[]), delta(finish="stop")),
        shows=lambda _, events: any("tool_calls" in one and not one["tool_calls"] for one in deltas(events)),
        text="Hello",
        stop="stop",
    ),
    "`message` next to or instead of `delta` (Writer, Perplexity)": Quirk(
        wire=WIRE,
        body=sse(
            {"choices": [{"delta": {"content": "Hel"}, "message": {"content": "Hel"}}]},
            {"choices": [{"delta": {"content": "lo"}, "message": {"content": "Hello"}}]},
            {"choices": [{"message": {"content": "Hello"}, "finish_reason": "stop"}]},
        ),
        shows=lambda _, events: any("message" in choice for choice in choices(events)),
        text="Hello",
        stop="stop",
    ),
    "choice without `delta` (Azure asynchronous content filter)": Quirk(
        wire=WIRE,
        body=sse(
            delta(content="Hello"),
            {"choices": [{"index": 0, "content_filter_results": {}}]},
            delta(finish="stop"),
        ),
        shows=lambda _, events: any(not choice.get("delta") for choice in choices(events)),
        text="Hello",
        stop="stop",
        example=lambda stream: stream.quirks["choice-without-delta"] > 0,
    ),
    "legacy `function_call` deltas": Quirk(
        wire=WIRE,
        body=sse(
            delta(function_call={"name": "f", "arguments": ""}),
            delta(function_call={"arguments": '{"x":'}),
            delta(function_call={"arguments": "1}"}),
            delta(finish="function_call"),
        ),
        shows=lambda _, events: any(one.get("function_call") for one in deltas(events)),
        calls=[("s0", "f", {"x": 1})],
        stop="tool_calls",
    ),
    "`content` is a list of parts (Mistral `thinking`, references)": Quirk(
        wire=WIRE,
        body=sse(
            delta(content=[{"type": "thinking", "thinking": [{"type": "text", "text": "h"}]}]),
            delta(content=[{"type": "thinking", "thinking": "m"}, {"type": "reference", "reference_ids": [1]}]),
            delta(content=[{"type": "reasoning", "summary": [{"type": "summary_text", "text": "!"}]}]),
            delta(content=[{"type": "text", "text": "Hello"}]),
            delta(finish="stop"),
        ),
        shows=lambda _, events: any(isinstance(one.get("content"), list) for one in deltas(events)),
        text="Hello",
        reasoning="hm!",
    ),
    "reasoning in `reasoning_content` or `reasoning`": Quirk(
        wire=WIRE,
        body=sse(
            delta(reasoning_content="h"),
            delta(reasoning="m", reasoning_content="m"),
            delta(reasoning="!"),
            delta(reasoning_text="?"),
            delta(content="Hello"),
            delta(finish="stop"),
        ),
        shows=lambda _, events: any(one.get("reasoning_content") or one.get("reasoning") for one in deltas(events)),
        text="Hello",
        reasoning="hm!?",
        example=lambda stream: bool(stream.summary()["reasoning"]),
    ),
    "`reasoning_details` blocks (text, summary, encrypted, signature)": Quirk(
        wire=WIRE,
        body=sse(
            delta(reasoning="h", reasoning_details=[{"type": "reasoning.text", "text": "h", "index": 0}]),
            delta(reasoning_details=[{"type": "reasoning.summary", "summary": "m", "index": 1}]),
            delta(reasoning_details=[{"type": "reasoning.text", "signature": "s", "index": 0}]),
            delta(reasoning_details=[{"type": "reasoning.encrypted", "data": "abc", "index": 2}]),
            delta(content="Hello"),
            delta(finish="stop"),
        ),
        keeps="reasoning.encrypted",
        shows=lambda _, events: any(one.get("reasoning_details") for one in deltas(events)),
        text="Hello",
        reasoning="hm",
        example=lambda stream: bool(stream.message.provider_data),
    ),
    "`audio` deltas": Quirk(
        wire=WIRE,
        body=sse(
            delta(audio={"id": "a1", "transcript": "Hel"}),
            delta(audio={"data": "AAA"}),
            delta(audio={"transcript": "lo"}),
            delta(audio={"expires_at": 5}),
            delta(finish="stop"),
        ),
        shows=lambda _, events: any(one.get("audio") for one in deltas(events)),
        text="Hello",
    ),
    "`refusal` deltas": Quirk(
        wire=WIRE,
        body=sse(delta(refusal="No"), delta(refusal="."), delta(finish="stop")),
        refusal="No.",
        shows=lambda _, events: any(one.get("refusal") for one in deltas(events)),
        stop="stop",
    ),
}


def _order(events: list[Any]) -> str:
    """In which order the first answer says things: `text call text`."""
    said: list[str] = []
    for choice in choices(events):
        one = choice.get("delta") or {}
        for kind, there in (("text", one.get("content")), ("call", one.get("tool_calls"))):
            if there and not choice.get("index") and said[-1:] != [kind]:
                said.append(kind)
    return " ".join(said)
