"""Servers as programs: what they say in lines, honest or not, how they are lost, and how they end."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from bench.trust.children import living, new_token
from mcp.shared.message import SessionMessage
from mcp_types import (
    ErrorData,
    JSONRPCError,
    JSONRPCMessage,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
)

from toolwire.errors import McpFailed
from toolwire.execution import attached
from toolwire.mcp import stdio
from toolwire.mcp.config import ServerConfig
from toolwire.mcp.limits import BLANK_LINES, JUNK_LINES
from toolwire.mcp.log import ServerLog
from toolwire.mcp.stdio import Streams, stdio_transport

PING = {"jsonrpc": "2.0", "method": "ping"}
LINE = json.dumps(PING).encode()
ECHO = "for line in sys.stdin.buffer: say(line)"


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attached, "GRACE_SECONDS", 0.1)
    monkeypatch.setattr(stdio, "FLUSH_SECONDS", 0.2)
    monkeypatch.setattr(stdio, "_TOLD_SECONDS", 0.4)
    close = attached.Attached.close
    monkeypatch.setattr(attached.Attached, "close", lambda child, leave=0.2: close(child, leave))


def server(script: str, *args: str, **given: Any) -> ServerConfig:
    """A program without anything but Python's own; `say` writes bytes at once."""
    beginning = "import os, sys, time, signal\ndef say(data):\n    while data: data = data[os.write(1, data):]\n"
    words = ("-I", "-S", "-c", beginning + script, *args)
    return ServerConfig(name="tried", command=sys.executable, args=words, **given)


def running(
    config: ServerConfig, *, cwd: str = "/", environment: dict[str, str] | None = None, log: ServerLog | None = None
) -> AbstractAsyncContextManager[Streams]:
    return stdio_transport(config, cwd=cwd, environment=environment or dict(os.environ), log=log or ServerLog(None))


async def all_said(config: ServerConfig, log: ServerLog | None = None) -> tuple[list[str], McpFailed]:
    """What a server says that is told nothing, and why it was lost."""
    said: list[str] = []
    async with running(config, log=log) as (reading, _):
        async for item in reading:
            if isinstance(item, SessionMessage):
                said.append(dumped(item.message))
            else:
                assert isinstance(item, McpFailed)
                failed = item
    assert failed.server == "tried"
    return said, failed


def dumped(message: JSONRPCMessage) -> str:
    return message.model_dump_json(by_alias=True, exclude_unset=True)


async def next_of(reading: Any) -> SessionMessage:
    item = await asyncio.wait_for(reading.receive(), 10)
    assert isinstance(item, SessionMessage), item
    return item


def request(number: int, **params: Any) -> SessionMessage:
    return SessionMessage(JSONRPCRequest(jsonrpc="2.0", id=number, method="ping", params=params))


LINES = [
    ("LF", LINE + b"\n", 1, ""),
    ("CRLF", LINE + b"\r\n" + LINE + b"\r\n", 2, ""),
    ("blanks around, empty lines", b"\n \r\n\t" + LINE + b" \n\n\n" + LINE + b"\n", 2, ""),
    ("byte order mark", b"\xef\xbb\xbf" + LINE + b"\n", 1, ""),
    ("log lines", b"Listening...\n" + LINE + b"\n[info] ready\n", 1, "Listening...\n[info] ready"),
    ("logs as JSON", b'{"level": "info"}\n' + LINE + b"\n", 1, '{"level": "info"}'),
    ("half a line at the end", LINE + b"\n" + LINE, 1, ""),
    ("cut JSON", LINE[:-1] + b"\n" + LINE + b"\n", 1, LINE[:-1].decode()),
    (
        "bad UTF-8",
        b'{"jsonrpc": "2.0", "method": "p\xff"}\n' + LINE + b"\n",
        1,
        '{"jsonrpc": "2.0", "method": "p\ufffd"}',
    ),
    (
        "another version",
        b'{"jsonrpc": "1.0", "method": "ping"}\n' + LINE + b"\n",
        1,
        '{"jsonrpc": "1.0", "method": "ping"}',
    ),
    ("a batch", b"[" + LINE + b"]\n" + LINE + b"\n", 1, f"[{LINE.decode()}]"),
    ("deep", b'{"jsonrpc": "2.0", "method": "p", "params": ' + b'{"a":' * 9_000 + b"\n" + LINE + b"\n", 1, None),
    ("many digits", b'{"jsonrpc": "2.0", "id": ' + b"9" * 9_000 + b', "result": {}}\n' + LINE + b"\n", 1, None),
    ("NUL", b"\0\0\0\n" + LINE + b"\n", 1, "‹U+0000›‹U+0000›‹U+0000›"),
]


