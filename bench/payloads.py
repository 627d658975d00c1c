"""What streams are made of: framing, words, arguments, and the recordings where they are."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable
from functools import cache
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
WORDS = _SENTENCE.split(" ")
_PADDING = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789" * 9


def dump(value: Any) -> str:
    """JSON as providers write it: compact, no escapes beyond the needed ones."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def sse(payloads: Iterable[str], *, done: bool = True, end: str = "\n\n") -> bytes:
    """Payloads as a body of server-sent events, with `[DONE]` or without."""
    lines = [f"data: {payload}{end}" for payload in payloads]
    if done:
        lines.append(f"data: [DONE]{end}")
    return "".join(lines).encode()


def typed_sse(events: Iterable[dict[str, Any]], *, named: bool = True, padding: bool = False) -> bytes:
    """Events whose `type` stands before them too, as Anthropic and the Responses API send them."""
    made = []
    for number, event in enumerate(events):
        text = dump(event)
        if padding:  # blanks before the last brace, which hide how long a piece is
            text = f"{text[:-1]}{' ' * (number * 7 % 15)}}}"
        made.append(f"event: {event['type']}\ndata: {text}\n\n" if named else f"data: {text}\n\n")
    return "".join(made).encode()


def lines(values: Iterable[Any]) -> bytes:
    """One JSON value a line."""
    return "".join(f"{dump(value)}\n" for value in values).encode()


def json_array(values: Iterable[Any], *, end: str = "\r\n") -> bytes:
    """One JSON array over the whole body, set out as Google sets it out."""
    made = [json.dumps(value, ensure_ascii=False, indent=2) for value in values]
    return ("[" + f"\n,{end}".join(made) + "\n]").encode()


def obfuscated(value: dict[str, Any], number: int, size: int) -> dict[str, Any]:
    """The event with OpenAI's `obfuscation`, which brings short events to one size in bytes."""
    room = size - len(dump({**value, "obfuscation": ""}).encode())
    start = number * 7 % 62
    return {**value, "obfuscation": _PADDING[start : start + max(room, 3)]}


def some_words(count: int, words: int = 1) -> list[str]:
    """Pieces of text, the same on every run."""
    choose = random.Random(1).choice
    return ["".join(choose(WORDS) + " " for _ in range(words)) for _ in range(count)]


def argument_text(size: int) -> str:
    """The JSON arguments of a call that writes a file, about `size` characters, with the usual share of escapes."""
    return dump(argument_values(size))


def argument_values(size: int) -> dict[str, Any]:
    """The same, not yet written as JSON."""
    choose = random.Random(2).choice
    words: list[str] = []
    room = size - 60
    while room > 0:
        words.append(choose(WORDS) + choose(("\n", " ", " ", " ")))
        room -= len(dump(words[-1])) - 2
    return {"path": "notes/today.md", "overwrite": True, "content": "".join(words)}


def split(text: str, size: int) -> list[str]:
    """The text in pieces of one size."""
    return [text[at : at + size] for at in range(0, len(text), size)]


def pieces(body: bytes, size: int) -> list[bytes]:
    """The body in reads of one size."""
    return [body[at : at + size] for at in range(0, len(body), size)]


def payloads(body: bytes) -> list[bytes]:
    """The JSON payloads of a body, cut out by the plainest means: what a parser would be handed, at no cost."""
    if body[:1] == b"\0":
        from .aws import taken_apart

        return [payload for _, _, payload in taken_apart(body)]
    if body.lstrip().startswith(b"["):
        return _elements(body.decode().strip())
    found = body.splitlines()
    if not body.lstrip().startswith(b"{"):
        found = [line[5:] for line in found if line.startswith(b"data:")]
    return [line for line in map(bytes.strip, found) if line and line != b"[DONE]"]


def _elements(array: str) -> list[bytes]:
    """The elements as they stand, blanks and all."""
    found: list[bytes] = []
    decoder, at = json.JSONDecoder(), 1
    while array[at : at + 1] not in ("]", ""):
        if array[at] in ", \r\n":
            at += 1
            continue
        _, end = decoder.raw_decode(array, at)
        found.append(array[at:end].encode())
        at = end
    return found


@cache
def _index() -> list[Row]:
    if not CORPUS.is_dir():
        return []
    return [msgspec.json.decode(line) for line in (CORPUS / "index.jsonl").read_bytes().splitlines()]


def corpus_rows(shape: str | tuple[str, ...], *, core: bool) -> list[Row]:
    """The index rows of these shapes, the core set or all; none where the recordings are not here."""
    shapes = (shape,) if isinstance(shape, str) else shape
    return [row for row in _index() if row["shape"] in shapes and (row["core"] or not core) and _is_right(row)]


def _is_right(row: Row) -> bool:
    """One row is said to be Ollama's and is none: Ollama sends no events."""
    return bool(row["shape"] != "ollama" or row["kind"] == "ndjson")


def corpus_body(row: Row) -> bytes:
    """The recorded bytes."""
    return (CORPUS / "streams" / f"{row['case']}.{row['kind']}").read_bytes()


@cache
def expected_calls() -> dict[str, list[dict[str, Any]]]:
    """The calls that the recording clients echoed in their next request, by case."""
    found = (CORPUS / "expected_calls.jsonl").read_bytes().splitlines()
    return {row["case"]: row["calls"] for row in map(msgspec.json.decode, found)}
