"""`TextStream`: the text of an answer in, events out."""

from __future__ import annotations

from typing import Any

import pytest

import toolwire
from embedded.text_feeding import FORMATS, read_text
from embedded.text_tools import TOOLS
from feeding import check_shape, merged
from toolwire import EventType, StopReason, TextStream, ToolDefinition
from toolwire.embedded.registry import text_format
from toolwire.errors import ConfigError, TransportError
from toolwire.limits import Limits
from toolwire.tools.registry import ToolRegistry


def text_of(format_: str, query: str = "x") -> str:
    return text_format(format_).write_call("search", {"query": query}, TOOLS["search"])


@toolwire.tool(risk="read")
def get_weather(city: str, days: int = 1) -> str:
    """Weather for a city."""
    return f"{city}: {days}"


@pytest.mark.parametrize("format_", FORMATS)
def test_a_decorated_function_is_called_by_text(format_: str) -> None:
    stream = TextStream(format_, [get_weather])
    written = text_format(format_).write_call("get_weather", {"city": "Paris", "days": 3}, None)
    events = stream.feed("Let me see. ") + stream.feed(written) + stream.close()
    check_shape(events)
    (invocation,) = stream.invocations
    assert (invocation.tool_name, invocation.arguments) == ("get_weather", {"city": "Paris", "days": 3})
    assert stream.complete
    assert stream.stop_reason is StopReason.STOP


@pytest.mark.parametrize("format_", FORMATS)
def test_only_known_tools_are_calls(format_: str) -> None:
    text = text_of(format_)
    assert read_text(format_, [text], TOOLS).calls == [("search", {"query": "x"})]
    reading = read_text(format_, [text], ToolRegistry([ToolDefinition("other")]))
    assert reading.outcome == [["text", text]]
    assert reading.unknown == ["search"]
    assert [name for name, _ in read_text(format_, [text], None).calls] == ["search"]


@pytest.mark.parametrize("format_", FORMATS)
def test_with_no_tools_at_all_everything_is_text(format_: str) -> None:
    stream = TextStream(format_, [])
    events = stream.feed(text_of(format_)) + stream.close()
    assert [event.type for event in events] == ["start", "content", "end", "done"]
    assert stream.invocations == []


@pytest.mark.parametrize("format_", FORMATS)
def test_arguments_that_the_schema_refuses_do_not_run(format_: str) -> None:
    text = text_format(format_).write_call("book", {"cabin": "garden"}, TOOLS["book"])
    reading = read_text(format_, [text])
    assert reading.calls == []
    (problem,) = reading.stream.problems.values()
    assert "cabin" in problem


@pytest.mark.parametrize("format_", FORMATS)
def test_summary_and_message(format_: str) -> None:
    text = text_of(format_)
    reading = read_text(format_, ["Hi. ", text, " Bye."])
    summary = reading.stream.summary()
    assert summary["text"].startswith("Hi. ")
    assert summary["text"].endswith(" Bye.")
    (call,) = summary["calls"]
    assert {key: call[key] for key in ("name", "arguments", "complete", "problem")} == {
        "name": "search",
        "arguments": {"query": "x"},
        "complete": True,
        "problem": None,
    }
    (part,) = reading.stream.message.tool_calls
    assert part.id == reading.stream.invocations[0].id
    assert part.written is not None
    assert part.written.format == format_
    assert part.written.text in text


@pytest.mark.parametrize("format_", FORMATS)
def test_a_stop_reason_that_allows_no_calls(format_: str) -> None:
    reading = read_text(format_, [text_of(format_)], stop_reason=StopReason.LENGTH)
    assert reading.calls == []
    (problem,) = reading.stream.problems.values()
    assert "token limit" in problem


@pytest.mark.parametrize("format_", FORMATS)
def test_what_broke_off_runs_nothing(format_: str) -> None:
    stream = TextStream(format_, TOOLS)
    stream.feed(text_of(format_))
    events = stream.fail(TransportError("reset"))
    assert events[-1].type is EventType.ERROR
    assert stream.invocations == []
    assert stream.feed("more") == []
    assert stream.close() == []


@pytest.mark.parametrize("format_", FORMATS)
def test_nothing_comes_after_the_end(format_: str) -> None:
    stream = TextStream(format_, TOOLS)
    stream.feed("Hi")
    assert stream.close()[-1].type is EventType.DONE
    assert stream.feed(text_of(format_)) == []
    assert stream.close() == []
    assert stream.invocations == []


@pytest.mark.parametrize("format_", FORMATS)
def test_empty_pieces_make_no_difference(format_: str) -> None:
    text = f"a {text_of(format_)} b"
    pieces = [piece for character in text for piece in ("", character, "")]
    assert list(merged(read_text(format_, pieces).events)) == list(merged(read_text(format_, [text]).events))
    assert [event.type for event in read_text(format_, []).events] == ["done"]
    assert [event.type for event in read_text(format_, ["", ""]).events] == ["done"]


def test_options() -> None:
    stream = TextStream("xml", TOOLS, turn=3, segment_id_prefix="t3-", live_arguments=True)
    events = stream.feed(text_of("xml")) + stream.close()
    (invocation,) = stream.invocations
    assert (invocation.turn, invocation.id) == (3, "t3-s0")
    assert any(event.fields for event in events)
    assert TextStream("json", provider="gemini").format is text_format("json-gemini")
    assert TextStream().format is text_format("xml")
    assert TextStream(text_format("sentinel")).format is text_format("sentinel")
    with pytest.raises(ConfigError):
        TextStream("native")


@pytest.mark.parametrize("format_", FORMATS)
def test_nothing_is_raised_for_bad_text(format_: str) -> None:
    for text in ("\ud800", "a\udfffb", "\x00", "\ufeff", "\U0010ffff", text_of(format_, "x").replace("x", "\ud800")):
        reading = read_text(format_, [text])
        check_shape(reading.events)
        assert reading.rebuilt == text
        assert reading.calls == [] or "\ud800" not in text
    stream = TextStream(format_, TOOLS, limits=Limits(stream=5))
    events: list[Any] = stream.feed("123456") + stream.feed("7") + stream.close()
    check_shape(events)
    assert events[-1].error.type == "LimitExceeded"
