"""Screens on top of the conversation: one of several, yes or no, the keys. Nothing in them is taken by default."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from rich.cells import cell_len, set_cell_size
from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from ..chat.desk import Row
from ..cli.question import fitting_pieces
from ..cli.visible import one_line
from .key_table import KEYS
from .questions.attention import Attention, event_time
from .questions.keys import Key, Keys
from .status import shortened

_MOST_ROWS = 300
_NAME = 0.5
"""The share of a row that its name may take; words about it stand beside it."""
_HINT = "Esc goes back · Enter takes the row that is lit · ↑↓ light another"
_CONFIRM_WIDTH, _AROUND_WORDS = 72, 6
"""Of a question with yes and no: its cells, and the rows that are not for its words."""
_NOTHING_LIT = "No row is lit: ↓ lights one, or type words of it."


class PickerScreen(ModalScreen[str | None]):
    """A list that is narrowed by typing. Enter takes the row that is lit, Esc none.

    A row is lit when it is the one that holds now, when the person goes there, or when it is the first that fits what
    they typed: never only because it stands first.
    """

    DEFAULT_CSS = """
    PickerScreen { align: center middle; }
    PickerScreen > Vertical {
        width: 110; max-width: 96%; height: auto; max-height: 90%;
        background: $surface; border: round $primary; padding: 0 1;
        border-title-color: $text-primary; border-title-style: bold; border-subtitle-color: $text-muted;
    }
    PickerScreen Input { border: none; height: 1; padding: 0; background: $surface; margin: 0 0 1 0; }
    PickerScreen Input:focus { border: none; }
    PickerScreen OptionList {
        height: auto; border: none; background: $surface; padding: 0; text-wrap: nowrap; text-overflow: ellipsis;
        scrollbar-size-vertical: 1;
    }
    PickerScreen OptionList > .option-list--option-disabled { color: $text-muted; text-style: bold; }
    PickerScreen OptionList > .option-list--option-highlighted {
        background: $primary 35%; color: $text; text-style: bold;
    }
    PickerScreen .hint { color: $text-muted; height: 1; margin: 1 0 0 0; text-wrap: nowrap; text-overflow: ellipsis; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss_none", "Back", priority=True),
        Binding("down", "move(1)", show=False, priority=True),
        Binding("up", "move(-1)", show=False, priority=True),
        Binding("pagedown", "move(10)", show=False, priority=True),
        Binding("pageup", "move(-10)", show=False, priority=True),
    ]

    def __init__(self, title: str, rows: Sequence[Row], current: str = "") -> None:
        super().__init__()
        self._title = title
        self._rows = rows
        self._current = current
        self._values: list[str | None] = []
        """Of the rows that stand in the list; None for the name of a group."""

    def compose(self) -> ComposeResult:
        """What is typed, the list, and a hint."""
        with Vertical() as box:
            box.border_title = Content(one_line(self._title))
            yield Input(placeholder="type to narrow the list", select_on_focus=False)
            listing = OptionList(markup=False)
            listing.can_focus = False  # what is typed narrows the list, also after a click
            yield listing
            yield Static(_HINT, classes="hint", markup=False)

    def on_mount(self) -> None:
        """All rows, until something is typed."""
        self._fit()
        self._fill("")
        self.query_one(Input).focus()
        self.call_after_refresh(self.query_one(OptionList).scroll_to_highlight)

    def on_resize(self) -> None:
        """The list gets what the other lines leave, and names what the rows leave."""
        self._fit()
        listing = self.query_one(OptionList)
        lit = listing.highlighted
        self._fill(self.query_one(Input).value)
        listing.highlighted = lit

    @on(Input.Changed)
    def _narrow(self, event: Input.Changed) -> None:
        self._fill(event.value)

    def _fit(self) -> None:
        self.query_one(OptionList).styles.max_height = max(int(self.app.size.height * 0.9) - 6, 3)

    def _fill(self, typed: str) -> None:
        words = typed.lower().split()
        fitting = [row for row in self._rows if all(word in _searched(row) for word in words)]
        most = int(min(self.app.size.width * 0.96, 110) * _NAME)
        width = min(max((cell_len(one_line(row.name)) for row in fitting), default=0), most)
        options, self._values, group = list[Option](), [], ""
        for row in fitting[:_MOST_ROWS]:
            if row.group != group:
                group = row.group
                options.append(Option(Content(one_line(group)), disabled=True))
                self._values.append(None)
            options.append(Option(_line(row, width, words, is_current=row.value == self._current)))
            self._values.append(row.value)
        if not fitting:
            options.append(Option(Content("nothing fits"), disabled=True))
            self._values.append(None)
        listing = self.query_one(OptionList)
        listing.set_options(options)
        listing.highlighted = self._lit(bool(words))
        self._tell(_HINT)
        count = f"{len(fitting)} of {len(self._rows)}" if words else f"{len(self._rows)}"
        self.query_one(Vertical).border_subtitle = Content(count)

    def _lit(self, has_words: bool) -> int | None:
        """With nothing typed, Enter must not take what merely stands first."""
        wanted = [at for at, value in enumerate(self._values) if value is not None]
        if not has_words:
            wanted = [at for at in wanted if self._values[at] == self._current]
        return wanted[0] if wanted else None

    def action_move(self, by: int) -> None:
        """Lights another row."""
        listing = self.query_one(OptionList)
        if not any(self._values):
            return
        for _ in range(abs(by)):
            at = listing.highlighted
            listing.action_cursor_down() if by > 0 else listing.action_cursor_up()
            if abs(by) > 1 and at is not None and (listing.highlighted or 0) * by < at * by:
                # A page ends at the end of the list, and does not begin anew.
                listing.highlighted = at
                break
        self._tell(_HINT)

    @on(Input.Submitted)
    def _take(self) -> None:
        at = self.query_one(OptionList).highlighted
        value = None if at is None else self._values[at]
        if value is None:
            self._tell(_NOTHING_LIT)
        else:
            self.dismiss(value)

    @on(OptionList.OptionSelected)
    def _clicked(self, event: OptionList.OptionSelected) -> None:
        self.dismiss(self._values[event.option_index])

    def _tell(self, words: str) -> None:
        self.query_one(".hint", Static).update(Content(words))

    def action_dismiss_none(self) -> None:
        """Takes none."""
        self.dismiss(None)


