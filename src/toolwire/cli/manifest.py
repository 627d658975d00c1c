"""`toolwire manifest`: what a model is told about tools that it calls in text."""

from __future__ import annotations

import sys
from typing import Annotated

from cyclopts import Parameter

from ..embedded.manifest import manifest as write_manifest
from .inputs import as_text
from .text_formats import named_format
from .tools_file import load_tools_file
from .visible import visible


def manifest(
    *,
    tools: Annotated[str, Parameter(metavar="TOOLS.JSON")],
    format: Annotated[str | None, Parameter(metavar="FORMAT")] = None,
    provider: Annotated[str | None, Parameter(metavar="PROVIDER")] = None,
    model: Annotated[str | None, Parameter(metavar="MODEL")] = None,
    tool_choice: Annotated[str, Parameter(metavar="CHOICE")] = "auto",
) -> int:
    """Prints what a model is told about tools that it calls in text.

    Parameters
    ----------
    tools
        A JSON list of tools that the model may call.
    format
        The text format, such as xml or hermes (all: toolwire formats). Without it, what suits provider and model, or
        else json.
    provider
        Whose model it is for.
    model
        Which model it is for.
    tool_choice
        auto, none, required, or the name of a tool.
    """
    offered = load_tools_file(tools)
    text = write_manifest(offered, named_format(format, provider, model, offered), tool_choice=as_text(tool_choice))
    if text:
        # For a terminal nothing in a description may be a command to it; a file gets what the model would.
        sys.stdout.buffer.write((visible(text) if sys.stdout.isatty() else text).encode() + b"\n")
    return 0
