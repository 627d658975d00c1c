"""One chunk of a Gemini answer as it is sent: the members that matter, read in one pass."""

from __future__ import annotations

from typing import Any

import msgspec

from ..chunks import TokenUsage
from ..wire.lines import Run
from .decoder import token_count
from .partial_args import PartialArg


class Call(msgspec.Struct, gc=False):
    """A call, whole or a piece of one; `args` is kept as its own text."""

    name: str | None = None
    args: msgspec.Raw = msgspec.Raw()
    id: str | int | None = None
    partialArgs: list[PartialArg] | None = None
    willContinue: Any = None


class Part(msgspec.Struct, gc=False):
    """A part of the usual kinds; one of another kind has none of these."""

    text: str | None = None
    thought: Any = None
    thoughtSignature: str | None = None
    functionCall: Call | None = None
    inlineData: Any = None


class Content(msgspec.Struct, gc=False):
    """What a candidate says."""

    parts: list[Part] | None = None


class Candidate(msgspec.Struct, gc=False):
    """One of the answers."""

    content: Content | None = None
    index: int | None = None
    finishReason: str | int | None = None
    groundingMetadata: Any = None
    citationMetadata: Any = None


class Usage(msgspec.Struct, gc=False):
    """Counts, of whatever kind they come."""

    promptTokenCount: Any = None
    candidatesTokenCount: Any = None
    totalTokenCount: Any = None
    thoughtsTokenCount: Any = None
    cachedContentTokenCount: Any = None
    toolUsePromptTokenCount: Any = None


class Chunk(msgspec.Struct, gc=False):
    """One frame. `source` is its text, put there after reading."""

    candidates: list[Candidate] | None = None
    usageMetadata: Usage | None = None
    promptFeedback: Any = None
    error: Any = None
    response: Chunk | None = None
    source: Any = msgspec.field(default="", name="(source)")


_decode = msgspec.json.Decoder(Chunk).decode
read_chunks = msgspec.json.Decoder(Chunk).decode_lines
"""Many chunks at once, without their texts."""


def read_chunk(data: str) -> Chunk:
    """One chunk, with its own text at hand."""
    chunk = _decode(data)
    chunk.source = data
    return chunk


class Reading:
    """The chunks of a `Run`, and the text of each for the few that need it."""

    __slots__ = ("_chunks", "_places", "_run", "_texts")

    def __init__(self, run: Run | None, chunks: list[Chunk]) -> None:
        self._run = run
        self._chunks = chunks
        self._places: dict[int, int] = {}
        self._texts: list[bytes] = []

    def source(self, chunk: Chunk) -> str:
        """The text of one of these chunks; empty for another."""
        if self._run is None:
            return ""
        if not self._places:
            self._places = {id(one): number for number, one in enumerate(self._chunks)}
            between = self._run.mark.join((b"}", b"{"))
            self._texts = self._run.text.split(between)
        number = self._places.get(id(chunk))
        if number is None:
            return ""
        before = b"" if number == 0 else b"{"
        after = b"" if number == len(self._texts) - 1 else b"}"
        return (before + self._texts[number] + after).decode()


_OTHER_SPELLINGS = tuple(
    f'"{name}"'
    for name in (
        *("finish_reason", "usage_metadata", "prompt_feedback", "function_call", "partial_args", "will_continue"),
        *("thought_signature", "inline_data", "file_data", "executable_code", "code_execution_result"),
    )
)


def is_respelled(source: str) -> bool:
    """Whether a chunk holds names as the Python SDK spells them. Not asked where the counts are in their place."""
    return any(name in source for name in _OTHER_SPELLINGS)


def has_other_parts(chunk: Chunk) -> bool:
    """Whether a chunk holds a part that is not of the usual kinds."""
    return any(
        part.text is None and part.functionCall is None and part.inlineData is None
        for candidate in chunk.candidates or ()
        for part in (candidate.content.parts if candidate.content is not None else None) or ()
    )


def arguments_text(raw: msgspec.Raw) -> str:
    """Arguments that came whole, as their own text; without the line breaks of a body that was printed for people."""
    text = str(raw, "utf-8")
    if text == "null":
        return ""
    return msgspec.json.format(text, indent=-1) if "\n" in text else text


def has_counts(sent: Usage) -> bool:
    """Whether this says anything: Vertex sends one with every chunk, most of them empty."""
    counts = (sent.promptTokenCount, sent.candidatesTokenCount, sent.thoughtsTokenCount, sent.totalTokenCount)
    return counts != (None, None, None, None)


def token_usage(sent: Usage) -> TokenUsage:
    """The counts so far. Thoughts are counted beside the candidates' tokens, results of tools beside the prompt's."""
    thought = token_count(sent.thoughtsTokenCount)
    read = token_count(sent.promptTokenCount) + token_count(sent.toolUsePromptTokenCount)
    written = token_count(sent.candidatesTokenCount) + thought
    total = token_count(sent.totalTokenCount) or read + written
    return TokenUsage(read, written, token_count(sent.cachedContentTokenCount), 0, thought, total)
