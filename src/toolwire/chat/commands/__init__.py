"""The slash commands, by name. A new one is a row in the module of its kind, or in a new module that is named here."""

from __future__ import annotations

from difflib import get_close_matches

from ...approval.hidden import marked
from ...errors import ConfigError
from ..desk import Desk
from ..talk import Talk
from . import changes, looking, models, runs, sessions, trust
from .command import Command, Suggestion
from .layout import code, code_cell, listed

__all__ = ["ALIASES", "COMMANDS", "NAMES", "Command", "Suggestion", "find_command", "run_command"]


async def _help(talk: Talk, desk: Desk, typed: str) -> None:
    if typed:
        command = find_command(typed.removeprefix("/"))
        also = f"\n\nAlso: {', '.join(code(f'/{each}') for each in command.aliases)}" if command.aliases else ""
        when = "" if command.at_once else "\n\nIt waits for the end of an answer."
        desk.say(f"{code(command.line)}\n\n{command.summary} {command.more}{also}{when}")
        return
    rows = [(code_cell(each.line), each.summary) for each in COMMANDS.values()]
    ways = (
        "`@file` attaches a file, `!command` runs one of yours, Esc or Ctrl-C stops an answer. `/keys` shows the keys."
    )
    desk.say(f"{listed(('command', 'what it does'), rows)}\n\n{ways}")


def _command_names(talk: Talk, typed: str) -> list[Suggestion]:
    begun = typed.removeprefix("/").lower()
    return [Suggestion(each.name, each.summary) for each in COMMANDS.values() if each.name.startswith(begun)]


COMMANDS: dict[str, Command] = {
    each.name: each
    for each in (
        *models.COMMANDS,
        *trust.COMMANDS,
        *changes.COMMANDS,
        *sessions.COMMANDS,
        *runs.COMMANDS,
        *looking.COMMANDS,
        Command("help", "Lists the commands.", _help, "[COMMAND]", _command_names, True, ("?", "commands")),
        looking.QUIT,
    )
}
"""Each under its own name, in the order in which they are listed."""
ALIASES: dict[str, Command] = {alias: each for each in COMMANDS.values() for alias in each.aliases}
NAMES = (*COMMANDS, *ALIASES)
"""All that can be typed behind a slash."""


def find_command(name: str) -> Command:
    """The command of this name, or of this unmistakable beginning; a `ConfigError` names the nearest ones."""
    wanted = name.lower()
    if found := COMMANDS.get(wanted) or ALIASES.get(wanted):
        return found
    begun = [each for each in COMMANDS if wanted and each.startswith(wanted)]
    begun = begun or [each for each in ALIASES if wanted and each.startswith(wanted)]
    if len(begun) == 1:
        return COMMANDS.get(begun[0]) or ALIASES[begun[0]]
    near = begun or get_close_matches(wanted[:40], NAMES, n=3, cutoff=0.5)
    hint = f"Perhaps: {', '.join(f'/{each}' for each in near)}" if near else "/help lists them all."
    raise ConfigError(f"there is no command /{marked(name[:40])}", hint=hint)


async def run_command(talk: Talk, desk: Desk, name: str, rest: str) -> None:
    """Runs a command for what was typed. Whatever goes wrong in it is an error of ours, for the desk to tell."""
    command = find_command(name)
    if talk.running and not command.at_once:
        raise ConfigError(f"/{command.name} waits for the end of the answer", hint="Stop it first, with Esc or Ctrl-C.")
    await command.run(talk, desk, rest.strip())
