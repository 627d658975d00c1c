"""A form of an MCP server at the terminal: field by field, checked, and sent only after all of it was seen once more.

Every word of it but the prompts is the server's own: it stands marked behind a bar and passes for nothing of ours.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Iterable
from contextlib import AbstractAsyncContextManager
from typing import Any

from rich.console import Console

from ..approval.hidden import marked
from ..approval.shown import show_arguments, whole_text
from ..mcp.form import Field, read_form
from ..strict_json import NotStrict, parse
from .ask import read_line
from .question import Line, argument_lines, sentence

DECLINE = "/decline"
"""Typed in any place: the server gets nothing."""
AGAIN = "again"
"""Typed before it is sent: something in it was wrong."""
NAME_CHARACTERS = 40
"""Of a field's name that stands in a line of ours."""
_YES, _NO = ("y", "yes", "true"), ("n", "no", "false")
_EMPTY_TEXT = '""'
"""Typed for a text that is empty: an empty line leaves the field out."""


class TerminalForms:
    """Has the person at the terminal fill in a form; a `FillIn` for `McpServers`.

    `held` gives the terminal to one question at a time: that of the approval questions.
    """

    def __init__(self, console: Console, held: Callable[[], AbstractAsyncContextManager[None]]) -> None:
        self._console = console
        self._held = held

    async def __call__(self, server: str, message: str, schema: dict[str, Any]) -> dict[str, Any] | None:
        """What was filled in; None where the person declines, which the end of input is too."""
        form = read_form(server, schema)
        async with self._held():
            try:
                return await self._filled(server, message, form.fields)
            except _Declines:
                self._say("Nothing is sent.")
                return None

    async def _filled(self, server: str, message: str, fields: tuple[Field, ...]) -> dict[str, Any]:
        count = f"{len(fields)} field{'' if len(fields) == 1 else 's'}"
        self._say(f"The MCP server {marked(server)} asks you to fill in a form ({count}). It says:", "bold yellow")
        self._quote(message)
        self._say(f"An empty line takes what is there already or leaves it out. {DECLINE} or Ctrl-D: send nothing.")
        while True:
            content = await self._values(fields)
            self._say("This would be sent:", "bold yellow")
            self._print(argument_lines(whole_text(content), self._console.width))
            if await self._is_right():
                return content

    async def _values(self, fields: tuple[Field, ...]) -> dict[str, Any]:
        content: dict[str, Any] = {}
        for number, field in enumerate(fields, 1):
            self._print_field(field, f"{number} of {len(fields)}")
            value = await self._value(field)
            if value is not None:
                content[field.name] = value
        return content

    async def _is_right(self) -> bool:
        """Whether it is to be sent as it is; if not, it is filled in anew."""
        while True:
            typed = (await self._typed(f"Send it, or {AGAIN}? [y/n] ")).strip().lower()
            if typed in ("y", "yes", AGAIN):
                return typed != AGAIN
            if typed in ("n", "no", DECLINE):
                raise _Declines
            self._say(f"y sends it, n sends nothing. {AGAIN} begins with the first field anew.", "yellow")

    def _print_field(self, field: Field, number: str) -> None:
        what = field.kind if not field.format else f"{field.kind}: {field.format}"
        need = "required" if field.required else "may be left out"
        # A name of several words could go on as a sentence of ours in the next line.
        is_short = len(field.name) <= NAME_CHARACTERS and is_one_word(field.name)
        self._say(f"{number}{f': {field.name}' if is_short else ''} ({what}, {need})", "bold")
        for words in ("" if is_short else field.name or '""', field.title, field.description):
            if words:
                self._quote(words)
        if field.looks_secret:
            words = "this looks like a password or a key. The server gets it as you type it, and it is shown here."
            self._say(f"Look out: {words}", "bold red")
        for at, choice in enumerate(field.choices, 1):
            named = "" if choice.words == choice.value else f" ({marked(choice.words)})"
            self._print(argument_lines(f"{at}. {marked(choice.value)}{named}", self._console.width))
        if field.default is not None:
            self._print(argument_lines(show_arguments({"already there": field.default}).text, self._console.width))

    async def _value(self, field: Field) -> Any:
        """What is typed for the field, checked; None where it is left out."""
        prompt = f"{_ASKS[field.kind]}: "
        while True:
            typed = (await self._typed(prompt)).removesuffix("\n")
            if typed.strip() == DECLINE:
                raise _Declines
            if not typed.strip():
                if field.default is not None:
                    return field.default
                if not field.required:
                    return None
                self._say("This one is required.", "yellow")
                continue
            try:
                value = read_value(field, typed)
            except ValueError as problem:
                self._say(f"That does not do: {problem}.", "yellow")
                continue
            if (found := field.problem(value)) is None:
                return value
            self._say("That does not do: the form does not take it.", "yellow")
            self._quote(found)

    async def _typed(self, prompt: str) -> str:
        try:
            typed = await read_line(
                sys.stdin.fileno(), lambda: self._console.out(f"  {prompt}", end="", style="bold yellow")
            )
        except asyncio.CancelledError:
            self._console.out("\n  (no longer asked)", style="dim")
            raise
        if typed is None:
            self._console.out("")
            raise _Declines
        return typed

    def _quote(self, words: str) -> None:
        self._print(argument_lines("\n".join(map(marked, words.split("\n"))), self._console.width))

    def _say(self, text: str, style: str = "") -> None:
        self._print(sentence(text, self._console.width, style))

    def _print(self, lines: Iterable[Line]) -> None:
        for line in lines:
            self._console.out(line.text, style=line.style or None)


class _Declines(Exception):
    """The person wants nothing to be sent, or is gone."""


_ASKS = {
    "text": "Text",
    "integer": "A whole number",
    "number": "A number",
    "yes or no": "y or n",
    "one of": "A number of the list",
    "some of": "Numbers of the list, with commas",
}


def is_one_word(name: str) -> bool:
    """Whether a name can stand in a line of ours without passing for more than a name."""
    return bool(name) and marked(name) == name and all(char.isalnum() or char in "_-." for char in name)


def read_value(field: Field, typed: str) -> Any:
    """The value that was typed; `ValueError` says what it should have been."""
    words = typed.strip()
    match field.kind:
        case "text":
            return "" if words == _EMPTY_TEXT else words
        case "integer" | "number":
            return _number(words)
        case "yes or no":
            if words.lower() not in (*_YES, *_NO):
                raise ValueError("it is y or n")
            return words.lower() in _YES
        case "one of":
            return _chosen(field, words)
    return list(dict.fromkeys(_chosen(field, each.strip()) for each in words.split(",") if each.strip()))


def _number(words: str) -> int | float:
    try:
        value = parse(words)
    except NotStrict:
        value = None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError("it is no number")
    return value


def _chosen(field: Field, words: str) -> str:
    numbered = {str(at): choice.value for at, choice in enumerate(field.choices, 1)}
    if words in numbered:
        return numbered[words]
    if words in (choice.value for choice in field.choices):
        return words
    raise ValueError(f"it is a number from 1 to {len(field.choices)}")
