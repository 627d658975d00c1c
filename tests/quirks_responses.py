"""OpenAI's Responses API: the fourth table of the quirks."""

from __future__ import annotations

from typing import Any

from feeding import typed_sse
from odd_streams import ARGUMENTS, item, response
from quirks import Json, Quirk, of_type, types
from wire_bodies import End, HalfCall, Text, body

WIRE = "openai-responses"
F = [("c1", "f", {"x": 1})]
ADDED, DONE_ITEM = "response.output_item.added", "response.output_item.done"
ONE = '{"x":1}'


def said(text: str, index: int = 0) -> list[tuple[str, Json]]:
    """The events of one message."""
    message = {"id": f"m{index}", "type": "message", "role": "assistant", "content": []}
    at = {"item_id": f"m{index}", "output_index": index, "content_index": 0}
    whole = {**message, "content": [{"type": "output_text", "text": text}]}
    return [
        ("output_item.added", {"output_index": index, "item": message}),
        ("output_text.delta", {**at, "delta": text}),
        ("output_item.done", {"output_index": index, "item": whole}),
    ]


def sealed(text: str) -> Json:
    return {"output_index": 0, "item": {"id": "r1", "type": "reasoning", "summary": [], "encrypted_content": text}}


def custom(text: str) -> Json:
    made = {"id": "i1", "type": "custom_tool_call", "call_id": "c1", "name": "sql", "input": text}
    return {"output_index": 0, "item": made}


def ids_of(events: list[Any]) -> dict[int, set[Any]]:
    """The ids that each item goes by, by its place."""
    found: dict[int, set[Any]] = {}
    for event in events:
        if isinstance(event, dict) and "output_index" in event:
            known = event.get("item_id") or (event.get("item") or {}).get("id")
            found.setdefault(event["output_index"], set()).add(known)
    return found


def items(events: list[Any], kind: str) -> list[Json]:
    return [event["item"] for event in of_type(events, kind)]


def numbers(events: list[Any]) -> list[Any]:
    return [event.get("sequence_number") for event in events if isinstance(event, dict)]


CALL = (
    ("output_item.added", item(0, "i1", "c1")),
    (f"{ARGUMENTS}.delta", {"item_id": "i1", "output_index": 0, "delta": ONE}),
    (f"{ARGUMENTS}.done", {"item_id": "i1", "output_index": 0, "arguments": ONE}),
    ("output_item.done", item(0, "i1", "c1", ONE)),
)