def _searched(row: Row) -> str:
    return f"{row.name} {row.words} {row.group} {row.value}".lower()


def _line(row: Row, width: int, words: Sequence[str], *, is_current: bool) -> Content:
    """A row: whether it holds now, its name, and words about it; what was typed is lit in it."""
    name, about = one_line(row.name), one_line(row.words)
    if is_current:
        about = f"{about} (now)" if about else "(now)"
    padded = set_cell_size(shortened(name, width), width) if about else name
    line = Content.assemble("● " if is_current else "  ", padded, "  ", (about, "$foreground 60%"))
    plain = line.plain.lower()
    for word in words:
        if (at := plain.find(word)) >= 0 and len(plain) == len(line.plain):
            line = line.stylize("bold underline", at, at + len(word))
    return line


class ConfirmScreen(ModalScreen[bool]):
    """A question that only the letter y answers with yes, once it could have been read; no other key does anything."""

    DEFAULT_CSS = f"""
    ConfirmScreen {{ align: center middle; }}
    ConfirmScreen > Vertical {{
        width: {_CONFIRM_WIDTH}; max-width: 96%; height: auto; max-height: 90%;
        background: $surface; border: round $warning; padding: 1 2;
    }}
    ConfirmScreen Keys {{ margin: 1 0 0 0; }}
    ConfirmScreen .told {{ color: $text-muted; height: auto; margin: 1 0 0 0; display: none; }}
    """

    def __init__(self, words: str, clock: Callable[[], float] = event_time) -> None:
        super().__init__()
        self._words = words
        self._attention = Attention(clock)

    def compose(self) -> ComposeResult:
        """The words, and the keys."""
        with Vertical():
            yield Static(classes="words", markup=False)
            yield Keys((Key("y", "yes"), Key("n", "no"), Key("escape", "no", "Esc")))
            yield Static("", classes="told", markup=False)

    def on_resize(self) -> None:
        """Of long words the middle is left out: their end and the keys stay in sight."""
        rows = max(int(self.app.size.height * 0.9) - _AROUND_WORDS, 1)
        columns = min(int(self.app.size.width * 0.96), _CONFIRM_WIDTH) - 6
        size, words = rows * columns, one_line(self._words)
        shown = shortened(words, size)
        while len(list(fitting_pieces(shown, columns, words=True))) > rows and size > columns:
            size -= columns // 4
            shown = shortened(words, size)
        self.query_one(".words", Static).update(Content(shown))

    def on_mount(self) -> None:
        """Keys count from when it can be seen."""
        self.call_after_refresh(self._attention.painted, self._attention.round)

    def on_key(self, event: events.Key) -> None:
        """Every key ends here."""
        event.stop()
        event.prevent_default()
        self._pressed(event.character if event.is_printable else event.key, event.time)

    def on_keys_pressed(self, event: Keys.Pressed) -> None:
        """The same with the mouse."""
        event.stop()
        self._pressed(event.key, event.when)

    def on_paste(self, event: events.Paste) -> None:
        """What is pasted answers nothing."""
        event.stop()
        self._tell("What was pasted answers nothing.")

    def _pressed(self, key: str | None, when: float) -> None:
        if key == "escape":
            self.dismiss(False)
        elif not self._attention.takes(when):
            self._tell("That key came before the question could be read. Nothing was answered.")
        elif key in ("y", "n"):
            self.dismiss(key == "y")
        else:
            self._tell("y is yes, n is no. Nothing was answered.")

    def _tell(self, words: str) -> None:
        told = self.query_one(".told", Static)
        told.update(Content(words))
        told.display = True


