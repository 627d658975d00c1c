"""From the request of a recording client to a Toolwire conversation: the encoders' work done backwards, in tests only.

What a request holds that a conversation has no place for (sampling, caching marks, tools on the provider's side) is
left out here and named as a rule in `followups.py`; what cannot be read at all raises `Unread` with the reason.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from toolwire.messages import (
    MediaPart,
    Message,
    OpaquePart,
    Part,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolResultPart,
)

Json = dict[str, Any]


class Unread(Exception):
    """This request says something that a conversation cannot hold."""


class Recorded(msgspec.Struct):
    """A recorded request as Toolwire would be asked for it."""

    messages: list[Message]
    tools: list[Json] = []
    tool_choice: str = "auto"


SCRUBBED = "<base64 "
"""What the recordings have in the place of long data, and of a `data:` URL that held it."""


def texts(content: Any) -> list[TextPart]:
    """Words, whichever way a client wrote them: a string, or a list of text parts."""
    if isinstance(content, str):
        return [TextPart(content)] if content else []
    return [TextPart(part["text"]) for part in content or ()]


def media_from_url(url: str, media_type: str) -> MediaPart:
    """Media by address; a `data:` URL is data."""
    if url.startswith("data:") and ";base64," in url:
        head, _, data = url[5:].partition(";base64,")
        return MediaPart(head, data=data)
    if url.startswith(SCRUBBED):
        return MediaPart(media_type, data=url)
    return MediaPart(media_type, url=url)


class Names:
    """Which tool each call id belongs to: a result names its tool, and most wires leave that out."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}

    def call(self, part: ToolCallPart) -> ToolCallPart:
        self._names[part.id] = part.name
        return part

    def result(self, call_id: str, content: Any, *, is_error: bool = False) -> ToolResultPart:
        return ToolResultPart(call_id, self._names.get(call_id, "unknown"), content, is_error)


def joined(messages: Iterable[Message]) -> list[Message]:
    """Results that follow one another are of one turn: one message."""
    made: list[Message] = []
    for message in messages:
        last = made[-1] if made else None
        if last is not None and last.role == message.role == "tool":
            made[-1] = Message("tool", [*last.parts, *message.parts])
        else:
            made.append(message)
    return made


def one_text(parts: list[Any]) -> str | list[Any]:
    """A single text as the string that a person would write."""
    return parts[0].text if len(parts) == 1 and type(parts[0]) is TextPart else parts


# OpenAI Chat Completions


def chat_messages(items: list[Json]) -> list[Message]:
    names = Names()
    return joined(_chat_message(item, names) for item in items)


def _chat_message(item: Json, names: Names) -> Message:
    role, content = item["role"], item.get("content") or ""
    if role in ("system", "developer"):
        return Message("system", one_text(texts(content)))
    if role == "user":
        return Message("user", one_text(texts(content) if isinstance(content, str) else [*map(_chat_part, content)]))
    if role == "tool":
        return Message("tool", [names.result(item["tool_call_id"], one_text(texts(content)))])
    parts: list[Part] = []
    blocks = [{"wire": "openai-chat", "reasoning_detail": each} for each in item.get("reasoning_details") or ()]
    if item.get("reasoning_content"):
        parts.append(ThinkingPart(item["reasoning_content"]))
    parts += texts(content)
    if item.get("refusal"):
        parts.append(TextPart(item["refusal"], refusal=True))
    for call in item.get("tool_calls") or ():
        function = call["function"]
        parts.append(names.call(_text_call(call["id"], function["name"], function["arguments"])))
    return Message("assistant", parts, blocks)


def _text_call(call_id: str, name: str, arguments: str, data: Json | None = None) -> ToolCallPart:
    decoded = msgspec.json.decode(arguments or "{}")
    return ToolCallPart(call_id, name, decoded or {}, arguments if isinstance(decoded, dict) else None, data)


def _chat_part(part: Json) -> Part:
    kind = part["type"]
    if kind == "text":
        return TextPart(part["text"])
    if kind == "image_url":
        return media_from_url(part["image_url"]["url"], "image/*")
    if kind == "file":
        media = media_from_url(part["file"]["file_data"], "application/octet-stream")
        return MediaPart(media.media_type, data=media.data, name=part["file"]["filename"])
    raise Unread(f"a part of type {kind}, which is one service's own")