QUIRKS: dict[str, Quirk] = {
    "arguments in a single delta (parallel calls, xAI, Codex)": Quirk(
        wire=WIRE,
        body=response(*CALL),
        shows=lambda _, events: (
            types(events).count(f"response.{ARGUMENTS}.delta")
            == len([one for one in items(events, DONE_ITEM) if one["type"] == "function_call"])
        ),
        calls=F,
    ),
    "`function_call_arguments.done` with no deltas before it (LM Studio)": Quirk(
        wire=WIRE,
        body=response(CALL[0], *CALL[2:]),
        shows=lambda _, events: (
            f"response.{ARGUMENTS}.done" in types(events) and f"response.{ARGUMENTS}.delta" not in types(events)
        ),
        calls=F,
    ),
    "`output_item.done` without `output_item.added`": Quirk(
        wire=WIRE,
        body=response(CALL[-1], *said("Hello", 1)),
        shows=lambda _, events: len(items(events, DONE_ITEM)) > len(items(events, ADDED)),
        text="Hello",
        calls=F,
        example=lambda stream: "encrypted_content" in str(stream.message),
    ),
    "item id differs between `added`, deltas and `done` (GitHub Copilot: new id on every event)": Quirk(
        wire=WIRE,
        body=response(
            ("output_item.added", item(0, "i1", "c1")),
            (f"{ARGUMENTS}.delta", {"item_id": "i2", "output_index": 0, "delta": '{"x":'}),
            (f"{ARGUMENTS}.delta", {"item_id": "i3", "output_index": 0, "delta": "1}"}),
            (f"{ARGUMENTS}.done", {"item_id": "i4", "output_index": 0, "arguments": ONE}),
            ("output_item.done", item(0, "i5", "c1", ONE)),
        ),
        shows=lambda _, events: any(len(known) > 2 for known in ids_of(events).values()),
        calls=F,
        example=lambda stream: stream.complete,
    ),
    "reasoning `encrypted_content` differs between `added` and `done`": Quirk(
        wire=WIRE,
        body=response(("output_item.added", sealed("one")), ("output_item.done", sealed("two")), *said("Hello", 1)),
        keeps="two",
        shows=lambda _, events: (
            {one.get("encrypted_content") for one in items(events, ADDED)}
            != {one.get("encrypted_content") for one in items(events, DONE_ITEM)}
        ),
        text="Hello",
    ),
    "`response.completed` with `output: []` (ChatGPT Codex backend)": Quirk(
        wire=WIRE,
        body=response(*CALL),
        shows=lambda _, events: of_type(events, "response.completed")[0]["response"]["output"] == [],
        calls=F,
    ),
    "arguments cut off, item `status: incomplete`": Quirk(
        wire=WIRE,
        body=response(
            ("output_item.added", item(0, "i1", "c1")),
            (f"{ARGUMENTS}.delta", {"item_id": "i1", "output_index": 0, "delta": '{"x":'}),
            (
                "output_item.done",
                {"output_index": 0, "item": {**item(0, "i1", "c1", '{"x":')["item"], "status": "incomplete"}},
            ),
        ),
        shows=lambda _, events: any(one.get("status") == "incomplete" for one in items(events, DONE_ITEM)),
        half=[("c1", "f", '{"x":')],
    ),
    "`response.incomplete`": Quirk(
        wire=WIRE,
        body=body(WIRE, Text("Hello"), HalfCall(), End("max_output_tokens")),
        shows=lambda _, events: "response.incomplete" in types(events),
        text="Hello",
        half=[("c1", "f", '{"x":')],
        stop="length",
        example=lambda stream: stream.stop_reason == "length",
    ),
    "`error` event and `response.failed`": Quirk(
        wire=WIRE,
        body=typed_sse(
            {"type": "response.created", "response": {"output": []}},
            {"type": "error", "error": {"code": "server_error", "message": "overloaded"}},
            {"type": "response.failed", "response": {"status": "failed", "error": {"message": "overloaded"}}},
        ),
        shows=lambda _, events: {"error", "response.failed"} <= {*types(events)},
        error=("ProviderError", "overloaded"),
    ),
    "custom tool calls (free text input)": Quirk(
        wire=WIRE,
        body=response(
            ("output_item.added", custom("")),
            ("custom_tool_call_input.delta", {"item_id": "i1", "output_index": 0, "delta": "select 1"}),
            ("custom_tool_call_input.done", {"item_id": "i1", "output_index": 0, "input": "select 1"}),
            ("output_item.done", custom("select 1")),
        ),
        shows=lambda _, events: "response.custom_tool_call_input.delta" in types(events),
        calls=[("c1", "sql", {"input": "select 1"})],
    ),
    "no `event:` line": Quirk(
        wire=WIRE,
        body=b"\n".join(line for line in response(*CALL).split(b"\n") if not line.startswith(b"event:")),
        shows=lambda data, _: b"event:" not in data,
        calls=F,
        example=lambda stream: stream.complete,
    ),
    "`data: [DONE]` at the end (OpenRouter)": Quirk(
        wire=WIRE,
        body=response(*CALL) + b"data: [DONE]\n\n",
        shows=lambda _, events: events[-1] == "[DONE]",
        calls=F,
        example=lambda stream: stream.complete,
    ),
    "`keepalive` / `ping` events, also after the terminal event": Quirk(
        wire=WIRE,
        body=typed_sse({"type": "keepalive"}) + response(*said("Hello")) + typed_sse({"type": "ping"}),
        shows=lambda _, events: not {"keepalive", "ping"}.isdisjoint(types(events)),
        text="Hello",
    ),
    "`sequence_number` missing": Quirk(
        wire=WIRE,
        body=response(*said("Hello")),
        shows=lambda _, events: None in numbers(events),
        text="Hello",
    ),
    "`sequence_number` does not start at 0 (resumed background responses)": Quirk(
        wire=WIRE,
        body=typed_sse(
            {
                "type": "response.output_text.delta",
                "sequence_number": 41,
                "item_id": "m0",
                "output_index": 0,
                "delta": "lo",
            },
            {
                "type": "response.output_text.done",
                "sequence_number": 42,
                "item_id": "m0",
                "output_index": 0,
                "text": "Hello",
            },
            {
                "type": "response.completed",
                "sequence_number": 43,
                "response": {"status": "completed", "output": []},
            },
        ),
        shows=lambda _, events: bool(numbers(events)[0]),
        text="lo",
        example=lambda stream: stream.complete,
    ),
    "message item after a function call": Quirk(
        wire=WIRE,
        body=response(*CALL, *said("Hello", 1)),
        shows=lambda _, events: "message" in [one["type"] for one in items(events, DONE_ITEM)][1:],
        text="Hello",
        calls=F,
        example=lambda stream: stream.complete,
    ),
    "`name` in `function_call_arguments.done`": Quirk(
        wire=WIRE,
        body=response(
            *CALL[:2],
            (f"{ARGUMENTS}.done", {"item_id": "i1", "output_index": 0, "name": "f", "arguments": ONE}),
            CALL[3],
        ),
        shows=lambda _, events: any("name" in one for one in of_type(events, f"response.{ARGUMENTS}.done")),
        calls=F,
    ),
    "`obfuscation` padding member": Quirk(
        wire=WIRE,
        body=response(*[(kind, {**members, "obfuscation": "xK9"}) for kind, members in said("Hello")]),
        shows=lambda _, events: any("obfuscation" in event for event in events),
        text="Hello",
        example=lambda stream: stream.complete,
    ),
    "refusal deltas": Quirk(
        wire=WIRE,
        body=response(
            ("output_item.added", {"output_index": 0, "item": {"id": "m0", "type": "message", "content": []}}),
            ("refusal.delta", {"item_id": "m0", "output_index": 0, "content_index": 0, "delta": "No."}),
            ("refusal.done", {"item_id": "m0", "output_index": 0, "content_index": 0, "refusal": "No."}),
            (
                "output_item.done",
                {
                    "output_index": 0,
                    "item": {"id": "m0", "type": "message", "content": [{"type": "refusal", "refusal": "No."}]},
                },
            ),
        ),
        refusal="No.",
        shows=lambda _, events: "response.refusal.delta" in types(events),
    ),
}
