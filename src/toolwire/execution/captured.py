"""The output of a program as bounded text: its start and its end, and how much lay between."""

from __future__ import annotations

import codecs
from collections import deque
from collections.abc import Callable


class Captured:
    """Takes bytes as they come. The text does not depend on how they were cut; bad bytes become U+FFFD.

    Three quarters of the limit are kept of the start and a quarter of the end, so that memory stays the same however
    much comes. `watch` is given all of the text, piece by piece; what it raises is kept in `error`, and it is not
    called again.
    """

    def __init__(self, limit: int, watch: Callable[[str], object] | None = None) -> None:
        self.error: Exception | None = None
        self._watch = watch
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._total = 0
        self._head: list[str] = []
        self._head_room = limit * 3 // 4
        self._tail: deque[str] = deque()
        self._tail_room = limit - self._head_room
        self._tail_held = 0

    def feed(self, data: bytes) -> None:
        """More bytes; none at all means the end."""
        text = self._decoder.decode(data, final=not data)
        if not text:
            return
        self._keep(text)
        if self._watch is not None and self.error is None:
            try:
                self._watch(text)
            except Exception as error:
                self.error = error

    @property
    def cut(self) -> int:
        """How many characters are left out of `text`."""
        return max(0, self._total - sum(map(len, self._head)) - self._tail_room)

    @property
    def text(self) -> str:
        """What is kept, with a line in the place of what is not."""
        tail = "".join(self._tail)
        cut = self.cut
        if cut:
            tail = f"\n[… {cut:,} characters cut …]\n{tail[len(tail) - self._tail_room :]}"
        return "".join(self._head) + tail

    def _keep(self, text: str) -> None:
        self._total += len(text)
        if self._head_room:
            head, text = text[: self._head_room], text[self._head_room :]
            self._head.append(head)
            self._head_room -= len(head)
        self._tail.append(text)
        self._tail_held += len(text)
        while self._tail_held - len(self._tail[0]) >= self._tail_room:
            self._tail_held -= len(self._tail.popleft())
