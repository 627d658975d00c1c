"""The spans of a run have ended and are in their places, however the run ends."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import suppress
from typing import Any

import pytest
from opentelemetry import context, trace
from opentelemetry.trace import StatusCode

import toolwire
from agent.scripted import FIVE, SAVE, Endless, Script
from feeding import call, delta, sse
from toolwire import Agent
from toolwire.agent.asking import Retries
from toolwire.agent.bounds import Bounds
from toolwire.agent.events import AgentEvent, ToolStarted
from toolwire.agent.hooks import Hooks
from toolwire.errors import ProviderError
from toolwire.stream.segments import SegmentEvent
from toolwire.transport import HttpRequest
from traces import Traced, attributes, id_of, parent_of

KEY = "a-key-of-its-own-0123456789"


@pytest.fixture
def traced() -> Iterator[Traced]:
    traced = Traced()
    yield traced
    traced.shutdown()


@toolwire.tool(risk="read")
async def wait() -> str:
    """Waits."""
    await asyncio.sleep(60)
    return "late"


@toolwire.tool(risk="read")
async def stubborn() -> str:
    """Does not hear that it is to end."""
    with suppress(asyncio.CancelledError):
        await asyncio.sleep(60)
    await asyncio.sleep(1.2)
    return "late"


@toolwire.tool(risk="read")
def broken() -> str:
    """Fails."""
    raise KeyError("a fault")


class Silent(Script):
    """Never answers."""

    async def stream(self, request: HttpRequest) -> AsyncGenerator[bytes, None]:
        await asyncio.sleep(60)
        yield b""


class Forbidding(Hooks):
    async def before_request(self, turn: int, messages: Any) -> str | None:
        return "no"


def calling(name: str) -> bytes:
    return sse(delta(tool_calls=[call("{}", id="c1", name=name)]), delta(finish="tool_calls"))


HALF = sse(delta(content="Once upon"), done=False)
RUN, CHAT, TOOL = "invoke_agent", "chat m", "execute_tool"

Leave = Callable[[AgentEvent], bool]


def at_text(event: AgentEvent) -> bool:
    return isinstance(event, SegmentEvent) and bool(event.delta)


def at_tool(event: AgentEvent) -> bool:
    return isinstance(event, ToolStarted)


def never(event: AgentEvent) -> bool:
    return False


WAYS: dict[str, tuple[Callable[[], Script], str, Leave, dict[str, Any], dict[str, str]]] = {
    "finished": (lambda: Script(FIVE), "", never, {}, {RUN: "", CHAT: ""}),
    "refused": (
        lambda: Script(ProviderError("bad request", status=400)),
        "",
        never,
        {},
        {RUN: "ProviderError", CHAT: "ProviderError"},
    ),
    "cut": (lambda: Script(HALF), "", never, {}, {RUN: "IncompleteStream", CHAT: "IncompleteStream"}),
    "vetoed": (lambda: Script(FIVE), "", never, {"veto": True}, {RUN: "Vetoed"}),
    "bound": (
        lambda: Script(calling("broken")),
        "",
        never,
        {"bounds": Bounds(turns=1)},
        {RUN: "RunLimitReached", CHAT: "", TOOL: "error"},
    ),
    "time": (
        lambda: Script(calling("wait")),
        "",
        never,
        {"bounds": Bounds(seconds=0.4)},
        {RUN: "RunLimitReached", CHAT: "", TOOL: "interrupted"},
    ),
    "interrupted before the answer": (
        Silent,
        "interrupt",
        lambda event: type(event).__name__ == "TurnStarted",
        {},
        {RUN: "interrupted", CHAT: "interrupted"},
    ),
    "interrupted in the answer": (
        lambda: Endless(HALF),
        "interrupt",
        at_text,
        {},
        {RUN: "interrupted", CHAT: "interrupted"},
    ),
    "interrupted in a tool": (
        lambda: Script(calling("wait")),
        "interrupt",
        at_tool,
        {},
        {RUN: "interrupted", CHAT: "", TOOL: "interrupted"},
    ),
    "interrupted in a tool that does not hear": (
        lambda: Script(calling("stubborn")),
        "interrupt",
        at_tool,
        {},
        {RUN: "interrupted", CHAT: "", TOOL: "interrupted"},
    ),
    "closed in the answer": (lambda: Endless(HALF), "close", at_text, {}, {RUN: "interrupted", CHAT: "interrupted"}),
    "closed in a tool": (
        lambda: Script(calling("wait")),
        "close",
        at_tool,
        {},
        {RUN: "interrupted", CHAT: "", TOOL: "interrupted"},
    ),
    "cancelled in the answer": (
        lambda: Endless(HALF),
        "cancel",
        at_text,
        {},
        {RUN: "interrupted", CHAT: "interrupted"},
    ),
    "cancelled in a tool": (
        lambda: Script(calling("wait")),
        "cancel",
        at_tool,
        {},
        {RUN: "interrupted", CHAT: "", TOOL: "interrupted"},
    ),
    "a denied call": (lambda: Script(SAVE, FIVE), "", never, {}, {RUN: "", CHAT: ""}),
}


@pytest.mark.parametrize("way", WAYS)
async def test_however_a_run_ends_its_spans_have_ended(traced: Traced, way: str) -> None:
    script, how, when, options, expected = WAYS[way]
    veto = [Forbidding()] if options.get("veto") else []
    it = Agent(
        "openai-compatible:m",
        [wait, stubborn, broken, *([toolwire.tool(risk="write")(_save)])],
        base_url="http://127.0.0.1:1",
        transport=script(),
        hooks=[traced.hooks(), *veto],
        bounds=options.get("bounds"),
        retries=Retries(attempts=1),
    )
    before = context.get_current()

    async def read() -> None:
        run = it.run("go")
        try:
            async for event in run:
                assert trace.get_current_span() is trace.INVALID_SPAN
                if when(event):
                    if how == "close":
                        return
                    loop = asyncio.get_running_loop()
                    loop.call_later(0.03, it.interrupt if how == "interrupt" else reader.cancel)
        finally:
            await run.aclose()
        assert context.get_current() == before

    reader = asyncio.create_task(read())
    await asyncio.wait([reader], timeout=5)
    if not reader.cancelled():
        reader.result()
    await it.close()
    assert traced.watch.open == {}
    assert traced.watch.twice == []
    run = traced.named(RUN)[0]
    found: dict[str, set[str]] = {}
    for span in traced.spans:
        assert parent_of(span) == (None if span is run else id_of(run))
        error = attributes(span).get("error.type", "")
        assert (span.status.status_code is StatusCode.ERROR) == bool(error)
        assert span.status.description is None
        found.setdefault(span.name if span.name == CHAT else span.name.split()[0], set()).add(error)
    assert found == {name: {error} for name, error in expected.items()}


def _save(text: str) -> str:
    """Saves."""
    return "saved"
