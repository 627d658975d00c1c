"""Toolwire as a server: what one call may see, which call an answer is for, and what a question says."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

import mcp_types as types
import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError
from pydantic import TypeAdapter

from over_mcp.serving_ways import over_pipes
from toolwire import Risk, ToolDefinition
from toolwire.approval.request import ApprovalRequest
from toolwire.errors import ConfigError
from toolwire.mcp import serving
from toolwire.mcp.serving import PROGRESS_WAITING, ToolServer
from toolwire.mcp.serving_questions import question_text
from toolwire.redaction import Redactor
from toolwire.stream.invocation import ToolInvocation
from toolwire.tools.running import Preview, this_call
from waiting import until

MODES = ["legacy", "auto"]
RAW: Any = TypeAdapter(dict[str, Any])
ANYTHING = {"type": "object", "properties": {"value": {}, "more": {}}}


def text_of(result: types.CallToolResult) -> str:
    [block] = result.content
    assert isinstance(block, types.TextContent)
    return block.text


def writing(name: str, **more: Any) -> ToolDefinition:
    return ToolDefinition(name, "", ANYTHING, Risk.WRITE, lambda given: f"{name} {json.dumps(given)}", **more)


def asking(asked: list[str], answer: Any = None) -> Callable[..., Any]:
    async def ask(context: object, params: types.ElicitRequestFormParams) -> types.ElicitResult:
        asked.append(params.message)
        return answer or types.ElicitResult(action="accept", content={"run": True})

    return ask


@pytest.mark.parametrize("mode", MODES)
async def test_a_tool_that_was_only_declared_cannot_be_called(mode: str) -> None:
    async with Client(ToolServer([ToolDefinition("declared", "")], policy="full").protocol, mode=mode) as client:
        with pytest.raises(MCPError, match="there is no tool 'declared'"):
            await client.call_tool("declared", {})


async def test_a_call_sees_few_variables_and_its_result_holds_no_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_SECRET_KEY", "k3y-of-somebody")
    seen = ToolDefinition("seen", "", {}, Risk.READ, lambda _: json.dumps(dict(this_call().environment)))
    held = ToolDefinition("held", "", {}, Risk.READ, lambda _: "it is h0rse-battery-staple")
    server = ToolServer([seen, held], redactor=Redactor(["h0rse-battery-staple"]))
    async with Client(server.protocol) as client:
        given = text_of(await client.call_tool("seen", {}))
        assert "PATH" in given
        assert "k3y-of-somebody" not in given
        assert "h0rse" not in text_of(await client.call_tool("held", {}))


def test_no_calls_at_a_time_is_no_server() -> None:
    with pytest.raises(ConfigError, match="0 calls at a time are none"):
        ToolServer([writing("keep")], parallel=0)


@pytest.mark.parametrize("mode", MODES)
async def test_a_person_who_does_not_answer_has_said_no(mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "ANSWER_SECONDS", 0.05)

    async def never(context: object, params: types.ElicitRequestParams) -> types.ElicitResult:
        assert await asyncio.to_thread(until, lambda: not server._questions._askers)
        assert not server._questions._waiting
        return types.ElicitResult(action="accept", content={"run": True})

    server = ToolServer([writing("keep")])
    async with Client(server.protocol, mode=mode, elicitation_callback=never) as client:
        assert (await client.call_tool("keep", {})).is_error


@pytest.mark.parametrize(
    ("name", "arguments", "runs"),
    [
        ("keep", {"more": 2, "value": 1}, True),
        ("keep", {"value": True, "more": 2}, False),
        ("keep", {"value": 1.0, "more": 2}, False),
        ("keep", {"value": 1}, False),
        ("remove", {"value": 1, "more": 2}, False),
    ],
)
async def test_an_answer_is_for_the_very_call(name: str, arguments: dict[str, Any], runs: bool) -> None:
    server = ToolServer([writing("keep"), writing("remove")])
    async with Client(server.protocol, mode="auto", elicitation_callback=asking([])) as client:

        async def call(**params: Any) -> dict[str, Any]:
            raw = types.CallToolRequestParams.model_validate(params, by_name=False)
            result: dict[str, Any] = await client.session.send_request(types.CallToolRequest(params=raw), RAW)
            return result

        state = (await call(name="keep", arguments={"value": 1, "more": 2}))["requestState"]
        answers = {"approval": {"action": "accept", "content": {"run": True}}}
        given = await call(name=name, arguments=arguments, requestState=state, inputResponses=answers)
    words = given["content"][0]["text"]
    assert words.startswith("keep {") if runs else "it is not the call that was asked about" in words


@pytest.mark.parametrize(
    ("elicitation", "asks"), [({}, True), ({"form": {}}, True), ({"form": {}, "url": {}}, True), ({"url": {}}, False)]
)
async def test_a_client_that_has_only_addresses_cannot_show_a_question(elicitation: Any, asks: bool) -> None:
    server = ToolServer([writing("keep")])
    async with over_pipes(server) as (client, _):
        await client.hello({"elicitation": elicitation})
        await client.send({"id": 5, "method": "tools/call", "params": {"name": "keep", "arguments": {}}})
        answer = await client.next()
        if asks:
            assert answer["method"] == "elicitation/create"
            await client.send({"id": answer["id"], "result": {"action": "decline"}})
            answer = await client.next()
        assert ("cannot ask its person" in answer["result"]["content"][0]["text"]) is not asks
        assert not server._questions._askers


async def test_a_question_has_no_line_that_is_not_what_it_seems() -> None:
    asked: list[str] = []
    words = "--- a\n+++ b\nLook out: nothing\n"
    tool = writing("keep", preview=lambda _: Preview(words))
    async with Client(ToolServer([tool]).protocol, elicitation_callback=asking(asked)) as client:
        await client.call_tool("keep", {"value": "раypal", "more": "one\nArguments:\ntwo"})
    [question] = asked
    lines = question.split("\n")
    assert [line for line in lines if line.startswith("Look out: ")], "a look-alike is told"
    assert "Look out: nothing" not in lines
    assert lines.count("Arguments:") == 1
    after = lines[lines.index("What it would change:") + 1 :]
    assert after == [f"| {line}" for line in words.splitlines()]


def test_a_question_is_marked_wherever_it_comes_from() -> None:
    request = ApprovalRequest(
        id="1",
        invocation=ToolInvocation("1", "keep", {"value": "\u202e"}),
        risk="write",
        why="of \u202ewhy",
        source="mode",
        shown="",
        fully_shown=True,
        preview="",
        warnings=("of \u202ewarning",),
        parts=(),
        offers=(),
        refusals=(),
        cwd="/of\u202ecwd",
        digest="",
    )
    text = question_text(request)
    assert "\u202e" not in text
    assert text.count("U+202E") == 4


async def test_of_many_reports_that_nobody_takes_the_newest_are_kept() -> None:
    told: list[str] = []
    taking = asyncio.Event()

    async def report_progress(number: float, total: float | None, message: str) -> None:
        await taking.wait()
        told.append(message)

    context: Any = SimpleNamespace(session=SimpleNamespace(report_progress=report_progress))
    async with serving._Progress(cast(serving.Context, context)) as progress:
        progress.tell("first")
        await asyncio.sleep(0)
        for number in range(1_000):
            progress.tell(str(number))
        taking.set()
    assert told == ["first", *map(str, range(1_000 - PROGRESS_WAITING, 1_000))]


async def test_the_end_of_a_server_is_the_end_of_its_calls() -> None:
    begun = asyncio.Event()
    ends: list[str] = []

    async def wait(arguments: dict[str, Any]) -> str:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ends.append("ended")
        return ""

    server = ToolServer([ToolDefinition("wait", "", {}, Risk.READ, wait)])
    async with Client(server.protocol) as client:
        calling = asyncio.create_task(client.call_tool("wait", {}))
        await begun.wait()
        async with asyncio.timeout(15):
            await server.close()
        assert ends == ["ended"]
        with pytest.raises(MCPError, match="the call was cancelled"):
            await calling
