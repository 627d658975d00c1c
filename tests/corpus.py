"""The recorded streams in ../shared/corpus: read there, never copied. Without that folder those tests are skipped."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import pytest

ROOT = Path(__file__).resolve().parents[2] / "shared" / "corpus"

needs_corpus = pytest.mark.skipif(not ROOT.is_dir(), reason="the recordings (../shared/corpus) are not here")

WIRES = {
    "chat": "openai-chat",
    "responses": "openai-responses",
    "messages": "anthropic",
    "generatecontent": "gemini",
    "ollama": "ollama",
    "converse": "bedrock",
    "invoke/anthropic-messages": "bedrock",
    "invoke/nova": "bedrock",
    "invoke/other": "bedrock",
    "cohere-v2": "cohere",
}
"""The index's word for a format, and ours."""


@cache
def index() -> list[dict[str, Any]]:
    """Every line of the index; none where the recordings are not here."""
    if not ROOT.is_dir():
        return []
    return [msgspec.json.decode(line) for line in (ROOT / "index.jsonl").read_bytes().splitlines()]


def rows(shape: str, *, core: bool) -> list[dict[str, Any]]:
    """The index rows of one wire shape: the core set, or all."""
    return [row for row in index() if row["shape"] == shape and (row["core"] or not core)]


def every_row(*, core: bool) -> list[dict[str, Any]]:
    """The index rows of every format that we read: the core set, or all."""
    return [row for shape in WIRES for row in rows(shape, core=core)]


def expected_calls() -> dict[str, list[dict[str, Any]]]:
    """What the recording clients themselves echoed in their next request, by case."""
    lines = (ROOT / "expected_calls.jsonl").read_bytes().splitlines()
    return {row["case"]: row["calls"] for row in map(msgspec.json.decode, lines)}


def body(row: dict[str, Any]) -> bytes:
    """The recorded bytes."""
    return (ROOT / "streams" / f"{row['case']}.{row['kind']}").read_bytes()


def story(row: dict[str, Any]) -> dict[str, Any]:
    """Where the recording comes from, its request and the follow-up."""
    loaded: dict[str, Any] = msgspec.json.decode((ROOT / "streams" / f"{row['case']}.json").read_bytes())
    return loaded


def followup(row: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]] | None:
    """The request that led to this body and the one its client sent next, where that one was recorded too."""
    told = story(row)
    after = (told["chain"].get("followup") or {}).get("case")
    if after is None or not (ROOT / "streams" / f"{after}.json").exists():
        return None
    return told["request"], story({"case": after})["request"]
