"""`auto`: the syntax found from the answer itself, on a whole mark and never sooner."""

from __future__ import annotations

import json
from typing import Any

import pytest

from embedded.test_text_data import CASES
from embedded.text_feeding import check_cuts, check_truncated, read_text
from embedded.text_tools import TOOLS
from toolwire import EventType, SegmentType, Stream, TextStream
from toolwire.embedded.choosing import as_parser
from toolwire.embedded.detecting import ALONE, FOLLOWED
from toolwire.embedded.manifest import manifest
from toolwire.embedded.registry import format_names, text_format
from toolwire.errors import ConfigError

UNMARKED = {"json", "json-openai", "json-gemini", "xlam", "gemma3", "command-r"}
"""Without a mark of their own."""
ALIKE = {
    "ernie45": "hermes",
    "granite4": "hermes",
    "hunyuan-a13b": "jamba",
    "apriel": "jamba",
    "poolside-v1": "glm47",
    "cohere4": "cohere3",
    "deepseek-v4": "deepseek-v32",
}
"""What may be taken for another, whose reader reads them just so."""
ONE_CALL = [
    (name, case)
    for name, cases in CASES.items()
    for case in cases
    if case["case"] in ("single", "parallel") and name not in UNMARKED
]


def test_marks_and_formats_are_known() -> None:
    found = {*ALONE.values(), *(name for ways in FOLLOWED.values() for _, name in ways)}
    assert found <= set(format_names())


