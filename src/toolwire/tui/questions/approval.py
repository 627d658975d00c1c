"""A call that waits for a yes: asked about, changed, refused. Every way to an answer goes through a key for it."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Sequence
from typing import Any

from textual import work
from textual.app import ComposeResult, SuspendNotSupported
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Input

from ...approval.hidden import marked
from ...approval.request import Answer, Offer, Scope, deny
from ...approval.shown import read_arguments, whole_text
from ...chat.decided import decided_words, how_long
from ...cli.ask import MAX_REASON
from ...cli.editing import NotEdited, chosen_editor, in_editor
from ...cli.visible import one_line
from ...strict_json import NotStrict
from .call_rows import Reading, argument_rows, call_head, call_rows, lasting_rows
from .editing import EDITED_CHARACTERS, EditPane, is_same
from .keys import Key
from .pane import Pane, Stage
from .person import WaitingCall
from .rows import Row, said

LARGE = 10_000
"""Characters of arguments that are laid out in a thread: the screen goes on meanwhile."""
RULE_CHARACTERS = 200
"""A rule that is longer does not stand above the keys, and is chosen where all of it is read."""
PICKS = 9
"""Choices that have a key of one digit. There are two or three."""


class Decided(Message):
    """The person made a rule of their answer: for the app, to say what it is and how it is taken back."""

    def __init__(self, words: str) -> None:
        super().__init__()
        self.words = words
        """Plain, with marks for what is hidden in them."""


class CallQuestion(Widget):
    """The question about one call, until it is answered. Holds what the person changed; shows one pane at a time."""

    DEFAULT_CSS = "CallQuestion { height: auto; width: 100%; layout: vertical; }"

    def __init__(self, stage: Stage, waiting: WaitingCall, kept_in: str, answered: Callable[[], None]) -> None:
        super().__init__()
        self.stage = stage
        self.waiting = waiting
        self.request = waiting.request
        self.kept_in = kept_in
        self.changed: dict[str, Any] | None = None
        """The arguments to run with instead."""
        self.draft: str | None = None
        """What was edited in the person's editor and could not be read: the next edit goes on with it."""
        self.unfinished: tuple[str, str] | None = None
        """An edit that was left: which argument (empty: all of them), and its text."""
        self._answered = answered
        self.pane: Pane = CallPane(self)

    def compose(self) -> ComposeResult:
        """The question itself first."""
        yield self.pane

    @property
    def arguments(self) -> dict[str, Any]:
        """What it would run with now."""
        return self.request.invocation.arguments if self.changed is None else self.changed

    @property
    def can_last(self) -> bool:
        """Whether it can be allowed for longer than once."""
        return self.changed is None and self.request.fully_shown and bool(self.request.offers)

    @property
    def can_be_refused(self) -> bool:
        """Whether it can be denied for longer than once."""
        return self.changed is None and bool(self.request.refusals)

    def settle(self, answer: Answer) -> None:
        """The answer. What waits behind it comes next."""
        if answer.scope is not Scope.ONCE and self.waiting.is_open:
            # To the app itself: this widget is taken away before what it posts would come there.
            words = decided_words(self.request, answer, self.kept_in, of_run=self.waiting.of_run)
            self.app.post_message(Decided(words))
        self.waiting.settle(answer)
        self._answered()

    def become(self, pane: Pane) -> None:
        """Shows another pane instead."""
        pane.replace(self.pane)
        self.pane = pane
        self.mount(pane)

    def ask(self, words: str = "") -> None:
        """Back to the question, with words about what became of the way there."""
        pane = CallPane(self)
        self.become(pane)
        if words:
            pane.tell(words)

    def change(self, made: dict[str, Any]) -> None:
        """Takes other arguments, and asks anew: they need a yes of their own."""
        if is_same(made, self.arguments):
            self.ask("Nothing was changed.")
            return
        self.draft = self.unfinished = None
        self.changed = None if is_same(made, self.request.invocation.arguments) else made
        self.ask("Look at it again, then answer." if self.changed else "These are the model's own arguments again.")

    @work(exclusive=True)
    async def edit_outside(self) -> None:
        """Has the arguments changed in the person's own editor. A question that is taken back ends the editor."""
        editor = chosen_editor(os.environ)
        if not editor:
            self.pane.tell("Set $VISUAL or $EDITOR to change the arguments there; e changes them here.")
            return
        text = whole_text(self.arguments) if self.draft is None else self.draft
        problem: BaseException | None = None
        try:
            with self.app.batch_update(), self.app.suspend():
                try:
                    self.draft = await in_editor(editor, text)
                except BaseException as error:
                    # `suspend` gives the screen back only to those who leave it in peace.
                    problem = error
        except SuspendNotSupported:
            problem = NotEdited("no other program can have this terminal; e changes the arguments here")
        if problem is not None and not isinstance(problem, NotEdited):
            raise problem
        try:
            if problem is not None:
                raise problem
            made = read_arguments(self.draft or "")
        except (NotEdited, NotStrict) as found:
            self.ask(f"That cannot be used: {one_line(str(found))}")
            return
        self.change(made)


