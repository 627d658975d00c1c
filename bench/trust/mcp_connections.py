"""Connections to MCP servers: cancelled and killed at random moments, and beside servers that mean harm."""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from bench.trust import Found
from toolwire.errors import McpFailed
from toolwire.mcp import connection as connections
from toolwire.mcp.config import ServerConfig
from toolwire.mcp.connection import Connection
from toolwire.mcp.log import ServerLog

SERVER = Path(__file__).parents[2] / "tests" / "over_mcp" / "line_server.py"
LANES = 4
"""Servers at one time."""
PROMPT = 2.0
"""Seconds within which an honest server's answer comes, whatever its neighbours do; it takes some milliseconds."""

_HARM = """
import json, os, sys, time
kind = sys.argv[1]
out = sys.stdout.buffer
def send(message):
    out.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\\n")
    out.flush()
def flood(line, count=1_000_000):
    for _ in range(count // 1000):
        out.write((json.dumps({"jsonrpc": "2.0", **line}).encode() + b"\\n") * 1000)
    out.flush()
for line in sys.stdin.buffer:
    message = json.loads(line)
    method, id = message.get("method"), message.get("id")
    if method == "initialize":
        version = message["params"]["protocolVersion"]
        info = {"name": "harm", "version": "1"}
        send({"id": id, "result": {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info}})
    elif method == "tools/call":
        if kind == "endless line":
            while True:
                out.write(b"x" * 65536)
        elif kind == "wrong ids":
            flood({"id": 10**6, "result": {}})
        elif kind == "million notifications":
            flood({"method": "notifications/message", "params": {"level": "info", "data": "x"}})
        elif kind == "million changes":
            flood({"method": "notifications/tools/list_changed"})
        elif kind == "million reports":
            flood({"method": "notifications/progress", "params": {"progressToken": id, "progress": 1}})
        elif kind == "million questions":
            for at in range(1_000_000):
                send({"id": at, "method": "sampling/createMessage", "params": {"messages": [], "maxTokens": 1}})
        elif kind == "one id for all questions":
            flood({"id": 1, "method": "ping"})
        elif kind == "same answer again":
            flood({"id": id, "result": {"content": []}})
            time.sleep(60)
        elif kind == "result flood":
            send({"id": id, "result": {"content": [{"type": "text", "text": "x" * (20 << 20)}]}})
        elif kind == "million junk lines":
            for _ in range(1000):
                out.write(b"junk\\n" * 1000)
        elif kind == "deep nesting":
            out.write(b'{"jsonrpc":"2.0","id":%d,"result":' % id + b'{"a":' * 200_000 + b"1" + b"}" * 200_001 + b"\\n")
            out.flush()
        elif kind == "reads nothing":
            time.sleep(60)
        # "never answers" does nothing here
"""
HARMS = {
    **dict.fromkeys(("endless line", "wrong ids", "million notifications", "million changes"), "limit"),
    **dict.fromkeys(("million reports", "million questions", "one id for all questions"), "limit"),
    **dict.fromkeys(("result flood", "million junk lines", "same answer again"), "limit"),
    **dict.fromkeys(("deep nesting", "reads nothing", "never answers"), "timeout"),
}
"""What a server does, and why its calls end."""


def cancelled(count: int, seed: int) -> Found:
    """Plan: 10,000 calls side by side, half of them cancelled at a random moment (10 seconds)."""
    with _quick():
        return asyncio.run(_cancelled(count, random.Random(seed)))


def killed(count: int, seed: int) -> Found:
    """Plan: 1,000 kills of a server before, in and after a call and at its start (60 seconds)."""
    with _quick(), tempfile.TemporaryDirectory() as folder:
        return asyncio.run(_killed(count, random.Random(seed), Path(folder)))


def hostile(count: int, seed: int) -> Found:
    """Plan: every harm `count` times, each beside a server whose calls go on (1: 20 seconds)."""
    return asyncio.run(_hostile(count))


@contextmanager
def _quick() -> Iterator[None]:
    pauses = connections.FIRST_PAUSE, connections.LONGEST_PAUSE
    connections.FIRST_PAUSE = connections.LONGEST_PAUSE = 0.01
    try:
        yield
    finally:
        connections.FIRST_PAUSE, connections.LONGEST_PAUSE = pauses


def _connection(*words: str, script: Path = SERVER, **settings: Any) -> Connection:
    config = ServerConfig(name="line", command=sys.executable, args=("-I", "-S", str(script), *words), **settings)
    return Connection(config, cwd="/", environment=os.environ, log=ServerLog(None))


def _said(result: dict[str, Any]) -> str:
    return str(result["content"][0]["text"])


# ---- cancelled


async def _cancelled(count: int, rng: random.Random) -> Found:
    found = Found(faults=[])
    connection = _connection()
    await connection.open()

    async def one(at: int) -> None:
        is_slow, is_cancelled = rng.random() < 0.5, rng.random() < 0.5
        if is_slow:
            call = asyncio.create_task(connection.call("slow", {"seconds": rng.uniform(0, 0.01)}))
        else:
            call = asyncio.create_task(connection.call("echo", {"text": f"text {at}"}))
        if is_cancelled:
            await asyncio.sleep(rng.choice((0, rng.uniform(0, 0.02))))
            began = time.monotonic()
            was_done = call.done()
            call.cancel()
            await asyncio.wait({call})
            if time.monotonic() - began > PROMPT:
                found.fault(f"call {at}: cancelled, it stayed")
            if not was_done and not call.cancelled():
                found.fault(f"call {at}: the cancellation was swallowed")
            if call.cancelled():
                return
        try:
            answer = _said(await call)
        except McpFailed as error:
            found.fault(f"call {at}: {error.message}")
            return
        if answer not in (("waited", "stopped") if is_slow else (f"text {at}",)):
            found.fault(f"call {at}: got the answer {answer[:80]!r}")

    for at in range(0, count, 50):
        await asyncio.gather(*(one(at + each) for each in range(50)))
        found.runs += 50
    if _said(await connection.call("echo", {"text": "end"})) != "end" or connection.life != 1:
        found.fault("the connection did not outlive the cancellations")
    await connection.close()
    return found


