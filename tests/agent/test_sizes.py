"""Tokens by rule of thumb."""

from __future__ import annotations

from time import process_time

import pytest

from toolwire.agent.sizes import PER_CALL, PER_MESSAGE, PICTURE, size_of
from toolwire.messages import (
    MediaPart,
    Message,
    OpaquePart,
    Part,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolResultPart,
    user,
)

SIZES: dict[str, tuple[Part, int]] = {
    "English": (TextPart("four letters " * 100), 325),
    "Russian": (TextPart("слово " * 100), 275),
    "Chinese": (TextPart("中文字" * 100), 225),
    "half of a character": (TextPart("\ud800" * 4), 1),
    "nothing": (TextPart(""), 0),
    "reasoning": (ThinkingPart("hmmm" * 10), 10),
    "a signature": (ThinkingPart("", {"s": "x" * 92}), 25),
    "a call": (ToolCallPart("c", "name", {"x": "y" * 32}), PER_CALL + 1 + 10),
    "a call in its own words": (ToolCallPart("c", "name", {"x": 1}, '{"x":    1     }'), PER_CALL + 1 + 4),
    "a result": (ToolResultPart("c", "name", "word" * 50), PER_CALL + 50),
    "a result with a picture": (
        ToolResultPart("c", "name", [TextPart("word"), MediaPart("image/png", data="A" * 900_000)]),
        PER_CALL + 1 + PICTURE,
    ),
    "a picture": (MediaPart("image/png", data="A" * 4_000_000), PICTURE),
    "a picture elsewhere": (MediaPart("image/png", url="https://a.example/b.png"), PICTURE),
    "a long PDF": (MediaPart("application/pdf", data="A" * 4_000_000), 60_000),
    "a long sound": (MediaPart("audio/mpeg", url="data:audio/mpeg;base64," + "A" * 4_000_000), 6_000),
    "a text as a file": (MediaPart("text/csv", data="A" * 400_000), 75_000),
    "something of the provider's own": (OpaquePart({"x": "y" * 92}), 25),
}


@pytest.mark.parametrize("name", SIZES)
def test_parts(name: str) -> None:
    part, size = SIZES[name]
    assert size_of(Message("user", [part])) == PER_MESSAGE + size


def test_messages() -> None:
    assert size_of(user("word" * 10)) == PER_MESSAGE + 10
    assert size_of(Message("assistant", [TextPart("word")], [{"x": "y" * 92}])) == PER_MESSAGE + 1 + 25


def test_long_texts_take_little_time() -> None:
    start = process_time()
    size_of(user("é" * 20_000_000))
    assert process_time() - start < 1
