"""Ends what an async generator waits for, from outside and at any moment, without harm to whoever reads it.

A run waits in the task of its reader: for the network, a person, a tool. To interrupt it is to cancel that one wait
and nothing else. While the reader does something of its own, nothing of it is cancelled: the run ends when it is asked
for its next event.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import TypeVar

_T = TypeVar("_T")


class Interruption:
    """Of one run. `asked` says whether it was interrupted, `late` whether that was because its time was over."""

    def __init__(self) -> None:
        self.asked = self.late = False
        self._waiting: asyncio.Task[object] | None = None
        self._cancelled: asyncio.Task[object] | None = None
        self._others = 0
        """Cancellations of the waiting task that were there before the wait: a run may be a cancelled task's last."""

    def ask(self, *, late: bool = False) -> None:
        """Ends the run. To be called on its event loop; more than once is as once."""
        if self.asked:
            return
        self.asked, self.late = True, late
        if self._waiting is not None:
            self._cancelled = self._waiting
            self._waiting.cancel()

    async def until_asked(self, events: AsyncGenerator[_T, None]) -> AsyncGenerator[_T, None]:
        """The events, until they end or this is asked. They have come to their end, tidied up, when it returns."""
        async with aclosing(events):
            while not self.asked:
                self._waiting = task = asyncio.current_task()
                self._others = task.cancelling() if task is not None else 0
                try:
                    event = await anext(events)
                except StopAsyncIteration:
                    break
                except asyncio.CancelledError:
                    self._waiting = None
                    if not self._take_back():
                        raise
                    break
                finally:
                    self._waiting = None
                await self._let_go()
                yield event
        await self._let_go()

    async def _let_go(self) -> None:
        """A cancellation that came too late for the wait that it was meant for must not reach the reader's own."""
        if self._cancelled is None:
            return
        try:
            await asyncio.sleep(0)
        except asyncio.CancelledError:
            if not self._take_back():
                raise
        else:
            self._take_back()

    def _take_back(self) -> bool:
        """Whether a cancellation was this one's, and no other came with it."""
        task, self._cancelled = self._cancelled, None
        return task is not None and task.uncancel() <= self._others
