"""The calls in ../shared/text-corpus, as models' own chat templates render them: read there, never copied."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import pytest

ROOT = Path(__file__).resolve().parents[3] / "shared" / "text-corpus"

needs_text_corpus = pytest.mark.skipif(
    not ROOT.is_dir(), reason="the rendered calls (../shared/text-corpus) are not here"
)


@cache
def templates() -> list[str]:
    """The models; none where the folder is not here."""
    return sorted(path.stem for path in ROOT.glob("*.jsonl"))


@cache
def rows(template: str) -> list[dict[str, Any]]:
    """What one model's template made of the calls."""
    lines = (ROOT / f"{template}.jsonl").read_bytes().splitlines()
    return [msgspec.json.decode(line) for line in lines if line]
