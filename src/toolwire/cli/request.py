"""`toolwire request`: a conversation in, the request body that would be sent out."""

from __future__ import annotations

import math
import sys
from typing import Annotated, Any

import msgspec
from cyclopts import Parameter

from ..agent.endpoint import choose_parser
from ..embedded.history import as_text_conversation
from ..errors import ConfigError
from ..providers.catalog import PROVIDERS, find_provider, near_names, split_model
from ..providers.endpoint import encode_for
from ..providers.provider import Provider
from ..providers.request import encode_request
from ..providers.wires import wire_format
from .faults import say
from .inputs import STANDARD_INPUT, as_text, read_conversation
from .tools_file import load_tools_file
from .visible import json_bytes

DEFAULT_WIRE = "openai-chat"
DEFAULT_MODEL = "llama3.2"
"""For a wire of servers whose models differ from machine to machine."""

_MISSPELT = 0.8
"""How like a provider's name the start of a name must be to be taken for it: names of models have colons too."""


def request(
    conversation: Annotated[str, Parameter(name="CONVERSATION", show_default=False)] = STANDARD_INPUT,
    /,
    *,
    wire: Annotated[str | None, Parameter(metavar="WIRE")] = None,
    model: Annotated[str | None, Parameter(metavar="MODEL")] = None,
    tools: Annotated[str | None, Parameter(metavar="TOOLS.JSON")] = None,
    tool_choice: Annotated[str, Parameter(metavar="CHOICE")] = "auto",
    stream_parser: Annotated[str | None, Parameter(metavar="PARSER")] = None,
    max_tokens: Annotated[int | None, Parameter(metavar="N")] = None,
    temperature: Annotated[float | None, Parameter(metavar="T")] = None,
) -> int:
    """Prints the request body for a conversation. Nothing is sent.

    Parameters
    ----------
    conversation
        A JSON list of messages, or a session exported as JSON; none, or "-", is standard input.
    wire
        The wire format: openai-chat, openai-responses, anthropic, gemini, ollama, bedrock or cohere. Without it, the
        one that the model's provider is asked in.
    model
        provider:model for a body as that provider wants it, or a plain name. Without it, a usual one of the wire.
    tools
        A JSON list of tools that the model may call.
    tool_choice
        auto, none, required, or the name of a tool.
    stream_parser
        How the model calls tools: api_tool_call, or a text format (see toolwire formats) that it is told in words.
        Without it, as TOOLWIRE_STREAM_PARSER says, or else what the provider has.
    max_tokens
        The most that the model may write.
    temperature
        How freely the model chooses.
    """
    tool_choice = as_text(tool_choice)
    target = _target(None if wire is None else as_text(wire), None if model is None else as_text(model))
    options: dict[str, Any] = {}
    if max_tokens is not None:
        if max_tokens < 1:
            raise ConfigError(f"--max-tokens {max_tokens} leaves nothing to write", hint="Give 1 or more.")
        options["max_tokens"] = max_tokens
    if temperature is not None:
        if not math.isfinite(temperature) or temperature < 0:
            raise ConfigError(f"--temperature {temperature} is no temperature", hint="Give 0 or more, such as 0.7.")
        options["temperature"] = temperature
    offered = [] if tools is None else load_tools_file(tools)
    messages = read_conversation(conversation)
    parser = choose_parser(
        None if stream_parser is None else as_text(stream_parser),
        provider=target.wire if target.provider is None else target.provider.name,
        model=target.model,
        tools=[tool.name for tool in offered],
        native_tools=target.provider is None or target.provider.native_tools,
    )
    if not parser.native and parser.format is not None:
        messages = as_text_conversation(messages, offered, parser.format, tool_choice=tool_choice)
        offered, tool_choice = [], "auto"
    notes: list[str] = []
    body = target.encode(messages=messages, tools=offered, tool_choice=tool_choice, notes=notes, **options)
    for note in notes:
        say(note)
    sys.stdout.buffer.write(json_bytes(body, indent=2) + b"\n")
    return 0


class _Target(msgspec.Struct):
    """Whose request it is to be: a provider's, or that of a wire without departures."""

    wire: str
    model: str
    provider: Provider | None = None

    def encode(self, *, notes: list[str], **conversation: Any) -> dict[str, Any]:
        if self.provider is not None:
            return encode_for(self.provider, model=self.model, notes=notes, **conversation)
        return encode_request(wire=self.wire, model=self.model, notes=notes, **conversation)


def _target(wire: str | None, model: str | None) -> _Target:
    """What was named, or what is usual where it was not."""
    format_ = wire_format(wire or DEFAULT_WIRE)
    if model is None:
        model = next(
            (name for name, row in PROVIDERS.items() if row.asks_in == format_.name and row.default_model),
            DEFAULT_MODEL,
        )
    before, colon, after = model.partition(":")
    if find_provider(before) is None:
        if wire is None and colon and (near := near_names(before[:64], _MISSPELT)):
            words = f"there is no provider {before!r}: this is a request for a model of the name {model!r}"
            say(words, f"Did you mean {near[0]}:{after}?")
        return _Target(format_.name, model)
    provider, name = split_model(model)
    if wire is None or provider.asks_in == format_.name:
        return _Target(provider.asks_in, name, provider)
    return _Target(format_.name, name)
