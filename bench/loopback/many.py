"""Ten thousand answers at once in one process: each is held in its middle until all of them are there.

    python -m bench.loopback.many READER PORT COUNT

READER is `toolwire` or `aiohttp`, the same sockets without Toolwire. Prints one line of JSON: how many answers came to
their end, and the memory of the process before the first and in the middle of all.
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import resource
import sys
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path

import aiohttp

from toolwire import Stream
from toolwire.transport import AiohttpTransport, HttpRequest, Timeouts

from .answers import HELD_CALLS, HELD_WIRE, held_halves
from .files import raise_file_limit

STARTING = 200
"""How many ask at once; the kernel's queue of new connections is short."""


def resident() -> int:
    """Bytes of memory that this process has now; at most, where the system does not tell."""
    statm = Path("/proc/self/statm")
    if statm.exists():
        return int(statm.read_text().split()[1]) * os.sysconf("SC_PAGESIZE")
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


class Middle:
    """Where all readers meet: the last to come there starts the measurement, then the answers go on."""

    def __init__(self, count: int) -> None:
        self.missing = count
        self.size, rest = (sum(map(len, half)) for half in held_halves())
        self.whole = self.size + rest
        self.reached = asyncio.Event()

    def here(self) -> None:
        """One more has the first half."""
        self.missing -= 1
        if not self.missing:
            self.reached.set()


async def read_toolwire(transport: AiohttpTransport, url: str, middle: Middle, started: Callable[[], None]) -> bool:
    """One answer with Toolwire, as an agent reads it."""
    request = HttpRequest(url=url, headers={"Content-Type": "application/json"}, body=b'{"stream": true}')
    stream = Stream(HELD_WIRE)
    taken = 0
    async for data in transport.stream(request):
        stream.feed(data)
        taken = _meet(taken, len(data), middle, started)
    stream.close()
    return stream.complete and len(stream.invocations) == HELD_CALLS


async def read_aiohttp(session: aiohttp.ClientSession, url: str, middle: Middle, started: Callable[[], None]) -> bool:
    """The same bytes, thrown away."""
    taken = 0
    async with session.post(url, data=b'{"stream": true}') as response:
        async for data in response.content.iter_any():
            taken = _meet(taken, len(data), middle, started)
    return taken == middle.whole


def _meet(taken: int, more: int, middle: Middle, started: Callable[[], None]) -> int:
    if not taken:
        started()
    if taken < middle.size <= taken + more:
        middle.here()
    return taken + more


async def hold(read: Callable[[str, Middle, Callable[[], None]], Awaitable[bool]], port: int, count: int) -> None:
    """Start all, measure in their middle, let them go on, wait for all."""
    url = f"http://127.0.0.1:{port}/"
    await let_go(url)  # what loads only once is loaded
    gate = asyncio.Semaphore(STARTING)
    middle = Middle(count)
    before = resident()

    async def one() -> bool:
        await gate.acquire()
        return await read(url, middle, gate.release)

    everyone = asyncio.gather(*(one() for _ in range(count)))
    reached = asyncio.ensure_future(middle.reached.wait())
    everyone.add_done_callback(lambda _: reached.cancel())  # one that failed never comes to the middle
    with suppress(asyncio.CancelledError):
        await reached
    gc.collect()
    between = resident()
    await let_go(url)
    ended = await everyone
    print(json.dumps({"complete": sum(ended), "before": before, "between": between}))


async def let_go(url: str) -> None:
    """Tell the server to send the rest to all."""
    async with aiohttp.ClientSession() as session, session.post(f"{url}go") as response:
        await response.read()


async def main() -> None:
    """Read the arguments and hold."""
    reader, port, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    raise_file_limit()
    if reader == "toolwire":
        async with AiohttpTransport(timeouts=Timeouts(connect=120.0)) as transport:
            await hold(lambda url, middle, started: read_toolwire(transport, url, middle, started), port, count)
    else:
        connector = aiohttp.TCPConnector(limit=0)
        async with aiohttp.ClientSession(connector=connector, timeout=aiohttp.ClientTimeout()) as session:
            await hold(lambda url, middle, started: read_aiohttp(session, url, middle, started), port, count)


if __name__ == "__main__":
    asyncio.run(main())
