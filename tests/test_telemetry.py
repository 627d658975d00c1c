"""OpenTelemetry: spans and metrics by the conventions, each in its place, and silent about what was said."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from opentelemetry import context, trace
from opentelemetry.sdk.trace import Span, SpanProcessor, TracerProvider
from opentelemetry.trace import SpanKind, StatusCode

import toolwire
from agent.scripted import ADD, FIVE, Script, add, agent, collect, last
from feeding import call, delta, sse
from toolwire import Agent
from toolwire.agent.asking import Retries
from toolwire.agent.events import HookFailed, RunFinished, RunInterrupted, RunStarted
from toolwire.agent.hooks import RunFacts
from toolwire.chunks import TokenUsage
from toolwire.errors import ConfigError, ProviderError, TransportError
from toolwire.messages import Message
from toolwire.stream.invocation import ToolInvocation
from toolwire.telemetry import CONTENT_VARIABLE, OpenTelemetry
from toolwire.tools.registry import ToolRegistry
from traces import Spans, Traced, attributes, id_of, parent_of

KEY = "a-key-of-its-own-0123456789"


@pytest.fixture
def traced() -> Iterator[Traced]:
    traced = Traced()
    yield traced
    traced.shutdown()


async def test_a_run_by_the_conventions(traced: Traced) -> None:
    it = agent(Script(ADD, FIVE), hooks=[traced.hooks(agent_name="sums")], options={"max_tokens": 99})
    await collect(it)
    run, first, tool, second = traced.spans
    assert [span.name for span in traced.spans] == ["invoke_agent sums", "chat m", "execute_tool add", "chat m"]
    assert [span.kind for span in traced.spans] == [
        SpanKind.INTERNAL,
        SpanKind.CLIENT,
        SpanKind.INTERNAL,
        SpanKind.CLIENT,
    ]
    assert parent_of(run) is None
    assert {parent_of(span) for span in (first, tool, second)} == {id_of(run)}
    common = {
        "gen_ai.provider.name": "openai-compatible",
        "gen_ai.request.model": "m",
        "gen_ai.request.max_tokens": 99,
        "gen_ai.agent.name": "sums",
        "server.address": "127.0.0.1",
        "server.port": 1,
    }
    assert attributes(run) == {
        **common,
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.response.finish_reasons": ("stop",),
        "gen_ai.usage.input_tokens": 4,
        "gen_ai.usage.output_tokens": 2,
    }
    chat = attributes(second)
    assert 0 <= chat.pop("gen_ai.response.time_to_first_chunk") < 5
    assert chat == {
        **common,
        "gen_ai.operation.name": "chat",
        "gen_ai.request.stream": True,
        "gen_ai.response.finish_reasons": ("stop",),
        "gen_ai.usage.input_tokens": 4,
        "gen_ai.usage.output_tokens": 2,
    }
    assert attributes(first)["gen_ai.response.finish_reasons"] == ("tool_calls",)
    assert attributes(tool) == {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.agent.name": "sums",
        "gen_ai.tool.name": "add",
        "gen_ai.tool.type": "function",
        "gen_ai.tool.description": "Adds two numbers.",
        "gen_ai.tool.call.id": "c1",
    }
    assert all(span.status.status_code is StatusCode.UNSET for span in traced.spans)
    for span in (first, tool, second):
        assert run.start_time <= span.start_time <= span.end_time <= run.end_time  # type: ignore[operator]
    assert first.end_time <= tool.start_time  # type: ignore[operator]


@pytest.mark.parametrize(
    ("provider", "name"),
    [
        ("openai", "openai"),
        ("openai-responses", "openai"),
        ("anthropic", "anthropic"),
        ("gemini", "gcp.gemini"),
        ("mistral", "mistral_ai"),
        ("xai", "x_ai"),
        ("groq", "groq"),
    ],
)
async def test_providers_have_the_names_of_the_conventions(traced: Traced, provider: str, name: str) -> None:
    it = Agent(f"{provider}:m", transport=Script(TransportError("x")), api_key=KEY, hooks=[traced.hooks()])
    await collect(agent_without_retries(it))
    assert attributes(traced.spans[0])["gen_ai.provider.name"] == name
    assert attributes(traced.spans[0])["server.port"] == 443


def agent_without_retries(it: Agent) -> Agent:
    it._retries = Retries(attempts=1)
    return it


def test_the_names_are_those_of_the_published_conventions() -> None:
    from opentelemetry.semconv._incubating.attributes import gen_ai_attributes as published

    from toolwire import telemetry

    names = {value for name, value in vars(published).items() if name.startswith("GEN_AI_")}
    source = Path(telemetry.__file__).read_text()
    used = {word for word in source.split('"') if word.startswith("gen_ai.") and "{" not in word}
    metrics = {"gen_ai.client.operation.duration", "gen_ai.client.token.usage"}
    assert used - metrics <= names
    assert {f"gen_ai.request.{name}" for name in telemetry._OPTIONS} <= names
    providers = {each.value for each in published.GenAiProviderNameValues}
    assert set(telemetry._NAMES.values()) <= providers


async def test_a_request_that_is_sent_again_is_one_span(traced: Traced) -> None:
    it = agent(
        Script(TransportError("reset"), TransportError("reset"), FIVE),
        hooks=[traced.hooks()],
        retries=Retries(first_pause=0.001),
    )
    await collect(it)
    (chat,) = traced.named("chat")
    assert [event.name for event in chat.events] == ["toolwire.request_retried"] * 2
    assert [dict(event.attributes or {})["attempt"] for event in chat.events] == [1, 2]
    assert dict(chat.events[0].attributes or {})["error.type"] == "TransportError"
    assert chat.status.status_code is StatusCode.UNSET


async def test_what_a_tool_does_hangs_below_it(traced: Traced) -> None:
    """In the tool's own thread or task, and two calls side by side do not mix."""
    tracer = traced.provider.get_tracer("mine")

    @toolwire.tool(risk="read")
    async def fetch(n: int) -> str:
        """Fetches."""
        with tracer.start_as_current_span(f"http {n}"):
            await asyncio.sleep(0.01)
        return "fetched"

    @toolwire.tool(risk="read")
    def read(n: int) -> str:
        """Reads."""
        with tracer.start_as_current_span(f"http {n}"):
            return "read"

    made = [call(f'{{"n":{n}}}', index=n, id=f"c{n}", name="fetch" if n % 2 else "read") for n in range(6)]
    body = sse(*(delta(tool_calls=[each]) for each in made), delta(finish="tool_calls"))
    with tracer.start_as_current_span("the program") as outer:
        it = Agent(
            "openai-compatible:m",
            [fetch, read],
            base_url="http://127.0.0.1:1",
            transport=Script(body, FIVE),
            hooks=[traced.hooks()],
        )
        await collect(it)
        assert trace.get_current_span() is outer
    tools = {attributes(span)["gen_ai.tool.call.id"]: id_of(span) for span in traced.named("execute_tool")}
    assert {span.name[-1]: parent_of(span) for span in traced.named("http")} == {
        name[-1]: span_id for name, span_id in tools.items()
    }
    assert parent_of(traced.named("invoke_agent")[0]) == outer.get_span_context().span_id


