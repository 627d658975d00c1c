"""`Document`: Markdown on the screen that may still be coming, as a chain of pages."""

from __future__ import annotations

import time
from typing import ClassVar

from textual.containers import Vertical

from ...cli.visible import visible
from ..laid_once import LaidOnce
from .cutting import Cutter
from .laying import AnyLine
from .page import Page

PAGE_LINES = 80
"""Lines of a page: what is laid out anew at most when a line comes."""
SLICE = 1_000
"""Characters that are looked at in one go."""
AT_ONCE = 0.012
"""Seconds that one drawing takes at most, give or take a slice: keys that were typed come first."""
_FOCUSED = "$accent"
_REST = 3.0
"""How much longer than it took to draw it waits before it draws again."""


class Document(Vertical, LaidOnce):
    """Shows text as it comes. `feed` and `end` note, `draw` paints.

    `text` is what is shown as it was written, with everything visible that a terminal would obey or hide: it can be
    copied without harm.
    """

    DEFAULT_CSS = """
    Document { height: auto; width: 1fr; }
    """

    BLANK = True
    BAR: ClassVar[str] = ""
    """The style of a bar on the left of all pages."""

    def __init__(self, text: str = "", *, ended: bool = False) -> None:
        super().__init__()
        self._cutter = Cutter()
        self._waiting: list[str] = []
        self._held = ""
        self._text: list[str] = []
        self._lines = 0
        self._ended = False
        self._done = False
        self._taken_over = False
        self._page: Page | None = None
        self._not_before = 0.0
        if text:
            self.feed(text)
        if ended:
            self.end()

    @property
    def live(self) -> bool:
        """Whether something is to be painted, now or later."""
        return not self._done

    @property
    def behind(self) -> bool:
        """Whether something came that is not painted."""
        return bool(self._waiting) or self._taken_over or (self._ended and not self._done)

    @property
    def text(self) -> str:
        """All of the text that came."""
        if len(self._text) > 1:
            self._text = ["".join(self._text)]
        return "".join([*self._text, *map(visible, self._waiting)])

    @property
    def lines(self) -> int:
        """How long it is: lines before they are broken to fit."""
        return self._lines

    @property
    def ended(self) -> bool:
        """Whether nothing follows."""
        return self._ended

    def feed(self, text: str) -> None:
        """More text."""
        if not self._ended:
            self._waiting.append(text)

    def end(self) -> None:
        """Nothing follows."""
        self._ended = True

    def hand_over(self, to: Document) -> bool:
        """Lets an empty document go on with what comes: from the last block on. Whether it could be cut here."""
        rest = self._cutter.between
        if rest is None or self._ended:
            return False
        whole = self.text
        to._waiting, self._waiting = self._waiting, []
        to._cutter, to._held, self._held = self._cutter, self._held, ""
        self._text = [whole[: len(whole) - len(rest) - sum(map(len, map(visible, to._waiting)))]]
        to._text = [rest]
        to._cutter.begin_at_top()
        to._taken_over = True
        self._cutter = Cutter()
        self._ended = self._done = True
        if self._page is not None:
            self._page.put(())
        return True

    async def draw(self, *, now: bool = False) -> None:
        """Paints what came, some of it where that is much. With `now` all of it."""
        began = time.perf_counter()
        if not self.behind or (began < self._not_before and not self._ended and not now):
            return
        self._taken_over = False
        settled = self._read(began, now)
        if settled or self._page is None or not self._done:
            await self._put(settled, [] if self._done else self._cutter.open())
        self._not_before = time.perf_counter() + _REST * (time.perf_counter() - began)

    def watch_has_focus(self, focused: bool) -> None:
        """The bar shows where the focus is."""
        super().watch_has_focus(focused)
        for page in self.query_children(Page):
            page.bar = _FOCUSED if focused else self.BAR

    def _read(self, began: float, now: bool) -> list[AnyLine]:
        """The lines that are settled by what came, as far as there is time for it."""
        settled: list[AnyLine] = []
        text = "".join(self._waiting)
        self._waiting.clear()
        at = 0
        while at < len(text) and (now or not at or time.perf_counter() - began < AT_ONCE):
            self._feed(self._shown(text[at : at + SLICE]))
            settled += self._cutter.settled()
            at += SLICE
        if at < len(text):
            self._waiting.append(text[at:])
        elif self._ended:
            self._feed(visible(self._held))
            settled += self._cutter.settled(end=True)
            self._done = True
        return settled

    def _feed(self, text: str) -> None:
        self._text.append(text)
        self._cutter.feed(text)

    def _shown(self, text: str) -> str:
        """Nothing in it is obeyed or hidden. A line end of two characters may come in two pieces."""
        text = self._held + text
        self._held = "\r" if text.endswith("\r") else ""
        return visible(text.removesuffix("\r"))

    async def _put(self, settled: list[AnyLine], open: list[AnyLine]) -> None:
        """Lines go to the last page, and to new ones where that is full."""
        self._lines += len(settled)
        while True:
            if self._page is None or (len(self._page) >= PAGE_LINES and (settled or open)):
                if self._page is not None:
                    self._page.put((), ())
                self._page = Page(_FOCUSED if self.has_focus else self.BAR)
                await self.mount(self._page)
            room = PAGE_LINES - len(self._page)
            part, settled = settled[:room], settled[room:]
            self._page.put(part, () if settled else open)
            if not settled:
                return
