from __future__ import annotations

import asyncio
import gzip
import io
import json
import random
import socket
import ssl
import struct
import subprocess
import sys
import tracemalloc
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from toolwire import transport as transport_module
from toolwire.errors import (
    AuthenticationFailed,
    ConfigError,
    LimitExceeded,
    ModelNotFound,
    ProviderError,
    RateLimited,
    TimedOut,
    ToolwireError,
    TransportError,
)
from toolwire.limits import KIB, MIB, Limits
from toolwire.transport import AiohttpTransport, HttpRequest, Timeouts, Transport

CANARY = "sk-canary-7f3Kq9Zx2Lm8Vb4N"
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
QUICK = Timeouts(connect=2, idle=2, total=5)

# A throw-away certificate for localhost and 127.0.0.1, valid from 2020 to 2120.
CERTIFICATE = """\
-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgPEH6v5H6IUBx5Ulr
OfxHgAHJ1TvM653OH8r1NypEyNuhRANCAATotjZhepO8CMqFe+w7Y0cXnKU71wPt
1KjaMQlQ76i246l/KFuW8R7rI6nDBBE9BCQqSYIonoa3Yoz6icYpqpni
-----END PRIVATE KEY-----
-----BEGIN CERTIFICATE-----
MIIBbzCCARWgAwIBAgIBATAKBggqhkjOPQQDAjAYMRYwFAYDVQQDDA10b29sd2ly
ZSB0ZXN0MCAXDTIwMDEwMTAwMDAwMFoYDzIxMjAwMTAxMDAwMDAwWjAYMRYwFAYD
VQQDDA10b29sd2lyZSB0ZXN0MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE6LY2
YXqTvAjKhXvsO2NHF5ylO9cD7dSo2jEJUO+otuOpfyhblvEe6yOpwwQRPQQkKkmC
KJ6Gt2KM+onGKaqZ4qNOMEwwDwYDVR0TAQH/BAUwAwEB/zAdBgNVHQ4EFgQUqdhF
8U7xVE7kcs4ih752OvP0YmwwGgYDVR0RBBMwEYIJbG9jYWxob3N0hwR/AAABMAoG
CCqGSM49BAMCA0gAMEUCIBQV5JPgcu0w0LTK5btS8JHPfqKtW9WbVvLnNc4E2t0X
AiEAxwrpb9ESIHZ0UiEXxa5v9cZk51lO7E0qABmTtmTlKGg=
-----END CERTIFICATE-----
"""

Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def serving(handler: Handler, tls: ssl.SSLContext | None = None) -> AsyncIterator[str]:
    """A raw server, so that the bytes on the wire are exact; every handler ends with it."""
    tasks: list[asyncio.Task[Any]] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.append(task)
        with suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            await handler(reader, writer)
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=tls)
    try:
        yield f"http{'s' if tls else ''}://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks)


async def receive(reader: asyncio.StreamReader) -> tuple[str, bytes]:
    head = (await reader.readuntil(b"\r\n\r\n")).decode()
    length = [int(line[15:]) for line in head.lower().split("\r\n") if line.startswith("content-length:")]
    return head, await reader.readexactly(length[0] if length else 0)


def answering(*answers: bytes) -> Handler:
    """Sends the answer in these pieces, then closes."""

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await receive(reader)
        for piece in answers:
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(0.02)

    return handle


def whole(status: str, body: bytes, *headers: str) -> bytes:
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *headers, "", ""]
    return "\r\n".join(lines).encode() + body


def reset(writer: asyncio.StreamWriter) -> None:
    raw = writer.get_extra_info("socket")
    raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


async def until_gone(reader: asyncio.StreamReader) -> None:
    with suppress(ConnectionError):
        while await reader.read(65536):
            pass


def post(url: str, body: bytes = b"{}", **fields: Any) -> HttpRequest:
    headers = {"Authorization": f"Bearer {CANARY}", "Content-Type": "application/json"}
    return HttpRequest(url=url, headers=headers, body=body, **{"provider": "acme", "model": "m-1", **fields})


