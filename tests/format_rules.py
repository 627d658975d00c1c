"""What each provider asks of a request beyond its types: sides in turn, every call answered, ids, no empty text.

Written from the providers' documentation and their error messages, and knowing nothing of how Toolwire encodes. Each
rule gives the sentences that say what is wrong with a body.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import msgspec

Json = dict[str, Any]

_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_DIGITS = "0123456789"


def broken(target: str, body: Json) -> list[str]:
    """The rules of this target that the body breaks."""
    return list(_RULES[target](body))


def _text_is(text: Any, characters: str, longest: int, shortest: int = 1) -> bool:
    return isinstance(text, str) and shortest <= len(text) <= longest and set(text) <= set(characters)


def _is_common_name(name: Any) -> bool:
    return _text_is(name, _LETTERS + _DIGITS + "_-", 64)


class _Ids:
    """Ids that are used once in a conversation, and are as the provider wants them."""

    def __init__(self, allowed: Callable[[Any], bool]) -> None:
        self.allowed = allowed
        self.used: set[Any] = set()

    def take(self, call_id: Any) -> Iterator[str]:
        if not self.allowed(call_id):
            yield f"an id that is not taken: {call_id!r}"
        elif call_id in self.used:
            yield f"an id twice: {call_id!r}"
        if isinstance(call_id, str):
            self.used.add(call_id)


def _answered(calls: list[Any], results: list[Any]) -> Iterator[str]:
    if sorted(map(str, calls)) != sorted(map(str, results)):
        yield f"calls {calls} answered by {results}"


def _is_object(text: Any) -> bool:
    try:
        return isinstance(msgspec.json.decode(text), dict)
    except (msgspec.DecodeError, TypeError):
        return False


# Chat completions


def _chat(body: Json, allowed: Callable[[Any], bool]) -> Iterator[str]:
    ids, messages = _Ids(allowed), body["messages"]
    at = 0
    while at < len(messages):
        message = messages[at]
        at += 1
        role, content = message["role"], message.get("content")
        if role in ("tool", "function"):
            yield f"a result with no call before it: {message}"
        elif role in ("user", "system"):
            yield from _chat_content(content)
        elif role != "assistant":
            yield f"role {role!r}"
        else:
            calls = message.get("tool_calls")
            if calls == []:
                yield "an empty list of calls"
            said = ("content", "tool_calls", "function_call", "refusal", "reasoning_content", "reasoning_details")
            if not any(map(message.get, said)):
                yield "an answer of nothing"
            for call in calls or ():
                yield from ids.take(call["id"])
                yield from _function(call["function"])
            if message.get("function_call"):
                yield from _function(message["function_call"])
                if at == len(messages) or messages[at]["role"] != "function":
                    yield "a function_call without its result"
                at += 1
            results = []
            while calls and at < len(messages) and messages[at]["role"] == "tool":
                if not isinstance(messages[at]["content"], str):
                    yield "a result that is no text"
                results.append(messages[at]["tool_call_id"])
                at += 1
            yield from _answered([call["id"] for call in calls or ()], results)
    if messages and messages[-1]["role"] == "assistant":
        yield "the last word is the model's"


def _function(function: Json) -> Iterator[str]:
    if not _is_common_name(function["name"]):
        yield f"a name that is not taken: {function['name']!r}"
    if not isinstance(function["arguments"], str) or not _is_object(function["arguments"]):
        yield f"arguments that are no JSON text of an object: {function['arguments']!r}"


def _chat_content(content: Any) -> Iterator[str]:
    if isinstance(content, str):
        return
    if not content:
        yield "content that is an empty list"
    for part in content:
        if part["type"] == "image_url" and not part["image_url"]["url"].startswith(("https://", "http://", "data:")):
            yield "a picture without an address"
        if part["type"] == "input_audio" and part["input_audio"]["format"] not in ("wav", "mp3"):
            yield "audio of another format"


def _openai(body: Json) -> Iterator[str]:
    yield from _chat(body, lambda call_id: isinstance(call_id, str) and 0 < len(call_id) <= 40)


def _mistral(body: Json) -> Iterator[str]:
    yield from _chat(body, lambda call_id: _text_is(call_id, _LETTERS + _DIGITS, 9, 9))
    messages = body["messages"]
    for before, after in pairwise(messages):
        if before["role"] == "tool" and after["role"] == "user":
            yield "the user speaks right after results"
    for message in messages:
        if message["role"] == "assistant" and not message.get("content") and not message.get("tool_calls"):
            yield "an answer with neither content nor calls"


_SHOWN = tuple(f"data:image/{kind};" for kind in ("png", "jpeg", "gif", "webp"))


def _openai_itself(body: Json) -> Iterator[str]:
    yield from _openai(body)
    for part in _parts(body):
        if part["type"] == "file" and not part["file"]["file_data"].startswith("data:application/pdf;"):
            yield "a file that is no PDF"
        if part["type"] == "image_url" and not part["image_url"]["url"].startswith(("https://", *_SHOWN)):
            yield "a picture of another format"


def _parts(body: Json) -> Iterator[Json]:
    for message in body["messages"]:
        if isinstance(message.get("content"), list):
            yield from message["content"]


def _deepseek(body: Json) -> Iterator[str]:
    yield from _chat(body, lambda call_id: isinstance(call_id, str) and bool(call_id))
    for part in _parts(body):
        if part["type"] != "text":
            yield f"content of type {part['type']}"
    turn: list[Json] = []
    for message in [*body["messages"], {"role": "user"}]:
        if message["role"] == "assistant":
            turn.append(message)
            if message["content"] is None:
                yield "null for words beside reasoning"
        elif message["role"] == "user":
            called = any(answer.get("tool_calls") or answer.get("function_call") for answer in turn)
            if called and not all(isinstance(answer.get("reasoning_content"), str) for answer in turn):
                yield "an answer of a turn with calls without its reasoning"
            turn = []


# OpenAI Responses


def _responses(body: Json) -> Iterator[str]:
    ids = _Ids(lambda call_id: isinstance(call_id, str) and 0 < len(call_id) <= 64)
    calls: list[str] = []
    results: list[str] = []
    kinds: dict[str, str] = {}
    items = body["input"]
    for number, item in enumerate(items):
        kind = item.get("type", "message")
        if kind in ("function_call", "custom_tool_call"):
            yield from ids.take(item["call_id"])
            if kind == "function_call":
                yield from _function(item)
            calls.append(item["call_id"])
            kinds[item["call_id"]] = kind
        elif kind in ("function_call_output", "custom_tool_call_output"):
            if item["call_id"] not in calls:
                yield f"a result with no call before it: {item['call_id']!r}"
            elif kind != f"{kinds[item['call_id']]}_output":
                yield f"a {kinds[item['call_id']]} answered by a {kind}"
            results.append(item["call_id"])
        elif kind == "message":
            if item["role"] == "user":
                yield from _answered(calls, results)
            if isinstance(item["content"], list) and not item["content"]:
                yield "a message of no content"
        elif kind == "reasoning":
            after = items[number + 1] if number + 1 < len(items) else {}
            if after.get("role") == "user" or not after or after.get("type", "").endswith("_output"):
                yield "reasoning without what it led to"
            if not item.get("id") and not item.get("encrypted_content"):
                yield "reasoning that the server does not know"
    yield from _answered(calls, results)


# Anthropic Messages


def _anthropic(body: Json) -> Iterator[str]:
    ids = _Ids(lambda call_id: _text_is(call_id, _LETTERS + _DIGITS + "_-", 512))
    if not isinstance(body.get("max_tokens"), int):
        yield "no max_tokens"
    if "system" in body and not body["system"].strip():
        yield "blank system text"
    waiting: list[Any] = []
    yield from _in_turn(body["messages"], "user", "assistant")
    for message in body["messages"]:
        blocks = message["content"]
        kinds = [block["type"] for block in blocks]
        if not blocks:
            yield "an empty message"
        yield from _blank_texts(block.get("text") for block in blocks if block["type"] == "text")
        if message["role"] == "user":
            results = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
            yield from _answered(waiting, results)
            if "tool_result" in kinds[len(results) :]:
                yield "results after other content"
            for block in blocks:
                if block["type"] == "tool_result" and isinstance(block["content"], list):
                    yield from _blank_texts(item.get("text") for item in block["content"] if item["type"] == "text")
            waiting = []
        else:
            waiting = [block["id"] for block in blocks if block["type"] == "tool_use"]
            for block in blocks:
                if block["type"] == "tool_use":
                    yield from ids.take(block["id"])
                    if not _is_common_name(block["name"]) or not isinstance(block["input"], dict):
                        yield f"a call that is not taken: {block}"
                if block["type"] == "thinking" and not block.get("signature"):
                    yield "thinking without a signature"
                if block["type"] in ("tool_result", "image", "document"):
                    yield f"{block['type']} in an answer"
            if kinds and kinds[-1] in ("thinking", "redacted_thinking"):
                yield "an answer that ends in thinking"
    yield from _answered(waiting, [])


def _in_turn(messages: list[Json], first: str, second: str) -> Iterator[str]:
    if messages and messages[0]["role"] != first:
        yield f"the conversation begins with {messages[0]['role']}"
    for before, after in pairwise(messages):
        if before["role"] == after["role"]:
            yield f"two messages of {after['role']} in a row"
    if messages and messages[-1]["role"] == second:
        yield "the last word is the model's"
    if any(message["role"] not in (first, second) for message in messages):
        yield "another role"


def _blank_texts(texts: Iterator[Any]) -> Iterator[str]:
    for text in texts:
        if not isinstance(text, str) or not text.strip():
            yield f"blank text: {text!r}"


# Gemini


def _gemini(body: Json, *, signed: bool) -> Iterator[str]:
    contents = body["contents"]
    if not contents or contents[0]["role"] != "user":
        yield "the conversation does not begin with the user"
    if contents and contents[-1]["role"] == "model":
        yield "the last word is the model's"
    waiting: list[Json] = []
    for before, after in pairwise(contents):
        if before["role"] == after["role"] == "model":
            yield "two contents of the model in a row"
    for content in contents:
        parts = content["parts"]
        if not parts:
            yield "a content without parts"
        calls = [part["functionCall"] for part in parts if "functionCall" in part]
        results = [part["functionResponse"] for part in parts if "functionResponse" in part]
        if calls and content["role"] != "model":
            yield "a call that the model did not make"
        if results and len(results) != len(parts):
            yield "results beside other parts"
        if [call["name"] for call in waiting] != [result["name"] for result in results]:
            yield f"calls {waiting} answered by {results}"
        for call, result in zip(waiting, results, strict=False):
            if call.get("id") != result.get("id"):
                yield f"a call {call.get('id')!r} answered under {result.get('id')!r}"
            if not isinstance(result["response"], dict):
                yield "a response that is no object"
        for call in calls:
            name = call["name"]
            if not _text_is(name, _LETTERS + _DIGITS + "_.-", 64) or name[0] not in _LETTERS + "_":
                yield f"a name that is not taken: {name!r}"
            if not isinstance(call["args"], dict):
                yield "arguments that are no object"
        first = next((part for part in parts if "functionCall" in part), None)
        if signed and first is not None and not first.get("thoughtSignature"):
            yield "a first call without a signature"
        for part in parts:
            if part.get("text") == "" and "thoughtSignature" not in part:
                yield "empty text"
            for media in (part.get("inlineData"), part.get("fileData")):
                if media is not None and "/" not in media["mimeType"]:
                    yield f"media of type {media['mimeType']!r}"
        waiting = calls
    if waiting:
        yield f"calls without results: {waiting}"


# Ollama


def _ollama(body: Json) -> Iterator[str]:
    waiting: list[tuple[Any, Any]] = []
    ids = _Ids(lambda call_id: isinstance(call_id, str) and bool(call_id))
    for message in body["messages"]:
        if message["role"] == "tool":
            if (message["tool_call_id"], message["tool_name"]) not in waiting[:1]:
                yield f"a result out of place: {message}"
            waiting = waiting[1:]
        elif waiting:
            yield f"calls without results: {waiting}"
        if message["role"] not in ("system", "user", "assistant", "tool") or not isinstance(message["content"], str):
            yield f"a message that is not taken: {message}"
        if message["role"] == "assistant":
            waiting = []
            for call in message.get("tool_calls") or ():
                yield from ids.take(call["id"])
                waiting.append((call["id"], call["function"]["name"]))
                if not isinstance(call["function"]["arguments"], dict) or not _is_common_name(call["function"]["name"]):
                    yield f"a call that is not taken: {call}"
        if any(
            not isinstance(image, str) or image.startswith(("http", "data:")) for image in message.get("images", ())
        ):
            yield "a picture that is no base64 data"
    if waiting:
        yield f"calls without results: {waiting}"


# Bedrock Converse


def _bedrock(body: Json) -> Iterator[str]:
    ids = _Ids(lambda call_id: _text_is(call_id, _LETTERS + _DIGITS + "_-.:", 64))
    waiting: list[Any] = []
    held = False
    yield from _in_turn(body["messages"], "user", "assistant")
    for message in body["messages"]:
        blocks = message["content"]
        if not blocks:
            yield "an empty message"
        yield from _blank_texts(block["text"] for block in blocks if "text" in block)
        calls = [block["toolUse"] for block in blocks if "toolUse" in block]
        results = [block["toolResult"] for block in blocks if "toolResult" in block]
        held = held or bool(calls)
        if message["role"] == "user":
            yield from _answered(waiting, [result["toolUseId"] for result in results])
            waiting = []
            for result in results:
                if not result["content"]:
                    yield "a result of nothing"
                yield from _blank_texts(item["text"] for item in result["content"] if "text" in item)
            if calls or any("reasoningContent" in block for block in blocks):
                yield "what only the model says, said by the user"
            if any("document" in block for block in blocks) and not any("text" in block for block in blocks):
                yield "a document without words"
        else:
            waiting = [call["toolUseId"] for call in calls]
            for call in calls:
                yield from ids.take(call["toolUseId"])
                if not _is_common_name(call["name"]) or not isinstance(call["input"], dict):
                    yield f"a call that is not taken: {call}"
            for block in blocks:
                words = block.get("reasoningContent", {}).get("reasoningText")
                if words is not None and not words.get("signature"):
                    yield "reasoning without a signature"
                if block.keys() & {"image", "document", "video", "audio"} or "toolResult" in block:
                    yield f"{sorted(block)} in an answer"
            if blocks and "reasoningContent" in blocks[-1]:
                yield "an answer that ends in reasoning"
    yield from _answered(waiting, [])
    if held and not body.get("toolConfig", {}).get("tools"):
        yield "calls in the history, and no tools"


# Cohere


def _cohere(body: Json) -> Iterator[str]:
    ids = _Ids(lambda call_id: isinstance(call_id, str) and bool(call_id))
    waiting: list[Any] = []
    for message in body["messages"]:
        role, calls = message["role"], message.get("tool_calls")
        if role == "tool":
            if message["tool_call_id"] not in waiting:
                yield f"a result out of place: {message}"
            else:
                waiting.remove(message["tool_call_id"])
            if not message["content"]:
                yield "a result of nothing"
            continue
        if waiting:
            yield f"calls without results: {waiting}"
        waiting = []
        if role not in ("system", "user", "assistant"):
            yield f"role {role!r}"
        if not message.get("content") and not calls:
            yield f"a message of nothing: {message}"
        if message.get("tool_plan") and not calls:
            yield "a plan without calls"
        for part in message["content"] if isinstance(message.get("content"), list) else ():
            if part["type"] in ("text", "thinking") and not part[part["type"]]:
                yield "empty text"
        for call in calls or ():
            yield from ids.take(call["id"])
            waiting.append(call["id"])
            name = call["function"]["name"]
            if not _text_is(name, _LETTERS + _DIGITS + "_", 512) or name[0] in _DIGITS:
                yield f"a name that is not taken: {name!r}"
            if not _is_object(call["function"]["arguments"]):
                yield "arguments that are no JSON text of an object"
    if waiting:
        yield f"calls without results: {waiting}"
    if body["messages"] and body["messages"][-1]["role"] == "assistant":
        yield "the last word is the model's"


_RULES: dict[str, Callable[[Json], Iterator[str]]] = {
    "openai-chat": _openai,
    "openai": _openai_itself,
    "mistral": _mistral,
    "deepseek": _deepseek,
    "openrouter": lambda body: _chat(body, lambda call_id: isinstance(call_id, str) and bool(call_id)),
    "openai-responses": _responses,
    "anthropic": _anthropic,
    "gemini": lambda body: _gemini(body, signed=True),
    "gemini-2.5": lambda body: _gemini(body, signed=False),
    "ollama": _ollama,
    "bedrock": _bedrock,
    "cohere": _cohere,
}
