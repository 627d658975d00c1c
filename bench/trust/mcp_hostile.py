"""Hostile MCP servers beside an honest one: what they do harms nobody but themselves.

Each ordeal has some hostile servers (tests/over_mcp/hostile_server.py) and an honest one in one `McpServers`. They
misbehave while they are greeted, listed or called, over their pipes or over HTTP. Whatever is asked of them ends in
bounded time with a result or a typed error. Meanwhile the honest one is called without a pause, and each of its answers
is awaited. In the end nothing of any of them lives.
"""

from __future__ import annotations

import asyncio
import os
import random
import sys
import time
from collections.abc import AsyncIterator, Coroutine, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import msgspec

from toolwire.errors import McpFailed
from toolwire.mcp.config import ServerConfig
from toolwire.mcp.pins import Pins
from toolwire.mcp.servers import McpServers
from toolwire.tools.definition import Risk, ToolDefinition
from toolwire.tools.output import ToolOutput

from . import Found
from .children import living, new_token

SERVERS = Path(__file__).parents[2] / "tests" / "over_mcp"
sys.path.append(str(SERVERS.parent))

from over_mcp.hostile_kinds import KINDS  # noqa: E402

PIPES_ONLY = frozenset(("endless_error_output", "closes_output", "closes_input", "stays", "stops"))
HTTP_ONLY = ("endless_headers", "endless_body", "bomb", "turns", "mute")
WHEN = ("start", "list", "call")
AT_ONCE = 6
SECONDS = 1.5
"""What a hostile server has for a call, and for its start where it is that which goes wrong."""
START_SECONDS = 5.0
SLOWEST = 1.0
"""The most that an answer of the honest one may take."""
MEMORY = 300 << 20
"""The most that the process may grow by for a moment: messages of 8 MiB are read, and what is in them takes more."""
ENDED = 7.0
"""Seconds until everything is closed, with servers that are deaf to every request to end."""
PICTURES = 16
CHARACTERS = 9 << 20
WHYS = frozenset(("answer", "not offered", "start", "timeout", "limit", "protocol", "lost", "refused", "changed"))

Given = TypeVar("Given")


class Case(NamedTuple):
    """What one hostile server does, and when."""

    kind: str
    when: str
    http: bool = False

    def __str__(self) -> str:
        return f"{self.kind} at {self.when}{' over HTTP' if self.http else ''}"


class Met(msgspec.Struct):
    """How it went with one of them."""

    whys: list[str] = []
    """How each call ended: the reason of its error, `answer`, or `not offered` where the tool was not there."""
    texts: list[str] = []
    offered: list[str] = []
    """The names of its tools, at the end."""
    problem: str = ""


class Ordeal(msgspec.Struct):
    """How all of it went."""

    met: dict[Case, Met] = {}
    notes: list[str] = []
    problem: str = ""
    slowest: float = 0.0
    answers: int = 0
    """Of the honest server."""
    grown: int = 0
    closing: float = 0.0
    left: dict[int, str] = {}

    def faults(self) -> list[str]:
        """What was promised and does not hold."""
        found = [f"{case}: {met.problem}" for case, met in self.met.items() if met.problem]
        if self.problem:
            found.append(self.problem)
        if not self.answers:
            found.append("the honest server answered nothing")
        if self.slowest > SLOWEST:
            found.append(f"the honest server took {self.slowest:.2f} s for an answer")
        if self.grown > MEMORY:
            found.append(f"the process grew by {self.grown >> 20} MiB")
        if self.closing > ENDED:
            found.append(f"closing took {self.closing:.1f} s")
        if self.left:
            found.append(f"left running: {self.left}")
        return found


def every_case() -> list[Case]:
    """All that hostile servers do, at every moment, over both ways."""
    pipes = [Case(kind, when) for kind in KINDS for when in WHEN]
    http = [Case(kind, when, True) for kind in (*KINDS, *HTTP_ONLY) for when in WHEN if kind not in PIPES_ONLY]
    return pipes + http


def hostile_servers(count: int, seed: int) -> Found:
    """That many hostile servers, six at once, each kind at each moment in turn; plan: 300, some four minutes."""
    found = Found()
    rng = random.Random(seed)
    cases = every_case()
    rng.shuffle(cases)
    chosen = [cases[number % len(cases)] for number in range(count)]
    slowest, grown, closing, answers = 0.0, 0, 0.0, 0
    before = set(os.listdir("/proc/self/fd"))
    for at in range(0, count, AT_ONCE):
        part = chosen[at : at + AT_ONCE]
        went = asyncio.run(ordeal(part, seconds=SECONDS))
        found.runs += len(part)
        for fault in went.faults():
            found.fault(f"{', '.join(map(str, part))}: {fault}")
        for case, met in went.met.items():
            if not set(met.whys) <= WHYS:
                found.fault(f"{case}: ended with {met.whys}")
        slowest, grown = max(slowest, went.slowest), max(grown, went.grown)
        closing, answers = max(closing, went.closing), answers + went.answers
    if more := set(os.listdir("/proc/self/fd")) - before:
        found.fault(f"descriptors left open: {len(more)}")
    found.words = (
        f"{answers:,} answers of the honest one meanwhile, the slowest after {slowest:.2f} s; "
        f"memory grew by {grown / 1e6:.0f} MB at most; the slowest end took {closing:.1f} s"
    )
    return found


