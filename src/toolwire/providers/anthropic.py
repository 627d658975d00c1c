"""Anthropic Messages, as Anthropic, Vertex and Bedrock send it: the decoding half.

`AnthropicDecoder` turns SSE events into `ChunkResponse`s. An answer is a row of content blocks, each named by an
`index` from its start to its stop. Words and calls are shown; whatever else the API wants back in the next request
(signatures, redacted thinking, citations, tools that ran on its side, blocks of kinds yet unknown) is kept as it came.

What counts as the proper end: `message_stop`, and nothing else. A call has ended when its block was stopped.

The encoding half is `anthropic_request`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from ..chunks import ChunkResponse, PartEnd, ServerToolDelta, StopReason, TokenUsage
from ..errors import LimitExceeded
from ..limits import DEFAULT_LIMITS, Limits
from .anthropic_blocks import (
    CALL,
    OPAQUE,
    RESULT,
    SERVER,
    TEXT,
    THINKING,
    Block,
    MessageEvent,
    StartedMessage,
    block_kind,
    citation_of,
    given_input,
    items_of,
    text_of,
)
from .anthropic_request import WIRE
from .decoder import FrameDecoder, shown, token_count
from .nesting import is_deeper
from .tracker import ToolCallTracker, settled_stop

STOP_REASONS: dict[str, StopReason] = {
    "end_turn": StopReason.STOP,
    "stop_sequence": StopReason.STOP,
    "tool_use": StopReason.TOOL_CALLS,
    "max_tokens": StopReason.LENGTH,
    "model_context_window_exceeded": StopReason.LENGTH,
    "pause_turn": StopReason.PAUSE,
    "compaction": StopReason.PAUSE,
    "refusal": StopReason.REFUSAL,
}
"""Every word of the API for `stop_reason`, and what it means here."""

_KNOWN_OPAQUE = frozenset({"redacted_thinking", "container_upload", "compaction", "fallback", "mcp_tool_listing"})
_WITH_INPUT = (CALL, SERVER, OPAQUE)
_COUNTS = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens")


class AnthropicDecoder(FrameDecoder[MessageEvent]):
    """SSE events of a message in, `ChunkResponse`s out; one decoder for one answer.

    Blocks are known by their index, and only while they are open. A second `message_start` begins the answer anew:
    what was still open is never ended. Calls that had ended before it, or before a `fallback` block (another model
    took over because the first one declined), belong to an attempt that no longer counts, so nothing runs.
    """

    wire = WIRE
    _kind = "the Anthropic Messages API"
    _read = staticmethod(msgspec.json.Decoder(MessageEvent).decode)
    _read_lines = staticmethod(msgspec.json.Decoder(MessageEvent).decode_lines)

    def __init__(self, limits: Limits = DEFAULT_LIMITS) -> None:
        super().__init__(limits)
        self._tracker = ToolCallTracker(limits, provider=self.wire)
        self._blocks: dict[int | str | None, Block] = {}
        self._current: Block | None = None
        self._last: Block | None = None
        self._opened = 0
        self._has_started = False
        self._has_ended_calls = False
        self._is_uncertain = False
        self._stop_reason: str | None = None
        self._container: str | None = None
        self._counts = dict.fromkeys((*_COUNTS, "thinking_tokens"), 0)
        self._cited = 0
        self._cited_size = 0  # in characters of JSON: what is made of them takes far more
        self._not_kept: set[str] = set()

    def _take(self, event: MessageEvent, made: list[ChunkResponse]) -> None:
        self._take_all(iter((event,)), made)

    def _take_all(self, events: Iterator[MessageEvent], made: list[ChunkResponse]) -> None:
        """Nearly every event is more of the block that is open: those are joined here, `_take_any` takes all others."""
        block, join = self._current, self._join
        for event in events:
            delta = event.delta
            if block is not None and delta is not None and delta.type == block.takes and event.index == block.index:
                if block.kind is TEXT:
                    text = delta.text
                elif block.kind is THINKING:
                    text = delta.thinking
                else:
                    text = delta.partial_json
                    if text:
                        block.room -= len(text)
                if text and block.room >= 0:
                    join(text)
                    continue
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

    def _take_any(self, event: MessageEvent, made: list[ChunkResponse]) -> None:
        kind = event.type
        if kind == "content_block_delta":
            self._take_delta(event, made)
        elif kind == "content_block_start":
            if event.content_block is None:
                self._count("start-without-block")
            else:
                self._start_block(event.index, event.content_block, made)
        elif kind == "content_block_stop":
            block = self._blocks.pop(event.index, None)
            if block is None:
                self._count("stop-without-block")
            else:
                self._close(block, made)
        elif kind == "message_start":
            self._start_message(event.message, made)
        elif kind == "message_delta":
            delta = event.delta
            if delta is not None:
                self._stop_reason = delta.stop_reason or self._stop_reason
                self._take_container(delta.container)
            self._take_usage(event.usage, made)
        elif kind == "message_stop":
            made.append(self._end())
        elif kind == "error" or event.error is not None:
            raise self._provider_error(event.error if event.error is not None else "it gave no reason")
        elif kind != "ping":
            self._count("event-of-another-kind")

    def _take_whole(self, event: MessageEvent, made: list[ChunkResponse]) -> None:
        if event.type == "message":
            self._take_message(StartedMessage(event.content, event.stop_reason, event.usage), made)
            made.append(self._end())

    def _start_message(self, message: StartedMessage | None, made: list[ChunkResponse]) -> None:
        if self._has_started:
            self._count("second-message-start")
            self._supersede()
            self._turn_to(None, made)
            self._blocks.clear()
            self._stop_reason = None
        self._has_started = True
        if message is not None:
            self._take_message(message, made)

    def _take_message(self, message: StartedMessage, made: list[ChunkResponse]) -> None:
        """A message that may hold content already: a call by code on the provider's side is whole in its start."""
        self._stop_reason = message.stop_reason or self._stop_reason
        self._take_container(message.container)
        if isinstance(message.content, list):
            for body in message.content:
                if isinstance(body, dict):
                    self._close(self._open(None, body, made), made)
        self._take_usage(message.usage, made)

    def _start_block(self, index: int | str | None, body: dict[str, Any], made: list[ChunkResponse]) -> Block:
        left = self._blocks.get(index)
        if left is not None:
            if text_of(body, "id") and all(body.get(name) == left.body.get(name) for name in ("type", "id", "name")):
                self._count("block-started-again")
                left.given = left.given or given_input(body)
                return left
            self._count("block-never-stopped")
            # Whose the pieces are that come now can no longer be told.
            self._is_uncertain = self._is_uncertain or left.kind is CALL
        elif len(self._blocks) >= self._limits.segments:
            raise LimitExceeded("the number of open blocks in one answer", self._limits.segments)
        block = self._blocks[index] = self._open(index, body, made)
        return block

    def _open(self, index: int | str | None, body: dict[str, Any], made: list[ChunkResponse]) -> Block:
        """A new block, with what its start says already."""
        name = text_of(body, "type")
        block = Block(index, self._opened, block_kind(name), body, self._limits.arguments)
        self._opened += 1
        self._turn_to(block, made)
        self._last = block
        if block.kind is TEXT:
            text = text_of(body, "text")
            if text:
                made.append(ChunkResponse(text))
            for citation in items_of(body, "citations"):
                self._cite(block, citation)
        elif block.kind is THINKING:
            text = text_of(body, "thinking")
            block.signature = text_of(body, "signature")
            if text:
                made.append(ChunkResponse("", text))
        elif block.kind is CALL:
            block.given = given_input(body)
            extra = {key: body[key] for key in ("caller", "toolset_name") if body.get(key) is not None}
            piece = self._tracker.delta(
                block.key, text_of(body, "id"), text_of(body, "name"), "", {"wire": WIRE, **extra} if extra else None
            )
            if piece is not None:
                made.append(ChunkResponse("", "", (piece,)))
        elif block.kind is SERVER:
            block.given = given_input(body)
            call_id = text_of(body, "id")
            self._not_kept.add(call_id)
            tool = ServerToolDelta(str(block.key), text_of(body, "name"), call_id)
            made.append(ChunkResponse(server_tools=(tool,)))
        elif block.kind is RESULT:
            words = shown(body.get("content"))
            tool = ServerToolDelta(str(block.key), name, text_of(body, "tool_use_id"), words, True)
            made.append(ChunkResponse(server_tools=(tool,)))
        elif name == "fallback":
            self._supersede()
        elif name not in _KNOWN_OPAQUE:
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

    def _take_delta(self, event: MessageEvent, made: list[ChunkResponse]) -> None:
        delta, block = event.delta, self._blocks.get(event.index)
        if delta is None:
            self._count("delta-without-content")
            return
        if block is None:
            self._count("delta-without-block")
            if delta.text or delta.thinking:
                block = self._start_block(event.index, {"type": "text" if delta.text else "thinking"}, made)
        elif block is not self._current:
            self._turn_to(block, made)
        if block is None:
            if delta.partial_json:
                raise self._fault("a piece of a tool call came outside of any block")
            return
        if delta.type == "signature_delta" and block.kind in (THINKING, OPAQUE):
            block.signature = delta.signature or ""
            return
        elif delta.type == "citations_delta" and block.kind is TEXT:
            self._cite(block, delta.citation)
            return
        elif delta.type == "compaction_delta" and block.kind is OPAQUE:
            # It holds the whole, not a piece.
            block.body["content"] = delta.content
            if delta.encrypted_content is not None:
                block.body["encrypted_content"] = delta.encrypted_content
            return
        elif delta.type == "input_json_delta" and delta.partial_json is not None and block.kind in _WITH_INPUT:
            self._take_input(block, delta.partial_json, made)
            return
        elif delta.type == "text_delta" and block.kind is OPAQUE:
            block.words.append(delta.text or "")
        elif delta.type != block.takes or block.kind in (CALL, SERVER):
            # What it says is not known, so that a call may lack a part of its arguments: it does not end.
            self._count("delta-of-another-kind")
            block.spoiled = True
        if delta.partial_json:
            raise self._fault("a piece of a tool call came in a block that is no call")
        if delta.text or delta.thinking:
            made.append(ChunkResponse(delta.text or "", delta.thinking or ""))

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
        block.size += len(text)
        if block.size > self._limits.arguments:
            raise LimitExceeded("the input of one server tool", self._limits.arguments)
        block.room = self._limits.arguments - block.size
        block.pieces.append(text)
        if block.kind is SERVER:
            made.append(ChunkResponse(server_tools=(ServerToolDelta(str(block.key), text=text),)))

    def _cite(self, block: Block, citation: Any) -> None:
        if not isinstance(citation, dict):
            self._count("citation-of-another-kind")
            return
        self._cited += 1
        if self._cited > self._limits.blocks:
            raise LimitExceeded("the number of citations in one answer", self._limits.blocks)
        self._cited_size += len(shown(citation))
        if self._cited_size > self._limits.event:
            raise LimitExceeded("all citations of one answer", self._limits.event)
        block.citations.append(citation)

    def _close(self, block: Block, made: list[ChunkResponse]) -> None:
        """The end of a block, with what must go back of it."""
        is_current = block is self._current
        if is_current:
            self._current = None
        if block.kind is TEXT:
            cited = block.citations
            kept = {"wire": WIRE, "citations": cited} if cited and not block.spoiled else None
            end = PartEnd("text", kept) if is_current else None
            if cited or end:
                made.append(ChunkResponse(citations=[citation_of(citation) for citation in cited], part_end=end))
        elif block.kind is THINKING:
            if is_current:
                kept = {"wire": WIRE, "signature": block.signature} if block.signature and not block.spoiled else None
                made.append(ChunkResponse(part_end=PartEnd("reasoning", kept)))
        elif block.kind is CALL:
            if block.given and not block.filled:
                self._take_input(block, block.given, made)
            ended = None if block.spoiled else self._tracker.done(block.key)
            if ended is not None:
                self._has_ended_calls = True
                made.append(ChunkResponse("", "", (ended,)))
        elif block.kind is OPAQUE:
            whole = self._whole(block)
            if block.words:
                if is_current:
                    made.append(ChunkResponse(part_end=PartEnd("text", whole)))
            elif whole is not None:
                hidden = block.body.get("type") == "redacted_thinking"
                made.append(ChunkResponse(part_end=PartEnd("reasoning" if hidden else "opaque", whole)))
        else:
            given = "" if block.filled else block.given
            tool = ServerToolDelta(str(block.key), text=given, done=True, provider_data=self._server_block(block))
            made.append(ChunkResponse(server_tools=(tool,)))

    def _server_block(self, block: Block) -> dict[str, Any] | None:
        """What a server tool was asked, or gave; the API takes no result whose question does not go back with it."""
        whole = self._whole(block)
        if block.kind is SERVER and whole is not None:
            self._not_kept.discard(text_of(block.body, "id"))
        elif block.kind is RESULT and text_of(block.body, "tool_use_id") in self._not_kept:
            return None
        return whole

    def _whole(self, block: Block) -> dict[str, Any] | None:
        """The block as the API wants it back; None where that cannot be known."""
        body = block.body
        if block.spoiled:
            return None
        if block.pieces:
            text = "".join(block.pieces)
            try:
                given = None if is_deeper(text, self._limits.depth) else msgspec.json.decode(text)
            except msgspec.MsgspecError:
                given = None
            if not isinstance(given, dict):
                self._count("server-tool-input-is-no-object")
                return None
            body = {**body, "input": given}
        if block.words:
            body = {**body, "text": text_of(body, "text") + "".join(block.words)}
        if block.signature:
            body = {**body, "signature": block.signature}
        return {"wire": WIRE, "block": body}

    def _supersede(self) -> None:
        if self._has_ended_calls:
            self._is_uncertain = True
            self._count("calls-superseded")

    def _take_container(self, container: Any) -> None:
        if isinstance(container, dict):
            self._container = text_of(container, "id") or self._container

    def _take_usage(self, sent: Any, made: list[ChunkResponse]) -> None:
        """Counts are totals so far; those that are left out stay as they were."""
        if not isinstance(sent, dict):
            return
        counts = self._counts
        for name in _COUNTS:
            if sent.get(name) is not None:
                counts[name] = token_count(sent[name])
        details = sent.get("output_tokens_details")
        if isinstance(details, dict) and details.get("thinking_tokens") is not None:
            counts["thinking_tokens"] = token_count(details["thinking_tokens"])
        fresh, stored, cached, written = (counts[name] for name in _COUNTS)
        read = fresh + stored + cached
        usage = TokenUsage(read, written, cached, stored, counts["thinking_tokens"], read + written)
        made.append(ChunkResponse(usage=usage))

    def _end(self) -> ChunkResponse:
        """The last chunk. A block that was never stopped has not ended, whatever the stop reason."""
        self._done = True
        raw = self._stop_reason
        reason = STOP_REASONS.get(raw or "", StopReason.UNKNOWN)
        # After whole calls the API says `tool_use`: a stop sequence right there fell into the last call.
        cut_call = raw == "stop_sequence" and self._last is not None and self._last.kind is CALL
        if self._is_uncertain or cut_call:
            reason = StopReason.UNKNOWN
        return ChunkResponse(
            stop_reason=settled_stop(reason, has_calls=bool(len(self._tracker))),
            raw_stop_reason=raw,
            is_complete=True,
            provider_data=[{"wire": WIRE, "container": self._container}] if self._container else (),
        )
