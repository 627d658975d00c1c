"""The recorded streams in ../shared/corpus: read there, never copied. Without that folder those tests are skipped."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

ROOT = Path(__file__).resolve().parents[2] / "shared" / "corpus"

needs_corpus = pytest.mark.skipif(not ROOT.is_dir(), reason="the recordings (../shared/corpus) are not here")


def rows(shape: str, *, core: bool) -> list[dict[str, Any]]:
    """The index rows of one wire shape: the core set, or all."""
    if not ROOT.is_dir():
        return []
    lines = (ROOT / "index.jsonl").read_bytes().splitlines()
    every = [msgspec.json.decode(line) for line in lines]
    return [row for row in every if row["shape"] == shape and (row["core"] or not core)]


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
