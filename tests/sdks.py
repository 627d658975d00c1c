"""The official SDKs on recorded bytes: what each one's own accumulator makes of a stream, in one form.

They talk to loopback only: every client is given its address and a key that is none.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import anthropic
import cohere
import httpx
import msgspec
import ollama
import openai
from aiohttp import web
from google import genai
from openai.lib.streaming.chat import ChatCompletionStreamState

Call = tuple[str | None, str, Any]
"""Id (where the SDK has one), name, arguments: text, or the parsed value."""


class Reading(msgspec.Struct):
    """What an SDK read. None: it has no such thing, or keeps it in a form of its own."""

    text: str | None
    calls: list[Call] | None
    stop: str | None
    output_tokens: int | None = None
    reasoning: str | None = None


Reader = Callable[[str], Awaitable[Reading | None]]
"""Model → what the SDK read of the answer, None where there is nothing to compare."""


@asynccontextmanager
async def served(bodies: list[bytes], content_type: str) -> AsyncIterator[str]:
    """The URL of a server that answers any request for model N with body N."""

    async def answer(request: web.Request) -> web.StreamResponse:
        in_path = request.path.partition("/models/")[2].partition(":")[0]
        in_path = in_path or request.path.partition("/model/")[2].partition("/")[0]
        number = in_path or (await request.json())["model"]
        response = web.StreamResponse(headers={"Content-Type": content_type})
        await response.prepare(request)
        await response.write(bodies[int(number)])
        return response

    app = web.Application()
    app.router.add_post("/{path:.*}", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


async def _read_chat(sdk: openai.AsyncOpenAI, model: str) -> Reading | None:
    state: Any = ChatCompletionStreamState()
    stream = await sdk.chat.completions.create(model=model, messages=[{"role": "user", "content": "x"}], stream=True)
    async with stream:
        async for chunk in stream:
            state.handle_chunk(chunk)
    snapshot = state.current_completion_snapshot
    if not snapshot.choices:
        return None
    choice = snapshot.choices[0]
    text = choice.message.content or ""
    calls = [(c.id, c.function.name, c.function.arguments or "") for c in choice.message.tool_calls or ()]
    return Reading(
        # A content of parts (Mistral) is kept as it is, and the older `function_call` is no tool call there.
        text if isinstance(text, str) else None,
        calls if choice.message.function_call is None else None,
        choice.finish_reason,
        None if snapshot.usage is None else snapshot.usage.completion_tokens or 0,
    )


async def _read_responses(sdk: openai.AsyncOpenAI, model: str) -> Reading | None:
    final: Any = None
    done: list[Any] = []
    async with sdk.responses.stream(model=model, input="x") as stream:
        async for event in stream:
            if event.type in ("response.completed", "response.incomplete"):
                final = event.response
            elif event.type == "response.output_item.done":
                done.append(event.item)
    if final is None:
        return None
    text: list[str] = []
    thoughts: list[str] = []
    calls: list[Call] = []
    for item in final.output or done:  # ChatGPT's Codex backend leaves the final output empty.
        if item.type == "message":
            text += [part.text for part in item.content if part.type == "output_text"]
        elif item.type == "reasoning":
            # The parts of one summary are paragraphs: we put a blank line between them.
            thoughts.append("\n\n".join(part.text for part in (*item.summary, *(item.content or ()))))
        elif item.type == "function_call":
            calls.append((item.call_id, item.name, item.arguments))
        elif item.type == "custom_tool_call":
            calls.append((item.call_id, item.name, {"input": item.input}))
    used = final.usage.output_tokens if final.usage is not None else None
    return Reading("".join(text), calls, final.status, used, "".join(thoughts))


async def read_message(sdk: anthropic.AsyncAnthropic | anthropic.AsyncAnthropicBedrock, model: str) -> Reading | None:
    """A message as Anthropic's own accumulator has it at the end."""
    asked = sdk.messages.stream(model=model, max_tokens=1, messages=[{"role": "user", "content": "x"}])
    async with asked as stream:
        message = await stream.get_final_message()
    return Reading(
        "".join(block.text for block in message.content if block.type == "text"),
        [(block.id, block.name, block.input) for block in message.content if block.type == "tool_use"],
        message.stop_reason,
        message.usage.output_tokens,
        "".join(block.thinking for block in message.content if block.type == "thinking"),
    )


