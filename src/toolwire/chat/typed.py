"""What a person typed: a slash command, a command for their own shell, or a question with what it mentions."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, NamedTuple

from ..approval.hidden import marked
from ..errors import ConfigError
from ..framed import framed
from ..messages import Message, TextPart
from .commands import ALIASES, NAMES
from .mentions import attach, joined

if TYPE_CHECKING:
    from ..mcp.servers import McpServers


class SlashLine(NamedTuple):
    """`/name rest`; the command is there."""

    name: str
    rest: str


class ShellLine(NamedTuple):
    """`!command`, or `!!command`, of which the model is not told."""

    command: str
    is_told: bool


class QuestionLine(NamedTuple):
    """A message for the model, and what to tell the person about it: what was attached, what was no file.

    `text` and `pasted` are what was typed, for putting it back.
    """

    message: Message
    notes: list[str]
    text: str
    pasted: Mapping[str, str]


async def read_typed(
    text: str,
    *,
    root: str,
    pasted: Mapping[str, str] | None = None,
    servers: McpServers | None = None,
    commands: Collection[str] = NAMES,
) -> SlashLine | ShellLine | QuestionLine:
    """What the text is. `pasted` holds what stands behind labels in it; names of files count from `root`.

    A `ConfigError` says what is wrong with it: nothing was sent then. What was pasted under a label mentions nothing:
    its words are not the person's.
    """
    pasted = {label: content for label, content in (pasted or {}).items() if label in text}
    line = _line(text, commands)
    if isinstance(line, SlashLine):
        return SlashLine(line.name, _expanded(line.rest, pasted))
    if isinstance(line, ShellLine):
        return ShellLine(_expanded(line.command, pasted), line.is_told)
    if line in pasted:
        return QuestionLine(joined(pasted[line], ()), [], text, pasted)
    found = await attach(line, root, servers)
    texts = [TextPart(framed(label.strip("[]"), content)) for label, content in pasted.items()]
    return QuestionLine(joined(line, [*texts, *found.parts]), found.notes, text, pasted)


def _line(text: str, commands: Collection[str]) -> SlashLine | ShellLine | str:
    """What kind of line it is; a question as its words."""
    line = text.strip()
    if not line:
        raise ConfigError("nothing was typed", hint="/help says what can be.")
    if line.startswith("!"):
        is_told = not line.startswith("!!")
        command = line[1 if is_told else 2 :].strip()
        if not command:
            raise ConfigError("there is no command behind the !", hint="!ls runs ls in your own shell.")
        return ShellLine(command, is_told)
    if line.startswith("\\!"):
        return line[1:]
    if not line.startswith("/"):
        return line
    if line.startswith("//"):
        # A comment of some language has a space there, and no command was meant.
        return line if line[2:3].isspace() or len(line) == 2 else line[1:]
    word, *_ = line.split(maxsplit=1)
    name = word[1:]
    if not _is_name(name):
        return line
    known = {each.lower(): each for each in commands}
    begun = [each for each in known if name and each.startswith(name.lower())]
    begun = [each for each in begun if each not in ALIASES] or begun
    if name.lower() not in known and len(begun) == 1:
        name = begun[0]
    if name.lower() not in known:
        raise ConfigError(f"there is no command /{marked(name)[:50]}", hint=_advice(name, known))
    return SlashLine(known[name.lower()], line[len(word) :].strip())


def _is_name(name: str) -> bool:
    """Whether it could name a command: a path or an expression with slashes is a question's beginning."""
    return all(char.isalnum() or char in "-_?" for char in name)


def _advice(name: str, known: Mapping[str, str]) -> str:
    if not name:
        return "/help lists the commands."
    near = [known[each] for each in difflib.get_close_matches(name.lower()[:50], list(known), 3, 0.5)]
    near = near or sorted(each for each in known if each.startswith(name.lower()[:1]))[:3]
    others = f"Did you mean {' or '.join(f'/{each}' for each in near)}? " if near else ""
    return f"{others}/help lists all; write //{marked(name)[:50]} to send it as words."


def _expanded(text: str, pasted: Mapping[str, str]) -> str:
    for label, content in pasted.items():
        text = text.replace(label, content)
    return text