async def test_what_is_a_message_and_what_is_not() -> None:
    async def one(written: bytes, count: int, junk: str | None) -> None:
        log = ServerLog(None)
        said, failed = await all_said(server(f"say({written!r})"), log)
        assert said == [json.dumps(PING, separators=(",", ":"))] * count
        assert failed.why == "lost"
        assert failed.message == "the MCP server 'tried' ended (exit code 0)"
        assert junk is None or log.tail() == junk

    await asyncio.gather(*(one(*case[1:]) for case in LINES))


@pytest.mark.parametrize(("line", "most"), [(b"junk\n", JUNK_LINES), (b"\n", BLANK_LINES)])
async def test_so_many_lines_that_say_nothing(line: bytes, most: int) -> None:
    async def said(*counts: int) -> tuple[int, str]:
        script = "".join(f"say({line!r} * {count} + {LINE!r} + b'\\n')\n" for count in counts)
        messages, failed = await all_said(server(script))
        return len(messages), failed.why

    just, over = await asyncio.gather(said(most, most), said(most + 1))
    assert (just, over) == ((2, "lost"), (0, "limit"))


LOST = [
    ("an endless line", "while True: say(b'x' * 65536)", "limit", "sent a message of more than 8,388,608 bytes", ""),
    ("a message first", f"say({LINE!r} + b'\\n' + b'{{' * (9 << 20)); time.sleep(60)", "limit", "8,388,608", ""),
    (
        "many values",
        'say(b\'{"jsonrpc": "2.0", "id": 1, "result": {"a": [\' + b\'[],\' * 1000000 + b\'1]}}\\n\')',
        "limit",
        "values",
        "",
    ),
    ("endless junk", "while True: say(b'junk\\n')", "limit", "sent only lines that are no messages", "junk"),
    ("endless nothing", "while True: say(b'\\n' * 60000)", "limit", "sent only lines that are no messages", ""),
    ("fails", "sys.exit('no API key')", "start", "ended (exit code 1) before it said anything", "no API key"),
    ("ends", "pass", "start", "ended (exit code 0) before it said anything", ""),
    ("is killed", "os.kill(os.getpid(), 9)", "start", "ended (SIGKILL) before it said anything", ""),
    ("dies later", f"say({LINE!r} + b'\\n'); sys.exit('oh')", "lost", "ended (exit code 1)", "It wrote:\noh"),
    ("closes its output", "os.close(1); time.sleep(60)", "start", "closed its output before it said anything", ""),
]


async def test_how_a_server_is_lost() -> None:
    async def one(name: str, script: str, why: str, words: str, hint: str) -> None:
        started = time.monotonic()
        _, failed = await all_said(server(script))
        assert (failed.why, words in failed.message, hint in failed.hint) == (why, True, True), (name, failed.info())
        assert time.monotonic() - started < 15

    await asyncio.gather(*(one(*case) for case in LOST))


async def test_junk_between_messages_is_borne_for_ever() -> None:
    script = f"for _ in range(3): say(b'junk\\n' * 900 + {LINE!r} + b'\\n')"
    said, failed = await all_said(server(script))
    assert (len(said), failed.why) == (3, "lost")


MISSING = [
    ("no-such-program", "there is no program 'no-such-program'", "Check its name, or install it"),
    ("npx", "there is no program 'npx'", "https://nodejs.org"),
    ("uvx", "there is no program 'uvx'", "pip install uv"),
    ("./here", "there is no program './here'", "Check the path"),
    ("", "there is no program to run", "Give its name"),
    ("a\0b", "cannot be given", "NUL"),
]


@pytest.mark.parametrize(("command", "words", "hint"), MISSING, ids=[repr(case[0]) for case in MISSING])
async def test_what_cannot_be_started(command: str, words: str, hint: str) -> None:
    config = ServerConfig(name="tried", command=command, env={"PATH": "/nowhere"})
    try:
        _, failed = await all_said(config)
    except McpFailed as error:
        failed = error
    assert failed.why == "start"
    assert words in failed.message
    assert hint in failed.hint


async def test_no_such_folder() -> None:
    _, failed = await all_said(server("pass", cwd="/no/such/folder"))
    assert failed.why == "start"
    assert "cannot run in the folder '/no/such/folder'" in failed.message


