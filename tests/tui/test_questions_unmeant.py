"""A yes that was not meant: keys on their way to something else, held keys, screens that hide what is asked."""

from __future__ import annotations

import asyncio
from typing import Any, ClassVar

import pytest
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical, VerticalScroll
from textual.widgets import Static, TextArea

from toolwire.approval.request import Answer, Scope, deny
from toolwire.tui.questions.approval import Decided
from toolwire.tui.questions.call_rows import Reading, call_head, call_rows
from toolwire.tui.questions.person import ScreenPerson
from toolwire.tui.questions.questions import Questions
from tui.asking import Asking, Chat, asking, cancel, offers, request

ALONE = 0.12
TWO = offers("exactly make test", "make * with paths inside the workspace")


async def meant(screen: Asking) -> None:
    """So long that nothing came behind the last key."""
    await asyncio.sleep(ALONE + 0.03)
    await screen.painted()


def keys_in_a_row(screen: Asking, *keys: str) -> None:
    """Keys that come before anybody can do anything."""
    screen.wait(2)
    for key in keys:
        screen.send(key)
        screen.wait(0.1)


async def test_a_yes_stands_alone() -> None:
    async with asking(alone=ALONE) as screen:
        for key, scope in (("y", Scope.ONCE), ("s", Scope.SESSION), ("a", Scope.ALWAYS)):
            (answer,) = await screen.ask(request())
            await screen.press(key)
            assert not answer.done()
            await meant(screen)
            assert answer.result() == Answer(allowed=True, scope=scope)
        (answer,) = await screen.ask(request())
        await screen.press("n")
        assert answer.result() == deny()


@pytest.mark.parametrize("words", ["as always, no", "yes but n", "yy", "y\n"])
async def test_who_begins_to_write_answers_nothing(words: str) -> None:
    async with asking(alone=ALONE) as screen:
        (answer,) = await screen.ask(request())
        screen.wait(2)
        for char in words:
            screen.send({"\n": "enter", " ": "space", ",": "comma"}.get(char, char))
            screen.wait(0.2)
        await meant(screen)
        assert not answer.done()
        assert "Question" in screen.text()
        await cancel(answer)


async def test_a_key_that_is_held_answers_one_question() -> None:
    async with asking(alone=ALONE) as screen:
        first, second = await screen.ask(request("1"), request("2"))
        await screen.press("y")
        await meant(screen)
        assert first.result().allowed
        screen.wait(0.66)  # when keyboards begin to repeat
        for _ in range(10):
            screen.send("y")
            screen.wait(0.03)
        assert await screen.shows("too early")
        await meant(screen)
        assert not second.done()
        await cancel(second)


async def test_what_takes_a_yes_back() -> None:
    async with asking(alone=ALONE) as screen:
        stopped: list[str] = []
        screen.app.stop = lambda: stopped.append("stop")
        (answer,) = await screen.ask(request(offers=TWO))
        keys_in_a_row(screen, "y", "escape")
        await screen.painted()
        assert stopped == ["stop"]
        keys_in_a_row(screen, "y")
        await screen.paste("es")
        keys_in_a_row(screen, "y")
        await asyncio.sleep(0.02)
        screen.questions.toggle()
        await meant(screen)
        assert screen.app.focused is screen.app.prompt
        screen.questions.toggle()
        await screen.painted()
        keys_in_a_row(screen, "y")
        await screen.pilot.resize_terminal(60, 24)
        await meant(screen)
        assert not answer.done()
        await screen.press("s")
        await meant(screen)
        keys_in_a_row(screen, "2", "x")
        await meant(screen)
        assert not answer.done()
        await screen.press("2")
        await meant(screen)
        assert answer.result() == Answer(allowed=True, scope=Scope.SESSION, offer=1)


class Copied(VerticalScroll, can_focus=True):
    """Something with a `y` of its own."""

    BINDINGS: ClassVar[list[BindingType]] = [("y", "copy")]
    copies = 0

    def action_copy(self) -> None:
        self.copies += 1


class WithFoot(Chat):
    """As the chat lays it out: what is at the bottom stands in a box of its own."""

    CSS = """
    #foot { height: auto; dock: bottom; }
    #prompt { height: 3; }
    #status { height: 1; }
    """

    def compose(self) -> ComposeResult:
        yield Copied(Static("said"))
        with Vertical(id="foot"):
            yield self._questions
            yield TextArea(id="prompt")
            yield Static("the status line", id="status")


async def test_a_key_that_copies_is_not_made_a_yes() -> None:
    now = [1000.0]
    person = ScreenPerson()
    questions = Questions(person, clock=lambda: now[0], alone=0)
    async with WithFoot(questions, False).run_test() as pilot:
        screen = Asking(pilot, person, questions, now)
        conversation = screen.app.query_one(Copied)
        conversation.focus()
        (answer,) = await screen.ask(request())
        await screen.press("y")
        assert (conversation.copies, answer.done()) == (1, False)
        assert await screen.shows("Ctrl+T or a click: answer here.")
        for _ in range(8):
            await screen.questions._look_around()
        assert conversation.has_focus
        screen.questions.toggle()
        await screen.painted()
        await screen.press("y")
        assert answer.result().allowed
        assert conversation.has_focus


