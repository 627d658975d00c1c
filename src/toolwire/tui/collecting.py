"""Python's collector of garbage, set for a screen: many short pauses that nobody sees, not a few that everyone does.

A full collection goes through everything that lives: a tenth of a second and more, each twenty seconds of streaming. So
what outlives one is set aside and not looked at again, until the person waits for nothing.
"""

from __future__ import annotations

import gc
from typing import Any

_YOUNG, _MIDDLE, _OLD = 2_000, 8, 12
_MANY = 8
"""Full collections after which what was set aside is worth a look."""


class _Aside:
    """How often something was set aside since all of it was looked at; None: nothing is set aside at all."""

    times: int | None = None


def collect_quietly() -> None:
    """Sets aside all that was made until now: modules above all. Call it once, when the screen is there."""
    if _Aside.times is None:
        _Aside.times = 0
        gc.callbacks.append(_set_aside)
    gc.set_threshold(_YOUNG, _MIDDLE, _OLD)
    gc.collect()


def collect_all() -> bool:
    """Looks at what was set aside too, where there may be much of it: for a moment in which nothing is waited for."""
    if _Aside.times is None or _Aside.times < _MANY:
        return False
    _Aside.times = 0
    gc.unfreeze()
    gc.collect()
    return True


def _set_aside(phase: str, info: dict[str, Any]) -> None:
    if phase == "stop" and info.get("generation") == 2 and _Aside.times is not None:
        _Aside.times += 1
        gc.freeze()
