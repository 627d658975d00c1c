"""Gemini generateContent, of the Gemini API and of Vertex AI: the decoding half.

`GeminiDecoder` turns the frames of a streamed answer (SSE or elements of a JSON array) into `ChunkResponse`s. An answer
is a row of parts: text, thoughts, calls, media, and what tools on Google's side were asked and gave. Any of them may
carry a `thoughtSignature` that must go back with exactly that part, so a signed part is never joined with another.

A call comes whole in one part, or in pieces while `willContinue` says so; there is no other mark of its end. The proper
end of an answer is the end of the body after a `finishReason` that no content followed (older models repeat it in every
chunk, some send it twice), or after a `promptFeedback` that says the prompt was blocked.

The encoding half is `gemini_request`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from ..chunks import ChunkResponse, Citation, PartEnd, StopReason, ToolCallDelta
from ..errors import IncompleteStream, ToolwireError
from ..limits import DEFAULT_LIMITS, Limits
from ..wire.json_array import ArrayElement
from ..wire.lines import Run
from .decoder import FrameDecoder, shown
from .gemini_chunks import (
    Call,
    Candidate,
    Chunk,
    Part,
    Reading,
    Usage,
    arguments_text,
    has_counts,
    has_other_parts,
    is_respelled,
    read_chunk,
    read_chunks,
    token_usage,
)
from .gemini_parts import camel_case, media_part, part_kind, read_citations, server_part
from .gemini_request import WIRE
from .partial_args import ArgumentWriter, NotInOrder
from .tracker import ToolCallTracker, settled_stop

STOP_REASONS: dict[str, StopReason] = {
    "STOP": StopReason.STOP,
    "MAX_TOKENS": StopReason.LENGTH,
    "CONTINUATION": StopReason.LENGTH,
    "SAFETY": StopReason.CONTENT_FILTER,
    "RECITATION": StopReason.CONTENT_FILTER,
    "LANGUAGE": StopReason.CONTENT_FILTER,
    "BLOCKLIST": StopReason.CONTENT_FILTER,
    "PROHIBITED_CONTENT": StopReason.CONTENT_FILTER,
    "SPII": StopReason.CONTENT_FILTER,
    "MODEL_ARMOR": StopReason.CONTENT_FILTER,
    "IMAGE_SAFETY": StopReason.CONTENT_FILTER,
    "IMAGE_PROHIBITED_CONTENT": StopReason.CONTENT_FILTER,
    "IMAGE_RECITATION": StopReason.CONTENT_FILTER,
    "MALFORMED_FUNCTION_CALL": StopReason.ERROR,
    "UNEXPECTED_TOOL_CALL": StopReason.ERROR,
    "TOO_MANY_TOOL_CALLS": StopReason.ERROR,
    "MALFORMED_RESPONSE": StopReason.ERROR,
    "MISSING_THOUGHT_SIGNATURE": StopReason.ERROR,
    "OTHER": StopReason.UNKNOWN,
    "NO_IMAGE": StopReason.UNKNOWN,
    "IMAGE_OTHER": StopReason.UNKNOWN,
    # As numbers (`enum-encoding=int`). From 9 on the Gemini API and Vertex AI number differently, except for 11.
    "1": StopReason.STOP,
    "2": StopReason.LENGTH,
    "3": StopReason.CONTENT_FILTER,
    "4": StopReason.CONTENT_FILTER,
    "5": StopReason.UNKNOWN,
    "6": StopReason.CONTENT_FILTER,
    "7": StopReason.CONTENT_FILTER,
    "8": StopReason.CONTENT_FILTER,
    "11": StopReason.CONTENT_FILTER,
}
"""Every `finishReason`, and what it means here."""

_TEXT, _THOUGHT, _CALL = range(3)
"""What a run of pieces is joined for."""

_UNSPECIFIED = ("", "0", "FINISH_REASON_UNSPECIFIED", "BLOCKED_REASON_UNSPECIFIED", "BLOCK_REASON_UNSPECIFIED")


_NOTHING_READ = Reading(None, [])
"""Between two feeds: the bytes of the last one are not kept."""


class _StreamedCall:
    """A call whose arguments come in pieces."""

    __slots__ = ("call_id", "key", "name", "room", "whole", "writer")

    def __init__(self, key: int, name: str, call_id: str, limits: Limits) -> None:
        self.key = key
        self.name = name
        self.call_id = call_id
        self.writer = ArgumentWriter(limits)
        self.room = 0
        self.whole = False  # the arguments came at once all the same


class _Answer:
    """What is known of one candidate."""

    __slots__ = ("calls", "finish_reason", "open", "streamed", "tracker")

    def __init__(self, tracker: ToolCallTracker) -> None:
        self.tracker = tracker
        self.calls = 0
        self.streamed: _StreamedCall | None = None
        self.finish_reason = ""
        self.open = True


class GeminiDecoder(FrameDecoder[Chunk]):
    """Frames of generateContent in, `ChunkResponse`s out; one decoder for one answer."""

    wire = WIRE
    _kind = "Gemini generateContent"
    _read = staticmethod(read_chunk)
    _read_lines = staticmethod(read_chunks)

    def __init__(self, limits: Limits = DEFAULT_LIMITS) -> None:
        super().__init__(limits)
        self._answers: dict[int, _Answer] = {}
        self._first: _Answer | None = None
        self._blocked: str | None = None
        self._counts: Usage | None = None
        self._pieces_of = _TEXT
        self._reading = _NOTHING_READ
        self._server_parts = 0
        self._cited: set[Citation] = set()

    def feed(self, frames: Iterable[Any]) -> list[ChunkResponse]:
        """The chunks that these frames hold. Counts come with every frame, so only the last of them are given."""
        try:
            made = super().feed(frames)
        except ToolwireError as error:
            error.before = [*error.before, *self._counted()]
            raise
        finally:
            self._reading = _NOTHING_READ
        return made + self._counted() if self._counts is not None else made

    def _counted(self) -> list[ChunkResponse]:
        """The usage that has not been given yet."""
        counts, self._counts = self._counts, None
        return [] if counts is None else [ChunkResponse(usage=token_usage(counts))]

    def _take(self, chunk: Chunk, made: list[ChunkResponse]) -> None:
        """Nearly every chunk is usage and one part for the first candidate, of text, thought, or more of a streamed
        argument: that is taken here. `_take_any` takes everything, slower.
        """
        candidates, answer, usage = chunk.candidates, self._first, chunk.usageMetadata
        if (
            usage is not None
            and answer is not None
            and candidates is not None
            and len(candidates) == 1
            and chunk.promptFeedback is None
            and chunk.error is None
        ):
            candidate = candidates[0]
            content = candidate.content
            if (
                content is not None
                and candidate.finishReason is None
                and not candidate.index
                and candidate.groundingMetadata is None
                and candidate.citationMetadata is None
            ):
                parts = content.parts
                if parts is not None and len(parts) == 1:
                    part = parts[0]
                    text, call = part.text, part.functionCall
                    if part.thoughtSignature is None and part.inlineData is None:
                        kind = _CALL
                        if call is not None:
                            text = self._piece(call, answer)
                        elif text:
                            kind = _THOUGHT if part.thought else _TEXT
                        if text:
                            if kind is not self._pieces_of:
                                self._end_open_pieces(made)
                                self._pieces_of = kind
                            self._join(text)
                            answer.open = True
                            if usage.totalTokenCount is not None:
                                self._counts = usage
                            return
        self._end_open_pieces(made)
        self._take_any(chunk, made)

    def _piece(self, call: Call, answer: _Answer) -> str | None:
        """The text of a part that is nothing but more of the string that is being streamed; None for others."""
        streamed, pieces = answer.streamed, call.partialArgs
        if (
            streamed is None
            or pieces is None
            or len(pieces) != 1
            or call.willContinue is not True
            or call.name
            or call.id is not None
            or call.args
        ):
            return None
        text = streamed.writer.more(pieces[0])
        if text:
            streamed.room -= len(text)
        return text if streamed.room >= 0 else None

    def _end_pieces(self, made: list[ChunkResponse]) -> None:
        text, kind, answer = "".join(self._pieces), self._pieces_of, self._first
        self._pieces.clear()
        if kind is _TEXT:
            made.append(ChunkResponse(text))
        elif kind is _THOUGHT:
            made.append(ChunkResponse("", text))
        elif answer is not None and answer.streamed is not None:
            piece = answer.tracker.more(answer.streamed.key, text)
            if piece is not None:
                made.append(ChunkResponse(tool_calls=(piece,)))

    def _read_run(self, run: Run) -> list[Chunk] | None:
        chunks = super()._read_run(run)
        self._reading = Reading(run, chunks or [])
        return chunks

    def _take_any(self, chunk: Chunk, made: list[ChunkResponse]) -> None:
        sent = chunk
        if chunk.response is not None:  # the Code Assist service puts it there
            chunk = chunk.response
        if chunk.usageMetadata is None and is_respelled(self._source(sent)):
            chunk = sent = self._respelled(self._source(sent))
        tree = self._tree(self._source(sent)) if has_other_parts(chunk) else None
        for number, candidate in enumerate(chunk.candidates or ()):
            self._take_candidate(candidate, _within(tree, "candidates", number), made)
        feedback = chunk.promptFeedback
        if isinstance(feedback, dict):
            word = _word(feedback.get("blockReason"))
            if word is not None:
                self._blocked = word
        elif not chunk.candidates and chunk.usageMetadata is None and chunk.error is None:
            self._count("chunk-without-candidates")
        if chunk.usageMetadata is not None and has_counts(chunk.usageMetadata):
            self._counts = chunk.usageMetadata
        if chunk.error is not None:
            raise self._provider_error(chunk.error)

    def _source(self, chunk: Chunk) -> str:
        return chunk.source or self._reading.source(chunk)

    def _take_whole(self, chunk: Chunk, made: list[ChunkResponse]) -> None:
        if chunk.candidates or chunk.promptFeedback is not None:
            self._take_any(chunk, made)
            made += self._counted()
            made += self._finish()

    def _finish(self) -> list[ChunkResponse]:
        if self._events and self._stray:
            self._check_stray_lines()
        answer = self._first
        if self._blocked is not None:
            raw, reason = self._blocked, StopReason.CONTENT_FILTER
        elif answer is not None and not answer.open:
            raw = answer.finish_reason
            reason = settled_stop(STOP_REASONS.get(raw, StopReason.UNKNOWN), has_calls=answer.calls > 0)
        else:
            return []
        self._done = True
        return [ChunkResponse(stop_reason=reason, raw_stop_reason=raw, is_complete=True)]

    def _check_stray_lines(self) -> None:
        """Vertex reports an error as an object over several lines, after chunks that each said `STOP`: half of one is
        no proper end either.
        """
        text = "\n".join(self._stray).strip()
        if text.startswith("{"):
            try:
                msgspec.json.decode(text)
            except (msgspec.MsgspecError, RecursionError):
                raise IncompleteStream(provider=self.wire) from None

    def _feed_irregular(self, frame: Any, error: msgspec.MsgspecError) -> list[ChunkResponse]:
        if isinstance(frame, ArrayElement):
            if frame.cut:
                raise IncompleteStream(provider=self.wire, position=frame.position)
            raise self._fault(f"an element of the array is not of this format: {error}")
        return super()._feed_irregular(frame, error)

    def _tree(self, source: str) -> Any:
        """A chunk as plain values, for parts that must be kept whole."""
        try:
            tree = msgspec.json.decode(source)
        except (msgspec.MsgspecError, RecursionError) as error:
            raise self._fault(f"an event is not of this format: {error}") from None
        return tree["response"] if tree.get("response") is not None else tree

    def _respelled(self, source: str) -> Chunk:
        tree = camel_case(self._tree(source))
        try:
            return read_chunk(msgspec.json.encode(tree).decode())
        except (msgspec.MsgspecError, RecursionError) as error:
            raise self._fault(f"an event is not of this format: {error}") from None

    def _take_candidate(self, candidate: Candidate, tree: Any, made: list[ChunkResponse]) -> None:
        number = candidate.index or 0
        answer = self._answers.get(number)
        if answer is None:
            answer = self._begin(number)
        parts = candidate.content.parts if candidate.content is not None else None
        if parts is not None:
            natives = _within(_within(tree, "content"), "parts")
            for at, part in enumerate(parts):
                for piece in self._take_part(part, natives[at] if natives else None, answer):
                    piece.choice = number
                    made.append(piece)
        if candidate.groundingMetadata is not None or candidate.citationMetadata is not None:
            cited = [
                citation
                for citation in read_citations(candidate.groundingMetadata, candidate.citationMetadata)
                if citation not in self._cited
            ]
            if cited:
                self._cited.update(cited)
                made.append(ChunkResponse(citations=cited, choice=number))
        word = _word(candidate.finishReason)
        if word is not None:
            answer.finish_reason = word
            answer.open = False

    def _begin(self, number: int) -> _Answer:
        if len(self._answers) >= self._limits.calls:
            raise self._fault("too many candidates in one answer")
        answer = self._answers[number] = _Answer(ToolCallTracker(self._limits, provider=self.wire))
        if number == 0:
            self._first = answer
        return answer

    def _take_part(self, part: Part, native: Any, answer: _Answer) -> Iterator[ChunkResponse]:
        signed = None if part.thoughtSignature is None else {"wire": WIRE, "thoughtSignature": part.thoughtSignature}
        if part.functionCall is not None:
            piece = self._call(part.functionCall, signed, answer)
            if piece is not None:
                answer.open = True
                yield ChunkResponse(tool_calls=(piece,))
            return
        if part.inlineData is not None:
            native = _present(inlineData=part.inlineData, thought=part.thought, thoughtSignature=part.thoughtSignature)
        kind = part_kind(native)
        if kind is not None:
            answer.open = True
            yield self._other_part(native, kind)
        elif part.text or signed is not None:
            text = part.text or ""
            if text:
                answer.open = True
            if signed is None:
                yield ChunkResponse("", text) if part.thought else ChunkResponse(text)
                return
            # First the end of what came without a signature, so that the two stay apart.
            yield ChunkResponse(part_end=PartEnd("reasoning" if part.thought else "text"))
            if part.thought:
                yield ChunkResponse("", text, part_end=PartEnd("reasoning", signed))
            else:
                yield ChunkResponse(text, part_end=PartEnd("text", signed))
        elif part.text is None:
            self._count("empty-part")

    def _other_part(self, native: dict[str, Any], kind: str) -> ChunkResponse:
        media = media_part(native, kind)
        if media is not None:
            return media
        self._server_parts += 1
        return ChunkResponse(server_tools=(server_part(native, kind, f"part {self._server_parts}"),))

    def _call(self, call: Call, signed: dict[str, Any] | None, answer: _Answer) -> ToolCallDelta | None:
        streamed, name = answer.streamed, call.name or ""
        call_id = "" if call.id is None else str(call.id)
        arguments = arguments_text(call.args)
        if streamed is not None and not _continues(streamed, name, call_id, arguments):
            self._count("call-never-ended")
            streamed = answer.streamed = None
        if streamed is None:
            if not (name or arguments or call.partialArgs):
                self._count("empty-function-call")
                return None
            if not name and call.partialArgs:
                raise self._fault("a piece of a tool call came before any call")
            streamed = _StreamedCall(answer.calls, name, call_id, self._limits)
            answer.calls += 1
        text = self._argument_text(streamed, call, arguments)
        ended = call.willContinue is not True
        answer.streamed = None if ended else streamed
        if not (name or call_id or text or signed or ended):
            return None
        if call_id:
            signed = {**(signed or {"wire": WIRE}), "id": call_id}
        piece = answer.tracker.delta(streamed.key, call_id or None, name or None, text, signed)
        streamed.room = answer.tracker.room(streamed.key)
        if piece is not None and ended:
            piece.done = answer.tracker.done(streamed.key) is not None
        return piece

    def _argument_text(self, streamed: _StreamedCall, call: Call, arguments: str) -> str:
        writer = streamed.writer
        if arguments:
            if streamed.whole or writer.begun or call.partialArgs:
                raise self._fault("the arguments of a tool call came twice")
            streamed.whole = True
            return arguments
        try:
            pieces = [writer.add(piece) for piece in call.partialArgs or ()]
            if call.willContinue is not True:
                pieces.append(writer.close())
        except NotInOrder as fault:
            raise self._fault(f"the arguments of a tool call make no sense: {fault}") from None
        if pieces and streamed.whole and any(pieces):
            raise self._fault("the arguments of a tool call came twice")
        return "".join(pieces)


def _within(tree: Any, name: str, number: int | None = None) -> Any:
    found = None if tree is None else tree.get(name)
    return found if number is None or found is None else found[number]


def _present(**members: Any) -> dict[str, Any]:
    return {name: value for name, value in members.items() if value is not None}


def _word(reason: Any) -> str | None:
    """A reason as the word it is, number or text; None when none is given."""
    if reason is None:
        return None
    word = reason if isinstance(reason, str) else shown(reason)
    return None if word in _UNSPECIFIED else word


def _continues(streamed: _StreamedCall, name: str, call_id: str, arguments: str) -> bool:
    """Whether a part is more of the call that is open: the provider said that more of it comes."""
    if call_id and streamed.call_id and call_id != streamed.call_id:
        return False
    return not name or (name == streamed.name and not arguments)
