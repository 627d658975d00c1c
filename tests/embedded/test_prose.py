"""What stands between calls: reasoning between marks, and marks that open calls."""

from __future__ import annotations

from typing import Any

import pytest

from embedded.text_feeding import check_cuts, check_truncated
from embedded.text_tools import TOOLS
from toolwire.embedded.format import Format
from toolwire.embedded.prose import THINK, Thinking, marked, opens_reasoning
from toolwire.embedded.registry import AUTO, format_names, text_format
from toolwire.embedded.scanner import Scanner, Wait
from toolwire.embedded.text_reader import TextReader
from toolwire.tools.registry import ToolRegistry

CALL = '<tool_call>{"name":"ping","arguments":{}}</tool_call>'
PING = ["call", "ping", {}]
OPENED = ["markup", "<tool_call>"]
CLOSED = ["markup", "</tool_call>"]


def outcome(text: str, format_: str | Format = "hermes", **options: Any) -> list[list[Any]]:
    check_truncated(format_, text, **options)
    return check_cuts(format_, text, **options).outcome


def with_thinking(thinking: Thinking | None) -> Format:
    def begin(scanner: Scanner) -> Wait[bool]:
        if not (yield from scanner.read_literal("(")):
            return False
        scanner.begin_call("ping")
        if (yield from scanner.read_literal(")")):
            scanner.end_call("{}")
        else:
            scanner.break_call(scanner.fault("no end"))
        return True

    def read(scanner: Scanner, _: ToolRegistry | None) -> Wait[None]:
        return marked(scanner, {"@@": lambda: begin(scanner), "@": lambda: begin(scanner)}, thinking)

    return text_format("hermes")._replace(name="at", read=read)


def test_reasoning_at_the_beginning() -> None:
    assert outcome("<think>\nhm\n</think>\n\nWell.") == [
        ["markup", "<think>"],
        ["reasoning", "\nhm\n"],
        ["markup", "</think>"],
        ["text", "\n\nWell."],
    ]


def test_space_may_stand_before_it() -> None:
    assert outcome(" \n<think>hm</think>")[:2] == [["text", " \n"], ["markup", "<think>"]]


def test_the_prompt_may_have_opened_it() -> None:
    assert outcome("hm</think>ok", reasoning=True) == [["reasoning", "hm"], ["markup", "</think>"], ["text", "ok"]]
    assert outcome("hm", reasoning=True) == [["reasoning", "hm"]]


def test_or_opened_it_unknown_to_us() -> None:
    assert outcome("hm</think>ok") == [["text", "hm"], ["markup", "</think>"], ["text", "ok"]]
    assert outcome("</think>ok</think>") == [["markup", "</think>"], ["text", "ok</think>"]]


def test_a_call_in_open_reasoning_ends_it() -> None:
    expected = [["markup", "<think>"], ["reasoning", "hm "], OPENED, PING, CLOSED, ["text", " so"]]
    assert outcome(f"<think>hm {CALL} so") == expected
    assert outcome(f"hm {CALL} so", reasoning=True) == expected[1:]


def test_or_does_not_where_the_family_means_it_so() -> None:
    format_ = with_thinking(Thinking((("<r>", "</r>"),), ended_by_calls=False))
    assert outcome("<r>a @() b</r>@()", format_) == [
        ["markup", "<r>"],
        ["reasoning", "a @() b"],
        ["markup", "</r>"],
        PING,
    ]


def test_what_is_no_call_there_is_reasoning() -> None:
    text = '<think>as <tool_call> says, <tool_call>{"name":"nope"}</tool_call> a</think>'
    inside = text.removeprefix("<think>").removesuffix("</think>")
    assert outcome(text)[1] == ["reasoning", inside]


def test_reasoning_again_after_calls_and_reasoning() -> None:
    assert [part[0] for part in outcome(f"<think>a</think>{CALL}\n<think>b</think> c")] == [
        *("markup", "reasoning", "markup", "markup", "call", "markup", "text", "markup", "reasoning", "markup", "text"),
    ]


@pytest.mark.parametrize("text", ["I <think> so", "The tag <think>x</think> shows", f"{CALL} ok <think> no"])
def test_marks_in_the_middle_of_text_are_text(text: str) -> None:
    assert "reasoning" not in [part[0] for part in outcome(text)]
    assert "".join(part[1] for part in outcome(text) if part[0] == "text") == text.replace(CALL, "")


def test_the_longer_of_two_marks_comes_first() -> None:
    format_ = with_thinking(None)
    assert outcome("a@@()b@()c@d@@", format_) == [
        ["text", "a"],
        PING,
        ["text", "b"],
        PING,
        ["text", "c@d@@"],
    ]


def test_without_thinking_nothing_is_reasoning() -> None:
    format_ = with_thinking(None)
    assert outcome("<think>a</think>", format_) == [["text", "<think>a</think>"]]
    assert outcome("a", format_, reasoning=True) == [["text", "a"]]


def test_whether_a_prompt_opens_reasoning() -> None:
    assert opens_reasoning(THINK, "<|im_start|>assistant\n<think>\n")
    assert not opens_reasoning(THINK, "<|im_start|>assistant\n<think>\n\n</think>\n\n")
    assert not opens_reasoning(THINK, "<|im_start|>assistant\n")
    assert not opens_reasoning(None, "<think>")


@pytest.mark.parametrize("name", [*format_names(), AUTO])
def test_plain_text_goes_the_short_way(name: str) -> None:
    """Between calls nothing is looked at twice: what holds no first character of a mark passes."""
    format_ = text_format(name)
    reader = TextReader(lambda scanner: format_.read(scanner, TOOLS))
    reader.feed("Good day to you. ", [])
    assert reader.passes("more words")
