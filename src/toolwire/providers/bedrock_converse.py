"""Bedrock Converse: the events of an answer → `ChunkResponse`s.

An answer is a row of content blocks, each named by an index until its stop; blocks of text and of reasoning have no
start.

What counts as the proper end: `messageStop`. The cost comes after it, in `metadata`, or before it; gateways leave it
out, so that a body which ends right after `messageStop` is whole too, only what it cost is not known. A body that ends
within a message was cut, wherever that is. A call has ended when its block was stopped.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from ..chunks import ChunkResponse, PartEnd, ServerToolDelta, StopReason, TokenUsage
from ..errors import LimitExceeded
from ..limits import DEFAULT_LIMITS, Limits
from .bedrock_blocks import (
    CALL,
    IMAGE,
    OPAQUE,
    RESULT,
    SERVER,
    TEXT,
    THINKING,
    Block,
    ConverseEvent,
    Delta,
    Index,
    Thought,
    citation_of,
    delta_kind,
    joined_base64,
    started_kind,
    text_of,
    usage_of,
)
from .bedrock_request import WIRE
from .decoder import AFTER_THE_END, FrameDecoder, shown
from .nesting import is_deeper
from .tracker import ToolCallTracker, settled_stop

STOP_REASONS: dict[str, StopReason] = {
    "end_turn": StopReason.STOP,
    "stop_sequence": StopReason.STOP,
    "tool_use": StopReason.TOOL_CALLS,
    "max_tokens": StopReason.LENGTH,
    "model_context_window_exceeded": StopReason.LENGTH,
    "guardrail_intervened": StopReason.CONTENT_FILTER,
    "content_filtered": StopReason.CONTENT_FILTER,
    "malformed_model_output": StopReason.ERROR,
    "malformed_tool_use": StopReason.ERROR,
}
"""Every word of Converse for `stopReason`, and what it means here."""

_DELTA = "contentBlockDelta"
_CONTENT = (_DELTA, "contentBlockStart", "contentBlockStop")
EVENTS = frozenset({*_CONTENT, "messageStart", "messageStop", "metadata", "chunk"})
"""The kinds of events that are known, whose payloads must be objects."""


class ConverseDecoder(FrameDecoder[ConverseEvent]):
    """Converse's events in, `ChunkResponse`s out; one decoder for one answer.

    A `messageStart` after content or another one begins the answer anew: what was still open is never ended, and calls
    that had ended before it do not run. After `messageStop` only `metadata` says anything: what a body says that is cut
    there must be what the whole one says.
    """

    wire = WIRE
    _kind = "Amazon Bedrock"
    _read = staticmethod(msgspec.json.Decoder(ConverseEvent).decode)
    _read_lines = staticmethod(msgspec.json.Decoder(ConverseEvent).decode_lines)

    def __init__(self, limits: Limits = DEFAULT_LIMITS) -> None:
        super().__init__(limits)
        self._tracker = ToolCallTracker(limits, provider=self.wire)
        self._blocks: dict[Index, Block] = {}
        self._current: Block | None = None
        self._last: Block | None = None
        self._opened = 0
        self._has_started = False
        self._has_stopped = False
        self._has_ended_calls = False
        self._is_uncertain = False
        self._stop_reason: str | None = None
        self._usage: TokenUsage | None = None
        self._cited = 0
        self._cited_size = 0  # in characters of JSON: what is made of them takes far more
        self._not_kept: set[str] = set()
        self._joins_texts = False
        """Whether blocks of text that follow each other are one: some models make a block of every word."""

    def _take(self, event: ConverseEvent, made: list[ChunkResponse]) -> None:
        self._take_all(iter((event,)), made)

    def _take_all(self, events: Iterator[ConverseEvent], made: list[ChunkResponse]) -> None:
        """Nearly every event is more of the block that is open: those are joined here, `_take_any` takes all others."""
        block, join = self._current, self._join
        for event in events:
            delta = event.delta
            if block is not None and delta is not None and event.index == block.index and event.kind == _DELTA:
                text = None
                if block.kind is TEXT:
                    if delta.tool_use is None and delta.citation is None and delta.reasoning_content is None:
                        text = delta.text
                elif block.kind is CALL:
                    piece = delta.tool_use
                    if piece is not None and delta.text is None and delta.reasoning_content is None:
                        text = piece.input
                        if text:
                            block.room -= len(text)
                elif block.kind is THINKING:
                    thought = delta.reasoning_content
                    if thought is not None and thought.signature is None and thought.redacted_content is None:
                        text = thought.text if delta.text is None and delta.tool_use is None else None
                if text and block.room >= 0 and not self._has_stopped:
                    join(text)
                    continue
            if event.chunk is not None and event.kind == "chunk":
                self._take_chunk(event, made)
            else:
                if self._pieces:
                    self._end_pieces(made)
                self._take_any(event, made)
            if self._done:
                return
            block = self._current

    def _end_pieces(self, made: list[ChunkResponse]) -> None:
        text, block = "".join(self._pieces), self._current
        self._pieces.clear()
        if block is None:
            return
        if block.kind is TEXT:
            made.append(ChunkResponse(text))
        elif block.kind is THINKING:
            made.append(ChunkResponse("", text))
        else:
            self._take_input(block, text, made)

    def _take_any(self, event: ConverseEvent, made: list[ChunkResponse]) -> None:
        kind = event.kind
        if kind == "metadata":
            self._take_usage(event.usage, made)
            if self._has_stopped:
                made.append(self._end())
        elif self._has_stopped:
            self._count(AFTER_THE_END)
        elif kind == "messageStop":
            self._stop_reason, self._has_stopped = event.stop_reason, True
            if self._usage is not None:
                made.append(self._end())
        elif kind in _CONTENT:
            self._take_content(event, made)
        elif kind == "messageStart":
            self._start_message(made)
        else:
            self._count("event-of-another-kind")

    def _take_content(self, event: ConverseEvent, made: list[ChunkResponse]) -> None:
        if event.kind == _DELTA:
            if event.delta is None:
                self._count("delta-without-content")
            else:
                self._take_delta(event.index, event.delta, made)
        elif event.kind == "contentBlockStart":
            started = started_kind(event.start or {})
            if started is not None:
                self._start_block(event.index, *started, made)
            elif event.index in self._blocks:  # else its first delta says what it is
                self._leave_open(self._blocks[event.index])
        else:
            block = self._blocks.pop(event.index, None)
            if block is None:
                self._count("stop-without-block")
            else:
                self._close(block, made)

    def _take_chunk(self, event: ConverseEvent, made: list[ChunkResponse]) -> None:
        """Appends the chunks of what a model says that was invoked by itself. Converse has no such event."""
        self._count("event-of-another-kind")

    def _start_message(self, made: list[ChunkResponse]) -> None:
        if self._has_started or self._opened:
            self._count("second-message-start")
            self._is_uncertain = self._is_uncertain or self._has_ended_calls
            self._turn_to(None, made)
            self._blocks.clear()
        self._has_started = True

    def _start_block(self, index: Index, kind: str, body: dict[str, Any], made: list[ChunkResponse]) -> Block:
        left = self._blocks.get(index)
        if left is not None:
            if left.kind is kind and text_of(body, "toolUseId") and body == left.body:
                self._count("block-started-again")
                return left
            self._leave_open(left)
        elif len(self._blocks) >= self._limits.segments:
            raise LimitExceeded("the number of open blocks in one answer", self._limits.segments)
        block = self._blocks[index] = self._open(index, kind, body, made)
        return block

    def _leave_open(self, block: Block) -> None:
        """Another block began in the place of this one, which was not stopped."""
        self._count("block-never-stopped")
        # Whose the pieces are that come now, and the stop, can no longer be told.
        self._is_uncertain = self._is_uncertain or block.kind is CALL

    def _open(self, index: Index, kind: str, body: dict[str, Any], made: list[ChunkResponse]) -> Block:
        room = self._limits.event if kind is IMAGE else self._limits.arguments
        block = Block(index, self._opened, kind, body, room)
        self._opened += 1
        self._turn_to(block, made)
        self._last = block
        call_id = text_of(body, "toolUseId")
        if kind is CALL:
            piece = self._tracker.delta(block.key, call_id, text_of(body, "name"), "")
            if piece is not None:
                made.append(ChunkResponse("", "", (piece,)))
        elif kind is SERVER:
            self._not_kept.add(call_id)
            tool = ServerToolDelta(str(block.key), text_of(body, "name"), call_id)
            made.append(ChunkResponse(server_tools=(tool,)))
        elif kind is RESULT:
            tool = ServerToolDelta(str(block.key), text_of(body, "type") or "toolResult", call_id, is_result=True)
            made.append(ChunkResponse(server_tools=(tool,)))
        elif kind is OPAQUE:
            self._count("block-of-another-kind")
        return block

    def _turn_to(self, block: Block | None, made: list[ChunkResponse]) -> None:
        """Makes `block` the one that is being written. If that interrupts another one's words, they end here, and
        what the provider says of that block as a whole holds for no part of the message.
        """
        interrupted = self._current
        self._current = block
        if interrupted is not None:
            self._count("blocks-overlap")
            if interrupted.part is not None:
                interrupted.spoiled = True
                made.append(ChunkResponse(part_end=PartEnd(interrupted.part)))

    def _take_delta(self, index: Index, delta: Delta, made: list[ChunkResponse]) -> None:
        block = self._blocks.get(index)
        piece = delta.tool_use
        if block is None:
            kind = delta_kind(delta)
            if kind is None:
                if piece is not None and piece.input:
                    raise self._fault("a piece of a tool call came outside of any block")
                self._count("delta-without-block")
                return
            block = self._start_block(index, kind, {}, made)
        elif block is not self._current:
            self._turn_to(block, made)
        if not self._take_known(block, delta, made):
            # What it says is not known, so that a call may lack a part of its arguments: it does not end.
            self._count("delta-of-another-kind")
            block.spoiled = True
        if piece is not None and piece.input and block.kind not in (CALL, SERVER):
            raise self._fault("a piece of a tool call came in a block that is no call")
        if delta.text:
            made.append(ChunkResponse(delta.text))
        thought = delta.reasoning_content
        if thought is not None and thought.text:
            made.append(ChunkResponse("", thought.text))

    def _take_known(self, block: Block, delta: Delta, made: list[ChunkResponse]) -> bool:
        """Takes what is not words; False where a block holds what it should not, or nothing known."""
        thought, piece, kind = delta.reasoning_content, delta.tool_use, block.kind
        if thought is not None:
            self._take_thought(block, thought)
        if piece is not None and kind in (CALL, SERVER):
            self._take_input(block, piece.input or "", made)
        if delta.citation is not None and kind is TEXT:
            self._cite(block, delta.citation)
        if delta.tool_result is not None and kind is RESULT:
            self._take_given(block, delta.tool_result, made)
        if delta.image is not None and kind is IMAGE:
            source = delta.image.get("source") if isinstance(delta.image, dict) else None
            self._keep(block, block.pieces, text_of(source, "bytes"))
            if isinstance(source, dict) and "bytes" not in source:
                block.body = {**block.body, **source}
        if kind in (CALL, SERVER):
            return piece is not None and not delta.text and thought is None
        if kind is THINKING:
            return thought is not None and not delta.text
        if kind is TEXT:
            return (delta.text is not None or delta.citation is not None) and thought is None
        return (delta.tool_result if kind is RESULT else delta.image if kind is IMAGE else delta.text) is not None

    def _take_thought(self, block: Block, thought: Thought) -> None:
        if thought.signature:
            self._keep(block, block.signature, thought.signature)
        if thought.redacted_content:
            self._keep(block, block.pieces, thought.redacted_content)

    def _keep(self, block: Block, pieces: list[str], text: str) -> None:
        block.room -= len(text)
        if block.room < 0:
            most = self._limits.event if block.kind is IMAGE else self._limits.arguments
            raise LimitExceeded("what is kept of one block", most)
        if text:
            pieces.append(text)

    def _take_input(self, block: Block, text: str, made: list[ChunkResponse]) -> None:
        if not text:
            return
        block.filled = True
        if block.kind is CALL:
            piece = self._tracker.delta(block.key, None, None, text)
            block.room = self._tracker.room(block.key)
            if piece is not None:
                made.append(ChunkResponse("", "", (piece,)))
            return
        self._keep(block, block.pieces, text)
        made.append(ChunkResponse(server_tools=(ServerToolDelta(str(block.key), text=text),)))

    def _take_given(self, block: Block, given: Any, made: list[ChunkResponse]) -> None:
        for item in given if isinstance(given, list) else [given]:
            words = text_of(item, "text") or shown(item.get("json") if isinstance(item, dict) else item)
            self._keep(block, [], words)
            self._note(block.given, item)
            made.append(ChunkResponse(server_tools=(ServerToolDelta(str(block.key), text=words, is_result=True),)))

    def _cite(self, block: Block, citation: Any) -> None:
        if isinstance(citation, dict):
            self._note(block.citations, citation)
        else:
            self._count("citation-of-another-kind")

    def _note(self, kept: list[Any], item: Any) -> None:
        self._cited += 1
        if self._cited > self._limits.blocks:
            raise LimitExceeded("the number of citations and results in one answer", self._limits.blocks)
        self._cited_size += len(shown(item))
        if self._cited_size > self._limits.event:
            raise LimitExceeded("all citations and results of one answer", self._limits.event)
        kept.append(item)

    def _close(self, block: Block, made: list[ChunkResponse]) -> None:
        """The end of a block, with what must go back of it."""
        is_current = block is self._current
        if is_current:
            self._current = None
        if block.kind is TEXT:
            cited = block.citations
            kept = {"wire": WIRE, "citations": cited} if cited and not block.spoiled else None
            end = PartEnd("text", kept) if is_current and (kept or not self._joins_texts) else None
            if cited or end:
                made.append(ChunkResponse(citations=[citation_of(citation) for citation in cited], part_end=end))
        elif block.kind is THINKING:
            if is_current:
                made.append(ChunkResponse(part_end=PartEnd("reasoning", self._kept_thought(block))))
        elif block.kind is CALL:
            ended = None if block.spoiled else self._tracker.done(block.key)
            if ended is not None:
                self._has_ended_calls = True
                made.append(ChunkResponse("", "", (ended,)))
        elif block.kind is IMAGE:
            self._show_image(block, made)
        elif block.kind is not OPAQUE:
            whole = self._server_block(block)
            is_result = block.kind is RESULT
            tool = ServerToolDelta(str(block.key), is_result=is_result, done=True, provider_data=whole)
            made.append(ChunkResponse(server_tools=(tool,)))

    def _kept_thought(self, block: Block) -> dict[str, Any] | None:
        if block.spoiled:
            return None
        if block.signature:
            return {"wire": WIRE, "signature": "".join(block.signature)}
        hidden = joined_base64(block.pieces) if block.pieces else None
        return None if hidden is None else {"wire": WIRE, "redacted": hidden}

    def _show_image(self, block: Block, made: list[ChunkResponse]) -> None:
        data = joined_base64(block.pieces) if block.pieces else None
        location = block.body.get("s3Location")
        url = f"data:image/{text_of(block.body, 'format') or 'png'};base64,{data}" if data else text_of(location, "uri")
        if url:
            made.append(ChunkResponse(image_urls=[url]))
        else:
            self._count("image-without-data")

    def _server_block(self, block: Block) -> dict[str, Any] | None:
        """What a server tool was asked, or gave, as the API wants it back; None where that cannot be known, and for a
        result whose question does not go back.
        """
        call_id = text_of(block.body, "toolUseId")
        if block.spoiled or not call_id:
            return None
        if block.kind is RESULT:
            if call_id in self._not_kept:
                return None
            return {"wire": WIRE, "block": {"toolResult": {**block.body, "content": block.given}}}
        text = "".join(block.pieces) or "{}"
        try:
            asked = None if is_deeper(text, self._limits.depth) else msgspec.json.decode(text)
        except msgspec.MsgspecError:
            asked = None
        if not isinstance(asked, dict) or not text_of(block.body, "name"):
            self._count("server-tool-input-is-no-object")
            return None
        self._not_kept.discard(call_id)
        return {"wire": WIRE, "block": {"toolUse": {**block.body, "input": asked}}}

    def _take_usage(self, sent: Any, made: list[ChunkResponse]) -> None:
        if isinstance(sent, dict):
            self._usage = usage_of(sent)
            made.append(ChunkResponse(usage=self._usage))

    def _end(self) -> ChunkResponse:
        """The last chunk. A block that was never stopped has not ended, whatever the stop reason."""
        raw = self._stop_reason
        reason = STOP_REASONS.get(raw or "", StopReason.UNKNOWN)
        # After whole calls the API says `tool_use`: a stop sequence right there fell into the last call.
        cut_call = raw == "stop_sequence" and self._last is not None and self._last.kind is CALL
        return self._ended(StopReason.UNKNOWN if self._is_uncertain or cut_call else reason)

    def _ended(self, reason: StopReason) -> ChunkResponse:
        self._done = True
        return ChunkResponse(
            stop_reason=settled_stop(reason, has_calls=bool(len(self._tracker))),
            raw_stop_reason=self._stop_reason,
            is_complete=True,
        )

    def _finish(self) -> list[ChunkResponse]:
        return [self._end()] if self._has_stopped else []
