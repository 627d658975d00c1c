"""What a client may try on Toolwire as a server, and what a question must not leave out."""

from __future__ import annotations

import asyncio
import gc
import json
import logging
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import httpx2
import mcp_types as types
import pytest
from mcp import Client
from pydantic import TypeAdapter

from over_mcp.serving_ways import TOKEN, over_http, over_pipes
from toolwire import Risk, ToolDefinition
from toolwire.approval.audit import AuditRecord
from toolwire.mcp import serving_http
from toolwire.mcp.serving import PARALLEL, ToolServer
from toolwire.mcp.serving_questions import SHOWN_CHARACTERS
from toolwire.messages import MediaPart
from toolwire.tools.output import ToolOutput
from waiting import leap, until

MODES = ["legacy", "auto"]
YES = types.ElicitResult(action="accept", content={"run": True})
MODERN = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}


def keeping(ran: list[dict[str, Any]]) -> ToolDefinition:
    def keep(arguments: dict[str, Any]) -> str:
        ran.append(arguments)
        return "kept"

    parameters = {"type": "object", "properties": {"text": {}}}
    return ToolDefinition("keep", "", parameters, Risk.WRITE, keep)


def saying_yes(asked: list[str]) -> Callable[..., Any]:
    async def ask(context: object, params: types.ElicitRequestFormParams) -> types.ElicitResult:
        asked.append(params.message)
        return YES

    return ask


@pytest.mark.parametrize("mode", MODES)
async def test_a_client_s_person_sees_all_of_it_or_nothing_runs(mode: str) -> None:
    """In a terminal the rest can be looked at; behind a client's form there is nothing more."""
    asked: list[str] = []
    ran: list[dict[str, Any]] = []
    long = "a\n" * 3_000 + "rm -rf ~\n" + "b\n" * 3_000
    async with Client(ToolServer([keeping(ran)]).protocol, mode=mode, elicitation_callback=saying_yes(asked)) as client:
        assert not (await client.call_tool("keep", {"text": long})).is_error
        assert "\n| | rm -rf ~\n" in asked[0]
        assert asked[0].count("\n| | a") == 3_000
        refused = await client.call_tool("keep", {"text": "x" * SHOWN_CHARACTERS})
    assert refused.is_error
    assert "longer (100,006 characters) than a person can be shown" in str(refused.content)
    assert len(asked) == len(ran) == 1


async def test_a_made_up_session_is_no_further_client() -> None:
    """The newer protocol has no sessions: that header does not make room for more calls at a time."""
    running: list[int] = []
    release = asyncio.Event()

    async def call(arguments: dict[str, Any]) -> str:
        running.append(1)
        await release.wait()
        return "done"

    headers = {"Authorization": f"Bearer {TOKEN}", "Accept": "application/json, text/event-stream"}
    headers |= {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "block"}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "block", "_meta": MODERN}}
    async with (
        over_http(ToolServer([ToolDefinition("block", "", {}, Risk.READ, call)])) as address,
        httpx2.AsyncClient(headers=headers, timeout=20) as http,
    ):
        posts = [
            asyncio.create_task(http.post(address, json=body, headers={"Mcp-Session-Id": f"mine-{number}"}))
            for number in range(PARALLEL + 4)
        ]
        assert await asyncio.to_thread(until, lambda: len(running) >= PARALLEL)
        await asyncio.sleep(0.1)
        assert len(running) == PARALLEL
        release.set()
        assert [answer.status_code for answer in await asyncio.gather(*posts)] == [200] * len(posts)


@pytest.mark.parametrize("first", [b"", b"GET /nothing HTTP/1.1\r\nHost: %b\r\nAuthorization: Bearer %b\r\n\r\n"])
async def test_a_request_that_drips_is_cut_off_also_behind_one_that_did_not(
    first: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serving_http, "SEND_SECONDS", 50.0)
    async with over_http(ToolServer([])) as address:
        url = httpx2.URL(address)
        reader, writer = await asyncio.open_connection(url.host, url.port)
        if first:
            writer.write(first % (url.netloc, TOKEN.encode()))
            assert b"404" in await reader.readuntil(b"\r\n\r\n")
        writer.write(b"GET /mcp HTTP/1.1\r\n")

        async def drip() -> None:
            for _ in range(4):
                writer.write(b"X-Slow: yes\r\n")
                await asyncio.sleep(0.03)
            leap(50)
            while not writer.is_closing():
                writer.write(b"X-Slow: yes\r\n")
                await asyncio.sleep(0.03)

        dripping = asyncio.create_task(drip())
        try:
            async with asyncio.timeout(60):
                # The end, or a reset where something was still on its way.
                with suppress(ConnectionError):
                    await reader.read()
        finally:
            dripping.cancel()
            writer.close()


async def test_a_call_that_takes_its_time_is_not_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving_http, "SEND_SECONDS", 50.0)

    async def call(arguments: dict[str, Any]) -> str:
        leap(60)
        await asyncio.sleep(0.02)
        return "done"

    headers = {"Authorization": f"Bearer {TOKEN}", "Accept": "application/json, text/event-stream"}
    headers |= {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "slow"}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "slow", "_meta": MODERN}}
    async with (
        over_http(ToolServer([ToolDefinition("slow", "", {}, Risk.READ, call)])) as address,
        httpx2.AsyncClient(headers=headers, timeout=600) as http,
    ):
        for _ in range(2):
            assert "done" in (await http.post(address, json=body)).text


