"""What an answer may hold, whatever wire it goes over."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

WIRES = ("openai-chat", "openai-responses", "anthropic", "gemini", "ollama", "bedrock", "cohere")
"""The wire formats that answers can be written in."""


class Text(NamedTuple):
    """Words of the answer."""

    words: str = "Hello"


class Thought(NamedTuple):
    """Reasoning."""

    words: str = "hm"


class Call(NamedTuple):
    """A call, whole and ended."""

    id: str = "c1"
    name: str = "f"
    arguments: str = '{"x":1}'


class HalfCall(NamedTuple):
    """A call whose end never comes; of its arguments this much. Ollama sends calls whole: there it is cut text."""

    id: str = "c1"
    name: str = "f"
    arguments: str = '{"x":'


class End(NamedTuple):
    """The proper end, with the provider's own word for why (by default that for an answer that is finished); None
    leaves the word out.
    """

    reason: str | int | None = ""


class Error(NamedTuple):
    """An error in the stream."""

    words: str = "overloaded"


class Raw(NamedTuple):
    """Bytes as they are."""

    data: bytes


Piece = Text | Thought | Call | HalfCall | End | Error | Raw
"""One of these."""


def good_end(wire: str, *, calls: bool) -> str:
    """The provider's word for an answer that is finished, with or without calls."""
    return {
        "openai-chat": "tool_calls" if calls else "stop",
        "openai-responses": "completed",
        "anthropic": "tool_use" if calls else "end_turn",
        "gemini": "STOP",
        "ollama": "stop",
        "bedrock": "tool_use" if calls else "end_turn",
        "cohere": "TOOL_CALL" if calls else "COMPLETE",
    }[wire]


def halves(text: str) -> tuple[str, str]:
    """A text in two, as if it came in pieces."""
    return text[: len(text) // 2], text[len(text) // 2 :]


def end_reason(wire: str, end: End, pieces: Iterable[Piece]) -> str | int | None:
    """The provider's word for this end of an answer."""
    if end.reason != "":
        return end.reason
    return good_end(wire, calls=any(isinstance(piece, (Call, HalfCall)) for piece in pieces))
