"""The rows of the table of quirks as cases: what a case is, and what both our own bodies and recordings are asked.

Each row has a body of our own making that shows the quirk, what must come of it, and a test of whether any body shows
it: our own must, so that the case is no empty one, and so must the recording that the row names.
"""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Callable, Iterator
from typing import Any

import msgspec

import aws_frames
from toolwire import Stream

Json = dict[str, Any]
Calls = list[tuple[str, str, Any]]
Shown = Callable[[bytes, list[Any]], bool]
"""Whether these bytes, or these events, have the quirk."""


class Quirk(msgspec.Struct, kw_only=True):
    """One row. What is not said must not be there: text, reasoning, calls, an error."""

    wire: str
    body: bytes
    shows: Shown
    text: str = ""
    reasoning: str = ""
    calls: Calls = []
    """id, name and arguments of the calls that may run."""
    half: Calls = []
    """id, name and the text of the arguments of those that may not."""
    refusal: str = ""
    keeps: str = ""
    """What the provider wants back and no event shows: it must be in the message for the history."""
    stop: str | None = None
    """Looked at where it is given."""
    usage: tuple[int, int, int] | None = None
    """Likewise: read, written, both."""
    error: tuple[str, str] | None = None
    """The type of the error and some of its words."""
    example: Callable[[Stream], bool] | None = None
    """What holds for the recording that the row names, where that ends otherwise than our body for other reasons."""


def payloads(data: bytes, wire: str) -> list[Any]:
    """The events of a body, read in the plainest way: JSON of one line each, or of one array; `[DONE]` is text."""
    if wire == "bedrock":
        return [_aws_event(headers, json.loads(payload)) for _, headers, payload in aws_frames.messages(data)]
    if data.startswith(b"[{"):
        return [*json.loads(data)]
    found = []
    for line in data.replace(b"\r", b"\n").split(b"\n"):
        line = line.strip().removeprefix(b"data:").strip()
        if line == b"[DONE]":
            found.append("[DONE]")
        try:
            found.append(json.loads(line))
        except ValueError:
            continue
    return found


def _aws_event(headers: dict[str, str], event: Json) -> Json:
    """One event of Bedrock's with its type; what an invoked model says in it stands beside the rest."""
    inner = json.loads(b64decode(event["bytes"])) if "bytes" in event else {}
    return {**event, **inner, ":event-type": headers.get(":event-type")}


def types(events: list[Any]) -> list[Any]:
    return [event.get("type") for event in events if isinstance(event, dict)]


def of_type(events: list[Any], *kinds: str) -> list[Json]:
    return [event for event in events if isinstance(event, dict) and event.get("type") in kinds]


def choices(events: list[Any]) -> list[Json]:
    return [one for event in events if isinstance(event, dict) for one in event.get("choices") or ()]


def deltas(events: list[Any]) -> list[Json]:
    return [choice["delta"] for choice in choices(events) if choice.get("delta")]


def entries(events: list[Any]) -> list[Json]:
    """Every entry of `tool_calls`, in order."""
    return [entry for delta in deltas(events) for entry in delta.get("tool_calls") or ()]


def first_entries(events: list[Any]) -> list[Json]:
    return [entry for entry, is_first in _placed(events) if is_first]


def later_entries(events: list[Any]) -> list[Json]:
    return [entry for entry, is_first in _placed(events) if not is_first]


def _placed(events: list[Any]) -> Iterator[tuple[Json, bool]]:
    known: set[Any] = set()
    for entry in entries(events):
        key = entry.get("index") if entry.get("index") is not None else entry.get("id")
        yield entry, key not in known or key is None
        known.add(key)


def function(entry: Json) -> Json:
    return entry.get("function") or {}


def arguments_of(events: list[Any]) -> list[str]:
    """The argument text of each call of the first answer, put together."""
    texts: dict[Any, str] = {}
    for choice in choices(events):
        for entry in (choice.get("delta") or {}).get("tool_calls") or ():
            key = (choice.get("index"), entry.get("index"), None if "index" in entry else entry.get("id"))
            texts[key] = texts.get(key, "") + (function(entry).get("arguments") or "")
    return list(texts.values())


def is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def finishes(events: list[Any]) -> list[Any]:
    return [choice["finish_reason"] for choice in choices(events) if choice.get("finish_reason")]


def usages(events: list[Any]) -> list[Any]:
    return [event for event in events if isinstance(event, dict) and event.get("usage")]


def parts(events: list[Any]) -> list[Json]:
    """Every part of Gemini's candidates."""
    return [
        part
        for event in events
        for candidate in event.get("candidates") or ()
        for part in (candidate.get("content") or {}).get("parts") or ()
    ]


def gemini_calls(events: list[Any]) -> list[Json]:
    return [part["functionCall"] for part in parts(events) if "functionCall" in part]
