"""Ollama `/api/chat`: the decoding half, NDJSON lines → `ChunkResponse`.

Each line is a piece of the answer; the one with `done: true` is the last and says why the model stopped and what it
cost. A call comes whole, in one line, with its arguments as an object; calls that belong together come on one line or
on several, with an id or none, and with an index that some versions leave at 0 for each. So every entry is a call of
its own, whatever it is numbered.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from ..chunks import ChunkResponse, StopReason, TokenUsage, ToolCallDelta
from ..limits import DEFAULT_LIMITS, Limits
from .decoder import LINE_COST, FrameDecoder, error_words, token_count
from .ollama_request import WIRE
from .tracker import ToolCallTracker, settled_stop

STOP_REASONS: dict[str, StopReason] = {
    "stop": StopReason.STOP,
    "load": StopReason.STOP,
    "unload": StopReason.STOP,
    "length": StopReason.LENGTH,
}
"""Every word for `done_reason`. `load` and `unload` answer requests that only load a model, or put it away."""

_IMAGE_TYPES = {"iVBOR": "image/png", "/9j/": "image/jpeg", "R0lGO": "image/gif", "UklGR": "image/webp"}
"""How the base64 text of a picture begins, and what it is: Ollama does not say."""


class _Function(msgspec.Struct, gc=False):
    name: str | None = None
    arguments: msgspec.Raw = msgspec.Raw()


class _ToolCall(msgspec.Struct, gc=False):
    id: Any = None
    function: _Function | None = None


class _Message(msgspec.Struct, gc=False):
    content: str | None = None
    thinking: str | None = None
    tool_calls: list[_ToolCall] | _ToolCall | None = None
    images: list[Any] | None = None


class _Line(msgspec.Struct, gc=False):
    message: _Message | None = None
    done: bool | None = None
    done_reason: str | None = None
    prompt_eval_count: Any = None
    prompt_eval_cached_count: Any = None
    eval_count: Any = None
    error: Any = None


class OllamaDecoder(FrameDecoder[_Line]):
    """Lines of an Ollama answer in, `ChunkResponse`s out; one decoder for one answer."""

    wire = WIRE
    _kind = "Ollama's /api/chat"
    _read = staticmethod(msgspec.json.Decoder(_Line).decode)
    _read_lines = staticmethod(msgspec.json.Decoder(_Line).decode_lines)

    def __init__(self, limits: Limits = DEFAULT_LIMITS) -> None:
        super().__init__(limits)
        self._tracker = ToolCallTracker(limits, provider=self.wire)
        self._is_thought = False

    def _take(self, line: _Line, made: list[ChunkResponse]) -> None:
        message = line.message
        if message is not None and not line.done and line.error is None:
            # Nearly every line is more words, and nothing else: those are joined.
            content, thinking = message.content or "", message.thinking or ""
            if message.tool_calls is None and message.images is None and not (content and thinking):
                if content or thinking:
                    if self._is_thought is not bool(thinking):
                        self._end_open_pieces(made)
                        self._is_thought = bool(thinking)
                    self._join(content or thinking)
                return
        self._end_open_pieces(made)
        if message is not None:
            self._take_parts(message, made)
        elif not line.done and line.error is None:
            self._count("line-without-message")
        if line.error is not None:
            raise self._provider_error(line.error)
        if line.done:
            self._end(line, made)

    def _end_pieces(self, made: list[ChunkResponse]) -> None:
        text = "".join(self._pieces)
        self._pieces.clear()
        made.append(ChunkResponse("", text) if self._is_thought else ChunkResponse(text))

    def _take_parts(self, message: _Message, made: list[ChunkResponse]) -> None:
        """Calls and pictures, with whatever words stand beside them."""
        sent = message.tool_calls or ()
        calls: list[ToolCallDelta] = []
        for call in (sent,) if isinstance(sent, _ToolCall) else sent:
            calls += self._call(call)
        chunk = ChunkResponse(message.content or "", message.thinking or "", calls)
        chunk.image_urls = [_image_url(image) for image in message.images or () if isinstance(image, str) and image]
        if chunk.content or chunk.reasoning or calls or chunk.image_urls:
            made.append(chunk)

    def _call(self, call: _ToolCall) -> Sequence[ToolCallDelta]:
        function = call.function
        name, arguments = (None, "") if function is None else (function.name, _arguments(function.arguments))
        call_id = str(call.id) if type(call.id) is int else call.id if type(call.id) is str else None
        key = len(self._tracker)
        whole = self._tracker.delta(key, call_id, name, arguments)
        ended = self._tracker.done(key)
        if whole is None or ended is None:
            self._count("empty-call")
            return ()
        return whole, ended

    def _end(self, line: _Line, made: list[ChunkResponse]) -> None:
        if self._stray:
            raise self._fault("the body begins with a line that is not of this format")
        self._done = True
        raw = line.done_reason or None
        if raw is None:
            self._count("done-without-reason")
        reason = StopReason.STOP if raw is None else STOP_REASONS.get(raw.lower(), StopReason.UNKNOWN)
        last = ChunkResponse(
            stop_reason=settled_stop(reason, has_calls=bool(self._tracker)),
            raw_stop_reason=raw,
            is_complete=True,
        )
        if line.prompt_eval_count is not None or line.eval_count is not None:
            last.usage = _usage(line)
        made.append(last)

    def _feed_irregular(self, frame: Any, error: msgspec.MsgspecError) -> list[ChunkResponse]:
        """A line that is no event. An error may have a form of its own; and a body that does not begin with an event
        is another kind of body, which is judged as a whole at its end: a page, or JSON over several lines.
        """
        is_object = frame.data.lstrip().startswith("{")
        if is_object and isinstance(error, msgspec.ValidationError):
            words = error_words(frame.data)
            if words is not None:
                raise self._provider_error(words)
        elif self._events == 1 and (self._stray or not (is_object and frame.cut)):
            self._events = 0
            self._count("stray-line")
            self._stray_size += len(frame.data) + LINE_COST
            if self._stray_size <= self._limits.event:
                self._stray.append(frame.data)
            return []
        return super()._feed_irregular(frame, error)

    def _take_whole(self, line: _Line, made: list[ChunkResponse]) -> None:
        self._stray.clear()
        self._take(line, made)


def _arguments(sent: msgspec.Raw) -> str:
    """The arguments as JSON text, as they were sent: no number is rounded and no repeated name hidden. A text stands
    for what it says.
    """
    data = bytes(sent)
    if data.startswith(b'"'):
        return msgspec.json.decode(data, type=str)
    return "" if data == b"null" else data.decode()


def _usage(line: _Line) -> TokenUsage:
    read, written = token_count(line.prompt_eval_count), token_count(line.eval_count)
    cached = token_count(line.prompt_eval_cached_count)
    return TokenUsage(read, written, min(cached, read), total_tokens=read + written)


def _image_url(image: str) -> str:
    kind = next((kind for head, kind in _IMAGE_TYPES.items() if image.startswith(head)), "image/png")
    return f"data:{kind};base64,{image}"
