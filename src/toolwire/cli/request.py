"""`toolwire request`: a conversation in, the request body that would be sent out."""

from __future__ import annotations

import math
import sys
from typing import Annotated, Any

from cyclopts import Parameter

from ..errors import ConfigError
from ..messages import load_conversation
from ..providers.catalog import PROVIDERS, split_model
from ..providers.wires import WireFormat, wire_format
from .inputs import STANDARD_INPUT, as_text, read_whole
from .tools_file import load_tools_file
from .visible import json_bytes

DEFAULT_WIRE = "openai-chat"
DEFAULT_MODEL = "llama3.2"
"""For a wire of servers whose models differ from machine to machine."""


def request(
    conversation: Annotated[str, Parameter(name="CONVERSATION", show_default=False)] = STANDARD_INPUT,
    /,
    *,
    wire: Annotated[str | None, Parameter(metavar="WIRE")] = None,
    model: Annotated[str | None, Parameter(metavar="MODEL")] = None,
    tools: Annotated[str | None, Parameter(metavar="TOOLS.JSON")] = None,
    tool_choice: Annotated[str, Parameter(metavar="CHOICE")] = "auto",
    max_tokens: Annotated[int | None, Parameter(metavar="N")] = None,
    temperature: Annotated[float | None, Parameter(metavar="T")] = None,
) -> int:
    """Prints the request body for a conversation. Nothing is sent.

    Parameters
    ----------
    conversation
        A JSON list of messages; none, or "-", is standard input.
    wire
        The wire format: openai-chat, openai-responses, anthropic, gemini or ollama. Without it, the one that the
        model's provider speaks.
    model
        provider:model for a body as that provider wants it, or a plain name. Without it, a usual one of the wire.
    tools
        A JSON list of tools that the model may call.
    tool_choice
        auto, none, required, or the name of a tool.
    max_tokens
        The most that the model may write.
    temperature
        How freely the model chooses.
    """
    tool_choice = as_text(tool_choice)
    format_, model, options = _target(
        None if wire is None else as_text(wire), None if model is None else as_text(model)
    )
    if max_tokens is not None:
        if max_tokens < 1:
            raise ConfigError(f"--max-tokens {max_tokens} leaves nothing to write", hint="Give 1 or more.")
        options["max_tokens"] = max_tokens
    if temperature is not None:
        if not math.isfinite(temperature) or temperature < 0:
            raise ConfigError(f"--temperature {temperature} is no temperature", hint="Give 0 or more, such as 0.7.")
        options["temperature"] = temperature
    offered = [] if tools is None else load_tools_file(tools)
    try:
        messages = load_conversation(read_whole(conversation))
    except ConfigError as error:
        raise ConfigError(_named(conversation, error.message), hint=error.hint) from None
    body = format_.encode(model=model, messages=messages, tools=offered, tool_choice=tool_choice, **options)
    sys.stdout.buffer.write(json_bytes(body, indent=2) + b"\n")
    return 0


def _target(wire: str | None, model: str | None) -> tuple[WireFormat, str, dict[str, Any]]:
    """The wire, the model's own name, and what the encoder must know of the provider, from what was given of them."""
    format_ = wire_format(wire or DEFAULT_WIRE)
    if model is None:
        model = next(
            (name for name, row in PROVIDERS.items() if row.wire == format_.name and row.default_model), DEFAULT_MODEL
        )
    if model.partition(":")[0] not in PROVIDERS:
        return format_, model, {}
    provider, name = split_model(model)
    if wire is None:
        format_ = wire_format(provider.wire)
    is_chat = format_.name == provider.wire == DEFAULT_WIRE
    return format_, name, {"dialect": provider.dialect} if is_chat else {}


def _named(name: str, words: str) -> str:
    shown = "standard input" if name == STANDARD_INPUT else as_text(name)
    return words if shown in words else f"{shown}: {words}"
