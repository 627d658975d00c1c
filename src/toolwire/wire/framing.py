"""What framers share that work on bytes as they come: the bound on the whole body, and how a fault leaves them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Generic, TypeVar

from ..errors import LimitExceeded, ToolwireError
from ..limits import DEFAULT_LIMITS, Limits

Frame = TypeVar("Frame")


class Framing(ABC, Generic[Frame]):
    """Bytes in, frames out. After a fault nothing more comes; what the same read gave before it is in `before`."""

    def __init__(self, limits: Limits = DEFAULT_LIMITS) -> None:
        self.position = 0
        """Bytes taken so far; after an error, where it happened."""
        self._limits = limits
        self._ended = False
        self._held = bytearray()  # the frame, or line, that has not ended yet
        self._at = 0  # offset of its first byte

    def feed(self, data: bytes | bytearray | memoryview) -> list[Frame]:
        """Take the next bytes, cut anywhere, and give the frames they complete."""
        frames: list[Frame] = []
        if self._ended:
            return frames
        body = data if type(data) is bytes else bytes(data)
        room = self._limits.stream - self.position
        try:
            self._take(body[:room], frames)
            if len(body) > room:
                raise LimitExceeded("stream", self._limits.stream, position=self._limits.stream)
        except ToolwireError as error:
            self._fail(error, frames)
            raise
        self.position += len(body)
        return frames

    @abstractmethod
    def _take(self, data: bytes, frames: list[Frame]) -> None:
        """Append the frames that these bytes complete, and hold the rest."""

    def _fail(self, error: ToolwireError, frames: list[Frame]) -> None:
        self._ended = True
        self._held = bytearray()
        self.position = error.position
        error.before = frames
