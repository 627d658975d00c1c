from __future__ import annotations

import pytest

from feeding import read, typed_sse, whole
from toolwire.agent.events import HistoryMoved
from toolwire.cli.console import PlainConsole
from toolwire.cli.screen import SERVER_TOOL_SHOWN, Screen

ASKED = {"type": "server_tool_use", "id": "srv_1", "name": "web_search", "input": {}}
GAVE = {"type": "web_search_tool_result", "tool_use_id": "srv_1", "content": [{"title": "x" * 5000}]}
QUERY = {"type": "input_json_delta", "partial_json": '{"query":"a\x1b[2Jb"}'.replace("\x1b", "\\u001b")}


def test_a_tool_at_the_provider_is_told_in_a_line_each(capsys: pytest.CaptureFixture[str]) -> None:
    body = typed_sse(
        {"type": "message_start", "message": {}},
        {"type": "content_block_start", "index": 0, "content_block": ASKED},
        {"type": "content_block_delta", "index": 0, "delta": QUERY},
        {"type": "content_block_stop", "index": 0},
        {"type": "content_block_start", "index": 1, "content_block": GAVE},
        {"type": "content_block_stop", "index": 1},
        {"type": "content_block_start", "index": 2, "content_block": {"type": "text", "text": "Found."}},
        {"type": "content_block_stop", "index": 2},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}},
        {"type": "message_stop"},
    )
    stream, events = read(whole(body), "anthropic")
    screen = Screen(PlainConsole())
    for event in events:
        screen.show(event)
    screen.settle()
    lines = capsys.readouterr().out.split("\n")
    asked, gave, found = (line for line in lines if line)
    assert asked.startswith('○ web_search (at the provider) {"query":"a')
    assert gave.startswith("○ web_search_tool_result (at the provider) gave [")
    assert gave.endswith("…")
    assert len(gave) < SERVER_TOOL_SHOWN + 80
    assert found == "Found."
    assert stream.invocations == []


def test_what_a_moved_history_lost_is_told_in_a_line_each(capsys: pytest.CaptureFixture[str]) -> None:
    screen = Screen(PlainConsole())
    screen.show(HistoryMoved(1, ["1 part of reasoning left out", "media mentioned in words: [a\x1b[2J\nb]"]))
    screen.settle()
    out = capsys.readouterr().out
    assert "\x1b[2J" not in out
    assert [line.partition(":")[0] for line in out.splitlines()] == [
        "1 part of reasoning left out",
        "media mentioned in words",
    ]
