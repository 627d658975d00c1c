"""The slash commands, by name. A new one is a row in the module of its kind, or in a new module that is named here."""

from __future__ import annotations

from difflib import get_close_matches

from ...errors import ConfigError
from ..desk import Desk
from ..talk import Talk
from . import looking, models, sessions, trust
from .command import Command, Suggestion
from .layout import listed

__all__ = ["COMMANDS", "Command", "Suggestion", "find_command", "run_command"]


async def _help(talk: Talk, desk: Desk, typed: str) -> None:
    if typed:
        command = find_command(typed.removeprefix("/"))
        desk.say(f"`/{command.name} {command.usage}`".replace(" `", "`") + f"\n\n{command.summary}")
        return
    rows = [
        (f"`/{each.name} {each.usage}`".replace(" `", "`").replace("|", "\\|"), each.summary)
        for each in COMMANDS.values()
    ]
    ways = "`@file` attaches a file, `!command` runs one of yours, Esc stops an answer. `/keys` shows all keys."
    desk.say(f"{listed(('', ''), rows)}\n\n{ways}")


COMMANDS: dict[str, Command] = {
    each.name: each
    for each in (
        *models.COMMANDS,
        *trust.COMMANDS,
        *sessions.COMMANDS,
        *looking.COMMANDS[:-1],
        Command("help", "Lists the commands.", _help, "[COMMAND]", at_once=True),
        looking.COMMANDS[-1],
    )
}


def find_command(name: str) -> Command:
    """The command of this name, or of this unmistakable beginning; a `ConfigError` names the nearest ones."""
    if name in COMMANDS:
        return COMMANDS[name]
    begun = [each for each in COMMANDS if name and each.startswith(name)]
    if len(begun) == 1:
        return COMMANDS[begun[0]]
    near = begun or get_close_matches(name, COMMANDS, n=3, cutoff=0.5)
    hint = f"Perhaps: {', '.join(f'/{each}' for each in near)}" if near else "/help lists them all."
    raise ConfigError(f"there is no command /{name[:40]}", hint=hint)


async def run_command(talk: Talk, desk: Desk, name: str, rest: str) -> None:
    """Runs a command for what was typed. Whatever goes wrong in it is an error of ours, for the desk to tell."""
    command = find_command(name)
    if talk.running and not command.at_once:
        raise ConfigError(f"/{command.name} waits for the end of the answer", hint="Stop it first, with Esc.")
    await command.run(talk, desk, rest.strip())
