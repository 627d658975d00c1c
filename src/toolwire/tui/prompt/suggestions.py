"""What may be typed, in a small window above the prompt. It never has the focus: the prompt moves in it."""

from __future__ import annotations

from rich.cells import cell_len, set_cell_size
from textual import events
from textual.app import RenderResult
from textual.content import Content
from textual.message import Message
from textual.widget import Widget

from ...chat.completion import NOTHING, Completion, Completions
from ...cli.visible import one_line

SHOWN_ROWS = 8
_TITLES = {
    "commands": "commands",
    "arguments": "what may follow",
    "files": "files",
    "servers": "MCP servers",
    "history": "typed before",
    "paste": "this is a file",
}
_NAMES_SHARE = 0.6
"""How much of the width names may take where there are words beside them."""


class Suggestions(Widget):
    """The rows of a `Completions`, one of them chosen or none."""

    DEFAULT_CSS = """
    Suggestions {
        display: none; overlay: screen; constrain: none inside;
        width: 1fr; height: auto; padding: 0 1;
        background: $surface; border: round $primary 60%;
        border-title-color: $text-muted; border-subtitle-color: $text-muted; border-subtitle-align: right;
    }
    Suggestions.open { display: block; }
    """

    class Taken(Message):
        """A row was clicked."""

        def __init__(self, row: Completion) -> None:
            super().__init__()
            self.row = row

    def __init__(self) -> None:
        super().__init__()
        self.given: Completions = NOTHING
        self.at: int | None = None
        """The row that was chosen by an arrow; None where none was."""
        self._first = 0

    @property
    def is_open(self) -> bool:
        """Whether there is anything to take."""
        return bool(self.given.rows)

    @property
    def row(self) -> Completion | None:
        """The row that Tab takes: the chosen one, or the first."""
        return self.given.rows[self.at or 0] if self.given.rows else None

    def show(self, given: Completions) -> None:
        """Shows these, none of them chosen; without rows it closes."""
        if given == self.given and self.at is None:
            return
        self.given, self.at, self._first = given, None, 0
        count = min(len(given.rows), SHOWN_ROWS)
        self.styles.offset = (0, -(count + 2))
        self.border_title = _TITLES.get(given.kind, "")
        self._tell()
        self.set_class(self.is_open, "open")
        self.refresh(layout=True)

    def choose_none(self) -> None:
        """What was chosen was so for another text."""
        if self.at is not None:
            self.at, self._first = None, 0
            self.refresh()

    def move(self, by: int) -> None:
        """Chooses another row; past an end it goes on at the other."""
        count = len(self.given.rows)
        if not count:
            return
        self.at = (0 if by > 0 else count - 1) if self.at is None else (self.at + by) % count
        self._first = min(max(self._first, self.at - SHOWN_ROWS + 1), self.at)
        self._tell()
        self.refresh()

    def render(self) -> RenderResult:
        """The rows that there is room for."""
        rows = self.given.rows[self._first : self._first + SHOWN_ROWS]
        width = max(self.content_size.width, 10)
        names = [one_line(row.shown) or "…" for row in rows]
        widest = max((cell_len(name) for name in names), default=0)
        room = min(widest, int(width * _NAMES_SHARE)) if any(row.words for row in rows) else width - 2
        lines = [
            self._line(number + self._first, row, name, room, width)
            for number, (row, name) in enumerate(zip(rows, names, strict=True))
        ]
        return Content("\n").join(lines)

    def _line(self, number: int, row: Completion, name: str, room: int, width: int) -> Content:
        chosen = number == self.at
        content = Content(name)
        if name == row.shown:
            for place in row.places:
                content = content.stylize("bold $text-primary", place, place + 1)
        if cell_len(name) > room:
            # The end of a path says more than its beginning; names of commands begin with what matters.
            content = _end_of(content, room) if self.given.kind == "files" else content.truncate(room, ellipsis=True)
        mark = Content.styled("› ", "bold $foreground") if chosen else Content("  ")
        gap = Content(" " * (room - content.cell_length + 2))
        words = Content.styled(_fitted(one_line(row.words), width - room - 4), "$foreground-muted")
        line = Content.assemble(mark, content, gap, words)
        if not chosen:
            return line
        line = line.pad_right(max(width - line.cell_length, 0))
        return line.stylize("reverse" if self.app.native_ansi_color else "on $primary-muted")

    def _tell(self) -> None:
        count = len(self.given.rows)
        more = f"{count + self.given.more:,} in all · " if self.given.more or count > SHOWN_ROWS else ""
        self.border_subtitle = f"{more}Tab takes · ↑↓ choose · Esc closes"

    def on_click(self, event: events.Click) -> None:
        """Takes the row that was clicked."""
        event.stop()
        at = self._first + event.get_content_offset_capture(self).y
        if 0 <= at < len(self.given.rows):
            self.post_message(self.Taken(self.given.rows[at]))


def _end_of(content: Content, room: int) -> Content:
    plain = content.plain
    start = len(plain)
    used = 1
    while start > 0 and used + cell_len(plain[start - 1]) <= room:
        start -= 1
        used += cell_len(plain[start])
    return Content.assemble("…", content[start:])


def _fitted(words: str, room: int) -> str:
    if room <= 1:
        return ""
    return words if cell_len(words) <= room else f"{set_cell_size(words, room - 1)}…"
