"""The official OpenAI SDK on the same bytes, over loopback: wherever it succeeds, we say the same."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from aiohttp import web
from openai import AsyncOpenAI, OpenAIError
from openai.lib.streaming.chat import ChatCompletionStreamState

from corpus import body, needs_corpus, rows
from feeding import read, whole

pytestmark = needs_corpus


@pytest.fixture
async def client() -> AsyncIterator[AsyncOpenAI]:
    """The SDK, talking to a server that answers every request for model N with recording N."""
    recordings = [body(row) for row in rows("chat", core=True)]

    async def answer(request: web.Request) -> web.StreamResponse:
        asked = await request.json()
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        await response.write(recordings[int(asked["model"])])
        return response

    app = web.Application()
    app.router.add_post("/v1/chat/completions", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    port = runner.addresses[0][1]
    async with AsyncOpenAI(api_key="none", base_url=f"http://127.0.0.1:{port}/v1", max_retries=0) as sdk:
        yield sdk
    await runner.cleanup()


async def accumulate(sdk: AsyncOpenAI, number: int) -> Any:
    """What the SDK's own accumulator makes of recording `number`, or None where it fails."""
    state: Any = ChatCompletionStreamState()
    try:
        stream = await sdk.chat.completions.create(
            model=str(number), messages=[{"role": "user", "content": "x"}], stream=True
        )
        async with stream:
            async for chunk in stream:
                state.handle_chunk(chunk)
        return state.current_completion_snapshot
    except (OpenAIError, ValueError, TypeError, AttributeError, IndexError, KeyError, AssertionError, RuntimeError):
        return None


SDK_IS_WRONG = frozenset({"chat:tool_call-id-repeated", "chat:function-name-repeated", "chat:function-name-null"})
"""Quirks on which the SDK's accumulator succeeds and errs: it joins ids and names that are sent again."""


def compare(row: dict[str, Any], snapshot: Any) -> list[tuple[str, Any, Any]]:
    """Where we differ from the SDK: what, ours, theirs."""
    stream, _ = read(whole(body(row)))
    choice = snapshot.choices[0]
    found: list[tuple[str, Any, Any]] = []
    text = "".join(s.text for s in stream._handler.segments if s.segment_type == "text" and not s.choice)
    theirs = choice.message.content or ""
    # The SDK keeps a content of parts (Mistral) as it is; we give its text.
    if isinstance(theirs, str):
        found.append(("text", text.removesuffix(stream.summary().get("refusal", "")), theirs))
    calls = [(c.arrived.call_id, c.arrived.name, c.text) for c in stream._handler.calls if not c.choice]
    if choice.message.function_call is None:
        made = [(c.id, c.function.name, c.function.arguments or "") for c in choice.message.tool_calls or ()]
        found.append(("calls", calls, made))
    if stream.complete:
        found.append(("finish", stream.raw_stop_reason, choice.finish_reason))
    if snapshot.usage is not None and stream.usage is not None:
        found.append(("usage", stream.usage.output_tokens, snapshot.usage.completion_tokens or 0))
    return [(what, ours, sdk) for what, ours, sdk in found if ours != sdk]


@pytest.mark.filterwarnings("ignore:Pydantic serializer warnings:UserWarning")
async def test_sdk_agrees_wherever_it_succeeds(client: AsyncOpenAI) -> None:
    differences: dict[str, Any] = {}
    failed: list[str] = []
    agreed = 0
    for number, row in enumerate(rows("chat", core=True)):
        snapshot = await accumulate(client, number)
        if snapshot is None or not snapshot.choices:
            failed.append(row["case"])
        elif not SDK_IS_WRONG.intersection(row["quirks"]):
            found = compare(row, snapshot)
            if found:
                differences[row["case"]] = found
            else:
                agreed += 1
    assert differences == {}
    assert agreed >= 149, failed