async def collect(transport: Transport, request: HttpRequest, pause: float = 0) -> tuple[bytes, ToolwireError | None]:
    """Everything that came, and how it ended; no error may show the key, whichever way it is looked at."""
    data = b""
    try:
        async with aclosing(transport.stream(request)) as stream:
            async for piece in stream:
                data += piece
                await asyncio.sleep(pause)
    except ToolwireError as error:
        assert_hidden(error)
        return data, error
    return data, None


async def fails(transport: Transport, request: HttpRequest) -> ToolwireError:
    _, error = await collect(transport, request)
    assert error is not None
    return error


def assert_hidden(error: BaseException | None) -> None:
    while error is not None:
        for shown in (str(error), repr(error), repr(vars(error)), repr(error.args)):
            assert CANARY not in shown
            assert CANARY[:12] not in shown
        if isinstance(error, ToolwireError):
            assert CANARY not in repr(error.info())
        error = error.__cause__ or error.__context__


@pytest.fixture
async def transport() -> AsyncIterator[AiohttpTransport]:
    async with AiohttpTransport(timeouts=QUICK) as opened:
        yield opened


async def test_bytes_come_as_they_are_sent(transport: AiohttpTransport) -> None:
    go_on = asyncio.Event()
    seen: list[tuple[str, bytes]] = []

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen.append(await receive(reader))
        writer.write(CHUNKED + b"5\r\ndata:\r\n")
        await go_on.wait()
        writer.write(b"4\r\n \xc3\xa9\n\r\n0\r\n\r\n")

    async with serving(handle) as url:
        stream = transport.stream(post(f"{url}/model/a%3A0/x?q=%20", b'{"a":1}'))
        assert await anext(stream) == b"data:"
        go_on.set()
        assert [piece async for piece in stream] == [b" \xc3\xa9\n"]
    head, body = seen[0]
    assert head.startswith("POST /model/a%3A0/x?q=%20 HTTP/1.1\r\n")
    assert f"Authorization: Bearer {CANARY}\r\n" in head
    assert body == b'{"a":1}'


async def test_a_large_request_arrives_whole(transport: AiohttpTransport) -> None:
    bodies: list[bytes] = []

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        bodies.append((await receive(reader))[1])
        writer.write(whole("200 OK", b"ok"))

    body = random.Random(1).randbytes(3 * MIB)
    async with serving(handle) as url:
        assert await collect(transport, post(url, body)) == (b"ok", None)
    assert bodies == [body]


async def test_json_and_bodies_that_end_with_the_connection_pass_through(transport: AiohttpTransport) -> None:
    async with serving(answering(whole("200 OK", b'{"a": 1}', "Content-Type: application/json"))) as url:
        assert await collect(transport, post(url)) == (b'{"a": 1}', None)
    async with serving(answering(HEAD + b"\r\nabc", b"def")) as url:
        assert await collect(transport, post(url)) == (b"abcdef", None)
    async with serving(answering(b"HTTP/1.1 204 No Content\r\n\r\n")) as url:
        assert await collect(transport, post(url)) == (b"", None)


