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

from collections.abc import Iterator
from typing import Any

import msgspec

from ..chunks import ChunkResponse, Citation, PartEnd, StopReason, TokenUsage, ToolCallDelta
from ..errors import IncompleteStream
from ..limits import DEFAULT_LIMITS, Limits
from ..wire.json_array import ArrayElement
from .decoder import FrameDecoder, shown, token_count
from .gemini_parts import camel_case, media_part, part_kind, read_citations, server_part
from .gemini_request import WIRE
from .partial_args import ArgumentWriter, NotInOrder, PartialArg
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

_UNSPECIFIED = ("", "0", "FINISH_REASON_UNSPECIFIED", "BLOCKED_REASON_UNSPECIFIED", "BLOCK_REASON_UNSPECIFIED")


class _Call(msgspec.Struct, gc=False):
    name: str | None = None
    args: msgspec.Raw = msgspec.Raw()
    id: str | int | None = None
    partialArgs: list[PartialArg] | None = None
    willContinue: Any = None
    partial_args: Any = None
    will_continue: Any = None


class _Part(msgspec.Struct, gc=False):
    text: str | None = None
    thought: Any = None
    thoughtSignature: str | None = None
    functionCall: _Call | None = None
    inlineData: Any = None
    function_call: Any = None
    thought_signature: Any = None


class _Content(msgspec.Struct, gc=False):
    parts: list[_Part] | None = None


class _Candidate(msgspec.Struct, gc=False):
    content: _Content | None = None
    index: int | None = None
    finishReason: str | int | None = None
    groundingMetadata: Any = None
    citationMetadata: Any = None
    finish_reason: Any = None


class _Usage(msgspec.Struct, gc=False):
    promptTokenCount: Any = None
    candidatesTokenCount: Any = None
    totalTokenCount: Any = None
    thoughtsTokenCount: Any = None
    cachedContentTokenCount: Any = None
    toolUsePromptTokenCount: Any = None


class _Chunk(msgspec.Struct, gc=False):
    candidates: list[_Candidate] | None = None
    usageMetadata: _Usage | None = None
    promptFeedback: Any = None
    error: Any = None
    response: _Chunk | None = None
    usage_metadata: Any = None
    prompt_feedback: Any = None
    source: Any = msgspec.field(default="", name="(source)")


_decode = msgspec.json.Decoder(_Chunk).decode


def _read(data: str) -> _Chunk:
    """One chunk, with its own text at hand; the Code Assist service puts it into `response`."""
    chunk = _decode(data)
    if chunk.response is not None:
        chunk = chunk.response
    chunk.source = data
    return chunk


class _StreamedCall:
    """A call whose arguments come in pieces."""

    __slots__ = ("call_id", "key", "name", "whole", "writer")

    def __init__(self, key: int, name: str, call_id: str, limits: Limits) -> None:
        self.key = key
        self.name = name
        self.call_id = call_id
        self.writer = ArgumentWriter(limits)
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


