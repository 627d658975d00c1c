"""The chat on the whole screen: puts the parts together, and keeps the input free whatever goes on."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import Mapping, Sequence
from contextlib import aclosing, suppress
from typing import ClassVar

from textual import events, on, work
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container, Vertical
from textual.css.query import NoMatches
from textual.widgets import Static

from ..agent.events import RunInterrupted
from ..approval.policy import Mode
from ..chat.commands import run_command
from ..chat.completion import Completer
from ..chat.desk import Panel, Row
from ..chat.retelling import retold
from ..chat.shell import ShellRuns
from ..chat.talk import Talk
from ..chat.typed import QuestionLine, ShellLine, SlashLine, read_typed
from ..chat.typed_history import TypedHistory
from ..cli.visible import one_line
from ..errors import ToolwireError
from ..messages import Message
from ..settings.model import ReasoningShown
from .collecting import collect_quietly
from .conversation import Conversation
from .pickers import ConfirmScreen, KeysScreen, PickerScreen
from .prompt import Prompt
from .questions.person import ScreenPerson
from .questions.questions import Questions
from .status import StatusLine
from .wire import WirePanel

_TICK = 0.5
"""Seconds between two looks at what the status line tells."""
_SLICE = 0.01
"""Seconds that events may be taken in a row before keys and the screen have their turn."""
_AGAIN = 2.0
"""Seconds in which a second Ctrl-C ends the chat."""
_SIDE_BY_SIDE = 120
"""Columns from which the wire stands beside the conversation, and not below it."""
THEMES = {"": "textual-dark", "dark": "textual-dark", "light": "textual-light"}


class ChatApp(App[int]):
    """One `Talk` on the screen; a `Desk` for its commands."""

    ENABLE_COMMAND_PALETTE = False
    CSS = """
    #stage { height: 1fr; layout: horizontal; }
    #stage.narrow { layout: vertical; }
    #stage > Conversation { width: 1fr; height: 1fr; }
    #stage > WirePanel { width: 1fr; height: 1fr; display: none; }
    #stage > WirePanel.open { display: block; }
    #queue { height: auto; max-height: 3; padding: 0 1; color: $text-muted; display: none; }
    #foot { height: auto; max-height: 80%; dock: bottom; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "stop", "Stop", show=False),
        Binding("ctrl+c", "break", "Stop", priority=True, show=False),
        Binding("ctrl+d", "end", "End", show=False),
        Binding("ctrl+t", "to_question", priority=True, show=False),
        Binding("ctrl+q", "leave", "End", priority=True, show=False),
        Binding("shift+tab", "next_mode", "Mode", priority=True, show=False),
        Binding("f1", "keys", "Keys", show=False),
        Binding("f2", "wire", "Wire", show=False),
        Binding("ctrl+up", "to_conversation", show=False, priority=True),
        Binding("pageup", "scroll(-1)", show=False, priority=True),
        Binding("pagedown", "scroll(1)", show=False, priority=True),
    ]

    def __init__(
        self,
        talk: Talk,
        person: ScreenPerson,
        *,
        history: TypedHistory,
        theme: str = "",
        reasoning: ReasoningShown = "folded",
        bell: bool = False,
        welcome: Sequence[str] = (),
        first: str = "",
        suggested: str = "",
    ) -> None:
        super().__init__()
        self.talk = talk
        self.person = person
        self.theme = THEMES.get(theme, theme)
        self._history = history
        self._reasoning: ReasoningShown = reasoning
        self._bell = bell
        self._welcome = list(welcome)
        self._first = first
        self._suggested = suggested
        self._completer = Completer(talk)
        self._shell = ShellRuns(talk.assembly.workspace.root)
        self._queue: list[QuestionLine] = []
        self._answering: asyncio.Task[None] | None = None
        self._pressed = 0.0

    def compose(self) -> ComposeResult:
        """From top to bottom."""
        with Container(id="stage"):
            yield Conversation(reasoning=self._reasoning)
            yield WirePanel(self.talk.wire)
        with Vertical(id="foot"):
            yield Questions(self.person, bell=self._bell)
            yield Static(id="queue", markup=False)
            yield Prompt(self._completer, self._history, root=self.talk.assembly.workspace.root)
            yield StatusLine(self.talk)

    async def on_mount(self) -> None:
        """Begins with what is there already: an earlier conversation, or a few words of welcome."""
        await self._show_conversation()
        self.set_interval(_TICK, self._tick)
        self.person.watch(self._tick)
        if not self.is_headless:
            self._leave_when_told()
            self.call_after_refresh(collect_quietly)
        prompt = self.query_one(Prompt)
        prompt.focus()
        self.run_worker(self._completer.prepare())
        if self._suggested:
            prompt.suggest(self._suggested)
        if self._first:
            await self._typed(self._first)

    def on_resize(self, event: events.Resize) -> None:
        """The wire moves below where there is no room beside."""
        self.query_one("#stage").set_class(event.size.width < _SIDE_BY_SIDE, "narrow")

    @property
    def conversation(self) -> Conversation:
        """What is said and done."""
        return self.query_one(Conversation)

    # What is typed

    @on(Prompt.Submitted)
    async def _submitted(self, event: Prompt.Submitted) -> None:
        await self._typed(event.text, event.pasted)

    async def _typed(self, text: str, pasted: Mapping[str, str] | None = None) -> None:
        """Whatever was typed: a command, a line for the shell, or a question."""
        root, servers = self.talk.assembly.workspace.root, self.talk.made.servers
        try:
            line = await read_typed(text, root=root, servers=servers, pasted=pasted)
        except ToolwireError as error:
            self.problem(error.message, error.hint)
            self.query_one(Prompt).put(text, pasted)
            return
        match line:
            case SlashLine(name, rest):
                self._command(name, rest)
            case ShellLine():
                self._run_shell(line)
            case QuestionLine():
                self._ask(line)

    def _ask(self, line: QuestionLine) -> None:
        """Asks now, or when the answer that is going on has ended."""
        if self._answering is not None:
            self._queue.append(line)
            self._show_queue()
            return
        self._answering = asyncio.create_task(self._answer(line))

    async def _answer(self, line: QuestionLine) -> None:
        interrupted = False
        try:
            interrupted = await self._one_answer(self._shell.with_runs(line.message), line.notes)
        except ToolwireError as error:
            self.problem(error.message, error.hint)
        finally:
            self._answering = None
            self._tick()
        if self._queue and self.is_running:
            self._next(interrupted)

    async def _one_answer(self, message: Message, notes: Sequence[str]) -> bool:
        """Whether it was interrupted."""
        conversation = self.conversation
        conversation.ask(message)
        for note in notes:
            conversation.note(note)
        self.query_one(StatusLine).begin()
        interrupted, slice_ends = False, time.monotonic() + _SLICE
        async with aclosing(self.talk.run(message)) as events:
            async for event in events:
                conversation.take(event)
                interrupted = isinstance(event, RunInterrupted)
                if time.monotonic() > slice_ends:
                    await asyncio.sleep(0)
                    slice_ends = time.monotonic() + _SLICE
        await conversation.draw()
        if interrupted:
            await self.talk.settle()
        return interrupted

    def _next(self, interrupted: bool) -> None:
        """The message that waits next. After an interruption none goes out by itself: they are there to be edited."""
        if interrupted:
            waiting, self._queue = self._queue, []
            prompt = self.query_one(Prompt)
            pasted = {label: text for each in waiting for label, text in each.pasted.items()}
            words = [*(each.text for each in waiting), *([prompt.text] if prompt.text else [])]
            prompt.put("\n".join(words), {**pasted, **prompt.pasted})
        else:
            self._answering = asyncio.create_task(self._answer(self._queue.pop(0)))
        self._show_queue()

    def _show_queue(self) -> None:
        queue = self.query_one("#queue", Static)
        queue.display = bool(self._queue)
        queue.update("\n".join(f"⧗ {one_line(each.text)[:200]}" for each in self._queue[-3:]))
        self.query_one(StatusLine).queued = len(self._queue)

    @work
    async def _command(self, name: str, rest: str) -> None:
        try:
            await run_command(self.talk, self, name, rest)
        except ToolwireError as error:
            self.problem(error.message, error.hint)
        self._tick()

    @work
    async def _run_shell(self, line: ShellLine) -> None:
        show = self.conversation.shell(line.command)
        try:
            await self._shell.run(line, show)
        except ToolwireError as error:
            self.problem(error.message, error.hint)

    # What the keys do

    def action_stop(self) -> None:
        """Esc: ends the answer, or what the person's own command does, or goes back to the prompt."""
        if not self._interrupt():
            self.query_one(Prompt).focus()

    def action_break(self) -> None:
        """Ctrl-C: the same; where nothing goes on it copies, clears, and the second time ends the chat."""
        if isinstance(self.screen, ConfirmScreen):
            self.screen.dismiss(False)
            return
        if isinstance(self.screen, (PickerScreen, KeysScreen)):
            self.screen.dismiss(None)
            return
        if self._interrupt():
            return
        selected = self.screen.get_selected_text()
        prompt = self.query_one(Prompt)
        if selected:
            self.copy_to_clipboard(selected)
            self.screen.clear_selection()
        elif prompt.text:
            prompt.put("")
        elif time.monotonic() - self._pressed < _AGAIN:
            self.leave()
        else:
            self._pressed = time.monotonic()
            self.notify("Ctrl-C again, or Ctrl-D, ends the chat.", timeout=_AGAIN)

    def action_end(self) -> None:
        """Ctrl-D: ends the chat where nothing is typed."""
        if not self.query_one(Prompt).text:
            self.leave()

    def action_leave(self) -> None:
        """Ends the chat, whatever goes on."""
        self.leave()

    def action_next_mode(self) -> None:
        """The next wider mode short of full, which must be asked for by its name; then the strictest again."""
        narrow = [mode for mode in Mode if mode is not Mode.FULL]
        at = narrow.index(self.talk.mode) if self.talk.mode in narrow else len(narrow) - 1
        try:
            holds = self.talk.set_mode(narrow[(at + 1) % len(narrow)])
        except ToolwireError as error:
            self.problem(error.message, error.hint)
            return
        self.notify(f"Mode {holds}", timeout=_AGAIN)
        self._tick()

    def action_keys(self) -> None:
        """F1."""
        self.toggle("keys")

    def action_wire(self) -> None:
        """F2."""
        self.toggle("wire")

    def action_to_conversation(self) -> None:
        """Ctrl-Up: what was said can be walked through, opened and copied."""
        self.conversation.focus()

    def action_to_question(self) -> None:
        """Ctrl-T: from what is being written to the question that waits, and back."""
        self.query_one(Questions).toggle()

    def action_scroll(self, by: int) -> None:
        """A page up or down, wherever the focus is."""
        scroll = self.conversation.scroll_page_up if by < 0 else self.conversation.scroll_page_down
        scroll(animate=False)

    def _interrupt(self) -> bool:
        """Ends what goes on, if anything does."""
        if self._shell.running:
            self._shell.stop()
            return True
        if self._answering is None:
            return False
        self.talk.interrupt()
        return True

    # What a command may do with the screen

    def say(self, words: str) -> None:
        """As `Desk.say`."""
        self.conversation.note(words)

    def problem(self, words: str, hint: str = "") -> None:
        """As `Desk.problem`."""
        self.conversation.note(words, kind="problem", hint=hint)

    async def choose(self, title: str, rows: Sequence[Row], *, current: str = "") -> str | None:
        """As `Desk.choose`."""
        return await self.push_screen_wait(PickerScreen(title, rows, current))

    async def confirm(self, words: str) -> bool:
        """As `Desk.confirm`."""
        return await self.push_screen_wait(ConfirmScreen(words)) is True

    def toggle(self, panel: Panel) -> None:
        """As `Desk.toggle`."""
        if panel == "keys":
            self.push_screen(KeysScreen())
            return
        wire = self.query_one(WirePanel)
        wire.toggle_class("open")
        (wire if wire.has_class("open") else self.query_one(Prompt)).focus()

    async def reload(self) -> None:
        """As `Desk.reload`."""
        await self._show_conversation()

    def copy(self, text: str) -> None:
        """As `Desk.copy`."""
        self.copy_to_clipboard(text)

    def leave(self) -> None:
        """As `Desk.leave`."""
        self.talk.interrupt()
        self._shell.stop()
        self.exit(0)

    def _leave_when_told(self) -> None:
        """A closed window or a system that goes down ends the chat as its person would: the terminal is given back."""
        loop = asyncio.get_running_loop()
        for number in {signal.SIGTERM, getattr(signal, "SIGHUP", signal.SIGTERM)}:
            with suppress(NotImplementedError, ValueError, RuntimeError):
                loop.add_signal_handler(number, self.exit, 128 + number)

    async def _show_conversation(self) -> None:
        record = self.talk.record()
        await self.conversation.show([] if record is None else retold(record.entries))
        if record is None:
            for words in self._welcome:
                self.say(words)
        for problem in self.talk.made.problems:
            self.problem(problem)

    def _tick(self) -> None:
        """Looks at everything that changes by itself."""
        try:
            status = self.query_one(StatusLine)
        except NoMatches:
            return
        status.waiting = len(self.person.waiting)
        status.words = "running your command" if self._shell.running else ""
        status.refresh()