async def test_an_agent_that_is_a_tool_hangs_below_its_call(traced: Traced) -> None:
    hooks = traced.hooks()

    @toolwire.tool(risk="read")
    async def ask(question: str) -> str:
        """Asks another."""
        return str(last(await collect(agent(Script(ADD, FIVE), hooks=[hooks]), question)))

    @toolwire.tool(risk="read")
    def ask_here(question: str) -> str:
        """Asks another, and waits."""
        return str(agent(Script(ADD, FIVE), hooks=[hooks]).run_sync(question))

    for tool in (ask, ask_here):
        traced.exporter.clear()
        body = sse(
            delta(tool_calls=[call('{"question":"2 + 3?"}', id="c9", name=tool.__name__)]), delta(finish="tool_calls")
        )
        it = Agent(
            "openai-compatible:m",
            [tool],
            base_url="http://127.0.0.1:1",
            transport=Script(body, FIVE),
            hooks=[hooks],
        )
        await collect(it)
        outer, inner = traced.named("invoke_agent")
        (call_span,) = traced.named(f"execute_tool {tool.__name__}")
        assert parent_of(inner) == id_of(call_span)
        assert parent_of(call_span) == id_of(outer)
        assert {parent_of(span) for span in traced.named("execute_tool add")} == {id_of(inner)}
        assert len({span.context.trace_id for span in traced.spans if span.context}) == 1


async def test_many_runs_at_once_with_one_hooks_object(traced: Traced) -> None:
    hooks, runs = traced.hooks(), 200
    await asyncio.gather(*(collect(agent(Script(ADD, FIVE), hooks=[hooks])) for _ in range(runs)))
    assert traced.watch.open == {}
    below: dict[int | None, list[str]] = {}
    for span in traced.spans:
        below.setdefault(parent_of(span), []).append(span.name)
    assert below.pop(None) == ["invoke_agent"] * runs
    assert len(below) == runs
    assert {tuple(sorted(names)) for names in below.values()} == {("chat m", "chat m", "execute_tool add")}


