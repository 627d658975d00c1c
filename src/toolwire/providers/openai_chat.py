"""OpenAI Chat Completions, the wire that dozens of services speak, each with quirks: the decoding half.

`ChatDecoder` turns SSE events into `ChunkResponse`s. It is driven by what services really send: indexes, ids, names
and arguments missing, null, empty, repeated or whole; several calls in one delta; `finish_reason` missing, repeated
or before the last content; usage in any chunk; errors as data, as an event, as a line of their own.

What counts as the proper end: `[DONE]`, or the end of the body after a `finish_reason` that no content followed
(many services never send `[DONE]`). Anything else is an answer that was cut.

The encoding half is `openai_chat_request`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from ..chunks import AudioDelta, ChunkResponse, StopReason, TokenUsage, ToolCallDelta
from ..errors import IncompleteStream, ProtocolError, ProviderError, ToolwireError
from ..limits import DEFAULT_LIMITS, Limits
from ..wire.sse import SseEvent
from .nesting import is_deeper
from .openai_chat_request import WIRE
from .tracker import Key, ToolCallTracker

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


_decode_chunk = msgspec.json.Decoder(_Chunk).decode


class _Answer:
    """What is known of one choice."""

    __slots__ = ("finish_reason", "has_delta", "open", "tracker")

    def __init__(self) -> None:
        self.tracker: ToolCallTracker | None = None
        self.finish_reason: str | None = None
        self.open = True
        self.has_delta = False


class ChatDecoder:
    """SSE events in, `ChunkResponse`s out; one decoder for one answer.

    `feed` raises a `ToolwireError` when the provider reports an error or breaks the format; the chunks that the same
    call made before the fault are in the error's `before`. After [DONE] nothing more is decoded, only counted.
    """

    def __init__(self, limits: Limits = DEFAULT_LIMITS, *, provider: str = WIRE) -> None:
        self._limits = limits
        self._provider = provider
        self._answers: dict[int, _Answer] = {}
        self._first: _Answer | None = None
        self._done = False
        self._events = 0
        self._stray: list[str] = []
        self._stray_size = 0
        self.quirks: dict[str, int] = {}

    def feed(self, events: Iterable[SseEvent]) -> list[ChunkResponse]:
        """The chunks that these SSE events hold.

        Nearly every event is a word of text or of reasoning, or a piece of a known call, for the first answer, and
        nothing else: those are taken here. `_feed_chunk` takes everything, slower.
        """
        made: list[ChunkResponse] = []
        event, count, shallow = None, self._events, self._limits.chunk_depth
        try:
            for event in events:
                if event.stray or self._done:
                    self._events = count
                    made += self._feed_outside(event)
                    count = self._events
                    continue
                count += 1
                data = event.data
                if data == "[DONE]":
                    made.append(self._end())
                    continue
                if len(data) > shallow and is_deeper(data, self._limits.chunk_depth):
                    raise self._fault("a chunk is nested too deeply")
                try:
                    chunk = _decode_chunk(data)
                except RecursionError:
                    raise self._fault("a chunk is nested too deeply") from None
                except msgspec.MsgspecError as error:
                    self._events = count
                    made += self._feed_irregular(event, error)
                    count = self._events
                    continue
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
                        and delta.refusal is None
                        and delta.function_call is None
                        and delta.audio is None
                        and delta.images is None
                    ):
                        if delta.tool_calls is not None:
                            if self._feed_piece(delta, answer, made):
                                continue
                        else:
                            content, reasoning = delta.content or "", delta.reasoning_content or delta.reasoning or ""
                            if type(content) is str and type(reasoning) is str:
                                answer.has_delta = True
                                if content or reasoning:
                                    answer.open = True
                                    made.append(ChunkResponse(content, reasoning, (), 0))
                                continue
                made += self._feed_chunk(chunk)
        except ToolwireError as error:
            if event is not None:
                error.facts.setdefault("position", event.position)
                error.facts.setdefault("event", count)
            error.before = [*made, *error.before]
            raise
        finally:
            self._events = count
        return made

    def _feed_piece(self, delta: _Delta, answer: _Answer, made: list[ChunkResponse]) -> bool:
        """Takes a delta that is nothing but more arguments for one call that its index names, if it is that."""
        calls = delta.tool_calls
        if type(calls) is not list or len(calls) != 1 or delta.content or delta.reasoning_content or delta.reasoning:
            return False
        call: _ToolCall = calls[0]
        function = call.function
        if function is None or function.name or call.id or call.extra_content or type(call.index) is not int:
            return False
        arguments = function.arguments
        if answer.tracker is None or type(arguments) is not str or not arguments:
            return False
        piece = answer.tracker.more(call.index, arguments)
        if piece is None:
            return False
        answer.has_delta = answer.open = True
        made.append(ChunkResponse("", "", (piece,), 0))
        return True

    def close(self) -> list[ChunkResponse]:
        """The end of the body: the last chunk if the answer is complete without [DONE], else nothing."""
        if self._done:
            return []
        answer = self._first
        if answer is not None and not answer.open:
            return [self._end()]
        return self._feed_stray_lines() if self._stray else []

    def _feed_outside(self, event: SseEvent) -> Sequence[ChunkResponse]:
        if event.stray:
            return self._feed_stray(event)
        self._count("data-after-done")
        return ()

    def _feed_chunk(self, chunk: _Chunk) -> list[ChunkResponse]:
        made: list[ChunkResponse] = []
        choices = chunk.choices
        try:
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
        except ToolwireError as error:
            error.before = made
            raise
        return made

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
        if delta.reasoning_content or delta.reasoning or delta.reasoning_details:
            reasoning, provider_data = self._reasoning(delta)
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
        text = delta.reasoning_content or (delta.reasoning if isinstance(delta.reasoning, str) else "") or ""
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
        """Text and reasoning of content that came as a list (Mistral)."""
        text, thought = "", ""
        for part in parts:
            if isinstance(part, str):
                text += part
                continue
            kind = part.get("type") if isinstance(part, dict) else None
            if kind == "text" and isinstance(part.get("text"), str):
                text += part["text"]
            elif kind == "thinking":
                thinking = part.get("thinking")
                if isinstance(thinking, list):
                    thought += "".join(
                        piece["text"]
                        for piece in thinking
                        if isinstance(piece, dict) and isinstance(piece.get("text"), str)
                    )
                elif isinstance(thinking, str):
                    thought += thinking
            else:
                self._count("content-part-of-another-kind")
        return text, thought

    def _calls(self, delta: _Delta, answer: _Answer) -> list[ToolCallDelta]:
        tracker = answer.tracker
        if tracker is None:
            tracker = answer.tracker = ToolCallTracker(self._limits, provider=self._provider)
        calls: list[ToolCallDelta] = []
        sent = delta.tool_calls or ()
        for call in (sent,) if isinstance(sent, _ToolCall) else sent:
            function = call.function
            name, arguments = (None, "") if function is None else (function.name, _text(function.arguments))
            call_id = str(call.id) if isinstance(call.id, int) else call.id
            known = tracker.delta(self._key(call.index), call_id, name, arguments, _extra(call.extra_content))
            if known is not None:
                calls.append(known)
        legacy = delta.function_call
        if legacy is not None:
            known = tracker.delta("function_call", None, legacy.name, _text(legacy.arguments))
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
        has_calls = tracker is not None and len(tracker) > 0
        if has_calls and reason is StopReason.STOP:
            reason = StopReason.TOOL_CALLS
        elif reason is StopReason.TOOL_CALLS and not has_calls:
            reason = StopReason.STOP
        return ChunkResponse(
            tool_calls=tracker.finish() if tracker is not None else (),
            stop_reason=reason,
            raw_stop_reason=raw,
            is_complete=True,
        )

    def _feed_irregular(self, event: SseEvent, error: msgspec.MsgspecError) -> list[ChunkResponse]:
        """An event that is no chunk: the end mark, an empty one, or several chunks that nobody separated."""
        data = event.data.strip()
        if data == "[DONE]":
            return [self._end()]
        if not data:
            self._count("empty-data")
            return []
        if "\n" in data:
            self._count("events-not-separated")
            return self._feed_lines(data, event)
        if event.cut:
            raise IncompleteStream(provider=self._provider, position=event.position)
        raise self._fault(f"an event is no chat chunk: {error}")

    def _feed_lines(self, data: str, event: SseEvent) -> list[ChunkResponse]:
        made: list[ChunkResponse] = []
        lines = data.split("\n")
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            try:
                cut = event.cut and number == len(lines)
                made += self.feed([SseEvent(line, event.event, event.id, event.position, cut=cut)])
            except ToolwireError as error:
                error.before = [*made, *error.before]
                raise
        return made

    def _feed_stray(self, event: SseEvent) -> Sequence[ChunkResponse]:
        """A line that is no SSE field: an indented `data:`, an error of its own, or another kind of body."""
        line = event.data.strip()
        if line.startswith("data:"):
            self._count("indented-data")
            return self.feed([SseEvent(line[5:].lstrip(" "), event.event, event.id, event.position, cut=event.cut)])
        text = line[6:].strip() if line.startswith("error:") else line
        words = None
        if text.startswith("{") and not is_deeper(text, self._limits.chunk_depth):
            words = _error_words(text)
        if words is None and line.startswith("error:"):
            words = text
        if words is not None and not self._done:
            raise self._provider_error(words)
        self._stray_size += len(event.data)
        if self._stray_size <= self._limits.event:
            self._stray.append(event.data)
        return []

    def _feed_stray_lines(self) -> list[ChunkResponse]:
        """What the stray lines of an unfinished body are together: an error over several lines; or, where there was
        no event at all, a whole answer that was not streamed, or no answer of a model.
        """
        text = "\n".join(self._stray)
        if is_deeper(text, self._limits.chunk_depth):
            raise self._fault("the body is nested too deeply")
        try:
            chunk = _decode_chunk(text)
        except (msgspec.MsgspecError, RecursionError):
            chunk = _Chunk()
        if chunk.error is not None or (chunk.choices and not self._events):
            self._count("not-streamed")
            made = self._feed_chunk(chunk)
            answer = self._first
            return [*made, self._end()] if answer is not None and not answer.open else made
        words = _error_words(text)
        if words is not None:
            raise self._provider_error(words)
        if self._events:
            return []
        shown = text.lstrip()[:60]
        raise ProtocolError(
            f"this is no event stream: it begins with {shown!r}",
            hint="Check that the URL or file is the streamed answer of a chat completion.",
            provider=self._provider,
            position=0,
        )

    def _provider_error(self, error: Any) -> ProviderError:
        """The provider's own words as an error, with its code."""
        code = None
        words = error
        if isinstance(error, dict):
            words = error.get("message") or error.get("detail") or error
            code = error.get("code") or error.get("type")
        return ProviderError(
            f"the provider reported an error in the stream: {_shown(words)[:2000]}",
            hint="Nothing of this answer was run. If the provider is overloaded, try again later.",
            provider=self._provider,
            code=code if isinstance(code, (str, int)) else None,
        )

    def _fault(self, message: str) -> ProtocolError:
        return ProtocolError(
            message,
            hint="Check that this is the streamed answer of a chat completion, whole and unchanged.",
            provider=self._provider,
        )

    def _count(self, quirk: str) -> None:
        self.quirks[quirk] = self.quirks.get(quirk, 0) + 1


