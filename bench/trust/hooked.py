"""Hooks that fail, meddle, take their time, say no and interrupt, at random places of many runs at once, with
OpenTelemetry among them: the run ends as it would, everyone is told its end once, and no span stays open.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncGenerator, Sequence
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager, suppress
from typing import Any

import msgspec

from toolwire import Agent, tool
from toolwire.agent.events import AgentEvent, RunEnd, RunStarted, ToolFinished, ToolStarted
from toolwire.agent.hooks import Hooks, RunFacts
from toolwire.messages import Message, ToolResultPart
from toolwire.stream.invocation import ToolInvocation
from toolwire.tools.definition import ToolDefinition
from toolwire.transport import HttpRequest

from . import Found

AT_ONCE = 1_000
"""Runs beside one another."""
CHANCE = 0.04
"""That a hook does something at a place."""
PLACES = ("fail", "wait", "interrupt", "meddle", "refuse")
LEAVING = ("read", "read", "read", "close", "cancel", "interrupt")


def hooked(count: int, seed: int) -> Found:
    """The plan's count is 5,000 runs, 1,000 beside one another; that takes some 40 seconds."""
    found = Found()
    spans = _Spans()
    for at in range(0, count, AT_ONCE):
        asyncio.run(_group(found, spans, [f"{seed}-{number}" for number in range(at, min(count, at + AT_ONCE))]))
    if spans.open:
        found.fault(f"{len(spans.open)} spans are open: {sorted(set(spans.open.values()))}")
    for words in spans.wrong:
        found.fault(words)
    found.words = f"{spans.ended:,} spans, all ended"
    return found


async def _group(found: Found, spans: _Spans, names: Sequence[str]) -> None:
    telemetry = spans.hooks()
    # Whatever fails at the end of a run that was left is told here; it is meant to fail.
    asyncio.get_running_loop().set_exception_handler(lambda _, __: None)
    await asyncio.gather(*(_Run(found, name, telemetry).whole() for name in names))
    left = asyncio.all_tasks() - {asyncio.current_task()}
    if left:
        found.fault(f"{names[0]} …: {len(left)} tasks are left")


class _Spans:
    """Counts spans that begin and end, and looks at what they hang below."""

    def __init__(self) -> None:
        self.open: dict[int, str] = {}
        self.ended = 0
        self.wrong: list[str] = []

    def hooks(self) -> Hooks:
        from opentelemetry.sdk.trace import SpanProcessor, TracerProvider

        from toolwire.telemetry import OpenTelemetry

        watch = self

        class Watch(SpanProcessor):
            def on_start(self, span: Any, parent_context: Any = None) -> None:
                watch.open[span.context.span_id] = span.name
                parent = span.parent and watch.open.get(span.parent.span_id)
                if (parent or "") != ("" if span.name == "invoke_agent" else "invoke_agent"):
                    watch.wrong.append(f"{span.name} hangs below {parent}")

            def on_end(self, span: Any) -> None:
                watch.ended += 1
                if watch.open.pop(span.context.span_id, None) is None:
                    watch.wrong.append(f"{span.name} ended twice")

        provider = TracerProvider(shutdown_on_exit=False)
        provider.add_span_processor(Watch())
        return OpenTelemetry(tracer_provider=provider, capture_content=True)


class _Hook(Hooks):
    """Does any of `PLACES` at any place, and keeps what it is told."""

    def __init__(self, run: _Run, *, harmless: bool = False) -> None:
        self.run = run
        self.harmless = harmless
        self.told: list[AgentEvent] = []
        self.failed = False
        self.refused: set[str] = set()

    def of_run(self, facts: RunFacts) -> Hooks:
        return self

    async def _act(self, invocation: ToolInvocation | None = None) -> str | None:
        chance = self.run.chance
        if self.harmless or chance.random() > CHANCE:
            return None
        match chance.choice(PLACES):
            case "fail":
                raise RuntimeError("a hook's own fault")
            case "wait":
                await asyncio.sleep(chance.random() / 100)
            case "interrupt":
                self.run.agent.interrupt()
            case "meddle" if invocation is not None:
                invocation.arguments["n"] = -1
            case "refuse":
                return chance.choice(["", "no"])
        return None

    async def on_event(self, event: AgentEvent) -> None:
        self.told.append(event)
        if self.failed:
            self.run.fault("a hook that failed was told more")
        try:
            await self._act()
        except Exception:
            self.failed = True
            raise

    async def before_request(self, turn: int, messages: Sequence[Message]) -> str | None:
        return await self._act()

    async def before_call(self, invocation: ToolInvocation, tool: ToolDefinition) -> str | None:
        self.refused.add(invocation.id)
        if (reason := await self._act(invocation)) is None:
            self.refused.discard(invocation.id)
        return reason

    @asynccontextmanager
    async def _around(self, invocation: ToolInvocation) -> AsyncGenerator[None, None]:
        await self._act(invocation)
        try:
            yield
        except BaseException:
            if self.run.chance.random() < 0.5:
                raise
        await self._act(invocation)

    def around_call(
        self, invocation: ToolInvocation, tool: ToolDefinition
    ) -> AbstractAsyncContextManager[object, bool | None]:
        return self._around(invocation)