async def _read_gemini(sdk: Any, model: str) -> Reading | None:
    text: list[str] = []
    thoughts: list[str] = []
    calls: list[Call] = []
    stop, used, seen, whole = None, None, False, True
    async for chunk in await sdk.models.generate_content_stream(model=model, contents="x"):
        seen = True
        if chunk.usage_metadata is not None:
            counted = chunk.usage_metadata
            used = (counted.candidates_token_count or 0) + (counted.thoughts_token_count or 0)
        if chunk.prompt_feedback is not None and chunk.prompt_feedback.block_reason:
            stop = chunk.prompt_feedback.block_reason.value
        for candidate in (chunk.candidates or ())[:1]:
            stop = candidate.finish_reason.value if candidate.finish_reason else stop
            for part in candidate.content.parts or () if candidate.content else ():
                if part.text:
                    (thoughts if part.thought else text).append(part.text)
                if part.function_call is not None:
                    made = part.function_call
                    # It does not put streamed arguments together.
                    whole = whole and not (made.partial_args or made.will_continue or not made.name)
                    calls.append((made.id, made.name or "", made.args or {}))
    return Reading("".join(text), calls if whole else None, stop, used, "".join(thoughts)) if seen else None


async def _read_ollama(sdk: ollama.AsyncClient, model: str) -> Reading | None:
    text: list[str] = []
    thoughts: list[str] = []
    calls: list[Call] = []
    stop, used = None, None
    async for part in await sdk.chat(model=model, messages=[{"role": "user", "content": "x"}], stream=True):
        text.append(part.message.content or "")
        thoughts.append(part.message.thinking or "")
        calls += [(None, one.function.name, dict(one.function.arguments)) for one in part.message.tool_calls or ()]
        stop, used = part.done_reason or stop, part.eval_count or used
    return Reading("".join(text), calls, stop, used, "".join(thoughts))


async def _read_cohere(sdk: cohere.AsyncClientV2, model: str) -> Reading | None:
    text: list[str] = []
    thoughts: list[str] = []
    calls: dict[int, list[str]] = {}
    stop, used = None, None
    messages: Any = [{"role": "user", "content": "x"}]
    async for event in sdk.chat_stream(model=model, messages=messages):
        told: Any = event
        if told.type in ("content-start", "content-delta"):
            text.append(told.delta.message.content.text or "")
            thoughts.append(told.delta.message.content.thinking or "")
        elif told.type == "tool-plan-delta":
            thoughts.append(told.delta.message.tool_plan)
        elif told.type == "tool-call-start":
            made = told.delta.message.tool_calls
            calls[told.index] = [made.id, made.function.name, made.function.arguments]
        elif told.type == "tool-call-delta":
            calls[told.index][2] += told.delta.message.tool_calls.function.arguments
        elif told.type == "message-end":
            stop, used = told.delta.finish_reason, int(told.delta.usage.tokens.output_tokens)
    in_order: list[Call] = [(call_id, name, arguments) for call_id, name, arguments in calls.values()]
    return Reading("".join(text), in_order, stop, used, "".join(thoughts)) if stop else None


@asynccontextmanager
async def reader(wire: str, url: str) -> AsyncIterator[Reader]:
    """One client of the SDK for a wire, at this address. Proxies of the environment are not asked."""
    if wire in ("openai-chat", "openai-responses"):
        http = openai.DefaultAsyncHttpxClient(trust_env=False, verify=False)
        async with openai.AsyncOpenAI(api_key="none", base_url=f"{url}/v1", max_retries=0, http_client=http) as sdk:
            yield partial(_read_chat if wire == "openai-chat" else _read_responses, sdk)
    elif wire == "anthropic":
        client = anthropic.DefaultAsyncHttpxClient(trust_env=False, verify=False)
        async with anthropic.AsyncAnthropic(api_key="none", base_url=url, max_retries=0, http_client=client) as claude:
            yield partial(read_message, claude)
    elif wire == "gemini":
        async with httpx.AsyncClient(trust_env=False, verify=False) as plain:
            options = genai.types.HttpOptions(base_url=url, httpx_async_client=plain)
            async with genai.Client(api_key="none", vertexai=False, http_options=options).aio as google:
                yield partial(_read_gemini, google)
    elif wire == "bedrock":
        from aws_sdks import bedrock_reader

        async with bedrock_reader(url) as aws:
            yield aws
    elif wire == "cohere":
        async with httpx.AsyncClient(trust_env=False, verify=False) as plain:
            yield partial(_read_cohere, cohere.AsyncClientV2(api_key="none", base_url=url, httpx_client=plain))
    else:
        async with ollama.AsyncClient(host=url, trust_env=False) as local:
            yield partial(_read_ollama, local)
