"""Proofs about what may run: each function tries a promise `count` times from a seed and gives what it found.

`make test` calls them with small counts, `make figures` with those of the plan.
"""

from __future__ import annotations

import msgspec


class Found(msgspec.Struct):
    """How often a promise was tried, and every time that it did not hold, in words (the first hundred)."""

    runs: int = 0
    faults: list[str] = []
    words: str = ""
    """What else there is to tell, such as a share or a size."""

    def fault(self, words: str) -> None:
        if len(self.faults) < 100:
            self.faults.append(words)
