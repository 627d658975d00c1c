"""AWS event stream: binary frames with headers, a payload and two checksums, as Bedrock sends them."""

from __future__ import annotations

from typing import Any

from ..limits import DEFAULT_LIMITS, Limits


class EventStreamDecoder:
    """Bytes in, frames out."""

    def __init__(self, limits: Limits = DEFAULT_LIMITS) -> None:
        self.position = 0
        self._limits = limits

    def feed(self, data: bytes) -> list[Any]:
        """The frames that became whole."""
        raise NotImplementedError

    def close(self) -> list[Any]:
        """What the end of the body completes."""
        raise NotImplementedError
