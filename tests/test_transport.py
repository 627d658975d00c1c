from __future__ import annotations

import asyncio
import io
import json
import random
import socket
import ssl
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from rich.console import Console

from rawserver import (
    CANARY,
    CHUNKED,
    HEAD,
    QUICK,
    answering,
    collect,
    fails,
    post,
    receive,
    serving,
    whole,
)
from toolwire.errors import (
    AuthenticationFailed,
    ConfigError,
    ModelNotFound,
    ProviderError,
    RateLimited,
    ToolwireError,
    TransportError,
)
from toolwire.limits import MIB
from toolwire.transport import AiohttpTransport, HttpRequest

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


async def test_many_streams_at_once(transport: AiohttpTransport) -> None:
    everyone = asyncio.Event()
    open_streams = 0

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal open_streams
        await receive(reader)
        open_streams += 1
        if open_streams == 120:
            everyone.set()
        await everyone.wait()
        writer.write(whole("200 OK", b"ok"))

    async with serving(handle) as url:
        results = await asyncio.gather(*(collect(transport, post(url)) for _ in range(120)))
    assert results == [(b"ok", None)] * 120


def test_one_transport_serves_one_loop_after_another() -> None:
    transport = AiohttpTransport(timeouts=QUICK)

    async def run(close: bool) -> None:
        async with serving(answering(whole("200 OK", b"ok", "Connection: close"))) as url:
            assert await collect(transport, post(url)) == (b"ok", None)
        assert len(transport._sessions) == 1
        if close:
            await transport.aclose()

    for close in (False, False, True, True):
        asyncio.run(run(close))


async def test_many_transports_have_in_common_what_is_large() -> None:
    """A class and a set of signals for each would be a tenth of what a run takes."""
    transports = [AiohttpTransport() for _ in range(3)]
    sessions = [await transport._session() for transport in transports]
    assert len({session._request_class for session in sessions}) == 1
    assert len({id(trace) for session in sessions for trace in session._trace_configs}) == 1
    for transport in transports:
        await transport.aclose()


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


def test_aiohttp_is_imported_only_when_it_is_used() -> None:
    code = "import sys, toolwire.transport; sys.exit('aiohttp' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