STATUSES: list[tuple[str, object, type[ToolwireError], str, dict[str, object]]] = [
    (
        "401 Unauthorized",
        {"error": {"message": f"Incorrect API key provided: {CANARY}", "code": "invalid_api_key"}},
        AuthenticationFailed,
        "acme refused the key (401): Incorrect API key provided: ***",
        {"code": "invalid_api_key"},
    ),
    (
        "401 Unauthorized",
        {"error": {"message": f"Incorrect API key provided: {CANARY[:6]}*****{CANARY[-4:]}.", "type": "t"}},
        AuthenticationFailed,
        "acme refused the key (401): Incorrect API key provided: ***",
        {"code": "t"},
    ),
    ("403 Forbidden", {"detail": "no"}, AuthenticationFailed, "acme refused access (403): no", {}),
    (
        "404 Not Found",
        {"error": "model 'm-1' not found, try pulling it first"},
        ModelNotFound,
        "acme has no model \"m-1\" (404): model 'm-1' not found, try pulling it first",
        {"model": "m-1"},
    ),
    (
        "404 Not Found",
        [{"error": {"code": 404, "message": "models/m-1 is not found", "status": "NOT_FOUND"}}],
        ModelNotFound,
        'acme has no model "m-1" (404): models/m-1 is not found',
        {"model": "m-1", "code": "NOT_FOUND"},
    ),
    ("404 Not Found", {"detail": "Not Found"}, ProviderError, "acme knows no such address (404): Not Found", {}),
    ("404 Not Found", "<html><b>404</b></html>", ProviderError, "acme knows no such address (404): an HTML page", {}),
    (
        "429 Too Many Requests\r\nRetry-After: 12",
        {"error": {"message": "slow", "type": "tokens", "code": "rate_limit_exceeded"}},
        RateLimited,
        "acme asks to slow down (429): slow",
        {"code": "rate_limit_exceeded", "retry_after": 12.0},
    ),
    (
        "429 Too Many Requests\r\nRetry-After: Thu, 01 Jan 1970 00:00:00 GMT",
        "",
        RateLimited,
        "acme asks to slow down (429)",
        {"retry_after": 0.0},
    ),
    ("400 Bad Request", {"message": "no"}, ProviderError, "acme refused the request (400): no", {}),
    (
        "422 Unprocessable Entity",
        {"detail": [{"loc": ["body", "a"], "msg": "required"}, {"loc": ["body", "b"], "msg": "wrong"}]},
        ProviderError,
        "acme refused the request (422): body.a: required; body.b: wrong",
        {},
    ),
    ("500 Oops", f"trace: Bearer {CANARY}", ProviderError, "acme failed (500): trace: Bearer ***", {}),
    ("503 Busy\r\nRetry-After: 3", "", ProviderError, "acme failed (503)", {"retry_after": 3.0}),
    ("529 Overloaded", {"error": {"type": "overloaded_error", "message": "Overloaded"}}, ProviderError,
     "acme failed (529): Overloaded", {"code": "overloaded_error"}),
    ("200 OK\r\nContent-Type: text/html; charset=utf-8", "<p>Welcome", ProviderError,
     "acme answered with a web page, not a stream (200)", {}),
]  # fmt: skip


@pytest.mark.parametrize(("status", "body", "kind", "message", "facts"), STATUSES)
async def test_a_status_becomes_an_error(
    transport: AiohttpTransport,
    status: str,
    body: object,
    kind: type[ToolwireError],
    message: str,
    facts: dict[str, object],
) -> None:
    text = body if isinstance(body, str) else json.dumps(body)
    async with serving(answering(whole(status, text.encode()))) as url:
        error = await fails(transport, post(url))
    assert type(error) is kind
    assert error.message == message
    assert error.facts == {"provider": "acme", "status": int(status[:3]), **facts}
    assert error.hint


@pytest.mark.parametrize("status", ["301 Moved", "302 Found", "303 See Other", "307 Temporary", "308 Permanent"])
async def test_a_redirect_is_told_not_followed(transport: AiohttpTransport, status: str) -> None:
    visits: list[str] = []

    async def elsewhere(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        visits.append((await receive(reader))[0])

    async with serving(elsewhere) as there:
        target = f"Location: {there}/v2/chat?token={CANARY}"
        async with serving(answering(whole(status, b"", target))) as url:
            error = await fails(transport, post(f"{url}/v1/chat"))
        async with serving(answering(whole(status, b"", "Location: ../v2/chat"))) as url:
            relative = await fails(transport, post(f"{url}/v1/chat"))
    assert type(error) is ProviderError
    assert error.message == f"acme redirects to {there}/v2/chat ({status[:3]})"
    assert "base URL" in error.hint
    assert relative.message == f"acme redirects to {url}/v2/chat ({status[:3]})"
    assert visits == []


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
    monkeypatch.setattr(transport_module, "_ERROR_BODY_SECONDS", 0.1)

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


async def test_no_server(transport: AiohttpTransport) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}"
        error = await fails(transport, post(f"{url}/v1/chat?key={CANARY}"))
    assert type(error) is TransportError
    assert error.message == f"cannot reach {url}: connection refused"
    assert error.hint.startswith("Is the server running?")
    assert error.facts == {"url": f"{url}/v1/chat", "provider": "acme", "received": 0}


