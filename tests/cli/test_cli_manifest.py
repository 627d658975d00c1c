from __future__ import annotations

import json
from pathlib import Path

import pytest

from cli.command import assert_sentence, toolwire_command
from cli.terminal import Terminal
from toolwire.embedded.manifest import manifest
from toolwire.tools.definition import load_tools

ENTRIES = [
    {
        "name": "get_weather",
        "description": "Weather for a city: né 🦜.",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}, "unit": {"enum": ["celsius", "fahrenheit"]}},
            "required": ["city"],
        },
    },
    {"name": "now", "description": "The time."},
]
TOOLS = load_tools(json.dumps(ENTRIES))


@pytest.fixture
def tools(tmp_path: Path) -> str:
    path = tmp_path / "tools.json"
    path.write_text(json.dumps(ENTRIES))
    return str(path)


CHOSEN = [
    (["--format", "xml"], "xml"),
    (["--format", "json"], "json"),
    (["--format", "json-openai"], "json-openai"),
    (["--format", "json-gemini"], "json-gemini"),
    (["--format", "sentinel"], "sentinel"),
    ([], "json"),
    (["--provider", "openai"], "json-openai"),
    (["--provider", "gemini"], "json-gemini"),
    (["--provider", "anthropic"], "xml"),
    (["--provider", "mistral"], "json"),
    (["--format", "json", "--provider", "openai"], "json-openai"),
    (["--model", "openai:gpt-4.1-mini"], "json-openai"),
    (["--model", "some-model:3b"], "json"),
    (["--model", "qwen2.5:7b"], "hermes"),
    (["--format", "qwen25"], "hermes"),
    (["--format", "auto", "--model", "qwen2.5:7b"], "hermes"),
    (["--provider", "bedrock", "--model", "anthropic.claude-sonnet-4-5"], "xml"),
    (["--model", "ollama:qwen3:4b", "--format", "sentinel"], "sentinel"),
]


@pytest.mark.parametrize(("options", "format_"), CHOSEN)
def test_it_prints_what_a_model_would_be_told(tools: str, options: list[str], format_: str) -> None:
    ran = toolwire_command("manifest", "--tools", tools, *options)
    assert (ran.code, ran.err) == (0, "")
    assert ran.out == manifest(TOOLS, format_) + "\n"


def test_what_must_be_called(tools: str) -> None:
    ran = toolwire_command("manifest", "--format", "xml", "--tools", tools, "--tool-choice", "now")
    assert ran.out == manifest(TOOLS, "xml", tool_choice="now") + "\n"
    ran = toolwire_command("manifest", "--format", "xml", "--tools", tools, "--tool-choice", "none")
    assert (ran.code, ran.out, ran.err) == (0, "", "")


def test_tools_may_come_from_standard_input() -> None:
    ran = toolwire_command("manifest", "--format", "xml", "--tools", "-", stdin=json.dumps(ENTRIES).encode())
    assert ran.out == manifest(TOOLS, "xml") + "\n"


WRONG_USAGE = [
    (["--format", "sentinal"], "no text format 'sentinal'", "sentinel"),
    (["--provider", "opnai"], "no provider 'opnai'", "openai"),
    (["--tool-choice", "nwo"], "none of the tools", "now"),
    (["--nonsense"], "--nonsense", "toolwire manifest --help"),
]


@pytest.mark.parametrize(("options", "words", "hint"), WRONG_USAGE)
def test_wrong_options(tools: str, options: list[str], words: str, hint: str) -> None:
    ran = toolwire_command("manifest", "--tools", tools, *options)
    assert_sentence(ran, 2, words, hint)
    assert ran.out == ""


def test_without_tools() -> None:
    assert_sentence(toolwire_command("manifest", "--format", "xml"), 2, "--tools", "toolwire manifest --help")
    assert_sentence(toolwire_command("manifest", "--tools", "nope.json"), 2, "there is no file nope.json")


def test_a_terminal_obeys_nothing_in_a_description(tmp_path: Path) -> None:
    path = tmp_path / "tools.json"
    path.write_text(json.dumps([{"name": "now", "description": "The\x1b[2J time\u202e."}]))
    with Terminal("manifest", "--format", "sentinel", "--tools", str(path)) as terminal:
        assert terminal.end() == 0
        assert "Accessible Tools" in terminal.screen
        assert "\x1b" not in terminal.screen
        assert "\u202e" not in terminal.screen
