"""Calls whose arguments are JSON: order of members, strings that hold marks, bounds, what a broken one leaves alone."""

from __future__ import annotations

import json
from typing import Any

import pytest

from embedded.text_feeding import Reading, check_cuts, check_truncated, read_text
from toolwire.limits import Limits

GOOD = '<tool_call>{"name":"ping","arguments":{}}</tool_call>'
PING = ["call", "ping", {}]


def reading(payload: str, after: str = GOOD, **options: Any) -> Reading:
    text = f"<tool_call>{payload}</tool_call>{after}"
    check_truncated("hermes", text, **options)
    return check_cuts("hermes", text, **options)


@pytest.mark.parametrize(
    "payload",
    [
        '{"name": "search", "arguments": {"query": "x"}}',
        '{"arguments": {"query": "x"}, "name": "search"}',
        '{"name": "search", "parameters": {"query": "x"}}',
        '{"name": "search", "arguments": "{\\"query\\": \\"x\\"}"}',
        '{"arguments": "{\\"query\\": \\"x\\"}", "name": "search"}',
        '{"type": "function", "function": {"name": "search", "arguments": {"query": "x"}}}',
        '{"id": 7, "name": "search", "thought": {"a": [1]}, "arguments": {"query": "x"}, "more": null}',
        ' \n{ "name" : "search" , "arguments" : {"query":"x"} } \n',
        '{"na\\u006de": "sear\\u0063h", "arguments": {"query": "x"}}',
    ],
)
def test_ways_to_say_the_same(payload: str) -> None:
    read = reading(payload)
    assert read.calls == [("search", {"query": "x"}), ("ping", {})]


@pytest.mark.parametrize(
    "payload", ['{"name":"ping"}', '{"name":"ping","arguments":null}', '{"name":"ping","arguments":""}']
)
def test_no_arguments(payload: str) -> None:
    assert reading(payload).calls == [("ping", {})] * 2


@pytest.mark.parametrize(
    "value",
    [
        "</tool_call>",
        "<tool_call>",
        '</tool_call><tool_call>{"name":"ping","arguments":{}}</tool_call>',
        "{[}]",
        'a "quoted" \\ word',
        "```",
        "😀 é \u2028",
    ],
)
@pytest.mark.parametrize("ascii_only", [True, False])
def test_a_string_may_hold_anything(value: str, ascii_only: bool) -> None:
    payload = json.dumps({"name": "echo", "arguments": {"text": value}}, ensure_ascii=ascii_only)
    assert reading(payload).calls == [("echo", {"text": value}), ("ping", {})]


BROKEN = {
    "missing brace": ('{"name":"search","arguments":{"query":"x"}', "search", "not valid JSON"),
    "two missing braces": ('{"name":"search","arguments":{"query":"x"', "search", "not valid JSON"),
    "trailing comma": ('{"name":"search","arguments":{"query":"x",}}', "search", "not valid JSON"),
    "single quotes": ("{'name':'search','arguments':{'query':'x'}}", "", "not valid JSON"),
    "raw line end": ('{"name":"search","arguments":{"query":"x\ny"}}', "search", "control character"),
    "raw line end and marks": (
        '{"name":"search","arguments":{"query":"x\n</tool_call>' + GOOD.replace('"', '\\"') + '"}}',
        "search",
        "control",
    ),
    "no name": ('{"arguments":{"query":"x"}}', "", "names no tool"),
    "an empty name": ('{"name":"","arguments":{}}', "", "names no tool"),
    "two names": ('{"name":"search","name":"ping"}', "search", "twice"),
    "two arguments": ('{"name":"search","arguments":{},"parameters":{}}', "search", "arguments twice"),
    "a list": ('{"name":"search","arguments":[1]}', "search", "must be a JSON object"),
    "a name that is a number": ('{"name":7,"arguments":{}}', "", "names no tool"),
    "words": ('{"name":"search" and so on', "search", "not valid JSON"),
    "a stray bracket": ('{"name":"search","arguments":{"query":]}}', "search", "not valid JSON"),
    "a bare word": ('{"name":"search","arguments":{query:"</tool_call>"}}', "search", "not valid JSON"),
    "twice the same argument": ('{"name":"search","arguments":{"query":"a","query":"b"}}', "search", "twice"),
}


@pytest.mark.parametrize(("payload", "name", "words"), BROKEN.values(), ids=BROKEN)
def test_a_broken_call_is_told_and_leaves_its_neighbours_alone(payload: str, name: str, words: str) -> None:
    for before in ("", f"{GOOD}\n"):
        text = f"{before}<tool_call>{payload}</tool_call> so {GOOD}"
        check_truncated("hermes", text)
        outcome = check_cuts("hermes", text).outcome
        (broken,) = [part for part in outcome if part[0] == "broken"]
        assert broken[1] == name
        assert words in broken[2]
        assert [part for part in outcome if part[0] == "call"] == [PING] * (2 if before else 1)


def test_what_stands_in_a_string_that_never_ends_begins_nothing() -> None:
    outcome = check_cuts("hermes", f'<tool_call>{{"name":"echo","arguments":{{"text":"x{GOOD}').outcome
    assert [part[0] for part in outcome] == ["markup", "broken"]


def test_the_place_of_a_fault_is_told() -> None:
    text = 'Hm. <tool_call>{"name":"search","arguments":{"query": oops}}</tool_call>'
    (problem,) = read_text("hermes", [text]).stream.problems.values()
    assert f"at character {text.index('oops')}" in problem


def test_numbers_and_escapes_stay_as_they_are() -> None:
    raw = '{"cabin": "economy", "price": 12345678901234567890.10, "zip": "\\ud83d\\ude00\\/"}'
    read = reading(f'{{"name": "book", "arguments": {raw}}}')
    assert read.stream.invocations[0].raw_arguments == raw


def test_too_much_before_the_name() -> None:
    limits = Limits(held=60)
    payload = '{"arguments": {"query": "' + "x" * 80 + '"}, "name": "search"}'
    read = reading(payload, limits=limits)
    assert read.calls == [("ping", {})]
    (problem,) = read.stream.problems.values()
    assert "too long" in problem


def test_deep_nesting_is_refused() -> None:
    payload = '{"name":"book","arguments":{"cabin":"economy","anything":' + "[" * 9 + "]" * 9 + "}}"
    read = reading(payload, limits=Limits(depth=6))
    assert read.calls == [("ping", {})]


@pytest.mark.parametrize("payload", ['[{"name":"ping"}]', "name", "", "null", "7", "</tool_call>", "<tool_call"])
def test_a_tag_without_an_object_is_text(payload: str) -> None:
    read = reading(payload)
    assert read.calls == [("ping", {})]
    assert read.outcome[0][0] == "text"