# ---- metrics, content, faults


async def test_metrics_of_requests(traced: Traced) -> None:
    hooks = traced.hooks()
    await collect(agent(Script(ADD, FIVE), hooks=[hooks]))
    await collect(agent(Script(ProviderError("no", status=400)), hooks=[hooks]))
    points = traced.points()
    counts = {point.attributes.get("error.type"): point.count for point in points["gen_ai.client.operation.duration"]}
    assert counts == {None: 2, "ProviderError": 1}
    tokens = {point.attributes["gen_ai.token.type"]: point for point in points["gen_ai.client.token.usage"]}
    assert {kind: point.sum for kind, point in tokens.items()} == {"input": 4, "output": 2}
    assert tokens["input"].attributes["gen_ai.request.model"] == "m"
    assert tokens["input"].explicit_bounds[:4] == (1, 4, 16, 64)


def everything(traced: Traced) -> str:
    return "\n".join(span.to_json() for span in traced.spans)


async def test_what_was_said_is_in_no_span(traced: Traced, monkeypatch: pytest.MonkeyPatch) -> None:
    for value in (None, "", "false", "NO_CONTENT", "EVENT_ONLY"):
        if value is not None:
            monkeypatch.setenv(CONTENT_VARIABLE, value)
        await collect(agent(Script(ADD, FIVE), hooks=[traced.hooks()]))
        await collect(agent(Script(ProviderError("2 + 3? is no question", status=400)), hooks=[traced.hooks()]))
    monkeypatch.setenv(CONTENT_VARIABLE, "true")
    await collect(agent(Script(ADD, FIVE), hooks=[traced.hooks(capture_content=False)]))
    for words in ("2 + 3?", "It is ", '{"a"'):
        assert words not in everything(traced)
    assert not [name for span in traced.spans for name in attributes(span) if "messages" in name or "result" in name]


