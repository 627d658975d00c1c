"""A question of the model's: its words behind bars, the answers it proposes, and room for other ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from textual.app import ComposeResult
from textual.widget import Widget
from textual.widgets import Input

from ...approval.hidden import marked
from .call_rows import quoted_text
from .keys import Key
from .pane import TOO_EARLY, Pane, Stage
from .person import WaitingQuestion
from .rows import Piece, Row, Rows, quoted

ANSWER_CHARACTERS = 20_000
"""A page that was pasted, and no book."""


class ModelQuestion(Widget):
    """What the model wants to know, until it is answered."""

    DEFAULT_CSS = "ModelQuestion { height: auto; width: 100%; layout: vertical; }"

    def __init__(self, stage: Stage, waiting: WaitingQuestion, answered: Callable[[], None]) -> None:
        super().__init__()
        self.waiting = waiting
        self.pane: Pane = ModelPane(stage, waiting, answered)

    def compose(self) -> ComposeResult:
        """One pane, from first to last."""
        yield self.pane


class ModelPane(Pane):
    """Takes words, or the number of an option. Sends nothing that is empty."""

    def __init__(self, stage: Stage, waiting: WaitingQuestion, answered: Callable[[], None]) -> None:
        words = "a number, or other words" if waiting.options else "your answer"
        super().__init__(stage, field=Input(placeholder=words, max_length=ANSWER_CHARACTERS, compact=True))
        self._waiting = waiting
        self._answered = answered
        self._option_at: dict[int, int] = {}
        """Which option a row belongs to."""

    def head(self) -> str:
        """Who asks."""
        return "The model asks you"

    async def rows(self, width: int) -> list[Row]:
        """The question, then the options with their numbers."""
        rows = list(quoted_text(self._waiting.question, width))
        self._option_at.clear()
        for number, option in enumerate(self._waiting.options, 1):
            lines = list(quoted((Piece(f"{number}. ", "keyword"), Piece(marked(option))), width))
            self._option_at.update(dict.fromkeys(range(len(rows), len(rows) + len(lines)), number - 1))
            rows += lines
        return rows

    def note(self) -> str:
        """What would be sent."""
        assert self.field is not None
        option = self._option(self.field.value.strip())
        if option is not None:
            return f"That is: {marked(option)[:200]}"
        return "Type a number or other words, or click an answer." if self._waiting.options else ""

    def known_keys(self) -> Sequence[Key]:
        """One."""
        return [Key("enter", "send", "Enter")]

    async def press(self, key: str) -> None:
        """Sends what is there, if there is something."""
        assert self.field is not None
        words = self.field.value.strip()
        if key != "enter" or not words:
            self.tell("Nothing was answered yet.")
            return
        option = self._option(words)
        self._send(words if option is None else option)

    async def on_input_changed(self) -> None:
        """Shows which option a number is."""
        self.tell("")

    async def on_rows_pressed(self, event: Rows.Pressed) -> None:
        """A click on an option is its answer."""
        event.stop()
        at = self._option_at.get(event.row) if event.rows is self.middle else None
        if at is None:
            return
        if self.stage.attention.takes(event.when):
            self._send(self._waiting.options[at])
        else:
            self.tell(TOO_EARLY)

    def _option(self, words: str) -> str | None:
        numbered = dict(zip(map(str, range(1, len(self._waiting.options) + 1)), self._waiting.options, strict=True))
        return numbered.get(words)

    def _send(self, answer: str) -> None:
        self._waiting.settle(answer)
        self._answered()
