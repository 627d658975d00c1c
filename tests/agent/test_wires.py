"""The agent on every wire, against a server on loopback that gives our own small answers."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import pytest
from aiohttp import web

import toolwire
from feeding import call, delta, sse, typed_sse
from recorded_requests import CLIENTS
from toolwire import Agent, StopReason
from toolwire.agent.asking import Retries
from toolwire.agent.events import AgentEvent, RunFailed, RunFinished
from wire_bodies import Call, End, Error, Raw, Text, Thought
from wire_bodies import body as written

Json = dict[str, Any]
ran: list[tuple[int, int]] = []


@toolwire.tool(risk="read")
def add(a: int, b: int) -> int:
    """Adds two numbers."""
    ran.append((a, b))
    return a + b


def lines(*objects: Json) -> bytes:
    """Newline-delimited JSON, as Ollama sends it."""
    return b"".join(msgspec.json.encode(each) + b"\n" for each in objects)


def plain_sse(*objects: Json) -> bytes:
    """Events without a type and without an end mark, as Gemini sends them."""
    return sse(*objects, done=False)


def block(index: int, start: Json, *deltas: Json) -> list[Json]:
    """One content block of an Anthropic answer."""
    return [
        {"type": "content_block_start", "index": index, "content_block": start},
        *({"type": "content_block_delta", "index": index, "delta": each} for each in deltas),
        {"type": "content_block_stop", "index": index},
    ]


def anthropic(*blocks: list[Json], stop: str = "end_turn") -> bytes:
    usage = {"input_tokens": 5, "output_tokens": 3}
    return typed_sse(
        {"type": "message_start", "message": {"id": "msg_1", "role": "assistant", "content": [], "usage": usage}},
        *(event for each in blocks for event in each),
        {"type": "message_delta", "delta": {"stop_reason": stop}, "usage": {"output_tokens": 3}},
        {"type": "message_stop"},
    )


def anthropic_text(text: str, index: int = 0) -> list[Json]:
    return block(index, {"type": "text", "text": ""}, {"type": "text_delta", "text": text})


ANTHROPIC_CALL = block(
    0,
    {"type": "tool_use", "id": "c1", "name": "add", "input": {}},
    {"type": "input_json_delta", "partial_json": '{"a":2,'},
    {"type": "input_json_delta", "partial_json": '"b":3}'},
)


def responses(*items: Json, status: str = "completed", **response: Any) -> bytes:
    events: list[Json] = [{"type": "response.created", "response": {"id": "resp_1", "status": "in_progress"}}]
    for index, item in enumerate(items):
        head = {"output_index": index, "item_id": item["id"]}
        if item["type"] == "function_call":
            started = {**item, "arguments": "", "status": "in_progress"}
            told = [
                {"type": "response.function_call_arguments.delta", **head, "delta": item["arguments"]},
                {"type": "response.function_call_arguments.done", **head, "arguments": item["arguments"]},
            ]
        else:
            text = item["content"][0]["text"]
            started = {**item, "content": [], "status": "in_progress"}
            told = [
                {"type": "response.output_text.delta", **head, "content_index": 0, "delta": text},
                {"type": "response.output_text.done", **head, "content_index": 0, "text": text},
            ]
        events += [
            {"type": "response.output_item.added", "output_index": index, "item": started},
            *told,
            {"type": "response.output_item.done", "output_index": index, "item": {**item, "status": "completed"}},
        ]
    last = {"id": "resp_1", "status": status, "output": list(items), **response}
    return typed_sse(*events, {"type": f"response.{status}", "response": last})


RESPONSES_CALL = {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "add", "arguments": '{"a":2,"b":3}'}
RESPONSES_TEXT = {
    "type": "message",
    "id": "msg_1",
    "role": "assistant",
    "content": [{"type": "output_text", "text": "It is 5.", "annotations": []}],
}


def gemini(*parts: Json, finish: str = "STOP") -> bytes:
    return plain_sse({"candidates": [{"content": {"role": "model", "parts": list(parts)}, "finishReason": finish}]})


GEMINI_CALL = {"functionCall": {"name": "add", "args": {"a": 2, "b": 3}}, "thoughtSignature": "sig"}


def ollama(reason: str = "stop", **message: Any) -> bytes:
    return lines(
        {"model": "m", "message": {"role": "assistant", **message}, "done": False},
        {"model": "m", "message": {"role": "assistant", "content": ""}, "done": True, "done_reason": reason},
    )


OLLAMA_CALL = {"id": "c1", "function": {"name": "add", "arguments": {"a": 2, "b": 3}}}
COHERE_PLAN = Raw(typed_sse({"type": "tool-plan-delta", "delta": {"message": {"tool_plan": "I add."}}}))
ADD_CALL = Call("c1", "add", '{"a":2,"b":3}')
ADD = call('{"a":2,"b":3}', id="c1", name="add")


class Told(msgspec.Struct, kw_only=True):
    """One provider: how it is asked, what it answers, and how call and result go back to it."""

    provider: str
    wire: str
    base: str = "/v1"
    path: str
    headers: dict[str, str]
    calls: bytes
    text: bytes
    cut: bytes
    """The same call, ended by the token limit."""
    error: bytes
    """An error inside the stream that says `overloaded`."""
    sent_back: list[Json]
    told_of_cut: Callable[[Json], str]
    """The words of the last result in a request."""


BEARER = {"Authorization": "Bearer x"}
PROVIDERS = [
    Told(
        provider="openai",
        wire="openai-chat",
        path="/v1/chat/completions",
        headers=BEARER,
        calls=sse(delta(tool_calls=[ADD]), delta(finish="tool_calls")),
        text=sse(delta(content="It is 5."), delta(finish="stop")),
        cut=sse(delta(tool_calls=[ADD]), delta(finish="length")),
        error=sse({"error": {"message": "overloaded", "code": 529}}, done=False),
        sent_back=[
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [
                    {"id": "c1", "type": "function", "function": {"name": "add", "arguments": '{"a":2,"b":3}'}}
                ],
            },
            {"role": "tool", "tool_call_id": "c1", "content": "5"},
        ],
        told_of_cut=lambda request: request["messages"][-1]["content"],
    ),
    Told(
        provider="openai-responses",
        wire="openai-responses",
        path="/v1/responses",
        headers=BEARER,
        calls=responses(RESPONSES_CALL),
        text=responses(RESPONSES_TEXT),
        cut=responses(RESPONSES_CALL, status="incomplete", incomplete_details={"reason": "max_output_tokens"}),
        error=typed_sse({"type": "error", "code": "server_error", "message": "overloaded"}),
        sent_back=[
            {**RESPONSES_CALL, "status": "completed"},
            {"type": "function_call_output", "call_id": "c1", "output": "5"},
        ],
        told_of_cut=lambda request: request["input"][-1]["output"],
    ),
    Told(
        provider="anthropic",
        wire="anthropic",
        path="/v1/messages",
        headers={"x-api-key": "x", "anthropic-version": "2023-06-01"},
        calls=anthropic(ANTHROPIC_CALL, stop="tool_use"),
        text=anthropic(anthropic_text("It is 5.")),
        cut=anthropic(ANTHROPIC_CALL, stop="max_tokens"),
        error=typed_sse({"type": "error", "error": {"type": "overloaded_error", "message": "overloaded"}}),
        sent_back=[
            {
                "role": "assistant",
                "content": [{"type": "tool_use", "id": "c1", "name": "add", "input": {"a": 2, "b": 3}}],
            },
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "5"}]},
        ],
        told_of_cut=lambda request: request["messages"][-1]["content"][0]["content"],
    ),
    Told(
        provider="gemini",
        wire="gemini",
        base="/v1beta",
        path="/v1beta/models/m:streamGenerateContent?alt=sse",
        headers={"x-goog-api-key": "x"},
        calls=gemini(GEMINI_CALL),
        text=gemini({"text": "It is 5."}),
        cut=gemini(GEMINI_CALL, finish="MAX_TOKENS"),
        error=plain_sse({"error": {"code": 503, "message": "overloaded", "status": "UNAVAILABLE"}}),
        sent_back=[
            {"role": "model", "parts": [GEMINI_CALL]},
            {"role": "user", "parts": [{"functionResponse": {"name": "add", "response": {"output": "5"}}}]},
        ],
        told_of_cut=lambda request: str(request["contents"][-1]["parts"][0]["functionResponse"]["response"]),
    ),
    Told(
        provider="ollama",
        wire="ollama",
        base="",
        path="/api/chat",
        headers={},
        calls=ollama(content="", tool_calls=[OLLAMA_CALL]),
        text=ollama(content="It is 5."),
        cut=ollama("length", content="", tool_calls=[OLLAMA_CALL]),
        error=lines({"error": "overloaded"}),
        sent_back=[
            {
                "role": "assistant",
                "content": "",
                "tool_calls": [
                    {"id": "c1", "type": "function", "function": {"name": "add", "arguments": {"a": 2, "b": 3}}}
                ],
            },
            {"role": "tool", "tool_name": "add", "tool_call_id": "c1", "content": "5"},
        ],
        told_of_cut=lambda request: request["messages"][-1]["content"],
    ),
    Told(
        provider="bedrock",
        wire="bedrock",
        base="",
        path="/model/m/converse-stream",
        headers=BEARER,
        calls=written("bedrock", Thought("hm"), ADD_CALL, End()),
        text=written("bedrock", Text("It is 5."), End()),
        cut=written("bedrock", ADD_CALL, End("max_tokens")),
        error=written("bedrock", Error("overloaded")),
        sent_back=[
            {
                "role": "assistant",
                "content": [
                    {"reasoningContent": {"reasoningText": {"text": "hm", "signature": "sig"}}},
                    {"toolUse": {"toolUseId": "c1", "name": "add", "input": {"a": 2, "b": 3}}},
                ],
            },
            {"role": "user", "content": [{"toolResult": {"toolUseId": "c1", "content": [{"text": "5"}]}}]},
        ],
        told_of_cut=lambda request: request["messages"][-1]["content"][0]["toolResult"]["content"][0]["text"],
    ),
    Told(
        provider="cohere",
        wire="cohere",
        base="",
        path="/v2/chat",
        headers=BEARER,
        calls=written("cohere", COHERE_PLAN, ADD_CALL, End()),
        text=written("cohere", Text("It is 5."), End()),
        cut=written("cohere", COHERE_PLAN, ADD_CALL, End("MAX_TOKENS")),
        error=written("cohere", COHERE_PLAN, Error("overloaded")),
        sent_back=[
            {
                "role": "assistant",
                "tool_plan": "I add.",
                "tool_calls": [
                    {"id": "c1", "type": "function", "function": {"name": "add", "arguments": '{"a":2,"b":3}'}}
                ],
            },
            {"role": "tool", "tool_call_id": "c1", "content": "5"},
        ],
        told_of_cut=lambda request: request["messages"][-1]["content"],
    ),
]
each_provider = pytest.mark.parametrize("told", PROVIDERS, ids=[told.provider for told in PROVIDERS])
BY_WIRE = {told.wire: told for told in PROVIDERS}


class Host:
    """What the server was asked."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.requests: list[Json] = []
        self.paths: list[str] = []
        self.headers: list[Any] = []


