"""Gemini generateContent: the encoding half, conversation + tools → request body. Pure: a dict comes out.

The model is named in the URL, not in the body. What goes back is what came: every part in its place, a signature with
the very part that it came with, parts of Google's own tools as they were. Thoughts without a signature do not go back,
as the service does not want them. All results of one turn go in one content, each under the name of its function and
with an id only where the service had given one.

Gemini 3 refuses a call without a signature. One that has none, because another model made it, gets the mark that
Google's documentation of thought signatures names for that.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import msgspec

from ..errors import ConfigError
from ..messages import MediaPart, Message, OpaquePart, TextPart, ThinkingPart, ToolCallPart, ToolResultPart
from .encoding import (
    TOOL_CHOICES,
    check_tool_choice,
    inline_media,
    misplaced,
    offered_names,
    own,
    result_media,
    result_text,
)
from .gemini_schema import gemini_schema
from .names import GEMINI_RULE

if TYPE_CHECKING:
    from ..tools.definition import ToolDefinition

WIRE = "gemini"
UNSIGNED = "skip_thought_signature_validator"
"""The documented signature of a call that no Gemini model made."""

_MODES = {"none": "NONE", "required": "ANY"}
_FIRST_STRICT = 3


def encode_gemini_request(
    *,
    model: str,
    messages: Iterable[Message],
    tools: Iterable[ToolDefinition] = (),
    tool_choice: str = "auto",
    max_tokens: int | None = None,
    temperature: float | None = None,
    include_thoughts: bool = False,
    stream: bool = True,
) -> dict[str, Any]:
    """The request body. `tool_choice` is `auto`, `none`, `required` or the name of a tool.

    `include_thoughts` asks for the thoughts of models that think. `stream` changes nothing: whether an answer is
    streamed, the URL says.
    """
    messages = list(messages)
    body: dict[str, Any] = {"contents": _Contents(strict=is_strict(model)).encode(messages)}
    instructions = [{"text": message.text} for message in messages if message.role == "system" and message.text]
    if instructions:
        body["systemInstruction"] = {"parts": instructions}
    tools = list(tools)
    check_tool_choice(tool_choice, tools)
    if tools:
        names = offered_names(tools, GEMINI_RULE)
        declared = [_declaration(name, tool) for name, tool in zip(names, tools, strict=True)]
        body["tools"] = [{"functionDeclarations": declared}]
        if tool_choice not in TOOL_CHOICES:
            only = GEMINI_RULE.wire_name(tool_choice)
            body["toolConfig"] = {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": [only]}}
        elif tool_choice != "auto":
            body["toolConfig"] = {"functionCallingConfig": {"mode": _MODES[tool_choice]}}
    config: dict[str, Any] = {}
    if max_tokens is not None:
        config["maxOutputTokens"] = max_tokens
    if temperature is not None:
        config["temperature"] = temperature
    if include_thoughts:
        config["thinkingConfig"] = {"includeThoughts": True}
    if config:
        body["generationConfig"] = config
    return body


def is_strict(model: str) -> bool:
    """Whether this model wants every call signed, and takes media inside results: Gemini 3 and later."""
    _, found, rest = model.rpartition("gemini-")
    version = rest.partition("-")[0].partition(".")[0]
    return bool(found) and version.isascii() and version.isdigit() and int(version[:4]) >= _FIRST_STRICT


def _declaration(name: str, tool: ToolDefinition) -> dict[str, Any]:
    """A function; one without parameters has none, since Gemini refuses an object that has no properties."""
    schema = tool.parameters
    if not schema.get("properties") and schema.get("additionalProperties") is False:
        schema = {name: value for name, value in schema.items() if name != "additionalProperties"}
    parameters = gemini_schema(schema)
    declared: dict[str, Any] = {"name": name, "description": tool.description}
    if "properties" in parameters or "anyOf" in parameters:
        declared["parameters"] = parameters
        return declared
    words = parameters.pop("description", "")
    del parameters["type"]
    if parameters:
        words = f"{words} {msgspec.json.encode(parameters).decode()}".lstrip()
    if words:
        declared["description"] = f"{tool.description}\n\nArguments: {words}".lstrip()
    return declared


class _Contents:
    """A conversation as Gemini's contents; knows which ids the service gave to the calls of the last turn."""

    def __init__(self, *, strict: bool) -> None:
        self._strict = strict
        self._ids: dict[str, str] = {}
        self._made: list[dict[str, Any]] = []
        self._last = ""

    def encode(self, messages: list[Message]) -> list[dict[str, Any]]:
        for message in messages:
            if message.role == "assistant":
                self._append("model", self._model_parts(message))
            elif message.role == "user":
                self._append("user", [_user_part(part) for part in message.parts if not _is_empty(part)])
            elif message.role == "tool":
                self._results(message)
        return self._made

    def _append(self, kind: str, parts: list[dict[str, Any]]) -> None:
        """Adds a content, or to the last one where that is of the same kind. Results stay apart from what users say."""
        if not parts:
            return
        if kind == self._last:
            self._made[-1]["parts"] += parts
        else:
            self._made.append({"role": "model" if kind == "model" else "user", "parts": parts})
            self._last = kind

    def _model_parts(self, message: Message) -> list[dict[str, Any]]:
        parts: list[dict[str, Any]] = []
        signed = not self._strict
        for part in message.parts:
            if isinstance(part, ToolCallPart):
                encoded = self._call(part)
                if not signed:
                    encoded.setdefault("thoughtSignature", UNSIGNED)
                signed = True
                parts.append(encoded)
            elif isinstance(part, ToolResultPart):
                raise misplaced(part, "assistant")
            else:
                parts += _said(part)
        return parts

    def _call(self, part: ToolCallPart) -> dict[str, Any]:
        data = own(part.provider_data, WIRE)
        call: dict[str, Any] = {"name": GEMINI_RULE.wire_name(part.name), "args": part.arguments}
        self._ids.pop(part.id, None)
        if "id" in data:
            call["id"] = self._ids[part.id] = data["id"]
        return _with_signature({"functionCall": call}, data)

    def _results(self, message: Message) -> None:
        parts: list[dict[str, Any]] = []
        beside: list[dict[str, Any]] = []
        for part in message.parts:
            if not isinstance(part, ToolResultPart):
                raise misplaced(part, "tool")
            name = GEMINI_RULE.wire_name(part.name)
            key = "error" if part.is_error else "output"
            response: dict[str, Any] = {"name": name, "response": {key: result_text(part, mark_errors=False)}}
            if part.id in self._ids:
                response["id"] = self._ids[part.id]
            media = [_media(item) for item in result_media(part)]
            if media and self._strict:
                response["parts"] = media
            elif media:
                beside += [{"text": f"Result of {name}:"}, *media]
            parts.append({"functionResponse": response})
        self._append("results", parts)
        self._append("user", beside)


