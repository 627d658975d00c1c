"""Recorded bodies read in the plainest way, line by line with `json`: what our decoders are held against.

It knows nothing of streams that come in pieces, and gives up on lines that it cannot read.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import aws_frames
from corpus import WIRES, body

Placed = tuple[int, Any]
"""How many bytes of the body an event needs, and the event."""


def events(row: dict[str, Any]) -> Iterator[Placed]:
    """Every event of a body that stands on one line (or in a JSON array), in order."""
    data = body(row)
    if row["kind"] == "jsonarray":
        yield from _elements(data.decode())
        return
    if row["kind"] == "eventstream":
        yield from aws_frames.said(data)
        return
    at = 0
    for line in data.splitlines(keepends=True):
        payload = line.strip()
        if row["kind"] == "sse":
            payload = payload.removeprefix(b"data:").strip()
        event = "[DONE]" if payload == b"[DONE]" else _json(payload)
        if event is not None:
            yield at + len(line.rstrip()), event
        at += len(line)


def _json(text: bytes) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None


def _elements(text: str) -> Iterator[Placed]:
    at, decoder = text.index("[") + 1, json.JSONDecoder()
    while True:
        while text[at : at + 1] in (" ", ",", "\r", "\n"):
            at += 1
        if text[at : at + 1] in ("]", ""):
            return
        event, at = decoder.raw_decode(text, at)
        yield len(text[:at].encode()), event


def proper_end(row: dict[str, Any]) -> int | None:
    """How many bytes of a body hold its provider's proper end; None where that never comes."""
    wire = WIRES[row["shape"]]
    return next((place for place, event in events(row) if _is_end(wire, event)), None)


def _type(event: Any) -> Any:
    return event.get("type") if isinstance(event, dict) else None


def _is_end(wire: str, event: Any) -> bool:
    if not isinstance(event, dict):
        return wire == "openai-chat" and bool(event == "[DONE]")
    if wire == "openai-chat":
        return any(choice.get("finish_reason") for choice in event.get("choices") or ())
    if wire == "openai-responses":
        return _type(event) in ("response.completed", "response.incomplete")
    if wire == "anthropic":
        return bool(_type(event) == "message_stop")
    if wire == "gemini":
        blocked = (event.get("promptFeedback") or {}).get("blockReason")
        return bool(blocked) or any(one.get("finishReason") for one in event.get("candidates") or ())
    if wire == "bedrock":
        ended = "messageStop" in event or _type(event) == "message_stop"
        return ended or bool("amazon-bedrock-invocationMetrics" in event and "metadata" not in event)
    if wire == "cohere":
        return bool(_type(event) == "message-end")
    return event.get("done") is True


_OPAQUE = ("signature", "thoughtSignature", "redactedContent")


def opaque(row: dict[str, Any]) -> list[str]:
    """What the provider wants back unchanged: signatures, and what it encrypted."""
    found: list[str] = []
    for _, event in events(row):
        # A Responses item says its last word when it is done: what came before may differ.
        if row["shape"] != "responses" or _type(event) == "response.output_item.done":
            _collect(event, found)
    return found


def _collect(value: Any, found: list[str]) -> None:
    if isinstance(value, list):
        for one in value:
            _collect(one, found)
    elif isinstance(value, dict):
        hidden = value.get("type") in ("redacted_thinking", "reasoning.encrypted")
        for name, one in value.items():
            if name in _OPAQUE or name.startswith("encrypted") or (hidden and name == "data"):
                found += [one] if one and isinstance(one, str) else []
            else:
                _collect(one, found)


def server_tools(row: dict[str, Any]) -> set[str]:
    """The kinds of blocks that a tool on the provider's side left, of those that the index names."""
    if row["shape"] == "responses":
        done = [event["item"]["type"] for _, event in events(row) if _type(event) == "response.output_item.done"]
        return {*row["server_tools"]}.intersection(done)
    # What was found by searching comes beside the answer, as citations; Groq's tools leave nothing to send back.
    return {*row["server_tools"]} - {"groundingMetadata", "urlContextMetadata", "annotations", "executed_tools"}
