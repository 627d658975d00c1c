"""Toolwire as an MCP server, and clients that mean it no good: over pipes and over HTTP."""

from __future__ import annotations

import asyncio
import gc
import json
import logging
import os
import random
import socket
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

from toolwire import Risk, ToolDefinition
from toolwire.approval.audit import AuditRecord

from . import Found

TOKEN = "only-this-bench-knows-it"
GROWTH = 96 * 2**20
"""Bytes by which the process may grow: a few messages of the longest that are taken, on their way in."""
LEAVE_SECONDS = 5.0
LONG = 8 * 2**20 + 5
LOOK = 50
"""Clients between two looks at the memory."""
HTTP_SHARE = 2
"""Of so many clients one comes over HTTP."""

_HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
_MODERN = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}


class _Watch:
    """What runs, what ran, and what the gate says that it let run."""

    def __init__(self) -> None:
        self.running = 0
        self.ran: Counter[str] = Counter()
        self.let: set[str] = set()
        self.started: Counter[str] = Counter()
        self.unlet: list[str] = []

    def audit(self, record: AuditRecord) -> None:
        if record.event in ("allowed", "approved"):
            self.let.add(record.call)
        elif record.event == "started":
            self.started[record.tool] += 1
            if record.call not in self.let:
                self.unlet.append(record.call)
        elif record.event == "finished":
            self.let.discard(record.call)

    def tools(self) -> list[ToolDefinition]:
        schema = {"properties": {"seconds": {"type": "number", "maximum": 1}}, "required": ["seconds"]}
        return [
            ToolDefinition("wait", "", schema, Risk.READ, self._call("wait")),
            ToolDefinition("change", "", schema, Risk.WRITE, self._call("change")),
        ]

    def _call(self, name: str) -> Any:
        async def call(arguments: dict[str, Any]) -> str:
            self.ran[name] += 1
            self.running += 1
            try:
                await asyncio.sleep(arguments["seconds"])
            finally:
                self.running -= 1
            return "x" * 1_000

        return call

    def faults(self) -> list[str]:
        """What does not hold, when nobody is there any more."""
        found = []
        if self.running:
            found.append(f"{self.running} calls still run when their clients are gone")
        if self.ran["change"]:
            found.append(f"a tool that must be asked about ran {self.ran['change']} times, and nobody was asked")
        if self.ran != self.started:
            found.append(f"{dict(self.ran)} ran, and the gate has seen {dict(self.started)}")
        return [*found, *(f"the call {call} was started and never allowed" for call in self.unlet)]


def hostile_clients(count: int, seed: int) -> Found:
    """That many clients, one after another, each of which does what it should not and leaves at any moment."""
    return asyncio.run(_hostile_clients(count, random.Random(seed)))


