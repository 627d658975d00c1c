"""The commands of a line and those that they start, each with the program file that it runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from ..tools.definition import ToolDefinition
from .commands.command_line import Command, CommandLine
from .commands.dialects import Dialect
from .commands.found import BUILTINS
from .commands.shell import read_command_line
from .commands.starters import started_by
from .places import Program, Workspace


class Run(msgspec.Struct, frozen=True):
    """One command of a line, or one that such a one starts."""

    command: Command
    by_shell: bool
    """A shell runs it, which has commands of its own."""
    starts: Sequence[Command] | None
    """What it starts in turn, where that is known."""

    def program(self, workspace: Workspace) -> Program:
        """The program file that its bare name resolves to."""
        name = self.command.name
        is_own = self.by_shell and name in BUILTINS
        return Program("", inside=False) if is_own or not name or "/" in name else workspace.program(name)


def read_line(tool: ToolDefinition, text: str) -> CommandLine:
    """The command line of a call, by the rules of the shell that its tool runs it with."""
    return read_command_line(text, Dialect.BASH if tool.shell == Dialect.BASH else Dialect.PLAIN)


def runs_of(line: CommandLine) -> Iterator[Run]:
    """All of them, in order; they may be many."""
    waiting = [(command, True) for command in reversed(line.commands)]
    while waiting:
        command, by_shell = waiting.pop()
        inner = started_by(command)
        yield Run(command, by_shell, inner)
        waiting += [(each, command.name == "bash") for each in reversed(inner or ())]
