"""The harmless differences on Bedrock's wire."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from harmless import BEDROCK, Json, Rule, declaring, drop, keep, members, messages, plain_json
from recorded_requests import base64_of

RULES: list[Rule] = []
rule = declaring(RULES)


def results(body: Json) -> Iterator[Json]:
    for message in messages(body, "user"):
        yield from (block["toolResult"] for block in message["content"] if "toolResult" in block)


@rule("results as JSON", BEDROCK, reason="A result is text, or JSON with the same words.")
def _(body: Json) -> None:
    for result in results(body):
        for block in result["content"]:
            if "json" in block:
                block["text"] = msgspec.json.encode(block.pop("json")).decode()
            if block.get("text", "").startswith("{"):
                block["text"] = plain_json(block["text"])


@rule("results that succeeded", BEDROCK, reason="Without a status a result is one that succeeded.")
def _(body: Json) -> None:
    for result in results(body):
        drop(result, "status", "success")


@rule("marks for Bedrock's cache", BEDROCK, reason="What a provider should cache changes no answer.")
def _(body: Json) -> None:
    for blocks in (body.get("system") or [], *(message["content"] for message in messages(body))):
        keep(blocks, lambda block: "cachePoint" not in block)


@rule(
    "bytes in numbers", BEDROCK, reason="One client's requests were recorded as its own objects, not as they were sent."
)
def _(body: Json) -> None:
    for member in members(body):
        if isinstance(member.get("bytes"), dict):
            member["bytes"] = base64_of(member["bytes"])


@rule(
    "type of Bedrock's calls", BEDROCK, reason="A call is one that the client answers, unless its type says otherwise."
)
def _(body: Json) -> None:
    for message in messages(body, "assistant"):
        for block in message["content"]:
            drop(block.get("toolUse", {}), "type", "tool_use")


@rule("no system text", BEDROCK, reason="An empty list of system text is none.")
def _(body: Json) -> None:
    drop(body, "system", [])


@rule(
    "system tools",
    BEDROCK,
    reason="Toolwire declares the tools that it runs; a provider's own sandbox is not asked for by it.",
)
def _(body: Json) -> None:
    if "toolConfig" in body:
        keep(body["toolConfig"]["tools"], lambda tool: "systemTool" not in tool)
