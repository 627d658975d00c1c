"""Shaping for calls in text: the same tool and examples, told by the manifest and held by the format's grammar."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from toolwire import TextStream
from toolwire.embedded.manifest import manifest
from toolwire.embedded.registry import text_format
from toolwire.local.shaping import shape_request
from toolwire.tools.demo import demo_tools

Body = dict[str, Any]
FORMATS = ["xml", "json", "sentinel"]
TOOLS = {tool.name: tool for tool in demo_tools(Path(__file__).parent)}
OFFERED = [
    {
        "type": "function",
        "function": {"name": tool.name, "description": tool.description, "parameters": tool.parameters},
    }
    for tool in TOOLS.values()
]
CALLED = {"id": "c1", "type": "function", "function": {"name": "calculate", "arguments": "{}"}}


def body(*messages: Body, **more: Any) -> Body:
    return {"model": "m", "stream": True, "messages": list(messages), "tools": OFFERED, **more}


def question(text: str) -> Body:
    return {"role": "user", "content": text}


@pytest.mark.parametrize("name", FORMATS)
def test_a_question_that_fits_a_tool(name: str) -> None:
    format_ = text_format(name)
    made = shape_request(body(question("What is 12 * 7?")), format_)
    assert not {"tools", "tool_choice", "parallel_tool_calls", "stop"} & made.keys()
    told, *turns, asked = made["messages"]
    assert told["role"] == "system"
    assert told["content"].endswith(manifest([TOOLS["calculate"]], format_))
    assert "current_time" not in told["content"]
    assert asked == question("What is 12 * 7?")
    native = shape_request(body(question("What is 12 * 7?")))["messages"]
    assert [turn["content"] for turn in turns[::2]] == [turn["content"] for turn in native[:-2:2]]
    for turn in turns[1::2]:
        stream = TextStream(format_, TOOLS.values())
        stream.feed(turn["content"])
        stream.close()
        assert [call.tool_name for call in stream.invocations] == ["calculate"]
    assert "12 * 7" in made["grammar"]
    assert (made["model"], made["stream"], made["temperature"]) == ("m", True, 0)
    assert made["max_tokens"] > 0


@pytest.mark.parametrize("name", FORMATS)
def test_the_beginning_is_the_same_for_every_question(name: str) -> None:
    first, second = (
        shape_request(body(question(text)), text_format(name))["messages"]
        for text in ("What is 12 * 7?", "What is 100 + 1?")
    )
    assert first[:-1] == second[:-1]


@pytest.mark.parametrize("name", FORMATS)
def test_results_are_shown_as_the_format_writes_them(name: str) -> None:
    messages = [
        question("What is 12 * 7?"),
        {"role": "assistant", "content": "", "tool_calls": [CALLED]},
        {"role": "tool", "tool_call_id": "c1", "content": "12 * 7 = 84"},
    ]
    made, native = shape_request(body(*messages), text_format(name)), shape_request(body(*messages))
    assert made["grammar"] == native["grammar"]
    shown = made["messages"][-1]["content"]
    assert shown.startswith("What is 12 * 7?\n")
    assert "12 * 7 = 84" in shown
    assert "Result: " not in shown
    stream = TextStream(text_format(name), TOOLS.values())
    stream.feed(shown)
    stream.close()
    assert stream.invocations == []


def test_talk_is_the_same() -> None:
    talk = body(question("Tell me a joke"))
    assert shape_request(talk, text_format("sentinel")) == shape_request(talk)
    never = body(question("What is 12 * 7?"), tool_choice="none")
    assert shape_request(never, text_format("sentinel")) == shape_request(never)
