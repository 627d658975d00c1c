"""Servers at an address: what an honest one says arrives, and whatever another sends ends in bounds and plain words."""

from __future__ import annotations

import asyncio
import gzip
import json
import logging
import ssl
import time
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from bench.trust.http_place import Answering, Asked, place, reply, result, server
from mcp.client._probe import negotiate_auto
from mcp.client.session import ClientSession
from mcp.shared.exceptions import MCPError
from mcp_types import REQUEST_TIMEOUT

from programs import needs
from toolwire.errors import McpFailed
from toolwire.mcp import http_bodies
from toolwire.mcp.config import ServerConfig
from toolwire.mcp.http import http_transport
from toolwire.mcp.limits import MESSAGE_BYTES
from waiting import leap

CANARY = "tok-7f3a9c-canary-51d2"
KEY = {"Authorization": f"Bearer {CANARY}"}


def config(url: str, **more: Any) -> ServerConfig:
    return ServerConfig(name="far", url=url, **{"headers": KEY, "start_timeout": 5.0, "timeout": 5.0, **more})


@asynccontextmanager
async def session(server: ServerConfig) -> AsyncIterator[ClientSession]:
    async with http_transport(server, login=None) as (read, write), ClientSession(read, write) as it:
        await negotiate_auto(it)
        yield it


async def failure(server: ServerConfig) -> McpFailed:
    """What a connection, or one call on it, ends in."""
    with pytest.raises(McpFailed) as caught:
        async with session(server) as it:
            await it.call_tool("say", {})
    shown = f"{caught.value} {caught.value.hint} {caught.value.facts} {caught.value!r}"
    assert CANARY not in shown
    assert caught.value.facts["server"] == "far"
    return caught.value


def always(answer: bytes) -> Answering:
    async def same(asked: Asked, writer: asyncio.StreamWriter) -> bytes:
        return answer

    return same


def on_call(answer: Callable[[Asked], bytes | Awaitable[bytes]], **headers: str) -> Answering:
    """A plain server whose tool answers so."""

    async def answering(asked: Asked, writer: asyncio.StreamWriter) -> bytes:
        if asked.message.get("method") != "tools/call":
            return server(asked, **headers)
        given = answer(asked)
        return given if isinstance(given, bytes) else await given

    return answering


async def plain(asked: Asked, writer: asyncio.StreamWriter) -> bytes:
    return server(asked)


def event(value: dict[str, Any]) -> str:
    return f"event: message\ndata: {json.dumps(value)}\n\n"


async def test_a_server_is_met_and_called_with_its_headers_and_without_the_environments() -> None:
    async with place(plain) as here, session(config(f"{here.url}/mcp")) as it:
        answer = await it.call_tool("say", {"word": "grün"})
        assert answer.content[0].text == '{"word": "gr\\u00fcn"}'  # type: ignore[union-attr]
    assert {asked.headers["authorization"] for asked in here.asked} == {f"Bearer {CANARY}"}
    assert {asked.headers["accept-encoding"] for asked in here.asked} == {"identity"}
    assert not any("cookie" in asked.headers for asked in here.asked)