def _said(part: Any) -> list[dict[str, Any]]:
    """A part of the model's own that is no call, as it goes back; nothing where it does not."""
    data = own(part.provider_data, WIRE)
    if isinstance(part, TextPart):
        return [_with_signature({"text": part.text}, data)] if part.text or data else []
    if isinstance(part, ThinkingPart):
        return [_with_signature({"text": part.text, "thought": True}, data)] if data else []
    if isinstance(part, OpaquePart):
        return [data["part"]] if "part" in data else []
    if data.get("thought"):
        return [_with_signature({**_media(part), "thought": True}, data)] if "thoughtSignature" in data else []
    if "fileData" in data:
        return [_with_signature({"fileData": data["fileData"]}, data)]
    return [_with_signature(_media(part), data)]


def _with_signature(part: dict[str, Any], data: dict[str, Any]) -> dict[str, Any]:
    if "thoughtSignature" in data:
        part["thoughtSignature"] = data["thoughtSignature"]
    return part


def _is_empty(part: Any) -> bool:
    return isinstance(part, TextPart) and not part.text


def _user_part(part: Any) -> dict[str, Any]:
    if isinstance(part, TextPart):
        return {"text": part.text}
    if isinstance(part, MediaPart):
        return _media(part)
    raise misplaced(part, "user")


def _media(part: MediaPart) -> dict[str, Any]:
    inline = inline_media(part)
    if inline is not None:
        return {"inlineData": {"mimeType": inline[0], "data": inline[1]}}
    if part.url is None or part.url.startswith("data:"):
        raise ConfigError(
            f"this {part.media_type} holds neither base64 data nor an address",
            hint="Give media as base64 data with its media type, or by URL.",
        )
    return {"fileData": {"mimeType": part.media_type, "fileUri": part.url}}
