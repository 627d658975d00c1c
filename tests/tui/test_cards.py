"""Cards on a screen: what stands there in each state, how they are opened and copied, and that nothing in them is
obeyed."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from textual.containers import VerticalScroll
from textual.pilot import Pilot

from counted_work import Work
from toolwire.agent.events import AgentEvent, ToolFinished
from toolwire.execution.executor import ToolResult
from toolwire.files.differences import unified
from toolwire.messages import MediaPart
from toolwire.stream.segments import EventType, SegmentEvent, SegmentType
from toolwire.tui.cards import CardGroup, ToolCard
from toolwire.tui.cards.call import State
from toolwire.tui.cards.card import MARKS, duration
from tui.card_events import (
    INTERRUPTED,
    answered,
    asked,
    ended,
    gave,
    nested,
    refused,
    started,
    streamed,
    take_all,
    told,
    whole,
)
from tui.gallery import keep
from tui.screens import Host, lines, text
from tui.test_cards_call import ANY, LAST, ORDERS

PLAIN, WRITE, EDIT, BASH = SegmentType.TOOL_CALL, SegmentType.WRITE_FILE, SegmentType.EDIT_FILE, SegmentType.RUN_BASH
PROGRAM = '''"""Counts words."""

import sys
from collections import Counter


def words(text: str) -> Counter[str]:
    """How often each word stands in the text."""
    return Counter(text.lower().split())


def main() -> int:
    counted = words(sys.stdin.read())
    for word, count in counted.most_common(10):
        print(f"{count:6}  {word}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
'''


class Shown:
    """Cards on a screen, and what a test does with them."""

    def __init__(self, app: Host, pilot: Pilot[None], cards: list[ToolCard]) -> None:
        self.app, self.pilot, self.cards = app, pilot, cards

    async def draw(self) -> str:
        """Paints what is new; what then stands on the screen."""
        for card in self.cards:
            await card.draw()
        await self.pilot.pause()
        return text(self.app)

    async def press(self, *keys: str) -> str:
        await self.pilot.press(*keys)
        await self.app.workers.wait_for_complete()
        await self.pilot.pause()
        return text(self.app)


@asynccontextmanager
async def shown(*cards: ToolCard, size: tuple[int, int] = (80, 24), light: bool = False) -> AsyncIterator[Shown]:
    group = CardGroup()
    app = Host(VerticalScroll(group, can_focus=False), light=light)
    app.animation_level = "none"
    async with app.run_test(size=size) as pilot:
        for card in cards:
            group.add(card)
        await pilot.pause()
        screen = Shown(app, pilot, list(cards))
        await screen.draw()
        yield screen


def card(tool: str = "weather", kind: SegmentType = PLAIN, *events: AgentEvent, id: str = "1", **head: Any) -> ToolCard:
    made = ToolCard(id, tool, kind, head)
    take_all(made, *events)
    return made


# ---- states


async def test_the_word_and_the_mark_of_each_state_are_on_the_screen() -> None:
    cards = [card("weather", PLAIN, *events) for events, _, _ in ORDERS.values()]
    async with shown(*cards, size=(80, 250)) as screen:
        rows = lines(screen.app)
        for each, (name, (_, state, word)) in zip(cards, ORDERS.items(), strict=True):
            assert f"{MARKS[state][0]} {word}  weather" in rows[each.region.y], name
            assert each.has_class(f"-{state}"), name
            assert each.live != state.is_final, name


async def test_any_order_of_events_ends_with_its_word_on_the_screen() -> None:
    choose = random.Random(11)
    async with shown(*(card(id="1") for _ in range(3)), size=(60, 20)) as screen:
        for _ in range(12):
            await screen.app.query_one(CardGroup).remove_children()
            screen.cards = [card("weather", choose.choice([PLAIN, WRITE, EDIT, BASH])) for _ in range(3)]
            await screen.app.query_one(CardGroup).mount(*screen.cards)
            for each in screen.cards:
                for event in choose.choices(ANY, k=choose.randrange(8)):
                    each.take(event)
                    if choose.random() < 0.3:
                        await each.draw()
                each.take(choose.choice(LAST))
                assert each.state.is_final
                each.plain()
            seen = await screen.draw()
            heads = [line for line in seen.split("\n") if "  weather" in line]
            for each, head in zip(screen.cards, heads, strict=False):
                assert f"{MARKS[each.state][0]} {each.state.value}  weather" in head
            assert heads
            assert not any(each.live for each in screen.cards)


async def test_why_nothing_ran_is_said() -> None:
    cut = card("write_file", WRITE, *streamed("1", {"path": "a.py", "content": "x = 1\ny"}), path="a.py")
    cut.take(ended("1", problem="the answer was cut by the token limit"))
    no = card("weather", PLAIN, *whole("2", {"city": "Paris"}), id="2")
    take_all(no, asked("2", "weather", {"city": "Paris"}), answered("2", allowed=False, reason="ask me first"))
    stopped = card("run_bash", BASH, *whole("3", {"command": "make"}), id="3")
    take_all(stopped, started("3", "run_bash", {"command": "make"}), told("3", "cc main.c"), INTERRUPTED)
    async with shown(cut, no, stopped) as screen:
        seen = text(screen.app)
        assert "nothing ran: the answer was cut by the token limit" in seen
        assert "denied by person, nothing ran: ask me first" in seen
        assert "it was stopped; a part of its work may be done: the run was interrupted" in seen
        assert "│ cc main.c" in seen


async def test_arguments_that_the_person_changed_are_shown_and_said() -> None:
    edited = card("weather", PLAIN, *whole("1", {"city": "Paris", "days": 3}))
    take_all(edited, asked("1", "weather", {"city": "Paris", "days": 3}), answered("1", allowed=True))
    edited.take(started("1", "weather", {"city": "Lyon", "days": 2}))
    async with shown(edited) as screen:
        seen = text(screen.app)
        assert "edited by you" in seen
        assert "Lyon" in seen
        assert "Paris" not in seen


async def test_why_it_asks_and_what_is_risked_is_said() -> None:
    waits = card("weather", PLAIN, *whole("1", {"city": "Paris"}), asked("1", "weather", {}, risk="network"))
    async with shown(waits) as screen:
        seen = text(screen.app)
        assert "asks: writing asks in this mode (mode)" in seen
        assert lines(screen.app)[0].endswith("risk: network")


# ---- a file, an edit, a command, anything


async def test_a_file_appears_as_a_file() -> None:
    content = "".join(f"line {number}\n" for number in range(1, 241))
    write = card("write_file", WRITE, *streamed("1", {"path": "src/app.py", "content": content}), path="src/app.py")
    async with shown(write) as screen:
        rows = lines(screen.app)
        assert rows[0].lstrip("▌ ").startswith("◌ streaming  write_file  src/app.py")
        assert rows[0].endswith("240 lines · 2.1 kB")
        assert rows[1].endswith("… 228 lines above")
        assert [row.split()[-3:] for row in rows[2:14]] == [[str(n), "line", str(n)] for n in range(229, 241)]
        take_all(write, ended("1", arguments={"path": "src/app.py", "content": content}))
        await screen.draw()
        rows = lines(screen.app)
        assert rows[1].split()[-3:] == ["1", "line", "1"]
        assert rows[9].endswith("… 232 more lines (Enter shows all)")
        screen.cards[0].focus()
        await screen.press("enter")
        assert screen.cards[0].size.height == 241
        await screen.press("enter")
        assert screen.cards[0].size.height == 10


async def test_a_file_has_the_colours_of_its_language() -> None:
    write = card("write_file", WRITE, *streamed("1", {"path": "a.py", "content": PROGRAM}), path="a.py")
    plain = card("write_file", WRITE, *streamed("2", {"path": "a", "content": PROGRAM}), path="a", id="2")
    async with shown(write, plain) as screen:
        styles = [
            {span.style for line in each._sheet.lines for span in line.spans} for each in screen.cards if each._sheet
        ]
        assert "$text-accent" in styles[0]
        assert styles[1] == set()


async def test_colours_come_to_every_card_whichever_waited_for_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toolwire.tui.cards.syntax._READERS", {})
    cards = [card("run_bash", BASH, *whole(str(n), {"command": "echo 'x'"}), id=str(n)) for n in range(3)]
    async with shown(*cards) as screen:
        assert [bool(each._sheet and each._sheet.lines[0].spans) for each in screen.cards] == [True] * 3


_OLD = "def main():\n    print('hi')\n    return 1\n"
_NEW = "def main() -> int:\n    print('hello')\n    return 1\n"


@pytest.mark.parametrize("names", [("old_text", "new_text"), ("old_string", "new_string")])
async def test_one_text_for_another_becomes_a_diff_while_it_arrives(names: tuple[str, str]) -> None:
    arguments = {"path": "a.py", names[0]: _OLD, names[1]: _NEW}
    kind, tool = (EDIT, "edit_file") if names[0] == "old_text" else (PLAIN, "replace")
    edit = card(tool, kind, *streamed("1", arguments, upto=125))
    async with shown(edit) as screen:
        rows = [row.lstrip("▌ ") for row in lines(screen.app)]
        assert rows[1:5] == ["- def main():", "-     print('hi')", "-     return 1", "+ def main() -> int:"]
        edit.take(ended("1", arguments=arguments))
        await screen.draw()
        rows = [row.lstrip("▌ ") for row in lines(screen.app)]
        assert rows[1:5] == ["- def main():", "-     print('hi')", "+ def main() -> int:", "+     print('hello')"]
        assert rows[0].endswith("+2 −2")
        assert rows[5:7] == ["return 1", ""]


async def test_the_real_diff_takes_the_place_of_what_the_model_wrote() -> None:
    arguments = {"path": "a.py", "old_text": _OLD, "new_text": _NEW}
    before = b"import sys\n\n\n" + _OLD.encode()
    diff = unified(before, before.replace(_OLD.encode(), _NEW.encode()), "a.py")
    edit = card("edit_file", EDIT, *whole("1", arguments), asked("1", "edit_file", arguments, diff))
    async with shown(edit) as screen:
        rows = [row.lstrip("▌ ") for row in lines(screen.app)]
        assert "+2 −2 · risk: write" in rows[0]
        assert rows[2] == "1   import sys"
        assert rows[5:9] == [
            "4 - def main():",
            "5 -     print('hi')",
            "4 + def main() -> int:",
            "5 +     print('hello')",
        ]
        # What the person changed is another change than the one that was worked out.
        take_all(edit, answered("1", allowed=True), started("1", "edit_file", {**arguments, "new_text": "pass\n"}))
        assert "import sys" not in await screen.draw()


async def test_a_large_change_opened() -> None:
    arguments = {"path": "a.py", "old_text": "a = 1\n" * 300, "new_text": "b = 2\n" * 300}
    edit = card("edit_file", EDIT, *whole("1", arguments))
    async with shown(edit) as screen:
        assert "… 586 more lines (Enter shows all)" in text(screen.app)
        edit.focus()
        await screen.press("enter")
        assert edit.size.height == 603
        await screen.press("enter")
        assert edit.size.height == 18


async def test_a_patch_grows_as_a_diff() -> None:
    patch = "--- a.py\n+++ a.py\n@@ -7,2 +7,2 @@ class A:\n kept\n-old\n+new\n"
    edit = card("patch_file", EDIT, *streamed("1", {"path": "a.py", "patch": patch}, upto=-5))
    async with shown(edit) as screen:
        rows = [row.lstrip("▌ ") for row in lines(screen.app)]
        assert rows[1:5] == ["⋯ class A:", "7   kept", "8 - old", "8 + ne"]


async def test_a_write_that_replaces_a_file_shows_what_changes() -> None:
    arguments = {"path": "a.py", "content": _NEW}
    replaces = card("write_file", WRITE, *whole("1", arguments))
    replaces.take(asked("1", "write_file", arguments, unified(_OLD.encode(), _NEW.encode(), "a.py")))
    makes = card("write_file", WRITE, *whole("2", arguments), id="2")
    makes.take(asked("2", "write_file", arguments, unified(None, _NEW.encode(), "a.py")))
    async with shown(replaces, makes) as screen:
        seen = text(screen.app)
        assert seen.count("+ def main() -> int:") == 1
        assert "1  def main() -> int:" in seen


async def test_a_command_with_its_output_while_it_runs_and_after() -> None:
    arguments = {"command": "cd web\nnpm test", "cwd": "web"}
    bash = card("run_bash", BASH, *whole("1", arguments), started("1", "run_bash", arguments))
    for number in range(30):
        bash.take(told("1", f"\x1b[32mtest {number}\x1b[0m", missed=2 if number == 4 else 0))
    async with shown(bash) as screen:
        rows = [row.lstrip("▌ ") for row in lines(screen.app)]
        assert rows[1:4] == ["$ cd web", "npm test", "cwd: web"]
        assert rows[4] == "│ … 22 lines above; missed 2 reports"
        assert rows[5:13] == [f"│ test {number}" for number in range(22, 30)]
        output = "\n".join(f"test {number}" for number in range(30))
        bash.take(gave("1", f"{output}\n[exit code 1 after 2.0 s]", seconds=2.04))
        seen = await screen.draw()
        rows = [row.lstrip("▌ ") for row in seen.split("\n")]
        assert rows[0].startswith("✓ done  run_bash")
        assert rows[0].endswith("exit code 1 · 2.0 s")
        assert bash.has_class("-exited")
        assert rows[4] == "│ … 23 more lines (Enter shows all)"
        assert rows[12] == "│ [exit code 1 after 2.0 s]"
        screen.cards[0].focus()
        await screen.press("enter")
        assert screen.cards[0].size.height == 4 + 31


async def test_time_goes_by_while_it_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    bash = card("run_bash", BASH, started("1", "run_bash", {"command": "make"}))
    monkeypatch.undo()
    async with shown(bash) as screen:
        with monkeypatch.context() as patched:
            patched.setattr("toolwire.tui.cards.call.time.monotonic", lambda: now)
            for later, words in ((103.9, "3 s"), (165.0, "1:05"), (3_800.0, "1:01:40")):
                now = later
                await screen.cards[0].draw()
                assert screen.cards[0]._head(80).plain.endswith(f" {words}")


async def test_any_other_tool_by_its_fields() -> None:
    arguments = {"files": [{"name": "a.txt", "size": 3}], "note": "\n".join(f"row {n}" for n in range(20)), "on": True}
    plain = card("upload", PLAIN, *whole("1", arguments))
    async with shown(plain) as screen:
        rows = [row.lstrip("▌ ") for row in lines(screen.app)]
        assert rows[1:5] == ["files[0].size: 3", "note:", "│ row 0", "│ row 1"]
        assert rows[5:9] == ["│ row 2", "│ … 15 lines …", "│ row 18", "│ row 19"]
        assert rows[9] == "on: true"


@pytest.mark.parametrize(
    ("content", "closed", "opened"),
    [
        ('{"a": 1.50}', ["→ {", '"a": 1.50', "}"], ["→ {", '"a": 1.50', "}"]),
        ("[1,2,3,4,5,6]", ["→ [1,2,3,4,5,6]"], ["→ [", "1,", "2,"]),
        ("{not json}", ["→ {not json}"], ["→ {not json}"]),
        ("", ["→ an empty result"], ["→ an empty result"]),
        ("\n".join("abcdefghij"), ["→ a", "b", "c", "d", "e", "f", "… 4 more lines (Enter shows all)"], ["→ a", "b"]),
    ],
)
async def test_a_result(content: str, closed: list[str], opened: list[str]) -> None:
    done = card("weather", PLAIN, *whole("1", {}), gave("1", content))
    async with shown(done) as screen:
        rows = [row.lstrip("▌ ") for row in lines(screen.app)]
        assert rows[0].endswith("320 ms")
        assert rows[1 : 1 + len(closed)] == closed
        done.focus()
        rows = [row.lstrip("▌ ") for row in (await screen.press("enter")).split("\n")]
        assert rows[1 : 1 + len(opened)] == opened


async def test_a_file_that_was_read_is_shown_as_one() -> None:
    content = "     9\timport os\n    10\t\n    11\t[bold]x\n[2 more lines]"
    read = card("read_file", PLAIN, *whole("1", {"path": "a.py"}), gave("1", content))
    async with shown(read) as screen:
        rows = [row.lstrip("▌ ") for row in lines(screen.app)]
        assert rows[1:5] == ["9  import os", "10", "11  [bold]x", "[2 more lines]"]
        assert read._sheet is not None
        assert read._sheet.lines[0].spans


async def test_what_an_edit_gave_is_one_line_because_the_change_is_seen() -> None:
    arguments = {"path": "a.py", "old_text": _OLD, "new_text": _NEW}
    edit = card("edit_file", EDIT, *whole("1", arguments), gave("1", "Edited a.py (+2 −2). Now:\n     1\tx\n     2\ty"))
    async with shown(edit) as screen:
        seen = text(screen.app)
        assert "→ Edited a.py (+2 −2). Now:" in seen
        assert "more line" not in seen
        edit.focus()
        assert "2  y" in await screen.press("enter")


async def test_pictures_of_a_result_are_mentioned() -> None:
    picture = MediaPart("image/png", data="eHh4" * 1_000, name="plot.png")
    done = card("plot", PLAIN, ToolFinished(1, "1", ToolResult("1", "plot", "made", media=(picture,), note="slow")))
    async with shown(done) as screen:
        seen = text(screen.app)
        assert "plot.png, image/png" in seen
        assert "note: slow" in seen


async def test_an_agent_in_a_call() -> None:
    agent = card("researcher", PLAIN, *whole("1", {"task": "look"}), started("1", "researcher", {"task": "look"}))
    for event in (
        started("a", "search", {"query": "x"}),
        gave("a", "found"),
        started("b", "read", {"path": "y"}),
        SegmentEvent(EventType.START, "t", segment_type=SegmentType.TEXT),
        SegmentEvent(EventType.CONTENT, "t", delta="So far it seems"),
    ):
        agent.take(nested("1", event))
    async with shown(agent) as screen:
        rows = [row.lstrip("▌ ") for row in lines(screen.app)]
        assert rows[1:4] == ['✓ search {"query":"x"}', '▶ read {"path":"y"}', "› So far it seems"]


# ---- hostile, large


_HOSTILE = (
    "[bold red on white]x[/] \x1b[2J\x1b]52;c;AAAA\x07 user\u202egpj.exe \x00\x9b31m $(rm) [link=file:///x]y[/link]"
)


@pytest.mark.parametrize("kind", [PLAIN, WRITE, EDIT, BASH])
async def test_nothing_is_obeyed_or_hidden(kind: SegmentType) -> None:
    arguments = {"path": _HOSTILE, "command": _HOSTILE, "content": f"{_HOSTILE}\n{_HOSTILE}", _HOSTILE: _HOSTILE}
    bad = card(_HOSTILE, kind, *whole("1", arguments), asked("1", "x", arguments, _HOSTILE))
    take_all(bad, started("1", "x", {**arguments, "n": _HOSTILE}), told("1", _HOSTILE))
    other = card(_HOSTILE, kind, ended("2", problem=_HOSTILE), id="2")
    inner = card(_HOSTILE, kind, nested("3", started("1", _HOSTILE, arguments)), gave("3", _HOSTILE), id="3")
    async with shown(bad, other, inner, size=(80, 60)) as screen:
        for each in screen.cards:
            each.action_open()
        seen = await screen.draw()
        assert "[bold red on white]x[/]" in seen
        assert not {"\x1b", "\x00", "\x07", "\u202e", "\x9b"} & set(seen)
        assert "\x1b" not in screen.app.export_screenshot()
        for each in screen.cards:
            each.plain()


@pytest.mark.parametrize(
    "content",
    ["x" * 1_000_000, "é漢" * 300_000, "\n" * 500_000, '"""\n' + "def f(): pass\n" * 40_000],
    ids=["one line", "one wide line", "empty lines", "lines"],
)
async def test_a_large_argument_stays_quick(content: str) -> None:
    write = card("write_file", WRITE, path="a.py")
    events = list(streamed("1", {"path": "a.py", "content": content}, size=20_000))
    async with shown(write) as screen:
        spent = 0.0
        for event in events:
            began = time.thread_time()
            write.take(event)
            await write.draw()
            spent += time.thread_time() - began
        assert spent / len(events) < 0.03, "a draw takes some milliseconds"
        take_all(write, ended("1", arguments={"path": "a.py", "content": content}))
        await screen.draw()
        write.focus()
        assert "write_file" in await screen.press("enter")


