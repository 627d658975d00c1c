"""One chunk of a Gemini answer as it is sent: the members that matter, read in one pass."""

from __future__ import annotations

from typing import Any

import msgspec

from ..chunks import TokenUsage
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
_decode_lines = msgspec.json.Decoder(Chunk).decode_lines


def read_chunk(data: str) -> Chunk:
    """One chunk, with its own text at hand; the Code Assist service puts it into `response`."""
    return _with_source(_decode(data), data)


def read_chunks(text: bytes) -> list[Chunk]:
    """Many chunks, with a tab between them."""
    chunks = _decode_lines(text)
    sources = text.decode().split("\t")
    if len(sources) != len(chunks):
        return []
    return [_with_source(chunk, source) for chunk, source in zip(chunks, sources, strict=True)]


def _with_source(chunk: Chunk, data: str) -> Chunk:
    if chunk.response is not None:
        chunk = chunk.response
    chunk.source = data
    return chunk


_OTHER_SPELLINGS = tuple(
    f'"{name}"'
    for name in (
        *("finish_reason", "usage_metadata", "prompt_feedback", "function_call", "partial_args", "will_continue"),
        *("thought_signature", "inline_data", "file_data", "executable_code", "code_execution_result"),
    )
)


def is_respelled(chunk: Chunk) -> bool:
    """Whether a chunk holds names as the Python SDK spells them; one whose counts are where they belong does not."""
    return chunk.usageMetadata is None and any(name in chunk.source for name in _OTHER_SPELLINGS)


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