async def test_no_such_host(transport: AiohttpTransport, monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*_: object, **__: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setenv("NO_PROXY", "*")
    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    error = await fails(transport, post("http://model.example/v1"))
    assert type(error) is TransportError
    assert error.message == "cannot reach http://model.example: no such host"


async def test_tls(tmp_path: Path) -> None:
    pem = tmp_path / "server.pem"
    pem.write_text(CERTIFICATE)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pem)
    async with serving(answering(whole("200 OK", b"ok")), context) as url:
        for verify in (False, str(pem)):
            async with AiohttpTransport(timeouts=QUICK, verify=verify) as trusting:
                assert await collect(trusting, post(url)) == (b"ok", None)
        async with AiohttpTransport(timeouts=QUICK) as strict:
            error = await fails(strict, post(url))
    assert type(error) is TransportError
    assert error.message == f"cannot trust {url}: self-signed certificate"
    assert "verify=" in error.hint


async def test_tls_where_there_is_none(transport: AiohttpTransport) -> None:
    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(whole("400 Bad Request", b"what is this?"))

    async with serving(handle) as url:
        error = await fails(transport, post(url.replace("http", "https")))
    assert type(error) is TransportError
    assert error.message.startswith("no secure connection to https://127.0.0.1:")
    assert "http://" in error.hint


@pytest.mark.parametrize("content", [None, "no certificate"])
def test_a_ca_file_that_cannot_be_used(tmp_path: Path, content: str | None) -> None:
    path = tmp_path / "ca.pem"
    if content is not None:
        path.write_text(content)
    with pytest.raises(ConfigError, match=r"cannot use the CA file .*ca\.pem"):
        AiohttpTransport(verify=str(path))


