"""A TCP proxy before PostgreSQL that can fall silent: it keeps every connection open, and swallows what comes."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from enum import StrEnum
from pathlib import Path
from typing import Any
from urllib.parse import quote

LEASE = b"toolwire_workers SET beats"
"""Only the connection of a lease says this."""

_GOODBYE = b"X\0\0\0\4"


class Swallows(StrEnum):
    """What a proxy that is silent does not hand on."""

    ALL = "everything"
    ANSWERS = "answers only"
    WORK = "all but the lease"
    NEW = "new connections only"
    OLD = "established connections only"


class Proxy:
    """Before the server whose socket lies in `folder`. Speaks from the start."""

    def __init__(self, folder: Path, host: str) -> None:
        self._socket = str(folder / ".s.PGSQL.5432")
        self._silent: Swallows | None = None
        self._loop = asyncio.new_event_loop()
        self._tasks: set[asyncio.Task[None]] = set()
        self._thread = threading.Thread(target=self._loop.run_forever, name="silent-proxy", daemon=True)
        self._listener = socket.create_server((host, 0))
        self.port: int = self._listener.getsockname()[1]
        self.swallowed = 0
        """Bytes that were not handed on, without goodbyes."""
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self._serve(), self._loop).result(10)

    def url(self, url: str, host: str = "127.0.0.1") -> str:
        """The address of the same database behind this proxy."""
        name = url.partition("@/")[2].partition("?")[0]
        return f"postgresql://postgres@{quote(host)}:{self.port}/{name}"

    def fall_silent(self, swallows: Swallows) -> None:
        """From now on, until it speaks again. What was swallowed is never handed on."""
        self.swallowed = 0
        self._silent = swallows

    def speak(self) -> None:
        """Hands on what comes from now on; connections of which something was swallowed are ended."""
        self._silent = None

    def close(self) -> None:
        """Ends every connection."""

        async def end() -> None:
            self._server.close()
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

        asyncio.run_coroutine_threadsafe(end(), self._loop).result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()

    async def _serve(self) -> None:
        def accepted(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.create_task(_Line(self, reader, writer).carry())
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

        self._server = await asyncio.start_server(accepted, sock=self._listener)


class _Line:
    """One connection."""

    def __init__(self, proxy: Proxy, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._proxy = proxy
        self._reader = reader
        self._writer = writer
        self._is_new = proxy._silent is not None
        self._is_lease = False
        self._has_lost = False

    async def carry(self) -> None:
        there: asyncio.StreamWriter | None = None
        try:
            back, there = await asyncio.open_unix_connection(self._proxy._socket)
            ways = [
                asyncio.create_task(self._way(self._reader, there, is_answer=False)),
                asyncio.create_task(self._way(back, self._writer, is_answer=True)),
            ]
            try:
                await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for way in ways:
                    way.cancel()
                await asyncio.gather(*ways, return_exceptions=True)
        except OSError:
            pass  # the server is away
        finally:
            for writer in (self._writer, there):
                if writer is not None:
                    writer.close()

    async def _way(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, is_answer: bool) -> None:
        with suppress(OSError):
            while data := await reader.read(65536):
                self._is_lease = self._is_lease or LEASE in data
                if self._swallows(is_answer):
                    self._has_lost = True
                    self._proxy.swallowed += len(data) if data != _GOODBYE else 0
                    continue
                if self._has_lost:
                    return
                writer.write(data)
                await writer.drain()

    def _swallows(self, is_answer: bool) -> bool:
        match self._proxy._silent:
            case None:
                return False
            case Swallows.ANSWERS:
                return is_answer
            case Swallows.WORK:
                return not self._is_lease
            case Swallows.NEW:
                return self._is_new
            case Swallows.OLD:
                return not self._is_new
            case _:
                return True


@contextmanager
def silent_proxy(server: Any, host: str = "127.0.0.1") -> Iterator[Proxy]:
    """A proxy before this server, gone afterwards."""
    proxy = Proxy(server.folder, host)
    try:
        yield proxy
    finally:
        proxy.close()
