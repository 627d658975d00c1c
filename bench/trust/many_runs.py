"""G4, G5: many runs in one process, and a reader that takes its time.

python -m bench.trust.many_runs serve COUNT      a server for so many in a process of its own; prints its port
python -m bench.trust.many_runs runs COUNT PORT  the runs, in a fresh process whose memory is theirs
python -m bench.trust.many_runs slow SECONDS PORT
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import aclosing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from bench.payloads import ROOT

from . import Found

DELTAS = 6
"""Of each answer."""
DELTAS_A_SECOND = 1_000
"""Of all runs together: as many as leave one processor time to spare."""
ROUNDS = 3
GROWTH = 5 * 2**20
"""Bytes that a process may have grown from the second round to the last: what is kept of each run would be more."""
FLOOD = 96 * 2**20
"""Bytes of the answer to the reader that takes its time: more than the kernel's own buffers hold."""
SLACK = 2**20
"""Bytes that lie between a server and its reader besides those."""
FLAT = 5 * 2**20
"""Bytes by which memory may grow while nobody reads."""


def _pause(count: int) -> float:
    """Seconds between two deltas of one answer."""
    return max(0.02, count / DELTAS_A_SECOND)


def many_runs(count: int, seed: int) -> Found:
    """`count` runs at a time, several rounds of them: slow answers, a call of a real tool in the middle of each run.

    The plan's count is 1,000; that takes a good minute.
    """
    with _server(count) as port:
        told = _child("runs", str(count), str(port))
    found = Found(runs=told["finished"])
    if told["finished"] != count * ROUNDS:
        found.fault(f"{told['finished']} of {count * ROUNDS} runs came to their end: {told['wrong']}")
    if told["most"] != count:
        found.fault(f"only {told['most']} of {count} runs were open at a time")
    if told["grown"] > GROWTH:
        found.fault(f"grown by {told['grown'] / 2**20:.1f} MiB from round to round")
    for what in ("descriptors", "tasks"):
        if told[what]:
            found.fault(f"{told[what]} {what} are left")
    found.words = (
        f"{count:,} open at a time, {told['each'] / 1024:.0f} KiB a run; a delta arrives after "
        f"{told['median'] * 1000:.1f} ms (median), {told['p99'] * 1000:.0f} ms (99 %), "
        f"where Python's garbage collector alone halts all for up to {told['halt'] * 1000:.0f} ms; "
        f"grown by {told['grown'] / 2**20:.1f} MiB in the last of {ROUNDS} rounds"
    )
    return found


def slow_reader(count: int, seed: int) -> Found:
    """A reader that takes an event a second for `count` seconds, while its server sends as fast as it can.

    The plan's count is 10.
    """
    seconds = max(2, count)
    with _server(1) as port:
        told = _child("slow", str(seconds), str(port))
    found = Found(runs=1)
    if told["grown"] > FLAT:
        found.fault(f"grown by {told['grown'] / 2**20:.1f} MiB while nobody read")
    if told["sent"] > told["taken"] + _kernel_buffers() + SLACK:
        found.fault(f"{told['sent']:,} bytes were sent while {told['taken']:,} were read")
    if told["characters"] != told["expected"]:
        found.fault(f"{told['characters']:,} of {told['expected']:,} characters came")
    found.words = (
        f"{seconds} s: memory {told['grown'] / 2**20:+.1f} MiB; the server could send "
        f"{told['sent'] / 2**20:.1f} of {FLOOD // 2**20} MiB and then had to wait; read on, all of it came"
    )
    return found


def _kernel_buffers() -> int:
    """Bytes that the kernel itself may hold between two sockets; it gives them more the longer they are used."""
    limits = (Path(f"/proc/sys/net/ipv4/tcp_{name}mem").read_text().split()[-1] for name in "rw")
    return sum(map(int, limits))


@contextmanager
def _server(count: int) -> Iterator[int]:
    command = [sys.executable, "-m", "bench.trust.many_runs", "serve", str(count)]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            yield int(process.stdout.readline())
        finally:
            process.stdin.close()  # which is how it knows


