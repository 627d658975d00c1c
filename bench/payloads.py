"""What is measured: chat streams made from the format, the same on every run, and the recordings where they are."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

ROOT = Path(__file__).resolve().parents[1]
CORPUS = ROOT.parent / "shared" / "corpus"

READ = 16 * 1024
"""One read of a fast connection."""
PACKET = 1400
"""One read when every network packet is read by itself."""

Row = dict[str, Any]

_SENTENCE = (
    "the weather in Paris is mild and a light wind comes from the west so take a coat , not an umbrella . "
    'naïve "quoted" café — 18 °C \n and then 東京 🦊'
)
_WORDS = _SENTENCE.split(" ")
_CHUNK_SIZE = 253
_PADDING = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"


def sse(payloads: Iterable[str], *, done: bool = True, end: str = "\n\n") -> bytes:
    """Payloads as a body of server-sent events."""
    lines = [f"data: {payload}{end}" for payload in payloads]
    if done:
        lines.append(f"data: [DONE]{end}")
    return "".join(lines).encode()


def dump(value: Any) -> str:
    """JSON as providers write it: compact, no escapes beyond the needed ones."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def chunk(delta: dict[str, Any] | None, *, finish: str | None = None, usage: Any = None) -> dict[str, Any]:
    """One chat chunk as OpenAI sends it; `delta` None leaves the list of choices empty."""
    choices = [] if delta is None else [{"index": 0, "delta": delta, "finish_reason": finish}]
    return {
        "id": "chatcmpl-CX3Rb0wXmVrDfkUp9Zt7",
        "object": "chat.completion.chunk",
        "created": 1760000000,
        "model": "gpt-4o-2024-08-06",
        "choices": choices,
        "usage": usage,
    }


def padded(value: dict[str, Any], number: int) -> str:
    """The chunk with OpenAI's `obfuscation`, which brings short chunks to one size."""
    room = _CHUNK_SIZE - len(dump({**value, "obfuscation": ""}).encode())
    start = number * 7 % len(_PADDING)
    return dump({**value, "obfuscation": (_PADDING * 9)[start : start + max(room, 3)]})


USAGE = {
    "prompt_tokens": 1117,
    "completion_tokens": 1046,
    "total_tokens": 2163,
    "prompt_tokens_details": {"cached_tokens": 1024, "audio_tokens": 0, "text_tokens": 93, "image_tokens": 0},
    "completion_tokens_details": {
        "reasoning_tokens": 64,
        "audio_tokens": 0,
        "accepted_prediction_tokens": 0,
        "rejected_prediction_tokens": 0,
    },
    "cost_details": {"upstream_inference_cost": None, "input_cost": 0.0021, "output_cost": 0.0104},
}


def text_stream(events: int = 1000) -> bytes:
    """A long answer in words."""
    choose = random.Random(1).choice
    made = [padded(chunk({"role": "assistant", "content": "", "refusal": None}), 0)]
    made += [padded(chunk({"content": choose(_WORDS) + " "}), number) for number in range(events)]
    made.append(padded(chunk({}, finish="stop"), 3))
    made.append(padded(chunk(None, usage=USAGE), 5))
    return sse(made)


def argument_text(size: int) -> str:
    """The JSON arguments of a call that writes a file, about `size` characters, with the usual share of escapes."""
    choose = random.Random(2).choice
    words: list[str] = []
    room = size - 60
    while room > 0:
        words.append(choose(_WORDS) + choose(("\n", " ", " ", " ")))
        room -= len(dump(words[-1])) - 2
    return dump({"path": "notes/today.md", "overwrite": True, "content": "".join(words)})


def call_payloads(arguments: str, piece: int, *, calls: int = 1) -> Iterator[str]:
    """The chunks of an answer that makes `calls` calls with these arguments, `piece` characters in a delta."""
    number = 0
    for index in range(calls):
        opened = {"index": index, "id": f"call_{index:024}", "type": "function"}
        opened["function"] = {"name": "write_file", "arguments": ""}
        yield padded(chunk({"role": "assistant", "content": None, "tool_calls": [opened]}), number)
        for at in range(0, len(arguments), piece):
            number += 1
            delta = {"index": index, "function": {"arguments": arguments[at : at + piece]}}
            yield padded(chunk({"tool_calls": [delta]}), number)
    yield padded(chunk({}, finish="tool_calls"), number)
    yield padded(chunk(None, usage=USAGE), number)


def call_stream(events: int = 1000) -> bytes:
    """Two parallel calls whose arguments come in small pieces."""
    return sse(call_payloads(argument_text(events // 2 * 12), 12, calls=2))


def pieces(body: bytes, size: int) -> list[bytes]:
    """The body in reads of one size."""
    return [body[at : at + size] for at in range(0, len(body), size)]


def event_data(body: bytes) -> list[bytes]:
    """The JSON payloads of a body, cut out by the plainest means: what a parser would be handed, at no cost."""
    lines = (line[5:].strip() for line in body.splitlines() if line.startswith(b"data:"))
    return [line for line in lines if line and line != b"[DONE]"]


def corpus_rows(*, core: bool) -> list[Row]:
    """The index rows of the recorded chat streams, the core set or all; none where the recordings are not here."""
    if not CORPUS.is_dir():
        return []
    rows: list[Row] = [msgspec.json.decode(line) for line in (CORPUS / "index.jsonl").read_bytes().splitlines()]
    return [row for row in rows if row["shape"] == "chat" and (row["core"] or not core)]


def corpus_body(row: Row) -> bytes:
    """The recorded bytes."""
    return (CORPUS / "streams" / f"{row['case']}.{row['kind']}").read_bytes()


def expected_calls() -> dict[str, list[dict[str, Any]]]:
    """The calls that the recording clients echoed in their next request, by case."""
    lines = (CORPUS / "expected_calls.jsonl").read_bytes().splitlines()
    return {row["case"]: row["calls"] for row in map(msgspec.json.decode, lines)}
