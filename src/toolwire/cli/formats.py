"""`toolwire formats`: the syntaxes of calls in text, and one of them whole."""

from __future__ import annotations

import sys
from typing import Annotated

import msgspec
from cyclopts import Parameter
from rich.text import Text

from ..embedded.chat import with_own_id
from ..embedded.format import CallToWrite, Format, write_calls
from ..embedded.models import TRAINED
from ..embedded.registry import AUTO, format_names, other_names, text_format
from ..errors import ConfigError
from ..messages import ToolResultPart
from .console import PlainConsole
from .inputs import as_text
from .text_formats import known_format
from .visible import json_bytes, one_line, visible

_TAUGHT = "any model that is told it"
"""Who writes a syntax that no model was trained on."""
_SHORT = CallToWrite("search", {"query": "x"}, call_id="abcDEF123")
_CALLS = [
    CallToWrite("get_weather", {"city": "Paris", "days": 3}, call_id="abcDEF123"),
    CallToWrite("get_weather", {"city": "Oslo", "days": 1}, call_id="ghiJKL456", number=1),
]


class Listed(msgspec.Struct, frozen=True):
    """A format as it is listed."""

    name: str
    title: str
    other_names: list[str]
    models: tuple[str, ...]
    model_names: list[str]
    """What in a model's name means this format; `*` stands for anything."""
    reasoning: list[tuple[str, str]]
    """What opens and closes reasoning."""
    calls_end_reasoning: bool
    """Whether a call in reasoning that was not closed runs; otherwise it is part of the reasoning."""
    prompts: bool
    """Whether prompts can be laid out for it (`toolwire prompt`)."""
    call: str
    calls: str
    result: str


def formats(
    name: Annotated[str | None, Parameter(name="NAME")] = None,
    /,
    *,
    json: Annotated[bool, Parameter(negative="", show_default=False)] = False,
) -> int:
    """Lists the syntaxes in which models write tool calls into text, or shows one of them.

    Parameters
    ----------
    name
        A format, by any of its names: shows calls, a result, reasoning, and which models' names mean it.
    json
        Print one JSON object for each format, a line each.
    """
    chosen = [_named(as_text(name))] if name is not None else [text_format(each) for each in format_names()]
    listed = [_listed(format_) for format_ in chosen]
    if json:
        sys.stdout.buffer.write(b"".join(json_bytes(each) + b"\n" for each in listed))
    elif name is not None:
        _show(listed[0])
    else:
        _list(listed)
    return 0


def _named(name: str) -> Format:
    found = known_format(name)
    if found.name == AUTO:
        raise ConfigError(
            "auto is no syntax of its own: it is the one that the model's name says, or else what the answer shows",
            hint="All syntaxes: toolwire formats",
        )
    return found


def _listed(format_: Format) -> Listed:
    calls = [with_own_id(format_, call) for call in _CALLS]
    result = ToolResultPart(calls[0].call_id, calls[0].name)
    write_result = (format_.chat and format_.chat.result) or format_.write_result
    return Listed(
        name=format_.name,
        title=format_.title,
        other_names=other_names(format_.name),
        models=format_.models,
        model_names=[pattern for pattern, name in TRAINED if name == format_.name],
        reasoning=[] if format_.thinking is None else list(format_.thinking.marks),
        calls_end_reasoning=format_.thinking is not None and format_.thinking.ended_by_calls,
        prompts=format_.chat is not None,
        call=write_calls(format_, [with_own_id(format_, _SHORT)]),
        calls=write_calls(format_, calls),
        result=write_result(result, "18 °C"),
    )


def _list(listed: list[Listed]) -> None:
    console = PlainConsole()
    for each in listed:
        others = f"  also {', '.join(each.other_names)}" if each.other_names else ""
        console.print(Text.assemble((each.name, "bold"), (others, "dim")), soft_wrap=True)
        _print_words(console, "    ", ", ".join(each.models) or f"{_TAUGHT}: {each.title}")
        call = Text(f"    {one_line(each.call)}", "cyan")
        if console.is_terminal:
            call.truncate(console.width, overflow="ellipsis")
        console.print(call, soft_wrap=True)


def _print_words(console: PlainConsole, lead: str, words: str) -> None:
    """Words after a lead, below each other where a terminal has no room for them in one line."""
    if not words:
        return
    text = Text(one_line(words))
    for line in text.wrap(console, max(console.width - len(lead), 20)) if console.is_terminal else [text]:
        line.rstrip()
        console.print(Text.assemble((lead, "dim"), line), soft_wrap=True)
        lead = " " * len(lead)


def _show(each: Listed) -> None:
    console = PlainConsole()
    facts = [
        ("also", ", ".join(each.other_names)),
        ("models", ", ".join(each.models) or _TAUGHT),
        ("names with", ", ".join(each.model_names)),
        (
            "reasoning",
            ", ".join(f"{opening} … {closing}" for opening, closing in each.reasoning) or "not marked in text",
        ),
        (
            "",
            f"a call before its end {'ends it' if each.calls_end_reasoning else 'does not run'}"
            if each.reasoning
            else "",
        ),
        ("prompts", "toolwire prompt lays them out" if each.prompts else "by a server's chat template"),
    ]
    console.print(Text.assemble((each.name, "bold"), f"  {each.title}"))
    for label, words in facts:
        _print_words(console, f"{label:<13}", words)
    for label, shown in (("Two calls:", each.calls), ("A result, as the model is shown it:", each.result)):
        console.print()
        console.print(label)
        for row in visible(shown).split("\n"):
            console.print(Text(f"    {row}".rstrip(), "cyan"), soft_wrap=True)