async def test_deltas_cost_nothing_until_they_are_painted() -> None:
    write = card("write_file", WRITE, path="a.py")
    events = list(streamed("1", {"path": "a.py", "content": "some words\n" * 4_000}, size=10))
    async with shown(write):
        with Work() as work:
            for event in events:
                write.take(event)
        assert work.count / len(events) < 40


# ---- keys, mouse, clipboard


async def test_copying() -> None:
    done = card("weather", PLAIN, *whole("1", {"city": "Paris"}))
    async with shown(done) as screen:
        done.focus()
        await screen.press("C")
        assert screen.app.clipboard == '{\n  "city": "Paris"\n}'
        await screen.press("c")
        assert screen.app.clipboard == "weather: queued\ncity: Paris"
        done.take(gave("1", "sun [bold]ny"))
        await screen.press("c")
        assert screen.app.clipboard == "sun [bold]ny"


async def test_what_came_of_a_cut_call_can_be_copied() -> None:
    cut = card("weather", PLAIN, *streamed("1", {"city": "Paris"}, upto=12))
    raw = card("weather", PLAIN, SegmentEvent(EventType.CONTENT, "2", "{{{"), id="2")
    async with shown(cut, raw) as screen:
        cut.focus()
        await screen.press("C")
        assert screen.app.clipboard == "city: Pa"
        raw.focus()
        await screen.press("C")
        assert screen.app.clipboard == "{{{"


