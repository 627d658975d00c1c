"""A conversation in JSON: both ways of writing it, and what is said of a wrong one."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from toolwire import Message
from toolwire.errors import ConfigError
from toolwire.messages import (
    MediaPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolResultPart,
    dump_conversation,
    load_conversation,
    system,
    tool_results,
    user,
)

CONVERSATION = [
    system("Be brief."),
    user("Weather?"),
    Message(
        "assistant",
        [
            ThinkingPart("hm", {"signature": "s"}),
            TextPart("Let me look."),
            ToolCallPart("c1", "get_weather", {"city": "Paris", "days": [1, 2]}, '{"city": "Paris"}', {"x": 1}),
        ],
        [{"wire": "openai-chat", "reasoning_detail": {"a": 1}}],
    ),
    tool_results([ToolResultPart("c1", "get_weather", [TextPart("18 °C"), MediaPart("image/png", data="AA")], True)]),
    Message("user", [MediaPart("image/png", url="https://example.com/a.png", name="a"), TextPart("this?")]),
]


def test_what_is_written_reads_back() -> None:
    assert load_conversation(dump_conversation(CONVERSATION)) == CONVERSATION


def test_plain_and_parts_mean_the_same() -> None:
    plain, parts = load_conversation(
        '[{"role":"user","content":"hi"},{"role":"user","content":[{"type":"text","text":"hi"}]}]'
    )
    assert plain.parts == parts.parts == [TextPart("hi")]
    assert plain.text == parts.text == "hi"
    assert Message("assistant").parts == []


def test_calls_and_text_of_a_message() -> None:
    message = CONVERSATION[2]
    assert [call.id for call in message.tool_calls] == ["c1"]
    assert message.text == "Let me look."


def test_json_leaves_out_what_is_not_set() -> None:
    assert msgspec.json.decode(dump_conversation([user("hi")])) == [{"role": "user", "content": "hi"}]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "no conversation"),
        ("{}", "array"),
        ("[1]", "[0]"),
        ('[{"role":"user","content":"a"},{"role":"robot","content":"a"}]', "[1].role"),
        ('[{"content":"a"}]', "role"),
        ('[{"role":"user","content":[{"type":"nonsense"}]}]', "nonsense"),
        ('[{"role":"assistant","content":[{"type":"tool_call","id":"a"}]}]', "name"),
        ("[" * 100_000, "no conversation"),
    ],
)  # fmt: skip
def test_a_wrong_conversation_is_told_where(text: str, words: str) -> None:
    with pytest.raises(ConfigError, match="no conversation") as error:
        load_conversation(text)
    assert words in str(error.value)
    assert "role" in error.value.hint


def test_bytes_that_are_no_text() -> None:
    with pytest.raises(ConfigError):
        load_conversation(b'[{"role":"user","content":"\xff"}]')


def test_unknown_members_are_ignored() -> None:
    row: dict[str, Any] = {"role": "user", "content": "hi", "timestamp": 5}
    assert load_conversation(msgspec.json.encode([row])) == [user("hi")]
