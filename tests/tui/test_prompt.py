"""The prompt, typed into."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, nullcontext
from pathlib import Path
from typing import ClassVar

import pytest
from textual import events
from textual._xterm_parser import XTermParser
from textual.app import App, ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.keys import _character_to_key
from textual.pilot import Pilot
from textual.widgets import Static

from toolwire.chat.completion import NOTHING, Completion, Completions
from toolwire.chat.typed_history import TypedHistory
from toolwire.tui.prompt import Prompt
from toolwire.tui.prompt.prompt import PLACEHOLDER
from toolwire.tui.prompt.suggestions import Suggestions
from toolwire.tui.prompt.typing_area import TypingArea
from tui.gallery import keep
from tui.screens import becomes
from tui.screens import text as text_of

Complete = Callable[[str, int], Awaitable[Completions]]

COMMANDS = [("/model [PROVIDER:MODEL]", "Goes on with another model."), ("/mode [MODE]", "Says what runs.")]
COMMANDS += [(f"/{name}", f"What {name} does.") for name in ("help", "quit", "tools", "undo", "usage", "wire", "copy")]
FILES = ("src/app.py", "src/approval/", "docs/map.md")


async def complete(text: str, cursor: int) -> Completions:
    """Commands behind a slash, files behind an @; each takes a turn or two of the loop."""
    await asyncio.sleep(0)
    if text.startswith("/") and " " not in text:
        rows = [
            Completion(shown.split()[0] + (" " if "[" in shown else ""), shown, words, (), "[" in shown)
            for shown, words in COMMANDS
            if shown.startswith(text[:cursor])
        ]
        return Completions(0, len(text), tuple(rows), 0, "commands") if rows else NOTHING
    at = text.rfind("@", 0, cursor)
    if at < 0 or " " in text[at:cursor]:
        return NOTHING
    typed = text[at + 1 : cursor]
    files = [name for name in FILES if typed in name]
    rows = [
        Completion(f"@{name}" + ("" if name.endswith("/") else " "), name, "", (), name.endswith("/")) for name in files
    ]
    mentioned = tuple((at, at + 1 + len(name)) for name in FILES if text.startswith(name, at + 1))
    return Completions(at, cursor, tuple(rows), 0, "files", mentioned)


class Around(App[None]):
    """A conversation above the prompt, and keys of its own."""

    ENABLE_COMMAND_PALETTE = False
    CSS = "#above { height: 1fr; } #foot { height: auto; dock: bottom; }"
    BINDINGS: ClassVar[list[BindingType]] = [
        (key, f"heard('{key}')") for key in ("escape", "ctrl+d", "pageup", "pagedown", "ctrl+c")
    ]

    def __init__(self, history: TypedHistory, root: str = "", ask: Complete = complete) -> None:
        super().__init__()
        self.history = history
        self.prompt = Prompt(ask, history, root=root)
        self.sent: list[tuple[str, dict[str, str]]] = []
        self.heard: list[str] = []

    def compose(self) -> ComposeResult:
        yield Static("\n".join(f"what was said before, line {number}" for number in range(60)), id="above")
        with Vertical(id="foot"):
            yield self.prompt
            yield Static("status")

    def on_mount(self) -> None:
        self.prompt.focus()

    def on_prompt_submitted(self, event: Prompt.Submitted) -> None:
        self.sent.append((event.text, dict(event.pasted)))

    def action_heard(self, key: str) -> None:
        self.heard.append(key)

    @property
    def area(self) -> TypingArea:
        return self.query_one(TypingArea)

    @property
    def list(self) -> Suggestions:
        return self.query_one(Suggestions)


@asynccontextmanager
async def running(
    *entries: str, root: str = "", ask: Complete = complete, size: tuple[int, int] = (80, 24)
) -> AsyncIterator[tuple[Around, Pilot[None]]]:
    history = TypedHistory()
    for entry in entries:
        history.add(entry)
    app = Around(history, root, ask)
    async with app.run_test(size=size) as pilot:
        yield app, pilot


async def typed(pilot: Pilot[None], *keys: str) -> None:
    """Types words and presses keys, as a person would: none of them at the same time. A key is in angle brackets."""
    pressed = [key for word in keys for key in ((word[1:-1],) if word.startswith("<") else word)]
    for number, key in enumerate(pressed):
        event = events.Key(_character_to_key(key) if len(key) == 1 else key, key if len(key) == 1 else None)
        event.time += number
        pilot.app.post_message(event)
    await settled(pilot)


async def settled(pilot: Pilot[None]) -> None:
    """Until all that was done has had its effect: each who takes messages has taken those that were there."""
    app = pilot.app
    assert isinstance(app, Around)
    for node in (app, app.area, app.prompt, app, app.area, app.prompt, app):
        done = asyncio.Event()
        node.call_later(done.set)
        await done.wait()
        await asyncio.sleep(0)


async def screen(pilot: Pilot[None]) -> str:
    """What is seen when all is painted."""
    await pilot.pause()
    return text_of(pilot.app)


async def paste(app: Around, pilot: Pilot[None], text: str) -> None:
    app.area.post_message(events.Paste(text))
    await settled(pilot)


TYPED: list[tuple[tuple[str, ...], str, list[str]]] = [
    (("hello", "<enter>"), "", ["hello"]),
    (("<enter>", "  ", "<enter>"), "  ", []),
    (("a", "<shift+enter>", "b"), "a\nb", []),
    (("a", "<alt+enter>", "b"), "a\nb", []),
    (("a", "<ctrl+j>", "b", "<enter>"), "", ["a\nb"]),
    (("a\\", "<enter>", "b", "<enter>"), "", ["a\nb"]),
    (("a\\b", "<enter>"), "", ["a\\b"]),
    (("one two", "<ctrl+w>", "x"), "one x", []),
    (("one two", "<ctrl+u>", "x"), "x", []),
    (("one two", "<ctrl+a>", "x"), "xone two", []),
    (("one two", "<ctrl+a>", "<ctrl+k>", "x"), "x", []),
    (("one", "<ctrl+a>", "<ctrl+e>", "x"), "onex", []),
    (("one", "<ctrl+x>", "x"), "onex", []),
    (("one", "<ctrl+a>", "<ctrl+d>"), "ne", []),
    (("[/b] [bold]", "<enter>"), "", ["[/b] [bold]"]),
]


@pytest.mark.parametrize(("keys", "left", "sent"), TYPED, ids=["".join(keys) for keys, *_ in TYPED])
async def test_keys(keys: tuple[str, ...], left: str, sent: list[str]) -> None:
    async with running() as (app, pilot):
        await typed(pilot, *keys)
        assert app.prompt.text == left
        assert [text for text, _ in app.sent] == sent


@pytest.mark.parametrize(
    ("sent", "key"),
    [
        ("\x1b\r", "alt+enter"),
        ("\x1b[13;2u", "shift+enter"),
        ("\x1b[13;3u", "alt+enter"),
        ("\n", "ctrl+j"),
        ("\r", "enter"),
        ("\x1b[27;2;13~", "shift+\r"),
    ],
)
def test_what_terminals_send_for_a_new_line(sent: str, key: str) -> None:
    Prompt(complete, TypedHistory())
    parser = XTermParser()
    found = [event.key for event in (*parser.feed(sent), *parser.feed("")) if isinstance(event, events.Key)]
    assert found == [key]


async def test_keys_that_are_not_the_prompts_go_to_others() -> None:
    async with running() as (app, pilot):
        await typed(pilot, "<escape>", "<ctrl+d>", "<pageup>", "<pagedown>", "<ctrl+c>")
        assert app.heard == ["escape", "ctrl+d", "pageup", "pagedown", "ctrl+c"]
        await typed(pilot, "x", "<ctrl+a>", "<ctrl+d>")
        assert app.heard == ["escape", "ctrl+d", "pageup", "pagedown", "ctrl+c"]


async def test_it_grows_with_its_text_and_no_further() -> None:
    async with running() as (app, pilot):
        heights = []
        for lines in (1, 2, 10, 30):
            app.prompt.put("\n".join("x" * lines))
            await pilot.pause()
            await pilot.pause()
            heights.append(app.area.size.height)
        assert heights == [1, 2, 10, 10]
        app.prompt.put("word " * 40)
        await pilot.pause()
        await pilot.pause()
        assert app.area.size.height == 3


async def test_the_arrows_walk_through_what_was_typed_and_the_draft_is_kept() -> None:
    async with running("first", "second\nof two lines", "third") as (app, pilot):
        await typed(pilot, "draft")
        seen = []
        for key in ("up", "up", "up", "up", "down", "down", "down", "down"):
            await typed(pilot, f"<{key}>")
            seen.append(app.prompt.text)
        two = "second\nof two lines"
        assert seen == ["third", two, "first", "first", two, "third", "draft", "draft"]
        assert app.sent == []


async def test_the_arrows_move_within_several_lines_first() -> None:
    async with running("before") as (app, pilot):
        await typed(pilot, "one", "<ctrl+j>", "two", "<up>", "<ctrl+a>", "x")
        assert app.prompt.text == "xone\ntwo"
        await typed(pilot, "<up>")
        assert app.prompt.text == "before"
        await typed(pilot, "!", "<enter>")
        assert [text for text, _ in app.sent] == ["before!"]
        assert [entry.text for entry in app.history.newest_first()] == ["before!", "before"]


async def test_an_entry_that_is_changed_is_a_draft_with_suggestions_again() -> None:
    async with running("see", "/") as (app, pilot):
        await typed(pilot, "<up>")
        assert (app.prompt.text, app.list.is_open) == ("/", False)
        await typed(pilot, "<up>", " @ap")
        assert app.list.is_open
        await typed(pilot, "<escape>")
        await typed(pilot, "<up>")
        assert app.prompt.text == "/"
        await typed(pilot, "<down>")
        assert app.prompt.text == "see @ap"


async def test_what_is_sent_is_the_newest_of_the_history() -> None:
    async with running() as (app, pilot):
        await typed(pilot, "one", "<enter>", "two", "<enter>", "<up>", "<up>")
        assert app.prompt.text == "one"


async def test_searching_what_was_typed() -> None:
    async with running("explain the gate", "list files", "gate again\nplease") as (app, pilot):
        await typed(pilot, "draft", "<ctrl+r>")
        assert [row.shown for row in app.list.given.rows] == ["gate again please", "list files", "explain the gate"]
        assert app.prompt.text == "draft"
        await typed(pilot, "GATE")
        assert [row.shown for row in app.list.given.rows] == ["gate again please", "explain the gate"]
        await typed(pilot, "<ctrl+r>", "<ctrl+r>", "<enter>")
        assert app.prompt.text == "explain the gate"
        assert not app.list.is_open
        await typed(pilot, "<ctrl+r>", "zzz", "<enter>")
        assert not app.sent
        await typed(pilot, "<escape>")
        assert app.prompt.text == "explain the gate"
        assert app.heard == []
        await typed(pilot, "<ctrl+r>", "files", "<escape>")
        assert app.prompt.text == "explain the gate"
        await typed(pilot, "<enter>")
        assert [text for text, _ in app.sent] == ["explain the gate"]


async def test_commands_are_suggested_and_tab_takes_one() -> None:
    async with running() as (app, pilot):
        await typed(pilot, "/")
        assert len(app.list.given.rows) == 9
        assert "Goes on with another model." in await screen(pilot)
        assert "9 in all" in await screen(pilot)
        keep(
            app,
            "40-commands-as-you-type",
            "Toolwire",
            "A slash lists the commands; Tab takes one, Esc closes the list.",
        )
        await typed(pilot, "qu", "<tab>")
        assert app.prompt.text == "/quit"
        assert not app.list.is_open
        await typed(pilot, "<enter>")
        assert [text for text, _ in app.sent] == ["/quit"]


async def test_enter_takes_only_what_an_arrow_chose() -> None:
    async with running() as (app, pilot):
        await typed(pilot, "/mod")
        await typed(pilot, "<down>", "<down>", "<enter>")
        assert (app.prompt.text, app.sent) == ("/mode ", [])
        await typed(pilot, "<ctrl+u>", "/mode", "<enter>")
        assert [text for text, _ in app.sent] == ["/mode"]
        await typed(pilot, "/mod")
        await typed(pilot, "<up>", "e", "<enter>")
        assert [text for text, _ in app.sent] == ["/mode", "/mode"]


async def test_a_list_goes_round_and_shows_the_row_that_is_chosen() -> None:
    async with running() as (_, pilot):
        await typed(pilot, "/")
        await typed(pilot, "<up>")
        assert "› /copy" in await screen(pilot)
        assert "/model" not in await screen(pilot)
        await typed(pilot, "<down>")
        assert "› /model" in await screen(pilot)


async def test_escape_closes_the_list_and_nothing_else() -> None:
    async with running() as (app, pilot):
        await typed(pilot, "/")
        await typed(pilot, "<escape>")
        assert (app.list.is_open, app.prompt.text, app.heard) == (False, "/", [])
        await typed(pilot, "<escape>")
        assert app.heard == ["escape"]
        await typed(pilot, "m")
        assert app.list.is_open


async def test_files_are_suggested_and_folders_opened() -> None:
    async with running() as (app, pilot):
        await typed(pilot, "see @ap", "<tab>", " and @app")
        await typed(pilot, "<down>", "<down>", "<enter>")
        assert app.prompt.text == "see @src/app.py  and @src/approval/"
        assert app.list.is_open
        assert app.sent == []


async def test_a_click_takes_a_row() -> None:
    async with running() as (app, pilot):
        await typed(pilot, "/")
        await screen(pilot)
        await pilot.click(Suggestions, offset=(6, 3))
        await typed(pilot)
        assert app.prompt.text == "/help"
        assert app.area.has_focus


async def test_late_suggestions_are_dropped_and_tab_waits_for_the_right_ones() -> None:
    gates: dict[str, asyncio.Event] = {}

    async def slowly(text: str, cursor: int) -> Completions:
        await gates.setdefault(text, asyncio.Event()).wait()
        return Completions(0, len(text), (Completion(f"<{text}>", text),), 0, "commands")

    async with running(ask=slowly) as (app, pilot):
        await typed(pilot, "/a", "b")
        gates.setdefault("/a", asyncio.Event()).set()
        await pilot.pause()
        assert not app.list.is_open
        asyncio.get_running_loop().call_later(0.05, lambda: gates["/ab"].set())
        await typed(pilot, "<tab>")
        assert app.prompt.text == "</ab>"


async def test_a_long_paste_is_a_label_and_goes_whole() -> None:
    async with running() as (app, pilot):
        await typed(pilot, "see @src/app.py")
        await paste(app, pilot, "line\r\n" * 134)
        await typed(pilot, " and")
        await paste(app, pilot, "x" * 3_000)
        one, two = "[pasted 134 lines #1]", "[pasted 3,000 characters #2]"
        assert app.prompt.text == f"see @src/app.py {one} and {two}"
        assert app.sent == []
        keep(app, "41-a-long-paste", "Toolwire", "Long text that is pasted stays behind a label, and is sent whole.")
        await typed(pilot, "<backspace>", "<enter>")
        assert app.sent == [(f"see @src/app.py {one} and ", {one: "line\n" * 134})]
        await typed(pilot, "<up>", "<enter>")
        assert app.sent[1] == app.sent[0]


async def test_a_label_that_was_deleted_can_be_had_back() -> None:
    async with running() as (app, pilot):
        await paste(app, pilot, "a\n" * 30)
        await typed(pilot, "<left>", "<backspace>")
        assert app.prompt.text == ""
        await typed(pilot, "<ctrl+z>", "<ctrl+a>", "<delete>", "<ctrl+z>", "<enter>")
        assert app.sent == [("[pasted 30 lines #1]", {"[pasted 30 lines #1]": "a\n" * 30})]


@pytest.mark.parametrize("text", ["a\nb\n", "\n\n\n", "x\r\n", "/quit\n", "!rm -rf x\n"])
async def test_a_paste_never_sends(text: str) -> None:
    async with running() as (app, pilot):
        await paste(app, pilot, text)
        assert app.sent == []
        assert app.prompt.text == text.replace("\r", "")


async def test_what_is_pasted_replaces_the_selection_and_is_harmless() -> None:
    async with running() as (app, pilot):
        await typed(pilot, "one two", "<ctrl+shift+left>")
        await paste(app, pilot, "\x1b[2J\u202e")
        assert app.prompt.text == "one ␛[2J<U+202E>"


@pytest.mark.parametrize(
    ("burst", "sent", "left"),
    [
        ("hello\rthere\r", [], "hello\nthere\n"),
        ("hello\r", ["hello"], ""),
        ("a\rb", [], "a\nb"),
        ("a\r\r\rb", [], "a\n\n\nb"),
    ],
)
async def test_lines_that_come_at_once_are_one_text(burst: str, sent: list[str], left: str) -> None:
    """As terminals send a paste that know no brackets around it."""
    async with running() as (app, pilot):
        parser = XTermParser()
        for event in list(parser.feed(burst)):
            event.time = 1.0
            app.post_message(event)
        assert await becomes(pilot, lambda: app.prompt.text == left and len(app.sent) == len(sent))
        assert [text for text, _ in app.sent] == sent


async def test_a_file_that_is_dropped_is_offered(tmp_path: Path) -> None:
    (tmp_path / "a b.png").touch()
    async with running(root=str(tmp_path)) as (app, pilot):
        await typed(pilot, "what is ")
        await paste(app, pilot, f"'{tmp_path}/a b.png'")
        assert app.prompt.text == f"what is '{tmp_path}/a b.png'"
        assert "attach it" in await screen(pilot)
        await typed(pilot, "<tab>", "?")
        assert app.prompt.text == 'what is @"a b.png" ?'
        await typed(pilot, "<ctrl+u>", "!cat ")
        await paste(app, pilot, f"{tmp_path}/a b.png")
        assert not app.list.is_open


async def test_a_shell_line_looks_like_one() -> None:
    async with running() as (app, pilot):
        await typed(pilot, "!ls")
        assert app.prompt.has_class("shell")
        assert "the model is told" in await screen(pilot)
        await typed(pilot, "<ctrl+a>", "!")
        assert "the model is not told" in await screen(pilot)
        await typed(pilot, "<ctrl+e>", "<ctrl+u>")
        assert not app.prompt.has_class("shell")
        assert "your own shell" not in await screen(pilot)


async def test_names_of_files_are_seen_as_such() -> None:
    async with running() as (app, pilot):
        await typed(pilot, "see @src/app.py")
        styled = [line for span in app.area.get_line(0).spans if (line := (span.start, span.end))]
        assert (4, 15) in styled
        await typed(pilot, "<ctrl+a>", "x")
        assert (4, 15) not in [(span.start, span.end) for span in app.area.get_line(0).spans]


async def test_a_question_to_begin_with_is_taken_and_not_sent() -> None:
    async with running() as (app, pilot):
        app.prompt.suggest("What time is it?")
        await typed(pilot, "<enter>")
        assert app.sent == []
        assert "What time is it?" in await screen(pilot)
        await typed(pilot, "<tab>", "<enter>")
        assert [text for text, _ in app.sent] == ["What time is it?"]
        assert PLACEHOLDER[:12] in await screen(pilot)


async def test_what_is_put_back_has_its_labels() -> None:
    async with running() as (app, pilot):
        app.prompt.put("see [pasted 3 lines #1]\x1b", {"[pasted 3 lines #1]": "a\nb\nc", "[other]": ""})
        await typed(pilot, "!")
        assert app.prompt.text == "see [pasted 3 lines #1]␛!"
        assert app.prompt.pasted == {"[pasted 3 lines #1]": "a\nb\nc"}


EDITOR = f"""#!{sys.executable}
import pathlib, sys
path = pathlib.Path(sys.argv[1])
text = path.read_text()
if text == "fail":
    sys.exit(3)
