"""The chat as plain lines: for screen readers, logs and terminals that can do no more. It obeys the same commands."""

from __future__ import annotations

import asyncio
import base64
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager

from ..agent.sessions.store import SessionRecord
from ..approval.files import PolicyPaths
from ..approval.places import Workspace
from ..approval.request import Answer, ApprovalRequest
from ..cli.ask import TerminalQuestion, read_line
from ..cli.assembly import Assembly
from ..cli.console import PlainConsole
from ..cli.conversation import Conversation
from ..cli.faults import say
from ..cli.forms import TerminalForms
from ..cli.transcript import Piece, pieces
from ..cli.visible import one_line, visible
from ..errors import ToolwireError
from ..messages import Message
from .commands import NAMES, run_command
from .commands.layout import unmarked
from .decided import WORKER, decided_words
from .desk import Panel, Row
from .lines import LineScreen
from .retelling import entry_of
from .shell import ShellRun, ShellRuns
from .talk import Talk
from .typed import QuestionLine, ShellLine, SlashLine, read_typed

SHOWN_ROWS = 40
"""Rows of a list that are printed at once; words find the others."""
_SHOWN_AGAIN = 12
"""Pieces of an earlier conversation that are printed when it goes on."""
_TOGETHER = 0.05
_OUTPUT_SECONDS = 0.2
"""Between two looks at what a command of the person's has written."""


class PlainPerson:
    """Whoever sits at the terminal. Questions come one by one, and say how many there are.

    `of_run`: what is asked is a durable run's, and what they decide holds where its worker is.
    """

    def __init__(self, console: PlainConsole, screen: LineScreen, *, kept_in: str, of_run: bool = False) -> None:
        # All that a question asks of its screen is to be held.
        self._question = TerminalQuestion(console, screen, kept_in=kept_in)
        self._kept_in = kept_in
        self._of_run = of_run
        self._screen = screen
        self._turn = asyncio.Lock()
        self._asked = self._answered = 0
        """Of those that wait together."""

    async def __call__(self, request: ApprovalRequest) -> Answer:
        """What they say to a call."""
        async with self._in_turn(request.invocation.id):
            answer = await self._question(request)
            if words := decided_words(request, answer, self._kept_in, of_run=self._of_run):
                self._screen.header(words)
            return answer

    async def ask_person(self, question: str, options: Sequence[str]) -> str:
        """What they answer to a question of the model's."""
        async with self._in_turn():
            return await self._question.ask_person(question, options)

    @asynccontextmanager
    async def held(self) -> AsyncIterator[None]:
        """The terminal for a question of another kind."""
        async with self._in_turn(), self._question.held():
            yield

    @asynccontextmanager
    async def _in_turn(self, call: str = "") -> AsyncIterator[None]:
        self._asked += 1
        try:
            async with self._turn:
                # Calls of one answer ask at the same time: this is long enough to count them.
                await asyncio.sleep(_TOGETHER)
                self._screen.settle()
                count = f" {self._answered + 1} of {self._asked}" if self._asked > 1 else ""
                number = self._screen.number(call)
                about = "" if number is None else f", about call {number}"
                self._screen.header("", f"Question{count} for you{about}.")
                yield
        finally:
            self._answered += 1
            if self._answered == self._asked:
                self._asked = self._answered = 0


