"""`Waiting`: stands where an answer will be, and says for how long."""

from __future__ import annotations

import time
from collections.abc import Callable

from textual.content import Content

from ..agent.events import AgentEvent, RunFailed, RunFinished, RunInterrupted
from .still import Still

_TURNS = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"


class Waiting(Still):
    """Gone with the first word of the answer."""

    DEFAULT_CSS = """
    Waiting { padding: 0 1 0 2; color: $foreground 50%; }
    """

    def __init__(self) -> None:
        super().__init__(markup=False)
        self.words = "waiting for the model"
        self._began = time.monotonic()
        self._over = False

    @property
    def live(self) -> bool:
        """Until something else takes its place."""
        return not self._over

    def take(self, event: AgentEvent) -> None:
        """Nothing comes any more where the run has ended."""
        self._over = self._over or isinstance(event, (RunFinished, RunInterrupted, RunFailed))

    async def draw(self) -> None:
        """Time went by."""
        seconds = time.monotonic() - self._began
        mark = _TURNS[int(seconds * 8) % len(_TURNS)]
        self.update(Content(f"{mark} {self.words}{f' · {seconds:.0f} s' if seconds >= 1 else ''}"), layout=False)

    def again(self) -> Callable[[], Waiting]:
        """Nobody wants it back."""
        return Waiting

    def plain(self) -> str:
        """Nothing that anyone wants to copy."""
        return ""
