"""OpenAI Responses, spoken by OpenAI, Azure, xAI, OpenRouter, LM Studio and others: the decoding half.

`ResponsesDecoder` turns SSE events into `ChunkResponse`s. The `type` in the data says what an event is; the `event:`
line may be missing. The same words come up to five times: as deltas, when their part ends, when their item ends, and
in the last event; or in any one of these alone. Each is compared with what was said before, so that nothing is lost and
nothing said twice. A call whose final arguments are not those that were streamed never ends, so it never runs.

The proper end is `response.completed` or `response.incomplete`; `response.failed` and `error` are the provider's
errors. A call ends with its item; one that has only its arguments ended waits for the end of the answer, since a cut
call says `arguments.done` too, and only its item tells that it is incomplete.

The encoding half is `openai_responses_request`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from ..chunks import (
    AudioDelta,
    ChunkResponse,
    Citation,
    PartEnd,
    ServerToolDelta,
    StopReason,
)
from ..errors import LimitExceeded
from ..limits import DEFAULT_LIMITS, Limits
from .decoder import FrameDecoder, shown
from .openai_responses_calls import Calls
from .openai_responses_events import (
    ARGUMENTS,
    ARGUMENTS_DONE,
    DELTAS,
    ENDS,
    PART_KINDS,
    REFUSAL,
    SILENT,
    SUMMARY,
    TEXT,
    THOUGHT,
    WHOLES,
    Event,
    Response,
    read_usage,
)
from .openai_responses_items import (
    CALL,
    CUSTOM_CALL,
    MESSAGE,
    REASONING,
    SERVER,
    FinalOutput,
    Item,
    Items,
    Part,
    asked,
    citation,
    family_of,
    given,
    is_other_call,
    is_quiet,
    is_result,
    item_kind,
    picture,
    ref_of,
    tool_name,
    words_of,
)
from .openai_responses_request import WIRE
from .tracker import settled_stop

STOP_REASONS: dict[str, StopReason] = {
    "completed": StopReason.STOP,
    "max_output_tokens": StopReason.LENGTH,
    "max_tokens": StopReason.LENGTH,
    "length": StopReason.LENGTH,
    "content_filter": StopReason.CONTENT_FILTER,
    "cancelled": StopReason.ERROR,
    "failed": StopReason.ERROR,
}
"""Every status of an answer, and every reason why one is incomplete, and what it means here."""

_ANSWER = msgspec.json.Decoder(Response)


class ResponsesDecoder(FrameDecoder[Event]):
    """SSE events of the Responses API in, `ChunkResponse`s out; one decoder for one answer."""

    wire = WIRE
    _kind = "the OpenAI Responses API"
    _read = staticmethod(msgspec.json.Decoder(Event).decode)
    _read_lines = staticmethod(msgspec.json.Decoder(Event).decode_lines)

    def __init__(self, limits: Limits = DEFAULT_LIMITS) -> None:
        super().__init__(limits)
        self._items = Items(limits)
        self._calls = Calls(self._items, limits, self.wire, count=self._count, fault=self._fault)
        self._part: Part | None = None
        self._room = -1
        self._annotations = 0

    def _take(self, event: Event, made: list[ChunkResponse]) -> None:
        self._take_all(iter((event,)), made)

    def _take_all(self, events: Iterator[Event], made: list[ChunkResponse]) -> None:
        """Nearly every event is more of the part that came last: those are joined, the others go to `_take_any`."""
        part, join = self._part, self._join
        for event in events:
            if part is not None and event.type == part.delta_type:
                delta = event.delta
                if (
                    event.item_id == part.item_id
                    and event.output_index == part.index
                    and event.content_index == part.content
                    and event.summary_index == part.summary
                    and type(delta) is str
                ):
                    room = self._room - len(delta)
                    if room >= 0:
                        self._room = room
                        join(delta)
                        continue
            if self._pieces:
                self._end_pieces(made)
            self._take_any(event, made)
            if self._done:
                return
            part = self._part

    def _end_pieces(self, made: list[ChunkResponse]) -> None:
        part, text = self._part, "".join(self._pieces)
        self._pieces.clear()
        if part is None or not text:
            return
        if part.kind is ARGUMENTS:
            self._calls.argue(part.item, part, text, made)
            return
        part.pieces.append(text)
        made.append(ChunkResponse(text) if part.kind is TEXT else ChunkResponse("", text))

    def _room_of(self, part: Part) -> int:
        """How much more of a part may be joined; below 0 for one whose words are not taken as they are."""
        if part.kind is REFUSAL or self._part is not part:
            return -1
        if part.kind is ARGUMENTS:
            item = part.item
            return self._limits.arguments - part.size if item.family is CALL and item.name else -1
        return self._limits.stream

    def _take_any(self, event: Event, made: list[ChunkResponse]) -> None:
        kind = event.type or ""
        if kind in DELTAS:
            self._delta(event, made, *DELTAS[kind])
        elif kind in WHOLES:
            family, words, member = WHOLES[kind]
            part = self._find_part(event, family, words)
            self._fill(part, getattr(event, member), made)
        elif kind in ("response.output_item.added", "response.output_item.done"):
            sent = event.item
            if not isinstance(sent, dict):
                raise self._fault("an item is no object")
            if not isinstance(sent.get("type"), str):
                self._count("item-without-type")
            elif kind == "response.output_item.added":
                self._item_added(sent, event, made)
            else:
                self._item_done(sent, event, made)
        elif kind in ("response.content_part.done", "response.reasoning_summary_part.done"):
            self._part_done(event, made)
        elif kind in ARGUMENTS_DONE:
            self._leave(made)
            item = self._items.find(ARGUMENTS_DONE[kind], event.item_id, event.output_index)
            self._calls.arguments_done(item, event, made)
        elif kind in ("response.output_text.annotation.added", "response.output_text_annotation.added"):
            self._annotate(self._find_part(event, MESSAGE, TEXT), [event.annotation], made)
        elif kind in ENDS:
            self._end(event.response or Response(), ENDS[kind], made)
        elif kind == "error" or (not kind and event.error is not None):
            raise self._provider_error(event.error or {"message": event.message or "error", "code": event.code})
        elif kind not in SILENT:
            self._take_unknown(event, kind, made)

    def _take_unknown(self, event: Event, kind: str, made: list[ChunkResponse]) -> None:
        """Sound, and what tools on the provider's side are asked or give piece by piece, of whatever name."""
        delta = event.delta
        if kind in ("response.audio.delta", "response.output_audio.delta") and isinstance(delta, str):
            made.append(ChunkResponse(audio=AudioDelta(data=delta)))
        elif kind in ("response.audio.transcript.delta", "response.output_audio_transcript.delta") and isinstance(
            delta, str
        ):
            made.append(ChunkResponse(audio=AudioDelta(transcript=delta)))
        elif kind.startswith("response.") and kind.endswith(".delta") and delta:
            if isinstance(delta, dict):
                delta = "".join(words for words in delta.values() if isinstance(words, str))
            item = self._items.find(SERVER, event.item_id, event.output_index)
            if not item.item:
                item.item = {"type": kind[len("response.") : -len(".delta")]}
            item.streamed = True
            self._show(item, delta if isinstance(delta, str) else shown(delta), made)
        else:
            self._count("event-of-another-kind" if kind else "event-without-type")

    def _delta(self, event: Event, made: list[ChunkResponse], family: str, kind: str) -> None:
        delta = event.delta
        if not isinstance(delta, str):
            if delta is not None:
                raise self._fault(f"a delta of {family} is no text")
            return
        part = self._find_part(event, family, kind)
        part.delta_type, part.item_id, part.index = event.type or "", event.item_id, event.output_index
        part.content, part.summary = event.content_index, event.summary_index
        if delta:
            self._say(part, delta, made)
            self._room = self._room_of(part)

    def _find_part(self, event: Event, family: str, kind: str) -> Part:
        item = self._items.find(family, event.item_id, event.output_index)
        place = event.summary_index if kind is SUMMARY else event.content_index
        return self._items.part(item, kind, place)

    def _say(self, part: Part, text: str, made: list[ChunkResponse]) -> None:
        """Appends words that were not said yet, after the end of what was open where that was something else."""
        kind, item = part.kind, part.item
        if kind is ARGUMENTS:
            self._enter(part, made)
            self._calls.argue(item, part, text, made)
            return
        if item.family is REASONING:
            # A summary and the whole thoughts say the same thing: the one that came first is shown, both go back.
            item.shown = item.shown or kind
            if item.shown is not kind:
                part.pieces.append(text)
                return
        else:
            item.shown = MESSAGE
        before = self._part
        self._enter(part, made)
        part.pieces.append(text)
        if kind is TEXT:
            made.append(ChunkResponse(text))
        elif kind is REFUSAL:
            made.append(ChunkResponse(refusal=text))
        else:
            if before is not None and before is not part and before.item is item:
                made.append(ChunkResponse("", "\n\n"))
            made.append(ChunkResponse("", text))

    def _enter(self, part: Part, made: list[ChunkResponse]) -> None:
        before = self._part
        self._room = -1
        if before is not part:
            if before is not None and not (before.item is part.item and part.item.family is REASONING):
                self._leave(made)
            self._part = part

    def _leave(self, made: list[ChunkResponse]) -> None:
        """Ends the open stretch of words, with what must go back with it."""
        part, self._part = self._part, None
        if part is None or part.kind is ARGUMENTS:
            return
        if part.item.family is REASONING:
            made.append(ChunkResponse(part_end=PartEnd("reasoning")))
            return
        made.append(ChunkResponse(part_end=PartEnd("text", self._text_data(part))))

    def _text_data(self, part: Part) -> dict[str, Any] | None:
        item = part.item
        if not item.item:
            return None
        more = {"annotations": list(part.annotations)} if part.annotations else {}
        return item.data("content", part=part.number, **more)

    def _fill(self, part: Part, final: Any, made: list[ChunkResponse]) -> None:
        """All the words of a part: says what was not said yet."""
        if not isinstance(final, str) or not final:
            return
        said = part.said()
        if final == said:
            return
        if final.startswith(said):
            self._say(part, final[len(said) :], made)
        else:
            self._count("final-text-differs")

    def _part_done(self, event: Event, made: list[ChunkResponse]) -> None:
        sent = event.part
        kind = PART_KINDS.get(words_of(sent.get("type"))) if isinstance(sent, dict) else None
        if kind is None:
            self._count("part-of-another-kind")
            return
        family, words, member = kind
        part = self._find_part(event, family, words)
        self._fill(part, sent.get(member), made)
        self._annotate_finally(part, sent, made)

    def _annotate(self, part: Part, sent: list[Any], made: list[ChunkResponse]) -> None:
        self._annotations += len(sent)
        if self._annotations > self._limits.blocks:
            raise LimitExceeded("the number of citations in one answer", self._limits.blocks)
        part.annotations += [one for one in sent if one is not None]
        cited: list[Citation] = [one for one in map(citation, sent) if one is not None]
        if cited:
            made.append(ChunkResponse(citations=cited))

    def _annotate_finally(self, part: Part, sent: dict[str, Any], made: list[ChunkResponse]) -> None:
        annotations = sent.get("annotations")
        if isinstance(annotations, list) and annotations and not part.annotations:
            self._annotate(part, annotations, made)

    def _item_added(self, sent: dict[str, Any], event: Event, made: list[ChunkResponse]) -> None:
        family, item_id = family_of(sent), ref_of(sent.get("id"))
        item = self._items.add(family, item_id if item_id is not None else event.item_id, event.output_index)
        item.added = True
        item.item = sent
        if family in (CALL, CUSTOM_CALL):
            self._leave(made)
            self._calls.name(item, sent, made)
        elif family is SERVER and not is_quiet(item):
            self._show(item, "", made)

    def _item_done(self, sent: dict[str, Any], event: Event, made: list[ChunkResponse]) -> None:
        family, item_id = family_of(sent), ref_of(sent.get("id"))
        call_id = words_of(sent.get("call_id")) if family in (CALL, CUSTOM_CALL) else ""
        item_id = item_id if item_id is not None else event.item_id
        item = self._items.end(family, item_id, event.output_index, call_id)
        self._finish_item(item, sent, made)

    def _finish_item(self, item: Item, sent: dict[str, Any], made: list[ChunkResponse]) -> None:
        """The whole item, which counts more than what was said of it before."""
        first, before = not item.over, item.item
        item.over = True
        if first:
            item.item = sent
        if item.family is MESSAGE:
            self._finish_message(item, sent, made)
        elif item.family is REASONING:
            self._fill_parts(item, sent.get("summary"), made, SUMMARY)
            self._fill_parts(item, sent.get("content"), made, THOUGHT)
            if first:
                part = self._part
                if part is None or part.item is not item:
                    self._leave(made)
                self._part = None
                made.append(ChunkResponse(part_end=PartEnd("reasoning", item.data())))
        elif item.family is SERVER:
            if first:
                self._finish_server(item, made)
        else:
            self._leave(made)
            self._calls.name(item, sent, made)
            member = "input" if item.family is CUSTOM_CALL else "arguments"
            self._calls.settle(item, sent.get(member) or (None if item.parts else before.get(member)), made)
            if first and sent.get("status") != "incomplete":
                self._calls.end(item, made)

    def _fill_parts(self, item: Item, sent: Any, made: list[ChunkResponse], kind: str = "") -> None:
        """The parts of a whole item. Without `kind`, each says its own."""
        if isinstance(sent, str):
            sent = [{"type": kind or TEXT, "text": sent}]
        whole: dict[str, list[tuple[int, dict[str, Any]]]] = {}
        for place, content in enumerate(sent if isinstance(sent, list) else ()):
            known = PART_KINDS.get(kind or words_of(content.get("type"))) if isinstance(content, dict) else None
            if known is None or known[0] is not item.family:
                self._count("part-of-another-kind")
            else:
                whole.setdefault(known[1], []).append((place, content))
        for words, contents in whole.items():
            streamed = [part for part in item.parts.values() if part.kind is words]
            places = {place for place, _ in contents}
            in_place = all(part.place in places for part in streamed)
            for number, (place, content) in enumerate(contents):
                by_number = not in_place and number < len(streamed)
                part = streamed[number] if by_number else self._items.part(item, words, place)
                self._fill(part, content.get(PART_KINDS[words][2]), made)
                self._annotate_finally(part, content, made)

    def _finish_message(self, item: Item, sent: dict[str, Any], made: list[ChunkResponse]) -> None:
        self._fill_parts(item, sent.get("content"), made)
        if self._part is not None and self._part.item is item:
            self._leave(made)
        elif not item.shown:
            # Without words it still has its place: reasoning before it may not go back without it.
            self._leave(made)
            item.shown = MESSAGE
            made.append(ChunkResponse(part_end=PartEnd("text", item.data("content", part=0))))

    def _show(
        self,
        item: Item,
        text: str,
        made: list[ChunkResponse],
        *,
        done: bool = False,
        data: dict[str, Any] | None = None,
    ) -> None:
        """A piece of what a tool on the provider's side is asked or gives."""
        if not item.shown:
            item.shown = SERVER
            self._leave(made)
        kind, sent = item_kind(item), item.item
        call_id = words_of(sent.get("call_id")) or words_of(sent.get("id"))
        piece = ServerToolDelta(str(item.number), tool_name(sent, kind), call_id, text, is_result(kind), done, data)
        made.append(ChunkResponse(server_tools=(piece,)))

    def _finish_server(self, item: Item, made: list[ChunkResponse]) -> None:
        kind, sent = item_kind(item), item.item
        if is_quiet(item):
            self._leave(made)
            made.append(ChunkResponse(part_end=PartEnd("opaque", item.data())))
            return
        image = picture(item) if kind == "image_generation_call" else ""
        text = "" if item.streamed else asked(sent, kind)
        self._show(item, text, made, done=True, data=None if image else item.data())
        if image:
            self._leave(made)
            made.append(ChunkResponse(image_urls=(image,), part_end=PartEnd("media", item.data("result"))))
        result = given(sent, kind)
        if result:
            self._leave(made)
            piece = ServerToolDelta(f"{item.number} result", tool_name(sent, kind), "", result, True, True)
            made.append(ChunkResponse(server_tools=(piece,)))

    def _take_whole(self, event: Event, made: list[ChunkResponse]) -> None:
        """An answer that was not streamed is what the last event of a stream holds."""
        try:
            response = _ANSWER.decode("\n".join(self._stray))
        except msgspec.MsgspecError:
            return
        if isinstance(response.output, list) and response.status in (None, *ENDS.values()):
            self._end(response, str(response.status or "completed"), made)

    def _end(self, response: Response, word: str, made: list[ChunkResponse]) -> None:
        status = response.status if isinstance(response.status, str) else word
        usage = None if response.usage is None else read_usage(response.usage)
        if "failed" in (word, status) or response.error:
            if usage is not None:
                made.append(ChunkResponse(usage=usage))
            raise self._provider_error(response.error or {"message": "the response failed"})
        self._settle(response.output, made)
        details = response.incomplete_details
        why = details.get("reason") if isinstance(details, dict) else None
        if why is None and word != "incomplete":
            why = status
        reason = STOP_REASONS.get(why, StopReason.UNKNOWN) if isinstance(why, str) else StopReason.UNKNOWN
        if word != "completed" and reason is StopReason.STOP:
            reason = StopReason.UNKNOWN
        for item in self._items:
            if item.arguments_over and not item.over and reason is StopReason.STOP:
                self._calls.end(item, made)
            self._calls.release(item, made)
        self._leave(made)
        self._done = True
        data: tuple[dict[str, Any], ...] = ()
        if isinstance(response.id, str) and response.id:
            data = ({"wire": WIRE, "response_id": response.id, "stored": response.store is not False},)
        made.append(
            ChunkResponse(
                stop_reason=settled_stop(reason, has_calls=bool(self._calls)),
                raw_stop_reason=status,
                usage=usage,
                provider_data=data,
                is_complete=True,
            )
        )

    def _settle(self, output: Any, made: list[ChunkResponse]) -> None:
        """The items as the last event has them: what never came before comes now."""
        final: FinalOutput | None = None
        for place, sent in enumerate(output if isinstance(output, list) else ()):
            if not isinstance(sent, dict) or not isinstance(sent.get("type"), str):
                self._count("item-without-type")
                continue
            item = self._items.known(family_of(sent), ref_of(sent.get("id")))
            if item is None or item.matched or is_other_call(item, sent):
                final = final or FinalOutput(self._items)
                item = final.find(sent, place)
            if item is None:
                item = self._items.make(family_of(sent), None, place)
            item.matched = True
            self._finish_item(item, sent, made)