@pytest.mark.parametrize(("name", "case"), [pytest.param(*one, id=f"{one[0]}-{one[1]['case']}") for one in ONE_CALL])
def test_a_marked_syntax_is_found(name: str, case: dict[str, Any]) -> None:
    text: str = case["input"]
    if name in ("llama3-json", "pythonic") and not text.startswith("<|python"):
        unmarked = text.partition("<|python")[0]
        assert read_text("auto", [unmarked]).outcome == [["text", unmarked]]
        return
    expected = read_text(name, [text])
    found = check_cuts("auto", text, every=1 + len(text) // 60)
    assert json.dumps(found.calls) == json.dumps(expected.calls)
    if name != "muse-glimmer":  # whose first header has no mark that is its own
        assert found.outcome == expected.outcome
    check_truncated("auto", text, every=1 + len(text) // 60)
    written = {part.written.format for part in found.stream.message.tool_calls if part.written is not None}
    assert written <= {name, ALIKE.get(name, name)}


@pytest.mark.thorough
@pytest.mark.parametrize(
    "mark", [*ALONE, *FOLLOWED, "[TOOL_CALLS]", "<tool_call>", "<function=", "<|action_start|>", "<|start|>assistant"]
)
def test_half_a_mark_takes_nothing_away(mark: str) -> None:
    for end in range(1, len(mark)):
        text = f"Look: {mark[:end]}"
        assert check_cuts("auto", text).outcome == [["text", text]]
        assert check_cuts("auto", f"{text} and more").outcome == [["text", f"{text} and more"]]


@pytest.mark.parametrize(
    "text",
    [
        "Use <tool_call> to call.",
        "<tool_call> is a tag",
        "<tool_call>three\n\nmore words",
        "a <function=plot> b",
        "<function_calls> hold calls",
        "<|start|>assistant is how it begins",
        "<|action_start|> and so on",
        "<tool_calls>none</tool_calls>",
        "`[TOOL_CALLS]`",
        "[TOOL_CALLS]search for more",
        "f functools functools( ]<] ]<]mini",
    ],
)
def test_marks_without_what_must_follow_are_text(text: str) -> None:
    reading = check_cuts("auto", text)
    assert reading.rebuilt == text
    assert not reading.stream.summary()["calls"]
    assert {part[0] for part in reading.outcome} == {"text"}


def test_reasoning_before_anything_is_decided() -> None:
    call = '<tool_call>\n{"name": "search", "arguments": {"query": "x"}}\n</tool_call>'
    whole = check_cuts("auto", f"<think>a < b</think>\n\nWell.\n{call}").outcome
    assert whole[1] == ["reasoning", "a < b"]
    assert whole[-2] == ["call", "search", {"query": "x"}]
    still_open = check_cuts("auto", f"<think>so {call} done").outcome
    assert still_open[1] == ["reasoning", "so "]
    assert ["call", "search", {"query": "x"}] in still_open
    assert still_open[-1] == ["text", " done"]
    begun = check_cuts("auto", f"so{call}", reasoning=True).outcome
    assert begun[0] == ["reasoning", "so"]
    assert ["call", "search", {"query": "x"}] in begun


@pytest.mark.parametrize("closing", ["</think>", "<|END_THINKING|>", "[/THINK]", "</seed:think>", "</mm:think>"])
def test_reasoning_that_the_prompt_opened_ends_with_any_familys_mark(closing: str) -> None:
    outcome = check_cuts("auto", f"hm{closing}ok", reasoning=True).outcome
    assert outcome == [["reasoning", "hm"], ["markup", closing], ["text", "ok"]]


def test_the_first_syntax_stays() -> None:
    text = '<tool_call>{"name":"ping"}</tool_call> then [TOOL_CALLS][{"name":"ping","arguments":{}}]'
    outcome = check_cuts("auto", text).outcome
    assert outcome[-1] == ["text", ' then [TOOL_CALLS][{"name":"ping","arguments":{}}]']


def test_a_models_name_goes_before_what_shows() -> None:
    assert TextStream("auto", TOOLS, model="moonshotai/Kimi-K2-Instruct").format is text_format("kimi-k2")
    assert TextStream("auto", TOOLS, model="who-knows").format.name == "auto"


def test_it_teaches_nothing() -> None:
    with pytest.raises(ConfigError, match="teaches it nothing"):
        manifest(TOOLS, "auto")


def test_what_shows_is_told_with_the_call() -> None:
    stream = TextStream("auto", TOOLS)
    events = [*stream.feed('So: <tool_call>{"name":"ping","arguments":{}}</tool_call>'), *stream.close()]
    started = [event.segment_type for event in events if event.type is EventType.START]
    assert started == [SegmentType.TEXT, SegmentType.MARKUP, SegmentType.TOOL_CALL, SegmentType.MARKUP]
    (call,) = stream.message.tool_calls
    assert call.written is not None
    assert (call.written.format, call.written.text) == (
        "hermes",
        '<tool_call>{"name":"ping","arguments":{}}</tool_call>',
    )


def test_a_call_that_leaked_into_the_text_is_found_beside_native_ones() -> None:
    """A server that should have read `<tool_call>` and did not: the name of the model, or the mark, says how to."""
    leaked = 'So.\n<tool_call>\n{"name": "search", "arguments": {"query": "x"}}\n</tool_call>'
    native = {"index": 0, "id": "call_1", "function": {"name": "ping", "arguments": "{}"}}
    choices: list[dict[str, Any]] = [{"delta": {"content": leaked[at : at + 5]}} for at in range(0, len(leaked), 5)]
    choices += [{"delta": {"tool_calls": [native]}}, {"delta": {}, "finish_reason": "tool_calls"}]
    body = "".join(f"data: {json.dumps({'choices': [{'index': 0, **choice}]})}\n\n" for choice in choices)
    for model in ("", "Qwen/Qwen2.5-7B-Instruct"):
        parser = as_parser("api_tool_call+auto", model=model)
        stream = Stream("openai-chat", tools=TOOLS, stream_parser=parser)
        stream.feed(f"{body}data: [DONE]\n\n".encode())
        stream.close()
        assert [(call.tool_name, call.arguments) for call in stream.invocations] == [
            ("search", {"query": "x"}),
            ("ping", {}),
        ]
        assert stream.message.text == "So.\n"