async def test_it_sees_what_it_is_given_and_nothing_else(tmp_path: Path) -> None:
    script = """
import json
told = {"jsonrpc": "2.0", "method": "ping", "params": {"env": dict(os.environ), "cwd": os.getcwd()}}
say(json.dumps(told).encode() + b"\\n")
"""
    environment = {
        "PATH": "/bin:relative",
        "HOME": "/h",
        "OPENAI_API_KEY": "secret",
        "LD_PRELOAD": "",
        "PYTHONPATH": "x",
    }
    async with running(server(script, env={"TOKEN": "t"}), cwd=str(tmp_path), environment=environment) as (reading, _):
        message = (await next_of(reading)).message
    assert isinstance(message, JSONRPCNotification)
    assert message.params is not None
    seen = message.params["env"]
    assert {name for name in seen if not name.startswith(("GIT_", "LC_"))} == {
        "PATH",
        "HOME",
        "TOKEN",
        "TOOLWIRE_CALL",
    }
    assert (seen["PATH"], seen["TOKEN"], message.params["cwd"]) == ("/bin", "t", str(tmp_path))


async def test_what_is_written() -> None:
    """Each kind of message, as one line of JSON, in order; large ones both ways at once."""
    kinds: list[JSONRPCMessage] = [
        JSONRPCRequest(jsonrpc="2.0", id="a", method="tools/call", params={"line": "one\ntwo\r\n", "é": "\u2028"}),
        JSONRPCNotification(jsonrpc="2.0", method="notifications/initialized"),
        JSONRPCResponse(jsonrpc="2.0", id=2, result={"large": "x" * 3_000_000}),
        JSONRPCError(jsonrpc="2.0", id=3, error=ErrorData(code=-1, message="no")),
    ]
    async with running(server(ECHO)) as (reading, writing):
        for message in kinds * 2:
            await writing.send(SessionMessage(message))
            assert dumped((await next_of(reading)).message) == dumped(message)


async def test_half_of_a_surrogate_pair_is_written_too() -> None:
    """As an escape: the SDK then finds no text in it, but the server can say what it thinks of it."""
    log = ServerLog(None)
    async with running(server(ECHO), log=log) as (reading, writing):
        await writing.send(request(1, text="\ud800"))
        await writing.send(request(2))
        assert "2" in dumped((await next_of(reading)).message)
    assert '"text": "\\ud800"' in log.tail()


async def test_what_is_too_large_to_send_is_answered_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stdio, "MESSAGE_BYTES", 1_000)
    async with running(server(ECHO)) as (reading, writing):
        await writing.send(request(1, text="x" * 2_000))
        refused = (await next_of(reading)).message
        assert isinstance(refused, JSONRPCError)
        assert (refused.id, refused.error.message) == (1, "the message is larger than 1,000 bytes")
        await writing.send(SessionMessage(JSONRPCNotification(jsonrpc="2.0", method="m", params={"x": "x" * 2_000})))
        await writing.send(SessionMessage(JSONRPCResponse(jsonrpc="2.0", id=7, result={"x": "x" * 2_000})))
        echoed = (await next_of(reading)).message
        assert isinstance(echoed, JSONRPCError)
        assert echoed.id == 7
        await writing.send(request(8))
        assert isinstance((await next_of(reading)).message, JSONRPCRequest)


async def test_a_server_that_does_not_read() -> None:
    """The writer waits, then it is lost; and nothing holds up the end."""
    config = server("time.sleep(60)", timeout=0.4)
    async with running(config) as (reading, writing):
        for number in range(2):
            with anyio.move_on_after(0.2):
                await writing.send(request(number, text="x" * 500_000))
        failed = await asyncio.wait_for(reading.receive(), 5)
        assert isinstance(failed, McpFailed)
        assert (failed.why, failed.message) == ("timeout", "the MCP server 'tried' took no message for 0.4 seconds")
        with pytest.raises(anyio.BrokenResourceError):
            await writing.send(request(9))


async def test_a_server_that_closes_its_input() -> None:
    script = f"os.close(0); say({LINE!r} + b'\\n'); time.sleep(60)"
    async with running(server(script)) as (reading, writing):
        await next_of(reading)
        await writing.send(request(1))
        failed = await asyncio.wait_for(reading.receive(), 5)
    assert isinstance(failed, McpFailed)
    assert (failed.why, failed.message) == ("lost", "the MCP server 'tried' closed its input")


async def test_a_server_is_not_read_ahead() -> None:
    script = f"import json\nfor number in range(10**6): say({LINE!r} + b'\\n'); os.write(2, b'.')"
    log = ServerLog(None)
    async with running(server(script), log=log) as (reading, _):
        await next_of(reading)
        before = 0
        async with asyncio.timeout(15):
            while not before == len(log.tail(10**6)) > 0:
                before = len(log.tail(10**6))
                await asyncio.sleep(0.1)
        assert before < 10_000


