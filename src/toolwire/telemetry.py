"""`OpenTelemetry`: spans and metrics of agent runs, by the semantic conventions for generative AI.

A run is a span `invoke_agent`; below it, each request is a span `chat` and each call that runs a span `execute_tool`,
which is the current span while the tool runs, so that what the tool does hangs below it: also the run of an agent that
is the tool. What was said is in none of them unless that is asked for. Needs `pip install 'toolwire[telemetry]'`.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext, suppress
from typing import TYPE_CHECKING, Any

import msgspec

from .agent.events import (
    AgentEvent,
    HistoryCompacted,
    ParserChanged,
    RequestRetried,
    RunEnd,
    RunFailed,
    RunFinished,
    RunStarted,
    ToolFinished,
)
from .agent.hooks import Hooks, RunFacts
from .chunks import TokenUsage
from .errors import ErrorInfo, Vetoed
from .extras import require
from .messages import MediaPart, Message, Part, TextPart, ThinkingPart, ToolCallPart, ToolResultPart
from .stream.invocation import ToolInvocation
from .stream.segments import CALL_SEGMENTS, EventType, SegmentEvent, SegmentType
from .tools.definition import ToolDefinition

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.metrics import Histogram, MeterProvider
    from opentelemetry.trace import Span, SpanKind, Tracer, TracerProvider

CONTENT_VARIABLE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
"""Says whether spans hold what was said, where the program does not."""

_CONTENT_ON = frozenset({"true", "1", "span_only", "span_and_event"})
_NAMES = {
    "openai-responses": "openai",
    "azure": "azure.ai.openai",
    "azure-responses": "azure.ai.openai",
    "vertex-anthropic": "gcp.vertex_ai",
    "vertex": "gcp.vertex_ai",
    "vertex-express": "gcp.vertex_ai",
    "gemini": "gcp.gemini",
    "bedrock": "aws.bedrock",
    "bedrock-anthropic": "aws.bedrock",
    "xai": "x_ai",
    "mistral": "mistral_ai",
}
"""Providers that the conventions call otherwise than Toolwire does."""

_OPTIONS = ("temperature", "top_p", "top_k", "max_tokens", "frequency_penalty", "presence_penalty", "seed")
_SECONDS = [0.01 * 2**power for power in range(14)]
_TOKENS = [4**power for power in range(14)]
_INTERRUPTED = ErrorInfo("interrupted", "the run was interrupted")
_REFUSED = ErrorInfo("refused", "the provider refused the request, which is made otherwise")


class OpenTelemetry(Hooks):
    """Hooks that make spans: `Agent(..., hooks=[OpenTelemetry()])`. One will do for any number of agents.

    Without `tracer_provider` and `meter_provider` they go where OpenTelemetry's global ones send them, which is nowhere
    until a program sets them. `agent_name` is what the agent is called there. With `capture_content` spans hold
    messages, arguments and results, without keys; where it is None, `CONTENT_VARIABLE` says so, and else they do not.

    A request that is sent again is one span, with an event for each attempt that failed. What did not end well has the
    status ERROR and an `error.type`: the name of the error's class, `interrupted`, for a tool its outcome (`error`,
    `timeout` …).
    """

    def __init__(
        self,
        *,
        tracer_provider: TracerProvider | None = None,
        meter_provider: MeterProvider | None = None,
        agent_name: str = "",
        capture_content: bool | None = None,
    ) -> None:
        require("telemetry")
        from opentelemetry.metrics import get_meter
        from opentelemetry.trace import get_tracer

        self.agent_name = agent_name
        self.tracer: Tracer = get_tracer("toolwire", tracer_provider=tracer_provider)
        meter = get_meter("toolwire", meter_provider=meter_provider)
        self.duration: Histogram = meter.create_histogram(
            "gen_ai.client.operation.duration",
            unit="s",
            description="GenAI operation duration.",
            explicit_bucket_boundaries_advisory=_SECONDS,
        )
        self.tokens: Histogram = meter.create_histogram(
            "gen_ai.client.token.usage",
            unit="{token}",
            description="Number of input and output tokens used.",
            explicit_bucket_boundaries_advisory=_TOKENS,
        )
        if capture_content is None:
            capture_content = os.environ.get(CONTENT_VARIABLE, "").strip().lower() in _CONTENT_ON
        self.capture_content = capture_content

    def of_run(self, facts: RunFacts) -> Hooks:
        """Hooks that know the spans of one run."""
        return _RunSpans(self, facts)


class _RunSpans(Hooks):
    """The spans of one run. Only the span of a tool is ever current: around the call, in the call's own task."""

    def __init__(self, telemetry: OpenTelemetry, facts: RunFacts) -> None:
        self._telemetry = telemetry
        self._facts = facts
        self._common: dict[str, Any] = {}
        self._session = ""
        self._run: Span | None = None
        self._parent: Context | None = None
        self._asked: _Asked | None = None
        """A request that is about to be sent; another hook may still forbid it."""
        self._chat: _Chat | None = None
        self._tools: dict[str, tuple[Span, int]] = {}
        """Calls that have ended, and when: what became of them is told later."""
        self._is_over = False

    async def on_event(self, event: AgentEvent) -> None:
        """Begins and ends spans. Where that fails, what is open is ended, and this run has no more."""
        try:
            self._hear(event)
        except Exception:
            self._is_over = True
            chats = [] if self._chat is None else [self._chat.span]
            for span in (*chats, *(tool for tool, _ in self._tools.values()), self._run):
                with suppress(Exception):
                    if span is not None:
                        span.end()
            self._chat = None
            self._tools.clear()
            raise

    async def before_request(self, turn: int, messages: Sequence[Message]) -> str | None:
        """Takes note of a request that is about to be sent."""
        if not self._is_over:
            self._asked = _Asked(messages if self._telemetry.capture_content else ())
        return None

    def around_call(
        self, invocation: ToolInvocation, tool: ToolDefinition
    ) -> AbstractAsyncContextManager[object, bool | None]:
        """Has the tool's span current while the tool runs."""
        return nullcontext() if self._is_over else self._tool_span(invocation, tool)

    @asynccontextmanager
    async def _tool_span(self, invocation: ToolInvocation, tool: ToolDefinition) -> AsyncGenerator[None, None]:
        from opentelemetry.trace import use_span

        attributes = {
            **self._attributes("execute_tool"),
            "gen_ai.tool.name": tool.name,
            "gen_ai.tool.type": "function",
            "gen_ai.tool.description": tool.description,
            "gen_ai.tool.call.id": invocation.call_id or invocation.id,
        }
        if self._telemetry.capture_content:
            attributes["gen_ai.tool.call.arguments"] = self._json(invocation.arguments)
        span = self._span(f"execute_tool {tool.name}", attributes)
        try:
            with use_span(span, record_exception=False, set_status_on_exception=False):
                yield
        except BaseException as error:
            is_cancelled = isinstance(error, asyncio.CancelledError)
            self._fail(span, _INTERRUPTED if is_cancelled else ErrorInfo(type(error).__name__, ""))
            span.end()
            raise
        if self._is_over:
            span.end()
        else:
            self._tools[invocation.id] = span, time.time_ns()

    def _hear(self, event: AgentEvent) -> None:
        if isinstance(event, SegmentEvent):
            chat = self._chat or self._start_chat()
            if chat is not None:
                chat.hear(event)
                if event.type is EventType.DONE or event.type is EventType.ERROR:
                    self._end_chat(event.error)
        elif isinstance(event, RunStarted):
            self._start(event)
        elif isinstance(event, RequestRetried):
            chat = self._chat or self._start_chat()
            if chat is not None:
                facts: dict[str, int | float | str] = {"attempt": event.attempt, "seconds": event.seconds}
                chat.span.add_event("toolwire.request_retried", {**facts, "error.type": event.error.type})
        elif isinstance(event, (ParserChanged, HistoryCompacted)):
            self._start_chat()
            self._end_chat(_REFUSED)
        elif isinstance(event, ToolFinished):
            self._tool_finished(event)
        elif isinstance(event, RunEnd):
            self._end(event)

    def _start(self, event: RunStarted) -> None:
        from opentelemetry.trace import set_span_in_context

        self._common = {
            "gen_ai.provider.name": _NAMES.get(event.provider, event.provider),
            "gen_ai.request.model": event.model,
        }
        if self._facts.server:
            self._common |= {"server.address": self._facts.server, "server.port": self._facts.port}
        self._session = event.session
        name = self._telemetry.agent_name
        attributes = {**self._attributes("invoke_agent"), **self._common, **self._options()}
        self._run = self._span(f"invoke_agent {name}" if name else "invoke_agent", attributes)
        self._parent = set_span_in_context(self._run)

    def _end(self, event: RunEnd) -> None:
        if isinstance(event, RunFailed):
            error: ErrorInfo | None = event.error
        else:
            error = None if isinstance(event, RunFinished) else _INTERRUPTED
        if error is not None and error.type != Vetoed.__name__:
            self._start_chat()
        self._end_chat(error or _INTERRUPTED)
        self._is_over = True
        while self._tools:
            _, (tool, ended) = self._tools.popitem()
            tool.end(ended)
        if self._run is not None:
            self._run.set_attributes(_usage(event.usage))
            if isinstance(event, RunFinished):
                self._run.set_attribute("gen_ai.response.finish_reasons", [event.stop_reason.value])
            if error is not None:
                self._fail(self._run, error)
            self._run.end()

    def _start_chat(self) -> _Chat | None:
        """The span of the request that was about to be sent, if there was one."""
        from opentelemetry.trace import SpanKind

        asked, self._asked = self._asked, None
        if asked is None:
            return None
        attributes = {**self._attributes("chat"), **self._common, **self._options(), "gen_ai.request.stream": True}
        if self._telemetry.capture_content:
            attributes["gen_ai.input.messages"] = self._json([_message(each) for each in asked.messages])
        span = self._span(f"chat {self._common['gen_ai.request.model']}", attributes, SpanKind.CLIENT, asked.time)
        self._chat = _Chat(span, asked.started, keeps_content=self._telemetry.capture_content)
        return self._chat

    def _end_chat(self, error: ErrorInfo | None) -> None:
        chat, self._chat = self._chat, None
        if chat is None:
            return
        measured = {"gen_ai.operation.name": "chat", **self._common}
        if chat.stop_reason:
            chat.span.set_attribute("gen_ai.response.finish_reasons", [chat.stop_reason])
        if chat.usage is not None:
            chat.span.set_attributes(_usage(chat.usage))
            for kind, count in (("input", chat.usage.input_tokens), ("output", chat.usage.output_tokens)):
                self._telemetry.tokens.record(count, {**measured, "gen_ai.token.type": kind})
        if self._telemetry.capture_content:
            chat.span.set_attribute("gen_ai.output.messages", self._json([chat.message()]))
        if error is not None:
            measured["error.type"] = error.type
            self._fail(chat.span, error)
        chat.span.end()
        self._telemetry.duration.record(time.monotonic() - chat.started, measured)

    def _tool_finished(self, event: ToolFinished) -> None:
        if event.id not in self._tools:
            return  # it was not run
        span, ended = self._tools.pop(event.id)
        if self._telemetry.capture_content:
            span.set_attribute("gen_ai.tool.call.result", self._facts.redactor.text(event.result.content))
        if event.result.is_error:
            self._fail(span, ErrorInfo(event.result.outcome or "error", ""))
        span.end(ended)

    def _span(
        self, name: str, attributes: dict[str, Any], kind: SpanKind | None = None, start: int | None = None
    ) -> Span:
        from opentelemetry.trace import SpanKind

        return self._telemetry.tracer.start_span(
            name, self._parent, kind or SpanKind.INTERNAL, attributes, start_time=start
        )

    def _attributes(self, operation: str) -> dict[str, Any]:
        """What spans of every kind have."""
        attributes = {"gen_ai.operation.name": operation}
        if self._session:
            attributes["gen_ai.conversation.id"] = self._session
        if self._telemetry.agent_name:
            attributes["gen_ai.agent.name"] = self._telemetry.agent_name
        return attributes

    def _options(self) -> dict[str, Any]:
        options = self._facts.options
        return {f"gen_ai.request.{name}": options[name] for name in _OPTIONS if type(options.get(name)) in (int, float)}

    def _json(self, value: Any) -> str:
        return msgspec.json.encode(self._facts.redactor.value(value)).decode()

    def _fail(self, span: Span, error: ErrorInfo) -> None:
        from opentelemetry.trace import Status, StatusCode

        span.set_attribute("error.type", error.type)
        words = self._facts.redactor.text(error.message) if self._telemetry.capture_content else ""
        span.set_status(Status(StatusCode.ERROR, words or None))


