"""botocore, and Anthropic's client for Bedrock, on recorded bytes: what they make of a stream, in one form.

They talk to loopback only, with keys that are none, and ask neither the environment nor the machine for others.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager, closing
from typing import Any

import anthropic
import boto3
from botocore.config import Config

from sdks import Call, Reader, Reading, read_message

_KEYS = {"aws_access_key_id": "none", "aws_secret_access_key": "none", "region_name": "us-east-1"}


def runtime(url: str) -> Any:
    """boto3's client of Bedrock at this address."""
    config = Config(proxies={}, retries={"total_max_attempts": 1})
    return boto3.Session(**_KEYS).client("bedrock-runtime", endpoint_url=url, config=config)


@asynccontextmanager
async def bedrock_reader(url: str) -> AsyncIterator[Reader]:
    """A reader for whatever a model answers: Converse by botocore, messages by Anthropic's client, and of other invoked
    models the chunks as botocore takes them apart.
    """
    client = runtime(url)
    http = anthropic.DefaultAsyncHttpxClient(trust_env=False, verify=False)
    async with anthropic.AsyncAnthropicBedrock(
        aws_access_key="none",
        aws_secret_key="none",
        aws_region="us-east-1",
        base_url=url,
        max_retries=0,
        http_client=http,
    ) as claude:

        async def read(model: str) -> Reading | None:
            events = await asyncio.to_thread(_converse_events, client, model)
            if any(events):
                return converse_reading(events)
            chunks = await asyncio.to_thread(_chunks, client, model)
            if any(chunk.get("type") == "message_start" for chunk in chunks):
                return await read_message(claude, model)
            return converse_reading(chunks) if "messageStart" in chunks[0] else _text_reading(chunks)

        try:
            yield read
        finally:
            client.close()


def _converse_events(client: Any, model: str) -> list[dict[str, Any]]:
    """Nothing but empty objects for what is no event of Converse."""
    asked = [{"role": "user", "content": [{"text": "x"}]}]
    with closing(client.converse_stream(modelId=model, messages=asked)["stream"]) as stream:
        return list(stream)


def _chunks(client: Any, model: str) -> list[dict[str, Any]]:
    with closing(client.invoke_model_with_response_stream(modelId=model, body=b"{}")["body"]) as stream:
        return [json.loads(event["chunk"]["bytes"]) for event in stream]


def converse_reading(events: Iterable[dict[str, Any]]) -> Reading:
    """What events of Converse say, put together as AWS documents it."""
    text: list[str] = []
    thoughts: list[str] = []
    calls: dict[int, list[str]] = {}
    stop, used = None, None
    for event in events:
        if "contentBlockStart" in event:
            started = event["contentBlockStart"]["start"].get("toolUse")
            if started is not None and started.get("type") != "server_tool_use":
                calls[event["contentBlockStart"]["contentBlockIndex"]] = [started["toolUseId"], started["name"], ""]
        elif "contentBlockDelta" in event:
            delta, index = event["contentBlockDelta"]["delta"], event["contentBlockDelta"]["contentBlockIndex"]
            text.append(delta.get("text", ""))
            thoughts.append(delta.get("reasoningContent", {}).get("text", ""))
            if "toolUse" in delta and index in calls:
                calls[index][2] += delta["toolUse"]["input"]
        elif "messageStop" in event:
            stop = event["messageStop"]["stopReason"]
        elif "metadata" in event:
            used = event["metadata"]["usage"]["outputTokens"]
    made: list[Call] = [(call_id, name, arguments) for call_id, name, arguments in calls.values()]
    return Reading("".join(text), made, stop, used, "".join(thoughts))


def _text_reading(chunks: list[dict[str, Any]]) -> Reading:
    words = ("outputText", "generation", "completion", "text")
    first = [chunk for chunk in chunks if not chunk.get("index")]
    text = "".join(chunk.get(name) or "" for chunk in first for name in words)
    last = chunks[-1]
    stop = last.get("completionReason") or last.get("stop_reason") or last.get("finish_reason")
    return Reading(text, [], stop, last["amazon-bedrock-invocationMetrics"]["outputTokenCount"])