async def test_no_cookie_is_kept_and_nothing_comes_from_netrc_or_a_proxy_for_this_machine(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    (tmp_path / "netrc").write_text(f"machine 127.0.0.1 login me password {CANARY}\n")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    for name in ("http_proxy", "HTTP_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")

    async def sets_cookies(asked: Asked, writer: asyncio.StreamWriter) -> bytes:
        return server(asked, Set_Cookie="id=1; Path=/")

    async with place(sets_cookies) as here, session(config(here.url, headers={})) as it:
        await it.call_tool("say", {})
    assert len(here.asked) >= 4
    assert not any({"cookie", "authorization"} & asked.headers.keys() for asked in here.asked)


@pytest.mark.parametrize("packing", [gzip.compress, zlib.compress, lambda data: zlib.compress(data, wbits=-15)])
async def test_what_is_compressed_all_the_same_is_understood(packing: Callable[[bytes], bytes]) -> None:
    encoding = "gzip" if packing is gzip.compress else "deflate"

    def packed(asked: Asked) -> bytes:
        return reply(body=packing(result(asked, {"content": []}).partition(b"\r\n\r\n")[2]), Content_Encoding=encoding)

    async with place(on_call(packed)) as here, session(config(here.url)) as it:
        assert (await it.call_tool("say", {})).content == []


@pytest.mark.parametrize(
    ("answer", "why", "words", "hint"),
    [
        (reply(401, "who are you"), "login", "refused access (401): who are you", "oauth = true"),
        (reply(401, f"no such token {CANARY}", "text/plain"), "login", "no such token ***", "Bearer ${TOKEN}"),
        (reply(403, "no"), "refused", "refused access (403)", "header"),
        (reply(404, "<html>", "text/html"), "start", "is not at this address (404)", "(SSE) is not supported"),
        (reply(405), "start", "is not at this address (405)", "http://127.0.0.1"),
        (reply(429), "refused", "asks to slow down", "Wait"),
        (reply(500, "\x1b[31mbang"), "start", "failed (500): [31mbang", "later"),
        (reply(503, "<html>gateway", "text/html"), "start", "failed (503)", "later"),
        (reply(200, "<html>", "text/html; charset=utf-8"), "protocol", "a web page", "Check the address"),
        (reply(200, f'["{CANARY}"]'), "protocol", "with JSON that is no answer", "Check the address"),
        (reply(200, '{"jsonrpc": "2.0", "id": 1}'), "protocol", "with JSON that is no answer", "Check the address"),
        (reply(200, "{}", "text/plain"), "protocol", "'text/plain'", "Check the address"),
        (reply(200, "{}", ""), "protocol", "something else", "Check the address"),
        (
            reply(307, Location="http://127.0.0.1:9/mcp"),
            "refused",
            "redirects to http://127.0.0.1:9/mcp",
            "not followed",
        ),
        (reply(302, Location="/other"), "refused", "/other", "not followed"),
        (
            reply(308, Location=f"http://u:{CANARY}@127.0.0.2/?k={CANARY}"),
            "refused",
            "http://127.0.0.2/",
            "not followed",
        ),
        (reply(200, "x", Content_Encoding="br"), "protocol", "a form that was not asked for ('br')", ""),
        (reply(200, "nonsense", Content_Encoding="gzip"), "protocol", "damaged", ""),
        (b"SSH-2.0-OpenSSH_9\r\n\r\n", "start", "does not answer as HTTP has it", "port"),
        (b"", "start", "disconnected without", "port"),
        (
            b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\nContent-Type: application/json\r\n\r\n{",
            "start",
            "received 1 bytes, expected 99",
            "",
        ),
        (b"HTTP/1.1 200 OK\r\n" + b"A: b\r\n" * 100_000 + b"\r\n", "start", "does not answer as HTTP has it", "port"),
    ],
)
async def test_what_is_no_mcp_server_is_told_in_plain_words(answer: bytes, why: str, words: str, hint: str) -> None:
    async def once(asked: Asked, writer: asyncio.StreamWriter) -> None:
        writer.write(answer)
        await writer.drain()

    async with place(once) as here:
        error = await failure(config(f"{here.url}/mcp"))
    assert error.facts["why"] == why, error
    assert words in error.message
    assert hint in error.hint


@pytest.mark.parametrize(
    ("url", "more", "why", "words"),
    [
        ("ftp://127.0.0.1/", {}, "start", "no usable address"),
        ("127.0.0.1:80/mcp", {}, "start", "no usable address"),
        ("http://", {}, "start", "no usable address"),
        ("http://127.0.0.1:99999/", {}, "start", "no usable address"),
        ("http://127.0.0.1/a\nb", {}, "start", "no usable address"),
        (f"gopher://u:{CANARY}@host/?k={CANARY}", {}, "start", "'gopher://host/'"),
        ("http://192.0.2.1/mcp", {}, "refused", "plain http"),
        (f"http://{CANARY}@192.0.2.1/mcp", {"headers": {}}, "refused", "plain http"),
        ("http://192.0.2.1/mcp", {"headers": {}, "oauth": True}, "refused", "plain http"),
        ("http://127.0.0.1:9/mcp", {"headers": {}, "oauth": True}, "login", "none can be made here"),
        ("http://127.0.0.1:9/mcp", {"headers": {"X-Key": f"{CANARY}\n"}}, "start", "'X-Key'"),
        ("http://127.0.0.1:9/mcp", {"headers": {"X Key": CANARY}}, "start", "'X Key'"),
        ("http://127.0.0.1:9/mcp", {"headers": {"X-Key": f"{CANARY}ü"}}, "start", "'X-Key'"),
        ("http://127.0.0.1:9/m\u202ecp", {"headers": {}}, "start", "no usable address"),
        ("http://127.0.0.1:9/mcp", {}, "start", "cannot be reached at http://127.0.0.1:9/mcp"),
        (
            f"http://u:{CANARY}@127.0.0.1:9/mcp?key={CANARY}",
            {},
            "start",
            "cannot be reached at http://127.0.0.1:9/mcp:",
        ),
    ],
)
async def test_an_address_that_cannot_be_or_may_not_be_used(
    url: str, more: dict[str, Any], why: str, words: str
) -> None:
    error = await failure(config(url, **more))
    assert error.facts["why"] == why
    assert words in error.message


@needs("openssl")
async def test_a_certificate_that_nobody_signed_is_not_trusted(tmp_path: Any) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(_certificate(tmp_path))
    asked: list[bytes] = []

    async def take(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append(await reader.read(100))
        writer.close()

    listening = await asyncio.start_server(take, "127.0.0.1", 0, ssl=context)
    async with listening:
        port = listening.sockets[0].getsockname()[1]
        error = await failure(config(f"https://127.0.0.1:{port}/mcp"))
    assert "cannot be trusted" in error.message
    assert "self-signed" in error.message
    assert asked == []


async def test_a_redirect_within_the_server_is_followed_with_its_headers() -> None:
    async def slash(asked: Asked, writer: asyncio.StreamWriter) -> bytes:
        return server(asked) if asked.path == "/mcp/" else reply(307, Location="/mcp/")

    async with place(slash) as here, session(config(f"{here.url}/mcp")) as it:
        await it.call_tool("say", {})
    assert {asked.headers["authorization"] for asked in here.asked} == {f"Bearer {CANARY}"}


async def test_a_redirect_to_another_place_takes_nothing_there() -> None:
    async with place(plain) as other:

        async def away(asked: Asked, writer: asyncio.StreamWriter) -> bytes:
            if asked.message.get("method") == "tools/call":
                return reply(308, Location=f"{other.url}/mcp")
            return server(asked)

        async with place(away) as here, session(config(f"{here.url}/mcp")) as it:
            with pytest.raises(MCPError, match=r"server 'far' redirects to .*not followed"):
                await it.call_tool("say", {})
            await it.list_tools()
    assert other.asked == []


LIMIT = MESSAGE_BYTES
BOMB = gzip.compress(b" " * (64 << 20))


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n" + b" " * (LIMIT + (1 << 20)),
        reply(200, BOMB, Content_Encoding="gzip"),
        reply(404, BOMB, "text/html", Content_Encoding="gzip"),
    ],
    ids=["long", "bomb", "error"],
)
async def test_an_answer_over_its_bound_ends_the_connection_or_the_call(answer: bytes) -> None:
    async with place(always(answer)) as here:
        error = await failure(config(here.url))
    assert error.facts["why"] == "limit"
    async with place(on_call(lambda asked: answer)) as here, session(config(here.url)) as it:
        with pytest.raises(MCPError, match="more than 8,388,608 bytes"):
            await it.call_tool("say", {})
        await it.list_tools()


@pytest.mark.parametrize("ends", ["\n", "\r\n", "\r"])
async def test_an_answer_of_too_many_values_is_not_read(ends: str) -> None:
    heavy = json.dumps({"jsonrpc": "2.0", "id": 1, "result": {"x": [[]] * 350_000}})
    lines = f"event: message{ends}data: {heavy}{ends}{ends}".encode()

    async def many(asked: Asked, writer: asyncio.StreamWriter) -> bytes | None:
        if asked.message.get("method") != "tools/call":
            return server(asked)
        if asked.message["params"]["arguments"].get("json"):
            return reply(200, heavy)
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n" + lines[:-2])
        for last in lines[-2:]:
            await writer.drain()
            await asyncio.sleep(0.01)
            writer.write(bytes([last]))
        return None

    async with place(many) as here, session(config(here.url)) as it:
        with pytest.raises(MCPError, match="300,000 values"):
            await it.call_tool("say", {"json": True})
        with pytest.raises(MCPError, match="ended without a response"):
            await it.call_tool("say", {})
        await it.list_tools()


@pytest.mark.parametrize("first", [':"', 'id: "', 'x"y: 1', '\ufeff:"'])
async def test_no_other_line_of_an_event_hides_how_many_values_it_has(first: str) -> None:
    heavy = json.dumps({"jsonrpc": "2.0", "id": 1, "result": {"x": [[]] * 350_000}})

    def many(asked: Asked) -> bytes:
        return reply(200, f"{first}\ndata: {heavy}\n\n", "text/event-stream")

    async with place(on_call(many)) as here, session(config(here.url)) as it:
        with pytest.raises(MCPError, match="ended without a response"):
            await it.call_tool("say", {})


@pytest.mark.parametrize("kind", ["application/json", "text/event-stream"])
async def test_a_server_does_not_choose_the_letters_that_it_is_read_in(kind: str) -> None:
    def other(asked: Asked) -> bytes:
        body = result(asked, {"content": [{"type": "text", "text": "+AFs- é"}]}).partition(b"\r\n\r\n")[2]
        data = body if kind == "application/json" else b"data: " + body + b"\n\n"
        return reply(200, data, f"{kind}; charset=utf-7")

    async with place(on_call(other)) as here, session(config(here.url)) as it:
        answer = await it.call_tool("say", {})
    assert answer.content[0].text == "+AFs- é"  # type: ignore[union-attr]
    async with place(always(reply(500, "+AFs- no", "text/plain; charset=utf-7"))) as here:
        assert "+AFs- no" in (await failure(config(here.url))).message


async def test_an_answer_just_within_its_bound_arrives() -> None:
    def long(asked: Asked) -> bytes:
        short = result(asked, {"content": [{"type": "text", "text": ""}]}).partition(b"\r\n\r\n")[2]
        return result(asked, {"content": [{"type": "text", "text": "x" * (LIMIT - len(short))}]})

    def commas(asked: Asked) -> bytes:
        body = result(asked, {"content": [{"type": "text", "text": "," * 400_000}]}).partition(b"\r\n\r\n")[2]
        return reply(200, b"data: " + body + b"\n\n", "text/event-stream")

    async with place(on_call(commas)) as here, session(config(here.url)) as it:
        assert len((await it.call_tool("say", {})).content[0].text) == 400_000  # type: ignore[union-attr]
    async with place(on_call(long)) as here, session(config(here.url)) as it:
        assert len((await it.call_tool("say", {})).content[0].text) > LIMIT - 200  # type: ignore[union-attr]


@pytest.mark.parametrize("stream", [b"data: " + b"x" * 65_000, b"data: x\n" * 9_000, b"x" * 65_000])
async def test_an_event_without_end_ends_its_call(stream: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toolwire.mcp.http.MESSAGE_BYTES", 1 << 20)

    async def endless(asked: Asked, writer: asyncio.StreamWriter) -> bytes | None:
        if asked.message.get("method") != "tools/call":
            return server(asked)
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n")
        while True:
            writer.write(stream)
            await writer.drain()

    async with place(endless) as here, session(config(here.url)) as it:
        with pytest.raises(MCPError, match="limit"):
            await it.call_tool("say", {})
        await it.list_tools()


async def test_an_answer_a_byte_at_a_time_is_given_up_and_harms_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toolwire.mcp.http._LATE", 0.1)
    dripping: list[int] = []
    both = asyncio.Event()

    async def drip(asked: Asked, writer: asyncio.StreamWriter) -> bytes | None:
        if asked.message.get("method") != "tools/call":
            return server(asked)
        text = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
        slow = text + b"\r\n" if asked.message["params"]["arguments"].get("head") else text
        writer.write(slow)
        dripping.append(1)
        if len(dripping) == 2:
            both.set()
        for _ in range(2_000):
            writer.write(b" " if slow.endswith(b"\n\r\n") else b"A")
            await writer.drain()
            await asyncio.sleep(0.02)
        return None

    async with place(drip) as here, session(config(here.url, timeout=60)) as it:
        begun = time.monotonic()
        slow = [asyncio.ensure_future(it.call_tool("say", {"head": head})) for head in (True, False)]
        await it.list_tools()
        async with asyncio.timeout(10):
            await both.wait()
        leap(60.1)
        for call in slow:
            with pytest.raises(MCPError, match="did not answer in time") as late:
                await call
            assert late.value.code == REQUEST_TIMEOUT
        assert time.monotonic() - begun < 20
        await it.list_tools()
    async with place(always(b"HTTP/1.1 200 OK\r\nA")) as here:
        assert (await failure(config(here.url, start_timeout=0.3))).facts["why"] == "timeout"


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (reply(500, f"boom {CANARY}", "text/plain"), "the MCP server 'far' failed (500): boom ***"),
        (reply(403, "not you"), "refused access (403): not you"),
        (reply(200, "<html>", "text/html"), "a web page"),
        (reply(200, f'{{"jsonrpc": "2.0", "id": "{CANARY}", "result": 1}}'), "JSON that is no answer"),
        (reply(404, "{}"), "is not at this address (404)"),
        (
            b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\nContent-Type: application/json\r\n\r\n{",
            "broke off the connection",
        ),
    ],
)
async def test_a_fault_in_one_call_is_told_there_and_the_connection_lives(answer: bytes, words: str) -> None:
    async def faulty(asked: Asked, writer: asyncio.StreamWriter) -> bytes | None:
        if asked.message.get("method") != "tools/call":
            return server(asked)
        writer.write(answer)
        return None

    async with place(faulty) as here, session(config(here.url)) as it:
        with pytest.raises(MCPError) as caught:
            await it.call_tool("say", {})
        assert words in caught.value.error.message
        assert CANARY not in str(caught.value)
        assert caught.value.code == (-32000 if "broke off" in words else -32603)
        await it.list_tools()


async def test_a_json_rpc_error_with_a_status_is_the_servers_own_answer() -> None:
    def refuse(asked: Asked) -> bytes:
        error = {"jsonrpc": "2.0", "id": None, "error": {"code": -32602, "message": "no such tool"}}
        return reply(400, json.dumps(error))

    async with place(on_call(refuse)) as here, session(config(here.url)) as it:
        with pytest.raises(MCPError) as caught:
            await it.call_tool("say", {})
        assert (caught.value.code, caught.value.error.message) == (-32602, "no such tool")


async def test_the_name_of_a_session_is_in_no_error() -> None:
    def fails(asked: Asked) -> bytes:
        return reply(500, f"no {asked.headers['mcp-session-id']}", "text/plain")

    async with place(on_call(fails, Mcp_Session_Id=CANARY)) as here, session(config(here.url, headers={})) as it:
        with pytest.raises(MCPError) as caught:
            await it.call_tool("say", {})
        assert "failed (500): no ***" in caught.value.error.message


@pytest.mark.parametrize(
    ("answer", "why", "words"),
    [
        (reply(401), "login", "refused access (401)"),
        (reply(404), "lost", "ended the session"),
    ],
)
async def test_a_login_or_a_session_that_is_over_ends_the_connection(answer: bytes, why: str, words: str) -> None:
    async with place(on_call(lambda asked: answer, Mcp_Session_Id="s1")) as here:
        error = await failure(config(here.url))
    assert (error.facts["why"], words in error.message) == (why, True)


async def test_a_stream_of_events_may_be_silent_longer_than_any_call(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toolwire.mcp.http._LATE", 0.0)
    told = asyncio.Event()

    async def quiet(asked: Asked, writer: asyncio.StreamWriter) -> bytes | None:
        if asked.method != "GET":
            return server(asked, Mcp_Session_Id="s1")
        await asyncio.sleep(0.3)
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n")
        await asyncio.sleep(0.3)
        writer.write(event({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}).encode())
        await asyncio.sleep(10)
        return None

    async def heard(message: object) -> None:
        told.set()

    async with place(quiet) as here:
        far = config(here.url, timeout=0.2)
        async with (
            http_transport(far, login=None) as (read, write),
            ClientSession(read, write, message_handler=heard) as it,
        ):
            await negotiate_auto(it)
            await asyncio.wait_for(told.wait(), 3)
            assert sum(asked.method == "GET" for asked in here.asked) == 1


async def test_a_server_does_not_set_the_pace_of_its_own_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toolwire.mcp.http._PAUSE", 0.2)
    begun = time.monotonic()
    came: list[float] = []
    enough = asyncio.Event()

    async def eager(asked: Asked, writer: asyncio.StreamWriter) -> bytes:
        if asked.method == "GET":
            came.append(time.monotonic() - begun)
            if len(came) == 3:
                enough.set()
            return reply(200, "retry: 0\nid: 1\ndata:\n\n", "text/event-stream")
        return server(asked, Mcp_Session_Id="s1")

    async with place(eager) as here, session(config(here.url)):
        await asyncio.wait_for(enough.wait(), 15)
    assert [after for number, after in enumerate(came) if after < 0.199 * number] == []


async def test_the_end_does_not_wait_for_a_server_that_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_bodies, "GOODBYE_SECONDS", 50.0)

    async def deaf(asked: Asked, writer: asyncio.StreamWriter) -> bytes:
        if asked.method == "DELETE":
            leap(50)
            await asyncio.sleep(60)
        return server(asked, Mcp_Session_Id="s1")

    async with place(deaf) as here:
        async with session(config(here.url)):
            begun = time.monotonic()
        assert time.monotonic() - begun < 20
        assert here.asked[-1].method == "DELETE"


async def test_no_log_of_the_libraries_below_holds_what_a_server_is_sent(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)

    def echo(asked: Asked) -> bytes:
        return result(asked, {"content": [{"type": "text", "text": asked.headers["authorization"]}]}, X_Echo=CANARY)

    async with place(on_call(echo)) as here:
        async with session(config(f"{here.url}/mcp?api_key={CANARY}")) as it:
            await it.call_tool("say", {})
        with pytest.raises(McpFailed):
            async with session(config(f"{here.url}x/")):
                pass
    assert "HTTP Request: POST" in caplog.text
    assert CANARY not in caplog.text


@pytest.mark.parametrize("path", [f"/api/{CANARY}/mcp", f"/mcp?k={CANARY}", f"/mcp?{CANARY}", "/s/8f3a9c51d2/mcp"])
async def test_a_key_in_an_address_is_in_no_error_and_no_log(path: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)

    async def nowhere(asked: Asked, writer: asyncio.StreamWriter) -> bytes:
        return reply(404, f"No {asked.path} here", "text/plain")

    key = CANARY if CANARY in path else "8f3a9c51d2"
    async with place(plain) as here:
        async with session(config(here.url + path, headers={})) as it:
            await it.call_tool("say", {})
        assert here.asked[0].path == path
    async with place(nowhere) as here:
        errors = [await failure(config(here.url + path, headers={}))]
    errors.append(await failure(config(here.url + path, headers={})))
    errors.append(await failure(config(f"http://127.0.0.1:99999{path}", headers={})))
    assert key not in caplog.text
    for error in errors:
        assert key not in f"{error.message} {error.hint} {error.facts}"


async def test_a_proxy_of_the_environment_is_asked_for_other_machines_only(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    async with place(plain) as proxy:
        monkeypatch.setenv("http_proxy", proxy.url)
        async with session(config("http://far.example/mcp", headers={})) as it:
            await it.call_tool("say", {})
        assert proxy.asked[0].path == "http://far.example/mcp"
        monkeypatch.setenv("http_proxy", "socks5://127.0.0.1:9")
        assert "not an HTTP one" in (await failure(config("http://far.example/mcp", headers={}))).message


def _certificate(folder: Any) -> str:
    from subprocess import run

    path = str(folder / "own.pem")
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    subject = ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1", "-days", "2"]
    run([*command, *subject, "-keyout", path, "-out", f"{path}.crt"], check=True, capture_output=True)
    with open(path, "a") as file, open(f"{path}.crt") as more:
        file.write(more.read())
    return path


async def test_lines_of_a_stream_are_bounded_at_once_and_for_long(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr("anyio.current_time", lambda: now)
    events = http_bodies._Events()
    assert not events.floods(b"\n" * (http_bodies.LINES - 1) + b"\r")
    assert events.floods(b"\n")
    now = 10.0
    assert not events.floods(b": ping\n" * (10 * http_bodies.LINES_EACH_SECOND - 1))
    assert events.floods(b"\r\n")
    now = 10_000.0
    assert not events.floods(b"\n" * http_bodies.LINES)
    assert events.floods(b"\n")
