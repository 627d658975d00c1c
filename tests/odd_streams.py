"""What the tests of odd and disordered streams share: reading both ways, and events of single formats by hand."""

from __future__ import annotations

from typing import Any

from feeding import bytewise, check_shape, delta, merged, read, sse, typed_sse, whole
from toolwire import SegmentEvent, Stream
from toolwire.errors import ToolwireError

ARGUMENTS = "function_call_arguments"
"""The middle of the names of events with arguments, of the Responses API."""


def outcome(data: bytes, wire: str) -> tuple[Stream, list[SegmentEvent]]:
    """The stream fed whole, with its events merged; byte by byte it must be the same, and any error is typed."""
    stream, made = read(whole(data), wire)
    check_shape(made)
    events = list(merged(made))
    cut, cut_made = read(bytewise(data), wire)
    assert list(merged(cut_made)) == events
    assert cut.summary() == stream.summary()
    assert stream.complete or isinstance(stream.error, ToolwireError)
    assert stream.complete or not stream.invocations
    return stream, events


def made_calls(stream: Stream) -> list[tuple[str, str, Any]]:
    """The calls that may run: id, name, arguments."""
    return [(made.call_id, made.tool_name, made.arguments) for made in stream.invocations]


def chat(*deltas: dict[str, Any]) -> bytes:
    """A chat completion of these entries of `tool_calls`, each in a chunk of its own."""
    return sse(*[delta(tool_calls=[one]) for one in deltas], delta(finish="tool_calls"))


def item(index: Any, item_id: Any, call_id: str, arguments: str = "") -> dict[str, Any]:
    """The members of an event about a whole call, of the Responses API."""
    members = {"type": "function_call", "id": item_id, "call_id": call_id, "name": "f", "arguments": arguments}
    return {"output_index": index, "item": members}


def response(*sent: tuple[str, dict[str, Any]]) -> bytes:
    """A response of these events, completed."""
    made = [{"type": f"response.{kind}", **members} for kind, members in sent]
    return typed_sse(*made, {"type": "response.completed", "response": {"status": "completed", "output": []}})


def message(*sent: dict[str, Any]) -> bytes:
    """A message of Anthropic's of these events, begun and ended."""
    end = {"type": "message_delta", "delta": {"stop_reason": "tool_use"}}
    return typed_sse({"type": "message_start", "message": {}}, *sent, end, {"type": "message_stop"})


def block(index: Any, call_id: str, *pieces: str) -> list[dict[str, Any]]:
    """The events of one call in it."""
    at = {} if index is None else {"index": index}
    start = {"type": "tool_use", "id": call_id, "name": "f", "input": {}}
    return [
        {"type": "content_block_start", **at, "content_block": start},
        *[
            {"type": "content_block_delta", **at, "delta": {"type": "input_json_delta", "partial_json": piece}}
            for piece in pieces
        ],
        {"type": "content_block_stop", **at},
    ]
