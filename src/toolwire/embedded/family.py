"""`family`: the format of models that were trained on a syntax of their own.

What such a model is told (`rules`, `declare`) is short: it knows the syntax, and needs the tools and a reminder. It is
used where a server takes messages but no tools; where one takes a prompt, `Chat` lays it out as in training.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ..messages import ToolResultPart
from ..tools.definition import ToolDefinition
from .format import CallToWrite, Chat, Format, Read
from .json_source import json_text
from .prose import Thinking

_EXAMPLE = ("TOOL_NAME", {"ARGUMENT_NAME": "value"})


def family(
    name: str,
    title: str,
    *,
    models: tuple[str, ...],
    read: Read,
    write_calls: Callable[[Sequence[CallToWrite]], str],
    write_result: Callable[[ToolResultPart, str], str],
    marks: tuple[str, ...],
    thinking: Thinking | None = None,
    chat: Chat | None = None,
) -> Format:
    """A format. `write_result` gets content in which none of `marks` is left whole."""

    def write_call(tool_name: str, arguments: dict[str, Any], tool: ToolDefinition | None = None) -> str:
        return write_calls([CallToWrite(tool_name, arguments, tool)])

    def rules(_: Sequence[ToolDefinition]) -> str:
        return _rules(write_calls, write_result)

    return Format(
        name,
        title,
        rules,
        declare,
        write_call,
        lambda part, content: write_result(part, harmless(content, marks)),
        read,
        write_calls=write_calls,
        models=models,
        thinking=thinking,
        chat=chat,
        marks=marks,
    )


def declare(tool: ToolDefinition) -> str:
    """One tool as the JSON that most families are told tools in."""
    about = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
    return json_text({"type": "function", "function": about})


def _rules(
    write_calls: Callable[[Sequence[CallToWrite]], str], write_result: Callable[[ToolResultPart, str], str]
) -> str:
    call = CallToWrite(*_EXAMPLE)
    return "\n".join(
        [
            "To use a tool, write a call exactly like this:",
            "",
            write_calls([call]),
            "",
            "Several calls in one answer are written like this:",
            "",
            write_calls([call, call._replace(number=1)]),
            "",
            "Give every required argument, with exactly the names of the definition. After your calls, stop and wait.",
            "The results come back to you like this; never write one yourself:",
            "",
            write_result(ToolResultPart("", _EXAMPLE[0], ""), "…"),
        ]
    )


def harmless(text: str, marks: Iterable[str]) -> str:
    """The text with a space after the first character of every mark in it: a person reads the same, a model no mark."""
    for mark in marks:
        if mark in text:
            text = text.replace(mark, f"{mark[0]} {mark[1:]}")
    return text
