"""OpenAI Chat Completions, the wire that dozens of services speak, each with quirks: the decoding half.

`ChatDecoder` turns SSE events into `ChunkResponse`s. It is driven by what services really send: indexes, ids, names
and arguments missing, null, empty, repeated or whole; several calls in one delta; `finish_reason` missing, repeated
or before the last content; usage in any chunk; errors as data, as an event, as a line of their own.

What counts as the proper end: `[DONE]`, or the end of the body after a `finish_reason` that no content followed
(many services never send `[DONE]`). Anything else is an answer that was cut.

The encoding half is `openai_chat_request`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from ..chunks import AudioDelta, ChunkResponse, StopReason, TokenUsage, ToolCallDelta
from ..limits import DEFAULT_LIMITS, Limits
from .decoder import FrameDecoder, json_text, token_count
from .openai_chat_request import WIRE
from .tracker import Key, ToolCallTracker, settled_stop

STOP_REASONS: dict[str, StopReason] = {
    "stop": StopReason.STOP,
    "stop_sequence": StopReason.STOP,
    "end_turn": StopReason.STOP,
    "eos": StopReason.STOP,
    "eos_token": StopReason.STOP,
    "complete": StopReason.STOP,
    "tool_calls": StopReason.TOOL_CALLS,
    "tool_call": StopReason.TOOL_CALLS,
    "tool_use": StopReason.TOOL_CALLS,
    "function_call": StopReason.TOOL_CALLS,
    "length": StopReason.LENGTH,
    "max_tokens": StopReason.LENGTH,
    "model_length": StopReason.LENGTH,
    "model_context_window_exceeded": StopReason.LENGTH,
    "content_filter": StopReason.CONTENT_FILTER,
    "sensitive": StopReason.CONTENT_FILTER,
    "safety": StopReason.CONTENT_FILTER,
    "recitation": StopReason.CONTENT_FILTER,
    "refusal": StopReason.REFUSAL,
    "pause_turn": StopReason.PAUSE,
    "error": StopReason.ERROR,
    "network_error": StopReason.ERROR,
    "abort": StopReason.ERROR,
    "insufficient_system_resource": StopReason.ERROR,
}
"""Every word seen for `finish_reason` (compared in lower case), and what it means here."""


_CONTENT, _REASONING = "content", "reasoning"
_LEGACY = {"wire": WIRE, "legacy": True}
"""Marks a call of the form from before there could be several: it is answered in that form."""


class _Function(msgspec.Struct, gc=False):
    name: str | None = None
    arguments: Any = None


class _ToolCall(msgspec.Struct, gc=False):
    index: Any = None
    id: str | int | None = None
    function: _Function | None = None
    extra_content: dict[str, Any] | None = None


class _Delta(msgspec.Struct, gc=False):
    content: str | list[Any] | None = None
    tool_calls: list[_ToolCall] | _ToolCall | None = None
    reasoning_content: str | None = None
    reasoning: Any = None
    reasoning_details: Any = None
    reasoning_text: str | None = None
    reasoning_opaque: Any = None
    refusal: str | None = None
    function_call: _Function | None = None
    audio: dict[str, Any] | None = None
    images: list[Any] | None = None


class _Choice(msgspec.Struct, gc=False):
    delta: _Delta | None = None
    index: int | None = None
    finish_reason: str | None = None
    message: _Delta | None = None


class _Groq(msgspec.Struct, gc=False):
    usage: Any = None


class _Chunk(msgspec.Struct, gc=False):
    choices: list[_Choice] | None = None
    usage: Any = None
    error: Any = None
    x_groq: _Groq | None = None


class _Answer:
    """What is known of one choice."""

    __slots__ = ("finish_reason", "has_delta", "open", "tracker")

    def __init__(self) -> None:
        self.tracker: ToolCallTracker | None = None
        self.finish_reason: str | None = None
        self.open = True
        self.has_delta = False


class ChatDecoder(FrameDecoder[_Chunk]):
    """SSE events of a chat completion in, `ChunkResponse`s out; one decoder for one answer."""

    wire = WIRE
    _kind = "a chat completion"
    _read = staticmethod(msgspec.json.Decoder(_Chunk).decode)
    _read_lines = staticmethod(msgspec.json.Decoder(_Chunk).decode_lines)

    def __init__(self, limits: Limits = DEFAULT_LIMITS) -> None:
        super().__init__(limits)
        self._answers: dict[int, _Answer] = {}
        self._first: _Answer | None = None
        self._pieces_of: int | str | None = None
        self._room = 0

    def _take(self, chunk: _Chunk, made: list[ChunkResponse]) -> None:
        """Nearly every event is a word of text or of reasoning, or a piece of a known call, for the first answer, and
        nothing else: those are joined here. `_take_any` takes everything, slower.
        """
        choices, answer = chunk.choices, self._first
        if (
            answer is not None
            and choices is not None
            and len(choices) == 1
            and chunk.usage is None
            and chunk.error is None
            and chunk.x_groq is None
        ):
            choice = choices[0]
            delta = choice.delta
            if (
                delta is not None
                and choice.finish_reason is None
                and not choice.index
                and delta.reasoning_details is None
                and delta.reasoning_opaque is None
                and delta.refusal is None
                and delta.function_call is None
                and delta.audio is None
                and delta.images is None
            ):
                if delta.tool_calls is not None:
                    if self._take_piece(delta, answer, made):
                        return
                else:
                    content = delta.content or ""
                    reasoning = delta.reasoning_content or delta.reasoning or delta.reasoning_text or ""
                    if type(content) is str and type(reasoning) is str and not (content and reasoning):
                        answer.has_delta = True
                        if content or reasoning:
                            answer.open = True
                            kind = _CONTENT if content else _REASONING
                            if kind is not self._pieces_of:
                                self._begin_pieces(kind, made)
                            self._join(content or reasoning)
                        return
        if self._pieces:
            self._end_pieces(made)
        self._take_any(chunk, made)

    def _begin_pieces(self, kind: int | str, made: list[ChunkResponse]) -> None:
        if self._pieces:
            self._end_pieces(made)
        self._pieces_of = kind

    def _end_pieces(self, made: list[ChunkResponse]) -> None:
        text, kind = "".join(self._pieces), self._pieces_of
        self._pieces.clear()
        self._pieces_of = None
        if kind is _CONTENT:
            made.append(ChunkResponse(text))
        elif kind is _REASONING:
            made.append(ChunkResponse("", text))
        elif kind is not None and self._first is not None and self._first.tracker is not None:
            piece = self._first.tracker.more(kind, text)
            if piece is not None:
                made.append(ChunkResponse("", "", (piece,)))

    def _take_piece(self, delta: _Delta, answer: _Answer, made: list[ChunkResponse]) -> bool:
        """Takes a delta that is nothing but more arguments for one call that its index names, if it is that."""
        calls = delta.tool_calls
        if type(calls) is not list or len(calls) != 1 or delta.content:
            return False
        if delta.reasoning_content or delta.reasoning or delta.reasoning_text:
            return False
        call: _ToolCall = calls[0]
        function = call.function
        if function is None or function.name or call.id or call.extra_content or type(call.index) is not int:
            return False
        arguments = function.arguments
        if answer.tracker is None or type(arguments) is not str or not arguments:
            return False
        if call.index != self._pieces_of:
            self._begin_pieces(call.index, made)
            self._room = answer.tracker.room(call.index)
        self._room -= len(arguments)
        if self._room < 0:
            self._end_open_pieces(made)
            self._pieces_of = None
            return False
        answer.has_delta = answer.open = True
        self._join(arguments)
        return True

    def _finish(self) -> list[ChunkResponse]:
        answer = self._first
        return [self._end()] if answer is not None and not answer.open else []

    def _end_mark(self) -> list[ChunkResponse]:
        return [self._end()]

    def _take_any(self, chunk: _Chunk, made: list[ChunkResponse]) -> None:
        choices = chunk.choices
        if choices:
            for choice in choices:
                made += self._feed_choice(choice)
        elif choices is None and chunk.error is None and chunk.usage is None:
            self._count("chunk-without-choices")
        if chunk.usage is not None:
            made.append(ChunkResponse(usage=read_usage(chunk.usage)))
        elif chunk.x_groq is not None and chunk.x_groq.usage is not None:
            made.append(ChunkResponse(usage=read_usage(chunk.x_groq.usage)))
        if chunk.error is not None:
            raise self._provider_error(chunk.error)

    def _take_whole(self, chunk: _Chunk, made: list[ChunkResponse]) -> None:
        if chunk.choices:
            self._take_any(chunk, made)
            made += self._finish()

    def _feed_choice(self, choice: _Choice) -> Sequence[ChunkResponse]:
        number = choice.index or 0
        answer = self._answers.get(number)
        if answer is None:
            answer = self._begin(number)
        delta = choice.delta
        made: Sequence[ChunkResponse] = ()
        if delta is None:
            self._count("choice-without-delta")
            # Perplexity and Writer repeat under `message` what `delta` said: it counts only where it stands alone.
            if choice.message is not None and not answer.has_delta:
                made = self._feed_delta(choice.message, answer, number)
        else:
            answer.has_delta = True
            made = self._feed_delta(delta, answer, number)
        if made:
            answer.open = True
        if choice.finish_reason:
            answer.finish_reason = choice.finish_reason
            answer.open = False
        return made

    def _begin(self, number: int) -> _Answer:
        if len(self._answers) >= self._limits.calls:
            raise self._fault("too many choices in one answer")
        answer = self._answers[number] = _Answer()
        if number == 0:
            self._first = answer
        return answer

    def _feed_delta(self, delta: _Delta, answer: _Answer, number: int) -> Sequence[ChunkResponse]:
        content, reasoning = delta.content, ""
        calls: Sequence[ToolCallDelta] = ()
        provider_data: Sequence[dict[str, Any]] = ()
        if delta.tool_calls or delta.function_call is not None:
            calls = self._calls(delta, answer)
        if delta.reasoning_content or delta.reasoning or delta.reasoning_details or delta.reasoning_text:
            reasoning, provider_data = self._reasoning(delta)
        if delta.reasoning_opaque:
            provider_data = [*provider_data, {"wire": WIRE, "reasoning_opaque": delta.reasoning_opaque}]
        if isinstance(content, list):
            content, thought = self._content_parts(content)
            reasoning += thought
        others = delta.refusal or delta.audio is not None or delta.images or provider_data
        if not (content or reasoning or calls or others):
            return ()
        made = ChunkResponse(content or "", reasoning, calls, number)
        if others:
            made.refusal = delta.refusal or ""
            made.audio = None if delta.audio is None else _read_audio(delta.audio)
            made.image_urls = [url for url in map(_image_url, delta.images or ()) if url]
            made.provider_data = provider_data
        return (made,)

    def _reasoning(self, delta: _Delta) -> tuple[str, Sequence[dict[str, Any]]]:
        """The reasoning text, taken once where a service sends it under two names, and what must go back."""
        text = delta.reasoning_content or (delta.reasoning if isinstance(delta.reasoning, str) else "")
        text = text or delta.reasoning_text or ""
        if not isinstance(delta.reasoning_details, list):
            return text, ()
        details = [detail for detail in delta.reasoning_details if isinstance(detail, dict)]
        if not text:
            for detail in details:
                piece = detail.get("text") or detail.get("summary")
                if isinstance(piece, str):
                    text += piece
        return text, [{"wire": WIRE, "reasoning_detail": detail} for detail in details]

    def _content_parts(self, parts: list[Any]) -> tuple[str, str]:
        """Text and reasoning of content that came as a list (Mistral, Databricks)."""
        text, thought = "", ""
        for part in parts:
            if isinstance(part, str):
                text += part
                continue
            kind = part.get("type") if isinstance(part, dict) else None
            if kind == "text" and isinstance(part.get("text"), str):
                text += part["text"]
            elif kind == "thinking":
                thought += _thought(part.get("thinking"))
            elif kind == "reasoning":
                thought += _thought(part.get("summary"))
            else:
                self._count("content-part-of-another-kind")
        return text, thought

    def _calls(self, delta: _Delta, answer: _Answer) -> list[ToolCallDelta]:
        tracker = answer.tracker
        if tracker is None:
            tracker = answer.tracker = ToolCallTracker(self._limits, provider=self.wire)
        calls: list[ToolCallDelta] = []
        sent = delta.tool_calls or ()
        for call in (sent,) if isinstance(sent, _ToolCall) else sent:
            function = call.function
            name, arguments = (None, "") if function is None else (function.name, json_text(function.arguments))
            call_id = str(call.id) if isinstance(call.id, int) else call.id
            known = tracker.delta(self._key(call.index), call_id, name, arguments, _extra(call.extra_content))
            if known is not None:
                calls.append(known)
        legacy = delta.function_call
        if legacy is not None:
            known = tracker.delta("function_call", None, legacy.name, json_text(legacy.arguments), _LEGACY)
            if known is not None:
                calls.append(known)
        return calls

    def _key(self, index: Any) -> Key | None:
        if index is None or type(index) is int:
            return index
        if type(index) is str and index.isascii() and index.removeprefix("-").isdigit() and len(index) < 20:
            return int(index)
        if type(index) is float and index.is_integer():
            return int(index)
        raise self._fault(f"a tool call has the index {str(index)[:40]!r}, which is no whole number")

    def _end(self) -> ChunkResponse:
        """The last chunk: every call of the first choice ended, and the stop reason."""
        self._done = True
        answer = self._first
        raw = answer.finish_reason if answer is not None else None
        reason = StopReason.STOP if raw is None else STOP_REASONS.get(raw.lower(), StopReason.UNKNOWN)
        tracker = answer.tracker if answer is not None else None
        return ChunkResponse(
            tool_calls=tracker.finish() if tracker is not None else (),
            stop_reason=settled_stop(reason, has_calls=bool(tracker)),
            raw_stop_reason=raw,
            is_complete=True,
        )


def read_usage(sent: Any) -> TokenUsage:
    """Token counts under any of the names that chat services use; what is no count is 0."""
    if not isinstance(sent, dict):
        return TokenUsage()
    get = sent.get
    read = token_count(get("prompt_tokens")) or token_count(get("input_tokens"))
    written = token_count(get("completion_tokens")) or token_count(get("output_tokens"))
    cached, stored = token_count(get("prompt_cache_hit_tokens")), 0
    reasoned = token_count(get("reasoning_tokens"))
    details = get("prompt_tokens_details") or get("input_tokens_details")
    if isinstance(details, dict):
        cached = token_count(details.get("cached_tokens")) or cached
        stored = token_count(details.get("cache_write_tokens"))
    details = get("completion_tokens_details") or get("output_tokens_details")
    if isinstance(details, dict):
        reasoned = token_count(details.get("reasoning_tokens")) or reasoned
    return TokenUsage(read, written, cached, stored, reasoned, token_count(get("total_tokens")) or read + written)


def _thought(pieces: Any) -> str:
    """The words of a part that holds reasoning: as they are, or in parts of their own."""
    if isinstance(pieces, str):
        return pieces
    found = [piece.get("text") for piece in pieces if isinstance(piece, dict)] if isinstance(pieces, list) else []
    return "".join(text for text in found if isinstance(text, str))


def _extra(content: dict[str, Any] | None) -> dict[str, Any] | None:
    return {"wire": WIRE, "extra_content": content} if content else None


def _image_url(image: Any) -> str | None:
    url = image.get("image_url") if isinstance(image, dict) else None
    if isinstance(url, dict):
        url = url.get("url")
    return url if isinstance(url, str) else None


def _read_audio(audio: dict[str, Any]) -> AudioDelta:
    def text(name: str) -> str:
        value = audio.get(name)
        return value if isinstance(value, str) else ""

    return AudioDelta(text("id") or None, text("data"), text("transcript"))
