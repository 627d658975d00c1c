"""`toolwire prompt`: a conversation in, the prompt that asks for its next answer out."""

from __future__ import annotations

import sys
from typing import Annotated

from cyclopts import Parameter

from ..embedded.chat import render_prompt
from .inputs import STANDARD_INPUT, as_text, read_conversation
from .text_formats import known_format
from .tools_file import load_tools_file
from .visible import json_bytes, visible


def prompt(
    conversation: Annotated[str, Parameter(name="CONVERSATION", show_default=False)] = STANDARD_INPUT,
    /,
    *,
    format: Annotated[str, Parameter(metavar="FORMAT")] = "auto",
    model: Annotated[str, Parameter(metavar="MODEL", show_default=False)] = "",
    tools: Annotated[str | None, Parameter(metavar="TOOLS.JSON")] = None,
    reasoning: Annotated[bool | None, Parameter(negative="--no-reasoning", show_default=False)] = None,
    json: Annotated[bool, Parameter(negative="", show_default=False)] = False,
) -> int:
    """Prints a conversation as the prompt of a model family, for endpoints that complete text.

    Parameters
    ----------
    conversation
        A JSON list of messages, or a session exported as JSON; none, or "-", is standard input.
    format
        The family whose layout it is (all: toolwire formats); auto is what the model's name says.
    model
        Which model it is for.
    tools
        A JSON list of tools that the model may call.
    reasoning
        Ask the model to reason, or not to, where its layout can say so.
    json
        Print one JSON object: text, where an answer stops, and whether it begins within reasoning.
    """
    chosen = known_format(as_text(format), model=as_text(model))
    offered = [] if tools is None else load_tools_file(tools)
    made = render_prompt(read_conversation(conversation), offered, chosen, model=as_text(model), reasoning=reasoning)
    if json:
        sys.stdout.buffer.write(json_bytes(made._asdict()) + b"\n")
    elif sys.stdout.isatty():
        # For a terminal nothing in it may be a command; a file gets exactly the prompt, without a line end.
        sys.stdout.buffer.write(visible(made.text).encode() + b"\n")
    else:
        sys.stdout.buffer.write(made.text.encode())
    return 0
