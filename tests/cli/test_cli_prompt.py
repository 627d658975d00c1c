from __future__ import annotations

import json
from pathlib import Path

import pytest

from cli.command import assert_sentence, toolwire_command
from cli.terminal import Terminal
from toolwire import render_prompt
from toolwire.messages import load_conversation
from toolwire.tools.definition import load_tools

TOOLS = [{"name": "now", "description": "The time: né 🦜."}]
CONVERSATION = [
    {"role": "user", "content": "What time is it?"},
    {"role": "assistant", "content": [{"type": "tool_call", "id": "c1", "name": "now"}]},
    {"role": "tool", "content": [{"type": "tool_result", "id": "c1", "name": "now", "content": "12:30 \x1b[2J"}]},
]
MESSAGES = load_conversation(json.dumps(CONVERSATION))


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    conversation, tools = tmp_path / "conversation.json", tmp_path / "tools.json"
    conversation.write_text(json.dumps(CONVERSATION))
    tools.write_text(json.dumps(TOOLS))
    return str(conversation), str(tools)


def test_a_file_gets_exactly_the_prompt(files: tuple[str, str]) -> None:
    conversation, tools = files
    expected = render_prompt(MESSAGES, load_tools(json.dumps(TOOLS)), "hermes").text
    for options in (["--format", "hermes"], ["--format", "qwen25"], ["--model", "Qwen/Qwen2.5-7B-Instruct"]):
        ran = toolwire_command("prompt", *options, "--tools", tools, conversation)
        assert (ran.code, ran.err, ran.out) == (0, "", expected)
    ran = toolwire_command("prompt", "--format", "hermes", stdin=json.dumps(CONVERSATION).encode())
    assert ran.out == render_prompt(MESSAGES, (), "hermes").text


def test_as_data() -> None:
    asked = json.dumps(CONVERSATION[:1]).encode()
    for options, reasoning in (([], None), (["--reasoning"], True), (["--no-reasoning"], False)):
        (made,) = toolwire_command("prompt", "--format", "deepseek-v31", "--json", *options, stdin=asked).lines
        prompt = render_prompt(MESSAGES[:1], (), "deepseek-v31", reasoning=reasoning)
        assert made == {"text": prompt.text, "stop": list(prompt.stop), "reasoning": prompt.reasoning}
        assert prompt.reasoning is (reasoning is True)


def test_a_terminal_obeys_nothing_in_it(files: tuple[str, str]) -> None:
    with Terminal("prompt", "--format", "hermes", files[0]) as terminal:
        assert terminal.end() == 0
        assert "12:30" in terminal.screen
        assert "\x1b" not in terminal.screen


WRONG = [
    (["--format", "hermez"], "no text format 'hermez'", "hermes"),
    (["--format", "xml"], "no layout of prompts is known for the text format xml", "chat endpoint"),
    ([], "a prompt needs a format", "toolwire formats"),
    (["--model", "mystery"], "'mystery' says none", "toolwire formats"),
    (["--format", "hermes", "--tools", "nope.json"], "nope.json", "Check"),
    (["--nonsense"], "--nonsense", "toolwire prompt --help"),
]


@pytest.mark.parametrize(("options", "words", "hint"), WRONG)
def test_wrong_options(files: tuple[str, str], options: list[str], words: str, hint: str) -> None:
    ran = toolwire_command("prompt", *options, files[0])
    assert_sentence(ran, 2, words, hint)
    assert ran.out == ""


def test_what_is_no_conversation() -> None:
    ran = toolwire_command("prompt", "--format", "hermes", stdin=b"{}")
    assert_sentence(ran, 2, "standard input: this is no conversation")
