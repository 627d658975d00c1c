"""One try of one call: the tool's function, where it belongs, until it has ended.

Async functions and generators run on the event loop. All others run in a daemon thread of their own, so that one that
hangs holds up neither the loop nor the end of the program. What a tool gives is made text where the tool runs.
"""

from __future__ import annotations

import asyncio
import inspect
import threading
import time
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import aclosing, suppress
from contextvars import copy_context
from typing import Any, TypeVar

from ..tools.function import is_async
from ..tools.running import CURRENT, RunningCall
from .reporting import Reporter
from .results import Ending, Pieces, failure, written

T = TypeVar("T")

SLICE = 0.01
"""Seconds that a generator on the loop may give pieces without waiting for anything before others have their turn."""


class Work:
    """One try. `run` never raises; `ending` is there when it has ended."""

    def __init__(
        self, call: Callable[[dict[str, Any]], Any], arguments: dict[str, Any], running: RunningCall, reporter: Reporter
    ) -> None:
        self._call = call
        self._arguments = arguments
        self._running = running
        self._reporter = reporter
        self.pieces = Pieces()
        self.ending: Ending | None = None
        self.stopping = False
        """Set by whoever wants it to end; a generator is closed at its next piece."""
        self.deaf = False
        """In a function that runs in a thread: nothing can make it stop."""
        self._thread: threading.Thread | None = None

    @property
    def has_thread(self) -> bool:
        """Whether a thread of it lives."""
        return self._thread is not None and self._thread.is_alive()

    async def run(self) -> None:
        """Runs to the end. Cancelled once, it ends when the tool has; cancelled twice, at once."""
        CURRENT.set(self._running)
        try:
            self.ending = await self._run()
        except asyncio.CancelledError:
            self.ending = Ending("the tool cancelled itself", "error")
        except BaseException as error:
            self.ending = failure(error)

    async def _run(self) -> Ending:
        if is_async(self._call):
            value = self._call(self._arguments)
        else:
            self.deaf = True
            value = await self._in_thread(self._begin)
        if isinstance(value, Ending):
            return value
        if inspect.isawaitable(value):
            value = await value
        if inspect.isasyncgen(value):
            return await self._collect_async(value)
        if inspect.isgenerator(value):
            return await self._in_thread(lambda: self._collect(value))
        if _drop(value):
            return Ending("it returned a coroutine that it did not await", "error")
        return written(value)

    def _begin(self) -> Any:
        """In a thread: what the function gave, or what of it belongs on the loop."""
        try:
            value = self._call(self._arguments)
            if inspect.isgenerator(value):
                return self._collect(value)
            if not (inspect.isawaitable(value) or inspect.isasyncgen(value)):
                return written(value)
            return value
        except BaseException as error:
            return failure(error)
        finally:
            self.deaf = False

    def _collect(self, pieces: Generator[Any, Any, Any]) -> Ending:
        """In a thread: all that a generator gives. Memory is bounded, so it need not wait for those who watch."""
        self.deaf = False
        try:
            while not self.stopping:
                try:
                    piece = next(pieces)
                except StopIteration as end:
                    self._add(end.value)
                    return self._whole()
                self._add(piece)
            pieces.close()
            return self._whole()
        except BaseException as error:
            return failure(error)

    async def _collect_async(self, pieces: AsyncGenerator[Any, Any]) -> Ending:
        turn = time.monotonic()
        async with aclosing(pieces):
            async for piece in pieces:
                self._add(piece)
                if self.stopping:
                    break
                if time.monotonic() - turn > SLICE:
                    await asyncio.sleep(0)
                    turn = time.monotonic()
        return self._whole()

    def _add(self, piece: Any) -> None:
        self._reporter.piece(self.pieces.add(piece))

    def _whole(self) -> Ending:
        self._reporter.piece(self.pieces.close())
        return Ending(self.pieces.text() or written(None).text)

    async def _in_thread(self, function: Callable[[], T]) -> T:
        """What a function that never raises returns."""
        loop = asyncio.get_running_loop()
        ended = asyncio.Event()
        found: list[T] = []

        def body() -> None:
            found.append(function())
            with suppress(RuntimeError):  # the loop may be gone when a tool that was given up comes back at last
                loop.call_soon_threadsafe(ended.set)

        name = f"toolwire-tool {self._running.tool}"
        self._thread = threading.Thread(target=copy_context().run, args=(body,), daemon=True, name=name)
        self._thread.start()
        try:
            await ended.wait()
        except asyncio.CancelledError:
            await ended.wait()
            _drop(found[0])
            raise
        return found[0]


def _drop(value: Any) -> bool:
    """Ends a coroutine that nobody will await, so that Python does not warn of it; whether it was one."""
    if not inspect.iscoroutine(value):
        return False
    value.close()
    return True