def _child(*arguments: str) -> dict[str, Any]:
    command = [sys.executable, "-m", "bench.trust.many_runs", *arguments]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, check=True, timeout=600)
    told: dict[str, Any] = json.loads(done.stdout)
    return told


# The server


class _Peer:
    """Speaks HTTP as far as it must: chat completions, an answer with a call and one after its result."""

    def __init__(self, pause: float) -> None:
        self._pause = pause
        self.sent = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                length = next(
                    int(line.partition(b":")[2])
                    for line in head.split(b"\r\n")
                    if line.lower().startswith(b"content-length")
                )
                await self._answer(head, await reader.readexactly(length), writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    async def _answer(self, head: bytes, request: bytes, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
        if b"/sent/" in head.partition(b"\r\n")[0]:
            await self._chunk(writer, _event(content=str(self.sent)))
        elif b"/flood/" in head.partition(b"\r\n")[0]:
            await self._flood(writer)
        else:
            await self._slowly(writer, answered=b'"role":"tool"' in request)
        await self._chunk(writer, _event(finish="stop") + b"data: [DONE]\n\n")
        writer.write(b"0\r\n\r\n")
        await writer.drain()

    async def _slowly(self, writer: asyncio.StreamWriter, *, answered: bool) -> None:
        for number in range(DELTAS):
            await asyncio.sleep(self._pause)
            await self._chunk(writer, _event(content=f"{time.monotonic():.6f} "))
            if not answered and number == DELTAS // 2:
                function = {"name": "read_file", "arguments": '{"path": "notes.txt"}'}
                call = {"index": 0, "id": "c1", "type": "function", "function": function}
                await self._chunk(writer, _event(tool_calls=[call]))

    async def _flood(self, writer: asyncio.StreamWriter) -> None:
        event = _event(content="x" * 1000)
        for _ in range(FLOOD // 1000):
            await self._chunk(writer, event)
            self.sent += 1000

    async def _chunk(self, writer: asyncio.StreamWriter, data: bytes) -> None:
        writer.write(b"%x\r\n%b\r\n" % (len(data), data))
        await writer.drain()


def _event(finish: str | None = None, **delta: Any) -> bytes:
    chunk = {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}
    return b"data: " + json.dumps(chunk).encode() + b"\n\n"


async def _serve(count: int) -> None:
    server = await asyncio.start_server(_Peer(_pause(count)).serve, "127.0.0.1", 0, backlog=4096)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.to_thread(sys.stdin.read)


# The runs


def _resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


class _Round:
    """Runs that are open at the same time."""

    def __init__(self, port: int, folder: Path) -> None:
        self._url = f"http://127.0.0.1:{port}/slow/v1"
        self._folder = folder
        self.open = self.most = self.finished = self.resident = 0
        self.delays: list[float] = []
        self.wrong: list[str] = []

    async def run(self, count: int) -> None:
        watching = asyncio.create_task(self._watch(count))
        spread = _pause(count) * DELTAS  # half of what a run takes
        await asyncio.gather(*(self._one(spread * number / count) for number in range(count)))
        watching.cancel()
        await asyncio.wait({watching})

    async def _watch(self, count: int) -> None:
        """Notes the memory when all runs have been answered in part."""
        while self.most < count:  # noqa: ASYNC110 - looks from outside
            await asyncio.sleep(_pause(count) / 10)
        await asyncio.sleep(_pause(count))
        self.resident = _resident()

    async def _one(self, wait: float) -> None:
        from toolwire import Agent, EventType, SegmentEvent
        from toolwire.agent.events import RunFinished
        from toolwire.builtin.reading import reading_tools

        options: dict[str, Any] = {"base_url": self._url, "api_key": "x", "workspace": self._folder}
        begun = False
        await asyncio.sleep(wait)
        async with Agent("openai:m", reading_tools(), **options) as agent, aclosing(agent.run("Look.")) as events:
            async for event in events:
                if isinstance(event, SegmentEvent) and event.type is EventType.CONTENT and event.delta.endswith(" "):
                    now = time.monotonic()
                    self.delays += [now - float(stamp) for stamp in event.delta.split()]
                    self.open += not begun
                    begun = True
                    self.most = max(self.most, self.open)
        self.open -= 1
        results = [message.parts for message in agent.messages if message.role == "tool"]
        if isinstance(event, RunFinished) and event.turns == 2 and "18 degrees" in str(results):
            self.finished += 1
        elif len(self.wrong) < 3:
            self.wrong.append(f"{event} {results}"[:300])


class _Halts:
    """How long the garbage collector has halted everything, at the longest."""

    def __init__(self) -> None:
        self.longest = self._began = 0.0

    def __call__(self, phase: str, info: dict[str, int]) -> None:
        if phase == "start":
            self._began = time.monotonic()
        else:
            self.longest = max(self.longest, time.monotonic() - self._began)


def _runs(count: int, port: int) -> dict[str, Any]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, 4 * count + 100)), hard))
    with TemporaryDirectory() as folder:
        Path(folder, "notes.txt").write_text("It is 18 degrees.\n")
        return asyncio.run(_rounds(count, port, Path(folder)))