def read_chat(request: Json) -> Recorded:
    tools = [tool["function"] for tool in request.get("tools") or () if tool["type"] == "function"]
    choice = request.get("tool_choice")
    if isinstance(choice, dict):
        choice = choice["function"]["name"]
    return Recorded(chat_messages(request["messages"]), tools, _choice(choice))


def _choice(word: str | None) -> str:
    return {None: "auto", "any": "required"}.get(word, word) or "auto"


# Ollama


def ollama_messages(items: list[Json]) -> list[Message]:
    made: list[Message] = []
    waiting: list[str] = []
    for item in items:
        role, content = item["role"], item["content"]
        if role == "assistant":
            parts: list[Part] = []
            if item.get("thinking"):
                parts.append(ThinkingPart(item["thinking"]))
            parts += texts(content)
            waiting = []
            for number, call in enumerate(item.get("tool_calls") or ()):
                call_id = call.get("id") or f"call-{len(made)}-{number}"
                waiting.append(call_id)
                parts.append(ToolCallPart(call_id, call["function"]["name"], call["function"]["arguments"]))
            made.append(Message("assistant", parts))
        elif role == "tool":
            made.append(Message("tool", [ToolResultPart(waiting.pop(0), item["tool_name"], content)]))
        else:
            made.append(Message(role, content))
    return joined(made)


def read_ollama(request: Json) -> Recorded:
    return Recorded(ollama_messages(request["messages"]), [tool["function"] for tool in request.get("tools") or ()])


# Anthropic Messages


def anthropic_messages(items: list[Json]) -> list[Message]:
    names = Names()
    made: list[Message] = []
    for item in items:
        role, content = item["role"], item["content"]
        if role == "assistant":
            blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
            made.append(Message("assistant", [_anthropic_part(block, names) for block in blocks]))
        elif isinstance(content, str):
            made.append(Message(role, content))
        else:
            results = [_anthropic_result(block, names) for block in content if block["type"] == "tool_result"]
            others: list[Part] = [_anthropic_part(block, names) for block in content if block["type"] != "tool_result"]
            if results:
                made.append(Message("tool", [*results]))
            if others:
                made.append(Message(role, one_text(others)))
    return made


def _anthropic_result(block: Json, names: Names) -> ToolResultPart:
    content = block.get("content", "")
    if not isinstance(content, str):
        content = one_text([_anthropic_part(part, names) for part in content])
    return names.result(block["tool_use_id"], content, is_error=bool(block.get("is_error")))


def _anthropic_part(block: Json, names: Names) -> Any:
    block = {name: value for name, value in block.items() if name != "cache_control"}
    kind = block["type"]
    if kind == "text":
        return TextPart(block["text"])
    if kind == "tool_use":
        return names.call(ToolCallPart(block["id"], block["name"], block["input"]))
    if kind == "image" or kind == "document":
        return _anthropic_media(block)
    if kind == "thinking":
        return ThinkingPart(block["thinking"], {"wire": "anthropic", "block": block})
    return OpaquePart({"wire": "anthropic", "block": block})


def _anthropic_media(block: Json) -> MediaPart:
    source, kind = block["source"], block["type"]
    if "citations" in block:
        raise Unread("a document that is to be cited: a choice that media parts do not hold")
    if source["type"] == "base64":
        return MediaPart(source["media_type"], data=source["data"], name=block.get("title"))
    if source["type"] == "text":
        words = b64encode(source["data"].encode()).decode()
        return MediaPart(source["media_type"], data=words, name=block.get("title"))
    if source["type"] == "url":
        return MediaPart("image/*" if kind == "image" else "application/pdf", url=source["url"])
    raise Unread(f"media of source {source['type']}: a file kept by the provider")


def read_anthropic(request: Json) -> Recorded:
    system = texts(request.get("system"))
    head = [Message("system", one_text([*system]))] if system else []
    tools = [tool for tool in request.get("tools") or () if tool.get("type") in (None, "custom")]
    choice = request.get("tool_choice") or {"type": "auto"}
    word = choice["name"] if choice["type"] == "tool" else choice["type"]
    return Recorded([*head, *anthropic_messages(request["messages"])], tools, _choice(word))


# OpenAI Responses