def read_usage(sent: Any) -> TokenUsage:
    """Token counts under any of the names that chat services use; what is no count is 0."""
    if not isinstance(sent, dict):
        return TokenUsage()
    get = sent.get
    read = _count(get("prompt_tokens")) or _count(get("input_tokens"))
    written = _count(get("completion_tokens")) or _count(get("output_tokens"))
    cached, stored = _count(get("prompt_cache_hit_tokens")), 0
    reasoned = _count(get("reasoning_tokens"))
    details = get("prompt_tokens_details") or get("input_tokens_details")
    if isinstance(details, dict):
        cached = _count(details.get("cached_tokens")) or cached
        stored = _count(details.get("cache_write_tokens"))
    details = get("completion_tokens_details") or get("output_tokens_details")
    if isinstance(details, dict):
        reasoned = _count(details.get("reasoning_tokens")) or reasoned
    return TokenUsage(read, written, cached, stored, reasoned, _count(get("total_tokens")) or read + written)


def _count(value: Any) -> int:
    if value is None:
        return 0
    return int(value) if isinstance(value, (int, float)) and 0 <= value < 2**53 else 0


def _text(arguments: Any) -> str:
    """Arguments as text; a service that sends an object meant its JSON."""
    if arguments is None:
        return ""
    return arguments if isinstance(arguments, str) else msgspec.json.encode(arguments).decode()


def _shown(words: Any) -> str:
    """Whatever a provider put where its words should be, as text."""
    if isinstance(words, str):
        return words
    try:
        return msgspec.json.encode(words).decode()
    except RecursionError:
        return "(words nested too deeply to show)"


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


def _error_words(text: str) -> Any:
    """What an error object says, or None when `text` is no error object."""
    try:
        value = msgspec.json.decode(text)
    except (msgspec.MsgspecError, RecursionError):
        return None
    if not isinstance(value, dict):
        return None
    if value.get("error") is not None:
        return value["error"]
    if value.get("object") == "error" or set(value) <= {"detail", "message", "code", "type", "param"}:
        return value if value.get("message") or value.get("detail") else None
    return None
