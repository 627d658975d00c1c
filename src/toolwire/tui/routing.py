"""`Routing`: which item of the conversation an event is about, and which events make a new one."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Any, Literal

from ..agent.events import (
    AgentEvent,
    ApprovalAnswered,
    ApprovalAsked,
    HistoryMoved,
    NestedEvent,
    RequestRetried,
    RunFailed,
    RunFinished,
    RunInterrupted,
    RunStarted,
    ToolFinished,
    ToolProgress,
    ToolStarted,
    TurnStarted,
)
from ..chunks import Citation
from ..cli.faults import command_hint
from ..cli.telling import end_words, event_words
from ..cli.visible import one_line
from ..stream.segments import CALL_SEGMENTS, EventType, SegmentEvent, SegmentType
from .answer import Answer
from .cards import ToolCard
from .item import Item
from .note import Aside, Problem
from .past import Returning
from .reasoning import Reasoning
from .waiting import Waiting

ReasoningShown = Literal["folded", "shown", "hidden"]
"""How reasoning is shown: as one line that opens, in full, or not at all."""

_SOURCES = 8
_SERVER_TOOL = 200
"""Characters of what a tool at the provider was asked or gave: it is for the model, and may be a whole page."""


_OF_ANSWER = (SegmentEvent, RequestRetried, HistoryMoved)
"""What is void when whoever asked for the answer was lost in the middle of it."""


class Routing:
    """Takes events one after the other. `place` puts an item at the end of the conversation, `place_card` a call.

    `live` are the items to which something may still happen.
    """

    def __init__(
        self,
        place: Callable[[Returning], None],
        place_card: Callable[[ToolCard], None],
        reasoning: ReasoningShown,
    ) -> None:
        self._place = place
        self._place_card = place_card
        self._reasoning: ReasoningShown = reasoning
        self.live: list[Item] = []
        self.cards: dict[str, ToolCard] = {}
        self.waiting: Waiting | None = None
        """What stands for an answer of which nothing has come."""
        self._segments: dict[str, Item] = {}
        self._blank: dict[str, str] = {}
        """Text segments of which nothing but blanks has come: not worth an item."""
        self._server_tools: dict[str, tuple[str, str]] = {}
        self._began: float | None = None
        self.answer = 0
        """The answer that what is placed now belongs to, by its number in this conversation; 0: none."""
        self._answers = 0
        self._turn: int | None = None
        """Of that answer."""
        self._fresh: list[ToolCard] = []
        """Its calls."""

    def put(self, item: Returning) -> None:
        """An item of ours, or of the person."""
        self._place(item)
        if item.live:
            self.live.append(item)

    def replace(self, item: Item, by: Returning) -> None:
        """What comes for one item goes to another from now on."""
        for id, owner in self._segments.items():
            if owner is item:
                self._segments[id] = by
        self.put(by)

    def begin_past(self) -> None:
        """What comes now happened long ago: nobody knows how long it took."""
        self._began = None

    def take(self, event: AgentEvent) -> None:
        """One event."""
        if isinstance(event, _OF_ANSWER):
            self.answer = self._answers
        self._take(event)
        self.answer = 0

    def withdraw(self, turn: int) -> tuple[int, list[ToolCard]] | None:
        """The answer of this turn begins anew: its number and its calls, which are no more; None for any other turn."""
        if turn != self._turn:
            return None
        cards, self._fresh = self._fresh, []
        for card in cards:
            self.cards.pop(card.call_id, None)
        for known in (self._segments, self._blank, self._server_tools):
            known.clear()
        self.put(Aside("A worker was lost: the answer begins anew."))
        self._wait()
        return self._answers, cards

    def withdraw_call(self, id: str) -> None:
        """Whoever ran this call was lost."""
        card = self.cards.get(id)
        if card is None:
            return
        card.call.begin_again()
        if card not in self.live:
            self.live.append(card)
        self.put(Aside(f"A worker was lost while {one_line(card.call.tool_name)[:100]} ran."))

    def _take(self, event: AgentEvent) -> None:
        if isinstance(event, SegmentEvent):
            self._segment(event)
        elif isinstance(event, (ApprovalAsked, ApprovalAnswered, ToolStarted, ToolProgress, ToolFinished, NestedEvent)):
            card = self.cards.get(event.id) or self._late_card(event)
            if card is not None:
                card.take(event)
                if card not in self.live:
                    self.live.append(card)
        elif isinstance(event, RunStarted):
            self._began = time.monotonic()
        elif isinstance(event, TurnStarted):
            self._segments.clear()
            self._blank.clear()
            self._turn, self._fresh = event.turn, []
            self._answers += 1
            self._wait()
        elif isinstance(event, (RunFinished, RunInterrupted, RunFailed)):
            self._end(event)
        else:
            for words in event_words(event):
                self.put(Aside(one_line(words)))

    def _wait(self) -> None:
        if self.waiting is None:
            self.waiting = Waiting()
            self.put(self.waiting)

    def _end(self, event: RunFinished | RunInterrupted | RunFailed) -> None:
        for item in self.live:
            item.take(event)
        seconds = None if self._began is None else time.monotonic() - self._began
        self._began = None
        if isinstance(event, RunFailed):
            self.put(Problem(event.error.message, command_hint(event.error)))
        elif words := end_words(event, seconds):
            self.put(Aside(words))

    def _segment(self, event: SegmentEvent) -> None:
        if event.type is EventType.START and event.segment_type is not None:
            self._start(event, event.segment_type)
        elif event.type is EventType.CONTENT:
            self._content(event)
        elif event.type is EventType.END:
            self._segment_end(event)
        elif event.type in (EventType.DONE, EventType.ERROR):
            for item in self.live:
                item.take(event)
            metadata = event.metadata or {}
            if ignored := metadata.get("ignored_calls"):
                self.put(Aside(f"not run: {ignored} call{'s' * (ignored != 1)} of a kind that the model was not given"))
            self._sources(metadata.get("citations"))

    def _start(self, event: SegmentEvent, kind: SegmentType) -> None:
        id = event.segment_id
        self._segments.pop(id, None)
        if kind is SegmentType.TEXT:
            self._blank[id] = ""
        elif kind is SegmentType.REASONING:
            if self._reasoning != "hidden":
                self._segments[id] = item = Reasoning(is_open=self._reasoning == "shown")
                self.put(item)
            elif self.waiting is not None:
                self.waiting.words = "thinking"
        elif kind in CALL_SEGMENTS:
            self._segments[id] = self._card(id, event.tool_name or "", kind, event.metadata)
        elif kind is SegmentType.SERVER_TOOL:
            gave = " gave" if (event.metadata or {}).get("result") else ""
            self._server_tools[id] = (f"○ {one_line(event.tool_name or '')[:100]} (at the provider){gave}", "")
        elif kind is SegmentType.MEDIA:
            self.put(Aside(f"[{one_line(str((event.metadata or {}).get('media', 'media')))[:200]}]"))

    def _content(self, event: SegmentEvent) -> None:
        id = event.segment_id
        if id in self._blank:
            text = self._blank[id] + event.delta
            if not text.strip():
                self._blank[id] = text[-1_000:]
                return
            del self._blank[id]
            self._segments[id] = item = Answer(text.lstrip("\n"))
            self.put(item)
        elif id in self._server_tools:
            head, told = self._server_tools[id]
            if len(told) <= _SERVER_TOOL:
                self._server_tools[id] = (head, told + event.delta[: _SERVER_TOOL + 1])
        elif (item_ := self._segments.get(id)) is not None:
            item_.take(event)

    def _segment_end(self, event: SegmentEvent) -> None:
        id = event.segment_id
        self._blank.pop(id, None)
        if id in self._server_tools:
            head, told = self._server_tools.pop(id)
            told = one_line(told)
            self.put(Aside(f"{head} {told[:_SERVER_TOOL]}{' …' * (len(told) > _SERVER_TOOL)}".rstrip()))
        elif (item := self._segments.get(id)) is not None:
            item.take(event)
        if id not in self.cards:
            self._sources((event.metadata or {}).get("citations"))

    def _sources(self, citations: Iterable[Citation] | None) -> None:
        """The sources that an answer names."""
        told = list(dict.fromkeys(filter(None, map(_source, citations or ()))))
        if told:
            more = f" and {len(told) - _SOURCES} more" if len(told) > _SOURCES else ""
            self.put(Aside(f"Sources: {' · '.join(told[:_SOURCES])}{more}"))

    def _card(self, id: str, name: str, kind: SegmentType, head: dict[str, Any] | None) -> ToolCard:
        card = self.cards[id] = ToolCard(id, name, kind, head)
        self._place_card(card)
        self.live.append(card)
        if self.answer:
            self._fresh.append(card)
        return card

    def _late_card(self, event: AgentEvent) -> ToolCard | None:
        """A call of which no segment was told."""
        if isinstance(event, ToolStarted):
            return self._card(event.id, event.invocation.tool_name, SegmentType.TOOL_CALL, None)
        if isinstance(event, ToolFinished):
            return self._card(event.id, event.result.name, SegmentType.TOOL_CALL, None)
        return None


def _source(citation: Citation) -> str:
    title, url = one_line(citation.title)[:100], one_line(citation.url)[:300]
    return f"{title} ({url})" if title and url else title or url