ROWS_LATE: list[tuple[str, Timeouts, list[bytes], str, str, int]] = [
    ("https", Timeouts(connect=0.1), [], "connect", "no connection to {url} within 0.1 s", 0),
    ("http", Timeouts(idle=0.1), [], "idle", "acme sent nothing for 0.1 s", 0),
    ("http", Timeouts(idle=0.1), [CHUNKED], "idle", "acme sent nothing for 0.1 s", 0),
    ("http", Timeouts(idle=0.1), [CHUNKED, b"3\r\nabc\r\n"], "idle", "acme sent nothing for 0.1 s", 3),
    ("http", Timeouts(total=0.1), [], "total", "the answer of acme took longer than 0.1 s", 0),
    ("https", Timeouts(total=0.1), [], "total", "the answer of acme took longer than 0.1 s", 0),
    ("http", Timeouts(total=0.2), [CHUNKED, b"3\r\nabc\r\n"], "total", "the answer of acme took longer than 0.2 s", 3),
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
        await asyncio.wait_for(gone.wait(), 1)
    assert type(error) is TimedOut
    assert error.message == message.format(url=url)
    assert (error.which, error.seconds) == (which, getattr(timeouts, which))
    assert error.received == len(data) == received


@pytest.mark.parametrize("pause", [0.0, 0.005])
async def test_the_total_bound_holds_against_a_stream_that_never_rests(pause: float) -> None:
    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await receive(reader)
        writer.write(HEAD + b"\r\n")
        while True:
            writer.write(b"x" * 1000)
            await writer.drain()
            await asyncio.sleep(pause)

    async with serving(handle) as url, AiohttpTransport(timeouts=Timeouts(total=0.2)) as transport:
        async with asyncio.timeout(2):
            data, error = await collect(transport, post(url))
    assert type(error) is TimedOut
    assert (error.which, error.received) == ("total", len(data))
    assert data


async def test_a_slow_consumer_is_not_idle_time() -> None:
    pieces = [b"3\r\nabc\r\n"] * 3 + [b"0\r\n\r\n"]
    patient = AiohttpTransport(timeouts=Timeouts(idle=0.1))
    async with serving(answering(CHUNKED, *pieces)) as url, patient as transport:
        assert await collect(transport, post(url), pause=0.2) == (b"abcabcabc", None)


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
        await asyncio.wait_for(gone.wait(), 1)
    assert data == body[:99]
    assert type(error) is LimitExceeded
    assert (error.what, error.limit, error.received) == ("stream", 99, 99)


async def test_a_body_of_exactly_the_limit_is_whole() -> None:
    exact = AiohttpTransport(limits=Limits(stream=99))
    async with serving(answering(whole("200 OK", b"x" * 99))) as url, exact as transport:
        assert await collect(transport, post(url)) == (b"x" * 99, None)


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
        await asyncio.wait_for(gone.wait(), 1)
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
        await asyncio.wait_for(gone.wait(), 1)
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
        await asyncio.wait_for(gone.wait(), 1)
        with pytest.raises(StopAsyncIteration):
            await anext(stream)


async def test_connections_are_used_again_and_cookies_are_not(transport: AiohttpTransport) -> None:
    heads: list[list[str]] = []

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heads.append([])
        while True:
            heads[-1].append((await receive(reader))[0])
            writer.write(whole("200 OK", b"ok", "Set-Cookie: a=b; Path=/"))
            if len(heads[-1]) == 3:
                return

    async with serving(handle) as url:
        for _ in range(4):
            assert await collect(transport, post(url)) == (b"ok", None)
            await asyncio.sleep(0.02)
    assert [len(connection) for connection in heads] == [3, 1]
    assert not any("cookie" in head.lower() for connection in heads for head in connection)


@pytest.mark.parametrize("head", [CHUNKED + b"3\r\nabc\r\n", HEAD + b"\r\nabc"])
async def test_closing_the_transport_ends_its_streams(transport: AiohttpTransport, head: bytes) -> None:
    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await receive(reader)
        writer.write(head)
        await until_gone(reader)

    async with serving(handle) as url:
        task = asyncio.create_task(collect(transport, post(url)))
        await asyncio.sleep(0.1)
        await transport.aclose()
        data, error = await asyncio.wait_for(task, 1)
    assert data == b"abc"
    assert type(error) is TransportError
    async with serving(answering(whole("200 OK", b"ok"))) as url:
        assert await collect(transport, post(url)) == (b"ok", None)


def test_one_transport_serves_one_loop_after_another() -> None:
    transport = AiohttpTransport(timeouts=QUICK)

    async def run(close: bool) -> None:
        async with serving(answering(whole("200 OK", b"ok", "Connection: close"))) as url:
            assert await collect(transport, post(url)) == (b"ok", None)
        if close:
            await transport.aclose()

    for close in (False, True, True):
        asyncio.run(run(close))


async def test_closing_reaches_the_sessions_of_other_threads(transport: AiohttpTransport) -> None:
    closing = asyncio.Event()
    loop = asyncio.get_running_loop()

    def elsewhere(url: str) -> tuple[bytes, ToolwireError | None]:
        async def run() -> tuple[bytes, ToolwireError | None]:
            stream = asyncio.create_task(collect(transport, post(url)))
            await asyncio.sleep(0.1)
            loop.call_soon_threadsafe(closing.set)
            return await asyncio.wait_for(stream, 1)

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


@pytest.mark.parametrize(
    "url",
    [
        "",
        "localhost:1234/v1",
        "127.0.0.1:1234",
        "/v1/chat",
        "ftp://host/",
        "file:///etc/passwd",
        "http://",
        "http:///v1",
        "http://host:99999/",
        "http://host:port/",
        "http://host/a\nb",
        "http://[::1/",
        f"hppt://user:{CANARY}@host/?key={CANARY}",
    ],
)
async def test_a_wrong_url(transport: AiohttpTransport, url: str) -> None:
    error = await fails(transport, post(url))
    assert type(error) is ConfigError
    assert error.hint


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("Authorization", f"Bearer {CANARY}\n"),
        ("X-Key", f"{CANARY}\r\nX-Other: 1"),
        ("X-Key", f"{CANARY}\u00a0"),
        ("X-Key", f"{CANARY}\udcff"),
        ("X-Key\n", CANARY),
        ("X Key", CANARY),
    ],
)
async def test_a_header_that_cannot_be_sent(transport: AiohttpTransport, name: str, value: str) -> None:
    async with serving(answering(whole("200 OK", b"ok"))) as url:
        error = await fails(transport, HttpRequest(url=url, headers={name: value}, body=b""))
    assert type(error) is ConfigError