async def test_a_click_on_the_head_opens_and_one_below_does_not() -> None:
    done = card("weather", PLAIN, *whole("1", {}), gave("1", "\n".join("abcdefghij")))
    async with shown(done) as screen:
        await screen.pilot.click(done, offset=(5, 0))
        await screen.press()
        assert done.is_open
        await screen.pilot.click(done, offset=(5, 3))
        await screen.press()
        assert done.is_open
        await screen.pilot.click(done, offset=(5, 0))
        await screen.press()
        assert not done.is_open


async def test_who_closes_a_long_card_goes_on_at_its_head() -> None:
    first = card("weather", PLAIN, *whole("0", {}), gave("0", "\n".join("abcdefghij")), id="0")
    done = card("weather", PLAIN, *whole("1", {}), gave("1", "\n".join(map(str, range(200)))))
    async with shown(first, done, size=(80, 12)) as screen:
        done.focus()
        await screen.press("enter")
        assert done.size.height == 201
        screen.app.query_one(VerticalScroll).scroll_end(animate=False)
        assert "199" in await screen.press()
        assert "done  weather" in await screen.press("enter")
        assert not done.is_open


async def test_what_is_marked_with_the_mouse_is_what_is_seen() -> None:
    done = card("weather", PLAIN, *whole("1", {}), gave("1", "first line\nsecond line"))
    async with shown(done) as screen:
        await screen.pilot.mouse_down(done, offset=(4, 1))
        await screen.pilot.hover(done, offset=(10, 2))
        await screen.pilot.mouse_up(done, offset=(10, 2))
        await screen.pilot.pause()
        assert screen.app.screen.get_selected_text() == "first line\n  second "


