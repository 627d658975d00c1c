"""Repair, where it is asked for: JSON as models get it wrong becomes JSON, and what was mended is told."""

from __future__ import annotations

from collections.abc import Sequence

from .json_source import read_value
from .scanner import Scanner, Wait


class Repairing:
    """One value of the open call, read leniently. (Being written.)"""

    def __init__(self, scanner: Scanner, ends: Sequence[str] = ()) -> None:
        self._scanner = scanner
        self._ends = ends

    def read(self) -> Wait[bool]:
        """Reads the value and gives its JSON into the open call; False where it cannot be mended."""
        return (yield from read_value(self._scanner))