class _Run:
    """One run with hooks and a reader that leaves it somewhere, or not."""

    def __init__(self, found: Found, name: str, telemetry: Hooks) -> None:
        self.found = found
        self.name = name
        self.chance = random.Random(name)
        self.ran: list[int] = []
        self.turns = self.chance.randrange(1, 4)
        self.first, self.last = _Hook(self), _Hook(self, harmless=True)

        @tool(risk="read")
        async def work(n: int) -> str:
            """Works."""
            self.ran.append(n)
            await asyncio.sleep(self.chance.random() / 100)
            return str(n)

        hooks: list[Hooks] = [self.first, telemetry, _Hook(self), self.last]
        self.agent = Agent("openai-compatible:m", [work], base_url="http://127.0.0.1:1", transport=self, hooks=hooks)

    def fault(self, words: str) -> None:
        self.found.fault(f"{self.name}: {words}")

    async def stream(self, request: HttpRequest) -> AsyncGenerator[bytes, None]:
        """The transport: calls for some turns, then words."""
        turn = sum(message["role"] == "assistant" for message in msgspec.json.decode(request.body)["messages"])
        calls = self.chance.randrange(1, 4) if turn < self.turns else 0
        for number in range(calls):
            made = {
                "index": number,
                "id": f"c{turn}-{number}",
                "type": "function",
                "function": {"name": "work", "arguments": f'{{"n":{10 * turn + number}}}'},
            }
            yield _chunk({"tool_calls": [made]})
            await asyncio.sleep(self.chance.choice([0, 0.001]))
        yield _chunk({} if calls else {"content": "Done."}, "tool_calls" if calls else "stop") + b"data: [DONE]\n\n"

    async def aclose(self) -> None:
        pass

    async def whole(self) -> None:
        self.found.runs += 1
        how, after = self.chance.choice(LEAVING), self.chance.randrange(1, 25)
        read: list[AgentEvent] = []

        async def reading() -> None:
            async with aclosing(self.agent.run("go")) as run:
                async for event in run:
                    await asyncio.sleep(0)
                    read.append(event)
                    if len(read) == after and how == "close":
                        return
                    if len(read) == after and how == "cancel":
                        task.cancel()
                    if len(read) == after and how == "interrupt":
                        self.agent.interrupt()

        task = asyncio.create_task(reading())
        with suppress(asyncio.CancelledError):
            await task
        if task.cancelled() and how != "cancel":
            self.fault("the reader was cancelled")
        await self.agent.close()
        self._look(read)

    def _look(self, read: list[AgentEvent]) -> None:
        told = self.last.told
        ends = [event for event in told if isinstance(event, RunEnd)]
        if len(ends) != 1 or told[-1] is not ends[0] or not isinstance(told[0], RunStarted):
            self.fault(f"{len(ends)} ends were told among {len(told)} events")
        seen = [event for event in read if type(event).__name__ != "HookFailed"]
        if seen != told[: len(seen)]:
            self.fault("what was read is not what was told before")
        started = [event.invocation.arguments["n"] for event in told if isinstance(event, ToolStarted)]
        if -1 in self.ran or not set(started) <= set(self.ran) or len(set(self.ran)) != len(self.ran):
            self.fault(f"ran {self.ran}, told {started}")
        finished = {event.id for event in told if isinstance(event, ToolFinished) and not event.result.is_error}
        if finished & self.first.refused:
            self.fault("a call ran that a hook forbade")
        calls = [call.id for message in self.agent.messages for call in message.tool_calls]
        answers = [
            part.id for message in self.agent.messages for part in message.parts if isinstance(part, ToolResultPart)
        ]
        if calls != answers:
            self.fault(f"calls {calls} have the results {answers}")


def _chunk(delta: dict[str, Any], finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return b"data: " + msgspec.json.encode({"choices": [choice]}) + b"\n\n"