# ---- killed


async def _killed(count: int, rng: random.Random, folder: Path) -> Found:
    found = Found(faults=[])
    outcomes: dict[str, int] = {}

    async def lane(number: int) -> None:
        calls, lives = folder / f"calls{number}", folder / f"lives{number}"
        connection = _connection(f"calls={calls}", f"lives={lives}")
        for at in range(number, count, LANES):
            outcome = await _one_kill(connection, rng, f"kill {at}", calls, lives, found)
            outcomes[outcome] = outcomes.get(outcome, 0) + 1
            found.runs += 1
        await connection.close()

    await asyncio.gather(*(lane(number) for number in range(LANES)))
    found.words = ", ".join(f"{outcome} {times:,}" for outcome, times in sorted(outcomes.items()))
    if len(outcomes) < 2 and count > 50:
        found.fault(f"the kills were all at one moment: {found.words}")
    return found


async def _one_kill(
    connection: Connection, rng: random.Random, mark: str, calls: Path, lives: Path, found: Found
) -> str:
    is_open = rng.random() < 0.7
    if is_open:
        with suppress(McpFailed):
            await connection.open()
    seconds = rng.choice((0.0, 0.01, 60.0))
    # `text` is not looked at by `slow`: it says in the server's own record which call this was.
    call = asyncio.create_task(connection.call("slow", {"seconds": seconds, "text": mark}))
    await asyncio.sleep(rng.uniform(0, 0.015) if is_open else rng.uniform(0, 0.08))
    before = time.monotonic()
    while not call.done() and time.monotonic() < before + 10:
        _kill(lives)
        await asyncio.wait({call}, timeout=0.02)
    if not call.done():
        found.fault(f"{mark}: no result in 10 seconds")
        call.cancel()
        return "none"
    outcome, begun = "answered", _times(calls, mark)
    try:
        if _said(await call) != "waited":
            found.fault(f"{mark}: a wrong answer")
    except McpFailed as error:
        outcome = str(error.why)
        if outcome not in ("lost", "start"):
            found.fault(f"{mark}: {error.message}")
        if begun and "not known" not in error.message:
            found.fault(f"{mark}: it was begun, and nobody is told that what it did is not known")
    if begun > 1:
        found.fault(f"{mark}: it was run {begun} times")
    for _ in range(50):
        # Its last kill may still be on its way.
        with suppress(McpFailed):
            if _said(await connection.call("echo", {"text": mark})) != mark:
                found.fault(f"{mark}: the next call got another answer")
            return outcome
    found.fault(f"{mark}: it did not come back")
    return outcome


def _kill(lives: Path) -> None:
    """Kills the server that started last, if it lives: each once, since another may have its number afterwards."""
    with suppress(FileNotFoundError, ProcessLookupError, ValueError):
        pid = int(lives.read_text())
        lives.unlink()
        os.kill(pid, signal.SIGKILL)


def _times(calls: Path, mark: str) -> int:
    return calls.read_text().count(json.dumps(mark)) if calls.exists() else 0


# ---- hostile


async def _hostile(count: int) -> Found:
    found = Found(faults=[])
    slowest = 0.0
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "harm.py"
        script.write_text(_HARM)
        neighbour = _connection()
        await neighbour.open()
        for kind in [*HARMS] * max(count, 1):
            harm = _connection(kind, script=script, timeout=3.0)
            await harm.open()
            big = {"text": "x" * (1 << 20)} if kind == "reads nothing" else {}
            calls = [asyncio.create_task(harm.call("any", big)) for _ in range(2)]
            began = time.monotonic()
            while not all(call.done() for call in calls) and time.monotonic() < began + 20:
                asked = time.monotonic()
                if _said(await neighbour.call("echo", {"text": kind})) != kind:
                    found.fault(f"{kind}: the neighbour got another answer")
                slowest = max(slowest, time.monotonic() - asked)
                if time.monotonic() - asked > PROMPT:
                    found.fault(f"{kind}: the neighbour waited {time.monotonic() - asked:.1f} s")
                await asyncio.sleep(0.005)
            for call in calls:
                found.runs += 1
                if not call.done():
                    found.fault(f"{kind}: a call never ended")
                    call.cancel()
                elif (error := call.exception()) is None:
                    if kind != "same answer again":
                        found.fault(f"{kind}: a call was answered")
                elif not isinstance(error, McpFailed) or error.why != HARMS[kind]:
                    found.fault(f"{kind}: {type(error).__name__}: {str(error)[:100]}")
            await harm.close()
        if neighbour.life != 1:
            found.fault("the neighbour was lost")
        await neighbour.close()
    found.words = f"slowest answer of the neighbour {slowest * 1000:.0f} ms"
    return found
