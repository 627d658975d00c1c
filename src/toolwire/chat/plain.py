"""The chat as plain lines: for screen readers, logs and terminals that can do no more. It obeys the same commands."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence

from ..agent.sessions.store import SessionRecord
from ..approval.files import PolicyPaths
from ..approval.places import Workspace
from ..cli.ask import TerminalQuestion, read_line
from ..cli.assembly import Assembly
from ..cli.console import PlainConsole
from ..cli.conversation import Conversation
from ..cli.faults import say
from ..cli.forms import TerminalForms
from ..cli.question import sentence
from ..cli.screen import Screen
from ..cli.transcript import pieces
from ..cli.visible import one_line, visible
from ..errors import ToolwireError
from ..messages import Message
from .commands import run_command
from .desk import Panel, Row
from .shell import ShellRuns
from .talk import Talk
from .typed import QuestionLine, ShellLine, SlashLine, read_typed

_SHOWN_ROWS = 60
_SHOWN_AGAIN = 12
"""Pieces of an earlier conversation that are printed when it goes on."""


class PlainChat:
    """Questions at the terminal until Ctrl-D; a `Desk` for the commands. `make` makes the talk that is shown."""

    def __init__(
        self, console: PlainConsole, workspace: Workspace, files: PolicyPaths, make: Callable[[Assembly], Talk]
    ) -> None:
        self._console = console
        self._screen = Screen(console)
        self._person = TerminalQuestion(console, self._screen, kept_in=str(files.always))
        forms = TerminalForms(console, self._person.held)
        self._talk = make(Assembly(workspace, files, person=self._person, fill_in=forms))
        self._shell = ShellRuns(workspace.root)
        self._leaves = False

    def run(self, first: str | None, *, record: str | None, at_end: Callable[[], None]) -> int:
        """Talks until the person has enough; gives the exit code."""
        made, talk = self._talk.made, self._talk
        self._screen.header(made.words, *made.tool_words, *made.server_words, f"Mode: {talk.mode}.")
        self._screen.header("/help lists the commands. @file attaches a file, !command runs one of yours.")
        kept = talk.record()
        if kept is not None:
            self._show(kept)
        conversation = Conversation(talk, self._screen.show, self._screen)

        async def begin() -> None:
            if record is not None:
                await talk.start_recording(record)

        return conversation.chat(first=first, typed=self._typed, begin=begin, at_end=at_end)

    async def _typed(self, text: str) -> str | Message | None:
        """What to ask; None where it was something else. `EOFError` ends the chat."""
        try:
            root, servers = self._talk.assembly.workspace.root, self._talk.made.servers
            line = await read_typed(text, root=root, servers=servers)
            match line:
                case SlashLine(name, rest):
                    await run_command(self._talk, self, name, rest)
                case ShellLine():
                    ran = await self._shell.run(line)
                    self._console.out(ran.text.rstrip("\n"))
                    self._screen.header(ran.ending)
                case QuestionLine(message, notes):
                    for note in notes:
                        self._screen.header(note)
                    return self._shell.with_runs(message)
        except ToolwireError as error:
            self.problem(error.message, error.hint)
        if self._leaves:
            raise EOFError
        return None

    def say(self, words: str) -> None:
        """As `Desk.say`: Markdown is readable as it is."""
        self._console.out(visible(words))

    def problem(self, words: str, hint: str = "") -> None:
        """As `Desk.problem`."""
        say(words, hint)

    async def choose(self, title: str, rows: Sequence[Row], *, current: str = "") -> str | None:
        """As `Desk.choose`: by its number, or by words that are in one row alone."""
        self._console.out(title)
        group = ""
        for number, row in enumerate(rows[:_SHOWN_ROWS], 1):
            if row.group != group:
                group = row.group
                self._console.out(f"\n{group}:")
            mark = "*" if row.value == current else " "
            self._console.out(f"{mark}{number:>3}  {one_line(row.name)}  {one_line(row.words)}".rstrip())
        typed = (await self._answer("Number, or nothing to go back: ")).strip()
        if typed.isascii() and typed.isdigit() and 1 <= int(typed) <= len(rows):
            return rows[int(typed) - 1].value
        fitting = [row.value for row in rows if typed and typed.lower() in f"{row.value} {row.name}".lower()]
        if typed and len(fitting) != 1:
            self.problem(f"{len(fitting) or 'no'} rows fit {typed[:40]!r}", "Nothing was chosen.")
        return fitting[0] if len(fitting) == 1 else None

    async def confirm(self, words: str) -> bool:
        """As `Desk.confirm`."""
        for line in sentence(words, self._console.width):
            self._console.out(line.text)
        return (await self._answer("y or n: ")).strip().lower() in ("y", "yes")

    def toggle(self, panel: Panel) -> None:
        """As `Desk.toggle`: there are no panels."""
        if panel == "wire":
            self.say("To see what goes over the wire: /record FILE, and then toolwire inspect FILE.")
        else:
            self.say("Enter sends. Ctrl-C stops an answer. Ctrl-D ends.")

    async def reload(self) -> None:
        """As `Desk.reload`."""
        kept = self._talk.record()
        if kept is None:
            self._screen.header("A new conversation.")
        else:
            self._show(kept)

    def copy(self, text: str) -> None:
        """As `Desk.copy`: printed, to be taken from there."""
        self._console.out(visible(text))

    def leave(self) -> None:
        """As `Desk.leave`."""
        self._leaves = True

    async def _answer(self, prompt: str) -> str:
        typed = await read_line(sys.stdin.fileno(), lambda: self._console.out(prompt, end=""))
        return typed or ""

    def _show(self, kept: SessionRecord) -> None:
        """The end of an earlier conversation."""
        told = list(pieces(kept.entries))
        if len(told) > _SHOWN_AGAIN:
            self._screen.header(f"({len(told) - _SHOWN_AGAIN} earlier pieces: /export writes them all)")
        for piece in told[-_SHOWN_AGAIN:]:
            self._console.out(piece.heading, style="bold")
            if piece.text:
                self._console.out("  " + visible(piece.text).rstrip().replace("\n", "\n  "))
