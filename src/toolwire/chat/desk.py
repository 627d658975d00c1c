"""`Desk`: what a slash command may do with the screen in front of it, be that the app or plain lines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol

if TYPE_CHECKING:
    from ..cli.assembly import Person

Panel = Literal["wire", "keys"]
"""What can be opened beside the conversation."""


class Row(NamedTuple):
    """One of several to choose from. `value` is what is chosen, `name` what is read; `words` say more about it."""

    value: str
    name: str
    words: str = ""
    group: str = ""
    """Rows of one group stand together under its name."""


class Desk(Protocol):
    """Whoever shows. All words may hold anything: they are shown as they are, and no markup in them is obeyed."""

    @property
    def run_person(self) -> Person:
        """Whoever is asked what a durable run asks: nothing that they decide is kept on this machine."""
        ...

    def say(self, words: str) -> None:
        """Shows words of ours; Markdown is laid out where the screen can."""
        ...

    def problem(self, words: str, hint: str = "") -> None:
        """Shows what went wrong, and what to do about it."""
        ...

    async def choose(self, title: str, rows: Sequence[Row], *, current: str = "") -> str | None:
        """The value of the row that the person takes; None where they take none."""
        ...

    async def confirm(self, words: str) -> bool:
        """Whether they say yes to this; never by default."""
        ...

    def toggle(self, panel: Panel) -> None:
        """Opens a panel, or closes it."""
        ...

    async def reload(self) -> None:
        """The conversation is another one from now on: shows it from its beginning."""
        ...

    def withdraw(self, turn: int, id: str) -> None:
        """A worker was lost: what the run has told of this call, or of the answer of this turn, comes again."""
        ...

    async def left(self, words: str) -> None:
        """The run that was shown is not shown any more: the person's own conversation is, and these words."""
        ...

    def copy(self, text: str) -> None:
        """Puts text on the person's clipboard, as far as their terminal can."""
        ...

    def leave(self) -> None:
        """Ends the chat."""
        ...
