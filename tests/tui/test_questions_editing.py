"""Arguments that the person changes: checked, shown anew, and run only after another yes."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from toolwire.approval.request import Answer
from toolwire.tui.questions import approval
from toolwire.tui.questions.editing import EditPane
from tui.asking import Asking, Chat, asking, cancel, request
from tui.gallery import keep

FILE = {"path": "a.md", "content": "one\ntwo"}

EDITS: list[tuple[str, str, dict[str, Any], str, dict[str, Any] | str]] = [
    ("a command", "run_bash", {"command": "make test", "n": 1}, "make all", {"command": "make all", "n": 1}),
    ("a long text", "write_file", FILE, "one\n\nthree‹TAB›", {"path": "a.md", "content": "one\n\nthree\t"}),
    ("an empty text", "write_file", FILE, "", {"path": "a.md", "content": ""}),
    ("a mark that is none", "write_file", FILE, "‹what›", "a ‹ begins the"),
    ("all of them", "add", {"a": 1, "b": "x"}, "a: 2\nb: y", {"a": 2, "b": "y"}),
    ("as JSON", "add", {"a": 1, "b": "x"}, '{"a": true}', {"a": True}),
    ("no JSON", "add", {"a": 1}, '{"a": 1, "a": 2}', "twice"),
    ("a slip of the hand", "add", {"a": 1}, "a 1", "line 1: no argument begins here"),
    ("the same", "add", {"a": 1}, "a: 1", "Nothing was changed."),
]


def area(screen: Asking) -> Any:
    """Where the text is changed."""
    return screen.app.query_one(EditPane).area


async def test_edits() -> None:
    async with asking() as screen:
        for name, tool, arguments, text, expected in EDITS:
            (answer,) = await screen.ask(request(tool=tool, arguments=arguments))
            await screen.press("e")
            assert screen.app.focused is area(screen), name
            area(screen).text = text
            await screen.press("ctrl+s")
            assert not answer.done()
            if isinstance(expected, str):
                assert await screen.shows(expected), name
                await cancel(answer)
                await screen.painted()
                continue
            assert await screen.shows("You changed the arguments."), name
            await screen.press("s", "a")  # what was changed is asked about once
            assert not answer.done(), name
            await screen.press("y")
            assert answer.result() == Answer(allowed=True, arguments=expected), name


async def test_keys_in_the_text_answer_nothing() -> None:
    async with asking() as screen:
        (answer,) = await screen.ask(request(arguments={"command": ""}))
        await screen.press("e", "y", "s", "enter", "a", "tab", "N")
        assert area(screen).text.split() == ["ys", "a", "N"]
        await screen.press("ctrl+s")
        assert not answer.done()
        await screen.press("n")
        assert answer.result() == Answer(allowed=False)


async def test_what_was_written_is_kept_on_the_way_back() -> None:
    async with asking() as screen:
        (answer,) = await screen.ask(request(tool="write_file", arguments=FILE))
        await screen.press("e", "x", "escape")
        assert await screen.shows("What you wrote is kept")
        await screen.press("e")
        assert area(screen).text == "xone\ntwo"
        await screen.press("ctrl+o")
        assert area(screen).text == "path: a.md\ncontent:\n| xone\n| two"
        await screen.press("ctrl+o", "backspace", "ctrl+s")
        assert await screen.shows("You changed the arguments.")
        await screen.press("e")
        area(screen).text = FILE["content"]
        await screen.press("ctrl+s")
        assert await screen.shows("the model's own arguments again")
        await screen.press("y")
        assert answer.result() == Answer(allowed=True)


async def test_a_change_of_a_file_is_not_shown_for_changed_arguments() -> None:
    async with asking() as screen:
        change = "--- a.md\n+++ a.md\n@@ -1 +1 @@\n-zero\n+one"
        (answer,) = await screen.ask(
            request(tool="write_file", arguments=FILE, preview=change, parts=("the path 'a.md'",))
        )
        assert "-zero" in screen.text()
        await screen.press("e")
        area(screen).text = "раypal"
        await screen.press("ctrl+s")
        assert await screen.shows("What that would change in the file is not shown.")
        assert "-zero" not in screen.text()
        assert "mixes Cyrillic and Latin" in screen.text()
        await cancel(answer)


async def test_too_long_for_here() -> None:
    async with asking() as screen:
        (answer,) = await screen.ask(request(arguments={"command": "x" * 50_001}))
        await screen.press("e")
        assert not screen.app.query(EditPane)
        assert await screen.shows("too long to be changed here")
        await cancel(answer)


async def test_the_persons_own_editor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.delenv("EDITOR", raising=False)
    given: list[str] = []
    made = ["no arguments", "command: make all"]
    entered: list[str] = []

    async def in_editor(editor: str, text: str) -> str:
        given.append(text)
        return made.pop(0)

    @contextmanager
    def suspend(self: Chat) -> Iterator[None]:
        entered.append("away")
        yield
        entered.append("back")

    async with asking() as screen:
        (answer,) = await screen.ask(request())
        await screen.press("E")
        assert await screen.shows("Set $VISUAL or $EDITOR")
        monkeypatch.setenv("EDITOR", "ed")
        await screen.press("E")
        assert await screen.shows("no other program can have this terminal")
        monkeypatch.setattr(Chat, "suspend", suspend)
        monkeypatch.setattr(approval, "in_editor", in_editor)
        await screen.press("E")
        assert await screen.shows("That cannot be used: line 1")
        await screen.press("E")
        assert await screen.shows("You changed the arguments.")
        assert given == ["command: make test", "no arguments"]
        assert entered == ["away", "back"] * 2
        await screen.press("y")
        assert answer.result() == Answer(allowed=True, arguments={"command": "make all"})


async def test_an_editor_ends_with_its_question(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EDITOR", "ed")
    ended: list[str] = []

    async def in_editor(editor: str, text: str) -> str:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("the editor")
        raise AssertionError

    @contextmanager
    def suspend(self: Chat) -> Iterator[None]:
        yield
        ended.append("the pause of the screen")

    monkeypatch.setattr(Chat, "suspend", suspend)
    monkeypatch.setattr(approval, "in_editor", in_editor)
    async with asking() as screen:
        (answer,) = await screen.ask(request())
        screen.wait(1)
        screen.send("E")
        await screen.pilot.pause(0.05)
        assert not ended
        await cancel(answer)
        for _ in range(100):
            if len(ended) == 2:
                break
            await screen.pilot.pause(0.01)
        assert ended == ["the editor", "the pause of the screen"]
        await screen.painted()
        assert screen.questions.front is None


async def test_picture() -> None:
    async with asking() as screen:
        text = 'def main() -> None:\n\tprint("hello")\n'
        (answer,) = await screen.ask(request(tool="write_file", arguments={"path": "hello.py", "content": text}))
        await screen.press("e")
        assert "‹TAB›print" in screen.text()
        assert "Change content of write_file" in screen.text()
        keep(screen.app, "33-change-it-first", "Change it first", "What you change is asked about once more.")
        await cancel(answer)