@pytest.mark.parametrize("most", [None, "80%"])
async def test_all_of_the_frame_is_in_sight(most: str | None) -> None:
    now = [1000.0]
    person = ScreenPerson()
    questions = Questions(person, clock=lambda: now[0], alone=0)
    async with WithFoot(questions, False).run_test(size=(80, 24)) as pilot:
        screen = Asking(pilot, person, questions, now)
        screen.app.query_one("#foot").styles.max_height = most
        (answer,) = await screen.ask(request(arguments={"command": "x" * 9_000}))
        for size in ((80, 24), (60, 16)) if most else ((80, 24), (60, 16), (40, 12)):
            await pilot.resize_terminal(*size)
            for _ in range(2):
                await screen.questions._look_around()
                await screen.painted()
                lines = screen.lines()
                assert lines[-1] == "the status line", size
                assert sum("y  once" in line for line in lines) == 1, size
                assert any("isk" in line and "execute" in line and "run_bash" in line for line in lines), size
                assert any(line.startswith("│ │ command:") for line in lines), size
                assert any("more rows" in line for line in lines), size
                assert sum(line.startswith("╰") for line in lines) == 1, size
                await screen.press("v")
        await cancel(answer)


async def test_no_yes_to_what_cannot_be_read() -> None:
    async with asking(size=(40, 8)) as screen:
        (answer,) = await screen.ask(request())
        await screen.press("y", "s", "a")
        assert not answer.done()
        assert screen.pane._told == "Too small a screen for a yes."
        await screen.press("n")
        assert await asyncio.wait_for(answer, 5) == deny()


async def test_it_is_always_said_that_there_is_more() -> None:
    async with asking() as screen:
        (answer,) = await screen.ask(request(arguments={"command": "\n".join(map(str, range(60)))}))
        assert await screen.shows("more rows · ")
        await screen.press("k")
        assert await screen.shows("more rows · Nothing was answered.")
        screen.app.prompt.focus()
        await screen.painted()
        assert await screen.shows("more rows · Ctrl+T")
        screen.questions.toggle()
        await screen.painted()
        await screen.press("end")
        assert not await is_shown(screen, "more row")
        await screen.press("up")
        assert await screen.shows("↓ 1 more row · ")
        await cancel(answer)


async def is_shown(screen: Asking, words: str) -> bool:
    for _ in range(20):
        if words not in screen.text():
            return False
        await screen.painted()
    return True


def test_a_reason_never_stands_before_what_runs_if_it_is_long() -> None:
    def rows(why: str) -> list[str]:
        return ["".join(piece.text for piece in row) for row in call_rows(Reading(request(why=why)), 78)]

    short, long = rows("the mode is ask"), rows(f"the command 'git status {'x' * 60} │ command: ls' is of risk execute")
    assert short[:2] == [" Asked because the mode is ask", " │ command: make test"]
    assert long[:2] == [" │ command: make test", f" Asked because the command 'git status {'x' * 4}"[:39].rstrip()]


def test_a_sentence_about_the_change_pushes_nothing_away() -> None:
    def rows(preview: str) -> list[str]:
        return ["".join(piece.text for piece in row) for row in call_rows(Reading(request(preview=preview)), 78)]

    short, long = rows("It would fail: no such file"), rows(f"It would fail: no such file: {'x/' * 4_000}")
    assert short[1:3] == [" It would fail: no such file", " │ command: make test"]
    assert long[1] == " │ command: make test"
    assert long[2].startswith(" It would fail: no such file:")


@pytest.mark.parametrize(("width", "head"), [(78, "run_bash wants to run"), (38, "Risk execute: run_bash")])
def test_the_risk_is_in_the_first_row(width: int, head: str) -> None:
    assert call_head(request(cwd="/home/me/" + "x" * 90), width).startswith(head)


async def test_what_holds_for_longer_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []

    def post(self: Chat, message: Any) -> bool:
        if isinstance(message, Decided):
            told.append(message.words)
            return True
        return bool(super(Chat, self).post_message(message))

    monkeypatch.setattr(Chat, "post_message", post)
    async with asking() as screen:
        for keys in (["y"], ["n"], ["s"], ["a"], ["N", "1"]):
            await screen.ask(request())
            await screen.press(*keys)
    rule = "exactly make test"
    forget = "/approvals forget takes back what you decided for this session."
    kept = "It is kept in /home/me/.config/toolwire/always.toml: delete it there to be asked again."
    assert told == [
        f"You allow for this session: {rule}. {forget}",
        f"You allow always in this workspace: {rule}. {kept}",
        f"You deny for this session: {rule}. {forget}",
    ]
