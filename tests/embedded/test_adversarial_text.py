"""Hostile answers: endless openers, near-markers, floods. They cost time in proportion, and limits end them, typed."""

from __future__ import annotations

import tracemalloc

import pytest

from embedded.text_feeding import FORMATS, check_cuts, work
from embedded.text_tools import TOOLS
from toolwire import TextStream
from toolwire.embedded.registry import text_format
from toolwire.embedded.text_reader import TextReader
from toolwire.limits import Limits

PATTERNS = {
    "plain": "plain words, nothing else ",
    "tool tags": "<tool ",
    "named tool tags": '<tool name="search">',
    "open attributes": '<tool name="search" a="',
    "open quotes": '<tool name="',
    "args": '<tool name="search"><arg name="query">',
    "items": '<arg name="tags"><item>',
    "shorthands": '<write_file path="a">',
    "comments": '<tool name="search"><!-- ',
    "cdata": '<tool name="search"><arg name="query"><![CDATA[',
    "markers": "__START_CONTENT__ __END_",
    "near closers": '<tool name="echo"><arg name="text"></ar</arg </tool',
    "near tags": "<too <tol <toolx ",
    "angles": "<",
    "sentinel starts": "[[SEG_START ",
    "sentinel headers": '[[SEG_START {"type":"run_bash"}]]',
    "sentinel members": '[[SEG_START {"a":"',
    "sentinel numbers": '[[SEG_START {"a":1,',
    "near sentinels": "[[SEG_STAR [[SEG_EN ",
    "squares": "[",
    "braces": "{",
    "nested envelopes": '{"tool":{"tool":',
    "nested arguments": '{"arguments":{"arguments":',
    "nested lists": '[{"tool_calls":[',
    "named": '{"name":"search",',
    "names": '{"name":"',
    "call openers": '{"name":"search","arguments":{"query":"',
    "string arguments": '{"tool_calls":[{"name":"search","arguments":"{\\"query\\":\\"',
    "escapes": '{"tool":{"function":"search","parameters":{"query":"\\\\\\"\\u0041',
    "open strings": '{"',
    "fences": "```",
    "json fences": "```json\n",
    "open fences": "```json\n{",
    "ticks": "` ",
    "spaces": " " * 50,
    "brace and space": "{" + " " * 50,
    "fence and space": "```" + "\n" * 50,
    "tag and space": "<tool" + " " * 50,
    "mark and space": "[[SEG_START" + "\n" * 50,
    "closers": "</tool></arg>]]}}\"'[[SEG_END]]```",
    "numbers": "[1,",
    "letters that grow": "İ",
}
READERS = ("xml", "json", "sentinel")
"""One format of each reader: the other envelopes of JSON are read by the same."""
SIZE = 12_000
SMALL = Limits(held=400)
"""So that what is held is full many times over."""


@pytest.mark.thorough
@pytest.mark.parametrize("format_", READERS)
@pytest.mark.parametrize("name", PATTERNS)
def test_work_grows_with_the_text(format_: str, name: str) -> None:
    """Twice the text is about twice the work, whether it comes at once or in small pieces."""
    pattern = PATTERNS[name]
    short = pattern * (SIZE // 2 // len(pattern))
    for size in (5, SIZE):
        once, twice = (work(format_, short * times, size, limits=SMALL) for times in (1, 2))
        assert twice <= 2.4 * once + 1_000, (once, twice)


@pytest.mark.thorough
@pytest.mark.parametrize("format_", FORMATS)
@pytest.mark.parametrize("name", PATTERNS)
def test_every_pattern_at_every_cut(format_: str, name: str) -> None:
    """A little of each, with small bounds: what ends it ends it at the same character."""
    text = (PATTERNS[name] * 40)[:300]
    limits = Limits(held=40, arguments=90, calls=3, segments=5, stream=280)
    check_cuts(format_, text, limits=limits, every=7)
    check_cuts(format_, text, None, limits=limits, every=31)
    check_cuts(format_, text, every=31)


LIMITED = {
    "arguments": (Limits(arguments=200), "the text of one call", 1, {"query": "x" * 400}),
    "calls": (Limits(calls=3), "the number of calls", 6, {"query": "x"}),
    "stream": (Limits(stream=150), "the text of one answer", 4, {"query": "x" * 30}),
    "segments": (Limits(segments=4), "the number of segments", 6, {"query": "x"}),
}


@pytest.mark.parametrize("format_", FORMATS)
@pytest.mark.parametrize("name", LIMITED)
def test_limits_end_an_answer_the_same_at_every_cut(format_: str, name: str) -> None:
    limits, words, count, arguments = LIMITED[name]
    call = text_format(format_).write_call("search", arguments, TOOLS["search"])
    text = "Some text. ".join([call] * count)
    reading = check_cuts(format_, text, limits=limits, every=3)
    error = reading.events[-1].error
    assert error is not None
    assert error.type == "LimitExceeded"
    assert words in error.message
    assert reading.calls == []
    assert all(part[2] for part in reading.outcome if part[0] == "broken")


@pytest.mark.thorough
@pytest.mark.parametrize("format_", FORMATS)
def test_what_is_held_is_bounded(format_: str) -> None:
    """However long an opener goes on without becoming a call, text comes out again."""
    limits = Limits(held=500)
    for pattern in PATTERNS.values():
        opener = pattern + "a" * 5000
        stream = TextStream(format_, TOOLS, limits=limits)
        given = 0
        for fed, character in enumerate(opener, 1):
            given += sum(len(event.delta) for event in stream.feed(character))
            assert fed - given <= limits.held + 1024, pattern


UNENDING = {
    "xml": ('<tool name="nobody">', '<arg name="k{}">1</arg>'),
    "json": ('{{"name": "nobody", "arguments": {{"a": 1', ', "k{}": 1'),
    "sentinel": ('[[SEG_START {{"type": "nobody"', ', "k{}": 1'),
}


@pytest.mark.parametrize("format_", UNENDING)
def test_a_call_of_no_tool_that_never_ends_leaves_nothing_behind(format_: str) -> None:
    read = text_format(format_).read
    reader = TextReader(lambda scanner: read(scanner, TOOLS))
    start, member = UNENDING[format_]
    reader.feed(start.format(), [])
    tracemalloc.start()
    try:
        for number in range(4_000):
            reader.feed(member.format(number), [])
        kept = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert kept < 20_000
