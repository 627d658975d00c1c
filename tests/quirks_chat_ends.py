"""Chunks, ends, usage and errors of chat completions: the third table of the quirks."""

from __future__ import annotations

from typing import Any

from feeding import call, delta, sse
from quirks import Quirk, choices, deltas, entries, finishes, usages

WIRE = "openai-chat"
WHOLE = delta(tool_calls=[call('{"x":1}', id="c1", name="f")])
F = [("c1", "f", {"x": 1})]
USAGE = {"prompt_tokens": 5, "completion_tokens": 7, "total_tokens": 12}
HELLO, STOP = delta(content="Hello"), delta(finish="stop")


def chunks(events: list[Any]) -> list[dict[str, Any]]:
    return [event for event in events if isinstance(event, dict)]


def chunk_ids(events: list[Any]) -> list[Any]:
    return [event.get("id") for event in chunks(events)]


def _goes_on(events: list[Any]) -> bool:
    ended = False
    for choice in choices(events):
        if ended and not choice.get("finish_reason"):
            return True
        ended = ended or bool(choice.get("finish_reason"))
    return False


QUIRKS: dict[str, Quirk] = {
    "`finish_reason: stop` although there are tool calls (forced tool_choice, Gemini and Ollama compatibility)": Quirk(
        wire=WIRE,
        body=sse(WHOLE, STOP),
        shows=lambda _, events: "stop" in finishes(events) and bool(entries(events)),
        calls=F,
        stop="tool_calls",
    ),
    "`finish_reason` in more than one chunk": Quirk(
        wire=WIRE,
        body=sse(WHOLE, delta(finish="tool_calls"), {**delta(finish="tool_calls"), "usage": USAGE}),
        shows=lambda _, events: len(finishes(events)) > 1,
        calls=F,
        usage=(5, 7, 12),
        example=lambda stream: type(stream.error).__name__ == "ProviderError",
    ),
    "more chunks with a choice after `finish_reason`": Quirk(
        wire=WIRE,
        body=sse(HELLO, STOP, delta(content=""), done=False),
        shows=lambda _, events: _goes_on(events),
        text="Hello",
        stop="stop",
    ),
    "no `finish_reason` at all": Quirk(
        wire=WIRE,
        body=sse(WHOLE),
        shows=lambda _, events: not finishes(events),
        calls=F,
        stop="tool_calls",
    ),
    "`finish_reason` outside the OpenAI set (`eos`)": Quirk(
        wire=WIRE,
        body=sse(HELLO, delta(finish="eos")),
        shows=lambda _, events: "eos" in finishes(events),
        text="Hello",
        stop="stop",
    ),
    "first chunk has `choices: []` (Azure, Copilot)": Quirk(
        wire=WIRE,
        body=sse({"choices": [], "prompt_filter_results": []}, WHOLE, delta(finish="tool_calls")),
        shows=lambda _, events: chunks(events)[0]["choices"] == [],
        calls=F,
    ),
    "usage-only last chunk with `choices: []`": Quirk(
        wire=WIRE,
        body=sse(HELLO, STOP, {"choices": [], "usage": USAGE}),
        shows=lambda _, events: chunks(events)[-1]["choices"] == [] and bool(chunks(events)[-1].get("usage")),
        text="Hello",
        usage=(5, 7, 12),
    ),
    "usage in the finish chunk": Quirk(
        wire=WIRE,
        body=sse(HELLO, {**STOP, "usage": USAGE}),
        shows=lambda _, events: any(finishes([event]) for event in usages(events)),
        text="Hello",
        usage=(5, 7, 12),
    ),
    "usage in several chunks (cumulative)": Quirk(
        wire=WIRE,
        body=sse({**HELLO, "usage": {"prompt_tokens": 5, "completion_tokens": 1}}, {**STOP, "usage": USAGE}),
        shows=lambda _, events: len(usages(events)) > 1,
        text="Hello",
        usage=(5, 7, 12),
    ),
    "usage in `x_groq`": Quirk(
        wire=WIRE,
        body=sse({**HELLO, "x_groq": {"id": "r1"}}, {**STOP, "x_groq": {"id": "r1", "usage": USAGE}}),
        shows=lambda _, events: any((event.get("x_groq") or {}).get("usage") for event in chunks(events)),
        text="Hello",
        usage=(5, 7, 12),
    ),
    "`[DONE]` missing": Quirk(
        wire=WIRE,
        body=sse(WHOLE, delta(finish="tool_calls"), done=False),
        shows=lambda _, events: "[DONE]" not in events,
        calls=F,
        stop="tool_calls",
        example=lambda stream: stream.complete and bool(stream.summary()["text"]),
    ),
    "`role` in every chunk": Quirk(
        wire=WIRE,
        body=sse(delta(role="assistant", content="Hel"), delta(role="assistant", content="lo"), STOP),
        shows=lambda _, events: sum("role" in one for one in deltas(events)) > 1,
        text="Hello",
    ),
    "`role` never sent, or null": Quirk(
        wire=WIRE,
        body=sse(delta(role=None, content="Hello"), STOP),
        shows=lambda _, events: not any(one.get("role") for one in deltas(events)),
        text="Hello",
    ),
    "chunk `id` empty, changing or missing": Quirk(
        wire=WIRE,
        body=sse({"id": "", **delta(content="Hel")}, {"id": "a", **delta(content="lo")}, {"id": "b", **STOP}),
        shows=lambda _, events: len({*chunk_ids(events)}) > 1 or not all(chunk_ids(events)),
        text="Hello",
    ),
    "`obfuscation` padding member": Quirk(
        wire=WIRE,
        body=sse({**HELLO, "obfuscation": "xK9"}, {**STOP, "obfuscation": "q"}),
        shows=lambda _, events: any("obfuscation" in event for event in chunks(events)),
        text="Hello",
    ),
    "`error` object in a `data:` event": Quirk(
        wire=WIRE,
        body=sse(HELLO, {"error": {"message": "overloaded", "code": 503}}, done=False),
        shows=lambda _, events: any(event.get("error") for event in chunks(events)),
        text="Hello",
        error=("ProviderError", "overloaded"),
    ),
    "`error` next to `choices`, then `[DONE]`": Quirk(
        wire=WIRE,
        body=sse(delta(content="Hel"), {**delta(content="lo", finish="error"), "error": {"message": "overloaded"}}),
        shows=lambda _, events: any(event.get("error") and "choices" in event for event in chunks(events)),
        text="Hello",
        error=("ProviderError", "overloaded"),
    ),
    "several choices (n>1)": Quirk(
        wire=WIRE,
        body=sse(
            delta(content="Hel"),
            delta(content="Good ", choice=1),
            delta(content="lo"),
            delta(content="day", choice=1),
            STOP,
            delta(finish="stop", choice=1),
        ),
        shows=lambda _, events: any(choice.get("index") for choice in choices(events)),
        text="HelloGood day",
        stop="stop",
    ),
}
