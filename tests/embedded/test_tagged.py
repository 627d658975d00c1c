"""Calls whose values stand between marks as raw text: where a value ends, what it is, and how a broken call ends."""

from __future__ import annotations

from typing import Any

import pytest

from embedded.text_feeding import Reading, check_cuts, check_truncated, work
from embedded.text_tools import TOOLS
from toolwire import ToolDefinition
from toolwire.embedded.registry import text_format
from toolwire.limits import Limits
from toolwire.tools.registry import ToolRegistry

NAMED = ToolRegistry(
    [
        ToolDefinition(
            "f",
            "",
            {
                "type": "object",
                "properties": {
                    "maybe": {"type": ["integer", "null"]},
                    "word": {"enum": ["None", "a"]},
                    "listed": {"anyOf": [{"enum": ["[all]", " x"]}, {"type": "array"}]},
                    "some": {"anyOf": [{"enum": ["all"]}, {"type": "array"}]},
                    "both": {"type": ["object", "array"]},
                    "text": {"type": "string"},
                },
            },
        )
    ]
)


def read(text: str, name: str = "glm47", tools: ToolRegistry | None = TOOLS, **options: Any) -> Reading:
    check_truncated(name, text, tools, **options)
    return check_cuts(name, text, tools, **options)


def value(key: str, text: str) -> Any:
    """What an argument of `f` becomes."""
    reading = read(f"<tool_call>f<arg_key>{key}</arg_key><arg_value>{text}</arg_value></tool_call>", tools=NAMED)
    return reading.calls[0][1][key]


@pytest.mark.parametrize(
    ("key", "text", "expected"),
    [
        ("maybe", "None", None),
        ("maybe", "null", None),
        ("maybe", "\n7\n", 7),
        ("word", "None", "None"),
        ("text", "None", "None"),
        ("listed", "[all]", "[all]"),
        ("listed", " x", " x"),
        ("listed", "[1]", [1]),
        ("some", "all", "all"),
        ("some", " ['a', None]", ["a", None]),
        ("both", "{'a': (1, 2)}", {"a": [1, 2]}),
        ("both", "\n[true, True]\n", [True, True]),
        ("text", "[1]", "[1]"),
    ],
)
def test_a_value_is_what_the_schema_allows(key: str, text: str, expected: Any) -> None:
    assert value(key, text) == expected


def test_without_tools_every_value_is_text() -> None:
    text = "<tool_call>g<arg_key>a</arg_key><arg_value>1</arg_value></tool_call>"
    assert read(text, tools=None).calls == [("g", {"a": "1"})]


def test_a_mark_that_goes_on_otherwise_is_part_of_the_value() -> None:
    text = "a <arg_key>other</arg_key> <arg_key> <arg_ke </arg_valu <arg_key>quer"
    reading = read(f"<tool_call>search<arg_key>query</arg_key><arg_value>{text}</arg_value></tool_call>")
    assert reading.calls == [("search", {"query": text})]


def test_a_short_value_may_hold_such_a_mark_too() -> None:
    reading = read("<tool_call>search<arg_key>limit</arg_key><arg_value><arg_key>x</arg_value></tool_call>")
    assert not reading.calls
    assert "'<arg_key>x'" in reading.outcome[0][2]


def test_an_argument_that_was_given_begins_no_other() -> None:
    text = "x<arg_key>query</arg_key>"
    reading = read(f"<tool_call>search<arg_key>query</arg_key><arg_value>{text}</arg_value></tool_call>")
    assert reading.calls == [("search", {"query": text})]


@pytest.mark.parametrize("inside", ["</tool_call><tool_call>ping</tool_call>", "<tool_call>ping</tool_call>"])
@pytest.mark.parametrize("before", ["<arg_key>limit</arg_key><arg_value>1</arg_value>", ""])
def test_what_stands_in_a_value_of_a_broken_call_begins_nothing(before: str, inside: str) -> None:
    held = f"<arg_key>query</arg_key><arg_value>{inside}</arg_value>"
    for text in (f"{before}{held}{held}", f"{before}?{held}", f"{before}{held}?"):
        outcome = read(f"<tool_call>search\n{text}</tool_call><tool_call>ping</tool_call>").outcome
        assert [part[:2] for part in outcome] == [["broken", "search"], ["call", "ping"]]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("glm47", "<tool_call>search<arg_key>query</arg_key><arg_value>x</tool_call>"),
        ("minicpm5", '<function name="search"><param name="query">x</function>'),
    ],
)
def test_a_value_that_is_not_closed_takes_no_other_call_for_its_text(name: str, text: str) -> None:
    echo = text_format(name).write_call("echo", {"text": "y"}, None)
    outcome = read(f"{text}{echo}{echo}", name).outcome
    assert [part[:2] for part in outcome] == [["broken", "search"], ["call", "echo"]]


def test_problems_say_where() -> None:
    text = "Now: <tool_call>search<arg_key>query</arg_key>x</tool_call>"
    assert read(text).outcome[1][2].endswith(f"(at character {text.index('x</')})")


def test_the_end_of_an_answer_is_told_as_such() -> None:
    whole = "<tool_call>book<arg_key>tags</arg_key><arg_value>[1]</arg_value></tool_call>"
    for end in range(whole.index("book") + 4, len(whole)):
        [[kind, name, problem]] = read(whole[:end]).outcome
        assert (kind, name) == ("broken", "book")
        assert "not finished" in problem, whole[:end]


def test_a_name_no_longer_than_it_may_be() -> None:
    limits = Limits(name=4)
    for name, count in (("ping", 1), ("pings", 0)):
        assert len(read(f"<tool_call>{name}</tool_call>", tools=None, limits=limits).calls) == count


def test_space_that_never_ends_holds_no_more_than_it_may() -> None:
    limits = Limits(held=50)
    assert not read(f"<tool_call>ping{' ' * 80}</tool_call>", limits=limits).calls
    assert read(f"<tool_call>ping{' ' * 20}</tool_call>", limits=limits).calls


@pytest.mark.parametrize("name", ["qwen3-coder", "seed-oss", "glm45", "hy-v3", "minicpm5", "k2-horizon"])
def test_work_grows_with_the_text_alone(name: str) -> None:
    def cost(count: int) -> int:
        content = "if a < b:\n    <arg_key>x\n<parameter=x>" * count
        return work(name, text_format(name).write_call("write_file", {"path": "a", "content": content}, None), 4)

    assert cost(400) < 5 * cost(100)


def test_an_argument_that_is_given_twice_is_told_where_it_comes_again() -> None:
    once = "<arg_key>query</arg_key><arg_value>x</arg_value>"
    text = f"<tool_call>search{once}{once}</tool_call>"
    (problem,) = read(text).stream.problems.values()
    again = text.rindex("<arg_value>") + len("<arg_value>")
    assert problem == f"'query' is given twice (at character {again})"
