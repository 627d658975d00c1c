"""Questions of the model, forms of servers, who is asked when there is no screen, and questions that are taken back."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
from textual.screen import ModalScreen

from toolwire.approval.request import Answer
from toolwire.errors import McpFailed
from toolwire.tui.questions.form import FieldBox
from toolwire.tui.questions.person import ScreenPerson
from toolwire.tui.questions.questions import Questions
from tui.asking import Asking, Chat, asking, cancel, offers, request
from tui.gallery import keep
from tui.screens import becomes

GONE = Answer(allowed=False, reason="whoever was asked has gone", who="closed")
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "title": "Your name", "description": "As on your card."},
        "size": {"type": "string", "enum": ["small", "large"], "enumNames": ["S", "L"]},
        "days": {"type": "array", "items": {"type": "string", "enum": ["mon", "tue", "wed"]}},
        "count": {"type": "integer", "minimum": 1, "default": 3},
        "api_token": {"type": "string"},
        "agree": {"type": "boolean"},
    },
    "required": ["name", "agree"],
}


def later(waiting: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
    return asyncio.ensure_future(waiting)


async def test_a_question_of_the_model() -> None:
    async with asking() as screen:
        cases: list[tuple[list[str], list[str], str]] = [
            (["red", "blue"], ["2", "enter"], "blue"),
            (["red", "blue"], ["enter", "3", "enter"], "3"),
            ([], ["h", "i", "space", "y", "enter"], "hi y"),
            (["a\nb"], ["1", "enter"], "a\nb"),
        ]
        for options, keys, expected in cases:
            answer = later(screen.person.ask_person("Which [b]colour[/b]?\n y  once", options))
            await asyncio.sleep(0)
            await screen.painted()
            assert await screen.shows("│ │ Which [b]colour[/b]?")
            assert "│ │  y  once" in screen.text()
            for key in keys:
                assert not answer.done()
                await screen.press(key)
            assert await answer == expected


async def test_nothing_hides_in_words_of_others() -> None:
    async with asking(size=(80, 40)) as screen:
        asked = later(screen.person.ask_person("a\u202eb\x1b[2J", ["c\u200bd"]))
        await asyncio.sleep(0)
        await screen.painted()
        assert await screen.shows("a‹U+202E›b‹ESC›[2J")
        assert await screen.shows("1. c‹U+200B›d")
        await cancel(asked)
        field = {"type": "string", "title": "[b]t\u202e", "description": "d\u2066", "enum": ["e\u200b"]}
        form = later(screen.person.fill_in("s\u202e", "m\x1b", {"type": "object", "properties": {"n\u200b x": field}}))
        await asyncio.sleep(0)
        await screen.painted()
        for words in ("server s‹U+202E›", "m‹ESC›", "n‹U+200B› x", "[b]t‹U+202E›", "d‹U+2066›", "e‹U+200B›"):
            assert await screen.shows(words), words
        assert not any(char in screen.text() for char in "\u202e\u200b\u2066\x1b")
        await cancel(form)


async def test_an_enter_that_comes_too_early_sends_nothing() -> None:
    async with asking() as screen:
        answer = later(screen.person.ask_person("Which?", ["red"]))
        await asyncio.sleep(0)
        await screen.painted()
        await screen.press("1", "enter", after=0.1)
        assert not answer.done()
        assert await screen.shows("too early")
        await screen.press("enter")
        assert await answer == "red"


async def ask_form(screen: Asking, schema: dict[str, Any] = SCHEMA) -> asyncio.Future[Any]:
    answer = later(screen.person.fill_in("weather", "Tell us\nmore.", schema))
    await asyncio.sleep(0)
    await screen.painted()
    return answer


def fill(screen: Asking, **values: str) -> None:
    for box in screen.app.query(FieldBox):
        if box.asked.name in values:
            box.input.value = values[box.asked.name]


async def test_a_form_is_filled_in_looked_at_and_sent() -> None:
    async with asking(size=(80, 56)) as screen:
        answer = await ask_form(screen)
        assert await screen.shows("The MCP server weather asks you to fill in a form (6 fields)")
        assert await screen.shows("As on your card.")
        assert await screen.shows("Look out: this looks like a password")
        await screen.press("A", "n", "n", "enter", "2", "tab", "1", "comma", "3", "enter", "enter", "enter", "y")
        assert await screen.shows("[x] 2. large (L)")
        assert "[x] 3. wed" in screen.text()
        keep(
            screen.app, "34-a-form-of-a-server", "A form of a server", "You see all of it once more before it is sent."
        )
        await screen.press("enter")
        assert await screen.shows("This would be sent to the MCP server weather")
        await screen.press("y", after=0.2)
        assert not answer.done()
        await screen.press("enter", "x", "tab")
        assert not answer.done()
        await screen.press("y")
        assert await answer == {"name": "Ann", "size": "large", "days": ["mon", "wed"], "count": 3, "agree": True}


async def test_what_a_form_does_not_take() -> None:
    async with asking(size=(80, 90)) as screen:
        answer = await ask_form(screen)
        fill(screen, name=" ", size="3", days="1, 9", count="0", agree="maybe")
        await screen.press("ctrl+s")
        for words in (
            "This one is required.",
            "it is a number from 1 to 2",
            "it is a number from 1 to 3",
            "0 is less than the minimum of 1",
            "it is y or n",
            "5 of the fields cannot be sent",
        ):
            assert await screen.shows(words), words
        fill(screen, name='""', size="", days="", count="", agree="n")
        await screen.press("ctrl+s", "escape")
        assert await screen.shows("fill in a form")
        assert [box.input.value for box in screen.app.query(FieldBox)] == ['""', "", "", "", "", "n"]
        await screen.press("ctrl+s", "y")
        assert await answer == {"name": "", "count": 3, "agree": False}


@pytest.mark.parametrize("keys", [["ctrl+n"], ["ctrl+s", "n"]])
async def test_a_form_is_declined(keys: list[str]) -> None:
    async with asking() as screen:
        answer = await ask_form(screen, {"type": "object", "properties": {"a": {"type": "string"}}})
        await screen.press(*keys)
        assert await answer is None


async def test_a_form_that_nobody_can_be_asked() -> None:
    with pytest.raises(McpFailed):
        await ScreenPerson().fill_in("weather", "", {"type": "string"})


async def test_choices_are_clicked() -> None:
    async with asking(size=(60, 70)) as screen:
        answer = await ask_form(screen)
        await screen.still()
        boxes = {box.asked.name: box for box in screen.app.query(FieldBox)}
        for name, clicks, typed in (("size", [2], "2"), ("days", [1, 3, 1], "3")):
            rows = boxes[name]._rows
            for click in clicks:
                await screen.pilot.click(rows, offset=(5, click))
                await screen.still()
            assert boxes[name].input.value == typed
            assert boxes[name].input.has_focus
        await cancel(answer)
        await screen.painted()
        assert screen.questions.front is None
        options = later(screen.person.ask_person("Which?", ["red", "blue"]))
        await asyncio.sleep(0)
        await screen.painted()
        await screen.turn_back(0)
        await screen.pilot.click(screen.pane.middle, offset=(4, 2))
        assert await options == "blue"


async def test_a_question_waits_for_a_screen_and_ends_with_it() -> None:
    person = ScreenPerson()
    seen: list[list[str]] = []
    unwatch = person.watch(lambda: seen.append([each.words for each in person.waiting]))
    early = asyncio.ensure_future(person(request()))
    await asyncio.sleep(0)
    assert seen == [["run_bash"]]
    assert not early.done()
    questions = Questions(person)
    async with Chat(questions, False).run_test() as pilot:
        for _ in range(100):
            if questions.front is not None:
                break
            await pilot.pause(0.01)
        assert questions.front is person.waiting[0]
        words = asyncio.ensure_future(person.ask_person("Which?", []))
        form = asyncio.ensure_future(person.fill_in("weather", "", {"type": "object", "properties": {}}))
        await asyncio.sleep(0)
        assert [each.words for each in person.waiting] == ["run_bash", "a question", "a form of weather"]
    assert await early == GONE
    assert await words == ""
    assert await form is None
    assert await person(request()) == GONE
    assert person.waiting == []
    unwatch()
    count = len(seen)
    person.close()
    assert len(seen) == count


async def test_each_is_answered_once() -> None:
    person = ScreenPerson()
    asked = asyncio.ensure_future(person(request()))
    await asyncio.sleep(0)
    (waiting,) = person.waiting
    waiting.settle(Answer(allowed=False))
    waiting.settle(Answer(allowed=True))
    assert person.waiting == []
    assert await asked == Answer(allowed=False)


TAKEN_BACK: list[tuple[str, list[str]]] = [
    ("asked", []),
    ("help", ["question_mark"]),
    ("all of it", ["v"]),
    ("a rule", ["s"]),
    ("a reason", ["d", "x"]),
    ("an edit", ["e", "x"]),
    ("changed", ["e", "x", "ctrl+s"]),
]


async def test_taken_back_in_every_state() -> None:
    async with asking() as screen:
        for name, keys in TAKEN_BACK:
            tasks = await screen.ask(request("1", offers=offers("one", "two")), request("2"))
            await screen.press(*keys)
            await cancel(tasks[0])
            await screen.painted()
            assert len(screen.questions.children) == 1, name
            assert screen.questions.has_focus_within, name
            await screen.press("y", after=0.3)
            assert not tasks[1].done(), name
            await cancel(tasks[1])
            await screen.painted()
            assert not screen.questions.children, name
            assert not screen.questions.display, name
            assert screen.app.focused is screen.app.prompt, name
            assert screen.app.prompt.text == "", name
        makers: list[Callable[[], Any]] = [
            lambda: screen.person.ask_person("Which?", []),
            lambda: screen.person.fill_in("w", "", {"type": "object", "properties": {"a": {"type": "string"}}}),
        ]
        for make in makers:
            for keys in (["x"], ["x", "ctrl+s"]):
                task = asyncio.ensure_future(make())
                await asyncio.sleep(0)
                await screen.painted()
                await screen.press(*keys)
                await cancel(task)
                await screen.painted()
                assert screen.app.focused is screen.app.prompt
                assert not screen.questions.children
        assert screen.person.waiting == []


async def test_escape_is_left_to_the_app() -> None:
    async with asking() as screen:
        told: list[str] = []
        screen.app.stop = lambda: told.append("stop")
        (answer,) = await screen.ask(request())
        await screen.press("d", "escape")
        assert not told
        assert not answer.done()
        await screen.press("escape")
        assert told == ["stop"]
        assert not answer.done()
        await cancel(answer)


async def test_a_screen_in_front_hides_the_question() -> None:
    async with asking() as screen:
        (answer,) = await screen.ask(request())
        screen.wait(5)
        over: ModalScreen[None] = ModalScreen()
        await screen.app.push_screen(over)
        await screen.questions._look_around()
        await screen.app.pop_screen()
        screen.send("y")
        await screen.pilot.pause()
        assert not answer.done()
        await screen.questions._look_around()
        await screen.painted()
        await screen.press("y", after=0.3)
        assert not answer.done()
        await screen.press("y")
        assert answer.result().allowed


async def test_the_bell(monkeypatch: pytest.MonkeyPatch) -> None:
    rung: list[str] = []
    monkeypatch.setattr(Chat, "bell", lambda self: rung.append("bell"))
    person = ScreenPerson()
    questions = Questions(person, bell=True)
    async with Chat(questions, False).run_test() as pilot:
        tasks = [asyncio.ensure_future(person(request(str(number)))) for number in (1, 2)]
        assert await becomes(pilot, lambda: rung)
        await pilot.pause()
        assert rung == ["bell"]
        await cancel(*tasks)
