"""Our ends of the pipes of a program that stays connected, for one task that reads and one that writes.

Nothing is read that nobody asked for, and a write waits until the program takes it: neither side can fill memory. The
loop watches the pipes; on Windows, where it cannot, threads wait in its place.
"""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

LATE_SECONDS = 0.2
"""How long a thread still waits for output when the program is gone: only a stranger can hold the pipe then."""

_READ_BYTES = 1 << 16
_THREADS = sys.platform == "win32"


class _End:
    """One descriptor, and whoever waits for it to be ready."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._threads = _THREADS
        self._loop = asyncio.get_running_loop()
        self._waiter: asyncio.Future[Any] | None = None
        self._busy = False
        self._closed = False
        if not self._threads:
            os.set_blocking(descriptor, False)

    def close(self) -> None:
        """Closes it; who waits for it is woken. More than once does no harm."""
        if self._closed:
            return
        self._closed = True
        self._take_over()
        if not self._busy:
            # Else the thread that is in it does so when it comes out: the number must not be another's before.
            os.close(self._descriptor)

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def _take_over(self) -> None:
        """Wakes who waits; what the loop watches is no longer theirs."""
        self._wake()
        self._waiter = None
        if not self._threads:
            self._loop.remove_reader(self._descriptor)
            self._loop.remove_writer(self._descriptor)

    async def _ready(self, watch: Callable[..., Any], forget: Callable[[int], Any]) -> None:
        waiter = self._waiter = self._loop.create_future()
        watch(self._descriptor, self._wake)
        try:
            await waiter
        finally:
            if self._waiter is waiter:
                self._waiter = None
                forget(self._descriptor)

    async def _in_thread(self, call: Callable[[], Any]) -> Any:
        """What the call gives or raises; None if it was woken before."""
        waiter = self._waiter = self._loop.create_future()
        self._run(call, lambda value: None if waiter.done() else waiter.set_result(value))
        value = await waiter
        if isinstance(value, OSError):
            raise value
        return value

    def _run(self, call: Callable[[], Any], then: Callable[[Any], None]) -> None:
        self._busy = True

        def done(value: Any) -> None:
            self._busy = False
            if self._closed:
                os.close(self._descriptor)
            then(value)

        def run() -> None:
            try:
                value = call()
            except OSError as error:
                value = error
            try:
                self._loop.call_soon_threadsafe(done, value)
            except RuntimeError:  # the loop is closed, and nobody waits
                self._busy = False
                if self._closed:
                    os.close(self._descriptor)

        threading.Thread(target=run, daemon=True, name="toolwire-pipe").start()


class ReadEnd(_End):
    """What the program writes."""

    def __init__(self, descriptor: int) -> None:
        super().__init__(descriptor)
        self._last = False
        self._dropping = False

    async def read(self) -> bytes:
        """The next bytes; none at the end. Others on the loop have their turn before each, however much comes."""
        await asyncio.sleep(0)
        while not self._closed and not self._dropping:
            if self._threads:
                if self._last:
                    self._loop.call_later(LATE_SECONDS, self._wake)
                return bytes(await self._in_thread(self._next) or b"")
            try:
                return self._next()
            except (BlockingIOError, InterruptedError):
                if self._last:
                    break
                await self._ready(self._loop.add_reader, self._loop.remove_reader)
        return b""

    def end(self) -> None:
        """Nobody writes any more: what is in the pipe is the last, whoever else may hold it open."""
        self._last = True
        if self._threads:
            self._loop.call_later(LATE_SECONDS, self._wake)
        else:
            self._wake()

    def drop(self) -> None:
        """From now on what comes is thrown away, so that the program can write what it still has to."""
        if self._dropping or self._closed:
            return
        self._dropping = True
        self._take_over()
        if not self._threads:
            self._loop.add_reader(self._descriptor, self._drop)
        else:
            output = os.dup(self._descriptor)
            threading.Thread(target=_drop_all, args=(output,), daemon=True, name="toolwire-pipe").start()

    def _next(self) -> bytes:
        return os.read(self._descriptor, _READ_BYTES)

    def _drop(self) -> None:
        try:
            if not self._next():
                self._loop.remove_reader(self._descriptor)
        except (BlockingIOError, InterruptedError):
            return


class WriteEnd(_End):
    """What the program reads."""

    async def write(self, data: bytes) -> None:
        """All of it; `BrokenPipeError` when the program takes no more."""
        rest = memoryview(data)
        while rest and not self._closed:
            if self._threads:
                rest = rest[await self._in_thread(partial(os.write, self._descriptor, rest[:_READ_BYTES])) or 0 :]
                continue
            try:
                rest = rest[os.write(self._descriptor, rest) :]
            except (BlockingIOError, InterruptedError):
                await self._ready(self._loop.add_writer, self._loop.remove_writer)
        if rest:
            raise BrokenPipeError("the pipe is closed")


def _drop_all(descriptor: int) -> None:
    """In a thread, on a number of its own: the other may be closed meanwhile."""
    with suppress(OSError), open(descriptor, "rb", buffering=0) as output:
        while output.read(_READ_BYTES):
            pass
