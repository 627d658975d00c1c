"""`Still`: an item of the conversation to which nothing happens any more."""

from __future__ import annotations

from textual.widget import Widget
from textual.widgets import Static

from ..agent.events import AgentEvent


class Still(Static):
    """Painted once, when it is put there."""

    DEFAULT_CSS = """
    Still { height: auto; width: 1fr; margin: 0 0 1 0; padding: 0 1 0 1; }
    """

    @property
    def live(self) -> bool:
        """Nothing is to be painted later."""
        return False

    def take(self, event: AgentEvent) -> None:
        """Nothing of it is about this item."""

    async def draw(self) -> None:
        """All is painted."""


def read_from_top(item: Widget) -> None:
    """An item was opened: whoever did so reads it from its first line, also where the end was followed before."""
    for parent in item.ancestors:
        if isinstance(parent, Widget) and parent.is_anchored:
            parent.release_anchor()
    item.call_after_refresh(item.scroll_visible, animate=False, top=item.size.height > 3)