def responses_messages(items: list[Json] | str) -> list[Message]:
    names = Names()
    if isinstance(items, str):
        return [Message("user", items)]
    made: list[Message] = []
    for before, item in zip([{}, *items], items, strict=False):
        if before.get("type") == "reasoning" and "id" in before:
            item = {"id": "left-out", **item}  # the provider gave it one: the reasoning led to it
        kind = item.get("type", "message")
        if kind in ("function_call_output", "custom_tool_call_output"):
            made.append(Message("tool", [names.result(item["call_id"], _responses_output(item["output"]))]))
        elif kind == "message" and item["role"] in ("system", "developer"):
            made.append(Message("system", one_text(texts(item["content"]))))
        elif kind == "message" and item["role"] == "user":
            content = item["content"]
            parts = texts(content) if isinstance(content, str) else [*map(_responses_part, content)]
            made.append(Message("user", one_text([*parts])))
        else:
            parts_of = _responses_assistant(item, names)
            if made and made[-1].role == "assistant":
                made[-1] = Message("assistant", [*made[-1].parts, *parts_of])
            else:
                made.append(Message("assistant", parts_of))
    return joined(made)


def _responses_output(output: Any) -> Any:
    return output if isinstance(output, str) else [*map(_responses_part, output)]


def _responses_assistant(item: Json, names: Names) -> list[Part]:
    kind = item.get("type", "message")
    if kind == "message":
        content = item["content"]
        if isinstance(content, str):
            if "id" not in item:
                return [*texts(content)]
            content = [{"type": "output_text", "text": content}]
        return [_responses_text(item, number, part) for number, part in enumerate(content)]
    if kind == "function_call":
        kept = _without(item, "call_id", "name", "arguments")
        return [names.call(_text_call(item["call_id"], item["name"], item["arguments"], kept))]
    if kind == "custom_tool_call":
        kept = _without(item, "call_id", "name", "input")
        call = ToolCallPart(item["call_id"], item["name"], {"input": item["input"]}, provider_data=kept)
        return [names.call(call)]
    if kind == "reasoning":
        return [ThinkingPart("\n\n".join(part["text"] for part in item["summary"]), _without(item))]
    return [OpaquePart(_without(item), kind)]


def _responses_text(item: Json, number: int, part: Json) -> TextPart:
    if part["type"] != "output_text":
        raise Unread(f"a part of type {part['type']} in an answer")
    kept = {**_without(item, "content"), "part": number, "annotations": part.get("annotations")}
    return TextPart(part["text"], provider_data=kept)


def _without(item: Json, *names: str) -> Json:
    """An item as it goes back with its part of the message, which holds the rest."""
    return {"wire": "openai-responses", "item": {name: item[name] for name in item if name not in names}}


def _responses_part(part: Json) -> Any:
    kind = part["type"]
    if kind == "input_text":
        return TextPart(part["text"])
    if kind == "input_image":
        return media_from_url(part["image_url"], "image/*")
    if kind == "input_file" and "file_data" in part:
        media = media_from_url(part["file_data"], "application/pdf")
        return MediaPart(media.media_type, data=media.data, name=part["filename"])
    if kind == "input_file":
        return MediaPart("application/pdf", url=part["file_url"])
    raise Unread(f"a part of type {kind}")


def read_responses(request: Json) -> Recorded:
    head = [Message("system", request["instructions"])] if request.get("instructions") else []
    tools = [tool for tool in request.get("tools") or () if tool["type"] == "function"]
    choice = request.get("tool_choice")
    if isinstance(choice, dict):
        names = {tool["name"] for tool in choice.get("tools", ())}
        if names and names != {tool["name"] for tool in tools}:
            raise Unread("tool_choice that allows some tools by name")
        choice = choice["mode"] if names else choice["name"]
    if choice == "required" and not tools:
        raise Unread("tool_choice among tools on the provider's side alone")
    return Recorded([*head, *responses_messages(request["input"])], tools, _choice(choice))


# Gemini


def gemini_messages(items: list[Json]) -> list[Message]:
    made: list[Message] = []
    waiting: list[ToolCallPart] = []
    for item in items:
        results: list[Part] = []
        others: list[Part] = []
        for number, part in enumerate(item.get("parts") or ()):
            answer = part.get("functionResponse") or part.get("function_response")
            if answer is not None:
                call = next((call for call in waiting if call.name == answer["name"]), None)
                if call is not None:
                    waiting.remove(call)
                call_id = answer.get("id") or (call.id if call else "unknown")
                results.append(ToolResultPart(call_id, answer["name"], _gemini_result(answer)))
            else:
                others.append(_gemini_part(part, f"call-{len(made)}-{number}"))
        if item.get("role") == "model":
            waiting = [part for part in others if isinstance(part, ToolCallPart)]
            made.append(Message("assistant", others))
        else:
            if results:
                made.append(Message("tool", results))
            if others:
                made.append(Message("user", one_text(others)))
    return joined(made)