async def test_plain_has_all_of_it() -> None:
    bash = card("run_bash", BASH, *whole("1", {"command": "make\nmake test"}), started("1", "x", {"command": "make"}))
    assert bash.plain().startswith("run_bash: running")
    bash.take(told("1", "cc main.c"))
    assert bash.plain().endswith("cc main.c")
    bash.take(gave("1", "all good"))
    assert bash.plain().split("\n") == [
        "run_bash: done · 320 ms",
        "edited by you: these arguments, not the model's",
        "command: make",
        "all good",
    ]


@pytest.mark.parametrize(
    ("seconds", "exact", "words"),
    [(0.004, True, "4 ms"), (4.25, True, "4.2 s"), (4.9, False, "4 s"), (125, True, "2:05"), (3_725, False, "1:02:05")],
)
def test_durations(seconds: float, exact: bool, words: str) -> None:
    assert duration(seconds, exact=exact) == words


# ---- side by side


@pytest.mark.parametrize(
    ("width", "count", "rows"),
    [(80, 2, [1, 1]), (104, 2, [2]), (120, 3, [2, 1]), (160, 3, [3]), (160, 4, [2, 2]), (160, 1, [1]), (30, 2, [1, 1])],
)
async def test_calls_stand_side_by_side_where_there_is_room(width: int, count: int, rows: list[int]) -> None:
    cards = [card("weather", PLAIN, *whole(str(n), {"n": n}), id=str(n)) for n in range(count)]
    for number in range(7):
        cards[0].take(told("0", f"row {number}"))
    async with shown(*cards, size=(width, 30)) as screen:
        tops = [each.region.y for each in screen.cards]
        assert [tops.count(top) for top in sorted(set(tops))] == rows
        assert [(each.region.y, each.region.x) for each in cards] == sorted(
            (each.region.y, each.region.x) for each in cards
        )
        assert all(each.region.right <= width for each in cards)
        for top in set(tops):
            assert len({each.size.height for each in cards if each.region.y == top}) == 1


