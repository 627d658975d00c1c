"""`Attention`: whether a key can be meant for what stands on the screen now."""

from __future__ import annotations

from collections.abc import Callable

from textual.message import Message

SETTLE_SECONDS = 0.4
"""How long a question must have been on the screen before a key can be an answer to it."""
ALONE_SECONDS = 0.25
"""How long nothing else must be pressed behind a key that lets something run: who writes a message goes on within that,
and so does a key that is held, once it repeats."""


def event_time() -> float:
    """Now, on the clock that tells when a key was pressed."""
    return Message().time


class Attention:
    """Takes no key that was pressed before the question was painted, or so soon after that nobody can have read it.

    A key that came too early makes the wait begin anew: whoever types a message, or keeps a key pressed, answers
    nothing however long they go on.
    """

    def __init__(self, clock: Callable[[], float] = event_time) -> None:
        self._clock = clock
        self._round = 0
        self._from: float | None = None
        """When keys begin to count; None: what is asked has not been painted yet."""

    @property
    def round(self) -> int:
        """The number of what is asked now, which `painted` is told."""
        return self._round

    def changed(self) -> None:
        """Something else is asked from now on."""
        self._round += 1
        self._from = None

    def painted(self, round: int) -> None:
        """The person can see it now. Of what was asked before, and of what they can see already, it is no news."""
        if round == self._round and self._from is None:
            self._from = self._clock() + SETTLE_SECONDS

    def takes(self, when: float) -> bool:
        """Whether what was pressed at this time counts."""
        if self._from is None:
            return False
        if when < self._from:
            self.begin_anew(when)
            return False
        return True

    def begin_anew(self, when: float) -> None:
        """Whoever pressed something at this time was not answering: keys count only when they have ceased."""
        if self._from is not None:
            self._from = max(self._from, when + SETTLE_SECONDS)