path.write_text(text + "\\n# made longer\\n")
"""


async def test_the_persons_own_editor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    editor = tmp_path / "my editor"
    editor.write_text(EDITOR)
    editor.chmod(0o700)
    monkeypatch.setenv("VISUAL", f"'{editor}'")
    async with running() as (app, pilot):
        monkeypatch.setattr(app, "suspend", nullcontext)
        await typed(pilot, "draft", "<ctrl+g>")
        await app.workers.wait_for_complete()
        assert app.prompt.text == "draft\n# made longer"
        await typed(pilot, "<ctrl+x>", "<ctrl+e>")
        await app.workers.wait_for_complete()
        assert app.prompt.text == "draft\n# made longer\n# made longer"
        app.prompt.put("fail")
        await typed(pilot, "<ctrl+g>")
        await app.workers.wait_for_complete()
        assert app.prompt.text == "fail"
        monkeypatch.setenv("VISUAL", os.devnull + "/none")
        await typed(pilot, "<ctrl+g>")
        await app.workers.wait_for_complete()
        assert app.prompt.text == "fail"
        assert app.sent == []


async def test_where_the_screen_cannot_be_left_nothing_is_lost() -> None:
    async with running() as (app, pilot):
        await typed(pilot, "draft", "<ctrl+g>")
        await app.workers.wait_for_complete()
        await typed(pilot, "!")
        assert app.prompt.text == "draft!"


@pytest.mark.parametrize("theme", ["textual-light", "textual-dark", "ansi-dark"])
async def test_files_on_light_and_dark(theme: str) -> None:
    async with running() as (app, pilot):
        app.theme = theme
        await typed(pilot, "see @a")
        await typed(pilot, "<down>")
        assert "› src/app.py" in await screen(pilot)
        assert "</svg>" in app.export_screenshot()
