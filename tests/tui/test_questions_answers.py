"""Questions about calls: which key answers what, and which answers nothing."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from toolwire.approval.request import Answer, Scope, deny
from toolwire.tui.questions.questions import Questions
from tui.asking import LATER, asking, cancel, front_id, offers, request

TWO = offers("exactly make test", "make * with paths inside the workspace")
ONCE = Answer(allowed=True)

ANSWERS: list[tuple[str, dict[str, Any], list[str], Answer]] = [
    ("once", {}, ["y"], ONCE),
    ("no", {}, ["n"], deny()),
    ("the session", {}, ["s"], Answer(allowed=True, scope=Scope.SESSION)),
    ("always", {}, ["a"], Answer(allowed=True, scope=Scope.ALWAYS)),
    ("the second rule", {"offers": TWO}, ["s", "2"], Answer(allowed=True, scope=Scope.SESSION, offer=1)),
    ("a long rule", {"offers": offers("x" * 201)}, ["s", "1"], Answer(allowed=True, scope=Scope.SESSION)),
    ("back from the rules", {"offers": TWO}, ["a", "escape", "y"], ONCE),
    ("no such rule", {"offers": TWO}, ["a", "3", "0", "y", "2"], Answer(allowed=True, scope=Scope.ALWAYS, offer=1)),
    ("no always", {"refusals": TWO}, ["N", "4"], Answer(allowed=False, scope=Scope.ALWAYS, offer=1)),
    ("no, and why", {}, ["d", "y", "o", "enter"], deny("yo")),
    ("no reason is none", {}, ["d", "enter", "escape", "n"], deny()),
    ("only once", {"offers": (), "refusals": ()}, ["s", "a", "N", "y"], ONCE),
    ("not fully shown", {"fully_shown": False}, ["s", "a", "y"], ONCE),
    ("help and back", {}, ["question_mark", "y", "v", "n"], deny()),
    ("nothing by itself", {}, ["enter", "space", "Y", "x", "tab", "down", "end", "f5", "1", "y"], ONCE),
]


async def test_keys() -> None:
    async with asking() as screen:
        for name, fields, keys, expected in ANSWERS:
            (answer,) = await screen.ask(request(**fields))
            for key in keys:
                assert not answer.done(), (name, key)
                await screen.press(key)
            assert answer.result() == expected, name
            assert (screen.questions.front, screen.person.waiting) == (None, []), name
            assert screen.app.focused is screen.app.prompt, name
        assert screen.app.prompt.text == ""


async def test_without_a_file_nothing_is_always() -> None:
    async with asking(kept_in="") as screen:
        (answer,) = await screen.ask(request(refusals=TWO))
        assert " a  always" not in screen.text()
        await screen.press("a")
        assert not answer.done()
        assert await screen.shows("only be allowed once or for this session")
        await screen.press("N")
        assert "always" not in screen.text()
        await screen.press("2")
        assert answer.result() == Answer(allowed=False, scope=Scope.SESSION, offer=1)


async def test_an_unknown_key_says_which_there_are() -> None:
    async with asking() as screen:
        (answer,) = await screen.ask(request())
        await screen.press("k")
        assert await screen.shows("Nothing was answered. The keys are y, s, a, n, d, N, e, v, ?.")
        await screen.paste("y\n")
        assert await screen.shows("What was pasted answers nothing.")
        assert not answer.done()
        await cancel(answer)


async def test_a_key_counts_only_when_the_question_could_be_read() -> None:
    async with asking() as screen:
        asked = asyncio.ensure_future(screen.person(request()))
        await asyncio.sleep(0)
        screen.send("y")  # before it was painted
        screen.wait(5)
        await screen.painted()
        # The prompt had the keys until then, and has them while something stands there.
        assert not asked.done()
        assert screen.app.prompt.text == "y"
        screen.app.prompt.clear()
        screen.questions.toggle()
        await screen.painted()
        await screen.press("y", after=0.39)
        assert not asked.done()
        assert await screen.shows("too early")
        for _ in range(20):  # a key that is held, or somebody who is writing
            await screen.press("y", after=0.3)
            assert not asked.done()
        await screen.press("y", after=0.41)
        assert asked.result() == ONCE


async def test_a_key_that_was_pressed_earlier_comes_late() -> None:
    async with asking() as screen:
        (answer,) = await screen.ask(request())
        pressed = screen.now
        screen.wait(3)
        await screen.painted()
        event_time, screen._now[0] = screen.now, pressed + 0.1
        screen.send("y")  # pressed right after it came, and handled three seconds later
        screen._now[0] = event_time
        await screen.painted()
        assert not answer.done()
        await cancel(answer)


async def test_three_wait_and_are_answered_in_any_order() -> None:
    async with asking() as screen:
        one, two, three = await screen.ask(
            *(request(str(number), arguments={"command": f"run {number}"}) for number in (1, 2, 3))
        )
        assert "Question 1 of 3" in screen.text()
        assert "run 1" in screen.text()
        assert "run 2" not in screen.text()
        await screen.press("tab")
        assert "Question 2 of 3" in screen.text()
        assert "run 2" in screen.text()
        assert "run 1" not in screen.text()
        await screen.press("y")
        assert two.result() == ONCE
        assert front_id(screen) == "1"
        assert "Question 1 of 2" in screen.text()
        await screen.press("right_square_bracket")
        assert front_id(screen) == "3"
        await screen.press("n")
        assert three.result() == deny()
        assert front_id(screen) == "1"
        assert " of " not in screen.lines()[13]
        await screen.press("s")
        assert one.result().scope is Scope.SESSION


async def test_two_are_never_on_the_screen_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """However long the second takes to come: keys count for it from when it stands there alone."""
    seen: list[tuple[int, bool]] = []

    class Slow(Questions):
        async def mount(self, *widgets: Any, **more: Any) -> None:  # type: ignore[override]
            await super().mount(*widgets, **more)
            for _ in range(20):
                await asyncio.sleep(0.005)
                seen.append((sum(each.display for each in self.children), self._stage.attention._from is not None))

    monkeypatch.setattr("tui.asking.Questions", Slow)
    async with asking() as screen:
        first, second = await screen.ask(request("1"), request("2"))
        seen.clear()
        await screen.press("tab")
        assert seen == [(1, False)] * 20
        await cancel(first, second)


async def test_the_one_behind_is_not_hit() -> None:
    async with asking() as screen:
        first, second = await screen.ask(request("1"), request("2"))
        screen.wait(1)
        screen.send("y")
        screen.send("y")
        screen.send("y")
        await screen.painted()
        assert first.result() == ONCE
        assert not second.done()
        screen.wait(1)
        await cancel(second)
        third, fourth = await screen.ask(request("3"), request("4"))
        screen.wait(1)
        third.cancel()
        await screen.painted()
        assert front_id(screen) == "4"
        await screen.press("y", after=0.3)
        assert not fourth.done()
        await screen.press("y", after=0.5)
        assert fourth.result() == ONCE


async def test_coming_back_to_one_is_not_an_answer_to_it() -> None:
    async with asking() as screen:
        first, second = await screen.ask(request("1"), request("2"))
        await screen.press("tab", "tab")
        assert front_id(screen) == "1"
        await screen.press("y", after=0.3)
        assert not first.done()
        screen.wait(1)
        screen.send("tab")
        screen.send("y")
        await screen.painted()
        assert front_id(screen) == "2"
        await cancel(first, second)
        assert first.cancelled()
        assert second.cancelled()


async def test_what_was_begun_on_one_is_there_when_it_comes_back() -> None:
    async with asking() as screen:
        first, second = await screen.ask(request("1"), request("2"))
        await screen.press("d", "b", "a", "d", "tab")
        assert front_id(screen) == "2"
        await screen.press("n")
        assert second.result() == deny()
        assert "Why not run_bash?" in screen.text()
        assert "bad" in screen.text()
        await screen.press("enter")
        assert first.result() == deny("bad")


async def test_whoever_writes_goes_on_writing() -> None:
    async with asking() as screen:
        screen.app.prompt.insert("hello ")
        (answer,) = await screen.ask(request())
        await screen.press("y", "e", "s", after=2)
        assert screen.app.prompt.text == "hello yes"
        assert not answer.done()
        assert await screen.shows("You are writing")
        screen.questions.toggle()
        await screen.painted()
        assert screen.questions.has_focus_within
        assert await screen.shows("s, a: exactly make test")
        await screen.press("y", after=0.1)
        assert not answer.done()
        screen.questions.toggle()
        await screen.painted()
        assert screen.app.focused is screen.app.prompt
        assert await screen.shows("Ctrl+T or a click")
        await screen.questions._look_around()
        screen.app.prompt.clear()
        for _ in range(4):
            await screen.questions._look_around()
        assert screen.app.focused is screen.app.prompt
        for _ in range(3):
            await screen.questions._look_around()
        await screen.painted()
        assert screen.questions.has_focus_within
        await screen.press("y", after=0.3)
        assert not answer.done()
        await screen.press("y", after=0.5)
        assert answer.result() == ONCE
        assert screen.app.focused is screen.app.prompt
        assert screen.app.prompt.text == ""


async def test_whoever_left_for_an_empty_prompt_is_not_called_back() -> None:
    async with asking() as screen:
        (answer,) = await screen.ask(request())
        screen.app.prompt.focus()
        await screen.painted()
        for _ in range(10):
            await screen.questions._look_around()
        assert screen.app.focused is screen.app.prompt
        await screen.press("y")
        assert not answer.done()
        assert screen.app.prompt.text == "y"
        await cancel(answer)


async def test_the_mouse() -> None:
    async with asking() as screen:
        keys = "Questions CallPane Keys"
        first, second = await screen.ask(request("1"), request("2"))
        await screen.turn_back(LATER)
        await screen.pilot.click(keys, offset=(2, 0))
        assert await screen.shows("too early")
        await screen.turn_back(0)
        await screen.pilot.hover(keys, offset=(2, 0))
        await screen.pilot.click(keys, offset=(0, 0))  # beside the keys
        assert not first.done()
        first.add_done_callback(lambda _: screen._now.__setitem__(0, LATER))
        await screen.pilot.click(keys, offset=(2, 0), times=2)
        await screen.painted()
        assert first.result() == ONCE
        assert not second.done()
        await screen.turn_back(0)
        await screen.pilot.click("Questions CallPane Rows", offset=(9, 0))  # all of it
        await screen.painted()
        assert await screen.shows("smaller")
        await cancel(second)
