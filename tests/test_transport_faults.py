from __future__ import annotations

import asyncio
import gzip
import random
import tracemalloc
import zlib
from collections.abc import AsyncIterator
from typing import Any

import pytest

from rawserver import (
    CHUNKED,
    HEAD,
    QUICK,
    Handler,
    answering,
    collect,
    fails,
    post,
    receive,
    reset,
    serving,
    until_gone,
    whole,
)
from toolwire import transport as transport_module
from toolwire.errors import (
    LimitExceeded,
    ProviderError,
    RateLimited,
    TimedOut,
    ToolwireError,
    TransportError,
)
from toolwire.limits import KIB, MIB, Limits
from toolwire.transport import AiohttpTransport, Timeouts
from waiting import leap


@pytest.fixture
async def transport() -> AsyncIterator[AiohttpTransport]:
    async with AiohttpTransport(timeouts=QUICK) as opened:
        yield opened


async def test_an_endless_error_body_is_cut(transport: AiohttpTransport) -> None:
    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await receive(reader)
        writer.write(b"HTTP/1.1 500 Oops\r\n\r\n")
        while True:
            writer.write(b"word " * 10_000)
            await writer.drain()

    async with serving(handle) as url:
        error = await fails(transport, post(url))
    assert error.message == f"acme failed (500): {'word ' * 59}word"


@pytest.mark.parametrize("ending", ["stall", "reset"])
async def test_a_broken_error_body_does_not_hide_the_status(
    transport: AiohttpTransport, monkeypatch: pytest.MonkeyPatch, ending: str
) -> None:
    monkeypatch.setattr(transport_module, "_ERROR_BODY_SECONDS", 1.0)

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await receive(reader)
        writer.write(b"HTTP/1.1 429 Slow\r\nContent-Length: 900\r\n\r\nslow down")
        await writer.drain()
        await asyncio.sleep(0.02)
        if ending == "reset":
            reset(writer)
        await until_gone(reader)

    async with serving(handle) as url:
        error = await fails(transport, post(url))
    assert type(error) is RateLimited
    assert error.message == "acme asks to slow down (429): slow down"


ROWS_LATE: list[tuple[str, Timeouts, list[bytes], str, str, int]] = [
    ("https", Timeouts(connect=0.1), [], "connect", "no connection to {url} within 0.1 s", 0),
    ("http", Timeouts(idle=0.1), [], "idle", "acme sent nothing for 0.1 s", 0),
    ("http", Timeouts(idle=0.1), [CHUNKED], "idle", "acme sent nothing for 0.1 s", 0),
    ("http", Timeouts(idle=1), [CHUNKED, b"3\r\nabc\r\n"], "idle", "acme sent nothing for 1 s", 3),
    ("http", Timeouts(total=0.1), [], "total", "the answer of acme took longer than 0.1 s", 0),
    ("https", Timeouts(total=0.1), [], "total", "the answer of acme took longer than 0.1 s", 0),
    ("http", Timeouts(total=1), [CHUNKED, b"3\r\nabc\r\n"], "total", "the answer of acme took longer than 1 s", 3),
]  # fmt: skip


@pytest.mark.parametrize(("scheme", "timeouts", "pieces", "which", "message", "received"), ROWS_LATE)
async def test_time_outs(
    scheme: str, timeouts: Timeouts, pieces: list[bytes], which: str, message: str, received: int
) -> None:
    gone = asyncio.Event()

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if pieces:
            await receive(reader)
        for piece in pieces:
            writer.write(piece)
            await asyncio.sleep(0.02)
        await until_gone(reader)
        gone.set()

    async with serving(handle) as plain, AiohttpTransport(timeouts=timeouts) as transport:
        url = plain.replace("http", scheme)
        data, error = await collect(transport, post(url))
        await asyncio.wait_for(gone.wait(), 10)
    assert type(error) is TimedOut
    assert error.message == message.format(url=url)
    assert (error.which, error.seconds) == (which, getattr(timeouts, which))
    assert error.received == len(data) == received


