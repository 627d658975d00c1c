"""A session that was kept, told again: the questions, and the events that a screen would have been told."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any

import msgspec

from ..agent.events import (
    AgentEvent,
    ApprovalAnswered,
    HistoryCompacted,
    HistoryMoved,
    HookFailed,
    ParserChanged,
    RequestRetried,
    RunFailed,
    RunFinished,
    RunInterrupted,
    RunStarted,
    ToolFinished,
    ToolsChanged,
    ToolStarted,
)
from ..agent.sessions.entries import Answered, Entry, Finished, Mended, Noted, Said, Settled, Starting
from ..execution.executor import ToolResult
from ..messages import MediaPart, Message, OpaquePart, TextPart, ThinkingPart, ToolCallPart, ToolResultPart
from ..stream.segments import EventType, SegmentEvent, SegmentType
from ..tools.forms import form_of

_Kept = (
    RunStarted
    | RunFinished
    | RunFailed
    | RunInterrupted
    | HistoryMoved
    | HistoryCompacted
    | RequestRetried
    | ParserChanged
    | ToolsChanged
    | HookFailed
    | ApprovalAnswered
)
"""The events that a session keeps and a screen is told of."""


def retold(entries: Iterable[Entry]) -> Iterator[Message | AgentEvent]:
    """Messages of the person, and between them events: segments whole, each call with its one result."""
    teller = _Teller()
    for entry in entries:
        yield from teller.take(entry)


def retold_messages(messages: Iterable[Message]) -> Iterator[Message | AgentEvent]:
    """The same of a conversation of which nothing but its messages is known."""
    return retold(map(entry_of, messages))


def entry_of(message: Message) -> Entry:
    """What a session would have kept of it."""
    if message.role == "assistant":
        return Entry("", Answered(0, message))
    return Entry("", Settled(0, message) if message.role == "tool" else Said(message))


class _Teller:
    """Keeps what later entries refer to: the calls of the answer at hand, and which of them have their result."""

    def __init__(self) -> None:
        self._calls: dict[str, ToolCallPart] = {}
        self._given: set[str] = set()
        self._started: dict[str, Starting] = {}
        """What ran, with the person's arguments where they changed them."""
        self._segments = 0

    def take(self, entry: Entry) -> Iterator[Message | AgentEvent]:
        match entry.what:
            case Said(message) if message.role == "user":
                yield message
            case Answered(_, message):
                self._calls = {call.id: call for call in message.tool_calls}
                self._given.clear()
                self._started.clear()
                for part in message.parts:
                    yield from self._part(part)
            case Starting(_, id):
                self._started[id] = entry.what
            case Finished(turn, result) if result.id not in self._given:
                yield from self._finished(turn, result)
            case Settled(turn, results):
                yield from self._left(turn, results)
            case Mended(results) if results is not None:
                yield from self._left(0, results)
            case Noted(event):
                yield from _noted(event)
            case _:
                pass

    def _part(self, part: Any) -> Iterator[SegmentEvent]:
        if isinstance(part, ToolCallPart):
            kind = SegmentType(form_of(part.name).segment)
            yield SegmentEvent(EventType.START, part.id, segment_type=kind, tool_name=part.name)
            yield SegmentEvent(EventType.END, part.id, metadata={"arguments": part.arguments})
            return
        kind, text = _shown(part)
        if not text:
            return
        self._segments += 1
        id = f"kept-{self._segments}"
        name = part.name if isinstance(part, OpaquePart) else None
        yield SegmentEvent(EventType.START, id, segment_type=kind, tool_name=name)
        if kind is not SegmentType.SERVER_TOOL:
            yield SegmentEvent(EventType.CONTENT, id, delta=text)
        yield SegmentEvent(EventType.END, id)

    def _finished(self, turn: int, result: ToolResult) -> Iterator[AgentEvent]:
        """A result; before it what ran, if something did."""
        self._given.add(result.id)
        if started := self._started.get(result.id):
            yield _started(started)
        yield ToolFinished(turn, result.id, result)

    def _left(self, turn: int, results: Message) -> Iterator[AgentEvent]:
        """The results that had no entry of their own: of calls that were denied, cancelled, or left open."""
        for part in results.parts:
            if isinstance(part, ToolResultPart) and part.id not in self._given:
                yield from self._finished(turn, _result(part))


def _shown(part: Any) -> tuple[SegmentType, str]:
    """What kind of segment a part was, and its words; none for what nobody was shown."""
    match part:
        case TextPart(text):
            return SegmentType.TEXT, text
        case ThinkingPart(text):
            return SegmentType.REASONING, text
        case MediaPart(media_type):
            return SegmentType.TEXT, f"[{media_type}]"
        case OpaquePart(_, name) if name:
            return SegmentType.SERVER_TOOL, name
    return SegmentType.MARKUP, ""


def _result(part: ToolResultPart) -> ToolResult:
    content, media = part.content, list[MediaPart]()
    if not isinstance(content, str):
        media = [each for each in content if isinstance(each, MediaPart)]
        content = "\n".join(each.text for each in content if isinstance(each, TextPart))
    return ToolResult(part.id, part.name, content, part.is_error, media=tuple(media))


def _started(kept: Starting) -> ToolStarted:
    """What ran, as it was written down: to be shown, and nothing that could run again."""
    call = {"id": kept.id, "tool_name": kept.tool, "arguments": kept.arguments, "turn": kept.turn}
    return msgspec.convert({"type": "tool_started", "turn": kept.turn, "id": kept.id, "invocation": call}, ToolStarted)


def _noted(event: dict[str, Any]) -> Iterator[AgentEvent]:
    """Events that were kept as JSON. Questions are not asked again: what was answered says what came of them."""
    if event.get("type") == "approval_asked":
        return
    with suppress(msgspec.ValidationError):
        told: AgentEvent = msgspec.convert(event, _Kept)
        yield told
