"""`Question`: what the person said, and what went along with it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.content import Content

from ..chat.mentions import words_and_names
from ..cli.visible import one_line, visible
from ..messages import Message
from .still import Still, read_from_top

FOLDED = 12
"""Lines of a question that are shown before it is opened."""
_WIDE = 1_500
"""Characters that count as that many lines."""
_MOST = 200_000
"""Characters that are ever shown."""


class Question(Still, can_focus=True):
    """The person's own words, as they are: no Markdown. A long one shows its beginning until it is opened."""

    DEFAULT_CSS = """
    Question { border-left: outer $primary; background: $primary 8%; }
    Question:focus { border-left: outer $accent; }
    """

    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "open", "Open or close", show=False)]

    def __init__(self, message: Message | str, names: Sequence[str] = ()) -> None:
        words, names = (message, names) if isinstance(message, str) else words_and_names(message)
        self._words = visible(words.strip("\n"))
        self._names = [one_line(name)[:200] for name in names]
        self._open = False
        super().__init__(self._content(), markup=False)

    def plain(self) -> str:
        """The words."""
        return self._words

    def again(self) -> Callable[[], Question]:
        """Makes the same item later."""
        return partial(Question, self._words, self._names)

    def action_open(self) -> None:
        """Shows all of it, or its beginning again."""
        self._open = not self._open
        self.update(self._content())
        if self._open:
            read_from_top(self)

    def on_click(self, event: events.Click) -> None:
        """The same as Enter, on the line that says how much more there is."""
        if self._is_long and event.y >= self.size.height - 1 - len(self._names):
            self.action_open()

    @property
    def _is_long(self) -> bool:
        return len(self._words) > _WIDE or self._words.count("\n") >= FOLDED

    def _content(self) -> Content:
        shown = self._words
        told: list[Content] = []
        if self._is_long and not self._open:
            shown = "\n".join(shown[:_WIDE].split("\n")[:FOLDED])
            left = self._words[len(shown) :]
            lines = left.count("\n")
            more = f"{lines:,} more lines" if lines > 1 else f"{len(left):,} more characters"
            told.append(Content.styled(f"… {more} (Enter opens)", "$foreground 55%"))
        elif len(shown) > _MOST:
            told.append(Content.styled(f"… {len(shown) - _MOST:,} more characters", "$foreground 55%"))
            shown = shown[:_MOST]
        told += [Content.styled(f"attached: {name}", "$foreground 55%") for name in self._names]
        return Content("\n").join([Content(shown.expandtabs(4)), *told])
