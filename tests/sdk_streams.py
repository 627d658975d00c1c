"""The official SDKs' own streams of recorded bytes, opened in every way in which an SDK opens one.

They talk to loopback only: every client is given its address and a key that is none.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, AbstractContextManager, asynccontextmanager, closing, contextmanager
from typing import Any

import anthropic
import boto3
import botocore.config
import cohere
import httpx
import httpx2
import mistralai.client
import ollama
import openai
from google import genai

ASK: Any = [{"role": "user", "content": "x"}]

Opened = AbstractContextManager[Any]
AsyncOpened = AbstractAsyncContextManager[Any]
Opener = Callable[[str], Opened]
"""Model → the SDK's stream of its answer."""
AsyncOpener = Callable[[str], AsyncOpened]


@contextmanager
def _kept(stream: Any) -> Iterator[Any]:
    """A stream that has no end of its own to be called."""
    yield stream


@contextmanager
def _openai(url: str) -> Iterator[openai.OpenAI]:
    http = openai.DefaultHttpxClient(trust_env=False, verify=False)
    with openai.OpenAI(api_key="none", base_url=f"{url}/v1", max_retries=0, http_client=http) as sdk:
        yield sdk


@contextmanager
def chat(url: str) -> Iterator[Opener]:
    with _openai(url) as sdk:
        yield lambda model: sdk.chat.completions.create(model=model, messages=ASK, stream=True)


@contextmanager
def chat_helper(url: str) -> Iterator[Opener]:
    with _openai(url) as sdk:
        yield lambda model: sdk.chat.completions.stream(model=model, messages=ASK)


@contextmanager
def responses(url: str) -> Iterator[Opener]:
    with _openai(url) as sdk:
        yield lambda model: sdk.responses.create(model=model, input="x", stream=True)


@contextmanager
def responses_helper(url: str) -> Iterator[Opener]:
    with _openai(url) as sdk:
        yield lambda model: sdk.responses.stream(model=model, input="x")


@contextmanager
def _anthropic(url: str) -> Iterator[anthropic.Anthropic]:
    http = anthropic.DefaultHttpxClient(trust_env=False, verify=False)
    with anthropic.Anthropic(api_key="none", base_url=url, max_retries=0, http_client=http) as sdk:
        yield sdk


@contextmanager
def messages(url: str) -> Iterator[Opener]:
    with _anthropic(url) as sdk:
        yield lambda model: sdk.messages.create(model=model, max_tokens=1, messages=ASK, stream=True)


@contextmanager
def messages_helper(url: str) -> Iterator[Opener]:
    with _anthropic(url) as sdk:
        yield lambda model: sdk.messages.stream(model=model, max_tokens=1, messages=ASK)


@contextmanager
def gemini(url: str) -> Iterator[Opener]:
    with httpx.Client(trust_env=False, verify=False) as plain:
        options = genai.types.HttpOptions(base_url=url, httpx_client=plain)
        with genai.Client(api_key="none", vertexai=False, http_options=options) as sdk:
            yield lambda model: _kept(sdk.models.generate_content_stream(model=model, contents="x"))


@contextmanager
def ollama_chat(url: str) -> Iterator[Opener]:
    with ollama.Client(host=url, trust_env=False) as sdk:
        yield lambda model: _kept(sdk.chat(model=model, messages=ASK, stream=True))


@contextmanager
def mistral(url: str) -> Iterator[Opener]:
    with (
        httpx2.Client(trust_env=False, verify=False) as plain,
        mistralai.client.Mistral(api_key="none", server_url=url, client=plain) as sdk,
    ):
        yield lambda model: sdk.chat.stream(model=model, messages=ASK)


@contextmanager
def cohere_chat(url: str) -> Iterator[Opener]:
    with httpx.Client(trust_env=False, verify=False) as plain:
        sdk = cohere.ClientV2(api_key="none", base_url=url, httpx_client=plain)
        yield lambda model: _kept(sdk.chat_stream(model=model, messages=ASK))


