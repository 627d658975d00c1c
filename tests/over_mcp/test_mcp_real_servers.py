"""Servers that others wrote: their tools, prompts and resources, over pipes and over HTTP."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from bench.trust.children import living, new_token

from over_mcp.real_servers import (
    everything_over_http,
    everything_server,
    filesystem_server,
    git_server,
    time_server,
)
from programs import needs
from toolwire import Agent
from toolwire.agent.events import ToolFinished
from toolwire.approval.gate import Gate
from toolwire.approval.policy import Mode, Policy
from toolwire.approval.request import Answer, ApprovalRequest
from toolwire.errors import McpFailed
from toolwire.mcp import connection as connections
from toolwire.mcp.host import Sampled, Sampling
from toolwire.mcp.pins import Pins
from toolwire.mcp.servers import McpServers
from toolwire.messages import TextPart
from toolwire.testing import ScriptedModel, call, events_of, say
from toolwire.tools.definition import ToolDefinition
from toolwire.tools.output import ToolOutput
from waiting import until

# Each server is started once, for all tests here.
pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.xdist_group("real MCP servers")]


class Standing:
    """An agent's side: a person who says what `yes` says, and a model with one answer."""

    def __init__(self) -> None:
        self.yes = True
        self.questions: list[ApprovalRequest] = []
        self.gate = Gate(self._ask, policy=Policy(Mode.ASK))
        self.run = 0

    async def _ask(self, request: ApprovalRequest) -> bool:
        self.questions.append(request)
        return self.yes

    async def sample(self, request: Sampling) -> Sampled:
        return Sampled("Forty-two.", "any-model", "endTurn")

    def asked(self, request: ApprovalRequest) -> None:
        pass

    def answered(self, request: ApprovalRequest, answer: Answer) -> None:
        pass


class Everything:
    """server-everything with its tools, by the server's own names."""

    def __init__(self, servers: McpServers, host: Standing, tools: list[ToolDefinition]) -> None:
        self.servers = servers
        self.connection = servers.connection("everything")
        self.host = host
        self.tools = {tool.name.removeprefix("mcp__everything__"): tool for tool in tools}

    async def run(self, name: str, **arguments: Any) -> ToolOutput:
        return await run(self.tools[name], **arguments)


async def run(tool: ToolDefinition, **arguments: Any) -> ToolOutput:
    assert tool.call is not None
    async with asyncio.timeout(10):
        output = await tool.call(arguments)
    assert isinstance(output, ToolOutput)
    return output


async def filled_in(server: str, message: str, form: dict[str, Any]) -> dict[str, Any] | None:
    assert form["properties"]["integer"]["maximum"] == 100
    return {"name": "Ada", "check": True, "integer": 7}


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=["pipes", "HTTP"])
async def everything(request: pytest.FixtureRequest) -> AsyncIterator[Everything]:
    async with AsyncExitStack() as stack:
        if request.param == "HTTP":
            config = await stack.enter_async_context(everything_over_http(trusted=True))
        else:
            config = everything_server(trusted=True)
        servers = await stack.enter_async_context(McpServers([config], pins=Pins(None), fill_in=filled_in, patience=20))
        host = Standing()
        servers.bind(host)
        yield Everything(servers, host, await servers.tools())


async def test_its_tools(everything: Everything) -> None:
    assert {"echo", "get-sum", "get-tiny-image", "trigger-sampling-request", "trigger-elicitation-request"} <= set(
        everything.tools
    )
    # It can only be called in a way that this client does not offer.
    assert "simulate-research-query" not in everything.tools
    assert any("simulate-research-query" in note for note in everything.servers.notes())
    assert everything.tools["get-sum"].parameters["required"] == ["a", "b"]
    assert everything.tools["get-sum"].risk is None, "what it says of itself lowers nothing"


@pytest.mark.parametrize(
    ("name", "arguments", "text", "is_error"),
    [
        ("echo", {"message": "grün 🎈"}, "Echo: grün 🎈", False),
        ("get-sum", {"a": 1.5, "b": 2}, "The sum of 1.5 and 2 is 3.5.", False),
        ("get-sum", {"a": "x"}, "expected number, received string", True),
        ("get-structured-content", {"location": "Chicago"}, '"temperature":36', False),
        ("get-resource-links", {"count": 2}, "demo://resource/dynamic/text/2", False),
        ("get-resource-reference", {"resourceType": "Text", "resourceId": 1}, "This is a plaintext resource", False),
    ],
)
async def test_a_call(everything: Everything, name: str, arguments: dict[str, Any], text: str, is_error: bool) -> None:
    output = await everything.run(name, **arguments)
    assert text in output.text
    assert output.is_error is is_error


async def test_structured_content_is_given_once(everything: Everything) -> None:
    output = await everything.run("get-structured-content", location="Los Angeles")
    assert set(json.loads(output.text)) == {"temperature", "conditions", "humidity"}


async def test_a_picture(everything: Everything) -> None:
    output = await everything.run("get-tiny-image")
    [picture] = output.media
    assert picture.media_type == "image/png"
    assert (picture.data or "").startswith("iVBORw0KGgo")


async def test_progress(everything: Everything) -> None:
    told: list[str] = []
    await everything.connection.call("trigger-long-running-operation", {"duration": 0.1, "steps": 3}, told.append)
    assert told == ["1 of 3", "2 of 3", "3 of 3"]


