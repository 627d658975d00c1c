"""`Item`: one thing in the conversation. To be told and to paint are two things, so that deltas are cheap."""

from __future__ import annotations

from typing import Protocol

from ..agent.events import AgentEvent


class Item(Protocol):
    """Every widget of the conversation is one.

    `take` is told each event about it, at once, and only notes what came. `draw` paints what is new since it was last
    called: at most some twenty times a second, so that five hundred deltas a second cost no more than twenty.
    """

    @property
    def live(self) -> bool:
        """Whether something is still to be painted, now or later."""
        ...

    def take(self, event: AgentEvent) -> None:
        """Notes what came. Cheap, whatever came before."""
        ...

    async def draw(self) -> None:
        """Paints what is new."""
        ...

    def plain(self) -> str:
        """All of it as text, for the clipboard."""
        ...
