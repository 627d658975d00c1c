"""Python's collector of garbage, set for a screen: many short pauses that nobody sees, not a few that everyone does."""

from __future__ import annotations

import gc

_YOUNG, _MIDDLE, _OLD = 2_000, 8, 12


def collect_quietly() -> None:
    """What was made until now stays for good and is never looked at again. Call it when the screen is there.

    Without it a full collection goes through all modules, and stops everything for a tenth of a second and more.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(_YOUNG, _MIDDLE, _OLD)
