"""`ShellItem`: a command that the person ran in their own shell, with the newest of its output."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import Static

from ..agent.events import AgentEvent
from ..cli.visible import visible
from .past import Past

if TYPE_CHECKING:
    from ..chat.shell import ShellRun

FOLDED, OPENED = 12, 1_000
"""Lines of output that are shown."""


class ShellItem(Static, can_focus=True):
    """`show` notes that something came. Enter opens more of the output."""

    DEFAULT_CSS = """
    ShellItem { height: auto; width: 1fr; margin: 0 0 1 0; padding: 0 1 0 1; border-left: outer $secondary; }
    ShellItem:focus { border-left: outer $accent; }
    """

    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "open", "Open or close", show=False)]

    def __init__(self, command: str) -> None:
        super().__init__(markup=False)
        self._command = visible(command)
        self._run: ShellRun | None = None
        self._open = False
        self._changed = True
        self._drawn = ""

    @property
    def live(self) -> bool:
        """Whether it runs, or something came since it was painted."""
        return self._changed or self._run is None or self._run.state in ("ready", "running")

    def show(self, run: ShellRun) -> None:
        """Something of this run came, or it has ended."""
        self._run = run
        self._changed = True

    def take(self, event: AgentEvent) -> None:
        """What the model does is no business of it."""

    async def draw(self) -> None:
        """Paints what came, or how long it runs."""
        ending = "" if self._run is None else self._run.ending
        if self._changed or ending != self._drawn:
            self._changed, self._drawn = False, ending
            self.update(self._content(ending))

    def plain(self) -> str:
        """The command and all of its output that was kept."""
        return self._command if self._run is None else f"{self._command}\n{self._run.text}"

    def again(self) -> Callable[[], Past]:
        """Makes an item of the same words later."""
        return partial(Past, f"! {self.plain()}")

    def action_open(self) -> None:
        """Shows more of the output, or less again."""
        self._open = not self._open
        self._changed = True

    def _content(self, ending: str) -> Content:
        parts = [Content.styled("! ", "bold $text-secondary") + Content.styled(self._command, "bold")]
        if self._run is not None:
            lines = OPENED if self._open else FOLDED
            output = self._run.tail(lines + 1).rstrip("\n")
            if output.count("\n") >= lines:
                output = output.split("\n", 1)[1]
                parts.append(
                    Content.styled("… more above" + ("" if self._open else " (Enter opens)"), "$foreground 55%")
                )
            if output:
                parts.append(Content(output.expandtabs(8)))
        parts.append(Content.styled(ending, "$foreground 55%"))
        return Content("\n").join(parts)