async def test_a_call_that_is_given_up_holds_nobody(everything: Everything) -> None:
    runs = asyncio.Event()
    arguments = {"duration": 60, "steps": 1_000}
    asked = everything.connection.call("trigger-long-running-operation", arguments, lambda _: runs.set())
    long = asyncio.create_task(asked)
    async with asyncio.timeout(20):
        await runs.wait()
    started = time.monotonic()
    long.cancel()
    await asyncio.wait({long})
    assert long.cancelled()
    assert (await everything.run("echo", message="still here")).text == "Echo: still here"
    assert time.monotonic() - started < 15


async def test_prompts(everything: Everything) -> None:
    listed = {prompt["name"] for prompt in await everything.connection.list_prompts()}
    assert {"simple-prompt", "args-prompt", "resource-prompt"} <= listed
    [message] = await everything.servers.prompt("everything", "args-prompt", {"city": "Berlin"})
    assert message.role == "user"
    assert "What's weather in Berlin?" in str(message.content)
    with pytest.raises(McpFailed) as refused:
        await everything.servers.prompt("everything", "args-prompt", {})
    assert refused.value.why == "refused"


async def test_resources(everything: Everything) -> None:
    assert len(await everything.connection.list_resources()) > 1
    templates = await everything.connection.list_templates()
    assert "demo://resource/dynamic/text/{resourceId}" in {template["uriTemplate"] for template in templates}
    for kind, words in (("text", "a plaintext resource"), ("blob", "a base64 blob")):
        [part] = await everything.servers.read_resource("everything", f"demo://resource/dynamic/{kind}/3")
        assert isinstance(part, TextPart)
        assert words in part.text
    with pytest.raises(McpFailed) as refused:
        await everything.servers.read_resource("everything", "demo://resource/none")
    assert refused.value.why == "refused"


@pytest.mark.parametrize(
    ("tool", "arguments", "yes", "answer"),
    [
        ("trigger-sampling-request", {"prompt": "What is it?"}, True, "Forty-two."),
        ("trigger-sampling-request", {"prompt": "What is it?"}, False, "it was not approved"),
        ("trigger-elicitation-request", {}, True, "- Name: Ada"),
        ("trigger-elicitation-request", {}, False, "User declined"),
    ],
)
async def test_what_it_asks_for_goes_through_the_gate(
    everything: Everything, tool: str, arguments: dict[str, Any], yes: bool, answer: str
) -> None:
    host = everything.host
    host.yes, host.run = yes, host.run + 1
    host.questions.clear()
    assert answer in (await everything.run(tool, **arguments)).text
    [question] = host.questions
    assert question.invocation.tool_name.startswith("mcp__everything__")
    assert "everything" in question.why


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path.resolve()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    return tmp_path


async def test_files(folder: Path) -> None:
    (folder / "notes.txt").write_text("one\ntwo\n")
    async with McpServers([filesystem_server(folder, trusted=True)], pins=Pins(None), patience=20) as servers:
        tools = {tool.name.removeprefix("mcp__files__"): tool for tool in await servers.tools()}
        assert (await run(tools["read_text_file"], path=f"{folder}/notes.txt")).text == "one\ntwo\n", "once, not twice"
        await run(tools["write_file"], path=f"{folder}/new.txt", content="grün")
        assert (folder / "new.txt").read_text() == "grün"
        outside = await run(tools["read_text_file"], path="/etc/passwd")
        assert outside.is_error
        assert "Access denied" in outside.text


@needs("git")
async def test_git(repository: Path) -> None:
    (repository / "a.txt").write_text("a")
    async with McpServers([git_server(repository, trusted=True)], pins=Pins(None), patience=20) as servers:
        tools = {tool.name.removeprefix("mcp__git__"): tool for tool in await servers.tools()}
        assert "a.txt" in (await run(tools["git_status"], repo_path=str(repository))).text
        await run(tools["git_add"], repo_path=str(repository), files=["a.txt"])
        assert "new file" in (await run(tools["git_status"], repo_path=str(repository))).text
        assert (await run(tools["git_show"], repo_path=str(repository), revision="none")).is_error


async def test_the_time_for_an_agent_and_after_a_kill(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "FIRST_PAUSE", 0.02)
    token = new_token()
    servers = McpServers([time_server(trusted=True, risk="read", env={"TOKEN": token})], pins=Pins(None), patience=20)
    asks = call("mcp__time__get_current_time", timezone="Asia/Tokyo")
    script = ScriptedModel([asks, say("It is late."), asks, say("Later.")])
    async with Agent("groq:any", [servers], transport=script, api_key="test") as agent:
        events = await events_of(agent, "What time is it in Tokyo?")
        [first] = [event.result for event in events if isinstance(event, ToolFinished)]
        assert json.loads(first.content)["timezone"] == "Asia/Tokyo"
        wrong = {tool.name: tool for tool in await servers.tools()}["mcp__time__get_current_time"]
        assert (await run(wrong, timezone="Nowhere")).is_error
        for process, line in living(token).items():
            if "mcp-server-time" in line:
                os.kill(process, signal.SIGKILL)
        assert await asyncio.to_thread(until, lambda: servers.connection("time").state == "failed")
        events = await events_of(agent, "And now?")
        [second] = [event.result for event in events if isinstance(event, ToolFinished)]
        assert not second.is_error, "it was started again"
    assert until(lambda: not living(token), 5)