async def ordeal(cases: Sequence[Case], *, seconds: float = SECONDS, calls: int = 2) -> Ordeal:
    """These hostile servers and one honest one, from their start to their end."""
    token = new_token()
    went = Ordeal(met={case: Met() for case in cases})
    async with AsyncExitStack() as stack:
        given = [
            await stack.enter_async_context(_hostile(f"bad{number}", case, token, seconds))
            for number, case in enumerate(cases)
        ]
        words = ("-I", "-S", str(SERVERS / "line_server.py"), token)
        good = ServerConfig(name="good", command=sys.executable, args=words, risk=Risk.READ, trusted=True)
        servers = McpServers([*given, good], pins=Pins(None), workspace="/", patience=5.0)
        try:
            await asyncio.to_thread(_import_sdk)
            await servers.connection("good").open()
            _forget_peak()
            before = _peak()
            over = asyncio.Event()
            honest = asyncio.create_task(_called_on(servers, over, went))
            try:
                await _in_time(servers.tools(), 6.0)
                await asyncio.gather(
                    *(
                        _asked(servers, f"bad{number}", went.met[case], seconds, calls)
                        for number, case in enumerate(cases)
                    )
                )
            finally:
                over.set()
                await honest
            went.grown = _peak() - before
        except Exception as error:
            went.problem = f"{error!r} was raised"[:500]
        finally:
            went.notes = servers.notes()
            started = time.monotonic()
            await servers.close()
            went.closing = time.monotonic() - started
    went.left = living(token)
    return went


async def _asked(servers: McpServers, name: str, met: Met, seconds: float, calls: int) -> None:
    """What an agent asks of a hostile one: its tools, a call, and so on."""
    for _ in range(calls):
        chosen = next((tool for tool in await _tools(servers, name) if tool.name == f"mcp__{name}__echo"), None)
        if chosen is None:
            met.whys.append("not offered")
        else:
            await _call(chosen, met, 3 * seconds + 3)
    met.offered = [tool.name.removeprefix(f"mcp__{name}__") for tool in await _tools(servers, name)]


async def _tools(servers: McpServers, name: str) -> list[ToolDefinition]:
    return [tool for tool in await _in_time(servers.tools(), 6.0) if tool.name.startswith(f"mcp__{name}__")]


async def _call(tool: ToolDefinition, met: Met, seconds: float) -> None:
    assert tool.call is not None
    try:
        output = await _in_time(_run(tool), seconds)
    except McpFailed as error:
        met.whys.append(str(error.why))
        met.texts.append(f"{error.message}\n{error.hint}")
        if len(error.message) > 2_000 or len(error.hint) > 10_000:
            met.problem = f"its error has {len(error.message):,} characters, and {len(error.hint):,} of a hint"
        return
    except Exception as error:
        met.problem = f"its call raised {error!r}"[:300]
        return
    met.whys.append("answer")
    met.texts.append(output.text[:1_000])
    if len(output.media) > PICTURES or len(output.text) > CHARACTERS:
        met.problem = f"its result has {len(output.media)} pictures and {len(output.text):,} characters"


async def _run(tool: ToolDefinition) -> ToolOutput:
    assert tool.call is not None
    output = await tool.call({"text": "hello"})
    assert isinstance(output, ToolOutput)
    return output


async def _in_time(asked: Coroutine[Any, Any, Given], seconds: float) -> Given:
    """What it gives; an error that is no `McpFailed` where it takes longer than anything may."""
    task = asyncio.ensure_future(asked)
    done, _ = await asyncio.wait({task}, timeout=seconds)
    if not done:
        task.cancel()
        raise TimeoutError(f"no end within {seconds:g} s")
    return task.result()


async def _called_on(servers: McpServers, over: asyncio.Event, went: Ordeal) -> None:
    """Calls the honest one until it is over, and once more."""
    connection = servers.connection("good")
    while True:
        last = over.is_set()
        text = f"{went.answers}"
        started = time.monotonic()
        result = await connection.call("echo", {"text": text})
        went.slowest = max(went.slowest, time.monotonic() - started)
        if result["content"] != [{"type": "text", "text": text}]:
            went.problem = f"the honest server's answer came as {result!r}"[:300]
        went.answers += 1
        if last:
            return
        await asyncio.sleep(0.01)


@asynccontextmanager
async def _hostile(name: str, case: Case, token: str, seconds: float) -> AsyncIterator[ServerConfig]:
    """Its configuration; over HTTP it runs already."""
    words = ("-I", "-S", str(SERVERS / "hostile_server.py"), case.kind, case.when)
    start = START_SECONDS if case.when == "call" else seconds
    plain = ServerConfig(name=name, risk=Risk.READ, trusted=True, start_timeout=start, timeout=seconds)
    if not case.http:
        yield msgspec.structs.replace(plain, command=sys.executable, args=words, env={"TOKEN": token})
        return
    child = await asyncio.create_subprocess_exec(
        sys.executable,
        *(*words, "http"),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        assert child.stdout is not None
        port = int(await child.stdout.readline())
        yield msgspec.structs.replace(plain, url=f"http://127.0.0.1:{port}/mcp")
    finally:
        if child.returncode is None:
            child.kill()
        await child.wait()


def _import_sdk() -> None:
    from toolwire.mcp import connection, http, stdio

    del connection, http, stdio


def _forget_peak() -> None:
    Path("/proc/self/clear_refs").write_text("5")


def _peak() -> int:
    """The most memory that this process had at one time since that was last forgotten."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) << 10
    return 0
