"""The output of a program as bounded text: its start and its end, and how much lay between."""

from __future__ import annotations

from collections.abc import Callable

from .results import Pieces


class Captured:
    """Takes bytes as they come. The text does not depend on how they were cut; bad bytes become U+FFFD.

    `watch` is given all of the text, piece by piece; what it raises is kept in `error`, and it is not called again.
    """

    def __init__(self, limit: int, watch: Callable[[str], object] | None = None) -> None:
        self.error: Exception | None = None
        self._watch = watch
        self._pieces = Pieces(limit)

    def feed(self, data: bytes) -> None:
        """More bytes; none at all means the end."""
        text = self._pieces.add(data) if data else self._pieces.close()
        if text and self._watch is not None and self.error is None:
            try:
                self._watch(text)
            except Exception as error:
                self.error = error

    @property
    def cut(self) -> int:
        """How many characters are left out of `text`."""
        return self._pieces.cut

    @property
    def text(self) -> str:
        """What is kept, with a line in the place of what is not."""
        return self._pieces.text()
