from __future__ import annotations

import re

import pytest

from cli.command import assert_sentence, toolwire_command
from cli.terminal import Terminal
from toolwire.embedded.registry import format_names, other_names


def test_the_list_names_every_format_once() -> None:
    ran = toolwire_command("formats")
    assert (ran.code, ran.err) == (0, "")
    heads = [line for line in ran.out.splitlines() if not line.startswith(" ")]
    assert [head.split()[0] for head in heads] == format_names()
    assert "hermes  also qwen25, " in ran.out
    assert "xml\n    any model that is told it: tags" in ran.out
    assert '    <tool_call> {"name": "search", "arguments": {"query": "x"}} </tool_call>' in ran.out.splitlines()
    assert all(line == line.rstrip() for line in ran.out.splitlines())


def test_as_data() -> None:
    listed = toolwire_command("formats", "--json").lines
    assert [each["name"] for each in listed] == format_names()
    by_name = {each["name"]: each for each in listed}
    assert by_name["hermes"]["reasoning"] == [["<think>", "</think>"]]
    assert "qwen" in by_name["hermes"]["model_names"]
    assert by_name["hermes"]["other_names"] == other_names("hermes")
    assert by_name["hermes"]["prompts"] is True
    assert by_name["xml"]["prompts"] is False
    assert [by_name[name]["calls_end_reasoning"] for name in ("hermes", "harmony", "xml")] == [True, False, False]
    for each in listed:
        assert each["calls"].count("get_weather") >= 2
        assert "18 °C" in each["result"]


def test_one_of_them_whole() -> None:
    ran = toolwire_command("formats", "qwen25")
    assert ran.code == 0
    assert ran.out.startswith("hermes  JSON in <tool_call> tags\nalso         qwen25, ")
    assert "reasoning    <think> … </think>\n             a call before its end ends it\n" in ran.out
    assert "a call before its end does not run\n" in toolwire_command("formats", "gpt-oss").out
    assert ran.out.count("<tool_call>\n") == 2
    assert "    <tool_response>\n    18 °C\n    </tool_response>\n" in ran.out
    assert toolwire_command("formats", "hermes", "--json").lines[0]["name"] == "hermes"
    taught = toolwire_command("formats", "xml").out
    assert "by a server's chat template" in taught
    assert "models       any model that is told it\n" in taught


@pytest.mark.parametrize("width", [60, 80, 120])
@pytest.mark.parametrize("arguments", [[], ["hermes"]])
def test_lines_fit_a_terminal(arguments: list[str], width: int) -> None:
    with Terminal("formats", *arguments, env={"COLUMNS": str(width)}) as terminal:
        assert terminal.end() == 0
        lines = re.sub(r"\x1b\[[0-9;]*m", "", terminal.screen).replace("\r", "").splitlines()
    assert len(lines) > 10
    shown_whole = [line for line in lines if line.startswith("    ") and arguments]
    assert [line for line in lines if len(line) > width and "  also " not in line and line not in shown_whole] == []


def test_a_name_that_is_none() -> None:
    assert_sentence(toolwire_command("formats", "hermez"), 2, "no text format 'hermez'", "Did you mean hermes?")
    assert_sentence(toolwire_command("formats", "llama"), 2, "no text format", "Did you mean llama3-json")
    assert_sentence(toolwire_command("formats", "\x1b[2J"), 2, "no text format", "toolwire formats")
    assert_sentence(toolwire_command("formats", "Qwen/Qwen2.5-7B-Instruct"), 2, "no text format", "Did you mean hermes")
    assert_sentence(toolwire_command("formats", "auto"), 2, "auto is no syntax of its own", "toolwire formats")