@asynccontextmanager
async def hosting(answers: Sequence[bytes]) -> AsyncIterator[Host]:
    """A server on loopback that answers each request with the next body."""

    async def answer(request: web.Request) -> web.StreamResponse:
        host.requests.append(await request.json())
        host.paths.append(request.path_qs)
        host.headers.append(request.headers)
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(answers[len(host.requests) - 1])
        return response

    app = web.Application()
    app.router.add_post("/{path:.*}", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    host = Host(f"http://127.0.0.1:{runner.addresses[0][1]}")
    try:
        yield host
    finally:
        await runner.cleanup()


async def run(told: Told, host: Host, tools: Sequence[Any] = (add,)) -> list[AgentEvent]:
    """Everything that one run tells. Its calls run one after the other, as recorded tools want it."""
    ran.clear()
    options: Json = {"base_url": host.url + told.base, "api_key": "x", "system_prompt": "Be brief.", "parallel": 1}
    options["retries"] = Retries(attempts=1)
    async with Agent(f"{told.provider}:m", tools, **options) as agent:
        return [event async for event in agent.run("2 + 3?")]


@each_provider
async def test_a_call_is_run_and_goes_back_in_the_providers_form(told: Told) -> None:
    async with hosting([told.calls, told.text]) as host:
        events = await run(told, host)
    end = events[-1]
    assert isinstance(end, RunFinished), end
    assert (str(end), end.stop_reason, end.turns) == ("It is 5.", StopReason.STOP, 2)
    assert ran == [(2, 3)]
    assert host.paths == [told.path] * 2
    for headers in host.headers:
        assert {name: headers.get(name) for name in told.headers} == told.headers
    first, second = (request[CLIENTS[told.wire].items] for request in host.requests)
    assert second == [*first, *told.sent_back]


@each_provider
async def test_an_error_in_the_stream_ends_the_run(told: Told) -> None:
    async with hosting([told.error]) as host:
        events = await run(told, host)
    end = events[-1]
    assert isinstance(end, RunFailed), end
    assert "overloaded" in end.error.message
    assert end.error.type in {"ProviderError", "RateLimited"}
    assert len(host.requests) == 1
    assert ran == []


@each_provider
async def test_a_call_cut_by_the_token_limit_does_not_run_and_the_model_is_told(told: Told) -> None:
    async with hosting([told.cut, told.text]) as host:
        events = await run(told, host)
    assert isinstance(events[-1], RunFinished)
    assert ran == []
    assert "token limit" in told.told_of_cut(host.requests[1])


async def test_a_paused_turn_is_sent_back_as_it_stands_and_goes_on() -> None:
    search = {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "2 + 3"}}
    found = {"type": "web_search_tool_result", "tool_use_id": "s1", "content": [{"type": "web_search_result"}]}
    query = {"type": "input_json_delta", "partial_json": '{"query": "2 + 3"}'}
    paused = anthropic(
        anthropic_text("Let me look."),
        block(1, {**search, "input": {}}, query),
        block(2, found),
        stop="pause_turn",
    )
    told = BY_WIRE["anthropic"]
    async with hosting([paused, told.calls, told.text]) as host:
        events = await run(told, host)
    end = events[-1]
    assert isinstance(end, RunFinished)
    assert end.turns == 3
    assert ran == [(2, 3)]
    first, second, third = (request["messages"] for request in host.requests)
    sent_back = {"role": "assistant", "content": [{"type": "text", "text": "Let me look."}, search, found]}
    assert second == [*first, sent_back]
    went_on, results = told.sent_back
    one_turn = {"role": "assistant", "content": [*sent_back["content"], *went_on["content"]]}
    assert third == [*first, one_turn, results]
