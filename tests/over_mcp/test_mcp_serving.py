"""Toolwire as a server: every call through the gate, whatever the client is and does."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import httpx2
import mcp_types as types
import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError
from pydantic import TypeAdapter

import toolwire
from over_mcp.serving_ways import HELLO, TOKEN, over_http, over_pipes, with_token
from toolwire import Risk, ToolDefinition, tool
from toolwire.approval.audit import AuditRecord
from toolwire.approval.gate import Gate, Ticket
from toolwire.approval.policy import Policy
from toolwire.execution.executor import Executor
from toolwire.execution.process import run_process
from toolwire.mcp import serving_http, serving_questions, serving_stdio
from toolwire.mcp.config import ServerConfig
from toolwire.mcp.limits import MESSAGE_BYTES
from toolwire.mcp.servers import McpServers
from toolwire.mcp.serving import ToolServer
from toolwire.messages import MediaPart
from toolwire.stream.invocation import ToolInvocation
from toolwire.tools.output import ToolOutput
from toolwire.tools.running import this_call
from waiting import sleeping, until

MODES = ["legacy", "auto"]
RAW: Any = TypeAdapter(dict[str, Any])


@tool(risk="read")
def add(a: int, b: int = 2) -> dict[str, int]:
    """Adds two numbers."""
    toolwire.progress("adding")
    time.sleep(0.08)
    toolwire.progress("added")
    return {"sum": a + b}


@tool(risk="write")
def keep(text: str) -> str:
    """Keeps a text."""
    return f"kept {text}"


@tool(risk="read")
def fails() -> str:
    """Fails."""
    raise ValueError("there is none")


@tool(risk="read")
def picture() -> ToolOutput:
    """Draws."""
    data = base64.b64encode(b"picture").decode()
    kinds = ["image/png", "audio/wav", "application/pdf"]
    link = MediaPart("text/html", url="https://example.org/")
    return ToolOutput("look", (*(MediaPart(kind, data=data) for kind in kinds), link))


@tool
def unknown() -> str:
    """Who knows."""
    return "ran"


@tool(risk="dangerous", idempotent=True)
def dangerous() -> str:
    """Does harm."""
    return "harm"


def asking(answer: types.ElicitResult, asked: list[str]) -> Callable[..., Any]:
    async def ask(context: object, params: types.ElicitRequestFormParams) -> types.ElicitResult:
        asked.append(params.message)
        return answer

    return ask


YES = types.ElicitResult(action="accept", content={"run": True})


def text_of(result: types.CallToolResult) -> str:
    block = result.content[0]
    assert isinstance(block, types.TextContent)
    return block.text


@pytest.mark.parametrize("mode", MODES)
async def test_tools_are_listed_with_their_schema_and_what_their_risk_means(mode: str) -> None:
    declared = ToolDefinition("declared", "Cannot run.")
    async with Client(ToolServer([add, keep, unknown, dangerous, declared]).protocol, mode=mode) as client:
        tools = {each.name: each for each in (await client.list_tools()).tools}
    assert list(tools) == ["add", "keep", "unknown", "dangerous"]
    assert tools["add"].description == "Adds two numbers."
    assert tools["add"].input_schema["required"] == ["a"]
    hints = {
        name: each.annotations and (each.annotations.read_only_hint, each.annotations.destructive_hint)
        for name, each in tools.items()
    }
    assert hints == {"add": (True, False), "keep": (False, True), "unknown": None, "dangerous": (False, True)}
    assert tools["dangerous"].annotations is not None
    assert tools["dangerous"].annotations.idempotent_hint
    assert tools["dangerous"].annotations.open_world_hint


@pytest.mark.parametrize("mode", MODES)
async def test_results_are_text_objects_media_and_errors(mode: str) -> None:
    told: list[str | None] = []

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        told.append(message)

    async with Client(ToolServer([add, fails, picture]).protocol, mode=mode) as client:
        result = await client.call_tool("add", {"a": 1}, progress_callback=on_progress)
        assert (text_of(result), result.structured_content, result.is_error) == ('{"sum":3}', {"sum": 3}, False)
        assert told == ["adding", "added"]
        failed = await client.call_tool("fails", {})
        assert (text_of(failed), failed.structured_content, failed.is_error) == ("Error: there is none", None, True)
        seen = await client.call_tool("picture", {})
        assert [block.type for block in seen.content] == ["text", "image", "audio", "resource", "resource_link"]
        assert isinstance(seen.content[1], types.ImageContent)
        assert base64.b64decode(seen.content[1].data) == b"picture"


@pytest.mark.parametrize("mode", MODES)
async def test_a_call_that_does_not_fit_is_answered_and_not_run(mode: str) -> None:
    trail: list[AuditRecord] = []
    async with Client(ToolServer([add], audit=trail.append).protocol, mode=mode) as client:
        result = await client.call_tool("add", {"a": "one"})
        assert result.is_error
        assert "a: 'one' is not of type 'integer'" in text_of(result)
        assert "It takes a (integer, required)" in text_of(result)
        with pytest.raises(MCPError, match="there is no tool 'subtract'"):
            await client.call_tool("subtract", {"a": 1})
    assert trail == []


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("answer", "runs", "words"),
    [
        (YES, True, "kept \u2066"),
        (types.ElicitResult(action="accept", content={"run": False}), False, "the person said no"),
        (types.ElicitResult(action="accept", content={"run": 1}), False, "the person said no"),
        (types.ElicitResult(action="accept", content={"run": "true"}), False, "the person said no"),
        (types.ElicitResult(action="accept"), False, "the person said no"),
        (types.ElicitResult(action="decline", content={"run": True}), False, "the person said no"),
        (types.ElicitResult(action="cancel"), False, "the person did not answer"),
    ],
)
async def test_a_person_is_asked_through_the_client(
    mode: str, answer: types.ElicitResult, runs: bool, words: str
) -> None:
    asked: list[str] = []
    trail: list[AuditRecord] = []
    server = ToolServer([keep], audit=trail.append)
    async with Client(server.protocol, mode=mode, elicitation_callback=asking(answer, asked)) as client:
        result = await client.call_tool("keep", {"text": "\u2066"})
    assert words in text_of(result)
    assert result.is_error is not runs
    assert len(asked) == 1
    assert "Run the tool keep (risk: write)" in asked[0]
    assert "\u2066" not in asked[0], "hidden characters are marked"
    assert "U+2066" in asked[0]
    assert [each.event for each in trail] == [
        "asked",
        *(["approved", "started", "finished"] if runs else ["denied"]),
    ]
    assert trail[1].who == "client"


@pytest.mark.parametrize("mode", MODES)
async def test_a_client_that_cannot_ask_is_told_what_to_do(mode: str) -> None:
    async with Client(ToolServer([keep, unknown]).protocol, mode=mode) as client:
        for name, arguments in (("keep", {"text": "x"}), ("unknown", {})):
            result = await client.call_tool(name, arguments)
            assert result.is_error
            assert "this client cannot ask its person" in text_of(result)
            assert "--mode" in text_of(result)
    async with Client(ToolServer([keep], policy="full").protocol, mode=mode) as client:
        assert text_of(await client.call_tool("keep", {"text": "x"})) == "kept x"


async def test_an_answer_is_for_one_call_once() -> None:
    """From 2026-07-28 on the call comes again with the answer: no other call takes it, and none takes it twice."""
    server = ToolServer([keep])

    async with Client(server.protocol, mode="auto", elicitation_callback=asking(YES, [])) as client:

        async def call(text: Any, state: str | None = None) -> dict[str, Any]:
            params: dict[str, Any] = {"name": "keep", "arguments": {"text": text}}
            if state is not None:
                answers = {"approval": {"action": "accept", "content": {"run": True}}}
                params |= {"requestState": state, "inputResponses": answers}
            raw = types.CallToolRequestParams.model_validate(params, by_name=False)
            result: dict[str, Any] = await client.session.send_request(types.CallToolRequest(params=raw), RAW)
            return result

        first, second = (await call("a"))["requestState"], (await call("a"))["requestState"]
        assert first != second
        changed = await call("b", first)
        assert "it is not the call that was asked about" in changed["content"][0]["text"]
        for state in (first, "guessed"):
            assert "does not wait for an answer any more" in (await call("a", state))["content"][0]["text"]
        assert (await call("a", second))["content"][0]["text"] == "kept a"
        assert "does not wait" in (await call("a", second))["content"][0]["text"]


async def test_questions_that_nobody_answers_are_taken_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving_questions, "WAITING", 3)
    trail: list[AuditRecord] = []
    server = ToolServer([keep], audit=trail.append)
    async with Client(server.protocol, mode="auto", elicitation_callback=asking(YES, [])) as client:
        params = types.CallToolRequestParams(name="keep", arguments={"text": "x"})
        for _ in range(10):
            await client.session.send_request(types.CallToolRequest(params=params), RAW)
        assert len(server._questions._waiting) == 3
    await server.close()
    assert [each.event for each in trail].count("denied") == 10
    assert not server._questions._waiting
    assert not server._questions._askers


async def test_nothing_but_answers_is_said_over_pipes() -> None:
    async with over_pipes(ToolServer([add])) as (client, _):
        for line, code in [
            (b"no json", types.PARSE_ERROR),
            (b'{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}', types.PARSE_ERROR),
            (b'{"a":NaN}', types.PARSE_ERROR),
            (b"\xff\xfe", types.PARSE_ERROR),
            (b"[" * 100_000, types.PARSE_ERROR),
            (b"[1]", types.INVALID_REQUEST),
            (b'{"jsonrpc":"2.0","id":true,"method":"ping"}', types.INVALID_REQUEST),
            (b" " * (MESSAGE_BYTES + 1) + b"{}", types.INVALID_REQUEST),
        ]:
            await client.send(line)
            answer = await client.next()
            assert (answer["id"], answer["error"]["code"]) == (None, code), line[:40]
        await client.send(b"", b"   ")
        await client.hello()
        await client.send({"id": 5, "method": "tools/call", "params": {"name": "add", "arguments": {"a": 1}}})
        assert (await client.next())["result"]["structuredContent"] == {"sum": 3}


async def test_a_client_may_answer_a_question_with_an_error() -> None:
    async with over_pipes(ToolServer([keep])) as (client, _):
        await client.hello({"elicitation": {}})
        await client.send({"id": 5, "method": "tools/call", "params": {"name": "keep", "arguments": {"text": "x"}}})
        question = await client.next()
        assert question["method"] == "elicitation/create"
        await client.send({"id": question["id"], "error": {"code": -1, "message": "no"}})
        result = (await client.next())["result"]
        assert result["isError"]
        assert "asking for approval failed (MCPError)" in result["content"][0]["text"]


def blocking(running: list[str], release: asyncio.Event) -> ToolDefinition:
    async def call(arguments: dict[str, Any]) -> str:
        running.append("in")
        await release.wait()
        running.remove("in")
        return "done"

    return ToolDefinition("block", "", {}, Risk.READ, call)


async def test_eight_calls_of_a_client_run_side_by_side_and_floods_are_refused() -> None:
    running: list[str] = []
    release = asyncio.Event()
    async with over_pipes(ToolServer([blocking(running, release)])) as (client, _):
        await client.hello()
        count = serving_stdio.REQUESTS_WAITING + 40
        for number in range(count):
            await client.send({"id": number, "method": "tools/call", "params": {"name": "block"}})
        refused = await client.answers(40)
        assert all("64 requests wait" in each["error"]["message"] for each in refused.values())
        assert len(running) == 8
        # One that is cancelled has no answer, and makes room all the same.
        await client.send({"method": "notifications/cancelled", "params": {"requestId": 63}})
        await asyncio.sleep(0.05)
        await client.send({"id": "one more", "method": "tools/call", "params": {"name": "block"}})
        release.set()
        done = await client.answers(serving_stdio.REQUESTS_WAITING)
        assert "one more" in done
        assert 63 not in done
        assert all(each["result"]["content"][0]["text"] == "done" for each in done.values())


async def test_a_tool_that_runs_alone_runs_alone() -> None:
    running: list[str] = []
    release = asyncio.Event()
    most: list[int] = []

    async def alone(arguments: dict[str, Any]) -> str:
        most.append(len(running))
        return "alone"

    tools = [blocking(running, release), ToolDefinition("alone", "", {}, Risk.READ, alone, exclusive=True)]
    async with over_pipes(ToolServer(tools)) as (client, _):
        await client.hello()
        for number, name in enumerate(["block", "alone", "block"]):
            await client.send({"id": number, "method": "tools/call", "params": {"name": name}})
        await asyncio.sleep(0.05)
        assert (len(running), most) == (1, [])
        release.set()
        await client.answers(3)
        assert most == [0]


async def sleeper(arguments: dict[str, Any]) -> str:
    here = this_call()
    await run_process(["sleep", arguments["token"]], cwd=here.cwd, environment=here.environment, timeout=50)
    return "slept"


SLEEP = ToolDefinition("sleep", "", {"properties": {"token": {"type": "string"}}}, Risk.READ, sleeper, timeout=60)


@pytest.mark.parametrize("how", ["cancel", "leave", "stop"])
async def test_a_call_ends_with_its_client_over_pipes(how: str) -> None:
    token = f"60.{os.getpid()}{['cancel', 'leave', 'stop'].index(how)}"
    trail: list[AuditRecord] = []
    async with over_pipes(ToolServer([SLEEP], audit=trail.append)) as (client, serving):
        await client.hello()
        params = {"name": "sleep", "arguments": {"token": token}}
        await client.send({"id": 1, "method": "tools/call", "params": params})
        assert await asyncio.to_thread(until, lambda: sleeping(token))
        if how == "cancel":
            await client.send({"method": "notifications/cancelled", "params": {"requestId": 1}})
        elif how == "leave":
            client.leave()
        else:
            serving.cancel()
        assert await asyncio.to_thread(until, lambda: not sleeping(token))
        assert await asyncio.to_thread(until, lambda: len(trail) == 3)
        assert trail[-1].outcome == "cancelled", "stopped and waited for, not given up"
        if how == "cancel":
            await client.send({"id": 2, "method": "ping"})
            assert await client.next() == {"jsonrpc": "2.0", "id": 2, "result": {}}
        if how == "stop":
            with pytest.raises(asyncio.CancelledError):
                await serving


MODERN = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}


@pytest.mark.parametrize("mode", MODES)
async def test_a_call_ends_with_its_client_over_http(mode: str) -> None:
    token = f"61.{os.getpid()}{MODES.index(mode)}"
    trail: list[AuditRecord] = []
    async with over_http(ToolServer([SLEEP], audit=trail.append)) as address:
        headers = {"Authorization": f"Bearer {TOKEN}", "Accept": "application/json, text/event-stream"}
        params: dict[str, Any] = {"name": "sleep", "arguments": {"token": token}}
        async with httpx2.AsyncClient(headers=headers) as http:
            if mode == "legacy":
                hello = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": HELLO}
                answer = await http.post(address, json=hello)
                headers["Mcp-Session-Id"] = answer.headers["mcp-session-id"]
                await http.post(
                    address, json={"jsonrpc": "2.0", "method": "notifications/initialized"}, headers=headers
                )
            else:
                headers |= {
                    "MCP-Protocol-Version": "2026-07-28",
                    "Mcp-Method": "tools/call",
                    "Mcp-Name": "sleep",
                }
                params["_meta"] = MODERN
            call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
            posting = asyncio.create_task(http.post(address, json=call, headers=headers))
            assert await asyncio.to_thread(until, lambda: sleeping(token)), posting
            posting.cancel()
            await asyncio.wait({posting})
        assert await asyncio.to_thread(until, lambda: not sleeping(token))
        assert await asyncio.to_thread(until, lambda: len(trail) == 3)
        assert trail[-1].outcome == "cancelled"


@pytest.mark.parametrize("mode", MODES)
async def test_the_official_client_over_http(mode: str) -> None:
    told: list[str | None] = []

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        told.append(message)

    asked: list[str] = []
    async with (
        over_http(ToolServer([add, keep])) as address,
        Client(with_token(address), mode=mode, elicitation_callback=asking(YES, asked)) as client,
    ):
        assert [each.name for each in (await client.list_tools()).tools] == ["add", "keep"]
        result = await client.call_tool("add", {"a": 1}, progress_callback=on_progress)
        assert result.structured_content == {"sum": 3}
        assert told == ["adding", "added"]
        assert text_of(await client.call_tool("keep", {"text": "x"})) == "kept x"
        assert len(asked) == 1


async def test_the_door_lets_nobody_in_without_reason() -> None:
    async with over_http(ToolServer([add])) as address, httpx2.AsyncClient() as http:
        host = httpx2.URL(address).netloc.decode()
        right = {"Authorization": f"Bearer {TOKEN}", "Accept": "application/json, text/event-stream"}
        hello = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": HELLO}).encode()

        async def status(headers: dict[str, Any], body: bytes = hello) -> int:
            sent: dict[str, Any] = {"Content-Type": "application/json", **headers}
            return (await http.post(address, content=body, headers=sent)).status_code

        assert await status(right) == 200
        assert await status({**right, "Authorization": f"bearer {TOKEN}", "Origin": f"http://{host}"}) == 200
        for wrong in ("", "Bearer", f"Bearer {TOKEN[:-1]}", f"Bearer {TOKEN}x", f"Basic {TOKEN}", b"Bearer \xfc"):
            assert await status({**right, "Authorization": wrong}) == 401, wrong
        for name in ("evil.example", f"evil.example:{host.rpartition(':')[2]}", "127.0.0.1", f"{host}.evil.example"):
            assert await status({**right, "Host": name}) == 421, name
        for origin in ("http://evil.example", "null", "https://" + host, f"http://{host}.evil.example"):
            assert await status({**right, "Origin": origin}) == 403, origin
        for body in (b"{", b'{"a":1,"a":2}', b'{"a":NaN}', b"[" * 100_000, b"\xff"):
            assert await status(right, body) == 400, body[:20]

        async def endless() -> Any:
            for _ in range(MESSAGE_BYTES // 65_536 + 2):
                yield b" " * 65_536

        for long in (b" " * (MESSAGE_BYTES + 1), endless()):
            # A client that sends on is cut off, and may not come to read why.
            with suppress(httpx2.TransportError):
                assert (await http.post(address, content=long, headers=right)).status_code == 413
        assert await status(right) == 200
        assert (await http.get(address.removesuffix("/mcp"), headers=right)).status_code == 404


async def test_a_server_over_http_ends_at_once_with_streams_open(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving_http, "STOP_SECONDS", 60)
    server = ToolServer([add])
    async with over_http(server) as address:
        async with Client(with_token(address), mode="legacy") as client:
            await client.list_tools()
        headers = {"Authorization": f"Bearer {TOKEN}", "Accept": "application/json, text/event-stream"}
        async with httpx2.AsyncClient(headers=headers) as http:
            hello = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": HELLO}
            headers["Mcp-Session-Id"] = (await http.post(address, json=hello)).headers["mcp-session-id"]
            async with http.stream("GET", address, headers=headers) as stream:
                assert stream.status_code == 200
                began = time.monotonic()
                serving = next(task for task in asyncio.all_tasks() if "serve_http" in repr(task.get_coro()))
                serving.cancel()
                await asyncio.wait({serving}, timeout=20)
                assert time.monotonic() - began < 10


async def test_nothing_runs_without_a_ticket(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fault in the gate is a denial here as everywhere."""

    def broken(*_: object) -> None:
        raise RuntimeError("broken")

    ran: list[str] = []
    touch = ToolDefinition("touch", "", {}, Risk.READ, lambda _: ran.append("ran"))
    server = ToolServer([touch])
    monkeypatch.setattr(Gate, "judge", broken)
    async with Client(server.protocol, mode="auto") as client:
        result = await client.call_tool("touch", {})
    assert result.is_error
    assert "deciding about it failed (RuntimeError)" in text_of(result)
    assert ran == []


async def test_both_ends_are_ours() -> None:
    async with over_http(ToolServer([add, fails])) as address:
        header = {"Authorization": f"Bearer {TOKEN}"}
        config = ServerConfig(name="own", url=address, headers=header, trusted=True, risk=Risk.READ)
        async with McpServers([config], patience=20) as servers:
            tools = {each.name: each for each in await servers.tools()}
            assert list(tools) == ["mcp__own__add", "mcp__own__fails"]
            gate = Gate(policy=Policy("ask"))
            ends: list[tuple[str, bool]] = []
            for name, arguments in (("mcp__own__add", {"a": 40}), ("mcp__own__fails", {})):
                ticket = await gate.decide(ToolInvocation(name, name, arguments), tools[name])
                assert isinstance(ticket, Ticket)
                result = await Executor(gate).run(ticket)
                ends.append((result.content, result.is_error))
    assert ends[0] == ('{"sum":42}', False)
    assert ends[1][1]
    assert "there is none" in ends[1][0]
