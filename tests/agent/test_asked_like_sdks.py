"""The same environment, the official client and ours: the same address, the key in the same place, the same body."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from aiohttp import web

from catalog_rows import KEY
from model_host import serving_app
from toolwire import Agent
from toolwire.providers.catalog import PROVIDERS

MODEL = "m-1:0"
SAID: Any = [{"role": "user", "content": "Hi"}]
AUTH = ("authorization", "api-key", "x-api-key", "x-goog-api-key")


def openai_chat(url: str) -> None:
    import openai

    with openai.OpenAI(max_retries=0) as client:
        client.chat.completions.create(model=MODEL, messages=SAID, stream=True)


def openai_responses(url: str) -> None:
    import openai

    with openai.OpenAI(max_retries=0) as client:
        client.responses.create(model=MODEL, input="Hi", stream=True)


def azure(url: str) -> None:
    import openai

    with openai.AzureOpenAI(max_retries=0) as client:
        client.chat.completions.create(model=MODEL, messages=SAID, stream=True)


def anthropic(url: str) -> None:
    from anthropic import Anthropic

    with Anthropic(max_retries=0) as client:
        client.messages.create(model=MODEL, max_tokens=9, messages=SAID, stream=True)


def vertex_anthropic(url: str) -> None:
    from anthropic import AnthropicVertex

    with AnthropicVertex(max_retries=0, access_token=KEY) as client:
        client.messages.create(model=MODEL, max_tokens=9, messages=SAID, stream=True)


def bedrock_anthropic(url: str) -> None:
    from anthropic import AnthropicBedrock

    with AnthropicBedrock(max_retries=0) as client:
        client.messages.create(model=MODEL, max_tokens=9, messages=SAID, stream=True)


def gemini(url: str) -> None:
    from google import genai

    with genai.Client(http_options=genai.types.HttpOptions(base_url=url, api_version="v1beta")) as client:
        list(client.models.generate_content_stream(model=MODEL, contents="Hi"))


def ollama(url: str) -> None:
    import ollama as sdk

    client = sdk.Client()
    with client._client:
        list(client.chat(model=MODEL, messages=SAID, stream=True))


def cohere(url: str) -> None:
    import cohere as sdk
    import httpx

    with httpx.Client() as http:
        list(sdk.ClientV2(base_url=url, httpx_client=http).chat_stream(model=MODEL, messages=SAID))


class Asked(msgspec.Struct, frozen=True):
    """How an official client and we are set up alike: `URL` and `HOST` in it are the server's."""

    provider: str
    ask: Callable[[str], None]
    env: dict[str, str]
    base_url: str | None = None
    """Where no variable gives it."""
    differs: frozenset[str] = frozenset()
    """Members of the body that the client does not send by itself, or that mean the same in another spelling."""
    header: str | None = None
    """Where the key goes, if the documents name another place beside the client's."""


OPENAI = {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": "URL/v1"}
AZURE = {"AZURE_OPENAI_ENDPOINT": "URL", "OPENAI_API_VERSION": "2025-01-01"}
ANTHROPIC = {"ANTHROPIC_BASE_URL": "URL"}
VERTEX = {
    "VERTEX_ACCESS_TOKEN": KEY,
    "ANTHROPIC_VERTEX_PROJECT_ID": "acme",
    "CLOUD_ML_REGION": "us-east5",
    "ANTHROPIC_VERTEX_BASE_URL": "URL/v1",
}
AWS = {"AWS_BEARER_TOKEN_BEDROCK": KEY, "AWS_REGION": "us-east-1", "AWS_DEFAULT_REGION": "us-east-1"}
USAGE = frozenset({"stream_options"})
SPELLED = frozenset({"max_tokens", "messages", "anthropic_version"})
"""The newest client asks for a version of the API that the older models of the platforms do not have."""

CLIENTS = [
    Asked("openai", openai_chat, OPENAI, differs=USAGE),
    Asked("openai-responses", openai_responses, OPENAI, differs=frozenset({"input", "store", "include"})),
    Asked("azure", azure, {"AZURE_OPENAI_API_KEY": KEY, **AZURE}, differs=USAGE),
    Asked("azure", azure, {"AZURE_OPENAI_AD_TOKEN": KEY, "AZURE_OPENAI_API_KEY": "other", **AZURE}, differs=USAGE),
    Asked("anthropic", anthropic, {"ANTHROPIC_API_KEY": KEY, **ANTHROPIC}, differs=SPELLED, header="x-api-key"),
    Asked("anthropic", anthropic, {"ANTHROPIC_AUTH_TOKEN": KEY, **ANTHROPIC}, differs=SPELLED),
    Asked("vertex-anthropic", vertex_anthropic, VERTEX, differs=SPELLED),
    Asked("bedrock-anthropic", bedrock_anthropic, {**AWS, "ANTHROPIC_BEDROCK_BASE_URL": "URL"}, differs=SPELLED),
    Asked("gemini", gemini, {"GEMINI_API_KEY": KEY}, "URL/v1beta"),
    Asked("gemini", gemini, {"GOOGLE_API_KEY": KEY, "GEMINI_API_KEY": "other"}, "URL/v1beta"),
    Asked("ollama", ollama, {"OLLAMA_API_KEY": KEY, "OLLAMA_HOST": "HOST"}, differs=frozenset({"tools"})),
    Asked("cohere", cohere, {"CO_API_KEY": KEY, "COHERE_API_KEY": "other"}, "URL"),
]
VARIABLES = {each for row in PROVIDERS.values() for each in (*row.keys, *row.base_url_variables)}


@pytest.mark.parametrize("told", CLIENTS, ids=[f"{told.provider} by {next(iter(told.env))}" for told in CLIENTS])
@pytest.mark.filterwarnings("ignore")
async def test_asked_as_the_official_client_asks(told: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in VARIABLES & set(os.environ):
        monkeypatch.delenv(variable)
    seen: list[tuple[str, dict[str, str], dict[str, Any]]] = []

    async def answer(request: web.Request) -> web.Response:
        auth = {each: request.headers[each] for each in AUTH if each in request.headers}
        seen.append((request.raw_path.replace("%3A", ":"), auth, await request.json()))
        return web.json_response({"message": "no"}, status=400)

    async with serving_app(answer) as url:

        def placed(text: str) -> str:
            return text.replace("URL", url).replace("HOST", url.partition("//")[2])

        for variable, value in told.env.items():
            monkeypatch.setenv(variable, placed(value))
        failure = (await asyncio.gather(asyncio.to_thread(told.ask, url), return_exceptions=True))[0]
        assert len(seen) == 1, failure
        base_url = None if told.base_url is None else placed(told.base_url)
        async with Agent(f"{told.provider}:{MODEL}", base_url=base_url) as agent:
            events = [event async for event in agent.run("Hi")]
    assert len(seen) == 2, events
    (their_path, their_auth, their_body), (our_path, our_auth, our_body) = seen
    assert our_path == their_path
    assert our_auth == (their_auth if told.header is None else {told.header: KEY})
    assert KEY in str(our_auth)
    for body in (our_body, their_body):
        for member in told.differs:
            body.pop(member, None)
    assert our_body == their_body