def _gemini_result(answer: Json) -> Any:
    response = answer["response"]
    words = next((response[name] for name in RESULT_MEMBERS if set(response) == {name}), response)
    text = words if isinstance(words, str) else msgspec.json.encode(words).decode()
    media = [
        MediaPart(part["inlineData"]["mimeType"], data=part["inlineData"]["data"]) for part in answer.get("parts") or ()
    ]
    return [TextPart(text), *media] if media else text


RESULT_MEMBERS = ("result", "output", "return_value")
"""Where clients put a result that is no object, since the API wants one."""


def _gemini_part(part: Json, made_id: str) -> Part:
    signature = part.get("thoughtSignature") or part.get("thought_signature")
    data = None if signature is None else {"wire": "gemini", "thoughtSignature": signature}
    call = part.get("functionCall") or part.get("function_call")
    if call is not None:
        return ToolCallPart(call.get("id") or made_id, call["name"], call.get("args") or {}, provider_data=data)
    if "text" in part:
        return ThinkingPart(part["text"], data) if part.get("thought") else TextPart(part["text"], provider_data=data)
    if "inlineData" in part:
        return MediaPart(part["inlineData"]["mimeType"], data=part["inlineData"]["data"], provider_data=data)
    if "fileData" in part:
        return MediaPart(part["fileData"]["mimeType"], url=part["fileData"]["fileUri"], provider_data=data)
    return OpaquePart({"wire": "gemini", "part": part})