async def test_a_card_that_is_open_has_the_whole_width() -> None:
    cards = [card("weather", PLAIN, *whole(str(n), {"n": n}), id=str(n)) for n in range(3)]
    async with shown(*cards, size=(160, 30)) as screen:
        cards[1].focus()
        await screen.press("enter")
        assert [each.region.y for each in cards] == sorted({each.region.y for each in cards})
        assert cards[1].region.width > 150


async def test_a_card_that_is_taken_away_while_it_paints_does_no_harm() -> None:
    write = card("write_file", WRITE, *streamed("1", {"path": "a.py", "content": PROGRAM}), path="a.py")
    async with shown(write) as screen:
        take_all(write, ended("1", arguments={"path": "a.py", "content": PROGRAM * 200}))
        write.is_open = True
        painting = asyncio.create_task(write.draw())
        await write.remove()
        await painting
        await write.draw()
        await screen.pilot.pause()


# ---- pictures


def _write() -> list[ToolCard]:
    events = streamed("1", {"path": "src/words.py", "content": PROGRAM}, upto=520)
    return [card("write_file", WRITE, *events, path="src/words.py")]


def _edit() -> list[ToolCard]:
    old, new = "    return Counter(text.lower().split())\n", "    return Counter(re.findall(r'\\w+', text.lower()))\n"
    arguments = {"path": "src/words.py", "old_text": old, "new_text": new}
    diff = unified(PROGRAM.encode(), PROGRAM.replace(old, new).encode(), "src/words.py")
    return [
        card("edit_file", EDIT, *whole("1", arguments), asked("1", "edit_file", arguments, diff), path="src/words.py")
    ]


