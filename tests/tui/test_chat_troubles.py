"""What goes wrong in a chat, or comes at the worst moment: nothing is lost, nothing runs unasked, the chat goes on."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest

from toolwire.chat.typed import read_typed
from toolwire.errors import ConfigError
from toolwire.testing.bodies import body, events
from toolwire.testing.pieces import Call, End, Text
from toolwire.tui.prompt import Prompt
from toolwire.tui.questions.questions import Questions
from tui.chatting import Slow, chat, home

__all__ = ["home"]

WIRE = "openai-chat"
DONE = body(WIRE, Text("All done."), End())


def half_way() -> Slow:
    first, *rest = events(WIRE, Text("One moment."), End())
    return Slow(first + rest.pop(0), b"".join(rest))


async def test_a_fault_of_a_command_is_told_and_the_chat_goes_on(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def run(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    async with chat(home, DONE) as open_chat:
        with monkeypatch.context() as patched:
            patched.setattr("toolwire.tui.app.run_command", run)
            await open_chat.type("/help")
            await open_chat.until_seen("No space left on device")
        await open_chat.type("Go on")
        await open_chat.until_seen("All done.")


async def test_a_fault_in_the_middle_of_an_answer_is_told(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with chat(home, DONE) as open_chat:
        with monkeypatch.context() as patched:
            patched.setattr(open_chat.talk, "run", None)
            await open_chat.type("Go")
            await open_chat.until_seen("TypeError")
        await open_chat.type("Go on")
        await open_chat.until_seen("All done.")


async def test_a_file_that_cannot_be_attached_is_told_of_and_the_question_comes_back(home: Path) -> None:
    os.mkfifo(home / "pipe")
    async with chat(home) as open_chat:
        await open_chat.type("Look at @pipe")
        await open_chat.until_seen("cannot be attached")
        assert open_chat.app.query_one(Prompt).text == "Look at @pipe"


async def test_a_second_command_of_ones_own_comes_back_and_shows_nothing(home: Path) -> None:
    async with chat(home) as open_chat:
        await open_chat.type("!sleep 30")
        await open_chat.until_seen("running for")
        await open_chat.type("!echo second")
        await open_chat.until_seen("a command of yours is running")
        assert open_chat.app.query_one(Prompt).text == "!echo second"
        assert open_chat.screen().count("! echo") == 0
        await open_chat.pilot.press("escape")
        await open_chat.until_seen("stopped after")


async def test_an_attachment_that_takes_long_holds_nothing_up_and_keeps_its_place(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    through = asyncio.Event()

    async def read(text: str, **others: Any) -> Any:
        if "slow" in text:
            await through.wait()
        return await read_typed(text, **others)

    monkeypatch.setattr("toolwire.tui.typed_lines.read_typed", read)
    async with chat(home, DONE, DONE) as open_chat:
        await open_chat.type("a slow one")
        await open_chat.type("a quick one")
        await open_chat.pilot.press("h", "i")
        assert open_chat.app.query_one(Prompt).text == "hi"
        assert not open_chat.provider.bodies
        through.set()
        await open_chat.until(lambda: len(open_chat.provider.bodies) == 2)
        assert b"a slow one" in open_chat.provider.bodies[0]
        assert b"a quick one" not in open_chat.provider.bodies[0]


async def test_a_question_that_comes_back_leaves_what_was_typed_meanwhile(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    through = asyncio.Event()

    async def read(text: str, **others: Any) -> Any:
        await through.wait()
        raise ConfigError("the server does not answer")

    monkeypatch.setattr("toolwire.tui.typed_lines.read_typed", read)
    async with chat(home) as open_chat:
        await open_chat.type("the first")
        await open_chat.pilot.press("h", "i")
        through.set()
        await open_chat.until_seen("the server does not answer")
        assert open_chat.app.query_one(Prompt).text == "the first\nhi"


async def test_escape_at_the_very_beginning_of_an_answer_stops_it(home: Path) -> None:
    stream = half_way()
    async with chat(home, stream, DONE) as open_chat:
        open_chat.app._typed.add("Go")
        await open_chat.until(lambda: open_chat.app._answering)
        open_chat.app.action_stop()
        await open_chat.until_ready()
        await open_chat.until_seen("nterrupted", "ready")


async def test_escape_at_the_very_end_of_an_answer_keeps_back_what_waits(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream = half_way()
    async with chat(home, stream, DONE) as open_chat:
        await open_chat.type("First")
        await open_chat.until_seen("One")
        await open_chat.type("Second")
        await open_chat.until_seen("⧗ Second")
        draw = open_chat.app.conversation.draw

        async def drawn(**others: Any) -> None:
            if not open_chat.talk.running:
                open_chat.app.action_stop()
            await draw(**others)

        monkeypatch.setattr(open_chat.app.conversation, "draw", drawn)
        stream.go_on(len(stream.pieces))
        await open_chat.until_ready()
        assert open_chat.app.query_one(Prompt).text == "Second"
        assert len(open_chat.provider.bodies) == 1


async def test_what_waits_comes_back_when_the_provider_fails(home: Path) -> None:
    first, *_ = events(WIRE, Text("One moment."), End())
    stream = Slow(first, b"data: nonsense\n\n")
    async with chat(home, stream, DONE, DONE) as open_chat:
        await open_chat.type("First")
        await open_chat.until(lambda: open_chat.provider.bodies)
        await open_chat.type("Second")
        await open_chat.type("Third")
        await open_chat.until_seen("⧗ Third")
        stream.go_on(2)
        await open_chat.until_ready()
        assert open_chat.app.query_one(Prompt).text == "Second\nThird"
        assert len(open_chat.provider.bodies) == 1


async def test_what_ctrl_c_clears_is_one_key_away(home: Path) -> None:
    async with chat(home) as open_chat:
        prompt = open_chat.app.query_one(Prompt)
        await open_chat.pilot.press("h", "i", "ctrl+c")
        assert prompt.text == ""
        await open_chat.pilot.press("up")
        assert prompt.text == "hi"


async def test_a_session_that_cannot_be_shown_is_told_of(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with chat(home, DONE) as open_chat:

        def record() -> None:
            raise ConfigError("the session is damaged")

        monkeypatch.setattr(open_chat.talk, "record", record)
        await open_chat.app.reload()
        await open_chat.until_seen("the session is damaged")


async def test_the_end_of_the_chat_waits_for_the_answer_that_it_stops(home: Path) -> None:
    async with chat(home, half_way()) as open_chat:
        await open_chat.type("Go")
        await open_chat.until_seen("One")
        task = open_chat.app._answering
        assert task is not None
        await open_chat.pilot.press("ctrl+q")
        await open_chat.until(lambda: not open_chat.app.is_running)
    assert task.done()
    assert task.cancelled() or task.exception() is None


async def test_a_bug_prints_no_values(home: Path) -> None:
    async with chat(home) as open_chat:
        app = open_chat.app
        app._handle_exception(RuntimeError("secret"))
        await open_chat.until(lambda: not app.is_running)
        assert isinstance(app.fault, RuntimeError)
        assert not app._exit_renderables
        app._exception = None  # or the pilot would raise it


async def test_an_unknown_theme_is_an_error_that_names_the_others(home: Path) -> None:
    with pytest.raises(ConfigError, match="no theme 'nosuch'") as raised:
        await chat(home, theme="nosuch").__aenter__()
    assert "textual-light" in raised.value.hint


async def test_shift_tab_in_a_list_changes_no_mode_and_the_page_keys_are_its_own(home: Path) -> None:
    async with chat(home) as open_chat:
        mode = open_chat.talk.mode
        await open_chat.type("/mode")
        await open_chat.until_seen("What runs without a question?")
        await open_chat.pilot.press("shift+tab", "pagedown", "ctrl+t", "ctrl+up")
        assert open_chat.talk.mode is mode
        await open_chat.pilot.press("escape", "shift+tab")
        assert open_chat.talk.mode is not mode


async def test_escape_takes_back_what_is_still_being_read(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def read(text: str, **others: Any) -> Any:
        await asyncio.Event().wait()

    monkeypatch.setattr("toolwire.tui.typed_lines.read_typed", read)
    async with chat(home) as open_chat:
        await open_chat.type("look at @far")
        await open_chat.type("and then this")
        await open_chat.pilot.press("escape")
        assert open_chat.app.query_one(Prompt).text == "look at @far\nand then this"
        await open_chat.until_ready()


async def test_up_takes_back_what_waits_last(home: Path) -> None:
    stream = half_way()
    async with chat(home, stream, DONE) as open_chat:
        await open_chat.type("First")
        await open_chat.until_seen("One")
        await open_chat.type("Second")
        await open_chat.type("Third")
        await open_chat.until_seen("⧗ Third")
        await open_chat.pilot.press("up")
        assert open_chat.app.query_one(Prompt).text == "Third"
        await open_chat.until(lambda: "⧗ Third" not in open_chat.screen())
        stream.go_on(len(stream.pieces))
        await open_chat.until_seen("All done.")
        assert len(open_chat.provider.bodies) == 2


async def test_a_question_waits_until_an_earlier_conversation_is_on_the_screen(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with chat(home, DONE) as open_chat:
        shown, through = open_chat.app.conversation.show, asyncio.Event()

        async def show(past: Any) -> None:
            await through.wait()
            await shown(past)

        monkeypatch.setattr(open_chat.app.conversation, "show", show)
        loading = asyncio.create_task(open_chat.app.reload())
        await open_chat.type("Go")
        await open_chat.until_seen("⧗ Go")
        assert not open_chat.provider.bodies
        through.set()
        await loading
        await open_chat.until_seen("All done.")


async def test_shift_tab_at_a_question_changes_no_mode(home: Path) -> None:
    ask = body(WIRE, Call("c1", "write_file", '{"path": "made.txt", "content": "made"}'), End())
    async with chat(home, ask, DONE) as open_chat:
        mode = open_chat.talk.mode
        await open_chat.type("Go")
        await open_chat.until_seen("risk")
        await open_chat.until(lambda: open_chat.app.query_one(Questions).has_focus_within)
        await open_chat.pilot.press("shift+tab")
        assert open_chat.talk.mode is mode
        assert open_chat.app.person.waiting
        await open_chat.pilot.press("ctrl+t", "shift+tab")
        assert open_chat.talk.mode is not mode
        assert not (home / "made.txt").exists()