def _json_schema(schema: Any) -> Any:
    """JSON Schema, from Gemini's spelling of it: `STRING` is `string`, `nullable` is a type."""
    if isinstance(schema, list):
        return [_json_schema(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    made = {name: _json_schema(value) for name, value in schema.items()}
    if isinstance(made.get("type"), str):
        made["type"] = made["type"].lower()
        if made.pop("nullable", None) is True:
            made["type"] = [made["type"], "null"]
    return made


def read_gemini(request: Json) -> Recorded:
    system = [TextPart(part["text"]) for part in (request.get("systemInstruction") or {}).get("parts") or ()]
    head = [Message("system", one_text([*system]))] if system else []
    tools = [
        {**tool, "parameters": _json_schema(tool.get("parameters") or tool.get("parameters_json_schema"))}
        for group in request.get("tools") or ()
        for tool in group.get("functionDeclarations") or ()
    ]
    config = (request.get("toolConfig") or {}).get("functionCallingConfig") or {}
    allowed = config.get("allowedFunctionNames") or config.get("allowed_function_names") or ()
    mode = config.get("mode", "AUTO")
    if {*allowed} == {tool["name"] for tool in tools} and len(allowed) > 1:
        allowed = ()
    word = allowed[0] if allowed else {"AUTO": "auto", "VALIDATED": "auto", "ANY": "required", "NONE": "none"}[mode]
    return Recorded([*head, *gemini_messages(request["contents"])], tools, word)


# Cohere


def cohere_messages(items: list[Json]) -> list[Message]:
    names = Names()
    return joined(_cohere_message(item, names) for item in items)


def _cohere_message(item: Json, names: Names) -> Message:
    role, content = item["role"], item.get("content") or ""
    if role == "tool":
        return Message("tool", [names.result(item["tool_call_id"], one_text(texts(content)))])
    if role != "assistant":
        return Message(role, one_text(texts(content) if isinstance(content, str) else [*map(_chat_part, content)]))
    parts: list[Part] = []
    if item.get("tool_plan"):
        parts.append(ThinkingPart(item["tool_plan"], {"wire": "cohere", "part": "tool_plan"}))
    blocks: list[Json] = [*content] if isinstance(content, list) else [{"type": "text", "text": content}]
    for part in blocks if content else ():
        if part["type"] == "thinking":
            parts.append(ThinkingPart(part["thinking"], {"wire": "cohere", "part": "thinking"}))
        else:
            parts.append(TextPart(part["text"]))
    for call in item.get("tool_calls") or ():
        function = call["function"]
        parts.append(names.call(_text_call(call["id"], function["name"], function["arguments"])))
    return Message("assistant", parts)


def read_cohere(request: Json) -> Recorded:
    tools = [tool["function"] for tool in request.get("tools") or ()]
    return Recorded(cohere_messages(request["messages"]), tools, (request.get("tool_choice") or "auto").lower())


# Bedrock Converse


def base64_of(data: Any) -> str:
    """Bytes as they were recorded: base64, or the numbers of a JavaScript buffer."""
    if isinstance(data, dict):
        numbers = data["data"] if "data" in data else [data[str(place)] for place in range(len(data))]
        return b64encode(bytes(numbers)).decode()
    return str(data)


def _bedrock_media(block: Json) -> MediaPart:
    if "image" in block:
        return MediaPart(f"image/{block['image']['format']}", data=base64_of(block["image"]["source"]["bytes"]))
    document = block["document"]
    kinds = {"pdf": "application/pdf", "txt": "text/plain"}
    return MediaPart(kinds[document["format"]], data=base64_of(document["source"]["bytes"]), name=document["name"])


def _bedrock_given(block: Json) -> TextPart | MediaPart:
    if "json" in block:
        return TextPart(msgspec.json.encode(block["json"]).decode())
    return TextPart(block["text"]) if "text" in block else _bedrock_media(block)


def bedrock_messages(items: list[Json]) -> list[Message]:
    names = Names()
    made: list[Message] = []
    for item in items:
        results: list[Part] = []
        parts: list[Part] = []
        for block in item["content"]:
            if "toolResult" in block:
                given = block["toolResult"]
                content = [*map(_bedrock_given, given["content"])]
                is_error = given.get("status") == "error"
                results.append(names.result(given["toolUseId"], one_text(content), is_error=is_error))
            elif "toolUse" in block:
                call = block["toolUse"]
                parts.append(names.call(ToolCallPart(call["toolUseId"], call["name"], call["input"])))
            elif "text" in block:
                parts.append(TextPart(block["text"]))
            else:
                parts.append(_bedrock_media(block))
        made += [Message("tool", results)] if results else []
        made += [Message(item["role"], one_text(parts) if item["role"] == "user" else parts)] if parts else []
    return made


def read_bedrock(request: Json) -> Recorded:
    system = [TextPart(block["text"]) for block in request.get("system") or () if "text" in block]
    head = [Message("system", part.text) for part in system]
    config = request.get("toolConfig") or {}
    tools = [
        {**tool["toolSpec"], "parameters": tool["toolSpec"]["inputSchema"]["json"]}
        for tool in config.get("tools") or ()
        if "toolSpec" in tool
    ]
    choice = config.get("toolChoice") or {}
    word = choice["tool"]["name"] if "tool" in choice else "required" if "any" in choice else "auto"
    return Recorded([*head, *bedrock_messages(request["messages"])], tools, word)


class Client(msgspec.Struct, frozen=True):
    """One wire as its clients write it."""

    shape: str
    items: str
    """The member of a request that holds the conversation."""
    read_items: Callable[[Any], list[Message]]
    read: Callable[[Json], Recorded]
    face: tuple[str, ...]
    """The members of a request that say what is said here: the conversation, the tools, the choice."""


CLIENTS = {
    "openai-chat": Client("chat", "messages", chat_messages, read_chat, ("messages", "tools", "tool_choice")),
    "openai-responses": Client(
        "responses",
        "input",
        responses_messages,
        read_responses,
        ("instructions", "input", "tools", "tool_choice"),
    ),
    "anthropic": Client(
        "messages",
        "messages",
        anthropic_messages,
        read_anthropic,
        ("system", "messages", "tools", "tool_choice"),
    ),
    "gemini": Client(
        "generatecontent",
        "contents",
        gemini_messages,
        read_gemini,
        ("systemInstruction", "contents", "tools", "toolConfig"),
    ),
    "ollama": Client("ollama", "messages", ollama_messages, read_ollama, ("messages", "tools")),
    "bedrock": Client("converse", "messages", bedrock_messages, read_bedrock, ("system", "messages", "toolConfig")),
    "cohere": Client("cohere-v2", "messages", cohere_messages, read_cohere, ("messages", "tools", "tool_choice")),
}