class CallPane(Pane):
    """What would run, and the question whether it may."""

    def __init__(self, question: CallQuestion) -> None:
        super().__init__(question.stage)
        self._question = question
        self._helps = False
        self._made: tuple[tuple[int, bool, bool], list[Row]] | None = None

    def head(self) -> str:
        """Which tool, how risky, and where."""
        return call_head(self._question.request, self.size.width)

    async def rows(self, width: int) -> list[Row]:
        """Everything about the call, or about the keys."""
        what = (width, self.stage.is_whole, self._helps)
        if self._made is None or self._made[0] != what:
            if self._helps:
                rows = self._help_rows(width)
            elif self._is_large():
                rows = await asyncio.to_thread(self._call_rows, width)
            else:
                rows = self._call_rows(width)
            self._made = what, rows
        return self._made[1]

    def note(self) -> str:
        """What a lasting yes would mean, as long as that fits on a line."""
        offers = self._question.request.offers if self._question.can_last else ()
        keys = "s, a" if self._question.kept_in else "s"
        if not offers:
            return "It can only be allowed once."
        if len(offers) == 1:
            words = marked(offers[0].words)
            return f"{keys}: {words if len(words) <= RULE_CHARACTERS else 'you see the rule first'}"
        return f"{keys}: you choose one of {len(offers)} rules"

    def known_keys(self) -> Sequence[Key]:
        """Every way to an answer, and what helps to find one."""
        question = self._question
        keys = [Key("y", "once")]
        if question.can_last:
            keys += [Key("s", "session"), Key("a", "always")] if question.kept_in else [Key("s", "session")]
        keys += [Key("n", "no"), Key("d", "no, why")]
        if question.can_be_refused:
            keys.append(Key("N", "no, longer"))
        view = Key("v", "smaller" if self.stage.is_whole else "all")
        return [*keys, Key("e", "edit"), view, Key("?", "help")]

    def fewest_keys(self) -> Sequence[Key]:
        """Yes and no; help names the rest."""
        return [known for known in self.known_keys() if known.key in ("y", "n", "?")]

    def is_yes(self, key: str) -> bool:
        """Each of those that let it run."""
        return not self._helps and key in ("y", "s", "a")

    async def press(self, key: str) -> None:
        """An answer, or a way to one."""
        question = self._question
        if self._helps and key not in "?v":
            self._show_help(False)
            self.tell("That was the help: here is the question again, and nothing was answered.")
            return
        match key:
            case "y":
                question.settle(Answer(allowed=True, arguments=question.changed))
            case "n":
                question.settle(deny())
            case "d":
                question.become(ReasonPane(question))
            case "s":
                self._lasting(Scope.SESSION)
            case "a":
                self._lasting(Scope.ALWAYS)
            case "N":
                self._refused_for_longer()
            case "e":
                self._edit()
            case "E":
                question.edit_outside()
            case "v":
                self.move("whole")
            case "]" | "[":
                self.move("next" if key == "]" else "previous")
            case "?":
                self._show_help(not self._helps)
            case _:
                names = ", ".join(known.name for known in self.known_keys())
                self.tell(f"Nothing was answered. The keys are {names}.")

    def _edit(self) -> None:
        question = self._question
        if len(question.request.invocation.raw_arguments) > EDITED_CHARACTERS:
            self.tell("The arguments are too long to be changed here. E changes them in $VISUAL or $EDITOR.")
            return
        question.become(EditPane(question))

    def _lasting(self, scope: Scope) -> None:
        question = self._question
        if not question.can_last or (scope is Scope.ALWAYS and not question.kept_in):
            how = "once" if not question.can_last else "once or for this session"
            self.tell(f"This can only be allowed {how}, and nothing was answered.")
            return
        offers = question.request.offers
        if len(offers) == 1 and len(marked(offers[0].words)) <= RULE_CHARACTERS:
            question.settle(Answer(allowed=True, scope=scope))
            return
        question.become(PickPane(question, True, [(scope, at) for at in range(len(offers))]))

    def _refused_for_longer(self) -> None:
        question = self._question
        if not question.can_be_refused:
            self.tell("This can only be denied once, and nothing was answered.")
            return
        scopes = (Scope.SESSION, Scope.ALWAYS) if question.kept_in else (Scope.SESSION,)
        picks = [(scope, at) for at in range(len(question.request.refusals)) for scope in scopes]
        question.become(PickPane(question, False, picks))

    def _show_help(self, helps: bool) -> None:
        self._helps = helps
        self.stage.attention.changed()

    def _is_large(self) -> bool:
        return len(self._question.request.invocation.raw_arguments) > LARGE

    def _call_rows(self, width: int) -> list[Row]:
        question = self._question
        rows = call_rows(Reading(question.request, question.changed, self.stage.is_whole), width)
        return rows + (lasting_rows(question.request, width, question.kept_in) if question.changed is None else [])

    def _help_rows(self, width: int) -> list[Row]:
        question, of_run = self._question, self._question.waiting.of_run
        lines = ["y: run it, this once."]
        if question.can_last:
            lines.append(
                f"s: run it, and all that fits the rule that it names, until the {'run' if of_run else 'session'} ends."
            )
            if question.kept_in:
                lines.append(f"a: the same from now on, {'where its worker is' if of_run else 'in this workspace'}.")
        escape = (
            "Esc leaves the run, and the question waits."
            if of_run
            else "Esc ends the whole answer; nothing of it runs."
        )
        lines += ["n: do not run it.", "d: do not run it, and tell the model why."]
        if question.can_be_refused:
            lines.append("N: do not run it, nor all that fits a rule that you choose.")
        lines += [
            "e: change the arguments first. E: the same in $VISUAL or $EDITOR.",
            "v: all of it, on all of the screen; v again makes it smaller.",
            "↑ ↓ PgUp PgDn Home End: read on. A yes is for all of it, also for what is out of sight.",
            "Tab, [ and ]: the others that wait.",
            f"Ctrl+T: to your message and back. {escape}",
            "Enter, other keys and what is pasted answer nothing; neither does a key in the first moment,"
            " nor a yes that is the beginning of a word.",
        ]
        return [row for line in lines for row in said(line, width)]