class KeysScreen(ModalScreen[None]):
    """The keys of the chat, by where they work."""

    DEFAULT_CSS = """
    KeysScreen { align: center middle; }
    KeysScreen > VerticalScroll {
        width: 82; max-width: 98%; height: auto; max-height: 96%;
        background: $surface; border: round $primary; padding: 0 2; scrollbar-size-vertical: 1;
        border-title-color: $text-primary; border-title-style: bold; border-subtitle-color: $text-muted;
    }
    KeysScreen .where { color: $text-primary; text-style: bold; margin: 1 0 0 0; }
    KeysScreen .where:first-child { margin: 0; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,f1,enter", "dismiss(None)", "Back", priority=True),
        Binding("pagedown,space", "page(1)", show=False, priority=True),
        Binding("pageup", "page(-1)", show=False, priority=True),
    ]

    def compose(self) -> ComposeResult:
        """A list for each place, all in the same columns."""
        width = max(cell_len(row.shown) for rows in KEYS.values() for row in rows)
        with VerticalScroll() as box:
            box.border_title = Content("Keys")
            box.border_subtitle = Content("Esc closes · ↑↓ scroll")
            for where, rows in KEYS.items():
                yield Static(Content(where), classes="where", markup=False)
                for row in rows:
                    shown = (f"  {set_cell_size(row.shown, width)}", "bold $text-accent")
                    yield Static(Content.assemble(shown, f"  {row.words}"), markup=False)

    def on_mount(self) -> None:
        """The arrows scroll it."""
        self.query_one(VerticalScroll).focus()

    def action_page(self, by: int) -> None:
        """A page up or down."""
        box = self.query_one(VerticalScroll)
        box.scroll_page_down(animate=False) if by > 0 else box.scroll_page_up(animate=False)
