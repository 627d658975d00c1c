"""The official SDKs' types of requests as judges: a body is held against them member by member, unknown ones refused.

The SDKs' own checks let unknown members pass, or look at nothing until a request is sent; their types say more.
"""

from __future__ import annotations

import types
import typing
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

import botocore.session
import cohere
import msgspec
import typing_extensions
from anthropic.types.message_create_params import MessageCreateParamsStreaming
from botocore.validate import ParamValidator
from google.genai import types as genai
from mistralai.client.models import ChatCompletionStreamRequest
from ollama import Message as OllamaMessage
from ollama import Tool as OllamaTool
from openai.types.chat.completion_create_params import CompletionCreateParamsStreaming
from openai.types.responses.response_create_params import ResponseCreateParamsStreaming
from pydantic import BaseModel, TypeAdapter, ValidationError

Json = dict[str, Any]


def problems(target: str, body: Json) -> list[str]:
    """What the SDK of this target does not know in the body."""
    return _JUDGES[target](body)


@cache
def _members(kind: Any) -> tuple[dict[str, Any], frozenset[str]]:
    return typing_extensions.get_type_hints(kind), frozenset(kind.__required_keys__)


def _plain(kind: Any) -> Any:
    while typing.get_origin(kind) in (typing.Annotated, typing.Required, typing.NotRequired):
        kind = typing.get_args(kind)[0]
    return kind


def misfit(value: Any, kind: Any, at: str = "") -> str | None:
    """Where and why a JSON value is not of a type that is written with TypedDicts; None where it is."""
    kind = _plain(kind)
    origin, inside = typing.get_origin(kind), typing.get_args(kind)
    if kind in (Any, object):
        return None
    if origin in (typing.Union, types.UnionType):
        found = [misfit(value, one, at) for one in inside]
        # Of several misfits the deepest says most.
        return None if None in found else max((one for one in found if one), key=len)
    if origin is typing.Literal:
        return None if value in inside else f"{at}: {value!r} is none of {inside}"
    if typing_extensions.is_typeddict(kind):
        return _misfit_of_members(value, kind, at)
    if kind is float:
        return None if isinstance(value, (int, float)) and not isinstance(value, bool) else f"{at}: no number"
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        return f"{at}: an object of the SDK"
    if origin in (dict, typing.get_origin(typing.Mapping[str, str])):
        if not isinstance(value, dict):
            return f"{at}: no object"
        return _first(misfit(item, inside[1], f"{at}.{name}") for name, item in value.items())
    if origin is not None and inside:
        if not isinstance(value, list):
            return f"{at}: no list"
        return _first(misfit(item, inside[0], f"{at}[{number}]") for number, item in enumerate(value))
    if kind in (None, type(None)):
        return None if value is None else f"{at}: not null"
    return None if type(value) is kind else f"{at}: {type(value).__name__}, not {getattr(kind, '__name__', kind)}"


def _first(found: Iterable[str | None]) -> str | None:
    return next((one for one in found if one), None)


def _misfit_of_members(value: Any, kind: Any, at: str) -> str | None:
    if not isinstance(value, dict):
        return f"{at}: no object"
    members, required = _members(kind)
    missing = required - value.keys()
    if missing:
        return f"{at}: {kind.__name__} without {sorted(missing)}"
    unknown = value.keys() - members.keys()
    if unknown:
        return f"{at}: {kind.__name__} with {sorted(unknown)}"
    return _first(misfit(item, members[name], f"{at}.{name}") for name, item in value.items())


def _typed(kind: Any) -> Callable[[Json], list[str]]:
    def judge(body: Json) -> list[str]:
        found = misfit(body, kind)
        return [] if found is None else [found]

    return judge


def _chat(body: Json) -> list[str]:
    """OpenAI's own types; reasoning and `extra_content` of a call are members of compatible services."""
    messages = []
    for message in body["messages"]:
        message = {name: value for name, value in message.items() if not name.startswith("reasoning")}
        if "tool_calls" in message:
            calls = [
                {name: value for name, value in call.items() if name != "extra_content"}
                for call in message["tool_calls"]
            ]
            message = {**message, "tool_calls": calls}
        messages.append(message)
    return _typed(CompletionCreateParamsStreaming)({**body, "messages": messages})


def _unknown(value: Any, at: str) -> list[str]:
    """Members that an SDK's object keeps without knowing them."""
    if isinstance(value, BaseModel):
        found = [f"{at}: unknown member {name}" for name in value.model_extra or ()]
        return found + [each for name in value.__class__.model_fields for each in _unknown(getattr(value, name), name)]
    if isinstance(value, list):
        return [each for item in value for each in _unknown(item, at)]
    return []


@cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


def _read(kind: Any, value: Any) -> list[str]:
    try:
        read = _adapter(kind).validate_json(msgspec.json.encode(value))
    except ValidationError as error:
        return [str(error)]
    return _unknown(read, getattr(kind, "__name__", str(kind)))


def _gemini(body: Json) -> list[str]:
    found = _read(list[genai.Content], body["contents"]) + _read(list[genai.Tool], body.get("tools", []))
    return found + _read(genai.Content, body["systemInstruction"]) if "systemInstruction" in body else found


def _ollama(body: Json) -> list[str]:
    """A picture is an object there, which is sent as the base64 text in it."""
    messages = [
        {**message, "images": [{"value": image} for image in message["images"]]} if "images" in message else message
        for message in body["messages"]
    ]
    return _read(list[OllamaMessage], messages) + _read(list[OllamaTool], body.get("tools", []))


def _cohere(body: Json) -> list[str]:
    return _read(list[cohere.ChatMessageV2], body["messages"]) + _read(list[cohere.ToolV2], body.get("tools", []))


def _mistral(body: Json) -> list[str]:
    """Its SDK drops what it does not know: what comes out again must be all that went in."""
    try:
        read = ChatCompletionStreamRequest.model_validate(body)
    except ValidationError as error:
        return [str(error)]
    return _lost(body, read.model_dump(mode="json", by_alias=True), "")


def _lost(value: Any, kept: Any, at: str) -> list[str]:
    if isinstance(value, dict) and isinstance(kept, dict):
        found = [f"{at}: unknown member {name}" for name in value if name not in kept and value[name] is not None]
        return found + [each for name in value.keys() & kept for each in _lost(value[name], kept[name], f"{at}.{name}")]
    if isinstance(value, list) and isinstance(kept, list):
        return [each for one, other in zip(value, kept, strict=True) for each in _lost(one, other, at)]
    return []


@cache
def _converse() -> Any:
    return botocore.session.get_session().get_service_model("bedrock-runtime").operation_model("ConverseStream")


def _bedrock(body: Json) -> list[str]:
    report = ParamValidator().validate({"modelId": "m", **body}, _converse().input_shape)
    return [report.generate_report()] if report.has_errors() else []


_JUDGES: dict[str, Callable[[Json], list[str]]] = {
    "openai-chat": _chat,
    "openai": _typed(CompletionCreateParamsStreaming),
    "mistral": _mistral,
    "deepseek": _chat,
    "openrouter": _chat,
    "openai-responses": _typed(ResponseCreateParamsStreaming),
    "anthropic": _typed(MessageCreateParamsStreaming),
    "gemini": _gemini,
    "gemini-2.5": _gemini,
    "ollama": _ollama,
    "bedrock": _bedrock,
    "cohere": _cohere,
}