@pytest.mark.parametrize("value", ["", "true", "SPAN_ONLY", "span_and_event"])
async def test_what_was_said_where_that_is_asked_for(
    traced: Traced, monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    monkeypatch.setenv(CONTENT_VARIABLE, value)
    body = sse(
        delta(reasoning_content="Hm."),
        delta(content="Let me see."),
        delta(tool_calls=[call('{"a":2,"b":3}', id="c1", name="add")]),
        delta(finish="tool_calls"),
    )
    hooks = traced.hooks() if value else traced.hooks(capture_content=True)
    await collect(agent(Script(body, FIVE), hooks=[hooks], system_prompt="Be brief."))
    first, second = (attributes(span) for span in traced.named("chat"))
    made = {"type": "tool_call", "id": "c1", "name": "add", "arguments": {"a": 2, "b": 3}}
    assert msgspec.json.decode(first["gen_ai.input.messages"]) == [
        {"role": "system", "parts": [{"type": "text", "content": "Be brief."}]},
        {"role": "user", "parts": [{"type": "text", "content": "2 + 3?"}]},
    ]
    parts = [{"type": "reasoning", "content": "Hm."}, {"type": "text", "content": "Let me see."}, made]
    assert msgspec.json.decode(first["gen_ai.output.messages"]) == [
        {"role": "assistant", "parts": parts, "finish_reason": "tool_call"}
    ]
    assert msgspec.json.decode(second["gen_ai.input.messages"])[2:] == [
        {"role": "assistant", "parts": parts},
        {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": "5"}]},
    ]
    assert msgspec.json.decode(second["gen_ai.output.messages"])[0]["parts"] == [
        {"type": "text", "content": "It is 5."}
    ]
    (tool,) = (attributes(span) for span in traced.named("execute_tool"))
    assert msgspec.json.decode(tool["gen_ai.tool.call.arguments"]) == {"a": 2, "b": 3}
    assert tool["gen_ai.tool.call.result"] == "5"


async def test_a_request_that_is_made_otherwise_is_another_span(traced: Traced) -> None:
    refused = ProviderError("it takes no tools", status=400, refused="tools")
    await collect(agent(Script(refused, FIVE), hooks=[traced.hooks()]))
    assert [attributes(span).get("error.type") for span in traced.named("chat")] == ["refused", None]
    assert traced.watch.open == {}


async def test_a_session_is_the_conversation(traced: Traced) -> None:
    hooks = traced.hooks().of_run(RunFacts())
    await hooks.on_event(RunStarted("openai", "m", "api_tool_call", "session-7"))
    await hooks.before_request(1, [])
    await hooks.on_event(RunInterrupted(1, TokenUsage(9, 5, 3, 2, 1)))
    run, chat = (attributes(span) for span in traced.spans)
    assert run["gen_ai.conversation.id"] == chat["gen_ai.conversation.id"] == "session-7"
    assert "server.address" not in run
    assert {name: count for name, count in run.items() if "usage" in name} == {
        "gen_ai.usage.input_tokens": 9,
        "gen_ai.usage.output_tokens": 5,
        "gen_ai.usage.cache_read.input_tokens": 3,
        "gen_ai.usage.cache_creation.input_tokens": 2,
        "gen_ai.usage.reasoning.output_tokens": 1,
    }


@pytest.mark.parametrize("ends_first", [False, True])
async def test_a_call_whose_end_nobody_tells_has_a_span_that_ends(traced: Traced, ends_first: bool) -> None:
    """The tool has ended and its result is not told any more, or it ends when the run is over."""
    hooks = traced.hooks().of_run(RunFacts())
    await hooks.on_event(RunStarted("openai", "m", "api_tool_call"))
    around = hooks.around_call(ToolInvocation("c1", "add", {}), ToolRegistry([add])["add"])
    await around.__aenter__()
    if ends_first:
        await around.__aexit__(None, None, None)
    await hooks.on_event(RunInterrupted(1, TokenUsage()))
    if not ends_first:
        await around.__aexit__(None, None, None)
    assert traced.watch.open == {}
    assert len(traced.spans) == 2


async def test_keys_are_in_no_span(traced: Traced) -> None:
    told = sse(
        delta(content=KEY),
        delta(tool_calls=[call(f'{{"text":"{KEY}"}}', id="c1", name="save")]),
        delta(finish="tool_calls"),
    )
    hooks = traced.hooks(capture_content=True)
    await collect(agent(Script(told, FIVE), policy="full", hooks=[hooks], api_key=KEY), f"my key is {KEY}")
    await collect(agent(Script(ProviderError(f"bad {KEY}", status=400)), hooks=[hooks], api_key=KEY))

    @toolwire.tool(risk="read")
    def look() -> str:
        """Looks."""
        return "sk-abcdefghijklmnopqrstuvwxyz0123456789ABCD"

    body = sse(delta(tool_calls=[call("{}", id="c1", name="look")]), delta(finish="tool_calls"))
    it = Agent(
        "openai-compatible:m", [look], base_url="http://127.0.0.1:1", transport=Script(body, FIVE), hooks=[hooks]
    )
    await collect(it)
    assert "abcdefghijklmnop" not in everything(traced)
    assert "my key is ***" in everything(traced)
    assert KEY not in everything(traced)


@pytest.mark.parametrize("at", ["invoke", "chat"])
async def test_a_tracer_that_fails_costs_the_run_nothing(at: str) -> None:
    class Failing(SpanProcessor):
        def on_start(self, span: Span, parent_context: context.Context | None = None) -> None:
            if span.name.startswith(at):
                raise RuntimeError("no room")

    provider = TracerProvider()
    provider.add_span_processor(Failing())
    provider.add_span_processor(watch := Spans())
    events = await collect(agent(Script(ADD, FIVE), hooks=[OpenTelemetry(tracer_provider=provider)]))
    assert isinstance(events[-1], RunFinished)
    assert sum(isinstance(event, HookFailed) for event in events) == 1
    assert watch.open == {}
    provider.shutdown()


async def test_without_a_tracer_of_the_program_nothing_happens() -> None:
    assert isinstance((await collect(agent(Script(ADD, FIVE), hooks=[OpenTelemetry()])))[-1], RunFinished)


def test_where_it_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.metrics", None)
    with pytest.raises(ConfigError, match="not installed") as raised:
        OpenTelemetry()
    assert "toolwire[telemetry]" in raised.value.hint


def test_importing_it_does_not_need_opentelemetry() -> None:
    program = "import sys, toolwire.telemetry; assert 'opentelemetry' not in sys.modules"
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)


def test_a_message_of_every_part() -> None:
    from toolwire.telemetry import _message

    parts: list[Any] = [
        toolwire.messages.MediaPart("image/png", data="AAAA"),
        toolwire.messages.OpaquePart({"type": "x"}, "web_search"),
        toolwire.messages.ToolResultPart("c1", "look", [toolwire.messages.TextPart("seen")]),
    ]
    assert _message(Message("user", parts))["parts"] == [
        {"type": "media", "mime_type": "image/png"},
        {"type": "web_search"},
        {"type": "tool_call_response", "id": "c1", "response": [{"type": "text", "content": "seen"}]},
    ]
