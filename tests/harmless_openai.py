"""The harmless differences on OpenAI's two wires."""

from __future__ import annotations

from collections.abc import Iterator

from harmless import (
    CHAT,
    RESPONSES,
    Json,
    Rule,
    declaring,
    drop,
    keep,
    messages,
    plain_json,
)

RULES: list[Rule] = []
rule = declaring(RULES)


# Chat Completions


def chat_calls(body: Json) -> Iterator[Json]:
    for message in messages(body, "assistant"):
        yield from message.get("tool_calls") or ()


@rule("text in parts", CHAT, reason="A string and a list of text parts with the same words are the same content.")
def _(body: Json) -> None:
    for message in messages(body):
        content = message.get("content")
        if isinstance(content, list) and all(set(part) == {"type", "text"} for part in content):
            message["content"] = "".join(part["text"] for part in content)


@rule(
    "no text", CHAT, reason="An assistant message with calls may leave `content` out, or say null or an empty string."
)
def _(body: Json) -> None:
    for message in messages(body, "assistant"):
        if message.get("tool_calls"):
            drop(message, "content", None, "")


@rule(
    "members that say nothing", CHAT, reason="Clients that dump their own objects send members that are null or empty."
)
def _(body: Json) -> None:
    for message in messages(body):
        for name in ("annotations", "audio", "function_call", "parsed", "name", "refusal", "tool_calls"):
            drop(message, name, None, [])
        drop(message, "prefix", False)


@rule(
    "empty assistant message",
    CHAT,
    reason="It says nothing: some clients send one, some services refuse it, Toolwire leaves it out.",
)
def _(body: Json) -> None:
    keep(body["messages"], lambda message: message != {"role": "assistant", "content": ""})


@rule(
    "what a call was streamed with",
    CHAT,
    reason="Clients that send back the objects they streamed into leave `index` and `parsed_arguments` in the calls.",
)
def _(body: Json) -> None:
    for call in chat_calls(body):
        call.pop("index", None)
        drop(call["function"], "parsed_arguments", None)


@rule("null for no arguments", CHAT, reason="One model calls a tool without arguments with `null`; Toolwire says `{}`.")
def _(body: Json) -> None:
    for call in chat_calls(body):
        if call["function"]["arguments"] == "null":
            call["function"]["arguments"] = "{}"


@rule("JSON text of arguments", CHAT, reason="Arguments parsed and written again differ in spaces, order and escapes.")
def _(body: Json) -> None:
    for call in chat_calls(body):
        call["function"]["arguments"] = plain_json(call["function"]["arguments"])


@rule("author's name", CHAT, reason="`name` of a message is the client's own label for its agent or user.")
def _(body: Json) -> None:
    for message in messages(body, "user", "assistant"):
        message.pop("name", None)


@rule(
    "format of reasoning details",
    CHAT,
    reason="One client (rig) sends `format: null` and `id: null`; Toolwire sends back what the service said.",
)
def _(body: Json) -> None:
    for message in messages(body, "assistant"):
        for detail in message.get("reasoning_details", ()):
            detail.pop("format", None)
            drop(detail, "id", None)


@rule(
    "a word after results",
    CHAT,
    reason="Several of Mistral's models refuse the user right after results; Toolwire puts four words between.",
)
def _(body: Json) -> None:
    said = body["messages"]
    word = {"role": "assistant", "content": "I have the results."}
    said[:] = [
        message
        for before, message in zip([{"role": ""}, *said], said, strict=False)
        if message != word or before["role"] != "tool"
    ]


@rule("any", CHAT, reason="Mistral's word for `required`; it takes both.")
def _(body: Json) -> None:
    if body.get("tool_choice") == "any":
        body["tool_choice"] = "required"


# OpenAI Responses


def items(body: Json, *kinds: str) -> Iterator[Json]:
    """The input items of these types."""
    for item in body.get("input", ()):
        if item.get("type", "message") in kinds:
            yield item


@rule("input as a string", RESPONSES, reason="A string is one message of the user.")
def _(body: Json) -> None:
    if isinstance(body.get("input"), str):
        body["input"] = [{"role": "user", "content": body["input"]}]


@rule("type of messages", RESPONSES, reason="An item with a role is a message, said or not.")
def _(body: Json) -> None:
    for item in items(body, "message"):
        item.pop("type", None)


@rule(
    "ids of items", RESPONSES, reason="An item may go back without its `id` and `status`: the server takes it as new."
)
def _(body: Json) -> None:
    for item in items(body, "message", "function_call", "function_call_output"):
        item.pop("id", None)
        item.pop("status", None)


@rule(
    "reasoning items as they came",
    RESPONSES,
    reason="Toolwire sends the whole item; clients drop `status`, empty `content`, null `encrypted_content`.",
)
def _(body: Json) -> None:
    for item in items(body, "reasoning"):
        drop(item, "status", "completed")
        drop(item, "content", [])
        drop(item, "encrypted_content", None)


@rule("text in parts of items", RESPONSES, reason="A string and a list of text parts with the same words are the same.")
def _(body: Json) -> None:
    for item in items(body, "message"):
        content = item.get("content")
        if isinstance(content, list) and all(part["type"] in ("input_text", "output_text") for part in content):
            item["content"] = "".join(part["text"] for part in content)


@rule(
    "call ids",
    RESPONSES,
    reason="One client (chatlas) ties results to calls by the items' ids; here both are numbered.",
)
def _(body: Json) -> None:
    numbers: dict[str, int] = {}
    for item in items(body, "function_call", "function_call_output"):
        item["call_id"] = numbers.setdefault(item["call_id"], len(numbers))


@rule(
    "JSON text of a call", RESPONSES, reason="Arguments parsed and written again differ in spaces, order and escapes."
)
def _(body: Json) -> None:
    for item in items(body, "function_call"):
        item["arguments"] = plain_json(item["arguments"])


@rule(
    "place of system text",
    RESPONSES,
    reason="The first system or developer messages and `instructions` are one thing; Toolwire writes `instructions`.",
)
def _(body: Json) -> None:
    told = body.get("input", [])
    drop(body, "instructions", "")
    words = [body.pop("instructions")] if "instructions" in body else []
    while told and told[0].get("role") in ("system", "developer") and isinstance(told[0].get("content"), str):
        words.append(told.pop(0)["content"])
    if words:
        body["instructions"] = "\n\n".join(words)
