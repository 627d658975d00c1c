"""Reasoning: one line that tells how long and how much, and opens."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from textual.containers import VerticalScroll

from toolwire.agent.events import AgentEvent, RunFailed, RunFinished, RunInterrupted
from toolwire.chunks import StopReason, TokenUsage
from toolwire.errors import ErrorInfo
from toolwire.stream.segments import EventType, SegmentEvent
from toolwire.tui import reasoning as module
from toolwire.tui.reasoning import Reasoning
from tui.screens import Host, lines, text, thought


def told(item: Reasoning, *deltas: str, end: bool = True) -> None:
    for event in thought("r", *deltas, end=end):
        item.take(event)


async def test_it_is_one_line_and_the_newest_one_while_it_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    item = Reasoning()
    async with Host(VerticalScroll(item)).run_test(size=(60, 12)) as pilot:
        told(item, "First I lo", "ok.\nThen [red]I", " think\x1b", end=False)
        monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: item._began))
        await item.draw()
        await pilot.pause()
        shown = [line.strip() for line in lines(pilot.app) if line.strip()]
        assert shown == ["▸ Thinking… 0 s · 6 words", "Then [red]I think␛"]
        assert item.live


async def test_it_says_how_long_it_took() -> None:
    item = Reasoning()
    told(item, "a b", end=False)
    item._began -= 12.4
    item.take(SegmentEvent(EventType.END, "r"))
    async with Host(VerticalScroll(item)).run_test(size=(60, 12)) as pilot:
        await item.draw()
        await pilot.pause()
        assert "▸ Thought for 12 s · 2 words" in text(pilot.app)
        assert not item.live
        again = item.again()()
        assert again.plain() == "a b"
        await pilot.app.query_one(VerticalScroll).mount(again)
        await again.draw()
        await pilot.pause()
        assert text(pilot.app).count("Thought for 12 s") == 2


async def test_it_opens_and_closes() -> None:
    item = Reasoning()
    async with Host(VerticalScroll(item)).run_test(size=(60, 14)) as pilot:
        told(item, "First *this*.\n\n", "Then that.", end=False)
        await item.draw()
        item.focus()
        await pilot.press("enter")
        await pilot.pause()
        assert "First this." in text(pilot.app)
        told_more = SegmentEvent(EventType.CONTENT, "r", delta=" And more.")
        item.take(told_more)
        item.take(SegmentEvent(EventType.END, "r"))
        while item.live:
            await item.draw()
        await pilot.pause()
        assert "Then that. And more." in text(pilot.app)
        await pilot.press("enter")
        await pilot.pause()
        assert "First this." not in text(pilot.app)
        await pilot.click(item._head)
        await pilot.pause()
        assert "Then that. And more." in text(pilot.app)


async def test_shown_from_the_start() -> None:
    item = Reasoning(is_open=True)
    async with Host(VerticalScroll(item)).run_test(size=(60, 14)) as pilot:
        told(item, "All of it.")
        await item.draw()
        await pilot.pause()
        assert "All of it." in text(pilot.app)


@pytest.mark.parametrize(
    "end",
    [
        SegmentEvent(EventType.ERROR, error=ErrorInfo("ProviderError", "gone")),
        RunInterrupted(1, TokenUsage()),
        RunFailed(ErrorInfo("ProviderError", "gone"), 1),
        RunFinished("", StopReason.STOP, 1, TokenUsage()),
    ],
)
async def test_it_ends_with_the_run(end: AgentEvent) -> None:
    item = Reasoning()
    async with Host(VerticalScroll(item)).run_test(size=(60, 12)) as pilot:
        told(item, "half a thou", end=False)
        item.take(end)
        item.take(SegmentEvent(EventType.CONTENT, "r", delta=" too late"))
        await item.draw()
        await pilot.pause()
        assert "Thought" in text(pilot.app)
        assert not item.live
        assert item.plain() == "half a thou"


def test_what_is_kept_is_bounded() -> None:
    item = Reasoning()
    for _ in range(30):
        told(item, "word " * 10_000, end=False)
    assert len(item.plain()) == module.KEPT
    assert item._words == 300_000
