"""Screens on top of the conversation: nothing is taken by default, by a stray key, or by one that came too early."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from textual import events
from textual.app import App
from textual.pilot import Pilot
from textual.screen import Screen
from textual.widgets import OptionList

from toolwire.chat.desk import Row
from toolwire.tui.app import ChatApp
from toolwire.tui.cards.card import ToolCard
from toolwire.tui.conversation import Conversation
from toolwire.tui.key_table import ASKED, CONVERSATION, EVERYWHERE, KEYS, TYPING, WIRE
from toolwire.tui.pickers import ConfirmScreen, KeysScreen, PickerScreen
from toolwire.tui.prompt import prompt
from toolwire.tui.prompt.terminal_keys import NEW_LINE
from toolwire.tui.questions import approval, pane
from toolwire.tui.wire import WirePanel
from toolwire.tui.wire_frames import WireFrames
from tui.chatting import chat, home
from tui.gallery import keep
from tui.screens import text

__all__ = ["home"]

ROWS = (
    Row("local", "SmolLM2-135M", "built in", "On this machine"),
    Row("groq:oss", "groq:openai/gpt-oss-120b", "GROQ_API_KEY is set", "Ready to be asked"),
    Row("mistral:small", "mistral:mistral-small-latest", "MISTRAL_API_KEY is set", "Ready to be asked"),
    Row("openai:gpt", "openai:gpt-4.1-mini", "needs OPENAI_API_KEY", "Not set up"),
    Row("openai:gpt", "openai:gpt-4.1-mini", "the same again", "Not set up"),
)


class Asking(App[None]):
    """Shows one screen and keeps what came of it."""

    ENABLE_COMMAND_PALETTE = False

    def __init__(self, screen: Screen[Any], *, light: bool = False) -> None:
        super().__init__()
        self._shown = screen
        self.theme = "textual-light" if light else "textual-dark"
        self.results: list[object] = []

    def on_mount(self) -> None:
        self.push_screen(self._shown, self.results.append)


async def press(pilot: Pilot[None], keys: Sequence[str]) -> None:
    await pilot.pause()
    await pilot.press(*keys)
    await pilot.pause()


PICKS: dict[str, tuple[Sequence[str], str, list[object]]] = {
    "enter alone takes nothing": (["enter"], "", []),
    "enter takes what holds now": (["enter"], "mistral:small", ["mistral:small"]),
    "escape takes none": (["escape"], "mistral:small", [None]),
    "down lights the first": (["down", "enter"], "", ["local"]),
    "over a group's name": (["down", "down", "enter"], "", ["groq:oss"]),
    "up from nothing is the last": (["up", "enter"], "", ["openai:gpt"]),
    "words light what fits": ([*"groq", "enter"], "", ["groq:oss"]),
    "several words in any order": ([*"key", "space", *"mistral", "enter"], "", ["mistral:small"]),
    "what does not fit cannot be taken": ([*"zzz", "enter"], "mistral:small", []),
    "nothing typed again, nothing lit again": ([*"g", "backspace", "enter"], "", []),
    "a page ends at the end": (["pagedown", "pagedown", "enter"], "", ["openai:gpt"]),
    "and at the beginning": (["up", "pageup", "enter"], "", ["local"]),
}


@pytest.mark.parametrize("name", PICKS)
async def test_what_is_taken(name: str) -> None:
    keys, current, results = PICKS[name]
    app = Asking(PickerScreen("Which?", ROWS, current))
    async with app.run_test(size=(80, 24)) as pilot:
        await press(pilot, keys)
        assert app.results == results
        if name == "enter alone takes nothing":
            assert "No row is lit" in text(app)


async def test_a_click_takes_the_row_and_no_name_of_a_group() -> None:
    app = Asking(PickerScreen("Which?", ROWS))
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        await pilot.click(OptionList, offset=(3, 0))
        assert app.results == []
        await pilot.click(OptionList, offset=(3, 1))
        await pilot.pause()
        assert app.results == ["local"]


async def test_the_list_shows_groups_counts_and_what_holds_now() -> None:
    app = Asking(PickerScreen("Which model?", ROWS, "groq:oss"))
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        shown = text(app)
        assert all(words in shown for words in ("Which model?", "Ready to be asked", "● groq:openai", "(now)", " 5 "))
        await press(pilot, [*"mistral"])
        assert " 1 of 5 " in text(app)
        assert "groq" not in text(app)


@pytest.mark.parametrize("light", [False, True])
async def test_hostile_and_wide_rows_stay_rows(light: bool) -> None:
    rows = [
        Row("[a]", "[bold red]x[/] \x1b[2J\n\u202e" + "y" * 200, "[link=file:///]w[/link]", "[blink]g[/]"),
        Row("b", "日本語" * 40, "words beside it"),
        Row("c", "", ""),
    ]
    app = Asking(PickerScreen("[reverse]t[/]\n", rows), light=light)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        shown = text(app)
        assert all(words in shown for words in ("[bold red]x[", "[link=file:///]w", "[blink]g[/]", "[reverse]t[/]"))
        assert "\x1b" not in shown
        assert "\u202e" not in shown
        assert "words beside it" in shown
        await press(pilot, ["down", "enter"])
        assert app.results == ["[a]"]


async def test_many_rows_are_quick_and_scroll() -> None:
    rows = [Row(str(number), f"row {number}", "words") for number in range(1_000)]
    app = Asking(PickerScreen("Which?", rows, "250"))
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        assert "● row 250" in text(app)
        await pilot.resize_terminal(60, 16)
        await pilot.pause()
        assert "● row 250" in text(app)
        assert "Esc goes back" in text(app)
        await press(pilot, [*"999", "enter"])
        assert app.results == ["999"]


class Clock:
    """Tells the time that keys are compared with: before the question, or long after it."""

    def __init__(self, offset: float) -> None:
        self._offset = offset

    def __call__(self) -> float:
        return events.Event().time + self._offset


ANSWERS: dict[str, tuple[Sequence[str], list[object]]] = {
    "y": (["y"], [True]),
    "n": (["n"], [False]),
    "escape": (["escape"], [False]),
    "enter, space, capital, other letters": (["enter", "space", "Y", "j", "1", "tab"], []),
    "yes after others": (["x", "y"], [True]),
}


@pytest.mark.parametrize("name", ANSWERS)
async def test_only_y_is_yes(name: str) -> None:
    keys, results = ANSWERS[name]
    app = Asking(ConfirmScreen("Delete [bold]everything[/]?", Clock(-10)))
    async with app.run_test(size=(80, 24)) as pilot:
        await press(pilot, keys)
        assert app.results == results
        if not results:
            assert "Nothing was answered" in text(app)
            assert "[bold]everything[/]" in text(app)


async def test_a_key_that_came_too_early_and_what_is_pasted_answer_nothing() -> None:
    app = Asking(ConfirmScreen("Sure?", Clock(10)))
    async with app.run_test(size=(80, 24)) as pilot:
        await press(pilot, ["y", "n", "y"])
        assert app.results == []
        assert "came before the question could be read" in " ".join(text(app).split())
        app.screen.post_message(events.Paste("y"))
        await pilot.pause()
        assert "pasted answers nothing" in text(app)
        await press(pilot, ["escape"])
        assert app.results == [False]


@pytest.mark.parametrize("size", [(80, 24), (40, 12)])
@pytest.mark.parametrize("long", ["d" * 5_000, "some words " * 500, "漢字" * 900])
async def test_no_words_push_the_keys_out_of_sight(size: tuple[int, int], long: str) -> None:
    app = Asking(ConfirmScreen(f"Take back what was done to {long} now?"))
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        assert "Take back" in text(app)
        assert "now?" in text(app)
        assert " y  yes   n  no " in text(app)


async def test_words_that_fit_are_left_alone() -> None:
    words = "In the mode full, commands and changes run without a question, dangerous ones aside. Do you want that?"
    app = Asking(ConfirmScreen(words))
    async with app.run_test(size=(40, 12)) as pilot:
        await pilot.pause()
        assert words in " ".join(text(app).replace("│", " ").split())


async def test_the_keys_fit_on_a_small_screen_by_scrolling() -> None:
    app = Asking(KeysScreen())
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        first = text(app)
        assert EVERYWHERE in first
        assert "always here" in first
        assert WIRE not in first
        await press(pilot, ["pagedown", "pagedown"])
        assert WIRE in text(app)
        assert not any(line.strip(" │").startswith("prompt") for line in text(app).split("\n"))
        await press(pilot, ["q"])
        assert app.results == [None]


def bound(*owners: type) -> set[str]:
    """The keys that these widgets bind."""
    found: set[str] = set()
    for owner in owners:
        for binding in owner.BINDINGS:  # type: ignore[attr-defined]
            found |= {key.strip() for key in binding.key.split(",")}
    return found


def test_every_key_that_is_told_of_is_there_and_every_one_of_the_app_is_told() -> None:
    told = {where: {key for row in rows for key in row.keys} for where, rows in KEYS.items()}
    assert told[EVERYWHERE] == bound(ChatApp)
    assert told[CONVERSATION] <= bound(Conversation, ToolCard)
    assert told[WIRE] <= bound(WirePanel, WireFrames)
    source = inspect.getsource(prompt)
    assert all(f'"{key}"' in source or key in NEW_LINE for key in told[TYPING])
    source = inspect.getsource(approval) + inspect.getsource(pane)
    assert all(f'"{key}"' in source for key in told[ASKED])


def test_no_row_of_the_keys_is_broken_at_80_columns() -> None:
    width = max(len(row.shown) for rows in KEYS.values() for row in rows)
    assert all(2 + width + 2 + len(row.words) <= 71 for rows in KEYS.values() for row in rows)


async def test_pickers_in_the_chat(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GROQ_API_KEY", "canary")
    async with chat(home, size=(100, 30)) as talk:
        await talk.type("/model")
        await talk.until_seen("Which model?", "groq:openai/gpt-oss-120b")
        keep(
            talk.app,
            "60-which-model-is-asked",
            "Which model?",
            "Models that can be asked as things are, then the others.",
        )
        await talk.pilot.press(*"groq", "enter")
        await talk.until(lambda: talk.talk.model.startswith("groq:"))
        await talk.type("/mode full")
        await talk.until_seen("Do you want that?")
        await talk.pilot.press("enter", "escape")
        await talk.until_seen("still ask")
        assert str(talk.talk.mode) == "ask"
        await talk.pilot.press("f1")
        await talk.until_seen("Where you type")
        keep(talk.app, "61-every-key", "The keys", "F1 shows every key, by where it works.")
        await talk.pilot.press("escape")
        await talk.until(lambda: len(talk.app.screen_stack) == 1)