@contextmanager
def _bedrock(url: str) -> Iterator[Any]:
    sdk: Any = boto3.client(
        "bedrock-runtime",
        region_name="us-east-1",
        endpoint_url=url,
        aws_access_key_id="none",
        aws_secret_access_key="none",
        config=botocore.config.Config(retries={"total_max_attempts": 1}, proxies={}),
    )
    try:
        yield sdk
    finally:
        sdk.close()


@contextmanager
def converse(url: str) -> Iterator[Opener]:
    with _bedrock(url) as sdk:
        yield lambda model: closing(sdk.converse_stream(modelId=model, messages=[])["stream"])


@contextmanager
def invoke(url: str) -> Iterator[Opener]:
    with _bedrock(url) as sdk:
        yield lambda model: closing(sdk.invoke_model_with_response_stream(modelId=model, body=b"{}")["body"])


@asynccontextmanager
async def _awaited(opening: Any) -> AsyncIterator[Any]:
    """A stream that is awaited and has no end of its own to be called."""
    yield await opening


@asynccontextmanager
async def _kept_async(stream: Any) -> AsyncIterator[Any]:
    yield stream


@asynccontextmanager
async def _async_openai(url: str) -> AsyncIterator[openai.AsyncOpenAI]:
    http = openai.DefaultAsyncHttpxClient(trust_env=False, verify=False)
    async with openai.AsyncOpenAI(api_key="none", base_url=f"{url}/v1", max_retries=0, http_client=http) as sdk:
        yield sdk


@asynccontextmanager
async def async_chat(url: str) -> AsyncIterator[AsyncOpener]:
    async with _async_openai(url) as sdk:
        yield lambda model: _awaited(sdk.chat.completions.create(model=model, messages=ASK, stream=True))


@asynccontextmanager
async def async_responses(url: str) -> AsyncIterator[AsyncOpener]:
    async with _async_openai(url) as sdk:
        yield lambda model: _awaited(sdk.responses.create(model=model, input="x", stream=True))


@asynccontextmanager
async def async_messages_helper(url: str) -> AsyncIterator[AsyncOpener]:
    http = anthropic.DefaultAsyncHttpxClient(trust_env=False, verify=False)
    async with anthropic.AsyncAnthropic(api_key="none", base_url=url, max_retries=0, http_client=http) as sdk:
        yield lambda model: sdk.messages.stream(model=model, max_tokens=1, messages=ASK)


@asynccontextmanager
async def async_gemini(url: str) -> AsyncIterator[AsyncOpener]:
    async with httpx.AsyncClient(trust_env=False, verify=False) as plain:
        options = genai.types.HttpOptions(base_url=url, httpx_async_client=plain)
        async with genai.Client(api_key="none", vertexai=False, http_options=options).aio as sdk:
            yield lambda model: _awaited(sdk.models.generate_content_stream(model=model, contents="x"))


@asynccontextmanager
async def async_ollama_chat(url: str) -> AsyncIterator[AsyncOpener]:
    async with ollama.AsyncClient(host=url, trust_env=False) as sdk:
        yield lambda model: _awaited(sdk.chat(model=model, messages=ASK, stream=True))


@asynccontextmanager
async def async_mistral(url: str) -> AsyncIterator[AsyncOpener]:
    async with (
        httpx2.AsyncClient(trust_env=False, verify=False) as plain,
        mistralai.client.Mistral(api_key="none", server_url=url, async_client=plain) as sdk,
    ):
        yield lambda model: _awaited(sdk.chat.stream_async(model=model, messages=ASK))


@asynccontextmanager
async def async_cohere_chat(url: str) -> AsyncIterator[AsyncOpener]:
    async with httpx.AsyncClient(trust_env=False, verify=False) as plain:
        sdk = cohere.AsyncClientV2(api_key="none", base_url=url, httpx_client=plain)
        yield lambda model: _kept_async(sdk.chat_stream(model=model, messages=ASK))
