"""`Painted`: a row of the screen that costs nothing once it is not needed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from textual.strip import Strip


class Painted(Strip):
    """Textual's own rows hold themselves, and wait for Python to look for garbage; this one goes at once."""

    __slots__ = ()

    def divide(self, cuts: Iterable[int]) -> Sequence[Strip]:
        """The row in parts. One that is not cut is itself, and that is not noted in it."""
        cuts = list(cuts)
        return [self] if cuts == [self.cell_length] else super().divide(cuts)
