"""The chat on the whole screen: puts the parts together, and keeps the input free whatever goes on."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import Sequence
from contextlib import aclosing
from typing import ClassVar

from textual import events, on, work
from textual.actions import SkipAction
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container, Vertical
from textual.css.query import NoMatches
from textual.driver import Driver

from ..agent.events import RunFinished, RunStarted
from ..approval.policy import Mode
from ..chat.commands import run_command
from ..chat.commands.layout import cells
from ..chat.completion import Completer
from ..chat.desk import Panel, Row
from ..chat.shell import ShellRuns
from ..chat.talk import Talk
from ..chat.typed import QuestionLine, ShellLine, SlashLine
from ..chat.typed_history import TypedHistory
from ..errors import ConfigError
from ..messages import Message
from ..settings.model import ReasoningShown
from ..tasks import create_lazy_task
from .collecting import collect_quietly
from .conversation import Conversation
from .pickers import ConfirmScreen, KeysScreen, PickerScreen
from .prompt import Prompt
from .questions.approval import Decided
from .questions.person import RunPerson, ScreenPerson
from .questions.questions import Questions
from .queued import Queued
from .status import StatusLine
from .telling import tell, telling
from .terminal_gone import unbroken, when_told_to_end
from .typed_lines import Sent, TypedLines
from .wire import WirePanel

_TICK = 0.5
"""Seconds between two looks at what the status line tells."""
_SLICE = 0.01
"""Seconds that events may be taken in a row before keys and the screen have their turn."""
_AGAIN = 2.0
"""Seconds in which a second Ctrl-C ends the chat."""
_LEAVE_SECONDS = 1.5
"""How long the end of the chat waits for the answer that it stops."""
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
    #foot { height: auto; dock: bottom; }
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
        resumed: Sequence[str] = (),
        first: str = "",
        suggested: str = "",
    ) -> None:
        super().__init__()
        self.talk = talk
        self.person = person
        name = THEMES.get(theme, theme)
        if name not in self.available_themes:
            raise ConfigError(f"there is no theme {theme!r}", hint=f"There are: {', '.join(self.available_themes)}.")
        self.theme = name
        self._history = history
        self._reasoning: ReasoningShown = reasoning
        self._bell = bell
        self._welcome = list(welcome)
        self._resumed = list(resumed)
        self._first = first
        self._suggested = suggested
        self._completer = Completer(talk)
        self._shell = ShellRuns(talk.assembly.workspace.root)
        self._typed = TypedLines(talk, self._do, self._refuse)
        self._queue = Queued()
        self._answering: asyncio.Task[None] | None = None
        self._showing = False
        """An earlier conversation is being put on the screen."""
        self._stopped = False
        """The answer that is going on is not wanted any more."""
        self._leaving: asyncio.Task[None] | None = None
        self.parting = ""
        """What the person should know when the screen is gone."""
        self._pressed = 0.0

    def compose(self) -> ComposeResult:
        """From top to bottom."""
        with Container(id="stage"):
            yield Conversation(reasoning=self._reasoning)
            yield WirePanel(self.talk.wire)
        with Vertical(id="foot"):
            yield Questions(self.person, bell=self._bell)
            yield self._queue
            root = self.talk.assembly.workspace.root
            yield Prompt(self._completer, self._history, root=root, take_back=self._queue.take_back)
            yield StatusLine(self.talk, self._queue)

    def on_mount(self) -> None:
        """Begins with what is there already; whoever types does not wait for it."""
        self.set_interval(_TICK, self._tick)
        self.person.watch(self._tick)
        # Whoever had the terminal meanwhile has painted over it.
        self.app_resume_signal.subscribe(self, lambda _: self.refresh(layout=True))
        if not self.is_headless:
            # A closed window or a system that goes down ends the chat as its person would: the terminal is given back.
            when_told_to_end(lambda number: self.leave(128 + number))
            self.call_after_refresh(collect_quietly)
        prompt = self.query_one(Prompt)
        prompt.focus()
        self.run_worker(self._completer.prepare())
        if self._suggested:
            prompt.suggest(self._suggested)
        self.run_worker(self._begin())

    async def _begin(self) -> None:
        """An earlier conversation, or a few words of welcome; then what was asked with the command."""
        await self._show_conversation()
        for words in self._resumed:
            self.problem(words)
        if self._first:
            self._typed.add(self._first)

    def on_resize(self, event: events.Resize) -> None:
        """The wire moves below where there is no room beside."""
        self.query_one("#stage").set_class(event.size.width < _SIDE_BY_SIDE, "narrow")

    @property
    def conversation(self) -> Conversation:
        """What is said and done."""
        return self.query_one(Conversation)

    # What is typed

    @on(Prompt.Submitted)
    def _submitted(self, event: Prompt.Submitted) -> None:
        self._typed.add(event.text, event.pasted)

    def _do(self, line: SlashLine | ShellLine | QuestionLine, sent: Sent) -> None:
        """Does what was typed: a command, a line for the shell, or a question."""
        match line:
            case SlashLine(name, rest):
                self._command(name, rest)
            case ShellLine():
                self._run_shell(line, sent)
            case QuestionLine():
                self._ask(line)

    def _refuse(self, error: Exception, sent: Sent) -> None:
        """What cannot be done comes back."""
        tell(self, error)
        self.query_one(Prompt).give_back([sent])

    def _ask(self, line: QuestionLine) -> None:
        """Asks now, or when the answer that is going on has ended, or an earlier conversation is on the screen."""
        if self._answering is not None or self._showing:
            self._queue.add(line)
        else:
            self._begin_answer(line)

    def _begin_answer(self, line: QuestionLine | None) -> None:
        """To a question; None: what goes on in a durable run is followed."""
        self._stopped = False
        self._answering = create_lazy_task(self._answer(line))

    async def _answer(self, line: QuestionLine | None) -> None:
        goes_on = False
        try:
            with telling(self):
                message: Message | str = ""
                if line is not None:
                    message = self._shell.with_runs(line.message)
                    self.conversation.ask(message)
                    for note in line.notes:
                        self.conversation.note(note)
                goes_on = await self._one_answer(message)
        finally:
            self._answering = None
        self._tick()
        if self._queue.count and self.is_running and not self._showing:
            self._next(goes_on)

    async def _one_answer(self, message: Message | str) -> bool:
        """Whether it came to its own end, and nobody wanted to stop it."""
        conversation = self.conversation
        self.query_one(StatusLine).begin()
        is_whole, slice_ends = False, time.monotonic() + _SLICE
        async with aclosing(self.talk.run(message)) as events:
            async for event in events:
                conversation.take(event)
                is_whole = isinstance(event, RunFinished)
                if self._stopped and isinstance(event, RunStarted):
                    # The key was pressed before there was anything to stop.
                    self.talk.interrupt()
                if time.monotonic() > slice_ends:
                    await asyncio.sleep(0)
                    slice_ends = time.monotonic() + _SLICE
        await conversation.draw()
        if not is_whole:
            await self.talk.settle()
        return is_whole and not self._stopped

    def _next(self, goes_on: bool) -> None:
        """The message that waits next. After an interruption or a failure none goes out by itself: what was written
        for another moment is there to be edited.
        """
        if goes_on:
            self._ask(self._queue.next())
        else:
            self.query_one(Prompt).give_back([(each.text, each.pasted) for each in self._queue.clear()])

    @work
    async def _command(self, name: str, rest: str) -> None:
        with telling(self):
            await run_command(self.talk, self, name, rest)
        self._tick()

    @work
    async def _run_shell(self, line: ShellLine, sent: Sent) -> None:
        if self._shell.running:
            self.problem("a command of yours is running", "Wait for its end, or stop it with Esc.")
            self.query_one(Prompt).give_back([sent])
            return
        show = self.conversation.shell(line.command)
        with telling(self):
            await self._shell.run(line, show)
        self._tick()

    # What the keys do

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Keys of ours that others need while they have the focus are theirs: no mode changes behind a question."""
        if action in ("next_mode", "scroll", "to_conversation", "to_question") and self.screen.is_modal:
            return False
        if action in ("next_mode", "scroll") and self.focused is not None:
            return not any(isinstance(each, (Questions, WirePanel)) for each in self.focused.ancestors_with_self)
        return True

    def action_stop(self) -> None:
        """Esc: ends the answer, or what the person's own command does, or goes back to the prompt."""
        if not self._interrupt():
            self.query_one(Prompt).focus()

    def action_break(self) -> None:
        """Ctrl-C: the same; where nothing goes on it copies, clears (Up brings it back), and then ends the chat."""
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
            self._history.add(prompt.text, prompt.pasted)
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
        """The next wider mode short of full, which must be asked for by its name; then the strictest again.

        Never where the same key goes back to a field or a question: who does that wants nothing to run unasked.
        """
        if self._is_asked:
            raise SkipAction
        if self.talk.attached is not None:
            self.notify("What runs unasked in a durable run is for its worker to say.", timeout=_AGAIN)
            return
        narrow = [mode for mode in Mode if mode is not Mode.FULL]
        at = narrow.index(self.talk.mode) if self.talk.mode in narrow else len(narrow) - 1
        with telling(self):
            holds = self.talk.set_mode(narrow[(at + 1) % len(narrow)])
            self.notify(f"Mode {holds}", timeout=_AGAIN)
        self._tick()

    @property
    def _is_asked(self) -> bool:
        """Whether the keys are those of a question or of a list to choose from."""
        return len(self.screen_stack) > 1 or self.query_one(Questions).has_focus_within

    def action_keys(self) -> None:
        """F1."""
        self.toggle("keys")

    def action_wire(self) -> None:
        """F2."""
        self.toggle("wire")

    def action_to_conversation(self) -> None:
        """Ctrl-Up: what was said can be walked through, opened and copied."""
        if len(self.screen_stack) > 1:
            raise SkipAction
        self.conversation.focus()

    def action_to_question(self) -> None:
        """Ctrl-T: from what is being written to the question that waits, and back."""
        if len(self.screen_stack) > 1:
            raise SkipAction
        self.query_one(Questions).toggle()

    def action_scroll(self, by: int) -> None:
        """A page up or down, unless something with pages of its own has the focus."""
        if self._is_asked or self.query_one(WirePanel).has_focus_within:
            raise SkipAction
        scroll = self.conversation.scroll_page_up if by < 0 else self.conversation.scroll_page_down
        scroll(animate=False)

    def _interrupt(self) -> bool:
        """Ends what goes on, if anything does."""
        if self._shell.running:
            self._shell.stop()
            return True
        unread = self._typed.stop()
        if unread:
            self.query_one(Prompt).give_back(unread)
        if self._answering is not None:
            self._stopped = True
            self.talk.interrupt()
        return bool(unread) or self._answering is not None

    @on(Decided)
    def _decided(self, event: Decided) -> None:
        """A rule was made of an answer: what it says, and where it is taken back, stays in the conversation."""
        self.say(cells(event.words, 1_000))

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
        if self._answering is not None:
            await asyncio.wait((self._answering,))
        await self._show_conversation()

    @property
    def run_person(self) -> RunPerson:
        """As `Desk.run_person`."""
        return RunPerson(self.person)

    def withdraw(self, turn: int, id: str) -> None:
        """As `Desk.withdraw`."""
        self.conversation.withdraw(turn, id)

    async def left(self, words: str) -> None:
        """As `Desk.left`."""
        if self._leaving is None:
            await self._show_conversation()
            self.say(words)

    def copy(self, text: str) -> None:
        """As `Desk.copy`."""
        self.copy_to_clipboard(text)

    def leave(self, code: int = 0) -> None:
        """As `Desk.leave`. What goes on is stopped before; the second time it is not waited for."""
        if (shown := self.talk.attached) is not None and not shown.is_over:
            self.parting = f"run {shown.id} goes on; look again: toolwire chat --attach {shown.id}"
        self._stopped = True
        self.talk.interrupt()
        self._shell.stop()
        if self._answering is None or self._leaving is not None:
            self.exit(code)
        else:
            self._leaving = create_lazy_task(self._leave(self._answering, code))

    async def _leave(self, answering: asyncio.Task[None], code: int) -> None:
        await asyncio.wait((answering,), timeout=_LEAVE_SECONDS)
        self.exit(code)

    @property
    def fault(self) -> Exception | None:
        """The bug that ended the chat, if one did."""
        return self._exception

    def _fatal_error(self) -> None:
        """Textual would print a traceback with the values of all variables, keys among them: whoever ran it is told."""
        self._close_messages_no_wait()

    def get_driver_class(self) -> type[Driver]:
        """Textual's own for this system, with a terminal that may go away."""
        return unbroken(super().get_driver_class(), self._terminal_lost)

    def _terminal_lost(self) -> None:
        """Told by the thread that paints."""
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self.leave, 128 + getattr(signal, "SIGHUP", 1))

    async def _show_conversation(self) -> None:
        past, attached = None, self.talk.attached
        self._showing = True
        try:
            await self.conversation.show([])
            with telling(self):
                if (past := self.talk.past()) is not None:
                    await self.conversation.show(past)
        finally:
            self._showing = False
        for words in self._welcome if past is None else ():
            self.say(words)
        for problem in self.talk.made.problems if attached is None else ():
            self.problem(problem)
        if self._answering is None and attached is not None and not attached.is_over:
            self._begin_answer(None)
        elif self._queue.count and self._answering is None:
            self._next(goes_on=True)

    def _tick(self) -> None:
        """Looks at everything that changes by itself."""
        try:
            status = self.query_one(StatusLine)
        except NoMatches:
            return
        status.waiting = len(self.person.waiting)
        status.words = "running your command" if self._shell.running else "opening" if self._showing else ""
        status.refresh()
