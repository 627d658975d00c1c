"""Bedrock: the decoding half, for Converse and for models that are invoked by themselves.

`BedrockDecoder` turns the messages of an AWS event stream into `ChunkResponse`s. Events of Converse are read by
`bedrock_converse`, which says what a proper end is; a model that was invoked sends its own format in chunks, which the
first one tells (`bedrock_invoke`). Here is also what AWS says when something goes wrong.

The encoding half is `bedrock_request`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from ..chunks import ChunkResponse, PartEnd, StopReason
from ..errors import ProviderError
from ..limits import DEFAULT_LIMITS, Limits
from .bedrock_blocks import CALL, ConverseEvent, OtherMessage, started_kind, text_of
from .bedrock_converse import EVENTS, ConverseDecoder
from .bedrock_invoke import NOVA_MEMBERS, TEXT_MEMBERS, TEXT_REASONS, InvokedMessages, NovaChunk, TextChunk
from .bedrock_request import WIRE
from .decoder import shown
from .nesting import is_deeper

_ERROR_WORDS = {
    "throttlingexception": "rate_limit_error",
    "toomanyrequestsexception": "rate_limit_error",
    "servicequotaexceededexception": "rate_limit_error",
    "accessdeniedexception": "permission_error",
    "unrecognizedclientexception": "authentication_error",
    "invalidsignatureexception": "authentication_error",
    "missingauthenticationtokenexception": "authentication_error",
    "incompletesignatureexception": "authentication_error",
    "expiredtokenexception": "authentication_error",
    "resourcenotfoundexception": "not_found_error",
}
"""The exceptions of AWS that have an error type of their own, and the words that all decoders know for those."""

_AWS_MEMBERS = frozenset({":code", "__type", "Message", "originalMessage"})
_read_nova = msgspec.json.Decoder(NovaChunk).decode
_read_message = InvokedMessages._read
_read_text = msgspec.json.Decoder(TextChunk).decode
_read_members = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode


class BedrockDecoder(ConverseDecoder):
    """Messages of an AWS event stream in, `ChunkResponse`s out; one decoder for one answer."""

    def __init__(self, limits: Limits = DEFAULT_LIMITS) -> None:
        super().__init__(limits)
        self._inside: Callable[[bytes, list[ChunkResponse]], None] | None = None
        self._message: InvokedMessages | None = None
        self._is_text = False

    def _take_any(self, event: ConverseEvent, made: list[ChunkResponse]) -> None:
        if event.message is not None:
            if event.message.type != "event":
                raise self._reported(event.message)
            if event.kind in EVENTS:
                raise self._fault("the payload of an event is no JSON object")
        if event.kind in EVENTS and (self._message is not None or self._is_text):
            raise self._fault("an event of Converse came among the chunks of an invoked model")
        super()._take_any(event, made)

    def _end_pieces(self, made: list[ChunkResponse]) -> None:
        if self._message is not None:
            self._message._end_pieces(made)
        else:
            super()._end_pieces(made)

    def _end(self) -> ChunkResponse:
        if self._is_text:
            return self._ended(TEXT_REASONS.get((self._stop_reason or "").lower(), StopReason.UNKNOWN))
        return super()._end()

    def _take_chunk(self, event: ConverseEvent, made: list[ChunkResponse]) -> None:
        data, deepest = event.chunk, self._limits.chunk_depth
        if self._inside is None and (self._has_started or self._opened or self._has_stopped or self._usage is not None):
            raise self._fault("a chunk of an invoked model came among the events of Converse")
        if not data:
            self._count("empty-chunk")
            return
        if len(data) > deepest and is_deeper(data.decode(errors="replace"), deepest):
            raise self._fault("a chunk is nested too deeply")
        try:
            if self._inside is None:
                self._inside = self._reader(set(_read_members(data)))
            self._inside(data, made)
        except RecursionError:
            raise self._fault("a chunk is nested too deeply") from None
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise self._fault(f"a chunk is not of this format: {error}") from None

    def _reader(self, members: set[str]) -> Callable[[bytes, list[ChunkResponse]], None]:
        """Who reads this model's chunks, from the members of the first one."""
        if "type" in members:
            self._message = InvokedMessages(self._limits)
            self._message.quirks = self.quirks
            self._message._pieces, self._message._join = self._pieces, self._join
            return self._take_message
        if members & NOVA_MEMBERS:
            self._joins_texts = True
            return self._take_nova
        if members & TEXT_MEMBERS:
            self._is_text = True
            return self._take_text
        names = ", ".join(sorted(members))[:200]
        family = "OpenAI's chat format" if "choices" in members else "a format of its own"
        raise self._fault(f"this model was invoked and answers in {family}, which is not read here (members: {names})")

    def _take_message(self, data: bytes, made: list[ChunkResponse]) -> None:
        assert self._message is not None
        self._message._take_all(iter((_read_message(data),)), made)
        self._done = self._message._done

    def _take_nova(self, data: bytes, made: list[ChunkResponse]) -> None:
        event = _read_nova(data).event()
        if event is None:
            self._count("event-of-another-kind")
        else:
            self._take_all(iter((event,)), made)

    def _take_text(self, data: bytes, made: list[ChunkResponse]) -> None:
        chunk = _read_text(data)
        if chunk.words:
            made.append(ChunkResponse(chunk.words, choice=max(0, min(chunk.index or 0, self._limits.calls))))
        if chunk.reason is not None:
            self._stop_reason, self._has_stopped = chunk.reason, True
        if chunk.metrics is not None:
            self._take_usage(chunk.metrics, made)
            made.append(self._end())

    def _reported(self, message: OtherMessage) -> ProviderError:
        headers, text = message.headers, message.payload
        try:
            said = None if is_deeper(text, self._limits.depth) else msgspec.json.decode(text)
        except msgspec.MsgspecError:
            said = None
        sent: dict[str, Any] = said if isinstance(said, dict) else {"message": text}
        code = headers.get(":exception-type") or headers.get(":error-code") or message.type
        return self._provider_error({**sent, ":code": code, ":message": headers.get(":error-message")})

    def _provider_error(self, error: Any) -> ProviderError:
        """AWS says what went wrong in a header, in `__type` or in `message`, and what the model said beside it."""
        if not isinstance(error, dict) or not _AWS_MEMBERS.intersection(error):
            return super()._provider_error(error)
        words = next((error[name] for name in ("message", "Message", ":message") if error.get(name)), None)
        code = next((error[name] for name in (":code", "__type") if isinstance(error.get(name), str)), "")
        original = error.get("originalMessage")
        if original:
            words = shown(original) if words is None else f"{shown(words)} The model said: {shown(original)}"
        name = code.rpartition("#")[2].partition(":")[0]
        made = super()._provider_error({"message": words or name, "code": _ERROR_WORDS.get(name.lower(), name)})
        if name:
            made.facts["code"] = name
        return made

    def _feed_irregular(self, frame: Any, error: msgspec.MsgspecError) -> list[ChunkResponse]:
        raise self._fault(f"an event is not of this format: {error}")

    def _feed_stray(self, frame: Any) -> list[ChunkResponse]:
        """A body that is text: what it is, its end tells."""
        if frame.data.strip():
            self._stray.append(frame.data)
        return []

    def _feed_body(self, text: str) -> list[ChunkResponse]:
        try:
            said = msgspec.json.decode(text)
        except (msgspec.MsgspecError, RecursionError):
            said = None
        if isinstance(said, dict) and ("message" in said or _AWS_MEMBERS.intersection(said)):
            raise self._provider_error(said)
        return super()._feed_body(text)

    def _take_whole(self, event: ConverseEvent, made: list[ChunkResponse]) -> None:
        message = event.output.get("message") if isinstance(event.output, dict) else None
        content = message.get("content") if isinstance(message, dict) else None
        if not isinstance(content, list):
            return
        for number, body in enumerate(content):
            if isinstance(body, dict):
                self._take_block(number, body, made)
        self._take_usage(event.usage, made)
        self._stop_reason = event.stop_reason
        made.append(self._end())

    def _take_block(self, index: int, body: dict[str, Any], made: list[ChunkResponse]) -> None:
        """A block of an answer that was not streamed."""
        asked, thought = body.get("toolUse"), body.get("reasoningContent")
        if isinstance(body.get("text"), str):
            made.append(ChunkResponse(body["text"], part_end=PartEnd("text")))
        elif isinstance(asked, dict):
            kind, start = started_kind({"toolUse": {name: asked[name] for name in asked if name != "input"}}) or (
                CALL,
                {},
            )
            block = self._start_block(index, kind, start, made)
            sent = asked.get("input")
            self._take_input(block, shown({} if sent is None else sent), made)
            self._close(self._blocks.pop(index), made)
        elif isinstance(thought, dict):
            shown_thought = thought.get("reasoningText")
            kept = {"signature": text_of(shown_thought, "signature"), "redacted": text_of(thought, "redactedContent")}
            kept = {name: value for name, value in kept.items() if value}
            end = PartEnd("reasoning", {"wire": WIRE, **kept} if kept else None)
            made.append(ChunkResponse("", text_of(shown_thought, "text"), part_end=end))
        else:
            made.append(ChunkResponse(part_end=PartEnd("opaque", {"wire": WIRE, "block": body})))
