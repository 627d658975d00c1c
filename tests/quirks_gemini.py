"""Gemini and Vertex: the sixth table of the quirks."""

from __future__ import annotations

from typing import Any

from quirks import Json, Quirk, gemini_calls, parts
from wire_bodies import payload

WIRE = "gemini"
CALL = {"functionCall": {"name": "f", "args": {"x": 1}}}
NAMED = {"functionCall": {"id": "c1", "name": "f", "args": {"x": 1}}}
F = [("s0", "f", {"x": 1})]


def chunk(*sent: Json, finish: Any = None, **members: Any) -> bytes:
    candidate: Json = {"content": {"parts": list(sent), "role": "model"}, "index": 0}
    if finish is not None:
        candidate["finishReason"] = finish
    return payload(WIRE, {"candidates": [{**candidate, **members}]})


def raw(**members: Any) -> bytes:
    return payload(WIRE, members)


def usage(read: int, written: int) -> Json:
    return {"promptTokenCount": read, "candidatesTokenCount": written, "totalTokenCount": read + written}


def candidates(events: list[Any]) -> list[Json]:
    return [one for event in events for one in event.get("candidates") or ()]


def partial(path: str, **value: Any) -> Json:
    return {"jsonPath": path, **value}


def going_on(*pieces: Json, **members: Any) -> Json:
    return {"functionCall": {"partialArgs": list(pieces), "willContinue": True, **members}}


STREAMED = (
    chunk({"functionCall": {"name": "f", "willContinue": True}})
    + chunk(going_on(partial("$.city", stringValue="Par", willContinue=True)))
    + chunk(going_on(partial("$.city", stringValue="is", willContinue=False)))
    + chunk(going_on(partial("$.days[0].count", numberValue=3)))
    + chunk({"functionCall": {"willContinue": True}})
    + chunk({"functionCall": {}})
    + chunk({"text": ""}, finish="STOP")
)
ASKED = [("s0", "f", {"city": "Paris", "days": [{"count": 3}]})]