def _parallel() -> list[ToolCard]:
    commands = ["pytest -q tests", "rg -n 'TODO' src | sort", "npm ci && npm run build"]
    made = []
    for number, command in enumerate(commands):
        id = str(number)
        made.append(card("run_bash", BASH, *whole(id, {"command": command}), id=id))
        if number < 2:
            made[-1].take(started(id, "run_bash", {"command": command}))
    for number in range(14):
        made[0].take(told("0", f"tests/test_words_{number}.py ....... [{number * 7}%]"))
    made[1].take(gave("1", "src/words.py:9: # TODO: other languages\nsrc/words.py:14: # TODO: a flag", seconds=0.04))
    made[2].take(asked("2", "run_bash", {"command": commands[2]}, risk="execute"))
    return made


def _final() -> list[ToolCard]:
    done = card("weather", PLAIN, *whole("1", {"city": "Paris", "days": 3}), gave("1", '{"max": [21, 19, 23]}'))
    failed = card("fetch_url", PLAIN, *whole("2", {"url": "https://example.org/x"}), id="2")
    failed.take(
        gave("2", "Error: no result within 5 seconds; it was stopped", outcome="timeout", seconds=5, error=True)
    )
    no = card("run_bash", BASH, *whole("3", {"command": "rm -rf build dist"}), id="3")
    take_all(no, asked("3", "run_bash", {}), answered("3", allowed=False, reason="keep dist"))
    cut = card("write_file", WRITE, *streamed("4", {"path": "a.py", "content": PROGRAM}, upto=90), id="4", path="a.py")
    cut.take(ended("4", problem="the answer was cut by the token limit before the call was certainly complete"))
    stopped = card("run_bash", BASH, started("5", "run_bash", {"command": "make all"}), told("5", "cc main.c"), id="5")
    stopped.take(INTERRUPTED)
    denied = card("write_file", WRITE, *whole("6", {"path": ".env", "content": "KEY=1"}), id="6", path=".env")
    denied.take(refused("6", "not run: it is denied: this file is never written"))
    return [done, failed, no, cut, stopped, denied]


@pytest.mark.parametrize(
    ("cards", "name", "title", "words", "size"),
    [
        (
            _write,
            "20-write-streaming",
            "A file while it is written",
            "The arguments of a call are decoded while they stream: the file appears as a file.",
            (80, 18),
        ),
        (
            _edit,
            "21-edit-waiting",
            "An edit that waits for a yes",
            "The diff is the real one, worked out from the file as it is now.",
            (80, 16),
        ),
        (
            _parallel,
            "22-parallel-calls",
            "Calls side by side",
            "Three calls of one answer: one runs, one is done, one waits.",
            (160, 16),
        ),
        (_final, "23-final-states", "How calls end", "Each end has its mark, its word and its reason.", (100, 32)),
    ],
)
async def test_pictures(
    cards: Callable[[], list[ToolCard]], name: str, title: str, words: str, size: tuple[int, int]
) -> None:
    async with shown(*cards(), size=size) as screen:
        picture = keep(screen.app, name, title, words)
        assert State.STREAMING not in picture or name.startswith("20")
