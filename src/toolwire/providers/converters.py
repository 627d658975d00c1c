"""Objects of the official SDKs → `ChunkResponse`, for people who already hold an SDK's stream.

There is no second reading of any format: an object is written as the JSON that it was made from, and that goes through
the decoder of its wire. No SDK is imported. Which one an object belongs to is told by the name of its class's module,
so a service's own SDK that is made after one of these needs nothing but the `wire` given.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from ..chunks import ChunkResponse
from ..errors import ConfigError, LimitExceeded, ProtocolError, ToolwireError
from ..limits import DEFAULT_LIMITS, Limits
from ..wire.sse import SseEvent
from .wires import Decoder, wire_format

ACCEPTED = (
    "Accepted are the stream objects of openai (chat completions and responses), anthropic, google-genai, ollama, "
    "mistralai and cohere, the events of boto3's converse_stream, and with `wire` given any object with a "
    "`model_dump` method and any dict that is a chunk as the API sends it."
)

_BEDROCK_EVENTS = frozenset(
    {
        "messageStart",
        "contentBlockStart",
        "contentBlockDelta",
        "contentBlockStop",
        "messageStop",
        "metadata",
        "chunk",
    }
)
"""The names that boto3 gives to the events of `converse_stream`, and to those of an invoked model (`chunk`)."""

_LEFT_OUT = {"snapshot": True, "parsed": True, "sdk_http_response": True, "automatic_function_calling_history": True}
"""What SDKs put beside what was sent. A snapshot grows with every event: writing each would cost quadratic time."""

_PARSED_OUTPUT = {"__all__": {"parsed_arguments": True, "content": {"__all__": {"parsed": True}}}}
_ANTHROPIC_ENDS = ("content_block_stop", "message_stop")


def _members(sent: Any, left_out: Any = _LEFT_OUT) -> Any:
    """The members that were sent, under the names they were sent with."""
    return sent.model_dump(by_alias=True, exclude_unset=True, warnings=False, exclude=left_out)


def _chat_helper(sent: Any) -> Any:
    """The events of `chat.completions.stream()`: the one that holds the chunk says what all the others say again."""
    chunk = getattr(sent, "chunk", None)
    return None if chunk is None else _members(chunk)


def _responses_helper(sent: Any) -> Any:
    return _members(sent, {**_LEFT_OUT, "response": {"output": _PARSED_OUTPUT}})


def _anthropic_helper(sent: Any) -> Any:
    """The events of `messages.stream()` that are its own: two ends with a snapshot, and what deltas have said."""
    return {"type": sent.type, "index": getattr(sent, "index", None)} if sent.type in _ANTHROPIC_ENDS else None


def _ollama(sent: Any) -> Any:
    """Pictures are taken as they are: the SDK would take their text for the name of a file, and read it."""
    members = _members(sent, {**_LEFT_OUT, "message": {"images": True}})
    images = getattr(sent.message, "images", None)  # only a chat has a message; what else there is, is not read
    if images:
        members["message"]["images"] = [getattr(image, "value", image) for image in images]
    return members


def _mistral(sent: Any) -> Any:
    return _members(getattr(sent, "data", sent))


def _boto3(sent: Mapping[str, Any]) -> dict[str, Any]:
    """An event under its name, as `EventStreamDecoder` writes it: the payload, and the name as its last member."""
    ((name, payload),) = sent.items()
    return {**payload, ":event-type": name}


class _Kind(msgspec.Struct, frozen=True):
    """What the objects of one module are."""

    module: str
    wire: str
    members: Callable[[Any], Any]
    """The object as plain values; None for one that only repeats others."""


_KINDS = (
    _Kind("openai.types.chat", "openai-chat", _members),
    _Kind("openai.lib.streaming.chat", "openai-chat", _chat_helper),
    _Kind("openai.types.responses", "openai-responses", _members),
    _Kind("openai.lib.streaming.responses", "openai-responses", _responses_helper),
    _Kind("anthropic.types", "anthropic", _members),
    _Kind("anthropic.lib.streaming", "anthropic", _anthropic_helper),
    _Kind("google.genai.types", "gemini", _members),
    _Kind("ollama", "ollama", _ollama),
    _Kind("mistralai", "openai-chat", _mistral),
    _Kind("cohere", "cohere", _members),
)


def sdk_wire(sent: Any) -> str:
    """The wire format that an object of an SDK came by; a `ConfigError` says what is accepted."""
    kind = _kind_of(type(sent))
    if kind is not None:
        return kind.wire
    if isinstance(sent, Mapping) and len(sent) == 1 and next(iter(sent)) in _BEDROCK_EVENTS:
        return "bedrock"
    raise _not_accepted(sent)


def _kind_of(of: type) -> _Kind | None:
    module = of.__module__
    for kind in _KINDS:
        if module == kind.module or module.startswith(f"{kind.module}."):
            return kind
    return None


def _not_accepted(sent: Any) -> ConfigError:
    of = type(sent)
    return ConfigError(f"cannot tell which SDK's stream a {of.__module__}.{of.__qualname__} is of", hint=ACCEPTED)


class SdkDecoder:
    """Objects of one SDK's stream in, `ChunkResponse`s out; one decoder for one answer.

    As every decoder, `feed` and `close` raise a `ToolwireError` when the provider reports an error or the objects make
    no sense, with the chunks made before in its `before`. `wire` need not be given for the SDKs that are known.
    """

    def __init__(self, wire: str | None = None, limits: Limits = DEFAULT_LIMITS) -> None:
        self.wire = wire
        self._limits = limits
        self._decoder: Decoder | None = None
        self.quirks: dict[str, int] = {}
        """How often the provider broke its format in ways that are tolerated."""
        self._readers: dict[type, Callable[[Any], Any]] = {}
        self._taken = 0
        if wire is not None:
            self._begin(wire)

    def feed(self, sent: Any) -> list[ChunkResponse]:
        """The chunks that one object of the stream holds."""
        decoder = self._decoder or self._begin(sdk_wire(sent))
        read = self._readers.get(type(sent))
        if read is None:
            read = self._readers[type(sent)] = self._reader(sent)
        text = self._text(sent, read)
        if text is None:
            return []
        self._taken += len(text)
        if len(text) > self._limits.event:
            raise LimitExceeded("event", self._limits.event)
        if self._taken > self._limits.stream:
            raise LimitExceeded("stream", self._limits.stream)
        try:
            return decoder.feed((SseEvent(text),))
        except ToolwireError as error:
            error.facts.pop("position", None)  # there are no bytes to point at
            raise

    def close(self) -> list[ChunkResponse]:
        """The end of the SDK's stream: the last chunk if the answer is complete, else nothing."""
        return [] if self._decoder is None else self._decoder.close()

    def _begin(self, wire: str) -> Decoder:
        decoder = self._decoder = wire_format(wire).decoder(self._limits)
        self.wire, self.quirks = wire, decoder.quirks
        return decoder

    def _reader(self, sent: Any) -> Callable[[Any], Any]:
        kind = _kind_of(type(sent))
        if kind is not None:
            if kind.wire != self.wire:
                raise ConfigError(
                    f"an object of the wire {kind.wire} came in a stream of {self.wire}",
                    hint="Use a new SdkStream for each answer, and leave `wire` out where the SDK is a known one.",
                )
            return kind.members
        if isinstance(sent, Mapping):
            return _boto3 if self.wire == "bedrock" else dict
        if callable(getattr(sent, "model_dump", None)):
            return _members
        raise _not_accepted(sent)

    def _text(self, sent: Any, read: Callable[[Any], Any]) -> str | None:
        """The object as the JSON it was made from; None for one that only repeats others."""
        try:
            members = read(sent)
            if members is None:
                return None
            text = json.dumps(members, ensure_ascii=False, separators=(",", ":"), default=_as_sent)
            # Half of a surrogate pair can be escaped in JSON and not be written: the decoder is to judge it.
            return text if text.isascii() or _is_unicode(text) else json.dumps(members, default=_as_sent)
        except RecursionError:
            problem = "it is nested too deeply"
        except Exception as error:  # an SDK's own serializers may raise anything
            problem = f"{type(error).__name__}: {str(error)[:200]}"
        raise ProtocolError(
            f"an object of the SDK cannot be written as JSON: {problem}",
            hint="Feed the objects as the SDK gives them.",
            provider=self.wire,
        )


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _as_sent(value: Any) -> Any:
    """What an SDK made of a JSON text, as that text."""
    if isinstance(value, (bytes, bytearray)):
        return b64encode(value).decode()
    if isinstance(value, Mapping):
        return dict(value)
    if hasattr(value, "isoformat"):
        return value.isoformat()
    raise TypeError(f"a {type(value).__name__} is no JSON")
