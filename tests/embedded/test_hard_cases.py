"""Answers in the syntax of Hermes and Qwen on which other parsers stumble: what comes of each here is stated.

Every answer is read whole and in deltas of three characters, then cut in two at every place and cut off at every place.
"""

from __future__ import annotations

import pytest

from embedded.text_feeding import Reading, check_cuts, check_truncated, read_text
from embedded.text_tools import PING, SEARCH, TOOLS, tool
from toolwire.tools.registry import ToolRegistry

OPEN, CLOSE = "<tool_call>\n", "\n</tool_call>"
GOOD = '{"name": "ping", "arguments": {}}'


def wrapped(*objects: str) -> str:
    return "\n".join(f"{OPEN}{told}{CLOSE}" for told in objects)


def check(text: str, tools: ToolRegistry = TOOLS) -> Reading:
    """The same whole, in deltas of three characters and wherever it is cut; cut off, it runs nothing else."""
    check_truncated("hermes", text, tools)
    whole = check_cuts("hermes", text, tools)
    deltas = read_text("hermes", [text[at : at + 3] for at in range(0, len(text), 3)], tools)
    assert deltas.outcome == whole.outcome
    assert deltas.stream.summary() == whole.stream.summary()
    return whole


def raw(reading: Reading) -> list[str]:
    """The arguments of the calls that run, as they stood in the text."""
    return [invocation.raw_arguments for invocation in reading.stream.invocations]


def test_closing_tag_inside_a_string_is_part_of_the_string() -> None:
    """The call runs with the whole string, and nothing in it begins another call."""
    inside = f"a </tool_call> b {OPEN}{GOOD}{CLOSE} c"
    told = inside.replace('"', '\\"').replace("\n", "\\n")
    text = wrapped(f'{{"name": "echo", "arguments": {{"text": "{told}"}}}}', GOOD)
    assert check(text).calls == [("echo", {"text": inside}), ("ping", {})]


def test_arguments_before_the_name() -> None:
    """The call runs; the arguments are only the arguments."""
    arguments = '{"path": "a", "content": "b"}'
    reading = check(wrapped(f'{{"arguments": {arguments}, "name": "write_file"}}'))
    assert reading.calls == [("write_file", {"path": "a", "content": "b"})]
    assert raw(reading) == [arguments]


def test_a_name_inside_arguments_that_come_first() -> None:
    """The name of the call is the one beside the arguments, not one within them."""
    tools = ToolRegistry([tool("make", ["options"], options={"type": "object"}), tool("zzz")])
    text = wrapped('{"arguments": {"name": "zzz", "options": {"name": "zzz"}}, "name": "make"}')
    assert check(text, tools).calls == [("make", {"name": "zzz", "options": {"name": "zzz"}})]


@pytest.mark.parametrize("order", ["name", "arguments"])
def test_arguments_as_a_json_string(order: str) -> None:
    """What the string says is the arguments, exactly, whichever comes first."""
    members = {
        "name": '"name": "search"',
        "arguments": r'"arguments": "{\"query\": \"a \\\"b\\\" \\n\", \"limit\": 2}"',
    }
    told = ", ".join([members.pop(order), *members.values()])
    reading = check(wrapped(f"{{{told}}}"))
    assert reading.calls == [("search", {"query": 'a "b" \n', "limit": 2})]
    assert raw(reading) == [r'{"query": "a \"b\" \n", "limit": 2}']


MALFORMED = {
    "trailing comma": '{"name": "search", "arguments": {"query": "x",}}',
    "single quotes": "{'name': 'search', 'arguments': {'query': 'x'}}",
    "missing brace": '{"name": "search", "arguments": {"query": "x"}',
    "two missing braces": '{"name": "search", "arguments": {"query": "x"',
    "raw line end in a string": '{"name": "search", "arguments": {"query": "x\ny"}}',
}


@pytest.mark.parametrize("kind", MALFORMED)
def test_malformed_json_is_reported_and_takes_no_neighbour_with_it(kind: str) -> None:
    """The call is broken, with what is wrong and where; those before and after it run, and all text is kept."""
    reading = check(wrapped(GOOD, MALFORMED[kind], GOOD) + "\nDone.")
    assert reading.calls == [("ping", {}), ("ping", {})]
    broken = [part for part in reading.outcome if part[0] == "broken"]
    assert len(broken) == 1
    assert broken[0][1] == ("" if kind == "single quotes" else "search")
    assert "not valid JSON" in broken[0][2]
    assert "at character " in broken[0][2]
    assert reading.outcome[-1] == ["text", "\nDone."]