QUIRKS: dict[str, Quirk] = {
    "functionCall without `id`": Quirk(
        wire=WIRE,
        body=chunk(CALL, finish="STOP"),
        shows=lambda _, events: any("id" not in made for made in gemini_calls(events)),
        calls=F,
    ),
    "functionCall with `id` (Gemini 3)": Quirk(
        wire=WIRE,
        body=chunk(NAMED, finish="STOP"),
        shows=lambda _, events: all("id" in made for made in gemini_calls(events)),
        calls=[("c1", "f", {"x": 1})],
    ),
    "`thoughtSignature` on the functionCall part": Quirk(
        wire=WIRE,
        body=chunk({**NAMED, "thoughtSignature": "c2ln"}, finish="STOP"),
        keeps="c2ln",
        shows=lambda _, events: any("functionCall" in part and "thoughtSignature" in part for part in parts(events)),
        calls=[("c1", "f", {"x": 1})],
    ),
    "`thoughtSignature` on an empty text part": Quirk(
        wire=WIRE,
        body=chunk({"text": "Hello"}) + chunk({"text": "", "thoughtSignature": "c2ln"}, finish="STOP"),
        keeps="c2ln",
        shows=lambda _, events: any(part.get("text") == "" and "thoughtSignature" in part for part in parts(events)),
        text="Hello",
    ),
    "`thoughtSignature` on a text part": Quirk(
        wire=WIRE,
        body=chunk({"text": "Hello", "thoughtSignature": "c2ln"}, finish="STOP"),
        keeps="c2ln",
        shows=lambda _, events: any(part.get("text") and "thoughtSignature" in part for part in parts(events)),
        text="Hello",
    ),
    "parallel calls: only some parts carry a signature, or none": Quirk(
        wire=WIRE,
        body=chunk({**CALL, "thoughtSignature": "c2ln"}, {"functionCall": {"name": "g", "args": {}}}, finish="STOP"),
        keeps="c2ln",
        shows=lambda _, events: any(
            "functionCall" in part and "thoughtSignature" not in part for part in parts(events)
        ),
        calls=[*F, ("s1", "g", {})],
    ),
    "several calls in one chunk": Quirk(
        wire=WIRE,
        body=chunk(CALL, {"functionCall": {"name": "g", "args": {}}}, finish="STOP"),
        shows=lambda _, events: any(len(gemini_calls([event])) > 1 for event in events),
        calls=[*F, ("s1", "g", {})],
    ),
    "calls spread over chunks": Quirk(
        wire=WIRE,
        body=chunk(CALL) + chunk({"functionCall": {"name": "g", "args": {}}}) + chunk({"text": ""}, finish="STOP"),
        shows=lambda _, events: sum(bool(gemini_calls([event])) for event in events) > 1,
        calls=[*F, ("s1", "g", {})],
    ),
    "`partialArgs` with `jsonPath` and `willContinue` (streamed arguments)": Quirk(
        wire=WIRE,
        body=STREAMED,
        shows=lambda _, events: any("partialArgs" in made for made in gemini_calls(events)),
        calls=ASKED,
    ),
    "`functionCall: {}` as terminator": Quirk(
        wire=WIRE,
        body=STREAMED,
        shows=lambda _, events: {} in gemini_calls(events),
        calls=ASKED,
    ),
    "`args` missing or `{}`": Quirk(
        wire=WIRE,
        body=chunk({"functionCall": {"name": "f"}}, {"functionCall": {"name": "g", "args": {}}}, finish="STOP"),
        shows=lambda _, events: any(not made.get("args") for made in gemini_calls(events)),
        calls=[("s0", "f", {}), ("s1", "g", {})],
    ),
    "`finishReason: STOP` with a call": Quirk(
        wire=WIRE,
        body=chunk(CALL, finish="STOP"),
        shows=lambda _, events: "STOP" in [one.get("finishReason") for one in candidates(events)],
        calls=F,
        stop="tool_calls",
    ),
    "`UNEXPECTED_TOOL_CALL`": Quirk(
        wire=WIRE,
        body=chunk(CALL, finish="UNEXPECTED_TOOL_CALL"),
        shows=lambda _, events: "UNEXPECTED_TOOL_CALL" in [one.get("finishReason") for one in candidates(events)],
        half=[("s0", "f", '{"x":1}')],
        stop="error",
    ),
    "`finishReason` as an integer (`$alt=json;enum-encoding=int`)": Quirk(
        wire=WIRE,
        body=chunk({"text": "Hello"}, finish=0) + chunk({"text": ""}, finish=1),
        shows=lambda _, events: 1 in [one.get("finishReason") for one in candidates(events)],
        text="Hello",
        stop="stop",
    ),
    "`finishMessage`": Quirk(
        wire=WIRE,
        body=chunk(CALL, finish="STOP", finishMessage="Model generated function call(s)."),
        shows=lambda _, events: any("finishMessage" in one for one in candidates(events)),
        calls=F,
    ),
    "no content, no parts": Quirk(
        wire=WIRE,
        body=chunk({"text": "Hello"})
        + raw(candidates=[{"content": {"role": "model"}}])
        + raw(candidates=[{"finishReason": "STOP"}]),
        shows=lambda _, events: any(not (one.get("content") or {}).get("parts") for one in candidates(events)),
        text="Hello",
        stop="stop",
    ),
    "no candidates; `promptFeedback.blockReason`": Quirk(
        wire=WIRE,
        body=raw(promptFeedback={"blockReason": "SAFETY"}, usageMetadata=usage(5, 0)),
        shows=lambda _, events: any("candidates" not in event for event in events),
        stop="content_filter",
        example=lambda stream: not stream.complete or stream.stop_reason == "content_filter",
    ),
    "usageMetadata in several chunks (cumulative)": Quirk(
        wire=WIRE,
        body=raw(candidates=[{"content": {"parts": [{"text": "Hel"}]}}], usageMetadata=usage(5, 1))
        + raw(candidates=[{"content": {"parts": [{"text": "lo"}]}, "finishReason": "STOP"}], usageMetadata=usage(5, 7)),
        shows=lambda _, events: sum("usageMetadata" in event for event in events) > 1,
        text="Hello",
        usage=(5, 7, 12),
    ),
    "text before or after a functionCall": Quirk(
        wire=WIRE,
        body=chunk({"text": "Hel"}) + chunk(CALL) + chunk({"text": "lo"}, finish="STOP"),
        shows=lambda _, events: bool(gemini_calls(events)) and any(part.get("text") for part in parts(events)),
        text="Hello",
        calls=[("s1", "f", {"x": 1})],
    ),
    "whole answer in one chunk": Quirk(
        wire=WIRE,
        body=chunk({"text": "hm", "thought": True}, {"text": "Hello"}, CALL, finish="STOP"),
        shows=lambda _, events: len(events) == 1,
        text="Hello",
        reasoning="hm",
        calls=[("s2", "f", {"x": 1})],
        example=lambda stream: stream.complete,
    ),
    "error object in the event stream": Quirk(
        wire=WIRE,
        body=chunk({"text": "Hello"}) + raw(error={"code": 503, "message": "overloaded", "status": "UNAVAILABLE"}),
        shows=lambda _, events: any("error" in event for event in events),
        text="Hello",
        error=("ProviderError", "overloaded"),
    ),
}
