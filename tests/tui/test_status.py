"""The line at the bottom: always one line, with what matters most."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from rich.cells import cell_len

from toolwire.cli.assembly import Options
from toolwire.testing.bodies import body
from toolwire.testing.pieces import Call, End, Text
from toolwire.tui.status import StatusLine, short, shortened, status_line, took
from tui.chatting import Slow, chat, home

__all__ = ["home"]

FACTS = [
    ("F1 keys", ""),
    ("12k in, 3,400 out", ""),
    ("about $0.0123", ""),
    ("88% window left", ""),
    ("◉ recording", ""),
]
MODELS = [
    "local",
    "openai:gpt-4.1-mini",
    "openrouter:a-long-organisation/an-extremely-long-model-name-120b-instruct-2026",
    "日本:モデル名前がとても長いものですよね",
    "x:\x1b[2J\n[bold]y[/]",
]


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("state", ["● ready", "? 12 questions for you", "◌ working 12 min 3 s, 3 queued"])
def test_it_fits_at_every_width(model: str, state: str) -> None:
    for width in range(1, 200):
        line = status_line(width, (state, ""), model, "auto-edit", FACTS)
        assert line.cell_length <= width
        assert "\n" not in line.plain
        assert "\x1b" not in line.plain
        if width >= cell_len(state) + 13:
            assert line.plain.startswith(f"{state} · auto-edit")


@pytest.mark.parametrize(
    ("width", "left_out"),
    [(200, set()), (100, {"F1 keys"}), (80, {"F1 keys", "about $0.0123"}), (40, dict(FACTS).keys())],
)
def test_what_matters_least_goes_first(width: int, left_out: set[str]) -> None:
    shown = status_line(width, ("● ready", ""), "openai:gpt-4.1-mini", "ask", FACTS).plain
    assert all(fact not in shown for fact in left_out)
    assert "openai:gpt-4.1-mini" in shown
    if width == 200:
        assert shown.endswith(" · ".join(fact for fact, _ in FACTS))


@pytest.mark.parametrize(
    ("name", "width", "shown"),
    [("abc", 3, "abc"), ("abcdefghi", 6, "ab…ghi"), ("日本語日本語", 7, "日…本語"), ("", 3, ""), ("abcdef", 1, "…")],
)
def test_a_name_keeps_its_end(name: str, width: int, shown: str) -> None:
    assert shortened(name, width) == shown


def test_numbers_and_times() -> None:
    assert [short(count) for count in (0, 9_999, 10_000, 999_499, 999_500, 12_345_678)] == [
        *("0", "9,999", "10k", "999k", "1.0M", "12.3M")
    ]
    assert [took(seconds) for seconds in (0.4, 59.9, 60, 3_725)] == ["0 s", "59 s", "1 min 0 s", "62 min 5 s"]


async def test_it_tells_what_goes_on(home: Path) -> None:
    asks = body("openai-chat", Call("c", "write_file", json.dumps({"path": "a", "content": "x"})), End())
    whole = body("openai-chat", Text("Hello there."), End())
    slow = Slow(whole[:60], whole[60:])
    options = Options(no_mcp=True, context_tokens=4_000)
    async with chat(home, asks, slow, options=options) as talk:
        line = talk.app.query_one(StatusLine)
        await talk.until_seen("● ready · ask · openai-compatible:test", "window left")
        await talk.type("Write")
        await talk.until_seen("? 1 question for you")
        assert line.has_class("waiting")
        await talk.pilot.pause(0.5)
        await talk.pilot.press("n")
        await talk.until_seen("◌ working")
        assert not line.has_class("waiting")
        await talk.type("next")
        await talk.until_seen("1 queued")
        await talk.pilot.press("escape")
        slow.go_on(3)
        await talk.until_ready()
        talk.app._tick()
        await talk.until_seen("● ready")
        await talk.talk.start_recording(str(home / "r.jsonl"))
        talk.talk.set_mode("full")
        talk.app._tick()
        await talk.until_seen("◉ recording", "· full ·")
