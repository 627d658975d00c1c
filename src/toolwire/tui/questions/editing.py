"""The arguments of a call in the person's hands: a command or a long text by itself, or all of them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from textual.binding import Binding, BindingType
from textual.widgets import TextArea

from ...approval.hidden import marked, unmarked
from ...approval.shown import read_arguments, whole_text
from ...cli.visible import one_line
from ...strict_json import NotStrict, parse_arguments
from ...tools.forms import form_of
from .call_rows import long_text
from .keys import Key
from .pane import Pane

if TYPE_CHECKING:
    from .approval import CallQuestion

EDITED_CHARACTERS = 50_000
"""More is for an editor."""


WRAPPED_CHARACTERS = 5_000
"""Lines of a longer text are not broken: that would hold up the screen."""


def is_same(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Whether they are the same arguments, and not only equal ones: `1`, `1.0` and `true` are three."""
    return json.dumps(one) == json.dumps(other)


class EditPane(Pane):
    """Changes arguments. What is hidden in them stands there as a mark, and goes back to what it was.

    What is made of them is not run: it is asked about anew.
    """

    DEFAULT_CSS = """
    EditPane TextArea { border: none; padding: 0 1; background: $boost; }
    EditPane TextArea:focus { border: none; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "press('escape')", show=False, priority=True),
        Binding("ctrl+s", "press('ctrl+s')", show=False, priority=True),
        Binding("ctrl+o", "press('ctrl+o')", show=False, priority=True),
    ]

    def __init__(self, question: CallQuestion) -> None:
        self.area = TextArea(soft_wrap=True, tab_behavior="indent", compact=True, show_line_numbers=False)
        super().__init__(question.stage, self.area)
        self._question = question
        self._tool = question.request.invocation.tool_name
        self._arguments = question.arguments
        """What the other arguments are, while one is changed by itself."""
        self._wrong = ""
        """A text that could not be used."""
        if question.unfinished is None:
            self._one = long_text(self._tool, self._arguments)
            self._put(self._text())
        else:
            self._one, text = question.unfinished
            self._put(text)

    def head(self) -> str:
        """What is being changed."""
        what = f"{marked(self._one)[:60]} of" if self._one else "the arguments of"
        return f"Change {what} {marked(self._tool)[:60]}"

    def note(self) -> str:
        """How it is written."""
        if self._one:
            return "Hidden characters stand as ‹TAB›, ‹U+200B›. You are asked once more."
        return 'name: value, longer texts behind "| "; or JSON. You are asked once more.'

    def known_keys(self) -> Sequence[Key]:
        """Use it, leave it, or another part of it."""
        keys = [Key("ctrl+s", "use it", "^S"), Key("escape", "back", "Esc")]
        if long_text(self._tool, self._arguments):
            keys.append(Key("ctrl+o", "all arguments" if self._one else "only the text", "^O"))
        return keys

    def answers_to(self) -> TextArea:
        """The text."""
        return self.area

    def wanted(self) -> int:
        """As many rows as the text has, and one to write on."""
        return max(self.area.wrapped_document.height + 1, 5)

    async def action_press(self, key: str) -> None:
        """Keys of this pane, before the text gets them."""
        await self.press(key)

    async def press(self, key: str) -> None:
        """Takes what is there, goes back, or shows another part."""
        if key == "escape":
            text = self.area.text
            self._question.unfinished = None if text == self._text() else (self._one, text)
            left = "What you wrote is kept: e goes on with it." if self._question.unfinished else ""
            self._question.ask(left)
            return
        if key not in ("ctrl+s", "ctrl+o"):
            return
        self._wrong = ""
        try:
            made = self._read()
        except NotStrict as problem:
            self._wrong = self.area.text
            self.tell(f"That cannot be used: {one_line(str(problem))}", "danger")
            return
        if key == "ctrl+s":
            self._question.change(made)
        else:
            self._arguments = made
            self._one = "" if self._one else long_text(self._tool, made)
            self._put(self._text())
            self.tell("")

    async def on_text_area_changed(self) -> None:
        """What was wrong may be right now."""
        if self.area.text != self._wrong:
            self.tell("")

    def _text(self) -> str:
        if not self._one:
            return whole_text(self._arguments)
        return "\n".join(map(marked, self._arguments[self._one].split("\n")))

    def _read(self) -> dict[str, Any]:
        text = self.area.text
        if self._one:
            return {**self._arguments, self._one: unmarked(text)}
        return parse_arguments(text) if text.lstrip().startswith("{") else read_arguments(text)

    def _put(self, text: str) -> None:
        is_command = bool(self._one) and form_of(self._tool).segment == "run_bash"
        self.area.language = "bash" if is_command and "bash" in self.area.available_languages else None
        self.area.soft_wrap = len(text) <= WRAPPED_CHARACTERS
        self.area.load_text(text)
