"""`family`: the format of models that were trained on a syntax of their own.

What such a model is told (`rules`, `declare`) is short: it knows the syntax, and needs the tools and a reminder. It is
used where a server takes messages but no tools; where one takes a prompt, `Chat` lays it out as in training.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..messages import ToolResultPart
from ..tools.definition import ToolDefinition
from .control_marks import control_marks
from .format import CallToWrite, Chat, Format, Read
from .grammar import Grammar
from .json_source import json_text
from .prose import Thinking

_EXAMPLE = ("TOOL_NAME", {"ARGUMENT_NAME": "value"})

WriteCalls = Callable[[Sequence[CallToWrite]], str]


def family(
    name: str,
    title: str,
    *,
    models: tuple[str, ...],
    read: Read,
    write_calls: WriteCalls,
    write_result: Callable[[ToolResultPart, str], str],
    marks: tuple[str, ...],
    thinking: Thinking | None = None,
    chat: Chat | None = None,
) -> Format:
    """A format. `write_result` gets content in which none of `marks` is left whole.

    A family that writes results as they are, in a turn of their own, names the tool before them where that turn is a
    user's (`Format.write_result`).
    """

    def write_call(tool_name: str, arguments: dict[str, Any], tool: ToolDefinition | None = None) -> str:
        return write_calls([CallToWrite(tool_name, arguments, tool)])

    def write_framed(part: ToolResultPart, content: str) -> str:
        written = write_result(part, content)
        return f"Result of {part.name}:\n{content}" if written == content else written

    def rules(_: Sequence[ToolDefinition]) -> str:
        return _rules(write_calls, write_framed)

    return Format(
        name,
        title,
        rules,
        declare,
        write_call,
        lambda part, content: write_framed(part, control_marks(marks).harmless(content)),
        read,
        _grammar(write_calls),
        write_calls=write_calls,
        models=models,
        thinking=thinking,
        chat=chat and chat._replace(result=write_result),
        marks=marks,
    )


def declare(tool: ToolDefinition) -> str:
    """One tool as the JSON that most families are told tools in."""
    return json_text({"type": "function", "function": _members(tool)})


def about(tool: ToolDefinition) -> str:
    """One tool as the JSON that the others are told tools in."""
    return json_text(_members(tool))


def _members(tool: ToolDefinition) -> dict[str, Any]:
    return {"name": tool.name, "description": tool.description, "parameters": tool.parameters}


def _grammar(write_calls: WriteCalls) -> Callable[[Sequence[ToolDefinition]], str] | None:
    """The grammar of one call, where the arguments are one JSON object in it: what stands around that is exact text."""
    arguments = _EXAMPLE[1]

    def around(name: str) -> tuple[str, str, str]:
        return write_calls([CallToWrite(name, arguments)]).partition(json_text(arguments))

    def grammar(tools: Sequence[ToolDefinition]) -> str:
        made = Grammar()
        calls: list[str] = []
        for tool in tools:
            before, _, after = around(tool.name)
            value = made.json(tool.parameters, tool.parameters, tool.name)
            calls.append(f"{made.literal(before)} {value} {made.literal(after)}")
        return made.text(" | ".join(calls))

    return grammar if around(_EXAMPLE[0])[1] else None


def _rules(write_calls: WriteCalls, write_result: Callable[[ToolResultPart, str], str]) -> str:
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