async def _rounds(count: int, port: int, folder: Path) -> dict[str, Any]:
    await _Round(port, folder).run(1)  # what is loaded once is not the runs' own
    descriptors = len(os.listdir("/proc/self/fd"))
    before = _resident()
    rest: list[int] = []
    rounds = []
    halts = _Halts()
    gc.callbacks.append(halts)
    for _ in range(ROUNDS):
        rounds.append(_Round(port, folder))
        await rounds[-1].run(count)
        longest = halts.longest
        gc.collect()
        halts.longest = longest  # between the rounds nobody waits for it
        rest.append(_resident())
    delays = sorted(delay for each in rounds for delay in each.delays)
    return {
        "finished": sum(each.finished for each in rounds),
        "wrong": [words for each in rounds for words in each.wrong][:3],
        "most": min(each.most for each in rounds),
        "each": (rounds[0].resident - before) / count,
        "grown": rest[-1] - rest[1],
        "descriptors": len(os.listdir("/proc/self/fd")) - descriptors,
        "tasks": len(asyncio.all_tasks()) - 1,
        "median": delays[len(delays) // 2],
        "p99": delays[len(delays) * 99 // 100],
        "halt": halts.longest,
    }


async def _slow(seconds: int, port: int) -> dict[str, Any]:
    from toolwire import Agent, EventType, SegmentEvent

    async def sent() -> int:
        async with Agent("openai:m", base_url=f"http://127.0.0.1:{port}/sent/v1", api_key="x") as agent:
            return int([str(event) async for event in agent.run("How many?")][-1])

    await sent()
    characters = 0
    marks = []
    async with Agent("openai:m", base_url=f"http://127.0.0.1:{port}/flood/v1", api_key="x") as agent:
        until = time.monotonic() + seconds
        async with aclosing(agent.run("Tell me all.")) as events:
            async for event in events:
                if isinstance(event, SegmentEvent) and event.type is EventType.CONTENT:
                    characters += len(event.delta)
                    if time.monotonic() < until:
                        await asyncio.sleep(1)
                        marks.append((_resident(), await sent(), characters))
    resident, sent_by_then, taken = marks[-1]
    return {
        "grown": resident - marks[0][0],
        "taken": taken,
        "sent": sent_by_then,
        "characters": characters,
        "expected": FLOOD // 1000 * 1000,
    }


if __name__ == "__main__":
    what, *numbers = sys.argv[1:]
    if what == "serve":
        asyncio.run(_serve(*map(int, numbers)))
    else:
        print(json.dumps(_runs(*map(int, numbers)) if what == "runs" else asyncio.run(_slow(*map(int, numbers)))))
