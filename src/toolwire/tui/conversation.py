"""`Conversation`: everything that is said and done, as items from top to bottom.

What comes is noted at once and painted some twenty times a second. Old items are let go and come back when someone
scrolls up to them, so that hours of it cost no more than minutes.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable
from typing import TYPE_CHECKING, ClassVar, Literal

from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.scrollbar import ScrollBar
from textual.widget import Widget
from textual.widgets import Static

from ..agent.events import AgentEvent, RunFailed, RunFinished, RunInterrupted
from ..messages import Message
from .answer import Answer
from .asked import Question
from .cards import CardGroup, ToolCard
from .collecting import collect_all
from .laid_once import LaidOnce
from .markdown.coloured import load_common
from .markdown.document import Document
from .note import Note, Problem
from .past import Earlier, Past, Returning
from .routing import ReasoningShown, Routing
from .scroll_bar import QuietBar
from .shell_run import ShellItem
from .waiting import Waiting

if TYPE_CHECKING:
    from ..chat.shell import ShellRun

RATE = 20
"""Paintings in a second at most."""
MOST_ITEMS, MOST_LINES = 150, 1_200
"""On the screen and above it, before the oldest are let go."""
LOADED = 20
"""Items that come back at once when someone scrolls up to the first."""
_CARD_LINES = 12
"""What a call counts for."""
_QUIET = 1.0
"""Seconds after a run in which the person reads."""
_AT_ONCE = 50
"""Events of an earlier conversation that are told before the screen has its turn."""
_Told = Message | AgentEvent


class _Place:
    """One entry of the conversation: an item, or the calls of one answer side by side."""

    def __init__(self, item: Returning | None = None, answer: int = 0) -> None:
        self.item = item
        self.answer = answer
        """The answer that it is a part of, as `Routing` counts them; 0: none."""
        self.cards: list[ToolCard] = []
        self.widget: Widget | None = None

    @property
    def lines(self) -> int:
        """About how long it is."""
        if self.cards:
            return _CARD_LINES * len(self.cards)
        return self.item.lines + 1 if isinstance(self.item, Document) else 2

    @property
    def live(self) -> bool:
        """Whether something may still happen to it."""
        return any(card.live for card in self.cards) or (self.item is not None and self.item.live)

    def kept(self) -> tuple[int, Callable[[], Returning]]:
        """What it is made of again, and its size."""
        if self.item is None:
            text = "\n".join(card.plain() for card in self.cards)
            return len(text), lambda: Past(text)
        return len(self.item.plain()), self.item.again()


class Conversation(VerticalScroll, LaidOnce):
    """Follows the end until someone scrolls up, and again when they come back to it or ask something."""

    DEFAULT_CSS = """
    Conversation {
        padding: 1 1 0 1; layers: items above; scrollbar-size-vertical: 1;
        scrollbar-background: $background; scrollbar-background-hover: $background;
        scrollbar-background-active: $background; scrollbar-color: $foreground 20%;
        scrollbar-color-hover: $foreground 40%; scrollbar-color-active: $foreground 50%;
    }
    Conversation > * { layer: items; }
    Conversation > CardGroup { margin: 0 0 1 0; }
    Conversation > .earlier {
        height: auto; margin: 0 0 1 0; text-align: center; color: $foreground 50%; display: none;
    }
    Conversation > .newer {
        layer: above; dock: bottom; width: 100%; height: 1; text-align: center; display: none;
        background: $primary 30%; color: $text;
    }
    """

    BLANK = True

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "previous", "Earlier", show=False),
        Binding("down,j", "next", "Later", show=False),
        Binding("c,y", "copy", "Copy", show=False),
        Binding("end,G", "follow", "To the end", show=False),
    ]

    def __init__(self, *, reasoning: ReasoningShown = "folded") -> None:
        super().__init__()
        self._routing = Routing(self._place, self._place_card, reasoning)
        self._reasoning: ReasoningShown = reasoning
        self._places: list[_Place] = []
        self._earlier = Earlier()
        self._above = Static(classes="earlier", markup=False)
        self._below = Static(" ↓ new below · End ", classes="newer", markup=False)
        self._drawing = asyncio.Lock()
        self._telling = False
        """An earlier conversation is told: nothing of it is put on the screen yet."""
        self._came = False
        self._loading = False
        self._wanted = True
        """The end is to be followed as soon as there is more than fits."""
        self.draws = 0
        """How often it was painted."""

    async def on_mount(self) -> None:
        """Begins to paint."""
        await self.mount_all([self._above, self._below])
        self.set_interval(1 / RATE, self.draw)
        self.run_worker(load_common, thread=True)

    @property
    def vertical_scrollbar(self) -> ScrollBar:
        """Made when it is first asked for, as in any other widget."""
        if self._vertical_scrollbar is None:
            self._vertical_scrollbar = bar = QuietBar(name="vertical", thickness=self.scrollbar_size_vertical)
            bar.display = False
            self.app._start_widget(self, bar)
        return self._vertical_scrollbar

    # What is told

    def ask(self, message: Message | str) -> None:
        """The person says something."""
        self._routing.put(Question(message))
        self.action_follow()

    def note(self, words: str, *, kind: Literal["note", "problem", "shell"] = "note", hint: str = "") -> None:
        """We say something."""
        item: Returning = Note(words) if kind == "note" else Problem(words, hint) if kind == "problem" else Past(words)
        self._routing.put(item)

    def shell(self, command: str) -> Callable[[ShellRun], None]:
        """The person runs a command; what is given is told whenever something of it comes."""
        item = ShellItem(command)
        self._routing.put(item)
        self.action_follow()
        return item.show

    def take(self, event: AgentEvent) -> None:
        """An agent does something. Costs the same whatever came before."""
        self._came = True
        self._routing.take(event)
        if isinstance(event, (RunFinished, RunInterrupted, RunFailed)) and self.is_attached:
            self.set_timer(_QUIET, collect_all)

    def withdraw(self, turn: int, id: str) -> None:
        """A worker was lost: what was told of this call, or of the answer of this turn, is void and goes."""
        if id:
            self._routing.withdraw_call(id)
            return
        withdrawn = self._routing.withdraw(turn)
        if withdrawn is None:
            return
        answer, cards = withdrawn
        void: set[object] = set(cards)
        gone: list[Widget] = [card for card in cards if card.is_attached]
        for place in self._places:
            if place.answer == answer and place.item is not None:
                void.add(place.item)
                gone += [place.widget] if place.widget is not None else []
            place.cards = [card for card in place.cards if card not in void]
            if place.item is None and not place.cards and place.widget is not None:
                gone.append(place.widget)
        self._places = [p for p in self._places if p.cards or (p.item is not None and p.item not in void)]
        self._routing.live = [item for item in self._routing.live if item not in void]
        self._earlier.drop(answer)
        self.call_later(self._remove, gone)

    async def _remove(self, widgets: list[Widget]) -> None:
        """Not while something is painted on them."""
        async with self._drawing:
            with self.app.batch_update():
                for widget in widgets:
                    if widget.is_attached:
                        await widget.remove()
            self._show_marks()

    def card(self, id: str) -> ToolCard | None:
        """The call of this id."""
        return self._routing.cards.get(id)

    async def show(self, past: Iterable[_Told] | AsyncIterable[_Told]) -> None:
        """Another conversation. The newest of it is on the screen; the rest comes back for those who scroll up.

        What is still going on at its end goes on with what is told next.
        """
        async with self._drawing:
            for place in self._places:
                if place.widget is not None:
                    await place.widget.remove()
            self._places.clear()
            self._earlier.clear()
            self.anchor(False)
            self._routing = Routing(self._place, self._place_card, self._reasoning)
            self._telling = True
            try:
                async for told in _in_turns(past):
                    if isinstance(told, Message):
                        self._routing.put(Question(told))
                    else:
                        self._routing.take(told)
                        self._routing.begin_past()
            finally:
                self._telling = False
            self._let_go(past=True)
            for place in self._places:
                self._mount(place)
        self.action_follow()
        await self.draw()

    # What is painted

    async def draw(self, *, now: bool = False) -> None:
        """Paints what is new since the last time. With `now` all of it, however long that takes."""
        if self._drawing.locked() and not now:
            return
        async with self._drawing:
            self.draws += 1
            # In one go: with half of it laid out the end could be elsewhere for a moment.
            with self.app.batch_update():
                await self._draw_items(now)
                if self.following:
                    await self._trim()
            if self._wanted:
                self.call_after_refresh(self._begin_to_follow)
            self._show_marks()

    async def _draw_items(self, now: bool) -> None:
        routing = self._routing
        for item in list(routing.live):
            if isinstance(item, Document):
                await item.draw(now=now)
            else:
                await item.draw()
            while isinstance(item, Answer) and (part := item.next_part()) is not None:
                routing.replace(item, part)
                self._places[-1].answer = next((p.answer for p in self._places if p.item is item), 0)
                await part.draw(now=now)
                item = part
        routing.live = [item for item in routing.live if item.live]

    @property
    def following(self) -> bool:
        """Whether the end is in view and stays there."""
        return self.is_vertical_scroll_end or not self.max_scroll_y

    def _place(self, item: Returning) -> None:
        self._end_waiting(item)
        self._append(_Place(item, self._routing.answer))

    def _place_card(self, card: ToolCard) -> None:
        """A call stands beside the one before it, where nothing was said between them."""
        self._end_waiting(card)
        last = self._places[-1] if self._places else None
        if last is None or last.item is not None or not last.live:
            last = _Place()
            self._append(last)
        last.cards.append(card)
        if isinstance(last.widget, CardGroup) and last.widget.is_attached:
            last.widget.add(card)

    def _append(self, place: _Place) -> None:
        self._places.append(place)
        if not self._telling:
            self._mount(place)

    def _mount(self, place: _Place, before: Widget | None = None) -> None:
        if place.item is None:
            place.widget = group = CardGroup()
            self.mount(group, before=before)
            for card in place.cards if group.is_attached else ():
                group.add(card)
        elif isinstance(place.item, Widget):
            place.widget = place.item
            self.mount(place.item, before=before)

    def _end_waiting(self, item: object) -> None:
        """What was waited for is here."""
        waiting = self._routing.waiting
        if waiting is None or waiting is item:
            return
        self._routing.waiting = None
        self._routing.live = [each for each in self._routing.live if each is not waiting]
        self._places = [place for place in self._places if place.item is not waiting]
        if waiting.is_attached:
            waiting.remove()

    def _let_go(self, *, past: bool = False) -> list[Widget]:
        """Keeps the newest items as they are and the others as text; gives the widgets that nobody needs any more.

        `past`: nothing happens to any of them any more, whether it was painted or not.
        """
        places, count = self._places, 0
        lines = sum(place.lines for place in places)
        gone: list[Widget] = []
        while (len(places) - count > MOST_ITEMS or lines > MOST_LINES) and len(places) - count > 1:
            first = places[count]
            if first.live and not past:
                break
            count += 1
            lines -= first.lines
            if not isinstance(first.item, Waiting):
                self._earlier.add(*first.kept(), first.answer)
            for card in first.cards:
                if self._routing.cards.get(card.call_id) is card:
                    del self._routing.cards[card.call_id]
            if first.widget is not None:
                gone.append(first.widget)
        del places[:count]
        if past:
            kept = {id(item) for place in places for item in (place.item, *place.cards)}
            self._routing.live = [item for item in self._routing.live if id(item) in kept]
        return gone

    async def _trim(self) -> None:
        if gone := self._let_go():
            await self.remove_children(gone)

    # Where the person is

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """At the top, earlier items come back."""
        super().watch_scroll_y(old_value, new_value)
        if new_value <= 0 < old_value and len(self._earlier) and not self._loading:
            self._loading = True
            self.call_later(self._load_earlier)

    async def _load_earlier(self) -> None:
        """Puts items above the first; what is in view stays there."""
        try:
            async with self._drawing:
                height = self.virtual_size.height
                first = next((place.widget for place in self._places if place.widget is not None), None)
                places = [_Place(item, answer) for item, answer in self._earlier.take(LOADED)]
                for place in places:
                    self._mount(place, before=first)
                    if place.item is not None:
                        await (place.item.draw(now=True) if isinstance(place.item, Document) else place.item.draw())
                self._places[:0] = places
                self._show_marks()

            def keep_view() -> None:
                self.scroll_to(y=self.scroll_y + self.virtual_size.height - height, animate=False, immediate=True)
                self._loading = False

            self.call_after_refresh(keep_view)
        except BaseException:
            self._loading = False
            raise

    def _show_marks(self) -> None:
        words = self._earlier.words()
        if self._above.display != bool(words):
            self._above.display = bool(words)
        if words:
            self._above.update(words)
        behind = self._came and not self.following
        if self.following:
            self._came = False
        if self._below.display != behind:
            self._below.display = behind

    def _begin_to_follow(self) -> None:
        """Not before there is more than fits: Textual puts what is anchored at the bottom, however little it is."""
        if self._wanted and self.max_scroll_y:
            self._wanted = False
            self.anchor()

    def action_follow(self) -> None:
        """Goes to the end and stays there."""
        self._came = False
        self._wanted = True
        self._begin_to_follow()

    def action_previous(self) -> None:
        """To the item above; first to the beginning of the one that has the focus."""
        self._walk(-1)

    def action_next(self) -> None:
        """To the item below; first to the end of the one that has the focus."""
        self._walk(1)

    def action_copy(self) -> None:
        """Puts the item that has the focus on the clipboard."""
        for node in self.screen.focused.ancestors_with_self if self.screen.focused is not None else ():
            plain = getattr(node, "plain", None)
            if callable(plain):
                self.app.copy_to_clipboard(plain())
                self.app.notify("Copied.", timeout=2)
                return

    def _walk(self, step: int) -> None:
        stops = [
            widget
            for widget in self.walk_children()
            if isinstance(widget, Widget) and widget.focusable and widget is not self
        ]
        focused = self.screen.focused
        if not stops:
            return
        if focused not in stops:
            self._go_to(stops[-1])
            return
        view = self.scrollable_content_region
        if step < 0 and focused.region.y < view.y:
            self.scroll_up(animate=False)
        elif step > 0 and focused.region.bottom > view.bottom:
            self.scroll_down(animate=False)
        else:
            at = stops.index(focused) + step
            if at >= len(stops):
                self.action_follow()
                self.screen.focus_next()
            elif at >= 0:
                self._go_to(stops[at])
            else:
                self.scroll_home(animate=False)

    def _go_to(self, item: Widget) -> None:
        item.focus(scroll_visible=False)
        self.scroll_to_widget(item, animate=False)


async def _in_turns(past: Iterable[_Told] | AsyncIterable[_Told]) -> AsyncIterator[_Told]:
    """Each of them; the screen has its turn now and then."""
    number = 0
    async for told in past if isinstance(past, AsyncIterable) else _each(past):
        yield told
        number += 1
        if not number % _AT_ONCE:
            await asyncio.sleep(0)


async def _each(past: Iterable[_Told]) -> AsyncIterator[_Told]:
    for told in past:
        yield told