class PlainChat:
    """Questions at the terminal until Ctrl-D; a `Desk` for the commands. `make` makes the talk that is shown."""

    def __init__(
        self, console: PlainConsole, workspace: Workspace, files: PolicyPaths, make: Callable[[Assembly], Talk]
    ) -> None:
        self._console = console
        self._screen = LineScreen(console)
        person = PlainPerson(console, self._screen, kept_in=str(files.always))
        self.run_person = PlainPerson(console, self._screen, kept_in=WORKER, of_run=True)
        """As `Desk.run_person`."""
        forms = TerminalForms(console, person.held)
        self._talk = make(Assembly(workspace, files, person=person, fill_in=forms))
        self._shell = ShellRuns(workspace.root)
        self._leaves = False
        self._follows = False
        """A durable run is to be told from its beginning."""

    def run(self, first: str | None, *, record: str | None, attach: str | None = None) -> int:
        """Talks until the person has enough; gives the exit code. `attach`: a durable run that is told first."""
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
            if attach is not None:
                # One that is not there is known before anything is asked.
                await (await talk.runs()).get(attach)

        first = first if attach is None else f"/attach {attach}"
        return conversation.chat(first=first, typed=self._typed, begin=begin, prompt="You: ", at_end=self._tell_session)

    def _tell_session(self) -> None:
        kept = self._talk.session
        if kept is not None and kept.title:
            say(f"session {kept.id}; go on with: toolwire chat --resume {kept.id}")

    async def _typed(self, text: str) -> str | Message | None:
        """What to ask; None where it was something else. `EOFError` ends the chat."""
        try:
            root, servers = self._talk.assembly.workspace.root, self._talk.made.servers
            match await read_typed(text, root=root, servers=servers, commands=NAMES):
                case SlashLine(name, rest):
                    await run_command(self._talk, self, name, rest)
                    if self._follows:
                        self._follows = False
                        return ""
                case ShellLine() as line:
                    await self._run_shell(line)
                case QuestionLine(message, notes):
                    self._screen.header(*notes)
                    return self._shell.with_runs(message)
        except ToolwireError as error:
            self.problem(error.message, error.hint)
        if self._leaves:
            raise EOFError
        return None

    async def _run_shell(self, line: ShellLine) -> None:
        """Runs it, and prints its lines as they come."""
        output = _Output(self._console)
        try:
            ran = await self._shell.run(line, output.look)
        except asyncio.CancelledError:
            output.stop()
            self._screen.header("", "Stopped.")
            raise
        output.end(ran)
        self._screen.header(f"Command ended: {ran.ending}." if ran.state == "ended" else f"The command {ran.ending}.")

    # What a command may do with the screen

    def say(self, words: str) -> None:
        """As `Desk.say`: without marks, a row of a table as a sentence."""
        for line in unmarked(visible(words)):
            if line.startswith("  "):
                self._screen.quote(line[2:])
            else:
                self._screen.header(line)

    def problem(self, words: str, hint: str = "") -> None:
        """As `Desk.problem`."""
        say(words, hint)

    async def choose(self, title: str, rows: Sequence[Row], *, current: str = "") -> str | None:
        """As `Desk.choose`: by its number, or by words, which list those again that have them."""
        fitting = list(rows)
        self._screen.header(title)
        while True:
            shown = fitting[:SHOWN_ROWS]
            self._list(shown, current)
            if len(fitting) > len(shown):
                self._screen.header(f"And {len(fitting) - len(shown)} more: type words of the one you look for.")
            typed = (await self._answer("A number, words to look for, or nothing to go back: ")).strip()
            if typed.isascii() and typed.isdigit():
                if 1 <= int(typed) <= len(shown):
                    return shown[int(typed) - 1].value
                self._screen.header("There is no such number.")
                continue
            if not typed:
                self._screen.header("Nothing was chosen.")
                return None
            found = [row for row in rows if all(word in _searched(row) for word in typed.lower().split())]
            if not found:
                self._screen.header(f"Nothing in the list has {one_line(typed)[:60]}.")
            fitting = found or list(rows)

    async def confirm(self, words: str) -> bool:
        """As `Desk.confirm`."""
        self._screen.header(words)
        return (await self._answer("Type y for yes; all else is no: ")).strip().lower() in ("y", "yes")

    def toggle(self, panel: Panel) -> None:
        """As `Desk.toggle`: there are no panels."""
        if panel == "wire":
            self.say("To see what goes over the wire: /record FILE, and then toolwire inspect FILE.")
        else:
            self.say("Enter sends. Ctrl-C stops an answer, a command or a list. Ctrl-D ends the chat.")

    async def reload(self) -> None:
        """As `Desk.reload`. A durable run is told from its beginning by whoever follows it."""
        kept = self._talk.record()
        if (attached := self._talk.attached) is not None:
            self._follows = True
            self._screen.header(f"Run {attached.id}, {attached.info.state}.")
            self._show_pieces(list(pieces(map(entry_of, attached.spec.history))))
            self._screen.header("You:")
            self._screen.quote(visible(attached.spec.prompt.text).rstrip())
            if not attached.is_over:
                self._screen.header("Ctrl-C leaves it; it goes on.")
        elif kept is None:
            self._screen.header("A new conversation.")
        else:
            self._show(kept)

    def withdraw(self, turn: int, id: str) -> None:
        """As `Desk.withdraw`: what was written stays there."""
        self._screen.withdraw(id)

    async def left(self, words: str) -> None:
        """As `Desk.left`."""
        self.say(words)

    def copy(self, text: str) -> None:
        """As `Desk.copy`; printed, to be taken from there, where the terminal knows no clipboard."""
        if self._console.is_dumb_terminal:
            self._screen.quote(visible(text))
        else:
            coded = base64.b64encode(text.encode("utf-8", "replace")).decode()
            self._console.file.write(f"\x1b]52;c;{coded}\x07")

    def leave(self) -> None:
        """As `Desk.leave`."""
        self._leaves = True

    def _list(self, rows: Sequence[Row], current: str) -> None:
        group = ""
        for number, row in enumerate(rows, 1):
            if row.group != group:
                group = row.group
                self._screen.header(f"{group}:")
            words = [row.name, *([row.words] if row.words else []), *(["chosen now"] if row.value == current else [])]
            self._screen.header(f"{number}. {', '.join(map(one_line, words)).replace(' · ', ', ')}")

    async def _answer(self, prompt: str) -> str:
        typed = await read_line(sys.stdin.fileno(), lambda: self._console.out(prompt, end=""))
        if typed is None:
            self._console.out("")
        return typed or ""

    def _show(self, kept: SessionRecord) -> None:
        """The end of an earlier conversation."""
        self._screen.header(f"Going on with: {one_line(kept.info.title)[:200]}")
        told = list(pieces(kept.entries))
        if len(told) > _SHOWN_AGAIN:
            self._screen.header(f"({len(told) - _SHOWN_AGAIN} earlier pieces: /export writes them all)")
        self._show_pieces(told)

    def _show_pieces(self, told: Sequence[Piece]) -> None:
        for piece in told[-_SHOWN_AGAIN:]:
            self._screen.header(piece.heading)
            if piece.text:
                self._screen.quote(visible(piece.text).rstrip())