class GeminiDecoder(FrameDecoder[_Chunk]):
    """Frames of generateContent in, `ChunkResponse`s out; one decoder for one answer."""

    wire = WIRE
    _kind = "Gemini generateContent"
    _read = staticmethod(_read)

    def __init__(self, limits: Limits = DEFAULT_LIMITS, *, provider: str = "") -> None:
        super().__init__(limits, provider=provider)
        self._answers: dict[int, _Answer] = {}
        self._first: _Answer | None = None
        self._blocked: str | None = None
        self._server_parts = 0
        self._cited: set[Citation] = set()

    def _take(self, chunk: _Chunk, made: list[ChunkResponse]) -> None:
        """Nearly every chunk is one part of text or thought for the first candidate, and usage: that is taken here.
        `_take_any` takes everything, slower.
        """
        candidates, answer = chunk.candidates, self._first
        if (
            answer is not None
            and candidates is not None
            and len(candidates) == 1
            and chunk.promptFeedback is None
            and chunk.error is None
            and chunk.usage_metadata is None
        ):
            candidate = candidates[0]
            content = candidate.content
            if (
                content is not None
                and not candidate.index
                and candidate.finishReason is None
                and candidate.groundingMetadata is None
                and candidate.citationMetadata is None
                and candidate.finish_reason is None
            ):
                parts = content.parts
                if parts is not None and len(parts) == 1:
                    part = parts[0]
                    text = part.text
                    if (
                        text
                        and part.thoughtSignature is None
                        and part.functionCall is None
                        and part.inlineData is None
                        and part.function_call is None
                        and part.thought_signature is None
                    ):
                        answer.open = True
                        chunk_response = ChunkResponse("", text) if part.thought else ChunkResponse(text)
                        if chunk.usageMetadata is not None:
                            chunk_response.usage = _usage(chunk.usageMetadata)
                        made.append(chunk_response)
                        return
        self._take_any(chunk, made)

    def _take_any(self, chunk: _Chunk, made: list[ChunkResponse]) -> None:
        tree: Any = None
        if _is_odd(chunk):
            chunk, tree = self._spelled_out(chunk.source)
        for number, candidate in enumerate(chunk.candidates or ()):
            self._take_candidate(candidate, _within(tree, "candidates", number), made)
        feedback = chunk.promptFeedback
        if isinstance(feedback, dict):
            word = _word(feedback.get("blockReason"))
            if word is not None:
                self._blocked = word
        elif not chunk.candidates and chunk.usageMetadata is None and chunk.error is None:
            self._count("chunk-without-candidates")
        if chunk.usageMetadata is not None:
            usage = _usage(chunk.usageMetadata)
            if usage is not None:
                made.append(ChunkResponse(usage=usage))
        if chunk.error is not None:
            raise self._provider_error(chunk.error)

    def _take_whole(self, chunk: _Chunk, made: list[ChunkResponse]) -> None:
        if chunk.candidates or chunk.promptFeedback is not None:
            self._take_any(chunk, made)
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
        """Vertex reports an error as an object over several lines, after chunks that each said `STOP`: half of one
        is the end of a body that was cut.
        """
        text = "\n".join(self._stray).strip()
        if text.startswith("{") and not text.endswith("}"):
            raise IncompleteStream(provider=self._provider)

    def _feed_irregular(self, frame: Any, error: msgspec.MsgspecError) -> list[ChunkResponse]:
        if isinstance(frame, ArrayElement):
            if frame.cut:
                raise IncompleteStream(provider=self._provider, position=frame.position)
            raise self._fault(f"an element of the array is not of this format: {error}")
        return super()._feed_irregular(frame, error)

    def _spelled_out(self, source: str) -> tuple[_Chunk, Any]:
        """A chunk with names in other spellings, or with parts of other kinds, read anew; and as plain values."""
        try:
            tree = camel_case(msgspec.json.decode(source))
            if isinstance(tree.get("response"), dict):
                tree = tree["response"]
            return _read(msgspec.json.encode(tree).decode()), tree
        except (msgspec.MsgspecError, RecursionError):
            raise self._fault("a chunk cannot be read") from None

    def _take_candidate(self, candidate: _Candidate, tree: Any, made: list[ChunkResponse]) -> None:
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
        answer = self._answers[number] = _Answer(ToolCallTracker(self._limits, provider=self._provider))
        if number == 0:
            self._first = answer
        return answer

    def _take_part(self, part: _Part, native: Any, answer: _Answer) -> Iterator[ChunkResponse]:
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

    def _call(self, call: _Call, signed: dict[str, Any] | None, answer: _Answer) -> ToolCallDelta | None:
        streamed, name = answer.streamed, call.name or ""
        call_id = "" if call.id is None else str(call.id)
        arguments = _arguments(call.args)
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
        if piece is not None and ended:
            piece.done = answer.tracker.done(streamed.key) is not None
        return piece

    def _argument_text(self, streamed: _StreamedCall, call: _Call, arguments: str) -> str:
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


def _is_odd(chunk: _Chunk) -> bool:
    """Whether a chunk holds names in another spelling, or a part that is not of the usual kinds."""
    if chunk.usage_metadata is not None or chunk.prompt_feedback is not None:
        return True
    for candidate in chunk.candidates or ():
        if candidate.finish_reason is not None:
            return True
        for part in (candidate.content.parts if candidate.content is not None else None) or ():
            if part.function_call is not None or part.thought_signature is not None:
                return True
            call = part.functionCall
            if call is not None:
                if call.partial_args is not None or call.will_continue is not None:
                    return True
            elif part.text is None and part.inlineData is None:
                return True
    return False


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


def _arguments(raw: msgspec.Raw) -> str:
    """Arguments that came whole, as their own text; without the line breaks of a body that was printed for people."""
    text = bytes(raw)
    if not text or text == b"null":
        return ""
    if b"\n" in text:
        text = msgspec.json.format(text, indent=-1)
    return text.decode()


def _usage(sent: _Usage) -> TokenUsage | None:
    """The counts so far. Thoughts are counted beside the candidates' tokens, results of tools beside the prompt's."""
    prompt, written, total = sent.promptTokenCount, sent.candidatesTokenCount, sent.totalTokenCount
    if prompt is None and written is None and total is None:
        return None
    thought = token_count(sent.thoughtsTokenCount)
    read = token_count(prompt) + token_count(sent.toolUsePromptTokenCount)
    output = token_count(written) + thought
    return TokenUsage(
        read, output, token_count(sent.cachedContentTokenCount), 0, thought, token_count(total) or read + output
    )
