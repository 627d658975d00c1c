"""A conversation, provider-neutral: `Message` and its parts, JSON in and out.

`content` is a plain string or a list of parts; both mean the same and both are accepted everywhere:

    [{"role": "user", "content": "Weather in Paris?"},
     {"role": "assistant", "content": [{"type": "tool_call", "id": "c1", "name": "get_weather",
                                        "arguments": {"city": "Paris"}}]},
     {"role": "tool", "content": [{"type": "tool_result", "id": "c1", "name": "get_weather", "content": "18 °C"}]}]
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

import msgspec

from .errors import ConfigError

Role = Literal["system", "user", "assistant", "tool"]


class TextPart(msgspec.Struct, tag="text", tag_field="type", omit_defaults=True):
    """Words. A refusal is words too, marked."""

    text: str
    refusal: bool = False
    provider_data: dict[str, Any] | None = None


class ThinkingPart(msgspec.Struct, tag="thinking", tag_field="type", omit_defaults=True):
    """Reasoning the model showed; `provider_data` is what must go back with it unchanged (a signature, say)."""

    text: str = ""
    provider_data: dict[str, Any] | None = None


class Written(msgspec.Struct, frozen=True, omit_defaults=True):
    """A call as it stood in the model's text, and the text format that it was read in."""

    format: str
    text: str
    call_id: str = ""
    """The id in that text, where it is not the call's own: it came too late for that."""


class ToolCallPart(msgspec.Struct, tag="tool_call", tag_field="type", omit_defaults=True):
    """A call as the model made it. `raw_arguments` is its own text, sent back as it was where the wire takes text."""

    id: str
    name: str
    arguments: dict[str, Any] = {}
    raw_arguments: str | None = None
    provider_data: dict[str, Any] | None = None
    written: Written | None = None
    """Where the model wrote the call into its text: that text, for models that are told the same format."""


class MediaPart(msgspec.Struct, tag="media", tag_field="type", omit_defaults=True):
    """An image, a sound, a film or a file: by `url` (also `data:`) or base64 `data` with its `media_type`."""

    media_type: str
    url: str | None = None
    data: str | None = None
    name: str | None = None
    provider_data: dict[str, Any] | None = None


class ToolResultPart(msgspec.Struct, tag="tool_result", tag_field="type", omit_defaults=True):
    """The answer to the call of the same `id`."""

    id: str
    name: str
    content: str | list[TextPart | MediaPart] = ""
    is_error: bool = False


class OpaquePart(msgspec.Struct, tag="opaque", tag_field="type", omit_defaults=True):
    """What only its own provider understands, kept in its place: a tool that ran on the provider's side, say.

    It goes back to that provider unchanged and to no other. `name` is for people.
    """

    provider_data: dict[str, Any]
    name: str = ""


Part = TextPart | ThinkingPart | ToolCallPart | MediaPart | ToolResultPart | OpaquePart


class Message(msgspec.Struct, omit_defaults=True):
    """One turn of one side. `provider_data` are opaque blocks that go back with an assistant message, in order.

    `origin` is the name of the provider that wrote an assistant message, where it is known: what only that provider can
    read goes to no other, even one of the same wire format.
    """

    role: Role
    content: str | list[Part] = ""
    provider_data: list[dict[str, Any]] = []
    origin: str = ""

    @property
    def parts(self) -> list[Part]:
        """The content as parts, whichever way it was written."""
        if isinstance(self.content, str):
            return [TextPart(self.content)] if self.content else []
        return self.content

    @property
    def text(self) -> str:
        """All text parts joined."""
        return "".join(part.text for part in self.parts if isinstance(part, TextPart))

    @property
    def tool_calls(self) -> list[ToolCallPart]:
        """The calls of this message, in order."""
        return [part for part in self.parts if isinstance(part, ToolCallPart)]


def system(text: str) -> Message:
    """A system message."""
    return Message("system", text)


def user(text: str) -> Message:
    """A user message."""
    return Message("user", text)


def tool_results(results: Iterable[ToolResultPart]) -> Message:
    """One message with the results of one turn, in the order of the calls."""
    return Message("tool", list(results))


_DECODER = msgspec.json.Decoder(list[Message])


def load_conversation(data: bytes | str) -> list[Message]:
    """Read a JSON list of messages; a `ConfigError` says which message is wrong and how."""
    try:
        return _DECODER.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ConfigError(
            f"this is no conversation: {error}",
            hint='Give a JSON list of messages such as [{"role": "user", "content": "Hello"}].',
        ) from None


def dump_conversation(messages: Iterable[Message]) -> bytes:
    """The JSON that `load_conversation` reads."""
    return msgspec.json.encode(list(messages))