class _Output:
    """What a command writes, as whole lines, a few times a second at most."""

    def __init__(self, console: PlainConsole) -> None:
        self._console = console
        self._written = 0
        self._later: asyncio.TimerHandle | None = None
        """The next look: also what comes before a long silence is seen."""

    def look(self, run: ShellRun) -> None:
        """Prints the lines that are new, in a moment."""
        if self._later is None:
            self._later = asyncio.get_running_loop().call_later(_OUTPUT_SECONDS, self._look, run)

    def _look(self, run: ShellRun) -> None:
        """Where so much came that some is gone, the rest comes at the end."""
        self._later = None
        if not run.dropped:
            self._write(run.text, whole=True)

    def end(self, run: ShellRun) -> None:
        """Prints what is left."""
        self.stop()
        if run.dropped:
            self._console.out(f"(what it wrote is long: {run.dropped:,} characters are left out)")
            self._written = 0
        self._write(run.text, whole=False)

    def stop(self) -> None:
        """Nothing more is printed."""
        if self._later is not None:
            self._later.cancel()

    def _write(self, text: str, *, whole: bool) -> None:
        end = text.rfind("\n") + 1 if whole else len(text)
        if new := text[self._written : end].removesuffix("\n"):
            self._console.out("\n".join(f"  {line}" for line in new.split("\n")))
        self._written = max(self._written, end)


def _searched(row: Row) -> str:
    return f"{row.value} {row.name} {row.words}".lower()