async def _hostile_clients(count: int, rng: random.Random) -> Found:
    logging.getLogger("mcp").setLevel(logging.ERROR)  # it warns of each malformed notification
    found = Found()
    watch = _Watch()
    from toolwire.mcp.serving import ToolServer

    shared = ToolServer(watch.tools(), audit=watch.audit)
    listening = socket.create_server(("127.0.0.1", 0))
    port = listening.getsockname()[1]
    serving = asyncio.create_task(_serve(shared, listening, port))
    before = _resident()
    largest = 0
    try:
        for number in range(count):
            if number == min(count // 10, LOOK):
                before = _resident()
            if number % HTTP_SHARE:
                words = await _over_pipes(watch, rng)
            else:
                words = await _over_http(watch, port, rng)
            found.runs += 1
            if words:
                found.fault(f"client {number}: {words}")
            for fault in watch.faults() if number % HTTP_SHARE else []:
                found.fault(f"client {number}: {fault}")
            if found.faults:
                break
            if number % LOOK == 0:
                largest = max(largest, _resident() - before)
        if (status := await _status(port)) != 200:
            found.fault(f"an honest client is answered {status} afterwards")
    finally:
        serving.cancel()
        await asyncio.wait({serving}, timeout=LEAVE_SECONDS)
    for fault in watch.faults():
        found.fault(fault)
    if largest > GROWTH:
        found.fault(f"the process grew by {largest / 2**20:.0f} MiB")
    ran, grew = sum(watch.ran.values()), max(largest, 0) / 2**20
    found.words = f"{ran:,} calls ran, each on a ticket; {grew:.0f} MiB more memory at most"
    return found


async def _serve(server: Any, listening: socket.socket, port: int) -> None:
    from toolwire.mcp.serving_http import serve_http

    await serve_http(server, listening, token=TOKEN, hosts=frozenset({f"127.0.0.1:{port}"}))


def _resident() -> int:
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


async def _over_pipes(watch: _Watch, rng: random.Random) -> str:
    """One client; gives what is wrong with how the server took it."""
    from toolwire.mcp.serving import ToolServer
    from toolwire.mcp.serving_stdio import Pipes, serve_stdio

    theirs_in, ours_out = os.pipe()
    ours_in, theirs_out = os.pipe()
    server = ToolServer(watch.tools(), audit=watch.audit)
    serving = asyncio.create_task(serve_stdio(server, Pipes(theirs_in, theirs_out)))
    reading = asyncio.create_task(asyncio.to_thread(_read_out, ours_in, rng.random() < 0.9))
    hello = json.dumps({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": _HELLO}).encode() + b"\n"
    data = b"".join(_line(rng, number) for number in range(rng.randint(1, 120)))
    data = hello + data if rng.random() < 0.8 else data
    await asyncio.to_thread(_write, ours_out, data[: rng.randint(1, len(data))] if rng.random() < 0.7 else data)
    await asyncio.sleep(rng.random() * 0.02)
    cut = rng.random() < 0.3
    if cut:
        serving.cancel()
    os.close(ours_out)
    done, _ = await asyncio.wait({serving}, timeout=LEAVE_SECONDS)
    for descriptor in (theirs_in, theirs_out):
        os.close(descriptor)
    said = await reading
    if not done:
        return f"it did not end within {LEAVE_SECONDS:g} seconds"
    if not serving.cancelled() and serving.exception() is not None:
        return f"it failed: {serving.exception()!r}"
    return _unspoken(said)


def _unspoken(said: bytes) -> str:
    """What was said that is no message; the last line may be cut."""
    for line in said.split(b"\n")[:-1]:
        try:
            message = json.loads(line)
        except ValueError:
            return f"it said {line[:100]!r}"
        if message.get("jsonrpc") != "2.0":
            return f"it said {line[:100]!r}"
    return ""


def _read_out(descriptor: int, reads: bool) -> bytes:
    said = bytearray()
    with open(descriptor, "rb", 0) as stream:
        while reads and (data := stream.read(1 << 16)):
            said += data
    return bytes(said)


def _write(descriptor: int, data: bytes) -> None:
    with suppress(OSError):
        while data:
            data = data[os.write(descriptor, data) :]


def _line(rng: random.Random, number: int) -> bytes:
    kind = rng.choices(range(8), [6 if number == 0 else 1, 12, 3, 3, 2, 2, 1, 0.02])[0]
    if kind == 7:
        return b"x" * LONG + b"\n"
    if kind == 6:
        return bytes(rng.randrange(256) for _ in range(rng.randint(0, 200))).replace(b"\n", b"") + b"\n"
    id: Any = rng.choice([number, 1, "1", str(number), -1, 2**70, 1.5, None, True, [], "x" * 1_000])
    if kind == 0:
        message: dict[str, Any] = {"id": id, "method": "initialize", "params": _HELLO}
    elif kind == 1:
        message = {"id": id, "method": "tools/call", "params": _call(rng)}
    elif kind == 2:
        which = rng.choice([id, number, rng.randint(0, 100)])
        message = {"method": "notifications/cancelled", "params": {"requestId": which}}
    elif kind == 3:
        message = {
            "id": id,
            "method": rng.choice(["tools/list", "ping", "server/discover", "x", "", "logging/setLevel"]),
        }
    elif kind == 4:
        message = {"id": id, rng.choice(["result", "error"]): rng.choice([{}, None, 1, {"code": 1, "message": "m"}])}
    else:
        method = rng.choice(["notifications/initialized", "notifications/progress", "tools/call", "x"])
        message = {"method": method, "params": rng.choice([{}, None, [], _call(rng)])}
    return json.dumps({"jsonrpc": rng.choice(["2.0"] * 20 + ["1.0"]), **message}).encode() + b"\n"


def _call(rng: random.Random) -> dict[str, Any]:
    arguments: Any = {"seconds": rng.choice([0, 0.001, 0.01, 1, 5, "x", None, -1])}
    call: dict[str, Any] = {"name": rng.choice(["wait"] * 4 + ["change", "x", 1]), "arguments": arguments}
    if rng.random() < 0.1:
        call["arguments"] = rng.choice([None, [], "x", {"seconds": [[]]}, {}])
    if rng.random() < 0.2:
        call |= {"requestState": rng.choice(["", "x" * 43]), "inputResponses": {"approval": _yes()}}
    if rng.random() < 0.3:
        call["_meta"] = rng.choice([_MODERN, {"progressToken": 1}, {}, 1])
    return call


def _yes() -> dict[str, Any]:
    return {"action": "accept", "content": {"run": True}}


async def _over_http(watch: _Watch, port: int, rng: random.Random) -> str:
    """One connection that is wrong somewhere, or is cut somewhere; gives what is wrong with the answer."""
    cut = rng.random() < 0.4
    whole = not cut or rng.random() < 0.5
    wrong = (
        rng.choice(["host", "origin", "token", "length", "body", "session"]) if not cut and rng.random() < 0.8 else ""
    )
    honest = {"name": "wait", "arguments": {"seconds": 1 if cut else 0}}
    call = honest if wrong or cut or rng.random() < 0.5 else _call(rng)
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call | {"_meta": _MODERN}})
    headers = _headers(port, len(body))
    if wrong == "host":
        headers["Host"] = rng.choice(["evil.example", f"127.0.0.1:{port}.evil.example", "", "127.0.0.1", "[::1]"])
    elif wrong == "origin":
        headers["Origin"] = rng.choice(["http://evil.example", "null", f"https://127.0.0.1:{port}", ""]) or "x"
    elif wrong == "token":
        headers["Authorization"] = rng.choice(
            ["", "Bearer", f"Bearer {TOKEN[:-1]}", f"Basic {TOKEN}", f"Bearer {TOKEN} x"]
        )
    elif wrong == "length":
        headers["Content-Length"] = rng.choice([str(LONG), "9" * 19, "-1", "x"])
    elif wrong == "body":
        body = rng.choice(["{", '{"a":NaN}', '{"a":1,"a":2}', "[" * 1_000, "\0"])
        headers["Content-Length"] = str(len(body))
    elif wrong == "session":
        headers["Mcp-Session-Id"] = rng.choice(["x", "0" * 32])
        del headers["MCP-Protocol-Version"]
    request = "POST /mcp HTTP/1.1\r\n" + "".join(f"{name}: {value}\r\n" for name, value in headers.items()) + "\r\n"
    data = request.encode() + body.encode()
    status = await _answer(port, data if whole else data[: rng.randint(1, len(data))], leaves=cut, rng=rng)
    for _ in range(50 if cut else 0):
        if not watch.running:
            break
        await asyncio.sleep(0.01)
    if watch.running:
        return "a call runs on when its client has left"
    if wrong and not cut and 200 <= status < 300:
        return f"a request with a wrong {wrong} is answered {status}"
    return ""


def _headers(port: int, length: int) -> dict[str, str]:
    return {
        "Host": f"127.0.0.1:{port}",
        "Authorization": f"Bearer {TOKEN}",
        "Accept": "application/json, text/event-stream",
        "Content-Type": "application/json",
        "Content-Length": str(length),
        "MCP-Protocol-Version": "2026-07-28",
        "Mcp-Method": "tools/call",
        "Mcp-Name": "wait",
    }


async def _answer(port: int, data: bytes, *, leaves: bool, rng: random.Random) -> int:
    """The status that comes back; 0 where none does."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        with suppress(OSError, TimeoutError):
            writer.write(data)
            await writer.drain()
            if leaves:
                await asyncio.sleep(rng.random() * 0.01)
                return 0
            async with asyncio.timeout(LEAVE_SECONDS):
                first = await reader.readline()
            return int(first.split()[1]) if first.startswith(b"HTTP/1.1 ") else 0
    finally:
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()
    return 0


async def _status(port: int) -> int:
    """What an honest call is answered."""
    params = {"name": "wait", "arguments": {"seconds": 0}, "_meta": _MODERN}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
    lines = "".join(f"{name}: {value}\r\n" for name, value in _headers(port, len(body)).items())
    data = f"POST /mcp HTTP/1.1\r\n{lines}\r\n{body}".encode()
    return await _answer(port, data, leaves=False, rng=random.Random(0))