@pytest.mark.parametrize(("server_pause", "pause"), [(0.005, 0.0), (0.0, 0.01)])
async def test_the_total_bound_holds_against_a_stream_that_never_rests(server_pause: float, pause: float) -> None:
    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await receive(reader)
        writer.write(HEAD + b"\r\n")
        while True:
            writer.write(b"x" * 1000)
            await writer.drain()
            await asyncio.sleep(server_pause)

    async with serving(handle) as url, AiohttpTransport(timeouts=Timeouts(total=1)) as transport:
        async with asyncio.timeout(10):
            data, error = await collect(transport, post(url), pause)
    assert type(error) is TimedOut
    assert (error.which, error.received) == ("total", len(data))
    assert data


async def test_a_slow_consumer_is_not_idle_time() -> None:
    pieces = [b"3\r\nabc\r\n"] * 3 + [b"0\r\n\r\n"]
    patient = AiohttpTransport(timeouts=Timeouts(idle=20))
    data = b""
    async with serving(answering(CHUNKED, *pieces)) as url, patient as transport:
        async for piece in transport.stream(post(url)):
            data += piece
            leap(30)
            await asyncio.sleep(0.05)
    assert data == b"abcabcabc"


async def test_a_server_that_does_not_read_the_request_is_let_go(monkeypatch: pytest.MonkeyPatch) -> None:
    used: list[asyncio.Transport | None] = []
    connected = transport_module._Exchange.connected

    def watched(exchange: Any, transport: asyncio.Transport | None) -> None:
        used.append(transport)
        connected(exchange, transport)

    async def handle(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        assert isinstance(writer.transport, asyncio.Transport)
        writer.transport.pause_reading()
        await asyncio.sleep(60)

    monkeypatch.setattr(transport_module._Exchange, "connected", watched)
    async with serving(handle) as url, AiohttpTransport(timeouts=Timeouts(idle=0.2)) as client:
        error = await fails(client, post(url, bytes(32 * MIB)))
        await asyncio.sleep(0)
    assert type(error) is TimedOut
    assert error.which == "idle"
    assert [transport and transport.get_write_buffer_size() for transport in used] == [0]


def damaged(kind: str) -> Handler:
    answers = {
        "chunk cut": (CHUNKED, b"6\r\nabcdef\r\n", b"9\r\ngh"),
        "no last chunk": (CHUNKED, b"6\r\nabcdef\r\n", b"2\r\ngh\r\n"),
        "length cut": (HEAD + b"Content-Length: 99\r\n\r\n", b"abcdefgh"),
        "bad chunk": (CHUNKED, b"6\r\nabcdef\r\n", b"2\r\ngh\r\n", b"zz\r\n"),
        "chunked reset": (CHUNKED, b"8\r\nabcdefgh\r\n"),
        "open reset": (HEAD + b"\r\n", b"abcdefgh"),
    }

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await answering(*answers[kind])(reader, writer)
        await asyncio.sleep(0.02)
        if "reset" in kind:
            reset(writer)
        if kind == "bad chunk":
            await until_gone(reader)

    return handle


@pytest.mark.parametrize("pause", [0.0, 0.15])
@pytest.mark.parametrize(
    "kind", ["chunk cut", "no last chunk", "length cut", "bad chunk", "chunked reset", "open reset"]
)
async def test_a_broken_body_gives_all_its_bytes_and_then_an_error(
    transport: AiohttpTransport, kind: str, pause: float
) -> None:
    async with serving(damaged(kind)) as url:
        data, error = await collect(transport, post(url), pause)
    assert data == b"abcdefgh"
    assert type(error) is TransportError
    assert error.received == 8
    assert error.message.startswith("the answer of acme broke off: ")


async def test_a_hang_up_before_the_answer(transport: AiohttpTransport) -> None:
    async with serving(answering()) as url:
        error = await fails(transport, post(url))
    assert type(error) is TransportError
    assert error.message == f"{url} closed the connection without an answer"


@pytest.mark.parametrize("answer", [b"SSH-2.0-OpenSSH_9\r\n", b"\x15\x03\x01\x00\x02\x02\x46", b"HTTP/1.1 abc\r\n\r\n"])
async def test_something_else_than_http(transport: AiohttpTransport, answer: bytes) -> None:
    async with serving(answering(answer)) as url:
        error = await fails(transport, post(url))
    assert type(error) is TransportError
    assert error.message.startswith(f"{url} does not speak HTTP: ")


@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
async def test_compressed_bodies(transport: AiohttpTransport, encoding: str) -> None:
    text = b"data: hello\n\n" * 1000
    packed = gzip.compress(text) if encoding == "gzip" else zlib.compress(text)
    answer = whole("200 OK", packed, f"Content-Encoding: {encoding}")
    async with serving(answering(answer[:120], answer[120:])) as url:
        assert await collect(transport, post(url)) == (text, None)
    broken = whole("200 OK", b"no such thing" * 9, f"Content-Encoding: {encoding}")
    async with serving(answering(broken[:70], broken[70:])) as url:
        error = await fails(transport, post(url))
    assert type(error) is TransportError


@pytest.mark.parametrize("cut", [1, 7, 100_000])
async def test_the_limit_of_a_stream(cut: int) -> None:
    body = b"0123456789" * 10
    gone = asyncio.Event()

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await receive(reader)
        writer.write(HEAD + f"Content-Length: {len(body) + 50}\r\n\r\n".encode())
        for start in range(0, len(body), cut):
            writer.write(body[start : start + cut])
            await writer.drain()
        await until_gone(reader)
        gone.set()

    async with serving(handle) as url, AiohttpTransport(limits=Limits(stream=99)) as transport:
        data, error = await collect(transport, post(url))
        await asyncio.wait_for(gone.wait(), 10)
    assert data == body[:99]
    assert type(error) is LimitExceeded
    assert (error.what, error.limit, error.received) == ("stream", 99, 99)


async def test_a_body_of_exactly_the_limit_is_whole() -> None:
    exact = AiohttpTransport(limits=Limits(stream=99))
    async with serving(answering(whole("200 OK", b"x" * 99))) as url, exact as transport:
        assert await collect(transport, post(url)) == (b"x" * 99, None)


@pytest.mark.thorough
@pytest.mark.parametrize("status", ["200 OK", "500 Oops"])
async def test_a_decompression_bomb_is_bounded(status: str) -> None:
    packer = zlib.compressobj(9, wbits=31)
    bomb = b"".join([*(packer.compress(bytes(MIB)) for _ in range(200)), packer.flush()])
    answer = whole(status, bomb, "Content-Encoding: gzip")
    small = AiohttpTransport(limits=Limits(stream=4 * MIB), timeouts=QUICK)
    received, kind = 0, None
    async with serving(answering(answer)) as url, small as transport:
        tracemalloc.start()
        try:
            async for piece in transport.stream(post(url)):
                received += len(piece)
        except ToolwireError as error:
            kind = type(error)
        finally:
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
    assert (kind, received) == ((LimitExceeded, 4 * MIB) if status == "200 OK" else (ProviderError, 0))
    assert peak < 3 * MIB


async def test_a_waiting_consumer_stops_the_server(transport: AiohttpTransport) -> None:
    written = 0
    gone = asyncio.Event()

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal written
        await receive(reader)
        writer.write(HEAD + b"\r\n")
        block = bytes(64 * KIB)
        try:
            while written < 200 * MIB:
                writer.write(block)
                await writer.drain()
                written += len(block)
        except ConnectionError:
            gone.set()

    async with serving(handle) as url:
        tracemalloc.start()
        try:
            stream = transport.stream(post(url))
            assert await anext(stream)
            seen = -1
            while seen != written:
                seen = written
                await asyncio.sleep(0.1)
            held = tracemalloc.get_traced_memory()[0]
        finally:
            tracemalloc.stop()
        assert 0 < written < 16 * MIB
        assert held < 2 * MIB
        assert not gone.is_set()
        await stream.aclose()
        await asyncio.wait_for(gone.wait(), 10)
    assert written < 16 * MIB


@pytest.mark.parametrize("pieces", [[], [CHUNKED], [CHUNKED + b"3\r\nabc\r\n"]])
async def test_a_cancelled_task_leaves_nothing(transport: AiohttpTransport, pieces: list[bytes]) -> None:
    asked, gone = asyncio.Event(), asyncio.Event()

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await receive(reader)
        writer.writelines(pieces)
        asked.set()
        await until_gone(reader)
        gone.set()

    async with serving(handle) as url:
        before = asyncio.all_tasks()
        task = asyncio.create_task(collect(transport, post(url)))
        await asked.wait()
        await asyncio.sleep(0.02)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.wait_for(gone.wait(), 10)
        await asyncio.sleep(0.02)
        assert asyncio.all_tasks() <= before


async def test_break_and_close_let_the_connection_go(transport: AiohttpTransport) -> None:
    gone = asyncio.Event()

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await receive(reader)
        writer.write(CHUNKED + b"3\r\nabc\r\n")
        await until_gone(reader)
        gone.set()

    async with serving(handle) as url:
        stream = transport.stream(post(url))
        async for piece in stream:
            assert piece == b"abc"
            break
        assert not gone.is_set()
        await stream.aclose()
        await asyncio.wait_for(gone.wait(), 10)
        with pytest.raises(StopAsyncIteration):
            await anext(stream)


@pytest.mark.parametrize("head", [CHUNKED + b"3\r\nabc\r\n", HEAD + b"\r\nabc"])
async def test_closing_the_transport_ends_its_streams(transport: AiohttpTransport, head: bytes) -> None:
    sent = asyncio.Event()

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await receive(reader)
        writer.write(head)
        sent.set()
        await until_gone(reader)

    async with serving(handle) as url:
        task = asyncio.create_task(collect(transport, post(url)))
        await asyncio.wait_for(sent.wait(), 10)
        for _ in range(10):
            await asyncio.sleep(0.01)
        await transport.aclose()
        data, error = await asyncio.wait_for(task, 10)
    assert data == b"abc"
    assert type(error) is TransportError
    async with serving(answering(whole("200 OK", b"ok"))) as url:
        assert await collect(transport, post(url)) == (b"ok", None)


async def test_closing_reaches_the_sessions_of_other_threads(transport: AiohttpTransport) -> None:
    closing = asyncio.Event()
    loop = asyncio.get_running_loop()

    def elsewhere(url: str) -> tuple[bytes, ToolwireError | None]:
        async def run() -> tuple[bytes, ToolwireError | None]:
            stream = asyncio.create_task(collect(transport, post(url)))
            await asyncio.sleep(0.1)
            loop.call_soon_threadsafe(closing.set)
            return await asyncio.wait_for(stream, 10)

        return asyncio.run(run())

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await receive(reader)
        writer.write(CHUNKED + b"3\r\nabc\r\n")
        await until_gone(reader)

    async with serving(handle) as url:
        thread = asyncio.create_task(asyncio.to_thread(elsewhere, url))
        await closing.wait()
        await transport.aclose()
        data, error = await thread
    assert data == b"abc"
    assert type(error) is TransportError


async def test_whatever_a_server_sends_the_error_is_ours(transport: AiohttpTransport) -> None:
    chance = random.Random(7)
    answers = [
        CHUNKED + b"3\r\nabc\r\n0\r\n\r\n",
        whole("200 OK", gzip.compress(b"abc"), "Content-Encoding: gzip"),
        whole("400 Bad", b'{"error": {"message": "x"}}', "Retry-After: 5", "Content-Type: application/json"),
        whole("301 Moved", b"", "Location: http://127.0.0.1/there"),
    ]
    answer = b""

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await receive(reader)
        writer.write(answer)

    outcomes: set[str] = set()
    async with serving(handle) as url:
        for _ in range(400):
            mutant = bytearray(chance.choice(answers))
            for _ in range(chance.randint(1, 4)):
                place = chance.randrange(len(mutant))
                mutant[place : place + chance.randint(0, 3)] = chance.randbytes(chance.randint(0, 3))
            answer = bytes(mutant)
            _, error = await collect(transport, post(url))
            outcomes.add(type(error).__name__)
    assert {"NoneType", "ProviderError", "TransportError"} <= outcomes


async def test_a_kept_connection_that_the_server_hung_up_is_replaced(transport: AiohttpTransport) -> None:
    """Servers promise to keep a connection and reset it when the next request comes: llama.cpp does."""
    connections = 0
    heads: list[str] = []

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal connections
        connections += 1
        heads.append((await receive(reader))[0])
        writer.write(CHUNKED + b"2\r\nok\r\n0\r\n\r\n")
        await writer.drain()
        await reader.read(1)
        reset(writer)

    async with serving(handle) as url:
        for _ in range(4):
            assert b"".join([piece async for piece in transport.stream(post(url))]) == b"ok"
    assert connections == len(heads) == 4


async def test_a_new_connection_that_is_hung_up_is_not_tried_again(transport: AiohttpTransport) -> None:
    connections = 0

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal connections
        connections += 1
        await receive(reader)
        reset(writer)

    async with serving(handle) as url:
        with pytest.raises(TransportError):
            [piece async for piece in transport.stream(post(url))]
    assert connections == 1
