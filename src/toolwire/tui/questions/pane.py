"""`Pane`: one thing that is asked. A head, what is to be read or filled in, a line of ours, and the keys."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from typing import Literal

from textual import events
from textual.app import ComposeResult
from textual.message import Message
from textual.timer import Timer
from textual.widget import Widget
from textual.widgets import Input

from .attention import ALONE_SECONDS, Attention
from .keys import Key, Keys
from .rows import Piece, Row, Rows, said

SMALLEST = 2
"""Rows for what is to be read, however little room there is."""
_SCROLLS = {
    "up": "scroll_up",
    "down": "scroll_down",
    "pageup": "scroll_page_up",
    "pagedown": "scroll_page_down",
    "space": "scroll_page_down",
    "home": "scroll_home",
    "end": "scroll_end",
}
PAINTS = 10
"""How often the screen is painted until everything has its place, at the most."""
TOO_EARLY = "That came too early, and nothing was answered: read it first."
NOT_ALONE = "More keys came right behind that one, and nothing was answered."
TOO_SMALL = "Too small a screen for a yes."


class Stage:
    """What all questions share: the room that there is, and whether a key counts."""

    def __init__(self, attention: Attention, alone: float = ALONE_SECONDS) -> None:
        self.attention = attention
        self.alone = alone
        """Seconds that a yes waits for whether it was a word that begins with it."""
        self.room = 12
        """Rows, for everything."""
        self.width = 0
        """Cells, of what has no place on the screen yet: so that its first picture is the right one."""
        self.is_whole = False
        """All the room of the screen is taken."""
        self.away = ""
        """Why keys do not come here, and what to do; empty: they do."""


class Pane(Widget, can_focus=True):
    """Asks one thing. What is to be read scrolls; its head and its keys are always in sight.

    Keys that are printed go to `press`, and only those that count. What it does not know of other keys goes on to the
    app: Esc among them, unless it is one of the known ones, to go back.
    """

    DEFAULT_CSS = """
    Pane { height: auto; width: 100%; layout: vertical; background: transparent; }
    Pane > Input { width: 100%; margin: 0 1; background: $boost; }
    """

    class Moved(Message):
        """The person wants to see another of those that wait, or all of this one."""

        def __init__(self, where: Literal["next", "previous", "whole"]) -> None:
            super().__init__()
            self.where = where

    def __init__(self, stage: Stage, middle: Widget | None = None, field: Input | None = None) -> None:
        super().__init__()
        self.stage = stage
        self.middle = middle or Rows()
        self.field = field
        self._head = Rows()
        self._note = Rows()
        self.keys = Keys()
        self._told = self._kind = ""
        self._height = 0
        self._replaced: Pane | None = None
        self._is_over = False
        self._is_small = False
        """There is no room to read it in."""
        self._yes: Timer | None = None
        """Runs until it is known that nothing else is pressed behind a yes."""
        self._fitting = asyncio.Lock()

    def compose(self) -> ComposeResult:
        """From top to bottom."""
        yield self._head
        yield self.middle
        yield self._note
        if self.field is not None:
            yield self.field
        yield self.keys

    def replace(self, before: Pane) -> None:
        """Takes the place of another as soon as it has one, and its keys with it; none counts for that one any more."""
        self._replaced = before
        before._is_over = True
        self.stage.attention.changed()

    def head(self) -> str:
        """What is asked, in a line or two."""
        raise NotImplementedError

    async def rows(self, width: int) -> list[Row]:
        """What is to be read, where that are rows."""
        return []

    def note(self) -> str:
        """The line above the keys, while nothing else is said there."""
        return ""

    def known_keys(self) -> Sequence[Key]:
        """What can be pressed now."""
        return ()

    def fewest_keys(self) -> Sequence[Key]:
        """Those that are shown where there is hardly any room."""
        return self.known_keys()

    async def press(self, key: str) -> None:
        """A key that counts, pressed or clicked."""

    def is_yes(self, key: str) -> bool:
        """Whether this key lets something happen that cannot be taken back: it must have been pressed by itself."""
        return False

    def wanted(self) -> int:
        """How many rows the middle would fill."""
        return len(self.middle.rows) if isinstance(self.middle, Rows) else 1

    def answers_to(self) -> Widget:
        """What takes the keys."""
        return self.field or self

    def tell(self, words: str, kind: str = "warning") -> None:
        """Says something above the keys, until something else is said or asked. Words of others must be marked."""
        self._told, self._kind = words, kind
        self.call_later(self.fit)

    def move(self, where: Literal["next", "previous", "whole"]) -> None:
        """Goes elsewhere. What is pressed behind it is meant for there, and not for this one."""
        self.stage.attention.changed()
        self.post_message(self.Moved(where))

    async def fit(self) -> None:
        """Gives each part its height: the head and the keys all they need, what is to be read the rest."""
        async with self._fitting:
            width = self.size.width or self.stage.width
            if not width or not self.is_attached or self._is_over:
                return
            self.keys.show(self.known_keys())
            if isinstance(self.middle, Rows):
                rows = await self.rows(width - 1)
                if rows is not self.middle.rows and rows != self.middle.rows:
                    self.middle.show(rows)
                    self.stage.attention.changed()
            head = list(said(self.head(), width, "warning"))
            told = "" if self.stage.away else self._told
            words, look = told or self.stage.away or self.note(), self._kind if told else "dim"
            beside = len(self.keys.lines(width)) + (self.field is not None)
            note, room = self._noted(words, look, width, self.stage.room - len(head) - beside)
            if room < SMALLEST:
                head = head[:1]
                self.keys.show(self.fewest_keys())
                beside = len(self.keys.lines(width)) + (self.field is not None)
                note = list(said(told, width, look)) if told else self._noted("", look, width, SMALLEST)[0]
                note = note[:1]
                room = self.stage.room - len(head) - beside - len(note)
            self._is_small = room < SMALLEST
            _show(self._head, head)
            _show(self._note, note)
            room = max(room, SMALLEST)
            self._height = room if self.stage.is_whole else min(max(self.wanted(), 1), room)
            self.middle.styles.height = self._height
            self.call_after_refresh(self._painted, self.stage.attention.round)

    def _painted(self, round: int, tries: int = 0) -> None:
        """What was fitted can be seen if it has its place by now; a screen that is too small never gives it all."""
        height = self.middle.region.height if not self._is_over and self._is_shown else 0
        if height == self._height or (height and tries == PAINTS):
            self.stage.attention.painted(round)
        elif tries < PAINTS and self.is_attached and not self._is_over:
            self.call_after_refresh(self._painted, round, tries + 1)

    @property
    def _is_shown(self) -> bool:
        return all(node.display for node in self.ancestors_with_self if isinstance(node, Widget))

    def _noted(self, words: str, look: str, width: int, room: int) -> tuple[list[Row], int]:
        """The line above the keys, and what it leaves of the room. What is out of sight is said whatever else is."""
        note = list(said(words, width, look))
        below = self.wanted() - (room - len(note))
        if isinstance(self.middle, Rows) and below > 0:
            longest = f"↓ {len(self.middle.rows):,} more rows"
            size = len(list(said(" · ".join(filter(None, (longest, words))), width)))
            below = len(self.middle.rows) - self.middle.scroll_offset.y - max(room - size, SMALLEST)
            more = f"↓ {below:,} more row{'s' * (below != 1)}" if below > 0 else ""
            note = list(said(" · ".join(filter(None, (more, words))), width, look))
            note += [(Piece(""),)] * (size - len(note))
        return note, room - len(note)

    async def on_resize(self) -> None:
        """Everything anew for the new width."""
        await self.fit()

    def on_mount(self) -> None:
        """Something else is asked."""
        self.stage.attention.changed()
        self.call_later(self.fit)
        if self._replaced is not None:
            if self._replaced.has_focus_within:
                self.screen.set_focus(self.answers_to())  # at once: who is removed with the keys gives them away
            # Not waited for: it may be the one that is still at work on the key that brought this one.
            self._replaced.remove()
            self._replaced = None

    async def on_rows_scrolled(self, event: Rows.Scrolled) -> None:
        """Other rows are out of sight."""
        event.stop()
        self.call_after_refresh(self.fit)

    async def on_key(self, event: events.Key) -> None:
        """Keys that were not taken by a field."""
        key = event.character if event.is_printable and event.character != " " else event.key
        if key is None:
            return
        if self._take_back_yes(event.time) and key != "escape":
            event.stop()
            event.prevent_default()
        elif key == "escape" and any(known.key == key for known in self.known_keys()):
            event.stop()
            await self.press(key)
        elif isinstance(self.middle, Rows) and key in _SCROLLS and not (self.field and key in ("home", "end")):
            event.stop()
            if key == "space":
                self.stage.attention.begin_anew(event.time)  # it may stand between two words
            getattr(self.middle, _SCROLLS[key])(animate=False)
        elif key in ("tab", "shift+tab"):
            event.stop()
            event.prevent_default()
            self.move("next" if key == "tab" else "previous")
        elif event.is_printable or key == "enter" or key in (known.key for known in self.known_keys()):
            event.stop()
            event.prevent_default()
            await self._pressed(key, event.time)

    async def on_keys_pressed(self, event: Keys.Pressed) -> None:
        """The same with the mouse."""
        event.stop()
        self._take_back_yes(event.when)
        await self._pressed(event.key, event.when, clicked=True)

    def on_paste(self, event: events.Paste) -> None:
        """What is pasted answers nothing."""
        event.stop()
        self._take_back_yes(event.time)
        if self.field is None:
            self.tell("What was pasted answers nothing.")

    async def _pressed(self, key: str, when: float, *, clicked: bool = False) -> None:
        attention = self.stage.attention
        if self._is_over or not attention.takes(when):
            self.tell(TOO_EARLY)
            return
        if key not in (known.key for known in self.known_keys()):
            attention.begin_anew(when)  # somebody who writes, perhaps
        if self.is_yes(key) and self._is_small:
            self.tell(TOO_SMALL)
        elif self.is_yes(key) and self.stage.alone and not clicked:
            self._yes = self.set_timer(self.stage.alone, partial(self._act_alone, key, attention.round))
        else:
            await self._act(key)

    async def _act(self, key: str) -> None:
        self._told = ""
        await self.press(key)
        self.call_later(self.fit)

    async def _act_alone(self, key: str, round: int) -> None:
        """Nothing came behind a yes: it is one, for what it was pressed for."""
        self._yes = None
        if self._is_over or round != self.stage.attention.round or not self.has_focus_within:
            self.tell(TOO_EARLY)
        else:
            await self._act(key)

    def _take_back_yes(self, when: float) -> bool:
        """A yes was the beginning of something else, if there was one just now."""
        if self._yes is None:
            return False
        self._yes.stop()
        self._yes = None
        self.stage.attention.begin_anew(when)
        self.tell(NOT_ALONE)
        return True


def _show(part: Rows, rows: list[Row]) -> None:
    """Puts rows there, or an empty one."""
    rows = rows or [(Piece(""),)]
    if rows != part.rows:
        part.show(rows)
    part.styles.height = len(rows)
