"""Cohere chat (API v2): the decoding half.

`CohereDecoder` turns SSE events into `ChunkResponse`s. Words come as content parts (text, or thinking), each begun and
ended under an index; what the model plans before its calls comes as a tool plan, which has neither; calls are begun
and ended under indexes of their own. Thinking and plan are both shown as reasoning, and marked, because they go back
to the API in different places.

What counts as the proper end: `message-end`, and nothing else; `[DONE]` after it says no more. A call has ended when
its `tool-call-end` came. An end with an error (`finish_reason: ERROR`) is no end but a `ProviderError`.

The encoding half is `cohere_request`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from ..chunks import ChunkResponse, Citation, PartEnd, StopReason, TokenUsage
from ..errors import ProtocolError
from ..limits import DEFAULT_LIMITS, Limits
from .cohere_request import PLAN, THINKING, WIRE
from .decoder import FrameDecoder, token_count
from .tracker import ToolCallTracker, settled_stop

STOP_REASONS: dict[str, StopReason] = {
    "COMPLETE": StopReason.STOP,
    "STOP_SEQUENCE": StopReason.STOP,
    "TOOL_CALL": StopReason.TOOL_CALLS,
    "MAX_TOKENS": StopReason.LENGTH,
    "TIMEOUT": StopReason.ERROR,
    "ERROR": StopReason.ERROR,
}
"""Every word of the API for `finish_reason`, and what it means here."""

_TEXT, _CALL = "text", "call"
_TAKES = {_TEXT: "content-delta", THINKING: "content-delta", PLAN: "tool-plan-delta", _CALL: "tool-call-delta"}
_SILENT = ("debug", "citation-end")


class _Content(msgspec.Struct, gc=False):
    text: str | None = None
    thinking: str | None = None
    type: Any = None


class _Function(msgspec.Struct, gc=False):
    arguments: str | None = None
    name: str | None = None


class _Call(msgspec.Struct, gc=False):
    function: _Function | None = None
    id: str | None = None


class _Message(msgspec.Struct, gc=False):
    content: _Content | list[_Content] | str | None = None
    tool_plan: str | None = None
    tool_calls: _Call | list[_Call] | None = None
    citations: Any = None


class _Delta(msgspec.Struct, gc=False):
    message: _Message | None = None
    tool_plan: str | None = None
    finish_reason: str | None = None
    usage: Any = None
    error: Any = None


class _Event(msgspec.Struct, gc=False):
    type: str | None = None
    delta: _Delta | None = None
    index: int | str | None = None
    message: _Message | str | None = None
    finish_reason: str | None = None
    usage: Any = None
    error: Any = None
    event_type: Any = None


class _Flow:
    """What is being written: a stretch of words, or one call."""

    __slots__ = ("index", "key", "kind", "room", "takes", "told")

    def __init__(self, kind: str, index: int | str | None) -> None:
        self.kind = kind
        self.index = index
        self.takes = _TAKES[kind]
        """The event that continues it."""
        self.key = 0
        """Of a call: the name that the tracker knows it by."""
        self.room = 0
        """Of a call: how many more characters its arguments may get."""
        self.told: tuple[str | None, str | None] = (None, None)
        """Of a call: the id and the name that it began with."""


class CohereDecoder(FrameDecoder[_Event]):
    """SSE events of a chat answer in, `ChunkResponse`s out; one decoder for one answer.

    Calls are known by their index, and only while they are open. A `message-start` after calls or another one begins
    the answer anew: calls that had ended before it belong to an attempt that no longer counts, so nothing runs.
    """

    wire = WIRE
    _kind = "Cohere's /v2/chat"
    _read = staticmethod(msgspec.json.Decoder(_Event).decode)
    _read_lines = staticmethod(msgspec.json.Decoder(_Event).decode_lines)

    def __init__(self, limits: Limits = DEFAULT_LIMITS) -> None:
        super().__init__(limits)
        self._tracker = ToolCallTracker(limits, provider=self.wire)
        self._flow: _Flow | None = None
        self._calls: dict[int | str | None, _Flow] = {}
        self._has_started = False
        self._has_ended_calls = False
        self._had_whole_calls = False
        self._ends_with_call = False
        self._is_uncertain = False

    def _take(self, event: _Event, made: list[ChunkResponse]) -> None:
        self._take_all(iter((event,)), made)

    def _take_all(self, events: Iterator[_Event], made: list[ChunkResponse]) -> None:
        """Nearly every event is more of what is being written: those are joined here, `_take_any` takes all others."""
        flow, join = self._flow, self._join
        for event in events:
            delta = event.delta
            if flow is not None and delta is not None and event.type == flow.takes and event.index == flow.index:
                message, text = delta.message, None
                if message is not None:
                    if flow.kind is _CALL:
                        call = message.tool_calls
                        if type(call) is _Call and call.id is None:
                            function = call.function
                            if function is not None and function.name is None:
                                text = function.arguments
                                flow.room -= len(text or "")
                    elif flow.kind is PLAN:
                        text = message.tool_plan
                    else:
                        content = message.content
                        if type(content) is _Content:
                            if flow.kind is _TEXT:
                                text = content.text if not content.thinking else None
                            else:
                                text = content.thinking if not content.text else None
                if text and flow.room >= 0 and event.error is None:
                    join(text)
                    continue
            if self._pieces:
                self._end_pieces(made)
            self._take_any(event, made)
            if self._done:
                return
            flow = self._flow

    def _end_pieces(self, made: list[ChunkResponse]) -> None:
        text, flow = "".join(self._pieces), self._flow
        self._pieces.clear()
        if flow is not None:
            self._add(flow, text, made)

    def _add(self, flow: _Flow, text: str, made: list[ChunkResponse]) -> None:
        if flow.kind is _TEXT:
            made.append(ChunkResponse(text))
        elif flow.kind is not _CALL:
            made.append(ChunkResponse("", text))
        else:
            piece = self._tracker.delta(flow.key, None, None, text)
            flow.room = self._tracker.room(flow.key)
            if piece is not None:
                made.append(ChunkResponse("", "", (piece,)))

    def _take_any(self, event: _Event, made: list[ChunkResponse]) -> None:
        kind, delta = event.type, event.delta
        message = None if delta is None else delta.message
        if event.error is not None or isinstance(event.message, str):
            raise self._provider_error(event.message if event.error is None else event.error)
        if kind in ("content-delta", "content-start"):
            if kind == "content-start":
                self._turn_to(None, made)
            if message is None:
                self._count("content-of-another-kind")
            else:
                self._take_content(message.content, event.index, made)
        elif kind == "tool-plan-delta":
            if delta is not None:
                self._write(PLAN, None, delta.tool_plan or (message.tool_plan if message is not None else None), made)
        elif kind == "tool-call-delta":
            self._take_piece(event.index, None if message is None else message.tool_calls, made)
        elif kind == "tool-call-start":
            # What the message began with was not whole then, but the same calls before their arguments.
            self._is_uncertain = self._is_uncertain or self._had_whole_calls
            for call in _items(None if message is None else message.tool_calls):
                self._start_call(event.index, call, made)
        elif kind == "tool-call-end":
            self._end_call(event.index, made)
        elif kind == "content-end":
            flow = self._flow
            if flow is not None and flow.kind in (_TEXT, THINKING) and flow.index == event.index:
                self._turn_to(None, made)
        elif kind == "citation-start":
            if message is not None:
                self._cite(message.citations, made)
        elif kind == "message-start":
            self._start_message(message, made)
        elif kind == "message-end":
            self._end(delta or _Delta(), made)
        elif event.event_type is not None:
            raise _older_api()
        elif kind not in _SILENT:
            self._count("event-of-another-kind")

    def _start_message(self, message: _Message | None, made: list[ChunkResponse]) -> None:
        if self._has_started or len(self._tracker):
            self._count("second-message-start")
            self._is_uncertain = self._is_uncertain or self._has_ended_calls
            self._calls.clear()
            self._turn_to(None, made)
        self._has_started = True
        if message is not None:
            self._take_message(message, made)

    def _take_message(self, message: _Message, made: list[ChunkResponse]) -> None:
        """A message that holds content already: nothing at the start of a stream, all of one that was not streamed."""
        self._write(PLAN, None, message.tool_plan, made)
        self._take_content(message.content, None, made)
        self._cite(message.citations, made)
        for call in _items(message.tool_calls):
            self._start_call(None, call, made)
            self._end_call(None, made)
            self._had_whole_calls = True

    def _take_whole(self, event: _Event, made: list[ChunkResponse]) -> None:
        if isinstance(event.message, str):
            raise self._provider_error(event.message)
        if event.message is not None and event.finish_reason is not None:
            self._take_message(event.message, made)
            self._end(_Delta(finish_reason=event.finish_reason, usage=event.usage), made)

    def _take_content(
        self, sent: _Content | list[_Content] | str | None, index: int | str | None, made: list[ChunkResponse]
    ) -> None:
        if isinstance(sent, str):
            self._write(_TEXT, index, sent, made)
            return
        for content in _items(sent):
            self._write(THINKING, index, content.thinking, made)
            self._write(_TEXT, index, content.text, made)
            if content.thinking is None and content.text is None:
                self._count("content-of-another-kind")

    def _write(self, kind: str, index: int | str | None, text: str | None, made: list[ChunkResponse]) -> None:
        """Words of one kind, in the stretch that is being written if that is theirs, else in a new one."""
        if not text:
            return
        flow = self._flow
        if flow is None or flow.kind is not kind or flow.index != index:
            flow = _Flow(kind, index)
            self._turn_to(flow, made)
            self._ends_with_call = False
        self._add(flow, text, made)

    def _turn_to(self, flow: _Flow | None, made: list[ChunkResponse]) -> None:
        """Makes `flow` what is being written. Words that were being written end here; a call ends when that is said."""
        left = self._flow
        self._flow = flow
        if left is not None and left.kind is not _CALL:
            end = PartEnd("text") if left.kind is _TEXT else PartEnd("reasoning", {"wire": WIRE, "part": left.kind})
            made.append(ChunkResponse(part_end=end))

    def _start_call(self, index: int | str | None, call: _Call, made: list[ChunkResponse]) -> None:
        function = call.function or _Function()
        left = self._calls.get(index)
        if left is not None:
            if call.id and not function.arguments and left.told == (call.id, function.name):
                self._count("call-started-again")
                return
            self._count("call-never-ended")
            # Whose the pieces are that come now can no longer be told.
            self._is_uncertain = True
        key = len(self._tracker)
        piece = self._tracker.delta(key, call.id, function.name, function.arguments or "")
        if piece is None:
            self._count("empty-call")
            return
        flow = self._calls[index] = _Flow(_CALL, index)
        flow.key, flow.room, flow.told = key, self._tracker.room(key), (call.id, function.name)
        self._turn_to(flow, made)
        self._ends_with_call = True
        made.append(ChunkResponse("", "", (piece,)))

    def _take_piece(self, index: int | str | None, sent: _Call | list[_Call] | None, made: list[ChunkResponse]) -> None:
        flow = self._calls.get(index)
        for call in _items(sent):
            function = call.function or _Function()
            if flow is None:
                if function.arguments:
                    raise self._fault("a piece of a tool call came outside of any call")
                self._count("delta-without-call")
                continue
            if flow is not self._flow:
                self._turn_to(flow, made)
            known = len(self._tracker)
            piece = self._tracker.delta(flow.key, call.id, function.name, function.arguments or "")
            if len(self._tracker) > known:
                self._count("call-never-ended")
                # It names another call than the one that began here: the end may be of either.
                self._is_uncertain = True
            flow.room = self._tracker.room(flow.key)
            if piece is not None:
                made.append(ChunkResponse("", "", (piece,)))

    def _end_call(self, index: int | str | None, made: list[ChunkResponse]) -> None:
        flow = self._calls.pop(index, None)
        if flow is None:
            self._count("end-without-call")
            return
        if flow is self._flow:
            self._flow = None
        ended = self._tracker.done(flow.key)
        if ended is not None:
            self._has_ended_calls = True
            made.append(ChunkResponse("", "", (ended,)))

    def _cite(self, sent: Any, made: list[ChunkResponse]) -> None:
        found: list[Citation] = []
        for citation in sent if isinstance(sent, list) else (sent,):
            if isinstance(citation, dict):
                found += _citations(citation)
            elif citation is not None:
                self._count("citation-of-another-kind")
        if found:
            made.append(ChunkResponse(citations=found))

    def _end(self, told: _Delta, made: list[ChunkResponse]) -> None:
        """The last chunk. A call that was never ended has not ended, whatever the finish reason."""
        raw = told.finish_reason
        if raw == "ERROR" or told.error:
            raise self._provider_error(told.error or "it gave no reason")
        self._turn_to(None, made)
        self._done = True
        reason = STOP_REASONS.get(raw or "", StopReason.UNKNOWN)
        # After whole calls the API says TOOL_CALL: a stop sequence right there fell into the last call.
        if self._is_uncertain or (raw == "STOP_SEQUENCE" and self._ends_with_call):
            reason = StopReason.UNKNOWN
        last = ChunkResponse(
            stop_reason=settled_stop(reason, has_calls=bool(len(self._tracker))),
            raw_stop_reason=raw,
            is_complete=True,
        )
        if isinstance(told.usage, dict):
            last.usage = _usage(told.usage)
        made.append(last)

    def _feed_body(self, text: str) -> list[ChunkResponse]:
        if '"event_type"' in text.partition("\n")[0]:
            raise _older_api()
        return super()._feed_body(text)


def _items(sent: Any) -> list[Any]:
    """What the API sends one of in an event and several of in a whole message."""
    return sent if isinstance(sent, list) else [] if sent is None else [sent]


def _citations(sent: dict[str, Any]) -> Iterator[Citation]:
    """One for each source. The quotation is of the answer: the API says which of its words a source stands behind."""
    words = sent.get("text")
    quote = words if isinstance(words, str) else ""
    sources = sent.get("sources")
    named = [source for source in sources if isinstance(source, dict)] if isinstance(sources, list) else []
    for source in named:
        held = source.get("document") or source.get("tool_output")
        told: dict[str, Any] = held if isinstance(held, dict) else {}
        url, title = told.get("url"), told.get("title") or source.get("id")
        yield Citation(url if isinstance(url, str) else "", title if isinstance(title, str) else "", quote)
    if quote and not named:
        yield Citation(quote=quote)


def _usage(sent: dict[str, Any]) -> TokenUsage:
    """What went through the model; where that is not told, what is billed, which leaves the API's own prompt out."""
    counted = sent.get("tokens")
    if not isinstance(counted, dict):
        counted = sent.get("billed_units")
    counts: dict[str, Any] = counted if isinstance(counted, dict) else {}
    read, written = token_count(counts.get("input_tokens")), token_count(counts.get("output_tokens"))
    cached, thought = token_count(sent.get("cached_tokens")), token_count(counts.get("reasoning_tokens"))
    return TokenUsage(read, written, min(cached, read), 0, min(thought, written), read + written)


def _older_api() -> ProtocolError:
    return ProtocolError(
        "this is an answer of Cohere's older chat API (v1), which is not read",
        hint="Ask /v2/chat: it takes the same models and keys.",
        provider=WIRE,
    )
