"""What was let go of a long conversation, and how it comes back: as text, so that hours of it stay small."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import partial
from typing import ClassVar, Protocol

from textual.binding import Binding, BindingType
from textual.content import Content

from ..cli.visible import visible
from .item import Item
from .still import Still, read_from_top

KEPT = 20_000_000
"""Characters of items that are not on the screen. The oldest go first; a session on disk has all of them."""
_FOLDED = 8
_MOST = 200_000


class Returning(Item, Protocol):
    """An item that can be let go and made again."""

    def again(self) -> Callable[[], Returning]:
        """Makes the same item later, out of as little as possible."""
        ...


class Past(Still, can_focus=True):
    """An item as plain text: a tool call of an hour ago."""

    DEFAULT_CSS = """
    Past { border-left: outer $foreground 20%; color: $foreground 70%; }
    Past:focus { border-left: outer $accent; }
    """

    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "open", "Open or close", show=False)]

    def __init__(self, text: str) -> None:
        self._text = visible(text)
        self._open = False
        super().__init__(self._content(), markup=False)

    def plain(self) -> str:
        """The text."""
        return self._text

    def again(self) -> Callable[[], Returning]:
        """Makes the same item later."""
        return partial(Past, self._text)

    def action_open(self) -> None:
        """Shows all of it, or its beginning again."""
        self._open = not self._open
        self.update(self._content())
        if self._open:
            read_from_top(self)

    def _content(self) -> Content:
        lines = self._text[:_MOST].split("\n")
        if self._open or len(lines) <= _FOLDED:
            return Content("\n".join(lines))
        more = Content.styled(f"\n… {len(lines) - _FOLDED:,} more lines (Enter opens)", "$foreground 55%")
        return Content("\n".join(lines[:_FOLDED])) + more


class Earlier:
    """The items above the first one on the screen, newest last; bounded by their size."""

    def __init__(self) -> None:
        self._kept: deque[tuple[int, Callable[[], Returning], int]] = deque()
        self._size = 0
        self.lost = 0
        """How many could not be kept."""

    def __len__(self) -> int:
        return len(self._kept)

    def add(self, size: int, make: Callable[[], Returning], answer: int = 0) -> None:
        """One that leaves the screen, younger than all before; of this answer, if of one."""
        self._kept.append((size, make, answer))
        self._size += size
        while self._size > KEPT and len(self._kept) > 1:
            oldest, *_ = self._kept.popleft()
            self._size -= oldest
            self.lost += 1

    def take(self, count: int) -> list[tuple[Returning, int]]:
        """The youngest ones, made again, in their order; each with its answer."""
        made: list[tuple[Returning, int]] = []
        while self._kept and len(made) < count:
            size, make, answer = self._kept.pop()
            self._size -= size
            made.append((make(), answer))
        return made[::-1]

    def drop(self, answer: int) -> None:
        """Those of an answer that is void."""
        self._kept = deque(each for each in self._kept if each[2] != answer)
        self._size = sum(size for size, *_ in self._kept)

    def clear(self) -> None:
        """Another conversation begins."""
        self._kept.clear()
        self._size = self.lost = 0

    def words(self) -> str:
        """What stands above the first item."""
        lost = f"{self.lost:,} items before that are not kept here; the session has them" if self.lost else ""
        more = f"▲ {len(self._kept):,} earlier item{'' if len(self._kept) == 1 else 's'}" if self._kept else ""
        return " · ".join(filter(None, (more, lost)))