def test_a_string_of_a_broken_call_begins_no_call() -> None:
    """Whatever is wrong with a call, a call that stands in one of its strings is none."""
    inside = f"x\n{OPEN}{GOOD}{CLOSE}".replace('"', '\\"')
    reading = check(wrapped(f'{{"name": "echo", "arguments": {{"text": "{inside}"}}}}'))
    assert reading.calls == []
    assert [part[0] for part in reading.outcome] == ["markup", "broken", "markup"]


def test_a_truncated_answer_runs_no_half_call() -> None:
    """The call is broken and says that it is not finished."""
    reading = check(wrapped(GOOD) + f'\n{OPEN}{{"name": "search", "arguments": {{"query": "x')
    assert reading.calls == [("ping", {})]
    assert reading.outcome[-1][:2] == ["broken", "search"]
    assert "not finished" in reading.outcome[-1][2]


def test_a_call_is_whole_with_its_closing_brace() -> None:
    """Without the closing tag, at the end of the answer or before other text, it runs all the same."""
    text = OPEN + GOOD
    assert check(text).calls == [("ping", {})]
    assert check(f"{text}\nDone.").outcome[-1] == ["text", "\nDone."]


def test_text_between_and_after_calls() -> None:
    """All of it is there, in its place."""
    text = f"One. {wrapped(GOOD)} Two. {wrapped(GOOD)} Three."
    kinds = [part if part[0] == "text" else part[0] for part in check(text).outcome if part[0] != "markup"]
    assert kinds == [["text", "One. "], "call", ["text", " Two. "], "call", ["text", " Three."]]


def test_an_unknown_tool() -> None:
    """The call is text as a whole, tags too, and its name is noted; its neighbour runs."""
    unknown = wrapped('{"name": "nope", "arguments": {"a": "</tool_call>"}}')
    reading = check(f"{unknown}\n{wrapped(GOOD)}", ToolRegistry([PING, SEARCH]))
    assert reading.outcome[0] == ["text", f"{unknown}\n"]
    assert reading.calls == [("ping", {})]
    assert reading.unknown == ["nope"]


@pytest.mark.parametrize("number", ["12345678901234567890.10", "-0.0", "1e-7", "123456789012345678901234567890"])
def test_numbers_are_exact_in_the_raw_arguments(number: str) -> None:
    """They stand there as the model wrote them."""
    arguments = f'{{"cabin": "economy", "anything": {number}}}'
    reading = check(wrapped(f'{{"name": "book", "arguments": {arguments}}}'))
    assert raw(reading) == [arguments]


def test_escapes_are_exact_in_the_raw_arguments() -> None:
    """They stand there as the model wrote them, and say what they say."""
    arguments = r'{"text": "\ud83d\ude00 \u00e9 \/ é 😀"}'
    reading = check(wrapped(f'{{"name": "echo", "arguments": {arguments}}}'))
    assert raw(reading) == [arguments]
    assert reading.calls == [("echo", {"text": "😀 é / é 😀"})]


@pytest.mark.parametrize("word", ["json", ""])
def test_a_call_in_a_code_fence(word: str) -> None:
    """Without tags it runs if it is the name of a known tool and then its arguments; the fence is markup."""
    text = f"Here:\n```{word}\n{GOOD}\n```\nDone."
    assert check(text).outcome == [
        ["text", "Here:\n"],
        ["markup", f"```{word}\n"],
        ["call", "ping", {}],
        ["markup", "\n```"],
        ["text", "\nDone."],
    ]


def test_tags_in_a_code_fence() -> None:
    """The call runs; the fence is text."""
    reading = check(f"```json\n{wrapped(GOOD)}\n```")
    assert reading.calls == [("ping", {})]
    assert [part for part in reading.outcome if part[0] == "text"] == [["text", "```json\n"], ["text", "\n```"]]


@pytest.mark.parametrize(
    "told", ['{"name": "Ann", "age": 3}', '{"name": "nope", "arguments": {}}', '[{"name": "ping"}]']
)
def test_other_json_in_a_code_fence_is_text(told: str) -> None:
    """It is only an example of something."""
    text = f"```json\n{told}\n```"
    assert check(text).outcome == [["text", text]]


def test_a_fence_in_reasoning_is_a_draft() -> None:
    """It does not run, so that a call that is thought of first and made then runs once."""
    text = f"<think>Say\n```json\n{GOOD}\n```\n</think>\n{wrapped(GOOD)}"
    assert check(text).calls == [("ping", {})]
