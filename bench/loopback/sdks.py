"""The official SDKs, each as its manual says: plain clients, no retries, default settings otherwise.

Each function gives a reader that asks for one answer, takes every item and returns how many there were.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

Reader = Callable[[], int]

SAY: Any = [{"role": "user", "content": "x"}]

CHAT_MODEL, MESSAGES_MODEL, GEMINI_MODEL = "gpt-4o", "claude-sonnet-4-5", "gemini-2.5-flash"
"""Models that every library knows: an unknown one costs some of them a search."""


def count(items: Iterable[Any]) -> int:
    """Takes every item."""
    return sum(1 for _ in items)


def _openai(url: str) -> Any:
    import openai

    return openai.OpenAI(api_key="none", base_url=url, max_retries=0)


def openai_chunks(wire: str, url: str, kind: str) -> Reader:
    client = _openai(url)
    return lambda: count(client.chat.completions.create(model=CHAT_MODEL, messages=SAY, stream=True))


def openai_events(wire: str, url: str, kind: str) -> Reader:
    client = _openai(url)

    def read() -> int:
        with client.chat.completions.stream(model=CHAT_MODEL, messages=SAY) as stream:
            return count(stream)

    return read


def responses_chunks(wire: str, url: str, kind: str) -> Reader:
    client = _openai(url)
    return lambda: count(client.responses.create(model=CHAT_MODEL, input="x", stream=True))


def responses_events(wire: str, url: str, kind: str) -> Reader:
    client = _openai(url)

    def read() -> int:
        with client.responses.stream(model=CHAT_MODEL, input="x") as stream:
            return count(stream)

    return read


def _anthropic(url: str) -> Any:
    import anthropic

    return anthropic.Anthropic(api_key="none", base_url=url, max_retries=0)


def anthropic_chunks(wire: str, url: str, kind: str) -> Reader:
    client = _anthropic(url)
    return lambda: count(client.messages.create(model=MESSAGES_MODEL, max_tokens=9, messages=SAY, stream=True))


def anthropic_events(wire: str, url: str, kind: str) -> Reader:
    client = _anthropic(url)

    def read() -> int:
        with client.messages.stream(model=MESSAGES_MODEL, max_tokens=9, messages=SAY) as stream:
            return count(stream)

    return read


def google_genai(wire: str, url: str, kind: str) -> Reader:
    from google import genai

    client = genai.Client(api_key="none", vertexai=False, http_options=genai.types.HttpOptions(base_url=url))
    return lambda: count(client.models.generate_content_stream(model=GEMINI_MODEL, contents="x"))


def ollama_chunks(wire: str, url: str, kind: str) -> Reader:
    import ollama

    client = ollama.Client(host=url)
    return lambda: count(client.chat(model="qwen3", messages=SAY, stream=True))


def boto3_events(wire: str, url: str, kind: str) -> Reader:
    import boto3
    from botocore.config import Config

    client = boto3.client(
        "bedrock-runtime",
        region_name="us-east-1",
        endpoint_url=url,
        aws_access_key_id="none",
        aws_secret_access_key="none",
        config=Config(retries={"max_attempts": 0}),
    )
    messages = [{"role": "user", "content": [{"text": "x"}]}]
    return lambda: count(client.converse_stream(modelId="amazon.nova-lite-v1:0", messages=messages)["stream"])


def cohere_events(wire: str, url: str, kind: str) -> Reader:
    import cohere

    client = cohere.ClientV2(api_key="none", base_url=url)
    return lambda: count(client.chat_stream(model="command-a-03-2025", messages=SAY))