class PickPane(Pane):
    """Which rule is to be made of the answer."""

    def __init__(self, question: CallQuestion, allowed: bool, picks: Sequence[tuple[Scope, int]]) -> None:
        super().__init__(question.stage)
        self._question = question
        self._allowed = allowed
        self._picks = tuple(picks[:PICKS])

    def head(self) -> str:
        """What is being chosen."""
        verb = "Allow" if self._allowed else "Deny"
        longer = f" {self._how_long(self._picks[0][0])}" if self._allowed else " for longer"
        return f"{verb} {marked(self._question.request.invocation.tool_name)[:60]}{longer}: which?"

    async def rows(self, width: int) -> list[Row]:
        """The rules, with their numbers."""
        offers: Sequence[Offer] = self._question.request.offers if self._allowed else self._question.request.refusals
        rows = list[Row]()
        for number, (scope, at) in enumerate(self._picks, 1):
            longer = "" if self._allowed else f"{self._how_long(scope)}: "
            rows += said(f"{number}. {longer}{marked(offers[at].words)}", width)
        if self._question.kept_in and any(scope is Scope.ALWAYS for scope, _ in self._picks):
            rows += said(f"What holds always is kept in {marked(self._question.kept_in)}", width, "dim")
        return rows

    def _how_long(self, scope: Scope) -> str:
        return how_long(scope, of_run=self._question.waiting.of_run)

    def known_keys(self) -> Sequence[Key]:
        """A number, or back."""
        numbers = [Key(str(number), "this") for number in range(1, len(self._picks) + 1)]
        return [*numbers, Key("escape", "back", "Esc")]

    def is_yes(self, key: str) -> bool:
        """A number is one, where something would be allowed."""
        return self._allowed and key.isdecimal()

    async def press(self, key: str) -> None:
        """The number of a rule."""
        if key == "escape":
            self._question.ask()
        elif key in map(str, range(1, len(self._picks) + 1)):
            scope, at = self._picks[int(key) - 1]
            self._question.settle(Answer(allowed=self._allowed, scope=scope, offer=at))
        else:
            self.tell("There is no such number, and nothing was answered.")


class ReasonPane(Pane):
    """A no, with words that the model is told."""

    def __init__(self, question: CallQuestion) -> None:
        super().__init__(question.stage, field=Input(placeholder="why not", max_length=MAX_REASON, compact=True))
        self._question = question

    def head(self) -> str:
        """What is refused."""
        return f"Why not {marked(self._question.request.invocation.tool_name)[:60]}? The model is told."

    async def rows(self, width: int) -> list[Row]:
        """What would have run, to speak of it."""
        return list(argument_rows(self._question.request.shown, width))

    def known_keys(self) -> Sequence[Key]:
        """Send, or back."""
        return [Key("enter", "send", "Enter"), Key("escape", "back", "Esc")]

    async def press(self, key: str) -> None:
        """Sends what is there, if there is something."""
        assert self.field is not None
        reason = self.field.value.strip()
        if key == "escape":
            self._question.ask()
        elif key == "enter" and reason:
            self._question.settle(deny(reason[:MAX_REASON]))
        else:
            self.tell("Write why, or go back with Esc and answer n.")
