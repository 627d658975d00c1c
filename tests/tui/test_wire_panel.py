"""The panel of frames: what it shows at each width, how it follows, and that a flood does not hold the input up."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from textual import events
from textual.app import App, ComposeResult
from textual.pilot import Pilot

from cli.chat_bytes import ANSWER, CALCULATE, call_deltas, sse
from counted_work import Work
from toolwire.errors import TransportError
from toolwire.inspection.tap import WireLog, WireRequest
from toolwire.transport import HttpRequest
from toolwire.tui.wire import WirePanel
from toolwire.tui.wire_frames import WireFrames
from tui.gallery import keep

REQUEST = HttpRequest(url="https://h/v1/chat/completions", headers={}, body=b"{}", provider="openai", model="gpt-x")


class Shown(App[None]):
    def __init__(self, log: WireLog) -> None:
        super().__init__()
        self.panel = WirePanel(log)

    def compose(self) -> ComposeResult:
        yield self.panel


@asynccontextmanager
async def shown(log: WireLog, width: int = 120, height: int = 20) -> AsyncIterator[tuple[WirePanel, Pilot[None]]]:
    app = Shown(log)
    async with app.run_test(size=(width, height)) as pilot:
        app.panel.focus()
        await pilot.pause()
        await settled(app.panel, pilot)
        yield app.panel, pilot


async def settled(panel: WirePanel, pilot: Pilot[None]) -> None:
    """Draws until nothing is left to read."""
    for _ in range(1000):
        await panel.draw()
        if panel._watching is None or not panel._watching.behind:
            break
    await pilot.pause()


def answered(log: WireLog, data: bytes, size: int = 100, *, end: bool = True) -> WireRequest:
    told = log.begin(REQUEST, "openai-chat")
    for place in range(0, len(data), size):
        log.came(told, data[place : place + size], place / 1000)
    if end:
        log.end(told, len(data) / 1000)
    return told


def rows(panel: WirePanel) -> list[str]:
    frames = panel.query_one(WireFrames)
    return [frames.render_line(y).text.rstrip() for y in range(frames.size.height)]


def is_following(frames: WireFrames) -> bool:
    return frames.follows


def words(count: int) -> bytes:
    return sse(*({"content": f"word{number} "} for number in range(count)))


async def test_before_anything_was_sent() -> None:
    async with shown(WireLog()) as (panel, _):
        assert str(panel.border_subtitle) == "nothing was sent yet"
        assert not any(rows(panel))


async def test_a_frame_that_begins_with_accents_alone_is_shown() -> None:
    log = WireLog()
    answered(log, ("data: " + "\u0301" * 300 + "x" * 300 + "\n\n").encode())
    async with shown(log) as (panel, _):
        assert "xxx" in rows(panel)[0]


async def test_frames_beside_events_where_there_is_room() -> None:
    log = WireLog()
    answered(log, CALCULATE)
    async with shown(log) as (panel, _):
        first, *rest = rows(panel)
        assert first.split()[:4] == ["1", "+0.100", "122", "B"]
        assert '"Let me "' in first.partition("│")[0]
        assert first.partition("│")[2].strip() == '→ start s0 text; content s0 "Let me "'
        assert len([row for row in rest if row]) == 8
        title = str(panel.border_title)
        for part in (
            "wire 1 of 1",
            "9 frames",
            f"{len(CALCULATE):,} B",
            f"{len(CALCULATE) / 1000:.2f} s",
            "openai gpt-x",
            "openai-chat",
        ):
            assert part in title
        assert "⏎ open" in str(panel.border_subtitle)


async def test_one_under_the_other_where_there_is_not() -> None:
    log = WireLog()
    answered(log, CALCULATE)
    async with shown(log, width=80) as (panel, _):
        first, second, *_ = rows(panel)
        assert '{"object": "chat.com…' in first
        assert '", "content": "Let me "}}]}' in first
        assert second.strip() == '→ start s0 text; content s0 "Let me "'
        assert all(len(row) <= 76 for row in rows(panel))


async def test_events_that_do_not_fit_end_with_an_ellipsis() -> None:
    log = WireLog()
    answered(log, sse({"content": "漢字 " * 100}))
    async with shown(log, width=80) as (panel, _):
        assert rows(panel)[1].strip().startswith("→ start s0 text; content s0")
        assert rows(panel)[1].endswith("…")


async def test_the_end_is_followed_until_the_person_looks_back() -> None:
    log = WireLog()
    told = answered(log, words(100), end=False)
    async with shown(log) as (panel, pilot):
        frames = panel.query_one(WireFrames)
        assert frames.cursor == 102
        assert " 103 " in rows(panel)[-1]
        await pilot.press("up", "up")
        before = rows(panel)
        log.came(told, words(20), 20.0)
        await settled(panel, pilot)
        assert rows(panel) == before
        assert frames.cursor == 100
        assert "not following" in str(panel.border_title)
        await pilot.press("end")
        log.came(told, words(20), 21.0)
        await settled(panel, pilot)
        assert frames.cursor == frames._count - 1 > 140
        assert "not following" not in str(panel.border_title)
        await pilot.press("home")
        assert frames.cursor == 0
        assert frames.scroll_offset.y == 0
        await pilot.press("pagedown")
        assert 10 < frames.cursor < 20


async def test_scrolling_stops_and_resumes_the_following() -> None:
    log = WireLog()
    told = answered(log, words(100), end=False)
    async with shown(log) as (panel, pilot):
        frames = panel.query_one(WireFrames)
        for _ in range(3):
            await pilot._post_mouse_events([events.MouseScrollUp], WireFrames)
        await pilot.pause()
        await frames.stop_animation("scroll_y")
        assert not is_following(frames)
        top = frames.scroll_offset.y
        log.came(told, words(20), 20.0)
        await settled(panel, pilot)
        assert frames.scroll_offset.y == top
        frames.scroll_end(animate=False, immediate=True)
        await pilot.pause()
        assert is_following(frames)
        log.came(told, words(20), 21.0)
        await settled(panel, pilot)
        assert frames.is_vertical_scroll_end
        assert frames.cursor == frames._count - 1


async def test_a_frame_is_opened_and_folded() -> None:
    log = WireLog()
    answered(log, CALCULATE)
    async with shown(log, height=40) as (panel, pilot):
        folded = rows(panel)
        await pilot.press("home", "enter")
        opened = rows(panel)
        assert '"content": "Let me "' in "\n".join(opened)
        assert opened[0] == folded[0]
        assert opened.index(folded[1]) > 10
        await pilot.press("down")
        assert rows(panel) == opened
        await pilot.press("enter")
        assert '"see… né 🦜."' in "\n".join(rows(panel))
        await pilot.press("enter", "up", "enter")
        assert rows(panel) == folded
        await pilot.click(WireFrames, offset=(5, 2))
        assert panel.query_one(WireFrames).cursor == 2
        await pilot.click(WireFrames, offset=(5, 2))
        assert '"name": "calculate"' in "\n".join(rows(panel))


async def test_opened_frames_are_laid_out_anew_for_another_width() -> None:
    log = WireLog()
    answered(log, CALCULATE)
    async with shown(log, height=40) as (panel, pilot):
        await pilot.press("home", "enter")
        await pilot.resize_terminal(70, 40)
        await pilot.pause()
        assert all(len(row) <= 66 for row in rows(panel))
        assert '"content": "Let me "' in "\n".join(rows(panel))


async def test_requests_are_gone_through() -> None:
    log = WireLog()
    answered(log, CALCULATE)
    answered(log, ANSWER)
    async with shown(log) as (panel, pilot):
        assert "wire 2 of 2" in str(panel.border_title)
        await pilot.press("left")
        await settled(panel, pilot)
        assert "wire 1 of 2" in str(panel.border_title)
        assert "calculate" in "\n".join(rows(panel))
        answered(log, ANSWER)
        await settled(panel, pilot)
        assert "wire 1 of 3" in str(panel.border_title)
        await pilot.press("right", "right")
        await settled(panel, pilot)
        assert "wire 3 of 3" in str(panel.border_title)
        answered(log, CALCULATE)
        await settled(panel, pilot)
        assert "wire 4 of 4" in str(panel.border_title)


async def test_problems_are_marked_and_found() -> None:
    log = WireLog()
    told = log.begin(REQUEST, "openai-chat")
    begun = words(50).partition(b"word9 ")[0].rpartition(b"data:")[0]
    log.came(told, begun + b"nonsense\n\n" + words(3)[:200], 1.0)
    log.end(told, 2.0, TransportError("connection reset"))
    async with shown(log) as (panel, pilot):
        assert "! 2 problems" in str(panel.border_title)
        await pilot.press("home", "p")
        frames = panel.query_one(WireFrames)
        frame = frames.current()
        assert frame is not None
        assert frame.name == "stray line"
        assert any(row.startswith("!") and "a line outside of all events" in row for row in rows(panel))
        await pilot.press("p")
        assert frames.cursor == frames._count - 1
        assert "connection reset" in "\n".join(rows(panel))
        await pilot.press("P")
        assert frames.current() is frame


async def test_nothing_that_a_model_says_is_markup_or_hidden() -> None:
    evil = "[bold red]x[/] \x1b[2J\u202e"
    log = WireLog()
    told = log.begin(
        HttpRequest(url="https://h/x", headers={}, body=b"", provider="p", model="[red]m[/"), "openai-chat"
    )
    log.came(told, sse({"content": evil}, *call_deltas(evil, "{}", call_id=evil), stop="tool_calls"), 1.0)
    log.end(told, 2.0)
    async with shown(log, width=160, height=60) as (panel, pilot):
        await pilot.press("home", "enter")
        text = "\n".join(rows(panel))
        assert "[bold red]x[/]" in text
        assert not {"\x1b", "\u202e"} & set(text)
        assert "[red]m[/" in str(panel.border_title)


async def test_the_frame_can_be_copied() -> None:
    log = WireLog()
    answered(log, CALCULATE)
    async with shown(log) as (panel, pilot):
        await pilot.press("home", "y")
        assert panel.app.clipboard.encode() == CALCULATE.partition(b"\n\n")[0]


async def test_it_draws_itself_while_it_is_shown() -> None:
    log = WireLog()
    app = Shown(log)
    app.panel.display = False
    async with app.run_test(size=(120, 20)) as pilot:
        answered(log, CALCULATE)
        await pilot.pause(0.2)
        assert app.panel._watching is None
        app.panel.display = True
        for _ in range(100):
            await pilot.pause(0.02)
            if "9 frames" in str(app.panel.border_title):
                break
        assert "calculate" in "\n".join(rows(app.panel))
        app.panel.focus()
        await pilot.press("home", "down", "down", "down", "enter")
        keep(
            app,
            "51-a-frame-laid-out",
            "A frame laid out",
            "`/wire`: every frame of an answer as it came, with its time and size, beside the events that it became.",
        )


@pytest.mark.thorough
@pytest.mark.parametrize("width", [80, 160])
async def test_ten_thousand_frames_do_not_hold_the_input_up(width: int) -> None:
    """They are read in slices, and a step among them costs as much as among few."""
    steps: dict[int, int] = {}
    for count in (2_000, 10_000):
        log = WireLog()
        told = log.begin(REQUEST, "openai-chat")
        log.came(told, words(count), 1.0)
        log.end(told, 2.0)
        async with shown(log, width=width, height=50) as (panel, _):
            frames = panel.query_one(WireFrames)
            assert frames._count == count + 3
            panel._watch(told)
            took = []
            while panel._watching is not None and panel._watching.behind:
                with Work() as work:
                    await panel.draw()
                took.append(work.count)
            assert count < 10_000 or (len(took) > 3 and max(took) < sum(took) / 2)
            with Work() as work:
                for step in range(100):
                    frames._go(step * 97 % count)
                    rows(panel)
            steps[count] = work.count
    assert steps[10_000] < 2 * steps[2_000]