async def test_a_client_that_leaves_a_question_open_leaves_no_fault(caplog: pytest.LogCaptureFixture) -> None:
    ran: list[dict[str, Any]] = []
    trail: list[AuditRecord] = []
    with caplog.at_level(logging.ERROR):
        async with over_pipes(ToolServer([keeping(ran)], audit=trail.append)) as (client, _):
            await client.hello({"elicitation": {}})
            for id in (1, 2):
                await client.send({"id": id, "method": "tools/call", "params": {"name": "keep"}})
                assert (await client.next())["method"] == "elicitation/create"
        gc.collect()
    assert [record.event for record in trail] == ["asked", "asked", "denied", "denied"]
    assert ran == []
    assert caplog.messages == []


async def test_an_answer_that_comes_as_its_question_is_taken_back_is_no_fault() -> None:
    ran: list[dict[str, Any]] = []
    server = ToolServer([keeping(ran)])
    raw: Any = TypeAdapter(dict[str, Any])
    async with Client(server.protocol, mode="auto", elicitation_callback=saying_yes([])) as client:
        call = types.CallToolRequestParams(name="keep", arguments={})
        state = (await client.session.send_request(types.CallToolRequest(params=call), raw))["requestState"]
        server._questions._waiting[state].answer.cancel()
        again = {"name": "keep", "requestState": state, "inputResponses": {"approval": YES.model_dump(by_alias=True)}}
        params = types.CallToolRequestParams.model_validate(again, by_name=False)
        result = await client.session.send_request(types.CallToolRequest(params=params), raw)
    assert "the question was taken back" in result["content"][0]["text"]
    assert ran == []


HALF = "half \udcff"
MEDIA = [
    MediaPart("image/png", url=f"https://example.org/{HALF}"),
    MediaPart("image/png", url="https://example.org/", name=HALF),
    MediaPart(f"image/{HALF}", data="AAAA"),
    MediaPart("image/png", data=HALF),
]


async def test_a_name_that_is_no_text_reaches_the_client_as_one() -> None:
    """As files may have: what cannot be written must not end the server for all other calls."""
    parts = iter(MEDIA)
    draw = ToolDefinition("draw", HALF, {}, Risk.READ, lambda _: ToolOutput("look", (next(parts),)))
    async with over_pipes(ToolServer([draw])) as (client, _):
        await client.hello()
        for number in range(len(MEDIA)):
            await client.send({"id": number, "method": "tools/call", "params": {"name": "draw"}})
            assert "half ?" in json.dumps((await client.next())["result"]["content"][1])
        await client.send({"id": "list", "method": "tools/list"})
        assert (await client.next())["result"]["tools"][0]["description"] == "half ?"


async def test_an_answer_that_cannot_be_written_fails_alone() -> None:
    parameters = {"type": "object", "properties": {"a": {"default": HALF}}}
    odd = ToolDefinition("odd", "", parameters, Risk.READ, lambda _: "ran")
    async with over_pipes(ToolServer([odd])) as (client, _):
        await client.hello()
        await client.send({"id": 1, "method": "tools/list"})
        assert (await client.next())["error"]["message"] == "the answer cannot be written as JSON"
        await client.send({"id": 2, "method": "ping"})
        assert (await client.next())["result"] == {}


async def test_a_yes_that_comes_after_the_call_was_cancelled_runs_nothing() -> None:
    ran: list[dict[str, Any]] = []
    async with over_pipes(ToolServer([keeping(ran)])) as (client, _):
        await client.hello({"elicitation": {}})
        await client.send({"id": 1, "method": "tools/call", "params": {"name": "keep"}})
        question = await client.next()
        yes = {"id": question["id"], "result": {"action": "accept", "content": {"run": True}}}
        await client.send({"method": "notifications/cancelled", "params": {"requestId": 1}}, yes)
        await client.send({"id": 2, "method": "ping"})
        assert 2 in await client.answers(1)
    assert ran == []


@pytest.mark.parametrize("content", [{"run": 1}, {"run": "true"}, {"run": [True]}, {"run": None}, {}, None])
async def test_only_true_is_a_yes(content: Any) -> None:
    ran: list[dict[str, Any]] = []
    async with over_pipes(ToolServer([keeping(ran)])) as (client, _):
        await client.hello({"elicitation": {}})
        await client.send({"id": "c", "method": "tools/call", "params": {"name": "keep"}})
        question = await client.next()
        await client.send({"id": question["id"], "result": {"action": "accept", "content": content}})
        assert (await client.next())["result"]["isError"] is True
    assert ran == []


async def test_calls_that_were_given_up_before_their_turn_leave_nothing() -> None:
    release = asyncio.Event()
    server = ToolServer([ToolDefinition("block", "", {}, Risk.READ, lambda _: release.wait())])
    async with over_pipes(server) as (client, _):
        await client.hello()
        for id in range(PARALLEL + 10):
            await client.send({"id": id, "method": "tools/call", "params": {"name": "block"}})
        for id in range(PARALLEL, PARALLEL + 10):
            await client.send({"method": "notifications/cancelled", "params": {"requestId": id}})
        await client.send({"id": "ping", "method": "ping"})
        assert "ping" in await client.answers(1)
        assert await asyncio.to_thread(until, lambda: not server._gate._given)
        release.set()
