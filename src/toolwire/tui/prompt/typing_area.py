"""The lines that are typed. Keys go to the prompt first; labels of pasted text, mentions and commands have colours."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from typing import ClassVar, cast

from rich.text import Text
from textual import events
from textual.actions import SkipAction
from textual.document._document import Document
from textual.widgets import TextArea
from textual.widgets.text_area import Selection

MOST_LINES = 10
"""Lines that are seen at one time."""

Mentioned = tuple[int, str]
"""Where a mention begins, and its words."""


class TypingArea(TextArea):
    """A `TextArea` without a frame, as high as its text. It knows nothing of what is done with the text."""

    DEFAULT_CSS = f"""
    TypingArea {{
        width: 1fr; height: auto; min-height: 1; max-height: {MOST_LINES}; border: none; padding: 0;
        background: transparent; scrollbar-size-vertical: 1;
    }}
    TypingArea:focus {{ border: none; }}
    TypingArea .typing-area--label {{ color: $text-accent; background: $accent-muted; }}
    TypingArea .typing-area--mention {{ color: $text-primary; text-style: underline; }}
    TypingArea .typing-area--command {{ color: $text-primary; text-style: bold; }}
    TypingArea .typing-area--shell {{ color: $text-warning; text-style: bold; }}
    """
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "typing-area--label",
        "typing-area--mention",
        "typing-area--command",
        "typing-area--shell",
    }

    def __init__(
        self, on_key: Callable[[events.Key], Awaitable[bool]], on_paste: Callable[[str], None], placeholder: str
    ) -> None:
        super().__init__(placeholder=placeholder, highlight_cursor_line=False, soft_wrap=True)
        self.match_cursor_bracket = False
        self.pasted: dict[str, str] = {}
        """What stands behind the labels in the text."""
        self._on_key_first = on_key
        self._on_pasted = on_paste
        self._mentioned: Sequence[Mentioned] = ()

    @property
    def cursor(self) -> int:
        """Where the cursor is, in characters from the beginning."""
        return self.index_of(self.cursor_location)

    def index_of(self, location: tuple[int, int]) -> int:
        """A place as characters from the beginning."""
        return cast(Document, self.document).get_index_from_location(location)

    def place_of(self, index: int) -> tuple[int, int]:
        """The line and the column there."""
        return cast(Document, self.document).get_location_from_index(min(index, len(self.text)))

    def set_text(self, text: str, pasted: Mapping[str, str] | None = None, *, cursor: int | None = None) -> None:
        """Another text, which cannot be undone; the cursor at its end, or where it is said."""
        self.pasted = dict(pasted or {})
        self.load_text(text)
        self._to(len(text) if cursor is None else cursor)

    def put(self, text: str, start: int, end: int) -> None:
        """Puts a text in the place of another, so that it can be undone; the cursor goes behind it."""
        self.replace(text, self.place_of(start), self.place_of(end), maintain_selection_offset=False)
        self._to(start + len(text))

    def show_mentions(self, mentioned: Sequence[Mentioned]) -> None:
        """Which words name files; those that have changed since are left alone."""
        if mentioned != self._mentioned:
            self._mentioned = mentioned
            self._line_cache.clear()
            self.refresh()

    def labels(self) -> Iterator[tuple[int, int]]:
        """Where labels of pasted text stand."""
        text = self.text
        for label in self.pasted:
            at = text.find(label)
            while at >= 0:
                yield at, at + len(label)
                at = text.find(label, at + len(label))

    def label_beside(self, *, before: bool) -> tuple[int, int] | None:
        """The label that a deletion would begin to eat."""
        if self.selection.start != self.selection.end:
            return None
        cursor = self.cursor
        for start, end in self.labels():
            if start < cursor <= end if before else start <= cursor < end:
                return start, end
        return None

    def get_line(self, line_index: int) -> Text:
        """The line with its colours."""
        line = super().get_line(line_index)
        first = self.index_of((line_index, 0))
        last = first + len(line.plain)
        text = self.text
        spans = [(start, end, "label") for start, end in self.labels()]
        spans += [
            (start, start + len(words), "mention") for start, words in self._mentioned if text.startswith(words, start)
        ]
        if line_index == 0 and line.plain[:1] in ("/", "!"):
            end = len(line.plain.split(None, 1)[0]) if line.plain[0] == "/" else 1 + line.plain.startswith("!!")
            spans.append((0, end, "command" if line.plain[0] == "/" else "shell"))
        for start, end, kind in spans:
            if start < last and end > first:
                style = self.get_component_rich_style(f"typing-area--{kind}", partial=True)
                line.stylize(style, max(start - first, 0), end - first)
        return line

    async def _on_key(self, event: events.Key) -> None:
        """Does at once what a key does here: going round through the app, it would be overtaken by the next one."""
        if await self._on_key_first(event) or await self._done(event.key):
            event.stop()
            event.prevent_default()

    async def _done(self, key: str) -> bool:
        for binding in self._bindings.key_to_bindings.get(key, ()):
            if await self.app.run_action(binding.action, self):
                return True
        return False

    async def _on_paste(self, event: events.Paste) -> None:
        event.stop()
        event.prevent_default()
        self._on_pasted(event.text)

    def action_paste(self) -> None:
        """What was copied inside the app goes the way of everything pasted."""
        self._on_pasted(self.app.clipboard)

    def action_delete_right(self) -> None:
        """Ctrl-D on nothing is for others."""
        if not self.text:
            raise SkipAction
        super().action_delete_right()

    def action_cursor_page_up(self) -> None:
        """The page keys are the conversation's."""
        raise SkipAction

    def action_cursor_page_down(self) -> None:
        """The page keys are the conversation's."""
        raise SkipAction

    def _to(self, index: int) -> None:
        self.selection = Selection.cursor(self.place_of(index))
        self.scroll_cursor_visible()