async def test_a_flood_leaves_the_loop_to_others() -> None:
    """Empty lines, of which nothing is given on, and now and then a message: others have more turns than that."""
    messages = turns = 0
    script = f"data = b'\\n' * 60000 + {LINE!r} + b'\\n'\nwhile True: say(data)"
    async with running(server(script)) as (reading, _):

        async def count() -> None:
            nonlocal messages
            async for _ in reading:
                messages += 1

        flood = asyncio.create_task(count())
        async with asyncio.timeout(30):
            while messages < 11:
                await asyncio.sleep(0)
                turns += messages > 0
        flood.cancel()
        await asyncio.wait((flood,))
    assert turns > 10


async def test_error_output_goes_to_the_log(tmp_path: Path) -> None:
    log = ServerLog(tmp_path / "a.log")
    script = f"sys.stderr.write('warning: ' + 'w' * 300000 + '\\nlast'); sys.stderr.flush()\n{ECHO}"
    async with running(server(script), log=log) as (reading, writing):
        await writing.send(request(1))
        await next_of(reading)
    assert log.tail(5) == "last"
    written = (tmp_path / "a.log").read_text()
    assert written.startswith("--- ")
    assert "tried is started\nwarning: www" in written
    assert len(written) > 300_000


@asynccontextmanager
async def in_time(seconds: float) -> AsyncIterator[None]:
    started = time.monotonic()
    yield
    assert time.monotonic() - started < seconds


@pytest.mark.parametrize("cancelled", [False, True])
async def test_an_honest_server_ends_by_itself(tmp_path: Path, cancelled: bool) -> None:
    """The last message reaches it, even if it first has something to say that nobody hears; its input is closed, and
    it has its time.
    """
    script = f"""
say(({LINE!r} + b"\\n") * 10000)
data = sys.stdin.buffer.read()
say(b"bye" * 100000)
open(sys.argv[1], "wb").write(data)
"""
    got = tmp_path / "got"
    with anyio.CancelScope() as scope:
        async with in_time(10), running(server(script, str(got))) as (reading, writing):
            await next_of(reading)
            await writing.send(request(1, text="x" * 200_000))
            if cancelled:
                scope.cancel()
    assert len(got.read_bytes()) > 200_000


DEAF = "signal.signal(15, signal.SIG_IGN)\nif os.fork() == 0: os.setsid()\nsay(b'{}\\n')\n"
ENDS = (
    DEAF + "time.sleep(60)",
    DEAF + "while True: say(b'\\n' + b'x' * 6000)",
    DEAF + "for line in sys.stdin.buffer: pass\ntime.sleep(60)",
)


@pytest.mark.skipif(sys.platform != "linux", reason="needs the supervisor")
async def test_nothing_is_left_however_it_ends() -> None:
    async def use(how: str, script: str, token: str) -> None:
        async with running(server(script, token)) as (_, writing):
            sending = asyncio.create_task(_send(writing))
            await asyncio.sleep(0.15)
            try:
                if how == "raises":
                    raise KeyError("ours")
                if how != "leaves":
                    await asyncio.sleep(60)
            finally:
                sending.cancel()

    async def one(how: str, script: str) -> dict[int, str]:
        token = new_token()
        if how == "scope":
            with anyio.move_on_after(0.3):
                await use(how, script, token)
        elif how == "task":
            task = asyncio.create_task(use(how, script, token))
            for _ in range(6):
                await asyncio.sleep(0.1)
                task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        elif how == "raises":
            with pytest.raises(KeyError):
                await use(how, script, token)
        else:
            await use(how, script, token)
        return living(token)

    before = set(os.listdir("/proc/self/fd"))
    async with in_time(15):
        cases = [(how, script) for how in ("leaves", "raises", "scope", "task") for script in ENDS]
        assert await asyncio.gather(*(one(*case) for case in cases)) == [{}] * len(cases)
    assert set(os.listdir("/proc/self/fd")) <= before
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def _send(writing: Any) -> None:
    await writing.send(request(1, text="x" * 1_000_000))
    await writing.send(request(2))


def test_again_on_another_loop() -> None:
    async def once() -> None:
        async with running(server(ECHO)) as (reading, writing):
            await writing.send(request(1))
            await next_of(reading)

    asyncio.run(once())
    asyncio.run(once())
