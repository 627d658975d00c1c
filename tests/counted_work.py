"""What a stretch of code costs, in calls. Unlike time, the same on every machine, whatever else runs there."""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any


class Work:
    """Counts what Python does in this thread: each call, and each return."""

    def __init__(self) -> None:
        self.count = 0

    def __enter__(self) -> Work:
        sys.setprofile(self._count)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)

    def _count(self, frame: FrameType, event: str, argument: Any) -> None:
        self.count += 1
