"""Screens on top of the conversation: one of several, and yes or no. Nothing in them is taken by default."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from ..chat.desk import Row
from ..cli.visible import one_line

_MOST_ROWS = 300


class PickerScreen(ModalScreen[str | None]):
    """A list that is narrowed by typing. Enter takes the row that is lit, Esc none."""

    DEFAULT_CSS = """
    PickerScreen { align: center middle; }
    PickerScreen > Vertical {
        width: 90; max-width: 95%; height: auto; max-height: 85%;
        background: $surface; border: round $primary; padding: 0 1;
    }
    PickerScreen Input { border: none; height: 1; padding: 0; background: $surface; margin: 0 0 1 0; }
    PickerScreen OptionList { height: auto; max-height: 100%; border: none; background: $surface; padding: 0; }
    PickerScreen .hint { color: $text-muted; height: 1; }
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

    def compose(self) -> ComposeResult:
        """What is typed, the list, and a hint."""
        with Vertical() as box:
            box.border_title = Text(self._title)
            yield Input(placeholder="type to narrow the list")
            yield OptionList(markup=False)
            yield Static("Enter takes it · Esc goes back", classes="hint", markup=False)

    def on_mount(self) -> None:
        """All rows, until something is typed."""
        self._fill("")
        self.query_one(Input).focus()

    @on(Input.Changed)
    def _narrow(self, event: Input.Changed) -> None:
        self._fill(event.value)

    def _fill(self, typed: str) -> None:
        words = typed.lower().split()
        listing = self.query_one(OptionList)
        listing.clear_options()
        group, lit = "", None
        fitting = [row for row in self._rows if all(word in f"{row.name} {row.words}".lower() for word in words)]
        width = min(max((len(row.name) for row in fitting), default=0), 48)
        for row in fitting[:_MOST_ROWS]:
            if row.group != group:
                group = row.group
                listing.add_option(Option(Text(group, "bold dim"), disabled=True))
            mark = "● " if row.value == self._current else "  "
            line = Text.assemble(mark, one_line(row.name).ljust(width), ("  " + one_line(row.words), "dim"))
            line.no_wrap, line.overflow = True, "ellipsis"
            listing.add_option(Option(line, id=row.value))
            if row.value == self._current:
                lit = listing.option_count - 1
        if not fitting:
            listing.add_option(Option(Text("nothing fits", "dim"), disabled=True))
        # With nothing typed, Enter must not take what merely stands first.
        listing.highlighted = (
            lit
            if not words
            else next((at for at in range(listing.option_count) if not listing.get_option_at_index(at).disabled), None)
        )

    def action_move(self, by: int) -> None:
        """Lights another row."""
        listing = self.query_one(OptionList)
        for _ in range(abs(by)):
            listing.action_cursor_down() if by > 0 else listing.action_cursor_up()

    @on(Input.Submitted)
    def _take(self) -> None:
        listing = self.query_one(OptionList)
        if listing.highlighted is not None:
            self.dismiss(listing.get_option_at_index(listing.highlighted).id)

    @on(OptionList.OptionSelected)
    def _clicked(self, event: OptionList.OptionSelected) -> None:
        self.dismiss(event.option.id)

    def action_dismiss_none(self) -> None:
        """Takes none."""
        self.dismiss(None)


class ConfirmScreen(ModalScreen[bool]):
    """A question that only the letter y answers with yes."""

    DEFAULT_CSS = """
    ConfirmScreen { align: center middle; }
    ConfirmScreen > Vertical {
        width: 70; max-width: 95%; height: auto; background: $surface; border: round $warning; padding: 1 2;
    }
    ConfirmScreen .hint { color: $text-muted; margin: 1 0 0 0; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "answer(True)", "Yes", priority=True),
        Binding("n,escape", "answer(False)", "No", priority=True),
    ]

    def __init__(self, words: str) -> None:
        super().__init__()
        self._words = words

    def compose(self) -> ComposeResult:
        """The words, and the keys."""
        with Vertical():
            yield Static(Text(self._words), markup=False)
            yield Static("y yes · n no", classes="hint", markup=False)

    def action_answer(self, yes: bool) -> None:
        """Ends the question."""
        self.dismiss(yes)


class KeysScreen(ModalScreen[None]):
    """The keys of the chat, by where they work."""

    DEFAULT_CSS = """
    KeysScreen { align: center middle; }
    KeysScreen > Vertical {
        width: 78; max-width: 98%; height: auto; max-height: 95%; overflow-y: auto;
        background: $surface; border: round $primary; padding: 0 2;
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q,f1,enter", "dismiss(None)", "Back", priority=True)]

    def compose(self) -> ComposeResult:
        """A list for each place."""
        with Vertical() as box:
            box.border_title = Text("Keys")
            box.border_subtitle = Text("Esc closes")
            for where, keys in KEYS.items():
                yield Static(Text(where, "bold"), markup=False)
                width = max(map(len, keys))
                lines = Text("\n").join(
                    Text.assemble((f"  {key.ljust(width)}", "cyan"), f"  {words}") for key, words in keys.items()
                )
                yield Static(lines, markup=False)


KEYS = {
    "Everywhere": {
        "Esc": "stop the answer, whatever it waits for; back to the prompt",
        "Ctrl-C": "the same; copies what is selected; twice ends the chat",
        "Ctrl-D": "end the chat (when nothing is typed)",
        "Shift-Tab": "the next mode: what runs without a question",
        "F1": "these keys",
        "F2": "what the provider really sends (/wire)",
        "PageUp PageDown": "scroll the conversation",
    },
    "Where you type": {
        "Enter": "send",
        "Ctrl-J, Alt-Enter": "a new line; also a backslash before Enter",
        "Up Down": "what you typed before",
        "Ctrl-R": "search in it",
        "Tab": "complete a /command or an @file",
        "Ctrl-G": "write in $EDITOR",
    },
    "A question of yes or no": {
        "y": "run it, this once",
        "s   a": "and all like it, in this session; always, in this folder",
        "n   d": "do not run it; and say why",
        "e   v": "change the arguments; see all of it",
        "Tab": "the next question that waits",
    },
    "In the conversation (Ctrl-Up goes there)": {
        "Up Down": "another part",
        "Enter": "open or close it",
        "c": "copy it",
    },
}
"""By where they work: the help screen and the documents are made of this."""
