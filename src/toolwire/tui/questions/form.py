"""A form of an MCP server: all of its fields, checked in place, and sent only after all of it was seen once more.

Every word of it but the prompts is the server's own: it stands marked behind a bar and passes for nothing of ours.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.widget import Widget
from textual.widgets import Input

from ...approval.hidden import marked
from ...approval.shown import show_arguments, whole_text
from ...cli.forms import NAME_CHARACTERS, is_one_word, read_value
from ...mcp.form import TEXT_CHARACTERS, Field
from .call_rows import argument_rows, quoted_text
from .keys import Key
from .pane import Pane, Stage
from .person import WaitingForm
from .rows import Piece, Row, Rows, quoted, said

_ASKS = {
    "text": "text",
    "integer": "a whole number",
    "number": "a number",
    "yes or no": "y or n",
    "one of": "a number of the list",
    "some of": "numbers of the list, with commas",
}


class FormQuestion(Widget):
    """The form, until it is sent or declined: first filled in, then looked at."""

    DEFAULT_CSS = "FormQuestion { height: auto; width: 100%; layout: vertical; }"

    def __init__(self, stage: Stage, waiting: WaitingForm, answered: Callable[[], None]) -> None:
        super().__init__()
        self.stage = stage
        self.waiting = waiting
        self.typed: dict[str, str] = {}
        """What was typed for each field, for who comes back to it."""
        self._answered = answered
        self.pane: Pane = FormPane(self)

    def compose(self) -> ComposeResult:
        """The fields first."""
        yield self.pane

    def settle(self, content: dict[str, Any] | None) -> None:
        """What the server gets; None: nothing."""
        self.waiting.settle(content)
        self._answered()

    def become(self, pane: Pane) -> None:
        """Shows another pane instead."""
        pane.replace(self.pane)
        self.pane = pane
        self.mount(pane)


class FieldBox(Widget):
    """One field: what is asked for, what was wrong, and where it is typed."""

    DEFAULT_CSS = """
    FieldBox { height: auto; width: 100%; layout: vertical; margin-bottom: 1; }
    FieldBox Input { width: 100%; margin: 0 1; background: $boost; }
    """

    def __init__(self, field: Field, number: str, typed: str) -> None:
        super().__init__()
        self.asked = field
        self.input = Input(typed, placeholder=self._placeholder(field), max_length=TEXT_CHARACTERS, compact=True)
        self._number = number
        self._problem = ""
        self._quote = ""
        self._checked = ""
        """What was typed when it was found wrong."""
        self._rows = Rows(self._made_rows, grows=True)
        self._choice_at: dict[int, int] = {}

    def compose(self) -> ComposeResult:
        """Above what is typed stands what it is for."""
        yield self._rows
        yield self.input

    def value(self) -> Any:
        """What was typed, checked; None where it is left out. `ValueError`: it does not do, and that is said here."""
        typed = self._checked = self.input.value
        self._problem = self._quote = ""
        try:
            value = self._read(typed)
        except ValueError as problem:
            self._problem = str(problem)
            raise
        finally:
            self._rows.remake()
        return value

    def _read(self, typed: str) -> Any:
        if not typed.strip():
            if self.asked.default is not None:
                return self.asked.default
            if self.asked.required:
                raise ValueError("This one is required.")
            return None
        try:
            value = read_value(self.asked, typed)
        except ValueError as problem:
            raise ValueError(f"That does not do: {problem}.") from None
        found = self.asked.problem(value)
        if found is not None:
            self._quote = found
            raise ValueError("That does not do: the form does not take it.")
        return value

    def _made_rows(self, width: int) -> list[Row]:
        field = self.asked
        what = field.kind if not field.format else f"{field.kind}: {field.format}"
        need = "required" if field.required else "may be left out"
        # A name of several words could go on as a sentence of ours in the next row.
        is_short = len(field.name) <= NAME_CHARACTERS and is_one_word(field.name)
        rows = list(said(f"{self._number}{f': {field.name}' if is_short else ''} ({what}, {need})", width, "strong"))
        for words in ("" if is_short else field.name or '""', field.title, field.description):
            rows += quoted_text(words, width) if words else ()
        if field.looks_secret:
            words = "this looks like a password or a key. The server gets it as you type it, and it is shown here."
            rows += said(f"Look out: {words}", width, "danger")
        chosen = self._chosen()
        self._choice_at.clear()
        for at, choice in enumerate(field.choices):
            named = "" if choice.words == choice.value else f" ({marked(choice.words)})"
            mark = "[x] " if choice.value in chosen else "[ ] "
            lines = list(
                quoted((Piece(f"{mark}{at + 1}. ", "keyword"), Piece(f"{marked(choice.value)}{named}")), width)
            )
            self._choice_at.update(dict.fromkeys(range(len(rows), len(rows) + len(lines)), at))
            rows += lines
        if field.default is not None:
            rows += argument_rows(show_arguments({"already there": field.default}).text, width)
        if self._problem:
            rows += said(self._problem, width, "danger")
            rows += quoted_text(self._quote, width) if self._quote else ()
        return rows

    def _chosen(self) -> list[str]:
        """The choices that what is typed stands for, as far as it can be read."""
        if not self.asked.choices:
            return []
        try:
            value = read_value(self.asked, self.input.value)
        except ValueError:
            return []
        return value if isinstance(value, list) else [value]

    def on_input_changed(self) -> None:
        """Marks what is chosen; what was wrong may be right now."""
        if self.input.value != self._checked:
            self._problem = self._quote = ""
        if self.is_mounted and (self.asked.choices or self._checked):
            self._rows.remake()

    def on_rows_pressed(self, event: Rows.Pressed) -> None:
        """A click on a choice is its number, and one more takes it out."""
        event.stop()
        at = self._choice_at.get(event.row)
        self.input.focus()
        if at is None:
            return
        number = str(at + 1)
        if self.asked.kind == "one of":
            self.input.value = number
            return
        typed = [each.strip() for each in self.input.value.split(",") if each.strip()]
        self.input.value = ", ".join(
            [each for each in typed if each != number] if number in typed else [*typed, number]
        )

    @staticmethod
    def _placeholder(field: Field) -> str:
        left = "nothing: what is already there" if field.default is not None else "nothing: it is left out"
        return _ASKS[field.kind] if field.required and field.default is None else f"{_ASKS[field.kind]} ({left})"


class FormPane(Pane):
    """The fields. Enter goes to the next one, and from the last to a look at all of it."""

    DEFAULT_CSS = "FormPane VerticalScroll { height: 5; scrollbar-size-vertical: 1; background: transparent; }"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+s", "press('ctrl+s')", show=False, priority=True),
        Binding("ctrl+n", "press('ctrl+n')", show=False, priority=True),
    ]

    def __init__(self, question: FormQuestion) -> None:
        fields = question.waiting.form.fields
        self.boxes = [
            FieldBox(field, f"{number} of {len(fields)}", question.typed.get(field.name, ""))
            for number, field in enumerate(fields, 1)
        ]
        self._says = Rows(lambda width: list(quoted_text(question.waiting.message, width)), grows=True)
        super().__init__(question.stage, VerticalScroll(self._says, *self.boxes, can_focus=False))
        self._question = question

    def head(self) -> str:
        """Who wants it."""
        count = f"{len(self.boxes)} field{'' if len(self.boxes) == 1 else 's'}"
        return f"The MCP server {marked(self._question.waiting.server)[:60]} asks you to fill in a form ({count})"

    def note(self) -> str:
        """How to leave out, and how to send an empty text."""
        return 'Enter: the next field. "" is an empty text. You see it once more.'

    def known_keys(self) -> Sequence[Key]:
        """On, or nothing."""
        return [Key("ctrl+s", "look at all of it", "^S"), Key("ctrl+n", "send nothing", "^N")]

    def answers_to(self) -> Widget:
        """The first field."""
        return self.boxes[0].input if self.boxes else self

    def wanted(self) -> int:
        """All fields, if there is room."""
        return max(self.middle.virtual_size.height, 3 * len(self.boxes) + 2)

    def on_mount(self) -> None:
        """What fields need is known only when they have their width. (Textual also calls that of `Pane`.)"""
        self.watch(self.middle, "virtual_size", self._fit_later, init=False)

    def _fit_later(self) -> None:
        self.call_later(self.fit)

    async def action_press(self, key: str) -> None:
        """Keys of this pane, before a field gets them."""
        await self.press(key)

    async def on_key(self, event: events.Key) -> None:
        """Goes through the fields."""
        steps = {"tab": 1, "enter": 1, "shift+tab": -1}
        if event.key not in steps:
            return
        event.stop()
        event.prevent_default()
        at = next((at for at, box in enumerate(self.boxes) if box.input.has_focus), 0) + steps[event.key]
        if at >= len(self.boxes) and event.key == "enter":
            await self.press("ctrl+s")
        elif self.boxes:
            self.boxes[at % len(self.boxes)].input.focus()

    async def press(self, key: str) -> None:
        """Checks all fields, or declines."""
        if key == "ctrl+n":
            self._question.settle(None)
            return
        content: dict[str, Any] = {}
        wrong: list[FieldBox] = []
        for box in self.boxes:
            self._question.typed[box.asked.name] = box.input.value
            try:
                value = box.value()
            except ValueError:
                wrong.append(box)
                continue
            if value is not None:
                content[box.asked.name] = value
        if wrong:
            wrong[0].input.focus()
            self.tell(f"{len(wrong)} of the fields cannot be sent as they are." if len(wrong) > 1 else _ONE_WRONG)
            return
        self._question.become(ReviewPane(self._question, content))


class ReviewPane(Pane):
    """Everything that would be sent, and the question whether it may."""

    def __init__(self, question: FormQuestion, content: dict[str, Any]) -> None:
        super().__init__(question.stage)
        self._question = question
        self._content = content

    def head(self) -> str:
        """To whom."""
        return f"This would be sent to the MCP server {marked(self._question.waiting.server)[:60]}:"

    async def rows(self, width: int) -> list[Row]:
        """All of it."""
        return list(argument_rows(whole_text(self._content), width))

    def known_keys(self) -> Sequence[Key]:
        """Send, not, or back."""
        return [Key("y", "send it"), Key("n", "send nothing"), Key("escape", "back to the fields", "Esc")]

    def is_yes(self, key: str) -> bool:
        """What is sent is gone."""
        return key == "y"

    async def press(self, key: str) -> None:
        """An answer, or back."""
        match key:
            case "y":
                self._question.settle(self._content)
            case "n":
                self._question.settle(None)
            case "escape":
                self._question.become(FormPane(self._question))
            case _:
                self.tell("y sends it, n sends nothing. Esc goes back to the fields.")


_ONE_WRONG = "One of the fields cannot be sent as it is."
