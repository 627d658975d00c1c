"""Whatever is pressed, and whenever: nothing runs without a key for it, pressed when the question could be read."""

from __future__ import annotations

import asyncio
import random

import pytest

from toolwire.approval.request import Answer
from toolwire.tui.questions.attention import SETTLE_SECONDS, Attention
from tui.asking import Asking, asking, cancel, front_id, offers, request

SEED = 1
STEPS = 70
YES = frozenset("ysa")
KEYS = [
    *"ysaynedNEv12x?",
    "enter",
    "escape",
    "space",
    "tab",
    "ctrl+s",
    "ctrl+o",
    "backspace",
    "down",
    "right_square_bracket",
]


def test_attention() -> None:
    now = [10.0]
    attention = Attention(lambda: now[0])
    assert not attention.takes(10.0)
    attention.painted(attention.round)
    assert not attention.takes(10.39)  # and the wait begins anew
    assert not attention.takes(10.78)
    assert attention.takes(10.78 + SETTLE_SECONDS)
    now[0] = 20.0
    attention.painted(attention.round)  # it was seen already
    assert attention.takes(20.0)
    before = attention.round
    attention.changed()
    attention.painted(before)  # of what was asked before
    assert not attention.takes(99.0)
    attention.painted(attention.round)
    assert not attention.takes(19.0)  # pressed before, and told late
    assert attention.takes(20.4)


class Watched:
    """Who can have been answered: since when each call stood in front, and whether a yes was pressed after that."""

    def __init__(self, screen: Asking) -> None:
        self._screen = screen
        self._front = ""
        self._since = 0.0
        self.meant: set[str] = set()

    def look(self) -> None:
        """Notes what stands in front now."""
        if front_id(self._screen) != self._front:
            self._front, self._since = front_id(self._screen), self._screen.now

    def press(self, key: str) -> None:
        """Presses this key now, and notes for which call that may be a yes."""
        if key in YES and self._front and self._screen.now - self._since >= SETTLE_SECONDS:
            self.meant.add(self._front)
        self._screen.send(key)


@pytest.mark.thorough
async def test_nothing_runs_by_chance() -> None:
    chance = random.Random(SEED)
    asked: dict[str, asyncio.Task[Answer]] = {}
    async with asking() as screen:
        watched = Watched(screen)
        for step in range(STEPS):
            match chance.choices(["key", "ask", "cancel", "paste", "wait"], [14, 2, 1, 1, 3])[0]:
                case "key":
                    screen.wait(chance.choice([0.0, 0.1, 0.5, 1.0]))
                    for key in chance.choices(KEYS, k=chance.choice([1, 1, 2])):
                        watched.press(key)
                case "ask" if len(screen.person.waiting) < 4:
                    id = str(step)
                    rules = offers(*("one", "two")[: chance.randint(0, 2)])
                    asked[id] = asyncio.ensure_future(screen.person(request(id, offers=rules)))
                    if chance.random() < 0.5:
                        watched.press("y")  # before it is there
                case "cancel" if open_ones := [task for task in asked.values() if not task.done()]:
                    await cancel(chance.choice(open_ones))
                    if chance.random() < 0.5:
                        watched.press("y")
                case "paste":
                    await screen.paste("y")
                case _:
                    screen.wait(chance.choice([0.05, 0.2, 0.39, 0.41, 2.0]))
            await screen.painted()
            watched.look()
            screen.app.prompt.clear()
            if screen.person.waiting and not screen.questions.has_focus_within:
                screen.questions.toggle()
                await screen.painted()
        await cancel(*asked.values())
    answers = {id: task.result() for id, task in asked.items() if not task.cancelled()}
    allowed = {id for id, answer in answers.items() if answer.allowed}
    assert allowed <= watched.meant
    assert allowed, "a test in which nobody ever says yes shows nothing"