async def test_a_plain_proxy(transport: AiohttpTransport, monkeypatch: pytest.MonkeyPatch) -> None:
    heads: list[str] = []

    async def proxy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heads.append((await receive(reader))[0])
        writer.write(whole("200 OK", b"by proxy", "Connection: close"))

    request = post("http://model.example/v1/chat")
    async with serving(proxy) as there, serving(answering(whole("200 OK", b"direct"))) as near:
        explicit = there.replace("http://", "http://user:pass@")
        async with AiohttpTransport(proxy=explicit) as chosen:
            assert await collect(chosen, request) == (b"by proxy", None)
            assert await collect(chosen, post(near)) == (b"direct", None)
            assert await collect(chosen, post(near.replace("127.0.0.1", "localhost"))) == (b"direct", None)
        for name in ("http_proxy", "no_proxy", "NO_PROXY"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("HTTP_PROXY", there.removeprefix("http://"))
        assert await collect(transport, request) == (b"by proxy", None)
        assert await collect(transport, post(near)) == (b"direct", None)
        monkeypatch.setenv("NO_PROXY", "other.example,.example")
        monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: (_ for _ in ()).throw(socket.gaierror(-2, "no")))
        assert (await fails(transport, request)).message == "cannot reach http://model.example: no such host"
    assert [head.split("\r\n")[0] for head in heads] == ["POST http://model.example/v1/chat HTTP/1.1"] * 2
    assert "Proxy-Authorization: Basic dXNlcjpwYXNz" in heads[0]


async def test_a_proxy_that_refuses_or_is_not_there() -> None:
    secure, plain = post("https://model.example/v1/chat"), post("http://model.example/v1/chat")
    async with serving(answering(whole("407 Proxy Authentication Required", b""))) as there:
        transport = AiohttpTransport(proxy=there.replace("http://", "http://u:hunter22@"))
        tunnel, direct = await fails(transport, secure), await fails(transport, plain)
    gone = await fails(transport, secure)
    await transport.aclose()
    assert [type(error) for error in (tunnel, direct, gone)] == [TransportError, ProviderError, TransportError]
    assert tunnel.message == "the proxy refused a connection to https://model.example (407)"
    assert direct.message == "the proxy refused (407)"
    assert gone.message == "cannot reach the proxy: connection refused"
    assert "hunter22" not in repr([tunnel.info(), direct.info(), gone.info()])


def test_a_proxy_of_another_kind_is_refused() -> None:
    for proxy in ("socks5://user:hunter22@127.0.0.1:1080", "http://", "http://[::1"):
        with pytest.raises(ConfigError) as caught:
            AiohttpTransport(proxy=proxy)
        assert "hunter22" not in repr(caught.value.info())


async def test_netrc_is_not_read(transport: AiohttpTransport, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    netrc = tmp_path / "netrc"
    netrc.write_text("default login someone password hunter22\n")
    monkeypatch.setenv("NETRC", str(netrc))
    heads: list[str] = []

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heads.append((await receive(reader))[0])
        writer.write(whole("200 OK", b"ok"))

    async with serving(handle) as url:
        assert await collect(transport, HttpRequest(url=url, headers={}, body=b"{}")) == (b"ok", None)
    assert "authorization" not in heads[0].lower()


def test_a_request_shows_no_header_values() -> None:
    request = post(f"http://user:{CANARY}@host/v1?key={CANARY}", b"x" * 1234)
    out = io.StringIO()
    Console(file=out, width=300).print(request)
    for shown in (repr(request), str(request), f"{request}", out.getvalue()):
        assert CANARY not in shown
        assert "Authorization" in shown
        assert "http://host/v1" in shown
        assert "1,234 bytes" in shown


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


def test_aiohttp_is_imported_only_when_it_is_used() -> None:
    code = "import sys, toolwire.transport; sys.exit('aiohttp' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
