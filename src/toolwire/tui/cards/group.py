"""`CardGroup`: the calls of one answer, side by side where there is room."""

from __future__ import annotations

from textual.containers import Container
from textual.geometry import NULL_OFFSET, Region, Size, Spacing
from textual.layout import ArrangeResult, Layout, WidgetPlacement
from textual.widget import Widget

from .card import ToolCard

NARROWEST = 50
"""Cells that a card needs to stand beside another."""
_GAP = 1


class SideBySide(Layout):
    """Cards in their order, in rows: as many in each as have room, all of one row equally high.

    A card that is open has a row of its own.
    """

    name = "side-by-side"

    def arrange(self, parent: Widget, children: list[Widget], size: Size, greedy: bool = True) -> ArrangeResult:
        """The place of each card."""
        parent.pre_layout(self)
        placements: list[WidgetPlacement] = []
        y = 0
        for row in rows(children, size.width):
            width = (size.width - _GAP * (len(row) - 1)) // len(row)
            heights = [_height(each, width, size) for each in row]
            for number, card in enumerate(row):
                region = Region(number * (width + _GAP), y, width, max(heights))
                placements.append(WidgetPlacement(region, NULL_OFFSET, Spacing(), card))
            y += max(heights) + _GAP
        return placements


def _height(card: Widget, width: int, size: Size) -> int:
    """The rows of a card. Asked without Textual's box model: one card that grows asks it of all, and twice."""
    gutter = card.gutter
    return card.get_content_height(size, size, width - gutter.width) + gutter.height


class CardGroup(Container):
    """The calls of one answer, in the order of the calls."""

    DEFAULT_CSS = """
    CardGroup { height: auto; width: 1fr; }
    """

    def __init__(self) -> None:
        super().__init__()
        self._side_by_side = SideBySide()

    @property
    def layout(self) -> Layout:
        """How the cards stand; style sheets know no layouts but Textual's own."""
        return self._side_by_side

    def add(self, card: ToolCard) -> None:
        """One more call, behind the others."""
        self.mount(card)

    @property
    def cards(self) -> list[ToolCard]:
        """The cards, in the order of the calls."""
        return [card for card in self.children if isinstance(card, ToolCard)]


def rows(cards: list[Widget], width: int) -> list[list[Widget]]:
    """The cards in rows. The rows are as even as can be: four with room for three are two and two."""
    made: list[list[Widget]] = []
    together: list[Widget] = []
    for card in cards:
        if isinstance(card, ToolCard) and card.is_open:
            made += _even(together, width)
            together = []
            made.append([card])
        else:
            together.append(card)
    return made + _even(together, width)


def _even(cards: list[Widget], width: int) -> list[list[Widget]]:
    if not cards:
        return []
    most = max((width + _GAP) // (NARROWEST + _GAP), 1)
    count = -(-len(cards) // most)
    least, larger = divmod(len(cards), count)
    made = []
    at = 0
    for number in range(count):
        end = at + least + (number < larger)
        made.append(cards[at:end])
        at = end
    return made