class _Asked:
    """A request before it is sent, and when that was."""

    def __init__(self, messages: Sequence[Message]) -> None:
        self.messages = messages
        self.time = time.time_ns()
        self.started = time.monotonic()


class _Chat:
    """A request that was sent, and what is heard of its answer."""

    def __init__(self, span: Span, started: float, *, keeps_content: bool) -> None:
        self.span = span
        self.started = started
        self.usage: TokenUsage | None = None
        self.stop_reason = ""
        self._keeps_content = keeps_content
        self._parts: dict[str, dict[str, Any]] = {}
        self._pieces: dict[str, list[str]] = {}
        self._has_begun = False

    def hear(self, event: SegmentEvent) -> None:
        """Takes note of an event of the answer."""
        if not self._has_begun and event.type is not EventType.ERROR:
            self._has_begun = True
            self.span.set_attribute("gen_ai.response.time_to_first_chunk", time.monotonic() - self.started)
        if event.type is EventType.DONE:
            self.usage = event.usage
            self.stop_reason = event.stop_reason.value if event.stop_reason is not None else ""
        elif not self._keeps_content:
            return
        elif event.type is EventType.START:
            if event.segment_type in CALL_SEGMENTS:
                part = {"type": "tool_call", "id": event.segment_id, "name": event.tool_name or "", "arguments": None}
                self._parts[event.segment_id] = part
            elif event.segment_type in (SegmentType.TEXT, SegmentType.REASONING):
                self._parts[event.segment_id] = {"type": event.segment_type.value}
                self._pieces[event.segment_id] = []
        elif event.type is EventType.CONTENT and event.segment_id in self._pieces:
            self._pieces[event.segment_id].append(event.delta)
        elif event.type is EventType.END and event.metadata and "arguments" in event.metadata:
            self._parts[event.segment_id]["arguments"] = event.metadata["arguments"]

    def message(self) -> dict[str, Any]:
        """The answer as far as it came, as the conventions write one."""
        for id, pieces in self._pieces.items():
            self._parts[id]["content"] = "".join(pieces)
        reason = "tool_call" if self.stop_reason == "tool_calls" else self.stop_reason or "error"
        return {"role": "assistant", "parts": list(self._parts.values()), "finish_reason": reason}


def _usage(usage: TokenUsage) -> dict[str, int]:
    counts = {
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "cache_read.input_tokens": usage.cached_tokens,
        "cache_creation.input_tokens": usage.cache_write_tokens,
        "reasoning.output_tokens": usage.reasoning_tokens,
    }
    return {f"gen_ai.usage.{name}": count for name, count in counts.items() if count}


def _message(message: Message) -> dict[str, Any]:
    """A message as the conventions write one."""
    return {"role": message.role, "parts": [_part(part) for part in message.parts]}


def _part(part: Part) -> dict[str, Any]:
    if isinstance(part, TextPart):
        return {"type": "text", "content": part.text}
    if isinstance(part, ThinkingPart):
        return {"type": "reasoning", "content": part.text}
    if isinstance(part, ToolCallPart):
        return {"type": "tool_call", "id": part.id, "name": part.name, "arguments": part.arguments}
    if isinstance(part, ToolResultPart):
        content = part.content if isinstance(part.content, str) else [_part(each) for each in part.content]
        return {"type": "tool_call_response", "id": part.id, "response": content}
    if isinstance(part, MediaPart):
        return {"type": "media", "mime_type": part.media_type}  # what is in it is too much for a span
    return {"type": part.name or "opaque"}
